// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contents of a record stream: a [`Run`] of [`Metric`]s.
//!
//! A bad measurement is a value here ([`Outcome`]), never an error: a run that lost half of its cases
//! still has the other half.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::stream::counted::Counted;
use crate::stream::filter;
use crate::stream::histogram::Histogram;
use crate::stream::paths::{Function, MetricPaths};
use crate::stream::ticks::Ticks;

/// The metric that every run measures first: the cost of a time stamp.
pub const CLOCK: &str = "clock.read";

/// The name of the host fact with the filters of a run, separated by spaces.
pub const FILTERS: &str = "filters";

/// The name of the host fact with the filters of what a run leaves out, separated by spaces.
/// [`FILTERS`] is there too.
pub const EXCLUDE: &str = "exclude";
/// The end of the name of a fact that has the revision of a folder: `source_revision`.
pub const REVISION: &str = "_revision";

/// The fact with the configuration of the kernel under test: its settings as words `NAME=value`.
pub const CONFIGURATION: &str = "configuration";

/// The name of the host fact with the target of a run, as `--on` names it. A run without it is of
/// [`LINUX`].
pub const TARGET: &str = "target";
/// The target of a run without the fact [`TARGET`].
pub const LINUX: &str = "linux";

/// The name of the host fact with the name that the user gave the machine.
pub const MACHINE: &str = "machine";
/// The name of the host fact with the keyed hash of the machine's machine-id.
pub const MACHINE_ID: &str = "machine_id";
/// The start of the name of a host fact that holds a label of the user: `label.commit`.
pub const LABEL: &str = "label.";

/// The name of the host fact with the file that an imported run came from.
pub const IMPORTED: &str = "imported";

/// The unit of the agent's clock: what one tick is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A tick of a counter with a known frequency. Converts to time.
    Cycles,
    /// A tick of a counter with an unknown frequency. Does not convert to time.
    Ticks,
    /// An executed instruction. Never converts to time.
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

    /// The name of a tick in reports.
    #[must_use]
    pub fn tick(self) -> &'static str {
        match self {
            Unit::Cycles | Unit::Ticks => "cycles",
            Unit::Instructions => "instructions",
        }
    }

    /// The unit of converted figures: `ns` if ticks convert to time, else the name of a tick.
    #[must_use]
    pub fn of_figures(self) -> &'static str {
        match self {
            Unit::Cycles => "ns",
            Unit::Ticks => "cycles",
            Unit::Instructions => "instructions",
        }
    }
}

/// The frequency, in Hz, of a clock that ticks every picosecond. Imported times use it.
pub const PICOSECONDS: u64 = 1_000_000_000_000;

/// The agent's clock, as its `hello` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// `tsc`, `cntvct`, `monotonic`, `minstret` ...
    pub name: String,
    /// The unit of a tick.
    pub unit: Unit,
    /// Ticks per second. 0 unless the unit is [`Unit::Cycles`].
    pub hz: u64,
}

impl Clock {
    /// Converts ticks, possibly fractional, to nanoseconds. `None` if they do not convert to time.
    #[must_use]
    pub fn nanoseconds(&self, ticks: f64) -> Option<f64> {
        match self.unit {
            Unit::Cycles if self.hz > 0 => Some(ticks * 1e9 / self.hz as f64),
            _ => None,
        }
    }

    /// Converts ticks to the unit of figures ([`Unit::of_figures`]): nanoseconds, or unchanged if they
    /// do not convert to time. `None` for cycles without a frequency.
    #[must_use]
    pub fn shown(&self, ticks: f64) -> Option<f64> {
        match self.unit {
            Unit::Instructions | Unit::Ticks => Some(ticks),
            Unit::Cycles => self.nanoseconds(ticks),
        }
    }
}

/// A named text: a fact about the machine (`host` record) or the agent (`info` record).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name, such as `kernel_release`.
    pub name: String,
    /// Its value, decoded.
    pub value: String,
}

impl Fact {
    /// A fact with this name and value.
    #[must_use]
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Fact {
            name: name.to_owned(),
            value: value.into(),
        }
    }

    /// The value of the first fact with this name. `None` if there is none or it is empty.
    #[must_use]
    pub fn value_in<'a>(facts: &'a [Fact], name: &str) -> Option<&'a str> {
        let fact = facts.iter().find(|fact| fact.name == name)?;
        Some(fact.value.as_str()).filter(|value| !value.is_empty())
    }
}

/// An entry of the catalog: the description of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The metric's id, `object.operation.condition[.contexts][.size]`.
    pub metric: String,
    /// Its full name, if another tool's name is too long for an id. Otherwise empty.
    pub title: String,
    /// The case that measures it: the id of the first metric of that case.
    pub case: String,
    /// The numbers of the two stamps it lies between.
    pub stamps: (u32, u32),
    /// Expected context switches in one sample.
    pub switches: u64,
    /// The maximum, if a thread may find what it waits for before it sleeps.
    pub switches_most: Option<u64>,
    /// Maximum number of operations in one sample. 0 and 1 both mean one.
    pub batch: u64,
    /// Bytes that one operation moves.
    pub bytes: Option<u64>,
    /// Items that one operation handles.
    pub items: Option<u64>,
    /// Capabilities that the port or the machine must have, such as `priority`.
    pub needs: Vec<String>,
    /// Whether the kernel lacks this object and the port builds it from other primitives. The cost
    /// then depends more on the port than on the kernel.
    pub idiom: bool,
    /// What is measured, in one sentence.
    pub about: String,
    /// What happens between the two stamps.
    pub between: String,
    /// The primitive of this kernel that the port uses.
    pub via: String,
}

impl Entry {
    /// Whether its case needs a second CPU.
    #[must_use]
    pub fn needs_two_cpus(&self) -> bool {
        self.needs.iter().any(|need| need == "smp")
    }
}

/// A session: one process or one boot of the agent.
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
    /// Facts that the agent reported (`info` records).
    pub facts: Vec<Fact>,
    /// What the machine and the measured CPUs counted meanwhile.
    pub during: Vec<Counted>,
    /// Whether its `bye` record arrived with the correct number of records.
    pub complete: bool,
}

/// A proof: a count by the agent and the range that it must lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// `switches`, `order`, `clock`, `pinned` ...
    pub name: String,
    /// What the agent counted.
    pub counted: u64,
    /// Lowest count allowed.
    pub low: u64,
    /// Highest count allowed.
    pub high: u64,
    /// The exact expected count, if the range allows slack around it.
    pub expected: Option<u64>,
}

/// Whether a metric has a number in one session, and the reason if it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Measured, and every proof held.
    Ok,
    /// Not measured. The agent gives the reason.
    Skipped(String),
    /// A proof failed, or the agent reported an error.
    Failed(String),
    /// It hung, was cut off, or its records were lost or damaged.
    Incomplete(String),
}

/// A summary of samples by a source that does not give the samples. In ticks per operation, possibly
/// fractional.
///
/// At least one of `mean` and `median` is present.
#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    /// The number of samples summarised. 1 if the source does not say.
    pub samples: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
}

impl Stat {
    /// A summary of this many samples without any figure yet.
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

    /// A summary that has only the mean.
    #[must_use]
    pub fn of_mean(samples: u64, mean: f64) -> Self {
        Stat {
            mean: Some(mean),
            ..Stat::blank(samples)
        }
    }

    /// The figure that represents the samples: the median if present, else the mean.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.median.or(self.mean)
    }

    /// Which statistic [`value`](Self::value) is.
    #[must_use]
    pub fn statistic(&self) -> Statistic {
        match self.median {
            Some(_) => Statistic::Median,
            None => Statistic::Mean,
        }
    }
}

/// The statistic that the value of a replicate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// The median of its samples.
    #[default]
    Median,
    /// Their mean, because the source gives nothing else.
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
    /// Whether it has a number, and why not.
    pub outcome: Outcome,
    /// Operations in each sample, at least 1.
    pub batch: u64,
    /// Number of samples requested.
    pub asked: u64,
    /// The first sample, of a single operation.
    pub cold: Option<Ticks>,
    /// The exact distribution of the samples, each of `batch` operations. Empty unless `outcome` is
    /// `Ok`, and empty if there is only a summary.
    pub histogram: Histogram,
    /// The summary, if the source gives no distribution.
    pub stat: Option<Box<Stat>>,
    /// CPU time of all threads of its case over all samples, in nanoseconds, if the kernel accounts
    /// it.
    pub cpu_ns: Option<u64>,
    /// The proofs of its case.
    pub proofs: Vec<Proof>,
}

impl Replicate {
    /// CPU time of its case per operation, in nanoseconds. `None` if it is unknown, or without a
    /// number.
    #[must_use]
    pub fn cpu_time(&self) -> Option<f64> {
        let operations = self.samples() as f64 * self.batch.max(1) as f64;
        let cpu_ns = self.cpu_ns.filter(|_| self.outcome == Outcome::Ok)?;
        (operations > 0.0).then(|| cpu_ns as f64 / operations)
    }

    /// The number of samples it has or summarises.
    #[must_use]
    pub fn samples(&self) -> u64 {
        match &self.stat {
            Some(stat) => stat.samples,
            None => self.histogram.total(),
        }
    }

    /// Which statistic its value is.
    #[must_use]
    pub fn statistic(&self) -> Statistic {
        self.stat
            .as_deref()
            .map(Stat::statistic)
            .unwrap_or_default()
    }
}

/// A digest of everything that a session measured, to recognise copies.
struct Contents {
    digest: DefaultHasher,
    /// Whether it consists of sampled times, which no two processes repeat exactly.
    is_sampled: bool,
    /// The number of replicates that two processes are unlikely to share: with several distinct
    /// values, or with a value that is resolved to 1 % or better.
    distinctive: usize,
}

/// A value of at least this many ticks is resolved to 1 %.
const RESOLVED_TO_1_PERCENT: Ticks = Ticks(100);
/// Sessions with fewer distinctive replicates can be equal by chance.
const MIN_DISTINCTIVE: usize = 2;

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
            distinctive: 0,
        }
    }

    fn add(&mut self, metric: usize, replicate: &Replicate) {
        (metric, replicate.batch, replicate.cold).hash(&mut self.digest);
        for sample in replicate.histogram.iter() {
            sample.hash(&mut self.digest);
        }
        self.is_sampled &= replicate.stat.is_none();
        let is_resolved = replicate
            .histogram
            .max()
            .is_some_and(|max| max >= RESOLVED_TO_1_PERCENT);
        let is_distinctive = is_resolved || replicate.histogram.distinct() > 1;
        self.distinctive += usize::from(is_distinctive);
    }

    /// `None` if equal contents do not prove a copy.
    fn finish(self) -> Option<u64> {
        (self.is_sampled && self.distinctive >= MIN_DISTINCTIVE).then(|| self.digest.finish())
    }
}

/// A metric in all sessions of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its id.
    pub id: String,
    /// The case that measures it.
    pub case: String,
    /// One for each session that tried it, in the order of the stream.
    pub replicates: Vec<Replicate>,
}

/// Damage to the stream itself, as counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Records that were not used: wrong checksum or syntax, repeated or out of place.
    pub damaged: u64,
    /// Gaps in the sequence numbers.
    pub gaps: u64,
    /// Sessions without a correct `bye` record.
    pub truncated: u64,
    /// Non-empty lines without a mark.
    pub log_lines: u64,
    /// Sessions that repeat an earlier one exactly. Their samples are dropped.
    pub copies: u64,
}

/// The contents of a record stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Facts about the machine and the tool, in the order of the stream.
    pub host: Vec<Fact>,
    /// What the machine and each of its CPUs counted before the run.
    pub before: Vec<Counted>,
    /// The description of each metric, in the agent's order.
    pub catalog: Vec<Entry>,
    /// The sessions that measured (`mode=run`), in order.
    pub sessions: Vec<Session>,
    /// The metrics in the catalog's order. Those without an entry come last.
    pub metrics: Vec<Metric>,
    /// The functions that paths execute.
    pub functions: Vec<Function>,
    /// The paths of metrics, by session.
    pub paths: Vec<MetricPaths>,
    /// Damage to the stream.
    pub damage: Damage,
}

impl Run {
    /// The paths of a metric, or why they were refused. If several sessions have them, those of the
    /// first: where instructions are counted exactly, sessions repeat each other.
    #[must_use]
    pub fn paths_of(&self, metric: &str) -> Option<&MetricPaths> {
        let all = || self.paths.iter().filter(|paths| paths.metric == metric);
        all().find(|paths| paths.paths.is_ok()).or(all().next())
    }

    /// Adds the paths of a session, which index these functions. Equal functions become one.
    pub(super) fn add_paths(&mut self, functions: Vec<Function>, paths: Vec<MetricPaths>) {
        let mut known: HashMap<Function, usize> = self.functions.iter().cloned().zip(0..).collect();
        let new: Vec<usize> = functions
            .into_iter()
            .map(|function| {
                *known.entry(function).or_insert_with_key(|function| {
                    self.functions.push(function.clone());
                    self.functions.len() - 1
                })
            })
            .collect();
        self.paths.extend(paths.into_iter().map(|mut paths| {
            paths.renumber(&new);
            paths
        }));
    }

    /// Whether the kernel under test is the kernel of the machine that ran the tool.
    #[must_use]
    pub fn measures_host_kernel(&self) -> bool {
        let mut sessions = self.sessions.iter();
        let kernel = sessions.find_map(|session| Fact::value_in(&session.facts, "kernel"));
        match (kernel, Fact::value_in(&self.host, "kernel_release")) {
            (Some(kernel), Some(release)) => kernel.contains(release),
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    /// The metrics that were requested, besides [`CLOCK`].
    #[must_use]
    pub fn asked(&self) -> filter::Selection {
        let words = |name| {
            let filters = Fact::value_in(&self.host, name).unwrap_or_default();
            filters.split_whitespace().map(str::to_owned).collect()
        };
        filter::Selection {
            filters: words(FILTERS),
            exclude: words(EXCLUDE),
        }
    }

    /// Keeps what a selection selects, and [`CLOCK`] unless it is excluded: net costs need it.
    pub fn select(&mut self, selection: &filter::Selection) {
        let stays = |id: &str| selection.selects(id) || id == CLOCK && !selection.excludes(id);
        self.metrics.retain(|metric| stays(&metric.id));
        self.catalog.retain(|entry| stays(&entry.metric));
    }

    /// The ids of its metrics, then those of its catalog.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        let measured = self.metrics.iter().map(|metric| metric.id.as_str());
        let listed = self.catalog.iter().map(|entry| entry.metric.as_str());
        measured.chain(listed).collect()
    }

    /// Joins runs into one that has the sessions of all, in order.
    #[must_use]
    pub fn joined(runs: Vec<Run>) -> Run {
        let mut joined = Run::default();
        let mut entries: HashSet<String> = HashSet::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for run in runs {
            let before = joined.sessions.len();
            joined.host.extend(run.host);
            joined.before.extend(run.before);
            let mut paths = run.paths;
            for one in &mut paths {
                one.session += before;
            }
            joined.add_paths(run.functions, paths);
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

    /// Drops the replicates of sessions that repeat an earlier session exactly, as in a file that was
    /// copied or joined to itself. Two processes never measure exactly the same times, so a copy is
    /// not a replicate. Instruction counts do repeat, and summaries can repeat by rounding; these
    /// sessions stay.
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
            .map(|contents| {
                contents
                    .finish()
                    .is_some_and(|digest| !known.insert(digest))
            })
            .collect();
        let copies = is_copy.iter().filter(|copy| **copy).count();
        if copies == 0 {
            return;
        }
        self.damage.copies += copies as u64;
        for metric in &mut self.metrics {
            metric
                .replicates
                .retain(|replicate| !is_copy[replicate.session]);
        }
    }
}
