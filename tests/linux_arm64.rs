// SPDX-License-Identifier: MIT OR Apache-2.0

//! Linux on `AArch64` in an emulator, with the agent in kernel mode and that in user mode. Needs
//! Debian's packages from its mirror, and a cross compiler.

// Only other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/tool.rs"]
mod tool;

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use common::{here, scratch, skipped, succeeds};
use kernmark::stream::run::{Damage, Metric, Outcome, Run, Unit};
use kernmark::stream::session;
use tool::tool_in;

/// The first of these programs that is missing.
fn missing(programs: &[&'static str]) -> Option<&'static str> {
    let path = env::var_os("PATH").unwrap();
    let is_there =
        |program: &str| env::split_paths(&path).any(|folder| folder.join(program).is_file());
    programs.iter().find(|program| !is_there(program)).copied()
}

/// Measures with an agent, and returns the stream and its run; or why the machine cannot be built
/// here.
fn measured(agent: &str, arguments: &[&str]) -> Result<(String, Run), String> {
    let compiler = "aarch64-linux-gnu-gcc-12";
    if let Some(program) = missing(&["qemu-system-aarch64", "cpio", compiler, "apt-get"]) {
        return Err(format!("there is no {program}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let on = format!("linux-vm:arm64,agent={agent}");
    let words = ["run", "--on", &on, "--samples", "20", "-o", "run.km"];
    let output = tool_in(folder.path(), &[&words[..], arguments].concat())
        .env("XDG_CACHE_HOME", scratch("linux-vm-cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("could not download") {
        return Err(said.replace('\n', " "));
    }
    // Status 1: a proof failed, which the tests judge.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(said.contains("saved: "), "{said}");
    let stream = fs::read_to_string(folder.path().join("run.km")).unwrap();
    let run = session::read(stream.as_bytes());
    assert_eq!(run.damage, Damage::default());
    assert_eq!(run.sessions[0].clock.unit, Unit::Instructions);
    Ok((stream, run))
}

/// What each session that measured printed, byte for byte, without the tool's own records.
fn sessions(stream: &str) -> Vec<String> {
    let mut sessions: Vec<String> = Vec::new();
    for line in stream.lines() {
        match line.split(' ').nth(2) {
            Some("hello") if line.contains(" mode=run ") => sessions.push(format!("{line}\n")),
            Some("info" | "begin" | "cold" | "plan" | "hist" | "proof" | "skip" | "end") => {
                if let Some(session) = sessions.last_mut() {
                    session.push_str(line);
                    session.push('\n');
                }
            }
            _ => {}
        }
    }
    sessions
}

fn median(run: &Run, id: &str) -> f64 {
    let metric = run.metrics.iter().find(|metric| metric.id == id);
    let metric: &Metric = metric.unwrap_or_else(|| panic!("no {id}"));
    metric.replicates[0].histogram.median().unwrap()
}

/// At 2^4 ns an instruction, the counter counts one for each, whatever the instruction is.
#[test]
fn counter_counts_instructions() {
    if let Some(program) = missing(&["qemu-system-aarch64", "aarch64-linux-gnu-gcc"]) {
        return skipped("instructions of AArch64", &format!("there is no {program}"));
    }
    let guest = scratch("linux-arm64").join("nops");
    succeeds(
        Command::new("aarch64-linux-gnu-gcc")
            .args(["-nostdlib", "-static", "-Wl,-Ttext=0x40080000", "-o"])
            .arg(&guest)
            .arg(here("tests/fixtures/nops.S")),
    );
    let said = succeeds(
        Command::new("qemu-system-aarch64")
            .args([
                "-M",
                "virt",
                "-cpu",
                "cortex-a57",
                "-icount",
                "shift=4,sleep=off",
            ])
            .args([
                "-nodefaults",
                "-display",
                "none",
                "-serial",
                "stdio",
                "-kernel",
            ])
            .arg(&guest)
            .stdin(Stdio::null()),
    );
    let ticks: Vec<u32> = said.split(' ').filter_map(|n| n.parse().ok()).collect();
    // Of the two stamps, three instructions lie between the readings.
    let nops = [0, 1, 2, 3, 10, 100, 1000];
    let expected: Vec<u32> = nops.iter().flat_map(|n| [n + 3; 3]).collect();
    assert_eq!(ticks, expected, "{said}");
}

/// Whether this proof depends on what the machine did before: the timer came before the thread waited
/// for it. Such a metric has no number in that run.
fn unsteady(metric: &str, why: &str) -> bool {
    metric.starts_with("hrtimer.") && why.starts_with("order: ")
}

#[test]
fn proofs_hold_in_both_agents() {
    for (agent, least, reasons) in [
        (
            "user",
            240,
            &["needs a second CPU", "this port has no abort"][..],
        ),
        (
            "kernel",
            200,
            &[
                "kthreadd creates kernel threads",
                "the kernel has no recursive mutex",
                "this port has no abort",
                "privileged only: ",
                "user threads only: ",
                "only x86-64 has",
            ][..],
        ),
    ] {
        let (stream, run) = match measured(agent, &["--runs", "1"]) {
            Ok(measured) => measured,
            Err(why) => return skipped("an AArch64 kernel", &why),
        };
        for fact in [
            "arch=aarch64 ",
            "clock=cntvct ",
            "name=board | arm64 ",
            "-arm64 #1 SMP",
        ] {
            assert!(stream.contains(fact), "{fact}");
        }
        let mut ok = 0;
        for metric in &run.metrics {
            match &metric.replicates[0].outcome {
                Outcome::Ok => ok += 1,
                Outcome::Skipped(why) if reasons.iter().any(|r| why.starts_with(r)) => {}
                Outcome::Failed(why) if unsteady(&metric.id, why) => {}
                other => panic!("{agent}: {}: {other:?}", metric.id),
            }
        }
        assert!(ok >= least, "{agent}: {ok}");
    }
}

#[test]
fn two_boots_are_identical() {
    for (agent, families) in [
        (
            "user",
            &["clock", "syscall", "semaphore", "pipe", "fault", "signal"][..],
        ),
        (
            "kernel",
            &["clock", "syscall", "semaphore", "mutex", "isr", "ttbr0"][..],
        ),
    ] {
        let (stream, run) = match measured(agent, families) {
            Ok(measured) => measured,
            Err(why) => return skipped("an AArch64 kernel", &why),
        };
        let sessions = sessions(&stream);
        assert_eq!(sessions.len(), 2);
        assert!(sessions[0].lines().count() > 200, "{}", sessions[0]);
        assert!(sessions[0] == sessions[1], "{agent}: two boots differ");
        if agent == "kernel" {
            let wake = |pass: &str| median(&run, &format!("semaphore.give.wake+ctx.{pass}"));
            assert!(wake("k_to_k") < wake("k_to_u") && wake("k_to_k") < wake("u_to_k"));
            assert!(wake("u_to_u") > f64::max(wake("k_to_u"), wake("u_to_k")));
        }
    }
}
