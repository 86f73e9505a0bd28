// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of a budget: a [`Judgement`] in, text out. It shows exceeded limits, limits that could
//! not be judged, and a tally.

use std::fmt::Write;

use super::compare::{write_remark, Remark};
use super::grouped;
use super::row::{place, OF_A_BATCH, UNAVAILABLE};
use super::style::{Ink, Style, GAP, INDENT};
use crate::base::number::change;
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::budget::{Check, Finding, Judgement};

/// A judgement as text: the exceeded limits, remarks on others, the tally.
#[must_use]
pub fn table(judgement: &Judgement, style: &Style) -> String {
    let mut out = format!("\n{}\n", style.paint(Ink::Bold, &title(judgement)));
    let rows = over(judgement);
    if !rows.is_empty() {
        write_rows(&mut out, &rows, *style);
    }
    for remark in remarks(judgement) {
        write_remark(&mut out, &remark, *style);
    }
    paragraph(&mut out, "", &plain(&tally(judgement)), style.width());
    out
}

pub(crate) fn title(judgement: &Judgement) -> String {
    format!("budget {}", plain(&judgement.file))
}

/// The remark on limits with [`Check::is_borderline`].
pub(crate) const CLOSE: &str =
    "the limit is within the confidence interval of the median, so another run may decide differently";

/// A limit as the cells of a table.
pub(crate) struct Row {
    /// The metric's id, not yet safe to show.
    pub(crate) id: String,
    pub(crate) figure: &'static str,
    /// The value in the unit of the limit.
    pub(crate) value: String,
    pub(crate) limit: String,
    /// The excess over the limit, as a change in per cent.
    pub(crate) excess: String,
    /// The reason for the limit, not yet safe to show.
    pub(crate) why: Option<String>,
}

impl Row {
    pub(crate) fn of(check: &Check) -> Self {
        let scale = check.limit.unit.factor();
        let value = check.value.map(|value| value / scale);
        let interval = check.interval;
        let interval = interval.map(|(low, high)| (low / scale, high / scale));
        let shown = value.map_or_else(
            || UNAVAILABLE.to_owned(),
            |value| {
                let place = place(check.limit.unit.clock_unit(), value, interval, 0.0);
                let mark = if check.batch > 1 && interval.is_none() {
                    OF_A_BATCH
                } else {
                    ""
                };
                let unit = check.limit.unit.name();
                let shown = format!("{} {unit}", place.show(value));
                shown.trim_end().to_owned() + mark
            },
        );
        let percent = |excess: f64| {
            if excess.is_finite() {
                change(excess * 100.0)
            } else {
                UNAVAILABLE.to_owned()
            }
        };
        Row {
            id: check.id.clone(),
            figure: check.figure.name(),
            value: shown,
            limit: check.limit.to_string(),
            excess: check.excess().map_or_else(String::new, percent),
            why: check.why.clone(),
        }
    }

    /// `71.2 us, limit 50 us, +42.5 %`.
    pub(crate) fn figures(&self) -> String {
        if self.value == UNAVAILABLE {
            return format!("limit {}", self.limit);
        }
        let excess = match self.excess.as_str() {
            "" | UNAVAILABLE => String::new(),
            excess => format!(", {excess}"),
        };
        format!("{}, limit {}{excess}", self.value, self.limit)
    }
}

/// The exceeded limits.
pub(crate) fn over(judgement: &Judgement) -> Vec<Row> {
    let over = judgement.checks.iter();
    let over = over.filter(|check| check.finding == Finding::Over);
    over.map(Row::of).collect()
}

/// Why limits could not be judged, and the limits that are too close to call.
pub(crate) fn remarks(judgement: &Judgement) -> Vec<Remark> {
    let named = |check: &Check| format!("{} ({})", check.id, check.figure.name());
    let mut remarks = Vec::new();
    let unclear: Vec<(&str, &Check)> = judgement
        .checks
        .iter()
        .filter_map(|check| match &check.finding {
            Finding::Inconclusive(reason) => Some((reason.as_str(), check)),
            _ => None,
        })
        .collect();
    for (reason, of) in grouped(&unclear, |(reason, _)| *reason) {
        remarks.push(Remark {
            verdict: None,
            head: format!("{} inconclusive", of.len()),
            text: reason.to_owned(),
            ids: of.iter().map(|(_, check)| named(check)).collect(),
        });
    }
    let close: Vec<String> = judgement
        .checks
        .iter()
        .filter(|check| check.is_borderline())
        .map(|check| {
            let figures = Row::of(check).figures();
            format!("{} ({} {figures})", check.id, check.figure.name())
        })
        .collect();
    if !close.is_empty() {
        remarks.push(Remark {
            verdict: None,
            head: format!("{} close", close.len()),
            text: CLOSE.to_owned(),
            ids: close,
        });
    }
    remarks
}

/// `1 over, 0 inconclusive, 28 within`, and the number of limits for other targets.
pub(crate) fn tally(judgement: &Judgement) -> String {
    let mut text = ["over", "inconclusive", "within"]
        .map(|name| format!("{} {name}", judgement.count(name)))
        .join(", ");
    let mut others = judgement.other_targets.clone();
    if !others.is_empty() {
        let is = if others.len() == 1 { "is" } else { "are" };
        let limits = plural(others.len() as u64, "limit");
        others.sort();
        others.dedup();
        let _ = write!(
            text,
            "; {limits} {is} for other targets: {}",
            others.join(", ")
        );
    }
    text
}

const TITLES: [&str; 5] = ["over the limit", "figure", "value", "limit", "excess"];

fn write_rows(out: &mut String, rows: &[Row], style: Style) {
    let cells = |row: &Row| {
        [
            row.figure.to_owned(),
            row.value.clone(),
            row.limit.clone(),
            row.excess.clone(),
        ]
    };
    let mut widths: [usize; 4] = [1, 2, 3, 4].map(|at| TITLES[at].len());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(cells(row)) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let others: usize = widths.iter().map(|width| GAP + width).sum();
    let room = style.width().saturating_sub(others).max(TITLES[0].len());
    let names = rows
        .iter()
        .map(|row| INDENT.len() + plain(&row.id).chars().count());
    let name = names.filter(|length| *length <= room).max().unwrap_or(0);
    let name = name.max(TITLES[0].len());
    let line = |first: &str, cells: [String; 4]| {
        let mut line = format!("{first:<name$}");
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let _ = match at {
                0 => write!(line, "{:GAP$}{cell:<width$}", ""),
                _ => write!(line, "{:GAP$}{cell:>width$}", ""),
            };
        }
        line.trim_end().to_owned()
    };
    let [title, figure, value, limit, excess] = TITLES.map(str::to_owned);
    let head = line(&title, [figure, value, limit, excess]);
    let _ = writeln!(out, "{}", style.paint(Ink::Red, &head));
    for row in rows {
        let mut first = format!("{INDENT}{}", plain(&row.id));
        if first.chars().count() > name {
            let _ = writeln!(out, "{first}");
            first.clear();
        }
        let _ = writeln!(out, "{}", line(&first, cells(row)));
        if let Some(why) = &row.why {
            paragraph(out, &INDENT.repeat(2), &plain(why), style.width());
        }
    }
}
