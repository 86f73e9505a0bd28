// SPDX-License-Identifier: MIT OR Apache-2.0

//! The published figures of other suites. Reads the CSV files of `reference/`, which are embedded
//! in the program; returns their datasets and figures, also as runs, and the metrics here that
//! measure the closest operation.
//!
//! The name of a dataset is a path, such as `zircon/2018-01-02`. The start of a path, such as
//! `zephyr/latest`, names all datasets below it. The first part of a path is the suite.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::base::number::plural;
use crate::import::{self, picosecond_clock, records, zephyr_latency, Imported, Row, Source};
use crate::stream::filter;
use crate::stream::run::IMPORTED;
use crate::stream::run::{Clock, Fact, Metric, Run, Session, Stat, Unit};

/// The prefix of a name on the command line.
const PREFIX: &str = "reference:";

/// The suites: the name of each, and its figures as CSV.
const SUITES: [(&str, &str); 3] = [
    ("zephyr", include_str!("../../reference/zephyr.csv")),
    ("zircon", include_str!("../../reference/zircon.csv")),
    ("composite", include_str!("../../reference/composite.csv")),
];

/// The format of a run that is made from a dataset. No file has this format.
static FORMAT: import::Format = import::Format {
    name: "reference",
    about: "published figures",
    recognised_by: PREFIX,
    lines: None,
    document: None,
};

const DATASETS: &str = include_str!("../../reference/datasets.csv");
const ALIASES: &str = include_str!("../../reference/aliases.csv");
const CHANGES: &str = include_str!("../../reference/zircon_change.csv");

/// A set of figures that were measured together, with their provenance. What the source does not
/// say is empty or `not stated`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Dataset {
    /// Its path, such as `zephyr/latest/userspace`.
    #[serde(rename = "dataset")]
    pub name: String,
    /// Where it was published.
    pub source: String,
    /// The system that was measured, with its version.
    pub system: String,
    /// How the system was built and run.
    pub configuration: String,
    /// The machine that it ran on.
    pub machine: String,
    /// The statistic of the samples, such as the mean.
    pub statistic: String,
    /// Cycles per second.
    pub clock_hz: Option<u64>,
    /// The source of that frequency, or the unit of figures that are not in cycles.
    pub clock_basis: String,
}

/// A number as it was published. It may be a range, such as `162-166`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Published {
    text: String,
    low: f64,
    high: f64,
}

impl Published {
    /// The published text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number, or the middle of the range.
    #[must_use]
    pub fn value(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// The ends of the range; `None` for a single number.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        (self.low < self.high).then_some((self.low, self.high))
    }

    /// The interval of numbers that round to this one.
    fn rounding_interval(&self) -> (f64, f64) {
        let decimals = self.text.split_once('.').map_or(0, |(_, tail)| tail.len());
        let half = (0..decimals).fold(0.5, |half, _| half / 10.0);
        (self.low - half, self.high + half)
    }
}

impl TryFrom<String> for Published {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |part: &str| {
            let is_decimal = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            part.parse::<f64>().ok().filter(|_| is_decimal)
        };
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        match (number(first), number(last)) {
            (Some(low), Some(high)) if low <= high => Ok(Published { text, low, high }),
            _ => Err(format!(
                "`{text}` is neither a number nor a range of numbers"
            )),
        }
    }
}

/// A published figure: the result of one benchmark of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Figure {
    /// The path of its dataset.
    pub dataset: String,
    /// The name of the benchmark in its source.
    pub benchmark: String,
    /// The number of its row among the rows of that benchmark, from 1.
    pub row: u32,
    /// The title in its source.
    pub title: String,
    /// Cycles per operation.
    #[serde(default)]
    pub cycles: Option<Published>,
    /// Nanoseconds per operation.
    #[serde(default, alias = "wall_nanoseconds")]
    pub nanoseconds: Option<Published>,
    /// Microseconds per operation.
    #[serde(default)]
    pub microseconds: Option<Published>,
    /// Nanoseconds of CPU time per operation.
    #[serde(default)]
    pub cpu_nanoseconds: Option<Published>,
    /// The number of operations that it is the mean of.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// Bytes or items per second of CPU time, as published.
    #[serde(default)]
    pub throughput: Option<String>,
}

impl Figure {
    /// The name of the benchmark. From its second row on, `#` and the number of the row follow.
    #[must_use]
    pub fn name(&self) -> String {
        match self.row {
            0 | 1 => self.benchmark.clone(),
            row => format!("{}#{row}", self.benchmark),
        }
    }

    /// Nanoseconds per operation, if a time was published.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        let nanoseconds = self.nanoseconds.as_ref().map(Published::value);
        nanoseconds.or_else(|| Some(self.microseconds.as_ref()?.value() * 1000.0))
    }

    /// Its row in the run of its dataset. `clock_hz` is the frequency of that dataset.
    fn row(&self, clock_hz: Option<u64>) -> Result<Row, String> {
        let time = self.time();
        let (value, range) = match (&self.cycles, clock_hz, time) {
            (Some(cycles), Some(_), _) => (cycles.value(), cycles.range()),
            (_, None, Some(time)) => (time * TICKS_PER_NANOSECOND, None),
            _ => {
                return Err(format!(
                    "{}: {} has no figure in the dataset's clock",
                    self.dataset, self.benchmark
                ))
            }
        };
        let range_text = self.cycles.as_ref().filter(|_| range.is_some());
        let range_text =
            range_text.map(|c| format!("; published as {}, shown as its middle", c.text()));
        Ok(Row {
            about: format!("{}{}", self.title, range_text.unwrap_or_default()),
            nanoseconds: time,
            ..Row::new(
                &self.name(),
                import::Figure::Summary(Stat {
                    samples: self.iterations.unwrap_or(1),
                    mean: Some(value),
                    median: None,
                    min: range.map(|(low, _)| low),
                    max: range.map(|(_, high)| high),
                    deviation: None,
                }),
            )
        })
    }
}

/// Ticks of [`picosecond_clock`] in a nanosecond.
const TICKS_PER_NANOSECOND: f64 = 1000.0;

/// A benchmark of another suite and the metric here that measures the closest operation, if there
/// is one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Counterpart {
    /// The suite, such as `zephyr`.
    #[serde(rename = "dataset")]
    pub suite: String,
    /// The name of the benchmark in that suite.
    pub benchmark: String,
    /// The target that measures it here, such as `linux-vm`; empty if none does.
    pub target: String,
    /// The metric; empty if there is none.
    pub metric: String,
    /// How the two differ, empty if they do not; or why there is no metric.
    pub note: String,
}

/// A `reference:NAME` argument: names a dataset, or all datasets below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    path: String,
}

impl Reference {
    /// Whether an argument names published figures and not a file.
    #[must_use]
    pub fn has_prefix(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The reference with this path.
    ///
    /// # Errors
    ///
    /// There is no such dataset. The message lists the known ones.
    pub fn named(path: &str) -> Result<Self, String> {
        let known = valid_names(&datasets()?);
        if known.iter().any(|name| name == path) {
            let path = path.to_owned();
            return Ok(Reference { path });
        }
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(format!(
            "there is no dataset `{path}`; there are: {}{}",
            names.join(", "),
            filter::suggestion(path, &names)
        ))
    }

    /// The suite, such as `zephyr`.
    #[must_use]
    pub fn suite(&self) -> &str {
        first_part(&self.path)
    }

    /// The datasets that it names, in file order.
    ///
    /// # Errors
    ///
    /// The embedded data is invalid.
    pub fn datasets(&self) -> Result<Vec<Dataset>, String> {
        let mut all = datasets()?;
        all.retain(|dataset| is_below(&self.path, &dataset.name));
        Ok(all)
    }

    /// The one dataset that it names.
    ///
    /// # Errors
    ///
    /// It names several datasets, or the embedded data is invalid.
    pub fn dataset(&self) -> Result<Dataset, String> {
        let mut all = self.datasets()?;
        if all.len() == 1 {
            return Ok(all.remove(0));
        }
        let names: Vec<String> = all
            .iter()
            .map(|dataset| dataset.reference().to_string())
            .collect();
        Err(format!(
            "{self} names {}; choose one: {}",
            plural(all.len() as u64, "dataset"),
            names.join(", ")
        ))
    }

    /// The figures that it names, in file order.
    ///
    /// # Errors
    ///
    /// The embedded data is invalid.
    pub fn figures(&self) -> Result<Vec<Figure>, String> {
        let suite = SUITES.iter().find(|(name, _)| *name == self.suite());
        let (name, csv) = suite.ok_or_else(|| format!("there is no suite {}", self.suite()))?;
        let mut figures = parse_figures(name, csv)?;
        figures.retain(|figure| is_below(&self.path, &figure.dataset));
        Ok(figures)
    }

    /// The dataset that it names, as a run with one session.
    ///
    /// # Errors
    ///
    /// It names several datasets, or the embedded data is invalid.
    pub fn run(&self) -> Result<Run, String> {
        let imported = Imported {
            format: &FORMAT,
            sources: vec![self.source()?],
        };
        let facts = [Fact::new(IMPORTED, self.to_string())];
        Ok(records::run(imported, &facts))
    }

    /// The dataset that it names, as imported results of one process or boot.
    ///
    /// # Errors
    ///
    /// It names several datasets, or the embedded data is invalid.
    pub fn source(&self) -> Result<Source, String> {
        let dataset = self.dataset()?;
        let clock = match dataset.clock_hz {
            Some(hz) => Clock {
                name: "cycles".to_owned(),
                unit: Unit::Cycles,
                hz,
            },
            None => picosecond_clock(),
        };
        let facts = [
            ("kernel", &dataset.system),
            ("configuration", &dataset.configuration),
            ("machine", &dataset.machine),
            ("source", &dataset.source),
            ("statistic", &dataset.statistic),
            ("clock_basis", &dataset.clock_basis),
        ];
        let figures = self.figures()?;
        let rows: Result<Vec<Row>, String> = figures
            .iter()
            .map(|figure| figure.row(dataset.clock_hz))
            .collect();
        Ok(Source {
            facts: facts
                .iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| Fact::new(name, value.as_str()))
                .collect(),
            clock,
            rows: rows?,
            incomplete: None,
        })
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix(PREFIX) else {
            let known = Reference::named(text)?;
            return Err(format!("write it as {known}"));
        };
        Reference::named(path)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.path)
    }
}

impl Dataset {
    /// The system and its configuration; empty if neither is known.
    #[must_use]
    pub fn subject(&self) -> String {
        let parts = [self.system.as_str(), self.configuration.as_str()];
        let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        known.join("; ")
    }

    /// The reference that names it.
    #[must_use]
    pub fn reference(&self) -> Reference {
        Reference {
            path: self.name.clone(),
        }
    }
}

fn first_part(path: &str) -> &str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

/// Whether a dataset is at this path or below it.
fn is_below(path: &str, dataset: &str) -> bool {
    let rest = dataset.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// All valid names: the datasets and the starts of their paths, each before those below it.
fn valid_names(datasets: &[Dataset]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for dataset in datasets {
        let name = &dataset.name;
        let ends = name.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([name.len()]) {
            let start = name[..end].to_owned();
            if !names.contains(&start) {
                names.push(start);
            }
        }
    }
    names
}

/// All datasets, in file order.
///
/// # Errors
///
/// The embedded data is invalid.
pub fn datasets() -> Result<Vec<Dataset>, String> {
    parse_csv("datasets", DATASETS)
}

fn parse_figures(suite: &str, csv: &str) -> Result<Vec<Figure>, String> {
    parse_csv(suite, csv)
}

/// The counterparts of all benchmarks, in file order.
///
/// # Errors
///
/// The embedded data is invalid.
pub fn counterparts() -> Result<Vec<Counterpart>, String> {
    parse_counterparts(ALIASES)
}

/// Parses counterparts from CSV with the columns `dataset`, `benchmark`, `target`, `metric`,
/// `note`.
///
/// # Errors
///
/// A column is missing, or a row has the wrong number of fields. The message says which and where.
pub fn parse_counterparts(csv: &str) -> Result<Vec<Counterpart>, String> {
    parse_csv("aliases", csv)
}

/// The name of an agent's port in the `target` column; `None` if the data does not have it.
#[must_use]
pub fn target(port: &str) -> Option<&'static str> {
    match port {
        "linux-user" => Some("linux"),
        "linux-kernel" => Some("linux-vm"),
        "freertos" => Some(NATIVE_OBJECTS),
        "zephyr" => Some("zephyr"),
        _ => None,
    }
}

/// The target for all ports that the data does not have: a kernel with native objects like those of
/// the other suite. If no counterpart is given for a benchmark, it is compared with the metric of
/// the same name.
pub const NATIVE_OBJECTS: &str = "freertos";

/// A benchmark and the metric of a run that measures the closest operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The id of the benchmark in the run of its dataset.
    pub id: String,
    /// The name of the benchmark in its source.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// How the two differ; empty if they do not.
    pub note: String,
}

/// Pairs the benchmarks of a dataset with the metrics of a run that measure them: with the
/// counterparts for the run's target or, for [`NATIVE_OBJECTS`], the metrics of the same name.
/// `published` is the run made from `figures`.
#[must_use]
pub fn pairs(
    figures: &[Figure],
    published: &Run,
    run: &Run,
    counterparts: &[Counterpart],
) -> Vec<Pair> {
    let target = run
        .sessions
        .first()
        .and_then(|session| target(&session.port));
    let target = target.unwrap_or(NATIVE_OBJECTS);
    let has = |id: &str| run.metrics.iter().any(|metric| metric.id == id);
    let pair = |(figure, metric): (&Figure, &Metric)| {
        let benchmark = &figure.benchmark;
        let counterpart = counterparts.iter().find(|counterpart| {
            counterpart.suite == first_part(&figure.dataset)
                && counterpart.benchmark == *benchmark
                && counterpart.target == target
        });
        let (metric_here, note) = match counterpart {
            Some(counterpart) => (&counterpart.metric, counterpart.note.as_str()),
            None if target == NATIVE_OBJECTS => (benchmark, ""),
            None => return None,
        };
        has(metric_here).then(|| Pair {
            id: metric.id.clone(),
            benchmark: figure.name(),
            metric: metric_here.clone(),
            note: note.to_owned(),
        })
    };
    // The metrics of `published` are the figures, in the same order.
    figures
        .iter()
        .zip(&published.metrics)
        .filter_map(pair)
        .collect()
}

/// The results of a suite that the user ran, as figures: its benchmarks, without values. `None` if
/// the run is not the import of a suite that `counterparts` has.
#[must_use]
pub fn own_figures(run: &Run, counterparts: &[Counterpart]) -> Option<Vec<Figure>> {
    let is_log = |session: &Session| session.port == zephyr_latency::FORMAT.name;
    if run.sessions.is_empty() || !run.sessions.iter().all(is_log) {
        return None;
    }
    let suite = "zephyr";
    let is_known = |name: &str| {
        let mut known = counterparts.iter().filter(|one| one.suite == suite);
        known.any(|one| one.benchmark == name)
    };
    let figure = |metric: &Metric| {
        let entry = run.catalog.iter().find(|entry| entry.metric == metric.id);
        // Up to 3.5 it prints titles, which are longer than ids.
        let title = entry.map(|entry| entry.about.clone());
        let benchmark = title.filter(|_| !is_known(&metric.id));
        Figure {
            dataset: suite.to_owned(),
            benchmark: benchmark.unwrap_or_else(|| metric.id.clone()),
            ..Figure::default()
        }
    };
    Some(run.metrics.iter().map(figure).collect())
}

/// A run with only the metrics of these pairs. `name` says which field of a pair is the metric's id
/// in `run`. In the result, the metric has the id of the pair.
#[must_use]
pub fn keep_pairs(mut run: Run, pairs: &[Pair], name: fn(&Pair) -> &str) -> Run {
    let metric = |pair: &Pair| {
        let metric = run.metrics.iter().find(|metric| metric.id == name(pair))?;
        Some(Metric {
            id: pair.id.clone(),
            ..metric.clone()
        })
    };
    run.metrics = pairs.iter().filter_map(metric).collect();
    run
}

/// A published change of a benchmark between two datasets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Change {
    /// The path of the earlier dataset.
    pub from: String,
    /// The path of the later one.
    pub to: String,
    /// The benchmark.
    pub benchmark: String,
    /// [`improvement`], rounded to two decimals.
    pub improvement_percent: String,
}

/// The published changes, in file order.
///
/// # Errors
///
/// The embedded data is invalid.
pub fn changes() -> Result<Vec<Change>, String> {
    parse_csv("zircon_change", CHANGES)
}

/// The speed-up in per cent, as Zircon publishes it: 100 is twice as fast, -50 is half as fast.
#[must_use]
pub fn improvement(from: f64, to: f64) -> f64 {
    100.0 * (from / to - 1.0)
}

/// An improvement in per cent with two decimals, as published.
#[must_use]
pub fn improvement_text(improvement: f64) -> String {
    format!("{improvement:.2}")
}

/// Whether the published changes between two datasets agree with the published figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// How many changes were published.
    pub published: usize,
    /// The changes that do not follow from the figures, and why.
    pub contradictions: Vec<String>,
}

impl Agreement {
    /// Checks whether each published change follows from the first row of its benchmark in both
    /// datasets.
    #[must_use]
    pub fn of(changes: &[Change], from: &[Figure], to: &[Figure]) -> Self {
        let is_between = |change: &&Change| {
            let has = |figures: &[Figure], name: &str| figures.iter().any(|f| f.dataset == name);
            has(from, &change.from) && has(to, &change.to)
        };
        let changes: Vec<&Change> = changes.iter().filter(is_between).collect();
        Agreement {
            published: changes.len(),
            contradictions: changes
                .iter()
                .filter_map(|change| contradiction(change, from, to))
                .collect(),
        }
    }

    /// The result in a sentence; `None` if no change was published.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let all = plural(self.published as u64, "published improvement");
        match (self.published, self.contradictions.len()) {
            (0, _) => None,
            (_, 0) => Some(format!("all of {all} follow from the printed figures")),
            (published, wrong) => Some(format!(
                "{} of {all} follow from the printed figures; {}",
                published - wrong,
                self.contradictions.join("; ")
            )),
        }
    }
}

/// Why a published change does not follow from the figures; `None` if it does.
fn contradiction(change: &Change, from: &[Figure], to: &[Figure]) -> Option<String> {
    let benchmark = &change.benchmark;
    let find = |figures: &[Figure], dataset: &str| {
        let found = figures
            .iter()
            .find(|f| f.dataset == dataset && f.benchmark == *benchmark);
        let time = found.and_then(|figure| figure.nanoseconds.clone());
        time.ok_or_else(|| format!("{benchmark}: {dataset} has no time for it"))
    };
    let (from, to) = match (find(from, &change.from), find(to, &change.to)) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(why), _) | (_, Err(why)) => return Some(why),
    };
    let derived = improvement_text(improvement(from.value(), to.value()));
    if derived == change.improvement_percent {
        return None;
    }
    let ((least, most), (to_least, to_most)) = (from.rounding_interval(), to.rounding_interval());
    Some(format!(
        "{benchmark}: published {}, but {} to {} gives {derived}, and rounding allows {} to {}",
        change.improvement_percent,
        from.text(),
        to.text(),
        improvement_text(improvement(least, to_most)),
        improvement_text(improvement(most, to_least)),
    ))
}

/// Parses CSV with a header. `name` is the file's name without its extension.
pub(crate) fn parse_csv<T: DeserializeOwned>(name: &str, csv: &str) -> Result<Vec<T>, String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.map_err(|error| format!("reference/{name}.csv: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::ticks::Ticks;

    fn reference(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn counterparts_are_parsed_by_column_names() {
        let text = "note,metric,target,benchmark,dataset\n\"a, b\",m.x,linux,B/1,zircon\n";
        let all = parse_counterparts(text).unwrap();
        let expected = Counterpart {
            suite: "zircon".to_owned(),
            benchmark: "B/1".to_owned(),
            target: "linux".to_owned(),
            metric: "m.x".to_owned(),
            note: "a, b".to_owned(),
        };
        assert_eq!(all, [expected]);
    }

    fn run_of(format: &'static import::Format, rows: &[(&str, &str)]) -> Run {
        let row = |(name, about): &(&str, &str)| Row {
            about: (*about).to_owned(),
            ..Row::new(
                name,
                import::Figure::Samples([(Ticks(7), 1)].into_iter().collect()),
            )
        };
        let rows = rows.iter().map(row).collect();
        let imported = Imported {
            format,
            sources: vec![Source::of_times("test", rows)],
        };
        records::run(imported, &[])
    }

    #[test]
    fn log_of_latency_measure_is_paired_with_a_run_of_zephyr() {
        static ZEPHYR: import::Format = import::Format {
            name: "zephyr",
            about: "",
            recognised_by: "",
            lines: None,
            document: None,
        };
        let counterparts = counterparts().unwrap();
        let run = run_of(
            &ZEPHYR,
            &[
                ("heap.malloc.alone.kernel.10", ""),
                ("isr.resume.different.thread.k_to_u", ""),
                ("semaphore.give.immediate.kernel", ""),
            ],
        );
        assert_eq!(own_figures(&run, &counterparts), None);
        let log = run_of(
            &zephyr_latency::FORMAT,
            &[
                (
                    "semaphore.give.immediate.kernel",
                    "Give a semaphore (no waiters)",
                ),
                ("isr.resume.different.thread.user", "Return from ISR"),
                ("Average time for heap malloc", ""),
                ("lifo.get.immediate.kernel", "not in the run"),
            ],
        );
        let figures = own_figures(&log, &counterparts).unwrap();
        let pairs = pairs(&figures, &log, &run, &counterparts);
        let metrics: Vec<&str> = pairs.iter().map(|pair| pair.metric.as_str()).collect();
        assert_eq!(
            metrics,
            [
                "semaphore.give.immediate.kernel",
                "isr.resume.different.thread.k_to_u",
                "heap.malloc.alone.kernel.10",
            ]
        );
    }

    #[test]
    fn invalid_tables_are_rejected_with_the_reason() {
        let missing = parse_counterparts("dataset,benchmark,target,note\na,b,c,d\n").unwrap_err();
        assert!(missing.contains("aliases.csv") && missing.contains("`metric`"));
        let short = parse_counterparts("dataset,benchmark,target,metric,note\na,b\n").unwrap_err();
        assert!(short.contains("line: 2"), "{short}");
        let head = "dataset,benchmark,row,title,cycles\n";
        for cycles in ["1x", "-3", "5-4", "1-2-3", "1e3", "inf"] {
            let error = parse_figures("s", &format!("{head}d,b,1,t,{cycles}\n")).unwrap_err();
            assert!(error.contains(&format!("`{cycles}`")), "{error}");
            assert!(error.contains("line: 2"), "{error}");
        }
    }

    #[test]
    fn figures_keep_the_published_text() {
        let text = "dataset,benchmark,row,title,cycles,microseconds\n\
                    s/d,a,1,A,162-166,\ns/d,b,1,B,4448.927,1.97\ns/d,b,2,B,7,\n";
        let figures = parse_figures("s", text).unwrap();
        let cycles: Vec<&Published> = figures.iter().filter_map(|f| f.cycles.as_ref()).collect();
        assert_eq!((cycles[0].text(), cycles[0].value()), ("162-166", 164.0));
        assert_eq!(cycles[0].range(), Some((162.0, 166.0)));
        assert_eq!((cycles[1].text(), cycles[1].range()), ("4448.927", None));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(figures[1].time().unwrap(), 1970.0));
        let (low, high) = cycles[1].rounding_interval();
        assert!(close(low, 4448.9265) && close(high, 4448.9275));
        let names: Vec<String> = figures.iter().map(Figure::name).collect();
        assert_eq!(names, ["a", "b", "b#2"]);
        assert_eq!(figures[0].time(), None);
    }

    #[test]
    fn path_names_a_dataset_or_all_below_it() {
        let count = |text: &str| reference(text).datasets().unwrap().len();
        assert_eq!(count("reference:zephyr"), 8);
        assert_eq!(count("reference:zephyr/latest"), 4);
        assert_eq!(count("reference:zephyr/latest/userspace"), 1);
        let figures = |text: &str| reference(text).figures().unwrap();
        let (all, one) = (
            figures("reference:zephyr"),
            figures("reference:zephyr/latest/userspace"),
        );
        assert!(!one.is_empty() && one.len() < all.len());
        assert!(one.iter().all(|f| f.dataset == "zephyr/latest/userspace"));
        // linux-2.6.22 is not below linux.
        assert_eq!(count("reference:composite/2007/linux"), 1);
        for text in ["reference:zircon", "reference:composite/2007/hardware"] {
            assert_eq!(reference(text).to_string(), text);
        }
        let several = reference("reference:zircon").dataset().unwrap_err();
        assert!(several.contains("2 datasets"), "{several}");
        assert!(
            several.ends_with(", reference:zircon/2018-01-02"),
            "{several}"
        );
    }

    #[test]
    fn unknown_reference_is_rejected_with_the_known_ones() {
        let refused = |text: &str| text.parse::<Reference>().unwrap_err();
        assert_eq!(refused("zephyr"), "write it as reference:zephyr");
        let message = refused("reference:zefyr");
        let dataset = "composite/2007/linux-2.6.22";
        assert_eq!(message.matches(dataset).count(), 1, "{message}");
        assert!(message.ends_with("; did you mean zephyr?"), "{message}");
        assert!(refused("").contains("composite"));
        assert!(refused("reference:zephyr/").contains("there are: "));
    }

    #[test]
    fn every_dataset_becomes_a_source_with_all_rows() {
        for dataset in datasets().unwrap() {
            let reference = dataset.reference();
            let source = reference.source().unwrap();
            assert_eq!(source.rows.len(), reference.figures().unwrap().len());
            let mut names: Vec<&str> = source.rows.iter().map(|row| row.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), source.rows.len(), "{reference}: a name twice");
        }
        let source = reference("reference:zircon/2018-01-02").source().unwrap();
        let row = |name: &str| source.rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row("Channel/Create").nanoseconds, Some(755.0));
        let import::Figure::Summary(stat) = &row("Channel/Create").figure else {
            panic!("{source:?}");
        };
        assert_eq!((stat.mean, stat.median), (Some(755_000.0), None));
        assert!(stat.samples > 1000);
        assert_ne!(row("Port/Create/0").figure, row("Port/Create/0#2").figure);
        assert_eq!(source.clock, picosecond_clock());
        let source = reference("reference:composite/2007/hardware")
            .source()
            .unwrap();
        assert_eq!(source.clock.hz, 2_400_000_000);
        let import::Figure::Summary(stat) = &source.rows[0].figure else {
            panic!("{source:?}");
        };
        assert_eq!(
            (stat.min, stat.mean, stat.max),
            (Some(162.0), Some(164.0), Some(166.0))
        );
        assert!(source.rows[0].about.contains("162-166"));
    }

    fn zircon() -> [Vec<Figure>; 2] {
        ["reference:zircon/2017-08-17", "reference:zircon/2018-01-02"]
            .map(|text| reference(text).figures().unwrap())
    }

    #[test]
    fn every_published_change_follows_from_the_figures() {
        let [from, to] = zircon();
        let agreement = Agreement::of(&changes().unwrap(), &from, &to);
        assert_eq!(
            (agreement.published, agreement.contradictions.len()),
            (28, 0)
        );
        let sentence = agreement.sentence().unwrap();
        assert_eq!(
            sentence,
            "all of 28 published improvements follow from the printed figures"
        );
        assert_eq!(
            Agreement::of(&changes().unwrap(), &to, &from).sentence(),
            None
        );
    }

    #[test]
    fn contradictory_published_change_is_named() {
        let [from, mut to] = zircon();
        let mut changes = changes().unwrap();
        changes[1].improvement_percent = "17.81".to_owned();
        to.retain(|figure| figure.benchmark != "Event/Close");
        let agreement = Agreement::of(&changes, &from, &to);
        assert_eq!(agreement.published, 28);
        assert_eq!(
            agreement.contradictions,
            [
                "Channel/Write/64: published 17.81, but 728 to 618 gives 17.80, and rounding allows \
                 17.62 to 17.98",
                "Event/Close: zircon/2018-01-02 has no time for it"
            ]
        );
        let sentence = agreement.sentence().unwrap();
        assert!(
            sentence.starts_with("26 of 28 published improvements follow"),
            "{sentence}"
        );
    }

    #[test]
    fn improvement_is_a_change_of_speed() {
        assert_eq!(improvement_text(improvement(200.0, 100.0)), "100.00");
        assert_eq!(improvement_text(improvement(100.0, 200.0)), "-50.00");
    }
}
