// SPDX-License-Identifier: MIT OR Apache-2.0

//! The grammar of a record stream: a line in, a [`Record`] out ([`parse`]); a record in, lines out
//! ([`write()`], [`write_hist`]). `doc/protocol.md` defines it.

use std::fmt::Write as _;

/// The mark of the version of the grammar that this tool reads and writes.
const MARK: &[u8] = b"@km1 ";
/// The common start of the marks of all versions.
const MARK_STEM: &[u8] = b"@km";
/// The maximum length of a record in bytes, without the line end.
pub const MAX_BYTES: usize = 240;
/// Length of ` *` and the checksum in bytes.
const CHECKSUM_BYTES: usize = 10;
/// The keys that identify the text that a continuation record belongs to.
const TEXT_KEYS: [&str; 4] = ["metric", "case", "name", "id"];

/// A line of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A record with a correct checksum and correct syntax.
    Record(Record<'a>),
    /// A mark that is not followed by a valid record, with the reason.
    Damaged(&'static str),
    /// A record with a correct checksum in this other version of the grammar.
    Version(u32),
    /// A line without a mark: other output of the console.
    Log,
}

/// A record: its number in the session, its kind and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    seq: u64,
    kind: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    counts: Vec<(u64, u64)>,
    text: Option<&'a str>,
    checksum: u32,
}

impl<'a> Record<'a> {
    /// Its number in the session, from 0.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// `hello`, `begin`, `hist` ...
    #[must_use]
    pub fn kind(&self) -> &'a str {
        self.kind
    }

    /// The pairs `key=value` in the order written. Keys are unique.
    #[must_use]
    pub fn pairs(&self) -> &[(&'a str, &'a str)] {
        &self.pairs
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    /// The value of a key as a number. `None` unless it is an unsigned decimal number of at most 64 bits.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        decimal(self.get(key)?.as_bytes())
    }

    /// The pairs `ticks:count` of a `hist` record: ticks ascending, counts not 0.
    #[must_use]
    pub fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    /// The text as written. Join the pieces of a text before you [`decode`] it: an escaped character
    /// can span two pieces.
    #[must_use]
    pub fn raw_text(&self) -> Option<&'a str> {
        self.text
    }

    /// The text of this record alone, decoded.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.text.map(decode)
    }

    /// The key and value that identify the text of this record, also in its continuations.
    #[must_use]
    pub fn text_key(&self) -> Option<(&'a str, &'a str)> {
        self.pairs
            .iter()
            .find(|(k, _)| TEXT_KEYS.contains(k))
            .copied()
    }

    /// Its CRC-32. Equal records have equal checksums.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }
}

/// Parses one line, with or without its line end.
///
/// The mark may be anywhere in the line. If no valid record follows the first mark, later marks are
/// tried, because a truncated record may be followed by a complete one in the same line.
#[must_use]
pub fn parse(line: &[u8]) -> Line<'_> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut damaged = None;
    let mut from = 0;
    while let Some(at) = find_mark(line, from) {
        match parse_at(&line[at..]) {
            Line::Log => {}
            Line::Damaged(reason) => {
                damaged.get_or_insert(reason);
            }
            found => return found,
        }
        from = at + 1;
    }
    damaged.map_or(Line::Log, Line::Damaged)
}

fn find_mark(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += line.get(at..)?.iter().position(|b| *b == b'@')?;
        if line[at..].starts_with(MARK_STEM) {
            return Some(at);
        }
        at += 1;
    }
}

/// Parses a record that starts at the first byte of `bytes`, which is the start of a mark.
fn parse_at(bytes: &[u8]) -> Line<'_> {
    let Some(version) = version(bytes) else {
        return Line::Log;
    };
    let is_this_version = bytes.starts_with(MARK);
    let Some(checksum) = checksum(bytes) else {
        return match (is_this_version, bytes.len() > MAX_BYTES) {
            (false, _) => Line::Log,
            (true, false) => Line::Damaged("no checksum"),
            (true, true) => Line::Damaged("too long"),
        };
    };
    if bytes.len() > MAX_BYTES {
        return Line::Damaged("too long");
    }
    let body = &bytes[..bytes.len() - CHECKSUM_BYTES];
    if crc32fast::hash(body) != checksum {
        return Line::Damaged("wrong checksum");
    }
    if !is_this_version {
        return Line::Version(version);
    }
    match std::str::from_utf8(&body[MARK.len()..]) {
        Ok(body) if body.bytes().all(|b| (b' '..=b'~').contains(&b)) => {
            parse_body(body, checksum).map_or_else(Line::Damaged, Line::Record)
        }
        _ => Line::Damaged("a byte that is not printable ASCII"),
    }
}

/// The version that a mark names: the digits between `@km` and the next space.
fn version(bytes: &[u8]) -> Option<u32> {
    let digits = &bytes[MARK_STEM.len()..];
    let end = digits.iter().take(10).position(|b| *b == b' ')?;
    u32::try_from(decimal(&digits[..end])?).ok()
}

/// The checksum at the end of a record: ` *` and eight lower-case hexadecimal digits.
fn checksum(bytes: &[u8]) -> Option<u32> {
    let tail = bytes.get(bytes.len().checked_sub(CHECKSUM_BYTES)?..)?;
    tail.strip_prefix(b" *")?.iter().try_fold(0, |sum, b| {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            _ => return None,
        };
        Some(sum << 4 | u32::from(digit))
    })
}

/// An unsigned decimal number of at most 64 bits: digits and nothing else.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, b| {
        if !b.is_ascii_digit() {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(b - b'0'))
    })
}

fn is_kind(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// Parses what follows the mark.
fn parse_body(body: &str, checksum: u32) -> Result<Record<'_>, &'static str> {
    let (head, text) = match body.split_once(" | ") {
        Some((head, text)) => (head, Some(text)),
        None => (body, None),
    };
    let mut words = head.split(' ');
    let seq = words
        .next()
        .and_then(|word| decimal(word.as_bytes()))
        .ok_or("no sequence number")?;
    let kind = words.next().filter(|word| is_kind(word)).ok_or("no kind")?;
    let mut record = Record {
        seq,
        kind,
        pairs: Vec::new(),
        counts: Vec::new(),
        text,
        checksum,
    };
    for word in words {
        if let Some((key, value)) = word.split_once('=') {
            if !is_key(key) {
                return Err("a key that is not in lower-case letters");
            }
            if record.get(key).is_some() {
                return Err("a repeated key");
            }
            record.pairs.push((key, value));
        } else if let Some((ticks, count)) = word.split_once(':') {
            record.counts.push(parse_count(ticks, count)?);
        } else {
            return Err("a word that is not a pair");
        }
    }
    if kind != "hist" && !record.counts.is_empty() {
        return Err("counts outside a hist record");
    }
    if record.counts.windows(2).any(|two| two[0].0 >= two[1].0) {
        return Err("values that are not in ascending order");
    }
    if !text.is_none_or(is_escaped) {
        return Err("a % without two hexadecimal digits");
    }
    Ok(record)
}

fn parse_count(ticks: &str, count: &str) -> Result<(u64, u64), &'static str> {
    match (decimal(ticks.as_bytes()), decimal(count.as_bytes())) {
        (Some(_), Some(0)) => Err("a count of 0"),
        (Some(ticks), Some(count)) => Ok((ticks, count)),
        _ => Err("a count that is not a number"),
    }
}

fn is_escaped(raw: &str) -> bool {
    let hex = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
    let bytes = raw.as_bytes();
    (0..bytes.len())
        .filter(|i| bytes[*i] == b'%')
        .all(|i| hex(bytes.get(i + 1)) && hex(bytes.get(i + 2)))
}

/// Decodes the `%XX` escapes of a complete text (all pieces joined). A `%` without two hexadecimal
/// digits is kept. Invalid UTF-8 becomes U+FFFD.
#[must_use]
pub fn decode(raw: &str) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |i: usize| after.get(i).and_then(|b| char::from(*b).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push((high << 4 | low) as u8);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Formats a record as one line with its checksum, without a line end. A text that does not fit
/// continues in further records of the same kind, which have only the key `metric`, `case`, `name`
/// or `id`.
/// The lines are numbered from `seq`.
///
/// # Panics
///
/// If `kind` or a key has characters that the grammar forbids, a key is repeated, a value has a space
/// or a byte that is not printable ASCII, or the pairs leave no room for a text. These are constants
/// of the caller; variable data belongs in the text.
#[must_use]
pub fn write(seq: u64, kind: &str, pairs: &[(&str, &str)], text: Option<&str>) -> Vec<String> {
    assert!(is_kind(kind), "'{kind}' is not a kind of record");
    for (i, (key, value)) in pairs.iter().enumerate() {
        assert!(is_key(key), "'{key}' is not a key");
        assert!(
            pairs[..i].iter().all(|(other, _)| other != key),
            "'{key}' is repeated"
        );
        assert!(
            value.bytes().all(|b| b.is_ascii_graphic()),
            "'{value}' is not a value of '{key}'"
        );
    }
    let mut lines = Vec::new();
    let mut body = head(seq, kind, pairs);
    let Some(text) = text else {
        return vec![seal(body)];
    };
    let key: Vec<_> = pairs
        .iter()
        .filter(|(key, _)| TEXT_KEYS.contains(key))
        .take(1)
        .copied()
        .collect();
    body.push_str(" | ");
    let mut room = MAX_BYTES.saturating_sub(CHECKSUM_BYTES + body.len());
    for byte in text.bytes() {
        let escaped = byte == b'%' || !(b' '..=b'~').contains(&byte);
        let needed = if escaped { 3 } else { 1 };
        if needed > room {
            lines.push(seal(body));
            body = head(seq + lines.len() as u64, kind, &key);
            body.push_str(" | ");
            room = MAX_BYTES.saturating_sub(CHECKSUM_BYTES + body.len());
            assert!(room >= needed && !key.is_empty(), "no room for a text");
        }
        room -= needed;
        if escaped {
            write!(body, "%{byte:02x}").expect("writing to a String cannot fail");
        } else {
            body.push(char::from(byte));
        }
    }
    lines.push(seal(body));
    lines
}

/// Formats the `hist` records of one part of a metric: as many lines as needed, numbered from `seq`.
/// `counts` must be in ascending order of ticks.
///
/// # Panics
///
/// As [`write()`].
#[must_use]
pub fn write_hist(seq: u64, metric: &str, part: u64, counts: &[(u64, u64)]) -> Vec<String> {
    let part = part.to_string();
    let start = |n: usize| {
        head(
            seq + n as u64,
            "hist",
            &[("metric", metric), ("part", &part)],
        )
    };
    let mut lines = Vec::new();
    let mut body = start(0);
    for (ticks, count) in counts {
        let word = format!(" {ticks}:{count}");
        if body.len() + word.len() + CHECKSUM_BYTES > MAX_BYTES {
            lines.push(seal(body));
            body = start(lines.len());
        }
        body.push_str(&word);
    }
    lines.push(seal(body));
    lines
}

/// How many bytes further pairs may take in a record that has these, spaces included.
pub(super) fn room(seq: u64, kind: &str, pairs: &[(&str, &str)]) -> usize {
    MAX_BYTES.saturating_sub(CHECKSUM_BYTES + head(seq, kind, pairs).len())
}

/// The start of a record: mark, number, kind and pairs.
fn head(seq: u64, kind: &str, pairs: &[(&str, &str)]) -> String {
    let mut body = format!("@km1 {seq} {kind}");
    for (key, value) in pairs {
        write!(body, " {key}={value}").expect("writing to a String cannot fail");
    }
    body
}

/// Appends the checksum.
fn seal(mut body: String) -> String {
    let checksum = crc32fast::hash(body.as_bytes());
    write!(body, " *{checksum:08x}").expect("writing to a String cannot fail");
    assert!(
        body.len() <= MAX_BYTES,
        "longer than a record may be: {body}"
    );
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(body: &str) -> Vec<u8> {
        format!("{body} *{:08x}", crc32fast::hash(body.as_bytes())).into_bytes()
    }

    fn read(line: &[u8]) -> Record<'_> {
        match parse(line) {
            Line::Record(record) => record,
            other => panic!("{other:?}: {}", String::from_utf8_lossy(line)),
        }
    }

    #[test]
    fn protocol_examples_are_valid() {
        let begin = b"@km1 39 begin case=semaphore.take.blocking.u_to_u asked=500 *56ea3c51\r\n";
        let begin = read(begin);
        assert_eq!((begin.seq(), begin.kind()), (39, "begin"));
        assert_eq!(begin.get("case"), Some("semaphore.take.blocking.u_to_u"));
        assert_eq!(begin.number("asked"), Some(500));
        let hist = b"[   12.5] @km1 40 hist metric=semaphore.take.blocking.u_to_u part=0 190:498 192:1 211:1 *7779f8d7";
        assert_eq!(read(hist).counts(), [(190, 498), (192, 1), (211, 1)]);
    }

    #[test]
    fn other_lines_are_damaged_log_or_another_version() {
        let long = format!("@km1 1 info name=x | {}", "y".repeat(MAX_BYTES));
        for (line, damage) in [
            (&b"@km1 1 begin"[..], "no checksum"),
            (b"@km1 1 begin *00000000", "wrong checksum"),
            (&sealed(&long), "too long"),
            (&sealed("@km1 x begin"), "no sequence number"),
            (&sealed("@km1 1"), "no kind"),
            (&sealed("@km1 1 Begin"), "no kind"),
            (&sealed("@km1 1 begin case=a case=b"), "a repeated key"),
            (
                &sealed("@km1 1 begin A=b"),
                "a key that is not in lower-case letters",
            ),
            (&sealed("@km1 1 begin  a=b"), "a word that is not a pair"),
            (&sealed("@km1 1 begin 1:1"), "counts outside a hist record"),
            (&sealed("@km1 1 hist 1:0"), "a count of 0"),
            (
                &sealed("@km1 1 hist 1:1 1:2"),
                "values that are not in ascending order",
            ),
            (
                &sealed("@km1 1 hist 1:18446744073709551616"),
                "a count that is not a number",
            ),
            (
                &sealed("@km1 1 info | %4"),
                "a % without two hexadecimal digits",
            ),
            (
                &sealed("@km1 1 info | \u{e4}"),
                "a byte that is not printable ASCII",
            ),
        ] {
            assert_eq!(
                parse(line),
                Line::Damaged(damage),
                "{}",
                String::from_utf8_lossy(line)
            );
        }
        for line in [
            "",
            "hello",
            "@km",
            "@km1",
            "user@km2 logs in",
            "@kmx 1 begin",
        ] {
            assert_eq!(parse(line.as_bytes()), Line::Log, "{line}");
        }
        assert_eq!(parse(&sealed("@km2 0 hello")), Line::Version(2));
        assert_eq!(
            parse(b"@km2 0 hello *00000000"),
            Line::Damaged("wrong checksum")
        );
    }

    #[test]
    fn complete_record_after_truncated_one_is_read() {
        let mut line = b"@km1 3 begin ca".to_vec();
        line.extend(sealed("@km1 9 bye records=9"));
        assert_eq!(read(&line).kind(), "bye");
    }

    #[test]
    fn record_has_at_most_240_bytes() {
        let full = "x".repeat(MAX_BYTES - CHECKSUM_BYTES - "@km1 0 info name=a | ".len());
        let lines = write(0, "info", &[("name", "a")], Some(&full));
        assert_eq!((lines.len(), lines[0].len()), (1, MAX_BYTES));
        assert_eq!(read(lines[0].as_bytes()).text(), Some(full.clone()));
        let lines = write(0, "info", &[("name", "a")], Some(&(full + "x")));
        assert_eq!(lines.len(), 2);
        assert_eq!(read(lines[1].as_bytes()).raw_text(), Some("x"));
    }

    proptest! {
        #[test]
        fn written_records_are_read_back(
            seq in 0..u64::MAX - 1000,
            value in "[!-~]{0,40}",
            text in prop::option::of(any::<String>()),
        ) {
            let lines = write(seq, "bench", &[("metric", "a.b"), ("needs", &value)], text.as_deref());
            let records: Vec<_> = lines.iter().map(|l| read(l.as_bytes())).collect();
            prop_assert_eq!(records[0].get("needs"), Some(value.as_str()));
            for (i, record) in records.iter().enumerate() {
                prop_assert_eq!(record.seq(), seq + i as u64);
                prop_assert_eq!(record.text_key(), Some(("metric", "a.b")));
            }
            let joined: Option<String> = records.iter().map(Record::raw_text).collect();
            prop_assert_eq!(joined.as_deref().map(decode), text);
        }

        #[test]
        fn written_counts_are_read_back(map in prop::collection::btree_map(any::<u64>(), 1u64.., 1..60)) {
            let counts: Vec<_> = map.into_iter().collect();
            let lines = write_hist(7, "a.b", 3, &counts);
            let read: Vec<_> = lines.iter().flat_map(|l| read(l.as_bytes()).counts().to_vec()).collect();
            prop_assert_eq!(read, counts);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn up_to_three_flipped_bits_are_detected(
            text in "[ -$&-~]{0,150}",
            flips in prop::collection::btree_set((0usize..150, 0u8..8), 1..=3),
        ) {
            let line = write(1, "info", &[("name", "kernel")], Some(&text)).remove(0);
            let mut bytes = line.clone().into_bytes();
            for (at, bit) in flips {
                let at = at % bytes.len();
                bytes[at] ^= 1 << bit;
            }
            prop_assume!(bytes != line.as_bytes());
            prop_assert!(!matches!(parse(&bytes), Line::Record(_)));
        }
    }
}
