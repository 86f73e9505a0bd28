// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of several runs side by side: columns in, a table with the differences from the first
//! column out.

use std::fmt::Write;

use super::problems::{damage, problems, tally, write_problem, Problem};
use super::provenance::{self, Provenance, TARGET};
use super::row::{idiom_legend, time_unit, title, Row as Figures, UNAVAILABLE};
use super::style::{
    label, padded_label, painted_lines, with_dim_label, write_labelled, write_object, Ink, Style,
    GAP, INDENT, LONGEST_NAME,
};
use super::table::left_out_text;
use super::{grouped, object};
use crate::base::number::{self, Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::judge::matrix::{Cell, Column, Difference, Matrix, MatrixKey, Mean, Row};
use crate::judge::ranking::Ranking;
use crate::judge::summary::Status;
use crate::judge::why::{self, Unknown};
use crate::stream::run::Unit;

/// Spaces between the columns of two runs; more than between a value and its difference.
const WIDE_GAP: usize = 3;
/// A longer heading is broken into lines, unless the figures below it are wider.
const HEADING: usize = 16;
/// The heading above the means of the ratios.
const RATIOS: &str = "ratio to the first column";
/// The heading above where the columns differ.
pub(crate) const WHERE: &str = "where they differ";
/// Texts are below a longer column name, not beside it.
const LONGEST_COLUMN: usize = 32;

/// Several runs as one table: the provenance of each column, a row for each metric that has a
/// value in any column, the metrics without a value and why, and the tally of each column.
#[must_use]
pub fn table(columns: &[Column], style: &Style) -> String {
    table_of(columns, &Ranking::default(), style)
}

/// Like [`table`], with the rows in this order.
#[must_use]
pub fn table_of(columns: &[Column], ranking: &Ranking<MatrixKey>, style: &Style) -> String {
    let matrix = Matrix::of(columns);
    let names: Vec<String> = columns.iter().map(|column| plain(&column.name)).collect();
    let mut out = String::new();
    for line in header(columns) {
        write_header(&mut out, &line, &names, *style);
    }
    let measured = matrix.rows.iter().filter(|row| row.is_measured());
    let (rows, left_out) = ranking.of(measured);
    if !rows.is_empty() {
        let by_object = ranking.key.is_none();
        let layout = Layout::of(&matrix, &rows, &names, by_object, style.width());
        for block in layout.blocks(style.width()) {
            out.push('\n');
            layout.write(&mut out, &block, &rows, *style);
        }
        if left_out > 0 {
            out.push_str(&left_out_text(left_out));
        }
        let mut lines = String::new();
        let text = legend(&matrix, &names).join("; ") + ".";
        paragraph(&mut lines, "", &text, style.width());
        out.push_str(&painted_lines(*style, Ink::Dim, &lines));
    }
    let places = places(&matrix, &names);
    if !places.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, WHERE));
        for (metric, texts) in &places {
            let _ = writeln!(out, "{INDENT}{}", plain(metric));
            for text in texts {
                paragraph(&mut out, &INDENT.repeat(2), &plain(text), style.width());
            }
        }
    }
    for sentence in without_paths(&matrix, columns) {
        out.push('\n');
        paragraph(&mut out, "", &plain(&sentence), style.width());
    }
    for (problem, at) in shared_problems(&matrix) {
        out.push('\n');
        write_problem(&mut out, &problem, &place(&at, &names), *style);
    }
    for (name, column) in names.iter().zip(columns) {
        if let Some(damage) = damage(&column.run) {
            out.push('\n');
            let mut lines = String::new();
            paragraph(&mut lines, "", &format!("{name}: {damage}"), style.width());
            out.push_str(&painted_lines(*style, Ink::Red, &lines));
        }
    }
    out.push('\n');
    for (name, summaries) in names.iter().zip(&matrix.summaries) {
        let text = tally(summaries);
        out.push_str(&named_paragraph(
            "",
            name,
            padding(&names),
            &text,
            style.width(),
        ));
    }
    out
}

/// Where each metric differs from the first column, as far as paths say it: the metric, and a text
/// for each column that differs. None of it is safe to show yet, except `names`.
pub(crate) fn places(matrix: &Matrix, names: &[String]) -> Vec<(String, Vec<String>)> {
    let rows = matrix.rows.iter().map(|row| {
        let cells = row.cells.iter().zip(names);
        let texts = cells.filter_map(|(cell, name)| {
            let text = why::line(cell.as_ref()?.why.as_ref()?)?;
            Some(format!("{name} {text}"))
        });
        (row.id.clone(), texts.collect::<Vec<String>>())
    });
    rows.filter(|(_, texts)| !texts.is_empty()).collect()
}

/// How to find out where columns differ of which a run has no paths, a sentence for each; not yet
/// safe to show.
pub(crate) fn without_paths(matrix: &Matrix, columns: &[Column]) -> Vec<String> {
    let sentences = (1..columns.len()).filter_map(|at| {
        let unknown = matrix.rows.iter().filter_map(|row| {
            let cell = row.cells[at].as_ref()?;
            let is_unknown = matches!(cell.why, Some(Err(Unknown::Unrecorded)));
            let size = cell.difference?.percent.unwrap_or(f64::INFINITY).abs();
            is_unknown.then_some((&row.id, size))
        });
        let unknown: Vec<(&String, f64)> = unknown.collect();
        let (greatest, _) = unknown.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let [base, new] = [&columns[0].run, &columns[at].run];
        let sentence = why::in_words(unknown.len(), greatest, base, new)?;
        Some(format!("{}: {sentence}", columns[at].name))
    });
    sentences.collect()
}

/// A line of the header: what all columns share, and what only some of them have.
pub(crate) struct HeaderLine {
    /// `kernel`, `clock` ...
    pub(crate) label: &'static str,
    /// The parts that are the same in all columns; not yet safe to show.
    pub(crate) shared: String,
    /// Other texts, not yet safe to show, each with the columns it applies to. A text that the name
    /// of the column already contains is left out.
    pub(crate) own: Vec<(String, Vec<usize>)>,
}

/// The provenance of all columns.
pub(crate) fn header(columns: &[Column]) -> Vec<HeaderLine> {
    let runs = columns.iter().map(|column| &column.run);
    let lines: Vec<Provenance> = runs.map(provenance::parts).collect();
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    shared_header(&names, &lines)
}

/// Merges the provenances of runs with these names; shared parts appear once.
pub(super) fn shared_header(names: &[String], lines: &[Provenance]) -> Vec<HeaderLine> {
    let all: Provenance = lines.concat();
    grouped(&all, |(label, _)| *label)
        .into_iter()
        .map(|(label, _)| {
            let parts = |at: usize| {
                let line = lines[at].iter().find(|(known, _)| *known == label);
                line.map_or(&[][..], |(_, parts)| parts)
            };
            let is_shared = |part: &String| (0..lines.len()).all(|at| parts(at).contains(part));
            let shared: Vec<String> = parts(0).iter().filter(|p| is_shared(p)).cloned().collect();
            let own: Vec<(usize, String)> = (0..lines.len())
                .map(|at| {
                    let own = parts(at).iter().filter(|part| {
                        !is_shared(part) && (label != TARGET || !name_contains(&names[at], part))
                    });
                    (at, own.cloned().collect::<Vec<String>>().join("; "))
                })
                .filter(|(_, text)| !text.is_empty())
                .collect();
            HeaderLine {
                label,
                shared: shared.join("; "),
                own: grouped(&own, |(_, text)| text.clone())
                    .into_iter()
                    .map(|(text, of)| (text, of.iter().map(|(at, _)| *at).collect()))
                    .collect(),
            }
        })
        .filter(|line| !line.shared.is_empty() || !line.own.is_empty())
        .collect()
}

/// Whether a name (`m4 canaries`) contains the last word of a text (`variant canaries`).
fn name_contains(name: &str, text: &str) -> bool {
    let word = text.rsplit(' ').next();
    name.split(' ').any(|part| Some(part) == word)
}

/// Writes a header line: the shared text, then the others, each with its columns.
pub(super) fn write_header(out: &mut String, line: &HeaderLine, names: &[String], style: Style) {
    let mut label = line.label;
    if !line.shared.is_empty() {
        write_labelled(out, label, &line.shared, style);
        label = "";
    }
    let own: Vec<(String, &String)> = line
        .own
        .iter()
        .map(|(text, at)| (listing(at, names), text))
        .collect();
    let pad = padding(own.iter().map(|(name, _)| name));
    for (name, text) in &own {
        let lines = named_paragraph(&padded_label(label), name, pad, &plain(text), style.width());
        out.push_str(&with_dim_label(&lines, style));
        label = "";
    }
}

/// The width of names that have their text beside them.
fn padding<'a>(names: impl IntoIterator<Item = &'a String>) -> usize {
    let lengths = names.into_iter().map(|name| name.chars().count());
    let beside = lengths.filter(|length| *length <= LONGEST_COLUMN);
    beside.max().unwrap_or(0)
}

/// A text after `first` and a name, wrapped to `width`.
fn named_paragraph(first: &str, name: &str, pad: usize, text: &str, width: usize) -> String {
    let mut lines = String::new();
    if name.chars().count() <= LONGEST_COLUMN {
        let first = format!("{first}{name:<pad$}{:GAP$}", "");
        paragraph(&mut lines, &first, text, width);
    } else {
        let above = " ".repeat(first.chars().count());
        paragraph(&mut lines, first, name, width);
        paragraph(&mut lines, &format!("{above}{INDENT}"), text, width);
    }
    lines
}

/// The names of some columns; safe to show if `names` are.
pub(crate) fn listing(at: &[usize], names: &[String]) -> String {
    let at: Vec<&str> = at.iter().map(|at| names[*at].as_str()).collect();
    at.join(", ")
}

/// The problems of all columns, each with the columns that have it.
pub(crate) fn shared_problems(matrix: &Matrix) -> Vec<(Problem, Vec<usize>)> {
    let mut shared: Vec<(Problem, Vec<usize>)> = Vec::new();
    for (at, summaries) in matrix.summaries.iter().enumerate() {
        for problem in problems(summaries) {
            match shared.iter_mut().find(|(known, _)| *known == problem) {
                Some((_, columns)) => columns.push(at),
                None => shared.push((problem, vec![at])),
            }
        }
    }
    shared.sort_by_key(|(problem, _)| problem.order());
    shared
}

/// The columns of a problem: ` in canaries, objcore`; empty if there is only one column.
pub(crate) fn place(at: &[usize], names: &[String]) -> String {
    if names.len() == 1 {
        return String::new();
    }
    if at.len() == names.len() {
        return " in all columns".to_owned();
    }
    format!(" in {}", listing(at, names))
}

/// A ratio to four significant digits.
pub(crate) fn ratio(ratio: f64) -> String {
    Place::significant(ratio, 4).show(ratio)
}

/// The legend of the marks that the table has; `names` must be safe to show.
pub(crate) fn legend(matrix: &Matrix, names: &[String]) -> Vec<String> {
    let measured = || matrix.rows.iter().filter(|row| row.is_measured());
    let cells = || measured().flat_map(|row| &row.cells);
    let differences = || cells().flatten().filter_map(|c| Some((c, c.difference?)));
    let mut parts = Vec::new();
    let incomparable = matrix.incomparable();
    if !incomparable.is_empty() {
        parts.push(format!(
            "no difference between {} and {}: instructions are never compared with time",
            names[0],
            listing(&incomparable, names)
        ));
    }
    if differences().any(|(_, d)| d.absolute != 0.0) {
        parts.push(format!(
            "+ and -: difference from {}, computed before rounding",
            names[0]
        ));
    }
    if differences().any(|(_, d)| d.absolute == 0.0) {
        parts.push(format!("=: equal to {}", names[0]));
    }
    if differences().any(|(_, d)| d.overlap == Some(true) && d.absolute != 0.0) {
        parts.push("~: the two confidence intervals overlap".to_owned());
    }
    let without =
        |(cell, d): (&Cell, Difference)| d.overlap.is_none() && cell.summary.unit == Unit::Cycles;
    if differences().any(without) {
        parts.push("intervals, and so ~, need 6 replicates on both sides".to_owned());
    }
    let may_be_moves = |cell: &Cell| matches!(&cell.why, Some(Ok(why)) if why.median.may_be_moves);
    if cells().flatten().any(may_be_moves) {
        parts.push(why::MOVES.to_owned());
    }
    if cells().any(Option::is_none) {
        parts.push(format!("{UNAVAILABLE} alone: the run lacks this metric"));
    }
    if measured().any(Row::is_idiom) {
        parts.push(format!("{}; means exclude it", idiom_legend()));
    }
    parts
}

/// A cell of the table: one metric in one column.
#[derive(Clone)]
pub(crate) struct Shown {
    /// The median, or the reason for having none.
    pub(crate) value: String,
    /// The difference from the first column, or empty.
    pub(crate) change: String,
    ink: Option<Ink>,
}

impl Shown {
    /// All cells of a row, with times in the unit that suits the first one.
    pub(crate) fn all(row: &Row, units: Units) -> Vec<Self> {
        let mut summaries = row.cells.iter().flatten().map(|cell| &cell.summary);
        let time_unit = summaries.find_map(time_unit);
        let cells = row.cells.iter();
        cells
            .map(|cell| Shown::of(cell.as_ref(), units, time_unit))
            .collect()
    }

    fn of(cell: Option<&Cell>, units: Units, time_unit: Option<TimeUnit>) -> Self {
        let Some(cell) = cell else {
            return Shown::word(UNAVAILABLE, Ink::Dim);
        };
        let Some(figures) = Figures::in_unit(&cell.summary, time_unit) else {
            return match cell.summary.status {
                Status::Failed => Shown::word("failed", Ink::Red),
                Status::Incomplete => Shown::word("incomplete", Ink::Red),
                Status::Skipped | Status::Ok => Shown::word("skipped", Ink::Dim),
            };
        };
        let value = match units {
            Units::Different if cell.summary.unit != Unit::Cycles => {
                format!("{} {}", figures.median, symbol(cell.summary.unit))
            }
            Units::Same(_) | Units::Different => figures.median,
        };
        Shown {
            value,
            change: change(cell),
            ink: None,
        }
    }

    fn word(word: &str, ink: Ink) -> Self {
        Shown {
            value: word.to_owned(),
            change: String::new(),
            ink: Some(ink),
        }
    }
}

fn symbol(unit: Unit) -> &'static str {
    match unit {
        Unit::Cycles | Unit::Ticks => unit.of_figures(),
        Unit::Instructions => "instr",
    }
}

fn change(cell: &Cell) -> String {
    let Some(difference) = cell.difference else {
        return String::new();
    };
    let text = match difference.percent {
        Some(percent) => number::change(percent),
        None if difference.absolute == 0.0 => number::change(0.0),
        None => {
            let absolute = difference.absolute;
            let place = match cell.summary.unit {
                Unit::Instructions if absolute.fract() == 0.0 => Place::decimals(0),
                _ => Place::significant(absolute, 3),
            };
            format!("+{} {}", place.show(absolute), symbol(cell.summary.unit))
        }
    };
    if difference.overlap == Some(true) && difference.absolute != 0.0 {
        format!("~{text}")
    } else {
        text
    }
}

/// Whether all values of a matrix have the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// All have this unit, which the heading of the table names.
    Same(Unit),
    /// Units differ, so each value names its own.
    Different,
}

impl Units {
    pub(crate) fn of(matrix: &Matrix) -> Self {
        let cells = matrix.rows.iter().flat_map(|row| &row.cells).flatten();
        let mut units = cells
            .filter(|cell| cell.median().is_some())
            .map(|cell| cell.summary.unit);
        let first = units.next().unwrap_or(Unit::Cycles);
        if units.all(|unit| unit == first) {
            Units::Same(first)
        } else {
            Units::Different
        }
    }

    /// The heading without abbreviations, for reports with enough room.
    pub(crate) fn per_operation(self) -> &'static str {
        match self {
            Units::Same(Unit::Instructions) => "instructions per operation",
            other => other.title(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Units::Same(unit) => title(unit),
            Units::Different => "per operation",
        }
    }
}

/// A column of the table: values and, except in the first column, differences beside them.
struct Span {
    heading: Vec<String>,
    cells: Vec<Shown>,
    mean: Option<Mean>,
    value: usize,
    change: usize,
}

impl Span {
    fn of(name: &str, cells: Vec<Shown>, mean: Option<Mean>) -> Self {
        let longest = |of: fn(&Shown) -> &str| {
            let lengths = cells.iter().map(|cell| of(cell).chars().count());
            lengths.max().unwrap_or(0)
        };
        let mut span = Span {
            heading: Vec::new(),
            value: longest(|cell| &cell.value),
            change: longest(|cell| &cell.change),
            cells,
            mean,
        };
        span.heading = broken(name, span.figures().max(HEADING));
        span
    }

    fn figures(&self) -> usize {
        match self.change {
            0 => self.value,
            change => self.value + GAP + change,
        }
    }

    fn width(&self) -> usize {
        let lengths = self.heading.iter().map(|line| line.chars().count());
        lengths.max().unwrap_or(0).max(self.figures())
    }

    /// A figure of the mean, padded to the width of the column.
    fn of_mean(&self, figure: fn(Mean) -> String) -> String {
        let text = self.mean.map_or_else(String::new, figure);
        format!("{:WIDE_GAP$}{text:>1$}", "", self.width())
    }

    /// The cell of a row, padded to the width of the column.
    fn cell(&self, row: usize, style: Style) -> String {
        let Shown { value, change, ink } = &self.cells[row];
        let before = WIDE_GAP + self.width() - self.figures();
        let value = format!("{:before$}{value:>1$}", "", self.value);
        let value = ink.map_or(value.clone(), |ink| style.paint(ink, &value));
        match self.change {
            0 => value,
            width => format!("{value}{:GAP$}{change:>width$}", ""),
        }
    }
}

/// A name in lines of at most `width` characters, broken after a space, `+`, `,`, `:` or `=` if
/// possible.
fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for piece in name.split_inclusive([' ', '+', ',', ':', '=', '/']) {
        if length > 0 && length + piece.trim_end().chars().count() > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        for c in piece.chars() {
            if length == width {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            line.push(c);
            length += 1;
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim().to_owned()).collect()
}

/// The columns of the table and the width of the names, in characters.
struct Layout {
    title: &'static str,
    name: usize,
    spans: Vec<Span>,
    /// Whether rows stand below the name of their object. Sorted rows have their whole ids.
    by_object: bool,
}

impl Layout {
    fn of(matrix: &Matrix, rows: &[&Row], names: &[String], by_object: bool, width: usize) -> Self {
        let units = Units::of(matrix);
        let shown: Vec<Vec<Shown>> = rows.iter().map(|row| Shown::all(row, units)).collect();
        let spans: Vec<Span> = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let cells = shown.iter().map(|cells| cells[at].clone());
                Span::of(name, cells.collect(), matrix.means[at])
            })
            .collect();
        let title = units.title();
        let longest = rows
            .iter()
            .map(|row| label(&row.id, row.is_idiom(), by_object).chars().count())
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0)
            .max(title.len());
        // The first column and the widest of the others must fit beside the names.
        let others = spans[1..].iter().map(|span| WIDE_GAP + span.width());
        let least = WIDE_GAP + spans[0].width() + others.max().unwrap_or(0);
        Layout {
            title,
            name: longest.min(width.saturating_sub(least)).max(title.len()),
            spans,
            by_object,
        }
    }

    /// The columns of each block: the first column, and as many of the others as fit.
    fn blocks(&self, width: usize) -> Vec<Vec<usize>> {
        let first = self.name + WIDE_GAP + self.spans[0].width();
        let mut blocks = vec![vec![0]];
        let mut used = first;
        for (at, span) in self.spans.iter().enumerate().skip(1) {
            let more = WIDE_GAP + span.width();
            let block = blocks.last_mut().expect("it starts with one");
            if used + more <= width || block.len() == 1 {
                block.push(at);
                used += more;
            } else {
                blocks.push(vec![0, at]);
                used = first + more;
            }
        }
        blocks
    }

    fn write(&self, out: &mut String, block: &[usize], rows: &[&Row], style: Style) {
        let spans: Vec<&Span> = block.iter().map(|at| &self.spans[*at]).collect();
        self.write_heading(out, &spans, style);
        // Leave out rows without a value in this block.
        let measured = |row: &Row| {
            let mut cells = block.iter().filter_map(|at| row.cells[*at].as_ref());
            cells.any(|cell| cell.median().is_some())
        };
        let places = rows.iter().copied().enumerate();
        let places: Vec<(usize, &Row)> = places.filter(|(_, row)| measured(row)).collect();
        let heading = |(_, row): &(usize, &Row)| {
            if self.by_object {
                object(&row.id).to_owned()
            } else {
                String::new()
            }
        };
        for (object, rows) in grouped(&places, heading) {
            write_object(out, &object, style);
            for (at, row) in rows {
                let name = label(&row.id, row.is_idiom(), self.by_object);
                let mut line = format!("{name:<0$}", self.name);
                if name.chars().count() > self.name {
                    out.push_str(&name);
                    out.push('\n');
                    line = " ".repeat(self.name);
                }
                for span in &spans {
                    line.push_str(&span.cell(*at, style));
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
        self.write_means(out, &spans, style);
    }

    /// Writes the geometric means of the ratios, and the number of metrics in each.
    fn write_means(&self, out: &mut String, spans: &[&Span], style: Style) {
        if spans.iter().all(|span| span.mean.is_none()) {
            return;
        }
        out.push_str(&style.paint(Ink::Bold, RATIOS));
        out.push('\n');
        let mut write = |name: &str, figure: fn(Mean) -> String| {
            let name = format!("{INDENT}{name}");
            let mut line = format!("{name:<0$}", self.name);
            for span in spans {
                line.push_str(&span.of_mean(figure));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        };
        write("geometric mean", |mean| ratio(mean.ratio));
        write("metrics compared", |mean| {
            number::count(mean.metrics as u64)
        });
    }

    /// Writes the names of the columns. Their last lines are beside the title.
    fn write_heading(&self, out: &mut String, spans: &[&Span], style: Style) {
        let lines = spans.iter().map(|span| span.heading.len()).max();
        let lines = lines.unwrap_or(0);
        for line in 0..lines {
            let title = if line + 1 == lines { self.title } else { "" };
            let mut text = format!("{title:<0$}", self.name);
            for span in spans {
                let above = lines - span.heading.len();
                let part = line.checked_sub(above).map_or("", |at| &span.heading[at]);
                let _ = write!(text, "{:WIDE_GAP$}{part:>1$}", "", span.width());
            }
            out.push_str(&style.paint(Ink::Bold, text.trim_end()));
            out.push('\n');
        }
    }
}
