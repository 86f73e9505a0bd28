// SPDX-License-Identifier: MIT OR Apache-2.0

//! Splits the cost of a metric into parts, which are metrics themselves, and a residual, which no
//! part explains.
//!
//! A run or published figures come in; an [`Explanation`] goes out. `reference/compositions.csv`
//! says which parts a metric has; this file does the arithmetic. `doc/method.md`, section "What a
//! cost is made of", says what a residual means and when parts do not add up.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Deserialize;

use crate::files::reference::{self, Figure, Published};
use crate::judge::quantity::Quantity;
use crate::judge::ranking::{greatest_first, Key};
use crate::judge::summary::{self, Status};
use crate::statistics::order;
use crate::stream::run::{Replicate, Run, Unit, CLOCK};

const COMPOSITIONS: &str = include_str!("../../reference/compositions.csv");

/// In a pattern this matches any text; in its parts it repeats the matched text.
const WILDCARD: char = '*';

/// The parts that make up the cost of a metric, or of all metrics that a pattern matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    /// The targets it applies to, named as in [`reference::target`], or the path of a dataset.
    pub targets: Vec<String>,
    /// The metric's id; one `*` matches any text.
    pub metric: String,
    /// The parts, in file order.
    pub parts: Vec<PartPattern>,
}

/// A part of a cost, as a composition states it.
#[derive(Clone, Debug, PartialEq)]
pub struct PartPattern {
    /// How many times the cost contains the part. A negative count subtracts what another part
    /// contains in excess.
    pub count: Count,
    /// The metric that measures the part; `*` repeats the text that the pattern matched.
    pub metric: String,
    /// The dataset of the part, if it differs from that of the explained metric.
    pub dataset: Option<String>,
    /// Why the cost contains this part this many times.
    pub why: String,
}

/// How many times a cost contains a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Count {
    /// This many times; never 0.
    Times(i64),
    /// The number that the pattern's `*` matched, times this factor (1 or -1).
    Matched(i64),
}

impl TryFrom<String> for Count {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let times = || {
            text.parse()
                .ok()
                .filter(|times| *times != 0)
                .map(Count::Times)
        };
        match text.as_str() {
            "*" => Some(Count::Matched(1)),
            "-*" => Some(Count::Matched(-1)),
            _ => times(),
        }
        .ok_or_else(|| {
            format!(
                "`{text}` is not a count: write a whole number other than 0, {WILDCARD} or \
                 -{WILDCARD}"
            )
        })
    }
}

/// One row of the CSV file.
#[derive(Deserialize)]
struct CsvRow {
    target: String,
    metric: String,
    count: Count,
    part: String,
    dataset: Option<String>,
    why: String,
}

/// All compositions, in file order.
///
/// # Errors
///
/// The built-in data is invalid: see [`compositions_in`].
pub fn compositions() -> Result<Vec<Composition>, String> {
    compositions_in(COMPOSITIONS)
}

/// Reads compositions from CSV with the columns `target`, `metric`, `count`, `part`, `dataset` and
/// `why`. Rows with the same target and metric make one composition.
///
/// # Errors
///
/// A column is missing, a row has the wrong number of fields, a count is invalid, or a part repeats
/// a `*` that its metric does not have. The message names the place.
pub fn compositions_in(csv: &str) -> Result<Vec<Composition>, String> {
    let mut compositions: Vec<Composition> = Vec::new();
    for row in reference::parse_csv::<CsvRow>("compositions", csv)? {
        let has_wildcard = row.part.contains(WILDCARD) || matches!(row.count, Count::Matched(_));
        if has_wildcard && !row.metric.contains(WILDCARD)
            || row.metric.matches(WILDCARD).count() > 1
        {
            return Err(format!(
                "reference/compositions.csv: {}, part {}: a metric may contain one {WILDCARD}, and \
                 its parts may repeat it only if it does",
                row.metric, row.part
            ));
        }
        let part = PartPattern {
            count: row.count,
            metric: row.part,
            dataset: row.dataset,
            why: row.why,
        };
        let targets: Vec<String> = row.target.split(' ').map(str::to_owned).collect();
        let known = compositions
            .iter_mut()
            .find(|known| known.metric == row.metric && known.targets == targets);
        match known {
            Some(known) => known.parts.push(part),
            None => compositions.push(Composition {
                targets,
                metric: row.metric,
                parts: vec![part],
            }),
        }
    }
    Ok(compositions)
}

impl Composition {
    /// The text that the pattern's `*` matches in an id; empty if the pattern has no `*`. `None` if
    /// the pattern does not match the id.
    fn matched<'a>(&self, id: &'a str) -> Option<&'a str> {
        match self.metric.split_once(WILDCARD) {
            None => (self.metric == id).then_some(""),
            Some((start, end)) => id.strip_prefix(start)?.strip_suffix(end),
        }
    }

    fn applies_to(&self, target: &str) -> bool {
        self.targets.iter().any(|one| one == target)
    }
}

/// A part of the cost of one metric: a [`PartPattern`] with the matched text filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct CostPart {
    /// How many times the cost contains the part; may be negative.
    pub count: f64,
    /// The metric that measures the part.
    pub metric: String,
    /// The dataset of the part, if it differs from that of the explained metric.
    pub dataset: Option<String>,
    /// Why the cost contains this part this many times.
    pub why: String,
}

/// The parts of a metric on a target, by the most specific pattern that matches its id. `None` if
/// no composition matches.
#[must_use]
pub fn parts(compositions: &[Composition], target: &str, id: &str) -> Option<Vec<CostPart>> {
    let candidates = compositions.iter().filter(|one| one.applies_to(target));
    let candidates = candidates.filter_map(|one| Some((one, one.matched(id)?)));
    // The less text the `*` matches, the more specific the pattern.
    let (composition, text) =
        candidates.min_by_key(|(one, text)| (one.metric.contains(WILDCARD), text.len()))?;
    let parts = composition.parts.iter().map(|part| {
        let count = match part.count {
            Count::Times(times) => times as f64,
            Count::Matched(factor) => factor as f64 * text.parse::<f64>().ok()?,
        };
        Some(CostPart {
            count,
            metric: part.metric.replace(WILDCARD, text),
            dataset: part.dataset.clone(),
            why: part.why.clone(),
        })
    });
    parts.collect()
}

/// The ids and patterns that have a composition on a target, in file order.
#[must_use]
pub fn patterns<'a>(compositions: &'a [Composition], target: &str) -> Vec<&'a str> {
    let here = compositions.iter().filter(|one| one.applies_to(target));
    here.map(|one| one.metric.as_str()).collect()
}

/// The values of each metric in each replicate of a run, or the figures of a published suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The value of one operation by metric id and session, for each metric that has a value.
    pub values: BTreeMap<String, BTreeMap<usize, f64>>,
    /// Why the other metrics that were tried have no value (untrusted text).
    pub absent: BTreeMap<String, String>,
    /// The unit of all values, as text.
    pub unit: &'static str,
    /// Whether the cost of reading the clock is subtracted.
    pub clock: ClockAccounting,
}

/// Whether the cost of reading the clock, which every sample contains once, is subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockAccounting {
    /// Subtracted, as measured by the same session.
    Net,
    /// Not subtracted: the run did not measure its clock.
    Gross,
    /// Nothing to subtract: the values are published figures.
    #[default]
    Published,
}

impl Measured {
    /// The values of a run in nanoseconds or instructions: the median of each replicate, minus one
    /// reading of the clock per sample.
    ///
    /// Nothing is subtracted from [`CLOCK`] itself.
    #[must_use]
    pub fn of_run(run: &Run) -> Self {
        let gross = |replicate: &Replicate| {
            let clock = &run.sessions[replicate.session].clock;
            clock.shown(replicate.figure(Quantity::P50, clock.unit)?)
        };
        let all = summary::values(run);
        let mut measured = Measured {
            unit: Unit::Cycles.of_figures(),
            ..Measured::default()
        };
        let reading = all.iter().find(|metric| metric.id == CLOCK);
        let reading = reading.filter(|metric| metric.status == Status::Ok);
        let readings = reading.map(|metric| {
            let numbers = metric.replicates.iter().copied();
            let numbers = numbers.filter_map(|one| Some((one.session, gross(one)?)));
            numbers.collect::<BTreeMap<usize, f64>>()
        });
        measured.clock = match readings {
            Some(_) => ClockAccounting::Net,
            None => ClockAccounting::Gross,
        };
        for metric in &all {
            if metric.status != Status::Ok {
                let reason = metric.reason.unwrap_or("no reason given");
                measured
                    .absent
                    .insert(metric.id.to_owned(), reason.to_owned());
                continue;
            }
            measured.unit = metric.unit.of_figures();
            let net = |replicate: &Replicate| {
                let reading = match &readings {
                    Some(readings) if metric.id != CLOCK => *readings.get(&replicate.session)?,
                    _ => 0.0,
                };
                Some(gross(replicate)? - reading / replicate.batch.max(1) as f64)
            };
            let values = metric.replicates.iter().copied();
            let values = values.filter_map(|one| Some((one.session, net(one)?)));
            measured
                .values
                .insert(metric.id.to_owned(), values.collect());
        }
        measured
    }

    /// Adds the values of another run, whose metrics are named by [`name_in`]. The replicates of the
    /// two runs have nothing in common, so any pairing of them shows how the difference scatters:
    /// the first goes with the first.
    pub fn add(&mut self, dataset: &str, other: Measured) {
        let named = |id: String| name_in(dataset, &id);
        let values = other.values.into_iter();
        self.values.extend(values.map(|(id, v)| (named(id), v)));
        let absent = other.absent.into_iter();
        self.absent.extend(absent.map(|(id, why)| (named(id), why)));
    }

    /// Published figures: in cycles if all of them have cycles, else in nanoseconds. Figures of
    /// datasets other than `home` are named by [`name_in`].
    #[must_use]
    pub fn of_figures(figures: &[Figure], home: &str) -> Self {
        let in_cycles = figures.iter().all(|figure| figure.cycles.is_some());
        let value = |figure: &Figure| {
            let cycles = figure.cycles.as_ref().filter(|_| in_cycles);
            cycles.map(Published::value).or_else(|| figure.time())
        };
        let named = |figure: &Figure| {
            if figure.dataset == home {
                figure.name()
            } else {
                name_in(&figure.dataset, &figure.name())
            }
        };
        Measured {
            values: figures
                .iter()
                .filter_map(|figure| Some((named(figure), [(0, value(figure)?)].into())))
                .collect(),
            absent: BTreeMap::new(),
            unit: if in_cycles { "cycles" } else { "ns" },
            clock: ClockAccounting::Published,
        }
    }
}

/// The target of compositions with parts from a run in user mode and from one in kernel mode.
pub const BOTH_MODES: &str = "linux+linux-vm";

/// What these compositions call the run in kernel mode, in the column `dataset`.
pub const KERNEL_MODE: &str = "linux-vm";

/// The name of a benchmark of another dataset: `BENCHMARK (DATASET)`.
#[must_use]
pub fn name_in(dataset: &str, benchmark: &str) -> String {
    format!("{benchmark} ({dataset})")
}

/// The cost of a metric, its parts and the residual.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The metric's id.
    pub id: String,
    /// The unit of all values, as text.
    pub unit: &'static str,
    /// Whether the cost of reading the clock is subtracted.
    pub clock: ClockAccounting,
    /// The measured cost of one operation: the median over replicates.
    pub cost: f64,
    /// The confidence interval of that median ([`order::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// The parts, in file order.
    pub parts: Vec<MeasuredPart>,
    /// The sum of the measured parts.
    pub sum: f64,
    /// What no part explains: `cost` minus `sum`.
    pub residual: f64,
    /// The confidence interval of the residual, over the replicates that have the metric and all
    /// its parts.
    pub residual_interval: Option<(f64, f64)>,
    /// The number of these replicates.
    pub replicates: usize,
}

/// One part of an explanation, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPart {
    /// The part.
    pub part: CostPart,
    /// The median over replicates, of one operation; `None` if the part was not measured.
    pub value: Option<f64>,
    /// Why it was not measured, if the run says (untrusted text).
    pub reason: Option<String>,
}

impl MeasuredPart {
    /// The name of the part, with its dataset in brackets if that differs.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.part.dataset {
            Some(dataset) => name_in(dataset, &self.part.metric),
            None => self.part.metric.clone(),
        }
    }

    /// What the part adds to the sum: its value times its count.
    #[must_use]
    pub fn contribution(&self) -> Option<f64> {
        Some(self.part.count * self.value?)
    }
}

/// What a residual says about its composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResidualVerdict {
    /// Some parts were not measured, so the residual includes them.
    Unmeasured,
    /// The residual is not distinguishable from 0.
    Noise,
    /// The residual is real: no part explains it.
    Rest,
    /// The parts exceed the cost, so the composition does not hold.
    Exceeded,
}

impl Explanation {
    /// A value as a percentage of the cost; `None` if the cost is 0 or less.
    #[must_use]
    pub fn percent(&self, value: f64) -> Option<f64> {
        (self.cost > 0.0).then(|| 100.0 * value / self.cost)
    }

    /// The parts without a value.
    pub fn unmeasured(&self) -> impl Iterator<Item = &MeasuredPart> {
        self.parts.iter().filter(|share| share.value.is_none())
    }

    /// What the residual says about the composition.
    #[must_use]
    pub fn residual_verdict(&self) -> ResidualVerdict {
        match self.residual_interval {
            _ if self.unmeasured().next().is_some() => ResidualVerdict::Unmeasured,
            Some((low, high)) if low < high && low <= 0.0 && 0.0 <= high => ResidualVerdict::Noise,
            _ if self.residual < 0.0 => ResidualVerdict::Exceeded,
            _ => ResidualVerdict::Rest,
        }
    }
}

/// The keys of explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainKey {
    /// By id
    Id,
    /// By the cost
    Cost,
    /// By the residual's share of the cost, of either sign
    Residual,
}

impl Key<Explanation> for ExplainKey {
    fn compare(self, a: &Explanation, b: &Explanation) -> Ordering {
        let share = |one: &Explanation| one.percent(one.residual).map(f64::abs);
        match self {
            ExplainKey::Id => a.id.cmp(&b.id),
            ExplainKey::Cost => greatest_first(Some(a.cost), Some(b.cost)),
            ExplainKey::Residual => greatest_first(share(a), share(b)),
        }
    }
}

/// Compares the cost of a metric with the sum of its parts. `None` if the metric has no value.
#[must_use]
pub fn explain(id: &str, parts: Vec<CostPart>, measured: &Measured) -> Option<Explanation> {
    let costs = measured.values.get(id)?;
    let median = |of: &BTreeMap<usize, f64>| {
        let values: Vec<f64> = of.values().copied().collect();
        order::median(&values)
    };
    let parts: Vec<MeasuredPart> = parts
        .into_iter()
        .map(|part| {
            let mut part = MeasuredPart {
                part,
                value: None,
                reason: None,
            };
            let name = part.name();
            part.value = measured.values.get(&name).and_then(median);
            part.reason = measured.absent.get(&name).cloned();
            part
        })
        .collect();
    let residual = |(session, cost): (&usize, &f64)| {
        parts.iter().try_fold(*cost, |rest, part| {
            let value = measured.values.get(&part.name())?.get(session)?;
            Some(rest - part.part.count * value)
        })
    };
    let residuals: Vec<f64> = costs.iter().filter_map(residual).collect();
    let sum = parts.iter().filter_map(MeasuredPart::contribution).sum();
    let values: Vec<f64> = costs.values().copied().collect();
    let cost = order::median(&values)?;
    Some(Explanation {
        id: id.to_owned(),
        unit: measured.unit,
        clock: measured.clock,
        cost,
        interval: order::median_interval(&values),
        sum,
        residual: cost - sum,
        residual_interval: order::median_interval(&residuals),
        replicates: residuals.len(),
        parts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DATA: &str = "target,metric,count,part,dataset,why\n\
        linux,a.*,2,b.*,,twice\n\
        linux,a.*,*,c,,as often\n\
        linux,a.*,-1,d,,less\n\
        linux,a.9,1,c,,the exact name\n\
        x y,a.1,1,b.1,,elsewhere\n\
        s/d,p,1,q,s/e,of the other dataset\n";

    fn part(count: f64, metric: &str) -> CostPart {
        CostPart {
            count,
            metric: metric.to_owned(),
            dataset: None,
            why: "w".to_owned(),
        }
    }

    fn measured(values: &[(&str, &[f64])]) -> Measured {
        let of = |values: &[f64]| values.iter().copied().enumerate().collect();
        Measured {
            values: values
                .iter()
                .map(|(id, v)| ((*id).to_owned(), of(v)))
                .collect(),
            unit: "ns",
            ..Measured::default()
        }
    }

    fn counts(target: &str, id: &str) -> Option<Vec<(f64, String)>> {
        let parts = parts(&compositions_in(DATA).unwrap(), target, id)?;
        Some(parts.into_iter().map(|p| (p.count, p.metric)).collect())
    }

    #[test]
    fn parts_repeat_the_text_that_the_pattern_matched() {
        let expected = |all: &[(f64, &str)]| -> Option<Vec<(f64, String)>> {
            Some(all.iter().map(|(n, id)| (*n, (*id).to_owned())).collect())
        };
        let of_4 = expected(&[(2.0, "b.4"), (4.0, "c"), (-1.0, "d")]);
        assert_eq!(counts("linux", "a.4"), of_4);
        assert_eq!(counts("linux", "a.9"), expected(&[(1.0, "c")]));
        assert_eq!(counts("y", "a.1"), expected(&[(1.0, "b.1")]));
        // A count must be a number.
        assert_eq!(counts("linux", "a.x"), None);
        assert_eq!(counts("linux", "b.4"), None);
        assert_eq!(counts("z", "a.4"), None);
        let all = compositions_in(DATA).unwrap();
        assert_eq!(patterns(&all, "linux"), ["a.*", "a.9"]);
        let other = parts(&all, "s/d", "p").unwrap();
        assert_eq!(other[0].dataset.as_deref(), Some("s/e"));
    }

    #[test]
    fn invalid_compositions_are_rejected_with_the_reason() {
        let refused = |row: &str| {
            let text = format!("target,metric,count,part,dataset,why\n{row}\n");
            compositions_in(&text).unwrap_err()
        };
        for count in ["0", "x", "", "1.5"] {
            let error = refused(&format!("l,a,{count},b,,w"));
            let expected = format!("`{count}` is not a count");
            assert!(error.contains(&expected), "{error}");
        }
        assert!(refused("l,a,1,b.*,,w").contains("part b.*"));
        assert!(refused("l,a,*,b,,w").contains("part b"));
        assert!(refused("l,*a*,1,b,,w").contains("*a*"));
        assert!(refused("l,a,1,b,w").contains("line: 2"));
    }

    #[test]
    fn residual_is_computed_per_replicate() {
        // A replicate that is twice as slow is so in every part.
        let slowdown = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let of = |value: f64| slowdown.map(|factor| value * factor);
        let all = measured(&[("w", &of(100.0)), ("p", &of(30.0)), ("q", &of(10.0))]);
        let parts = vec![part(2.0, "p"), part(-1.0, "q")];
        let e = explain("w", parts, &all).unwrap();
        assert_eq!((e.cost, e.sum, e.residual), (150.0, 75.0, 75.0));
        assert_eq!(e.residual_interval, Some((50.0, 100.0)));
        assert_eq!(
            (e.replicates, e.residual_verdict()),
            (6, ResidualVerdict::Rest)
        );
        assert_eq!(e.percent(e.residual), Some(50.0));
    }

    #[test]
    fn unmeasured_parts_are_listed_and_not_summed() {
        let mut all = measured(&[("w", &[10.0]), ("p", &[3.0])]);
        all.absent.insert("q".to_owned(), "no priority".to_owned());
        let e = explain("w", vec![part(2.0, "p"), part(1.0, "q")], &all).unwrap();
        assert_eq!((e.sum, e.residual, e.replicates), (6.0, 4.0, 0));
        let names: Vec<_> = e
            .unmeasured()
            .map(|s| (s.name(), s.reason.clone()))
            .collect();
        assert_eq!(names, [("q".to_owned(), Some("no priority".to_owned()))]);
        assert_eq!(e.residual_verdict(), ResidualVerdict::Unmeasured);
        assert_eq!(explain("x", vec![part(1.0, "p")], &all), None);
    }

    #[test]
    fn residual_verdict_tells_noise_from_parts_that_exceed_the_cost() {
        let verdict = |cost: &[f64], of_part: &[f64]| {
            let all = measured(&[("w", cost), ("p", of_part)]);
            let explanation = explain("w", vec![part(1.0, "p")], &all).unwrap();
            explanation.residual_verdict()
        };
        assert_eq!(verdict(&[9.0], &[10.0]), ResidualVerdict::Exceeded);
        assert_eq!(verdict(&[9.0; 6], &[10.0; 6]), ResidualVerdict::Exceeded);
        assert_eq!(verdict(&[10.0; 6], &[10.0; 6]), ResidualVerdict::Rest);
        assert_eq!(
            verdict(&[9.0, 11.0, 9.0, 11.0, 9.0, 11.0], &[10.0; 6]),
            ResidualVerdict::Noise
        );
    }

    #[test]
    fn figures_of_other_datasets_are_named_with_their_dataset() {
        let figure = |dataset: &str, cycles: &str| Figure {
            dataset: dataset.to_owned(),
            benchmark: "b".to_owned(),
            cycles: Some(cycles.to_owned().try_into().unwrap()),
            ..Figure::default()
        };
        let all = Measured::of_figures(&[figure("s/d", "7"), figure("s/e", "3-5")], "s/d");
        assert_eq!(
            (all.unit, all.clock),
            ("cycles", ClockAccounting::Published)
        );
        assert_eq!(all.values["b"][&0].to_bits(), 7.0_f64.to_bits());
        assert_eq!(all.values["b (s/e)"][&0].to_bits(), 4.0_f64.to_bits());
    }

    proptest! {
        #[test]
        fn contributions_and_residual_add_up_in_any_order(
            values in prop::collection::vec((-3_i32..4, 0.0_f64..1000.0), 1..8),
            cost in 1.0_f64..5000.0,
        ) {
            let mut all = measured(&[("w", &[cost])]);
            let mut parts = Vec::new();
            for (at, (count, value)) in values.iter().enumerate() {
                let name = format!("p{at}");
                all.values.insert(name.clone(), [(0, *value)].into());
                parts.push(part(f64::from(*count), &name));
            }
            let e = explain("w", parts.clone(), &all).unwrap();
            let percents = e.parts.iter().filter_map(|p| e.percent(p.contribution()?));
            let total = percents.sum::<f64>() + e.percent(e.residual).unwrap();
            prop_assert!((total - 100.0).abs() < 1e-6 * (1.0 + e.sum.abs()));
            parts.reverse();
            let reversed = explain("w", parts, &all).unwrap();
            prop_assert!((reversed.residual - e.residual).abs() < 1e-6);
            prop_assert_eq!(reversed.residual_verdict(), e.residual_verdict());
        }

        #[test]
        fn row_order_does_not_matter(seed in 0_u64..1000) {
            let (head, body) = DATA.split_once('\n').unwrap();
            let mut rows: Vec<&str> = body.lines().collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut rows);
            let shuffled = compositions_in(&format!("{head}\n{}\n", rows.join("\n"))).unwrap();
            for (target, id) in [("linux", "a.4"), ("linux", "a.9"), ("x", "a.1"), ("s/d", "p")] {
                let sorted = |all: &[Composition]| {
                    let mut parts = parts(all, target, id).unwrap();
                    parts.sort_by(|a, b| a.why.cmp(&b.why));
                    parts
                };
                prop_assert_eq!(sorted(&shuffled), sorted(&compositions_in(DATA).unwrap()));
            }
        }
    }
}
