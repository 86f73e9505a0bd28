// SPDX-License-Identifier: MIT OR Apache-2.0

//! Helpers for several test programs: they build agents, and report what cannot be tested here.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A path in this repository.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder for the files of a test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Reports that something was not tested, bypassing the test harness's capture.
pub fn skipped(what: &str, why: &str) {
    // In one write, so that parallel tests do not mix their lines.
    let line = format!("SKIPPED: {what}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Runs a command that must succeed, and returns what it prints.
pub fn succeeds(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}; install it (packages.txt)"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Builds the agent of a port.
pub fn make(port: &str, out: &Path, settings: &[String]) {
    succeeds(
        Command::new("make")
            .args(["-s", "-j2", "-C"])
            .arg(here("agent/ports").join(port))
            .arg(format!("OUT={}", out.display()))
            .arg("STRICT=-Werror")
            .args(settings)
            .env_remove("MAKEFLAGS"),
    );
}
