// SPDX-License-Identifier: MIT OR Apache-2.0

//! Segments: runs whose levels may be compared, because machine and target are the same.

use std::collections::BTreeMap;

use super::events::measures_own_kernel;
use crate::files::digest::Head;
use crate::judge::conditions::{MACHINE, NONE_UNLESS_REPORTED, TARGET};
use crate::machine::cpus::RELATION;

/// Facts of the sessions that tell targets apart, besides [`TARGET`].
const SESSION: [&str; 2] = ["port", "realtime"];

/// Names of facts and their values.
type Facts<'a> = BTreeMap<&'static str, &'a str>;

/// Segments of a timeline.
pub(super) struct Segments {
    /// The first run of each.
    pub(super) starts: Vec<usize>,
}

impl Segments {
    /// The runs on the same machine of the same target.
    pub(super) fn of_machine<'a>(runs: impl IntoIterator<Item = &'a Head>) -> Self {
        Self::by(runs, |head| {
            let mut facts = target_facts(head);
            facts.extend(machine_facts(head));
            facts
        })
    }

    /// The runs of the same target, on whatever machine. Counted instructions do not depend on it.
    pub(super) fn of_target<'a>(runs: impl IntoIterator<Item = &'a Head>) -> Self {
        Self::by(runs, target_facts)
    }

    /// A run begins a new segment if it reports another value of a fact than the last run that
    /// reported it.
    fn by<'a>(
        runs: impl IntoIterator<Item = &'a Head>,
        facts: impl Fn(&'a Head) -> Facts<'a>,
    ) -> Self {
        let mut known = Facts::new();
        let mut starts = Vec::new();
        for (run, head) in runs.into_iter().enumerate() {
            let facts = facts(head);
            let differs = |(name, value)| known.get(name).is_some_and(|known| *known != value);
            if run == 0 || facts.iter().any(|(name, value)| differs((*name, *value))) {
                starts.push(run);
            }
            known.extend(facts);
        }
        Segments { starts }
    }

    /// The number of the segment that has this run.
    pub(super) fn number(&self, run: usize) -> usize {
        self.starts.partition_point(|start| *start <= run)
    }
}

/// The facts that identify a machine, and those that change its speed.
fn machine_facts(head: &Head) -> Facts<'_> {
    let identity = head.machine().map(|machine| ("machine", machine));
    let mut facts: Facts = identity.into_iter().collect();
    if measures_own_kernel(head) && head.fact("cpu_model").is_some() {
        for name in MACHINE.into_iter().chain([RELATION]) {
            let none = NONE_UNLESS_REPORTED.contains(&name).then_some("none");
            facts.extend(head.fact(name).or(none).map(|value| (name, value)));
        }
    }
    facts
}

/// The facts that tell targets apart.
fn target_facts(head: &Head) -> Facts<'_> {
    let names = SESSION.into_iter().chain(TARGET);
    let facts = names.filter_map(|name| Some((name, head.fact(name)?)));
    facts.chain([("target", head.target())]).collect()
}
