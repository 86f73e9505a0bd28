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
use std::io::{self, BufRead};

use aho_corasick::AhoCorasick;
use memchr::memchr;
use serde_json::Value;

use crate::histogram::Histogram;
use crate::run::{Clock, Fact, Stat, Ticks, Unit, PICOSECONDS};

/// One process or boot that a file tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What it tells of its system, named as agents name it where they do: `kernel`, `board`,
    /// `compiler`, `tool` ...
    pub facts: Vec<Fact>,
    /// The clock that its figures are ticks of. A frequency of 0 is not known; it is then found
    /// from rows that have both ticks and nanoseconds.
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
    /// Takes a line, without its end and without escape sequences of terminals. Lines of the log
    /// around the format come too; they are passed over.
    fn line(&mut self, line: &str);

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

impl Row {
    /// A row without a description of its own.
    #[must_use]
    pub fn new(name: &str, figure: Figure) -> Self {
        Row {
            name: name.to_owned(),
            about: String::new(),
            figure,
            nanoseconds: None,
        }
    }
}

/// The clock of a source that prints times: a tick is a picosecond, so that fractions of a
/// nanosecond are kept.
#[must_use]
pub fn picosecond_clock() -> Clock {
    Clock {
        name: "picoseconds".to_owned(),
        unit: Unit::Cycles,
        hz: PICOSECONDS,
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
    /// It has none of the formats.
    Unknown,
    /// It has several of them.
    Ambiguous(Vec<&'static Format>),
    /// It is of this format, and broken.
    Broken(&'static Format, String),
    /// It looks like JSON and is none.
    NotJson(serde_json::Error),
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
            Problem::Unknown => f.write_str("neither a run of kernmark nor a format that is known"),
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
        }
    }
}

/// Bytes of a line that are looked at; what is longer is no line of a result. The longest is that
/// of sel4bench, which prints all that it measured in one.
const LONGEST_LINE: usize = 16 << 20;

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
    let formats: Vec<&'static Format> = match wanted {
        Some(format) => vec![format],
        None => FORMATS.to_vec(),
    };
    if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    if looks_like_json(input.fill_buf()?) {
        let mut text = Vec::new();
        input.read_to_end(&mut text)?;
        let document = json::document(&text).map_err(Problem::NotJson)?;
        return read_document(&document, &formats, wanted.is_some());
    }
    read_lines(input, &formats)
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
    Ok(Imported { format, sources })
}

/// The one that there is.
fn one_of<T>(mut found: Vec<T>, format: fn(&T) -> &'static Format) -> Result<T, Problem> {
    match found.len() {
        0 => Err(Problem::Unknown),
        1 => Ok(found.remove(0)),
        _ => Err(Problem::Ambiguous(found.iter().map(format).collect())),
    }
}

fn read_lines(input: &mut dyn BufRead, formats: &[&'static Format]) -> Result<Imported, Problem> {
    let mut waiting: Vec<(&'static Format, &'static Lines)> = formats
        .iter()
        .filter_map(|format| Some((*format, format.lines.as_ref()?)))
        .collect();
    let signs = waiting.iter().flat_map(|(_, lines)| lines.signs);
    // All signs at once: most lines of a log hold none.
    let any_sign = AhoCorasick::new(signs).expect("the signs are few");
    let mut readers: Vec<(&'static Format, Box<dyn Reader>)> = Vec::new();
    let mut line = Vec::new();
    while next_line(input, &mut line)? {
        let text = std::str::from_utf8(&line)
            .map_or_else(|_| String::from_utf8_lossy(&line), Cow::Borrowed);
        let text = without_escapes(&text);
        if !waiting.is_empty() && any_sign.is_match(text.as_ref()) {
            waiting.retain(|(format, lines)| {
                let starts = lines.signs.iter().any(|sign| text.contains(sign));
                if starts {
                    readers.push((*format, (lines.reader)()));
                }
                !starts
            });
        }
        for (_, reader) in &mut readers {
            reader.line(&text);
        }
    }
    let found = readers
        .into_iter()
        .map(|(format, reader)| (format, reader.finish()));
    let found = found.filter(|(_, sources)| !sources.is_empty()).collect();
    let (format, sources) = one_of(found, |(format, _)| format)?;
    Ok(Imported { format, sources })
}

/// Reads the next line, without its end and no more of it than [`LONGEST_LINE`]; `false` at the end
/// of the input.
///
/// # Errors
///
/// Reading failed.
pub fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let bytes = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = memchr(b'\n', bytes);
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        any |= !bytes.is_empty();
        let used = piece.len() + usize::from(end.is_some());
        let is_over = end.is_some() || bytes.is_empty();
        input.consume(used);
        if is_over {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(any);
        }
    }
}

/// A line without the escape sequences (ECMA-48, `ESC [ ... letter`) with which consoles colour.
fn without_escapes(line: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    let Some((first, rest)) = line.split_once(ESCAPE) else {
        return Cow::Borrowed(line);
    };
    let mut clean = first.to_owned();
    for piece in rest.split(ESCAPE) {
        let sequence = piece.strip_prefix('[').map(|body| {
            let end = body.find(|c: char| ('@'..='~').contains(&c));
            end.map_or("", |end| &body[end + 1..])
        });
        clean.push_str(sequence.unwrap_or(piece));
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines_of(mut input: &[u8]) -> Vec<Vec<u8>> {
        let (mut lines, mut line) = (Vec::new(), Vec::new());
        while next_line(&mut input, &mut line).unwrap() {
            lines.push(line.clone());
        }
        lines
    }

    #[test]
    fn lines_end_in_lf_or_crlf_or_with_the_input() {
        assert_eq!(
            lines_of(b"a\r\n\nb"),
            [b"a".to_vec(), b"".to_vec(), b"b".to_vec()]
        );
        assert_eq!(lines_of(b""), Vec::<Vec<u8>>::new());
        let long = vec![b'x'; 3 * LONGEST_LINE];
        assert_eq!(lines_of(&long), [vec![b'x'; LONGEST_LINE]]);
    }

    #[test]
    fn colours_of_consoles_do_no_harm() {
        assert_eq!(without_escapes("\u{1b}[1;32mok\u{1b}[0m 1"), "ok 1");
        assert_eq!(without_escapes("a\u{1b}b\u{1b}["), "ab");
        assert!(matches!(without_escapes("plain"), Cow::Borrowed("plain")));
    }

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
        assert!(matches!(read("nothing\n"), Problem::Unknown));
        assert!(matches!(read("{\"a\": 1}"), Problem::Unknown));
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
        assert_eq!(
            imported.sources[0].rows,
            [Row::new("a", Figure::Samples(samples))]
        );
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
