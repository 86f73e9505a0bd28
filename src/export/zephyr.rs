// SPDX-License-Identifier: MIT OR Apache-2.0

//! The console output of Zephyr's `tests/benchmarks/latency_measure`, from which twister takes
//! records by the regular expression in that benchmark's `testcase.yaml`.

use std::fmt::Write;

use super::{about, escaped, Carries, Foreign, Item, Unmeasured, OF_IDS};
use crate::base::text::plain;
use crate::judge::summary::Status;
use crate::stream::run::{Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "zephyr",
    about: "console lines of Zephyr's latency_measure, for twister's records",
    leaves_out:
        "fractions of a cycle and of a ns, replicates, distributions, tails, cold samples and proofs",
    unmeasured: Unmeasured::Told,
    carries: Carries::Time,
    write: run,
};

/// A line for each metric: `ID - what it is : 3950 cycles , 1580 ns :`, both the median to the
/// nearest integer, gross. The last line says whether every benchmark went well.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let mut out = String::from("START - kernmark\n");
    for (label, text) in about(run, &items) {
        let _ = writeln!(out, "# {label}: {}", harmless(&text));
    }
    for item in items.iter().filter(|i| i.summary.unit == Unit::Cycles) {
        let id = escaped(&item.summary.id, OF_IDS, "%");
        let (Some(ticks), Some(ns)) = (item.summary.median, item.median()) else {
            let _ = writeln!(out, "# {id} {}", harmless(&plain(&item.reason())));
            continue;
        };
        let entry = item.summary.entry.as_ref();
        let about = entry.map_or("", |entry| entry.about.as_str());
        let name = format!("{id} - {}", harmless(&plain(about)));
        let _ = writeln!(out, "{name:<94}:{ticks:>8.0} cycles , {ns:>8.0} ns :");
    }
    let status = |item: &Item| item.summary.status;
    let failed = |item| matches!(status(item), Status::Failed | Status::Incomplete);
    let end = if items.iter().any(failed) {
        "FAILED"
    } else {
        "SUCCESSFUL"
    };
    let _ = writeln!(out, "{}\nPROJECT EXECUTION {end}", "=".repeat(67));
    out
}

/// Text that no regular expression for a record or for the end takes for one.
fn harmless(text: &str) -> String {
    text.replace(" - ", ", ")
        .replace("cycles ,", "cycles,")
        .replace("PROJECT EXECUTION", "project execution")
}
