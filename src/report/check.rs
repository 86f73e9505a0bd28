//! What `kernmark run --check` says: whether everything can be measured, without the numbers.

use std::fmt::Write;

use super::text::plain;
use crate::summary::{Status, Summary};

/// A line for each metric that has no number, and a line that counts them all.
#[must_use]
pub fn render(summaries: &[Summary]) -> String {
    let mut text = String::new();
    let mut counts = [0; 4];
    for summary in summaries {
        let (place, word) = match summary.status {
            Status::Ok => (0, ""),
            Status::Skipped => (1, "skipped"),
            Status::Failed => (2, "failed"),
            Status::Incomplete => (3, "incomplete"),
        };
        counts[place] += 1;
        if !word.is_empty() {
            let reason = summary.reason.as_deref().unwrap_or("no reason was given");
            let _ = writeln!(text, "{word:<10} {}: {}", plain(&summary.id), plain(reason));
        }
    }
    let [ok, skipped, failed, incomplete] = counts;
    let total = summaries.len();
    let _ = writeln!(
        text,
        "{total} metrics: {ok} ok, {skipped} skipped, {failed} failed, {incomplete} incomplete"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Clock, Metric, Outcome, Replicate, Run, Session, Unit};
    use crate::summary::summarise;

    #[test]
    fn what_has_no_number_is_named_with_its_reason() {
        let metric = |id: &str, outcome| Metric {
            id: id.to_owned(),
            case: id.to_owned(),
            replicates: vec![Replicate {
                session: 0,
                outcome,
                batch: 1,
                asked: 5,
                cold: None,
                histogram: crate::histogram::Histogram::new(),
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
            render(&summarise(&run)),
            "skipped    a: no second CPU\n\
             failed     b: order: counted 1, must be 0\n\
             2 metrics: 0 ok, 1 skipped, 1 failed, 0 incomplete\n"
        );
    }
}
