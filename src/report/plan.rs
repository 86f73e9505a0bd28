// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark plan`: a [`Plan`] in, a table of the replicates needed out.

use std::fmt::Write;

use super::compare::{write_remark, Remark};
use super::grouped;
use super::row::UNAVAILABLE;
use super::style::{write_labelled, Ink, Style, GAP};
use super::table::left_out_text;
use crate::base::number::plural;
use crate::base::number::{self, count};
use crate::base::text::{paragraph, plain};
use crate::judge::plan::{
    Estimate, Need, Plan, PlanKey, Planned, EXACT_REPLICATES, MAX_REPLICATES, SPREAD_CONFIDENCE,
};
use crate::judge::ranking::Ranking;
use crate::statistics::distributions;
use crate::stream::run::{Fact, Run};

/// The conclusions give the replicates for this share of the metrics, and for all.
const MOST_METRICS: f64 = 0.9;
/// A pilot with fewer replicates estimates the spread poorly.
const FEW: usize = 6;

/// A plan as text: the question, a line for each metric (the most demanding first), and for how
/// many metrics a given number of replicates is enough.
#[must_use]
pub fn table(
    plan: &Plan,
    file: &str,
    pilot: &Run,
    ranking: &Ranking<PlanKey>,
    style: &Style,
) -> String {
    let mut out = String::new();
    let question = plan.question;
    let asked = format!(
        "a change of {} %, detected at the gate with {} % power; margin {} %; a family of {}",
        percent(question.change),
        percent(question.power),
        percent(question.margin),
        plural(plan.family as u64, "metric")
    );
    let replicates = plural(plan.replicates as u64, "replicate");
    for (label, text) in [("pilot", format!("{file}; {replicates}")), ("asked", asked)] {
        write_labelled(&mut out, label, &text, *style);
    }
    let (rows, left_out) = rows(plan, *ranking);
    if !rows.is_empty() {
        out.push('\n');
        write_rows(&mut out, &rows, *style);
        if left_out > 0 {
            out.push_str(&left_out_text(left_out));
        }
        paragraph(&mut out, "", LEGEND, style.width());
    }
    for remark in remarks(plan) {
        out.push('\n');
        write_remark(&mut out, &remark, *style);
    }
    out.push('\n');
    for line in conclusions(plan, pilot) {
        paragraph(&mut out, "", &line, style.width());
    }
    out
}

const LEGEND: &str =
    "spread: variation between the pilot's replicates; sampling: share of that variance which the \
    scatter of samples explains; seen: the smallest change that the pilot's number of replicates \
    detects; find: replicates per side that detect the change; none: replicates per side that show \
    an unchanged metric to be equivalent; samples: samples per replicate with which the pilot's \
    number of replicates detects the change.";

/// A share in per cent as the user gave it, without digits from rounding errors.
#[must_use]
pub fn percent(share: f64) -> String {
    let millionths = (share * 1e8).round() / 1e6;
    millionths.to_string()
}

struct Row {
    id: String,
    cells: [String; 6],
}

const TITLES: [&str; 6] = ["spread", "sampling", "seen", "find", "none", "samples"];

/// The rows of estimated metrics, and how many are left out.
fn rows(plan: &Plan, ranking: Ranking<PlanKey>) -> (Vec<Row>, usize) {
    let ranking = Ranking {
        key: ranking.key.or(Some(PlanKey::Replicates)),
        ..ranking
    };
    let estimate = |metric: &Planned| match metric.need {
        Need::Replicates(estimate) => Some(estimate),
        Need::Exact | Need::Unknown(_) => None,
    };
    let estimated = plan.metrics.iter().filter(|one| estimate(one).is_some());
    let (shown, left_out) = ranking.of(estimated);
    let row = |metric: &Planned| Some(Row::of(metric, &estimate(metric)?));
    (shown.into_iter().filter_map(row).collect(), left_out)
}

impl Row {
    fn of(metric: &Planned, estimate: &Estimate) -> Self {
        let share = |share: f64| number::percent(share * 100.0);
        let number = |number: Option<usize>| match number {
            Some(number) => count(number as u64),
            None => format!(">{}", count(MAX_REPLICATES as u64)),
        };
        let unavailable = || UNAVAILABLE.to_owned();
        Row {
            id: metric.id.clone(),
            cells: [
                share(estimate.spread),
                share(estimate.sampling),
                estimate.finds.map_or_else(unavailable, share),
                number(estimate.to_find),
                number(estimate.to_show_equivalence),
                estimate.samples.map_or_else(unavailable, count),
            ],
        }
    }
}

fn write_rows(out: &mut String, rows: &[Row], style: Style) {
    let mut widths = TITLES.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let others: usize = widths.iter().map(|width| GAP + width).sum();
    let room = style.width().saturating_sub(others);
    let lengths = rows.iter().map(|row| plain(&row.id).chars().count());
    let name = lengths.filter(|length| *length <= room).max().unwrap_or(0);
    let line = |first: &str, cells: [&str; 6]| {
        let mut line = format!("{first:<name$}");
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        line
    };
    let _ = writeln!(out, "{}", style.paint(Ink::Bold, &line("", TITLES)));
    for row in rows {
        let id = plain(&row.id);
        let cells = row.cells.each_ref().map(String::as_str);
        if id.chars().count() > name {
            let _ = writeln!(out, "{id}\n{}", line("", cells));
        } else {
            let _ = writeln!(out, "{}", line(&id, cells));
        }
    }
}

/// Remarks on exact metrics, and on metrics without an estimate.
fn remarks(plan: &Plan) -> Vec<Remark> {
    let of = |test: &dyn Fn(&Need) -> Option<String>| -> Vec<(String, &str)> {
        let metrics = plan.metrics.iter();
        metrics
            .filter_map(|metric| Some((test(&metric.need)?, metric.id.as_str())))
            .collect()
    };
    let exact =
        format!("replicates are identical: {EXACT_REPLICATES} on each side show any difference");
    let exact = of(&|need| (*need == Need::Exact).then(|| exact.clone()));
    let unknown = of(&|need| match need {
        Need::Unknown(why) => Some(why.clone()),
        _ => None,
    });
    let mut remarks = Vec::new();
    for (kind, noted) in [("exact", exact), ("not planned", unknown)] {
        for (text, of) in grouped(&noted, |(text, _)| text.clone()) {
            remarks.push(Remark {
                verdict: None,
                head: format!("{} {kind}", of.len()),
                text,
                ids: of.iter().map(|(_, id)| (*id).to_owned()).collect(),
            });
        }
    }
    remarks
}

/// The conclusions from the table, in sentences.
fn conclusions(plan: &Plan, pilot: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    let mut numbers: Vec<usize> = [MOST_METRICS, 1.0]
        .into_iter()
        .filter_map(|share| plan.replicates_for_share(share))
        .chain([plan.replicates])
        .filter(|number| *number > 0)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let (found, of) = plan.count_found_with(number);
        if of == 0 {
            continue;
        }
        let (s, detect) = if number == 1 {
            ("", "detects")
        } else {
            ("s", "detect")
        };
        let mut line = format!(
            "{} replicate{s} per side {detect} {} % in {} of {}",
            count(number as u64),
            percent(plan.question.change),
            count(found as u64),
            plural(of as u64, "metric")
        );
        if let Some(time) = time(plan, pilot, number) {
            let _ = write!(
                line,
                ", in about {time} s per side: run --runs {number} --time-budget {time}"
            );
        }
        lines.push(line + ".");
    }
    let least = plan.metrics.iter().filter_map(|metric| match metric.need {
        Need::Replicates(_) => Some(metric.replicates),
        _ => None,
    });
    if let Some(least) = least.min() {
        let bound = distributions::chi_square_quantile(1.0 - SPREAD_CONFIDENCE, least - 1);
        let times = bound.map_or(1.0, |bound| ((least - 1) as f64 / bound).sqrt());
        let advice = if least < FEW {
            "So few replicates estimate the spread poorly; use a pilot of ten. "
        } else {
            ""
        };
        lines.push(format!(
            "{advice}The plan assumes {times:.2} times the spread of the {least} replicates; with \
             {} % confidence, the true spread is smaller.",
            percent(SPREAD_CONFIDENCE)
        ));
    }
    lines
}

/// The seconds that this many replicates take with the pilot's number of samples; `None` if the
/// pilot had no time budget.
fn time(plan: &Plan, pilot: &Run, replicates: usize) -> Option<u64> {
    let budget = Fact::value_in(&pilot.host, "time_budget")?;
    let seconds: f64 = budget.strip_suffix(" s")?.parse().ok()?;
    let runs = Fact::value_in(&pilot.host, "runs").and_then(|runs| runs.parse().ok());
    let runs = runs.unwrap_or(plan.replicates).max(1);
    Some((seconds * replicates as f64 / runs as f64).ceil() as u64)
}
