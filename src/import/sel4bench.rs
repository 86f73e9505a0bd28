// SPDX-License-Identifier: MIT OR Apache-2.0

//! sel4bench: the JSON that it prints since 2016, as a file or between `JSON OUTPUT` and
//! `END JSON OUTPUT` in a console log.
//!
//! The JSON is an array of sets, each with `Benchmark`, `Results` and, since 2024, `Iteration`. An
//! iteration is one run of the benchmark's process, so it becomes a source. A result has `Raw results`
//! (cycles, since 2017 if the build has `OutputRawResults`), or else `Min`, `Max`, `Mean`, `Median`,
//! `Stddev` and `Samples`. With early processing `Min`, `Max` and `Median` are unknown and printed as 0.
//! `Variance`, `Mode` and the quantiles are not read. All other fields distinguish results and become part
//! of the name: first the values of `Function`, `Direction`, `Type`, `Event` and other text, then numbers
//! and booleans with their field names.
//!
//! The history of results that the seL4 project publishes has a line of JSON for each run of the suite:
//! `ts` (the time), `sha`, `sha_kernel` and `sha_bench` (revisions), `run_id`, and for each metric
//! `[min, 1st quartile, median, mean, 3rd quartile, max, deviation, samples]`. Each line becomes a source,
//! and rows have the names of the metrics. The quartiles are not kept.
//!
//! Cycles are those of the CPU's counter, whose frequency is not printed. An `Event` other than
//! `Cycle counter` is a count, and `SMP Benchmark` a throughput. The tables of versions before 2016 are
//! not read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{lines, scalar, Object};
use super::{counter_clock, samples, Document, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::{Fact, Stat};

/// sel4bench's JSON.
pub const FORMAT: Format = Format {
    name: "sel4bench",
    about: "sel4bench, its JSON or its log, and the published history",
    recognised_by:
        "`JSON OUTPUT`, a JSON array of objects with `Benchmark` and `Results`, or JSON lines with \
           `sha_kernel` and `sha_bench`",
    lines: Some(Lines {
        start_marks: &[BEGIN],
        reader: || Box::<Log>::default(),
    }),
    document: Some(Document { fits, read }),
};

const BEGIN: &str = "JSON OUTPUT";
const END: &str = "END JSON OUTPUT";

/// Fields whose values come first in a name, in this order.
const FIRST_IN_NAME: [&str; 4] = ["Function", "Direction", "Type", "Event"];

/// Fields with figures, which are not part of a name.
const FIGURES: [&str; 11] = [
    "Min",
    "Max",
    "Mean",
    "Stddev",
    "Variance",
    "Mode",
    "Median",
    "1st quantile",
    "3rd quantile",
    "Samples",
    "Raw results",
];

fn fits(document: &Value) -> bool {
    let first = &document[0];
    first["Benchmark"].is_string() && first["Results"].is_array() || is_history(document)
}

/// Whether a document is a history, with a line for each run of the suite.
fn is_history(document: &Value) -> bool {
    let first = lines(document).first();
    first.is_some_and(|run| run["sha_kernel"].is_string() && run["sha_bench"].is_string())
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    if is_history(document) {
        return Object::lines(document).iter().map(run).collect();
    }
    let mut boot = Boot::default();
    for set in Object::elements(document)? {
        boot.add(&set)?;
    }
    Ok(boot.sources(None))
}

/// The results of one boot: the rows of each iteration.
#[derive(Default)]
struct Boot {
    iterations: BTreeMap<u64, Vec<Row>>,
}

impl Boot {
    fn add(&mut self, set: &Object) -> Result<(), String> {
        let benchmark = set.text("Benchmark")?;
        let iteration = set.optional_number("Iteration")?.unwrap_or(0.0) as u64;
        let results = set.objects("Results")?;
        let rows = results.iter().map(|result| row(benchmark, result));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        self.iterations.entry(iteration).or_default().extend(rows);
        Ok(())
    }

    fn sources(self, incomplete: Option<&str>) -> Vec<Source> {
        let rows = self.iterations.into_values();
        let rows = rows.filter(|rows| !rows.is_empty());
        let source = |rows| Source {
            incomplete: incomplete.map(str::to_owned),
            ..source("seL4", rows)
        };
        rows.map(source).collect()
    }
}

fn source(kernel: &str, rows: Vec<Row>) -> Source {
    Source {
        facts: vec![Fact::new("tool", "sel4bench"), Fact::new("kernel", kernel)],
        clock: counter_clock(),
        rows,
        incomplete: None,
    }
}

/// A line of the history.
fn run(line: &Object) -> Result<Source, String> {
    let metrics = line.pairs().filter(|(_, value)| value.is_array());
    let row = |(name, _)| {
        let figures = line.numbers(name)?;
        let [min, _, median, mean, _, max, deviation, samples] = figures[..] else {
            return Err(line.error_in(name, "not an array of eight numbers"));
        };
        let stat = Stat {
            samples: samples as u64,
            mean: Some(mean),
            median: Some(median),
            min: Some(min),
            max: Some(max),
            deviation: Some(deviation),
        };
        Ok(Row::new(name, Figure::Summary(without_blanks(stat))))
    };
    let rows = metrics.map(row).collect::<Result<_, String>>()?;
    let mut source = source(&format!("seL4 {}", line.text("sha_kernel")?), rows);
    let facts = line.facts(&[("date", "ts"), ("suite", "sha_bench")]);
    source.facts.extend(facts);
    Ok(source)
}

/// Removes the figures that are unknown with early processing and printed as 0.
fn without_blanks(stat: Stat) -> Stat {
    let is_zero = |figure: Option<f64>| figure == Some(0.0);
    if is_zero(stat.min) && is_zero(stat.max) && is_zero(stat.median) && !is_zero(stat.mean) {
        return Stat {
            min: None,
            max: None,
            median: None,
            ..stat
        };
    }
    stat
}

fn row(benchmark: &str, result: &Object) -> Result<Row, String> {
    let mut name = benchmark.to_owned();
    let mut add = |part: &str| {
        name.push('/');
        name.push_str(part);
    };
    let text = |field: &str| result.get(field).and_then(Value::as_str);
    FIRST_IN_NAME
        .iter()
        .filter_map(|field| text(field))
        .for_each(&mut add);
    for (field, value) in result.pairs() {
        let is_in_name = FIRST_IN_NAME.contains(&field) && value.is_string();
        if is_in_name || FIGURES.contains(&field) {
            continue;
        }
        match (value.as_str(), scalar(value)) {
            (Some(text), _) => add(text),
            (None, Some(value)) => add(&format!("{field} {value}")),
            (None, None) => {}
        }
    }
    Ok(Row::new(&name, figure(benchmark, result)?))
}

fn figure(benchmark: &str, result: &Object) -> Result<Figure, String> {
    if benchmark == "SMP Benchmark" {
        let why = "a number of messages in a fixed time, not the time of one";
        return Ok(Figure::Skipped(why.to_owned()));
    }
    if let Ok(event) = result.text("Event") {
        if event != "Cycle counter" {
            return Ok(Figure::Skipped("a count of events, not a time".to_owned()));
        }
    }
    if result.get("Raw results").is_some() {
        let cycles = result.numbers("Raw results")?;
        if !cycles.is_empty() {
            return Ok(samples(&cycles));
        }
    }
    let real = |name: &str| match result.get(name).and_then(Value::as_str) {
        Some("nan" | "inf") => Ok(None),
        _ => result.optional_number(name),
    };
    let stat = without_blanks(Stat {
        samples: result.optional_number("Samples")?.map_or(1, |n| n as u64),
        mean: real("Mean")?,
        median: real("Median")?,
        min: real("Min")?,
        max: real("Max")?,
        deviation: real("Stddev")?,
    });
    if stat.mean.is_none() && stat.median.is_none() {
        let mean = result.get("Mean").and_then(scalar);
        let mean = mean.unwrap_or_else(|| "missing".to_owned());
        return Ok(Figure::Failed(format!("the mean is {mean}")));
    }
    Ok(Figure::Summary(stat))
}

/// Most bytes of the JSON of one set.
const MAX_SET_BYTES: usize = 16 << 20;

/// Reads each set in a log as soon as it is complete, so a truncated log loses only its last set.
#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    boot: Boot,
    state: State,
    /// The JSON of the current set, so far.
    set: Vec<u8>,
    /// The number of open brackets in it.
    depth: usize,
    quote: Quote,
    damage: Option<&'static str>,
}

/// The position of the reader within a log.
#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Outside,
    /// After `JSON OUTPUT`, before the bracket that opens the array.
    Begun,
    /// Within the array.
    Inside,
}

/// Whether a byte of JSON is within a string.
#[derive(Clone, Copy, Default, PartialEq)]
enum Quote {
    #[default]
    Outside,
    Inside,
    Escaped,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        // END contains BEGIN, so this line has neither mark.
        if !line.contains(BEGIN) {
            self.json(line.as_bytes());
            return;
        }
        let (json, is_end) = match line.find(END) {
            Some(at) => (&line[..at], true),
            None => (line, false),
        };
        let json = match json.rsplit_once(BEGIN) {
            Some((_, json)) => {
                self.end(Some(
                    "END JSON OUTPUT is missing before the next JSON OUTPUT",
                ));
                self.state = State::Begun;
                json
            }
            None => json,
        };
        self.json(json.as_bytes());
        if is_end {
            self.end(None);
        }
    }

    /// Brackets show whether the JSON is complete.
    fn accepts_unterminated(&self, _line: &str) -> bool {
        true
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end(Some("END JSON OUTPUT is missing"));
        self.sources
    }
}

impl Log {
    /// Ends the current boot; `incomplete` is the reason if its end is missing.
    fn end(&mut self, incomplete: Option<&str>) {
        if self.state != State::Outside {
            let boot = std::mem::take(&mut self.boot);
            self.sources
                .extend(boot.sources(self.damage.or(incomplete)));
        }
        self.state = State::Outside;
        self.drop_set();
        self.damage = None;
    }

    fn drop_set(&mut self) {
        self.set.clear();
        self.depth = 0;
        self.quote = Quote::Outside;
    }

    fn json(&mut self, mut json: &[u8]) {
        if self.state == State::Begun {
            if let Some(at) = json.iter().position(|byte| *byte == b'[') {
                self.state = State::Inside;
                json = &json[at + 1..];
            }
        }
        if self.state != State::Inside {
            return;
        }
        let mut start = 0;
        for (at, byte) in json.iter().enumerate() {
            if self.depth == 0 {
                if *byte == b']' && json[at + 1..].trim_ascii().is_empty() {
                    self.end(None);
                    return;
                }
                // A comma, white space, or console output in between.
                if *byte != b'{' {
                    continue;
                }
                start = at;
            }
            self.quote = match (self.quote, byte) {
                (Quote::Outside, b'"') | (Quote::Escaped, _) => Quote::Inside,
                (Quote::Inside, b'"') => Quote::Outside,
                (Quote::Inside, b'\\') => Quote::Escaped,
                (quote, _) => quote,
            };
            if self.quote != Quote::Outside {
                continue;
            }
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                self.set.extend_from_slice(&json[start..=at]);
                self.complete();
            }
        }
        if self.depth > 0 {
            self.set.extend_from_slice(&json[start..]);
            self.set.push(b'\n');
        }
        if self.set.len() > MAX_SET_BYTES {
            self.damage = Some("a set of results is larger than 16 MiB");
            self.drop_set();
        }
    }

    /// Parses the set, which is now complete.
    fn complete(&mut self) {
        let set = serde_json::from_slice::<Value>(&self.set).map_err(|_| ());
        let added = set.and_then(|set| self.boot.add(&Object::document(&set)).map_err(|_| ()));
        if added.is_err() {
            self.damage = Some("a set of results is damaged");
        }
        self.drop_set();
    }
}
