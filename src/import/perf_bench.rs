// SPDX-License-Identifier: MIT OR Apache-2.0

//! perf bench of Linux 2.6.34 to 6.x: the default output of one benchmark, several, or `all`.
//!
//! - `# Running 'sched/pipe' benchmark:`, with `all` `# Running sched/pipe benchmark...`.
//! - `# Executed 1000000 pipe operations between two processes`, since 6.4 `1,000,000`: the number of
//!   operations.
//! - `2.230050 usecs/op`, the mean time of an operation: sched/pipe, sched/seccomp-notify,
//!   syscall/*, breakpoint/*, uprobe/*.
//! - `     Total time: 1.063 [sec]`: the figure of sched/messaging, which prints no other.
//! - `[Run 3]: Wokeup 2 of 2 threads in 0.1160 ms` (futex/wake, /requeue, /wake-parallel): each run
//!   is a sample. Their mean has no `[Run 3]: ` but `(+-16.48%)`; before 5.16 and with `--silent` only
//!   the mean is printed.
//! - `Averaged 3848704 operations/sec (+- 38.83%), total secs = 1` (futex/hash, futex/lock-pi,
//!   epoll/*): a rate over threads that contend or do several things. `23.818598 GB/sec` (mem/memcpy,
//!   mem/memset): a bandwidth. Neither is a time, so both are skipped.
//! - numa/mem prints bandwidths; internals/* and `mem/find_bit` measure perf's own code. These are
//!   skipped, too.
//!
//! `usecs/op/cpu`, `ops/sec` and lines about single threads repeat the figures and are ignored. With
//! `--format=simple` only `all` names its benchmarks, and the output has no time of an operation;
//! sched/messaging is read. A benchmark that starts again belongs to another process. Processes have no end
//! mark, but a benchmark without a figure failed or is incomplete. A line that occurs twice, or that the
//! benchmark never prints, belongs to another benchmark whose `# Running` line is missing. Lines up to the
//! next such line are then ignored, and the source is incomplete.

use super::text::{figure, number};
use super::{
    picoseconds, Figure, Format, Lines, Printed, Reader, Row, Source, MICROSECOND, MILLISECOND,
    NANOSECOND, SECOND,
};
use crate::stream::histogram::Histogram;
use crate::stream::run::Stat;

/// The output of perf bench.
pub const FORMAT: Format = Format {
    name: "perf-bench",
    about: "perf bench, one benchmark or all",
    recognised_by: "`# Running 'sched/pipe' benchmark:`",
    lines: Some(Lines {
        start_marks: &[RUNNING],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const RUNNING: &str = "# Running ";

/// The only benchmark whose figure is its total time.
const MESSAGING: &str = "sched/messaging";

/// Collections that never print `usecs/op`.
const NO_OPERATIONS: [&str; 5] = ["epoll/", "futex/", "internals/", "mem/", "numa/"];

const BANDWIDTH_UNITS: [&str; 4] = ["GB/sec", "MB/sec", "KB/sec", "B/sec"];

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    bench: Option<Bench>,
}

/// The current benchmark.
struct Bench {
    /// Collection and benchmark: `sched/pipe`.
    name: String,
    /// The current variant of mem/memcpy and mem/memset.
    function: String,
    executed: Option<u64>,
    total: Option<Figure>,
    /// The time of an operation must follow the total.
    expects_time: bool,
    runs: Vec<Result<f64, String>>,
    rows: Vec<Row>,
    /// The following lines belong to an unknown benchmark.
    is_over: bool,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some((_, rest)) = line.split_once(RUNNING) {
            if let Some(name) = benchmark(rest) {
                self.end();
                self.begin(name);
            }
        } else if let Some(bench) = &mut self.bench {
            bench.line(line);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        if let Some(bench) = &mut self.bench {
            if bench.expects_time {
                bench.total = None;
            }
        }
        self.end();
        self.sources
    }
}

/// The name in `'sched/pipe' benchmark:` and in `sched/pipe benchmark...`.
fn benchmark(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let name = text
        .strip_suffix(" benchmark:")
        .or_else(|| text.strip_suffix(" benchmark..."))?
        .trim_matches('\'');
    let is_valid = name.contains('/') && !name.contains(char::is_whitespace);
    is_valid.then_some(name)
}

impl Log {
    fn begin(&mut self, name: &str) {
        let is_same = |row: &Row| {
            let rest = row.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let last = self.sources.last();
        if last.is_none_or(|source| source.rows.iter().any(is_same)) {
            self.sources
                .push(Source::of_times("perf bench", Vec::new()));
        }
        self.bench = Some(Bench {
            name: name.to_owned(),
            function: String::new(),
            executed: None,
            total: None,
            expects_time: false,
            runs: Vec::new(),
            rows: Vec::new(),
            is_over: false,
        });
    }

    fn end(&mut self) {
        if let (Some(bench), Some(source)) = (self.bench.take(), self.sources.last_mut()) {
            let why = if bench.is_over {
                let line = RUNNING.trim_end();
                Some(format!(
                    "the next `{line}` line after that of {} is missing",
                    bench.name
                ))
            } else if bench.runs.is_empty() {
                None
            } else {
                Some(format!("the mean of the runs of {} is missing", bench.name))
            };
            if let Some(why) = why {
                source.incomplete.get_or_insert(why);
            }
            source.rows.extend(bench.end());
        }
    }
}

impl Bench {
    fn line(&mut self, line: &str) {
        if self.is_over {
            return;
        }
        if let Some((_, executed)) = line.split_once("# Executed ") {
            let count = executed.split_ascii_whitespace().next().unwrap_or("");
            let count = count.replace([',', '.', '\''], "").parse().unwrap_or(1);
            self.is_over = !self.has_operations() || self.executed.replace(count).is_some();
        } else if let Some((_, function)) = line.split_once("# function '") {
            let name = function.split_once('\'').map_or(function, |(name, _)| name);
            name.clone_into(&mut self.function);
        } else if let Some(time) = line.trim_end().strip_suffix(" usecs/op") {
            let executed = self.executed.unwrap_or(1);
            let stat = last_number(time).map(|time| Stat::of_mean(executed, time * MICROSECOND));
            self.is_over = !self.has_operations();
            self.push(Row {
                printed: Some(Printed::time("usecs/op", MICROSECOND)),
                ..Row::new(&self.name, figure(line, stat))
            });
        } else if let Some((_, time)) = line.split_once("Total time: ") {
            self.is_over = self.total.is_some();
            self.expects_time = !self.is_messaging();
            if let (false, Some(seconds)) = (self.is_over, time.trim_end().strip_suffix(" [sec]")) {
                self.total = Some(total(line, seconds));
            }
        } else if let Some((text, rate)) = line.split_once("Averaged ") {
            if text.trim().is_empty() {
                self.rate(rate);
            }
        } else if let Some(unit) = BANDWIDTH_UNITS
            .iter()
            .find(|unit| line.trim_end().ends_with(*unit))
        {
            let name = format!("{} {}", self.name, self.function);
            let why = format!("{unit} is not a time");
            self.push(Row::new(name.trim_end(), Figure::Skipped(why)));
        } else if line.contains("]: ") || line.contains(" in ") {
            self.run(line);
        } else if number(line).is_ok() {
            // --format=simple
            self.is_over = self.total.is_some();
            self.total.get_or_insert_with(|| total(line, line));
        }
    }

    /// Whether the figure is the total time.
    fn is_messaging(&self) -> bool {
        self.name == MESSAGING
    }

    /// Whether the benchmark prints the number of operations and the time of one.
    fn has_operations(&self) -> bool {
        let mut others = NO_OPERATIONS.iter();
        !self.is_messaging() && others.all(|collection| !self.name.starts_with(collection))
    }

    /// Adds a row. If there already is one of the same name, it belongs to another benchmark.
    fn push(&mut self, row: Row) {
        self.is_over |= self.rows.iter().any(|known| known.name == row.name);
        if !self.is_over {
            self.rows.push(row);
        }
    }

    /// `[Run 3]: Wokeup 2 of 2 threads in 0.1160 ms`, or their mean.
    fn run(&mut self, line: &str) {
        if !self.name.starts_with("futex/") {
            return;
        }
        let Some((what, time)) = line.rsplit_once(" in ") else {
            return;
        };
        let Some((time, _)) = time.split_once(" ms") else {
            return;
        };
        let time = number(time).map(|milliseconds| milliseconds * 1e6);
        if let Some((number, _)) = what
            .split_once("[Run ")
            .and_then(|(_, run)| run.split_once("]: "))
        {
            let is_next = number.trim().parse() == Ok(self.runs.len() + 1);
            self.runs.push(if is_next {
                time
            } else {
                Err(format!("run {} is missing", self.runs.len() + 1))
            });
            return;
        }
        let figure = if self.runs.is_empty() {
            let stat = time.map(|nanoseconds| Stat::of_mean(1, nanoseconds * NANOSECOND));
            figure(line, stat)
        } else {
            samples(std::mem::take(&mut self.runs))
        };
        self.push(Row {
            about: what.trim().to_owned(),
            printed: Some(Printed::time("ms", MILLISECOND)),
            ..Row::new(&self.name, figure)
        });
    }

    /// `3848704 operations/sec (+- 38.83%), total secs = 1`, `300000 ADD operations (+- 0.61%)`.
    fn rate(&mut self, rate: &str) {
        let what = rate.split_ascii_whitespace().nth(1).unwrap_or("");
        let name = match what {
            "ADD" | "MOD" | "DEL" => format!("{} {what}", self.name),
            _ => self.name.clone(),
        };
        let why = "a rate over all threads, not the time of an operation".to_owned();
        self.push(Row::new(&name, Figure::Skipped(why)));
    }

    fn end(mut self) -> Vec<Row> {
        if self.rows.is_empty() {
            let figure = match self.total {
                _ if self.name.starts_with("internals/") || self.name == "mem/find_bit" => {
                    Figure::Skipped("it measures perf's own code".to_owned())
                }
                _ if self.name.starts_with("numa/") => {
                    Figure::Skipped("it prints bandwidths, not times".to_owned())
                }
                Some(total) if self.is_messaging() => total,
                _ if !self.runs.is_empty() => samples(self.runs),
                Some(_) => Figure::Skipped("it does not print the time of an operation".to_owned()),
                None => Figure::Failed("no result".to_owned()),
            };
            self.rows.push(Row {
                printed: Some(Printed::time("s", SECOND)),
                ..Row::new(&self.name, figure)
            });
        }
        self.rows
    }
}

/// The number at the end of a line.
fn last_number(text: &str) -> Result<f64, String> {
    number(text.split_ascii_whitespace().next_back().unwrap_or(""))
}

fn total(line: &str, seconds: &str) -> Figure {
    figure(
        line,
        number(seconds).map(|seconds| Stat::of_mean(1, seconds * SECOND)),
    )
}

/// Runs in nanoseconds as samples. They fail if one run is missing or not a time.
fn samples(runs: Vec<Result<f64, String>>) -> Figure {
    let sample = |run: Result<f64, String>| {
        let nanoseconds = run?;
        let ticks = picoseconds(nanoseconds);
        let wrong = || format!("{} ms is not a valid time", nanoseconds / 1e6);
        Ok((ticks.ok_or_else(wrong)?, 1))
    };
    match runs
        .into_iter()
        .map(sample)
        .collect::<Result<Histogram, String>>()
    {
        Ok(histogram) => Figure::Samples(histogram),
        Err(why) => Figure::Failed(why),
    }
}
