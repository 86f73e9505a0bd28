// SPDX-License-Identifier: MIT OR Apache-2.0

//! The catalog of metrics for the terminal: catalog entries in, text out.

use std::fmt::Write;

use super::row::{idiom_legend, IDIOM};
use super::style::{write_object, Style, GAP, INDENT, LONGEST_NAME};
use super::{grouped, object};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::stream::run::Entry;

/// The catalog: each id with a description of what is between its stamps, grouped by the sentence
/// that says what is measured.
#[must_use]
pub fn render(entries: &[Entry], style: &Style) -> String {
    const ID_INDENT: &str = "    ";
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
        let column = ID_INDENT.len() + name + GAP;
        // The column beside the ids needs room for a few words.
        let beside = width.saturating_sub(column) >= 24;
        for (about, entries) in grouped(&entries, |entry| entry.about.clone()) {
            paragraph(&mut out, INDENT, &plain(&about), width);
            let mut above = "";
            for entry in entries {
                let id = marked(entry);
                // Do not repeat the description of the line above.
                let same = entry.between == above;
                above = &entry.between;
                if same || entry.between.is_empty() {
                    let _ = writeln!(out, "{ID_INDENT}{id}");
                } else if beside && id.chars().count() <= name {
                    let first = format!("{ID_INDENT}{id:<name$}{:GAP$}", "");
                    paragraph(&mut out, &first, &plain(&entry.between), width);
                } else {
                    let _ = writeln!(out, "{ID_INDENT}{id}");
                    let first = format!("{ID_INDENT}{INDENT}");
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

/// An id with the mark of an idiom, safe to show.
fn marked(entry: &Entry) -> String {
    plain(&entry.metric) + if entry.idiom { IDIOM } else { "" }
}
