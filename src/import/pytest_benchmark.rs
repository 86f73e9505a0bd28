// SPDX-License-Identifier: MIT OR Apache-2.0

//! pytest-benchmark, versions 3 to 5: the JSON of `--benchmark-json`, `--benchmark-save` and
//! `--benchmark-autosave`.
//!
//! Each of `benchmarks` has `fullname` and `stats`. With `--benchmark-json` and `--benchmark-save-data`,
//! `stats` has `data`: the mean time of an iteration in each round, which are samples of one process.
//! Otherwise `rounds`, `min`, `max`, `mean`, `median` and `stddev` are read. Times are in seconds. `group`,
//! `extra_info`, `params`, quartiles, outliers and `ops` are not read.
//!
//! `datetime`, `version` and the system in `machine_info` become facts.

use serde_json::Value;

use super::json::Object;
use super::{samples, Document, Figure, Format, Row, Source, SECOND};
use crate::stream::run::{Fact, Stat};

/// pytest-benchmark's JSON.
pub const FORMAT: Format = Format {
    name: "pytest-benchmark",
    about: "pytest-benchmark's JSON",
    recognised_by: "a JSON object with `machine_info` and `benchmarks`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    document["machine_info"].is_object() && document["benchmarks"].is_array()
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let document = Object::document(document);
    let benchmarks = document.objects("benchmarks")?;
    let rows = benchmarks.iter().map(row).collect::<Result<_, String>>()?;
    let mut source = Source::of_times("pytest-benchmark", rows);
    source.facts.extend(facts(&document));
    Ok(vec![source])
}

fn facts(document: &Object) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Result<&str, String>| {
        let value = value.ok().filter(|value| !value.is_empty());
        facts.extend(value.map(|value| Fact::new(name, value)));
    };
    fact("version", document.text("version"));
    fact("date", document.text("datetime"));
    if let Some(machine) = document.object("machine_info") {
        if let (Ok(system), Ok(release)) = (machine.text("system"), machine.text("release")) {
            fact("kernel", Ok(&format!("{system} {release}")));
        }
        fact("arch", machine.text("machine"));
        fact("python", machine.text("python_version"));
        if let Some(cpu) = machine.object("cpu") {
            fact("cpu", cpu.text("brand_raw").or_else(|_| cpu.text("brand")));
        }
    }
    facts
}

fn row(benchmark: &Object) -> Result<Row, String> {
    let name = benchmark
        .text("fullname")
        .or_else(|_| benchmark.text("name"))?;
    let stats = benchmark.required_object("stats")?;
    if stats.get("data").is_some() {
        let seconds = stats.numbers("data")?;
        if !seconds.is_empty() {
            let times: Vec<f64> = seconds.iter().map(|time| time * SECOND).collect();
            return Ok(Row::new(name, samples(&times)));
        }
    }
    let time = |name: &str| Ok::<_, String>(stats.optional_number(name)?.map(|time| time * SECOND));
    let rounds = stats.optional_number("rounds")?;
    let stat = Stat {
        mean: time("mean")?,
        median: time("median")?,
        min: time("min")?,
        max: time("max")?,
        deviation: time("stddev")?,
        ..Stat::blank(rounds.map_or(1, |rounds| rounds as u64))
    };
    if stat.value().is_none() {
        let why = "no data, mean or median".to_owned();
        return Ok(Row::new(name, Figure::Failed(why)));
    }
    Ok(Row::new(name, Figure::Summary(stat)))
}
