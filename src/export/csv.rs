//! CSV (RFC 4180, lines end in LF), a header line first; what is not available is an empty field.

use super::{shown, status, unit};
use crate::report::text::plain;
use crate::run::{Entry, Run};
use crate::summary::summarise;

/// A run, a line for each metric; times of one operation in the column `unit`.
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
        let time = |ticks| figure(shown(&s, ticks));
        rows.push([
            plain(&s.id),
            status(s.status).to_owned(),
            plain(s.reason.as_deref().unwrap_or("")),
            unit(s.unit).to_owned(),
            time(s.median),
            time(s.low),
            time(s.high),
            time(s.p90),
            time(s.p99),
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
    ]
    .map(str::to_owned)];
    for entry in entries {
        rows.push([
            plain(&entry.metric),
            plain(&entry.case),
            plain(&entry.about),
            plain(&entry.between),
            plain(&entry.via),
            entry.stamps.0.to_string(),
            entry.stamps.1.to_string(),
            entry.switches.to_string(),
            entry.switches_most.unwrap_or(entry.switches).to_string(),
            entry.batch.max(1).to_string(),
            figure(entry.bytes),
            figure(entry.items),
            plain(&entry.needs.join(" ")),
        ]);
    }
    table(&rows)
}

fn figure(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row)
            .expect("rows are equally long, memory takes them");
    }
    let bytes = writer.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("only text went in")
}
