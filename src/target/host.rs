// SPDX-License-Identifier: MIT OR Apache-2.0

//! `--on linux`: runs the embedded agent on this machine, as a process in its own group.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use rustix::io::Errno;

use super::stream::{Bounds, Starts, Until};
use super::{cache, process as child, Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;

/// The agent, built by build.rs.
const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernmark-agent"));

/// The name of its process.
const NAME: &str = "kernmark-agent";

/// The environment variable that names a different agent to run.
pub const OVERRIDE: &str = "KERNMARK_AGENT";

/// Where the agent's program is.
#[derive(Debug)]
enum Program {
    /// In sealed memory, so that no file system is involved.
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
    silence: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> Host<'a> {
    /// The embedded agent, or the one that `KERNMARK_AGENT` names.
    ///
    /// The agent is killed if it prints no record for `silence`, or when `interrupt` is raised.
    ///
    /// # Errors
    ///
    /// The embedded agent could be put neither into memory nor into a file.
    pub fn new(silence: Duration, interrupt: &'a Interrupt) -> Result<Self, String> {
        let program = match env::var_os(OVERRIDE) {
            Some(path) => Program::File(path.into()),
            None => match sealed_memory(AGENT) {
                Ok(fd) => Program::Memory(fd),
                Err(_) => Program::File(cached_file(AGENT)?),
            },
        };
        Ok(Host {
            program,
            silence,
            interrupt,
        })
    }

    /// Starts the agent. Falls back to a file if the system does not run programs in memory.
    fn start(&mut self, order: &Order) -> Result<Child, String> {
        match spawn(&self.program.path(), order) {
            Err(_) if matches!(self.program, Program::Memory(_)) => {
                self.program = Program::File(cached_file(AGENT)?);
                spawn(&self.program.path(), order)
            }
            other => other,
        }
        .map_err(|error| {
            let path = self.program.path();
            let hint = if env::var_os(OVERRIDE).is_some() {
                format!("; it is named by {OVERRIDE}")
            } else {
                "; set XDG_CACHE_HOME to a directory that allows programs to run".to_owned()
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
        let child = self.start(order)?;
        let bounds = Bounds {
            silence: self.silence,
            limit: None,
            unit: None,
            baud: None,
            starts: Starts::Once,
            until: Until::End,
        };
        child::session(child, bounds, self.interrupt, take)
    }

    fn orders(&self) -> Orders {
        Orders::Shuffled
    }
}

fn spawn(program: &Path, order: &Order) -> io::Result<Child> {
    let mut arguments = order.arguments();
    if matches!(order, Order::Run { .. }) {
        // The agent asks the kernel to kill it when this process ends.
        arguments.insert(1, format!("parent={}", process::id()));
    }
    let mut command = Command::new(program);
    // In an empty chroot there is no /dev/null: a pipe that is closed at once has nothing to read.
    let mut child = child::spawn(command.arg0(NAME).args(arguments), Stdio::piped())?;
    drop(child.stdin.take());
    Ok(child)
}

/// Puts the program into memory that nobody can change any more.
fn sealed_memory(program: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 reject EXEC and do not need it.
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

/// The agent's program as a file, for other programs to start: the embedded agent, or the one that
/// `KERNMARK_AGENT` names.
///
/// # Errors
///
/// It cannot be written.
pub fn program_file() -> Result<PathBuf, String> {
    match env::var_os(OVERRIDE) {
        Some(path) => Ok(path.into()),
        None => cached_file(AGENT),
    }
}

/// Writes the program to a private file in the user's cache directory.
fn cached_file(program: &[u8]) -> Result<PathBuf, String> {
    let directory = cache::folder()?;
    private_file(&directory, program).map_err(|error| {
        format!(
            "cannot write the agent into {}: {error}; set XDG_CACHE_HOME to a directory that you can \
             write to",
            directory.display()
        )
    })
}

/// A file in `directory` with exactly these bytes, which only this user can access.
fn private_file(directory: &Path, program: &[u8]) -> io::Result<PathBuf> {
    let path = directory.join(NAME);
    let user = rustix::process::geteuid().as_raw();
    let present = fs::symlink_metadata(&path).is_ok_and(|data| {
        data.is_file() && data.uid() == user && data.permissions().mode() & 0o777 == 0o700
    }) && fs::read(&path).is_ok_and(|bytes| bytes == program);
    if !present {
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o700))
            .tempfile_in(directory)?;
        file.write_all(program)?;
        // Close it before renaming it: a file that is open for writing cannot be executed.
        file.into_temp_path().persist(&path)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_in_memory_is_complete_and_immutable() {
        let mut file = File::from(sealed_memory(b"program").unwrap());
        assert!(file.write_all(b"other").is_err());
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(fs::read(path).unwrap(), b"program");
    }

    #[test]
    fn cached_program_is_private_and_is_replaced_if_it_differs() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let path = private_file(directory, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let inode = fs::metadata(&path).unwrap().ino();
        private_file(directory, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        private_file(directory, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }
}
