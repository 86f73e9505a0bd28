//! The description of a target (TOML), and what it says for one board and its variants. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::spec::{check_baud, is_name, Choice, BAUD, DEFAULT};
use crate::filter;
use crate::run::Unit;

/// Time without a record after which a board counts as hung, unless its description says another.
const SILENCE: f64 = 10.0;

/// Time that a session may take, unless the description says another.
const LIMIT: f64 = 60.0;

/// Samples and replicates of a clock that counts instructions: every sample and every replicate is
/// as the first, so that the second replicate only shows that it is.
const EXACT: (u32, u32) = (1000, 2);

/// Samples and replicates of a clock that counts cycles.
const INEXACT: (u32, u32) = (500, 10);

/// A target as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What it is, in one line.
    pub about: String,
    /// The board that is meant when none is named.
    pub board: String,
    /// What builds the image; no build when absent.
    #[serde(default)]
    build: Vec<String>,
    /// The image that is built.
    image: Option<String>,
    /// The boards, by their names.
    pub boards: BTreeMap<String, Board>,
    /// The variants, by their names.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
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
    /// As the command line that an emulator shows to its machine by semihosting.
    Semihosting,
    /// As a line on the serial line, or on the standard input of the command.
    Line,
}

/// Where the agent's records come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a command's standard output.
    Command(Vec<String>),
    /// From a serial line.
    Serial {
        /// The line.
        device: PathBuf,
        /// Its baud rate.
        baud: u32,
    },
}

/// What is measured: a board of a target with its variants. Words may hold placeholders.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The choice, with its board named.
    pub choice: Choice,
    /// The board's name.
    pub board: String,
    /// What its clock counts.
    pub unit: Unit,
    /// Programs that are needed, and the Debian packages that have them.
    pub needs: BTreeMap<String, String>,
    /// What builds the image; empty: nothing is built.
    pub build: Vec<String>,
    /// The image.
    pub image: Option<String>,
    /// Writes the image to the board, once a run; empty: nothing does.
    pub flash: Vec<String>,
    /// Starts the board anew, before each session; empty: nothing does.
    pub reset: Vec<String>,
    /// Where its records come from.
    pub source: Source,
    /// How it is told what to do.
    pub order: Way,
    /// Samples of each case, unless the user says another number.
    pub samples: u32,
    /// Replicates, unless the user says another number.
    pub runs: u32,
    /// Time without a record after which it counts as hung.
    pub silence: Duration,
    /// Time that a session may take.
    pub limit: Duration,
}

/// What stands for the placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The folder of the agent's sources.
    pub agent: &'a str,
    /// The folder for what is built.
    pub out: &'a str,
}

impl Description {
    /// Reads the text of the file `name`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and in which line or key.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let description: Description = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(String::new(), |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!(":{}", before.matches('\n').count() + 1)
            });
            format!("{name}{line}: {}", error.message().replace('\n', ", "))
        })?;
        description
            .check()
            .map_err(|why| format!("{name}: {why}"))?;
        Ok(description)
    }

    fn check(&self) -> Result<(), String> {
        if !self.boards.contains_key(&self.board) {
            return Err(format!(
                "board = \"{}\" is none of its boards: {}",
                self.board,
                names(self.boards.keys())
            ));
        }
        check_words("build", &self.build, &["agent", "out", "board", "image"])?;
        check_words("image", &self.image, &["agent", "out", "board"])?;
        for (name, board) in &self.boards {
            let at = |why: String| format!("[boards.{name}]: {why}");
            if !is_name(name) {
                return Err(at("a name has letters, digits, - and _".to_owned()));
            }
            board.check(self.image.is_some()).map_err(at)?;
            if !board.build.is_empty() && self.build.is_empty() {
                return Err(at("`build` adds to a build that there is not".to_owned()));
            }
            check_words("build", &board.build, &["agent", "out", "board", "image"]).map_err(at)?;
        }
        for (name, variant) in &self.variants {
            let at = |why: String| format!("[variants.{name}]: {why}");
            if !is_name(name) || name == DEFAULT {
                return Err(at(format!(
                    "a name has letters, digits, - and _, and is not `{DEFAULT}`"
                )));
            }
            if !variant.build.is_empty() && self.build.is_empty() {
                return Err(at("`build` adds to a build that there is not".to_owned()));
            }
            let unknown = |board: &&String| !self.boards.contains_key(*board);
            if let Some(board) = variant.boards.iter().flatten().find(unknown) {
                return Err(at(format!("there is no board `{board}`")));
            }
            check_words("build", &variant.build, &["agent", "out", "board", "image"])
                .map_err(at)?;
            let known = known_words(self.image.is_some());
            check_words("command", &variant.command, &known).map_err(at)?;
        }
        Ok(())
    }

    /// What it says for a choice.
    ///
    /// # Errors
    ///
    /// The board or a variant does not exist, or they do not go together.
    pub fn choose(&self, choice: &Choice) -> Result<Chosen, String> {
        let name = choice.board.as_ref().unwrap_or(&self.board);
        let Some(board) = self.boards.get(name) else {
            return Err(unknown("board", name, self.boards.keys()));
        };
        let mut build = [&self.build[..], &board.build].concat();
        let common = build.len();
        let mut words = Vec::new();
        for variant in &choice.variants {
            let Some(found) = self.variants.get(variant) else {
                return Err(unknown("variant", variant, self.variants.keys()));
            };
            if let Some(boards) = found
                .boards
                .as_ref()
                .filter(|boards| !boards.contains(name))
            {
                return Err(format!(
                    "board `{name}` has no variant `{variant}`; these have it: {}",
                    names(boards)
                ));
            }
            for word in &found.build {
                let same = |other: &&String| {
                    other.split_once('=').map(|(key, _)| key)
                        == word.split_once('=').map(|(key, _)| key)
                };
                let before = &build[common..];
                if let Some(other) = before.iter().find(same).filter(|_| word.contains('=')) {
                    return Err(format!(
                        "the variants {} exclude each other: one sets {other}, another {word}",
                        choice.variants.join("+")
                    ));
                }
                build.push(word.clone());
            }
            words.extend(found.command.iter().cloned());
        }
        let (samples, runs) = match board.unit {
            ClockUnit::Instructions => EXACT,
            ClockUnit::Cycles => INEXACT,
        };
        let seconds = |given: Option<f64>, usual| Duration::from_secs_f64(given.unwrap_or(usual));
        Ok(Chosen {
            choice: Choice {
                board: Some(name.clone()),
                ..choice.clone()
            },
            board: name.clone(),
            unit: match board.unit {
                ClockUnit::Instructions => Unit::Instructions,
                ClockUnit::Cycles => Unit::Cycles,
            },
            needs: board.needs.clone(),
            build,
            image: self.image.clone(),
            flash: board.flash.clone(),
            reset: board.reset.clone(),
            source: board.source(name, choice, words)?,
            order: board.order,
            samples: board.samples.unwrap_or(samples),
            runs: board
                .runs
                .unwrap_or(if board.order == Way::None { 1 } else { runs }),
            silence: seconds(board.silence, SILENCE),
            limit: seconds(board.limit, LIMIT),
        })
    }
}

impl Board {
    fn check(&self, image: bool) -> Result<(), String> {
        match (&self.command, &self.serial) {
            (Some(command), None) if !command.is_empty() => {}
            (None, Some(_)) => {}
            _ => return Err("it needs either `command` or `serial`".to_owned()),
        }
        if self.serial.is_some() && matches!(self.order, Way::Arguments | Way::Semihosting) {
            return Err("a serial line takes an order as \"line\" or \"none\"".to_owned());
        }
        match self.baud {
            Some(_) if self.serial.is_none() => return Err("`baud` needs `serial`".to_owned()),
            Some(baud) => check_baud(baud)?,
            None => {}
        }
        for (key, seconds) in [("silence", self.silence), ("limit", self.limit)] {
            if seconds.is_some_and(|seconds| !(0.01..=86_400.0).contains(&seconds)) {
                return Err(format!("`{key}` must be 0.01 to 86400 seconds"));
            }
        }
        if self.samples.is_some_and(|n| !(5..=1_000_000).contains(&n)) {
            return Err("`samples` must be 5 to 1000000".to_owned());
        }
        if self.runs.is_some_and(|n| !(1..=1000).contains(&n)) {
            return Err("`runs` must be 1 to 1000".to_owned());
        }
        let known = known_words(image);
        check_words("command", self.command.iter().flatten(), &known)?;
        check_words("flash", &self.flash, &known)?;
        check_words("reset", &self.reset, &known)
    }

    fn source(&self, name: &str, choice: &Choice, more: Vec<String>) -> Result<Source, String> {
        if let Some(command) = &self.command {
            if choice.serial.is_some() || choice.baud.is_some() {
                return Err(format!(
                    "board `{name}` is not reached by a serial line: serial= and baud= say nothing to it"
                ));
            }
            let words = command.iter().cloned().chain(more).collect();
            return Ok(Source::Command(words));
        }
        let described = self.serial.as_ref().map(PathBuf::from);
        Ok(Source::Serial {
            device: choice.serial.clone().or(described).unwrap_or_default(),
            baud: choice.baud.or(self.baud).unwrap_or(BAUD),
        })
    }
}

fn known_words(image: bool) -> Vec<&'static str> {
    let mut known = vec!["agent", "out", "board", "serial", "baud"];
    if image {
        known.push("image");
    }
    known
}

impl Chosen {
    /// Puts what they stand for into the places of all placeholders.
    #[must_use]
    pub fn filled(mut self, places: &Places) -> Self {
        let (device, baud) = match &self.source {
            Source::Serial { device, baud } => (device.display().to_string(), baud.to_string()),
            Source::Command(_) => (String::new(), String::new()),
        };
        let board = self.board.clone();
        let mut values = vec![
            ("agent", places.agent),
            ("out", places.out),
            ("board", &board),
            ("serial", &device),
            ("baud", &baud),
        ];
        let image = self.image.map(|image| fill(&image, &values));
        if let Some(image) = &image {
            values.push(("image", image));
        }
        let fill_all = |words: &mut Vec<String>| {
            for word in words {
                *word = fill(word, &values);
            }
        };
        fill_all(&mut self.build);
        fill_all(&mut self.flash);
        fill_all(&mut self.reset);
        if let Source::Command(words) = &mut self.source {
            fill_all(words);
        }
        self.image = image;
        self
    }

    /// Whether its agent can be told what to measure.
    #[must_use]
    pub fn takes_orders(&self) -> bool {
        self.order != Way::None
    }

    /// The names of its variants, joined.
    #[must_use]
    pub fn variant(&self) -> String {
        if self.choice.variants.is_empty() {
            DEFAULT.to_owned()
        } else {
            self.choice.variants.join("+")
        }
    }
}

/// The placeholders of a word: where each begins and ends, and its name.
fn placeholders(word: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    word.match_indices('{').filter_map(move |(start, _)| {
        let name = &word[start + 1..];
        let name = &name[..name.find('}')?];
        let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
        plain.then_some((start, start + name.len() + 2, name))
    })
}

fn fill(word: &str, values: &[(&str, &str)]) -> String {
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

fn check_words<'a>(
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

fn names<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.into_iter().map(String::as_str).collect();
    all.join(", ")
}

/// The message for a name that there is not.
fn unknown<'a>(what: &str, name: &str, all: impl Iterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    let there = if all.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", all.join(", "))
    };
    format!(
        "there is no {what} `{name}`; {there}{}",
        filter::suggestion(name, &all)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::sources;
    use crate::target::spec::Spec;
    use proptest::prelude::*;

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
        };
        let one = chosen("t,variant=x").unwrap().filled(&places);
        assert_eq!(
            one.build,
            words(&["make", "OUT=/{board}", "BOARD=a", "X=1"])
        );
        assert_eq!(one.image.as_deref(), Some("/{board}/k.elf"));
        let command = words(&["emu", "-kernel", "/{board}/k.elf", "-x", "a"]);
        assert_eq!(one.source, Source::Command(command));
        assert_eq!(one.choice.to_string(), "t:a,variant=x");
        assert_eq!(
            (one.samples, one.runs, one.unit),
            (1000, 2, Unit::Instructions)
        );
        assert_eq!(one.variant(), "x");
        let other = chosen("t:b,serial=/dev/x").unwrap().filled(&places);
        assert_eq!(other.build.last().unwrap(), "BOARD=a");
        assert_eq!(other.reset, words(&["reset", "/dev/x@9600"]));
        assert_eq!(
            (other.samples, other.runs, other.unit),
            (500, 10, Unit::Cycles)
        );
        assert_eq!(other.silence, Duration::from_secs(3));
        assert_eq!(other.variant(), "default");
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
                for spec in ["t", "t:b,variant=x+z"] {
                    if let Ok(Spec::Described(choice)) = spec.parse() {
                        let places = Places { agent: "{out}", out: "{agent}" };
                        let _ = description.choose(&choice).map(|chosen| chosen.filled(&places));
                    }
                }
            }
        }

        #[test]
        fn no_word_upsets_the_placeholders(word in "[{}a-z/é]{0,20}") {
            let filled = fill(&word, &[("a", "{b}"), ("b", "")]);
            prop_assert!(placeholders(&word).count() > 0 || filled == word);
        }
    }
}
