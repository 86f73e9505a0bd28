// SPDX-License-Identifier: MIT OR Apache-2.0

//! Google Benchmark's JSON (`--benchmark_format=json`, schema version 1), for its `compare.py` and other
//! readers of that library's results.

use serde::Serialize;
use serde_json::{Map, Value};

use super::json::{line, list};
use super::{conditions, description, Carries, Foreign, Item, Unmeasured, STARTED};
use crate::statistics::{means, order};
use crate::stream::run::{Fact, Run, Unit};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "google-benchmark",
    about: "JSON of Google Benchmark, for its compare.py",
    leaves_out: "distributions, tails, cold samples and proofs; CPU time repeats real time where the kernel has no account of it",
    unmeasured: Unmeasured::Explained,
    carries: Carries::Time,
    write: run,
};

/// A replicate, or a statistic over replicates. Members are in the library's order.
#[derive(Clone, Default, Serialize)]
struct Entry<'a> {
    name: String,
    family_index: usize,
    per_family_instance_index: usize,
    run_name: &'a str,
    run_type: &'static str,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_index: Option<usize>,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_occurred: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    #[serde(flatten)]
    times: Option<Times>,
}

/// The times of an entry. A metric without a number has none, although the library writes 0.
#[derive(Clone, Serialize)]
struct Times {
    iterations: u64,
    real_time: f64,
    /// If it is unknown, it repeats the real time, because readers ignore entries without CPU time.
    cpu_time: f64,
    time_unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items_per_second: Option<f64>,
}

impl Times {
    fn of(iterations: u64, real_time: f64, cpu_time: f64) -> Self {
        Times {
            iterations,
            real_time,
            cpu_time,
            time_unit: "ns",
            bytes_per_second: None,
            items_per_second: None,
        }
    }
}

/// A repetition for each replicate of each metric, and the statistics over repetitions that the library
/// computes.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let timed = items.iter().filter(|i| i.summary.unit == Unit::Cycles);
    let entries = timed
        .enumerate()
        .flat_map(|(family, item)| entries(family, item));
    let entries = list(entries.map(|entry| line(&entry)));
    let context = line(&context(run, &items));
    format!("{{\n\"context\": {context},\n\"benchmarks\": {entries}\n}}\n")
}

/// The measured system: the members that the library defines, as far as they are known, then ours.
fn context(run: &Run, items: &[Item]) -> Value {
    let mut context = Map::new();
    let mut add = |name: &str, value: Value| {
        context.entry(name.to_owned()).or_insert(value);
    };
    let texts = [
        ("date", STARTED),
        ("host_name", "host_name"),
        ("executable", "tool"),
    ];
    for (name, fact) in texts {
        if let Some(value) = Fact::value_in(&run.host, fact) {
            add(name, value.into());
        }
    }
    if let Some(count) = Fact::value_in(&run.host, "cpu_count").and_then(|n| n.parse::<u64>().ok())
    {
        add("num_cpus", count.into());
    }
    add("json_schema_version", 1.into());
    for (name, value) in conditions(run) {
        add(name, value.into());
    }
    for (name, value) in description(run, items) {
        add(name, value.into());
    }
    Value::Object(context)
}

fn entries<'a>(family: usize, item: &'a Item) -> Vec<Entry<'a>> {
    let values = &item.values.values;
    let entry = Entry {
        family_index: family,
        run_name: &item.summary.id,
        repetitions: values.len(),
        threads: 1,
        ..Entry::default()
    };
    if item.median().is_none() {
        return vec![Entry {
            name: item.summary.id.clone(),
            run_type: "iteration",
            repetitions: item.summary.tried,
            repetition_index: Some(0),
            error_occurred: Some(true),
            error_message: Some(item.reason()),
            ..entry
        }];
    }
    let replicates = &item.values.replicates;
    let cpu_times = replicates.iter().map(|replicate| replicate.cpu_time());
    let cpu_times: Option<Vec<f64>> = cpu_times.collect();
    let cpu_times = cpu_times.as_ref().unwrap_or(values);
    let times = values.iter().zip(cpu_times);
    let repetitions = replicates.iter().zip(times).enumerate();
    let repetitions = repetitions.map(|(index, (replicate, (value, cpu_time)))| {
        let samples = replicate.histogram.total();
        let per_second = |each: Option<u64>| {
            let each = each.filter(|_| *value > 0.0)?;
            Some(each as f64 * 1e9 / value)
        };
        Entry {
            name: item.summary.id.clone(),
            run_type: "iteration",
            repetition_index: Some(index),
            times: Some(Times {
                bytes_per_second: per_second(item.summary.bytes),
                items_per_second: per_second(item.summary.items),
                ..Times::of(
                    samples.saturating_mul(replicate.batch.max(1)),
                    *value,
                    *cpu_time,
                )
            }),
            ..entry.clone()
        }
    });
    let mut all: Vec<Entry> = repetitions.collect();
    if values.len() > 1 {
        let (real, cpu) = (statistics(values), statistics(cpu_times));
        for ((name, unit, value), (_, _, cpu_time)) in real.into_iter().zip(cpu) {
            let Some((value, cpu_time)) = value.zip(cpu_time) else {
                continue;
            };
            all.push(Entry {
                name: format!("{}_{name}", item.summary.id),
                run_type: "aggregate",
                aggregate_name: Some(name),
                aggregate_unit: Some(unit),
                times: Some(Times::of(values.len() as u64, value, cpu_time)),
                ..entry.clone()
            });
        }
    }
    all
}

/// The statistics over repetitions, by name and unit.
fn statistics(values: &[f64]) -> [(&'static str, &'static str, Option<f64>); 4] {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variation = means::coefficient_of_variation(values);
    [
        ("mean", "time", Some(mean)),
        ("median", "time", order::median(values)),
        ("stddev", "time", variation.map(|cv| cv * mean)),
        ("cv", "percentage", variation),
    ]
}
