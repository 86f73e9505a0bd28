// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a machine counted in an interval: while a session ran, or before a run. A `host` record in, a
//! [`Counted`] out, and back.

use std::collections::BTreeMap;

use super::record::{self, Record};

/// The `host` record with what was counted while the session before it ran.
pub const DURING: &str = "during";
/// The `host` record with what was counted before the run.
pub const BEFORE: &str = "before";

/// The length of the interval in microseconds. A count of the whole machine.
pub const US: &str = "us";

const NAME: &str = "name";
const CPU: &str = "cpu";
const BUSIEST: &str = "busiest";
/// Most bytes of the name of a device.
const MAX_NAME_BYTES: usize = 40;

/// What one CPU, or the whole machine, counted in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The CPU; `None` for the whole machine.
    pub cpu: Option<u32>,
    /// The counts by name, as doc/protocol.md lists them.
    pub counts: BTreeMap<String, u64>,
    /// The device with most of the CPU's device interrupts.
    pub busiest: Option<String>,
}

impl Counted {
    /// A count by name. `None` if the machine does not count it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counts.get(name).copied()
    }

    /// Adds a count if it is known.
    pub fn add(&mut self, name: &str, count: Option<u64>) {
        if let Some(count) = count {
            self.counts.insert(name.to_owned(), count);
        }
    }

    /// Reads a `host` record. `None` if it does not say of which CPU. Other keys than counts are
    /// ignored.
    pub(super) fn read(record: &Record) -> Option<Self> {
        let cpu = match record.get(CPU) {
            None => None,
            Some(_) => Some(u32::try_from(record.number(CPU)?).ok()?),
        };
        // A name may look like a number.
        let counts = record.pairs().iter().filter_map(|(key, _)| {
            let count = record
                .number(key)
                .filter(|_| ![NAME, CPU, BUSIEST].contains(key))?;
            Some(((*key).to_owned(), count))
        });
        Some(Counted {
            cpu,
            counts: counts.collect(),
            busiest: record.get(BUSIEST).map(str::to_owned),
        })
    }

    /// The line of a `host` record with this name.
    #[must_use]
    pub fn line(&self, seq: u64, name: &str) -> String {
        let cpu = self.cpu.map(|cpu| cpu.to_string());
        let busiest = self.busiest.as_deref().map(word);
        let counts: Vec<(&str, String)> = self
            .counts
            .iter()
            .map(|(name, count)| (name.as_str(), count.to_string()))
            .collect();
        let mut pairs = vec![(NAME, name)];
        pairs.extend(cpu.as_deref().map(|cpu| (CPU, cpu)));
        pairs.extend(counts.iter().map(|(name, count)| (*name, count.as_str())));
        pairs.extend(busiest.as_deref().map(|busiest| (BUSIEST, busiest)));
        record::write(seq, "host", &pairs, None).concat()
    }
}

/// A text as a value: what a value cannot hold becomes `_`, and the end is cut off.
pub(super) fn word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    let word: String = text.chars().map(allowed).take(MAX_NAME_BYTES).collect();
    if word.is_empty() {
        "_".to_owned()
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::record::Line;
    use proptest::prelude::*;

    fn read(line: &str) -> Option<Counted> {
        let Line::Record(record) = record::parse(line.as_bytes()) else {
            panic!("no record: {line}");
        };
        Counted::read(&record)
    }

    #[test]
    fn unknown_keys_are_ignored() {
        let pairs = [
            ("name", "during"),
            ("cpu", "3"),
            ("timer", "5"),
            ("colour", "red"),
            ("busiest", "0"),
        ];
        let line = record::write(0, "host", &pairs, None).concat();
        let counted = read(&line).unwrap();
        assert_eq!((counted.cpu, counted.get("timer")), (Some(3), Some(5)));
        assert_eq!(counted.counts.len(), 1);
        assert_eq!(counted.busiest.as_deref(), Some("0"));
        let line = record::write(0, "host", &[("name", "1"), ("cpu", "x")], None).concat();
        assert_eq!(read(&line), None);
    }

    proptest! {
        #[test]
        fn record_is_read_as_it_was_written(
            cpu in proptest::option::of(any::<u32>()),
            counts in proptest::collection::btree_map("[a-z_]{4,12}", any::<u64>(), 0..4),
            busiest in proptest::option::of(any::<String>()),
        ) {
            let reserved = ["name", "busiest"];
            prop_assume!(counts.keys().all(|key| !reserved.contains(&key.as_str())));
            let written = Counted { cpu, counts, busiest };
            let read = read(&written.line(7, DURING)).unwrap();
            prop_assert_eq!(&read.counts, &written.counts);
            prop_assert_eq!(read.cpu, written.cpu);
            prop_assert_eq!(read.busiest, written.busiest.as_deref().map(word));
        }
    }
}
