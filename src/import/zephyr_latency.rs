// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr: `tests/benchmarks/latency_measure`, in all its forms.
//!
//! Up to 2.3 it prints a box. A section has a title and one or two figures, in ticks of the system
//! timer (`tcs`) and nanoseconds. The name of a row is both, without the section's number, since
//! figures of several sections have the same words: `Measure time to switch from ISR back to
//! interrupted thread: switching time`. An error that stands in place of a figure fails the row of
//! its section.
//!
//! ```text
//! |  tcs = timer clock cycles: 1 tcs is 12 nsec                                 |
//! | 1 - Measure time to switch from ISR back to interrupted thread              |
//! | switching time is 107 tcs = 1337 nsec                                       |
//! ```
//!
//! From 2.4 it prints a line for each figure. Between 3.5 and 3.6 the modes of the threads were
//! added, and a colon at the end with a note behind it; a figure without a number became `FAILED`.
//! 3.6 gave ids to figures, with what they are after a dash or without. The name is what stands
//! before the dash or the colon.
//!
//! ```text
//! Average thread context switch using yield            :     420 cycles ,     3502 ns
//! Give a semaphore (context switch K -> K)             :     789 cycles ,     6575 ns :
//! heap.malloc.immediate    - Average time for heap malloc     :     610 cycles ,     5083 ns :
//! heap.malloc.immediate    - Average time for heap malloc     :     FAILED ,     FAILED : why
//! ```
//!
//! `tests/benchmarks/timing_info` (1.8 to 2.3) and the verbose output of `wait_queues` and
//! `sched_queues` have the same lines and are read with it.
//!
//! Figures are means, cut to integers. How many iterations they are of, the log does not say
//! (1000 in most versions), so `samples` is 1. What is read of the head: the boot's banner,
//! `Clock frequency: 120 MHz`, `1 tcs is 12 nsec`. Not read: output with `CSV_FORMAT_OUTPUT`,
//! which is chosen in the source.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::text::whole;
use super::zephyr::{is_end_mark, mark, number, without_label, Boots, BOOT_SIGNS, END_SIGN};
use super::{Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::Stat;

/// What `latency_measure` prints.
pub const FORMAT: Format = Format {
    name: "zephyr-latency",
    about: "Zephyr's tests/benchmarks/latency_measure",
    mark: "lines such as `Lock a mutex : 94 cycles , 783 ns`, or a box `Latency Benchmark`",
    lines: Some(Lines {
        signs: &SIGNS,
        reader: || Box::new(Log::new()),
    }),
    document: None,
};

const SIGNS: [&str; 8] = [
    BOOT_SIGNS[0],
    BOOT_SIGNS[1],
    BOOT_SIGNS[2],
    BEGINS[0],
    BEGINS[1],
    BOX_BEGINS,
    CYCLES,
    FAILED,
];
/// What else a line may hold that is read.
const LATER_SIGNS: [&str; 4] = [
    END_SIGN,
    FREQUENCY_SIGNS[0],
    FREQUENCY_SIGNS[1],
    TICK_OCCURRED,
];

/// How the benchmark begins since 2.4, and how `timing_info` does.
const BEGINS: [&str; 2] = [
    "START - Time Measurement",
    "starting test - Time Measurement",
];
/// The title of the box; before 1.6 `Nanokernel` or `Microkernel` stood before it.
const BOX_BEGINS: &str = "Latency Benchmark  ";
const CYCLES: &str = " cycles ,";
const FAILED: &str = "FAILED , ";
/// `timing_info` writes the capital.
const FREQUENCY_SIGNS: [&str; 2] = ["Clock frequency: ", "Clock Frequency: "];
/// Stands where a row would be if no tick of the timer had disturbed it, 2.4 to 3.5.
const TICK_OCCURRED: &str = "Error: tick occurred";

struct Log {
    boots: Boots,
    /// The title of the box's section; empty before the first. `None` outside of the box.
    section: Option<String>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        // All at once: most lines of a log hold none.
        static ANY: LazyLock<AhoCorasick> = LazyLock::new(|| {
            let signs = SIGNS.iter().chain(&LATER_SIGNS);
            AhoCorasick::new(signs).expect("the signs are few")
        });
        if self.section.is_none() && !ANY.is_match(line) {
            return;
        }
        if let Some(row) = measured(line).or_else(|| failed(line)) {
            self.boots.row(row);
        } else if let Some(mark) = mark(line) {
            self.section = None;
            self.boots.mark(&mark);
        } else if line.contains(BOX_BEGINS) {
            self.section = Some(String::new());
            self.boots.begin();
        } else if let (Some(_), Some(text)) = (&self.section, boxed(line)) {
            self.boxed(text);
        } else if BEGINS.iter().any(|begin| line.contains(begin)) {
            self.boots.begin();
        } else if let Some(frequency) = after(line, &FREQUENCY_SIGNS) {
            self.boots.fact("clock_frequency", frequency);
        } else if line.contains(TICK_OCCURRED) {
            let why = "it says `Error: tick occurred` where there would have been a row";
            self.boots.cut(why.to_owned());
        } else if line.contains(CYCLES) {
            self.boots.unread(line);
        }
    }

    fn is_whole(&self, line: &str) -> bool {
        is_end_mark(line)
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        self.boots.finish()
    }
}

impl Log {
    fn new() -> Self {
        Log {
            boots: Boots::new(FORMAT.name),
            section: None,
        }
    }

    /// Takes what a line of the box holds.
    fn boxed(&mut self, text: &str) {
        if let Some((_, period)) = text.split_once("cycles: 1 tcs is ") {
            self.boots.fact("clock_period", period);
        } else if text == "E N D" {
            self.boots.end();
        } else if let Some(figure) = text.strip_suffix(" nsec") {
            self.boxed_figure(figure);
        } else if text.starts_with(|c: char| c.is_ascii_digit()) {
            let title = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let title = title.trim_start_matches([' ', '-']);
            self.section = Some(title.to_owned());
        } else if text.contains("Error") || text.contains("FAILED") {
            self.boxed_error(text);
        }
    }

    fn boxed_figure(&mut self, text: &str) {
        let Some((left, nanoseconds)) = text.split_once(" tcs = ") else {
            return;
        };
        let Some((what, ticks)) = left.rsplit_once(' ') else {
            return;
        };
        let what = what.trim_end();
        let what = what.strip_suffix(" is").unwrap_or(what);
        let title = self.section.as_deref().unwrap_or_default();
        let name = format!("{title}: {what}");
        self.boots.row(whole_mean(&name, "", ticks, nanoseconds));
    }

    /// An error stands where a figure would be; the first of a section is kept.
    fn boxed_error(&mut self, text: &str) {
        let title = self.section.as_deref().unwrap_or_default();
        if title.is_empty() {
            self.boots.cut(format!("it says `{text}`"));
        } else if self.boots.last_row().is_none_or(|row| row.name != title) {
            let row = Row::new(title, Figure::Failed(text.to_owned()));
            self.boots.row(row);
        }
    }
}

/// A row with numbers: `title :  329 cycles ,  2741 ns : note`.
fn measured(line: &str) -> Option<Row> {
    let (left, right) = line.split_once(CYCLES)?;
    let (title, cycles) = left.rsplit_once(':')?;
    let cycles = cycles.trim();
    let (name, about) = name_and_about(title)?;
    if cycles.is_empty() || cycles.contains(char::is_whitespace) {
        return None;
    }
    let Some((nanoseconds, rest)) = right.split_once(" ns") else {
        let why = "the line ends before its nanoseconds".to_owned();
        return Some(Row::new(name, Figure::Failed(why)));
    };
    let note = rest.trim_matches([' ', ':']);
    let about = match (about, note) {
        (about, "") => about.to_owned(),
        ("", note) => note.to_owned(),
        (about, note) => format!("{about}; {note}"),
    };
    Some(whole_mean(name, &about, cycles, nanoseconds.trim()))
}

/// A row without: `title :   FAILED ,   FAILED : note`.
fn failed(line: &str) -> Option<Row> {
    let (left, right) = line.split_once(FAILED)?;
    let title = left.trim_end().strip_suffix(':')?;
    let note = right.trim_start().strip_prefix("FAILED")?;
    let (name, about) = name_and_about(title)?;
    let why = match note.trim_matches([' ', ':']) {
        "" => "it says `FAILED`".to_owned(),
        note => format!("it says `FAILED`: {note}"),
    };
    let mut row = Row::new(name, Figure::Failed(why));
    about.clone_into(&mut row.about);
    Some(row)
}

/// A row with a mean of samples whose number nobody says.
pub(super) fn mean(name: &str, about: &str, cycles: &str, nanoseconds: Option<&str>) -> Row {
    let numbers = number(cycles).and_then(|ticks| {
        let nanoseconds = nanoseconds.map(number).transpose()?;
        Ok((ticks, nanoseconds))
    });
    let (figure, nanoseconds) = match numbers {
        Ok((ticks, nanoseconds)) => {
            let stat = Stat::of_mean(1, ticks);
            (Figure::Summary(stat), nanoseconds)
        }
        Err(why) => (Figure::Failed(why), None),
    };
    Row {
        about: about.to_owned(),
        nanoseconds,
        ..Row::new(name, figure)
    }
}

/// The same where the source prints whole numbers.
fn whole_mean(name: &str, about: &str, cycles: &str, nanoseconds: &str) -> Row {
    match whole(cycles).and(whole(nanoseconds)) {
        Ok(_) => mean(name, about, cycles, Some(nanoseconds)),
        Err(why) => Row {
            about: about.to_owned(),
            ..Row::new(name, Figure::Failed(why))
        },
    }
}

/// What stands before the colon: a name, and what it is after a dash.
pub(super) fn name_and_about(title: &str) -> Option<(&str, &str)> {
    let title = without_label(title);
    let (name, about) = title.split_once(" - ").unwrap_or((title, ""));
    let name = name.trim();
    (!name.is_empty()).then_some((name, about.trim()))
}

/// What stands in a line of the box. A text with a line break in it lacks the right edge.
fn boxed(line: &str) -> Option<&str> {
    let (_, text) = line.split_once('|')?;
    Some(text.trim_end().trim_end_matches('|').trim())
}

/// What follows the first of these signs.
fn after<'a>(line: &'a str, signs: &[&str]) -> Option<&'a str> {
    let (_, text) = signs.iter().find_map(|sign| line.split_once(sign))?;
    Some(text.trim())
}
