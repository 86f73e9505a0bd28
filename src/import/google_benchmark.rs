// SPDX-License-Identifier: MIT OR Apache-2.0

//! Google Benchmark, versions 1.0 to 1.9: the JSON of `--benchmark_format=json` and `--benchmark_out`.
//!
//! Fields that are read from each of `benchmarks`: `name`, `run_name` and `run_type` (since 1.5),
//! `aggregate_name` (since 1.5), `real_time`, `time_unit` (`ns`, `us`, `ms`, and `s` since 1.6),
//! `repetitions`, `error_occurred` with `error_message`, and `skipped` with `skip_message` (since 1.8).
//!
//! The figure is `real_time`: the mean time of an iteration, or the time that the benchmark reports
//! itself if its name ends in `/manual_time`. One process makes all repetitions, so they are samples of
//! one source. `mean`, `median`, `stddev`, `min` and `max` over repetitions are read if the repetitions
//! are missing (`--benchmark_report_aggregates_only`). `cv`, percentiles and user-defined statistics are
//! not read. `BigO` and `RMS` describe a complexity fit and are not times. `cpu_time`, rates and counters
//! are not read. Each single value of `context` becomes a fact.

use std::collections::HashMap;

use serde_json::Value;

use super::json::Object;
use super::{samples, time_unit, Document, Figure, Format, Row, Source, NANOSECOND};
use crate::stream::run::{Fact, Stat};

/// Google Benchmark's JSON.
pub const FORMAT: Format = Format {
    name: "google-benchmark",
    about: "Google Benchmark --benchmark_format=json",
    recognised_by: "a JSON object with `context` and `benchmarks`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let is_named = |benchmark: &Value| benchmark["name"].is_string();
    let benchmarks = document["benchmarks"].as_array();
    document["context"].is_object()
        && benchmarks.is_some_and(|benchmarks| benchmarks.iter().all(is_named))
}

/// The results of one benchmark. Times are picoseconds.
#[derive(Default)]
struct Benchmark {
    name: String,
    label: String,
    repetitions: Vec<f64>,
    summary: Option<Stat>,
    /// Why it has no number.
    unmeasured: Option<Figure>,
}

/// The kind of an entry in `benchmarks`.
enum Kind {
    Repetition,
    Mean,
    Median,
    Deviation,
    Minimum,
    Maximum,
    ComplexityFit,
    Other,
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let document = Object::document(document);
    let mut benchmarks: Vec<Benchmark> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for row in document.objects("benchmarks")? {
        let (name, kind) = name_and_kind(&row)?;
        let place = *places.entry(name).or_insert_with(|| {
            benchmarks.push(Benchmark {
                name: name.to_owned(),
                ..Benchmark::default()
            });
            benchmarks.len() - 1
        });
        benchmarks[place].add(&row, &kind)?;
    }
    let context = document.object("context");
    // Imported runs do not have the host's name, like our own runs.
    let context = context.iter().flat_map(Object::scalars);
    let context = context.filter(|(name, _)| *name != "host_name");
    let rows = benchmarks.into_iter().map(Benchmark::row).collect();
    let mut source = Source::of_times("Google Benchmark", rows);
    let facts = context.map(|(name, value)| Fact::new(name, &value));
    source.facts.extend(facts);
    Ok(vec![source])
}

/// The name of the benchmark and the kind of an entry. Before 1.5 only the end of the name shows the kind.
fn name_and_kind<'a>(row: &Object<'a>) -> Result<(&'a str, Kind), String> {
    let name = row.text("name")?;
    let (run, aggregate) = match row.get("run_type").and_then(Value::as_str) {
        Some("aggregate") => {
            let aggregate = row.text("aggregate_name")?;
            let end = format!("_{aggregate}");
            let run = name.strip_suffix(&end).unwrap_or(name);
            (row.text("run_name").unwrap_or(run), aggregate)
        }
        Some(_) => (row.text("run_name").unwrap_or(name), ""),
        None => {
            let parts = name
                .rsplit_once('_')
                .filter(|(_, end)| matches!(*end, "mean" | "median" | "stddev" | "BigO" | "RMS"));
            parts.unwrap_or((name, ""))
        }
    };
    Ok(match aggregate {
        "" => (run, Kind::Repetition),
        "mean" => (run, Kind::Mean),
        "median" => (run, Kind::Median),
        "stddev" => (run, Kind::Deviation),
        "min" => (run, Kind::Minimum),
        "max" => (run, Kind::Maximum),
        "BigO" | "RMS" => (name, Kind::ComplexityFit),
        _ => (run, Kind::Other),
    })
}

impl Benchmark {
    fn add(&mut self, row: &Object, kind: &Kind) -> Result<(), String> {
        let is = |name: &str| row.get(name) == Some(&Value::Bool(true));
        let message = |name: &str| row.text(name).unwrap_or("no reason given").to_owned();
        if matches!(kind, Kind::Other) {
            return Ok(());
        }
        if matches!(kind, Kind::ComplexityFit) {
            let why = "a complexity fit, not a time".to_owned();
            self.unmeasured = Some(Figure::Skipped(why));
            return Ok(());
        }
        if is("error_occurred") {
            self.unmeasured = Some(Figure::Failed(message("error_message")));
            return Ok(());
        }
        if is("skipped") {
            self.unmeasured = Some(Figure::Skipped(message("skip_message")));
            return Ok(());
        }
        let time = row.number("real_time")? * picoseconds(row)?;
        if matches!(kind, Kind::Repetition) {
            row.text("label").unwrap_or("").clone_into(&mut self.label);
            self.repetitions.push(time);
            return Ok(());
        }
        let stat = self.summary.get_or_insert(Stat::blank(1));
        if let Some(repetitions) = row.optional_number("repetitions")? {
            stat.samples = repetitions.max(1.0) as u64;
        }
        match kind {
            Kind::Mean => stat.mean = Some(time),
            Kind::Median => stat.median = Some(time),
            Kind::Deviation => stat.deviation = Some(time),
            Kind::Minimum => stat.min = Some(time),
            Kind::Maximum => stat.max = Some(time),
            Kind::Repetition | Kind::ComplexityFit | Kind::Other => {}
        }
        Ok(())
    }

    /// The row of the benchmark. It has no number if any repetition failed.
    fn row(self) -> Row {
        let is_known = |stat: &Stat| stat.mean.is_some() || stat.median.is_some();
        let figure = match (self.unmeasured, self.summary.filter(is_known)) {
            (Some(unmeasured), _) => unmeasured,
            (None, Some(stat)) if self.repetitions.is_empty() => Figure::Summary(stat),
            (None, _) => samples(&self.repetitions),
        };
        Row {
            about: self.label,
            ..Row::new(&self.name, figure)
        }
    }
}

/// Picoseconds in the time unit of a row.
fn picoseconds(row: &Object) -> Result<f64, String> {
    if row.get("time_unit").is_none() {
        return Ok(NANOSECOND);
    }
    let unit = row.text("time_unit")?;
    let wrong = || row.error_in("time_unit", &format!("`{unit}` is not a unit of time"));
    time_unit(unit).ok_or_else(wrong)
}
