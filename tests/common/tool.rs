// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tool, isolated from its user's files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tool in a folder with all its files. Of the environment, it only gets the paths of programs
/// and of kernel sources.
pub fn tool_in(folder: &Path, arguments: &[&str]) -> Command {
    let cargo = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    let kernel = env::var_os("FREERTOS_KERNEL_PATH");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernmark"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap())
        .env("HOME", folder.join("home"))
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("KERNMARK_LOCK", folder.join("lock"))
        .envs(cargo.map(|cargo| ("CARGO_HOME", cargo)))
        .envs(kernel.map(|path| ("FREERTOS_KERNEL_PATH", path)))
        .stdin(Stdio::null());
    command
}
