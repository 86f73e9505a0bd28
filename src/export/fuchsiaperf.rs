// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fuchsia's `fuchsiaperf.json`, a list of test cases with their values.

use serde::Serialize;

use super::json::{line, list};
use super::{escaped, Carries, Foreign, Item, Unmeasured, OF_IDS};
use crate::stream::run::{Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "fuchsiaperf",
    about: "fuchsiaperf.json, for Fuchsia's performance tools",
    leaves_out: "distributions, tails, cold samples, proofs and what was measured on",
    unmeasured: Unmeasured::LeftOut,
    carries: Carries::All,
    write: run,
};

/// The suite of all our metrics. Fuchsia's tools refuse one that does not begin with `fuchsia.`.
const SUITE: &str = "fuchsia.kernmark";

/// A test case; Fuchsia's tools take the mean of its values.
#[derive(Serialize)]
struct Case<'a> {
    label: String,
    test_suite: &'static str,
    unit: &'static str,
    values: &'a [f64],
}

/// A list with an element for each metric that has a number, a line each; a value is the median of
/// a replicate. A label has the characters that Fuchsia's tools allow; others are written `\x2c`.
fn run(run: &Run) -> String {
    let lines = Item::all(run).filter_map(|item| {
        item.median()?;
        Some(line(&Case {
            label: escaped(&item.summary.id, OF_IDS, "\\x"),
            test_suite: SUITE,
            unit: match item.summary.unit {
                Unit::Cycles => "nanoseconds",
                Unit::Ticks | Unit::Instructions => "count_smallerIsBetter",
            },
            values: &item.values.values,
        }))
    });
    list(lines) + "\n"
}
