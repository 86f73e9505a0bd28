// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr: `tests/benchmarks/app_kernel`, all versions, and `tests/benchmarks/sys_kernel`, 1.0 to 4.x.
//!
//! `app_kernel` prints a box:
//!
//! - `|  S I M P L E   S E R V I C E    M E A S U R E M E N T S  |  nsec    |` begins it. With user mode
//!   there is a box for each pairing of threads, whose title comes next.
//! - `| signal semaphore                             |       421|`: a mean, cut to whole nanoseconds.
//! - `M A I L B O X` and `P I P E`, then tables: `|   8|   5120|   1562|`, the size, the nanoseconds of a
//!   packet and its rate; for pipes two sizes, then nanoseconds and rates without a buffer, with a small
//!   and with a big one, after a title that says which sizes are matched.
//! - `| message overhead:   5020     nsec/packet |`.
//! - `|         END OF TESTS`.
//!
//! `sys_kernel` prints `MODULE: kernel API test`, then for each test `TEST CASE: Semaphore #1`,
//! `TEST RESULT: SUCCESSFUL` or `FAILED`, and `DETAILS: Average time for 1 iteration: 1234 nSec` or what
//! went wrong; before them `Each test below is repeated 5000 times`.
//!
//! A rate is no time. How many runs a mean of `app_kernel` is of is not printed.

use super::text::{figure, number};
use super::zephyr::{mark, Boots, BOOT_SIGNS};
use super::{picosecond_clock, Figure, Format, Lines, Reader, Row, Source, NANOSECOND};
use crate::stream::run::Stat;

/// What `app_kernel` and `sys_kernel` print.
pub const FORMAT: Format = Format {
    name: "zephyr-kernel",
    about: "Zephyr's app_kernel and sys_kernel",
    mark: "`S I M P L E   S E R V I C E    M E A S U R E M E N T S`, or `TEST CASE: Semaphore #1` and \
           `DETAILS: Average time for 1 iteration:`",
    lines: Some(Lines {
        signs: &[
            BOOT_SIGNS[0],
            BOOT_SIGNS[1],
            BOOT_SIGNS[2],
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

/// What the columns of the table of pipes are, after the two sizes.
const BUFFERS: [&str; 3] = ["no buffer", "small buffer", "big buffer"];

struct Log {
    boots: Boots,
    part: Part,
    /// The pairing of threads that the box is of.
    threads: String,
    /// Which sizes of a pipe match.
    sizes: String,
    /// How often `sys_kernel` repeats each test; 1 if it does not say.
    repeats: u64,
    case: Option<Case>,
}

/// Where in a box its reader is.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Outside,
    /// Between the title and the line below it.
    Title,
    Services,
    Mailbox,
    Pipe,
}

/// A test of `sys_kernel` that has not ended.
struct Case {
    name: String,
    has_failed: bool,
}

impl Log {
    fn new() -> Self {
        Log {
            boots: Boots::new(FORMAT.name),
            part: Part::Outside,
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
            self.part = Part::Outside;
            self.end_case("its test is cut off");
            self.boots.mark(&mark);
        } else if line.contains(SERVICES) {
            self.part = Part::Title;
            self.threads.clear();
            self.boots.fact("suite", "app_kernel");
        } else if line.contains(MODULE) {
            self.boots.begin();
            self.boots.fact("suite", "sys_kernel");
        } else if self.part != Part::Outside {
            self.boxed(line);
        } else {
            self.test(line);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_case("its test is cut off");
        let mut sources = self.boots.finish();
        for source in &mut sources {
            source.clock = picosecond_clock();
        }
        sources
    }
}

/// The mean of so many nanoseconds.
fn mean(line: &str, nanoseconds: &str, samples: u64) -> Figure {
    let stat =
        number(nanoseconds).map(|nanoseconds| Stat::of_mean(samples, nanoseconds * NANOSECOND));
    figure(line, stat)
}

/// Words with a blank between them.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ")
}

/// Whether a cell holds a count, as sizes and times do.
fn is_count(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit())
}

impl Log {
    /// Takes a line of the box: cells between bars, after what a console puts there.
    fn boxed(&mut self, line: &str) {
        let Some((_, cells)) = line.trim_end().split_once('|') else {
            return;
        };
        let Some(cells) = cells.strip_suffix('|') else {
            return;
        };
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        match (self.part, &cells[..]) {
            (_, [text]) => self.text(line, text),
            (Part::Services, [name, time]) if !name.is_empty() => self.push(name, line, time),
            (Part::Mailbox, [size, time, _]) if is_count(size) => {
                self.push(&format!("mailbox {size}"), line, time);
            }
            (Part::Pipe, [put, get, times @ ..]) if times.len() == 6 && is_count(put) => {
                for (buffer, time) in BUFFERS.iter().zip(times) {
                    let name = format!("pipe {}, {buffer} {put} {get}", self.sizes);
                    self.push(&name, line, time);
                }
            }
            _ => {}
        }
    }

    /// Takes a line of the box that is one cell.
    fn text(&mut self, line: &str, text: &str) {
        if text.starts_with("---") {
            if self.part == Part::Title {
                self.part = Part::Services;
            }
        } else if self.part == Part::Title {
            self.threads = words(text);
        } else if text.starts_with(END) {
            self.part = Part::Outside;
        } else if text.contains(MAILBOX) {
            self.part = Part::Mailbox;
        } else if text.contains(PIPE) {
            self.part = Part::Pipe;
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
        let after = |sign: &str| line.split_once(sign).map(|(_, rest)| rest.trim());
        if let Some(name) = after(CASE) {
            self.end_case("its test is cut off");
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
