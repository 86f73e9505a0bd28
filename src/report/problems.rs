// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a run lacks: metrics without a value and why, damage to the stream, the tally.

use std::collections::HashMap;
use std::fmt::Write;

use super::style::{Ink, Style, INDENT};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::summary::{Status, Summary};
use crate::stream::run::Run;

/// Metrics that share a fate, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What became of them; [`Status::Ok`]: they have a number, but not of every replicate.
    pub status: Status,
    /// Why; not yet safe to show.
    pub reason: String,
    /// Their ids, and how many replicates have no number, of how many.
    pub metrics: Vec<(String, usize, usize)>,
}

impl Problem {
    /// Where it stands among others.
    pub(crate) fn order(&self) -> u8 {
        match self.status {
            Status::Skipped => 0,
            Status::Failed => 1,
            Status::Incomplete => 2,
            Status::Ok => 3,
        }
    }
}

/// All that has no number, by status and reason: skipped, failed, incomplete,
/// then single replicates that were lost.
#[must_use]
pub fn problems(summaries: &[Summary]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut places: HashMap<(Status, &str), usize> = HashMap::new();
    for summary in summaries {
        let reasons: Vec<&str> = match summary.status {
            Status::Ok => {
                let mut reasons: Vec<&str> = summary.lost.iter().map(String::as_str).collect();
                reasons.dedup();
                reasons
            }
            _ => vec![summary.reason.as_deref().unwrap_or("no reason given")],
        };
        for reason in reasons {
            let lost = match summary.status {
                Status::Ok => summary.lost.iter().filter(|r| *r == reason).count(),
                _ => summary.tried - summary.replicates,
            };
            let metric = (summary.id.clone(), lost, summary.tried);
            let place = *places.entry((summary.status, reason)).or_insert_with(|| {
                problems.push(Problem {
                    status: summary.status,
                    reason: reason.to_owned(),
                    metrics: Vec::new(),
                });
                problems.len() - 1
            });
            let metrics = &mut problems[place].metrics;
            // A reason that comes again is of the metric that was the last.
            if metrics.last() != Some(&metric) {
                metrics.push(metric);
            }
        }
    }
    problems.sort_by_key(Problem::order);
    problems
}

/// What went wrong with the stream, in one sentence; `None` when nothing did.
#[must_use]
pub fn damage(run: &Run) -> Option<String> {
    let damage = &run.damage;
    let mut parts = Vec::new();
    if damage.damaged > 0 {
        parts.push(plural(damage.damaged, "damaged record"));
    }
    if damage.gaps > 0 {
        parts.push(plural(damage.gaps, "gap"));
    }
    if damage.truncated > 0 {
        parts.push(format!("{} cut off", plural(damage.truncated, "session")));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "the record stream has {}; what they touched has no number, every number shown is whole",
            parts.join(", ")
        )
    })
}

/// That sessions were copies of others, in a sentence without its full stop; `None` when none was.
#[must_use]
pub fn copies(run: &Run) -> Option<String> {
    let copies = run.damage.copies;
    let are = if copies == 1 {
        "is a copy of another"
    } else {
        "are copies of others"
    };
    (copies > 0).then(|| format!("{} {are} and counted once", plural(copies, "session")))
}

/// `132 measured, 3 skipped, 1 failed`; `incomplete` only where there is one.
#[must_use]
pub fn tally(summaries: &[Summary]) -> String {
    let of = |status| summaries.iter().filter(|s| s.status == status).count();
    let mut text = format!(
        "{} measured, {} skipped, {} failed",
        of(Status::Ok),
        of(Status::Skipped),
        of(Status::Failed)
    );
    let incomplete = of(Status::Incomplete);
    if incomplete > 0 {
        let _ = write!(text, ", {incomplete} incomplete");
    }
    text
}

/// What became of metrics, `place` (such as ` in canaries`, safe to show, or empty), why, and their ids.
pub(super) fn write_problem(out: &mut String, problem: &Problem, place: &str, style: Style) {
    let (what, ink) = match problem.status {
        Status::Skipped => ("skipped", Ink::Bold),
        Status::Failed => ("failed", Ink::Red),
        Status::Incomplete => ("incomplete", Ink::Red),
        Status::Ok => ("replicates lost", Ink::Bold),
    };
    let mut head = match problem.status {
        Status::Ok => what.to_owned(),
        _ => format!("{} {what}", problem.metrics.len()),
    };
    let mut rest = format!("{place}: {}", plain(&problem.reason));
    if place.is_empty() {
        head.push(rest.remove(0));
    }
    let mut lines = String::new();
    paragraph(&mut lines, "", &(head.clone() + &rest), style.width());
    out.push_str(&style.paint(ink, &head));
    out.push_str(&lines[head.len()..]);
    let ids: Vec<String> = problem
        .metrics
        .iter()
        .map(|(id, lost, tried)| match problem.status {
            Status::Ok => format!("{} ({lost} of {tried})", plain(id)),
            _ => plain(id),
        })
        .collect();
    paragraph(out, INDENT, &ids.join(", "), style.width());
}
