// SPDX-License-Identifier: MIT OR Apache-2.0

//! The facts about a machine that a saved run contains: a [`Machine`] in, [`Fact`]s out.

use super::topology::Cache;
use super::{format_cpu_list, Cpu, KernelConfig, Machine, Switch};
use crate::base::number::plural;
use crate::stream::run::{Fact, MACHINE_ID};

/// Kernel configuration options that affect the cost of primitives, by full name.
const OPTIONS: &[&str] = &[
    "HZ",
    "AUDIT",
    "AUDITSYSCALL",
    "CPU_MITIGATIONS",
    "PAGE_TABLE_ISOLATION",
    "RETPOLINE",
    "HIGH_RES_TIMERS",
    "IO_URING",
    "KVM_GUEST",
    "PARAVIRT",
    "SMP",
    "LOCKDEP",
    "LOCK_STAT",
    "FTRACE",
    "DYNAMIC_FTRACE",
    "FUNCTION_TRACER",
    "IRQSOFF_TRACER",
    "SECCOMP",
    "SLUB_DEBUG",
    "SLUB_DEBUG_ON",
    "HARDENED_USERCOPY",
    "IRQ_TIME_ACCOUNTING",
    "TRANSPARENT_HUGEPAGE_ALWAYS",
];

/// Kernel configuration options that affect the cost of primitives, by start of name.
const OPTION_FAMILIES: &[&str] = &[
    "PREEMPT",
    "HZ_",
    "NO_HZ",
    "RT_GROUP_SCHED",
    "SCHED_",
    "CFS_BANDWIDTH",
    "MITIGATION_",
    "PSI",
    "DEBUG_",
    "PROVE_",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "UBSAN",
    "KFENCE",
    "KCOV",
    "CFI_",
    "INIT_ON_",
    "INIT_STACK_",
    "STACKPROTECTOR",
    "RANDOMIZE_KSTACK_OFFSET",
    "VIRT_CPU_ACCOUNTING",
    "CONTEXT_TRACKING",
    "RCU_NOCB",
    "CPU_FREQ_DEFAULT_GOV",
];

/// Options of those families without cost at run time.
const FREE_OPTIONS: &[&str] = &["DEBUG_INFO", "DEBUG_FS", "DEBUG_BUGVERBOSE"];

/// The facts for the `host` records of a saved run. The tool's version comes first.
///
/// Values are plain text. Facts that the machine does not show are left out.
#[must_use]
pub fn facts(machine: &Machine) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    facts.add(
        "tool",
        Some(concat!("kernmark ", env!("CARGO_PKG_VERSION"))),
    );
    kernel_facts(&mut facts, machine);
    cpu_facts(&mut facts, machine);
    facts.add("hypervisor", machine.hypervisor.as_ref());
    facts.add("container", machine.container.as_ref());
    facts.add("product", machine.product.as_ref());
    facts.add(MACHINE_ID, machine.identity.as_ref());
    facts.add(
        "load",
        machine
            .load
            .map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}")),
    );
    facts.add("memory_kib", machine.memory_kib);
    let nodes = machine.node_memory_kib.iter();
    let nodes: Vec<String> = nodes.map(|(node, kib)| format!("{node}:{kib}")).collect();
    facts.add(
        "memory_of_nodes_kib",
        (!nodes.is_empty()).then(|| nodes.join(" ")),
    );
    facts.add("memory_available_kib", machine.memory_available_kib);
    facts.add(
        "cgroup_quota",
        machine
            .quota
            .as_ref()
            .map(|q| format!("{} us of every {} us", q.quota_us, q.period_us)),
    );
    let permissions = &machine.permissions;
    facts.add("rlimit_rtprio", permissions.rtprio);
    facts.add("rlimit_rttime_us", permissions.rttime);
    facts.add("rlimit_memlock_bytes", permissions.memlock);
    facts.add("seccomp", permissions.seccomp);
    for (name, value) in &machine.sysctl {
        facts.add(name, Some(value));
    }
    facts.add("transparent_hugepages", machine.huge_pages.as_ref());
    facts.add("distribution", machine.distribution.as_ref());
    facts.add(
        "mains_power",
        machine.mains.map(|mains| match mains {
            Switch::On => "connected",
            Switch::Off => "not connected",
        }),
    );
    facts.0
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.push(Fact::new(name, value.to_string()));
        }
    }
}

fn kernel_facts(facts: &mut Facts, machine: &Machine) {
    facts.add("kernel_name", machine.kernel_name.as_ref());
    facts.add("kernel_release", machine.kernel_release.as_ref());
    facts.add("kernel_version", machine.kernel_version.as_ref());
    facts.add("arch", machine.arch.as_ref());
    facts.add("kernel_command_line", machine.command_line.as_ref());
    if let Some(config) = &machine.config {
        facts.add(
            "kernel_config",
            Some(format!(
                "crc32 {:08x} of {} bytes",
                config.crc32, config.bytes
            )),
        );
        facts.add(
            "kernel_config_options",
            Some(relevant_options(config).join(" ")),
        );
    }
    facts.add(
        "preemption",
        machine
            .preemption
            .as_ref()
            .map(|p| format!("{} ({})", p.mode, p.source)),
    );
    for (name, state) in &machine.vulnerabilities {
        facts.add(&format!("mitigation_{name}"), Some(state));
    }
}

fn cpu_facts(facts: &mut Facts, machine: &Machine) {
    facts.add("cpu_model", machine.cpu_model.as_ref());
    facts.add("cpu_identity", machine.cpu_identity.as_ref());
    facts.add("microcode", machine.microcode.as_ref());
    let lists = [
        ("cpus_online", &machine.online),
        ("cpus_allowed", &machine.allowed),
        ("cpus_isolated", &machine.isolated),
        ("cpus_nohz_full", &machine.tickless),
    ];
    for (name, list) in lists {
        facts.add(name, (!list.is_empty()).then(|| format_cpu_list(list)));
    }
    let count = machine.online.len();
    facts.add("cpu_count", (count > 0).then_some(count));
    facts.add(
        "topology",
        machine.packages_and_cores.map(|(packages, cores)| {
            let of = |count: usize, what| plural(count as u64, what);
            format!("{}, {}", of(packages, "package"), of(cores, "core"))
        }),
    );
    facts.add(
        "core_types",
        per_cpu(machine, |cpu| cpu.place.core_type.clone()),
    );
    facts.add(
        "caches",
        per_cpu(machine, |cpu| {
            let caches = cpu.place.caches.iter().map(Cache::description);
            let caches: Vec<String> = caches.collect();
            (!caches.is_empty()).then(|| caches.join("; "))
        }),
    );
    facts.add("smt", machine.smt.as_ref());
    facts.add(
        "governor",
        per_cpu(machine, |cpu| cpu.frequency.governor.clone()),
    );
    facts.add(
        "frequency_driver",
        per_cpu(machine, |cpu| cpu.frequency.driver.clone()),
    );
    facts.add(
        "energy_preference",
        per_cpu(machine, |cpu| cpu.frequency.preference.clone()),
    );
    facts.add(
        "frequency_range_khz",
        per_cpu(machine, |cpu| {
            Some(format!(
                "{}-{}",
                cpu.frequency.lowest_khz?, cpu.frequency.highest_khz?
            ))
        }),
    );
    facts.add(
        "boost",
        machine.boost.as_ref().map(|(switch, _)| match switch {
            Switch::On => "on",
            Switch::Off => "off",
        }),
    );
    facts.add("clock_source", machine.clock_source.as_ref());
    facts.add("idle_driver", machine.idle_driver.as_ref());
    facts.add(
        "throttled",
        per_cpu(machine, |cpu| cpu.throttled.map(|n| n.to_string())),
    );
}

/// A value of all allowed CPUs: one word if they agree, otherwise `0-3:word 4-7:word`.
fn per_cpu(machine: &Machine, value: impl Fn(&Cpu) -> Option<String>) -> Option<String> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for (&number, cpu) in &machine.cpus {
        let Some(value) = value(cpu) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, members)) => members.push(number),
            None => groups.push((value, vec![number])),
        }
    }
    match groups.as_slice() {
        [] => None,
        [(value, members)] if members.len() == machine.cpus.len() => Some(value.clone()),
        _ => Some(
            groups
                .iter()
                .map(|(value, members)| format!("{}:{value}", format_cpu_list(members)))
                .collect::<Vec<_>>()
                .join(" "),
        ),
    }
}

/// The options that affect the cost of primitives, as `NAME=value`.
fn relevant_options(config: &KernelConfig) -> Vec<String> {
    config
        .options
        .iter()
        .filter(|(name, _)| is_relevant(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

fn is_relevant(option: &str) -> bool {
    OPTIONS.contains(&option)
        || (OPTION_FAMILIES.iter().any(|f| option.starts_with(f))
            && !FREE_OPTIONS.iter().any(|free| option.starts_with(free)))
}
