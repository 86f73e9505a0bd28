// SPDX-License-Identifier: MIT OR Apache-2.0

//! Linux in kernel and user mode in a QEMU virtual machine, and Linux in a sandbox or as a process,
//! as users see them. Needs Debian's packages from its mirror. The golden values are for one
//! version of them.

// Only other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{here, scratch, skipped};
use seen::Seen;
use tool::tool_in;

/// The emulated machine, even if others can be used here.
const VM: &str = "linux-vm:tcg";

/// The metrics to compare; each boot takes a while.
const WAKE: &str = "semaphore.give.wake+ctx.";
const PAIRINGS: [&str; 4] = ["k_to_k", "k_to_u", "u_to_k", "u_to_u"];

/// A separate folder for a test, and the tool in it. Downloads are kept.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        Bed {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str], cache: &Path) -> Command {
        let mut command = tool_in(self.folder.path(), arguments);
        command.env("XDG_CACHE_HOME", cache);
        command
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.command(arguments, &cache()).output().unwrap())
    }
}

/// One cache for all tests, so that each kernel is downloaded once.
fn cache() -> PathBuf {
    scratch("linux-vm-cache")
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether the machine cannot be built here; reports the reason.
fn lacks_machine(what: &str) -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let programs = ["qemu-system-x86_64", "cpio", "gcc-12", "apt-get", "flock"];
        if let Some(program) = programs.into_iter().find(|program| !is_there(program)) {
            return Some(format!("there is no {program}"));
        }
        let seen = Bed::new().run(&["list", "--on", VM, "clock"]);
        match seen.status {
            Some(0) => None,
            // Anything but an unreachable mirror is a failure.
            _ if seen.err.contains("could not download") => Some(seen.err.replace('\n', " ")),
            _ => panic!("{seen:#?}"),
        }
    });
    if let Some(missing) = missing {
        skipped(what, missing);
    }
    missing.is_some()
}

/// The samples of each session that measured: every `cold` and `hist` record, without sequence
/// number and checksum.
fn samples(stream: &str) -> Vec<Vec<String>> {
    let mut sessions: Vec<Vec<String>> = Vec::new();
    for line in stream.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["@km1", _, "hello", ..] if line.contains(" mode=run ") => sessions.push(Vec::new()),
            ["@km1", _, "cold" | "hist", .., _] => {
                let record = words[2..words.len() - 1].join(" ");
                sessions.last_mut().unwrap().push(record);
            }
            _ => {}
        }
    }
    sessions
}

/// The medians, in ticks, by metric and column, from a run or a matrix in CSV.
fn medians(csv: &str) -> BTreeMap<(String, String), f64> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let at = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (metric, column, median) = (at("id"), at("column"), at("ticks"));
    let mut found = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        if let Ok(ticks) = record[median].parse() {
            found.insert(
                (record[metric].to_owned(), record[column].to_owned()),
                ticks,
            );
        }
    }
    found
}

/// The lines that name what a run was made with.
fn made_with_now(stream: &str) -> String {
    let facts = [
        "info name=kernel | ",
        "info name=compiler | ",
        "host name=emulator | ",
    ];
    let line = |fact: &&str| {
        let (_, rest) = stream.split_once(fact).unwrap();
        let (text, _) = rest.split_once(" *").unwrap();
        format!("# {text}\n")
    };
    facts.iter().map(line).collect()
}

#[test]
fn two_boots_are_identical_and_match_the_golden_values() {
    if lacks_machine("two boots of Linux") {
        return;
    }
    let bed = Bed::new();
    let families = [
        "semaphore",
        "mutex",
        "fifo.put",
        "spinlock",
        "isr",
        "cr3",
        "syscall",
        "copy",
    ];
    let arguments = ["run", "--on", VM, "--samples", "200", "-o", "run.km"];
    let seen = bed.run(&[&arguments[..], &families].concat());
    seen.expect(0, "identical in every sample", "saved: ");
    let stream = fs::read_to_string(bed.path("run.km")).unwrap();
    let sessions = samples(&stream);
    assert_eq!(sessions.len(), 2);
    assert!(sessions[0].len() > 50, "{sessions:?}");
    assert_eq!(sessions[0], sessions[1]);
    for fact in [
        "name=board | tcg ",
        "name=emulator | QEMU",
        "name=command | qemu-system-x86_64",
        "name=module_for | ",
        "name=kernel | cloud ",
    ] {
        assert!(stream.contains(fact), "{fact}");
    }
    let seen = bed.run(&["show", "--format", "json", "run.km"]);
    let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let median = |metric: &str| {
        let all = run["metrics"].as_array().unwrap();
        let one = all.iter().find(|one| one["id"] == metric);
        let one = one.unwrap_or_else(|| panic!("no {metric}"));
        one["median"].as_f64().unwrap()
    };
    let path = here("tests/golden/linux-vm.csv");
    let golden = fs::read_to_string(&path).unwrap();
    let (made_with, golden): (Vec<&str>, Vec<&str>) =
        golden.lines().partition(|line| line.starts_with("# "));
    // Another kernel, compiler or emulator may count slightly differently.
    let exact = made_with.iter().all(|line| stream.contains(&line[2..]));
    let mut wrong = Vec::new();
    let mut new = Vec::new();
    for line in golden {
        let (metric, ticks) = line.split_once(',').unwrap();
        let (ticks, found) = (ticks.parse::<f64>().unwrap(), median(metric));
        let off = (found - ticks).abs();
        if off > if exact { 0.0 } else { ticks / 200.0 } {
            wrong.push(metric);
        }
        new.push(format!("{metric},{found}\n"));
    }
    if env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(path, made_with_now(&stream) + &new.concat()).unwrap();
        return;
    }
    assert!(
        wrong.is_empty(),
        "{wrong:?} differ from the values measured with {made_with:?}:\n{}",
        new.concat()
    );
}

#[test]
fn boot_options_change_the_cost() {
    if lacks_machine("boot lines of Linux") {
        return;
    }
    let bed = Bed::new();
    let seen = bed.run(&[
        "matrix",
        "--on",
        VM,
        "--variant",
        "default",
        "--variant",
        "cmdline=mitigations=off",
        "--variant",
        // Words that only the boot loader uses are passed to the first process.
        "cmdline=nokaslr psi=0",
        "--quick",
        "--format",
        "csv",
        WAKE,
    ]);
    seen.expect(0, "", "saved: ");
    let medians = medians(&seen.out);
    for pairing in PAIRINGS {
        let of = |column: &str| medians[&(format!("{WAKE}{pairing}"), column.to_owned())];
        assert!(
            of("cmdline=nokaslr psi=0") < of("default"),
            "{pairing}: {medians:?}"
        );
        assert!(
            of("cmdline=mitigations=off") < of("default"),
            "{pairing}: {medians:?}"
        );
    }
    // A system call, and a switch of address space or mode, cost more than none.
    let of = |pairing: &str| medians[&(format!("{WAKE}{pairing}"), "default".to_owned())];
    assert!(of("k_to_k") < of("k_to_u") && of("k_to_k") < of("u_to_k"));
    assert!(of("k_to_u") < of("u_to_u") && of("u_to_k") < of("u_to_u"));
}

#[test]
fn kernel_panic_or_hang_is_reported_with_its_console() {
    if lacks_machine("a kernel that panics") {
        return;
    }
    let bed = Bed::new();
    let run = |cmdline: &str, silence| {
        let on = format!("{VM},cmdline={cmdline}");
        bed.run(&["run", "--on", &on, "--case-timeout", silence, "semaphore"])
    };
    let seen = run("rdinit=/nonexistent", "60");
    seen.expect(1, "", "the machine stopped before its agent finished");
    seen.expect(1, "", "its console says: ");
    seen.expect(
        1,
        "",
        "Kernel panic - not syncing: VFS: Unable to mount root fs",
    );
    let seen = run("rdinit=/nonexistent panic=0", "20");
    seen.expect(
        1,
        "",
        "no sign of life for 20 s; killed; its console says: ",
    );
    seen.expect(1, "", "Kernel panic");
    // It waits for a disk that never appears, and has not panicked.
    let seen = run(
        "rdinit=/nonexistent rootwait root=/dev/vda loglevel=7",
        "20",
    );
    seen.expect(
        1,
        "",
        "no sign of life for 20 s; killed; its console says: ",
    );
    assert!(!seen.err.contains("Kernel panic"), "{seen:#?}");
    // The agent's own complaint, from the console.
    let seen = run("-- what", "60");
    seen.expect(1, "", "does it contain another `--`?");
}

#[test]
fn unavailable_kernel_is_reported() {
    let bed = Bed::new();
    for (on, status, why) in [
        ("linux-vm:tcg,kernel=clod", 2, "did you mean cloud?"),
        ("linux-vm:tcg,kernal=cloud", 2, "did you mean kernel"),
        ("linux-vm:tcg,accel=kvm", 2, "names two boards"),
        ("linux-vm,accel=hvf", 2, "there is no board `hvf`"),
    ] {
        bed.run(&["run", "--on", on]).expect(status, "", why);
    }
    let long = format!("{VM},cmdline={}", "x".repeat(1501));
    bed.run(&["run", "--on", &long]).expect(
        2,
        "",
        "the value of cmdline= may have at most 1500 bytes",
    );
    if !["qemu-system-x86_64", "cpio"].into_iter().all(is_there) {
        skipped(
            "kernels that cannot be had",
            "there is no qemu-system-x86_64 or cpio",
        );
        return;
    }
    let absent = format!("{VM},kernel=./absent");
    bed.run(&["run", "--on", &absent])
        .expect(1, "", "there is no kernel ./absent");
    let bare = format!("{VM},kernel=./");
    bed.run(&["run", "--on", &bare])
        .expect(1, "", "neither vmlinuz nor arch/x86/boot/bzImage");
    // An unreachable mirror.
    let broken = bed.path("apt-get");
    fs::write(&broken, "#!/bin/sh\nexit 100\n").unwrap();
    common::succeeds(Command::new("chmod").arg("+x").arg(&broken));
    let mut path = bed.folder.path().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    let mut command = bed.command(&["run", "--on", VM], &bed.path("cache"));
    let seen = Seen::from(command.env("PATH", path).output().unwrap());
    assert_eq!(seen.status, Some(1), "{seen:#?}");
    let told = ["is there a network?", "debian-archive-keyring"];
    assert!(told.iter().any(|why| seen.err.contains(why)), "{seen:#?}");
}

/// What some of Debian's archives have: package and version.
const ARCHIVES: [(&str, &[(&str, &str)]); 6] = [
    (
        "bullseye-security",
        &[
            ("linux-image-cloud-amd64", "5.10.262-1"),
            ("linux-image-5.10.0-46-cloud-amd64", "5.10.262-1"),
            ("linux-image-5.10.0-46-cloud-amd64-unsigned", "5.10.262-1"),
            (
                "linux-image-6.1.0-0.deb11.52-cloud-amd64",
                "6.1.180-1~deb11u1",
            ),
        ],
    ),
    (
        "bookworm-backports",
        &[
            ("linux-image-6.12.9+deb12-cloud-amd64", "6.12.9-1~bpo12+1"),
            ("linux-image-6.12.95+deb12-amd64", "6.12.95-1~bpo12+1"),
            ("linux-image-6.12.95+deb12-cloud-amd64", "6.12.95-1~bpo12+1"),
        ],
    ),
    (
        "trixie-security",
        &[
            ("linux-image-6.12.107+deb13-rt-amd64", "6.12.107-1"),
            ("linux-image-6.12.107+deb13-cloud-amd64", "6.12.107-1"),
        ],
    ),
    (
        "trixie-backports",
        &[
            ("linux-image-7.3.4+deb13-cloud-amd64", "7.3.4-1~bpo13+1"),
            (
                "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
                "7.3.4-1~bpo13+1",
            ),
        ],
    ),
    (
        "sid",
        &[
            ("linux-image-cloud-amd64", "7.2.13-1"),
            ("linux-base-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
            ("linux-image-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
            ("linux-binary-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
            ("linux-binary-unsigned-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
            ("linux-image-7.2.13+deb14-arm64", "7.2.13-1"),
        ],
    ),
    (
        "experimental",
        &[
            ("linux-image-cloud-amd64", "7.3~rc7-1~exp1"),
            ("linux-base-7.3-cloud-amd64", "7.3~rc7-1~exp1"),
            ("linux-binary-unsigned-7.3-cloud-amd64", "7.3~rc7-1~exp1"),
        ],
    ),
];

/// Kernels with their architecture: the archive and the packages that are then downloaded, or the
/// end of the error.
const CHOICES: &[(&str, &str, &str)] = &[
    (
        "bullseye",
        "amd64",
        "bullseye-security linux-image-5.10.0-46-cloud-amd64=5.10.262-1\n",
    ),
    (
        "5.10",
        "amd64",
        "bullseye-security linux-image-5.10.0-46-cloud-amd64=5.10.262-1\n",
    ),
    (
        "6.12",
        "amd64",
        "trixie-security linux-image-6.12.107+deb13-cloud-amd64=6.12.107-1\n",
    ),
    (
        "6.12.9",
        "amd64",
        "bookworm-backports linux-image-6.12.9+deb12-cloud-amd64=6.12.9-1~bpo12+1\n",
    ),
    (
        "6.12-generic",
        "amd64",
        "bookworm-backports linux-image-6.12.95+deb12-amd64=6.12.95-1~bpo12+1\n",
    ),
    (
        "6.12-rt",
        "amd64",
        "trixie-security linux-image-6.12.107+deb13-rt-amd64=6.12.107-1\n",
    ),
    (
        "sid",
        "amd64",
        "sid linux-binary-7.2.13+deb14-cloud-amd64=7.2.13-1 \
             linux-base-7.2.13+deb14-cloud-amd64=7.2.13-1\n",
    ),
    (
        "7.2-generic",
        "arm64",
        "sid linux-image-7.2.13+deb14-arm64=7.2.13-1\n",
    ),
    (
        "experimental",
        "amd64",
        "experimental linux-binary-unsigned-7.3-cloud-amd64=7.3~rc7-1~exp1 \
             linux-base-7.3-cloud-amd64=7.3~rc7-1~exp1\n",
    ),
    (
        "7.3",
        "amd64",
        "trixie-backports linux-binary-unsigned-7.3.4+deb13-cloud-amd64=7.3.4-1~bpo13+1\n",
    ),
    (
        "6.12.1",
        "amd64",
        "Debian has no kernel 6.12.1 for amd64; it has 6.12.9, 6.12.95, 6.12.107\n",
    ),
    (
        "4.19",
        "amd64",
        "for amd64; it has 5.10.262, 6.1.180, 6.12.107, 7.2.13, 7.3.4\n",
    ),
    ("trixie", "amd64", "for amd64; it has \n"),
    ("6.12-fast", "amd64", "available: cloud generic rt\n"),
    (
        "buster",
        "amd64",
        "available: cloud generic rt backports bullseye",
    ),
    ("sid", "s390x", "for amd64 and arm64, not for s390x"),
];

#[test]
fn debian_kernels_are_chosen_by_suite_and_version() {
    let keyring = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
    let programs = ["apt-config", "dpkg-deb", "flock"];
    if !keyring.exists() || !programs.into_iter().all(is_there) {
        return skipped("the choice of Debian's kernels", "this is not Debian");
    }
    // In place of apt, what the archives above have. Each of its packages has one file.
    let bed = Bed::new();
    let folder = bed.folder.path();
    for (archive, packages) in ARCHIVES {
        let mut all = String::new();
        for (package, version) in packages {
            writeln!(all, "Package: {package}\nVersion: {version}").unwrap();
        }
        fs::write(bed.path(archive), all).unwrap();
    }
    let archive = "archive=${APT_CONFIG%-*}; archive=${archive##*/}\n";
    let here = folder.display();
    for (program, body) in [
        (
            "apt-cache",
            format!(
                "{archive}[ -e {here}/$archive ] || exit 0\n\
                 case $1.$2 in\n\
                 pkgnames.*) sed -n 's/^Package: //p' {here}/$archive ;;\n\
                 *) for name; do\n\
                 grep -A1 \"^Package: $name$\" {here}/$archive\n\
                 done ;;\n\
                 esac\n"
            ),
        ),
        (
            "apt-get",
            format!(
                "{archive}[ $2 != download ] || {{ shift 2; echo \"$archive $*\"; exit 1; }}\n"
            ),
        ),
    ] {
        fs::write(bed.path(program), format!("#!/bin/sh\n{body}")).unwrap();
        common::succeeds(Command::new("chmod").arg("+x").arg(bed.path(program)));
    }
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    for (kernel, architecture, wanted) in CHOICES.iter().copied() {
        let mut command = Command::new(common::here("agent/ports/linux-vm/kernel.sh"));
        command.arg(kernel).arg(folder.join("cache"));
        command.args([architecture, "vmlinuz"]).env("PATH", &path);
        let seen = Seen::from(command.output().unwrap());
        seen.expect(1, "", wanted);
        if wanted.contains('=') {
            seen.expect(1, "", "could not download the packages of Linux ");
        }
    }
}

#[test]
fn this_kernel_is_measured_or_refused_with_a_reason() {
    let seen = Bed::new().run(&["run", "--on", "linux-kernel", "--check", "semaphore"]);
    let reasons = [
        "sudo kernmark run",
        "does not support modules",
        "disabled until the next boot",
        "only signed modules",
        "apt-get install",
    ];
    let told = reasons.iter().any(|reason| seen.err.contains(reason));
    assert!(
        seen.status == Some(0) || seen.status == Some(1) && told,
        "{seen:#?}"
    );
}

/// Whether programs can end in user-mode Linux. None can on processors with more registers than it
/// supports.
fn uml_runs_a_program() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("linux.uml");
    command.args(["mem=64M", "rootfstype=hostfs", "ro", "init=/bin/true"]);
    command.args(["con=null", "con0=null,fd:1"]);
    command.arg(format!("uml_dir={}", folder.path().display()));
    let output = command.stdin(Stdio::null()).output().unwrap();
    // The first process must not end, so the kernel always panics, and reports its exit code.
    String::from_utf8_lossy(&output.stdout).contains("exitcode=0x00000000")
}

#[test]
fn agent_runs_in_a_sandbox_and_in_user_mode_linux() {
    let bed = Bed::new();
    for (target, program, metric) in [
        ("gvisor", "runsc", "syscall.null"),
        (
            "uml",
            "linux.uml",
            "semaphore.give.wake+ctx.waiting.u_to_u.1",
        ),
    ] {
        if !is_there(program) {
            skipped(target, &format!("there is no {program}"));
            continue;
        }
        if target == "uml" && !uml_runs_a_program() {
            skipped(
                target,
                "user-mode Linux cannot run any program on this processor",
            );
            continue;
        }
        let seen = bed.run(&[
            "matrix",
            "--on",
            "linux",
            "--on",
            target,
            "--quick",
            "--format",
            "csv",
            "syscall.null",
            metric,
        ]);
        if seen.err.contains("cannot be used here") {
            skipped(target, &seen.err);
            continue;
        }
        seen.expect(0, "", "saved: ");
        let medians = medians(&seen.out);
        let of = |column: &str| medians[&("syscall.null".to_owned(), column.to_owned())];
        // Another process intercepts each system call.
        assert!(of(target) > 3.0 * of("linux"), "{medians:?}");
        assert!(
            medians.contains_key(&(metric.to_owned(), target.to_owned())),
            "{medians:?}"
        );
    }
}
