// SPDX-License-Identifier: MIT OR Apache-2.0

//! Pictures of a metric over many runs: the series with its levels and events, and a sparkline.

use std::cmp::Reverse;
use std::fmt::Write;
use std::ops::Range;

use maud::{html, Markup};

use super::frame::{tick_labels, At, Axis, Scale};
use super::words::{in_short, moment, percent, shown};
use crate::base::text::plain;
use crate::files::digest::{Series, Timeline};
use crate::judge::history::{Cause, History, MetricHistory};
use crate::statistics::order;

/// The height of the plot in pixels.
const HEIGHT: f64 = 150.0;
/// The height of a row of labels above it.
const ROW: f64 = 14.0;
/// At most so many rows of labels.
const ROWS: usize = 4;
/// The room below it for dates.
const BELOW: f64 = 18.0;
/// Horizontal units of the dots and lines.
const UNITS: f64 = 4000.0;
/// More runs than this are drawn as ranges.
const MOST: usize = 400;
/// Least share of the median that the plot is high, so that noise looks like noise.
const LEAST: f64 = 0.05;
/// The narrowest wide and narrow plot, and the width of a letter, in pixels.
const WIDE: f64 = 480.0;
const NARROW: f64 = 260.0;
const LETTER: f64 = 6.3;

/// Where values and runs are in the picture.
struct Place {
    runs: Axis,
    values: Axis,
    top: f64,
}

impl Place {
    /// The left edge of a run's column, in per cent of the width.
    fn edge(&self, run: usize) -> At {
        self.runs.at(run as f64 - 0.5)
    }

    fn x(&self, run: f64) -> f64 {
        (self.runs.at(run).0 / 100.0 * UNITS).round()
    }

    /// The vertical place of a value in the plot, in pixels below its top.
    fn down(&self, value: f64) -> f64 {
        (HEIGHT * (1.0 - self.values.at(value).0 / 100.0) * 10.0).round() / 10.0
    }

    fn y(&self, value: f64) -> f64 {
        self.top + self.down(value)
    }

    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }
}

/// A stretch of runs with one level.
struct Stretch {
    runs: Range<usize>,
    level: f64,
}

/// The series of a metric: a dot for each run, its levels with their floor, and the events.
pub(super) fn plot(
    timeline: &Timeline,
    history: &History,
    series: &Series,
    metric: &MetricHistory,
) -> Markup {
    let count = series.values.len();
    let values = without_clock(&series.values, &timeline.clock, metric.slope);
    let stretches = stretches(history, metric, &values);
    let labels = labels(history, metric, count);
    let rows = labels.iter().map(|label| label.row + 1).max().unwrap_or(0);
    let place = Place {
        runs: Axis::new(Scale::Linear, -0.5, count as f64 - 0.5),
        values: range(&values, &stretches),
        top: rows as f64 * ROW + 6.0,
    };
    let height = place.bottom() + BELOW;
    let is_same = values
        .iter()
        .zip(&series.values)
        .all(|(a, b)| a.total_cmp(b).is_eq());
    let about = format!("{} over {count} runs", plain(&series.metric));
    html! {
        div .series {
            svg width="100%" height=(height) role="img" aria-label=(about) {
                (segments(history, &place, count))
                (horizontals(&place, series))
                @for stretch in &stretches { (level(&place, stretch, metric.floor)) }
                svg width="100%" height=(HEIGHT) y=(place.top) viewBox={ "0 0 " (UNITS) " " (HEIGHT) } preserveAspectRatio="none" {
                    @if !is_same { path .raw d=(line(&series.values, &place)) {} }
                    (dots(&values, &place))
                }
                (outside(&values, &place, series))
                (events(history, &place))
                @for label in &labels { (label.draw(&place)) }
                (tick_labels(&place.runs.ticks(&dates(count), |run| date(timeline, run)), height as u32 - 4))
            }
        }
    }
}

/// The values as they would be at the usual speed of the clock. A run that does not say its speed
/// counts as the run before it.
fn without_clock(values: &[f64], clock: &[f64], slope: f64) -> Vec<f64> {
    let usual = median(clock);
    let mut ratio = 1.0;
    let values = values.iter().enumerate().map(|(run, value)| {
        let reading = clock.get(run).map_or(f64::NAN, |reading| reading / usual);
        if reading.is_finite() && reading > 0.0 {
            ratio = reading;
        }
        value / ratio.powf(slope)
    });
    values.collect()
}

fn finite(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite
}

/// The median of the finite values; NaN if there are none.
fn median(values: &[f64]) -> f64 {
    order::median(&finite(values)).unwrap_or(f64::NAN)
}

/// The stretches between changes and segments, each with the median of its values.
fn stretches(history: &History, metric: &MetricHistory, values: &[f64]) -> Vec<Stretch> {
    let mut starts: Vec<usize> = history.segments.clone();
    starts.extend(metric.changes.iter().map(|change| change.run));
    starts.push(0);
    starts.retain(|start| *start < values.len());
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([values.len()]);
    let stretches = starts.iter().zip(ends).map(|(start, end)| Stretch {
        runs: *start..end,
        level: median(&values[*start..end]),
    });
    stretches
        .filter(|stretch| stretch.level.is_finite())
        .collect()
}

/// The vertical axis: all levels and nearly all values; single outliers may be outside.
fn range(values: &[f64], stretches: &[Stretch]) -> Axis {
    let sorted = finite(values);
    let outside = sorted.len() / 50 + usize::from(sorted.len() >= 10);
    let inside = sorted.get(outside..sorted.len() - outside).unwrap_or(&[]);
    let mut ends: Vec<f64> = inside
        .first()
        .into_iter()
        .chain(inside.last())
        .copied()
        .collect();
    ends.extend(stretches.iter().map(|stretch| stretch.level));
    let (low, high) = ends
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
            (low.min(*end), high.max(*end))
        });
    if low > high {
        return Axis::new(Scale::Linear, 0.0, 1.0);
    }
    let middle = f64::midpoint(low, high);
    let half = ((high - low) * 0.7).max(LEAST / 2.0 * middle.abs());
    Axis::new(Scale::Linear, middle - half, middle + half)
}

/// Every second segment is shaded.
fn segments(history: &History, place: &Place, count: usize) -> Markup {
    let ends = history.segments.iter().skip(1).copied().chain([count]);
    let segments: Vec<(usize, usize)> = history.segments.iter().copied().zip(ends).collect();
    html! {
        @for (start, end) in segments.iter().skip(1).step_by(2) {
            rect .segment x=(place.edge(*start)) width=(At(place.edge(*end).0 - place.edge(*start).0)) y=(place.top) height=(HEIGHT) {}
        }
    }
}

/// Lines at round values, with the values left of the plot.
fn horizontals(place: &Place, series: &Series) -> Markup {
    html! {
        @for value in place.values.round_values() {
            line .g x2="100%" y1=(place.y(value)) y2=(place.y(value)) {}
            text .e x="-6" y=(place.y(value) + 4.0) { (shown(series.unit, value)) }
        }
    }
}

/// The level of a stretch, and around it the changes that do not count.
fn level(place: &Place, stretch: &Stretch, floor: f64) -> Markup {
    let (from, to) = (place.edge(stretch.runs.start), place.edge(stretch.runs.end));
    let (above, below) = (stretch.level * (1.0 + floor), stretch.level * (1.0 - floor));
    let (above, below) = (place.y(above.max(below)), place.y(below.min(above)));
    html! {
        rect .band x=(from) width=(At(to.0 - from.0)) y=(above) height=(tenths(below - above)) {}
        line .level x1=(from) x2=(to) y1=(place.y(stretch.level)) y2=(place.y(stretch.level)) {}
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A line through the values, broken where a run has none.
fn line(values: &[f64], place: &Place) -> String {
    let mut path = String::new();
    let mut is_open = false;
    for (run, value) in thinned(values) {
        let command = if is_open { 'L' } else { 'M' };
        is_open = value.is_finite();
        if is_open {
            let _ = write!(path, "{command}{} {}", place.x(run), place.down(value));
        }
    }
    path
}

/// The values with their places; of very many runs the median of each few.
fn thinned(values: &[f64]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let step = values.len().div_ceil(MOST).max(1);
    values.chunks(step).enumerate().map(move |(index, chunk)| {
        let middle = (index * step) as f64 + (chunk.len() - 1) as f64 / 2.0;
        (middle, median(chunk))
    })
}

/// A dot for each run inside the plot. Of very many runs, a stroke for each few, from their least to
/// their greatest value.
fn dots(values: &[f64], place: &Place) -> Markup {
    let mut path = String::new();
    for (run, value) in thinned(values) {
        if value.is_finite() && is_inside(place, value) {
            let _ = write!(path, "M{} {}h0", place.x(run), place.down(value));
        }
    }
    let step = values.len().div_ceil(MOST).max(1);
    let mut ranges = String::new();
    if step > 1 {
        for (chunk, (run, _)) in values.chunks(step).zip(thinned(values)) {
            let sorted = finite(chunk);
            if let [low, .., high] = sorted[..] {
                let (low, high) = (place.down(low), place.down(high));
                let _ = write!(ranges, "M{} {low}V{high}", place.x(run));
            }
        }
    }
    html! {
        @if !ranges.is_empty() { path .ranges d=(ranges) {} }
        path .dots d=(path) {}
    }
}

fn is_inside(place: &Place, value: f64) -> bool {
    let down = place.values.at(value).0;
    down > 0.0 && down < 100.0
}

/// A mark at the edge for each value above or below the plot.
fn outside(values: &[f64], place: &Place, series: &Series) -> Markup {
    let outliers: Vec<(usize, f64)> = values
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, value)| value.is_finite() && !is_inside(place, *value))
        .take(MOST)
        .collect();
    html! {
        @for (run, value) in outliers {
            @let is_above = place.values.at(value).0 > 50.0;
            text .outlier x=(place.runs.at(run as f64)) y=(if is_above { place.top + 8.0 } else { place.bottom() }) {
                title { (shown(series.unit, value)) }
                (if is_above { "\u{25b4}" } else { "\u{25be}" })
            }
        }
    }
}

/// A short mark at the bottom for each event.
fn events(history: &History, place: &Place) -> Markup {
    html! {
        @for event in history.events.iter().rev().take(MOST) {
            line .event x1=(place.edge(event.run)) x2=(place.edge(event.run)) y1=(place.bottom() - 6.0) y2=(place.bottom()) {}
        }
    }
}

/// A vertical mark with a text above the plot.
#[derive(Clone)]
struct Label {
    run: usize,
    text: String,
    /// What follows it on a wide screen.
    more: String,
    /// The class of its colour; empty for an event without effect.
    class: &'static str,
    row: usize,
    /// Whether it grows to the left of its mark.
    is_left: bool,
    /// Whether there is room for it on a wide screen only.
    is_optional: bool,
}

impl Label {
    /// The pixels that it covers in a plot of this width.
    fn extent(&self, count: usize, width: f64) -> Range<f64> {
        let at = self.run as f64 / count.max(1) as f64 * width;
        let more = if width > NARROW { &self.more } else { "" };
        let letters = self.text.chars().count() + more.chars().count();
        let length = letters as f64 * LETTER + 8.0;
        if self.is_left {
            at - length..at
        } else {
            at..at + length
        }
    }

    fn collides(&self, other: &Label, count: usize, width: f64) -> bool {
        let (one, two) = (self.extent(count, width), other.extent(count, width));
        self.row == other.row && one.start < two.end && two.start < one.end
    }

    /// Whether the mark of one goes through the text of the other.
    fn crosses(&self, other: &Label, count: usize, width: f64) -> bool {
        let through = |mark: &Label, text: &Label| {
            let at = mark.run as f64 / count.max(1) as f64 * width;
            let extent = text.extent(count, width);
            mark.row < text.row && extent.start < at && at < extent.end
        };
        through(self, other) || through(other, self)
    }

    fn draw(&self, place: &Place) -> Markup {
        let x = place.edge(self.run);
        let y = self.row as f64 * ROW;
        let (dx, edge) = if self.is_left {
            ("-4", "e")
        } else {
            ("4", "s")
        };
        html! {
            g .(self.class) .w[self.is_optional] {
                line .mark x1=(x) x2=(x) y1=(y + 2.0) y2=(place.bottom()) {}
                text .(edge) x=(x) dx=(dx) y=(y + 11.0) {
                    (self.text)
                    @if !self.more.is_empty() { tspan .w { (self.more) } }
                }
            }
        }
    }
}

/// Of more events than this, only those that changed the metric have a label.
const EVENTS: usize = 12;

/// The labels that fit: of the changes of this metric, then of changes of the machine, then of the
/// other events, the latest first.
fn labels(history: &History, metric: &MetricHistory, count: usize) -> Vec<Label> {
    let label = |run: usize, text: String, more: String, class| Label {
        run,
        text,
        more,
        class,
        row: 0,
        is_left: run * 2 > count,
        is_optional: false,
    };
    let mut changes: Vec<_> = metric.changes.iter().collect();
    changes.sort_by_key(|change| (!change.verdict.is_change(), Reverse(change.run)));
    let changes = changes.into_iter().map(|change| {
        let event = match change.cause {
            Cause::Event(index) => history.events.get(index),
            Cause::Itself | Cause::Returned(_) => None,
        };
        let more = event.map_or_else(String::new, |event| format!(" {}", in_short(event)));
        label(change.run, percent(change), more, change.verdict.name())
    });
    let machines = history.segments.iter().filter(|run| **run > 0);
    let machines = machines.map(|run| label(*run, "another machine".to_owned(), String::new(), ""));
    let events = match history.events.len() {
        0..=EVENTS => &history.events[..],
        _ => &[],
    };
    let others = events.iter().rev();
    let others = others.map(|event| label(event.run, in_short(event), String::new(), ""));
    let mut labels: Vec<Label> = Vec::new();
    for mut label in changes.chain(machines).chain(others) {
        if labels.iter().any(|known| known.run == label.run) {
            continue;
        }
        let Some(row) = row_for(&label, &labels, count) else {
            continue;
        };
        label.row = row;
        let always = labels.iter().filter(|one| !one.is_optional);
        label.is_optional = !fits(&label, always, count, NARROW);
        labels.push(label);
    }
    labels
}

/// The first row in which a label collides with no other on a wide screen; one that does not on a
/// narrow one either, if there is one.
fn row_for(label: &Label, labels: &[Label], count: usize) -> Option<usize> {
    let in_row = |row: usize| Label {
        row,
        ..label.clone()
    };
    let mut wide = (0..ROWS).filter(|row| fits(&in_row(*row), labels.iter(), count, WIDE));
    let first = wide.next()?;
    let always = || labels.iter().filter(|one| !one.is_optional);
    let narrow = |row: &usize| fits(&in_row(*row), always(), count, NARROW);
    Some(
        std::iter::once(first)
            .chain(wide)
            .find(narrow)
            .unwrap_or(first),
    )
}

fn fits<'a>(
    label: &Label,
    mut labels: impl Iterator<Item = &'a Label>,
    count: usize,
    width: f64,
) -> bool {
    let extent = label.extent(count, width);
    let is_inside = extent.start >= -8.0 && extent.end <= width + 8.0;
    is_inside
        && !labels.any(|one| label.collides(one, count, width) || label.crosses(one, count, width))
}

/// The runs whose dates may be shown.
fn dates(count: usize) -> Vec<f64> {
    const DATES: usize = 3;
    let last = count.saturating_sub(1);
    let mut runs: Vec<usize> = (0..=DATES).map(|part| last * part / DATES).collect();
    runs.dedup();
    // The ends come first, so that they are kept.
    let end = runs.pop();
    end.into_iter().chain(runs).map(|run| run as f64).collect()
}

/// The date of a run: with as much of it as its neighbours share.
fn date(timeline: &Timeline, run: f64) -> String {
    let text = moment(timeline.runs[run as usize].started);
    let ends = [timeline.runs.first(), timeline.runs.last()];
    let ends = ends.map(|run| run.map_or_else(String::new, |run| moment(run.started)));
    let range = if ends[0].get(..10) == ends[1].get(..10) {
        11..16
    } else if ends[0].get(..4) == ends[1].get(..4) {
        5..10
    } else {
        0..7
    };
    text[range].to_owned()
}

/// The width and the height of a sparkline in pixels, and its most points.
const SPARK: (f64, f64) = (120.0, 20.0);
const POINTS: usize = 60;

/// A line through the values.
pub(super) fn sparkline(values: &[f64]) -> Markup {
    let step = values.len().div_ceil(POINTS).max(1);
    let points: Vec<f64> = values.chunks(step).map(median).collect();
    let levels = [Stretch {
        runs: 0..values.len(),
        level: median(values),
    }];
    let axis = range(values, &levels);
    let last = points.len().saturating_sub(1).max(1) as f64;
    let mut path = String::new();
    let mut is_open = false;
    for (index, value) in points.iter().enumerate() {
        let command = if is_open { 'L' } else { 'M' };
        is_open = value.is_finite();
        if is_open {
            let x = tenths(index as f64 / last * SPARK.0);
            let y = tenths((1.0 - axis.at(*value).0 / 100.0) * (SPARK.1 - 2.0) + 1.0);
            let _ = write!(path, "{command}{x} {y}");
            if points.len() == 1 {
                path.push_str("h120");
            }
        }
    }
    html! { svg .spark width=(SPARK.0) height=(SPARK.1) aria-hidden="true" { path d=(path) {} } }
}
