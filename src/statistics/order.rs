// SPDX-License-Identifier: MIT OR Apache-2.0

//! Statistics: pure functions, each with its source.
//!
//! All intervals and quantiles of one group of values are *order statistics*: values that were
//! measured. They assume nothing of the shape of a distribution but that the
//! values are independent and of one distribution (H. A. David, H. N. Nagaraja,
//! *Order Statistics*, 3rd edition, 2003, sections 7.1 and 7.2; G. J. Hahn, W. Q. Meeker,
//! *Statistical Intervals*, 1991, chapter 5).

use crate::stream::histogram::Histogram;
use crate::stream::ticks::Ticks;

/// The confidence that every interval and bound here has at least.
pub const CONFIDENCE: f64 = 0.95;

/// The middle value; of an even number the mean of the two middle ones. `None`
/// when there is none.
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

/// The exact probability that the `rank`-th least and the `rank`-th greatest of
/// `n` independent values have the median of their distribution between them:
/// 1 - 2 P(B < `rank`), B binomial of `n` and 1/2. 0 when `rank` is 0 or the
/// two have crossed.
#[must_use]
pub fn coverage(n: usize, rank: usize) -> f64 {
    if rank == 0 || 2 * rank > n {
        return 0.0;
    }
    // Logarithms: 2^-n is no number from n = 1075 on.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for i in 0..rank {
        below += term.exp();
        term += ((n - i) as f64 / (i + 1) as f64).ln();
    }
    (1.0 - 2.0 * below).max(0.0)
}

/// The rank whose [`coverage`] is [`CONFIDENCE`] or more and which lies
/// furthest inside: 1 (least and greatest) for 6 to 8 values, 2 for 9 to 11.
/// `None` below 6 values, where even the whole range covers too seldom.
#[must_use]
pub fn interval_rank(n: usize) -> Option<usize> {
    (1..=n / 2)
        .take_while(|k| coverage(n, *k) >= CONFIDENCE)
        .last()
}

/// An interval that holds the median of the distribution with the probability
/// [`coverage`], [`CONFIDENCE`] or more, whatever the distribution: the sign
/// test turned round (W. R. Thompson, *Annals of Mathematical Statistics* 7,
/// 1936). `None` below 6 values.
///
/// 6 values: least to greatest (96.9 %); 10 values: second to ninth (97.9 %).
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let rank = interval_rank(values.len())?;
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// The fewest samples that hold, with the probability [`CONFIDENCE`] or more, at
/// least one beyond the quantile `p`: least n with 1 - `p`^n >= 0.95 (S. S. Wilks,
/// *Annals of Mathematical Statistics* 12, 1941). 299 for p99. `None` unless 0 < `p` < 1.
#[must_use]
pub fn samples_for_quantile(p: f64) -> Option<u64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let enough = |n: f64| 1.0 - p.powf(n) >= CONFIDENCE;
    let mut n = ((1.0 - CONFIDENCE).ln() / p.ln()).ceil().max(1.0);
    // The quotient may round to the wrong side of an integer.
    if n > 1.0 && enough(n - 1.0) {
        n -= 1.0;
    } else if !enough(n) {
        n += 1.0;
    }
    Some(n as u64)
}

/// The rank of the quantile `p` of `n` samples, the least whose share is `p` or
/// more (definition 1 of R. J. Hyndman, Y. Fan, *The American Statistician* 50,
/// 1996). `None` when [`samples_for_quantile`] refuses it.
fn quantile_rank(n: u64, p: f64) -> Option<u64> {
    if n < samples_for_quantile(p)? {
        return None;
    }
    let exact = p * n as f64;
    let nearest = exact.round();
    // A product such as 0.9 * n may lie a rounding above its integer.
    let rank = if (exact - nearest).abs() < nearest * 4.0 * f64::EPSILON {
        nearest
    } else {
        exact.ceil()
    };
    Some((rank as u64).clamp(1, n))
}

/// The quantile `p` of a distribution, a value that was measured. `None` when
/// there are fewer samples than [`samples_for_quantile`].
#[must_use]
pub fn quantile(histogram: &Histogram, p: f64) -> Option<Ticks> {
    histogram.order_statistic(quantile_rank(histogram.total(), p)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_needs_six_values() {
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
    fn tails_need_samples() {
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
        fn the_median_has_as_many_above_as_below(values in prop::collection::vec(-1e9..1e9, 1..50)) {
            let m = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < m).count();
            let above = values.iter().filter(|v| **v > m).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }

        #[test]
        fn the_interval_holds_the_median(values in prop::collection::vec(-1e9..1e9, 6..50)) {
            let (low, high) = median_interval(&values).unwrap();
            let m = median(&values).unwrap();
            prop_assert!(low <= m && m <= high);
        }

        #[test]
        fn enough_samples_are_the_fewest(p in 0.01..0.9999) {
            let n = samples_for_quantile(p).unwrap() as f64;
            prop_assert!(1.0 - p.powf(n) >= CONFIDENCE);
            prop_assert!(n < 1.5 || 1.0 - p.powf(n - 1.0) < CONFIDENCE);
        }
    }
}
