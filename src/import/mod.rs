// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads result files of other tools.
//!
//! In: a file, log or pipe. Out: [`Imported`], which [`records`] turns into a record stream.
//!
//! Each format has one file here, with its [`Format`]: how to recognise it and how to read it. A format
//! reports only what its source states. Common code finds the format of a file, rejects wrong figures
//! ([`check`]) and writes the record stream ([`records`]).

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

use self::text::{LineEnd, LineSplitter};
use crate::base::number::plural;
use crate::stream::histogram::Histogram;
use crate::stream::run::{Clock, Fact, Stat, Unit, PICOSECONDS};
use crate::stream::ticks::Ticks;

/// The results of one process or boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What the file says about the system: `kernel`, `board`, `compiler`, `tool` ... Names are those
    /// that agents use, if agents report the same fact.
    pub facts: Vec<Fact>,
    /// The clock of its figures. A frequency of 0 is unknown; [`check`] then derives it from rows that
    /// have both ticks and nanoseconds. The name is [`COUNTER`] if figures are readings of a counter,
    /// and the name of the unit if they are times.
    pub clock: Clock,
    /// What it measured, in the order of the file.
    pub rows: Vec<Row>,
    /// Why the source is incomplete, for example that its end mark is missing; `None` if it is
    /// complete.
    pub incomplete: Option<String>,
}

/// One measurement of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name, exactly as in the source.
    pub name: String,
    /// The description in the source; empty if there is only a name.
    pub about: String,
    /// The result, in ticks of the source's clock.
    pub figure: Figure,
    /// The mean of a [`Figure::Summary`] in nanoseconds, if the source prints ticks and nanoseconds.
    /// It may be truncated or rounded to an integer.
    pub nanoseconds: Option<f64>,
    /// How the source prints its figures; `None` if the clock determines it.
    pub printed: Option<Printed>,
}

/// How a source prints a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The unit as the source writes it: `usecs/op`. Empty where figures are ticks.
    pub unit: &'static str,
    /// Ticks of the source's clock in one such unit.
    pub ticks: f64,
    /// Whether figures are printed as unsigned integers. A negative value -n then appears as
    /// 2^32 - n or 2^64 - n.
    pub is_unsigned: bool,
}

/// The result of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// All samples.
    Samples(Histogram),
    /// A summary; the file does not have the samples.
    Summary(Stat),
    /// It was not measured, for this reason.
    Skipped(String),
    /// It has no valid number, for this reason.
    Failed(String),
}

/// A format that can be imported.
#[derive(Debug)]
pub struct Format {
    /// The name, as `--as` accepts it.
    pub name: &'static str,
    /// The tool that writes it.
    pub about: &'static str,
    /// How to recognise it, for people: the text follows "looked for".
    pub recognised_by: &'static str,
    /// How to read it as lines of text.
    pub lines: Option<Lines>,
    /// How to read it as a JSON document.
    pub document: Option<Document>,
}

/// How to read a format of text lines.
#[derive(Debug)]
pub struct Lines {
    /// The first line that contains one of these starts the results; lines before it are log output.
    pub start_marks: &'static [&'static str],
    /// Creates a reader, which gets all lines from the first one on.
    pub reader: fn() -> Box<dyn Reader>,
}

/// How to read a format that is one JSON document or JSON lines. JSON lines are passed as an array.
#[derive(Debug)]
pub struct Document {
    /// Whether a document has this format.
    pub fits: fn(&Value) -> bool,
    /// Reads a document of this format. The error says where in the document (`benchmarks[3].real_time`)
    /// and what is wrong.
    pub read: fn(&Value) -> Result<Vec<Source>, String>,
}

/// Reads a format line by line.
pub trait Reader {
    /// Takes a line without its line end, escape sequences and console prefixes. It ignores other log
    /// output.
    fn line(&mut self, line: &str);

    /// Whether the last line is complete although it has no line end, as an end mark is. Any other
    /// such line may be truncated and is not read.
    fn accepts_unterminated(&self, _line: &str) -> bool {
        false
    }

    /// What the lines contained; empty if they did not have this format after all.
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
    /// A time in this unit, which is this many ticks long.
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
            incomplete: None,
        }
    }
}

impl Row {
    /// A row without a description.
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

/// The clock name of sources that print ticks of a counter.
pub const COUNTER: &str = "cycles";

/// Whether figures are ticks of a counter, which may wrap around.
fn is_counter(clock: &Clock) -> bool {
    clock.name == COUNTER && clock.unit != Unit::Instructions
}

/// The clock of a source that prints times. A tick is a picosecond, which keeps fractions of a
/// nanosecond.
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
    Figure::Skipped(format!("`{unit}` is not a unit of time"))
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

/// A time as a sample of [`picosecond_clock`]; `None` if it is negative, not a number, or longer than
/// 213 days.
#[must_use]
pub fn picoseconds(nanoseconds: f64) -> Option<Ticks> {
    let ticks = (nanoseconds * 1000.0).round();
    (0.0..u64::MAX as f64)
        .contains(&ticks)
        .then_some(Ticks(ticks as u64))
}

/// Samples in ticks, rounded to integers. If a sample is negative or exceeds 64 bits, the result is a
/// summary, because a histogram cannot hold such a sample.
fn samples(ticks: &[f64]) -> Figure {
    let in_range = |ticks: &f64| (0.0..u64::MAX as f64).contains(&ticks.round());
    if ticks.is_empty() {
        return Figure::Failed("no samples".to_owned());
    }
    if ticks.iter().all(in_range) {
        let single = |ticks: &f64| (Ticks(ticks.round() as u64), 1);
        return Figure::Samples(ticks.iter().map(single).collect());
    }
    if let Some(infinite) = ticks.iter().find(|ticks| !ticks.is_finite()) {
        return Figure::Failed(format!("a sample is {infinite}"));
    }
    Figure::Summary(Stat {
        samples: ticks.len() as u64,
        mean: Some(ticks.iter().map(|tick| tick / ticks.len() as f64).sum()),
        median: None,
        min: ticks.iter().copied().reduce(f64::min),
        max: ticks.iter().copied().reduce(f64::max),
        deviation: None,
    })
}

/// The contents of an imported file.
#[derive(Debug)]
pub struct Imported {
    /// Its format.
    pub format: &'static Format,
    /// Its processes or boots.
    pub sources: Vec<Source>,
}

impl Imported {
    /// Converts times to executed instructions. An instruction takes this many nanoseconds, as in an
    /// emulator that derives its clock from the number of instructions.
    ///
    /// # Errors
    ///
    /// A source prints no times. The message says so.
    pub fn count_instructions(&mut self, nanoseconds: f64) -> Result<(), String> {
        for source in &mut self.sources {
            // Refines the means and finds the frequency; both are lost below.
            check::check(source);
            let Some(tick) = source.clock.nanoseconds(1.0) else {
                return Err("it has no times to convert to instructions".to_owned());
            };
            source.clock = instruction_clock();
            for row in &mut source.rows {
                row.figure.scale(tick / nanoseconds);
                row.nanoseconds = None;
                row.printed = None;
            }
        }
        Ok(())
    }
}

impl Figure {
    /// Multiplies all times. Samples are rounded to integers.
    fn scale(&mut self, factor: f64) {
        match self {
            Figure::Samples(samples) => {
                let scaled =
                    |(ticks, n): (Ticks, u64)| (Ticks((ticks.0 as f64 * factor).round() as u64), n);
                *samples = samples.iter().map(scaled).collect();
            }
            Figure::Summary(stat) => {
                let values = [
                    &mut stat.mean,
                    &mut stat.median,
                    &mut stat.min,
                    &mut stat.max,
                    &mut stat.deviation,
                ];
                for value in values.into_iter().flatten() {
                    *value *= factor;
                }
            }
            Figure::Skipped(_) | Figure::Failed(_) => {}
        }
    }
}

/// Why a file could not be read.
#[derive(Debug)]
pub enum Problem {
    /// Reading failed.
    Io(io::Error),
    /// It has no known format; damaged lines were not read.
    Unknown(Damage),
    /// It has several formats.
    Ambiguous(Vec<&'static Format>),
    /// It has this format, with this error.
    Broken(&'static Format, String),
    /// It looks like JSON and is not valid JSON.
    NotJson(serde_json::Error),
    /// It is a JSON document of more than 256 MiB.
    TooLong,
    /// It has more results than a run can hold.
    TooMany(&'static Format),
    /// It is compressed; this command decompresses it.
    Compressed(&'static str),
    /// It is UTF-16.
    Utf16,
}

/// Lines that were not read because they may be incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of lines with NUL bytes, counted from the first line of a result on. A file has such
    /// lines if it was not completely written.
    pub nul_lines: u64,
    /// An excerpt of the last line if it has no line end, because its rest may be missing. Otherwise
    /// empty.
    pub unterminated: String,
}

impl Damage {
    /// A sentence for each kind of damage.
    fn sentences(&self) -> impl Iterator<Item = String> {
        let nul = (self.nul_lines > 0).then(|| {
            let lines = plural(self.nul_lines, "line");
            format!("ignored {lines} with NUL bytes (tr -d '\\000' removes NUL)")
        });
        let last = (!self.unterminated.is_empty()).then(|| {
            let last = &self.unterminated;
            format!("ignored the last line, which has no line end and may be truncated: `{last}`")
        });
        nul.into_iter().chain(last)
    }

    /// Marks the last source as incomplete.
    fn report_in(&self, sources: &mut [Source]) {
        for sentence in self.sentences() {
            text::mark_incomplete(sources, &sentence);
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
                f.write_str("not a kernmark run, and no known format")?;
                damage
                    .sentences()
                    .try_for_each(|sentence| write!(f, "; {sentence}"))
            }
            Problem::Ambiguous(formats) => {
                let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
                write!(
                    f,
                    "results in more than one format: {}; choose one with --as",
                    names.join(", ")
                )
            }
            Problem::Broken(format, why) => write!(f, "{}: {why}", format.name),
            Problem::NotJson(error) => write!(f, "looks like JSON but is invalid: {error}"),
            Problem::TooLong => write!(
                f,
                "the JSON document is larger than {} MiB; split it",
                MAX_DOCUMENT_BYTES >> 20
            ),
            Problem::TooMany(format) => write!(
                f,
                "{}: more than {MAX_ROWS} results of one process or boot, or more than \
                 {MAX_TOTAL_ROWS} in total; split it",
                format.name
            ),
            Problem::Compressed(decompress) => {
                write!(f, "the file is compressed: {decompress} FILE | kernmark show -")
            }
            Problem::Utf16 => f.write_str(
                "the file is UTF-16, as PowerShell's `>` writes it: iconv -f UTF-16 -t UTF-8 FILE | \
                 kernmark show -",
            ),
        }
    }
}

/// Most rows of one source, and of all sources of a file. A run keeps a few kilobytes for each id.
const MAX_ROWS: usize = 200_000;
const MAX_TOTAL_ROWS: usize = 2_000_000;

/// Most bytes of a JSON document, which is read into memory.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// Bytes at the start of a file that are inspected to find its kind.
const INSPECTED_BYTES: u64 = 512;

/// The first bytes of compressed files, and the command that decompresses them.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"PK\x03\x04", "unzip -p"),
];

/// Some editors start a UTF-8 file with this.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a result file of another tool, in the format `wanted` or else in the format that is found.
///
/// Logs are read line by line, in memory that does not grow with the log. A JSON document is read
/// into memory.
///
/// # Errors
///
/// The file cannot be read, has no known format or several, or is invalid.
pub fn read(input: &mut dyn BufRead, wanted: Option<&'static Format>) -> Result<Imported, Problem> {
    read_unclaimed(input, wanted, &mut |_| false)
}

/// Like [`read`], but passes each line to `claims` first and ignores the lines for which it returns
/// true. So one pass over a pipe can look for results and for something else.
///
/// # Errors
///
/// As [`read`].
pub fn read_unclaimed(
    input: &mut dyn BufRead,
    wanted: Option<&'static Format>,
    claims: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Imported, Problem> {
    let formats: Vec<&'static Format> = match wanted {
        Some(format) => vec![format],
        None => FORMATS.to_vec(),
    };
    // A pipe may deliver its first bytes one by one.
    let mut start = Vec::new();
    input.take(INSPECTED_BYTES).read_to_end(&mut start)?;
    if let Some(problem) = not_text(&start) {
        return Err(problem);
    }
    let text = start.strip_prefix(BYTE_ORDER_MARK);
    let start = text.unwrap_or(&start);
    let is_json = looks_like_json(start);
    let mut input = start.chain(input);
    if is_json {
        let mut text = Vec::new();
        input.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(Problem::TooLong);
        }
        for line in text.split(|byte| *byte == b'\n') {
            claims(line);
        }
        let document = json::document(&text).map_err(Problem::NotJson)?;
        return read_document(&document, &formats, wanted.is_some());
    }
    read_lines(&mut input, &formats, claims)
}

/// The problem of a file that starts with these bytes, if it is not readable text.
fn not_text(start: &[u8]) -> Option<Problem> {
    let compressed = COMPRESSED
        .iter()
        .find(|(magic, _)| start.starts_with(magic));
    if let Some((_, decompress)) = compressed {
        return Some(Problem::Compressed(decompress));
    }
    let is_marked = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    // In UTF-16, ASCII text has a NUL in every other byte and nowhere else.
    let nul_in = |place: usize| {
        let mut bytes = start.iter().skip(place).step_by(2);
        bytes.len() > 1 && bytes.all(|byte| *byte == 0)
    };
    let is_unmarked = nul_in(0) != nul_in(1);
    (is_marked || is_unmarked).then_some(Problem::Utf16)
}

/// Whether a file starts like a JSON document of results: with an object or an array of objects. A
/// log may start with a bracket, too.
fn looks_like_json(start: &[u8]) -> bool {
    match start.trim_ascii_start().split_first() {
        Some((b'{', rest)) => matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}')),
        Some((b'[', rest)) => matches!(rest.trim_ascii_start().first(), Some(b'{' | b']')),
        _ => false,
    }
}

/// Rejects more rows than a run can hold.
fn limited(imported: Imported) -> Result<Imported, Problem> {
    let rows = imported.sources.iter().map(|source| source.rows.len());
    if rows.clone().any(|rows| rows > MAX_ROWS) || rows.sum::<usize>() > MAX_TOTAL_ROWS {
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
    let (format, document_format) = exactly_one(fitting, |(format, _)| format)?;
    let sources = (document_format.read)(document).map_err(|why| Problem::Broken(format, why))?;
    limited(Imported { format, sources })
}

/// The only element.
fn exactly_one<T>(mut found: Vec<T>, format: fn(&T) -> &'static Format) -> Result<T, Problem> {
    match found.len() {
        0 => Err(Problem::Unknown(Damage::default())),
        1 => Ok(found.remove(0)),
        _ => Err(Problem::Ambiguous(found.iter().map(format).collect())),
    }
}

/// A format whose first line was found.
struct Active {
    format: &'static Format,
    lines: &'static Lines,
    reader: Box<dyn Reader>,
}

fn read_lines(
    input: &mut dyn BufRead,
    formats: &[&'static Format],
    claims: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Imported, Problem> {
    let mut inactive: Vec<(&'static Format, &'static Lines)> = formats
        .iter()
        .filter_map(|format| Some((*format, format.lines.as_ref()?)))
        .collect();
    let start_marks = inactive.iter().flat_map(|(_, lines)| lines.start_marks);
    // One search for all marks, because most lines of a log contain none.
    let any_mark = AhoCorasick::new(start_marks).expect("the marks are few");
    let mut active: Vec<Active> = Vec::new();
    let mut found: Vec<(&'static Format, Vec<Source>)> = Vec::new();
    let mut damage = Damage::default();
    let mut splitter = LineSplitter::new(input);
    let mut line = Vec::new();
    while let Some(end) = splitter.next(&mut line)? {
        if claims(&line) {
            continue;
        }
        if memchr(0, &line).is_some() {
            damage.nul_lines += 1;
            // Lines may be missing here, so what follows does not continue what came before.
            for reader in active.drain(..) {
                inactive.push((reader.format, reader.lines));
                finish_reader(&mut found, reader, &damage);
            }
            continue;
        }
        let text = std::str::from_utf8(&line)
            .map_or_else(|_| String::from_utf8_lossy(&line), Cow::Borrowed);
        let text = text::without_escapes(&text);
        let text = text::without_prefixes(&text);
        if !inactive.is_empty() && any_mark.is_match(text) {
            inactive.retain(|(format, lines)| {
                let starts = lines.start_marks.iter().any(|mark| text.contains(mark));
                if starts {
                    if active.is_empty() && found.is_empty() {
                        // A serial line also delivers NUL bytes before a board starts.
                        damage.nul_lines = 0;
                    }
                    let reader = (lines.reader)();
                    active.push(Active {
                        format,
                        lines,
                        reader,
                    });
                }
                !starts
            });
        }
        let is_unterminated =
            end == LineEnd::Input && !text.trim().is_empty() && !text::is_prompt(text);
        if is_unterminated {
            damage.unterminated = text::excerpt(text);
        }
        for Active { reader, .. } in &mut active {
            if !is_unterminated || reader.accepts_unterminated(text) {
                reader.line(text);
                // A line that one reader accepts is not a truncated result of another.
                damage.unterminated.clear();
            }
        }
    }
    for reader in active {
        finish_reader(&mut found, reader, &damage);
    }
    if found.is_empty() {
        return Err(Problem::Unknown(damage));
    }
    let (format, sources) = exactly_one(found, |(format, _)| format)?;
    limited(Imported { format, sources })
}

/// Finishes a reader and adds its sources, with the damage so far.
fn finish_reader(found: &mut Vec<(&'static Format, Vec<Source>)>, active: Active, damage: &Damage) {
    let mut sources = active.reader.finish();
    damage.report_in(&mut sources);
    match found
        .iter_mut()
        .find(|(format, _)| format.name == active.format.name)
    {
        Some((_, known)) => known.extend(sources),
        None if sources.is_empty() => {}
        None => found.push((active.format, sources)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_of_an_emulator_become_instructions() {
        // 323.05 cycles of 40 ns are 100.95 instructions of 128 ns.
        let log = "thread.yield.preemptive.ctx.k_to_k - Yield : 323 cycles , 12922 ns :\n\
                   thread.create.kernel.from.kernel - Create thread : 355 cycles , 14201 ns :\n\
                   PROJECT EXECUTION SUCCESSFUL\n";
        let mut imported = read_unclaimed(&mut log.as_bytes(), None, &mut |_| false).unwrap();
        imported.count_instructions(128.0).unwrap();
        let source = &imported.sources[0];
        assert_eq!(source.clock.unit, Unit::Instructions);
        for (row, nanoseconds) in source.rows.iter().zip([12922.0, 14201.0]) {
            let Figure::Summary(Stat {
                mean: Some(mean), ..
            }) = row.figure
            else {
                panic!("{row:?}");
            };
            assert!((mean - nanoseconds / 128.0).abs() < 1e-6, "{row:?}");
        }
        // Instructions do not convert again.
        assert!(imported.count_instructions(128.0).is_err());
    }

    #[test]
    fn log_that_starts_with_bracket_is_not_json() {
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
    fn unknown_and_invalid_input_are_errors() {
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
            ("hyperfine", "results[0].times[0]: not a number")
        );
    }

    #[test]
    fn byte_order_mark_is_ignored() {
        let text = "\u{feff}{\"results\": [{\"command\": \"a\", \"mean\": 1, \"times\": [1.5]}]}";
        let imported = read(&mut text.as_bytes(), None).unwrap();
        let samples = Histogram::from_iter([(Ticks(1_500_000_000_000), 1)]);
        let row = &imported.sources[0].rows[0];
        assert_eq!((&*row.name, &row.figure), ("a", &Figure::Samples(samples)));
    }

    #[test]
    fn too_many_results_are_rejected() {
        let row = |at: usize| format!("a{at}: 1 microseconds\n");
        let rows: String = (0..=MAX_ROWS).map(row).collect();
        let log = format!("Simple syscall: 1 microseconds\n{rows}");
        let problem = read(&mut log.as_bytes(), None).unwrap_err();
        assert!(matches!(problem, Problem::TooMany(_)), "{problem}");
        assert!(problem.to_string().ends_with("in total; split it"));
    }

    #[test]
    fn picoseconds_reject_negative_and_huge_times() {
        assert_eq!(picoseconds(1.2345), Some(Ticks(1235)));
        for nanoseconds in [-1.0, f64::NAN, f64::INFINITY, 1e17] {
            assert_eq!(picoseconds(nanoseconds), None, "{nanoseconds}");
        }
    }

    #[test]
    fn format_names_are_unique_words() {
        for (at, format) in FORMATS.iter().enumerate() {
            let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(format.name.bytes().all(is_allowed), "{}", format.name);
            assert!(FORMATS[..at].iter().all(|other| other.name != format.name));
            assert!(format.lines.is_some() || format.document.is_some());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&mut bytes.as_slice(), None);
        }
    }
}
