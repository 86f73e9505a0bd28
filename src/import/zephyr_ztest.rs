// SPDX-License-Identifier: MIT OR Apache-2.0

//! Benchmarks of Zephyr's test framework (`ZTEST_BENCHMARK`, 4.4 and later): their console output as CSV
//! (`CONFIG_ZTEST_BENCHMARK_OUTPUT_CSV`) and as text.
//!
//! ```text
//! S,suite,benchmark,samples,total,mean,deviation,error,min,at,max,at       sampled
//! M,suite,benchmark, as above                                              sampled manually
//! P,suite,benchmark,samples,min,p50,p90,p99,p99.9,p99.99,max               percentiles
//! T,suite,benchmark,iterations,total,net,operations per second,cycles      timed
//! S,suite,benchmark<TAB>INCONCLUSIVE
//! ```
//!
//! The text has the same figures, one per line. The name of the suite with `#####` and that of the
//! benchmark with `=====` precede them. A row is named `suite.benchmark`.
//!
//! Figures are in cycles. The cost of an empty function is subtracted, so they may be negative. `mean`,
//! `deviation`, `min` and `max` are kept, and `p50` as the median if it covers all samples. For a timed
//! benchmark the mean over its iterations is kept: `net` / `iterations` in CSV, `Cycles/Ops` in text. Its
//! nanoseconds are the inverse of the operations per second in CSV, and net `Work Time` / `Iterations` in
//! text. Not read: other percentiles, the standard error, outliers, and the cold first run (rows `C`). CSV
//! has no header; it starts with the boot banner.

use super::zephyr::{is_end_mark, mark, number, without_label, Boots, BOOT_MARKS};
use super::{Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::Stat;

/// The output of ztest benchmarks.
pub const FORMAT: Format = Format {
    name: "zephyr-ztest",
    about: "benchmarks of Zephyr's ztest, CSV or text",
    recognised_by: "a boot of Zephyr and rows `S,suite,benchmark,...`, or text with `Mean(u):`",
    lines: Some(Lines {
        start_marks: &[
            BOOT_MARKS[0],
            BOOT_MARKS[1],
            BOOT_MARKS[2],
            " ##########",
            " ==========",
        ],
        reader: || Box::new(Log::new()),
    }),
    document: None,
};

struct Log {
    boots: Boots,
    /// The current suite in text output.
    suite: String,
    /// The current benchmark in text output.
    report: Option<Report>,
    /// A benchmark whose percentiles do not cover all samples. The log says so before or within its
    /// report.
    partial: Option<String>,
}

/// The text output of a benchmark.
struct Report {
    name: String,
    progress: Progress,
    stat: Stat,
    /// The 50th percentile, until the next percentile shows that its line was complete.
    p50: Option<f64>,
    has_outliers: bool,
    /// The time of all iterations.
    nanoseconds: Option<f64>,
    failed: Option<String>,
}

/// How much of a report was read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Name,
    Partial,
    /// Everything that a row needs.
    Complete,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        let text = without_label(line);
        if let Some(row) = csv_row(text) {
            self.boots.row(row);
        } else if let Some((name, count, p50)) = csv_percentiles(text) {
            self.percentiles(&name, count, p50);
        } else if let Some((name, mark)) = heading(text) {
            self.close_report();
            if mark == '#' {
                name.clone_into(&mut self.suite);
            } else {
                self.report = Some(Report::new(&self.suite, name));
            }
        } else if text.starts_with("Test inconclusive") {
            if let Some(report) = &mut self.report {
                report.progress = Progress::Complete;
                report.failed = Some(text.to_owned());
            }
        } else if let Some(mark) = mark(line) {
            self.close_report();
            self.suite.clear();
            self.boots.mark(&mark);
        } else if let Some((name, value)) = line.rsplit_once(": ") {
            if value.starts_with("percentiles cover the first") {
                self.partial = last_two_words(name);
            } else if let Some(report) = &mut self.report {
                report.line(name, value.trim());
            }
        }
    }

    fn accepts_unterminated(&self, line: &str) -> bool {
        is_end_mark(line)
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        if let Some(report) = &mut self.report {
            report.end_of_log();
        }
        self.close_report();
        self.boots.finish()
    }
}

impl Log {
    fn new() -> Self {
        Log {
            boots: Boots::new(FORMAT.name),
            suite: String::new(),
            report: None,
            partial: None,
        }
    }

    fn close_report(&mut self) {
        let Some(mut report) = self.report.take() else {
            return;
        };
        if self.partial.as_ref() == Some(&report.name) {
            report.stat.median = None;
            self.partial = None;
        }
        if let Some(row) = report.row() {
            self.boots.row(row);
        }
    }

    fn percentiles(&mut self, name: &str, count: u64, p50: f64) {
        if let Some(row) = self.boots.last_row() {
            if let Figure::Summary(stat) = &mut row.figure {
                if row.name == name && stat.samples == count {
                    stat.median = Some(p50);
                }
            }
        }
    }
}

impl Report {
    fn new(suite: &str, name: &str) -> Self {
        Report {
            name: full_name(suite, name),
            progress: Progress::Name,
            stat: Stat::blank(1),
            p50: None,
            has_outliers: false,
            nanoseconds: None,
            failed: None,
        }
    }

    /// Takes a line `name: value`. A console prefix may precede the name.
    fn line(&mut self, name: &str, value: &str) {
        let first = value.split_ascii_whitespace().next().unwrap_or_default();
        let mut progress = Progress::Partial;
        if let Some((_, samples)) = name.rsplit_once("Sample size:") {
            self.samples(samples.split(',').next().unwrap_or_default());
        } else if name.ends_with("Mean(u)") {
            self.stat.mean = self.number(first);
        } else if name.ends_with("Standard deviation(s)") {
            self.stat.deviation = self.number(first);
        } else if name.ends_with("Outliers") {
            self.has_outliers = true;
        } else if name.ends_with("Min") {
            self.stat.min = self.number(first);
        } else if name.ends_with("Max") {
            self.stat.max = self.number(first);
            progress = Progress::Complete;
        } else if name.ends_with("p50") {
            self.p50 = self.number(first);
        } else if name.ends_with("p90") {
            self.stat.median = self.p50;
        } else if name.ends_with("Iterations") || name.ends_with("Samples") {
            self.samples(first);
        } else if name.ends_with("Work Time") {
            self.nanoseconds = self.number(first);
        } else if name.ends_with("Cycles/Ops") || name.ends_with("Cycles/Op") {
            self.stat.mean = self.number(first);
            progress = Progress::Complete;
        } else {
            return;
        }
        // The last line of a report is complete if it has the `)` after the number of the run, or the
        // third decimal.
        let is_complete = match value.split_once('.') {
            Some((_, decimals)) => decimals.len() >= 3,
            None => value.ends_with(')'),
        };
        if progress == Progress::Complete && !is_complete {
            progress = Progress::Partial;
        }
        self.progress = self.progress.max(progress);
    }

    fn samples(&mut self, text: &str) {
        match text.parse() {
            Ok(samples) => self.stat.samples = samples,
            Err(_) => self.failed = Some(format!("`{text}` is not a number")),
        }
    }

    fn number(&mut self, text: &str) -> Option<f64> {
        match number(text) {
            Ok(number) => Some(number),
            Err(why) => {
                self.failed.get_or_insert(why);
                None
            }
        }
    }

    /// Handles the end of the log. Versions that count outliers print percentiles last, so these may be
    /// missing.
    fn end_of_log(&mut self) {
        if self.has_outliers && self.stat.median.is_none() {
            self.progress = self.progress.min(Progress::Partial);
        }
    }

    /// The row of the report; `None` if the heading was not that of a benchmark.
    fn row(mut self) -> Option<Row> {
        match (self.progress, self.stat.mean) {
            (Progress::Name, _) => return None,
            (Progress::Complete, Some(_)) => (),
            _ => {
                let why = "the report is incomplete".to_owned();
                self.failed.get_or_insert(why);
            }
        }
        let per_operation = self
            .nanoseconds
            .map(|total| total / self.stat.samples as f64);
        let mut row = Row::new(&self.name, Figure::Summary(self.stat));
        row.nanoseconds = per_operation.filter(|nanoseconds| nanoseconds.is_finite());
        if let Some(why) = self.failed {
            row = Row::new(&self.name, Figure::Failed(why));
        }
        Some(row)
    }
}

fn full_name(suite: &str, benchmark: &str) -> String {
    match suite {
        "" => benchmark.to_owned(),
        _ => format!("{suite}.{benchmark}"),
    }
}

/// The full name of a benchmark, from the suite and name at the end of a text.
fn last_two_words(text: &str) -> Option<String> {
    let mut words = text.split_ascii_whitespace().rev();
    let (benchmark, suite) = (words.next()?, words.next()?);
    Some(full_name(suite, benchmark))
}

/// Parses a heading: the name of a suite and a line of `#`, or of a benchmark and a line of `=`.
fn heading(text: &str) -> Option<(&str, char)> {
    let (name, line) = text.split_once(' ')?;
    let mark = line.chars().next()?;
    let is_line = matches!(mark, '#' | '=') && line.chars().all(|c| c == mark);
    (is_line && is_identifier(name)).then_some((name, mark))
}

/// Whether a text is a C identifier, as names of suites and benchmarks are.
fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The full name in a CSV row of one of these kinds, and the fields after it.
fn csv_fields<'a>(text: &'a str, kinds: &[u8]) -> Option<(String, Vec<&'a str>)> {
    let (kind, rest) = text.as_bytes().split_first()?;
    if !kinds.contains(kind) || rest.first() != Some(&b',') {
        return None;
    }
    let mut fields = text.split([',', '\t']).skip(1);
    let (suite, benchmark) = (fields.next()?, fields.next()?);
    let is_named = is_identifier(suite) && is_identifier(benchmark);
    is_named.then(|| (full_name(suite, benchmark), fields.collect()))
}

/// Parses a CSV row of a sampled or timed benchmark.
fn csv_row(text: &str) -> Option<Row> {
    let (name, fields) = csv_fields(text, b"SMT")?;
    let first = *fields.first()?;
    if first == "INCONCLUSIVE" {
        return Some(Row::new(
            &name,
            Figure::Failed(format!("it reports `{first}`")),
        ));
    }
    // Any other line is not a row.
    let samples: u64 = first.parse().ok()?;
    let parsed = match (text.starts_with('T'), &fields[..]) {
        (false, [_, _, mean, deviation, _, min, _, max, _]) => {
            sampled(samples, [mean, deviation, min, max])
        }
        (true, [_, _, net, rate, _]) => timed(samples, net, rate),
        _ => Err("the row is incomplete".to_owned()),
    };
    Some(match parsed {
        Ok((stat, nanoseconds)) => Row {
            nanoseconds,
            ..Row::new(&name, Figure::Summary(stat))
        },
        Err(why) => Row::new(&name, Figure::Failed(why)),
    })
}

fn sampled(samples: u64, texts: [&str; 4]) -> Result<(Stat, Option<f64>), String> {
    let [mean, deviation, min, max] = texts.map(number);
    let stat = Stat {
        samples,
        mean: Some(mean?),
        median: None,
        min: Some(min?),
        max: Some(max?),
        deviation: Some(deviation?),
    };
    Ok((stat, None))
}

fn timed(iterations: u64, net: &str, rate: &str) -> Result<(Stat, Option<f64>), String> {
    let mean = number(net)? / iterations as f64;
    let nanoseconds = 1e9 / number(rate)?;
    if !mean.is_finite() {
        return Err("it reports 0 iterations".to_owned());
    }
    let stat = Stat::of_mean(iterations, mean);
    Ok((stat, Some(nanoseconds).filter(|time| time.is_finite())))
}

/// Parses a CSV row of percentiles: the full name, the number of samples and the 50th percentile.
fn csv_percentiles(text: &str) -> Option<(String, u64, f64)> {
    let (name, fields) = csv_fields(text, b"P")?;
    match fields[..] {
        [count, _, p50, _, _, _, _, _] => Some((name, count.parse().ok()?, number(p50).ok()?)),
        _ => None,
    }
}
