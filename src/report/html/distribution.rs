// SPDX-License-Identifier: MIT OR Apache-2.0

//! The distribution of a metric's samples as bars on a logarithmic axis.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{html, Markup};

use super::frame::{self, At, Axis, Scale, Tick};
use crate::base::number::{self, Place, TimeUnit};
use crate::judge::quantity::Quantity;
use crate::judge::summary::Summary;
use crate::report::distribution::{common_divisor, grain, pooled};
use crate::stream::run::{Metric, Outcome};

/// A figure, in ticks per operation, with its unit.
pub(super) fn figure(summary: &Summary, ticks: f64) -> String {
    match summary.nanoseconds(ticks) {
        Some(ns) => time(ns),
        None if ticks.fract() == 0.0 => Place::decimals(0).show(ticks),
        None => Place::significant(ticks, 4).show(ticks),
    }
}

/// A time with three significant digits.
fn time(ns: f64) -> String {
    let unit = TimeUnit::of(ns);
    let value = unit.convert(ns);
    format!("{} {}", Place::significant(value, 3).show(value), unit.name)
}

/// A round value of an axis, in nanoseconds or counts: `50 ns`, `20 k`.
pub(super) fn axis_label(is_time: bool, value: f64) -> String {
    let (value, unit) = if is_time {
        let unit = TimeUnit::of(value * (1.0 + 1e-9));
        (unit.convert(value), unit.name)
    } else {
        let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
        let unit = units.into_iter().find(|(from, _)| value >= *from);
        let (from, unit) = unit.unwrap_or((1.0, ""));
        (value / from, unit)
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}").trim_end().to_owned()
}

/// The samples of a metric, in nanoseconds if they are times.
pub(super) struct Samples {
    /// Values in ascending order, each with its count; not empty.
    values: Vec<(f64, u64)>,
    /// The step of the clock; 0 if the replicates differ in it.
    grain: f64,
    is_time: bool,
}

/// A bar: its ends, and the share of samples per width.
struct Bar {
    low: At,
    high: At,
    density: f64,
}

/// The number of ranges of a picture, and of a sparkline.
const RANGES: f64 = 84.0;
const SPARK_RANGES: f64 = 30.0;

impl Samples {
    /// `None` if the source gives no samples.
    pub(super) fn of(metric: &Metric, summary: &Summary) -> Option<Self> {
        let shown = |ticks: f64| summary.nanoseconds(ticks).unwrap_or(ticks);
        let pooled = pooled(metric).into_iter();
        let values: Vec<(f64, u64)> = pooled.map(|(value, count)| (shown(value), count)).collect();
        (!values.is_empty()).then(|| Samples {
            values,
            grain: shown(grain(metric).unwrap_or(0.0)),
            is_time: summary.nanoseconds(1.0).is_some(),
        })
    }

    /// The least and the greatest value of an axis that shows all samples. A value of 0 is shown
    /// below the least positive one.
    fn range(&self) -> (f64, f64) {
        let half = self.grain / 2.0;
        let least = self.values[0].0;
        let greatest = self.values[self.values.len() - 1].0;
        let positive = self.values.iter().find(|(value, _)| *value > 0.0);
        let low = match positive {
            None => return (0.5, 1.0),
            Some((value, _)) if *value > least || least <= half => value / 2.0,
            Some(_) => least - half,
        };
        let high = greatest + half;
        // An axis of a single value must still be wide enough to have labels.
        if high / low < 1.02 {
            (low * 0.99, high * 1.01)
        } else {
            (low, high)
        }
    }

    /// The samples up to a value.
    fn up_to(&self, value: f64) -> Samples {
        let most = value * (1.0 + 1e-9);
        let values = self.values.iter().filter(|(one, _)| *one <= most);
        Samples {
            values: values.copied().collect(),
            ..*self
        }
    }

    /// The bars on an axis, which is divided into equal ranges. The ends of a range lie between two
    /// steps of the clock, so the area of a bar is the share of its samples.
    fn bars(&self, axis: Axis, ranges: f64) -> Vec<Bar> {
        let total: f64 = self.values.iter().map(|(_, count)| *count as f64).sum();
        let base = self.values[0].0;
        let snapped = |edge: f64| match self.grain {
            grain if grain > 0.0 => base + (((edge - base) / grain).ceil() - 0.5) * grain,
            _ => edge,
        };
        let mut bars: Vec<(f64, Bar)> = Vec::new();
        for (value, count) in &self.values {
            let range = (axis.at(*value).0 / 100.0 * ranges)
                .floor()
                .min(ranges - 1.0);
            let share = *count as f64 / total;
            let is_same = |(last, _): &&mut (f64, Bar)| (*last - range).abs() < 0.5;
            if let Some((_, bar)) = bars.last_mut().filter(is_same) {
                bar.density += share;
            } else {
                let edge = |at: f64| axis.at(snapped(axis.value(At(at / ranges * 100.0))));
                let (low, high) = (edge(range), edge(range + 1.0));
                // Where the step is wider than a range, the bar is as wide as the step.
                let half = self.grain / 2.0;
                let (low, high) = (
                    At(low.0.min(axis.at(value - half).0)),
                    At(high.0.max(axis.at(value + half).0)),
                );
                let density = share;
                bars.push((range, Bar { low, high, density }));
            }
        }
        let mut bars: Vec<Bar> = bars.into_iter().map(|(_, bar)| bar).collect();
        for bar in &mut bars {
            bar.density /= (bar.high.0 - bar.low.0).max(100.0 / ranges / 4.0);
        }
        bars
    }
}

fn highest(bars: &[Bar]) -> f64 {
    bars.iter().map(|bar| bar.density).fold(0.0, f64::max)
}

/// The outline of bars in a box of this size. The height of a bar is the square root of its density,
/// and every bar is at least 2 % high and 0.3 % wide, so that a single sample is visible beside
/// thousands.
fn outline(bars: &[Bar], most: f64, (width, height): (f64, f64)) -> String {
    let mut path = String::new();
    let (mut last, mut level) = (f64::NEG_INFINITY, height);
    for bar in bars {
        let x = |at: At| (at.0 / 100.0 * width).round();
        let low = x(bar.low).max(last);
        let high = x(bar.high).max(low + (width * 0.003).ceil());
        let y = (height * (1.0 - (bar.density / most).sqrt().max(0.02))).round();
        if low > last {
            if !path.is_empty() {
                let _ = write!(path, "V{height}");
            }
            let _ = write!(path, "M{low} {height}");
            level = height;
        }
        if (y - level).abs() > 0.5 {
            let _ = write!(path, "V{y}");
        }
        let _ = write!(path, "H{high}");
        level = y;
        last = high;
    }
    if !path.is_empty() {
        let _ = write!(path, "V{height}");
    }
    path
}

/// A distribution in one cell of a table, up to the 99th percentile if there is one.
pub(super) fn sparkline(samples: &Samples, summary: &Summary) -> Markup {
    let shown = |ticks: f64| summary.nanoseconds(ticks).unwrap_or(ticks);
    let p99 = summary.percentile_value(Quantity::P99).map(shown);
    let samples = &samples.up_to(p99.unwrap_or(f64::INFINITY));
    let (low, high) = samples.range();
    let bars = samples.bars(Axis::new(Scale::Log, low, high), SPARK_RANGES);
    html! {
        svg width="90" height="18" viewBox="0 0 90 18" aria-hidden="true" {
            path .b d=(outline(&bars, highest(&bars), (90.0, 18.0))) {}
        }
    }
}

/// The height of the labels above the bars, of the bars, and of the whole picture, in pixels.
const ABOVE: u32 = 16;
const BARS: u32 = 96;
const HEIGHT: u32 = ABOVE + BARS + 16;

/// A picture of bars between the labels of values and those of the axis. What is inside is drawn into
/// a box of 1000 by 100.
fn frame(axis: Axis, is_time: bool, label: &str, marks: &[(&str, f64)], inside: &Markup) -> Markup {
    let ticks = axis.ticks(&axis.round_values(), |value| axis_label(is_time, value));
    let values: Vec<f64> = marks.iter().map(|(_, value)| *value).collect();
    let name = |value: f64| {
        let mark = marks
            .iter()
            .find(|(_, known)| known.total_cmp(&value).is_eq());
        mark.map_or("", |(name, _)| name).to_owned()
    };
    let marks = axis.ticks(&values, name);
    let drawing = html! {
        path .g d=(lines(&ticks)) {}
        (inside)
        @if !marks.is_empty() { path .k d=(lines(&marks)) {} }
    };
    html! {
        svg .plot width="100%" height=(HEIGHT) role="img" aria-label=(label) {
            (frame::stretched(ABOVE, BARS, &drawing))
            (frame::tick_labels(&marks, ABOVE - 5))
            (frame::tick_labels(&ticks, HEIGHT - 3))
        }
    }
}

/// Vertical lines at ticks, in a box of 1000 by 100.
fn lines(ticks: &[Tick]) -> String {
    let mut path = String::new();
    for tick in ticks {
        let _ = write!(path, "M{:.0} 0V100", tick.at.0 * 10.0);
    }
    path
}

/// Bars in a box of 1000 by 100.
fn drawn(class: &str, bars: &[Bar], most: f64) -> Markup {
    html! { path class=(class) d=(outline(bars, most, (1000.0, 100.0))) {} }
}

/// The distribution of a metric with its median (the band is its interval) and percentiles. If the
/// tail leaves little room for the rest, a second picture shows the samples up to the 99th percentile.
pub(super) fn picture(samples: &Samples, summary: &Summary) -> Markup {
    let shown = |ticks: f64| summary.nanoseconds(ticks).unwrap_or(ticks);
    let known = [
        ("median", summary.median),
        ("worst", summary.max),
        ("p99", summary.percentile_value(Quantity::P99)),
        ("p99.9", summary.percentile_value(Quantity::P999)),
        ("p90", summary.percentile_value(Quantity::P90)),
    ];
    let marks = known.into_iter();
    let marks: Vec<(&str, f64)> = marks
        .filter_map(|(name, value)| Some((name, shown(value?))))
        .collect();
    let part = |samples: &Samples, what: &str, marks: &[(&str, f64)]| {
        let (low, high) = samples.range();
        let axis = Axis::new(Scale::Log, low, high);
        let bars = samples.bars(axis, RANGES);
        let band = summary.low.zip(summary.high);
        let band = band.map(|(low, high)| (axis.at(shown(low)), axis.at(shown(high))));
        let inside = html! {
            @if let Some((low, high)) = band {
                path .band d=(format!("M{:.0} 0H{:.0}V100H{0:.0}", low.0 * 10.0, high.0 * 10.0)) {}
            }
            (drawn("b", &bars, highest(&bars)))
        };
        frame(axis, samples.is_time, what, marks, &inside)
    };
    let (low, high) = samples.range();
    let p99 = marks.iter().find(|(name, _)| *name == "p99");
    let body = p99.filter(|(_, p99)| (p99 / low).ln() < 0.4 * (high / low).ln());
    html! {
        (part(samples, "distribution of all samples", &marks))
        @if let Some((_, p99)) = body {
            @let body = samples.up_to(*p99);
            @if body.values.len() > 1 {
                p .mut { "up to p99:" }
                (part(&body, "distribution of the samples up to p99", &marks[..1]))
            }
        }
    }
}

/// The distributions of both sides of a comparison on one axis: the base as an area, the new side as
/// a line.
pub(super) fn overlay(base: &Samples, new: &Samples) -> Markup {
    let (a, b) = (base.range(), new.range());
    let axis = Axis::new(Scale::Log, a.0.min(b.0), a.1.max(b.1));
    let [from, to] = [base, new].map(|samples| samples.bars(axis, RANGES));
    let most = highest(&from).max(highest(&to));
    let inside = html! {
        (drawn("from", &from, most))
        (drawn("to", &to, most))
    };
    frame(
        axis,
        base.is_time,
        "distributions of base and new run",
        &[],
        &inside,
    )
}

/// Every value of a metric with its count, and how to read that.
pub(super) struct Exact {
    /// How to read it.
    pub(super) key: String,
    /// The values and counts.
    pub(super) list: String,
}

/// The samples of all replicates, in ticks per operation. A run has hundreds of thousands of distinct
/// values, most of them one step from the next and with few samples. So each is a letter, with the
/// distance from the previous value before it if that is not one step.
pub(super) fn exact(metric: &Metric, tick: &str) -> Exact {
    let (values, batch) = whole(metric);
    let first = values.first().map_or(0, |(value, _)| *value);
    let distances = values.iter().map(|(value, _)| value - first);
    let step = distances.fold(0, common_divisor).max(1);
    let per_operation = |ticks: u64| {
        let text = format!("{:.9}", ticks as f64 / batch as f64);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let mut list = String::new();
    let mut previous = first;
    for (value, count) in values {
        match (value - previous) / step {
            0 | 1 => {}
            distance => {
                let _ = write!(list, "{distance}");
            }
        }
        match u8::try_from(count) {
            Ok(count @ 1..=26) => list.push(char::from(b'a' + count - 1)),
            _ => {
                let _ = write!(list, "({count})");
            }
        }
        previous = value;
    }
    let key = format!(
        "The first value is {} {tick}, a step is {}. A letter is a value: a has one sample, z has 26, \
         (120) has 120. A number is the distance from the previous value in steps; 1 is left out.",
        per_operation(first),
        per_operation(step)
    );
    Exact { key, list }
}

/// The samples of all replicates as whole numbers: the ticks of a batch that suits all replicates, and
/// that batch.
fn whole(metric: &Metric) -> (Vec<(u64, u64)>, u64) {
    let ok = || {
        let replicates = metric.replicates.iter();
        replicates.filter(|one| one.outcome == Outcome::Ok)
    };
    let batches = ok().map(|one| one.batch.max(1));
    let common = |a: u64, b: u64| a / common_divisor(a, b) * b;
    let batch = batches.fold(1, common);
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for replicate in ok() {
        let factor = batch / replicate.batch.max(1);
        for (value, count) in replicate.histogram.iter() {
            *counts.entry(value.0.saturating_mul(factor)).or_default() += count;
        }
    }
    (counts.into_iter().collect(), batch)
}

/// How many samples there are and how many values they have.
pub(super) fn extent(samples: &Samples) -> String {
    let total = samples.values.iter().map(|(_, count)| count).sum();
    format!(
        "{} with {}",
        number::plural(total, "sample"),
        number::plural(samples.values.len() as u64, "distinct value")
    )
}
