// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is read of captures of other tools. Captures that no tool printed, because they put rare
//! forms together, are called `forms` or `kinds`.
//!
//! Where they are from: `google-benchmark-*` are of Debian's libbenchmark 1.7.1 with a program of
//! eight benchmarks, `go-*` of Go 1.26, `hyperfine-*` of Debian's hyperfine 1.15, each run for this.
//! `fuchsiaperf-schema` is the example of Fuchsia's description of the format. `sel4bench-summaries`
//! and `sel4bench-console` are figures that the sel4bench-results repository publishes of a Skylake
//! (19 March 2026), laid out as sel4bench prints them; the second half of `sel4bench-truncated` is from
//! pull request 30 of sel4bench, the raw values of its first set were put in front of it by hand.
//! `sel4bench-history` is the first lines, with fewer metrics, that sel4bench-results publishes of a
//! Jetson TX1. `go-replicates`, `go-instructions` and `bencher-time` are laid out as kernmark exports;
//! `bencher-forms` and `bencher-instructions` are written by hand. `go-events` is of `go test -json` of Go
//! 1.26, `go-indented` has lines of it as a README quotes them.
//!
//! `criterion-*` are what criterion 0.5 and cargo-criterion 1.1 left of one program, `jmh-plain` what JMH
//! 1.37 wrote with `-prof gc` (histograms and secondary metrics shortened), `pytest-benchmark-*` of version
//! 5.3 with and without its data (shortened), `schbench-*` of schbench 1.0, each run for this.

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

/// All that sources say, a row in a line.
fn told(imported: &Imported) -> String {
    let mut out = format!("{}\n", imported.format.name);
    for source in &imported.sources {
        let clock = &source.clock;
        let unit = clock.unit.name();
        let _ = writeln!(out, "source: {}, {unit}, {} Hz", clock.name, clock.hz);
        for fact in &source.facts {
            let _ = writeln!(out, "  {}: {}", fact.name, fact.value);
        }
        if let Some(cut) = &source.cut {
            let _ = writeln!(out, "  cut: {cut}");
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
                insta::assert_snapshot!($name, told(&imported));
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
fn an_error_says_where_the_document_is_wrong() {
    for (text, says) in [
        (
            r#"{"results": [{"command": "x", "mean": 1, "times": [1, "y"]}]}"#,
            "hyperfine: results[0].times[1]: no number",
        ),
        (
            r#"{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}"#,
            "google-benchmark: benchmarks[0].time_unit: `h` is no unit of time",
        ),
        (
            r#"[{"label": "a", "unit": "ns", "values": [1]}, {"label": "b", "values": [1]}]"#,
            "fuchsiaperf: [1].unit: not there",
        ),
        (
            r#"[{"Benchmark": "b", "Results": [{"Mean": "x"}]}]"#,
            "sel4bench: [0].Results[0].Mean: no number",
        ),
        (
            "{\"sha_kernel\": \"a\", \"sha_bench\": \"b\", \"ipc_call\": [1, 2, 3]}\n{}\n",
            "sel4bench: [0].ipc_call: not eight numbers",
        ),
        (
            r#"[{"benchmark": "b", "mode": "avgt", "primaryMetric": {"scoreUnit": "ns/op",
                "rawData": [[1, "x"]]}}]"#,
            "jmh: [0].primaryMetric.rawData[0][1]: no number",
        ),
        (
            r#"{"iters": [1, 2], "times": [5]}"#,
            "criterion: [0].times: 1 values, `iters` has 2",
        ),
        (
            r#"{"machine_info": {}, "benchmarks": [{"name": "a", "stats": {"data": ["x"]}}]}"#,
            "pytest-benchmark: benchmarks[0].stats.data[0]: no number",
        ),
    ] {
        let problem = read(text.as_bytes()).expect_err("it is wrong");
        assert_eq!(problem.to_string(), says);
    }
}

#[test]
fn a_document_that_breaks_off_is_no_json() {
    let whole = capture("google-benchmark-repetitions.json");
    let problem = read(&whole[..whole.len() / 2]).expect_err("it is broken");
    assert!(matches!(problem, Problem::NotJson(_)), "{problem}");
}

#[test]
fn a_log_of_sel4bench_may_hold_several_boots_and_damage() {
    let whole = String::from_utf8(capture("sel4bench-console.txt")).expect("text");
    let broken = String::from_utf8(capture("sel4bench-truncated.txt")).expect("text");
    let sources = read(format!("{broken}\n{whole}").as_bytes())
        .expect("a log")
        .sources;
    let cuts: Vec<_> = sources.iter().map(|source| source.cut.as_deref()).collect();
    let goes_on = Some("the log goes on before END JSON OUTPUT");
    assert_eq!(cuts, [goes_on, None, None]);

    let damaged = whole.replacen("822", "8[ 1.5] usb", 1);
    let sources = read(damaged.as_bytes()).expect("a log").sources;
    let first = &sources[0];
    assert_eq!(
        first.cut.as_deref(),
        Some("a set of its results is damaged")
    );
    assert_eq!(
        first.rows[0].name.split('/').next(),
        Some("IRQ path cycle count (measured from user level)")
    );
}

#[test]
fn aggregates_of_google_benchmark_need_no_name_of_their_run() {
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
fn a_result_of_fuchsia_need_not_be_the_first() {
    let text = r#"[{"label": "Boot", "unit": "ms"},
        {"label": "a", "test_suite": "fuchsia.x", "unit": "ns", "values": [5]}]"#;
    let problem = read(text.as_bytes()).expect_err("the first has no values");
    assert_eq!(problem.to_string(), "fuchsiaperf: [0].values: not there");
}

#[test]
fn events_of_go_without_their_end_are_cut_off() {
    let whole = String::from_utf8(capture("go-events.json")).expect("text");
    let (events, _) = whole.rsplit_once("{\"Time\"").expect("an end");
    let sources = read(events.as_bytes()).expect("events").sources;
    let why = "the end of package example.org/locks/rw is missing";
    assert_eq!(sources[0].cut.as_deref(), Some(why));
    assert_eq!(
        sources[0].rows,
        read(whole.as_bytes()).expect("events").sources[0].rows
    );
}

#[test]
fn forks_of_jmh_are_processes_and_rates_are_times_of_an_operation() {
    let sources = read(&capture("jmh-forms.json")).expect("results").sources;
    let figures = |source: usize| -> Vec<String> {
        let rows = sources[source].rows.iter();
        rows.map(|row| format!("{} {}", row.name, figure(&row.figure)))
            .collect()
    };
    assert_eq!(
        figures(1),
        [
            // 4 threads do 2 and 8 operations a microsecond: 2 and 0.5 us each.
            "q.put thrpt samples 500000:1 2000000:1",
            // 1.5 us twice and 2 us.
            "q.get size=8 samples 1500000:2 2000000:1",
        ]
    );
}

#[test]
fn a_shorter_runtime_of_schbench_is_another_process() {
    let one = String::from_utf8(capture("schbench-pipe.txt")).expect("text");
    let all = String::from_utf8(capture("schbench-console.txt")).expect("text");
    let sources = read((all + &one).as_bytes()).expect("both").sources;
    assert_eq!(sources.len(), 2);
    let (cut, _) = one.split_once("\t  min=").expect("an end");
    let sources = read(cut.as_bytes()).expect("a part").sources;
    assert_eq!(
        figure(&sources[0].rows[0].figure),
        "failed: its block is cut off"
    );
}
