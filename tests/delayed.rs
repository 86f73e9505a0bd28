// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent with which `benches/alarms.rs` makes changes that are to be found: without a delay it
//! is the agent, and a delay shows where it lies and nowhere else.

#[allow(dead_code)]
mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{here, make, scratch, succeeds};
use kernmark::stream::run::{Outcome, Run};
use kernmark::stream::session;

/// The cases of the operations that can be delayed and need no permission, each with the place of
/// its delay in the list.
const CASES: [(&str, usize); 4] = [
    ("syscall.null", 0),
    ("signal.mask", 7),
    ("roundtrip.pipe.processes", 8),
    ("roundtrip.channel_call.processes", 9),
];

fn measure(agent: &Path, turns: &str) -> Run {
    let stream = succeeds(
        Command::new(agent)
            .args(["run", "samples=50"])
            .args(CASES.map(|(case, _)| case))
            .env("KERNMARK_DELAYS", turns),
    );
    session::read(stream.as_bytes())
}

/// The median of each metric, all of whose proofs held.
fn medians(run: &Run) -> BTreeMap<&str, f64> {
    let median = |metric: &kernmark::stream::run::Metric| {
        let replicate = &metric.replicates[0];
        assert_eq!(replicate.outcome, Outcome::Ok, "{}", metric.id);
        replicate.histogram.median().unwrap() / replicate.batch as f64
    };
    let metrics = run.metrics.iter();
    metrics.map(|m| (m.id.as_str(), median(m))).collect()
}

#[test]
fn a_delay_shows_where_it_lies() {
    let out = scratch("agent-delayed");
    let delays = here("benches/delayed");
    let settings = [
        format!("PORT={}", delays.display()),
        format!("LDFLAGS={}", delays.join("delays.c").display()),
    ];
    make("linux-user", &out, &settings);
    let agent = out.join("kernmark-agent");

    let none = measure(&agent, "");
    let undelayed = medians(&none);
    for (delayed, place) in CASES {
        // Dwarfs what another program's moment on this CPU does to a median.
        let turns = format!("{}300000", "0,".repeat(place));
        let run = measure(&agent, &turns);
        for (metric, median) in medians(&run) {
            let ratio = median / undelayed[metric];
            assert_eq!(ratio > 8.0, metric == delayed, "{metric}: {ratio}, {turns}");
        }
    }
}
