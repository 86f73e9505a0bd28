//! Did it change? Two sides of replicates, metric by metric, each with a verdict.
//!
//! The method and its limits are in `doc/method.md`, section "Comparing".

use std::collections::{BTreeMap, BTreeSet};

use crate::histogram::Histogram;
use crate::noise::Floors;
use crate::reference;
use crate::run::{Fact, Replicate, Run, Session, Statistic, Unit};
use crate::session::BLOCK;
use crate::stats::{self, Block, Draws, Shift};
use crate::summary::{self, Status, Values};

/// The least equivalence margin of what has noise, as a share: changes of a machine between
/// sessions that no replicate of one session shows.
pub const LEAST_MARGIN: f64 = 0.02;
/// The level at which an adjusted p value counts.
pub const LEVEL: f64 = 0.05;

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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The equivalence margin that was asked for, as a share.
    pub margin: f64,
    /// What is compared.
    pub conditions: Conditions,
}

/// One side of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The median over replicates, of one operation: nanoseconds or instructions.
    pub median: f64,
    /// The interval of that median ([`stats::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// Replicates with a number.
    pub replicates: usize,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// Nothing was compared.
    None,
    /// Instructions, and the replicates of each side are equal sample by sample: any difference
    /// is real.
    Exact,
    /// A permutation test over replicates.
    Test {
        /// Its p value, where possible in readings of the clock.
        p: f64,
        /// Adjusted by Benjamini and Hochberg, for the report.
        q: f64,
        /// Adjusted by Holm, for the gate.
        holm: f64,
    },
    /// A side is the summary of one process or boot: there is a ratio, and no test can judge it.
    Summary,
}

/// One metric on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its id, not yet safe to show.
    pub id: String,
    /// The unit of the base, or of the new side where the base has no number.
    pub unit: Unit,
    /// `None` without a number.
    pub base: Option<Side>,
    /// `None` without a number.
    pub new: Option<Side>,
    /// New over base: of what was tested, the exponential of the mean difference of logarithms.
    pub ratio: Option<f64>,
    /// The interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// The equivalence margin of the ratio, as a share, where it was tested: that of the
    /// comparison, or the floor of this metric's noise where that is more.
    pub margin: Option<f64>,
    /// What the verdict rests on.
    pub basis: Basis,
    /// What the report says.
    pub verdict: Verdict,
    /// What the gate goes by: the same with Holm's adjustment.
    pub gate: Verdict,
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

/// A condition in which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whether it is the machine, which does not matter to counted instructions.
    pub of: Condition,
    /// What differs, such as `cpu_model`.
    pub name: &'static str,
    /// The base's values, not yet safe to show.
    pub base: String,
    /// The new side's.
    pub new: String,
}

/// What a difference is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The machine and its settings.
    Machine,
    /// How the kernel under test and the agent were built and run.
    Configuration,
}

/// Two runs, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Every metric that one side has a number of, in the order of the base.
    pub metrics: Vec<Compared>,
    /// How many of them were tested: the family.
    pub family: usize,
    /// The equivalence margin of what was tested, as a share; that of a metric can be wider.
    pub margin: f64,
    /// The blocks that the test kept to, where the sides were measured interleaved.
    pub blocks: Option<usize>,
    /// Where the floors of noise come from that widened margins.
    pub floors: Vec<String>,
    /// Conditions in which the sides differ.
    pub differences: Vec<Difference>,
    /// Tests that could not reach [`LEVEL`] at the gate, had they been as clear as they can be.
    pub hopeless: Option<Hopeless>,
    /// How the sides were compared where conditions differ.
    pub conditions: Conditions,
    /// What published figures add to it, in sentences.
    pub published: Vec<String>,
}

/// So few replicates that a change of one metric alone cannot be told from chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hopeless {
    /// How many metrics.
    pub metrics: usize,
    /// The least p value that the best of them can have.
    pub least_p: f64,
    /// Below this the gate takes note of a single change.
    pub needed: f64,
    /// As many replicates on each side are enough.
    pub enough: usize,
}

impl Comparison {
    /// Compares the replicates of two runs, without floors.
    #[must_use]
    pub fn of(base: &Run, new: &Run, options: Options) -> Self {
        Self::with_floors(base, new, options, &Floors::default())
    }

    /// Compares the replicates of two runs. Two that were measured interleaved are compared also
    /// where conditions differ: whoever measured them so asked for it.
    #[must_use]
    pub fn with_floors(base: &Run, new: &Run, options: Options, floors: &Floors) -> Self {
        let differences = differences(base, new);
        let pair = Pair::of(base, new);
        let blocks = pair.as_ref().and_then(|pair| pair.blocks.as_ref());
        let conditions = match pair {
            Some(_) => Conditions::Across,
            None => options.conditions,
        };
        let (base, new) = (summary::values(base), summary::values(new));
        let mut judge = Judge {
            asked: options.margin,
            margin: options.margin.max(LEAST_MARGIN),
            floors,
            blocks,
            draws: Draws::default(),
            conditions,
            differences: &differences,
            paces: [&base, &new].map(|side| pace(side)),
        };
        let mut drafts = Vec::new();
        for base in &base {
            let new = new.iter().find(|new| new.id == base.id);
            drafts.extend(judge.draft(Some(base), new));
        }
        for new in &new {
            if !base.iter().any(|base| base.id == new.id) {
                drafts.extend(judge.draft(None, Some(new)));
            }
        }
        let p: Vec<f64> = drafts.iter().filter_map(Draft::p).collect();
        let q = stats::benjamini_hochberg(&p).into_iter();
        let adjusted = q.zip(stats::holm(&p)).zip(&p);
        let hopeless = hopeless(&drafts, p.len());
        let tested = drafts.iter_mut().filter(|draft| draft.shift.is_some());
        for (draft, ((q, holm), p)) in tested.zip(adjusted) {
            draft.metric.basis = Basis::Test { p: *p, q, holm };
            draft.metric.verdict = verdict(draft, q);
            draft.metric.gate = verdict(draft, holm);
            if draft.metric.verdict == Verdict::Inconclusive {
                draft.metric.note = speed(draft).or(draft.metric.note.take());
            }
        }
        Comparison {
            metrics: drafts.into_iter().map(|draft| draft.metric).collect(),
            family: p.len(),
            margin: judge.margin,
            blocks: blocks.map(Blocks::count),
            floors: floors.sources().to_vec(),
            hopeless,
            conditions,
            differences,
            published: Vec::new(),
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

    /// How many metrics have this verdict in the report.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.verdict == verdict).count()
    }

    /// How many metrics have this verdict at the gate.
    #[must_use]
    pub fn count_at_gate(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.gate == verdict).count()
    }

    /// Whether any metric was compared at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metrics.iter().all(|m| m.basis == Basis::None)
    }
}

/// A metric whose verdict waits for the other tests.
struct Draft {
    metric: Compared,
    /// Of logarithms where there is a ratio.
    shift: Option<Shift>,
    /// The shift of what the metric costs in readings of the clock ([`pace`]); `None` where these
    /// are not known, or the processor is part of what is compared.
    paced: Option<Shift>,
}

impl Draft {
    /// The p value that is adjusted for the family: that in readings of the clock, where there is
    /// one, because the processor's speed has no part in it.
    fn p(&self) -> Option<f64> {
        Some(self.paced.or(self.shift)?.p)
    }

    /// The equivalence margin of the shifts.
    fn margin(&self) -> f64 {
        self.metric.margin.map_or(0.0, f64::ln_1p)
    }
}

struct Judge<'a> {
    asked: f64,
    margin: f64,
    floors: &'a Floors,
    blocks: Option<&'a Blocks>,
    draws: Draws,
    conditions: Conditions,
    differences: &'a [Difference],
    /// What one reading of the clock took in each session of the base and of the new side.
    paces: [BTreeMap<usize, f64>; 2],
}

impl Judge<'_> {
    /// `None` when neither side has a number.
    fn draft(&mut self, base: Option<&Values>, new: Option<&Values>) -> Option<Draft> {
        let measured = |side: Option<&Values>| side.is_some_and(|v| v.status == Status::Ok);
        let any = base.filter(|_| measured(base)).or(new)?;
        let mut metric = Compared {
            id: any.id.to_owned(),
            unit: any.unit,
            base: base.and_then(side),
            new: new.and_then(side),
            ratio: None,
            interval: None,
            margin: None,
            basis: Basis::None,
            verdict: Verdict::Incomparable,
            gate: Verdict::Incomparable,
            note: None,
            elsewhere: None,
            improvement: None,
        };
        let alone = |metric: Compared| {
            Some(Draft {
                metric,
                shift: None,
                paced: None,
            })
        };
        let (base, new) = match (measured(base), measured(new)) {
            (false, false) => return None,
            (true, false) => {
                let why = new.map_or_else(|| "not in new".to_owned(), absence);
                metric.set(Verdict::Missing, Some(why));
                return alone(metric);
            }
            (false, true) => {
                let why = base.map_or_else(|| "not in base".to_owned(), absence);
                metric.set(Verdict::Added, Some(why));
                return alone(metric);
            }
            (true, true) => (base?, new?),
        };
        let obstacle = self.obstacle(base, new);
        if let Some(why) = obstacle {
            metric.set(Verdict::Incomparable, Some(why));
            return alone(metric);
        }
        if is_exact(base) && is_exact(new) {
            self.judge_exact(&mut metric, base, new);
            return alone(metric);
        }
        if is_summary(base) || is_summary(new) {
            let sides = metric
                .base
                .zip(metric.new)
                .map(|(base, new)| new.median / base.median);
            metric.ratio = sides.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            metric.basis = Basis::Summary;
            let why = "a side is the summary of one process or boot, which no test can judge";
            metric.set(Verdict::Inconclusive, Some(why.to_owned()));
            return alone(metric);
        }
        let above_0 = |side: &Values| side.values.iter().all(|v| *v > 0.0);
        let has_ratio = above_0(base) && above_0(new);
        let scaled = |side: &Values| -> Vec<f64> {
            let scale = |v: &f64| if has_ratio { v.ln() } else { *v };
            side.values.iter().map(scale).collect()
        };
        let (base_values, new_values) = (scaled(base), scaled(new));
        let blocks = match self.blocks {
            Some(blocks) => blocks.split((base, &base_values), (new, &new_values)),
            None => vec![(base_values, new_values)],
        };
        let Some(shift) = Shift::between_blocks(&blocks, &mut self.draws) else {
            let why = "no block holds values of both sides";
            metric.set(Verdict::Inconclusive, Some(why.to_owned()));
            return alone(metric);
        };
        if has_ratio {
            metric.margin = Some(self.margin.max(self.floors.of(&metric.id)));
            metric.ratio = Some(shift.estimate.exp());
            let interval = shift.interval;
            metric.interval = interval.map(|(low, high)| (low.exp(), high.exp()));
        } else {
            metric.note = Some("a replicate is 0, so there is no ratio".to_owned());
        }
        if base.unit == Unit::Instructions && base.values.len().min(new.values.len()) == 1 {
            let why = "one replicate does not show that it repeats exactly; two do (--runs 2)";
            metric.note = Some(why.to_owned());
        }
        let paced = self.paced(base, new).filter(|_| has_ratio);
        Some(Draft {
            metric,
            shift: Some(shift),
            paced,
        })
    }

    /// The shift in readings of the clock; `None` where these do not tell the processor's speed.
    fn paced(&mut self, base: &Values, new: &Values) -> Option<Shift> {
        if self.conditions == Conditions::Across {
            return None;
        }
        let [base, new] = [(base, &self.paces[0]), (new, &self.paces[1])].map(|(side, pace)| {
            let of = |(value, replicate): (&f64, &&Replicate)| {
                Some((value / pace.get(&replicate.session)?).ln())
            };
            let values = side.values.iter().zip(&side.replicates);
            values.map(of).collect::<Option<Vec<f64>>>()
        });
        Shift::between_blocks(&[(base?, new?)], &mut self.draws)
    }

    /// Why two sides with a number are not compared.
    fn obstacle(&self, base: &Values, new: &Values) -> Option<String> {
        if base.unit != new.unit {
            let never = match (base.unit, new.unit) {
                (Unit::Cycles | Unit::Ticks, Unit::Cycles | Unit::Ticks) => {
                    "cycles of a clock of unknown frequency are never compared with time"
                }
                _ => "instructions are never compared with time",
            };
            return Some(never.to_owned());
        }
        if base.values.is_empty() || new.values.is_empty() {
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

    fn judge_exact(&self, metric: &mut Compared, base: &Values, new: &Values) {
        metric.basis = Basis::Exact;
        let (from, to) = (base.values[0], new.values[0]);
        let (first, second) = (base.replicates[0], new.replicates[0]);
        if from > 0.0 && to > 0.0 {
            metric.ratio = Some(to / from);
            metric.interval = metric.ratio.map(|ratio| (ratio, ratio));
        }
        let (mut change, mut least) = (to - from, from.min(to));
        if change == 0.0 && histogram(first) != histogram(second) {
            let (from, to) = (mean(first), mean(second));
            (change, least) = (to - from, from.min(to));
            metric.note = Some(format!(
                "the median is equal, the mean is not: {from:.2} is now {to:.2}"
            ));
        }
        let verdict = if change.abs() <= self.asked * least {
            Verdict::Equivalent
        } else if change > 0.0 {
            Verdict::Regressed
        } else {
            Verdict::Improved
        };
        metric.verdict = verdict;
        metric.gate = verdict;
    }
}

/// The verdict on a test, by its adjusted p value.
fn verdict(draft: &Draft, adjusted: f64) -> Verdict {
    let Some(shift) = draft.shift else {
        return draft.metric.verdict;
    };
    let margin = draft.margin();
    let within = |(low, high): (f64, f64)| -margin <= low && high <= margin;
    // How much of a cost follows the processor's speed is not known: it may be none or all.
    let both = |holds: &dyn Fn(Shift) -> bool| holds(shift) && draft.paced.is_none_or(holds);
    if both(&|shift| shift.interval.is_some_and(within)) {
        Verdict::Equivalent
    } else if adjusted > LEVEL || shift.p > LEVEL {
        Verdict::Inconclusive
    } else if both(&|shift| shift.estimate > margin) {
        Verdict::Regressed
    } else if both(&|shift| shift.estimate < -margin) {
        Verdict::Improved
    } else {
        Verdict::Inconclusive
    }
}

/// What to know of a metric that changed only in time, or only in readings of the clock.
fn speed(draft: &Draft) -> Option<String> {
    let (time, paced) = (draft.shift?, draft.paced?);
    let margin = draft.margin();
    let changed = |shift: Shift| {
        let outside = shift.p <= LEVEL && shift.estimate.abs() > margin;
        outside.then(|| shift.estimate.is_sign_positive())
    };
    let speed = time.estimate - paced.estimate;
    let more = if speed > 0.0 { "more" } else { "less" };
    (speed.abs() > margin / 2.0 && changed(time) != changed(paced)).then(|| {
        format!(
            "the processor's speed differs, reading the clock takes {:.1} % {more}: \
             whether this changed besides cannot be told",
            100.0 * speed.exp_m1().abs()
        )
    })
}

/// Two sides that were measured interleaved with each other.
struct Pair {
    /// `None` where a damaged stream does not tell reliably which sessions lie in which block.
    blocks: Option<Blocks>,
}

/// The block of each session of two sides.
struct Blocks {
    base: Vec<String>,
    new: Vec<String>,
}

impl Pair {
    /// `None` unless every session was measured in a block of a measurement that measured both
    /// sides.
    fn of(base: &Run, new: &Run) -> Option<Self> {
        let blocks = |run: &Run| -> Option<Vec<String>> {
            let of = |session: &Session| told(&session.facts, BLOCK).pop_first();
            run.sessions.iter().map(of).collect()
        };
        let (base_blocks, new_blocks) = (blocks(base)?, blocks(new)?);
        // What stands before the number of the block names the measurement.
        let measurements = |blocks: &[String]| -> BTreeSet<String> {
            let name = |block: &String| {
                block
                    .rsplit_once(' ')
                    .map_or("", |(name, _)| name)
                    .to_owned()
            };
            blocks.iter().map(name).collect()
        };
        let is_whole = |run: &Run| run.damage.damaged + run.damage.gaps == 0;
        let is_pair =
            !base_blocks.is_empty() && measurements(&base_blocks) == measurements(&new_blocks);
        is_pair.then(|| Pair {
            blocks: (is_whole(base) && is_whole(new)).then_some(Blocks {
                base: base_blocks,
                new: new_blocks,
            }),
        })
    }
}

impl Blocks {
    /// How many blocks hold sessions of both sides.
    fn count(&self) -> usize {
        let new: BTreeSet<&String> = self.new.iter().collect();
        let base: BTreeSet<&String> = self.base.iter().collect();
        base.intersection(&new).count()
    }

    /// The values of both sides, one for each replicate, block by block.
    fn split(&self, base: (&Values, &[f64]), new: (&Values, &[f64])) -> Vec<Block> {
        let mut blocks: BTreeMap<&str, Block> = BTreeMap::new();
        for (replicate, value) in base.0.replicates.iter().zip(base.1) {
            let block = self.base[replicate.session].as_str();
            blocks.entry(block).or_default().0.push(*value);
        }
        for (replicate, value) in new.0.replicates.iter().zip(new.1) {
            let block = self.new[replicate.session].as_str();
            blocks.entry(block).or_default().1.push(*value);
        }
        blocks.into_values().collect()
    }
}

/// How many of so many replicates each block of an interleaved measurement holds: as many blocks
/// as can be, so that what drifts on the machine befalls both sides of each, but so few that a
/// single change among `family` metrics can still hold at the gate; in one block where none is few
/// enough. The sizes differ by one at most.
///
/// 10 replicates and 300 metrics make 4 blocks: 2 of C(6, 3)^2 C(4, 2)^2 is 0.00014, below
/// 0.05 / 300.
#[must_use]
pub fn block_sizes(replicates: usize, family: usize) -> Vec<usize> {
    let split = |count: usize| -> Vec<usize> {
        let (size, larger) = (replicates / count, replicates % count);
        (0..count)
            .map(|at| size + usize::from(at < larger))
            .collect()
    };
    let needed = LEVEL / family.max(1) as f64;
    let is_enough = |sizes: &Vec<usize>| {
        let both: Vec<(usize, usize)> = sizes.iter().map(|n| (*n, *n)).collect();
        stats::least_p(&both) <= needed
    };
    let most = replicates.max(1);
    (1..=most)
        .rev()
        .map(split)
        .find(is_enough)
        .unwrap_or_else(|| split(1))
}

impl Compared {
    fn set(&mut self, verdict: Verdict, note: Option<String>) {
        self.verdict = verdict;
        self.gate = verdict;
        self.note = note;
    }
}

impl Difference {
    /// The difference in words, not yet safe to show.
    #[must_use]
    pub fn reason(&self) -> String {
        let what = match self.of {
            Condition::Machine => "machine",
            Condition::Configuration => "configuration",
        };
        let Difference {
            name, base, new, ..
        } = self;
        format!("other {what}: {name} `{base}` is now `{new}`")
    }
}

fn side(values: &Values) -> Option<Side> {
    let median = stats::median(&values.values).filter(|_| values.status == Status::Ok)?;
    Some(Side {
        median,
        interval: stats::median_interval(&values.values),
        replicates: values.values.len(),
    })
}

/// Why a metric has no number.
pub(crate) fn absence(side: &Values) -> String {
    let what = match side.status {
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete | Status::Ok => "incomplete",
    };
    format!("{what}: {}", side.reason.unwrap_or("no reason given"))
}

/// Whether a side is one figure that sums up samples which are lost.
fn is_summary(side: &Values) -> bool {
    side.replicates.len() == 1 && side.replicates[0].stat.is_some()
}

/// Whether the replicates show that nothing of this is noise.
pub(crate) fn is_exact(side: &Values) -> bool {
    side.unit == Unit::Instructions
        && side.replicates.len() > 1
        && side.replicates.iter().all(|one| one.stat.is_none())
        && side
            .replicates
            .windows(2)
            .all(|pair| pair[0].batch == pair[1].batch && pair[0].histogram == pair[1].histogram)
}

/// What one reading of the clock took in each session, in nanoseconds: it follows the speed of the
/// processor and no kernel has a part in it.
fn pace(metrics: &[Values]) -> BTreeMap<usize, f64> {
    let clock = metrics
        .iter()
        .find(|metric| metric.id == summary::CLOCK_METRIC && metric.unit == Unit::Cycles);
    clock.map_or_else(BTreeMap::new, |clock| {
        let sessions = clock.replicates.iter().map(|replicate| replicate.session);
        let values = clock.values.iter().copied();
        sessions.zip(values).filter(|(_, v)| *v > 0.0).collect()
    })
}

/// The samples of a replicate and how many operations each holds.
fn histogram(replicate: &Replicate) -> (u64, &Histogram) {
    (replicate.batch, &replicate.histogram)
}

/// The mean of the samples of a replicate, of one operation.
fn mean(replicate: &Replicate) -> f64 {
    let (mut sum, mut samples) = (0.0, 0.0);
    for (ticks, count) in replicate.histogram.iter() {
        sum += ticks.0 as f64 * count as f64;
        samples += count as f64;
    }
    sum / samples / replicate.batch.max(1) as f64
}

fn hopeless(drafts: &[Draft], family: usize) -> Option<Hopeless> {
    let needed = LEVEL / family.max(1) as f64;
    let least: Vec<f64> = drafts
        .iter()
        .filter_map(|draft| Some(draft.shift?.least_p))
        .filter(|p| *p > needed)
        .collect();
    let least_p = least.iter().copied().reduce(f64::min)?;
    // 2 of 40 choose 20 is 1.5e-11.
    let enough = (2..20).find(|n| stats::least_p(&[(*n, *n)]) <= needed);
    Some(Hopeless {
        metrics: least.len(),
        least_p,
        needed,
        enough: enough.unwrap_or(20),
    })
}

/// Facts of the machine that change times: its processor, what virtualises or confines it, and
/// the settings of its speed.
const MACHINE: [&str; 6] = [
    "cpu_model",
    "hypervisor",
    "container",
    "governor",
    "boost",
    "smt",
];
/// Of these, what is not told is not there.
const TOLD_IF_THERE: [&str; 2] = ["hypervisor", "container"];
/// What the tool says of a target that it built.
const TARGET: [&str; 2] = ["board", "variant"];
/// What the agent says of how it and its kernel were built.
const BUILD: [&str; 3] = ["flags", "configuration", "kernel_port"];

type SessionValue = fn(&Session) -> String;

/// A condition of a run and what the run tells of it: nothing, a value, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Whether it is one of the machine.
    pub of: Condition,
    /// Its name, such as `cpu_model`.
    pub name: &'static str,
    /// Its values, not yet safe to show.
    pub values: BTreeSet<String>,
}

/// The conditions that matter to a comparison, as a run tells them: those of the machine only
/// where it is the one that was measured.
#[must_use]
pub fn conditions(run: &Run) -> Vec<Stated> {
    let mut all = Vec::new();
    let mut state = |of, name, values| all.push(Stated { of, name, values });
    if !told(&run.host, "cpu_model").is_empty() && run.is_of_its_host() {
        for name in MACHINE {
            let mut values = told(&run.host, name);
            if values.is_empty() && TOLD_IF_THERE.contains(&name) {
                values.insert("none".to_owned());
            }
            state(Condition::Machine, name, values);
        }
    }
    let parts: [(&'static str, SessionValue); 3] = [
        ("port", |s| s.port.clone()),
        ("arch", |s| s.arch.clone()),
        ("real-time priority", |s| {
            if s.realtime { "yes" } else { "no" }.to_owned()
        }),
    ];
    let configuration = Condition::Configuration;
    for (name, value) in parts {
        state(
            configuration,
            name,
            run.sessions.iter().map(value).collect(),
        );
    }
    for name in TARGET {
        state(configuration, name, told(&run.host, name));
    }
    for name in BUILD {
        let values = run.sessions.iter().flat_map(|s| told(&s.facts, name));
        state(configuration, name, values.collect());
    }
    all
}

/// Conditions in which two runs differ; where a side does not tell, it does not differ.
#[must_use]
pub fn differences(base: &Run, new: &Run) -> Vec<Difference> {
    let text = |values: BTreeSet<String>| Vec::from_iter(values).join("` and `");
    let others = conditions(new);
    let both = conditions(base).into_iter().filter_map(|base| {
        let new = others.iter().find(|new| new.name == base.name)?;
        let is_told = !base.values.is_empty() && !new.values.is_empty();
        (is_told && base.values != new.values).then(|| Difference {
            of: base.of,
            name: base.name,
            base: text(base.values),
            new: text(new.values.clone()),
        })
    });
    both.collect()
}

fn told(facts: &[Fact], name: &str) -> BTreeSet<String> {
    let named = facts.iter().filter(|fact| fact.name == name);
    named
        .map(|fact| fact.value.clone())
        .filter(|value| !value.is_empty())
        .collect()
}
