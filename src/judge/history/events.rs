// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events: what changed between runs that may change what a primitive costs.
//!
//! The facts of runs come in, [`Event`]s go out.

use std::collections::{BTreeMap, BTreeSet};

use super::Event;
use crate::files::digest::Head;
use crate::stream::run::{CONFIGURATION, REVISION};

/// Facts of the kernel under test, of the agent and of the tool.
const ANY_TARGET: [&str; 12] = [
    "kernel",
    "kernel_port",
    CONFIGURATION,
    "compiler",
    "flags",
    "instrumentation",
    "tick",
    "tool",
    "agent",
    "agent_version",
    "emulator",
    "label.commit",
];

/// Facts of the machine's own kernel. They count if that is the kernel under test.
const OWN_KERNEL: [&str; 20] = [
    "kernel_name",
    "kernel_release",
    "kernel_version",
    "kernel_command_line",
    "kernel_config",
    "kernel_config_options",
    "preemption",
    "microcode",
    "clock_source",
    "idle_driver",
    "transparent_hugepages",
    "seccomp",
    "io_uring_disabled",
    "nmi_watchdog",
    "numa_balancing",
    "sched_autogroup_enabled",
    "sched_rt_period_us",
    "sched_rt_runtime_us",
    "timer_migration",
    "frequency_driver",
];
/// The start of the names of facts about the machine's own kernel: `mitigation_spectre_v2`.
const MITIGATION: &str = "mitigation_";

/// The events of these runs, oldest first. A fact that a run does not report has not changed.
pub(super) fn events<'a>(runs: impl IntoIterator<Item = &'a Head>) -> Vec<Event> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut events = Vec::new();
    for (run, head) in runs.into_iter().enumerate() {
        let mut changes = Vec::new();
        for (name, value) in relevant_facts(head) {
            match known.insert(name, value.clone()) {
                Some(before) if before != value => {
                    changes.push((name.to_owned(), before, value));
                }
                _ => {}
            }
        }
        if !changes.is_empty() {
            events.push(Event { run, changes });
        }
    }
    events
}

/// The facts of a run that make an event when they change. Sessions may report different values of
/// one fact.
fn relevant_facts(head: &Head) -> BTreeMap<&str, String> {
    let is_own = measures_own_kernel(head);
    let is_relevant = |name: &str| {
        ANY_TARGET.contains(&name)
            || name.ends_with(REVISION)
            || is_own && (OWN_KERNEL.contains(&name) || name.starts_with(MITIGATION))
    };
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for fact in &head.facts {
        if is_relevant(&fact.name) && !fact.value.is_empty() {
            values.entry(&fact.name).or_default().insert(&fact.value);
        }
    }
    let joined = |values: BTreeSet<&str>| values.into_iter().collect::<Vec<_>>().join("; ");
    let facts = values.into_iter();
    facts.map(|(name, values)| (name, joined(values))).collect()
}

/// Whether the kernel under test is that of the machine that ran the tool, as
/// [`Run::measures_host_kernel`](crate::stream::run::Run::measures_host_kernel) says.
pub(super) fn measures_own_kernel(head: &Head) -> bool {
    match (head.fact("kernel"), head.fact("kernel_release")) {
        (Some(kernel), Some(release)) => kernel.contains(release),
        (None, _) => true,
        (Some(_), None) => false,
    }
}

/// The events as one metric sees them: by the position of its first value after each.
pub(super) struct Marks {
    /// For each position, the newest event since the value before.
    events: Vec<Option<usize>>,
    /// For each position, how many positions before it have an event.
    before: Vec<usize>,
}

/// The most values between an event and a split that may be the event's.
const NEAR: usize = 2;
/// Events are many if so many of the last runs have one: then almost every split is near an event.
const MANY: usize = 3;
const MANY_OF: usize = 10;

impl Marks {
    /// The events among runs with these indices.
    pub(super) fn of(events: &[Event], runs: &[usize]) -> Self {
        let mut marks = vec![None; runs.len()];
        for (index, event) in events.iter().enumerate() {
            let position = runs.partition_point(|run| *run < event.run);
            if let Some(mark) = marks.get_mut(position) {
                *mark = Some(index);
            }
        }
        let mut before = vec![0];
        for mark in &marks {
            before.push(before[before.len() - 1] + usize::from(mark.is_some()));
        }
        Marks {
            events: marks,
            before,
        }
    }

    /// The event at a position.
    pub(super) fn at(&self, position: usize) -> Option<usize> {
        self.events[position]
    }

    /// The event nearest to a split, and its position, if the level that the split begins
    /// `could_begin` there.
    pub(super) fn near(
        &self,
        split: usize,
        could_begin: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let around = (0..=NEAR).flat_map(|far| [split.checked_sub(far), Some(split + far)]);
        let mut inside = around.flatten().filter(|at| *at < self.events.len());
        inside.find_map(|at| Some((at, self.events[at]?)).filter(|_| could_begin(at)))
    }

    /// Whether many of the runs up to this position have an event.
    pub(super) fn are_many(&self, position: usize) -> bool {
        let from = (position + 1).saturating_sub(MANY_OF);
        self.before[position + 1] - self.before[from] >= MANY
    }

    /// Whether any position after `start` has an event.
    pub(super) fn any_after(&self, start: usize) -> bool {
        let until_start = self.before[(start + 1).min(self.events.len())];
        self.before[self.events.len()] > until_start
    }
}
