// SPDX-License-Identifier: MIT OR Apache-2.0

//! lmbench 2 and 3: result files (`results/SYSTEM/HOST.0`) and the output of single tools.
//!
//! - `[lmbench3.0 results for Linux host 6.14.0 ...]`, `[LMBENCH VERSION: lmbench-3alpha4]`,
//!   `[MHZ: 4952 MHz, 0.2019 nanosec clock]` and others, then the date; another date at the end.
//! - `Simple syscall: 0.1303 microseconds`, and all other lines of this form: `Select on 100 fd's`,
//!   `Signal handler installation`, `Protection fault`, `Process fork+exit`, `Pipe latency`,
//!   `AF_UNIX sock stream latency`, `Pagefaults on FILE`, `TCP latency using localhost` ...
//! - `"size=0k ovr=0.66`, then `2 3.40`: `lat_ctx`; the number of processes and the microseconds of a
//!   context switch. lmbench has subtracted the overhead of passing a token and summing the array, 0.66. A
//!   row is named `lat_ctx size=0k 2`.
//! - `"stride=128`, then `0.00049 1.616`: `lat_mem_rd`; the megabytes accessed and the nanoseconds of a load.
//!   In a result file `Random load latency` precedes loads in random order. A row is named
//!   `lat_mem_rd stride=128 0.00049` or `lat_mem_rd random stride=16 0.00049`.
//! - `"mappings`, then `0.524288 9.824`: `lat_mmap`; megabytes, and the microseconds to map and unmap them.
//! - `"File system latency`, then `0k 469 84505 138552`: `lat_fs`; the size of a file, the number of files,
//!   and how many were created and deleted per second. The inverse is read, the mean time of one
//!   operation (`File system latency 0k create`). `lat_fs` alone prints no title; such rows are not
//!   read.
//!
//! The figure of a tool is the median of its repetitions (11 by default, `-N` changes it), each a mean over
//! many operations. It is read as a median. The figure of `lat_fs` is a mean. Bandwidths are not times:
//! single lines are skipped and tables are not read. `lmbench_summary` reads the
//! tables that summarise result files.
//!
//! A repeated name or a new first line starts another process.

use std::collections::HashSet;

use super::lmbench_summary::{Summary, TITLE};
use super::text::{figure, has_number_before, number, Unread};
use super::{Figure, Format, Lines, Printed, Reader, Row, Source, MICROSECOND, NANOSECOND, SECOND};
use crate::stream::run::{Fact, Stat};

/// lmbench's results.
pub const FORMAT: Format = Format {
    name: "lmbench",
    about: "lmbench: result files, single tools and summary tables",
    recognised_by:
        "lines like `Simple syscall: 0.1303 microseconds`, `\"size=0k ovr=`, `\"stride=128`, or a \
           table `... - smaller is better`",
    lines: Some(Lines {
        start_marks: &[
            FIRST,
            "Simple syscall: ",
            "Simple read: ",
            "Simple write: ",
            "Simple stat: ",
            "Simple fstat: ",
            "Simple open/close: ",
            "Select on ",
            "Signal handler installation: ",
            "Signal handler overhead: ",
            "Protection fault: ",
            "Pipe latency: ",
            "FIFO latency: ",
            "AF_UNIX sock stream latency: ",
            "Process fork+",
            "Procedure call: ",
            "Pagefaults on ",
            "Fcntl lock latency: ",
            "Semaphore latency: ",
            "UDP latency using ",
            "TCP latency using ",
            "RPC/tcp latency using ",
            "RPC/udp latency using ",
            "TCP/IP connection cost to ",
            CONTEXT_SWITCH,
            MAPPINGS,
            FILES,
            STRIDE,
            TITLE,
        ],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const FIRST: &str = "[lmbench";
const CONTEXT_SWITCH: &str = "\"size=";
const MAPPINGS: &str = "\"mappings";
const FILES: &str = "\"File system latency";
const STRIDE: &str = "\"stride=";
/// The titles before loads in random order and in sequential order.
const RANDOM: &str = "Random load latency";
const SEQUENTIAL: &str = "Memory load latency";

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// The names of the rows of the last source.
    names: HashSet<String>,
    table: Table,
    /// The source is a result file, which ends in a date.
    is_file: bool,
    unread: Unread,
    /// The next table has loads in random order.
    is_random: bool,
    summary: Summary,
}

/// The current table; an empty line ends it.
#[derive(Default)]
enum Table {
    #[default]
    None,
    /// The start of a row's name, to which the first number is appended, and the unit of the second
    /// number in picoseconds.
    Times(String, f64),
    Files,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if self.summary.line(line) {
            return;
        }
        let line = line.trim();
        if line.is_empty() {
            self.table = Table::None;
        } else if let Some(text) = line.strip_prefix('[') {
            self.bracket(text.trim_end_matches(']'));
        } else if let Some(title) = line.strip_prefix('"') {
            self.table = table(title, self.is_random);
        } else if line == RANDOM || line == SEQUENTIAL {
            self.is_random = line == RANDOM;
        } else if let Some((name, time)) = microseconds(line) {
            let stat = number(time).map(|time| median(time * MICROSECOND));
            self.push(microseconds_row(name, figure(line, stat)));
        } else if has_number_before(line, "microseconds") {
            self.unread.add(line);
        } else if let Some((name, rate)) = line.split_once(" bandwidth: ") {
            let unit = rate.split_ascii_whitespace().next_back().unwrap_or(rate);
            let name = format!("{name} bandwidth");
            let why = format!("{unit} is not a time");
            self.push(Row::new(&name, Figure::Skipped(why)));
        } else {
            self.table_row(line);
        }
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        let mut sources = self.sources;
        sources.extend(self.summary.finish());
        sources.retain(|source| !source.rows.is_empty());
        self.unread.report_in(&mut sources);
        sources
    }
}

/// The name and the time in `NAME: TIME microseconds`; a few tools print `usecs`.
fn microseconds(line: &str) -> Option<(&str, &str)> {
    let line = line
        .strip_suffix(" microseconds")
        .or_else(|| line.strip_suffix(" usecs"))?;
    let (name, time) = line.rsplit_once(": ")?;
    (!name.is_empty()).then_some((name, time))
}

fn median(picoseconds: f64) -> Stat {
    Stat {
        median: Some(picoseconds),
        ..Stat::blank(1)
    }
}

/// A row whose figure is printed in microseconds.
fn microseconds_row(name: &str, figure: Figure) -> Row {
    Row {
        printed: Some(Printed::time("microseconds", MICROSECOND)),
        ..Row::new(name, figure)
    }
}

fn table(title: &str, is_random: bool) -> Table {
    // Some logs close the quote.
    let title = title.trim_end_matches('"');
    if let Some((size, _)) = title.split_once(" ovr=") {
        Table::Times(format!("lat_ctx {size}"), MICROSECOND)
    } else if title.starts_with("stride=") {
        let order = if is_random { "random " } else { "" };
        Table::Times(format!("lat_mem_rd {order}{title}"), NANOSECOND)
    } else if title == "mappings" {
        Table::Times("mappings".to_owned(), MICROSECOND)
    } else if title == "File system latency" {
        Table::Files
    } else {
        Table::None
    }
}

impl Log {
    fn begin(&mut self) {
        self.is_file = false;
        self.names.clear();
        self.is_random = false;
        self.sources.push(Source::of_times("lmbench", Vec::new()));
    }

    fn push(&mut self, row: Row) {
        if self.sources.is_empty() || self.names.contains(&row.name) {
            self.begin();
        }
        self.names.insert(row.name.clone());
        if let Some(source) = self.sources.last_mut() {
            if self.is_file && source.rows.is_empty() {
                source.incomplete = Some("the date at the end is missing".to_owned());
            }
            source.rows.push(row);
        }
    }

    /// Takes the text of a line in brackets: a property of the system, or the date.
    fn bracket(&mut self, text: &str) {
        if let Some((_, system)) = text
            .split_once(" results for ")
            .filter(|_| text.starts_with("lmbench"))
        {
            self.begin();
            self.is_file = true;
            if let Some(source) = self.sources.last_mut() {
                source.facts.push(Fact::new("kernel", system));
            }
            return;
        }
        let Some(source) = self.sources.last_mut().filter(|_| self.is_file) else {
            return;
        };
        if !source.rows.is_empty() {
            // The date at the end.
            source.incomplete = None;
            return;
        }
        if let Some((name, value)) = text.split_once(": ") {
            let name = match name {
                "LMBENCH VERSION" => "version",
                "MHZ" => "clock",
                "MACHINE" => "arch",
                "PROCESSORS" => "processors",
                _ => return,
            };
            source.facts.push(Fact::new(name, value));
        }
    }

    fn table_row(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else {
            return;
        };
        match &self.table {
            Table::None => {}
            Table::Times(name, unit) => {
                if number(first).is_err() {
                    return;
                }
                if words.next().is_some() {
                    self.unread.add(line);
                    return;
                }
                let name = format!("{name} {first}");
                let stat = number(second).map(|time| median(time * unit));
                self.push(microseconds_row(&name, figure(line, stat)));
            }
            Table::Files => {
                let (Some(created), Some(deleted), None) =
                    (words.next(), words.next(), words.next())
                else {
                    return;
                };
                let Ok(files) = second.parse() else {
                    return;
                };
                for (operation, rate) in [("create", created), ("delete", deleted)] {
                    let name = format!("File system latency {first} {operation}");
                    let figure = figure(line, per_second(rate, files));
                    self.push(Row::new(&name, figure));
                }
            }
        }
    }
}

/// The mean time of an operation, from operations per second.
fn per_second(rate: &str, samples: u64) -> Result<Stat, String> {
    let rate = number(rate)?;
    if rate > 0.0 {
        Ok(Stat::of_mean(samples, SECOND / rate))
    } else {
        Err(format!("a rate of {rate} per second has no mean time"))
    }
}
