// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is learnt from many metrics: how far they vary by chance, and how much of a change of the
//! clock each follows.

use super::clock::{own_slopes, Clock, Slope};
use super::parallel;
use super::scan::{Scales, Scan, REACH, RUNS_NEEDED, WINDOWS};
use super::segments::Segments;
use super::Prepared;
use crate::statistics::order;
use crate::stream::run::CLOCK;

/// What was known at one moment.
pub(super) struct Lesson {
    /// It was learnt from the runs before this one, and holds from this one on.
    pub(super) run: usize,
    /// The slope of each metric.
    pub(super) slopes: Vec<Slope>,
    /// How far the metrics differ by chance: the median over metrics.
    pub(super) scales: Scales,
}

/// All lessons, oldest first.
pub(super) struct Lessons(pub(super) Vec<Lesson>);

/// Variation between runs of a metric of which nothing is known, as a standard deviation of
/// logarithms, and how many metrics this counts as.
const UNKNOWN: f64 = 0.01;
const UNKNOWN_METRICS: usize = 8;
/// The ratio of the standard error of a median to that of a mean, for normal noise.
const MEDIAN_ERROR: f64 = 1.2533;

impl Lessons {
    pub(super) fn of(all: &[Prepared], clock: &Clock, segments: &Segments) -> Self {
        let runs = all.iter().filter_map(|series| series.runs.last()).max();
        let moments = moments(segments, runs.map_or(0, |last| last + 1));
        let own = parallel::map(all, |series| own_slopes(series, clock, segments, &moments));
        let is_other = |series: &Prepared| series.metric != CLOCK && !series.is_exact;
        let pools: Vec<Slope> = (0..moments.len())
            .map(|at| {
                let others = all.iter().zip(&own).filter(|(series, _)| is_other(series));
                Slope::pool(others.filter_map(|(_, own)| own[at]))
            })
            .collect();
        let indices: Vec<usize> = (0..all.len()).collect();
        let learnt = parallel::map(&indices, |&index| {
            let series = &all[index];
            let at_moment = |at: usize| {
                let slope = if is_other(series) {
                    Slope::of(own[index][at], pools[at])
                } else {
                    Slope::NONE
                };
                let scales = if series.is_exact {
                    [None; WINDOWS.len()]
                } else {
                    scales(series, clock, segments, slope, moments[at])
                };
                (slope, scales)
            };
            (0..moments.len()).map(at_moment).collect::<Vec<_>>()
        });
        let lessons = moments.iter().enumerate().map(|(at, &run)| Lesson {
            run,
            slopes: learnt.iter().map(|of_metric| of_metric[at].0).collect(),
            scales: pooled(learnt.iter().map(|of_metric| of_metric[at].1)),
        });
        Lessons(lessons.collect())
    }
}

/// When something is learnt anew: as soon as a segment can be judged, and again when it has grown by
/// a third, later when it has doubled.
fn moments(segments: &Segments, runs: usize) -> Vec<usize> {
    const LATER: usize = 60;
    let mut moments = Vec::new();
    for (at, start) in segments.starts.iter().enumerate() {
        let end = segments.starts.get(at + 1).map_or(runs, |next| *next);
        let mut length = RUNS_NEEDED - 1;
        while start + length < end {
            moments.push(start + length);
            length += if length < LATER { length / 3 } else { length };
        }
    }
    moments
}

/// How far a metric differs by chance, by the runs of the segment before `moment`.
fn scales(
    series: &Prepared,
    clock: &Clock,
    segments: &Segments,
    slope: Slope,
    moment: usize,
) -> Scales {
    let end = series.runs.partition_point(|run| *run < moment);
    let segment = segments.starts[segments.number(moment) - 1];
    let start = series.runs.partition_point(|run| *run < segment);
    let start = start.max(end.saturating_sub(REACH));
    Scan::of((start..end).map(|at| series.rest(at, slope, clock))).scales()
}

/// The median of the scales of all metrics.
fn pooled(all: impl Iterator<Item = Scales>) -> Scales {
    let all: Vec<Scales> = all.collect();
    let mut pooled = [None; WINDOWS.len()];
    for (at, pooled) in pooled.iter_mut().enumerate() {
        let unknown = MEDIAN_ERROR * UNKNOWN / (WINDOWS[at] as f64).sqrt();
        let known = all.iter().filter_map(|scales| scales[at]);
        let values: Vec<f64> = known.chain([unknown; UNKNOWN_METRICS]).collect();
        *pooled = order::median(&values);
    }
    pooled
}

impl Prepared<'_> {
    /// What the clock does not explain of a value's logarithm.
    pub(super) fn rest(&self, position: usize, slope: Slope, clock: &Clock) -> f64 {
        self.logs[position] - slope.value * clock.at(self.runs[position])
    }
}
