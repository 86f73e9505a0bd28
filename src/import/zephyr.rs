// SPDX-License-Identifier: MIT OR Apache-2.0

//! Common code for logs of Zephyr applications.
//!
//! In: boot banners, end marks and rows. Out: a source for each boot.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::text::Unread;
use super::{counter_clock, Row, Source};
use crate::stream::run::Fact;

/// A boot banner contains one of these: `***** BOOTING ZEPHYR OS v1.7.99 - BUILD: ... *****` (1.x),
/// `*** Booting Zephyr OS build v4.2.0 ***`, or `*** Using Zephyr OS v3.7.99 ***` (nRF Connect SDK, after
/// a banner of its own).
pub(super) const BOOT_MARKS: [&str; 3] = [
    "BOOTING ZEPHYR OS ",
    "Booting Zephyr OS ",
    "Using Zephyr OS ",
];

/// The end mark contains this, whatever the result.
pub(super) const END_MARK: &str = "PROJECT EXECUTION ";

const SUCCESSFUL: &str = "PROJECT EXECUTION SUCCESSFUL";
const FAILED: &str = "PROJECT EXECUTION FAILED";

/// A line at the start or end of a boot's output.
pub(super) enum Mark<'a> {
    /// The banner with its version, without the `zephyr-` of older versions.
    Booted(&'a str),
    /// The end of a test application without errors.
    Successful,
    /// The end of a test application with errors.
    Failed,
}

/// The mark in a line.
pub(super) fn mark(line: &str) -> Option<Mark<'_>> {
    // One search for all marks, because most lines contain none.
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let marks = [SUCCESSFUL, FAILED].into_iter().chain(BOOT_MARKS);
        AhoCorasick::new(marks).expect("the marks are few")
    });
    let found = MARKS.find(line)?;
    match found.pattern().as_usize() {
        0 => Some(Mark::Successful),
        1 => Some(Mark::Failed),
        _ => {
            let rest = line.get(found.end()..)?;
            let rest = rest.strip_prefix("build ").unwrap_or(rest);
            let rest = rest.strip_prefix("version ").unwrap_or(rest);
            let version = rest.split_ascii_whitespace().next()?;
            let version = version.strip_prefix("zephyr-").unwrap_or(version);
            Some(Mark::Booted(version))
        }
    }
}

/// Whether a line without a line end is a complete end mark.
pub(super) fn is_end_mark(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(SUCCESSFUL) || line.ends_with(FAILED)
}

/// Collects the boots in a log. Each boot becomes a source.
pub(super) struct Boots {
    tool: &'static str,
    sources: Vec<Source>,
    facts: Vec<Fact>,
    rows: Vec<Row>,
    has_begun: bool,
    is_ended: bool,
    incomplete: Option<String>,
    unread: Unread,
}

impl Boots {
    /// No boots yet; `tool` is the benchmark that runs in them.
    pub(super) fn new(tool: &'static str) -> Self {
        Boots {
            tool,
            sources: Vec::new(),
            facts: Vec::new(),
            rows: Vec::new(),
            has_begun: false,
            is_ended: false,
            incomplete: None,
            unread: Unread::default(),
        }
    }

    /// Takes a mark.
    pub(super) fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Booted(version) => {
                self.close();
                self.fact("kernel", &format!("Zephyr {version}"));
            }
            Mark::Successful => self.is_ended = true,
            Mark::Failed => {
                self.is_ended = true;
                self.mark_incomplete(format!("it ended with {FAILED}"));
            }
        }
    }

    /// The tool starts. A boot in which it starts is a source even without rows.
    pub(super) fn begin(&mut self) {
        if self.has_begun || self.is_ended || !self.rows.is_empty() {
            self.close();
        }
        self.has_begun = true;
    }

    /// The tool ends, without stating whether it was successful.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Adds a fact about this boot, unless there already is one of this name.
    pub(super) fn fact(&mut self, name: &str, value: &str) {
        if self.facts.iter().all(|fact| fact.name != name) {
            self.facts.push(Fact::new(name, value));
        }
    }

    /// Marks this boot as incomplete; the first reason is kept.
    pub(super) fn mark_incomplete(&mut self, why: String) {
        self.incomplete.get_or_insert(why);
    }

    /// Takes a row. After an end mark it belongs to another boot, whose banner is missing.
    pub(super) fn row(&mut self, row: Row) {
        if self.is_ended {
            self.close();
        }
        self.rows.push(row);
    }

    /// Takes a line that looks like a row but cannot be read.
    pub(super) fn unread(&mut self, line: &str) {
        self.unread.add(line);
    }

    /// The last row of this boot.
    pub(super) fn last_row(&mut self) -> Option<&mut Row> {
        self.rows.last_mut()
    }

    /// The boots in which the tool started or printed a row.
    pub(super) fn finish(mut self) -> Vec<Source> {
        self.close();
        self.sources
    }

    fn close(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let boot_facts = std::mem::take(&mut self.facts);
        let mut incomplete = self.incomplete.take();
        if !self.is_ended {
            incomplete.get_or_insert(format!("the end mark, {SUCCESSFUL}, is missing"));
        }
        if self.has_begun || !rows.is_empty() {
            let mut facts = vec![Fact::new("tool", self.tool)];
            facts.extend(boot_facts);
            self.sources.push(Source {
                facts,
                // Frequencies in a log are truncated to whole megahertz (19.2 MHz is `19 MHz`).
                // `check` derives a better one from rows with both cycles and nanoseconds.
                clock: counter_clock(),
                rows,
                incomplete,
            });
            std::mem::take(&mut self.unread).report_in(&mut self.sources);
        }
        self.has_begun = false;
        self.is_ended = false;
    }
}

/// A line without a console's label. No benchmark has a name that contains a colon and a blank.
pub(super) fn without_label(line: &str) -> &str {
    line.rsplit_once(": ").map_or(line, |(_, rest)| rest).trim()
}

/// Parses a number that `printk` wrote.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    let number = if is_plain { text.parse().ok() } else { None };
    number.ok_or_else(|| format!("`{text}` is not a number"))
}
