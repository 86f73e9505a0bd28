// SPDX-License-Identifier: MIT OR Apache-2.0

//! The result for one metric: its verdict, and what the verdict is based on.
//!
//! The figures of both sides and the tests of their quantities come in; a [`Compared`] goes out.

use crate::judge::compare::sessions::Speed;
use crate::judge::figures::{Exact, MetricFigures};
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::judge::why::{Difference, Unknown};
use crate::statistics::{means, order};
use crate::stream::run::{Run, Unit};

/// The conclusion about a metric. Reports sort by this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It costs more: the change is significant and beyond the margin.
    Regressed,
    /// It costs less: the change is significant and beyond the margin.
    Improved,
    /// The data shows neither a change nor equivalence.
    Inconclusive,
    /// The whole interval of the ratio is within the margin, or both sides are exactly equal.
    Equivalent,
    /// Both sides have a value, but were measured under different conditions.
    Incomparable,
    /// Only the base has a value.
    Missing,
    /// Only the new side has a value.
    Added,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Verdict; 7] = [
        Verdict::Regressed,
        Verdict::Improved,
        Verdict::Inconclusive,
        Verdict::Equivalent,
        Verdict::Incomparable,
        Verdict::Missing,
        Verdict::Added,
    ];

    /// The name in reports and in JSON.
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

    /// Whether the metric changed.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Regressed | Verdict::Improved)
    }
}

/// The values of a quantity on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The geometric mean over replicates, of one operation, in nanoseconds or instructions. The
    /// median if a value is 0, and for exact or published figures.
    pub value: f64,
    /// The median over replicates.
    pub median: f64,
    /// The confidence interval of that median ([`order::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// The number of replicates with a value.
    pub replicates: usize,
}

/// What a verdict is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Nothing was compared.
    None,
    /// Instructions: the replicates of each side are equal sample by sample, so any difference is
    /// real.
    Exact,
    /// The joint test over sessions, and Welch's test.
    Test,
    /// One side summarises a single process or boot: there is a ratio, but no test is possible.
    Summary,
    /// The cost of reading the clock, which shows the processor's speed ([`Speed`]).
    Speed,
}

/// The judgement of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The quantity.
    pub quantity: Quantity,
    /// The base side.
    pub base: Side,
    /// The new side.
    pub new: Side,
    /// The ratio new / base. If it was tested: the exponential of the mean difference of logarithms.
    pub ratio: Option<f64>,
    /// The 95 % confidence interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// The ratio in readings of the clock, with its interval, if the sessions measured the clock.
    pub readings: Option<(f64, (f64, f64))>,
    /// The margin of the ratio, as a share: the requested margin, or the metric's noise floor if that
    /// is larger. `None` if no ratio was tested.
    pub margin: Option<f64>,
    /// The p value, adjusted for all quantities of the family. At or below [`Quantity::level`] it is
    /// significant. `None` without a test.
    pub p: Option<f64>,
    /// The smallest change that this comparison detects with the probability
    /// [`POWER`](crate::judge::compare::POWER), as a share; 0 for exact instructions. `None` if it
    /// cannot detect any change.
    pub resolution: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
}

/// How far the judgement of a metric reaches: the samples may hide changes beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The greatest percentile up to which all percentiles are equivalent, without a significant
    /// change.
    pub equivalent_to: Option<Quantity>,
    /// The greatest percentile that was judged.
    pub judged_to: Option<Quantity>,
    /// Operations in a sample; if it is more than one, a sample hides single operations.
    pub batch: u64,
}

/// The comparison of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The metric's id (untrusted text).
    pub id: String,
    /// The unit of the base, or of the new side if the base has no value.
    pub unit: Unit,
    /// Whether a port builds it from other primitives, on at least one side.
    pub is_idiom: bool,
    /// The median of the base; `None` without a value.
    pub base: Option<Side>,
    /// The median of the new side; `None` without a value.
    pub new: Option<Side>,
    /// Each quantity that was compared, in the order of [`Quantity::ALL`].
    pub judged: Vec<Judged>,
    /// What the verdict is based on.
    pub basis: Basis,
    /// The verdict for report and gate: that of the median, unless a tail regressed or improved.
    pub verdict: Verdict,
    /// The quantity that has this verdict.
    pub quantity: Quantity,
    /// How far the judgement reaches.
    pub scope: Scope,
    /// Why there is no comparison, or a remark on it (untrusted text).
    pub note: Option<String>,
    /// Where it changed. `None` unless it is a change of counted instructions.
    pub why: Option<Result<Difference, Unknown>>,
    /// What published figures on one side call this metric.
    pub published_name: Option<PublishedName>,
    /// How much faster it became, if both sides are published figures
    /// ([`improvement`](crate::files::reference::improvement)).
    pub improvement: Option<f64>,
}

/// What another suite calls a metric, and how its benchmark differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedName {
    /// The name in that suite (untrusted text).
    pub name: String,
    /// The difference; empty if there is none.
    pub note: String,
}

impl Compared {
    /// The judgement of the quantity that decided the verdict.
    #[must_use]
    pub fn decisive(&self) -> Option<&Judged> {
        self.judgement_of(self.quantity)
    }

    /// The judgement of a quantity.
    #[must_use]
    pub fn judgement_of(&self, quantity: Quantity) -> Option<&Judged> {
        self.judged.iter().find(|one| one.quantity == quantity)
    }

    /// Finds out where it changed, by the paths in both runs.
    pub(super) fn find_out_where(&mut self, [base, new]: [&Run; 2]) {
        let sides = self.base.zip(self.new);
        let is_counted = self.verdict.is_change() && self.unit == Unit::Instructions;
        let change = sides.filter(|_| is_counted);
        let change = change.map(|(base, new)| new.median - base.median);
        self.why = change.map(|change| Difference::between(base, new, &self.id, change));
    }

    /// Chooses the verdict of the metric and determines how far it reaches.
    pub(super) fn choose_verdict(&mut self) {
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
            .take_while(|one| one.verdict == Verdict::Equivalent && !one.is_significant())
            .map(|one| one.quantity)
            .last();
        self.note = self
            .note
            .take()
            .or_else(|| self.speed_note())
            .or_else(|| self.within_margin_note());
    }

    /// A remark on a metric that changed in time only, or in readings of the clock only.
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

    /// A remark on percentiles that changed significantly, but within their margins.
    fn within_margin_note(&self) -> Option<String> {
        let changed = self.judged.iter().filter(|one| {
            one.quantity.is_tail() && one.verdict == Verdict::Equivalent && one.is_significant()
        });
        let texts: Vec<String> = changed
            .filter_map(|one| {
                let (name, change) = (one.quantity.name(), signed_percent(one.ratio? - 1.0));
                Some(format!("{name} {change} %"))
            })
            .collect();
        (!texts.is_empty())
            .then(|| format!("{}: significant, but within the margin", texts.join(", ")))
    }

    /// Judges exact instructions: any difference beyond the margin is real. If the medians are equal,
    /// the means decide.
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
                "the medians are equal, but the mean was {from:.2} and is now {to:.2}"
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

    /// Records the ratio of a metric that no test can judge.
    pub(super) fn judge_summary(&mut self) {
        self.basis = Basis::Summary;
        self.verdict = Verdict::Inconclusive;
        let why = "one side summarises a single process or boot, so no test is possible";
        self.note = Some(why.to_owned());
        self.judge_by_ratio();
    }

    /// Judges the cost of reading the clock, which shows the processor's speed.
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
            self.note = Some("this follows CPU speed, which changed".to_owned());
        }
    }

    /// Records both medians and their ratio, without a test.
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
    /// Whether the change is significant, whatever its size.
    fn is_significant(&self) -> bool {
        self.p.is_some_and(|p| p <= self.quantity.level())
    }
}

/// A share as a percentage with a sign: 0.035 gives `+3.5`.
fn signed_percent(share: f64) -> String {
    format!("{:+.1}", 100.0 * share)
}

/// The values of a quantity on one side; `None` without a value.
pub(super) fn side(metric: &MetricFigures, quantity: Quantity) -> Option<Side> {
    let values: Vec<f64> = metric.values(quantity).map(|(_, value)| value).collect();
    let median = order::median(&values).filter(|_| metric.status == Status::Ok)?;
    let is_mean = metric.exact.is_none() && !metric.is_summary;
    let mean = means::geometric_mean(&values).filter(|_| is_mean);
    Some(Side {
        value: mean.unwrap_or(median),
        median,
        interval: order::median_interval(&values),
        replicates: values.len(),
    })
}
