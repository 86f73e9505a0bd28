// SPDX-License-Identifier: MIT OR Apache-2.0

//! A judged history for programs: JSON and CSV. `doc/history.schema.json` describes the JSON.

use serde_json::{json, Value};

use crate::judge::history::{Cause, Change, MetricHistory, Silence};
use crate::report::history::{with, Subject};
use crate::stream::run::Unit;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// The whole history as a JSON document. An unavailable value is `null`.
#[must_use]
pub fn json(subject: &Subject) -> String {
    let timeline = subject.timeline;
    let runs = timeline.runs.iter().zip(&timeline.clock);
    let runs = runs.map(|(head, clock)| {
        json!({
            "name": head.name,
            "hash": head.hash,
            "started": started(head.started),
            "clock_ns": number(*clock),
        })
    });
    let events = subject.history.events.iter().map(|event| {
        let changes = event.changes.iter();
        let changes = changes
            .map(|(fact, before, since)| json!({ "fact": fact, "before": before, "since": since }));
        json!({ "run": event.run, "changes": changes.collect::<Vec<Value>>() })
    });
    let metrics = subject.history.metrics.iter();
    let metrics = metrics.map(|one| metric(one, subject));
    let parts = [
        ("target", json!(subject.target).to_string()),
        ("machine", json!(subject.machine).to_string()),
        ("quantity", json!(subject.quantity.key()).to_string()),
        ("segments", json!(subject.history.segments).to_string()),
        ("runs", list(runs)),
        ("events", list(events)),
        ("metrics", list(metrics)),
    ];
    let mut text = format!("{{\n\"schema\": {SCHEMA}");
    for (name, value) in parts {
        text.push_str(",\n\"");
        text.push_str(name);
        text.push_str("\": ");
        text.push_str(&value);
    }
    text.push_str("\n}\n");
    text
}

/// A list with one element per line.
fn list(values: impl Iterator<Item = Value>) -> String {
    let lines: Vec<String> = values.map(|value| value.to_string()).collect();
    if lines.is_empty() {
        return "[]".to_owned();
    }
    format!("[\n{}\n]", lines.join(",\n"))
}

fn metric(one: &MetricHistory, subject: &Subject) -> Value {
    let series = subject
        .timeline
        .series
        .iter()
        .find(|series| series.metric == one.metric);
    let values = series.into_iter().flat_map(|series| &series.values);
    json!({
        "id": one.metric,
        "unit": match series.map(|series| series.unit) {
            Some(Unit::Cycles) => "ns",
            Some(other) => other.name(),
            None => "",
        },
        "floor": one.floor,
        "slope": one.slope,
        "exact": one.is_exact,
        "silence": one.silence.map(Silence::reason),
        "changes": one.changes.iter().map(change).collect::<Vec<Value>>(),
        "values": values.map(|value| number(*value)).collect::<Vec<Value>>(),
    })
}

fn change(one: &Change) -> Value {
    let (event, returned) = match one.cause {
        Cause::Event(event) => (Some(event), None),
        Cause::Itself => (None, None),
        Cause::Returned(run) => (None, Some(run)),
    };
    json!({
        "run": one.run,
        "found": one.found,
        "event": event,
        "returned_to": returned,
        "before": one.before,
        "after": one.after,
        "ratio": one.ratio,
        "verdict": one.verdict.name(),
        "confirmed": one.is_confirmed,
        "acknowledged": one.acknowledged,
    })
}

fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

fn started(seconds: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    humantime::format_rfc3339_seconds(time).to_string()
}

/// The changes as CSV: one line each, by metric.
#[must_use]
pub fn csv(subject: &Subject) -> String {
    let mut rows = vec![[
        "metric",
        "started",
        "run",
        "cause",
        "before",
        "after",
        "ratio",
        "verdict",
        "confirmed",
        "acknowledged",
    ]
    .map(str::to_owned)];
    for metric in &subject.history.metrics {
        for one in &metric.changes {
            let head = &subject.timeline.runs[one.run];
            let cause = match one.cause {
                Cause::Event(event) => with(&subject.history.events[event]),
                Cause::Itself => "itself".to_owned(),
                Cause::Returned(run) => format!("returned to {}", subject.timeline.runs[run].hash),
            };
            rows.push([
                super::csv::text(&metric.metric),
                started(head.started),
                head.hash.clone(),
                super::csv::text(&cause),
                one.before.to_string(),
                one.after.to_string(),
                one.ratio.to_string(),
                one.verdict.name().to_owned(),
                if one.is_confirmed { "yes" } else { "no" }.to_owned(),
                super::csv::text(one.acknowledged.as_deref().unwrap_or_default()),
            ]);
        }
    }
    super::csv::table(&rows)
}
