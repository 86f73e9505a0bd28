//! How far runs of the same thing lie apart: the floor below which a change is none.
//!
//! The method and its limits are in `doc/method.md`, section "Comparing".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::{self, Comparison, Options, Verdict};
use crate::run::{Fact, Run};
use crate::stats;
use crate::summary::{self, Status};

/// The version of the files that hold floors.
const SCHEMA: u32 = 1;

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
    /// For each metric the greatest ratio of two runs less 1: 0.03 is three per cent.
    pub floors: BTreeMap<String, f64>,
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
            .map(|pair| Comparison::of(pair[0], pair[1], Options::default()))
            .filter(|comparison| !comparison.is_empty())
            .collect();
        let alarm = |comparison: &&Comparison| comparison.count_at_gate(Verdict::Regressed) > 0;
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
    pub fn most_alarms(&self) -> f64 {
        stats::most_probable_share(self.alarms, self.comparisons)
    }
}

/// The floors that fit a comparison, and where they come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floors {
    by_metric: BTreeMap<String, f64>,
    sources: Vec<String>,
}

impl Floors {
    /// Takes the floors of this noise too; of two floors of a metric the higher one counts.
    /// `source` says where it comes from.
    pub fn add(&mut self, noise: &Noise, source: String) {
        for (id, floor) in &noise.floors {
            let known = self.by_metric.entry(id.clone()).or_insert(0.0);
            *known = known.max(*floor);
        }
        self.sources.push(source);
    }

    /// The floor of a metric, as a share; 0 when none is known.
    #[must_use]
    pub fn of(&self, id: &str) -> f64 {
        self.by_metric.get(id).copied().unwrap_or(0.0)
    }

    /// Where they come from, not yet safe to show.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }
}

/// For each metric how far apart the runs lie that are furthest apart.
fn floors(runs: &[&Run]) -> BTreeMap<String, f64> {
    let mut levels: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for values in summary::values(run) {
            let is_known = !values.values.is_empty() && values.values.iter().all(|v| *v > 0.0);
            if values.status == Status::Ok && is_known {
                let logs: f64 = values.values.iter().map(|v| v.ln()).sum();
                let level = logs / values.values.len() as f64;
                levels.entry(values.id).or_default().push(level);
            }
        }
    }
    let spread = |levels: &Vec<f64>| {
        let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
        let most = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (most - least).exp_m1()
    };
    let several = levels.iter().filter(|(_, levels)| levels.len() > 1);
    several
        .map(|(id, levels)| ((*id).to_owned(), spread(levels)))
        .collect()
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
    let stated = compare::conditions(run).into_iter();
    stated
        .map(|one| (one.name.to_owned(), one.values.into_iter().collect()))
        .collect()
}
