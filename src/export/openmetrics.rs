// SPDX-License-Identifier: MIT OR Apache-2.0

//! `OpenMetrics` text, version 1.0.0, for Prometheus.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{conditions, in_unit, status, Carries, Foreign, Item, Unmeasured};
use crate::base::text::plain;
use crate::judge::quantity::Quantity;
use crate::judge::summary::{Status, Summary};
use crate::stream::run::{Fact, Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "openmetrics",
    about: "OpenMetrics text, for Prometheus",
    leaves_out: "replicates, distributions and proofs",
    unmeasured: Unmeasured::Explained,
    carries: Carries::All,
    write: run,
};

/// Returns a figure of a metric, in ticks.
type Figure = fn(&Summary) -> Option<f64>;

/// The figures of a metric, with their values of the label `statistic`.
const STATISTICS: [(&str, Figure); 8] = [
    ("median", |s| s.median),
    ("low", |s| s.low),
    ("high", |s| s.high),
    ("p90", |s| s.percentile_value(Quantity::P90)),
    ("p99", |s| s.percentile_value(Quantity::P99)),
    ("p999", |s| s.percentile_value(Quantity::P999)),
    ("max", |s| s.max),
    ("cold", |s| s.cold),
];

/// A gauge for each figure of each metric, and the measured system as an info metric. Samples have no time
/// stamp, so the reader uses its own.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let mut out = String::new();
    let labels = facts(run);
    family(
        &mut out,
        "kernmark_run",
        "info",
        "The run and what it was made on.",
        [("_info", labels, 1.0)],
    );
    for (unit, name, help) in [
        (
            Unit::Cycles,
            "kernmark_latency_seconds",
            "What one operation takes; low and high are the interval of the median.",
        ),
        (
            Unit::Ticks,
            "kernmark_latency_cycles",
            "What one operation takes; the clock's frequency is not known.",
        ),
        (
            Unit::Instructions,
            "kernmark_executed_instructions",
            "What one operation executes; low and high are the interval of the median.",
        ),
    ] {
        let of_unit = items.iter().filter(|item| item.summary.unit == unit);
        let samples = of_unit.flat_map(|item| {
            STATISTICS.iter().filter_map(|(statistic, of)| {
                let value = in_unit(&item.summary, of(&item.summary))?;
                let value = match unit {
                    Unit::Cycles => value / 1e9,
                    Unit::Ticks | Unit::Instructions => value,
                };
                let labels = vec![
                    ("metric".to_owned(), plain(&item.summary.id)),
                    ("statistic".to_owned(), (*statistic).to_owned()),
                ];
                Some(("", labels, value))
            })
        });
        family(&mut out, name, "gauge", help, samples);
    }
    let replicates = items.iter().flat_map(|item| {
        let summary = &item.summary;
        let measured = [
            ("yes", summary.replicates),
            ("no", summary.tried - summary.replicates),
        ];
        measured.map(|(number, count)| {
            let labels = vec![
                ("metric".to_owned(), plain(&summary.id)),
                ("number".to_owned(), number.to_owned()),
            ];
            ("", labels, count as f64)
        })
    });
    family(
        &mut out,
        "kernmark_replicates",
        "gauge",
        "Replicates of a metric with a number and without.",
        replicates,
    );
    let unmeasured = items.iter().filter(|i| i.summary.status != Status::Ok);
    let unmeasured = unmeasured.map(|item| {
        let summary = &item.summary;
        let labels = vec![
            ("metric".to_owned(), plain(&summary.id)),
            ("status".to_owned(), status(summary.status).to_owned()),
            (
                "reason".to_owned(),
                plain(summary.reason.as_deref().unwrap_or("")),
            ),
        ];
        ("_info", labels, 1.0)
    });
    family(
        &mut out,
        "kernmark_unmeasured",
        "info",
        "A metric without a number, and why.",
        unmeasured,
    );
    out.push_str("# EOF\n");
    out
}

type Labels = Vec<(String, String)>;

/// Writes a metric family. A sample has a suffix of the family's name, labels and a value. A family
/// without samples is not written.
fn family(
    out: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    samples: impl IntoIterator<Item = (&'static str, Labels, f64)>,
) {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if let Some(unit @ ("seconds" | "cycles" | "instructions")) = name.rsplit('_').next() {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
    let _ = writeln!(out, "# HELP {name} {help}");
    for (suffix, labels, value) in samples {
        let _ = write!(out, "{name}{suffix}{{");
        for (index, (label, text)) in labels.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(out, "{comma}{label}=\"{}\"", escape(text));
        }
        let _ = writeln!(out, "}} {value}");
    }
}

/// Facts and conditions of the run, each name once.
fn facts(run: &Run) -> Labels {
    let own = ["tool", "started", "kernel_release", "target"];
    let own = own
        .into_iter()
        .filter_map(|name| Some((name, plain(Fact::value_in(&run.host, name)?))));
    let mut seen = BTreeSet::new();
    own.chain(conditions(run))
        .map(|(name, value)| (name.replace([' ', '-'], "_"), value))
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect()
}

/// Escapes the value of a label. The text must already be [`plain`].
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
