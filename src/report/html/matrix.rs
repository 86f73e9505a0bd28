// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page of several runs side by side: how far each is from the first, a heat map of all
//! metrics, what differs between the columns, and where the instructions of a difference are.

use maud::{html, Markup};

use super::frame::{anchor, facts, filter_field, id, text, Page, Section};
use super::tint;
use crate::base::number::{self, plural};
use crate::base::text::plain;
use crate::judge::matrix::{Cell, Column, Difference, Matrix, Row};
use crate::judge::summary::Status;
use crate::judge::why;
use crate::report::matrix::{
    header, legend, place, places, ratio, shared_problems, without_paths, HeaderLine, Shown, Units,
};
use crate::report::problems::{damage, tally, Problem};
use crate::report::row::IDIOM;
use crate::report::{grouped, object};
use crate::statistics::means;

/// Several runs as a page of HTML.
#[must_use]
pub fn page(columns: &[Column]) -> Page {
    let matrix = Matrix::of(columns);
    let names: Vec<String> = columns.iter().map(|column| plain(&column.name)).collect();
    let lines = header(columns);
    let mut sections = vec![
        Section {
            id: "columns",
            name: "Columns",
            title: "Columns".to_owned(),
            remark: format!("geometric mean of the ratios to {}", names[0]),
            body: overview(&matrix, columns, &lines, &names),
        },
        Section {
            id: "metrics",
            name: "Metrics",
            title: "Metrics".to_owned(),
            remark: format!("colour: the ratio to {}", names[0]),
            body: html! {
                (tint::legend(has_overlaps(&matrix)))
                (filter_field())
                (heat_map(&matrix, &names))
                p .mut { (text(&(legend(&matrix, &names).join("; ") + "."))) }
            },
        },
    ];
    sections.extend(differences(&matrix, columns, &names));
    sections.extend(problems(&matrix, columns, &names));
    Page {
        title: format!("{} side by side", listed(&names)),
        lead: lines
            .iter()
            .filter(|line| !line.shared.is_empty() && ["target", "kernel"].contains(&line.label))
            .map(|line| line.shared.clone())
            .collect(),
        sections,
        ..Page::default()
    }
}

/// The most names in a title.
const NAMES: usize = 4;

fn listed(names: &[String]) -> String {
    match names.split_at_checked(NAMES) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Each column with its mean, its extremes and what it does not share with the others; then what
/// all share.
fn overview(matrix: &Matrix, columns: &[Column], lines: &[HeaderLine], names: &[String]) -> Markup {
    let own = |at: usize| {
        let own = lines.iter().flat_map(move |line| {
            let texts = line.own.iter().filter(move |(_, of)| of.contains(&at));
            texts.map(|(text, _)| (line.label, text.clone()))
        });
        own.collect::<Vec<(&str, String)>>()
    };
    let shared = lines.iter().filter(|line| !line.shared.is_empty());
    let shared: Vec<(&str, &str)> = shared.map(|line| (line.label, &*line.shared)).collect();
    html! {
        div .cards {
            @for (at, column) in columns.iter().enumerate() {
                div .tile {
                    h3 { (text(&column.name)) }
                    @match matrix.means[at] {
                        Some(mean) => {
                            b {
                                "\u{d7}" (ratio(mean.ratio)) " "
                                small { (number::change((mean.ratio - 1.0) * 100.0)) }
                            }
                            span { "of " (plural(mean.metrics as u64, "metric")) }
                            (extremes(matrix, at))
                        }
                        None if at == 0 => { b { "\u{d7}1" } span { "what the others are compared with" } }
                        None => { b { "-" } span { "no metric can be compared" } }
                    }
                    span { (tally(&matrix.summaries[at])) }
                    @for (label, value) in own(at) { span { (label) ": " (text(&value)) } }
                }
            }
        }
        @if !shared.is_empty() && names.len() > 1 {
            details { summary { "What all columns share" } div { (facts(&shared)) } }
        }
    }
}

/// How many metrics cost more and less than in the first column, and which differ most.
fn extremes(matrix: &Matrix, at: usize) -> Markup {
    let changes = matrix.rows.iter().filter_map(|row| {
        let percent = clear(row.cells[at].as_ref()?)?;
        Some((row.id.as_str(), percent))
    });
    let mut changes: Vec<(&str, f64)> = changes.collect();
    changes.sort_by(|a, b| a.1.total_cmp(&b.1));
    let cheaper = changes.iter().filter(|(_, percent)| *percent < 0.0).count();
    let dearer = changes.iter().filter(|(_, percent)| *percent > 0.0).count();
    let least = changes.first().filter(|(_, percent)| *percent < 0.0);
    let most = changes.last().filter(|(_, percent)| *percent > 0.0);
    html! {
        @for (count, what, extreme) in [(dearer, "dearer", most), (cheaper, "cheaper", least)] {
            span {
                (number::count(count as u64)) " " (what)
                @if let Some((metric, percent)) = extreme {
                    ", most: " a .id href={ "#" (anchor(metric)) } { (id(metric)) }
                    " " (number::change(*percent))
                }
            }
        }
    }
}

/// The difference of a cell in per cent, unless both intervals overlap.
fn clear(cell: &Cell) -> Option<f64> {
    cell.difference.filter(|_| !overlaps(cell))?.percent
}

/// Whether a cell differs from the first, but the intervals of both overlap.
fn overlaps(cell: &Cell) -> bool {
    let differs = |one: &Difference| one.overlap == Some(true) && one.absolute != 0.0;
    cell.difference.as_ref().is_some_and(differs)
}

fn has_overlaps(matrix: &Matrix) -> bool {
    let mut cells = matrix.rows.iter().flat_map(|row| &row.cells).flatten();
    cells.any(overlaps)
}

/// A table of all metrics with a value, coloured, grouped by object.
fn heat_map(matrix: &Matrix, names: &[String]) -> Markup {
    let units = Units::of(matrix);
    let rows: Vec<&Row> = matrix.rows.iter().filter(|row| row.is_measured()).collect();
    // The more columns, the wider the screen that has room for them.
    let class = match names.len() {
        0..=3 => "few",
        4..=7 => "more",
        _ => "many",
    };
    html! {
        table .heat .(class) {
            thead {
                tr {
                    th data-sort scope="col" { (units.per_operation()) }
                    @for name in names { th data-sort scope="col" { (name) } }
                }
            }
            tbody {
                @for (object, rows) in grouped(&rows, |row| object(&row.id).to_owned()) {
                    @if !object.is_empty() { (group(&object, &rows, names.len())) }
                    @for row in rows { (metric(row, units)) }
                }
            }
        }
    }
}

/// The row above the metrics of an object: its mean in each column.
fn group(object: &str, rows: &[&&Row], columns: usize) -> Markup {
    let mean = |at: usize| {
        let percents = rows.iter().filter_map(|row| {
            let difference = row.cells[at].as_ref()?.difference?;
            difference.percent.filter(|_| !row.is_idiom())
        });
        let ratios = percents.map(|percent| 1.0 + percent / 100.0);
        let ratios: Vec<f64> = ratios.filter(|ratio| *ratio > 0.0).collect();
        means::geometric_mean(&ratios)
    };
    html! {
        tr .grp {
            td { (text(object)) }
            @for at in 0..columns {
                @match mean(at).filter(|_| at > 0) {
                    Some(mean) => td { (number::change((mean - 1.0) * 100.0)) },
                    None => td {},
                }
            }
        }
    }
}

fn metric(row: &Row, units: Units) -> Markup {
    let mut reasons = row.cells.iter().flatten().filter_map(|c| c.why.as_ref());
    let has_place = reasons.any(|why| why::line(why).is_some());
    html! {
        tr id=(anchor(&row.id)) data-id=(plain(&row.id)) {
            td .id {
                @if has_place { a href={ "#" (place_anchor(&row.id)) } { (id(&row.id)) } }
                @else { (id(&row.id)) }
                @if row.is_idiom() { (IDIOM) }
            }
            @for (cell, shown) in row.cells.iter().zip(Shown::all(row, units)) {
                (heat_cell(cell.as_ref(), &shown))
            }
        }
    }
}

fn heat_cell(cell: Option<&Cell>, shown: &Shown) -> Markup {
    let percent = cell.and_then(|cell| cell.difference?.percent);
    let class = percent.and_then(|percent| tint::class(1.0 + percent / 100.0));
    let is_unsure = cell.is_some_and(overlaps);
    // Columns are sorted by their difference, the first by its value.
    let key = cell.and_then(|cell| {
        let difference = cell.difference.map(|one| one.percent.unwrap_or(f64::MAX));
        difference.or(cell.median())
    });
    html! {
        td .(class.unwrap_or_default()) .u[is_unsure] data-v=(key.unwrap_or(-1e300)) {
            @match cell.and_then(Cell::interval) {
                Some((low, high)) => span title=(interval(low, high)) { (shown.value) },
                None => span { (shown.value) },
            }
            @if !shown.change.is_empty() { " " small { (shown.change) } }
        }
    }
}

fn interval(low: f64, high: f64) -> String {
    let shown = |value: f64| number::Place::significant(value, 4).show(value);
    format!("interval {} to {}", shown(low), shown(high))
}

fn place_anchor(metric: &str) -> String {
    anchor(metric).replacen("m-", "p-", 1)
}

/// In which functions the columns differ from the first.
fn differences(matrix: &Matrix, columns: &[Column], names: &[String]) -> Option<Section> {
    let places = places(matrix, names);
    let without = without_paths(matrix, columns);
    if places.is_empty() && without.is_empty() {
        return None;
    }
    Some(Section {
        id: "where",
        name: "Where",
        title: "Where they differ".to_owned(),
        remark: "by function".to_owned(),
        body: html! {
            @for sentence in &without { p { (text(sentence)) } }
            @for (metric, texts) in &places {
                div .place data-id=(plain(metric)) id=(place_anchor(metric)) {
                    a .id href={ "#" (anchor(metric)) } { (id(metric)) }
                    @for one in texts { p { (text(one)) } }
                }
            }
        },
    })
}

/// The metrics without a value, and why; and damage to the streams.
fn problems(matrix: &Matrix, columns: &[Column], names: &[String]) -> Option<Section> {
    let problems = shared_problems(matrix);
    let damages = names
        .iter()
        .zip(columns)
        .filter_map(|(name, column)| damage(&column.run).map(|damage| format!("{name}: {damage}")));
    let damages: Vec<String> = damages.collect();
    if problems.is_empty() && damages.is_empty() {
        return None;
    }
    Some(Section {
        id: "missing",
        name: "Missing",
        title: "Without a value".to_owned(),
        remark: String::new(),
        body: html! {
            @for damage in &damages { (super::frame::warning_box(damage)) }
            @for (problem, at) in &problems { (one_problem(problem, &place(at, names))) }
        },
    })
}

fn one_problem(problem: &Problem, place: &str) -> Markup {
    let status = match problem.status {
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete => "incomplete",
        Status::Ok => "with replicates lost",
    };
    html! {
        details {
            summary {
                (number::count(problem.metrics.len() as u64)) " " (status) (place) ": "
                (text(&problem.reason))
            }
            div {
                @for (index, (metric, ..)) in problem.metrics.iter().enumerate() {
                    @if index > 0 { ", " }
                    span .id { (id(metric)) }
                }
            }
        }
    }
}
