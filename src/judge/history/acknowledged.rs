// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes that somebody expects: a file that can be committed.
//!
//! ```toml
//! [[change]]
//! metric = "semaphore.*"
//! run = "3f2a9c1d04be"
//! reason = "the new wait queue, see the discussion of its patch"
//!
//! [[change]]
//! metric = "*"
//! event = "kernel_release=6.12.3"
//! reason = "a new long-term release"
//! ```

use serde::Deserialize;
use toml::Spanned;

use super::{Cause, Change, Event};
use crate::files::digest::Timeline;
use crate::stream::filter;
use crate::target::description::{line_number, locate_error};

/// The fewest digits of a run's hash.
const LEAST_DIGITS: usize = 4;
/// A change is acknowledged by a run this close before its first run: the runs that show where it
/// began may be gone.
const AROUND: usize = 2;

/// Where an expected change begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// With the run whose hash begins with this.
    Run(String),
    /// With the event that gave this fact this value.
    Event {
        /// The name of the fact.
        fact: String,
        /// Its value since (untrusted text).
        value: String,
    },
}

/// A change that somebody expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// A filter of metrics, as `kernmark run` takes it.
    pub metric: String,
    /// Where it begins.
    pub place: Place,
    /// Why it is expected (untrusted text).
    pub reason: String,
}

/// The changes that somebody expects, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// The first that fits a change gives its reason.
    pub all: Vec<Acknowledgement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    change: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    metric: String,
    run: Option<String>,
    event: Option<String>,
    reason: String,
}

impl Acknowledged {
    /// Reads the text of the file `file`.
    ///
    /// # Errors
    ///
    /// The text is not valid. The message names the line, the problem and what is allowed.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let document: Document =
            toml::from_str(text).map_err(|error| locate_error(file, text, &error))?;
        let all = document.change.into_iter().map(|entry| {
            let line = line_number(text, entry.span().start);
            let entry = Acknowledgement::of(entry.into_inner());
            entry.map_err(|problem| format!("{file}:{line}: {problem}"))
        });
        Ok(Acknowledged {
            all: all.collect::<Result<_, _>>()?,
        })
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let entries = self.all.iter().map(Acknowledgement::text);
        let text = entries.collect::<Vec<String>>().join("\n");
        format!("# Changes that `kernmark history` does not tell again.\n\n{text}")
    }

    /// Why somebody expects a change; `None` if nobody does.
    pub(super) fn reason(
        &self,
        metric: &str,
        change: &Change,
        events: &[Event],
        timeline: &Timeline,
    ) -> Option<String> {
        let fits = |one: &&Acknowledgement| {
            filter::matches(&one.metric, metric) && one.place.is_of(change, events, timeline)
        };
        Some(self.all.iter().find(fits)?.reason.clone())
    }
}

impl Place {
    fn is_of(&self, change: &Change, events: &[Event], timeline: &Timeline) -> bool {
        match self {
            Place::Run(hash) => {
                let runs = change.run.saturating_sub(AROUND)..=change.found;
                let mut heads = timeline.runs[runs].iter();
                heads.any(|head| head.hash.starts_with(hash))
            }
            Place::Event { fact, value } => {
                let Cause::Event(event) = change.cause else {
                    return false;
                };
                let mut changes = events[event].changes.iter();
                changes.any(|(name, _, since)| name == fact && since == value)
            }
        }
    }
}

impl Acknowledgement {
    fn of(entry: Entry) -> Result<Self, String> {
        let place = match (entry.run, entry.event) {
            (Some(run), None) => {
                let is_hash = run.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !is_hash || run.len() < LEAST_DIGITS {
                    return Err(format!(
                        "`{run}` is no run: give at least {LEAST_DIGITS} hexadecimal digits of \
                         its hash"
                    ));
                }
                Place::Run(run.to_ascii_lowercase())
            }
            (None, Some(event)) => match event.split_once('=') {
                Some((fact, value)) if !fact.is_empty() => Place::Event {
                    fact: fact.to_owned(),
                    value: value.to_owned(),
                },
                _ => {
                    return Err(format!(
                        "`{event}` is no event: write `FACT=VALUE`, such as \
                         `kernel_release=6.12.3`"
                    ))
                }
            },
            _ => return Err("give either `run` or `event`".to_owned()),
        };
        if entry.metric.is_empty() {
            return Err("`metric` is empty; `*` is all metrics".to_owned());
        }
        if entry.reason.trim().is_empty() {
            return Err("`reason` is empty: say why the change is expected".to_owned());
        }
        Ok(Acknowledgement {
            metric: entry.metric,
            place,
            reason: entry.reason,
        })
    }

    /// Its entry in the file.
    #[must_use]
    pub fn text(&self) -> String {
        let place = match &self.place {
            Place::Run(hash) => format!("run = {}", quoted(hash)),
            Place::Event { fact, value } => {
                format!("event = {}", quoted(&format!("{fact}={value}")))
            }
        };
        format!(
            "[[change]]\nmetric = {}\n{place}\nreason = {}\n",
            quoted(&self.metric),
            quoted(&self.reason)
        )
    }
}

/// A TOML string. JSON's escapes are valid in TOML, which also wants one for DEL.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back() {
        let place = |at: usize| match at {
            0 => Place::Run("3f2a9c1d04be".to_owned()),
            _ => Place::Event {
                fact: "kernel_command_line".to_owned(),
                value: "quiet isolcpus=1 \"x\"\t\u{7f}\u{1}\\".to_owned(),
            },
        };
        let all = (0..2).map(|at| Acknowledgement {
            metric: "semaphore.*".to_owned(),
            place: place(at),
            reason: "a 'reason' with \"quotes\",\nlines and ü".to_owned(),
        });
        let known = Acknowledged { all: all.collect() };
        assert_eq!(Acknowledged::parse("f", &known.text()), Ok(known));
        let none = Acknowledged::default();
        assert_eq!(Acknowledged::parse("f", &none.text()), Ok(none.clone()));
        assert_eq!(Acknowledged::parse("f", ""), Ok(none));
    }

    #[test]
    fn what_is_not_valid_is_refused_with_its_line() {
        let valid = "metric = 'a'\nrun = 'abcd'\nreason = 'b'\n";
        for (text, expected) in [
            (
                format!("[[change]]\n{valid}why = 'x'\n"),
                "known.toml:5: unknown field `why`",
            ),
            ("[[changes]]\n".to_owned(), "known.toml:1: unknown field"),
            (
                "\n[[change]]\nmetric = 'a'\nrun = 'abcd'\n".to_owned(),
                "known.toml:2: missing field `reason`",
            ),
            (
                format!("[[change]]\n{valid}[[change]]\n{valid}event = 'a=b'\n"),
                "known.toml:5: give either `run` or `event`",
            ),
            (
                "[[change]]\nmetric = 'a'\nrun = 'abc'\nreason = 'b'".to_owned(),
                "known.toml:1: `abc` is no run",
            ),
            (
                "[[change]]\nmetric = 'a'\nevent = 'abc'\nreason = 'b'".to_owned(),
                "known.toml:1: `abc` is no event",
            ),
            (
                "[[change]]\nmetric = ''\nrun = 'abcd'\nreason = 'b'".to_owned(),
                "known.toml:1: `metric` is empty",
            ),
            (
                "[[change]]\nmetric = 'a'\nrun = 'abcd'\nreason = ' '".to_owned(),
                "known.toml:1: `reason` is empty",
            ),
        ] {
            let error = Acknowledged::parse("known.toml", &text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
