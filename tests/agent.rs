// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent as a whole: its records byte for byte on a scripted kernel, its core on processors
//! without an operating system, and what its proofs detect when the port beneath it is sabotaged.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use common::{here, make, scratch, skipped, succeeds};
use kernmark::stream::run::{Damage, Entry, Outcome, Replicate, Run};
use kernmark::stream::session::read;

/// The word for a case without a failure, or the reason for the others.
fn verdict(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Skipped(why) | Outcome::Failed(why) | Outcome::Incomplete(why) => why,
    }
}

/// The scripted kernel's output, built with these settings in a folder of this name.
fn fake(name: &str, settings: &[String]) -> Vec<u8> {
    let out = scratch(name);
    make("fake", &out, settings);
    succeeds(&mut Command::new(out.join("kernmark-fake"))).into_bytes()
}

#[test]
fn scripted_kernel_prints_the_golden_stream() {
    let golden = here("tests/golden/fake.log");
    let expected = fs::read(&golden).unwrap();
    let printed = fake("fake", &[]);
    if printed == expected {
        return;
    }
    let (p, e) = (
        String::from_utf8_lossy(&printed),
        String::from_utf8_lossy(&expected),
    );
    let line = p.lines().zip(e.lines()).take_while(|(p, e)| p == e).count();
    panic!(
        "line {} is\n  {}\ninstead of\n  {}\nIf you intended every change, read each one and write the \
         output of agent/ports/fake to {}.",
        line + 1,
        p.lines().nth(line).unwrap_or("(end)"),
        e.lines().nth(line).unwrap_or("(end)"),
        golden.display()
    );
}

#[test]
fn host_judges_the_golden_stream_as_scripted() {
    let run = read(&fs::read(here("tests/golden/fake.log")).unwrap());
    assert_eq!(run.damage, Damage::default());
    assert_eq!(run.sessions.len(), 4);
    assert!(run.sessions.iter().all(|s| s.complete));

    let mut without = BTreeMap::new();
    for metric in &run.metrics {
        for replicate in &metric.replicates {
            match &replicate.outcome {
                Outcome::Ok => assert!(replicate.histogram.total() > 0, "{}", metric.id),
                other => {
                    without.insert(metric.id.as_str(), other);
                }
            }
        }
    }
    let failing = |name: &str, proof: &str| match without.get(name) {
        Some(Outcome::Failed(why)) => assert!(why.contains(proof), "{name}: {why}"),
        other => panic!("{name}: {other:?}"),
    };
    for proof in ["order", "clock", "results", "pinned", "priority", "faults"] {
        failing(&format!("script.wrong.{proof}"), proof);
    }
    failing("script.wrong.bytes.64", "bytes");
    for pass in ["k_to_k", "k_to_u", "u_to_k", "u_to_u"] {
        failing(&format!("script.wrong.switches.there.{pass}"), "switches");
        failing(&format!("script.wrong.switches.back.{pass}"), "switches");
    }
    failing("script.broken.run", "a thread died");
    failing("script.broken.record", "did not record");
    failing("script.broken.later", "did not record");

    let skipped = |name: &str, reason: &str| match without.get(name) {
        Some(Outcome::Skipped(why)) => assert_eq!(why, reason, "{name}"),
        other => panic!("{name}: {other:?}"),
    };
    skipped("script.absent.capability", "this port has no mutex,irq");
    skipped(
        "script.absent.permission",
        "needs a second CPU: 100 % of this one is in use\t(\u{b5}s)",
    );
    skipped(
        "script.absent.setup",
        "a reason that is longer than one record can hold, so that it continues in a second one of \
         the same case; the reader joins them, and the place of the cut does not matter: it may \
         be in the middle of a word or of a number, as here: 0123456789",
    );
    skipped(
        "script.absent.threads.9",
        "this benchmark needs more threads than this port can run",
    );

    for from in ["kernel", "user"] {
        for to in ["kernel", "user"] {
            skipped(
                &format!("thread.abort.{to}.from.{from}"),
                "this port has no abort",
            );
        }
        skipped(
            &format!("thread.exit.user.from.{from}"),
            "privileged only: a user thread cannot end itself",
        );
    }

    let many = [".waiting.", ".runnable."];
    let other: Vec<_> = without
        .keys()
        .filter(|id| !id.starts_with("script."))
        .filter(|id| !id.starts_with("thread.exit.user.") && !id.starts_with("thread.abort."))
        .filter(|id| !many.iter().any(|threads| id.contains(threads)))
        .collect();
    assert!(other.is_empty(), "{other:?}");
}

/// The proofs of switches whose range is wider than the catalog's plus 4, or 2 % of the expected
/// count. `None` if nothing can be said, because other threads may have forced some.
fn loose(run: &Run) -> Option<Vec<String>> {
    let mut loose = Vec::new();
    let mut looked_at = 0;
    for metric in run.metrics.iter().filter(|metric| metric.id == metric.case) {
        let entries = run.catalog.iter().filter(|e| e.case == metric.case);
        let declared = |e: &Entry| e.switches_most.map_or(0, |most| most - e.switches);
        let declared: u64 = entries.map(declared).sum();
        let whole = |r: &&Replicate| r.outcome == Outcome::Ok;
        for replicate in metric.replicates.iter().filter(whole) {
            let samples = replicate.histogram.total();
            for proof in replicate.proofs.iter().filter(|p| p.name == "switches") {
                let declared = declared * samples;
                let expected = proof.expected.unwrap_or(0);
                let most = declared + 4.max((expected + declared) / 50);
                looked_at += 1;
                if proof.high - proof.low > most {
                    loose.push(format!("{} of {samples} samples: {proof:?}", metric.id));
                }
            }
        }
    }
    (looked_at > 20 && run.sessions.iter().all(|s| s.realtime)).then_some(loose)
}

#[test]
fn switch_counts_are_proved_within_two_percent() {
    let mut fake = read(&fs::read(here("tests/golden/fake.log")).unwrap());
    // In this case other threads force some, as the script says.
    fake.metrics
        .retain(|metric| metric.id != "script.preempted");
    assert_eq!(loose(&fake).unwrap(), [""; 0]);

    let agent = agent(None);
    let catalog = succeeds(Command::new(&agent).arg("list"));
    for samples in ["samples=5", "samples=20", "samples=200"] {
        let mut run = Command::new(&agent);
        let printed = succeeds(run.args(["run", samples, "budget_us=50000"]));
        match loose(&read(format!("{catalog}{printed}").as_bytes())) {
            Some(loose) => assert_eq!(loose, [""; 0], "{samples}"),
            None => skipped("the ranges of switches", "needs real-time priority"),
        }
    }
}

#[test]
fn order_selects_cases_by_catalog_position() {
    let golden = fs::read_to_string(here("tests/golden/fake.log")).unwrap();
    let cases = |kind: &str, stream: &str| {
        let mut cases: Vec<String> = stream
            .lines()
            .filter(|line| line.split(' ').nth(2) == Some(kind))
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("case=")))
            .map(str::to_string)
            .collect();
        cases.dedup();
        cases
    };
    let catalog = cases("bench", &golden);
    let (_, last) = golden.rsplit_once(" hello ").unwrap();
    // The bits of 50a, highest first; there are more cases than bits.
    assert!(catalog.len() > 12);
    assert_eq!(
        cases("begin", last),
        [1, 3, 8, 10].map(|place: usize| catalog[place].clone())
    );
}

#[test]
fn ticks_are_converted_to_the_unit_once() {
    let plain = read(&fs::read(here("tests/golden/fake.log")).unwrap());
    let count = |ticks: u64| (3 * ticks + 2) / 4;
    let counted = read(&fake(
        "fake-counted",
        &["CFLAGS='-DPORT_COUNT(ticks)=((3 * (ticks) + 2) / 4)'".to_string()],
    ));
    assert_eq!(plain.metrics.len(), counted.metrics.len());
    let mut compared = 0;
    for (plain, counted) in plain.metrics.iter().zip(&counted.metrics) {
        assert_eq!(plain.id, counted.id);
        // The batch size depends on the counts.
        let pairs = plain.replicates.iter().zip(&counted.replicates);
        for (plain, counted) in pairs.filter(|(p, c)| p.batch == 1 && c.batch == 1) {
            assert_eq!(plain.outcome, counted.outcome);
            if plain.outcome != Outcome::Ok {
                continue;
            }
            let mut expected = BTreeMap::new();
            for (ticks, n) in plain.histogram.iter() {
                *expected.entry(count(ticks.0)).or_insert(0) += n;
            }
            let found: BTreeMap<u64, u64> =
                counted.histogram.iter().map(|(t, n)| (t.0, n)).collect();
            assert_eq!(found, expected);
            assert_eq!(counted.cold.map(|t| t.0), plain.cold.map(|t| count(t.0)));
            compared += 1;
        }
    }
    assert!(compared > 20, "compared only {compared} replicates");
}

/// A compiler for a processor without an operating system.
struct Cross {
    prefix: &'static str,
    package: &'static str,
    flags: &'static [&'static str],
    /// Undefined symbols with this prefix are the compiler's own arithmetic.
    arithmetic: &'static str,
    /// Maximum size of the core's code in bytes.
    core: Option<u64>,
}

/// `KM_USER` and `KM_KERNEL` of `agent/kernmark.h`, and all its capabilities.
const USER: u32 = 0x1000;
const KERNEL: u32 = 0x2000;
const ALL: u32 = 0x7fff_ffff;

const CROSS: [Cross; 3] = [
    Cross {
        prefix: "",
        package: "gcc",
        flags: &[],
        arithmetic: "__",
        core: None,
    },
    Cross {
        prefix: "arm-none-eabi-",
        package: "gcc-arm-none-eabi",
        flags: &["-mcpu=cortex-m4", "-mthumb"],
        arithmetic: "__aeabi_",
        core: Some(4096),
    },
    Cross {
        prefix: "riscv64-unknown-elf-",
        package: "gcc-riscv64-unknown-elf",
        flags: &[],
        arithmetic: "__",
        core: None,
    },
];

fn c_files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(here(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    files
}

/// The compiler with a port's flags, the template's include path and these capabilities.
fn compiler(cross: &Cross, has: u32) -> Command {
    let mut command = Command::new(format!("{}gcc", cross.prefix));
    command
        .args(["-std=gnu11", "-Os", "-ffreestanding", "-Wall", "-Wextra"])
        .args(["-Werror", "-Wshadow", "-Wundef", "-Wmissing-prototypes"])
        .arg("-Wstrict-prototypes")
        .args(cross.flags)
        .arg(format!("-DPORT_HAS={has}"))
        .args(
            ["agent/ports/template", "agent", "agent/core"]
                .map(|i| format!("-I{}", here(i).display())),
        );
    command
}

/// Compiles core, portable benchmarks and template with these capabilities.
fn compile(cross: &Cross, has: u32) -> PathBuf {
    let out = scratch(&format!("template-{}{has:x}", cross.prefix));
    let files = [
        "agent/core",
        "agent/bench",
        "agent/bench/rtos",
        "agent/ports/template",
    ]
    .map(c_files)
    .concat();
    for file in files {
        succeeds(
            compiler(cross, has)
                .arg("-c")
                .arg(&file)
                .arg("-o")
                .arg(out.join(file.file_stem().unwrap()).with_extension("o")),
        );
    }
    out
}

/// Compiles this text as a file of benchmarks. Returns the compiler's messages if it fails.
fn compiles(has: u32, text: &str) -> Result<(), String> {
    let mut compiler = compiler(&CROSS[0], has)
        .args(["-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = compiler.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let done = compiler.wait_with_output().unwrap();
    if done.status.success() {
        return Ok(());
    }
    Err(String::from_utf8(done.stderr).unwrap())
}

#[test]
fn unlisted_table_does_not_compile() {
    let table = |name: &str| {
        let text = format!("#include \"kernmark.h\"\nKM_TABLE({name}) = {{ {{ 0 }} }};\n");
        compiles(KERNEL, &text)
    };
    assert_eq!(table("fifo"), Ok(()));
    let why = table("forgotten").unwrap_err();
    assert!(why.contains("km_forgotten"), "{why}");

    // A table made in any other way would be built and lost, so there must be none.
    for folder in ["", "/rtos", "/posix", "/linux-kernel"] {
        for file in c_files(&format!("agent/bench{folder}")) {
            let text = fs::read_to_string(&file).unwrap();
            let lines = text.lines();
            let raw = lines.filter(|line| line.contains("struct km_bench"));
            assert_eq!(raw.collect::<Vec<_>>(), [""; 0], "{}", file.display());
        }
    }
}

#[test]
fn port_without_a_thread_mode_does_not_compile() {
    let include = "#include \"kernmark.h\"\n";
    assert_eq!(compiles(KERNEL, include), Ok(()));
    assert_eq!(compiles(USER, include), Ok(()));
    let why = compiles(!(KERNEL | USER) & ALL, include).unwrap_err();
    assert!(why.contains("the modes threads run in"), "{why}");
}

/// The symbols that no object in the folder defines.
fn undefined(cross: &Cross, out: &Path) -> BTreeSet<String> {
    let objects = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "o"));
    let table = succeeds(
        Command::new(format!("{}nm", cross.prefix))
            .arg("-P")
            .args(objects),
    );
    let (mut used, mut defined) = (BTreeSet::new(), BTreeSet::new());
    for line in table.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some(name), Some("U")) => used.insert(name.to_string()),
            (Some(name), Some(_)) => defined.insert(name.to_string()),
            _ => false,
        };
    }
    &used - &defined
}

fn code_size(cross: &Cross, objects: &[PathBuf]) -> u64 {
    succeeds(
        Command::new(format!("{}size", cross.prefix))
            .arg("-A")
            .args(objects),
    )
    .lines()
    .filter(|line| line.starts_with(".text"))
    .map(|line| {
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    })
    .sum()
}

#[test]
fn every_subset_of_the_port_api_compiles_freestanding() {
    const CONDVAR_AND_ITS_MUTEX: u32 = 0x0018;
    const ABORT_AND_THREADS: u32 = 0x4001;
    const TIMEOUT_AND_ITS_CONDVAR: u32 = 0x0800_0018;
    // Only the mode, each capability alone, some combinations, and all capabilities.
    let alone = (0..ALL.count_ones())
        .map(|bit| KERNEL | 1 << bit)
        .filter(|has| *has != KERNEL | CONDVAR_AND_ITS_MUTEX & 0x10)
        .filter(|has| *has != KERNEL | ABORT_AND_THREADS & 0x4000)
        .filter(|has| *has != KERNEL | TIMEOUT_AND_ITS_CONDVAR & !0x0018);
    let subsets = alone.chain([
        USER,
        KERNEL | CONDVAR_AND_ITS_MUTEX,
        KERNEL | ABORT_AND_THREADS,
        KERNEL | TIMEOUT_AND_ITS_CONDVAR,
        KERNEL | 0x0003,
        KERNEL | 0x0120,
        KERNEL | 0x3000_0000,
        USER | 0x0007,
        ALL,
    ]);
    for cross in &CROSS {
        if Command::new(format!("{}gcc", cross.prefix))
            .arg("--version")
            .output()
            .is_err()
        {
            skipped(
                &format!("the template port with {}gcc", cross.prefix),
                &format!("not installed; on Debian: apt install {}", cross.package),
            );
            continue;
        }
        // The compiler does not affect which declarations exist.
        let subsets: Vec<u32> = if cross.prefix.is_empty() {
            subsets.clone().collect()
        } else {
            vec![KERNEL, ALL]
        };
        for has in subsets {
            let out = compile(cross, has);
            let missing: Vec<_> = undefined(cross, &out)
                .into_iter()
                .filter(|name| !name.starts_with(cross.arithmetic))
                .filter(|name| has == KERNEL || !name.starts_with("port_"))
                .collect();
            assert!(
                missing.is_empty(),
                "{}gcc, PORT_HAS {has:#x}: {missing:?}",
                cross.prefix
            );
        }
        if let Some(most) = cross.core {
            let size = code_size(
                cross,
                &["record.o", "runner.o"]
                    .map(|o| scratch(&format!("template-{}{KERNEL:x}", cross.prefix)).join(o)),
            );
            assert!(
                size < most,
                "the core has {size} bytes of code; the limit is {most}"
            );
        }
    }
}

/// Boots the agent's core on a processor without an operating system, in an emulator whose clock
/// counts instructions.
fn known_truth() -> Result<Run, String> {
    let out = scratch("known-truth");
    let kernel = out.join("kernel");
    let folder = here("tests/known-truth");
    let mut sources = c_files("agent/core");
    sources.extend([folder.join("port.c"), folder.join("start.S")]);
    if !cfg!(target_arch = "x86_64") {
        return Err("needs the compiler of an x86-64 machine".to_string());
    }
    if Command::new("qemu-system-x86_64")
        .arg("--version")
        .output()
        .is_err()
    {
        return Err(
            "qemu-system-x86_64 is not installed; on Debian: apt install \
                    qemu-system-x86"
                .to_string(),
        );
    }
    succeeds(
        Command::new("gcc")
            .args([
                "-m32",
                "-std=gnu11",
                "-O2",
                "-ffreestanding",
                "-fno-pic",
                "-Wall",
                "-Wextra",
            ])
            .args(["-Werror", "-fno-stack-protector", "-fcf-protection=none"])
            .args(["-mgeneral-regs-only", "-nostdlib", "-static", "-no-pie"])
            .args(["-Wl,--build-id=none", "-T"])
            .arg(folder.join("link.ld"))
            .args(
                [&folder, &here("agent"), &here("agent/core")]
                    .map(|i| format!("-I{}", i.display())),
            )
            .arg("-o")
            .arg(&kernel)
            .args(&sources),
    );
    let machine = Command::new("timeout")
        .args([
            "60",
            "qemu-system-x86_64",
            "-accel",
            "tcg",
            "-display",
            "none",
        ])
        .args([
            "-icount",
            "shift=0,align=off,sleep=off",
            "-nodefaults",
            "-no-reboot",
        ])
        .args([
            "-debugcon",
            "stdio",
            "-device",
            "isa-debug-exit,iobase=0xf4",
            "-kernel",
        ])
        .arg(&kernel)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    // The exit device turns 0 into this status.
    assert_eq!(
        machine.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&machine.stderr)
    );
    Ok(read(&machine.stdout))
}

#[test]
fn known_instruction_counts_are_measured_exactly() {
    let run = match known_truth() {
        Ok(run) => run,
        Err(why) => return skipped("known numbers of instructions", &why),
    };
    assert_eq!(run.damage, Damage::default());
    let value = |metric: String| {
        let metric = run.metrics.iter().find(|m| m.id == metric).unwrap();
        let [replicate] = metric.replicates.as_slice() else {
            panic!("{}: {} replicates", metric.id, metric.replicates.len());
        };
        assert_eq!(replicate.outcome, Outcome::Ok, "{}", metric.id);
        let counts: Vec<_> = replicate.histogram.iter().collect();
        assert_eq!(counts.len(), 1, "{}: {counts:?}", metric.id);
        assert_eq!(replicate.histogram.total(), 300, "{}", metric.id);
        (counts[0].0 .0, replicate.batch)
    };
    for (group, batch) in [("alone", 1), ("batch", 16)] {
        let (none, _) = value(format!("{group}.0"));
        for n in [1, 10, 100, 1000] {
            assert_eq!(
                value(format!("{group}.{n}")),
                (none + n * batch, batch),
                "{group}.{n}"
            );
        }
    }
}

/// The real agent on this Linux, optionally with a sabotaged port.h before its own.
fn agent(sabotage: Option<&str>) -> PathBuf {
    let out = scratch(&format!("agent-{}", sabotage.unwrap_or("itself")));
    let mut settings = vec!["CFLAGS=-O1".to_string()];
    if let Some(name) = sabotage {
        settings.push(format!(
            "PORT={}",
            here("tests/sabotage").join(name).display()
        ));
    }
    make("linux-user", &out, &settings);
    out.join("kernmark-agent")
}

/// Runs one case and reads what it prints within the limit.
fn measure(agent: &Path, case: &str, limit: Duration) -> Run {
    let mut child = Command::new(agent)
        .args(["run", "samples=20", "epoch_ns=0", case])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut stream = Vec::new();
        stdout.read_to_end(&mut stream).map(|_| stream)
    });
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    read(&reader.join().unwrap().unwrap())
}

/// The case's first outcome that is not `Ok`, or `Ok`.
fn outcome(run: &Run, case: &str) -> Outcome {
    let outcomes: Vec<_> = run
        .metrics
        .iter()
        .filter(|m| m.case == case || m.id == case)
        .flat_map(|m| m.replicates.iter().map(|r| r.outcome.clone()))
        .collect();
    if outcomes.is_empty() {
        return Outcome::Incomplete("nothing was printed".to_string());
    }
    outcomes
        .into_iter()
        .find(|o| *o != Outcome::Ok)
        .unwrap_or(Outcome::Ok)
}

/// The agent's cases, each with the entries of its metrics.
fn cases(agent: &Path) -> BTreeMap<String, Vec<Entry>> {
    let run = read(succeeds(Command::new(agent).arg("list")).as_bytes());
    let mut cases: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in run.catalog {
        cases.entry(entry.case.clone()).or_default().push(entry);
    }
    assert!(cases.len() > 20, "{} cases", cases.len());
    cases
}

/// Measures these cases, and asks the shell for the CPU time of the whole agent, in nanoseconds.
fn timed(agent: &Path, samples: &str, cases: &[&str]) -> (Run, f64) {
    let out = Command::new("sh")
        .args(["-c", r#""$0" "$@"; times >&2"#])
        .arg(agent)
        .args(["run", samples])
        .args(cases)
        .output()
        .unwrap();
    let times = String::from_utf8(out.stderr).unwrap();
    // User and system time of the children, as `0m1.234s`.
    let of_children = times.lines().nth(1).unwrap_or_else(|| panic!("{times}"));
    let seconds = of_children.split_whitespace().map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    });
    (read(&out.stdout), seconds.sum::<f64>() * 1e9)
}

/// The only replicate of a case's first metric, with its CPU time per operation, and the time of
/// its shortest sample per operation, in nanoseconds.
fn costs<'a>(run: &'a Run, case: &str) -> (&'a Replicate, f64, f64) {
    let metric = run.metrics.iter().find(|m| m.id == case).unwrap();
    let [replicate] = metric.replicates.as_slice() else {
        panic!("{case}: {} replicates", metric.replicates.len());
    };
    let cpu = replicate.cpu_time();
    let cpu = cpu.unwrap_or_else(|| panic!("{case}: {:?}", replicate.outcome));
    let (least, _) = replicate.histogram.iter().next().unwrap();
    let clock = &run.sessions[replicate.session].clock;
    let least = clock.nanoseconds(least.0 as f64).unwrap() / replicate.batch as f64;
    (replicate, cpu, least)
}

#[test]
fn cpu_time_is_that_of_all_threads_at_work() {
    let agent = agent(None);
    // A thread that only works: the clock sees no less than the kernel accounts.
    let (run, whole) = timed(&agent, "samples=20000", &["clock.read"]);
    let (replicate, cpu, least) = costs(&run, "clock.read");
    assert!(cpu > 0.9 * least, "{cpu} ns of CPU in at least {least} ns");
    let measured = replicate.cpu_ns.unwrap() as f64;
    assert!(measured < whole + 1e7, "{measured} ns of {whole} ns");
    assert!(measured > 0.5 * whole, "{measured} ns of {whole} ns");
    // Threads that sleep a millisecond, and two that take turns in processes of their own.
    let sleep = "sleep.overshoot.nanosleep.1000";
    let (run, whole) = timed(&agent, "samples=100", &[sleep, "roundtrip.pipe.processes"]);
    let (slept, cpu, _) = costs(&run, sleep);
    assert!(cpu > 0.0 && cpu < 5e5, "{cpu} ns of CPU in a sleep of 1 ms");
    let (turns, cpu, least) = costs(&run, "roundtrip.pipe.processes");
    assert!(cpu > 0.7 * least, "{cpu} ns of CPU in at least {least} ns");
    let measured = slept.cpu_ns.unwrap() + turns.cpu_ns.unwrap();
    assert!(
        (measured as f64) < whole + 1e7,
        "{measured} ns of {whole} ns"
    );
}

/// What an agent prints, and its exit status, where a file or folder takes the place of another;
/// `None` if nothing can be mounted here.
fn with_mounted(agent: &Path, from: &Path, to: &str) -> Option<(Option<i32>, String, String)> {
    let script = r#"mount --bind "$0" "$1" || exit 77; exec "$2" run samples=5 clock.read"#;
    let out = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .args([from, Path::new(to), agent])
        .output()
        .ok()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(out.stdout), text(out.stderr));
    let is_mounted = out.status.code() != Some(77) && !stderr.contains("unshare");
    is_mounted.then_some((out.status.code(), stdout, stderr))
}

#[test]
fn tsc_is_refused_if_the_kernel_does_not_trust_it() {
    let sources = "/sys/devices/system/clocksource";
    let list = format!("{sources}/clocksource0/available_clocksource");
    if !cfg!(target_arch = "x86_64") || !Path::new(&list).exists() {
        return skipped("a TSC that the kernel does not trust", "no TSC here");
    }
    let agent = agent(None);
    let folder = scratch("clock-sources");
    let file = folder.join("available_clocksource");
    let listed = |text: &str| {
        fs::write(&file, text).unwrap();
        with_mounted(&agent, &file, &list)
    };
    let Some((status, out, why)) = listed("hpet acpi_pm \n") else {
        return skipped(
            "a TSC that the kernel does not trust",
            "nothing can be mounted",
        );
    };
    assert_eq!((status, &*out), (Some(1), ""));
    assert!(why.contains("the kernel does not trust it"), "{why}");
    // Whichever source is in use.
    let (status, out, _) = listed("kvm-clock tsc acpi_pm \n").unwrap();
    assert_eq!(status, Some(0));
    assert!(
        out.contains(" bye ") && !out.contains("clock_trust"),
        "{out}"
    );
    // User-mode Linux, and a sandbox that shows no clock sources.
    let unknown = [
        listed("timer \n"),
        with_mounted(&agent, &scratch("no-clock-sources"), sources),
    ];
    for (status, out, why) in unknown.into_iter().flatten() {
        assert_eq!(status, Some(0), "{why}");
        assert!(out.contains("name=clock_trust | unknown"), "{out}");
        assert_eq!(outcome(&read(out.as_bytes()), "clock.read"), Outcome::Ok);
    }
}

/// The effect expected of a sabotaged agent.
struct Sabotage {
    name: &'static str,
    /// The affected cases.
    matters: fn(&str, &[Entry]) -> bool,
    /// One of these proofs must fail if the case ends; empty: any.
    proofs: &'static [&'static str],
}

fn every(_: &str, _: &[Entry]) -> bool {
    true
}

/// Whether the case creates a thread itself, which suspends itself and is resumed.
fn makes_a_thread(case: &str) -> bool {
    ["thread.create", "thread.exit", "thread.abort"]
        .iter()
        .any(|made| case.starts_with(made))
}

/// Whether a thread of the case blocks on an object and is woken.
fn blocks(case: &str, entries: &[Entry]) -> bool {
    let objects = ["semaphore", "mutex", "condvar", "queue", "stack", "events"];
    let switches = entries.iter().any(|e| e.switches > 0);
    makes_a_thread(case)
        || switches
            && entries[0]
                .needs
                .iter()
                .any(|n| objects.contains(&n.as_str()))
}

/// Whether a thread or process of the case depends on what another one does, or its results prove
/// that something arrived.
fn relies(case: &str, entries: &[Entry]) -> bool {
    let entry = |e: &Entry| e.switches > 0 || e.switches_most.is_some() || e.bytes.is_some();
    let alone = ["event.signal", "signal.catch", "tcp.connect", "uring."];
    // They wait for a timer, or read what already existed.
    let other = ["isr.", "sleep.", "vmo."];
    blocks(case, entries)
        || alone.iter().any(|prefix| case.starts_with(prefix))
        || entries.iter().any(entry) && !other.iter().any(|prefix| case.starts_with(prefix))
}

/// Like `blocks`, or waits for an interrupt.
fn waits(case: &str, entries: &[Entry]) -> bool {
    !makes_a_thread(case) && (blocks(case, entries) || case.starts_with("isr.resume.different"))
}

const SABOTAGES: [Sabotage; 5] = [
    Sabotage {
        name: "unpinned",
        matters: every,
        proofs: &["pinned"],
    },
    Sabotage {
        name: "unprioritised",
        matters: every,
        proofs: &["priority"],
    },
    Sabotage {
        name: "frozen",
        matters: every,
        proofs: &["clock", "order"],
    },
    Sabotage {
        name: "lost",
        matters: relies,
        proofs: &[],
    },
    Sabotage {
        name: "unblocked",
        matters: waits,
        proofs: &[],
    },
];

/// How the sabotage shows in this run of the case: a proof fails, or the case does not end. `None`:
/// not at all.
fn caught(sabotage: &Sabotage, run: &Run, case: &str) -> Option<String> {
    match outcome(run, case) {
        Outcome::Ok | Outcome::Skipped(_) => None,
        Outcome::Incomplete(_) => Some("no end".to_string()),
        Outcome::Failed(why) => {
            let proofs: BTreeSet<&str> = run
                .metrics
                .iter()
                .flat_map(|m| m.replicates.iter().flat_map(|r| &r.proofs))
                .filter(|proof| !(proof.low..=proof.high).contains(&proof.counted))
                .map(|proof| proof.name.as_str())
                .collect();
            match sabotage.proofs.iter().find(|name| proofs.contains(*name)) {
                Some(name) => Some((*name).to_string()),
                // An error that the agent reported itself.
                None if proofs.is_empty() => Some(why),
                None if sabotage.proofs.is_empty() => {
                    Some(proofs.into_iter().collect::<Vec<_>>().join("+"))
                }
                None => None,
            }
        }
    }
}

/// The cases that are ok without sabotage. Reports those that cannot run here.
fn sound(agent: &Path, cases: &BTreeMap<String, Vec<Entry>>) -> BTreeSet<String> {
    let mut sound = BTreeSet::new();
    for case in cases.keys() {
        // A short interruption by another program may fail a proof once.
        let mut last = Outcome::Ok;
        for _ in 0..3 {
            last = outcome(&measure(agent, case, Duration::from_secs(20)), case);
            if !matches!(last, Outcome::Failed(_) | Outcome::Incomplete(_)) {
                break;
            }
        }
        match last {
            Outcome::Ok => drop(sound.insert(case.clone())),
            Outcome::Skipped(why) => skipped(&format!("sabotage of {case}"), &why),
            other => panic!("{case}, without sabotage: {}", verdict(&other)),
        }
    }
    sound
}

/// A case that takes this long is lost: without sabotage it takes a tenth of that.
const LOST: Duration = Duration::from_millis(400);

#[test]
fn sabotage_is_caught_in_every_affected_case() {
    let itself = agent(None);
    let cases = cases(&itself);
    let sound = sound(&itself, &cases);
    assert!(sound.len() > 10, "only {} cases can run here", sound.len());

    let mut missed = Vec::new();
    for sabotage in &SABOTAGES {
        let agent = agent(Some(sabotage.name));
        let left = Mutex::new(
            cases
                .iter()
                .filter(|(case, entries)| {
                    sound.contains(*case) && (sabotage.matters)(case, entries)
                })
                .map(|(case, _)| case)
                .collect::<Vec<_>>(),
        );
        assert!(
            !left.lock().unwrap().is_empty(),
            "{} affects no case",
            sabotage.name
        );
        let found = Mutex::new(Vec::new());
        let ways = Mutex::new(BTreeMap::<_, Vec<_>>::new());
        // Most of the cases that never end are waiting, so they can run in parallel.
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    while let Some(case) = { left.lock().unwrap().pop() } {
                        let run = measure(&agent, case, LOST);
                        if let Some(way) = caught(sabotage, &run, case) {
                            ways.lock()
                                .unwrap()
                                .entry(way)
                                .or_default()
                                .push(case.as_str());
                        } else {
                            let how = verdict(&outcome(&run, case)).to_string();
                            found
                                .lock()
                                .unwrap()
                                .push(format!("{} {case}: {how}", sabotage.name));
                        }
                    }
                });
            }
        });
        for (way, cases) in ways.into_inner().unwrap() {
            println!(
                "{}: {} by {way}: {}",
                sabotage.name,
                cases.len(),
                cases.join(" ")
            );
        }
        missed.extend(found.into_inner().unwrap());
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}
