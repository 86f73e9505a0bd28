// SPDX-License-Identifier: MIT OR Apache-2.0

//! The description of a target (TOML), and what it says for one board and its variants. Pure.

mod chosen;
mod placeholder;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use chosen::{Chosen, Source};
pub use placeholder::{filled, holds, Places};

use super::spec::{check_baud, is_name, DEFAULT};
use crate::stream::filter;
use placeholder::{check_words, is_placeholder, PLACES, SPECIAL};

/// A target as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What it is, in one line.
    pub about: String,
    /// The boards that are meant when none is named: the first of them that can be used.
    board: OneOrMore,
    /// The option that names the board too.
    board_option: Option<String>,
    /// What builds the image; no build when absent.
    #[serde(default)]
    build: Vec<String>,
    /// The image that is built.
    image: Option<String>,
    build_limit: Option<f64>,
    /// The boards, by their names.
    pub boards: BTreeMap<String, Board>,
    /// The variants, by their names.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
    /// The options, by their names.
    #[serde(default)]
    pub options: BTreeMap<String, Setting>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A board or an emulated machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What it is, in one line.
    pub about: String,
    unit: ClockUnit,
    #[serde(default)]
    build: Vec<String>,
    #[serde(default)]
    needs: BTreeMap<String, String>,
    #[serde(default)]
    probe: Vec<String>,
    #[serde(default)]
    here: bool,
    command: Option<Vec<String>>,
    serial: Option<String>,
    baud: Option<u32>,
    #[serde(default)]
    flash: Vec<String>,
    #[serde(default)]
    reset: Vec<String>,
    #[serde(default)]
    order: Way,
    samples: Option<u32>,
    runs: Option<u32>,
    silence: Option<f64>,
    limit: Option<f64>,
}

/// A change to a target that is measured as it is otherwise.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What it changes, in one line.
    pub about: String,
    #[serde(default)]
    build: Vec<String>,
    #[serde(default)]
    command: Vec<String>,
    /// The boards that have it; `None`: all.
    pub boards: Option<Vec<String>>,
}

/// What the user may set to a value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// What it sets, in one line.
    pub about: String,
    /// Its value when the user says none.
    #[serde(default)]
    pub default: String,
    /// The values that it can have; `None`: any.
    pub values: Option<Vec<String>>,
    /// Whether it can be a path besides.
    #[serde(default)]
    pub path: bool,
    longest: Option<usize>,
    #[serde(default)]
    build: Vec<String>,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClockUnit {
    Instructions,
    Cycles,
}

/// How an order reaches the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Not at all.
    #[default]
    None,
    /// As further words of the command.
    Arguments,
    /// At `{order}` in the words of the command.
    Command,
    /// As the command line that an emulator shows to its machine by semihosting.
    Semihosting,
    /// As a line on the serial line, or on the standard input of the command.
    Line,
}

/// What is wrong with the text of the file `name`, and in which line.
pub(crate) fn located(name: &str, text: &str, error: &toml::de::Error) -> String {
    let line = error
        .span()
        .map_or(String::new(), |span| format!(":{}", line(text, span.start)));
    format!("{name}{line}: {}", error.message().replace('\n', ", "))
}

/// The number of the line that holds this byte of a text.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.matches('\n').count() + 1
}

impl Description {
    /// Reads the text of the file `name`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and in which line or key.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let description: Description =
            toml::from_str(text).map_err(|error| located(name, text, &error))?;
        description
            .check()
            .map_err(|why| format!("{name}: {why}"))?;
        Ok(description)
    }

    fn check(&self) -> Result<(), String> {
        let missing = |board: &&String| !self.boards.contains_key(*board);
        let preferred = self.preferred();
        if let Some(board) = preferred.iter().find(missing) {
            return Err(format!(
                "board = \"{board}\" is none of its boards: {}",
                names(self.boards.keys())
            ));
        }
        if preferred.is_empty() {
            return Err("`board` names no board".to_owned());
        }
        for (name, setting) in &self.options {
            let at = |why: String| format!("[options.{name}]: {why}");
            setting.check(name).map_err(at)?;
        }
        let build = self.known(&["image"]);
        check_words("build", &self.build, &build)?;
        check_words("image", &self.image, &self.known(&[]))?;
        check_seconds("build_limit", self.build_limit)?;
        for (name, board) in &self.boards {
            let at = |why: String| format!("[boards.{name}]: {why}");
            if !is_name(name) {
                return Err(at("a name has letters, digits, - and _".to_owned()));
            }
            let words = self.command_words(board, &[]);
            board
                .check(&words, &self.known_to_tools(), &self.known_to_command())
                .map_err(at)?;
            self.check_build(&board.build).map_err(at)?;
        }
        for (name, setting) in &self.options {
            let at = |why: String| format!("[options.{name}]: {why}");
            self.check_build(&setting.build).map_err(at)?;
            check_words("command", &setting.command, &self.known_to_command()).map_err(at)?;
        }
        for (name, variant) in &self.variants {
            let at = |why: String| format!("[variants.{name}]: {why}");
            if !is_name(name) || name == DEFAULT {
                return Err(at(format!(
                    "a name has letters, digits, - and _, and is not `{DEFAULT}`"
                )));
            }
            let unknown = |board: &&String| !self.boards.contains_key(*board);
            if let Some(board) = variant.boards.iter().flatten().find(unknown) {
                return Err(at(format!("there is no board `{board}`")));
            }
            self.check_build(&variant.build).map_err(at)?;
            check_words("command", &variant.command, &self.known_to_command()).map_err(at)?;
        }
        Ok(())
    }

    /// Checks words that are added to the build.
    fn check_build(&self, words: &[String]) -> Result<(), String> {
        if !words.is_empty() && self.build.is_empty() {
            return Err("`build` adds to a build that there is not".to_owned());
        }
        check_words("build", words, &self.known(&["image"]))
    }

    /// The placeholders that stand for something everywhere, and these.
    fn known<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let options = self.options.keys().map(String::as_str);
        PLACES
            .into_iter()
            .chain(options)
            .chain(more.iter().copied())
            .collect()
    }

    fn known_to_tools(&self) -> Vec<&str> {
        let image = self.image.as_ref().map(|_| "image");
        let more: Vec<&str> = ["serial", "baud"].into_iter().chain(image).collect();
        self.known(&more)
    }

    fn known_to_command(&self) -> Vec<&str> {
        let mut known = self.known_to_tools();
        known.extend(["tool", "order", "console"]);
        known
    }

    /// The boards that are meant when none is named: the first of them that can be used.
    #[must_use]
    pub fn preferred(&self) -> &[String] {
        match &self.board {
            OneOrMore::One(board) => std::slice::from_ref(board),
            OneOrMore::More(boards) => boards,
        }
    }

    /// The words of a board's command, with those that the options and variants add.
    fn command_words(&self, board: &Board, variants: &[&Variant]) -> Vec<String> {
        let options = self.options.values().flat_map(|setting| &setting.command);
        let variants = variants.iter().flat_map(|variant| &variant.command);
        let words = board.command.iter().flatten();
        words.chain(options).chain(variants).cloned().collect()
    }
}

impl Board {
    fn check(&self, words: &[String], tools: &[&str], command: &[&str]) -> Result<(), String> {
        match (&self.command, &self.serial) {
            (Some(command), None) if !command.is_empty() => {}
            (None, Some(_)) => {}
            _ => return Err("it needs either `command` or `serial`".to_owned()),
        }
        if (self.order == Way::Command) != holds(words, "order") {
            return Err(
                "`order = \"command\"` and `{order}` in `command` need each other".to_owned(),
            );
        }
        if self.serial.is_some()
            && matches!(self.order, Way::Arguments | Way::Semihosting | Way::Command)
        {
            return Err("a serial line takes an order as \"line\" or \"none\"".to_owned());
        }
        match self.baud {
            Some(_) if self.serial.is_none() => return Err("`baud` needs `serial`".to_owned()),
            Some(baud) => check_baud(baud)?,
            None => {}
        }
        check_seconds("silence", self.silence)?;
        check_seconds("limit", self.limit)?;
        if self.samples.is_some_and(|n| !(5..=1_000_000).contains(&n)) {
            return Err("`samples` must be 5 to 1000000".to_owned());
        }
        if self.runs.is_some_and(|n| !(1..=1000).contains(&n)) {
            return Err("`runs` must be 1 to 1000".to_owned());
        }
        check_words("command", self.command.iter().flatten(), command)?;
        check_words("probe", &self.probe, tools)?;
        check_words("flash", &self.flash, tools)?;
        check_words("reset", &self.reset, tools)
    }
}

impl Setting {
    fn check(&self, name: &str) -> Result<(), String> {
        let taken = ["variant"]
            .iter()
            .chain(&PLACES)
            .chain(&SPECIAL)
            .any(|other| *other == name);
        if taken || !is_name(name) || !is_placeholder(name) {
            return Err(format!(
                "a name has lower-case letters and _, and is none of {} {} variant",
                PLACES.join(" "),
                SPECIAL.join(" ")
            ));
        }
        if self.values.as_ref().is_some_and(Vec::is_empty) {
            return Err("`values` names none".to_owned());
        }
        self.accepts(name, &self.default)
    }

    /// Refuses a value that it cannot have.
    fn accepts(&self, name: &str, value: &str) -> Result<(), String> {
        if let Some(longest) = self.longest.filter(|longest| value.len() > *longest) {
            return Err(format!("{name}= takes {longest} bytes at most"));
        }
        if self.path && value.contains('/') {
            return Ok(());
        }
        match &self.values {
            Some(values) if !values.iter().any(|known| known == value) => {
                let known: Vec<&str> = values.iter().map(String::as_str).collect();
                let path = if self.path {
                    ", and paths (with a `/`)"
                } else {
                    ""
                };
                Err(format!(
                    "`{value}` is nothing for {name}=; there are: {}{path}{}",
                    known.join(", "),
                    filter::suggestion(value, &known)
                ))
            }
            _ => Ok(()),
        }
    }
}

fn check_seconds(key: &str, seconds: Option<f64>) -> Result<(), String> {
    match seconds {
        Some(seconds) if !(0.01..=86_400.0).contains(&seconds) => {
            Err(format!("`{key}` must be 0.01 to 86400 seconds"))
        }
        _ => Ok(()),
    }
}

fn names<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.into_iter().map(String::as_str).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::Unit;
    use crate::target::sources;
    use crate::target::spec::Spec;
    use proptest::prelude::*;
    use std::time::Duration;

    const TEXT: &str = r#"
about = "a kernel"
board = "a"
build = ["make", "OUT={out}", "BOARD={board}"]
image = "{out}/k.elf"
[boards.a]
about = "emulated"
unit = "instructions"
command = ["emu", "-kernel", "{image}"]
order = "semihosting"
[boards.b]
about = "a board"
unit = "cycles"
serial = "/dev/ttyS9"
baud = 9600
order = "line"
silence = 3
reset = ["reset", "{serial}@{baud}"]
build = ["BOARD=a"]
[variants.x]
about = "x"
build = ["X=1"]
command = ["-x", "{board}"]
[variants.y]
about = "y"
build = ["X=2", "Y"]
[variants.z]
about = "z"
boards = ["b"]
[options.o]
about = "o"
default = "1"
values = ["1", "2", "a b"]
path = true
build = ["O={o}"]
[options.words]
about = "words"
longest = 9
command = ["-w", "{words}"]
"#;

    fn chosen(spec: &str) -> Result<Chosen, String> {
        let Spec::Described(choice) = spec.parse().unwrap() else {
            panic!("{spec}");
        };
        Description::parse("t.toml", TEXT)?.choose(&choice)
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_board_and_its_variants_become_words() {
        let places = Places {
            agent: "/A",
            out: "/{board}",
            linux_agent: "/L",
            tool: "7",
        };
        let one = chosen("t,variant=x").unwrap().filled(&places);
        assert_eq!(
            one.build,
            words(&["make", "OUT=/{board}", "BOARD=a", "O=1", "X=1"])
        );
        assert_eq!(one.image.as_deref(), Some("/{board}/k.elf"));
        let command = words(&["emu", "-kernel", "/{board}/k.elf", "-w", "", "-x", "a"]);
        assert_eq!(one.source, Source::Command(command));
        assert_eq!(one.choice.to_string(), "t:a,variant=x");
        assert_eq!(
            (one.samples, one.runs, one.unit),
            (1000, 2, Unit::Instructions)
        );
        assert_eq!(one.variant(), "x");
        let other = chosen("t:b,serial=/dev/x").unwrap().filled(&places);
        assert_eq!(other.build[3..], words(&["BOARD=a", "O=1"]));
        assert_eq!(other.reset, words(&["reset", "/dev/x@9600"]));
        assert_eq!(
            (other.samples, other.runs, other.unit),
            (500, 10, Unit::Cycles)
        );
        assert_eq!(other.silence, Duration::from_secs(3));
        assert_eq!(other.variant(), "default");
    }

    #[test]
    fn an_option_is_a_word_or_a_part_of_one() {
        let places = Places {
            agent: "",
            out: "{words}",
            linux_agent: "",
            tool: "",
        };
        let one = chosen("t,o=a b,words={out}").unwrap().filled(&places);
        let build = words(&["make", "OUT={words}", "BOARD=a", "O=a b"]);
        assert_eq!(one.build, build);
        let Source::Command(command) = &one.source else {
            panic!("it has a command");
        };
        assert_eq!(command[3..], words(&["-w", "{out}"]));
        assert_eq!(one.choice.to_string(), "t:a,o=a b,words={out}");
        assert_eq!(chosen("t,o=../x").unwrap().options["o"], "../x");
    }

    #[test]
    fn a_board_is_named_by_an_option_or_is_one_of_several() {
        let text = TEXT.replace(
            "board = \"a\"\n",
            "board = [\"b\", \"a\"]\nboard_option = \"on\"\n",
        );
        let description = Description::parse("t.toml", &text).unwrap();
        let candidates = |spec: &str| {
            let Ok(Spec::Described(choice)) = spec.parse() else {
                panic!("{spec}");
            };
            description.candidates(&choice)
        };
        assert_eq!(candidates("t").unwrap().1, ["b", "a"]);
        for spec in ["t:a", "t,on=a", "t:a,on=a"] {
            let (choice, boards) = candidates(spec).unwrap();
            assert_eq!(
                (choice.to_string().as_str(), boards),
                ("t:a", words(&["a"]))
            );
        }
        assert!(candidates("t:b,on=a").unwrap_err().contains("two boards"));
    }

    #[test]
    fn what_there_is_not_is_told_with_what_there_is() {
        for (spec, why) in [
            ("t:c", "there is no board `c`; there are: a, b"),
            ("t,variant=w", "there is no variant `w`; there are: x, y, z"),
            (
                "t,variant=z",
                "board `a` has no variant `z`; these have it: b",
            ),
            (
                "t,variant=x+y",
                "exclude each other: one sets X=1, another X=2",
            ),
            ("t,baud=9600", "not reached by a serial line"),
            (
                "t,word=x",
                "there is no option `word`; there are: variant=A+B, serial=DEVICE, baud=N, o=..., words=...",
            ),
            ("t,word=x", "did you mean words?"),
            ("t,o=3", "`3` is nothing for o=; there are: 1, 2, a b, and paths"),
            ("t,words=0123456789", "words= takes 9 bytes at most"),
        ] {
            let error = chosen(spec).unwrap_err();
            assert!(error.contains(why), "{spec}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_file_and_key() {
        for (from, to, why) in [
            ("silence", "silense", "t.toml:17: unknown field `silense`"),
            (
                "board = \"a\"",
                "board = \"q\"",
                "board = \"q\" is none of its boards: a, b",
            ),
            (
                "{out}/k",
                "{image}/k",
                "`image` has {image}, which stands for nothing there",
            ),
            (
                "baud = 9600",
                "baud = 9601",
                "[boards.b]: `9601` is no baud rate",
            ),
            (
                "order = \"line\"",
                "order = \"arguments\"",
                "[boards.b]: a serial line takes",
            ),
            (
                "\"semihosting\"",
                "\"shouting\"",
                "unknown variant `shouting`",
            ),
            ("silence = 3", "silence = 0", "`silence` must be"),
            (
                "[variants.x]",
                "[variants.\"x y\"]",
                "[variants.x y]: a name has",
            ),
            ("[\"b\"]", "[\"c\"]", "[variants.z]: there is no board `c`"),
            (
                "command = [\"emu\"",
                "serial = \"/d\"\ncommand = [\"emu\"",
                "either `command` or `serial`",
            ),
            ("unit = \"cycles\"", "", "missing field `unit`"),
            (
                "\"emu\"",
                "\"{order}\"",
                "[boards.a]: `order = \"command\"` and `{order}`",
            ),
            ("\"semihosting\"", "\"command\"", "need each other"),
            ("[options.o]", "[options.out]", "[options.out]: a name has"),
            ("[options.o]", "[options.O]", "[options.O]: a name has"),
            (
                "default = \"1\"",
                "default = \"3\"",
                "[options.o]: `3` is nothing for o=",
            ),
            ("{words}", "{word}", "[options.words]: `command` has {word}"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT);
            let error = Description::parse("t.toml", &text).unwrap_err();
            assert!(error.starts_with("t.toml"), "{error}");
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn the_targets_that_come_with_the_tool_are_sound() {
        for (name, text) in sources::targets() {
            let description = Description::parse(name, text).unwrap();
            for (board, about) in &description.boards {
                let variants = description.variants.iter();
                let has = |v: &Variant| v.boards.as_ref().is_none_or(|b| b.contains(board));
                for (variant, _) in variants.filter(|(_, variant)| has(variant)) {
                    let spec = format!("{name}:{board},variant={variant}");
                    let Ok(Spec::Described(choice)) = spec.parse() else {
                        panic!("{spec}: {}", about.about);
                    };
                    description.choose(&choice).unwrap();
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_upsets_it(text in any::<String>()) {
            let _ = Description::parse("t", &text);
        }

        #[test]
        fn no_change_to_a_sound_text_upsets_it(at in 0..TEXT.len(), what in "[\\PC\n]{0,3}") {
            let mut text = TEXT.to_owned();
            text.replace_range(at..=at, &what);
            if let Ok(description) = Description::parse("t", &text) {
                for spec in ["t", "t:b,variant=x+z,o=2"] {
                    if let Ok(Spec::Described(choice)) = spec.parse() {
                        let places = Places { agent: "{out}", out: "{agent}", linux_agent: "{tool}", tool: "{o}" };
                        let _ = description.choose(&choice).map(|chosen| chosen.filled(&places));
                    }
                }
            }
        }
    }
}
