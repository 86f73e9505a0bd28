// SPDX-License-Identifier: MIT OR Apache-2.0

//! The noise of a machine: how much unchanged runs vary, and how often `compare` would call that a
//! change.
//!
//! The method and its limits are in `doc/method.md`, section "Comparing".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::compare::{Comparison, Options, Verdict};
use crate::judge::conditions;
use crate::judge::figures::RunFigures;
use crate::judge::floors::MetricFloors;
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::order;
use crate::stream::run::{Fact, Run};

/// The version of the files that hold floors.
const SCHEMA: u32 = 2;

/// What was found of the noise of one target on one machine in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The version of this form.
    pub schema: u32,
    /// What was measured.
    pub target: String,
    /// When the last of the runs began, as RFC 3339 has it.
    pub started: String,
    /// How many runs were made.
    pub runs: usize,
    /// Comparisons of a run with the next, each run in one of them.
    pub comparisons: usize,
    /// In how many of these a metric regressed at the gate, with the least margin.
    pub alarms: usize,
    /// What the runs told of each condition that matters to a comparison.
    pub conditions: BTreeMap<String, Vec<String>>,
    /// For each metric and quantity the greatest ratio of two runs less 1.
    pub floors: BTreeMap<String, MetricFloors>,
}

impl Noise {
    /// What several runs of the same thing say of its noise. `None` when fewer than two of them,
    /// the last included, are of one target under the same conditions.
    #[must_use]
    pub fn of(runs: &[Run]) -> Option<Self> {
        let last = runs.last()?;
        let key = |run: &Run| (target(run), conditions(run));
        let like_the_last = |run: &&Run| key(run) == key(last);
        let runs: Vec<&Run> = runs.iter().filter(like_the_last).collect();
        if runs.len() < 2 {
            return None;
        }
        let pairs = runs.chunks_exact(2);
        let compared: Vec<Comparison> = pairs
            .map(|pair| Comparison::of(pair[0], pair[1], &Options::default()))
            .filter(|comparison| !comparison.is_empty())
            .collect();
        let alarm = |comparison: &&Comparison| comparison.count(Verdict::Regressed) > 0;
        Some(Noise {
            schema: SCHEMA,
            target: target(last),
            started: Fact::value_in(&last.host, "started")
                .unwrap_or_default()
                .to_owned(),
            runs: runs.len(),
            comparisons: compared.len(),
            alarms: compared.iter().filter(alarm).count(),
            conditions: conditions(last),
            floors: floors(&runs),
        })
    }

    /// Reads what [`Noise::text`] wrote.
    ///
    /// # Errors
    ///
    /// It is of another form or another version.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let Version { schema } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if schema != SCHEMA {
            return Err(format!(
                "it has version {schema}, this tool reads {SCHEMA}; measure it again"
            ));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// It as JSON, a metric a line, with a line end.
    #[must_use]
    pub fn text(&self) -> String {
        json(self) + "\n"
    }

    /// It, and of what was kept before under the same name the floors of metrics that were not
    /// measured now. What cannot be read counts as nothing.
    #[must_use]
    pub fn merged_with(&self, kept: Option<&str>) -> Self {
        let kept = kept.and_then(|text| Noise::parse(text).ok());
        let mut merged = self.clone();
        for (id, floors) in kept.into_iter().flat_map(|kept| kept.floors) {
            merged.floors.entry(id).or_insert(floors);
        }
        merged
    }

    /// Whether a run is of the same target under the same conditions.
    #[must_use]
    pub fn fits(&self, run: &Run) -> bool {
        self.target == target(run) && self.conditions == conditions(run)
    }

    /// A name for its file: the same for whatever fits the same runs.
    #[must_use]
    pub fn name(&self) -> String {
        let ordinary = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
        let target: String = self.target.chars().filter(ordinary).take(32).collect();
        let key = json(&(&self.target, &self.conditions));
        let sum = crc32fast::hash(key.as_bytes());
        format!("{target}-{sum:08x}.json")
    }

    /// The greatest false-alarm rate that what was seen is not too rare for, with 95 % confidence.
    #[must_use]
    pub fn max_alarm_rate(&self) -> f64 {
        order::most_probable_share(self.alarms, self.comparisons)
    }
}

/// For each metric and quantity how much the two runs differ that differ most.
fn floors(runs: &[&Run]) -> BTreeMap<String, MetricFloors> {
    let mut levels: BTreeMap<(String, Quantity), Vec<f64>> = BTreeMap::new();
    for run in runs {
        for metric in RunFigures::of(run).metrics {
            for quantity in Quantity::ALL {
                let values: Vec<f64> = metric.values(quantity).map(|(_, v)| v).collect();
                let level = order::geometric_mean(&values).filter(|_| metric.status == Status::Ok);
                let of_quantity = levels.entry((metric.id.clone(), quantity)).or_default();
                of_quantity.extend(level);
            }
        }
    }
    let mut floors: BTreeMap<String, MetricFloors> = BTreeMap::new();
    for ((id, quantity), levels) in levels {
        if levels.len() > 1 {
            let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
            let most = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let of_metric = floors.entry(id).or_default();
            of_metric.insert(quantity.key().to_owned(), most / least - 1.0);
        }
    }
    floors
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are strings")
}

/// What was measured, as `--on` names it.
fn target(run: &Run) -> String {
    Fact::value_in(&run.host, "target")
        .unwrap_or("linux")
        .to_owned()
}

fn conditions(run: &Run) -> BTreeMap<String, Vec<String>> {
    let stated = conditions::conditions(run).into_iter();
    stated
        .map(|one| (one.name.to_owned(), one.values.into_iter().collect()))
        .collect()
}
