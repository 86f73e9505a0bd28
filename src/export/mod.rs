// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes results for other programs.
//!
//! In: runs, comparisons, catalogs and the calls of paths. Out: text in our own formats (JSON, CSV,
//! Markdown), or in formats of other programs for runs ([`FOREIGN`]) and for paths ([`PATHS`]).
//! `doc/formats.md` describes them.

mod bencher;
mod callgrind;
pub mod csv;
mod flame;
mod folded;
mod fuchsiaperf;
mod github_action;
mod go;
mod google_benchmark;
mod hdr;
pub mod history;
pub mod json;
pub mod junit;
mod kcidb;
pub mod markdown;
mod openmetrics;
mod perfetto;
mod zephyr;

use std::fmt::{self, Write};

use crate::base::number::plural;
use crate::base::text::plain;
use crate::judge::conditions;
use crate::judge::summary::{self, summarise, Status, Summary, Values};
use crate::report::problems::tally;
use crate::report::provenance;
use crate::stream::run::{Fact, Run, Unit};
use crate::trace::tree::CallTree;

/// The formats of other programs, in the order in which the help lists them.
pub static FOREIGN: [&Foreign; 10] = [
    &go::FORMAT,
    &google_benchmark::FORMAT,
    &bencher::FORMAT,
    &github_action::FORMAT,
    &fuchsiaperf::FORMAT,
    &zephyr::FORMAT,
    &kcidb::FORMAT,
    &openmetrics::FORMAT,
    &hdr::FORMAT,
    &junit::FORMAT,
];

/// A format of other programs, in which a run can be written.
pub struct Foreign {
    /// The name, as `--format` accepts it.
    pub name: &'static str,
    /// What it is and which program reads it, for people.
    pub about: &'static str,
    /// What it omits of a run; the text follows "leaves out".
    pub leaves_out: &'static str,
    /// How it represents a metric without a number.
    pub unmeasured: Unmeasured,
    /// Which metrics it can represent.
    pub carries: Carries,
    /// Writes a run. The output depends only on the run.
    pub write: fn(&Run) -> String,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Foreign").field(&self.name).finish()
    }
}

/// The formats of other programs for the calls of a path, in the order in which the help lists them.
pub static PATHS: [&PathFormat; 4] = [
    &callgrind::FORMAT,
    &perfetto::FORMAT,
    &folded::FORMAT,
    &flame::FORMAT,
];

/// A format of other programs, in which the calls of a path can be written.
pub struct PathFormat {
    /// The name, as `--format` accepts it.
    pub name: &'static str,
    /// What it is and which program reads it, for people.
    pub about: &'static str,
    /// What it omits of a path; the text follows "leaves out".
    pub leaves_out: &'static str,
    /// Writes a path. The output depends only on the path.
    pub write: fn(&CallTree) -> String,
    /// Writes what differs between a path before and a path after, if the format can.
    pub difference: Option<fn(&CallTree, &CallTree) -> String>,
}

impl fmt::Debug for PathFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathFormat").field(&self.name).finish()
    }
}

/// This program and its version, as files name what wrote them.
const CREATOR: &str = concat!("kernmark ", env!("CARGO_PKG_VERSION"));

/// How a format represents a metric without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// With its name and the reason.
    Explained,
    /// Not at all.
    LeftOut,
}

/// Which metrics a format can represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Times and instructions.
    All,
    /// Only times. The format has no other unit, and instructions are never shown as time.
    Time,
}

impl Carries {
    fn unit(self, unit: Unit) -> bool {
        self == Carries::All || unit == Unit::Cycles
    }
}

impl Foreign {
    /// What the format omits of this run, for people: a line for each loss.
    ///
    /// # Errors
    ///
    /// The run has numbers, but the format can represent none of them.
    pub fn losses(&self, run: &Run) -> Result<Vec<String>, String> {
        let name = self.name;
        let summaries = summarise(run);
        let measured = || summaries.iter().filter(|s| s.status == Status::Ok);
        let other = measured().filter(|s| !self.carries.unit(s.unit)).count();
        if other > 0 && other == measured().count() {
            return Err(format!(
                "{name} can only represent times, and this run has none; choose another format"
            ));
        }
        let mut lines = vec![format!("{name} leaves out {}", self.leaves_out)];
        let unmeasured = summaries.len() - measured().count();
        if unmeasured > 0 {
            let count = plural(unmeasured as u64, "metric");
            let tally = tally(&summaries);
            lines.push(match self.unmeasured {
                Unmeasured::Explained => {
                    format!("{name} gives the reason for {count} without a number ({tally})")
                }
                Unmeasured::LeftOut => {
                    format!("{name} leaves out {count} without a number ({tally})")
                }
            });
        }
        if other > 0 {
            lines.push(format!(
                "{name} can only represent times and leaves out {} in other units",
                plural(other as u64, "metric")
            ));
        }
        Ok(lines)
    }
}

/// A metric with the data that the formats of other programs need.
struct Item<'a> {
    summary: Summary,
    values: Values<'a>,
}

impl<'a> Item<'a> {
    /// The metrics of a run, in its order.
    fn all(run: &'a Run) -> impl Iterator<Item = Item<'a>> {
        let pairs = summarise(run).into_iter().zip(summary::values(run));
        pairs.map(|(summary, values)| Item { summary, values })
    }

    /// The median of the run in nanoseconds, ticks or instructions; `None` without a number.
    fn median(&self) -> Option<f64> {
        in_unit(&self.summary, self.summary.median)
    }

    /// The ends of the median's interval, in the same unit.
    fn interval(&self) -> Option<(f64, f64)> {
        let low = in_unit(&self.summary, self.summary.low)?;
        let high = in_unit(&self.summary, self.summary.high)?;
        Some((low, high))
    }

    /// Why it has no number, in one line: `skipped: needs real-time priority`.
    fn reason(&self) -> String {
        let status = status(self.summary.status);
        match &self.summary.reason {
            Some(reason) => format!("{status}: {reason}"),
            None => status.to_owned(),
        }
    }
}

/// A name with every byte escaped except letters, digits and those in `kept`. Our own ids do not change;
/// decoding restores others. An escape is the text `escape` and two hexadecimal digits.
fn escaped(name: &str, kept: &str, escape: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "{escape}{byte:02x}");
        }
    }
    out
}

/// Escapes text for XML, for attributes and content. Control characters and others that XML 1.0 forbids
/// (section 2.2) are written as `\u{1b}`, as in all reports.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

/// The characters of our ids, besides letters and digits.
const ID_PUNCTUATION: &str = "._+";

/// The tool, start time and measured system of a run, for people: labels and texts without control
/// characters.
fn description(run: &Run, items: &[Item]) -> Vec<(&'static str, String)> {
    let summaries: Vec<Summary> = items.iter().map(|item| item.summary.clone()).collect();
    let known =
        ["tool", STARTED].map(|name| (name, Fact::value_in(&run.host, name).map(str::to_owned)));
    let known = known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known
        .chain(provenance::lines(run, &summaries))
        .map(|(label, text)| (label, plain(&text)))
        .collect()
}

/// The fact with the start time of the run, in the format of RFC 3339.
const STARTED: &str = "started";

/// The known conditions that must be the same in a comparison, without control characters.
fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let known = conditions::conditions(run).into_iter();
    known
        .filter(|condition| !condition.values.is_empty())
        .map(|condition| {
            let values: Vec<String> = condition.values.iter().map(|value| plain(value)).collect();
            (condition.name, values.join(" and "))
        })
        .collect()
}

/// The name of a status in the formats.
#[must_use]
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete => "incomplete",
    }
}

/// The status of a metric that is not in a run.
const ABSENT: &str = "absent";

/// Converts ticks to nanoseconds if the clock's frequency is known. Instructions and other ticks do not
/// change.
fn in_unit(summary: &Summary, ticks: Option<f64>) -> Option<f64> {
    ticks.map(|ticks| summary.nanoseconds(ticks).unwrap_or(ticks))
}
