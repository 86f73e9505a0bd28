// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exact distribution of samples: values in any order in, a sorted list of value and count out.

use crate::stream::ticks::Ticks;

/// An exact distribution: each value with its count. Nothing is binned, clamped or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Sorted by value, each value once. A vector, because a run of many sessions holds many short
    /// histograms.
    counts: Vec<(Ticks, u64)>,
}

impl Histogram {
    /// An empty distribution.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` samples of `value`. Fast if values are added in ascending order. To build a
    /// histogram from many values in another order, collect them instead.
    ///
    /// Counts saturate at 2^64 - 1.
    pub fn add(&mut self, value: Ticks, count: u64) {
        if count == 0 {
            return;
        }
        if self.max().is_none_or(|max| max < value) {
            return self.counts.push((value, count));
        }
        match self
            .counts
            .binary_search_by_key(&value, |(known, _)| *known)
        {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
            Err(at) => self.counts.insert(at, (value, count)),
        }
    }

    /// The number of samples. Saturates at 2^64 - 1.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.iter().fold(0, |sum, (_, n)| sum.saturating_add(n))
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of distinct values.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// The smallest value. `None` without samples.
    #[must_use]
    pub fn min(&self) -> Option<Ticks> {
        self.counts.first().map(|(value, _)| *value)
    }

    /// The largest value. `None` without samples.
    #[must_use]
    pub fn max(&self) -> Option<Ticks> {
        self.counts.last().map(|(value, _)| *value)
    }

    /// The sample with this rank in ascending order: 1 is the smallest, [`total`](Self::total) the
    /// largest. `None` outside that range.
    #[must_use]
    pub fn order_statistic(&self, rank: u64) -> Option<Ticks> {
        let mut left = rank.checked_sub(1)?;
        for (value, count) in self.iter() {
            if left < count {
                return Some(value);
            }
            left -= count;
        }
        None
    }

    /// The median in ticks: the middle value, or the mean of the two middle values. `None` without
    /// samples.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let n = self.total();
        let low = self.order_statistic(n / 2 + n % 2)?;
        let high = self.order_statistic(n / 2 + 1)?;
        Some(low.0 as f64 / 2.0 + high.0 as f64 / 2.0)
    }

    /// The median in ticks, interpolated within a tick as for grouped data: it assumes that the
    /// samples of a value are spread evenly from half a tick below it to half a tick above. `None`
    /// without samples.
    ///
    /// If the phase of the stamps is random, the error is at most 0.09 ticks (the maximum of
    /// `1/(2(1-f)) - 1/2 - f` in absolute value, for a share f of up to one half in the next tick).
    #[must_use]
    pub fn interpolated_median(&self) -> Option<f64> {
        let total: u128 = self.iter().map(|(_, n)| u128::from(n)).sum();
        let half = total as f64 / 2.0;
        let mut below = 0.0;
        // If exactly half of the samples are at or below a value, any point up to the next value is
        // a median. Take the middle of that gap.
        let mut lower: Option<f64> = None;
        for (value, count) in self.iter() {
            let (value, count) = (value.0 as f64, count as f64);
            if let Some(lower) = lower {
                return Some(f64::midpoint(lower, value - 0.5));
            }
            if below + count > half {
                return Some(value - 0.5 + (half - below) / count);
            }
            below += count;
            if below >= half {
                lower = Some(value + 0.5);
            }
        }
        None
    }

    /// The values in ascending order, each with its count (never 0).
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Ticks, u64)> + '_ {
        self.counts.iter().copied()
    }
}

impl FromIterator<(Ticks, u64)> for Histogram {
    /// Takes values in any order. Counts of equal values add up and saturate at 2^64 - 1. Counts of
    /// 0 are ignored.
    fn from_iter<I: IntoIterator<Item = (Ticks, u64)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter().filter(|(_, count)| *count > 0);
        let mut counts: Vec<(Ticks, u64)> = pairs.collect();
        counts.sort_by_key(|(value, _)| *value);
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        counts.shrink_to_fit();
        Histogram { counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[(u64, u64)]) -> Histogram {
        pairs.iter().map(|(v, n)| (Ticks(*v), *n)).collect()
    }

    #[test]
    fn empty_distribution_has_no_values() {
        let h = Histogram::new();
        assert!(h.is_empty());
        assert_eq!(
            (
                h.total(),
                h.min(),
                h.max(),
                h.median(),
                h.order_statistic(1)
            ),
            (0, None, None, None, None)
        );
    }

    #[test]
    fn median_of_even_count_is_mean_of_middle_two() {
        assert_eq!(of(&[(1, 1), (4, 1)]).median(), Some(2.5));
        assert_eq!(of(&[(1, 2), (4, 1)]).median(), Some(1.0));
        assert_eq!(of(&[(1, 2), (4, 2)]).median(), Some(2.5));
        assert_eq!(of(&[(1, 1), (4, 2)]).median(), Some(4.0));
    }

    #[test]
    fn interpolated_median_lies_within_the_tick() {
        let median = |pairs: &[(u64, u64)]| of(pairs).interpolated_median();
        assert_eq!(median(&[(36, 10)]), Some(36.0));
        assert_eq!(median(&[(36, 5), (37, 5)]), Some(36.5));
        assert_eq!(median(&[(1, 1), (4, 1)]), Some(2.5));
        assert_eq!(median(&[(36, 30), (37, 70)]), Some(36.5 + 2.0 / 7.0));
        assert_eq!(median(&[]), None);
        // A duration of 36.3 ticks with stamps of random phase.
        let off = median(&[(36, 7), (37, 3)]).unwrap() - 36.3;
        assert!(off.abs() < 0.09, "{off}");
    }

    #[test]
    fn counts_saturate() {
        let h = of(&[(1, u64::MAX), (1, 1), (2, 7)]);
        assert_eq!(h.total(), u64::MAX);
        assert_eq!(h.median(), Some(1.0));
        assert_eq!(of(&[(u64::MAX, 2)]).median(), Some(u64::MAX as f64));
    }

    fn pairs() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..50, 0u64..5), 0..40)
    }

    proptest! {
        #[test]
        fn agrees_with_sorted_samples(pairs in pairs()) {
            let h = of(&pairs);
            let mut samples: Vec<u64> = pairs
                .iter()
                .flat_map(|(v, n)| std::iter::repeat_n(*v, *n as usize))
                .collect();
            samples.sort_unstable();
            prop_assert_eq!(h.total(), samples.len() as u64);
            prop_assert_eq!(h.min().map(|t| t.0), samples.first().copied());
            prop_assert_eq!(h.max().map(|t| t.0), samples.last().copied());
            for (i, sample) in samples.iter().enumerate() {
                prop_assert_eq!(h.order_statistic(i as u64 + 1), Some(Ticks(*sample)));
            }
            prop_assert_eq!(h.order_statistic(0), None);
            prop_assert_eq!(h.order_statistic(samples.len() as u64 + 1), None);
            let floats: Vec<f64> = samples.iter().map(|s| *s as f64).collect();
            prop_assert_eq!(h.median(), crate::statistics::order::median(&floats));
        }

        #[test]
        fn adding_equals_collecting(pairs in pairs()) {
            let mut one_by_one = Histogram::new();
            for (value, count) in &pairs {
                one_by_one.add(Ticks(*value), *count);
            }
            prop_assert_eq!(one_by_one, of(&pairs));
        }

        #[test]
        fn interpolation_is_within_half_a_tick_and_symmetric(pairs in pairs()) {
            let h = of(&pairs);
            let (Some(median), Some(between)) = (h.median(), h.interpolated_median()) else {
                return Ok(());
            };
            prop_assert!((median - between).abs() <= 0.5, "{} {}", median, between);
            let mirrored: Histogram = h.iter().map(|(v, n)| (Ticks(100 - v.0), n)).collect();
            let other = mirrored.interpolated_median().unwrap();
            prop_assert!((between + other - 100.0).abs() < 1e-9, "{} {}", between, other);
        }
    }
}
