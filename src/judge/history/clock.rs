// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the clock explains: how much of a change of the processor's speed each metric follows.

use super::segments::Segments;
use super::Prepared;
use crate::statistics::order;

/// The cost of reading the clock in each run, as a logarithm.
pub(super) struct Clock(Vec<f64>);

impl Clock {
    /// A run that does not say counts as the run before it.
    pub(super) fn of(readings: &[f64], runs: usize) -> Self {
        let is_known = |reading: &&f64| reading.is_finite() && **reading > 0.0;
        let first = readings.iter().find(is_known).map_or(0.0, |r| r.ln());
        let mut last = first;
        let logs = (0..runs).map(|run| {
            if let Some(reading) = readings.get(run).filter(is_known) {
                last = reading.ln();
            }
            last
        });
        Clock(logs.collect())
    }

    /// The clock at a run.
    pub(super) fn at(&self, run: usize) -> f64 {
        self.0[run]
    }
}

/// How much of a change of the clock a metric follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    /// 1 is all of it.
    pub(super) value: f64,
    /// Its standard error.
    pub(super) error: f64,
}

/// The slope of a metric of which nothing is known.
const UNKNOWN: Slope = Slope {
    value: 0.5,
    error: 0.3,
};
/// The metrics that a pool needs, and the error that a slope may have in it.
const POOL: usize = 8;
const POOL_ERROR: f64 = 0.2;
/// Metrics differ at least so much.
const POOL_SPREAD: f64 = 0.15;
/// No slope is known better.
const LEAST_ERROR: f64 = 0.02;
/// The slopes that a metric can have.
const POSSIBLE: (f64, f64) = (-0.2, 1.2);
/// Changes of the clock that show a slope, and those that show noise alone. Logarithms.
const STEP: f64 = 0.01;
const STILL: f64 = 0.004;
/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
pub(super) const DEVIATION: f64 = 1.4826;
/// The ratio of the standard error of a median to that of a mean, for normal noise.
const MEDIAN_ERROR: f64 = 1.2533;

impl Slope {
    /// The slope of something that does not follow the clock.
    pub(super) const NONE: Slope = Slope {
        value: 0.0,
        error: 0.0,
    };

    /// The slopes that most metrics have, from the slopes that some show themselves. The error is the
    /// standard deviation between metrics.
    pub(super) fn pool(own: impl Iterator<Item = Slope>) -> Slope {
        let sure = own.filter(|slope| slope.error <= POOL_ERROR);
        let values: Vec<f64> = sure.map(|slope| slope.value).collect();
        match order::median(&values) {
            Some(value) if values.len() >= POOL => {
                let deviations: Vec<f64> = values.iter().map(|one| (one - value).abs()).collect();
                let spread = DEVIATION * order::median(&deviations).unwrap_or(0.0);
                Slope {
                    value,
                    error: spread.max(POOL_SPREAD),
                }
            }
            _ => UNKNOWN,
        }
    }

    /// What a metric's own slope and the pool say together: their mean, weighted by precision.
    pub(super) fn of(own: Option<Slope>, pool: Slope) -> Slope {
        let precision = |slope: Slope| slope.error.powi(-2);
        let Some(own) = own else { return pool };
        let (of_own, of_pool) = (precision(own), precision(pool));
        let value = (of_own * own.value + of_pool * pool.value) / (of_own + of_pool);
        Slope {
            value: value.clamp(POSSIBLE.0, POSSIBLE.1),
            error: (of_own + of_pool).powf(-0.5),
        }
    }
}

/// The slopes that a metric shows itself by the runs before each of `moments`. Where it has seen no
/// step of the clock, there is none.
pub(super) fn own_slopes(
    series: &Prepared,
    clock: &Clock,
    segments: &Segments,
    moments: &[usize],
) -> Vec<Option<Slope>> {
    let mut seen = Steps::default();
    let mut position = 1;
    let slopes = moments.iter().map(|&moment| {
        while position < series.runs.len() && series.runs[position] < moment {
            let (before, run) = (series.runs[position - 1], series.runs[position]);
            if segments.number(before) == segments.number(run) {
                let ticks = clock.at(run) - clock.at(before);
                seen.add(ticks, series.logs[position] - series.logs[position - 1]);
            }
            position += 1;
        }
        seen.slope()
    });
    slopes.collect()
}

/// What a metric did when the clock made a step, and when it did not.
#[derive(Default)]
struct Steps {
    /// The slope of each step, and its size.
    slopes: Vec<(f64, f64)>,
    noise: Vec<f64>,
}

impl Steps {
    fn add(&mut self, of_clock: f64, of_metric: f64) {
        if of_clock.abs() > STEP {
            self.slopes.push((of_metric / of_clock, of_clock.abs()));
        } else if of_clock.abs() < STILL {
            self.noise.push(of_metric.abs());
        }
    }

    fn slope(&self) -> Option<Slope> {
        let noise = DEVIATION * order::median(newest(&self.noise))?;
        let steps = newest(&self.slopes);
        let squares: f64 = steps.iter().map(|(_, size)| size * size).sum();
        Some(Slope {
            value: weighted_median(steps.to_vec())?,
            error: (MEDIAN_ERROR * noise / squares.sqrt()).max(LEAST_ERROR),
        })
    }
}

/// The newest of these: a slope is learnt from so many changes at most.
fn newest<T>(all: &[T]) -> &[T] {
    const MOST: usize = 400;
    &all[all.len().saturating_sub(MOST)..]
}

/// The value that has half of the weight below it and half above. Between two such values, their
/// mean.
fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let half = 0.5 * total * (1.0 - 1e-9);
    let low = value_at(half, values.iter())?;
    let high = value_at(half, values.iter().rev())?;
    Some(0.5 * (low + high))
}

/// The first value at which the sum of weights reaches `sum`.
fn value_at<'a>(sum: f64, mut values: impl Iterator<Item = &'a (f64, f64)>) -> Option<f64> {
    let mut passed = 0.0;
    let reached = values.find(|(_, weight)| {
        passed += weight;
        passed >= sum
    });
    reached.map(|(value, _)| *value)
}
