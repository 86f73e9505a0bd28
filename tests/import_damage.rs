// SPDX-License-Identifier: MIT OR Apache-2.0

//! Imports damaged copies of every capture. Each copy gives the right numbers or none.
//!
//! A number is wrong if the undamaged capture has another number for the same id, or lacks the id. Two
//! kinds of captures grow during a measurement, so a truncated copy has an earlier state. Samples may be
//! printed line by line; the copy has some of them. cyclictest, `rtla timerlat top` and schbench repeat
//! their figures ([`GROWING`]); the copy may have any of them.
//!
//! Harmless changes (line ends, console prefixes, gzip) must not lose anything.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use flate2::write::GzEncoder;
use flate2::Compression;
use kernmark::files::store;
use kernmark::import::{self, Figure, Imported, Problem, Source};
use kernmark::stream::histogram::Histogram;
use kernmark::stream::run::Stat;
use kernmark::stream::ticks::Ticks;
use seen::Seen;
use tempfile::TempDir;

#[path = "common/seen.rs"]
mod seen;

/// Captures that repeat their rows with more samples each time. Two of them are generated here.
const GROWING: [&str; 3] = [
    "made-cyclictest.txt",
    "made-rtla-top.txt",
    "schbench-console.txt",
];

/// Prefixes of consoles, loggers and mail.
const PREFIXES: [&str; 14] = [
    "[2026-01-01 12:34:56] ",
    "[   12.345678] ",
    "<6>[   12.345678][    T1] ",
    "[Thu Jan  1 12:34:56 2026] ",
    "Jan 01 12:34:56 board bench[123]: ",
    "Jan 01 12:34:56.123456 board kernel: [   12.345678] ",
    "2026-01-01T12:34:56.123456+00:00 board bench[123]: ",
    "2026-01-01T12:34:56.1234567Z ",
    "1767225600.123456 ",
    "12:34:56.789 ",
    "[00:00:01.234,000] <inf> app: ",
    "-> ",
    "> ",
    "\u{1b}]0;a title 7\u{7}\u{1b}[32m",
];

/// A figure with a number.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Samples(Histogram),
    Summary(Stat),
}

/// The contents of a capture or a copy: the figures of each id, in the order of the sources.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    values: HashMap<String, Vec<Value>>,
    rows: usize,
    is_incomplete: bool,
}

fn captures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    let entries = fs::read_dir(folder).expect("the captures");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let named = |file: &PathBuf| {
        let name = file.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), fs::read(file).expect("a capture"))
    };
    let mut captures: Vec<_> = files.iter().map(named).collect();
    captures.push((GROWING[0].to_owned(), running_cyclictest().into_bytes()));
    captures.push((GROWING[1].to_owned(), running_rtla().into_bytes()));
    captures
}

/// The `T:` lines that cyclictest prints during a run without -q.
fn running_cyclictest() -> String {
    let mut out = String::from("# /dev/cpu_dma_latency set to 0us\n");
    for round in 1..30 {
        for thread in 0..3 {
            let (count, max) = (round * 1000 / (thread + 1), 50 + 7 * round);
            let _ = writeln!(
                out,
                "T: {thread} ( {}) P:80 I:{} C:{count:>7} Min:{:>7} Act:{:>5} Avg:{:>5} Max:{max:>8}",
                4000 + thread,
                1000 + 500 * thread,
                3 + thread,
                10 + round % 7,
                20 + round,
            );
        }
    }
    out
}

/// The tables that `rtla timerlat top` prints during a run.
fn running_rtla() -> String {
    let mut out = String::new();
    for second in 1..12 {
        let _ = write!(
                out,
            "{:37}Timer Latency\n  0 00:00:{second:02}   |          IRQ Timer Latency (us)        \
             |         Thread Timer Latency (us)\nCPU COUNT      |      cur       min       avg       \
             max |      cur       min       avg       max\n",
            ""
        );
        for cpu in 0..4 {
            let max = 10 + 3 * second + cpu;
            let _ = writeln!(
                out,
                "{cpu:3} #{:<9} |{:>9} {:>9} {:>9} {max:>9} |{:>9} {:>9} {:>9} {:>9}",
                second * 1000,
                1,
                0,
                1 + cpu,
                4,
                2,
                3 + second,
                max * 2,
            );
        }
    }
    out
}

/// Reads and decompresses, as for a file.
fn read(bytes: &[u8]) -> Result<Imported, Problem> {
    let mut input = store::decompressed(bytes)?;
    import::read(input.as_mut(), None)
}

/// The contents of a file; `None` if it cannot be read.
fn contents(bytes: &[u8]) -> Option<Contents> {
    let imported = read(bytes).ok()?;
    let mut contents = Contents {
        is_incomplete: imported
            .sources
            .iter()
            .any(|source: &Source| source.incomplete.is_some()),
        ..Contents::default()
    };
    let figures = imported.sources.iter().flat_map(|source| &source.rows);
    for row in figures {
        contents.rows += 1;
        let value = match &row.figure {
            Figure::Samples(samples) => Value::Samples(samples.clone()),
            Figure::Summary(stat) => Value::Summary(stat.clone()),
            Figure::Skipped(_) | Figure::Failed(_) => continue,
        };
        let values = contents.values.entry(row.name.clone()).or_default();
        values.push(value);
    }
    Some(contents)
}

/// Whether all samples are also in another distribution.
fn is_part(part: &Histogram, whole: &Histogram) -> bool {
    let mut counts: HashMap<u64, u64> = whole.iter().map(|(t, n)| (t.0, n)).collect();
    part.iter()
        .all(|(ticks, count)| counts.remove(&ticks.0).is_some_and(|there| count <= there))
}

/// Whether a summary is that of these samples, with a mean truncated to an integer.
fn is_summary(stat: &Stat, samples: &Histogram) -> bool {
    let end = |value: Option<Ticks>| value.map(|ticks| ticks.0 as f64);
    let sum: f64 = samples.iter().map(|(t, n)| t.0 as f64 * n as f64).sum();
    let mean = sum / samples.total() as f64;
    (stat.min, stat.max) == (end(samples.min()), end(samples.max()))
        && (stat.samples == 1 || stat.samples == samples.total())
        && stat.mean.is_some_and(|stated| (stated - mean).abs() <= 1.0)
}

/// The wrong numbers of a copy. `states` are earlier states of the capture.
fn wrong_numbers(copy: &Contents, whole: &Contents, states: &[Contents]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, values) in &copy.values {
        // In Go's results the package precedes a name if a later package has the same name.
        let is_same = |name: &str| {
            let package = name.strip_suffix(id.as_str());
            package.is_some_and(|package| package.is_empty() || package.ends_with('.'))
        };
        let values_in = |contents: &Contents| -> Vec<Value> {
            let named = contents.values.iter().filter(|(name, _)| is_same(name));
            named.flat_map(|(_, values)| values.clone()).collect()
        };
        let mut right = values_in(whole);
        right.extend(states.iter().flat_map(values_in));
        for value in values {
            let is_right = right.iter().any(|right| match (value, right) {
                (Value::Samples(part), Value::Samples(all)) => is_part(part, all),
                // The samples are missing, but the summary below them is present.
                (Value::Summary(stat), Value::Samples(all)) => is_summary(stat, all),
                // The line with the number of samples is missing.
                (Value::Summary(stat), Value::Summary(all)) if stat.samples < all.samples => {
                    let samples = all.samples;
                    *all == Stat {
                        samples,
                        ..stat.clone()
                    }
                }
                (value, right) => value == right,
            });
            if !is_right {
                wrong.push(format!("{id}: {value:?}"));
            }
        }
    }
    wrong
}

/// The contents of a growing capture at the end of each line.
fn states(name: &str, whole: &[u8]) -> Vec<Contents> {
    if !GROWING.contains(&name) {
        return Vec::new();
    }
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let states = ends.filter_map(|(end, _)| contents(&whole[..=end]));
    states.collect()
}

fn lines(bytes: &[u8], edit: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(edit).collect()
}

fn with_ends(bytes: &[u8], end: &[u8]) -> Vec<u8> {
    lines(bytes, |line| match line.strip_suffix(b"\n") {
        Some(line) => [line, end].concat(),
        None => line.to_vec(),
    })
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn utf16(bytes: &[u8], begin: &str) -> Vec<u8> {
    let text = format!("{begin}{}", String::from_utf8_lossy(bytes));
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Changes that must not lose anything. Prefixes are added only to formats of lines.
fn harmless(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut copies = vec![
        ("CR LF".to_owned(), with_ends(bytes, b"\r\n")),
        ("CR CR LF".to_owned(), with_ends(bytes, b"\r\r\n")),
        ("CR".to_owned(), with_ends(bytes, b"\r")),
        ("gzip".to_owned(), gzipped(bytes)),
        (
            "byte order mark".to_owned(),
            [b"\xef\xbb\xbf", bytes].concat(),
        ),
    ];
    // A capture may also be several consecutive documents.
    let mut documents =
        serde_json::Deserializer::from_slice(bytes).into_iter::<serde_json::Value>();
    if documents.any(|document| document.is_err()) {
        for prefix in PREFIXES {
            let add = |line: &[u8]| [prefix.as_bytes(), line].concat();
            copies.push((format!("{prefix:?}"), lines(bytes, add)));
        }
    }
    copies
}

/// Damage that may lose numbers but must not make any wrong.
fn harmful(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut copies = vec![
        ("UTF-16".to_owned(), utf16(bytes, "\u{feff}")),
        (
            "UTF-16 without byte order mark".to_owned(),
            utf16(bytes, ""),
        ),
        (
            "UTF-8 as UTF-16, odd".to_owned(),
            utf16(bytes, "\u{feff}")[1..].to_vec(),
        ),
        ("NUL at the end".to_owned(), [bytes, &[0; 512]].concat()),
    ];
    let gzip = gzipped(bytes);
    for end in (64..bytes.len()).step_by(64) {
        copies.push((format!("truncated at {end}"), bytes[..end].to_vec()));
        // The head of the log stays intact.
        if end >= 256 {
            let behind = &bytes[(end + 64).min(bytes.len())..];
            let hole = [&bytes[..end], &[0; 64], behind].concat();
            copies.push((format!("NUL from {end}"), hole));
        }
        let prefixed = |line: &[u8]| [b"[   12.345678] ", line].concat();
        copies.push((
            format!("truncated at {end}, with console prefixes"),
            lines(&bytes[..end], prefixed),
        ));
        if end < gzip.len() {
            copies.push((format!("gzip, truncated at {end}"), gzip[..end].to_vec()));
        }
    }
    copies
}

#[test]
fn damaged_captures_give_right_numbers_or_none() {
    let (mut tried, mut readable, mut numbers) = (0u64, 0u64, 0u64);
    let mut wrong: Vec<String> = Vec::new();
    for (name, bytes) in captures() {
        let whole = contents(&bytes).unwrap_or_default();
        for (damage, copy) in harmless(&bytes) {
            tried += 1;
            let copy = contents(&copy).unwrap_or_default();
            if copy != whole {
                wrong.push(format!(
                    "{name}, {damage}: lost or added: {copy:?}\n{whole:?}"
                ));
            }
        }
        let states = states(&name, &bytes);
        for (damage, copy) in harmful(&bytes) {
            tried += 1;
            let Some(copy) = contents(&copy) else {
                continue;
            };
            readable += 1;
            numbers += copy
                .values
                .values()
                .map(|values| values.len() as u64)
                .sum::<u64>();
            for number in wrong_numbers(&copy, &whole, &states) {
                wrong.push(format!("{name}, {damage}: {number}"));
            }
        }
    }
    println!(
        "{tried} damaged copies; {readable} harmful ones gave {numbers} numbers, {} of them wrong",
        wrong.len()
    );
    assert!(
        tried > 5_000 && numbers > 20_000,
        "{tried} copies, {numbers} numbers"
    );
    let first: Vec<&String> = wrong.iter().take(20).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
}

/// A working directory, which is also the home directory.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        // A time limit, so the test cannot hang.
        let mut command = Command::new("timeout");
        command
            .args(["120", env!("CARGO_BIN_EXE_kernmark")])
            .args(arguments)
            .current_dir(&self.0)
            .env("HOME", self.0.path())
            .env_remove("XDG_DATA_HOME")
            .env("COLUMNS", "400");
        command
    }

    fn show(&self, name: &str, text: impl AsRef<[u8]>) -> Seen {
        fs::write(self.path(name), text).unwrap();
        Seen::from(self.command(&["show", name]).output().unwrap())
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success());
        path
    }

    /// Runs with named pipes. The bytes are written to them in small pieces.
    fn run_piped(&self, arguments: &[&str], pipes: &[(&str, &[u8])]) -> Seen {
        for (name, _) in pipes {
            self.fifo(name);
        }
        let child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::scope(|scope| {
            for (name, bytes) in pipes {
                let path = self.path(name);
                scope.spawn(move || {
                    let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
                    pipe.write_all(&bytes[..1]).unwrap();
                    for piece in bytes[1..].chunks(100) {
                        pipe.write_all(piece).unwrap();
                    }
                });
            }
            Seen::from(child.wait_with_output().unwrap())
        })
    }
}

fn capture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn unterminated_last_line_is_ignored_and_reported() {
    let bed = Sandbox::new();
    let switches = "\"size=0k ovr=0.66\n2 3.40\n16 3.90\n";
    bed.show("whole", switches).expect(0, "2 measured", "");
    let cut = bed.show("cut", format!("{switches}32 4"));
    cut.expect(
        1,
        "ignored the last line, which has no line end and may be truncated: `32 4`",
        "",
    );
    cut.expect(1, "2 measured", "");
    // A prompt is not a result, and an end mark is complete without a line end.
    bed.show("prompt", format!("{switches}root@board:~# "))
        .expect(0, "2 measured", "");
    let zephyr = String::from_utf8(capture("zephyr-latency-3.6.txt")).unwrap();
    bed.show("mark", zephyr.trim_end())
        .expect(0, "9 measured", "");
    let go = "BenchmarkX-2 \t 2000\t 87.85 ns/op\nBenchmarkY-2 \t 2000\t 14.40 ns/o";
    bed.show("go", go).expect(1, "1 measured", "");
    bed.show("alone", "Simple syscall: 0.13 microseconds")
        .expect(1, "", "has no line end and may be truncated");
}

#[test]
fn unreadable_rows_are_counted() {
    let bed = Sandbox::new();
    for (name, text) in [
        ("zephyr", "a.b : 12 cycles , 100 ns :\na.c   12 cycles , 100 ns\nd 5 cycles , 1 ns\n"),
        ("go", "BenchmarkX-2 2000 87 ns/op\nBenchmarkY-2\n 2000 14.4 ns/op\nweb | BenchmarkZ 1 2 ns/op\n"),
        ("console", "Benchmark  Time  CPU Iterations\nBM_A 1 ns 1 ns 10\nBM_B 2 ns\nBM_C 2 ns 3\n"),
        ("rtos", "** Mutex Stats [avg, min, max] in nanoseconds **\n Lock : 8, 8, 9\n Unlock : 8, 8\n Give: 8, 8, 9, 9\n"),
        ("csv", "metric,cycles,nanoseconds\na,1,2\nb,1\nc,1,2,3\n"),
        ("lat_ctx", "\"size=0k ovr=0.66\n2 3.40\n16 3.90 4\n32 4.1 x\n"),
        ("threads", "T: 0 ( 1) P:80 I:1000 C:  10 Min: 2 Act: 3 Avg: 4 Max: 20\nT: 1 ( 2 Act: 3\nT: 2 Act: 3\n"),
    ] {
        let seen = bed.show(name, text);
        seen.expect(1, "2 lines look like results but cannot be read", "");
        seen.expect(1, "1 measured", "");
    }
}

#[test]
fn benchmark_without_a_name_is_called_benchmark() {
    let bed = Sandbox::new();
    let go = "pkg: p\nBenchmark 2000 8 ns/op\nPASS\nok p 1s\n";
    bed.show("go", go).expect(0, "\n  Benchmark ", "");
}

#[test]
fn missing_ends_are_reported() {
    let bed = Sandbox::new();
    let go = String::from_utf8(capture("go-count.txt")).unwrap();
    let (cut, _) = go.split_once("PASS").unwrap();
    bed.show("go", cut)
        .expect(1, "the end, `PASS` or `FAIL`, is missing", "");
    let perf = String::from_utf8(capture("perf-bench-each.txt")).unwrap();
    let total = perf.find("# Running 'sched/pipe'").unwrap();
    let end = perf[total..].find("[sec]\n").unwrap();
    let cut = &perf[..total + end + 6];
    bed.show("perf", cut).expect(1, "sched/pipe", "");
    let threads = running_cyclictest();
    let (cut, _) = threads.rsplit_once("T: 1").unwrap();
    bed.show("threads", cut)
        .expect(1, "the log ends with the line of thread 0", "");
    let top = running_rtla();
    let (cut, _) = top.rsplit_once("  3 #").unwrap();
    let seen = bed.show("top", cut);
    seen.expect(
        1,
        "the last table is incomplete; the previous one is read",
        "",
    );
    seen.expect(1, "8 measured", "");
}

#[test]
fn console_prefixes_do_not_change_ids() {
    let bed = Sandbox::new();
    for name in [
        "zephyr-latency-3.6.txt",
        "lmbench-lat_ctx.txt",
        "go-count.txt",
    ] {
        let log = String::from_utf8(capture(name)).unwrap();
        let plain = bed.show(name, &log);
        for prefix in PREFIXES {
            let add = |line: &[u8]| [prefix.as_bytes(), line].concat();
            let prefixed = lines(log.as_bytes(), add);
            let seen = bed.show(name, prefixed);
            assert_eq!(
                (&seen.out, seen.status),
                (&plain.out, plain.status),
                "{prefix}"
            );
        }
    }
}

#[test]
fn compressed_and_encoded_text_is_read_or_gets_a_hint() {
    let bed = Sandbox::new();
    let log = capture("lmbench-lat_ctx.txt");
    let plain = bed.show("log", &log);
    let name = |seen: &Seen| seen.out.replace("log.gz", "log");
    assert_eq!(name(&bed.show("log.gz", gzipped(&log))), plain.out);
    assert_eq!(bed.show("log", with_ends(&log, b"\r")).out, plain.out);
    bed.show("log", utf16(&log, "\u{feff}"))
        .expect(1, "", "iconv -f UTF-16 -t UTF-8");
    bed.show("log", utf16(&log, ""))
        .expect(1, "", "iconv -f UTF-16");
    bed.show("log", [&log[..], &[0; 4096]].concat())
        .expect(1, "ignored 1 line with NUL bytes", "");
    bed.show("log", [0; 4096]).expect(1, "", "tr -d '\\000'");
    bed.show("log", b"\xfd7zXZ\0more")
        .expect(1, "", "xz -dc FILE | kernmark show -");
    let half = &gzipped(&log)[..100];
    bed.show("log", half)
        .expect(1, "", "gzip data is truncated or damaged");
    // A run of kernmark's own is read the same way.
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/export/time.run");
    let run = fs::read(run).unwrap();
    assert_eq!(
        bed.show("a.km.gz", gzipped(&run)).out,
        bed.show("a.km", run).out
    );
}

#[test]
fn pipes_are_read_only_once() {
    let bed = Sandbox::new();
    let log = capture("zephyr-latency-3.6.txt");
    bed.run_piped(&["show", "a"], &[("a", &log)])
        .expect(0, "9 measured", "");
    let json = capture("hyperfine-plain.json");
    bed.run_piped(&["show", "b"], &[("b", &json)])
        .expect(0, "imported b", "");
    let gzip = gzipped(&log);
    bed.run_piped(&["compare", "c", "d"], &[("c", &gzip), ("d", &log)])
        .expect(0, "thread.yield.preemptive.ctx.k_to_k", "");
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/export/time.run");
    let run = fs::read(run).unwrap();
    let seen = bed.run_piped(&["show", "e"], &[("e", &run)]);
    assert_eq!(seen.out, bed.show("f", &run).out);
}

#[test]
fn devices_are_rejected_and_unrelated_pipes_do_not_block() {
    let bed = Sandbox::new();
    let show = |path: &str| Seen::from(bed.command(&["show", path]).output().unwrap());
    show("/dev/zero").expect(1, "", "is a device");
    show("/dev/urandom").expect(1, "", "is a device");
    let zero = fs::File::open("/dev/zero").unwrap();
    let seen = bed.command(&["show", "-"]).stdin(zero).output().unwrap();
    Seen::from(seen).expect(1, "", "is a device");
    for folder in ["noise", "runs"] {
        fs::create_dir_all(bed.path(".local/share/kernmark").join(folder)).unwrap();
    }
    bed.fifo(".local/share/kernmark/noise/a.json");
    bed.fifo(".local/share/kernmark/runs/z.km");
    fs::write(bed.path("log"), capture("zephyr-latency-3.6.txt")).unwrap();
    let compare = bed.command(&["compare", "log", "log"]).output().unwrap();
    Seen::from(compare).expect(0, "thread.yield.preemptive.ctx.k_to_k", "");
    let latest = bed.command(&["show"]).output().unwrap();
    Seen::from(latest).expect(1, "", "no run of linux is saved");
}
