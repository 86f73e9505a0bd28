// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parses a page strictly: no error that a browser would forgive.

use std::collections::HashSet;

use html5gum::{DefaultEmitter, HtmlString, Token, Tokenizer};

/// A page that was parsed.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The text that a reader sees.
    pub text: String,
    /// Where the links of the page lead.
    pub links: Vec<String>,
}

fn utf8(text: &HtmlString) -> String {
    String::from_utf8(text.0.clone()).unwrap()
}

/// Parses a page. Panics if it has an error, an element that is not closed, an id twice, a link to an
/// id that it lacks, or anything that its policy forbids.
pub fn parsed(html: &str) -> Parsed {
    const EMPTY: [&str; 4] = ["meta", "input", "wbr", "br"];
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Parsed::default();
    let (mut open, mut ids) = (Vec::<String>::new(), HashSet::new());
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = utf8(&tag.name);
                assert!(!tag.self_closing, "<{name}/>");
                for (key, value) in &tag.attributes {
                    let (key, value) = (utf8(key), utf8(value));
                    assert!(
                        key != "style" && !key.starts_with("on"),
                        "{name} {key}={value}"
                    );
                    assert!(key != "src" && key != "xlink:href", "{name} {key}={value}");
                    if key == "id" {
                        assert!(ids.insert(value.clone()), "the id {value} is there twice");
                    } else if key == "href" {
                        page.links.push(value);
                    }
                }
                if !EMPTY.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop(), Some(utf8(&tag.name))),
            Token::String(text) => {
                let is_shown = !open.iter().any(|name| name == "style" || name == "script");
                if is_shown {
                    page.text.push_str(&utf8(&text));
                }
            }
            Token::Comment(text) => panic!("a comment: {}", utf8(&text)),
            Token::Doctype(_) => {}
            Token::Error(error) => panic!("{error:?} in {open:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?} is not closed");
    for link in &page.links {
        if let Some(id) = link.strip_prefix('#') {
            assert!(ids.contains(id), "a link to #{id}");
        }
    }
    page
}
