// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zephyr's test runner `twister`: the records that it extracts from the consoles of benchmarks, in
//! `twister.json` (3.6 and later) and `recording.csv` (2.6 and later).
//!
//! The regular expression `record:` of a test defines the fields of a record. Records with `metric` and
//! `cycles` are read, also their `nanoseconds` and `description`: those of `latency_measure`,
//! `wait_queues` and `sched_queues`. Their numbers are strings, as the benchmark printed them. Other
//! records and suites without records are ignored. Records do not contain a benchmark's `FAILED` rows.
//!
//! In `twister.json` each of the `testsuites` becomes a source. Its facts are `platform`, `arch`, `name`,
//! `run_id`, `dut`, `toolchain` and `status`, and `zephyr_version`, `run_date` and `commit_date` of the
//! `environment`. A `status` other than `passed` makes the source incomplete, with the `reason`.
//! `recording.csv` has a header, whose names may be sorted or quoted, and no facts.

use std::borrow::Cow;

use serde_json::Value;

use super::json::scalar;
use super::text::Unread;
use super::zephyr_latency::{mean, name_and_about};
use super::{counter_clock, Document, Format, Lines, Reader, Row, Source};
use crate::stream::run::Fact;

/// The records of twister.
pub const FORMAT: Format = Format {
    name: "twister",
    about: "Zephyr's twister.json and recording.csv",
    recognised_by:
        "a JSON object with `testsuites` and `environment.zephyr_version`, or a CSV header with \
           `metric` and `cycles`",
    lines: Some(Lines {
        start_marks: &[
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
    let suites = suites.ok_or("testsuites: not an array")?;
    let mut sources = Vec::new();
    for (at, suite) in suites.iter().enumerate() {
        let Some(recording) = suite.get("recording") else {
            continue;
        };
        let records = recording.as_array();
        let records = records.ok_or_else(|| format!("testsuites[{at}].recording: not an array"))?;
        let rows: Vec<Row> = records.iter().flat_map(rows_of).collect();
        if !rows.is_empty() {
            sources.push(source(suite, &document["environment"], rows));
        }
    }
    if sources.is_empty() {
        return Err("testsuites: none has a `recording` with `metric` and `cycles`".to_owned());
    }
    Ok(sources)
}

/// The rows of a record: one, or with `merge: true` one for each value of its fields.
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
    let fields = [
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
    let fields = fields.into_iter();
    facts.extend(fields.filter_map(|(name, value)| Some(Fact::new(name, value.as_str()?))));
    let incomplete = match (suite["status"].as_str(), suite["reason"].as_str()) {
        (Some("passed"), _) => None,
        (Some(status), Some(reason)) => Some(format!("the status is `{status}`: {reason}")),
        (Some(status), None) => Some(format!("the status is `{status}`")),
        (None, _) => Some("the status is missing".to_owned()),
    };
    Source {
        facts,
        clock: counter_clock(),
        rows,
        incomplete,
    }
}

/// The row of a record; `None` for other kinds of records. `field` returns a field by its name.
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
    /// The names of the columns; empty before the header is read.
    header: Vec<String>,
    rows: Vec<Row>,
    unread: Unread,
}

impl Reader for Recording {
    fn line(&mut self, line: &str) {
        let fields = fields(line);
        if self.header.is_empty() {
            self.header = fields.into_iter().map(Cow::into_owned).collect();
        } else if fields.len() == self.header.len() {
            let column = |name: &str| self.header.iter().position(|column| column == name);
            self.rows
                .extend(row(|name| fields.get(column(name)?).map(Cow::as_ref)));
        } else if fields.len() > 1 {
            self.unread.add(line);
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
            incomplete: None,
        }];
        self.unread.report_in(&mut sources);
        sources
    }
}

/// The fields of a CSV line. In a quoted field, `""` is a quote.
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

/// The field up to its closing quote, and the text after the comma that follows.
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
