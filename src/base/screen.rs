// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the terminal can show, if there is one, and how messages come to it.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// Takes the place of the standard library's macro, which panics where standard error cannot be
/// written: goes through [`tell`].
macro_rules! eprintln {
    ($($arguments:tt)*) => {
        $crate::base::screen::tell(&format!($($arguments)*))
    };
}

/// Writes a line to standard error. Where that cannot be written there is nobody to tell, and the
/// exit status says the rest.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The columns that the user asks for by `COLUMNS`, or else those of the terminal that a stream
/// goes to; `None` where it goes elsewhere, or where the terminal does not say.
#[must_use]
pub fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let asked = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    if asked.is_some_and(|columns| columns > 0) {
        return asked;
    }
    terminal_columns(stream)
}

/// The columns of the terminal that a stream goes to, as [`columns`], whatever the user asks for:
/// a line that is to be replaced must not fill more than one.
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

/// Whether a stream goes to a terminal that knows escape sequences.
#[must_use]
pub fn knows_escapes(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb")
}
