// SPDX-License-Identifier: MIT OR Apache-2.0

//! Does `kernmark compare` cry wolf on real runs, and does it find what changed?
//!
//! 1. *False alarms*: runs of the unchanged machine one after another, each compared with the next
//!    and, for information, with one of half the bench later; then pairs of which only the second
//!    run has busy processes beside it. A verdict of `regressed` or `improved` of any quantity is a
//!    false alarm, whichever metric has it. Where the gate refused to judge (exit status 4 or 5),
//!    that is counted beside.
//! 2. *Changes found*: ten operations are made 5 % dearer by a delay inside of what is measured
//!    (`benches/delayed`), and sides with and without it are compared: once one after the other,
//!    once with replicates that take turns. The base is the same program with delays of 0. How
//!    much dearer the operations became is measured first.
//!
//! `make bench` runs it; `cargo bench --bench alarms -- --help` lists what can be chosen. It fails
//! when there are too many false alarms, or when too few of the changes are found: so what counts
//! alarms is itself put to the test.

mod common;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use common::Load;
use kernmark::statistics::{distributions, order};
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// An operation that `benches/delayed` can delay, in the order of its `delays.h`.
struct Delayed {
    /// The one metric of [`METRICS`] that it lies in.
    metric: &'static str,
    /// How often it does.
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

/// What is measured: all kinds of primitive, and no metric in which a delayed operation lies
/// besides those of [`DELAYED`]. A `?` ends what would select longer ids too.
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
/// The change that is made, as a share.
const CHANGE: f64 = 0.05;
/// How far the change that was made may lie from it.
const CHANGE_OFF: f64 = 0.01;
/// Pairs of runs by which the change that was made is measured.
const PAIRS: usize = 10;
/// The most comparisons that may raise a false alarm, as a share.
const MOST_ALARMS: f64 = 0.05;
/// Busy processes beside one side, where only one has them.
const LOAD: usize = 4;
/// The fewest changes that must be found by sides that take turns, as a share.
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
    /// Comparisons of which one side has a load beside it
    #[arg(long, value_name = "N", default_value_t = 50)]
    loaded: usize,
    /// Busy processes beside all runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    load: usize,
    /// Samples of each metric in a replicate
    #[arg(long, value_name = "N", default_value_t = 50)]
    samples: usize,
    /// Keep the runs in this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Said by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What a comparison says of a metric.
struct Judged {
    metric: String,
    /// The quantity that the verdict is of.
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
const UNCLEAR: i32 = 4;
const BLIND: i32 = 5;

fn kernmark() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kernmark"))
}

impl Bench {
    /// Makes a run of the delayed agent with these turns, or of the agent itself.
    fn run(&mut self, replicates: usize, turns: Option<&[u64; 10]>) -> Result<PathBuf> {
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
        if let Some(turns) = turns {
            let list: Vec<String> = turns.iter().map(u64::to_string).collect();
            command
                .env("KERNMARK_AGENT", &self.agent)
                .env("KERNMARK_DELAYS", list.join(","));
        }
        self.made += 1;
        let output = command.stderr(Stdio::piped()).output()?;
        if !file.exists() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?} made no run: {why}").into());
        }
        self.imperfect += usize::from(!output.status.success());
        Ok(file)
    }

    /// The verdicts on two sides of one run or more, in the order of the base.
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
            0 | UNCLEAR | BLIND => !regressed,
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
    median.ok_or_else(|| format!("{metric} has no number").into())
}

/// By how much these turns make each operation dearer, as a share: the median over pairs of runs
/// that take turns, in turns of a loop, so that the processor's speed has no part in it.
fn achieved(bench: &mut Bench, turns: &[u64; 10]) -> Result<[f64; 10]> {
    let mut ratios: [Vec<f64>; 10] = Default::default();
    for _ in 0..PAIRS {
        let base = medians(&bench.run(REPLICATES, Some(&[0; 10]))?)?;
        let new = medians(&bench.run(REPLICATES, Some(turns))?)?;
        for (ratios, delayed) in ratios.iter_mut().zip(&DELAYED) {
            let relative =
                |run| -> Result<f64> { Ok(of(run, delayed.metric)? / of(run, "clock.loop")?) };
            ratios.push(relative(&new)? / relative(&base)?);
        }
    }
    Ok(ratios.map(|ratios| order::median(&ratios).map_or(f64::NAN, |median| median - 1.0)))
}

/// Chooses the turns of each delay, and says what they achieve.
fn calibrate(bench: &mut Bench) -> Result<([u64; 10], bool)> {
    let base = medians(&bench.run(REPLICATES, Some(&[0; 10]))?)?;
    let turn = of(&base, "clock.loop")?;
    let mut turns = [0.0; 10];
    for (turns, delayed) in turns.iter_mut().zip(&DELAYED) {
        *turns = CHANGE * of(&base, delayed.metric)? / turn / delayed.times;
    }
    let first = achieved(bench, &turns.map(|t| t.round() as u64))?;
    for (turns, achieved) in turns.iter_mut().zip(first) {
        // A delay that does not show at all is left as it is, and told below.
        *turns *= (CHANGE / achieved).clamp(0.5, 2.0);
    }
    let turns = turns.map(|t| t.round() as u64);
    let second = achieved(bench, &turns)?;
    println!("\n| delayed | ns | turns of the delay | ns by turns | dearer by |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for ((delayed, turns), achieved) in DELAYED.iter().zip(turns).zip(second) {
        println!(
            "| `{}` | {:.1} | {turns} | {:.1} | {:.1} % |",
            delayed.metric,
            of(&base, delayed.metric)?,
            turns as f64 * delayed.times * turn,
            100.0 * achieved,
        );
    }
    let right = |achieved: &f64| (achieved - CHANGE).abs() <= CHANGE_OFF;
    Ok((turns, second.iter().all(right)))
}

fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Prints the false alarms among comparisons of unchanged runs; whether there are few enough.
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
         95 % confidence); besides, exit status 4 in {} (the processor's speed), 5 in {} (too \
         coarse)",
        100.0 * alarmed as f64 / all as f64,
        100.0 * distributions::upper_bound_of_probability(alarmed, all),
        ended(UNCLEAR),
        ended(BLIND),
    );
    alarmed as f64 <= MOST_ALARMS * all as f64
}

/// Compares unchanged runs of which the second has busy processes beside it, and prints how often
/// that raises an alarm.
fn loaded(bench: &mut Bench, comparisons: usize) -> Result<()> {
    let mut all = Vec::new();
    for number in 0..comparisons {
        eprint!(
            "\rbeside a load: comparison {} of {comparisons}",
            number + 1
        );
        let quiet = bench.run(REPLICATES, None)?;
        let load = Load::start(LOAD)?;
        let busy = bench.run(REPLICATES, None)?;
        drop(load);
        all.push(Bench::compare(&[quiet], &[busy])?);
    }
    eprintln!();
    report_alarms("a load beside one side only", &all);
    Ok(())
}

/// Compares unchanged runs; whether there are few enough false alarms.
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
    // What drifts over minutes is for `ab` to take out, and for `noise` to allow for.
    report_alarms("half the time apart", &later);
    Ok(report_alarms("next to each other", &next))
}

/// How the replicates of two sides follow each other.
#[derive(Clone, Copy)]
enum Order {
    /// First all of the base, then all of the new side.
    OneAfterTheOther,
    /// A replicate of each side in turn.
    InTurns,
}

/// Compares a side without and one with delays.
fn compare_changed(bench: &mut Bench, turns: &[u64; 10], order: Order) -> Result<Compared> {
    let (runs, replicates) = match order {
        Order::OneAfterTheOther => (1, REPLICATES),
        Order::InTurns => (REPLICATES, 1),
    };
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        base.push(bench.run(replicates, Some(&[0; 10]))?);
        new.push(bench.run(replicates, Some(turns))?);
    }
    Bench::compare(&base, &new)
}

/// How often the change of this metric was found among these comparisons, and the median ratio.
fn found(comparisons: &[Compared], metric: &str) -> (usize, f64) {
    let all = || comparisons.iter().flat_map(|compared| &compared.metrics);
    let judged = || all().filter(|judged| judged.metric == metric);
    let ratios: Vec<f64> = judged().map(|judged| judged.ratio).collect();
    (
        judged().filter(|j| j.verdict == "regressed").count(),
        order::median(&ratios).unwrap_or(f64::NAN),
    )
}

/// Compares runs without and with delays, in both orders; whether enough of the changes are found
/// by runs that take turns, and little else by any.
fn changed(bench: &mut Bench, comparisons: usize, turns: &[u64; 10]) -> Result<bool> {
    let before = load_average();
    let (mut apart, mut in_turns) = (Vec::new(), Vec::new());
    for number in 0..comparisons {
        eprint!("\rchanged: comparison {} of {comparisons}", number + 1);
        apart.push(compare_changed(bench, turns, Order::OneAfterTheOther)?);
        in_turns.push(compare_changed(bench, turns, Order::InTurns)?);
    }
    eprintln!();
    println!(
        "\n{comparisons} comparisons in which ten metrics are {:.0} % dearer; load average {before} \
         before, {} after\n\n| changed | found in turns | ratio | found one after the other | ratio |\n\
         | --- | ---: | ---: | ---: | ---: |",
        100.0 * CHANGE,
        load_average()
    );
    let mut sum = [0; 2];
    for delayed in &DELAYED {
        let [turns, apart] = [&in_turns, &apart].map(|all| found(all, delayed.metric));
        println!(
            "| `{}` | {} | {:.3} | {} | {:.3} |",
            delayed.metric, turns.0, turns.1, apart.0, apart.1
        );
        sum[0] += turns.0;
        sum[1] += apart.0;
    }
    let all = DELAYED.len() * comparisons;
    println!("| of {all} | {} | | {} | |\n", sum[0], sum[1]);
    let mut few = true;
    for (title, judged) in [
        ("unchanged metrics, in turns", in_turns),
        ("unchanged metrics, one after the other", apart),
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

fn main() -> Result<ExitCode> {
    let options = Options::parse();
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
        let (turns, right) = calibrate(&mut bench)?;
        if !right {
            broken.push("a change is not of the size that it should be");
        }
        if !changed(&mut bench, options.changes, &turns)? {
            broken.push("a change is found too rarely, or too much else is");
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
