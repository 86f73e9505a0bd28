// SPDX-License-Identifier: MIT OR Apache-2.0

//! What compared metrics can be sorted by.

use std::cmp::Ordering;

use clap::ValueEnum;

use crate::judge::compare::metric::Compared;
use crate::judge::quantity::Quantity;
use crate::judge::ranking::{greatest_first, Key};

/// The keys of compared metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareKey {
    /// By the size of the change, up or down (the default)
    #[default]
    Change,
    /// By id
    Id,
    /// By the cost in the base
    Cost,
    /// By the width of the change's interval
    Spread,
    /// By the size of the change of p99
    Tail,
}

impl Key<Compared> for CompareKey {
    fn compare(self, a: &Compared, b: &Compared) -> Ordering {
        match self {
            CompareKey::Id => a.id.cmp(&b.id),
            key => greatest_first(key.size(a), key.size(b)),
        }
    }
}

impl CompareKey {
    fn size(self, of: &Compared) -> Option<f64> {
        let change = |ratio: f64| ratio.ln().abs();
        match self {
            CompareKey::Change => Some(change(of.decisive()?.ratio?)),
            CompareKey::Id => None,
            CompareKey::Cost => Some(of.base.or(of.new)?.value),
            CompareKey::Spread => {
                let (low, high) = of.decisive()?.interval?;
                Some((high / low).ln())
            }
            CompareKey::Tail => Some(change(of.judgement_of(Quantity::P99)?.ratio?)),
        }
    }
}
