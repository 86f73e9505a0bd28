// SPDX-License-Identifier: MIT OR Apache-2.0

//! The findings of `kernmark doctor` as text.

use super::style::{Colour, Style};
use crate::base::text::paragraph;
use crate::machine::doctor::{Finding, Level};

/// Narrower than this nothing can be wrapped sensibly.
const LEAST_WIDTH: usize = 40;
/// Where the text of a finding starts: behind the widest word of level and two blanks.
const INDENT: usize = 10;
/// Where the text of a remedy starts.
const REMEDY: &str = "do: ";

/// The findings in lines of at most the style's width (no fewer than 40), in the order given.
///
/// What is good takes one line each; everything else says what was found, what
/// it does to the numbers and what to do. A word longer than a line, such as a
/// path, is not broken, so that a command can be copied.
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
        // Coloured when the lines are filled: what colours takes no room on the screen.
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
