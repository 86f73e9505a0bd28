// SPDX-License-Identifier: MIT OR Apache-2.0

//! Quantiles and probabilities of named distributions.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;

use crate::statistics::order::CONFIDENCE;

/// The greatest probability with which so few events in so many trials are not too rare: the
/// upper end of the one-sided interval of C. J. Clopper, E. S. Pearson, *Biometrika* 26, 1934, with
/// the confidence [`CONFIDENCE`]. 1 when there is no trial or each was an event.
///
/// 0 of 10: 26 %.
#[must_use]
pub fn most_probable_share(events: usize, trials: usize) -> f64 {
    if events >= trials {
        return 1.0;
    }
    let (seen, unseen) = (events as f64 + 1.0, (trials - events) as f64);
    let distribution = Beta::new(seen, unseen);
    distribution.map_or(1.0, |beta| beta.inverse_cdf(CONFIDENCE))
}

/// The quantile `p` of the distribution chi square with so many degrees of freedom. `None` unless
/// 0 < `p` < 1 and `freedom` > 0.
#[must_use]
pub fn chi_square_quantile(p: f64, freedom: usize) -> Option<f64> {
    let distribution = ChiSquared::new(freedom as f64).ok()?;
    (p > 0.0 && p < 1.0).then(|| distribution.inverse_cdf(p))
}

/// How far from 0 a value of Student's t lies with the probability `level`, both sides together.
/// `None` unless 0 < `level` < 1 and `freedom` > 0.
#[must_use]
pub fn t_two_sided(level: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // The lower end: 1 - level / 2 would lose the digits of a small level.
    (level > 0.0 && level < 1.0).then(|| -distribution.inverse_cdf(level / 2.0))
}

/// The probability that a value of Student's t lies at least as far from 0 as `t`.
#[must_use]
pub fn t_probability(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_bounds_its_probability() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(most_probable_share(0, 10), 1.0 - 0.05f64.powf(0.1));
        close(most_probable_share(9, 10), 0.95f64.powf(0.1));
        assert_eq!(
            (most_probable_share(0, 0), most_probable_share(5, 5)),
            (1.0, 1.0)
        );
        // Three over n, where nothing was seen of many.
        assert!((most_probable_share(0, 1000) - 0.003).abs() < 1e-5);
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, freedom, value) in [
            (0.95, 1, 3.841_459),
            (0.2, 1, 0.064_185),
            (0.2, 9, 5.380_053),
            (0.05, 10, 3.940_299),
            (0.5, 200, 199.334_2),
        ] {
            let found = chi_square_quantile(p, freedom).unwrap();
            assert!((found / value - 1.0).abs() < 1e-5, "{p} {freedom}: {found}");
        }
        for (level, freedom, value) in [
            (0.05, 1.0, 12.706_205),
            (0.05, 24.0, 2.063_899),
            (0.001, 24.0, 3.745_399),
            (0.001, 60.0, 3.460_200),
        ] {
            let found = t_two_sided(level, freedom).unwrap();
            assert!((found - value).abs() < 1e-4, "{level} {freedom}: {found}");
            let back = t_probability(found, freedom);
            assert!(
                (back / level - 1.0).abs() < 1e-6,
                "{level} {freedom}: {back}"
            );
        }
        for exponent in 2..9 {
            for freedom in [2.0, 5.5, 14.0, 38.0, 200.0] {
                let level = 10.0_f64.powi(-exponent);
                let back = t_probability(t_two_sided(level, freedom).unwrap(), freedom);
                assert!(
                    (back / level - 1.0).abs() < 1e-3,
                    "{level} {freedom}: {back}"
                );
            }
        }
        // Far out, where a probability taken from 1 would have no digits left: by the closed form
        // of two degrees of freedom.
        let far = 1.0 - 1e9 / (2.0_f64 + 1e18).sqrt();
        assert!(far < 1e-15, "{far}");
        let tail = t_probability(1e9, 2.0);
        assert!((tail / 1e-18 - 1.0).abs() < 1e-6, "{tail}");
        assert_eq!(Some(t_probability(f64::INFINITY, 5.0)), Some(0.0));
        assert_eq!(
            (chi_square_quantile(1.0, 3), t_two_sided(0.1, 0.0)),
            (None, None)
        );
    }
}
