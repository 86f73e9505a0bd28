// SPDX-License-Identifier: MIT OR Apache-2.0

//! The documentation: every link and picture leads somewhere, every page is in the table of
//! contents, and the commands in it exist. What renders the site (`make doc`) reads the pages with
//! the same parser.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use common::{here, succeeds};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// What a page has that can be checked.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
    pictures: Vec<String>,
    /// Shell lines: of blocks of code, and code within the text that begins with `kernmark`.
    commands: Vec<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_HEADING_ATTRIBUTES;
        let mut page = Self::default();
        let mut headings = HashMap::new();
        let mut heading: Option<String> = None;
        let mut block: Option<String> = None;
        for event in Parser::new_ext(text, options) {
            match event {
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push(dest_url.into_string()),
                Event::Start(Tag::Image { dest_url, .. }) => {
                    page.pictures.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let seen = headings.entry(anchor.clone()).or_insert(0);
                    page.anchors.insert(match *seen {
                        0 => anchor,
                        n => format!("{anchor}-{n}"),
                    });
                    *seen += 1;
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                    if matches!(&*language, "sh" | "yaml") =>
                {
                    block = Some(String::new());
                }
                Event::End(TagEnd::CodeBlock) => {
                    let block = block.take().unwrap_or_default().replace("\\\n", " ");
                    page.commands.extend(block.lines().map(str::to_owned));
                }
                Event::Text(text) => {
                    if let Some(into) = block.as_mut().or(heading.as_mut()) {
                        into.push_str(&text);
                    }
                }
                Event::Code(code) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&code);
                    }
                    page.commands.push(code.into_string());
                }
                _ => {}
            }
        }
        page
    }
}

/// The anchor of a heading, as mdBook and code forges make it.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.chars().filter_map(kept).collect()
}

/// Every page by its path in the repository.
fn pages() -> BTreeMap<PathBuf, Page> {
    let mut folders = ["", "doc", "reference", "fuzz"].map(PathBuf::from).to_vec();
    for port in fs::read_dir(here("agent/ports")).unwrap() {
        folders.push(Path::new("agent/ports").join(port.unwrap().file_name()));
    }
    let mut pages = BTreeMap::new();
    for folder in folders {
        for file in fs::read_dir(here(".").join(&folder)).unwrap() {
            let path = folder.join(file.unwrap().file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(here(".").join(&path)).unwrap();
                pages.insert(path, Page::read(&text));
            }
        }
    }
    pages
}

/// Where a link on a page leads, from the top of the repository; `None` outside of it.
fn target(page: &Path, link: &str) -> Option<PathBuf> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut path = page.parent()?.to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

fn elsewhere(link: &str) -> bool {
    link.starts_with("https://") || link.starts_with("mailto:")
}

#[test]
fn every_link_and_picture_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !elsewhere(link)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let reached = target(path, file).filter(|to| here(".").join(to).is_file());
            let found = reached.is_some_and(|to| {
                anchor.is_empty() || pages.get(&to).is_some_and(|to| to.anchors.contains(anchor))
            });
            if !found {
                wrong.push(format!("{}: no {link}", path.display()));
            }
        }
        // A picture of another host would be loaded from there.
        for picture in &page.pictures {
            if target(path, picture).is_none_or(|to| !here(".").join(to).is_file()) {
                wrong.push(format!("{}: no picture {picture}", path.display()));
            }
        }
    }
    assert!(pages.len() > 10 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let mut pages = pages();
    let summary = Path::new("doc/SUMMARY.md");
    let contents = pages.remove(summary).unwrap().links;
    let mut listed: Vec<PathBuf> = Vec::new();
    for link in &contents {
        listed.push(target(summary, link).unwrap());
    }
    listed.sort();
    assert_eq!(listed, pages.into_keys().collect::<Vec<_>>());
}

/// The commands of the tool, and those below them, with the options that the help of each names.
fn help() -> BTreeMap<String, BTreeSet<String>> {
    let mut commands = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(name) = open.pop() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernmark"));
        let text = match name.as_str() {
            "" => succeeds(command.arg("--help")),
            name => succeeds(command.arg("help").args(name.split(' '))),
        };
        let list = text.split_once("Commands:\n").map_or("", |(_, list)| list);
        let list = list.split("\n\n").next().unwrap_or_default();
        // A description goes on further to the right.
        let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
        for line in lines.filter(|line| !line.starts_with(' ')) {
            let below = line.split(' ').next().unwrap();
            if below != "help" {
                open.push(format!("{name} {below}").trim_start().to_owned());
            }
        }
        commands.insert(name, options(&text));
    }
    commands
}

fn options(help: &str) -> BTreeSet<String> {
    let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words
        .filter(|word| word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// What is wrong with the calls of kernmark in a shell line.
fn mistakes(line: &str, help: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let line = line.split(" #").next().unwrap();
    let mut wrong = Vec::new();
    for call in line.split(['|', ';', '&']) {
        let mut words = call.split_whitespace().peekable();
        // A list of YAML, a variable, another user.
        while words.next_if(|&w| w == "-" || w == "sudo").is_some() {}
        if words.next() != Some("kernmark") {
            continue;
        }
        let first = words.next_if(|word| !word.starts_with('-')).unwrap_or("");
        let is_placeholder = !first.is_empty() && first.chars().all(|c| c.is_ascii_uppercase());
        if is_placeholder || first == "help" {
            continue;
        }
        let below = words.peek().map(|word| format!("{first} {word}"));
        let name = below.filter(|below| help.contains_key(below));
        let name = name.as_deref().unwrap_or(first);
        let Some(options) = help.get(name) else {
            wrong.push(format!("kernmark has no {name}"));
            continue;
        };
        for word in words.filter(|word| word.starts_with('-') && *word != "-") {
            let option = word.split(['=', ',', '`', '\'']).next().unwrap();
            if !options.contains(option) {
                wrong.push(format!("kernmark {name} has no {option}"));
            }
        }
    }
    wrong
}

#[test]
fn the_commands_in_it_exist() {
    let help = help();
    let mut calls = 0;
    let mut wrong = Vec::new();
    for (path, page) in &pages() {
        for line in &page.commands {
            calls += usize::from(line.contains("kernmark "));
            // An option by itself, but not where a page speaks of other tools.
            let option = line.split(['=', ' ', ',']).next().unwrap();
            if option
                .strip_prefix("--")
                .is_some_and(|name| !name.is_empty())
                && !path.ends_with("formats.md")
                && !help.values().any(|options| options.contains(option))
            {
                wrong.push(format!("{}: no command has {option}", path.display()));
            }
            for mistake in mistakes(line, &help) {
                wrong.push(format!("{}: {mistake}: {line}", path.display()));
            }
        }
    }
    assert!(calls > 50 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn mistakes_are_found() {
    let page = Page::read("# One `two`, three\n# A\n# A\n[x](y#z) ![p](q)\n```sh\na \\\nb\n```\n");
    assert_eq!(
        page.anchors,
        ["a", "a-1", "one-two-three"].map(str::to_owned).into()
    );
    assert_eq!(
        (page.links, page.pictures),
        (vec!["y#z".into()], vec!["q".into()])
    );
    assert_eq!(page.commands, ["two", "a  b"]);

    let doc = Path::new("doc/method.md");
    let to = |link| target(doc, link).map(|path| path.to_str().unwrap().to_owned());
    assert_eq!(to("../README.md").as_deref(), Some("README.md"));
    assert_eq!(to("a/./b").as_deref(), Some("doc/a/b"));
    assert_eq!(to("../../x"), None);
    assert_eq!(to("/etc/passwd"), None);

    let help = help();
    for (line, found) in [
        ("kernmark", 0),
        ("kernmark COMMAND --help", 0),
        ("kernmark run --on freertos  # kernmark nonsense", 0),
        ("a | sudo kernmark run --on file:-", 0),
        ("make -C kernmark build", 0),
        ("kernmark measure", 1),
        ("- kernmark show --on x --quick || true", 1),
        ("x; kernmark run --ond freertos --qick", 2),
    ] {
        assert_eq!(mistakes(line, &help).len(), found, "{line}");
    }
}
