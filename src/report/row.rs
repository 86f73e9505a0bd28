// SPDX-License-Identifier: MIT OR Apache-2.0

//! One metric as the cells of a table.

use crate::base::number::{self, Place, TimeUnit};
use crate::judge::quantity::Quantity;
use crate::judge::summary::{Status, Summary};
use crate::stream::run::{Statistic, Unit};

/// What a cell shows that has no value.
pub const UNAVAILABLE: &str = "-";
/// What follows a value that is the mean of a batch of operations.
pub const OF_A_BATCH: &str = "*";
/// What follows the id of an idiom.
pub const IDIOM: &str = " ^";
/// Why a metric is an idiom.
pub const NO_OBJECT: &str =
    "the kernel has no such object, the agent builds it of other primitives";

/// What the mark of an idiom means.
pub(crate) fn idiom_legend() -> String {
    format!("{}: an idiom: {NO_OBJECT}", IDIOM.trim_start())
}

pub(crate) fn title(unit: Unit) -> &'static str {
    match unit {
        Unit::Cycles => "time per operation",
        Unit::Ticks => "cycles per operation",
        Unit::Instructions => "instr per operation",
    }
}

/// A metric that has a value. Each figure has as many digits as the interval of its median
/// supports, at least three. The figures are those of one operation: instructions, cycles, or a
/// time. All times of a row are in the unit that suits its median, which follows the median.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The metric's id, not yet safe to show.
    pub id: String,
    /// Its name in full, where an id cannot hold that; else empty. Not yet safe to show.
    pub title: String,
    /// Whether it is an idiom.
    pub idiom: bool,
    /// What the times are.
    pub unit: Unit,
    /// What `median` is.
    pub statistic: Statistic,
    /// The median, or what stands for it, with its unit if it is a time.
    pub median: String,
    /// The interval of the median, `low..high`.
    pub interval: String,
    /// Half the interval's width in per cent of the median.
    pub spread: String,
    /// The 99th percentile, marked where it is one of batches.
    pub p99: String,
    /// The 99.9th percentile, marked where it is one of batches.
    pub p999: String,
    /// The greatest sample, marked where it is one of batches.
    pub worst: String,
    /// The first operation.
    pub cold: String,
    /// The median less the reading of the clock, in ticks.
    pub net: String,
    /// Bytes or items per second.
    pub rate: String,
}

impl Row {
    /// The rows of all metrics that have a number, in the order given.
    #[must_use]
    pub fn all(summaries: &[Summary]) -> Vec<Row> {
        summaries.iter().filter_map(Row::of).collect()
    }

    /// `None` if the metric has no value.
    pub(crate) fn of(summary: &Summary) -> Option<Row> {
        Row::in_unit(summary, time_unit(summary))
    }

    /// As [`Row::of`], with times in this unit.
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
        })
    }
}

/// The unit of time that suits a metric's median; `None` if it has none or is not a time.
pub(crate) fn time_unit(summary: &Summary) -> Option<TimeUnit> {
    let median = summary.median.filter(|_| summary.status == Status::Ok)?;
    summary.nanoseconds(median).map(TimeUnit::of)
}

/// The place of the last digit of a median. Whole instructions are exact: all
/// their digits are shown, unless the replicates differ.
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

/// A single value beside a median that is known down to this place.
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

/// The least spread that is written as a number, per cent.
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
