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

/// What a browser closes a paragraph for.
const BLOCKS: [&str; 10] = [
    "p", "div", "dl", "table", "details", "section", "h1", "h2", "h3", "main",
];

fn utf8(text: &HtmlString) -> String {
    String::from_utf8(text.0.clone()).unwrap()
}

/// Parses a page. Panics if it has an error, an element that is not closed, an attribute without
/// quotes, an id twice, a link to an id that it lacks, or anything that its policy forbids.
#[track_caller]
pub fn parsed(html: &str) -> Parsed {
    const EMPTY: [&str; 5] = ["meta", "br", "wbr", "input", "hr"];
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Parsed::default();
    let (mut open, mut ids) = (Vec::<String>::new(), HashSet::new());
    let mut scripts = 0;
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = utf8(&tag.name);
                assert!(!tag.self_closing, "<{name}/>");
                let is_nested =
                    BLOCKS.contains(&name.as_str()) && open.iter().any(|one| one == "p");
                assert!(!is_nested, "<{name}> in <p>");
                assert!(name != "a" || !open.contains(&name), "<a> in <a>");
                scripts += usize::from(name == "script");
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
    assert_eq!(scripts, 1);
    assert_quoted(html);
    for forbidden in ["url(", "@import", "http:", "https:", "//www"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    for link in &page.links {
        if let Some(id) = link.strip_prefix('#') {
            assert!(ids.contains(id), "a link to #{id}");
        }
    }
    page
}

/// Asserts that every attribute outside script and style has quotes.
#[track_caller]
fn assert_quoted(html: &str) {
    let [mut is_tag, mut is_quoted] = [false; 2];
    let body = without(&without(html, "style"), "script");
    for (at, c) in body.char_indices() {
        match c {
            '"' if is_tag => is_quoted = !is_quoted,
            '<' if !is_quoted => is_tag = true,
            '>' if !is_quoted => is_tag = false,
            '=' if is_tag && !is_quoted => {
                assert!(body[at + 1..].starts_with('"'), "at {at}");
            }
            _ => {}
        }
    }
}

/// The page without an element.
pub fn without(html: &str, element: &str) -> String {
    let end = format!("</{element}>");
    let (before, rest) = html.split_once(&format!("<{element}>")).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{after}")
}
