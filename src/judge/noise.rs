// SPDX-License-Identifier: MIT OR Apache-2.0

//! The noise of a machine: how much unchanged runs vary, and how often `compare` would raise a
//! false alarm.
//!
//! Several runs of the same target come in; a noise floor for each metric and the number of false
//! alarms go out. `doc/method.md`, section "Comparing", describes the method and its limits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::compare::{Comparison, Options, Verdict};
use crate::judge::conditions;
use crate::judge::figures::RunFigures;
use crate::judge::floors::MetricFloors;
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::statistics::{distributions, means};
use crate::stream::run::{Fact, Run};

/// The version of the file format.
const SCHEMA: u32 = 2;

/// The noise of one target on one machine in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The version of the file format.
    pub schema: u32,
    /// The target, as `--on` names it.
    pub target: String,
    /// When the last run started (RFC 3339).
    pub started: String,
    /// The number of runs.
    pub runs: usize,
    /// The number of comparisons. Each run is in at most one of them.
    pub comparisons: usize,
    /// In how many of these a metric regressed, with the default margins: false alarms.
    pub alarms: usize,
    /// The values of each condition that matters to a comparison.
    pub conditions: BTreeMap<String, Vec<String>>,
    /// The noise floor of each metric and quantity: the greatest ratio of two runs, minus 1.
    pub floors: BTreeMap<String, MetricFloors>,
}

impl Noise {
    /// The noise that unchanged runs show. Runs whose target or conditions differ from those of the
    /// last run are ignored; `None` if fewer than two runs remain.
    #[must_use]
    pub fn of(runs: &[Run]) -> Option<Self> {
        let last = runs.last()?;
        let key = |run: &Run| (target(run), conditions(run));
        let matches_last = |run: &&Run| key(run) == key(last);
        let runs: Vec<&Run> = runs.iter().filter(matches_last).collect();
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

    /// Reads the output of [`Noise::text`].
    ///
    /// # Errors
    ///
    /// The text is invalid or has another version.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let Version { schema } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if schema != SCHEMA {
            return Err(format!(
                "it has version {schema}, but this tool reads {SCHEMA}: run `kernmark noise` again"
            ));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Pretty-printed JSON with a final newline.
    #[must_use]
    pub fn text(&self) -> String {
        json(self) + "\n"
    }

    /// Adds the floors of metrics that an older file has and this measurement lacks. `kept` is the
    /// text of that file; invalid text is ignored.
    #[must_use]
    pub fn merged_with(&self, kept: Option<&str>) -> Self {
        let kept = kept.and_then(|text| Noise::parse(text).ok());
        let mut merged = self.clone();
        for (id, floors) in kept.into_iter().flat_map(|kept| kept.floors) {
            merged.floors.entry(id).or_insert(floors);
        }
        merged
    }

    /// Whether a run has the same target and the same conditions.
    #[must_use]
    pub fn fits(&self, run: &Run) -> bool {
        self.target == target(run) && self.conditions == conditions(run)
    }

    /// The file name: the same for all measurements with this target and these conditions.
    #[must_use]
    pub fn name(&self) -> String {
        let ordinary = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
        let target: String = self.target.chars().filter(ordinary).take(32).collect();
        let key = json(&(&self.target, &self.conditions));
        let sum = crc32fast::hash(key.as_bytes());
        format!("{target}-{sum:08x}.json")
    }

    /// The upper bound of the false-alarm rate, with 95 % confidence
    /// ([`distributions::upper_bound_of_probability`]).
    #[must_use]
    pub fn max_alarm_rate(&self) -> f64 {
        distributions::upper_bound_of_probability(self.alarms, self.comparisons)
    }
}

/// For each metric and quantity: the greatest ratio of two runs, minus 1.
fn floors(runs: &[&Run]) -> BTreeMap<String, MetricFloors> {
    let mut levels: BTreeMap<(String, Quantity), Vec<f64>> = BTreeMap::new();
    for run in runs {
        for metric in RunFigures::of(run).metrics {
            for quantity in Quantity::ALL {
                let values: Vec<f64> = metric.values(quantity).map(|(_, v)| v).collect();
                let level = means::geometric_mean(&values).filter(|_| metric.status == Status::Ok);
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

/// The target of a run, as `--on` names it.
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
