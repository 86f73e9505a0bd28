// SPDX-License-Identifier: MIT OR Apache-2.0

//! The problems of a run: metrics without a value and why, damage to its stream, the tally.

use std::collections::HashMap;
use std::fmt::Write;

use super::style::{Ink, Style, INDENT};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::summary::{Status, Summary};
use crate::stream::run::Run;

/// Metrics that lack a value for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Their status. With [`Status::Ok`] they have a value, but some replicates have none.
    pub status: Status,
    /// The reason; not yet safe to show.
    pub reason: String,
    /// Their ids, each with the number of replicates without a value and of all replicates.
    pub metrics: Vec<(String, usize, usize)>,
}

impl Problem {
    /// The rank of its status in a report.
    pub(crate) fn order(&self) -> u8 {
        match self.status {
            Status::Skipped => 0,
            Status::Failed => 1,
            Status::Incomplete => 2,
            Status::Ok => 3,
        }
    }
}

/// All metrics without a value, grouped by status and reason: skipped, failed, incomplete. Metrics
/// of which only some replicates were lost come last.
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
            // A metric can have the same reason twice.
            if metrics.last() != Some(&metric) {
                metrics.push(metric);
            }
        }
    }
    problems.sort_by_key(Problem::order);
    problems
}

/// The damage to the record stream, as a clause; `None` if there is none.
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
            "the record stream has {}; the affected metrics have no value, and all values shown are \
             complete",
            parts.join(", ")
        )
    })
}

/// How many sessions were copies of others, as a clause; `None` if there were none.
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

/// `132 measured, 3 skipped, 1 failed`, and the number of incomplete metrics if there are any.
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

/// How many reasons for skipping are named where metrics are only counted.
const NAMED: usize = 4;

/// Writes how many metrics were skipped for which reason, without their ids; nothing if none was.
pub(super) fn write_skipped(out: &mut String, problems: &[Problem], style: Style) {
    let skipped = problems.iter().filter(|one| one.status == Status::Skipped);
    let mut counts: Vec<(usize, String)> = skipped
        .map(|one| (one.metrics.len(), plain(&one.reason)))
        .collect();
    let total: usize = counts.iter().map(|(count, _)| count).sum();
    if total == 0 {
        return;
    }
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    if counts.len() > NAMED + 1 {
        let others = counts.split_off(NAMED);
        let count = others.iter().map(|(count, _)| count).sum();
        counts.push((count, format!("for {} other reasons", others.len())));
    }
    let mut head = format!("{total} skipped");
    if let [(_, reason)] = &counts[..] {
        head.push_str(": ");
        let mut lines = String::new();
        paragraph(&mut lines, &head, reason, style.width());
        out.push_str(&style.paint(Ink::Bold, &head));
        out.push_str(&lines[head.len()..]);
        return;
    }
    out.push_str(&style.paint(Ink::Bold, &head));
    out.push('\n');
    let width = counts[0].0.to_string().len().max(2);
    for (count, reason) in counts {
        let first = format!("{INDENT}{count:>width$}{INDENT}");
        paragraph(out, &first, &reason, style.width());
    }
}

/// The name of a status, for people.
pub(super) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Ok => "measured",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete => "incomplete",
    }
}

/// Writes a problem: its status, its place (` in canaries` or empty, safe to show), the reason and
/// the ids.
pub(super) fn write_problem(out: &mut String, problem: &Problem, place: &str, style: Style) {
    let ink = match problem.status {
        Status::Skipped | Status::Ok => Ink::Bold,
        Status::Failed | Status::Incomplete => Ink::Red,
    };
    let mut head = match problem.status {
        Status::Ok => "replicates lost".to_owned(),
        status => format!("{} {}", problem.metrics.len(), status_name(status)),
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
