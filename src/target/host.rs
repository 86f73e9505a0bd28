//! The machine the tool stands on: the embedded agent as a process in a group of its own.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, process};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitIdOptions};

use super::{Ending, Order, Target};
use crate::interrupt::Interrupt;

/// The agent, built by build.rs.
const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernmark-agent"));

/// The name it runs under.
const NAME: &str = "kernmark-agent";

/// The environment variable that names another agent to run.
pub const OVERRIDE: &str = "KERNMARK_AGENT";

/// Most bytes that one session may write.
const MOST_OUTPUT: usize = 64 << 20;

/// Longest line that is kept whole; more is cut into several.
const LONGEST_LINE: usize = 64 << 10;

/// Bytes of standard error that are kept: its end.
const KEPT_ERROR: usize = 4096;

/// How often a quiet agent is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// How long an agent may take to end after it closed its output.
const PARTING: Duration = Duration::from_secs(2);

/// Where the agent's program is.
#[derive(Debug)]
enum Program {
    /// In sealed memory; no file system is touched.
    Memory(OwnedFd),
    /// In a file.
    File(PathBuf),
}

impl Program {
    fn path(&self) -> PathBuf {
        match self {
            Program::Memory(fd) => format!("/proc/self/fd/{}", fd.as_raw_fd()).into(),
            Program::File(path) => path.clone(),
        }
    }
}

/// Runs the agent on this machine.
#[derive(Debug)]
pub struct Host<'a> {
    program: Program,
    patience: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> Host<'a> {
    /// The embedded agent, or the one that `KERNMARK_AGENT` names.
    ///
    /// An agent that writes nothing for `patience` is killed; so is one that
    /// runs when `interrupt` is raised.
    ///
    /// # Errors
    ///
    /// The embedded agent can be put neither into memory nor into a file.
    pub fn new(patience: Duration, interrupt: &'a Interrupt) -> Result<Self, String> {
        let program = match env::var_os(OVERRIDE) {
            Some(path) => Program::File(path.into()),
            None => match sealed(AGENT) {
                Ok(fd) => Program::Memory(fd),
                Err(_) => Program::File(in_cache(AGENT)?),
            },
        };
        Ok(Host {
            program,
            patience,
            interrupt,
        })
    }

    /// Starts the agent; where programs in memory must not run, from a file.
    fn start(&mut self, order: &Order) -> Result<Child, String> {
        match spawn(&self.program.path(), order) {
            Err(_) if matches!(self.program, Program::Memory(_)) => {
                self.program = Program::File(in_cache(AGENT)?);
                spawn(&self.program.path(), order)
            }
            other => other,
        }
        .map_err(|error| {
            let path = self.program.path();
            let hint = if env::var_os(OVERRIDE).is_some() {
                format!("; {OVERRIDE} names it")
            } else {
                "; set XDG_CACHE_HOME to a directory where programs may run".to_owned()
            };
            format!("cannot start the agent {}: {error}{hint}", path.display())
        })
    }
}

impl Target for Host<'_> {
    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        if self.interrupt.raised() {
            return Ok(Ending::Interrupted);
        }
        let mut process = Process(self.start(order)?);
        let mut lines = Lines::default();
        let mut said = Vec::new();
        let heard = self.listen(
            &mut process,
            &mut |bytes| lines.push(bytes, take),
            &mut said,
        );
        lines.flush(take);
        let status = process
            .end()
            .map_err(|error| format!("cannot wait for the agent: {error}"))?;
        let stop = heard.map_err(|error| format!("cannot read from the agent: {error}"))?;
        Ok(stop.unwrap_or_else(|| ending(status, &said)))
    }
}

impl Host<'_> {
    /// Reads until the agent has ended (`None`) or has to be killed.
    fn listen(
        &self,
        process: &mut Process,
        take: &mut dyn FnMut(&[u8]),
        said: &mut Vec<u8>,
    ) -> io::Result<Option<Ending>> {
        let mut output = process.0.stdout.take();
        let mut error = process.0.stderr.take();
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        let mut heard = Instant::now();
        let mut patience = self.patience;
        loop {
            let ready = wait(self.interrupt, output.as_ref(), error.as_ref())?;
            if ready.interrupt {
                return Ok(Some(Ending::Interrupted));
            }
            if ready.error && read(&mut error, &mut buffer, &mut |bytes| keep(said, bytes))? > 0 {
                heard = Instant::now();
            }
            if ready.output {
                let count = read(&mut output, &mut buffer, take)?;
                heard = Instant::now();
                total += count;
                if total > MOST_OUTPUT {
                    return Ok(Some(Ending::Flood(MOST_OUTPUT)));
                }
                if count == 0 {
                    patience = patience.min(PARTING);
                }
            }
            if ready.output || ready.error {
                continue;
            }
            // Its children may hold the pipes open after the agent itself has ended.
            if process.has_ended()? {
                return Ok(None);
            }
            if heard.elapsed() >= patience {
                return Ok(Some(Ending::Silent(patience)));
            }
        }
    }
}

/// What can be read.
struct Ready {
    interrupt: bool,
    output: bool,
    error: bool,
}

/// Waits until something can be read, at most [`GLANCE`].
fn wait(
    interrupt: &Interrupt,
    output: Option<&process::ChildStdout>,
    error: Option<&process::ChildStderr>,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(interrupt, PollFlags::IN)];
    fds.extend(output.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(error.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    // Both pipes closed: what is left is to wait for the agent's end.
    let glance = if fds.len() == 1 { GLANCE / 50 } else { GLANCE };
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: glance.subsec_nanos().into(),
    };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = |present: bool| present && ready.next().unwrap_or(false);
    Ok(Ready {
        interrupt: next(true),
        output: next(output.is_some()),
        error: next(error.is_some()),
    })
}

/// Reads once; at the end of the pipe closes it and returns 0.
fn read<R: Read>(
    pipe: &mut Option<R>,
    buffer: &mut [u8],
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<usize> {
    let Some(source) = pipe else { return Ok(0) };
    let count = match source.read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
        other => other?,
    };
    if count == 0 {
        *pipe = None;
    }
    take(&buffer[..count]);
    Ok(count)
}

/// Appends to the standard error that is kept, and drops what is too old.
fn keep(said: &mut Vec<u8>, bytes: &[u8]) {
    said.extend_from_slice(bytes);
    let excess = said.len().saturating_sub(KEPT_ERROR);
    said.drain(..excess);
}

/// The last lines of standard error, in one line.
fn last_lines(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

fn ending(status: ExitStatus, said: &[u8]) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Done,
        (Some(status), _) => Ending::Status {
            status,
            said: last_lines(said),
        },
        (None, signal) => Ending::Signal {
            signal: signal.unwrap_or(0),
            said: last_lines(said),
        },
    }
}

/// Cuts bytes into lines.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.rest.len() >= LONGEST_LINE {
                self.flush(take);
            }
        }
    }

    fn flush(&mut self, take: &mut dyn FnMut(&[u8])) {
        if !self.rest.is_empty() {
            take(&self.rest);
            self.rest.clear();
        }
    }
}

/// An agent that runs, leader of a process group.
struct Process(Child);

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Whether the agent itself has ended; it stays a zombie, so that its number is not used again.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends what is left of the group and returns how the agent itself ended.
    fn end(mut self) -> io::Result<ExitStatus> {
        self.kill();
        self.0.wait()
    }

    fn kill(&self) {
        // No such group: all of it has ended, which is what is wanted.
        let _ = kill_process_group(self.pid(), Signal::KILL);
    }
}

fn spawn(program: &Path, order: &Order) -> io::Result<Child> {
    let mut arguments = order.arguments();
    if matches!(order, Order::Run { .. }) {
        // The agent ends with this process: it asks the kernel for that itself.
        arguments.insert(1, format!("parent={}", process::id()));
    }
    Command::new(program)
        .arg0(NAME)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// The program in memory that nobody can change any more.
fn sealed(program: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know EXEC and need no such flag.
    let fd = memfd_create(NAME, flags | MemfdFlags::EXEC).or_else(|error| match error {
        Errno::INVAL => memfd_create(NAME, flags),
        other => Err(other),
    })?;
    let mut file = File::from(fd);
    file.write_all(program)?;
    let fd = OwnedFd::from(file);
    fcntl_add_seals(
        &fd,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(fd)
}

/// The program in a private file of the user's cache directory.
fn in_cache(program: &[u8]) -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))
        .ok_or("the agent needs a file to run from: set XDG_CACHE_HOME")?;
    let directory = cache.join("kernmark");
    private_file(&directory, program).map_err(|error| {
        format!(
            "cannot write the agent into {}: {error}; set XDG_CACHE_HOME to a directory of yours",
            directory.display()
        )
    })
}

/// A file in `directory` with just these bytes, which only this user can change.
fn private_file(directory: &Path, program: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    let path = directory.join(NAME);
    let mine = rustix::process::geteuid().as_raw();
    let present = fs::symlink_metadata(&path).is_ok_and(|data| {
        data.is_file() && data.uid() == mine && data.permissions().mode() & 0o777 == 0o700
    }) && fs::read(&path).is_ok_and(|bytes| bytes == program);
    if !present {
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o700))
            .tempfile_in(directory)?;
        file.write_all(program)?;
        // Closed before it takes its name: a file open for writing cannot run.
        file.into_temp_path().persist(&path)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        for chunk in chunks {
            lines.push(chunk, &mut |line| out.push(line.to_vec()));
        }
        lines.flush(&mut |line| out.push(line.to_vec()));
        out
    }

    #[test]
    fn chunks_become_lines_and_nothing_is_lost() {
        assert_eq!(
            lines_of(&[b"a\nb", b"c\n", b"\nd"]),
            [&b"a\n"[..], b"bc\n", b"\n", b"d"]
        );
        let endless = vec![b'x'; LONGEST_LINE * 2 + 7];
        assert_eq!(lines_of(&[&endless]).concat(), endless);
    }

    #[test]
    fn the_end_of_standard_error_is_kept_in_one_line() {
        let mut said = Vec::new();
        keep(&mut said, &[b'x'; KEPT_ERROR]);
        keep(&mut said, b"\none\ntwo\n\nthree\n");
        assert_eq!(said.len(), KEPT_ERROR);
        assert_eq!(last_lines(&said), "one / two / three");
    }

    #[test]
    fn the_program_in_memory_is_whole_and_cannot_be_changed() {
        let mut file = File::from(sealed(b"program").unwrap());
        assert!(file.write_all(b"other").is_err());
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(fs::read(path).unwrap(), b"program");
    }

    #[test]
    fn the_program_in_the_cache_is_private_and_is_replaced_when_it_differs() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("kernmark");
        let path = private_file(&place, b"one").unwrap();
        assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let inode = fs::metadata(&path).unwrap().ino();
        private_file(&place, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        private_file(&place, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }
}
