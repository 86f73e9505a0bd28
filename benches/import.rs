// SPDX-License-Identifier: MIT OR Apache-2.0

//! How fast does the tool read results of other tools, and with how much memory?
//!
//! `make bench` runs it. The input is made from the captures of each format: only results, and a
//! log in which one line of a hundred has a result. The first table is for a log of 1 GB, generated
//! while it is read. The last table is for everything that `kernmark show` does with logs that have
//! only results: twice the bytes must not take more than three times as long.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use kernmark::import::{self, records, Format, FORMATS};
use kernmark::report::style::{BarStyle, Colour, Style};
use kernmark::report::table;
use serde_json::Value;

/// Bytes of each text to read.
const TEXT: usize = 64 << 20;
/// Bytes of a document.
const DOCUMENT: usize = 16 << 20;
/// Bytes of the long log.
const LONG: usize = 1 << 30;
/// Megabytes of the logs to show, each twice the one before.
const SHOWN: [usize; 3] = [1, 2, 4];
/// The style to show them in.
const STYLE: Style = Style {
    width: 100,
    colour: Colour::Never,
    bars: BarStyle::Blocks,
};
/// Other lines of a log for each line with a result.
const AROUND: usize = 99;

/// Other lines on a kernel's console.
const NOISE: [&str; 4] = [
    "[   12.345678] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n",
    "[   12.345701] EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none.\n",
    "[   12.346112] systemd[1]: Starting Load Kernel Module configfs...\n",
    "[00:00:01.234,000] <inf> net_config: IPv4 address: 192.0.2.1, lease time: 86400 s\n",
];

/// Repeats a text.
struct Repeated<'a> {
    text: &'a [u8],
    at: usize,
    left: usize,
}

impl<'a> Repeated<'a> {
    fn new(text: &'a str, bytes: usize) -> Self {
        Repeated {
            text: text.as_bytes(),
            at: 0,
            left: bytes / text.len() * text.len(),
        }
    }
}

impl Read for Repeated<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Repeated<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let end = self.text.len().min(self.at + self.left);
        Ok(&self.text[self.at..end])
    }

    fn consume(&mut self, count: usize) {
        self.left -= count;
        self.at = (self.at + count) % self.text.len();
    }
}

/// The captures of a format: files whose names begin with its name.
fn captures(format: &Format) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import");
    let entries = fs::read_dir(folder).expect("the captures");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let name = |file: &Path| {
        file.file_name()
            .and_then(|name| name.to_str().map(str::to_owned))
    };
    let start = format!("{}-", format.name);
    files.retain(|file| name(file).is_some_and(|name| name.starts_with(&start)));
    let text =
        |file: &PathBuf| String::from_utf8_lossy(&fs::read(file).expect("a file")).into_owned();
    files.iter().map(text).collect()
}

/// The captures of a format that consists of lines, concatenated.
fn lines_of(format: &Format) -> String {
    let is_text = |text: &String| serde_json::from_str::<Value>(text).is_err();
    let texts = captures(format).into_iter().filter(is_text);
    texts
        .map(|text| text.trim_end().to_owned() + "\n")
        .collect()
}

/// A log in which one line of a hundred has a result.
fn log_of(results: &str) -> String {
    let mut noise = NOISE.iter().cycle();
    let mut log = String::new();
    for line in results.lines() {
        log.extend(noise.by_ref().take(AROUND).copied());
        log.push_str(line);
        log.push('\n');
    }
    log
}

/// The CPU time that reading takes.
fn seconds_of(input: &mut dyn BufRead, format: &'static Format) -> f64 {
    let start = cpu_seconds();
    let read = import::read(input, Some(format));
    let seconds = cpu_seconds() - start;
    assert!(
        read.is_ok(),
        "{}: {}",
        format.name,
        read.expect_err("an error")
    );
    seconds
}

/// Reads a text of this many bytes. Returns megabytes per second.
fn speed(format: &'static Format, text: &str, bytes: usize) -> f64 {
    let mut input = Repeated::new(text, bytes);
    let bytes = input.left;
    bytes as f64 / 1e6 / seconds_of(&mut input, format)
}

/// A document in which the elements of its longest list are repeated under new names. An element
/// with the same name would belong to another process.
fn enlarge(document: &mut Value) {
    let copies = (DOCUMENT / document.to_string().len()).max(1);
    match longest(document) {
        Value::Array(elements) => {
            let all = elements.iter().cycle().take(elements.len() * copies);
            *elements = all.enumerate().map(renamed).collect();
        }
        Value::Object(elements) => {
            let all = elements.values().cycle().take(elements.len() * copies);
            let named = all.enumerate();
            *elements = named
                .map(|(at, value)| (at.to_string(), value.clone()))
                .collect();
        }
        _ => {}
    }
}

/// The longest list: the document itself, or a value in it.
fn longest(document: &mut Value) -> &mut Value {
    if document.is_array() {
        return document;
    }
    let values = document.as_object_mut().expect("an object").values_mut();
    let longest = values.max_by_key(|value| value.to_string().len());
    longest.expect("it has values")
}

fn renamed((at, element): (usize, &Value)) -> Value {
    let mut element = element.clone();
    for key in ["label", "name", "run_name", "command"] {
        if let Some(Value::String(name)) = element.get_mut(key) {
            *name = format!("{name}{at}");
        }
    }
    element
}

/// The CPU time of this process.
fn cpu_seconds() -> f64 {
    let schedstat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = schedstat
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanoseconds.expect("Linux tells it") / 1e9
}

/// The peak memory of this process so far, in megabytes.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0 / 1e6)
}

/// A log of one boot of Zephyr with unique names of results.
fn different_names(bytes: usize) -> String {
    let mut log = "*** Booting Zephyr OS build v4.0.0 ***\n".to_owned();
    for at in 0.. {
        let cycles = 100 + at * 7919 % 900;
        let nanoseconds = cycles * 10;
        let _ = writeln!(log, "op.{at} : {cycles} cycles , {nanoseconds} ns :");
        if log.len() >= bytes {
            break;
        }
    }
    log + "PROJECT EXECUTION SUCCESSFUL\n"
}

/// The same, with many boots of ten results each.
fn many_boots(bytes: usize) -> String {
    let boot = different_names(400);
    boot.repeat(bytes / boot.len())
}

/// Times everything that `show` does with such a log, at several sizes.
fn read_evaluate_show() {
    println!("\nReading, evaluating and showing logs of results only:");
    println!(
        "{:20} {:>8} {:>10} {:>12}",
        "", "MB", "seconds", "peak so far"
    );
    for (name, make) in [
        ("names of their own", different_names as fn(usize) -> String),
        ("the same in boots", many_boots),
    ] {
        let mut before = f64::INFINITY;
        for megabytes in SHOWN {
            let log = make(megabytes << 20);
            let start = cpu_seconds();
            let imported = import::read(&mut log.as_bytes(), None).expect("results");
            let shown = table::table(&records::run(imported, &[]), &STYLE);
            let seconds = cpu_seconds() - start;
            println!("{name:20} {megabytes:8} {seconds:10.2} {:9.0} MB", peak());
            assert!(shown.lines().count() > 10, "{shown}");
            assert!(seconds < 3.0 * before, "{name}: not linear in the bytes");
            before = seconds;
        }
    }
}

fn main() {
    println!(
        "A log of {:.1} GB, with results only at the start:",
        LONG as f64 / 1e9
    );
    println!(
        "{:20} {:>12} {:>12} {:>10}",
        "", "peak before", "peak after", "MB/s"
    );
    for format in FORMATS {
        let results = lines_of(format);
        if format.lines.is_none() || results.is_empty() {
            continue;
        }
        let before = peak();
        let noise = NOISE.concat();
        let mut input = results.as_bytes().chain(Repeated::new(&noise, LONG));
        let speed = LONG as f64 / 1e6 / seconds_of(&mut input, format);
        println!(
            "{:20} {before:9.1} MB {:9.1} MB {speed:10.0}",
            format.name,
            peak()
        );
    }

    println!("\nLines, MB/s:");
    println!(
        "{:20} {:>12} {:>20}",
        "", "results only", "one line in a hundred"
    );
    for format in FORMATS {
        let results = lines_of(format);
        if format.lines.is_none() || results.is_empty() {
            continue;
        }
        let (only, among) = (
            speed(format, &results, TEXT),
            speed(format, &log_of(&results), TEXT),
        );
        println!("{:20} {only:12.0} {among:20.0}", format.name);
    }

    read_evaluate_show();

    println!("\nDocuments, MB/s; parsing the JSON alone is the limit:");
    println!("{:20} {:>12} {:>20}", "", "all", "parsing alone");
    for format in FORMATS {
        // A text without results is an error.
        let holds_results =
            |text: &String| import::read(&mut text.as_bytes(), Some(format)).is_ok();
        let readable = captures(format).into_iter().filter(holds_results);
        let largest = readable.max_by_key(String::len);
        let document = largest.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let (Some(mut document), Some(_)) = (document, &format.document) else {
            continue;
        };
        enlarge(&mut document);
        let text = document.to_string();
        let start = cpu_seconds();
        let parsed = serde_json::from_str::<Value>(&text);
        let parsing = text.len() as f64 / 1e6 / (cpu_seconds() - start);
        assert!(parsed.is_ok());
        let all = speed(format, &text, text.len());
        println!("{:20} {all:12.0} {parsing:20.0}", format.name);
    }
}
