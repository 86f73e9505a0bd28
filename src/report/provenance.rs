// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a run came from (target, kernel, machine, clock, agent, method), as labelled texts.

use std::collections::{BTreeSet, HashSet};

use crate::base::number::{self, plural};
use crate::judge::summary::Summary;
use crate::machine::cpus::{CORE_TYPE, RELATION};
use crate::stream::run::{
    Fact, Metric, Outcome, Replicate, Run, Session, Unit, IMPORTED, PICOSECONDS, REVISION,
};
use crate::target::spec::DEFAULT;

/// The provenance of a run as labelled lines, with the cost of reading the clock. Unknown facts are
/// `-` or left out. The texts are as they came and not yet safe to show.
#[must_use]
pub fn lines(run: &Run, summaries: &[Summary]) -> Vec<(&'static str, String)> {
    let joined = |(label, mut parts): (_, Vec<String>)| {
        if label == CLOCK {
            parts.extend(clock_cost(summaries));
            parts.extend(clock_trust(run));
        }
        (label, parts.join("; "))
    };
    let lines = parts(run);
    lines.into_iter().map(joined).collect()
}

const CLOCK: &str = "clock";
pub(crate) const TARGET: &str = "target";

/// The provenance of a run: labels, each with its parts.
pub(crate) type Provenance = Vec<(&'static str, Vec<String>)>;

/// The provenance of a run, each line split into its parts, without the cost of reading the clock.
pub(crate) fn parts(run: &Run) -> Provenance {
    if Fact::value_in(&run.host, IMPORTED).is_some() {
        return imported_parts(run);
    }
    let mut lines = vec![(TARGET, target(run)), ("kernel", kernel(run))];
    lines.push(("emulator", host_fact(run, "emulator")));
    if Fact::value_in(&run.host, "kernel_release").is_some() {
        let label = if run.measures_host_kernel() {
            "machine"
        } else {
            "host"
        };
        lines.push((label, machine(run)));
    }
    if !run.sessions.is_empty() {
        lines.push((CLOCK, vec![clock(run)]));
        lines.push(("agent", agent(run)));
        lines.push(("run", replicates(run)));
    }
    lines.push(("image", host_fact(run, "footprint_image")));
    let objects = host_fact(run, "footprint_kernel");
    lines.push((
        "objects",
        objects
            .iter()
            .map(|size| format!("kernel: {size}"))
            .collect(),
    ));
    lines.retain(|(_, parts)| !parts.is_empty());
    lines
}

/// The provenance of results that another tool measured.
fn imported_parts(run: &Run) -> Provenance {
    let files = run.host.iter().filter(|fact| fact.name == IMPORTED);
    let formats = distinct(run, |session| session.port.clone());
    let stated = |(name, value): (&str, &str)| format!("{} {value}", name.replace('_', " "));
    let facts = run.sessions.iter().flat_map(|session| &session.facts);
    let facts = facts.map(|fact| (fact.name.as_str(), fact.value.as_str()));
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let source = facts.filter(|fact| seen.insert(*fact)).map(stated);
    let source: Vec<String> = source.collect();
    let mut lines = vec![
        ("imported", files.map(|fact| fact.value.clone()).collect()),
        ("format", formats),
        ("source", source),
        ("run", replicates(run)),
    ];
    let has_clock = |session: &Session| session.clock.hz != PICOSECONDS;
    if run.sessions.iter().any(has_clock) {
        lines.insert(3, (CLOCK, vec![clock(run)]));
    }
    lines.retain(|(_, parts)| !parts.is_empty());
    lines
}

/// The target, its variant unless that is the default, and the revisions of its folders.
fn target(run: &Run) -> Vec<String> {
    let mut parts = host_fact(run, "target");
    let variant = Fact::value_in(&run.host, "variant");
    if let Some(variant) = variant.filter(|variant| *variant != DEFAULT) {
        let option = format!(",variant={variant}");
        for part in &mut parts {
            *part = part.replace(&option, "");
        }
        parts.push(format!("variant {variant}"));
    }
    let revision = |fact: &Fact| {
        let folder = fact.name.strip_suffix(REVISION)?;
        Some(format!("{folder} {}", fact.value))
    };
    let revisions: BTreeSet<String> = run.host.iter().filter_map(revision).collect();
    parts.extend(revisions);
    parts
}

/// A fact that the host recorded, as the only part of a line; no part if it is unknown.
fn host_fact(run: &Run, name: &str) -> Vec<String> {
    Fact::value_in(&run.host, name)
        .map(str::to_owned)
        .into_iter()
        .collect()
}

fn session_fact<'a>(run: &'a Run, name: &str) -> Option<&'a str> {
    run.sessions
        .iter()
        .find_map(|s| Fact::value_in(&s.facts, name))
}

fn kernel(run: &Run) -> Vec<String> {
    let by_host = || {
        let release = Fact::value_in(&run.host, "kernel_release")?;
        let name = Fact::value_in(&run.host, "kernel_name").unwrap_or("Linux");
        Some(format!("{name} {release}"))
    };
    let mut parts = vec![session_fact(run, "kernel")
        .map(str::to_owned)
        .or_else(by_host)
        .unwrap_or_else(|| "-".to_owned())];
    let arch = run.sessions.first().map(|s| s.arch.as_str());
    parts.extend(
        arch.or(Fact::value_in(&run.host, "arch"))
            .map(str::to_owned),
    );
    if run.measures_host_kernel() {
        parts.extend(
            Fact::value_in(&run.host, "preemption").map(|mode| format!("preemption {mode}")),
        );
    }
    parts
}

fn machine(run: &Run) -> Vec<String> {
    let known = |name: &str| Fact::value_in(&run.host, name).unwrap_or("-");
    let mut parts = vec![known("cpu_model").to_owned()];
    match Fact::value_in(&run.host, "cpu_count") {
        Some("1") => parts.push("1 CPU".to_owned()),
        Some(count) => parts.push(format!("{count} CPUs")),
        None => {}
    }
    match Fact::value_in(&run.host, "hypervisor") {
        Some(hypervisor) => parts.push(format!("virtual ({hypervisor})")),
        None => parts.push("no hypervisor detected".to_owned()),
    }
    parts.extend(Fact::value_in(&run.host, "container").map(|c| format!("container {c}")));
    parts.push(format!("governor {}", known("governor")));
    parts.push(format!("load {}", known("load")));
    parts
}

/// The distinct values of the sessions, in order.
fn distinct<'a, T: PartialEq>(run: &'a Run, of: impl Fn(&'a Session) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for value in run.sessions.iter().map(of) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn clock(run: &Run) -> String {
    let clocks: Vec<String> = distinct(run, |s| (s.clock.name.as_str(), s.clock.unit))
        .into_iter()
        .map(|(name, unit)| {
            let session = run
                .sessions
                .iter()
                .find(|s| s.clock.name == name && s.clock.unit == unit);
            match unit {
                Unit::Cycles => {
                    let hz = session.map_or(0, |s| s.clock.hz);
                    format!("{name} {}{}", number::frequency(hz), coarseness(hz))
                }
                Unit::Ticks => format!("{name} (unknown frequency, so no times)"),
                Unit::Instructions => format!("{name} (counts instructions, not time)"),
            }
        })
        .collect();
    let mut text = clocks.join("; ");
    if let [.., second] = clocks.as_slice() {
        if clocks.len() > 1 {
            text = format!(
                "differs between sessions: {} and {second}",
                clocks[..clocks.len() - 1].join("; ")
            );
        }
    }
    text
}

/// How long a tick is, if it is so long that a short operation lasts only a few.
fn coarseness(hz: u64) -> String {
    const COARSE_NS: f64 = 10.0;
    let tick = 1e9 / hz as f64;
    if tick.is_finite() && tick >= COARSE_NS {
        let tick = number::Place::decimals(0).show(tick);
        return format!(", one tick is {tick} ns");
    }
    String::new()
}

fn clock_cost(summaries: &[Summary]) -> Option<String> {
    let (summary, cost) = summaries.iter().find_map(|s| Some((s, s.clock_cost?)))?;
    let (value, unit) = shown_unit(summary, cost);
    let place = match summary.unit {
        Unit::Cycles | Unit::Ticks => number::Place::significant(value, 3),
        Unit::Instructions => number::Place::decimals(0),
    };
    Some(format!("reading it costs {} {unit}", place.show(value)))
}

/// That nobody knows whether the clock can be trusted, if so.
fn clock_trust(run: &Run) -> Option<String> {
    session_fact(run, "clock_trust").map(|trust| format!("trusted by the kernel: {trust}"))
}

/// A duration in the unit for showing it, and the name of the unit.
fn shown_unit(summary: &Summary, ticks: f64) -> (f64, &'static str) {
    match summary.nanoseconds(ticks) {
        Some(ns) => (ns, "ns"),
        None => (ticks, "instructions"),
    }
}

fn agent(run: &Run) -> Vec<String> {
    let mut parts = vec![distinct(run, |s| s.port.clone()).join(" and ")];
    let cpus = distinct(run, |s| Fact::value_in(&s.facts, "cpu").map(str::to_owned));
    match cpus.as_slice() {
        [None] => {}
        [Some(cpu)] => parts.push(format!("pinned to CPU {cpu}")),
        _ => parts.push("on different CPUs".to_owned()),
    }
    let core_type = Fact::value_in(&run.host, CORE_TYPE);
    parts.extend(core_type.map(|core_type| format!("core of type {core_type}")));
    parts.extend(two_cpus(run));
    let realtime = run.sessions.iter().filter(|s| s.realtime).count();
    parts.push(if realtime == run.sessions.len() {
        "real-time priority".to_owned()
    } else if realtime == 0 {
        "no real-time priority".to_owned()
    } else {
        format!(
            "real-time priority in {realtime} of {} sessions",
            run.sessions.len()
        )
    });
    let unlocked = session_fact(run, "memory_not_locked");
    parts.extend(unlocked.map(|why| format!("memory not locked ({why})")));
    parts.extend(session_fact(run, "compiler").map(|compiler| format!("built by {compiler}")));
    parts.extend(session_fact(run, "flags").map(str::to_owned));
    parts
}

/// The second CPU and how it is related to the measured one.
pub(crate) fn two_cpus(run: &Run) -> Option<String> {
    let relation = Fact::value_in(&run.host, RELATION)?;
    let other = session_fact(run, "other_cpu")?;
    Some(format!("second CPU {other}: {relation}"))
}

fn replicates(run: &Run) -> Vec<String> {
    let most = run.metrics.iter().map(|m| m.replicates.len()).max();
    let most = most.unwrap_or(0);
    let samples: BTreeSet<u64> = run
        .metrics
        .iter()
        .flat_map(|metric| &metric.replicates)
        .filter(|replicate| replicate.outcome == Outcome::Ok)
        .map(Replicate::samples)
        .collect();
    let mut parts = vec![plural(most as u64, "replicate")];
    if most > 1 && run.metrics.iter().all(is_reproducible) {
        parts.push("identical in every sample".to_owned());
    }
    if let (Some(least), Some(most)) = (samples.first(), samples.last()) {
        let range = if least == most {
            number::count(*most)
        } else {
            format!("{} to {}", number::count(*least), number::count(*most))
        };
        let s = if *most == 1 { "" } else { "s" };
        parts.push(format!("{range} sample{s} per metric in each"));
    }
    parts.extend(Fact::value_in(&run.host, "seed").map(|seed| format!("seed {seed}")));
    parts
}

/// Whether all replicates of a metric have the same samples, or none has any.
fn is_reproducible(metric: &Metric) -> bool {
    let has_samples = metric.replicates.iter().all(|one| one.stat.is_none());
    has_samples
        && metric.replicates.windows(2).all(|pair| {
            (&pair[0].outcome, &pair[0].histogram) == (&pair[1].outcome, &pair[1].histogram)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_clock_says_how_long_a_tick_is() {
        assert_eq!(coarseness(2_500_000_000), "");
        assert_eq!(coarseness(0), "");
        assert_eq!(coarseness(25_000_000), ", one tick is 40 ns");
        assert_eq!(coarseness(10_000_000), ", one tick is 100 ns");
        assert_eq!(coarseness(62_504_313), ", one tick is 16.0 ns");
    }
}
