// SPDX-License-Identifier: MIT OR Apache-2.0

//! Imports output of Zephyr's benchmarks and of its test runner.
//!
//! Sources of the captures in `tests/captures/import`; numbers are issues and pull requests of
//! zephyrproject-rtos/zephyr:
//!
//! - `zephyr-latency-*`: the sample output in the README of `latency_measure` in versions 1.7, 2.3, 3.5 and
//!   3.6 (only some rows). Others are excerpts, as quoted in 16234 (1.14-cut), 24136 (2.2-hung), 30513
//!   (2.4-twister), 58064 (3.3-tick), 67438 (3.5-dev), 39977 (qemu) and 15728 (timing-info).
//! - `zephyr-ztest-*`: 116517 (4.4-cut and 4.4-end, the first and the last lines of a run), 101148 (wrapped,
//!   from a draft of the framework), and the README of `tests/benchmarks/interrupt_latency` (csv, without
//!   a boot banner).
//! - `twister-*`: 34577 (recording), and an excerpt of a report in the public repository
//!   Federiconunezfrau/zephyr-course (no-recording).
//! - `zephyr-kernel-*`: written by hand in the layout of the READMEs and print statements of `app_kernel` and
//!   `sys_kernel`.

use std::fmt::Write;

use insta::assert_snapshot;
use kernmark::import::{read, Figure, Imported, Problem, Row, Source, FORMATS};
use kernmark::stream::run::Stat;
use proptest::prelude::*;
use serde_json::{json, Value};

// Other tests use the rest of this module.
#[allow(dead_code)]
mod common;

fn capture(name: &str) -> String {
    let path = common::here("tests/captures/import").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads a text without naming its format.
fn try_read(text: &str) -> Result<Imported, Problem> {
    read(&mut text.as_bytes(), None)
}

fn sources(format: &str, text: &str) -> Vec<Source> {
    let imported = try_read(text).unwrap();
    assert_eq!(imported.format.name, format);
    imported.sources
}

/// All contents of the sources, for snapshots.
fn shown(sources: &[Source]) -> String {
    let mut text = String::new();
    for source in sources {
        let clock = &source.clock;
        writeln!(text, "{} {:?} {} Hz", clock.name, clock.unit, clock.hz).unwrap();
        for fact in &source.facts {
            writeln!(text, "  {} = {}", fact.name, fact.value).unwrap();
        }
        for row in &source.rows {
            writeln!(text, "{}", shown_row(row)).unwrap();
        }
        let incomplete = source.incomplete.as_deref().unwrap_or("no");
        writeln!(text, "incomplete: {incomplete}").unwrap();
    }
    text
}

fn shown_row(row: &Row) -> String {
    let mut text = format!("- {}", row.name);
    if !row.about.is_empty() {
        write!(text, " ({})", row.about).unwrap();
    }
    match &row.figure {
        Figure::Summary(stat) => {
            write!(text, ": {} samples", stat.samples).unwrap();
            let values = [
                ("mean", stat.mean),
                ("median", stat.median),
                ("min", stat.min),
                ("max", stat.max),
                ("deviation", stat.deviation),
            ];
            for (name, value) in values {
                if let Some(value) = value {
                    write!(text, ", {name} {value}").unwrap();
                }
            }
        }
        other => write!(text, ": {other:?}").unwrap(),
    }
    if let Some(nanoseconds) = row.nanoseconds {
        write!(text, ", {nanoseconds} ns").unwrap();
    }
    text
}

const LATENCY: [&str; 11] = [
    "zephyr-latency-1.7.txt",
    "zephyr-latency-1.14-cut.txt",
    "zephyr-latency-2.2-hung.txt",
    "zephyr-latency-2.3.txt",
    "zephyr-latency-2.4-twister.txt",
    "zephyr-latency-3.3-tick.txt",
    "zephyr-latency-3.5.txt",
    "zephyr-latency-3.5-dev.txt",
    "zephyr-latency-3.6.txt",
    "zephyr-latency-qemu.txt",
    "zephyr-latency-timing-info.txt",
];

#[test]
fn latency_all_captures() {
    for name in LATENCY {
        let found = sources("zephyr-latency", &capture(name));
        assert_snapshot!(name.trim_end_matches(".txt"), shown(&found));
    }
}

#[derive(serde::Deserialize)]
struct Published {
    dataset: String,
    benchmark: String,
    title: String,
    cycles: f64,
    nanoseconds: f64,
}

/// The published tables in reference/, printed in the layout of their versions.
#[test]
fn latency_published_tables() {
    let path = common::here("reference/zephyr.csv");
    let mut csv = csv::Reader::from_path(path).unwrap();
    let figures: Vec<Published> = csv.deserialize().map(Result::unwrap).collect();
    assert_eq!(figures.len(), 501);
    for is_described in [true, false] {
        let mut log = String::new();
        for table in figures.chunk_by(|a, b| a.dataset == b.dataset) {
            for figure in table {
                let Published {
                    benchmark: name,
                    title,
                    cycles,
                    nanoseconds,
                    ..
                } = figure;
                let title = match (name == title, is_described) {
                    (true, _) => format!("{title:<52}"),
                    (false, true) => format!("{:<94}", format!("{name:<40} - {title:<50}")),
                    (false, false) => format!("{name:<40} "),
                };
                writeln!(log, "{title}:{cycles:>8} cycles , {nanoseconds:>8} ns : ").unwrap();
            }
            writeln!(log, "{}\nPROJECT EXECUTION SUCCESSFUL", "=".repeat(67)).unwrap();
        }
        let found = sources("zephyr-latency", &log);
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|source| source.incomplete.is_none()));
        let rows: Vec<&Row> = found.iter().flat_map(|source| &source.rows).collect();
        assert_eq!(rows.len(), 501);
        for (row, figure) in rows.iter().zip(&figures) {
            assert_eq!(row.name, figure.benchmark);
            let is_title = figure.benchmark == figure.title;
            let about = if is_described && !is_title {
                figure.title.as_str()
            } else {
                ""
            };
            assert_eq!(row.about, about);
            assert_eq!(row.nanoseconds, Some(figure.nanoseconds));
            let Figure::Summary(stat) = &row.figure else {
                panic!("{row:?}");
            };
            assert_eq!((stat.samples, stat.mean), (1, Some(figure.cycles)));
        }
    }
}

/// Edge cases that follow from the print statements of 3.6; no capture has them.
#[test]
fn latency_rows_without_numbers() {
    let log = "\
*** Booting Zephyr OS version 4.0.0 ***
heap.malloc.immediate   - Average time for heap malloc    :         FAILED ,          FAILED : Memory heap too small--increase it.
heap.free.immediate     - Average time for heap free      :         FAILED ,          FAILED : \nlifo.get.immediate.kernel - Get data    :4294967291 cycles , 35791394 ns : Error: Tick Occurred
mutex.lock.immediate.recursive.kernel - Lock a mutex      :      1O cycles ,       83 ns :
mutex.unlock.immediate.recursive.kernel                   :       0 cycles ,        0 ns :
stack.pop.immediate.kernel                                :      80 cycles ,      67
===================================================================
PROJECT EXECUTION FAILED
";
    assert_snapshot!(shown(&sources("zephyr-latency", log)));
}

/// Errors in place of figures in the box, with the texts of 1.13 and 2.2.
#[test]
fn latency_errors_in_the_box() {
    let log = "\
***** Booting Zephyr OS zephyr-v1.13.0-1180-g5776ea8869 (delayed boot 1000ms) *****
|-----------------------------------------------------------------------------|
|                            Latency Benchmark                                |
|-----------------------------------------------------------------------------|
| 2 - Measure time from ISR to executing a different thread (rescheduled)     |
| Flag variable has not changed. FAILED
                                              |
|-----------------------------------------------------------------------------|
| 6 - Measure average context switch time between threads (coop)              |
| Error: tick occurred                                                        |
|-----------------------------------------------------------------------------|
===================================================================
PROJECT EXECUTION FAILED
";
    assert_snapshot!(shown(&sources("zephyr-latency", log)));
}

/// A reboot with or without a banner starts another source. A boot without the benchmark is not a source.
#[test]
fn latency_boots() {
    let complete = capture("zephyr-latency-3.5.txt");
    let cut: String = complete.split_inclusive('\n').take(8).collect();
    let hello = "*** Booting Zephyr OS build v3.5.0 ***\nHello World! qemu_x86\n";
    let without_banner = complete.replace("*** Booting", "*** B??ting");
    let found = sources(
        "zephyr-latency",
        &[hello, &cut, &complete, hello, &without_banner].concat(),
    );
    let rows: Vec<usize> = found.iter().map(|source| source.rows.len()).collect();
    assert_eq!(rows, [5, 17, 17]);
    let missing = "the end mark, PROJECT EXECUTION SUCCESSFUL, is missing";
    assert_eq!(found[0].incomplete.as_deref(), Some(missing));
    let others = [&found[1], &found[2]].map(|source| &source.incomplete);
    assert_eq!(others, [&None, &None]);
    assert!(matches!(try_read(hello), Err(Problem::Unknown(_))));
}

/// Console prefixes do not change the result.
#[test]
fn latency_prefixes() {
    for name in LATENCY {
        let log = capture(name);
        let plain = shown(&sources("zephyr-latency", &log));
        for prefix in [
            "[00:00:01.234,000] <inf> app: ",
            "D: ",
            "\u{1b}[0m[12:00:01.5] ",
            "12:00:01.567 ",
            "twister - DEBUG - DEVICE: ",
        ] {
            let lines: Vec<String> = log.lines().map(|line| format!("{prefix}{line}")).collect();
            let found = sources("zephyr-latency", &(lines.join("\r\n") + "\r\n"));
            assert_eq!(shown(&found), plain, "{name} {prefix:?}");
        }
    }
}

/// A log that ends anywhere gives only rows of the complete log, or failed ones.
#[test]
fn latency_truncated_anywhere() {
    for name in ["zephyr-latency-1.7.txt", "zephyr-latency-3.6.txt"] {
        let log = capture(name);
        let whole = sources("zephyr-latency", &log).remove(0);
        for end in 0..log.len() - 40 {
            let Ok(imported) = try_read(&log[..end]) else {
                continue;
            };
            let [source] = &imported.sources[..] else {
                panic!("{name} to {end}");
            };
            assert!(source.incomplete.is_some());
            for (row, same) in source.rows.iter().zip(&whole.rows) {
                assert!(
                    row == same || matches!(row.figure, Figure::Failed(_)),
                    "{row:?}"
                );
            }
        }
    }
}

#[test]
fn kernel_objects() {
    for name in [
        "zephyr-kernel-app",
        "zephyr-kernel-app-user",
        "zephyr-kernel-sys",
    ] {
        let text = capture(&format!("{name}.txt"));
        assert_snapshot!(name, shown(&sources("zephyr-kernel", &text)));
    }
}

/// A log that ends after any line gives only rows of the complete log, or failed ones.
#[test]
fn kernel_objects_truncated_at_a_line() {
    for name in ["zephyr-kernel-app.txt", "zephyr-kernel-sys.txt"] {
        let text = capture(name);
        let whole = sources("zephyr-kernel", &text).remove(0);
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        for end in ends.filter(|end| *end < text.len()) {
            let Ok(imported) = try_read(&text[..end]) else {
                continue;
            };
            let source = &imported.sources[0];
            assert!(source.incomplete.is_some(), "{name} to {end}");
            for (row, same) in source.rows.iter().zip(&whole.rows) {
                let is_failed = matches!(row.figure, Figure::Failed(_));
                assert!(row == same || is_failed, "{row:?}");
            }
        }
    }
}

/// The boot banner of Zephyr 4.4.
const ZTEST_BOOT: &str = "*** Booting Zephyr OS build v4.4.0-11887-gc7180db33540 ***\n";

#[test]
fn ztest_all_captures() {
    for name in ZTEST {
        let text = match name {
            "zephyr-ztest-csv.txt" => format!("{ZTEST_BOOT}{}", capture(name)),
            _ => capture(name),
        };
        let found = sources("zephyr-ztest", &text);
        assert_snapshot!(name.trim_end_matches(".txt"), shown(&found));
    }
}

/// Rows that follow from the print statements of 4.4; no capture has them.
#[test]
fn ztest_csv_of_all_kinds() {
    let log = "\
S,math,asm_add,100,119,1.186,2.200,0.220,-1,3,21,1
S,math,floats,100,100.000,1.000,0.000,0.000,1.000,1,1.000,1
C,math,floats,10,21.000
P,math,floats,100,1.000,1.004,1.000,1.000,1.000,1.000,1.000
S,math,part,100,100.000,1.000,0.000,0.000,1.000,1,1.000,1
P,math,part,60,1.000,1.004,1.000,1.000,1.000,1.000,1.000
T,math,busy,128000,9000000,6400000,1280000.000,50.000
M,math,none\tINCONCLUSIVE
T,math,never\tINCONCLUSIVE
S,math,wrong,100,100,*float*,0.000,0.000,1,1,1,1
S,math,cut,100,100,1.0
T,math,zero,0,5,5,0.000,0.000
PROJECT EXECUTION SUCCESSFUL
S,is,text,and,is,passed,over
T,1
";
    let log = format!("{ZTEST_BOOT}{log}");
    assert_snapshot!(shown(&sources("zephyr-ztest", &log)));
}

/// The same kinds as text.
#[test]
fn ztest_text_of_all_kinds() {
    let log = "\
Running TESTSUITE math
===================================================================
math #######################################################
D: Setting up math
asm_add ====================================================
\tSample size:100, total cycles: 119
\tMean(u): 1.186
\tStandard deviation(s): 2.200
\tStandard Error(SE): 0.220
\tMin: -1 (run #3)
\tMax: 21 (run #1)
math floats: percentiles cover the first 60 samples, 40 were dropped; raise CONFIG_ZTEST_BENCHMARK_MAX_SAMPLES
floats =====================================================
\tSample size:100, total cycles: 100.000
\tMean(u): 1.000
\tStandard deviation(s): 0.000
\tStandard Error(SE): 0.000
\tMin: 1.000 (run #1)
\tMax: 1.000 (run #1)
\tp50: 1.004
\tp90: 1.000
none =======================================================
\tTest inconclusive (no samples recorded)
busy =======================================================
\tIterations: 128000
\tTotal Time: 140625000 ns (Gross)
\tWork Time: 100000000 ns (Net)
\tOps/Sec: 1280000.000
\tCycles/Ops: 50.000
x =
cut ========================================================
\tSample size:100, total cycles: 100.000
\tMean(u): 1.0
";
    let log = format!("{ZTEST_BOOT}{log}");
    assert_snapshot!(shown(&sources("zephyr-ztest", &log)));
}

/// A log that ends anywhere gives only rows of the complete log, or failed ones.
#[test]
fn ztest_truncated_anywhere() {
    let text = capture("zephyr-ztest-4.4-cut.txt");
    let csv = format!("{ZTEST_BOOT}{}", capture("zephyr-ztest-csv.txt"));
    let timed = "busy ====================\n\tIterations: 128000\n\tCycles/Ops: 50.125\n";
    for log in [&text, &csv, &format!("{ZTEST_BOOT}{timed}")] {
        let whole = sources("zephyr-ztest", log).remove(0);
        for end in (0..log.len()).filter(|end| log.is_char_boundary(*end)) {
            let Ok(imported) = try_read(&log[..end]) else {
                continue;
            };
            for (row, same) in imported.sources[0].rows.iter().zip(&whole.rows) {
                let is_same = match (&row.figure, &same.figure) {
                    (Figure::Summary(row), Figure::Summary(same)) => {
                        let median = row.median.or(same.median);
                        *same
                            == Stat {
                                median,
                                ..row.clone()
                            }
                    }
                    (figure, _) => matches!(figure, Figure::Failed(_)),
                };
                assert!(is_same, "{row:?} at {end}");
            }
        }
    }
}

#[test]
fn twister_recording_csv() {
    let text = capture("twister-recording.csv");
    let found = sources("twister", &text);
    assert_snapshot!(shown(&found));
    // Later versions sort the columns and put quotes around fields.
    let mut quoted = String::from("\"cycles\",\"description\",\"metric\",\"nanoseconds\"\n");
    for line in text.lines().skip(1) {
        let [metric, cycles, nanoseconds] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        writeln!(quoted, "\"{cycles}\",\"\",\"{metric}\",\"{nanoseconds}\"").unwrap();
    }
    assert_eq!(sources("twister", &quoted), found);
    let wrong = "metric,cycles,nanoseconds\n\"a \"\"b\"\", c\",1,2\nd,x,3\ne,1\nf,1,2,3\n";
    assert_snapshot!("twister_csv_wrong", shown(&sources("twister", wrong)));
}

/// A report in twister's format, with the records that its regular expression finds in a capture.
fn twister_report() -> Value {
    let log = capture("zephyr-latency-3.6.txt");
    let records = log.lines().filter_map(|line| {
        let (left, right) = line.split_once(" cycles ,")?;
        let (title, cycles) = left.rsplit_once(':')?;
        let (metric, description) = title.split_once(" - ")?;
        let (nanoseconds, _) = right.split_once(" ns")?;
        Some(json!({
            "metric": metric.trim(),
            "description": description.trim(),
            "cycles": cycles.trim(),
            "nanoseconds": nanoseconds.trim(),
        }))
    });
    let records: Vec<Value> = records.collect();
    assert_eq!(records.len(), 9);
    let mut report: Value = serde_json::from_str(&capture("twister-no-recording.json")).unwrap();
    let suites = report["testsuites"].as_array_mut().unwrap();
    for (platform, status) in [("qemu_x86", "passed"), ("frdm_k64f", "failed")] {
        let mut suite = json!({
            "name": "tests/benchmarks/latency_measure/benchmark.kernel.latency",
            "arch": "x86",
            "platform": platform,
            "path": "tests/benchmarks/latency_measure",
            "run_id": "43863c0059faa2d9609b5aa5e595412b",
            "runnable": true,
            "retries": 0,
            "status": status,
            "execution_time": "2.45",
            "testcases": [],
            "recording": records,
        });
        if status == "failed" {
            suite["reason"] = "Timeout".into();
            let records = suite["recording"].as_array_mut().unwrap();
            records.truncate(2);
            records.push(json!({"metric": "a", "cycles": 7}));
            records.push(json!({"metric": "b", "cycles": "x", "nanoseconds": "1"}));
            records.push(json!({"type": "jitter_drift", "metrics": {"rollovers": 0}}));
        }
        suites.push(suite);
    }
    report
}

#[test]
fn twister_json() {
    let report = twister_report();
    let found = sources("twister", &report.to_string());
    assert_snapshot!(shown(&found));
    let log = sources("zephyr-latency", &capture("zephyr-latency-3.6.txt"));
    assert_eq!(found[0].rows, log[0].rows);
}

/// A test with `merge: true` has one record, whose fields are lists.
#[test]
fn twister_json_merged() {
    let mut report = twister_report();
    let found = sources("twister", &report.to_string());
    for suite in report["testsuites"].as_array_mut().unwrap() {
        let Some(records) = suite["recording"].as_array().cloned() else {
            continue;
        };
        let field = |name: &str| {
            records
                .iter()
                .map(|record| record[name].clone())
                .collect::<Value>()
        };
        let names = ["metric", "description", "cycles", "nanoseconds"];
        let merged: serde_json::Map<_, _> = names
            .map(|name| (name.to_owned(), field(name)))
            .into_iter()
            .collect();
        suite["recording"] = json!([merged]);
    }
    let merged = sources("twister", &report.to_string());
    assert_eq!(merged[0].rows, found[0].rows);
}

#[test]
fn invalid_twister_json_is_rejected() {
    let why = |text: &str| match try_read(text) {
        Err(Problem::Broken(format, why)) => format!("{}: {why}", format.name),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        why(&capture("twister-no-recording.json")),
        "twister: testsuites: none has a `recording` with `metric` and `cycles`"
    );
    let mut report = twister_report();
    report["testsuites"][1]["recording"] = "none".into();
    assert_eq!(
        why(&report.to_string()),
        "twister: testsuites[1].recording: not an array"
    );
    report["testsuites"][1]["recording"] = json!([{"metric": "a", "cycles": [1]}, 5, null]);
    assert_eq!(sources("twister", &report.to_string()).len(), 1);
    report["testsuites"] = json!({});
    assert!(matches!(
        try_read(&report.to_string()),
        Err(Problem::Unknown(_))
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading a damaged capture gives sources or a problem, but does not panic.
    #[test]
    fn damaged_captures_do_not_panic(
        which in 0..CAPTURES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..40), 0..20),
    ) {
        let mut bytes = capture(CAPTURES[which]).into_bytes();
        for (at, byte, gone) in changes {
            let at = at.index(bytes.len());
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, [byte]);
            bytes.push(byte);
        }
        for format in FORMATS {
            let _ = read(&mut &bytes[..], Some(format));
        }
        let _ = read(&mut &bytes[..], None);
    }

    /// Reading meaningful pieces in any order does not panic.
    #[test]
    fn pieces_in_any_order_do_not_panic(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        for format in FORMATS {
            let _ = read(&mut text.as_bytes(), Some(format));
        }
    }
}

const ZTEST: [&str; 4] = [
    "zephyr-ztest-4.4-cut.txt",
    "zephyr-ztest-4.4-end.txt",
    "zephyr-ztest-wrapped.txt",
    "zephyr-ztest-csv.txt",
];

const CAPTURES: [&str; 14] = [
    "zephyr-latency-1.7.txt",
    "zephyr-latency-1.14-cut.txt",
    "zephyr-latency-2.4-twister.txt",
    "zephyr-latency-3.3-tick.txt",
    "zephyr-latency-3.6.txt",
    "zephyr-ztest-4.4-cut.txt",
    "zephyr-ztest-4.4-end.txt",
    "zephyr-ztest-wrapped.txt",
    "zephyr-ztest-csv.txt",
    "twister-recording.csv",
    "twister-no-recording.json",
    "zephyr-kernel-app.txt",
    "zephyr-kernel-app-user.txt",
    "zephyr-kernel-sys.txt",
];

const PIECES: [&str; 48] = [
    "\n",
    "\n",
    " ",
    ":",
    ",",
    "|",
    " - ",
    "-",
    "[",
    "]",
    "\u{e9}",
    "1",
    "99999999999999999999",
    "*** Booting Zephyr OS build ",
    " ***",
    "Latency Benchmark  ",
    " tcs = ",
    " nsec",
    " is",
    "cycles: 1 tcs is ",
    " cycles ,",
    " ns",
    "FAILED , ",
    "FAILED",
    "PROJECT EXECUTION FAILED",
    "START - Time Measurement",
    "Error: tick occurred",
    "E N D",
    "-1.5",
    "Clock frequency: ",
    "S,a,b,",
    "T,a,b,",
    "P,a,b,",
    "1,",
    "0,",
    "\tINCONCLUSIVE",
    "a ====",
    "b ####",
    "Sample size:",
    "Mean(u): ",
    "Max: ",
    "p50: ",
    "p90: ",
    "Iterations: ",
    "Work Time: ",
    "metric,cycles,nanoseconds\n",
    "\"",
    "a,1,2\n",
];
