//! The command `import`: the results of another tool as a saved run.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{print, style, worth, Failure, Outcome, WIDTH};
use crate::cli;
use crate::import::{self, records, Problem, FORMATS};
use crate::report::terminal;
use crate::report::text::{paragraph, plain};
use crate::report::IMPORTED;
use crate::run::Fact;
use crate::session;
use crate::store::{Input, Part};

/// Reads the files as one run, saves it where the user says and shows it.
pub(super) fn import(arguments: &cli::Import) -> Outcome {
    let named = |name: &String| FORMATS.iter().copied().find(|format| format.name == *name);
    let wanted = arguments.format.as_ref().and_then(named);
    let mut stream = String::new();
    for path in &arguments.files {
        let input = Input::open(path).map_err(Failure::Failed)?;
        stream.push_str(&imported(path, &input, wanted)?);
    }
    let run = session::read(stream.as_bytes());
    let output = arguments.output.as_deref();
    let path = output.map(|path| save(path, &stream)).transpose();
    let path = path.map_err(Failure::Failed)?;
    print(terminal::table(&run, &style()).as_bytes())?;
    if let Some(path) = path {
        eprintln!("saved: {}", path.display());
    }
    Ok(worth(&run))
}

/// The record stream of a file of another tool.
pub(super) fn imported(
    path: &Path,
    input: &Input,
    wanted: Option<&'static import::Format>,
) -> Result<String, Failure> {
    let mut source = input.reader().map_err(Failure::Failed)?;
    let imported = import::read(&mut source, wanted).map_err(|problem| {
        if matches!(problem, Problem::Unknown) {
            tell_formats(path, wanted);
        }
        Failure::Failed(format!("{}: {problem}", path.display()))
    })?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let facts = [
        Fact::new("tool", concat!("kernmark ", env!("CARGO_PKG_VERSION"))),
        Fact::new(IMPORTED, name.to_string_lossy()),
    ];
    Ok(records::stream(imported, &facts))
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

fn save(path: &Path, stream: &str) -> Result<PathBuf, String> {
    let mut part = Part::create(path)?;
    let written = part.write_all(stream.as_bytes());
    part.finish(written)
}
