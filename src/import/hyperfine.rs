// SPDX-License-Identifier: MIT OR Apache-2.0

//! hyperfine: `--export-json` of 1.0 to 1.20.
//!
//! Fields that are read from each of `results`: `command`, `times` (wall-clock seconds of each run),
//! `exit_codes` (since 1.13; null if a signal ended the command) and `parameters` (since 1.8). If `times`
//! is missing, `mean`, `median`, `stddev`, `min` and `max` are read. Each run is a process, so each run
//! becomes a source with a row for each command. `user`, `system` and `memory_usage_byte` are not read,
//! because they are not latencies.

use serde_json::Value;

use super::json::{scalar, Object};
use super::{add_row, samples, Document, Figure, Format, Printed, Row, Source, SECOND};
use crate::stream::run::Stat;

/// hyperfine's JSON.
pub const FORMAT: Format = Format {
    name: "hyperfine",
    about: "hyperfine --export-json",
    recognised_by: "a JSON object with `results`, each with `command` and `mean`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let first = &document["results"][0];
    first["command"].is_string() && first["mean"].is_number()
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let results = Object::document(document).objects("results")?;
    let names = names(&results)?;
    let mut sources: Vec<Source> = Vec::new();
    for (result, name) in results.iter().zip(&names) {
        for (run, figure) in figures(result)?.into_iter().enumerate() {
            let row = Row {
                printed: Some(Printed::time("s", SECOND)),
                ..Row::new(name, figure)
            };
            add_row(&mut sources, run, row, || {
                Source::of_times("hyperfine", Vec::new())
            });
        }
    }
    Ok(sources)
}

/// The commands. Commands with the same name (`--command-name`) get their parameters appended.
fn names(results: &[Object]) -> Result<Vec<String>, String> {
    let commands = results.iter().map(|result| result.text("command"));
    let commands: Vec<&str> = commands.collect::<Result<_, _>>()?;
    let mut sorted = commands.clone();
    sorted.sort_unstable();
    let is_shared = |command: &str| {
        let first = sorted.partition_point(|other| *other < command);
        sorted.get(first + 1) == Some(&command)
    };
    let name = |(result, command): (&Object, &&str)| {
        let mut parts = vec![(*command).to_owned()];
        if is_shared(command) {
            let parameters = result.object("parameters");
            let pairs = parameters.iter().flat_map(Object::scalars);
            parts.extend(pairs.map(|(key, value)| format!("{key}={value}")));
        }
        parts.join(" ")
    };
    Ok(results.iter().zip(&commands).map(name).collect())
}

/// The time of each run of a command, or one summary if the file has no runs.
fn figures(result: &Object) -> Result<Vec<Figure>, String> {
    if result.get("times").is_none() {
        let picoseconds = |name: &str| {
            let seconds = result.optional_number(name)?;
            Ok::<_, String>(seconds.map(|seconds| seconds * SECOND))
        };
        return Ok(vec![Figure::Summary(Stat {
            samples: 1,
            mean: Some(result.number("mean")? * SECOND),
            median: picoseconds("median")?,
            min: picoseconds("min")?,
            max: picoseconds("max")?,
            deviation: picoseconds("stddev")?,
        })]);
    }
    let exits = result.get("exit_codes").and_then(Value::as_array);
    let times = result.numbers("times")?;
    let figure = |(run, seconds): (usize, &f64)| match exits.and_then(|exits| exits.get(run)) {
        Some(Value::Null) => Figure::Failed("a signal ended the command".to_owned()),
        Some(exit) if exit.as_i64() != Some(0) => {
            let status = scalar(exit).unwrap_or_default();
            Figure::Failed(format!("the command ended with status {status}"))
        }
        _ => samples(&[seconds * SECOND]),
    };
    Ok(times.iter().enumerate().map(figure).collect())
}
