//! Builds the agent for the Linux it is to stand on; the tool embeds it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

/// Where the agent's build file lies, from the crate's root.
const PORT: &str = "agent/ports/linux-user";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=agent");
    for name in ["CC", "CFLAGS", "LDFLAGS", "MAKEFLAGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("kernmark: the agent was not built: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set; run cargo")?);
    let status = Command::new("make")
        .args(["-C", PORT])
        .arg(format!("OUT={}", out.display()))
        // Cargo's own job server is not for this make.
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
                Err(format!("make -C {PORT} left no {}", agent.display()))
            }
        }
        Ok(_) => Err(diagnosis(&out)),
        Err(error) => Err(format!(
            "cannot run make ({error}); install it (Debian: apt install make gcc libc6-dev)"
        )),
    }
}

/// Why make failed, as far as it can be told: the parts of a C tool chain are tried one by one.
fn diagnosis(out: &Path) -> String {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or("cc");
    let flags: Vec<&str> = words.collect();
    if Command::new(program).arg("--version").output().is_err() {
        return format!(
            "no C compiler: `{compiler}` cannot be run; install one (Debian: apt install gcc) or set CC"
        );
    }
    let source = out.join("probe.c");
    let linked = fs::write(&source, "int main(void) { return 0; }\n").is_ok()
        && Command::new(program)
            .args(flags)
            .arg("-static")
            .arg("-o")
            .arg(out.join("probe"))
            .arg(&source)
            .output()
            .is_ok_and(|output| output.status.success());
    if !linked {
        return format!(
            "`{compiler} -static` cannot link a program; install the static C library \
             (Debian: apt install libc6-dev; Fedora: dnf install glibc-static)"
        );
    }
    format!("make -C {PORT} failed; its messages are above")
}
