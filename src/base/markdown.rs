// SPDX-License-Identifier: MIT OR Apache-2.0

//! Text made safe for Markdown as GitHub reads it.

use crate::base::text::plain;

/// Nothing that is seen, but between two characters that would make a link.
const APART: &str = "<!-- -->";

/// Text that Markdown shows as it is, in a paragraph or in a cell of a table: no markup, no HTML,
/// no line end; no address becomes a link, no account is mentioned, no issue is referred to.
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
        // GitHub looks for these in the text that it shows, where an escape is no longer seen.
        if links(&text[..at], &text[at..]) {
            out.push_str(APART);
        }
    }
    out
}

/// Whether the first character of `rest` is one behind which a link is broken up: those of
/// `scheme://`, `www.`, `user@host` and `@user`, `#1` and `GH-1`.
fn links(before: &str, rest: &str) -> bool {
    let follows = |mark: &str| rest.starts_with(mark);
    let ends = |mark: &str| {
        let end = before.len().checked_sub(mark.len());
        let end = end.and_then(|start| before.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(mark))
    };
    let next = rest.chars().nth(1);
    let counts = next.is_some_and(|c| c.is_ascii_digit());
    match rest.chars().next() {
        Some('@') => true,
        Some(':') => follows("://"),
        Some('w' | 'W') => next == Some('.') && ends("ww"),
        Some('#') => counts,
        Some('-') => counts && ends("gh"),
        _ => false,
    }
}

/// An id as code; one that is not made of the characters of ids is escaped instead.
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
    fn nothing_becomes_a_link() {
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
