// SPDX-License-Identifier: MIT OR Apache-2.0

//! hwlatdetect (rt-tests), versions 0.8 to 2.x.
//!
//! - `hwlatdetect:  test duration 120 seconds`, then `Latency threshold: 10us`, `Sample window:` and
//!   `Sample width:`; `Starting test`, `test finished`.
//! - `Max Latency: 25us`, or `Max Latency: Below threshold` (before 2.0 `0us`).
//! - `Samples recorded: 2`, `Samples exceeding threshold: 2`.
//! - `ts: 1408928107.035955624, inner:20, outer:14`: the delay between the two clock readings of a pair,
//!   and between two pairs, in microseconds. It is printed at the end, and with `--watch` also during the
//!   run. A part that did not exceed the threshold is 0.
//!
//! hwlatdetect prints only samples over the threshold, so they do not describe the usual delay. Row names
//! state this: `hwlatdetect inner over 10us`. If nothing exceeded the threshold, the rows are skipped.

use super::text::number;
use super::{microsecond_clock, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::histogram::Histogram;
use crate::stream::run::Fact;
use crate::stream::ticks::Ticks;

/// The output of hwlatdetect.
pub const FORMAT: Format = Format {
    name: "hwlatdetect",
    about: "hwlatdetect of rt-tests",
    recognised_by: "`hwlatdetect:  test duration`",
    lines: Some(Lines {
        start_marks: &[BEGIN],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const BEGIN: &str = "hwlatdetect:  test duration ";

#[derive(Default)]
struct Log {
    tests: Vec<Test>,
}

/// One test.
#[derive(Default)]
struct Test {
    facts: Vec<Fact>,
    threshold: String,
    max: Option<String>,
    /// The stated number of samples.
    recorded: Option<u64>,
    /// The inner and outer delay of each sample.
    samples: Vec<(u64, u64)>,
    damage: Option<String>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some((_, duration)) = line.split_once(BEGIN) {
            let facts = vec![
                Fact::new("tool", "hwlatdetect"),
                Fact::new("duration", duration.trim()),
            ];
            self.tests.push(Test {
                facts,
                ..Test::default()
            });
            return;
        }
        let Some(test) = self.tests.last_mut() else {
            return;
        };
        let after = |label: &str| line.split_once(label).map(|(_, rest)| rest.trim());
        if let Some(threshold) = after("Latency threshold:") {
            threshold.clone_into(&mut test.threshold);
        } else if let Some(window) = after("Sample window:") {
            test.facts.push(Fact::new("window", window));
        } else if let Some(width) = after("Sample width:") {
            test.facts.push(Fact::new("width", width));
        } else if let Some(max) = after("Max Latency:") {
            test.max = Some(max.to_owned());
        } else if let Some(recorded) = after("Samples recorded:") {
            test.recorded = recorded.parse().ok();
        } else if let Some(sample) = after("ts: ").filter(|sample| sample.contains("inner:")) {
            match parts(sample) {
                Some(parts) => test.samples.push(parts),
                None => test.damage = Some(format!("`{}` is not a sample", line.trim())),
            }
        }
    }

    fn finish(self: Box<Self>) -> Vec<Source> {
        self.tests.into_iter().map(Test::source).collect()
    }
}

/// The numbers of `1408928107.035955624, inner:20, outer:14`.
fn parts(sample: &str) -> Option<(u64, u64)> {
    let (_, parts) = sample.split_once("inner:")?;
    let (inner, outer) = parts.split_once(',')?;
    let outer = outer.trim().strip_prefix("outer:")?;
    Some((inner.trim().parse().ok()?, outer.trim().parse().ok()?))
}

impl Test {
    fn source(mut self) -> Source {
        // --watch prints each sample twice.
        let recorded = self
            .recorded
            .and_then(|recorded| usize::try_from(recorded).ok());
        if let Some(recorded) = recorded.filter(|recorded| self.samples.len() == 2 * recorded) {
            if self.samples[..recorded] == self.samples[recorded..] {
                self.samples.truncate(recorded);
            }
        }
        let is_complete = self.max.is_some() && self.recorded.is_some();
        let rows = ["inner", "outer"].iter().zip([0, 1]).map(|(part, which)| {
            let name = format!("hwlatdetect {part} over {}", self.threshold);
            Row::new(&name, self.figure(which, recorded))
        });
        Source {
            rows: rows.collect(),
            clock: microsecond_clock(),
            incomplete: (!is_complete).then(|| "the result, `Max Latency:`, is missing".to_owned()),
            facts: self.facts,
        }
    }

    /// The inner (0) or outer (1) delays over the threshold.
    fn figure(&self, which: usize, recorded: Option<usize>) -> Figure {
        if let Some(damage) = &self.damage {
            return Figure::Failed(damage.clone());
        }
        let Some(recorded) = recorded else {
            return Figure::Failed("the result is missing".to_owned());
        };
        if recorded != self.samples.len() {
            let listed = self.samples.len();
            let why = format!("lists {listed} samples, but `Samples recorded:` is {recorded}");
            return Figure::Failed(why);
        }
        let greatest = self
            .samples
            .iter()
            .map(|(inner, outer)| *inner.max(outer))
            .max();
        let max = self.max.as_deref().and_then(|max| max.strip_suffix("us"));
        if let (Some(greatest), Some(max)) = (greatest, max) {
            if number(max) != Ok(greatest as f64) {
                return Figure::Failed(format!(
                    "the greatest sample is {greatest}us, but `Max Latency:` is {max}us"
                ));
            }
        }
        let parts = self
            .samples
            .iter()
            .map(|(inner, outer)| [*inner, *outer][which]);
        let exceeding: Histogram = parts
            .filter(|part| *part > 0)
            .map(|part| (Ticks(part), 1))
            .collect();
        if exceeding.is_empty() {
            return Figure::Skipped(format!("nothing over {}", self.threshold));
        }
        Figure::Samples(exceeding)
    }
}
