// SPDX-License-Identifier: MIT OR Apache-2.0

//! One metric on both sides: its verdict, and what the verdict rests on.
//!
//! Figures of both sides and tests that were made come in; a [`Compared`] goes out.

use crate::judge::compare::sessions::Speed;
use crate::judge::figures::{Exact, MetricFigures};
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::order;
use crate::stream::run::Unit;

/// What a comparison concludes of a metric. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It costs more, beyond chance and by more than the margin.
    Regressed,
    /// It costs less, beyond chance and by more than the margin.
    Improved,
    /// Neither a change nor its absence is shown.
    Inconclusive,
    /// The whole interval of the ratio lies within the margin; or both sides are exactly equal.
    Equivalent,
    /// Measured on both sides, under conditions that differ.
    Incomparable,
    /// Only the base has a number.
    Missing,
    /// Only the new side has a number.
    Added,
}

impl Verdict {
    /// All of them, in the order of reports.
    pub const ALL: [Verdict; 7] = [
        Verdict::Regressed,
        Verdict::Improved,
        Verdict::Inconclusive,
        Verdict::Equivalent,
        Verdict::Incomparable,
        Verdict::Missing,
        Verdict::Added,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Regressed => "regressed",
            Verdict::Improved => "improved",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Equivalent => "equivalent",
            Verdict::Incomparable => "incomparable",
            Verdict::Missing => "missing",
            Verdict::Added => "added",
        }
    }

    /// Whether it says that something changed.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Regressed | Verdict::Improved)
    }
}

/// One side of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The geometric mean over replicates, of one operation: nanoseconds or instructions. Of
    /// values of which some are 0, and of exact or published figures, the median.
    pub value: f64,
    /// The median over replicates.
    pub median: f64,
    /// The interval of that median ([`order::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// Replicates with a number.
    pub replicates: usize,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Nothing was compared.
    None,
    /// Instructions, and the replicates of each side are equal sample by sample: any difference
    /// is real.
    Exact,
    /// The joint test over sessions.
    Test,
    /// A side is the summary of one process or boot: there is a ratio, and no test can judge it.
    Summary,
    /// Reading the clock, which says how fast the processor was: [`Speed`].
    Speed,
}

/// One quantity of a metric on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Which it is.
    pub quantity: Quantity,
    /// The base.
    pub base: Side,
    /// The new side.
    pub new: Side,
    /// New over base: of what was tested, the exponential of the mean difference of logarithms.
    pub ratio: Option<f64>,
    /// The interval of the ratio, with 95 % confidence.
    pub interval: Option<(f64, f64)>,
    /// The ratio in readings of the clock and its interval, where these are known.
    pub readings: Option<(f64, (f64, f64))>,
    /// The margin of the ratio, as a share: that of the comparison, or this metric's noise floor
    /// where that is more. `None` where there is no test of a ratio.
    pub margin: Option<f64>,
    /// The p value, adjusted for all quantities of its family; it counts from
    /// [`Quantity::level`] down. `None` without a test.
    pub p: Option<f64>,
    /// The least change that this comparison finds with the probability [`POWER`], as a share: 0
    /// of exact instructions. `None` where it can find none.
    pub resolution: Option<f64>,
    /// What it concludes.
    pub verdict: Verdict,
}

/// What of a metric was not judged, though samples may hide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The greatest percentile up to which every one is equivalent without having moved.
    pub equivalent_to: Option<Quantity>,
    /// The greatest percentile that was judged.
    pub judged_to: Option<Quantity>,
    /// Operations in a sample; where that is more than one, no single operation is seen.
    pub batch: u64,
}

/// One metric on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its id, not yet safe to show.
    pub id: String,
    /// The unit of the base, or of the new side where the base has no number.
    pub unit: Unit,
    /// Whether one side's port builds it of other primitives.
    pub is_idiom: bool,
    /// The base's median; `None` without a number.
    pub base: Option<Side>,
    /// The new side's; `None` without a number.
    pub new: Option<Side>,
    /// Each quantity that was compared, in the order of [`Quantity::ALL`].
    pub judged: Vec<Judged>,
    /// What the verdicts rest on.
    pub basis: Basis,
    /// What report and gate say: of the median, unless a tail regressed or improved.
    pub verdict: Verdict,
    /// The quantity that this is the verdict of.
    pub quantity: Quantity,
    /// What was judged.
    pub scope: Scope,
    /// Why there is no comparison, or what to know about this one; not yet safe to show.
    pub note: Option<String>,
    /// What published figures on one side call it.
    pub published_name: Option<PublishedName>,
    /// How much faster it became, where both sides are published figures: [`reference::improvement`].
    pub improvement: Option<f64>,
}

/// What another suite calls a metric, and how the two differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedName {
    /// Its name there, not yet safe to show.
    pub name: String,
    /// The difference; empty when there is none.
    pub note: String,
}

impl Compared {
    /// The quantity that the verdict is of.
    #[must_use]
    pub fn decisive(&self) -> Option<&Judged> {
        self.judgement_of(self.quantity)
    }

    /// What was concluded of a quantity.
    #[must_use]
    pub fn judgement_of(&self, quantity: Quantity) -> Option<&Judged> {
        self.judged.iter().find(|one| one.quantity == quantity)
    }
}

impl Compared {
    /// Chooses the verdict that stands for the metric, and says what it covers.
    pub(super) fn decide(&mut self) {
        let first = self.judgement_of(self.quantity);
        let of_first = first.map_or(Verdict::Inconclusive, |one| one.verdict);
        let changed = |verdict: Verdict| self.judged.iter().find(move |one| one.verdict == verdict);
        let decisive = changed(Verdict::Regressed).or_else(|| changed(Verdict::Improved));
        (self.verdict, self.quantity) = match decisive {
            Some(one) => (one.verdict, one.quantity),
            None => (of_first, self.quantity),
        };
        let percentiles = || {
            self.judged
                .iter()
                .filter(|one| one.quantity.share().is_some())
        };
        self.scope.judged_to = percentiles().map(|one| one.quantity).max();
        self.scope.equivalent_to = percentiles()
            .take_while(|one| one.verdict == Verdict::Equivalent && !one.has_moved())
            .map(|one| one.quantity)
            .last();
        self.note = self
            .note
            .take()
            .or_else(|| self.speed_note())
            .or_else(|| self.moved_note());
    }

    /// What to know of a metric that changed only in time, or only in readings of the clock.
    fn speed_note(&self) -> Option<String> {
        let one = self
            .decisive()
            .filter(|_| self.verdict == Verdict::Inconclusive)?;
        let (time, (readings, _), margin) = (one.ratio?, one.readings?, one.margin?);
        let beyond = |ratio: f64| ratio > 1.0 + margin || ratio < 1.0 / (1.0 + margin);
        let speed = time / readings;
        (beyond(time) != beyond(readings) && (speed - 1.0).abs() > margin / 2.0).then(|| {
            format!(
                "CPU speed differed (reading the clock took {} %), so we can't tell whether this \
                 changed",
                signed_percent(speed - 1.0)
            )
        })
    }

    /// Percentiles that moved beyond chance, but within their margins.
    fn moved_note(&self) -> Option<String> {
        let moved = self.judged.iter().filter(|one| {
            one.quantity.is_tail() && one.verdict == Verdict::Equivalent && one.has_moved()
        });
        let texts: Vec<String> = moved
            .filter_map(|one| {
                let (name, change) = (one.quantity.name(), signed_percent(one.ratio? - 1.0));
                Some(format!("{name} {change} %"))
            })
            .collect();
        (!texts.is_empty())
            .then(|| format!("{} beyond chance, within the margin", texts.join(", ")))
    }

    pub(super) fn judge_exact(&mut self, sides: [&Exact; 2], margin: f64) {
        self.basis = Basis::Exact;
        let (Some(base), Some(new)) = (self.base, self.new) else {
            return;
        };
        let (mut change, mut least) = (new.median - base.median, base.median.min(new.median));
        if change == 0.0 && sides[0] != sides[1] {
            let (from, to) = (sides[0].mean(), sides[1].mean());
            (change, least) = (to - from, from.min(to));
            self.note = Some(format!(
                "the median is equal, the mean is not: {from:.2} is now {to:.2}"
            ));
        }
        self.verdict = if change.abs() <= margin * least {
            Verdict::Equivalent
        } else if change > 0.0 {
            Verdict::Regressed
        } else {
            Verdict::Improved
        };
        let has_ratio = base.median > 0.0 && new.median > 0.0;
        let ratio = has_ratio.then(|| new.median / base.median);
        self.scope.batch = sides[0].batch;
        self.judged.push(Judged {
            quantity: Quantity::P50,
            base,
            new,
            ratio,
            interval: ratio.map(|ratio| (ratio, ratio)),
            readings: None,
            margin: None,
            p: None,
            resolution: Some(0.0),
            verdict: self.verdict,
        });
    }

    pub(super) fn judge_summary(&mut self) {
        self.basis = Basis::Summary;
        self.verdict = Verdict::Inconclusive;
        let why = "one side sums up a single process or boot, which no test can judge";
        self.note = Some(why.to_owned());
        self.judge_by_ratio();
    }

    pub(super) fn judge_speed(&mut self, speed: &Speed) {
        let Speed::Known {
            ratio,
            interval: (low, high),
            margin,
        } = *speed
        else {
            return;
        };
        let is_steady = low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin;
        self.verdict = if is_steady {
            Verdict::Equivalent
        } else {
            Verdict::Inconclusive
        };
        self.scope.judged_to = Some(Quantity::P50);
        self.scope.equivalent_to = self.scope.judged_to;
        self.judge_by_ratio();
        if let Some(one) = self.judged.first_mut() {
            one.ratio = Some(ratio);
            one.interval = Some((low, high));
            one.margin = Some(margin);
        }
        if speed.change().is_some() {
            self.note = Some("this follows the processor's speed, which changed".to_owned());
        }
    }

    /// The medians of both sides and their quotient, without a test.
    fn judge_by_ratio(&mut self) {
        let (Some(base), Some(new)) = (self.base, self.new) else {
            return;
        };
        let ratio = new.median / base.median;
        self.judged.push(Judged {
            quantity: Quantity::P50,
            base,
            new,
            ratio: Some(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0),
            interval: None,
            readings: None,
            margin: None,
            p: None,
            resolution: None,
            verdict: self.verdict,
        });
    }
}

impl Judged {
    /// Whether a change is significant, whatever its size.
    fn has_moved(&self) -> bool {
        self.p.is_some_and(|p| p <= self.quantity.level())
    }
}

/// `+3.5`, for a share of 0.035.
fn signed_percent(share: f64) -> String {
    format!("{:+.1}", 100.0 * share)
}

/// One side of a quantity; `None` without a number.
pub(super) fn side(metric: &MetricFigures, quantity: Quantity) -> Option<Side> {
    let values: Vec<f64> = metric.values(quantity).map(|(_, value)| value).collect();
    let median = order::median(&values).filter(|_| metric.status == Status::Ok)?;
    let is_mean = metric.exact.is_none() && !metric.is_summary;
    let mean = order::geometric_mean(&values).filter(|_| is_mean);
    Some(Side {
        value: mean.unwrap_or(median),
        median,
        interval: order::median_interval(&values),
        replicates: values.len(),
    })
}
