// SPDX-License-Identifier: MIT OR Apache-2.0

//! Go's benchmark format (golang.org/design/14313-benchmark-format), which all versions of
//! `go test -bench` print and benchstat reads.
//!
//! A line `BenchmarkNAME ITERATIONS VALUE UNIT [VALUE UNIT]...` is a sample: the mean over its
//! iterations. With `-count` a name has several samples. Rows are named as benchstat does: without
//! `Benchmark`, and with the suffix for `GOMAXPROCS` (`-8`). If two packages of a file share a name, the
//! package precedes it. The figure is `ns/op`, or else `instructions/op`. Any other unit of time (`p99-ns`,
//! `ns/GC`) makes a separate row, `NAME p99-ns`. Other units (`B/op`, `allocs/op`, `MB/s`) are not times.
//!
//! `key: value` lines (`goos`, `goarch`, `pkg`, `cpu`, ...) are facts. If a `pkg` occurs again, another
//! process starts, because concatenated runs look like this. After `replicate: process`, which kernmark
//! exports, each line is a separate process, and names are kernmark's metric ids. `--- FAIL` and
//! `--- SKIP` make rows without a number; `FAIL` alone means that a run aborted. `Unit` lines are
//! ignored. Lines may be indented, as in a README. `go test` prints `goos` and `pkg`, and ends each package
//! with `PASS` or `FAIL`; without either the package is incomplete.
//!
//! `go test -json` prints one event per line. The concatenated `Output` of a package's events is the same
//! text. An event without a `Test` and with the `Action` `pass`, `fail` or `skip` ends the package.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::json::{lines, Object};
use super::text::{number, Unread};
use super::{
    instruction_clock, not_a_time, picosecond_clock, samples, Document, Figure, Format, Lines,
    Reader, Row, Source, NANOSECOND, SECOND,
};
use crate::stream::record;
use crate::stream::run::{Clock, Fact, Unit};

/// Go's text.
pub const FORMAT: Format = Format {
    name: "go",
    about: "go test -bench, also with -json, and other input of benchstat",
    recognised_by:
        "lines like `BenchmarkName-8  1000  123 ns/op`, or JSON lines with `Action` and `Package`",
    lines: Some(Lines {
        start_marks: &[
            "goos: ",
            "goarch: ",
            "pkg: ",
            "Benchmark",
            "replicate: process",
        ],
        reader: || Box::<Log>::default(),
    }),
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let first = lines(document).first();
    first.is_some_and(|event| {
        event["Action"].is_string()
            && (event["Package"].is_string() || event["ImportPath"].is_string())
    })
}

/// The events of a package.
#[derive(Default)]
struct Package {
    name: String,
    output: String,
    is_complete: bool,
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let mut packages: Vec<Package> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for event in Object::lines(document) {
        let action = event.text("Action")?;
        // Build events have no package.
        let Ok(name) = event.text("Package") else {
            continue;
        };
        let place = *places.entry(name).or_insert_with(|| {
            packages.push(Package {
                name: name.to_owned(),
                ..Package::default()
            });
            packages.len() - 1
        });
        let package = &mut packages[place];
        match action {
            "output" => package.output.push_str(event.text("Output")?),
            "start" => package.is_complete = false,
            "pass" | "fail" | "skip" if event.get("Test").is_none() => package.is_complete = true,
            _ => {}
        }
    }
    let mut log = Box::<Log>::default();
    for line in packages.iter().flat_map(|package| package.output.lines()) {
        log.line(line);
    }
    let mut sources = log.finish();
    if let Some(package) = packages.iter().find(|package| !package.is_complete) {
        for source in &mut sources {
            let why = || format!("the end of package {} is missing", package.name);
            source.incomplete.get_or_insert_with(why);
        }
    }
    Ok(sources)
}

/// The value of the key `replicate` if each line is a separate process.
const PROCESS: &str = "process";

#[derive(Default)]
struct Log {
    facts: Vec<Fact>,
    package: String,
    /// How often each package started.
    starts: HashMap<String, usize>,
    /// Each line is a separate process.
    has_process_per_line: bool,
    results: Vec<Benchmark>,
    /// The index in `results` of each name, for each package.
    places: HashMap<String, HashMap<String, usize>>,
    /// Processes that reported a failure.
    failed: HashSet<usize>,
    /// Processes without `PASS` or `FAIL` at their end.
    unfinished: HashSet<usize>,
    is_ended: bool,
    unread: Unread,
    /// The last indented line, which a benchmark printed.
    remark: String,
    /// Whether the next remark is the reason for the result before it.
    awaits_reason: bool,
}

/// The results of one name of one package.
struct Benchmark {
    package: String,
    name: String,
    /// Samples and their processes.
    samples: Vec<(usize, f64)>,
    unit: Unit,
    /// Why it has no number.
    unmeasured: Option<Figure>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let is_indented = text.len() < line.len();
        if text.starts_with("Benchmark") {
            if self.benchmark(text).is_some() {
                return;
            }
            if is_result(text, 2) {
                return self.unread.add(line);
            }
            if !is_indented {
                return;
            }
        } else if is_result(line, 3) {
            // The name is missing, or an unknown prefix precedes it.
            return self.unread.add(line);
        }
        if let Some(rest) = text.strip_prefix("--- ") {
            self.verdict(rest);
        } else if text == "PASS" || text.starts_with("ok  \t") {
            self.is_ended = true;
        } else if is_indented && !is_setting_of_go(text) {
            self.remark(text.trim_end());
        } else if text == "FAIL" || text.starts_with("FAIL\t") {
            self.failed.insert(self.process());
            self.is_ended = true;
        } else if let Some((key, value)) = text.split_once(':') {
            self.configure(key, value);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_process();
        if self.facts.iter().all(|fact| fact.name != "goos") {
            // Files of collected results usually have no end marks.
            self.unfinished.clear();
        }
        let mut packages: HashMap<String, usize> = HashMap::new();
        for name in self.places.into_values().flat_map(HashMap::into_keys) {
            *packages.entry(name).or_insert(0) += 1;
        }
        // A source has one clock. It counts instructions only if no result is a time.
        let has = |unit: Unit| {
            let is_in = |result: &Benchmark| !result.samples.is_empty() && result.unit == unit;
            self.results.iter().any(is_in)
        };
        let clock = if has(Unit::Instructions) && !has(Unit::Cycles) {
            instruction_clock()
        } else {
            picosecond_clock()
        };
        let mut facts = self.facts;
        if let (Some(package), 1) = (self.starts.keys().next(), self.starts.len()) {
            facts.push(Fact::new("pkg", package));
        }
        let mut sources: Vec<Source> = Vec::new();
        for mut result in self.results {
            let name = match packages.get(&result.name) {
                Some(2..) => &format!("{}.{}", result.package, result.name),
                _ => &result.name.clone(),
            };
            for (process, figure) in result.figures(&clock) {
                while sources.len() <= process {
                    let at = sources.len();
                    let incomplete = if self.failed.contains(&at) {
                        Some("it reports FAIL".to_owned())
                    } else if self.unfinished.contains(&at) {
                        Some("the end, `PASS` or `FAIL`, is missing".to_owned())
                    } else {
                        None
                    };
                    sources.push(Source {
                        facts: facts.clone(),
                        clock: clock.clone(),
                        rows: Vec::new(),
                        incomplete,
                    });
                }
                sources[process].rows.push(Row::new(name, figure));
            }
        }
        self.unread.report_in(&mut sources);
        sources
    }
}

impl Log {
    /// The number of the current process: how often its package started before.
    fn process(&self) -> usize {
        let starts = self.starts.get(&self.package).copied().unwrap_or(0);
        starts.saturating_sub(1)
    }

    /// Ends the current process and notes whether it had an end mark.
    fn end_process(&mut self) {
        if !self.is_ended && !self.package.is_empty() {
            self.unfinished.insert(self.process());
        }
        self.is_ended = false;
    }

    /// Takes a result line; `None` if it is not one.
    fn benchmark(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().and_then(|name| name.strip_prefix("Benchmark"));
        let iterations = words.next().and_then(|word| word.parse::<u64>().ok());
        let name = name.filter(|name| is_name(name))?;
        iterations?;
        let name = self.name(name);
        let mut has_time = false;
        let mut other_unit = None;
        while let (Some(value), Some(unit)) = (words.next(), words.next()) {
            let Some((factor, kind)) = ticks(unit) else {
                other_unit = other_unit.or(Some(unit));
                continue;
            };
            let name = match unit {
                "ns/op" | "sec/op" | "instructions/op" => Cow::Borrowed(name.as_ref()),
                _ => Cow::Owned(format!("{name} {unit}")),
            };
            has_time = true;
            let process = (!self.has_process_per_line).then(|| self.process());
            let result = self.result(&name);
            if let Ok(value) = value.parse::<f64>() {
                let process = process.unwrap_or(result.samples.len());
                result.samples.push((process, value * factor));
                result.unit = kind;
            } else {
                let why = format!("`{value}` is not a number");
                result.unmeasured = Some(Figure::Failed(why));
            }
        }
        if let (false, Some(unit)) = (has_time, other_unit) {
            self.result(&name).unmeasured = Some(not_a_time(unit));
        }
        Some(())
    }

    fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match name.strip_prefix("Kernmark/") {
            Some(id) if self.has_process_per_line => record::decode(id).into(),
            // Go allows a function that is called just that.
            None if name.is_empty() => "Benchmark".into(),
            _ => name.into(),
        }
    }

    fn result(&mut self, name: &str) -> &mut Benchmark {
        self.awaits_reason = false;
        let names = self.places.get(&self.package);
        let known = names.and_then(|names| names.get(name)).copied();
        let place = known.unwrap_or_else(|| {
            self.results.push(Benchmark {
                package: self.package.clone(),
                name: name.to_owned(),
                samples: Vec::new(),
                unit: Unit::Cycles,
                unmeasured: None,
            });
            let names = self.places.entry(self.package.clone()).or_default();
            names.insert(name.to_owned(), self.results.len() - 1);
            self.results.len() - 1
        });
        &mut self.results[place]
    }

    /// Takes `FAIL: BenchmarkName` or `SKIP: BenchmarkName`. The reason is in the line before it with
    /// `-v`, otherwise in the line after it.
    fn verdict(&mut self, line: &str) {
        let Some((verdict, rest)) = line.split_once(": Benchmark") else {
            return;
        };
        let name = rest.split_ascii_whitespace().next().unwrap_or("");
        let unmeasured = match verdict {
            "FAIL" => Figure::Failed,
            "SKIP" => Figure::Skipped,
            _ => return,
        };
        let remark = std::mem::take(&mut self.remark);
        let has_remark = !remark.is_empty();
        let name = self.name(name);
        self.result(&name).unmeasured = Some(unmeasured(remark));
        self.awaits_reason = !has_remark;
    }

    fn remark(&mut self, text: &str) {
        // `file_test.go:7: text`
        let text = text.splitn(3, ':').nth(2).map_or(text, str::trim);
        match self.results.last_mut().map(|result| &mut result.unmeasured) {
            Some(Some(Figure::Failed(why) | Figure::Skipped(why))) if self.awaits_reason => {
                text.clone_into(why);
                self.awaits_reason = false;
            }
            _ => text.clone_into(&mut self.remark),
        }
    }

    fn configure(&mut self, key: &str, value: &str) {
        let is_key = key.starts_with(char::is_lowercase)
            && !key.contains(|c: char| c.is_whitespace() || c.is_uppercase());
        let value = match value.trim() {
            trimmed if value.starts_with([' ', '\t']) || trimmed.is_empty() => trimmed,
            _ => return,
        };
        if !is_key {
            return;
        }
        match key {
            "pkg" => {
                self.end_process();
                *self.starts.entry(value.to_owned()).or_insert(0) += 1;
                value.clone_into(&mut self.package);
            }
            "replicate" => self.has_process_per_line = value == PROCESS,
            _ => match self.facts.iter_mut().find(|fact| fact.name == key) {
                Some(fact) => value.clone_into(&mut fact.value),
                None => self.facts.push(Fact::new(key, value)),
            },
        }
    }
}

impl Benchmark {
    /// The figure of each process.
    fn figures(&mut self, clock: &Clock) -> Vec<(usize, Figure)> {
        if let Some(unmeasured) = &self.unmeasured {
            return vec![(0, unmeasured.clone())];
        }
        if self.unit != clock.unit {
            let why = "in instructions, while other results are times".to_owned();
            return vec![(0, Figure::Skipped(why))];
        }
        self.samples.sort_by_key(|(process, _)| *process);
        let processes = self
            .samples
            .chunk_by(|(process, _), (next, _)| process == next);
        let figure = |process: &[(usize, f64)]| {
            let ticks: Vec<f64> = process.iter().map(|(_, ticks)| *ticks).collect();
            (process[0].0, samples(&ticks))
        };
        processes.map(figure).collect()
    }
}

/// Whether an indented line is a setting that `go test` prints, rather than a remark.
fn is_setting_of_go(text: &str) -> bool {
    let key = text.split_once(": ").map(|(key, _)| key);
    key.is_some_and(|key| matches!(key, "goos" | "goarch" | "pkg" | "cpu"))
}

/// Whether a line contains `2000 87.85 ns/op`: an integer, a number and the unit. With 2 `words` the
/// integer may be missing.
fn is_result(line: &str, words: usize) -> bool {
    if !line.contains("ns/op") || line.starts_with("Benchmark") && !is_name(&line[9..]) {
        return false;
    }
    let all: Vec<&str> = line.split_ascii_whitespace().collect();
    all.windows(3).any(|three| {
        three[2] == "ns/op"
            && number(three[1]).is_ok()
            && (words < 3 || three[0].parse::<u64>().is_ok())
    })
}

/// Whether Go allows this after `Benchmark`: the name must not continue with a lower-case letter.
fn is_name(name: &str) -> bool {
    !name.starts_with(char::is_lowercase)
}

/// Ticks in a unit of time or of instructions (`ns/op`, `p99-ns`, `ns/GC`); `None` for any other unit.
fn ticks(unit: &str) -> Option<(f64, Unit)> {
    if unit == "instructions/op" {
        return Some((1.0, Unit::Instructions));
    }
    let numerator = unit.split('/').next()?;
    match numerator.rsplit('-').next()? {
        "ns" => Some((NANOSECOND, Unit::Cycles)),
        "sec" => Some((SECOND, Unit::Cycles)),
        _ => None,
    }
}
