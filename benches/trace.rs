// SPDX-License-Identifier: MIT OR Apache-2.0

//! What following instructions costs: a run with and without `--why`, in turns.
//!
//! Times are of the whole command with the image built, so they contain the boot of the machine.
//! Only their ratio is stable.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run: its name, its arguments, and what it adds to follow instructions.
const RUNS: [(&str, &[&str], &[&str]); 4] = [
    (
        "FreeRTOS on m4, one metric, 1,000 samples",
        &["--on", "freertos:m4", TAKE],
        &["--why"],
    ),
    (
        "FreeRTOS on m4, all metrics, 1,000 samples",
        &["--on", "freertos:m4"],
        &["--why"],
    ),
    (
        "the same with --counts",
        &["--on", "freertos:m4"],
        &["--why", "--counts"],
    ),
    (
        "Linux in linux-vm:tcg, one metric, 500 samples",
        &["--on", "linux-vm:tcg", TAKE],
        &["--why"],
    ),
];

const TAKE: &str = "semaphore.take.blocking.k_to_k";

/// How often each is measured; the median counts.
const TIMES: usize = 5;

fn run(program: &Path, arguments: &[&str], more: &[&str]) -> Duration {
    let start = Instant::now();
    let status = Command::new(program)
        .args(["run", "--runs", "1", "-o", "-"])
        .args(arguments)
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?} {more:?}: {status}");
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    // `cargo test --benches` builds and starts it too.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_kernmark"));
    println!("following instructions: median of {TIMES} runs, in turns with runs without");
    for (name, arguments, more) in RUNS {
        // The first one builds the image.
        run(program, arguments, more);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            without.push(run(program, arguments, &[]));
            with.push(run(program, arguments, more));
        }
        let [without, with] = [without, with].map(|times| median(times).as_secs_f64());
        println!(
            "{:6.2} s -> {:6.2} s  x {:.2}  {name}",
            without,
            with,
            with / without
        );
    }
}
