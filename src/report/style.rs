// SPDX-License-Identifier: MIT OR Apache-2.0

//! How reports look on the terminal: width, colours, and the parts that several reports share.

use super::row::IDIOM;
use crate::base::text::plain;

/// Whether text carries colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI escape sequences: bold, dim, red.
    Always,
}

/// How a report looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Characters in a line; fewer than 60 are taken as 60.
    pub width: usize,
    /// Whether there are colours.
    pub colour: Colour,
    /// The characters of bars.
    pub bars: BarStyle,
}

/// The characters of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarStyle {
    /// `#`, for terminals that show ASCII only.
    Ascii,
    /// Block elements of Unicode, in eighths of a character.
    Blocks,
}

/// The narrowest that a report can be.
const LEAST_WIDTH: usize = 60;
/// Blanks between two columns.
pub(super) const GAP: usize = 2;
/// An id that is longer stands on a line of its own, its figures below it.
pub(super) const LONGEST_NAME: usize = 42;
/// What stands before an id below its object, or below its sentence.
pub(super) const INDENT: &str = "  ";

#[derive(Clone, Copy)]
pub(super) enum Ink {
    Bold,
    Dim,
    Red,
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
            (Colour::Always, Ink::Red) => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

pub(super) fn painted_lines(style: Style, ink: Ink, text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        out.push_str(&style.paint(ink, line));
        out.push('\n');
        out
    })
}

/// The width of the labels of a header.
const HEAD: usize = 9;

/// The label of a line of a header, as wide as all of them.
pub(super) fn head(label: &str) -> String {
    format!("{label:<HEAD$}")
}

/// Lines that begin with a label: that is made dim.
pub(super) fn dim_head(lines: &str, style: Style) -> String {
    match lines.split_at_checked(HEAD) {
        Some((label, rest)) => style.paint(Ink::Dim, label) + rest,
        None => lines.to_owned(),
    }
}

/// The line above the metrics of one object, if they have one.
pub(super) fn write_object(out: &mut String, object: &str, style: Style) {
    if !object.is_empty() {
        out.push_str(&style.paint(Ink::Bold, &plain(object)));
        out.push('\n');
    }
}

/// The id below its object, indented and with its mark, safe to show.
pub(super) fn name(id: &str, idiom: bool) -> String {
    let short = id.split_once(['.', '/']).map_or(id, |(_, rest)| rest);
    let mark = if idiom { IDIOM } else { "" };
    format!("{INDENT}{}{mark}", plain(short))
}

/// A bar that is `room` characters long for `most` samples. It is never empty.
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
