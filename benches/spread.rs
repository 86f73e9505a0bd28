// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is the run-to-run variation on an unchanged machine, compared with other tools?
//!
//! For each operation, prints the coefficient of variation of the results of ten runs, for kernmark
//! and three other tools that measure the same operation in the same minutes: on the machine as it
//! is, and with ten busy processes. The tools alternate, so drift affects all of them equally.
//!
//! `make bench` runs it. It needs the Debian packages `linux-perf`, `stress-ng`, `libbenchmark-dev`
//! and `g++`. The result is a table in Markdown.

mod common;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::Load;

type Values = BTreeMap<(&'static str, &'static str), Vec<f64>>;

/// An operation and what each tool calls it.
struct Operation {
    name: &'static str,
    kernmark: &'static str,
    google: &'static str,
    perf: Option<&'static [&'static str]>,
    stress: Option<&'static str>,
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "null system call",
        kernmark: "syscall.null",
        google: "null_syscall",
        perf: Some(&["syscall", "basic", "-l", "1000000"]),
        stress: None,
    },
    Operation {
        name: "clock read, vDSO",
        kernmark: "time.monotonic",
        google: "clock_vdso",
        perf: None,
        stress: Some("vdso"),
    },
    Operation {
        name: "clock read, system call",
        kernmark: "time.monotonic.syscall",
        google: "clock_syscall",
        perf: None,
        stress: None,
    },
    Operation {
        name: "yield between threads",
        kernmark: "yield.threads",
        google: "yield_threads/real_time",
        perf: None,
        stress: Some("yield"),
    },
    Operation {
        name: "pipe round trip, processes",
        kernmark: "roundtrip.pipe.processes",
        google: "pipe_processes/real_time",
        perf: Some(&["sched", "pipe", "-l", "20000"]),
        stress: None,
    },
    Operation {
        name: "futex ping-pong",
        kernmark: "roundtrip.futex.threads",
        google: "futex_threads/real_time",
        perf: None,
        stress: Some("futex"),
    },
    Operation {
        name: "mutex, uncontended",
        kernmark: "mutex.lock.immediate.user",
        google: "mutex_uncontended",
        perf: None,
        stress: None,
    },
    Operation {
        name: "semaphore post and wait",
        kernmark: "semaphore.give.immediate.user",
        google: "semaphore_post_wait",
        perf: None,
        stress: Some("sem"),
    },
    Operation {
        name: "thread create and join",
        kernmark: "pthread.create_join",
        google: "thread_create_join/real_time",
        perf: None,
        stress: Some("pthread"),
    },
    Operation {
        name: "fork, exit, wait",
        kernmark: "process.fork_exit_wait",
        google: "fork_exit_wait/real_time",
        perf: None,
        stress: Some("fork"),
    },
    Operation {
        name: "map and unmap",
        kernmark: "mmu.map_unmap.1",
        google: "map_unmap",
        perf: None,
        stress: None,
    },
    Operation {
        name: "page fault",
        kernmark: "fault.anonymous",
        google: "page_fault",
        perf: None,
        stress: Some("fault"),
    },
    Operation {
        name: "signal delivery",
        kernmark: "signal.delivery",
        google: "signal_delivery",
        perf: None,
        stress: Some("kill"),
    },
    Operation {
        name: "AF_UNIX round trip",
        kernmark: "roundtrip.channel.processes",
        google: "unix_socket_processes/real_time",
        perf: None,
        stress: Some("sock"),
    },
];

const TOOLS: &[&str] = &["kernmark", "perf bench", "stress-ng", "Google Benchmark"];
const RUNS: usize = 10;
const BUSY: usize = 10;

fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let out = command
        .output()
        .map_err(|e| format!("cannot run {command:?}: {e}; install it (README, \"make bench\")"))?;
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?} ended with {}:\n{text}", out.status).into())
    }
}

/// The Google Benchmark program, built from `benches/peers.cc`.
fn build_peers() -> Result<PathBuf, Box<dyn Error>> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers");
    output(
        Command::new("g++")
            .args(["-O2", "benches/peers.cc", "-lbenchmark", "-pthread", "-o"])
            .arg(&program)
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    )?;
    Ok(program)
}

fn run_kernmark(values: &mut Values, seed: usize) -> Result<(), Box<dyn Error>> {
    // About as long as the repetitions of the other tools take for each operation.
    let budget = OPERATIONS.len() as f64 * 0.15;
    let text = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .arg("run")
        .args(["--format", "json", "--seed", &seed.to_string()])
        .args(["--time-budget", &budget.to_string()])
        .args(OPERATIONS.iter().map(|o| o.kernmark))
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stderr(Stdio::inherit())
        .output()?
        .stdout;
    let run: serde_json::Value = serde_json::from_slice(&text)?;
    for operation in OPERATIONS {
        let median = run["metrics"]
            .as_array()
            .and_then(|m| m.iter().find(|m| m["id"] == operation.kernmark))
            .and_then(|m| m["median"].as_f64())
            .ok_or_else(|| format!("kernmark has no value for {}", operation.kernmark))?;
        values
            .entry((operation.name, TOOLS[0]))
            .or_default()
            .push(median);
    }
    Ok(())
}

fn run_perf(values: &mut Values) -> Result<(), Box<dyn Error>> {
    for operation in OPERATIONS {
        let Some(arguments) = operation.perf else {
            continue;
        };
        let text = output(
            Command::new("perf")
                .args(["bench", "-f", "simple"])
                .args(arguments),
        )?;
        let seconds = text.trim().parse()?;
        values
            .entry((operation.name, TOOLS[1]))
            .or_default()
            .push(seconds);
    }
    Ok(())
}

fn run_stress(values: &mut Values) -> Result<(), Box<dyn Error>> {
    for operation in OPERATIONS {
        let Some(stressor) = operation.stress else {
            continue;
        };
        let text = output(Command::new("stress-ng").args([
            &format!("--{stressor}"),
            "1",
            "--timeout",
            "1",
            "--metrics-brief",
        ]))?;
        // metrc: [pid] name  bogo-ops  real-s  user-s  system-s  ops/s(real)  ops/s(cpu)
        let rate: f64 = text
            .lines()
            .filter(|line| line.contains("metrc:"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|words| words.get(3) == Some(&stressor) && words.len() == 10)
            .and_then(|words| words[8].parse().ok())
            .ok_or_else(|| format!("no rate for {stressor} in:\n{text}"))?;
        values
            .entry((operation.name, TOOLS[2]))
            .or_default()
            .push(1.0 / rate);
    }
    Ok(())
}

fn run_google(values: &mut Values, program: &PathBuf) -> Result<(), Box<dyn Error>> {
    let text = output(Command::new(program).args([
        "--benchmark_min_time=0.01",
        "--benchmark_repetitions=10",
        "--benchmark_report_aggregates_only",
    ]))?;
    for operation in OPERATIONS {
        let name = format!("{}_median", operation.google);
        let median: f64 = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|words| words.first() == Some(&name.as_str()))
            .and_then(|words| words[1].parse().ok())
            .ok_or_else(|| format!("no {name} in:\n{text}"))?;
        values
            .entry((operation.name, TOOLS[3]))
            .or_default()
            .push(median);
    }
    Ok(())
}

fn percent(values: Option<&Vec<f64>>) -> String {
    values
        .and_then(|v| kernmark::statistics::means::coefficient_of_variation(v))
        .map_or_else(|| "-".to_owned(), |cv| format!("{:.2}", cv * 100.0))
}

/// The geometric mean of the variations. Values below 0.01 % count as 0.01 %, so that one close to
/// 0 does not dominate.
fn geometric_mean(spreads: &[f64]) -> f64 {
    const LEAST: f64 = 1e-4;
    let floored: Vec<f64> = spreads.iter().map(|s| s.max(LEAST)).collect();
    kernmark::statistics::means::geometric_mean(&floored).unwrap_or(f64::NAN)
}

fn report(title: &str, values: &Values) {
    println!("\n### {title}\n");
    println!("| operation | {} |", TOOLS.join(" | "));
    println!("| --- |{}", " ---: |".repeat(TOOLS.len()));
    let (mut ours, mut best) = (Vec::new(), Vec::new());
    for operation in OPERATIONS {
        let cells: Vec<_> = TOOLS
            .iter()
            .map(|tool| percent(values.get(&(operation.name, tool))))
            .collect();
        println!("| {} | {} |", operation.name, cells.join(" | "));
        let of = |tool| {
            values
                .get(&(operation.name, tool))
                .and_then(|v| kernmark::statistics::means::coefficient_of_variation(v))
        };
        ours.extend(of(TOOLS[0]));
        best.extend(
            TOOLS[1..]
                .iter()
                .filter_map(|tool| of(tool))
                .min_by(f64::total_cmp),
        );
    }
    let (ours, best) = (geometric_mean(&ours), geometric_mean(&best));
    println!(
        "\nGeometric mean (a variation below 0.01 % counts as 0.01 %): kernmark {:.2} %, the best peer of each operation {:.2} %; ratio {:.3}.",
        ours * 100.0,
        best * 100.0,
        ours / best
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let peers = build_peers()?;
    println!("Coefficient of variation of {RUNS} runs, in percent.");
    for (title, processes) in [("Without added load", 0), ("With ten busy processes", BUSY)] {
        let load = Load::start(processes)?;
        let mut values = Values::new();
        for run in 0..RUNS {
            eprintln!("{title}: run {} of {RUNS}", run + 1);
            run_kernmark(&mut values, run)?;
            run_perf(&mut values)?;
            run_stress(&mut values)?;
            run_google(&mut values, &peers)?;
        }
        drop(load);
        report(title, &values);
    }
    Ok(())
}
