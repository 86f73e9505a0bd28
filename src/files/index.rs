// SPDX-License-Identifier: MIT OR Apache-2.0

//! The index of a folder of runs: the digests of many runs in one file, so that the figures of one
//! metric in all runs lie together.
//!
//! The file starts with a line that names its version. Chunks follow. A chunk holds the digests of
//! some runs: their heads, then a table of numbers for each quantity, by metric and run. All integers
//! and numbers are little-endian. Each part has a checksum, so that a reader checks what it reads and
//! nothing else. A reader ignores everything from the first damaged chunk on; whoever reads the
//! index makes what it lacks again from the digests.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::digest::{Digest, Head, LONGEST_TEXT};
use crate::stream::run::{Fact, Unit};

/// The first line of an index. The number is the version of the format.
pub const FIRST_LINE: &[u8] = b"kernmark index 1\n";

/// The numbers of a metric in a run: the five figures of a digest, then its spread.
const COLUMNS: usize = 6;
/// The column with the spread.
pub const SPREAD: usize = 5;

/// The size of what stands before the heads of a chunk: their length, the number of runs and of
/// metrics, the checksum of the heads, and a checksum of these four.
const PREFIX: usize = 20;

/// What an index is read from.
#[derive(Debug)]
pub enum Source {
    /// A file.
    File(File),
    /// The same bytes in memory.
    Memory(Vec<u8>),
}

impl Source {
    fn length(&self) -> u64 {
        match self {
            Source::File(file) => file.metadata().map_or(0, |data| data.len()),
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// `None` if there are not as many bytes. The length must be known to be no longer than the
    /// source.
    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        match self {
            Source::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, at).ok()?;
                Some(bytes)
            }
            Source::Memory(bytes) => {
                let at = usize::try_from(at).ok()?;
                Some(bytes.get(at..at.checked_add(length)?)?.to_vec())
            }
        }
    }
}

/// A run in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The name of its file, with the suffix.
    pub file: String,
    /// What is known of it.
    pub head: Head,
}

/// Some runs of an index.
#[derive(Debug)]
pub struct Chunk {
    /// The runs.
    pub rows: Vec<Row>,
    /// The metrics that at least one of them has.
    pub metrics: Vec<(String, Unit)>,
    /// Where the numbers begin.
    numbers: u64,
}

/// An index that was read as far as it is whole.
#[derive(Debug)]
pub struct Index {
    source: Source,
    /// Its chunks.
    pub chunks: Vec<Chunk>,
    /// The length of what is whole, in bytes; 0 if it is no index of this version.
    pub whole: u64,
    /// The length of all of it.
    pub length: u64,
}

impl Index {
    /// Reads what an index holds besides the numbers.
    #[must_use]
    pub fn read(source: Source) -> Self {
        let mut index = Index {
            length: source.length(),
            source,
            chunks: Vec::new(),
            whole: 0,
        };
        let start = FIRST_LINE.len();
        if index.length >= start as u64
            && index.source.read(0, start).as_deref() == Some(FIRST_LINE)
        {
            index.whole = start as u64;
            while let Some((chunk, end)) = index.chunk(index.whole) {
                index.chunks.push(chunk);
                index.whole = end;
            }
        }
        index
    }

    /// The chunk that starts here, and where it ends; `None` if there is none that is whole.
    fn chunk(&self, start: u64) -> Option<(Chunk, u64)> {
        let remaining = self.length - start;
        if remaining < PREFIX as u64 {
            return None;
        }
        let prefix = self.source.read(start, PREFIX)?;
        let (numbers, sum) = prefix.split_at(PREFIX - 4);
        if crc32fast::hash(numbers).to_le_bytes() != sum {
            return None;
        }
        let mut reader = Bytes(numbers);
        let [length, runs, metrics, sum] = [(); 4].map(|()| reader.number());
        let [length, runs, metrics, sum] = [length?, runs?, metrics?, sum?];
        let table = size_of_table(runs.into(), metrics.into())?;
        let table = table.checked_mul(COLUMNS as u64)?;
        let size = (PREFIX as u64 + u64::from(length)).checked_add(table)?;
        if size > remaining {
            return None;
        }
        let heads = self.source.read(start + PREFIX as u64, length as usize)?;
        if crc32fast::hash(&heads) != sum {
            return None;
        }
        let (rows, metrics) = read_heads(&heads, runs, metrics)?;
        let chunk = Chunk {
            rows,
            metrics,
            numbers: start + PREFIX as u64 + u64::from(length),
        };
        Some((chunk, start + size))
    }

    /// The numbers of one metric in the runs of a chunk: a figure, in the order of
    /// [`MetricDigest::figures`](super::digest::MetricDigest::figures), or [`SPREAD`]. NaN where a
    /// run has none. `None` if they are damaged.
    #[must_use]
    pub fn numbers(&self, chunk: &Chunk, metric: usize, column: usize) -> Option<Vec<f64>> {
        let runs = chunk.rows.len();
        let table = size_of_table(runs as u64, chunk.metrics.len() as u64)?;
        let size = 8 * runs + 4;
        let at = chunk.numbers + table * column as u64 + (size * metric) as u64;
        let bytes = self.source.read(at, size)?;
        let (numbers, sum) = bytes.split_at(8 * runs);
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        (crc32fast::hash(numbers).to_le_bytes() == sum)
            .then(|| numbers.chunks_exact(8).map(number).collect())
    }
}

/// The size of the numbers of one column, in bytes. `None` if it is absurd.
fn size_of_table(runs: u64, metrics: u64) -> Option<u64> {
    runs.checked_mul(8)?.checked_add(4)?.checked_mul(metrics)
}

/// The bytes of a chunk with these digests, each with the name of its run's file.
#[must_use]
pub fn chunk(digests: &[(&str, &Digest)]) -> Vec<u8> {
    let mut places: HashMap<(&str, Unit), usize> = HashMap::new();
    let mut metrics: Vec<(&str, Unit)> = Vec::new();
    for metric in digests.iter().flat_map(|(_, digest)| &digest.metrics) {
        let key = (metric.id.as_str(), metric.unit);
        places.entry(key).or_insert_with(|| {
            metrics.push(key);
            metrics.len() - 1
        });
    }
    let mut tables = vec![f64::NAN; COLUMNS * metrics.len() * digests.len()];
    for (run, (_, digest)) in digests.iter().enumerate() {
        for metric in &digest.metrics {
            let place = places[&(metric.id.as_str(), metric.unit)];
            for (column, value) in metric.figures.iter().chain([&metric.spread]).enumerate() {
                let at = (column * metrics.len() + place) * digests.len() + run;
                tables[at] = value.unwrap_or(f64::NAN);
            }
        }
    }
    let heads = write_heads(digests, &metrics);
    let [length, runs] = [heads.len(), digests.len()].map(|count| count as u32);
    let mut bytes = Vec::with_capacity(PREFIX + heads.len() + 8 * tables.len());
    for number in [length, runs, metrics.len() as u32, crc32fast::hash(&heads)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(heads);
    for row in tables.chunks_exact(digests.len().max(1)) {
        let start = bytes.len();
        for number in row {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(crc32fast::hash(&bytes[start..]).to_le_bytes());
    }
    bytes
}

/// Texts, each of which is written once and then named by its number.
#[derive(Default)]
struct Texts<'a> {
    numbers: HashMap<&'a str, u32>,
    bytes: Vec<u8>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(text).or_insert_with(|| {
            self.bytes.extend((text.len() as u32).to_le_bytes());
            self.bytes.extend(text.as_bytes());
            next
        })
    }
}

fn write_heads(digests: &[(&str, &Digest)], metrics: &[(&str, Unit)]) -> Vec<u8> {
    let mut texts = Texts::default();
    let mut bytes = Vec::new();
    for (file, Digest { head, .. }) in digests {
        for text in [*file, &head.name, &head.hash] {
            bytes.extend(texts.number(text).to_le_bytes());
        }
        bytes.extend(head.size.to_le_bytes());
        bytes.extend(head.started.to_le_bytes());
        let counts = [head.sessions, head.metrics, u32::from(head.is_complete)];
        for count in counts.into_iter().chain([head.facts.len() as u32]) {
            bytes.extend(count.to_le_bytes());
        }
        for text in head.facts.iter().flat_map(|fact| [&fact.name, &fact.value]) {
            bytes.extend(texts.number(text).to_le_bytes());
        }
    }
    for (id, unit) in metrics {
        bytes.extend(texts.number(id).to_le_bytes());
        bytes.push(*unit as u8);
    }
    let count = texts.numbers.len() as u32;
    [&count.to_le_bytes()[..], &texts.bytes, &bytes].concat()
}

/// The runs and the metrics of a chunk.
type Heads = (Vec<Row>, Vec<(String, Unit)>);

/// `None` if the heads make no sense.
fn read_heads(bytes: &[u8], runs: u32, metrics: u32) -> Option<Heads> {
    let mut bytes = Bytes(bytes);
    // The vectors grow as items are read, so a wrong count allocates nothing.
    let mut texts = Vec::new();
    for _ in 0..bytes.number()? {
        let length = bytes.number()? as usize;
        // A long text that many heads name would need much more memory than the file.
        if length > LONGEST_TEXT {
            return None;
        }
        texts.push(std::str::from_utf8(bytes.take(length)?).ok()?);
    }
    let text = |number: u32| texts.get(number as usize).map(|text| (*text).to_owned());
    // Most runs have most facts in common.
    let mut known: HashMap<(u32, u32), Arc<Fact>> = HashMap::new();
    let mut rows = Vec::new();
    for _ in 0..runs {
        let mut row = Row {
            file: text(bytes.number()?)?,
            head: Head {
                name: text(bytes.number()?)?,
                hash: text(bytes.number()?)?,
                size: bytes.long()?,
                started: bytes.long()?,
                sessions: bytes.number()?,
                metrics: bytes.number()?,
                is_complete: bytes.number()? == 1,
                facts: Vec::new(),
            },
        };
        for _ in 0..bytes.number()? {
            let (name, value) = (bytes.number()?, bytes.number()?);
            let fact = match known.entry((name, value)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => {
                    let (name, value) = (text(name)?, text(value)?);
                    vacant.insert(Arc::new(Fact { name, value }))
                }
            };
            row.head.facts.push(Arc::clone(fact));
        }
        rows.push(row);
    }
    let mut known = Vec::new();
    for _ in 0..metrics {
        let id = text(bytes.number()?)?;
        let all = [Unit::Cycles, Unit::Ticks, Unit::Instructions];
        let unit = bytes.take(1)?[0];
        known.push((id, all.into_iter().find(|one| *one as u8 == unit)?));
    }
    bytes.0.is_empty().then_some((rows, known))
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest::MetricDigest;
    use proptest::prelude::*;

    fn figure() -> impl Strategy<Value = Option<f64>> {
        proptest::option::of(prop_oneof![0.0..1e12f64, Just(36.0), Just(1.0 / 3.0)])
    }

    fn metric() -> impl Strategy<Value = MetricDigest> {
        let unit = prop_oneof![
            Just(Unit::Cycles),
            Just(Unit::Ticks),
            Just(Unit::Instructions)
        ];
        let figures = proptest::array::uniform5(figure());
        let parts = (
            "\\PC{1,12}",
            unit,
            figures,
            figure(),
            figure(),
            any::<u32>(),
        );
        parts.prop_map(
            |(id, unit, figures, worst, spread, replicates)| MetricDigest {
                id,
                unit,
                figures,
                worst,
                spread,
                replicates,
            },
        )
    }

    fn digest() -> impl Strategy<Value = Digest> {
        let facts = proptest::collection::vec((".{1,9}", "(?s).{0,20}"), 0..5);
        let metrics = proptest::collection::btree_map(any::<u8>(), metric(), 0..6);
        let counts = (
            any::<[u8; 32]>(),
            any::<u64>(),
            any::<u64>(),
            any::<u32>(),
            any::<bool>(),
        );
        (facts, metrics, counts).prop_map(|(facts, metrics, counts)| {
            let (hash, size, started, sessions, is_complete) = counts;
            let facts = facts
                .iter()
                .map(|(name, value)| Fact::new(name, value.as_str()).into());
            // Each metric once.
            let metrics = metrics.into_iter().map(|(number, metric)| MetricDigest {
                id: format!("{}{number}", metric.id),
                ..metric
            });
            let metrics: Vec<MetricDigest> = metrics.collect();
            let head = Head {
                name: "name".to_owned(),
                hash: crate::files::digest::hexadecimal(&hash),
                size,
                started,
                sessions,
                metrics: metrics.len() as u32,
                is_complete,
                facts: facts.collect(),
            };
            Digest { head, metrics }
        })
    }

    fn packed(digests: &[(&str, &Digest)]) -> Index {
        Index::read(Source::Memory([FIRST_LINE, &chunk(digests)].concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn digest_is_read_as_it_was_written(digest in digest()) {
            let text = digest.text();
            prop_assert_eq!(Digest::parse(&text, "name"), Ok(digest));
        }

        #[test]
        fn damaged_digest_is_refused(digest in digest(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = digest.text().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(text) = String::from_utf8(bytes) {
                prop_assert!(Digest::parse(&text, "name").is_err());
            }
        }

        #[test]
        fn index_has_the_numbers_of_its_digests(a in digest(), b in digest()) {
            let index = packed(&[("a", &a), ("b", &b)]);
            prop_assert_eq!(index.whole, index.length);
            let chunk = &index.chunks[0];
            for (row, digest) in [&a, &b].into_iter().enumerate() {
                prop_assert_eq!(&chunk.rows[row].head, &digest.head);
                for metric in &digest.metrics {
                    let key = (metric.id.clone(), metric.unit);
                    let place = chunk.metrics.iter().position(|one| *one == key).unwrap();
                    let figures = metric.figures.iter().chain([&metric.spread]);
                    for (column, figure) in figures.enumerate() {
                        let number = index.numbers(chunk, place, column).unwrap()[row];
                        prop_assert_eq!(Some(number).filter(|n| !n.is_nan()), *figure);
                    }
                }
            }
        }

        #[test]
        fn damaged_index_has_no_wrong_number(a in digest(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = [FIRST_LINE, &chunk(&[("a", &a)])].concat();
            let whole = Index::read(Source::Memory(bytes.clone()));
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let damaged = Index::read(Source::Memory(bytes));
            for chunk in &damaged.chunks {
                prop_assert_eq!(&chunk.rows, &whole.chunks[0].rows);
                for metric in 0..chunk.metrics.len() {
                    for column in 0..COLUMNS {
                        let numbers = damaged.numbers(chunk, metric, column);
                        let of_whole = whole.numbers(&whole.chunks[0], metric, column);
                        let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                        prop_assert!(numbers.is_none() || numbers.map(bits) == of_whole.map(bits));
                    }
                }
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = Digest::parse(&text, "name");
            let sum = crc32fast::hash(text.as_bytes());
            let _ = Digest::parse(&format!("{text}\nend {sum:08x}\n"), "name");
            let index = Index::read(Source::Memory([FIRST_LINE, &bytes].concat()));
            prop_assert!(index.chunks.is_empty());
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for [length, runs, metrics] in [
            [0, u32::MAX, u32::MAX],
            [u32::MAX, 1, 1],
            [8, 0, u32::MAX],
            [8, u32::MAX, 0],
        ] {
            let heads = u64::MAX.to_le_bytes();
            let mut bytes = Vec::new();
            for number in [length, runs, metrics, crc32fast::hash(&heads)] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            let bytes = [FIRST_LINE, &bytes, &heads].concat();
            assert!(Index::read(Source::Memory(bytes)).chunks.is_empty());
        }
    }
}
