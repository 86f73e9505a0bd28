// SPDX-License-Identifier: MIT OR Apache-2.0

//! cyclictest and the other rt-tests: what they print, and `--json=FILE`.
//!
//! Lines, of cyclictest 0.3 to 2.x (and signaltest, which prints the second without `I:`):
//!
//! - With `-h` or `-H`: `# Histogram`, then `%06d` and a count for each thread, and with `-H` their
//!   sum; `# Total:`, `# Min Latencies:`, `# Avg Latencies:`, `# Max Latencies:`,
//!   `# Histogram Overflows:`. A bin is one unit wide, so these are all samples, exactly. Those that
//!   overflowed are in no bin: then the summary counts (its mean is cut to an integer). It also does
//!   where it stands alone, from `# Total:` or `# Min Latencies:` on, as logs are often shortened.
//! - `T: 0 ( 1234) P:80 I:1000 C: 10000 Min: 2 Act: 3 Avg: 4 Max: 20`, printed again and again while
//!   it runs: the last one counts.
//!
//! The unit is a microsecond, and with `-N` a nanosecond. A histogram does not say which and is
//! taken for microseconds, and a fact says that it is taken so. A `T:` line does: only with `-N` are
//! `Act` and `Avg` eight columns wide.
//!
//! The JSON is that of all rt-tests 2.x which give `min`, `avg` and `max` of a `thread`, either at
//! once (cyclictest, signaltest, oslat) or in its `receiver` (pmqtest, ptsematest, svsematest,
//! sigwaittest): `cmdline:`, `rt_test_version:`, `start_time`, `return_code`, `sysinfo`,
//! `resolution_in_ns`, `cycles`, `histogram`. A histogram that holds all cycles is all samples.
//!
//! `-v` (each sample in a line) and latencies of SMI are not read.

use std::collections::HashMap;

use serde_json::Value;

use super::text::{figure, number, Unread};
use super::{
    microsecond_clock, nanosecond_clock, Document, Figure, Format, Lines, Reader, Row, Source,
};
use crate::stream::histogram::Histogram;
use crate::stream::run::{Fact, Stat};
use crate::stream::ticks::Ticks;

/// What cyclictest prints, and the JSON of rt-tests.
pub const FORMAT: Format = Format {
    name: "cyclictest",
    about: "cyclictest, its histogram, and --json of all rt-tests",
    mark: "`# Histogram`, or its summary alone, or `T: 0 ( 1234) P:80`, or a JSON object with \
         `file_version` and `thread`",
    lines: Some(Lines {
        signs: &["# Histogram", TOTAL, MIN, " Act:"],
        reader: || Box::new(Log::default()),
    }),
    document: Some(Document { fits, read }),
};

/// Begins two of the lines that sum up a histogram.
const TOTAL: &str = "# Total:";
const MIN: &str = "# Min Latencies:";

fn name_of_thread(tool: &str, thread: impl std::fmt::Display) -> String {
    format!("{tool} thread {thread}")
}

/// Samples, if what else is told of them agrees.
fn samples(histogram: Histogram, min: f64, max: f64) -> Figure {
    let ends = |ticks: Option<Ticks>| ticks.map_or(0.0, |ticks| ticks.0 as f64);
    let (least, greatest) = (ends(histogram.min()), ends(histogram.max()));
    if (least, greatest) == (min, max) {
        Figure::Samples(histogram)
    } else {
        Figure::Failed(format!(
            "its histogram reaches from {least} to {greatest}, its summary from {min} to {max}"
        ))
    }
}

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// Lines of threads of the source that is being read.
    threads: Vec<Thread>,
    /// Where in these each thread is, by its number.
    places: HashMap<u64, usize>,
    /// The thread of the last line.
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

/// A histogram and what follows it.
#[derive(Default)]
struct Table {
    /// Where in its line it begins: after what a console puts there.
    column: usize,
    /// The log has left its histogram out.
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
                self.unread.line(line);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_table(None);
        self.end_threads();
        self.sources.retain(|source| !source.rows.is_empty());
        self.unread.tell(&mut self.sources);
        self.sources
    }
}

/// Numbers between spaces; none where one of them is none.
fn numbers(text: &str) -> Vec<f64> {
    let all: Result<Vec<f64>, String> = text.split_ascii_whitespace().map(number).collect();
    all.unwrap_or_default()
}

impl Log {
    /// Takes a line of a summary, which may stand alone; its first line begins another one.
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

    /// Takes a `T:` line; `None` if it cannot be read.
    fn thread(&mut self, line: &str) -> Option<()> {
        let thread = line.find("T:").and_then(|at| line.get(at + 2..))?;
        let between = |from: &str, to: &str| {
            let (_, rest) = thread.split_once(from)?;
            rest.split_once(to).map(|(value, _)| value)
        };
        let whole = |text: &str| text.trim().parse::<u64>().ok();
        let number = whole(thread.split_once('(')?.0)?;
        let (id, cycles) = (whole(between("(", ")")?)?, whole(between("C:", "Min:")?)?);
        let (min, act) = (between("Min:", "Act:")?, between("Act:", " Avg:")?);
        let (avg, (_, max)) = (between("Avg:", " Max:")?, thread.split_once("Max:")?);
        let known = self.places.get(&number).copied();
        if known
            .and_then(|at| self.threads.get(at))
            .is_some_and(|known| {
                // A thread that has not started has the id 0.
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

    /// Ends the process whose `T:` lines were read.
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
        // They come in turns, the last thread last.
        let is_cut = threads
            .iter()
            .any(|thread| thread.number > self.last_thread);
        let rows = threads.into_iter().map(|thread| Row {
            about: thread.about,
            ..Row::new(&name_of_thread(tool, thread.number), thread.figure)
        });
        self.sources.push(Source {
            facts: vec![Fact::new("tool", tool)],
            clock: if is_in_nanoseconds {
                nanosecond_clock()
            } else {
                microsecond_clock()
            },
            rows: rows.collect(),
            cut: is_cut.then(|| {
                let last = self.last_thread;
                format!("it ends with the line of thread {last}, those of others are older")
            }),
        });
    }

    /// Ends the histogram; without `overflows`, in the middle of it.
    fn end_table(&mut self, overflows: Option<&[f64]>) {
        let Some(table) = self.table.take() else {
            return;
        };
        let is_cut = overflows.is_none() && (!table.is_summary || table.max.is_empty());
        let about = self
            .threads
            .iter()
            .map(|thread| (thread.number, thread.about.as_str()));
        let rows: Vec<Row> = table.rows(overflows, &about.collect::<Vec<_>>());
        let unit = if self.is_in_nanoseconds {
            "nanoseconds, as its lines of threads"
        } else if self.threads.is_empty() {
            "microseconds; it does not say so, with -N they were nanoseconds"
        } else {
            "microseconds, as its lines of threads"
        };
        self.sources.push(Source {
            facts: vec![Fact::new("tool", "cyclictest"), Fact::new("unit", unit)],
            clock: if self.is_in_nanoseconds {
                nanosecond_clock()
            } else {
                microsecond_clock()
            },
            rows,
            cut: is_cut.then(|| "its end, `# Histogram Overflows:`, is missing".to_owned()),
        });
        // The same threads, with less.
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
    /// A line of bins: a value, and how many samples of it each thread has.
    fn bins(&mut self, line: &str) {
        let text = line.get(self.column..).unwrap_or("").trim();
        if text.is_empty() {
            return;
        }
        let mut fields = text.split_ascii_whitespace().map(|field| {
            // Each is printed with six digits or more.
            let is_one = field.len() >= 6 && field.bytes().all(|byte| byte.is_ascii_digit());
            field.parse::<u64>().ok().filter(|_| is_one)
        });
        // What does not begin with such a number is log.
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
        // With -H all but these have the sum of the threads as a last column.
        let threads = if self.min.is_empty() {
            self.histograms.len()
        } else if self.is_summary {
            self.min.len()
        } else {
            self.min.len().min(self.histograms.len())
        };
        let told = |numbers: &[f64], at: usize| numbers.get(at).copied();
        let figure = |at: usize| {
            if self.is_damaged {
                return Figure::Failed("a line of its histogram is damaged".to_owned());
            }
            let (min, avg, max) = (
                told(&self.min, at),
                told(&self.avg, at),
                told(&self.max, at),
            );
            let (Some(min), Some(avg), Some(max)) = (min, avg, max) else {
                return Figure::Failed("its histogram has no end".to_owned());
            };
            let overflows = overflows.map(|overflows| told(overflows, at));
            let summary = |samples: u64| {
                if samples == 0 {
                    return Figure::Failed("no sample".to_owned());
                }
                Figure::Summary(Stat {
                    min: Some(min),
                    max: Some(max),
                    ..Stat::of_mean(samples, avg)
                })
            };
            let total = told(&self.totals, at);
            let Some(histogram) = self.histograms.get(at) else {
                let all = total.unwrap_or(1.0) + overflows.flatten().unwrap_or(0.0);
                return summary(all as u64);
            };
            let Some(Some(overflows)) = overflows else {
                return Figure::Failed("its histogram has no end".to_owned());
            };
            let in_bins = histogram.total();
            let total = total.map_or(in_bins, |total| total as u64);
            if total != in_bins {
                Figure::Failed(format!(
                    "its bins hold {in_bins} samples, `# Total:` says {total}"
                ))
            } else if overflows > 0.0 {
                summary(in_bins.saturating_add(overflows as u64))
            } else if histogram.is_empty() {
                Figure::Failed("no sample".to_owned())
            } else {
                samples(histogram.clone(), min, max)
            }
        };
        let row = |at: usize| {
            let thread = at as u64;
            let about = about.iter().find(|(number, _)| *number == thread);
            Row {
                about: about.map_or(String::new(), |(_, about)| (*about).to_owned()),
                ..Row::new(&name_of_thread("cyclictest", thread), figure(at))
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
    // The names of these two end in a colon: rt-tests 2.0 to 2.8 print it so.
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
    let of_system = |name: &str| document["sysinfo"][name].as_str();
    if let (Some(name), Some(release)) = (of_system("sysname"), of_system("release")) {
        let version = of_system("version").unwrap_or("");
        let kernel = format!("{name} {release} {version}");
        facts.push(Fact::new("kernel", kernel.trim_end()));
    }
    facts.extend(of_system("machine").map(|arch| Fact::new("arch", arch)));
    facts.extend(text("start_time").map(|date| Fact::new("date", date)));
    let threads = document["thread"].as_object();
    let threads = threads.ok_or("thread: no object")?;
    let mut numbered: Vec<(u64, &Value)> = Vec::new();
    for (number, thread) in threads {
        let wrong = |_| format!("thread.{number}: no number of a thread");
        numbered.push((number.parse().map_err(wrong)?, thread));
    }
    numbered.sort_by_key(|(number, _)| *number);
    let mut rows = Vec::new();
    for (number, thread) in numbered {
        let figure = thread_figure(thread).map_err(|why| format!("thread.{number}.{why}"))?;
        rows.push(Row::new(&name_of_thread(program, number), figure));
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
        cut: (status != 0).then(|| format!("{program} ended with status {status}")),
    }])
}

/// The figure of a thread; the error begins with its place in the thread.
fn thread_figure(thread: &Value) -> Result<Figure, String> {
    let receiver = &thread["receiver"];
    let (place, results) = if receiver.is_object() {
        ("receiver.", receiver)
    } else {
        ("", thread)
    };
    let field = |name: &str| {
        let wrong = || format!("{place}{name}: no number");
        results[name].as_f64().ok_or_else(wrong)
    };
    let (min, avg, max) = (field("min")?, field("avg")?, field("max")?);
    let mut histogram = Histogram::new();
    for (value, count) in thread["histogram"].as_object().into_iter().flatten() {
        let wrong = || format!("histogram.{value}: no count of a value");
        let ticks = value.parse().map_err(|_| wrong())?;
        histogram.add(Ticks(ticks), count.as_u64().ok_or_else(wrong)?);
    }
    let cycles = thread["cycles"].as_u64();
    let cycles = cycles.or_else(|| thread["sender"]["samples"].as_u64());
    if cycles == Some(0) {
        return Ok(Figure::Failed("no sample".to_owned()));
    }
    if !histogram.is_empty() && cycles == Some(histogram.total()) {
        return Ok(samples(histogram, min, max));
    }
    if cycles.is_some_and(|cycles| histogram.total() > cycles) {
        return Ok(Figure::Failed(
            "its histogram holds more samples than there were cycles".to_owned(),
        ));
    }
    Ok(Figure::Summary(Stat {
        min: Some(min),
        max: Some(max),
        ..Stat::of_mean(cycles.unwrap_or(histogram.total()).max(1), avg)
    }))
}
