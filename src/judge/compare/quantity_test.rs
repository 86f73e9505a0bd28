// SPDX-License-Identifier: MIT OR Apache-2.0

//! The test of one quantity of one metric.
//!
//! The values of both sides come in; after the joint test of the family, a [`Judged`] goes out.

use crate::judge::compare::metric::{Judged, Side, Verdict};
use crate::judge::figures::MetricFigures;
use crate::judge::quantity::Quantity;
use crate::statistics::permutation::{Series, Shift};

/// The power that resolutions refer to: a resolution is the smallest change that a comparison
/// detects with this probability.
pub const POWER: f64 = 0.8;
/// The standard normal quantile of [`POWER`].
const POWER_QUANTILE: f64 = 0.841_621;

/// How much a quantity varies between sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// The standard deviation of its logarithm between sessions.
    pub(super) deviation: f64,
    /// The margin plus what a tick hides, as a logarithm.
    pub(super) margin: f64,
}

/// The smallest change that is both significant and beyond the margin with the probability
/// [`POWER`], as a share. `critical` is the critical value of the test statistic; `error` (the
/// standard error) and `margin` are on the scale of logarithms.
pub(super) fn detectable_change(critical: f64, error: f64, margin: f64) -> f64 {
    ((critical * error).max(margin) + POWER_QUANTILE * error).exp_m1()
}

/// The test of one quantity.
pub(super) struct QuantityTest {
    pub(super) quantity: Quantity,
    pub(super) sides: [Side; 2],
    /// The values of each session; logarithms if there is a ratio.
    pub(super) series: Series,
    /// The difference in nanoseconds or instructions.
    pub(super) time: Shift,
    /// The same in readings of the clock, if the sessions measured it.
    pub(super) readings: Option<Shift>,
    /// The margin as a logarithm; `None` if there is no ratio because a value is 0.
    pub(super) margin: Option<f64>,
    /// How much of a difference the clock's tick may hide or fake.
    pub(super) tick_error: f64,
    /// Whether all values of both sides are equal.
    pub(super) is_constant: bool,
    /// `None` until the family is tested.
    pub(super) result: Option<TestResult>,
}

/// The result of the joint test of a family for one quantity.
#[derive(Clone, Copy)]
pub(super) struct TestResult {
    /// The adjusted p value.
    pub(super) p: f64,
    /// The statistic that a single change has to reach to be significant.
    pub(super) critical: f64,
}

/// The largest error of an interpolated median, in ticks
/// ([`crate::stream::histogram::Histogram::interpolated_median`]).
pub(super) const INTERPOLATION_ERROR: f64 = 0.09;
/// Values within this many ticks count as within one tick of each other; the excess is rounding.
const ONE_TICK_SPAN: f64 = 1.001;

/// One tick of the clock per operation: the largest over the replicates.
pub(super) fn one_tick(metric: &MetricFigures) -> f64 {
    let ticks = metric.replicates.iter().map(|one| one.tick);
    ticks.fold(0.0, f64::max)
}

/// How much of a difference in this quantity a tick may hide or fake, in the quantity's unit. If
/// nearly all samples have one value, the true median may be anywhere within a tick of it. A
/// percentile is an order statistic, so it is a whole number of ticks; if replicates differ by more
/// than one tick, their mean is finer than a tick.
pub(super) fn tick_uncertainty(metric: &MetricFigures, quantity: Quantity) -> f64 {
    let tick = one_tick(metric);
    if quantity == Quantity::P50 {
        let coarse = metric.replicates.iter().filter(|one| one.in_one_tick);
        let share = if 2 * coarse.count() > metric.replicates.len() {
            1.0
        } else {
            INTERPOLATION_ERROR
        };
        return share * tick;
    }
    let values = || metric.values(quantity).map(|(_, value)| value);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    if most - least <= ONE_TICK_SPAN * tick {
        tick
    } else {
        0.0
    }
}

impl Series {
    pub(super) fn empty() -> Self {
        Series {
            values: Vec::new(),
            readings: None,
            floor: 0.0,
        }
    }
}

impl QuantityTest {
    /// The judgement, after the family was tested.
    pub(super) fn judge(self) -> Judged {
        let verdict = self.verdict();
        let QuantityTest {
            time,
            readings,
            tick_error,
            ..
        } = self;
        let is_ratio = self.margin.is_some();
        let interval = |shift: Shift| {
            let (low, high) = shift.interval(tick_error);
            (low.exp(), high.exp())
        };
        let result = self.result;
        let critical = result.map_or(f64::INFINITY, |result| result.critical);
        Judged {
            quantity: self.quantity,
            base: self.sides[0],
            new: self.sides[1],
            ratio: is_ratio.then(|| time.estimate.exp()),
            interval: is_ratio.then(|| interval(time)),
            readings: readings
                .filter(|_| is_ratio)
                .map(|shift| (shift.estimate.exp(), interval(shift))),
            margin: self.margin.map(f64::exp_m1),
            p: result.map(|result| result.p),
            resolution: self.resolution(critical),
            verdict,
        }
    }

    /// The standard error of the change: the larger of those in nanoseconds and in readings.
    pub(super) fn error(&self) -> f64 {
        let readings = self.readings.map_or(0.0, |readings| readings.error);
        self.time.error.max(readings)
    }

    fn resolution(&self, critical: f64) -> Option<f64> {
        let margin = self.margin? + self.tick_error;
        let least = detectable_change(critical, self.error(), margin);
        least.is_finite().then_some(least)
    }

    fn verdict(&self) -> Verdict {
        let Some(TestResult { p, .. }) = self.result else {
            return Verdict::Inconclusive;
        };
        // We don't know how much of a cost follows the processor's speed: none of it, or all. So a
        // verdict has to hold both in time and in readings of the clock.
        let both =
            |holds: &dyn Fn(Shift) -> bool| holds(self.time) && self.readings.is_none_or(holds);
        let margin = self.margin.unwrap_or(0.0);
        let within = |(low, high): (f64, f64)| -margin <= low && high <= margin;
        let is_equal = match self.margin {
            Some(_) => both(&|shift| within(shift.interval(self.tick_error))),
            None => self.is_constant,
        };
        let beyond = margin + self.tick_error;
        if is_equal {
            Verdict::Equivalent
        } else if p > self.quantity.level() {
            Verdict::Inconclusive
        } else if both(&|shift| shift.estimate > beyond) {
            Verdict::Regressed
        } else if both(&|shift| shift.estimate < -beyond) {
            Verdict::Improved
        } else {
            Verdict::Inconclusive
        }
    }
}
