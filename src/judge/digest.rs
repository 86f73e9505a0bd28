// SPDX-License-Identifier: MIT OR Apache-2.0

//! The digest of a run: its facts, and one line of figures per metric.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use crate::files::digest::{kept, rounded, sha256, Digest, Head, MetricDigest, LONGEST_FACT};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::{means, order};
use crate::stream::run::{Fact, Metric, Outcome, Replicate, Run};

/// The digest of a run. `stored` says the name, the hash and the size of its file.
#[must_use]
pub fn of(run: &Run, stored: Head) -> Digest {
    let entries = run.catalog.iter().enumerate().rev();
    let places: HashMap<&str, usize> = entries
        .map(|(at, entry)| (entry.metric.as_str(), at))
        .collect();
    let tried = run.metrics.iter().filter(|m| !m.replicates.is_empty());
    let mut metrics: Vec<MetricDigest> = tried
        .zip(RunFigures::of(run).metrics)
        .filter(|(_, figures)| figures.status == Status::Ok)
        .map(|(metric, figures)| of_metric(run, metric, &figures))
        .collect();
    // A run measures its cases in random order.
    metrics.sort_by_key(|one| places.get(one.id.as_str()).copied().unwrap_or(usize::MAX));
    let head = Head {
        started: started(run, &stored.name),
        sessions: run.sessions.len() as u32,
        metrics: metrics.len() as u32,
        is_complete: run.sessions.last().is_some_and(|last| last.complete),
        facts: facts(run).into_iter().map(Arc::new).collect(),
        ..stored
    };
    Digest { head, metrics }
}

/// When a run started: as it says itself, or else as the name of its file says; 0 if neither does.
fn started(run: &Run, name: &str) -> u64 {
    let part = |range| name.get(range).unwrap_or_default();
    let [year, month, day_and_hour] = [part(0..4), part(4..6), part(6..11)];
    let by_name = format!(
        "{year}-{month}-{day_and_hour}:{}:{}",
        part(11..13),
        part(13..16)
    );
    let time = Fact::value_in(&run.host, "started").unwrap_or(&by_name);
    let time = humantime::parse_rfc3339(time).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}

/// The facts of the host, then those of the last session.
fn facts(run: &Run) -> Vec<Fact> {
    let mut facts: Vec<Fact> = run.host.iter().map(shortened).collect();
    if let Some(session) = run.sessions.last() {
        let realtime = if session.realtime { "yes" } else { "no" };
        facts.extend([
            Fact::new("port", session.port.as_str()),
            Fact::new("realtime", realtime),
        ]);
        facts.extend(session.facts.iter().map(shortened));
    }
    facts
}

fn shortened(fact: &Fact) -> Fact {
    if fact.value.len() <= LONGEST_FACT {
        return fact.clone();
    }
    let hash = sha256(fact.value.as_bytes());
    let value = format!("{} bytes, sha256 {}", fact.value.len(), &hash[..16]);
    Fact::new(&fact.name, value)
}

fn of_metric(run: &Run, metric: &Metric, figures: &MetricFigures) -> MetricDigest {
    let replicates = figures.replicates.len();
    let median = |quantity: Quantity| {
        let values: Vec<f64> = figures.values(quantity).map(|(_, value)| value).collect();
        // As in a summary: most replicates have enough samples for it.
        let has_most = quantity == Quantity::Cold || 2 * values.len() > replicates;
        order::median(&values).filter(|_| has_most)
    };
    let kept = |figure: Option<f64>| figure.and_then(|value| kept(value, figures.unit));
    let medians: Vec<f64> = figures.values(Quantity::P50).map(|(_, v)| v).collect();
    let spread = means::coefficient_of_variation(&medians);
    let largest = metric.replicates.iter().filter_map(|one| largest(run, one));
    MetricDigest {
        id: metric.id.clone(),
        unit: figures.unit,
        figures: Quantity::ALL.map(|quantity| kept(median(quantity))),
        worst: kept(largest.reduce(f64::max)),
        spread: spread.and_then(rounded),
        replicates: replicates as u32,
    }
}

/// The largest sample of a replicate, per operation.
fn largest(run: &Run, replicate: &Replicate) -> Option<f64> {
    if replicate.outcome != Outcome::Ok {
        return None;
    }
    let ticks = match &replicate.stat {
        Some(stat) => stat.max?,
        None => replicate.histogram.max()?.0 as f64 / replicate.batch.max(1) as f64,
    };
    run.sessions[replicate.session].clock.shown(ticks)
}
