// SPDX-License-Identifier: MIT OR Apache-2.0

//! The console output of Zephyr's `tests/benchmarks/latency_measure`. twister extracts records from it with
//! the regular expression in that benchmark's `testcase.yaml`.

use std::fmt::Write;

use super::{description, escaped, Carries, Foreign, Item, Unmeasured, ID_PUNCTUATION};
use crate::base::text::plain;
use crate::judge::summary::Status;
use crate::stream::run::{Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "zephyr",
    about: "console lines of Zephyr's latency_measure, for twister's records",
    leaves_out:
        "fractions of a cycle and of a ns, replicates, distributions, tails, cold samples and proofs",
    unmeasured: Unmeasured::Explained,
    carries: Carries::Time,
    write: run,
};

/// A line for each metric: `ID - description : 3950 cycles , 1580 ns :`. Both are the gross median, rounded
/// to an integer. The last line says whether all benchmarks were successful.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let mut out = String::from("START - kernmark\n");
    for (label, text) in description(run, &items) {
        let _ = writeln!(out, "# {label}: {}", without_marks(&text));
    }
    for item in items.iter().filter(|i| i.summary.unit == Unit::Cycles) {
        let id = escaped(&item.summary.id, ID_PUNCTUATION, "%");
        let (Some(ticks), Some(ns)) = (item.summary.median, item.median()) else {
            let _ = writeln!(out, "# {id} {}", without_marks(&plain(&item.reason())));
            continue;
        };
        let entry = item.summary.entry.as_ref();
        let about = entry.map_or("", |entry| entry.about.as_str());
        let name = format!("{id} - {}", without_marks(&plain(about)));
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

/// Text that the regular expressions for records and for the end mark do not match.
fn without_marks(text: &str) -> String {
    text.replace(" - ", ", ")
        .replace("cycles ,", "cycles,")
        .replace("PROJECT EXECUTION", "project execution")
}
