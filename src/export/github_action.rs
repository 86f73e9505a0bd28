// SPDX-License-Identifier: MIT OR Apache-2.0

//! JSON that `benchmark-action/github-action-benchmark` reads with `tool: customSmallerIsBetter`.

use serde::Serialize;

use super::json::{line, list};
use super::{Carries, Foreign, Item, Unmeasured};
use crate::base::number::plural;
use crate::stream::run::Run;

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "github-action-benchmark",
    about: "JSON for github-action-benchmark with tool customSmallerIsBetter",
    leaves_out: "replicates, distributions, tails, cold samples, proofs and what was measured on",
    unmeasured: Unmeasured::LeftOut,
    carries: Carries::All,
    write: run,
};

/// A point of a chart.
#[derive(Serialize)]
struct Point<'a> {
    name: &'a str,
    unit: &'static str,
    value: f64,
    /// The interval of the median, as text that the action shows beside the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// A list with an element for each metric with a number, one per line.
fn run(run: &Run) -> String {
    let lines = Item::all(run).filter_map(|item| {
        let summary = &item.summary;
        let range = |(low, high)| format!("{low} to {high}");
        let samples = plural(summary.samples, "sample");
        let (replicates, tried) = (summary.replicates, summary.tried);
        Some(line(&Point {
            name: &summary.id,
            unit: summary.unit.of_figures(),
            value: item.median()?,
            range: item.interval().map(range),
            extra: format!("median of {replicates} of {tried} replicates\n{samples}"),
        }))
    });
    list(lines) + "\n"
}
