//! The exact distribution of samples: how often each value was measured.

use std::collections::BTreeMap;

use crate::run::Ticks;

/// An exact distribution, `value:count`. Nothing is binned, clamped or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<Ticks, u64>,
}

impl Histogram {
    /// A distribution without samples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` samples of `value`; a count of 0 changes nothing.
    ///
    /// A count beyond 2^64 - 1 stays there.
    pub fn add(&mut self, value: Ticks, count: u64) {
        if count > 0 {
            let held = self.counts.entry(value).or_insert(0);
            *held = held.saturating_add(count);
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (value, count) in other.iter() {
            self.add(value, count);
        }
    }

    /// How many samples there are; stays at 2^64 - 1 when there are more.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts
            .values()
            .fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many different values there are.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// The least value; `None` without samples.
    #[must_use]
    pub fn min(&self) -> Option<Ticks> {
        self.counts.keys().next().copied()
    }

    /// The greatest value; `None` without samples.
    #[must_use]
    pub fn max(&self) -> Option<Ticks> {
        self.counts.keys().next_back().copied()
    }

    /// The sample of the given rank in rising order: 1 is the least, [`total`](Self::total)
    /// the greatest. `None` outside that range.
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

    /// The middle value in ticks; of an even number of samples the mean of the
    /// two middle ones. `None` without samples.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let n = self.total();
        let low = self.order_statistic(n / 2 + n % 2)?;
        let high = self.order_statistic(n / 2 + 1)?;
        Some(low.0 as f64 / 2.0 + high.0 as f64 / 2.0)
    }

    /// The values in rising order, each with its count (never 0).
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Ticks, u64)> + '_ {
        self.counts.iter().map(|(value, count)| (*value, *count))
    }
}

impl FromIterator<(Ticks, u64)> for Histogram {
    fn from_iter<I: IntoIterator<Item = (Ticks, u64)>>(pairs: I) -> Self {
        let mut histogram = Self::new();
        for (value, count) in pairs {
            histogram.add(value, count);
        }
        histogram
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
    fn an_empty_distribution_has_no_values() {
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
    fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(of(&[(1, 1), (4, 1)]).median(), Some(2.5));
        assert_eq!(of(&[(1, 2), (4, 1)]).median(), Some(1.0));
        assert_eq!(of(&[(1, 2), (4, 2)]).median(), Some(2.5));
        assert_eq!(of(&[(1, 1), (4, 2)]).median(), Some(4.0));
    }

    #[test]
    fn counts_at_the_limit_do_not_wrap() {
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
        fn it_agrees_with_the_sorted_samples(pairs in pairs()) {
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
            prop_assert_eq!(h.median(), crate::stats::median(&floats));
        }

        #[test]
        fn merging_is_adding(a in pairs(), b in pairs()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
