// SPDX-License-Identifier: MIT OR Apache-2.0

//! rtos-benchmark of the Zephyr project: its console output.
//!
//! All revisions since 2020 print the same on Zephyr, FreeRTOS, `NuttX`, RTEMS and `VxWorks`:
//!
//! - ` *** Starting! ***`, and at the end ` *** Done! ***`.
//! - `** Mutex Stats [avg, min, max] in nanoseconds **`, the title of a section.
//! - ` Lock (no owner)                         :    810,    810,   1150`, a row: mean, minimum and
//!   maximum, truncated to whole nanoseconds. The build sets the number of samples, which is not printed.
//!   A row has `n/a` three times if the port does not support it.
//! - On `VxWorks`, before that, `Rtos-benchmark Testing for ...` and lines about the system.
//!
//! rtos-benchmark subtracts the cost of reading the clock from every sample, so its unsigned values can
//! wrap around. They are passed on unchanged. A point in a figure may separate thousands, so such a row
//! fails.
//!
//! Several sections have rows of the same title (`Create`, `Send`). So a row is named after its section,
//! without the word `stats`, and its title: `Mutex: Lock (no owner)`.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::text::{figure, number, without_point, Unread};
use super::{Figure, Format, Lines, Printed, Reader, Row, Source, NANOSECOND};
use crate::stream::run::{Fact, Stat};

/// The console output of rtos-benchmark.
pub const FORMAT: Format = Format {
    name: "rtos-benchmark",
    about: "rtos-benchmark of the Zephyr project, on any RTOS",
    recognised_by: "`** Thread stats [avg, min, max] in nanoseconds **`",
    lines: Some(Lines {
        start_marks: &[TITLE_END, VXWORKS],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const TITLE_END: &str = " [avg, min, max] in nanoseconds **";
const VXWORKS: &str = "Rtos-benchmark Testing for ";
const START: &str = "*** Starting! ***";
const END: &str = "*** Done! ***";
const MARKS: [&str; 4] = [START, END, VXWORKS, TITLE_END];

/// Figures are unsigned integers, of 32 bits in some ports.
const PRINTED: Printed = Printed {
    is_unsigned: true,
    ..Printed::time("ns", NANOSECOND)
};

/// Rows are `" %-40s: "`.
const NAME_WIDTH: usize = 40;

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    /// The names of the rows of the last source.
    names: HashSet<String>,
    section: String,
    is_started: bool,
    unread: Unread,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        // One search for all marks, because most lines contain none.
        static FOUND: LazyLock<AhoCorasick> =
            LazyLock::new(|| AhoCorasick::new(MARKS).expect("the marks are few"));
        let found = FOUND.find(line);
        match found.map(|found| (MARKS[found.pattern()], found.start())) {
            Some((START, _)) => {
                self.section.clear();
                if self.is_started {
                    self.begin();
                } else {
                    // Lines about the system may precede the start.
                    self.current();
                }
                self.is_started = true;
            }
            Some((END, _)) => {
                if let Some(source) = self.sources.last_mut() {
                    source.incomplete = None;
                }
                self.is_started = false;
                self.section.clear();
            }
            Some((VXWORKS, _)) => {
                self.section.clear();
                self.begin();
            }
            Some((_, title_end)) => {
                let before = &line[..title_end];
                let title = before.rsplit_once("** ").map_or(before, |(_, title)| title);
                let title = title.trim_end_matches(" stats").trim_end_matches(" Stats");
                title.clone_into(&mut self.section);
            }
            None if self.section.is_empty() => self.fact(line),
            None => self.row(line),
        }
    }

    fn accepts_unterminated(&self, line: &str) -> bool {
        line.trim_end().ends_with(END)
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        let mut sources = self.sources;
        sources.retain(|source| !source.rows.is_empty());
        self.unread.report_in(&mut sources);
        sources
    }
}

impl Log {
    fn begin(&mut self) {
        self.is_started = false;
        self.names.clear();
        self.sources.push(Source {
            incomplete: Some(format!("the end mark `{END}` is missing")),
            ..Source::of_times("rtos-benchmark", Vec::new())
        });
    }

    fn current(&mut self) -> &mut Source {
        if self
            .sources
            .last()
            .is_none_or(|source| source.incomplete.is_none())
        {
            self.begin();
        }
        self.sources.last_mut().expect("a source has begun")
    }

    /// Takes a line about the system, which `VxWorks` prints.
    fn fact(&mut self, line: &str) {
        let Some(source) = self
            .sources
            .last_mut()
            .filter(|source| source.rows.is_empty())
        else {
            return;
        };
        let line = line.trim();
        if let Some((_, rest)) = line.split_once("VxWorks (for ") {
            let board = rest.split_once(')').map_or(rest, |(board, _)| board);
            source.facts.push(Fact::new("board", board));
        } else if let Some(version) = line.strip_prefix("Kernel: Core Kernel version: ") {
            source
                .facts
                .push(Fact::new("kernel", format!("VxWorks {version}")));
        } else if let Some(date) = line.strip_prefix("Made on ") {
            source.facts.push(Fact::new("built", date));
        }
    }

    fn row(&mut self, line: &str) {
        let Some((before, values)) = line.rsplit_once(':') else {
            return;
        };
        let mut three = values.split(',').map(str::trim);
        let (Some(mean), Some(min), Some(max), None) =
            (three.next(), three.next(), three.next(), three.next())
        else {
            if values.contains(',')
                && values
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_digit())
            {
                self.unread.add(line);
            }
            return;
        };
        // The name has a fixed width; a console prefix may precede it.
        let start = before.len().saturating_sub(NAME_WIDTH);
        let words = before
            .get(start..)
            .unwrap_or(before)
            .split_ascii_whitespace();
        let name = words.collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            return;
        }
        let name = format!("{}: {name}", self.section);
        let figure = if mean == "n/a" {
            Figure::Skipped("n/a: this port does not support it".to_owned())
        } else {
            figure(line, summary(mean, min, max))
        };
        if self.names.contains(&name) {
            // The system rebooted, and the log lacks the first lines of the boot.
            self.begin();
        }
        self.current().rows.push(Row {
            printed: Some(PRINTED),
            ..Row::new(&name, figure)
        });
        self.names.insert(name);
    }
}

fn summary(mean: &str, min: &str, max: &str) -> Result<Stat, String> {
    let picoseconds = |text| Ok::<_, String>(number(without_point(text)?)? * NANOSECOND);
    Ok(Stat {
        min: Some(picoseconds(min)?),
        max: Some(picoseconds(max)?),
        ..Stat::of_mean(1, picoseconds(mean)?)
    })
}
