// SPDX-License-Identifier: MIT OR Apache-2.0

//! The gate: does a comparison let a change through?
//!
//! A comparison and what is asked of it come in; every objection goes out. A gate that could not have seen a change objects too: silence is no pass.

use crate::judge::compare::{Basis, Compared, Comparison, Verdict};
use crate::judge::quantity::Quantity;

/// What a gate does not let through.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Verdicts that fail it; without any there is no gate.
    pub fail_on: Vec<Verdict>,
    /// The quantities whose inconclusiveness counts.
    pub quantities: Vec<Quantity>,
    /// Whether idioms count, which say more of the port than of the kernel.
    pub judges_idioms: bool,
    /// The worst resolution over the median of metrics, as a share.
    pub resolution: f64,
    /// The greatest change of the processor's speed that is accepted, as a share.
    pub speed: Option<f64>,
}

/// What a gate makes of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ruling {
    /// Everything that it does not let through, the gravest first: none where it passes.
    pub objections: Vec<Objection>,
    /// How many idioms were compared and do not count.
    pub ungated: usize,
}

/// Why a gate does not let a comparison through.
#[derive(Clone, Debug, PartialEq)]
pub enum Objection {
    /// So many metrics regressed.
    Regressed(usize),
    /// So many metrics are inconclusive.
    Inconclusive(usize),
    /// The processor's speed changed by this share, which nobody accepted.
    Speed(f64),
    /// So many metrics were measured under other conditions.
    Incomparable(usize),
    /// So many metrics of the base have no number any more.
    Missing(usize),
    /// No metric was compared.
    Nothing,
    /// It could not have found a change of the size asked for.
    LowResolution {
        /// The change that half of the metrics would show, as a share; `None` where half of them
        /// show none at all.
        resolution: Option<f64>,
        /// The resolution that was asked for, as a share.
        asked: f64,
        /// Replicates on each side with which it would; `None` where none would do.
        needed: Option<usize>,
    },
}

impl Objection {
    /// A word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Objection::Regressed(_) => Verdict::Regressed.name(),
            Objection::Inconclusive(_) => Verdict::Inconclusive.name(),
            Objection::Speed(_) => "speed",
            Objection::Incomparable(_) => Verdict::Incomparable.name(),
            Objection::Missing(_) => Verdict::Missing.name(),
            Objection::Nothing => "empty",
            Objection::LowResolution { .. } => "resolution",
        }
    }

    /// Whether it says that the gate could not judge, rather than that something is wrong with a
    /// metric.
    #[must_use]
    pub fn could_not_judge(&self) -> bool {
        matches!(
            self,
            Objection::Speed(_) | Objection::Nothing | Objection::LowResolution { .. }
        )
    }
}

impl Gate {
    /// What the gate makes of a comparison; nothing where nothing was asked.
    #[must_use]
    pub fn rule(&self, comparison: &Comparison) -> Ruling {
        if self.fail_on.is_empty() {
            return Ruling::default();
        }
        Ruling {
            objections: self.objections(comparison),
            ungated: self.ungated(comparison),
        }
    }

    fn objections(&self, comparison: &Comparison) -> Vec<Objection> {
        let mut objections = Vec::new();
        let gated = || {
            let metrics = comparison.metrics.iter();
            metrics.filter(|metric| self.gates(metric))
        };
        let of = |verdict: Verdict| gated().filter(|metric| metric.verdict == verdict).count();
        let open = gated().filter(|metric| self.is_open(metric)).count();
        if self.fail_on.contains(&Verdict::Regressed) && of(Verdict::Regressed) > 0 {
            objections.push(Objection::Regressed(of(Verdict::Regressed)));
        }
        if self.fail_on.contains(&Verdict::Inconclusive) && open > 0 {
            objections.push(Objection::Inconclusive(open));
        }
        let change = comparison.speed.change();
        let refused = change.filter(|change| {
            let size = change.ln_1p().abs();
            self.speed.is_none_or(|accepted| size > accepted.ln_1p())
        });
        objections.extend(refused.map(Objection::Speed));
        let mut object = |on: Verdict, objection: fn(usize) -> Objection| {
            if self.fail_on.contains(&on) && of(on) > 0 {
                objections.push(objection(of(on)));
            }
        };
        object(Verdict::Incomparable, Objection::Incomparable);
        object(Verdict::Missing, Objection::Missing);
        if comparison.is_empty() {
            objections.push(Objection::Nothing);
        } else if let Some(resolution) = comparison.resolution {
            let is_enough = resolution
                .median
                .is_some_and(|median| median <= self.resolution);
            if !is_enough {
                objections.push(Objection::LowResolution {
                    resolution: resolution.median,
                    asked: self.resolution,
                    needed: comparison.replicates_to_find(self.resolution),
                });
            }
        }
        objections
    }

    /// Whether a metric counts at all.
    fn gates(&self, metric: &Compared) -> bool {
        self.judges_idioms || !metric.is_idiom
    }

    /// How many metrics were compared that do not count.
    fn ungated(&self, comparison: &Comparison) -> usize {
        let compared = comparison.metrics.iter();
        let compared = compared.filter(|metric| metric.basis != Basis::None);
        compared.filter(|metric| !self.gates(metric)).count()
    }

    /// Whether a metric is one of those that an objection counts.
    #[must_use]
    pub fn refuses(&self, metric: &Compared) -> bool {
        self.gates(metric)
            && self.fail_on.iter().any(|verdict| match verdict {
                Verdict::Inconclusive => self.is_open(metric),
                verdict => metric.verdict == *verdict,
            })
    }

    /// Whether neither a change nor its absence is shown of what is looked at.
    fn is_open(&self, metric: &Compared) -> bool {
        match metric.basis {
            Basis::None | Basis::Exact => false,
            Basis::Summary | Basis::Speed => metric.verdict == Verdict::Inconclusive,
            Basis::Test => self.quantities.iter().any(|quantity| {
                let judged = metric.judgement_of(*quantity);
                judged.is_none_or(|one| one.verdict == Verdict::Inconclusive)
            }),
        }
    }
}
