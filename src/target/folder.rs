// SPDX-License-Identifier: MIT OR Apache-2.0

//! A folder that an option names, such as a kernel's sources: its absolute path, and which revision
//! it holds.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::process::{self, ToolResult};
use crate::base::interrupt::Interrupt;

/// Time limit for asking git. It reads the state of every file.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// The absolute path of the folder, without symbolic links.
///
/// # Errors
///
/// There is no such folder, or its path is not UTF-8.
pub fn absolute(folder: &str) -> Result<String, String> {
    let path = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    if !path.is_dir() {
        return Err("it is not a folder".to_owned());
    }
    let utf8 = path.to_str().map(str::to_owned);
    utf8.ok_or_else(|| format!("{} is not UTF-8; rename it", path.display()))
}

/// The revision of a folder that git knows, as `git describe --always --dirty` has it. `None` if no
/// commit contains the folder, or if git cannot be asked.
#[must_use]
pub fn revision(folder: &str, interrupt: &Interrupt) -> Option<String> {
    // It may lie in a repository that ignores it.
    git(folder, &["rev-parse", "--verify", "HEAD:./"], interrupt)?;
    git(folder, &["describe", "--always", "--dirty"], interrupt)
}

fn git(folder: &str, arguments: &[&str], interrupt: &Interrupt) -> Option<String> {
    let mut command = Command::new("git");
    command
        .args(["--no-optional-locks", "-C", folder])
        .args(arguments)
        // If git started this tool, these name its repository, which may be another one.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    match process::run_tool(&mut command, GIT_LIMIT, interrupt) {
        Ok(ToolResult::Succeeded(stdout)) => {
            Some(String::from_utf8_lossy(&stdout).trim().to_owned())
        }
        _ => None,
    }
}
