// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the instructions of an emulated target: tells the plugin for QEMU (`agent/trace`) where
//! the agent's marks are, and reads the list that it writes. Where QEMU does not take the plugin, the
//! list is made from its log.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::description::Trace;
use super::execution_log::ExecutionLog;
use super::plugin::{self, escaped, Lister};
use super::Order;
use crate::base::interrupt::Interrupt;
use crate::trace::image::Image;
use crate::trace::list::List;
use crate::trace::log::Code;
use crate::trace::source::{Place, Sources};
use crate::trace::symbols::{of_kallsyms, Symbols};
use crate::trace::Seen;

/// What to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// The case; `None`: all.
    pub case: Option<String>,
    /// Whether accesses to memory are counted.
    pub counts: bool,
    /// Whether the emulator disassembles the instructions.
    pub text: bool,
}

/// The name of the program in a file: an unstripped copy has its name, and so has a module.
fn program(path: &Path) -> &OsStr {
    let name = match path.extension().and_then(OsStr::to_str) {
        Some("symbols" | "ko") => path.file_stem(),
        _ => path.file_name(),
    };
    name.unwrap_or_default()
}

/// Follows the instructions of sessions, and reads their lists.
#[derive(Debug)]
pub struct Tracer {
    /// The marks and the list are here.
    folder: tempfile::TempDir,
    lister: Lister,
    /// The code of the agent's program, if the list is made from a log.
    code: Option<Code>,
    /// The log of the session that runs.
    log: RefCell<Option<ExecutionLog>>,
    images: Vec<Image>,
    /// The files of the images with fixed addresses.
    files: Vec<PathBuf>,
    command: Vec<String>,
    wanted: RefCell<TraceOptions>,
    /// The cases of the last session, in the order in which they are measured.
    cases: RefCell<Vec<String>>,
}

impl Tracer {
    /// Prepares to follow what runs the programs of a description in this emulator.
    ///
    /// # Errors
    ///
    /// A program cannot be read, none has the agent's marks, or the emulator lists no instructions.
    pub(super) fn new(
        trace: &Trace,
        emulator: &str,
        wanted: TraceOptions,
        interrupt: &Interrupt,
    ) -> Result<Self, String> {
        let lister = plugin::lister(emulator, interrupt)?.ok_or("interrupted")?;
        let (mut images, mut files, mut code) = (Vec::new(), Vec::new(), None);
        for path in &trace.programs {
            let path = Path::new(path);
            let name = program(path).to_string_lossy();
            match fs::read(path) {
                Ok(bytes) => {
                    let image = Image::read(&name, &bytes)?;
                    if image.has_marks() {
                        code = Some(Code::read(&name, &bytes));
                    }
                    if image.module_text.is_none() {
                        files.push(path.to_owned());
                    }
                    images.push(image);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
            }
        }
        // The marks of a module come after those of programs with fixed addresses.
        images.sort_by_key(|image| image.module_text.is_some());
        if !images.iter().any(Image::has_marks) {
            return Err(format!(
                "none of {} has the agent's marks (agent/mark.h), so its samples cannot be found",
                trace.programs.join(", ")
            ));
        }
        let folder = tempfile::Builder::new()
            .prefix("kernmark-trace-")
            .tempdir()
            .map_err(|error| format!("cannot create a folder for the trace: {error}"))?;
        let marks: String = images.iter().map(Image::marks).collect();
        fs::write(folder.path().join("marks"), marks)
            .map_err(|error| format!("cannot write the marks for the trace: {error}"))?;
        Ok(Tracer {
            folder,
            code: code_for(&lister, trace, &images, code)?,
            lister,
            log: RefCell::default(),
            images,
            files,
            command: trace.command.clone(),
            wanted: RefCell::new(wanted),
            cases: RefCell::default(),
        })
    }

    /// What to follow in the next sessions.
    pub fn follow(&self, wanted: TraceOptions) {
        self.wanted.replace(wanted);
    }

    /// Makes the command of a session list what it executes.
    pub(super) fn extend(&self, command: &mut Vec<String>, order: &Order) -> Result<(), String> {
        let Order::Run { cases, all, .. } = order else {
            return Ok(());
        };
        let sorted = all.iter().filter(|case| cases.contains(case));
        self.cases.replace(sorted.cloned().collect());
        let wanted = self.wanted.borrow();
        let place = |case: &String| {
            let place = self.cases.borrow().iter().position(|other| other == case);
            place.ok_or_else(|| format!("{case} is not among the measured cases"))
        };
        let place = wanted.case.as_ref().map(place).transpose()?;
        let folder = self.folder.path();
        command.extend(self.command.iter().cloned());
        match &self.lister {
            Lister::Plugin(plugin) => {
                let mut setting = format!(
                    "{},marks={},into={}",
                    escaped(plugin),
                    escaped(&folder.join("marks")),
                    escaped(&folder.join("list"))
                );
                if let Some(place) = place {
                    let _ = write!(setting, ",cases={place}");
                }
                if wanted.counts {
                    setting.push_str(",counts=on");
                }
                if wanted.text {
                    setting.push_str(",text=on");
                }
                command.extend(["-plugin".to_owned(), setting]);
            }
            Lister::Log { instead, step } => {
                if wanted.counts {
                    return Err(format!("accesses to memory cannot be counted: {instead}"));
                }
                let (pipe, list) = (folder.join("log"), folder.join("list"));
                let code = self.code.clone().ok_or_else(|| instead.clone())?;
                let log = ExecutionLog::start(&pipe, list, self.marks(), code, place)?;
                self.log.replace(Some(log));
                plugin::log_into(&pipe, *step, command);
            }
        }
        Ok(())
    }

    fn marks(&self) -> String {
        self.images.iter().map(Image::marks).collect()
    }

    /// Why the list comes from the emulator's log, which takes longer. `None` if it does not.
    #[must_use]
    pub fn why_log(&self) -> Option<&str> {
        match &self.lister {
            Lister::Plugin(_) => None,
            Lister::Log { instead, .. } => Some(instead),
        }
    }

    /// The cases of the last session, in the order in which they were measured.
    #[must_use]
    pub fn cases(&self) -> Vec<String> {
        self.cases.borrow().clone()
    }

    /// Where the instructions at these addresses come from, as far as the programs have debug
    /// information.
    ///
    /// # Errors
    ///
    /// A program cannot be read any more, or its debug information is damaged.
    pub fn places(&self, addresses: &[u64]) -> Result<BTreeMap<u64, Place>, String> {
        let mut places = BTreeMap::new();
        for path in &self.files {
            let name = program(path).to_string_lossy();
            let bytes = fs::read(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let Some(sources) = Sources::read(&name, &bytes)? else {
                continue;
            };
            for address in addresses {
                let place = sources.place(*address);
                places.extend(place.map(|place| (*address, place)));
            }
        }
        Ok(places)
    }

    /// Reads the list of the last session, and the names of the functions that ran in it.
    ///
    /// # Errors
    ///
    /// The emulator did not write the list or did not finish it.
    pub fn read(&self) -> Result<Seen, String> {
        let path = self.folder.path().join("list");
        let in_context = |why: String| format!("the trace of the emulator: {why}");
        if let Some(log) = self.log.take() {
            log.finish().map_err(in_context)?;
        }
        let file = File::open(path).map_err(|error| in_context(error.to_string()))?;
        let list = List::read(BufReader::with_capacity(1 << 20, file)).map_err(in_context)?;
        let mut symbols = Vec::new();
        for image in &self.images {
            let base = image.module_text.is_some().then_some(list.base);
            // What the guest lists is more than the file of a module: it has those of its kernel.
            let base = match base {
                Some(None) => continue,
                Some(Some(base)) => base,
                None => 0,
            };
            symbols.extend(image.symbols.iter().cloned().map(|mut symbol| {
                symbol.address = symbol.address.wrapping_add(base);
                symbol
            }));
        }
        symbols.extend(of_kallsyms(&list.said));
        let mut symbols = Symbols::new(symbols);
        let executed = list.instructions.values();
        let starts = symbols.starts(executed.map(|instruction| instruction.address));
        for (start, place) in self.places(&starts)? {
            symbols.set_file(start, &place.file);
        }
        let set = self.images.first().map(|image| image.set);
        Ok(Seen {
            list,
            symbols,
            has_counts: self.wanted.borrow().counts,
            set: set.ok_or_else(|| in_context("it has no program".to_owned()))?,
        })
    }
}

/// The code that a log is read with. `None` if the plugin is used.
fn code_for(
    lister: &Lister,
    trace: &Trace,
    images: &[Image],
    code: Option<Result<Code, String>>,
) -> Result<Option<Code>, String> {
    let Lister::Log { instead, .. } = lister else {
        return Ok(None);
    };
    let moves = images.iter().any(|image| image.module_text.is_some());
    // What tells the plugin about its kernel is a Linux.
    if moves || !trace.command.is_empty() {
        return Err(format!(
            "the instructions of Linux can be followed with the plugin only, and {instead}"
        ));
    }
    let code = code.transpose();
    code.map_err(|why| format!("{why}; and {instead}"))
}
