// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds the stamps of a metric among the readings of the clock.
//!
//! Most often each reading of a sample is a stamp. A benchmark may also read the clock between two
//! stamps, or take a stamp again: then its stamps are always at the same places from the start or
//! the end of the sample, or next to the reading by one instruction. Whichever place it is, the
//! numbers of instructions between the stamps must be the printed values, all of them and no others.

use std::collections::{BTreeMap, BTreeSet};

use super::list::{Case, List, Reading, Row};
use crate::stream::histogram::Histogram;

/// The parts of a pilot: the cold sample's, and that which finds the batch size.
const PILOT_PARTS: usize = 2;

/// Samples of a metric that took the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// How many there are.
    pub samples: u64,
    /// Their path: indices into the paths of the list, in order.
    pub path: Vec<usize>,
    /// The instructions in it.
    pub instructions: u64,
    /// How often the processor waited in it.
    pub idle: u64,
}

/// The samples of a metric, by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The measured samples: each path once, in the order in which it first occurred.
    pub sampled: Vec<Sampled>,
    /// The very first sample, which is not among them. `None` if its stamps are not where those of
    /// the others are.
    pub cold: Option<Sampled>,
}

/// Where a stamp is among the readings of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// So many readings after the first.
    FromStart(usize),
    /// So many readings before the last.
    FromEnd(usize),
    /// So many readings after the last one by this instruction, or before it.
    Near(u32, isize),
}

impl Place {
    fn index(self, readings: &[Reading]) -> Option<usize> {
        match self {
            Place::FromStart(n) => (n < readings.len()).then_some(n),
            Place::FromEnd(n) => readings.len().checked_sub(n + 1),
            Place::Near(site, offset) => {
                let at = readings.iter().rposition(|reading| reading.site == site)?;
                at.checked_add_signed(offset)
                    .filter(|at| *at < readings.len())
            }
        }
    }
}

/// The path between two stamps of a row. `None` if they are not there, or in the wrong order.
fn sampled(list: &List, row: &Row, from: Place, to: Place) -> Option<Sampled> {
    let (from, to) = (from.index(&row.readings)?, to.index(&row.readings)?);
    let between = row
        .readings
        .get(from + 1..=to)
        .filter(|between| !between.is_empty())?;
    let path: Option<Vec<usize>> = between.iter().map(|reading| reading.path).collect();
    let path = path?;
    let paths = || path.iter().map(|path| &list.paths[*path]);
    Some(Sampled {
        samples: row.samples,
        instructions: paths().map(|path| path.length).sum(),
        idle: paths().map(|path| path.idle).sum(),
        path,
    })
}

/// The rows of a case after the lead-in of each of its measured parts.
fn measured_rows(case: &Case, samples: u64) -> Result<Vec<Row>, String> {
    let count = |part: &Vec<Row>| part.iter().map(|row| row.samples).sum::<u64>();
    // The first part of the pilot has nothing but a lead-in.
    let lead = case.parts.first().map_or(0, count);
    let mut rows = Vec::new();
    for part in case.parts.iter().skip(PILOT_PARTS) {
        let mut left = lead;
        for row in part {
            let dropped = left.min(row.samples);
            left -= dropped;
            if row.samples > dropped {
                rows.push(Row {
                    samples: row.samples - dropped,
                    readings: row.readings.clone(),
                });
            }
        }
    }
    let found = count(&rows);
    if found == samples {
        Ok(rows)
    } else {
        Err(format!(
            "{found} samples were followed, but {samples} were printed"
        ))
    }
}

/// Whether the instructions of these samples are the printed values. Where the processor waited in
/// a sample, its value is greater: the clock counts that time too.
fn prove(sampled: &[Sampled], printed: &Histogram) -> bool {
    if sampled.iter().all(|sample| sample.idle == 0) {
        let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
        for sample in sampled {
            *counted.entry(sample.instructions).or_default() += sample.samples;
        }
        return counted
            .into_iter()
            .eq(printed.iter().map(|(ticks, count)| (ticks.0, count)));
    }
    let mut lengths: Vec<(u64, u64)> = sampled
        .iter()
        .map(|sample| (sample.instructions, sample.samples))
        .collect();
    lengths.sort_unstable();
    let lengths = lengths
        .iter()
        .flat_map(|(length, count)| std::iter::repeat_n(*length, *count as usize));
    let values = printed
        .iter()
        .flat_map(|(ticks, count)| std::iter::repeat_n(ticks.0, count as usize));
    lengths.zip(values).all(|(length, value)| length <= value)
}

/// Finds the samples of a metric that lies between two stamps of a case. `stamps` is how many stamps
/// a sample of the case has.
///
/// # Errors
///
/// The instructions between no two readings are the printed values.
pub fn find(
    list: &List,
    case: &Case,
    (from, to): (u32, u32),
    stamps: usize,
    printed: &Histogram,
) -> Result<Samples, String> {
    let (from, to) = (from as usize, to as usize);
    let rows = measured_rows(case, printed.total())?;
    let straight = (Place::FromStart(from), Place::FromStart(to));
    let each = rows.iter().all(|row| row.readings.len() == stamps);
    let others = if each {
        Vec::new()
    } else {
        places(&rows, stamps)
    };
    let pairs = others
        .iter()
        .flat_map(|from| others.iter().map(move |to| (*from, *to)));
    for (from, to) in std::iter::once(straight).chain(pairs) {
        let between = |row| sampled(list, row, from, to);
        let Some(found) = rows.iter().map(between).collect::<Option<Vec<_>>>() else {
            continue;
        };
        if prove(&found, printed) {
            let cold = case.parts.first().and_then(|part| part.first());
            let cold = cold.and_then(|row| sampled(list, row, from, to));
            return Ok(Samples {
                sampled: merged(found),
                cold: cold.map(|cold| Sampled { samples: 1, ..cold }),
            });
        }
    }
    Err(
        "the instructions between no two readings of the clock in a sample are the printed values: \
         one of its stamps is computed from several readings, or the emulator does not count \
         instructions"
            .to_owned(),
    )
}

/// The places where stamps can be, in order of preference.
fn places(rows: &[Row], stamps: usize) -> Vec<Place> {
    let sites = rows.iter().flat_map(|row| &row.readings);
    let sites: BTreeSet<u32> = sites.map(|reading| reading.site).collect();
    let near = sites
        .into_iter()
        .flat_map(|site| [0, -1, 1].map(|offset| Place::Near(site, offset)));
    let start = (0..stamps).map(Place::FromStart);
    start
        .chain((0..stamps).map(Place::FromEnd))
        .chain(near)
        .collect()
}

/// Joins the samples with the same path.
fn merged(sampled: Vec<Sampled>) -> Vec<Sampled> {
    let mut places: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut merged: Vec<Sampled> = Vec::new();
    for sample in sampled {
        if let Some(place) = places.get(&sample.path) {
            merged[*place].samples += sample.samples;
        } else {
            places.insert(sample.path.clone(), merged.len());
            merged.push(sample);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::list::List;
    use std::fmt::Write;

    /// A list of one case whose pilot has two samples, and whose measured samples are these rows.
    fn list(paths: &[u64], rows: &str) -> List {
        let mut text = String::from("case 0\npart\n");
        for (number, length) in paths.iter().enumerate() {
            let runs: Vec<String> = (0..*length).map(|_| "1".to_owned()).collect();
            let _ = writeln!(text, "path {number} {length} 0 {}", runs.join(" "));
        }
        text += "row 1 1:- 2:0\npart\nrow 2 1:- 2:0\npart\n";
        text += rows;
        text += "\nend 0\n";
        List::read(text.as_bytes()).unwrap()
    }

    fn histogram(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        for (value, count) in values {
            histogram.add(crate::stream::ticks::Ticks(*value), *count);
        }
        histogram
    }

    #[test]
    fn each_reading_is_a_stamp() {
        let list = list(&[5, 7], "row 4 1:- 2:0\nrow 2 1:- 2:1\nrow 1 1:- 2:0");
        let find = |printed: &[(u64, u64)]| {
            super::find(&list, &list.cases[0], (0, 1), 2, &histogram(printed))
        };
        // One of the seven samples is the lead-in.
        let found = find(&[(5, 4), (7, 2)]).unwrap();
        let counts: Vec<_> = found
            .sampled
            .iter()
            .map(|s| (s.samples, s.instructions))
            .collect();
        assert_eq!(counts, [(4, 5), (2, 7)]);
        assert_eq!(found.cold.unwrap().instructions, 5);
        for wrong in [&[(5, 3), (7, 3)][..], &[(5, 4), (8, 2)], &[(6, 4), (7, 2)]] {
            assert!(find(wrong).unwrap_err().contains("printed values"));
        }
        let few = find(&[(5, 4)]).unwrap_err();
        assert_eq!(few, "6 samples were followed, but 4 were printed");
    }

    #[test]
    fn readings_between_the_stamps_are_part_of_the_path() {
        let list = list(&[5, 7], "row 3 1:- 3:0 2:1");
        let found = super::find(&list, &list.cases[0], (0, 1), 2, &histogram(&[(12, 2)])).unwrap();
        assert_eq!(found.sampled[0].path, [0, 1]);
    }

    #[test]
    fn a_stamp_that_is_taken_again_counts_the_last_time() {
        let list = list(
            &[5, 7],
            "row 1 1:- 2:0\nrow 1 9:- 9:0 9:1 1:0 2:1\nrow 1 9:- 1:0 2:1",
        );
        let found = super::find(&list, &list.cases[0], (0, 1), 2, &histogram(&[(7, 2)])).unwrap();
        assert_eq!(found.sampled[0].samples, 2);
    }
}
