// SPDX-License-Identifier: MIT OR Apache-2.0

//! What else the machine does: counts of this machine while a program causes a known number of events,
//! and a run that is disturbed on purpose.

#[allow(dead_code)]
mod common;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use common::{here, scratch, skipped, succeeds};
use kernmark::machine::counters::Meter;
use kernmark::machine::Machine;
use kernmark::stream::counted::Counted;
use kernmark::stream::record;
use seen::Seen;
use tool::tool_in;

/// A program that causes a known number of events.
static DISTURB: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = scratch("interference").join("disturb");
    succeeds(
        Command::new("cc")
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .arg(&program)
            .arg(here("tests/fixtures/disturb.c")),
    );
    program
});

/// The tests of this file count one after another: each causes what another would count.
static ALONE: Mutex<()> = Mutex::new(());

/// What this machine and a CPU count while the program runs, and what the program prints. `None` if
/// the kernel does not allow what it does.
fn counted(cpu: u32, arguments: &[&str]) -> Option<(Counted, Counted, u64)> {
    let meter = Meter::new(Path::new("/"));
    let before = meter.read(&[cpu]);
    let output = Command::new(&*DISTURB).args(arguments).output().unwrap();
    let after = meter.read(&[cpu]).since(&before, &[cpu]);
    if output.status.code() == Some(77) {
        let why = String::from_utf8_lossy(&output.stderr);
        skipped(&arguments.join(" "), why.trim());
        return None;
    }
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let [machine, cpu]: [Counted; 2] = after.try_into().unwrap();
    Some((machine, cpu, printed.trim().parse().unwrap()))
}

/// The CPUs that this process may use.
fn cpus() -> Vec<u32> {
    Machine::read(Path::new("/")).allowed
}

#[test]
fn timers_of_a_program_are_counted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = *cpus().last().unwrap();
    let number = cpu.to_string();
    let (machine, counted, slept) = counted(cpu, &["timers", &number, "2000"]).unwrap();
    assert!(slept >= 2000, "it slept {slept} times");
    // Two timers that expire together are one interrupt.
    let timer = counted.get("timer").unwrap();
    assert!(timer >= 1800, "{counted:?}");
    assert!(counted.get("interrupts").unwrap() >= timer, "{counted:?}");
    let us = machine.get("us").unwrap();
    assert!(us >= 2000 * 50, "{machine:?}");
    assert!(
        counted.get("busy_us").unwrap() <= us + 20_000,
        "{counted:?}"
    );
}

#[test]
fn interrupts_by_another_cpu_are_counted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let [.., other, cpu] = cpus()[..] else {
        skipped("interrupts by another CPU", "there is one CPU");
        return;
    };
    let (number, from) = (cpu.to_string(), other.to_string());
    let Some((_, counted, _)) = counted(cpu, &["calls", &number, &from, "5000"]) else {
        return;
    };
    let Some(calls) = counted.get("call") else {
        skipped(
            "interrupts by another CPU",
            "this machine does not count them",
        );
        return;
    };
    assert!((4500..50_000).contains(&calls), "{counted:?}");
    assert!(counted.get("timer").unwrap() < 4500, "{counted:?}");
}

#[test]
fn switches_of_the_agent_are_not_those_of_others() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = *cpus().last().unwrap();
    let number = cpu.to_string();
    let stat = || {
        let stat = fs::read_to_string("/proc/stat").unwrap();
        let line = stat.lines().find_map(|line| line.strip_prefix("ctxt "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = stat();
    let (machine, _, own) = counted(cpu, &["switches", &number, "200000"]).unwrap();
    let all = stat() - before;
    assert!(own >= 200_000, "{own}");
    let others = machine.get("switches").unwrap();
    // The kernel's total has both. This test's own switches around the program are few.
    assert!(others + own <= all + 10, "{others} and {own} of {all}");
    assert!(others + own + 1000 >= all, "{others} and {own} of {all}");
}

/// A session of the metric `a.b`, whose slowest samples take this many nanoseconds.
fn session(slowest: u64) -> String {
    let mut words = vec![
        "hello port=fake arch=none mode=run clock=c unit=cycles hz=1000000000 realtime=no"
            .to_owned(),
    ];
    for (case, slowest) in [("clock.read", 101), ("a.b", slowest)] {
        words.extend([
            format!("begin case={case} asked=500"),
            format!("plan case={case} samples=500 batch=1"),
            format!("hist metric={case} part=0 100:490 {slowest}:10"),
            format!("proof case={case} name=order counted=0 low=0 high=0"),
            format!("end case={case} status=ok samples=500"),
        ]);
    }
    words.push(format!("bye records={}", words.len()));
    written(&words)
}

fn catalog() -> String {
    written(&[
        "hello port=fake arch=none mode=list clock=c unit=cycles hz=1000000000 realtime=no",
        "bench metric=clock.read case=clock.read from=0 to=1 switches=0",
        "bench metric=a.b case=a.b from=0 to=1 switches=0",
        "bye records=3",
    ])
}

/// Records as a stream.
fn written<T: AsRef<str>>(records: &[T]) -> String {
    let lines = (0..).zip(records).flat_map(|(seq, record)| {
        let (kind, rest) = record.as_ref().split_once(' ').unwrap();
        let words: Vec<&str> = rest.split(' ').collect();
        if kind == "hist" {
            let counts = words[2..].iter().map(|word| word.split_once(':').unwrap());
            let counts: Vec<(u64, u64)> = counts
                .map(|(ticks, count)| (ticks.parse().unwrap(), count.parse().unwrap()))
                .collect();
            let metric = words[0].strip_prefix("metric=").unwrap();
            return record::write_hist(seq, metric, 0, &counts);
        }
        let pairs: Vec<_> = words
            .iter()
            .map(|word| word.split_once('=').unwrap())
            .collect();
        record::write(seq, kind, &pairs, None)
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

/// A run of eight replicates of an agent. In the fifth, another program makes the measured CPU's timer
/// interrupt it, and the samples are what `fifth` says.
fn disturbed(name: &str, fifth: u64) -> (Seen, Seen) {
    let folder = scratch(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("catalog", &catalog());
    for replicate in 1..=8 {
        let slowest = if replicate == 5 {
            fifth
        } else {
            205 + replicate
        };
        write(&replicate.to_string(), &session(slowest));
    }
    let cpu = cpus().last().unwrap().to_string();
    write(
        "agent",
        &format!(
            "#!/bin/sh\ncd {}\ncase \"$*\" in list) exec cat catalog ;; esac\necho >> done\n\
             this=$(wc -l < done)\nif [ $this = 5 ]; then {} timers {cpu} 3000 > /dev/null\n\
             else sleep 0.1; fi\ncat $this\n",
            folder.display(),
            DISTURB.display()
        ),
    );
    fs::set_permissions(folder.join("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| -> Seen {
        let mut command = tool_in(&folder, arguments);
        let agent = command.env("KERNMARK_AGENT", folder.join("agent"));
        agent.output().unwrap().into()
    };
    let seen = run(&["run", "--runs", "8", "--seed", "1", "-o", "run.km"]);
    (seen, run(&["show", "run.km", "--json"]))
}

#[test]
fn report_names_the_replicate_that_was_disturbed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (seen, json) = disturbed("interference-slow", 900);
    seen.expect(0, "Replicate 5 was disturbed: ", "");
    let words = seen.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains(" timer interrupts (others: "), "{words}");
    assert!(
        words.contains("its p99 of a.b is 4.31 times theirs."),
        "{words}"
    );
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let found = &json["disturbances"][0];
    assert_eq!(
        (&found["replicate"], &found["tail"]),
        (&5.into(), &"p99".into())
    );
    assert_eq!(found["metrics"][0]["id"], "a.b");
    let during = &json["target"]["sessions"][4]["during"];
    let timer = during[1]["counts"]["timer"].as_u64().unwrap();
    assert!(timer >= 2700, "{during}");
    // The same interrupts say nothing if the samples do not show them.
    let (seen, json) = disturbed("interference-same", 211);
    seen.expect(0, "a\n  b ", "");
    assert!(!seen.out.contains("disturbed"), "{}", seen.out);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["disturbances"].as_array().map(Vec::len), Some(0));
}
