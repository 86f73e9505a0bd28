// SPDX-License-Identifier: MIT OR Apache-2.0

//! schbench, all versions since 2016: its console output and the JSON of `-j`.
//!
//! - `Wakeup Latencies percentiles (usec) runtime 30 (s) (255474 total samples)` starts a block; before 2023
//!   `Latency percentiles (usec)`, with or without the rest.
//! - `50.0th: 7          (66640 samples)`, after `* ` if it is the headline; then other percentiles.
//! - `min=1, max=10481` ends the block.
//!
//! schbench repeats each block during the run; the last block of a name is read. If the runtime decreases,
//! another process starts. The number of samples, the 50th percentile (as the median), min and max are
//! kept; other percentiles are not. A percentile is the middle of a bin. So it may be 0.2 % off, less than
//! `min` or greater than `max`. `RPS` and other rates are skipped.
//!
//! The JSON has `normal` and `int`; `int` has `wakeup_latency_pct50.0`, `wakeup_latency_min`,
//! `wakeup_latency_max` and similar fields. It does not state the number of samples.

use serde_json::Value;

use super::json::Object;
use super::text::{figure, number};
use super::{microsecond_clock, Document, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::run::{Fact, Stat};

/// The console output and JSON of schbench.
pub const FORMAT: Format = Format {
    name: "schbench",
    about: "schbench on the console and -j",
    recognised_by: "`Wakeup Latencies percentiles (usec)`, or a JSON object with `int` that has \
           `wakeup_latency_pct50.0`",
    lines: Some(Lines {
        start_marks: &[LATENCIES, LATENCY],
        reader: || Box::new(Log::default()),
    }),
    document: Some(Document { fits, read }),
};

const LATENCIES: &str = " Latencies percentiles (usec)";
/// Of versions before 2023, which measured only wakeups.
const LATENCY: &str = "Latency percentiles (usec)";
const RATES: &str = " percentiles (requests)";

#[derive(Default)]
struct Log {
    sources: Vec<Source>,
    block: Option<Block>,
    /// The runtime of the last block, in seconds.
    runtime: u64,
}

/// The current block.
struct Block {
    name: String,
    /// It has rates, not times.
    is_rate: bool,
    samples: u64,
    median: Option<String>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some(block) = begin(line) {
            self.end_incomplete();
            let runtime = between(line, "runtime ", " (s)").unwrap_or(self.runtime);
            if self.sources.is_empty() || runtime < self.runtime {
                self.sources.push(source("schbench", None));
            }
            self.runtime = runtime;
            self.block = Some(block);
        } else if let Some((min, max)) = min_and_max(line) {
            self.close(line, min, max);
        } else if let (Some(block), Some((_, median))) =
            (&mut self.block, line.split_once("50.0th: "))
        {
            let word = median.split_ascii_whitespace().next().unwrap_or("");
            block.median = Some(word.to_owned());
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_incomplete();
        self.sources.retain(|source| !source.rows.is_empty());
        self.sources
    }
}

fn source(tool: &str, kernel: Option<&str>) -> Source {
    let mut facts = vec![Fact::new("tool", tool)];
    facts.extend(kernel.map(|kernel| Fact::new("kernel", format!("Linux {kernel}"))));
    Source {
        facts,
        clock: microsecond_clock(),
        rows: Vec::new(),
        incomplete: None,
    }
}

/// The number between two texts.
fn between(line: &str, from: &str, to: &str) -> Option<u64> {
    let (_, rest) = line.split_once(from)?;
    rest.split_once(to)?.0.trim().parse().ok()
}

/// The block that a line starts.
fn begin(line: &str) -> Option<Block> {
    let block = |name: &str, is_rate| {
        // A console prefix may precede the name.
        let name = name.split_ascii_whitespace().next_back()?;
        let samples = line.rsplit_once(" (").map(|(_, samples)| samples);
        let samples =
            samples.and_then(|samples| samples.split_once(" total samples)")?.0.parse().ok());
        Some(Block {
            name: format!("{name} latency"),
            is_rate,
            samples: samples.unwrap_or(1),
            median: None,
        })
    };
    if let Some((name, _)) = line.split_once(LATENCIES) {
        return block(name, false);
    }
    if line.contains(LATENCY) {
        return block("Wakeup", false);
    }
    line.split_once(RATES).and_then(|(name, _)| {
        Some(Block {
            name: name.split_ascii_whitespace().next_back()?.to_owned(),
            ..block(name, true)?
        })
    })
}

/// The two numbers of `min=1, max=10481`.
fn min_and_max(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("min=")?;
    let (min, max) = rest.split_once(", max=")?;
    Some((min, max.trim_end()))
}

impl Log {
    fn close(&mut self, line: &str, min: &str, max: &str) {
        let Some(block) = self.block.take() else {
            return;
        };
        let stat = || -> Result<Stat, String> {
            Ok(Stat {
                median: block.median.as_deref().map(number).transpose()?,
                min: Some(number(min)?),
                max: Some(number(max)?),
                ..Stat::blank(block.samples)
            })
        };
        let figure = if block.is_rate {
            Figure::Skipped("a rate, not a time".to_owned())
        } else if block.median.is_none() {
            Figure::Failed("the 50th percentile is missing".to_owned())
        } else {
            figure(line, stat())
        };
        self.push(Row::new(&block.name, figure));
    }

    /// Ends a block whose last line is missing.
    fn end_incomplete(&mut self) {
        if let Some(block) = self.block.take() {
            let figure = Figure::Failed("the block is incomplete".to_owned());
            self.push(Row::new(&block.name, figure));
        }
    }

    /// Adds a row, or replaces the previous one of the same name.
    fn push(&mut self, row: Row) {
        if let Some(source) = self.sources.last_mut() {
            match source.rows.iter_mut().find(|known| known.name == row.name) {
                Some(known) => *known = row,
                None => source.rows.push(row),
            }
        }
    }
}

fn fits(document: &Value) -> bool {
    let int = document["int"].as_object();
    document["normal"].is_object()
        && int.is_some_and(|int| int.contains_key("wakeup_latency_pct50.0"))
}

fn read(document: &Value) -> Result<Vec<Source>, String> {
    let document = Object::document(document);
    let normal = document.object("normal");
    let kernel = normal
        .as_ref()
        .and_then(|normal| normal.text("version").ok());
    let mut source = source("schbench", kernel);
    let command = normal
        .as_ref()
        .and_then(|normal| normal.text("cmdline").ok());
    source
        .facts
        .extend(command.map(|command| Fact::new("command", command)));
    let int = document.required_object("int")?;
    for (name, label) in [
        ("Wakeup latency", "wakeup_latency"),
        ("Request latency", "request_latency"),
    ] {
        let median = int.optional_number(&format!("{label}_pct50.0"))?;
        if median.is_none() {
            continue;
        }
        let stat = Stat {
            median,
            min: int.optional_number(&format!("{label}_min"))?,
            max: int.optional_number(&format!("{label}_max"))?,
            ..Stat::blank(1)
        };
        source.rows.push(Row::new(name, Figure::Summary(stat)));
    }
    if int.get("rps_pct50.0").is_some() {
        let figure = Figure::Skipped("a rate, not a time".to_owned());
        source.rows.push(Row::new("RPS", figure));
    }
    Ok(vec![source])
}
