// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `import`: the results of another tool as a saved run.

use std::ffi::OsStr;
use std::fs;
use std::io::{Cursor, Read as _, Write};
use std::path::{Path, PathBuf};

use super::{print, style, worth, Failure, Outcome, WIDTH};
use crate::base::text::{paragraph, plain};
use crate::commands::arguments;
use crate::files::store::{Input, PartialRun};
use crate::import::{self, criterion, records, Imported, Problem, FORMATS};
use crate::report::terminal;
use crate::stream::run::Fact;
use crate::stream::run::IMPORTED;
use crate::stream::session;

/// Reads the files as one run, saves it where the user says and shows it.
pub(super) fn import(arguments: &arguments::Import) -> Outcome {
    let named = |name: &String| FORMATS.iter().copied().find(|format| format.name == *name);
    let wanted = arguments.format.as_ref().and_then(named);
    let mut stream = Vec::new();
    for path in &arguments.files {
        let imported = imported(path, wanted, &mut |_| false)?
            .map_err(|problem| failure(path, wanted, &problem))?;
        records::write(imported, &facts(path), &mut |line| stream.extend(line));
    }
    let run = session::read(&stream);
    let output = arguments.output.as_deref();
    let path = output.map(|path| save(path, &stream)).transpose();
    let path = path.map_err(Failure::Failed)?;
    print(terminal::table(&run, &style()).as_bytes())?;
    if let Some(path) = path {
        eprintln!("saved: {}", path.display());
    }
    Ok(worth(&run))
}

/// What a file of another tool says, or why that is nothing. Lines that `other` takes are not its.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn imported(
    path: &Path,
    wanted: Option<&'static import::Format>,
    other: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Result<Imported, Problem>, Failure> {
    let mut input = Input::open(path).map_err(Failure::Failed)?;
    let mut source = neighbour(path).chain(input.reader());
    match import::read_beside(&mut source, wanted, other) {
        Err(Problem::Io(error)) => Err(Failure::Failed(input.unreadable(&error))),
        read => Ok(read),
    }
}

/// What is known of an imported file itself.
pub(super) fn facts(path: &Path) -> [Fact; 2] {
    let name = path.file_name().unwrap_or(path.as_os_str());
    [
        Fact::new("tool", concat!("kernmark ", env!("CARGO_PKG_VERSION"))),
        Fact::new(IMPORTED, name.to_string_lossy()),
    ]
}

/// Says why a file was not imported.
pub(super) fn failure(
    path: &Path,
    wanted: Option<&'static import::Format>,
    problem: &Problem,
) -> Failure {
    if matches!(problem, Problem::Unknown(_)) {
        tell_formats(path, wanted);
    }
    Failure::Failed(format!("{}: {problem}", path.display()))
}

/// What says what a file of criterion is of: it stands in a file beside it.
fn neighbour(path: &Path) -> Cursor<Vec<u8>> {
    let name = path.file_name().and_then(OsStr::to_str);
    let is_nameless = name.is_some_and(criterion::is_nameless);
    let names = is_nameless.then(|| fs::read(path.with_file_name(criterion::NAMES)));
    let names = names.and_then(Result::ok);
    Cursor::new(
        names
            .filter(|text| criterion::is_name(text))
            .unwrap_or_default(),
    )
}

/// What a file was looked through for.
fn tell_formats(path: &Path, wanted: Option<&'static import::Format>) {
    eprintln!("looked in {} for:", plain(&path.display().to_string()));
    let formats = wanted.map_or(FORMATS.to_vec(), |format| vec![format]);
    let width = formats.iter().map(|format| format.name.len()).max();
    for format in formats {
        let mut lines = String::new();
        let head = format!("  {:<1$}  ", format.name, width.unwrap_or(0));
        paragraph(&mut lines, &head, format.mark, WIDTH);
        eprintln!("{}", lines.trim_end());
    }
}

fn save(path: &Path, stream: &[u8]) -> Result<PathBuf, String> {
    let mut part = PartialRun::create(path)?;
    let written = part.write_all(stream);
    part.finish(written)
}
