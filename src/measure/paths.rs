// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a session executed: reads the emulator's list, and records the paths of each metric.

use std::collections::BTreeMap;

use super::Recording;
use crate::stream::paths::Paths;
use crate::target::tracer::Tracer;
use crate::trace::Trace;

/// Records the paths of all metrics that the last session measured. Returns what has none, and why.
pub fn record_paths(tracer: &Tracer, recording: &mut Recording) -> Vec<String> {
    let run = recording.run();
    let Some(session) = run.sessions.len().checked_sub(1) else {
        return Vec::new();
    };
    let seen = match tracer.read() {
        Ok(seen) => seen,
        Err(why) => return vec![why],
    };
    let trace = Trace::new(&run, session, &tracer.cases(), seen);
    let mut without: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut all = Vec::new();
    for one in &trace.metrics {
        let samples = one.samples.as_ref().map_err(Clone::clone);
        match samples.and_then(|samples| trace.paths(samples)) {
            Ok(paths) => all.push((one.metric.as_str(), paths)),
            Err(why) => without.entry(why).or_default().push(&one.metric),
        }
    }
    let metrics: Vec<(&str, &Paths)> = all.iter().map(|(id, paths)| (*id, paths)).collect();
    recording.paths(&trace.functions, &metrics);
    let without = without.into_iter();
    without
        .map(|(why, metrics)| format!("no paths of {}: {why}", metrics.join(", ")))
        .collect()
}
