// SPDX-License-Identifier: MIT OR Apache-2.0

//! Go's benchmark data format (golang.org/design/14313-benchmark-format) with the unit metadata of
//! golang.org/issue/43744, for `benchstat`.

use std::fmt::Write;

use super::{conditions, description, escaped, Carries, Foreign, Item, Unmeasured, ID_PUNCTUATION};
use crate::base::text::plain;
use crate::stream::run::{Replicate, Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "go",
    about: "Go benchmark text, for benchstat",
    leaves_out: "distributions, tails, cold samples and proofs",
    unmeasured: Unmeasured::Explained,
    carries: Carries::All,
    write: run,
};

/// A line for each replicate of each metric: `BenchmarkKernmark/ID`, the number of operations, and the
/// median of an operation in `ns/op` or `instructions/op`. `MB/s` follows if the metric moves bytes.
///
/// Configuration lines are the conditions that must be the same in a comparison, because benchstat does not
/// compare results whose configuration differs. Everything else is in comments, which start with `#`.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let mut out = String::new();
    for (label, text) in description(run, &items) {
        let _ = writeln!(out, "# {label}: {text}");
    }
    out.push_str("# Each line of a benchmark is a replicate: a fresh process or boot.\n");
    // The importer recognises our export by this line.
    out.push_str("replicate: process\n");
    for (name, value) in conditions(run) {
        let _ = writeln!(out, "{}: {value}", name.replace(['_', ' '], "-"));
    }
    if items.iter().any(|item| item.summary.unit == Unit::Ticks) {
        out.push_str("Unit cycles/op better=lower\n");
    }
    let mut counted = items
        .iter()
        .filter(|item| item.summary.unit == Unit::Instructions && item.median().is_some())
        .peekable();
    if counted.peek().is_some() {
        let assume = if counted.all(is_exact) {
            " assume=exact"
        } else {
            ""
        };
        let _ = writeln!(out, "Unit instructions/op better=lower{assume}");
    }
    out.push('\n');
    for item in &items {
        if item.median().is_none() {
            let id = plain(&item.summary.id);
            let _ = writeln!(out, "# {id} {}", plain(&item.reason()));
            continue;
        }
        let name = escaped(&item.summary.id, ID_PUNCTUATION, "%");
        for (replicate, value) in item.values.replicates.iter().zip(&item.values.values) {
            let samples = replicate.samples();
            let operations = samples.saturating_mul(replicate.batch.max(1));
            let operations = operations.min(i64::MAX as u64);
            let unit = item.summary.unit.of_figures();
            let _ = write!(
                out,
                "BenchmarkKernmark/{name} {operations} {value} {unit}/op"
            );
            if let (Unit::Cycles, Some(bytes)) = (item.summary.unit, item.summary.bytes) {
                if *value > 0.0 {
                    let _ = write!(out, " {} MB/s", bytes as f64 * 1e3 / value);
                }
            }
            out.push('\n');
        }
    }
    out
}

/// Whether the metric has no noise, so that any difference is real: at least two replicates, all with
/// the same samples.
fn is_exact(item: &Item) -> bool {
    let replicates = &item.values.replicates;
    let same = |pair: &[&Replicate]| {
        (pair[0].batch, &pair[0].histogram) == (pair[1].batch, &pair[1].histogram)
    };
    replicates.len() > 1 && replicates.windows(2).all(same)
}
