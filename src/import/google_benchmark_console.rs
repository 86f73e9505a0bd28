// SPDX-License-Identifier: MIT OR Apache-2.0

//! Google Benchmark's table on the console, and that of Zircon's microbenchmarks of 2017 and 2018,
//! which were printed by it.
//!
//! - `Benchmark       Time           CPU Iterations` (with as many spaces as its columns need, since
//!   1.5 with `UserCounters...` behind it), then a line of dashes.
//! - `Channel/Write/64     728 ns    730 ns   950200   83.6564MB/s`: the name, the mean real time of
//!   an iteration, the mean CPU time, the number of iterations, and perhaps rates, counters and a
//!   label. Times are in `ns`, `us`, `ms` or `s`.
//! - `BM_Sort   ERROR OCCURRED: 'why'`, and since 1.8 `SKIPPED: 'why'`.
//! - With repetitions the same name again, then `NAME_mean`, `NAME_median`, `NAME_stddev`, `NAME_cv`.
//! - Before the table, `Run on (8 X 4000 MHz CPU s)` and some lines of the machine.
//!
//! The real time is what is read, as the mean of so many iterations; the CPU time is in the row's
//! description. Repetitions are rows of the same name. Aggregates over them repeat what the rows say
//! and are left out, unless there are no such rows (`--benchmark_report_aggregates_only`); `_cv`,
//! `_BigO` and `_RMS` are no times.
//!
//! The table has no end mark.

use super::text::{figure, number, Unread};
use super::{time_unit, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::{Fact, Stat};

/// The table of Google Benchmark.
pub const FORMAT: Format = Format {
    name: "google-benchmark-console",
    about: "Google Benchmark on the console, Zircon's microbenchmarks of 2017 and 2018",
    mark: "`Benchmark    Time    CPU Iterations`",
    lines: Some(Lines {
        signs: &["Iterations", MACHINE],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

/// ... `8 X 4000 MHz CPU s)`.
const MACHINE: &str = "Run on (";

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// Facts of a table that is to come.
    facts: Vec<Fact>,
    /// Where in its line the table begins: after what a console puts there.
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
            self.unread.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        let mut sources = self.sources;
        sources.retain(|source| !source.rows.is_empty());
        for source in &mut sources {
            without_aggregates(&mut source.rows);
        }
        self.unread.tell(&mut sources);
        sources
    }
}

/// Where the header of a table begins, if a line is one.
fn header(line: &str) -> Option<usize> {
    let at = line.find("Benchmark ")?;
    let mut words = line.get(at..)?.split_ascii_whitespace().skip(1);
    let is_one = ["Time", "CPU", "Iterations"]
        .iter()
        .all(|word| words.next() == Some(word));
    is_one.then_some(at)
}

/// Whether a line has a time behind its name.
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
    for (sign, without) in [
        ("ERROR OCCURRED: ", Figure::Failed as fn(String) -> Figure),
        ("SKIPPED: ", Figure::Skipped),
    ] {
        if let Some(why) = rest.strip_prefix(sign) {
            let why = why.trim().trim_matches('\'').to_owned();
            return Some(Row::new(name, without(why)));
        }
    }
    let mut words = rest.split_ascii_whitespace();
    let (real, unit) = (words.next()?, words.next()?);
    let (cpu, cpu_unit, iterations) = (words.next()?, words.next()?, words.next());
    if unit == "%" {
        let why = "a percentage, no time".to_owned();
        return Some(Row::new(name, Figure::Skipped(why)));
    }
    let Some(factor) = time_unit(unit) else {
        // The fit of a complexity has `N`, `NlgN`, `(1)` ... in the place of the unit.
        let is_fit = name.ends_with("_BigO") && number(real).is_ok();
        let why = || Figure::Skipped("the fit of a complexity, no time".to_owned());
        return is_fit.then(|| Row::new(name, why()));
    };
    time_unit(cpu_unit)?;
    let stat = || -> Result<Stat, String> {
        let iterations = iterations.unwrap_or("");
        let wrong = |_| format!("`{iterations}` is no number");
        let samples = iterations.parse().map_err(wrong)?;
        Ok(Stat::of_mean(samples, number(real)? * factor))
    };
    Some(Row {
        about: format!("CPU time {cpu} {cpu_unit}"),
        ..Row::new(name, figure(line, stat()))
    })
}

/// Leaves the repetitions, or where there are none, what sums them up.
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
