// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saves a run while it is measured, so that a crash loses no more than the case that was open.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::folder::folder;
use super::{exit, Failure};
use crate::base::text::plain;
use crate::files::store::{self, PartialRun};
use crate::measure::{self, End, Measured};
use crate::stream::run::Run;
use crate::target::Orders;

/// Where a run is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// This file, which must not exist yet.
    File(PathBuf),
    /// Standard output.
    StandardOutput,
    /// The directory of saved runs.
    Directory,
    /// The run is not saved.
    Nowhere,
}

impl Destination {
    /// What `-o` names: a file, or `-` for standard output.
    pub(super) fn named(output: &Path) -> Self {
        if output == Path::new("-") {
            Destination::StandardOutput
        } else {
            Destination::File(output.to_owned())
        }
    }

    /// Checks before measuring that the run can be saved there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Destination::File(path) = self else {
            return Ok(());
        };
        let directory = store::parent(path);
        let part = store::partial_path(path);
        if path.symlink_metadata().is_ok() {
            Err(Failure::Usage(store::exists(path)))
        } else if part.symlink_metadata().is_ok() {
            Err(Failure::Usage(store::exists(&part)))
        } else if directory.is_dir() {
            Ok(())
        } else {
            Err(Failure::Usage(format!(
                "{} is not a directory; create it, or choose another name for the run",
                directory.display()
            )))
        }
    }
}

/// A run that was measured.
#[derive(Debug)]
pub(super) struct MeasuredRun {
    /// All of it, as it is saved.
    pub run: Run,
    /// How measuring went. The user has seen its notices.
    pub measured: Measured,
    /// The file it was saved in.
    pub path: Option<PathBuf>,
    /// Whether saving failed.
    pub is_lost: bool,
    /// The orders that the target takes.
    pub orders: Orders,
}

impl MeasuredRun {
    /// The exit status for this run.
    pub(super) fn exit_status(&self) -> u8 {
        match self.measured.end {
            End::Interrupted => exit::INTERRUPTED,
            End::Complete if !self.is_lost && !self.measured.partial => exit::of_run(&self.run),
            End::Complete | End::Aborted => exit::FAILED,
        }
    }
}

/// Receives the record stream of a run while it is measured.
pub(super) enum Saving {
    /// A file that gets its name when the run is complete.
    Part(PartialRun),
    /// Standard output.
    StandardOutput(io::Stdout),
    /// Nowhere, as the user asked.
    Nowhere(io::Sink),
    /// Nowhere, because no file could be created.
    Lost(io::Sink),
}

impl Saving {
    /// Starts saving. `name` is the start of the file's name in the directory of saved runs. A run
    /// that cannot be saved there is still measured, and the user is told; a file that the user named
    /// must be created.
    pub(super) fn begin(destination: &Destination, name: &str, seed: u32) -> Result<Self, Failure> {
        Ok(match destination {
            Destination::File(path) => {
                Saving::Part(PartialRun::create(path).map_err(Failure::Failed)?)
            }
            Destination::StandardOutput => Saving::StandardOutput(io::stdout()),
            Destination::Nowhere => Saving::Nowhere(io::sink()),
            Destination::Directory => match PartialRun::create_in_directory(name, seed) {
                Ok(part) => Saving::Part(part),
                Err(why) => {
                    eprintln!("kernmark: the run is not saved: {}", plain(&why));
                    Saving::Lost(io::sink())
                }
            },
        })
    }

    /// Where the stream is written.
    pub(super) fn out(&mut self) -> &mut dyn Write {
        match self {
            Saving::Part(part) => part,
            Saving::StandardOutput(out) => out,
            Saving::Nowhere(sink) | Saving::Lost(sink) => sink,
        }
    }

    /// Finishes the file and shows the notices. Returns `None` if the user stopped the run before
    /// anything was measured.
    pub(super) fn conclude(
        self,
        (run, written): (Run, io::Result<()>),
        measured: Result<Measured, String>,
        orders: Orders,
    ) -> Result<Option<MeasuredRun>, Failure> {
        if run.sessions.is_empty() {
            if let Saving::Part(part) = self {
                part.discard();
            }
            let measured = measured.map_err(Failure::Failed)?;
            show_notices(&measured.notices);
            return match measured.end {
                End::Interrupted => Ok(None),
                _ => Err(Failure::Failed("nothing was measured".to_owned())),
            };
        }
        let mut measured = measured.map_err(Failure::Failed)?;
        measured.notices.extend(measure::check_determinism(&run));
        show_notices(&measured.notices);
        // The run is saved before anything is shown: if showing it fails, the result is not lost.
        let has_no_file = matches!(self, Saving::Lost(_));
        let saved = match self {
            Saving::Part(part) => part.finish(written).map(Some),
            Saving::StandardOutput(mut out) => written
                .and_then(|()| out.flush())
                .map(|()| None)
                .map_err(|error| format!("cannot write to standard output: {error}")),
            Saving::Nowhere(_) | Saving::Lost(_) => Ok(None),
        };
        match &saved {
            Ok(Some(saved)) if saved.is_in_directory => {
                // Whoever reads the run makes its digest if this fails.
                let _ = folder().map(|folder| folder.keep_digest(&saved.path));
            }
            Ok(_) => {}
            Err(why) => eprintln!("kernmark: the run is not saved: {why}"),
        }
        Ok(Some(MeasuredRun {
            run,
            measured,
            is_lost: has_no_file || saved.is_err(),
            path: saved.ok().flatten().map(|saved| saved.path),
            orders,
        }))
    }
}

fn show_notices(notices: &[String]) {
    for notice in notices {
        eprintln!("kernmark: {}", plain(notice));
    }
}
