// SPDX-License-Identifier: MIT OR Apache-2.0

//! GitHub's Markdown.
//!
//! In: runs, comparisons, matrices, coverage, datasets, explanations and budgets. Out: lists and tables for
//! people.

use std::fmt::Write;

use crate::base::markdown::{code, escape};
use crate::files::reference::{Dataset, Figure};
use crate::judge::budget::Judgement;
use crate::judge::compare::{Comparison, Verdict};
use crate::judge::coverage::{self, Benchmark};
use crate::judge::explain::Explanation;
use crate::judge::gate::Ruling;
use crate::judge::interference::disturbances;
use crate::judge::matrix::{Column, Matrix};
use crate::judge::summary::{summarise, Status};
use crate::judge::why;
use crate::report::budget;
use crate::report::compare::{self, Origin};
use crate::report::explain;
use crate::report::interference::sentences;
use crate::report::matrix::{
    self, header, legend, listing, place, ratio, shared_problems, Shown, Units,
};
use crate::report::problems::{copies, damage, problems, tally, Problem};
use crate::report::provenance;
use crate::report::reference;
use crate::report::row::{idiom_legend, title, Row, IDIOM};
use crate::report::{grouped, object};
use crate::stream::run::{Run, Unit};

/// A run: the measured system, a table for each object, and the metrics without a number, with reasons.
#[must_use]
pub fn run(run: &Run) -> String {
    let summaries = summarise(run);
    let rows = Row::all(&summaries);
    let mut out = String::new();
    for (label, text) in provenance::lines(run, &summaries) {
        let _ = writeln!(out, "- {label}: {}", escape(&text));
    }
    for ((unit, statistic), rows) in grouped(&rows, |row| (row.unit, row.statistic)) {
        let statistic = statistic.name();
        let per = title(unit);
        let net = match unit {
            Unit::Cycles => "net cycles",
            Unit::Ticks | Unit::Instructions => "net",
        };
        for (object, rows) in grouped(&rows, |row| object(&row.id).to_owned()) {
            out.push('\n');
            if !object.is_empty() {
                let _ = writeln!(out, "### {}\n", escape(&object));
            }
            let _ = writeln!(
                out,
                "| {per} | {statistic} | interval | p99 | p99.9 | worst | cold | {net} | rate |"
            );
            out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
            for row in rows {
                let figures = [
                    &row.median,
                    &row.interval,
                    &row.p99,
                    &row.p999,
                    &row.worst,
                    &row.cold,
                    &row.net,
                    &row.rate,
                ];
                let mark = if row.idiom { IDIOM } else { "" };
                let _ = write!(out, "| {}{mark}", code(&row.id));
                if !row.title.is_empty() {
                    let _ = write!(out, "<br>{}", escape(&row.title));
                }
                out.push_str(" |");
                for figure in figures {
                    let _ = write!(out, " {} |", escape(figure));
                }
                out.push('\n');
            }
        }
    }
    out.push('\n');
    for disturbance in disturbances(run) {
        let _ = writeln!(out, "- {}", escape(&sentences(&disturbance)));
    }
    for problem in problems(&summaries) {
        write_problem(&mut out, &problem, "");
    }
    for what in damage(run).into_iter().chain(copies(run)) {
        let _ = writeln!(out, "- **damage**: {}", escape(&what));
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    let _ = writeln!(out, "{}.", tally(&summaries));
    if !rows.is_empty() {
        out.push_str(
            "The interval is the confidence interval of the median, 95 % or more. A figure with \\* is the mean of a batch of operations. Net is the median minus the cost of reading the clock.\n",
        );
    }
    if rows.iter().any(|row| row.idiom) {
        let _ = writeln!(out, "\n{}.", idiom_legend());
    }
    out
}

/// The coverage of another suite: a row for each benchmark and target, and the number of benchmarks that are
/// measured.
#[must_use]
pub fn coverage(benchmarks: &[Benchmark]) -> String {
    let mut out =
        String::from("| benchmark | metric | target | note |\n| --- | --- | --- | --- |\n");
    for benchmark in benchmarks {
        let name = escape(&benchmark.name);
        if benchmark.measured.is_empty() {
            let reason = escape(&benchmark.reason);
            let _ = writeln!(out, "| {name} | none | | {reason} |");
        }
        for counterpart in &benchmark.measured {
            let (metric, target) = (code(&counterpart.metric), escape(&counterpart.target));
            let _ = writeln!(
                out,
                "| {name} | {metric} | {target} | {} |",
                escape(&counterpart.note)
            );
        }
    }
    let _ = writeln!(out, "\n{}.", escape(&coverage::tally(benchmarks)));
    out
}

/// The datasets of published figures: a row for each, with its origin.
#[must_use]
pub fn datasets(datasets: &[(Dataset, usize)]) -> String {
    let mut out = String::from(
        "| dataset | rows | system and configuration | from |\n| --- | ---: | --- | --- |\n",
    );
    for (dataset, rows) in datasets {
        let _ = writeln!(
            out,
            "| {} | {rows} | {} | {} |",
            escape(&dataset.name),
            escape(&dataset.subject()),
            escape(&reference::origin(dataset))
        );
    }
    out
}

/// A dataset as published: its origin and a row for each figure.
#[must_use]
pub fn figures(dataset: &Dataset, figures: &[Figure]) -> String {
    let mut out = format!("- dataset: {}\n", escape(&dataset.name));
    for (label, text) in reference::provenance(dataset) {
        let _ = writeln!(out, "- {label}: {}", escape(&text));
    }
    let columns = reference::columns(figures);
    out.push_str("\n| per operation |");
    for (title, _) in &columns {
        let _ = write!(out, " {title} |");
    }
    let _ = writeln!(out, "\n| --- |{}", " ---: |".repeat(columns.len()));
    for (at, figure) in figures.iter().enumerate() {
        let _ = write!(out, "| {} |", escape(&figure.name()));
        for (_, cells) in &columns {
            let _ = write!(out, " {} |", escape(&cells[at]));
        }
        out.push('\n');
    }
    out
}

/// The composition of a cost: a row for each part, the sum and the residual.
#[must_use]
pub fn explanation(of: &Explanation, origin: &explain::Origin) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "- metric: {}", code(&of.id));
    let _ = writeln!(out, "- source: {}", escape(&origin.source));
    let _ = writeln!(out, "- measured: {}", escape(&explain::measured(of)));
    let _ = write!(out, "\n| {} |", explain::heading(of));
    for title in explain::TITLES {
        let _ = write!(out, " {title} |");
    }
    out.push_str(" why |\n| --- | ---: | ---: | ---: | ---: | --- |\n");
    for row in explain::rows(of) {
        let _ = write!(out, "| {} |", escape(&row.name));
        for cell in &row.cells {
            let _ = write!(out, " {} |", escape(cell));
        }
        let _ = writeln!(out, " {} |", escape(&row.why));
    }
    let _ = writeln!(out, "\n**Residual**: {}.", escape(&explain::reading(of)));
    if let Some(sentence) = explain::unmeasured(of, origin) {
        let _ = writeln!(out, "\n{}", escape(&sentence));
    }
    out
}

/// A table with the cost, the sum of the parts and the residual of several metrics.
#[must_use]
pub fn explanations(of: &[Explanation], source: &str) -> String {
    let mut out = format!("- source: {}\n\n| metric |", escape(source));
    for title in explain::LIST_TITLES {
        let _ = write!(out, " {title} |");
    }
    out.push_str("\n| --- | ---: | ---: | ---: | ---: | --- |\n");
    for one in of {
        let _ = write!(out, "| {} |", code(&one.id));
        for cell in explain::list_cells(one) {
            let _ = write!(out, " {} |", escape(&cell));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "\n{}", explain::LIST_LEGEND);
    out
}

/// Writes the status of metrics, `place` (` in canaries`, or empty), the reason, and their ids.
fn write_problem(out: &mut String, problem: &Problem, place: &str) {
    let status = match problem.status {
        Status::Ok => "replicates lost",
        other => super::status(other),
    };
    let ids: Vec<String> = problem
        .metrics
        .iter()
        .map(|(id, lost, tried)| match problem.status {
            Status::Ok => format!("{} ({lost} of {tried})", code(id)),
            _ => code(id),
        })
        .collect();
    let _ = writeln!(
        out,
        "- **{status}**{}: {}: {}",
        escape(place),
        escape(&problem.reason),
        ids.join(", ")
    );
}

/// Several runs: the measured system of each column, a table, and the metrics without a number, with reasons.
#[must_use]
pub fn matrix(columns: &[Column]) -> String {
    let matrix = Matrix::of(columns);
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut out = String::new();
    for line in header(columns) {
        let shared = format!("- {}: {}", line.label, escape(&line.shared));
        let _ = writeln!(out, "{}", shared.trim_end());
        for (text, at) in &line.own {
            let of = escape(&listing(at, &names));
            let _ = writeln!(out, "  - {of}: {}", escape(text));
        }
    }
    let rows: Vec<_> = matrix.rows.iter().filter(|row| row.is_measured()).collect();
    if !rows.is_empty() {
        let units = Units::of(&matrix);
        let _ = write!(out, "\n| {} |", units.per_operation());
        for name in &names {
            let _ = write!(out, " {} |", escape(name));
        }
        let _ = writeln!(out, "\n| --- |{}", " ---: |".repeat(names.len()));
        for row in rows {
            let mark = if row.is_idiom() { IDIOM } else { "" };
            let _ = write!(out, "| {}{mark} |", code(&row.id));
            for shown in Shown::all(row, units) {
                let change = match shown.change.as_str() {
                    "" => String::new(),
                    change => format!(" ({change})"),
                };
                let _ = write!(out, " {} |", escape(&(shown.value + &change)));
            }
            out.push('\n');
        }
        if matrix.means.iter().any(Option::is_some) {
            out.push_str("| **geometric mean of the ratios** |");
            for mean in &matrix.means {
                let text = mean.map(|m| format!(" **{}** of {}", ratio(m.ratio), m.metrics));
                let _ = write!(out, "{} |", text.unwrap_or_default());
            }
            out.push('\n');
        }
        let _ = writeln!(out, "\n{}.", escape(&legend(&matrix, &names).join("; ")));
    }
    out.push('\n');
    for (metric, texts) in matrix::places(&matrix, &names) {
        let _ = writeln!(out, "- {}", code(&metric));
        for text in texts {
            let _ = writeln!(out, "  - {}", escape(&text));
        }
    }
    for sentence in matrix::without_paths(&matrix, columns) {
        let _ = writeln!(out, "- {}", escape(&sentence));
    }
    for (problem, at) in shared_problems(&matrix) {
        write_problem(&mut out, &problem, &place(&at, &names));
    }
    for (name, column) in names.iter().zip(columns) {
        if let Some(damage) = damage(&column.run) {
            let _ = writeln!(out, "- **damage** in {}: {}", escape(name), escape(&damage));
        }
    }
    for (name, summaries) in names.iter().zip(&matrix.summaries) {
        let _ = writeln!(out, "- {}: {}", escape(name), tally(summaries));
    }
    out
}

/// A comparison: its sides and method, a table of metrics with a verdict, and remarks on the others.
#[must_use]
pub fn comparison(comparison: &Comparison, sides: &[Origin; 2], ruling: &Ruling) -> String {
    comparison_with(comparison, sides, ruling, &Verdict::ALL)
}

/// A comparison in at most `room` bytes. If it does not fit, metrics are left out by verdict, equivalent
/// ones first and changed ones last, and the text says so. `None` if not even the head fits.
#[must_use]
pub fn brief_comparison(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    room: usize,
) -> Option<String> {
    use Verdict::{Added, Improved, Incomparable, Inconclusive, Missing, Regressed};
    let choices: [&[Verdict]; 4] = [
        &Verdict::ALL,
        &[
            Regressed,
            Improved,
            Inconclusive,
            Incomparable,
            Missing,
            Added,
        ],
        &[Regressed, Improved],
        &[],
    ];
    let pages = choices.into_iter();
    let mut pages = pages.map(|shown| comparison_with(comparison, sides, ruling, shown));
    pages.find(|page| page.len() <= room)
}

/// A comparison with only metrics of these verdicts in its tables and remarks.
fn comparison_with(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    shown: &[Verdict],
) -> String {
    let mut out = String::new();
    for side in sides {
        let _ = writeln!(
            out,
            "- {}: {}",
            side.column.name,
            escape(&side.files.join(", "))
        );
    }
    let _ = writeln!(out, "- compared: {}", escape(&compare::method(comparison)));
    let _ = writeln!(
        out,
        "- speed: {}",
        escape(&compare::speed(&comparison.speed))
    );
    let _ = writeln!(
        out,
        "- detects: {}",
        escape(&compare::resolution(comparison))
    );
    for sentence in &comparison.published {
        let _ = writeln!(out, "- checked: {}", escape(sentence));
    }
    if let Some(selected) = compare::selected(comparison) {
        let _ = writeln!(out, "- selected: {}", escape(&selected));
    }
    for setting in compare::settings(comparison) {
        let _ = writeln!(out, "- {}: {}", compare::SETTINGS, escape(&setting));
    }
    let _ = writeln!(out, "- **{}**", compare::tally(comparison));
    if ruling.ungated > 0 {
        let _ = writeln!(out, "- {}", escape(&compare::ungated_text(ruling)));
    }
    for objection in &ruling.objections {
        let text = compare::objection_text(objection);
        let _ = writeln!(out, "- **the gate fails**: {}", escape(&text));
    }
    if let Some(sentence) = compare::without_paths(comparison, sides) {
        let _ = writeln!(out, "- {}", escape(&sentence));
    }
    let conditions = compare::condition_warning(comparison, sides, true);
    let warnings = compare::warnings(comparison, sides);
    let contrast = compare::contrast(comparison);
    for warning in conditions.into_iter().chain(contrast).chain(warnings) {
        let _ = writeln!(out, "- {}", escape(&warning));
    }
    let left_out = Verdict::ALL.into_iter().filter(|v| !shown.contains(v));
    let left_out: Vec<String> = left_out
        .map(|verdict| (comparison.count(verdict), verdict.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if !left_out.is_empty() {
        let _ = writeln!(out, "- left out for lack of space: {}", left_out.join(", "));
    }
    let mut part = comparison.clone();
    part.metrics.retain(|m| shown.contains(&m.verdict));
    let compared = compare::in_order(&part);
    for (unit, metrics) in grouped(&compared, |metric| metric.unit) {
        let per = title(unit);
        let improves = metrics.iter().any(|metric| metric.improvement.is_some());
        let (title, rule) = if improves {
            (" improvement % |", " ---: |")
        } else {
            ("", "")
        };
        let _ = writeln!(
            out,
            "\n| {per} | verdict | of | base | new | change |{title} interval | p |"
        );
        let _ = writeln!(
            out,
            "| --- | --- | --- | ---: | ---: | ---: |{rule} ---: | ---: |"
        );
        for metric in metrics {
            let row = compare::Row::of(metric);
            let (id, label) = (code(&row.id) + row.mark, escape(&row.label));
            let _ = write!(out, "| {id} | {label} | {} |", row.quantity);
            let improvement = improves.then_some(&row.improvement);
            let figures = [&row.base, &row.new, &row.change].into_iter();
            for figure in figures.chain(improvement).chain([&row.interval, &row.p]) {
                let _ = write!(out, " {} |", escape(figure));
            }
            out.push('\n');
        }
    }
    let legend = compare::legend(&part);
    if !legend.is_empty() {
        let _ = writeln!(out, "\n{}.", escape(&legend.join("; ")));
    }
    out.push('\n');
    for metric in &part.metrics {
        if let Some(why) = metric.why.as_ref().and_then(why::line) {
            let _ = writeln!(out, "- {}: {}", code(&metric.id), escape(&why));
        }
    }
    for remark in compare::remarks(&part) {
        write_remark(&mut out, &remark);
    }
    out
}

fn write_remark(out: &mut String, remark: &compare::Remark) {
    let ids: Vec<String> = remark.ids.iter().map(|id| code(id)).collect();
    let _ = writeln!(
        out,
        "- **{}**: {}: {}",
        remark.head,
        escape(&remark.text),
        ids.join(", ")
    );
}

/// The judgement of a budget, as a section below the report of a run or comparison.
#[must_use]
pub fn budget(judgement: &Judgement) -> String {
    let mut out = format!("\n### {}\n\n", escape(&budget::title(judgement)));
    let _ = writeln!(out, "- **{}**", escape(&budget::tally(judgement)));
    for remark in budget::remarks(judgement) {
        write_remark(&mut out, &remark);
    }
    let rows = budget::over(judgement);
    if !rows.is_empty() {
        out.push_str("\n| over the limit | figure | value | limit | excess | why |\n");
        out.push_str("| --- | --- | ---: | ---: | ---: | --- |\n");
    }
    for row in rows {
        let why = escape(row.why.as_deref().unwrap_or_default());
        let figures = [&row.value, &row.limit, &row.excess].map(|figure| escape(figure));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {why} |",
            code(&row.id),
            row.figure,
            figures.join(" | ")
        );
    }
    out
}
