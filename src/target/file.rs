// SPDX-License-Identifier: MIT OR Apache-2.0

//! `--on file:PATH`: a record stream in a file, or one that comes over a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{open, Mode, OFlags};

use super::process::{poll_for, POLL_INTERVAL};
use super::stream::{Bounds, Starts, Until, Watch};
use super::{Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;

/// Reads a file. Each session reads it from the start.
#[derive(Debug)]
pub struct StreamFile<'a> {
    path: PathBuf,
    /// How many sessions to read; `None` for all.
    sessions: Option<u32>,
    silence: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> StreamFile<'a> {
    /// Reads `path`, or standard input if it is `-`. Reading a pipe ends if no record comes for
    /// `silence`.
    #[must_use]
    pub fn new(
        path: PathBuf,
        sessions: Option<u32>,
        silence: Duration,
        interrupt: &'a Interrupt,
    ) -> Self {
        StreamFile {
            path,
            sessions,
            silence,
            interrupt,
        }
    }

    fn open(&self) -> io::Result<File> {
        if self.path == Path::new("-") {
            return io::stdin().as_fd().try_clone_to_owned().map(File::from);
        }
        // Without NONBLOCK, opening a named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(open(&self.path, flags, Mode::empty())?))
    }
}

impl Target for StreamFile<'_> {
    fn orders(&self) -> Orders {
        Orders::None
    }

    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        let unreadable = |error| format!("cannot read {}: {error}", self.path.display());
        let mut file = self.open().map_err(unreadable)?;
        let mut watch = Watch::new(
            Bounds {
                silence: self.silence,
                limit: None,
                unit: None,
                baud: None,
                starts: Starts::Many,
                until: match (order, self.sessions) {
                    (Order::List, _) => Until::Bye,
                    (_, Some(sessions)) => Until::Measured(sessions),
                    (_, None) => Until::End,
                },
            },
            Vec::new(),
        );
        let ending = read(&mut file, self.interrupt, &mut watch, take).map_err(unreadable)?;
        watch.flush(take);
        Ok(ending)
    }
}

fn read(
    file: &mut File,
    interrupt: &Interrupt,
    watch: &mut Watch,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<Ending> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let mut fds = [
            PollFd::new(interrupt, PollFlags::IN),
            PollFd::new(file, PollFlags::IN),
        ];
        poll_for(&mut fds, POLL_INTERVAL)?;
        let [interrupted, ready] = fds.map(|fd| !fd.revents().is_empty());
        if interrupted {
            return Ok(Ending::Interrupted);
        }
        if ready {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(Ending::Done),
                Ok(count) => {
                    if let Some(ending) = watch.bytes(&buffer[..count], take) {
                        return Ok(ending);
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        } else if let Some(ending) = watch.timeout(Duration::ZERO) {
            return Ok(ending);
        }
    }
}

/// Whether to try reading again.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
