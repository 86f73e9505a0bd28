// SPDX-License-Identifier: MIT OR Apache-2.0

//! A target that a description names: found, built, started, listened to.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self as own, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::build::{self, Built};
use super::description::{self, Chosen, Description, Places, Source, Way};
use super::process::{self, last_lines, Work};
use super::serial::Line;
use super::spec::{self, Choice};
use super::stream::{Bounds, Limit, Starts, Until};
use super::{cache, host, sources, Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;
use crate::stream::filter;
use crate::stream::run::{Fact, Unit};

/// How long writing an image to a board may take.
const FLASH: Duration = Duration::from_secs(120);

/// How long a reset may take.
const RESET: Duration = Duration::from_secs(30);

/// How long a board's probe may take.
const PROBE: Duration = Duration::from_secs(10);

/// How long a program may take to say its version.
const VERSION: Duration = Duration::from_secs(10);

/// A description that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the text says.
    pub description: Description,
}

/// The folder of the user's own descriptions; `None` where no variable says where it belongs.
fn own_folder() -> Option<PathBuf> {
    env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")))
        .map(|path| path.join("kernmark/targets"))
}

/// Reads the description of a target: of a file, or by its name the user's own or one that comes
/// with the tool.
///
/// # Errors
///
/// There is none, or it is wrong.
pub fn find(target: &spec::Description) -> Result<Found, String> {
    let (name, origin, text) = match target {
        spec::Description::File(path) => (spec::name_of(path), path.clone(), read(path)?),
        spec::Description::Named(name) => {
            let own = own_folder().map(|folder| folder.join(format!("{name}.toml")));
            let built_in = || sources::targets().iter().find(|(known, _)| known == name);
            match (own.filter(|path| path.is_file()), built_in()) {
                (Some(path), _) => (name.clone(), path.clone(), read(&path)?),
                (None, Some((_, text))) => {
                    let origin = format!("{name}.toml (built in)").into();
                    (name.clone(), origin, (*text).to_owned())
                }
                (None, None) => return Err(unknown(name)),
            }
        }
    };
    let description = Description::parse(&origin.display().to_string(), &text)?;
    Ok(Found {
        name,
        text,
        description,
    })
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn unknown(name: &str) -> String {
    let names = names();
    let mut all = vec!["linux"];
    all.extend(names.iter().map(String::as_str));
    format!(
        "there is no target `{name}`; there are: {}, and PATH.toml, serial:DEVICE, exec:COMMAND, \
         file:PATH{}",
        all.join(", "),
        filter::suggestion(name, &all)
    )
}

/// The names of all descriptions, in order.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = sources::targets()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let own = own_folder().and_then(|folder| fs::read_dir(folder).ok());
    for path in own
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let name = path.file_stem().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| spec::is_name(name)) {
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// A target whose image is built.
#[derive(Debug)]
pub struct Described<'a> {
    chosen: Chosen,
    /// The folder for what is built.
    out: PathBuf,
    facts: Vec<Fact>,
    line: Option<Line>,
    interrupt: &'a Interrupt,
}

/// What a choice means, and where it is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is measured.
    pub chosen: Chosen,
    /// The folder for what is built.
    out: PathBuf,
    /// Why it cannot be used on this machine.
    unusable: Option<String>,
}

/// Finds out what a choice means. Where it leaves open which board is meant, the first is taken
/// whose probe succeeds.
///
/// # Errors
///
/// There is no such target, board or variant, or its description is wrong.
pub fn plan(choice: &Choice, interrupt: &Interrupt) -> Result<Plan, String> {
    let found = find(&choice.target)?;
    let (choice, candidates) = found.description.candidates(choice)?;
    let mut reasons = Vec::new();
    let mut taken = None;
    for board in candidates {
        let choice = Choice {
            board: Some(board.clone()),
            ..choice.clone()
        };
        let chosen = found.description.choose(&choice)?;
        let unusable = unusable(&chosen, interrupt)?;
        let usable = unusable.is_none();
        reasons.extend(unusable.map(|why| format!("board `{board}` cannot be used here: {why}")));
        taken = Some(chosen);
        if usable {
            reasons.clear();
            break;
        }
    }
    let chosen = taken.ok_or("it has no board")?;
    let built_in = |name: &String| description::holds(&chosen.build, name);
    let options = chosen.options.iter().filter(|(name, _)| built_in(name));
    let options = options.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let sources = sources::hash().to_le_bytes();
    let pieces = [found.text.as_bytes(), &sources];
    let hash = cache::hash(pieces.into_iter().chain(options));
    let folder = format!(
        "{}-{}-{}-{hash:016x}",
        found.name,
        chosen.board,
        chosen.variant()
    );
    Ok(Plan {
        out: Path::new("build").join(folder),
        unusable: (!reasons.is_empty()).then(|| reasons.join("; ")),
        chosen,
    })
}

/// What the probe of a board says against it. It is asked once: what it tells does not change while
/// the tool runs.
fn unusable(chosen: &Chosen, interrupt: &Interrupt) -> Result<Option<String>, String> {
    static KNOWN: Mutex<Option<HashMap<Vec<String>, Option<String>>>> = Mutex::new(None);
    if chosen.probe.is_empty() {
        return Ok(None);
    }
    let chosen = filled(chosen.clone(), Path::new(""))?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    if let Some(told) = known.get(&chosen.probe) {
        return Ok(told.clone());
    }
    let mut words = chosen.probe.iter();
    let program = words.next().map_or("", String::as_str);
    let mut command = Command::new(program);
    let told = match process::work(command.args(words), PROBE, interrupt) {
        Ok(Work::Done(_) | Work::Interrupted) => None,
        Ok(Work::Failed(how, said)) => Some(match last_lines(&said) {
            said if said.is_empty() => format!("{program} {how}"),
            said => said,
        }),
        Err(why) => Some(why),
    };
    known.insert(chosen.probe, told.clone());
    Ok(told)
}

/// Fills the places in the words that a description chose.
fn filled(chosen: Chosen, out: &Path) -> Result<Chosen, String> {
    let agent = sources::folder()?;
    let all = [&chosen.build, &chosen.probe, &chosen.reset, &chosen.flash];
    let in_command = match &chosen.source {
        Source::Command(words) => description::holds(words, "linux_agent"),
        Source::Serial { .. } => false,
    };
    let wanted = in_command || all.iter().any(|w| description::holds(w, "linux_agent"));
    let linux_agent = if wanted {
        host::program_file()?
    } else {
        PathBuf::new()
    };
    Ok(chosen.filled(&Places {
        agent: utf8(&agent)?,
        out: utf8(out)?,
        linux_agent: utf8(&linux_agent)?,
        tool: &own::id().to_string(),
    }))
}

impl<'a> Described<'a> {
    /// Builds the image and brings it to the board. `None` when the user asked to stop.
    ///
    /// # Errors
    ///
    /// A program is missing, the build fails, or the board cannot be reached; what to do.
    pub fn prepare(plan: Plan, interrupt: &'a Interrupt) -> Result<Option<Self>, String> {
        build::check_needs(&plan.chosen.needs)?;
        if let Some(why) = plan.unusable {
            return Err(why);
        }
        let out = cache::folder()?.join(&plan.out);
        let chosen = filled(plan.chosen, &out)?;
        let Built::Done(built) = build::build(&chosen, &out, interrupt)? else {
            return Ok(None);
        };
        let mut described = Described {
            facts: Vec::new(),
            line: None,
            chosen,
            out,
            interrupt,
        };
        if !described.work(&described.chosen.flash, "flash", FLASH)? {
            return Ok(None);
        }
        if let Source::Serial { device, baud } = &described.chosen.source {
            described.line = Some(Line::open(device, *baud)?);
        }
        described.facts = described.own_facts();
        described.facts.extend(built);
        Ok(Some(described))
    }

    /// What is known of the target.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Takes another time without a record after which it counts as hung.
    pub fn set_silence(&mut self, silence: Duration) {
        self.chosen.silence = silence;
    }

    fn own_facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("target", self.chosen.choice.to_string()),
            Fact::new("board", self.chosen.board.clone()),
            Fact::new("variant", self.chosen.variant()),
        ];
        let options = self.chosen.options.iter();
        facts.extend(options.map(|(name, value)| Fact::new(name, value.clone())));
        if let Source::Command(words) = &self.chosen.source {
            facts.extend(self.emulator(words).map(|text| Fact::new("emulator", text)));
            facts.push(Fact::new("command", self.command_text(words)));
        }
        facts
    }

    /// The first line of what an emulator says of its version.
    fn emulator(&self, words: &[String]) -> Option<String> {
        let program = words.first()?;
        let name = Path::new(program).file_name()?.to_str()?;
        if !name.starts_with("qemu-") {
            return None;
        }
        let mut command = Command::new(program);
        match process::work(command.arg("--version"), VERSION, self.interrupt) {
            Ok(Work::Done(printed)) => {
                let text = String::from_utf8_lossy(&printed);
                text.lines().next().map(str::to_owned)
            }
            // The run itself will tell.
            _ => None,
        }
    }

    /// The words of the command, without the folders that its files lie in.
    fn command_text(&self, words: &[String]) -> String {
        let out = format!("{}/", self.out.display());
        let image = self.chosen.image.as_deref().unwrap_or_default();
        let name = Path::new(image).file_name().and_then(|name| name.to_str());
        let words: Vec<String> = words
            .iter()
            .map(|word| word.replace(&out, ""))
            .map(|word| match name {
                Some(name) => word.replace(image, name),
                None => word,
            })
            .collect();
        words.join(" ")
    }

    /// Runs a tool of the description, if it names one; false when the user asked to stop.
    fn work(&self, words: &[String], key: &str, limit: Duration) -> Result<bool, String> {
        let Some((program, words)) = words.split_first() else {
            return Ok(true);
        };
        let mut command = Command::new(program);
        let at = |why: String| format!("`{key}` of board {}: {why}", self.chosen.board);
        match process::work(command.args(words), limit, self.interrupt).map_err(at)? {
            Work::Done(_) => Ok(true),
            Work::Interrupted => Ok(false),
            Work::Failed(how, said) => Err(at(match last_lines(&said) {
                said if said.is_empty() => format!("{program} {how}"),
                said => format!("{program} {how}: {said}"),
            })),
        }
    }

    fn bounds(&self, until: Until) -> Bounds {
        Bounds {
            silence: self.chosen.silence,
            limit: Some(match (self.chosen.unit, &self.chosen.source) {
                (Unit::Instructions, Source::Command(_)) => Limit::Work(self.chosen.limit),
                _ => Limit::Time(self.chosen.limit),
            }),
            unit: Some(self.chosen.unit),
            baud: match self.chosen.source {
                Source::Serial { baud, .. } => Some(baud),
                Source::Command(_) => None,
            },
            starts: Starts::Once,
            until,
        }
    }
}

/// What a semihosting order adds to an emulator's command.
fn semihosting(words: &[String]) -> [String; 2] {
    let mut config = "enable=on,target=native,chardev=console".to_owned();
    for word in words {
        config.push_str(",arg=");
        config.push_str(&word.replace(',', ",,"));
    }
    ["-semihosting-config".to_owned(), config]
}

fn utf8(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("{} is not UTF-8; set XDG_CACHE_HOME", path.display()))
}

impl Target for Described<'_> {
    fn orders(&self) -> Orders {
        match self.chosen.order {
            Way::None => Orders::None,
            Way::Arguments | Way::Command | Way::Semihosting | Way::Line => Orders::Sorted,
        }
    }

    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        if let Some(line) = &mut self.line {
            // What a board said before it was reset, or told what to do, is of no session.
            if !self.chosen.reset.is_empty() || self.chosen.order == Way::Line {
                line.forget();
            }
        }
        if !self.work(&self.chosen.reset, "reset", RESET)? {
            return Ok(Ending::Interrupted);
        }
        let words = order.words().join(" ");
        let ordered = self.chosen.order == Way::Line;
        let until = match (self.chosen.order, &self.chosen.source, order) {
            (Way::Line, _, _) | (Way::None, _, Order::List) => Until::Bye,
            (Way::None, Source::Serial { .. }, _) => Until::Measured(1),
            (Way::None, Source::Command(_), _) => Until::End,
            (Way::Arguments | Way::Command | Way::Semihosting, _, _) => Until::EndAfterBye,
        };
        let bounds = self.bounds(until);
        if let Some(line) = &mut self.line {
            let order = ordered.then_some(words.as_str());
            return line.session(order, bounds, self.interrupt, take);
        }
        let Source::Command(command) = &self.chosen.source else {
            return Err("its serial line is not open".to_owned());
        };
        let console = tempfile::NamedTempFile::new()
            .map_err(|error| format!("cannot make a file for the console: {error}"))?;
        let values = [
            ("order", words.as_str()),
            ("console", utf8(console.path())?),
        ];
        let mut arguments = description::filled(command, &values).into_iter();
        let mut command = Command::new(arguments.next().ok_or("its command is empty")?);
        command.args(arguments);
        let ending = match self.chosen.order {
            Way::Line => {
                process::ordered_session(&mut command, &words, bounds, self.interrupt, take)
            }
            Way::None | Way::Arguments | Way::Command | Way::Semihosting => {
                match self.chosen.order {
                    Way::Arguments => command.args(order.arguments()),
                    Way::Semihosting => command.args(semihosting(&order.words())),
                    _ => &mut command,
                };
                let child = process::start(&mut command, Stdio::null())?;
                process::session(child, bounds, self.interrupt, take)
            }
        }?;
        Ok(quoting(ending, console.path()))
    }
}

/// An ending with the last lines of the machine's console where that may tell why.
fn quoting(ending: Ending, console: &Path) -> Ending {
    let tells = match &ending {
        Ending::Silent(_)
        | Ending::Noise { .. }
        | Ending::Limit(_)
        | Ending::Work(_)
        | Ending::Restarts(_)
        | Ending::Lingers(_)
        | Ending::Unfinished
        | Ending::Status { .. }
        | Ending::Signal { .. }
        | Ending::Flood(_) => true,
        Ending::Done
        | Ending::Unit { .. }
        | Ending::Console(..)
        | Ending::Lost(_)
        | Ending::Interrupted => false,
    };
    let said = match fs::read(console) {
        Ok(bytes) if tells => last_words(&bytes),
        _ => String::new(),
    };
    if said.is_empty() {
        ending
    } else {
        Ending::Console(Box::new(ending), said)
    }
}

/// The last lines of a console, in one line; before them what a kernel says that it panics for,
/// which a trace of calls may follow.
fn last_words(console: &[u8]) -> String {
    const MOST: usize = 16 << 10;
    let end = &console[console.len().saturating_sub(MOST)..];
    let last = last_lines(end);
    let text = String::from_utf8_lossy(end);
    // `panic=` is a word on the command line that it may print.
    let panics = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("panic ") || line.contains("panic:")
    };
    let panic = text.lines().map(str::trim).find(panics);
    match panic {
        Some(panic) if !last.contains(panic) => format!("{panic} / ... / {last}"),
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_have_the_reason_of_a_panic() {
        assert_eq!(last_words(b""), "");
        let console = b"boot panic=1\nKernel PANIC: no init\n1\n2\n3\n4\n\n";
        assert_eq!(
            last_words(console),
            "Kernel PANIC: no init / ... / 2 / 3 / 4"
        );
        assert_eq!(last_words(b"a\npanic: x\nb\n"), "a / panic: x / b");
    }

    #[test]
    fn a_semihosting_order_keeps_its_commas() {
        let words = ["run", "a=1,2"].map(str::to_owned);
        assert_eq!(
            semihosting(&words),
            [
                "-semihosting-config",
                "enable=on,target=native,chardev=console,arg=run,arg=a=1,,2"
            ]
        );
    }
}
