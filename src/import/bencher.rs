// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bencher Metric Format: what `bencher run --adapter json` reads, what its other adapters make, and what
//! kernmark exports.
//!
//! An object has a member for each benchmark, which has one for each measure, which has a `value` and perhaps
//! `lower_value` and `upper_value`. `latency` is nanoseconds, `instructions` and `cycles` are what they say;
//! other measures are no times. A file has one clock, so where it has times, counts are skipped, and where
//! it has instructions and cycles, the cycles are. A row has the name of its benchmark.
//!
//! What a value is of several runs the format does not say; kernmark writes medians, and so it is read.
//! The bounds are not: they may be an interval, a deviation or quantiles.

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
    mark: "a JSON object of benchmarks, each with measures that have a `value`",
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

/// Measures that a source can be of, the first that there is.
const MEASURES: [&str; 3] = ["latency", "instructions", "cycles"];

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let document = Object::document(document);
    let benchmarks = document.pairs().map(|(name, _)| {
        let measures = document.required_object(name)?;
        Ok((name, measures))
    });
    let benchmarks = benchmarks.collect::<Result<Vec<_>, String>>()?;
    let has = |measure: &&str| benchmarks.iter().any(|(_, one)| one.get(measure).is_some());
    let measure = MEASURES.into_iter().find(has).unwrap_or(MEASURES[0]);
    let rows = benchmarks.iter().map(|(name, measures)| {
        let Some(estimate) = measures.object(measure) else {
            let others: Vec<String> = measures
                .pairs()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            let why = format!("{}, no `{measure}`", others.join(", "));
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
