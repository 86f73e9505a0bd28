// SPDX-License-Identifier: MIT OR Apache-2.0

//! Machines that run nothing but an agent: builds them, and boots them in an emulator that counts
//! instructions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kernmark::stream::run::{Damage, Outcome, Run, Unit};
use kernmark::stream::session::Reader;

use crate::common::{here, scratch, succeeds};

/// Builds and boots machines with an agent.
const MACHINE: &str = "agent/ports/linux-vm";

/// Keeps kernels between tests.
pub fn cache() -> String {
    format!("CACHE={}", scratch("kernels").display())
}

fn try_make(out: &Path, words: &[&str]) -> Output {
    Command::new("make")
        .args(["-s", "-C"])
        .arg(here(MACHINE))
        .arg(format!("OUT={}", out.display()))
        .arg(cache())
        .arg("STRICT=-Werror")
        .args(words)
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A machine built with these words, in a folder for the files of a test; or why it cannot be built
/// here.
pub fn machine(name: &str, words: &[&str]) -> Result<PathBuf, String> {
    for program in ["apt-get", "dpkg", "cpio", "qemu-system-x86_64"] {
        if Command::new(program).arg("--version").output().is_err() {
            return Err(format!("there is no {program}"));
        }
    }
    let out = scratch(name);
    let output = try_make(&out, words);
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(why) = said.lines().find(|l| l.contains("is there a network?")) {
        return Err(why.to_string());
    }
    assert!(output.status.success(), "{said}");
    Ok(out)
}

/// Boots a machine with these words. Returns its records and its console.
pub fn boot(out: &Path, words: &[&str]) -> (String, String) {
    let output = try_make(out, &[&["boot"], words].concat());
    assert!(output.status.success(), "{output:?}");
    let console = fs::read(out.join("console")).unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&console).into_owned(),
    )
}

/// Builds a static program for a machine.
pub fn build_static(source: &str, program: &Path) {
    succeeds(
        Command::new("cc")
            .args(["-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(program)
            .arg(here("tests").join(source)),
    );
}

pub fn read(stream: &str) -> Run {
    let mut reader = Reader::new();
    for line in stream.lines() {
        reader.line(line.as_bytes());
    }
    reader.finish()
}

/// Checks that every metric has a number, or was skipped for one of these reasons. Returns how many
/// have one.
pub fn measured(run: &Run, reasons: &[&str], console: &str) -> usize {
    assert_eq!(run.damage, Damage::default(), "{console}");
    assert!(run.sessions[0].complete, "{console}");
    assert_eq!(run.sessions[0].clock.unit, Unit::Instructions);
    let mut measured = 0;
    for metric in &run.metrics {
        match &metric.replicates[0].outcome {
            Outcome::Ok => measured += 1,
            Outcome::Skipped(why) if reasons.iter().any(|r| why.starts_with(r)) => {}
            other => panic!("{}: {other:?}", metric.id),
        }
    }
    measured
}
