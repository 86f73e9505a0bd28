// SPDX-License-Identifier: MIT OR Apache-2.0

//! The arguments of this Linux's agent, and its behaviour on a machine that refuses its requests.

// Only other test programs need the rest of it.
#[allow(dead_code)]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{here, make, scratch, succeeds};
use kernmark::stream::run::Outcome;
use kernmark::stream::session::read;

fn agent() -> PathBuf {
    let out = scratch("orders");
    make("linux-user", &out, &[]);
    out.join("kernmark-agent")
}

fn run(agent: &Path, words: &[&str]) -> Output {
    Command::new(agent).arg("run").args(words).output().unwrap()
}

#[test]
fn wrong_argument_is_refused_by_name() {
    let agent = agent();
    for wrong in [
        "samples=abc",
        "samples=",
        "samples=0",
        "samples=-1",
        "samples=5x",
        "samples=4294967296",
        "budget_us=1.5",
        "epoch_ns=abc",
        "burst_us= 1",
        "cpu=xyz",
        "cpu=-1",
        "other=xyz",
        "realtime=maybe",
        "parent=0",
        "parent=me",
        "icount=64",
        "debugcon=0",
        "cases=xyz",
        "smaples=5",
        "clock.reed",
    ] {
        for words in [vec![wrong, "clock.read"], vec!["samples=5", wrong]] {
            let output = run(&agent, &words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            assert!(output.stdout.is_empty(), "{words:?}");
            assert!(
                said.contains(&format!("wrong argument: {wrong}\n")),
                "{words:?}: {said}"
            );
        }
    }
    let output = run(&agent, &["cpu=60000", "clock.read"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the requested CPU"), "{said}");
}

#[test]
fn agent_survives_many_cpus_and_unlocked_memory() {
    let out = scratch("orders-refused");
    let wrapper = out.join("refuses.o");
    succeeds(
        Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-c", "-o"])
            .arg(&wrapper)
            .arg(here("tests/fixtures/refuses.c")),
    );
    let flags = format!(
        "LDFLAGS=-Wl,--wrap=sched_getaffinity,--wrap=mlockall {}",
        wrapper.display()
    );
    make("linux-user", &out, &[flags]);
    let case = "semaphore.give.immediate.user";
    let output = run(&out.join("kernmark-agent"), &["samples=5", case]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let measured = read(&output.stdout);
    assert!(!measured.metrics.is_empty());
    for metric in &measured.metrics {
        assert_eq!(metric.replicates[0].outcome, Outcome::Ok, "{}", metric.id);
    }
    let facts = &measured.sessions[0].facts;
    let unlocked = kernmark::stream::run::Fact::value_in(facts, "memory_not_locked");
    let why = unlocked.unwrap_or_else(|| panic!("{facts:?}"));
    assert!(why.contains("mlockall: Cannot allocate memory"), "{why}");
}
