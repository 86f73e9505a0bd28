// SPDX-License-Identifier: MIT OR Apache-2.0

//! One kernmark measures at a time: two at once, both at real-time priority, would spoil each other.
//!
//! The turn is an advisory lock (`flock`) on an empty file that all users of
//! the machine share. The kernel takes it back when the process ends, however
//! it ends.

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

/// The environment variable that names another file to lock.
pub const OVERRIDE: &str = "KERNMARK_LOCK";

/// Directories that every user can write to; the first that works is used.
const PLACES: [&str; 3] = ["/dev/shm", "/run/lock", "/tmp"];

/// The file in one of them.
const NAME: &str = "kernmark.lock";

/// How often a lock that is held is tried again.
const GLANCE: Duration = Duration::from_millis(100);

/// The right to measure, until the value ends.
#[derive(Debug)]
pub struct Turn {
    _lock: OwnedFd,
}

/// How waiting for a turn ended.
#[derive(Debug)]
pub enum Waited {
    /// It is ours.
    Ours(Turn),
    /// No file can be locked here, and why: nothing keeps another kernmark away.
    Unguarded(String),
    /// The user does not want to wait any longer.
    Interrupted,
}

/// Waits for the turn for at most `limit`; calls `waiting` once, if it has to wait at all.
///
/// # Errors
///
/// Another process still has the turn; the message says where to look.
pub fn take(
    limit: Duration,
    interrupt: &Interrupt,
    waiting: &mut dyn FnMut(),
) -> Result<Waited, String> {
    take_from(&paths(env::var_os(OVERRIDE)), limit, interrupt, waiting)
}

fn paths(named: Option<OsString>) -> Vec<PathBuf> {
    match named.filter(|name| !name.is_empty()) {
        Some(name) => vec![name.into()],
        None => PLACES.map(|place| Path::new(place).join(NAME)).into(),
    }
}

fn take_from(
    paths: &[PathBuf],
    limit: Duration,
    interrupt: &Interrupt,
    waiting: &mut dyn FnMut(),
) -> Result<Waited, String> {
    let started = Instant::now();
    let mut told = false;
    loop {
        let (path, lock) = match first(paths) {
            Ok(found) => found,
            Err(why) => return Ok(Waited::Unguarded(why)),
        };
        if let Some(lock) = lock {
            return Ok(Waited::Ours(Turn { _lock: lock }));
        }
        if started.elapsed() >= limit {
            return Err(format!(
                "another kernmark is measuring, also after {} s; try again when it is done \
                 (`fuser -v {path}` shows it), or give --wait more seconds",
                limit.as_secs_f64(),
                path = path.display(),
            ));
        }
        if !told {
            told = true;
            waiting();
        }
        sleep(GLANCE);
        if interrupt.raised() {
            return Ok(Waited::Interrupted);
        }
    }
}

/// The first file that can be locked at all, and the lock unless another process has it.
fn first(paths: &[PathBuf]) -> Result<(&Path, Option<OwnedFd>), String> {
    let mut faults = Vec::new();
    for path in paths {
        match lock(path) {
            Ok(lock) => return Ok((path, lock)),
            Err(error) => faults.push(format!("{}: {error}", path.display())),
        }
    }
    Err(faults.join(", "))
}

/// The lock on a file; `None` when another process has it.
fn lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let fd = shared_file(path)?;
    match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(fd)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the file, or makes it, so that every user can lock it and nobody needs to write to it.
///
/// Anybody may have put anything there: a link is not followed, a pipe does not block, and nothing
/// is written or cut.
fn shared_file(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let everybody = Mode::RUSR | Mode::RGRP | Mode::ROTH;
    // Without CREATE first: many systems forbid it on the file of another user.
    let fd = match open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => match open(path, flags | OFlags::CREATE | OFlags::EXCL, everybody) {
            Ok(fd) => {
                // The user's mask may have taken rights from it.
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

    fn try_once(paths: &[PathBuf]) -> Result<Waited, String> {
        let interrupt = Interrupt::install().unwrap();
        take_from(paths, Duration::ZERO, &interrupt, &mut || {})
    }

    #[test]
    fn only_one_has_the_turn_and_its_end_frees_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let paths = slice::from_ref(&path);
        let turn = try_once(paths).unwrap();
        assert!(matches!(turn, Waited::Ours(_)), "{turn:?}");
        let error = try_once(paths).unwrap_err();
        assert!(error.contains("another kernmark is measuring"), "{error}");
        drop(turn);
        assert!(matches!(try_once(paths), Ok(Waited::Ours(_))));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o444
        );
    }

    #[test]
    fn what_others_put_there_is_not_touched_and_the_next_place_serves() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("precious"), "text").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("absent"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let paths = ["link", "dangling", "folder", "nowhere/lock", "precious"].map(at);
        assert!(matches!(try_once(&paths[..4]), Ok(Waited::Unguarded(_))));
        let turn = try_once(&paths).unwrap();
        assert!(matches!(turn, Waited::Ours(_)), "{turn:?}");
        assert!(
            try_once(&paths[4..]).is_err(),
            "the file that was there is locked"
        );
        assert_eq!(fs::read(at("precious")).unwrap(), b"text");
        assert!(!at("absent").exists());
    }

    #[test]
    fn the_user_can_name_the_file() {
        assert_eq!(paths(Some("/a".into())), [PathBuf::from("/a")]);
        assert_eq!(paths(Some("".into())), paths(None));
        assert_eq!(paths(None)[0], Path::new("/dev/shm/kernmark.lock"));
    }
}
