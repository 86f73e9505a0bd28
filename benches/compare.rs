//! How long does it take to compare two runs of 250 metrics and 1,000 samples, with 10, 13 and 30
//! replicates?
//!
//! `make bench` runs it. The runs are made up from a fixed seed: each sample lies a few per cent
//! around the level of its replicate, in steps of a clock of 25 ticks.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use kernmark::compare::{Comparison, Options};
use kernmark::record;
use kernmark::session;

const METRICS: usize = 250;
const REPLICATES: [usize; 3] = [10, 13, 30];
const SAMPLES: usize = 1000;
/// How often each part is timed; the median counts.
const TIMES: usize = 11;

/// Adds a record of the session that began at `start`: its kind and its pairs.
fn push(lines: &mut Vec<String>, start: usize, words: &str) {
    let seq = (lines.len() - start) as u64;
    let (kind, words) = words.split_once(' ').expect("a record has pairs");
    let pairs: Vec<_> = words.split(' ').filter_map(|w| w.split_once('=')).collect();
    lines.extend(record::write(seq, kind, &pairs, None));
}

/// The samples of a replicate, value and count.
fn samples(random: &mut fastrand::Rng) -> Vec<(u64, u64)> {
    let level = 4000.0 * (1.0 + 0.02 * random.f64());
    let mut counts = BTreeMap::new();
    for _ in 0..SAMPLES {
        let noise = 0.05 * (random.f64() + random.f64() + random.f64());
        let ticks = (level * (1.0 + noise)) as u64 / 25 * 25;
        *counts.entry(ticks).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The record stream of a run.
fn stream(random: &mut fastrand::Rng, replicates: usize) -> String {
    let mut lines = Vec::new();
    for _ in 0..replicates {
        let start = lines.len();
        push(
            &mut lines,
            start,
            "hello port=fake arch=none mode=run clock=c unit=cycles hz=2000000000 realtime=no",
        );
        for metric in 0..METRICS {
            // The clock's own metric, by which times are tested a second time.
            let id = match metric {
                0 => "clock.read".to_owned(),
                _ => format!("object.operation.m{metric}"),
            };
            for words in [
                format!("bench metric={id} case={id} from=0 to=1 switches=0"),
                format!("begin case={id} asked={SAMPLES}"),
                format!("plan case={id} samples={SAMPLES} batch=1"),
            ] {
                push(&mut lines, start, &words);
            }
            let seq = (lines.len() - start) as u64;
            lines.extend(record::write_hist(seq, &id, 0, &samples(random)));
            for words in [
                format!("proof case={id} name=order counted=0 low=0 high=0"),
                format!("end case={id} status=ok samples={SAMPLES}"),
            ] {
                push(&mut lines, start, &words);
            }
        }
        let bye = format!("bye records={}", lines.len() - start);
        push(&mut lines, start, &bye);
    }
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
}

fn time(random: &mut fastrand::Rng, replicates: usize) {
    let streams = [stream(random, replicates), stream(random, replicates)];
    let [base, new] = streams
        .each_ref()
        .map(|stream| session::read(stream.as_bytes()));
    let comparison = Comparison::of(&base, &new, &Options::default());
    assert_eq!(comparison.family, METRICS, "every metric is tested");
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
