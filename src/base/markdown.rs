// SPDX-License-Identifier: MIT OR Apache-2.0

//! Escapes text for Markdown as GitHub renders it: any text in, text that shows as it is out.

use crate::base::text::plain;

/// Renders as nothing. Between two characters it keeps them from forming a link.
const SEPARATOR: &str = "<!-- -->";

/// Escapes text for a paragraph or a table cell. The result has no markup, no HTML and no line end.
/// It links no address, mentions no account and refers to no issue.
#[must_use]
pub fn escape(text: &str) -> String {
    let text = plain(text);
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
        // GitHub searches the rendered text for these, so a backslash would not help.
        if starts_link(&text[..at], &text[at..]) {
            out.push_str(SEPARATOR);
        }
    }
    out
}

/// Whether a separator after the first character of `rest` prevents a link: `scheme://`, `www.`,
/// `user@host`, `@user`, `#1` and `GH-1`. `before` is the text before `rest`.
fn starts_link(before: &str, rest: &str) -> bool {
    let follows = |mark: &str| rest.starts_with(mark);
    let ends = |mark: &str| {
        let end = before.len().checked_sub(mark.len());
        let end = end.and_then(|start| before.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(mark))
    };
    let next = rest.chars().nth(1);
    let digit_follows = next.is_some_and(|c| c.is_ascii_digit());
    match rest.chars().next() {
        Some('@') => true,
        Some(':') => follows("://"),
        Some('w' | 'W') => next == Some('.') && ends("ww"),
        Some('#') => digit_follows,
        Some('-') => digit_follows && ends("gh"),
        _ => false,
    }
}

/// An id as a code span. Text with characters that no id has is escaped instead.
#[must_use]
pub fn code(id: &str) -> String {
    let ordinary = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    if !id.is_empty() && id.chars().all(ordinary) {
        format!("`{id}`")
    } else {
        escape(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_contains_no_links() {
        for (text, escaped) in [
            ("https://a.b", "https:<!-- -->//a.b"),
            ("see WWW.a.b", "see WWW<!-- -->.a.b"),
            ("a@b.c", "a@<!-- -->b.c"),
            ("@user", "@<!-- -->user"),
            ("a/b#12", "a/b\\#<!-- -->12"),
            ("GH-12", "GH-<!-- -->12"),
            ("std::mutex, a-1, 3 w.", "std::mutex, a-1, 3 w."),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }
}
