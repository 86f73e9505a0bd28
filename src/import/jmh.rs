// SPDX-License-Identifier: MIT OR Apache-2.0

//! JMH, a benchmark harness for Java, versions 1.0 to 1.37: the JSON of `-rf json`.
//!
//! Fields that are read from each result: `benchmark`, `mode`, `params`, `threads` and `primaryMetric`. A
//! fork is a process, so it becomes a source. `rawData` has an array for each fork, with the score of each
//! iteration. With `-bm sample` there is `rawDataHistogram` instead, in which each iteration has
//! `[value, count]` pairs; these are all samples. Without raw data, `score` is a summary of one source.
//!
//! A row is named after the benchmark and its parameters (`size=100`). The mode is appended if a file has
//! the benchmark in several modes. `avgt`, `sample` and `ss` (`ns/op`) are times. `thrpt` (`ops/s`) is a
//! rate over all threads. It is converted to the mean time of an operation, threads / rate, which is what
//! `avgt` measures; the description says so.
//!
//! Not read: the score's error and percentiles, which follow from the raw data, and secondary metrics
//! (`-prof`).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::json::Object;
use super::{
    add_row, not_a_time, picoseconds, samples, time_unit, Document, Figure, Format, Row, Source,
    NANOSECOND, SECOND,
};
use crate::stream::histogram::Histogram;
use crate::stream::run::Stat;

/// JMH's JSON.
pub const FORMAT: Format = Format {
    name: "jmh",
    about: "JMH -rf json",
    recognised_by: "a JSON array of objects with `benchmark`, `mode` and `primaryMetric`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let first = &document[0];
    first["benchmark"].is_string()
        && first["mode"].is_string()
        && first["primaryMetric"].is_object()
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let results = Object::elements(document)?;
    let mut modes: HashMap<String, HashSet<&str>> = HashMap::new();
    for result in &results {
        let modes = modes.entry(name(result)?).or_default();
        modes.insert(result.text("mode")?);
    }
    let mut sources: Vec<Source> = Vec::new();
    for result in &results {
        let (mut name, mode) = (name(result)?, result.text("mode")?);
        if modes.get(&name).is_some_and(|modes| modes.len() > 1) {
            name = format!("{name} {mode}");
        }
        let metric = result.required_object("primaryMetric")?;
        let threads = result.optional_number("threads")?.unwrap_or(1.0);
        let scale = Scale::of(metric.text("scoreUnit")?, threads);
        for (fork, figure) in figures(&metric, scale.as_ref())?.into_iter().enumerate() {
            let about = match scale {
                Some(Scale::Rate(_)) => "mean time of an operation, computed from a rate",
                _ => "",
            };
            let row = Row {
                about: about.to_owned(),
                ..Row::new(&name, figure)
            };
            add_row(&mut sources, fork, row, || source(result));
        }
    }
    Ok(sources)
}

fn name(result: &Object) -> Result<String, String> {
    let mut name = result.text("benchmark")?.to_owned();
    let params = result.object("params");
    for (param, value) in params.iter().flat_map(Object::scalars) {
        name = format!("{name} {param}={value}");
    }
    Ok(name)
}

fn source(result: &Object) -> Source {
    let mut source = Source::of_times("JMH", Vec::new());
    source.facts.extend(result.facts(&[
        ("version", "jmhVersion"),
        ("vm", "vmName"),
        ("vm_version", "vmVersion"),
        ("jdk", "jdkVersion"),
    ]));
    source
}

/// How to convert a score to picoseconds.
enum Scale {
    /// Multiply the score by this.
    Time(f64),
    /// Divide this by the score.
    Rate(f64),
}

impl Scale {
    /// The scale of a unit; `None` if it is neither a time nor a rate.
    fn of(unit: &str, threads: f64) -> Option<Self> {
        if let Some(rate) = unit.strip_prefix("ops/") {
            return Some(Scale::Rate(picoseconds_in(rate)? * threads));
        }
        unit.strip_suffix("/op")
            .and_then(picoseconds_in)
            .map(Scale::Time)
    }

    fn picoseconds(&self, score: f64) -> f64 {
        match self {
            Scale::Time(factor) => score * factor,
            Scale::Rate(factor) => factor / score,
        }
    }
}

fn picoseconds_in(unit: &str) -> Option<f64> {
    match unit {
        "min" => Some(60.0 * SECOND),
        "hr" => Some(3600.0 * SECOND),
        "day" => Some(86_400.0 * SECOND),
        _ => time_unit(unit),
    }
}

/// The figure of each fork.
fn figures(metric: &Object, scale: Option<&Scale>) -> Result<Vec<Figure>, String> {
    let Some(scale) = scale else {
        return Ok(vec![not_a_time(metric.text("scoreUnit")?)]);
    };
    if metric.get("rawDataHistogram").is_some() {
        let forks = metric.objects("rawDataHistogram")?;
        return forks.iter().map(|fork| histogram(fork, scale)).collect();
    }
    if metric.get("rawData").is_none() {
        let mean = scale.picoseconds(metric.number("score")?);
        return Ok(vec![Figure::Summary(Stat::of_mean(1, mean))]);
    }
    let figure = |fork: &Object| {
        let time = |score: &Object| score.as_number().map(|score| scale.picoseconds(score));
        let times = fork
            .items()?
            .iter()
            .map(time)
            .collect::<Result<Vec<f64>, _>>()?;
        Ok(samples(&times))
    };
    metric.objects("rawData")?.iter().map(figure).collect()
}

/// All samples of a fork, from the values and counts of its iterations.
fn histogram(fork: &Object, scale: &Scale) -> Result<Figure, String> {
    let mut all = Histogram::new();
    for iteration in fork.items()? {
        for pair in iteration.items()? {
            let numbers: Result<Vec<f64>, _> =
                pair.items()?.iter().map(Object::as_number).collect();
            let [value, count] = numbers?[..] else {
                return Err(pair.error("not a value and a count"));
            };
            let Some(ticks) = picoseconds(scale.picoseconds(value) / NANOSECOND) else {
                return Ok(Figure::Failed(format!("a sample is {value}")));
            };
            all.add(ticks, count as u64);
        }
    }
    if all.is_empty() {
        return Ok(Figure::Failed("no samples".to_owned()));
    }
    Ok(Figure::Samples(all))
}
