// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads an emulator's log of executed instructions while the emulator runs. The log is much longer
//! than what it says, so it is never stored: it goes through a pipe with a name.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{mkfifoat, open, Mode, OFlags, CWD};

use super::process::poll_for;
use crate::trace::log::{convert, Code};

/// How long to wait before asking again whether the emulator has opened the pipe.
const PAUSE: Duration = Duration::from_millis(1);

/// Reads the log of a session in a thread of its own.
#[derive(Debug)]
pub(super) struct ExecutionLog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl ExecutionLog {
    /// Starts to read what the emulator will write to `pipe`, which this creates, and to write a
    /// trace's list to `list`.
    pub(super) fn start(
        pipe: &Path,
        list: PathBuf,
        marks: String,
        code: Code,
        case: Option<usize>,
    ) -> Result<Self, String> {
        let in_context =
            |error: io::Error| format!("cannot read the emulator's log through a pipe: {error}");
        match std::fs::remove_file(pipe) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(in_context(error)),
            _ => {}
        }
        mkfifoat(CWD, pipe, Mode::RUSR | Mode::WUSR).map_err(|error| in_context(error.into()))?;
        // The emulator waits until the pipe is open for reading; this does not wait for it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(pipe, flags, Mode::empty()).map_err(|error| in_context(error.into()))?;
        let file = File::from(file);
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let log = BufReader::with_capacity(1 << 20, Pipe { file, over: until });
            let into = File::create(list).map_err(in_context)?;
            convert(log, &marks, &code, case, BufWriter::new(into))
        });
        Ok(ExecutionLog {
            over,
            thread: Some(thread),
        })
    }

    /// Reads the rest, after the session. The list is complete then.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        thread
            .unwrap_or(Ok(Ok(())))
            .unwrap_or_else(|_| Err("reading the emulator's log failed".to_owned()))
    }
}

impl Drop for ExecutionLog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The reading end of the pipe. It has no end before the session is over.
struct Pipe {
    file: File,
    over: Arc<AtomicBool>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Asked first: what was written before the session was over is read.
            let is_over = self.over.load(Ordering::Relaxed);
            match self.file.read(buffer) {
                Ok(0) if is_over => return Ok(0),
                Ok(0) => thread::sleep(PAUSE),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if is_over {
                        return Ok(0);
                    }
                    let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
                    poll_for(&mut fds, Duration::from_millis(50))?;
                }
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    /// A log of one sample.
    const LOG: &str = "Trace 0: 0x1 [0/10/0/0]\nTrace 0: 0x1 [0/12/0/0]\nTrace 0: 0x1 [0/14/0/0]\n\
                       Trace 0: 0x1 [0/10/0/0]\nTrace 0: 0x1 [0/16/0/0]\n";
    const MARKS: &str = "case 12 00\npart 14 00\nstamp 10 00\nrow 16 00\n";

    fn started(folder: &Path) -> ExecutionLog {
        let code = Code::none();
        let (pipe, list) = (folder.join("pipe"), folder.join("list"));
        ExecutionLog::start(&pipe, list, MARKS.to_owned(), code, None).unwrap()
    }

    #[test]
    fn log_is_read_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let log = started(folder.path());
            let mut pipe = OpenOptions::new()
                .write(true)
                .open(folder.path().join("pipe"))
                .unwrap();
            for piece in LOG.as_bytes().chunks(7) {
                pipe.write_all(piece).unwrap();
                thread::sleep(PAUSE);
            }
            drop(pipe);
            log.finish().unwrap();
            let list = fs::read_to_string(folder.path().join("list")).unwrap();
            assert!(list.starts_with("case 0\npart\nrow 1 0:-\n"), "{list}");
            assert!(list.ends_with("end 3\n"), "{list}");
        }
    }

    #[test]
    fn emulator_that_never_starts_leaves_an_empty_list() {
        let folder = tempfile::tempdir().unwrap();
        started(folder.path()).finish().unwrap();
        let list = fs::read_to_string(folder.path().join("list")).unwrap();
        assert_eq!(list, "end 0\n");
        drop(started(folder.path()));
    }
}
