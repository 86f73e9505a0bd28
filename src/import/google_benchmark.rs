// SPDX-License-Identifier: MIT OR Apache-2.0

//! Google Benchmark: `--benchmark_format=json` and `--benchmark_out`, of 1.0 to 1.9.
//!
//! Of each of `benchmarks`: `name`, `run_name` and `run_type` (since 1.5), `aggregate_name` (since
//! 1.5), `real_time`, `time_unit` (`ns`, `us`, `ms`, and `s` since 1.6), `repetitions`,
//! `error_occurred` with `error_message`, and `skipped` with `skip_message` (since 1.8). The figure
//! is `real_time` of one iteration, which is what the benchmark says itself where its name ends in
//! `/manual_time`; the mean over its iterations. All repetitions are made by one process, so they
//! are samples of one source. `mean`, `median`, `stddev`, `min` and `max` over them are read where
//! the repetitions are not there (`--benchmark_report_aggregates_only`); `cv`, percentiles and what
//! the user computes are not. `BigO` and `RMS` are fits of a complexity, no times. `cpu_time`, rates
//! and counters are not read. Of `context`, all that is a single value.

use std::collections::HashMap;

use serde_json::Value;

use super::json::Object;
use super::{samples, time_unit, Document, Figure, Format, Row, Source, NANOSECOND};
use crate::stream::run::{Fact, Stat};

/// Google Benchmark's JSON.
pub const FORMAT: Format = Format {
    name: "google-benchmark",
    about: "Google Benchmark --benchmark_format=json",
    mark: "a JSON object with `context` and `benchmarks`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let is_named = |one: &Value| one["name"].is_string();
    let benchmarks = document["benchmarks"].as_array();
    document["context"].is_object()
        && benchmarks.is_some_and(|benchmarks| benchmarks.iter().all(is_named))
}

/// What the rows of a file say of one benchmark. Times are picoseconds.
#[derive(Default)]
struct Benchmark {
    name: String,
    label: String,
    repetitions: Vec<f64>,
    summary: Option<Stat>,
    without: Option<Figure>,
}

/// What a row is.
enum Kind {
    Repetition,
    Mean,
    Median,
    Deviation,
    Least,
    Greatest,
    Fit,
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
    // Whose machine it is stays with the file, as with runs of our own.
    let told = context.iter().flat_map(Object::scalars);
    let told = told.filter(|(name, _)| *name != "host_name");
    let rows = benchmarks.into_iter().map(Benchmark::row).collect();
    let mut source = Source::of_times("Google Benchmark", rows);
    let facts = told.map(|(name, value)| Fact::new(name, &value));
    source.facts.extend(facts);
    Ok(vec![source])
}

/// Before 1.5 only the end of its name tells what a row is.
fn name_and_kind<'a>(row: &Object<'a>) -> Result<(&'a str, Kind), String> {
    let name = row.text("name")?;
    let (run, aggregate) = match row.get("run_type").and_then(Value::as_str) {
        Some("aggregate") => {
            let aggregate = row.text("aggregate_name")?;
            let end = format!("_{aggregate}");
            let of_name = name.strip_suffix(&end).unwrap_or(name);
            (row.text("run_name").unwrap_or(of_name), aggregate)
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
        "min" => (run, Kind::Least),
        "max" => (run, Kind::Greatest),
        "BigO" | "RMS" => (name, Kind::Fit),
        _ => (run, Kind::Other),
    })
}

impl Benchmark {
    fn add(&mut self, row: &Object, kind: &Kind) -> Result<(), String> {
        let is = |name: &str| row.get(name) == Some(&Value::Bool(true));
        let message = |name: &str| row.text(name).unwrap_or("it does not say why").to_owned();
        if matches!(kind, Kind::Other) {
            return Ok(());
        }
        if matches!(kind, Kind::Fit) {
            let why = "the fit of a complexity, no time".to_owned();
            self.without = Some(Figure::Skipped(why));
            return Ok(());
        }
        if is("error_occurred") {
            self.without = Some(Figure::Failed(message("error_message")));
            return Ok(());
        }
        if is("skipped") {
            self.without = Some(Figure::Skipped(message("skip_message")));
            return Ok(());
        }
        let time = row.number("real_time")? * picoseconds(row)?;
        if matches!(kind, Kind::Repetition) {
            row.text("label").unwrap_or("").clone_into(&mut self.label);
            self.repetitions.push(time);
            return Ok(());
        }
        let stat = self.summary.get_or_insert(Stat::blank(1));
        if let Some(repetitions) = row.number_if_there("repetitions")? {
            stat.samples = repetitions.max(1.0) as u64;
        }
        match kind {
            Kind::Mean => stat.mean = Some(time),
            Kind::Median => stat.median = Some(time),
            Kind::Deviation => stat.deviation = Some(time),
            Kind::Least => stat.min = Some(time),
            Kind::Greatest => stat.max = Some(time),
            Kind::Repetition | Kind::Fit | Kind::Other => {}
        }
        Ok(())
    }

    /// A benchmark that failed in one repetition has no figure.
    fn row(self) -> Row {
        let is_known = |stat: &Stat| stat.mean.is_some() || stat.median.is_some();
        let figure = match (self.without, self.summary.filter(is_known)) {
            (Some(without), _) => without,
            (None, Some(stat)) if self.repetitions.is_empty() => Figure::Summary(stat),
            (None, _) => samples(&self.repetitions),
        };
        Row {
            about: self.label,
            ..Row::new(&self.name, figure)
        }
    }
}

/// Picoseconds in one of a row's time unit.
fn picoseconds(row: &Object) -> Result<f64, String> {
    if row.get("time_unit").is_none() {
        return Ok(NANOSECOND);
    }
    let unit = row.text("time_unit")?;
    let wrong = || row.wrong("time_unit", &format!("`{unit}` is no unit of time"));
    time_unit(unit).ok_or_else(wrong)
}
