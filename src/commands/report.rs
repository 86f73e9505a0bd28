// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `report`: a folder of saved runs in, a site of pages out.
//!
//! A page is named by what it shows, never by what a run says of itself: a run's page by the hash of
//! the run, a history's page by the hash of its target and machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::compare::floors;
use super::folder::folder;
use super::history::acknowledged;
use super::input::read_run;
use super::output::print;
use super::{exit, Failure, Outcome};
use crate::base::number::plural;
use crate::base::text::plain;
use crate::files::digest::{sha256, Head};
use crate::files::runs::{Folder, SavedRun};
use crate::judge::compare::{Comparison, Options};
use crate::judge::gate::Ruling;
use crate::judge::history;
use crate::judge::matrix::Column;
use crate::judge::{digest, quantity::Quantity};
use crate::report::compare::Origin;
use crate::report::html::metric::Precision;
use crate::report::html::site::{self, Group, Latest, Listed, Site};
use crate::report::html::{self, frame::Page};
use crate::stream::run::Run;

/// The arguments of `report`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The folder of saved runs [default: the one that `kernmark run` saves to]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// The folder to write the site to; index.html in it is the first page
    #[arg(long, value_name = "SITE", default_value = "kernmark-report")]
    pub into: PathBuf,
}

/// Where pages of runs link back to.
const HOME: &str = "../index.html";
/// The file that says which version of the tool made the pages of a site.
const MADE_BY: &str = "made-by";
const VERSION: &str = concat!("kernmark ", env!("CARGO_PKG_VERSION"), "\n");
/// The hexadecimal digits of a hash that name a page.
const DIGITS: usize = 12;

/// Writes the site.
pub(super) fn report(arguments: &Arguments) -> Outcome {
    let folder = match &arguments.folder {
        Some(path) if path.is_dir() => Folder::new(path.clone(), digest::of),
        Some(path) => {
            let why = format!("{} is not a folder", path.display());
            return Err(Failure::Usage(why));
        }
        None => folder()?,
    };
    let mut pages = Pages::open(&arguments.into);
    let mut saved = folder.runs().map_err(Failure::Failed)?;
    let mut site = Site {
        folder: folder.path().display().to_string(),
        broken: broken(&folder, &saved),
        ..Site::default()
    };
    saved.reverse();
    let mut groups: BTreeMap<(&str, &str), Vec<&SavedRun>> = BTreeMap::new();
    for run in &saved {
        let key = (run.head.target(), run.head.machine().unwrap_or_default());
        groups.entry(key).or_default().push(run);
    }
    let mut columns = Vec::new();
    for ((target, machine), runs) in &groups {
        let mut group = Group {
            target: (*target).to_owned(),
            machine: (*machine).to_owned(),
            runs: Vec::new(),
            latest: None,
            history: Some(history_page(&mut pages, &folder, (target, machine))?),
        };
        for run in runs {
            match run_page(&mut pages, &folder, run) {
                Ok(page) => group.runs.push(Listed {
                    head: run.head.clone(),
                    page,
                }),
                Err(Failure::Failed(why)) => site.broken.push((run.file.clone(), why)),
                Err(other) => return Err(other),
            }
        }
        let complete: Vec<&&SavedRun> = runs
            .iter()
            .filter(|run| run.head.shortcoming().is_none())
            .take(2)
            .collect();
        let newest = complete.first().map(|run| read(&folder, run)).transpose()?;
        if let (Some(new), [_, base]) = (&newest, &complete[..]) {
            let base = (**base, read(&folder, base)?);
            group.latest = Some(comparison_page(
                &mut pages,
                &folder,
                base,
                (complete[0], new),
            )?);
        }
        columns.extend(newest.map(|run| Column {
            name: group.name(),
            run,
        }));
        site.groups.push(group);
    }
    if columns.len() > 1 {
        let page = html::matrix::page(&columns);
        site.matrix = Some(pages.write("targets", "latest", page)?);
    }
    pages.write_first(&site::page(&site))?;
    for (file, why) in &site.broken {
        eprintln!("kernmark: {}: {}", plain(file), plain(why));
    }
    let text = format!(
        "{}: {}; {} written, {} as they were\n",
        pages.folder.join("index.html").display(),
        plural(saved.len() as u64, "run"),
        plural(pages.written, "page"),
        pages.kept
    );
    print(text.as_bytes())?;
    Ok(if site.broken.is_empty() {
        exit::OK
    } else {
        exit::FAILED
    })
}

/// The files that look like runs and are none, and why.
fn broken(folder: &Folder, saved: &[SavedRun]) -> Vec<(String, String)> {
    let files = saved
        .iter()
        .flat_map(|run| run.copies.iter().chain([&run.file]));
    let known: BTreeSet<&str> = files.map(String::as_str).collect();
    // Without a folder, nothing was saved yet.
    let entries = fs::read_dir(folder.path()).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let mut broken = Vec::new();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_run = [".km", ".km.gz"].iter().any(|end| name.ends_with(end));
        if !is_run || name.starts_with('.') || known.contains(name.as_str()) {
            continue;
        }
        let run = SavedRun {
            file: name.clone(),
            copies: Vec::new(),
            head: Head::default(),
        };
        if let Err(why) = folder.digest_of(&run) {
            broken.push((name, why));
        }
    }
    broken
}

fn read(folder: &Folder, run: &SavedRun) -> Result<Run, Failure> {
    read_run(&folder.path().join(&run.file))
}

/// The page of a run. What this version of the tool wrote is not made again.
fn run_page(pages: &mut Pages, folder: &Folder, run: &SavedRun) -> Result<String, Failure> {
    let name = &run.head.hash;
    if let Some(page) = pages.known("runs", name) {
        return Ok(page);
    }
    let run = read(folder, run)?;
    pages.write("runs", name, html::run::page(&run, Precision::Binned))
}

/// The page that compares the newest run with the one before.
fn comparison_page(
    pages: &mut Pages,
    folder: &Folder,
    base: (&SavedRun, Run),
    new: (&SavedRun, &Run),
) -> Result<Latest, Failure> {
    let floors = floors(&[&base.1, new.1]);
    let comparison = Comparison::with_floors(&base.1, new.1, &Options::default(), &floors);
    let name = sha256(format!("{} {}", base.0.head.hash, new.0.head.hash).as_bytes());
    let side = |name: &str, saved: &SavedRun, run: Run| {
        let path = folder.path().join(&saved.file).display().to_string();
        let name = name.to_owned();
        Origin::of(vec![path], Column { name, run })
    };
    let sides = [
        side("base", base.0, base.1),
        side("new", new.0, new.1.clone()),
    ];
    let page = html::compare::page(&comparison, &sides, &Ruling::default());
    let page = pages.write("compared", &name, page)?;
    Ok(Latest::of(&comparison, page))
}

/// The page of the history of a target on a machine.
fn history_page(
    pages: &mut Pages,
    folder: &Folder,
    (target, machine): (&str, &str),
) -> Result<String, Failure> {
    let is_run = |head: &Head| {
        let is_of_machine = head.machine().unwrap_or_default() == machine;
        head.target() == target && is_of_machine && head.shortcoming().is_none()
    };
    let median = Quantity::ALL.iter().position(|one| *one == Quantity::P50);
    let timeline = folder
        .timeline(median.unwrap_or_default(), &is_run, &|_| true)
        .map_err(Failure::Failed)?;
    let options = history::Options::for_reports();
    let history = history::judge(&timeline, &options, &acknowledged(None)?);
    let name = sha256(format!("{target}\n{machine}").as_bytes());
    pages.write("history", &name, html::history::page(&timeline, &history))
}

/// The pages of a site.
struct Pages {
    folder: PathBuf,
    /// Whether this version of the tool made the pages that are there.
    is_ours: bool,
    written: u64,
    kept: u64,
}

impl Pages {
    fn open(folder: &Path) -> Self {
        let made_by = fs::read_to_string(folder.join(MADE_BY));
        Pages {
            folder: folder.to_owned(),
            is_ours: made_by.is_ok_and(|version| version == VERSION),
            written: 0,
            kept: 0,
        }
    }

    /// A page that is there already and need not be made again.
    fn known(&mut self, kind: &str, name: &str) -> Option<String> {
        let page = address(kind, name);
        let is_known = self.is_ours && self.folder.join(&page).is_file();
        self.kept += u64::from(is_known);
        is_known.then_some(page)
    }

    /// Writes a page and returns its address.
    fn write(&mut self, kind: &str, name: &str, page: Page) -> Result<String, Failure> {
        let address = address(kind, name);
        let page = Page {
            home: Some(HOME),
            ..page
        };
        self.replace(&address, &page.render())?;
        Ok(address)
    }

    /// Writes the first page, and which version of the tool made the others.
    fn write_first(&mut self, page: &Page) -> Result<(), Failure> {
        self.replace("index.html", &page.render())?;
        if !self.is_ours {
            replace(&self.folder.join(MADE_BY), VERSION)?;
        }
        Ok(())
    }

    fn replace(&mut self, address: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(address);
        if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            self.kept += 1;
            return Ok(());
        }
        self.written += 1;
        replace(&path, text)
    }
}

/// The address of a page, relative to the first one. `name` is a hash or a word: whatever a file says
/// its hash is, the address stays inside the site.
fn address(kind: &str, name: &str) -> String {
    let name = name.chars().filter(char::is_ascii_alphanumeric);
    format!("{kind}/{}.html", name.take(DIGITS).collect::<String>())
}

/// Writes a file, whole or not at all.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = crate::files::store::parent(path);
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    });
    written
        .map(drop)
        .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_inside_the_site() {
        for (name, page) in [
            ("0123456789abcdef", "runs/0123456789ab.html"),
            ("latest", "runs/latest.html"),
            ("../../etc/passwd", "runs/etcpasswd.html"),
            ("/\u{202e}<b>", "runs/b.html"),
        ] {
            assert_eq!(address("runs", name), page);
        }
    }
}
