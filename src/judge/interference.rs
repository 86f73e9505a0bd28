// SPDX-License-Identifier: MIT OR Apache-2.0

//! What else the machine did, and whether it shows: a run in, the replicates that were disturbed out;
//! or two runs in, the counts that differ between them out.
//!
//! A replicate is disturbed if a count of its measured CPU or of the machine is far from those of the
//! other replicates, and so is the tail of its samples. Neither alone says anything: most interference
//! hits nothing, and a tail can have other causes. doc/method.md describes the rule.

use std::collections::BTreeMap;

use crate::judge::quantity::Quantity;
use crate::machine::counters::{QUOTA_US, STEAL_US, SWITCHES, THROTTLES};
use crate::statistics::distributions::binomial_tail;
use crate::statistics::order;
use crate::stream::counted::US;
use crate::stream::run::{Metric, Outcome, Run, Session, Unit};

/// A count that can make a tail.
#[derive(Debug, PartialEq)]
pub struct Suspect {
    /// The name of the count.
    pub name: &'static str,
    /// What it counts.
    pub measure: Measure,
    /// How many more than in other replicates are worth a look.
    least: f64,
    /// How many more per second than in another run are.
    least_per_second: f64,
}

/// What a [`Suspect`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Time that was taken from the CPU, in microseconds.
    Time,
    /// Events.
    Events,
}

const fn interrupts(name: &'static str) -> Suspect {
    Suspect {
        name,
        measure: Measure::Events,
        least: 100.0,
        least_per_second: 100.0,
    }
}

/// The counts that can make a tail.
const SUSPECTS: [Suspect; 8] = [
    Suspect {
        name: STEAL_US,
        measure: Measure::Time,
        // The kernel shows it in steps of 10 ms: one step may be any time.
        least: 20_000.0,
        least_per_second: 10_000.0,
    },
    Suspect {
        name: QUOTA_US,
        measure: Measure::Time,
        least: 1000.0,
        least_per_second: 10_000.0,
    },
    Suspect {
        name: THROTTLES,
        measure: Measure::Events,
        least: 1.0,
        least_per_second: 0.1,
    },
    Suspect {
        name: SWITCHES,
        measure: Measure::Events,
        least: 100.0,
        least_per_second: 1000.0,
    },
    interrupts("timer"),
    interrupts("reschedule"),
    interrupts("call"),
    interrupts("device"),
];

/// Fewer replicates are too few to say what is usual.
const LEAST_REPLICATES: usize = 5;
/// A count is far from others if it is this many times three quarters of them.
const FAR_COUNT: f64 = 3.0;
/// A tail is.
const FAR_TAIL: f64 = 2.0;
/// The distance to the others' median, as a logarithm, is at least this many times that of their third
/// quartile.
const QUARTILE_DISTANCES: f64 = 4.0;
/// Two runs differ in a count if one has this many times as many per second.
const CONTRAST: f64 = 2.0;
/// The probability that chance puts so many of a run's far tails into one replicate is at most this.
const CHANCE: f64 = 0.01;
/// A sample that is longer by this share of the time taken from the CPU was probably hit by it.
const HIT: f64 = 0.1;

/// A figure of the slowest samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The 99th percentile.
    P99,
    /// The slowest sample.
    Worst,
}

impl Tail {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tail::P99 => "p99",
            Tail::Worst => "worst",
        }
    }
}

/// A count that is far from those of the other replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The count.
    pub suspect: &'static Suspect,
    /// Its value in this replicate.
    pub count: u64,
    /// Its median over the other replicates.
    pub others: f64,
    /// The device with most of the interrupts (untrusted text).
    pub busiest: Option<String>,
}

/// A replicate whose counts and whose tails are both far from those of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// The number of the replicate, from 1.
    pub replicate: usize,
    /// What was different; not empty.
    pub causes: Vec<Cause>,
    /// Which figure shows it.
    pub tail: Tail,
    /// The metrics whose figure is far from that of the other replicates, each with how many times the
    /// median of those it is, greatest first; not empty.
    pub metrics: Vec<(String, f64)>,
    /// The number of metrics that have the figure.
    pub of: usize,
}

impl Disturbance {
    /// The median over the affected metrics of how many times the others' figure theirs is.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let ratios: Vec<f64> = self.metrics.iter().map(|(_, ratio)| *ratio).collect();
        order::median(&ratios).unwrap_or(1.0)
    }
}

/// The median of the others, if a value is far from them: at least `times` their third quartile, as
/// far as their own scatter demands, and greater than their median by at least `least`.
fn far(value: f64, others: &[f64], times: f64, least: f64) -> Option<f64> {
    if others.len() + 1 < LEAST_REPLICATES {
        return None;
    }
    let mut sorted = others.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = sorted[(3 * sorted.len()).div_ceil(4) - 1];
    let median = order::median(&sorted)?;
    let is_far = value > 0.0 && value >= times * quartile && value - median >= least;
    let is_usual_scatter =
        quartile > median && (value / median).ln() < QUARTILE_DISTANCES * (quartile / median).ln();
    (is_far && !is_usual_scatter).then_some(median)
}

/// The values of the sessions that have one, by session.
type BySession = BTreeMap<usize, f64>;

/// The sessions whose value is far from those of the others, each with the median of those.
fn outliers(values: &BySession, times: f64, least: f64) -> impl Iterator<Item = (usize, f64)> + '_ {
    values.iter().filter_map(move |(session, value)| {
        let others = values.iter().filter(|(other, _)| *other != session);
        let others: Vec<f64> = others.map(|(_, value)| *value).collect();
        Some((*session, far(*value, &others, times, least)?))
    })
}

/// A count of a session, of its measured CPU or of the machine.
pub(super) fn count(session: &Session, name: &str) -> Option<u64> {
    let measured = session.during.iter().find(|one| one.cpu.is_some());
    let machine = session.during.iter().find(|one| one.cpu.is_none());
    let mut counted = [measured, machine].into_iter().flatten();
    counted.find_map(|one| one.get(name))
}

fn seconds(session: &Session) -> Option<f64> {
    count(session, US)
        .filter(|us| *us > 0)
        .map(|us| us as f64 / 1e6)
}

/// The sessions with counts that are far from those of the others, in number and per second.
fn causes(run: &Run) -> BTreeMap<usize, Vec<Cause>> {
    let mut causes: BTreeMap<usize, Vec<Cause>> = BTreeMap::new();
    for suspect in &SUSPECTS {
        let (mut counts, mut rates) = (BySession::new(), BySession::new());
        for (at, session) in run.sessions.iter().enumerate() {
            if let (Some(count), Some(seconds)) = (count(session, suspect.name), seconds(session)) {
                counts.insert(at, count as f64);
                rates.insert(at, count as f64 / seconds);
            }
        }
        let dense: Vec<usize> = outliers(&rates, FAR_COUNT, 0.0).map(|(at, _)| at).collect();
        let many = outliers(&counts, FAR_COUNT, suspect.least).filter(|(at, _)| dense.contains(at));
        for (at, others) in many {
            let session = &run.sessions[at];
            let busiest = session.during.iter().find_map(|one| one.busiest.clone());
            causes.entry(at).or_default().push(Cause {
                suspect,
                count: counts[&at] as u64,
                others,
                busiest: busiest.filter(|_| suspect.name == "device"),
            });
        }
    }
    causes
}

/// A figure of a metric that is far from that of the other replicates.
#[derive(Clone, Debug, PartialEq)]
struct FarFigure {
    id: String,
    ratio: f64,
    /// How much longer a sample was, in nanoseconds.
    excess: f64,
}

/// Which figures of each session are far from those of the others.
#[derive(Debug, Default)]
struct Tails {
    far: BTreeMap<usize, Vec<FarFigure>>,
    /// The number of metrics that have the figure.
    of: BTreeMap<usize, usize>,
}

impl Tails {
    fn of(run: &Run, tail: Tail) -> Self {
        let mut tails = Tails::default();
        for metric in &run.metrics {
            let values = sample_lengths(run, metric, tail);
            for session in values.keys() {
                *tails.of.entry(*session).or_default() += 1;
            }
            for (session, median) in outliers(&values, FAR_TAIL, 0.0) {
                let value = values[&session];
                tails.far.entry(session).or_default().push(FarFigure {
                    id: metric.id.clone(),
                    ratio: value / median,
                    excess: value - median,
                });
            }
        }
        tails
    }

    /// Whether a session has all figures that are far, or more of them than chance puts into one of
    /// the sessions.
    fn stands_out(&self, session: usize) -> bool {
        let all: usize = self.far.values().map(Vec::len).sum();
        let here = self.far.get(&session).map_or(0, Vec::len);
        let share = 1.0 / self.of.len().max(1) as f64;
        here > 0 && (here == all || binomial_tail(here, all, share) <= CHANCE)
    }
}

/// A figure of the samples of a metric in each session, in nanoseconds for the whole sample.
fn sample_lengths(run: &Run, metric: &Metric, tail: Tail) -> BySession {
    let replicates = metric.replicates.iter();
    let lengths = replicates.filter_map(|replicate| {
        let clock = &run.sessions[replicate.session].clock;
        if replicate.outcome != Outcome::Ok || clock.unit == Unit::Instructions {
            return None;
        }
        let ticks = match tail {
            Tail::P99 => replicate.figure(Quantity::P99, clock.unit)? * replicate.batch as f64,
            Tail::Worst => replicate.histogram.max()?.0 as f64,
        };
        let length = clock.nanoseconds(ticks).unwrap_or(ticks);
        (length > 0.0).then_some((replicate.session, length))
    });
    lengths.collect()
}

/// The replicates of a run that were disturbed.
#[must_use]
pub fn disturbances(run: &Run) -> Vec<Disturbance> {
    let causes = causes(run);
    if causes.is_empty() {
        return Vec::new();
    }
    let tails = [Tail::P99, Tail::Worst].map(|tail| (tail, Tails::of(run, tail)));
    let found = causes.into_iter().filter_map(|(session, causes)| {
        let taken = causes
            .iter()
            .filter(|one| one.suspect.measure == Measure::Time);
        let taken = taken.map(|one| one.count as f64 * 1000.0).reduce(f64::max);
        let (tail, metrics, of) = tails.iter().find_map(|(tail, tails)| {
            let all = tails.far.get(&session)?;
            let of = tails.of[&session];
            if tails.stands_out(session) {
                return Some((*tail, all.clone(), of));
            }
            let was_hit = |one: &&FarFigure| taken.is_some_and(|taken| one.excess >= HIT * taken);
            let hit: Vec<FarFigure> = all.iter().filter(was_hit).cloned().collect();
            (!hit.is_empty()).then_some((*tail, hit, of))
        })?;
        let mut metrics: Vec<(String, f64)> =
            metrics.into_iter().map(|one| (one.id, one.ratio)).collect();
        metrics.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(Disturbance {
            replicate: session + 1,
            causes,
            tail,
            metrics,
            of,
        })
    });
    found.collect()
}

/// A count that differs between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The count.
    pub suspect: &'static Suspect,
    /// Per second of the base.
    pub base: f64,
    /// Per second of the new run.
    pub new: f64,
}

/// The counts per second that are at least twice as many in one run as in the other. The runs must
/// have measured the same.
#[must_use]
pub fn contrasts(base: &Run, new: &Run) -> Vec<Contrast> {
    let contrast = |suspect: &'static Suspect| {
        let (base, new) = (
            per_second(base, suspect.name)?,
            per_second(new, suspect.name)?,
        );
        let (less, more) = (base.min(new), base.max(new));
        let is_far = more >= CONTRAST * less && more - less >= suspect.least_per_second;
        is_far.then_some(Contrast { suspect, base, new })
    };
    SUSPECTS.iter().filter_map(contrast).collect()
}

/// A count per second over all sessions that have it.
fn per_second(run: &Run, name: &str) -> Option<f64> {
    let mut sum = (0.0, 0.0);
    for session in &run.sessions {
        if let (Some(count), Some(seconds)) = (count(session, name), seconds(session)) {
            sum.0 += count as f64;
            sum.1 += seconds;
        }
    }
    (sum.1 > 0.0).then_some(sum.0 / sum.1)
}

/// A count in each session of a metric's replicates, for showing; the measured CPU's or the machine's.
#[must_use]
pub fn counts_of<'a>(run: &'a Run, metric: &'a Metric, name: &'a str) -> Vec<Option<u64>> {
    let sessions = metric
        .replicates
        .iter()
        .map(|one| &run.sessions[one.session]);
    sessions.map(|session| count(session, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::counted::Counted;
    use crate::stream::histogram::Histogram;
    use crate::stream::run::{Clock, Replicate};
    use crate::stream::ticks::Ticks;

    /// Counts of a session of a second.
    fn session(counts: &[(&str, u64)]) -> Session {
        let of = |cpu: Option<u32>, counts: &[(&str, u64)]| {
            let mut counted = Counted {
                cpu,
                ..Counted::default()
            };
            for (name, count) in counts {
                counted.add(name, Some(*count));
            }
            counted
        };
        let mut measured = of(Some(1), counts);
        measured.busiest = Some("eth0".into());
        let machine = of(None, &[(US, 1_000_000)]);
        // The second CPU is not judged.
        let other = of(Some(0), &[("device", 1_000_000)]);
        Session {
            port: "linux-user".into(),
            arch: "x86_64".into(),
            clock: Clock {
                name: "tsc".into(),
                unit: Unit::Cycles,
                hz: 1_000_000_000,
            },
            realtime: true,
            facts: Vec::new(),
            during: vec![machine, measured, other],
            complete: true,
        }
    }

    fn replicate(session: usize, samples: &[(u64, u64)]) -> Replicate {
        Replicate {
            session,
            outcome: Outcome::Ok,
            batch: 1,
            asked: 500,
            cold: None,
            histogram: samples.iter().map(|(v, n)| (Ticks(*v), *n)).collect(),
            stat: None,
            cpu_ns: None,
            proofs: Vec::new(),
        }
    }

    /// A run of these sessions with one metric for each list of samples, `tail` being the slowest 2 %
    /// of each session.
    fn run(sessions: Vec<Session>, metrics: &[&dyn Fn(usize) -> (u64, u64)]) -> Run {
        let number = sessions.len();
        let metric = |(at, tail): (usize, &&dyn Fn(usize) -> (u64, u64))| {
            let replicates = (0..number).map(|session| {
                let (p99, worst) = tail(session);
                replicate(session, &[(100, 490), (p99, 9), (worst, 1)])
            });
            Metric {
                id: format!("m.{at}"),
                case: format!("m.{at}"),
                replicates: replicates.collect(),
            }
        };
        Run {
            sessions,
            metrics: metrics.iter().enumerate().map(metric).collect(),
            ..Run::default()
        }
    }

    /// Ten sessions that are alike except for one.
    fn sessions(name: &'static str, usual: u64, odd: (usize, u64)) -> Vec<Session> {
        let count = |at| {
            if at == odd.0 {
                odd.1
            } else {
                usual + at as u64
            }
        };
        (0..10).map(|at| session(&[(name, count(at))])).collect()
    }

    /// The p99 and the worst sample of a metric, by session.
    type Samples = Box<dyn Fn(usize) -> (u64, u64)>;

    const CALM: fn(usize) -> (u64, u64) = |at| (200 + at as u64, 900 + 10 * at as u64);

    #[test]
    fn far_counts_and_far_tails_together_are_a_disturbance() {
        let slow = |at: usize| if at == 1 { (700, 1000) } else { CALM(at) };
        let many = || sessions("device", 90, (1, 1400));
        let found = disturbances(&run(many(), &[&CALM, &slow]));
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((one.replicate, one.tail, one.of), (2, Tail::P99, 2));
        assert_eq!(one.metrics.len(), 1);
        assert_eq!(one.metrics[0].0, "m.1");
        assert!((one.ratio() - 700.0 / 205.0).abs() < 1e-9, "{one:?}");
        let cause = &one.causes[0];
        assert_eq!((cause.suspect.name, cause.count), ("device", 1400));
        assert_eq!(cause.busiest.as_deref(), Some("eth0"));
        assert!((cause.others - 95.0).abs() < 1e-9, "{cause:?}");
        // Neither alone.
        assert_eq!(disturbances(&run(many(), &[&CALM, &CALM])), []);
        let few = sessions("device", 90, (1, 130));
        assert_eq!(disturbances(&run(few, &[&CALM, &slow])), []);
        // Not in the same replicate.
        let other = sessions("device", 90, (4, 1400));
        assert_eq!(disturbances(&run(other, &[&CALM, &slow])), []);
        // Not without counts, nor with too few replicates.
        let silent = vec![session(&[]); 10];
        assert_eq!(disturbances(&run(silent, &[&slow])), []);
        assert_eq!(disturbances(&run(many()[..4].to_vec(), &[&slow])), []);
        assert_eq!(disturbances(&run(many()[..5].to_vec(), &[&slow])).len(), 1);
        assert_eq!(disturbances(&Run::default()), []);
    }

    #[test]
    fn worst_shows_what_p99_does_not() {
        let hit = |at: usize| (200, if at == 3 { 5000 } else { 900 });
        let found = disturbances(&run(sessions(SWITCHES, 500, (3, 9000)), &[&hit, &CALM]));
        assert_eq!((found[0].tail, found[0].metrics.len()), (Tail::Worst, 1));
        // A count per second that is not far explains nothing: the replicate was longer.
        let mut longer = sessions(SWITCHES, 500, (3, 9000));
        longer[3].during[0].add(US, Some(18_000_000));
        assert_eq!(disturbances(&run(longer, &[&hit, &CALM])), []);
    }

    #[test]
    fn stolen_time_must_fit_into_the_sample_if_few_metrics_show_it() {
        // Every replicate has some metric whose worst is far from the others.
        let chance: Vec<Samples> = (0..100)
            .map(|n| -> Samples {
                Box::new(move |at| (200, if at == n % 10 { 4000 } else { 900 }))
            })
            .collect();
        let mut metrics: Vec<&dyn Fn(usize) -> (u64, u64)> =
            chance.iter().map(|one| &**one).collect();
        let stolen = || sessions(STEAL_US, 0, (4, 40_000));
        assert_eq!(disturbances(&run(stolen(), &metrics)), []);
        // A sample of 12 ms.
        let long = |at: usize| (200, if at == 4 { 12_000_000 } else { 900 });
        metrics.push(&long);
        let found = disturbances(&run(stolen(), &metrics));
        assert_eq!(found[0].metrics.len(), 1, "{found:?}");
        assert_eq!(found[0].metrics[0].0, "m.100");
        // One step of the kernel's clock may be any time.
        let step = sessions(STEAL_US, 0, (4, 10_000));
        assert_eq!(disturbances(&run(step, &metrics)), []);
    }

    #[test]
    fn runs_with_different_counts_contrast() {
        let of = |name: &'static str, count| run(vec![session(&[(name, count)]); 3], &[&CALM]);
        let found = contrasts(&of(STEAL_US, 0), &of(STEAL_US, 41_000));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].base as u64, found[0].new as u64), (0, 41_000));
        assert_eq!(contrasts(&of(STEAL_US, 0), &of(STEAL_US, 5000)), []);
        assert_eq!(contrasts(&of("timer", 900), &of("timer", 250)).len(), 1);
        assert_eq!(contrasts(&of("timer", 300), &of("timer", 250)), []);
        assert_eq!(contrasts(&of("timer", 300), &of("call", 900)), []);
        assert_eq!(contrasts(&Run::default(), &of("call", 900)), []);
    }

    /// About 1000; its logarithm is normal, with this spread.
    fn heavy(random: &mut fastrand::Rng, spread: f64) -> u64 {
        let sum: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        (1000.0 * (spread * sum).exp()) as u64
    }

    /// Counts and tails that have nothing to do with each other, both with outliers.
    #[test]
    fn unrelated_outliers_are_rarely_called_a_disturbance() {
        let mut random = fastrand::Rng::with_seed(4);
        for (metrics, spread) in [
            (1, 0.5),
            (1, 1.0),
            (3, 1.0),
            (10, 0.7),
            (10, 1.0),
            (200, 1.0),
        ] {
            let rounds = if metrics > 100 { 40 } else { 400 };
            let mut found = 0;
            for _ in 0..rounds {
                let sessions: Vec<Session> = (0..10)
                    .map(|_| {
                        let names = ["timer", "device", "call", "reschedule"];
                        let counts = names.map(|name| (name, heavy(&mut random, spread)));
                        session(&counts)
                    })
                    .collect();
                let tails: Vec<Vec<(u64, u64)>> = (0..metrics)
                    .map(|_| {
                        let one = |random: &mut fastrand::Rng| {
                            let p99 = 300 + heavy(random, spread / 2.0);
                            (p99, p99 + heavy(random, spread))
                        };
                        (0..10).map(|_| one(&mut random)).collect()
                    })
                    .collect();
                let tails: Vec<Samples> = tails
                    .into_iter()
                    .map(|of| -> Samples { Box::new(move |at| of[at]) })
                    .collect();
                let tails: Vec<&dyn Fn(usize) -> (u64, u64)> =
                    tails.iter().map(|one| &**one).collect();
                found += disturbances(&run(sessions, &tails)).len();
            }
            let share = found as f64 / f64::from(rounds);
            println!("{metrics} metrics, spread {spread}: {share:.3} per run");
            assert!(share < 0.15, "{metrics} metrics, spread {spread}: {share}");
        }
    }

    #[test]
    fn empty_histograms_are_no_tail() {
        let mut quiet = run(sessions("call", 10, (0, 5000)), &[&CALM]);
        for replicate in &mut quiet.metrics[0].replicates {
            replicate.histogram = Histogram::new();
        }
        assert_eq!(disturbances(&quiet), []);
    }
}
