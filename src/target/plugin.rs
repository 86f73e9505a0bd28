// SPDX-License-Identifier: MIT OR Apache-2.0

//! How an emulator lists the instructions that it executes: by our plugin (`agent/trace`), or by
//! its own log.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::build::{check_needs, lock};
use super::process::{last_lines, run_tool, ToolResult};
use super::{cache, sources};
use crate::base::interrupt::Interrupt;

/// How long compiling the plugin or asking the emulator may take: each takes less than a second.
const LIMIT: Duration = Duration::from_secs(60);

/// What lists executed instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lister {
    /// The plugin in this file.
    Plugin(PathBuf),
    /// The emulator's log, because the plugin cannot be used.
    Log {
        /// Why.
        instead: String,
        /// Which option makes the emulator log every instruction.
        step: Step,
    },
}

/// The option that makes a log list single instructions instead of blocks of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `-singlestep`, until QEMU 8.
    Singlestep,
    /// `-accel tcg,one-insn-per-tb=on`, since QEMU 8.1.
    OneInstruction,
}

/// What can list the instructions that this emulator executes. `None` if the user interrupted.
///
/// # Errors
///
/// The emulator cannot be started, or has neither plugins nor such a log.
pub fn lister(emulator: &str, interrupt: &Interrupt) -> Result<Option<Lister>, String> {
    match plugin_file(interrupt) {
        Ok(Some(plugin)) => with_plugin(emulator, plugin, interrupt),
        Ok(None) => Ok(None),
        Err(why) => with_log(emulator, why).map(Some),
    }
}

fn with_plugin(
    emulator: &str,
    plugin: PathBuf,
    interrupt: &Interrupt,
) -> Result<Option<Lister>, String> {
    match accepts(emulator, &plugin, interrupt)? {
        ToolResult::Succeeded(_) => Ok(Some(Lister::Plugin(plugin))),
        ToolResult::Interrupted => Ok(None),
        ToolResult::Failed(what, stderr) => {
            let said = last_lines(&stderr);
            let why = if said.is_empty() { what } else { said };
            with_log(
                emulator,
                format!("{emulator} does not take the plugin: {why}"),
            )
            .map(Some)
        }
    }
}

fn with_log(emulator: &str, instead: String) -> Result<Lister, String> {
    let help = Command::new(emulator).arg("--help").output();
    let help = help.map_err(|error| format!("cannot start {emulator}: {error}"))?;
    match step(&String::from_utf8_lossy(&help.stdout)) {
        Some(step) => Ok(Lister::Log { instead, step }),
        None => Err(format!("{instead}; and it cannot log single instructions")),
    }
}

/// Compiles the plugin into the user's cache, if it is not there yet. Returns its file; `None` if
/// the user interrupted.
///
/// # Errors
///
/// Names what is missing, or quotes the compiler.
pub fn plugin_file(interrupt: &Interrupt) -> Result<Option<PathBuf>, String> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let program = compiler.split_whitespace().next().unwrap_or("cc");
    let package = if program == "cc" { "gcc" } else { program };
    let needs = [("make", "make"), (program, package)];
    let needs = needs.map(|(program, package)| (program.to_owned(), package.to_owned()));
    check_needs(&BTreeMap::from(needs))
        .map_err(|missing| format!("the plugin for QEMU cannot be compiled: {missing}"))?;
    let out = cache::folder()?.join(format!(
        "trace-{:016x}",
        cache::hash([&sources::hash().to_le_bytes()[..], compiler.as_bytes()])
    ));
    let Some(_lock) = lock(&out, interrupt)? else {
        return Ok(None);
    };
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(sources::folder()?.join("trace"))
        .arg(format!("OUT={}", out.display()))
        .arg(format!("CC={compiler}"))
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL");
    match run_tool(&mut make, LIMIT, interrupt)? {
        ToolResult::Succeeded(_) => Ok(Some(out.join("trace.so"))),
        ToolResult::Interrupted => Ok(None),
        ToolResult::Failed(what, stderr) => {
            let said = last_lines(&stderr);
            let why = if said.is_empty() { what } else { said };
            Err(format!("the plugin for QEMU cannot be compiled: {why}"))
        }
    }
}

/// Starts the emulator with the plugin, which then only ends it. This fails where plugins were left
/// out, and where the emulator has another version of the interface.
fn accepts(emulator: &str, plugin: &Path, interrupt: &Interrupt) -> Result<ToolResult, String> {
    let mut command = Command::new(emulator);
    command
        .args(["-M", "none", "-nodefaults", "-display", "none", "-plugin"])
        .arg(format!("{},check=on", escaped(plugin)));
    run_tool(&mut command, LIMIT, interrupt)
}

/// A path as the value of an emulator's option, in which a comma ends the value.
#[must_use]
pub fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Adds to an emulator's command what makes it list executed instructions in a file.
pub fn log_into(file: &Path, step: Step, command: &mut Vec<String>) {
    let mut add = |words: &[&str]| command.extend(words.iter().map(|&word| word.to_owned()));
    match step {
        Step::Singlestep => add(&["-singlestep"]),
        Step::OneInstruction => {
            // Of several accelerators the first is taken, with its own properties only.
            let accelerator = command
                .windows(2)
                .position(|pair| pair[0] == "-accel" && pair[1].starts_with("tcg"));
            match accelerator {
                Some(at) => command[at + 1].push_str(",one-insn-per-tb=on"),
                None => command.extend(["-accel", "tcg,one-insn-per-tb=on"].map(str::to_owned)),
            }
        }
    }
    command.extend(["-d", "exec,nochain", "-D"].map(str::to_owned));
    command.push(file.display().to_string());
}

/// What the emulator's help says about logging single instructions.
fn step(help: &str) -> Option<Step> {
    if help.contains("one-insn-per-tb=on|off") {
        Some(Step::OneInstruction)
    } else if help.lines().any(|line| line.starts_with("-singlestep")) {
        Some(Step::Singlestep)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn help_shows_how_single_instructions_are_logged() {
        let old = "-singlestep     always run in singlestep mode\n-S  freeze\n";
        let new = "                one-insn-per-tb=on|off (one guest instruction per TCG block)\n";
        assert_eq!(step(old), Some(Step::Singlestep));
        assert_eq!(step(new), Some(Step::OneInstruction));
        assert_eq!(step("-S  freeze CPU at startup\n"), None);
    }

    #[test]
    fn log_is_added_to_a_command() {
        let with = |words: &[&str], step| {
            let mut command: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            log_into(Path::new("f"), step, &mut command);
            command.join(" ")
        };
        assert_eq!(
            with(&["q", "-S"], Step::Singlestep),
            "q -S -singlestep -d exec,nochain -D f"
        );
        assert_eq!(
            with(&["q", "-accel", "tcg", "-S"], Step::OneInstruction),
            "q -accel tcg,one-insn-per-tb=on -S -d exec,nochain -D f"
        );
        assert_eq!(
            with(&["q", "-S"], Step::OneInstruction),
            "q -S -accel tcg,one-insn-per-tb=on -d exec,nochain -D f"
        );
    }

    #[test]
    fn commas_in_a_path_do_not_end_it() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }

    /// An emulator that fails with a message when it gets a plugin, and has this help.
    fn without_plugins(folder: &Path, help: &str) -> String {
        let path = folder.join("emulator");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --help ] && {{ echo '{help}'; exit; }}\n\
             echo 'emulator: -plugin: invalid option' >&2; exit 1\n"
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn emulator_without_plugins_logs_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::install().unwrap();
        let ask = |help| {
            let emulator = without_plugins(folder.path(), help);
            with_plugin(&emulator, "trace.so".into(), &interrupt)
        };
        let Ok(Some(Lister::Log { instead, step })) = ask("-singlestep one instruction") else {
            panic!("no log");
        };
        assert_eq!(step, Step::Singlestep);
        let why = "does not take the plugin: emulator: -plugin: invalid option";
        assert!(instead.ends_with(why), "{instead}");
        let error = ask("-S").unwrap_err();
        assert_eq!(
            error,
            format!("{instead}; and it cannot log single instructions")
        );
    }
}
