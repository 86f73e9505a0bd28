// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark history`, and the floors that `compare` takes from saved runs: on runs made here.

mod common {
    #[path = "saved.rs"]
    pub mod saved;
    #[path = "tool.rs"]
    pub mod tool;
}

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use common::saved::stream;
use common::tool::tool_in;
use serde_json::Value;
use tempfile::TempDir;

const METRICS: [&str; 4] = ["futex.wake", "pipe.write", "signal.catch", "syscall.null"];
const DAY: u64 = 86_400;
/// 2026-01-01.
const FIRST: u64 = 1_767_225_600;
const REGRESSED: i32 = 3;
const TOO_FEW: i32 = 5;

/// A folder with saved runs.
struct Bed {
    folder: TempDir,
    random: fastrand::Rng,
}

impl Bed {
    fn new() -> Self {
        Bed {
            folder: TempDir::new().unwrap(),
            random: fastrand::Rng::with_seed(16),
        }
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("data/kernmark/runs")
    }

    /// Saves the run of a day: each metric takes 10 us, times its factor, with 0.5 % of noise.
    fn save(&mut self, day: u64, kernel: &str, factor: impl Fn(&str) -> f64) {
        let time = UNIX_EPOCH + Duration::from_secs(FIRST + day * DAY);
        let started = humantime::format_rfc3339_seconds(time).to_string();
        let facts = [
            ("tool", "kernmark 0.2.0"),
            ("machine", "bench"),
            ("kernel_release", kernel),
            ("started", &started),
        ];
        let mut metrics = vec![("clock.read", vec![vec![20; 5]; 4])];
        for metric in METRICS {
            let mut session = || {
                let noise = 0.01 * (self.random.f64() - 0.5);
                let value = 10_000.0 * factor(metric) * (1.0 + noise);
                vec![value as u64; 5]
            };
            metrics.push((metric, (0..4).map(|_| session()).collect()));
        }
        fs::create_dir_all(self.runs()).unwrap();
        let name = started.replace(['-', ':'], "");
        let path = self.runs().join(format!("{name}-linux-{day:08x}.km"));
        fs::write(path, stream("cycles", &facts, &metrics)).unwrap();
    }

    /// The exit status, standard output and standard error.
    fn kernmark(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = tool_in(self.folder.path(), arguments);
        let output = command.env("LANG", "C.UTF-8").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn gate(&self) -> i32 {
        self.kernmark(&["history", "--fail-on", "regression"]).0
    }
}

/// Ninety days; each kernel lasts this long. From day 60, a metric costs 10 % more.
fn days(bed: &mut Bed, kernel_lasts: u64, step: f64) {
    for day in 0..90 {
        let kernel = format!("6.1.0-{}", 1 + day / kernel_lasts);
        bed.save(day, &kernel, |metric| {
            if metric == "pipe.write" && day >= 60 {
                1.0 + step
            } else {
                1.0
            }
        });
    }
}

#[test]
fn a_step_at_an_event_fails_the_gate_until_it_is_acknowledged() {
    let mut bed = Bed::new();
    days(&mut bed, 30, 0.1);
    let (status, table, errors) = bed.kernmark(&["history"]);
    assert_eq!((status, errors.as_str()), (0, ""));
    insta::assert_snapshot!("step", table);
    assert_eq!(bed.gate(), REGRESSED);

    // The index only saves time.
    let shown = |format: &str| bed.kernmark(&["history", "--format", format]).1;
    let before = ["table", "json", "csv"].map(shown);
    let index = bed.runs().join("index");
    fs::remove_file(&index).unwrap();
    assert_eq!(["table", "json", "csv"].map(shown), before);
    assert!(index.exists());

    let json: Value = serde_json::from_str(&before[1]).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../doc/history.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&json)
        .map(|e| e.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    let changed = json["metrics"].as_array().unwrap().iter();
    let mut changed = changed.filter(|one| one["changes"] != serde_json::json!([]));
    let change = &changed.next().unwrap()["changes"][0];
    assert_eq!((&change["run"], &change["event"]), (&60.into(), &1.into()));
    assert_eq!(change["verdict"], "regressed");
    assert_eq!(before[2].lines().count(), 2);

    let file = "known.toml";
    let ack = |change: &str| {
        bed.kernmark(&[
            "history",
            "ack",
            change,
            "--reason",
            "new pipes",
            "--file",
            file,
        ])
    };
    let (status, _, errors) = ack("pipe.write");
    assert_eq!(
        (status, errors.as_str()),
        (0, "acknowledged in known.toml\n")
    );
    let gate = ["history", "--fail-on", "regression", "--ack", file];
    let (status, table, _) = bed.kernmark(&gate);
    assert_eq!(status, 0);
    assert!(table.contains("acknowledged: new pipes"), "{table}");
    let (status, _, errors) = ack("pipe.write");
    assert_eq!(status, 2);
    assert!(
        errors.contains("no change that is not acknowledged"),
        "{errors}"
    );
    assert_eq!(ack("futex.wake@0123abcd").0, 0);
    let text = fs::read_to_string(bed.folder.path().join(file)).unwrap();
    assert_eq!(text.matches("[[change]]").count(), 2);
    assert_eq!(ack("futex.wake@nonsense").0, 2);
    let after = fs::read_to_string(bed.folder.path().join(file)).unwrap();
    assert_eq!(text, after);
}

#[test]
fn events_without_effect_pass_and_too_few_runs_do_not() {
    let mut bed = Bed::new();
    days(&mut bed, 30, 0.0);
    assert_eq!(bed.gate(), 0);
    let few = [
        "history",
        "--fail-on",
        "regression",
        "--since",
        "2026-03-20",
    ];
    let (status, table, _) = bed.kernmark(&few);
    assert_eq!(status, TOO_FEW);
    assert!(table.contains("not enough runs yet"), "{table}");
    let (status, table, _) = bed.kernmark(&["history", "futex"]);
    assert_eq!(status, 0);
    insta::assert_snapshot!("named", table);
    for (arguments, status, message) in [
        (
            &["history", "nothing"][..],
            2,
            "nothing is called `nothing`",
        ),
        (
            &["history", "--machine", "other"],
            1,
            "no such run of linux",
        ),
        (&["history", "--label", "a=b"], 1, "no such run of linux"),
        (&["history", "--since", "yesterday"], 2, "not a date"),
        (
            &["history", "--ack", "none.toml"],
            1,
            "cannot read none.toml",
        ),
    ] {
        let (seen, _, errors) = bed.kernmark(arguments);
        assert_eq!(seen, status, "{errors}");
        assert!(errors.contains(message), "{errors}");
    }
}

#[test]
fn compare_takes_floors_from_earlier_runs() {
    let mut bed = Bed::new();
    // Unchanged runs of one metric differ by up to 12 %.
    for day in 0..14 {
        bed.save(day, "6.1.0-1", |metric| match metric {
            "pipe.write" => 1.0 + 0.06 * (day % 3) as f64,
            _ => 1.0,
        });
    }
    bed.save(20, "6.1.0-1", |_| 1.0);
    bed.save(21, "6.1.0-1", |metric| match metric {
        "pipe.write" | "futex.wake" => 1.12,
        _ => 1.0,
    });
    let verdicts = |more: &[&str]| -> Vec<(String, String)> {
        let arguments = ["compare", "latest~1", "latest", "--format", "json"];
        let (_, text, errors) = bed.kernmark(&[&arguments[..], more].concat());
        assert_eq!(errors, "");
        let json: Value = serde_json::from_str(&text).unwrap();
        let floors = json["floors"].as_array().unwrap();
        let expected = ["14 earlier runs, 2026-01-01 to 2026-01-14"];
        let expected = if more.is_empty() { &expected[..] } else { &[] };
        assert_eq!(floors, expected);
        let metrics = json["metrics"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let regressed = metrics.filter(|one| one["verdict"] == "regressed");
        regressed
            .map(|one| (text(&one["id"]), text(&one["quantity"])))
            .collect()
    };
    let regressed = |ids: &[&str]| -> Vec<(String, String)> {
        let all = ids.iter();
        all.map(|id| ((*id).to_owned(), "p50".to_owned())).collect()
    };
    assert_eq!(verdicts(&[]), regressed(&["futex.wake"]));
    let both = regressed(&["futex.wake", "pipe.write"]);
    assert_eq!(verdicts(&["--no-floors"]), both);
}
