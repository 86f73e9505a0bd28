// SPDX-License-Identifier: MIT OR Apache-2.0

//! Order statistics: the median of a group of values, its interval, and quantiles.
//!
//! Interval ends and quantiles are values that were measured. The methods assume that the values are
//! independent and come from one distribution. They assume nothing about its shape (H. A. David,
//! H. N. Nagaraja, *Order Statistics*, 3rd edition, 2003, sections 7.1 and 7.2; G. J. Hahn,
//! W. Q. Meeker, *Statistical Intervals*, 1991, chapter 5).

use crate::stream::histogram::Histogram;
use crate::stream::ticks::Ticks;

/// The minimum confidence of every interval and bound in this folder.
pub const CONFIDENCE: f64 = 0.95;

/// The median: the middle value, or the mean of the two middle values. `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let n = sorted.len();
    let high = *sorted.get(n / 2)?;
    let low = sorted[(n - 1) / 2];
    Some(low / 2.0 + high / 2.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The probability that the median of a distribution lies between the `rank`-th smallest and the
/// `rank`-th largest of `n` independent values: 1 - 2 P(B < `rank`), where B is binomial with `n`
/// trials of probability 1/2. Exact. 0 when `rank` is 0 or above `n` / 2.
#[must_use]
pub fn coverage(n: usize, rank: usize) -> f64 {
    if rank == 0 || 2 * rank > n {
        return 0.0;
    }
    // Logarithms, because 2^-n underflows from n = 1075.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for i in 0..rank {
        below += term.exp();
        term += ((n - i) as f64 / (i + 1) as f64).ln();
    }
    (1.0 - 2.0 * below).max(0.0)
}

/// The highest rank whose [`coverage`] is at least [`CONFIDENCE`]: 1 (minimum and maximum) for 6 to
/// 8 values, 2 for 9 to 11. `None` below 6 values, whose full range covers less than that.
#[must_use]
pub fn interval_rank(n: usize) -> Option<usize> {
    (1..=n / 2)
        .take_while(|k| coverage(n, *k) >= CONFIDENCE)
        .last()
}

/// A confidence interval of the median, for any distribution: the inverted sign test (W. R.
/// Thompson, *Annals of Mathematical Statistics* 7, 1936). Its confidence is [`coverage`], at least
/// [`CONFIDENCE`]. `None` below 6 values.
///
/// For 6 values it is minimum to maximum (96.9 %), for 10 values second to ninth (97.9 %).
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let rank = interval_rank(values.len())?;
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// The number of samples that a quantile needs: the smallest n for which at least one sample lies
/// beyond the quantile `p` with probability [`CONFIDENCE`], 1 - `p`^n >= 0.95 (S. S. Wilks, *Annals of
/// Mathematical Statistics* 12, 1941). 299 for p99. `None` unless 0 < `p` < 1.
#[must_use]
pub fn samples_for_quantile(p: f64) -> Option<u64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let enough = |n: f64| 1.0 - p.powf(n) >= CONFIDENCE;
    let mut n = ((1.0 - CONFIDENCE).ln() / p.ln()).ceil().max(1.0);
    // Rounding of the quotient can move it across an integer.
    if n > 1.0 && enough(n - 1.0) {
        n -= 1.0;
    } else if !enough(n) {
        n += 1.0;
    }
    Some(n as u64)
}

/// The rank of the quantile `p` among `n` samples: the smallest rank with rank / n >= `p` (definition
/// 1 of R. J. Hyndman, Y. Fan, *The American Statistician* 50, 1996). `None` with fewer samples than
/// [`samples_for_quantile`].
#[must_use]
pub fn quantile_rank(n: u64, p: f64) -> Option<u64> {
    if n < samples_for_quantile(p)? {
        return None;
    }
    let exact = p * n as f64;
    let nearest = exact.round();
    // Rounding can leave a product such as 0.9 * n just above an integer.
    let rank = if (exact - nearest).abs() < nearest * 4.0 * f64::EPSILON {
        nearest
    } else {
        exact.ceil()
    };
    Some((rank as u64).clamp(1, n))
}

/// The quantile `p` of the samples, 0 < `p` < 1, in ticks: a value that was measured. `None` with
/// fewer samples than [`samples_for_quantile`].
#[must_use]
pub fn quantile(histogram: &Histogram, p: f64) -> Option<Ticks> {
    histogram.order_statistic(quantile_rank(histogram.total(), p)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interval_needs_six_values() {
        let ranks: Vec<_> = (0..=13).map(interval_rank).collect();
        let one = [Some(1); 3];
        let expected = [&[None; 6][..], &one, &[Some(2); 3], &[Some(3); 2]].concat();
        assert_eq!(ranks, expected);
        assert_eq!(median_interval(&[1.0; 5]), None);
        assert_eq!(
            median_interval(&[3.0, 1.0, 6.0, 2.0, 5.0, 4.0]),
            Some((1.0, 6.0))
        );
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median_interval(&ten), Some((2.0, 9.0)));
    }

    #[test]
    fn coverage_is_exact() {
        // 1 - 2 (C(n,0) + ... + C(n,k-1)) / 2^n, in integers.
        assert!((coverage(6, 1) - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
        assert!((coverage(10, 2) - (1.0 - 22.0 / 1024.0)).abs() < 1e-12);
        assert!((coverage(20, 6) - (1.0 - 2.0 * 21700.0 / 1_048_576.0)).abs() < 1e-12);
        assert_eq!((coverage(10, 0), coverage(10, 6)), (0.0, 0.0));
        assert!(coverage(5000, 2400) > 0.99, "no underflow");
    }

    #[test]
    fn quantiles_need_enough_samples() {
        let needed: Vec<_> = [0.9, 0.99, 0.999, 0.9999]
            .into_iter()
            .map(samples_for_quantile)
            .collect();
        assert_eq!(needed, [Some(29), Some(299), Some(2995), Some(29956)]);
        for p in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(samples_for_quantile(p), None);
        }
        let few: Histogram = (1..=298).map(|v| (Ticks(v), 1)).collect();
        assert_eq!(quantile(&few, 0.99), None);
        let enough: Histogram = (1..=300).map(|v| (Ticks(v), 1)).collect();
        assert_eq!(quantile(&enough, 0.99), Some(Ticks(297)));
        assert_eq!(quantile(&enough, 0.9), Some(Ticks(270)));
    }

    proptest! {
        #[test]
        fn median_splits_values_in_half(values in prop::collection::vec(-1e9..1e9, 1..50)) {
            let m = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < m).count();
            let above = values.iter().filter(|v| **v > m).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }

        #[test]
        fn interval_contains_median(values in prop::collection::vec(-1e9..1e9, 6..50)) {
            let (low, high) = median_interval(&values).unwrap();
            let m = median(&values).unwrap();
            prop_assert!(low <= m && m <= high);
        }

        #[test]
        fn sample_count_is_minimal(p in 0.01..0.9999) {
            let n = samples_for_quantile(p).unwrap() as f64;
            prop_assert!(1.0 - p.powf(n) >= CONFIDENCE);
            prop_assert!(n < 1.5 || 1.0 - p.powf(n - 1.0) < CONFIDENCE);
        }
    }
}
