// SPDX-License-Identifier: MIT OR Apache-2.0

//! The description of a target: takes the text of a TOML file (doc/targets.md), checks it, and
//! applies the user's choice of board, variants and options to it. Does no input or output.

mod chosen;
mod placeholder;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use chosen::{ChosenTarget, RecordSource};
pub use placeholder::{fill_words, has_placeholder, PlaceholderValues};

use super::spec::{check_baud, is_board, is_name, DEFAULT};
use crate::stream::filter;
use placeholder::{check_words, is_placeholder, COMMON, SPECIAL};

/// The name, in a description, of all boards that it does not list.
pub const ANY_BOARD: &str = "*";

/// The placeholders in the words of a family of options.
const OF_SETTING: [&str; 2] = ["name", "value"];

/// The description of a target, as in its file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What it is, in one line.
    pub about: String,
    /// The default boards. The first one that can be used is taken.
    board: OneOrMore,
    /// An option that may also name the board.
    board_option: Option<String>,
    /// Command that builds the image; empty if there is no build.
    #[serde(default)]
    build: Vec<String>,
    /// The path of the image.
    image: Option<String>,
    build_limit: Option<f64>,
    /// The boards, by name; those that it does not list are [`ANY_BOARD`].
    pub boards: BTreeMap<String, Board>,
    /// The variants, by name.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
    /// The options, by name. A name that ends in `*` is a family: all options that start with it.
    #[serde(default)]
    pub options: BTreeMap<String, OptionDescription>,
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
    trace: Option<Trace>,
    serial: Option<String>,
    baud: Option<u32>,
    #[serde(default)]
    flash: Vec<String>,
    #[serde(default)]
    reset: Vec<String>,
    #[serde(default)]
    order: OrderMethod,
    samples: Option<u32>,
    runs: Option<u32>,
    silence: Option<f64>,
    limit: Option<f64>,
}

/// How the instructions of a board that counts them are followed (doc/targets.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The ELF files of what runs on it. Those that a build does not make are left out.
    pub programs: Vec<String>,
    /// Words to add to the command, by which the machine learns that a tracer listens to what it
    /// says (`agent/mark.h`).
    #[serde(default)]
    pub command: Vec<String>,
}

/// A change to how a target is built or run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What it changes, in one line.
    pub about: String,
    #[serde(default)]
    build: Vec<String>,
    #[serde(default)]
    command: Vec<String>,
    /// The boards that have it; `None` for all.
    pub boards: Option<Vec<String>>,
}

/// An option that the user may set to a value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionDescription {
    /// What it sets, in one line.
    pub about: String,
    /// Its value if the user sets none.
    #[serde(default)]
    pub default: String,
    /// The values that it accepts; `None` for any.
    pub values: Option<Vec<String>>,
    /// Whether it also accepts a path.
    #[serde(default)]
    pub path: bool,
    /// Whether it also accepts a version: what starts with a digit, such as `6.12`.
    #[serde(default)]
    pub version: bool,
    /// Whether its value is a folder. Its path is made absolute, and the run records its revision.
    #[serde(default)]
    pub folder: bool,
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
pub enum OrderMethod {
    /// It takes no orders.
    #[default]
    None,
    /// As arguments of the command.
    Arguments,
    /// In place of `{order}` in the words of the command.
    Command,
    /// As the command line that an emulator passes to the program by semihosting.
    Semihosting,
    /// As one line of text, on the serial line or on the standard input of the command.
    Line,
}

/// The message for an error in the file `name`, with the number of the line.
pub(crate) fn locate_error(name: &str, text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(String::new(), |span| {
        format!(":{}", line_number(text, span.start))
    });
    format!("{name}{line}: {}", error.message().replace('\n', ", "))
}

/// The number of the line of a text that has the byte at this offset.
pub(crate) fn line_number(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.matches('\n').count() + 1
}

impl Description {
    /// Parses and checks the text of the file `name`.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and in which line or key.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let description: Description =
            toml::from_str(text).map_err(|error| locate_error(name, text, &error))?;
        description
            .check()
            .map_err(|why| format!("{name}: {why}"))?;
        Ok(description)
    }

    fn check(&self) -> Result<(), String> {
        let is_unknown = |board: &&String| !self.boards.contains_key(*board);
        let preferred = self.preferred();
        let is_unlisted = |board: &&String| !self.listed_boards().any(|known| known == *board);
        if let Some(board) = preferred.iter().find(is_unlisted) {
            return Err(format!(
                "board = \"{board}\" is not one of its boards: {}",
                join(self.listed_boards())
            ));
        }
        if preferred.is_empty() {
            return Err("`board` names no board".to_owned());
        }
        for (name, option) in &self.options {
            let in_context = |why: String| format!("[options.{name}]: {why}");
            option.check(name).map_err(in_context)?;
        }
        let build = self.known(&["image"]);
        check_words("build", &self.build, &build)?;
        check_words("image", &self.image, &self.known(&[]))?;
        check_seconds("build_limit", self.build_limit)?;
        for (name, board) in &self.boards {
            let in_context = |why: String| format!("[boards.{name}]: {why}");
            if name != ANY_BOARD && !is_board(name) {
                return Err(in_context(
                    "a name may have only letters, digits and - _ . @ /".to_owned(),
                ));
            }
            if name != ANY_BOARD && board.command.is_none() && board.serial.is_none() {
                return Err(in_context("it needs `command` or `serial`".to_owned()));
            }
            let words = self.command_words(board, &[], &[]);
            board
                .check(&words, &self.known_to_tools(), &self.known_to_command())
                .map_err(in_context)?;
            self.check_build(&board.build, &[]).map_err(in_context)?;
        }
        for (name, option) in &self.options {
            let in_context = |why: String| format!("[options.{name}]: {why}");
            let more: &[&str] = if family(name).is_some() {
                &OF_SETTING
            } else {
                &[]
            };
            self.check_build(&option.build, more).map_err(in_context)?;
            let known = [&self.known_to_command(), more].concat();
            check_words("command", &option.command, &known).map_err(in_context)?;
        }
        for (name, variant) in &self.variants {
            let in_context = |why: String| format!("[variants.{name}]: {why}");
            if !is_name(name) || name == DEFAULT {
                return Err(in_context(format!(
                    "a name may have only letters, digits, - and _, and must not be `{DEFAULT}`"
                )));
            }
            if let Some(board) = variant.boards.iter().flatten().find(is_unknown) {
                return Err(in_context(format!("there is no board `{board}`")));
            }
            self.check_build(&variant.build, &[]).map_err(in_context)?;
            check_words("command", &variant.command, &self.known_to_command())
                .map_err(in_context)?;
        }
        Ok(())
    }

    /// Checks words that a board, an option or a variant adds to the build. `more` are placeholders
    /// that only they have.
    fn check_build(&self, words: &[String], more: &[&str]) -> Result<(), String> {
        if !words.is_empty() && self.build.is_empty() {
            return Err("`build` adds words to the target's `build`, which is missing".to_owned());
        }
        check_words("build", words, &self.known(&[&["image"], more].concat()))
    }

    /// The placeholders that are known everywhere, and `more`.
    fn known<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let options = self.options.keys().map(String::as_str);
        let options = options.filter(|name| family(name).is_none());
        COMMON
            .into_iter()
            .chain(options)
            .chain(more.iter().copied())
            .collect()
    }

    /// The placeholders that are known in `probe`, `flash` and `reset`.
    fn known_to_tools(&self) -> Vec<&str> {
        let image = self.image.as_ref().map(|_| "image");
        let more: Vec<&str> = ["serial", "baud"].into_iter().chain(image).collect();
        self.known(&more)
    }

    /// The placeholders that are known in `command`.
    fn known_to_command(&self) -> Vec<&str> {
        let mut known = self.known_to_tools();
        known.extend(["tool", "order", "console"]);
        known
    }

    /// The default boards. The first one that can be used is taken.
    #[must_use]
    pub fn preferred(&self) -> &[String] {
        match &self.board {
            OneOrMore::One(board) => std::slice::from_ref(board),
            OneOrMore::More(boards) => boards,
        }
    }

    /// The boards that it lists by name.
    pub fn listed_boards(&self) -> impl Iterator<Item = &String> {
        self.boards.keys().filter(|name| *name != ANY_BOARD)
    }

    /// The options that are no family.
    fn single_options(&self) -> impl Iterator<Item = (&String, &OptionDescription)> {
        let options = self.options.iter();
        options.filter(|(name, _)| family(name).is_none())
    }

    /// The option with this name, or the family that it belongs to: of several, the one with the
    /// longest start.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&OptionDescription> {
        let is_in = |pattern: &str| family(pattern).is_some_and(|start| is_setting(start, name));
        let families = self.options.iter().filter(|(pattern, _)| is_in(pattern));
        let longest = || families.max_by_key(|(pattern, _)| pattern.len());
        let single = self.single_options().find(|(known, _)| *known == name);
        single.or_else(longest).map(|(_, option)| option)
    }

    /// The words of a board's command, including those that options, settings and variants add.
    fn command_words(
        &self,
        board: &Board,
        settings: &[Setting],
        variants: &[&Variant],
    ) -> Vec<String> {
        let options = self
            .single_options()
            .flat_map(|(_, option)| &option.command);
        let settings = settings.iter().flat_map(|setting| &setting.command);
        let variants = variants.iter().flat_map(|variant| &variant.command);
        let words = board.command.iter().flatten();
        let words = words.chain(options).chain(settings).chain(variants);
        words.cloned().collect()
    }
}

/// The start of the names of a family of options, `CONFIG_` of `CONFIG_*`. `None` if this is the name
/// of a single option.
#[must_use]
pub fn family(name: &str) -> Option<&str> {
    name.strip_suffix('*')
}

/// Whether a name belongs to the family with this start. Its names are in upper case, and those of
/// single options in lower case.
fn is_setting(start: &str, name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_allowed))
}

/// An option of a family that the user sets: the words that it adds. The placeholder of its value has
/// its name, as that of a single option.
#[derive(Debug)]
struct Setting {
    build: Vec<String>,
    command: Vec<String>,
}

impl Setting {
    fn of(family: &OptionDescription, name: &str) -> Self {
        let value = format!("{{{name}}}");
        let filled = |words| fill_words(words, &[("name", name), ("value", &value)]);
        Setting {
            build: filled(&family.build),
            command: filled(&family.command),
        }
    }
}

impl Board {
    fn check(&self, words: &[String], tools: &[&str], command: &[&str]) -> Result<(), String> {
        match (&self.command, &self.serial) {
            (Some(command), None) if !command.is_empty() => {}
            (None, _) => {}
            _ => return Err("it needs either `command` or `serial`".to_owned()),
        }
        if (self.order == OrderMethod::Command) != has_placeholder(words, "order") {
            return Err(
                "`order = \"command\"` and `{order}` in `command` require each other".to_owned(),
            );
        }
        if self.command.is_none()
            && matches!(
                self.order,
                OrderMethod::Arguments | OrderMethod::Semihosting | OrderMethod::Command
            )
        {
            return Err("with `serial`, `order` must be \"line\" or \"none\"".to_owned());
        }
        match self.baud {
            Some(_) if self.command.is_some() => return Err("`baud` needs `serial`".to_owned()),
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
        if let Some(trace) = &self.trace {
            if self.unit != ClockUnit::Instructions || self.command.is_none() {
                return Err("`trace` needs `command` and unit = \"instructions\"".to_owned());
            }
            if trace.programs.is_empty() {
                return Err("`trace` names no program in `programs`".to_owned());
            }
            check_words("programs", &trace.programs, tools)?;
            check_words("command", &trace.command, tools)?;
        }
        check_words("probe", &self.probe, tools)?;
        check_words("flash", &self.flash, tools)?;
        check_words("reset", &self.reset, tools)
    }
}

impl OptionDescription {
    fn check(&self, name: &str) -> Result<(), String> {
        if let Some(start) = family(name) {
            if !is_setting("", start) {
                return Err(
                    "before its *, the name of a family may have only upper-case letters, digits \
                     and _"
                        .to_owned(),
                );
            }
            if !self.default.is_empty() {
                return Err("a family has no `default`".to_owned());
            }
            return Ok(());
        }
        let taken = ["variant"]
            .iter()
            .chain(&COMMON)
            .chain(&SPECIAL)
            .any(|other| *other == name);
        if taken || !is_name(name) || !is_placeholder(name) {
            return Err(format!(
                "a name may have only lower-case letters and _, and must not be one of: {} {} variant",
                COMMON.join(" "),
                SPECIAL.join(" ")
            ));
        }
        if self.values.as_ref().is_some_and(Vec::is_empty) {
            return Err("`values` is empty".to_owned());
        }
        if self.folder && !self.default.is_empty() {
            return Err("a folder has no `default`".to_owned());
        }
        self.check_value(name, &self.default)
    }

    /// Refuses a value that it cannot have.
    fn check_value(&self, name: &str, value: &str) -> Result<(), String> {
        if let Some(longest) = self.longest.filter(|longest| value.len() > *longest) {
            return Err(format!(
                "the value of {name}= may have at most {longest} bytes"
            ));
        }
        if self.path && value.contains('/')
            || self.version && value.starts_with(|first: char| first.is_ascii_digit())
        {
            return Ok(());
        }
        match &self.values {
            Some(values) if !values.iter().any(|known| known == value) => {
                let known: Vec<&str> = values.iter().map(String::as_str).collect();
                let version = if self.version {
                    ", a version such as 6.12"
                } else {
                    ""
                };
                let path = if self.path {
                    ", or a path (with a `/`)"
                } else {
                    ""
                };
                Err(format!(
                    "{name}= does not accept `{value}`; it accepts: {}{version}{path}{}",
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

fn join<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
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
boards = ["b", "*"]
build = ["-DSET_Z=1"]
[boards."*"]
about = "any other board"
unit = "cycles"
order = "line"
flash = ["flash", "{board}", "{here}"]
[options."SET_*"]
about = "a setting"
build = ["-D{name}={value}"]
command = ["{name}", "{value}"]
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

    fn chosen(spec: &str) -> Result<ChosenTarget, String> {
        let Spec::Described(choice) = spec.parse().unwrap() else {
            panic!("{spec}");
        };
        Description::parse("t.toml", TEXT)?.choose(&choice)
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn board_and_variants_become_words() {
        let values = PlaceholderValues {
            agent_sources: "/A",
            here: "/H",
            out: "/{board}",
            linux_agent: "/L",
            tool: "7",
        };
        let one = chosen("t,variant=x").unwrap().fill(&values);
        assert_eq!(
            one.build,
            words(&["make", "OUT=/{board}", "BOARD=a", "O=1", "X=1"])
        );
        assert_eq!(one.image.as_deref(), Some("/{board}/k.elf"));
        let command = words(&["emu", "-kernel", "/{board}/k.elf", "-w", "", "-x", "a"]);
        assert_eq!(one.source, RecordSource::Command(command));
        assert_eq!(one.choice.to_string(), "t:a,variant=x");
        assert_eq!(
            (one.samples, one.runs, one.unit),
            (1000, 2, Unit::Instructions)
        );
        assert_eq!(one.variant_name(), "x");
        let other = chosen("t:b,serial=/dev/x").unwrap().fill(&values);
        assert_eq!(other.build[3..], words(&["BOARD=a", "O=1"]));
        assert_eq!(other.reset, words(&["reset", "/dev/x@9600"]));
        assert_eq!(
            (other.samples, other.runs, other.unit),
            (500, 10, Unit::Cycles)
        );
        assert_eq!(other.silence, Duration::from_secs(3));
        assert_eq!(other.variant_name(), "default");
    }

    #[test]
    fn option_values_replace_placeholders() {
        let values = PlaceholderValues {
            agent_sources: "",
            here: "",
            out: "{words}",
            linux_agent: "",
            tool: "",
        };
        let one = chosen("t,o=a b,words={out}").unwrap().fill(&values);
        let build = words(&["make", "OUT={words}", "BOARD=a", "O=a b"]);
        assert_eq!(one.build, build);
        let RecordSource::Command(command) = &one.source else {
            panic!("it has a command");
        };
        assert_eq!(command[3..], words(&["-w", "{out}"]));
        assert_eq!(one.choice.to_string(), "t:a,o=a b,words={out}");
        assert_eq!(chosen("t,o=../x").unwrap().options["o"], "../x");
    }

    #[test]
    fn settings_of_a_family_add_words_for_each() {
        let values = PlaceholderValues {
            agent_sources: "",
            here: "",
            out: "",
            linux_agent: "",
            tool: "",
        };
        let one = chosen("t,SET_B2={o},SET_A=y,o=2,variant=x").unwrap();
        assert_eq!(
            one.choice.to_string(),
            "t:a,variant=x,SET_A=y,SET_B2={o},o=2"
        );
        assert_eq!(one.settings, ["SET_A", "SET_B2"]);
        assert_eq!(one.options["SET_A"], "y");
        assert!(has_placeholder(&one.build, "SET_A"));
        let one = one.fill(&values);
        assert_eq!(
            one.build[3..],
            words(&["O=2", "-DSET_A=y", "-DSET_B2={o}", "X=1"])
        );
        let RecordSource::Command(command) = &one.source else {
            panic!("it has a command");
        };
        assert_eq!(command[5..9], words(&["SET_A", "y", "SET_B2", "{o}"]));
        let same = chosen("t:b,SET_Z=1,variant=z").unwrap();
        assert_eq!(same.build.last().unwrap(), "-DSET_Z=1");
    }

    #[test]
    fn longest_family_is_taken() {
        let text = TEXT.replace(
            "[options.o]",
            "[options.\"SET_A_*\"]\nabout = \"A\"\nvalues = [\"y\"]\n[options.o]",
        );
        let description = Description::parse("t.toml", &text).unwrap();
        let about = |name: &str| Some(description.option(name)?.about.as_str());
        assert_eq!(about("SET_A_B"), Some("A"));
        assert_eq!(about("SET_A_"), Some("a setting"));
        assert_eq!(about("SET_"), None);
        assert_eq!(about("SET_*"), None);
        assert_eq!(about("SET_a"), None);
    }

    #[test]
    fn unlisted_boards_need_a_serial_line() {
        let values = PlaceholderValues {
            agent_sources: "",
            here: "/H",
            out: "",
            linux_agent: "",
            tool: "",
        };
        let one = chosen("t:v@1.0/w/x,serial=/dev/x,variant=z")
            .unwrap()
            .fill(&values);
        assert_eq!(one.board, "v@1.0/w/x");
        assert_eq!(one.flash, words(&["flash", "v@1.0/w/x", "/H"]));
        assert_eq!(
            one.choice.to_string(),
            "t:v@1.0/w/x,serial=/dev/x,variant=z"
        );
        assert!(one.build.contains(&"BOARD=v@1.0/w/x".to_owned()));
    }

    #[test]
    fn board_comes_from_an_option_or_a_list() {
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
    fn unknown_names_are_rejected_with_a_list_of_known_ones() {
        for (spec, why) in [
            (
                "t:aa",
                "board `aa` needs the serial line that it prints its records on: serial=DEVICE; these boards are known: a, b",
            ),
            ("t:a,SET_A=", "the value of SET_A= must be one word"),
            ("t:a,SET_A=x y", "the value of SET_A= must be one word"),
            ("t:a,set_a=y", "; did you mean SET_A?"),
            ("t:a,ABC=y", "SET_*=..., o=..., words=...; did you mean SET_ABC?"),
            (
                "t:b,SET_Z=2,variant=z",
                "the variants and settings of `t:b,variant=z,SET_Z=2` conflict: one sets -DSET_Z=2, another -DSET_Z=1",
            ),
            ("t,variant=w", "there is no variant `w`; there are: x, y, z"),
            (
                "t,variant=z",
                "board `a` has no variant `z`; these have it: b, *",
            ),
            (
                "t,variant=x+y",
                "`t,variant=x+y` conflict: one sets X=1, another X=2",
            ),
            ("t,baud=9600", "has no serial line"),
            (
                "t,word=x",
                "there is no option `word`; there are: variant=A+B, serial=DEVICE, baud=N, SET_*=..., o=..., words=...",
            ),
            ("t,word=x", "did you mean words?"),
            ("t,o=3", "o= does not accept `3`; it accepts: 1, 2, a b, or a path"),
            ("t,words=0123456789", "the value of words= may have at most 9 bytes"),
        ] {
            let error = chosen(spec).unwrap_err();
            assert!(error.contains(why), "{spec}: {error}");
        }
    }

    #[test]
    fn versions_are_accepted_where_the_description_says_so() {
        let text = TEXT.replacen("path = true", "version = true", 1);
        let description = Description::parse("t.toml", &text).unwrap();
        let option = description.option("o").unwrap();
        for version in ["1", "6.12", "6.12.107-rt"] {
            assert_eq!(option.check_value("o", version), Ok(()));
        }
        let error = option.check_value("o", "v6").unwrap_err();
        assert!(error.contains("a version such as 6.12"), "{error}");
        assert!(option.check_value("o", "./6").is_err());
    }

    /// Replaces a part of the text; the description must then be refused with this message.
    #[track_caller]
    fn expect_error(from: &str, to: &str, why: &str) {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT);
        let error = Description::parse("t.toml", &text).unwrap_err();
        assert!(error.starts_with("t.toml"), "{error}");
        assert!(error.contains(why), "{why}: {error}");
    }

    #[test]
    fn errors_in_families_and_boards_are_named() {
        for (from, to, why) in [
            (
                "[options.\"SET_*\"]",
                "[options.\"set_*\"]",
                "[options.set_*]: before its *,",
            ),
            (
                "about = \"a setting\"",
                "about = \"a setting\"\ndefault = \"y\"",
                "[options.SET_*]: a family has no `default`",
            ),
            (
                "{name}={value}",
                "{names}",
                "[options.SET_*]: `build` has an unknown placeholder {names}",
            ),
            (
                "{o}",
                "{name}",
                "[options.o]: `build` has an unknown placeholder {name}",
            ),
            (
                "board = \"a\"",
                "board = \"*\"",
                "board = \"*\" is not one of its boards: a, b",
            ),
            (
                "[boards.b]",
                "[boards.\"b c\"]",
                "[boards.b c]: a name may have",
            ),
            (
                "serial = \"/dev/ttyS9\"\nbaud = 9600",
                "",
                "[boards.b]: it needs `command` or `serial`",
            ),
        ] {
            expect_error(from, to, why);
        }
    }

    #[test]
    fn errors_name_the_file_and_the_key() {
        for (from, to, why) in [
            ("silence", "silense", "t.toml:17: unknown field `silense`"),
            (
                "board = \"a\"",
                "board = \"q\"",
                "board = \"q\" is not one of its boards: a, b",
            ),
            (
                "{out}/k",
                "{image}/k",
                "`image` has an unknown placeholder {image}",
            ),
            (
                "baud = 9600",
                "baud = 9601",
                "[boards.b]: `9601` is not a baud rate",
            ),
            (
                "order = \"line\"",
                "order = \"arguments\"",
                "[boards.b]: with `serial`, `order` must be",
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
                "[variants.x y]: a name may have",
            ),
            (
                "[\"b\", ",
                "[\"c\", ",
                "[variants.z]: there is no board `c`",
            ),
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
            ("\"semihosting\"", "\"command\"", "require each other"),
            (
                "[options.o]",
                "[options.out]",
                "[options.out]: a name may have",
            ),
            ("[options.o]", "[options.O]", "[options.O]: a name may have"),
            (
                "default = \"1\"",
                "default = \"3\"",
                "[options.o]: o= does not accept `3`",
            ),
            (
                "{words}",
                "{word}",
                "[options.words]: `command` has an unknown placeholder {word}",
            ),
        ] {
            expect_error(from, to, why);
        }
    }

    #[test]
    fn built_in_descriptions_are_valid() {
        for (name, text) in sources::targets() {
            let description = Description::parse(name, text).unwrap();
            assert!(!text.contains("{here}"), "{name} has no folder");
            for board in description.listed_boards() {
                let variants = description.variants.iter();
                let has = |v: &Variant| v.boards.as_ref().is_none_or(|b| b.contains(board));
                for (variant, _) in variants.filter(|(_, variant)| has(variant)) {
                    let spec = format!("{name}:{board},variant={variant}");
                    let Ok(Spec::Described(choice)) = spec.parse() else {
                        panic!("{spec}");
                    };
                    description.choose(&choice).unwrap();
                }
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_handled(text in any::<String>()) {
            let _ = Description::parse("t", &text);
        }

        #[test]
        fn arbitrary_changes_to_a_valid_text_are_handled(at in 0..TEXT.len(), what in "[\\PC\n]{0,3}") {
            let mut text = TEXT.to_owned();
            text.replace_range(at..=at, &what);
            if let Ok(description) = Description::parse("t", &text) {
                for spec in ["t", "t:b,variant=x+z,o=2", "t:c/d,serial=e,SET_A={o}"] {
                    if let Ok(Spec::Described(choice)) = spec.parse() {
                        let values = PlaceholderValues { agent_sources: "{out}", here: "{here}", out: "{agent_sources}", linux_agent: "{tool}", tool: "{o}" };
                        let _ = description.choose(&choice).map(|chosen| chosen.fill(&values));
                    }
                }
            }
        }
    }
}
