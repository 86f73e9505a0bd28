// SPDX-License-Identifier: MIT OR Apache-2.0

//! Imports captured results of other tools. Captures named `forms` or `kinds` were written by hand to
//! combine rare forms.
//!
//! Sources of the captures:
//!
//! - `google-benchmark-*`: Debian's libbenchmark 1.7.1 with a program of eight benchmarks, run for this test.
//! - `go-*`: Go 1.26, run for this test. `go-events`: its `go test -json`. `go-indented`: lines of it as a
//!   README quotes them. `go-replicates`, `go-instructions` and `bencher-time`: in the layout of kernmark's
//!   export.
//! - `hyperfine-*`: Debian's hyperfine 1.15, run for this test.
//! - `bencher-forms`, `bencher-instructions`: written by hand.
//! - `fuchsiaperf-schema`: the example in Fuchsia's description of the format.
//! - `sel4bench-summaries`, `sel4bench-console`: figures of a Skylake that the sel4bench-results repository
//!   publishes (19 March 2026), in sel4bench's layout. `sel4bench-truncated`: its second half is from pull
//!   request 30 of sel4bench; the raw values of the first set were added by hand. `sel4bench-history`: the
//!   first lines, with fewer metrics, that sel4bench-results publishes for a Jetson TX1.
//! - `criterion-*`: criterion 0.5 and cargo-criterion 1.1 with one program, run for this test.
//! - `jmh-plain`: JMH 1.37 with `-prof gc`, run for this test; histograms and secondary metrics are shortened.
//! - `pytest-benchmark-*`: version 5.3 with and without data, run for this test and shortened.
//! - `schbench-*`: schbench 1.0, run for this test.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kernmark::import::{self, Figure, Imported, Problem};
use kernmark::stream::run::Stat;

fn capture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    fs::read(folder.join(name)).expect(name)
}

fn read(bytes: &[u8]) -> Result<Imported, Problem> {
    import::read(&mut &*bytes, None)
}

/// All contents of the sources, with a line for each row.
fn text(imported: &Imported) -> String {
    let mut out = format!("{}\n", imported.format.name);
    for source in &imported.sources {
        let clock = &source.clock;
        let unit = clock.unit.name();
        let _ = writeln!(out, "source: {}, {unit}, {} Hz", clock.name, clock.hz);
        for fact in &source.facts {
            let _ = writeln!(out, "  {}: {}", fact.name, fact.value);
        }
        if let Some(why) = &source.incomplete {
            let _ = writeln!(out, "  incomplete: {why}");
        }
        for row in &source.rows {
            let about = match row.about.as_str() {
                "" => String::new(),
                about => format!(" ({about})"),
            };
            let _ = writeln!(out, "  {}{about} = {}", row.name, figure(&row.figure));
        }
    }
    out
}

fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Samples(samples) => {
            let pair = |(ticks, count): (kernmark::stream::ticks::Ticks, u64)| {
                format!(" {}:{count}", ticks.0)
            };
            format!("samples{}", samples.iter().map(pair).collect::<String>())
        }
        Figure::Summary(stat) => summary(stat),
        Figure::Skipped(why) => format!("skipped: {why}"),
        Figure::Failed(why) => format!("failed: {why}"),
    }
}

fn summary(stat: &Stat) -> String {
    let mut out = format!("summary of {}", stat.samples);
    for (name, value) in [
        ("mean", stat.mean),
        ("median", stat.median),
        ("min", stat.min),
        ("max", stat.max),
        ("deviation", stat.deviation),
    ] {
        if let Some(value) = value {
            let _ = write!(out, " {name} {value}");
        }
    }
    out
}

macro_rules! captures {
    ($($test:ident: $($name:literal)*;)*) => {
        $(#[test]
        fn $test() {
            $(
                let imported = read(&capture($name)).expect($name);
                assert!($name.starts_with(imported.format.name), "{}", imported.format.name);
                insta::assert_snapshot!($name, text(&imported));
            )*
        })*
    };
}

captures! {
    hyperfine_is_read:
        "hyperfine-plain.json" "hyperfine-parameters.json" "hyperfine-failed.json"
        "hyperfine-signal.json" "hyperfine-forms.json";
    google_benchmark_is_read:
        "google-benchmark-plain.json" "google-benchmark-repetitions.json"
        "google-benchmark-aggregates.json" "google-benchmark-interleaved.json"
        "google-benchmark-forms.json";
    go_is_read:
        "go-packages.txt" "go-count.txt" "go-verbose.txt" "go-replicates.txt" "go-instructions.txt"
        "go-forms.txt" "go-events.json" "go-indented.txt";
    criterion_is_read:
        "criterion-sample.json" "criterion-estimates.json" "criterion-messages.json";
    jmh_is_read: "jmh-plain.json" "jmh-forms.json";
    pytest_benchmark_is_read: "pytest-benchmark-data.json" "pytest-benchmark-summary.json";
    bencher_is_read: "bencher-time.json" "bencher-forms.json" "bencher-instructions.json";
    schbench_is_read: "schbench-console.txt" "schbench-pipe.txt" "schbench-all.json";
    fuchsiaperf_is_read: "fuchsiaperf-schema.json" "fuchsiaperf-forms.json";
    sel4bench_is_read:
        "sel4bench-summaries.json" "sel4bench-console.txt" "sel4bench-truncated.txt"
        "sel4bench-kinds.json" "sel4bench-history.jsonl";
}

#[test]
fn errors_name_their_place_in_the_document() {
    for (text, expected) in [
        (
            r#"{"results": [{"command": "x", "mean": 1, "times": [1, "y"]}]}"#,
            "hyperfine: results[0].times[1]: not a number",
        ),
        (
            r#"{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}"#,
            "google-benchmark: benchmarks[0].time_unit: `h` is not a unit of time",
        ),
        (
            r#"[{"label": "a", "unit": "ns", "values": [1]}, {"label": "b", "values": [1]}]"#,
            "fuchsiaperf: [1].unit: missing",
        ),
        (
            r#"[{"Benchmark": "b", "Results": [{"Mean": "x"}]}]"#,
            "sel4bench: [0].Results[0].Mean: not a number",
        ),
        (
            "{\"sha_kernel\": \"a\", \"sha_bench\": \"b\", \"ipc_call\": [1, 2, 3]}\n{}\n",
            "sel4bench: [0].ipc_call: not an array of eight numbers",
        ),
        (
            r#"[{"benchmark": "b", "mode": "avgt", "primaryMetric": {"scoreUnit": "ns/op",
                "rawData": [[1, "x"]]}}]"#,
            "jmh: [0].primaryMetric.rawData[0][1]: not a number",
        ),
        (
            r#"{"iters": [1, 2], "times": [5]}"#,
            "criterion: [0].times: 1 values, `iters` has 2",
        ),
        (
            r#"{"machine_info": {}, "benchmarks": [{"name": "a", "stats": {"data": ["x"]}}]}"#,
            "pytest-benchmark: benchmarks[0].stats.data[0]: not a number",
        ),
    ] {
        let problem = read(text.as_bytes()).expect_err("it is wrong");
        assert_eq!(problem.to_string(), expected);
    }
}

#[test]
fn truncated_document_is_not_json() {
    let whole = capture("google-benchmark-repetitions.json");
    let problem = read(&whole[..whole.len() / 2]).expect_err("it is broken");
    assert!(matches!(problem, Problem::NotJson(_)), "{problem}");
}

#[test]
fn sel4bench_log_may_have_several_boots_and_damage() {
    let whole = String::from_utf8(capture("sel4bench-console.txt")).expect("text");
    let broken = String::from_utf8(capture("sel4bench-truncated.txt")).expect("text");
    let sources = read(format!("{broken}\n{whole}").as_bytes())
        .expect("a log")
        .sources;
    let reasons: Vec<_> = sources
        .iter()
        .map(|source| source.incomplete.as_deref())
        .collect();
    let missing = Some("END JSON OUTPUT is missing before the next JSON OUTPUT");
    assert_eq!(reasons, [missing, None, None]);

    let damaged = whole.replacen("822", "8[ 1.5] usb", 1);
    let sources = read(damaged.as_bytes()).expect("a log").sources;
    let first = &sources[0];
    assert_eq!(
        first.incomplete.as_deref(),
        Some("a set of results is damaged")
    );
    assert_eq!(
        first.rows[0].name.split('/').next(),
        Some("IRQ path cycle count (measured from user level)")
    );
}

#[test]
fn google_benchmark_aggregates_may_lack_a_run_name() {
    let with = String::from_utf8(capture("google-benchmark-aggregates.json")).expect("text");
    let without: Vec<&str> = with
        .lines()
        .filter(|line| !line.contains("\"run_name\""))
        .collect();
    assert!(without.len() < with.lines().count());
    let read = |text: &str| read(text.as_bytes()).expect("aggregates").sources;
    assert_eq!(read(&without.join("\n")), read(&with));
}

#[test]
fn fuchsiaperf_is_recognised_by_any_result() {
    let text = r#"[{"label": "Boot", "unit": "ms"},
        {"label": "a", "test_suite": "fuchsia.x", "unit": "ns", "values": [5]}]"#;
    let problem = read(text.as_bytes()).expect_err("the first has no values");
    assert_eq!(problem.to_string(), "fuchsiaperf: [0].values: missing");
}

#[test]
fn go_events_without_an_end_are_incomplete() {
    let whole = String::from_utf8(capture("go-events.json")).expect("text");
    let (events, _) = whole.rsplit_once("{\"Time\"").expect("an end");
    let sources = read(events.as_bytes()).expect("events").sources;
    let why = "the end of package example.org/locks/rw is missing";
    assert_eq!(sources[0].incomplete.as_deref(), Some(why));
    assert_eq!(
        sources[0].rows,
        read(whole.as_bytes()).expect("events").sources[0].rows
    );
}

#[test]
fn jmh_forks_are_processes_and_rates_become_times() {
    let sources = read(&capture("jmh-forms.json")).expect("results").sources;
    let figures = |source: usize| -> Vec<String> {
        let rows = sources[source].rows.iter();
        rows.map(|row| format!("{} {}", row.name, figure(&row.figure)))
            .collect()
    };
    assert_eq!(
        figures(1),
        [
            // 4 threads perform 2 and 8 operations per microsecond: 2 and 0.5 us each.
            "q.put thrpt samples 500000:1 2000000:1",
            // 1.5 us twice, and 2 us.
            "q.get size=8 samples 1500000:2 2000000:1",
        ]
    );
}

#[test]
fn schbench_with_decreasing_runtime_is_another_process() {
    let short = String::from_utf8(capture("schbench-pipe.txt")).expect("text");
    let all = String::from_utf8(capture("schbench-console.txt")).expect("text");
    let sources = read((all + &short).as_bytes()).expect("both").sources;
    assert_eq!(sources.len(), 2);
    let (cut, _) = short.split_once("\t  min=").expect("an end");
    let sources = read(cut.as_bytes()).expect("a part").sources;
    assert_eq!(
        figure(&sources[0].rows[0].figure),
        "failed: the block is incomplete"
    );
}
