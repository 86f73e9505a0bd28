// SPDX-License-Identifier: MIT OR Apache-2.0

//! A comparison on the terminal: the answer first, then what changed, then what needs attention. The
//! rest is a line, or a table of its own.

use std::fmt::Write;

use super::compare::{
    causes, condition_warning, in_order, legend, mean_change, method, objection_text, reach,
    remarks, resolution, selected, settings, speed, tally, ungated_text, warnings, without_paths,
    write_remark, Origin, Remark, Row, SETTINGS,
};
use super::grouped;
use super::matrix::{shared_header, write_header};
use super::row::{idiom_legend, title, UNAVAILABLE};
use super::style::{painted_lines, write_labelled, Ink, Style, GAP, INDENT, LONGEST_NAME};
use super::table::left_out_text;
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::compare::{Basis, CompareKey, Compared, Comparison, Speed, Verdict};
use crate::judge::gate::Ruling;
use crate::judge::quantity::Quantity;
use crate::judge::ranking::Ranking;
use crate::judge::why;
use crate::stream::run::Unit;

/// The longest list of settings, unless everything is asked for.
const MOST_SETTINGS: usize = 8;
/// A remark names this many metrics, unless everything is asked for.
const MOST_NAMED: usize = 3;

/// A comparison as text: the verdicts in one line, the gate, what differs between the sides, and what
/// changed, the greatest change first. Metrics that did not change are counted. They have rows too if
/// the ranking or the user's filters ask for them.
#[must_use]
pub fn table(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    ranking: &Ranking<CompareKey>,
    style: &Style,
) -> String {
    let mut out = String::new();
    write_answer(&mut out, comparison, ruling, *style);
    write_opening(&mut out, comparison, sides, ranking.all, *style);
    let (shown, left_out) = shown(comparison, ranking);
    let columns = write_rows(&mut out, &shown, ranking.all, *style);
    if left_out > 0 {
        out.push_str(&left_out_text(left_out));
    }
    let is_whole = is_whole(comparison, ranking);
    let legend = if ranking.all {
        legend(comparison)
    } else {
        short_legend(&shown, &columns)
    };
    if !legend.is_empty() {
        let mut lines = String::new();
        paragraph(&mut lines, "", &(legend.join("; ") + "."), style.width());
        out.push_str(&painted_lines(*style, Ink::Dim, &lines));
    }
    for remark in remarks(comparison) {
        // What most metrics share matters even if they have no rows.
        let is_common = 2 * remark.ids.len() > comparison.metrics.len();
        let is_shown = match remark.verdict {
            Some(Verdict::Inconclusive | Verdict::Equivalent) => is_whole || is_common,
            None => is_whole,
            Some(_) => true,
        };
        if is_shown {
            out.push('\n');
            write_remark(&mut out, &shortened(remark, ranking.all), *style);
        }
    }
    if let Some(sentence) = without_paths(comparison, sides) {
        out.push('\n');
        paragraph(&mut out, "", &plain(&sentence), style.width());
    }
    let conditions = condition_warning(comparison, sides, false);
    for warning in conditions.into_iter().chain(warnings(comparison, sides)) {
        out.push('\n');
        let mut lines = String::new();
        paragraph(&mut lines, "", &plain(&warning), style.width());
        out.push_str(&painted_lines(*style, Ink::Red, &lines));
    }
    if let Some(rest) = rest(comparison).filter(|_| !is_whole) {
        out.push('\n');
        paragraph(&mut out, "", &rest, style.width());
    }
    out
}

/// The counts of the verdicts, and what the gate says.
fn write_answer(out: &mut String, comparison: &Comparison, ruling: &Ruling, style: Style) {
    let counts = tally(comparison);
    let mut lines = String::new();
    paragraph(&mut lines, "", &counts, style.width());
    let ink = if comparison.count(Verdict::Regressed) > 0 {
        Ink::Red
    } else if comparison.count(Verdict::Improved) > 0 {
        Ink::Green
    } else {
        Ink::Bold
    };
    out.push_str(&painted_lines(style, ink, &lines));
    for objection in &ruling.objections {
        let mut lines = String::new();
        let text = format!("The gate fails: {}.", objection_text(objection));
        paragraph(&mut lines, "", &text, style.width());
        out.push_str(&painted_lines(style, Ink::Red, &lines));
    }
    if ruling.ungated > 0 {
        paragraph(out, "", &ungated_text(ruling), style.width());
    }
}

/// What was compared, what differs between the sides, and what the comparison can see.
fn write_opening(
    out: &mut String,
    comparison: &Comparison,
    sides: &[Origin; 2],
    all: bool,
    style: Style,
) {
    let mut line = |label: &str, text: &str| write_labelled(out, label, text, style);
    for side in sides {
        line(&side.column.name, &side.files.join(", "));
    }
    if let Some(selected) = selected(comparison) {
        line("selected", &selected);
    }
    let causes = causes(comparison, sides);
    let settings: Vec<String> = settings(comparison).collect();
    let mut label = "differs";
    for cause in &causes {
        line(label, cause);
        label = "";
    }
    let is_changed = comparison.metrics.iter().any(|m| m.verdict.is_change());
    if causes.is_empty() && settings.is_empty() && is_changed {
        line(label, "nothing else that the runs record");
    }
    let most = if all { settings.len() } else { MOST_SETTINGS };
    let mut label = SETTINGS;
    for text in settings.iter().take(most) {
        line(label, text);
        label = "";
    }
    if let Some(more) = settings.len().checked_sub(most).filter(|more| *more > 0) {
        line("", &format!("and {}: --all", plural(more as u64, "other")));
    }
    let is_time = comparison
        .metrics
        .iter()
        .any(|m| m.unit != Unit::Instructions);
    if comparison.speed.change().is_none() && is_time {
        line("speed", &unchanged_speed(comparison));
    }
    if let Some(mean) = mean_change(comparison) {
        line("mean", &mean);
    }
    line("detects", &detects(comparison));
    for sentence in &comparison.published {
        line("checked", sentence);
    }
    if !comparison.floors.is_empty() {
        line("floors", &format!("from {}", comparison.floors.join(", ")));
    }
    line("compared", &method(comparison));
    if all {
        let names = sides.each_ref().map(|side| plain(&side.column.name));
        let provenances = sides.each_ref().map(Origin::provenance);
        for line in shared_header(&names, &provenances) {
            write_header(out, &line, &names, style);
        }
    }
}

/// The processor's speed, which has not changed for sure.
fn unchanged_speed(comparison: &Comparison) -> String {
    let text = speed(&comparison.speed);
    match comparison.speed {
        Speed::Known {
            interval: (low, high),
            margin,
            ..
        } if low < 1.0 / (1.0 + margin) || high > 1.0 + margin => {
            text.replacen("about the same", "no clear change", 1)
        }
        _ => text,
    }
}

/// What the comparison can see, as a phrase.
fn detects(comparison: &Comparison) -> String {
    let compared = comparison.metrics.iter().filter(|m| m.basis != Basis::None);
    let mut bases = compared.map(|m| m.basis).peekable();
    if bases.peek().is_some() && bases.all(|basis| basis == Basis::Exact) {
        return "any change: these figures are exact".to_owned();
    }
    resolution(comparison)
}

/// Whether metrics that did not change have rows as well: if everything is asked for, if some metrics
/// are asked for by name, or if no metric could be tested.
fn is_whole(comparison: &Comparison, ranking: &Ranking<CompareKey>) -> bool {
    let compared = || comparison.metrics.iter().filter(|m| m.basis != Basis::None);
    ranking.all
        || !comparison.selection.filters.is_empty()
        || compared().all(|metric| metric.basis == Basis::Summary)
}

/// The metrics that have a row, in order, and how many `--top` leaves out. Metrics that did not change
/// come after those that did, by verdict.
fn shown<'a>(
    comparison: &'a Comparison,
    ranking: &Ranking<CompareKey>,
) -> (Vec<&'a Compared>, usize) {
    let whole = is_whole(comparison, ranking);
    let rows = in_order(comparison).into_iter();
    let rows = rows.filter(|metric| whole || metric.verdict.is_change());
    let sorted = Ranking {
        key: ranking.key.or(Some(CompareKey::default())),
        ..Ranking::default()
    };
    let (mut rows, _) = sorted.of(rows);
    rows.sort_by_key(|metric| (!metric.verdict.is_change()).then_some(metric.verdict));
    let all = rows.len();
    rows.truncate(ranking.top.unwrap_or(all));
    let left_out = all - rows.len();
    (rows, left_out)
}

/// What the columns and marks of the changed metrics mean.
fn short_legend(shown: &[&Compared], columns: &[&str]) -> Vec<String> {
    let has = |test: fn(&Compared) -> bool| shown.iter().any(|metric| test(metric));
    let mut parts: Vec<String> = Vec::new();
    if has(|m| m.decisive().is_some_and(|one| one.ratio.is_some())) {
        parts.push("change: new relative to base, positive is more expensive".to_owned());
    }
    if has(|m| m.improvement.is_some()) {
        parts.push(
            "improvement %: 100 x (base / new - 1), as suites publish it; 100 is twice as fast"
                .to_owned(),
        );
    }
    if columns.contains(&INTERVAL.0) {
        parts.push("interval: its 95 % confidence interval".to_owned());
    }
    if has(|m| matches!(&m.why, Some(Ok(why)) if why.median.may_be_moves)) {
        parts.push(why::MOVES.to_owned());
    }
    if has(|m| m.is_idiom) {
        parts.push(idiom_legend());
    }
    parts
}

/// A remark that names only a few metrics.
fn shortened(mut remark: Remark, all: bool) -> Remark {
    let is_change = remark.verdict.is_some_and(Verdict::is_change);
    if !all && !is_change && remark.ids.len() > MOST_NAMED + 1 {
        let more = remark.ids.len() - MOST_NAMED;
        remark.ids.truncate(MOST_NAMED);
        remark.ids.push(format!("and {more} others (--all)"));
    }
    remark
}

/// A line that counts the metrics without a row, and says how far into the tail they are equivalent.
fn rest(comparison: &Comparison) -> Option<String> {
    let mut parts = Vec::new();
    for verdict in [Verdict::Inconclusive, Verdict::Equivalent] {
        let count = comparison.count(verdict);
        if count > 0 {
            parts.push(format!("{count} {}", verdict.name()));
        }
    }
    let tested = comparison.metrics.iter().filter(|metric| {
        metric.verdict == Verdict::Equivalent && matches!(metric.basis, Basis::Test | Basis::Speed)
    });
    let mut tested: Vec<&Compared> = tested.collect();
    tested.sort_by_key(|metric| metric.scope.equivalent_to);
    let mut scopes: Vec<String> = grouped(&tested, |metric| reach(metric))
        .into_iter()
        .map(|(reach, of)| format!("{} {reach}", of.len()))
        .collect();
    let judged_to = tested.iter().filter_map(|metric| metric.scope.judged_to);
    if let Some(to) = judged_to.max().filter(|to| *to < Quantity::P999) {
        scopes.push(format!("nothing beyond {} was judged", to.name()));
    }
    let scopes = match scopes.len() {
        0 => String::new(),
        _ => format!(" ({})", scopes.join(", ")),
    };
    (!parts.is_empty()).then(|| {
        format!(
            "{}{scopes}: --all shows them, and on what they were measured.",
            parts.join(", ")
        )
    })
}

/// Writes a table for each unit and returns the titles of all columns.
fn write_rows(out: &mut String, shown: &[&Compared], all: bool, style: Style) -> Vec<&'static str> {
    let mut titles = Vec::new();
    for (unit, metrics) in grouped(shown, |metric| metric.unit) {
        out.push('\n');
        let rows: Vec<Row> = metrics.into_iter().map(|metric| Row::of(metric)).collect();
        let layout = Layout::of(unit, &rows, all, style.width());
        layout.write(out, &rows, style);
        titles.extend(layout.columns.iter().map(|(title, ..)| *title));
    }
    titles
}

type Cell = fn(&Row) -> &str;

const BASE: (&str, Cell) = ("base", |row| &row.base);
const NEW: (&str, Cell) = ("new", |row| &row.new);
const CHANGE: (&str, Cell) = ("change", |row| &row.change);
const IMPROVEMENT: (&str, Cell) = ("improvement %", |row| &row.improvement);
const INTERVAL: (&str, Cell) = ("interval", |row| &row.interval);
const P: (&str, Cell) = ("p", |row| &row.p);

struct Layout {
    unit: Unit,
    name: usize,
    columns: Vec<(&'static str, Cell, usize)>,
    /// The titles of columns that do not fit.
    left_out: Vec<&'static str>,
}

impl Layout {
    /// The widest choice of columns that fits beside the names. Only a list of everything has
    /// p values: those of changes are significant.
    fn of(unit: Unit, rows: &[Row], all: bool, width: usize) -> Self {
        const CHOICES: [&[(&str, Cell)]; 4] = [
            &[BASE, NEW, CHANGE, IMPROVEMENT, INTERVAL, P],
            &[BASE, NEW, CHANGE, IMPROVEMENT, INTERVAL],
            &[BASE, NEW, CHANGE, IMPROVEMENT],
            &[CHANGE, IMPROVEMENT],
        ];
        let least = title(unit).len();
        let lengths = rows.iter().map(|row| name(row).chars().count());
        let name = lengths
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0)
            .max(least);
        let measured = |choice: &[(&'static str, Cell)]| {
            let is_needed = |cell: &Cell| rows.iter().any(|row| cell(row) != UNAVAILABLE);
            let columns = choice.iter().filter(|(_, cell)| is_needed(cell));
            let columns = columns.map(|(title, cell)| {
                let cells = rows.iter().map(|row| cell(row).chars().count());
                (*title, *cell, cells.max().unwrap_or(0).max(title.len()))
            });
            columns.collect::<Vec<_>>()
        };
        let total = |columns: &[(&str, Cell, usize)]| -> usize {
            columns.iter().map(|(_, _, width)| GAP + width).sum()
        };
        let choices = if all { &CHOICES[..] } else { &CHOICES[1..] };
        let widest = measured(choices[0]);
        let mut choices = choices.iter().map(|choice| measured(choice));
        let fewest = choices.next_back().expect("there are choices");
        let columns = choices
            .find(|columns| least + total(columns) <= width)
            .unwrap_or(fewest);
        let titles = widest.iter().map(|(title, ..)| *title);
        let left_out = titles.filter(|title| columns.iter().all(|(known, ..)| known != title));
        // Longer names get a line above their figures.
        let room = width.saturating_sub(total(&columns)).max(least);
        Layout {
            unit,
            name: name.min(room),
            left_out: left_out.collect(),
            columns,
        }
    }

    fn write(&self, out: &mut String, rows: &[Row], style: Style) {
        let mut head = format!("{:<1$}", title(self.unit), self.name);
        for (title, _, width) in &self.columns {
            let _ = write!(head, "{:GAP$}{title:>width$}", "");
        }
        out.push_str(&style.paint(Ink::Bold, &head));
        out.push('\n');
        let heading = |row: &Row| (!row.verdict.is_change()).then(|| row.label.clone());
        for (heading, rows) in grouped(rows, heading) {
            if let Some(heading) = heading {
                out.push_str(&style.paint(Ink::Bold, &heading));
                out.push('\n');
            }
            for row in rows {
                self.write_row(out, row, style);
            }
        }
        if !self.left_out.is_empty() {
            let text = format!("No room for: {}.", self.left_out.join(", "));
            out.push_str(&style.paint(Ink::Dim, &text));
            out.push('\n');
        }
    }

    fn write_row(&self, out: &mut String, row: &Row, style: Style) {
        let ink = match row.verdict {
            Verdict::Regressed => Some(Ink::Red),
            Verdict::Improved => Some(Ink::Green),
            _ => None,
        };
        let mut write = |text: &str| {
            out.push_str(&ink.map_or_else(|| text.to_owned(), |ink| style.paint(ink, text)));
            out.push('\n');
        };
        let name = name(row);
        let mut line = format!("{name:<0$}", self.name);
        if name.chars().count() > self.name {
            write(&name);
            line = " ".repeat(self.name);
        }
        for (_, cell, width) in &self.columns {
            let _ = write!(line, "{:GAP$}{:>width$}", "", cell(row));
        }
        write(line.trim_end());
        for text in row.also.iter().chain(&row.why) {
            paragraph(out, &INDENT.repeat(2), &plain(text), style.width());
        }
    }
}

/// A metric, and the quantity that its row is about unless that is the median.
fn name(row: &Row) -> String {
    let quantity = match row.quantity {
        quantity if quantity == Quantity::P50.name() => String::new(),
        quantity => format!(" ({quantity})"),
    };
    format!("{INDENT}{}{quantity}{}", plain(&row.id), row.mark)
}
