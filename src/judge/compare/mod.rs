// SPDX-License-Identifier: MIT OR Apache-2.0

//! Did it change? Two sides of replicates, metric by metric, each with a verdict.
//!
//! Two runs come in; a [`Comparison`] goes out. The method and its limits are in `doc/method.md`,
//! section "Comparing".

use std::collections::{BTreeMap, HashMap};

use crate::files::reference;
use crate::judge::conditions::{differences, Condition, Difference};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::floors::Floors;
use crate::judge::pairing::{Blocks, Pair};
use crate::judge::quantity::{Margins, Quantity, MEDIANS_LEVEL};
use crate::judge::summary::Status;
use crate::statistics::order;
use crate::statistics::permutation::{least_p, Design, Joint, Series, Shift};
use crate::stream::run::{Run, Statistic, Unit, CLOCK};

/// A resolution is the least change that is found with this probability.
pub const POWER: f64 = 0.8;
/// The standard normal quantile of [`POWER`].
const POWER_QUANTILE: f64 = 0.841_621;
/// The most replicates that are advised.
const MOST_REPLICATES: usize = 1000;

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

/// What is to be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// Only what was measured on the same machine in the same configuration.
    #[default]
    Alike,
    /// Also what was not; never instructions with time.
    Across,
}

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The margins that were asked for.
    pub margins: Margins,
    /// What is compared.
    pub conditions: Conditions,
    /// What is judged of each metric, in the order of [`Quantity::ALL`].
    pub quantities: Vec<Quantity>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            margins: Margins::default(),
            conditions: Conditions::default(),
            quantities: Quantity::ALL.to_vec(),
        }
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
    pub elsewhere: Option<Elsewhere>,
    /// How much faster it became, where both sides are published figures: [`reference::improvement`].
    pub improvement: Option<f64>,
}

/// What another suite calls a metric, and how the two differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name there, not yet safe to show.
    pub name: String,
    /// The difference; empty when there is none.
    pub note: String,
}

/// Whether the processor was as fast on both sides. Reading the clock follows its speed, and no
/// kernel has a part in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// It is not separated from what the kernel does; why, in a sentence.
    Unknown(&'static str),
    /// What one reading of the clock costs now.
    Known {
        /// New over base: above 1 the processor is slower.
        ratio: f64,
        /// Its interval, with 95 % confidence.
        interval: (f64, f64),
        /// The margin, as a share.
        margin: f64,
    },
}

impl Speed {
    /// By how much reading the clock changed, as a share, where the whole interval lies beyond the
    /// margin.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        let Speed::Known {
            ratio,
            interval: (low, high),
            margin,
        } = self
        else {
            return None;
        };
        let is_beyond = *low > 1.0 + margin || *high < 1.0 / (1.0 + margin);
        is_beyond.then_some(ratio - 1.0)
    }
}

/// What a comparison can find: over the medians of all metrics that have one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Half of the metrics would show a change of this size or less, as a share; `None` where half
    /// of them can show none at all.
    pub median: Option<f64>,
    /// All of the metrics would show a change of this size; `None` where one can show none.
    pub worst: Option<f64>,
    /// The metrics that can show no change at all.
    pub blind: usize,
}

/// Two runs, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Every metric that one side has a number of, in the order of the base.
    pub metrics: Vec<Compared>,
    /// How many medians were tested: the family.
    pub family: usize,
    /// How many percentiles and first operations were tested: the other family.
    pub tails: usize,
    /// The margins of what was tested; that of a metric can be wider.
    pub margins: Margins,
    /// What is judged of each metric.
    pub quantities: Vec<Quantity>,
    /// The blocks that the test kept to, where the sides were measured interleaved.
    pub blocks: Option<usize>,
    /// Where the noise floors come from that widened margins.
    pub floors: Vec<String>,
    /// Conditions in which the sides differ.
    pub differences: Vec<Difference>,
    /// How the sides were compared where conditions differ.
    pub conditions: Conditions,
    /// Whether the processor was as fast.
    pub speed: Speed,
    /// What could have been found; `None` where nothing was compared.
    pub resolution: Option<Resolution>,
    /// Sessions of the base and of the new side that were left out, because they did not measure
    /// the clock.
    pub without_clock: [usize; 2],
    /// What published figures add to it, in sentences.
    pub published: Vec<String>,
    /// How much each metric varies between sessions, for [`Comparison::enough_for`].
    spreads: Vec<Spread>,
}

/// How much a median varies between sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    /// The standard deviation of its logarithm.
    deviation: f64,
    /// The margin, and what a tick hides, of the logarithm.
    margin: f64,
}

impl Comparison {
    /// Compares the replicates of two runs, without noise floors.
    #[must_use]
    pub fn of(base: &Run, new: &Run, options: &Options) -> Self {
        Self::with_floors(base, new, options, &Floors::default())
    }

    /// Compares the replicates of two runs.
    #[must_use]
    pub fn with_floors(base: &Run, new: &Run, options: &Options, floors: &Floors) -> Self {
        let figures = [RunFigures::of(base), RunFigures::of(new)];
        Self::of_figures([base, new], figures.each_ref(), options, floors)
    }

    /// Compares the figures of two runs, whose samples are not needed any more. Two that were
    /// measured interleaved are compared also where conditions differ: whoever measured them so
    /// asked for it.
    #[must_use]
    pub fn of_figures(
        runs: [&Run; 2],
        figures: [&RunFigures; 2],
        options: &Options,
        floors: &Floors,
    ) -> Self {
        let differences = differences(runs[0], runs[1]);
        let pair = Pair::of(runs[0], runs[1]);
        let blocks = pair.as_ref().and_then(|pair| pair.blocks.as_ref());
        let conditions = match pair {
            Some(_) => Conditions::Across,
            None => options.conditions,
        };
        let clocks = Clocks::of(figures, &differences);
        let sessions = Sessions::of(figures, &clocks, blocks);
        let judge = Judge {
            options,
            floors,
            conditions,
            differences: &differences,
            clocks: &clocks,
            sessions: &sessions,
        };
        let mut drafts = judge.drafts(figures);
        let families = [false, true].map(|tails| judge.test(&mut drafts, tails));
        let spread = |draft: &Draft| draft.spread(options.quantities[0]);
        let spreads = drafts.iter().filter_map(spread).collect();
        let metrics: Vec<Compared> = drafts.into_iter().map(Draft::conclude).collect();
        Comparison {
            resolution: resolution(&metrics, options.quantities[0]),
            metrics,
            family: families[0],
            tails: families[1],
            margins: options.margins,
            quantities: options.quantities.clone(),
            blocks: blocks.map(|blocks| blocks.shared),
            floors: floors.sources().to_vec(),
            differences: differences.clone(),
            conditions,
            speed: sessions.speed(&clocks, options.margins.of(Quantity::P50)),
            without_clock: sessions.left_out,
            published: Vec::new(),
            spreads,
        }
    }

    /// Gives metrics that were compared under the ids of published figures their own names.
    pub fn name_both(&mut self, pairs: &[reference::Pair]) {
        for metric in &mut self.metrics {
            if let Some(pair) = pairs.iter().find(|pair| pair.id == metric.id) {
                metric.id.clone_from(&pair.metric);
                metric.elsewhere = Some(Elsewhere {
                    name: pair.benchmark.clone(),
                    note: pair.note.clone(),
                });
            }
        }
    }

    /// Says of each metric how much faster it became, as suites publish it.
    pub fn add_improvements(&mut self) {
        for metric in &mut self.metrics {
            let sides = metric.base.zip(metric.new);
            metric.improvement =
                sides.map(|(base, new)| reference::improvement(base.median, new.median));
        }
    }

    /// How many metrics have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.verdict == verdict).count()
    }

    /// Whether any metric was compared at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metrics.iter().all(|m| m.basis == Basis::None)
    }

    /// The replicates on each side with which half of the metrics would show a change of this
    /// size; `None` where a thousand do not suffice, or where no replicates would help.
    #[must_use]
    pub fn enough_for(&self, change: f64) -> Option<usize> {
        if self.spreads.is_empty() {
            return None;
        }
        let half = self.spreads.len().div_ceil(2);
        (2..=MOST_REPLICATES).find(|replicates| {
            let error = (2.0 / *replicates as f64).sqrt();
            if least_p(&[(*replicates, *replicates)]) > MEDIANS_LEVEL {
                return false;
            }
            let level = MEDIANS_LEVEL / self.spreads.len() as f64;
            let freedom = 2.0 * (*replicates as f64) - 2.0;
            let Some(critical) = order::t_two_sided(level, freedom) else {
                return false;
            };
            let finds = |spread: &&Spread| {
                least_change(critical, error * spread.deviation, spread.margin) <= change
            };
            self.spreads.iter().filter(finds).count() >= half
        })
    }
}

impl Compared {
    /// The quantity that the verdict is of.
    #[must_use]
    pub fn decisive(&self) -> Option<&Judged> {
        self.judged_as(self.quantity)
    }

    /// What was concluded of a quantity.
    #[must_use]
    pub fn judged_as(&self, quantity: Quantity) -> Option<&Judged> {
        self.judged.iter().find(|one| one.quantity == quantity)
    }
}

/// The least change that is found with the probability [`POWER`], as a share: significant, and
/// beyond the margin.
fn least_change(critical: f64, error: f64, margin: f64) -> f64 {
    ((critical * error).max(margin) + POWER_QUANTILE * error).exp_m1()
}

/// What one reading of the clock took in each session that measured it.
struct Clocks {
    /// Logarithms of nanoseconds, for the base and the new side.
    of: [BTreeMap<usize, f64>; 2],
    /// Why the speed of the processor is not separated; `None` where it is.
    unknown: Option<&'static str>,
}

impl Clocks {
    fn of(figures: [&RunFigures; 2], differences: &[Difference]) -> Self {
        let of = figures.map(|run| -> BTreeMap<usize, f64> {
            let mut metrics = run.metrics.iter();
            let clock = metrics.find(|m| m.id == CLOCK && m.unit == Unit::Cycles);
            let values = clock.into_iter().flat_map(|m| m.values(Quantity::P50));
            let values = values.filter(|(_, value)| *value > 0.0);
            values
                .map(|(session, value)| (session, value.ln()))
                .collect()
        });
        let is_time = figures
            .iter()
            .all(|run| run.metrics.iter().any(|m| m.unit == Unit::Cycles));
        let unknown = if !is_time {
            Some("what was measured is not time")
        } else if differences.iter().any(|d| d.of == Condition::Machine) {
            Some("the machines differ, so their speed is part of what is compared")
        } else if of.iter().any(|side| side.len() < 2) {
            Some(
                "fewer than two sessions of a side measured clock.read, so a change of the \
                 processor's speed looks like a change of the kernel",
            )
        } else {
            None
        };
        Clocks { of, unknown }
    }

    fn is_known(&self) -> bool {
        self.unknown.is_none()
    }
}

/// The sessions of both sides that are compared: first the base's, then the new side's.
struct Sessions {
    /// Side (0 or 1) and index into the run's sessions.
    all: Vec<(usize, usize)>,
    /// Where a side's session stands in `all`.
    places: [HashMap<usize, usize>; 2],
    design: Design,
    /// What one reading of the clock took in each, where the speed is separated.
    clock: Option<Vec<f64>>,
    left_out: [usize; 2],
}

impl Sessions {
    fn of(figures: [&RunFigures; 2], clocks: &Clocks, blocks: Option<&Blocks>) -> Self {
        let mut all = Vec::new();
        let mut left_out = [0; 2];
        for (side, run) in figures.iter().enumerate() {
            let mut measured = vec![false; run.sessions];
            for replicate in run.metrics.iter().flat_map(|m| &m.replicates) {
                measured[replicate.session] = true;
            }
            for session in (0..run.sessions).filter(|session| measured[*session]) {
                if clocks.is_known() && !clocks.of[side].contains_key(&session) {
                    left_out[side] += 1;
                } else {
                    all.push((side, session));
                }
            }
        }
        let is_new = all.iter().map(|(side, _)| *side == 1).collect();
        let of_block = |(side, session): &(usize, usize)| {
            blocks.map_or(0, |blocks| blocks.of[*side][*session])
        };
        let numbers: Vec<usize> = all.iter().map(of_block).collect();
        let mut places: [HashMap<usize, usize>; 2] = Default::default();
        for (place, (side, session)) in all.iter().enumerate() {
            places[*side].insert(*session, place);
        }
        let reading = |(side, session): &(usize, usize)| clocks.of[*side].get(session).copied();
        Sessions {
            design: Design::new(is_new, blocks.map(|_| &numbers[..])),
            clock: clocks.is_known().then(|| {
                all.iter()
                    .map(reading)
                    .map(|one| one.unwrap_or(f64::NAN))
                    .collect()
            }),
            all,
            places,
            left_out,
        }
    }

    /// A quantity of a metric in each session; NaN where a session does not have it.
    fn values(&self, sides: [&MetricFigures; 2], quantity: Quantity) -> Vec<f64> {
        let mut values = vec![f64::NAN; self.all.len()];
        for (side, metric) in sides.into_iter().enumerate() {
            for (session, value) in metric.values(quantity) {
                if let Some(place) = self.places[side].get(&session) {
                    values[*place] = value;
                }
            }
        }
        values
    }

    fn speed(&self, clocks: &Clocks, margin: f64) -> Speed {
        if let Some(why) = clocks.unknown {
            return Speed::Unknown(why);
        }
        let clock = self.clock.as_ref();
        let Some(shift) = clock.and_then(|clock| self.design.difference(clock, 0.0)) else {
            return Speed::Unknown("the sessions are too few to compare their speed");
        };
        let (low, high) = shift.interval(0.0);
        Speed::Known {
            ratio: shift.estimate.exp(),
            interval: (low.exp(), high.exp()),
            margin,
        }
    }
}

impl Shift {
    /// The interval of the difference with the confidence [`order::CONFIDENCE`], wider by what a
    /// tick hides.
    fn interval(&self, hidden: f64) -> (f64, f64) {
        let t = order::t_two_sided(1.0 - order::CONFIDENCE, self.freedom);
        let reach = t.unwrap_or(f64::INFINITY) * self.error + hidden;
        (self.estimate - reach, self.estimate + reach)
    }

    /// The two-sided p value of Welch's test that there is no difference.
    fn p(&self) -> f64 {
        if self.estimate == 0.0 {
            return 1.0;
        }
        order::t_probability(self.estimate / self.error, self.freedom)
    }
}

/// What is to be tested of a quantity.
struct Trial {
    quantity: Quantity,
    sides: [Side; 2],
    /// Logarithms where there is a ratio.
    series: Series,
    time: Shift,
    readings: Option<Shift>,
    /// The margin of the logarithm; `None` where there is no ratio.
    margin: Option<f64>,
    /// By how much a tick may hide or fake a difference.
    hidden: f64,
    /// Whether all values of both sides are the same.
    is_constant: bool,
    /// The adjusted p value and the statistic that a single change has to reach.
    found: Option<(f64, f64)>,
}

/// A metric whose verdict waits for the other tests.
struct Draft {
    metric: Compared,
    trials: Vec<Trial>,
}

struct Judge<'a> {
    options: &'a Options,
    floors: &'a Floors,
    conditions: Conditions,
    differences: &'a [Difference],
    clocks: &'a Clocks,
    sessions: &'a Sessions,
}

impl Judge<'_> {
    fn drafts(&self, [base, new]: [&RunFigures; 2]) -> Vec<Draft> {
        let by_id = |run: &RunFigures| -> HashMap<String, usize> {
            let ids = run.metrics.iter().map(|metric| metric.id.clone());
            ids.zip(0..).collect()
        };
        let (in_base, in_new) = (by_id(base), by_id(new));
        let mut drafts = Vec::new();
        for metric in &base.metrics {
            let new = in_new.get(&metric.id).map(|at| &new.metrics[*at]);
            drafts.extend(self.draft(Some(metric), new));
        }
        for metric in &new.metrics {
            if !in_base.contains_key(&metric.id) {
                drafts.extend(self.draft(None, Some(metric)));
            }
        }
        drafts
    }

    /// `None` when neither side has a number.
    fn draft(&self, base: Option<&MetricFigures>, new: Option<&MetricFigures>) -> Option<Draft> {
        let measured = |side: Option<&MetricFigures>| side.is_some_and(|m| m.status == Status::Ok);
        let any = base.filter(|_| measured(base)).or(new)?;
        let side_of = |of: Option<&MetricFigures>| of.and_then(|m| side(m, Quantity::P50));
        let metric = Compared {
            id: any.id.clone(),
            unit: any.unit,
            is_idiom: base.into_iter().chain(new).any(|side| side.is_idiom),
            base: side_of(base),
            new: side_of(new),
            judged: Vec::new(),
            basis: Basis::None,
            verdict: Verdict::Incomparable,
            quantity: Quantity::P50,
            scope: Scope::default(),
            note: None,
            elsewhere: None,
            improvement: None,
        };
        let alone = |verdict: Verdict, note: String| {
            Some(Draft {
                metric: Compared {
                    verdict,
                    note: Some(note),
                    ..metric.clone()
                },
                trials: Vec::new(),
            })
        };
        let sides = match (measured(base), measured(new)) {
            (false, false) => return None,
            (true, false) => {
                let why = new.map_or_else(|| "not in new".to_owned(), MetricFigures::absence);
                return alone(Verdict::Missing, why);
            }
            (false, true) => {
                let why = base.map_or_else(|| "not in base".to_owned(), MetricFigures::absence);
                return alone(Verdict::Added, why);
            }
            (true, true) => [base?, new?],
        };
        if let Some(why) = self.obstacle(sides) {
            return alone(Verdict::Incomparable, why);
        }
        let mut draft = Draft {
            metric,
            trials: Vec::new(),
        };
        if let [Some(base), Some(new)] = sides.map(|side| side.exact.as_ref()) {
            draft
                .metric
                .judge_exact([base, new], self.options.margins.of_exact());
        } else if sides.iter().any(|side| side.is_summary) {
            draft.metric.judge_summary();
        } else if any.id == CLOCK && self.clocks.is_known() {
            draft.metric.basis = Basis::Speed;
            draft.metric.judge_speed(
                &self
                    .sessions
                    .speed(self.clocks, self.options.margins.of(Quantity::P50)),
            );
        } else {
            self.prepare(&mut draft, sides);
        }
        Some(draft)
    }

    /// Prepares the test of each quantity that both sides have.
    fn prepare(&self, draft: &mut Draft, sides: [&MetricFigures; 2]) {
        draft.metric.basis = Basis::Test;
        draft.metric.verdict = Verdict::Inconclusive;
        draft.metric.quantity = self.options.quantities[0];
        let batches = sides.iter().flat_map(|side| &side.replicates);
        draft.metric.scope.batch = batches.map(|one| one.batch).max().unwrap_or(1);
        let trials = self.options.quantities.iter();
        draft.trials = trials
            .filter_map(|quantity| self.trial(&draft.metric.id, sides, *quantity))
            .collect();
        if !draft
            .trials
            .iter()
            .any(|one| one.quantity == draft.metric.quantity)
        {
            let name = draft.metric.quantity.name();
            let why = format!("a test of {name} needs two replicates with {name} on each side");
            draft.metric.note = Some(why);
        }
    }

    /// `None` below two values on a side.
    fn trial(&self, id: &str, sides: [&MetricFigures; 2], quantity: Quantity) -> Option<Trial> {
        let mut values = self.sessions.values(sides, quantity);
        let has_ratio = values.iter().all(|value| value.is_nan() || *value > 0.0);
        let mut known = values.iter().filter(|value| !value.is_nan());
        let first = known.next().copied();
        let is_constant = known.all(|value| Some(*value) == first);
        let shown = [side(sides[0], quantity)?, side(sides[1], quantity)?];
        let clock = self.sessions.clock.as_ref();
        if has_ratio {
            for value in &mut values {
                *value = value.ln();
            }
        }
        let readings = clock.map(|clock| {
            let both = values.iter().zip(clock);
            let of = |(value, reading): (&f64, &f64)| {
                if has_ratio {
                    value - reading
                } else {
                    value / reading.exp()
                }
            };
            both.map(of).collect::<Vec<f64>>()
        });
        // Of logarithms a tick is a share of the value.
        let greatest = |ticks: fn(&MetricFigures, Quantity) -> f64| {
            let both = sides.iter().zip(&shown);
            let ticks = both.map(|(side, shown)| {
                ticks(side, quantity) / if has_ratio { shown.value } else { 1.0 }
            });
            ticks.fold(0.0, f64::max)
        };
        let (hidden, tick) = (greatest(hidden_ticks), greatest(|side, _| one_tick(side)));
        let margin = has_ratio.then(|| {
            let margin = self.options.margins.of(quantity);
            margin.max(self.floors.of(id, quantity)).ln_1p()
        });
        // What a tick hides is no normal error; as one it is half of its greatest size.
        let floor = 0.5 * hidden.max(WITHIN_A_TICK * tick);
        let design = &self.sessions.design;
        let time = design.difference(&values, floor)?;
        let in_readings = match &readings {
            Some(readings) => Some(design.difference(readings, floor)?),
            None => None,
        };
        Some(Trial {
            quantity,
            sides: shown,
            series: Series {
                values,
                readings,
                floor,
            },
            time,
            readings: in_readings,
            margin,
            hidden,
            is_constant,
            found: None,
        })
    }

    /// Tests one family and keeps what was found; returns its size.
    fn test(&self, drafts: &mut [Draft], tails: bool) -> usize {
        let mut family: Vec<&mut Trial> = drafts
            .iter_mut()
            .flat_map(|draft| &mut draft.trials)
            .filter(|trial| trial.quantity.is_tail() == tails)
            .collect();
        let Some(first) = family.first() else {
            return 0;
        };
        let level = first.quantity.level();
        let series: Vec<Series> = family
            .iter_mut()
            .map(|trial| std::mem::replace(&mut trial.series, Series::empty()))
            .collect();
        let joint = self.sessions.design.test(&series);
        limit_freedom(&mut family);
        let p_of = |p: &dyn Fn(&Trial) -> f64| -> Vec<f64> {
            order::holm(&family.iter().map(|trial| p(trial)).collect::<Vec<f64>>())
        };
        let time = p_of(&|trial| trial.time.p());
        let readings = p_of(&|trial| trial.readings.map_or(0.0, |readings| readings.p()));
        let critical = self.critical(&joint, level);
        for (at, trial) in family.iter_mut().enumerate() {
            let p = joint.p[at].max(time[at]).max(readings[at]);
            trial.found = Some((p, critical));
        }
        family.len()
    }

    /// The statistic that a single change has to reach by the joint test: infinite where there are
    /// too few sessions for any.
    fn critical(&self, joint: &Joint, level: f64) -> f64 {
        if self.sessions.design.least_p() > level {
            f64::INFINITY
        } else {
            joint.critical(level)
        }
    }

    /// Why two sides with a number are not compared.
    fn obstacle(&self, [base, new]: [&MetricFigures; 2]) -> Option<String> {
        if base.unit != new.unit {
            let never = match (base.unit, new.unit) {
                (Unit::Cycles | Unit::Ticks, Unit::Cycles | Unit::Ticks) => {
                    "cycles of a clock of unknown frequency are never compared with time"
                }
                _ => "instructions are never compared with time",
            };
            return Some(never.to_owned());
        }
        if base.replicates.is_empty() || new.replicates.is_empty() {
            return Some("the clock does not say how many of its ticks a second has".to_owned());
        }
        if base.statistic != new.statistic && self.conditions == Conditions::Alike {
            let [base, new] = [base.statistic, new.statistic].map(Statistic::name);
            return Some(format!("the {base} of samples is now their {new}"));
        }
        if self.conditions == Conditions::Across {
            return None;
        }
        let matters =
            |d: &&Difference| base.unit != Unit::Instructions || d.of != Condition::Machine;
        let reasons: Vec<String> = self
            .differences
            .iter()
            .filter(matters)
            .map(Difference::reason)
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// Takes the degrees of freedom of each test for no more than what the whole family says of how much
/// one side scatters ([`Shift::limit_freedom`]).
fn limit_freedom(family: &mut [&mut Trial]) {
    let median = |shift: fn(&Trial) -> Option<Shift>| {
        let shifts = family.iter().filter_map(|trial| shift(trial));
        let ratios: Vec<f64> = shifts.filter_map(|s| s.log_variance_ratio()).collect();
        order::median(&ratios)
    };
    let (time, readings) = (
        median(|trial| Some(trial.time)),
        median(|trial| trial.readings),
    );
    for trial in family {
        if let Some(ratio) = time {
            trial.time.limit_freedom(ratio);
        }
        if let (Some(ratio), Some(shift)) = (readings, trial.readings.as_mut()) {
            shift.limit_freedom(ratio);
        }
    }
}

/// An interpolated median is at most so many ticks off the truth
/// ([`crate::stream::histogram::Histogram::interpolated_median`]).
const WITHIN_A_TICK: f64 = 0.09;
/// Values lie within one tick of each other up to this many; the rest is rounding.
const ONE_TICK: f64 = 1.001;

/// One tick of the clock, of one operation: the greatest of the replicates.
fn one_tick(metric: &MetricFigures) -> f64 {
    let ticks = metric.replicates.iter().map(|one| one.tick);
    ticks.fold(0.0, f64::max)
}

/// By how much a tick may hide or fake a difference of this quantity, in its unit. Where nearly all
/// samples have one value, the truth may lie anywhere within a tick of it. Order statistics are
/// whole ticks; where replicates scatter by more than one, their mean is finer than that.
fn hidden_ticks(metric: &MetricFigures, quantity: Quantity) -> f64 {
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
    fn empty() -> Self {
        Series {
            values: Vec::new(),
            readings: None,
            floor: 0.0,
        }
    }
}

impl Trial {
    fn judge(self) -> Judged {
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
    fn error(&self) -> f64 {
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

impl Draft {
    /// How much a quantity varies between sessions; `None` where it was not tested.
    fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let trial = self.trials.iter().find(|t| t.quantity == quantity)?;
        let [base, new] = trial.sides.map(|side| side.replicates as f64);
        Some(Spread {
            deviation: trial.error() / (1.0 / base + 1.0 / new).sqrt(),
            margin: trial.margin? + trial.hidden,
        })
    }

    fn conclude(self) -> Compared {
        let mut metric = self.metric;
        if self.trials.is_empty() {
            return metric;
        }
        metric.judged = self.trials.into_iter().map(Trial::judge).collect();
        metric.decide();
        metric
    }
}

impl Compared {
    /// Chooses the verdict that stands for the metric, and says what it covers.
    fn decide(&mut self) {
        let first = self.judged_as(self.quantity);
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

    fn judge_exact(&mut self, sides: [&crate::judge::figures::Exact; 2], margin: f64) {
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

    fn judge_summary(&mut self) {
        self.basis = Basis::Summary;
        self.verdict = Verdict::Inconclusive;
        let why = "one side sums up a single process or boot, which no test can judge";
        self.note = Some(why.to_owned());
        self.judge_by_ratio();
    }

    fn judge_speed(&mut self, speed: &Speed) {
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
fn side(metric: &MetricFigures, quantity: Quantity) -> Option<Side> {
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

/// What can be found of a quantity, over all metrics.
fn resolution(metrics: &[Compared], quantity: Quantity) -> Option<Resolution> {
    let compared = metrics.iter().filter(|metric| match metric.basis {
        Basis::Exact | Basis::Summary => true,
        // Without a ratio there is no size of a change.
        Basis::Test => metric
            .judged_as(quantity)
            .is_none_or(|one| one.ratio.is_some()),
        Basis::None | Basis::Speed => false,
    });
    let mut all: Vec<f64> = compared
        .map(|metric| match metric.basis {
            Basis::Exact => Some(0.0),
            _ => metric.judged_as(quantity)?.resolution,
        })
        .map(|resolution| resolution.unwrap_or(f64::INFINITY))
        .collect();
    all.sort_by(f64::total_cmp);
    let finite = |value: &f64| Some(*value).filter(|value| value.is_finite());
    Some(Resolution {
        median: finite(all.get((all.len().checked_sub(1)?) / 2)?),
        worst: finite(all.last()?),
        blind: all.iter().filter(|value| value.is_infinite()).count(),
    })
}
