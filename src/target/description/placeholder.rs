// SPDX-License-Identifier: MIT OR Apache-2.0

//! Placeholders, `{name}`, in the words of a description: finds, checks and replaces them.

/// Placeholders that are known in all words.
pub(super) const COMMON: [&str; 5] = ["agent_sources", "linux_agent", "here", "out", "board"];

/// Placeholders that are known in some words only.
pub(super) const SPECIAL: [&str; 6] = ["image", "serial", "baud", "tool", "order", "console"];

/// The values of placeholders that the tool knows.
#[derive(Clone, Copy, Debug)]
pub struct PlaceholderValues<'a> {
    /// The folder with the agent's sources.
    pub agent_sources: &'a str,
    /// The folder of the description.
    pub here: &'a str,
    /// The folder for build output.
    pub out: &'a str,
    /// The agent's program for this Linux.
    pub linux_agent: &'a str,
    /// The process id of the tool.
    pub tool: &'a str,
}

/// Whether one of the words has the placeholder `name`.
#[must_use]
pub fn has_placeholder(words: &[String], name: &str) -> bool {
    let mut all = words.iter().flat_map(|word| placeholders(word));
    all.any(|(_, _, found)| found == name)
}

/// Replaces the placeholders that have a value. The others stay.
#[must_use]
pub fn fill_words(words: &[String], values: &[(&str, &str)]) -> Vec<String> {
    words.iter().map(|word| fill(word, values)).collect()
}

/// What may be the placeholders of a word: the start and end of each, and its name.
fn placeholders(word: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    word.match_indices('{').filter_map(move |(start, _)| {
        let name = &word[start + 1..];
        let name = &name[..name.find('}')?];
        Some((start, start + name.len() + 2, name))
    })
}

/// Whether a description can have this placeholder. Other words in braces, such as `${HOME}`, stay.
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
        let is_unknown = |name: &str| is_placeholder(name) && !known.contains(&name);
        if let Some((_, _, name)) = placeholders(word).find(|(_, _, name)| is_unknown(name)) {
            let all: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(format!(
                "`{key}` has an unknown placeholder {{{name}}}; known there: {}",
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
        fn arbitrary_words_are_accepted(word in "[{}a-z/é]{0,20}") {
            let filled = fill(&word, &[("a", "{b}"), ("b", "")]);
            prop_assert!(placeholders(&word).count() > 0 || filled == word);
        }
    }
}
