// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several runs side by side: a row per metric, a column per run, and each run's difference to the
//! first column.
//!
//! Runs with their names come in; a [`Matrix`] goes out. It shows differences but does not test
//! them: it only says where the confidence intervals of both sides overlap.

use std::cmp::Ordering;

use clap::ValueEnum;

use crate::judge::ranking::{greatest_first, Key};
use crate::judge::summary::{summarise, Status, Summary};
use crate::judge::why::{self, Unknown};
use crate::statistics::means;
use crate::stream::run::{Run, Unit};

/// A run and its name in the matrix, such as `default`, `canaries` or `linux`.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name (untrusted text).
    pub name: String,
    /// The run.
    pub run: Run,
}

/// The difference of a value to that of the first column, in their common unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// This value minus the first.
    pub absolute: f64,
    /// The same as a percentage of the first; `None` if the first is 0.
    pub percent: Option<f64>,
    /// Whether the two intervals overlap; `None` if one side has no interval.
    pub overlap: Option<bool>,
}

/// One metric in one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The summary of the metric in this run.
    pub summary: Summary,
    /// The difference to the first column. `None` in the first column, if either side has no value,
    /// and if the units differ.
    pub difference: Option<Difference>,
    /// Where that difference is. `None` unless it is one of counted instructions.
    pub why: Option<Result<why::Difference, Unknown>>,
}

impl Cell {
    /// The median of one operation in nanoseconds, or in instructions if the clock counts those.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        median(&self.summary)
    }

    /// The confidence interval of the median, in the same unit.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        interval(&self.summary)
    }
}

/// One metric in all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The metric's id (untrusted text).
    pub id: String,
    /// One cell per column; `None` if the run does not have the metric.
    pub cells: Vec<Option<Cell>>,
}

impl Row {
    /// Whether any column has a value.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.cells.iter().flatten().any(|c| c.median().is_some())
    }

    /// Finds out where the columns differ from the first, by the paths in their runs.
    fn find_out_where(&mut self, columns: &[Column]) {
        let id = &self.id;
        for (cell, column) in self.cells.iter_mut().zip(columns) {
            let Some(cell) = cell else { continue };
            let difference = cell.difference.filter(|difference| {
                cell.summary.unit == Unit::Instructions && difference.absolute != 0.0
            });
            cell.why = difference.map(|difference| {
                why::Difference::between(&columns[0].run, &column.run, id, difference.absolute)
            });
        }
    }

    /// The largest median.
    fn most(&self) -> Option<f64> {
        let medians = self.cells.iter().flatten().filter_map(Cell::median);
        medians.max_by(f64::total_cmp)
    }

    /// The largest ratio between two columns with the same unit; infinite if one value is 0.
    fn spread(&self) -> Option<f64> {
        let cells = || self.cells.iter().flatten();
        let ratios = cells().flat_map(|a| {
            let alike = cells().filter(|b| same_unit(&a.summary, &b.summary));
            alike.filter_map(|b| Some(a.median()? / b.median()?))
        });
        ratios
            .filter(|ratio| !ratio.is_nan())
            .max_by(f64::total_cmp)
    }

    /// Whether it is an idiom in any column.
    #[must_use]
    pub fn is_idiom(&self) -> bool {
        let mut entries = self.cells.iter().flatten().map(|c| &c.summary.entry);
        entries.any(|entry| entry.as_ref().is_some_and(|entry| entry.idiom))
    }
}

/// The keys of the rows of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MatrixKey {
    /// By the largest ratio between two columns
    Spread,
    /// By id
    Id,
    /// By the largest median
    Cost,
}

impl Key<Row> for MatrixKey {
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        match self {
            MatrixKey::Id => a.id.cmp(&b.id),
            MatrixKey::Spread => greatest_first(a.spread(), b.spread()),
            MatrixKey::Cost => greatest_first(a.most(), b.most()),
        }
    }
}

/// The ratio of a column to the first, summarised over all metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The geometric mean of the ratios of all metrics.
    pub ratio: f64,
    /// The number of metrics with a ratio: both values are above 0 and have the same unit. Idioms
    /// don't count.
    pub metrics: usize,
}

/// All metrics of all columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// The summaries of each column.
    pub summaries: Vec<Vec<Summary>>,
    /// All metrics, in the order of the first run that has them.
    pub rows: Vec<Row>,
    /// The mean ratio of each column to the first; `None` for the first column, and if no metric can
    /// be compared.
    pub means: Vec<Option<Mean>>,
}

impl Matrix {
    /// Puts runs side by side and compares each with the first.
    #[must_use]
    pub fn of(columns: &[Column]) -> Self {
        let summaries: Vec<Vec<Summary>> = columns.iter().map(|c| summarise(&c.run)).collect();
        let mut ids: Vec<&str> = Vec::new();
        for summary in summaries.iter().flatten() {
            if !ids.contains(&summary.id.as_str()) {
                ids.push(&summary.id);
            }
        }
        let row = |id| {
            let mut row = row(id, &summaries);
            row.find_out_where(columns);
            row
        };
        let rows: Vec<Row> = ids.into_iter().map(row).collect();
        let means = (0..columns.len()).map(|at| mean(&rows, at)).collect();
        Matrix {
            summaries,
            rows,
            means,
        }
    }

    /// The columns with values that cannot be compared with the first column: a shared metric has
    /// another unit, or no metric of the first column has the unit.
    #[must_use]
    pub fn incomparable(&self) -> Vec<usize> {
        let measured = |at: usize| {
            let summaries = self.summaries[at].iter();
            summaries.filter(|summary| median(summary).is_some())
        };
        let differs = |at: &usize| {
            let mut shared = self.rows.iter().filter_map(|row| both_sides(row, *at));
            let is_unknown_unit = |other| measured(0).all(|first| !same_unit(first, other));
            shared.any(|(first, other)| !same_unit(first, other))
                || measured(0).next().is_some() && measured(*at).any(is_unknown_unit)
        };
        (1..self.summaries.len()).filter(differs).collect()
    }
}

fn row(id: &str, summaries: &[Vec<Summary>]) -> Row {
    let mut found = summaries.iter().map(|all| all.iter().find(|s| s.id == id));
    let first = found.next().flatten();
    let others = found.map(|other| {
        other.map(|other| Cell {
            summary: other.clone(),
            difference: first.and_then(|first| difference(first, other)),
            why: None,
        })
    });
    let first = first.map(|first| Cell {
        summary: first.clone(),
        difference: None,
        why: None,
    });
    Row {
        id: id.to_owned(),
        cells: std::iter::once(first).chain(others).collect(),
    }
}

/// Ticks in the unit that reports show: nanoseconds if they are time.
fn shown(summary: &Summary, ticks: f64) -> f64 {
    summary.nanoseconds(ticks).unwrap_or(ticks)
}

fn median(summary: &Summary) -> Option<f64> {
    let ticks = summary.median.filter(|_| summary.status == Status::Ok)?;
    Some(shown(summary, ticks))
}

fn interval(summary: &Summary) -> Option<(f64, f64)> {
    let (low, high) = summary.low.zip(summary.high)?;
    Some((shown(summary, low), shown(summary, high)))
}

/// Whether two summaries can be compared. Instructions, and ticks of a clock of unknown frequency,
/// are never compared with time.
fn same_unit(a: &Summary, b: &Summary) -> bool {
    a.unit == b.unit && (a.unit != Unit::Cycles || a.hz > 0 && b.hz > 0)
}

fn difference(first: &Summary, other: &Summary) -> Option<Difference> {
    let (base, value) = median(first).zip(median(other))?;
    let absolute = value - base;
    same_unit(first, other).then(|| Difference {
        absolute,
        percent: (base > 0.0).then(|| absolute / base * 100.0),
        overlap: interval(first)
            .zip(interval(other))
            .map(|(a, b)| a.0 <= b.1 && b.0 <= a.1),
    })
}

/// The summaries of the first column and of column `at`, if both have a value.
fn both_sides(row: &Row, at: usize) -> Option<(&Summary, &Summary)> {
    let side = |at: usize| {
        let summary = &row.cells.get(at)?.as_ref()?.summary;
        median(summary).map(|_| summary)
    };
    side(0).zip(side(at))
}

fn mean(rows: &[Row], at: usize) -> Option<Mean> {
    if at == 0 {
        return None;
    }
    let primitives = rows.iter().filter(|row| !row.is_idiom());
    let sides = primitives.filter_map(|row| both_sides(row, at));
    let ratios: Vec<f64> = sides
        .filter(|(first, other)| same_unit(first, other))
        .filter_map(|(first, other)| median(first).zip(median(other)))
        .filter(|(base, value)| *base > 0.0 && *value > 0.0)
        .map(|(base, value)| value / base)
        .collect();
    means::geometric_mean(&ratios).map(|ratio| Mean {
        ratio,
        metrics: ratios.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::{Clock, Entry, Metric, Outcome, Replicate, Session};
    use crate::stream::ticks::Ticks;
    use proptest::prelude::*;

    fn clock(unit: Unit, hz: u64) -> Clock {
        Clock {
            name: "c".to_owned(),
            unit,
            hz,
        }
    }

    fn replicate(session: usize, outcome: Outcome, batch: u64, ticks: &[u64]) -> Replicate {
        Replicate {
            session,
            outcome,
            batch,
            asked: ticks.len() as u64,
            cold: None,
            histogram: ticks.iter().map(|t| (Ticks(*t), 1)).collect(),
            stat: None,
            cpu_ns: None,
            proofs: Vec::new(),
        }
    }

    fn metric(id: &str, replicates: Vec<Replicate>) -> Metric {
        Metric {
            id: id.to_owned(),
            case: id.to_owned(),
            replicates,
        }
    }

    fn column(name: &str, clocks: Vec<Clock>, metrics: Vec<Metric>) -> Column {
        let sessions = clocks.into_iter().map(|clock| Session {
            port: "fake".to_owned(),
            arch: "none".to_owned(),
            clock,
            realtime: false,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        });
        Column {
            name: name.to_owned(),
            run: Run {
                sessions: sessions.collect(),
                metrics,
                ..Run::default()
            },
        }
    }

    /// A column of metrics with one sample per replicate.
    fn measured(name: &str, unit: Unit, hz: u64, metrics: &[(&str, &[u64])]) -> Column {
        let most = metrics.iter().map(|(_, values)| values.len()).max();
        let metrics = metrics.iter().map(|(id, values)| {
            let values = values.iter().enumerate();
            let replicates = values.map(|(at, value)| replicate(at, Outcome::Ok, 1, &[*value]));
            metric(id, replicates.collect())
        });
        let clocks = vec![clock(unit, hz); most.unwrap_or(0)];
        column(name, clocks, metrics.collect())
    }

    fn counted(name: &str, metrics: &[(&str, &[u64])]) -> Column {
        measured(name, Unit::Instructions, 0, metrics)
    }

    #[test]
    fn rows_are_the_union_of_all_metrics_in_order_of_appearance() {
        let matrix = Matrix::of(&[
            counted("first", &[("b", &[1]), ("a", &[1])]),
            counted("second", &[("c", &[1]), ("a", &[1]), ("d", &[1])]),
        ]);
        let ids: Vec<&str> = matrix.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["b", "a", "c", "d"]);
        let has = |at: usize| matrix.rows[at].cells.iter().map(Option::is_some);
        assert!(has(0).eq([true, false]) && has(2).eq([false, true]));
    }

    #[test]
    fn differences_are_to_the_first_column() {
        let matrix = Matrix::of(&[
            counted("first", &[("a", &[50]), ("zero", &[0]), ("same", &[7])]),
            counted("second", &[("a", &[40]), ("zero", &[3]), ("same", &[7])]),
        ]);
        let of = |at: usize| matrix.rows[at].cells[1].as_ref().unwrap().difference;
        let difference = |absolute, percent| {
            Some(Difference {
                absolute,
                percent,
                overlap: None,
            })
        };
        assert_eq!(of(0), difference(-10.0, Some(-20.0)));
        assert_eq!(of(1), difference(3.0, None));
        assert_eq!(of(2), difference(0.0, Some(0.0)));
        assert_eq!(matrix.rows[0].cells[0].as_ref().unwrap().difference, None);
        let mean = matrix.means[1].unwrap();
        assert_eq!((matrix.means[0], mean.metrics), (None, 2));
        assert!((mean.ratio - 0.8f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn means_exclude_idioms() {
        let mut columns = [
            counted("first", &[("a", &[50]), ("fifo.put", &[10])]),
            counted("second", &[("a", &[100]), ("fifo.put", &[1000])]),
        ];
        let ratio = |columns: &[Column]| {
            let mean = Matrix::of(columns).means[1].unwrap();
            (mean.ratio.round() as u64, mean.metrics)
        };
        assert_eq!(ratio(&columns), (14, 2));
        // An idiom in one column is enough: it is not the same object as the other kernel's.
        columns[1].run.catalog.push(Entry {
            metric: "fifo.put".to_owned(),
            idiom: true,
            ..Entry::default()
        });
        assert_eq!(ratio(&columns), (2, 1));
    }

    #[test]
    fn times_are_never_compared_with_instructions() {
        let columns = [
            measured("fast", Unit::Cycles, 2_000_000_000, &[("a", &[200])]),
            measured("slow", Unit::Cycles, 1_000_000_000, &[("a", &[200])]),
            counted("emulated", &[("a", &[200])]),
        ];
        let matrix = Matrix::of(&columns);
        let cell = |at: usize| matrix.rows[0].cells[at].as_ref().unwrap();
        assert_eq!(cell(0).median(), Some(100.0));
        assert_eq!(cell(1).difference.unwrap().percent, Some(100.0));
        assert_eq!(cell(2).difference, None);
        assert_eq!(matrix.incomparable(), [2]);
        assert_eq!(matrix.means[2], None);
    }

    #[test]
    fn intervals_overlap_where_they_share_a_value() {
        let overlap = |other: &[u64]| {
            let of = |name, values| measured(name, Unit::Cycles, 1_000_000_000, &[("a", values)]);
            let matrix = Matrix::of(&[of("first", &[10, 11, 12, 13, 14, 15]), of("other", other)]);
            let cell = matrix.rows[0].cells[1].as_ref().unwrap();
            cell.difference.unwrap().overlap
        };
        assert_eq!(overlap(&[15, 16, 17, 18, 19, 20]), Some(true));
        assert_eq!(overlap(&[16, 16, 17, 18, 19, 20]), Some(false));
        assert_eq!(overlap(&[11, 12, 13]), None);
    }

    #[test]
    fn metrics_without_values_have_no_difference() {
        let skipped = Outcome::Skipped("not here".to_owned());
        let without = column(
            "without",
            vec![clock(Unit::Instructions, 0)],
            vec![metric("a", vec![replicate(0, skipped, 1, &[])])],
        );
        let with = counted("with", &[("a", &[5])]);
        for columns in [[without.clone(), with.clone()], [with, without]] {
            let matrix = Matrix::of(&columns);
            assert!(matrix.rows[0].is_measured());
            assert_eq!(matrix.rows[0].cells[1].as_ref().unwrap().difference, None);
            assert_eq!(matrix.means, [None, None]);
        }
    }

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            5 => Just(Outcome::Ok),
            1 => Just(Outcome::Skipped("s".to_owned())),
            1 => Just(Outcome::Failed("f".to_owned())),
            1 => Just(Outcome::Incomplete("i".to_owned())),
        ]
    }

    fn any_column() -> impl Strategy<Value = Column> {
        let clocks = prop_oneof![
            Just(clock(Unit::Instructions, 0)),
            (1u64..5_000_000_000).prop_map(|hz| clock(Unit::Cycles, hz)),
            Just(clock(Unit::Cycles, 0)),
        ];
        let ticks = prop_oneof![0u64..3, 100u64..200, any::<u64>()];
        let replicates = (any_outcome(), 0u64..4, prop::collection::vec(ticks, 1..4));
        let metrics = ("[a-d]", prop::collection::vec(replicates, 0..9));
        (clocks, prop::collection::vec(metrics, 0..6)).prop_map(|(clock, metrics)| {
            let metrics = metrics.into_iter().map(|(id, all)| {
                let all = all.into_iter().enumerate();
                let all = all.map(|(at, (outcome, batch, ticks))| {
                    let ticks = if outcome == Outcome::Ok {
                        ticks
                    } else {
                        Vec::new()
                    };
                    replicate(at, outcome, batch, &ticks)
                });
                metric(&format!("o.{id}"), all.collect())
            });
            column("any", vec![clock; 9], metrics.collect())
        })
    }

    proptest! {
        #[test]
        fn swapping_columns_inverts_the_ratio(a in any_column(), b in any_column()) {
            let there = Matrix::of(&[a.clone(), b.clone()]);
            let back = Matrix::of(&[b, a]);
            prop_assert_eq!(there.rows.len(), back.rows.len());
            match (there.means[1], back.means[1]) {
                (Some(there), Some(back)) => {
                    prop_assert_eq!(there.metrics, back.metrics);
                    prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
                }
                (there, back) => prop_assert_eq!(there, back),
            }
            for row in &there.rows {
                let other = back.rows.iter().find(|other| other.id == row.id).unwrap();
                let of = |row: &Row| row.cells[1].as_ref().and_then(|cell| cell.difference);
                if let (Some(there), Some(back)) = (of(row), of(other)) {
                    prop_assert!(there.absolute + back.absolute == 0.0);
                    prop_assert_eq!(there.overlap, back.overlap);
                }
            }
        }

        #[test]
        fn every_matrix_can_be_shown_and_exported(columns in prop::collection::vec(any_column(), 0..5)) {
            use crate::export::{csv, json, markdown};
            use crate::report::matrix::table;
            use crate::report::style::{BarStyle, Colour, Style};
            let matrix = Matrix::of(&columns);
            for row in &matrix.rows {
                prop_assert_eq!(row.cells.len(), columns.len());
                for cell in row.cells.iter().flatten() {
                    let Some(difference) = cell.difference else { continue };
                    let base = row.cells[0].as_ref().and_then(Cell::median).unwrap();
                    prop_assert!(difference.absolute - (cell.median().unwrap() - base) == 0.0);
                    prop_assert_eq!(difference.percent.is_none(), base == 0.0);
                }
            }
            let style = Style { width: 80, colour: Colour::Always, bars: BarStyle::Blocks };
            prop_assert!(table(&columns, &style).ends_with('\n'));
            prop_assert!(!markdown::matrix(&columns).is_empty());
            let lines = csv::matrix(&columns).lines().count();
            prop_assert_eq!(lines, 1 + matrix.rows.len() * columns.len());
            let json: serde_json::Value = serde_json::from_str(&json::matrix(&columns)).unwrap();
            prop_assert_eq!(json["metrics"].as_array().unwrap().len(), matrix.rows.len());
        }
    }
}
