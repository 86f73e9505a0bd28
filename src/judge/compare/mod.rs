// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compares two runs: did any metric change?
//!
//! Two runs come in, each with several replicates; a [`Comparison`] with a verdict per metric goes
//! out. `doc/method.md`, section "Comparing", describes the method and its limits.

mod families;
mod key;
mod metric;
mod quantity_test;
mod sessions;
mod shift;

use std::collections::BTreeSet;

use crate::files::reference;
use crate::judge::conditions::{differences, Difference};
use crate::judge::figures::RunFigures;
use crate::judge::floors::Floors;
use crate::judge::interference::{contrasts, Contrast};
use crate::judge::pairing::Pair;
use crate::judge::quantity::{Margins, Quantity, MEDIANS_LEVEL};
use crate::judge::summary::Status;
use crate::statistics::permutation::least_p;
use crate::statistics::{distributions, means};
use crate::stream::filter::Selection;
use crate::stream::run::Run;

use families::{Comparer, PendingMetric};
use quantity_test::{detectable_change, Spread};
use sessions::{Clocks, Sessions};

pub use key::CompareKey;
pub use metric::{Basis, Compared, Judged, PublishedName, Scope, Side, Verdict};
pub use quantity_test::POWER;
pub use sessions::Speed;

/// The largest number of replicates that a report recommends.
const MAX_REPLICATES: usize = 1000;

/// Which differences in conditions a comparison accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// Compares only metrics measured on the same machine in the same configuration.
    #[default]
    Alike,
    /// Compares across different conditions too, but never instructions with time.
    Across,
}

/// How to compare two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The requested margins.
    pub margins: Margins,
    /// Which differences in conditions are accepted.
    pub conditions: Conditions,
    /// The quantities to judge for each metric, in the order of [`Quantity::ALL`]; not empty.
    pub quantities: Vec<Quantity>,
    /// The metrics to compare. The others do not count, not even in the size of the families.
    pub selection: Selection,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            margins: Margins::default(),
            conditions: Conditions::default(),
            quantities: Quantity::ALL.to_vec(),
            selection: Selection::default(),
        }
    }
}

/// The geometric mean of the changes of many medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanChange {
    /// The ratio new / base.
    pub ratio: f64,
    /// The same in readings of the clock; `None` if a metric has no such ratio.
    pub readings: Option<f64>,
    /// The number of metrics.
    pub metrics: usize,
}

/// The smallest changes that a comparison can detect with the probability [`POWER`], over the
/// medians of all metrics that have a ratio. Shares: 0.1 is 10 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// The resolution that half of the metrics reach; `None` if half of them cannot detect any
    /// change.
    pub median: Option<f64>,
    /// The resolution that all metrics reach; `None` if one cannot detect any change.
    pub worst: Option<f64>,
    /// The number of metrics that cannot detect any change.
    pub blind: usize,
}

/// The comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Every metric that has a value on at least one side, in the order of the base.
    pub metrics: Vec<Compared>,
    /// The number of tested medians: the size of their family.
    pub family: usize,
    /// The number of tested percentiles and first operations: the size of the other family.
    pub tails: usize,
    /// The margins of the tested quantities; a noise floor can raise that of a single metric.
    pub margins: Margins,
    /// The quantities that were judged for each metric.
    pub quantities: Vec<Quantity>,
    /// The number of blocks that the test was stratified by, if the sides were measured interleaved.
    pub blocks: Option<usize>,
    /// The sources of the noise floors that raised margins.
    pub floors: Vec<String>,
    /// The conditions in which the sides differ.
    pub differences: Vec<Difference>,
    /// Which differences in conditions were accepted.
    pub conditions: Conditions,
    /// What else happened more often on one side. None if they did not measure the same.
    pub contrasts: Vec<Contrast>,
    /// Whether the processor's speed changed.
    pub speed: Speed,
    /// The smallest changes that could have been detected; `None` if nothing was compared.
    pub resolution: Option<Resolution>,
    /// The number of base and new sessions that were left out because they did not measure the
    /// clock.
    pub without_clock: [usize; 2],
    /// Sentences that published figures add to the report.
    pub published: Vec<String>,
    /// The metrics that were to be compared.
    pub selection: Selection,
    /// How many metrics with a value were not.
    pub unselected: usize,
    /// How much each metric varies between sessions; [`Comparison::replicates_to_find`] uses it.
    spreads: Vec<Spread>,
}

impl Comparison {
    /// Compares two runs without noise floors.
    #[must_use]
    pub fn of(base: &Run, new: &Run, options: &Options) -> Self {
        Self::with_floors(base, new, options, &Floors::default())
    }

    /// Compares two runs. A noise floor above the requested margin replaces it.
    #[must_use]
    pub fn with_floors(base: &Run, new: &Run, options: &Options, floors: &Floors) -> Self {
        let figures = [RunFigures::of(base), RunFigures::of(new)];
        Self::of_figures([base, new], figures.each_ref(), options, floors)
    }

    /// Compares two runs by their figures, so their samples can be dropped first. If both were
    /// measured interleaved, differing conditions are accepted: that measurement was made to compare
    /// them.
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
        let comparer = Comparer {
            options,
            floors,
            conditions,
            differences: &differences,
            clocks: &clocks,
            sessions: &sessions,
        };
        let mut pending = comparer.pending_metrics(figures);
        let families = [false, true].map(|tails| comparer.test_family(&mut pending, tails));
        let spread = |metric: &PendingMetric| metric.spread(options.quantities[0]);
        let spreads = pending.iter().filter_map(spread).collect();
        let mut metrics: Vec<Compared> = pending.into_iter().map(PendingMetric::conclude).collect();
        for metric in &mut metrics {
            metric.find_out_where(runs);
        }
        let measured = figures.iter().flat_map(|side| &side.metrics);
        let measured = measured.filter(|metric| metric.status == Status::Ok);
        let unselected: BTreeSet<&String> = measured
            .map(|metric| &metric.id)
            .filter(|id| !options.selection.selects(id))
            .collect();
        let ids = figures.map(|side| side.metrics.iter().map(|metric| &metric.id).collect());
        let [base_ids, new_ids]: [BTreeSet<&String>; 2] = ids;
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
            contrasts: if base_ids == new_ids {
                contrasts(runs[0], runs[1])
            } else {
                Vec::new()
            },
            speed: sessions.speed(&clocks, options.margins.of(Quantity::P50)),
            without_clock: sessions.left_out,
            published: Vec::new(),
            selection: options.selection.clone(),
            unselected: unselected.len(),
            spreads,
        }
    }

    /// Replaces the ids of published figures by the metrics that they correspond to.
    pub fn use_published_names(&mut self, pairs: &[reference::Pair]) {
        for metric in &mut self.metrics {
            if let Some(pair) = pairs.iter().find(|pair| pair.id == metric.id) {
                metric.id.clone_from(&pair.metric);
                metric.published_name = Some(PublishedName {
                    name: pair.benchmark.clone(),
                    note: pair.note.clone(),
                });
            }
        }
    }

    /// Adds the improvement of each metric, as suites publish it ([`reference::improvement`]).
    pub fn add_improvements(&mut self) {
        for metric in &mut self.metrics {
            let sides = metric.base.zip(metric.new);
            metric.improvement =
                sides.map(|(base, new)| reference::improvement(base.median, new.median));
        }
    }

    /// The number of metrics with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.metrics.iter().filter(|m| m.verdict == verdict).count()
    }

    /// The geometric mean of the changes of all medians; `None` if none has a ratio.
    #[must_use]
    pub fn mean_change(&self) -> Option<MeanChange> {
        let compared = self.metrics.iter().filter(|m| m.basis != Basis::Speed);
        let medians = compared.filter_map(|m| m.judgement_of(Quantity::P50));
        let (ratios, readings): (Vec<f64>, Vec<Option<f64>>) = medians
            .filter_map(|one| Some((one.ratio?, one.readings.map(|(ratio, _)| ratio))))
            .unzip();
        let readings: Option<Vec<f64>> = readings.into_iter().collect();
        Some(MeanChange {
            ratio: means::geometric_mean(&ratios)?,
            readings: readings.and_then(|ratios| means::geometric_mean(&ratios)),
            metrics: ratios.len(),
        })
    }

    /// Whether no metric was compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metrics.iter().all(|m| m.basis == Basis::None)
    }

    /// The number of replicates on each side with which half of the metrics would detect a change of
    /// this size (a share). `None` if 1,000 are too few, or if more replicates would not help.
    #[must_use]
    pub fn replicates_to_find(&self, change: f64) -> Option<usize> {
        if self.spreads.is_empty() {
            return None;
        }
        let half = self.spreads.len().div_ceil(2);
        (2..=MAX_REPLICATES).find(|replicates| {
            let error = (2.0 / *replicates as f64).sqrt();
            if least_p(&[(*replicates, *replicates)]) > MEDIANS_LEVEL {
                return false;
            }
            let level = MEDIANS_LEVEL / self.spreads.len() as f64;
            let freedom = 2.0 * (*replicates as f64) - 2.0;
            let Some(critical) = distributions::t_critical(level, freedom) else {
                return false;
            };
            let finds = |spread: &&Spread| {
                detectable_change(critical, error * spread.deviation, spread.margin) <= change
            };
            self.spreads.iter().filter(finds).count() >= half
        })
    }
}

/// The resolution of a quantity over all metrics; `None` if none was compared.
fn resolution(metrics: &[Compared], quantity: Quantity) -> Option<Resolution> {
    let compared = metrics.iter().filter(|metric| match metric.basis {
        Basis::Exact | Basis::Summary => true,
        // Without a ratio, a change has no relative size.
        Basis::Test => metric
            .judgement_of(quantity)
            .is_none_or(|one| one.ratio.is_some()),
        Basis::None | Basis::Speed => false,
    });
    let mut all: Vec<f64> = compared
        .map(|metric| match metric.basis {
            Basis::Exact => Some(0.0),
            _ => metric.judgement_of(quantity)?.resolution,
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
