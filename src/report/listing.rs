// SPDX-License-Identifier: MIT OR Apache-2.0

//! The catalog of metrics for the terminal.

use std::fmt::Write;

use super::row::{idiom_legend, IDIOM};
use super::style::{write_object, Style, GAP, INDENT, LONGEST_NAME};
use super::{grouped, object};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::stream::run::Entry;

/// The catalog: every id with what lies between its stamps, below the sentence
/// that says what is measured.
#[must_use]
pub fn render(entries: &[Entry], style: &Style) -> String {
    const DEEPER: &str = "    ";
    let width = style.width();
    let mut out = String::new();
    for (object, entries) in grouped(entries, |entry| object(&entry.metric).to_owned()) {
        if !out.is_empty() {
            out.push('\n');
        }
        write_object(&mut out, &object, *style);
        let name = entries
            .iter()
            .map(|entry| marked(entry).chars().count())
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0);
        let column = DEEPER.len() + name + GAP;
        // Beside the ids there must be room for a few words.
        let beside = width.saturating_sub(column) >= 24;
        for (about, entries) in grouped(&entries, |entry| entry.about.clone()) {
            paragraph(&mut out, INDENT, &plain(&about), width);
            let mut above = "";
            for entry in entries {
                let id = marked(entry);
                // What the line above says already is not said again.
                let same = entry.between == above;
                above = &entry.between;
                if same || entry.between.is_empty() {
                    let _ = writeln!(out, "{DEEPER}{id}");
                } else if beside && id.chars().count() <= name {
                    let first = format!("{DEEPER}{id:<name$}{:GAP$}", "");
                    paragraph(&mut out, &first, &plain(&entry.between), width);
                } else {
                    let _ = writeln!(out, "{DEEPER}{id}");
                    let first = format!("{DEEPER}{INDENT}");
                    paragraph(&mut out, &first, &plain(&entry.between), width);
                }
            }
        }
    }
    out.push('\n');
    if entries.iter().any(|entry| entry.idiom) {
        paragraph(&mut out, "", &(idiom_legend() + "."), width);
    }
    let _ = writeln!(out, "{}", plural(entries.len() as u64, "metric"));
    out
}

/// The id with its mark, safe to show.
fn marked(entry: &Entry) -> String {
    plain(&entry.metric) + if entry.idiom { IDIOM } else { "" }
}
