// SPDX-License-Identifier: MIT OR Apache-2.0

//! How fast is the folder of saved runs when it holds many?
//!
//! `make bench` runs it. It generates the digests of 10,000 runs with 311 metrics each and measures
//! how long it takes to find a run, to list all, and to load the history of one metric and of all,
//! with the index and without. Then it measures the command `history`, which has limits. Files are
//! in the page cache.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use kernmark::files::digest::{rounded, sha256, Digest, Head, MetricDigest};
use kernmark::files::runs::{Folder, Name};
use kernmark::stream::run::{Fact, Run, Unit};

/// Runs in the folder.
const RUNS: usize = 10_000;
/// Metrics of a run.
const METRICS: usize = 311;
/// Facts of a run.
const FACTS: usize = 75;
/// The metric whose history is read alone.
const METRIC: &str = "object7.operation.condition";
/// Seconds between the starts of two runs.
const APART: u64 = 3600;

/// The bench reads no run: each has its digest.
fn never(_: &Run, _: Head) -> Digest {
    unreachable!("a digest is missing")
}

fn main() {
    let runs = match env::var("KERNMARK_RUNS") {
        Ok(runs) => runs.parse().expect("KERNMARK_RUNS is a number"),
        Err(_) => RUNS,
    };
    let data = tempfile::tempdir().expect("a folder can be created");
    let bed = data.path().join("kernmark/runs");
    fs::create_dir_all(&bed).unwrap();
    let start = Instant::now();
    let size = generate(&bed, runs);
    println!("{runs} runs with {METRICS} metrics; a digest has {size} bytes");
    let each = start.elapsed().as_secs_f64() * 1e3 / runs as f64;
    println!(
        "{:<44} {each:9.3} ms",
        "generating and writing a run's digest"
    );
    let folder = Folder::new(bed.clone(), never);
    let one = |id: &str| id == METRIC;
    let measured = |what: &str, measure: &dyn Fn() -> usize| {
        let start = Instant::now();
        let count = measure();
        let time = start.elapsed().as_secs_f64();
        println!("{what:<44} {:9.3} ms   {count} found", time * 1e3);
    };
    let history = |is_metric: &dyn Fn(&str) -> bool| {
        let timeline = folder.timeline(0, &|_| true, is_metric).unwrap();
        assert_eq!(timeline.runs.len(), runs);
        timeline.series.len()
    };
    let index = bed.join("index");
    let latest = |text: &str| usize::from(folder.find(&Name::parse(text)).is_ok());
    measured("latest", &|| latest("latest"));
    measured("latest~100", &|| latest("latest~100"));
    measured("all metrics, without the index", &|| history(&|_| true));
    let length = fs::metadata(&index).map_or(0, |data| data.len());
    println!("the index has {length} bytes");
    for _ in 0..3 {
        measured("one metric", &|| history(&one));
    }
    measured("all metrics", &|| history(&|_| true));
    measured("list of all runs", &|| folder.runs().unwrap().len());
    fs::remove_file(&index).unwrap();
    measured("one metric, without the index", &|| history(&one));
    for (arguments, limit) in [(&["history", METRIC][..], 0.3), (&["history"], 3.0)] {
        for _ in 0..3 {
            command(data.path(), arguments, "", limit);
        }
    }
    fs::remove_file(&index).unwrap();
    command(data.path(), &["history"], ", without the index", 20.0);
}

/// Runs the tool, and says how long it takes.
fn command(data: &Path, arguments: &[&str], what: &str, limit: f64) {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(arguments)
        .env("XDG_DATA_HOME", data)
        .stdout(Stdio::null())
        .status()
        .expect("the tool can be started");
    let time = start.elapsed().as_secs_f64();
    assert!(status.success(), "{arguments:?}: {status}");
    let what = format!("kernmark {}{what}", arguments.join(" "));
    let verdict = if time < limit { "within" } else { "BEYOND" };
    println!("{what:<44} {time:9.3} s    {verdict} the limit of {limit} s");
}

/// Writes runs without records, each with its digest; returns the size of a digest.
fn generate(folder: &Path, runs: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(1);
    let mut size = 0;
    for run in 0..runs {
        let started = 1_700_000_000 + APART * run as u64;
        let hash = sha256(&run.to_le_bytes());
        let name = format!("{started}-linux-{}", &hash[..12]);
        let mut facts: Vec<Fact> = (0..FACTS)
            .map(|fact| Fact::new(&format!("name_of_a_fact_{fact}"), "a value of usual length"))
            .collect();
        facts.push(Fact::new("machine_id", "0123456789abcdef"));
        facts.push(Fact::new("load", format!("{:.2} 0.50 0.50", random.f64())));
        facts.push(Fact::new("seed", random.u32(..).to_string()));
        let mut noisy = |value: f64| rounded(value * (1.0 + 0.02 * random.f64()));
        let metrics = (0..METRICS).map(|metric| MetricDigest {
            id: match metric {
                0 => "clock.read".to_owned(),
                _ => format!("object{metric}.operation.condition"),
            },
            unit: Unit::Cycles,
            figures: [100.0, 110.0, 150.0, 300.0, 2000.0].map(|share| noisy(share * metric as f64)),
            worst: noisy(1e5),
            spread: noisy(0.01),
            replicates: 10,
        });
        let digest = Digest {
            head: Head {
                name: name.clone(),
                hash,
                started,
                sessions: 10,
                metrics: METRICS as u32,
                is_complete: true,
                facts: facts.into_iter().map(Arc::new).collect(),
                ..Head::default()
            },
            metrics: metrics.collect(),
        };
        let text = digest.text();
        size = text.len();
        fs::write(folder.join(format!("{name}.km.gz")), "").unwrap();
        fs::write(folder.join(format!("{name}.km.gz.digest")), text).unwrap();
    }
    size
}
