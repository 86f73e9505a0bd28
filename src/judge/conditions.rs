// SPDX-License-Identifier: MIT OR Apache-2.0

//! The conditions of a run, and the conditions in which two runs differ.
//!
//! A run comes in; its machine and its configuration go out, or how they differ from those of
//! another run.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::number::plural;
use crate::base::settings;
use crate::machine::cpus::{CORE_TYPE, RELATION};
use crate::stream::run::{Fact, Run, Session, CONFIGURATION};

/// A condition in which two sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A difference of the machine does not matter to counted instructions.
    pub kind: ConditionKind,
    /// The name of the condition, such as `cpu_model`, or of the setting.
    pub name: String,
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
    /// How the two CPUs are related on which cases run that need a second one. Matters to these
    /// metrics only.
    TwoCpus,
    /// How the kernel under test and the agent were built and run.
    Configuration,
    /// One setting of the kernel's configuration.
    Setting,
}

impl Difference {
    /// The difference in words (untrusted text).
    #[must_use]
    pub fn reason(&self) -> String {
        let what = match self.kind {
            ConditionKind::Machine | ConditionKind::TwoCpus => "machine",
            ConditionKind::Configuration | ConditionKind::Setting => "configuration",
        };
        let Difference {
            name, base, new, ..
        } = self;
        format!("different {what}: {name} `{base}` is now `{new}`")
    }
}

/// How many settings [`reasons`] describes. If more differ, it only names as many.
const DESCRIBED_SETTINGS: usize = 3;

/// Differences in words (untrusted text). Many settings are counted instead.
#[must_use]
pub fn reasons<'a>(differences: impl Iterator<Item = &'a Difference>) -> String {
    let (settings, others): (Vec<&Difference>, Vec<&Difference>) =
        differences.partition(|difference| difference.kind == ConditionKind::Setting);
    let mut reasons: Vec<String> = others.into_iter().map(Difference::reason).collect();
    match settings.split_at_checked(DESCRIBED_SETTINGS) {
        Some((first, rest)) if !rest.is_empty() => {
            let names: Vec<&str> = first.iter().map(|one| one.name.as_str()).collect();
            let rest = plural(rest.len() as u64, "other setting");
            reasons.push(format!(
                "different configuration: {} and {rest}",
                names.join(", ")
            ));
        }
        _ => reasons.extend(settings.into_iter().map(Difference::reason)),
    }
    reasons.join("; ")
}

/// Facts about the machine that change times: its processor, what virtualises or confines it, and
/// the settings that change its speed.
pub(crate) const MACHINE: [&str; 7] = [
    "cpu_model",
    CORE_TYPE,
    "hypervisor",
    "container",
    "governor",
    "boost",
    "smt",
];
/// Facts of the machine that mean "none" if a run does not report them.
pub(crate) const NONE_UNLESS_REPORTED: [&str; 2] = ["hypervisor", "container"];
/// Facts that the tool reports about a target that it built.
pub(crate) const TARGET: [&str; 2] = ["board", "variant"];
/// Facts that the agent or the build reports about how the agent and its kernel were built.
const BUILD: [&str; 3] = ["flags", CONFIGURATION, "kernel_port"];

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
        report(
            ConditionKind::TwoCpus,
            RELATION,
            fact_values(&run.host, RELATION),
        );
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
        let facts = run.sessions.iter().map(|s| &s.facts).chain([&run.host]);
        let values = facts.flat_map(|facts| fact_values(facts, name));
        report(configuration, name, values.collect());
    }
    all
}

/// The conditions in which two runs differ. A condition that one side does not report does not
/// count as a difference. Of the configuration, each setting that differs is a difference.
#[must_use]
pub fn differences(base: &Run, new: &Run) -> Vec<Difference> {
    let others = conditions(new);
    let both = conditions(base).into_iter().flat_map(|base| {
        let new = others.iter().find(|new| new.name == base.name);
        let new = new.map(|new| &new.values).filter(|new| !new.is_empty());
        match new {
            Some(new) if !base.values.is_empty() && base.values != *new => {
                if base.name == CONFIGURATION {
                    different_settings(&base.values, new)
                } else {
                    vec![Difference {
                        kind: base.kind,
                        name: base.name.to_owned(),
                        base: listed(base.values.iter().map(String::as_str)),
                        new: listed(new.iter().map(String::as_str)),
                    }]
                }
            }
            _ => Vec::new(),
        }
    });
    both.collect()
}

fn listed<'a>(values: impl Iterator<Item = &'a str>) -> String {
    values.collect::<Vec<&str>>().join("` and `")
}

/// The settings in which two configurations differ. Each side may have several configurations.
fn different_settings(base: &BTreeSet<String>, new: &BTreeSet<String>) -> Vec<Difference> {
    let (base, new) = (setting_values(base), setting_values(new));
    let absent = BTreeSet::from([settings::ABSENT]);
    let names: BTreeSet<&str> = base.keys().chain(new.keys()).copied().collect();
    let differences = names.into_iter().filter_map(|name| {
        let [base, new] = [&base, &new].map(|side| side.get(name).unwrap_or(&absent));
        (base != new).then(|| Difference {
            kind: ConditionKind::Setting,
            name: name.to_owned(),
            base: listed(base.iter().copied()),
            new: listed(new.iter().copied()),
        })
    });
    differences.collect()
}

/// The values that configurations give to each setting.
fn setting_values(texts: &BTreeSet<String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in texts.iter().flat_map(|text| settings::parse(text)) {
        all.entry(name).or_default().insert(value);
    }
    all
}

/// The values of all facts with this name, except empty ones.
pub(crate) fn fact_values(facts: &[Fact], name: &str) -> BTreeSet<String> {
    let named = facts.iter().filter(|fact| fact.name == name);
    named
        .map(|fact| fact.value.clone())
        .filter(|value| !value.is_empty())
        .collect()
}
