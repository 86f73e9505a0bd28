// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent in user mode as the only program of a Linux in an emulator that counts instructions.

// Only other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/machine.rs"]
mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::hint;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use std::thread;

use common::{here, scratch, skipped, succeeds};
use kernmark::stream::run::Outcome;
use machine::{boot, build_static, machine, measured, read};

/// The machine with Debian's kernel for virtual machines, or why it cannot be built here.
fn built() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match BUILT.get_or_init(|| machine("linux-vm-user", &["AGENT=user"])) {
        Ok(out) => Ok(out),
        Err(why) => Err(why.clone()),
    }
}

/// Runs something while four threads use this machine's processors.
fn beside_busy_threads<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn two_boots_are_identical_and_all_proofs_hold() {
    let out = match built() {
        Ok(out) => out,
        Err(why) => return skipped("the agent in user mode in a machine", &why),
    };
    let whole = || boot(out, &["AGENT=user", "ORDER=run samples=5"]);
    let (first, console) = whole();
    let (second, _) = beside_busy_threads(whole);
    assert!(first == second, "two boots differ; {console}");
    let run = read(&first);
    let reasons = ["needs a second CPU", "this port has no abort"];
    let measured = measured(&run, &reasons, &console);
    assert!(measured >= 250, "{measured}");
    assert!(!console.contains("init: "), "{console}");
}

#[test]
fn preempt_rt_kernel_is_measured() {
    let out = match machine("linux-vm-user-rt", &["AGENT=user", "KERNEL=rt"]) {
        Ok(out) => out,
        Err(why) => return skipped("the agent in user mode with PREEMPT_RT", &why),
    };
    let words = ["AGENT=user", "KERNEL=rt", "ORDER=run samples=5"];
    let (records, console) = boot(&out, &words);
    let reasons = [
        "needs a second CPU",
        "this port has no abort",
        "with PREEMPT_RT",
        "this kernel preempts the waker",
    ];
    let measured = measured(&read(&records), &reasons, &console);
    assert!(measured >= 250, "{measured}");
}

/// The numbers of instructions between consecutive clock readings of a program, by the addresses of
/// the two.
fn traced(file: &Path) -> BTreeMap<(String, String), Vec<u64>> {
    let text = fs::read_to_string(file).unwrap();
    let readings: Vec<(&str, u64)> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(address, executed)| (address, executed.parse().unwrap()))
        .collect();
    let mut between = BTreeMap::new();
    for pair in readings.windows(2) {
        let [(from, begun), (to, ended)] = pair else {
            unreachable!()
        };
        let key = ((*from).to_owned(), (*to).to_owned());
        let all: &mut Vec<u64> = between.entry(key).or_default();
        all.push(ended - begun);
    }
    between
}

#[test]
fn executed_instructions_equal_the_records() {
    let out = match built() {
        Ok(out) => out.with_file_name("linux-vm-user-traced"),
        Err(why) => return skipped("instructions counted by the emulator", &why),
    };
    let plugin = scratch("linux-vm-user-traced").join("stamps.so");
    succeeds(
        Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
            .arg("-o")
            .arg(&plugin)
            .arg(here("tests/linux-vm/stamps.c")),
    );
    let trace = out.join("trace");
    let emulator = format!(
        "EMULATOR=-plugin {},into={}",
        plugin.display(),
        trace.display()
    );
    let order = "ORDER=run samples=20 syscall.null pipe.write.64 event.signal";
    let (records, console) = boot(&out, &["AGENT=user", &emulator, order]);
    let traced = traced(&trace);
    let run = read(&records);
    let expected = [
        "syscall.null",
        "pipe.write.64",
        "pipe.read.64",
        "event.signal",
    ];
    for id in expected {
        let metric = run.metrics.iter().find(|metric| metric.id == id);
        let replicate = &metric.unwrap_or_else(|| panic!("{console}")).replicates[0];
        assert_eq!(replicate.outcome, Outcome::Ok, "{id}");
        let samples: Vec<u64> = replicate
            .histogram
            .iter()
            .flat_map(|(ticks, count)| vec![ticks.0; usize::try_from(count).unwrap()])
            .collect();
        assert_eq!(samples.len(), 20, "{id}");
        let cold = replicate.cold.map(|ticks| ticks.0);
        // The cold sample, five of the pilot and the lead-in come before the 20.
        let is_same = |counts: &&Vec<u64>| {
            let mut last = counts[counts.len().saturating_sub(20)..].to_vec();
            last.sort_unstable();
            counts.len() == 27 && Some(counts[0]) == cold && last == samples
        };
        let same = traced.values().filter(is_same).count();
        assert_eq!(same, 1, "{id}: {samples:?}\n{traced:?}");
    }
}

/// An initramfs in which a test's program is started in place of the agent, which it starts itself.
fn wrapped(out: &Path, wrapper: &str) -> String {
    let root = out.join("wrapped");
    fs::create_dir_all(root.join("etc")).unwrap();
    for (from, to) in [
        ("init", "init"),
        ("agent/kernmark-agent", "kernmark-agent"),
        ("root/etc/passwd", "etc/passwd"),
    ] {
        fs::copy(out.join(from), root.join(to)).unwrap();
    }
    build_static(wrapper, &root.join("agent"));
    let image = root.with_extension("cpio");
    succeeds(
        Command::new("sh")
            .current_dir(&root)
            .args(["-c", "find . | cpio --quiet -o -H newc > \"$0\""])
            .arg(&image),
    );
    format!("INITRAMFS={}", image.display())
}

/// A case, the number of its system call, and the calls per operation.
const CASES: [(&str, u64, u64); 20] = [
    ("syscall.null", 110, 1),
    ("syscall.gettimeofday", 96, 1),
    ("time.monotonic", 228, 0),
    ("time.monotonic.syscall", 228, 1),
    ("event.signal", 1, 1),
    ("event.create", 290, 1),
    ("event.duplicate", 32, 1),
    ("pipe.create", 293, 1),
    ("pipe.write.64", 0, 1),
    ("channel.create", 53, 1),
    ("port.create", 291, 1),
    ("vmo.create", 319, 1),
    ("filesystem.stat", 262, 1),
    ("mmu.map_unmap.1", 11, 1),
    ("mmu.protect", 10, 2),
    ("signal.catch", 15, 1),
    ("futex.wake.none", 202, 1),
    ("mutex.lock.immediate.user", 202, 0),
    ("process.vfork_exec", 59, 1),
    ("uring.nop", 426, 1),
];

#[test]
fn traced_system_calls_equal_the_records() {
    let out = match machine("linux-vm-user-calls", &["AGENT=user"]) {
        Ok(out) => out,
        Err(why) => return skipped("system calls counted in the machine", &why),
    };
    let image = wrapped(&out, "linux-vm/count.c");
    let words: Vec<String> = CASES
        .iter()
        .map(|(case, call, _)| format!("{case}:{call}"))
        .collect();
    let order = format!("ORDER={}", words.join(" "));
    let (records, console) = boot(&out, &["AGENT=user", &image, &order]);
    let counted: Vec<u64> = console
        .lines()
        .filter_map(|line| line.strip_prefix("count: "))
        .map(|line| line.trim().rsplit_once(' ').unwrap().1)
        .map(|calls| calls.parse().unwrap_or_else(|_| panic!("{console}")))
        .collect();
    let operations: Vec<u64> = records
        .lines()
        .filter(|line| line.contains(" plan case="))
        .map(|line| {
            let number = |key: &str| {
                let mut words = line.split(' ');
                let word = words.find_map(|word| word.strip_prefix(key));
                word.unwrap().parse::<u64>().unwrap()
            };
            number("samples=") * number("batch=")
        })
        .collect();
    assert_eq!((counted.len(), operations.len()), (40, 40), "{console}");
    // Start-up, pilot and lead-in are the same in both runs, so the difference is the samples.
    for (i, (case, _, each)) in CASES.iter().enumerate() {
        let [few, many] = [2 * i, 2 * i + 1];
        assert_eq!(operations[many] - operations[few], 50, "{case}");
        assert_eq!(counted[many] - counted[few], 50 * each, "{case}");
    }
}

#[test]
fn sabotage_is_caught() {
    if let Err(why) = built() {
        return skipped("sabotage of the agent in a machine", &why);
    }
    let cases = [
        "semaphore.take.blocking.u_to_u",
        "syscall.null",
        "pipe.write.64",
    ];
    let order = format!("ORDER=run samples=20 {}", cases.join(" "));
    for (sabotage, cases) in [("frozen", &cases[..]), ("lost", &cases[..1])] {
        let port = format!("PORT={}", here("tests/sabotage").join(sabotage).display());
        let name = format!("linux-vm-user-{sabotage}");
        let out = machine(&name, &["AGENT=user", &port]).unwrap();
        let image = wrapped(&out, "linux-vm/limit.c");
        let (records, console) = boot(&out, &["AGENT=user", &port, &image, &order]);
        let run = read(&records);
        for case in cases {
            let mut metrics = run.metrics.iter().filter(|m| m.case == *case).peekable();
            assert!(metrics.peek().is_some(), "{sabotage} {case}: {console}");
            for metric in metrics {
                let outcome = &metric.replicates[0].outcome;
                let is_caught = matches!(outcome, Outcome::Failed(_) | Outcome::Incomplete(_));
                assert!(is_caught, "{sabotage} {}: {outcome:?}", metric.id);
            }
        }
    }
}
