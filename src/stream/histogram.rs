// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exact distribution of samples: how often each value was measured.

use crate::stream::ticks::Ticks;

/// An exact distribution, `value:count`. Nothing is binned, clamped or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// In rising order of values, none twice: a run of many sessions holds many short ones.
    counts: Vec<(Ticks, u64)>,
}

impl Histogram {
    /// A distribution without samples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` samples of `value`; a count of 0 changes nothing. Values that come in rising
    /// order take no time to place; many in any order are better collected.
    ///
    /// A count beyond 2^64 - 1 stays there.
    pub fn add(&mut self, value: Ticks, count: u64) {
        if count == 0 {
            return;
        }
        if self.max().is_none_or(|greatest| greatest < value) {
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

    /// How many samples there are; stays at 2^64 - 1 when there are more.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.iter().fold(0, |sum, (_, n)| sum.saturating_add(n))
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
        self.counts.first().map(|(value, _)| *value)
    }

    /// The greatest value; `None` without samples.
    #[must_use]
    pub fn max(&self) -> Option<Ticks> {
        self.counts.last().map(|(value, _)| *value)
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

    /// The median within the tick, as for grouped data: the samples of a value are taken as spread
    /// evenly from half a tick below it to half a tick above. `None` without samples.
    ///
    /// With stamps whose phase is random, this is at most 0.09 ticks off the truth (the greatest
    /// difference of `1/(2(1-f)) - 1/2` and `f` for a share f up to one half in the next tick).
    #[must_use]
    pub fn interpolated_median(&self) -> Option<f64> {
        let total: u128 = self.iter().map(|(_, n)| u128::from(n)).sum();
        let half = total as f64 / 2.0;
        let mut below = 0.0;
        // Where exactly half of the samples lie at or below a value, the median is anywhere up to
        // the next one: the middle of that gap counts.
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

    /// The values in rising order, each with its count (never 0).
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Ticks, u64)> + '_ {
        self.counts.iter().copied()
    }
}

impl FromIterator<(Ticks, u64)> for Histogram {
    /// Values in any order, also several times; counts of one value add up, and stay at 2^64 - 1
    /// beyond it. A count of 0 is none.
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
    fn the_interpolated_median_lies_within_the_tick() {
        let median = |pairs: &[(u64, u64)]| of(pairs).interpolated_median();
        assert_eq!(median(&[(36, 10)]), Some(36.0));
        assert_eq!(median(&[(36, 5), (37, 5)]), Some(36.5));
        assert_eq!(median(&[(1, 1), (4, 1)]), Some(2.5));
        assert_eq!(median(&[(36, 30), (37, 70)]), Some(36.5 + 2.0 / 7.0));
        assert_eq!(median(&[]), None);
        // A duration of 36.3 ticks whose stamps have any phase.
        let off = median(&[(36, 7), (37, 3)]).unwrap() - 36.3;
        assert!(off.abs() < 0.09, "{off}");
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
            prop_assert_eq!(h.median(), crate::statistics::order::median(&floats));
        }

        #[test]
        fn adding_one_by_one_is_collecting(pairs in pairs()) {
            let mut one_by_one = Histogram::new();
            for (value, count) in &pairs {
                one_by_one.add(Ticks(*value), *count);
            }
            prop_assert_eq!(one_by_one, of(&pairs));
        }

        #[test]
        fn interpolation_stays_within_half_a_tick_and_mirrors(pairs in pairs()) {
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
