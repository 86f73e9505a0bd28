// SPDX-License-Identifier: MIT OR Apache-2.0

//! Importing damaged results never panics.
//!
//! Each format in [`FORMATS`] gets small inputs made from its captures. The seed is fixed, so a run is
//! reproducible. By default there are 20,000 inputs per format; for more:
//!
//! ```sh
//! KERNMARK_FUZZ=100000000 cargo test --release --test import_fuzz -- --nocapture
//! ```
//!
//! `KERNMARK_FUZZ_FORMAT` selects one format, `KERNMARK_FUZZ_SEED` other inputs. `fuzz/README.md` explains
//! when to use this test and when to use libFuzzer.

use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;

use fastrand::Rng;
use kernmark::import::{self, Document, Figure, Format, Lines, Source, FORMATS};
use serde_json::{json, Value};

/// Inputs per format by default.
const DEFAULT_INPUTS: u64 = 20_000;
/// One in this many inputs is also read as a file, with detection of its format.
const FULL_READ_INTERVAL: u64 = 256;
/// Most bytes of a text that is mutated.
const MAX_BYTES: usize = 280;
/// Most values of a document that is mutated.
const MAX_VALUES: usize = 24;
/// Pieces or documents made from each capture.
const STARTS: usize = 64;

/// Numbers that often cause errors.
const EXTREME: [&str; 24] = [
    "0",
    "-0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "1e308",
    "-1e308",
    "1e-320",
    "0.0000001",
    "NaN",
    "inf",
    "-",
    "",
    ".",
];

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/import")
}

/// The format of a capture: the name of the file starts with that of the format.
fn format_of(file: &Path) -> Option<&'static Format> {
    let name = file.file_name()?.to_str()?;
    let begins = |format: &&&'static Format| {
        let rest = name.strip_prefix(format.name);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let formats = FORMATS.iter().filter(begins);
    formats.max_by_key(|format| format.name.len()).copied()
}

/// The captures of a format.
fn captures_of(format: &Format) -> Vec<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(captures())
        .expect("the captures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| format_of(file).is_some_and(|of| of.name == format.name))
        .collect();
    files.sort();
    let read = |file: &PathBuf| fs::read(file).expect("a capture");
    let texts = files.iter().map(read);
    texts
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect()
}

/// The material for inputs.
struct Material {
    /// Pieces of the format's captures.
    pieces: Vec<String>,
    /// Lines of all formats.
    lines: Vec<String>,
    /// Small documents of the format.
    documents: Vec<Value>,
}

impl Material {
    fn of(captures: &[String], lines: &[String]) -> Self {
        let mut random = Rng::with_seed(7);
        let mut pieces = Vec::new();
        let mut documents = Vec::new();
        for capture in captures {
            let whole: Vec<&str> = capture.lines().collect();
            pieces.extend((0..STARTS).map(|_| piece(&whole, &mut random)));
            if let Some(document) = document(capture) {
                documents.extend((0..STARTS).map(|_| shrunk(&document, &mut random)));
            }
        }
        Material {
            pieces,
            lines: lines.to_vec(),
            documents,
        }
    }
}

/// The capture as a document; JSON lines become an array.
fn document(capture: &str) -> Option<Value> {
    let values = serde_json::Deserializer::from_str(capture).into_iter();
    let mut values: Vec<Value> = values.collect::<Result<_, _>>().ok()?;
    match values.len() {
        0 => None,
        1 => values.pop(),
        _ => Some(Value::Array(values)),
    }
}

/// A few consecutive lines. The first lines, which have the start marks, are chosen more often.
fn piece(lines: &[&str], random: &mut Rng) -> String {
    let mut start = random.usize(..lines.len().max(1));
    if random.bool() {
        start /= 8;
    }
    let mut out = String::new();
    for line in &lines[start.min(lines.len())..] {
        if out.len() + line.len() > MAX_BYTES {
            break;
        }
        out.push_str(line);
        out.push('\n');
    }
    if out.is_empty() {
        out.extend(
            lines
                .get(start)
                .iter()
                .flat_map(|line| line.chars().take(MAX_BYTES)),
        );
    }
    out
}

/// A document with only a few elements in each array.
fn shrunk(value: &Value, random: &mut Rng) -> Value {
    let mut left = MAX_VALUES;
    let mut out = with_few_elements(value, random, &mut left);
    if left == 0 {
        // Values before the arrays used up the limit, so shrink once more.
        left = MAX_VALUES;
        out = with_few_elements(&out, random, &mut left);
    }
    out
}

fn with_few_elements(value: &Value, random: &mut Rng, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            let start = random.usize(..elements.len());
            let count = if elements[start].is_object() {
                1 + random.usize(..2)
            } else {
                3
            };
            let chosen = elements
                .iter()
                .cycle()
                .skip(start)
                .take(count.min(elements.len()));
            chosen
                .map(|element| with_few_elements(element, random, left))
                .collect()
        }
        Value::Object(pairs) => {
            let kept = pairs.iter().filter(|_| *left > 0 || random.u8(..4) == 0);
            let kept: Vec<_> = kept.collect();
            let pairs = kept
                .into_iter()
                .map(|(name, value)| (name.clone(), with_few_elements(value, random, left)));
            Value::Object(pairs.collect())
        }
        other => other.clone(),
    }
}

/// A mutated text.
#[derive(Default)]
struct Input {
    text: Vec<u8>,
    spare: Vec<u8>,
}

impl Input {
    /// Makes the next input for a format of lines.
    fn next(&mut self, material: &Material, random: &mut Rng) {
        self.text.clear();
        let piece = &material.pieces[random.usize(..material.pieces.len())];
        self.text.extend_from_slice(piece.as_bytes());
        for _ in 0..=random.u8(..4) {
            self.mutate(material, random);
        }
        self.text.truncate(4 * MAX_BYTES);
    }

    fn mutate(&mut self, material: &Material, random: &mut Rng) {
        let length = self.text.len();
        let at = random.usize(..=length);
        match random.u8(..12) {
            0 if at < length => self.text[at] ^= 1 << random.u8(..8),
            1 if at < length => {
                self.text.remove(at);
            }
            2 => self.text.insert(at, random.u8(..)),
            3 => self.text.truncate(at),
            4 => self.replace(self.token(at), &[]),
            5 => {
                let (from, to) = self.token(at);
                self.copy(from, to, to);
            }
            6 => {
                let (from, to) = self.token(at);
                let other = random.usize(..=length);
                self.copy(from, to, other);
            }
            7 => self.replace(self.line(at), &[]),
            8 => {
                let (from, to) = self.line(at);
                let other = self.line(random.usize(..=length)).0;
                self.copy(from, to, other);
            }
            9 => {
                let line = &material.lines[random.usize(..material.lines.len())];
                let start = self.line(at).0;
                self.replace((start, start), line.as_bytes());
            }
            _ => {
                let extreme = EXTREME[random.usize(..EXTREME.len())];
                self.replace(self.number(at), extreme.as_bytes());
            }
        }
    }

    fn replace(&mut self, (from, to): (usize, usize), by: &[u8]) {
        self.text.splice(from..to, by.iter().copied());
    }

    /// Inserts a copy of a part at another place.
    fn copy(&mut self, from: usize, to: usize, place: usize) {
        self.spare.clear();
        self.spare.extend_from_slice(&self.text[from..to]);
        self.text.splice(place..place, self.spare.iter().copied());
    }

    /// The longest part around a place whose bytes all satisfy a condition.
    fn around(&self, at: usize, condition: impl Fn(u8) -> bool) -> (usize, usize) {
        let before = self.text[..at]
            .iter()
            .rev()
            .take_while(|byte| condition(**byte));
        let behind = self.text[at..].iter().take_while(|byte| condition(**byte));
        (at - before.count(), at + behind.count())
    }

    fn token(&self, at: usize) -> (usize, usize) {
        self.around(at, |byte| {
            byte.is_ascii_alphanumeric() || b"._-/".contains(&byte)
        })
    }

    /// The line with its end.
    fn line(&self, at: usize) -> (usize, usize) {
        let (from, to) = self.around(at, |byte| byte != b'\n');
        (from, self.text.len().min(to + 1))
    }

    /// The number around a place, or the first one after it.
    fn number(&self, at: usize) -> (usize, usize) {
        let digit = self.text[at..].iter().position(u8::is_ascii_digit);
        let at = at + digit.unwrap_or(0);
        self.around(at, |byte| byte.is_ascii_digit() || b".-".contains(&byte))
    }
}

/// Changes one value of a document, at any depth.
fn mutate_document(document: &mut Value, material: &Material, random: &mut Rng) {
    if random.u8(..8) != 0 {
        let inner = match document {
            Value::Array(elements) => {
                let at = random.usize(..=elements.len());
                elements.get_mut(at)
            }
            Value::Object(pairs) => {
                let at = random.usize(..=pairs.len());
                pairs.values_mut().nth(at)
            }
            _ => None,
        };
        if let Some(inner) = inner {
            return mutate_document(inner, material, random);
        }
    }
    mutate_value(document, material, random);
}

fn mutate_value(value: &mut Value, material: &Material, random: &mut Rng) {
    match (random.u8(..10), &mut *value) {
        (0, _) => *value = Value::Null,
        (1, Value::Array(elements)) => elements.extend(elements.first().cloned()),
        (2, Value::Array(elements)) => drop(elements.pop()),
        (1 | 2, Value::Object(pairs)) => {
            let at = random.usize(..=pairs.len());
            if let Some(name) = pairs.keys().nth(at).cloned() {
                pairs.remove(&name);
            }
        }
        (3, _) => *value = json!([]),
        (4, _) => *value = json!(random.bool()),
        (5, _) => {
            let line = &material.lines[random.usize(..material.lines.len())];
            *value = Value::String(line.chars().take(40).collect());
        }
        _ => {
            let extreme = EXTREME[random.usize(..EXTREME.len())];
            let number = serde_json::Number::from_str(extreme).map(Value::Number);
            *value = number.unwrap_or_else(|_| Value::String(extreme.to_owned()));
        }
    }
}

/// Reads lines as in a log, from its first start mark on.
fn read_lines(lines: &Lines, text: &str) -> Vec<Source> {
    let mut reader = (lines.reader)();
    text.lines().for_each(|line| reader.line(line));
    reader.finish()
}

/// Checks properties of all sources. `size` is the number of bytes of the input.
fn check(sources: &[Source], size: usize) {
    let rows = sources
        .iter()
        .map(|source| source.rows.len())
        .sum::<usize>();
    assert!(rows <= size, "{rows} rows of {size} bytes");
    for figure in sources
        .iter()
        .flat_map(|source| &source.rows)
        .map(|row| &row.figure)
    {
        match figure {
            Figure::Samples(samples) => assert!(!samples.is_empty(), "samples without any"),
            Figure::Summary(stat) => assert!(
                stat.mean.is_some() || stat.median.is_some(),
                "a summary without mean and median"
            ),
            Figure::Skipped(_) | Figure::Failed(_) => {}
        }
    }
}

/// Reads a file: the result is reproducible and does not depend on the line ends.
fn read_file(format: &'static Format, text: &[u8]) {
    let read = |text: &[u8]| match import::read(&mut &*text, Some(format)) {
        Ok(imported) => format!("{:?}", imported.sources),
        Err(problem) => problem.to_string(),
    };
    let first = read(text);
    assert_eq!(first, read(text), "the same text gives another result");
    if format.lines.is_some() && !text.contains(&b'\r') {
        let mut windows = Vec::with_capacity(text.len() + 16);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => windows.extend_from_slice(&[line, b"\r\n"].concat()),
                None => windows.extend_from_slice(line),
            }
        }
        let again = read(&windows);
        // A JSON error contains the column.
        assert!(
            first == again || first.contains("column"),
            "{first}\n{again}"
        );
    }
    let _ = import::read(&mut &*text, None).map_err(|problem| problem.to_string());
}

fn try_lines(format: &'static Format, lines: &Lines, text: &[u8], is_whole: bool) {
    check(
        &read_lines(lines, &String::from_utf8_lossy(text)),
        text.len(),
    );
    if is_whole {
        read_file(format, text);
    }
}

fn try_document(format: &'static Format, read: &Document, document: &Value, is_whole: bool) {
    let _ = (read.fits)(document);
    if let Ok(sources) = (read.read)(document) {
        // The document is not text yet, so estimate its size from the number of values.
        check(&sources, 16 * values(document));
    }
    if is_whole {
        read_file(format, document.to_string().as_bytes());
    }
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(values).sum(),
        Value::Object(pairs) => pairs.values().map(values).sum(),
        _ => 0,
    }
}

/// Tries inputs of a format. Returns the message and the input of a panic.
fn fuzz(format: &'static Format, material: &Material, seed: u64, inputs: u64) -> Option<String> {
    let mut random = Rng::with_seed(seed);
    let mut input = Input::default();
    for number in 0..inputs {
        let is_whole = number % FULL_READ_INTERVAL == 0;
        let of_document = format.lines.is_none() || random.u8(..4) == 0;
        let document = format
            .document
            .as_ref()
            .filter(|_| of_document && !material.documents.is_empty());
        let panicked = if let Some(read) = document {
            let mut document = material.documents[random.usize(..material.documents.len())].clone();
            for _ in 0..=random.u8(..3) {
                mutate_document(&mut document, material, &mut random);
            }
            let tried = panic::catch_unwind(AssertUnwindSafe(|| {
                try_document(format, read, &document, is_whole);
            }));
            tried.is_err().then(|| document.to_string().into_bytes())
        } else {
            input.next(material, &mut random);
            let tried = panic::catch_unwind(AssertUnwindSafe(|| match &format.lines {
                Some(lines) => try_lines(format, lines, &input.text, is_whole),
                None => read_file(format, &input.text),
            }));
            tried.is_err().then(|| input.text.clone())
        };
        if let Some(text) = panicked {
            let file =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("import-{}", format.name));
            fs::write(&file, &text).expect("the input is saved");
            return Some(format!(
                "{}: input {number} of seed {seed}, saved as {}: {}\n{}",
                format.name,
                file.display(),
                LAST_PANIC.lock().expect("a lock"),
                String::from_utf8_lossy(&text)
            ));
        }
    }
    None
}

/// The message of the last panic, which is reported once, with its input.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// The lines of all captures.
fn lines_of_all() -> Vec<String> {
    let short = |line: &str| line.chars().take(MAX_BYTES).collect::<String>() + "\n";
    let captures = FORMATS.iter().flat_map(|format| captures_of(format));
    let lines = captures.flat_map(|capture| capture.lines().map(short).collect::<Vec<_>>());
    lines.collect()
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not valid")),
    )
}

#[test]
fn damaged_results_of_any_format_do_not_panic() {
    let inputs: u64 = setting("KERNMARK_FUZZ").unwrap_or(DEFAULT_INPUTS);
    let seed: u64 = setting("KERNMARK_FUZZ_SEED").unwrap_or(1);
    let chosen: Option<String> = setting("KERNMARK_FUZZ_FORMAT");
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let failures: Mutex<Vec<String>> = Mutex::default();
    let default = panic::take_hook();
    panic::set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().expect("a lock") = panic.to_string();
    }));
    let lines = lines_of_all();
    let mut report = String::new();
    for format in FORMATS {
        if chosen.as_ref().is_some_and(|name| name != format.name) {
            continue;
        }
        let captures = captures_of(format);
        if captures.is_empty() {
            let file = format!("tests/captures/import/{}-NAME.txt", format.name);
            let message = format!(
                "{}: no capture; put its real output into {file}",
                format.name
            );
            failures.lock().expect("a lock").push(message);
            continue;
        }
        let material = Material::of(&captures, &lines);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (material, failures) = (&material, &failures);
                scope.spawn(move || {
                    let failed = fuzz(format, material, seed * 1000 + thread, inputs / threads);
                    failures.lock().expect("a lock").extend(failed);
                });
            }
        });
        let rate = (inputs / threads) as f64 / start.elapsed().as_secs_f64();
        let name = format.name;
        let _ = writeln!(
            report,
            "{name:20} {inputs:12} inputs, {rate:8.0} a second and thread"
        );
    }
    panic::set_hook(default);
    println!("{report}");
    let failures = failures.into_inner().expect("a lock");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
