// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a run came from: the target, the kernel, the machine, the clock, the method.

use std::collections::{BTreeSet, HashSet};

use crate::base::number::{self, plural};
use crate::judge::summary::Summary;
use crate::stream::run::{
    Fact, Metric, Outcome, Replicate, Run, Session, Unit, IMPORTED, PICOSECONDS,
};
use crate::target::spec::DEFAULT;

/// What was measured and how, as labelled lines: the target, the kernel, the
/// machine, the clock, the method. What is not known is `-` or left out; texts
/// are as they came and not yet safe to show.
#[must_use]
pub fn lines(run: &Run, summaries: &[Summary]) -> Vec<(&'static str, String)> {
    let joined = |(label, mut parts): (_, Vec<String>)| {
        if label == CLOCK {
            parts.extend(clock_cost(summaries));
        }
        (label, parts.join("; "))
    };
    let lines = parts(run);
    lines.into_iter().map(joined).collect()
}

const CLOCK: &str = "clock";
pub(crate) const TARGET: &str = "target";

/// Where a run came from: labels, each with its parts.
pub(crate) type Provenance = Vec<(&'static str, Vec<String>)>;

/// The same, each line in its parts, without what reading the clock costs.
pub(crate) fn parts(run: &Run) -> Provenance {
    if Fact::value_in(&run.host, IMPORTED).is_some() {
        return of_import(run);
    }
    let mut lines = vec![(TARGET, target(run)), ("kernel", kernel(run))];
    lines.push(("emulator", known_fact(run, "emulator")));
    if Fact::value_in(&run.host, "kernel_release").is_some() {
        let label = if run.is_of_its_host() {
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
    lines.push(("image", known_fact(run, "footprint_image")));
    let objects = known_fact(run, "footprint_kernel");
    lines.push((
        "objects",
        objects
            .iter()
            .map(|size| format!("of the kernel: {size}"))
            .collect(),
    ));
    lines.retain(|(_, parts)| !parts.is_empty());
    lines
}

/// What there is to say of results of another tool, which are not an agent's.
fn of_import(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let files = run.host.iter().filter(|fact| fact.name == IMPORTED);
    let formats = different(run, |session| session.port.clone());
    let told = |(name, value): (&str, &str)| format!("{} {value}", name.replace('_', " "));
    let facts = run.sessions.iter().flat_map(|session| &session.facts);
    let facts = facts.map(|fact| (fact.name.as_str(), fact.value.as_str()));
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let source = facts.filter(|fact| seen.insert(*fact)).map(told);
    let source: Vec<String> = source.collect();
    let mut lines = vec![
        ("imported", files.map(|fact| fact.value.clone()).collect()),
        ("format", formats),
        ("source", source),
        ("run", replicates(run)),
    ];
    let is_told = |session: &Session| session.clock.hz != PICOSECONDS;
    if run.sessions.iter().any(is_told) {
        lines.insert(3, (CLOCK, vec![clock(run)]));
    }
    lines.retain(|(_, parts)| !parts.is_empty());
    lines
}

/// The target that was run, and its variant beside it.
fn target(run: &Run) -> Vec<String> {
    let target = known_fact(run, "target");
    let Some(variant) = Fact::value_in(&run.host, "variant").filter(|variant| *variant != DEFAULT)
    else {
        return target;
    };
    let option = format!(",variant={variant}");
    let mut parts: Vec<String> = target.iter().map(|t| t.replace(&option, "")).collect();
    parts.push(format!("variant {variant}"));
    parts
}

/// A fact of the tool as a line's only part.
fn known_fact(run: &Run, name: &str) -> Vec<String> {
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
    if run.is_of_its_host() {
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
        None => parts.push("no hypervisor seen".to_owned()),
    }
    parts.extend(Fact::value_in(&run.host, "container").map(|c| format!("container {c}")));
    parts.push(format!("governor {}", known("governor")));
    parts.push(format!("load {}", known("load")));
    parts
}

/// The different values of the sessions, in order.
fn different<'a, T: PartialEq>(run: &'a Run, of: impl Fn(&'a Session) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for value in run.sessions.iter().map(of) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn clock(run: &Run) -> String {
    let clocks: Vec<String> = different(run, |s| (s.clock.name.as_str(), s.clock.unit))
        .into_iter()
        .map(|(name, unit)| {
            let session = run
                .sessions
                .iter()
                .find(|s| s.clock.name == name && s.clock.unit == unit);
            match unit {
                Unit::Cycles => {
                    let hz = session.map_or(0, |s| s.clock.hz);
                    format!("{name} {}", number::frequency(hz))
                }
                Unit::Ticks => format!("{name} (of unknown frequency: no time)"),
                Unit::Instructions => format!("{name} (counts instructions, not time)"),
            }
        })
        .collect();
    let mut text = clocks.join("; ");
    if let [.., second] = clocks.as_slice() {
        if clocks.len() > 1 {
            text = format!(
                "the sessions differ: {} and {second}",
                clocks[..clocks.len() - 1].join("; ")
            );
        }
    }
    text
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

/// A duration in the unit that it is shown in, and that unit's name.
fn shown_unit(summary: &Summary, ticks: f64) -> (f64, &'static str) {
    match summary.nanoseconds(ticks) {
        Some(ns) => (ns, "ns"),
        None => (ticks, "instructions"),
    }
}

fn agent(run: &Run) -> Vec<String> {
    let mut parts = vec![different(run, |s| s.port.clone()).join(" and ")];
    let cpus = different(run, |s| Fact::value_in(&s.facts, "cpu").map(str::to_owned));
    match cpus.as_slice() {
        [None] => {}
        [Some(cpu)] => parts.push(format!("pinned to CPU {cpu}")),
        _ => parts.push("not the same CPU in all sessions".to_owned()),
    }
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
    if most > 1 && run.metrics.iter().all(repeats) {
        parts.push("equal in every sample".to_owned());
    }
    if let (Some(least), Some(most)) = (samples.first(), samples.last()) {
        let range = if least == most {
            number::count(*most)
        } else {
            format!("{} to {}", number::count(*least), number::count(*most))
        };
        let s = if *most == 1 { "" } else { "s" };
        parts.push(format!("{range} sample{s} of a metric in each"));
    }
    parts.extend(Fact::value_in(&run.host, "seed").map(|seed| format!("seed {seed}")));
    parts
}

/// Whether the replicates of a metric hold the same samples, or it has none.
fn repeats(metric: &Metric) -> bool {
    let is_whole = metric.replicates.iter().all(|one| one.stat.is_none());
    is_whole
        && metric.replicates.windows(2).all(|pair| {
            (&pair[0].outcome, &pair[0].histogram) == (&pair[1].outcome, &pair[1].histogram)
        })
}
