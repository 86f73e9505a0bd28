// SPDX-License-Identifier: MIT OR Apache-2.0

//! The figures of a replicate: its median, its percentiles and its first operation.
//!
//! A run comes in; the figures of each replicate of each metric go out. Every command takes its
//! figures from here, so `run`, `show`, `compare`, `plan`, `noise` and budgets always agree.

use std::collections::HashSet;

use crate::judge::quantity::Quantity;
use crate::judge::summary::{Group, Status};
use crate::statistics::order;
use crate::stream::histogram::Histogram;
use crate::stream::run::{Entry, Outcome, Replicate, Run, Statistic, Unit};

impl Replicate {
    /// A figure of this replicate, in ticks per operation. If a batch has more than one operation,
    /// a percentile is one of batch means.
    ///
    /// The median of times is interpolated within the tick, as for grouped data: a time stamp is a
    /// whole number of ticks, so samples of one value are taken as spread evenly over the tick.
    /// Percentiles are order statistics. `None` without a value, or with too few samples for the
    /// percentile ([`order::samples_for_quantile`]).
    #[must_use]
    pub fn figure(&self, quantity: Quantity, unit: Unit) -> Option<f64> {
        if self.outcome != Outcome::Ok {
            return None;
        }
        if quantity == Quantity::Cold {
            return Some(self.cold?.0 as f64);
        }
        let batch = self.batch.max(1) as f64;
        match (quantity, &self.stat) {
            (Quantity::P50, Some(stat)) => stat.value(),
            (_, Some(_)) => None,
            (Quantity::P50, None) if unit == Unit::Instructions => {
                Some(self.histogram.median()? / batch)
            }
            (Quantity::P50, None) => Some(self.histogram.interpolated_median()? / batch),
            (tail, None) => {
                let ticks = order::quantile(&self.histogram, tail.share()?)?;
                Some(ticks.0 as f64 / batch)
            }
        }
    }

    /// Every figure of this replicate, in the order of [`Quantity::ALL`].
    fn figures(&self, unit: Unit) -> [Option<f64>; 5] {
        Quantity::ALL.map(|quantity| self.figure(quantity, unit))
    }
}

/// The figures of a replicate that has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicateFigures {
    /// Index into the run's sessions.
    pub session: usize,
    /// Operations in each sample.
    pub batch: u64,
    /// One tick of the clock per operation, in the unit of the figures. 0 for counted instructions
    /// and for summaries, which are not rounded to a tick.
    pub tick: f64,
    /// Whether nearly all samples have the same value, so that the median may be anywhere within the
    /// tick.
    pub in_one_tick: bool,
    /// In the order of [`Quantity::ALL`]: nanoseconds, or ticks if they are not time.
    pub values: [Option<f64>; 5],
}

impl ReplicateFigures {
    /// One of the figures.
    #[must_use]
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        self.values[quantity as usize]
    }
}

/// The replicate of counted instructions that all replicates equal, sample by sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Operations in each sample.
    pub batch: u64,
    /// Its samples.
    pub histogram: Histogram,
}

impl Exact {
    /// The mean of the samples, per operation.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (mut sum, mut samples) = (0.0, 0.0);
        for (ticks, count) in self.histogram.iter() {
            sum += ticks.0 as f64 * count as f64;
            samples += count as f64;
        }
        sum / samples / self.batch.max(1) as f64
    }
}

/// The figures of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFigures {
    /// The metric's id.
    pub id: String,
    /// Whether it has a value.
    pub status: Status,
    /// Why it has no value.
    pub reason: Option<String>,
    /// The unit of its clock.
    pub unit: Unit,
    /// What its p50 is: a median or a mean.
    pub statistic: Statistic,
    /// The replicates with a value.
    pub replicates: Vec<ReplicateFigures>,
    /// Whether its only replicate is a summary without samples.
    pub is_summary: bool,
    /// The samples that all replicates share, if this metric has no noise at all.
    pub exact: Option<Exact>,
    /// Whether the port builds it from other primitives ([`crate::stream::run::Entry::idiom`]).
    pub is_idiom: bool,
    /// Whether it needs a second CPU.
    pub needs_two_cpus: bool,
}

impl MetricFigures {
    /// The figure of each replicate that has it, with the replicate's session.
    pub fn values(&self, quantity: Quantity) -> impl Iterator<Item = (usize, f64)> + '_ {
        let replicates = self.replicates.iter();
        replicates.filter_map(move |one| Some((one.session, one.value(quantity)?)))
    }

    /// Why it has no value.
    #[must_use]
    pub fn absence(&self) -> String {
        absence(self.status, self.reason.as_deref())
    }
}

/// Why a metric with this status has no value.
pub(crate) fn absence(status: Status, reason: Option<&str>) -> String {
    let what = match status {
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete | Status::Ok => "incomplete",
    };
    format!("{what}: {}", reason.unwrap_or("no reason given"))
}

/// The figures of a run: everything that a comparison needs from its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// The number of sessions in the run.
    pub sessions: usize,
    /// The metrics that the run tried, in the run's order.
    pub metrics: Vec<MetricFigures>,
}

/// If at least this share of a replicate's samples has one value, the tick hides the median.
const NEARLY_ALL: f64 = 0.95;

impl RunFigures {
    /// The figures of all metrics of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let of_entries = |has: fn(&Entry) -> bool| -> HashSet<&str> {
            let entries = run.catalog.iter().filter(|entry| has(entry));
            entries.map(|entry| entry.metric.as_str()).collect()
        };
        let idioms = of_entries(|entry| entry.idiom);
        let on_two_cpus = of_entries(Entry::needs_two_cpus);
        let tried = run.metrics.iter().filter(|m| !m.replicates.is_empty());
        let metrics = tried.map(|metric| {
            let group = Group::of(run, metric);
            let status = group.status();
            let replicates = group.ok.iter().filter_map(|one| of_replicate(run, one));
            let mut replicates: Vec<ReplicateFigures> = replicates.collect();
            replicates.sort_by_key(|one| one.session);
            MetricFigures {
                id: metric.id.clone(),
                status,
                reason: group.reason(status).map(str::to_owned),
                unit: group.clock.unit,
                statistic: group.statistic,
                replicates,
                is_summary: group.ok.len() == 1 && group.ok[0].stat.is_some(),
                exact: is_exact(group.clock.unit, &group.ok).then(|| Exact {
                    batch: group.ok[0].batch,
                    histogram: group.ok[0].histogram.clone(),
                }),
                is_idiom: idioms.contains(metric.id.as_str()),
                needs_two_cpus: on_two_cpus.contains(metric.id.as_str()),
            }
        });
        RunFigures {
            sessions: run.sessions.len(),
            metrics: metrics.collect(),
        }
    }
}

/// `None` if a clock that counts cycles has no known frequency.
fn of_replicate(run: &Run, replicate: &Replicate) -> Option<ReplicateFigures> {
    let clock = &run.sessions[replicate.session].clock;
    let one_tick = clock.shown(1.0)? / replicate.batch.max(1) as f64;
    let is_coarse = clock.unit != Unit::Instructions && replicate.stat.is_none();
    let total = replicate.histogram.total();
    let most = replicate.histogram.iter().map(|(_, count)| count).max();
    Some(ReplicateFigures {
        session: replicate.session,
        batch: replicate.batch.max(1),
        tick: if is_coarse { one_tick } else { 0.0 },
        in_one_tick: is_coarse && most.unwrap_or(0) as f64 >= NEARLY_ALL * total as f64,
        values: replicate
            .figures(clock.unit)
            .map(|ticks| clock.shown(ticks?)),
    })
}

/// Whether the replicates are free of noise: two or more, of counted instructions, equal sample by
/// sample.
pub(crate) fn is_exact(unit: Unit, replicates: &[&Replicate]) -> bool {
    unit == Unit::Instructions
        && replicates.len() > 1
        && replicates.iter().all(|one| one.stat.is_none())
        && replicates
            .windows(2)
            .all(|pair| pair[0].batch == pair[1].batch && pair[0].histogram == pair[1].histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::ticks::Ticks;

    fn replicate(batch: u64, counts: &[(u64, u64)]) -> Replicate {
        Replicate {
            session: 0,
            outcome: Outcome::Ok,
            batch,
            asked: 5,
            cold: Some(Ticks(77)),
            histogram: counts.iter().map(|(v, n)| (Ticks(*v), *n)).collect(),
            stat: None,
            cpu_ns: None,
            proofs: Vec::new(),
        }
    }

    #[test]
    fn percentiles_need_enough_samples_and_cold_is_not_divided() {
        let of = |quantity, samples: u64| {
            let all: Vec<(u64, u64)> = (1..=samples).map(|v| (v, 1)).collect();
            replicate(1, &all).figure(quantity, Unit::Cycles)
        };
        assert_eq!(of(Quantity::P90, 28), None);
        assert_eq!(of(Quantity::P90, 29), Some(27.0));
        assert_eq!(of(Quantity::P99, 298), None);
        assert_eq!(of(Quantity::P99, 299), Some(297.0));
        assert_eq!(of(Quantity::P999, 2994), None);
        assert_eq!(of(Quantity::P999, 2995), Some(2993.0));
        assert_eq!(of(Quantity::Cold, 1), Some(77.0));
        let batched = replicate(10, &[(50, 30)]);
        assert_eq!(batched.figure(Quantity::P90, Unit::Cycles), Some(5.0));
        assert_eq!(batched.figure(Quantity::Cold, Unit::Cycles), Some(77.0));
    }

    #[test]
    fn only_medians_of_times_are_interpolated() {
        let samples = replicate(1, &[(36, 70), (37, 30)]);
        assert_eq!(
            samples.figure(Quantity::P50, Unit::Instructions),
            Some(36.0)
        );
        let median = samples.figure(Quantity::P50, Unit::Cycles).unwrap();
        // The tick starts at 35.5; half of all samples are 50 of the 70 that it spreads out.
        assert!((median - (35.5 + 5.0 / 7.0)).abs() < 1e-12, "{median}");
    }

    #[test]
    fn failed_replicates_have_no_figures() {
        let mut failed = replicate(1, &[(36, 3000)]);
        failed.outcome = Outcome::Failed("order".into());
        assert_eq!(failed.figures(Unit::Cycles), [None; 5]);
    }
}
