// SPDX-License-Identifier: MIT OR Apache-2.0

//! The CI gate: does a comparison pass?
//!
//! A comparison and the gate's requirements come in; every objection goes out. A gate that could
//! not have detected a change objects too: without that, a noisy run would pass.

use crate::judge::compare::{Basis, Compared, Comparison, Verdict};
use crate::judge::quantity::Quantity;

/// What a gate requires of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The verdicts that fail the gate. Empty: there is no gate.
    pub fail_on: Vec<Verdict>,
    /// The quantities that must not be inconclusive.
    pub quantities: Vec<Quantity>,
    /// Whether idioms count. They say more about the port than about the kernel.
    pub judges_idioms: bool,
    /// The coarsest accepted resolution, as a share; half of the metrics have to reach it.
    pub resolution: f64,
    /// The largest accepted change of the processor's speed, as a share; `None` accepts none.
    pub speed: Option<f64>,
}

/// The decision of a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ruling {
    /// All objections, the most serious first; empty if the gate passes.
    pub objections: Vec<Objection>,
    /// How many idioms were compared but do not count.
    pub ungated: usize,
}

/// A reason why a gate fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Objection {
    /// This many metrics regressed.
    Regressed(usize),
    /// This many metrics are inconclusive.
    Inconclusive(usize),
    /// The processor's speed changed by this share, which is more than accepted.
    Speed(f64),
    /// This many metrics were measured under different conditions.
    Incomparable(usize),
    /// This many metrics of the base have no value on the new side.
    Missing(usize),
    /// No metric was compared.
    Nothing,
    /// The comparison could not have detected a change of the requested size.
    LowResolution {
        /// The change that half of the metrics would detect, as a share; `None` if half of them
        /// cannot detect any.
        resolution: Option<f64>,
        /// The requested resolution, as a share.
        asked: f64,
        /// The replicates on each side that would reach it; `None` if no number would.
        needed: Option<usize>,
    },
}

impl Objection {
    /// The name in exported results.
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

    /// Whether the gate could not judge, as opposed to a problem with some metrics.
    #[must_use]
    pub fn could_not_judge(&self) -> bool {
        matches!(
            self,
            Objection::Speed(_) | Objection::Nothing | Objection::LowResolution { .. }
        )
    }
}

impl Gate {
    /// Judges a comparison. Without verdicts to fail on there are no objections.
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
            metrics.filter(|metric| self.considers(metric))
        };
        let of = |verdict: Verdict| gated().filter(|metric| metric.verdict == verdict).count();
        let inconclusive = gated()
            .filter(|metric| self.is_inconclusive(metric))
            .count();
        if self.fail_on.contains(&Verdict::Regressed) && of(Verdict::Regressed) > 0 {
            objections.push(Objection::Regressed(of(Verdict::Regressed)));
        }
        if self.fail_on.contains(&Verdict::Inconclusive) && inconclusive > 0 {
            objections.push(Objection::Inconclusive(inconclusive));
        }
        let change = comparison.speed.change();
        let rejected = change.filter(|change| {
            let size = change.ln_1p().abs();
            self.speed.is_none_or(|accepted| size > accepted.ln_1p())
        });
        objections.extend(rejected.map(Objection::Speed));
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

    /// Whether the gate considers a metric at all.
    fn considers(&self, metric: &Compared) -> bool {
        self.judges_idioms || !metric.is_idiom
    }

    /// How many metrics were compared but do not count.
    fn ungated(&self, comparison: &Comparison) -> usize {
        let compared = comparison.metrics.iter();
        let compared = compared.filter(|metric| metric.basis != Basis::None);
        compared.filter(|metric| !self.considers(metric)).count()
    }

    /// Whether an objection counts this metric.
    #[must_use]
    pub fn refuses(&self, metric: &Compared) -> bool {
        self.considers(metric)
            && self.fail_on.iter().any(|verdict| match verdict {
                Verdict::Inconclusive => self.is_inconclusive(metric),
                verdict => metric.verdict == *verdict,
            })
    }

    /// Whether one of the gate's quantities is inconclusive.
    fn is_inconclusive(&self, metric: &Compared) -> bool {
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
