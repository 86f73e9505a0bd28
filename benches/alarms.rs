// SPDX-License-Identifier: MIT OR Apache-2.0

//! How often does `kernmark compare` raise a false alarm on real runs, and how often does it find a
//! real change?
//!
//! 1. *False alarms*: makes consecutive runs of the unchanged machine. Compares each with the next
//!    and, for information, with the run half of the bench later. Then compares pairs in which only
//!    the second run has load on the machine. A verdict of `regressed` or `improved` for any
//!    quantity of any metric is a false alarm. Cases in which the gate refused to judge (exit
//!    status 4 or 5) are counted separately.
//! 2. *Changes found*: makes ten operations 5 % slower by a delay inside the measured span
//!    (`benches/delayed`), and compares sides with and without the delay: once one after the other,
//!    once interleaved. The base is the same program with delays of 0. The actual slowdown of each
//!    operation is measured first.
//!
//! 3. *Floors of saved runs*, with `--saved DIR` and instead of the above: compares saved runs of an
//!    unchanged machine that are one to three runs apart, without floors and with those that other
//!    runs show: 15 others chosen at random, and the 15 before. Counts alarms, and how many metrics
//!    are found that were made 5, 10 or 30 % slower.
//!
//! `make bench` runs it; `cargo bench --bench alarms -- --help` lists the options. It fails if
//! there are too many false alarms, or if too few changes are found. The second check shows that
//! the first one can fail.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use common::Load;
use kernmark::files::digest::{Digest, Head};
use kernmark::files::store::Input;
use kernmark::judge::compare::{self, Comparison, Verdict};
use kernmark::judge::digest;
use kernmark::judge::figures::RunFigures;
use kernmark::judge::floors::{self, Floors};
use kernmark::statistics::{distributions, order};
use kernmark::stream::run::{Run, CLOCK};
use kernmark::stream::session::Reader;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// An operation that `benches/delayed` can delay, in the order of its `delays.h`.
struct Delayed {
    /// The one metric of [`METRICS`] that includes it.
    metric: &'static str,
    /// How often one operation of the metric includes it.
    times: f64,
}

const DELAYED: [Delayed; 10] = [
    once("syscall.null"),
    once("thread.yield.cooperative.ctx.u_to_u"),
    once("thread.start.user.from.user"),
    once("semaphore.take.blocking.u_to_u"),
    once("mutex.lock.contended.u_to_u"),
    once("condvar.signal.wake+ctx.u_to_u"),
    once("events.set.wake+ctx.u_to_u"),
    once("signal.mask"),
    there_and_back("roundtrip.pipe.processes"),
    there_and_back("roundtrip.channel_call.processes"),
];

const fn once(metric: &'static str) -> Delayed {
    Delayed { metric, times: 1.0 }
}

const fn there_and_back(metric: &'static str) -> Delayed {
    Delayed { metric, times: 2.0 }
}

/// The metrics to measure: all kinds of primitive. Only those of [`DELAYED`] include a delayed
/// operation. A `?` at the end keeps a pattern from selecting longer ids too.
const METRICS: &[&str] = &[
    "clock.loop",
    "thread.yield.cooperative",
    "thread.create",
    "semaphore.take.blocking",
    "mutex.lock.contended.u_to_u",
    "condvar.wait.blocking",
    "fifo.get.blocking",
    "stack.pop.blocking",
    "events.wait.blocking",
    "heap.malloc.immediate.user.64",
    "syscall",
    "time.monotonic",
    "event.replace",
    "port.wait.one",
    "poll.wait.8",
    "mmu.protect",
    "fault.anonymous",
    "filesystem.stat",
    "process.spawn",
    "pthread.create_join",
    "signal.catch",
    "signal.mask",
    "futex.wait.changed",
    "futex.lock_pi",
    "timer.timerfd",
    "roundtrip.futex.processe?",
    "roundtrip.pipe.processe?",
    "roundtrip.signal.processe?",
    "roundtrip.channel_call.processe?",
];

/// Replicates of each side.
const REPLICATES: usize = 10;
/// The relative change to make.
const CHANGE: f64 = 0.05;
/// The largest deviation of the actual change from it.
const CHANGE_OFF: f64 = 0.01;
/// Pairs of runs that measure the actual change.
const PAIRS: usize = 10;
/// The highest share of comparisons that may raise a false alarm.
const MOST_ALARMS: f64 = 0.05;
/// Busy processes during one side, if only that side has load.
const LOAD: usize = 4;
/// The lowest share of changes that interleaved sides must find.
const LEAST_FOUND: f64 = 0.9;

/// False alarms of `kernmark compare` on real runs, and changes that it finds.
#[derive(Parser)]
#[command(name = "alarms")]
struct Options {
    /// Comparisons of unchanged runs
    #[arg(long, value_name = "N", default_value_t = 200)]
    comparisons: usize,
    /// Comparisons of runs that differ by the changes
    #[arg(long, value_name = "N", default_value_t = 50)]
    changes: usize,
    /// Comparisons in which only one side has load
    #[arg(long, value_name = "N", default_value_t = 50)]
    loaded: usize,
    /// Busy processes during all runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    load: usize,
    /// Samples of each metric in a replicate
    #[arg(long, value_name = "N", default_value_t = 50)]
    samples: usize,
    /// Keep the runs in this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Only compare the saved runs in this folder, with and without the floors that others of them
    /// show
    #[arg(long, value_name = "DIR")]
    saved: Option<PathBuf>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The verdict of a comparison on a metric.
struct Judged {
    metric: String,
    /// The quantity with this verdict.
    quantity: String,
    verdict: String,
    ratio: f64,
}

/// A comparison, and the exit status of its gate.
struct Compared {
    metrics: Vec<Judged>,
    status: i32,
}

impl Judged {
    fn is_alarm(&self) -> bool {
        self.verdict == "regressed" || self.verdict == "improved"
    }
}

/// Makes runs in a folder, and compares them.
struct Bench {
    folder: PathBuf,
    agent: PathBuf,
    samples: usize,
    made: usize,
    /// Runs in which a case failed its proof.
    imperfect: usize,
}

const REGRESSED: i32 = 3;
const INCONCLUSIVE: i32 = 4;
const LOW_RESOLUTION: i32 = 5;

fn kernmark() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kernmark"))
}

impl Bench {
    /// Makes a run of the delayed agent with these iterations per delay, or of the normal agent.
    fn run(&mut self, replicates: usize, iterations: Option<&[u64; 10]>) -> Result<PathBuf> {
        let file = self.folder.join(format!("{}.km", self.made));
        let mut command = kernmark();
        command
            .args(["run", "--time-budget", "0", "--wait", "600"])
            .args(["--runs", &replicates.to_string()])
            .args(["--samples", &self.samples.to_string()])
            .args(["--seed", &self.made.to_string(), "--output"])
            .arg(&file)
            .args(METRICS)
            .stdout(Stdio::null());
        if let Some(iterations) = iterations {
            let list: Vec<String> = iterations.iter().map(u64::to_string).collect();
            command
                .env("KERNMARK_AGENT", &self.agent)
                .env("KERNMARK_DELAYS", list.join(","));
        }
        self.made += 1;
        let output = command.stderr(Stdio::piped()).output()?;
        if !file.exists() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?} failed: {why}").into());
        }
        self.imperfect += usize::from(!output.status.success());
        Ok(file)
    }

    /// Compares two sides of one or more runs. The verdicts come in the order of the base.
    fn compare(base: &[PathBuf], new: &[PathBuf]) -> Result<Compared> {
        let mut command = kernmark();
        command
            .args(["compare", "--format", "json", "--fail-on", "regression"])
            .args([&base[0], &new[0]]);
        for (side, runs) in [("--base", base), ("--new", new)] {
            for run in &runs[1..] {
                command.arg(side).arg(run);
            }
        }
        let output = command.output()?;
        let comparison: Value = serde_json::from_slice(&output.stdout)?;
        let metrics: Vec<Judged> = comparison["metrics"]
            .as_array()
            .ok_or("a comparison without metrics")?
            .iter()
            .map(|metric| Judged {
                metric: metric["id"].as_str().unwrap_or_default().to_owned(),
                quantity: metric["quantity"].as_str().unwrap_or_default().to_owned(),
                verdict: metric["verdict"].as_str().unwrap_or_default().to_owned(),
                ratio: metric["ratio"].as_f64().unwrap_or(f64::NAN),
            })
            .collect();
        let regressed = metrics.iter().any(|metric| metric.verdict == "regressed");
        let status = output.status.code().unwrap_or(-1);
        let is_expected = match status {
            REGRESSED => regressed,
            0 | INCONCLUSIVE | LOW_RESOLUTION => !regressed,
            _ => false,
        };
        if !is_expected {
            return Err(format!("the gate ended with {}", output.status).into());
        }
        if let Some(metric) = metrics.iter().find(|m| m.verdict == "incomparable") {
            return Err(format!("{} is incomparable", metric.metric).into());
        }
        Ok(Compared { metrics, status })
    }
}

/// Builds the agent whose operations can be delayed.
fn build_delayed() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("delayed");
    let folder = root.join("benches/delayed");
    let status = Command::new("make")
        .args(["-s", "-C"])
        .arg(root.join("agent/ports/linux-user"))
        .arg(format!("OUT={}", out.display()))
        .arg(format!("PORT={}", folder.display()))
        .arg(format!("LDFLAGS={}", folder.join("delays.c").display()))
        .env_remove("MAKEFLAGS")
        .status()?;
    if status.success() {
        Ok(out.join("kernmark-agent"))
    } else {
        Err("the delayed agent was not built".into())
    }
}

/// The median of each metric of a run.
fn medians(run: &Path) -> Result<BTreeMap<String, f64>> {
    let output = kernmark()
        .args(["show", "--format", "json"])
        .arg(run)
        .output()?;
    let run: Value = serde_json::from_slice(&output.stdout)?;
    let metrics = run["metrics"].as_array().ok_or("a run without metrics")?;
    let median = |m: &Value| Some((m["id"].as_str()?.to_owned(), m["median"].as_f64()?));
    Ok(metrics.iter().filter_map(median).collect())
}

fn of(medians: &BTreeMap<String, f64>, metric: &str) -> Result<f64> {
    let median = medians.get(metric).copied();
    median.ok_or_else(|| format!("{metric} has no value").into())
}

/// The relative slowdown of each operation by these iterations: the median over interleaved pairs
/// of runs. Times are relative to `clock.loop`, so that the CPU's speed does not matter.
fn achieved(bench: &mut Bench, iterations: &[u64; 10]) -> Result<[f64; 10]> {
    let mut ratios: [Vec<f64>; 10] = Default::default();
    for _ in 0..PAIRS {
        let base = medians(&bench.run(REPLICATES, Some(&[0; 10]))?)?;
        let new = medians(&bench.run(REPLICATES, Some(iterations))?)?;
        for (ratios, delayed) in ratios.iter_mut().zip(&DELAYED) {
            let relative =
                |run| -> Result<f64> { Ok(of(run, delayed.metric)? / of(run, "clock.loop")?) };
            ratios.push(relative(&new)? / relative(&base)?);
        }
    }
    Ok(ratios.map(|ratios| order::median(&ratios).map_or(f64::NAN, |median| median - 1.0)))
}

/// Chooses the iterations of each delay and prints the slowdowns that they cause. Returns the
/// iterations, and whether all slowdowns are close enough to [`CHANGE`].
fn calibrate(bench: &mut Bench) -> Result<([u64; 10], bool)> {
    let base = medians(&bench.run(REPLICATES, Some(&[0; 10]))?)?;
    let per_iteration = of(&base, "clock.loop")?;
    let mut iterations = [0.0; 10];
    for (iterations, delayed) in iterations.iter_mut().zip(&DELAYED) {
        *iterations = CHANGE * of(&base, delayed.metric)? / per_iteration / delayed.times;
    }
    let first = achieved(bench, &iterations.map(|t| t.round() as u64))?;
    for (iterations, achieved) in iterations.iter_mut().zip(first) {
        // A delay without any effect stays as it is. It is reported below.
        *iterations *= (CHANGE / achieved).clamp(0.5, 2.0);
    }
    let iterations = iterations.map(|t| t.round() as u64);
    let second = achieved(bench, &iterations)?;
    println!("\n| delayed | ns | iterations of the delay | ns expected | slowdown |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for ((delayed, iterations), achieved) in DELAYED.iter().zip(iterations).zip(second) {
        println!(
            "| `{}` | {:.1} | {iterations} | {:.1} | {:.1} % |",
            delayed.metric,
            of(&base, delayed.metric)?,
            iterations as f64 * delayed.times * per_iteration,
            100.0 * achieved,
        );
    }
    let right = |achieved: &f64| (achieved - CHANGE).abs() <= CHANGE_OFF;
    Ok((iterations, second.iter().all(right)))
}

fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Prints the false alarms among comparisons of unchanged runs. Returns whether they are few
/// enough.
fn report_alarms(title: &str, comparisons: &[Compared]) -> bool {
    let mut alarmed = 0;
    for (number, compared) in comparisons.iter().enumerate() {
        let alarms: Vec<String> = compared
            .metrics
            .iter()
            .filter(|metric| metric.is_alarm())
            .map(|metric| format!("{} {} {:.3}", metric.metric, metric.quantity, metric.ratio))
            .collect();
        if !alarms.is_empty() {
            alarmed += 1;
            println!("{title}, comparison {number}: {}", alarms.join(", "));
        }
    }
    let all = comparisons.len();
    let ended = |status: i32| {
        comparisons
            .iter()
            .filter(|one| one.status == status)
            .count()
    };
    println!(
        "{title}: {alarmed} of {all} comparisons with a false alarm ({:.1} %; below {:.1} % with \
         95 % confidence); exit status 4 (CPU speed) in {}, 5 (resolution \
         too coarse) in {}",
        100.0 * alarmed as f64 / all as f64,
        100.0 * distributions::upper_bound_of_probability(alarmed, all),
        ended(INCONCLUSIVE),
        ended(LOW_RESOLUTION),
    );
    alarmed as f64 <= MOST_ALARMS * all as f64
}

/// Compares unchanged runs, the second of them under load, and prints how often that raises an
/// alarm.
fn loaded(bench: &mut Bench, comparisons: usize) -> Result<()> {
    let mut all = Vec::new();
    for number in 0..comparisons {
        eprint!(
            "\rone side under load: comparison {} of {comparisons}",
            number + 1
        );
        let quiet = bench.run(REPLICATES, None)?;
        let load = Load::start(LOAD)?;
        let busy = bench.run(REPLICATES, None)?;
        drop(load);
        all.push(Bench::compare(&[quiet], &[busy])?);
    }
    eprintln!();
    report_alarms("one side under load", &all);
    Ok(())
}

/// Compares unchanged runs. Returns whether there are few enough false alarms.
fn unchanged(bench: &mut Bench, comparisons: usize) -> Result<bool> {
    let before = load_average();
    let mut runs = Vec::new();
    for number in 0..2 * comparisons {
        eprint!("\runchanged: run {} of {}", number + 1, 2 * comparisons);
        runs.push(bench.run(REPLICATES, None)?);
    }
    eprintln!();
    let next: Vec<_> = runs
        .chunks(2)
        .map(|pair| Bench::compare(&pair[..1], &pair[1..]))
        .collect::<Result<_>>()?;
    let (early, late) = runs.split_at(comparisons);
    let later: Vec<_> = early
        .chunks(1)
        .zip(late.chunks(1))
        .map(|(base, new)| Bench::compare(base, new))
        .collect::<Result<_>>()?;
    println!(
        "\n{} unchanged runs of {} metrics; load average {before} before, {} after",
        runs.len(),
        next[0].metrics.len(),
        load_average()
    );
    // Drift over minutes does not count here: `ab` removes it and `noise` allows for it.
    report_alarms("minutes apart", &later);
    Ok(report_alarms("consecutive", &next))
}

/// The order of the replicates of two sides.
#[derive(Clone, Copy)]
enum Order {
    /// All of the base first, then all of the new side.
    Sequential,
    /// Interleaved: one replicate of each side at a time.
    Alternating,
}

/// Compares a side without delays and a side with delays.
fn compare_changed(bench: &mut Bench, iterations: &[u64; 10], order: Order) -> Result<Compared> {
    let (runs, replicates) = match order {
        Order::Sequential => (1, REPLICATES),
        Order::Alternating => (REPLICATES, 1),
    };
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        base.push(bench.run(replicates, Some(&[0; 10]))?);
        new.push(bench.run(replicates, Some(iterations))?);
    }
    Bench::compare(&base, &new)
}

/// How many of these comparisons found the change of this metric, and the median ratio.
fn found(comparisons: &[Compared], metric: &str) -> (usize, f64) {
    let all = || comparisons.iter().flat_map(|compared| &compared.metrics);
    let judged = || all().filter(|judged| judged.metric == metric);
    let ratios: Vec<f64> = judged().map(|judged| judged.ratio).collect();
    (
        judged().filter(|j| j.verdict == "regressed").count(),
        order::median(&ratios).unwrap_or(f64::NAN),
    )
}

/// Compares runs without and with delays, in both orders. Returns whether interleaved runs find
/// enough of the changes, and whether few other metrics have a verdict in either order.
fn changed(bench: &mut Bench, comparisons: usize, iterations: &[u64; 10]) -> Result<bool> {
    let before = load_average();
    let (mut sequential, mut alternating) = (Vec::new(), Vec::new());
    for number in 0..comparisons {
        eprint!("\rchanged: comparison {} of {comparisons}", number + 1);
        sequential.push(compare_changed(bench, iterations, Order::Sequential)?);
        alternating.push(compare_changed(bench, iterations, Order::Alternating)?);
    }
    eprintln!();
    println!(
        "\n{comparisons} comparisons in which ten metrics are {:.0} % slower; load average {before} \
         before, {} after\n\n| changed | found alternating | ratio | found sequential | ratio |\n\
         | --- | ---: | ---: | ---: | ---: |",
        100.0 * CHANGE,
        load_average()
    );
    let mut sum = [0; 2];
    for delayed in &DELAYED {
        let [in_blocks, in_a_row] =
            [&alternating, &sequential].map(|all| found(all, delayed.metric));
        println!(
            "| `{}` | {} | {:.3} | {} | {:.3} |",
            delayed.metric, in_blocks.0, in_blocks.1, in_a_row.0, in_a_row.1
        );
        sum[0] += in_blocks.0;
        sum[1] += in_a_row.0;
    }
    let all = DELAYED.len() * comparisons;
    println!("| of {all} | {} | | {} | |\n", sum[0], sum[1]);
    let mut few = true;
    for (title, judged) in [
        ("unchanged metrics, alternating", alternating),
        ("unchanged metrics, sequential", sequential),
    ] {
        let is_other = |judged: &Judged| DELAYED.iter().all(|d| d.metric != judged.metric);
        let others = |compared: Compared| Compared {
            metrics: compared.metrics.into_iter().filter(is_other).collect(),
            ..compared
        };
        let others: Vec<Compared> = judged.into_iter().map(others).collect();
        few &= report_alarms(title, &others);
    }
    Ok(few && sum[0] as f64 >= LEAST_FOUND * all as f64)
}

/// A saved run, without its samples.
struct Saved {
    run: Run,
    figures: RunFigures,
    digest: Digest,
}

/// The runs of a history, and the fewest that count as one.
const HISTORY: usize = 15;
const LEAST_HISTORY: usize = 8;
/// Changes to inject, and the share of metrics that get one.
const INJECTED: [f64; 3] = [0.05, 0.1, 0.3];
const CHANGED: f64 = 0.08;
/// The highest share of comparisons that may raise a false alarm with a history.
const MOST_ALARMS_WITH_HISTORY: f64 = 0.02;

/// The saved runs of a folder, by name.
fn load(folder: &Path) -> Result<Vec<Saved>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| {
        let name = path.to_string_lossy();
        name.ends_with(".km") || name.ends_with(".km.gz")
    });
    paths.sort();
    let mut runs = Vec::new();
    for path in paths {
        let mut input = Input::open(&path)?;
        let mut reader = Reader::new();
        let mut line = Vec::new();
        while input.reader().read_until(b'\n', &mut line)? > 0 {
            let _ = reader.line(&line);
            line.clear();
        }
        let mut run = reader.finish();
        if run.sessions.last().is_some_and(|last| last.complete) {
            let (figures, digest) = (RunFigures::of(&run), digest::of(&run, Head::default()));
            run.metrics.clear();
            runs.push(Saved {
                run,
                figures,
                digest,
            });
        }
    }
    Ok(runs)
}

/// The alarms and the changes found among comparisons.
#[derive(Default)]
struct Tally {
    comparisons: usize,
    alarmed: usize,
    verdicts: usize,
    injected: usize,
    found: [usize; 3],
}

impl Tally {
    /// Compares two runs, as they are and with each change injected into some metrics of the second.
    fn add(&mut self, [base, new]: [&Saved; 2], floors: &Floors, random: &mut fastrand::Rng) {
        let compare = |figures: &RunFigures| {
            let options = compare::Options::default();
            let runs = [&base.run, &new.run];
            Comparison::of_figures(runs, [&base.figures, figures], &options, floors)
        };
        let unchanged = compare(&new.figures);
        let changes = unchanged.metrics.iter().filter(|m| m.verdict.is_change());
        let changes = changes.count();
        self.comparisons += 1;
        self.alarmed += usize::from(changes > 0);
        self.verdicts += changes;
        let metrics = new.figures.metrics.iter().filter(|one| one.id != CLOCK);
        let chosen: BTreeSet<&String> = metrics
            .filter(|_| random.f64() < CHANGED)
            .map(|one| &one.id)
            .collect();
        self.injected += chosen.len();
        for (size, found) in INJECTED.iter().zip(&mut self.found) {
            let mut figures = new.figures.clone();
            for metric in figures
                .metrics
                .iter_mut()
                .filter(|m| chosen.contains(&m.id))
            {
                let values = metric.replicates.iter_mut().flat_map(|one| &mut one.values);
                for value in values.flatten() {
                    *value *= 1.0 + size;
                }
            }
            let judged = compare(&figures).metrics;
            let regressed = judged.iter().filter(|m| m.verdict == Verdict::Regressed);
            *found += regressed.filter(|m| chosen.contains(&m.id)).count();
        }
    }

    fn row(&self, title: &str) {
        let share = |of: usize, all: usize| 100.0 * of as f64 / all.max(1) as f64;
        print!(
            "| {title} | {} | {} ({:.1} %) | {:.1} % | {:.2} |",
            self.comparisons,
            self.alarmed,
            share(self.alarmed, self.comparisons),
            100.0 * distributions::upper_bound_of_probability(self.alarmed, self.comparisons),
            self.verdicts as f64 / self.comparisons.max(1) as f64,
        );
        for found in self.found {
            print!(" {:.1} % |", share(found, self.injected));
        }
        println!();
    }
}

/// Compares saved runs without floors, and with the floors that others show. Returns whether floors
/// leave few enough false alarms.
fn saved(folder: &Path) -> Result<bool> {
    let runs = load(folder)?;
    println!(
        "{} saved runs; pairs one to three runs apart\n\n| floors | comparisons | with a false \
         alarm | below, with 95 % confidence | false verdicts in each | 5 % found | 10 % found | \
         30 % found |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        runs.len()
    );
    let mut tallies: [Tally; 4] = Default::default();
    for apart in 1..=3 {
        for first in 0..runs.len().saturating_sub(apart) {
            let pair = [&runs[first], &runs[first + apart]];
            let seed = (first * runs.len() + apart) as u64;
            let floors = |of: &[usize]| {
                let digests: Vec<Digest> = of.iter().map(|at| runs[*at].digest.clone()).collect();
                let mut floors = Floors::default();
                floors.add(&floors::of_history(&digests), String::new());
                floors
            };
            let mut add = |tally: usize, floors: &Floors| {
                tallies[tally].add(pair, floors, &mut fastrand::Rng::with_seed(seed));
            };
            let others = (0..runs.len()).filter(|at| *at != first && *at != first + apart);
            let mut others: Vec<usize> = others.collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut others);
            others.truncate(HISTORY);
            add(0, &Floors::default());
            add(1, &floors(&others));
            if first >= LEAST_HISTORY {
                let before: Vec<usize> = (first.saturating_sub(HISTORY)..first).collect();
                add(2, &Floors::default());
                add(3, &floors(&before));
            }
        }
    }
    let titles = [
        "none",
        "of 15 other runs",
        "none, from the ninth run on",
        "of up to 15 runs before",
    ];
    for (tally, title) in tallies.iter().zip(titles) {
        tally.row(title);
    }
    let with = &tallies[1];
    Ok(with.alarmed as f64 <= MOST_ALARMS_WITH_HISTORY * with.comparisons as f64)
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    if let Some(folder) = &options.saved {
        let is_quiet = saved(folder)?;
        if !is_quiet {
            eprintln!("alarms: with a history there are too many false alarms");
        }
        return Ok(ExitCode::from(u8::from(!is_quiet)));
    }
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    if options.keep.is_some() {
        fs::create_dir(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    }
    let mut bench = Bench {
        folder: folder.to_owned(),
        agent: build_delayed()?,
        samples: options.samples,
        made: 0,
        imperfect: 0,
    };
    let _load = Load::start(options.load)?;
    let mut broken = Vec::new();
    if options.comparisons > 0 && !unchanged(&mut bench, options.comparisons)? {
        broken.push("there are too many false alarms");
    }
    if options.loaded > 0 {
        loaded(&mut bench, options.loaded)?;
    }
    if options.changes > 0 {
        let (iterations, right) = calibrate(&mut bench)?;
        if !right {
            broken.push("an injected change does not have the intended size");
        }
        if !changed(&mut bench, options.changes, &iterations)? {
            broken.push("too few changes are found, or too many false ones");
        }
    }
    if bench.imperfect > 0 {
        println!(
            "In {} of {} runs a case failed its proof.",
            bench.imperfect, bench.made
        );
    }
    for what in &broken {
        eprintln!("alarms: {what}");
    }
    Ok(ExitCode::from(u8::from(!broken.is_empty())))
}
