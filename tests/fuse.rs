// SPDX-License-Identifier: MIT OR Apache-2.0

//! A runaway real-time thread must not lock up the machine, even when nobody is left to end it.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use common::{here, make, scratch, skipped};

/// With a frozen clock, the agent waits forever for an interrupt that it cannot see.
const ENDLESS: &str = "isr.resume.interrupted.thread.user";

/// The kernel's signal to a process that has used up its `RLIMIT_RTTIME`.
const SIGXCPU: i32 = 24;

#[test]
fn kernel_ends_a_runaway_real_time_thread() {
    let out = scratch("fuse");
    let port = here("tests/sabotage/frozen");
    make("linux-user", &out, &[format!("PORT={}", port.display())]);
    let run = Command::new(out.join("kernmark-agent"))
        .args(["run", "samples=5", ENDLESS])
        .output()
        .unwrap();
    let records = String::from_utf8_lossy(&run.stdout);
    if records.contains("realtime=no") {
        skipped(
            "the time limit of real-time threads",
            "real-time priority is not permitted",
        );
        return;
    }
    assert_eq!(run.status.signal(), Some(SIGXCPU), "{records}");
    assert!(!records.contains(" end "), "{records}");
}
