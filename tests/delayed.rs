// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent that `benches/alarms.rs` uses to simulate regressions. Without a delay it is the plain
//! agent. A delay shows in its own metric and nowhere else.

#[allow(dead_code)]
mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{here, make, scratch, succeeds};
use kernmark::stream::run::{Outcome, Run};
use kernmark::stream::session;

/// The cases whose operations can be delayed and which need no permission, each with its position
/// in the list of delays.
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

/// The median of each metric. All its proofs must hold.
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
fn delay_shows_only_in_its_own_metric() {
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
        // Much longer than the effect of a short interruption on a median.
        let turns = format!("{}300000", "0,".repeat(place));
        let run = measure(&agent, &turns);
        for (metric, median) in medians(&run) {
            let ratio = median / undelayed[metric];
            assert_eq!(ratio > 8.0, metric == delayed, "{metric}: {ratio}, {turns}");
        }
    }
}
