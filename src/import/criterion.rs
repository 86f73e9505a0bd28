// SPDX-License-Identifier: MIT OR Apache-2.0

//! criterion, a benchmark library for Rust: JSON files that versions 0.3 to 0.8 write to
//! `target/criterion`, and the output of `cargo criterion --message-format=json`.
//!
//! In the folder of a benchmark, `new/sample.json` has the number of iterations and the nanoseconds of
//! each sample (`iters`, `times`). `new/estimates.json` has estimates; the `point_estimate` of `mean`,
//! `median` and `std_dev` is read. Neither file names the benchmark; `new/benchmark.json` does
//! (`full_id`). The caller passes its contents first, then the samples or estimates. Samples without a
//! benchmark before them are named `criterion`.
//!
//! `cargo criterion` prints a line of JSON for each benchmark, with `reason` `benchmark-complete`: `id`,
//! `iteration_count`, `measured_values` and their `unit`.
//!
//! A sample is the mean time of its iterations. Confidence intervals, slope, outliers, the change since
//! the last run and throughput are not read.

use serde_json::Value;

use super::json::{lines, Object};
use super::{
    not_a_time, samples, time_unit, Document, Figure, Format, Row, Source, MICROSECOND, NANOSECOND,
};
use crate::stream::run::Stat;

/// The files of criterion and the messages of cargo-criterion.
pub const FORMAT: Format = Format {
    name: "criterion",
    about: "criterion's sample.json and estimates.json, cargo-criterion's messages",
    recognised_by:
        "a JSON object with `iters` and `times`, or `mean` and `median` with `point_estimate`, or \
           JSON lines with `reason` and `measured_values`",
    lines: None,
    document: Some(Document { fits, read }),
};

/// The file that names the benchmark of the other files in its folder.
pub const NAME_FILE: &str = "benchmark.json";

/// Whether [`NAME_FILE`] has the name of the benchmark in a file with this name.
#[must_use]
pub fn needs_name_file(file: &str) -> bool {
    matches!(file, "sample.json" | "estimates.json")
}

/// Whether a text is a [`NAME_FILE`] of criterion.
#[must_use]
pub fn is_name_file(text: &[u8]) -> bool {
    let value = serde_json::from_slice(text);
    value.is_ok_and(|value| matches!(kind(&value), Kind::Benchmark))
}

/// The kind of a JSON value.
enum Kind {
    Benchmark,
    Samples,
    Estimates,
    Message,
    Other,
}

fn kind(value: &Value) -> Kind {
    if value["full_id"].is_string() {
        Kind::Benchmark
    } else if value["iters"].is_array() && value["times"].is_array() {
        Kind::Samples
    } else if value["median"]["point_estimate"].is_number() {
        Kind::Estimates
    } else if value["reason"].is_string() {
        match value["measured_values"] {
            Value::Array(_) => Kind::Message,
            _ => Kind::Other,
        }
    } else {
        Kind::Other
    }
}

fn fits(document: &Value) -> bool {
    let has_figure = |value| !matches!(kind(value), Kind::Benchmark | Kind::Other);
    lines(document).iter().any(has_figure)
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let mut name = "criterion";
    let mut rows = Vec::new();
    for (value, object) in lines(document).iter().zip(Object::lines(document)) {
        let figure = match kind(value) {
            Kind::Benchmark => {
                name = object.text("full_id")?;
                continue;
            }
            Kind::Other => continue,
            Kind::Samples => means(&object, "iters", "times", NANOSECOND)?,
            Kind::Estimates => estimates(&object)?,
            Kind::Message => {
                name = object.text("id")?;
                let unit = object.text("unit")?;
                match picoseconds(unit) {
                    Some(factor) => means(&object, "iteration_count", "measured_values", factor)?,
                    None => not_a_time(unit),
                }
            }
        };
        rows.push(Row::new(name, figure));
    }
    Ok(vec![Source::of_times("criterion", rows)])
}

/// The mean time of an iteration in each sample.
fn means(object: &Object, counts: &str, totals: &str, factor: f64) -> Result<Figure, String> {
    let (iterations, times) = (object.numbers(counts)?, object.numbers(totals)?);
    if iterations.len() != times.len() {
        let what = format!(
            "{} values, `{counts}` has {}",
            times.len(),
            iterations.len()
        );
        return Err(object.error_in(totals, &what));
    }
    let means = times.iter().zip(&iterations);
    let means: Vec<f64> = means.map(|(time, count)| time * factor / count).collect();
    Ok(samples(&means))
}

fn estimates(object: &Object) -> Result<Figure, String> {
    let estimate = |name: &str| {
        let estimate = object.object(name);
        estimate.map_or(Ok(None), |estimate| {
            Ok::<_, String>(Some(estimate.number("point_estimate")? * NANOSECOND))
        })
    };
    Ok(Figure::Summary(Stat {
        mean: estimate("mean")?,
        median: estimate("median")?,
        deviation: estimate("std_dev")?,
        ..Stat::blank(1)
    }))
}

/// Picoseconds in a unit of time; `None` for any other unit.
fn picoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ps" => Some(1.0),
        "µs" => Some(MICROSECOND),
        _ => time_unit(unit),
    }
}
