// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration of a kernel as text: its settings as words `NAME=value`, as a build and an
//! agent report them.

use std::collections::BTreeMap;

/// What a setting counts as that a configuration does not have: off, as in Kconfig.
pub const ABSENT: &str = "n";

/// The settings of a configuration, by name. A value in double quotes may contain blanks; a word
/// without `=` is a setting without a value.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<&str, &str> {
    let pair = |word| str::split_once(word, '=').unwrap_or((word, ""));
    words(text).into_iter().map(pair).collect()
}

/// The value of a setting.
#[must_use]
pub fn value<'a>(settings: &BTreeMap<&str, &'a str>, name: &str) -> &'a str {
    settings.get(name).copied().unwrap_or(ABSENT)
}

/// A value without the double quotes around it.
#[must_use]
pub fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.unwrap_or(value)
}

/// Splits a text at blanks outside double quotes. In quotes, a backslash escapes a character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !is_quoted {
            words.extend(start.take().map(|start| &text[start..at]));
            continue;
        }
        start = start.or(Some(at));
        if c == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = is_quoted && c == '\\' && !is_escaped;
    }
    words.extend(start.map(|start| &text[start..]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_names_with_values() {
        let text = "CONFIG_A=y  CONFIG_B=\"x \\\" y=z\"\tCONFIG_C=\nword";
        let settings = parse(text);
        let pairs: Vec<(&str, &str)> = settings.iter().map(|(&name, &v)| (name, v)).collect();
        assert_eq!(
            pairs,
            [
                ("CONFIG_A", "y"),
                ("CONFIG_B", "\"x \\\" y=z\""),
                ("CONFIG_C", ""),
                ("word", ""),
            ]
        );
        assert_eq!(value(&settings, "CONFIG_A"), "y");
        assert_eq!(value(&settings, "CONFIG_D"), "n");
        assert_eq!(unquoted("\"a b\""), "a b");
        assert_eq!(unquoted("\""), "\"");
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_split_without_loss(text in "[a\"\\\\= \n]{0,20}") {
            let kept = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(kept(&words(&text).concat()), kept(&text));
        }
    }
}
