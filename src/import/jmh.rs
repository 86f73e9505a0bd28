// SPDX-License-Identifier: MIT OR Apache-2.0

//! JMH, the benchmarks of Java: `-rf json`, versions 1.0 to 1.37.
//!
//! Of each result: `benchmark`, `mode`, `params`, `threads` and `primaryMetric`. A fork is a process, so it
//! is a source; `rawData` has an array for each fork, and in it the score of each iteration. With `-bm
//! sample` it is `rawDataHistogram`, where an iteration has `[value, count]` pairs: these are all samples.
//!
//! A name is that of the benchmark, then its parameters (`size=100`); the mode comes last where a file has
//! the same benchmark in several. `avgt`, `sample` and `ss` (`ns/op`) are times. `thrpt` (`ops/s`) is a
//! rate over all threads: what is read is its inverse times the threads, the mean time of an operation,
//! which is what `avgt` measures; the description says so. Where there are no raw data, the `score` is a
//! summary of one source.
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
    mark: "a JSON array of objects with `benchmark`, `mode` and `primaryMetric`",
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
        let of_name = modes.entry(name(result)?).or_default();
        of_name.insert(result.text("mode")?);
    }
    let mut sources: Vec<Source> = Vec::new();
    for result in &results {
        let (mut name, mode) = (name(result)?, result.text("mode")?);
        if modes.get(&name).is_some_and(|modes| modes.len() > 1) {
            name = format!("{name} {mode}");
        }
        let metric = result.required_object("primaryMetric")?;
        let threads = result.number_if_there("threads")?.unwrap_or(1.0);
        let scale = Scale::of(metric.text("scoreUnit")?, threads);
        for (fork, figure) in figures(&metric, scale.as_ref())?.into_iter().enumerate() {
            let about = match scale {
                Some(Scale::Rate(_)) => "mean time of an operation, from a rate",
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

/// How a score becomes picoseconds.
enum Scale {
    /// So many in one of its unit.
    Time(f64),
    /// So many are divided by it.
    Rate(f64),
}

impl Scale {
    /// None of a unit that is neither a time nor a rate.
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

/// What each fork measured.
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
        let time = |score: &Object| score.itself().map(|score| scale.picoseconds(score));
        let times = fork
            .items()?
            .iter()
            .map(time)
            .collect::<Result<Vec<f64>, _>>()?;
        Ok(samples(&times))
    };
    metric.objects("rawData")?.iter().map(figure).collect()
}

/// All samples of a fork: for each iteration, values and how often they were measured.
fn histogram(fork: &Object, scale: &Scale) -> Result<Figure, String> {
    let mut all = Histogram::new();
    for iteration in fork.items()? {
        for pair in iteration.items()? {
            let numbers: Result<Vec<f64>, _> = pair.items()?.iter().map(Object::itself).collect();
            let [value, count] = numbers?[..] else {
                return Err(pair.says("no value with its count"));
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
