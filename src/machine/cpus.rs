// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which CPUs are measured: a [`Machine`] and what the user asked for in, [`MeasuredCpus`] out, and
//! the facts that say where these lie.

use std::cmp::Reverse;
use std::str::FromStr;

use super::topology::{Place, Relation};
use super::{format_cpu_list, Machine};
use crate::stream::run::Fact;

/// The name of the fact that says how the two measured CPUs are related.
pub const RELATION: &str = "cpu_relation";

/// The name of the fact with the type of the measured core, on machines with several.
pub const CORE_TYPE: &str = "core_type";

/// The CPUs that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedCpus {
    /// The CPU to measure on.
    pub cpu: u32,
    /// The CPU for cases that need a second one.
    pub other: Option<u32>,
}

impl FromStr for AskedCpus {
    type Err = String;

    /// Parses `A` or `A,B`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.trim().parse::<u32>();
            number.map_err(|_| format!("`{text}` is not the number of a CPU; write A or A,B"))
        };
        let (cpu, other) = match text.split_once(',') {
            Some((cpu, other)) => (number(cpu)?, Some(number(other)?)),
            None => (number(text)?, None),
        };
        if other == Some(cpu) {
            return Err("the second CPU must differ from the first".to_owned());
        }
        Ok(Self { cpu, other })
    }
}

/// The CPUs that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredCpus {
    /// The CPU that is measured on.
    pub cpu: u32,
    /// The CPU for cases that need a second one, if this process may use two.
    pub other: Option<u32>,
}

impl MeasuredCpus {
    /// Chooses from the CPUs that this process may use. `None` if neither the machine shows them nor
    /// the user names one: then the agent chooses.
    ///
    /// The default is the last one, and as the second CPU its nearest core of the same type.
    ///
    /// # Errors
    ///
    /// A CPU that the user asked for cannot be used. The message says why, and which can.
    pub fn choose(machine: &Machine, asked: Option<AskedCpus>) -> Result<Option<Self>, String> {
        for cpu in asked
            .iter()
            .flat_map(|asked| [Some(asked.cpu), asked.other])
        {
            check(machine, cpu)?;
        }
        let cpu = asked.map(|asked| asked.cpu).or(machine.measured_cpu());
        Ok(cpu.map(|cpu| Self {
            cpu,
            other: asked
                .and_then(|asked| asked.other)
                .or_else(|| default_other(machine, cpu)),
        }))
    }

    /// How the second CPU is related to the first; `None` if there is none, or if the machine does
    /// not show it.
    #[must_use]
    pub fn relation(&self, machine: &Machine) -> Option<Relation> {
        relation(machine, self.cpu, self.other?)
    }

    /// Facts about where the CPUs lie. What the machine does not show is left out.
    #[must_use]
    pub fn facts(&self, machine: &Machine) -> Vec<Fact> {
        let mut facts = place_facts(machine, self.cpu, "");
        let Some(other) = self.other else {
            return facts;
        };
        facts.extend(place_facts(machine, other, "other_"));
        if let Some(relation) = self.relation(machine) {
            let types = [self.cpu, other].map(|cpu| place(machine, cpu)?.core_type.as_deref());
            let text = match types {
                [Some(one), Some(two)] if one != two => {
                    format!("{relation}, of types {one} and {two}")
                }
                _ => relation.to_string(),
            };
            facts.push(Fact::new(RELATION, text));
        }
        facts
    }
}

/// Where one CPU lies, as facts whose names begin with `prefix`.
fn place_facts(machine: &Machine, cpu: u32, prefix: &str) -> Vec<Fact> {
    let Some(place) = place(machine, cpu) else {
        return Vec::new();
    };
    let siblings = (!place.siblings.is_empty()).then(|| format_cpu_list(&place.siblings));
    let facts = [
        (CORE_TYPE, place.core_type.clone()),
        ("core_threads", siblings),
        (
            "last_level_cache",
            place.last_level_cache().map(ToString::to_string),
        ),
        ("numa_node", place.node.map(|node| node.to_string())),
        ("package", place.package.map(|package| package.to_string())),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| {
        let name = format!("{prefix}{name}");
        Some(Fact::new(&name, value?))
    });
    known.collect()
}

fn place(machine: &Machine, cpu: u32) -> Option<&Place> {
    Some(&machine.cpus.get(&cpu)?.place)
}

/// How `other` is related to `cpu`.
pub(super) fn relation(machine: &Machine, cpu: u32, other: u32) -> Option<Relation> {
    Relation::of(place(machine, cpu)?, other, place(machine, other)?)
}

/// The second CPU for a measured one: its nearest core, of the same type if there is one as near. It
/// is a hardware thread of the same core only if there is no other. Of equals, the last one.
pub(super) fn default_other(machine: &Machine, cpu: u32) -> Option<u32> {
    let of_type = |cpu: u32| place(machine, cpu).and_then(|place| place.core_type.as_deref());
    let others = machine.allowed.iter().copied();
    others.filter(|other| *other != cpu).min_by_key(|&other| {
        let relation = relation(machine, cpu, other);
        (
            relation == Some(Relation::Siblings),
            relation.is_none(),
            relation,
            of_type(cpu) != of_type(other),
            Reverse(other),
        )
    })
}

/// Whether a CPU that the user asked for can be used. The error says what to do.
fn check(machine: &Machine, asked: Option<u32>) -> Result<(), String> {
    let Some(cpu) = asked else { return Ok(()) };
    // A machine without /proc: the agent finds out.
    if machine.allowed.is_empty() || machine.allowed.contains(&cpu) {
        return Ok(());
    }
    let list = format_cpu_list;
    let usable = format!("this process may use CPU {}", list(&machine.allowed));
    let (present, online) = (&machine.present, &machine.online);
    Err(if !present.is_empty() && !present.contains(&cpu) {
        format!(
            "there is no CPU {cpu}: this machine has CPU {}, and {usable}",
            list(present)
        )
    } else if !online.is_empty() && !online.contains(&cpu) {
        format!(
            "CPU {cpu} is offline; bring it online with: echo 1 | sudo tee \
             /sys/devices/system/cpu/cpu{cpu}/online; or choose another: {usable}"
        )
    } else {
        format!(
            "this process may not use CPU {cpu}; {usable}. Allow it for this shell with: taskset -p \
             -c {} $$; if that has no effect, with the cpuset of its control group",
            list(online)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::topology::Cache;
    use super::super::Cpu;
    use super::*;

    /// A machine of CPUs with the same number of threads per core, cores per cache and caches per
    /// node. Each node is a package. The threads of a core are numbered as on Intel's servers: all
    /// first threads come first.
    fn machine(threads: u32, cores: u32, caches: u32, nodes: u32) -> Machine {
        let all_cores = cores * caches * nodes;
        let cpus = |cores: std::ops::Range<u32>| -> Vec<u32> {
            let of_thread = |thread: u32| cores.clone().map(move |core| thread * all_cores + core);
            (0..threads).flat_map(of_thread).collect()
        };
        let place = |cpu: u32| {
            let core = cpu % all_cores;
            let cache = core / cores;
            Place {
                core_type: None,
                siblings: cpus(core..core + 1),
                caches: vec![
                    Cache {
                        level: 1,
                        cpus: cpus(core..core + 1),
                        ..Cache::default()
                    },
                    Cache {
                        level: 3,
                        cpus: cpus(cache * cores..(cache + 1) * cores),
                        ..Cache::default()
                    },
                ],
                node: Some(cache / caches),
                package: Some(cache / caches),
            }
        };
        let all: Vec<u32> = (0..threads * all_cores).collect();
        let cpu = |&number: &u32| {
            let place = place(number);
            (
                number,
                Cpu {
                    place,
                    ..Cpu::default()
                },
            )
        };
        Machine {
            cpus: all.iter().map(cpu).collect::<BTreeMap<u32, Cpu>>(),
            online: all.clone(),
            present: all.clone(),
            allowed: all,
            ..Machine::default()
        }
    }

    fn asked(text: &str) -> Result<AskedCpus, String> {
        text.parse()
    }

    #[test]
    fn one_or_two_cpus_can_be_named() {
        assert_eq!(
            asked("3"),
            Ok(AskedCpus {
                cpu: 3,
                other: None
            })
        );
        let both = AskedCpus {
            cpu: 3,
            other: Some(0),
        };
        assert_eq!(asked("3,0"), Ok(both));
        assert_eq!(asked("3, 0"), Ok(both));
        for text in ["", "a", "1,", ",1", "1,2,3", "-1", "1-2"] {
            assert!(asked(text).is_err(), "{text}");
        }
        assert!(asked("2,2").unwrap_err().contains("must differ"));
    }

    #[test]
    fn second_cpu_is_a_core_of_the_same_cache() {
        // Two sockets of two caches with two cores of two threads each: CPU 15 is the second thread
        // of the last core, 7; its cache has the cores 6 and 7.
        let server = machine(2, 2, 2, 2);
        assert_eq!(server.cpus[&15].place.siblings, [7, 15]);
        let chosen = MeasuredCpus::choose(&server, None).unwrap().unwrap();
        assert_eq!((chosen.cpu, chosen.other), (15, Some(14)));
        assert_eq!(chosen.relation(&server), Some(Relation::Cache(3)));
        let mut few = server.clone();
        few.allowed = vec![0, 5, 7, 15];
        assert_eq!(default_other(&few, 15), Some(5), "of the same node");
        few.allowed = vec![0, 1, 7, 15];
        assert_eq!(default_other(&few, 15), Some(1), "no sibling");
        few.allowed = vec![7, 15];
        assert_eq!(default_other(&few, 15), Some(7));
        few.allowed = vec![15];
        assert_eq!(default_other(&few, 15), None);
    }

    #[test]
    fn unknown_places_leave_the_last_cpu() {
        let unknown = Machine {
            allowed: vec![0, 1, 5, 9],
            ..Machine::default()
        };
        assert_eq!(default_other(&unknown, 9), Some(5));
        assert_eq!(default_other(&unknown, 5), Some(9));
        let chosen = MeasuredCpus::choose(&unknown, None).unwrap().unwrap();
        assert_eq!(chosen.relation(&unknown), None);
        assert!(chosen.facts(&unknown).is_empty());
        let nothing = Machine::default();
        assert_eq!(MeasuredCpus::choose(&nothing, None), Ok(None));
        let named = MeasuredCpus::choose(&nothing, asked("3").ok()).unwrap();
        assert_eq!(named.unwrap().cpu, 3);
    }

    #[test]
    fn choice_has_these_properties_on_every_machine() {
        let mut random = fastrand::Rng::with_seed(14);
        for _ in 0..2000 {
            let [threads, cores, caches, nodes] = [2, 4, 3, 3].map(|most| random.u32(1..=most));
            let mut machine = machine(threads, cores, caches, nodes);
            for cpu in machine.cpus.values_mut() {
                cpu.place.core_type = Some(["core", "atom"][random.usize(0..2)].to_owned());
            }
            machine.allowed.retain(|_| random.u32(0..4) > 0);
            let Some(cpu) = machine.measured_cpu() else {
                continue;
            };
            let chosen = MeasuredCpus::choose(&machine, None).unwrap().unwrap();
            assert_eq!(chosen.cpu, cpu);
            let Some(other) = chosen.other else {
                assert_eq!(machine.allowed, [cpu]);
                continue;
            };
            assert!(other != cpu && machine.allowed.contains(&other));
            let of = |other: u32| relation(&machine, cpu, other).unwrap();
            let here = &machine.cpus[&cpu].place;
            for &better in machine.allowed.iter().filter(|&&one| one != cpu) {
                // Nothing that was left is nearer, except siblings of the measured CPU.
                if of(better) != Relation::Siblings {
                    assert!(of(other) <= of(better), "{other} instead of {better}");
                    assert_ne!(of(other), Relation::Siblings);
                }
                let kind = |one: u32| machine.cpus[&one].place.core_type == here.core_type;
                if of(better) == of(other) {
                    assert!(kind(other) || !kind(better), "{other} instead of {better}");
                }
            }
            // The user's choice is always taken, and the relation is the same from both sides.
            let asked = Some(AskedCpus {
                cpu: other,
                other: Some(cpu),
            });
            let swapped = MeasuredCpus::choose(&machine, asked).unwrap().unwrap();
            assert_eq!((swapped.cpu, swapped.other), (other, Some(cpu)));
            assert_eq!(swapped.relation(&machine), chosen.relation(&machine));
        }
    }

    #[test]
    fn errors_say_which_cpus_can_be_used() {
        let mut machine = machine(1, 4, 1, 1);
        machine.present = vec![0, 1, 2, 3, 4];
        machine.allowed = vec![0, 1];
        let error = |text: &str| MeasuredCpus::choose(&machine, asked(text).ok()).unwrap_err();
        assert_eq!(
            error("9"),
            "there is no CPU 9: this machine has CPU 0-4, and this process may use CPU 0-1"
        );
        assert!(error("4").starts_with("CPU 4 is offline; bring it online with: echo 1 | "));
        assert!(error("1,2").starts_with("this process may not use CPU 2; this process may"));
        assert!(error("3,1").contains("taskset -p -c 0-3 $$"));
    }
}
