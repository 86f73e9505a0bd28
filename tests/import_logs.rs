// SPDX-License-Identifier: MIT OR Apache-2.0

//! Imports console output of other tools.
//!
//! Sources of the captures in `tests/captures/import`:
//!
//! - `cyclictest-*`: cyclictest 2.40 and the other rt-tests, with `-p80`, in a virtual machine with
//!   Linux 6.18; bins of zeros and the ends of long lists of overflows are omitted. `cyclictest-summary`: the
//!   last lines of cyclictest 2.4 with `-h 100 -q`.
//! - `rtla-timerlat-hist`: the man page of rtla-timerlat-hist. `-over`, `-threshold`, `-top`: mails to the
//!   Linux kernel mailing list. `-buckets`: a comment in a test suite that runs it. `-top-idle`: written by
//!   hand in the layout of `top`, with CPUs without samples.
//! - `perf-bench-each`, `-all`, `-simple` (`--format=simple all`): perf of Linux 6.1; the last two were
//!   interrupted. `-fork`, `-seccomp-notify`: mails to the Linux kernel mailing list, of later versions.
//! - `lmbench-linux`: a result file from a public repository, with fewer settings, mounts and bandwidths.
//!   `-old`, `-lat_ctx`: mails to the Linux kernel mailing list, of 2001 and 2003. `-summary`: the output of
//!   getsummary for `lmbench-linux`. `-mem_rd`: written by hand in the layout of a result file.
//! - `rtos-benchmark-*`: documentation in public repositories, of a Xilinx KR260 under `VxWorks`, an RP2350
//!   under FreeRTOS, and a `LiteX` system under Zephyr, whose start and end are missing.
//! - `thread-metric-*`: a Zephyr issue about an STM32H753, and the documentation of a `ThreadX` port.
//! - `google-benchmark-console-zircon`: "Micro-benchmarks" in the documentation of Zircon. `-columns`:
//!   written by hand with the columns of tables in public READMEs.
//! - `hwlatdetect-*`: written by hand in the layout of hwlatdetect 2.4, because not every kernel has its
//!   tracer.

use std::fs;
use std::path::PathBuf;

use kernmark::import::{self, Figure, Format, Imported, Problem, Row, Source, FORMATS};
use kernmark::stream::run::Stat;
use proptest::prelude::*;

fn path(name: &str) -> PathBuf {
    let captures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    captures.join(name)
}

fn capture(name: &str) -> String {
    fs::read_to_string(path(name)).expect("the capture is there")
}

fn format(name: &str) -> &'static Format {
    let found = FORMATS.iter().find(|format| format.name == name);
    found.expect("a format of this name")
}

/// Reads a text without naming its format.
fn read(text: &str) -> Result<Imported, Problem> {
    import::read(&mut text.as_bytes(), None)
}

/// The sources of a capture, whose name starts with its format.
fn sources(name: &str) -> Vec<Source> {
    let imported = read(&capture(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    assert!(name.starts_with(imported.format.name), "{name}");
    imported.sources
}

/// The only source of a text.
fn source_of(text: &str) -> Source {
    let mut sources = read(text).expect("it is read").sources;
    assert_eq!(sources.len(), 1);
    sources.remove(0)
}

fn source(name: &str) -> Source {
    let mut sources = sources(name);
    assert_eq!(sources.len(), 1, "{name}");
    sources.remove(0)
}

fn figure<'a>(source: &'a Source, name: &str) -> &'a Figure {
    let named: Vec<&Row> = source.rows.iter().filter(|row| row.name == name).collect();
    assert_eq!(named.len(), 1, "{name}");
    &named[0].figure
}

fn fact<'a>(source: &'a Source, name: &str) -> &'a str {
    let fact = source.facts.iter().find(|fact| fact.name == name);
    &fact.unwrap_or_else(|| panic!("no fact {name}")).value
}

fn stat(figure: &Figure) -> &Stat {
    match figure {
        Figure::Summary(stat) => stat,
        other => panic!("no summary: {other:?}"),
    }
}

/// Samples, mean, min, max.
fn summary(figure: &Figure) -> (u64, f64, f64, f64) {
    let stat = stat(figure);
    let value = |value: Option<f64>| value.expect("a value");
    (
        stat.samples,
        value(stat.mean),
        value(stat.min),
        value(stat.max),
    )
}

/// The mean in nanoseconds of a summary in picoseconds.
fn mean_ns(figure: &Figure) -> f64 {
    stat(figure).mean.expect("a mean") / 1000.0
}

fn samples(figure: &Figure) -> Vec<(u64, u64)> {
    match figure {
        Figure::Samples(histogram) => histogram.iter().map(|(ticks, n)| (ticks.0, n)).collect(),
        other => panic!("no samples: {other:?}"),
    }
}

/// Samples, sum, min, max.
fn totals(figure: &Figure) -> (u64, u64, u64, u64) {
    let samples = samples(figure);
    let ends = samples.first().zip(samples.last());
    let (first, last) = ends.expect("samples");
    (
        samples.iter().map(|(_, n)| n).sum(),
        samples.iter().map(|(ticks, n)| ticks * n).sum(),
        first.0,
        last.0,
    )
}

fn why(figure: &Figure) -> &str {
    match figure {
        Figure::Skipped(why) | Figure::Failed(why) => why,
        other => panic!("a value: {other:?}"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn cyclictest_histogram_agrees_with_its_summary() {
    let text = capture("cyclictest-histofall.txt");
    let stated = |label: &str| -> Vec<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(label));
        let numbers = line.expect(label).split_whitespace();
        numbers.map(|n| n.parse().expect(label)).collect()
    };
    let source = source("cyclictest-histofall.txt");
    assert_eq!(source.incomplete, None);
    assert_eq!(source.clock.hz, 1_000_000);
    assert_eq!(source.rows.len(), 2, "the sum is not a thread");
    for (thread, row) in source.rows.iter().enumerate() {
        assert_eq!(row.name, format!("cyclictest thread {thread}"));
        let (count, sum, min, max) = totals(&row.figure);
        assert_eq!(count, stated("# Total:")[thread]);
        assert_eq!(min, stated("# Min Latencies:")[thread]);
        assert_eq!(max, stated("# Max Latencies:")[thread]);
        assert_eq!(sum / count, stated("# Avg Latencies:")[thread]);
        assert_eq!(stated("# Histogram Overflows:")[thread], 0);
    }
}

#[test]
fn cyclictest_text_and_json_agree() {
    let lines = source("cyclictest-histogram.txt");
    let json = source("cyclictest-histogram.json");
    assert_eq!(lines.rows, json.rows);
    assert_eq!(lines.clock, json.clock);
    assert_eq!(totals(&json.rows[0].figure), (1986, 99637, 18, 6375));
    assert!(
        (99637.0 / 1986.0 - 50.17_f64).abs() < 0.01,
        "the mean in the file"
    );
    assert_eq!(fact(&json, "tool"), "cyclictest 2.40");
    assert!(fact(&json, "kernel").starts_with("Linux 6.18"));
    assert_eq!(fact(&json, "arch"), "x86_64");
    assert!(fact(&json, "command").contains("-h 20000"));
    assert!(fact(&json, "date").contains("2026"));
}

#[test]
fn cyclictest_histogram_with_overflows_is_a_summary() {
    let source = source("cyclictest-overflows.txt");
    assert_eq!(source.rows.len(), 2);
    let first = summary(&source.rows[0].figure);
    assert_eq!(first, (1632 + 368, 45.0, 20.0, 274.0));
    let second = summary(&source.rows[1].figure);
    assert_eq!(second, (1649 + 318, 48.0, 12.0, 6756.0));
}

#[test]
fn cyclictest_thread_lines_show_their_unit() {
    let microseconds = source("cyclictest-threads.txt");
    assert_eq!(microseconds.clock.hz, 1_000_000);
    let first = figure(&microseconds, "cyclictest thread 0");
    assert_eq!(summary(first), (1000, 47.0, 20.0, 1538.0));
    let second = figure(&microseconds, "cyclictest thread 1");
    assert_eq!(summary(second), (680, 54.0, 19.0, 565.0));
    assert_eq!(microseconds.rows[1].about, "P:80 I:1500");
    let nanoseconds = source("cyclictest-threads-ns.txt");
    assert_eq!(nanoseconds.clock.hz, 1_000_000_000);
    let first = figure(&nanoseconds, "cyclictest thread 0");
    assert_eq!(summary(first), (1000, 45647.0, 20176.0, 1_155_508.0));
    let json = source("cyclictest-ns.json");
    assert_eq!(json.clock.hz, 1_000_000_000);
    let only = figure(&json, "cyclictest thread 0");
    assert_eq!(summary(only), (300, 50062.88, 21474.0, 242_365.0));
}

#[test]
fn last_line_of_a_cyclictest_thread_counts() {
    let again = "T: 0 (26459) P:80 I:1000 C:   1100 Min:     19 Act:   52 Avg:   48 Max:    1538\n";
    let live = capture("cyclictest-threads.txt") + again;
    let source = source_of(&live);
    assert_eq!(summary(&source.rows[0].figure).0, 1100);
    // Another process.
    let two = capture("cyclictest-threads.txt") + &again.replace("26459", "26500");
    assert_eq!(read(&two).expect("both").sources.len(), 2);
    // cyclictest prints this before the thread runs.
    let none = again.replace("  1100", "     0");
    assert_eq!(why(&source_of(&none).rows[0].figure), "no samples");
}

#[test]
fn other_rt_tests_are_read() {
    for (tool, expected) in [
        ("pmqtest", (50, 38.34, 28.0, 149.0)),
        ("ptsematest", (50, 69.90, 7.0, 1669.0)),
        ("svsematest", (50, 35.46, 27.0, 49.0)),
        ("sigwaittest", (50, 42.64, 34.0, 88.0)),
        ("signaltest", (50, 51.04, 33.0, 138.0)),
    ] {
        let source = source(&format!("cyclictest-{tool}.json"));
        let row = figure(&source, &format!("{tool} thread 0"));
        assert_eq!(summary(row), expected, "{tool}");
        assert_eq!(fact(&source, "tool"), format!("{tool} 2.40"));
    }
    let lines = source("cyclictest-signaltest.txt");
    let row = figure(&lines, "signaltest thread 0");
    assert_eq!(summary(row), (50, 51.0, 33.0, 138.0));
    // The last bin also counts all longer samples.
    let oslat = source("cyclictest-oslat.json");
    let row = figure(&oslat, "oslat thread 0");
    assert_eq!(summary(row), (3_305_106, 1.272_926, 1.0, 117_107.0));
}

#[test]
fn damaged_cyclictest_histogram_is_rejected() {
    let text = capture("cyclictest-histogram.txt");
    let bin = text
        .lines()
        .find(|line| line.starts_with("000018"))
        .expect("a bin");
    let lost = text.replace(&format!("{bin}\n"), "");
    let source = source_of(&lost);
    assert!(why(&source.rows[0].figure).contains("`# Total:` is 1986"));
    let half = text.replace(bin, "000018 0000");
    assert_eq!(
        why(&source_of(&half).rows[0].figure),
        "a line of the histogram is damaged"
    );
    let (cut, _) = text.split_once("# Min").expect("a summary");
    let source = source_of(cut);
    assert!(source
        .incomplete
        .expect("it is incomplete")
        .contains("Histogram Overflows"));
    assert_eq!(
        why(&source.rows[0].figure),
        "the end of the histogram is missing"
    );
}

#[test]
fn contradictory_cyclictest_json_is_rejected() {
    let text = capture("cyclictest-histogram.json");
    let other = text.replace("\"max\": 6375", "\"max\": 6376");
    assert_ne!(text, other);
    let figure = &source_of(&other).rows[0].figure;
    assert_eq!(
        why(figure),
        "the histogram ranges from 18 to 6375, but the summary from 18 to 6376"
    );
    let broken = text.replace("\"avg\": 50.17", "\"avg\": \"fast\"");
    let problem = read(&broken).expect_err("no number");
    assert_eq!(
        problem.to_string(),
        "cyclictest: thread.0.avg: not a number"
    );
    let failed = text.replace("\"return_code\": 0", "\"return_code\": 1");
    let why = source_of(&failed).incomplete;
    assert_eq!(why.as_deref(), Some("cyclictest exited with status 1"));
}

#[test]
fn rtla_histogram_agrees_with_its_summary() {
    let source = source("rtla-timerlat-hist.txt");
    assert_eq!((source.rows.len(), &source.incomplete), (10, &None));
    assert_eq!(source.clock.hz, 1_000_000);
    assert_eq!(fact(&source, "duration"), "0 00:10:00");
    let mut whole = 0;
    for (name, max, mean) in [
        ("IRQ-000", 16, 0),
        ("Thr-000", 36, 5),
        ("IRQ-001", 15, 0),
        ("Thr-001", 58, 5),
        ("IRQ-002", 24, 0),
        ("Thr-002", 44, 4),
        ("IRQ-003", 21, 0),
        ("Thr-003", 46, 4),
        ("IRQ-004", 13, 0),
        ("Thr-004", 50, 5),
    ] {
        let (count, sum, min, greatest) = totals(figure(&source, name));
        assert_eq!((count, greatest), (600_002, max), "{name}");
        assert_eq!(sum / count, mean, "{name}");
        assert_eq!(min, u64::from(name.starts_with("Thr")), "{name}");
        whole += 1;
    }
    assert_eq!(whole, source.rows.len());
}

#[test]
fn rtla_histogram_without_all_samples_is_a_summary() {
    let over = source("rtla-timerlat-over.txt");
    assert_eq!(over.rows.len(), 4, "not the sums of all CPUs");
    let second = figure(&over, "Thr-000");
    assert_eq!(summary(second), (10_001, 204.0, 18.0, 450.0));
    // Bins ten microseconds wide.
    let wide = source("rtla-timerlat-buckets.txt");
    assert_eq!(wide.rows.len(), 6);
    assert_eq!(summary(figure(&wide, "Usr-001")), (1000, 10.0, 4.0, 24.0));
    assert_eq!(summary(figure(&wide, "IRQ-002")), (999, 0.0, 0.0, 3.0));
    // rtla stopped at the first sample over the threshold.
    let short = source("rtla-timerlat-threshold.txt");
    assert_eq!(samples(figure(&short, "IRQ-000")), [(6, 1)]);
    assert_eq!(samples(figure(&short, "Thr-000")), [(21, 1)]);
    assert_eq!(why(figure(&short, "Usr-000")), "no samples");
}

#[test]
fn wide_bins_of_rtla_are_a_summary_even_if_it_agrees() {
    // Written by hand: bins of two microseconds with the samples 0, 0, 2 and 4.
    let text = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n\
                Index   IRQ-000\n0   2\n2   1\n4   1\n\
                over: 0\ncount: 4\nmin: 0\navg: 1\nmax: 4\n";
    assert_eq!(summary(&source_of(text).rows[0].figure), (4, 1.0, 0.0, 4.0));
}

#[test]
fn incomplete_or_damaged_rtla_output_is_reported() {
    let text = capture("rtla-timerlat-hist.txt");
    let (cut, _) = text.split_once("  avg:").expect("a summary");
    let source = source_of(cut);
    assert!(source
        .incomplete
        .expect("it is incomplete")
        .contains("summary"));
    assert_eq!(why(&source.rows[3].figure), "the summary is missing");
    let damaged = text.replace("  318327  ", "  3183x7  ");
    let figure = &source_of(&damaged).rows[0].figure;
    assert_eq!(why(figure), "a line of the histogram is damaged");
}

#[test]
fn last_table_of_rtla_top_counts() {
    let text = capture("rtla-timerlat-top.txt");
    let source = source("rtla-timerlat-top.txt");
    assert_eq!(source.rows.len(), 24);
    let row = figure(&source, "Thr-004");
    assert_eq!(summary(row), (581_580, 38.0, 1.0, 52_797.0));
    let row = figure(&source, "Usr-007");
    assert_eq!(summary(row), (581_208, 41.0, 2.0, 52_923.0));
    let later = text
        .replace("00:10:01", "00:10:02")
        .replace("52923", "60000");
    let both = source_of(&(text.clone() + &later));
    assert_eq!(stat(figure(&both, "Usr-007")).max, Some(60_000.0));
    let other_process = text.clone() + &text.replace("00:10:01", "00:00:01");
    assert_eq!(read(&other_process).expect("both").sources.len(), 2);
}

#[test]
fn each_perf_benchmark_is_read() {
    let text = capture("perf-bench-each.txt");
    let source = source("perf-bench-each.txt");
    let pipe = figure(&source, "sched/pipe");
    assert_eq!(stat(pipe).samples, 20_000);
    assert!(close(mean_ns(pipe), 2230.05));
    let syscall = figure(&source, "syscall/basic");
    assert_eq!(stat(syscall).samples, 10_000_000);
    assert!(close(mean_ns(syscall), 84.099));
    // The log also has the rate and the total.
    assert!((1e9 / mean_ns(pipe) - 448_420.0).abs() < 1.0);
    assert!((mean_ns(pipe) * 20_000.0 / 1e9 - 0.044).abs() < 0.001);
    assert!((1e9 / mean_ns(syscall) - 11_890_747.0).abs() < 100.0);
    let messaging = figure(&source, "sched/messaging");
    assert!(close(mean_ns(messaging), 1.063e9));
    assert!(close(
        mean_ns(figure(&source, "breakpoint/thread")),
        109_800.0
    ));
    for (name, mean, runs) in [
        ("futex/wake", 0.0772, 10),
        ("futex/requeue", 0.0135, 10),
        ("futex/wake-parallel", 0.0176, 10),
    ] {
        let (count, sum, _, _) = totals(figure(&source, name));
        assert_eq!(count, runs, "{name}");
        let milliseconds = sum as f64 / count as f64 / 1e9;
        assert!((milliseconds - mean).abs() < 1e-4, "{name}: {milliseconds}");
    }
    for (name, because) in [
        ("futex/hash", "a rate over all threads"),
        ("futex/lock-pi", "a rate over all threads"),
        ("epoll/wait", "a rate over all threads"),
        ("epoll/ctl ADD", "a rate over all threads"),
        ("mem/memcpy default", "GB/sec is not a time"),
        ("mem/memcpy x86-64-movsb", "GB/sec is not a time"),
        ("internals/synthesize", "perf's own code"),
        ("numa/mem", "bandwidths"),
    ] {
        let figure = figure(&source, name);
        assert!(matches!(figure, Figure::Skipped(_)), "{name}");
        assert!(why(figure).contains(because), "{name}: {}", why(figure));
    }
    let ran = text.matches("' benchmark:").count();
    let mut benchmarks: Vec<&str> = Vec::new();
    for row in &source.rows {
        let benchmark = row.name.split(' ').next().expect("a name");
        if !benchmarks.contains(&benchmark) {
            benchmarks.push(benchmark);
        }
    }
    assert_eq!(benchmarks.len(), ran);
}

#[test]
fn interrupted_perf_bench_is_read() {
    let source = source("perf-bench-all.txt");
    assert!(close(mean_ns(figure(&source, "sched/pipe")), 3442.413));
    assert!(close(mean_ns(figure(&source, "sched/messaging")), 1.332e9));
    let last = source.rows.last().expect("rows");
    assert!(!matches!(
        last.figure,
        Figure::Samples(_) | Figure::Summary(_)
    ));
    let text = capture("perf-bench-each.txt");
    let (cut, _) = text.split_once("[Run 4]: Wokeup").expect("a run");
    let source = source_of(cut);
    assert_eq!(totals(figure(&source, "futex/wake")).0, 3);
    let (without, _) = text.split_once("     Total time").expect("a result");
    assert_eq!(why(&source_of(without).rows[0].figure), "no result");
}

#[test]
fn perf_bench_totals_are_not_times_of_an_operation() {
    let source = source("perf-bench-simple.txt");
    assert!(close(mean_ns(figure(&source, "sched/messaging")), 0.780e9));
    for name in ["sched/pipe", "syscall/basic"] {
        let why = "it does not print the time of an operation".to_owned();
        assert_eq!(figure(&source, name), &Figure::Skipped(why));
    }
}

#[test]
fn missing_perf_bench_run_is_reported() {
    let text = capture("perf-bench-each.txt");
    let lost = text.replace("[Run 3]: Wokeup 2 of 2 threads in 0.1160 ms\n", "");
    assert_ne!(text, lost);
    let source = source_of(&lost);
    assert_eq!(why(figure(&source, "futex/wake")), "run 3 is missing");
}

#[test]
fn each_process_of_perf_bench_is_a_source() {
    let forks = sources("perf-bench-fork.txt");
    let means: Vec<f64> = forks
        .iter()
        .map(|fork| mean_ns(&fork.rows[0].figure))
        .collect();
    assert_eq!(means, [851_415.3, 857_293.6, 869_536.5]);
    assert_eq!(stat(&forks[0].rows[0].figure).samples, 10_000);
    let notify = sources("perf-bench-seccomp-notify.txt");
    assert_eq!(notify.len(), 2);
    assert_eq!(notify[1].rows[0].name, "sched/seccomp-notify");
    assert!(close(mean_ns(&notify[1].rows[0].figure), 8571.119));
}

#[test]
fn lmbench_result_file_is_read() {
    let source = source("lmbench-linux.txt");
    assert_eq!(source.incomplete, None);
    let median = |name: &str| {
        let ticks = stat(figure(&source, name)).median;
        ticks.expect("a median") / 1e6
    };
    for (name, microseconds) in [
        ("Simple syscall", 0.1303),
        ("Select on 100 tcp fd's", 3.8531),
        ("Process fork+/bin/sh -c", 1032.5),
        ("TCP/IP connection cost to localhost", 27.6802),
        ("mappings 0.524288", 9.824),
        ("mappings 4294.967296", 41378.0),
        ("lat_ctx size=0k 2", 3.40),
        ("lat_ctx size=4k 96", 4.47),
    ] {
        assert!(close(median(name), microseconds), "{name}");
    }
    let created = figure(&source, "File system latency 0k create");
    assert_eq!(stat(created).samples, 469);
    assert!(close(mean_ns(created), 1e9 / 84505.0));
    let deleted = figure(&source, "File system latency 10k delete");
    assert!(close(mean_ns(deleted), 1e9 / 88549.0));
    for name in ["Pipe bandwidth", "File /var/tmp/XXX write bandwidth"] {
        assert!(why(figure(&source, name)).ends_with("B/sec is not a time"));
    }
    assert_eq!(source.rows.len(), 25 + 14 + 8 + 16 + 3);
    assert_eq!(fact(&source, "version"), "lmbench-3alpha4");
    assert_eq!(fact(&source, "clock"), "4952 MHz, 0.2019 nanosec clock");
    assert!(fact(&source, "kernel").starts_with("Linux masumi 6.14.0-27-generic"));
}

#[test]
fn incomplete_damaged_or_repeated_lmbench_results_are_reported() {
    let text = capture("lmbench-linux.txt");
    let (cut, _) = text.split_once("Pipe latency").expect("a row");
    let source = source_of(cut);
    assert_eq!(source.rows.len(), 17);
    assert_eq!(
        source.incomplete.as_deref(),
        Some("the date at the end is missing")
    );
    let damaged = text.replace("syscall: 0.1303", "syscall: 0.1.03");
    assert_eq!(
        why(&source_of(&damaged).rows[0].figure),
        "in `Simple syscall: 0.1.03 microseconds`: `0.1.03` is not a number"
    );
    assert_eq!(read(&text.repeat(2)).expect("both").sources.len(), 2);
    let twice = sources("lmbench-lat_ctx.txt");
    let first = |source: &Source| stat(&source.rows[0].figure).median;
    let medians: Vec<Option<f64>> = twice.iter().map(first).collect();
    assert_eq!(medians, [Some(169.26e6), Some(1.8e6)]);
}

#[test]
fn single_lmbench_tools_are_read() {
    let source = source("lmbench-old.txt");
    // The rows of lat_fs are not read, because they have no title.
    assert_eq!(source.rows.len(), 18);
    let fault = figure(&source, "Pagefaults on /something.avi");
    assert_eq!(stat(fault).median, Some(13098e6));
}

#[test]
fn rtos_benchmark_is_read() {
    let source = source("rtos-benchmark-vxworks.txt");
    assert_eq!((source.rows.len(), &source.incomplete), (31, &None));
    let row = figure(&source, "Thread: Spawn (no context switch)");
    assert_eq!(summary(row), (1, 39_100e3, 35_773e3, 83_009e3));
    let row = figure(&source, "Thread: Start (no context switch)");
    assert_eq!(summary(row), (1, 1_700e3, 1_600e3, 3_230e3));
    let row = figure(&source, "Message queue: Receive (context switch)");
    assert_eq!(summary(row), (1, 3_567e3, 3_380e3, 6_350e3));
    assert_eq!(fact(&source, "board"), "AMD KR260-A53");
    assert_eq!(fact(&source, "kernel"), "VxWorks 3.2.4.0");
    assert_eq!(fact(&source, "built"), "Dec 11 2025 16:18:40");
}

#[test]
fn unsupported_rows_of_rtos_benchmark_are_skipped() {
    let source = source("rtos-benchmark-freertos.txt");
    assert_eq!((source.rows.len(), &source.incomplete), (32, &None));
    let skipped = |row: &&Row| matches!(row.figure, Figure::Skipped(_));
    let skipped: Vec<&str> = source
        .rows
        .iter()
        .filter(skipped)
        .map(|row| &*row.name)
        .collect();
    assert_eq!(
        skipped,
        [
            "Thread: Create (no context switch)",
            "Thread: Start (no context switch)",
            "Thread: Start (context switch)",
        ]
    );
    let row = figure(&source, "Interrupt: Latency");
    assert_eq!(summary(row), (1, 140e3, 140e3, 2_280e3));
}

#[test]
fn incomplete_rtos_benchmark_is_reported() {
    let source = source("rtos-benchmark-zephyr.txt");
    assert_eq!(source.rows.len(), 32);
    assert!(source
        .incomplete
        .expect("it is incomplete")
        .contains("*** Done! ***"));
    // The board resets during the run and starts again.
    let text = capture("rtos-benchmark-freertos.txt");
    let (cut, _) = text.split_once(" Recursive lock").expect("a row");
    let both = read(&(cut.to_owned() + &text)).expect("both").sources;
    let rows: Vec<usize> = both.iter().map(|source| source.rows.len()).collect();
    assert_eq!(rows, [12, 32]);
    assert!(both[0].incomplete.is_some() && both[1].incomplete.is_none());
    // The same without the first lines of a boot.
    let again = capture("rtos-benchmark-zephyr.txt").repeat(2);
    assert_eq!(read(&again).expect("both").sources.len(), 2);
}

#[test]
fn console_prefixes_do_not_change_rtos_benchmark() {
    let name = "rtos-benchmark-freertos.txt";
    let text = capture(name);
    let lines = text
        .lines()
        .map(|line| format!("[00:00:01.234,000] <inf> bench: {line}\r\n"));
    let through_console = lines.collect::<String>();
    assert_eq!(read(&through_console).expect("read").sources, sources(name));
    let damaged = text.replace("  2373,", "  23x3,");
    let figure = &source_of(&damaged).rows[0].figure;
    assert!(
        why(figure).ends_with("`23x3` is not a number"),
        "{}",
        why(figure)
    );
    // A negative value printed as unsigned is read; `check` rejects it later.
    let wrapped = text.replace("  2373,", "18446744073709551615,");
    let mean = mean_ns(&source_of(&wrapped).rows[0].figure);
    assert!(close(mean, 18_446_744_073_709_551_615.0));
}

#[test]
fn thread_metric_periods_are_samples() {
    let source = source("thread-metric-zephyr.txt");
    assert_eq!(source.rows.len(), 1);
    let name = "Basic Single Thread Processing Test";
    let ten_seconds = 10_000_000_000_000_f64;
    let expected = [123_992, 123_988, 123_731].map(|total| {
        let picoseconds = ten_seconds / f64::from(total);
        (picoseconds.round() as u64, 1)
    });
    assert_eq!(samples(figure(&source, name)), expected);
    let threadx = sources("thread-metric-threadx.txt");
    let picoseconds = (30e12_f64 / 252_879.0).round() as u64;
    assert_eq!(samples(figure(&threadx[0], name)), [(picoseconds, 1)]);
    // A time that does not increase belongs to another boot.
    let first = capture("thread-metric-zephyr.txt");
    let second = capture("thread-metric-zephyr-stack-info.txt");
    assert_eq!(read(&(first + &second)).expect("both").sources.len(), 2);
}

#[test]
fn thread_metric_errors_are_failures() {
    let name = "Basic Single Thread Processing Test";
    let text = capture("thread-metric-zephyr.txt");
    let error = "ERROR: Invalid counter value(s). Basic processing thread died!";
    let died = text.replace("20\nTime", &format!("20\n{error}\nTime"));
    assert_ne!(text, died);
    assert_eq!(why(figure(&source_of(&died), name)), error);
    let none = text.replace("123992", "0");
    let stopped = source_of(&none);
    assert!(why(figure(&stopped, name)).contains("no operation was done"));
    let damaged = text.replace("123992", "12399?");
    let damaged = source_of(&damaged);
    assert_eq!(
        why(figure(&damaged, name)),
        "`Time Period Total: 12399?` is not a number"
    );
    let (cut, _) = text
        .split_once("Time Period Total:  123988")
        .expect("a total");
    assert_eq!(totals(figure(&source_of(cut), name)).0, 2);
}

#[test]
fn zircon_capture_agrees_with_published_figures() {
    let published =
        fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("reference/zircon.csv"));
    let mut published = csv::Reader::from_reader(published.as_deref().expect("csv").as_bytes());
    let sources = sources("google-benchmark-console-zircon.txt");
    assert_eq!(sources.len(), 2);
    let rows: Vec<(&Row, &str)> = sources
        .iter()
        .zip(["zircon/2017-08-17", "zircon/2018-01-02"])
        .flat_map(|(source, dataset)| source.rows.iter().map(move |row| (row, dataset)))
        .collect();
    let expected: Vec<csv::StringRecord> = published.records().map(|r| r.expect("a row")).collect();
    assert_eq!(rows.len(), expected.len());
    for ((row, dataset), expected) in rows.iter().zip(&expected) {
        let [published, _, _, title, wall, cpu, iterations, _] =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|at| &expected[at]);
        assert_eq!((*dataset, row.name.as_str()), (published, title));
        assert!(
            close(mean_ns(&row.figure), wall.parse().expect("a number")),
            "{title}"
        );
        assert_eq!(row.about, format!("CPU time {cpu} ns"));
        assert_eq!(stat(&row.figure).samples.to_string(), iterations);
    }
}

#[test]
fn google_benchmark_table_is_read() {
    // Written by hand from the documentation of errors, aggregates and complexities.
    let text = "2026-01-01T00:00:00+00:00\nRunning ./bench\nRun on (8 X 4000 MHz CPU s)\n\
        -----------------------------------------------------------------------\n\
        Benchmark             Time             CPU   Iterations UserCounters...\n\
        -----------------------------------------------------------------------\n\
        BM_Fast            1.25 ns         1.24 ns    560000000 items=3\n\
        BM_Slow             2.5 ms          2.4 ms          280\n\
        BM_Slow             2.7 ms          2.6 ms          280\n\
        BM_Slow_mean        2.6 ms          2.5 ms            2\n\
        BM_Slow_cv         3.85 %          3.85 %             2\n\
        BM_Only_median      7.0 us          7.0 us            3\n\
        BM_Sort_BigO       1.2 NlgN        1.2 NlgN\n\
        BM_Sort_RMS           3 %             3 %\n\
        BM_Bad     ERROR OCCURRED: 'no device'\n\
        BM_Off     SKIPPED: 'not here'\n\
        BM_Torn            1.2. ns         1.24 ns    560000000\n";
    let source = source_of(text);
    assert_eq!(fact(&source, "cpu"), "8 X 4000 MHz CPU s");
    let names: Vec<&str> = source.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "BM_Fast",
            "BM_Slow",
            "BM_Slow",
            "BM_Only_median",
            "BM_Sort_BigO",
            "BM_Sort_RMS",
            "BM_Bad",
            "BM_Off",
            "BM_Torn"
        ]
    );
    assert!(close(mean_ns(&source.rows[0].figure), 1.25));
    assert!(close(mean_ns(&source.rows[2].figure), 2.7e6));
    assert!(close(mean_ns(&source.rows[3].figure), 7000.0));
    assert!(matches!(&source.rows[4].figure, Figure::Skipped(_)));
    assert!(matches!(&source.rows[5].figure, Figure::Skipped(_)));
    assert_eq!(
        source.rows[6].figure,
        Figure::Failed("no device".to_owned())
    );
    assert_eq!(
        source.rows[7].figure,
        Figure::Skipped("not here".to_owned())
    );
    assert!(why(&source.rows[8].figure).ends_with("`1.2.` is not a number"));
}

#[test]
fn google_benchmark_table_may_have_columns_of_any_width() {
    let source = source("google-benchmark-console-columns.txt");
    assert!(close(mean_ns(figure(&source, "hash_bench")), 564.0));
    assert_eq!(stat(figure(&source, "sort_bench")).samples, 127);
    assert_eq!(source.rows.len(), 2);
}

#[test]
fn cyclictest_summary_without_histogram_is_read() {
    let source = source("cyclictest-summary.txt");
    assert_eq!(source.incomplete, None);
    let first = summary(figure(&source, "cyclictest thread 0"));
    assert_eq!(first, (295 + 5, 47.0, 29.0, 473.0));
    let second = summary(figure(&source, "cyclictest thread 1"));
    assert_eq!(second, (300, 32.0, 22.0, 93.0));
    // The first of two summaries lacks its last line, and the second lacks its totals.
    let text = capture("cyclictest-summary.txt");
    let (first, _) = text.split_once("# Histogram").expect("overflows");
    let (_, second) = text.split_once("# Min").expect("a minimum");
    let both = read(&format!("{first}# Min{second}"))
        .expect("both")
        .sources;
    let samples = both.iter().map(|source| summary(&source.rows[0].figure).0);
    assert_eq!(samples.collect::<Vec<u64>>(), [295, 1 + 5]);
    let (cut, _) = text.split_once("# Max").expect("a maximum");
    let source = source_of(cut);
    assert!(source.incomplete.is_some());
    assert!(matches!(source.rows[0].figure, Figure::Failed(_)));
}

#[test]
fn cpu_without_samples_in_rtla_top_is_skipped() {
    let source = source("rtla-timerlat-top-idle.txt");
    assert_eq!(summary(figure(&source, "Thr-000")), (6087, 9.0, 5.0, 25.0));
    assert_eq!(summary(figure(&source, "IRQ-001")), (1, 12.0, 12.0, 12.0));
    for name in ["Thr-001", "IRQ-002", "Thr-002"] {
        let skipped = Figure::Skipped("no samples".to_owned());
        assert_eq!(figure(&source, name), &skipped);
    }
    assert_eq!(source.rows.len(), 6);
}

#[test]
fn lmbench_loads_are_read_in_both_orders() {
    let source = source("lmbench-mem_rd.txt");
    let median = |name: &str| stat(figure(&source, name)).median;
    assert_eq!(median("lat_mem_rd stride=128 0.00049"), Some(1616.0));
    assert_eq!(median("lat_mem_rd stride=128 1.00000"), Some(5210.0));
    assert_eq!(median("lat_mem_rd random stride=16 1.00000"), Some(14870.0));
    assert_eq!(source.rows.len(), 6);
}

#[test]
fn lmbench_summary_tables_agree_with_the_result_file() {
    let (tables, file) = (source("lmbench-summary.txt"), source("lmbench-linux.txt"));
    let value = |row: &Row| match &row.figure {
        Figure::Summary(stat) => stat.value(),
        _ => None,
    };
    let mut found = 0;
    for row in &tables.rows {
        let same = file.rows.iter().find(|other| other.name == row.name);
        if let Some((short, whole)) = same.and_then(|same| Some((value(row)?, value(same)?))) {
            // Figures are truncated to the column's width: `27.` is 27.68.
            assert!(
                (short - whole).abs() <= 0.05 * whole,
                "{}: {short} {whole}",
                row.name
            );
            found += 1;
        }
    }
    assert_eq!((found, tables.rows.len()), (21, 23));
    assert!(close(mean_or_median(&tables, "null I/O"), 0.20e6));
    assert!(close(mean_or_median(&tables, "mappings"), 41.4e9));
    // A second file of the same host, and another host.
    let row = "host      Linux 6.14.0- 3.4000 ";
    let text = capture("lmbench-summary.txt");
    let more = format!(
        "{row}\n{}\n{}",
        row.replace("3.4", "3.5"),
        row.replace("host ", "other")
    );
    let sources = read(&text.replace(row, &more)).expect("three").sources;
    let switches = sources
        .iter()
        .map(|source| mean_or_median(source, "lat_ctx size=0k 2"));
    assert_eq!(switches.collect::<Vec<f64>>(), [3.4e6, 3.5e6, 3.4e6]);
    // `123K` may be the start of a longer figure.
    let wide = text.replace(" 1032\n", " 123K\n");
    assert_ne!(wide, text);
    let wide = source_of(&wide);
    let figure = figure(&wide, "Process fork+/bin/sh -c");
    assert!(why(figure).contains("may have lost its last digit"));
}

/// The value of a summary.
fn mean_or_median(source: &Source, name: &str) -> f64 {
    stat(figure(source, name)).value().expect("a value")
}

#[test]
fn hwlatdetect_samples_over_the_threshold_are_read() {
    let found = source("hwlatdetect-samples.txt");
    assert_eq!(found.incomplete, None);
    assert_eq!(found.clock.hz, 1_000_000);
    assert_eq!(
        samples(figure(&found, "hwlatdetect inner over 10us")),
        [(20, 2)]
    );
    let outer = figure(&found, "hwlatdetect outer over 10us");
    assert_eq!(samples(outer), [(14, 1), (25, 1)]);
    assert_eq!(fact(&found, "duration"), "120 seconds");
    let none = source("hwlatdetect-none.txt");
    for row in &none.rows {
        assert_eq!(why(&row.figure), "nothing over 10us");
    }
    // --watch prints the samples during the run and again at the end.
    let text = capture("hwlatdetect-samples.txt");
    let (_, listed) = text
        .split_once("exceeding threshold: 3\n")
        .expect("samples");
    let watched = text.replace("Starting test\n", &format!("Starting test\n{listed}"));
    assert_eq!(source_of(&watched).rows, found.rows);
}

#[test]
fn incomplete_or_contradictory_hwlatdetect_output_is_reported() {
    let text = capture("hwlatdetect-samples.txt");
    let without_the_last = text.split_inclusive('\n').take(16).collect::<String>();
    let reason = "lists 2 samples, but `Samples recorded:` is 3";
    assert_eq!(why(&source_of(&without_the_last).rows[0].figure), reason);
    let (cut, _) = text.split_once("Max Latency").expect("a result");
    let source = source_of(cut);
    assert!(source.incomplete.is_some());
    assert_eq!(why(&source.rows[0].figure), "the result is missing");
    let other = text.replace("Max Latency: 25us", "Max Latency: 24us");
    let reason = "the greatest sample is 25us, but `Max Latency:` is 24us";
    assert_eq!(why(&source_of(&other).rows[1].figure), reason);
}

const CAPTURES: [&str; 42] = [
    "cyclictest-histofall.txt",
    "cyclictest-histogram.json",
    "cyclictest-histogram.txt",
    "cyclictest-ns.json",
    "cyclictest-oslat.json",
    "cyclictest-overflows.txt",
    "cyclictest-pmqtest.json",
    "cyclictest-ptsematest.json",
    "cyclictest-signaltest.json",
    "cyclictest-signaltest.txt",
    "cyclictest-sigwaittest.json",
    "cyclictest-summary.txt",
    "cyclictest-svsematest.json",
    "cyclictest-threads-ns.txt",
    "cyclictest-threads.json",
    "cyclictest-threads.txt",
    "google-benchmark-console-columns.txt",
    "google-benchmark-console-zircon.txt",
    "hwlatdetect-none.txt",
    "hwlatdetect-samples.txt",
    "lmbench-lat_ctx.txt",
    "lmbench-linux.txt",
    "lmbench-mem_rd.txt",
    "lmbench-old.txt",
    "lmbench-summary.txt",
    "perf-bench-all.txt",
    "perf-bench-each.txt",
    "perf-bench-fork.txt",
    "perf-bench-seccomp-notify.txt",
    "perf-bench-simple.txt",
    "rtla-timerlat-buckets.txt",
    "rtla-timerlat-hist.txt",
    "rtla-timerlat-over.txt",
    "rtla-timerlat-threshold.txt",
    "rtla-timerlat-top-idle.txt",
    "rtla-timerlat-top.txt",
    "rtos-benchmark-freertos.txt",
    "rtos-benchmark-vxworks.txt",
    "rtos-benchmark-zephyr.txt",
    "thread-metric-threadx.txt",
    "thread-metric-zephyr-stack-info.txt",
    "thread-metric-zephyr.txt",
];

/// The formats that this file tests.
const NAMES: [&str; 8] = [
    "cyclictest",
    "hwlatdetect",
    "rtla-timerlat",
    "perf-bench",
    "lmbench",
    "rtos-benchmark",
    "thread-metric",
    "google-benchmark-console",
];

/// Whether all rows are valid: numbers are finite, and there are samples, values or reasons.
fn is_sound(read: Result<Imported, Problem>) -> bool {
    let finite = |value: Option<f64>| value.is_none_or(f64::is_finite);
    let sources = read.map_or(Vec::new(), |imported| imported.sources);
    let mut rows = sources.iter().flat_map(|source| &source.rows);
    rows.all(|row| match &row.figure {
        Figure::Samples(histogram) => !histogram.is_empty(),
        Figure::Summary(stat) => {
            stat.samples > 0
                && (stat.mean.is_some() || stat.median.is_some())
                && [stat.mean, stat.median, stat.min, stat.max].into_iter().all(finite)
        }
        Figure::Skipped(why) | Figure::Failed(why) => !why.is_empty(),
    } && !row.name.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_captures_are_read_without_panic(
        which in 0..CAPTURES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4, any::<u8>()), 1..20),
    ) {
        let mut bytes = fs::read(path(CAPTURES[which])).expect("a capture");
        for (at, how, byte) in edits {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => bytes.truncate(at.max(1)),
                // Makes long numbers.
                _ => bytes.splice(at..at, *b"99999999999999999999").for_each(drop),
            }
        }
        for name in NAMES {
            prop_assert!(is_sound(import::read(&mut bytes.as_slice(), Some(format(name)))));
        }
        prop_assert!(is_sound(import::read(&mut bytes.as_slice(), None)));
    }

    #[test]
    fn capture_lines_in_any_order_are_read_without_panic(
        picks in prop::collection::vec((0..CAPTURES.len(), any::<prop::sample::Index>()), 0..60),
        prefix in "[ \\[\\]0-9:.é]{0,12}",
    ) {
        let mut text = String::new();
        for (which, line) in picks {
            let capture = capture(CAPTURES[which]);
            let lines: Vec<&str> = capture.lines().collect();
            text += &prefix;
            text += lines[line.index(lines.len())];
            text += "\n";
        }
        for name in NAMES {
            prop_assert!(is_sound(import::read(&mut text.as_bytes(), Some(format(name)))));
        }
        prop_assert!(is_sound(read(&text)));
    }
}
