// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `import`: results of another tool in, a run out.

use std::ffi::OsStr;
use std::fs;
use std::io::{Cursor, Read as _, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::Args;

use super::output::{eprint, print, style, WIDTH};
use super::saving::Destination;
use super::{exit, Failure, Outcome};
use crate::base::text::{paragraph, plain};
use crate::files::store::{Input, PartialRun};
use crate::import::{self, criterion, records, Imported, Problem, FORMATS};
use crate::report::table;
use crate::stream::run::Fact;
use crate::stream::run::IMPORTED;
use crate::stream::session;

/// The arguments of `import`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Output of another tool; `-` for standard input
    ///
    /// Several files make one run. Each process or boot in them is a replicate. `show` and
    /// `compare` read such files directly.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// The format of the files [default: detected]
    #[arg(long = "as", value_name = "FORMAT", value_parser = import_format())]
    pub format: Option<String>,

    /// The results are of QEMU with -icount shift=SHIFT: convert their times to instructions
    ///
    /// An instruction takes 2^SHIFT ns there. A run of the same emulator can then be compared.
    #[arg(long, value_name = "SHIFT", value_parser = clap::value_parser!(u8).range(..=10))]
    pub icount: Option<u8>,

    /// Save the run as FILE, which must not exist, or write it to standard output if FILE is -
    ///
    /// With -, the report goes to standard error.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats that can be imported.
fn import_format() -> PossibleValuesParser {
    let values = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
}

/// Reads the files as one run, saves it if the user asked for that, and shows it.
pub(super) fn import(arguments: &Arguments) -> Outcome {
    let named = |name: &String| FORMATS.iter().copied().find(|format| format.name == *name);
    let wanted = arguments.format.as_ref().and_then(named);
    let mut stream = Vec::new();
    for path in &arguments.files {
        let mut imported = imported(path, wanted, &mut |_| false)?
            .map_err(|problem| failure(path, wanted, &problem))?;
        if let Some(shift) = arguments.icount {
            let converted = imported.count_instructions(f64::from(1u32 << shift));
            converted.map_err(|why| Failure::Failed(format!("{}: {why}", path.display())))?;
        }
        records::write(imported, &facts(path), &mut |line| stream.extend(line));
    }
    let run = session::read(&stream);
    let table = table::table(&run, &style());
    match arguments.output.as_deref().map(Destination::named) {
        Some(Destination::File(path)) => {
            let path = save(&path, &stream).map_err(Failure::Failed)?;
            print(table.as_bytes())?;
            eprintln!("saved: {}", path.display());
        }
        Some(_) => {
            print(&stream)?;
            eprint(&table);
        }
        None => {
            print(table.as_bytes())?;
        }
    }
    Ok(exit::of_run(&run))
}

/// The results in a file of another tool, or why there are none. Lines that `other` takes are
/// skipped.
///
/// # Errors
///
/// The file cannot be read, or is empty.
pub(super) fn imported(
    path: &Path,
    wanted: Option<&'static import::Format>,
    other: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Result<Imported, Problem>, Failure> {
    let mut input = Input::open(path).map_err(Failure::Failed)?;
    // A program that failed leaves nothing in its pipe. It has said why.
    if input.reader().fill_buf().is_ok_and(<[u8]>::is_empty) {
        return Err(Failure::Failed(format!("{}: it is empty", path.display())));
    }
    let mut source = neighbour(path).chain(input.reader());
    match import::read_unclaimed(&mut source, wanted, other) {
        Err(Problem::Io(error)) => Err(Failure::Failed(input.unreadable(&error))),
        read => Ok(read),
    }
}

/// Facts about an imported file.
pub(super) fn facts(path: &Path) -> [Fact; 2] {
    let name = path.file_name().unwrap_or(path.as_os_str());
    [
        Fact::new("tool", concat!("kernmark ", env!("CARGO_PKG_VERSION"))),
        Fact::new(IMPORTED, name.to_string_lossy()),
    ]
}

/// Why a file was not imported. Lists the formats that were tried.
pub(super) fn failure(
    path: &Path,
    wanted: Option<&'static import::Format>,
    problem: &Problem,
) -> Failure {
    if matches!(problem, Problem::Unknown(_)) {
        list_formats(path, wanted);
    }
    Failure::Failed(format!("{}: {problem}", path.display()))
}

/// The file next to a file of criterion, which holds the name of its benchmark; else nothing.
fn neighbour(path: &Path) -> Cursor<Vec<u8>> {
    let name = path.file_name().and_then(OsStr::to_str);
    let is_nameless = name.is_some_and(criterion::needs_name_file);
    let names = is_nameless.then(|| fs::read(path.with_file_name(criterion::NAME_FILE)));
    let names = names.and_then(Result::ok);
    Cursor::new(
        names
            .filter(|text| criterion::is_name_file(text))
            .unwrap_or_default(),
    )
}

/// Lists the formats that were tried, and what marks each.
fn list_formats(path: &Path, wanted: Option<&'static import::Format>) {
    eprintln!("{} has none of these:", plain(&path.display().to_string()));
    let formats = wanted.map_or(FORMATS.to_vec(), |format| vec![format]);
    let width = formats.iter().map(|format| format.name.len()).max();
    for format in formats {
        let mut lines = String::new();
        let head = format!("  {:<1$}  ", format.name, width.unwrap_or(0));
        paragraph(&mut lines, &head, format.recognised_by, WIDTH);
        eprintln!("{}", lines.trim_end());
    }
}

fn save(path: &Path, stream: &[u8]) -> Result<PathBuf, String> {
    let mut part = PartialRun::create(path)?;
    let written = part.write_all(stream);
    Ok(part.finish(written)?.path)
}
