// SPDX-License-Identifier: MIT OR Apache-2.0

//! Targets that a description defines: finds the description, builds the image, starts the board or
//! emulator, and reads its record stream.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::{self as own, Command, Stdio};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::build::{self, BuildResult};
use super::cache::{self, utf8};
use super::description::{
    self, ChosenTarget, Description, OrderMethod, PlaceholderValues, RecordSource,
};
use super::process::{self, last_lines, ToolResult};
use super::serial::SerialLine;
use super::spec::{self, Choice, DescriptionLocation};
use super::stream::{Bounds, Limit, Starts, Until};
use super::tracer::{TraceOptions, Tracer};
use super::{folder, host, sources, Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;
use crate::stream::filter;
use crate::stream::run::{Fact, Unit, REVISION};

/// Time limit for writing an image to a board.
const FLASH_LIMIT: Duration = Duration::from_secs(120);

/// Time limit for resetting a board.
const RESET_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for probing a board.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Time limit for probing the boards of a target when all targets are listed.
const LISTING_PROBE_LIMIT: Duration = Duration::from_secs(1);

/// Time limit for asking a program for its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// A description and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDescription {
    /// The target's name.
    pub name: String,
    /// The text of the file.
    pub text: String,
    /// The folder of the file. `None` if the description is built in.
    folder: Option<PathBuf>,
    /// The parsed description.
    pub description: Description,
}

/// The folder of the user's descriptions. `None` if neither `XDG_CONFIG_HOME` nor `HOME` is set.
fn user_folder() -> Option<PathBuf> {
    env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")))
        .map(|path| path.join("kernmark/targets"))
}

/// Reads the description of a target: from a file, or by name. The user's own descriptions take
/// precedence over the built-in ones.
///
/// # Errors
///
/// There is none, or it is invalid.
pub fn find(target: &DescriptionLocation) -> Result<FoundDescription, String> {
    let (name, file, text) = match target {
        DescriptionLocation::File(path) => (spec::name_of(path), Some(path.clone()), read(path)?),
        DescriptionLocation::Named(name) => {
            let user_file = user_folder().map(|folder| folder.join(format!("{name}.toml")));
            let built_in = || sources::targets().iter().find(|(known, _)| known == name);
            match (user_file.filter(|path| path.is_file()), built_in()) {
                (Some(path), _) => (name.clone(), Some(path.clone()), read(&path)?),
                (None, Some((_, text))) => (name.clone(), None, (*text).to_owned()),
                (None, None) => return Err(unknown_target(name)),
            }
        }
    };
    let origin = match &file {
        Some(path) => path.display().to_string(),
        None => format!("{name}.toml (built in)"),
    };
    let description = Description::parse(&origin, &text)?;
    let file = file.and_then(|path| path::absolute(path).ok());
    Ok(FoundDescription {
        name,
        text,
        folder: file.and_then(|path| Some(path.parent()?.to_owned())),
        description,
    })
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn unknown_target(name: &str) -> String {
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

/// The names of all descriptions, sorted.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = sources::targets()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let entries = user_folder().and_then(|folder| fs::read_dir(folder).ok());
    for path in entries
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

/// A described target that is ready to be measured.
#[derive(Debug)]
pub struct Described<'a> {
    chosen: ChosenTarget,
    /// The folder of its build output.
    out: PathBuf,
    facts: Vec<Fact>,
    line: Option<SerialLine>,
    tracer: Option<Rc<Tracer>>,
    interrupt: &'a Interrupt,
}

/// A target that was looked up, and where to build it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What to measure.
    pub chosen: ChosenTarget,
    /// The folder of its build output, relative to the cache folder.
    out: PathBuf,
    /// The folder of its description. `None` if that is built in.
    folder: Option<PathBuf>,
    /// Why it cannot be used on this machine; `None` if it can.
    unusable: Option<String>,
}

/// Looks up what a choice means. If it names no board, this takes the first of the default boards
/// whose probe succeeds.
///
/// # Errors
///
/// There is no such target, board or variant, or the description is invalid.
pub fn plan(choice: &Choice, interrupt: &Interrupt) -> Result<Plan, String> {
    let found = find(&choice.target)?;
    let (mut choice, candidates) = found.description.candidates(choice)?;
    for name in found.description.folders(&choice) {
        let given = &choice.options[&name];
        let path = folder::absolute(given).map_err(|why| format!("{name}={given}: {why}"))?;
        choice.options.insert(name, path);
    }
    let mut reasons = Vec::new();
    let mut last = None;
    for board in candidates {
        let choice = Choice {
            board: Some(board.clone()),
            ..choice.clone()
        };
        let candidate = found.description.choose(&choice)?;
        let probed = probe(&candidate, found.folder.as_deref(), interrupt)?;
        match &probed {
            Ok(_) => reasons.clear(),
            Err(why) => reasons.push(format!("board `{board}` cannot be used here: {why}")),
        }
        let is_usable = probed.is_ok();
        last = Some((candidate, probed.unwrap_or_default()));
        if is_usable {
            break;
        }
    }
    let (chosen, found_by_probe) = last.ok_or("it has no board")?;
    // Options that the build does not use do not need a build of their own.
    let affects_build = |name: &str| description::has_placeholder(&chosen.build, name);
    let options = chosen
        .options
        .iter()
        .filter(|(name, _)| affects_build(name));
    let options = options.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let folder = found.folder.as_deref().filter(|_| affects_build("here"));
    let folder = folder.map(|folder| folder.as_os_str().as_encoded_bytes());
    let sources = sources::hash().to_le_bytes();
    let pieces = [
        found.text.as_bytes(),
        &sources,
        chosen.board.as_bytes(),
        &found_by_probe,
    ];
    let hash = cache::hash(pieces.into_iter().chain(folder).chain(options));
    let out = format!(
        "{}-{}-{}-{hash:016x}",
        found.name,
        spec::board_file_name(&chosen.board),
        chosen.variant_name()
    );
    Ok(Plan {
        out: Path::new("build").join(out),
        folder: found.folder,
        unusable: (!reasons.is_empty()).then(|| reasons.join("; ")),
        chosen,
    })
}

/// The result of a probe: what it printed, or why the board cannot be used.
type Probed = Result<Vec<u8>, String>;

/// Runs a board's probe. The result does not change while the tool runs, so each probe runs only
/// once.
fn probe(
    chosen: &ChosenTarget,
    folder: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<Probed, String> {
    static RESULTS: Mutex<Option<HashMap<Vec<String>, Probed>>> = Mutex::new(None);
    if chosen.probe.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let chosen = fill_placeholders(chosen.clone(), folder, Path::new(""))?;
    let results = || RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = results().get_or_insert_default().get(&chosen.probe) {
        return Ok(known.clone());
    }
    let probed = run_probe(&chosen.probe, PROBE_LIMIT, interrupt);
    let mut results = results();
    results
        .get_or_insert_default()
        .insert(chosen.probe, probed.clone());
    Ok(probed)
}

fn run_probe(words: &[String], limit: Duration, interrupt: &Interrupt) -> Probed {
    let (program, words) = words.split_first().ok_or("its probe is empty")?;
    let mut command = Command::new(program);
    match process::run_tool(command.args(words), limit, interrupt)? {
        ToolResult::Succeeded(stdout) => Ok(stdout),
        ToolResult::Interrupted => Ok(Vec::new()),
        ToolResult::Failed(what, stderr) => Err(match last_lines(&stderr) {
            lines if lines.is_empty() => format!("{program} {what}"),
            lines => lines,
        }),
    }
}

/// Why boards of a description cannot be used on this machine: a program is missing, or their probe
/// says so. Boards that can be used are left out, and those whose probe is not over in time.
///
/// # Errors
///
/// The agent's sources cannot be written to the cache.
pub fn unusable_boards(
    found: &FoundDescription,
    interrupt: &Interrupt,
) -> Result<BTreeMap<String, String>, String> {
    let started = Instant::now();
    let mut unusable = BTreeMap::new();
    let mut known: HashMap<Vec<String>, Option<String>> = HashMap::new();
    for board in found.description.listed_boards() {
        let choice = Choice::of_board(&found.name, board);
        let chosen = found.description.choose(&choice)?;
        let why = match build::check_needs(&chosen.needs) {
            Err(missing) => Some(missing),
            Ok(()) if chosen.probe.is_empty() => None,
            Ok(()) => {
                let probe =
                    fill_placeholders(chosen, found.folder.as_deref(), Path::new(""))?.probe;
                let run = |probe: &Vec<String>| {
                    let left = LISTING_PROBE_LIMIT.checked_sub(started.elapsed())?;
                    let problem = run_probe(probe, left, interrupt).err();
                    problem.filter(|_| started.elapsed() < LISTING_PROBE_LIMIT)
                };
                let problem = known.get(&probe).cloned().unwrap_or_else(|| run(&probe));
                known.insert(probe, problem.clone());
                problem
            }
        };
        unusable.extend(why.map(|why| (board.clone(), why)));
    }
    Ok(unusable)
}

/// Replaces all placeholders except those of a session. `folder` is that of the description.
fn fill_placeholders(
    chosen: ChosenTarget,
    folder: Option<&Path>,
    out: &Path,
) -> Result<ChosenTarget, String> {
    let agent = sources::folder()?;
    let linux_agent = if chosen.has_placeholder("linux_agent") {
        host::program_file()?
    } else {
        PathBuf::new()
    };
    let here = match folder {
        _ if !chosen.has_placeholder("here") => "",
        Some(folder) => folder
            .to_str()
            .ok_or_else(|| format!("{} is not UTF-8; rename it", folder.display()))?,
        None => return Err("a description that is built in has no folder for {here}".to_owned()),
    };
    Ok(chosen.fill(&PlaceholderValues {
        agent_sources: utf8(&agent)?,
        here,
        out: utf8(out)?,
        linux_agent: utf8(&linux_agent)?,
        tool: &own::id().to_string(),
    }))
}

impl<'a> Described<'a> {
    /// Builds the image and writes it to the board. `None` if the user interrupted it.
    ///
    /// # Errors
    ///
    /// A program is missing, the build failed, or the board cannot be reached. The message says
    /// what to do.
    pub fn prepare(plan: Plan, interrupt: &'a Interrupt) -> Result<Option<Self>, String> {
        build::check_needs(&plan.chosen.needs)?;
        if let Some(why) = plan.unusable {
            return Err(why);
        }
        let out = cache::folder()?.join(&plan.out);
        let chosen = fill_placeholders(plan.chosen, plan.folder.as_deref(), &out)?;
        let BuildResult::Succeeded(built) = build::build(&chosen, &out, interrupt)? else {
            return Ok(None);
        };
        let mut described = Described {
            facts: Vec::new(),
            line: None,
            tracer: None,
            chosen,
            out,
            interrupt,
        };
        if !described.run_tool(&described.chosen.flash, "flash", FLASH_LIMIT)? {
            return Ok(None);
        }
        if let RecordSource::Serial { device, baud } = &described.chosen.source {
            described.line = Some(SerialLine::open(device, *baud)?);
        }
        described.facts = described.own_facts();
        described.facts.extend(built);
        Ok(Some(described))
    }

    /// Facts about the target.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Sets the time without a record after which the target counts as hung.
    pub fn set_silence(&mut self, silence: Duration) {
        self.chosen.silence = silence;
    }

    /// Follows the instructions of the next sessions. The lists are read through the tracer.
    ///
    /// # Errors
    ///
    /// The target does not count instructions, or something that a trace needs is missing.
    pub fn trace(&mut self, wanted: TraceOptions) -> Result<Rc<Tracer>, String> {
        let Some(trace) = &self.chosen.trace else {
            return Err(format!(
                "{} does not count instructions, so they cannot be followed",
                self.chosen.choice
            ));
        };
        let emulator = match &self.chosen.source {
            RecordSource::Command(words) => words.first(),
            RecordSource::Serial { .. } => None,
        };
        let emulator = emulator.ok_or("its command is empty")?;
        let tracer = Rc::new(Tracer::new(trace, emulator, wanted, self.interrupt)?);
        self.tracer = Some(Rc::clone(&tracer));
        Ok(tracer)
    }

    fn own_facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("target", self.chosen.choice.to_string()),
            Fact::new("board", self.chosen.board.clone()),
            Fact::new("variant", self.chosen.variant_name()),
        ];
        let options = self.chosen.options.iter();
        facts.extend(options.map(|(name, value)| Fact::new(name, value.clone())));
        facts.extend(self.chosen.folders.iter().filter_map(|name| {
            let revision = folder::revision(&self.chosen.options[name], self.interrupt)?;
            Some(Fact::new(&format!("{name}{REVISION}"), revision))
        }));
        if let RecordSource::Command(words) = &self.chosen.source {
            facts.extend(
                self.emulator_version(words)
                    .map(|text| Fact::new("emulator", text)),
            );
            facts.push(Fact::new("command", self.command_text(words)));
        }
        facts
    }

    /// The first line of an emulator's version message. `None` if the program is not QEMU.
    fn emulator_version(&self, words: &[String]) -> Option<String> {
        let program = words.first()?;
        let name = Path::new(program).file_name()?.to_str()?;
        if !name.starts_with("qemu-") {
            return None;
        }
        let mut command = Command::new(program);
        match process::run_tool(command.arg("--version"), VERSION_LIMIT, self.interrupt) {
            Ok(ToolResult::Succeeded(stdout)) => {
                let text = String::from_utf8_lossy(&stdout);
                text.lines().next().map(str::to_owned)
            }
            // If the emulator does not work, the run will show it.
            _ => None,
        }
    }

    /// The command, without the paths of the folders of its files.
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

    /// Runs a tool of the description, if it names one. Returns false if the user interrupted it.
    fn run_tool(&self, words: &[String], key: &str, limit: Duration) -> Result<bool, String> {
        let Some((program, words)) = words.split_first() else {
            return Ok(true);
        };
        let mut command = Command::new(program);
        let in_context = |why: String| format!("`{key}` of board {}: {why}", self.chosen.board);
        let result = process::run_tool(command.args(words), limit, self.interrupt);
        match result.map_err(in_context)? {
            ToolResult::Succeeded(_) => Ok(true),
            ToolResult::Interrupted => Ok(false),
            ToolResult::Failed(what, stderr) => Err(in_context(match last_lines(&stderr) {
                lines if lines.is_empty() => format!("{program} {what}"),
                lines => format!("{program} {what}: {lines}"),
            })),
        }
    }

    fn bounds(&self, until: Until) -> Bounds {
        Bounds {
            silence: self.chosen.silence,
            limit: Some(match (self.chosen.unit, &self.chosen.source) {
                (Unit::Instructions, RecordSource::Command(_)) => Limit::CpuTime(self.chosen.limit),
                _ => Limit::WallTime(self.chosen.limit),
            }),
            unit: Some(self.chosen.unit),
            baud: match self.chosen.source {
                RecordSource::Serial { baud, .. } => Some(baud),
                RecordSource::Command(_) => None,
            },
            starts: Starts::Once,
            until,
        }
    }
}

/// The arguments that pass an order to QEMU by semihosting.
fn semihosting(words: &[String]) -> [String; 2] {
    let mut config = "enable=on,target=native,chardev=console".to_owned();
    for word in words {
        config.push_str(",arg=");
        config.push_str(&word.replace(',', ",,"));
    }
    ["-semihosting-config".to_owned(), config]
}

impl Target for Described<'_> {
    fn orders(&self) -> Orders {
        match self.chosen.order {
            OrderMethod::None => Orders::None,
            OrderMethod::Arguments
            | OrderMethod::Command
            | OrderMethod::Semihosting
            | OrderMethod::Line => Orders::Sorted,
        }
    }

    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        if let Some(line) = &mut self.line {
            // Output from before the reset or the order belongs to no session.
            if !self.chosen.reset.is_empty() || self.chosen.order == OrderMethod::Line {
                line.discard_input();
            }
        }
        if !self.run_tool(&self.chosen.reset, "reset", RESET_LIMIT)? {
            return Ok(Ending::Interrupted);
        }
        let words = order.words().join(" ");
        let takes_line = self.chosen.order == OrderMethod::Line;
        let until = match (self.chosen.order, &self.chosen.source, order) {
            (OrderMethod::Line, _, _) | (OrderMethod::None, _, Order::List) => Until::Bye,
            (OrderMethod::None, RecordSource::Serial { .. }, _) => Until::Measured(1),
            (OrderMethod::None, RecordSource::Command(_), _) => Until::End,
            (OrderMethod::Arguments | OrderMethod::Command | OrderMethod::Semihosting, _, _) => {
                Until::EndAfterBye
            }
        };
        let bounds = self.bounds(until);
        if let Some(line) = &mut self.line {
            let order = takes_line.then_some(words.as_str());
            return line.session(order, bounds, self.interrupt, take);
        }
        let RecordSource::Command(command) = &self.chosen.source else {
            return Err("its serial line is not open".to_owned());
        };
        let console = tempfile::NamedTempFile::new()
            .map_err(|error| format!("cannot create a file for the console: {error}"))?;
        let values = [
            ("order", words.as_str()),
            ("console", utf8(console.path())?),
        ];
        let mut all_words = description::fill_words(command, &values);
        if let Some(tracer) = &self.tracer {
            tracer.extend(&mut all_words, order)?;
        }
        let mut arguments = all_words.into_iter();
        let mut command = Command::new(arguments.next().ok_or("its command is empty")?);
        command.args(arguments);
        let ending = match self.chosen.order {
            OrderMethod::Line => {
                process::ordered_session(&mut command, &words, bounds, self.interrupt, take)
            }
            OrderMethod::None
            | OrderMethod::Arguments
            | OrderMethod::Command
            | OrderMethod::Semihosting => {
                match self.chosen.order {
                    OrderMethod::Arguments => command.args(order.arguments()),
                    OrderMethod::Semihosting => command.args(semihosting(&order.words())),
                    _ => &mut command,
                };
                let child = process::start(&mut command, Stdio::null())?;
                process::session(child, bounds, self.interrupt, take)
            }
        }?;
        Ok(with_console(ending, console.path()))
    }
}

/// Adds the last lines of the machine's console to an ending, if they may explain it.
fn with_console(ending: Ending, console: &Path) -> Ending {
    let may_explain = match &ending {
        Ending::Silent(_)
        | Ending::Noise { .. }
        | Ending::WallTimeLimit(_)
        | Ending::CpuTimeLimit(_)
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
    let lines = match fs::read(console) {
        Ok(bytes) if may_explain => console_summary(&bytes),
        _ => String::new(),
    };
    if lines.is_empty() {
        ending
    } else {
        Ending::Console(Box::new(ending), lines)
    }
}

/// The last lines of a console, in one line. A kernel's panic message comes first if it is further
/// up, before a call trace.
fn console_summary(console: &[u8]) -> String {
    const MOST: usize = 16 << 10;
    let end = &console[console.len().saturating_sub(MOST)..];
    let last = last_lines(end);
    let text = String::from_utf8_lossy(end);
    // Not `panic=`: Linux prints its command line, which may have that word.
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
    fn console_summary_includes_the_panic_message() {
        assert_eq!(console_summary(b""), "");
        let console = b"boot panic=1\nKernel PANIC: no init\n1\n2\n3\n4\n\n";
        assert_eq!(
            console_summary(console),
            "Kernel PANIC: no init / ... / 2 / 3 / 4"
        );
        assert_eq!(console_summary(b"a\npanic: x\nb\n"), "a / panic: x / b");
    }

    #[test]
    fn semihosting_order_escapes_commas() {
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
