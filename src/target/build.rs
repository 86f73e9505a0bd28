// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds the image of a described target: checks that the programs it needs are installed, runs
//! its build command, and reads the facts that the build wrote.

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

use super::description::ChosenTarget;
use super::process::{self, last_lines, ToolResult, POLL_INTERVAL};
use crate::base::interrupt::Interrupt;
use crate::base::settings;
use crate::stream::run::{Fact, CONFIGURATION};

/// The file of facts that a build may write to its output folder.
const FACTS: &str = "facts";

/// Checks that these programs are installed. The values are the Debian packages that have them.
///
/// # Errors
///
/// Names all missing programs and the one command that installs them.
pub fn check_needs(needs: &BTreeMap<String, String>) -> Result<(), String> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let is_missing = |program: &str| !can_run(program, &paths);
    let is_root = rustix::process::geteuid().is_root();
    let sudo = if is_root { "" } else { "sudo " };
    missing_programs(needs, is_missing, sudo).map_or(Ok(()), Err)
}

fn missing_programs(
    needs: &BTreeMap<String, String>,
    is_missing: impl Fn(&str) -> bool,
    sudo: &str,
) -> Option<String> {
    let mut programs = Vec::new();
    let mut packages = BTreeSet::new();
    for (program, package) in needs.iter().filter(|(program, _)| is_missing(program)) {
        if package.is_empty() {
            programs.push(format!("{program} (not in Debian)"));
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
        "{missing}; on Debian: {sudo}apt-get install --no-install-recommends {}",
        packages.join(" ")
    ))
}

fn can_run(program: &str, paths: &OsStr) -> bool {
    let is_executable = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        is_executable(Path::new(program))
    } else {
        env::split_paths(paths).any(|folder| is_executable(&folder.join(program)))
    }
}

/// The result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildResult {
    /// It succeeded; facts about the image.
    Succeeded(Vec<Fact>),
    /// The user interrupted it.
    Interrupted,
}

/// Builds the image in the folder `out`. Only one process builds there at a time.
///
/// # Errors
///
/// The build failed; the message quotes its output.
pub fn build(
    chosen: &ChosenTarget,
    out: &Path,
    interrupt: &Interrupt,
) -> Result<BuildResult, String> {
    if let Some((program, words)) = chosen.build.split_first() {
        let Some(_lock) = lock(out, interrupt)? else {
            return Ok(BuildResult::Interrupted);
        };
        let mut command = Command::new(program);
        // If make started this tool, its settings and job server are not for the build.
        command
            .args(words)
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL");
        match process::run_tool(&mut command, chosen.build_limit, interrupt)? {
            ToolResult::Succeeded(_) => {}
            ToolResult::Interrupted => return Ok(BuildResult::Interrupted),
            ToolResult::Failed(what, stderr) => {
                let why = reason(&String::from_utf8_lossy(&stderr)).unwrap_or(what);
                return Err(format!(
                    "building the image of {} failed: {why}",
                    chosen.choice
                ));
            }
        }
    }
    if let Some(image) = &chosen.image {
        if !Path::new(image).is_file() {
            return Err(format!(
                "the image {image} does not exist{}",
                match chosen.build.first() {
                    Some(program) => format!("; {program} succeeded but did not create it"),
                    None => "; build it first".to_owned(),
                }
            ));
        }
    }
    let text = fs::read(out.join(FACTS)).unwrap_or_default();
    let facts = facts(&String::from_utf8_lossy(&text));
    check_settings(chosen, &facts)?;
    Ok(BuildResult::Succeeded(facts))
}

/// Checks that each setting of the user has its value in the configuration that the build reports.
/// A kernel's build may give a setting another value without an error.
fn check_settings(chosen: &ChosenTarget, facts: &[Fact]) -> Result<(), String> {
    if chosen.settings.is_empty() {
        return Ok(());
    }
    let names = chosen.settings.join(", ");
    let Some(text) = Fact::value_in(facts, CONFIGURATION) else {
        return Err(format!(
            "the build does not report its `{CONFIGURATION}`, so whether {names} took effect is unknown"
        ));
    };
    let made = settings::parse(text);
    let differs = |name: &&String| {
        let wanted = settings::unquoted(&chosen.options[*name]);
        wanted != settings::unquoted(settings::value(&made, name))
    };
    let explain = |name: &String| {
        let wanted = &chosen.options[name];
        match made.get(name.as_str()) {
            Some(value) => format!("{name}={wanted} became {name}={value}"),
            None => format!("{name}={wanted} is not in its configuration"),
        }
    };
    let problems: Vec<String> = chosen
        .settings
        .iter()
        .filter(differs)
        .map(explain)
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the kernel was not built as {} asks: {}; a setting that it depends on may be off",
        chosen.choice,
        problems.join(", ")
    ))
}

/// Creates the folder and locks it against other builds. `None` if the user interrupted the wait.
pub(super) fn lock(out: &Path, interrupt: &Interrupt) -> Result<Option<File>, String> {
    let path = with_suffix(out, ".lock");
    let file = fs::create_dir_all(out)
        .and_then(|()| File::options().create(true).append(true).open(&path))
        .map_err(|error| format!("cannot write to {}: {error}", path.display()))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if interrupt.raised() => return Ok(None),
            Err(Errno::WOULDBLOCK) => sleep(POLL_INTERVAL),
            Err(error) => return Err(format!("cannot lock {}: {error}", path.display())),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Why a build failed, from its standard error: the message of a Makefile's `$(error)`, or else the
/// last lines.
fn reason(stderr: &str) -> Option<String> {
    let stop = stderr.lines().rev().find_map(|line| {
        let (_, text) = line.split_once("*** ")?;
        text.strip_suffix("Stop.").map(str::trim)
    });
    if let Some(text) = stop {
        return Some(text.trim_end_matches('.').to_owned());
    }
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.starts_with("make"))
        .collect();
    let last = last_lines(lines.join("\n").as_bytes());
    (!last.is_empty()).then_some(last)
}

/// The facts in a text: its lines of the form `name=text`.
fn facts(text: &str) -> Vec<Fact> {
    let fact = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let is_valid = !name.is_empty()
            && name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        is_valid.then(|| Fact::new(name, value.trim()))
    };
    text.lines().filter_map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_missing_programs_are_named_with_one_command() {
        let needs = [
            ("make", "make"),
            ("gcc", "g-a"),
            ("ld", "g-a"),
            ("probe", ""),
        ];
        let needs = needs.map(|(program, package)| (program.to_owned(), package.to_owned()));
        let needs = BTreeMap::from(needs);
        let all = |sudo| missing_programs(&needs, |_| true, sudo).unwrap();
        assert_eq!(
            all("sudo "),
            "not found in PATH: gcc, ld, make, probe (not in Debian); on \
             Debian: sudo apt-get install --no-install-recommends g-a make"
        );
        assert!(all("").ends_with(": apt-get install --no-install-recommends g-a make"));
        let one = missing_programs(&needs, |program| program == "probe", "").unwrap();
        assert_eq!(one, "not found in PATH: probe (not in Debian)");
        assert_eq!(missing_programs(&needs, |_| false, ""), None);
    }

    #[test]
    fn programs_are_found_as_the_shell_finds_them() {
        let paths = OsStr::new("/nowhere:/bin:/usr/bin");
        assert!(can_run("sh", paths) && can_run("/bin/sh", OsStr::new("")));
        assert!(!can_run("sh", OsStr::new("/nowhere")));
        assert!(!can_run("no-such-program", paths));
    }

    #[test]
    fn reason_is_the_makefile_error_or_the_last_lines() {
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
        fn arbitrary_output_is_accepted(text in any::<String>()) {
            let _ = reason(&text);
            let _ = facts(&text);
        }
    }
}
