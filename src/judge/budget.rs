// SPDX-License-Identifier: MIT OR Apache-2.0

//! Budgets: absolute limits for the cost of a metric.
//!
//! A budget file (TOML, described in `doc/ci.md`) and a run come in; a [`Judgement`] goes out. Each
//! limit is compared with a measured value. A limit that cannot be judged is
//! [`Finding::Inconclusive`] and never passes.

use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::base::number::count;
use crate::judge::figures::absence;
use crate::judge::quantity::Quantity;
use crate::judge::summary::{self, Status, Values};
use crate::judge::why::{self, Counts, Side, Unknown};
use crate::statistics::order;
use crate::stream::filter;
use crate::stream::paths::Count;
use crate::stream::run::{Run, Unit};
use crate::target::description::{line_number, locate_error};

/// The target of a run that names none: the machine on which the tool ran.
const THIS_MACHINE: &str = "linux";

/// The limits of a budget file.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    file: String,
    limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
struct Limit {
    /// Its position, `FILE:LINE`.
    place: String,
    metric: String,
    target: Option<String>,
    why: Option<String>,
    most: Vec<(Figure, Amount)>,
}

/// The figure of a metric that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// The median over replicates.
    Median,
    /// The median over replicates of the 90th percentile.
    P90,
    /// The median over replicates of the 99th percentile.
    P99,
    /// The median over replicates of the 99.9th percentile.
    P999,
    /// The largest of all samples.
    Max,
    /// Instructions of the median sample that only repeat a string instruction.
    Repeated,
    /// What else was counted in the median sample.
    Counted(Count),
}

impl Figure {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Figure::Median => "median",
            Figure::P90 => "p90",
            Figure::P99 => "p99",
            Figure::P999 => "p99.9",
            Figure::Max => "max",
            Figure::Repeated => "repeated",
            Figure::Counted(count) => count.name(),
        }
    }
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Executed instructions.
    Instructions,
    /// Whatever the figure counts.
    Count,
}

impl LimitUnit {
    /// The units that are written in a budget file.
    const WRITTEN: [LimitUnit; 5] = [
        LimitUnit::Nanoseconds,
        LimitUnit::Microseconds,
        LimitUnit::Milliseconds,
        LimitUnit::Seconds,
        LimitUnit::Instructions,
    ];

    /// The name in a budget file; empty for a count.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitUnit::Nanoseconds => "ns",
            LimitUnit::Microseconds => "us",
            LimitUnit::Milliseconds => "ms",
            LimitUnit::Seconds => "s",
            LimitUnit::Instructions => "instructions",
            LimitUnit::Count => "",
        }
    }

    /// The size of the unit in nanoseconds, or in instructions.
    #[must_use]
    pub fn factor(self) -> f64 {
        match self {
            LimitUnit::Nanoseconds | LimitUnit::Instructions | LimitUnit::Count => 1.0,
            LimitUnit::Microseconds => 1e3,
            LimitUnit::Milliseconds => 1e6,
            LimitUnit::Seconds => 1e9,
        }
    }

    /// What a clock must count to be compared with this unit.
    #[must_use]
    pub fn clock_unit(self) -> Unit {
        match self {
            LimitUnit::Instructions | LimitUnit::Count => Unit::Instructions,
            _ => Unit::Cycles,
        }
    }

    /// The unit of values and limits in JSON.
    #[must_use]
    pub fn of_figures(self) -> &'static str {
        match self {
            LimitUnit::Count => "count",
            other => other.clock_unit().of_figures(),
        }
    }
}

/// The allowed cost of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// In `unit`; not negative.
    pub number: f64,
    /// The unit as written in the file.
    pub unit: LimitUnit,
}

impl Amount {
    /// In nanoseconds or instructions.
    #[must_use]
    pub fn value(self) -> f64 {
        self.number * self.unit.factor()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            LimitUnit::Count => write!(f, "{}", self.number),
            unit => write!(f, "{} {}", self.number, unit.name()),
        }
    }
}

impl std::str::FromStr for Amount {
    type Err = String;

    /// Reads a number and a unit, with or without a space between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let names = LimitUnit::WRITTEN.map(LimitUnit::name);
        let (last, others) = names.split_last().expect("there are units");
        let needed = |what: String| {
            let times = others.join(", ");
            format!("{what}; write a time, such as \"2 us\" ({times}), or \"400 {last}\"")
        };
        let text = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim_start();
        if text.starts_with('-') {
            return Err(needed(format!("`{text}` is below 0")));
        }
        let number = number.parse().ok().filter(|n: &f64| n.is_finite());
        let Some(number) = number else {
            return Err(needed(format!("`{text}` does not start with a number")));
        };
        let known = LimitUnit::WRITTEN.into_iter().find(|m| m.name() == unit);
        match known {
            Some(unit) => Ok(Amount { number, unit }),
            None if unit.is_empty() => Err(needed(format!("`{text}` has no unit"))),
            None => Err(needed(format!("`{unit}` is not a unit"))),
        }
    }
}

/// The budget file as TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    limit: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    metric: Spanned<String>,
    target: Option<Spanned<String>>,
    why: Option<String>,
    median: Option<Spanned<String>>,
    p90: Option<Spanned<String>>,
    p99: Option<Spanned<String>>,
    p999: Option<Spanned<String>>,
    max: Option<Spanned<String>>,
    repeated: Option<Spanned<f64>>,
    loads: Option<Spanned<f64>>,
    stores: Option<Spanned<f64>>,
    devices: Option<Spanned<f64>>,
    taken: Option<Spanned<f64>>,
    privileged: Option<Spanned<f64>>,
    serialising: Option<Spanned<f64>>,
    atomic: Option<Spanned<f64>>,
    code_lines: Option<Spanned<f64>>,
    data_lines: Option<Spanned<f64>>,
}

impl Budget {
    /// Reads a budget. `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// The text is not a valid budget. The message names the line, the problem and what is allowed.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let document: Document =
            toml::from_str(text).map_err(|error| locate_error(file, text, &error))?;
        if document.limit.is_empty() {
            return Err(format!(
                "{file}: the budget has no limits; add a [[limit]] with a `metric`"
            ));
        }
        let place = |at: usize| format!("{file}:{}", line_number(text, at));
        let limits = document.limit.into_iter().map(|entry| {
            let place_of_entry = place(entry.span().start);
            Limit::of(entry.into_inner(), place_of_entry, &place)
        });
        Ok(Budget {
            file: file.to_owned(),
            limits: limits.collect::<Result<_, _>>()?,
        })
    }

    /// Judges a run by each limit for its target. If several limits apply to the same figure of a
    /// metric, the lowest counts.
    ///
    /// # Errors
    ///
    /// A limit for this target names a metric that the run neither measured nor lists in its catalog.
    pub fn judge(&self, run: &Run) -> Result<Judgement, String> {
        let measured = run.metrics.iter().map(|metric| metric.id.as_str());
        let mut ids: Vec<&str> = measured.collect();
        for entry in &run.catalog {
            if !ids.contains(&entry.metric.as_str()) {
                ids.push(&entry.metric);
            }
        }
        let targets = targets(run);
        let mut other_targets: Vec<String> = Vec::new();
        let mut asked: Vec<(usize, Figure, Amount, &Limit)> = Vec::new();
        for limit in &self.limits {
            if let Some(target) = &limit.target {
                if !targets.iter().any(|of| covers(target, of)) {
                    other_targets.push(target.clone());
                    continue;
                }
            }
            let before = asked.len();
            for (at, id) in ids.iter().enumerate() {
                if selects(&limit.metric, id) {
                    let most = limit.most.iter();
                    asked.extend(most.map(|(figure, amount)| (at, *figure, *amount, limit)));
                }
            }
            if asked.len() == before {
                return Err(limit.no_match_error(&ids));
            }
        }
        // Of equal limits the first counts, so the report shows its reason.
        asked.sort_by(|a, b| {
            let key = |(at, figure, amount, _): &(usize, Figure, Amount, &Limit)| {
                (*at, *figure, amount.unit.clock_unit() == Unit::Instructions)
            };
            key(a)
                .cmp(&key(b))
                .then(a.2.value().total_cmp(&b.2.value()))
        });
        asked.dedup_by_key(|(at, figure, amount, _)| (*at, *figure, amount.unit.clock_unit()));
        let values = summary::values(run);
        let checks = asked.into_iter().map(|(at, figure, limit, from)| {
            let of = values.iter().find(|values| values.id == ids[at]);
            let mut check = Check {
                id: ids[at].to_owned(),
                figure,
                limit,
                value: None,
                interval: None,
                batch: 1,
                finding: Finding::Within,
                why: from.why.clone(),
            };
            check.finding = match check.measure(run, of) {
                Ok(finding) => finding,
                Err(reason) => Finding::Inconclusive(reason),
            };
            check
        });
        Ok(Judgement {
            file: self.file.clone(),
            checks: checks.collect(),
            other_targets,
        })
    }
}

impl Limit {
    fn of(entry: Entry, place: String, at: &dyn Fn(usize) -> String) -> Result<Self, String> {
        for (key, text) in [
            ("metric", Some(&entry.metric)),
            ("target", entry.target.as_ref()),
        ] {
            if let Some(text) = text.filter(|text| text.get_ref().trim().is_empty()) {
                let place = at(text.span().start);
                return Err(format!("{place}: `{key}` is empty"));
            }
        }
        let figures = [
            ("median", Figure::Median, entry.median),
            ("p90", Figure::P90, entry.p90),
            ("p99", Figure::P99, entry.p99),
            ("p999", Figure::P999, entry.p999),
            ("max", Figure::Max, entry.max),
        ];
        let counts = [
            (Figure::Repeated, entry.repeated),
            (Figure::Counted(Count::Loads), entry.loads),
            (Figure::Counted(Count::Stores), entry.stores),
            (Figure::Counted(Count::Devices), entry.devices),
            (Figure::Counted(Count::Taken), entry.taken),
            (Figure::Counted(Count::Privileged), entry.privileged),
            (Figure::Counted(Count::Serialising), entry.serialising),
            (Figure::Counted(Count::Atomic), entry.atomic),
            (Figure::Counted(Count::CodeLines), entry.code_lines),
            (Figure::Counted(Count::DataLines), entry.data_lines),
        ];
        let keys = figures.each_ref().map(|(key, ..)| *key).into_iter();
        let keys = keys.chain(counts.each_ref().map(|(figure, _)| figure.name()));
        let keys = keys.collect::<Vec<&str>>().join(", ");
        let mut most = Vec::new();
        for (key, figure, text) in figures {
            let Some(text) = text else { continue };
            let amount = text.get_ref().parse();
            let place = at(text.span().start);
            most.push((
                figure,
                amount.map_err(|why| format!("{place}: {key}: {why}"))?,
            ));
        }
        for (figure, number) in counts {
            let Some(number) = number else { continue };
            let place = at(number.span().start);
            let number = number.into_inner();
            if !number.is_finite() || number < 0.0 {
                let name = figure.name();
                return Err(format!("{place}: {name}: {number} is not a count"));
            }
            let unit = LimitUnit::Count;
            most.push((figure, Amount { number, unit }));
        }
        if most.is_empty() {
            return Err(format!(
                "{place}: the limit sets no value; add at least one of {keys}"
            ));
        }
        Ok(Limit {
            place,
            metric: entry.metric.into_inner(),
            target: entry.target.map(Spanned::into_inner),
            why: entry.why.filter(|why| !why.trim().is_empty()),
            most,
        })
    }

    fn no_match_error(&self, ids: &[&str]) -> String {
        let Limit { place, metric, .. } = self;
        let is_start = ids.iter().any(|id| filter::matches(metric, id));
        let hint = if is_start {
            format!("; `{metric}*` selects all that start with it")
        } else {
            filter::verify(std::slice::from_ref(metric), ids)
                .err()
                .and_then(|why| Some(why[why.find("; did you mean")?..].to_owned()))
                .unwrap_or_default()
        };
        format!("{place}: the run has no metric `{metric}`{hint}")
    }
}

/// Whether `pattern` selects a metric: it is the id, or a glob if it contains `*` or `?`.
fn selects(pattern: &str, id: &str) -> bool {
    if pattern.contains(['*', '?']) {
        filter::matches(pattern, id)
    } else {
        pattern == id
    }
}

/// Whether `part` is a target, or that target without its board and options.
fn covers(part: &str, target: &str) -> bool {
    let rest = target.strip_prefix(part);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ',']))
}

/// The targets that a run measured, as `--on` names them.
fn targets(run: &Run) -> Vec<&str> {
    let named = run.host.iter().filter(|fact| fact.name == "target");
    let mut targets: Vec<&str> = named.map(|fact| fact.value.as_str()).collect();
    targets.dedup();
    if targets.is_empty() {
        targets.push(THIS_MACHINE);
    }
    targets
}

/// The result of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The value does not exceed the limit.
    Within,
    /// The value exceeds the limit.
    Over,
    /// There is no value to judge, for this reason (untrusted text).
    Inconclusive(String),
}

impl Finding {
    /// The name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Finding::Within => "within",
            Finding::Over => "over",
            Finding::Inconclusive(_) => "inconclusive",
        }
    }
}

/// The check of one figure of one metric against one limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The metric's id (untrusted text).
    pub id: String,
    /// The figure that is limited.
    pub figure: Figure,
    /// The limit.
    pub limit: Amount,
    /// The measured value of one operation, in nanoseconds or instructions like the limit.
    pub value: Option<f64>,
    /// The confidence interval of that value over replicates ([`order::median_interval`]); `None`
    /// for `max`.
    pub interval: Option<(f64, f64)>,
    /// Operations per sample; the largest number if replicates differ.
    pub batch: u64,
    /// The result.
    pub finding: Finding,
    /// Why the limit exists, as the budget says (untrusted text).
    pub why: Option<String>,
}

/// Why a time without a known frequency cannot be judged.
const NO_FREQUENCY: &str = "the frequency of its clock is unknown";

impl Check {
    /// How much the value exceeds the limit, as a share of the limit. `None` if it does not exceed
    /// it; infinite if the limit is 0.
    #[must_use]
    pub fn excess(&self) -> Option<f64> {
        let value = self.value.filter(|_| self.finding == Finding::Over)?;
        Some(value / self.limit.value() - 1.0)
    }

    /// Whether the limit lies within the interval of the value, so another run may have the opposite
    /// result.
    #[must_use]
    pub fn is_borderline(&self) -> bool {
        let limit = self.limit.value();
        let holds = |(low, high): (f64, f64)| low <= limit && limit <= high && low < high;
        matches!(self.finding, Finding::Within | Finding::Over) && self.interval.is_some_and(holds)
    }

    /// Determines the value and judges it. The error is the reason why it cannot be judged.
    fn measure(&mut self, run: &Run, of: Option<&Values>) -> Result<Finding, String> {
        let Some(values) = of.filter(|values| values.status == Status::Ok) else {
            return Err(of.map_or_else(
                || "not in the run".to_owned(),
                |values| absence(values.status, values.reason),
            ));
        };
        let count = match self.figure {
            Figure::Repeated => None,
            Figure::Counted(count) => Some(count),
            _ => return self.measure_cost(run, values),
        };
        self.measure_count(run, values, count)
    }

    /// Judges a count of the median sample: of repetitions, or of something else.
    fn measure_count(
        &mut self,
        run: &Run,
        values: &Values,
        count: Option<Count>,
    ) -> Result<Finding, String> {
        if values.unit != Unit::Instructions {
            return Err("only targets that count instructions count this".to_owned());
        }
        let counts = count.map_or(Counts::Instructions, |_| Counts::All);
        let advice = || {
            let command = why::recording(run, counts);
            command.map_or_else(String::new, |command| format!("; `{command}` counts it"))
        };
        let side = Side::of(run, &self.id).map_err(|unknown| match unknown {
            Unknown::Unrecorded => format!("{unknown}{}", advice()),
            Unknown::Unusable(reason) => reason,
        })?;
        let path = side.median().ok_or(why::NOT_APART)?;
        let counted = match count {
            None => Some(path.repetitions()),
            Some(count) => path.counts.get(&count).copied(),
        };
        let counted = counted.ok_or_else(|| format!("the run did not count it{}", advice()))?;
        let value = counted as f64 / side.batch as f64;
        self.value = Some(value);
        Ok(self.finding(value))
    }

    /// Judges a cost: an order statistic of the samples.
    fn measure_cost(&mut self, run: &Run, values: &Values) -> Result<Finding, String> {
        match (values.unit, self.limit.unit.clock_unit()) {
            (Unit::Instructions, Unit::Cycles) => {
                return Err("it counts instructions, but the limit is a time".to_owned())
            }
            (Unit::Cycles, Unit::Instructions) => {
                return Err("it is a time, but the limit is in instructions".to_owned())
            }
            _ => {}
        }
        let batches = values.replicates.iter().map(|r| r.batch.max(1));
        self.batch = batches.max().unwrap_or(1);
        let unclear = || NO_FREQUENCY.to_owned();
        let tail = match self.figure {
            Figure::Median => {
                self.interval = order::median_interval(&values.values);
                self.value = order::median(&values.values);
                let value = self.value.ok_or_else(unclear)?;
                return Ok(self.finding(value));
            }
            Figure::Max => {
                let greatest = values.replicates.iter().map(|replicate| {
                    let ticks = replicate.histogram.max()?.0 as f64;
                    let operations = replicate.batch.max(1) as f64;
                    let clock = &run.sessions[replicate.session].clock;
                    Some((clock.shown(ticks / operations)?, clock.shown(ticks)?))
                });
                let all: Option<Vec<(f64, f64)>> = greatest.collect();
                let all = all.filter(|all| !all.is_empty()).ok_or_else(unclear)?;
                all.into_iter().fold((0.0, 0.0), |most: (f64, f64), one| {
                    (most.0.max(one.0), most.1.max(one.1))
                })
            }
            Figure::P90 => self.percentile(run, values, Quantity::P90)?,
            Figure::P99 => self.percentile(run, values, Quantity::P99)?,
            Figure::P999 => self.percentile(run, values, Quantity::P999)?,
            Figure::Repeated | Figure::Counted(_) => return Err(unclear()),
        };
        self.value = Some(tail.0);
        self.judge_tail(tail)
    }

    /// The median of the replicates' percentiles, per operation and per sample. Also stores its
    /// interval.
    fn percentile(
        &mut self,
        run: &Run,
        values: &Values,
        quantity: Quantity,
    ) -> Result<(f64, f64), String> {
        let of_replicates = values.replicates.iter().filter_map(|replicate| {
            let clock = &run.sessions[replicate.session].clock;
            let value = clock.shown(replicate.figure(quantity, clock.unit)?)?;
            Some((value, value * replicate.batch.max(1) as f64))
        });
        let (means, sums): (Vec<f64>, Vec<f64>) = of_replicates.unzip();
        let both = order::median(&means).zip(order::median(&sums));
        // As in the summary of a run: more than half of the replicates must have the percentile.
        let both = both.filter(|_| 2 * means.len() > values.replicates.len());
        self.interval = order::median_interval(&means);
        if values.values.is_empty() {
            return Err(NO_FREQUENCY.to_owned());
        }
        both.ok_or_else(|| {
            let most = values.replicates.iter().map(|one| one.samples()).max();
            let needed = quantity.share().and_then(order::samples_for_quantile);
            format!(
                "{} needs {} samples per replicate, but there are {}",
                quantity.name(),
                needed.map_or_else(String::new, count),
                count(most.unwrap_or(0))
            )
        })
    }

    /// Judges a tail by what samples say about single operations. At least one operation took as
    /// long as the mean of its batch; none took longer than the sum of its batch.
    fn judge_tail(&self, (mean, sum): (f64, f64)) -> Result<Finding, String> {
        let over = self.finding(mean);
        if self.batch == 1 || self.finding(sum) == Finding::Within {
            // Without batches, mean and sum are equal.
            return Ok(self.finding(sum));
        }
        // A quantile allows no conclusion: one slow operation can make a whole batch slow.
        if self.figure == Figure::Max && over == Finding::Over {
            return Ok(over);
        }
        Err(format!(
            "a sample is the mean of up to {} operations, which hides single ones; limit the median",
            count(self.batch)
        ))
    }

    fn finding(&self, value: f64) -> Finding {
        if value <= self.limit.value() {
            Finding::Within
        } else {
            Finding::Over
        }
    }
}

/// The result of checking a run against a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The budget file (untrusted text).
    pub file: String,
    /// One check per limited figure, in the order of the run's metrics.
    pub checks: Vec<Check>,
    /// The targets of limits that do not apply to this run, one entry per limit (untrusted text).
    pub other_targets: Vec<String>,
}

impl Judgement {
    /// The number of checks with this result ([`Finding::name`]).
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        let named = |check: &&Check| check.finding.name() == name;
        self.checks.iter().filter(named).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::{Clock, Entry, Fact, Metric, Outcome, Replicate, Session};
    use crate::stream::ticks::Ticks;
    use proptest::prelude::*;

    const HEAD: &str = "[[limit]]\nmetric = \"a.b\"\n";

    /// A run: the id, the batch and the samples of each replicate in ns or instructions, per metric.
    fn run(unit: Unit, metrics: &[(&str, u64, &[&[u64]])]) -> Run {
        let hz = if unit == Unit::Cycles {
            1_000_000_000
        } else {
            0
        };
        let session = Session {
            port: "fake".into(),
            arch: "none".into(),
            clock: Clock {
                name: "c".into(),
                unit,
                hz,
            },
            realtime: true,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        };
        let metrics = metrics.iter().map(|(id, batch, all)| Metric {
            id: (*id).into(),
            case: (*id).into(),
            replicates: all
                .iter()
                .map(|samples| Replicate {
                    session: 0,
                    outcome: Outcome::Ok,
                    batch: *batch,
                    asked: samples.len() as u64,
                    cold: None,
                    histogram: samples.iter().map(|v| (Ticks(*v), 1)).collect(),
                    stat: None,
                    cpu_ns: None,
                    proofs: Vec::new(),
                })
                .collect(),
        });
        Run {
            metrics: metrics.collect(),
            sessions: vec![session],
            ..Run::default()
        }
    }

    fn judged(text: &str, run: &Run) -> Judgement {
        Budget::parse("b.toml", text).unwrap().judge(run).unwrap()
    }

    fn findings(text: &str, run: &Run) -> Vec<(Figure, Finding)> {
        let checks = judged(text, run).checks.into_iter();
        checks.map(|check| (check.figure, check.finding)).collect()
    }

    fn one(text: &str, run: &Run) -> Finding {
        let mut all = findings(&format!("{HEAD}{text}"), run);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0).1
    }

    fn reason(text: &str, run: &Run) -> String {
        match one(text, run) {
            Finding::Inconclusive(reason) => reason,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn each_figure_is_compared_with_its_limit() {
        use Finding::{Over, Within};
        let samples: Vec<u64> = (1..=3000).collect();
        let run = run(Unit::Cycles, &[("a.b", 1, &[&samples, &samples])]);
        for (text, finding) in [
            ("median = \"1500.5 ns\"", Within),
            ("median = \"1.5004us\"", Over),
            ("p90 = \"2700 ns\"", Within),
            ("p90 = \"2.699 us\"", Over),
            ("p99 = \"2970 ns\"", Within),
            ("p99 = \"0.002969 ms\"", Over),
            ("p999 = \"2997 ns\"", Within),
            ("p999 = \"2996 ns\"", Over),
            ("max = \"0.000003 s\"", Within),
            ("max = \"2999 ns\"", Over),
            ("max = \"0 ns\"", Over),
        ] {
            assert_eq!(one(text, &run), finding, "{text}");
        }
    }

    #[test]
    fn unjudged_limits_never_pass() {
        let few = run(Unit::Cycles, &[("a.b", 1, &[&[5; 100]])]);
        assert_eq!(
            reason("p99 = \"1 s\"", &few),
            "p99 needs 299 samples per replicate, but there are 100"
        );
        assert!(reason("max = \"9 instructions\"", &few).contains("it is a time"));
        let exact = run(Unit::Instructions, &[("a.b", 1, &[&[5; 100]])]);
        assert!(reason("max = \"9 s\"", &exact).contains("counts instructions"));
        assert_eq!(one("max = \"5 instructions\"", &exact), Finding::Within);
        let mut lost = few.clone();
        lost.metrics[0].replicates[0].outcome = Outcome::Skipped("no priority".into());
        assert_eq!(reason("max = \"1 s\"", &lost), "skipped: no priority");
        lost.metrics[0].replicates[0].outcome = Outcome::Failed("order".into());
        assert_eq!(reason("median = \"1 s\"", &lost), "failed: order");
        let mut listed = Run::default();
        listed.catalog.push(Entry {
            metric: "a.b".into(),
            ..Entry::default()
        });
        assert_eq!(reason("max = \"1 s\"", &listed), "not in the run");
        let mut timeless = few;
        timeless.sessions[0].clock.hz = 0;
        for figure in ["median", "max", "p90"] {
            let why = reason(&format!("{figure} = \"1 s\""), &timeless);
            assert!(why.contains("frequency of its clock"), "{figure}: {why}");
        }
    }

    #[test]
    fn batches_are_judged_by_what_they_say_about_single_operations() {
        // 400 batches of 10 operations; means of 100 ns, sums of 1,000 ns.
        let run = run(Unit::Cycles, &[("a.b", 10, &[&[1000; 400]])]);
        assert_eq!(one("max = \"99 ns\"", &run), Finding::Over);
        assert_eq!(one("max = \"1 us\"", &run), Finding::Within);
        assert!(reason("max = \"500 ns\"", &run).contains("up to 10 operations"));
        assert_eq!(one("p99 = \"1 us\"", &run), Finding::Within);
        assert!(reason("p99 = \"999 ns\"", &run).contains("limit the median"));
        assert!(reason("p99 = \"9 ns\"", &run).contains("limit the median"));
        assert_eq!(one("median = \"100 ns\"", &run), Finding::Within);
        assert_eq!(one("median = \"99.9 ns\"", &run), Finding::Over);
    }

    #[test]
    fn limits_within_the_interval_are_borderline() {
        let values: Vec<[u64; 1]> = (95..=105).map(|v| [v]).collect();
        let values: Vec<&[u64]> = values.iter().map(<[u64; 1]>::as_slice).collect();
        let run = run(Unit::Cycles, &[("a.b", 1, &values)]);
        let close = |limit: &str| {
            let judgement = judged(&format!("{HEAD}median = \"{limit} ns\""), &run);
            let check = &judgement.checks[0];
            (check.is_borderline(), check.finding.clone())
        };
        assert_eq!(close("99"), (true, Finding::Over));
        assert_eq!(close("101"), (true, Finding::Within));
        assert_eq!(close("110"), (false, Finding::Within));
        assert_eq!(close("90"), (false, Finding::Over));
    }

    #[test]
    fn the_lowest_limit_counts_and_an_id_selects_one_metric() {
        let samples: [&[u64]; 1] = [&[100]];
        let run = run(
            Unit::Cycles,
            &[
                ("a.b", 1, &samples),
                ("a.b.c", 1, &samples),
                ("x", 1, &samples),
            ],
        );
        let text = "[[limit]]\nmetric = \"a.*\"\nmax = \"200 ns\"\nmedian = \"1 us\"\n\
            [[limit]]\nmetric = \"a.b\"\nmax = \"50 ns\"\nwhy = \"Because.\"\n\
            [[limit]]\nmetric = \"*\"\nmax = \"1 s\"\n";
        let judgement = judged(text, &run);
        let seen: Vec<(&str, Figure, f64)> = judgement
            .checks
            .iter()
            .map(|c| (c.id.as_str(), c.figure, c.limit.value()))
            .collect();
        assert_eq!(
            seen,
            [
                ("a.b", Figure::Median, 1000.0),
                ("a.b", Figure::Max, 50.0),
                ("a.b.c", Figure::Median, 1000.0),
                ("a.b.c", Figure::Max, 200.0),
                ("x", Figure::Max, 1e9),
            ]
        );
        assert_eq!(judgement.checks[1].why.as_deref(), Some("Because."));
        assert_eq!(judgement.checks[1].excess(), Some(1.0));
        let nothing = |metric: &str| {
            let text = format!("\n[[limit]]\nmetric = \"{metric}\"\nmax = \"1 s\"");
            let budget = Budget::parse("b.toml", &text).unwrap();
            budget.judge(&run).unwrap_err()
        };
        assert_eq!(
            nothing("a"),
            "b.toml:2: the run has no metric `a`; `a*` selects all that start with it"
        );
        assert!(nothing("a.b.d").ends_with("did you mean a.b.c, a.b?"));
    }

    #[test]
    fn limits_apply_to_all_boards_and_variants_of_their_target() {
        let samples: [&[u64]; 1] = [&[100]];
        let mut run = run(Unit::Instructions, &[("a.b", 1, &samples)]);
        let text =
            |target: &str| format!("{HEAD}target = \"{target}\"\nmax = \"9 instructions\"\n");
        let checks = |run: &Run, target: &str| {
            let judgement = judged(&text(target), run);
            (judgement.checks.len(), judgement.other_targets)
        };
        assert_eq!(checks(&run, "linux"), (1, vec![]));
        assert_eq!(checks(&run, "freertos"), (0, vec!["freertos".to_owned()]));
        run.host.push(Fact {
            name: "target".into(),
            value: "freertos:m4,variant=canaries".into(),
        });
        for target in ["freertos", "freertos:m4", "freertos:m4,variant=canaries"] {
            assert_eq!(checks(&run, target).0, 1, "{target}");
        }
        for target in ["linux", "free", "freertos:m3", "freertos:m"] {
            assert_eq!(checks(&run, target).0, 0, "{target}");
        }
        // An unknown metric matters only if the limit applies to the target.
        let text = text("linux").replace("a.b", "none");
        assert_eq!(judged(&text, &run).other_targets, ["linux"]);
    }

    #[test]
    fn invalid_budgets_are_rejected_with_the_line() {
        for (text, why) in [
            ("", "b.toml: the budget has no limits"),
            ("limit = 5", "b.toml:1:"),
            ("[[limits]]\nmetric = \"a\"", "b.toml:1: unknown field `limits`, expected `limit`"),
            ("\n[[limit]]\nmax = \"1 s\"", "b.toml:2: missing field `metric`"),
            ("[[limit]]\nmetric = \"a\"\nmean = \"1 s\"", "b.toml:3: unknown field `mean`"),
            ("\n\n[[limit]]\nmetric = \"a\"", "b.toml:3: the limit sets no value; add at least one of median, p90, p99, p999, max"),
            ("[[limit]]\nmetric = \" \"\nmax = \"1 s\"", "b.toml:2: `metric` is empty"),
            ("[[limit]]\nmetric = \"a\"\ntarget = \"\"\nmax = \"1 s\"", "b.toml:3: `target` is empty"),
            ("[[limit]]\nmetric = \"a\"\nmax = 5", "b.toml:3: invalid type: integer `5`, expected"),
            ("[[limit]]\nmetric = \"a\"\nmax = \"5\"", "b.toml:3: max: `5` has no unit; write a time, such as \"2 us\" (ns, us, ms, s), or \"400 instructions\""),
            ("[[limit]]\nmetric = \"a\"\nmax = \"5 m\"", "`m` is not a unit"),
            ("[[limit]]\nmetric = \"a\"\np99 = \"-5 us\"", "b.toml:3: p99: `-5 us` is below 0"),
            ("[[limit]]\nmetric = \"a\"\nmax = \"inf s\"", "does not start with a number"),
            ("[[limit]]\nmetric = \"a\"\nmax = \"1.2.3 s\"", "does not start with a number"),
            ("[[limit]]\nmetric = \"a\"\nmax = \"\"", "does not start with a number"),
            ("[[limit]\n", "b.toml:1:"),
        ] {
            let error = Budget::parse("b.toml", text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in "\\PC{0,60}",
            line in "(\\[\\[limit\\]\\]|metric|target|why|max|p99)?( ?= ?)?\"?([0-9a-z.*?-]{0,12})( ?(us|s|instructions))?\"?",
        ) {
            let _ = Budget::parse("b.toml", &text);
            let _ = text.parse::<Amount>();
            let text = format!("[[limit]]\nmetric = \"*\"\n{line}\n{text}");
            if let Ok(budget) = Budget::parse("b.toml", &text) {
                let _ = budget.judge(&run(Unit::Cycles, &[("a", 3, &[&[5]])]));
            }
        }

        #[test]
        fn amounts_round_trip(number in 0u32..1_000_000, unit in 0usize..5) {
            let amount = Amount { number: f64::from(number) / 8.0, unit: LimitUnit::WRITTEN[unit] };
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }
}
