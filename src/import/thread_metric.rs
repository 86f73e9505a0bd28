// SPDX-License-Identifier: MIT OR Apache-2.0

//! Thread-Metric, the suite of Express Logic (now Eclipse `ThreadX`) for any RTOS.
//!
//! Each of its eight tests is a program of its own that runs until it is stopped, and says after
//! each period of 30 seconds (Zephyr's port: of `CONFIG_TM_TEST_DURATION`):
//!
//! - `**** Thread-Metric Cooperative Scheduling Test **** Relative Time: 30`, the seconds so far.
//! - `ERROR: Invalid counter value(s). ...`, when what it counts does not agree.
//! - `Time Period Total:  1234567`, how often it did in this period what it measures.
//!
//! Operations follow each other without a pause, so a period divided by its total is the mean time
//! of an operation with all that goes with it; this is what is read. The period is the same
//! throughout, so it is the difference of two relative times that follow each other, of which all
//! relative times must be multiples. A log that begins late, or lost lines, may leave it unknown;
//! where all are multiples of 30 and nothing less, it is the 30 seconds that the suite is written
//! for. Periods are samples of one source. A relative time that is not greater than the last is that
//! of a new boot. What an operation is differs between the tests (a switch, a message sent and
//! received, ...), and it is a whole round of the loop.
//!
//! The counters of single threads, which some ports print, are not read. Nothing marks the end.

use std::collections::HashMap;

use super::text::Unread;
use super::{greatest_common_divisor, picoseconds, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::histogram::Histogram;

/// The console's output of Thread-Metric.
pub const FORMAT: Format = Format {
    name: "thread-metric",
    about: "Thread-Metric, on any RTOS",
    mark: "`**** Thread-Metric Cooperative Scheduling Test **** Relative Time: 30`",
    lines: Some(Lines {
        signs: &[TITLE],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const TITLE: &str = "**** Thread-Metric ";
const TIME: &str = " **** Relative Time: ";

/// Seconds of a period, unless a port says otherwise.
const USUAL_PERIOD: u64 = 30;

#[derive(Default)]
struct Log {
    boots: Vec<Vec<Test>>,
    /// Where each test of the last boot is, by its name.
    places: HashMap<String, usize>,
    /// A period was announced and its total has not come.
    period: Option<Period>,
    unread: Unread,
}

/// What one boot says of a test; there is one, unless a program runs several.
struct Test {
    name: String,
    /// The relative times, each with what was done in the period before it, unless the log lost that.
    periods: Vec<(u64, Option<u64>)>,
    error: Option<String>,
}

struct Period {
    name: String,
    seconds: u64,
    error: Option<String>,
}

impl Reader for Log {
    fn line(&mut self, line: &str) {
        if let Some((_, title)) = line.split_once(TITLE) {
            self.end_period(None);
            let Some((name, seconds)) = title.split_once(TIME) else {
                self.unread.line(line);
                return;
            };
            let (seconds, error) = match seconds.trim().parse() {
                Ok(seconds) => (seconds, None),
                Err(_) => (0, Some(not_a_number("Relative Time", seconds))),
            };
            self.period = Some(Period {
                name: name.to_owned(),
                seconds,
                error,
            });
        } else if let Some(period) = &mut self.period {
            if let Some(at) = line.find("ERROR: ") {
                let error = line.get(at..).unwrap_or(line);
                period.error.get_or_insert_with(|| error.trim().to_owned());
            } else if let Some((_, total)) = line
                .split_once("Time Period Total:")
                .or_else(|| line.split_once("Time period total:"))
            {
                self.end_period(Some(total));
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<Source> {
        self.end_period(None);
        let mut sources: Vec<Source> = self.boots.into_iter().map(source).collect();
        self.unread.tell(&mut sources);
        sources
    }
}

fn not_a_number(what: &str, text: &str) -> String {
    format!("`{what}: {}` is no number", text.trim())
}

impl Log {
    /// Ends a period, with its total unless another one begins before that comes.
    fn end_period(&mut self, total: Option<&str>) {
        let Some(period) = self.period.take() else {
            return;
        };
        if self.boots.is_empty() {
            self.boots.push(Vec::new());
        }
        let known = self.places.get(&period.name);
        let before = self.boots.last().and_then(|tests| tests.get(*known?));
        let is_before = |test: &Test| test.seconds().is_some_and(|last| period.seconds <= last);
        if before.is_some_and(is_before) && period.error.is_none() {
            self.boots.push(Vec::new());
            self.places.clear();
        }
        let tests = self.boots.last_mut().expect("there is one");
        let at = *self.places.entry(period.name.clone()).or_insert_with(|| {
            tests.push(Test {
                name: period.name.clone(),
                periods: Vec::new(),
                error: None,
            });
            tests.len() - 1
        });
        let test = &mut tests[at];
        let operations = match (period.error, total) {
            (Some(error), _) => Err(error),
            (None, total) => total.map(operations).transpose(),
        };
        match operations {
            Ok(operations) => test.periods.push((period.seconds, operations)),
            Err(why) => {
                test.error.get_or_insert(why);
            }
        }
    }
}

/// How much was done in a period.
fn operations(total: &str) -> Result<u64, String> {
    match total.trim().parse() {
        Ok(0) => Err("`Time Period Total: 0`: nothing was done".to_owned()),
        Ok(operations) => Ok(operations),
        Err(_) => Err(not_a_number("Time Period Total", total)),
    }
}

impl Test {
    /// The last relative time.
    fn seconds(&self) -> Option<u64> {
        self.periods.last().map(|(seconds, _)| *seconds)
    }

    /// The times of an operation, one of each period.
    fn samples(&self) -> Result<Histogram, String> {
        let totals = self
            .periods
            .iter()
            .filter_map(|(_, operations)| *operations);
        let totals: Vec<u64> = totals.collect();
        if totals.is_empty() {
            return Err("no `Time Period Total` follows".to_owned());
        }
        let period = self.period()? as f64;
        let sample = |operations: u64| {
            let ticks = picoseconds(period * 1e9 / operations as f64);
            Ok((ticks.ok_or("the period is absurd")?, 1))
        };
        totals.into_iter().map(sample).collect()
    }

    /// Seconds of a period.
    fn period(&self) -> Result<u64, String> {
        let times: Vec<u64> = self.periods.iter().map(|(seconds, _)| *seconds).collect();
        let common = times.iter().copied().fold(0, greatest_common_divisor);
        let is_step = times.windows(2).any(|pair| pair[1] - pair[0] == common);
        if is_step || common == USUAL_PERIOD {
            return Ok(common);
        }
        let times: Vec<String> = times.iter().map(u64::to_string).collect();
        let times = times.join(", ");
        Err(format!(
            "relative times ({times}) that do not tell how long a period was"
        ))
    }
}

fn source(tests: Vec<Test>) -> Source {
    let rows = tests.into_iter().map(|test| {
        let figure = match test.error.clone().map_or_else(|| test.samples(), Err) {
            Ok(samples) => Figure::Samples(samples),
            Err(why) => Figure::Failed(why),
        };
        Row::new(&test.name, figure)
    });
    Source::of_times("Thread-Metric", rows.collect())
}
