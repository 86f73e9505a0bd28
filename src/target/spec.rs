// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `--on` says: which target is measured. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The baud rate of a line whose rate nobody names.
pub const BAUD: u32 = 115_200;

/// Baud rates that serial lines know.
const BAUDS: [u32; 25] = [
    1200, 1800, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 250_000, 460_800,
    500_000, 576_000, 921_600, 1_000_000, 1_152_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000,
    3_500_000, 4_000_000, 6_000_000, 12_000_000,
];

/// The variant that changes nothing.
pub const DEFAULT: &str = "default";

/// What can be said of every described target.
pub const FORMS: &str = "variant=A+B, serial=DEVICE, baud=N";

/// A target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spec {
    /// The Linux that the tool runs on.
    #[default]
    Linux,
    /// One that a file describes.
    Described(Choice),
    /// Whatever a serial line says.
    Serial {
        /// The line's device.
        device: PathBuf,
        /// Its baud rate.
        baud: u32,
    },
    /// Whatever a shell command prints.
    Exec(String),
    /// A saved stream; `-` is standard input.
    File(PathBuf),
}

/// A described target, a board and variants of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where its description is.
    pub target: Description,
    /// The board; `None`: the description's default.
    pub board: Option<String>,
    /// The variants, without the one that changes nothing.
    pub variants: Vec<String>,
    /// The serial line, where it is not the description's.
    pub serial: Option<PathBuf>,
    /// The baud rate, where it is not the description's.
    pub baud: Option<u32>,
    /// What is said of the description's own options.
    pub options: BTreeMap<String, String>,
}

/// Where a description is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Description {
    /// Among those of the user or of the tool.
    Named(String),
    /// In this file.
    File(PathBuf),
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Description::Named(name) => f.write_str(name),
            Description::File(path) => write!(f, "{}", path.display()),
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
            write!(f, ",serial={}", doubled(&device.display().to_string()))?;
        }
        if let Some(baud) = self.baud {
            write!(f, ",baud={baud}")?;
        }
        if !self.variants.is_empty() {
            write!(f, ",variant={}", self.variants.join("+"))?;
        }
        for (name, value) in &self.options {
            write!(f, ",{name}={}", doubled(value))?;
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
        let needed = |rest: &str, what: &str| {
            if rest.is_empty() {
                Err(format!("`{text}` names no {what}"))
            } else {
                Ok(())
            }
        };
        if let Some(command) = text.strip_prefix("exec:") {
            needed(command.trim(), "command")?;
            Ok(Spec::Exec(command.to_owned()))
        } else if let Some(path) = text.strip_prefix("file:") {
            needed(path, "file")?;
            Ok(Spec::File(path.into()))
        } else if let Some(line) = text.strip_prefix("serial:") {
            let (device, baud) = match line.rsplit_once('@') {
                Some((device, rate)) => (device, baud(rate)?),
                None => (line, BAUD),
            };
            needed(device, "device")?;
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
    if let Some(board) = board.filter(|board| !is_name(board)) {
        return Err(format!(
            "`{board}` in `{text}` cannot be the name of a board"
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
                            "`{variant}` in `{text}` cannot be the name of a variant"
                        ));
                    }
                    choice.variants.push(variant.to_owned());
                }
            }
            Some(("serial", value)) if !value.is_empty() => {
                choice.serial = Some(value.replace(",,", ",").into());
            }
            Some(("baud", value)) => choice.baud = Some(baud(value)?),
            Some((name, value)) if is_name(name) && name != "serial" => {
                let value = value.replace(",,", ",");
                choice.options.insert(name.to_owned(), value);
            }
            _ => {
                return Err(format!(
                    "`{pair}` in `{text}` says nothing; there are: {FORMS}, and options of the \
                     target; a comma in a value is written twice"
                ));
            }
        }
    }
    // The order in which variants are named changes nothing.
    choice.variants.retain(|variant| variant != DEFAULT);
    choice.variants.sort();
    choice.variants.dedup();
    Ok(choice)
}

/// Where a pair ends: at the first comma that stands alone. A value has two in place of one.
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

/// A value as it is written.
fn doubled(value: &str) -> String {
    value.replace(',', ",,")
}

/// The description's name or path, and what follows it.
fn target(text: &str) -> Result<(Description, &str), String> {
    const SUFFIX: &str = ".toml";
    let ends = text.match_indices(SUFFIX).map(|(at, _)| at + SUFFIX.len());
    for end in ends {
        let (path, rest) = text.split_at(end);
        if rest.is_empty() || rest.starts_with([':', ',']) {
            return Ok((Description::File(path.into()), rest));
        }
    }
    let end = text.find([':', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if is_name(name) {
        Ok((Description::Named(name.to_owned()), rest))
    } else {
        Err(format!(
            "`{text}` is no target; there are: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
             PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH; \
             `kernmark targets` lists the names"
        ))
    }
}

fn baud(text: &str) -> Result<u32, String> {
    let known = |baud: &u32| BAUDS.contains(baud);
    text.parse().ok().filter(known).ok_or_else(|| {
        let all = BAUDS.map(|baud| baud.to_string()).join(" ");
        format!("`{text}` is no baud rate; there are: {all}")
    })
}

/// Checks the baud rate of a description.
///
/// # Errors
///
/// No line has this rate.
pub fn check_baud(rate: u32) -> Result<(), String> {
    baud(&rate.to_string()).map(|_| ())
}

/// Whether a text may be the name of a target, a board or a variant, and part of a file's name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let ordinary = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.len() <= 40 && text.chars().all(ordinary)
}

/// The name that a file gives to the target it describes.
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
    fn every_form_is_read() {
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
        assert_eq!(choice.target, Description::File("my/a.toml".into()));
        assert_eq!(choice.board.as_deref(), Some("b"));
        assert_eq!(choice.variants, ["x", "y"]);
        assert_eq!(choice.serial, Some("/dev/t:1".into()));
        assert_eq!(choice.baud, Some(9600));
    }

    #[test]
    fn the_canonical_text_is_the_same_for_the_same_target() {
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
    fn an_option_has_any_value() {
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
    fn what_makes_no_sense_is_refused_with_what_there_is() {
        for (text, why) in [
            ("", "is no target"),
            ("serial:", "names no device"),
            (
                "serial:/dev/a@fast",
                "`fast` is no baud rate; there are: 1200",
            ),
            ("serial:/dev/a@115201", "no baud rate"),
            ("exec: ", "names no command"),
            ("file:", "names no file"),
            ("a b", "is no target"),
            ("freertos:", "cannot be the name of a board"),
            ("freertos,variant=", "cannot be the name of a variant"),
            ("freertos,", "says nothing"),
            ("freertos,,", "says nothing"),
            ("freertos,a b=1", "says nothing"),
            ("freertos,serial=", "says nothing"),
        ] {
            let error = spec(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_names_its_target() {
        assert_eq!(name_of(Path::new("/a/my board.toml")), "my_board");
        assert_eq!(name_of(Path::new("..")), "target");
    }

    proptest! {
        #[test]
        fn no_text_upsets_it(text in any::<String>()) {
            let _ = spec(&text);
        }

        #[test]
        fn the_canonical_text_reads_as_the_same(
            text in "(linux|[a-z]{1,4}(:[a-z]{1,3})?|x/y\\.toml)((,variant=[a-c](\\+[a-d])?)|,baud=9600|,serial=/d(,,)?|,o=[a=]?(,,){0,2}){0,3}"
        ) {
            if let Ok(first) = spec(&text) {
                prop_assert_eq!(spec(&first.to_string()), Ok(first));
            }
        }
    }
}
