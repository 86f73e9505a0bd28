// SPDX-License-Identifier: MIT OR Apache-2.0

//! Pairs the metrics of both sides by id, and tests each family of quantities jointly.
//!
//! The figures of two runs come in; a [`PendingMetric`] per metric goes out, which becomes a
//! [`Compared`] after all families are tested.

use std::collections::HashMap;

use crate::judge::compare::metric::{side, Basis, Compared, Scope, Verdict};
use crate::judge::compare::quantity_test::{
    one_tick, tick_uncertainty, QuantityTest, Spread, TestResult, INTERPOLATION_ERROR,
};
use crate::judge::compare::sessions::{Clocks, Sessions};
use crate::judge::compare::{Conditions, Options};
use crate::judge::conditions::{reasons, ConditionKind, Difference};
use crate::judge::figures::{MetricFigures, RunFigures};
use crate::judge::floors::Floors;
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::permutation::{Joint, Series, Shift};
use crate::statistics::{adjust, order};
use crate::stream::run::{Statistic, Unit, CLOCK};

/// A metric with its prepared tests. Its verdict has to wait until the whole family is tested.
pub(super) struct PendingMetric {
    metric: Compared,
    tests: Vec<QuantityTest>,
}

/// All inputs of a comparison except the figures.
pub(super) struct Comparer<'a> {
    pub(super) options: &'a Options,
    pub(super) floors: &'a Floors,
    pub(super) conditions: Conditions,
    pub(super) differences: &'a [Difference],
    pub(super) clocks: &'a Clocks,
    pub(super) sessions: &'a Sessions,
}

impl Comparer<'_> {
    /// Pairs the metrics of both sides and prepares their tests.
    pub(super) fn pending_metrics(&self, [base, new]: [&RunFigures; 2]) -> Vec<PendingMetric> {
        let by_id = |run: &RunFigures| -> HashMap<String, usize> {
            let ids = run.metrics.iter().map(|metric| metric.id.clone());
            ids.zip(0..).collect()
        };
        let (in_base, in_new) = (by_id(base), by_id(new));
        let mut pending = Vec::new();
        let selected = |metric: &&MetricFigures| self.options.selection.selects(&metric.id);
        for metric in base.metrics.iter().filter(selected) {
            let new = in_new.get(&metric.id).map(|at| &new.metrics[*at]);
            pending.extend(self.pending_metric(Some(metric), new));
        }
        for metric in new.metrics.iter().filter(selected) {
            if !in_base.contains_key(&metric.id) {
                pending.extend(self.pending_metric(None, Some(metric)));
            }
        }
        pending
    }

    /// `None` if neither side has a value.
    fn pending_metric(
        &self,
        base: Option<&MetricFigures>,
        new: Option<&MetricFigures>,
    ) -> Option<PendingMetric> {
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
            why: None,
            published_name: None,
            improvement: None,
        };
        let untested = |verdict: Verdict, note: String| {
            Some(PendingMetric {
                metric: Compared {
                    verdict,
                    note: Some(note),
                    ..metric.clone()
                },
                tests: Vec::new(),
            })
        };
        let sides = match (measured(base), measured(new)) {
            (false, false) => return None,
            (true, false) => {
                let why = new.map_or_else(|| "not in new".to_owned(), MetricFigures::absence);
                return untested(Verdict::Missing, why);
            }
            (false, true) => {
                let why = base.map_or_else(|| "not in base".to_owned(), MetricFigures::absence);
                return untested(Verdict::Added, why);
            }
            (true, true) => [base?, new?],
        };
        if let Some(why) = self.incomparability(sides) {
            return untested(Verdict::Incomparable, why);
        }
        let mut pending = PendingMetric {
            metric,
            tests: Vec::new(),
        };
        let metric = &mut pending.metric;
        if let [Some(base), Some(new)] = sides.map(|side| side.exact.as_ref()) {
            metric.judge_exact([base, new], self.options.margins.of_exact());
        } else if sides.iter().any(|side| side.is_summary) {
            metric.judge_summary();
        } else if any.id == CLOCK && self.clocks.is_known() {
            let margin = self.options.margins.of(Quantity::P50);
            metric.basis = Basis::Speed;
            metric.judge_speed(&self.sessions.speed(self.clocks, margin));
        } else {
            self.prepare_tests(&mut pending, sides);
        }
        Some(pending)
    }

    /// Prepares the test of each quantity that both sides have.
    fn prepare_tests(&self, pending: &mut PendingMetric, sides: [&MetricFigures; 2]) {
        let PendingMetric { metric, tests } = pending;
        metric.basis = Basis::Test;
        metric.verdict = Verdict::Inconclusive;
        metric.quantity = self.options.quantities[0];
        let batches = sides.iter().flat_map(|side| &side.replicates);
        metric.scope.batch = batches.map(|one| one.batch).max().unwrap_or(1);
        let quantities = self.options.quantities.iter();
        *tests = quantities
            .filter_map(|quantity| self.quantity_test(&metric.id, sides, *quantity))
            .collect();
        if !tests.iter().any(|test| test.quantity == metric.quantity) {
            let name = metric.quantity.name();
            let why = format!("a test of {name} needs two replicates with {name} on each side");
            metric.note = Some(why);
        }
    }

    /// Prepares a test; `None` if a side has fewer than two values.
    fn quantity_test(
        &self,
        id: &str,
        sides: [&MetricFigures; 2],
        quantity: Quantity,
    ) -> Option<QuantityTest> {
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
        // On the scale of logarithms, a tick is a share of the value.
        let greatest = |ticks: fn(&MetricFigures, Quantity) -> f64| {
            let both = sides.iter().zip(&shown);
            let ticks = both.map(|(side, shown)| {
                ticks(side, quantity) / if has_ratio { shown.value } else { 1.0 }
            });
            ticks.fold(0.0, f64::max)
        };
        let (tick_error, tick) = (
            greatest(tick_uncertainty),
            greatest(|side, _| one_tick(side)),
        );
        let margin = has_ratio.then(|| {
            let margin = self.options.margins.of(quantity);
            margin.max(self.floors.of(id, quantity)).ln_1p()
        });
        // A tick hides at most `tick_error`, which is not a normal error: half of it enters the
        // standard error.
        let floor = 0.5 * tick_error.max(INTERPOLATION_ERROR * tick);
        let design = &self.sessions.design;
        let time = design.difference(&values, floor)?;
        let in_readings = match &readings {
            Some(readings) => Some(design.difference(readings, floor)?),
            None => None,
        };
        Some(QuantityTest {
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
            tick_error,
            is_constant,
            result: None,
        })
    }

    /// Tests one family, stores the result in each of its tests, and returns its size. The adjusted
    /// p value is the greatest of three: the joint permutation test, and Welch's test with Holm's
    /// correction in nanoseconds and in readings of the clock.
    pub(super) fn test_family(&self, pending: &mut [PendingMetric], tails: bool) -> usize {
        let mut family: Vec<&mut QuantityTest> = pending
            .iter_mut()
            .flat_map(|metric| &mut metric.tests)
            .filter(|test| test.quantity.is_tail() == tails)
            .collect();
        let Some(first) = family.first() else {
            return 0;
        };
        let level = first.quantity.level();
        let series: Vec<Series> = family
            .iter_mut()
            .map(|test| std::mem::replace(&mut test.series, Series::empty()))
            .collect();
        let joint = self.sessions.design.test(&series);
        limit_freedom(&mut family);
        let p_of = |p: &dyn Fn(&QuantityTest) -> f64| -> Vec<f64> {
            adjust::holm(&family.iter().map(|test| p(test)).collect::<Vec<f64>>())
        };
        let time = p_of(&|test| test.time.p());
        let readings = p_of(&|test| test.readings.map_or(0.0, |readings| readings.p()));
        let critical = self.critical_value(&joint, level);
        for (at, test) in family.iter_mut().enumerate() {
            let p = joint.p[at].max(time[at]).max(readings[at]);
            test.result = Some(TestResult { p, critical });
        }
        family.len()
    }

    /// The statistic that the joint test requires of a single change; infinite if there are too few
    /// sessions to detect any.
    fn critical_value(&self, joint: &Joint, level: f64) -> f64 {
        if self.sessions.design.least_p() > level {
            f64::INFINITY
        } else {
            joint.critical(level)
        }
    }

    /// Why two sides cannot be compared although both have a value; `None` if they can.
    fn incomparability(&self, [base, new]: [&MetricFigures; 2]) -> Option<String> {
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
            return Some("the frequency of the clock is unknown".to_owned());
        }
        if base.statistic != new.statistic && self.conditions == Conditions::Alike {
            let [base, new] = [base.statistic, new.statistic].map(Statistic::name);
            return Some(format!("the {base} of samples is now the {new}"));
        }
        if self.conditions == Conditions::Across {
            return None;
        }
        let is_time = base.unit != Unit::Instructions;
        let matters = |d: &&Difference| match d.kind {
            ConditionKind::Machine => is_time,
            ConditionKind::TwoCpus => is_time && (base.needs_two_cpus || new.needs_two_cpus),
            ConditionKind::Configuration | ConditionKind::Setting => true,
        };
        let reasons = reasons(self.differences.iter().filter(matters));
        (!reasons.is_empty()).then_some(reasons)
    }
}

/// Limits the degrees of freedom of each test by the family's median ratio of variances
/// ([`Shift::limit_freedom`] says why).
fn limit_freedom(family: &mut [&mut QuantityTest]) {
    let median = |shift: fn(&QuantityTest) -> Option<Shift>| {
        let shifts = family.iter().filter_map(|test| shift(test));
        let ratios: Vec<f64> = shifts.filter_map(|s| s.log_variance_ratio()).collect();
        order::median(&ratios)
    };
    let (time, readings) = (median(|test| Some(test.time)), median(|test| test.readings));
    for test in family {
        if let Some(ratio) = time {
            test.time.limit_freedom(ratio);
        }
        if let (Some(ratio), Some(shift)) = (readings, test.readings.as_mut()) {
            shift.limit_freedom(ratio);
        }
    }
}

impl PendingMetric {
    /// How much a quantity varies between sessions; `None` if it was not tested.
    pub(super) fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let test = self.tests.iter().find(|t| t.quantity == quantity)?;
        let [base, new] = test.sides.map(|side| side.replicates as f64);
        Some(Spread {
            deviation: test.error() / (1.0 / base + 1.0 / new).sqrt(),
            margin: test.margin? + test.tick_error,
        })
    }

    /// Judges each quantity and chooses the verdict of the metric. All families have to be tested
    /// before.
    pub(super) fn conclude(self) -> Compared {
        let mut metric = self.metric;
        if self.tests.is_empty() {
            return metric;
        }
        metric.judged = self.tests.into_iter().map(QuantityTest::judge).collect();
        metric.choose_verdict();
        metric
    }
}
