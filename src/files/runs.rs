// SPDX-License-Identifier: MIT OR Apache-2.0

//! The folder of saved runs: finds a run by its name, lists the runs, and loads their digests.
//!
//! The runs are all that the folder needs. Beside each lies its digest, a small text, and the file
//! `index` packs the digests of many runs. Both are made again when they are missing, damaged or of
//! another version, so they may be deleted at any time. A folder that cannot be written serves as
//! well, only slower.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation, Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::digest::{hexadecimal, is_digit, Digest, Head, Series, Timeline};
use super::index::{self, Index, Source};
use super::store::{decompressed, HASH_IN_NAME};
use crate::stream::run::{Run, Unit, CLOCK, LINUX};
use crate::stream::session::Reader;

/// Judges a run: its digest. The head that it takes has the name, the hash and the size of the file.
pub type DigestOf = fn(&Run, Head) -> Digest;

/// The suffixes of runs, compressed and as older versions saved them.
const SUFFIXES: [&str; 2] = [".km.gz", ".km"];
/// What the name of a digest adds to the name of its run.
const DIGEST: &str = ".digest";
/// The name of the index.
const INDEX: &str = "index";

/// The longest digest that is read, in bytes; thirty times one of 1000 metrics.
const LONGEST_DIGEST: u64 = 4 << 20;
/// From so many runs that the index lacks, it is written. Fewer are read from their digests.
const WORTH_WRITING: usize = 64;
/// The most runs in a chunk of the index.
const RUNS_IN_CHUNK: usize = 512;

/// The fewest digits of a hash that name a run.
const FEWEST_DIGITS: usize = 4;
/// The fewest digits that are shown.
const DIGITS_SHOWN: usize = 7;

/// A folder of saved runs.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    digest_of: DigestOf,
}

/// A run in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// The name of its file, with the suffix.
    pub file: String,
    /// The names of other files with the same records.
    pub copies: Vec<String>,
    /// What is known of it.
    pub head: Head,
}

/// The shortest starts of their hashes that name these runs, all equally long.
#[must_use]
pub fn short_names(runs: &[SavedRun]) -> Vec<&str> {
    let start = |run: &'_ SavedRun, length: usize| -> String {
        run.head.hash.chars().take(length).collect()
    };
    let is_enough = |length: &usize| {
        let starts: HashSet<String> = runs.iter().map(|run| start(run, *length)).collect();
        starts.len() == runs.len()
    };
    let length = (DIGITS_SHOWN..64).find(is_enough).unwrap_or(64);
    let names = runs.iter().map(|run| run.head.hash.as_str());
    names
        .map(|hash| hash.get(..length).unwrap_or(hash))
        .collect()
}

/// A file that looks like a run, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunFile {
    name: String,
    size: u64,
}

impl RunFile {
    /// Its name without the suffix.
    fn stem(&self) -> &str {
        let mut suffixes = SUFFIXES.iter();
        let stem = suffixes.find_map(|suffix| self.name.strip_suffix(suffix));
        stem.unwrap_or(&self.name)
    }

    /// The start of its hash, if its name has it.
    fn hash(&self) -> Option<&str> {
        let (_, hash) = self.stem().rsplit_once('-')?;
        let is_hash = hash.len() == HASH_IN_NAME && hash.bytes().all(is_digit);
        (is_hash && self.name.ends_with(SUFFIXES[0])).then_some(hash)
    }
}

/// What a user can call a saved run besides its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// `latest`, `latest~1`, `latest:TARGET`, `latest:TARGET~1`: the newest complete run, or the
    /// one so many before it of the same target and machine.
    Latest {
        /// The target; `None`: any.
        target: Option<String>,
        /// How many before the newest.
        back: usize,
    },
    /// The name of its file, or the start of its hash.
    Named(String),
}

impl Name {
    /// Reads a name. Any text that has no form of its own may be the name of a file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (start, back) = match text.rsplit_once('~') {
            Some((start, back)) => (start, back.parse().ok()),
            None => (text, Some(0)),
        };
        let target = match start.strip_prefix("latest") {
            Some("") => Some(None),
            Some(rest) => rest.strip_prefix(':').map(|target| Some(target.to_owned())),
            None => None,
        };
        match (target, back) {
            (Some(target), Some(back)) => Name::Latest { target, back },
            _ => Name::Named(text.to_owned()),
        }
    }
}

/// A run that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// A message for the user about the choice.
    pub notice: Option<String>,
}

impl Folder {
    /// A folder. It need not exist.
    #[must_use]
    pub fn new(path: PathBuf, digest_of: DigestOf) -> Self {
        Folder { path, digest_of }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that look like runs, sorted by name and so by time.
    fn files(&self) -> Result<Vec<RunFile>, String> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("cannot read {}: {error}", self.path.display())),
            Ok(entries) => entries,
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if !SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || name.starts_with('.') {
                continue;
            }
            // Follows a link to a run elsewhere.
            if let Ok(data) = fs::metadata(entry.path()) {
                if data.is_file() {
                    let size = data.len();
                    files.push(RunFile { name, size });
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// The digest of a run: the one beside it, or else a new one, which is kept if it can be.
    fn digest(&self, file: &RunFile) -> Result<Digest, String> {
        let path = self.path.join(format!("{}{DIGEST}", file.name));
        let kept = read_small(&path).and_then(|text| Digest::parse(&text, file.stem()).ok());
        let is_of_file = |digest: &Digest| {
            let hash = file.hash().unwrap_or_default();
            digest.head.size == file.size && digest.head.hash.starts_with(hash)
        };
        if let Some(digest) = kept.filter(is_of_file) {
            return Ok(digest);
        }
        let (run, hash) = read_run(&self.path.join(&file.name))?;
        if run.sessions.is_empty() {
            return Err("it holds no run".to_owned());
        }
        let head = Head {
            name: file.stem().to_owned(),
            hash,
            size: file.size,
            ..Head::default()
        };
        let digest = (self.digest_of)(&run, head);
        // Without it, the run is read again the next time.
        let _ = replace(&path, digest.text().as_bytes());
        Ok(digest)
    }

    /// Writes the digest of a run that was just saved here, so that nobody has to wait for it later.
    ///
    /// # Errors
    ///
    /// The file is not a run of this folder.
    pub fn keep_digest(&self, path: &Path) -> Result<(), String> {
        let name = path.file_name().and_then(|name| name.to_str());
        let file = RunFile {
            name: name.unwrap_or_default().to_owned(),
            size: fs::metadata(path).map_err(|error| error.to_string())?.len(),
        };
        self.digest(&file).map(drop)
    }

    /// The digest of a run of this folder.
    ///
    /// # Errors
    ///
    /// Its file cannot be read.
    pub fn digest_of(&self, run: &SavedRun) -> Result<Digest, String> {
        self.digest(&RunFile {
            name: run.file.clone(),
            size: run.head.size,
        })
    }

    /// All runs, oldest first. Files that hold no run are left out, and copies of a run.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn runs(&self) -> Result<Vec<SavedRun>, String> {
        let mut packed = self.packed()?;
        let runs = std::mem::take(&mut packed.places).into_iter().map(|place| {
            let index::Row { file, head } = packed.take(&place);
            SavedRun {
                file,
                copies: packed.copies.remove(&head.hash).unwrap_or_default(),
                head,
            }
        });
        Ok(runs.collect())
    }

    /// One quantity of the selected metrics over the selected runs, oldest first. `quantity` is an
    /// index into [`MetricDigest::figures`](super::digest::MetricDigest::figures). `is_run` is asked
    /// of the newest run first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn timeline(
        &self,
        quantity: usize,
        is_run: &dyn Fn(&Head) -> bool,
        is_metric: &dyn Fn(&str) -> bool,
    ) -> Result<Timeline, String> {
        let timeline = || -> Result<Option<Timeline>, String> {
            let read = self.packed()?.timeline(quantity, is_run, is_metric);
            Ok(read.map(|(timeline, newest)| self.in_order(timeline, newest)))
        };
        if let Some(timeline) = timeline()? {
            return Ok(timeline);
        }
        // The numbers in the index are damaged.
        let _ = fs::remove_file(self.path.join(INDEX));
        timeline()?.ok_or_else(|| {
            let index = self.path.join(INDEX);
            format!("{} is damaged; remove it", index.display())
        })
    }

    /// Orders the metrics as [`Timeline::series`] says.
    fn in_order(&self, mut timeline: Timeline, newest: Option<RunFile>) -> Timeline {
        let digest = newest.and_then(|file| self.digest(&file).ok());
        let metrics = digest.map_or(Vec::new(), |digest| digest.metrics);
        let ids = metrics.iter().enumerate().rev();
        let places: HashMap<&str, usize> = ids.map(|(at, one)| (one.id.as_str(), at)).collect();
        timeline.series.sort_by(|a, b| {
            let key = |one: &Series| places.get(one.metric.as_str()).copied();
            let place = |one| key(one).unwrap_or(usize::MAX);
            (place(a), &a.metric, a.unit as u8).cmp(&(place(b), &b.metric, b.unit as u8))
        });
        timeline
    }

    /// Removes a run, its copies and their digests.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn remove(&self, run: &SavedRun) -> Result<(), String> {
        for file in std::iter::once(&run.file).chain(&run.copies) {
            let path = self.path.join(file);
            fs::remove_file(&path)
                .map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
            // A digest without a run does no harm.
            let _ = fs::remove_file(self.path.join(format!("{file}{DIGEST}")));
        }
        Ok(())
    }

    /// The digests of all runs, packed. Brings the index up to date if that is worth it.
    fn packed(&self) -> Result<Packed, String> {
        let path = self.path.join(INDEX);
        let files = self.files()?;
        let sizes: HashMap<&str, u64> = files.iter().map(|f| (f.name.as_str(), f.size)).collect();
        let is_there = |row: &index::Row| sizes.get(row.file.as_str()) == Some(&row.head.size);
        let mut kept =
            open_plain(&path, OFlags::RDONLY).map(|file| Index::read(Source::File(file)));
        if let Some(index) = &kept {
            let rows = || index.chunks.iter().flat_map(|chunk| &chunk.rows);
            let gone = rows().filter(|row| !is_there(row)).count();
            // Mostly of runs that are gone: begin again.
            if gone > WORTH_WRITING && gone > files.len() {
                kept = None;
            }
        }
        let mut known: HashSet<&str> = HashSet::new();
        if let Some(index) = &kept {
            let rows = index.chunks.iter().flat_map(|chunk| &chunk.rows);
            known.extend(
                rows.filter(|row| is_there(row))
                    .map(|row| row.file.as_str()),
            );
        }
        let lacking = files
            .iter()
            .filter(|file| !known.contains(file.name.as_str()));
        let (fresh, count) = self.pack(lacking);
        if count >= WORTH_WRITING {
            // Without it, the digests are read again the next time.
            let _ = write_index(&path, kept.as_ref(), &fresh);
        }
        let fresh = Index::read(Source::Memory(fresh));
        let indexes: Vec<Index> = kept.into_iter().chain([fresh]).collect();
        Ok(Packed::of(indexes, &is_there))
    }

    /// An index of these runs, and how many of them are runs.
    fn pack<'a>(&self, files: impl Iterator<Item = &'a RunFile>) -> (Vec<u8>, usize) {
        let mut bytes = index::FIRST_LINE.to_vec();
        let mut count = 0;
        // Runs of one target have the same metrics.
        let mut open: HashMap<String, Vec<(&str, Digest)>> = HashMap::new();
        let mut close = |runs: &[(&str, Digest)]| {
            let runs: Vec<(&str, &Digest)> = runs.iter().map(|(file, one)| (*file, one)).collect();
            bytes.extend(index::chunk(&runs));
        };
        for file in files {
            let Ok(digest) = self.digest(file) else {
                continue;
            };
            count += 1;
            let runs = open.entry(digest.head.target().to_owned()).or_default();
            runs.push((&file.name, digest));
            if runs.len() == RUNS_IN_CHUNK {
                close(runs);
                runs.clear();
            }
        }
        for runs in open.values().filter(|runs| !runs.is_empty()) {
            close(runs);
        }
        (bytes, count)
    }

    /// The run that a name stands for.
    ///
    /// # Errors
    ///
    /// There is none, or several; the message names those that there are.
    pub fn find(&self, name: &Name) -> Result<Found, String> {
        match name {
            Name::Latest { target, back } => self.latest(target.as_deref(), *back),
            Name::Named(name) => self.named(name),
        }
    }

    /// The newest complete run, of this target if there is one, or the one `back` before it of the
    /// same target and machine. Without a complete one, the newest incomplete run.
    fn latest(&self, target: Option<&str>, back: usize) -> Result<Found, String> {
        let mut newest: Option<(PathBuf, Head)> = None;
        let mut incomplete: Option<(PathBuf, String)> = None;
        let mut complete = 0;
        for file in self.files()?.into_iter().rev() {
            let Ok(Digest { head, .. }) = self.digest(&file) else {
                continue;
            };
            let path = self.path.join(&file.name);
            let is_wanted = match &newest {
                Some((_, newest)) => {
                    head.target() == newest.target() && head.may_share_machine(newest)
                }
                None => target.is_none_or(|target| head.target() == target),
            };
            if !is_wanted {
                continue;
            }
            match head.shortcoming() {
                None if complete == back => {
                    let of = head.target();
                    let notice = incomplete.filter(|_| back == 0).map(|(newer, why)| {
                        format!(
                            "using {}, the newest complete run of {of}; {} is newer, but {why}",
                            path.display(),
                            newer.display()
                        )
                    });
                    return Ok(Found { path, notice });
                }
                None => {
                    complete += 1;
                    newest.get_or_insert((path, head));
                }
                // A result of another tool is no run of a target.
                Some(_) if head.is_imported() => {}
                Some(why) => drop(incomplete.get_or_insert((path, why))),
            }
        }
        let directory = self.path.display();
        let on = match target {
            None | Some(LINUX) => String::new(),
            Some(other) => format!(" --on '{other}'"),
        };
        let of = target.map_or(String::new(), |target| format!(" of {target}"));
        match (newest, incomplete) {
            (Some((newest, head)), _) => Err(format!(
                "there is no run {back} before {}, the newest complete run of {}: {directory} has {} of \
                 it on this machine; `kernmark runs` lists them",
                newest.display(),
                head.target(),
                crate::base::number::plural(complete as u64, "complete run"),
            )),
            (None, Some((path, why))) if back == 0 => Ok(Found {
                notice: Some(format!(
                    "no complete run{of} is saved; using {}, the newest one, which {why}",
                    path.display()
                )),
                path,
            }),
            _ => Err(format!(
                "no {}run{of} is saved in {directory}; make one with `kernmark run{on}`",
                if back > 0 { "complete " } else { "" }
            )),
        }
    }

    /// The run whose file or whose hash has this name.
    fn named(&self, name: &str) -> Result<Found, String> {
        let files = self.files()?;
        let is_hash = name.len() >= FEWEST_DIGITS && name.len() <= 64 && name.bytes().all(is_digit);
        // The name of most files has the start of their hash.
        let has_hash = |file: &RunFile| match file.hash() {
            Some(hash) if hash.len() >= name.len() => hash.starts_with(name),
            Some(hash) if !name.starts_with(hash) => false,
            _ => {
                let digest = self.digest(file);
                digest.is_ok_and(|digest| digest.head.hash.starts_with(name))
            }
        };
        let is_meant =
            |file: &&RunFile| file.name == name || file.stem() == name || is_hash && has_hash(file);
        let meant: Vec<&RunFile> = files.iter().filter(is_meant).collect();
        let stems = |files: &mut dyn Iterator<Item = &RunFile>| {
            let stems: Vec<&str> = files.map(RunFile::stem).collect();
            stems.join(", ")
        };
        let hashes = || -> HashSet<String> {
            let digests = meant.iter().filter_map(|file| self.digest(file).ok());
            digests.map(|digest| digest.head.hash).collect()
        };
        match meant.as_slice() {
            [first, others @ ..] if others.is_empty() || hashes().len() < 2 => Ok(Found {
                path: self.path.join(&first.name),
                notice: None,
            }),
            [] => Err(format!(
                "there is no file and no saved run `{name}`; {}",
                if files.is_empty() {
                    format!("no run is saved in {}", self.path.display())
                } else {
                    let newest = stems(&mut files.iter().rev().take(NAMED_IN_ERROR));
                    format!("the newest saved runs are {newest}; `kernmark runs` lists all")
                }
            )),
            several => Err(format!(
                "`{name}` is the start of {} saved runs: {}; give more digits",
                several.len(),
                stems(&mut several.iter().copied().take(NAMED_IN_ERROR))
            )),
        }
    }
}

/// How many runs an error names.
const NAMED_IN_ERROR: usize = 5;

/// Where a run stands: the index, the chunk and the row.
type Place = (usize, usize, usize);

/// The digests of the runs of a folder.
struct Packed {
    indexes: Vec<Index>,
    /// The runs that are there, oldest first, each once.
    places: Vec<Place>,
    /// The other files with the records of a run, by hash.
    copies: HashMap<String, Vec<String>>,
}

impl Packed {
    fn of(indexes: Vec<Index>, is_there: &dyn Fn(&index::Row) -> bool) -> Self {
        let mut packed = Packed {
            indexes,
            places: Vec::new(),
            copies: HashMap::new(),
        };
        let mut places: Vec<Place> = Vec::new();
        for (at, index) in packed.indexes.iter().enumerate() {
            for (chunk, rows) in index.chunks.iter().enumerate() {
                let rows = rows.rows.iter().enumerate();
                let there = rows.filter(|(_, row)| is_there(row));
                places.extend(there.map(|(row, _)| (at, chunk, row)));
            }
        }
        let key = |place: &Place| {
            let row = packed.row(place);
            (row.head.started, &row.file)
        };
        places.sort_by(|a, b| key(a).cmp(&key(b)));
        let mut hashes = HashSet::new();
        let mut copies: HashMap<String, Vec<String>> = HashMap::new();
        places.retain(|place| {
            let index::Row { file, head } = packed.row(place);
            let is_first = hashes.insert(&head.hash);
            if !is_first {
                let of_run = copies.entry(head.hash.clone()).or_default();
                of_run.push(file.clone());
            }
            is_first
        });
        packed.places = places;
        packed.copies = copies;
        packed
    }

    fn row(&self, &(index, chunk, row): &Place) -> &index::Row {
        &self.indexes[index].chunks[chunk].rows[row]
    }

    /// A run, which is not needed here any more.
    fn take(&mut self, &(index, chunk, row): &Place) -> index::Row {
        std::mem::take(&mut self.indexes[index].chunks[chunk].rows[row])
    }

    /// The timeline, and the file of its newest run. `None` if numbers in the index are damaged.
    fn timeline(
        mut self,
        quantity: usize,
        is_run: &dyn Fn(&Head) -> bool,
        is_metric: &dyn Fn(&str) -> bool,
    ) -> Option<(Timeline, Option<RunFile>)> {
        let mut chosen = std::mem::take(&mut self.places);
        chosen.reverse();
        chosen.retain(|place| is_run(&self.row(place).head));
        chosen.reverse();
        let count = chosen.len();
        let mut timeline = Timeline {
            runs: Vec::new(),
            clock: vec![f64::NAN; count],
            series: Vec::new(),
        };
        // The rows of each chunk, and their places in the timeline.
        let mut rows: HashMap<(usize, usize), Vec<(usize, usize)>> = HashMap::new();
        for (at, (index, chunk, row)) in chosen.iter().enumerate() {
            rows.entry((*index, *chunk)).or_default().push((*row, at));
        }
        let mut known: HashMap<(&str, Unit), usize> = HashMap::new();
        for ((index, chunk), rows) in rows {
            let index = &self.indexes[index];
            let chunk = &index.chunks[chunk];
            let fill = |values: &mut [f64], metric: usize, column: usize| {
                let numbers = index.numbers(chunk, metric, column)?;
                for (row, at) in &rows {
                    values[*at] = numbers[*row];
                }
                Some(())
            };
            for (metric, (id, unit)) in chunk.metrics.iter().enumerate() {
                if id == CLOCK && *unit == Unit::Cycles {
                    fill(&mut timeline.clock, metric, 0)?;
                }
                if !is_metric(id) {
                    continue;
                }
                let place = *known.entry((id, *unit)).or_insert_with(|| {
                    timeline.series.push(Series {
                        metric: id.clone(),
                        unit: *unit,
                        values: vec![f64::NAN; count],
                        spreads: vec![f64::NAN; count],
                    });
                    timeline.series.len() - 1
                });
                let series = &mut timeline.series[place];
                fill(&mut series.values, metric, quantity)?;
                fill(&mut series.spreads, metric, index::SPREAD)?;
            }
        }
        // Other runs of the same chunks may have metrics that these lack.
        timeline
            .series
            .retain(|one| one.values.iter().any(|value| !value.is_nan()));
        let newest = chosen.last().map(|place| {
            let row = self.row(place);
            RunFile {
                name: row.file.clone(),
                size: row.head.size,
            }
        });
        timeline.runs = chosen.iter().map(|place| self.take(place).head).collect();
        Some((timeline, newest))
    }
}

/// Reads a run from its file, and the hash of its stream.
fn read_run(path: &Path) -> Result<(Run, String), String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mut stream = decompressed(BufReader::new(file)).map_err(failed)?;
    let mut reader = Reader::new();
    let mut hash = Sha256::new();
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        hash.update(&line);
        reader.line(&line);
        line.clear();
    }
    Ok((reader.finish(), hexadecimal(&hash.finalize())))
}

/// Opens a file that is neither a link nor a pipe.
fn open_plain(path: &Path, access: OFlags) -> Option<File> {
    let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata()
        .is_ok_and(|data| data.is_file())
        .then_some(file)
}

/// The text of a small file.
fn read_small(path: &Path) -> Option<String> {
    let file = open_plain(path, OFlags::RDONLY)?;
    let mut text = String::new();
    file.take(LONGEST_DIGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Writes a file, which others see either as it was or whole.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".digest-")
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(super::store::parent(path))?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Adds the chunks of `fresh` to the index that was read, or replaces it if it was not usable.
/// Another process that writes at the same time wins.
fn write_index(path: &Path, kept: Option<&Index>, fresh: &[u8]) -> io::Result<()> {
    let Some(kept) = kept.filter(|kept| kept.whole > 0) else {
        return replace(path, fresh);
    };
    let Some(mut file) = open_plain(path, OFlags::WRONLY) else {
        return Ok(());
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    if file.metadata()?.len() == kept.length {
        // Readers ignore a chunk that is not whole yet.
        file.set_len(kept.whole)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&fresh[index::FIRST_LINE.len()..])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::digest;
    use crate::stream::record;

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

    struct Bed {
        files: tempfile::TempDir,
    }

    impl Bed {
        fn new() -> Self {
            let files = tempfile::tempdir().unwrap();
            Bed { files }
        }

        fn folder(&self) -> Folder {
            Folder::new(self.files.path().to_owned(), digest::of)
        }

        fn save(&self, name: &str, facts: &[(&str, &str)], ended: bool) {
            fs::write(self.files.path().join(name), stream(facts, ended)).unwrap();
        }

        /// The file that a name stands for, and the notice.
        fn find(&self, name: &str) -> Result<(String, String), String> {
            let found = self.folder().find(&Name::parse(name))?;
            let name = found.path.file_name().unwrap().to_str().unwrap().to_owned();
            Ok((name, found.notice.unwrap_or_default()))
        }
    }

    const TOOL: (&str, &str) = ("tool", "kernmark 0.1.0");

    #[test]
    fn latest_run_is_the_newest_complete_one_of_its_target() {
        let bed = Bed::new();
        let none = Folder::new(bed.files.path().join("none"), digest::of);
        assert!(none.find(&Name::parse("latest")).is_err());
        let error = bed.find("latest:linux").unwrap_err();
        assert!(error.contains("make one with `kernmark run`"), "{error}");
        bed.save("01.km", &[TOOL, ("filters", "mutex fifo")], true);
        let (name, notice) = bed.find("latest:linux").unwrap();
        assert_eq!(name, "01.km");
        assert!(notice.contains("no complete run of linux"), "{notice}");
        assert!(notice.contains("measured only mutex fifo"), "{notice}");
        bed.save("00.km", &[TOOL], true);
        let (name, notice) = bed.find("latest").unwrap();
        assert_eq!(name, "00.km");
        assert!(notice.contains("01.km is newer, but measured only mutex fifo"));
        bed.save("02.km", &[TOOL], true);
        assert_eq!(
            bed.find("latest").unwrap(),
            ("02.km".to_owned(), String::new())
        );
        for (name, facts, ended) in [
            ("03.km", &[TOOL, ("target", "freertos:m4")][..], true),
            ("04.km", &[TOOL, ("imported", "a.log")], true),
            ("05.km", &[TOOL], false),
        ] {
            bed.save(name, facts, ended);
        }
        fs::write(bed.files.path().join("06.km"), "words\n").unwrap();
        fs::write(bed.files.path().join("07.txt"), stream(&[TOOL], true)).unwrap();
        let (name, notice) = bed.find("latest:linux").unwrap();
        assert_eq!(name, "02.km");
        assert!(
            notice.contains("05.km is newer, but was cut off"),
            "{notice}"
        );
        assert_eq!(bed.find("latest").unwrap().0, "03.km");
        assert_eq!(bed.find("latest:freertos:m4").unwrap().0, "03.km");
        assert_eq!(bed.find("latest:linux~1").unwrap().0, "00.km");
        let error = bed.find("latest:linux~2").unwrap_err();
        assert!(error.contains("has 2 complete runs of it"), "{error}");
        let error = bed.find("latest~1").unwrap_err();
        assert!(
            error.contains("the newest complete run of freertos:m4"),
            "{error}"
        );
        let error = bed.find("latest:uml").unwrap_err();
        assert!(
            error.contains("make one with `kernmark run --on 'uml'`"),
            "{error}"
        );
    }

    #[test]
    fn earlier_run_is_of_the_same_machine() {
        let bed = Bed::new();
        bed.save("01.km", &[TOOL, ("machine", "lab")], true);
        bed.save("02.km", &[TOOL, ("machine", "desk")], true);
        bed.save("03.km", &[TOOL, ("machine", "lab")], true);
        assert_eq!(bed.find("latest~1").unwrap().0, "01.km");
        assert!(bed.find("latest~2").is_err());
        // A run of an older version does not say its machine.
        bed.save("00.km", &[TOOL], true);
        assert_eq!(bed.find("latest~2").unwrap().0, "00.km");
    }

    #[test]
    fn names_are_read() {
        let latest = |target: Option<&str>, back| Name::Latest {
            target: target.map(str::to_owned),
            back,
        };
        for (text, name) in [
            ("latest", latest(None, 0)),
            ("latest~3", latest(None, 3)),
            ("latest:freertos:m4", latest(Some("freertos:m4"), 0)),
            ("latest:linux~2", latest(Some(LINUX), 2)),
            ("latest~x", Name::Named("latest~x".to_owned())),
            ("latests", Name::Named("latests".to_owned())),
            ("ab12", Name::Named("ab12".to_owned())),
        ] {
            assert_eq!(Name::parse(text), name, "{text}");
        }
    }

    #[test]
    fn run_is_found_by_the_start_of_its_hash() {
        let bed = Bed::new();
        bed.save("20260101T000000Z-linux-0badcafe.km", &[TOOL], true);
        bed.save("x-abcdef012345.km.gz", &[TOOL, ("a", "b")], true);
        bed.save("y-abcdef999999.km.gz", &[TOOL, ("a", "c")], true);
        assert_eq!(bed.find("abcdef0").unwrap().0, "x-abcdef012345.km.gz");
        assert_eq!(
            bed.find("x-abcdef012345").unwrap().0,
            "x-abcdef012345.km.gz"
        );
        let error = bed.find("abcdef").unwrap_err();
        assert!(error.contains("is the start of 2 saved runs"), "{error}");
        let error = bed.find("1234567").unwrap_err();
        assert!(
            error.contains("the newest saved runs are y-abcdef999999"),
            "{error}"
        );
        assert!(bed.find("abc").is_err(), "too short");
        // The name of an old file has no hash.
        let runs = bed.folder().runs().unwrap();
        let old = runs
            .iter()
            .find(|run| run.file.starts_with("2026"))
            .unwrap();
        assert_eq!(old.head.started, 1_767_225_600);
        let found = bed.find(&old.head.hash[..7]).unwrap();
        assert_eq!(found.0, old.file);
    }

    #[test]
    fn run_is_listed_once_however_often_it_is_there() {
        let bed = Bed::new();
        bed.save("01.km", &[TOOL], true);
        bed.save("01-copy.km", &[TOOL], true);
        let runs = bed.folder().runs().unwrap();
        assert_eq!(runs.len(), 1);
        let hash = &runs[0].head.hash[..8];
        assert!(bed.find(hash).is_ok());
    }
}
