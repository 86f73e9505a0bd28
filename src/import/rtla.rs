// SPDX-License-Identifier: MIT OR Apache-2.0

//! rtla timerlat, since Linux 5.17: the output of `hist` and `top`.
//!
//! `rtla timerlat hist`:
//!
//! - `# RTLA timerlat histogram`, `# Time unit is microseconds (us)` (with `-n` nanoseconds),
//!   `# Duration:   0 00:10:00`.
//! - `Index   IRQ-000   Thr-000   Usr-000 ...`: what is measured on which CPU, the latency until the timer's
//!   interrupt handler, until the thread, and until its return to user space.
//! - `12   4   256 ...`: a value and its count in each column; then `over:` (samples outside the bins),
//!   `count:`, `min:`, `avg:` (truncated to an integer), `max:`. `-` means no samples.
//! - Since 6.10 `ALL:` follows with the same for all CPUs; it is not read.
//!
//! A bin is one unit wide unless `-b` is given, which the output does not show. So the bins are read as
//! samples only if they contain all samples, and their minimum and maximum are `min` and `max`. Otherwise
//! the summary is read.
//!
//! `rtla timerlat top` prints `0 00:10:01   |   IRQ Timer Latency (us) ...`, then `cur`, `min`, `avg` and
//! `max` of the same latencies for each CPU. It repeats the table during the run; the last one is read.
//! `#599979` is the number of samples of the thread; the other counts differ from it by at most one. `-` in
//! all columns means no samples.
//!
//! Output without header (`--no-header`), index or summary is not read. Rows have the names of the
//! columns in `hist`.

use super::text::{figure, number, Unread};
use super::{
    greatest_common_divisor, microsecond_clock, nanosecond_clock, Figure, Format, Lines, Reader,
    Row, Source,
};
use crate::stream::histogram::Histogram;
use crate::stream::run::{Fact, Stat};
use crate::stream::ticks::Ticks;

/// The output of rtla timerlat.
pub const FORMAT: Format = Format {
    name: "rtla-timerlat",
    about: "rtla timerlat hist and top",
    recognised_by: "`# RTLA timerlat histogram`, or `IRQ Timer Latency (us)`",
    lines: Some(Lines {
        start_marks: &[HISTOGRAM, TOP],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const HISTOGRAM: &str = "# RTLA timerlat histogram";
const TOP: &str = "IRQ Timer Latency (";

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    table: Option<Table>,
    unread: Unread,
}

enum Table {
    Hist(Hist),
    Top(Top),
}

/// The current histogram.
#[derive(Default)]
struct Hist {
    /// The column in which it starts, after a console prefix.
    column: usize,
    is_in_nanoseconds: bool,
    duration: String,
    columns: Vec<Column>,
    is_damaged: bool,
}

#[derive(Default)]
struct Column {
    name: String,
    bins: Histogram,
    over: Option<String>,
    count: Option<String>,
    min: Option<String>,
    avg: Option<String>,
    max: Option<String>,
}

/// The current table of `top`.
struct Top {
    is_in_nanoseconds: bool,
    duration: String,
    /// The rows of the previous table.
    previous: Vec<Row>,
    rows: Vec<Row>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some(column) = line.find(HISTOGRAM) {
            self.end();
            self.table = Some(Table::Hist(Hist {
                column,
                ..Hist::default()
            }));
        } else if let Some((before, after)) = line.split_once(TOP) {
            // The duration grows in the tables of one process; another process starts at 0.
            let duration = before.trim().trim_end_matches('|').trim();
            let is_later = |top: &Top| seconds(duration) > seconds(&top.duration);
            let previous = match self.table.take() {
                Some(Table::Top(top)) if is_later(&top) => top.complete_table().0,
                other => {
                    self.table = other;
                    self.end();
                    Vec::new()
                }
            };
            self.table = Some(Table::Top(Top {
                is_in_nanoseconds: after.starts_with("ns"),
                duration: duration.to_owned(),
                previous,
                rows: Vec::new(),
            }));
        } else if let Some(Table::Hist(hist)) = &mut self.table {
            let text = line.get(hist.column..).unwrap_or("");
            if hist.line(text) {
                self.end();
            }
        } else if let Some(Table::Top(top)) = &mut self.table {
            if line.contains('|') && line.contains('#') && top.line(line).is_none() {
                self.unread.add(line);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end();
        self.unread.report_in(&mut self.sources);
        self.sources
    }
}

/// Parses a duration, `days hours:minutes:seconds`; 0 if it is not one.
fn seconds(duration: &str) -> u64 {
    let (days, rest) = duration.trim().split_once(' ').unwrap_or(("", ""));
    let parts = std::iter::once(days).chain(rest.split(':'));
    let numbers = parts.map(|part| part.trim().parse::<u64>().unwrap_or(0));
    numbers
        .zip([86_400, 3600, 60, 1])
        .fold(0, |sum, (number, unit)| {
            number.saturating_mul(unit).saturating_add(sum)
        })
}

impl Log {
    /// Ends the current table.
    fn end(&mut self) {
        let (is_in_nanoseconds, duration, rows, incomplete) = match self.table.take() {
            None => return,
            Some(Table::Hist(hist)) => {
                let is_incomplete = hist.columns.iter().any(|column| column.max.is_none());
                let rows = hist
                    .columns
                    .iter()
                    .map(|column| column.row(hist.is_damaged));
                let rows = rows.collect();
                let why = is_incomplete.then_some("the summary (`count:` to `max:`) is missing");
                (hist.is_in_nanoseconds, hist.duration, rows, why)
            }
            Some(Table::Top(top)) => {
                let (is_in_nanoseconds, duration) = (top.is_in_nanoseconds, top.duration.clone());
                let (rows, is_incomplete) = top.complete_table();
                let why = is_incomplete
                    .then_some("the last table is incomplete; the previous one is read");
                (is_in_nanoseconds, duration, rows, why)
            }
        };
        if rows.is_empty() {
            return;
        }
        self.sources.push(Source {
            facts: vec![
                Fact::new("tool", "rtla timerlat"),
                Fact::new("duration", &duration),
            ],
            clock: if is_in_nanoseconds {
                nanosecond_clock()
            } else {
                microsecond_clock()
            },
            rows,
            incomplete: incomplete.map(str::to_owned),
        });
    }
}

impl Hist {
    /// Takes a line. Returns whether it is the last one.
    fn line(&mut self, line: &str) -> bool {
        if let Some(unit) = line.strip_prefix("# Time unit is ") {
            self.is_in_nanoseconds = unit.starts_with("nanoseconds");
        } else if let Some(duration) = line.strip_prefix("# Duration:") {
            duration.trim().clone_into(&mut self.duration);
        } else if let Some(names) = line.strip_prefix("Index ") {
            let column = |name: &str| Column {
                name: name.to_owned(),
                ..Column::default()
            };
            self.columns = names.split_ascii_whitespace().map(column).collect();
        } else if let Some((label, values)) = line.trim().split_once(' ') {
            let values = values.split_ascii_whitespace();
            let is_count = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            match label {
                "over:" => self.summary(values, |column| &mut column.over),
                "count:" => self.summary(values, |column| &mut column.count),
                "min:" => self.summary(values, |column| &mut column.min),
                "avg:" => self.summary(values, |column| &mut column.avg),
                "max:" => {
                    self.summary(values, |column| &mut column.max);
                    return true;
                }
                value if is_count(value) => self.bins(value, values),
                _ => {}
            }
        }
        false
    }

    fn summary<'a>(
        &mut self,
        values: impl Iterator<Item = &'a str>,
        place: fn(&mut Column) -> &mut Option<String>,
    ) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            *place(column) = Some(value.to_owned());
        }
    }

    fn bins<'a>(&mut self, value: &str, mut counts: impl Iterator<Item = &'a str>) {
        let Ok(value) = value.parse() else {
            self.is_damaged = true;
            return;
        };
        for column in &mut self.columns {
            match counts.next().map(str::parse) {
                Some(Ok(count)) => column.bins.add(Ticks(value), count),
                _ => self.is_damaged = true,
            }
        }
        self.is_damaged |= counts.next().is_some();
    }
}

impl Column {
    fn row(&self, is_damaged: bool) -> Row {
        let figure = match self.stat() {
            Err(why) => Figure::Failed(why),
            Ok(None) => Figure::Failed("no samples".to_owned()),
            Ok(Some(_)) if is_damaged => {
                Figure::Failed("a line of the histogram is damaged".to_owned())
            }
            Ok(Some(stat)) if self.has_all_samples(&stat) => Figure::Samples(self.bins.clone()),
            Ok(Some(stat)) => Figure::Summary(stat),
        };
        Row::new(&self.name, figure)
    }

    /// The printed summary; `None` without samples.
    fn stat(&self) -> Result<Option<Stat>, String> {
        let (Some(count), Some(min), Some(avg), Some(max)) =
            (&self.count, &self.min, &self.avg, &self.max)
        else {
            return Err("the summary is missing".to_owned());
        };
        let samples = count.parse();
        let samples = samples.map_err(|_| format!("`count: {count}` is not a number"))?;
        if samples == 0 {
            return Ok(None);
        }
        Ok(Some(Stat {
            min: Some(number(min)?),
            max: Some(number(max)?),
            ..Stat::of_mean(samples, number(avg)?)
        }))
    }

    /// Whether the bins contain all samples, and each bin is one unit wide.
    fn has_all_samples(&self, stat: &Stat) -> bool {
        let ticks = |ticks: Option<Ticks>| ticks.map(|ticks| ticks.0 as f64);
        let sum: u128 = self
            .bins
            .iter()
            .map(|(ticks, count)| u128::from(ticks.0) * u128::from(count))
            .fold(0, u128::saturating_add);
        let mean = sum / u128::from(self.bins.total().max(1));
        // The values of wider bins are multiples of the width.
        let width = self.bins.iter().fold(0, |width, (ticks, _)| {
            greatest_common_divisor(width, ticks.0)
        });
        self.over.as_deref() == Some("0")
            && self.bins.total() == stat.samples
            && ticks(self.bins.min()) == stat.min
            && ticks(self.bins.max()) == stat.max
            && Some(mean as f64) == stat.mean
            && (width <= 1 || self.bins.distinct() == 1)
    }
}

impl Top {
    /// The rows of the last complete table, and whether an incomplete one follows. A table is incomplete
    /// if it has fewer rows than the previous one.
    fn complete_table(self) -> (Vec<Row>, bool) {
        if self.rows.len() < self.previous.len() {
            (self.previous, true)
        } else {
            (self.rows, false)
        }
    }

    /// Takes the values of a CPU: `  0 #599979    |        0         0         0        64 | ...`.
    fn line(&mut self, line: &str) -> Option<()> {
        let (cpu, values) = line.split_once('|')?;
        let (cpu, count) = cpu.split_once('#')?;
        // A console prefix may precede the CPU.
        let cpu = cpu
            .split_ascii_whitespace()
            .next_back()
            .map(str::parse::<u64>);
        let (cpu, samples) = (cpu?.ok()?, count.trim().parse().ok()?);
        for (column, values) in ["IRQ", "Thr", "Usr"].iter().zip(values.split('|')) {
            let is_empty = values.split_ascii_whitespace().all(|value| value == "-");
            let mut values = values.split_ascii_whitespace().skip(1);
            let mut next = || number(values.next().unwrap_or(""));
            let mut stat = || -> Result<Stat, String> {
                let (min, avg, max) = (next()?, next()?, next()?);
                Ok(Stat {
                    min: Some(min),
                    max: Some(max),
                    ..Stat::of_mean(samples, avg)
                })
            };
            let name = format!("{column}-{cpu:03}");
            let figure = if is_empty {
                Figure::Skipped("no samples".to_owned())
            } else {
                figure(line, stat())
            };
            self.rows.push(Row::new(&name, figure));
        }
        Some(())
    }
}
