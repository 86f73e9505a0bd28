//! hyperfine: `--export-json`.

use serde_json::Value;

use super::{fact, picosecond_clock, picoseconds, Document, Figure, Format, Row, Source};
use crate::histogram::Histogram;

/// hyperfine's JSON.
pub const FORMAT: Format = Format {
    name: "hyperfine",
    about: "hyperfine --export-json",
    mark: "a JSON object with `results`, each with `command` and `times`",
    lines: None,
    document: Some(Document { fits, read }),
};

fn fits(document: &Value) -> bool {
    let first = &document["results"][0];
    first["command"].is_string() && first["mean"].is_number()
}

/// Each time is that of a process of its own, so each makes a source; commands are its rows.
fn read(document: &Value) -> Result<Vec<Source>, String> {
    let results = document["results"].as_array().ok_or("results: no array")?;
    let mut sources: Vec<Source> = Vec::new();
    for (at, result) in results.iter().enumerate() {
        let wrong = |what: &str| format!("results[{at}].{what}");
        let command = result["command"].as_str();
        let command = command.ok_or_else(|| wrong("command: no text"))?;
        let times = result["times"].as_array();
        let times = times.ok_or_else(|| wrong("times: no array; hyperfine kept only a summary"))?;
        for (run, seconds) in times.iter().enumerate() {
            let ticks = seconds
                .as_f64()
                .and_then(|seconds| picoseconds(seconds * 1e9));
            let ticks = ticks.ok_or_else(|| wrong(&format!("times[{run}]: no time in seconds")))?;
            if sources.len() == run {
                sources.push(Source {
                    facts: vec![fact("tool", "hyperfine")],
                    clock: picosecond_clock(),
                    rows: Vec::new(),
                    cut: None,
                });
            }
            let exit = result["exit_codes"][run].as_i64().unwrap_or(0);
            let figure = if exit == 0 {
                Figure::Samples(Histogram::from_iter([(ticks, 1)]))
            } else {
                Figure::Failed(format!("the command ended with status {exit}"))
            };
            sources[run].rows.push(Row::new(command, figure));
        }
    }
    Ok(sources)
}
