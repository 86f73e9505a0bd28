// SPDX-License-Identifier: MIT OR Apache-2.0

//! `explain`: the compositions name existing metrics, and the tool shows parts and residual.

// This test uses only some of the helpers.
#[allow(dead_code)]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{here, scratch, succeeds};
use insta::assert_snapshot;
use kernmark::files::reference::{self, Reference};
use kernmark::judge::explain::{self, Composition, CostPart};
use kernmark::stream::record;
use serde_json::Value;

fn compositions() -> Vec<Composition> {
    explain::compositions().unwrap()
}

fn kernmark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernmark"));
    command.args(arguments).env_remove("COLUMNS");
    command
}

/// Whether a pattern with at most one `*` matches an id.
fn matches(pattern: &str, id: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == id,
        Some((start, end)) => {
            let rest = id.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// Asserts that every pattern of a target matches metrics of its catalog, and that the catalog has
/// all their parts.
fn assert_compositions_exist(target: &str, catalog: &BTreeSet<String>) {
    let all = compositions();
    let patterns = explain::patterns(&all, target);
    assert!(patterns.len() > 20, "{target}: {patterns:?}");
    for pattern in patterns {
        let ids: Vec<&String> = catalog.iter().filter(|id| matches(pattern, id)).collect();
        // The FreeRTOS log comes from an image without user threads.
        let needs_user_threads = target == "freertos" && pattern.contains(".u_to_");
        assert!(
            !ids.is_empty() || needs_user_threads,
            "{target} has no metric that matches {pattern}"
        );
        for id in ids {
            let parts = explain::parts(&all, target, id).unwrap();
            for CostPart { metric, .. } in parts {
                assert!(
                    catalog.contains(&metric),
                    "{target} has no {metric}, which is a part of {id}"
                );
                assert_ne!(metric, *id, "a metric cannot be a part of itself");
            }
        }
    }
}

#[test]
fn linux_catalog_has_all_parts() {
    let listed = succeeds(&mut kernmark(&["list", "--format", "csv"]));
    let mut rows = csv::Reader::from_reader(listed.as_bytes());
    let catalog = rows.records().map(|r| r.unwrap()[0].to_owned()).collect();
    assert_compositions_exist("linux", &catalog);
    // `reference.rs` checks the parts that a run in kernel mode has.
    let all = compositions();
    for pattern in explain::patterns(&all, explain::BOTH_MODES) {
        let mut ids = catalog.iter().filter(|id| matches(pattern, id)).peekable();
        assert!(ids.peek().is_some(), "no metric matches {pattern}");
        for id in ids {
            let parts = explain::parts(&all, explain::BOTH_MODES, id).unwrap();
            let own = parts.iter().filter(|part| part.dataset.is_none());
            for CostPart { metric, .. } in own {
                assert!(catalog.contains(metric), "no {metric}, a part of {id}");
            }
        }
    }
}

/// Covers the patterns for kernel threads only, because the log has no user threads.
#[test]
fn freertos_catalog_has_all_parts() {
    let log = fs::read_to_string(here("tests/golden/freertos-m4.log")).unwrap();
    let ids = log.lines().filter_map(|line| {
        let rest = line.split_once("bench metric=")?.1;
        rest.split(' ').next().map(str::to_owned)
    });
    assert_compositions_exist("freertos", &ids.collect());
}

#[test]
fn parts_of_published_figures_are_published() {
    let mut checked = 0;
    let all = compositions();
    for dataset in reference::datasets().unwrap() {
        let suite = Reference::named(dataset.reference().suite()).unwrap();
        let figures = suite.figures().unwrap();
        let has =
            |name: &str, id: &str| figures.iter().any(|f| f.dataset == name && f.name() == id);
        for id in explain::patterns(&all, &dataset.name) {
            assert!(has(&dataset.name, id), "{} has no {id}", dataset.name);
            for part in explain::parts(&all, &dataset.name, id).unwrap() {
                let place = part.dataset.as_ref().unwrap_or(&dataset.name);
                assert!(has(place, &part.metric), "{place} has no {}", part.metric);
                checked += 1;
            }
        }
    }
    assert!(checked >= 3);
}

#[test]
fn every_part_has_a_reason_and_every_target_is_known() {
    let mut targets: BTreeSet<String> = ["linux", "linux-vm", explain::BOTH_MODES, "freertos"]
        .map(String::from)
        .into();
    targets.extend(
        reference::datasets()
            .unwrap()
            .into_iter()
            .map(|one| one.name),
    );
    for composition in compositions() {
        for target in &composition.targets {
            assert!(targets.contains(target), "{target}");
        }
        for part in composition.parts {
            assert!(
                !part.why.is_empty(),
                "{}: {}",
                composition.metric,
                part.metric
            );
        }
    }
}

/// A metric, and the time of its samples in each replicate.
type Costs = (&'static str, fn(u64) -> u64);

/// A saved run of Linux with this many processes; the costs are in ns.
fn saved(name: &str, replicates: u64, metrics: &[Costs]) -> String {
    saved_by("linux-user", "Linux 1", name, replicates, metrics)
}

/// The same by this port, on this kernel.
fn saved_by(port: &str, kernel: &str, name: &str, replicates: u64, metrics: &[Costs]) -> String {
    let mut lines = Vec::new();
    for replicate in 0..replicates {
        let start = lines.len();
        let seq = |lines: &Vec<String>| (lines.len() - start) as u64;
        let hello =
            format!("port={port} arch=none mode=run clock=c unit=cycles hz=1000000000 realtime=no");
        let pairs = |words: &str| -> Vec<(String, String)> {
            let pairs = words.split(' ').map(|word| word.split_once('=').unwrap());
            pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
        };
        let write = |lines: &mut Vec<String>, kind: &str, words: &str, text: Option<&str>| {
            let owned = pairs(words);
            let pairs: Vec<(&str, &str)> = owned
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .collect();
            lines.extend(record::write(seq(lines), kind, &pairs, text));
        };
        write(&mut lines, "hello", &hello, None);
        write(&mut lines, "info", "name=kernel", Some(kernel));
        for (id, value) in metrics {
            let bench = format!("metric={id} case={id} from=0 to=1 switches=0");
            write(&mut lines, "bench", &bench, Some("What it does."));
            write(&mut lines, "begin", &format!("case={id} asked=5"), None);
            write(
                &mut lines,
                "plan",
                &format!("case={id} samples=5 batch=1"),
                None,
            );
            let counts = [(value(replicate), 5)];
            lines.extend(record::write_hist(seq(&lines), id, 0, &counts));
            write(
                &mut lines,
                "proof",
                &format!("case={id} name=order counted=0 low=0 high=0"),
                None,
            );
            write(
                &mut lines,
                "end",
                &format!("case={id} status=ok samples=5"),
                None,
            );
        }
        let records = seq(&lines);
        write(&mut lines, "bye", &format!("records={records}"), None);
    }
    let path: PathBuf = scratch("explain").join(name);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.display().to_string()
}

/// Each sample includes a reading of the clock, 20 ns.
const PIPE: &[Costs] = &[
    ("clock.read", |_| 20),
    ("syscall.null", |_| 100),
    ("pipe.write.64", |_| 180),
    ("pipe.read.64", |r| 180 + r),
    ("yield.threads", |_| 520),
    ("futex.wake.none", |_| 120),
    ("futex.wake.1", |_| 320),
    ("roundtrip.pipe.threads", |r| 2320 + 10 * r),
];

/// The same, and another round trip.
const SEVERAL: &[Costs] = &[
    PIPE[0],
    PIPE[1],
    PIPE[2],
    PIPE[3],
    PIPE[4],
    PIPE[5],
    PIPE[6],
    PIPE[7],
    ("roundtrip.eventfd.threads", |r| 1900 + r),
];

fn json(id: &str, file: &str) -> Value {
    let text = succeeds(&mut kernmark(&["explain", id, file, "--format", "json"]));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn round_trip_is_shown_with_parts_and_residual() {
    let file = saved("pipe", 7, PIPE);
    let shown = |arguments: &[&str], width: &str| {
        let mut all = vec!["explain", "roundtrip.pipe.threads", &file];
        all.extend(arguments);
        succeeds(kernmark(&all).env("COLUMNS", width)).replace(&file, "pipe")
    };
    let table = shown(&[], "100");
    assert_snapshot!("explain_table", table);
    let narrow = shown(&[], "60");
    assert_snapshot!("explain_table_60", narrow);
    for (text, width) in [(&table, 100), (&narrow, 60)] {
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
    }
    assert_snapshot!("explain_markdown", shown(&["--format", "md"], "100"));
    assert_snapshot!("explain_json", shown(&["--format", "json"], "100"));
    // The median replicate, net of the clock: 2 x (160 + 163 + 500 - 80 + 300 - 100) of 2330.
    let whole = json("roundtrip.pipe.threads", &file);
    assert_eq!(
        (&whole["measured"], &whole["sum"]),
        (&Value::from(2330), &Value::from(1886))
    );
    let percents = whole["parts"].as_array().unwrap().iter();
    let percents = percents.map(|part| part["percent"].as_f64().unwrap());
    let total = percents.sum::<f64>() + whole["residual"]["percent"].as_f64().unwrap();
    assert!((total - 100.0).abs() < 1e-9, "{total}");
    // The residual of replicate r is 2300 + 10 r - (1880 + 2 r).
    assert_eq!(whole["residual"]["low"], 420.0);
    assert_eq!(whole["residual"]["high"], 468.0);
    assert_eq!(whole["residual"]["reading"], "rest");
}

#[test]
fn several_metrics_are_listed() {
    let file = saved("several", 7, SEVERAL);
    let shown = |arguments: &[&str]| {
        let all = [&["explain", "roundtrip.*", &file][..], arguments].concat();
        succeeds(kernmark(&all).env("COLUMNS", "80")).replace(&file, "several")
    };
    let table = shown(&["--sort", "residual"]);
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    assert_snapshot!("explain_list", table);
    assert_snapshot!("explain_list_markdown", shown(&["--format", "md"]));
    let first = shown(&["--sort", "cost", "--top", "1"]);
    assert!(
        first.contains("roundtrip.pipe.threads") && first.contains("1 more metric not shown"),
        "{first}"
    );
    let whole: Value = serde_json::from_str(&shown(&["--json", "--top", "1"])).unwrap();
    let metrics = whole["metrics"].as_array().unwrap();
    let ids: Vec<&Value> = metrics.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["roundtrip.pipe.threads", "roundtrip.eventfd.threads"]);
    assert_eq!(metrics[0]["sum"], 1886);
    // One that is left has its page.
    let one = shown(&["--exclude", "*.eventfd.*"]);
    assert!(one.contains("sum of the parts"), "{one}");
    let unknown = kernmark(&["explain", "roundtrip.*", &file, "--exclude", "nothing"])
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

/// A write is the way in, the copy and the way out, which a run in kernel mode has.
#[test]
fn parts_of_kernel_mode_come_from_a_second_run() {
    const USER: &[Costs] = &[("clock.read", |_| 20), ("pipe.write.64", |r| 1020 + r)];
    const KERNEL: &[Costs] = &[
        ("clock.read", |_| 30),
        ("syscall.enter.write.user", |_| 330),
        ("syscall.exit.write.user", |_| 130),
        ("copy.in.user.64", |r| 130 + 2 * r),
        ("mutex.lock.immediate.kernel", |_| 40),
        ("mutex.unlock.immediate.kernel", |_| 40),
        ("waitqueue.wake_up.immediate", |_| 50),
    ];
    let user = saved("both-user", 7, USER);
    let kernel =
        |kernel: &str, name: &str, metrics| saved_by("linux-kernel", kernel, name, 7, metrics);
    let same = kernel("Linux 1", "both-kernel", KERNEL);
    let explain = |files: &[&str]| {
        let words = [&["explain", "pipe.write.64"], files].concat();
        kernmark(&[&words[..], &["--format", "json"]].concat())
            .output()
            .unwrap()
    };
    let whole = explain(&[&user, &same]);
    let whole: Value = serde_json::from_slice(&whole.stdout).unwrap();
    // Each net of the clock of its own run; replicate r has r here and 2 r there.
    assert_eq!(whole["measured"], 1003);
    assert_eq!(whole["sum"], 300 + 100 + 106 + 10 + 10 + 20);
    assert_eq!(whole["residual"]["low"], 454.0);
    assert_eq!(whole["residual"]["high"], 460.0);
    assert_eq!(whole["parts"][0]["dataset"], "linux-vm");

    let absent = kernel("Linux 1", "both-absent", &KERNEL[..2]);
    let absent = explain(&[&user, &absent]);
    let absent: Value = serde_json::from_slice(&absent.stdout).unwrap();
    assert_eq!(absent["residual"]["reading"], "unmeasured");

    let other = kernel("Linux 2", "both-other", KERNEL);
    for (files, said) in [
        ([&user[..], &other[..]], "the runs measured two kernels"),
        ([&same, &user], "the first is in user mode"),
        ([&user, &user], "the second in kernel mode"),
        (
            ["reference:zircon/2018-01-02", &same],
            "no run in kernel mode",
        ),
    ] {
        let refused = explain(&files);
        assert_eq!(refused.status.code(), Some(2));
        let message = String::from_utf8(refused.stderr).unwrap();
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn unmeasured_parts_are_listed_with_the_command_that_measures_them() {
    let file = saved("part", 7, &PIPE[3..]);
    let text = succeeds(&mut kernmark(&["explain", "roundtrip.pipe.threads", &file]));
    let text = text.replace('\n', " ");
    assert!(
        text.contains("not measured: pipe.write.64, syscall.null."),
        "{text}"
    );
    assert!(
        text.contains("kernmark run clock.read roundtrip.pipe.threads pipe.write.64"),
        "{text}"
    );
    assert!(text.contains("no clock.read"), "{text}");
    let whole = json("roundtrip.pipe.threads", &file);
    assert_eq!(whole["clock"], "gross");
    assert_eq!(whole["residual"]["reading"], "unmeasured");
    assert_eq!(whole["residual"]["low"], Value::Null);
}

#[test]
fn parts_that_exceed_the_cost_are_reported() {
    let file = saved(
        "more",
        7,
        &[
            ("clock.read", |_| 20),
            ("signal.delivery", |at| 500 + at),
            ("signal.return", |at| 500 - at),
            ("signal.catch", |_| 900),
        ],
    );
    let text = succeeds(&mut kernmark(&["explain", "signal.catch", &file]));
    assert!(
        text.contains("the composition does not hold here"),
        "{text}"
    );
    assert_eq!(json("signal.catch", &file)["residual"]["value"], -100);
}

#[test]
fn metric_without_composition_is_rejected_with_suggestions() {
    let file = saved("refused", 1, PIPE);
    let refused = |id: &str, file: &str| {
        let output = kernmark(&["explain", id, file]).output().unwrap();
        assert!(output.stdout.is_empty());
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (status, message) = refused("syscall.null", &file);
    assert_eq!(status, Some(2));
    assert!(
        message.contains("the composition of `syscall.null` is not known"),
        "{message}"
    );
    assert!(message.contains("roundtrip.pipe.threads"), "{message}");
    let (status, message) = refused("roundtrip.pipe.thread_", &file);
    assert_eq!(status, Some(2));
    assert!(
        message.contains("did you mean roundtrip.pipe.threads"),
        "{message}"
    );
    let (_, message) = refused("nonsense", &file);
    assert_eq!(message, "kernmark: there is no metric `nonsense`\n");
    let (status, message) = refused("roundtrip.futex.threads", &file);
    assert_eq!(status, Some(1));
    assert!(
        message.contains("kernmark run clock.read roundtrip.futex.threads"),
        "{message}"
    );
    let (status, message) = refused("ipc", "reference:zircon/2018-01-02");
    assert_eq!(status, Some(2));
    assert!(
        message.contains("no metric of zircon/2018-01-02 has a known composition"),
        "{message}"
    );
}

#[test]
fn published_cost_is_explained_with_figures_of_its_suite() {
    let dataset = "reference:composite/2007/composite";
    let whole = json("brand.immediate", dataset);
    assert_eq!(whole["measured"], 3442);
    assert_eq!(whole["sum"], 1306 + 940 + 1110);
    assert_eq!(whole["residual"]["value"], 86);
    assert_eq!(whole["unit"], "cycles");
    assert_eq!(whole["parts"][2]["dataset"], "composite/2007/hardware");
    let text = succeeds(&mut kernmark(&["explain", "brand.immediate", dataset]));
    assert_snapshot!("explain_published", text);
}
