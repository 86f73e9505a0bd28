// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sessions of both sides in one order, and what reading the clock took in each.
//!
//! The figures of two runs come in; the sessions that are compared, the test's design and the change
//! of the processor's speed go out.

use std::collections::{BTreeMap, HashMap};

use crate::judge::conditions::{ConditionKind, Difference};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::pairing::Blocks;
use crate::judge::quantity::Quantity;
use crate::statistics::permutation::Design;
use crate::stream::run::{Unit, CLOCK};

/// Whether the processor was as fast on both sides. Reading the clock follows its speed, and no
/// kernel has a part in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// It is not separated from what the kernel does; why, in a sentence.
    Unknown(&'static str),
    /// What one reading of the clock costs now.
    Known {
        /// New over base: above 1 the processor is slower.
        ratio: f64,
        /// Its interval, with 95 % confidence.
        interval: (f64, f64),
        /// The margin, as a share.
        margin: f64,
    },
}

impl Speed {
    /// By how much reading the clock changed, as a share, where the whole interval lies beyond the
    /// margin.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        let Speed::Known {
            ratio,
            interval: (low, high),
            margin,
        } = self
        else {
            return None;
        };
        let is_beyond = *low > 1.0 + margin || *high < 1.0 / (1.0 + margin);
        is_beyond.then_some(ratio - 1.0)
    }
}

/// What one reading of the clock took in each session that measured it.
pub(super) struct Clocks {
    /// Logarithms of nanoseconds, for the base and the new side.
    of: [BTreeMap<usize, f64>; 2],
    /// Why the speed of the processor is not separated; `None` where it is.
    unknown: Option<&'static str>,
}

impl Clocks {
    pub(super) fn of(figures: [&RunFigures; 2], differences: &[Difference]) -> Self {
        let of = figures.map(|run| -> BTreeMap<usize, f64> {
            let mut metrics = run.metrics.iter();
            let clock = metrics.find(|m| m.id == CLOCK && m.unit == Unit::Cycles);
            let values = clock.into_iter().flat_map(|m| m.values(Quantity::P50));
            let values = values.filter(|(_, value)| *value > 0.0);
            values
                .map(|(session, value)| (session, value.ln()))
                .collect()
        });
        let is_time = figures
            .iter()
            .all(|run| run.metrics.iter().any(|m| m.unit == Unit::Cycles));
        let unknown = if !is_time {
            Some("what was measured is not time")
        } else if differences.iter().any(|d| d.kind == ConditionKind::Machine) {
            Some("the machines differ, so their speed is part of what is compared")
        } else if of.iter().any(|side| side.len() < 2) {
            Some(
                "fewer than two sessions of a side measured clock.read, so a change of the \
                 processor's speed looks like a change of the kernel",
            )
        } else {
            None
        };
        Clocks { of, unknown }
    }

    pub(super) fn is_known(&self) -> bool {
        self.unknown.is_none()
    }
}

/// The sessions of both sides that are compared: first the base's, then the new side's.
pub(super) struct Sessions {
    /// Side (0 or 1) and index into the run's sessions.
    all: Vec<(usize, usize)>,
    /// Where a side's session stands in `all`.
    places: [HashMap<usize, usize>; 2],
    pub(super) design: Design,
    /// What one reading of the clock took in each, where the speed is separated.
    pub(super) clock: Option<Vec<f64>>,
    pub(super) left_out: [usize; 2],
}

impl Sessions {
    pub(super) fn of(figures: [&RunFigures; 2], clocks: &Clocks, blocks: Option<&Blocks>) -> Self {
        let mut all = Vec::new();
        let mut left_out = [0; 2];
        for (side, run) in figures.iter().enumerate() {
            let mut measured = vec![false; run.sessions];
            for replicate in run.metrics.iter().flat_map(|m| &m.replicates) {
                measured[replicate.session] = true;
            }
            for session in (0..run.sessions).filter(|session| measured[*session]) {
                if clocks.is_known() && !clocks.of[side].contains_key(&session) {
                    left_out[side] += 1;
                } else {
                    all.push((side, session));
                }
            }
        }
        let is_new = all.iter().map(|(side, _)| *side == 1).collect();
        let of_block = |(side, session): &(usize, usize)| {
            blocks.map_or(0, |blocks| blocks.of[*side][*session])
        };
        let numbers: Vec<usize> = all.iter().map(of_block).collect();
        let mut places: [HashMap<usize, usize>; 2] = Default::default();
        for (place, (side, session)) in all.iter().enumerate() {
            places[*side].insert(*session, place);
        }
        let reading = |(side, session): &(usize, usize)| clocks.of[*side].get(session).copied();
        Sessions {
            design: Design::new(is_new, blocks.map(|_| &numbers[..])),
            clock: clocks.is_known().then(|| {
                all.iter()
                    .map(reading)
                    .map(|one| one.unwrap_or(f64::NAN))
                    .collect()
            }),
            all,
            places,
            left_out,
        }
    }

    /// A quantity of a metric in each session; NaN where a session does not have it.
    pub(super) fn values(&self, sides: [&MetricFigures; 2], quantity: Quantity) -> Vec<f64> {
        let mut values = vec![f64::NAN; self.all.len()];
        for (side, metric) in sides.into_iter().enumerate() {
            for (session, value) in metric.values(quantity) {
                if let Some(place) = self.places[side].get(&session) {
                    values[*place] = value;
                }
            }
        }
        values
    }

    pub(super) fn speed(&self, clocks: &Clocks, margin: f64) -> Speed {
        if let Some(why) = clocks.unknown {
            return Speed::Unknown(why);
        }
        let clock = self.clock.as_ref();
        let Some(shift) = clock.and_then(|clock| self.design.difference(clock, 0.0)) else {
            return Speed::Unknown("the sessions are too few to compare their speed");
        };
        let (low, high) = shift.interval(0.0);
        Speed::Known {
            ratio: shift.estimate.exp(),
            interval: (low.exp(), high.exp()),
            margin,
        }
    }
}
