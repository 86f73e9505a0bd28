// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the instructions of an emulated target: builds the plugin for QEMU (`agent/trace`), tells
//! it where the agent's marks are, and reads the list that it writes.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::description::Trace;
use super::plugin::{escaped, plugin_file};
use super::Order;
use crate::base::interrupt::Interrupt;
use crate::trace::image::Image;
use crate::trace::list::List;
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
    plugin: PathBuf,
    images: Vec<Image>,
    command: Vec<String>,
    wanted: RefCell<TraceOptions>,
    /// The cases of the last session, in the order in which they are measured.
    cases: RefCell<Vec<String>>,
}

impl Tracer {
    /// Prepares to follow what runs the programs of a description.
    ///
    /// # Errors
    ///
    /// A program cannot be read, none has the agent's marks, or the plugin cannot be built.
    pub(super) fn new(
        trace: &Trace,
        wanted: TraceOptions,
        interrupt: &Interrupt,
    ) -> Result<Self, String> {
        let mut images = Vec::new();
        for path in &trace.programs {
            let path = Path::new(path);
            let name = program(path).to_string_lossy();
            match fs::read(path) {
                Ok(bytes) => images.push(Image::read(&name, &bytes)?),
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
            plugin: plugin_file(interrupt)?.ok_or("interrupted")?,
            images,
            command: trace.command.clone(),
            wanted: RefCell::new(wanted),
            cases: RefCell::default(),
        })
    }

    /// What to follow in the next sessions.
    pub fn follow(&self, wanted: TraceOptions) {
        self.wanted.replace(wanted);
    }

    /// The words to add to the command of a session.
    pub(super) fn words(&self, order: &Order) -> Result<Vec<String>, String> {
        let Order::Run { cases, all, .. } = order else {
            return Ok(Vec::new());
        };
        let sorted = all.iter().filter(|case| cases.contains(case));
        self.cases.replace(sorted.cloned().collect());
        let folder = self.folder.path();
        let mut setting = format!(
            "{},marks={},into={}",
            escaped(&self.plugin),
            escaped(&folder.join("marks")),
            escaped(&folder.join("list"))
        );
        let wanted = self.wanted.borrow();
        if let Some(case) = &wanted.case {
            let place = self.cases.borrow().iter().position(|other| other == case);
            let place = place.ok_or_else(|| format!("{case} is not among the measured cases"))?;
            let _ = write!(setting, ",cases={place}");
        }
        if wanted.counts {
            setting.push_str(",counts=on");
        }
        if wanted.text {
            setting.push_str(",text=on");
        }
        let mut words = self.command.clone();
        words.extend(["-plugin".to_owned(), setting]);
        Ok(words)
    }

    /// The cases of the last session, in the order in which they were measured.
    #[must_use]
    pub fn cases(&self) -> Vec<String> {
        self.cases.borrow().clone()
    }

    /// Reads the list of the last session, and the names of the functions that ran in it.
    ///
    /// # Errors
    ///
    /// The emulator did not write the list or did not finish it.
    pub fn read(&self) -> Result<Seen, String> {
        let path = self.folder.path().join("list");
        let in_context = |why: String| format!("the trace of the emulator: {why}");
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
        let set = self.images.first().map(|image| image.set);
        Ok(Seen {
            list,
            symbols: Symbols::new(symbols),
            has_counts: self.wanted.borrow().counts,
            set: set.ok_or_else(|| in_context("it has no program".to_owned()))?,
        })
    }
}
