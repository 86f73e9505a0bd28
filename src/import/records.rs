// SPDX-License-Identifier: MIT OR Apache-2.0

//! Converts imported results to a record stream.
//!
//! In: [`Imported`]. Out: the lines of a stream, so imported results are saved, shown and compared like
//! any run.

use std::collections::{HashMap, HashSet};

use super::{check, Figure, Imported, Row, Source};
use crate::stream::record;
use crate::stream::run::{Fact, Run, Stat};
use crate::stream::session::Reader;

/// Most bytes of an id, without the number that makes a repeated name unique. It leaves room for the
/// other fields in every record.
const MAX_ID_BYTES: usize = 72;
/// Most bytes of any other word.
const MAX_WORD_BYTES: usize = 40;

/// Passes the lines of the stream, each with its line end, to `take`: the `facts` of the file, then
/// each source. [`check`] has replaced wrong figures by reasons.
pub fn write(imported: Imported, facts: &[Fact], take: &mut dyn FnMut(&[u8])) {
    let mut stream = Stream { take, next: 0 };
    for fact in facts {
        stream.record("host", &[("name", &fact.name)], Some(&fact.value));
    }
    for mut source in imported.sources {
        check::check(&mut source);
        stream.source(&source, imported.format.name);
    }
}

/// Converts imported results to a run without keeping the stream.
#[must_use]
pub fn run(imported: Imported, facts: &[Fact]) -> Run {
    let mut reader = Reader::new();
    write(imported, facts, &mut |line| drop(reader.line(line)));
    reader.finish()
}

struct Stream<'a> {
    take: &'a mut dyn FnMut(&[u8]),
    /// The sequence number of the next record.
    next: u64,
}

impl Stream<'_> {
    fn lines(&mut self, mut lines: Vec<String>) {
        for line in &mut lines {
            line.push('\n');
            (self.take)(line.as_bytes());
        }
        self.next += lines.len() as u64;
    }

    fn record(&mut self, kind: &str, pairs: &[(&str, &str)], text: Option<&str>) {
        let lines = record::write(self.next, kind, pairs, text);
        self.lines(lines);
    }

    fn source(&mut self, source: &Source, format: &str) {
        self.next = 0;
        let arch = Fact::value_in(&source.facts, "arch");
        let arch = arch.map_or_else(|| "unknown".to_owned(), short_word);
        let hello = [
            ("port", format),
            ("arch", &arch),
            ("mode", "run"),
            ("clock", &short_word(&source.clock.name)),
            ("unit", source.clock.unit.name()),
            ("hz", &source.clock.hz.to_string()),
            ("realtime", "no"),
        ];
        self.record("hello", &hello, None);
        for fact in &source.facts {
            self.record(
                "info",
                &[("name", &short_word(&fact.name))],
                Some(&fact.value),
            );
        }
        if let Some(why) = &source.incomplete {
            self.record("info", &[("name", "cut_off")], Some(why));
        }
        for (row, id) in source.rows.iter().zip(ids(&source.rows)) {
            self.row(row, &id);
        }
        match &source.incomplete {
            Some(_) => self.record("cut", &[], Some("the source is incomplete")),
            None => self.record("bye", &[("records", &self.next.to_string())], None),
        }
    }

    fn row(&mut self, row: &Row, id: &str) {
        let case = ("case", id);
        let about = if row.about.is_empty() {
            &row.name
        } else {
            &row.about
        };
        let stamps = [("from", "0"), ("to", "1"), ("switches", "0")];
        let pairs = [&[("metric", id), case], &stamps[..]].concat();
        self.record("bench", &pairs, Some(about));
        if is_too_long(&row.name) {
            self.record("title", &[("metric", id)], Some(&row.name));
        }
        let samples = match &row.figure {
            Figure::Samples(samples) => samples.total(),
            Figure::Summary(stat) => stat.samples.max(1),
            Figure::Skipped(_) | Figure::Failed(_) => 0,
        };
        let samples = samples.to_string();
        self.record("begin", &[case, ("asked", &samples)], None);
        let (status, reason) = match &row.figure {
            Figure::Samples(histogram) => {
                self.plan(id, &samples);
                let counts: Vec<(u64, u64)> = histogram.iter().map(|(t, n)| (t.0, n)).collect();
                let lines = record::write_hist(self.next, id, 0, &counts);
                self.lines(lines);
                ("ok", None)
            }
            Figure::Summary(stat) => {
                self.plan(id, &samples);
                self.stat(id, stat, &samples);
                ("ok", None)
            }
            Figure::Skipped(reason) => ("skip", Some(reason)),
            Figure::Failed(reason) => ("error", Some(reason)),
        };
        let doubts = if status == "error" { "1" } else { "0" };
        let proof = [
            case,
            ("name", "doubts"),
            ("counted", doubts),
            ("low", "0"),
            ("high", "0"),
        ];
        self.record("proof", &proof, None);
        let end = [case, ("status", status), ("samples", &samples)];
        self.record("end", &end, reason.map(String::as_str));
    }

    fn plan(&mut self, case: &str, samples: &str) {
        let pairs = [("case", case), ("samples", samples), ("batch", "1")];
        self.record("plan", &pairs, None);
    }

    fn stat(&mut self, id: &str, stat: &Stat, samples: &str) {
        let middle = [("mean", stat.mean), ("median", stat.median)];
        let others = [
            ("min", stat.min),
            ("max", stat.max),
            ("deviation", stat.deviation),
        ];
        // All five together may be too long for one record.
        for figures in [&middle[..], &others[..]] {
            let known = figures
                .iter()
                .filter_map(|(name, figure)| Some((*name, decimal((*figure)?))));
            let known: Vec<(&str, String)> = known.collect();
            if !known.is_empty() {
                let mut pairs = vec![("metric", id), ("samples", samples)];
                pairs.extend(known.iter().map(|(name, text)| (*name, text.as_str())));
                self.record("stat", &pairs, None);
            }
        }
    }
}

/// A figure as digits and a point, in at most 24 bytes.
fn decimal(figure: f64) -> String {
    /// Smaller figures are rounded to nine decimals, to limit their length.
    const SMALL: f64 = 1e-6;
    if figure == 0.0 {
        // Also -0.
        return "0".to_owned();
    }
    if figure < SMALL {
        return format!("{figure:.9}");
    }
    figure.to_string()
}

/// A text as the value of a key: printable ASCII without spaces, not empty.
fn word(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let joined = words.join("_");
    let graphic = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    let word: String = joined.chars().map(graphic).collect();
    if word.is_empty() {
        "?".to_owned()
    } else {
        word
    }
}

/// A word of at most [`MAX_WORD_BYTES`].
fn short_word(text: &str) -> String {
    let mut word = word(text);
    word.truncate(MAX_WORD_BYTES);
    word
}

/// Whether a name does not fit into an id. A record `title` then carries the name.
fn is_too_long(name: &str) -> bool {
    word(name).len() > MAX_ID_BYTES
}

/// Unique ids of rows: their names with `_` for spaces. A repeated name gets a number
/// (`Port/Create/0#2`); a name that is too long ends in its checksum.
fn ids(rows: &[Row]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut ids: HashSet<String> = HashSet::new();
    rows.iter()
        .map(|row| {
            let mut name = word(&row.name);
            if is_too_long(&row.name) {
                let sum = crc32fast::hash(name.as_bytes());
                name.truncate(MAX_ID_BYTES - 9);
                name = format!("{name}~{sum:08x}");
            }
            let count = counts.entry(name.clone()).or_default();
            loop {
                *count += 1;
                let id = match *count {
                    1 => name.clone(),
                    count => format!("{name}#{count}"),
                };
                if ids.insert(id.clone()) {
                    return id;
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::hyperfine;
    use crate::stream::histogram::Histogram;
    use crate::stream::run::{Clock, Outcome, Unit};
    use crate::stream::ticks::Ticks;
    use proptest::prelude::*;

    fn written(sources: Vec<Source>) -> Run {
        let imported = Imported {
            format: &hyperfine::FORMAT,
            sources,
        };
        run(imported, &[])
    }

    fn source(rows: Vec<Row>) -> Source {
        Source {
            facts: Vec::new(),
            clock: Clock {
                name: "a clock".to_owned(),
                unit: Unit::Cycles,
                hz: 1_000_000,
            },
            rows,
            incomplete: None,
        }
    }

    #[test]
    fn ids_are_unique() {
        let names = ["a b", "a b", "a_b#2", "", "x".repeat(200).leak()];
        let rows: Vec<Row> = names
            .iter()
            .map(|name| Row::new(name, Figure::Skipped("why".to_owned())))
            .collect();
        let ids = ids(&rows);
        assert_eq!(ids[..4], ["a_b", "a_b#2", "a_b#2#2", "?"]);
        assert_eq!(ids[4].len(), MAX_ID_BYTES);
    }

    #[test]
    fn figures_are_written_as_decimals() {
        let texts = [-0.0, 0.0, 1e-300, 315.5, 1.1e19].map(decimal);
        let expected = ["0", "0", "0.000000000", "315.5", "11000000000000000000"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn incomplete_source_is_a_truncated_session_with_all_rows() {
        let samples = Histogram::from_iter([(Ticks(7), 2)]);
        let mut incomplete = source(vec![Row::new("a", Figure::Samples(samples.clone()))]);
        incomplete.incomplete = Some("a long explanation of the missing end mark, ".repeat(12));
        let run = written(vec![incomplete]);
        assert_eq!((run.damage.truncated, run.damage.damaged), (1, 0));
        assert_eq!(run.metrics[0].replicates[0].histogram, samples);
    }

    fn figure() -> impl Strategy<Value = Figure> {
        let number = prop_oneof![
            any::<f64>(),
            1e-9..1e20f64,
            Just(0.0),
            Just(-1.0),
            Just(4_294_967_290.0)
        ];
        let stat = (
            any::<u64>(),
            prop::array::uniform5(prop::option::of(number)),
        )
            .prop_map(|(samples, [mean, median, min, max, deviation])| {
                Figure::Summary(Stat {
                    samples,
                    mean,
                    median,
                    min,
                    max,
                    deviation,
                })
            });
        let pairs = prop::collection::vec((any::<u64>(), 1..1_000_000u64), 1..40);
        let samples = pairs.prop_map(|pairs| {
            Figure::Samples(pairs.into_iter().map(|(t, n)| (Ticks(t), n)).collect())
        });
        let text = ".{0,300}";
        prop_oneof![
            stat,
            samples,
            text.prop_map(Figure::Skipped),
            text.prop_map(Figure::Failed)
        ]
    }

    proptest! {
        #[test]
        fn any_source_survives_the_round_trip(
            rows in prop::collection::vec((".{0,120}", ".{0,300}", figure()), 1..8),
            facts in prop::collection::vec((".{0,80}", ".{0,300}"), 0..3),
            clock in ".{0,80}",
            hz in any::<u64>(),
        ) {
            let rows: Vec<Row> = rows
                .into_iter()
                .map(|(name, about, figure)| Row { about, ..Row::new(&name, figure) })
                .collect();
            let mut source = source(rows);
            source.clock.name = clock;
            source.clock.hz = hz;
            source.facts = facts
                .into_iter()
                .map(|(name, value)| Fact { name, value })
                .collect();
            let mut checked = source.clone();
            check::check(&mut checked);
            let run = written(vec![source]);
            prop_assert_eq!(run.damage.damaged + run.damage.gaps + run.damage.truncated, 0);
            prop_assert_eq!(run.metrics.len(), checked.rows.len());
            for (metric, row) in run.metrics.iter().zip(&checked.rows) {
                let replicate = &metric.replicates[0];
                match &row.figure {
                    Figure::Samples(samples) => prop_assert_eq!(&replicate.histogram, samples),
                    Figure::Summary(stat) => {
                        let (value, wanted) = (replicate.figure(crate::judge::quantity::Quantity::P50, Unit::Cycles), stat.value().unwrap());
                        prop_assert!(value.is_some_and(|v| (v - wanted).abs() <= wanted * 1e-2 + 1e-9));
                    }
                    Figure::Skipped(_) => {
                        prop_assert!(matches!(replicate.outcome, Outcome::Skipped(_)));
                    }
                    Figure::Failed(_) => {
                        prop_assert!(matches!(replicate.outcome, Outcome::Failed(_)));
                    }
                }
            }
        }
    }
}
