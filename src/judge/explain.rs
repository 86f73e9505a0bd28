// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the cost of a metric is made of: parts that are metrics of their own, and the residual
//! that is in none of them.
//!
//! Which parts a metric has is data, `reference/compositions.csv`; the arithmetic is here. What a
//! residual means and where the arithmetic ends is in `doc/method.md`, "What a cost is made of".

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::files::reference::{self, Figure, Published};
use crate::judge::quantity::Quantity;
use crate::judge::summary::{self, Status};
use crate::statistics::order;
use crate::stream::run::{Replicate, Run, Unit, CLOCK};

const COMPOSITIONS: &str = include_str!("../../reference/compositions.csv");

/// What stands in a pattern for any text, and in its parts for the text that it stood for.
const ANY: char = '*';

/// A metric, or those that a pattern names, and the parts of its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    /// Where it holds: names of targets as in [`reference::target`], or the path of a dataset.
    pub targets: Vec<String>,
    /// The metric's id; one `*` stands for any text.
    pub metric: String,
    /// The parts, in the order of the data.
    pub parts: Vec<Part>,
}

/// A part of a cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// How often it is in it. Below 0 takes away what another part has too much.
    pub count: Count,
    /// The metric that measures it; a `*` is the text that the pattern's stood for.
    pub metric: String,
    /// The dataset that has it, where that is another than the whole's.
    pub dataset: Option<String>,
    /// Why it is a part, and so often.
    pub why: String,
}

/// How often a part is in a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Count {
    /// So often.
    Times(i64),
    /// As often as the text says that the pattern's `*` stood for, times this.
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
            format!("`{text}` is no count: a whole number other than 0, or {ANY}, or -{ANY}")
        })
    }
}

#[derive(Deserialize)]
struct Line {
    target: String,
    metric: String,
    count: Count,
    part: String,
    dataset: Option<String>,
    why: String,
}

/// All compositions, in the order of the data.
///
/// # Errors
///
/// The data is broken.
pub fn compositions() -> Result<Vec<Composition>, String> {
    compositions_in(COMPOSITIONS)
}

/// The same of a text: columns `target`, `metric`, `count`, `part`, `dataset`, `why`; rows of one
/// metric of one target are one composition.
///
/// # Errors
///
/// A column is missing, a row has another number of fields, a count is none, or a part repeats a
/// `*` that its metric does not have: which, and where.
pub fn compositions_in(csv: &str) -> Result<Vec<Composition>, String> {
    let mut compositions: Vec<Composition> = Vec::new();
    for line in reference::parse_csv::<Line>("compositions", csv)? {
        let has_any = line.part.contains(ANY) || matches!(line.count, Count::Matched(_));
        if has_any && !line.metric.contains(ANY) || line.metric.matches(ANY).count() > 1 {
            return Err(format!(
                "reference/compositions.csv: {}, part {}: a {ANY} stands once in the metric, and \
                 in its parts only then",
                line.metric, line.part
            ));
        }
        let part = Part {
            count: line.count,
            metric: line.part,
            dataset: line.dataset,
            why: line.why,
        };
        let targets: Vec<String> = line.target.split(' ').map(str::to_owned).collect();
        let known = compositions
            .iter_mut()
            .find(|known| known.metric == line.metric && known.targets == targets);
        match known {
            Some(known) => known.parts.push(part),
            None => compositions.push(Composition {
                targets,
                metric: line.metric,
                parts: vec![part],
            }),
        }
    }
    Ok(compositions)
}

impl Composition {
    /// The text that the pattern's `*` stands for in an id: empty where it has none; `None` where
    /// it does not name the id.
    fn matched<'a>(&self, id: &'a str) -> Option<&'a str> {
        match self.metric.split_once(ANY) {
            None => (self.metric == id).then_some(""),
            Some((start, end)) => id.strip_prefix(start)?.strip_suffix(end),
        }
    }

    fn holds_at(&self, target: &str) -> bool {
        self.targets.iter().any(|one| one == target)
    }
}

/// A part of one metric: what it is called and how often it is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// How often it is in it; may be below 0.
    pub count: f64,
    /// The metric that measures it.
    pub metric: String,
    /// The dataset that has it, where that is another than the whole's.
    pub dataset: Option<String>,
    /// Why it is a part, and so often.
    pub why: String,
}

/// The parts of a metric on a target, those of the pattern that says most of its id; `None` when
/// no composition names it.
#[must_use]
pub fn parts(compositions: &[Composition], target: &str, id: &str) -> Option<Vec<Piece>> {
    let candidates = compositions.iter().filter(|one| one.holds_at(target));
    let candidates = candidates.filter_map(|one| Some((one, one.matched(id)?)));
    // A pattern says all of an id but what its * stands for.
    let (composition, text) =
        candidates.min_by_key(|(one, text)| (one.metric.contains(ANY), text.len()))?;
    let pieces = composition.parts.iter().map(|part| {
        let count = match part.count {
            Count::Times(times) => times as f64,
            Count::Matched(factor) => factor as f64 * text.parse::<f64>().ok()?,
        };
        Some(Piece {
            count,
            metric: part.metric.replace(ANY, text),
            dataset: part.dataset.clone(),
            why: part.why.clone(),
        })
    });
    pieces.collect()
}

/// The ids and patterns of all that has a composition on a target, in the order of the data.
#[must_use]
pub fn patterns<'a>(compositions: &'a [Composition], target: &str) -> Vec<&'a str> {
    let here = compositions.iter().filter(|one| one.holds_at(target));
    here.map(|one| one.metric.as_str()).collect()
}

/// What was measured together: the values of each metric in each replicate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Of each metric with a number, its replicates and their values of one operation.
    pub values: BTreeMap<String, BTreeMap<usize, f64>>,
    /// Why metrics that were tried have no number; not yet safe to show.
    pub absent: BTreeMap<String, String>,
    /// What the values are in.
    pub unit: &'static str,
    /// How a reading of the clock is accounted for.
    pub clock: Reckoning,
}

/// Whether values are less the reading of the clock that a sample has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reckoning {
    /// They are: by what the same session measured.
    Net,
    /// They are not: the run did not measure its clock.
    Gross,
    /// There is nothing to take away: they are published figures.
    #[default]
    Published,
}

impl Measured {
    /// The values of a run: the median of each replicate, less one reading of the clock in each
    /// sample, in nanoseconds, or in instructions.
    ///
    /// The reading of the clock itself is whole.
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
            Some(_) => Reckoning::Net,
            None => Reckoning::Gross,
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

    /// Published figures, in cycles where they all have them; those of a dataset other than `home`
    /// by [`name_in`].
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
            clock: Reckoning::Published,
        }
    }
}

/// A figure of another dataset, by name.
#[must_use]
pub fn name_in(dataset: &str, benchmark: &str) -> String {
    format!("{benchmark} ({dataset})")
}

/// What a cost is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The metric.
    pub id: String,
    /// What all values are in.
    pub unit: &'static str,
    /// How readings of the clock are accounted for.
    pub clock: Reckoning,
    /// What was measured of one operation: the median over replicates.
    pub whole: f64,
    /// The interval of that median ([`order::median_interval`]).
    pub interval: Option<(f64, f64)>,
    /// The parts, in the order of the data.
    pub shares: Vec<Share>,
    /// What the measured parts add up to.
    pub sum: f64,
    /// What is in none of them: `whole` less `sum`.
    pub residual: f64,
    /// The interval of the residual over the replicates that have the whole and all parts.
    pub residual_interval: Option<(f64, f64)>,
    /// How many these are.
    pub replicates: usize,
}

/// One part of an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The part.
    pub piece: Piece,
    /// Its value, the median over replicates; `None` when it was not measured.
    pub value: Option<f64>,
    /// Why it has none, where the run tells; not yet safe to show.
    pub reason: Option<String>,
}

impl Share {
    /// The name of the part, and in brackets the dataset that has it where that is another.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.piece.dataset {
            Some(dataset) => name_in(dataset, &self.piece.metric),
            None => self.piece.metric.clone(),
        }
    }

    /// What it adds to the sum.
    #[must_use]
    pub fn contribution(&self) -> Option<f64> {
        Some(self.piece.count * self.value?)
    }
}

/// What a residual says of its composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Parts are missing: it holds them too.
    Unmeasured,
    /// It cannot be told from 0.
    Noise,
    /// So much is in none of the parts.
    Rest,
    /// The parts are more than the whole: the composition does not hold.
    Exceeded,
}

impl Explanation {
    /// A value as a share of the whole, per cent.
    #[must_use]
    pub fn percent(&self, value: f64) -> Option<f64> {
        (self.whole > 0.0).then(|| 100.0 * value / self.whole)
    }

    /// The parts that were not measured.
    pub fn unmeasured(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter(|share| share.value.is_none())
    }

    /// What the residual says.
    #[must_use]
    pub fn reading(&self) -> Reading {
        match self.residual_interval {
            _ if self.unmeasured().next().is_some() => Reading::Unmeasured,
            Some((low, high)) if low < high && low <= 0.0 && 0.0 <= high => Reading::Noise,
            _ if self.residual < 0.0 => Reading::Exceeded,
            _ => Reading::Rest,
        }
    }
}

/// Puts the parts of a metric beside what it costs; `None` when it has no number itself.
#[must_use]
pub fn explain(id: &str, pieces: Vec<Piece>, measured: &Measured) -> Option<Explanation> {
    let whole = measured.values.get(id)?;
    let median = |of: &BTreeMap<usize, f64>| {
        let values: Vec<f64> = of.values().copied().collect();
        order::median(&values)
    };
    let shares: Vec<Share> = pieces
        .into_iter()
        .map(|piece| {
            let mut share = Share {
                piece,
                value: None,
                reason: None,
            };
            let name = share.name();
            share.value = measured.values.get(&name).and_then(median);
            share.reason = measured.absent.get(&name).cloned();
            share
        })
        .collect();
    let residual = |(replicate, value): (&usize, &f64)| {
        shares.iter().try_fold(*value, |rest, share| {
            let part = measured.values.get(&share.name())?.get(replicate)?;
            Some(rest - share.piece.count * part)
        })
    };
    let residuals: Vec<f64> = whole.iter().filter_map(residual).collect();
    let sum = shares.iter().filter_map(Share::contribution).sum();
    let values: Vec<f64> = whole.values().copied().collect();
    let cost = order::median(&values)?;
    Some(Explanation {
        id: id.to_owned(),
        unit: measured.unit,
        clock: measured.clock,
        whole: cost,
        interval: order::median_interval(&values),
        sum,
        residual: cost - sum,
        residual_interval: order::median_interval(&residuals),
        replicates: residuals.len(),
        shares,
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

    fn piece(count: f64, metric: &str) -> Piece {
        Piece {
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
        let pieces = parts(&compositions_in(DATA).unwrap(), target, id)?;
        Some(pieces.into_iter().map(|p| (p.count, p.metric)).collect())
    }

    #[test]
    fn a_pattern_gives_its_text_to_the_parts() {
        let expected = |all: &[(f64, &str)]| -> Option<Vec<(f64, String)>> {
            Some(all.iter().map(|(n, id)| (*n, (*id).to_owned())).collect())
        };
        let of_4 = expected(&[(2.0, "b.4"), (4.0, "c"), (-1.0, "d")]);
        assert_eq!(counts("linux", "a.4"), of_4);
        assert_eq!(counts("linux", "a.9"), expected(&[(1.0, "c")]));
        assert_eq!(counts("y", "a.1"), expected(&[(1.0, "b.1")]));
        // What is no number is no count.
        assert_eq!(counts("linux", "a.x"), None);
        assert_eq!(counts("linux", "b.4"), None);
        assert_eq!(counts("z", "a.4"), None);
        let all = compositions_in(DATA).unwrap();
        assert_eq!(patterns(&all, "linux"), ["a.*", "a.9"]);
        let other = parts(&all, "s/d", "p").unwrap();
        assert_eq!(other[0].dataset.as_deref(), Some("s/e"));
    }

    #[test]
    fn data_that_is_broken_is_refused_by_what_is_wrong() {
        let refused = |row: &str| {
            let text = format!("target,metric,count,part,dataset,why\n{row}\n");
            compositions_in(&text).unwrap_err()
        };
        for count in ["0", "x", "", "1.5"] {
            let error = refused(&format!("l,a,{count},b,,w"));
            assert!(error.contains(&format!("`{count}` is no count")), "{error}");
        }
        assert!(refused("l,a,1,b.*,,w").contains("part b.*"));
        assert!(refused("l,a,*,b,,w").contains("part b"));
        assert!(refused("l,*a*,1,b,,w").contains("*a*"));
        assert!(refused("l,a,1,b,w").contains("line: 2"));
    }

    #[test]
    fn the_residual_is_that_of_each_replicate() {
        // Replicates that are twice as slow as others are so in every part.
        let pace = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let of = |value: f64| pace.map(|pace| value * pace);
        let all = measured(&[("w", &of(100.0)), ("p", &of(30.0)), ("q", &of(10.0))]);
        let pieces = vec![piece(2.0, "p"), piece(-1.0, "q")];
        let e = explain("w", pieces, &all).unwrap();
        assert_eq!((e.whole, e.sum, e.residual), (150.0, 75.0, 75.0));
        assert_eq!(e.residual_interval, Some((50.0, 100.0)));
        assert_eq!((e.replicates, e.reading()), (6, Reading::Rest));
        assert_eq!(e.percent(e.residual), Some(50.0));
    }

    #[test]
    fn what_is_not_measured_is_named_and_in_no_sum() {
        let mut all = measured(&[("w", &[10.0]), ("p", &[3.0])]);
        all.absent.insert("q".to_owned(), "no priority".to_owned());
        let e = explain("w", vec![piece(2.0, "p"), piece(1.0, "q")], &all).unwrap();
        assert_eq!((e.sum, e.residual, e.replicates), (6.0, 4.0, 0));
        let names: Vec<_> = e
            .unmeasured()
            .map(|s| (s.name(), s.reason.clone()))
            .collect();
        assert_eq!(names, [("q".to_owned(), Some("no priority".to_owned()))]);
        assert_eq!(e.reading(), Reading::Unmeasured);
        assert_eq!(explain("x", vec![piece(1.0, "p")], &all), None);
    }

    #[test]
    fn parts_may_exceed_the_whole_or_leave_nothing_that_noise_does_not() {
        let reading = |whole: &[f64], part: &[f64]| {
            let all = measured(&[("w", whole), ("p", part)]);
            explain("w", vec![piece(1.0, "p")], &all).unwrap().reading()
        };
        assert_eq!(reading(&[9.0], &[10.0]), Reading::Exceeded);
        assert_eq!(reading(&[9.0; 6], &[10.0; 6]), Reading::Exceeded);
        assert_eq!(reading(&[10.0; 6], &[10.0; 6]), Reading::Rest);
        assert_eq!(
            reading(&[9.0, 11.0, 9.0, 11.0, 9.0, 11.0], &[10.0; 6]),
            Reading::Noise
        );
    }

    #[test]
    fn published_figures_of_other_datasets_are_found_by_both_names() {
        let figure = |dataset: &str, cycles: &str| Figure {
            dataset: dataset.to_owned(),
            benchmark: "b".to_owned(),
            cycles: Some(cycles.to_owned().try_into().unwrap()),
            ..Figure::default()
        };
        let all = Measured::of_figures(&[figure("s/d", "7"), figure("s/e", "3-5")], "s/d");
        assert_eq!((all.unit, all.clock), ("cycles", Reckoning::Published));
        assert_eq!(all.values["b"][&0].to_bits(), 7.0_f64.to_bits());
        assert_eq!(all.values["b (s/e)"][&0].to_bits(), 4.0_f64.to_bits());
    }

    proptest! {
        #[test]
        fn shares_and_residual_add_up_in_any_order(
            parts in prop::collection::vec((-3_i32..4, 0.0_f64..1000.0), 1..8),
            whole in 1.0_f64..5000.0,
        ) {
            let names: Vec<String> = (0..parts.len()).map(|i| format!("p{i}")).collect();
            let mut all = measured(&[("w", &[whole])]);
            let mut pieces = Vec::new();
            for (name, (count, value)) in names.iter().zip(&parts) {
                all.values.insert(name.clone(), [(0, *value)].into());
                pieces.push(piece(f64::from(*count), name));
            }
            let e = explain("w", pieces.clone(), &all).unwrap();
            let shares = e.shares.iter().filter_map(|s| e.percent(s.contribution()?));
            let total = shares.sum::<f64>() + e.percent(e.residual).unwrap();
            prop_assert!((total - 100.0).abs() < 1e-6 * (1.0 + e.sum.abs()));
            pieces.reverse();
            let turned = explain("w", pieces, &all).unwrap();
            prop_assert!((turned.residual - e.residual).abs() < 1e-6);
            prop_assert_eq!(turned.reading(), e.reading());
        }

        #[test]
        fn the_order_of_the_rows_of_the_data_does_not_matter(seed in 0_u64..1000) {
            let (head, body) = DATA.split_once('\n').unwrap();
            let mut rows: Vec<&str> = body.lines().collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut rows);
            let shuffled = compositions_in(&format!("{head}\n{}\n", rows.join("\n"))).unwrap();
            for (target, id) in [("linux", "a.4"), ("linux", "a.9"), ("x", "a.1"), ("s/d", "p")] {
                let sorted = |all: &[Composition]| {
                    let mut pieces = parts(all, target, id).unwrap();
                    pieces.sort_by(|a, b| a.why.cmp(&b.why));
                    pieces
                };
                prop_assert_eq!(sorted(&shuffled), sorted(&compositions_in(DATA).unwrap()));
            }
        }
    }
}
