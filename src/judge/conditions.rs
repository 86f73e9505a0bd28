// SPDX-License-Identifier: MIT OR Apache-2.0

//! The conditions that a run was measured under, and those in which two runs differ.

use std::collections::BTreeSet;

use crate::stream::run::{Fact, Run, Session};

/// A condition in which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whether it is the machine, which does not matter to counted instructions.
    pub kind: ConditionKind,
    /// What differs, such as `cpu_model`.
    pub name: &'static str,
    /// The base's values, not yet safe to show.
    pub base: String,
    /// The new side's.
    pub new: String,
}

/// What a difference is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// The machine and its settings.
    Machine,
    /// How the kernel under test and the agent were built and run.
    Configuration,
}

impl Difference {
    /// The difference in words, not yet safe to show.
    #[must_use]
    pub fn reason(&self) -> String {
        let what = match self.kind {
            ConditionKind::Machine => "machine",
            ConditionKind::Configuration => "configuration",
        };
        let Difference {
            name, base, new, ..
        } = self;
        format!("other {what}: {name} `{base}` is now `{new}`")
    }
}

/// Facts of the machine that change times: its processor, what virtualises or confines it, and
/// the settings of its speed.
const MACHINE: [&str; 6] = [
    "cpu_model",
    "hypervisor",
    "container",
    "governor",
    "boost",
    "smt",
];
/// Of these, what is not fact_values is not there.
const NONE_UNLESS_REPORTED: [&str; 2] = ["hypervisor", "container"];
/// What the tool says of a target that it built.
const TARGET: [&str; 2] = ["board", "variant"];
/// What the agent says of how it and its kernel were built.
const BUILD: [&str; 3] = ["flags", "configuration", "kernel_port"];

type SessionValue = fn(&Session) -> String;

/// A condition of a run and what the run tells of it: nothing, a value, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCondition {
    /// Whether it is one of the machine.
    pub kind: ConditionKind,
    /// Its name, such as `cpu_model`.
    pub name: &'static str,
    /// Its values, not yet safe to show.
    pub values: BTreeSet<String>,
}

/// The conditions that matter to a comparison, as a run tells them: those of the machine only
/// where it is the one that was measured.
#[must_use]
pub fn conditions(run: &Run) -> Vec<ReportedCondition> {
    let mut all = Vec::new();
    let mut state = |kind, name, values| all.push(ReportedCondition { kind, name, values });
    if !fact_values(&run.host, "cpu_model").is_empty() && run.is_of_its_host() {
        for name in MACHINE {
            let mut values = fact_values(&run.host, name);
            if values.is_empty() && NONE_UNLESS_REPORTED.contains(&name) {
                values.insert("none".to_owned());
            }
            state(ConditionKind::Machine, name, values);
        }
    }
    let parts: [(&'static str, SessionValue); 3] = [
        ("port", |s| s.port.clone()),
        ("arch", |s| s.arch.clone()),
        ("real-time priority", |s| {
            if s.realtime { "yes" } else { "no" }.to_owned()
        }),
    ];
    let configuration = ConditionKind::Configuration;
    for (name, value) in parts {
        state(
            configuration,
            name,
            run.sessions.iter().map(value).collect(),
        );
    }
    for name in TARGET {
        state(configuration, name, fact_values(&run.host, name));
    }
    for name in BUILD {
        let values = run
            .sessions
            .iter()
            .flat_map(|s| fact_values(&s.facts, name));
        state(configuration, name, values.collect());
    }
    all
}

/// Conditions in which two runs differ; where a side does not tell, it does not differ.
#[must_use]
pub fn differences(base: &Run, new: &Run) -> Vec<Difference> {
    let text = |values: BTreeSet<String>| Vec::from_iter(values).join("` and `");
    let others = conditions(new);
    let both = conditions(base).into_iter().filter_map(|base| {
        let new = others.iter().find(|new| new.name == base.name)?;
        let is_told = !base.values.is_empty() && !new.values.is_empty();
        (is_told && base.values != new.values).then(|| Difference {
            kind: base.kind,
            name: base.name,
            base: text(base.values),
            new: text(new.values.clone()),
        })
    });
    both.collect()
}

pub(crate) fn fact_values(facts: &[Fact], name: &str) -> BTreeSet<String> {
    let named = facts.iter().filter(|fact| fact.name == name);
    named
        .map(|fact| fact.value.clone())
        .filter(|value| !value.is_empty())
        .collect()
}
