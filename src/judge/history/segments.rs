// SPDX-License-Identifier: MIT OR Apache-2.0

//! Segments: runs whose levels may be compared, because machine and target are the same.

use std::collections::{BTreeMap, BTreeSet};

use super::events::measures_own_kernel;
use crate::files::digest::Head;
use crate::judge::conditions::{MACHINE, NONE_UNLESS_REPORTED, TARGET};
use crate::machine::cpus::RELATION;

/// What identifies a machine: the name that somebody gave it, otherwise its own identity.
const IDENTITY: [&str; 2] = ["machine", "machine_id"];
/// What identifies a target besides its board and variant.
const SESSION: [&str; 4] = ["target", "port", "arch", "realtime"];

/// Segments of a timeline.
pub(super) struct Segments {
    /// The first run of each.
    pub(super) starts: Vec<usize>,
}

impl Segments {
    /// The runs on the same machine of the same target.
    pub(super) fn of_machine(runs: &[Head]) -> Self {
        Self::by(runs, |head| {
            let mut facts = target_facts(head);
            facts.extend(machine_facts(head));
            facts
        })
    }

    /// The runs of the same target, on whatever machine. Counted instructions do not depend on it.
    pub(super) fn of_target(runs: &[Head]) -> Self {
        Self::by(runs, target_facts)
    }

    /// A run begins a new segment if it reports another value of a fact than the last run that
    /// reported it.
    fn by<'a>(
        runs: &'a [Head],
        facts: impl Fn(&'a Head) -> BTreeMap<&'static str, BTreeSet<&'a str>>,
    ) -> Self {
        let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut starts = Vec::new();
        for (run, head) in runs.iter().enumerate() {
            let facts = facts(head);
            let differs = |(name, values)| known.get(name).is_some_and(|known| known != values);
            if run == 0 || facts.iter().any(|(name, values)| differs((*name, values))) {
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

fn machine_facts(head: &Head) -> BTreeMap<&'static str, BTreeSet<&str>> {
    let identity = IDENTITY.iter().find_map(|name| {
        let values = values(head, name);
        (!values.is_empty()).then_some(("identity", values))
    });
    let mut facts: BTreeMap<&str, BTreeSet<&str>> = identity.into_iter().collect();
    if measures_own_kernel(head) && !values(head, "cpu_model").is_empty() {
        for name in MACHINE.into_iter().chain([RELATION]) {
            let mut values = values(head, name);
            if values.is_empty() && NONE_UNLESS_REPORTED.contains(&name) {
                values.insert("none");
            }
            if !values.is_empty() {
                facts.insert(name, values);
            }
        }
    }
    facts
}

fn target_facts(head: &Head) -> BTreeMap<&'static str, BTreeSet<&str>> {
    let names = SESSION.into_iter().chain(TARGET);
    let facts = names.map(|name| (name, values(head, name)));
    facts.filter(|(_, values)| !values.is_empty()).collect()
}

fn values<'a>(head: &'a Head, name: &str) -> BTreeSet<&'a str> {
    let named = head.facts.iter().filter(|fact| fact.name == name);
    let values = named.map(|fact| fact.value.as_str());
    values.filter(|value| !value.is_empty()).collect()
}
