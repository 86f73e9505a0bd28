// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where runs are kept: the record stream itself, one file each, never overwritten.
//!
//! While a run is measured its stream grows in a [`Part`], so that a tool that
//! is killed, or a machine that loses its power, costs no more than the case
//! that was open.

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

/// The directory of saved runs, `kernmark/runs` below `XDG_DATA_HOME` or `~/.local/share`.
///
/// # Errors
///
/// Neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn directory() -> Result<PathBuf, String> {
    let data = data_from(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"));
    data.map(|data| data.join("runs"))
        .ok_or_else(|| "neither XDG_DATA_HOME nor HOME is set; use -o FILE".to_owned())
}

/// The directory `kernmark` of this user's data, where the environment names one.
fn data_from(data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // A relative XDG_DATA_HOME is invalid and is to be ignored, says its specification.
    data.map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(home.filter(|home| !home.is_empty())?).join(".local/share")))
        .map(|path| path.join("kernmark"))
}

/// The directory of noise floors, beside that of the runs.
fn noise_directory() -> Option<PathBuf> {
    let data = data_from(env::var_os("XDG_DATA_HOME"), env::var_os("HOME"))?;
    Some(data.join("noise"))
}

/// Replaces the noise floors that are kept under a name by what `update` makes of them; it gets
/// `None` where there are none. Returns the file.
///
/// # Errors
///
/// The file cannot be written. It is then as it was.
pub fn update_noise(
    name: &str,
    update: impl FnOnce(Option<&str>) -> String,
) -> Result<PathBuf, String> {
    let directory = noise_directory()
        .ok_or("neither XDG_DATA_HOME nor HOME is set, so the floors have no place")?;
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

/// The files of noise floors, each with its text or the reason why it cannot be read.
#[must_use]
pub fn noise_files() -> Vec<(PathBuf, Result<String, String>)> {
    noise_directory().map_or_else(Vec::new, |directory| files_in(&directory))
}

fn files_in(directory: &Path) -> Vec<(PathBuf, Result<String, String>)> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            // A pipe of such a name would wait for whoever writes to it.
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

/// When something started (UTC); these sort by time.
fn time(started: SystemTime) -> String {
    humantime::format_rfc3339_seconds(started)
        .to_string()
        .chars()
        .filter(|&c| c != '-' && c != ':')
        .collect()
}

/// The name of an interleaved measurement: when it started and the seed.
#[must_use]
pub fn measurement(started: SystemTime, seed: u32) -> String {
    format!("{}-{seed:08x}", time(started))
}

/// The file name of a run: when it started (UTC), what was measured and the seed; names sort by time.
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

/// A run that is being saved: a file beside the one that it becomes.
///
/// It is locked (`flock`) as long as it is written, which tells it from one
/// that a killed tool has left.
#[derive(Debug)]
pub struct Part {
    file: File,
    /// Its path as long as it is written.
    here: PathBuf,
    /// Its path in the end.
    becomes: PathBuf,
}

impl Part {
    /// Begins a run that [`Part::finish`] saves as `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be made, or one that was cut off is there.
    pub fn create(path: &Path) -> Result<Part, String> {
        let part = part_of(path);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&part)
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => exists(&part),
                _ => format!("cannot make {}: {error}", part.display()),
            })?;
        // Where files cannot be locked, a run that is measured looks like one that was cut off.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Part {
            file,
            here: part,
            becomes: path.to_owned(),
        })
    }

    /// Begins a run in the directory of saved runs, which is made if need be.
    ///
    /// # Errors
    ///
    /// As [`Part::create`]; also, the directory cannot be made.
    pub fn create_in_directory(name: &str) -> Result<Part, String> {
        let directory = directory()?;
        fs::create_dir_all(&directory)
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
        Part::create(&directory.join(name))
    }

    /// Gives the run its name, which no other file may have, and returns it. `written` says
    /// whether all of the stream could be written.
    ///
    /// # Errors
    ///
    /// The name is taken, or the stream is not all on the disk. The part stays, and the message
    /// names it.
    pub fn finish(self, written: io::Result<()>) -> Result<PathBuf, String> {
        let kept = |why: String| format!("{why}; kernmark show {}", self.here.display());
        written
            .and_then(|()| self.file.sync_all())
            .map_err(|error| kept(format!("cannot write {}: {error}", self.here.display())))?;
        rename_new(&self.here, &self.becomes).map_err(|error| {
            kept(match error.kind() {
                io::ErrorKind::AlreadyExists => exists(&self.becomes),
                _ => format!("cannot save the run as {}: {error}", self.becomes.display()),
            })
        })?;
        // The file is there and whole; some file systems cannot sync a directory.
        let _ = File::open(parent(&self.becomes)).and_then(|directory| directory.sync_all());
        Ok(self.becomes)
    }

    /// Removes what was written: it holds nothing.
    pub fn discard(self) {
        // A file that stays is empty and does no harm.
        let _ = fs::remove_file(&self.here);
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Renames a file to a name that must be free.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system knows how; a second name is as safe.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => other.map_err(io::Error::from),
    }
}

/// Where the stream of a run that becomes `path` is until then.
#[must_use]
pub fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// The runs in the directory of saved runs that were cut off, the latest last.
///
/// Those that another process is measuring are none of them.
#[must_use]
pub fn left_over() -> Vec<PathBuf> {
    directory().map_or_else(|_| Vec::new(), |directory| left_over_in(&directory))
}

fn left_over_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut parts: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.as_os_str().as_encoded_bytes().ends_with(b".km.part"))
        .filter(|path| is_left_over(path))
        .collect();
    parts.sort();
    parts
}

/// Whether a run of this name holds something and nobody writes it.
fn is_left_over(path: &Path) -> bool {
    // Nothing else may have such a name; if it has, opening it must not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).is_ok_and(|fd| {
        let file = File::from(fd);
        file.metadata()
            .is_ok_and(|data| data.is_file() && data.len() > 0)
            && flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
    })
}

/// The run that is meant where nobody names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Its file.
    pub path: PathBuf,
    /// What a reader should know of the choice.
    pub notice: Option<String>,
}

/// The newest whole run of a target that is saved: all that it can measure, measured to the end. Where
/// there is none, the newest of those that are not whole.
///
/// # Errors
///
/// There is none of this target, or the directory cannot be read.
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
    let mut parts: Vec<(PathBuf, String)> = Vec::new();
    for path in paths.into_iter().rev() {
        match extent(&path, target) {
            Some(Extent::Whole) => {
                let notice = parts.first().map(|(newer, why)| {
                    format!(
                        "{} is the newest whole run of {target}; {} is newer and {why}",
                        path.display(),
                        newer.display()
                    )
                });
                return Ok(Latest { path, notice });
            }
            Some(Extent::Part(why)) => parts.push((path, why)),
            None => {}
        }
    }
    let newest = parts.into_iter().next().map(|(path, why)| Latest {
        notice: Some(format!(
            "no whole run of {target} is saved; {}, the newest, {why}",
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
            "no run of {target} is saved in {}; `kernmark run{on}` makes one",
            directory.display()
        )
    })
}

/// The target of a run that names none.
pub const LINUX: &str = "linux";

/// How much of a target a saved run measured.
enum Extent {
    Whole,
    /// Not all of it, and why.
    Part(String),
}

/// How much of a target a saved run measured; `None` where it measured another one, is of another
/// tool or cannot be read.
fn extent(path: &Path, target: &str) -> Option<Extent> {
    let mut input = Input::open(path).ok()?;
    let stream = input.reader();
    let mut reader = Reader::new();
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).ok()? > 0 {
        // What was measured is told before the first session.
        if let Some(Event::Hello(_)) = reader.line(&line) {
            let told = |name| Fact::value_in(reader.host(), name);
            if told("target").unwrap_or(LINUX) != target || told(IMPORTED).is_some() {
                return None;
            }
            if let Some(filters) = told(FILTERS) {
                return Some(Extent::Part(format!("was to measure only {filters}")));
            }
        }
        line.clear();
    }
    let run = reader.finish();
    Some(if run.sessions.last()?.complete {
        Extent::Whole
    } else {
        Extent::Part("was cut off".to_owned())
    })
}

/// What a file that is packed with gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What an input holds, unpacked if it is packed with gzip.
///
/// # Errors
///
/// It cannot be read.
pub fn unpacked<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    // A pipe may give its bytes one by one.
    let mut beginning = Vec::new();
    let few = GZIP.len() as u64;
    input.by_ref().take(few).read_to_end(&mut beginning)?;
    let is_packed = beginning == GZIP;
    let whole = io::Cursor::new(beginning).chain(input);
    Ok(if is_packed {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// A file or a pipe that is read from its start to its end, once; `-` is standard input. What is
/// packed with gzip is unpacked.
pub struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead>,
}

impl Input {
    /// A file or a pipe that exists.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is a device, which may never end. A terminal may be standard input.
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
                "{} is a device, no file and no pipe; what a serial line says is read with \
                 `kernmark run --on serial:DEVICE`",
                path.display()
            ));
        }
        let reader = unpacked(BufReader::with_capacity(BUFFER, file)).map_err(unreadable)?;
        Ok(Input {
            path: path.to_owned(),
            reader,
        })
    }

    /// What it holds.
    pub fn reader(&mut self) -> &mut dyn BufRead {
        self.reader.as_mut()
    }

    /// The message for an error that reading it met.
    #[must_use]
    pub fn unreadable(&self, error: &io::Error) -> String {
        unreadable(&self.path, error)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let part = part_of(path);
    let hint = match error.kind() {
        io::ErrorKind::NotFound if part.is_file() => format!(
            "; its run was not finished: kernmark show {}",
            part.display()
        ),
        // Nothing but unpacking meets these.
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => {
            "; what gzip packed is cut off or damaged: `gzip -dc` gives what is left of it"
                .to_owned()
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
    fn names_tell_when_where_and_sort_by_time() {
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
    fn a_saved_run_is_never_overwritten_and_one_that_cannot_get_its_name_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.km");
        let save = |text: &[u8]| {
            let mut part = Part::create(&path)?;
            part.write_all(text).unwrap();
            part.finish(Ok(()))
        };
        assert_eq!(save(b"one"), Ok(path.clone()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = save(b"two").unwrap_err();
        assert!(error.contains("not overwritten"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read(part_of(&path)).unwrap(), b"two");
        let error = save(b"three").unwrap_err();
        assert!(error.contains("a.km.part exists"), "{error}");
        assert_eq!(fs::read(part_of(&path)).unwrap(), b"two");
    }

    #[test]
    fn a_run_is_left_over_when_it_holds_something_and_nobody_writes_it() {
        let directory = tempfile::tempdir().unwrap();
        let left = || left_over_in(directory.path());
        let path = directory.path().join("a.km");
        let mut part = Part::create(&path).unwrap();
        part.write_all(b"one").unwrap();
        fs::write(directory.path().join("empty.km.part"), "").unwrap();
        fs::create_dir(directory.path().join("b.km.part")).unwrap();
        assert!(left().is_empty(), "it is being written");
        drop(part);
        assert_eq!(left(), [part_of(&path)]);
        assert!(latest_in(directory.path(), LINUX).is_err());
        let error = Input::open(&path).map(|_| ()).unwrap_err();
        assert!(error.contains("kernmark show"), "{error}");
        Part::create(&directory.path().join("c.km"))
            .unwrap()
            .discard();
        assert!(!directory.path().join("c.km.part").exists());
    }

    /// The stream of a run: facts of the tool, a session, and whether it came to its end.
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
    fn the_latest_run_is_the_newest_whole_one_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let find = |target: &str| {
            let found = latest_in(folder.path(), target)?;
            let name = found.path.file_name().unwrap().to_str().unwrap().to_owned();
            Ok::<_, String>((name, found.notice.unwrap_or_default()))
        };
        assert!(latest_in(&folder.path().join("none"), LINUX).is_err());
        assert!(find(LINUX)
            .unwrap_err()
            .contains("`kernmark run` makes one"));
        let save = |name: &str, facts: &[(&str, &str)], ended: bool| {
            fs::write(folder.path().join(name), stream(facts, ended)).unwrap();
        };
        let tool = ("tool", "kernmark 0.1.0");
        save("01.km", &[tool, ("filters", "mutex fifo")], true);
        let (name, notice) = find(LINUX).unwrap();
        assert_eq!(name, "01.km");
        assert!(notice.contains("no whole run of linux"), "{notice}");
        assert!(notice.contains("only mutex fifo"), "{notice}");
        save("00.km", &[tool], true);
        let (name, notice) = find(LINUX).unwrap();
        assert_eq!(name, "00.km");
        assert!(notice.contains("01.km is newer and was to measure only mutex fifo"));
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
            notice.contains("05.km is newer and was cut off"),
            "{notice}"
        );
        assert_eq!(find("freertos:m4").unwrap().0, "03.km");
        let error = find("uml").unwrap_err();
        assert!(
            error.contains("`kernmark run --on 'uml'` makes one"),
            "{error}"
        );
    }
}
