// SPDX-License-Identifier: MIT OR Apache-2.0

//! Go's benchmark format (golang.org/design/14313-benchmark-format), as `go test -bench` of all
//! versions prints it and benchstat reads it.
//!
//! A line `BenchmarkNAME ITERATIONS VALUE UNIT [VALUE UNIT]...` is a sample, the mean of so many
//! iterations; a name that is there again (`-count`) has several. Names are those that benchstat
//! shows: without `Benchmark`, with the `-8` that says `GOMAXPROCS`; and with the package before it
//! where two packages of a file have the same name. The figure is `ns/op`; where there is none,
//! `instructions/op`. A further unit of time (`p99-ns`, `ns/GC`) makes a row of its own, `NAME p99-ns`.
//! Other units (`B/op`, `allocs/op`, `MB/s`) are no times.
//!
//! `key: value` lines (`goos`, `goarch`, `pkg`, `cpu`, ...) are facts. A `pkg` that comes again is another
//! process, as where several runs were put into one file. With `replicate: process` each line is a
//! process of its own; so says kernmark's own export, and its names are then read back as they were.
//! `--- FAIL` and `--- SKIP` make rows without figures; `FAIL` alone says that a run broke off. `Unit`
//! lines are passed over. Lines may be indented, as in a README. What `go test` printed (it has
//! `goos` and `pkg`) ends each package with `PASS` or `FAIL`; without either the package is cut off.
//!
//! `go test -json` prints an event a line. The `Output` of those of a package, put together, is the
//! same text; an event without a `Test` whose `Action` is `pass`, `fail` or `skip` ends the package.

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
    about: "go test -bench, its -json too, and what else benchstat reads",
    mark:
        "lines like `BenchmarkName-8  1000  123 ns/op`, or JSON lines with `Action` and `Package`",
    lines: Some(Lines {
        signs: &[
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

/// What the events of a package say.
#[derive(Default)]
struct Told {
    package: String,
    output: String,
    is_over: bool,
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let mut packages: Vec<Told> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for event in Object::lines(document) {
        let action = event.text("Action")?;
        // Events of the build have none.
        let Ok(name) = event.text("Package") else {
            continue;
        };
        let place = *places.entry(name).or_insert_with(|| {
            packages.push(Told {
                package: name.to_owned(),
                ..Told::default()
            });
            packages.len() - 1
        });
        let told = &mut packages[place];
        match action {
            "output" => told.output.push_str(event.text("Output")?),
            "start" => told.is_over = false,
            "pass" | "fail" | "skip" if event.get("Test").is_none() => told.is_over = true,
            _ => {}
        }
    }
    let mut log = Box::<Log>::default();
    for line in packages.iter().flat_map(|told| told.output.lines()) {
        log.line(line);
    }
    let mut sources = log.finish();
    if let Some(told) = packages.iter().find(|told| !told.is_over) {
        for source in &mut sources {
            let cut = || format!("the end of package {} is missing", told.package);
            source.cut.get_or_insert_with(cut);
        }
    }
    Ok(sources)
}

/// What the key `replicate` says where each line is of a process of its own.
const PROCESS: &str = "process";

#[derive(Default)]
struct Log {
    facts: Vec<Fact>,
    package: String,
    /// How often each package began.
    began: HashMap<String, usize>,
    is_process_a_line: bool,
    results: Vec<Measured>,
    /// Where in the results the names of each package are.
    places: HashMap<String, HashMap<String, usize>>,
    /// Which processes said that they failed.
    failed: HashSet<usize>,
    /// Which processes did not say how they ended.
    unended: HashSet<usize>,
    is_ended: bool,
    unread: Unread,
    /// The last indented line: what a benchmark says of itself.
    remark: String,
    /// Whether the next remark is of the result before it.
    explains: bool,
}

/// What was said of one name of one package.
struct Measured {
    package: String,
    name: String,
    /// Samples, with the process that each is of.
    samples: Vec<(usize, f64)>,
    unit: Unit,
    without: Option<Figure>,
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
                return self.unread.line(line);
            }
            if !is_indented {
                return;
            }
        } else if is_result(line, 3) {
            // Its name was lost, or something stands before it.
            return self.unread.line(line);
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
            // Who puts results together leaves the ends out.
            self.unended.clear();
        }
        let mut packages: HashMap<String, usize> = HashMap::new();
        for name in self.places.into_values().flat_map(HashMap::into_keys) {
            *packages.entry(name).or_insert(0) += 1;
        }
        // One clock for all: it counts instructions only where nothing is a time.
        let has = |unit: Unit| {
            let of_unit = |result: &Measured| !result.samples.is_empty() && result.unit == unit;
            self.results.iter().any(of_unit)
        };
        let clock = if has(Unit::Instructions) && !has(Unit::Cycles) {
            instruction_clock()
        } else {
            picosecond_clock()
        };
        let mut facts = self.facts;
        if let (Some(package), 1) = (self.began.keys().next(), self.began.len()) {
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
                    let cut = if self.failed.contains(&at) {
                        Some("it says FAIL".to_owned())
                    } else if self.unended.contains(&at) {
                        Some("its end, `PASS` or `FAIL`, is missing".to_owned())
                    } else {
                        None
                    };
                    sources.push(Source {
                        facts: facts.clone(),
                        clock: clock.clone(),
                        rows: Vec::new(),
                        cut,
                    });
                }
                sources[process].rows.push(Row::new(name, figure));
            }
        }
        self.unread.tell(&mut sources);
        sources
    }
}

impl Log {
    /// The process that is at work: how often its package began before.
    fn process(&self) -> usize {
        let began = self.began.get(&self.package).copied().unwrap_or(0);
        began.saturating_sub(1)
    }

    /// Notes whether the process that is at work said how it ended.
    fn end_process(&mut self) {
        if !self.is_ended && !self.package.is_empty() {
            self.unended.insert(self.process());
        }
        self.is_ended = false;
    }

    /// Takes a line of results; `None` if it is none.
    fn benchmark(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().and_then(|name| name.strip_prefix("Benchmark"));
        let iterations = words.next().and_then(|word| word.parse::<u64>().ok());
        let name = name.filter(|name| is_name(name))?;
        iterations?;
        let name = self.name(name);
        let mut has_time = false;
        let mut any = None;
        while let (Some(value), Some(unit)) = (words.next(), words.next()) {
            let Some((factor, kind)) = ticks(unit) else {
                any = any.or(Some(unit));
                continue;
            };
            let name = match unit {
                "ns/op" | "sec/op" | "instructions/op" => Cow::Borrowed(name.as_ref()),
                _ => Cow::Owned(format!("{name} {unit}")),
            };
            has_time = true;
            let process = (!self.is_process_a_line).then(|| self.process());
            let result = self.result(&name);
            if let Ok(value) = value.parse::<f64>() {
                let process = process.unwrap_or(result.samples.len());
                result.samples.push((process, value * factor));
                result.unit = kind;
            } else {
                let why = format!("`{value}` is no number");
                result.without = Some(Figure::Failed(why));
            }
        }
        if let (false, Some(unit)) = (has_time, any) {
            self.result(&name).without = Some(not_a_time(unit));
        }
        Some(())
    }

    fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match name.strip_prefix("Kernmark/") {
            Some(id) if self.is_process_a_line => record::decode(id).into(),
            _ => name.into(),
        }
    }

    fn result(&mut self, name: &str) -> &mut Measured {
        self.explains = false;
        let names = self.places.get(&self.package);
        let known = names.and_then(|names| names.get(name)).copied();
        let place = known.unwrap_or_else(|| {
            self.results.push(Measured {
                package: self.package.clone(),
                name: name.to_owned(),
                samples: Vec::new(),
                unit: Unit::Cycles,
                without: None,
            });
            let names = self.places.entry(self.package.clone()).or_default();
            names.insert(name.to_owned(), self.results.len() - 1);
            self.results.len() - 1
        });
        &mut self.results[place]
    }

    /// `FAIL: BenchmarkName` or `SKIP: BenchmarkName`. Why stands in the line before it with `-v`, and
    /// in the line behind it without.
    fn verdict(&mut self, line: &str) {
        let Some((verdict, rest)) = line.split_once(": Benchmark") else {
            return;
        };
        let name = rest.split_ascii_whitespace().next().unwrap_or("");
        let without = match verdict {
            "FAIL" => Figure::Failed,
            "SKIP" => Figure::Skipped,
            _ => return,
        };
        let remark = std::mem::take(&mut self.remark);
        let has_remark = !remark.is_empty();
        let name = self.name(name);
        self.result(&name).without = Some(without(remark));
        self.explains = !has_remark;
    }

    fn remark(&mut self, text: &str) {
        // `file_test.go:7: text`
        let text = text.splitn(3, ':').nth(2).map_or(text, str::trim);
        match self.results.last_mut().map(|result| &mut result.without) {
            Some(Some(Figure::Failed(why) | Figure::Skipped(why))) if self.explains => {
                text.clone_into(why);
                self.explains = false;
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
                *self.began.entry(value.to_owned()).or_insert(0) += 1;
                value.clone_into(&mut self.package);
            }
            "replicate" => self.is_process_a_line = value == PROCESS,
            _ => match self.facts.iter_mut().find(|fact| fact.name == key) {
                Some(fact) => value.clone_into(&mut fact.value),
                None => self.facts.push(Fact::new(key, value)),
            },
        }
    }
}

impl Measured {
    /// What each process measured.
    fn figures(&mut self, clock: &Clock) -> Vec<(usize, Figure)> {
        if let Some(without) = &self.without {
            return vec![(0, without.clone())];
        }
        if self.unit != clock.unit {
            let why = "instructions, beside times".to_owned();
            return vec![(0, Figure::Skipped(why))];
        }
        self.samples.sort_by_key(|(process, _)| *process);
        let of_process = self.samples.chunk_by(|(one, _), (next, _)| one == next);
        let figure = |process: &[(usize, f64)]| {
            let ticks: Vec<f64> = process.iter().map(|(_, ticks)| *ticks).collect();
            (process[0].0, samples(&ticks))
        };
        of_process.map(figure).collect()
    }
}

/// Whether `go test` itself prints a setting of this name: an indented line may be a remark.
fn is_setting_of_go(text: &str) -> bool {
    let key = text.split_once(": ").map(|(key, _)| key);
    key.is_some_and(|key| matches!(key, "goos" | "goarch" | "pkg" | "cpu"))
}

/// Whether some words of a line are `2000 87.85 ns/op`: an integer, a number and the unit, or of
/// these the last so many.
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

/// Go wants a name that does not go on with a lower-case letter.
fn is_name(name: &str) -> bool {
    !name.starts_with(char::is_lowercase)
}

/// Ticks in one of a unit, if it is one of time or of instructions: `ns/op`, `p99-ns`, `ns/GC`.
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
