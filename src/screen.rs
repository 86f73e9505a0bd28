//! What the terminal can show, if there is one.

use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

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
