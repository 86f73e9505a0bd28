// SPDX-License-Identifier: MIT OR Apache-2.0

//! The progress of a run, as one line on standard error. It is shown only on a terminal.

use std::io::{self, Write};
use std::time::Duration;

use crate::base::screen;

/// The progress line. Dropping this value clears it.
#[derive(Debug)]
pub struct Progress {
    /// Columns of the terminal; `None` if there is no terminal.
    width: Option<usize>,
}

impl Progress {
    /// Shows the line if standard error is a terminal that can clear a line. Otherwise shows
    /// nothing.
    #[must_use]
    pub fn new() -> Self {
        let stderr = io::stderr();
        let width =
            screen::knows_escapes(&stderr).then(|| screen::terminal_columns(&stderr).unwrap_or(80));
        Progress { width }
    }

    /// Replaces the line.
    pub fn show(&self, text: &str) {
        if let Some(width) = self.width {
            let text: String = text.chars().take(width - 1).collect();
            // A run goes on even if its progress cannot be shown.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }

    /// Clears the line so that something else can be printed.
    pub fn clear(&self) {
        self.show("");
    }
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The case that is being measured.
    pub case: &'a str,
    /// Cases done so far, in all replicates.
    pub done: usize,
    /// Cases in all replicates; `None` if only the target knows.
    pub total: Option<usize>,
    /// An estimate of the time left. The time elapsed if `total` is `None`.
    pub time: Duration,
}

/// The position as one line.
#[must_use]
pub fn line(position: &Position) -> String {
    let Position { case, done, .. } = position;
    let seconds = position.time.as_secs_f64().ceil();
    match position.total {
        Some(total) => format!(
            "{:>3} % · {done} of {total} · {seconds:.0} s left · {case}",
            100 * done / total.max(1),
        ),
        None => format!("{done} cases · {seconds:.0} s · {case}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_case_progress_and_time() {
        let position = Position {
            case: "clock.read",
            done: 30,
            total: Some(120),
            time: Duration::from_millis(17_300),
        };
        assert_eq!(
            line(&position),
            " 25 % · 30 of 120 · 18 s left · clock.read"
        );
        let endless = Position {
            total: None,
            ..position
        };
        assert_eq!(line(&endless), "30 cases · 18 s · clock.read");
    }
}
