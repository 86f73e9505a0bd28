// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fuchsia's performance tests (`perftest`, `fuchsia-criterion`, sl4f): `*.fuchsiaperf.json` and
//! `*.fuchsiaperf_full.json`.
//!
//! Each result has `label`, `test_suite`, `unit` and `values`. In 2020 some tests wrote `test_name` and
//! `metric` instead of `label`. In 2017 and 2018 results had `samples`, each with a `label` and `values`.
//! A row is named `test_suite: label`, as in Fuchsia's lists of expected metrics. `ns`, `nanoseconds`,
//! `ms` and `milliseconds` are times, with or without `_smallerIsBetter`; other units (`bytes`,
//! `bytes/second`, `percent`, ...) are not. All `values` are kept, including the first one, which
//! Fuchsia's own summary drops as a warm-up. If a name occurs again, the result is from another process,
//! because merged files of several processes look like this.

use std::collections::HashMap;

use serde_json::Value;

use super::json::Object;
use super::{add_row, not_a_time, samples, Document, Format, Row, Source, MILLISECOND, NANOSECOND};

/// Fuchsia's JSON.
pub const FORMAT: Format = Format {
    name: "fuchsiaperf",
    about: "Fuchsia performance tests, *.fuchsiaperf.json",
    recognised_by: "a JSON array of objects with `label`, `unit` and `values`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let is_result = |result: &Value| {
        let is_named = result["label"].is_string() || result["test_name"].is_string();
        let has_values = result["values"].is_array() || result["samples"].is_array();
        is_named && has_values && result["unit"].is_string()
    };
    document
        .as_array()
        .is_some_and(|results| results.iter().any(is_result))
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let mut sources: Vec<Source> = Vec::new();
    let mut times_seen: HashMap<String, usize> = HashMap::new();
    for result in Object::elements(document)? {
        for row in rows(&result)? {
            let seen = times_seen.entry(row.name.clone()).or_insert(0);
            add_row(&mut sources, *seen, row, || {
                Source::of_times("Fuchsia performance tests", Vec::new())
            });
            *seen += 1;
        }
    }
    Ok(sources)
}

fn rows(result: &Object) -> Result<Vec<Row>, String> {
    let name = name(result)?;
    let unit = result.text("unit")?;
    let row = |name: &str, object: &Object| {
        let values = object.numbers("values")?;
        let figure = match picoseconds(unit) {
            Some(factor) => {
                let ticks: Vec<f64> = values.iter().map(|value| value * factor).collect();
                samples(&ticks)
            }
            None => not_a_time(unit),
        };
        Ok(Row::new(name, figure))
    };
    if result.get("samples").is_none() {
        return Ok(vec![row(&name, result)?]);
    }
    let samples = result.objects("samples")?;
    let rows = samples.iter().map(|sample| match sample.text("label") {
        Ok(label) => row(&format!("{name}/{label}"), sample),
        Err(_) => row(&name, sample),
    });
    rows.collect()
}

fn name(result: &Object) -> Result<String, String> {
    let test = result.text("test_name").or_else(|_| result.text("label"))?;
    let mut name = match result.text("test_suite") {
        Ok(suite) => format!("{suite}: {test}"),
        Err(_) => test.to_owned(),
    };
    if let Ok(metric) = result.text("metric") {
        if metric != "real_time" {
            name = format!("{name}/{metric}");
        }
    }
    Ok(name)
}

/// Picoseconds in a unit of time; `None` for any other unit.
fn picoseconds(unit: &str) -> Option<f64> {
    match unit.strip_suffix("_smallerIsBetter").unwrap_or(unit) {
        "ns" | "nanoseconds" => Some(NANOSECOND),
        "ms" | "milliseconds" => Some(MILLISECOND),
        _ => None,
    }
}
