// SPDX-License-Identifier: MIT OR Apache-2.0

//! The runs that a command reads: a file or a target in, a [`Run`] out.

use std::path::{Path, PathBuf};

use super::folder::{find, named};
use super::target::resolve;
use super::{import, interrupt, Failure};
use crate::base::text::plain;
use crate::files::runs::Name;
use crate::files::store;
use crate::import::records;
use crate::stream::run::Run;
use crate::stream::session::Reader;
use crate::target::spec::Spec;

/// The file that the user named, or the latest run of a target.
///
/// # Errors
///
/// Both are named. Then the user may mean a filter, which comes after the file.
pub(super) fn path_or_latest(file: Option<&Path>, on: Option<&Spec>) -> Result<PathBuf, Failure> {
    match (file, on) {
        (Some(file), Some(on)) => {
            return Err(Failure::Usage(format!(
                "`{}` is taken for the file, so --on has no use; before filters, name the latest \
                 run of a target as the file: latest:{on}",
                file.display()
            )));
        }
        (Some(path), None) => return named(path),
        (None, _) => report_interrupted_runs(),
    }
    let on = on.cloned().unwrap_or_default();
    let target = resolve(&on, &interrupt()?)?.target();
    find(&Name::Latest {
        target: Some(target),
        back: 0,
    })
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
