// SPDX-License-Identifier: MIT OR Apache-2.0

//! The checks of the doctor: a [`Machine`] and [`Probes`] in, [`Finding`]s out.
//!
//! Each function checks one topic and adds its findings. A check without data adds nothing.

use std::collections::BTreeMap;

use super::{Finding, Level, Probes, Realtime, AGENT_PRIORITY};
use crate::base::number;
use crate::machine::cpus::{default_other, relation as relation_of, MeasuredCpus};
use crate::machine::topology::Relation;
use crate::machine::{format_cpu_list, Limit, Machine, Switch};

/// Other work that uses more than this share of a CPU is visible in the numbers.
const BUSY: f64 = 0.05;
/// Steal time above this share is visible in the numbers.
const VISIBLE_STEAL: f64 = 0.01;
/// Steal time below this share is not worth a note.
const NEGLIGIBLE_STEAL: f64 = 0.001;
/// An exit latency of an idle state above this is visible in wake-up times. Microseconds.
const DEEP_IDLE_US: u64 = 10;
/// Enough to lock the whole image of the agent. Bytes.
const AGENT_LOCKED_BYTES: u64 = 8 << 20;

/// Runs all checks. Returns the worst findings first, in a fixed order within a level.
#[must_use]
pub fn examine(machine: &Machine, probes: &Probes) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    virtualisation(&mut findings, machine);
    steal(&mut findings, machine, probes);
    container(&mut findings, machine);
    other_work(&mut findings, machine, probes);
    quota(&mut findings, machine);
    realtime(&mut findings, machine, probes);
    realtime_budget(&mut findings, machine);
    frequency(&mut findings, machine);
    boost(&mut findings, machine);
    battery(&mut findings, machine);
    heat(&mut findings, machine);
    smt(&mut findings, machine, probes);
    allowed_cpus(&mut findings, machine);
    second_cpu(&mut findings, machine);
    core_type(&mut findings, machine);
    isolation(&mut findings, machine);
    idle_states(&mut findings, machine);
    clock_source(&mut findings, machine);
    kernel_debugging(&mut findings, machine);
    mitigations(&mut findings, machine);
    seccomp(&mut findings, machine);
    memory_lock(&mut findings, machine);
    huge_pages(&mut findings, machine);
    interruptions(&mut findings, machine);
    io_uring(&mut findings, machine);
    perf_events(&mut findings, machine);
    privilege(&mut findings, machine);
    findings
        .0
        .sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, topic: &'static str, what: impl Into<String>) {
        self.add(topic, Level::Good, what, "", None);
    }

    fn add(
        &mut self,
        topic: &'static str,
        level: Level,
        what: impl Into<String>,
        effect: impl Into<String>,
        remedy: Option<String>,
    ) {
        self.0.push(Finding {
            topic,
            level,
            what: what.into(),
            effect: effect.into(),
            remedy,
        });
    }
}

fn percent(share: f64) -> String {
    number::percent(share * 100.0)
}

fn virtualisation(findings: &mut Findings, machine: &Machine) {
    let topic = "virtualisation";
    if let Some(hypervisor) = &machine.hypervisor {
        findings.add(
            topic,
            Level::Note,
            format!("This is a virtual machine; hypervisor: {hypervisor}."),
            "Interrupts, timers, page table changes and idle CPUs can cause exits to the hypervisor. \
             Other virtual machines on the same hardware affect the tails. The numbers describe \
             this virtual machine, not the processor.",
            Some("Compare only with runs in the same kind of virtual machine, or measure on bare metal.".to_owned()),
        );
    } else if !machine.cpu_flags.is_empty() {
        findings.good(topic, "No hypervisor.");
    }
}

fn steal(findings: &mut Findings, machine: &Machine, probes: &Probes) {
    let topic = "steal";
    let Some(activity) = &probes.activity else {
        return;
    };
    let (moment, boot) = (
        activity.all.steal_share(),
        activity.since_boot.steal_share(),
    );
    let what = format!(
        "Steal time: {} of the CPU time during this check, {} since boot.",
        percent(moment),
        percent(boot)
    );
    let effect =
        "The hypervisor's interruptions lengthen the samples they hit. Medians stay valid, \
                  tails and means do not.";
    let remedy = "Use a virtual machine with dedicated CPUs, or measure when its host is quiet.";
    if moment > VISIBLE_STEAL || boot > VISIBLE_STEAL {
        findings.add(topic, Level::Warning, what, effect, Some(remedy.to_owned()));
    } else if moment > NEGLIGIBLE_STEAL || boot > NEGLIGIBLE_STEAL {
        findings.add(topic, Level::Note, what, effect, Some(remedy.to_owned()));
    } else if machine.hypervisor.is_some() {
        findings.good(topic, what);
    }
}

fn container(findings: &mut Findings, machine: &Machine) {
    let Some(container) = &machine.container else {
        return;
    };
    findings.add(
        "container",
        Level::Note,
        format!("This runs in a container ({container})."),
        "A container can filter system calls, limit CPU time, refuse priorities and layer file \
         systems. Filters, limits and refusals that apply here have their own findings.",
        None,
    );
}

fn other_work(findings: &mut Findings, machine: &Machine, probes: &Probes) {
    let topic = "other work";
    let load = machine.load.map_or_else(String::new, |[one, _, _]| {
        format!(" Load over one minute: {one:.2}.")
    });
    let Some(activity) = &probes.activity else {
        return;
    };
    let busy: Vec<String> = activity
        .cpus
        .iter()
        .filter(|(_, times)| times.busy_share() > BUSY)
        .map(|(cpu, times)| format!("CPU {cpu} {}", percent(times.busy_share())))
        .collect();
    if busy.is_empty() {
        findings.good(
            topic,
            format!(
                "No other work uses more than {} of a CPU.{load}",
                percent(BUSY)
            ),
        );
        return;
    }
    let who: Vec<String> = activity
        .processes
        .iter()
        .filter(|(_, share)| *share > BUSY)
        .take(5)
        .map(|(name, share)| format!("{name} ({share:.2} CPUs)"))
        .collect();
    let who = if who.is_empty() {
        "no single process uses much".to_owned()
    } else {
        who.join(", ")
    };
    let measured_busy = machine
        .measured_cpu()
        .and_then(|cpu| activity.cpus.get(&cpu))
        .is_some_and(|times| times.busy_share() > BUSY);
    let (level, effect) = if measured_busy {
        (
            Level::Warning,
            "The measured CPU has other work. Without real-time priority this work interrupts \
             samples; with it, both still share the caches.",
        )
    } else {
        (
            Level::Note,
            "Other CPUs are busy. Their work affects shared caches, memory bandwidth and turbo \
             frequency.",
        )
    };
    findings.add(
        topic,
        level,
        format!("Busy: {}; {who}.{load}", busy.join(", ")),
        effect,
        Some("Stop those processes, or measure at another time.".to_owned()),
    );
}

fn quota(findings: &mut Findings, machine: &Machine) {
    let topic = "CPU quota";
    let Some(quota) = &machine.quota else {
        if machine.permissions.seccomp.is_some() {
            findings.good(topic, "This control group has no CPU limit.");
        }
        return;
    };
    let throttled = quota
        .throttled
        .map_or_else(String::new, |n| format!(", throttled {n} times so far"));
    let file = quota.file.display();
    let unlimited = if quota.file.ends_with("cpu.max") {
        "max"
    } else {
        "-1"
    };
    findings.add(
        topic,
        Level::Warning,
        format!(
            "The control group is limited to {:.2} CPUs: {} us in every {} us{throttled} ({file}).",
            quota.cpus(),
            quota.quota_us,
            quota.period_us
        ),
        "When the quota is used up, the kernel stops all threads of the group until the next \
         period. The sample being taken gets longer by that time.",
        Some(format!(
            "echo {unlimited} | sudo tee {file}; or start the container without --cpus, the pod \
             without a CPU limit, the unit without CPUQuota="
        )),
    );
}

fn realtime(findings: &mut Findings, machine: &Machine, probes: &Probes) {
    let topic = "real-time priority";
    let permissions = &machine.permissions;
    let group = permissions
        .group_rt_runtime_us
        .as_ref()
        .filter(|(runtime, _)| *runtime == 0);
    let by_limit = match permissions.rtprio {
        Some(Limit::Unlimited) => true,
        Some(Limit::AtMost(most)) => most >= AGENT_PRIORITY,
        None => false,
    };
    let effect = "Without it, other threads interrupt samples, and cases that need two priorities \
                  are skipped.";
    if let Some((_, file)) = group {
        findings.add(
            topic,
            Level::Warning,
            format!(
                "The control group has no real-time CPU time ({} is 0).",
                file.display()
            ),
            effect,
            Some(format!(
                "echo 950000 | sudo tee {} (its parents need at least as much); or run in the root \
                 control group",
                file.display()
            )),
        );
        return;
    }
    let granted = match &probes.realtime {
        Realtime::Granted => true,
        Realtime::Refused(_) => false,
        Realtime::Untried => permissions.may_raise_priority() || by_limit,
    };
    if granted {
        let why = if permissions.may_raise_priority() {
            "CAP_SYS_NICE"
        } else {
            "RLIMIT_RTPRIO"
        };
        let how = match probes.realtime {
            Realtime::Granted => "tried",
            _ => "not tried",
        };
        findings.good(topic, format!("Permitted by {why} ({how})."));
        return;
    }
    let words = match &probes.realtime {
        Realtime::Refused(words) => format!("Refused ({words})"),
        _ => "Not permitted".to_owned(),
    };
    let capability = if permissions.may_raise_priority() {
        "in effect"
    } else {
        "not in effect"
    };
    let limit = permissions
        .rtprio
        .map_or_else(|| "unknown".to_owned(), |limit| limit.to_string());
    let remedy = if permissions.may_raise_priority() || by_limit {
        "Permissions allow it, so a system call filter or the control group refuses it: \
         docker run --cap-add SYS_NICE --security-opt seccomp=unconfined"
            .to_owned()
    } else {
        format!(
            "For this shell: sudo prlimit --pid $$ --rtprio={AGENT_PRIORITY}\n\
             For a user: the line \"USER - rtprio {AGENT_PRIORITY}\" in /etc/security/limits.conf, \
             log in again, ulimit -r {AGENT_PRIORITY}\n\
             For a systemd unit: LimitRTPRIO={AGENT_PRIORITY}\n\
             For one program: sudo setcap cap_sys_nice+ep FILE\n\
             For a container: --cap-add SYS_NICE or --ulimit rtprio={AGENT_PRIORITY}"
        )
    };
    findings.add(
        topic,
        Level::Warning,
        format!("{words}; CAP_SYS_NICE is {capability}, RLIMIT_RTPRIO is {limit}."),
        effect,
        Some(remedy),
    );
}

fn realtime_budget(findings: &mut Findings, machine: &Machine) {
    let topic = "real-time budget";
    if let Some(Limit::AtMost(most)) = machine.permissions.rttime {
        findings.add(
            topic,
            Level::Warning,
            format!("RLIMIT_RTTIME is {most} us."),
            "SIGXCPU kills a real-time thread that runs for longer than this without sleeping.",
            Some("sudo prlimit --pid $$ --rttime=unlimited".to_owned()),
        );
    }
    let settings = &machine.sysctl;
    let Some(&runtime) = settings.get("sched_rt_runtime_us") else {
        return;
    };
    let period = settings
        .get("sched_rt_period_us")
        .copied()
        .unwrap_or(1_000_000);
    if runtime < 0 || runtime >= period {
        findings.good(topic, "Real-time threads are not throttled.");
        return;
    }
    findings.add(
        topic,
        Level::Note,
        format!("Real-time threads may use {runtime} us of every {period} us."),
        format!(
            "A case that keeps its CPU busy at real-time priority for longer can be stopped for up \
             to {} us. Shorter cases are not affected.",
            period - runtime
        ),
        Some("sudo sysctl kernel.sched_rt_runtime_us=-1 (a runaway real-time thread then locks up its CPU)".to_owned()),
    );
}

fn frequency(findings: &mut Findings, machine: &Machine) {
    let topic = "frequency";
    let governors: BTreeMap<&str, Vec<u32>> =
        machine
            .cpus
            .iter()
            .fold(BTreeMap::new(), |mut by_governor, (&number, cpu)| {
                if let Some(governor) = &cpu.frequency.governor {
                    by_governor
                        .entry(governor.as_str())
                        .or_insert_with(Vec::new)
                        .push(number);
                }
                by_governor
            });
    if governors.is_empty() {
        if !machine.cpus.is_empty() {
            findings.add(
                topic,
                Level::Note,
                "The CPU frequency cannot be read or set from here.",
                "The hypervisor or the firmware can change it between runs. A clock with a constant \
                 rate then counts a different number of ticks for the same work.",
                None,
            );
        }
        return;
    }
    let slow: Vec<String> = governors
        .iter()
        .filter(|(governor, _)| **governor != "performance")
        .map(|(governor, cpus)| format!("{governor} on CPU {}", format_cpu_list(cpus)))
        .collect();
    if slow.is_empty() {
        findings.good(topic, "The frequency governor is performance on every CPU.");
        return;
    }
    findings.add(
        topic,
        Level::Warning,
        format!("The frequency governor is {}.", slow.join(", ")),
        "A CPU that has just woken up runs slower than a busy one. Short cases look slower than \
         they are, and the order of cases matters.",
        Some(
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
                .to_owned(),
        ),
    );
}

fn boost(findings: &mut Findings, machine: &Machine) {
    let topic = "boost";
    match &machine.boost {
        Some((Switch::On, file)) => {
            let value = i32::from(file.ends_with("no_turbo"));
            findings.add(
                topic,
                Level::Note,
                "The CPUs may exceed their nominal frequency (turbo, boost).",
                "The frequency depends on temperature and on the load of the other CPUs, so it \
                 varies between runs.",
                Some(format!("echo {value} | sudo tee {}", file.display())),
            );
        }
        Some((Switch::Off, _)) => findings.good(topic, "Boost is off."),
        None => {}
    }
}

fn battery(findings: &mut Findings, machine: &Machine) {
    if machine.mains == Some(Switch::Off) {
        findings.add(
            "power",
            Level::Warning,
            "The machine runs on battery.",
            "Firmware and kernel save energy: frequencies are lower and wake-ups take longer.",
            Some("Connect the power supply.".to_owned()),
        );
    }
}

fn heat(findings: &mut Findings, machine: &Machine) {
    let topic = "heat";
    let Some(most) = machine.cpus.values().filter_map(|cpu| cpu.throttled).max() else {
        return;
    };
    if most == 0 {
        findings.good(topic, "No thermal throttling since boot.");
    } else {
        findings.add(
            topic,
            Level::Warning,
            format!("A CPU was thermally throttled {most} times since boot."),
            "A throttled CPU is slower until it has cooled down. Numbers drift during a run.",
            Some("Improve the cooling, and reduce the load before and during the run.".to_owned()),
        );
    }
}

fn smt(findings: &mut Findings, machine: &Machine, probes: &Probes) {
    let topic = "SMT";
    let Some(measured) = machine.measured_cpu() else {
        return;
    };
    let Some(cpu) = machine.cpus.get(&measured) else {
        return;
    };
    let others: Vec<u32> = cpu
        .place
        .siblings
        .iter()
        .copied()
        .filter(|&sibling| sibling != measured)
        .collect();
    let Some(&first) = others.first() else {
        if !cpu.place.siblings.is_empty() {
            let seen = if machine.hypervisor.is_some() {
                ", as far as the hypervisor reveals"
            } else {
                ""
            };
            findings.good(
                topic,
                format!("CPU {measured} does not share its core{seen}."),
            );
        }
        return;
    };
    let busy = probes.activity.as_ref().map_or(0.0, |activity| {
        others
            .iter()
            .filter_map(|sibling| activity.cpus.get(sibling))
            .map(|times| times.busy_share())
            .fold(0.0, f64::max)
    });
    let level = if busy > BUSY {
        Level::Warning
    } else {
        Level::Note
    };
    findings.add(
        topic,
        level,
        format!(
            "The measured CPU {measured} shares its core with CPU {} (busy {}).",
            format_cpu_list(&others),
            percent(busy)
        ),
        "Work on the sibling uses execution units and caches of the core. Samples get longer \
         meanwhile.",
        Some(format!(
            "echo 0 | sudo tee /sys/devices/system/cpu/cpu{first}/online; or for all cores: echo \
             off | sudo tee /sys/devices/system/cpu/smt/control"
        )),
    );
}

fn allowed_cpus(findings: &mut Findings, machine: &Machine) {
    if let [only] = machine.allowed.as_slice() {
        findings.add(
            "CPUs",
            Level::Note,
            format!("Only CPU {only} is allowed."),
            "Cases that need a second CPU are skipped, and the host tool shares the measured CPU.",
            (machine.online.len() > 1)
                .then(|| format!("taskset -p -c {} $$", format_cpu_list(&machine.online))),
        );
    }
}

/// Says on which cores the second CPU and the measured one are.
fn second_cpu(findings: &mut Findings, machine: &Machine) {
    let topic = "second CPU";
    let Ok(Some(chosen)) = MeasuredCpus::choose(machine, None) else {
        return;
    };
    let Some((other, relation)) = chosen.other.zip(chosen.relation(machine)) else {
        return;
    };
    let what = format!(
        "Cases that need a second CPU use CPU {other} beside CPU {}: {relation}.",
        chosen.cpu
    );
    if matches!(relation, Relation::Cache(_)) {
        findings.good(topic, what);
        return;
    }
    let nearer = machine.allowed.iter().rev().find_map(|&cpu| {
        let other = default_other(machine, cpu)?;
        let is_near = matches!(relation_of(machine, cpu, other)?, Relation::Cache(_));
        is_near.then_some((cpu, other))
    });
    findings.add(
        topic,
        Level::Note,
        what,
        "Threads of one core compete for it, and threads without a common cache exchange data \
         through memory. Such wake-ups cost more or less than those between two cores that share \
         a cache, and are never compared with them.",
        nearer.map(|(cpu, other)| format!("kernmark run --cpu {cpu},{other}")),
    );
}

/// On a processor with several types of cores, says which one is measured.
fn core_type(findings: &mut Findings, machine: &Machine) {
    let Some(measured) = machine.measured_cpu() else {
        return;
    };
    let of = |cpu: u32| machine.cpus.get(&cpu)?.place.core_type.as_deref();
    let Some(kind) = of(measured) else { return };
    let mut allowed = machine.allowed.iter().rev().copied();
    let other = allowed.find_map(|cpu| Some((cpu, of(cpu).filter(|other| *other != kind)?)));
    findings.add(
        "core type",
        Level::Note,
        format!("This processor has several types of cores; the measured CPU {measured} is of type {kind}."),
        "A number holds for this type of core only.",
        other.map(|(cpu, other)| format!("kernmark run --cpu {cpu} measures type {other}")),
    );
}

fn isolation(findings: &mut Findings, machine: &Machine) {
    let topic = "isolation";
    let Some(measured) = machine.measured_cpu() else {
        return;
    };
    if machine.isolated.contains(&measured) {
        let tick = if machine.tickless.contains(&measured) {
            " and has no periodic tick"
        } else {
            ""
        };
        findings.good(
            topic,
            format!("The measured CPU {measured} is isolated{tick}."),
        );
    } else if machine.allowed.len() > 1 {
        findings.add(
            topic,
            Level::Note,
            format!("The measured CPU {measured} also runs other threads and interrupts."),
            "Interrupts and kernel threads affect the tails.",
            Some(format!(
                "Boot with isolcpus={measured} nohz_full={measured} rcu_nocbs={measured} \
                 irqaffinity=0"
            )),
        );
    }
}

fn idle_states(findings: &mut Findings, machine: &Machine) {
    let topic = "idle states";
    let Some(cpu) = machine
        .measured_cpu()
        .and_then(|cpu| machine.cpus.get(&cpu))
    else {
        return;
    };
    if cpu.idle.is_empty() {
        return;
    }
    let driver = machine.idle_driver.as_deref().unwrap_or("unknown");
    let deep = cpu
        .idle
        .iter()
        .filter(|state| state.state == Switch::On && state.latency_us > DEEP_IDLE_US)
        .max_by_key(|state| state.latency_us);
    match deep {
        Some(state) => findings.add(
            topic,
            Level::Note,
            format!(
                "An idle CPU may enter {}, with an exit latency of {} us (driver {driver}).",
                state.name, state.latency_us
            ),
            "Waking an idle CPU takes that much longer. Cases between two CPUs and cases that sleep \
             are slower and vary more.",
            Some(format!(
                "sudo cpupower idle-set -D {DEEP_IDLE_US} (undo: sudo cpupower idle-set -E)"
            )),
        ),
        None => findings.good(
            topic,
            format!("No idle state has an exit latency above {DEEP_IDLE_US} us (driver {driver})."),
        ),
    }
}

fn clock_source(findings: &mut Findings, machine: &Machine) {
    let topic = "clock";
    let x86 = machine.cpu_flags.contains("tsc");
    let Some(source) = &machine.clock_source else {
        if x86 {
            findings.add(
                topic,
                Level::Note,
                "It is unknown whether the kernel trusts the TSC: it does not list its clock sources.",
                "If the TSC changes its rate, stops, or differs between CPUs, its ticks are no time.",
                None,
            );
        }
        return;
    };
    let listed = machine.clock_sources.iter().any(|known| known == "tsc");
    if x86 && !listed && !machine.clock_sources.is_empty() {
        findings.add(
            topic,
            Level::Blocking,
            format!("The kernel does not trust the TSC; its clock source is {source}."),
            "The TSC changes its rate, stops, or differs between CPUs, so its ticks are no time. \
             kernmark run refuses to measure with it.",
            Some(
                "Find out why the kernel rejected the TSC: sudo dmesg | grep -i -e tsc -e \
                 clocksource; in a virtual machine expose the invariant TSC (QEMU: -cpu \
                 host,+invtsc)"
                    .to_owned(),
            ),
        );
        return;
    }
    if x86 && source != "tsc" {
        findings.add(
            topic,
            Level::Warning,
            format!("The kernel's clock source is {source}, not tsc."),
            "The kernel does not prefer the TSC. Reading the time can then need a system call or a \
             device access, which dominates the time.* cases.",
            Some(
                "echo tsc | sudo tee \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource"
                    .to_owned(),
            ),
        );
        return;
    }
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| x86 && !machine.cpu_flags.contains(*flag))
        .collect();
    if missing.is_empty() {
        let rate = if x86 {
            ", with a constant rate, and it never stops"
        } else {
            ""
        };
        findings.good(topic, format!("The clock source is {source}{rate}."));
    } else {
        findings.add(
            topic,
            Level::Warning,
            format!(
                "The TSC is not invariant: the processor does not report {}.",
                missing.join(", ")
            ),
            "Its rate can change with the CPU frequency, and it can stop in idle states. Ticks do not \
             convert to time.",
            Some(
                "Measure with a fixed frequency and without deep idle states; in a virtual \
                  machine expose the invariant TSC (QEMU: -cpu host,+invtsc)."
                    .to_owned(),
            ),
        );
    }
}

/// Options whose overhead dominates every operation.
const SANITISERS: &[&str] = &[
    "KASAN_GENERIC",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "PROVE_LOCKING",
    "LOCKDEP",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "KCOV_INSTRUMENT_ALL",
];

/// Options that add checks to hot paths.
const CHECKS: &[&str] = &[
    "DEBUG_PREEMPT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "DEBUG_VM",
    "DEBUG_IRQFLAGS",
    "LOCK_STAT",
    "SLUB_DEBUG_ON",
    "IRQSOFF_NEGLIGIBLE_STEALR",
    "PREEMPT_NEGLIGIBLE_STEALR",
];

fn kernel_debugging(findings: &mut Findings, machine: &Machine) {
    let topic = "kernel debugging";
    let Some(config) = &machine.config else {
        findings.add(
            topic,
            Level::Note,
            "The kernel configuration cannot be read.",
            "It is unknown whether the kernel has debug checks that slow it down.",
            Some(
                "sudo modprobe configs (makes /proc/config.gz), or sudo chmod a+r \
                 /boot/config-$(uname -r)"
                    .to_owned(),
            ),
        );
        return;
    };
    let on = |options: &[&'static str]| -> Vec<&'static str> {
        options
            .iter()
            .copied()
            .filter(|option| config.enabled(option))
            .collect()
    };
    let (sanitisers, checks) = (on(SANITISERS), on(CHECKS));
    let remedy = || Some("Measure a kernel built without these options.".to_owned());
    if !sanitisers.is_empty() {
        findings.add(
            topic,
            Level::Blocking,
            format!("The kernel is built with {}.", sanitisers.join(", ")),
            "Every memory access, allocation or lock is checked, so the numbers mostly measure the checks.",
            remedy(),
        );
    }
    if !checks.is_empty() {
        findings.add(
            topic,
            Level::Warning,
            format!("The kernel is built with {}.", checks.join(", ")),
            "Hot paths contain checks that production kernels do not have.",
            remedy(),
        );
    }
    if sanitisers.is_empty() && checks.is_empty() {
        findings.good(
            topic,
            "The kernel is built without debug checks on hot paths.",
        );
    }
}

fn mitigations(findings: &mut Findings, machine: &Machine) {
    let topic = "mitigations";
    if machine.vulnerabilities.is_empty() {
        return;
    }
    let active: Vec<&str> = machine
        .vulnerabilities
        .iter()
        .filter(|(_, state)| state.contains("Mitigation:"))
        .map(|(name, _)| name.as_str())
        .collect();
    if active.is_empty() {
        findings.good(
            topic,
            "No mitigation of a processor vulnerability is active.",
        );
        return;
    }
    findings.add(
        topic,
        Level::Note,
        format!("Active against: {}.", active.join(", ")),
        "System calls, interrupts and process switches are slower. This is a real cost on this \
         machine and part of every number.",
        Some(
            "Compare only with runs under the same mitigations; a saved run lists them.".to_owned(),
        ),
    );
}

fn seccomp(findings: &mut Findings, machine: &Machine) {
    let topic = "system call filter";
    match machine.permissions.seccomp {
        Some(0) => findings.good(topic, "System calls are not filtered."),
        Some(_) => findings.add(
            topic,
            Level::Warning,
            "A seccomp filter runs on every system call of this process.",
            "The filter slows down each system call, and it can refuse calls that some cases need.",
            Some("docker run --security-opt seccomp=unconfined; in a systemd unit remove SystemCallFilter=".to_owned()),
        ),
        None => {}
    }
}

fn memory_lock(findings: &mut Findings, machine: &Machine) {
    let topic = "locked memory";
    let permissions = &machine.permissions;
    match permissions.memlock {
        _ if permissions.may_lock_memory() => {
            findings.good(topic, "Any amount of memory can be locked (CAP_IPC_LOCK).");
        }
        Some(Limit::AtMost(most)) if most < AGENT_LOCKED_BYTES => findings.add(
            topic,
            Level::Note,
            format!("At most {} KiB of memory can be locked.", most >> 10),
            "Pages that are not locked can be paged out or moved during a sample. This is rare on a \
             machine with free memory.",
            Some(
                "sudo prlimit --pid $$ --memlock=unlimited; or add \"USER - memlock unlimited\" to \
                 /etc/security/limits.conf; or LimitMEMLOCK=infinity"
                    .to_owned(),
            ),
        ),
        Some(limit) => findings.good(topic, format!("RLIMIT_MEMLOCK is {limit}.")),
        None => {}
    }
}

fn huge_pages(findings: &mut Findings, machine: &Machine) {
    let topic = "huge pages";
    match machine.huge_pages.as_deref() {
        Some("always") => findings.add(
            topic,
            Level::Note,
            "The kernel uses huge pages without being asked (always).",
            "Cases that fault pages in may get one huge page instead of many small ones, depending \
             on free memory.",
            Some("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned()),
        ),
        Some(mode) => findings.good(topic, format!("Huge pages are used only on request ({mode}).")),
        None => {}
    }
}

fn interruptions(findings: &mut Findings, machine: &Machine) {
    let settings = [
        (
            "nmi_watchdog",
            "The watchdog interrupts each CPU and uses a hardware counter.",
        ),
        (
            "numa_balancing",
            "The kernel sometimes unmaps pages to see which CPU uses them. This causes extra page \
             faults.",
        ),
    ];
    for (name, effect) in settings {
        if machine.sysctl.get(name).is_some_and(|&value| value != 0) {
            findings.add(
                "interruptions",
                Level::Note,
                format!("kernel.{name} is on."),
                effect,
                Some(format!("sudo sysctl kernel.{name}=0")),
            );
        }
    }
}

fn io_uring(findings: &mut Findings, machine: &Machine) {
    let topic = "io_uring";
    let refused = match machine.sysctl.get("io_uring_disabled") {
        Some(2) => "no process may use it",
        Some(1) => "only privileged processes and the group in kernel.io_uring_group may use it",
        Some(_) => {
            findings.good(topic, "Every process may use it.");
            return;
        }
        None => return,
    };
    findings.add(
        topic,
        Level::Note,
        format!("kernel.io_uring_disabled is set: {refused}."),
        "Cases that need it are skipped.",
        Some("sudo sysctl kernel.io_uring_disabled=0".to_owned()),
    );
}

fn perf_events(findings: &mut Findings, machine: &Machine) {
    let topic = "hardware counters";
    match machine.sysctl.get("perf_event_paranoid") {
        Some(&level) if level > 1 => findings.add(
            topic,
            Level::Note,
            format!("kernel.perf_event_paranoid is {level}."),
            "This changes no number, but an unprivileged perf cannot profile the kernel to explain \
             one.",
            Some("sudo sysctl kernel.perf_event_paranoid=1".to_owned()),
        ),
        Some(&level) => {
            findings.good(topic, format!("kernel.perf_event_paranoid is {level}."));
        }
        None => {}
    }
}

fn privilege(findings: &mut Findings, machine: &Machine) {
    let topic = "privilege";
    match machine.permissions.root {
        Some(true) => findings.good(topic, "This runs as root, so no check lacked permission."),
        Some(false) => findings.add(
            topic,
            Level::Note,
            "This does not run as root.",
            "No number needs root. As root, doctor also sees the live preemption mode \
             (/sys/kernel/debug/sched/preempt) and a kernel configuration that only root can read.",
            Some("sudo kernmark doctor".to_owned()),
        ),
        None => findings.add(
            topic,
            Level::Blocking,
            "/proc does not show this process.",
            "Without it, kernmark cannot check this machine or the proofs of its numbers.",
            Some("sudo mount -t proc proc /proc".to_owned()),
        ),
    }
}
