// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark doctor`: findings in, text out.

use super::style::{Colour, Style};
use crate::base::text::paragraph;
use crate::machine::doctor::{Finding, Level};

/// The minimum width; wrapping makes no sense below it.
const LEAST_WIDTH: usize = 40;
/// The column where the text of a finding starts: the longest level and two spaces.
const INDENT: usize = 10;
/// The prefix of a remedy.
const REMEDY: &str = "do: ";

/// The findings in lines of at most the style's width (no fewer than 40), in the order given.
///
/// A good finding is one line. All others say what was found, how it affects the results and what
/// to do about it. A word longer than a line, such as a path, stays whole so that commands can be
/// copied.
#[must_use]
pub fn render(findings: &[Finding], style: &Style) -> String {
    let width = style.width.max(LEAST_WIDTH);
    let blank = " ".repeat(INDENT);
    let mut text = String::new();
    for finding in findings {
        let start = text.len();
        let head = format!("{:<INDENT$}", word(finding.level));
        let what = format!("{}: {}", finding.topic, finding.what);
        paragraph(&mut text, &head, &what, width);
        // Colour comes after wrapping, because escape sequences take no room on the screen.
        if let (Colour::Always, Some(code)) = (style.colour, code(finding.level)) {
            let painted = format!("\x1b[{code}m{head}\x1b[0m");
            text.replace_range(start..start + head.len(), &painted);
        }
        paragraph(&mut text, &blank, &finding.effect, width);
        let mut first = format!("{blank}{REMEDY}");
        let rest = " ".repeat(INDENT + REMEDY.len());
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            paragraph(&mut text, &first, line, width);
            first.clone_from(&rest);
        }
    }
    text.push_str(&summary(findings));
    text
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Good => "good",
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Blocking => "blocking",
    }
}

fn code(level: Level) -> Option<&'static str> {
    match level {
        Level::Good => Some("32"),
        Level::Note => None,
        Level::Warning => Some("33"),
        Level::Blocking => Some("1;31"),
    }
}

fn summary(findings: &[Finding]) -> String {
    let counts: Vec<String> = [Level::Blocking, Level::Warning, Level::Note, Level::Good]
        .into_iter()
        .filter_map(|level| {
            let count = findings.iter().filter(|f| f.level == level).count();
            (count > 0).then(|| format!("{count} {}", word(level)))
        })
        .collect();
    if counts.is_empty() {
        return "nothing found\n".to_owned();
    }
    format!("\n{}\n", counts.join(", "))
}
