// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr's `tests/benchmarks/latency_measure`, all versions: its console output.
//!
//! Up to 2.3 it prints a box. A section has a title and one or two figures, in ticks of the system
//! timer (`tcs`) and nanoseconds. A row is named after both title and figure, without the section's
//! number, because sections share the names of figures: `Measure time to switch from ISR back to
//! interrupted thread: switching time`. An error in place of a figure becomes a failed row with the name of
//! the section.
//!
//! ```text
//! |  tcs = timer clock cycles: 1 tcs is 12 nsec                                 |
//! | 1 - Measure time to switch from ISR back to interrupted thread              |
//! | switching time is 107 tcs = 1337 nsec                                       |
//! ```
//!
//! From 2.4 on it prints a line for each figure. Between 3.5 and 3.6, the modes of the threads and a colon
//! with a note at the end were added; a figure without a number is `FAILED`. 3.6 introduced ids, with or
//! without a description after a dash. A row is named after the text before the dash or the colon.
//!
//! ```text
//! Average thread context switch using yield            :     420 cycles ,     3502 ns
//! Give a semaphore (context switch K -> K)             :     789 cycles ,     6575 ns :
//! heap.malloc.immediate    - Average time for heap malloc     :     610 cycles ,     5083 ns :
//! heap.malloc.immediate    - Average time for heap malloc     :     FAILED ,     FAILED : why
//! ```
//!
//! `tests/benchmarks/timing_info` (1.8 to 2.3) and the verbose output of `wait_queues` and
//! `sched_queues` have the same lines and are read too.
//!
//! Figures are means, truncated to integers. The log does not state the number of iterations (1000 in most
//! versions), so `samples` is 1. Other lines that are read: the boot banner,
//! `Clock frequency: 120 MHz`, `1 tcs is 12 nsec`. Output with `CSV_FORMAT_OUTPUT`, which is enabled in the
//! source, is not read.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::text::without_point;
use super::zephyr::{is_end_mark, mark, number, without_label, Boots, BOOT_MARKS, END_MARK};
use super::{Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::Stat;

/// The output of `latency_measure`.
pub const FORMAT: Format = Format {
    name: "zephyr-latency",
    about: "Zephyr's tests/benchmarks/latency_measure",
    recognised_by: "lines like `Lock a mutex : 94 cycles , 783 ns`, or a box `Latency Benchmark`",
    lines: Some(Lines {
        start_marks: &START_MARKS,
        reader: || Box::new(Log::new()),
    }),
    document: None,
};

const START_MARKS: [&str; 8] = [
    BOOT_MARKS[0],
    BOOT_MARKS[1],
    BOOT_MARKS[2],
    STARTS[0],
    STARTS[1],
    BOX_START,
    CYCLES,
    FAILED,
];
/// Other lines that are read contain one of these.
const LATER_MARKS: [&str; 4] = [
    END_MARK,
    FREQUENCY_LABELS[0],
    FREQUENCY_LABELS[1],
    TICK_OCCURRED,
];

/// The first lines of the benchmark since 2.4, and of `timing_info`.
const STARTS: [&str; 2] = [
    "START - Time Measurement",
    "starting test - Time Measurement",
];
/// The title of the box, before 1.6 after `Nanokernel` or `Microkernel`.
const BOX_START: &str = "Latency Benchmark  ";
const CYCLES: &str = " cycles ,";
const FAILED: &str = "FAILED , ";
/// The second form is that of `timing_info`.
const FREQUENCY_LABELS: [&str; 2] = ["Clock frequency: ", "Clock Frequency: "];
/// Versions 2.4 to 3.5 print this in place of a row that a timer tick disturbed.
const TICK_OCCURRED: &str = "Error: tick occurred";

struct Log {
    boots: Boots,
    /// The title of the current section; empty before the first one, `None` outside the box.
    section: Option<String>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        // One search for all marks, because most lines contain none.
        static ANY: LazyLock<AhoCorasick> = LazyLock::new(|| {
            let marks = START_MARKS.iter().chain(&LATER_MARKS);
            AhoCorasick::new(marks).expect("the marks are few")
        });
        if self.section.is_none() && !ANY.is_match(line) {
            return;
        }
        if let Some(row) = measured(line).or_else(|| failed(line)) {
            self.boots.row(row);
        } else if let Some(mark) = mark(line) {
            self.section = None;
            self.boots.mark(&mark);
        } else if line.contains(BOX_START) {
            self.section = Some(String::new());
            self.boots.begin();
        } else if let (Some(_), Some(text)) = (&self.section, boxed(line)) {
            self.boxed(text);
        } else if STARTS.iter().any(|start| line.contains(start)) {
            self.boots.begin();
        } else if let Some(frequency) = after(line, &FREQUENCY_LABELS) {
            self.boots.fact("clock_frequency", frequency);
        } else if line.contains(TICK_OCCURRED) {
            let why = "a row is missing; the log has `Error: tick occurred` instead";
            self.boots.mark_incomplete(why.to_owned());
        } else if line.contains(CYCLES) {
            self.boots.unread(line);
        }
    }

    fn accepts_unterminated(&self, line: &str) -> bool {
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

    /// Takes the text of a line of the box.
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
        let Some((label, ticks)) = left.rsplit_once(' ') else {
            return;
        };
        let label = label.trim_end();
        let label = label.strip_suffix(" is").unwrap_or(label);
        let title = self.section.as_deref().unwrap_or_default();
        let name = format!("{title}: {label}");
        self.boots.row(integer_mean(&name, "", ticks, nanoseconds));
    }

    /// Takes an error in place of a figure. The first error of a section is kept.
    fn boxed_error(&mut self, text: &str) {
        let title = self.section.as_deref().unwrap_or_default();
        if title.is_empty() {
            self.boots.mark_incomplete(format!("it prints `{text}`"));
        } else if self.boots.last_row().is_none_or(|row| row.name != title) {
            let row = Row::new(title, Figure::Failed(text.to_owned()));
            self.boots.row(row);
        }
    }
}

/// Parses a row with numbers: `title :  329 cycles ,  2741 ns : note`.
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
    Some(integer_mean(name, &about, cycles, nanoseconds.trim()))
}

/// Parses a row without numbers: `title :   FAILED ,   FAILED : note`.
fn failed(line: &str) -> Option<Row> {
    let (left, right) = line.split_once(FAILED)?;
    let title = left.trim_end().strip_suffix(':')?;
    let note = right.trim_start().strip_prefix("FAILED")?;
    let (name, about) = name_and_about(title)?;
    let why = match note.trim_matches([' ', ':']) {
        "" => "it reports `FAILED`".to_owned(),
        note => format!("it reports `FAILED`: {note}"),
    };
    let mut row = Row::new(name, Figure::Failed(why));
    about.clone_into(&mut row.about);
    Some(row)
}

/// A row with a mean over an unknown number of samples.
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

/// Like [`mean`], for a source that prints integers.
fn integer_mean(name: &str, about: &str, cycles: &str, nanoseconds: &str) -> Row {
    match without_point(cycles).and(without_point(nanoseconds)) {
        Ok(_) => mean(name, about, cycles, Some(nanoseconds)),
        Err(why) => Row {
            about: about.to_owned(),
            ..Row::new(name, Figure::Failed(why))
        },
    }
}

/// Splits the text before the colon into the name and the description after the dash.
pub(super) fn name_and_about(title: &str) -> Option<(&str, &str)> {
    let title = without_label(title);
    let (name, about) = title.split_once(" - ").unwrap_or((title, ""));
    let name = name.trim();
    (!name.is_empty()).then_some((name, about.trim()))
}

/// The text of a line of the box. The right edge is missing if the text contains a line break.
fn boxed(line: &str) -> Option<&str> {
    let (_, text) = line.split_once('|')?;
    Some(text.trim_end().trim_end_matches('|').trim())
}

/// The text after the first of these labels that the line contains.
fn after<'a>(line: &'a str, labels: &[&str]) -> Option<&'a str> {
    let (_, text) = labels.iter().find_map(|label| line.split_once(label))?;
    Some(text.trim())
}
