// SPDX-License-Identifier: MIT OR Apache-2.0

//! One metric in detail: its distribution as bars, its figures and its proofs.

use std::cmp::Reverse;
use std::fmt::Write;

use super::grouped;
use super::interference::time;
use super::problems::{problems, write_problem};
use super::provenance::two_cpus;
use super::row::{beside, place, NO_OBJECT, UNAVAILABLE};
use super::style::{block, painted_lines, BarStyle, Ink, Style, GAP, INDENT};
use crate::base::number::plural;
use crate::base::number::{self, Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::judge::interference::{counts_of, Measure};
use crate::judge::quantity::Quantity;
use crate::judge::summary::{summarise, Status, Summary};
use crate::judge::why::{Shift, Side, Unknown};
use crate::machine::counters::{INTERRUPTS, QUOTA_US, STEAL_US, SWITCHES, THROTTLES};
use crate::stream::paths::Mode;
use crate::stream::run::{Metric, Outcome, Proof, Run, Unit, PICOSECONDS};

/// One metric in detail: what it measures, the distribution of its samples, the figures of its
/// replicates and its proofs.
///
/// # Errors
///
/// If the run has no metric with this id.
pub fn render(run: &Run, id: &str, style: &Style) -> Result<String, String> {
    let (Some(metric), Some(summary)) = (
        run.metrics.iter().find(|metric| metric.id == id),
        summarise(run).into_iter().find(|summary| summary.id == id),
    ) else {
        return Err(format!(
            "this run has no metric `{}`; omit --metric to see all of its metrics",
            plain(id)
        ));
    };
    let mut out = style.paint(Ink::Bold, &plain(id));
    out.push('\n');
    paragraph(&mut out, INDENT, &plain(&about(&summary)), style.width());
    write_lines(&mut out, &description(run, &summary), *style);
    if summary.status == Status::Ok {
        out.push('\n');
        Bars::of(metric, &summary).write(&mut out, *style);
        out.push('\n');
        write_lines(&mut out, &figures(metric, &summary), *style);
        write_lines(&mut out, &counts(run, metric), *style);
        write_paths(&mut out, run, id, *style);
    }
    for problem in problems(std::slice::from_ref(&summary)) {
        out.push('\n');
        write_problem(&mut out, &problem, "", *style);
    }
    let proofs = proofs(metric);
    if !proofs.is_empty() {
        out.push('\n');
    }
    for proof in proofs {
        let (label, text) = &proof.line;
        let text = format!("{text}; {}", proof.held);
        let mut lines = String::new();
        write_line(&mut lines, &plain(label), &text, *style);
        if !proof.holds {
            lines = painted_lines(*style, Ink::Red, &lines);
        }
        out.push_str(&lines);
    }
    Ok(out)
}

/// A label and what it is about; not yet safe to show.
pub(super) type Line = (String, String);

/// The width of the labels, in characters.
const LABEL_WIDTH: usize = 12;

fn write_line(out: &mut String, label: &str, text: &str, style: Style) {
    paragraph(
        out,
        &format!("{INDENT}{label:<LABEL_WIDTH$}"),
        text,
        style.width(),
    );
}

fn write_lines(out: &mut String, lines: &[Line], style: Style) {
    for (label, text) in lines {
        write_line(out, &plain(label), &plain(text), style);
    }
}

/// What is measured, in one sentence.
pub(super) fn about(summary: &Summary) -> String {
    let entry = summary.entry.as_ref();
    entry.map(|entry| entry.about.clone()).unwrap_or_default()
}

/// What a metric measures and how.
pub(super) fn description(run: &Run, summary: &Summary) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = |label: &str, text: String| {
        if !text.trim().is_empty() {
            lines.push((label.to_owned(), text));
        }
    };
    let entry = summary.entry.clone().unwrap_or_default();
    let needs_two = entry.needs_two_cpus();
    if entry.title != entry.about {
        line("name", entry.title);
    }
    line("between", entry.between);
    line("via", entry.via);
    if entry.idiom {
        line("idiom", NO_OBJECT.to_owned());
    }
    if summary.status == Status::Ok {
        let batch = match summary.batch {
            1 => "one operation each".to_owned(),
            batch => format!(
                "{} operations each (all figures are per operation)",
                number::count(batch)
            ),
        };
        let text = format!(
            "{} of {batch}, in {} of {}",
            plural(summary.samples, "sample"),
            number::count(summary.replicates as u64),
            plural(summary.tried as u64, "replicate"),
        );
        line("samples", text);
    }
    if let Some(ns) = summary.cpu_time {
        let unit = TimeUnit::of(ns);
        let value = unit.convert(ns);
        let text = format!(
            "{} {} per operation: all threads of the case, with the loop around it",
            Place::significant(value, 3).show(value),
            unit.name
        );
        line("CPU time", text);
    }
    if let Some(cpus) = two_cpus(run).filter(|_| needs_two) {
        line("CPUs", cpus);
    }
    lines
}

/// A line of the distribution: a range of values and the number of samples in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    /// The smallest and the greatest measured value in the range, in ticks per operation.
    low: f64,
    high: f64,
    samples: u64,
    /// Whether at least one empty range was left out above this line.
    gap: bool,
}

/// A distribution as horizontal bars.
struct Bars<'a> {
    summary: &'a Summary,
    lines: Vec<Bar>,
    /// How values are grouped into lines, for the legend.
    scale: String,
    /// The smallest difference between lines that must be visible, in ticks per operation.
    step: f64,
}

/// The maximum number of lines for the values before the tail.
const BODY: usize = 20;

impl<'a> Bars<'a> {
    fn of(metric: &Metric, summary: &'a Summary) -> Self {
        let values = pooled(metric);
        let grain = grain(metric);
        if values.len() > BODY {
            return Bars::binned(&values, grain, summary);
        }
        let bars = values.iter().map(|(value, samples)| Bar {
            low: *value,
            high: *value,
            samples: *samples,
            gap: false,
        });
        let steps = values.windows(2).map(|pair| pair[1].0 - pair[0].0);
        Bars {
            summary,
            lines: bars.collect(),
            scale: "one measured value".to_owned(),
            step: steps.reduce(f64::min).or(grain).unwrap_or(1.0),
        }
    }

    /// Lines of equal width up to the 99th percentile (or the 90th, if there is no 99th), then each
    /// twice as wide as the previous one. So neither the body nor the tail is a single line.
    fn binned(values: &[(f64, u64)], grain: Option<f64>, summary: &'a Summary) -> Self {
        let (least, greatest) = (values[0].0, values[values.len() - 1].0);
        let tail = [
            ("p99", summary.percentile_value(Quantity::P99)),
            ("p90", summary.percentile_value(Quantity::P90)),
            ("", Some(greatest)),
        ];
        let (tail, body) = tail
            .into_iter()
            .find_map(|(name, value)| Some((name, value?)))
            .unwrap_or(("", greatest));
        let differences = values.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let grain = grain.or(differences.reduce(f64::min)).unwrap_or(1.0);
        // A line must be a whole number of clock steps, or it could fall between two of them. It
        // must also be wide enough to change any value that it is added to.
        let step = ((body - least) / BODY as f64 / grain).ceil().max(1.0) * grain;
        let step = step.max(greatest * 1e-12);
        let mut bars: Vec<Bar> = Vec::new();
        let (mut edge, mut width) = (least + step, step);
        let mut gap = false;
        let mut open: Option<Bar> = None;
        for (value, samples) in values {
            // A fraction of a step, so that rounding moves no value to the previous line.
            let value_at = value + step * 1e-6;
            if value_at >= edge {
                bars.extend(open.take());
                let mut lines = 0;
                while value_at >= edge {
                    if edge > body {
                        width *= 2.0;
                    }
                    edge += width;
                    lines += 1;
                }
                gap = lines > 1;
            }
            let bar = open.get_or_insert(Bar {
                low: *value,
                high: *value,
                samples: 0,
                gap,
            });
            bar.high = *value;
            bar.samples = bar.samples.saturating_add(*samples);
        }
        bars.extend(open);
        let step_shown = with_decimals(step, decimals(step));
        let mut scale = format!("{step_shown} {} wide", summary.tick());
        if width > step {
            let _ = write!(
                scale,
                "; beyond {tail}, each is twice as wide as the previous one"
            );
        }
        scale.push_str("; bounds are measured values");
        Bars {
            summary,
            lines: bars,
            scale,
            step,
        }
    }

    fn write(&self, out: &mut String, style: Style) {
        let to_ns = |ticks: f64| self.summary.nanoseconds(ticks);
        let most = self.lines.iter().map(|bar| bar.samples).max().unwrap_or(1);
        let ticks = self.summary.tick();
        let range = |bar: &Bar, show: &dyn Fn(f64) -> String| {
            let (low, high) = (show(bar.low), show(bar.high));
            if low == high {
                low
            } else {
                format!("{low}..{high}")
            }
        };
        let median = self.summary.median.and_then(to_ns).unwrap_or(0.0);
        let time_unit = TimeUnit::of(median);
        let digits = decimals(time_unit.convert(to_ns(self.step).unwrap_or(1.0)));
        let time = |value: f64| {
            to_ns(value).map_or(UNAVAILABLE.to_owned(), |ns| {
                with_decimals(time_unit.convert(ns), digits)
            })
        };
        let in_ticks = |value: f64| with_decimals(value, decimals(self.step));
        let mut columns: Vec<Vec<String>> = Vec::new();
        if self.summary.unit == Unit::Cycles {
            columns.push(
                std::iter::once(time_unit.name.to_owned())
                    .chain(self.lines.iter().map(|b| range(b, &time)))
                    .collect(),
            );
        }
        columns.push(
            std::iter::once(ticks.to_owned())
                .chain(self.lines.iter().map(|b| range(b, &in_ticks)))
                .collect(),
        );
        columns.push(
            std::iter::once("samples".to_owned())
                .chain(self.lines.iter().map(|b| number::count(b.samples)))
                .collect(),
        );
        let widths: Vec<usize> = columns
            .iter()
            .map(|cells| {
                cells
                    .iter()
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let marks = self.marks();
        let longest = marks.iter().map(|m| m.chars().count()).max().unwrap_or(0);
        let used: usize = widths.iter().map(|width| width + GAP).sum::<usize>() + GAP + longest + 1;
        let room = style.width().saturating_sub(used).max(8);
        for line in 0..=self.lines.len() {
            let mut text = String::new();
            for (cells, width) in columns.iter().zip(&widths) {
                let _ = write!(text, "{:GAP$}{:>width$}", "", cells[line]);
            }
            if line == 0 {
                out.push_str(&style.paint(Ink::Bold, &text));
                out.push('\n');
                continue;
            }
            let bar = &self.lines[line - 1];
            if bar.gap {
                let width = GAP + widths[0];
                let dots = match style.bars {
                    BarStyle::Ascii => ":",
                    BarStyle::Blocks => "\u{22ee}",
                };
                let _ = writeln!(out, "{dots:>width$}");
            }
            let _ = write!(
                text,
                "{:GAP$}{}",
                "",
                block(bar.samples, most, room, style.bars)
            );
            let mark = &marks[line - 1];
            if !mark.is_empty() {
                let _ = write!(text, " {mark}");
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        let legend = format!("each line is {}; bars are linear", self.scale);
        let mut lines = String::new();
        paragraph(&mut lines, INDENT, &legend, style.width());
        out.push_str(&painted_lines(style, Ink::Dim, &lines));
    }

    /// The labels of each bar: the median and the percentiles in its range.
    fn marks(&self) -> Vec<String> {
        let mut marks = vec![String::new(); self.lines.len()];
        let known = [
            ("median", self.summary.median),
            ("p90", self.summary.percentile_value(Quantity::P90)),
            ("p99", self.summary.percentile_value(Quantity::P99)),
            ("p99.9", self.summary.percentile_value(Quantity::P999)),
        ];
        for (name, value) in known {
            let Some(value) = value else { continue };
            if let Some(at) = self.lines.iter().position(|bar| value <= bar.high) {
                if !marks[at].is_empty() {
                    marks[at].push_str(", ");
                }
                marks[at].push_str(name);
            }
        }
        marks
    }
}

/// The samples of all replicates with a value: ticks per operation in ascending order, each with
/// its count.
pub(super) fn pooled(metric: &Metric) -> Vec<(f64, u64)> {
    let mut all: Vec<(f64, u64)> = metric
        .replicates
        .iter()
        .filter(|replicate| replicate.outcome == Outcome::Ok)
        .flat_map(|replicate| {
            let batch = replicate.batch.max(1) as f64;
            replicate
                .histogram
                .iter()
                .map(move |(value, samples)| (value.0 as f64 / batch, samples))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.dedup_by(|next, kept| {
        let same = next.0.total_cmp(&kept.0).is_eq();
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    all
}

/// The greatest common step of all values, in ticks per operation: the resolution of the clock or
/// a multiple of it. `None` if the replicates differ in their batch.
pub(super) fn grain(metric: &Metric) -> Option<f64> {
    let ok = || {
        metric
            .replicates
            .iter()
            .filter(|r| r.outcome == Outcome::Ok)
    };
    let batch = ok().next()?.batch.max(1);
    let least = ok().filter_map(|r| r.histogram.min()).min()?;
    if ok().any(|r| r.batch.max(1) != batch) {
        return None;
    }
    let step = ok()
        .flat_map(|r| r.histogram.iter())
        .fold(0, |step, (value, _)| {
            common_divisor(step, value.0 - least.0)
        });
    (step > 0).then(|| step as f64 / batch as f64)
}

pub(super) fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        common_divisor(b, a % b)
    }
}

/// The number of decimals that makes a difference of `step` visible.
fn decimals(step: f64) -> i32 {
    (-step.log10().floor()).clamp(0.0, 6.0) as i32
}

/// A number with this many decimals and separated thousands.
fn with_decimals(value: f64, decimals: i32) -> String {
    Place::decimals(decimals).show(value)
}

/// The figures of a metric that has a value, with their intervals.
pub(super) fn figures(metric: &Metric, summary: &Summary) -> Vec<Line> {
    let mut lines = Vec::new();
    let interval = summary.low.zip(summary.high);
    let grain = 1.0 / summary.batch.max(1) as f64;
    let time_unit = summary
        .median
        .and_then(|median| summary.nanoseconds(median));
    let time_unit = TimeUnit::of(time_unit.unwrap_or(0.0));
    let show = |ticks: f64| {
        let shown = |value: f64| {
            let ns = summary.nanoseconds(value);
            ns.map_or(value, |ns| time_unit.convert(ns))
        };
        let place = place(
            summary.unit,
            summary.median.map_or(0.0, shown),
            interval.map(|(low, high)| (shown(low), shown(high))),
            shown(grain),
        );
        beside(summary.unit, place, shown(ticks))
    };
    let in_ticks = |ticks: f64| {
        let median = summary.median.unwrap_or(0.0);
        let place = place(summary.unit, median, interval, grain);
        beside(summary.unit, place, ticks)
    };
    let both = |ticks: f64| match summary.unit {
        Unit::Cycles if summary.hz == PICOSECONDS => format!("{} {}", show(ticks), time_unit.name),
        Unit::Cycles => format!(
            "{} {}, {} cycles",
            show(ticks),
            time_unit.name,
            in_ticks(ticks)
        ),
        unit => format!("{} {}", in_ticks(ticks), unit.tick()),
    };
    let mut line = |label: &str, text: Option<String>| {
        let text = text.unwrap_or_else(|| UNAVAILABLE.to_owned());
        lines.push((label.to_owned(), text));
    };
    let median = summary.median.map(|median| match interval {
        Some((low, high)) => format!("{} (interval {}..{})", both(median), show(low), show(high)),
        None => format!(
            "{} (no interval: an interval needs 6 replicates)",
            both(median)
        ),
    });
    line("median", median);
    line(
        "net",
        summary.net.map(|net| {
            format!(
                "{} after subtracting the cost of reading the clock",
                both(net)
            )
        }),
    );
    for quantity in Quantity::PERCENTILES {
        let percentile = summary.percentile(quantity);
        let text = percentile.map(|percentile| match percentile.interval {
            Some((low, high)) => {
                let value = both(percentile.value);
                format!("{value} (interval {}..{})", show(low), show(high))
            }
            None => both(percentile.value),
        });
        if text.is_some() || quantity != Quantity::P999 {
            line(quantity.name(), text);
        }
    }
    line("worst", summary.max.map(both));
    line(
        "cold",
        summary
            .cold
            .map(|cold| format!("{} for the first operation of a replicate", both(cold))),
    );
    let medians: Vec<String> = metric
        .replicates
        .iter()
        .map(|replicate| {
            replicate
                .figure(Quantity::P50, summary.unit)
                .map_or_else(|| UNAVAILABLE.to_owned(), show)
        })
        .collect();
    line("replicates", Some(medians.join("  ")));
    lines
}

/// What else the machine did during each replicate: labels, names of counts and what they are.
const COUNTS: [(&str, &str, Measure); 5] = [
    ("interrupts", INTERRUPTS, Measure::Events),
    ("switches", SWITCHES, Measure::Events),
    ("stolen", STEAL_US, Measure::Time),
    ("quota", QUOTA_US, Measure::Time),
    ("heat", THROTTLES, Measure::Events),
];

/// The counts of each replicate. Time and heat are left out if there was none.
pub(super) fn counts(run: &Run, metric: &Metric) -> Vec<Line> {
    let mut lines = Vec::new();
    for (label, name, measure) in COUNTS {
        let counts = counts_of(run, metric, name);
        let always = [INTERRUPTS, SWITCHES].contains(&name);
        if !counts.iter().flatten().any(|count| always || *count > 0) {
            continue;
        }
        let shown = counts.into_iter().map(|count| match (count, measure) {
            (None, _) => UNAVAILABLE.to_owned(),
            (Some(count), Measure::Events) => number::count(count),
            (Some(us), Measure::Time) => time(us as f64),
        });
        let text = shown.collect::<Vec<String>>().join("  ");
        lines.push((label.to_owned(), text));
    }
    lines
}

/// The most functions and the most paths that are listed.
const MOST_LISTED: usize = 20;

/// Writes what the samples executed: the functions of the median sample, all paths, and what
/// distinguishes the tail.
fn write_paths(out: &mut String, run: &Run, id: &str, style: Style) {
    let side = match Side::of(run, id) {
        Ok(side) => side,
        Err(Unknown::Unrecorded) => return,
        Err(unknown) => {
            out.push('\n');
            return write_line(out, "paths", &plain(&unknown.to_string()), style);
        }
    };
    out.push('\n');
    if let Some(path) = side.median() {
        Functions::of(&side, path).write(out, style);
    }
    write_lines(out, &modes(&side), style);
}

/// All paths of a metric, and what distinguishes the tail.
pub(super) fn modes(side: &Side) -> Vec<Line> {
    let mut lines = Vec::new();
    let modes = side.modes();
    let rest = modes.len().saturating_sub(MOST_LISTED);
    let rest = (rest > 0).then(|| plural(rest as u64, "rarer path"));
    let listed = modes.into_iter().take(MOST_LISTED);
    for (at, text) in listed.chain(rest).enumerate() {
        let label = if at == 0 { "paths" } else { "" };
        lines.push((label.to_owned(), text));
    }
    let median = side.median();
    for (label, path) in [("p99 path", side.p99()), ("worst path", side.worst())] {
        let Some((path, median)) = path.zip(median).filter(|(path, median)| path != median) else {
            continue;
        };
        let shift = Shift::of([side, side], [median, path]);
        let more = shift.difference();
        let shares = shift.parts.iter().take(MOST_LISTED / 2).map(|part| {
            let share = number::percent(part.difference() / more * 100.0);
            format!("{share} {}", part.name)
        });
        let shares = shares.filter(|_| more > 0.0).collect::<Vec<String>>();
        if !shares.is_empty() {
            let more = Place::decimals(i32::from(more.fract() != 0.0)).show(more);
            let text = format!("{more} more than the median: {}", shares.join(", "));
            lines.push((label.to_owned(), text));
        }
    }
    lines
}

/// The functions of a path with their instructions, and what else was counted in it.
pub(super) struct Functions {
    /// All instructions of the path, in words.
    pub(super) executed: String,
    /// The instructions of each function, their share of all, and its name; the name is not yet safe
    /// to show. Those with the most come first.
    pub(super) rows: Vec<(String, String, String)>,
    /// The instructions of the functions that are not listed, in words.
    pub(super) rest: Option<String>,
    /// What else was counted; empty if nothing.
    pub(super) counts: String,
}

impl Functions {
    pub(super) fn of(side: &Side, path: &Mode) -> Self {
        let batch = side.batch as f64;
        let show = |count: u64| {
            let value = count as f64 / batch;
            let digits = if value.fract() == 0.0 { 0 } else { 2 };
            Place::decimals(digits).show(value)
        };
        let total = path.instructions();
        let mut text = format!(
            "{} in {} of the median sample",
            show(total),
            plural(path.functions.len() as u64, "function")
        );
        if path.repetitions() > 0 {
            let repeated = show(path.repetitions());
            let _ = write!(
                text,
                ", {repeated} of them repetitions of string instructions"
            );
        }
        let mut functions: Vec<(&usize, &u64)> = path.functions.iter().collect();
        functions.sort_by_key(|(function, count)| (Reverse(**count), *function));
        let rest = functions.split_off(functions.len().min(MOST_LISTED));
        let row = |(function, count): (&usize, &u64)| {
            let share = number::percent(*count as f64 / total as f64 * 100.0);
            (show(*count), share, side.functions[*function].name.clone())
        };
        let counts = path.counts.iter();
        let counts = counts.map(|(count, number)| format!("{} {}", show(*number), count.name()));
        Functions {
            executed: text,
            rows: functions.into_iter().map(row).collect(),
            rest: (!rest.is_empty()).then(|| {
                let sum = rest.iter().map(|(_, count)| **count).sum();
                let others = plural(rest.len() as u64, "other function");
                format!("{} in {others}", show(sum))
            }),
            counts: counts.collect::<Vec<String>>().join(", "),
        }
    }

    fn write(&self, out: &mut String, style: Style) {
        write_line(out, "executed", &self.executed, style);
        let width = self.rows.first().map_or(0, |(count, ..)| count.len());
        for (count, share, name) in &self.rows {
            let _ = writeln!(
                out,
                "{INDENT}{:LABEL_WIDTH$}{count:>width$}{:GAP$}{share:>6}{:GAP$}{}",
                "",
                "",
                "",
                plain(name)
            );
        }
        if let Some(rest) = &self.rest {
            write_line(out, "", rest, style);
        }
        if !self.counts.is_empty() {
            write_line(out, "counts", &self.counts, style);
        }
    }
}

/// A proof of a metric over all replicates.
pub(super) struct ProofLine {
    /// Its name, and what was counted and must be counted.
    pub(super) line: Line,
    /// In how many of the replicates it held.
    pub(super) held: String,
    /// Whether it held in all replicates.
    pub(super) holds: bool,
}

/// The proofs of a metric.
pub(super) fn proofs(metric: &Metric) -> Vec<ProofLine> {
    let replicates = metric.replicates.iter();
    let all: Vec<&Proof> = replicates.flat_map(|one| &one.proofs).collect();
    let line = |(name, proofs): (&str, Vec<&&Proof>)| {
        let held = proofs
            .iter()
            .filter(|p| (p.low..=p.high).contains(&p.counted))
            .count();
        let ends = |of: fn(&Proof) -> u64| {
            let values = || proofs.iter().map(|proof| of(proof));
            (values().min().unwrap_or(0), values().max().unwrap_or(0))
        };
        let counted = ends(|p| p.counted);
        let (low, high) = (ends(|p| p.low).0, ends(|p| p.high).1);
        let text = format!(
            "{} counted, must be {}",
            range_text(counted.0, counted.1),
            range_text(low, high)
        );
        ProofLine {
            line: (name.to_owned(), text),
            held: format!(
                "held in {held} of {}",
                plural(proofs.len() as u64, "replicate")
            ),
            holds: held == proofs.len(),
        }
    };
    let grouped = grouped(&all, |proof| proof.name.as_str());
    grouped.into_iter().map(line).collect()
}

/// A range of counts as text.
fn range_text(low: u64, high: u64) -> String {
    match (low, high) {
        (low, u64::MAX) => format!("{} or more", number::count(low)),
        (low, high) if low == high => number::count(low),
        (low, high) => format!("{}..{}", number::count(low), number::count(high)),
    }
}
