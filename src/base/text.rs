// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes untrusted text safe to show, and wraps text into lines.

/// Escapes the characters of a text that would control a terminal, reorder the text or start a
/// command of a CI runner. They become `\u{1b}` and the like.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if steers(c) || starts_ci_command(before, &text[at..]) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
        before = c;
    }
    plain
}

/// Whether a CI runner that reads this text as a log could see the start of a command here. GitHub
/// accepts `::NAME ...::` at the start of a line, after blanks. Wrapping can move any word there, so
/// `::` after any blank counts. `##[NAME]` and `##vso[NAME]` are commands anywhere in a line.
fn starts_ci_command(before: char, rest: &str) -> bool {
    before.is_whitespace() && rest.starts_with("::") || rest.starts_with("##")
}

/// Whether a character is a control character, is invisible, changes the direction or the line breaks
/// of the text around it, or is none (XML 1.0 forbids U+FFFE and U+FFFF).
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// A text as one word of a shell's command line.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-+=:,./@%".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Wraps text into lines of at most `width` characters, broken at blanks. A longer word gets a line
/// of its own and is not broken, so that it can be copied. Text without words gives no lines.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if column + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
                column += 1 + length;
            }
            _ => {
                lines.push(word.to_owned());
                column = length;
            }
        }
    }
    lines
}

/// Appends wrapped text to `out`. The first line starts with `first`, the others are indented by its
/// length. No line is longer than `width` characters, indentation included, except for long words.
pub fn paragraph(out: &mut String, first: &str, text: &str, width: usize) {
    let indent = first.chars().count();
    for (index, line) in wrap(text, width.saturating_sub(indent)).iter().enumerate() {
        if index == 0 {
            out.push_str(first);
        } else {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\x1b[31mb\x07"), "a\\u{1b}[31mb\\u{7}");
        assert_eq!(
            plain("\u{9b}2J\u{202e}\n\u{7f}"),
            "\\u{9b}2J\\u{202e}\\u{a}\\u{7f}"
        );
        assert_eq!(plain("\u{b5}s, caf\u{e9}"), "\u{b5}s, caf\u{e9}");
    }

    #[test]
    fn ci_commands_are_escaped() {
        for (text, shown) in [
            ("::error::x", "\\u{3a}:error::x"),
            (
                "a  ::set-output name=x::y",
                "a  \\u{3a}:set-output name=x::y",
            ),
            ("a\t::stop", "a\\u{9}\\u{3a}:stop"),
            ("a##[error]b", "a\\u{23}#[error]b"),
            ("##vso[task.complete]", "\\u{23}#vso[task.complete]"),
            ("std::mutex::lock, #1, a:", "std::mutex::lock, #1, a:"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn words_for_a_shell_are_quoted_where_it_matters() {
        assert_eq!(
            shell_word("freertos:m4,variant=O3+a"),
            "freertos:m4,variant=O3+a"
        );
        assert_eq!(shell_word("linux-vm,append=a b"), "'linux-vm,append=a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn lines_are_wrapped_and_long_words_stay_whole() {
        assert_eq!(
            wrap("aa bb cc dddddddd e", 5),
            ["aa bb", "cc", "dddddddd", "e"]
        );
        assert!(wrap(" \n", 5).is_empty());
        let mut out = String::new();
        paragraph(&mut out, "x: ", "aa bb cc", 8);
        assert_eq!(out, "x: aa bb\n   cc\n");
    }
}
