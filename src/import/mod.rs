// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results of other tools, as runs.
//!
//! Each format is one file here with its [`Format`]: what it looks like, and how it is read. A format
//! only says what the source says; which format a file has, what is wrong with its figures
//! ([`check`]) and how they become a record stream ([`records`]) is the same for all.

pub mod bencher;
pub mod check;
pub mod criterion;
pub mod cyclictest;
pub mod fuchsiaperf;
pub mod go;
pub mod google_benchmark;
pub mod google_benchmark_console;
pub mod hwlatdetect;
pub mod hyperfine;
pub mod jmh;
mod json;
pub mod lmbench;
mod lmbench_summary;
pub mod perf_bench;
pub mod pytest_benchmark;
pub mod records;
pub mod rtla;
pub mod rtos_benchmark;
pub mod schbench;
pub mod sel4bench;
mod text;
pub mod thread_metric;
pub mod twister;
mod zephyr;
pub mod zephyr_kernel;
pub mod zephyr_latency;
pub mod zephyr_ztest;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Read};

use aho_corasick::AhoCorasick;
use memchr::memchr;
use serde_json::Value;

use self::text::{End, Splitter};
use crate::stream::histogram::Histogram;
use crate::stream::run::{Clock, Fact, Stat, Unit, PICOSECONDS};
use crate::stream::ticks::Ticks;

/// One process or boot that a file tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What it tells of its system, named as agents name it where they do: `kernel`, `board`,
    /// `compiler`, `tool` ...
    pub facts: Vec<Fact>,
    /// The clock that its figures are ticks of. A frequency of 0 is not known; it is then found
    /// from rows that have both ticks and nanoseconds. Its name is [`COUNTER`] where they are what
    /// a counter counted, and the name of their unit where they are times.
    pub clock: Clock,
    /// What it measured, in its order.
    pub rows: Vec<Row>,
    /// Why it does not tell all: its end mark is missing, and what that is.
    pub cut: Option<String>,
}

/// One thing that a source measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The source's name for it, as it stands there.
    pub name: String,
    /// What the source says it is, where it says more than the name.
    pub about: String,
    /// What it measured, in ticks of the source's clock.
    pub figure: Figure,
    /// The same in nanoseconds where the source prints both, cut or rounded to an integer; what
    /// it is of is the mean of a [`Figure::Summary`].
    pub nanoseconds: Option<f64>,
    /// How the source prints its figures; `None` where its clock says so.
    pub printed: Option<Printed>,
}

/// How a source prints a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The unit as the source writes it: `usecs/op`. Empty where figures are ticks.
    pub unit: &'static str,
    /// Ticks of the source's clock in one of them.
    pub ticks: f64,
    /// Whether they are whole numbers without a sign, so that one below 0 is printed as that much
    /// less than 2^32 or 2^64.
    pub is_unsigned: bool,
}

/// What a source says of one thing that it measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// All samples.
    Samples(Histogram),
    /// A summary of samples that are lost.
    Summary(Stat),
    /// It was not measured, and why.
    Skipped(String),
    /// It has no number that counts, and why.
    Failed(String),
}

/// A format that can be read.
#[derive(Debug)]
pub struct Format {
    /// Its name, which `--as` takes.
    pub name: &'static str,
    /// What writes it.
    pub about: &'static str,
    /// What it is recognised by, for people: it completes "looked for".
    pub mark: &'static str,
    /// How it is read where it is text.
    pub lines: Option<Lines>,
    /// How it is read where it is one JSON document.
    pub document: Option<Document>,
}

/// A format of lines.
#[derive(Debug)]
pub struct Lines {
    /// A line that holds one of these is its first; what comes before it is log.
    pub signs: &'static [&'static str],
    /// Reads from the first line on.
    pub reader: fn() -> Box<dyn Reader>,
}

/// A format that is one JSON document, or JSON lines, whose values come as an array.
#[derive(Debug)]
pub struct Document {
    /// Whether a document is one.
    pub fits: fn(&Value) -> bool,
    /// Reads a document that fits. The error says where in the document (`benchmarks[3].real_time`)
    /// and what is wrong.
    pub read: fn(&Value) -> Result<Vec<Source>, String>,
}

/// Reads a format line by line.
pub trait Reader {
    /// Takes a line, without its end, without escape sequences of terminals and without what a
    /// console puts before it. Lines of the log around the format come too; they are passed over.
    fn line(&mut self, line: &str);

    /// Whether a last line without a line end is whole all the same, as an end mark is. Any other
    /// may be cut and is no result.
    fn is_whole(&self, _line: &str) -> bool {
        false
    }

    /// What the lines said: nothing, if they were not of this format after all.
    fn finish(self: Box<Self>) -> Vec<Source>;
}

/// All formats, in the order of the documentation.
pub static FORMATS: &[&Format] = &[
    &bencher::FORMAT,
    &criterion::FORMAT,
    &cyclictest::FORMAT,
    &fuchsiaperf::FORMAT,
    &go::FORMAT,
    &google_benchmark::FORMAT,
    &google_benchmark_console::FORMAT,
    &hwlatdetect::FORMAT,
    &hyperfine::FORMAT,
    &jmh::FORMAT,
    &lmbench::FORMAT,
    &perf_bench::FORMAT,
    &pytest_benchmark::FORMAT,
    &rtla::FORMAT,
    &rtos_benchmark::FORMAT,
    &schbench::FORMAT,
    &sel4bench::FORMAT,
    &thread_metric::FORMAT,
    &twister::FORMAT,
    &zephyr_kernel::FORMAT,
    &zephyr_latency::FORMAT,
    &zephyr_ztest::FORMAT,
];

impl Printed {
    /// A time, of so many ticks in one of its unit.
    #[must_use]
    pub const fn time(unit: &'static str, ticks: f64) -> Self {
        Printed {
            unit,
            ticks,
            is_unsigned: false,
        }
    }
}

impl Source {
    /// A complete source that prints times: its clock is [`picosecond_clock`] and its fact `tool`
    /// is this tool.
    #[must_use]
    pub fn of_times(tool: &str, rows: Vec<Row>) -> Self {
        Source {
            facts: vec![Fact::new("tool", tool)],
            clock: picosecond_clock(),
            rows,
            cut: None,
        }
    }
}

impl Row {
    /// A row without a description of its own.
    #[must_use]
    pub fn new(name: &str, figure: Figure) -> Self {
        Row {
            name: name.to_owned(),
            about: String::new(),
            figure,
            nanoseconds: None,
            printed: None,
        }
    }
}

/// What the clock of a source is called that prints ticks of a counter.
pub const COUNTER: &str = "cycles";

/// Whether figures are ticks of a counter, and so can hold its wraps.
fn is_counter(clock: &Clock) -> bool {
    clock.name == COUNTER && clock.unit != Unit::Instructions
}

/// The clock of a source that prints times: a tick is a picosecond, so that fractions of a
/// nanosecond are kept.
#[must_use]
pub fn picosecond_clock() -> Clock {
    clock("picoseconds", Unit::Cycles, PICOSECONDS)
}

/// The clock of a source that prints whole nanoseconds.
fn nanosecond_clock() -> Clock {
    clock("nanoseconds", Unit::Cycles, 1_000_000_000)
}

/// The clock of a source that prints whole microseconds.
fn microsecond_clock() -> Clock {
    clock("microseconds", Unit::Cycles, 1_000_000)
}

/// The clock of a source that prints ticks of a counter without its frequency.
fn counter_clock() -> Clock {
    clock(COUNTER, Unit::Cycles, 0)
}

/// The clock of a source that prints executed instructions.
fn instruction_clock() -> Clock {
    clock("instructions", Unit::Instructions, 0)
}

fn clock(name: &str, unit: Unit, hz: u64) -> Clock {
    Clock {
        name: name.to_owned(),
        unit,
        hz,
    }
}

/// Ticks of [`picosecond_clock`] in one nanosecond, microsecond, millisecond and second.
const NANOSECOND: f64 = 1e3;
const MICROSECOND: f64 = 1e6;
const MILLISECOND: f64 = 1e9;
const SECOND: f64 = 1e12;

/// Ticks of [`picosecond_clock`] in one unit of time; `None` for any other unit.
fn time_unit(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(NANOSECOND),
        "us" => Some(MICROSECOND),
        "ms" => Some(MILLISECOND),
        "s" => Some(SECOND),
        _ => None,
    }
}

/// The figure of a row whose unit is not a unit of time.
fn not_a_time(unit: &str) -> Figure {
    Figure::Skipped(format!("`{unit}` is no time"))
}

/// Adds a row to the source of its process. Processes are numbered from 0 without gaps; the first
/// row of a process creates its source with `new`.
fn add_row(sources: &mut Vec<Source>, process: usize, row: Row, new: impl FnOnce() -> Source) {
    if sources.len() == process {
        sources.push(new());
    }
    sources[process].rows.push(row);
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// A time as a sample of [`picosecond_clock`]; `None` when it is negative, no number, or longer
/// than 213 days.
#[must_use]
pub fn picoseconds(nanoseconds: f64) -> Option<Ticks> {
    let ticks = (nanoseconds * 1000.0).round();
    (0.0..u64::MAX as f64)
        .contains(&ticks)
        .then_some(Ticks(ticks as u64))
}

/// Samples in ticks, which may have fractions; these are rounded. Where one of them is negative or
/// beyond 64 bits, what they are as a whole, because only a summary can hold such.
fn samples(ticks: &[f64]) -> Figure {
    let in_range = |ticks: &f64| (0.0..u64::MAX as f64).contains(&ticks.round());
    if ticks.is_empty() {
        return Figure::Failed("no samples".to_owned());
    }
    if ticks.iter().all(in_range) {
        let one = |ticks: &f64| (Ticks(ticks.round() as u64), 1);
        return Figure::Samples(ticks.iter().map(one).collect());
    }
    if let Some(wild) = ticks.iter().find(|ticks| !ticks.is_finite()) {
        return Figure::Failed(format!("a sample is {wild}"));
    }
    Figure::Summary(Stat {
        samples: ticks.len() as u64,
        mean: Some(ticks.iter().map(|one| one / ticks.len() as f64).sum()),
        median: None,
        min: ticks.iter().copied().reduce(f64::min),
        max: ticks.iter().copied().reduce(f64::max),
        deviation: None,
    })
}

/// What a file turned out to be.
#[derive(Debug)]
pub struct Imported {
    /// Its format.
    pub format: &'static Format,
    /// What it tells.
    pub sources: Vec<Source>,
}

/// Why a file could not be read.
#[derive(Debug)]
pub enum Problem {
    /// Reading failed.
    Io(io::Error),
    /// It has none of the formats; some of it may not have been read.
    Unknown(Damage),
    /// It has several of them.
    Ambiguous(Vec<&'static Format>),
    /// It is of this format, and broken.
    Broken(&'static Format, String),
    /// It looks like JSON and is none.
    NotJson(serde_json::Error),
    /// It is a JSON document of more than 256 MiB.
    TooLong,
    /// It holds more results than a run can.
    TooMany(&'static Format),
    /// It is packed; this unpacks it.
    Packed(&'static str),
    /// It is UTF-16.
    Utf16,
}

/// Lines that were not read because they cannot be whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many hold NUL bytes, from the first line of a result on: a file was not written whole.
    pub nul: u64,
    /// The last one, if it does not end: nobody knows what is missing of it. Else empty.
    pub last: String,
}

impl Damage {
    /// What it is, in one sentence each.
    fn sentences(&self) -> impl Iterator<Item = String> {
        let nul = (self.nul > 0).then(|| {
            let lines = self.nul;
            format!("lines with NUL bytes, which are not read: {lines} (tr -d '\\000' removes NUL)")
        });
        let last = (!self.last.is_empty()).then(|| {
            let last = &self.last;
            format!("the last line has no line end, so it may be cut and is not read: `{last}`")
        });
        nul.into_iter().chain(last)
    }

    /// Says it of the last source, which is then not whole.
    fn tell(&self, sources: &mut [Source]) {
        for sentence in self.sentences() {
            text::cut(sources, &sentence);
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Io(error) => write!(f, "cannot be read: {error}"),
            Problem::Unknown(damage) => {
                f.write_str("neither a run of kernmark nor a format that is known")?;
                damage
                    .sentences()
                    .try_for_each(|sentence| write!(f, "; {sentence}"))
            }
            Problem::Ambiguous(formats) => {
                let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
                write!(
                    f,
                    "results of more than one format: {}; --as says which to read",
                    names.join(", ")
                )
            }
            Problem::Broken(format, why) => write!(f, "{}: {why}", format.name),
            Problem::NotJson(error) => write!(f, "looks like JSON and is broken: {error}"),
            Problem::TooLong => write!(
                f,
                "a JSON document of more than {} MiB; split it",
                LONGEST_DOCUMENT >> 20
            ),
            Problem::TooMany(format) => write!(
                f,
                "{}: more than {MOST_ROWS} results of one process or boot, or {MOST_ROWS_OF_ALL} \
                 of all; split it",
                format.name
            ),
            Problem::Packed(unpack) => {
                write!(f, "it is packed: {unpack} FILE | kernmark show -")
            }
            Problem::Utf16 => f.write_str(
                "it is UTF-16, as PowerShell's `>` writes: iconv -f UTF-16 -t UTF-8 FILE | \
                 kernmark show -",
            ),
        }
    }
}

/// Most rows of one source, and of all: a run keeps a few kilobytes of each that has an id of its
/// own.
const MOST_ROWS: usize = 200_000;
const MOST_ROWS_OF_ALL: usize = 2_000_000;

/// Most bytes of a document, which is read whole.
const LONGEST_DOCUMENT: u64 = 256 << 20;

/// Bytes of an input that tell what it is.
const BEGINNING: u64 = 512;

/// What packed files begin with, and what unpacks them.
const PACKED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"PK\x03\x04", "unzip -p"),
];

/// What some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a file of another tool: of the format `wanted`, or of the one that it has.
///
/// Logs are read line by line, in memory that does not grow with them. A JSON document is read
/// whole.
///
/// # Errors
///
/// It cannot be read, has no known format, several, or is broken.
pub fn read(input: &mut dyn BufRead, wanted: Option<&'static Format>) -> Result<Imported, Problem> {
    read_beside(input, wanted, &mut |_| false)
}

/// The same of what may be something else: each line of the input is first shown to `other`, and
/// those that it takes are no results. So a pipe, which can be read but once, is looked through for
/// both.
///
/// # Errors
///
/// As [`read`].
pub fn read_beside(
    input: &mut dyn BufRead,
    wanted: Option<&'static Format>,
    other: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Imported, Problem> {
    let formats: Vec<&'static Format> = match wanted {
        Some(format) => vec![format],
        None => FORMATS.to_vec(),
    };
    // A pipe may give its first bytes one by one.
    let mut beginning = Vec::new();
    input.take(BEGINNING).read_to_end(&mut beginning)?;
    if let Some(problem) = not_text(&beginning) {
        return Err(problem);
    }
    let text = beginning.strip_prefix(BYTE_ORDER_MARK);
    let beginning = text.unwrap_or(&beginning);
    let is_json = looks_like_json(beginning);
    let mut input = beginning.chain(input);
    if is_json {
        let mut text = Vec::new();
        input.take(LONGEST_DOCUMENT + 1).read_to_end(&mut text)?;
        if text.len() as u64 > LONGEST_DOCUMENT {
            return Err(Problem::TooLong);
        }
        for line in text.split(|byte| *byte == b'\n') {
            other(line);
        }
        let document = json::document(&text).map_err(Problem::NotJson)?;
        return read_document(&document, &formats, wanted.is_some());
    }
    read_lines(&mut input, &formats, other)
}

/// Why something that begins so is no text that can be read.
fn not_text(beginning: &[u8]) -> Option<Problem> {
    let packed = PACKED.iter().find(|(mark, _)| beginning.starts_with(mark));
    if let Some((_, unpack)) = packed {
        return Some(Problem::Packed(unpack));
    }
    let is_marked = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
    // ASCII in 16 bits has a NUL in every other place, and only there.
    let nul_in = |place: usize| {
        let mut bytes = beginning.iter().skip(place).step_by(2);
        bytes.len() > 1 && bytes.all(|byte| *byte == 0)
    };
    let is_unmarked = nul_in(0) != nul_in(1);
    (is_marked || is_unmarked).then_some(Problem::Utf16)
}

/// Whether a file starts as a JSON document of results does: with an object, or an array of such.
/// A log may start with a bracket, too.
fn looks_like_json(start: &[u8]) -> bool {
    match start.trim_ascii_start().split_first() {
        Some((b'{', rest)) => matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}')),
        Some((b'[', rest)) => matches!(rest.trim_ascii_start().first(), Some(b'{' | b']')),
        _ => false,
    }
}

/// What was imported, unless it is more than a run can hold.
fn bounded(imported: Imported) -> Result<Imported, Problem> {
    let rows = imported.sources.iter().map(|source| source.rows.len());
    if rows.clone().any(|rows| rows > MOST_ROWS) || rows.sum::<usize>() > MOST_ROWS_OF_ALL {
        return Err(Problem::TooMany(imported.format));
    }
    Ok(imported)
}

fn read_document(
    document: &Value,
    formats: &[&'static Format],
    is_wanted: bool,
) -> Result<Imported, Problem> {
    let candidates = formats
        .iter()
        .filter_map(|format| Some((*format, format.document.as_ref()?)));
    let fitting: Vec<_> = candidates
        .filter(|(_, document_format)| is_wanted || (document_format.fits)(document))
        .collect();
    let (format, document_format) = one_of(fitting, |(format, _)| format)?;
    let sources = (document_format.read)(document).map_err(|why| Problem::Broken(format, why))?;
    bounded(Imported { format, sources })
}

/// The one that there is.
fn one_of<T>(mut found: Vec<T>, format: fn(&T) -> &'static Format) -> Result<T, Problem> {
    match found.len() {
        0 => Err(Problem::Unknown(Damage::default())),
        1 => Ok(found.remove(0)),
        _ => Err(Problem::Ambiguous(found.iter().map(format).collect())),
    }
}

/// A format of which a first line was seen.
struct Begun {
    format: &'static Format,
    lines: &'static Lines,
    reader: Box<dyn Reader>,
}

fn read_lines(
    input: &mut dyn BufRead,
    formats: &[&'static Format],
    other: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Imported, Problem> {
    let mut waiting: Vec<(&'static Format, &'static Lines)> = formats
        .iter()
        .filter_map(|format| Some((*format, format.lines.as_ref()?)))
        .collect();
    let signs = waiting.iter().flat_map(|(_, lines)| lines.signs);
    // All signs at once: most lines of a log hold none.
    let any_sign = AhoCorasick::new(signs).expect("the signs are few");
    let mut begun: Vec<Begun> = Vec::new();
    let mut found: Vec<(&'static Format, Vec<Source>)> = Vec::new();
    let mut damage = Damage::default();
    let mut splitter = Splitter::new(input);
    let mut line = Vec::new();
    while let Some(end) = splitter.next(&mut line)? {
        if other(&line) {
            continue;
        }
        if memchr(0, &line).is_some() {
            damage.nul += 1;
            // Lines may be missing here. What follows is not taken for what went on before.
            for one in begun.drain(..) {
                waiting.push((one.format, one.lines));
                add(&mut found, one, &damage);
            }
            continue;
        }
        let text = std::str::from_utf8(&line)
            .map_or_else(|_| String::from_utf8_lossy(&line), Cow::Borrowed);
        let text = text::shown(&text);
        let text = text::without_prefix(&text);
        if !waiting.is_empty() && any_sign.is_match(text) {
            waiting.retain(|(format, lines)| {
                let starts = lines.signs.iter().any(|sign| text.contains(sign));
                if starts {
                    if begun.is_empty() && found.is_empty() {
                        // A serial line gives NUL bytes, too, before a board starts.
                        damage.nul = 0;
                    }
                    let reader = (lines.reader)();
                    begun.push(Begun {
                        format,
                        lines,
                        reader,
                    });
                }
                !starts
            });
        }
        let is_cut = end == End::Input && !text.trim().is_empty() && !text::is_prompt(text);
        if is_cut {
            damage.last = text::excerpt(text);
        }
        for Begun { reader, .. } in &mut begun {
            if !is_cut || reader.is_whole(text) {
                reader.line(text);
                // What one of them knows to be whole is no result of another.
                damage.last.clear();
            }
        }
    }
    for one in begun {
        add(&mut found, one, &damage);
    }
    if found.is_empty() {
        return Err(Problem::Unknown(damage));
    }
    let (format, sources) = one_of(found, |(format, _)| format)?;
    bounded(Imported { format, sources })
}

/// Ends a reader and adds what it has found, with what is wrong up to here.
fn add(found: &mut Vec<(&'static Format, Vec<Source>)>, begun: Begun, damage: &Damage) {
    let mut sources = begun.reader.finish();
    damage.tell(&mut sources);
    match found
        .iter_mut()
        .find(|(format, _)| format.name == begun.format.name)
    {
        Some((_, known)) => known.extend(sources),
        None if sources.is_empty() => {}
        None => found.push((begun.format, sources)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_log_that_starts_with_a_bracket_is_no_json() {
        for (start, is_json) in [
            ("  {\n \"a\": 1}", true),
            ("[ {\"a\": 1}]", true),
            ("[]", true),
            ("[00:00:00.010,000] <inf> boot", false),
            ("{ not json", false),
            ("", false),
        ] {
            assert_eq!(looks_like_json(start.as_bytes()), is_json, "{start}");
        }
    }

    #[test]
    fn what_is_of_no_format_or_broken_is_an_error_that_says_so() {
        let read = |text: &str| read(&mut text.as_bytes(), None).unwrap_err();
        assert!(matches!(read("nothing\n"), Problem::Unknown(_)));
        assert!(matches!(read("{\"a\": 1}"), Problem::Unknown(_)));
        assert!(matches!(read("{\"a\": 1"), Problem::NotJson(_)));
        let broken = read("{\"results\": [{\"command\": \"a\", \"mean\": 1, \"times\": [\"x\"]}]}");
        let Problem::Broken(format, why) = broken else {
            panic!("{broken:?}");
        };
        assert_eq!(
            (format.name, why.as_str()),
            ("hyperfine", "results[0].times[0]: no number")
        );
    }

    #[test]
    fn a_mark_of_the_byte_order_does_no_harm() {
        let text = "\u{feff}{\"results\": [{\"command\": \"a\", \"mean\": 1, \"times\": [1.5]}]}";
        let imported = read(&mut text.as_bytes(), None).unwrap();
        let samples = Histogram::from_iter([(Ticks(1_500_000_000_000), 1)]);
        let row = &imported.sources[0].rows[0];
        assert_eq!((&*row.name, &row.figure), ("a", &Figure::Samples(samples)));
    }

    #[test]
    fn more_results_than_a_run_can_hold_are_refused() {
        let row = |at: usize| format!("a{at}: 1 microseconds\n");
        let rows: String = (0..=MOST_ROWS).map(row).collect();
        let log = format!("Simple syscall: 1 microseconds\n{rows}");
        let problem = read(&mut log.as_bytes(), None).unwrap_err();
        assert!(matches!(problem, Problem::TooMany(_)), "{problem}");
        assert!(problem.to_string().ends_with("of all; split it"));
    }

    #[test]
    fn picoseconds_are_never_negative_and_never_wrap() {
        assert_eq!(picoseconds(1.2345), Some(Ticks(1235)));
        for nanoseconds in [-1.0, f64::NAN, f64::INFINITY, 1e17] {
            assert_eq!(picoseconds(nanoseconds), None, "{nanoseconds}");
        }
    }

    #[test]
    fn the_names_of_formats_are_words_and_each_another() {
        for (at, format) in FORMATS.iter().enumerate() {
            let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(format.name.bytes().all(is_name), "{}", format.name);
            assert!(FORMATS[..at].iter().all(|other| other.name != format.name));
            assert!(format.lines.is_some() || format.document.is_some());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&mut bytes.as_slice(), None);
        }
    }
}
