// SPDX-License-Identifier: MIT OR Apache-2.0

//! Does the agent do what its records say? strace counts the system calls of whole runs, from
//! outside the agent and with a different mechanism of the kernel.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{make, scratch, skipped, succeeds};

/// A case, its system call, and the number of calls per operation.
const CASES: &[(&str, &str, u64)] = &[
    ("syscall.null", "getppid", 1),
    ("syscall.gettimeofday", "gettimeofday", 1),
    ("time.monotonic", "clock_gettime", 0),
    ("time.monotonic.syscall", "clock_gettime", 1),
    ("event.signal", "write", 1),
    ("event.create", "eventfd2", 1),
    ("event.duplicate", "dup", 1),
    ("pipe.create", "pipe2", 1),
    ("pipe.write.64", "read", 1),
    ("channel.create", "socketpair", 1),
    ("port.create", "epoll_create1", 1),
    ("vmo.create", "memfd_create", 1),
    ("filesystem.stat", "newfstatat", 1),
    ("mmu.map_unmap.1", "munmap", 1),
    ("mmu.protect", "mprotect", 2),
    ("signal.catch", "rt_sigreturn", 1),
    ("futex.wake.none", "futex", 1),
    ("mutex.lock.immediate.user", "futex", 0),
    ("process.vfork_exec", "execve", 1),
    ("uring.nop", "io_uring_enter", 1),
];

/// The number of calls that may differ between two runs. Threads meet with futexes at the start and
/// end of a part, and chance decides which of them has to wait.
fn chance(call: &str) -> u64 {
    if call == "futex" {
        9
    } else {
        0
    }
}

/// The calls of each kind in a run of the case, and the number of operations it reports.
fn trace(agent: &Path, case: &str, samples: u64) -> (BTreeMap<String, u64>, Option<u64>) {
    let summary = scratch("crosscheck").join(format!("{case}.{samples}"));
    let records = succeeds(
        Command::new("strace")
            .args(["-f", "-c", "-U", "name,calls", "-o"])
            .arg(&summary)
            .arg(agent)
            .args(["run", "realtime=never", "epoch_ns=0", "burst_us=0"])
            .arg(format!("samples={samples}"))
            .arg(case),
    );
    let calls = fs::read_to_string(&summary)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        })
        .collect();
    let number = |line: &str, key: &str| {
        line.split(' ')
            .find_map(|word| word.strip_prefix(key)?.parse::<u64>().ok())
    };
    let operations = records
        .lines()
        .find(|line| line.contains(" plan "))
        .and_then(|line| Some(number(line, "samples=")? * number(line, "batch=")?));
    (calls, operations)
}

#[test]
fn strace_counts_match_the_records() {
    if Command::new("strace").arg("-V").output().is_err() {
        skipped("system calls counted from outside", "strace is missing");
        return;
    }
    let out = scratch("crosscheck");
    make("linux-user", &out, &[]);
    let agent = out.join("kernmark-agent");
    let mut compared = 0;
    for &(case, call, each) in CASES {
        // Start-up, pilot and lead-in are the same in both runs, so the difference is the samples.
        let (few, few_operations) = trace(&agent, case, 20);
        let (many, many_operations) = trace(&agent, case, 70);
        let (Some(few_operations), Some(many_operations)) = (few_operations, many_operations)
        else {
            skipped(case, "the agent cannot measure it on this machine");
            continue;
        };
        let counted = |calls: &BTreeMap<String, u64>| calls.get(call).copied().unwrap_or(0);
        let operations = many_operations - few_operations;
        assert!(operations > 0, "{case}: {many_operations} operations");
        let expected = counted(&few) + each * operations;
        assert!(
            counted(&many).abs_diff(expected) <= chance(call),
            "{call} in {case}: {} and {}, not {each} per operation of {operations}",
            counted(&few),
            counted(&many)
        );
        compared += 1;
    }
    assert!(compared > CASES.len() / 2, "compared only {compared} cases");
}
