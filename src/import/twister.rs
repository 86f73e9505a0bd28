// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr's test runner: what `twister` recorded of the consoles of benchmarks, in `twister.json`
//! (3.6 and later) and `recording.csv` (2.6 and later).
//!
//! The expression `record:` of a test names what it takes from a line. Records with `metric` and
//! `cycles` are read, and `nanoseconds` and `description` of them: those of `latency_measure`,
//! `wait_queues` and `sched_queues`. Numbers are texts there, as the benchmark printed them. Other
//! records and suites without records are passed over. A benchmark's `FAILED` rows are in no
//! record.
//!
//! In `twister.json` each of the `testsuites` is a source: `platform`, `arch`, `name`, `run_id`,
//! `dut`, `toolchain`, `status`, and of the `environment` `zephyr_version`, `run_date` and
//! `commit_date`. A `status` other than `passed` cuts it, with the `reason`. `recording.csv` has a
//! head of names, sorted or not, with quotes or not, and says nothing else.

use std::borrow::Cow;

use serde_json::Value;

use super::json::scalar;
use super::text::Unread;
use super::zephyr_latency::{mean, name_and_about};
use super::{counter_clock, Document, Format, Lines, Reader, Row, Source};
use crate::stream::run::Fact;

/// What twister recorded.
pub const FORMAT: Format = Format {
    name: "twister",
    about: "Zephyr's twister.json and recording.csv",
    mark: "a JSON object with `testsuites` and `environment.zephyr_version`, or a CSV head with \
           `metric` and `cycles`",
    lines: Some(Lines {
        signs: &[
            "metric,cycles,nanoseconds",
            "metric,description,cycles,nanoseconds",
            "cycles,description,metric,nanoseconds",
            "cycles,metric,nanoseconds",
            "\"metric\",\"cycles\",\"nanoseconds\"",
            "\"metric\",\"description\",\"cycles\",\"nanoseconds\"",
            "\"cycles\",\"description\",\"metric\",\"nanoseconds\"",
            "\"cycles\",\"metric\",\"nanoseconds\"",
        ],
        reader: || Box::new(Recording::default()),
    }),
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let environment = &document["environment"];
    document["testsuites"].is_array() && environment.get("zephyr_version").is_some()
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let suites = document["testsuites"].as_array();
    let suites = suites.ok_or("testsuites: no array")?;
    let mut sources = Vec::new();
    for (at, suite) in suites.iter().enumerate() {
        let Some(recording) = suite.get("recording") else {
            continue;
        };
        let records = recording.as_array();
        let records = records.ok_or_else(|| format!("testsuites[{at}].recording: no array"))?;
        let rows: Vec<Row> = records.iter().flat_map(rows_of).collect();
        if !rows.is_empty() {
            sources.push(source(suite, &document["environment"], rows));
        }
    }
    if sources.is_empty() {
        return Err("testsuites: no `recording` with `metric` and `cycles` in any".to_owned());
    }
    Ok(sources)
}

/// The rows of a record: one, or where the test has `merge: true` as many as its fields have values.
fn rows_of(record: &Value) -> Vec<Row> {
    let Some(titles) = record["metric"].as_array() else {
        return row(|name| scalar(&record[name])).into_iter().collect();
    };
    let field = |name: &str, at: usize| {
        let values = record[name].as_array();
        let values = values.filter(|values| values.len() == titles.len());
        scalar(values?.get(at)?)
    };
    let rows = (0..titles.len()).filter_map(|at| row(|name| field(name, at)));
    rows.collect()
}

fn source(suite: &Value, environment: &Value, rows: Vec<Row>) -> Source {
    let mut facts = vec![Fact::new("tool", "twister")];
    if let Some(version) = environment["zephyr_version"].as_str() {
        facts.push(Fact::new("kernel", format!("Zephyr {version}")));
    }
    let told = [
        ("board", &suite["platform"]),
        ("arch", &suite["arch"]),
        ("suite", &suite["name"]),
        ("run_id", &suite["run_id"]),
        ("dut", &suite["dut"]),
        ("status", &suite["status"]),
        ("toolchain", &suite["toolchain"]),
        ("date", &environment["run_date"]),
        ("commit_date", &environment["commit_date"]),
    ];
    let told = told.into_iter();
    facts.extend(told.filter_map(|(name, value)| Some(Fact::new(name, value.as_str()?))));
    let cut = match (suite["status"].as_str(), suite["reason"].as_str()) {
        (Some("passed"), _) => None,
        (Some(status), Some(reason)) => Some(format!("its status is `{status}`: {reason}")),
        (Some(status), None) => Some(format!("its status is `{status}`")),
        (None, _) => Some("it has no status".to_owned()),
    };
    Source {
        facts,
        clock: counter_clock(),
        rows,
        cut,
    }
}

/// The row of a record, whose fields are found by their names; none, if it is of another kind.
fn row<T: AsRef<str>>(field: impl Fn(&str) -> Option<T>) -> Option<Row> {
    let (title, ticks) = (field("metric")?, field("cycles")?);
    let (name, about) = name_and_about(title.as_ref())?;
    let description = field("description");
    let about = description
        .as_ref()
        .map_or(about, |text| text.as_ref().trim());
    let nanoseconds = field("nanoseconds");
    let nanoseconds = nanoseconds.as_ref().map(|text| text.as_ref().trim());
    Some(mean(name, about, ticks.as_ref().trim(), nanoseconds))
}

/// A `recording.csv`.
#[derive(Default)]
struct Recording {
    /// The names of its columns; none before its head.
    head: Vec<String>,
    rows: Vec<Row>,
    unread: Unread,
}

impl Reader for Recording {
    fn line(&mut self, line: &str) {
        let fields = fields(line);
        if self.head.is_empty() {
            self.head = fields.into_iter().map(Cow::into_owned).collect();
        } else if fields.len() == self.head.len() {
            let column = |name: &str| self.head.iter().position(|column| column == name);
            self.rows
                .extend(row(|name| fields.get(column(name)?).map(Cow::as_ref)));
        } else if fields.len() > 1 {
            self.unread.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let mut sources = vec![Source {
            facts: vec![Fact::new("tool", "twister")],
            clock: counter_clock(),
            rows: self.rows,
            cut: None,
        }];
        self.unread.tell(&mut sources);
        sources
    }
}

/// The fields of a line of CSV; in quotes, `""` is a quote.
fn fields(line: &str) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::new();
    let mut rest = Some(line);
    while let Some(text) = rest {
        let (field, after) = match text.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted),
            None => match text.split_once(',') {
                Some((field, after)) => (Cow::Borrowed(field), Some(after)),
                None => (Cow::Borrowed(text), None),
            },
        };
        fields.push(field);
        rest = after;
    }
    fields
}

/// The field up to its closing quote, and what follows the comma after it.
fn quoted_field(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut field = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let (piece, after) = rest.split_once('"').unwrap_or((rest, ""));
        field += piece;
        match after.strip_prefix('"') {
            Some(more) => {
                field += "\"";
                rest = more;
            }
            None => return (field, after.strip_prefix(',')),
        }
    }
}
