// SPDX-License-Identifier: MIT OR Apache-2.0

//! Prints results: values in, text on standard output.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::arguments::{Format, RunFormat, When};
use super::{exit, interrupt, Failure, Outcome};
use crate::base::screen;
use crate::report::style::{BarStyle, Colour, Style};
use crate::report::table::View;
use crate::stream::run::Run;
use crate::{export, report};

/// The width of a report if neither a terminal nor the user limits it, in columns.
pub(super) const WIDTH: usize = 100;

/// A run in a format. What the format of another program leaves out is reported on standard
/// error.
pub(super) fn formatted(run: &Run, format: RunFormat, view: &View) -> Result<String, Failure> {
    Ok(match format {
        RunFormat::Own(Format::Table) => report::table::table_of(run, view, &style()),
        RunFormat::Own(Format::Json) => export::json::run(run),
        RunFormat::Own(Format::Csv) => export::csv::run(run),
        RunFormat::Own(Format::Md) => export::markdown::run(run),
        RunFormat::Html(detail) => report::html::run::page(run, detail).render(),
        RunFormat::Foreign(format) => {
            for line in format.losses(run).map_err(Failure::Failed)? {
                eprintln!("kernmark: {line}");
            }
            (format.write)(run)
        }
    })
}

/// What `--color` says; it applies to every report of this process.
static COLOUR: OnceLock<When> = OnceLock::new();

/// Sets when reports are coloured. Call this once, before any report.
pub(super) fn set_colour(when: When) {
    COLOUR.get_or_init(|| when);
}

/// The width and the colours of reports on standard output.
pub(super) fn style() -> Style {
    let stdout = io::stdout();
    let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = match COLOUR.get().copied().unwrap_or_default() {
        When::Auto => screen::knows_escapes(&stdout) && !no_colour,
        When::Always => true,
        When::Never => false,
    };
    Style {
        width: screen::columns(&stdout).unwrap_or(WIDTH),
        colour: if is_coloured {
            Colour::Always
        } else {
            Colour::Never
        },
        bars: if locale_is_utf8() {
            BarStyle::Blocks
        } else {
            BarStyle::Ascii
        },
    }
}

/// Whether the locale's character set is UTF-8: the first of the variables that is set decides, as
/// POSIX says (Base Definitions, section 8.2).
fn locale_is_utf8() -> bool {
    let set = |name: &&str| env::var(name).is_ok_and(|value| !value.is_empty());
    let first = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
    let value = first.and_then(|name| env::var(name).ok());
    value.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.ends_with("utf-8") || value.ends_with("utf8")
    })
}

/// Prints to standard output. A reader that closed the pipe is not an error.
pub(super) fn print(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Failed(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(exit::OK),
    }
}

/// Whether reports may go through a pager, as `--no-pager` says.
static PAGER: OnceLock<bool> = OnceLock::new();

/// Sets whether reports may go through a pager. Call this once, before any report.
pub(super) fn set_pager(may_page: bool) {
    PAGER.get_or_init(|| may_page);
}

/// Prints a report for people: through a pager if standard output is a terminal that is too small
/// for it.
pub(super) fn page(text: &str) -> Outcome {
    let stdout = io::stdout();
    let rows = screen::terminal_rows(&stdout).filter(|_| PAGER.get() != Some(&false));
    // A shell's prompt takes the last line.
    let fits = |rows: usize| screen::lines(text, screen::columns(&stdout)) < rows;
    let pager = rows.filter(|rows| !fits(*rows)).and_then(|_| pager());
    // Until the pager ends, an interrupt is for it.
    let Some((pager, _caught)) = pager.zip(interrupt().ok()) else {
        return print(text.as_bytes());
    };
    let mut command = Command::new("sh");
    command.arg("-c").arg(&pager).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    if env::var_os("LV").is_none() {
        command.env("LV", "-c");
    }
    let Ok(mut child) = command.spawn() else {
        return print(text.as_bytes());
    };
    if let Some(mut input) = child.stdin.take() {
        // A reader who quits early does not need the rest.
        let _ = input.write_all(text.as_bytes());
    }
    match child.wait().ok().and_then(|status| status.code()) {
        // The shell knows no such program, or may not run it: nothing has been shown.
        Some(126 | 127) => print(text.as_bytes()),
        _ => Ok(exit::OK),
    }
}

/// The command of the pager: the first of the variables that is set decides. `None` if that is
/// empty or `cat`.
fn pager() -> Option<OsString> {
    let chosen = ["KERNMARK_PAGER", "PAGER"]
        .into_iter()
        .find_map(env::var_os);
    let pager = chosen.unwrap_or_else(|| "less".into());
    (!pager.is_empty() && pager != "cat").then_some(pager)
}

/// Prints a report to standard error, because standard output carries something else.
pub(super) fn eprint(text: &str) {
    // If standard error cannot be written, nobody reads it, and the exit status says the rest.
    let _ = io::stderr().write_all(text.as_bytes());
}
