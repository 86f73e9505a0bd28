//! The findings of `kernmark doctor` as text.

use crate::doctor::{Finding, Level};

/// Whether text carries colours of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// The words of level in colour.
    Ansi,
}

/// Narrower than this nothing can be wrapped sensibly.
const LEAST_WIDTH: usize = 40;
/// Where the text of a finding starts: behind the widest word of level and two blanks.
const INDENT: usize = 10;
/// Where the text of a remedy starts.
const REMEDY: &str = "do: ";

/// The findings in lines of at most `width` characters (no fewer than 40), in the order given.
///
/// What is good takes one line each; everything else says what was found, what
/// it does to the numbers and what to do. A word longer than a line, such as a
/// path, is not broken, so that a command can be copied.
#[must_use]
pub fn render(findings: &[Finding], width: usize, colour: Colour) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut text = String::new();
    for finding in findings {
        let head = format!("{:<INDENT$}", word(finding.level));
        let head = match (colour, code(finding.level)) {
            (Colour::Ansi, Some(code)) => format!("\x1b[{code}m{head}\x1b[0m"),
            _ => head,
        };
        let what = format!("{}: {}", finding.topic, finding.what);
        let blank = " ".repeat(INDENT);
        paragraph(&mut text, &head, &blank, &what, width);
        if !finding.effect.is_empty() {
            paragraph(&mut text, &blank, &blank, &finding.effect, width);
        }
        let mut first = format!("{blank}{REMEDY}");
        let rest = " ".repeat(INDENT + REMEDY.len());
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            paragraph(&mut text, &first, &rest, line, width);
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

/// Words wrapped; `first` and `rest` (equally wide on the screen) begin the lines.
fn paragraph(text: &mut String, first: &str, rest: &str, words: &str, width: usize) {
    let mut column = rest.len();
    text.push_str(first);
    for (index, word) in words.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            text.push('\n');
            text.push_str(rest);
            column = rest.len();
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
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
