// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saves a run while it is measured.

use std::io::{self, Write};
use std::path::Path;

use super::run::{self, Made};
use super::Failure;
use crate::base::text::plain;
use crate::files::store::{self, Part};
use crate::measure::{self, End, Measured};
use crate::stream::run::Run;
use crate::target::spec::Spec;
use crate::target::Orders;

/// Where a run goes while it is measured.
pub(super) struct Saving {
    /// `None` when it is not to be saved or cannot be.
    part: Option<Part>,
    nowhere: io::Sink,
    /// Whether it was to be saved and cannot be.
    is_lost: bool,
}

impl Saving {
    /// Begins to save a run as the arguments say, under this name where they give none.
    pub(super) fn begin(arguments: &run::Arguments, name: &str) -> Result<Self, Failure> {
        let part = part(arguments, name)?;
        Ok(Saving {
            is_lost: part.is_none() && is_saved(arguments),
            part,
            nowhere: io::sink(),
        })
    }

    pub(super) fn out(&mut self) -> &mut dyn Write {
        match &mut self.part {
            Some(part) => part,
            None => &mut self.nowhere,
        }
    }

    /// Saves what was measured and tells what the user should know; `None` when the user stopped
    /// it before anything was measured.
    pub(super) fn conclude(
        self,
        (run, written): (Run, io::Result<()>),
        measured: Result<Measured, String>,
        orders: Orders,
    ) -> Result<Option<Made>, Failure> {
        if run.sessions.is_empty() {
            if let Some(part) = self.part {
                part.discard();
            }
            let measured = measured.map_err(Failure::Failed)?;
            tell(&measured.notices);
            return match measured.end {
                End::Interrupted => Ok(None),
                _ => Err(Failure::Failed("nothing was measured".to_owned())),
            };
        }
        let mut measured = measured.map_err(Failure::Failed)?;
        measured.notices.extend(measure::inexact(&run));
        tell(&measured.notices);
        // Saved before anything is shown: whatever happens to the output, the result is not lost.
        let saved = self.part.map(|part| part.finish(written)).transpose();
        let (path, kept) = match saved {
            Ok(path) => (path, !self.is_lost),
            Err(why) => {
                eprintln!("kernmark: the run is not saved: {why}");
                (None, false)
            }
        };
        Ok(Some(Made {
            run,
            measured,
            path,
            kept,
            orders,
        }))
    }
}

/// Says what the user should know.
fn tell(notices: &[String]) {
    for notice in notices {
        eprintln!("kernmark: {}", plain(notice));
    }
}

/// Whether the run is to be saved: where the user says so, and where it is not there already.
fn is_saved(arguments: &run::Arguments) -> bool {
    let is_there = matches!(&arguments.on, Spec::File(path) if path.is_file());
    arguments.output.is_some() || !arguments.check && !is_there
}

/// Where the run goes while it is measured; `None` when it is not to be saved or cannot be, which
/// the user is told. A file that the user named has to be there.
fn part(arguments: &run::Arguments, name: &str) -> Result<Option<Part>, Failure> {
    match &arguments.output {
        Some(path) => Part::create(path).map(Some).map_err(Failure::Failed),
        None if is_saved(arguments) => match Part::create_in_directory(name) {
            Ok(part) => Ok(Some(part)),
            Err(why) => {
                eprintln!("kernmark: the run is not saved: {}", plain(&why));
                Ok(None)
            }
        },
        None => Ok(None),
    }
}

/// Refuses, before anything is measured, a path that the run could not be saved as.
pub(super) fn check_path(path: &Path) -> Result<(), Failure> {
    let directory = store::parent(path);
    let part = store::part_of(path);
    if path.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(path)))
    } else if part.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(&part)))
    } else if directory.is_dir() {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "{} is no directory; make it, or choose another name for the run",
            directory.display()
        )))
    }
}
