// SPDX-License-Identifier: MIT OR Apache-2.0

//! Thread-Metric, a suite by Express Logic (now Eclipse `ThreadX`) for any RTOS: its console output.
//!
//! Each of the eight tests is a separate program that runs until it is stopped. After each period of 30
//! seconds (in Zephyr's port `CONFIG_TM_TEST_DURATION`) it prints:
//!
//! - `**** Thread-Metric Cooperative Scheduling Test **** Relative Time: 30`: the seconds since the start.
//! - `ERROR: Invalid counter value(s). ...`: the counters of the threads disagree.
//! - `Time Period Total:  1234567`: the number of operations in this period.
//!
//! Operations follow each other without a pause. So the period divided by its total, which is read, is the
//! mean time of an operation including the loop around it. An operation is one round of the loop; what it
//! does depends on the test (a switch, a message sent and received, ...).
//!
//! The log does not state the period. It is the difference of two consecutive relative times that divides
//! all relative times. If lines are missing, it may be unknown. If the greatest common divisor is 30, the
//! suite's default of 30 seconds is assumed. Periods are samples of one source. A relative time that does
//! not increase belongs to a new boot.
//!
//! The counters of single threads, which some ports print, are not read. There is no end mark.

use std::collections::HashMap;

use super::text::Unread;
use super::{greatest_common_divisor, picoseconds, Figure, Format, Lines, Reader, Row, Source};
use crate::stream::histogram::Histogram;

/// The console output of Thread-Metric.
pub const FORMAT: Format = Format {
    name: "thread-metric",
    about: "Thread-Metric, on any RTOS",
    recognised_by: "`**** Thread-Metric Cooperative Scheduling Test **** Relative Time: 30`",
    lines: Some(Lines {
        start_marks: &[TITLE],
        reader: || Box::new(Log::default()),
    }),
    document: None,
};

const TITLE: &str = "**** Thread-Metric ";
const TIME: &str = " **** Relative Time: ";

/// The default period, in seconds.
const DEFAULT_PERIOD: u64 = 30;

#[derive(Default)]
struct Log {
    boots: Vec<Vec<Test>>,
    /// The index of each test of the last boot, by its name.
    places: HashMap<String, usize>,
    /// The period whose total is still missing.
    period: Option<Period>,
    unread: Unread,
}

/// The results of one test in one boot. A boot has one test, unless a program runs several.
struct Test {
    name: String,
    /// The relative times in seconds, each with the number of operations in the period before it, if the
    /// log has it.
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
                self.unread.add(line);
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
        self.unread.report_in(&mut sources);
        sources
    }
}

fn not_a_number(what: &str, text: &str) -> String {
    format!("`{what}: {}` is not a number", text.trim())
}

impl Log {
    /// Ends a period. `total` is the text of its total; `None` if it is missing.
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
        let tests = self.boots.last_mut().expect("a boot has begun");
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

/// The number of operations in a period.
fn operations(total: &str) -> Result<u64, String> {
    match total.trim().parse() {
        Ok(0) => Err("`Time Period Total: 0`: no operation was done".to_owned()),
        Ok(operations) => Ok(operations),
        Err(_) => Err(not_a_number("Time Period Total", total)),
    }
}

impl Test {
    /// The last relative time.
    fn seconds(&self) -> Option<u64> {
        self.periods.last().map(|(seconds, _)| *seconds)
    }

    /// The mean time of an operation in each period.
    fn samples(&self) -> Result<Histogram, String> {
        let totals = self
            .periods
            .iter()
            .filter_map(|(_, operations)| *operations);
        let totals: Vec<u64> = totals.collect();
        if totals.is_empty() {
            return Err("`Time Period Total` is missing".to_owned());
        }
        let period = self.period()? as f64;
        let sample = |operations: u64| {
            let ticks = picoseconds(period * 1e9 / operations as f64);
            Ok((ticks.ok_or("the period is too long")?, 1))
        };
        totals.into_iter().map(sample).collect()
    }

    /// The period in seconds.
    fn period(&self) -> Result<u64, String> {
        let times: Vec<u64> = self.periods.iter().map(|(seconds, _)| *seconds).collect();
        let common = times.iter().copied().fold(0, greatest_common_divisor);
        let is_step = times.windows(2).any(|pair| pair[1] - pair[0] == common);
        if is_step || common == DEFAULT_PERIOD {
            return Ok(common);
        }
        let times: Vec<String> = times.iter().map(u64::to_string).collect();
        let times = times.join(", ");
        Err(format!(
            "the length of a period does not follow from the relative times ({times})"
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
