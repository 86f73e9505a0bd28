// SPDX-License-Identifier: MIT OR Apache-2.0

//! The folder of saved runs: what an argument calls a run in, its file out.

use std::path::{Path, PathBuf};

use super::arguments::spec;
use super::target::resolve;
use super::{interrupt, Failure};
use crate::base::text::plain;
use crate::files::runs::{Folder, Name};
use crate::files::store;
use crate::judge::digest;

/// The folder of saved runs.
pub(super) fn folder() -> Result<Folder, Failure> {
    let directory = store::directory().map_err(Failure::Failed)?;
    Ok(Folder::new(directory, digest::of))
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
        // `run.km` is no name of a saved run, unless there is one. Without a folder of saved runs,
        // every name is that of a file.
        name @ Name::Named(_) if text.contains('.') || folder().is_err() => {
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

/// The file of a saved run, by its name. Tells the user if another run than the newest was taken.
pub(super) fn find(name: &Name) -> Result<PathBuf, Failure> {
    let found = folder()?.find(name).map_err(Failure::Failed)?;
    if let Some(notice) = found.notice {
        eprintln!("kernmark: {}", plain(&notice));
    }
    Ok(found.path)
}
