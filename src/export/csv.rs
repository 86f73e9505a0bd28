// SPDX-License-Identifier: MIT OR Apache-2.0

//! CSV (RFC 4180, but lines end in LF).
//!
//! In: runs, catalogs, coverage, datasets. Out: a header line, then a line for each element. An unavailable
//! value is an empty field. An apostrophe precedes text that a spreadsheet would treat as a formula.

use serde_json::{Map, Value};

use super::json::line;
use super::{in_unit, status, ABSENT};
use crate::base::text::plain;
use crate::files::digest::Digest;
use crate::files::reference::{Dataset, Figure, Published};
use crate::judge::coverage::Benchmark;
use crate::judge::matrix::{Cell, Column, Matrix};
use crate::judge::quantity::Quantity;
use crate::judge::summary::summarise;
use crate::stream::run::{Entry, Run};

/// A run, a line for each metric. Figures are of one operation, in the unit of the column `unit`.
#[must_use]
pub fn run(run: &Run) -> String {
    let mut rows = vec![[
        "id",
        "status",
        "reason",
        "unit",
        "median",
        "low",
        "high",
        "p90",
        "p99",
        "p999",
        "max",
        "cold",
        "gross",
        "net",
        "clock_cost",
        "replicates",
        "tried",
        "samples",
        "batch",
        "switches",
        "expected",
        "bytes_per_second",
        "items_per_second",
    ]
    .map(str::to_owned)];
    for s in summarise(run) {
        let time = |ticks| figure(in_unit(&s, ticks));
        rows.push([
            text(&s.id),
            status(s.status).to_owned(),
            text(s.reason.as_deref().unwrap_or("")),
            s.unit.of_figures().to_owned(),
            time(s.median),
            time(s.low),
            time(s.high),
            time(s.percentile_value(Quantity::P90)),
            time(s.percentile_value(Quantity::P99)),
            time(s.percentile_value(Quantity::P999)),
            time(s.max),
            time(s.cold),
            time(s.gross),
            time(s.net),
            time(s.clock_cost),
            s.replicates.to_string(),
            s.tried.to_string(),
            s.samples.to_string(),
            figure(s.median.map(|_| s.batch)),
            figure(s.switches),
            figure(s.expected),
            figure(s.bytes_per_second),
            figure(s.items_per_second),
        ]);
    }
    table(&rows)
}

/// Several runs, a line for each metric and column. `difference` and `percent` are relative to the first
/// column. A metric that is not in a run has the status `absent`.
#[must_use]
pub fn matrix(columns: &[Column]) -> String {
    let mut lines = vec![[
        "id",
        "column",
        "status",
        "reason",
        "unit",
        "median",
        "low",
        "high",
        "ticks",
        "difference",
        "percent",
        "overlap",
        "replicates",
        "tried",
    ]
    .map(str::to_owned)];
    for row in Matrix::of(columns).rows {
        for (column, cell) in columns.iter().zip(&row.cells) {
            let summary = cell.as_ref().map(|cell| &cell.summary);
            let median = cell.as_ref().and_then(Cell::median);
            let interval = cell.as_ref().and_then(Cell::interval);
            let difference = cell.as_ref().and_then(|cell| cell.difference);
            lines.push([
                text(&row.id),
                text(&column.name),
                summary.map_or(ABSENT, |s| status(s.status)).to_owned(),
                text(summary.and_then(|s| s.reason.as_deref()).unwrap_or("")),
                summary.map_or("", |s| s.unit.of_figures()).to_owned(),
                figure(median),
                figure(interval.map(|(low, _)| low)),
                figure(interval.map(|(_, high)| high)),
                figure(median.and(summary.and_then(|s| s.median))),
                figure(difference.map(|d| d.absolute)),
                figure(difference.and_then(|d| d.percent)),
                figure(difference.and_then(|d| d.overlap)),
                figure(summary.map(|s| s.replicates)),
                figure(summary.map(|s| s.tried)),
            ]);
        }
    }
    table(&lines)
}

/// The columns of [`figures_of_run`].
const FIGURES: [&str; 17] = [
    "run",
    "started",
    "target",
    "machine",
    "kernel",
    "labels",
    "complete",
    "metric",
    "unit",
    "p50",
    "p90",
    "p99",
    "p999",
    "cold",
    "worst",
    "spread",
    "replicates",
];

/// The first line of the figures of many runs.
#[must_use]
pub fn figures_header() -> String {
    table(&[FIGURES.map(str::to_owned)])
}

/// The figures of a run, a line for each metric with a value, without the first line. The labels are
/// a JSON object.
#[must_use]
pub fn figures_of_run(digest: &Digest) -> String {
    let head = &digest.head;
    let labels = head.labels().map(|(key, value)| (key, Value::from(value)));
    let labels: Map<String, Value> = labels.map(|(key, value)| (key.to_owned(), value)).collect();
    let [labels, complete] = [line(&labels), head.shortcoming().is_none().to_string()];
    let rows: Vec<[String; 17]> = digest
        .metrics
        .iter()
        .map(|metric| {
            let [p50, p90, p99, p999, cold] = metric.figures.map(figure);
            [
                head.hash.clone(),
                figure(head.when()),
                text(head.target()),
                text(head.machine().unwrap_or("")),
                text(head.kernel().unwrap_or("")),
                labels.clone(),
                complete.clone(),
                text(&metric.id),
                metric.unit.of_figures().to_owned(),
                p50,
                p90,
                p99,
                p999,
                cold,
                figure(metric.worst),
                figure(metric.spread),
                metric.replicates.to_string(),
            ]
        })
        .collect();
    table(&rows)
}

/// A catalog, a line for each metric.
#[must_use]
pub fn catalog(entries: &[Entry]) -> String {
    let mut rows = vec![[
        "id",
        "case",
        "about",
        "between",
        "via",
        "from",
        "to",
        "switches",
        "switches_most",
        "batch",
        "bytes",
        "items",
        "needs",
        "idiom",
    ]
    .map(str::to_owned)];
    for entry in entries {
        rows.push([
            text(&entry.metric),
            text(&entry.case),
            text(&entry.about),
            text(&entry.between),
            text(&entry.via),
            entry.stamps.0.to_string(),
            entry.stamps.1.to_string(),
            entry.switches.to_string(),
            entry.switches_most.unwrap_or(entry.switches).to_string(),
            entry.batch.max(1).to_string(),
            figure(entry.bytes),
            figure(entry.items),
            text(&entry.needs.join(" ")),
            if entry.idiom { "yes" } else { "" }.to_owned(),
        ]);
    }
    table(&rows)
}

/// The coverage of another suite, a line for each benchmark and target. A benchmark without a counterpart
/// has a line without a metric.
#[must_use]
pub fn coverage(benchmarks: &[Benchmark]) -> String {
    let mut rows = vec![["benchmark", "target", "metric", "note"].map(str::to_owned)];
    for benchmark in benchmarks {
        let name = text(&benchmark.name);
        if benchmark.measured.is_empty() {
            let none = String::new;
            rows.push([name, none(), none(), text(&benchmark.reason)]);
            continue;
        }
        for counterpart in &benchmark.measured {
            rows.push([
                name.clone(),
                text(&counterpart.target),
                text(&counterpart.metric),
                text(&counterpart.note),
            ]);
        }
    }
    table(&rows)
}

/// The datasets of published figures, a line for each.
#[must_use]
pub fn datasets(datasets: &[(Dataset, usize)]) -> String {
    let mut rows = vec![[
        "dataset",
        "rows",
        "source",
        "system",
        "configuration",
        "machine",
        "statistic",
        "clock_hz",
        "clock_basis",
    ]
    .map(str::to_owned)];
    for (dataset, count) in datasets {
        rows.push([
            text(&dataset.name),
            count.to_string(),
            text(&dataset.source),
            text(&dataset.system),
            text(&dataset.configuration),
            text(&dataset.machine),
            text(&dataset.statistic),
            figure(dataset.clock_hz),
            text(&dataset.clock_basis),
        ]);
    }
    table(&rows)
}

/// Published figures, a line for each, as they were published.
#[must_use]
pub fn figures(figures: &[Figure]) -> String {
    let mut rows = vec![[
        "dataset",
        "benchmark",
        "row",
        "title",
        "cycles",
        "nanoseconds",
        "microseconds",
        "cpu_nanoseconds",
        "iterations",
        "throughput",
    ]
    .map(str::to_owned)];
    let published = |figure: &Option<Published>| {
        let figure = figure.as_ref().map(Published::text);
        text(figure.unwrap_or(""))
    };
    for of in figures {
        rows.push([
            text(&of.dataset),
            text(&of.benchmark),
            of.row.to_string(),
            text(&of.title),
            published(&of.cycles),
            published(&of.nanoseconds),
            published(&of.microseconds),
            published(&of.cpu_nanoseconds),
            figure(of.iterations),
            text(of.throughput.as_deref().unwrap_or("")),
        ]);
    }
    table(&rows)
}

fn figure(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Text as a cell, without control characters. An apostrophe precedes a formula; a number is not a
/// formula.
pub(super) fn text(text: &str) -> String {
    let text = plain(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let is_number = text.parse().is_ok_and(f64::is_finite);
    if is_formula && !is_number {
        format!("'{text}")
    } else {
        text
    }
}

pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row)
            .expect("rows have equal length, and writing to memory succeeds");
    }
    let bytes = writer.into_inner().expect("writing to memory succeeds");
    String::from_utf8(bytes).expect("only text was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_escaped_and_numbers_are_not() {
        for formula in [
            "=HYPERLINK(\"http://a\")",
            "+1+cmd|'/c calc'!A1",
            "-2+3",
            "-inf",
            "-",
            "@SUM(A1)",
        ] {
            assert_eq!(text(formula), format!("'{formula}"));
        }
        for harmless in ["-1.5", "+3", "-1e-9", "a=b", "", "1-2", "semaphore.take"] {
            assert_eq!(text(harmless), harmless);
        }
    }
}
