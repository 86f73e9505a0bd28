// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fuchsia's `fuchsiaperf.json`: a list of test cases with their values.

use serde::Serialize;

use super::json::{line, list};
use super::{escaped, Carries, Foreign, Item, Unmeasured, ID_PUNCTUATION};
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

/// The suite of all metrics. Fuchsia's tools reject names that do not start with `fuchsia.`.
const SUITE: &str = "fuchsia.kernmark";

/// A test case; Fuchsia's tools take the mean of its values.
#[derive(Serialize)]
struct Case<'a> {
    label: String,
    test_suite: &'static str,
    unit: &'static str,
    values: &'a [f64],
}

/// A list with an element for each metric with a number, one per line. A value is the median of a
/// replicate. Characters that Fuchsia's tools do not allow in a label are escaped as `\x2c`.
fn run(run: &Run) -> String {
    let lines = Item::all(run).filter_map(|item| {
        item.median()?;
        Some(line(&Case {
            label: escaped(&item.summary.id, ID_PUNCTUATION, "\\x"),
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
