// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sessions of both sides in one order, and the cost of reading the clock in each.
//!
//! The figures of two runs come in; the sessions to compare, the design of the test and the change
//! of the processor's speed go out.

use std::collections::{BTreeMap, HashMap};

use crate::judge::conditions::{ConditionKind, Difference};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::pairing::Blocks;
use crate::judge::quantity::Quantity;
use crate::statistics::permutation::Design;
use crate::stream::run::{Unit, CLOCK};

/// Whether the processor's speed changed. The cost of reading the clock follows that speed, and the
/// kernel plays no part in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// A change of speed cannot be separated from a change of the kernel, for this reason.
    Unknown(&'static str),
    /// How much the cost of reading the clock changed.
    Known {
        /// New over base: above 1 the processor became slower.
        ratio: f64,
        /// The 95 % confidence interval of the ratio.
        interval: (f64, f64),
        /// The margin, as a share.
        margin: f64,
    },
}

impl Speed {
    /// How much the cost of reading the clock changed, as a share; `None` unless the whole interval
    /// is beyond the margin.
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

/// The cost of reading the clock once, for each session that measured it.
pub(super) struct Clocks {
    /// Logarithms of nanoseconds by session, for the base and the new side.
    of: [BTreeMap<usize, f64>; 2],
    /// Why a change of speed cannot be separated; `None` if it can.
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
            Some("one side measured no times")
        } else if differences.iter().any(|d| d.kind == ConditionKind::Machine) {
            Some("the machines differ, so their speed is part of the comparison")
        } else if of.iter().any(|side| side.len() < 2) {
            Some(
                "one side has fewer than two sessions with clock.read, so a change of CPU speed \
                 looks like a change of the kernel",
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

/// The sessions that are compared: those of the base, then those of the new side.
pub(super) struct Sessions {
    /// Side (0 is the base, 1 is new) and index into the run's sessions.
    all: Vec<(usize, usize)>,
    /// The position of each session in `all`, for each side.
    places: [HashMap<usize, usize>; 2],
    pub(super) design: Design,
    /// The logarithm of the cost of reading the clock in each session; `None` if a change of speed
    /// cannot be separated.
    pub(super) clock: Option<Vec<f64>>,
    /// How many sessions of each side did not measure the clock.
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

    /// A quantity of a metric in each session; NaN if a session does not have it.
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

    /// The change of the processor's speed.
    pub(super) fn speed(&self, clocks: &Clocks, margin: f64) -> Speed {
        if let Some(why) = clocks.unknown {
            return Speed::Unknown(why);
        }
        let clock = self.clock.as_ref();
        let Some(shift) = clock.and_then(|clock| self.design.difference(clock, 0.0)) else {
            return Speed::Unknown("there are too few sessions to compare CPU speed");
        };
        let (low, high) = shift.interval(0.0);
        Speed::Known {
            ratio: shift.estimate.exp(),
            interval: (low.exp(), high.exp()),
            margin,
        }
    }
}
