// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the logs of all Zephyr applications have in common: the banner of a boot, the mark at the
//! end, and labels before a line.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::text::Unread;
use super::{counter_clock, Row, Source};
use crate::stream::run::Fact;

/// What a banner of a boot holds: `***** BOOTING ZEPHYR OS v1.7.99 - BUILD: ... *****` (1.x),
/// `*** Booting Zephyr OS build v4.2.0 ***`, and `*** Using Zephyr OS v3.7.99 ***` under the nRF
/// Connect SDK, which boots in its own name.
pub(super) const BOOT_SIGNS: [&str; 3] = [
    "BOOTING ZEPHYR OS ",
    "Booting Zephyr OS ",
    "Using Zephyr OS ",
];

/// What the mark at the end holds, whatever the result.
pub(super) const END_SIGN: &str = "PROJECT EXECUTION ";

const SUCCESSFUL: &str = "PROJECT EXECUTION SUCCESSFUL";
const FAILED: &str = "PROJECT EXECUTION FAILED";

/// A line that begins or ends what a boot tells.
pub(super) enum Mark<'a> {
    /// The banner, and the version in it; tags of older versions begin with `zephyr-`.
    Booted(&'a str),
    /// The end of a test application.
    Successful,
    /// The same, with errors.
    Failed,
}

/// The mark that a line is.
pub(super) fn mark(line: &str) -> Option<Mark<'_>> {
    // All at once: most lines are none.
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let marks = [SUCCESSFUL, FAILED].into_iter().chain(BOOT_SIGNS);
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

/// Whether a line is an end mark to its last letter, though its line end is missing.
pub(super) fn is_end_mark(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(SUCCESSFUL) || line.ends_with(FAILED)
}

/// The boots that a log tells of, each a source.
pub(super) struct Boots {
    tool: &'static str,
    sources: Vec<Source>,
    facts: Vec<Fact>,
    rows: Vec<Row>,
    has_begun: bool,
    is_ended: bool,
    cut: Option<String>,
    unread: Unread,
}

impl Boots {
    /// None yet; `tool` is what measures in them.
    pub(super) fn new(tool: &'static str) -> Self {
        Boots {
            tool,
            sources: Vec::new(),
            facts: Vec::new(),
            rows: Vec::new(),
            has_begun: false,
            is_ended: false,
            cut: None,
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
                self.cut(format!("it ended with {FAILED}"));
            }
        }
    }

    /// The tool says that it begins; a boot that ends before its first row is a source, too.
    pub(super) fn begin(&mut self) {
        if self.has_begun || self.is_ended || !self.rows.is_empty() {
            self.close();
        }
        self.has_begun = true;
    }

    /// The tool says that it ends, and not whether it was successful.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// What the tool tells of this boot; what it said first stays.
    pub(super) fn fact(&mut self, name: &str, value: &str) {
        if self.facts.iter().all(|fact| fact.name != name) {
            self.facts.push(Fact::new(name, value));
        }
    }

    /// Why this boot does not tell all; the first reason stays.
    pub(super) fn cut(&mut self, why: String) {
        self.cut.get_or_insert(why);
    }

    /// Takes what was measured. After the mark at the end it belongs to a boot whose banner the
    /// log lost.
    pub(super) fn row(&mut self, row: Row) {
        if self.is_ended {
            self.close();
        }
        self.rows.push(row);
    }

    /// Takes a line that looks like a row and cannot be read.
    pub(super) fn unread(&mut self, line: &str) {
        self.unread.line(line);
    }

    /// The last row of this boot.
    pub(super) fn last_row(&mut self) -> Option<&mut Row> {
        self.rows.last_mut()
    }

    /// The boots in which the tool measured or said that it would.
    pub(super) fn finish(mut self) -> Vec<Source> {
        self.close();
        self.sources
    }

    fn close(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let told = std::mem::take(&mut self.facts);
        let mut cut = self.cut.take();
        if !self.is_ended {
            cut.get_or_insert(format!("its end mark, {SUCCESSFUL}, is missing"));
        }
        if self.has_begun || !rows.is_empty() {
            let mut facts = vec![Fact::new("tool", self.tool)];
            facts.extend(told);
            self.sources.push(Source {
                facts,
                // Where a log states a frequency, it is cut to whole megahertz (19.2 MHz is `19 MHz`).
                // `check` derives a better one from rows with both cycles and nanoseconds.
                clock: counter_clock(),
                rows,
                cut,
            });
            std::mem::take(&mut self.unread).tell(&mut self.sources);
        }
        self.has_begun = false;
        self.is_ended = false;
    }
}

/// A line without a label that a console put before it. No benchmark has a name with a colon and a
/// blank in it.
pub(super) fn without_label(line: &str) -> &str {
    line.rsplit_once(": ").map_or(line, |(_, rest)| rest).trim()
}

/// A number as `printk` writes it; the error is what a row without one says.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    let number = if is_plain { text.parse().ok() } else { None };
    number.ok_or_else(|| format!("`{text}` is no number"))
}
