// SPDX-License-Identifier: MIT OR Apache-2.0

//! The summary of each metric of a run, and the values of its replicates.
//!
//! A run comes in; a [`Summary`] per metric goes out, or its [`Values`] per replicate.

use std::collections::HashMap;

use crate::judge::quantity::Quantity;
use crate::judge::why::Side;
use crate::statistics::order;
use crate::stream::run::{
    Clock, Entry, Metric, Outcome, Replicate, Run, Session, Statistic, Unit, CLOCK, PICOSECONDS,
};

/// How much the frequencies of two sessions may differ, as a share. They can differ slightly because
/// each session may measure its clock again.
const SAME_HZ: f64 = 0.01;

/// Whether a metric has a value in a run; the majority of its replicates decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// More than half of the replicates have a value.
    Ok,
    /// Not measured: the port or the machine lacks what it needs.
    Skipped,
    /// A proof failed, or the agent reported an error.
    Failed,
    /// It hung, it was cut off, or its records were damaged.
    Incomplete,
}

/// A metric over all replicates of a run.
///
/// All times are in ticks *per operation* (a sample's ticks divided by its batch) of the clock that
/// [`unit`](Self::unit) and [`hz`](Self::hz) describe. If a batch has more than one operation, a
/// sample is the mean of the batch, and percentiles and `max` refer to such means. No value is
/// present unless `status` is [`Status::Ok`].
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The metric's id.
    pub id: String,
    /// The case that measures it.
    pub case: String,
    /// Its catalog entry, if the stream contains one.
    pub entry: Option<Entry>,
    /// Whether it has a value.
    pub status: Status,
    /// Why it has none: the most frequent reason of the most frequent failure.
    pub reason: Option<String>,
    /// What a tick is.
    pub unit: Unit,
    /// Ticks per second; 0 if the unit is instructions.
    pub hz: u64,
    /// What the value of a replicate is: a median or a mean.
    pub statistic: Statistic,
    /// The median of the replicates' values.
    pub median: Option<f64>,
    /// The lower end of the confidence interval of that median over replicates
    /// ([`order::median_interval`]); `None` below 6 replicates.
    pub low: Option<f64>,
    /// The upper end of that interval.
    pub high: Option<f64>,
    /// The percentiles above the median, in the order of [`Quantity::PERCENTILES`].
    pub percentiles: [Option<Percentile>; 3],
    /// The largest of all samples.
    pub max: Option<f64>,
    /// The median of the replicates' first operations, each timed alone.
    pub cold: Option<f64>,
    /// The median including the cost of reading the clock.
    pub gross: Option<f64>,
    /// `gross` minus the cost of reading the clock, which each sample contains once; may be
    /// negative. `None` if the run did not measure its clock.
    pub net: Option<f64>,
    /// The cost of reading the clock once: the run's median of [`CLOCK`](crate::stream::run::CLOCK).
    pub clock_cost: Option<f64>,
    /// Operations in each sample; the median if replicates differ.
    pub batch: u64,
    /// The number of replicates with a value.
    pub replicates: usize,
    /// The number of all replicates.
    pub tried: usize,
    /// The number of samples in all replicates with a value.
    pub samples: u64,
    /// Why each of the other replicates has no value, in stream order.
    pub lost: Vec<String>,
    /// CPU time of the case per operation, in nanoseconds: the median of the replicates that have it.
    pub cpu_time: Option<f64>,
    /// Context switches that the kernel counted in the case, over all replicates.
    pub switches: Option<u64>,
    /// Context switches that the case must have made. If its agent does not say, the minimum that
    /// the proofs allow.
    pub expected: Option<u64>,
    /// Bytes that one operation moves.
    pub bytes: Option<u64>,
    /// Items that one operation handles.
    pub items: Option<u64>,
    /// Bytes per second, by the median; `None` if ticks are not time.
    pub bytes_per_second: Option<f64>,
    /// Items per second, by the median; `None` if ticks are not time.
    pub items_per_second: Option<f64>,
    /// Instructions of one operation of the median sample, by its path. Less than the median if the
    /// processor waited. `None` if the run has no paths of it.
    pub instructions: Option<f64>,
    /// Those of them that only repeat a string instruction.
    pub repeated: Option<f64>,
}

/// A percentile of a run: the median of its replicates' percentiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// In ticks per operation.
    pub value: f64,
    /// The confidence interval over replicates ([`order::median_interval`]); `None` below 6 of them.
    pub interval: Option<(f64, f64)>,
}

impl Summary {
    /// A percentile. `None` for a quantity that is not a percentile above the median, and if no more
    /// than half of the replicates have enough samples for it.
    #[must_use]
    pub fn percentile(&self, quantity: Quantity) -> Option<Percentile> {
        let at = Quantity::PERCENTILES.iter().position(|p| *p == quantity)?;
        self.percentiles[at]
    }

    /// The value of a percentile.
    #[must_use]
    pub fn percentile_value(&self, quantity: Quantity) -> Option<f64> {
        Some(self.percentile(quantity)?.value)
    }

    /// The name of a tick in reports.
    #[must_use]
    pub fn tick(&self) -> &'static str {
        match self.hz {
            PICOSECONDS => "ps",
            _ => self.unit.tick(),
        }
    }

    /// Ticks as nanoseconds; `None` if they are not time.
    #[must_use]
    pub fn nanoseconds(&self, ticks: f64) -> Option<f64> {
        nanoseconds(self.unit, self.hz, ticks)
    }
}

fn nanoseconds(unit: Unit, hz: u64, ticks: f64) -> Option<f64> {
    let name = String::new();
    Clock { name, unit, hz }.nanoseconds(ticks)
}

/// The summary of each metric of a run, in the run's order.
#[must_use]
pub fn summarise(run: &Run) -> Vec<Summary> {
    let clock = run
        .metrics
        .iter()
        .find(|metric| metric.id == CLOCK)
        .map(|metric| Group::of(run, metric))
        .filter(|group| group.status() == Status::Ok);
    let entries: HashMap<&str, &Entry> = run
        .catalog
        .iter()
        .rev()
        .map(|entry| (entry.metric.as_str(), entry))
        .collect();
    run.metrics
        .iter()
        .filter(|metric| !metric.replicates.is_empty())
        .map(|metric| {
            let group = Group::of(run, metric);
            let cost = clock
                .as_ref()
                .filter(|c| same_clock(c.clock, group.clock))
                .and_then(|c| order::median(&c.values(Quantity::P50)));
            let mut summary = group.summary(metric, entries.get(metric.id.as_str()).copied(), cost);
            if summary.status == Status::Ok {
                let side = Side::of(run, &metric.id).ok();
                let path = side.and_then(|side| Some((side.median()?, side.batch as f64)));
                summary.instructions = path.map(|(path, batch)| path.instructions() as f64 / batch);
                summary.repeated = path.map(|(path, batch)| path.repetitions() as f64 / batch);
            }
            summary
        })
        .collect()
}

/// The values of one metric in each replicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<'a> {
    /// The metric's id.
    pub id: &'a str,
    /// Whether it has a value.
    pub status: Status,
    /// Why it has none.
    pub reason: Option<&'a str>,
    /// The unit of its clock.
    pub unit: Unit,
    /// What the value of a replicate is: a median or a mean.
    pub statistic: Statistic,
    /// The replicates with a value.
    pub replicates: Vec<&'a Replicate>,
    /// The value of each of these replicates, per operation: nanoseconds by the clock of its own
    /// session, or ticks if they are not time. Empty if a clock that counts cycles has no known
    /// frequency.
    pub values: Vec<f64>,
}

/// The values of each metric of a run, in the run's order.
#[must_use]
pub fn values(run: &Run) -> Vec<Values<'_>> {
    let tried = run.metrics.iter().filter(|m| !m.replicates.is_empty());
    tried
        .map(|metric| {
            let group = Group::of(run, metric);
            let shown = |replicate: &&Replicate| {
                let clock = &session(run, replicate).clock;
                clock.shown(replicate.figure(Quantity::P50, clock.unit)?)
            };
            let status = group.status();
            let values: Option<Vec<f64>> = group.ok.iter().map(shown).collect();
            Values {
                id: &metric.id,
                status,
                reason: group.reason(status),
                unit: group.clock.unit,
                statistic: group.statistic,
                values: values.unwrap_or_default(),
                replicates: group.ok,
            }
        })
        .collect()
}

/// The replicates of a metric, divided into those with a value and the others.
pub(crate) struct Group<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) statistic: Statistic,
    pub(crate) ok: Vec<&'a Replicate>,
    lost: Vec<(Status, &'a str)>,
}

fn same_clock(a: &Clock, b: &Clock) -> bool {
    let (least, most) = (a.hz.min(b.hz) as f64, a.hz.max(b.hz) as f64);
    a.name == b.name && a.unit == b.unit && most - least <= SAME_HZ * most
}

fn session<'a>(run: &'a Run, replicate: &Replicate) -> &'a Session {
    &run.sessions[replicate.session]
}

impl<'a> Group<'a> {
    /// Groups the replicates of `metric`, which has at least one.
    pub(crate) fn of(run: &'a Run, metric: &'a Metric) -> Self {
        // The clock of the first value; without values the clock does not matter.
        let first = metric
            .replicates
            .iter()
            .find(|r| r.outcome == Outcome::Ok)
            .unwrap_or(&metric.replicates[0]);
        let mut group = Group {
            clock: &session(run, first).clock,
            statistic: first.statistic(),
            ok: Vec::new(),
            lost: Vec::new(),
        };
        for replicate in &metric.replicates {
            let lost = match &replicate.outcome {
                Outcome::Skipped(reason) => (Status::Skipped, reason.as_str()),
                Outcome::Failed(reason) => (Status::Failed, reason.as_str()),
                Outcome::Incomplete(reason) => (Status::Incomplete, reason.as_str()),
                Outcome::Ok if !same_clock(group.clock, &session(run, replicate).clock) => (
                    Status::Failed,
                    "measured with a different clock than earlier replicates",
                ),
                Outcome::Ok if replicate.statistic() != group.statistic => (
                    Status::Failed,
                    "it reports a mean and earlier replicates a median, or the reverse",
                ),
                Outcome::Ok => {
                    group.ok.push(replicate);
                    continue;
                }
            };
            group.lost.push(lost);
        }
        group
    }

    pub(crate) fn status(&self) -> Status {
        if self.ok.len() > self.lost.len() {
            return Status::Ok;
        }
        most_frequent(self.lost.iter().map(|(status, _)| *status)).unwrap_or(Status::Incomplete)
    }

    /// The most frequent reason for this status.
    pub(crate) fn reason(&self, status: Status) -> Option<&'a str> {
        let lost = self.lost.iter().filter(|(s, _)| *s == status);
        most_frequent(lost.map(|(_, reason)| *reason))
    }

    /// A figure of each replicate that has it.
    fn values(&self, quantity: Quantity) -> Vec<f64> {
        let figures = self.ok.iter();
        figures
            .filter_map(|replicate| replicate.figure(quantity, self.clock.unit))
            .collect()
    }

    /// `None` unless more than half of the replicates have enough samples.
    fn percentile(&self, quantity: Quantity) -> Option<Percentile> {
        let values = self.values(quantity);
        let value = order::median(&values).filter(|_| 2 * values.len() > self.ok.len())?;
        Some(Percentile {
            value,
            interval: order::median_interval(&values),
        })
    }

    /// The largest sample; `None` if a summarised replicate does not report it.
    fn max(&self) -> Option<f64> {
        let of_summaries = self.ok.iter().filter_map(|r| r.stat.as_ref());
        let mut maxima: Vec<f64> = of_summaries.map(|stat| stat.max).collect::<Option<_>>()?;
        maxima.extend(self.ok.iter().filter_map(|replicate| {
            let greatest = replicate.histogram.max()?;
            Some(greatest.0 as f64 / replicate.batch.max(1) as f64)
        }));
        maxima.into_iter().reduce(f64::max)
    }

    fn batch(&self) -> u64 {
        let mut batches: Vec<u64> = self.ok.iter().map(|r| r.batch.max(1)).collect();
        batches.sort_unstable();
        batches.get(batches.len() / 2).copied().unwrap_or(1)
    }

    fn samples(&self) -> u64 {
        self.ok
            .iter()
            .fold(0, |sum, r| sum.saturating_add(r.samples()))
    }

    /// The median over replicates of the value minus the cost of reading the clock. One reading is
    /// spread over a batch, so each operation carries a share of it.
    fn net(&self, cost: f64) -> Option<f64> {
        let net: Vec<f64> = self
            .ok
            .iter()
            .filter_map(|r| {
                let value = r.figure(Quantity::P50, self.clock.unit)?;
                Some(value - cost / r.batch.max(1) as f64)
            })
            .collect();
        order::median(&net)
    }

    /// The sum of one figure of the proof `switches`, over the replicates that have it.
    fn switches(&self, figure: fn(&crate::stream::run::Proof) -> u64) -> Option<u64> {
        let proofs = self.ok.iter().flat_map(|r| &r.proofs);
        proofs
            .filter(|proof| proof.name == "switches")
            .map(figure)
            .reduce(u64::saturating_add)
    }

    fn summary(&self, metric: &Metric, entry: Option<&Entry>, clock_cost: Option<f64>) -> Summary {
        let status = self.status();
        let reason = self.reason(status);
        let mut summary = Summary {
            id: metric.id.clone(),
            case: metric.case.clone(),
            entry: entry.cloned(),
            status,
            reason: reason.map(str::to_owned),
            unit: self.clock.unit,
            hz: self.clock.hz,
            statistic: self.statistic,
            median: None,
            low: None,
            high: None,
            percentiles: [None; 3],
            max: None,
            cold: None,
            gross: None,
            net: None,
            clock_cost: None,
            batch: self.batch(),
            replicates: self.ok.len(),
            tried: metric.replicates.len(),
            samples: self.samples(),
            lost: self.lost.iter().map(|(_, r)| (*r).to_owned()).collect(),
            cpu_time: None,
            switches: None,
            expected: None,
            bytes: entry.and_then(|e| e.bytes),
            items: entry.and_then(|e| e.items),
            bytes_per_second: None,
            items_per_second: None,
            instructions: None,
            repeated: None,
        };
        if status == Status::Ok {
            self.fill(&mut summary, clock_cost);
        }
        summary
    }

    fn fill(&self, summary: &mut Summary, clock_cost: Option<f64>) {
        let values = self.values(Quantity::P50);
        let interval = order::median_interval(&values);
        summary.median = order::median(&values);
        summary.low = interval.map(|(low, _)| low);
        summary.high = interval.map(|(_, high)| high);
        summary.percentiles = Quantity::PERCENTILES.map(|one| self.percentile(one));
        summary.max = self.max();
        summary.cold = order::median(&self.values(Quantity::Cold));
        summary.gross = summary.median;
        summary.clock_cost = clock_cost;
        summary.net = clock_cost.and_then(|cost| self.net(cost));
        let cpu_times: Vec<f64> = self.ok.iter().filter_map(|r| r.cpu_time()).collect();
        summary.cpu_time = order::median(&cpu_times);
        summary.switches = self.switches(|proof| proof.counted);
        summary.expected = self.switches(|proof| proof.expected.unwrap_or(proof.low));
        let seconds = summary
            .median
            .and_then(|ticks| summary.nanoseconds(ticks))
            .filter(|ns| *ns > 0.0)
            .map(|ns| ns / 1e9);
        let rate = |each: Option<u64>| Some(each? as f64 / seconds?);
        summary.bytes_per_second = rate(summary.bytes);
        summary.items_per_second = rate(summary.items);
    }
}

/// The most frequent item; the first of several.
fn most_frequent<T: PartialEq + Copy>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts
        .into_iter()
        .find(|(_, count)| *count == most)
        .map(|(item, _)| item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::histogram::Histogram;
    use crate::stream::run::Proof;
    use crate::stream::ticks::Ticks;

    fn session(hz: u64) -> Session {
        Session {
            port: "fake".into(),
            arch: "x".into(),
            clock: Clock {
                name: "tsc".into(),
                unit: Unit::Cycles,
                hz,
            },
            realtime: false,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        }
    }

    fn ok(session: usize, batch: u64, counts: &[(u64, u64)]) -> Replicate {
        Replicate {
            session,
            outcome: Outcome::Ok,
            batch,
            asked: 5,
            cold: Some(Ticks(100 + session as u64)),
            histogram: counts.iter().map(|(v, n)| (Ticks(*v), *n)).collect(),
            stat: None,
            cpu_ns: None,
            proofs: vec![Proof {
                name: "switches".into(),
                counted: 7,
                low: 4,
                high: 9,
                expected: Some(5),
            }],
        }
    }

    fn lost(session: usize, outcome: Outcome) -> Replicate {
        Replicate {
            outcome,
            histogram: Histogram::new(),
            ..ok(session, 1, &[])
        }
    }

    fn metric(id: &str, replicates: Vec<Replicate>) -> Metric {
        Metric {
            id: id.into(),
            case: id.into(),
            replicates,
        }
    }

    fn run(metrics: Vec<Metric>) -> Run {
        Run {
            sessions: vec![session(1_000_000); 10],
            metrics,
            ..Run::default()
        }
    }

    fn one(replicates: Vec<Replicate>) -> Summary {
        summarise(&run(vec![metric("a", replicates)])).remove(0)
    }

    fn close(a: Option<f64>, b: f64) {
        let a = a.expect("a number");
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn value_of_a_run_is_the_median_over_replicates() {
        // Per operation: 1, 2, ... 10, each with an outlier that does not affect the median.
        let replicates = (0..10)
            .map(|i| ok(i, 4, &[(4 * (i as u64 + 1), 30), (8000, 1)]))
            .collect();
        let s = one(replicates);
        assert_eq!((s.status, s.reason.as_deref()), (Status::Ok, None));
        // Half of 31 samples is 15.5 of the 30 that are spread over the tick of the value.
        let within = (15.5 / 30.0 - 0.5) / 4.0;
        close(s.median, 5.5 + within);
        close(s.gross, 5.5 + within);
        close(s.low, 2.0 + within);
        close(s.high, 9.0 + within);
        close(s.max, 2000.0);
        close(s.cold, 104.5);
        // The 28th of the 31 samples of each replicate; then the median over replicates.
        close(s.percentile_value(Quantity::P90), 5.5);
        assert_eq!(s.percentile_value(Quantity::P99), None, "31 samples each");
        assert_eq!(
            (s.batch, s.samples, s.replicates, s.tried),
            (4, 310, 10, 10)
        );
        assert_eq!((s.clock_cost, s.net), (None, None));
        assert_eq!((s.switches, s.expected), (Some(70), Some(50)));
    }

    #[test]
    fn tails_need_samples_and_intervals_need_replicates() {
        let s = one(vec![ok(0, 1, &[(5, 28)])]);
        assert_eq!((s.percentiles, s.low, s.high), ([None; 3], None, None));
        close(s.median, 5.0);
        close(s.max, 5.0);
        // One of two replicates with enough samples is not a majority.
        let s = one(vec![ok(0, 1, &[(5, 28)]), ok(1, 2, &[(14, 300)])]);
        assert_eq!(s.percentiles, [None; 3]);
        let s = one(vec![ok(0, 1, &[(5, 299)]), ok(1, 2, &[(14, 300)])]);
        close(s.percentile_value(Quantity::P90), 6.0);
        close(s.percentile_value(Quantity::P99), 6.0);
        assert_eq!(s.percentile_value(Quantity::P999), None);
        let many = (0..6).map(|i| ok(i, 1, &[(5 + i as u64, 3000)])).collect();
        let p999 = one(many).percentile(Quantity::P999).unwrap();
        assert_eq!((p999.value, p999.interval), (7.5, Some((5.0, 10.0))));
    }

    #[test]
    fn net_subtracts_one_clock_reading_per_sample_and_may_be_negative() {
        let metrics = vec![
            metric(CLOCK, vec![ok(0, 100, &[(2000, 5)])]),
            metric("single", vec![ok(0, 1, &[(18, 5)])]),
            metric("batched", vec![ok(0, 10, &[(180, 5)])]),
        ];
        let s = summarise(&run(metrics));
        close(s[1].clock_cost, 20.0);
        close(s[1].net, -2.0);
        close(s[2].gross, 18.0);
        close(s[2].net, 16.0);
    }

    #[test]
    fn a_value_needs_a_majority_of_replicates() {
        let failed = |n| Outcome::Failed(format!("switches: counted {n}"));
        let cut = || Outcome::Incomplete("cut off".into());
        let s = one(vec![ok(0, 1, &[(5, 5)]), lost(1, failed(3))]);
        assert_eq!(s.status, Status::Failed);
        assert_eq!(s.reason.as_deref(), Some("switches: counted 3"));
        assert_eq!((s.median, s.max, s.switches), (None, None, None));
        let s = one(vec![
            ok(0, 1, &[(5, 5)]),
            lost(1, cut()),
            ok(2, 1, &[(6, 5)]),
        ]);
        assert_eq!((s.status, s.replicates, s.tried), (Status::Ok, 2, 3));
        assert_eq!(s.lost, ["cut off"]);
        close(s.median, 5.5);
        let s = one(vec![
            lost(0, cut()),
            lost(1, failed(1)),
            lost(2, failed(2)),
            lost(3, failed(2)),
        ]);
        assert_eq!(s.status, Status::Failed);
        assert_eq!(s.reason.as_deref(), Some("switches: counted 2"));
        let s = one(vec![lost(0, Outcome::Skipped("no irq".into()))]);
        assert_eq!((s.status, s.samples), (Status::Skipped, 0));
    }

    #[test]
    fn replicates_of_another_clock_are_excluded() {
        let mut run = run(vec![metric(
            "a",
            vec![
                ok(0, 1, &[(5, 5)]),
                ok(1, 1, &[(50, 5)]),
                ok(2, 1, &[(7, 5)]),
            ],
        )]);
        run.sessions[1].clock.hz *= 10;
        run.sessions[2].clock.hz += 100;
        let s = summarise(&run).remove(0);
        close(s.median, 6.0);
        assert_eq!((s.replicates, s.lost.len()), (2, 1));
    }

    #[test]
    fn throughput_follows_from_the_catalog() {
        let mut run = run(vec![metric("a", vec![ok(0, 10, &[(2000, 5)])])]);
        let entry = |metric: &str, switches| Entry {
            metric: metric.into(),
            case: "a".into(),
            switches,
            bytes: Some(64),
            items: Some(2),
            ..Entry::default()
        };
        run.catalog = vec![entry("a", 1), entry("a.back", 2)];
        let s = summarise(&run).remove(0);
        // 200 ticks of one microsecond each.
        close(s.nanoseconds(200.0), 200_000.0);
        close(s.bytes_per_second, 64.0 / 200e-6);
        close(s.items_per_second, 2.0 / 200e-6);
        assert_eq!(s.entry.as_ref().map(|e| e.switches), Some(1));
        run.sessions[0].clock.unit = Unit::Instructions;
        run.sessions[0].clock.hz = 0;
        let s = summarise(&run).remove(0);
        assert_eq!((s.bytes_per_second, s.nanoseconds(1.0)), (None, None));
        close(s.median, 200.0);
    }
}
