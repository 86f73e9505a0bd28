// SPDX-License-Identifier: MIT OR Apache-2.0

//! Noise floors: `compare` ignores smaller changes of a metric.
//!
//! Measured floors come in; the floor of each quantity of a metric goes out.

use std::collections::BTreeMap;

use crate::judge::quantity::Quantity;

/// The floors of one metric by [`Quantity::key`], as shares: 0.03 is 3 %.
pub type MetricFloors = BTreeMap<String, f64>;

/// The floors that apply to a comparison, and their sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floors {
    by_metric: BTreeMap<String, MetricFloors>,
    sources: Vec<String>,
}

impl Floors {
    /// Adds floors. If a quantity already has one, the higher floor wins. `source` names their origin,
    /// for the report.
    pub fn add(&mut self, floors: &BTreeMap<String, MetricFloors>, source: String) {
        for (id, of_metric) in floors {
            let known = self.by_metric.entry(id.clone()).or_default();
            for (key, floor) in of_metric {
                let known = known.entry(key.clone()).or_insert(0.0);
                *known = known.max(*floor);
            }
        }
        self.sources.push(source);
    }

    /// The floor of a quantity of a metric, as a share; 0 if none was measured.
    #[must_use]
    pub fn of(&self, id: &str, quantity: Quantity) -> f64 {
        let metric = self.by_metric.get(id);
        let floor = metric.and_then(|floors| floors.get(quantity.key()));
        floor.copied().unwrap_or(0.0)
    }

    /// The sources of the floors (untrusted text).
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }
}
