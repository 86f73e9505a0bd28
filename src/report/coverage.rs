// SPDX-License-Identifier: MIT OR Apache-2.0

//! The coverage of another suite: its benchmarks in, a table of the nearest metrics out.

use std::fmt::Write;

use super::row::UNAVAILABLE;
use super::style::{Ink, Style, GAP};
use crate::base::text::{paragraph, plain};
use crate::judge::coverage::{notes, tally, Benchmark, Nearest};

/// The content of the metric column if no metric matches.
const NONE: &str = "none";
const TITLES: [&str; 4] = ["benchmark", "metric here", "target", "note"];
/// Names get lines of their own if their column would be narrower than this.
const LEAST_NAME: usize = 24;

/// A line for each benchmark, metric and target, with the number of its note; then the notes, and
/// how many benchmarks are measured.
#[must_use]
pub fn table(benchmarks: &[Benchmark], style: &Style) -> String {
    let notes = notes(benchmarks);
    let layout = Layout::of(benchmarks, style.width());
    let mut out = String::new();
    if !benchmarks.is_empty() {
        let [name, metric, target, note] = TITLES;
        let head = layout.lines(name, &[[metric, target, note].map(str::to_owned)]);
        for line in head.lines() {
            let _ = writeln!(out, "{}", style.paint(Ink::Dim, line));
        }
    }
    for benchmark in benchmarks {
        out.push_str(&layout.lines(&plain(&benchmark.name), &cells(benchmark, &notes)));
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for (index, note) in notes.iter().enumerate() {
        let first = format!("{:>4}{:GAP$}", index + 1, "");
        paragraph(&mut out, &first, &plain(note), style.width());
    }
    out.push('\n');
    paragraph(&mut out, "", &plain(&tally(benchmarks)), style.width());
    out
}

/// The metric, the target and the number of the note, for each metric of a benchmark.
fn cells(benchmark: &Benchmark, notes: &[&str]) -> Vec<[String; 3]> {
    let number = |note: &str| match notes.iter().position(|known| *known == note) {
        Some(index) => (index + 1).to_string(),
        None => String::new(),
    };
    if benchmark.measured.is_empty() {
        let reason = number(&benchmark.reason);
        return vec![[NONE.to_owned(), UNAVAILABLE.to_owned(), reason]];
    }
    let cell = |one: &Nearest| {
        let note = number(&one.note);
        [plain(&one.metric), plain(&one.target), note]
    };
    benchmark.measured.iter().map(cell).collect()
}

/// The widths of the columns, in characters.
struct Layout {
    name: usize,
    metric: usize,
    target: usize,
}

impl Layout {
    /// Names get the room that the other columns leave. If it is too small, they get lines of their
    /// own.
    fn of(benchmarks: &[Benchmark], width: usize) -> Self {
        let longest = |texts: &mut dyn Iterator<Item = &str>| {
            let lengths = texts.map(|text| plain(text).chars().count());
            lengths.max().unwrap_or(0)
        };
        let all = || benchmarks.iter().flat_map(|one| &one.measured);
        let [name, metric, target, note] = TITLES;
        let metric = longest(&mut all().map(|one| one.metric.as_str()).chain([metric]));
        let target = longest(&mut all().map(|one| one.target.as_str()).chain([target]));
        let others = metric + target + note.len() + 3 * GAP;
        let room = width.saturating_sub(others);
        let names = || benchmarks.iter().map(|one| one.name.as_str()).chain([name]);
        let fitting = &mut names().filter(|name| plain(name).chars().count() <= room);
        let name = match longest(fitting) {
            _ if room < LEAST_NAME => 0,
            fits => fits,
        };
        Self {
            name,
            metric,
            target,
        }
    }

    fn lines(&self, name: &str, cells: &[[String; 3]]) -> String {
        let mut out = String::new();
        let mut first = name;
        if name.chars().count() > self.name {
            let _ = writeln!(out, "{name}");
            first = "";
        }
        for [metric, target, note] in cells {
            let line = format!(
                "{first:<0$}{gap}{metric:<1$}{gap}{target:<2$}{gap}{note:>3$}",
                self.name,
                self.metric,
                self.target,
                TITLES[3].len(),
                gap = " ".repeat(GAP),
            );
            let _ = writeln!(out, "{}", line.trim_end());
            first = "";
        }
        out
    }
}
