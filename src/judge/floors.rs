// SPDX-License-Identifier: MIT OR Apache-2.0

//! Noise floors: `compare` ignores smaller changes of a metric.
//!
//! Measured floors come in, or the history of unchanged runs that shows them; the floor of each
//! quantity of a metric goes out. `doc/method.md`, section "Floors from saved runs", describes the
//! method.

use std::collections::BTreeMap;

use crate::files::digest::{Digest, MetricDigest};
use crate::judge::quantity::Quantity;
use crate::statistics::distributions;
use crate::stream::run::{Unit, CLOCK};

/// The floors of one metric by [`Quantity::key`], as shares: 0.03 is 3 %.
pub type MetricFloors = BTreeMap<String, f64>;

/// The floors that apply to a comparison, and their sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floors {
    by_metric: BTreeMap<String, MetricFloors>,
    sources: Vec<String>,
}

impl Floors {
    /// Adds floors. If a quantity already has one, the higher floor wins. `source` names their origin,
    /// for the report.
    pub fn add(&mut self, floors: &BTreeMap<String, MetricFloors>, source: String) {
        for (id, of_metric) in floors {
            let known = self.by_metric.entry(id.clone()).or_default();
            for (key, floor) in of_metric {
                let known = known.entry(key.clone()).or_insert(0.0);
                *known = known.max(*floor);
            }
        }
        self.sources.push(source);
    }

    /// The floor of a quantity of a metric, as a share; 0 if none was measured.
    #[must_use]
    pub fn of(&self, id: &str, quantity: Quantity) -> f64 {
        let metric = self.by_metric.get(id);
        let floor = metric.and_then(|floors| floors.get(quantity.key()));
        floor.copied().unwrap_or(0.0)
    }

    /// The sources of the floors (untrusted text).
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }
}

/// Fewer earlier runs show no floor.
pub const LEAST_RUNS: usize = 5;
/// Older runs do not count: the machine may have been another one then.
pub const MOST_RUNS: usize = 30;
/// The probability that the difference of two unchanged runs exceeds the floor, if runs vary by
/// chance.
const EXCEEDED: f64 = 0.01;
/// The highest floor, as a share: a larger change gets a verdict, whatever the metric did before.
pub const BOUND: f64 = 0.5;

/// The floors that the newest [`MOST_RUNS`] of these runs show, oldest first, all of them unchanged.
/// Only times have floors, because exact counts do not vary.
#[must_use]
pub fn of_history(runs: &[Digest]) -> BTreeMap<String, MetricFloors> {
    let runs = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    let mut levels: BTreeMap<(&str, Quantity), Vec<(f64, f64)>> = BTreeMap::new();
    let is_clock = |one: &&MetricDigest| one.id == CLOCK && one.unit == Unit::Cycles;
    for run in runs {
        let clock = run.metrics.iter().find(is_clock);
        let clock = clock.and_then(|clock| clock.figures[Quantity::P50 as usize]);
        let clock = clock.filter(|clock| *clock > 0.0);
        for metric in &run.metrics {
            if metric.unit == Unit::Instructions || metric.id == CLOCK {
                continue;
            }
            for quantity in Quantity::ALL {
                let value = metric.figures[quantity as usize].filter(|value| *value > 0.0);
                if let Some(value) = value {
                    let readings = clock.map_or(value, |clock| value / clock);
                    let of_quantity = levels.entry((&metric.id, quantity)).or_default();
                    of_quantity.push((value.ln(), readings.ln()));
                }
            }
        }
    }
    let mut floors: BTreeMap<String, MetricFloors> = BTreeMap::new();
    for ((id, quantity), levels) in levels {
        if let Some(floor) = floor(&levels) {
            let of_metric = floors.entry(id.to_owned()).or_default();
            of_metric.insert(quantity.key().to_owned(), floor);
        }
    }
    floors
}

/// The floor of one quantity, as a share: what the difference of two unchanged runs exceeds in 1 % of
/// cases. `levels` are logarithms of time and of readings of the clock. `None` with fewer than
/// [`LEAST_RUNS`].
///
/// As in a comparison, a change counts by the smaller of its sizes in time and in readings, and not
/// at all if they point in opposite directions.
fn floor(levels: &[(f64, f64)]) -> Option<f64> {
    if levels.len() < LEAST_RUNS {
        return None;
    }
    let mut squares = 0.0;
    for (at, (time, readings)) in levels.iter().enumerate() {
        for (later_time, later_readings) in &levels[at + 1..] {
            let (time, readings) = (later_time - time, later_readings - readings);
            if time * readings > 0.0 {
                squares += time.abs().min(readings.abs()).powi(2);
            }
        }
    }
    let pairs = levels.len() * (levels.len() - 1) / 2;
    let deviation = (squares / pairs as f64).sqrt();
    let t = distributions::t_critical(EXCEEDED, levels.len() as f64 - 1.0)?;
    Some((t * deviation).exp_m1().min(BOUND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest::Head;
    use crate::stream::run::Fact;

    /// A run of one metric and the clock.
    fn run(started: u64, value: f64, clock: f64) -> Digest {
        let metric = |id: &str, value: f64| MetricDigest {
            id: id.to_owned(),
            unit: Unit::Cycles,
            figures: [Some(value), None, None, None, None],
            worst: None,
            spread: None,
            replicates: 10,
        };
        Digest {
            head: Head {
                started,
                hash: format!("{started:064x}"),
                facts: vec![
                    Fact::new("kernel_release", "6.1").into(),
                    Fact::new("load", "1").into(),
                ],
                ..Head::default()
            },
            metrics: vec![metric(CLOCK, clock), metric("m", value)],
        }
    }

    fn floor_of(values: &[(f64, f64)]) -> Option<f64> {
        let runs = (0..).zip(values);
        let runs: Vec<Digest> = runs.map(|(at, (v, clock))| run(at, *v, *clock)).collect();
        let floors = of_history(&runs);
        assert!(!floors.contains_key(CLOCK));
        Some(*floors.get("m")?.get("p50").unwrap())
    }

    #[test]
    fn a_floor_is_three_deviations_of_the_difference_of_two_runs() {
        let steps = |clock: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
            let values = (0..16).map(|run| if run % 2 == 0 { 100.0 } else { 101.0 });
            values.map(|value| (value, clock(value))).collect()
        };
        // Of 120 pairs, 64 differ by 1 %.
        let deviation = 1.01_f64.ln() * (64.0_f64 / 120.0).sqrt();
        let expected = (2.9467 * deviation).exp_m1();
        let found = floor_of(&steps(&|_| 20.0)).unwrap();
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        // What the clock explains does not count.
        let found = floor_of(&steps(&|value| value / 5.0)).unwrap();
        assert!(found < 1e-9, "{found}");
        assert_eq!(floor_of(&steps(&|_| 20.0)[..4]), None);
    }

    #[test]
    fn a_floor_has_a_bound_and_few_runs_make_it_wider() {
        let wild: Vec<(f64, f64)> = (0..16).map(|run| (f64::from(1 + run % 3), 20.0)).collect();
        assert_eq!(floor_of(&wild), Some(BOUND));
        let calm = (0..30).map(|run| (100.0 + f64::from(run % 3), 20.0));
        let calm: Vec<(f64, f64)> = calm.collect();
        let of = |runs: usize| floor_of(&calm[..runs]).unwrap();
        assert!(of(6) > of(12) && of(12) > of(30), "{} {}", of(6), of(30));
    }
}
