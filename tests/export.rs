// SPDX-License-Identifier: MIT OR Apache-2.0

//! Exports runs in formats of other programs: two saved runs are compared byte for byte, and arbitrary
//! runs must conform to the grammar of the format.

#[allow(dead_code)]
mod common;
#[path = "common/seen.rs"]
mod seen;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::here;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::Histogram as Hdr;
use kernmark::export::{Carries, Foreign, FOREIGN};
use kernmark::judge::summary::{self, summarise, Status};
use kernmark::stream::histogram::Histogram;
use kernmark::stream::run::{Clock, Entry, Fact, Metric, Outcome, Replicate, Run, Session, Unit};
use kernmark::stream::session;
use kernmark::stream::ticks::Ticks;
use proptest::prelude::*;
use seen::Seen;
use serde_json::{json, Value};

/// A saved run of `tests/golden/export`.
fn saved(name: &str) -> Run {
    let stream = fs::read(here(&format!("tests/golden/export/{name}.run"))).unwrap();
    session::read(&stream)
}

fn format(name: &str) -> &'static Foreign {
    FOREIGN.iter().find(|format| format.name == name).unwrap()
}

fn written(name: &str, run: &Run) -> String {
    (format(name).write)(run)
}

/// Whether a format can represent any metric of a run.
fn can_represent(format: &Foreign, run: &Run) -> bool {
    format.losses(run).is_ok()
}

#[test]
fn every_format_matches_its_golden_file() {
    for name in ["time", "instructions"] {
        let run = saved(name);
        for format in FOREIGN.iter().filter(|format| can_represent(format, &run)) {
            let path = here(&format!("tests/golden/export/{name}.{}", format.name));
            let text = (format.write)(&run);
            if std::env::var_os("WRITE_GOLDEN").is_some() {
                fs::write(&path, &text).unwrap();
            }
            let golden = fs::read_to_string(&path).unwrap();
            if format.name == "hdr" {
                // Another version of the compressor may produce other bytes.
                assert_eq!(unpacked(&text), unpacked(&golden), "{name}");
            } else {
                assert_eq!(text, golden, "{name} as {}", format.name);
            }
        }
    }
}

#[test]
fn google_benchmark_has_the_cpu_time_of_the_kernel() {
    let mut run = saved("time");
    let sleeping = run
        .metrics
        .iter()
        .position(|m| m.id != "clock.read")
        .unwrap();
    for replicate in &mut run.metrics[sleeping].replicates {
        replicate.cpu_ns = Some(7 * replicate.samples() * replicate.batch);
    }
    let id = run.metrics[sleeping].id.clone();
    let document: Value = serde_json::from_str(&written("google-benchmark", &run)).unwrap();
    let all = document["benchmarks"].as_array().unwrap();
    let timed = all.iter().filter(|entry| entry["cpu_time"].is_number());
    for entry in timed {
        let [real, cpu] = ["real_time", "cpu_time"].map(|key| entry[key].as_f64().unwrap());
        let name = entry["aggregate_name"].as_str();
        let expected = match name {
            _ if entry["run_name"] != *id => real,
            Some("stddev" | "cv") => 0.0,
            _ => 7.0,
        };
        assert!((cpu - expected).abs() < 1e-9, "{entry}");
    }
    assert!(all
        .iter()
        .any(|entry| entry["run_name"] == *id && entry["cpu_time"] == 7.0));
}

/// The lines of an interval log, with decoded histograms.
fn unpacked(log: &str) -> Vec<String> {
    let payload = |line: &str| Some(line.rsplit_once(',')?.1.to_owned());
    let mut histograms = histograms(log).into_iter();
    log.lines()
        .map(|line| match payload(line) {
            Some(text) if text.starts_with("HIST") => {
                let histogram = histograms.next().unwrap();
                line.replace(&text, &format!("{:?}", histogram.values))
            }
            _ => line.to_owned(),
        })
        .collect()
}

/// A histogram of an interval log.
struct Interval {
    tag: String,
    replicate: u64,
    /// Values and their counts.
    values: Vec<(u64, u64)>,
}

fn histograms(log: &str) -> Vec<Interval> {
    let mut deserializer = Deserializer::new();
    IntervalLogIterator::new(log.as_bytes())
        .filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        })
        .map(|interval| {
            let bytes = base64(interval.encoded_histogram());
            let histogram: Hdr<u64> = deserializer.deserialize(&mut &bytes[..]).unwrap();
            let values = histogram.iter_recorded();
            let values = values.map(|v| (v.value_iterated_to(), v.count_at_value()));
            Interval {
                tag: interval.tag().unwrap().as_str().to_owned(),
                replicate: interval.start_timestamp().as_secs(),
                values: values.collect(),
            }
        })
        .collect()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = text.trim_end_matches('=');
    let digit = |c: char| DIGITS.find(c).unwrap_or_else(|| panic!("{c:?} in base64")) as u32;
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for c in text.chars() {
        held = held << 6 | digit(c);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

#[test]
fn histograms_have_three_digits_of_every_sample() {
    let run = saved("time");
    let log = written("hdr", &run);
    let take = "semaphore.take.blocking.u_to_u";
    let all = histograms(&log);
    let found: Vec<_> = all.iter().filter(|interval| interval.tag == take).collect();
    assert_eq!(found.len(), 7);
    let metric = run.metrics.iter().find(|m| m.id == take).unwrap();
    for (interval, replicate) in found.into_iter().zip(&metric.replicates) {
        assert_eq!(interval.replicate, replicate.session as u64);
        let exact: Vec<(u64, u64)> = replicate.histogram.iter().map(|(t, n)| (t.0, n)).collect();
        assert_eq!(exact.len(), interval.values.len());
        for ((ticks, count), (value, counted)) in exact.iter().zip(&interval.values) {
            // 2.5 ticks are a nanosecond; values are in thousandths of a nanosecond.
            let exact = *ticks as f64 * 400.0;
            assert_eq!(count, counted);
            assert!(
                (*value as f64 - exact).abs() <= exact / 1000.0,
                "{value} is not {exact}"
            );
        }
    }
}

#[test]
fn metrics_without_a_number_are_explained_or_counted() {
    let run = saved("time");
    let without: Vec<_> = summarise(&run)
        .into_iter()
        .filter(|s| s.status != Status::Ok)
        .map(|s| (s.id, s.reason.unwrap()))
        .collect();
    assert_eq!(without.len(), 3);
    for name in [
        "go",
        "google-benchmark",
        "zephyr",
        "kcidb",
        "openmetrics",
        "hdr",
        "junit",
    ] {
        let text = written(name, &run);
        for (id, reason) in &without {
            let start = reason.split(['"', '\t']).next().unwrap();
            assert!(text.contains(id.as_str()), "{name}: no {id}");
            assert!(text.contains(start), "{name}: no {start}");
        }
    }
    for name in ["bencher", "github-action-benchmark", "fuchsiaperf"] {
        let text = written(name, &run);
        assert!(
            without.iter().all(|(id, _)| !text.contains(id.as_str())),
            "{name}"
        );
        let losses = format(name).losses(&run).unwrap();
        assert_eq!(
            losses[1],
            format!(
                "{name} leaves out 3 metrics without a number (4 measured, 1 skipped, 2 failed)"
            )
        );
    }
}

#[test]
fn kcidb_submission_has_the_status_of_each_metric() {
    let document: Value = serde_json::from_str(&written("kcidb", &saved("time"))).unwrap();
    let found: Vec<_> = document["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| {
            (
                test["path"].as_str().unwrap(),
                test["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("kernmark.clock.read", "DONE"),
            ("kernmark.semaphore.take.blocking.u_to_u", "DONE"),
            ("kernmark.semaphore.give.wake-ctx.u_to_u", "DONE"),
            ("kernmark.channel.write.64", "DONE"),
            ("kernmark.thread.yield.preemptive.ctx.u_to_u", "SKIP"),
            ("kernmark.mutex.lock.contended.u_to_u", "FAIL"),
            ("kernmark.futex.wake.cross_cpu", "FAIL"),
        ]
    );
    let other = written("kcidb", &saved("instructions"));
    let ids = |text: &str| -> BTreeSet<String> {
        let document: Value = serde_json::from_str(text).unwrap();
        let tests = document["tests"].as_array().unwrap();
        tests.iter().map(|test| test["id"].to_string()).collect()
    };
    assert!(ids(&other).is_disjoint(&ids(&document.to_string())));
}

#[test]
fn documentation_lists_every_format() {
    let page = fs::read_to_string(here("doc/formats.md")).unwrap();
    for format in FOREIGN {
        let name = format!("| `{}` |", format.name);
        let row = page.lines().find(|line| line.starts_with(&name));
        let row = row.unwrap_or_else(|| panic!("doc/formats.md has no row {name}"));
        assert!(
            row.contains(format.leaves_out),
            "{row}: {}",
            format.leaves_out
        );
    }
}

/// Runs the tool with a fixed width.
fn kernmark(arguments: &[&str]) -> Seen {
    Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(arguments)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
        .into()
}

#[test]
fn show_prints_the_format_and_its_losses() {
    let run = here("tests/golden/export/instructions.run");
    let run = run.to_str().unwrap();
    let seen = kernmark(&["show", run, "--format", "go"]);
    let golden = fs::read_to_string(here("tests/golden/export/instructions.go")).unwrap();
    assert_eq!((seen.status, &seen.out), (Some(0), &golden));
    let loss = "kernmark: go leaves out distributions, tails, cold samples and proofs\n";
    assert_eq!(seen.err, loss);
    let refused = kernmark(&["show", run, "--format", "zephyr"]);
    refused.expect(
        1,
        "",
        "zephyr can only represent times, and this run has none; choose another format",
    );
    assert_eq!(refused.out, "");
    // The exit status of a run with failures does not depend on the format.
    let run = here("tests/golden/export/time.run");
    kernmark(&["show", run.to_str().unwrap(), "--format", "bencher"]).expect(
        1,
        "\"clock.read\": {\"latency\":",
        "bencher leaves out 3 metrics without a number",
    );
}

#[test]
fn run_prints_the_format_too() {
    let run = here("tests/golden/export/instructions.run");
    let on = format!("file:{}", run.display());
    let saved = common::scratch("export").join("again.run");
    let _ = fs::remove_file(&saved);
    let arguments = [
        "run",
        "--on",
        &on,
        "-o",
        saved.to_str().unwrap(),
        "--format",
    ];
    let of = |name: &'static str| {
        let seen = kernmark(&[&arguments[..], &[name]].concat());
        assert!(saved.exists(), "{seen:#?}");
        fs::remove_file(&saved).unwrap();
        seen
    };
    of("fuchsiaperf").expect(0, "\"values\":[318.0,318.0]", "saved: ");
    // A run that the format cannot represent is still saved.
    of("google-benchmark").expect(1, "", "google-benchmark can only represent times");
}

#[test]
fn help_lists_the_losses_of_each_format() {
    for command in ["show", "run"] {
        let seen = kernmark(&[command, "--help"]);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let help = words(&seen.out);
        for format in FOREIGN {
            let line = format!(
                "{}: {}; leaves out {}",
                format.name, format.about, format.leaves_out
            );
            assert!(help.contains(&words(&line)), "no {line:?} in {help}");
        }
    }
}

/// Any text, often one with a meaning in some format.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "semaphore.take.blocking.k_to_k",
            "give.wake+ctx",
            "a - b : 5 cycles , 2 ns :",
            "BenchmarkX 1 1 ns/op\nUnit x",
            "PROJECT EXECUTION SUCCESSFUL",
            "\"} 1\n# EOF",
            "x,y z\\",
            "..",
            "-8",
            "",
        ])
        .prop_map(str::to_owned),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Ok),
        1 => text().prop_map(Outcome::Skipped),
        1 => text().prop_map(Outcome::Failed),
        1 => text().prop_map(Outcome::Incomplete),
    ]
}

fn replicate(session: usize) -> impl Strategy<Value = Replicate> {
    let counts = prop::collection::vec((any::<u64>(), 1u64..), 1..4);
    (
        outcome(),
        0u64..5000,
        prop::option::of(any::<u64>()),
        counts,
    )
        .prop_map(move |(outcome, batch, cold, counts)| Replicate {
            session,
            histogram: counts
                .into_iter()
                .filter(|_| outcome == Outcome::Ok)
                .map(|(ticks, count)| (Ticks(ticks), count))
                .collect::<Histogram>(),
            outcome,
            batch,
            asked: 5,
            cold: cold.map(Ticks),
            stat: None,
            cpu_ns: None,
            proofs: Vec::new(),
        })
}

fn session() -> impl Strategy<Value = Session> {
    (
        text(),
        text(),
        text(),
        any::<bool>(),
        1u64..,
        prop::collection::vec(fact(), 0..3),
    )
        .prop_map(|(port, arch, name, timed, hz, facts)| Session {
            port,
            arch,
            clock: Clock {
                name,
                unit: if timed {
                    Unit::Cycles
                } else {
                    Unit::Instructions
                },
                hz: if timed { hz } else { 0 },
            },
            realtime: timed,
            facts,
            during: Vec::new(),
            complete: true,
        })
}

fn fact() -> impl Strategy<Value = Fact> {
    let known = [
        "tool",
        "started",
        "kernel",
        "cpu_model",
        "flags",
        "variant",
        "cpu_count",
    ];
    let name = prop_oneof![
        text(),
        prop::sample::select(known.to_vec()).prop_map(str::to_owned)
    ];
    (name, text()).prop_map(|(name, value)| Fact { name, value })
}

prop_compose! {
    fn any_run()(
        host in prop::collection::vec(fact(), 0..8),
        session in session(),
        ids in prop::collection::btree_set(text(), 0..5),
    )(
        metrics in ids
            .into_iter()
            .map(|id| (Just(id), replicate(0), replicate(1), replicate(2), text()))
            .collect::<Vec<_>>(),
        host in Just(host),
        session in Just(session),
    ) -> Run {
        let entry = |(id, .., about): &(String, Replicate, Replicate, Replicate, String)| Entry {
            metric: id.clone(),
            about: about.clone(),
            bytes: Some(64),
            ..Entry::default()
        };
        Run {
            host,
            // All sessions have the same clock, because replicates of different clocks have no number.
            sessions: vec![session; 3],
            catalog: metrics.iter().map(entry).collect(),
            metrics: metrics
                .into_iter()
                .map(|(id, a, b, c, _)| Metric { case: id.clone(), id, replicates: vec![a, b, c] })
                .collect(),
            ..Run::default()
        }
    }
}

/// Ids and values of the metrics that a format can represent.
fn expected(run: &Run, carries: Carries) -> Vec<(String, Vec<f64>)> {
    summary::values(run)
        .into_iter()
        .filter(|metric| metric.status == Status::Ok)
        .filter(|metric| carries == Carries::All || metric.unit == Unit::Cycles)
        .map(|metric| (metric.id.to_owned(), metric.values))
        .collect()
}

/// A name with decoded escapes: `%2c` or `\x2c`.
fn decoded(name: &str, escape: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(escape) {
            bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
            rest = &after[2..];
        } else {
            assert!(c.is_ascii_alphanumeric() || "._+".contains(c), "{name:?}");
            bytes.push(c as u8);
            rest = &rest[1..];
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Parses a sample by the grammar of `OpenMetrics` text: name, labels and value.
fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (name, mut rest) = line.split_once('{').unwrap();
    assert!(is_name(name), "{line:?}");
    let mut labels = Vec::new();
    while !rest.starts_with('}') {
        let (label, text) = rest.split_once("=\"").unwrap();
        assert!(is_name(label), "{line:?}");
        let mut value = String::new();
        let mut chars = text.chars();
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => match chars.next().unwrap() {
                    'n' => value.push('\n'),
                    c @ ('"' | '\\') => value.push(c),
                    c => panic!("\\{c} in {line:?}"),
                },
                c => value.push(c),
            }
        }
        labels.push((label.to_owned(), value));
        rest = chars.as_str();
        if let Some(after) = rest.strip_prefix(',') {
            assert!(!after.starts_with('}'), "{line:?}");
            rest = after;
        }
    }
    let value = rest.strip_prefix("} ").unwrap().parse().unwrap();
    (name.to_owned(), labels, value)
}

/// The requirements of KCIDB's schema for the members that we write.
fn kcidb_schema() -> Value {
    let origin = json!({ "type": "string", "pattern": "^[a-z0-9_]+$" });
    let id = json!({ "type": "string", "pattern": "^[a-z0-9_]+:[^\\u0000]*$" });
    let text = json!({ "type": "string", "pattern": "^[^\\u0000]*$" });
    let object = |required: Value, properties: Value| {
        json!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        })
    };
    let several = |items: Value| json!({ "type": "array", "items": items });
    object(
        json!(["version", "checkouts", "builds", "tests"]),
        json!({
            "version": { "const": { "major": 5, "minor": 3 } },
            "checkouts": several(object(
                json!(["id", "origin"]),
                json!({ "id": id, "origin": origin, "comment": text }),
            )),
            "builds": several(object(
                json!(["id", "origin", "checkout_id"]),
                json!({
                    "id": id,
                    "origin": origin,
                    "checkout_id": id,
                    "comment": text,
                    "architecture": { "type": "string", "pattern": "^[a-z0-9_]*$" },
                    "misc": { "type": "object" },
                }),
            )),
            "tests": several(object(
                json!(["id", "origin", "build_id", "path", "status", "misc", "environment"]),
                json!({
                    "id": id,
                    "origin": origin,
                    "build_id": id,
                    "path": {
                        "type": "string",
                        "pattern": r"^[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*$",
                    },
                    "comment": text,
                    "log_excerpt": { "type": "string", "maxLength": 16384 },
                    "start_time": text,
                    "status": { "enum": ["FAIL", "ERROR", "DONE", "SKIP"] },
                    "number": object(
                        json!(["value", "unit"]),
                        json!({ "value": { "type": "number" }, "unit": text }),
                    ),
                    "environment": object(
                        json!(["comment", "misc"]),
                        json!({ "comment": text, "misc": { "type": "object" } }),
                    ),
                    "misc": { "type": "object" },
                }),
            )),
        }),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_run_is_go_benchmark_text(run in any_run()) {
        let text = written("go", &run);
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(result) = line.strip_prefix("BenchmarkKernmark/") {
                let fields: Vec<&str> = result.split(' ').collect();
                prop_assert!(fields.len() == 4 || fields.len() == 6, "{}", line);
                fields[1].parse::<i64>().unwrap();
                lines.push((decoded(fields[0], "%"), fields[2].parse::<f64>().unwrap()));
            } else if !line.starts_with("Unit instructions/op better=lower") {
                let (key, _) = line.split_once(": ").unwrap();
                let plain = |c: char| c.is_ascii_lowercase() || c == '-';
                prop_assert!(key.chars().all(plain), "{}", line);
            }
        }
        let expected: Vec<(String, f64)> = expected(&run, Carries::All)
            .into_iter()
            .flat_map(|(id, values)| values.into_iter().map(move |value| (id.clone(), value)))
            .collect();
        prop_assert_eq!(lines, expected);
    }

    #[test]
    fn any_run_is_google_benchmark_json(run in any_run()) {
        let document: Value = serde_json::from_str(&written("google-benchmark", &run)).unwrap();
        let mut found: Vec<(String, Vec<f64>)> = Vec::new();
        for entry in document["benchmarks"].as_array().unwrap() {
            let name = entry["run_name"].as_str().unwrap();
            if entry["run_type"] == "aggregate" || entry["error_occurred"] == true {
                continue;
            }
            if entry["repetition_index"] == 0 {
                found.push((name.to_owned(), Vec::new()));
            }
            found.last_mut().unwrap().1.push(entry["real_time"].as_f64().unwrap());
        }
        prop_assert_eq!(found, expected(&run, Carries::Time));
    }

    #[test]
    fn any_run_is_json_of_bencher_github_action_and_fuchsia(run in any_run()) {
        let expected = expected(&run, Carries::All);
        let ids: BTreeSet<&str> = expected.iter().map(|(id, _)| id.as_str()).collect();
        let bencher: Value = serde_json::from_str(&written("bencher", &run)).unwrap();
        let bencher = bencher.as_object().unwrap();
        prop_assert_eq!(bencher.keys().map(String::as_str).collect::<BTreeSet<_>>(), ids);
        let points: Value =
            serde_json::from_str(&written("github-action-benchmark", &run)).unwrap();
        let points = points.as_array().unwrap();
        prop_assert_eq!(points.len(), expected.len());
        for (point, (id, _)) in points.iter().zip(&expected) {
            prop_assert_eq!(point["name"].as_str(), Some(id.as_str()));
            prop_assert!(point["value"].is_number());
        }
        let cases: Value = serde_json::from_str(&written("fuchsiaperf", &run)).unwrap();
        let cases = cases.as_array().unwrap();
        prop_assert_eq!(cases.len(), expected.len());
        for (case, (id, values)) in cases.iter().zip(&expected) {
            prop_assert_eq!(decoded(case["label"].as_str().unwrap(), "\\x"), id.as_str());
            prop_assert_eq!(&case["values"], &json!(values));
        }
    }

    #[test]
    fn any_run_is_zephyr_console_output(run in any_run()) {
        let text = written("zephyr", &run);
        let mut found = Vec::new();
        for line in text.lines() {
            // (?P<metric>.*) - (?P<description>.*):(?P<cycles>.*) cycles ,(?P<nanoseconds>.*) ns
            let Some((head, ns)) = line.rsplit_once(" cycles ,") else { continue };
            let Some((named, cycles)) = head.rsplit_once(':') else { continue };
            let Some((id, _)) = named.rsplit_once(" - ") else { continue };
            let (ns, _) = ns.rsplit_once(" ns").unwrap();
            let whole = |text: &str| text.trim().parse::<u128>().is_ok();
            prop_assert!(whole(cycles) && whole(ns), "{}", line);
            found.push(decoded(id, "%"));
        }
        let ids: Vec<String> = expected(&run, Carries::Time).into_iter().map(|(id, _)| id).collect();
        prop_assert_eq!(found, ids);
        let failed = summarise(&run)
            .iter()
            .any(|s| matches!(s.status, Status::Failed | Status::Incomplete));
        prop_assert_eq!(text.contains("PROJECT EXECUTION SUCCESSFUL"), !failed);
    }

    #[test]
    fn any_run_is_a_kcidb_submission(run in any_run()) {
        let document: Value = serde_json::from_str(&written("kcidb", &run)).unwrap();
        let schema = jsonschema::validator_for(&kcidb_schema()).unwrap();
        let errors: Vec<String> = schema.iter_errors(&document).map(|e| e.to_string()).collect();
        prop_assert!(errors.is_empty(), "{:?}", errors);
        let tests = document["tests"].as_array().unwrap();
        prop_assert_eq!(tests.len(), run.metrics.len());
        for (test, metric) in tests.iter().zip(&run.metrics) {
            prop_assert_eq!(test["misc"]["metric"].as_str(), Some(metric.id.as_str()));
            prop_assert_eq!(test["status"] == "DONE", test["number"]["value"].is_number());
        }
    }

    #[test]
    fn any_run_is_openmetrics_text(run in any_run()) {
        let text = written("openmetrics", &run);
        prop_assert!(text.ends_with("# EOF\n"));
        let mut medians = 0;
        let mut families = BTreeSet::new();
        for line in text.strip_suffix("# EOF\n").unwrap().lines() {
            if let Some(head) = line.strip_prefix("# ") {
                if let Some(family) = head.strip_prefix("TYPE ") {
                    prop_assert!(families.insert(family.to_owned()), "{}", line);
                }
                continue;
            }
            let (_, labels, value) = sample(line);
            let names: BTreeSet<_> = labels.iter().map(|(name, _)| name).collect();
            prop_assert_eq!(names.len(), labels.len());
            prop_assert!(value.is_finite() && value >= 0.0);
            let median = ("statistic".to_owned(), "median".to_owned());
            medians += usize::from(labels.contains(&median));
        }
        prop_assert_eq!(medians, expected(&run, Carries::All).len());
    }

    #[test]
    fn any_run_is_an_interval_log(run in any_run()) {
        let found: Vec<String> = histograms(&written("hdr", &run))
            .into_iter()
            .map(|interval| {
                assert!(interval.values.iter().map(|(_, count)| count).sum::<u64>() > 0);
                decoded(&interval.tag, "%")
            })
            .collect();
        let expected: Vec<String> = expected(&run, Carries::All)
            .into_iter()
            .flat_map(|(id, values)| vec![id; values.len()])
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_run_is_junit_xml(run in any_run()) {
        let text = written("junit", &run);
        let document = roxmltree::Document::parse(&text).unwrap();
        let cases: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
            .collect();
        prop_assert_eq!(cases.len(), run.metrics.len());
        for (case, summary) in cases.iter().zip(summarise(&run)) {
            let has = |tag: &str| case.children().any(|node| node.has_tag_name(tag));
            let ended = (has("skipped"), has("failure"), has("error"));
            let expected = match summary.status {
                Status::Ok => (false, false, false),
                Status::Skipped => (true, false, false),
                Status::Failed => (false, true, false),
                Status::Incomplete => (false, false, true),
            };
            prop_assert_eq!(ended, expected);
        }
    }
}
