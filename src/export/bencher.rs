//! Bencher Metric Format, JSON that `bencher run --adapter json` reads (bencher.dev).

use serde::Serialize;

use super::json::line;
use super::{Carries, Foreign, Item, Unmeasured};
use crate::run::{Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "bencher",
    about: "Bencher Metric Format, for bencher.dev",
    leaves_out: "replicates, distributions, tails, cold samples, proofs and what was measured on",
    unmeasured: Unmeasured::LeftOut,
    carries: Carries::All,
    write: run,
};

/// What was measured of a metric.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Measures {
    Latency(Value),
    Cycles(Value),
    Instructions(Value),
}

/// The median of a metric, and the interval of it where replicates are enough for one.
#[derive(Serialize)]
struct Value {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// An object with a member for each metric that has a number, a line each; the measure is
/// `latency`, which Bencher has in nanoseconds, or `cycles` or `instructions`.
fn run(run: &Run) -> String {
    let lines: Vec<String> = Item::all(run)
        .filter_map(|item| {
            let interval = item.interval();
            let value = Value {
                value: item.median()?,
                lower_value: interval.map(|(low, _)| low),
                upper_value: interval.map(|(_, high)| high),
            };
            let measures = match item.summary.unit {
                Unit::Cycles => Measures::Latency(value),
                Unit::Ticks => Measures::Cycles(value),
                Unit::Instructions => Measures::Instructions(value),
            };
            Some(format!("{}: {}", line(&item.summary.id), line(&measures)))
        })
        .collect();
    if lines.is_empty() {
        return "{}\n".to_owned();
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
