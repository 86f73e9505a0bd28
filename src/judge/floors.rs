// SPDX-License-Identifier: MIT OR Apache-2.0

//! Noise floors: below them a change of a metric is none.

use std::collections::BTreeMap;

use crate::judge::quantity::Quantity;

/// The floors of one metric by the key of each quantity, as shares: 0.03 is three per cent.
pub type MetricFloors = BTreeMap<String, f64>;

/// The floors that fit a comparison, and where they come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floors {
    by_metric: BTreeMap<String, MetricFloors>,
    sources: Vec<String>,
}

impl Floors {
    /// Takes these floors too; of two floors of a quantity the higher one counts. `source` says
    /// where they come from.
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

    /// The floor of a quantity of a metric, as a share; 0 when none is known.
    #[must_use]
    pub fn of(&self, id: &str, quantity: Quantity) -> f64 {
        let metric = self.by_metric.get(id);
        let floor = metric.and_then(|floors| floors.get(quantity.key()));
        floor.copied().unwrap_or(0.0)
    }

    /// Where they come from, not yet safe to show.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }
}
