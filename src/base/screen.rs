// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages on standard error, and what the terminal can show: its width, escape sequences.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// Replaces the standard library's macro, which panics when standard error cannot be written. This
/// one uses [`write_stderr`].
macro_rules! eprintln {
    ($($arguments:tt)*) => {
        $crate::base::screen::write_stderr(&format!($($arguments)*))
    };
}

/// Writes a line to standard error. Ignores errors: the exit status still reports the result.
pub fn write_stderr(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The number of columns to use for a stream: the variable `COLUMNS` if it is set, else the width
/// of the stream's terminal. `None` when the stream is not a terminal or its width is unknown.
#[must_use]
pub fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let requested = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    if requested.is_some_and(|columns| columns > 0) {
        return requested;
    }
    terminal_columns(stream)
}

/// The width of a stream's terminal, regardless of `COLUMNS`. A line that is overwritten in place
/// must fit into one line of the terminal. `None` as for [`columns`].
#[must_use]
pub fn terminal_columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(stream)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
}

/// The height of a stream's terminal, in lines. `None` when the stream is not a terminal or its
/// height is unknown.
#[must_use]
pub fn terminal_rows(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_row)).filter(|&rows| rows > 0)
}

/// The number of lines that a text takes on a screen of this width. Escape sequences take no room.
#[must_use]
pub fn lines(text: &str, columns: Option<usize>) -> usize {
    let taken = text.lines().map(|line| {
        let sequences = line.split('\x1b').skip(1);
        let hidden = sequences.map(|rest| 2 + rest.find('m').unwrap_or(0));
        let shown = line.chars().count().saturating_sub(hidden.sum());
        columns.map_or(1, |columns| shown.div_ceil(columns).max(1))
    });
    taken.sum()
}

/// Whether a stream is a terminal that understands escape sequences (`TERM` is set and not `dumb`).
#[must_use]
pub fn knows_escapes(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_take_several_lines_of_a_screen() {
        assert_eq!(lines("", Some(4)), 0);
        assert_eq!(lines("abcd\n\nabcde\n", Some(4)), 4);
        assert_eq!(lines("abcd\n\nabcde\n", None), 3);
        assert_eq!(lines("\x1b[31mabcd\x1b[0m\n", Some(4)), 1);
    }
}
