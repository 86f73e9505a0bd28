// SPDX-License-Identifier: MIT OR Apache-2.0

//! cyclictest and other rt-tests: their console output and the JSON of `--json=FILE`.
//!
//! Console output of cyclictest 0.3 to 2.x, and of signaltest, whose `T:` lines have no `I:`:
//!
//! - With `-h` or `-H`: `# Histogram`, then lines of a value (`%06d`) and a count for each thread, with
//!   `-H` also their sum; then `# Total:`, `# Min Latencies:`, `# Avg Latencies:`, `# Max Latencies:` and
//!   `# Histogram Overflows:`. A bin is one unit wide, so the bins are the exact samples. If samples
//!   overflowed the histogram, the summary is read instead; its mean is truncated to an integer. A
//!   summary without a histogram is read too, from `# Total:` or `# Min Latencies:` on, because people
//!   often shorten logs to it.
//! - `T: 0 ( 1234) P:80 I:1000 C: 10000 Min: 2 Act: 3 Avg: 4 Max: 20`, printed repeatedly during the run.
//!   The last line of a thread is read.
//!
//! The unit is a microsecond, with `-N` a nanosecond. A histogram does not state the unit. Microseconds
//! are assumed, and a fact says so. A `T:` line shows the unit: only with `-N` are `Act` and `Avg` eight
//! columns wide.
//!
//! The JSON is that of all rt-tests 2.x that report `min`, `avg` and `max` of a `thread`, either directly
//! (cyclictest, signaltest, oslat) or in its `receiver` (pmqtest, ptsematest, svsematest, sigwaittest).
//! Other fields that are read: `cmdline:`, `rt_test_version:`, `start_time`, `return_code`, `sysinfo`,
//! `resolution_in_ns`, `cycles`, `histogram`. The histogram is read if it contains all cycles.
//!
//! `-v` (a line for each sample) and SMI latencies are not read.

use std::collections::HashMap;

use serde_json::Value;

use super::text::{figure, number, Unread};
use super::{
    microsecond_clock, nanosecond_clock, Document, Figure, Format, Lines, Reader, Row, Source,
};
use crate::stream::histogram::Histogram;
use crate::stream::run::{Fact, Stat};
use crate::stream::ticks::Ticks;

/// The output of cyclictest and the JSON of rt-tests.
pub const FORMAT: Format = Format {
    name: "cyclictest",
    about: "cyclictest, its histogram, and --json of all rt-tests",
    recognised_by:
        "`# Histogram`, or its summary alone, or `T: 0 ( 1234) P:80`, or a JSON object with \
         `file_version` and `thread`",
    lines: Some(Lines {
        start_marks: &["# Histogram", TOTAL, MIN, " Act:"],
        reader: || Box::new(Log::default()),
    }),
    document: Some(Document { fits, read }),
};

/// Labels of the lines that may start a summary.
const TOTAL: &str = "# Total:";
const MIN: &str = "# Min Latencies:";

fn thread_name(tool: &str, thread: impl std::fmt::Display) -> String {
    format!("{tool} thread {thread}")
}

/// The samples of a histogram, if the stated minimum and maximum agree with it.
fn samples(histogram: Histogram, min: f64, max: f64) -> Figure {
    let ends = |ticks: Option<Ticks>| ticks.map_or(0.0, |ticks| ticks.0 as f64);
    let (least, greatest) = (ends(histogram.min()), ends(histogram.max()));
    if (least, greatest) == (min, max) {
        Figure::Samples(histogram)
    } else {
        Figure::Failed(format!(
            "the histogram ranges from {least} to {greatest}, but the summary from {min} to {max}"
        ))
    }
}

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// Threads of the current process.
    threads: Vec<Thread>,
    /// The index of each thread in `threads`, by its number.
    places: HashMap<u64, usize>,
    /// The number of the thread in the last `T:` line.
    last_thread: u64,
    is_in_nanoseconds: bool,
    table: Option<Table>,
    unread: Unread,
}

/// The last `T:` line of a thread.
struct Thread {
    number: u64,
    id: u64,
    cycles: u64,
    about: String,
    figure: Figure,
}

/// A histogram and its summary.
#[derive(Default)]
struct Table {
    /// The column in which it starts, after a console prefix.
    column: usize,
    /// There is a summary without a histogram.
    is_summary: bool,
    histograms: Vec<Histogram>,
    is_damaged: bool,
    totals: Vec<f64>,
    min: Vec<f64>,
    avg: Vec<f64>,
    max: Vec<f64>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some(at) = line.find("# ") {
            let text = line.get(at..).unwrap_or("");
            if text.trim_end() == "# Histogram" {
                self.end_table(None);
                self.table = Some(Table {
                    column: at,
                    ..Table::default()
                });
            } else if let Some(overflows) = text.strip_prefix("# Histogram Overflows:") {
                let overflows = numbers(overflows);
                self.end_table(Some(&overflows));
            } else if text.starts_with("# /dev/cpu_dma_latency set to") {
                self.end_table(None);
                self.end_threads();
            } else {
                self.footer(text);
            }
        } else if let Some(table) = self.table.as_mut().filter(|table| !table.is_summary) {
            table.bins(line);
        } else if line.contains(" Act:") {
            self.end_table(None);
            if self.thread(line).is_none() {
                self.unread.add(line);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_table(None);
        self.end_threads();
        self.sources.retain(|source| !source.rows.is_empty());
        self.unread.report_in(&mut self.sources);
        self.sources
    }
}

/// Numbers separated by spaces; empty if one cannot be parsed.
fn numbers(text: &str) -> Vec<f64> {
    let all: Result<Vec<f64>, String> = text.split_ascii_whitespace().map(number).collect();
    all.unwrap_or_default()
}

impl Log {
    /// Takes a line of a summary. Its first line starts a new table unless a histogram precedes it.
    fn footer(&mut self, line: &str) {
        let is_over = |table: &Table| table.is_summary && !table.max.is_empty();
        let is_first = line.starts_with(TOTAL) || line.starts_with(MIN);
        if is_first && self.table.as_ref().is_none_or(is_over) {
            self.end_table(None);
            self.table = Some(Table {
                is_summary: true,
                ..Table::default()
            });
        }
        if let Some(table) = &mut self.table {
            table.footer(line);
        }
    }

    /// Takes a `T:` line; `None` if it cannot be parsed.
    fn thread(&mut self, line: &str) -> Option<()> {
        let thread = line.find("T:").and_then(|at| line.get(at + 2..))?;
        let between = |from: &str, to: &str| {
            let (_, rest) = thread.split_once(from)?;
            rest.split_once(to).map(|(value, _)| value)
        };
        let integer = |text: &str| text.trim().parse::<u64>().ok();
        let number = integer(thread.split_once('(')?.0)?;
        let id = integer(between("(", ")")?)?;
        let cycles = integer(between("C:", "Min:")?)?;
        let (min, act) = (between("Min:", "Act:")?, between("Act:", " Avg:")?);
        let (avg, (_, max)) = (between("Avg:", " Max:")?, thread.split_once("Max:")?);
        let known = self.places.get(&number).copied();
        if known
            .and_then(|at| self.threads.get(at))
            .is_some_and(|known| {
                // A thread has the id 0 until it starts.
                (known.id != id && known.id != 0) || cycles < known.cycles
            })
        {
            self.end_threads();
        }
        self.last_thread = number;
        let known = self.places.get(&number).copied();
        let max = max.split_ascii_whitespace().next().unwrap_or("");
        self.is_in_nanoseconds |= act.len() >= 8 && avg.len() >= 8;
        let settings = between(")", "C:").unwrap_or("").trim().to_owned();
        let thread = Thread {
            number,
            id,
            cycles,
            about: settings,
            figure: figure(line, summary(cycles, min, avg, max)),
        };
        if let Some(known) = known.and_then(|at| self.threads.get_mut(at)) {
            *known = thread;
        } else {
            self.places.insert(number, self.threads.len());
            self.threads.push(thread);
        }
        Some(())
    }

    /// Ends the current process.
    fn end_threads(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        self.places.clear();
        let is_in_nanoseconds = std::mem::take(&mut self.is_in_nanoseconds);
        if threads.is_empty() {
            return;
        }
        let has_interval = threads.iter().all(|thread| thread.about.contains("I:"));
        let tool = if has_interval {
            "cyclictest"
        } else {
            "signaltest"
        };
        // Each round prints all threads in order.
        let is_incomplete = threads
            .iter()
            .any(|thread| thread.number > self.last_thread);
        let rows = threads.into_iter().map(|thread| Row {
            about: thread.about,
            ..Row::new(&thread_name(tool, thread.number), thread.figure)
        });
        self.sources.push(Source {
            facts: vec![Fact::new("tool", tool)],
            clock: if is_in_nanoseconds {
                nanosecond_clock()
            } else {
                microsecond_clock()
            },
            rows: rows.collect(),
            incomplete: is_incomplete.then(|| {
                let last = self.last_thread;
                format!(
                    "the log ends with the line of thread {last}; those of later threads are older"
                )
            }),
        });
    }

    /// Ends the current histogram. Without `overflows` its last line is missing.
    fn end_table(&mut self, overflows: Option<&[f64]>) {
        let Some(table) = self.table.take() else {
            return;
        };
        let is_incomplete = overflows.is_none() && (!table.is_summary || table.max.is_empty());
        let about = self
            .threads
            .iter()
            .map(|thread| (thread.number, thread.about.as_str()));
        let rows: Vec<Row> = table.rows(overflows, &about.collect::<Vec<_>>());
        let unit = if self.is_in_nanoseconds {
            "nanoseconds, as in the lines of its threads"
        } else if self.threads.is_empty() {
            "microseconds, assumed; with -N they would be nanoseconds"
        } else {
            "microseconds, as in the lines of its threads"
        };
        self.sources.push(Source {
            facts: vec![Fact::new("tool", "cyclictest"), Fact::new("unit", unit)],
            clock: if self.is_in_nanoseconds {
                nanosecond_clock()
            } else {
                microsecond_clock()
            },
            rows,
            incomplete: is_incomplete
                .then(|| "the end, `# Histogram Overflows:`, is missing".to_owned()),
        });
        // The `T:` lines describe the same threads with less detail.
        self.threads.clear();
        self.places.clear();
        self.is_in_nanoseconds = false;
    }
}

fn summary(samples: u64, min: &str, avg: &str, max: &str) -> Result<Stat, String> {
    Ok(Stat {
        min: Some(number(min)?),
        max: Some(number(max)?),
        ..Stat::of_mean(samples, number(avg)?)
    })
}

impl Table {
    /// Takes a line of bins: a value and its count for each thread.
    fn bins(&mut self, line: &str) {
        let text = line.get(self.column..).unwrap_or("").trim();
        if text.is_empty() {
            return;
        }
        let mut fields = text.split_ascii_whitespace().map(|field| {
            // Each field has at least six digits.
            let is_valid = field.len() >= 6 && field.bytes().all(|byte| byte.is_ascii_digit());
            field.parse::<u64>().ok().filter(|_| is_valid)
        });
        // A line that does not start with such a number is log output.
        let Some(Some(value)) = fields.next() else {
            return;
        };
        let is_first = self.histograms.is_empty();
        let mut columns = 0;
        for count in fields {
            let Some(count) = count else {
                self.is_damaged = true;
                return;
            };
            if is_first {
                self.histograms.push(Histogram::new());
            }
            match self.histograms.get_mut(columns) {
                Some(histogram) => histogram.add(Ticks(value), count),
                None => self.is_damaged = true,
            }
            columns += 1;
        }
        self.is_damaged |= columns != self.histograms.len();
    }

    fn footer(&mut self, line: &str) {
        if let Some(totals) = line.strip_prefix(TOTAL) {
            self.totals = numbers(totals);
        } else if let Some(min) = line.strip_prefix(MIN) {
            self.min = numbers(min);
        } else if let Some(avg) = line.strip_prefix("# Avg Latencies:") {
            self.avg = numbers(avg);
        } else if let Some(max) = line.strip_prefix("# Max Latencies:") {
            self.max = numbers(max);
        }
    }

    fn rows(self, overflows: Option<&[f64]>, about: &[(u64, &str)]) -> Vec<Row> {
        // With -H all lines except these have a last column with the sum over threads.
        let threads = if self.min.is_empty() {
            self.histograms.len()
        } else if self.is_summary {
            self.min.len()
        } else {
            self.min.len().min(self.histograms.len())
        };
        let number = |numbers: &[f64], at: usize| numbers.get(at).copied();
        let figure = |at: usize| {
            if self.is_damaged {
                return Figure::Failed("a line of the histogram is damaged".to_owned());
            }
            let (min, avg, max) = (
                number(&self.min, at),
                number(&self.avg, at),
                number(&self.max, at),
            );
            let (Some(min), Some(avg), Some(max)) = (min, avg, max) else {
                return Figure::Failed("the end of the histogram is missing".to_owned());
            };
            let overflows = overflows.map(|overflows| number(overflows, at));
            let summary = |samples: u64| {
                if samples == 0 {
                    return Figure::Failed("no samples".to_owned());
                }
                Figure::Summary(Stat {
                    min: Some(min),
                    max: Some(max),
                    ..Stat::of_mean(samples, avg)
                })
            };
            let total = number(&self.totals, at);
            let Some(histogram) = self.histograms.get(at) else {
                let all = total.unwrap_or(1.0) + overflows.flatten().unwrap_or(0.0);
                return summary(all as u64);
            };
            let Some(Some(overflows)) = overflows else {
                return Figure::Failed("the end of the histogram is missing".to_owned());
            };
            let in_bins = histogram.total();
            let total = total.map_or(in_bins, |total| total as u64);
            if total != in_bins {
                Figure::Failed(format!(
                    "the bins have {in_bins} samples, but `# Total:` is {total}"
                ))
            } else if overflows > 0.0 {
                summary(in_bins.saturating_add(overflows as u64))
            } else if histogram.is_empty() {
                Figure::Failed("no samples".to_owned())
            } else {
                samples(histogram.clone(), min, max)
            }
        };
        let row = |at: usize| {
            let thread = at as u64;
            let about = about.iter().find(|(number, _)| *number == thread);
            Row {
                about: about.map_or(String::new(), |(_, about)| (*about).to_owned()),
                ..Row::new(&thread_name("cyclictest", thread), figure(at))
            }
        };
        (0..threads).map(row).collect()
    }
}

fn fits(document: &Value) -> bool {
    document["file_version"].is_u64()
        && document["sysinfo"].is_object()
        && document["thread"].is_object()
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    // rt-tests 2.0 to 2.8 print the names of these two with a colon at the end.
    let text = |name: &str| {
        let with_colon = document.get(format!("{name}:"));
        with_colon.or_else(|| document.get(name))?.as_str()
    };
    let command = text("cmdline").unwrap_or("");
    let program = command
        .split_ascii_whitespace()
        .next()
        .unwrap_or("rt-tests");
    let program = program.rsplit('/').next().unwrap_or(program);
    let tool = match text("rt_test_version") {
        Some(version) => format!("{program} {version}"),
        None => program.to_owned(),
    };
    let mut facts = vec![Fact::new("tool", &tool), Fact::new("command", command)];
    let sysinfo = |name: &str| document["sysinfo"][name].as_str();
    if let (Some(name), Some(release)) = (sysinfo("sysname"), sysinfo("release")) {
        let version = sysinfo("version").unwrap_or("");
        let kernel = format!("{name} {release} {version}");
        facts.push(Fact::new("kernel", kernel.trim_end()));
    }
    facts.extend(sysinfo("machine").map(|arch| Fact::new("arch", arch)));
    facts.extend(text("start_time").map(|date| Fact::new("date", date)));
    let threads = document["thread"].as_object();
    let threads = threads.ok_or("thread: not an object")?;
    let mut numbered: Vec<(u64, &Value)> = Vec::new();
    for (number, thread) in threads {
        let wrong = |_| format!("thread.{number}: not a thread number");
        numbered.push((number.parse().map_err(wrong)?, thread));
    }
    numbered.sort_by_key(|(number, _)| *number);
    let mut rows = Vec::new();
    for (number, thread) in numbered {
        let figure = thread_figure(thread).map_err(|why| format!("thread.{number}.{why}"))?;
        rows.push(Row::new(&thread_name(program, number), figure));
    }
    let status = document["return_code"].as_i64().unwrap_or(0);
    Ok(vec![Source {
        facts,
        clock: if document["resolution_in_ns"].as_i64() == Some(1) {
            nanosecond_clock()
        } else {
            microsecond_clock()
        },
        rows,
        incomplete: (status != 0).then(|| format!("{program} exited with status {status}")),
    }])
}

/// The figure of a thread. An error starts with its place within the thread.
fn thread_figure(thread: &Value) -> Result<Figure, String> {
    let receiver = &thread["receiver"];
    let (place, results) = if receiver.is_object() {
        ("receiver.", receiver)
    } else {
        ("", thread)
    };
    let field = |name: &str| {
        let wrong = || format!("{place}{name}: not a number");
        results[name].as_f64().ok_or_else(wrong)
    };
    let (min, avg, max) = (field("min")?, field("avg")?, field("max")?);
    let mut histogram = Histogram::new();
    for (value, count) in thread["histogram"].as_object().into_iter().flatten() {
        let wrong = || format!("histogram.{value}: not a count");
        let ticks = value.parse().map_err(|_| wrong())?;
        histogram.add(Ticks(ticks), count.as_u64().ok_or_else(wrong)?);
    }
    let cycles = thread["cycles"].as_u64();
    let cycles = cycles.or_else(|| thread["sender"]["samples"].as_u64());
    if cycles == Some(0) {
        return Ok(Figure::Failed("no samples".to_owned()));
    }
    if !histogram.is_empty() && cycles == Some(histogram.total()) {
        return Ok(samples(histogram, min, max));
    }
    if cycles.is_some_and(|cycles| histogram.total() > cycles) {
        return Ok(Figure::Failed(
            "the histogram has more samples than there were cycles".to_owned(),
        ));
    }
    Ok(Figure::Summary(Stat {
        min: Some(min),
        max: Some(max),
        ..Stat::of_mean(cycles.unwrap_or(histogram.total()).max(1), avg)
    }))
}
