// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark explain`: an [`Explanation`] in, a table of the parts and the residual
//! out.

use std::fmt::Write;

use super::row::UNAVAILABLE;
use super::style::{block, painted_lines, write_labelled, Ink, Style, GAP, INDENT};
use super::table::left_out_text;
use crate::base::number::plural;
use crate::base::number::{Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::judge::explain::{
    ClockAccounting, ExplainKey, Explanation, MeasuredPart, ResidualVerdict,
};
use crate::judge::ranking::Ranking;
use crate::stream::run::Unit;

/// Where the figures of an explanation come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file or the published dataset; not yet safe to show.
    pub source: String,
    /// What the metric measures, if known; not yet safe to show.
    pub about: String,
    /// The command that measures the metric and all its parts.
    pub command: Option<String>,
}

/// The significant digits of the whole; enough to follow the sum.
const DIGITS: i32 = 4;
/// The length of a bar for the whole, in characters.
const BAR: usize = 20;

/// The unit and the last digit of all values of an explanation. They are the same for all values,
/// so that a reader can add them up.
struct Scale {
    /// `None` unless the values are times.
    time: Option<TimeUnit>,
    unit: &'static str,
    place: Place,
}

impl Scale {
    fn of(explanation: &Explanation) -> Self {
        let is_time = explanation.unit == Unit::Cycles.of_figures();
        let time = is_time.then(|| TimeUnit::of(explanation.cost));
        let values = explanation.parts.iter().filter_map(|share| share.value);
        let mut values = values.chain([explanation.cost]);
        let place = match time {
            Some(unit) => Place::significant(unit.convert(explanation.cost), DIGITS),
            None if values.any(|value| value.fract() != 0.0) => {
                Place::significant(explanation.cost, DIGITS)
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

/// The heading of the column of names: the unit of all values.
pub(crate) fn heading(explanation: &Explanation) -> String {
    format!("{} per operation", Scale::of(explanation).unit)
}

/// A line of the table: the part, and its count, value, contribution and share of the whole.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: [String; 4],
    /// Why this is a part; empty for totals.
    pub(crate) why: String,
    /// The length of the bar, in per cent of the whole.
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
    let part = |one: &MeasuredPart| Row {
        name: one.name(),
        cells: [
            format!("{} x", one.part.count),
            shown(one.value),
            shown(one.contribution()),
            share(one.contribution()),
        ],
        why: one.part.why.clone(),
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
    let mut rows: Vec<Row> = explanation.parts.iter().map(part).collect();
    rows.push(total("sum of the parts", explanation.sum));
    rows.push(Row {
        bar: percent(explanation.residual).unwrap_or(0.0),
        ..total("residual", explanation.residual)
    });
    rows.push(total("measured", explanation.cost));
    rows
}

fn unavailable() -> String {
    UNAVAILABLE.to_owned()
}

/// The measured value with its interval, and how the cost of reading the clock was treated.
pub(crate) fn measured(explanation: &Explanation) -> String {
    let mut parts = vec![with_interval(
        explanation,
        explanation.cost,
        explanation.interval,
    )];
    match explanation.clock {
        ClockAccounting::Published => {}
        ClockAccounting::Net => {
            parts.push("the cost of reading the clock is subtracted from all values".to_owned());
        }
        ClockAccounting::Gross => parts.push(
            "the run has no clock.read, so each value includes one reading of the clock".to_owned(),
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

/// The residual and what it means, as a clause.
pub(crate) fn reading(explanation: &Explanation) -> String {
    let residual = with_interval(
        explanation,
        explanation.residual,
        explanation.residual_interval,
    );
    let over = match (explanation.clock, explanation.residual_interval) {
        (ClockAccounting::Published, _) => String::new(),
        // Instructions are exact: the replicates do not differ.
        _ if explanation.unit == Unit::Instructions.of_figures() => String::new(),
        (_, Some(_)) => format!(
            ", over {} that have all parts",
            plural(explanation.replicates as u64, "replicate")
        ),
        (_, None) => ", too few replicates for an interval".to_owned(),
    };
    match explanation.residual_verdict() {
        ResidualVerdict::Unmeasured => {
            format!("{residual}: it includes the parts that were not measured")
        }
        ResidualVerdict::Noise => format!("{residual}{over}: indistinguishable from 0"),
        ResidualVerdict::Rest if explanation.residual == 0.0 => {
            format!("{residual}{over}: nothing is left")
        }
        ResidualVerdict::Rest => format!("{residual}{over}: not explained by the parts"),
        ResidualVerdict::Exceeded => format!(
            "{residual}{over}: the parts cost more than the whole, so the composition does not \
             hold here"
        ),
    }
}

/// The parts that were not measured, each with its reason, and the command that measures them;
/// `None` if all parts were measured.
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
        let _ = write!(text, " To measure everything: {command}");
    }
    Some(text)
}

/// The titles of [`list_cells`].
pub(crate) const LIST_TITLES: [&str; 5] = ["cost", "parts", "residual", "share", "residual is"];

/// What the last of [`list_cells`] means.
pub(crate) const LIST_LEGEND: &str = "noise: indistinguishable from 0; rest: not explained by the \
    parts; exceeded: the parts cost more than the whole, so the composition does not hold; \
    unmeasured: some parts were not measured, so the residual includes them. `kernmark explain ID` \
    shows the parts.";

/// The cost, the sum of the parts, the residual, its share, and what it says.
pub(crate) fn list_cells(explanation: &Explanation) -> [String; 5] {
    let scale = Scale::of(explanation);
    let shown = |value: f64| format!("{} {}", scale.show(value), scale.unit);
    let share = explanation.percent(explanation.residual);
    [
        shown(explanation.cost),
        shown(explanation.sum),
        shown(explanation.residual),
        share.map_or_else(unavailable, |percent| {
            format!("{} %", Place::decimals(1).show(percent))
        }),
        match explanation.residual_verdict() {
            ResidualVerdict::Unmeasured => "unmeasured",
            ResidualVerdict::Noise => "noise",
            ResidualVerdict::Rest => "rest",
            ResidualVerdict::Exceeded => "exceeded",
        }
        .to_owned(),
    ]
}

/// Several explanations as text: one line for each.
#[must_use]
pub fn list(
    of: &[Explanation],
    source: &str,
    ranking: &Ranking<ExplainKey>,
    style: &Style,
) -> String {
    let mut out = String::new();
    write_labelled(&mut out, "source", source, *style);
    out.push('\n');
    let (shown, left_out) = ranking.of(of);
    let rows = shown.iter().map(|one| (one.id.as_str(), list_cells(one)));
    let rows: Vec<(&str, [String; 5])> = rows.collect();
    let titles = LIST_TITLES.map(str::to_owned);
    let all = rows.iter().map(|(id, cells)| (*id, cells));
    let layout = Layout::of(all.chain([("metric", &titles)]), *style);
    let heading = layout.line("metric", &titles);
    let _ = writeln!(out, "{}", style.paint(Ink::Bold, &heading));
    for (id, cells) in &rows {
        let _ = writeln!(out, "{}", layout.line(id, cells));
    }
    if left_out > 0 {
        out.push_str(&left_out_text(left_out));
    }
    let mut lines = String::new();
    paragraph(&mut lines, "", LIST_LEGEND, style.width());
    out.push_str(&painted_lines(*style, Ink::Dim, &lines));
    out
}

/// The widths of a table: a column of names, and right-aligned cells.
struct Layout {
    /// The width of the names that stand beside their cells. Longer ones get a line of their own.
    beside: usize,
    widths: Vec<usize>,
}

impl Layout {
    fn of<'a, const N: usize>(
        rows: impl Iterator<Item = (&'a str, &'a [String; N])>,
        style: Style,
    ) -> Self {
        let (mut name, mut widths) = (0, vec![0; N]);
        for (first, cells) in rows {
            name = name.max(plain(first).chars().count());
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut layout = Layout {
            beside: name,
            widths,
        };
        layout.beside = name.min(style.width().saturating_sub(layout.figures()));
        layout
    }

    /// The width of all cells.
    fn figures(&self) -> usize {
        self.widths.iter().map(|width| GAP + width).sum()
    }

    fn line(&self, first: &str, cells: &[String]) -> String {
        let (first, beside) = (plain(first), self.beside);
        let mut line = String::new();
        if first.chars().count() > beside {
            let _ = writeln!(line, "{first}");
            let _ = write!(line, "{:beside$}", "");
        } else {
            let _ = write!(line, "{first:<beside$}");
        }
        for (cell, width) in cells.iter().zip(&self.widths) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        line
    }
}

/// An explanation as text: the measured value, each part with its reason, the sum, the residual.
#[must_use]
pub fn table(explanation: &Explanation, origin: &Origin, style: &Style) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        write_labelled(&mut out, label, text, *style);
    };
    line("metric", &explanation.id);
    line("about", &origin.about);
    line("source", &origin.source);
    line("measured", &measured(explanation));
    out.push('\n');
    let rows = rows(explanation);
    let title = heading(explanation);
    let titles = TITLES.map(str::to_owned);
    let all = rows.iter().map(|row| (row.name.as_str(), &row.cells));
    let layout = Layout::of(all.chain([(title.as_str(), &titles)]), *style);
    let Layout { beside, .. } = layout;
    let figures = layout.figures();
    let has_bars = beside + figures + GAP + BAR <= style.width();
    let _ = writeln!(
        out,
        "{}",
        style.paint(Ink::Bold, &layout.line(&title, &titles))
    );
    let parts = explanation.parts.len();
    for (at, row) in rows.iter().enumerate() {
        if at == parts {
            let _ = writeln!(out, "{}", "-".repeat(beside + figures));
        }
        let mut line = layout.line(&row.name, &row.cells);
        // In units of 0.01 %.
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
    let ink = match explanation.residual_verdict() {
        ResidualVerdict::Exceeded | ResidualVerdict::Unmeasured => Ink::Red,
        ResidualVerdict::Noise | ResidualVerdict::Rest => Ink::Bold,
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
