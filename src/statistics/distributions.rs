// SPDX-License-Identifier: MIT OR Apache-2.0

//! Quantiles and tail probabilities of Student's t, chi square and binomial distributions.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;

use crate::statistics::order::CONFIDENCE;

/// The upper confidence bound of a probability, given `events` in `trials`: the end of the one-sided
/// interval of C. J. Clopper, E. S. Pearson, *Biometrika* 26, 1934, with confidence [`CONFIDENCE`].
/// Between 0 and 1; 1 without trials or when every trial was an event.
///
/// For 0 events in 10 trials it is 0.26.
#[must_use]
pub fn upper_bound_of_probability(events: usize, trials: usize) -> f64 {
    if events >= trials {
        return 1.0;
    }
    let (successes, failures) = (events as f64 + 1.0, (trials - events) as f64);
    let distribution = Beta::new(successes, failures);
    distribution.map_or(1.0, |beta| beta.inverse_cdf(CONFIDENCE))
}

/// The probability of `least` or more events in `trials`, each with probability `p`. 1 for no
/// events, 0 for more than `trials`.
#[must_use]
pub fn binomial_tail(least: usize, trials: usize, p: f64) -> f64 {
    match least {
        0 => 1.0,
        _ if least > trials => 0.0,
        _ => beta_reg(least as f64, (trials - least + 1) as f64, p.clamp(0.0, 1.0)),
    }
}

/// The quantile `p` of the chi-square distribution with `freedom` degrees of freedom. `None` unless
/// 0 < `p` < 1 and `freedom` > 0.
#[must_use]
pub fn chi_square_quantile(p: f64, freedom: usize) -> Option<f64> {
    let distribution = ChiSquared::new(freedom as f64).ok()?;
    (p > 0.0 && p < 1.0).then(|| distribution.inverse_cdf(p))
}

/// The critical value of a two-sided t test: |t| exceeds it with probability `level`. `freedom` is
/// the number of degrees of freedom. `None` unless 0 < `level` < 1 and `freedom` > 0.
#[must_use]
pub fn t_critical(level: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // The lower tail, because 1 - level / 2 loses the digits of a small level.
    (level > 0.0 && level < 1.0).then(|| -distribution.inverse_cdf(level / 2.0))
}

/// The p value of a two-sided t test: the probability that |T| >= |`t`| for Student's t with `freedom`
/// degrees of freedom. 0 for an infinite `t`, 1 for NaN.
#[must_use]
pub fn t_p_value(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_tail_is_the_sum_of_its_terms() {
        for (least, trials, p, expected) in [
            (0, 5, 0.3, 1.0),
            (6, 5, 0.3, 0.0),
            (1, 1, 0.1, 0.1),
            (2, 2, 0.1, 0.01),
            (2, 3, 0.5, 0.5),
            (5, 10, 0.1, 0.001_634_937_4),
        ] {
            let tail = binomial_tail(least, trials, p);
            assert!(
                (tail - expected).abs() < 1e-9,
                "{least} of {trials}: {tail}"
            );
        }
    }

    #[test]
    fn probability_is_bounded_by_observed_events() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(upper_bound_of_probability(0, 10), 1.0 - 0.05f64.powf(0.1));
        close(upper_bound_of_probability(9, 10), 0.95f64.powf(0.1));
        assert_eq!(
            (
                upper_bound_of_probability(0, 0),
                upper_bound_of_probability(5, 5)
            ),
            (1.0, 1.0)
        );
        // The rule of three: 3 / n when no event was observed.
        assert!((upper_bound_of_probability(0, 1000) - 0.003).abs() < 1e-5);
    }

    #[test]
    fn quantiles_match_published_tables() {
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
            let found = t_critical(level, freedom).unwrap();
            assert!((found - value).abs() < 1e-4, "{level} {freedom}: {found}");
            let back = t_p_value(found, freedom);
            assert!(
                (back / level - 1.0).abs() < 1e-6,
                "{level} {freedom}: {back}"
            );
        }
        for exponent in 2..9 {
            for freedom in [2.0, 5.5, 14.0, 38.0, 200.0] {
                let level = 10.0_f64.powi(-exponent);
                let back = t_p_value(t_critical(level, freedom).unwrap(), freedom);
                assert!(
                    (back / level - 1.0).abs() < 1e-3,
                    "{level} {freedom}: {back}"
                );
            }
        }
        // Far in the tail, where a probability subtracted from 1 has no digits left. Checked with the
        // closed form for two degrees of freedom.
        let far = 1.0 - 1e9 / (2.0_f64 + 1e18).sqrt();
        assert!(far < 1e-15, "{far}");
        let tail = t_p_value(1e9, 2.0);
        assert!((tail / 1e-18 - 1.0).abs() < 1e-6, "{tail}");
        assert_eq!(Some(t_p_value(f64::INFINITY, 5.0)), Some(0.0));
        assert_eq!(
            (chi_square_quantile(1.0, 3), t_critical(0.1, 0.0)),
            (None, None)
        );
    }
}
