// SPDX-License-Identifier: MIT OR Apache-2.0

//! Made-up histories whose truth is known: a year of daily runs of one target.

use std::f64::consts::TAU;

use kernmark::files::digest::{Head, Series, Timeline};
use kernmark::stream::run::{Fact, Unit};

/// The metrics of a run.
pub const METRICS: usize = 311;
/// The runs of a year.
pub const YEAR: usize = 365;
/// The sizes of the changes.
pub const SIZES: [f64; 3] = [0.02, 0.05, 0.10];
/// One metric of so many changes.
const CHANGED: usize = 3;
/// Runs of a segment before and after an event at which metrics change.
const AROUND: usize = 30;

/// What happens in a history.
#[derive(Clone, Copy)]
pub struct Plan {
    /// The number of runs.
    pub runs: usize,
    /// The number of events; `None` is one for each run.
    pub events: Option<usize>,
    /// Whether every third metric changes at one of the events.
    pub changes: bool,
    /// How often the machine changes.
    pub machines: usize,
}

/// A change that was made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The first run of the new level.
    pub run: usize,
    /// The index of its size in [`SIZES`].
    pub size: usize,
    /// Whether the metric costs more since.
    pub is_dearer: bool,
}

/// A history, and the truth about it.
pub struct World {
    pub timeline: Timeline,
    /// For each metric, the change that was made.
    pub made: Vec<Option<Made>>,
}

/// Random numbers.
pub struct Noise(fastrand::Rng);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Noise(fastrand::Rng::with_seed(seed))
    }

    fn share(&mut self) -> f64 {
        self.0.f64()
    }

    fn is(&mut self, probability: f64) -> bool {
        self.0.f64() < probability
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.f64()
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (TAU * self.share()).cos()
    }

    /// Student's t with 5 degrees of freedom, scaled to a standard deviation of 1.
    fn t(&mut self) -> f64 {
        let squares: f64 = (0..5).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// So many different runs between these, in ascending order.
    pub fn runs(&mut self, count: usize, from: usize, until: usize) -> Vec<usize> {
        let mut runs: Vec<usize> = (from..until).collect();
        self.0.shuffle(&mut runs);
        runs.truncate(count);
        runs.sort_unstable();
        runs
    }
}

/// How a metric varies. All figures are logarithms.
struct Character {
    /// From run to run, independently.
    noise: f64,
    /// In addition with memory: the standard deviation, and the correlation with the run before.
    drift: f64,
    memory: f64,
    /// How much of a change of the clock it follows.
    slope: f64,
    /// The distance of its second level; 0 if it has one level.
    second: f64,
    /// The standard deviation of the steps of a random walk.
    walk: f64,
}

impl Character {
    fn random(random: &mut Noise) -> Self {
        let noise = (0.007 * (0.7 * random.normal()).exp()).clamp(0.0005, 0.06);
        let drifts = random.is(0.5);
        let follows = random.share();
        let has_second = random.is(0.06);
        let walks = random.is(0.25);
        Character {
            noise,
            drift: if drifts {
                noise * random.between(0.5, 1.2)
            } else {
                0.0
            },
            memory: random.between(0.2, 0.85),
            slope: match follows {
                f if f < 0.25 => 1.0,
                f if f < 0.40 => 0.0,
                _ => random.between(0.0, 1.1),
            },
            second: if has_second {
                random.between(0.04, 0.12)
            } else {
                0.0
            },
            walk: if walks { 0.0004 } else { 0.0 },
        }
    }
}

/// What all metrics of a history share.
struct Machine {
    /// The processor's speed in each run.
    speed: Vec<f64>,
    /// Whether something disturbed the run.
    disturbed: Vec<bool>,
    /// The runs with which another machine begins.
    changes: Vec<usize>,
}

impl Machine {
    fn random(random: &mut Noise, plan: &Plan) -> Self {
        const LEVELS: [f64; 3] = [0.0, 0.027, 0.052];
        let mut level = 0;
        let speed = (0..plan.runs).map(|_| {
            if random.is(0.08) {
                level = (random.share() * 3.0) as usize;
            }
            LEVELS[level] + 0.002 * random.normal()
        });
        let speed = speed.collect();
        let disturbed = (0..plan.runs).map(|_| random.is(0.012)).collect();
        let inside = 2 * AROUND..plan.runs.saturating_sub(2 * AROUND);
        let changes = random.runs(plan.machines, inside.start, inside.end);
        Machine {
            speed,
            disturbed,
            changes,
        }
    }

    fn number(&self, run: usize) -> usize {
        self.changes.partition_point(|change| *change <= run)
    }
}

impl World {
    /// A random history.
    pub fn random(seed: u64, plan: &Plan) -> Self {
        let mut random = Noise::new(seed);
        let machine = Machine::random(&mut random, plan);
        let events = match plan.events {
            Some(count) => random.runs(count, 1, plan.runs),
            None => (1..plan.runs).collect(),
        };
        let has_room = |event: &&usize| {
            let ends = machine.changes.iter().chain([&0, &plan.runs]);
            ends.map(|end| end.abs_diff(**event)).min() >= Some(AROUND)
        };
        let places: Vec<usize> = events.iter().filter(has_room).copied().collect();
        let mut made = Vec::new();
        let mut series = Vec::new();
        for metric in 0..METRICS {
            let is_changed = plan.changes && metric % CHANGED == 0 && !places.is_empty();
            let change = is_changed.then(|| Made {
                run: places[(random.share() * places.len() as f64) as usize],
                size: metric / CHANGED % SIZES.len(),
                is_dearer: random.is(0.5),
            });
            series.push(Series {
                metric: format!("m{metric}"),
                unit: Unit::Cycles,
                values: values(&mut random, &machine, change),
                spreads: vec![0.01; plan.runs],
            });
            made.push(change);
        }
        let reading = |speed: &f64| 20.0 * (speed + 0.0015 * random.normal()).exp();
        let clock = machine.speed.iter().map(reading).collect();
        let runs = (0..plan.runs).map(|run| {
            let kernel = events.partition_point(|event| *event <= run);
            head(run, kernel, machine.number(run))
        });
        World {
            timeline: Timeline {
                runs: runs.collect(),
                clock,
                series,
            },
            made,
        }
    }
}

/// The head of a run of this kernel on this machine.
pub fn head(run: usize, kernel: usize, machine: usize) -> Head {
    Head {
        name: format!("run{run}"),
        hash: format!("{run:064x}"),
        started: 86_400 * run as u64,
        facts: vec![
            Fact::new("machine_id", machine.to_string()).into(),
            Fact::new("kernel_release", format!("6.12.{kernel}")).into(),
        ],
        ..Head::default()
    }
}

/// The values of a random metric.
fn values(random: &mut Noise, machine: &Machine, change: Option<Made>) -> Vec<f64> {
    let character = Character::random(random);
    let cost = (6.0 + 2.0 * random.normal()).exp();
    let innovation = (1.0 - character.memory.powi(2)).sqrt() * character.drift;
    let (mut drift, mut walk, mut second, mut of_machine) = (0.0, 0.0, 0.0, 0.0);
    let runs = machine.speed.iter().enumerate();
    let values = runs.map(|(run, speed)| {
        drift = character.memory * drift + innovation * random.normal();
        walk += character.walk * random.normal();
        if random.is(0.07) {
            second = if random.is(0.5) {
                character.second
            } else {
                0.0
            };
        }
        if machine.changes.contains(&run) {
            of_machine += 0.06 * random.normal();
        }
        let mut log = drift + walk + second + of_machine;
        log += character.slope * speed + character.noise * random.t();
        if machine.disturbed[run] && random.is(0.5) {
            log += 0.12 * random.normal().abs();
        }
        if let Some(change) = change.filter(|change| run >= change.run) {
            let size = SIZES[change.size].ln_1p();
            log += if change.is_dearer { size } else { -size };
        }
        cost * log.exp()
    });
    values.collect()
}
