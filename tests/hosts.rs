// SPDX-License-Identifier: MIT OR Apache-2.0

//! The user-mode agent for other processors, run by emulators of user mode, and with other compilers
//! and C libraries. `build.rs` builds it, as it does for the tool.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{here, scratch, skipped, succeeds};
use kernmark::stream::run::{Entry, Outcome, Run};
use kernmark::stream::session::read;

/// A processor, and what Debian calls its tools.
struct Host {
    /// Rust's names.
    target: &'static str,
    arch: &'static str,
    /// The start of the names of its compilers, and the packages of its compiler and C library.
    prefix: &'static str,
    packages: &'static str,
    emulator: &'static str,
    /// What `hello` says.
    machine: &'static str,
    clock: &'static str,
    big_endian: bool,
}

const AARCH64: Host = Host {
    target: "aarch64-unknown-linux-gnu",
    arch: "aarch64",
    prefix: "aarch64-linux-gnu",
    packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    emulator: "qemu-aarch64-static",
    machine: "aarch64",
    clock: "cntvct",
    big_endian: false,
};

const RISCV64: Host = Host {
    target: "riscv64gc-unknown-linux-gnu",
    arch: "riscv64",
    prefix: "riscv64-linux-gnu",
    packages: "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
    emulator: "qemu-riscv64-static",
    machine: "riscv64",
    clock: "time",
    big_endian: false,
};

const ARM: Host = Host {
    target: "armv7-unknown-linux-gnueabihf",
    arch: "arm",
    prefix: "arm-linux-gnueabihf",
    packages: "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    emulator: "qemu-arm-static",
    machine: "armv7l",
    clock: "monotonic",
    big_endian: false,
};

const S390X: Host = Host {
    target: "s390x-unknown-linux-gnu",
    arch: "s390x",
    prefix: "s390x-linux-gnu",
    packages: "gcc-s390x-linux-gnu libc6-dev-s390x-cross",
    emulator: "qemu-s390x-static",
    machine: "s390x",
    clock: "monotonic",
    big_endian: true,
};

/// What an emulator of user mode lacks. These cases are skipped, and say this.
const LACKS: [(&str, &str); 4] = [
    // The emulator passes the program to the kernel of this machine, which cannot run it.
    ("process.vfork_exec", PROGRAM),
    ("process.spawn", PROGRAM),
    // It supports 32 of them.
    ("timer.posix.arm", "timer_create"),
    ("uring.", "this kernel has no io_uring"),
];
const PROGRAM: &str = "cannot execute a program in memory";

/// In these cases the emulator switches once more each time to start a thread, so their proof of
/// switches fails.
const STARTS_THREADS: [&str; 3] = [
    "thread.create.user.from.user",
    "thread.exit.user.from.user",
    "pthread.create_join",
];

/// In these cases the kernel may also count switches and page faults of the emulator itself: of its
/// thread in each process, and of its translated code.
const COUNTS_EMULATOR: [(&str, &str); 5] = [
    ("process.fork_exit_wait", "switches"),
    ("channel.", "switches"),
    ("yield.processes", "switches"),
    ("mmu.map_unmap.faults.", "faults"),
    ("fault.", "faults"),
];

/// With priority inheritance the kernel stores a thread's number in the lock, in the byte order of this
/// machine. So on a machine of the other byte order, waiting for such a lock never ends, and the lock
/// holds a wrong number.
const NEVER_ENDS_SWAPPED: &str = "mutex.lock.contended.inherit.u_to_u";
const WRONG_SWAPPED: &str = "futex.lock_pi";

fn can_run(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// `build.rs` as a program.
fn builder() -> &'static Path {
    static BUILDER: OnceLock<PathBuf> = OnceLock::new();
    BUILDER.get_or_init(|| {
        let program = scratch("hosts").join("build");
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        succeeds(
            Command::new(rustc)
                .args(["--edition=2021", "-o"])
                .arg(&program)
                .arg(here("build.rs")),
        );
        program
    })
}

/// The command by which cargo would build the agent for this target, and where it does.
fn building(name: &str, target: &str, arch: &str) -> (Command, PathBuf) {
    let out = scratch(&format!("hosts/{name}"));
    let mut command = Command::new(builder());
    command
        .current_dir(here(""))
        .env("TARGET", target)
        .env("CARGO_CFG_TARGET_ARCH", arch)
        // Even a machine of this kind is to use the compiler with the long name.
        .env("HOST", "none")
        .env("OUT_DIR", &out)
        .env("STRICT", "-Werror")
        .env("CFLAGS", "-O1")
        .env_remove("CC")
        .env_remove("LDFLAGS");
    (command, out.join("kernmark-agent"))
}

/// The agent and how to run it.
struct Agent {
    program: PathBuf,
    emulator: Option<&'static str>,
}

impl Agent {
    fn prints(&self, words: &[&str]) -> String {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "100"]);
        command.args(self.emulator).arg(&self.program).args(words);
        // One that was killed printed what it measured until then.
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn measures(&self, settings: &[&str], cases: &[&str]) -> String {
        self.prints(&[&["run", "samples=20", "budget_us=50000"], settings, cases].concat())
    }
}

/// How a case ended: `ok`, why it was skipped or broke off, or the names of the proofs that failed.
fn verdict(run: &Run, case: &str) -> String {
    let of_case = || run.metrics.iter().filter(|metric| metric.case == case);
    let mut replicates = of_case().flat_map(|metric| &metric.replicates).peekable();
    if replicates.peek().is_none() {
        return "nothing was printed".to_owned();
    }
    let Some(bad) = replicates.find(|one| one.outcome != Outcome::Ok) else {
        return "ok".to_owned();
    };
    match &bad.outcome {
        Outcome::Ok => unreachable!(),
        Outcome::Skipped(why) | Outcome::Incomplete(why) => why.clone(),
        Outcome::Failed(why) => {
            let all = of_case().flat_map(|metric| &metric.replicates);
            let failed = all
                .flat_map(|one| &one.proofs)
                .filter(|proof| !(proof.low..=proof.high).contains(&proof.counted));
            let names: BTreeSet<&str> = failed.map(|proof| proof.name.as_str()).collect();
            if names.is_empty() {
                why.clone()
            } else {
                names.into_iter().collect::<Vec<_>>().join("+")
            }
        }
    }
}

/// Measures all cases but these and asks of each whether it ended as it should. Another program may
/// disturb a case, so each has three attempts.
fn judge(
    agent: &Agent,
    without: &[&str],
    settings: &[&str],
    right: &dyn Fn(&Run, &Entry, &str) -> bool,
) {
    let list = agent.prints(&["list"]);
    let catalog = read(list.as_bytes()).catalog;
    let mut entries: Vec<&Entry> = catalog.iter().filter(|e| e.metric == e.case).collect();
    assert!(entries.len() > 200, "only {} cases", entries.len());
    entries.retain(|entry| !without.contains(&entry.case.as_str()));
    for attempt in 1.. {
        let cases: Vec<&str> = entries.iter().map(|entry| entry.case.as_str()).collect();
        let run = read(format!("{list}{}", agent.measures(settings, &cases)).as_bytes());
        entries.retain(|entry| !right(&run, entry, &verdict(&run, &entry.case)));
        if entries.is_empty() {
            break;
        }
        assert!(
            attempt < 3,
            "{:#?}",
            entries
                .iter()
                .map(|entry| format!("{}: {}", entry.case, verdict(&run, &entry.case)))
                .collect::<Vec<_>>()
        );
    }
}

fn needs(entry: &Entry, what: &str) -> bool {
    entry.needs.iter().any(|need| need == what)
}

/// Whether a case may be skipped on any machine, and says why.
fn may_be_skipped(run: &Run, entry: &Entry, verdict: &str) -> bool {
    let realtime = run.sessions.iter().all(|session| session.realtime);
    verdict == "this port has no abort"
        || verdict.starts_with("needs a second CPU") && needs(entry, "smp")
        || verdict.starts_with("needs real-time priority") && needs(entry, "priority") && !realtime
}

/// Whether a case ended in the emulator as the lists above say.
fn as_listed(host: &Host, runs_programs: bool, run: &Run, entry: &Entry, verdict: &str) -> bool {
    let case = entry.case.as_str();
    let realtime = run.sessions.iter().all(|session| session.realtime);
    if may_be_skipped(run, entry, verdict) {
        return true;
    }
    if let Some((_, why)) = LACKS.iter().find(|(start, _)| case.starts_with(start)) {
        return if *why == PROGRAM && runs_programs {
            verdict == "ok"
        } else {
            verdict.starts_with(why)
        };
    }
    if host.big_endian != cfg!(target_endian = "big") && case == WRONG_SWAPPED {
        return verdict == "results";
    }
    if STARTS_THREADS.contains(&case) {
        // Without real-time priority the range is wider.
        return verdict == "switches" || verdict == "ok" && !realtime;
    }
    let own = COUNTS_EMULATOR
        .iter()
        .find(|(start, _)| case.starts_with(start));
    verdict == "ok" || own.is_some_and(|(_, proof)| verdict == *proof)
}

/// Builds the agent for this processor and runs all that one CPU can run, in an emulator.
fn emulated(host: &Host) {
    let what = format!("the agent on {}", host.arch);
    for (program, packages) in [
        (format!("{}-gcc", host.prefix), host.packages),
        (host.emulator.to_owned(), "qemu-user-static"),
    ] {
        if !can_run(&program) {
            let why = format!("no {program}; on Debian: apt install {packages}");
            return skipped(&what, &why);
        }
    }
    let (mut build, program) = building(host.arch, host.target, host.arch);
    succeeds(&mut build);
    // Such as with binfmt_misc.
    let runs_programs = Command::new(&program)
        .arg("list")
        .output()
        .is_ok_and(|output| output.status.success());
    let agent = Agent {
        program,
        emulator: Some(host.emulator),
    };
    let without: &[&str] = if host.big_endian == cfg!(target_endian = "big") {
        &[]
    } else {
        skipped(
            &format!("{NEVER_ENDS_SWAPPED} on {}", host.arch),
            "the emulator does not swap the bytes of such a lock",
        );
        &[NEVER_ENDS_SWAPPED]
    };
    judge(&agent, without, &["other=none"], &|run, entry, verdict| {
        assert_eq!(run.sessions[0].arch, host.machine);
        assert_eq!(run.sessions[0].clock.name, host.clock);
        as_listed(host, runs_programs, run, entry, verdict)
    });
}

#[test]
fn agent_runs_on_aarch64() {
    emulated(&AARCH64);
}

#[test]
fn agent_runs_on_riscv64() {
    emulated(&RISCV64);
}

#[test]
fn agent_runs_on_32_bit_arm() {
    emulated(&ARM);
}

#[test]
fn agent_runs_big_endian() {
    emulated(&S390X);
}

/// The folder of a file that gcc knows.
fn folder_of(gcc: &str, file: &str) -> String {
    let path = succeeds(Command::new(gcc).arg(format!("-print-file-name={file}")));
    let folder = Path::new(path.trim()).parent().unwrap();
    folder.display().to_string()
}

#[test]
fn clang_builds_the_agent_for_every_processor() {
    for host in [AARCH64, RISCV64, ARM, S390X] {
        let what = format!("the agent with clang for {}", host.arch);
        let gcc = format!("{}-gcc", host.prefix);
        if !can_run("clang") || !can_run(&gcc) {
            let why = format!("on Debian: apt install clang {}", host.packages);
            skipped(&what, &why);
            continue;
        }
        let name = format!("clang-{}", host.arch);
        let (mut build, _) = building(&name, host.target, host.arch);
        // It does not find the cross compilers' folders of all processors itself.
        let (crt, libc) = (folder_of(&gcc, "crtbeginT.o"), folder_of(&gcc, "libc.a"));
        let prefix = host.prefix;
        build.env(
            "CC",
            format!("clang --target={prefix} -isystem /usr/{prefix}/include -B{crt} -B{libc}"),
        );
        build.env("LDFLAGS", format!("-L{crt} -L{libc}"));
        succeeds(&mut build);
    }
}

/// Builds the agent for this machine with this compiler, and measures everything.
fn native(name: &str, cc: &str) {
    let arch = env::consts::ARCH;
    let (mut build, program) = building(name, &format!("{arch}-unknown-linux-gnu"), arch);
    succeeds(build.env("CC", cc));
    let agent = Agent {
        program,
        emulator: None,
    };
    judge(&agent, &[], &[], &|run, entry, verdict| {
        verdict == "ok" || may_be_skipped(run, entry, verdict)
    });
}

#[test]
fn agent_runs_when_built_by_clang() {
    if can_run("clang") {
        native("clang", "clang");
    } else {
        skipped("the agent with clang", "on Debian: apt install clang");
    }
}

#[test]
fn agent_runs_with_musl() {
    if !can_run("musl-gcc") {
        return skipped("the agent with musl", "on Debian: apt install musl-tools");
    }
    let headers = succeeds(Command::new("gcc").arg("-print-multiarch"));
    native(
        "musl",
        &format!(
            "musl-gcc -idirafter /usr/include -idirafter /usr/include/{}",
            headers.trim()
        ),
    );
}

/// What the build of the agent says when it fails.
fn refuses(build: &mut Command) -> String {
    let output = build.output().unwrap();
    assert!(!output.status.success());
    let messages = String::from_utf8(output.stderr).unwrap();
    let (_, why) = messages.split_once("kernmark: ").unwrap();
    why.trim().to_owned()
}

#[test]
fn build_says_what_is_missing() {
    let (mut build, _) = building("sparc64", "sparc64-unknown-linux-gnu", "sparc64");
    assert_eq!(
        refuses(&mut build),
        "the agent was not built: there is no C compiler for this machine: \
         `sparc64-linux-gnu-gcc` cannot be run; install one (Debian: apt install \
         gcc-sparc64-linux-gnu libc6-dev-sparc64-cross) or set CC"
    );
    if can_run("musl-gcc") {
        let arch = env::consts::ARCH;
        let (mut build, _) = building("no-headers", &format!("{arch}-unknown-linux-gnu"), arch);
        let why = refuses(build.env("CC", "musl-gcc"));
        assert!(
            why.contains("`musl-gcc` does not find the kernel's headers"),
            "{why}"
        );
    }
}
