// SPDX-License-Identifier: MIT OR Apache-2.0

//! The installed tool: where its files are, that it needs no checkout, its man page, and that real
//! shells complete.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use common::{here, skipped, succeeds};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use tempfile::TempDir;

const FILES: [&str; 5] = [
    "bin/kernmark",
    "share/bash-completion/completions/kernmark",
    "share/fish/vendor_completions.d/kernmark.fish",
    "share/man/man1/kernmark.1",
    "share/zsh/site-functions/_kernmark",
];

/// The tool, installed outside of the checkout, and an empty home.
struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let installed = Installed { folder };
        installed.make(&["install"]);
        installed
    }

    fn make(&self, words: &[&str]) {
        let command = &mut Command::new("make");
        command
            .args(["-s", "-C"])
            .arg(here(""))
            .args(words)
            .arg(format!("PROGRAM={}", env!("CARGO_BIN_EXE_kernmark")))
            .arg(format!("DESTDIR={}", self.folder.path().display()))
            .arg("PREFIX=/usr")
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL");
        succeeds(command);
    }

    fn prefix(&self) -> PathBuf {
        self.folder.path().join("usr")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A program in the empty home, with the tool in its path and nothing else of its user's.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        let bin = self.prefix().join("bin");
        command
            .current_dir(self.home())
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.home())
            .env("KERNMARK_LOCK", self.home().join("lock"))
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .stdin(Stdio::null());
        command
    }

    fn tool(&self, words: &[&str]) -> Command {
        let program = self.prefix().join("bin/kernmark");
        let mut command = self.command(program.to_str().unwrap());
        command.args(words);
        command
    }
}

fn files_below(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, root, found);
        } else {
            let name = path.strip_prefix(root).unwrap();
            found.insert(name.to_str().unwrap().to_owned());
        }
    }
}

fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

#[test]
fn uninstalling_removes_exactly_what_was_installed() {
    let installed = Installed::new();
    let prefix = installed.prefix();
    let all = || {
        let mut found = BTreeSet::new();
        files_below(&prefix, &prefix, &mut found);
        found
    };
    assert_eq!(all(), BTreeSet::from(FILES.map(str::to_owned)));
    fs::write(prefix.join("bin/other"), "").unwrap();
    installed.make(&["uninstall"]);
    assert_eq!(all(), BTreeSet::from(["bin/other".to_owned()]));
}

#[test]
fn the_installed_tool_needs_no_checkout() {
    let installed = Installed::new();
    if !has("strace") {
        skipped("what the installed tool opens", "there is no strace");
    }
    for words in [
        &["list", "semaphore"][..],
        &["list", "--reference"],
        &["list", "--coverage", "reference:zephyr"],
        &["targets"],
        &[
            "compare",
            "reference:zircon/2017-08-17",
            "reference:zircon/2018-01-02",
        ],
        &["explain", "ipc", "reference:composite/2007/composite"],
        &["run", "--quick", "clock.read"],
        &["show", "--metric", "clock.read"],
    ] {
        let mut command = installed.tool(words);
        let log = installed.folder.path().join("log");
        if has("strace") {
            let tool = installed.tool(words);
            command = installed.command("strace");
            command.args(["-e", "trace=%file", "-o"]).arg(&log);
            command.arg(tool.get_program()).args(words);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{words:?}: {said}{shown}");
        assert!(!output.stdout.is_empty(), "{words:?}");
        let opened = fs::read_to_string(&log).unwrap_or_default();
        let checkout = format!("\"{}", here("").display());
        assert!(!opened.contains(&checkout), "{words:?}: {opened}");
    }
}

#[test]
fn the_package_has_all_that_the_tool_embeds_and_all_that_documents_it() {
    let listed = |command: &mut Command| -> BTreeSet<String> {
        let text = succeeds(command.current_dir(here("")));
        text.lines().map(str::to_owned).collect()
    };
    if !here(".git").exists() {
        skipped("what the package has", "this is no checkout");
        return;
    }
    let packed = listed(Command::new(env!("CARGO")).args([
        "package",
        "--list",
        "--allow-dirty",
        "--offline",
        "--quiet",
    ]));
    let needed = ["src", "agent", "targets", "reference", "doc", "build.rs"];
    let kept = listed(Command::new("git").arg("ls-files").args(needed));
    let missing: Vec<&String> = kept.difference(&packed).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(packed.contains("LICENSE-MIT") && packed.contains("LICENSE-APACHE"));
    assert!(!packed.iter().any(|path| path.starts_with("tests/")));
}

#[test]
fn the_man_page_is_rendered_without_warnings() {
    let installed = Installed::new();
    let page = installed.prefix().join(FILES[3]);
    let mut man = installed.command("man");
    man.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8"]);
    let Ok(output) = man.env("MANROFFSEQ", "").arg(page).output() else {
        skipped("the man page", "there is no man");
        return;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{said}");
    // Bold is a letter, a backspace and the letter again.
    let mut text = String::new();
    for letter in String::from_utf8(output.stdout).unwrap().chars() {
        if letter == '\u{8}' {
            text.pop();
        } else {
            text.push(letter);
        }
    }
    for word in [
        "KERNMARK RUN",
        "KERNMARK COMPARE",
        "--fail-on",
        "EXIT STATUS",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    assert!(!text.contains("KERNMARK COMPLETE\n"), "it is hidden");
}

/// An interactive shell on a terminal of its own.
struct Shell {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
}

impl Shell {
    fn start(mut command: Command) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let path = ptsname(&controller, Vec::new()).unwrap();
        let terminal = File::options()
            .read(true)
            .write(true)
            .open(path.to_str().unwrap())
            .unwrap();
        let other = || terminal.try_clone().unwrap();
        let child = command
            .stdin(other())
            .stdout(other())
            .stderr(other())
            .spawn()
            .unwrap();
        let keys = File::from(controller);
        let mut out = keys.try_clone().unwrap();
        let (sender, screen) = mpsc::channel();
        // It ends with the shell, which is the last to have the terminal open.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Shell {
            child,
            keys,
            screen,
        }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Reads what appears until it contains a text.
    #[track_caller]
    fn shows(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        let mut seen = String::new();
        while !seen.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.screen.recv_timeout(left) else {
                panic!("no {text:?} in {seen:?}");
            };
            // Without the bell.
            seen += &String::from_utf8_lossy(&bytes).replace('\u{7}', "");
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is typed before Tab, and what Tab adds.
const COMPLETED: [(&str, &str); 6] = [
    ("kernmark run semaph", "ore."),
    ("kernmark run --on free", "rtos"),
    ("kernmark run --on freertos:m4,variant=O2+us", "erspace"),
    ("kernmark run --on=freertos:vi", "rt"),
    ("kernmark show reference:zircon/2018", "-01-02"),
    ("kernmark list --cov", "erage"),
];

/// Presses Tab in a shell that has read its completion script.
fn completes(mut shell: Shell, read: &str) {
    // Typed in two parts, so that the echo is not taken for the answer.
    shell.types(&format!("PS1='ready''> '; {read}\n"));
    shell.shows("ready> ");
    for (typed, added) in COMPLETED {
        shell.types(&format!("{typed}\t"));
        shell.shows(&format!("{typed}{added}"));
        // Ctrl-U: away with the line.
        shell.types("\u{15}echo clear''ed\n");
        shell.shows("cleared");
    }
}

#[test]
fn bash_completes() {
    let installed = Installed::new();
    let mut bash = installed.command("bash");
    bash.args(["--norc", "--noprofile", "-i"]);
    let script = installed.prefix().join(FILES[1]);
    completes(Shell::start(bash), &format!("source {}", script.display()));
}

#[test]
fn zsh_completes() {
    if !has("zsh") {
        skipped("completion in zsh", "there is no zsh");
        return;
    }
    let installed = Installed::new();
    let mut zsh = installed.command("zsh");
    zsh.args(["-f", "-i"]);
    let folder = installed.prefix().join("share/zsh/site-functions");
    let read = format!(
        "fpath=({} $fpath); autoload -U compinit; compinit -u -D",
        folder.display()
    );
    completes(Shell::start(zsh), &read);
}

#[test]
fn fish_completes() {
    if !has("fish") {
        skipped("completion in fish", "there is no fish");
        return;
    }
    let installed = Installed::new();
    let script = installed.prefix().join(FILES[2]);
    for (typed, added) in COMPLETED {
        let code = format!("source {}; complete -C '{typed}'", script.display());
        let offered = succeeds(installed.command("fish").args(["-c", &code]));
        let word = format!("{}{added}", typed.rsplit(' ').next().unwrap());
        assert!(
            offered.lines().any(|line| line.starts_with(&word)),
            "{typed}: {offered}"
        );
    }
}
