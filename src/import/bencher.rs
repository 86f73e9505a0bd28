// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bencher Metric Format: JSON that `bencher run --adapter json` reads, that its other adapters produce and
//! that kernmark exports.
//!
//! The document is an object with a member for each benchmark. A benchmark has a member for each measure,
//! with a `value` and optionally `lower_value` and `upper_value`. `latency` is in nanoseconds;
//! `instructions` and `cycles` are counts; other measures are not times. A source has only one clock. So
//! one measure is read, the first that occurs of `latency`, `instructions` and `cycles`; benchmarks without
//! it are skipped. A row has the name of its benchmark.
//!
//! The format does not define which statistic `value` is. kernmark exports medians, so it is read as a
//! median. The bounds are not read, because they may be an interval, a deviation or quantiles.

use serde_json::Value;

use super::json::Object;
use super::{
    counter_clock, instruction_clock, picosecond_clock, Document, Figure, Format, Row, Source,
    NANOSECOND,
};
use crate::stream::run::{Clock, Stat};

/// Bencher's JSON.
pub const FORMAT: Format = Format {
    name: "bencher",
    about: "Bencher Metric Format",
    recognised_by: "a JSON object of benchmarks, each with measures that have a `value`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let is_measure = |measure: &Value| measure["value"].is_number();
    let is_benchmark = |benchmark: &Value| {
        let measures = benchmark
            .as_object()
            .filter(|measures| !measures.is_empty());
        measures.is_some_and(|measures| measures.values().all(is_measure))
    };
    let benchmarks = document
        .as_object()
        .filter(|benchmarks| !benchmarks.is_empty());
    benchmarks.is_some_and(|benchmarks| benchmarks.values().all(is_benchmark))
}

/// The measures that can be read. The first one that occurs in a file is read.
const MEASURES: [&str; 3] = ["latency", "instructions", "cycles"];

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let document = Object::document(document);
    let benchmarks = document.pairs().map(|(name, _)| {
        let measures = document.required_object(name)?;
        Ok((name, measures))
    });
    let benchmarks = benchmarks.collect::<Result<Vec<_>, String>>()?;
    let has = |measure: &&str| {
        benchmarks
            .iter()
            .any(|(_, measures)| measures.get(measure).is_some())
    };
    let measure = MEASURES.into_iter().find(has).unwrap_or(MEASURES[0]);
    let rows = benchmarks.iter().map(|(name, measures)| {
        let Some(estimate) = measures.object(measure) else {
            let others: Vec<String> = measures
                .pairs()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            let why = format!("has {}, but not `{measure}`", others.join(", "));
            return Ok(Row::new(name, Figure::Skipped(why)));
        };
        let factor = if measure == "latency" {
            NANOSECOND
        } else {
            1.0
        };
        let stat = Stat {
            median: Some(estimate.number("value")? * factor),
            ..Stat::blank(1)
        };
        Ok(Row::new(name, Figure::Summary(stat)))
    });
    Ok(vec![Source {
        clock: clock(measure),
        ..Source::of_times("Bencher", rows.collect::<Result<_, String>>()?)
    }])
}

fn clock(measure: &str) -> Clock {
    match measure {
        "instructions" => instruction_clock(),
        "cycles" => counter_clock(),
        _ => picosecond_clock(),
    }
}
