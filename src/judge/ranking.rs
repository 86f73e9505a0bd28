// SPDX-License-Identifier: MIT OR Apache-2.0

//! The order in which a report shows metrics, and how many of them.
//!
//! Items and a key come in; references in the order of that key go out. Nothing here changes what
//! is judged: that is what a [`Selection`](crate::stream::filter::Selection) does.

use std::cmp::Ordering;

use clap::ValueEnum;

use crate::judge::quantity::Quantity;
use crate::judge::summary::Summary;

/// How a report orders its metrics. `K` are the keys it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranking<K> {
    /// What to sort by; `None`: the report's own order.
    pub key: Option<K>,
    /// Show only this many; `None`: as many as the report shows by itself.
    pub top: Option<usize>,
    /// Show everything that the report leaves out otherwise.
    pub all: bool,
}

impl<K> Default for Ranking<K> {
    fn default() -> Self {
        Ranking {
            key: None,
            top: None,
            all: false,
        }
    }
}

/// A key for sorting items of this type.
pub trait Key<T>: Copy {
    /// The order of two items.
    fn compare(self, a: &T, b: &T) -> Ordering;
}

impl<K> Ranking<K> {
    /// The items in order, at most [`top`](Self::top) of them, and how many are left out. Without a
    /// key they keep their order.
    #[must_use]
    pub fn of<'a, T>(&self, items: impl IntoIterator<Item = &'a T>) -> (Vec<&'a T>, usize)
    where
        K: Key<T>,
    {
        let mut items: Vec<&T> = items.into_iter().collect();
        if let Some(key) = self.key {
            items.sort_by(|a, b| key.compare(a, b));
        }
        let all = items.len();
        items.truncate(self.top.unwrap_or(all));
        let left_out = all - items.len();
        (items, left_out)
    }
}

/// The greatest value first; items without a value last.
#[must_use]
pub fn greatest_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    let known = |value: Option<f64>| value.filter(|value| !value.is_nan());
    match (known(a), known(b)) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The keys of a run's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunKey {
    /// By id
    Id,
    /// By the median
    Cost,
    /// By the width of the median's interval, relative to the median
    Spread,
    /// By p99 relative to the median; by the worst sample where there is no p99
    Tail,
}

impl Key<Summary> for RunKey {
    fn compare(self, a: &Summary, b: &Summary) -> Ordering {
        match self {
            RunKey::Id => a.id.cmp(&b.id),
            key => greatest_first(key.size(a), key.size(b)),
        }
    }
}

impl RunKey {
    fn size(self, of: &Summary) -> Option<f64> {
        let median = of.median?;
        let relative = |value: f64| (median > 0.0).then(|| value / median);
        match self {
            RunKey::Id => None,
            RunKey::Cost => Some(of.nanoseconds(median).unwrap_or(median)),
            RunKey::Spread => relative(of.high? - of.low?),
            RunKey::Tail => relative(of.percentile_value(Quantity::P99).or(of.max)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct BySize;

    impl Key<(char, Option<f64>)> for BySize {
        fn compare(self, a: &(char, Option<f64>), b: &(char, Option<f64>)) -> Ordering {
            greatest_first(a.1, b.1)
        }
    }

    #[test]
    fn ranking_sorts_and_counts_what_it_leaves_out() {
        let items = [
            ('a', None),
            ('b', Some(1.0)),
            ('c', Some(f64::NAN)),
            ('d', Some(3.0)),
            ('e', Some(1.0)),
        ];
        let names = |key, top| {
            let ranking = Ranking {
                key,
                top,
                all: false,
            };
            let (shown, left_out) = ranking.of(&items);
            (shown.iter().map(|one| one.0).collect::<String>(), left_out)
        };
        assert_eq!(names(None, None), ("abcde".to_owned(), 0));
        assert_eq!(names(Some(BySize), None), ("dbeac".to_owned(), 0));
        assert_eq!(names(Some(BySize), Some(2)), ("db".to_owned(), 3));
        assert_eq!(names(None, Some(9)), ("abcde".to_owned(), 0));
    }
}
