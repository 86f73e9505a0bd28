// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr's `tests/benchmarks/app_kernel`, all versions, and `tests/benchmarks/sys_kernel`, 1.0 to 4.x: their
//! console output.
//!
//! `app_kernel` prints a box:
//!
//! - `|  S I M P L E   S E R V I C E    M E A S U R E M E N T S  |  nsec    |` starts it. With user mode
//!   there is a box for each pairing of threads; its title is the next line.
//! - `| signal semaphore                             |       421|`: a mean, truncated to whole nanoseconds.
//! - `M A I L B O X` and `P I P E` start tables: `|   8|   5120|   1562|` is the size, the nanoseconds per
//!   packet and the rate. For pipes, there are two sizes, then nanoseconds and rates without a buffer, with
//!   a small and with a big one; a title says which sizes match.
//! - `| message overhead:   5020     nsec/packet |`.
//! - `|         END OF TESTS`.
//!
//! `sys_kernel` prints `MODULE: kernel API test` and `Each test below is repeated 5000 times`, then for each
//! test `TEST CASE: Semaphore #1`, `TEST RESULT: SUCCESSFUL` or `FAILED`, and
//! `DETAILS: Average time for 1 iteration: 1234 nSec` or the error.
//!
//! Rates are not times and are not read. `app_kernel` does not print the number of samples of a mean.

use super::text::{figure, number};
use super::zephyr::{mark, Boots, BOOT_MARKS};
use super::{picosecond_clock, Figure, Format, Lines, Reader, Row, Source, NANOSECOND};
use crate::stream::run::Stat;

/// The output of `app_kernel` and `sys_kernel`.
pub const FORMAT: Format = Format {
    name: "zephyr-kernel",
    about: "Zephyr's app_kernel and sys_kernel",
    recognised_by: "`S I M P L E   S E R V I C E    M E A S U R E M E N T S`, or `TEST CASE: Semaphore #1` and \
           `DETAILS: Average time for 1 iteration:`",
    lines: Some(Lines {
        start_marks: &[
            BOOT_MARKS[0],
            BOOT_MARKS[1],
            BOOT_MARKS[2],
            SERVICES,
            MODULE,
            CASE,
        ],
        reader: || Box::new(Log::new()),
    }),
    document: None,
};

const SERVICES: &str = "S I M P L E   S E R V I C E";
const MAILBOX: &str = "M A I L B O X";
const PIPE: &str = "P I P E   M E A S";
const END: &str = "END OF TESTS";
const MODULE: &str = "MODULE: kernel API test";
const CASE: &str = "TEST CASE: ";
const TIME: &str = "Average time for 1 iteration: ";

/// The columns with times in the table of pipes.
const BUFFERS: [&str; 3] = ["no buffer", "small buffer", "big buffer"];

struct Log {
    boots: Boots,
    section: Section,
    /// The pairing of threads, from the title of the box.
    threads: String,
    /// The title that says which sizes of a pipe match.
    sizes: String,
    /// How often `sys_kernel` repeats each test; 1 if unknown.
    repeats: u64,
    case: Option<Case>,
}

/// The position of the reader within a box.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Outside,
    /// Between the title and the line below it.
    Title,
    Services,
    Mailbox,
    Pipe,
}

/// The current test of `sys_kernel`.
struct Case {
    name: String,
    has_failed: bool,
}

impl Log {
    fn new() -> Self {
        Log {
            boots: Boots::new(FORMAT.name),
            section: Section::Outside,
            threads: String::new(),
            sizes: String::new(),
            repeats: 1,
            case: None,
        }
    }
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some(mark) = mark(line) {
            self.section = Section::Outside;
            self.end_case("the test is incomplete");
            self.boots.mark(&mark);
        } else if line.contains(SERVICES) {
            self.section = Section::Title;
            self.threads.clear();
            self.boots.fact("suite", "app_kernel");
        } else if line.contains(MODULE) {
            self.boots.begin();
            self.boots.fact("suite", "sys_kernel");
        } else if self.section != Section::Outside {
            self.boxed(line);
        } else {
            self.test(line);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_case("the test is incomplete");
        let mut sources = self.boots.finish();
        for source in &mut sources {
            source.clock = picosecond_clock();
        }
        sources
    }
}

/// A mean in nanoseconds.
fn mean(line: &str, nanoseconds: &str, samples: u64) -> Figure {
    let stat =
        number(nanoseconds).map(|nanoseconds| Stat::of_mean(samples, nanoseconds * NANOSECOND));
    figure(line, stat)
}

/// The words of a text, separated by single blanks.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ")
}

/// Whether a cell is an integer, as sizes are.
fn is_count(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit())
}

impl Log {
    /// Takes a line of the box: cells between bars, after any console prefix.
    fn boxed(&mut self, line: &str) {
        let Some((_, cells)) = line.trim_end().split_once('|') else {
            return;
        };
        let Some(cells) = cells.strip_suffix('|') else {
            return;
        };
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        match (self.section, &cells[..]) {
            (_, [text]) => self.text(line, text),
            (Section::Services, [name, time]) if !name.is_empty() => self.push(name, line, time),
            (Section::Mailbox, [size, time, _]) if is_count(size) => {
                self.push(&format!("mailbox {size}"), line, time);
            }
            (Section::Pipe, [put, get, times @ ..]) if times.len() == 6 && is_count(put) => {
                for (buffer, time) in BUFFERS.iter().zip(times) {
                    let name = format!("pipe {}, {buffer} {put} {get}", self.sizes);
                    self.push(&name, line, time);
                }
            }
            _ => {}
        }
    }

    /// Takes a line of the box with one cell.
    fn text(&mut self, line: &str, text: &str) {
        if text.starts_with("---") {
            if self.section == Section::Title {
                self.section = Section::Services;
            }
        } else if self.section == Section::Title {
            self.threads = words(text);
        } else if text.starts_with(END) {
            self.section = Section::Outside;
        } else if text.contains(MAILBOX) {
            self.section = Section::Mailbox;
        } else if text.contains(PIPE) {
            self.section = Section::Pipe;
        } else if let Some(overhead) = text.strip_prefix("message overhead:") {
            let time = overhead.split_ascii_whitespace().next().unwrap_or("");
            self.push("mailbox message overhead", line, time);
        } else if text.contains("matching sizes") {
            self.sizes = words(text);
        }
    }

    fn push(&mut self, name: &str, line: &str, time: &str) {
        let name = match self.threads.as_str() {
            "" => words(name),
            threads => format!("{threads}: {}", words(name)),
        };
        self.boots.row(Row::new(&name, mean(line, time, 1)));
    }

    /// Takes a line of `sys_kernel`.
    fn test(&mut self, line: &str) {
        let after = |label: &str| line.split_once(label).map(|(_, rest)| rest.trim());
        if let Some(name) = after(CASE) {
            self.end_case("the test is incomplete");
            self.case = Some(Case {
                name: words(name),
                has_failed: false,
            });
        } else if let Some(times) = after("is repeated ") {
            let times = times.split_once(" times").map(|(times, _)| times.parse());
            if let Some(Ok(times)) = times {
                self.repeats = times;
            }
        } else if let Some(result) = after("TEST RESULT: ") {
            if let Some(case) = &mut self.case {
                case.has_failed = result != "SUCCESSFUL";
            }
        } else if let Some(details) = after("DETAILS: ") {
            let time = details.strip_prefix(TIME);
            match (&self.case, time.and_then(|time| time.strip_suffix(" nSec"))) {
                (Some(case), Some(time)) if !case.has_failed => {
                    let row = Row::new(&case.name, mean(line, time, self.repeats));
                    self.boots.row(row);
                    self.case = None;
                }
                _ => self.end_case(details),
            }
        }
    }

    /// Ends a test without a time.
    fn end_case(&mut self, why: &str) {
        if let Some(case) = self.case.take() {
            let figure = Figure::Failed(why.to_owned());
            self.boots.row(Row::new(&case.name, figure));
        }
    }
}
