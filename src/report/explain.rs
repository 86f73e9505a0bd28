// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a cost is made of: its parts, and what is in none of them.

use std::fmt::Write;

use super::row::UNAVAILABLE;
use super::style::{block, dim_head, head, painted_lines, Ink, Style, GAP, INDENT};
use crate::base::number::plural;
use crate::base::number::{Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::judge::explain::{Explanation, Reading, Reckoning, Share};
use crate::stream::run::Unit;

/// Where the figures of an explanation come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, or the published dataset; not yet safe to show.
    pub of: String,
    /// What the metric measures, as far as it is told; not yet safe to show.
    pub about: String,
    /// The command that measures the metric and all of its parts.
    pub command: Option<String>,
}

/// Digits of the whole that are shown, so that the sum can be followed.
const DIGITS: i32 = 4;
/// A bar of so many characters is the whole.
const BAR: usize = 20;

/// How all values of an explanation are shown: in one unit and to one place, so that they can be
/// added up.
struct Scale {
    /// `None` unless the values are times.
    time: Option<TimeUnit>,
    unit: &'static str,
    place: Place,
}

impl Scale {
    fn of(explanation: &Explanation) -> Self {
        let is_time = explanation.unit == Unit::Cycles.of_figures();
        let time = is_time.then(|| TimeUnit::of(explanation.whole));
        let values = explanation.shares.iter().filter_map(|share| share.value);
        let mut values = values.chain([explanation.whole]);
        let place = match time {
            Some(unit) => Place::significant(unit.convert(explanation.whole), DIGITS),
            None if values.any(|value| value.fract() != 0.0) => {
                Place::significant(explanation.whole, DIGITS)
            }
            None => Place::decimals(0),
        };
        let unit = time.map_or(explanation.unit, |unit| unit.name);
        Scale { time, unit, place }
    }

    fn show(&self, value: f64) -> String {
        let value = self.time.map_or(value, |unit| unit.convert(value));
        self.place.show(value)
    }
}

/// The heading of the names: the unit of all values.
pub(crate) fn heading(explanation: &Explanation) -> String {
    format!("{} per operation", Scale::of(explanation).unit)
}

/// One line of the table: part, count, value of one, contribution, share of the whole in per cent.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: [String; 4],
    /// Of a part: why it is one.
    pub(crate) why: String,
    /// The share of the whole that a bar shows.
    bar: f64,
}

pub(crate) const TITLES: [&str; 4] = ["count", "each", "together", "share"];

/// The rows of the table: each part, the sum, the residual, the whole.
pub(crate) fn rows(explanation: &Explanation) -> Vec<Row> {
    let scale = Scale::of(explanation);
    let percent = |value: f64| explanation.percent(value);
    let share = |value: Option<f64>| {
        let percent = value.and_then(percent);
        percent.map_or_else(unavailable, |percent| {
            format!("{} %", Place::decimals(1).show(percent))
        })
    };
    let shown = |value: Option<f64>| value.map_or_else(unavailable, |value| scale.show(value));
    let part = |one: &Share| Row {
        name: one.name(),
        cells: [
            format!("{} x", one.piece.count),
            shown(one.value),
            shown(one.contribution()),
            share(one.contribution()),
        ],
        why: one.piece.why.clone(),
        bar: one.contribution().and_then(percent).unwrap_or(0.0),
    };
    let total = |name: &str, value: f64| Row {
        name: name.to_owned(),
        cells: [
            String::new(),
            String::new(),
            scale.show(value),
            share(Some(value)),
        ],
        why: String::new(),
        bar: 0.0,
    };
    let mut rows: Vec<Row> = explanation.shares.iter().map(part).collect();
    rows.push(total("sum of the parts", explanation.sum));
    rows.push(Row {
        bar: percent(explanation.residual).unwrap_or(0.0),
        ..total("residual", explanation.residual)
    });
    rows.push(total("measured", explanation.whole));
    rows
}

fn unavailable() -> String {
    UNAVAILABLE.to_owned()
}

/// What was measured, in words: `2,167 ns, 95 % interval 2,080..2,250; 10 replicates; net of ...`.
pub(crate) fn measured(explanation: &Explanation) -> String {
    let mut parts = vec![with_interval(
        explanation,
        explanation.whole,
        explanation.interval,
    )];
    match explanation.clock {
        Reckoning::Published => {}
        Reckoning::Net => parts.push("all values less the reading of the clock".to_owned()),
        Reckoning::Gross => parts.push(
            "the run has no clock.read, so each value holds a reading of the clock".to_owned(),
        ),
    }
    parts.join("; ")
}

fn with_interval(explanation: &Explanation, value: f64, interval: Option<(f64, f64)>) -> String {
    let scale = Scale::of(explanation);
    let mut text = format!("{} {}", scale.show(value), scale.unit);
    if let Some((low, high)) = interval.filter(|(low, high)| low < high) {
        let _ = write!(text, " ({}..{})", scale.show(low), scale.show(high));
    }
    text
}

/// What the residual means, in a sentence.
pub(crate) fn reading(explanation: &Explanation) -> String {
    let residual = with_interval(
        explanation,
        explanation.residual,
        explanation.residual_interval,
    );
    let over = match (explanation.clock, explanation.residual_interval) {
        (Reckoning::Published, _) => String::new(),
        // Exact: the replicates do not differ.
        _ if explanation.unit == Unit::Instructions.of_figures() => String::new(),
        (_, Some(_)) => format!(
            ", over {} that have all parts",
            plural(explanation.replicates as u64, "replicate")
        ),
        (_, None) => ", too few replicates for an interval".to_owned(),
    };
    match explanation.reading() {
        Reading::Unmeasured => {
            format!("{residual}: it holds also the parts that were not measured")
        }
        Reading::Noise => format!("{residual}{over}: not to be told from 0"),
        Reading::Rest if explanation.residual == 0.0 => {
            format!("{residual}{over}: nothing is left")
        }
        Reading::Rest => format!("{residual}{over}: in none of the parts"),
        Reading::Exceeded => format!(
            "{residual}{over}: the parts are more than the whole, so the composition does not \
             hold here"
        ),
    }
}

/// The parts that were not measured, each with its reason, and what would measure them, in
/// sentences; `None` when all were.
pub(crate) fn unmeasured(explanation: &Explanation, origin: &Origin) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for share in explanation.unmeasured() {
        let name = match &share.reason {
            Some(reason) => format!("{} ({reason})", share.name()),
            None => share.name(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut text = format!("not measured: {}.", names.join(", "));
    if let Some(command) = &origin.command {
        let _ = write!(text, " All together: {command}");
    }
    Some(text)
}

/// An explanation as text: what was measured, each part with its reason, sum and residual.
#[must_use]
pub fn table(explanation: &Explanation, origin: &Origin, style: &Style) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        let mut lines = String::new();
        paragraph(&mut lines, &head(label), &plain(text), style.width());
        out.push_str(&dim_head(&lines, *style));
    };
    line("metric", &explanation.id);
    line("is", &origin.about);
    line("of", &origin.of);
    line("measured", &measured(explanation));
    out.push('\n');
    let rows = rows(explanation);
    let names = rows.iter().map(|row| plain(&row.name).chars().count());
    let title = heading(explanation);
    let name = names.max().unwrap_or(0).max(title.len());
    let widths: Vec<usize> = (0..TITLES.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row.cells[at].chars().count());
            cells.max().unwrap_or(0).max(TITLES[at].len())
        })
        .collect();
    let figures: usize = widths.iter().map(|width| GAP + width).sum();
    // Where names and figures do not fit beside each other, each has a line.
    let beside = name.min(style.width().saturating_sub(figures));
    let has_bars = beside + figures + GAP + BAR <= style.width();
    let cells = |first: &str, cells: [&str; 4]| {
        let mut line = String::new();
        if first.chars().count() > beside {
            let _ = writeln!(line, "{first}");
            let _ = write!(line, "{:beside$}", "");
        } else {
            let _ = write!(line, "{first:<beside$}");
        }
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        line
    };
    let _ = writeln!(out, "{}", style.paint(Ink::Bold, &cells(&title, TITLES)));
    let parts = explanation.shares.len();
    for (at, row) in rows.iter().enumerate() {
        if at == parts {
            let _ = writeln!(out, "{}", "-".repeat(beside + figures));
        }
        let mut line = cells(&plain(&row.name), row.cells.each_ref().map(String::as_str));
        // In hundredths of a per cent.
        let bar = (row.bar.clamp(0.0, 100.0) * 100.0).round() as u64;
        if has_bars && bar > 0 {
            let _ = write!(line, "{:GAP$}{}", "", block(bar, 10_000, BAR, style.bars));
        }
        out.push_str(line.trim_end());
        out.push('\n');
        let mut why = String::new();
        paragraph(&mut why, INDENT, &plain(&row.why), style.width());
        out.push_str(&painted_lines(*style, Ink::Dim, &why));
    }
    out.push('\n');
    let ink = match explanation.reading() {
        Reading::Exceeded | Reading::Unmeasured => Ink::Red,
        Reading::Noise | Reading::Rest => Ink::Bold,
    };
    let mut text = String::new();
    paragraph(
        &mut text,
        "",
        &format!("residual: {}", reading(explanation)),
        style.width(),
    );
    out.push_str(&painted_lines(*style, ink, &text));
    if let Some(sentence) = unmeasured(explanation, origin) {
        paragraph(&mut out, "", &plain(&sentence), style.width());
    }
    out
}
