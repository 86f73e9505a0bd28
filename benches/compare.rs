// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long does it take to compare two runs of 250 metrics and 1,000 samples, with 10, 13 and 30
//! replicates? How much time and memory does the program need for two files of 3,000 metrics, with
//! 10 and 100 replicates?
//!
//! `make bench` runs it. The runs are generated from a fixed seed. Each sample is within a few per
//! cent of the level of its replicate, in steps of 25 clock ticks.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kernmark::judge::compare::{Comparison, Options};
use kernmark::stream::record;
use kernmark::stream::session;

const METRICS: usize = 250;
/// Metrics of a large run, and samples of each.
const MANY_METRICS: usize = 3000;
const FEW_SAMPLES: usize = 300;
/// Replicates of a large run.
const MANY_REPLICATES: [usize; 2] = [10, 100];
const REPLICATES: [usize; 3] = [10, 13, 30];
const SAMPLES: usize = 1000;
/// How often each part is timed. The result is the median.
const TIMES: usize = 11;

/// Adds a record to a session: its kind and its pairs.
fn push(lines: &mut Vec<String>, words: &str) {
    let seq = lines.len() as u64;
    let (kind, words) = words.split_once(' ').expect("a record has pairs");
    let pairs: Vec<_> = words.split(' ').filter_map(|w| w.split_once('=')).collect();
    lines.extend(record::write(seq, kind, &pairs, None));
}

/// The samples of a replicate: values and counts.
fn samples(random: &mut fastrand::Rng, count: usize) -> Vec<(u64, u64)> {
    let level = 4000.0 * (1.0 + 0.02 * random.f64());
    let mut counts = BTreeMap::new();
    for _ in 0..count {
        let noise = 0.05 * (random.f64() + random.f64() + random.f64());
        let ticks = (level * (1.0 + noise)) as u64 / 25 * 25;
        *counts.entry(ticks).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The record stream of a run.
fn stream(random: &mut fastrand::Rng, replicates: usize) -> String {
    let sessions = (0..replicates).map(|_| session_of(random, METRICS, SAMPLES));
    sessions.collect()
}

/// The record stream of one session.
fn session_of(random: &mut fastrand::Rng, metrics: usize, count: usize) -> String {
    let mut lines = Vec::new();
    push(
        &mut lines,
        "hello port=fake arch=none mode=run clock=c unit=cycles hz=2000000000 realtime=no",
    );
    for metric in 0..metrics {
        // The clock's own metric, which the comparison uses to check times a second time.
        let id = match metric {
            0 => "clock.read".to_owned(),
            _ => format!("object.operation.m{metric}"),
        };
        for words in [
            format!("bench metric={id} case={id} from=0 to=1 switches=0"),
            format!("begin case={id} asked={count}"),
            format!("plan case={id} samples={count} batch=1"),
            format!("cold metric={id} ticks={}", random.u64(9000..12_000)),
        ] {
            push(&mut lines, &words);
        }
        let seq = lines.len() as u64;
        lines.extend(record::write_hist(seq, &id, 0, &samples(random, count)));
        for words in [
            format!("proof case={id} name=order counted=0 low=0 high=0"),
            format!("end case={id} status=ok samples={count}"),
        ] {
            push(&mut lines, &words);
        }
    }
    let bye = format!("bye records={}", lines.len());
    push(&mut lines, &bye);
    lines.join("\n") + "\n"
}

fn median_time<T>(mut what: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            black_box(what());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[TIMES / 2]
}

fn main() {
    let mut random = fastrand::Rng::with_seed(1);
    for replicates in REPLICATES {
        time(&mut random, replicates);
    }
    for replicates in MANY_REPLICATES {
        large(&mut random, replicates);
    }
}

/// Runs the program to compare two large files, and prints its time and memory.
fn large(random: &mut fastrand::Rng, replicates: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = |name: &str| -> PathBuf {
        let path = folder.path().join(name);
        let mut file = File::create(&path).expect("a file");
        for _ in 0..replicates {
            let text = session_of(random, MANY_METRICS, FEW_SAMPLES);
            file.write_all(text.as_bytes()).expect("room");
        }
        path
    };
    let (base, new) = (file("base.km"), file("new.km"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .arg("compare")
        .args([&base, &new])
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let of_process = format!("/proc/{}", child.id());
    let mut taken = (0.0, 0.0);
    while child.try_wait().expect("a child").is_none() {
        taken = usage(Path::new(&of_process)).unwrap_or(taken);
        sleep(Duration::from_millis(5));
    }
    println!(
        "two files of {MANY_METRICS} metrics, {replicates} replicates, {FEW_SAMPLES} samples: \
         {:.1} s of CPU, {:.0} MB at most",
        taken.0, taken.1
    );
}

/// The CPU time of a process in seconds, and its peak memory in megabytes.
fn usage(process: &Path) -> Option<(f64, f64)> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
    let status = fs::read_to_string(process.join("status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = peak.split_whitespace().next()?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Some((ticks / per_second, kilobytes / 1e3))
}

fn time(random: &mut fastrand::Rng, replicates: usize) {
    let streams = [stream(random, replicates), stream(random, replicates)];
    let [base, new] = streams
        .each_ref()
        .map(|stream| session::read(stream.as_bytes()));
    let comparison = Comparison::of(&base, &new, &Options::default());
    // The clock's own metric gets no verdict.
    assert_eq!(comparison.family, METRICS - 1, "every metric is tested");
    let reading = median_time(|| {
        streams
            .each_ref()
            .map(|stream| session::read(stream.as_bytes()))
    });
    let comparing = median_time(|| Comparison::of(&base, &new, &Options::default()));
    println!("two runs of {METRICS} metrics, {replicates} replicates, {SAMPLES} samples:");
    println!(
        "reading   {:6.1} ms ({:.1} MB)",
        reading.as_secs_f64() * 1e3,
        streams.iter().map(String::len).sum::<usize>() as f64 / 1e6
    );
    println!("comparing {:6.1} ms", comparing.as_secs_f64() * 1e3);
}
