// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks that a target that counts instructions measures the same in every replicate.

use crate::stream::run::{Metric, Outcome, Run, Unit};

/// A warning that names metrics whose replicates differ although their clock counts instructions.
/// Such a target is exact, so all replicates must be equal.
#[must_use]
pub fn check_determinism(run: &Run) -> Option<String> {
    const NAMED: usize = 3;
    let is_exact = |session: usize| run.sessions[session].clock.unit == Unit::Instructions;
    let differs = |metric: &&Metric| {
        let mut results = metric
            .replicates
            .iter()
            .filter(|replicate| replicate.outcome == Outcome::Ok && is_exact(replicate.session))
            .map(|replicate| (replicate.batch, replicate.cold, &replicate.histogram));
        let first = results.next();
        results.any(|other| Some(other) != first)
    };
    let ids: Vec<&str> = run
        .metrics
        .iter()
        .filter(differs)
        .map(|m| m.id.as_str())
        .collect();
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!ids.is_empty()).then(|| {
        format!(
            "this emulator should be exact, but its replicates differ in {}{more}",
            ids[..ids.len().min(NAMED)].join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::record;
    use crate::stream::session::Reader;

    #[test]
    fn differing_replicates_of_an_exact_clock_are_named() {
        let run = |unit: &str, counts: [&[(u64, u64)]; 2]| {
            let mut reader = Reader::new();
            for counts in counts {
                let clock = [("clock", "c"), ("unit", unit), ("realtime", "no")];
                let clock = clock
                    .into_iter()
                    .chain([("hz", if unit == "cycles" { "1" } else { "0" })]);
                let hello: Vec<_> = [("port", "p"), ("arch", "a"), ("mode", "run")]
                    .into_iter()
                    .chain(clock)
                    .collect();
                let samples: u64 = counts.iter().map(|(_, count)| count).sum();
                let samples = samples.to_string();
                let proof = [
                    ("case", "a"),
                    ("name", "order"),
                    ("counted", "0"),
                    ("low", "0"),
                    ("high", "0"),
                ];
                let lines = [
                    record::write(0, "hello", &hello, None),
                    record::write(1, "begin", &[("case", "a"), ("asked", "5")], None),
                    record::write(
                        2,
                        "plan",
                        &[("case", "a"), ("samples", &samples), ("batch", "1")],
                        None,
                    ),
                    record::write_hist(3, "a", 0, counts),
                    record::write(4, "proof", &proof, None),
                    record::write(
                        5,
                        "end",
                        &[("case", "a"), ("status", "ok"), ("samples", &samples)],
                        None,
                    ),
                    record::write(6, "bye", &[("records", "6")], None),
                ];
                for line in lines.concat() {
                    reader.line(line.as_bytes());
                }
            }
            let run = reader.finish();
            assert!(run.metrics[0]
                .replicates
                .iter()
                .all(|replicate| replicate.outcome == Outcome::Ok));
            run
        };
        let (one, other): (&[_], &[_]) = (&[(7, 5)], &[(7, 4), (8, 1)]);
        assert_eq!(check_determinism(&run("instructions", [one, one])), None);
        assert_eq!(check_determinism(&run("cycles", [one, other])), None);
        assert_eq!(
            check_determinism(&run("instructions", [one, other])).unwrap(),
            "this emulator should be exact, but its replicates differ in a"
        );
    }
}
