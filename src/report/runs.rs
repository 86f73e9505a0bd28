// SPDX-License-Identifier: MIT OR Apache-2.0

//! The list of saved runs for the terminal: their heads in, text out.

use std::fmt::Write;
use std::path::Path;

use super::row::UNAVAILABLE;
use super::style::{Ink, Style, GAP};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::files::digest::Head;
use crate::files::runs::{short_names, SavedRun};
use crate::stream::run::MACHINE;

const TITLES: [&str; 7] = [
    "run",
    "when (UTC)",
    "target",
    "kernel",
    "load",
    "metrics",
    "replicates",
];
/// A kernel's name is cut off here. JSON has all of it.
const LONGEST_KERNEL: usize = 24;

/// A line for each run, the newest last. What else is known of a run (what it lacks, its machine,
/// its labels) follows in the line, or below it if there is no room.
#[must_use]
pub fn table(runs: &[SavedRun], folder: &Path, style: &Style) -> String {
    let mut out = String::new();
    let folder = plain(&folder.display().to_string());
    if runs.is_empty() {
        let _ = writeln!(
            out,
            "no run is saved in {folder}; make one with `kernmark run`"
        );
        return out;
    }
    let names = short_names(runs);
    let rows: Vec<[String; 7]> = runs
        .iter()
        .zip(names)
        .map(|(run, name)| cells(&run.head, name))
        .collect();
    let titles = TITLES.map(str::to_owned);
    let width = |column: usize| {
        let all = rows.iter().chain([&titles]);
        let widths = all.map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let _ = writeln!(out, "{}", style.paint(Ink::Dim, &line(&titles, &widths)));
    for (run, row) in runs.iter().zip(&rows) {
        let line = line(row, &widths);
        let notes = plain(&notes(&run.head));
        let whole = line.chars().count() + GAP + notes.chars().count();
        if notes.is_empty() {
            let _ = writeln!(out, "{line}");
        } else if whole <= style.width() {
            let _ = writeln!(out, "{line}{:GAP$}{notes}", "");
        } else {
            let _ = writeln!(out, "{line}");
            let indent = " ".repeat(widths[0] + GAP);
            paragraph(&mut out, &indent, &notes, style.width());
        }
    }
    let _ = writeln!(out, "\n{} in {folder}", plural(runs.len() as u64, "run"));
    out
}

fn cells(head: &Head, name: &str) -> [String; 7] {
    let load = head.fact("load").and_then(|load| load.split(' ').next());
    let kernel = head.kernel().map_or(UNAVAILABLE.to_owned(), |kernel| {
        let kernel = plain(kernel);
        if kernel.chars().count() <= LONGEST_KERNEL {
            return kernel;
        }
        let start: String = kernel.chars().take(LONGEST_KERNEL - 1).collect();
        start.trim_end().to_owned() + "\u{2026}"
    });
    [
        name.to_owned(),
        head.when().map_or(UNAVAILABLE.to_owned(), |when| {
            when.get(..16).unwrap_or_default().replace('T', " ")
        }),
        plain(head.target()),
        kernel,
        plain(load.unwrap_or(UNAVAILABLE)),
        head.metrics.to_string(),
        head.sessions.to_string(),
    ]
}

/// Texts to the left, numbers to the right.
fn line(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let gap = if column == 0 { 0 } else { GAP };
        let _ = match column {
            0..4 => write!(line, "{:gap$}{cell:<width$}", ""),
            _ => write!(line, "{:gap$}{cell:>width$}", ""),
        };
    }
    line
}

/// What a run lacks, its machine if the user named it, and its labels.
fn notes(head: &Head) -> String {
    let labels = head.labels().map(|(key, value)| format!("{key}={value}"));
    let machine = head.fact(MACHINE).map(|name| format!("machine={name}"));
    let notes = head.shortcoming().into_iter().chain(machine).chain(labels);
    notes.collect::<Vec<_>>().join(", ")
}
