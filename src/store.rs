//! Where runs are kept: the record stream itself, one file each, never overwritten.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

/// The directory of saved runs, `kernmark/runs` below `XDG_DATA_HOME` or `~/.local/share`.
///
/// # Errors
///
/// Neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn directory() -> Result<PathBuf, String> {
    directory_from(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"))
}

fn directory_from(data: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, String> {
    // A relative XDG_DATA_HOME is invalid and is to be ignored, says its specification.
    data.map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(home.filter(|home| !home.is_empty())?).join(".local/share")))
        .map(|path| path.join("kernmark/runs"))
        .ok_or_else(|| "neither XDG_DATA_HOME nor HOME is set; use -o FILE".to_owned())
}

/// The file name of a run: when it started (UTC), the port and the seed; names sort by time.
#[must_use]
pub fn name(started: SystemTime, port: &str, seed: u32) -> String {
    let time: String = humantime::format_rfc3339_seconds(started)
        .to_string()
        .chars()
        .filter(|&c| c != '-' && c != ':')
        .collect();
    let port: String = port
        .chars()
        .filter(|&c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        .take(32)
        .collect();
    format!("{time}-{port}-{seed:08x}.km")
}

/// Writes a run to `path` whole or not at all; a file that is there stays as it is.
///
/// # Errors
///
/// The path exists, or the file cannot be written; the message says what to do.
pub fn save(path: &Path, stream: &[u8]) -> Result<(), String> {
    save_into(path, stream).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            exists(path)
        } else {
            format!("cannot save the run as {}: {error}", path.display())
        }
    })
}

/// The message for a file that is there already.
#[must_use]
pub fn exists(path: &Path) -> String {
    format!(
        "{} exists and is not overwritten; remove it or choose another name",
        path.display()
    )
}

/// The directory that `path` lies in.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn save_into(path: &Path, stream: &[u8]) -> io::Result<()> {
    let directory = parent(path);
    let mut file = tempfile::Builder::new()
        .prefix(".kernmark-")
        .suffix(".partial")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(directory)?;
    file.write_all(stream)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    // The file is there and whole; some file systems cannot sync a directory.
    let _ = fs::File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Saves a run in the directory of saved runs and returns its path.
///
/// # Errors
///
/// As [`save`]; also, the directory cannot be made.
pub fn keep(name: &str, stream: &[u8]) -> Result<PathBuf, String> {
    let directory = directory()?;
    fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    let path = directory.join(name);
    save(&path, stream)?;
    Ok(path)
}

/// The latest saved run.
///
/// # Errors
///
/// There is none, or the directory cannot be read.
pub fn latest() -> Result<PathBuf, String> {
    latest_in(&directory()?)
}

fn latest_in(directory: &Path) -> Result<PathBuf, String> {
    let none = || {
        format!(
            "no run is saved in {}; `kernmark run` makes one",
            directory.display()
        )
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(none()),
        other => other.map_err(|error| format!("cannot read {}: {error}", directory.display()))?,
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "km"))
        .max()
        .ok_or_else(none)
}

/// Reads a saved run; `-` is standard input.
///
/// # Errors
///
/// It cannot be read.
pub fn load(path: &Path) -> Result<Vec<u8>, String> {
    let stream = if path == Path::new("-") {
        let mut stream = Vec::new();
        io::Read::read_to_end(&mut io::stdin(), &mut stream).map(|_| stream)
    } else {
        fs::read(path)
    };
    stream.map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_tell_when_where_and_sort_by_time() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let first = name(at(1_000_000_000), "linux-user", 0xbeef);
        assert_eq!(first, "20010909T014640Z-linux-user-0000beef.km");
        assert!(first < name(at(1_000_000_001), "bare", 0));
        assert_eq!(name(at(0), "../x y", 1), "19700101T000000Z-xy-00000001.km");
    }

    #[test]
    fn the_directory_follows_xdg() {
        let some = |text: &str| Some(OsString::from(text));
        let path = |data, home| directory_from(data, home);
        assert_eq!(path(some("/d"), some("/h")), Ok("/d/kernmark/runs".into()));
        let fallback = Ok("/h/.local/share/kernmark/runs".into());
        assert_eq!(path(None, some("/h")), fallback);
        assert_eq!(path(some("relative"), some("/h")), fallback);
        assert_eq!(path(some(""), some("/h")), fallback);
        assert!(path(None, some("")).is_err());
    }

    #[test]
    fn a_saved_run_is_never_overwritten_and_leaves_no_partial_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.km");
        save(&path, b"one").unwrap();
        let error = save(&path, b"two").unwrap_err();
        assert!(error.contains("not overwritten"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_latest_run_is_the_last_by_name() {
        let directory = tempfile::tempdir().unwrap();
        assert!(latest_in(directory.path()).is_err());
        assert!(latest_in(&directory.path().join("none")).is_err());
        for name in [
            "20260101T000000Z-a-1.km",
            "20260102T000000Z-a-1.km",
            "z.txt",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(
            latest_in(directory.path()).unwrap(),
            directory.path().join("20260102T000000Z-a-1.km")
        );
    }
}
