//! Did it change? Two sides of replicates, metric by metric, each with a verdict.
//!
//! The method and its limits are in `doc/method.md`, section "Comparing".

use std::collections::BTreeSet;

use crate::histogram::Histogram;
use crate::run::{Fact, Replicate, Run, Session, Statistic, Unit};
use crate::stats::{self, Shift};
use crate::summary::{self, Status, Values};

/// The least equivalence margin of what has noise, as a share: changes of a machine between
/// sessions that no replicate of one session shows.
pub const LEAST_MARGIN: f64 = 0.02;
/// The level at which an adjusted p value counts.
pub const LEVEL: f64 = 0.05;

/// What a comparison concludes of a metric. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It costs more, beyond chance and by more than the margin.
    Regressed,
    /// It costs less, beyond chance and by more than the margin.
    Improved,
    /// Neither a change nor its absence is shown.
    Inconclusive,
    /// The whole interval of the ratio lies within the margin; or both sides are exactly equal.
    Equivalent,
    /// Measured on both sides, under conditions that differ.
    Incomparable,
    /// Only the base has a number.
    Missing,
    /// Only the new side has a number.
    Added,
}

impl Verdict {
    /// All of them, in the order of reports.
    pub const ALL: [Verdict; 7] = [
        Verdict::Regressed,
        Verdict::Improved,
        Verdict::Inconclusive,
        Verdict::Equivalent,
        Verdict::Incomparable,
        Verdict::Missing,
        Verdict::Added,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Regressed => "regressed",
            Verdict::Improved => "improved",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Equivalent => "equivalent",
            Verdict::Incomparable => "incomparable",
            Verdict::Missing => "missing",
            Verdict::Added => "added",
        }
    }
}

/// What is to be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// Only what was measured on the same machine in the same configuration.
    #[default]
    Alike,
    /// Also what was not; never instructions with time.
    Across,
}

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The equivalence margin that was asked for, as a share.
    pub margin: f64,
    /// What is compared.
    pub conditions: Conditions,
}

/// One side of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The median over replicates, of one operation: nanoseconds or instructions.
    pub median: f64,
    /// The interval of that median ([`stats::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// Replicates with a number.
    pub replicates: usize,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// Nothing was compared.
    None,
    /// Instructions, and the replicates of each side are equal sample by sample: any difference
    /// is real.
    Exact,
    /// A permutation test over replicates.
    Test {
        /// Its p value.
        p: f64,
        /// Adjusted by Benjamini and Hochberg, for the report.
        q: f64,
        /// Adjusted by Holm, for the gate.
        holm: f64,
    },
}

/// One metric on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its id, not yet safe to show.
    pub id: String,
    /// The unit of the base, or of the new side where the base has no number.
    pub unit: Unit,
    /// `None` without a number.
    pub base: Option<Side>,
    /// `None` without a number.
    pub new: Option<Side>,
    /// New over base: of what was tested, the exponential of the mean difference of logarithms.
    pub ratio: Option<f64>,
    /// The interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// What the verdict rests on.
    pub basis: Basis,
    /// What the report says.
    pub verdict: Verdict,
    /// What the gate goes by: the same with Holm's adjustment.
    pub gate: Verdict,
    /// Why there is no comparison, or what to know about this one; not yet safe to show.
    pub note: Option<String>,
}

/// A condition in which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whether it is the machine, which does not matter to counted instructions.
    pub of: Condition,
    /// What differs, such as `cpu_model`.
    pub name: &'static str,
    /// The base's values, not yet safe to show.
    pub base: String,
    /// The new side's.
    pub new: String,
}

/// What a difference is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The machine and its settings.
    Machine,
    /// How the kernel under test and the agent were built and run.
    Configuration,
}

/// Two runs, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Every metric that one side has a number of, in the order of the base.
    pub metrics: Vec<Compared>,
    /// How many of them were tested: the family.
    pub family: usize,
    /// The equivalence margin of what was tested, as a share.
    pub margin: f64,
    /// Conditions in which the sides differ.
    pub differences: Vec<Difference>,
    /// Tests that could not reach [`LEVEL`] at the gate, had they been as clear as they can be.
    pub hopeless: Option<Hopeless>,
    /// How the sides were compared where conditions differ.
    pub conditions: Conditions,
}

/// So few replicates that a change of one metric alone cannot be told from chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hopeless {
    /// How many metrics.
    pub metrics: usize,
    /// The least p value that the best of them can have.
    pub least_p: f64,
    /// Below this the gate takes note of a single change.
    pub needed: f64,
    /// As many replicates on each side are enough.
    pub enough: usize,
}

impl Comparison {
    /// Compares the replicates of two runs.
    #[must_use]
    pub fn of(base: &Run, new: &Run, options: Options) -> Self {
        let differences = differences(base, new);
        let (base, new) = (summary::values(base), summary::values(new));
        let judge = Judge {
            asked: options.margin,
            margin: options.margin.max(LEAST_MARGIN),
            conditions: options.conditions,
            differences: &differences,
        };
        let mut drafts = Vec::new();
        for base in &base {
            let new = new.iter().find(|new| new.id == base.id);
            drafts.extend(judge.draft(Some(base), new));
        }
        for new in &new {
            if !base.iter().any(|base| base.id == new.id) {
                drafts.extend(judge.draft(None, Some(new)));
            }
        }
        let p: Vec<f64> = drafts.iter().filter_map(|d| Some(d.shift?.p)).collect();
        let q = stats::benjamini_hochberg(&p).into_iter();
        let adjusted = q.zip(stats::holm(&p)).zip(&p);
        let hopeless = hopeless(&drafts, p.len());
        let tested = drafts.iter_mut().filter(|draft| draft.shift.is_some());
        for (draft, ((q, holm), p)) in tested.zip(adjusted) {
            draft.metric.basis = Basis::Test { p: *p, q, holm };
            draft.metric.verdict = judge.verdict(draft, q);
            draft.metric.gate = judge.verdict(draft, holm);
        }
        Comparison {
            metrics: drafts.into_iter().map(|draft| draft.metric).collect(),
            family: p.len(),
            margin: judge.margin,
            hopeless,
            conditions: options.conditions,
            differences,
        }
    }

    /// How many metrics have this verdict in the report.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.verdict == verdict).count()
    }

    /// How many metrics have this verdict at the gate.
    #[must_use]
    pub fn count_at_gate(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.gate == verdict).count()
    }

    /// Whether any metric was compared at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metrics.iter().all(|m| m.basis == Basis::None)
    }
}

/// A metric whose verdict waits for the other tests.
struct Draft {
    metric: Compared,
    shift: Option<Shift>,
    /// Whether the shift is one of logarithms.
    has_ratio: bool,
}

struct Judge<'a> {
    asked: f64,
    margin: f64,
    conditions: Conditions,
    differences: &'a [Difference],
}

impl Judge<'_> {
    /// `None` when neither side has a number.
    fn draft(&self, base: Option<&Values>, new: Option<&Values>) -> Option<Draft> {
        let measured = |side: Option<&Values>| side.is_some_and(|v| v.status == Status::Ok);
        let any = base.filter(|_| measured(base)).or(new)?;
        let mut metric = Compared {
            id: any.id.to_owned(),
            unit: any.unit,
            base: base.and_then(side),
            new: new.and_then(side),
            ratio: None,
            interval: None,
            basis: Basis::None,
            verdict: Verdict::Incomparable,
            gate: Verdict::Incomparable,
            note: None,
        };
        let alone = |metric: Compared| {
            Some(Draft {
                metric,
                shift: None,
                has_ratio: false,
            })
        };
        let (base, new) = match (measured(base), measured(new)) {
            (false, false) => return None,
            (true, false) => {
                metric.set(Verdict::Missing, Some(absence(new)));
                return alone(metric);
            }
            (false, true) => {
                metric.set(Verdict::Added, Some(absence(base)));
                return alone(metric);
            }
            (true, true) => (base?, new?),
        };
        let obstacle = self.obstacle(base, new);
        if let Some(why) = obstacle {
            metric.set(Verdict::Incomparable, Some(why));
            return alone(metric);
        }
        if is_exact(base) && is_exact(new) {
            self.judge_exact(&mut metric, base, new);
            return alone(metric);
        }
        let above_0 = |side: &Values| side.values.iter().all(|v| *v > 0.0);
        let has_ratio = above_0(base) && above_0(new);
        let scaled = |side: &Values| -> Vec<f64> {
            let scale = |v: &f64| if has_ratio { v.ln() } else { *v };
            side.values.iter().map(scale).collect()
        };
        let shift = Shift::between(&scaled(base), &scaled(new))?;
        if has_ratio {
            metric.ratio = Some(shift.estimate.exp());
            let interval = shift.interval;
            metric.interval = interval.map(|(low, high)| (low.exp(), high.exp()));
        } else {
            metric.note = Some("a replicate is 0, so there is no ratio".to_owned());
        }
        let is_summary = |side: &Values| side.replicates.iter().any(|r| r.stat.is_some());
        if base.values.len().min(new.values.len()) == 1 && (is_summary(base) || is_summary(new)) {
            let why = "a side is the summary of one process or boot, which no test can judge";
            metric.note = Some(why.to_owned());
        } else if base.unit == Unit::Instructions && base.values.len().min(new.values.len()) == 1 {
            let why = "one replicate does not show that it repeats exactly; two do (--runs 2)";
            metric.note = Some(why.to_owned());
        }
        Some(Draft {
            metric,
            shift: Some(shift),
            has_ratio,
        })
    }

    /// Why two sides with a number are not compared.
    fn obstacle(&self, base: &Values, new: &Values) -> Option<String> {
        if base.unit != new.unit {
            let never = match (base.unit, new.unit) {
                (Unit::Cycles | Unit::Ticks, Unit::Cycles | Unit::Ticks) => {
                    "cycles of a clock of unknown frequency are never compared with time"
                }
                _ => "instructions are never compared with time",
            };
            return Some(never.to_owned());
        }
        if base.values.is_empty() || new.values.is_empty() {
            return Some("the clock does not say how many of its ticks a second has".to_owned());
        }
        if base.statistic != new.statistic && self.conditions == Conditions::Alike {
            let [base, new] = [base.statistic, new.statistic].map(Statistic::name);
            return Some(format!("the {base} of samples is now their {new}"));
        }
        if self.conditions == Conditions::Across {
            return None;
        }
        let matters =
            |d: &&Difference| base.unit != Unit::Instructions || d.of != Condition::Machine;
        let reasons: Vec<String> = self
            .differences
            .iter()
            .filter(matters)
            .map(Difference::reason)
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn judge_exact(&self, metric: &mut Compared, base: &Values, new: &Values) {
        metric.basis = Basis::Exact;
        let (from, to) = (base.values[0], new.values[0]);
        let (first, second) = (base.replicates[0], new.replicates[0]);
        if from > 0.0 && to > 0.0 {
            metric.ratio = Some(to / from);
            metric.interval = metric.ratio.map(|ratio| (ratio, ratio));
        }
        let (mut change, mut least) = (to - from, from.min(to));
        if change == 0.0 && histogram(first) != histogram(second) {
            let (from, to) = (mean(first), mean(second));
            (change, least) = (to - from, from.min(to));
            metric.note = Some(format!(
                "the median is equal, the mean is not: {from:.2} is now {to:.2}"
            ));
        }
        let verdict = if change.abs() <= self.asked * least {
            Verdict::Equivalent
        } else if change > 0.0 {
            Verdict::Regressed
        } else {
            Verdict::Improved
        };
        metric.verdict = verdict;
        metric.gate = verdict;
    }

    /// The verdict on a test, by its adjusted p value.
    fn verdict(&self, draft: &Draft, adjusted: f64) -> Verdict {
        let Some(shift) = draft.shift else {
            return draft.metric.verdict;
        };
        let margin = if draft.has_ratio {
            self.margin.ln_1p()
        } else {
            0.0
        };
        let within = |(low, high): (f64, f64)| -margin <= low && high <= margin;
        if shift.interval.is_some_and(within) {
            Verdict::Equivalent
        } else if adjusted > LEVEL || shift.estimate.abs() <= margin {
            Verdict::Inconclusive
        } else if shift.estimate > 0.0 {
            Verdict::Regressed
        } else {
            Verdict::Improved
        }
    }
}

impl Compared {
    fn set(&mut self, verdict: Verdict, note: Option<String>) {
        self.verdict = verdict;
        self.gate = verdict;
        self.note = note;
    }
}

impl Difference {
    /// The difference in words, not yet safe to show.
    #[must_use]
    pub fn reason(&self) -> String {
        let what = match self.of {
            Condition::Machine => "machine",
            Condition::Configuration => "configuration",
        };
        let Difference {
            name, base, new, ..
        } = self;
        format!("other {what}: {name} `{base}` is now `{new}`")
    }
}

fn side(values: &Values) -> Option<Side> {
    let median = stats::median(&values.values).filter(|_| values.status == Status::Ok)?;
    Some(Side {
        median,
        interval: stats::median_interval(&values.values),
        replicates: values.values.len(),
    })
}

/// Why a side has no number.
fn absence(side: Option<&Values>) -> String {
    let Some(side) = side else {
        return "not in the run".to_owned();
    };
    let what = match side.status {
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete | Status::Ok => "incomplete",
    };
    format!("{what}: {}", side.reason.unwrap_or("no reason given"))
}

/// Whether the replicates show that nothing of this is noise.
fn is_exact(side: &Values) -> bool {
    side.unit == Unit::Instructions
        && side.replicates.len() > 1
        && side.replicates.iter().all(|one| one.stat.is_none())
        && side
            .replicates
            .windows(2)
            .all(|pair| pair[0].batch == pair[1].batch && pair[0].histogram == pair[1].histogram)
}

/// The samples of a replicate and how many operations each holds.
fn histogram(replicate: &Replicate) -> (u64, &Histogram) {
    (replicate.batch, &replicate.histogram)
}

/// The mean of the samples of a replicate, of one operation.
fn mean(replicate: &Replicate) -> f64 {
    let (mut sum, mut samples) = (0.0, 0.0);
    for (ticks, count) in replicate.histogram.iter() {
        sum += ticks.0 as f64 * count as f64;
        samples += count as f64;
    }
    sum / samples / replicate.batch.max(1) as f64
}

fn hopeless(drafts: &[Draft], family: usize) -> Option<Hopeless> {
    let needed = LEVEL / family.max(1) as f64;
    let least: Vec<f64> = drafts
        .iter()
        .filter_map(|draft| Some(draft.shift?.least_p))
        .filter(|p| *p > needed)
        .collect();
    let least_p = least.iter().copied().reduce(f64::min)?;
    // 2 of 40 choose 20 is 1.5e-11.
    let enough = (2..20).find(|n| stats::least_p(&[(*n, *n)]) <= needed);
    Some(Hopeless {
        metrics: least.len(),
        least_p,
        needed,
        enough: enough.unwrap_or(20),
    })
}

/// Facts of the machine that change times: its processor, what virtualises or confines it, and
/// the settings of its speed.
const MACHINE: [&str; 6] = [
    "cpu_model",
    "hypervisor",
    "container",
    "governor",
    "boost",
    "smt",
];
/// Of these, what is not told is not there.
const TOLD_IF_THERE: [&str; 2] = ["hypervisor", "container"];
/// What the tool says of a target that it built.
const TARGET: [&str; 2] = ["board", "variant"];
/// What the agent says of how it and its kernel were built.
const BUILD: [&str; 3] = ["flags", "configuration", "kernel_port"];

type SessionValue = fn(&Session) -> String;

/// Conditions in which two runs differ; where a side does not tell, it does not differ.
#[must_use]
pub fn differences(base: &Run, new: &Run) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differ = |of, name, base: BTreeSet<String>, new: BTreeSet<String>| {
        if !base.is_empty() && !new.is_empty() && base != new {
            let text = |values: BTreeSet<String>| Vec::from_iter(values).join("` and `");
            found.push(Difference {
                of,
                name,
                base: text(base),
                new: text(new),
            });
        }
    };
    let is_machine = |run: &Run| !told(&run.host, "cpu_model").is_empty() && run.is_of_its_host();
    if is_machine(base) && is_machine(new) {
        for name in MACHINE {
            let values = |run: &Run| {
                let mut values = told(&run.host, name);
                if values.is_empty() && TOLD_IF_THERE.contains(&name) {
                    values.insert("none".to_owned());
                }
                values
            };
            differ(Condition::Machine, name, values(base), values(new));
        }
    }
    let parts: [(&'static str, SessionValue); 3] = [
        ("port", |s| s.port.clone()),
        ("arch", |s| s.arch.clone()),
        ("real-time priority", |s| {
            if s.realtime { "yes" } else { "no" }.to_owned()
        }),
    ];
    let configuration = Condition::Configuration;
    for (name, value) in parts {
        let of = |run: &Run| -> BTreeSet<String> { run.sessions.iter().map(value).collect() };
        differ(configuration, name, of(base), of(new));
    }
    for name in TARGET {
        let values = |run: &Run| told(&run.host, name);
        differ(configuration, name, values(base), values(new));
    }
    for name in BUILD {
        let values = |run: &Run| -> BTreeSet<String> {
            run.sessions
                .iter()
                .flat_map(|session| told(&session.facts, name))
                .collect()
        };
        differ(configuration, name, values(base), values(new));
    }
    found
}

fn told(facts: &[Fact], name: &str) -> BTreeSet<String> {
    let named = facts.iter().filter(|fact| fact.name == name);
    named
        .map(|fact| fact.value.clone())
        .filter(|value| !value.is_empty())
        .collect()
}
