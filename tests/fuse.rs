// SPDX-License-Identifier: MIT OR Apache-2.0

//! A real-time thread that runs away must not take the machine with it, even
//! when nobody is left to end it.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use common::{here, make, scratch, skipped};

/// With its clock frozen, the agent waits in a loop for an interrupt that it cannot see.
const ENDLESS: &str = "isr.resume.interrupted.thread.user";

/// The kernel's signal to a process that used up its `RLIMIT_RTTIME`.
const SIGXCPU: i32 = 24;

#[test]
fn a_runaway_real_time_thread_is_ended_by_the_kernel() {
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
            "the fuse of real-time threads",
            "real-time priority is not permitted",
        );
        return;
    }
    assert_eq!(run.status.signal(), Some(SIGXCPU), "{records}");
    assert!(!records.contains(" end "), "{records}");
}
