// SPDX-License-Identifier: MIT OR Apache-2.0

//! A metric's summary as the cells of a table row, formatted but not yet aligned.

use crate::base::number::{self, Place, TimeUnit};
use crate::judge::quantity::Quantity;
use crate::judge::summary::{Status, Summary};
use crate::stream::run::{Entry, Statistic, Unit};

/// The content of a cell without a value.
pub const UNAVAILABLE: &str = "-";
/// The mark after a value that is the mean of a batch of operations.
pub const OF_A_BATCH: &str = "*";
/// The mark after the id of an idiom.
pub const IDIOM: &str = " ^";
/// The mark after the id of a metric that needs the second CPU, if that was busy.
pub const SECOND_CPU: &str = " !";
/// Why a metric is an idiom.
pub const NO_OBJECT: &str =
    "the kernel lacks this object, so the agent builds it from other primitives";

/// The legend for the mark of an idiom.
pub(crate) fn idiom_legend() -> String {
    format!("{}: idiom: {NO_OBJECT}", IDIOM.trim_start())
}

/// The heading of the column of names: what the figures are.
pub(crate) fn title(unit: Unit) -> &'static str {
    match unit {
        Unit::Cycles => "time per operation",
        Unit::Ticks => "cycles per operation",
        Unit::Instructions => "instr per operation",
    }
}

/// A metric with a value. All figures are per operation, in instructions, cycles or a unit of
/// time. All times of a row are in the unit that suits the median; only the median names it. Each
/// figure has as many digits as the interval of the median supports, at least three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The metric's id, not yet safe to show.
    pub id: String,
    /// Its full name if an id cannot hold it, else empty. Not yet safe to show.
    pub title: String,
    /// Whether the metric is an idiom.
    pub idiom: bool,
    /// Whether its case needs a second CPU.
    pub needs_two_cpus: bool,
    /// The unit of the samples.
    pub unit: Unit,
    /// The statistic in `median`.
    pub statistic: Statistic,
    /// The median, or the statistic in its place, with its unit if it is a time.
    pub median: String,
    /// The interval of the median, `low..high`.
    pub interval: String,
    /// Half the width of the interval, in per cent of the median.
    pub spread: String,
    /// The 99th percentile, marked if samples are batches.
    pub p99: String,
    /// The 99.9th percentile, marked if samples are batches.
    pub p999: String,
    /// The greatest sample, marked if samples are batches.
    pub worst: String,
    /// The first operation.
    pub cold: String,
    /// The median minus the cost of reading the clock, in ticks.
    pub net: String,
    /// Bytes or items per second.
    pub rate: String,
    /// CPU time of the case.
    pub cpu: String,
    /// Instructions of the median sample.
    pub instructions: String,
    /// Those of them that only repeat a string instruction.
    pub repeated: String,
}

impl Row {
    /// The rows of all metrics with a value, in the order given.
    #[must_use]
    pub fn all(summaries: &[Summary]) -> Vec<Row> {
        summaries.iter().filter_map(Row::of).collect()
    }

    /// `None` if the metric has no value.
    pub(crate) fn of(summary: &Summary) -> Option<Row> {
        Row::in_unit(summary, time_unit(summary))
    }

    /// Like [`Row::of`], with times in this unit.
    pub(crate) fn in_unit(summary: &Summary, time_unit: Option<TimeUnit>) -> Option<Row> {
        let ticks = summary.median.filter(|_| summary.status == Status::Ok)?;
        let shown = |ticks: f64| {
            let time = summary.nanoseconds(ticks).zip(time_unit);
            time.map_or(ticks, |(ns, unit)| unit.convert(ns))
        };
        let interval = summary.low.zip(summary.high);
        let grain = 1.0 / summary.batch.max(1) as f64;
        let median = shown(ticks);
        let place = place(
            summary.unit,
            median,
            interval.map(|(low, high)| (shown(low), shown(high))),
            shown(grain),
        );
        let beside = |value: Option<f64>| {
            value.map(shown).map_or_else(unavailable, |value| {
                self::beside(summary.unit, place, value)
            })
        };
        let tail = |value: Option<f64>| match value {
            Some(_) if summary.batch > 1 => beside(value) + OF_A_BATCH,
            _ => beside(value),
        };
        Some(Row {
            id: summary.id.clone(),
            title: summary
                .entry
                .as_ref()
                .map_or_else(String::new, |entry| entry.title.clone()),
            idiom: summary.entry.as_ref().is_some_and(|entry| entry.idiom),
            needs_two_cpus: summary.entry.as_ref().is_some_and(Entry::needs_two_cpus),
            unit: summary.unit,
            statistic: summary.statistic,
            median: match time_unit.filter(|_| summary.unit == Unit::Cycles) {
                Some(unit) => format!("{} {}", place.show(median), unit.name),
                None => place.show(median),
            },
            interval: interval.map_or_else(unavailable, |(low, high)| {
                format!("{}..{}", place.show(shown(low)), place.show(shown(high)))
            }),
            spread: interval.map_or_else(unavailable, |(low, high)| spread(ticks, low, high)),
            p99: tail(summary.percentile_value(Quantity::P99)),
            p999: tail(summary.percentile_value(Quantity::P999)),
            worst: tail(summary.max),
            cold: beside(summary.cold),
            net: summary.net.map_or_else(unavailable, |net| {
                let place = self::place(summary.unit, ticks, interval, grain);
                self::beside(summary.unit, place, net)
            }),
            rate: rate(summary),
            cpu: summary
                .cpu_time
                .map_or_else(unavailable, |ns| cpu_time(ns, time_unit)),
            instructions: beside(summary.instructions),
            repeated: beside(summary.repeated),
        })
    }
}

/// CPU time in the unit of its row, or in nanoseconds with their name.
fn cpu_time(ns: f64, unit: Option<TimeUnit>) -> String {
    let (value, name) = match unit {
        Some(unit) => (unit.convert(ns), ""),
        None => (ns, " ns"),
    };
    format!("{}{name}", Place::significant(value, 3).show(value))
}

/// The unit of time that suits a metric's median; `None` if it has no median or it is not a time.
pub(crate) fn time_unit(summary: &Summary) -> Option<TimeUnit> {
    let median = summary.median.filter(|_| summary.status == Status::Ok)?;
    summary.nanoseconds(median).map(TimeUnit::of)
}

/// The place of the last digit to show of a median. A whole number of instructions is exact, so
/// all its digits are shown, unless the replicates differ.
pub(crate) fn place(unit: Unit, median: f64, interval: Option<(f64, f64)>, grain: f64) -> Place {
    let exact = unit == Unit::Instructions
        && median.fract() == 0.0
        && interval.is_none_or(|(low, high)| high <= low);
    if exact {
        Place::decimals(0)
    } else {
        Place::of(median, interval, grain)
    }
}

/// A single value, shown next to a median that is known down to this place.
pub(crate) fn beside(unit: Unit, place: Place, value: f64) -> String {
    let exact = unit == Unit::Instructions && value.fract() == 0.0 && place <= Place::decimals(0);
    if exact {
        Place::decimals(0).show(value)
    } else {
        place.beside(value).show(value)
    }
}

fn unavailable() -> String {
    UNAVAILABLE.to_owned()
}

/// Spreads below this many per cent are shown as less than it.
const LEAST_SPREAD: f64 = 0.1;

fn spread(median: f64, low: f64, high: f64) -> String {
    if median <= 0.0 {
        return unavailable();
    }
    let percent = (high - low) / 2.0 / median * 100.0;
    if percent < LEAST_SPREAD {
        format!("<{LEAST_SPREAD}%")
    } else {
        format!("{}%", Place::significant(percent, 3).show(percent))
    }
}

fn rate(summary: &Summary) -> String {
    let bytes = summary.bytes_per_second.map(|rate| number::rate(rate, "B"));
    let items = || summary.items_per_second.map(|rate| number::rate(rate, ""));
    bytes.or_else(items).unwrap_or_else(unavailable)
}
