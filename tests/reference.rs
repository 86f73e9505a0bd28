// SPDX-License-Identifier: MIT OR Apache-2.0

//! The published figures in `reference/` are complete, well-formed and consistent.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{here, make, scratch, skipped, succeeds};
use insta::assert_snapshot;
use kernmark::judge::explain;
use kernmark::stream::record;
use kernmark::stream::run::{Entry, Outcome, Run};
use kernmark::stream::session;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

type Row = BTreeMap<String, String>;

/// The rows of a CSV file, by column. Its header must be `header`.
fn read(name: &str, header: &[&str]) -> Vec<Row> {
    let text = fs::read_to_string(path("reference").join(name)).unwrap();
    assert!(
        !text.contains('`') && !text.contains('\r'),
        "{name} has backquotes or carriage returns"
    );
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, fields(line)));
    let (_, found) = lines.next().unwrap();
    assert_eq!(found, header, "{name}");
    lines
        .map(|(number, fields)| {
            assert_eq!(fields.len(), header.len(), "{name}:{number}");
            let columns = header.iter().map(|&column| column.to_owned());
            columns.zip(fields).collect()
        })
        .collect()
}

/// The fields of one line. A quoted field may contain commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted, "unclosed quote: {line}");
    fields
}

const ZEPHYR: &[&str] = &[
    "dataset",
    "benchmark",
    "row",
    "title",
    "cycles",
    "nanoseconds",
];
const ZIRCON: &[&str] = &[
    "dataset",
    "benchmark",
    "row",
    "title",
    "wall_nanoseconds",
    "cpu_nanoseconds",
    "iterations",
    "throughput",
];
const COMPOSITE: &[&str] = &[
    "dataset",
    "benchmark",
    "row",
    "title",
    "cycles",
    "microseconds",
];
const CHANGE: &[&str] = &["from", "to", "benchmark", "improvement_percent"];
const DATASETS: &[&str] = &[
    "dataset",
    "source",
    "system",
    "configuration",
    "machine",
    "statistic",
    "clock_hz",
    "clock_basis",
];
const COMPOSITIONS: &[&str] = &["target", "metric", "count", "part", "dataset", "why"];
const ALIASES: &[&str] = &["dataset", "benchmark", "target", "metric", "note"];

fn zephyr() -> Vec<Row> {
    read("zephyr.csv", ZEPHYR)
}

fn zircon() -> Vec<Row> {
    read("zircon.csv", ZIRCON)
}

fn composite() -> Vec<Row> {
    read("composite.csv", COMPOSITE)
}

fn number(row: &Row, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column} is not a number: {row:?}"))
}

fn integer(row: &Row, column: &str) -> i64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column} is not an integer: {row:?}"))
}

/// The interval of values that print as this decimal, whether rounded or truncated.
fn printed_interval(text: &str) -> Range<f64> {
    let value: f64 = text
        .parse()
        .unwrap_or_else(|_| panic!("not a number: {text}"));
    let decimals = text.split_once('.').map_or(0, |(_, tail)| tail.len());
    let last = 0.1_f64.powi(i32::try_from(decimals).unwrap());
    value - last / 2.0..value + last
}

#[test]
fn every_row_has_a_unique_key() {
    for (name, rows) in [
        ("zephyr", zephyr()),
        ("zircon", zircon()),
        ("composite", composite()),
    ] {
        let mut seen: BTreeMap<(String, String), i64> = BTreeMap::new();
        for row in &rows {
            let count = seen
                .entry((row["dataset"].clone(), row["benchmark"].clone()))
                .or_default();
            *count += 1;
            assert_eq!(integer(row, "row"), *count, "{name}: {row:?}");
        }
        let twice: Vec<_> = seen.iter().filter(|(_, &count)| count > 1).collect();
        for ((_, benchmark), count) in &twice {
            assert_eq!(
                (benchmark.as_str(), **count),
                ("Port/Create/0", 2),
                "{name}"
            );
        }
        assert_eq!(twice.len(), if name == "zircon" { 2 } else { 0 }, "{name}");
    }
}

#[test]
fn readme_has_the_number_of_rows() {
    let readme = fs::read_to_string(path("reference/README.md")).unwrap();
    for (name, header) in [
        ("zephyr.csv", ZEPHYR),
        ("zircon.csv", ZIRCON),
        ("zircon_change.csv", CHANGE),
        ("composite.csv", COMPOSITE),
        ("datasets.csv", DATASETS),
        ("aliases.csv", ALIASES),
        ("compositions.csv", COMPOSITIONS),
    ] {
        let rows = read(name, header).len();
        let line = format!("| `{name}` | {rows} | `{}` |", header.join(" "));
        assert!(readme.contains(&line), "README.md has no line {line}");
    }
}

#[test]
fn ids_are_well_formed_and_titles_keep_typos() {
    let typo = "siwtch";
    assert!(zephyr().iter().any(|row| row["title"].contains(typo)));
    for row in zephyr().iter().chain(&zircon()).chain(&composite()) {
        assert!(!row["benchmark"].contains(typo), "{row:?}");
        assert!(!row["benchmark"].contains(".."), "{row:?}");
        assert!(
            !row["benchmark"].is_empty() && !row["title"].is_empty(),
            "{row:?}"
        );
        let untitled = row["dataset"].starts_with("zephyr/3.5.0-rc1/");
        assert!(untitled == row["benchmark"].contains(' '), "{row:?}");
    }
}

#[test]
fn every_dataset_has_provenance() {
    let known: BTreeSet<String> = read("datasets.csv", DATASETS)
        .into_iter()
        .map(|row| {
            for column in ["source", "machine", "statistic", "clock_basis"] {
                assert!(!row[column].is_empty(), "{row:?}");
            }
            row["dataset"].clone()
        })
        .collect();
    let used: BTreeSet<String> = [zephyr(), zircon(), composite()]
        .iter()
        .flatten()
        .map(|row| row["dataset"].clone())
        .collect();
    assert_eq!(known, used);
}

fn clock_hz(dataset: &str) -> Option<f64> {
    read("datasets.csv", DATASETS)
        .iter()
        .find(|row| row["dataset"] == dataset)
        .and_then(|row| row["clock_hz"].parse().ok())
}

/// Zephyr prints the mean of a sum of cycles and the mean of the same sum in nanoseconds, both
/// truncated to integers. One frequency must fit both.
#[test]
fn zephyr_cycles_and_time_fit_one_frequency() {
    let rows = zephyr();
    let (mut least, mut most) = (0.0_f64, f64::INFINITY);
    for row in &rows {
        let (cycles, nanoseconds) = (number(row, "cycles"), number(row, "nanoseconds"));
        least = least.max(cycles / (nanoseconds + 1.0) * 1e9);
        most = most.min((cycles + 1.0) / nanoseconds * 1e9);
    }
    assert!(least < most, "no frequency fits all rows: {least} {most}");
    let middle = f64::midpoint(least, most);
    assert!(
        (most - least) / middle < 40e-6,
        "the rows allow {least} to {most}"
    );
    for row in &rows {
        let clock = clock_hz(&row["dataset"]).unwrap();
        assert!(
            (least..most).contains(&clock),
            "{} at {clock}: {least} to {most}",
            row["dataset"]
        );
    }
}

/// Rows whose cycles and microseconds do not agree at 2.4 GHz.
const COMPOSITE_DISAGREES: &[(&str, &str)] = &[
    (
        "composite/2007/linux-2.6.18-centos",
        "sched_yield.processes",
    ),
    ("composite/2007/linux-2.6.22", "sched_yield.threads"),
    (
        "composite/2007/composite",
        "brand.scheduler_upcall.deferred",
    ),
];

#[test]
fn composite_cycles_and_time_agree_except_where_listed() {
    let mut disagree = BTreeSet::new();
    let mut checked = 0;
    for row in composite()
        .iter()
        .filter(|row| !row["microseconds"].is_empty())
    {
        let clock = clock_hz(&row["dataset"]).unwrap();
        let time = printed_interval(&row["microseconds"]);
        let cycles = printed_interval(&row["cycles"]);
        let fits = cycles.start / clock * 1e6 < time.end && time.start < cycles.end / clock * 1e6;
        if !fits {
            disagree.insert((row["dataset"].clone(), row["benchmark"].clone()));
        }
        checked += 1;
    }
    let listed: BTreeSet<_> = COMPOSITE_DISAGREES
        .iter()
        .map(|&(dataset, benchmark)| (dataset.to_owned(), benchmark.to_owned()))
        .collect();
    assert_eq!(disagree, listed);
    assert_eq!(checked, 18);
    let readme = fs::read_to_string(path("reference/README.md")).unwrap();
    for (_, benchmark) in listed {
        assert!(
            readme.contains(&format!("`{benchmark}`")),
            "README.md does not name {benchmark}"
        );
    }
}

#[test]
fn composite_cycles_are_a_number_or_a_range() {
    for row in composite() {
        let parts: Vec<f64> = row["cycles"]
            .split('-')
            .map(|part| part.parse().unwrap_or_else(|_| panic!("{row:?}")))
            .collect();
        match parts.as_slice() {
            [one] => assert!(*one > 0.0),
            [low, high] => assert!(0.0 < *low && low < high, "{row:?}"),
            _ => panic!("{row:?}"),
        }
    }
}

/// Bytes or items per iteration, from the name of the benchmark.
fn amount(benchmark: &str) -> Option<f64> {
    match benchmark {
        "Mmu/MapUnmap" => return Some(262_144.0),
        "Mmu/MapUnmapWithFaults" => return Some(32_768.0),
        _ => {}
    }
    let moves = ["/Write/", "/Read/"]
        .iter()
        .any(|part| benchmark.contains(part));
    let size = benchmark.rsplit('/').next().filter(|_| moves)?;
    match size.strip_suffix('k') {
        Some(kib) => Some(kib.parse::<f64>().ok()? * 1024.0),
        None => size.parse().ok(),
    }
}

/// A printed rate in bytes or items per second. Its prefixes are powers of 1024.
fn rate(text: &str) -> f64 {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let prefix = match text[digits.len()..].chars().next() {
        Some('k') => 1024.0,
        Some('M') => 1024.0 * 1024.0,
        Some('G') => 1024.0 * 1024.0 * 1024.0,
        _ => panic!("no prefix: {text}"),
    };
    digits.parse::<f64>().unwrap() * prefix
}

#[test]
fn zircon_throughput_follows_from_the_cpu_time() {
    for row in zircon() {
        for column in ["wall_nanoseconds", "cpu_nanoseconds", "iterations"] {
            assert!(integer(&row, column) > 0, "{row:?}");
        }
        let amount = amount(&row["benchmark"]);
        assert_eq!(amount.is_some(), !row["throughput"].is_empty(), "{row:?}");
        let Some(amount) = amount else { continue };
        let nanoseconds = amount / rate(&row["throughput"]) * 1e9;
        let printed = number(&row, "cpu_nanoseconds");
        // Rounding: half a nanosecond of the time, and 1e-5 of the rate.
        let slack = 0.5 + nanoseconds * 1e-5;
        assert!(
            (nanoseconds - printed).abs() <= slack,
            "{nanoseconds}: {row:?}"
        );
    }
}

/// `improvement = 100 * (old / new - 1)` from the wall times, rounded to two decimals.
#[test]
fn zircon_changes_follow_from_the_two_datasets() {
    let rows = zircon();
    let wall = |dataset: &str, benchmark: &str| {
        let row = rows
            .iter()
            .find(|row| row["dataset"] == dataset && row["benchmark"] == benchmark)
            .unwrap_or_else(|| panic!("{dataset} has no {benchmark}"));
        number(row, "wall_nanoseconds")
    };
    let changes = read("zircon_change.csv", CHANGE);
    assert!(!changes.is_empty());
    for change in &changes {
        let benchmark = &change["benchmark"];
        let (old, new) = (
            wall(&change["from"], benchmark),
            wall(&change["to"], benchmark),
        );
        let derived = format!("{:.2}", 100.0 * (old / new - 1.0));
        assert_eq!(derived, change["improvement_percent"], "{benchmark}");
    }
    let distinct: BTreeSet<&String> = changes.iter().map(|change| &change["benchmark"]).collect();
    assert_eq!(distinct.len(), changes.len(), "a change is listed twice");
}

/// The rows of each benchmark: its counterparts, or one row that says why there is none.
fn aliases() -> BTreeMap<(String, String), Vec<Row>> {
    let mut all: BTreeMap<_, Vec<Row>> = BTreeMap::new();
    for row in read("aliases.csv", ALIASES) {
        let key = (row["dataset"].clone(), row["benchmark"].clone());
        all.entry(key).or_default().push(row);
    }
    all
}

#[test]
fn every_benchmark_has_counterparts_or_a_reason_for_none() {
    let mut published = BTreeSet::new();
    for (source, rows) in [
        ("zephyr", zephyr()),
        ("zircon", zircon()),
        ("composite", composite()),
    ] {
        published.extend(
            rows.iter()
                .map(|row| (source.to_owned(), row["benchmark"].clone())),
        );
    }
    let aliases = aliases();
    assert_eq!(aliases.keys().cloned().collect::<BTreeSet<_>>(), published);
    for rows in aliases.values() {
        let targets: BTreeSet<&String> = rows.iter().map(|row| &row["target"]).collect();
        assert_eq!(targets.len(), rows.len(), "duplicate target: {rows:?}");
        for row in rows {
            let id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+".contains(c);
            assert!(row["metric"].chars().all(id), "{row:?}");
            match row["target"].as_str() {
                "linux" | "linux-vm" | "freertos" | "zephyr" => {
                    assert!(!row["metric"].is_empty(), "{row:?}");
                }
                "" => {
                    assert_eq!((rows.len(), row["metric"].as_str()), (1, ""), "{rows:?}");
                    assert!(!row["note"].is_empty(), "no reason: {row:?}");
                }
                _ => panic!("unknown target: {row:?}"),
            }
        }
    }
}

#[test]
fn readme_has_the_number_of_measured_benchmarks() {
    let readme = fs::read_to_string(path("reference/README.md")).unwrap();
    let aliases = aliases();
    for suite in ["zephyr", "zircon", "composite"] {
        let of_suite = || aliases.iter().filter(|((source, _), _)| source == suite);
        let by = |target: &str| {
            let rows = of_suite().flat_map(|(_, rows)| rows);
            rows.filter(|row| row["target"] == target).count()
        };
        let targets = ["linux-vm", "freertos", "zephyr", "linux", ""];
        let [vm, freertos, zephyr, user, none] = targets.map(by);
        let line = format!(
            "| {suite} | {} | {vm} | {freertos} | {zephyr} | {user} | {none} |",
            of_suite().count()
        );
        assert!(readme.contains(&line), "README.md has no line {line}");
    }
}

/// Whether a benchmark of Zephyr involves a kernel thread.
fn involves_kernel_thread(benchmark: &str) -> bool {
    let parts = ["kernel", "k_to_", "_to_k", "(K ->", "-> K)"];
    parts.iter().any(|part| benchmark.contains(part))
}

#[test]
fn benchmarks_with_kernel_threads_are_measured_in_kernel_mode() {
    let mut checked = 0;
    for ((source, benchmark), rows) in aliases() {
        if source == "zephyr" && involves_kernel_thread(&benchmark) {
            let only_user_mode = rows.iter().all(|row| row["target"] == "linux");
            assert!(!only_user_mode, "{benchmark}");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked}");
}

/// The catalog of Linux has every metric that an alias names for it.
#[test]
fn aliases_name_metrics_that_exist() {
    let listed = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(["list", "--format", "csv"])
        .output()
        .expect("kernmark can be started");
    assert!(listed.status.success());
    let mut rows = csv::Reader::from_reader(listed.stdout.as_slice());
    let metrics: BTreeSet<String> = rows.records().map(|r| r.unwrap()[0].to_owned()).collect();
    assert!(!metrics.is_empty(), "the agent lists nothing");
    let unknown: BTreeSet<String> = read("aliases.csv", ALIASES)
        .into_iter()
        .filter(|row| row["target"] == "linux" && !metrics.contains(&row["metric"]))
        .map(|row| row["metric"].clone())
        .collect();
    assert!(unknown.is_empty(), "the agent has no {unknown:#?}");
}

/// Checks that an alias has a note about an idiom exactly if the port builds the object itself.
fn check_idiom_notes(target: &str, catalog: &[Entry]) {
    let mut found = 0;
    for row in read("aliases.csv", ALIASES) {
        if row["target"] == target {
            let entry = catalog.iter().find(|e| e.metric == row["metric"]).unwrap();
            let has_note = row["note"].contains("an idiom here");
            assert_eq!(has_note, entry.idiom, "{row:?}");
            found += usize::from(entry.idiom);
        }
    }
    assert!(found > 20, "{target}: {found}");
}

#[test]
fn coverage_marks_the_idioms_of_linux() {
    let out = scratch("reference-linux-user");
    make("linux-user", &out, &[]);
    let listed = succeeds(Command::new(out.join("kernmark-agent")).arg("list"));
    let catalog = session::read(listed.as_bytes()).catalog;
    let idioms = catalog.iter().filter(|entry| entry.idiom);
    let objects: BTreeSet<&str> = idioms
        .map(|entry| entry.metric.split('.').next().unwrap())
        .collect();
    assert_eq!(objects, BTreeSet::from(["events", "fifo", "lifo", "stack"]));
    check_idiom_notes("linux", &catalog);
}

/// What the port to the Linux kernel lists and skips. Runs its user side, without the module.
fn kernel_port(scratch_name: &str) -> Run {
    let program = scratch(scratch_name).join("skips");
    let port = here("agent/ports/linux-kernel");
    let mut sources = vec![here("tests/linux-kernel/skips.c"), port.join("shared.c")];
    for folder in ["core", "order", "bench", "bench/linux-kernel"] {
        let files = fs::read_dir(here("agent").join(folder)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        sources.extend(files.filter(|file| file.extension().is_some_and(|e| e == "c")));
    }
    let include = ["", "core", "order", "bench/linux-kernel"].map(|folder| {
        let folder = here("agent").join(folder);
        format!("-I{}", folder.display())
    });
    succeeds(
        Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .args(["-DPORT_COMPILER=\"\"", "-DPORT_FLAGS=\"\"", "-o"])
            .arg(&program)
            .arg(format!("-I{}", port.display()))
            .args(include)
            .args(sources),
    );
    session::read(succeeds(&mut Command::new(&program)).as_bytes())
}

/// `linux-vm` measures every metric that an alias names for it. If it has a metric with the name of
/// a benchmark, the alias names that metric.
#[test]
fn aliases_name_metrics_that_are_measured_in_kernel_mode() {
    if cfg!(not(target_arch = "x86_64")) {
        skipped("aliases of linux-vm", "they name a register of x86-64");
        return;
    }
    let run = kernel_port("linux-kernel-aliases");
    check_idiom_notes("linux-vm", &run.catalog);
    let mut skips: BTreeMap<&str, bool> = BTreeMap::new();
    for metric in &run.metrics {
        let skip = matches!(metric.replicates[0].outcome, Outcome::Skipped(_));
        skips.insert(&metric.id, skip);
    }
    let measured = |id: &str| skips.get(id) == Some(&false);
    assert!(measured("semaphore.take.blocking.k_to_u") && measured("cr3.write"));
    assert!(!measured("mutex.lock.immediate.recursive.kernel"));
    for ((_, benchmark), rows) in aliases() {
        let row = rows.iter().find(|row| row["target"] == "linux-vm");
        if let Some(row) = row {
            assert!(measured(&row["metric"]), "not measured: {row:?}");
        }
        if measured(&benchmark) {
            let metric = row.map(|row| row["metric"].as_str());
            assert_eq!(metric, Some(benchmark.as_str()), "{rows:?}");
        }
    }
}

/// `linux-vm` measures every part of a composition that is given for it.
#[test]
fn parts_of_costs_are_measured_in_kernel_mode() {
    let run = kernel_port("linux-kernel-parts");
    let all = explain::compositions().unwrap();
    let measured: BTreeSet<&str> = run
        .metrics
        .iter()
        .filter(|metric| !matches!(metric.replicates[0].outcome, Outcome::Skipped(_)))
        .map(|metric| metric.id.as_str())
        .collect();
    let mut explained = BTreeSet::new();
    for id in &measured {
        for part in explain::parts(&all, "linux-vm", id).unwrap_or_default() {
            let metric = part.metric.as_str();
            assert!(
                measured.contains(metric),
                "{metric}, part of {id}, is not measured"
            );
            explained.insert(*id);
        }
    }
    assert!(
        explained.contains("semaphore.take.blocking.u_to_k"),
        "{explained:?}"
    );
    assert!(
        explained.contains("semaphore.give.wake+ctx.k_to_u"),
        "{explained:?}"
    );
    assert!(explained.len() > 70, "{explained:?}");
    // Those that stand beside a run in user mode; its sizes are those of copy.*.
    for composition in &all {
        for part in &composition.parts {
            if part.dataset.as_deref() == Some(explain::KERNEL_MODE) {
                let metric = part.metric.replace('*', "65536");
                assert!(measured.contains(metric.as_str()), "{metric}");
            }
        }
    }
}

/// If a benchmark differs from the metric of the same name, its alias names a closer metric.
#[test]
fn differing_operations_are_aliased_to_the_closest_metric() {
    let metric = |benchmark: &str, target: &str| {
        let rows = aliases().remove(&("zephyr".to_owned(), benchmark.to_owned()));
        let row = rows
            .unwrap()
            .into_iter()
            .find(|row| row["target"] == target);
        row.map(|row| row["metric"].clone())
    };
    for (benchmark, target, expected) in [
        // Zephyr aborts another thread, which is not running.
        ("thread.abort.user.from.user", "linux", None),
        (
            "thread.abort.user.from.kernel",
            "freertos",
            Some("thread.abort.user.from.kernel"),
        ),
        // Zephyr frees a block of 10 bytes before it allocates the next.
        (
            "heap.malloc.immediate",
            "linux",
            Some("heap.malloc.alone.user.10"),
        ),
        (
            "heap.free.immediate",
            "linux-vm",
            Some("heap.free.alone.kernel.10"),
        ),
    ] {
        assert_eq!(
            metric(benchmark, target).as_deref(),
            expected,
            "{benchmark}"
        );
    }
    let faults = &aliases()[&("zircon".to_owned(), "Mmu/MapUnmapWithFaults".to_owned())];
    assert_eq!(faults[0]["metric"], "mmu.map_unmap.reads.256");
    // Uncontended operations of a user thread are system calls on Zephyr but not on Linux.
    for row in read("aliases.csv", ALIASES) {
        let (benchmark, target) = (&row["benchmark"], &row["target"]);
        if benchmark.contains("immediate.user") && target == "linux" {
            assert!(row["note"].contains("no kernel is entered"), "{row:?}");
        }
        let is_zephyr = row["dataset"] == "zephyr";
        if is_zephyr && benchmark.contains("yield") && target.starts_with("linux") {
            assert!(row["note"].contains("SCHED_"), "{row:?}");
        }
    }
}

/// Older versions of Zephyr print titles instead of names. Both must have the same counterparts.
#[test]
fn titles_have_the_counterparts_of_their_names() {
    let aliases = aliases();
    let counterparts = |benchmark: &str| {
        let rows = &aliases[&("zephyr".to_owned(), benchmark.to_owned())];
        let columns = |row: &Row| ["target", "metric", "note"].map(|column| row[column].clone());
        rows.iter().map(columns).collect::<Vec<_>>()
    };
    for (title, name) in [
        (
            "Take a semaphore (context switch K -> U)",
            "semaphore.take.blocking.k_to_u",
        ),
        (
            "Give a semaphore (context switch U -> K)",
            "semaphore.give.wake+ctx.u_to_k",
        ),
        (
            "Give a semaphore (no waiters) from kernel thread",
            "semaphore.give.immediate.kernel",
        ),
        (
            "Cooperative threads ctx switch via k_yield (U -> K)",
            "thread.yield.cooperative.ctx.u_to_k",
        ),
        (
            "Switch from ISR to another thread (user)",
            "isr.resume.different.thread.user",
        ),
        (
            "Create user thread from kernel thread",
            "thread.create.user.from.kernel",
        ),
        (
            "Suspend kernel thread from user thread",
            "thread.suspend.kernel.from.user",
        ),
        (
            "Lock a mutex from user thread",
            "mutex.lock.immediate.recursive.user",
        ),
        ("Average time for heap malloc", "heap.malloc.immediate"),
    ] {
        assert_eq!(counterparts(title), counterparts(name), "{title}");
    }
}

/// The output of the tool, which must succeed.
fn kernmark(arguments: &[&str]) -> String {
    succeeds(
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .args(arguments)
            .env_remove("COLUMNS"),
    )
}

/// The exit status and the error message of the tool.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(arguments)
        .output()
        .expect("kernmark can be started");
    assert!(output.stdout.is_empty(), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), message)
}

fn records(csv: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn datasets_are_listed_with_their_rows() {
    let listed = records(&kernmark(&["list", "--reference", "--format", "csv"]));
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for figure in zephyr().iter().chain(&zircon()).chain(&composite()) {
        *rows.entry(figure["dataset"].clone()).or_default() += 1;
    }
    let counted: BTreeMap<String, usize> = listed
        .iter()
        .map(|row| (row["dataset"].clone(), row["rows"].parse().unwrap()))
        .collect();
    assert_eq!(counted, rows);
    for (row, known) in listed.iter().zip(read("datasets.csv", DATASETS)) {
        for column in DATASETS {
            assert_eq!(row[*column], known[*column]);
        }
    }
    let json = kernmark(&["list", "--reference", "--format", "json", "zircon"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["datasets"][0]["rows"], 35);
    assert_eq!(json["datasets"][0]["clock_hz"], serde_json::Value::Null);
    let markdown = kernmark(&["list", "--reference", "--format", "md", "zircon"]);
    assert_eq!(markdown.lines().count(), 4, "{markdown}");
    assert_snapshot!("reference_list", kernmark(&["list", "--reference"]));
    let (status, message) = refused(&["list", "--reference", "zyrcon"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("did you mean zircon"), "{message}");
}

#[test]
fn dataset_is_shown_as_published() {
    for (suite, rows) in [
        ("zephyr/latest/userspace", zephyr()),
        ("zircon/2018-01-02", zircon()),
        ("composite/2007/hardware", composite()),
    ] {
        let name = format!("reference:{suite}");
        let shown = records(&kernmark(&["show", &name, "--format", "csv"]));
        let rows: Vec<&Row> = rows.iter().filter(|row| row["dataset"] == suite).collect();
        assert_eq!(shown.len(), rows.len());
        for (shown, row) in shown.iter().zip(rows) {
            for (column, value) in row {
                let column = column.strip_prefix("wall_").unwrap_or(column);
                assert_eq!(shown[column], *value, "{column}: {row:?}");
            }
        }
        let table = kernmark(&["show", &name]);
        assert!(
            table.lines().all(|line| line.chars().count() <= 100),
            "{table}"
        );
    }
    assert_snapshot!(
        "reference_show",
        kernmark(&["show", "reference:composite/2007/hardware"])
    );
    let table = kernmark(&["show", "reference:zircon/2018-01-02"]);
    assert!(table.contains("\nPort/Create/0 ") && table.contains("\nPort/Create/0#2 "));
    let json = kernmark(&[
        "show",
        "reference:composite/2007/hardware",
        "--format",
        "json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["figures"][0]["cycles"], "162-166");
    let markdown = kernmark(&[
        "show",
        "reference:composite/2007/hardware",
        "--format",
        "md",
    ]);
    assert!(
        markdown.contains("| protection\\_crossing.two\\_bounces | 312 |"),
        "{markdown}"
    );
}

#[test]
fn unknown_dataset_is_rejected() {
    let (status, message) = refused(&["show", "reference:zircon"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("reference:zircon/2018-01-02"), "{message}");
    let (status, message) = refused(&["show", "reference:zircon/2018-01-03"]);
    assert_eq!(status, Some(2));
    assert!(
        message.contains("did you mean zircon/2018-01-02"),
        "{message}"
    );
    let (status, message) = refused(&["show", "reference:zircon/2018-01-02", "--metric", "x"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("no samples"), "{message}");
}

const OLD: &str = "reference:zircon/2017-08-17";
const NEW: &str = "reference:zircon/2018-01-02";

/// Comparing the two datasets reproduces the published table, digit by digit.
#[test]
fn published_changes_are_reproduced() {
    let text = kernmark(&["compare", OLD, NEW, "--format", "json"]);
    let comparison: serde_json::Value = serde_json::from_str(&text).unwrap();
    let metrics = comparison["metrics"].as_array().unwrap();
    let changes = read("zircon_change.csv", CHANGE);
    assert_eq!(changes.len(), 28);
    let table = kernmark(&["compare", OLD, NEW]);
    for change in changes {
        let benchmark = &change["benchmark"];
        let metric = metrics.iter().find(|one| one["id"] == *benchmark).unwrap();
        let shown = format!("{:.2}", metric["improvement"].as_f64().unwrap());
        assert_eq!(shown, change["improvement_percent"], "{benchmark}");
        // A single figure on each side allows no statistical test.
        assert_eq!(metric["verdict"], "inconclusive");
        for none in ["p", "low", "high"] {
            assert!(metric[none].is_null(), "{metric}");
        }
        assert!(
            metric["note"]
                .as_str()
                .unwrap()
                .contains("so no test is possible"),
            "{metric}"
        );
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{benchmark} ")));
        let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
        assert_eq!(cells.last(), Some(&shown.as_str()), "{line:?}");
    }
    assert!(
        table.contains("all of 28 published improvements follow"),
        "{table}"
    );
    let ids: BTreeSet<&str> = metrics
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(ids.contains("Port/Create/0") && ids.contains("Port/Create/0#2"));
    let markdown = kernmark(&["compare", OLD, NEW, "--format", "md"]);
    assert!(markdown.contains("| improvement % |"), "{markdown}");
    let back = kernmark(&["compare", NEW, OLD]);
    assert!(!back.contains("published improvements"), "{back}");
}

/// A saved run of Linux with three metrics, in ten processes of one sample each.
fn small_run() -> String {
    let path = scratch("reference-compare").join("run");
    let mut lines = Vec::new();
    for replicate in 0..10 {
        let start = lines.len();
        let seq = |lines: &Vec<String>| (lines.len() - start) as u64;
        let hello = [
            ("port", "linux-user"),
            ("arch", "x86_64"),
            ("mode", "run"),
            ("clock", "c"),
            ("unit", "cycles"),
            ("hz", "1000000000"),
            ("realtime", "no"),
        ];
        lines.extend(record::write(seq(&lines), "hello", &hello, None));
        for (id, ticks) in [
            ("event.create", 500),
            ("poll.wait.1", 200),
            ("vmo.read.64", 90),
        ] {
            let case = ("case", id);
            lines.extend(record::write(
                seq(&lines),
                "begin",
                &[case, ("asked", "1")],
                None,
            ));
            let plan = [case, ("samples", "1"), ("batch", "1")];
            lines.extend(record::write(seq(&lines), "plan", &plan, None));
            let counts = [(ticks + replicate, 1)];
            lines.extend(record::write_hist(seq(&lines), id, 0, &counts));
            let proof = [
                case,
                ("name", "order"),
                ("counted", "0"),
                ("low", "0"),
                ("high", "0"),
            ];
            lines.extend(record::write(seq(&lines), "proof", &proof, None));
            let end = [case, ("status", "ok"), ("samples", "1")];
            lines.extend(record::write(seq(&lines), "end", &end, None));
        }
        let count = seq(&lines).to_string();
        lines.extend(record::write(
            seq(&lines),
            "bye",
            &[("records", &count)],
            None,
        ));
    }
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.display().to_string()
}

#[test]
fn published_figures_are_compared_with_their_counterparts() {
    let run = small_run();
    let compared = |arguments: &[&str]| -> serde_json::Value {
        let mut all = vec!["compare", NEW, &run, "--format", "json"];
        all.extend(arguments);
        serde_json::from_str(&kernmark(&all)).unwrap()
    };
    // Without --across, figures of different machines are incomparable.
    let alike = compared(&[]);
    for metric in alike["metrics"].as_array().unwrap() {
        assert_eq!(metric["verdict"], "incomparable", "{metric}");
    }
    let across = compared(&["--across"]);
    let metrics = across["metrics"].as_array().unwrap();
    let names: Vec<(&str, &str)> = metrics
        .iter()
        .map(|one| {
            (
                one["id"].as_str().unwrap(),
                one["elsewhere"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("event.create", "Event/Create"),
            ("poll.wait.1", "WaitItems/WaitForAlreadySignaledEvent")
        ]
    );
    for metric in metrics {
        assert_eq!(metric["verdict"], "inconclusive", "{metric}");
        assert!(
            metric["p"].is_null() && metric["improvement"].is_null(),
            "{metric}"
        );
    }
    assert_eq!(
        across["published"][0],
        "the run measures 2 of 63 published results"
    );
    let table = kernmark(&["compare", "--across", &run, NEW]);
    assert!(
        table.contains("event.create (published as Event/Create)"),
        "{table}"
    );
    let (status, message) = refused(&["compare", OLD, &run, "--base", &run]);
    assert_eq!(status, Some(2));
    assert!(message.contains("only input of its side"), "{message}");
}
