//! Text from elsewhere made safe to show, and lines filled with words.

/// The text without anything that steers a terminal or reorders what is read:
/// such characters are written `\u{1b}`.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Whether a character is a control character, or one that changes the
/// direction or the lines of the text around it, or is invisible.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Lines of at most `width` characters, broken at blanks. A longer word stands
/// on a line of its own, whole, so that it can be copied. No words, no lines.
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

/// Adds wrapped lines: `first` begins the first of them, as many blanks the
/// others. `width` counts all of it.
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
    fn nothing_steers_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\x07"), "a\\u{1b}[31mb\\u{7}");
        assert_eq!(
            plain("\u{9b}2J\u{202e}\n\u{7f}"),
            "\\u{9b}2J\\u{202e}\\u{a}\\u{7f}"
        );
        assert_eq!(plain("\u{b5}s, caf\u{e9}"), "\u{b5}s, caf\u{e9}");
    }

    #[test]
    fn lines_are_filled_and_long_words_stay_whole() {
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
