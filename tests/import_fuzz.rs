// SPDX-License-Identifier: MIT OR Apache-2.0

//! Damaged results of other tools: nothing panics, whatever a file says.
//!
//! Every format of [`FORMATS`] is tried with small inputs made of its captures, from a fixed seed, so
//! that a run can be repeated. An ordinary run makes 20,000 of each format; for volume:
//!
//! ```sh
//! KERNMARK_FUZZ=100000000 cargo test --release --test import_fuzz -- --nocapture
//! ```
//!
//! `KERNMARK_FUZZ_FORMAT` chooses one format, `KERNMARK_FUZZ_SEED` other inputs. `fuzz/README.md` says
//! when to use this and when libFuzzer.

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

/// Inputs of each format in an ordinary run.
const FEW: u64 = 20_000;
/// One in so many inputs also goes the whole way that a file goes.
const WHOLE: u64 = 256;
/// Most bytes of a text that is mutated.
const SMALL: usize = 280;
/// Most values of a document that is mutated.
const FEW_VALUES: usize = 24;
/// Starting points of each capture.
const STARTS: usize = 64;

/// Numbers that go wrong.
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

/// The format whose capture a file is: its name is what the file's begins with.
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

/// What inputs are made of.
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

/// The document that a capture is; JSON lines are an array.
fn document(capture: &str) -> Option<Value> {
    let values = serde_json::Deserializer::from_str(capture).into_iter();
    let mut values: Vec<Value> = values.collect::<Result<_, _>>().ok()?;
    match values.len() {
        0 => None,
        1 => values.pop(),
        _ => Some(Value::Array(values)),
    }
}

/// A few lines from one place; the first lines, where the signs are, more often than others.
fn piece(lines: &[&str], random: &mut Rng) -> String {
    let mut start = random.usize(..lines.len().max(1));
    if random.bool() {
        start /= 8;
    }
    let mut out = String::new();
    for line in &lines[start.min(lines.len())..] {
        if out.len() + line.len() > SMALL {
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
                .flat_map(|line| line.chars().take(SMALL)),
        );
    }
    out
}

/// A document with few of the elements of its arrays.
fn shrunk(value: &Value, random: &mut Rng) -> Value {
    let mut left = FEW_VALUES;
    let mut out = few(value, random, &mut left);
    if left == 0 {
        // The arrays came too late for all of it: the rest is theirs.
        left = FEW_VALUES;
        out = few(&out, random, &mut left);
    }
    out
}

fn few(value: &Value, random: &mut Rng, left: &mut usize) -> Value {
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
            chosen.map(|element| few(element, random, left)).collect()
        }
        Value::Object(pairs) => {
            let kept = pairs.iter().filter(|_| *left > 0 || random.u8(..4) == 0);
            let kept: Vec<_> = kept.collect();
            let pairs = kept
                .into_iter()
                .map(|(name, value)| (name.clone(), few(value, random, left)));
            Value::Object(pairs.collect())
        }
        other => other.clone(),
    }
}

/// An input.
#[derive(Default)]
struct Input {
    text: Vec<u8>,
    spare: Vec<u8>,
}

impl Input {
    /// Makes the next input of a format of lines.
    fn next(&mut self, material: &Material, random: &mut Rng) {
        self.text.clear();
        let piece = &material.pieces[random.usize(..material.pieces.len())];
        self.text.extend_from_slice(piece.as_bytes());
        for _ in 0..=random.u8(..4) {
            self.mutate(material, random);
        }
        self.text.truncate(4 * SMALL);
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

    /// Puts a copy of a part to another place.
    fn copy(&mut self, from: usize, to: usize, place: usize) {
        self.spare.clear();
        self.spare.extend_from_slice(&self.text[from..to]);
        self.text.splice(place..place, self.spare.iter().copied());
    }

    /// The part around a place whose bytes are all such.
    fn around(&self, at: usize, is_such: impl Fn(u8) -> bool) -> (usize, usize) {
        let before = self.text[..at]
            .iter()
            .rev()
            .take_while(|byte| is_such(**byte));
        let behind = self.text[at..].iter().take_while(|byte| is_such(**byte));
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

    /// The number around a place, or the first one behind it.
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

/// Reads lines as a log is read from its first sign on.
fn read_lines(lines: &Lines, text: &str) -> Vec<Source> {
    let mut reader = (lines.reader)();
    text.lines().for_each(|line| reader.line(line));
    reader.finish()
}

/// What holds for all sources, whatever they were read of; `size` is that of the input.
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

/// The whole way of a file: read alike every time, and alike with the line ends of Windows.
fn read_whole(format: &'static Format, text: &[u8]) {
    let read = |text: &[u8]| match import::read(&mut &*text, Some(format)) {
        Ok(imported) => format!("{:?}", imported.sources),
        Err(problem) => problem.to_string(),
    };
    let first = read(text);
    assert_eq!(first, read(text), "the same text is not read the same");
    if format.lines.is_some() && !text.contains(&b'\r') {
        let mut windows = Vec::with_capacity(text.len() + 16);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => windows.extend_from_slice(&[line, b"\r\n"].concat()),
                None => windows.extend_from_slice(line),
            }
        }
        let again = read(&windows);
        // A JSON error says at which column it is.
        assert!(
            first == again || first.contains("column"),
            "{first}\n{again}"
        );
    }
    let _ = import::read(&mut &*text, None).map_err(|problem| problem.to_string());
}

/// One input, of lines or of a document.
fn try_lines(format: &'static Format, lines: &Lines, text: &[u8], is_whole: bool) {
    check(
        &read_lines(lines, &String::from_utf8_lossy(text)),
        text.len(),
    );
    if is_whole {
        read_whole(format, text);
    }
}

fn try_document(format: &'static Format, read: &Document, document: &Value, is_whole: bool) {
    let _ = (read.fits)(document);
    if let Ok(sources) = (read.read)(document) {
        // A document that is not text yet has no size: each value counts as some bytes.
        check(&sources, 16 * values(document));
    }
    if is_whole {
        read_whole(format, document.to_string().as_bytes());
    }
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(values).sum(),
        Value::Object(pairs) => pairs.values().map(values).sum(),
        _ => 0,
    }
}

/// Tries inputs of a format; says what panicked, and the input that did it.
fn fuzz(format: &'static Format, material: &Material, seed: u64, inputs: u64) -> Option<String> {
    let mut random = Rng::with_seed(seed);
    let mut input = Input::default();
    for number in 0..inputs {
        let is_whole = number % WHOLE == 0;
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
                None => read_whole(format, &input.text),
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

/// What the last panic said. It is told with its input, once.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// The lines of all captures.
fn lines_of_all() -> Vec<String> {
    let short = |line: &str| line.chars().take(SMALL).collect::<String>() + "\n";
    let captures = FORMATS.iter().flat_map(|format| captures_of(format));
    let lines = captures.flat_map(|capture| capture.lines().map(short).collect::<Vec<_>>());
    lines.collect()
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

#[test]
fn damaged_results_of_any_format_do_no_harm() {
    let inputs: u64 = setting("KERNMARK_FUZZ").unwrap_or(FEW);
    let seed: u64 = setting("KERNMARK_FUZZ_SEED").unwrap_or(1);
    let chosen: Option<String> = setting("KERNMARK_FUZZ_FORMAT");
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let told: Mutex<Vec<String>> = Mutex::default();
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
            told.lock().expect("a lock").push(message);
            continue;
        }
        let material = Material::of(&captures, &lines);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (material, told) = (&material, &told);
                scope.spawn(move || {
                    let failed = fuzz(format, material, seed * 1000 + thread, inputs / threads);
                    told.lock().expect("a lock").extend(failed);
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
    let told = told.into_inner().expect("a lock");
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}
