// SPDX-License-Identifier: MIT OR Apache-2.0

//! The conditions of a run, and the conditions in which two runs differ.
//!
//! A run comes in; its machine and its configuration go out, or how they differ from those of
//! another run.

use std::collections::BTreeSet;

use crate::stream::run::{Fact, Run, Session};

/// A condition in which two sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A difference of the machine does not matter to counted instructions.
    pub kind: ConditionKind,
    /// The name of the condition, such as `cpu_model`.
    pub name: &'static str,
    /// The values of the base (untrusted text).
    pub base: String,
    /// The values of the new side (untrusted text).
    pub new: String,
}

/// What a condition describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// The machine and its settings.
    Machine,
    /// How the kernel under test and the agent were built and run.
    Configuration,
}

impl Difference {
    /// The difference in words (untrusted text).
    #[must_use]
    pub fn reason(&self) -> String {
        let what = match self.kind {
            ConditionKind::Machine => "machine",
            ConditionKind::Configuration => "configuration",
        };
        let Difference {
            name, base, new, ..
        } = self;
        format!("different {what}: {name} `{base}` is now `{new}`")
    }
}

/// Facts about the machine that change times: its processor, what virtualises or confines it, and
/// the settings that change its speed.
const MACHINE: [&str; 6] = [
    "cpu_model",
    "hypervisor",
    "container",
    "governor",
    "boost",
    "smt",
];
/// Facts of the machine that mean "none" if a run does not report them.
const NONE_UNLESS_REPORTED: [&str; 2] = ["hypervisor", "container"];
/// Facts that the tool reports about a target that it built.
const TARGET: [&str; 2] = ["board", "variant"];
/// Facts that the agent reports about how it and its kernel were built.
const BUILD: [&str; 3] = ["flags", "configuration", "kernel_port"];

type SessionValue = fn(&Session) -> String;

/// A condition and the values that a run reports for it: none, one or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCondition {
    /// What the condition describes.
    pub kind: ConditionKind,
    /// The name, such as `cpu_model`.
    pub name: &'static str,
    /// The values (untrusted text).
    pub values: BTreeSet<String>,
}

/// The conditions that matter to a comparison. Those of the machine are included only if the tool
/// ran on the machine that was measured.
#[must_use]
pub fn conditions(run: &Run) -> Vec<ReportedCondition> {
    let mut all = Vec::new();
    let mut report = |kind, name, values| all.push(ReportedCondition { kind, name, values });
    if !fact_values(&run.host, "cpu_model").is_empty() && run.measures_host_kernel() {
        for name in MACHINE {
            let mut values = fact_values(&run.host, name);
            if values.is_empty() && NONE_UNLESS_REPORTED.contains(&name) {
                values.insert("none".to_owned());
            }
            report(ConditionKind::Machine, name, values);
        }
    }
    let session_values: [(&'static str, SessionValue); 3] = [
        ("port", |s| s.port.clone()),
        ("arch", |s| s.arch.clone()),
        ("real-time priority", |s| {
            if s.realtime { "yes" } else { "no" }.to_owned()
        }),
    ];
    let configuration = ConditionKind::Configuration;
    for (name, value) in session_values {
        report(
            configuration,
            name,
            run.sessions.iter().map(value).collect(),
        );
    }
    for name in TARGET {
        report(configuration, name, fact_values(&run.host, name));
    }
    for name in BUILD {
        let values = run
            .sessions
            .iter()
            .flat_map(|s| fact_values(&s.facts, name));
        report(configuration, name, values.collect());
    }
    all
}

/// The conditions in which two runs differ. A condition that one side does not report does not
/// count as a difference.
#[must_use]
pub fn differences(base: &Run, new: &Run) -> Vec<Difference> {
    let text = |values: BTreeSet<String>| Vec::from_iter(values).join("` and `");
    let others = conditions(new);
    let both = conditions(base).into_iter().filter_map(|base| {
        let new = others.iter().find(|new| new.name == base.name)?;
        let is_reported = !base.values.is_empty() && !new.values.is_empty();
        (is_reported && base.values != new.values).then(|| Difference {
            kind: base.kind,
            name: base.name,
            base: text(base.values),
            new: text(new.values.clone()),
        })
    });
    both.collect()
}

/// The values of all facts with this name, except empty ones.
pub(crate) fn fact_values(facts: &[Fact], name: &str) -> BTreeSet<String> {
    let named = facts.iter().filter(|fact| fact.name == name);
    named
        .map(|fact| fact.value.clone())
        .filter(|value| !value.is_empty())
        .collect()
}
