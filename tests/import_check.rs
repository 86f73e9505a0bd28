// SPDX-License-Identifier: MIT OR Apache-2.0

//! Wrong figures in results of other tools are rejected, and plausible ones are kept.
//!
//! Lines from public logs are marked as such; the others have the layout of the tools.

use std::fmt::Write as _;

use kernmark::import::{self, check, Figure, Source};
use kernmark::stream::run::Stat;

/// The sources of a text, checked.
fn checked(text: &str) -> Vec<Source> {
    let imported = import::read(&mut text.as_bytes(), None);
    let mut sources = imported.unwrap_or_else(|e| panic!("{e}: {text}")).sources;
    sources.iter_mut().for_each(check::check);
    sources
}

/// The only source of a text, checked.
fn source(text: &str) -> Source {
    let mut sources = checked(text);
    assert_eq!(sources.len(), 1, "{text}");
    sources.remove(0)
}

fn figure<'a>(source: &'a Source, name: &str) -> &'a Figure {
    let mut named = source.rows.iter().filter(|row| row.name == name);
    let row = named.next().unwrap_or_else(|| panic!("no row {name}"));
    assert!(named.next().is_none(), "{name}");
    &row.figure
}

fn stat<'a>(source: &'a Source, name: &str) -> &'a Stat {
    match figure(source, name) {
        Figure::Summary(stat) => stat,
        other => panic!("{name}: {other:?}"),
    }
}

/// The median or mean of a row, in nanoseconds.
fn nanoseconds(source: &Source, name: &str) -> f64 {
    let ticks = match figure(source, name) {
        Figure::Summary(stat) => stat.value(),
        Figure::Samples(samples) => samples.median(),
        other => panic!("{name}: {other:?}"),
    };
    source.clock.nanoseconds(ticks.unwrap()).expect("a time")
}

fn why<'a>(source: &'a Source, name: &str) -> &'a str {
    match figure(source, name) {
        Figure::Failed(why) => why,
        other => panic!("{name}: {other:?}"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs()
}

/// A Zephyr log with these rows: name, cycles, nanoseconds.
fn zephyr(rows: &[(&str, &str, &str)]) -> String {
    let mut log = "*** Booting Zephyr OS build v4.0.0 ***\nSTART - Time Measurement\n".to_owned();
    for (name, cycles, nanoseconds) in rows {
        writeln!(log, "{name} : {cycles} cycles , {nanoseconds} ns :").unwrap();
    }
    log + "PROJECT EXECUTION SUCCESSFUL\n"
}

/// A Zephyr log with a clock of 16 MHz and a row `op.N` for each of these cycles.
fn at_16_mhz(cycles: &[u64]) -> Source {
    let texts: Vec<[String; 3]> = cycles
        .iter()
        .enumerate()
        .map(|(at, cycles)| {
            let nanoseconds = cycles * 125 / 2;
            [
                format!("op.{at}"),
                cycles.to_string(),
                nanoseconds.to_string(),
            ]
        })
        .collect();
    let rows: Vec<(&str, &str, &str)> = texts
        .iter()
        .map(|[name, cycles, nanoseconds]| (&**name, &**cycles, &**nanoseconds))
        .collect();
    source(&zephyr(&rows))
}

/// Means of 1,000 and 10,000 samples in which negative differences were added up as unsigned (Zephyr
/// issue 66481 and others), or in which a counter wrapped.
#[test]
fn means_that_consist_of_wraps_are_rejected() {
    // From that issue.
    let found = source(&zephyr(&[
        ("thread.yield", "420", "26250"),
        ("semaphore.give", "190", "11875"),
        ("mutex.lock", "429494", "26843395"),
        ("heap.malloc", "1210", "75625"),
    ]));
    assert_eq!(
        why(&found, "mutex.lock"),
        "429494 is within 0.00 % of 1 x 2^32/10000, and the greatest other row is 1210: a counter \
         wrapped, or a negative difference was added up as unsigned"
    );
    assert!(close(nanoseconds(&found, "heap.malloc"), 75_625.0));
    for (cycles, is) in [
        (429_487, "1 x 2^32/10000"),
        (429_496, "1 x 2^32/10000"),
        (167_925, "5 x 2^25/1000"),
        (134_317, "4 x 2^25/1000"),
        (16_777_200, "of 1 x 2^24,"),
        (16_777_300, "of 1 x 2^24,"),
        (68_719_480, "16 x 2^32/1000"),
    ] {
        let found = at_16_mhz(&[420, 190, 240, cycles, 250, 1210, 17]);
        let why = why(&found, "op.3");
        assert!(why.contains(is), "{why}");
        assert_eq!(stat(&found, "op.5").mean, Some(1210.0));
    }
    // Several such means in a log are not compared with each other.
    let found = at_16_mhz(&[420, 429_487, 429_496, 1210, 429_493]);
    for name in ["op.1", "op.2", "op.4"] {
        assert!(why(&found, name).contains("2^32/10000"));
    }
}

#[test]
fn means_that_are_near_wraps_by_chance_are_kept() {
    // Less than 20 times the next row; 0.2 % off; no other row.
    for cycles in [
        &[420, 190, 240, 429_494, 250, 22_000][..],
        &[420, 190, 240, 428_600, 250, 1210],
        &[420, 190, 240, 430_400, 250, 1210],
        &[429_494],
    ] {
        let found = at_16_mhz(cycles);
        let lost = |row: &&import::Row| matches!(row.figure, Figure::Failed(_));
        assert_eq!(found.rows.iter().find(lost), None);
    }
}

/// From a draft of Zephyr's ztest benchmarks.
#[test]
fn minimum_median_and_maximum_can_exclude_a_wrap() {
    let report = |name: &str, [mean, min, max, p50]: [&str; 4]| {
        format!(
            "{name} =====================================\n\
             \tSample size:10000, total cycles: 19530059.000\n\tMean(u): {mean}\n\
             \tStandard deviation(s): 0.604\n\tMin: {min} (run #1)\n\tMax: {max} (run #7020)\n\
             \tp50: {p50}\n\tp90: {p50}\n"
        )
    };
    let rows = [
        report("signal", ["1953.006", "1952.996", "2001.996", "1952.996"]),
        report("post", ["286.996", "286.996", "286.996", "286.996"]),
        report("wait", ["290.996", "286.996", "386.996", "286.996"]),
        report(
            "wrapped",
            ["1964.718", "286.996", "16777503.996", "286.996"],
        ),
        report("give", ["287.200", "286.996", "290.996", "286.996"]),
    ];
    let boot = "*** Booting Zephyr OS build v4.4.0 ***\nevents ############################\n";
    let found = source(&(boot.to_owned() + &rows.concat()));
    let of = |name: &str| stat(&found, name).value();
    assert_eq!(of("events.signal"), Some(1952.996));
    assert_eq!(of("events.give"), Some(286.996));
    // One wrap in 10,000 samples, which does not affect the median.
    let reason = why(&found, "events.wrapped");
    assert!(reason.contains("1 x 2^24/10000 above"), "{reason}");
}

#[test]
fn times_are_not_checked_for_wraps() {
    let go = "goos: linux\npkg: a\nBenchmarkA-8 100 1.90 ns/op\nBenchmarkB-8 100 20.40 ns/op\n\
              BenchmarkC-8 100 1.95 ns/op\nBenchmarkLong-8 2 4285000 ns/op\nPASS\n";
    let found = source(go);
    for (name, wanted) in [("B-8", 20.40), ("Long-8", 4_285_000.0)] {
        assert!(close(nanoseconds(&found, name), wanted), "{name}");
    }
    let hyperfine = r#"{"results": [{"command": "true", "mean": 0.0043,
        "times": [0.004294967, 0.00429, 0.0042949], "exit_codes": [0, 0, 0]}]}"#;
    let runs = checked(hyperfine);
    let times: Vec<f64> = runs.iter().map(|run| nanoseconds(run, "true")).collect();
    assert_eq!(times, [4_294_967.0, 4_290_000.0, 4_294_900.0]);
    let lmbench = "Simple syscall: 0.1303 microseconds\nSimple read: 0.2 microseconds\n\
                   Simple open/close: 16.8541 microseconds\nSelect on 10 fd's: 0.25 microseconds\n\
                   Signal handler overhead: 4294.967 microseconds\n";
    let found = source(lmbench);
    for (name, wanted) in [
        ("Simple open/close", 16_854.1),
        ("Signal handler overhead", 4_294_967.0),
    ] {
        assert!(close(nanoseconds(&found, name), wanted), "{name}");
    }
}

/// An rtos-benchmark log with these rows.
fn rtos(rows: &[(&str, &str)]) -> String {
    let mut log =
        " *** Starting! ***\n\n** Thread stats [avg, min, max] in nanoseconds **\n".to_owned();
    for (name, values) in rows {
        writeln!(log, " {name:<40}: {values}").unwrap();
    }
    log + " *** Done! ***\n"
}

#[test]
fn negative_nanoseconds_of_rtos_benchmark_are_rejected() {
    let found = source(&rtos(&[
        ("Spawn (no context switch)", "420, 410, 700"),
        ("Start (no context switch)", "4900, 4800, 5200"),
        ("Resume (no context switch)", "950, 940, 1000"),
        (
            "Suspend (no context switch)",
            "4294967290, 4294967290, 4294967290",
        ),
        ("Pend (no context switch)", "310, 290, 18446744073709551610"),
        ("Ticks (no context switch)", "17260, 17250, 17300"),
    ]));
    assert!(close(
        nanoseconds(&found, "Thread: Start (no context switch)"),
        4900.0
    ));
    assert!(close(
        nanoseconds(&found, "Thread: Ticks (no context switch)"),
        17_260.0
    ));
    assert_eq!(
        why(&found, "Thread: Suspend (no context switch)"),
        "4294967290 ns is just below 2^32: a negative difference, printed as unsigned"
    );
    let huge = why(&found, "Thread: Pend (no context switch)");
    assert!(huge.contains("is just below 2^64"), "{huge}");
}

/// From `VxWorks` with a clock of 60 Hz, shortened.
#[test]
fn figures_of_a_clock_that_is_too_slow_are_rejected() {
    let found = source(&rtos(&[
        ("Spawn (no context switch)", "66666,      0, 16666667"),
        ("Start (no context switch)", "0,      0,      0"),
        (
            "Suspend (context switch)",
            "449197166666,      0, 5104500000000",
        ),
        (
            "Resume (context switch)",
            "18446294877009551,      0, 18446744073692884950",
        ),
        (
            "Pend (no priority inheritance)",
            "5105433333,      0, 5105066666666",
        ),
        (
            "Take (context switch)",
            "1654622349999,      0, 5106866666666",
        ),
    ]));
    let reasons: Vec<&str> = found
        .rows
        .iter()
        .map(|row| why(&found, &row.name))
        .collect();
    let slow = "the clock is too slow: no row has a value between 0 and 16666667 ns";
    let zero = "0: below the resolution of the clock, or not measured";
    assert_eq!([reasons[0], reasons[2], reasons[4], reasons[5]], [slow; 4]);
    assert_eq!(reasons[1], zero);
    assert!(reasons[3].contains("2^64"), "{}", reasons[3]);
    // A clock of microseconds with a long maximum is not too slow.
    let cyclictest = "T: 0 (26459) P:80 I:1000 C: 1000 Min: 0 Act: 52 Avg: 0 Max: 20000\n";
    assert_eq!(
        stat(&source(cyclictest), "cyclictest thread 0").max,
        Some(20_000.0)
    );
    // Zephyr: cycles beside nanoseconds of a clock of 60 Hz.
    let found = source(&zephyr(&[
        ("a", "300", "5000000000"),
        ("b", "99300", "1655000000000"),
        ("c", "301", "5016666666"),
    ]));
    for name in ["a", "b", "c"] {
        let why = why(&found, name);
        assert!(why.contains("too slow for this measurement"), "{why}");
    }
}

#[test]
fn mean_outside_minimum_and_maximum_is_rejected() {
    let found = source(&rtos(&[
        ("Spawn (no context switch)", "420, 410, 700"),
        ("Start (no context switch)", "400, 410, 700"),
        ("Resume (no context switch)", "701, 410, 700"),
        ("Suspend (no context switch)", "500, 700, 410"),
        ("Lock (no owner)", "410, 410, 410"),
    ]));
    assert!(close(
        nanoseconds(&found, "Thread: Spawn (no context switch)"),
        420.0
    ));
    assert!(close(nanoseconds(&found, "Thread: Lock (no owner)"), 410.0));
    for (name, expected) in [
        (
            "Start",
            "the minimum, 410 ns, is greater than the mean, 400 ns",
        ),
        (
            "Resume",
            "the mean, 701 ns, is greater than the maximum, 700 ns",
        ),
        (
            "Suspend",
            "the minimum, 700 ns, is greater than the maximum, 410 ns",
        ),
    ] {
        assert_eq!(
            why(&found, &format!("Thread: {name} (no context switch)")),
            expected
        );
    }
    let hyperfine =
        r#"{"results": [{"command": "a", "mean": 2.5, "median": 4, "min": 1, "max": 3}]}"#;
    assert_eq!(
        why(&source(hyperfine), "a"),
        "the median, 4 s, is greater than the maximum, 3 s"
    );
}

#[test]
fn reasons_use_the_unit_of_the_log() {
    let lmbench = "\"size=0k ovr=0.66\n2 -0.25\n4 1.5\n";
    let why_of = |text: &str, name: &str| why(&source(text), name).to_owned();
    assert_eq!(
        why_of(lmbench, "lat_ctx size=0k 2"),
        "-0.25 microseconds is negative: more was subtracted than was measured"
    );
    let hyperfine = r#"{"results": [{"command": "a", "mean": -0.5}]}"#;
    assert!(why_of(hyperfine, "a").starts_with("-0.5 s is negative"));
    let go = "goos: linux\npkg: a\nBenchmarkA-8 100 -3.5 ns/op\nPASS\n";
    assert!(why_of(go, "A-8").starts_with("-3.5 ns is negative"));
    let perf = "# Running 'sched/pipe' benchmark:\n     -2.5 usecs/op\n";
    assert!(why_of(perf, "sched/pipe").starts_with("-2.5 usecs/op is negative"));
}

/// From Zephyr issue 78576, with a clock of 10 MHz, and two logs of one row each.
#[test]
fn nanoseconds_refine_coarse_cycles() {
    let found = source(&zephyr(&[
        ("thread.yield.preemptive.ctx.k_to_k", "22", "2205"),
        ("thread.yield.cooperative.ctx.k_to_k", "13", "1377"),
        ("isr.resume.interrupted.thread.kernel", "5", "530"),
        ("none", "0", "83"),
        ("whole", "41", "4100"),
    ]));
    assert_eq!(found.clock.hz, 10_000_000);
    for (name, cycles) in [
        ("thread.yield.preemptive.ctx.k_to_k", 22.05),
        ("thread.yield.cooperative.ctx.k_to_k", 13.77),
        ("isr.resume.interrupted.thread.kernel", 5.3),
        ("none", 0.83),
        ("whole", 41.0),
    ] {
        assert!(close(stat(&found, name).mean.unwrap(), cycles), "{name}");
    }
    let alone = |nanoseconds| source(&zephyr(&[("op", "5", nanoseconds)]));
    let [base, new] = ["510", "590"].map(|text| self::nanoseconds(&alone(text), "op"));
    assert!(close(base, 510.0) && close(new, 590.0), "{base} {new}");
    // Cycles that are finer than nanoseconds do not change.
    let fast = source(&zephyr(&[
        ("a", "250", "100"),
        ("b", "2503", "1001"),
        ("c", "753", "301"),
    ]));
    assert_eq!(fast.clock.hz, 2_500_000_000);
    assert_eq!(stat(&fast, "c").mean, Some(753.0));
}

#[test]
fn nanoseconds_that_contradict_cycles_are_rejected() {
    let found = source(&zephyr(&[
        ("a", "120", "1000"),
        ("b", "240", "2000"),
        ("none", "120", "0"),
        ("few", "8", "0"),
        ("below", "120", "-1000"),
        ("above", "0", "1000"),
        ("c", "360", "3000"),
    ]));
    assert_eq!(found.clock.hz, 120_000_000);
    assert_eq!(
        why(&found, "none"),
        "120 cycles in 0 ns: no clock is that fast"
    );
    assert!(why(&found, "few").contains("8 cycles in 0 ns means a clock of"));
    assert_eq!(why(&found, "below"), "-1000 ns is negative");
    assert!(why(&found, "above").starts_with("0: "));
    assert_eq!(stat(&found, "c").mean, Some(360.0));
    // No row of this log allows a frequency.
    let found = source(&zephyr(&[("a", "120", "0"), ("b", "240", "-2000")]));
    assert_eq!(
        why(&found, "a"),
        "120 cycles in 0 ns: no clock is that fast"
    );
    assert_eq!(why(&found, "b"), "-2000 ns is negative");
}

#[test]
fn point_in_an_integer_is_ambiguous() {
    let found = source(&zephyr(&[
        ("thousands", "1.234", "12.340"),
        ("half", "1234", "12.340"),
        ("plain", "1234", "12340"),
    ]));
    assert_eq!(
        why(&found, "thousands"),
        "`1.234` is ambiguous: the point may separate thousands"
    );
    assert!(why(&found, "half").starts_with("`12.340` is ambiguous"));
    assert!(close(nanoseconds(&found, "plain"), 12_340.0));
    let boxed = "|                            Latency Benchmark                                |\n\
                 | 1 - Measure a switch                                                        |\n\
                 | switching time is 1.234 tcs = 12.340 nsec                                   |\n\
                 | E N D                                                                       |\n";
    assert!(why(&source(boxed), "Measure a switch: switching time").contains("is ambiguous"));
    let found = source(&rtos(&[
        ("Spawn", "1.234, 1.200, 1.300"),
        ("Start", "1234, 1200, 1300"),
    ]));
    assert!(why(&found, "Thread: Spawn").contains("`1.200` is ambiguous"));
    assert!(close(nanoseconds(&found, "Thread: Start"), 1234.0));
}

#[test]
fn thread_metric_needs_a_known_period() {
    let name = "Cooperative Scheduling Test";
    let log = |periods: &[(u64, u64)]| -> Source {
        let mut log = String::new();
        for (seconds, total) in periods {
            writeln!(
                log,
                "**** Thread-Metric {name} **** Relative Time: {seconds}"
            )
            .unwrap();
            writeln!(log, "Time Period Total:  {total}\n").unwrap();
        }
        source(&log)
    };
    // The start of the log is missing: the total may cover the last 30 or 60 seconds.
    assert_eq!(
        why(&log(&[(60, 1_225_610)]), name),
        "the length of a period does not follow from the relative times (60)"
    );
    let times = |periods: &[(u64, u64)]| -> Vec<u64> {
        match figure(&log(periods), name) {
            Figure::Samples(samples) => samples.iter().map(|(ticks, _)| ticks.0).collect(),
            other => panic!("{other:?}"),
        }
    };
    let wanted: Vec<u64> = vec![24_477_607];
    for periods in [
        &[(30, 1_225_610)][..],
        &[(60, 1_225_610), (90, 1_225_610)],
        &[(30, 1_225_610), (60, 1_225_610), (90, 1_225_610)],
        // The second period is missing.
        &[(30, 1_225_610), (90, 1_225_610)],
    ] {
        assert_eq!(times(periods), wanted, "{periods:?}");
    }
    assert_eq!(
        times(&[(10, 400_000), (20, 500_000)]),
        [20_000_000, 25_000_000]
    );
    // The period is ten seconds or less, and periods are missing.
    assert!(why(&log(&[(10, 400_000), (40, 400_000)]), name).contains("(10, 40)"));
}

#[test]
fn perf_bench_figures_of_an_unknown_benchmark_are_not_read() {
    let path = |name: &str| {
        format!(
            "{}/tests/captures/import/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let capture = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let without = |text: &str, line: &str| {
        let shortened = text.replace(&format!("{line}\n"), "");
        assert_ne!(shortened, text, "{line}");
        source(&shortened)
    };
    let all = capture("perf-bench-all.txt");
    let found = without(&all, "# Running sched/pipe benchmark...");
    assert!(close(nanoseconds(&found, "sched/messaging"), 1.332e9));
    assert!(close(nanoseconds(&found, "syscall/basic"), 566.059));
    assert!(found
        .rows
        .iter()
        .all(|row| !row.name.starts_with("sched/pipe")));
    let why_incomplete = "the next `# Running` line after that of sched/messaging is missing";
    assert_eq!(found.incomplete.as_deref(), Some(why_incomplete));
    // The benchmark before it has the same kinds of figures.
    let each = capture("perf-bench-each.txt");
    let found = without(&each, "# Running 'syscall/basic' benchmark:");
    assert!(close(nanoseconds(&found, "sched/pipe"), 2230.05));
    assert!(found.incomplete.is_some());
    let found = without(&each, "# Running 'futex/wake-parallel' benchmark:");
    let whole = source(&each);
    assert_eq!(
        figure(&found, "futex/requeue"),
        figure(&whole, "futex/requeue")
    );
    assert!(found.incomplete.is_some() && whole.incomplete.is_none());
    // Only the last lines of a benchmark are present.
    let tail = "# Running sched/messaging benchmark...\n       3.442413 usecs/op\n";
    assert_eq!(why(&source(tail), "sched/messaging"), "no result");
}
