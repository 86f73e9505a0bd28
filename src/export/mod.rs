// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs and catalogs in formats that other programs read: our own, and those of others
//! ([`FOREIGN`], `doc/formats.md`).

mod bencher;
pub mod csv;
mod fuchsiaperf;
mod github_action;
mod go;
mod google_benchmark;
mod hdr;
pub mod json;
pub mod junit;
mod kcidb;
pub mod markdown;
mod openmetrics;
mod zephyr;

use std::fmt::{self, Write};

use crate::base::number::plural;
use crate::base::text::plain;
use crate::judge::conditions;
use crate::judge::summary::{self, summarise, Status, Summary, Values};
use crate::report::problems::tally;
use crate::report::provenance;
use crate::stream::run::{Fact, Run, Unit};

/// The formats of other programs, in the order of the help.
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

/// A format of other programs that a run can be written in.
pub struct Foreign {
    /// What `--format` calls it.
    pub name: &'static str,
    /// What it is and who reads it, for people.
    pub about: &'static str,
    /// What of a run it leaves out, in words that follow these.
    pub leaves_out: &'static str,
    /// How it says that a metric has no number.
    pub unmeasured: Unmeasured,
    /// Which metrics it can carry.
    pub carries: Carries,
    /// Writes a run. What is written depends on the run alone.
    pub write: fn(&Run) -> String,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Foreign").field(&self.name).finish()
    }
}

/// How a format says that a metric has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// It names the metric and the reason.
    Told,
    /// It has no way to: the metric is not in it.
    LeftOut,
}

/// Which metrics a format can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Those measured in time, and those counted in instructions.
    All,
    /// Those measured in time: it has no other unit, and instructions are never shown as time.
    Time,
}

impl Carries {
    fn unit(self, unit: Unit) -> bool {
        self == Carries::All || unit == Unit::Cycles
    }
}

impl Foreign {
    /// What of this run is not in the format, a line each, for people.
    ///
    /// # Errors
    ///
    /// When nothing at all would be in it, though the run has numbers.
    pub fn losses(&self, run: &Run) -> Result<Vec<String>, String> {
        let name = self.name;
        let summaries = summarise(run);
        let measured = || summaries.iter().filter(|s| s.status == Status::Ok);
        let other = measured().filter(|s| !self.carries.unit(s.unit)).count();
        if other > 0 && other == measured().count() {
            return Err(format!(
                "{name} knows time only, and this run has none; choose another format"
            ));
        }
        let mut lines = vec![format!("{name} leaves out {}", self.leaves_out)];
        let unmeasured = summaries.len() - measured().count();
        if unmeasured > 0 {
            let count = plural(unmeasured as u64, "metric");
            let tally = tally(&summaries);
            lines.push(match self.unmeasured {
                Unmeasured::Told => {
                    format!("{name} says why {count} without a number have none ({tally})")
                }
                Unmeasured::LeftOut => {
                    format!("{name} leaves out {count} without a number ({tally})")
                }
            });
        }
        if other > 0 {
            lines.push(format!(
                "{name} knows time only and leaves out {} in other units",
                plural(other as u64, "metric")
            ));
        }
        Ok(lines)
    }
}

/// A metric as the formats of other programs need it.
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

    /// The median of the run in nanoseconds or instructions; `None` without a number.
    fn median(&self) -> Option<f64> {
        shown(&self.summary, self.summary.median)
    }

    /// The ends of the interval of the median, in the same unit.
    fn interval(&self) -> Option<(f64, f64)> {
        let low = shown(&self.summary, self.summary.low)?;
        let high = shown(&self.summary, self.summary.high)?;
        Some((low, high))
    }

    /// Why it has no number, in a line: `skipped: needs real-time priority`.
    fn reason(&self) -> String {
        let status = status(self.summary.status);
        match &self.summary.reason {
            Some(reason) => format!("{status}: {reason}"),
            None => status.to_owned(),
        }
    }
}

/// A name in which every byte is escaped but letters, digits and those of `kept`: our ids stay as
/// they are, others come back by decoding. `escape` begins the two hexadecimal digits.
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

/// The characters of our ids besides letters and digits.
const OF_IDS: &str = "._+";

/// What a run was made with and on, for people: labels and texts, safe to show.
fn about(run: &Run, items: &[Item]) -> Vec<(&'static str, String)> {
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

/// The fact of the tool that says when the run began, as RFC 3339 has it.
const STARTED: &str = "started";

/// The conditions that comparisons need to be the same, where the run tells them; safe to show.
fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let known = conditions::conditions(run).into_iter();
    known
        .filter(|told| !told.values.is_empty())
        .map(|told| {
            let values: Vec<String> = told.values.iter().map(|value| plain(value)).collect();
            (told.name, values.join(" and "))
        })
        .collect()
}

/// A status, as the formats name it.
#[must_use]
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete => "incomplete",
    }
}

/// The status of a metric that a run does not have.
const ABSENT: &str = "absent";

/// Ticks in the unit that the formats use: nanoseconds, or instructions.
fn shown(summary: &Summary, ticks: Option<f64>) -> Option<f64> {
    ticks.map(|ticks| summary.nanoseconds(ticks).unwrap_or(ticks))
}
