// SPDX-License-Identifier: MIT OR Apache-2.0

//! The geometric mean, and the coefficient of variation.

/// The sample standard deviation (divisor n - 1) over the absolute mean; 0.01 is 1 %. `None` below two
/// values or when the mean is 0.
#[must_use]
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean != 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean.abs())
}

/// The geometric mean. It is the only mean of ratios that does not depend on which side is the base
/// (P. J. Fleming, J. J. Wallace, *Communications of the ACM* 29, 1986). `None` without values or when
/// a value is not above 0.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|v| *v > 0.0) {
        return None;
    }
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    Some((logs / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometric_mean_and_variation() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(coefficient_of_variation(&[1.0]), None);
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
        assert!((coefficient_of_variation(&[9.0, 11.0]).unwrap() - 0.02f64.sqrt()).abs() < 1e-12);
    }
}
