// SPDX-License-Identifier: MIT OR Apache-2.0

//! The machine-wide lock that lets only one kernmark measure at a time. Two at once, both at
//! real-time priority, would spoil each other's results.
//!
//! It is an advisory lock (`flock`) on an empty file that all users of the machine share. The
//! kernel releases it when the process ends, even if it is killed.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{fchmod, flock, open, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::base::interrupt::Interrupt;

/// The environment variable that names a different file to lock.
pub const OVERRIDE: &str = "KERNMARK_LOCK";

/// Directories that every user can write to. The first one that works is used.
const DIRECTORIES: [&str; 3] = ["/dev/shm", "/run/lock", "/tmp"];

/// The name of the lock file.
const FILE_NAME: &str = "kernmark.lock";

/// How long to wait before trying a held lock again.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The right to measure. Dropping it releases the lock.
#[derive(Debug)]
pub struct Lock {
    _fd: OwnedFd,
}

/// The result of trying to get the lock.
#[derive(Debug)]
pub enum Acquisition {
    /// This process holds the lock.
    Acquired(Lock),
    /// No file can be locked here, for this reason. Another kernmark may measure at the same time.
    Unavailable(String),
    /// The user interrupted the wait.
    Interrupted,
}

/// Waits for the lock for at most `limit`. Calls `waiting` once if it has to wait.
///
/// # Errors
///
/// Another process still holds the lock after `limit`. The message says how to find it.
pub fn acquire(
    limit: Duration,
    interrupt: &Interrupt,
    waiting: &mut dyn FnMut(),
) -> Result<Acquisition, String> {
    acquire_from(&paths(env::var_os(OVERRIDE)), limit, interrupt, waiting)
}

fn paths(named: Option<OsString>) -> Vec<PathBuf> {
    match named.filter(|name| !name.is_empty()) {
        Some(name) => vec![name.into()],
        None => DIRECTORIES
            .map(|directory| Path::new(directory).join(FILE_NAME))
            .into(),
    }
}

fn acquire_from(
    paths: &[PathBuf],
    limit: Duration,
    interrupt: &Interrupt,
    waiting: &mut dyn FnMut(),
) -> Result<Acquisition, String> {
    let started = Instant::now();
    let mut announced = false;
    loop {
        let (path, fd) = match try_lock_first(paths) {
            Ok(found) => found,
            Err(why) => return Ok(Acquisition::Unavailable(why)),
        };
        if let Some(fd) = fd {
            return Ok(Acquisition::Acquired(Lock { _fd: fd }));
        }
        if started.elapsed() >= limit {
            return Err(format!(
                "another kernmark is measuring, even after a wait of {} s; try again when it is \
                 done (`fuser -v {path}` shows it), or wait longer with --wait SECONDS",
                limit.as_secs_f64(),
                path = path.display(),
            ));
        }
        if !announced {
            announced = true;
            waiting();
        }
        sleep(RETRY_INTERVAL);
        if interrupt.raised() {
            return Ok(Acquisition::Interrupted);
        }
    }
}

/// The first file that can be locked, with its lock. The lock is `None` if another process holds
/// it.
fn try_lock_first(paths: &[PathBuf]) -> Result<(&Path, Option<OwnedFd>), String> {
    let mut errors = Vec::new();
    for path in paths {
        match try_lock(path) {
            Ok(fd) => return Ok((path, fd)),
            Err(error) => errors.push(format!("{}: {error}", path.display())),
        }
    }
    Err(errors.join(", "))
}

/// Locks a file. `None` if another process holds the lock.
fn try_lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let fd = open_lock_file(path)?;
    match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(fd)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens or creates the file. Every user can lock it; nobody needs to write to it.
///
/// Any user may have put anything at this path. So this follows no link, does not block on a pipe,
/// and neither writes to nor truncates what it finds.
fn open_lock_file(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let everybody = Mode::RUSR | Mode::RGRP | Mode::ROTH;
    // Try without CREATE first: many systems refuse CREATE on another user's file in a sticky
    // directory (fs.protected_regular).
    let fd = match open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => match open(path, flags | OFlags::CREATE | OFlags::EXCL, everybody) {
            Ok(fd) => {
                // The umask may have removed permissions.
                fchmod(&fd, everybody)?;
                fd
            }
            Err(Errno::EXIST) => open(path, flags, Mode::empty())?,
            Err(error) => return Err(error.into()),
        },
        other => other?,
    };
    let file = File::from(fd);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use std::{fs, slice};

    fn try_once(paths: &[PathBuf]) -> Result<Acquisition, String> {
        let interrupt = Interrupt::install().unwrap();
        acquire_from(paths, Duration::ZERO, &interrupt, &mut || {})
    }

    #[test]
    fn lock_is_exclusive_and_dropping_it_releases_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let paths = slice::from_ref(&path);
        let lock = try_once(paths).unwrap();
        assert!(matches!(lock, Acquisition::Acquired(_)), "{lock:?}");
        let error = try_once(paths).unwrap_err();
        assert!(error.contains("another kernmark is measuring"), "{error}");
        drop(lock);
        assert!(matches!(try_once(paths), Ok(Acquisition::Acquired(_))));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o444
        );
    }

    #[test]
    fn foreign_files_are_left_untouched_and_the_next_directory_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("precious"), "text").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("absent"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let paths = ["link", "dangling", "folder", "nowhere/lock", "precious"].map(at);
        assert!(matches!(
            try_once(&paths[..4]),
            Ok(Acquisition::Unavailable(_))
        ));
        let lock = try_once(&paths).unwrap();
        assert!(matches!(lock, Acquisition::Acquired(_)), "{lock:?}");
        assert!(
            try_once(&paths[4..]).is_err(),
            "the existing file is locked"
        );
        assert_eq!(fs::read(at("precious")).unwrap(), b"text");
        assert!(!at("absent").exists());
    }

    #[test]
    fn environment_variable_names_the_file() {
        assert_eq!(paths(Some("/a".into())), [PathBuf::from("/a")]);
        assert_eq!(paths(Some("".into())), paths(None));
        assert_eq!(paths(None)[0], Path::new("/dev/shm/kernmark.lock"));
    }
}
