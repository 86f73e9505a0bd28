// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many false alarms does a history raise in a year, and how many changes does it find, how
//! soon? How long does it take?
//!
//! 1. *Made-up years*: 311 metrics, a run each day, with events that change nothing, and with events
//!    that change every third metric by 2, 5 or 10 %. The same years go to two simple rules. Then
//!    weekly kernels and a kernel each night.
//! 2. *Real runs* (`--runs FOLDER`): saved runs of an unchanged machine, oldest first by name, with
//!    events at random places. Every verdict is a false alarm.
//! 3. *Time*: 10,000 runs of 311 metrics, all and one.
//!
//! `make bench` runs it. It fails if a promise of `doc/method.md` is broken.

mod real;
mod rules;
mod world;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use kernmark::files::digest::Timeline;
use kernmark::judge::history::{judge, Acknowledged, Options};
use kernmark::statistics::order;

use rules::{Rule, RULES};
use world::{Plan, World, METRICS, SIZES, YEAR};

/// Most false alarms in a year of 12 events.
const MOST_ALARMS: f64 = 3.0;
/// The least shares of changes of 2, 5 and 10 % that are found.
const LEAST_FOUND: [f64; 3] = [0.0, 0.55, 0.85];
/// The largest median of the runs that it takes to find a change.
const MOST_DELAY: f64 = 3.0;
/// A change has to be found within so many runs.
const WITHIN: usize = 60;
/// How far the run that an alarm names may lie from the change.
const OFF: usize = 2;
/// The longest that judging 10,000 runs may take, in seconds: of all metrics, and of one.
const MOST_SECONDS: [f64; 2] = [2.5, 0.1];
const MANY_RUNS: usize = 10_000;

/// Histories whose truth is known.
#[derive(Parser)]
#[command(name = "history")]
struct Arguments {
    /// Years for each table
    #[arg(long, value_name = "N", default_value_t = 40)]
    years: u64,
    /// The seed of the first year
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Count the false alarms of the saved runs in this folder instead
    #[arg(long, value_name = "FOLDER")]
    runs: Option<PathBuf>,
    /// Do not measure the time
    #[arg(long)]
    no_time: bool,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What a rule did in many years.
#[derive(Default)]
struct Counted {
    alarms: usize,
    /// For each size: changes made, and the delays of those found.
    made: [usize; 3],
    delays: [Vec<f64>; 3],
}

impl Counted {
    fn found(&self, size: usize) -> f64 {
        self.delays[size].len() as f64 / self.made[size].max(1) as f64
    }

    fn delay(&self) -> f64 {
        order::median(&self.delays.concat()).unwrap_or(f64::NAN)
    }

    fn add_unchanged(&mut self, rule: &Rule, world: &World) {
        self.alarms += (rule.alarms)(&world.timeline).concat().len();
    }

    fn add_changed(&mut self, rule: &Rule, world: &World) {
        let alarms = (rule.alarms)(&world.timeline);
        for (made, alarms) in world.made.iter().zip(alarms) {
            let Some(made) = made else { continue };
            self.made[made.size] += 1;
            let found = alarms.iter().find(|alarm| {
                alarm.is_dearer == made.is_dearer
                    && (made.run..made.run + WITHIN).contains(&alarm.found)
                    && alarm.run.abs_diff(made.run) <= OFF
            });
            let delay = found.map(|alarm| (alarm.found - made.run + 1) as f64);
            self.delays[made.size].extend(delay);
        }
    }
}

/// Judges made-up years by each rule.
fn simulate(rules: &[Rule], events: Option<usize>, years: u64, seed: u64) -> Vec<Counted> {
    let mut counted: Vec<Counted> = rules.iter().map(|_| Counted::default()).collect();
    for year in 0..years {
        for changes in [false, true] {
            let plan = Plan {
                runs: YEAR,
                events,
                changes,
                machines: 2,
            };
            let world = World::random(2 * (seed + year) + u64::from(changes), &plan);
            for (rule, counted) in rules.iter().zip(&mut counted) {
                if changes {
                    counted.add_changed(rule, &world);
                } else {
                    counted.add_unchanged(rule, &world);
                }
            }
        }
    }
    counted
}

fn print_rows(rules: &[Rule], counted: &[Counted], kernels: &str, years: u64) {
    for (rule, counted) in rules.iter().zip(counted) {
        let found = (0..SIZES.len()).map(|size| format!("{:.0} %", 100.0 * counted.found(size)));
        println!(
            "| {} | {kernels} | {:.1} | {} | {:.0} |",
            rule.name,
            counted.alarms as f64 / years as f64,
            found.collect::<Vec<_>>().join(" | "),
            counted.delay()
        );
    }
}

/// Judges made-up years. Returns what is not as promised.
fn made_up(arguments: &Arguments) -> Vec<String> {
    let Arguments { years, seed, .. } = *arguments;
    println!("{years} years of {METRICS} metrics and {YEAR} runs, seeds from {seed}:\n");
    println!("| rule | events a year | false alarms a year | 2 % found | 5 % | 10 % | median delay, runs |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let monthly = simulate(&RULES, Some(12), years, seed);
    print_rows(&RULES, &monthly, "12", years);
    for (events, name) in [(Some(52), "52"), (None, "every run")] {
        let counted = simulate(&RULES[..2], events, years, seed);
        print_rows(&RULES[..2], &counted, name, years);
    }
    let alarms = &monthly[0];
    let mut broken = Vec::new();
    let a_year = alarms.alarms as f64 / years as f64;
    if a_year > MOST_ALARMS {
        broken.push(format!("{a_year:.1} false alarms a year"));
    }
    for (size, least) in LEAST_FOUND.into_iter().enumerate() {
        let found = alarms.found(size);
        if found < least {
            let (size, found) = (100.0 * SIZES[size], 100.0 * found);
            broken.push(format!(
                "only {found:.0} % of changes of {size:.0} % are found"
            ));
        }
    }
    if alarms.delay().is_nan() || alarms.delay() > MOST_DELAY {
        broken.push(format!("the median delay is {}", alarms.delay()));
    }
    broken
}

/// Measures how long judging takes. Returns what is not as promised.
fn timed(seed: u64) -> Vec<String> {
    let plan = Plan {
        runs: MANY_RUNS,
        events: Some(MANY_RUNS / 30),
        changes: false,
        machines: 5,
    };
    let mut timeline = World::random(seed, &plan).timeline;
    let all = Options::for_reports();
    let one = Options {
        only: Some(BTreeSet::from(["m7".to_owned()])),
        ..Options::for_reports()
    };
    let seconds = |timeline: &Timeline, options: &Options| {
        let times = (0..3).map(|_| {
            let start = Instant::now();
            std::hint::black_box(judge(timeline, options, &Acknowledged::default()));
            start.elapsed().as_secs_f64()
        });
        // Other work on the machine only makes it slower.
        times.fold(f64::INFINITY, f64::min)
    };
    let of_all = seconds(&timeline, &all);
    let of_one_in_all = seconds(&timeline, &one);
    timeline.series.truncate(8);
    timeline.series.drain(..7);
    let of_one = seconds(&timeline, &one);
    println!(
        "\n{MANY_RUNS} runs: {METRICS} metrics are judged in {of_all:.2} s, one of them in \
         {of_one_in_all:.2} s, one alone in {of_one:.3} s."
    );
    let checks = [(of_all, MOST_SECONDS[0]), (of_one, MOST_SECONDS[1])];
    let slow = checks.into_iter().filter(|(took, most)| took > most);
    slow.map(|(took, most)| format!("judging took {took:.2} s, not {most} s"))
        .collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let broken = if let Some(folder) = &arguments.runs {
        real::count(folder, arguments.seed)
            .err()
            .into_iter()
            .collect()
    } else {
        let mut broken = made_up(&arguments);
        if !arguments.no_time {
            broken.extend(timed(arguments.seed));
        }
        broken
    };
    for what in &broken {
        eprintln!("history: {what}");
    }
    ExitCode::from(u8::from(!broken.is_empty()))
}
