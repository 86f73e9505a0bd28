// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds the agent for the Linux that the tool is compiled for, and generates the list of files that
//! the tool embeds.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs, io};

/// The folder of the agent's Makefile, relative to the root of the crate.
const PORT: &str = "agent/ports/linux-user";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=agent");
    println!("cargo::rerun-if-changed=targets");
    for name in ["CC", "CFLAGS", "LDFLAGS", "MAKEFLAGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    match build().and_then(|()| embed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("kernmark: the agent was not built: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the tables of embedded files: the agent's sources, which images for other kernels are built
/// from, with what fetches those kernels' sources as its folder `sources`; and the descriptions of
/// targets.
fn embed() -> Result<(), String> {
    let unreadable = |error: io::Error| format!("cannot read its sources: {error}");
    let mut text = String::from("const AGENT: &[Source] = &[\n");
    let agent = files(Path::new("agent")).map_err(unreadable)?;
    let sources = files(Path::new("targets/sources")).map_err(unreadable)?;
    for path in agent.into_iter().chain(sources) {
        let mode = fs::metadata(&path)
            .map_err(unreadable)?
            .permissions()
            .mode()
            & 0o700
            | 0o600;
        let name = path
            .strip_prefix("agent")
            .or(path.strip_prefix("targets"))
            .unwrap_or(&path);
        let name = utf8(name)?;
        let file = embedding("include_bytes", utf8(&path)?);
        let _ = writeln!(
            text,
            "Source {{ path: {name:?}, mode: {mode:#o}, bytes: {file} }},"
        );
    }
    text.push_str("];\nconst TARGETS: &[(&str, &str)] = &[\n");
    for path in files(Path::new("targets")).map_err(unreadable)? {
        if let Some(name) = utf8(&path)?.strip_suffix(".toml") {
            let name = name.strip_prefix("targets/").unwrap_or(name);
            let file = embedding("include_str", utf8(&path)?);
            let _ = writeln!(text, "({name:?}, {file}),");
        }
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set; run cargo")?);
    fs::write(out.join("embedded.rs"), text).map_err(|error| format!("cannot write: {error}"))
}

/// The macro call that embeds a file of the repository.
fn embedding(how: &str, path: &str) -> String {
    format!("{how}!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {path:?}))")
}

fn utf8(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

/// The files below a folder, sorted. Leaves out build output, hidden files and backups.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name.ends_with('~') || name == "build" {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set; run cargo")?);
    let compiler = compiler();
    let status = Command::new("make")
        .args(["-C", PORT])
        .arg(format!("OUT={}", out.display()))
        .env("CC", &compiler)
        // Do not pass on the job server of cargo, or of a make that called cargo.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => {
            let agent = out.join("kernmark-agent");
            if agent.is_file() {
                Ok(())
            } else {
                Err(format!("make -C {PORT} did not create {}", agent.display()))
            }
        }
        Ok(_) => Err(diagnosis(&compiler, &out)),
        Err(error) => Err(format!(
            "cannot run make ({error}); install it (Debian: apt install make gcc libc6-dev)"
        )),
    }
}

/// The C compiler for the machine that the tool is built for: `CC`, or the one that Debian and most
/// others name after that machine.
fn compiler() -> String {
    env::var("CC").unwrap_or_else(|_| match machine() {
        None => "cc".to_owned(),
        Some((prefix, _)) => format!("{prefix}-gcc"),
    })
}

/// A machine other than this one that the tool is built for: the start of the names of its tools, and
/// Debian's name of it.
fn machine() -> Option<(String, String)> {
    let cargo = |name| env::var(name).unwrap_or_default();
    let target = cargo("TARGET");
    let arch = cargo("CARGO_CFG_TARGET_ARCH");
    let (prefix, debian) = match arch.as_str() {
        _ if cargo("HOST").split('-').next() == target.split('-').next() => return None,
        "arm" if target.ends_with("hf") => ("arm-linux-gnueabihf", "armhf"),
        "arm" => ("arm-linux-gnueabi", "armel"),
        "aarch64" => ("aarch64-linux-gnu", "arm64"),
        "x86" => ("i686-linux-gnu", "i386"),
        "x86_64" => ("x86_64-linux-gnu", "amd64"),
        "riscv64" => ("riscv64-linux-gnu", "riscv64"),
        _ => {
            let name = target.split('-').next().unwrap_or_default();
            return Some((format!("{name}-linux-gnu"), name.to_owned()));
        }
    };
    Some((prefix.to_owned(), debian.to_owned()))
}

/// Why make failed, if that can be found out: tries the parts of the C toolchain one by one.
fn diagnosis(compiler: &str, out: &Path) -> String {
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or("cc");
    let flags: Vec<&str> = words.collect();
    let (gcc, libc) = match machine() {
        None => ("gcc".to_owned(), "libc6-dev".to_owned()),
        Some((prefix, debian)) => (
            format!("gcc-{}", prefix.replace('_', "-")),
            format!("libc6-dev-{debian}-cross"),
        ),
    };
    if Command::new(program).arg("--version").output().is_err() {
        return format!(
            "there is no C compiler for this machine: `{compiler}` cannot be run; install one (Debian: \
             apt install {gcc} {libc}) or set CC"
        );
    }
    let source = out.join("probe.c");
    let accepts = |text: &str| {
        fs::write(&source, text).is_ok()
            && Command::new(program)
                .args(&flags)
                .arg("-static")
                .arg("-o")
                .arg(out.join("probe"))
                .arg(&source)
                .output()
                .is_ok_and(|output| output.status.success())
    };
    if !accepts("int main(void) { return 0; }\n") {
        return format!(
            "`{compiler} -static` cannot link a program; install the static C library (Debian: apt \
             install {libc}; Fedora: dnf install glibc-static)"
        );
    }
    if !accepts("#include <linux/io_uring.h>\nint main(void) { return 0; }\n") {
        return format!(
            "`{compiler}` does not find the kernel's headers, such as linux/io_uring.h (Alpine: apk add \
             linux-headers; with Debian's musl-gcc, set CC=\"musl-gcc -idirafter /usr/include \
             -idirafter /usr/include/$(uname -m)-linux-gnu\")"
        );
    }
    format!("make -C {PORT} failed; its messages are above")
}
