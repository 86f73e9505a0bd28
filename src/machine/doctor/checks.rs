// SPDX-License-Identifier: MIT OR Apache-2.0

//! The checks of the doctor: a [`Machine`] and what [`Probes`] saw in, [`Finding`]s out.

use std::collections::BTreeMap;

use super::{Finding, Level, Probes, Realtime, AGENT_PRIORITY};
use crate::base::number;
use crate::machine::{format_cpu_list, Limit, Machine, Switch};

/// Above this share of a CPU, other work is visible in the numbers.
const BUSY: f64 = 0.05;
/// Above this share, time taken away by a hypervisor is visible in the numbers.
const STOLEN: f64 = 0.01;
/// Below this share, stolen time is not worth a word.
const TRACE: f64 = 0.001;
/// Idle states that take longer than this to leave are visible in a wake-up, microseconds.
const DEEP_US: u64 = 10;
/// More than the whole image of the agent, which it locks, bytes.
const LOCKED_BYTES: u64 = 8 << 20;

/// Judges the machine; worst findings first, and in a fixed order within a level.
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
    mains(&mut findings, machine);
    throttling(&mut findings, machine);
    siblings(&mut findings, machine, probes);
    allowed_cpus(&mut findings, machine);
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
    unprivileged(&mut findings, machine);
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
            format!("A virtual machine; hypervisor: {hypervisor}."),
            "Interrupts, timers, page tables and idle CPUs can cost an exit to the hypervisor; \
             neighbours on the same hardware show in the tails. The numbers are those of this \
             virtual machine, not of the processor.",
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
        "The hypervisor took {} of the CPU time just watched, {} since boot.",
        percent(moment),
        percent(boot)
    );
    let effect = "A sample that the hypervisor interrupts is longer by that time; medians hold, \
                  tails and means do not.";
    let remedy = "Use a virtual machine with dedicated CPUs, or measure when its host is quiet.";
    if moment > STOLEN || boot > STOLEN {
        findings.add(topic, Level::Warning, what, effect, Some(remedy.to_owned()));
    } else if moment > TRACE || boot > TRACE {
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
        format!("Inside a container ({container})."),
        "A container can filter system calls, bound CPU time and refuse priorities; file systems \
         can be layered. Each of these found here has a line of its own.",
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
                "None that takes more than {} of a CPU.{load}",
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
        .measured()
        .and_then(|cpu| activity.cpus.get(&cpu))
        .is_some_and(|times| times.busy_share() > BUSY);
    let (level, effect) = if measured_busy {
        (
            Level::Warning,
            "The CPU that is measured on has other work: without real-time priority samples are \
             interrupted, with it caches are still shared.",
        )
    } else {
        (
            Level::Note,
            "Other CPUs are busy: shared caches, memory bandwidth and turbo frequency change with \
             their work.",
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
            findings.good(topic, "No bound on the CPU time of this control group.");
        }
        return;
    };
    let throttled = quota
        .throttled
        .map_or_else(String::new, |n| format!(", {n} times so far"));
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
            "The control group may use {:.2} CPUs: {} us in every {} us{throttled} ({file}).",
            quota.cpus(),
            quota.quota_us,
            quota.period_us
        ),
        "Once the quota is used up every thread of the group stands still until the next period: \
         the sample under way is that much longer.",
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
    let effect = "Without it other threads interrupt samples, and cases that need two priorities \
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
                "echo 950000 | sudo tee {}; its parents need as much; or run in the root control \
                 group",
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
        "Permissions allow it, so a filter of system calls or the control group refuses it: \
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
            "A real-time thread that runs longer without a sleep is killed by SIGXCPU.",
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
        findings.good(
            topic,
            "Real-time threads are never stopped in favour of others.",
        );
        return;
    }
    findings.add(
        topic,
        Level::Note,
        format!("Real-time threads may use {runtime} us of every {period} us."),
        format!(
            "A case that keeps its CPU busy at real-time priority for longer can be stopped for up \
             to {} us; only a case of that length meets it.",
            period - runtime
        ),
        Some("sudo sysctl kernel.sched_rt_runtime_us=-1 (a runaway real-time thread then locks its CPU)".to_owned()),
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
                "The frequency of the CPUs is neither visible nor settable from here.",
                "Whoever does set it (hypervisor, firmware) can change it between runs; a clock \
                 that ticks at a constant rate then counts more ticks for the same work.",
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
        findings.good(topic, "The governor is performance on every CPU.");
        return;
    }
    findings.add(
        topic,
        Level::Warning,
        format!("The frequency governor is {}.", slow.join(", ")),
        "A CPU that just woke runs slower than a busy one: short cases look slower than they are, \
         and the order of cases matters.",
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
                "The frequency depends on heat and on what the other CPUs do, so it differs \
                 between runs.",
                Some(format!("echo {value} | sudo tee {}", file.display())),
            );
        }
        Some((Switch::Off, _)) => findings.good(topic, "Boost is off."),
        None => {}
    }
}

fn mains(findings: &mut Findings, machine: &Machine) {
    if machine.mains == Some(Switch::Off) {
        findings.add(
            "power",
            Level::Warning,
            "The machine runs on its battery.",
            "Firmware and kernel save energy: frequencies are lower and wake-ups slower.",
            Some("Connect the power supply.".to_owned()),
        );
    }
}

fn throttling(findings: &mut Findings, machine: &Machine) {
    let topic = "heat";
    let Some(most) = machine.cpus.values().filter_map(|cpu| cpu.throttled).max() else {
        return;
    };
    if most == 0 {
        findings.good(topic, "Heat has not slowed the CPUs since boot.");
    } else {
        findings.add(
            topic,
            Level::Warning,
            format!("Heat has slowed a CPU {most} times since boot."),
            "A throttled CPU is slower until it has cooled; numbers drift while a run lasts.",
            Some("Cool the machine, and lower the load before and during the run.".to_owned()),
        );
    }
}

fn siblings(findings: &mut Findings, machine: &Machine, probes: &Probes) {
    let topic = "SMT";
    let Some(measured) = machine.measured() else {
        return;
    };
    let Some(cpu) = machine.cpus.get(&measured) else {
        return;
    };
    let others: Vec<u32> = cpu
        .siblings
        .iter()
        .copied()
        .filter(|&sibling| sibling != measured)
        .collect();
    let Some(&first) = others.first() else {
        if !cpu.siblings.is_empty() {
            let seen = if machine.hypervisor.is_some() {
                ", as far as the hypervisor shows"
            } else {
                ""
            };
            findings.good(
                topic,
                format!("CPU {measured} has its core to itself{seen}."),
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
            "CPU {measured}, which is measured on, shares its core with CPU {} (busy {}).",
            format_cpu_list(&others),
            percent(busy)
        ),
        "Work on the sibling takes execution units and cache of the core: samples get longer \
         while it lasts.",
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
            format!("Only CPU {only} may be used."),
            "Cases that need a second CPU are skipped, and the host tool shares the CPU that is \
             measured on.",
            (machine.online.len() > 1)
                .then(|| format!("taskset -p -c {} $$", format_cpu_list(&machine.online))),
        );
    }
}

fn isolation(findings: &mut Findings, machine: &Machine) {
    let topic = "isolation";
    let Some(measured) = machine.measured() else {
        return;
    };
    if machine.isolated.contains(&measured) {
        let tick = if machine.tickless.contains(&measured) {
            ", and has no periodic tick"
        } else {
            ""
        };
        findings.good(
            topic,
            format!("CPU {measured} is kept free of other work{tick}."),
        );
    } else if machine.allowed.len() > 1 {
        findings.add(
            topic,
            Level::Note,
            format!(
                "CPU {measured}, which is measured on, takes other threads and interrupts too."
            ),
            "Interrupts and kernel threads show in the tails.",
            Some(format!(
                "Boot with isolcpus={measured} nohz_full={measured} rcu_nocbs={measured} \
                 irqaffinity=0"
            )),
        );
    }
}

fn idle_states(findings: &mut Findings, machine: &Machine) {
    let topic = "idle states";
    let Some(cpu) = machine.measured().and_then(|cpu| machine.cpus.get(&cpu)) else {
        return;
    };
    if cpu.idle.is_empty() {
        return;
    }
    let driver = machine.idle_driver.as_deref().unwrap_or("unknown");
    let deep = cpu
        .idle
        .iter()
        .filter(|state| state.state == Switch::On && state.latency_us > DEEP_US)
        .max_by_key(|state| state.latency_us);
    match deep {
        Some(state) => findings.add(
            topic,
            Level::Note,
            format!(
                "An idle CPU may enter {}, which takes {} us to leave (driver {driver}).",
                state.name, state.latency_us
            ),
            "A wake-up of an idle CPU includes that time: cases between two CPUs and cases that \
             sleep are slower and spread wider.",
            Some(format!(
                "sudo cpupower idle-set -D {DEEP_US} (undo: sudo cpupower idle-set -E)"
            )),
        ),
        None => findings.good(
            topic,
            format!("No idle state takes more than {DEEP_US} us to leave (driver {driver})."),
        ),
    }
}

fn clock_source(findings: &mut Findings, machine: &Machine) {
    let topic = "clock";
    let Some(source) = &machine.clock_source else {
        return;
    };
    let x86 = machine.cpu_flags.contains("tsc");
    if x86 && source != "tsc" {
        let listed = machine.clock_sources.iter().any(|known| known == "tsc");
        let remedy = if listed {
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        } else {
            "Read why the kernel gave the TSC up: sudo dmesg | grep -i -e tsc -e clocksource"
        };
        findings.add(
            topic,
            Level::Warning,
            format!("The kernel's clock source is {source}, not tsc."),
            "The kernel does not trust or prefer the TSC; reading the time can cost a system call \
             or a device access, which is most of what the time.* cases then show.",
            Some(remedy.to_owned()),
        );
        return;
    }
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| x86 && !machine.cpu_flags.contains(*flag))
        .collect();
    if missing.is_empty() {
        let rate = if x86 {
            ", its rate is constant and it never stops"
        } else {
            ""
        };
        findings.good(topic, format!("The clock source is {source}{rate}."));
    } else {
        findings.add(
            topic,
            Level::Warning,
            format!(
                "The TSC is not invariant: the processor does not promise {}.",
                missing.join(", ")
            ),
            "Its rate can follow the frequency of the CPU or stop in idle states: ticks do not \
             convert to time.",
            Some(
                "Measure with a fixed frequency and without deep idle states; in a virtual \
                  machine expose the invariant TSC (QEMU: -cpu host,+invtsc)."
                    .to_owned(),
            ),
        );
    }
}

/// Options that make every operation so slow that only they are measured.
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

/// Options that check something on hot paths.
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
    "IRQSOFF_TRACER",
    "PREEMPT_TRACER",
];

fn kernel_debugging(findings: &mut Findings, machine: &Machine) {
    let topic = "kernel debugging";
    let Some(config) = &machine.config else {
        findings.add(
            topic,
            Level::Note,
            "The configuration of the kernel cannot be read.",
            "Whether the kernel checks itself while it is measured is unknown.",
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
            "Every memory access, allocation or lock is checked: the numbers describe the checks.",
            remedy(),
        );
    }
    if !checks.is_empty() {
        findings.add(
            topic,
            Level::Warning,
            format!("The kernel is built with {}.", checks.join(", ")),
            "Hot paths contain checks that a production kernel does not have.",
            remedy(),
        );
    }
    if sanitisers.is_empty() && checks.is_empty() {
        findings.good(topic, "The kernel is built without checks on hot paths.");
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
        "System calls, interrupts and switches between processes are slower; this is a true cost \
         of this machine, and part of every number.",
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
            "A seccomp filter looks at every system call of this process.",
            "Each system call is slower by the length of the filter, and some cases are refused.",
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
            findings.good(topic, "Any amount may be locked (CAP_IPC_LOCK).");
        }
        Some(Limit::AtMost(most)) if most < LOCKED_BYTES => findings.add(
            topic,
            Level::Note,
            format!("At most {} KiB may be locked.", most >> 10),
            "Pages that cannot be locked may be paged out or moved during a sample; on a machine \
             with free memory this is rare.",
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
            "The kernel backs memory with huge pages on its own (always).",
            "Cases that fault pages in can get one huge page in place of many small ones, or not, \
             depending on free memory.",
            Some("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned()),
        ),
        Some(mode) => findings.good(topic, format!("Huge pages only on request ({mode}).")),
        None => {}
    }
}

fn interruptions(findings: &mut Findings, machine: &Machine) {
    let settings = [
        (
            "nmi_watchdog",
            "The watchdog interrupts each CPU and occupies a hardware counter.",
        ),
        (
            "numa_balancing",
            "The kernel unmaps pages now and then to see who uses them: page faults appear that \
             the program did not cause.",
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
        Some(2) => "nobody may use it",
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
            "No number changes; but an unprivileged perf cannot look into the kernel to explain \
             one.",
            Some("sudo sysctl kernel.perf_event_paranoid=1".to_owned()),
        ),
        Some(&level) => {
            findings.good(topic, format!("kernel.perf_event_paranoid is {level}."));
        }
        None => {}
    }
}

fn unprivileged(findings: &mut Findings, machine: &Machine) {
    let topic = "privilege";
    match machine.permissions.root {
        Some(true) => findings.good(topic, "Runs as root: nothing was hidden for lack of it."),
        Some(false) => findings.add(
            topic,
            Level::Note,
            "Does not run as root.",
            "No number needs it. Root would show the live preemption mode \
             (/sys/kernel/debug/sched/preempt) and a kernel configuration that only root may read.",
            Some("sudo kernmark doctor".to_owned()),
        ),
        None => findings.add(
            topic,
            Level::Blocking,
            "/proc does not show this process.",
            "Neither this machine nor the proofs beside the numbers can be checked.",
            Some("sudo mount -t proc proc /proc".to_owned()),
        ),
    }
}
