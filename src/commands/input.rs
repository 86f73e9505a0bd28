// SPDX-License-Identifier: MIT OR Apache-2.0

//! The runs that a command reads: a path, a name or a target in, a [`Run`] out.

use std::path::{Path, PathBuf};

use super::arguments::spec;
use super::target::resolve;
use super::{import, interrupt, Failure};
use crate::base::text::plain;
use crate::files::runs::{Folder, Name};
use crate::files::store;
use crate::import::records;
use crate::judge::digest;
use crate::stream::run::Run;
use crate::stream::session::Reader;
use crate::target::spec::Spec;

/// The folder of saved runs.
pub(super) fn folder() -> Result<Folder, Failure> {
    let directory = store::directory().map_err(Failure::Failed)?;
    Ok(Folder::new(directory, digest::of))
}

/// The file that the user named, or the latest run of a target.
pub(super) fn path_or_latest(file: Option<&Path>, on: &Spec) -> Result<PathBuf, Failure> {
    if let Some(path) = file {
        return named(path);
    }
    report_interrupted_runs();
    let target = resolve(on, &interrupt()?)?.target();
    find(&Name::Latest {
        target: Some(target),
        back: 0,
    })
}

/// The file that an argument names: a path, or a saved run as [`Name`] describes. A path that
/// exists comes first.
pub(super) fn named(argument: &Path) -> Result<PathBuf, Failure> {
    let text = argument.to_str().unwrap_or_default();
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let is_path = text.is_empty() || text == "-" || text.contains('/');
    if is_path || is_there(argument) || is_there(&store::partial_path(argument)) {
        return Ok(argument.to_owned());
    }
    match Name::parse(text) {
        Name::Latest {
            target: Some(target),
            back,
        } => find(&Name::Latest {
            target: Some(full_target(&target)),
            back,
        }),
        // `run.km` is no name of a saved run, unless there is one.
        name @ Name::Named(_) if text.contains('.') => {
            find(&name).or_else(|_| Ok(argument.to_owned()))
        }
        name => find(&name),
    }
}

/// A target as saved runs name it: with the board that `--on` would choose.
pub(super) fn full_target(text: &str) -> String {
    let resolved = spec(text)
        .ok()
        .and_then(|spec| resolve(&spec, &interrupt().ok()?).ok());
    resolved.map_or_else(|| text.to_owned(), |target| target.target())
}

fn find(name: &Name) -> Result<PathBuf, Failure> {
    let found = folder()?.find(name).map_err(Failure::Failed)?;
    if let Some(notice) = found.notice {
        eprintln!("kernmark: {}", plain(&notice));
    }
    Ok(found.path)
}

/// Reports the files of runs that were interrupted.
pub(super) fn report_interrupted_runs() {
    let parts = store::interrupted_runs();
    if let Some((last, others)) = parts.split_last() {
        let more = match others.len() {
            0 => String::new(),
            count => format!(" (and {count} more next to it)"),
        };
        eprintln!(
            "an interrupted run is left: kernmark show {}{more}; delete the file when you don't need it",
            plain(&last.display().to_string())
        );
    }
}

/// Reads a saved run, or the results of another tool as one.
pub(super) fn read_run(path: &Path) -> Result<Run, Failure> {
    let failed = |why: String| Failure::Failed(format!("{}: {why}", path.display()));
    let mut reader = Reader::new();
    // It may be a pipe, which cannot be read twice: look for both at once.
    let other = import::imported(path, None, &mut |line| reader.accepts(line))?;
    let unsupported = reader.unsupported();
    let run = reader.finish();
    if !run.sessions.is_empty() {
        return Ok(run);
    }
    if let Some(version) = unsupported {
        return Err(failed(version.to_string()));
    }
    if !run.host.is_empty() || run.damage.damaged > 0 {
        return Err(failed("it holds a run without any measurement".to_owned()));
    }
    let imported = other.map_err(|problem| import::failure(path, None, &problem))?;
    Ok(records::run(imported, &import::facts(path)))
}
