// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `kernmark import`, and other commands with result files of other tools.

#[path = "common/runs.rs"]
mod runs;
#[path = "common/seen.rs"]
mod seen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use runs::saved_runs;
use seen::Seen;
use tempfile::TempDir;

/// A working directory, which is also the home directory.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernmark"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env("HOME", self.0.path())
            .env_remove("XDG_DATA_HOME")
            .env("COLUMNS", "100");
        Seen::from(command.output().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.path().join(name), text).unwrap();
        name.to_owned()
    }

    fn saved(&self) -> Vec<PathBuf> {
        saved_runs(&self.0.path().join(".local/share/kernmark/runs"))
    }
}

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn import_is_saved_to_the_given_file() {
    let bed = Sandbox::new();
    let file = capture("zephyr-latency-3.6.txt");
    let seen = bed.run(&["import", &file]);
    seen.expect(0, "9 measured, 0 skipped, 0 failed", "");
    assert_eq!(seen.err, "", "nothing is saved");
    seen.expect(0, "yield.preemptive.ctx.k_to_k        2.74 us", "");
    assert!(seen.out.contains("zephyr-latency-3.6.txt") && seen.out.contains("mean"));
    assert_eq!(bed.run(&["show", &file]).out, seen.out);
    bed.run(&["import", &file, "-o", "mine.km"])
        .expect(0, &seen.out, "saved: mine.km");
    assert_eq!(bed.run(&["show", "mine.km"]).out, seen.out);
    // An import is not a run of a target, so `show` without a file does not find it.
    assert!(bed.saved().is_empty());
    bed.run(&["show"]).expect(1, "", "no run of linux is saved");
}

#[test]
fn several_files_are_replicates_for_compare() {
    let bed = Sandbox::new();
    let side = |name: &str, level: f64| -> String {
        let boots: Vec<String> = (0..6)
            .map(|boot| {
                let cycles = (level + f64::from(boot)) as u64;
                let ns = cycles * 1_000_000 / 120_000;
                let row = format!("thread.yield : {cycles} cycles , {ns} ns :\n");
                let log = format!(
                    "*** Booting Zephyr OS build v4.0.0 ***\nSTART - Time Measurement\n{row}\
                     PROJECT EXECUTION SUCCESSFUL\n"
                );
                bed.write(&format!("{name}{boot}.log"), &log)
            })
            .collect();
        let out = format!("{name}.km");
        let mut arguments = vec!["import", "-o", &out];
        arguments.extend(boots.iter().map(String::as_str));
        bed.run(&arguments).expect(0, "6 replicates", "saved: ");
        out
    };
    let (base, new) = (side("base", 1000.0), side("new", 1200.0));
    let gate = ["compare", &base, &new, "--fail-on", "regression"];
    bed.run(&gate).expect(3, "1 regressed", "");
    // A single mean of one boot does not allow a test.
    let alone = |verdict| bed.run(&["compare", "base0.log", "new0.log", "--fail-on", verdict]);
    // A gate that cannot judge does not pass.
    alone("regression").expect(5, "so no test is possible", "");
    alone("inconclusive").expect(4, "+20.0 %", "");
}

/// Zephyr 2.3 prints two sentences with the same beginning that are longer than an id.
#[test]
fn names_longer_than_an_id_are_shown_in_full() {
    let bed = Sandbox::new();
    let title = "Measure average time to signal a sema then test that sema";
    let names = ["signal", "test"].map(|what| format!("{title}: Average semaphore {what} time"));
    let bar = "|----------------------------------------------------------------------------|";
    let log = format!(
        "{bar}\n|                            Latency Benchmark                               |\n{bar}\n\
         | 3 - {title}                  |\n\
         | Average semaphore signal time 63 tcs = 638 nsec                              |\n\
         | Average semaphore test time 49 tcs = 498 nsec                                |\n\
         | E N D                                                                        |\n"
    );
    let file = bed.write("old.log", &log);
    bed.run(&["import", "-o", "old.km", &file])
        .expect(0, "2 measured", "saved: ");
    let seen = bed.run(&["show", "old.km", "--format", "json"]);
    let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    for (metric, name) in run["metrics"].as_array().unwrap().iter().zip(&names) {
        assert_eq!(metric["name"], name.as_str());
        let id = metric["id"].as_str().unwrap();
        assert!(id.len() <= 72 && id.contains('~'), "{id}");
        bed.run(&["show", "old.km"]).expect(0, name, "");
        bed.run(&["show", "old.km", "--format", "md"])
            .expect(0, &format!("<br>{name} |"), "");
        bed.run(&["show", "old.km", "--metric", id])
            .expect(0, name, "");
    }
    // A text that is too long for one record is split.
    let sentence = "name ".repeat(80);
    let result = format!(
        r#"{{"results": [{{"command": "{}", "mean": 1}}]}}"#,
        sentence.trim()
    );
    let file = bed.write("long.json", &result);
    let seen = bed.run(&["show", &file, "--format", "json"]);
    let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(run["metrics"][0]["name"], sentence.trim());
    // A name that fits into the id is not repeated.
    let file = capture("zephyr-latency-3.6.txt");
    let seen = bed.run(&["show", &file, "--format", "json"]);
    let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let metrics = run["metrics"].as_array().unwrap();
    assert!(metrics.len() == 9 && metrics.iter().all(|metric| metric["name"].is_null()));
}

#[test]
fn wrong_figures_in_a_log_are_reported() {
    let bed = Sandbox::new();
    let boot = "*** Booting Zephyr OS build v4.0.0 ***\nSTART - Time Measurement\n";
    let rows = |cycles: [u64; 5]| -> String {
        let row = |(at, c): (usize, u64)| format!("op.{at} : {c} cycles , {} ns :\n", c * 10);
        cycles.into_iter().enumerate().map(row).collect()
    };
    let end = "PROJECT EXECUTION SUCCESSFUL\n";
    for (name, log, expected) in [
        (
            "zeros",
            rows([0; 5]) + end,
            "5 failed: 0, like all other rows: the clock did not run",
        ),
        (
            "unsigned",
            rows([300, 301, 4_294_967_290, 302, 303]) + end,
            "1 failed: 4294967290 is just below 2^32",
        ),
        (
            "wrap",
            rows([120, 130, 33_684, 140, 125]) + end,
            "1 failed: 33684 is 1 x 2^25/1000 above its neighbours",
        ),
        (
            "clock",
            rows([120, 130, 150, 140, 125]) + "op.9 : 100 cycles , 5000 ns :\n" + end,
            "most rows mean 100.0000 MHz",
        ),
        ("cut", rows([120, 130, 150, 140, 125]), "1 session cut off"),
    ] {
        let file = bed.write(name, &format!("{boot}{log}"));
        bed.run(&["show", &file]).expect(1, expected, "");
    }
}

#[test]
fn unreadable_files_are_rejected_and_nothing_is_saved() {
    let bed = Sandbox::new();
    let text = bed.write("text", "words\n");
    bed.run(&["import", &text])
        .expect(1, "", "not a kernmark run, and no known format");
    let json = bed.write("json", "{\"results\": [");
    bed.run(&["import", &json])
        .expect(1, "", "looks like JSON but is invalid");
    bed.run(&["import", "none"])
        .expect(1, "", "cannot read none");
    bed.run(&["import", "--as", "tea", &text])
        .expect(2, "", "[possible values: bencher");
    let other = capture("hyperfine-plain.json");
    bed.run(&["import", "--as", "lmbench", &other])
        .expect(1, "", "no known format");
    let taken = bed.write("taken", "kept");
    bed.run(&["import", "-o", &taken, &other])
        .expect(1, "", "exists and is not overwritten");
    assert_eq!(
        fs::read_to_string(bed.0.path().join("taken")).unwrap(),
        "kept"
    );
    assert!(bed.saved().is_empty());
}

#[test]
fn file_with_two_formats_needs_a_choice() {
    let bed = Sandbox::new();
    let read = |name: &str| fs::read_to_string(capture(name)).unwrap();
    let both = read("zephyr-latency-3.6.txt") + &read("lmbench-lat_ctx.txt");
    let file = bed.write("both.log", &both);
    bed.run(&["import", &file]).expect(
        1,
        "",
        "more than one format: zephyr-latency, lmbench; choose one with --as",
    );
    bed.run(&["import", "--as", "lmbench", &file])
        .expect(0, "3 measured", "");
}

#[test]
fn go_export_is_imported_with_all_replicates() {
    let bed = Sandbox::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/export/time.run");
    let exported = bed.run(&["show", run.to_str().unwrap(), "--format", "go"]);
    let file = bed.write("run.txt", &exported.out);
    let medians = |path: &str| -> Vec<(String, Vec<f64>)> {
        let seen = bed.run(&["show", path, "--format", "json"]);
        let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        let measured = run["metrics"].as_array().unwrap().iter();
        measured
            .filter(|metric| metric["status"] == "ok")
            .map(|metric| {
                let values = metric["replicate_medians"].as_array().unwrap().iter();
                let id = metric["id"].as_str().unwrap().to_owned();
                (id, values.map(|value| value.as_f64().unwrap()).collect())
            })
            .collect()
    };
    let (before, after) = (medians(run.to_str().unwrap()), medians(&file));
    assert!(before.len() >= 3, "{before:?}");
    assert_eq!(before.len(), after.len(), "{after:?}");
    for ((id, values), (same, again)) in before.iter().zip(&after) {
        assert_eq!((id, values.len()), (same, again.len()));
        // An import rounds to picoseconds, and each session has its own measured frequency.
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.000_5 + 1e-5 * a;
        assert!(
            values.iter().zip(again).all(close),
            "{id}: {values:?} {again:?}"
        );
    }
}

#[test]
fn bencher_export_is_imported_with_its_medians() {
    let bed = Sandbox::new();
    for name in ["time", "instructions"] {
        let run =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/export/{name}.run"));
        let exported = bed.run(&["show", run.to_str().unwrap(), "--format", "bencher"]);
        let file = bed.write("run.json", &exported.out);
        let medians = |path: &str| -> Vec<(String, f64)> {
            let seen = bed.run(&["show", path, "--format", "json"]);
            let run: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
            let metrics = run["metrics"].as_array().unwrap().iter();
            let measured = metrics.filter(|metric| metric["status"] == "ok");
            let pair = |metric: &serde_json::Value| {
                let median = metric["median"]
                    .as_f64()
                    .or(metric["median"]["value"].as_f64());
                (metric["id"].as_str().unwrap().to_owned(), median.unwrap())
            };
            measured.map(pair).collect()
        };
        let (mut before, mut after) = (medians(run.to_str().unwrap()), medians(&file));
        before.sort_by(|a, b| a.0.cmp(&b.0));
        after.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(before.len() >= 2, "{before:?}");
        assert_eq!(before.len(), after.len());
        for ((id, value), (same, again)) in before.iter().zip(&after) {
            assert_eq!(id, same);
            assert!(
                (value - again).abs() <= 1e-6 * value,
                "{id}: {value} {again}"
            );
        }
    }
}

#[test]
fn criterion_file_gets_its_name_from_the_file_beside_it() {
    let bed = Sandbox::new();
    let read = |name: &str| fs::read_to_string(capture(name)).unwrap();
    let sample = read("criterion-sample.json");
    let (name, sample) = sample.split_at(sample.find("{\"sampling_mode").unwrap());
    let file = bed.write("sample.json", sample);
    bed.run(&["show", &file]).expect(0, "\n  criterion ", "");
    bed.write("benchmark.json", name);
    bed.run(&["show", &file]).expect(0, "unstable/100 ", "");
    // A file with that name of another tool.
    bed.write("benchmark.json", "{\"context\": {}, \"benchmarks\": []}");
    bed.run(&["show", &file]).expect(0, "\n  criterion ", "");
}
