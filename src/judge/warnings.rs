// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the machine did to the numbers of a run: the run's own facts and counts in, [`Warning`]s out.
//!
//! `doctor` looks at the machine now and says everything that could matter. This looks at what a run
//! recorded, before it or while it measured, and says only what did matter.

use crate::judge::interference::count;
use crate::machine::counters::{BUSY_US, QUOTA_STOPS, QUOTA_US, STEAL_US, THROTTLES};
use crate::machine::cpus::MeasuredCpus;
use crate::stream::counted::{Counted, US};
use crate::stream::run::{Fact, Run, Session, Unit, FILTERS};

/// Something that spoils numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Other work ran on the CPUs.
    Busy {
        /// The load over one minute and the number of CPUs, if the load is greater.
        load: Option<(f64, u64)>,
        /// The measured CPU, and the share of its time that other work took before the run.
        measured: Option<(u32, f64)>,
        /// The same of the second CPU.
        second: Option<(u32, f64, When)>,
    },
    /// A CPU quota.
    Quota {
        /// The quota, in CPUs.
        cpus: f64,
        /// How often it stopped the run and for how many microseconds; `None` before the run, and if
        /// nobody counted.
        stops: Option<(u64, u64)>,
    },
    /// The hypervisor gave this share of the CPU time to others.
    Steal(f64, When),
    /// The frequency governor of the measured CPU does not keep its speed (untrusted text).
    Governor(String),
    /// The measured CPU was slowed down this often because of heat.
    Throttled(u64),
}

/// When the machine counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the run.
    Before,
    /// While it measured.
    During,
}

/// Other work before the run matters if it takes more than this share of a CPU.
const BUSY: f64 = 0.1;
/// The second CPU of a run of everything is busy for less than this share of the time by the run
/// itself: the tool runs there, and cases that need two CPUs.
const BUSY_BY_ITSELF: f64 = 0.4;
/// Stolen time matters if it is more than this share.
const STEAL: f64 = 0.01;
/// The kernel counts time in steps of 10 ms. Fewer microseconds than this may be one step.
const COUNTED: u64 = 30_000;

/// The warnings about a run, in the order of what they spoil. Before it has measured anything: what
/// is known by then. `cpus` are the measured CPUs, if the run does not say itself.
///
/// There are none for counted instructions, and for kernels that do not run on the CPUs of the
/// machine that the run describes.
#[must_use]
pub fn warnings(run: &Run, cpus: Option<MeasuredCpus>) -> Vec<Warning> {
    let mut units = run.sessions.iter().map(|session| session.clock.unit);
    let is_here = run.measures_host_kernel() || !run.before.is_empty();
    if !is_here || units.any(|unit| unit == Unit::Instructions) {
        return Vec::new();
    }
    let cpus = run.sessions.iter().find_map(measured_cpus).or(cpus);
    let found = [
        quota(run, cpus),
        busy(run, cpus),
        steal(run, cpus),
        throttled(run),
        governor(run, cpus),
    ];
    found.into_iter().flatten().collect()
}

/// Whether a run's second CPU had other work, so that metrics that need two CPUs are spoilt.
#[must_use]
pub fn second_cpu_was_busy(warnings: &[Warning]) -> bool {
    let is_busy = |one: &Warning| {
        matches!(
            one,
            Warning::Busy {
                second: Some(_),
                ..
            }
        )
    };
    warnings.iter().any(is_busy)
}

/// The CPUs that an agent says it was pinned to.
fn measured_cpus(session: &Session) -> Option<MeasuredCpus> {
    let number = |name: &str| Fact::value_in(&session.facts, name)?.parse().ok();
    Some(MeasuredCpus {
        cpu: number("cpu")?,
        other: number("other_cpu"),
    })
}

/// What was counted of a CPU before the run.
fn before(run: &Run, cpu: Option<u32>) -> Option<&Counted> {
    run.before.iter().find(|one| one.cpu == cpu)
}

/// The length of the time before the run in which the machine was watched, in microseconds.
fn watched(run: &Run) -> Option<u64> {
    before(run, None)?.get(US).filter(|us| *us > 0)
}

/// A time of a CPU before the run as a share, if it is more than `least` and was counted well enough.
fn share_before(run: &Run, cpu: u32, name: &str, least: f64) -> Option<f64> {
    let us = before(run, Some(cpu))?.get(name)?;
    let share = us as f64 / watched(run)? as f64;
    (us >= COUNTED && share > least).then_some(share.min(1.0))
}

/// A sum over all sessions that have the count.
fn sum(run: &Run, of: impl Fn(&Session) -> Option<u64>) -> Option<u64> {
    let counts = run.sessions.iter().filter_map(of);
    counts.reduce(u64::saturating_add)
}

fn quota(run: &Run, cpus: Option<MeasuredCpus>) -> Option<Warning> {
    let fact = Fact::value_in(&run.host, "cgroup_quota")?;
    let (quota, period) = fact.split_once(" us of every ")?;
    let period = period.strip_suffix(" us")?.parse::<f64>().ok()?;
    let quota = quota.parse::<f64>().ok()? / period;
    let stops = sum(run, |session| count(session, QUOTA_STOPS))
        .zip(sum(run, |session| count(session, QUOTA_US)));
    let used = match cpus.and_then(|cpus| cpus.other) {
        Some(_) => 2.0,
        None => 1.0,
    };
    let matters = match stops {
        Some((count, _)) => count > 0,
        None => quota < used,
    };
    (quota.is_finite() && matters).then_some(Warning::Quota { cpus: quota, stops })
}

fn busy(run: &Run, cpus: Option<MeasuredCpus>) -> Option<Warning> {
    let before = |cpu| Some((cpu, share_before(run, cpu, BUSY_US, BUSY)?));
    let measured = cpus.and_then(|cpus| before(cpus.cpu));
    let other = cpus.and_then(|cpus| cpus.other);
    let second = other.and_then(|cpu| {
        let during = share_during(run, cpu).map(|share| (cpu, share, When::During));
        during.or_else(|| before(cpu).map(|(cpu, share)| (cpu, share, When::Before)))
    });
    let is_idle = watched(run).is_some() && measured.is_none() && second.is_none();
    let load = load(run).filter(|_| !is_idle);
    (load.is_some() || measured.is_some() || second.is_some()).then_some(Warning::Busy {
        load,
        measured,
        second,
    })
}

/// The load over one minute and the number of CPUs, if the load is greater.
fn load(run: &Run) -> Option<(f64, u64)> {
    let load: f64 = Fact::value_in(&run.host, "load")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    let cpus: u64 = Fact::value_in(&run.host, "cpu_count")?.parse().ok()?;
    (load > cpus as f64).then_some((load, cpus))
}

/// The share of the time that a CPU was busy while a run measured everything, if that is more than
/// the run takes itself. Nobody knows what a run of some metrics takes.
fn share_during(run: &Run, cpu: u32) -> Option<f64> {
    if Fact::value_in(&run.host, FILTERS).is_some() {
        return None;
    }
    let of = |session: &Session| {
        let mut during = session.during.iter();
        during.find(|one| one.cpu == Some(cpu))?.get(BUSY_US)
    };
    let length = sum(run, |session| count(session, US)).filter(|us| *us > 0)?;
    let share = sum(run, of)? as f64 / length as f64;
    (share > BUSY_BY_ITSELF).then_some(share.min(1.0))
}

fn steal(run: &Run, cpus: Option<MeasuredCpus>) -> Option<Warning> {
    let during = sum(run, |session| count(session, STEAL_US));
    if let Some(us) = during {
        let length = sum(run, |session| count(session, US)).filter(|us| *us > 0)?;
        let share = us as f64 / length as f64;
        return (us >= COUNTED && share > STEAL)
            .then_some(Warning::Steal(share.min(1.0), When::During));
    }
    let share = share_before(run, cpus?.cpu, STEAL_US, STEAL)?;
    Some(Warning::Steal(share, When::Before))
}

fn throttled(run: &Run) -> Option<Warning> {
    let times = sum(run, |session| count(session, THROTTLES))?;
    (times > 0).then_some(Warning::Throttled(times))
}

/// The governor of the measured CPU, or of all CPUs, unless it keeps the highest speed.
fn governor(run: &Run, cpus: Option<MeasuredCpus>) -> Option<Warning> {
    let value = of_cpu(Fact::value_in(&run.host, "governor")?, cpus)?;
    let range = Fact::value_in(&run.host, "frequency_range_khz");
    let range = range.and_then(|range| of_cpu(range, cpus));
    let is_fixed = range
        .and_then(|range| range.split_once('-'))
        .is_some_and(|(low, high)| low == high);
    (value != "performance" && !is_fixed).then(|| Warning::Governor(value.to_owned()))
}

/// What a fact says of the measured CPU: `WORD` of all CPUs, or `0-3:WORD 4,6:WORD`.
fn of_cpu(fact: &str, cpus: Option<MeasuredCpus>) -> Option<&str> {
    if !fact.contains(':') {
        return Some(fact);
    }
    let cpu = cpus?.cpu;
    let holds = |list: &str| {
        list.split(',').any(|part| {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let range = low.parse::<u32>().ok().zip(high.parse::<u32>().ok());
            range.is_some_and(|(low, high)| (low..=high).contains(&cpu))
        })
    };
    let mut groups = fact.split(' ').filter_map(|group| group.split_once(':'));
    groups.find_map(|(list, word)| holds(list).then_some(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::Clock;

    const CPUS: Option<MeasuredCpus> = Some(MeasuredCpus {
        cpu: 1,
        other: Some(0),
    });

    fn counted(cpu: Option<u32>, counts: &[(&str, u64)]) -> Counted {
        let mut counted = Counted {
            cpu,
            ..Counted::default()
        };
        for (name, count) in counts {
            counted.add(name, Some(*count));
        }
        counted
    }

    fn session(unit: Unit, during: Vec<Counted>) -> Session {
        Session {
            port: "linux-user".into(),
            arch: "x86_64".into(),
            clock: Clock {
                name: "tsc".into(),
                unit,
                hz: 1_000_000_000,
            },
            realtime: true,
            facts: vec![
                Fact::new("kernel", "Linux 6.1.0 #1"),
                Fact::new("cpu", "1"),
                Fact::new("other_cpu", "0"),
            ],
            during,
            complete: true,
        }
    }

    fn host(facts: &[(&str, &str)]) -> Vec<Fact> {
        let machine = [("kernel_release", "6.1.0"), ("cpu_count", "2")];
        let all = machine.iter().chain(facts);
        all.map(|(name, value)| Fact::new(name, *value)).collect()
    }

    /// A run that has not measured yet, on a machine with these facts, of which CPU 1 and 0 were busy
    /// for so many milliseconds of the second before.
    fn planned(facts: &[(&str, &str)], busy_ms: [u64; 2]) -> Run {
        let of = |cpu, ms| counted(Some(cpu), &[(BUSY_US, ms * 1000), (STEAL_US, 0)]);
        Run {
            host: host(facts),
            before: vec![
                counted(None, &[(US, 1_000_000)]),
                of(0, busy_ms[1]),
                of(1, busy_ms[0]),
            ],
            ..Run::default()
        }
    }

    /// A run of ten sessions of a second each. In each, the machine and the measured CPU counted this.
    fn measured(facts: &[(&str, &str)], machine: &[(&str, u64)], cpu: &[(&str, u64)]) -> Run {
        let machine = [&[(US, 1_000_000)], machine].concat();
        let during = vec![
            counted(None, &machine),
            counted(Some(1), &[&[(BUSY_US, 740_000)], cpu].concat()),
            counted(Some(0), &[(BUSY_US, 80_000)]),
        ];
        Run {
            sessions: vec![session(Unit::Cycles, during); 10],
            ..planned(facts, [0, 10])
        }
    }

    #[test]
    fn quiet_machine_gives_no_warning() {
        let facts = [
            ("load", "1.11 1.37 1.79"),
            ("governor", "performance"),
            ("cgroup_quota", "400000 us of every 100000 us"),
        ];
        assert_eq!(warnings(&planned(&facts, [0, 20]), CPUS), []);
        let counts = [(QUOTA_STOPS, 0), (QUOTA_US, 0)];
        let quiet = measured(&facts, &counts, &[(STEAL_US, 1000), (THROTTLES, 0)]);
        assert_eq!(warnings(&quiet, None), []);
        assert_eq!(warnings(&Run::default(), None), []);
    }

    #[test]
    fn load_matters_unless_the_machine_was_idle_all_the_same() {
        let facts = [("load", "16.00 9.10 4.00")];
        let seen = warnings(&planned(&facts, [1000, 990]), CPUS);
        let busy = Warning::Busy {
            load: Some((16.0, 2)),
            measured: Some((1, 1.0)),
            second: Some((0, 0.99, When::Before)),
        };
        assert_eq!(seen, [busy]);
        assert_eq!(warnings(&planned(&facts, [0, 0]), CPUS), []);
        let mut unwatched = planned(&facts, [0, 0]);
        unwatched.before.clear();
        let only_load = Warning::Busy {
            load: Some((16.0, 2)),
            measured: None,
            second: None,
        };
        assert_eq!(warnings(&unwatched, CPUS), [only_load]);
    }

    #[test]
    fn second_cpu_is_watched_before_and_during_the_run() {
        let seen = warnings(&planned(&[], [0, 300]), CPUS);
        let second = |share, when| Warning::Busy {
            load: None,
            measured: None,
            second: Some((0, share, when)),
        };
        assert_eq!(seen, [second(0.3, When::Before)]);
        assert!(second_cpu_was_busy(&seen));
        let mut run = measured(&[], &[], &[]);
        for session in &mut run.sessions {
            session.during[2].add(BUSY_US, Some(880_000));
        }
        assert_eq!(warnings(&run, None), [second(0.88, When::During)]);
        // Of a run of some metrics nobody knows how long it keeps its second CPU busy itself.
        run.host.push(Fact::new(FILTERS, "wake"));
        assert_eq!(warnings(&run, None), []);
        assert!(!second_cpu_was_busy(&[]));
    }

    #[test]
    fn quota_matters_if_it_stopped_the_run() {
        let facts = [("cgroup_quota", "20000 us of every 100000 us")];
        let quota = |stops| [Warning::Quota { cpus: 0.2, stops }];
        assert_eq!(warnings(&planned(&facts, [0, 0]), CPUS), quota(None));
        let stopped = measured(&facts, &[(QUOTA_STOPS, 7), (QUOTA_US, 90_000)], &[]);
        assert_eq!(warnings(&stopped, None), quota(Some((70, 900_000))));
        let never = measured(&facts, &[(QUOTA_STOPS, 0), (QUOTA_US, 0)], &[]);
        assert_eq!(warnings(&never, None), []);
        let uncounted = measured(&facts, &[], &[]);
        assert_eq!(warnings(&uncounted, None), quota(None));
        let odd = planned(&[("cgroup_quota", "none")], [0, 0]);
        assert_eq!(warnings(&odd, CPUS), []);
    }

    #[test]
    fn steal_throttling_and_governor_are_those_of_the_measured_cpu() {
        let facts = [("governor", "0:powersave 1:performance")];
        let run = measured(&facts, &[], &[(STEAL_US, 20_000), (THROTTLES, 1)]);
        let all = [Warning::Steal(0.02, When::During), Warning::Throttled(10)];
        assert_eq!(warnings(&run, None), all);
        let facts = [("governor", "0,2-3:performance 1:powersave")];
        let powersave = [Warning::Governor("powersave".into())];
        assert_eq!(warnings(&planned(&facts, [0, 0]), CPUS), powersave);
        assert_eq!(warnings(&planned(&facts, [0, 0]), None), []);
        let fixed = [("governor", "schedutil"), ("frequency_range_khz", "9-9")];
        assert_eq!(warnings(&planned(&fixed, [0, 0]), None), []);
        let mut stolen = planned(&[], [0, 0]);
        stolen.before[2].add(STEAL_US, Some(40_000));
        let before = [Warning::Steal(0.04, When::Before)];
        assert_eq!(warnings(&stolen, CPUS), before);
    }

    #[test]
    fn load_does_not_matter_to_instructions_and_to_other_machines() {
        let facts = [("load", "16.00 9.10 4.00")];
        let mut run = measured(&facts, &[], &[]);
        run.before[2].add(BUSY_US, Some(900_000));
        assert_eq!(warnings(&run, None).len(), 1);
        for session in &mut run.sessions {
            session.clock.unit = Unit::Instructions;
        }
        assert_eq!(warnings(&run, None), []);
        let mut board = measured(&facts, &[], &[]);
        board.before.clear();
        for session in &mut board.sessions {
            session.facts[0].value = "FreeRTOS V11.2.0".into();
        }
        assert_eq!(warnings(&board, None), []);
    }
}
