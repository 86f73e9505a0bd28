// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a machine counts in an interval: interrupts, context switches, page faults, stolen time, stops.
//!
//! `/proc`, `/sys` and the control groups in, [`Counted`] of the machine and of each CPU out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{getrusage, UsageWho};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::thread::{sched_setaffinity, CpuSet};

use super::control_group::{read_quotas, Stops};
use super::cpu_times::CpuTimes;
use super::interrupts::{Cause, Interrupts};
use super::processes::{self, Process};
use super::{allowed_cpus, read_throttled, KeyValues, Root, KERNEL_RELEASE, ONLINE};
use crate::base::interrupt::Interrupt;
use crate::base::number;
use crate::stream::counted::{Counted, US};
use crate::stream::run::Fact;

/// Context switches of the machine, without those of processes that this one started and that have
/// ended.
pub const SWITCHES: &str = "switches";
/// Page faults of the machine, without those of processes that this one started and that have ended.
pub const FAULTS: &str = "faults";
/// How often the CPU quota stopped this process's control group.
pub const QUOTA_STOPS: &str = "quota_stops";
/// For how long it did, in microseconds.
pub const QUOTA_US: &str = "quota_us";
/// The number of processes.
pub const PROCESSES: &str = "processes";
/// The number of threads, those of the kernel included.
pub const THREADS: &str = "threads";
/// Time that a CPU was busy, in microseconds.
pub const BUSY_US: &str = "busy_us";
/// Time that the hypervisor gave to others, in microseconds.
pub const STEAL_US: &str = "steal_us";
/// All interrupts of a CPU.
pub const INTERRUPTS: &str = "interrupts";
/// Its soft interrupts.
pub const SOFTIRQS: &str = "softirqs";
/// How often it was thermally throttled.
pub const THROTTLES: &str = "throttles";

/// The counts of interrupts by cause.
pub const CAUSES: [(&str, &str); 5] = [
    ("timer", "timer interrupts"),
    ("reschedule", "rescheduling interrupts"),
    ("call", "function call interrupts"),
    ("tlb", "TLB flushes"),
    ("device", "device interrupts"),
];

/// The name of the count of interrupts with this cause.
fn name(cause: Cause) -> Option<&'static str> {
    let at = match cause {
        Cause::Timer => 0,
        Cause::Reschedule => 1,
        Cause::Call => 2,
        Cause::Tlb => 3,
        Cause::Device => 4,
        Cause::Other => return None,
    };
    Some(CAUSES[at].0)
}

/// Reads the counters of a machine.
#[derive(Clone, Debug)]
pub struct Meter {
    root: PathBuf,
    kernel_release: Option<String>,
    /// The CPUs that this process may use.
    allowed: Vec<u32>,
    /// The folders of the control groups with a CPU quota.
    groups: Vec<PathBuf>,
}

/// The counters at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    at: Instant,
    times: CpuTimes,
    interrupts: Interrupts,
    softirqs: Interrupts,
    throttled: BTreeMap<u32, u64>,
    stops: Option<Stops>,
    /// Of the machine since boot.
    all: Usage,
    /// Of the processes that this one started and that have ended.
    own: Usage,
}

/// Context switches and page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    switches: Option<u64>,
    faults: Option<u64>,
}

impl Usage {
    fn of_children() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
            return Usage::default();
        };
        let sum = |a: i64, b: i64| u64::try_from(a + b).ok();
        Usage {
            switches: sum(
                usage.voluntary_context_switches(),
                usage.involuntary_context_switches(),
            ),
            faults: sum(usage.minor_page_faults(), usage.major_page_faults()),
        }
    }
}

impl Meter {
    /// A meter of the machine below `root` (`/` for this machine).
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let below = Root(root);
        let groups = read_quotas(&below).into_iter();
        Meter {
            root: root.to_owned(),
            kernel_release: below.text(KERNEL_RELEASE),
            allowed: allowed_cpus(
                &KeyValues::read(&below, "proc/self/status"),
                &below.cpu_list(ONLINE),
            ),
            groups: groups
                .filter_map(|quota| Some(quota.file.parent()?.to_owned()))
                .collect(),
        }
    }

    /// The CPU that is measured by default.
    #[must_use]
    pub fn measured_cpu(&self) -> Option<u32> {
        self.allowed.last().copied()
    }

    /// The release of its kernel, such as `6.1.0-18-amd64`.
    #[must_use]
    pub fn kernel_release(&self) -> Option<&str> {
        self.kernel_release.as_deref()
    }

    /// Reads all counters, on another CPU than those that are measured. If there is none, on another
    /// than the first of these.
    #[must_use]
    pub fn read(&self, measured: &[u32]) -> Reading {
        let first = &measured[..measured.len().min(1)];
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let _ = self.stay_off(measured) || self.stay_off(first);
                self.read_here()
            });
            reader.join().unwrap_or_else(|_| self.read_here())
        })
    }

    /// Keeps this thread off some CPUs. Whether there are others and it may choose.
    fn stay_off(&self, measured: &[u32]) -> bool {
        let mut others = CpuSet::new();
        for cpu in &self.allowed {
            let cpu_number = *cpu as usize;
            if !measured.contains(cpu) && cpu_number < CpuSet::MAX_CPU {
                others.set(cpu_number);
            }
        }
        others.count() > 0 && sched_setaffinity(None, &others).is_ok()
    }

    fn read_here(&self) -> Reading {
        let root = Root(&self.root);
        let text = |path: &str| root.text(path).unwrap_or_default();
        let stat = text("proc/stat");
        let times = CpuTimes::parse(&stat);
        let throttled = times.cpus.keys();
        let throttled = throttled.filter_map(|cpu| Some((*cpu, read_throttled(&root, *cpu)?)));
        let throttled = throttled.collect();
        let stops = self
            .groups
            .iter()
            .filter_map(|group| Stops::read(&root, group));
        Reading {
            throttled,
            interrupts: Interrupts::parse(&text("proc/interrupts")),
            softirqs: Interrupts::parse(&text("proc/softirqs")),
            // A group is also stopped when one that it belongs to is.
            stops: stops.reduce(|a, b| Stops {
                count: a.count.max(b.count),
                us: a.us.max(b.us),
            }),
            all: Usage {
                switches: number_after(&stat, "ctxt "),
                faults: number_after(&text("proc/vmstat"), "pgfault "),
            },
            own: Usage::of_children(),
            times,
            at: Instant::now(),
        }
    }

    /// Counts for an interval before a run; `None` if the user interrupted that.
    #[must_use]
    pub fn observe(
        &self,
        length: Duration,
        detail: Detail,
        interrupt: &Interrupt,
    ) -> Option<Observed> {
        let root = Root(&self.root);
        let listed = || match detail {
            Detail::Counts => BTreeMap::new(),
            Detail::Processes => processes::read(&root),
        };
        let (before, first) = (listed(), self.read(&[]));
        let length = match detail {
            Detail::Counts => length,
            Detail::Processes => length.max(SHARES_KNOWN),
        };
        if interrupt.raised_within(length) {
            return None;
        }
        let (last, after) = (self.read(&[]), listed());
        let cpus: Vec<u32> = last.times.cpus.keys().copied().collect();
        let mut counted = last.since(&first, &cpus);
        if let Some(machine) = counted.iter_mut().find(|one| one.cpu.is_none()) {
            let is_process = |name: &String| name.bytes().all(|b| b.is_ascii_digit());
            let processes = root
                .names("proc")
                .iter()
                .filter(|name| is_process(name))
                .count();
            machine.add(PROCESSES, (processes > 0).then_some(processes as u64));
            machine.add(
                THREADS,
                root.text("proc/loadavg").and_then(|load| threads(&load)),
            );
        }
        let length = last.at.saturating_duration_since(first.at);
        Some(Observed {
            counted,
            processes: used(&before, &after, length),
        })
    }
}

/// How much is recorded of the machine before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Counts.
    Counts,
    /// Counts, and the processes that used most CPU time and memory, by name.
    Processes,
}

/// What the machine did before a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The counts of the machine and of each CPU.
    pub counted: Vec<Counted>,
    /// Facts `process_1`, `process_2` ...
    pub processes: Vec<Fact>,
}

impl Reading {
    /// What the machine and these CPUs counted since an earlier reading. Time that is not known is
    /// left out.
    #[must_use]
    pub fn since(&self, before: &Reading, cpus: &[u32]) -> Vec<Counted> {
        let length = self.at.saturating_duration_since(before.at);
        let mut machine = Counted::default();
        machine.add(US, Some(length.as_micros() as u64));
        let others = |of: fn(&Usage) -> Option<u64>| {
            let passed = |now: &Usage, then: &Usage| Some(of(now)?.saturating_sub(of(then)?));
            let all = passed(&self.all, &before.all)?;
            Some(all.saturating_sub(passed(&self.own, &before.own)?))
        };
        machine.add(SWITCHES, others(|usage| usage.switches));
        machine.add(FAULTS, others(|usage| usage.faults));
        if let (Some(now), Some(then)) = (self.stops, before.stops) {
            machine.add(QUOTA_STOPS, Some(now.count.saturating_sub(then.count)));
            machine.add(QUOTA_US, Some(now.us.saturating_sub(then.us)));
        }
        let cpus = cpus.iter().map(|cpu| self.of_cpu(before, *cpu));
        let counted = std::iter::once(machine).chain(cpus);
        counted.filter(|one| !one.counts.is_empty()).collect()
    }

    fn of_cpu(&self, before: &Reading, cpu: u32) -> Counted {
        let mut counted = Counted {
            cpu: Some(cpu),
            ..Counted::default()
        };
        if let (Some(now), Some(then)) = (self.times.cpus.get(&cpu), before.times.cpus.get(&cpu)) {
            let times = now.since(*then);
            counted.add(BUSY_US, Some(microseconds(times.busy())));
            counted.add(STEAL_US, Some(microseconds(times.steal)));
        }
        if let Some(taken) = self.interrupts.since(&before.interrupts, cpu) {
            counted.add(INTERRUPTS, Some(taken.total));
            for (cause, count) in taken.by_cause {
                if let Some(name) = name(cause) {
                    counted.add(name, Some(count));
                }
            }
            counted.busiest = taken.busiest;
        }
        let softirqs = self.softirqs.since(&before.softirqs, cpu);
        counted.add(SOFTIRQS, softirqs.map(|taken| taken.total));
        if let (Some(now), Some(then)) = (self.throttled.get(&cpu), before.throttled.get(&cpu)) {
            counted.add(THROTTLES, Some(now.saturating_sub(*then)));
        }
        counted
    }
}

/// The kernel's ticks of CPU time in microseconds.
fn microseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000) / clock_ticks_per_second().max(1)
}

/// The number in the line that starts with `name`.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

/// The number of threads from `/proc/loadavg`.
fn threads(load: &str) -> Option<u64> {
    let field = load.split_whitespace().nth(3)?;
    field.split_once('/')?.1.parse().ok()
}

/// The kernel counts the CPU time of processes in steps of 10 ms: in this time it is known to 5 %.
const SHARES_KNOWN: Duration = Duration::from_millis(200);

/// How many processes are named for their CPU time, and how many for their memory.
const NAMED: usize = 10;

/// The processes that used most CPU time in an interval and those with most memory, busiest first, as
/// facts.
fn used(
    before: &BTreeMap<u32, Process>,
    after: &BTreeMap<u32, Process>,
    length: Duration,
) -> Vec<Fact> {
    let ran =
        |(id, process): &(&u32, &Process)| before.get(id).map_or(0, |then| process.ran_since(then));
    let mut all: Vec<(&u32, &Process)> = after.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.1.resident));
    let large: Vec<u32> = all.iter().take(NAMED).map(|(id, _)| **id).collect();
    all.sort_by_key(|one| std::cmp::Reverse((ran(one), one.1.resident)));
    let named = all
        .iter()
        .enumerate()
        .filter(|(rank, one)| *rank < NAMED && ran(one) > 0 || large.contains(one.0));
    let facts = named.zip(1..).map(|((_, one), number)| {
        let share = microseconds(ran(one)) as f64 / length.as_micros().max(1) as f64;
        let memory = one.1.resident.map_or_else(String::new, |pages| {
            let kib = pages.saturating_mul(page_size() as u64) / 1024;
            format!(", {} KiB", number::count(kib))
        });
        let value = format!("{:.0} % of a CPU{memory}: {}", share * 100.0, one.1.name);
        Fact::new(&format!("process_{number}"), value)
    });
    facts.collect()
}
