// SPDX-License-Identifier: MIT OR Apache-2.0

//! The test of one quantity of one metric.
//!
//! The values of both sides come in; after the joint test of the family a [`Judged`] goes out.

use crate::judge::compare::metric::{Judged, Side, Verdict};
use crate::judge::figures::MetricFigures;
use crate::judge::quantity::Quantity;
use crate::statistics::permutation::{Series, Shift};

/// A resolution is the least change that is found with this probability.
pub const POWER: f64 = 0.8;
/// The standard normal quantile of [`POWER`].
const POWER_QUANTILE: f64 = 0.841_621;

/// How much a median varies between sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// The standard deviation of its logarithm.
    pub(super) deviation: f64,
    /// The margin, and what a tick hides, of the logarithm.
    pub(super) margin: f64,
}

/// The least change that is found with the probability [`POWER`], as a share: significant, and
/// beyond the margin.
pub(super) fn least_change(critical: f64, error: f64, margin: f64) -> f64 {
    ((critical * error).max(margin) + POWER_QUANTILE * error).exp_m1()
}

/// What is to be tested of a quantity.
pub(super) struct Trial {
    pub(super) quantity: Quantity,
    pub(super) sides: [Side; 2],
    /// Logarithms where there is a ratio.
    pub(super) series: Series,
    pub(super) time: Shift,
    pub(super) readings: Option<Shift>,
    /// The margin of the logarithm; `None` where there is no ratio.
    pub(super) margin: Option<f64>,
    /// By how much a tick may hide or fake a difference.
    pub(super) hidden: f64,
    /// Whether all values of both sides are the same.
    pub(super) is_constant: bool,
    /// The adjusted p value and the statistic that a single change has to reach.
    pub(super) found: Option<(f64, f64)>,
}

/// An interpolated median is at most so many ticks off the truth
/// ([`crate::stream::histogram::Histogram::interpolated_median`]).
pub(super) const WITHIN_A_TICK: f64 = 0.09;
/// Values lie within one tick of each other up to this many; the rest is rounding.
const ONE_TICK: f64 = 1.001;

/// One tick of the clock, of one operation: the greatest of the replicates.
pub(super) fn one_tick(metric: &MetricFigures) -> f64 {
    let ticks = metric.replicates.iter().map(|one| one.tick);
    ticks.fold(0.0, f64::max)
}

/// By how much a tick may hide or fake a difference of this quantity, in its unit. Where nearly all
/// samples have one value, the truth may lie anywhere within a tick of it. Order statistics are
/// whole ticks; where replicates scatter by more than one, their mean is finer than that.
pub(super) fn hidden_ticks(metric: &MetricFigures, quantity: Quantity) -> f64 {
    let tick = one_tick(metric);
    if quantity == Quantity::P50 {
        let coarse = metric.replicates.iter().filter(|one| one.in_one_tick);
        let share = if 2 * coarse.count() > metric.replicates.len() {
            1.0
        } else {
            WITHIN_A_TICK
        };
        return share * tick;
    }
    let values = || metric.values(quantity).map(|(_, value)| value);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    if most - least <= ONE_TICK * tick {
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

impl Trial {
    pub(super) fn judge(self) -> Judged {
        let verdict = self.verdict();
        let Trial {
            time,
            readings,
            hidden,
            ..
        } = self;
        let is_ratio = self.margin.is_some();
        let interval = |shift: Shift| {
            let (low, high) = shift.interval(hidden);
            (low.exp(), high.exp())
        };
        let critical = self.found.map_or(f64::INFINITY, |(_, critical)| critical);
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
            p: self.found.map(|(p, _)| p),
            resolution: self.resolution(critical),
            verdict,
        }
    }

    /// The standard error of the change, in nanoseconds or in readings, whichever is more.
    pub(super) fn error(&self) -> f64 {
        let readings = self.readings.map_or(0.0, |readings| readings.error);
        self.time.error.max(readings)
    }

    fn resolution(&self, critical: f64) -> Option<f64> {
        let margin = self.margin? + self.hidden;
        let least = least_change(critical, self.error(), margin);
        least.is_finite().then_some(least)
    }

    fn verdict(&self) -> Verdict {
        let Some((p, _)) = self.found else {
            return Verdict::Inconclusive;
        };
        // How much of a cost follows the processor's speed is not known: it may be none or all.
        let both =
            |holds: &dyn Fn(Shift) -> bool| holds(self.time) && self.readings.is_none_or(holds);
        let margin = self.margin.unwrap_or(0.0);
        let within = |(low, high): (f64, f64)| -margin <= low && high <= margin;
        let is_equal = match self.margin {
            Some(_) => both(&|shift| within(shift.interval(self.hidden))),
            None => self.is_constant,
        };
        let beyond = margin + self.hidden;
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
