// SPDX-License-Identifier: MIT OR Apache-2.0

//! Placeholders, `{name}`, in the words of a description.

/// What a placeholder can stand for everywhere.
pub(super) const PLACES: [&str; 4] = ["agent", "linux_agent", "out", "board"];

/// What else a placeholder can stand for somewhere.
pub(super) const SPECIAL: [&str; 6] = ["image", "serial", "baud", "tool", "order", "console"];

/// What stands for the placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The folder of the agent's sources.
    pub agent: &'a str,
    /// The folder for what is built.
    pub out: &'a str,
    /// The program of the agent for this Linux.
    pub linux_agent: &'a str,
    /// The number of the tool's process.
    pub tool: &'a str,
}

/// Whether one of the words has this placeholder.
#[must_use]
pub fn holds(words: &[String], name: &str) -> bool {
    let mut all = words.iter().flat_map(|word| placeholders(word));
    all.any(|(_, _, found)| found == name)
}

/// Puts what they stand for into the places of placeholders in words; others stay.
#[must_use]
pub fn filled(words: &[String], values: &[(&str, &str)]) -> Vec<String> {
    words.iter().map(|word| fill(word, values)).collect()
}

/// The placeholders of a word: where each begins and ends, and its name.
fn placeholders(word: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    word.match_indices('{').filter_map(move |(start, _)| {
        let name = &word[start + 1..];
        let name = &name[..name.find('}')?];
        is_placeholder(name).then_some((start, start + name.len() + 2, name))
    })
}

pub(super) fn is_placeholder(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

pub(super) fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for (start, end, name) in placeholders(word) {
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            out.push_str(&word[from..start]);
            out.push_str(value);
            from = end;
        }
    }
    out.push_str(&word[from..]);
    out
}

pub(super) fn check_words<'a>(
    key: &str,
    words: impl IntoIterator<Item = &'a String>,
    known: &[&str],
) -> Result<(), String> {
    for word in words {
        if let Some((_, _, name)) = placeholders(word).find(|(_, _, name)| !known.contains(name)) {
            let all: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(format!(
                "`{key}` has {{{name}}}, which stands for nothing there; there are: {}",
                all.join(" ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_word_upsets_the_placeholders(word in "[{}a-z/é]{0,20}") {
            let filled = fill(&word, &[("a", "{b}"), ("b", "")]);
            prop_assert!(placeholders(&word).count() > 0 || filled == word);
        }
    }
}
