// SPDX-License-Identifier: MIT OR Apache-2.0

//! The style of reports on the terminal (width, colours, bars), and the helpers they share.

use super::row::IDIOM;
use crate::base::text::{paragraph, plain};

/// Whether reports are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI escape sequences: bold, dim, green, red, yellow.
    Always,
}

/// How a report looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Characters per line; values below 60 count as 60.
    pub width: usize,
    /// Whether the report is coloured.
    pub colour: Colour,
    /// The characters that bars consist of.
    pub bars: BarStyle,
}

/// The characters that bars consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarStyle {
    /// `#`, for terminals without UTF-8.
    Ascii,
    /// Unicode block elements, with a resolution of an eighth of a character.
    Blocks,
}

/// The minimum width of a report, in characters.
const LEAST_WIDTH: usize = 60;
/// Spaces between two columns.
pub(super) const GAP: usize = 2;
/// A longer id gets a line of its own, with its figures on the next line.
pub(super) const LONGEST_NAME: usize = 42;
/// The indentation of ids below their object or their sentence.
pub(super) const INDENT: &str = "  ";

/// How a text is emphasised.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

impl Style {
    pub(super) fn width(self) -> usize {
        self.width.max(LEAST_WIDTH)
    }

    pub(super) fn paint(self, ink: Ink, text: &str) -> String {
        let code = match (self.colour, ink) {
            (Colour::Never, _) => return text.to_owned(),
            (Colour::Always, Ink::Bold) => "1",
            (Colour::Always, Ink::Dim) => "2",
            (Colour::Always, Ink::Green) => "32",
            (Colour::Always, Ink::Red) => "31",
            (Colour::Always, Ink::Yellow) => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Paints each line on its own, so that a pager shows the colour on every line.
pub(super) fn painted_lines(style: Style, ink: Ink, text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        out.push_str(&style.paint(ink, line));
        out.push('\n');
        out
    })
}

/// The width of the labels in a header: up to 8 characters and a space.
const LABEL_WIDTH: usize = 9;

/// The label of a header line, padded to the width of all labels.
pub(super) fn padded_label(label: &str) -> String {
    format!("{label:<LABEL_WIDTH$}")
}

/// Header lines that begin with a label, with that label dimmed.
pub(super) fn with_dim_label(lines: &str, style: Style) -> String {
    with_label_in(Ink::Dim, lines, style)
}

fn with_label_in(ink: Ink, lines: &str, style: Style) -> String {
    match lines.split_at_checked(LABEL_WIDTH) {
        Some((label, rest)) => style.paint(ink, label) + rest,
        None => lines.to_owned(),
    }
}

/// Writes a header line: a label and a text, which need not be safe to show.
pub(super) fn write_labelled(out: &mut String, label: &str, text: &str, style: Style) {
    write_labelled_in(Ink::Dim, out, label, text, style);
}

/// Writes a warning, which need not be safe to show, as a header line.
pub(super) fn write_warning(out: &mut String, text: &str, style: Style) {
    write_labelled_in(Ink::Yellow, out, "warning", text, style);
}

fn write_labelled_in(ink: Ink, out: &mut String, label: &str, text: &str, style: Style) {
    let mut lines = String::new();
    paragraph(
        &mut lines,
        &padded_label(label),
        &plain(text),
        style.width(),
    );
    out.push_str(&with_label_in(ink, &lines, style));
}

/// Writes the heading above the metrics of an object, unless the object has no name.
pub(super) fn write_object(out: &mut String, object: &str, style: Style) {
    if !object.is_empty() {
        out.push_str(&style.paint(Ink::Bold, &plain(object)));
        out.push('\n');
    }
}

/// A metric's name below its object: the rest of the id, indented and marked, safe to show.
pub(super) fn name(id: &str, idiom: bool) -> String {
    let short = id.split_once(['.', '/']).map_or(id, |(_, rest)| rest);
    let mark = if idiom { IDIOM } else { "" };
    format!("{INDENT}{}{mark}", plain(short))
}

/// How a row is called: below its object by the rest of its id, else by its whole id.
pub(super) fn label(id: &str, idiom: bool, by_object: bool) -> String {
    if by_object {
        return name(id, idiom);
    }
    plain(id) + if idiom { IDIOM } else { "" }
}

/// A bar of at least one character. It is `room` characters long for `most` samples.
pub(super) fn block(samples: u64, most: u64, room: usize, bars: BarStyle) -> String {
    const EIGHTHS: [&str; 8] = [
        "", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}",
    ];
    let length = samples as f64 / most.max(1) as f64 * room as f64;
    if bars == BarStyle::Ascii {
        return "#".repeat((length.round() as usize).clamp(1, room));
    }
    let eighths = (length * 8.0).round() as usize;
    let eighths = eighths.clamp(1, room * 8);
    "\u{2588}".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}
