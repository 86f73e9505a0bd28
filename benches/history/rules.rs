// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules that are compared: the history's, and two simple ones.

use kernmark::files::digest::Timeline;
use kernmark::judge::compare::Verdict;
use kernmark::judge::history::{judge, Acknowledged, Options};

/// An alarm: the run that raised it, the first run of the change, and the direction.
#[derive(Clone, Copy)]
pub struct Alarm {
    pub found: usize,
    pub run: usize,
    pub is_dearer: bool,
}

/// A rule: its name, and its alarms for each metric of a history.
pub struct Rule {
    pub name: &'static str,
    pub alarms: fn(&Timeline) -> Vec<Vec<Alarm>>,
}

pub const RULES: [Rule; 4] = [
    Rule {
        name: "history, for alarms",
        alarms: |timeline| judged(timeline, &Options::for_alarms()),
    },
    Rule {
        name: "history, for reports",
        alarms: |timeline| judged(timeline, &Options::for_reports()),
    },
    Rule {
        name: "previous run > 10 %",
        alarms: |timeline| each(timeline, previous),
    },
    Rule {
        name: "z > 5",
        alarms: |timeline| each(timeline, z),
    },
];

/// The smallest change that the simple rules tell of.
const MARGIN: f64 = 0.02;

fn judged(timeline: &Timeline, options: &Options) -> Vec<Vec<Alarm>> {
    let history = judge(timeline, options, &Acknowledged::default());
    let metrics = history.metrics.iter().map(|metric| {
        let news = metric.changes.iter().filter(|change| change.is_news());
        let alarms = news.map(|change| Alarm {
            found: change.found,
            run: change.run,
            is_dearer: change.verdict == Verdict::Regressed,
        });
        alarms.collect()
    });
    metrics.collect()
}

/// Applies a simple rule, which has the values until a run and says by how much the last one has
/// changed.
fn each(timeline: &Timeline, rule: fn(&[f64]) -> Option<f64>) -> Vec<Vec<Alarm>> {
    let metrics = timeline.series.iter().map(|series| {
        let logs: Vec<f64> = series.values.iter().map(|value| value.ln()).collect();
        let alarms = (0..logs.len()).filter_map(|run| {
            let change = rule(&logs[..=run])?;
            Some(Alarm {
                found: run,
                run,
                is_dearer: change > 0.0,
            })
        });
        alarms.collect()
    });
    metrics.collect()
}

fn previous(logs: &[f64]) -> Option<f64> {
    let [.., before, last] = logs else {
        return None;
    };
    Some(last - before).filter(|change| change.abs() > 0.1f64.ln_1p())
}

fn z(logs: &[f64]) -> Option<f64> {
    let (last, before) = logs.split_last()?;
    let before = &before[before.len().saturating_sub(100)..];
    if before.len() < 10 {
        return None;
    }
    let n = before.len() as f64;
    let mean = before.iter().sum::<f64>() / n;
    let squares: f64 = before.iter().map(|value| (value - mean).powi(2)).sum();
    let change = last - mean;
    let is_far = change.abs() > 5.0 * (squares / (n - 1.0)).sqrt();
    (is_far && change.abs() > MARGIN).then_some(change)
}
