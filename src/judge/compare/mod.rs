// SPDX-License-Identifier: MIT OR Apache-2.0

//! Did it change? Two sides of replicates, metric by metric, each with a verdict.
//!
//! Two runs come in; a [`Comparison`] goes out. The method and its limits are in `doc/method.md`,
//! section "Comparing".

mod families;
mod metric;
mod sessions;
mod shift;
mod trial;

use crate::files::reference;
use crate::judge::conditions::{differences, Difference};
use crate::judge::figures::RunFigures;
use crate::judge::floors::Floors;
use crate::judge::pairing::Pair;
use crate::judge::quantity::{Margins, Quantity, MEDIANS_LEVEL};
use crate::statistics::order;
use crate::statistics::permutation::least_p;
use crate::stream::run::Run;

use families::{Draft, Judge};
use sessions::{Clocks, Sessions};
use trial::{least_change, Spread};

pub use metric::{Basis, Compared, Judged, PublishedName, Scope, Side, Verdict};
pub use sessions::Speed;
pub use trial::POWER;

/// The most replicates that are advised.
const MOST_REPLICATES: usize = 1000;

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
    /// How much each metric varies between sessions, for [`Comparison::replicates_to_find`].
    spreads: Vec<Spread>,
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
    pub fn replicates_to_find(&self, change: f64) -> Option<usize> {
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

/// What can be found of a quantity, over all metrics.
fn resolution(metrics: &[Compared], quantity: Quantity) -> Option<Resolution> {
    let compared = metrics.iter().filter(|metric| match metric.basis {
        Basis::Exact | Basis::Summary => true,
        // Without a ratio there is no size of a change.
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
