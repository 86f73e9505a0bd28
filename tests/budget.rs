// SPDX-License-Identifier: MIT OR Apache-2.0

//! Budgets: the report and the exit status for runs within and over their limits.

#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;

use std::fs;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use saved::stream;
use seen::Seen;

const LIMITS: &str = r#"
[[limit]]
metric = "semaphore.take.*"
why = "The audio thread must wake within its period of 1.3 ms, which it shares with others."
median = "2 us"
max = "50 us"

[[limit]]
metric = "mutex.lock.a_name_that_is_so_long_that_it_needs_a_line_of_its_own"
median = "1 us"
p99 = "1 ms"

[[limit]]
metric = "fifo.put"
target = "linux"
p99 = "1 ms"

[[limit]]
metric = "gone.*"
target = "freertos"
max = "400 instructions"
"#;

/// Runs the tool in a folder with saved runs and budgets.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        let level = |least: u64, worst: u64| -> Vec<Vec<u64>> {
            (0..10)
                .map(|at| vec![least + at, least + at + 5, worst])
                .collect()
        };
        let long = "mutex.lock.a_name_that_is_so_long_that_it_needs_a_line_of_its_own";
        let run = |take: Vec<Vec<u64>>, put: Vec<Vec<u64>>| {
            let metrics = [
                ("semaphore.take.blocking", take),
                ("semaphore.take.immediate", level(100, 400)),
                (long, level(988, 2000)),
                ("fifo.put", put),
            ];
            stream("cycles", &[("cpu_model", "EPYC")], &metrics)
        };
        let none = || vec![Vec::new(); 10];
        for (name, text) in [
            ("good", run(level(1500, 40_000), level(90, 95))),
            ("slow", run(level(1500, 71_234), level(90, 95))),
            ("skips", run(level(1500, 40_000), none())),
            (
                "exact",
                stream(
                    "instructions",
                    &[],
                    &[("fifo.put", vec![vec![100; 300]; 2])],
                ),
            ),
            ("limits.toml", LIMITS.to_owned()),
            ("take.toml", limit("semaphore.take.*", "max = \"50 us\"")),
            ("put.toml", limit("fifo.put", "max = \"1 us\"")),
            ("exact.toml", limit("fifo.put", "p99 = \"99 instructions\"")),
            ("other.toml", limit("x", "target = \"xen\"\nmax = \"1 s\"")),
            ("typo.toml", limit("fifo.putt", "max = \"1 us\"")),
            ("unit.toml", limit("fifo.put", "max = \"1 month\"")),
        ] {
            fs::write(bed.0.path().join(name), text).unwrap();
        }
        bed
    }

    fn run(&self, arguments: &str) -> Seen {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .env_clear()
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }
}

fn limit(metric: &str, rest: &str) -> String {
    format!("# Why.\n[[limit]]\nmetric = \"{metric}\"\n{rest}\n")
}

/// The text from `mark` on.
fn after(text: &str, mark: &str) -> String {
    let at = text
        .find(mark)
        .unwrap_or_else(|| panic!("no {mark} in {text}"));
    text[at..].to_owned()
}

#[test]
fn run_over_its_limits_fails_and_shows_the_excess() {
    let bed = Bed::new();
    bed.run("show good --budget take.toml")
        .expect(0, "0 over, 0 inconclusive, 2 within", "");
    bed.run("show slow --budget take.toml")
        .expect(3, "71.2 us", "");
    bed.run("compare good slow --budget take.toml")
        .expect(3, "+42.5 %", "");
    bed.run("compare slow good --budget take.toml")
        .expect(0, "2 within", "");
    bed.run("show exact --budget exact.toml")
        .expect(3, "100 instructions", "");
    let seen = bed.run("show slow --budget limits.toml");
    assert_eq!(seen.status, Some(3));
    assert_snapshot!("table", after(&seen.out, "budget"));
    let seen = bed.run("compare good slow --budget limits.toml --format md");
    assert_snapshot!("markdown", after(&seen.out, "### budget"));
}

#[test]
fn table_fits_60_columns() {
    let bed = Bed::new();
    let seen: Seen = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(["show", "slow", "--budget", "limits.toml"])
        .current_dir(bed.0.path())
        .env_clear()
        .env("COLUMNS", "60")
        .output()
        .unwrap()
        .into();
    assert_snapshot!("table_60", after(&seen.out, "budget"));
}

#[test]
fn unjudged_limits_never_pass() {
    let bed = Bed::new();
    let inconclusive = [
        (
            "show skips --budget put.toml",
            "skipped: needs priority fifo.put (max)",
        ),
        (
            "show good --budget limits.toml",
            "p99 needs 299 samples per replicate, but there are 3",
        ),
        (
            "show exact --budget put.toml",
            "it counts instructions, but the limit is a time",
        ),
    ];
    for (arguments, reason) in inconclusive {
        let seen = bed.run(arguments);
        assert_eq!(seen.status, Some(4), "{seen:#?}");
        let words: Vec<&str> = seen.out.split_whitespace().collect();
        assert!(words.join(" ").contains(reason), "{seen:#?}");
    }
    bed.run("show good --budget other.toml")
        .expect(5, "1 limit is for other targets: xen", "");
}

#[test]
fn most_serious_status_counts() {
    let bed = Bed::new();
    bed.run("compare slow skips --budget put.toml --fail-on missing")
        .expect(4, "1 missing", "");
    bed.run("compare slow skips --budget take.toml --fail-on missing")
        .expect(5, "1 missing", "");
    bed.run("compare good slow --budget take.toml --fail-on missing")
        .expect(3, "", "");
    let slow = fs::read_to_string(bed.0.path().join("slow")).unwrap();
    fs::write(bed.0.path().join("cut"), &slow[..slow.len() - 20]).unwrap();
    bed.run("show cut --budget take.toml")
        .expect(1, "1 over", "");
}

#[test]
fn invalid_budgets_are_rejected() {
    let bed = Bed::new();
    for (file, why) in [
        ("none.toml", "cannot read the budget none.toml"),
        (
            "typo.toml",
            "typo.toml:2: the run has no metric `fifo.putt`; did you mean fifo.put?",
        ),
        ("unit.toml", "unit.toml:4: max: `month` is not a unit"),
    ] {
        for command in ["show good", "compare good slow"] {
            bed.run(&format!("{command} --budget {file}"))
                .expect(2, "", why);
        }
    }
    // The tool reads the budget before it measures.
    bed.run("run --on file:good --budget unit.toml")
        .expect(2, "", "`month`");
    bed.run("show good --metric fifo.put --budget put.toml")
        .expect(2, "", "cannot be used");
}

#[test]
fn new_runs_are_judged_too() {
    let bed = Bed::new();
    for (file, status) in [("take.toml", 3), ("put.toml", 0)] {
        bed.run(&format!("run --on file:slow -o {file}.km --budget {file}"))
            .expect(status, "0 inconclusive", "saved");
    }
}

#[test]
fn every_format_includes_the_budget() {
    let bed = Bed::new();
    let json = bed.run("show slow --budget limits.toml --format json");
    assert_eq!(json.status, Some(3));
    let parsed = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let schema = parsed(include_str!("../doc/run.schema.json"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document = parsed(&json.out);
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let limits = document["budget"]["limits"].as_array().unwrap();
    assert_eq!(limits.len(), 7);
    assert_eq!(limits[1]["finding"], "over");
    assert_eq!(limits[1]["value"], 71_234.0);
    assert_eq!(
        document["budget"]["elsewhere"],
        serde_json::json!(["freertos"])
    );
    for (at, value) in [("finding", "fine"), ("figure", "mean"), ("unit", "us")] {
        let mut broken = document.clone();
        broken["budget"]["limits"][1][at] = value.into();
        assert!(!validator.is_valid(&broken), "{at}");
    }
    let json = bed.run("compare good slow --budget limits.toml --format json");
    assert_eq!(parsed(&json.out)["budget"], document["budget"]);
    bed.run("show slow --budget limits.toml --format csv")
        .expect(3, "semaphore.take.blocking,", "1 over");
    bed.run("show slow --format json").expect(0, "", "");
}
