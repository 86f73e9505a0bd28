// SPDX-License-Identifier: MIT OR Apache-2.0

//! Common code for formats of text lines.
//!
//! In: a log. Out: its lines, without escape sequences and console prefixes, and their numbers.

use std::borrow::Cow;
use std::io::{self, BufRead};

use memchr::{memchr2, memmem};

use super::{Figure, Source};
use crate::stream::run::Stat;

/// Bytes of a line that are read; longer lines are truncated. sel4bench has the longest result lines,
/// because it prints all results in one line.
const MAX_LINE_BYTES: usize = 16 << 20;

/// What ended a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// LF, CR LF, CR CR LF (of a terminal), or CR.
    Terminated,
    /// The end of the input, so the line may be incomplete.
    Input,
}

/// Splits an input into lines with any of these line ends.
pub(super) struct LineSplitter<'a> {
    input: &'a mut dyn BufRead,
    pending: Pending,
}

/// The start of a line end that may continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// CR, which ended the last line.
    Cr,
    /// CR CR: if LF follows, it still belongs to the end of the last line, otherwise an empty line
    /// follows.
    CrCr,
}

impl<'a> LineSplitter<'a> {
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        let pending = Pending::Nothing;
        LineSplitter { input, pending }
    }

    /// Reads the next line without its end, at most [`MAX_LINE_BYTES`] of it; `None` at the end of the
    /// input.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<LineEnd>> {
        line.clear();
        let mut has_begun = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
            match (pending, bytes.first()) {
                (Pending::CrCr, None) => return Ok(Some(LineEnd::Terminated)),
                (_, None) => return Ok(has_begun.then_some(LineEnd::Input)),
                (Pending::Cr | Pending::CrCr, Some(b'\n')) => {
                    self.input.consume(1);
                    continue;
                }
                (Pending::Cr, Some(b'\r')) => {
                    self.pending = Pending::CrCr;
                    self.input.consume(1);
                    continue;
                }
                (Pending::CrCr, Some(_)) => {
                    self.pending = Pending::Cr;
                    return Ok(Some(LineEnd::Terminated));
                }
                (Pending::Nothing | Pending::Cr, Some(_)) => {}
            }
            has_begun = true;
            let end = memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            let room = MAX_LINE_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            let used = piece.len() + usize::from(end.is_some());
            if end.is_some_and(|end| bytes[end] == b'\r') {
                self.pending = Pending::Cr;
            }
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(LineEnd::Terminated));
            }
        }
    }
}

/// A line as a terminal displays it: without escape sequences and control strings (ECMA-48), and
/// without characters that a backspace deletes.
pub(super) fn without_escapes(line: &str) -> Cow<'_, str> {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f;
    // In UTF-8, 0xc2 starts the 8-bit control characters.
    if !line.bytes().any(|byte| is_control(byte) || byte == 0xc2) {
        return Cow::Borrowed(line);
    }
    let mut clean = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest),
            '\u{9b}' => control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => control_string(&mut rest),
            '\u{8}' => {
                clean.pop();
            }
            '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Skips what follows ESC.
fn escape(rest: &mut std::str::Chars) {
    let before = rest.clone();
    match rest.next() {
        Some('[') => control_sequence(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => control_string(rest),
        // `ESC ( B` and similar sequences choose a character set.
        Some(' '..='/') => {
            let mut end = rest.skip_while(|c| (' '..='/').contains(c));
            let _ = end.next();
        }
        Some('0'..='~') | None => {}
        Some(_) => *rest = before,
    }
}

/// Skips the rest of `ESC [ ... letter`.
fn control_sequence(rest: &mut std::str::Chars) {
    let _ = rest.find(|c| ('@'..='~').contains(c));
}

/// Skips the rest of `ESC ] ... BEL` or `ESC ] ... ESC \`.
fn control_string(rest: &mut std::str::Chars) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if rest.as_str().starts_with('\\') => {
                let _ = rest.next();
                return;
            }
            _ => {}
        }
    }
}

/// A line without the prefixes of consoles, loggers and mail, in any order: times as `minicom`,
/// `dmesg`, journald, syslog, `ts`, `tio`, Zephyr's log, GitHub and GitLab write them, log levels,
/// `-> `, twister's `DEVICE: ` and the `>` of quotes. A prefix that no text follows is kept.
pub(super) fn without_prefixes(line: &str) -> &str {
    let mut rest = line;
    let mut after_time = false;
    loop {
        let text = rest.trim_start();
        if let Some(after) = skip_time(text) {
            after_time = true;
            rest = after;
        } else if let Some(after) = skip_label(text, after_time) {
            rest = after;
        } else {
            return rest;
        }
    }
}

/// The text after a time; `None` if it does not start with one.
fn skip_time(text: &str) -> Option<&str> {
    let first = *text.as_bytes().first()?;
    if first == b'[' {
        let (inside, after) = bracket(text)?;
        return if is_time(inside) { Some(after) } else { None };
    }
    if first.is_ascii_digit() {
        let (word, after) = first_word(text)?;
        if matches_digits(word, "0000-00-00T00:00:00") {
            // GitLab adds the name of the stream.
            return Some(match first_word(after) {
                Some((word, after)) if is_stream(word) => after,
                _ => after,
            });
        }
        if matches_digits(word, "00:00:00") || matches_digits(word, "0000000000.000") {
            return Some(after);
        }
        let is_date = matches_digits(word, "0000-00-00") || matches_digits(word, "0000/00/00");
        let (time, after) = first_word(after).filter(|_| is_date)?;
        return matches_digits(time, "00:00:00").then_some(after);
    }
    if first.is_ascii_uppercase() {
        // `Thu Jan  1 12:00:00 2026`; weekday and year are optional.
        let (mut word, mut after) = first_word(text)?;
        if WEEKDAYS.contains(&word) {
            (word, after) = first_word(after.trim_start())?;
        }
        let (day, after) = first_word(after.trim_start()).filter(|_| MONTHS.contains(&word))?;
        let (time, after) = first_word(after.trim_start())?;
        let is_day = day.len() <= 2 && day.bytes().all(|byte| byte.is_ascii_digit());
        return (is_day && matches_digits(time, "00:00:00")).then_some(after);
    }
    None
}

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// The facilities of `dmesg -x`.
const FACILITIES: [&str; 6] = ["kern ", "user ", "daemon", "syslog", "auth ", "local"];

/// The text after any other prefix. Some prefixes are recognised only after a time.
fn skip_label(text: &str, after_time: bool) -> Option<&str> {
    match *text.as_bytes().first()? {
        b'>' => Some(text[1..].strip_prefix(' ').unwrap_or(&text[1..])),
        b'-' => text.strip_prefix("-> ").or_else(|| skip_device(text)),
        b'<' => skip_level(text),
        b'[' if after_time => {
            let (inside, after) = bracket(text)?;
            let is_word = !inside.trim().contains(char::is_whitespace);
            is_word.then_some(after)
        }
        b'D' | b'E' | b'I' | b'W' if text[1..].starts_with(": ") => Some(&text[3..]),
        first if first.is_ascii_alphabetic() => skip_facility(text)
            .or_else(|| skip_device(text))
            .or_else(|| skip_unit(text).filter(|_| after_time)),
        _ => None,
    }
}

/// The first word and the text after the blank that ends it.
fn first_word(text: &str) -> Option<(&str, &str)> {
    text.split_once([' ', '\t'])
}

/// The text in brackets and the text after them, if a blank or another prefix follows.
fn bracket(text: &str) -> Option<(&str, &str)> {
    const LONGEST: usize = 64;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b']')?;
    let after = &text[end + 1..];
    let after = match after.as_bytes().first()? {
        b' ' | b'\t' => &after[1..],
        b'[' | b'<' => after,
        _ => return None,
    };
    Some((&text[1..end], after))
}

/// Whether the text in brackets is a time: `12.345678`, `2026-01-01 12:00:00`,
/// `00:00:00.010,000`, `Thu Jan  1 12:00:00 2026`.
fn is_time(inside: &str) -> bool {
    let is_part = |word: &str| {
        let is_numeric = word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".:,+-/TZ".contains(&byte));
        is_numeric || WEEKDAYS.contains(&word) || MONTHS.contains(&word)
    };
    let has_clock = |word: &str| {
        let after_digit = |pair: &[u8]| pair[0].is_ascii_digit() && b".:".contains(&pair[1]);
        word.as_bytes().windows(2).any(after_digit)
    };
    inside.split_ascii_whitespace().all(is_part) && inside.split_ascii_whitespace().any(has_clock)
}

/// Whether a word starts with a pattern in which `0` is any digit. A fraction, a time zone or a colon
/// may follow.
fn matches_digits(word: &str, form: &str) -> bool {
    let is_like = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let tail = word.as_bytes().get(form.len()..);
    tail.is_some_and(|tail| {
        tail.iter()
            .all(|byte| byte.is_ascii_digit() || b".,:+-Z".contains(byte))
    }) && word.bytes().zip(form.bytes()).all(is_like)
}

/// `01O` or `00E+`.
fn is_stream(word: &str) -> bool {
    matches!(word.strip_suffix('+').unwrap_or(word).as_bytes(),
        [a, b, b'O' | b'E'] if a.is_ascii_digit() && b.is_ascii_digit())
}

/// The text after `<6>`, or after Zephyr's `<inf> module: `.
fn skip_level(text: &str) -> Option<&str> {
    let (level, after) = text[1..].split_once('>')?;
    if !level.is_empty() && level.len() <= 3 && level.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(after.strip_prefix(' ').unwrap_or(after));
    }
    if !["inf", "wrn", "err", "dbg"].contains(&level) {
        return None;
    }
    let after = after.strip_prefix(' ').unwrap_or(after);
    match first_word(after) {
        Some((module, message)) if module.ends_with(':') => Some(message),
        _ => Some(after),
    }
}

/// The text after `kern  :info  : ` of `dmesg -x`.
fn skip_facility(text: &str) -> Option<&str> {
    let mut facilities = FACILITIES.iter();
    facilities.find(|name| text.starts_with(**name))?;
    let (facility, after) = text.split_once(':')?;
    let (level, after) = after.split_once(": ")?;
    let is_word = |text: &str| text.trim_end().bytes().all(|b| b.is_ascii_alphanumeric());
    (is_word(facility) && is_word(level)).then_some(after)
}

/// The text after `twister - DEBUG - DEVICE: `.
fn skip_device(text: &str) -> Option<&str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphabetic() || b" -".contains(byte);
    let end = text.bytes().position(|byte| !is_plain(&byte))?;
    let (before, after) = text.split_at(end);
    before.ends_with("- DEVICE").then_some(())?;
    after.strip_prefix(": ")
}

/// The text after `host unit[123]: ` or `host kernel: `, which journald and syslog print after the time.
fn skip_unit(text: &str) -> Option<&str> {
    let (_, after) = first_word(text)?;
    let (unit, after) = first_word(after)?;
    let unit = unit.strip_suffix(':')?;
    let has_process = unit
        .strip_suffix(']')
        .and_then(|unit| unit.rsplit_once('['))
        .is_some_and(|(_, id)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
    (has_process || unit == "kernel").then_some(after)
}

/// Whether the last line of a log is a shell prompt.
pub(super) fn is_prompt(line: &str) -> bool {
    line.ends_with(' ') && line.trim_end().ends_with(['$', '#', '>', '%'])
}

/// Counts lines that look like results but cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    lines: u64,
    first: String,
}

impl Unread {
    pub fn add(&mut self, line: &str) {
        if self.lines == 0 {
            self.first = excerpt(line);
        }
        self.lines += 1;
    }

    /// Marks the last source as incomplete if there are such lines.
    pub fn report_in(&self, sources: &mut [Source]) {
        let first = &self.first;
        match self.lines {
            0 => {}
            1 => mark_incomplete(
                sources,
                &format!("1 line looks like a result but cannot be read: `{first}`"),
            ),
            lines => mark_incomplete(
                sources,
                &format!(
                    "{lines} lines look like results but cannot be read; the first is `{first}`"
                ),
            ),
        }
    }
}

/// Marks the last source as incomplete, for this reason.
pub(super) fn mark_incomplete(sources: &mut [Source], why: &str) {
    if let Some(source) = sources.last_mut() {
        source.incomplete = Some(match source.incomplete.take() {
            Some(known) => format!("{known}; {why}"),
            None => why.to_owned(),
        });
    }
}

/// The start of a line, short enough for a message.
pub(super) fn excerpt(line: &str) -> String {
    const LONGEST: usize = 80;
    let line = line.trim();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Whether a line contains a number that is followed by this unit.
pub(super) fn has_number_before(line: &str, unit: &str) -> bool {
    if memmem::find(line.as_bytes(), unit.as_bytes()).is_none() {
        return false;
    }
    let words = line.split_ascii_whitespace();
    let next = words.clone().skip(1);
    let mut pairs = words.zip(next);
    pairs.any(|(value, word)| word == unit && number(value).is_ok())
}

/// Parses a finite number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is not a number")),
    }
}

/// Rejects a point in the text of an integer, because it may separate thousands.
pub(super) fn without_point(text: &str) -> Result<&str, String> {
    if text.contains('.') {
        let text = text.trim();
        return Err(format!(
            "`{text}` is ambiguous: the point may separate thousands"
        ));
    }
    Ok(text)
}

/// The figure of a line: a summary, or the reason why it failed. It fails without samples and if a
/// number of the line cannot be parsed.
pub(super) fn figure(line: &str, stat: Result<Stat, String>) -> Figure {
    match stat {
        Ok(stat) if stat.samples == 0 => Figure::Failed("no samples".to_owned()),
        Ok(stat) => Figure::Summary(stat),
        Err(why) => Figure::Failed(format!("in `{}`: {why}", line.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines_of(mut input: &[u8]) -> Vec<(Vec<u8>, LineEnd)> {
        let (mut lines, mut line) = (Vec::new(), Vec::new());
        let mut splitter = LineSplitter::new(&mut input);
        while let Some(end) = splitter.next(&mut line).unwrap() {
            lines.push((line.clone(), end));
        }
        lines
    }

    #[test]
    fn all_line_ends_are_recognised() {
        let whole = |text: &str| (text.as_bytes().to_vec(), LineEnd::Terminated);
        let rest = (b"b".to_vec(), LineEnd::Input);
        for text in ["a\n\nb", "a\r\n\r\nb", "a\r\rb", "a\r\r\n\r\r\nb"] {
            assert_eq!(
                lines_of(text.as_bytes()),
                [whole("a"), whole(""), rest.clone()]
            );
        }
        assert_eq!(lines_of(b"a\r\rb\r"), [whole("a"), whole(""), whole("b")]);
        assert_eq!(lines_of(b"\r\r"), [whole(""), whole("")]);
        assert_eq!(lines_of(b"\n"), [whole("")]);
        assert_eq!(lines_of(b"a\r\n"), [whole("a")]);
        assert_eq!(lines_of(b""), []);
        let long = vec![b'x'; 3 * MAX_LINE_BYTES];
        assert_eq!(
            lines_of(&long),
            [(vec![b'x'; MAX_LINE_BYTES], LineEnd::Input)]
        );
    }

    #[test]
    fn escape_sequences_are_removed() {
        for (line, clean) in [
            ("\u{1b}[1;32mok\u{1b}[0m 1", "ok 1"),
            ("a\u{1b}]0;a title 12\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\b\u{1b}]8;;\u{1b}\\", "ab"),
            ("a\u{9b}31mb\u{9d}0;t\u{9c}c", "abc"),
            ("a\u{1b}(B\u{1b}[mb\u{f}", "ab"),
            ("a\u{1b}7b\u{1b}", "ab"),
            ("a\u{1b}é", "aé"),
            ("13\u{8}2", "12"),
            ("a\u{1b}Pq12", "a"),
        ] {
            assert_eq!(without_escapes(line), clean, "{line:?}");
        }
        assert!(matches!(
            without_escapes("plain\tµ"),
            Cow::Borrowed("plain\tµ") | Cow::Owned(_)
        ));
        assert!(matches!(
            without_escapes("plain\t"),
            Cow::Borrowed("plain\t")
        ));
    }

    /// Prefixes of consoles, loggers and mail.
    const PREFIXES: [&str; 26] = [
        "",
        "[2026-01-01 12:34:56] ",
        "[2026-01-01 12:34:56.789] ",
        "[   12.345678] ",
        "<6>[   12.345678] ",
        "[   12.345678][    T1] ",
        "[Thu Jan  1 12:34:56 2026] ",
        "kern  :info  : [   12.345678] ",
        "2026-01-01T12:34:56,123456+00:00 ",
        "2026-01-01T12:34:56.1234567Z ",
        "2026-01-01T12:34:56.123456Z 01O ",
        "2026-01-01T12:34:56+0000 host bench[12]: ",
        "Jan 01 12:34:56 host bench[12]: ",
        "Jan  1 12:34:56.123456 host kernel: [   12.345678] ",
        "[   12.345678] host kernel: ",
        "Jan 01 12:34:56 ",
        "1767225600.123456 ",
        "12:34:56.789 ",
        "[12:34:56.789] ",
        "[00:00:01.234,000] <inf> app: ",
        "D: ",
        "twister - DEBUG - DEVICE: ",
        "2026-01-01 12:34:56,789 - twister - DEBUG - DEVICE: ",
        "-> ",
        "> ",
        "    > > [   12.345678] ",
    ];

    #[test]
    fn prefixes_are_removed() {
        for prefix in PREFIXES {
            for line in [
                "thread.yield - x : 420 cycles , 3500 ns",
                "Simple syscall: 0.13 microseconds",
                "000012 000004",
                "  0 #599979    |   0",
                "  0 00:10:01   |",
                "2 3.40",
                "4294.967296 41378",
                "[Run 3]: Wokeup 2 of 2 threads in 0.1160 ms",
                "[lmbench3.0 results for Linux x 6.1 #1]",
                "[Thu Jan  1 12:34:56 UTC 2026]",
                "BenchmarkX-8 100 12 ns/op",
                "# Running 'sched/pipe' benchmark:",
                "T: 0 ( 1234) P:80",
                "S,suite,x,1",
                "",
            ] {
                let all = format!("{prefix}{line}");
                assert_eq!(without_prefixes(&all), line, "{all}");
            }
        }
        // A prefix alone is kept.
        for line in ["[12.5]", "12:34:56", "[Thu Jan  1 12:34:56 2026]", "Jan"] {
            assert_eq!(without_prefixes(line), line);
        }
    }

    #[test]
    fn numbers_are_finite() {
        assert_eq!(number(" 1.5 "), Ok(1.5));
        assert_eq!(number("-2"), Ok(-2.0));
        for text in ["", "n/a", "nan", "inf", "1e999", "1,5", "0x10"] {
            assert_eq!(number(text), Err(format!("`{text}` is not a number")));
        }
    }

    proptest! {
        #[test]
        fn any_line_is_cleaned_without_panic(line in "[ -~\\x00-\\x1f\u{80}-\u{9f}é]{0,60}") {
            let clean = without_escapes(&line);
            prop_assert!(!clean.contains(|c: char| c.is_control() && c != '\t'));
            prop_assert!(clean.ends_with(without_prefixes(&clean)));
        }
    }
}
