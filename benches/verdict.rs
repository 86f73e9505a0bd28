// SPDX-License-Identifier: MIT OR Apache-2.0

//! Do the verdicts of `kernmark compare` have the error rates that doc/method.md promises?
//! Simulates comparisons in which the true change is known.
//!
//! 1. *False alarms*: unchanged sides, with many noise distributions. A verdict of `regressed` or
//!    `improved` for any quantity of any metric is a false alarm. Refusals of the gate are counted
//!    separately.
//! 2. *Power*: one metric of 301, or all of them, change by a known factor.
//!
//! `make bench` runs it. It fails if a promise of `doc/method.md` is broken. The noise comes from
//! fixed seeds, so the result is the same on every machine.

use std::process::ExitCode;

use clap::Parser;
use kernmark::judge::compare::{Comparison, Options, Verdict};
use kernmark::judge::figures::{MetricFigures, ReplicateFigures, RunFigures};
use kernmark::judge::floors::Floors;
use kernmark::judge::gate::{Gate, Objection};
use kernmark::judge::quantity::Quantity;
use kernmark::judge::summary::Status;
use kernmark::statistics::distributions;
use kernmark::stream::run::{Run, Statistic, Unit, CLOCK};

/// Relative standard deviations between replicates of p50, p90, p99, p99.9 and cold.
const SPREAD: [f64; 5] = [0.01, 0.012, 0.08, 0.13, 0.13];
/// Relative standard deviations of the CPU's speed between sessions, and of the cost of reading the
/// clock in addition.
const SPEED: f64 = 0.003;
const READING: f64 = 0.0005;

/// The distribution of the noise of a replicate.
#[derive(Clone, Copy)]
enum Shape {
    Normal,
    T2,
    Lognormal,
    TwoLevels,
    Quantised,
}

struct Noise(fastrand::Rng);

impl Noise {
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.f64()).cos()
    }

    /// A random factor, as its logarithm.
    fn of(&mut self, shape: Shape, spread: f64) -> f64 {
        match shape {
            Shape::Normal => spread * self.normal(),
            Shape::T2 => {
                let squares = self.normal().powi(2) + self.normal().powi(2);
                spread * self.normal() / (squares / 2.0).sqrt()
            }
            Shape::Lognormal => 1.5 * spread * self.normal().exp(),
            Shape::TwoLevels => {
                let level = if self.0.bool() { 0.08 } else { 0.0 };
                level + 0.2 * spread * self.normal()
            }
            Shape::Quantised => ((spread * self.normal()).exp() * 25.0).round().ln() - 25f64.ln(),
        }
    }
}

/// How the new side differs from the base.
#[derive(Clone, Copy)]
struct Change {
    /// How many metrics changed.
    metrics: usize,
    /// The only quantity that changed; `None` if all did.
    only: Option<Quantity>,
    /// The factor of the change.
    factor: f64,
    /// The factor by which all noise is wider.
    scatter: f64,
}

const NONE: Change = Change {
    metrics: 0,
    only: None,
    factor: 1.0,
    scatter: 1.0,
};

fn side(
    noise: &mut Noise,
    shape: Shape,
    metrics: usize,
    replicates: usize,
    change: Change,
) -> RunFigures {
    let figures = |id: String, values: &mut dyn FnMut(usize) -> [Option<f64>; 5]| MetricFigures {
        id,
        status: Status::Ok,
        reason: None,
        unit: Unit::Cycles,
        statistic: Statistic::Median,
        replicates: (0..replicates)
            .map(|session| ReplicateFigures {
                session,
                batch: 1,
                tick: 0.0,
                in_one_tick: false,
                values: values(session),
            })
            .collect(),
        is_summary: false,
        exact: None,
        is_idiom: false,
        needs_two_cpus: false,
    };
    let speed: Vec<f64> = (0..replicates).map(|_| SPEED * noise.normal()).collect();
    let mut all = vec![figures(CLOCK.to_owned(), &mut |session| {
        let reading = 20.0 * (speed[session] + READING * noise.normal()).exp();
        [Some(reading), None, None, None, None]
    })];
    for metric in 0..metrics {
        all.push(figures(format!("m{metric}"), &mut |session| {
            Quantity::ALL.map(|quantity| {
                let spread = SPREAD[quantity as usize];
                let own = change.scatter * noise.of(shape, spread);
                let is_changed =
                    metric < change.metrics && change.only.is_none_or(|q| q == quantity);
                let factor = if is_changed { change.factor } else { 1.0 };
                Some(1000.0 * factor * (speed[session] + own).exp())
            })
        }));
    }
    RunFigures {
        sessions: replicates,
        metrics: all,
    }
}

fn compared(base: &RunFigures, new: &RunFigures) -> Comparison {
    let run = Run::default();
    Comparison::of_figures(
        [&run, &run],
        [base, new],
        &Options::default(),
        &Floors::default(),
    )
}

/// The counts of the results of many comparisons.
#[derive(Clone, Copy, Default)]
struct Counted {
    alarms: usize,
    significant: usize,
    speed: usize,
    blind: usize,
    found: usize,
    all_found: usize,
}

#[derive(Clone, Copy)]
struct Setting {
    shape: Shape,
    metrics: usize,
    replicates: (usize, usize),
    change: Change,
}

/// Makes this many comparisons, half of them in a second thread.
fn simulate(setting: Setting, times: usize, seed: u64) -> Counted {
    let half = |times: usize, seed: u64| {
        let mut noise = Noise(fastrand::Rng::with_seed(seed));
        let mut counted = Counted::default();
        for _ in 0..times {
            setting.compare(&mut noise, &mut counted);
        }
        counted
    };
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| half(times / 2, seed));
        let mut counted = half(times - times / 2, seed + 1);
        let other = beside.join().expect("a simulation panicked");
        counted.alarms += other.alarms;
        counted.significant += other.significant;
        counted.speed += other.speed;
        counted.blind += other.blind;
        counted.found += other.found;
        counted.all_found += other.all_found;
        counted
    })
}

impl Setting {
    fn compare(&self, noise: &mut Noise, counted: &mut Counted) {
        let (metrics, (base, new)) = (self.metrics, self.replicates);
        let base = side(noise, self.shape, metrics, base, NONE);
        let new = side(noise, self.shape, metrics, new, self.change);
        let comparison = compared(&base, &new);
        // The clock comes first.
        let (changed, others) = comparison.metrics[1..].split_at(self.change.metrics);
        let is_alarm = others.iter().any(|metric| metric.verdict.is_change());
        counted.alarms += usize::from(is_alarm);
        let judged = others.iter().flat_map(|metric| &metric.judged);
        let mut judged = judged.filter_map(|one| Some(one.p? <= one.quantity.level()));
        counted.significant += usize::from(judged.any(|significant| significant));
        let found = |metric: &kernmark::judge::compare::Compared| match self.change.only {
            Some(quantity) => metric
                .judgement_of(quantity)
                .is_some_and(|one| one.verdict == Verdict::Regressed),
            None => metric.verdict == Verdict::Regressed,
        };
        let found = changed.iter().filter(|metric| found(metric)).count();
        counted.found += found;
        counted.all_found += usize::from(found == changed.len());
        let gate = Gate {
            fail_on: vec![Verdict::Regressed],
            quantities: vec![Quantity::P50],
            judges_idioms: true,
            resolution: 0.1,
            speed: None,
        };
        for objection in gate.rule(&comparison).objections {
            match objection {
                Objection::Speed(_) => counted.speed += 1,
                Objection::LowResolution { .. } => counted.blind += 1,
                _ => {}
            }
        }
    }
}

/// Simulated comparisons whose truth is known.
#[derive(Parser)]
#[command(name = "verdict")]
struct Arguments {
    /// Comparisons of unchanged sides for each kind of noise
    #[arg(long, value_name = "N", default_value_t = 2000)]
    comparisons: usize,
    /// Comparisons for each change
    #[arg(long, value_name = "N", default_value_t = 300)]
    changes: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A name, the noise, the replicates, how the new side differs, the promised maximum of the share
/// of alarms, and the maximum of its upper bound.
type Case = (&'static str, Shape, (usize, usize), Change, f64, f64);

/// Counts false alarms with many noise distributions. Returns whether they are few enough.
fn alarms(comparisons: usize) -> bool {
    const METRICS: usize = 60;
    let scattered = Change {
        scatter: 4.0,
        ..NONE
    };
    let cases: [Case; 7] = [
        ("normal", Shape::Normal, (10, 10), NONE, 0.05, 0.07),
        (
            "t, 2 degrees of freedom",
            Shape::T2,
            (10, 10),
            NONE,
            0.05,
            0.07,
        ),
        ("lognormal", Shape::Lognormal, (10, 10), NONE, 0.05, 0.07),
        (
            "two levels 8 % apart",
            Shape::TwoLevels,
            (10, 10),
            NONE,
            0.05,
            0.07,
        ),
        (
            "quantised by 4 %",
            Shape::Quantised,
            (10, 10),
            NONE,
            0.05,
            0.07,
        ),
        (
            "one side scatters 4 times as much",
            Shape::Normal,
            (10, 10),
            scattered,
            0.05,
            0.07,
        ),
        (
            "one side scatters 4 times as much",
            Shape::Normal,
            (20, 6),
            scattered,
            0.08,
            1.0,
        ),
    ];
    println!("{METRICS} metrics with p50, p90, p99, p99.9, cold and clock.read; unchanged:\n");
    println!("| noise | replicates | comparisons | false alarms | below, with 95 % confidence | significant, whatever the size | exit 4 | exit 5 |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut kept = true;
    for (at, (name, shape, replicates, change, most, most_bound)) in cases.into_iter().enumerate() {
        let setting = Setting {
            shape,
            metrics: METRICS,
            replicates,
            change,
        };
        let counted = simulate(setting, comparisons, 100 + 10 * at as u64);
        let share = |count: usize| count as f64 / comparisons as f64;
        let bound = distributions::upper_bound_of_probability(counted.alarms, comparisons);
        println!(
            "| {name} | {}/{} | {comparisons} | {} ({:.1} %) | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            replicates.0,
            replicates.1,
            counted.alarms,
            100.0 * share(counted.alarms),
            100.0 * bound,
            100.0 * share(counted.significant),
            100.0 * share(counted.speed),
            100.0 * share(counted.blind),
        );
        kept &= share(counted.alarms) <= most && bound <= most_bound;
    }
    kept
}

/// Counts the changes found. Returns whether they are enough.
fn power(changes: usize) -> bool {
    const METRICS: usize = 301;
    let one = |factor: f64, only: Option<Quantity>| Change {
        metrics: 1,
        only,
        factor,
        ..NONE
    };
    let everything = Change {
        metrics: METRICS,
        factor: 2.0,
        ..NONE
    };
    let cases: [(&str, usize, Change, f64); 4] = [
        ("one metric 5 % dearer", 7, one(1.05, None), 0.95),
        ("one metric 3 % dearer", 10, one(1.03, None), 0.82),
        ("everything twice as dear", 4, everything, 1.0),
        (
            "p99 of one metric doubled",
            10,
            one(2.0, Some(Quantity::P99)),
            0.9,
        ),
    ];
    println!("\n{METRICS} metrics, normal noise:\n");
    println!("| change | replicates | comparisons | found | wanted |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut kept = true;
    for (at, (name, replicates, change, least)) in cases.into_iter().enumerate() {
        let setting = Setting {
            shape: Shape::Normal,
            metrics: METRICS,
            replicates: (replicates, replicates),
            change,
        };
        let counted = simulate(setting, changes, 500 + 10 * at as u64);
        let found = counted.all_found as f64 / changes as f64;
        println!(
            "| {name} | {replicates} | {changes} | {:.1} % | {:.0} % |",
            100.0 * found,
            100.0 * least
        );
        kept &= found >= least;
    }
    kept
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let few = alarms(arguments.comparisons);
    let enough = power(arguments.changes);
    if !few {
        eprintln!("verdict: there are too many false alarms");
    }
    if !enough {
        eprintln!("verdict: too few changes are found");
    }
    ExitCode::from(u8::from(!(few && enough)))
}
