// SPDX-License-Identifier: MIT OR Apache-2.0

//! The store of saved runs: takes the record stream of a run and saves it as a file, and opens files
//! for reading. No file is ever overwritten. [`runs`](super::runs) finds saved runs again.
//!
//! While a run is being measured, its stream grows in a [`PartialRun`]. If the tool is killed or
//! the machine loses power, only the open case is lost. The finished run is compressed.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::Compression;
use rustix::fs::{flock, renameat_with, FlockOperation, Mode, OFlags, RenameFlags, CWD};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::digest::hexadecimal;

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
    replace(&path, &text)?;
    Ok(path)
}

/// Writes a file in place of the one that may be there. A reader sees the one or the other.
///
/// # Errors
///
/// The file cannot be written. It is unchanged then.
pub fn replace(path: &Path, text: &str) -> Result<(), String> {
    let directory = parent(path);
    let written = fs::create_dir_all(directory)
        .and_then(|()| tempfile::NamedTempFile::new_in(directory))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)
        });
    written
        .map(drop)
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

/// The start of a run's file name: its start time in UTC and what was measured. Names sort by time.
#[must_use]
pub fn name(started: SystemTime, what: &str) -> String {
    let time = time(started);
    let what: String = what
        .chars()
        .filter(|&c| c.is_ascii_alphanumeric() || "-_+".contains(c))
        .take(64)
        .collect();
    format!("{time}-{what}")
}

/// How many digits of its hash the name of a run's file has.
pub const HASH_IN_NAME: usize = 12;

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

/// A run that is being written. Its file holds plain records and has the suffix `.part` until it is
/// finished.
///
/// The file is locked (`flock`) while it is being written. A file without a lock was left behind by
/// a tool that was killed.
#[derive(Debug)]
pub struct PartialRun {
    file: File,
    /// The path while it is being written.
    partial_path: PathBuf,
    place: Place,
}

/// Where a finished run is saved.
#[derive(Debug)]
enum Place {
    /// This file.
    File(PathBuf),
    /// The directory of saved runs: a file whose name starts like this and ends in the hash.
    Directory(PathBuf, String),
}

/// A run that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its file.
    pub path: PathBuf,
    /// Whether the file lies in the directory of saved runs.
    pub is_in_directory: bool,
}

impl PartialRun {
    /// Begins a run that [`PartialRun::finish`] saves as `path`, compressed if that ends in `.gz`.
    ///
    /// # Errors
    ///
    /// The partial file cannot be created, or already exists.
    pub fn create(path: &Path) -> Result<PartialRun, String> {
        Self::begin(partial_path(path), Place::File(path.to_owned()))
    }

    /// Begins a run in the directory of saved runs. Creates the directory if necessary. `name` is
    /// the start of its file's name ([`name`]); `seed` distinguishes runs while they are measured.
    ///
    /// # Errors
    ///
    /// The same as of [`PartialRun::create`], or the directory cannot be created.
    pub fn create_in_directory(name: &str, seed: u32) -> Result<PartialRun, String> {
        Self::create_in(&directory()?, name, seed)
    }

    fn create_in(directory: &Path, name: &str, seed: u32) -> Result<PartialRun, String> {
        fs::create_dir_all(directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        let partial_path = directory.join(format!("{name}-{seed:08x}.km.part"));
        let place = Place::Directory(directory.to_owned(), name.to_owned());
        Self::begin(partial_path, place)
    }

    fn begin(partial_path: PathBuf, place: Place) -> Result<PartialRun, String> {
        let file = OpenOptions::new()
            .read(true)
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
            place,
        })
    }

    /// Saves the run under its final name. `written` says whether the whole stream was written.
    ///
    /// # Errors
    ///
    /// Another file with the final name exists, or the stream is not completely on disk. The partial
    /// file stays, and the message names it.
    pub fn finish(mut self, written: io::Result<()>) -> Result<Saved, String> {
        let finished = written
            .map_err(|error| format!("cannot write {}: {error}", self.partial_path.display()))
            .and_then(|()| match &self.place {
                Place::File(path) if path.extension().is_none_or(|suffix| suffix != "gz") => {
                    self.rename_to(path)
                }
                Place::File(_) | Place::Directory(..) => self.compress(),
            });
        finished.map_err(|why| format!("{why}; kernmark show {}", self.partial_path.display()))
    }

    /// Gives the file its final name.
    fn rename_to(&self, path: &Path) -> Result<Saved, String> {
        self.file
            .sync_all()
            .map_err(|error| format!("cannot write {}: {error}", self.partial_path.display()))?;
        rename_new(&self.partial_path, path).map_err(|error| not_saved(path, &error))?;
        sync_directory(path);
        Ok(Saved {
            path: path.to_owned(),
            is_in_directory: false,
        })
    }

    /// Writes a compressed copy, gives that its final name, and removes the file.
    fn compress(&mut self) -> Result<Saved, String> {
        let directory = match &self.place {
            Place::File(path) => parent(path),
            Place::Directory(directory, _) => directory,
        };
        let compressed = compressed(&mut self.file, directory);
        let (copy, hash) = compressed
            .map_err(|error| format!("cannot write a file in {}: {error}", directory.display()))?;
        let (path, is_in_directory) = match &self.place {
            Place::File(path) => (path.clone(), false),
            Place::Directory(directory, name) => {
                let hash = &hash[..HASH_IN_NAME];
                (directory.join(format!("{name}-{hash}.km.gz")), true)
            }
        };
        match copy.persist_noclobber(&path) {
            Ok(_) => {}
            // The same run was saved before.
            Err(error)
                if error.error.kind() == io::ErrorKind::AlreadyExists
                    && is_in_directory
                    && path.is_file()
                    && hash_of(&path).is_ok_and(|there| there == hash) => {}
            Err(error) => return Err(not_saved(&path, &error.error)),
        }
        sync_directory(&path);
        // The run is safe. If this file cannot be removed, it does no harm.
        let _ = fs::remove_file(&self.partial_path);
        Ok(Saved {
            path,
            is_in_directory,
        })
    }

    /// Removes the file, because it holds no measurements.
    pub fn discard(self) {
        // If it cannot be removed, it does no harm.
        let _ = fs::remove_file(&self.partial_path);
    }
}

fn not_saved(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => format!("cannot save the run as {}: {error}", path.display()),
    }
}

/// Makes the name of a file permanent. Some file systems cannot sync a directory; the file itself is
/// safe on disk.
fn sync_directory(path: &Path) {
    let _ = File::open(parent(path)).and_then(|directory| directory.sync_all());
}

/// A compressed copy of a file, on disk, and the hash of the file's contents.
fn compressed(file: &mut File, directory: &Path) -> io::Result<(NamedTempFile, String)> {
    file.rewind()?;
    let copy = tempfile::Builder::new()
        .prefix(".saving-")
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(directory)?;
    let mut encoder = GzEncoder::new(BufWriter::new(copy), Compression::default());
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                encoder.write_all(&buffer[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let copy = encoder.finish()?.into_inner()?;
    copy.as_file().sync_all()?;
    Ok((copy, hexadecimal(&hash.finalize())))
}

/// The SHA-256 of the decompressed contents of a file.
fn hash_of(path: &Path) -> io::Result<String> {
    let mut contents = decompressed(BufReader::with_capacity(BUFFER, File::open(path)?))?;
    let mut hash = Sha256::new();
    loop {
        let bytes = contents.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hexadecimal(&hash.finalize()));
        }
        hash.update(bytes);
        let count = bytes.len();
        contents.consume(count);
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
    use std::time::Duration;

    #[test]
    fn names_have_time_and_target_and_sort_by_time() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let first = name(at(1_000_000_000), "freertos-m4-O3+canaries");
        assert_eq!(first, "20010909T014640Z-freertos-m4-O3+canaries");
        assert!(first < name(at(1_000_000_001), "bare"));
        assert_eq!(name(at(0), "../x y"), "19700101T000000Z-xy");
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
        assert_eq!(save(b"one").unwrap().path, path);
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
        let error = Input::open(&path).map(|_| ()).unwrap_err();
        assert!(error.contains("kernmark show"), "{error}");
        PartialRun::create(&directory.path().join("c.km"))
            .unwrap()
            .discard();
        assert!(!directory.path().join("c.km.part").exists());
    }

    #[test]
    fn compressed_run_has_its_hash_in_its_name_and_is_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let save = |seed, text: &[u8]| {
            let mut partial = PartialRun::create_in(directory.path(), "t-linux", seed).unwrap();
            partial.write_all(text).unwrap();
            partial.finish(Ok(()))
        };
        let first = save(1, b"one").unwrap();
        // printf one | sha256sum
        let path = directory.path().join("t-linux-7692c3ad3540.km.gz");
        assert_eq!(first.path, path);
        assert_eq!(save(2, b"one"), Ok(first));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let mut text = String::new();
        let mut input = Input::open(&path).unwrap();
        input.reader().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one");
        // Something else has the name.
        fs::write(&path, "garbage").unwrap();
        let error = save(3, b"one").unwrap_err();
        assert!(error.contains("not overwritten"), "{error}");
        assert!(error.contains("kernmark show"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"garbage");
        let part = directory.path().join("t-linux-00000003.km.part");
        assert_eq!(fs::read(part).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn file_that_the_user_names_is_compressed_if_its_suffix_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.km.gz");
        let save = || {
            let mut partial = PartialRun::create(&path)?;
            partial.write_all(b"one").unwrap();
            partial.finish(Ok(()))
        };
        assert_eq!(save().unwrap().path, path);
        assert_eq!(fs::read(&path).unwrap()[..2], GZIP_MAGIC);
        assert!(save().unwrap_err().contains("not overwritten"));
    }
}
