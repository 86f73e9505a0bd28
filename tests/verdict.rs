// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exit status of `kernmark compare` on generated streams: a change must be found, and a gate
//! that could not have detected one must not pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kernmark::stream::record;
use kernmark::stream::session;

const HZ: u64 = 2_000_000_000;
const OK: i32 = 0;
const REGRESSED: i32 = 3;
const INCONCLUSIVE: i32 = 4;
const LOW_RESOLUTION: i32 = 5;

/// The samples of one metric in one session: value and count.
type Samples = BTreeMap<u64, u64>;

/// Changes the sorted samples of a metric.
type Change = fn(&mut Vec<f64>);

/// Describes a generated run.
#[derive(Clone)]
struct Side {
    seed: u64,
    metrics: usize,
    replicates: usize,
    samples: usize,
    /// The standard deviation of samples, as a share of the metric's level.
    scatter: f64,
    /// The standard deviation between replicates of a metric, as a share.
    between: f64,
    /// The standard deviation between sessions, shared by all their metrics, as a share.
    session: f64,
    /// The cost of every metric except the clock, relative to the base.
    factor: f64,
    /// The cost of reading the clock, relative to the base.
    clock: f64,
    /// Changes the sorted samples of each metric.
    change: Change,
    /// The cost of the first operation, relative to the base.
    cold: f64,
    /// A session that does not measure the clock.
    clockless: Option<usize>,
}

const SIDE: Side = Side {
    seed: 1,
    metrics: 60,
    replicates: 10,
    samples: 500,
    scatter: 0.03,
    between: 0.002,
    session: 0.001,
    factor: 1.0,
    clock: 1.0,
    change: |_| (),
    cold: 1.0,
    clockless: None,
};

/// Normal noise with mean 0 and standard deviation 1.
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

impl Side {
    /// The same machine, measured again.
    fn again(&self) -> Side {
        Side {
            seed: self.seed + 1000,
            ..self.clone()
        }
    }

    fn stream(&self) -> String {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut lines = Vec::new();
        for session in 0..self.replicates {
            let start = lines.len();
            let shared = (self.session * normal(&mut random)).exp();
            let mut push = |kind: &str, pairs: &[(&str, &str)]| {
                let seq = (lines.len() - start) as u64;
                lines.extend(record::write(seq, kind, pairs, None));
            };
            push(
                "hello",
                &[
                    ("port", "fake"),
                    ("arch", "none"),
                    ("mode", "run"),
                    ("clock", "c"),
                    ("unit", "cycles"),
                    ("hz", &HZ.to_string()),
                    ("realtime", "no"),
                ],
            );
            for metric in 0..=self.metrics {
                let is_clock = metric == 0;
                if is_clock && self.clockless == Some(session) {
                    continue;
                }
                let id = if is_clock {
                    "clock.read".to_owned()
                } else {
                    format!("object.operation.m{metric}")
                };
                let (samples, cold) = self.samples(is_clock, shared, &mut random);
                self.write(&mut lines, start, &id, &samples, cold);
            }
            let bye = (lines.len() - start).to_string();
            let seq = (lines.len() - start) as u64;
            lines.extend(record::write(seq, "bye", &[("records", &bye)], None));
        }
        lines.join("\n") + "\n"
    }

    fn samples(&self, is_clock: bool, shared: f64, random: &mut fastrand::Rng) -> (Samples, u64) {
        let own = if is_clock {
            self.clock
        } else {
            self.factor * (self.between * normal(random)).exp()
        };
        let level = if is_clock { 50_000.0 } else { 20_000.0 } * shared * own;
        let mut values: Vec<f64> = (0..self.samples)
            .map(|_| level * (1.0 + self.scatter * normal(random)))
            .collect();
        values.sort_by(f64::total_cmp);
        if !is_clock {
            (self.change)(&mut values);
        }
        let mut samples = Samples::new();
        for value in values {
            // Rounded to keep the streams short.
            *samples
                .entry((value / 20.0).round() as u64 * 20)
                .or_insert(0) += 1;
        }
        let cold = 3.0 * level * self.cold * (1.0 + 0.1 * normal(random)).max(0.5);
        (samples, cold as u64)
    }

    fn write(&self, lines: &mut Vec<String>, start: usize, id: &str, samples: &Samples, cold: u64) {
        let count = self.samples.to_string();
        let seq = |lines: &Vec<String>| (lines.len() - start) as u64;
        let push = |lines: &mut Vec<String>, kind: &str, pairs: &[(&str, &str)]| {
            let seq = seq(lines);
            lines.extend(record::write(seq, kind, pairs, None));
        };
        let spans = [
            ("metric", id),
            ("case", id),
            ("from", "0"),
            ("to", "1"),
            ("switches", "0"),
        ];
        push(lines, "bench", &spans);
        push(lines, "begin", &[("case", id), ("asked", &count)]);
        push(
            lines,
            "plan",
            &[("case", id), ("samples", &count), ("batch", "1")],
        );
        push(
            lines,
            "cold",
            &[("metric", id), ("ticks", &cold.to_string())],
        );
        let counts: Vec<(u64, u64)> = samples.iter().map(|(v, n)| (*v, *n)).collect();
        let next = seq(lines);
        lines.extend(record::write_hist(next, id, 0, &counts));
        let proof = [
            ("case", id),
            ("name", "order"),
            ("counted", "0"),
            ("low", "0"),
            ("high", "0"),
        ];
        push(lines, "proof", &proof);
        push(
            lines,
            "end",
            &[("case", id), ("status", "ok"), ("samples", &count)],
        );
    }
}

/// Runs the tool in a folder with both sides.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        Bed(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_DATA_HOME", self.0.path())
            .env_remove("NO_COLOR")
            .output()
            .unwrap()
    }
}

struct Seen {
    status: i32,
    text: String,
}

impl Seen {
    fn says(&self, what: &str) -> &Self {
        let flat = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(what), "no `{what}` in:\n{}", self.text);
        self
    }

    /// Asserts that the gate reports a change of CPU speed of about this percentage.
    fn changed_speed(&self, percent: f64) -> &Self {
        let flat = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let reported = flat.split_once("CPU speed changed by ");
        let reported = reported.and_then(|(_, rest)| rest.split_once(" %")?.0.parse().ok());
        let reported: f64 =
            reported.unwrap_or_else(|| panic!("no change of speed in:\n{}", self.text));
        assert!((reported / percent - 1.0).abs() < 0.05, "{reported}");
        self
    }

    fn never_says(&self, what: &str) -> &Self {
        assert!(!self.text.contains(what), "`{what}` in:\n{}", self.text);
        self
    }

    fn exits(&self, status: i32) -> &Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// The number of metrics with this verdict, read from the tally line.
    fn count(&self, verdict: &str) -> usize {
        let tally = self
            .text
            .lines()
            .rfind(|line| line.contains(" regressed, "));
        let parts = tally.into_iter().flat_map(|line| line.split(", "));
        let mut counts = parts.filter_map(|part| part.strip_suffix(verdict)?.trim().parse().ok());
        let count = counts.next();
        count.unwrap_or_else(|| panic!("no {verdict} in\n{}", self.text))
    }
}

fn seen(output: &Output) -> Seen {
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Seen {
        status: output.status.code().unwrap(),
        text,
    }
}

fn gate(base: &Side, new: &Side, more: &[&str]) -> Seen {
    let bed = Bed::new();
    bed.write("base.km", &base.stream());
    bed.write("new.km", &new.stream());
    let fixed = ["compare", "base.km", "new.km", "--fail-on", "regression"];
    seen(&bed.run(&[&fixed, more].concat()))
}

#[test]
fn quick_run_finds_that_everything_doubled() {
    let base = Side {
        metrics: 300,
        replicates: 7,
        samples: 30,
        ..SIDE
    };
    let new = Side {
        factor: 2.0,
        ..base.again()
    };
    let seen = gate(&base, &new, &[]);
    assert_eq!(seen.exits(REGRESSED).count("regressed"), 300);
}

#[test]
fn three_replicates_detect_nothing_and_do_not_pass() {
    let base = Side {
        replicates: 3,
        samples: 30,
        ..SIDE
    };
    let new = Side {
        factor: 2.0,
        ..base.again()
    };
    let seen = gate(&base, &new, &[]);
    seen.exits(LOW_RESOLUTION)
        .says("no change of any size would have been detected")
        .says("4 replicates on each side are enough (--runs 4)");
    // Unchanged runs of three replicates do not pass either.
    gate(&base, &base.again(), &[]).exits(LOW_RESOLUTION);
    // Four replicates do, and a doubled cost is found.
    let base = Side {
        replicates: 4,
        ..base
    };
    gate(&base, &base.again(), &[]).exits(OK);
    let new = Side {
        factor: 2.0,
        ..base.again()
    };
    let seen = gate(&base, &new, &[]);
    assert_eq!(seen.exits(REGRESSED).count("regressed"), 60);
}

#[test]
fn changes_of_cpu_speed_are_reported_separately() {
    let everything = Side {
        factor: 2.0,
        clock: 2.0,
        ..SIDE.again()
    };
    let seen = gate(&SIDE, &everything, &[]);
    seen.exits(INCONCLUSIVE)
        .changed_speed(100.0)
        .says("kernmark ab");
    let some = Side {
        factor: 1.05,
        clock: 1.035,
        ..SIDE.again()
    };
    gate(&SIDE, &some, &[])
        .exits(INCONCLUSIVE)
        .changed_speed(3.5);
    // If it is accepted the gate passes, and the report states the resolution.
    gate(&SIDE, &some, &["--accept-speed"])
        .exits(OK)
        .says("with 80 % power: changes of ")
        .says(" in half of the medians");
    gate(&SIDE, &some, &["--accept-speed=2"]).exits(INCONCLUSIVE);
    gate(&SIDE, &everything, &["--accept-speed"]).exits(INCONCLUSIVE);
    let alone = Side {
        clock: 1.5,
        ..SIDE.again()
    };
    gate(&SIDE, &alone, &[])
        .exits(INCONCLUSIVE)
        .changed_speed(50.0);
    // The accepted change of speed has an upper bound.
    let refused = gate(&SIDE, &alone, &["--accept-speed=80"]);
    assert_eq!(refused.status, 2, "{}", refused.text);
    // A change much larger than that of the speed is still found.
    let both = Side {
        factor: 2.0,
        clock: 1.035,
        ..SIDE.again()
    };
    gate(&SIDE, &both, &[]).exits(REGRESSED);
}

#[test]
fn sessions_without_clock_are_left_out() {
    let new = Side {
        factor: 1.05,
        clock: 1.05,
        ..SIDE.again()
    };
    let whole = gate(&SIDE, &new, &[]);
    let lost = Side {
        clockless: Some(3),
        ..new
    };
    let part = gate(&SIDE, &lost, &[]);
    whole.exits(INCONCLUSIVE);
    part.exits(INCONCLUSIVE)
        .says("1 session left out of the test (0 of the base, 1 of the new run)");
    assert_eq!(whole.count("regressed"), 0);
    assert_eq!(part.count("regressed"), 0);
}

/// Multiplies the samples above the quantile `from`.
fn scale(values: &mut [f64], from: f64, factor: f64) {
    let from = (from * values.len() as f64).round() as usize;
    for value in &mut values[from..] {
        *value *= factor;
    }
}

#[test]
fn changes_of_tails_and_cold_starts_are_found_and_named() {
    let changes: [(&str, Change, f64); 4] = [
        ("p99", |values| scale(values, 0.985, 2.0), 1.0),
        ("cold", |_| (), 10.0),
        ("p90", |values| scale(values, 0.89, 5.0), 1.0),
        ("p90", |values| scale(values, 0.6, 3.0), 1.0),
    ];
    for (name, change, cold) in changes {
        let new = Side {
            change,
            cold,
            ..SIDE.again()
        };
        let seen = gate(&SIDE, &new, &[]);
        assert_eq!(seen.exits(REGRESSED).count("regressed"), 60, "{name}");
        seen.says(&format!(" ({name}) "));
        // The median did not change, so a gate on medians passes, and says what it did not judge.
        let seen = gate(&SIDE, &new, &["--only", "p50"]);
        seen.exits(OK).says("nothing beyond p50 was judged");
    }
}

#[test]
fn larger_variance_is_not_equivalent() {
    let deviation = Side {
        change: |values| change_by(values, 3.0),
        ..SIDE.again()
    };
    gate(&SIDE, &deviation, &[])
        .exits(REGRESSED)
        .says(" (p90) ");
    // Three times the variance changes p90 by less than its margin. The report notes that, and
    // calls only the median equivalent.
    let variance = Side {
        change: |values| change_by(values, 3.0_f64.sqrt()),
        ..SIDE.again()
    };
    let seen = gate(&SIDE, &variance, &["--all"]);
    seen.exits(OK)
        .says("equivalent up to p50")
        .says("significant, but within the margin")
        .never_says("equivalent up to p9");
}

fn change_by(values: &mut [f64], factor: f64) {
    let middle = values[values.len() / 2];
    for value in values {
        *value = middle + factor * (*value - middle);
    }
}

#[test]
fn report_says_which_percentiles_were_judged() {
    let rare: Change = |values| scale(values, 0.999, 100.0);
    let few = Side {
        change: rare,
        ..SIDE.again()
    };
    let seen = gate(&SIDE, &few, &["--all"]);
    seen.exits(OK)
        .says("equivalent up to p99; nothing beyond p99 was judged");
    assert!(!seen.text.lines().any(|line| line.trim() == "equivalent"));
    let base = Side {
        metrics: 10,
        samples: 2995,
        ..SIDE
    };
    let many = Side {
        change: rare,
        ..base.again()
    };
    gate(&base, &many, &[]).exits(REGRESSED).says(" (p99.9) ");
    gate(&base, &base.again(), &["--all"])
        .exits(OK)
        .says("equivalent up to p99.9");
}

#[test]
fn copies_of_a_session_count_once() {
    let bed = Bed::new();
    let base = Side {
        replicates: 3,
        samples: 30,
        ..SIDE
    };
    let new = Side {
        factor: 2.0,
        ..base.again()
    };
    let (base, new) = (base.stream(), new.stream());
    for name in ["b1.km", "b2.km", "b3.km"] {
        bed.write(name, &base);
    }
    for name in ["n1.km", "n2.km", "n3.km"] {
        bed.write(name, &new);
    }
    bed.write("b.km", &base.repeat(3));
    bed.write("n.km", &new.repeat(3));
    let by_copying = seen(&bed.run(&[
        "compare",
        "b1.km",
        "n1.km",
        "--base",
        "b2.km",
        "--base",
        "b3.km",
        "--new",
        "n2.km",
        "--new",
        "n3.km",
        "--fail-on",
        "regression",
    ]));
    by_copying
        .exits(LOW_RESOLUTION)
        .says("3 against 3 replicates")
        .says("6 sessions are copies");
    let by_joining = seen(&bed.run(&["compare", "b.km", "n.km", "--fail-on", "regression"]));
    by_joining
        .exits(LOW_RESOLUTION)
        .says("3 against 3 replicates")
        .says("6 sessions are copies");
    // The same run on both sides is not a copy.
    let same = seen(&bed.run(&["compare", "b1.km", "b2.km"]));
    same.exits(OK).never_says("copies");
    seen(&bed.run(&["show", "b.km"])).says("6 sessions are copies");
}

#[test]
fn gate_with_low_resolution_does_not_pass() {
    let noisy = Side {
        between: 0.15,
        ..SIDE
    };
    gate(&noisy, &noisy.again(), &[])
        .exits(LOW_RESOLUTION)
        .says("but --resolution asks for 10 %")
        .says("replicates on each side are enough");
    gate(&noisy, &noisy.again(), &["--resolution", "60"]).exits(OK);
    let found = Side {
        factor: 4.0,
        ..noisy.again()
    };
    gate(&noisy, &found, &[]).exits(REGRESSED);
}

#[test]
fn only_inconclusive_medians_fail_the_gate_by_default() {
    // First operations that are too noisy for a verdict.
    let wild = |seed| Side {
        seed,
        change: |values| {
            let last = values.len() - 1;
            values[last] *= 50.0;
        },
        ..SIDE
    };
    let bed = Bed::new();
    bed.write("base.km", &wild(1).stream());
    bed.write(
        "new.km",
        &Side {
            cold: 1.2,
            ..wild(2)
        }
        .stream(),
    );
    let gate = |more: &[&str]| {
        let fixed = ["compare", "base.km", "new.km", "--fail-on", "inconclusive"];
        seen(&bed.run(&[&fixed, more].concat()))
    };
    gate(&[]).exits(OK);
    gate(&["--only", "p50,cold", "--resolution", "100"]).exits(INCONCLUSIVE);
}

#[test]
fn coarse_clocks_do_not_make_real_changes_equivalent() {
    // One session of a real run: 500 samples of 33 operations, measured with a 2.3 GHz counter.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/real.km");
    let real = session::read(&fs::read(file).unwrap());
    assert!(real.metrics.len() > 20);
    let mut decided = BTreeMap::new();
    for hz in [25_000_000_u64, 1_000_000] {
        for locked in [false, true] {
            let bed = Bed::new();
            bed.write("base.km", &coarse(&real, hz, 1.0, 3, locked));
            bed.write("new.km", &coarse(&real, hz, 1.01, 4, locked));
            let output = bed.run(&[
                "compare", "base.km", "new.km", "--margin", "0.5", "--only", "p50", "--format",
                "json",
            ]);
            let text = String::from_utf8(output.stdout).unwrap();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            for metric in json["metrics"].as_array().unwrap() {
                let verdict = metric["verdict"].as_str().unwrap();
                assert!(
                    ["regressed", "inconclusive"].contains(&verdict),
                    "{hz} {locked} {metric}"
                );
                *decided.entry((hz, verdict.to_owned())).or_insert(0) += 1;
            }
        }
    }
    println!("1 % behind coarse clocks: {decided:?}");
    // At 25 MHz, long operations still show the change; at 1 MHz most do not.
    assert!(
        decided.contains_key(&(25_000_000, "regressed".to_owned())),
        "{decided:?}"
    );
}

/// The samples of a real run, `factor` times as long, as a clock of this frequency would measure
/// them. Repeats the session ten times. The phase of time stamps is random, or fixed if `locked`.
fn coarse(
    real: &kernmark::stream::run::Run,
    hz: u64,
    factor: f64,
    seed: u64,
    locked: bool,
) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut lines = Vec::new();
    for _ in 0..10 {
        let start = lines.len();
        let hello = [
            ("port", "fake"),
            ("arch", "none"),
            ("mode", "run"),
            ("clock", "c"),
            ("unit", "cycles"),
            ("hz", &hz.to_string()),
            ("realtime", "no"),
        ];
        lines.extend(record::write(0, "hello", &hello, None));
        for metric in &real.metrics {
            let replicate = &metric.replicates[0];
            if metric.id == "clock.read" || replicate.batch > 1 {
                continue;
            }
            let clock = &real.sessions[replicate.session].clock;
            let ratio = factor * hz as f64 / clock.hz as f64;
            let mut samples = Samples::new();
            let mut count = 0;
            for (ticks, times) in replicate.histogram.iter() {
                for _ in 0..times {
                    let phase = if locked { 0.0 } else { random.f64() };
                    let value = (ticks.0 as f64 * ratio + phase).floor() as u64;
                    *samples.entry(value.max(1)).or_insert(0) += 1;
                    count += 1;
                }
            }
            let side = Side {
                samples: count,
                ..SIDE
            };
            let cold = random.u64(1000..2000);
            side.write(&mut lines, start, &metric.id, &samples, cold);
        }
        let bye = (lines.len() - start).to_string();
        let seq = (lines.len() - start) as u64;
        lines.extend(record::write(seq, "bye", &[("records", &bye)], None));
    }
    lines.join("\n") + "\n"
}
