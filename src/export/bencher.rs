// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bencher Metric Format: JSON that `bencher run --adapter json` reads (bencher.dev).

use serde::Serialize;

use super::json::line;
use super::{Carries, Foreign, Item, Unmeasured};
use crate::stream::run::{Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "bencher",
    about: "Bencher Metric Format, for bencher.dev",
    leaves_out: "replicates, distributions, tails, cold samples, proofs and what was measured on",
    unmeasured: Unmeasured::LeftOut,
    carries: Carries::All,
    write: run,
};

/// The measure of a metric.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Measures {
    Latency(Estimate),
    Cycles(Estimate),
    Instructions(Estimate),
}

/// The median of a metric, with its interval if there are enough replicates.
#[derive(Serialize)]
struct Estimate {
    value: f64,
    #[serde(rename = "lower_value", skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(rename = "upper_value", skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
}

/// An object with a member for each metric with a number, one per line. The measure is `latency` (in
/// nanoseconds, as Bencher defines it), `cycles` or `instructions`.
fn run(run: &Run) -> String {
    let lines: Vec<String> = Item::all(run)
        .filter_map(|item| {
            let interval = item.interval();
            let estimate = Estimate {
                value: item.median()?,
                low: interval.map(|(low, _)| low),
                high: interval.map(|(_, high)| high),
            };
            let measures = match item.summary.unit {
                Unit::Cycles => Measures::Latency(estimate),
                Unit::Ticks => Measures::Cycles(estimate),
                Unit::Instructions => Measures::Instructions(estimate),
            };
            Some(format!("{}: {}", line(&item.summary.id), line(&measures)))
        })
        .collect();
    if lines.is_empty() {
        return "{}\n".to_owned();
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
