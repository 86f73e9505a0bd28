// SPDX-License-Identifier: MIT OR Apache-2.0

//! The metrics of both sides, paired by id, and the joint test of each family of quantities.
//!
//! The figures of two runs come in; each metric goes out with its tests.

use std::collections::HashMap;

use crate::judge::compare::metric::{side, Basis, Compared, Scope, Verdict};
use crate::judge::compare::sessions::{Clocks, Sessions};
use crate::judge::compare::trial::{hidden_ticks, one_tick, Spread, Trial, WITHIN_A_TICK};
use crate::judge::compare::{Conditions, Options};
use crate::judge::conditions::{ConditionKind, Difference};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::floors::Floors;
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::order;
use crate::statistics::permutation::{Joint, Series, Shift};
use crate::stream::run::{Statistic, Unit, CLOCK};

/// A metric whose verdict waits for the other tests.
pub(super) struct Draft {
    metric: Compared,
    trials: Vec<Trial>,
}

pub(super) struct Judge<'a> {
    pub(super) options: &'a Options,
    pub(super) floors: &'a Floors,
    pub(super) conditions: Conditions,
    pub(super) differences: &'a [Difference],
    pub(super) clocks: &'a Clocks,
    pub(super) sessions: &'a Sessions,
}

impl Judge<'_> {
    pub(super) fn drafts(&self, [base, new]: [&RunFigures; 2]) -> Vec<Draft> {
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
            published_name: None,
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
    pub(super) fn test(&self, drafts: &mut [Draft], tails: bool) -> usize {
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
            |d: &&Difference| base.unit != Unit::Instructions || d.kind != ConditionKind::Machine;
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

impl Draft {
    /// How much a quantity varies between sessions; `None` where it was not tested.
    pub(super) fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let trial = self.trials.iter().find(|t| t.quantity == quantity)?;
        let [base, new] = trial.sides.map(|side| side.replicates as f64);
        Some(Spread {
            deviation: trial.error() / (1.0 / base + 1.0 / new).sqrt(),
            margin: trial.margin? + trial.hidden,
        })
    }

    pub(super) fn conclude(self) -> Compared {
        let mut metric = self.metric;
        if self.trials.is_empty() {
            return metric;
        }
        metric.judged = self.trials.into_iter().map(Trial::judge).collect();
        metric.decide();
        metric
    }
}
