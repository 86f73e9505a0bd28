// SPDX-License-Identifier: MIT OR Apache-2.0

//! The history of a target on a machine, for the terminal: a judged timeline in, text out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use super::style::{painted_lines, write_labelled, BarStyle, Ink, Style, INDENT};
use crate::base::number::{self, plural, Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::files::digest::{Head, Series, Timeline};
use crate::judge::compare::Verdict;
use crate::judge::history::{Cause, Change, Event, History, MetricHistory};
use crate::judge::quantity::Quantity;
use crate::statistics::order;
use crate::stream::run::Unit;

/// A judged timeline, and what it is of.
pub struct Subject<'a> {
    /// The target, as `--on` names it (untrusted text).
    pub target: &'a str,
    /// The machine, if the runs name it (untrusted text).
    pub machine: Option<&'a str>,
    /// The quantity.
    pub quantity: Quantity,
    /// The runs and their values.
    pub timeline: &'a Timeline,
    /// What changed.
    pub history: &'a History,
}

/// What a report shows besides the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Whether the user named metrics: each of them gets a line of its values.
    pub is_named: bool,
    /// Whether everything is shown.
    pub all: bool,
}

/// A change and the metric that changed.
struct Told<'a> {
    metric: &'a MetricHistory,
    change: &'a Change,
}

impl Subject<'_> {
    /// The changes for which this holds, the greatest first.
    fn changes(&self, holds: impl Fn(&Change) -> bool) -> Vec<Told<'_>> {
        let metrics = self.history.metrics.iter();
        let all = metrics.flat_map(|metric| metric.changes.iter().map(move |c| (metric, c)));
        let mut told: Vec<Told> = all
            .filter(|(_, change)| holds(change))
            .map(|(metric, change)| Told { metric, change })
            .collect();
        let size = |one: &Told| one.change.ratio.ln().abs();
        told.sort_by(|a, b| size(b).total_cmp(&size(a)));
        told
    }

    fn series(&self, metric: &str) -> Option<&Series> {
        self.timeline.series.iter().find(|one| one.metric == metric)
    }

    /// When a run started, and its short name.
    fn run(&self, run: usize) -> String {
        let head = &self.timeline.runs[run];
        format!("{} ({})", day(head), short(head))
    }

    /// What a change begins with, in words; not safe to show.
    fn cause(&self, change: &Change) -> String {
        match change.cause {
            Cause::Event(event) => with(&self.history.events[event]),
            Cause::Itself => "by itself".to_owned(),
            Cause::Returned(run) => format!("back to the level of {}", self.run(run)),
        }
    }
}

/// The day on which a run started, in UTC.
#[must_use]
pub fn day(head: &Head) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(head.started);
    humantime::format_rfc3339_seconds(time).to_string()[..10].to_owned()
}

/// The start of a run's hash, as `kernmark runs` lists it.
fn short(head: &Head) -> &str {
    head.hash.get(..8).unwrap_or(&head.hash)
}

/// The most changed facts that a line names.
const NAMED_FACTS: usize = 3;

/// What changed with an event: `kernel_release 6.1.0-1 -> 6.1.0-2`. Not safe to show.
#[must_use]
pub fn with(event: &Event) -> String {
    let facts = event.changes.iter().take(NAMED_FACTS);
    let facts = facts.map(|(name, before, since)| {
        format!("{name} {} -> {}", shortened(before), shortened(since))
    });
    let mut text = facts.collect::<Vec<String>>().join(", ");
    if event.changes.len() > NAMED_FACTS {
        let more = (event.changes.len() - NAMED_FACTS) as u64;
        let _ = write!(text, " and {}", plural(more, "other fact"));
    }
    text
}

/// The start of a value that is too long for a line.
fn shortened(value: &str) -> String {
    const LONGEST: usize = 40;
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    let start: String = value.chars().take(LONGEST - 3).collect();
    format!("{start}...")
}

/// A value with its unit.
fn value(unit: Unit, value: f64) -> String {
    const DIGITS: i32 = 4;
    if unit == Unit::Cycles {
        let time = TimeUnit::of(value);
        let shown = time.convert(value);
        return format!(
            "{} {}",
            Place::significant(shown, DIGITS).show(shown),
            time.name
        );
    }
    if value.fract() == 0.0 {
        return Place::decimals(0).show(value);
    }
    Place::significant(value, DIGITS).show(value)
}

/// The answer first: how many runs, events and changes. Then the changes, the greatest first, and
/// the values of the metrics that changed or that the user named.
#[must_use]
pub fn table(subject: &Subject, view: View, style: &Style) -> String {
    let mut out = String::new();
    write_head(&mut out, subject, style);
    let verdicts = subject.changes(|change| change.verdict.is_change());
    let pending = subject.changes(|change| !change.is_confirmed);
    let moved = subject.changes(|change| change.is_confirmed && !change.verdict.is_change());
    write_changes(&mut out, "changed", &verdicts, subject, style);
    write_changes(
        &mut out,
        "to be confirmed by the next run",
        &pending,
        subject,
        style,
    );
    if view.all {
        write_changes(&mut out, "moved by itself", &moved, subject, style);
        write_events(&mut out, subject, style);
    } else if !moved.is_empty() {
        let metrics = count_metrics(&moved);
        let text = format!(
            "{} moved without an event, which raised {} (--all lists them)",
            plural(metrics, "metric"),
            if metrics == 1 {
                "its floor"
            } else {
                "their floors"
            },
        );
        out.push('\n');
        paragraph(&mut out, "", &text, style.width());
    }
    write_values(&mut out, subject, view, style);
    write_silences(&mut out, subject, style);
    out
}

fn count_metrics(told: &[Told]) -> u64 {
    let mut ids: Vec<&str> = told.iter().map(|one| one.metric.metric.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len() as u64
}

fn write_head(out: &mut String, subject: &Subject, style: &Style) {
    let Subject {
        timeline, history, ..
    } = subject;
    let mut line = |label: &str, text: &str| write_labelled(out, label, text, *style);
    line(
        "history",
        &format!("{}, {}", subject.target, subject.quantity.name()),
    );
    if let Some(machine) = subject.machine {
        line("machine", machine);
    }
    let (Some(first), Some(last)) = (timeline.runs.first(), timeline.runs.last()) else {
        line("runs", "none");
        return;
    };
    let mut runs = format!(
        "{} from {} to {}, {}",
        plural(timeline.runs.len() as u64, "run"),
        day(first),
        day(last),
        plural(history.events.len() as u64, "event"),
    );
    let later = history.segments.get(1..).unwrap_or_default();
    if !later.is_empty() {
        let days: Vec<String> = later.iter().map(|run| day(&timeline.runs[*run])).collect();
        let _ = write!(
            runs,
            "; the machine or the target changed on {}",
            days.join(", ")
        );
    }
    line("runs", &runs);
    let changes = subject.changes(|change| change.verdict.is_change());
    let of = |verdict: Verdict| {
        let all = changes.iter();
        all.filter(|one| one.change.verdict == verdict).count()
    };
    let expected = changes.iter();
    let expected = expected.filter(|one| one.change.acknowledged.is_some());
    let mut answer = format!(
        "{} of {}: {} regressed, {} improved",
        plural(changes.len() as u64, "change"),
        plural(history.metrics.len() as u64, "metric"),
        of(Verdict::Regressed),
        of(Verdict::Improved),
    );
    let expected = expected.count();
    if expected > 0 {
        let _ = write!(answer, "; {expected} acknowledged");
    }
    line("changes", &answer);
}

fn write_changes(out: &mut String, title: &str, told: &[Told], subject: &Subject, style: &Style) {
    if told.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, title));
    for Told { metric, change } in told {
        let unit = subject
            .series(&metric.metric)
            .map_or(Unit::Ticks, |one| one.unit);
        let figures = format!(
            "{} -> {}  {}",
            value(unit, change.before),
            value(unit, change.after),
            number::change(100.0 * (change.ratio - 1.0)),
        );
        let name = plain(&metric.metric);
        let room = style
            .width()
            .saturating_sub(INDENT.len() + name.chars().count());
        let mut line = String::new();
        if figures.chars().count() + 2 <= room {
            let _ = writeln!(line, "{INDENT}{name}{figures:>room$}");
        } else {
            let _ = writeln!(line, "{INDENT}{name}\n{INDENT}{INDENT}{figures}");
        }
        let is_news = change.verdict == Verdict::Regressed && change.is_news();
        out.push_str(&if is_news {
            painted_lines(*style, Ink::Red, &line)
        } else {
            line
        });
        let mut text = format!(
            "since {}: {}",
            subject.run(change.run),
            subject.cause(change)
        );
        if let Some(reason) = &change.acknowledged {
            let _ = write!(text, "; acknowledged: {reason}");
        }
        let indent = format!("{INDENT}{INDENT}");
        paragraph(out, &indent, &plain(&text), style.width());
    }
}

fn write_events(out: &mut String, subject: &Subject, style: &Style) {
    if subject.history.events.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, "events"));
    for event in &subject.history.events {
        let text = format!("{}: {}", subject.run(event.run), with(event));
        paragraph(out, INDENT, &plain(&text), style.width());
    }
}

/// The lines of values of the metrics that changed, or of those that the user named.
fn write_values(out: &mut String, subject: &Subject, view: View, style: &Style) {
    let has_change = |metric: &&MetricHistory| {
        let mut changes = metric.changes.iter();
        changes.any(|change| change.verdict.is_change() || !change.is_confirmed)
    };
    let metrics = subject.history.metrics.iter();
    let shown: Vec<&MetricHistory> = metrics
        .filter(|metric| view.is_named || has_change(metric))
        .collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, "values"));
    for metric in shown {
        if let Some(series) = subject.series(&metric.metric) {
            write_line(out, metric, series, subject, style);
        }
    }
    let legend = "^ changed, . moved by itself, | another machine or target";
    let _ = writeln!(out, "{INDENT}{}", style.paint(Ink::Dim, legend));
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

fn write_line(
    out: &mut String,
    metric: &MetricHistory,
    series: &Series,
    subject: &Subject,
    style: &Style,
) {
    let runs = series.values.len();
    let columns = runs.min(style.width() - INDENT.len()).max(1);
    let column = |run: usize| run * columns / runs.max(1);
    let mut of_column: Vec<Vec<f64>> = vec![Vec::new(); columns];
    for (run, value) in series.values.iter().enumerate() {
        if value.is_finite() {
            of_column[column(run)].push(*value);
        }
    }
    let medians: Vec<Option<f64>> = of_column.iter().map(|v| order::median(v)).collect();
    let known = || medians.iter().flatten().copied();
    let least = known().fold(f64::INFINITY, f64::min);
    let most = known().fold(f64::NEG_INFINITY, f64::max);
    let Some(now) = series.values.iter().rfind(|value| value.is_finite()) else {
        return;
    };
    let glyphs = match style.bars {
        BarStyle::Blocks => BLOCKS,
        BarStyle::Ascii => ASCII,
    };
    let glyph = |value: f64| {
        let share = (value - least) / (most - least);
        // All values may be equal.
        let step = if share.is_finite() { share * 7.0 } else { 0.0 };
        glyphs[step.round() as usize]
    };
    let text: String = medians.iter().map(|one| one.map_or(' ', glyph)).collect();
    let mut marks = vec![' '; columns];
    for segment in subject.history.segments.iter().skip(1) {
        marks[column(*segment)] = '|';
    }
    for change in &metric.changes {
        let is_told = change.verdict.is_change() || !change.is_confirmed;
        let mark = &mut marks[column(change.run)];
        if is_told {
            *mark = '^';
        } else if *mark == ' ' {
            *mark = '.';
        }
    }
    let marks: String = marks.into_iter().collect();
    let figures = format!(
        "{} now; {} to {}; floor {}",
        value(series.unit, *now),
        value(series.unit, least),
        value(series.unit, most),
        number::percent(100.0 * metric.floor),
    );
    let name = plain(&metric.metric);
    let _ = writeln!(out, "{INDENT}{name}\n{INDENT}{}", text.trim_end());
    if !marks.trim().is_empty() {
        let _ = writeln!(out, "{INDENT}{}", marks.trim_end());
    }
    let _ = writeln!(out, "{INDENT}{}", style.paint(Ink::Dim, &figures));
}

/// Why metrics have no verdict: how many metrics for each reason.
fn write_silences(out: &mut String, subject: &Subject, style: &Style) {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let silences = subject.history.metrics.iter().filter_map(|one| one.silence);
    for silence in silences {
        *reasons.entry(silence.reason()).or_default() += 1;
    }
    if !reasons.is_empty() {
        out.push('\n');
    }
    for (reason, count) in reasons {
        let text = format!("{} without a verdict: {reason}", plural(count, "metric"));
        paragraph(out, "", &text, style.width());
    }
}
