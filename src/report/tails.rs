// SPDX-License-Identifier: MIT OR Apache-2.0

//! The worst tails of a run: [`FarTail`]s in, a short table out.

use std::fmt::Write;

use super::row::{Row, OF_A_BATCH};
use super::style::{Ink, Style, GAP, INDENT, LONGEST_NAME};
use crate::base::number::Place;
use crate::base::text::plain;
use crate::judge::highlights::FarTail;
use crate::judge::interference::Tail;

const TITLE: &str = "worst tails";

/// A metric, its median, the figure that is far, its value, and how many times the median that is.
type Cells = [String; 5];

/// Writes the metrics whose tails are farthest from the median; nothing if there are none.
pub(super) fn write(out: &mut String, tails: &[FarTail], style: Style) {
    let rows: Vec<Cells> = tails.iter().filter_map(cells).collect();
    if rows.is_empty() {
        return;
    }
    let head = [TITLE, "median", "", "value", "x median"].map(str::to_owned);
    let width = |at: usize| {
        let cells = rows
            .iter()
            .chain([&head])
            .map(|row| row[at].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [1, 2, 3, 4].map(width);
    let room = style
        .width()
        .saturating_sub(widths.iter().map(|width| GAP + width).sum());
    let name = width(0).min(LONGEST_NAME).min(room).max(TITLE.len());
    let line = |cells: &Cells| {
        let mut line = format!("{:<name$}", cells[0]);
        if cells[0].chars().count() > name {
            line = format!("{}\n{:name$}", cells[0], "");
        }
        for (cell, width) in cells[1..].iter().zip(widths) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        line.trim_end().to_owned() + "\n"
    };
    let _ = write!(out, "\n{}", style.paint(Ink::Bold, line(&head).trim_end()));
    out.push('\n');
    for row in &rows {
        out.push_str(&line(row));
    }
}

fn cells(tail: &FarTail) -> Option<Cells> {
    let row = Row::of(tail.of)?;
    let value = match tail.figure {
        Tail::P99 => row.p99,
        Tail::Worst => row.worst,
    };
    // Values that are no means of batches end where those do.
    let mark = if value.ends_with(OF_A_BATCH) { "" } else { " " };
    Some([
        format!("{INDENT}{}", plain(&row.id)),
        row.median,
        tail.figure.name().to_owned(),
        value + mark,
        Place::significant(tail.times, 3).show(tail.times),
    ])
}
