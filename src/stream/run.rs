// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a record stream says once it has been read: a [`Run`] of [`Metric`]s.
//!
//! A bad measurement is a value here ([`Outcome`]), never an error: a run that
//! lost half of its cases still holds the other half.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::stream::filter;
use crate::stream::histogram::Histogram;
use crate::stream::ticks::Ticks;

/// The metric that every run measures, and first: it tells what a time stamp costs.
pub const CLOCK: &str = "clock.read";

/// The fact of the tool that holds the filters of a run, separated by spaces.
pub const FILTERS: &str = "filters";

/// The fact of the tool that names the file of another tool, whose results a run holds.
pub const IMPORTED: &str = "imported";

/// What one tick of the agent's clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A tick of a counter with a known frequency; it converts to time.
    Cycles,
    /// A tick of a counter whose frequency is not known: cycles that are no time.
    Ticks,
    /// An executed instruction; it never converts to time.
    Instructions,
}

impl Unit {
    /// Its name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Cycles => "cycles",
            Unit::Ticks => "ticks",
            Unit::Instructions => "instructions",
        }
    }

    /// What a tick is called before people.
    #[must_use]
    pub fn tick(self) -> &'static str {
        match self {
            Unit::Cycles | Unit::Ticks => "cycles",
            Unit::Instructions => "instructions",
        }
    }

    /// What figures are in that are not ticks: time where ticks convert to it.
    #[must_use]
    pub fn of_figures(self) -> &'static str {
        match self {
            Unit::Cycles => "ns",
            Unit::Ticks => "cycles",
            Unit::Instructions => "instructions",
        }
    }
}

/// The frequency of a clock whose ticks are picoseconds: that of sources that print times.
pub const PICOSECONDS: u64 = 1_000_000_000_000;

/// The agent's clock, as its `hello` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// `tsc`, `cntvct`, `monotonic`, `minstret` ...
    pub name: String,
    /// What a tick is.
    pub unit: Unit,
    /// Ticks per second; 0 unless the unit is [`Unit::Cycles`].
    pub hz: u64,
}

impl Clock {
    /// Ticks (also fractions of one) as nanoseconds; `None` when they do not convert to time.
    #[must_use]
    pub fn nanoseconds(&self, ticks: f64) -> Option<f64> {
        match self.unit {
            Unit::Cycles if self.hz > 0 => Some(ticks * 1e9 / self.hz as f64),
            _ => None,
        }
    }

    /// Ticks in the unit of figures: nanoseconds, or as they are where they are no time. `None`
    /// where cycles have no known frequency.
    #[must_use]
    pub fn shown(&self, ticks: f64) -> Option<f64> {
        match self.unit {
            Unit::Instructions | Unit::Ticks => Some(ticks),
            Unit::Cycles => self.nanoseconds(ticks),
        }
    }
}

/// A named text: a fact of the machine (`host`) or of the agent (`info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name, such as `kernel_release`.
    pub name: String,
    /// Its value, decoded.
    pub value: String,
}

impl Fact {
    /// A fact of this name.
    #[must_use]
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Fact {
            name: name.to_owned(),
            value: value.into(),
        }
    }

    /// The value of the first fact of this name; one that is empty is not known.
    #[must_use]
    pub fn value_in<'a>(facts: &'a [Fact], name: &str) -> Option<&'a str> {
        let fact = facts.iter().find(|fact| fact.name == name)?;
        Some(fact.value.as_str()).filter(|value| !value.is_empty())
    }
}

/// One entry of the catalog: what a metric is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The metric's id, `object.operation.condition[.contexts][.size]`.
    pub metric: String,
    /// Its name in full, where another tool's is too long for an id; else empty.
    pub title: String,
    /// The case that measures it: the id of the first metric of that case.
    pub case: String,
    /// The stamps it lies between.
    pub stamps: (u32, u32),
    /// Context switches in one sample.
    pub switches: u64,
    /// At most so many, where a thread may find what it waits for before it sleeps.
    pub switches_most: Option<u64>,
    /// Most operations in one sample; 0 or 1 is one.
    pub batch: u64,
    /// Bytes that one operation moves.
    pub bytes: Option<u64>,
    /// Items that one operation handles.
    pub items: Option<u64>,
    /// Capabilities needed of the port or the machine, such as `priority`.
    pub needs: Vec<String>,
    /// Whether the kernel has no such object, so that the port builds it of other primitives: its
    /// cost says more of the port than of the kernel.
    pub idiom: bool,
    /// One sentence: what is measured.
    pub about: String,
    /// What lies between the two stamps.
    pub between: String,
    /// The primitive of this kernel that the port uses.
    pub via: String,
}

/// One session: a process or a boot of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The agent's port, such as `linux-user`.
    pub port: String,
    /// The processor architecture.
    pub arch: String,
    /// Its clock.
    pub clock: Clock,
    /// Whether it ran at real-time priority.
    pub realtime: bool,
    /// Facts it told of itself (`info`).
    pub facts: Vec<Fact>,
    /// Whether its `bye` came and counted right.
    pub complete: bool,
}

/// An invariant: what was counted and the range in which it had to lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// `switches`, `order`, `clock`, `pinned` ...
    pub name: String,
    /// What the agent counted.
    pub counted: u64,
    /// Least allowed.
    pub low: u64,
    /// Most allowed.
    pub high: u64,
    /// What is expected exactly, where the range is wider than that for its slack.
    pub expected: Option<u64>,
}

/// Whether a metric has a number in one session, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Measured, and every proof held.
    Ok,
    /// Not measured, for the reason the agent gives.
    Skipped(String),
    /// Measured, and a proof failed; or the agent reported an error.
    Failed(String),
    /// It hung, was cut off, or its records were damaged.
    Incomplete(String),
}

/// What a source says of samples that are lost, in ticks of one operation; may have fractions.
///
/// At least one of `mean` and `median` is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    /// How many samples it sums up; 1 where the source does not say.
    pub samples: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// The least of them.
    pub min: Option<f64>,
    /// The greatest of them.
    pub max: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
}

impl Stat {
    /// A summary of so many samples that says nothing of them yet.
    #[must_use]
    pub fn blank(samples: u64) -> Self {
        Stat {
            samples,
            mean: None,
            median: None,
            min: None,
            max: None,
            deviation: None,
        }
    }

    /// Their mean, and nothing else.
    #[must_use]
    pub fn of_mean(samples: u64, mean: f64) -> Self {
        Stat {
            mean: Some(mean),
            ..Stat::blank(samples)
        }
    }

    /// The figure that stands for it: the median where the source has it.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.median.or(self.mean)
    }

    /// What that figure is.
    #[must_use]
    pub fn statistic(&self) -> Statistic {
        match self.median {
            Some(_) => Statistic::Median,
            None => Statistic::Mean,
        }
    }
}

/// What the value of a replicate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// The median of its samples.
    #[default]
    Median,
    /// Their mean: all that its source tells.
    Mean,
}

impl Statistic {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
        }
    }
}

/// One metric in one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicate {
    /// Index into [`Run::sessions`].
    pub session: usize,
    /// Whether it has a number.
    pub outcome: Outcome,
    /// Operations in each sample, at least 1.
    pub batch: u64,
    /// Samples that were asked for.
    pub asked: u64,
    /// The first sample of all, one operation alone.
    pub cold: Option<Ticks>,
    /// The exact distribution of whole samples (of `batch` operations each); empty unless `outcome`
    /// is `Ok`, and where there is only a summary of them.
    pub histogram: Histogram,
    /// What there is in place of the distribution, where the source tells no more.
    pub stat: Option<Box<Stat>>,
    /// The invariants of its case.
    pub proofs: Vec<Proof>,
}

impl Replicate {
    /// How many samples it has, or its source sums up.
    #[must_use]
    pub fn samples(&self) -> u64 {
        match &self.stat {
            Some(stat) => stat.samples,
            None => self.histogram.total(),
        }
    }

    /// What its value is.
    #[must_use]
    pub fn statistic(&self) -> Statistic {
        self.stat
            .as_deref()
            .map(Stat::statistic)
            .unwrap_or_default()
    }
}

/// A digest of all that a session measured.
struct Contents {
    digest: DefaultHasher,
    /// Whether it holds times that were sampled.
    is_sampled: bool,
    /// How much there is that two processes would not have in common: a distribution of several
    /// values, or of one that is known to a per cent or better.
    telling: usize,
}

/// Ticks from which on a value is known to a per cent.
const FINE: Ticks = Ticks(100);
/// So much has to be equal that it is no chance.
const LEAST_TELLING: usize = 2;

impl Contents {
    fn of(session: &Session) -> Self {
        let mut digest = DefaultHasher::new();
        (&session.port, &session.arch, &session.clock.name).hash(&mut digest);
        (session.clock.hz, session.realtime).hash(&mut digest);
        for fact in &session.facts {
            (&fact.name, &fact.value).hash(&mut digest);
        }
        Contents {
            digest,
            is_sampled: session.clock.unit != Unit::Instructions,
            telling: 0,
        }
    }

    fn add(&mut self, metric: usize, replicate: &Replicate) {
        (metric, replicate.batch, replicate.cold).hash(&mut self.digest);
        for sample in replicate.histogram.iter() {
            sample.hash(&mut self.digest);
        }
        self.is_sampled &= replicate.stat.is_none();
        let is_fine = replicate.histogram.max().is_some_and(|most| most >= FINE);
        let is_telling = is_fine || replicate.histogram.distinct() > 1;
        self.telling += usize::from(is_telling);
    }

    fn sum(self) -> Option<u64> {
        (self.is_sampled && self.telling >= LEAST_TELLING).then(|| self.digest.finish())
    }
}

/// A metric over all sessions of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its id.
    pub id: String,
    /// The case that measures it.
    pub case: String,
    /// One per session that tried it, in the order of the stream.
    pub replicates: Vec<Replicate>,
}

/// What went wrong with the stream itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Records with a wrong check sum or form.
    pub damaged: u64,
    /// Places where the sequence numbers jump.
    pub gaps: u64,
    /// Sessions without a right `bye`.
    pub truncated: u64,
    /// Lines without a mark.
    pub log_lines: u64,
    /// Sessions that repeat another one to the last sample, and count once with it.
    pub copies: u64,
}

/// All that a record stream says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Facts of the machine and the tool, in the order written.
    pub host: Vec<Fact>,
    /// What each metric is, in the agent's order.
    pub catalog: Vec<Entry>,
    /// The sessions that measured (`mode=run`), in order.
    pub sessions: Vec<Session>,
    /// The metrics, in the catalog's order, those without an entry last.
    pub metrics: Vec<Metric>,
    /// What went wrong with the stream.
    pub damage: Damage,
}

impl Run {
    /// Whether the kernel under test is that of the machine that ran the tool.
    #[must_use]
    pub fn is_of_its_host(&self) -> bool {
        let mut sessions = self.sessions.iter();
        let kernel = sessions.find_map(|session| Fact::value_in(&session.facts, "kernel"));
        match (kernel, Fact::value_in(&self.host, "kernel_release")) {
            (Some(kernel), Some(release)) => kernel.contains(release),
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    /// Whether it was to measure a metric of its catalog: all of them, or the clock and what its
    /// filters pick.
    #[must_use]
    pub fn asks_for(&self, metric: &str) -> bool {
        let Some(filters) = Fact::value_in(&self.host, FILTERS) else {
            return true;
        };
        let picks = |filter| filter::matches(filter, metric);
        metric == CLOCK || filters.split(' ').any(picks)
    }

    /// One run that holds the sessions of several, in their order.
    #[must_use]
    pub fn joined(runs: Vec<Run>) -> Run {
        let mut joined = Run::default();
        let mut entries: HashSet<String> = HashSet::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for run in runs {
            let before = joined.sessions.len();
            joined.host.extend(run.host);
            joined.sessions.extend(run.sessions);
            for entry in run.catalog {
                if entries.insert(entry.metric.clone()) {
                    joined.catalog.push(entry);
                }
            }
            for mut metric in run.metrics {
                for replicate in &mut metric.replicates {
                    replicate.session += before;
                }
                if let Some(place) = places.get(&metric.id) {
                    let known = &mut joined.metrics[*place];
                    known.replicates.extend(metric.replicates);
                } else {
                    places.insert(metric.id.clone(), joined.metrics.len());
                    joined.metrics.push(metric);
                }
            }
            joined.damage.damaged += run.damage.damaged;
            joined.damage.gaps += run.damage.gaps;
            joined.damage.truncated += run.damage.truncated;
            joined.damage.log_lines += run.damage.log_lines;
            joined.damage.copies += run.damage.copies;
        }
        joined.drop_copies();
        joined
    }

    /// Takes out the samples of sessions that repeat an earlier one to the last sample: a file that
    /// was copied, or joined to itself. No two processes measure the same times, so a copy is no
    /// replicate. Counted instructions do repeat, and summaries may by rounding: they stay.
    pub fn drop_copies(&mut self) {
        let mut contents: Vec<Contents> = self.sessions.iter().map(Contents::of).collect();
        for (at, metric) in self.metrics.iter().enumerate() {
            for replicate in &metric.replicates {
                contents[replicate.session].add(at, replicate);
            }
        }
        let mut known = HashSet::new();
        let is_copy: Vec<bool> = contents
            .into_iter()
            .map(|contents| contents.sum().is_some_and(|sum| !known.insert(sum)))
            .collect();
        let copies = is_copy.iter().filter(|copy| **copy).count();
        if copies == 0 {
            return;
        }
        self.damage.copies += copies as u64;
        for metric in &mut self.metrics {
            metric.replicates.retain(|one| !is_copy[one.session]);
        }
    }
}
