// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many replicates does a comparison need to detect a change of a given size?
//!
//! A pilot run and a [`Question`] come in; an answer for each metric goes out. `doc/method.md`,
//! section "How many replicates", describes the method and its limits.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use clap::ValueEnum;

use crate::judge::figures::{absence, is_exact};
use crate::judge::quantity::MEDIANS_LEVEL;
use crate::judge::ranking::{greatest_first, Key};
use crate::judge::summary::{self, Status, Values};
use crate::statistics::permutation::Design;
use crate::statistics::{distributions, order};
use crate::stream::run::{Replicate, Run, Unit, CLOCK};

/// The largest number of replicates per side that is considered: the maximum of `--runs`.
pub const MAX_REPLICATES: usize = 1000;
/// The number of replicates that shows that instructions are exact.
pub const EXACT_REPLICATES: usize = 2;
/// The confidence of the upper bound of a spread (R. H. Browne, *Statistics in Medicine* 14, 1995).
pub const SPREAD_CONFIDENCE: f64 = 0.8;
/// How many comparisons are simulated for each number of replicates and each shape of noise.
const SIMULATIONS: usize = 250;
/// Every number of replicates is tried up to this one. Above it, a binary search finds the smallest.
const LINEAR_SEARCH_LIMIT: usize = 10;
/// The seed of the simulation, so that the same pilot always gives the same answer.
const SEED: u64 = 0x706c_616e;

/// What the plan has to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The change to detect, as a share; larger than the margin.
    pub change: f64,
    /// The power: the probability of detecting that change, 0 to 1.
    pub power: f64,
    /// The equivalence margin of the comparison, as a share.
    pub margin: f64,
}

/// The answer for all metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The question.
    pub question: Question,
    /// The number of metrics that are tested together.
    pub family: usize,
    /// The largest number of replicates of a metric in the pilot.
    pub replicates: usize,
    /// The metrics, in the order of the pilot.
    pub metrics: Vec<Planned>,
}

/// The answer for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The metric's id (untrusted text).
    pub id: String,
    /// The number of replicates in the pilot.
    pub replicates: usize,
    /// The number of samples in a replicate; the median if replicates differ.
    pub samples: u64,
    /// What it needs.
    pub need: Need,
}

/// What a metric needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// [`EXACT_REPLICATES`] replicates, because the pilot's are equal sample by sample.
    Exact,
    /// Replicates according to their spread.
    Replicates(Estimate),
    /// Unknown for this reason (untrusted text).
    Unknown(String),
}

/// How much a metric varies between replicates, and the replicates that this requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The standard deviation of the logarithms of the replicates' values: 0.01 is 1 %. The larger of
    /// those in nanoseconds and in readings of the clock, because a change has to show in both.
    pub spread: f64,
    /// The share of its variance that the variation of samples within a replicate explains, 0 to 1.
    pub sampling: f64,
    /// The spread that the plan uses: the upper bound with the confidence [`SPREAD_CONFIDENCE`].
    pub upper: f64,
    /// The resolution with the pilot's number of replicates, as a share; `None` if they are too few
    /// for any change.
    pub finds: Option<f64>,
    /// Replicates on each side that detect the change; `None` if more than [`MAX_REPLICATES`].
    pub to_find: Option<usize>,
    /// Replicates on each side that show an unchanged metric to be equivalent; `None` if more than
    /// [`MAX_REPLICATES`].
    pub to_show_equivalence: Option<usize>,
    /// Samples per replicate with which the pilot's number of replicates detects the change. `None`
    /// if it already does, or if more samples do not help.
    pub samples: Option<u64>,
}

/// The keys of planned metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanKey {
    /// By the replicates that find the change (the default)
    Replicates,
    /// By id
    Id,
    /// By the variation between replicates
    Spread,
}

impl Key<Planned> for PlanKey {
    fn compare(self, a: &Planned, b: &Planned) -> Ordering {
        let estimates = [a, b].map(|one| match &one.need {
            Need::Replicates(estimate) => Some(estimate),
            Need::Exact | Need::Unknown(_) => None,
        });
        let greatest = |of: fn(&Estimate) -> f64| {
            let [a, b] = estimates.map(|one| one.map(of));
            greatest_first(a, b)
        };
        let replicates = |one: &Estimate| one.to_find.map_or(f64::INFINITY, |n| n as f64);
        let by_key = match self {
            PlanKey::Replicates => greatest(replicates).then_with(|| greatest(|one| one.upper)),
            PlanKey::Id => Ordering::Equal,
            PlanKey::Spread => greatest(|one| one.spread),
        };
        by_key.then_with(|| a.id.cmp(&b.id))
    }
}

impl Plan {
    /// Plans from a pilot, for the metrics that `is_selected` accepts.
    #[must_use]
    pub fn of(pilot: &Run, question: Question, is_selected: impl Fn(&str) -> bool) -> Self {
        let mut values = summary::values(pilot);
        let clocks = readings(&values);
        values.retain(|values| is_selected(values.id));
        let is_tested = |v: &&Values| {
            v.status == Status::Ok && !v.values.is_empty() && !is_exact(v.unit, &v.replicates)
        };
        let family = values.iter().filter(is_tested).count();
        let mut simulations = SimulationCache::of_family(family);
        let metrics: Vec<Planned> = values
            .iter()
            .map(|values| Planned {
                id: values.id.to_owned(),
                replicates: values.replicates.len(),
                samples: samples(&values.replicates),
                need: need(values, &clocks, question, &mut simulations),
            })
            .collect();
        Plan {
            question,
            family,
            replicates: metrics.iter().map(|m| m.replicates).max().unwrap_or(0),
            metrics,
        }
    }

    /// The number of metrics for which this many replicates on each side suffice, and the number of
    /// metrics with a known need.
    #[must_use]
    pub fn count_found_with(&self, replicates: usize) -> (usize, usize) {
        let needs: Vec<Option<usize>> = self.metrics.iter().filter_map(Planned::to_find).collect();
        let found = needs.iter().flatten().filter(|n| **n <= replicates);
        (found.count(), needs.len())
    }

    /// The smallest number of replicates that suffices for this share of the metrics; `None` if
    /// [`MAX_REPLICATES`] are too few.
    #[must_use]
    pub fn replicates_for_share(&self, share: f64) -> Option<usize> {
        let mut needs: Vec<usize> = self
            .metrics
            .iter()
            .filter_map(|metric| Some(metric.to_find()?.unwrap_or(usize::MAX)))
            .collect();
        needs.sort_unstable();
        let rank = (share * needs.len() as f64).ceil() as usize;
        let needed = needs.get(rank.checked_sub(1)?).copied();
        needed.filter(|needed| *needed <= MAX_REPLICATES)
    }
}

impl Planned {
    /// The replicates on each side that detect the change. The inner `None` means more than
    /// [`MAX_REPLICATES`]; the outer `None` means unknown.
    #[must_use]
    pub fn to_find(&self) -> Option<Option<usize>> {
        match &self.need {
            Need::Exact => Some(Some(EXACT_REPLICATES)),
            Need::Replicates(estimate) => Some(estimate.to_find),
            Need::Unknown(_) => None,
        }
    }
}

/// The number of samples in a replicate: the median over replicates.
fn samples(replicates: &[&Replicate]) -> u64 {
    let mut counts: Vec<u64> = replicates.iter().map(|r| r.histogram.total()).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

/// The logarithm of the cost of reading the clock in each session.
fn readings(values: &[Values]) -> BTreeMap<usize, f64> {
    let clock = values
        .iter()
        .find(|metric| metric.id == CLOCK && metric.unit == Unit::Cycles);
    let values = clock.into_iter().flat_map(|clock| {
        let sessions = clock.replicates.iter().map(|replicate| replicate.session);
        sessions.zip(clock.values.iter().copied())
    });
    let known = values.filter(|(_, value)| *value > 0.0);
    known
        .map(|(session, value)| (session, value.ln()))
        .collect()
}

fn need(
    values: &Values,
    clocks: &BTreeMap<usize, f64>,
    question: Question,
    simulations: &mut SimulationCache,
) -> Need {
    if values.status != Status::Ok {
        return Need::Unknown(absence(values.status, values.reason));
    }
    if is_exact(values.unit, &values.replicates) {
        return Need::Exact;
    }
    let unknown = |why: &str| Need::Unknown(why.to_owned());
    let replicates = values.values.len();
    match (values.unit, replicates) {
        (Unit::Cycles, 0) => return unknown("the frequency of its clock is unknown"),
        (Unit::Instructions, 1) => {
            return unknown("one replicate cannot show that it repeats exactly (use --runs 2)")
        }
        (_, 0 | 1) => return unknown("one replicate has no spread (use --runs 2 or more)"),
        _ => {}
    }
    if values.values.iter().any(|value| *value <= 0.0) {
        return unknown("a replicate is 0, so there is no ratio");
    }
    let logs: Vec<f64> = values.values.iter().map(|value| value.ln()).collect();
    let freedom = logs.len() - 1;
    let sessions = values.replicates.iter().map(|replicate| replicate.session);
    let in_readings: Option<Vec<f64>> = logs
        .iter()
        .zip(sessions)
        .map(|(log, session)| Some(log - clocks.get(&session)?))
        .collect();
    let of_readings = in_readings.map_or(0.0, |logs| variance(&logs));
    let variance = if values.id == CLOCK {
        variance(&logs)
    } else {
        variance(&logs).max(of_readings)
    };
    // In ticks: the unit cancels out in a share.
    let of_sampling: Vec<f64> = values
        .replicates
        .iter()
        .filter_map(|r| Some((median_error(r)? / r.histogram.median()?).powi(2)))
        .collect();
    let noise = of_sampling.iter().sum::<f64>() / of_sampling.len().max(1) as f64;
    let sampling = if variance > 0.0 {
        (noise / variance).min(1.0)
    } else {
        0.0
    };
    let caution = distributions::chi_square_quantile(1.0 - SPREAD_CONFIDENCE, freedom)
        .map_or(1.0, |bound| (freedom as f64 / bound).sqrt());
    let upper = caution * variance.sqrt();
    let goal = Goal {
        question,
        spread: upper,
    };
    let to_find = least_replicates(|n| simulations.of(n).power(goal) >= question.power);
    let to_show_equivalence =
        least_replicates(|n| simulations.of(n).equivalence_power(goal) >= question.power);
    let samples = match to_find {
        Some(needed) if needed <= replicates => None,
        _ => more_samples(goal, variance.sqrt(), sampling, simulations.of(replicates)),
    };
    Need::Replicates(Estimate {
        spread: variance.sqrt(),
        sampling,
        upper,
        finds: simulations.of(replicates).resolution(goal),
        to_find,
        to_show_equivalence,
        samples: samples
            .map(|factor| (factor * self::samples(&values.replicates) as f64).ceil() as u64),
    })
}

/// The sample variance of two or more values.
fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

/// The standard error of the median of a replicate's samples, in ticks, from two order statistics
/// around it (J. W. McKean, R. M. Schrader, *Communications in Statistics: Simulation and
/// Computation* 13, 1984). It assumes independent samples, which they are not quite, so it is rather
/// too small. `None` below 5 samples.
fn median_error(replicate: &Replicate) -> Option<f64> {
    const Z: f64 = 1.96;
    let n = replicate.histogram.total();
    if n < 5 {
        return None;
    }
    let rank = (f64::midpoint(n as f64, 1.0) - Z * (n as f64 / 4.0).sqrt()).round();
    let rank = (rank as u64).max(1);
    let low = replicate.histogram.order_statistic(rank)?;
    let high = replicate.histogram.order_statistic(n - rank + 1)?;
    Some((high.0 - low.0) as f64 / (2.0 * Z))
}

/// The smallest number of replicates that is enough, up to [`MAX_REPLICATES`]. Assumes that if a
/// number is enough, all larger numbers are.
fn least_replicates(mut is_enough: impl FnMut(usize) -> bool) -> Option<usize> {
    if let Some(few) = (2..=LINEAR_SEARCH_LIMIT).find(|n| is_enough(*n)) {
        return Some(few);
    }
    let mut low = LINEAR_SEARCH_LIMIT;
    let mut high = 2 * low;
    while !is_enough(high.min(MAX_REPLICATES)) {
        if high >= MAX_REPLICATES {
            return None;
        }
        low = high;
        high *= 2;
    }
    high = high.min(MAX_REPLICATES);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// The factor by which more samples let the same number of replicates detect the change; `None` if
/// no factor does. More samples reduce their part of the variance proportionally.
fn more_samples(goal: Goal, spread: f64, sampling: f64, simulations: &Simulations) -> Option<f64> {
    const MOST_TIMES: f64 = 1000.0;
    let finds = |times: f64| {
        let left = (1.0 - sampling + sampling / times).sqrt();
        let with = Goal {
            spread: goal.spread * left,
            ..goal
        };
        simulations.power(with) >= goal.question.power
    };
    if spread == 0.0 || !finds(MOST_TIMES) {
        return None;
    }
    let (mut low, mut high) = (1.0, MOST_TIMES);
    while high / low > 1.05 {
        let middle = f64::sqrt(low * high);
        if finds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// A question about a metric with this spread.
#[derive(Clone, Copy)]
struct Goal {
    question: Question,
    spread: f64,
}

/// Simulated comparisons of two unchanged sides with one number of replicates, and noise of standard
/// deviation 1. There is a list for each shape of noise; the worse shape counts.
struct Simulations {
    of_shapes: Vec<Vec<SimulatedComparison>>,
}

/// One simulated comparison. A larger spread multiplies all of it; a change of the new side shifts
/// the estimate and the interval.
struct SimulatedComparison {
    /// The observed difference, although there is none.
    estimate: f64,
    /// The smallest change that is significant; infinite with too few replicates.
    significant: f64,
    /// The distance of the farther end of the interval from 0.
    reach: f64,
}

/// Simulations by number of replicates, made on demand.
struct SimulationCache {
    /// The significance level of a single test: that of medians, divided by the family's size.
    level: f64,
    by_replicates: BTreeMap<usize, Simulations>,
}

impl SimulationCache {
    fn of_family(family: usize) -> Self {
        SimulationCache {
            level: MEDIANS_LEVEL / family.max(1) as f64,
            by_replicates: BTreeMap::new(),
        }
    }

    fn of(&mut self, replicates: usize) -> &Simulations {
        let level = self.level;
        self.by_replicates
            .entry(replicates)
            .or_insert_with(|| Simulations::of(replicates, level))
    }
}

impl Simulations {
    fn of(replicates: usize, level: f64) -> Self {
        let mut noise = NoiseSource(fastrand::Rng::with_seed(SEED ^ replicates as u64));
        let shapes: [Shape; 2] = [NoiseSource::normal, NoiseSource::skewed];
        let is_new = (0..2 * replicates).map(|session| session >= replicates);
        let design = Design::new(is_new.collect(), None);
        // With many metrics the joint test is about as strict as Holm's correction, unless there are
        // too few replicates for it to detect anything.
        let level = Some(level).filter(|_| design.least_p() <= MEDIANS_LEVEL);
        let simulations = |shape: Shape| {
            let comparison = |_| SimulatedComparison::of(&design, level, shape, &mut noise);
            (0..SIMULATIONS)
                .map(comparison)
                .collect::<Vec<SimulatedComparison>>()
        };
        Simulations {
            of_shapes: shapes.into_iter().map(simulations).collect(),
        }
    }

    /// The share of comparisons that meet a criterion, for the worse shape of noise.
    fn worst_share(&self, is_met: impl Fn(&SimulatedComparison) -> bool) -> f64 {
        let share = |simulations: &Vec<SimulatedComparison>| {
            let count = simulations
                .iter()
                .filter(|comparison| is_met(comparison))
                .count();
            count as f64 / simulations.len() as f64
        };
        self.of_shapes.iter().map(share).fold(1.0, f64::min)
    }

    /// The probability that the change is significant and beyond the margin.
    fn power(&self, goal: Goal) -> f64 {
        let (change, margin) = (goal.question.change.ln_1p(), goal.question.margin.ln_1p());
        self.worst_share(|comparison| comparison.detectable_change(goal.spread, margin) <= change)
    }

    /// The probability that an unchanged metric is judged equivalent.
    fn equivalence_power(&self, goal: Goal) -> f64 {
        let margin = goal.question.margin.ln_1p();
        // Infinity times 0 is NaN.
        self.worst_share(|comparison| {
            comparison.reach.is_finite() && comparison.reach * goal.spread <= margin
        })
    }

    /// The smallest change that is detected with the requested power, as a share.
    fn resolution(&self, goal: Goal) -> Option<f64> {
        let margin = goal.question.margin.ln_1p();
        let of_shape = |simulations: &Vec<SimulatedComparison>| {
            let changes = simulations
                .iter()
                .map(|comparison| comparison.detectable_change(goal.spread, margin));
            let mut changes: Vec<f64> = changes.collect();
            changes.sort_by(f64::total_cmp);
            let rank = (goal.question.power * changes.len() as f64).ceil() as usize;
            changes[rank.clamp(1, changes.len()) - 1]
        };
        let change = self.of_shapes.iter().map(of_shape).fold(0.0, f64::max);
        change.is_finite().then(|| change.exp_m1())
    }
}

impl SimulatedComparison {
    /// The smallest change that this comparison would have detected, as a logarithm.
    fn detectable_change(&self, spread: f64, margin: f64) -> f64 {
        if self.significant.is_infinite() {
            return f64::INFINITY;
        }
        (self.significant * spread).max(margin - self.estimate * spread)
    }

    /// Simulates a comparison as `compare` makes it. Without a level, it detects nothing.
    fn of(
        design: &Design,
        level: Option<f64>,
        shape: Shape,
        noise: &mut NoiseSource,
    ) -> SimulatedComparison {
        let (base, new) = design.sizes();
        let values: Vec<f64> = (0..base + new).map(|_| shape(noise)).collect();
        let detects_nothing = SimulatedComparison {
            estimate: 0.0,
            significant: f64::INFINITY,
            reach: f64::INFINITY,
        };
        let Some(shift) = design.difference(&values, 0.0) else {
            return detects_nothing;
        };
        let reach = |level: f64| {
            let t = distributions::t_critical(level, shift.freedom);
            t.unwrap_or(f64::INFINITY) * shift.error
        };
        SimulatedComparison {
            estimate: shift.estimate,
            significant: level.map_or(f64::INFINITY, |level| reach(level) - shift.estimate),
            reach: reach(1.0 - order::CONFIDENCE) + shift.estimate.abs(),
        }
    }
}

/// A source of noise with mean 0 and standard deviation 1.
struct NoiseSource(fastrand::Rng);

/// Draws a value from some distribution of noise.
type Shape = fn(&mut NoiseSource) -> f64;

impl NoiseSource {
    /// Normal noise (G. E. P. Box, M. E. Muller, *Annals of Mathematical Statistics* 29, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.f64()).cos()
    }

    /// Exponential noise: a tail towards longer times.
    fn skewed(&mut self) -> f64 {
        -(1.0 - self.0.f64()).ln() - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::{Comparison, Options, Verdict};
    use crate::judge::quantity::Quantity;
    use crate::stream::run::{Clock, Metric, Outcome, Session};
    use crate::stream::ticks::Ticks;

    const QUESTION: Question = Question {
        change: 0.05,
        power: 0.9,
        margin: 0.02,
    };

    fn run(unit: Unit, metrics: &[Vec<Vec<u64>>]) -> Run {
        let session = Session {
            port: "fake".into(),
            arch: "none".into(),
            clock: Clock {
                name: "c".into(),
                unit,
                hz: if unit == Unit::Cycles {
                    1_000_000_000
                } else {
                    0
                },
            },
            realtime: true,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        };
        let replicate = |(session, samples): (usize, &Vec<u64>)| Replicate {
            session,
            outcome: Outcome::Ok,
            batch: 1,
            asked: samples.len() as u64,
            cold: None,
            histogram: samples.iter().map(|v| (Ticks(*v), 1)).collect(),
            stat: None,
            cpu_ns: None,
            proofs: Vec::new(),
        };
        let most = metrics.iter().map(Vec::len).max().unwrap_or(0);
        let metrics = metrics.iter().enumerate().map(|(at, all)| Metric {
            id: format!("o.m{at}"),
            case: "o".into(),
            replicates: all.iter().enumerate().map(replicate).collect(),
        });
        Run {
            metrics: metrics.collect(),
            sessions: vec![session; most],
            ..Run::default()
        }
    }

    fn plan(pilot: &Run) -> Plan {
        Plan::of(pilot, QUESTION, |_| true)
    }

    fn estimate(pilot: &Run) -> Estimate {
        match &plan(pilot).metrics[0].need {
            Need::Replicates(estimate) => *estimate,
            other => panic!("{other:?}"),
        }
    }

    /// The replicates of a metric, one sample each, around a level.
    fn metric(
        noise: &mut NoiseSource,
        shape: Shape,
        replicates: usize,
        level: f64,
        spread: f64,
    ) -> Vec<Vec<u64>> {
        let value = |_| vec![(level * (spread * shape(noise)).exp()).round() as u64];
        (0..replicates).map(value).collect()
    }

    /// Compares one changed metric in a `family` this many times. Returns how often its change of 5 %
    /// is found, and how often an unchanged metric is judged equivalent.
    fn found(
        shape: Shape,
        replicates: usize,
        family: usize,
        spread: f64,
        times: usize,
    ) -> (f64, f64) {
        let mut noise = NoiseSource(fastrand::Rng::with_seed(7));
        let (mut changed, mut same) = (0, 0);
        for _ in 0..times {
            let mut side = |first: f64| {
                let mut metrics = vec![metric(&mut noise, shape, replicates, first, spread)];
                let mut other = || metric(&mut noise, shape, replicates, 1e6, spread);
                metrics.extend((1..family).map(|_| other()));
                run(Unit::Cycles, &metrics)
            };
            let options = Options {
                quantities: vec![Quantity::P50],
                ..Options::default()
            };
            let comparison = Comparison::of(&side(1e6), &side(1.05e6), &options);
            changed += usize::from(comparison.metrics[0].verdict == Verdict::Regressed);
            let others = &comparison.metrics[1..];
            same += others
                .iter()
                .filter(|m| m.verdict == Verdict::Equivalent)
                .count();
        }
        let of_others = times * (family - 1).max(1);
        (
            changed as f64 / times as f64,
            same as f64 / of_others as f64,
        )
    }

    fn needed(spread: f64, family: usize) -> (usize, usize) {
        let mut simulations = SimulationCache::of_family(family);
        let goal = Goal {
            question: QUESTION,
            spread,
        };
        (
            least_replicates(|n| simulations.of(n).power(goal) >= QUESTION.power).unwrap(),
            least_replicates(|n| simulations.of(n).equivalence_power(goal) >= QUESTION.power)
                .unwrap(),
        )
    }

    #[test]
    fn promised_power_is_reached() {
        // The number of replicates is determined by the least p value, by simulation, or by t.
        for (spread, family) in [(0.005, 20), (0.015, 20), (0.03, 5), (0.015, 100)] {
            let (find, _) = needed(spread, family);
            for (name, shape) in [
                ("normal", NoiseSource::normal as Shape),
                ("skewed", NoiseSource::skewed),
            ] {
                let times = 4000 / (family + 10);
                let (power, _) = found(shape, find, family, spread, times);
                println!(
                    "{name} noise of {:.1} %, {family} metrics: {find} replicates find 5 % in \
                     {:.0} % of {times} comparisons",
                    spread * 100.0,
                    power * 100.0
                );
                // Three standard errors of this share, and of the 250 comparisons behind the plan.
                let least = 0.9 - 3.0 * (0.09 / times as f64 + 0.09 / 250.0).sqrt();
                assert!(
                    power >= least,
                    "{name} {spread} {family}: {find} find {power}"
                );
            }
        }
    }

    #[test]
    fn unchanged_metrics_are_equivalent_as_often_as_promised() {
        for spread in [0.005, 0.01] {
            let (_, none) = needed(spread, 20);
            for (name, shape) in [
                ("normal", NoiseSource::normal as Shape),
                ("skewed", NoiseSource::skewed),
            ] {
                let (_, shown) = found(shape, none, 20, spread, 40);
                println!(
                    "{name} noise of {:.1} %: {none} replicates show {:.0} % of unchanged metrics \
                     equivalent",
                    spread * 100.0,
                    shown * 100.0
                );
                assert!(shown >= 0.84, "{name} {spread}: {none} show {shown}");
            }
        }
    }

    #[test]
    fn plan_asks_for_no_more_replicates_than_needed() {
        let (find, none) = needed(0.015, 20);
        let (power, _) = found(NoiseSource::normal, find - 2, 20, 0.015, 100);
        assert!(power < 0.88, "{power} with two less than {find}");
        let (_, shown) = found(NoiseSource::normal, none - 5, 20, 0.015, 40);
        assert!(shown < 0.88, "{shown} with five less than {none}");
    }

    #[test]
    fn ten_replicates_are_enough_for_a_pilot() {
        let mut noise = NoiseSource(fastrand::Rng::with_seed(11));
        let mut simulations = SimulationCache::of_family(20);
        let pilots = 100;
        let (mut enough, mut least_power): (u32, f64) = (0, 1.0);
        for _ in 0..pilots {
            let replicates = metric(&mut noise, NoiseSource::normal, 10, 1e6, 0.015);
            let pilot = run(Unit::Cycles, &[replicates]);
            let Need::Replicates(estimate) = need(
                &summary::values(&pilot)[0],
                &BTreeMap::new(),
                QUESTION,
                &mut simulations,
            ) else {
                panic!("{pilot:?}");
            };
            let find = estimate.to_find.unwrap();
            let goal = Goal {
                question: QUESTION,
                spread: 0.015,
            };
            let power = simulations.of(find).power(goal);
            enough += u32::from(power >= QUESTION.power);
            least_power = least_power.min(power);
        }
        println!("{enough} of {pilots} pilots of ten replicates plan enough");
        // The upper bound has 80 % confidence; rounding up to whole replicates adds a little.
        assert!((70..=97).contains(&enough), "{enough}");
        assert!(least_power > 0.2, "{least_power}");
    }

    #[test]
    fn least_p_value_sets_the_minimum_of_replicates() {
        // Without noise, the least p value 2 / C(2n, n) decides, whatever the family.
        assert_eq!(needed(0.0, 1), (4, 2));
        assert_eq!(needed(0.0, 250), (4, 2));
    }

    #[test]
    fn clock_noise_counts_too() {
        // The metric is quiet but the processor's speed is not, and a change must show in both.
        let mut noise = NoiseSource(fastrand::Rng::with_seed(8));
        let quiet = metric(&mut noise, NoiseSource::normal, 10, 1e6, 0.003);
        let loud = metric(&mut noise, NoiseSource::normal, 10, 1e6, 0.02);
        let mut pilot = run(Unit::Cycles, &[quiet, loud]);
        let alone = estimate(&pilot);
        pilot.metrics[1].id = CLOCK.into();
        let beside = estimate(&pilot);
        assert!(alone.spread < 0.006, "{alone:?}");
        assert!((0.01..0.03).contains(&beside.spread), "{beside:?}");
        assert!(beside.to_find.unwrap() > alone.to_find.unwrap() + 2);
    }

    #[test]
    fn changes_near_the_margin_need_more_replicates() {
        let mut simulations = SimulationCache::of_family(1);
        let mut with = |change| {
            let goal = Goal {
                question: Question { change, ..QUESTION },
                spread: 0.01,
            };
            least_replicates(|n| simulations.of(n).power(goal) >= 0.9)
        };
        // The normal distribution gives 2 * (1.28 * 0.01 / ln(1.025 / 1.02))^2 = 13.7.
        let near = with(0.025).unwrap();
        assert!((11..=17).contains(&near), "{near}");
        assert!(with(0.05).unwrap() < 8);
        assert_eq!(with(0.0201), None);
    }

    #[test]
    fn sample_noise_is_separated_from_replicate_noise() {
        let mut noise = NoiseSource(fastrand::Rng::with_seed(3));
        // 100 samples with 10 % noise give a median with 1.25 %; replicates add none, or 5 %.
        let mut pilot = |between: f64| {
            let mut replicate = || {
                let level = 1e6 * (between * noise.normal()).exp();
                let sample = |_| (level * (1.0 + 0.1 * noise.normal())) as u64;
                (0..100).map(sample).collect::<Vec<u64>>()
            };
            run(Unit::Cycles, &[(0..30).map(|_| replicate()).collect()])
        };
        let within = estimate(&pilot(0.0));
        assert!(within.sampling > 0.7, "{within:?}");
        let mut few = pilot(0.0);
        few.metrics[0].replicates.truncate(5);
        let few = estimate(&few);
        if let (Some(samples), Some(needed)) = (few.samples, few.to_find) {
            assert!(samples > 100 && needed > 5, "{few:?}");
        }
        let between = estimate(&pilot(0.05));
        assert!(between.sampling < 0.2, "{between:?}");
        assert!((0.035..0.07).contains(&between.spread), "{between:?}");
        assert!(between.upper > between.spread);
        assert_eq!(between.samples, None, "more samples do not help");
    }

    #[test]
    fn exact_metrics_need_two_replicates_and_unknown_needs_have_a_reason() {
        let exact = run(Unit::Instructions, &[vec![vec![100, 101]; 2]]);
        let answer = plan(&exact);
        assert_eq!((answer.family, &answer.metrics[0].need), (0, &Need::Exact));
        assert_eq!(
            (answer.count_found_with(2), answer.count_found_with(1)),
            ((1, 1), (0, 1))
        );
        let why = |pilot: &Run| match &plan(pilot).metrics[0].need {
            Need::Unknown(why) => why.clone(),
            other => panic!("{other:?}"),
        };
        let one = run(Unit::Instructions, &[vec![vec![100]]]);
        assert!(why(&one).contains("repeats exactly"));
        let one = run(Unit::Cycles, &[vec![vec![100]]]);
        assert!(why(&one).contains("--runs 2"));
        assert!(why(&run(Unit::Cycles, &[vec![vec![0], vec![1]]])).contains("ratio"));
        let mut failed = one;
        failed.metrics[0].replicates[0].outcome = Outcome::Failed("order".into());
        assert_eq!(why(&failed), "failed: order");
        assert_eq!(plan(&failed).replicates_for_share(1.0), None);
    }
}
