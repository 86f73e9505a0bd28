// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent's sources and the descriptions of targets. They are embedded in the program, so that
//! an installed tool works without the repository.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};

use super::cache;

/// A source file of the agent.
struct Source {
    /// Its path in the agent's folder.
    path: &'static str,
    mode: u32,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The built-in descriptions of targets: name and text.
#[must_use]
pub fn targets() -> &'static [(&'static str, &'static str)] {
    TARGETS
}

/// A hash of the agent's sources.
#[must_use]
pub fn hash() -> u64 {
    cache::hash(
        AGENT
            .iter()
            .flat_map(|source| [source.path.as_bytes(), source.bytes]),
    )
}

/// Writes the agent's sources (`core/`, `bench/`, `ports/`) to the user's cache, if they are not
/// there yet. Returns their folder.
///
/// # Errors
///
/// They cannot be written.
pub fn folder() -> Result<PathBuf, String> {
    let folder = cache::folder()?.join(format!("agent-{:016x}", hash()));
    ensure_written(&folder, AGENT).map_err(|error| {
        format!(
            "cannot write the agent's sources to {}: {error}; set XDG_CACHE_HOME to a directory \
             that you can write to",
            folder.display()
        )
    })?;
    Ok(folder)
}

/// Makes sure that a folder has these files. A complete folder is never touched, because another
/// kernmark may be building from it. An incomplete one is replaced, by one process at a time.
fn ensure_written(folder: &Path, sources: &[Source]) -> io::Result<()> {
    let is_complete = || {
        let is_present = |source: &Source| {
            fs::read(folder.join(source.path)).is_ok_and(|bytes| bytes == source.bytes)
        };
        sources.iter().all(is_present)
    };
    if is_complete() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(Path::new("."));
    let lock = File::options()
        .create(true)
        .append(true)
        .open(folder.with_extension("lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    if is_complete() {
        return Ok(());
    }
    let temporary = tempfile::Builder::new()
        .prefix("agent-")
        .tempdir_in(parent)?;
    for source in sources {
        let path = temporary.path().join(source.path);
        fs::create_dir_all(path.parent().unwrap_or(parent))?;
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(source.mode)
            .open(path)?;
        file.write_all(source.bytes)?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(temporary.path(), folder)?;
    // It was renamed, so there is nothing left to remove.
    let _ = temporary.keep();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Barrier;
    use std::thread;

    const TWO: [Source; 2] = [
        Source {
            path: "core/a.c",
            mode: 0o600,
            bytes: b"int a;\n",
        },
        Source {
            path: "ports/x/fetch",
            mode: 0o700,
            bytes: b"#!/bin/sh\n",
        },
    ];

    #[test]
    fn sources_are_written_once_and_repaired_if_damaged() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("agent-1");
        ensure_written(&folder, &TWO).unwrap();
        let read = |path: &str| fs::read(folder.join(path)).unwrap();
        assert_eq!(read("core/a.c"), b"int a;\n");
        let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().mode() & 0o777;
        assert_eq!((mode("core/a.c"), mode("ports/x/fetch")), (0o600, 0o700));
        let inode = fs::metadata(&folder).unwrap().ino();
        ensure_written(&folder, &TWO).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().ino(), inode);
        fs::remove_file(folder.join("core/a.c")).unwrap();
        ensure_written(&folder, &TWO).unwrap();
        assert_eq!(read("core/a.c"), b"int a;\n");
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "the folder and its lock: {left:?}");
    }

    #[test]
    fn concurrent_writers_do_not_replace_a_complete_folder() {
        for _ in 0..100 {
            let parent = tempfile::tempdir().unwrap();
            let folder = parent.path().join("agent-1");
            let start = Barrier::new(8);
            let write = || {
                start.wait();
                ensure_written(&folder, &TWO).unwrap();
                fs::metadata(&folder).unwrap().ino()
            };
            let seen: BTreeSet<u64> = thread::scope(|scope| {
                let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
                writers.into_iter().map(|w| w.join().unwrap()).collect()
            });
            assert_eq!(seen.len(), 1);
        }
    }

    #[test]
    fn embedded_sources_are_complete_and_exclude_build_output() {
        let paths: Vec<&str> = AGENT.iter().map(|source| source.path).collect();
        for path in ["kernmark.h", "core/runner.c", "ports/template/port.h"] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
        assert!(!paths.iter().any(|path| path.contains("/build/")));
        assert!(targets().iter().any(|(name, _)| *name == "freertos"));
    }
}
