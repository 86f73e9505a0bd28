// SPDX-License-Identifier: MIT OR Apache-2.0

//! Real runs of an unchanged machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kernmark::files::digest::{Series, Timeline};
use kernmark::judge::figures::RunFigures;
use kernmark::judge::quantity::Quantity;
use kernmark::statistics::{means, order};
use kernmark::stream::run::{Unit, CLOCK};
use kernmark::stream::session;

use crate::rules::RULES;
use crate::world::{head, Noise};

/// How often events are placed anew.
const TIMES: u64 = 200;
/// One run of so many begins with an event.
const EVENTS: [usize; 2] = [10, 1];

/// Counts and prints the false alarms of the runs in a folder.
pub fn count(folder: &Path, seed: u64) -> Result<(), String> {
    let mut timeline = read(folder)?;
    let (runs, metrics) = (timeline.runs.len(), timeline.series.len());
    println!("{runs} runs of {metrics} metrics:\n");
    println!("| rule | events in {runs} runs | false alarms in {runs} runs |");
    println!("| --- | ---: | ---: |");
    for every in EVENTS {
        let events = (runs / every).min(runs.saturating_sub(1));
        for rule in &RULES {
            let mut random = Noise::new(seed);
            let mut alarms = 0;
            for _ in 0..TIMES {
                let places = random.runs(events, 1, runs);
                for (run, head_of_run) in timeline.runs.iter_mut().enumerate() {
                    *head_of_run = head(run, places.partition_point(|event| *event <= run), 0);
                }
                alarms += (rule.alarms)(&timeline).concat().len();
            }
            let alarms = alarms as f64 / TIMES as f64;
            println!("| {} | {events} | {alarms:.2} |", rule.name);
        }
    }
    Ok(())
}

/// Reads the runs of a folder in the order of their names. Each is measured, then forgotten.
fn read(folder: &Path) -> Result<Timeline, String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let is_run = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "km");
    let mut paths: Vec<_> = paths.filter(is_run).collect();
    paths.sort();
    let mut all: Vec<BTreeMap<String, (Unit, f64, f64)>> = Vec::new();
    for path in &paths {
        let stream = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        all.push(medians(&RunFigures::of(&session::read(&stream))));
    }
    let newest = all.last().ok_or("the folder has no run")?;
    let series = newest.iter().map(|(metric, (unit, ..))| {
        let of_runs = all.iter().map(|run| run.get(metric));
        Series {
            metric: metric.clone(),
            unit: *unit,
            values: of_runs
                .clone()
                .map(|one| one.map_or(f64::NAN, |one| one.1))
                .collect(),
            spreads: of_runs
                .map(|one| one.map_or(f64::NAN, |one| one.2))
                .collect(),
        }
    });
    let clock = all
        .iter()
        .map(|run| run.get(CLOCK).map_or(f64::NAN, |one| one.1));
    Ok(Timeline {
        runs: (0..all.len()).map(|run| head(run, 0, 0)).collect(),
        clock: clock.collect(),
        series: series.collect(),
    })
}

/// The median of each metric over replicates, and their variation.
fn medians(run: &RunFigures) -> BTreeMap<String, (Unit, f64, f64)> {
    let metrics = run.metrics.iter().filter_map(|metric| {
        let values: Vec<f64> = metric
            .values(Quantity::P50)
            .map(|(_, value)| value)
            .collect();
        let median = order::median(&values)?;
        let spread = means::coefficient_of_variation(&values).unwrap_or(f64::NAN);
        Some((metric.id.clone(), (metric.unit, median, spread)))
    });
    metrics.collect()
}
