// SPDX-License-Identifier: MIT OR Apache-2.0

//! Google Benchmark's console table. Zircon's microbenchmarks of 2017 and 2018 also printed it.
//!
//! - `Benchmark       Time           CPU Iterations` (columns are separated by any number of spaces;
//!   since 1.5 `UserCounters...` follows), then a line of dashes.
//! - `Channel/Write/64     728 ns    730 ns   950200   83.6564MB/s`: the name, the mean real time of
//!   an iteration, the mean CPU time, the number of iterations, and optionally rates, counters and a
//!   label. Times are in `ns`, `us`, `ms` or `s`.
//! - `BM_Sort   ERROR OCCURRED: 'why'`, and since 1.8 `SKIPPED: 'why'`.
//! - Repetitions repeat the name; `NAME_mean`, `NAME_median`, `NAME_stddev` and `NAME_cv` follow.
//! - Before the table, `Run on (8 X 4000 MHz CPU s)` and some lines about the machine.
//!
//! The real time is read, as the mean over the iterations. The CPU time goes into the row's description.
//! Repetitions become rows with the same name. Aggregates are dropped, because they repeat the rows,
//! unless the rows are missing (`--benchmark_report_aggregates_only`). `_cv`, `_BigO` and `_RMS` are not
//! times.
//!
//! The table has no end mark.

use super::text::{figure, number, Unread};
use super::{time_unit, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::{Fact, Stat};

/// The table of Google Benchmark.
pub const FORMAT: Format = Format {
    name: "google-benchmark-console",
    about: "Google Benchmark on the console, Zircon's microbenchmarks of 2017 and 2018",
    recognised_by: "`Benchmark    Time    CPU Iterations`",
    lines: Some(Lines {
        start_marks: &["Iterations", MACHINE],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

/// `8 X 4000 MHz CPU s)` follows.
const MACHINE: &str = "Run on (";

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// Facts for the next table.
    facts: Vec<Fact>,
    /// The column in which the table starts, after a console prefix.
    column: Option<usize>,
    unread: Unread,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        let row = self.column.and_then(|column| row(line.get(column..)?));
        if let (Some(row), Some(source)) = (row, self.sources.last_mut()) {
            source.rows.push(row);
        } else if let Some((_, machine)) = line.split_once(MACHINE) {
            self.column = None;
            if let Some((machine, _)) = machine.rsplit_once(')') {
                self.facts.push(Fact::new("cpu", machine));
            }
        } else if let Some(column) = header(line) {
            self.column = Some(column);
            let mut source = Source::of_times("Google Benchmark", Vec::new());
            source.facts.append(&mut self.facts);
            self.sources.push(source);
        } else if self.column.is_some() && is_like_row(line) {
            self.unread.add(line);
        }
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        let mut sources = self.sources;
        sources.retain(|source| !source.rows.is_empty());
        for source in &mut sources {
            without_aggregates(&mut source.rows);
        }
        self.unread.report_in(&mut sources);
        sources
    }
}

/// The column in which the header of a table starts, if a line is one.
fn header(line: &str) -> Option<usize> {
    let at = line.find("Benchmark ")?;
    let mut words = line.get(at..)?.split_ascii_whitespace().skip(1);
    let is_header = ["Time", "CPU", "Iterations"]
        .iter()
        .all(|word| words.next() == Some(word));
    is_header.then_some(at)
}

/// Whether a line has a time after its first word.
fn is_like_row(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (time, unit) = (words.next(), words.next());
    time.is_some_and(|time| number(time).is_ok()) && unit.and_then(time_unit).is_some()
}

fn row(line: &str) -> Option<Row> {
    let (name, _) = line.split_once([' ', '\t'])?;
    if name.is_empty() {
        return None;
    }
    let rest = line[name.len()..].trim_start();
    for (mark, unmeasured) in [
        ("ERROR OCCURRED: ", Figure::Failed as fn(String) -> Figure),
        ("SKIPPED: ", Figure::Skipped),
    ] {
        if let Some(why) = rest.strip_prefix(mark) {
            let why = why.trim().trim_matches('\'').to_owned();
            return Some(Row::new(name, unmeasured(why)));
        }
    }
    let mut words = rest.split_ascii_whitespace();
    let (real, unit) = (words.next()?, words.next()?);
    let (cpu, cpu_unit, iterations) = (words.next()?, words.next()?, words.next());
    if unit == "%" {
        let why = "a percentage, not a time".to_owned();
        return Some(Row::new(name, Figure::Skipped(why)));
    }
    let Some(factor) = time_unit(unit) else {
        // A complexity fit has `N`, `NlgN`, `(1)` ... in place of the unit.
        let is_fit = name.ends_with("_BigO") && number(real).is_ok();
        let why = || Figure::Skipped("a complexity fit, not a time".to_owned());
        return is_fit.then(|| Row::new(name, why()));
    };
    time_unit(cpu_unit)?;
    let stat = || -> Result<Stat, String> {
        let iterations = iterations.unwrap_or("");
        let wrong = |_| format!("`{iterations}` is not a number");
        let samples = iterations.parse().map_err(wrong)?;
        Ok(Stat::of_mean(samples, number(real)? * factor))
    };
    Some(Row {
        about: format!("CPU time {cpu} {cpu_unit}"),
        ..Row::new(name, figure(line, stat()))
    })
}

/// Drops aggregates whose repetitions are present.
fn without_aggregates(rows: &mut Vec<Row>) {
    let names: std::collections::HashSet<String> =
        rows.iter().map(|row| row.name.clone()).collect();
    rows.retain(|row| {
        let aggregate = row
            .name
            .rsplit_once('_')
            .filter(|(_, end)| matches!(*end, "mean" | "median" | "stddev" | "cv" | "min" | "max"));
        aggregate.is_none_or(|(name, _)| !names.contains(name))
    });
}
