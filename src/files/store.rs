// SPDX-License-Identifier: MIT OR Apache-2.0

//! The store of saved runs: takes the record stream of a run and saves it as a file, finds the
//! latest run of a target, and opens files for reading. No file is ever overwritten.
//!
//! While a run is being measured, its stream grows in a [`PartialRun`]. If the tool is killed or
//! the machine loses power, only the open case is lost.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use rustix::fs::{flock, renameat_with, FlockOperation, Mode, OFlags, RenameFlags, CWD};
use rustix::io::Errno;

use crate::stream::run::IMPORTED;
use crate::stream::run::{Fact, FILTERS};
use crate::stream::session::{Event, Reader};

/// The directory of saved runs: `kernmark/runs` in `XDG_DATA_HOME` or `~/.local/share`.
///
/// # Errors
///
/// Neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn directory() -> Result<PathBuf, String> {
    let data = data_from(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"));
    data.map(|data| data.join("runs")).ok_or_else(|| {
        "neither XDG_DATA_HOME nor HOME is set; set one, or name the file".to_owned()
    })
}

/// The directory `kernmark` in this user's data directory. `None` if neither variable is set.
fn data_from(data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // The XDG specification says to ignore a relative path.
    data.map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(home.filter(|home| !home.is_empty())?).join(".local/share")))
        .map(|path| path.join("kernmark"))
}

/// The directory of noise floors, next to the one of saved runs.
fn noise_directory() -> Option<PathBuf> {
    let data = data_from(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"))?;
    Some(data.join("noise"))
}

/// Updates the file of noise floors with this name: `update` takes its present text, or `None` if
/// there is no file, and returns the new text. Returns the path of the file.
///
/// # Errors
///
/// The file cannot be written. It is unchanged then.
pub fn update_noise(
    name: &str,
    update: impl FnOnce(Option<&str>) -> String,
) -> Result<PathBuf, String> {
    let directory = noise_directory()
        .ok_or("neither XDG_DATA_HOME nor HOME is set, so the noise floors cannot be saved")?;
    update_in(&directory, name, update)
}

fn update_in(
    directory: &Path,
    name: &str,
    update: impl FnOnce(Option<&str>) -> String,
) -> Result<PathBuf, String> {
    let path = directory.join(name);
    let text = update(fs::read_to_string(&path).ok().as_deref());
    let written = fs::create_dir_all(directory)
        .and_then(|()| tempfile::NamedTempFile::new_in(directory))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        });
    written
        .map(|_| path.clone())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The files of noise floors: the path of each, and its text or the reason why it cannot be read.
#[must_use]
pub fn noise_files() -> Vec<(PathBuf, Result<String, String>)> {
    noise_directory().map_or_else(Vec::new, |directory| files_in(&directory))
}

fn files_in(directory: &Path) -> Vec<(PathBuf, Result<String, String>)> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            // Reading a pipe would block, so only regular files count.
            path.extension()
                .is_some_and(|extension| extension == "json")
                && path.is_file()
        })
        .collect();
    paths.sort();
    let text = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        (path, text)
    };
    paths.into_iter().map(text).collect()
}

/// A start time in UTC as part of a file name. These names sort by time.
fn time(started: SystemTime) -> String {
    humantime::format_rfc3339_seconds(started)
        .to_string()
        .chars()
        .filter(|&c| c != '-' && c != ':')
        .collect()
}

/// The name of an interleaved measurement: its start time and its seed.
#[must_use]
pub fn measurement(started: SystemTime, seed: u32) -> String {
    format!("{}-{seed:08x}", time(started))
}

/// The file name of a run: its start time in UTC, what was measured, and the seed. Names sort by
/// time.
#[must_use]
pub fn name(started: SystemTime, what: &str, seed: u32) -> String {
    let time = time(started);
    let what: String = what
        .chars()
        .filter(|&c| c.is_ascii_alphanumeric() || "-_+".contains(c))
        .take(64)
        .collect();
    format!("{time}-{what}-{seed:08x}.km")
}

/// The message for a file that exists already.
#[must_use]
pub fn exists(path: &Path) -> String {
    format!(
        "{} exists and is not overwritten; remove it or choose another name",
        path.display()
    )
}

/// The directory of the file `path`.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A run that is being written. Its file has the suffix `.part` until it is finished.
///
/// The file is locked (`flock`) while it is being written. A file without a lock was left behind by
/// a tool that was killed.
#[derive(Debug)]
pub struct PartialRun {
    file: File,
    /// The path while it is being written.
    partial_path: PathBuf,
    /// The path of the finished run.
    final_path: PathBuf,
}

impl PartialRun {
    /// Begins a run that [`PartialRun::finish`] saves as `path`.
    ///
    /// # Errors
    ///
    /// The partial file cannot be created, or already exists.
    pub fn create(path: &Path) -> Result<PartialRun, String> {
        let partial_path = partial_path(path);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&partial_path)
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => exists(&partial_path),
                _ => format!("cannot create {}: {error}", partial_path.display()),
            })?;
        // If the file system has no locks, a run in progress looks like an interrupted one.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(PartialRun {
            file,
            partial_path,
            final_path: path.to_owned(),
        })
    }

    /// Begins a run in the directory of saved runs. Creates the directory if necessary.
    ///
    /// # Errors
    ///
    /// The same as of [`PartialRun::create`], or the directory cannot be created.
    pub fn create_in_directory(name: &str) -> Result<PartialRun, String> {
        let directory = directory()?;
        fs::create_dir_all(&directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        PartialRun::create(&directory.join(name))
    }

    /// Renames the file to its final path, and returns that. `written` says whether the whole
    /// stream was written.
    ///
    /// # Errors
    ///
    /// A file with the final path exists, or the stream is not completely on disk. The partial file
    /// stays, and the message names it.
    pub fn finish(self, written: io::Result<()>) -> Result<PathBuf, String> {
        let keep = |why: String| {
            let path = self.partial_path.display();
            format!("{why}; kernmark show {path}")
        };
        written
            .and_then(|()| self.file.sync_all())
            .map_err(|error| {
                keep(format!(
                    "cannot write {}: {error}",
                    self.partial_path.display()
                ))
            })?;
        rename_new(&self.partial_path, &self.final_path).map_err(|error| {
            keep(match error.kind() {
                io::ErrorKind::AlreadyExists => exists(&self.final_path),
                _ => format!(
                    "cannot save the run as {}: {error}",
                    self.final_path.display()
                ),
            })
        })?;
        // Some file systems cannot sync a directory. The file itself is safe on disk.
        let _ = File::open(parent(&self.final_path)).and_then(|directory| directory.sync_all());
        Ok(self.final_path)
    }

    /// Removes the file, because it holds no measurements.
    pub fn discard(self) {
        // If it cannot be removed, it does no harm.
        let _ = fs::remove_file(&self.partial_path);
    }
}

impl Write for PartialRun {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Renames a file. Fails if the new name exists.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not support NOREPLACE. A hard link fails on an existing name too.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => other.map_err(io::Error::from),
    }
}

/// The path of the partial file of a run that will be saved as `path`.
#[must_use]
pub fn partial_path(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".part");
    partial.into()
}

/// The interrupted runs in the directory of saved runs, the latest last: partial files that no
/// process is writing.
#[must_use]
pub fn interrupted_runs() -> Vec<PathBuf> {
    directory().map_or_else(|_| Vec::new(), |directory| interrupted_runs_in(&directory))
}

fn interrupted_runs_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.as_os_str().as_encoded_bytes().ends_with(b".km.part"))
        .filter(|path| is_interrupted(path))
        .collect();
    paths.sort();
    paths
}

/// Whether a partial file is not empty and no process is writing it.
fn is_interrupted(path: &Path) -> bool {
    // If the path is a pipe, opening it must not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).is_ok_and(|fd| {
        let file = File::from(fd);
        file.metadata()
            .is_ok_and(|data| data.is_file() && data.len() > 0)
            && flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
    })
}

/// The run to use if the user names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Its file.
    pub path: PathBuf,
    /// A message for the user about the choice.
    pub notice: Option<String>,
}

/// The newest complete run of a target in the store: one without filters that ran to its end. If
/// there is none, the newest incomplete run.
///
/// # Errors
///
/// The store has no run of this target, or cannot be read.
pub fn latest(target: &str) -> Result<Latest, String> {
    latest_in(&directory()?, target)
}

fn latest_in(directory: &Path, target: &str) -> Result<Latest, String> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("cannot read {}: {error}", directory.display())),
        Ok(entries) => entries.collect(),
    };
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "km"))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let mut incomplete: Vec<(PathBuf, String)> = Vec::new();
    for path in paths.into_iter().rev() {
        match extent(&path, target) {
            Some(Extent::Complete) => {
                let notice = incomplete.first().map(|(newer, why)| {
                    format!(
                        "using {}, the newest complete run of {target}; {} is newer, but {why}",
                        path.display(),
                        newer.display()
                    )
                });
                return Ok(Latest { path, notice });
            }
            Some(Extent::Incomplete(why)) => incomplete.push((path, why)),
            None => {}
        }
    }
    let newest = incomplete.into_iter().next().map(|(path, why)| Latest {
        notice: Some(format!(
            "no complete run of {target} is saved; using {}, the newest one, which {why}",
            path.display()
        )),
        path,
    });
    newest.ok_or_else(|| {
        let on = match target {
            LINUX => String::new(),
            other => format!(" --on '{other}'"),
        };
        format!(
            "no run of {target} is saved in {}; make one with `kernmark run{on}`",
            directory.display()
        )
    })
}

/// The target of a run without the fact `target`.
pub const LINUX: &str = "linux";

/// How much of a target a saved run measured.
enum Extent {
    Complete,
    /// Not everything; why.
    Incomplete(String),
}

/// How much of `target` a saved run measured. `None` if it is a run of another target or another
/// tool, or cannot be read.
fn extent(path: &Path, target: &str) -> Option<Extent> {
    let mut input = Input::open(path).ok()?;
    let stream = input.reader();
    let mut reader = Reader::new();
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).ok()? > 0 {
        // The facts about the target come before the first session.
        if let Some(Event::Hello(_)) = reader.line(&line) {
            let fact = |name| Fact::value_in(reader.host(), name);
            if fact("target").unwrap_or(LINUX) != target || fact(IMPORTED).is_some() {
                return None;
            }
            if let Some(filters) = fact(FILTERS) {
                return Some(Extent::Incomplete(format!("measured only {filters}")));
            }
        }
        line.clear();
    }
    let run = reader.finish();
    Some(if run.sessions.last()?.complete {
        Extent::Complete
    } else {
        Extent::Incomplete("was cut off".to_owned())
    })
}

/// The first bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The contents of an input, decompressed if they are compressed with gzip.
///
/// # Errors
///
/// It cannot be read.
pub fn decompressed<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    // A pipe may return fewer bytes than requested, even one at a time.
    let mut magic = Vec::new();
    let length = GZIP_MAGIC.len() as u64;
    input.by_ref().take(length).read_to_end(&mut magic)?;
    let is_compressed = magic == GZIP_MAGIC;
    let whole = io::Cursor::new(magic).chain(input);
    Ok(if is_compressed {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}

/// Size of the read buffers in bytes.
const BUFFER: usize = 256 << 10;

/// A file or pipe that is read once, from start to end; `-` is standard input. Decompresses gzip.
pub struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead>,
}

impl Input {
    /// Opens a file or a pipe.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is a device other than a terminal. Reading a device may never end.
    pub fn open(path: &Path) -> Result<Self, String> {
        let unreadable = |error: io::Error| unreadable(path, &error);
        let file = if path == Path::new("-") {
            File::from(
                io::stdin()
                    .as_fd()
                    .try_clone_to_owned()
                    .map_err(unreadable)?,
            )
        } else {
            File::open(path).map_err(unreadable)?
        };
        let kind = file.metadata().map_err(unreadable)?.file_type();
        if kind.is_block_device() || (kind.is_char_device() && !file.is_terminal()) {
            return Err(format!(
                "{} is a device, not a file or a pipe; to read a serial line, use \
                 `kernmark run --on serial:DEVICE`",
                path.display()
            ));
        }
        let reader = decompressed(BufReader::with_capacity(BUFFER, file)).map_err(unreadable)?;
        Ok(Input {
            path: path.to_owned(),
            reader,
        })
    }

    /// Its contents.
    pub fn reader(&mut self) -> &mut dyn BufRead {
        self.reader.as_mut()
    }

    /// The message for an error while reading it.
    #[must_use]
    pub fn unreadable(&self, error: &io::Error) -> String {
        unreadable(&self.path, error)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let partial = partial_path(path);
    let hint = match error.kind() {
        io::ErrorKind::NotFound if partial.is_file() => format!(
            "; its run was interrupted: kernmark show {}",
            partial.display()
        ),
        // Only decompression returns these errors.
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => {
            "; the gzip data is truncated or damaged; `gzip -dc` recovers what is left".to_owned()
        }
        _ => String::new(),
    };
    format!("cannot read {}: {error}{hint}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::record;
    use std::time::Duration;

    #[test]
    fn names_have_time_and_target_and_sort_by_time() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let first = name(at(1_000_000_000), "freertos-m4-O3+canaries", 0xbeef);
        assert_eq!(
            first,
            "20010909T014640Z-freertos-m4-O3+canaries-0000beef.km"
        );
        assert!(first < name(at(1_000_000_001), "bare", 0));
        assert_eq!(name(at(0), "../x y", 1), "19700101T000000Z-xy-00000001.km");
    }

    #[test]
    fn the_directory_follows_xdg() {
        let some = |text: &str| Some(OsString::from(text));
        let path = |data, home| data_from(data, home);
        assert_eq!(path(some("/d"), some("/h")), Some("/d/kernmark".into()));
        let fallback = Some("/h/.local/share/kernmark".into());
        assert_eq!(path(None, some("/h")), fallback);
        assert_eq!(path(some("relative"), some("/h")), fallback);
        assert_eq!(path(some(""), some("/h")), fallback);
        assert_eq!(path(None, some("")), None);
    }

    #[test]
    fn finished_run_replaces_no_file_and_stays_partial_instead() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.km");
        let save = |text: &[u8]| {
            let mut partial = PartialRun::create(&path)?;
            partial.write_all(text).unwrap();
            partial.finish(Ok(()))
        };
        assert_eq!(save(b"one"), Ok(path.clone()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = save(b"two").unwrap_err();
        assert!(error.contains("not overwritten"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read(partial_path(&path)).unwrap(), b"two");
        let error = save(b"three").unwrap_err();
        assert!(error.contains("a.km.part exists"), "{error}");
        assert_eq!(fs::read(partial_path(&path)).unwrap(), b"two");
    }

    #[test]
    fn interrupted_run_is_a_nonempty_partial_file_without_a_writer() {
        let directory = tempfile::tempdir().unwrap();
        let interrupted = || interrupted_runs_in(directory.path());
        let path = directory.path().join("a.km");
        let mut partial = PartialRun::create(&path).unwrap();
        partial.write_all(b"one").unwrap();
        fs::write(directory.path().join("empty.km.part"), "").unwrap();
        fs::create_dir(directory.path().join("b.km.part")).unwrap();
        assert!(interrupted().is_empty(), "it is being written");
        drop(partial);
        assert_eq!(interrupted(), [partial_path(&path)]);
        assert!(latest_in(directory.path(), LINUX).is_err());
        let error = Input::open(&path).map(|_| ()).unwrap_err();
        assert!(error.contains("kernmark show"), "{error}");
        PartialRun::create(&directory.path().join("c.km"))
            .unwrap()
            .discard();
        assert!(!directory.path().join("c.km.part").exists());
    }

    /// The stream of a run: facts, and a session that ended or was cut off.
    fn stream(facts: &[(&str, &str)], ended: bool) -> String {
        let facts = (0..).zip(facts);
        let mut lines: Vec<String> = facts
            .flat_map(|(seq, (name, value))| {
                record::write(seq, "host", &[("name", name)], Some(value))
            })
            .collect();
        let hello = [
            ("port", "fake"),
            ("arch", "none"),
            ("mode", "run"),
            ("clock", "c"),
            ("unit", "cycles"),
            ("hz", "1000"),
            ("realtime", "no"),
        ];
        lines.extend(record::write(0, "hello", &hello, None));
        lines.extend(if ended {
            record::write(1, "bye", &[("records", "1")], None)
        } else {
            record::write(1, "cut", &[], Some("interrupted by the user"))
        });
        lines.join("\n") + "\n"
    }

    #[test]
    fn latest_run_is_the_newest_complete_one_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let find = |target: &str| {
            let found = latest_in(folder.path(), target)?;
            let name = found.path.file_name().unwrap().to_str().unwrap().to_owned();
            Ok::<_, String>((name, found.notice.unwrap_or_default()))
        };
        assert!(latest_in(&folder.path().join("none"), LINUX).is_err());
        assert!(find(LINUX)
            .unwrap_err()
            .contains("make one with `kernmark run`"));
        let save = |name: &str, facts: &[(&str, &str)], ended: bool| {
            fs::write(folder.path().join(name), stream(facts, ended)).unwrap();
        };
        let tool = ("tool", "kernmark 0.1.0");
        save("01.km", &[tool, ("filters", "mutex fifo")], true);
        let (name, notice) = find(LINUX).unwrap();
        assert_eq!(name, "01.km");
        assert!(notice.contains("no complete run of linux"), "{notice}");
        assert!(notice.contains("measured only mutex fifo"), "{notice}");
        save("00.km", &[tool], true);
        let (name, notice) = find(LINUX).unwrap();
        assert_eq!(name, "00.km");
        assert!(notice.contains("01.km is newer, but measured only mutex fifo"));
        save("02.km", &[tool], true);
        assert_eq!(find(LINUX).unwrap(), ("02.km".to_owned(), String::new()));
        for (name, facts, ended) in [
            ("03.km", &[tool, ("target", "freertos:m4")][..], true),
            ("04.km", &[tool, ("imported", "a.log")], true),
            ("05.km", &[tool], false),
        ] {
            save(name, facts, ended);
        }
        fs::write(folder.path().join("06.km"), "words\n").unwrap();
        fs::write(folder.path().join("07.txt"), stream(&[tool], true)).unwrap();
        let (name, notice) = find(LINUX).unwrap();
        assert_eq!(name, "02.km");
        assert!(
            notice.contains("05.km is newer, but was cut off"),
            "{notice}"
        );
        assert_eq!(find("freertos:m4").unwrap().0, "03.km");
        let error = find("uml").unwrap_err();
        assert!(
            error.contains("make one with `kernmark run --on 'uml'`"),
            "{error}"
        );
    }
}
