// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds the image of a described target: looks for the programs it needs, calls its build, reads
//! what the build says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;

use super::description::Chosen;
use super::process::{self, last_lines, Work, GLANCE};
use crate::base::interrupt::Interrupt;
use crate::stream::run::Fact;

/// What the build says of itself, in the folder that it builds in.
const FACTS: &str = "facts";

/// Checks that these programs can be run; the values are the Debian packages that have them.
///
/// # Errors
///
/// All that are missing, and the one command that installs them.
pub fn check_needs(needs: &BTreeMap<String, String>) -> Result<(), String> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let missing = |program: &str| !can_run(program, &paths);
    let root = rustix::process::geteuid().is_root();
    let user = if root { "" } else { "sudo " };
    missing_programs(needs, missing, user).map_or(Ok(()), Err)
}

fn missing_programs(
    needs: &BTreeMap<String, String>,
    missing: impl Fn(&str) -> bool,
    user: &str,
) -> Option<String> {
    let mut programs = Vec::new();
    let mut packages = BTreeSet::new();
    for (program, package) in needs.iter().filter(|(program, _)| missing(program)) {
        if package.is_empty() {
            programs.push(format!("{program} (in no Debian package)"));
        } else {
            programs.push(program.clone());
            packages.insert(package.as_str());
        }
    }
    if programs.is_empty() {
        return None;
    }
    let missing = format!("not found in PATH: {}", programs.join(", "));
    if packages.is_empty() {
        return Some(missing);
    }
    let packages: Vec<&str> = packages.into_iter().collect();
    Some(format!(
        "{missing}; install what Debian has: {user}apt-get install --no-install-recommends {}",
        packages.join(" ")
    ))
}

fn can_run(program: &str, paths: &OsStr) -> bool {
    let runs = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        runs(Path::new(program))
    } else {
        env::split_paths(paths).any(|folder| runs(&folder.join(program)))
    }
}

/// What building came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// The image is there; facts of it.
    Done(Vec<Fact>),
    /// The user asked to stop.
    Interrupted,
}

/// Builds the image in `out`, one build at a time.
///
/// # Errors
///
/// It cannot be built; what the build's tools say.
pub fn build(chosen: &Chosen, out: &Path, interrupt: &Interrupt) -> Result<Built, String> {
    if let Some((program, words)) = chosen.build.split_first() {
        let Some(_lock) = lock(out, interrupt)? else {
            return Ok(Built::Interrupted);
        };
        let mut command = Command::new(program);
        // A make that called this tool has its own settings and job server.
        command
            .args(words)
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL");
        match process::work(&mut command, chosen.build_limit, interrupt)? {
            Work::Done(_) => {}
            Work::Interrupted => return Ok(Built::Interrupted),
            Work::Failed(how, said) => {
                let why = reason(&String::from_utf8_lossy(&said)).unwrap_or(how);
                return Err(format!(
                    "the image of {} was not built: {why}",
                    chosen.choice
                ));
            }
        }
    }
    if let Some(image) = &chosen.image {
        if !Path::new(image).is_file() {
            return Err(format!(
                "there is no image {image}{}",
                match chosen.build.first() {
                    Some(program) => format!("; {program} succeeded, but did not make it"),
                    None => "; build it first".to_owned(),
                }
            ));
        }
    }
    let text = fs::read(out.join(FACTS)).unwrap_or_default();
    Ok(Built::Done(facts(&String::from_utf8_lossy(&text))))
}

/// Makes the folder and keeps other builds out of it; `None` when the user does not want to wait.
fn lock(out: &Path, interrupt: &Interrupt) -> Result<Option<File>, String> {
    let path = with_suffix(out, ".lock");
    let file = fs::create_dir_all(out)
        .and_then(|()| File::options().create(true).append(true).open(&path))
        .map_err(|error| format!("cannot write to {}: {error}", path.display()))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if interrupt.raised() => return Ok(None),
            Err(Errno::WOULDBLOCK) => sleep(GLANCE),
            Err(error) => return Err(format!("cannot lock {}: {error}", path.display())),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Why a build failed, from its standard error: what a Makefile stops with, or else the last lines.
fn reason(said: &str) -> Option<String> {
    let stop = said.lines().rev().find_map(|line| {
        let (_, text) = line.split_once("*** ")?;
        text.strip_suffix("Stop.").map(str::trim)
    });
    if let Some(text) = stop {
        return Some(text.trim_end_matches('.').to_owned());
    }
    let words: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("make"))
        .collect();
    let last = last_lines(words.join("\n").as_bytes());
    (!last.is_empty()).then_some(last)
}

/// The lines `name=text`.
fn facts(text: &str) -> Vec<Fact> {
    let fact = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let plain = !name.is_empty()
            && name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        plain.then(|| Fact::new(name, value.trim()))
    };
    text.lines().filter_map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_that_is_missing_is_named_with_one_command() {
        let needs = [
            ("make", "make"),
            ("gcc", "g-a"),
            ("ld", "g-a"),
            ("probe", ""),
        ];
        let needs = needs.map(|(program, package)| (program.to_owned(), package.to_owned()));
        let needs = BTreeMap::from(needs);
        let all = |user| missing_programs(&needs, |_| true, user).unwrap();
        assert_eq!(
            all("sudo "),
            "not found in PATH: gcc, ld, make, probe (in no Debian package); install what Debian \
             has: sudo apt-get install --no-install-recommends g-a make"
        );
        assert!(all("").ends_with(": apt-get install --no-install-recommends g-a make"));
        let one = missing_programs(&needs, |program| program == "probe", "").unwrap();
        assert_eq!(one, "not found in PATH: probe (in no Debian package)");
        assert_eq!(missing_programs(&needs, |_| false, ""), None);
    }

    #[test]
    fn a_program_is_looked_for_where_the_shell_would() {
        let paths = OsStr::new("/nowhere:/bin:/usr/bin");
        assert!(can_run("sh", paths) && can_run("/bin/sh", OsStr::new("")));
        assert!(!can_run("sh", OsStr::new("/nowhere")));
        assert!(!can_run("no-such-program", paths));
    }

    #[test]
    fn the_reason_is_what_a_makefile_says_or_the_last_lines() {
        let stop = "noise\nMakefile:12: *** there is no board x; there are: m4.  Stop.\n";
        assert_eq!(reason(stop).unwrap(), "there is no board x; there are: m4");
        let error = "a.c:1:1: error: no\nmake: *** [Makefile:3: a.o] Error 1\n";
        assert_eq!(reason(error).unwrap(), "a.c:1:1: error: no");
        assert_eq!(reason("make: *** x\n"), None);
    }

    #[test]
    fn facts_are_lines_of_name_and_text() {
        let found = facts("footprint_image=text 1, data 2\nno fact\nBad=1\n=x\na=\n");
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|fact| (fact.name.as_str(), fact.value.as_str()))
            .collect();
        assert_eq!(found, [("footprint_image", "text 1, data 2"), ("a", "")]);
    }

    proptest! {
        #[test]
        fn no_output_upsets_it(text in any::<String>()) {
            let _ = reason(&text);
            let _ = facts(&text);
        }
    }
}
