// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark run --check`: whether each metric can be measured, without values.

use std::fmt::Write;

use super::problems::problems;
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::summary::{Status, Summary};

/// The metrics without a value, grouped by reason, in lines of at most `width` characters. The last
/// line counts all metrics.
#[must_use]
pub fn render(summaries: &[Summary], width: usize) -> String {
    let mut text = String::new();
    for problem in problems(summaries) {
        let word = match problem.status {
            Status::Ok => "passed, but not in every replicate",
            Status::Skipped => "skipped",
            Status::Failed => "failed",
            Status::Incomplete => "incomplete",
        };
        let reason = format!("{word}: {}", plain(&problem.reason));
        paragraph(&mut text, "", &reason, width);
        let ids: Vec<String> = problem.metrics.iter().map(|(id, ..)| plain(id)).collect();
        paragraph(&mut text, "  ", &ids.join(", "), width);
    }
    let of = |status| summaries.iter().filter(|s| s.status == status).count();
    let _ = writeln!(
        text,
        "{}: {} ok, {} skipped, {} failed, {} incomplete",
        plural(summaries.len() as u64, "metric"),
        of(Status::Ok),
        of(Status::Skipped),
        of(Status::Failed),
        of(Status::Incomplete)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::summary::summarise;
    use crate::stream::run::{Clock, Metric, Outcome, Replicate, Run, Session, Unit};

    #[test]
    fn metrics_without_a_value_are_named_with_the_reason() {
        let metric = |id: &str, outcome| Metric {
            id: id.to_owned(),
            case: id.to_owned(),
            replicates: vec![Replicate {
                session: 0,
                outcome,
                batch: 1,
                asked: 5,
                cold: None,
                histogram: crate::stream::histogram::Histogram::new(),
                stat: None,
                cpu_ns: None,
                proofs: Vec::new(),
            }],
        };
        let session = Session {
            port: "fake".to_owned(),
            arch: "none".to_owned(),
            clock: Clock {
                name: "none".to_owned(),
                unit: Unit::Instructions,
                hz: 0,
            },
            realtime: false,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        };
        let run = Run {
            sessions: vec![session],
            metrics: vec![
                metric("a", Outcome::Skipped("no second CPU".to_owned())),
                metric(
                    "b",
                    Outcome::Failed("order: counted 1, must be 0".to_owned()),
                ),
            ],
            ..Run::default()
        };
        assert_eq!(
            render(&summarise(&run), 80),
            "skipped: no second CPU\n  a\n\
             failed: order: counted 1, must be 0\n  b\n\
             2 metrics: 0 ok, 1 skipped, 1 failed, 0 incomplete\n"
        );
    }
}
