// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parses the argument of `--on` into a [`Spec`], and prints it back in canonical form. Does no
//! input or output.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The default baud rate.
pub const BAUD: u32 = 115_200;

/// Baud rates that serial lines support.
const BAUDS: [u32; 25] = [
    1200, 1800, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 250_000, 460_800,
    500_000, 576_000, 921_600, 1_000_000, 1_152_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000,
    3_500_000, 4_000_000, 6_000_000, 12_000_000,
];

/// The variant that changes nothing.
pub const DEFAULT: &str = "default";

/// The options that all described targets have.
pub const COMMON_OPTIONS: &str = "variant=A+B, serial=DEVICE, baud=N";

/// What `--on` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spec {
    /// The Linux that this tool runs on.
    #[default]
    Linux,
    /// A target that a description file defines.
    Described(Choice),
    /// A board that prints records on a serial line.
    Serial {
        /// The device of the line.
        device: PathBuf,
        /// Its baud rate.
        baud: u32,
    },
    /// A shell command that prints records.
    Exec(String),
    /// A saved record stream; `-` is standard input.
    File(PathBuf),
}

/// A described target, with a board, variants and options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where its description is.
    pub target: DescriptionLocation,
    /// The board; `None` for the description's default.
    pub board: Option<String>,
    /// The variants, sorted, without [`DEFAULT`].
    pub variants: Vec<String>,
    /// The serial line; `None` for the one in the description.
    pub serial: Option<PathBuf>,
    /// The baud rate; `None` for the one in the description.
    pub baud: Option<u32>,
    /// Values of the options that the description defines.
    pub options: BTreeMap<String, String>,
}

impl Choice {
    /// A target by name, with a board and nothing else.
    #[must_use]
    pub fn of_board(target: &str, board: &str) -> Self {
        Choice {
            target: DescriptionLocation::Named(target.to_owned()),
            board: Some(board.to_owned()),
            variants: Vec::new(),
            serial: None,
            baud: None,
            options: BTreeMap::new(),
        }
    }
}

/// Where a description is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionLocation {
    /// Among the user's or the built-in descriptions.
    Named(String),
    /// In this file.
    File(PathBuf),
}

impl fmt::Display for DescriptionLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescriptionLocation::Named(name) => f.write_str(name),
            DescriptionLocation::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Linux => f.write_str("linux"),
            Spec::Described(choice) => choice.fmt(f),
            Spec::Serial { device, baud } => write!(f, "serial:{}@{baud}", device.display()),
            Spec::Exec(command) => write!(f, "exec:{command}"),
            Spec::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)?;
        if let Some(board) = &self.board {
            write!(f, ":{board}")?;
        }
        if let Some(device) = &self.serial {
            write!(
                f,
                ",serial={}",
                escape_commas(&device.display().to_string())
            )?;
        }
        if let Some(baud) = self.baud {
            write!(f, ",baud={baud}")?;
        }
        if !self.variants.is_empty() {
            write!(f, ",variant={}", self.variants.join("+"))?;
        }
        for (name, value) in &self.options {
            write!(f, ",{name}={}", escape_commas(value))?;
        }
        Ok(())
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "linux" {
            return Ok(Spec::Linux);
        }
        let require = |rest: &str, what: &str| {
            if rest.is_empty() {
                Err(format!("`{text}` names no {what}"))
            } else {
                Ok(())
            }
        };
        if let Some(command) = text.strip_prefix("exec:") {
            require(command.trim(), "command")?;
            Ok(Spec::Exec(command.to_owned()))
        } else if let Some(path) = text.strip_prefix("file:") {
            require(path, "file")?;
            Ok(Spec::File(path.into()))
        } else if let Some(line) = text.strip_prefix("serial:") {
            let (device, baud) = match line.rsplit_once('@') {
                Some((device, rate)) => (device, baud(rate)?),
                None => (line, BAUD),
            };
            require(device, "device")?;
            let device = device.into();
            Ok(Spec::Serial { device, baud })
        } else {
            choice(text).map(Spec::Described)
        }
    }
}

fn choice(text: &str) -> Result<Choice, String> {
    let (target, rest) = target(text)?;
    let (board, mut rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let end = rest.find(',').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    if let Some(board) = board.filter(|board| !is_board(board)) {
        return Err(format!(
            "`{board}` in `{text}` is not a valid name of a board"
        ));
    }
    let mut choice = Choice {
        target,
        board: board.map(str::to_owned),
        variants: Vec::new(),
        serial: None,
        baud: None,
        options: BTreeMap::new(),
    };
    while let Some(more) = rest.strip_prefix(',') {
        let (pair, next) = more.split_at(end_of_pair(more));
        rest = next;
        match pair.split_once('=') {
            Some(("variant", value)) => {
                for variant in value.split('+') {
                    if !is_name(variant) {
                        return Err(format!(
                            "`{variant}` in `{text}` is not a valid name of a variant"
                        ));
                    }
                    choice.variants.push(variant.to_owned());
                }
            }
            Some(("serial", value)) if !value.is_empty() => {
                choice.serial = Some(value.replace(",,", ",").into());
            }
            Some(("baud", value)) => choice.baud = Some(baud(value)?),
            Some((name, value)) if is_option(name) && name != "serial" => {
                let value = value.replace(",,", ",");
                choice.options.insert(name.to_owned(), value);
            }
            _ => {
                return Err(format!(
                    "`{pair}` in `{text}` is not an option; there are: {COMMON_OPTIONS}, and the \
                     target's own options; write a comma in a value twice"
                ));
            }
        }
    }
    // The order of variants does not matter.
    choice.variants.retain(|variant| variant != DEFAULT);
    choice.variants.sort();
    choice.variants.dedup();
    Ok(choice)
}

/// Where a pair ends: at the first single comma. In a value, commas are doubled.
fn end_of_pair(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b',', Some(b',')) => at += 2,
            (b',', _) => break,
            _ => at += 1,
        }
    }
    at
}

/// A value with its commas doubled, as in the argument.
fn escape_commas(value: &str) -> String {
    value.replace(',', ",,")
}

/// Splits the argument after the description's name or path.
fn target(text: &str) -> Result<(DescriptionLocation, &str), String> {
    const SUFFIX: &str = ".toml";
    let ends = text.match_indices(SUFFIX).map(|(at, _)| at + SUFFIX.len());
    for end in ends {
        let (path, rest) = text.split_at(end);
        if rest.is_empty() || rest.starts_with([':', ',']) {
            return Ok((DescriptionLocation::File(path.into()), rest));
        }
    }
    let end = text.find([':', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if is_name(name) {
        Ok((DescriptionLocation::Named(name.to_owned()), rest))
    } else {
        Err(format!(
            "`{text}` is not a target; there are: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
             PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH; \
             `kernmark targets` lists the names"
        ))
    }
}

fn baud(text: &str) -> Result<u32, String> {
    let is_known = |baud: &u32| BAUDS.contains(baud);
    text.parse().ok().filter(is_known).ok_or_else(|| {
        let all = BAUDS.map(|baud| baud.to_string()).join(" ");
        format!("`{text}` is not a baud rate; there are: {all}")
    })
}

/// Checks a baud rate.
///
/// # Errors
///
/// Serial lines do not support this rate.
pub fn check_baud(rate: u32) -> Result<(), String> {
    baud(&rate.to_string()).map(|_| ())
}

/// Whether a text is valid as the name of a target or a variant. Valid names can be part of a file
/// name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.len() <= 40 && text.chars().all(is_allowed)
}

/// Whether a text is valid as the name of a board: `an385`, `mps2/an385`, `nrf9160dk@0.7.0/nrf9160`.
#[must_use]
pub fn is_board(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(is_allowed)
    };
    text.len() <= 80 && text.split('/').all(is_part)
}

/// The name of a board as part of a file name. Two boards may have the same.
#[must_use]
pub fn board_file_name(board: &str) -> String {
    board.replace(['/', '.', '@'], "_")
}

/// Whether a text is valid as the name of an option. Names of kernel settings may be long.
fn is_option(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.len() <= 100 && text.chars().all(is_allowed)
}

/// The name of the target that a file describes: the file name without its extension, with invalid
/// characters replaced.
#[must_use]
pub fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    if name.is_empty() {
        "target".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(text: &str) -> Result<Spec, String> {
        text.parse()
    }

    /// The canonical text of a spec.
    fn canonical(text: &str) -> String {
        spec(text).unwrap().to_string()
    }

    #[test]
    fn every_form_is_parsed() {
        assert_eq!(spec("linux"), Ok(Spec::Linux));
        assert_eq!(
            spec("exec:printf 'a,b=c' | cat"),
            Ok(Spec::Exec("printf 'a,b=c' | cat".to_owned()))
        );
        assert_eq!(spec("file:-"), Ok(Spec::File("-".into())));
        let serial = |device: &str, baud| Spec::Serial {
            device: device.into(),
            baud,
        };
        assert_eq!(spec("serial:/dev/a"), Ok(serial("/dev/a", 115_200)));
        assert_eq!(spec("serial:/dev/a@9600"), Ok(serial("/dev/a", 9600)));
        let Ok(Spec::Described(choice)) = spec("my/a.toml:b,variant=y+x,serial=/dev/t:1,baud=9600")
        else {
            panic!("no description");
        };
        assert_eq!(choice.target, DescriptionLocation::File("my/a.toml".into()));
        assert_eq!(choice.board.as_deref(), Some("b"));
        assert_eq!(choice.variants, ["x", "y"]);
        assert_eq!(choice.serial, Some("/dev/t:1".into()));
        assert_eq!(choice.baud, Some(9600));
    }

    #[test]
    fn equal_targets_have_the_same_canonical_text() {
        assert_eq!(canonical("freertos"), "freertos");
        assert_eq!(canonical("freertos,variant=default"), "freertos");
        let both = "freertos:m4,variant=O3+canaries";
        assert_eq!(canonical("freertos:m4,variant=canaries+O3"), both);
        assert_eq!(
            canonical("freertos:m4,variant=canaries,variant=O3+default"),
            both
        );
        assert_eq!(canonical("serial:/dev/a"), "serial:/dev/a@115200");
    }

    #[test]
    fn options_accept_any_value() {
        let options = |text: &str| {
            let Ok(Spec::Described(choice)) = spec(text) else {
                panic!("{text}");
            };
            choice.options.into_iter().collect::<Vec<_>>()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let text = "vm:tcg,cmdline=a=1,,2 b,,,kernel=/x:y,empty=";
        assert_eq!(
            options(text),
            [
                pair("cmdline", "a=1,2 b,"),
                pair("empty", ""),
                pair("kernel", "/x:y")
            ]
        );
        assert_eq!(options("vm,a=1,a=2"), [pair("a", "2")]);
        assert_eq!(
            canonical(text),
            "vm:tcg,cmdline=a=1,,2 b,,,empty=,kernel=/x:y"
        );
    }

    #[test]
    fn board_may_have_qualifiers_and_a_revision() {
        for board in ["mps2/an385", "nrf9160dk@0.7.0/nrf9160/ns", "2x_y-z"] {
            let text = format!("zephyr:{board},CONFIG_HZ=100");
            let Spec::Described(choice) = spec(&text).unwrap() else {
                panic!("{text}");
            };
            assert_eq!(choice.board.as_deref(), Some(board));
            assert_eq!(choice.options["CONFIG_HZ"], "100");
            assert_eq!(canonical(&text), text);
            assert!(is_name(&board_file_name(board)), "{board}");
        }
        for board in ["/a", "a/", "a//b", "..", "a/../b", "-a", "*", "a b", "@1"] {
            assert!(spec(&format!("zephyr:{board}")).is_err(), "{board}");
        }
    }

    #[test]
    fn invalid_specs_are_rejected_with_the_valid_forms() {
        for (text, why) in [
            ("", "is not a target"),
            ("serial:", "names no device"),
            (
                "serial:/dev/a@fast",
                "`fast` is not a baud rate; there are: 1200",
            ),
            ("serial:/dev/a@115201", "not a baud rate"),
            ("exec: ", "names no command"),
            ("file:", "names no file"),
            ("a b", "is not a target"),
            ("freertos:", "not a valid name of a board"),
            ("freertos,variant=", "not a valid name of a variant"),
            ("freertos,", "is not an option"),
            ("freertos,,", "is not an option"),
            ("freertos,a b=1", "is not an option"),
            ("freertos,serial=", "is not an option"),
        ] {
            let error = spec(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn file_name_becomes_target_name() {
        assert_eq!(name_of(Path::new("/a/my board.toml")), "my_board");
        assert_eq!(name_of(Path::new("..")), "target");
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_handled(text in any::<String>()) {
            let _ = spec(&text);
        }

        #[test]
        fn canonical_text_parses_to_the_same_spec(
            text in "(linux|[a-z]{1,4}(:[a-z]{1,3}(@[0-9.]{1,3})?(/[a-z]{1,2})?)?|x/y\\.toml)((,variant=[a-c](\\+[a-d])?)|,baud=9600|,serial=/d(,,)?|,o=[a=]?(,,){0,2}|,C_[A-Z0-9_]{1,3}=[a-z\"]{0,2}){0,3}"
        ) {
            if let Ok(first) = spec(&text) {
                prop_assert_eq!(spec(&first.to_string()), Ok(first));
            }
        }
    }
}
