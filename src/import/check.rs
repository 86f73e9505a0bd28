//! What is wrong with the figures of other tools: a figure that cannot be right has no number.
//!
//! Each check answers to something that published logs hold: suites that print zeros and say
//! "successful", differences of time stamps that went below 0 and were printed as unsigned,
//! means into which one wrap of a counter got, and times that are not those of the cycles beside
//! them.

use super::{Figure, Row, Source};
use crate::run::{Stat, Unit};
use crate::stats;

/// Samples of which a mean is taken to be where its source does not say.
const USUAL_SAMPLES: u64 = 1000;
/// Bits of counters whose wraps get into means.
const COUNTERS: [i32; 3] = [24, 25, 32];
/// Most wraps in one mean.
const MOST_WRAPS: u64 = 3;
/// Rows before and after a row that are its neighbours.
const NEIGHBOURS: usize = 2;
/// How many times the greatest of its neighbours a row may be, a wrap taken away.
const LIKE_NEIGHBOURS: f64 = 4.0;
/// How far below a power of two a value is taken for a negative one, as a share of that power.
const NEGATIVE: f64 = 1.0 / 256.0;

/// Gives up the figures of a source that cannot be right, each with its reason, and finds the
/// frequency of its clock where the source does not state it.
pub fn check(source: &mut Source) {
    let clock = Frequency::of(source);
    let values: Vec<Option<f64>> = source.rows.iter().map(|row| value(&row.figure)).collect();
    let is_zero = |row: &Row| greatest(&row.figure) == Some(0.0);
    let measured = || source.rows.iter().zip(&values).filter(|(_, v)| v.is_some());
    let stopped = measured().count() > 1 && measured().all(|(row, _)| is_zero(row));
    let reasons: Vec<Option<String>> = (0..values.len())
        .map(|at| {
            let row = &source.rows[at];
            let Some(value) = values[at] else {
                return nothing(&row.figure);
            };
            zero(is_zero(row), stopped)
                .or_else(|| negative(least(&row.figure).unwrap_or(value)))
                .or_else(|| unsigned(greatest(&row.figure).unwrap_or(value)))
                .or_else(|| wrapped(&values, at, samples(&row.figure)))
                .or_else(|| clock.contradicts(row))
        })
        .collect();
    for (row, reason) in source.rows.iter_mut().zip(reasons) {
        if let Some(reason) = reason {
            row.figure = Figure::Failed(reason);
        }
    }
    if source.clock.unit == Unit::Cycles && source.clock.hz == 0 {
        match clock.hz {
            Some(hz) => source.clock.hz = hz,
            None => source.clock.unit = Unit::Ticks,
        }
    }
}

/// The figure that stands for a row: a median or a mean.
fn value(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Samples(samples) => samples.median(),
        Figure::Summary(stat) => stat.value(),
        Figure::Skipped(_) | Figure::Failed(_) => None,
    }
}

/// All figures of a summary.
fn figures(stat: &Stat) -> impl Iterator<Item = f64> {
    [stat.mean, stat.median, stat.min, stat.max, stat.deviation]
        .into_iter()
        .flatten()
}

/// The least of all figures; what is no number counts as less than any.
fn least(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Summary(stat) => figures(stat)
            .map(|figure| {
                if figure.is_finite() {
                    figure
                } else {
                    f64::NEG_INFINITY
                }
            })
            .reduce(f64::min),
        _ => None,
    }
}

fn greatest(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Samples(samples) => samples.max().map(|ticks| ticks.0 as f64),
        Figure::Summary(stat) => figures(stat).reduce(f64::max),
        Figure::Skipped(_) | Figure::Failed(_) => None,
    }
}

fn samples(figure: &Figure) -> u64 {
    match figure {
        Figure::Summary(stat) if stat.samples > 1 => stat.samples,
        _ => USUAL_SAMPLES,
    }
}

/// Why a figure has no value.
fn nothing(figure: &Figure) -> Option<String> {
    match figure {
        Figure::Samples(_) => Some("it has no samples".to_owned()),
        Figure::Summary(_) => Some("neither its mean nor its median is told".to_owned()),
        Figure::Skipped(_) | Figure::Failed(_) => None,
    }
}

/// What is 0 throughout; a distribution whose lower half is 0 has a coarse clock and is one.
fn zero(is_zero: bool, stopped: bool) -> Option<String> {
    let why = if stopped {
        "0, as all others: its clock did not run"
    } else {
        "0: less than its clock can tell, or not measured"
    };
    is_zero.then(|| why.to_owned())
}

fn negative(least: f64) -> Option<String> {
    if least == f64::NEG_INFINITY {
        return Some("a figure of it is no number".to_owned());
    }
    (least < 0.0).then(|| format!("{least} is below 0: more was subtracted than was measured"))
}

/// A negative difference that was printed as an unsigned number.
fn unsigned(greatest: f64) -> Option<String> {
    if greatest > 2f64.powi(64) {
        return Some(format!(
            "{greatest:e} is more than a counter of 64 bits holds"
        ));
    }
    [32, 64].into_iter().find_map(|bits| {
        let power = 2f64.powi(bits);
        let is_negative = greatest >= power * (1.0 - NEGATIVE) && greatest <= power;
        is_negative.then(|| {
            format!("{greatest} is just below 2^{bits}: a negative difference, printed as unsigned")
        })
    })
}

/// A mean into which a wrap of a counter got: taken away, the row is like its neighbours.
fn wrapped(values: &[Option<f64>], at: usize, samples: u64) -> Option<String> {
    let value = values[at]?;
    let from = at.saturating_sub(NEIGHBOURS);
    let to = (at + NEIGHBOURS + 1).min(values.len());
    let others = (from..to).filter(|other| *other != at);
    let neighbours: Vec<f64> = others.filter_map(|other| values[other]).collect();
    let (median, greatest) = (
        stats::median(&neighbours)?,
        neighbours.iter().copied().reduce(f64::max)?,
    );
    for wraps in 1..=MOST_WRAPS {
        for bits in COUNTERS {
            let wrap = 2f64.powi(bits) / samples as f64;
            let rest = value - wrap * wraps as f64;
            let is_like_them = rest > 0.0
                && rest <= greatest * LIKE_NEIGHBOURS
                && greatest * LIKE_NEIGHBOURS < wrap;
            if is_like_them {
                return Some(format!(
                    "{value} is {wraps} x 2^{bits}/{samples} above its neighbours (about \
                     {median:.0}): a counter wrapped in {wraps} of {samples} samples"
                ));
            }
        }
    }
    None
}

/// What the rows of a source that have both cycles and nanoseconds say of its clock.
struct Frequency {
    /// As the source states it, or as most rows say.
    hz: Option<u64>,
    is_stated: bool,
}

impl Frequency {
    fn of(source: &Source) -> Self {
        let is_stated = source.clock.hz > 0;
        let hz = if is_stated {
            Some(source.clock.hz)
        } else {
            derived(&source.rows)
        };
        Frequency { hz, is_stated }
    }

    /// Why the nanoseconds of a row are not those of its cycles.
    fn contradicts(&self, row: &Row) -> Option<String> {
        let hz = self.hz? as f64;
        let (low, high) = allowed(row)?;
        if low <= hz && hz <= high {
            return None;
        }
        let by = if self.is_stated {
            "the source states"
        } else {
            "most rows say"
        };
        let (cycles, nanoseconds) = (mean(row)?, row.nanoseconds?);
        Some(format!(
            "{cycles} cycles in {nanoseconds} ns make a clock of {:.4} MHz, {by} {:.4} MHz",
            cycles / nanoseconds * 1e3,
            hz / 1e6
        ))
    }
}

fn mean(row: &Row) -> Option<f64> {
    match &row.figure {
        Figure::Summary(stat) => stat.mean,
        _ => None,
    }
}

/// The frequencies, in hertz, that a row allows, whether its figures were cut or rounded to
/// integers; `None` of a row that says nothing of it.
fn allowed(row: &Row) -> Option<(f64, f64)> {
    let (cycles, nanoseconds) = (mean(row)?, row.nanoseconds?);
    let tells = cycles >= 1.0 && nanoseconds >= 1.0 && nanoseconds.is_finite();
    tells.then(|| {
        let low = (cycles - 0.5) / (nanoseconds + 1.0);
        let high = (cycles + 1.0) / (nanoseconds - 0.5);
        (low * 1e9, high * 1e9)
    })
}

/// The frequency that more than half of the rows allow, the one with the fewest digits.
fn derived(rows: &[Row]) -> Option<u64> {
    let ranges: Vec<(f64, f64)> = rows.iter().filter_map(allowed).collect();
    let mut ends: Vec<(f64, i32)> = ranges
        .iter()
        .flat_map(|(low, high)| [(*low, 1), (*high, -1)])
        .collect();
    // Where one range ends and another begins, both hold.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut open, mut most, mut best) = (0, 0, None);
    for (at, (end, step)) in ends.iter().enumerate() {
        open += step;
        if open > most {
            most = open;
            best = ends.get(at + 1).map(|(next, _)| (*end, *next));
        }
    }
    let (low, high) = best.filter(|_| 2 * most as usize > ranges.len())?;
    roundest(low, high)
}

/// The integer from `low` to `high` with the fewest digits before its zeros, the one nearest to
/// their middle.
fn roundest(low: f64, high: f64) -> Option<u64> {
    let middle = f64::midpoint(low, high);
    (0..=18).rev().find_map(|zeros| {
        let unit = 10f64.powi(zeros);
        let nearest = (middle / unit).round() * unit;
        (nearest >= low.max(1.0) && nearest <= high && nearest < u64::MAX as f64)
            .then_some(nearest as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::picosecond_clock;
    use crate::run::Clock;

    /// A row as Zephyr prints it: means of both.
    fn row(cycles: f64, nanoseconds: Option<f64>) -> Row {
        let stat = Stat::of_mean(1, cycles);
        Row {
            nanoseconds,
            ..Row::new("a", Figure::Summary(stat))
        }
    }

    fn source(rows: Vec<Row>) -> Source {
        Source {
            facts: Vec::new(),
            clock: Clock {
                name: "cycles".to_owned(),
                unit: Unit::Cycles,
                hz: 0,
            },
            rows,
            cut: None,
        }
    }

    /// The reason of each row that lost its number.
    fn checked(mut source: Source) -> Vec<Option<String>> {
        check(&mut source);
        let reason = |row: Row| match row.figure {
            Figure::Failed(reason) => Some(reason),
            _ => None,
        };
        source.rows.into_iter().map(reason).collect()
    }

    fn of(cycles: &[f64]) -> Vec<Option<String>> {
        checked(source(cycles.iter().map(|c| row(*c, None)).collect()))
    }

    #[test]
    fn figures_that_can_be_right_are_kept() {
        let kept = of(&[315.0, 289.0, 24.5, 6000.0, 17.0, 1.0]);
        assert!(kept.iter().all(Option::is_none), "{kept:?}");
    }

    #[test]
    fn zeros_have_no_number() {
        let all = of(&[0.0, 0.0, 0.0]);
        assert!(all.iter().flatten().all(|why| why.contains("did not run")));
        assert_eq!(all.iter().flatten().count(), 3);
        let one = of(&[315.0, 0.0, 289.0]);
        assert!(one[1]
            .as_ref()
            .is_some_and(|why| why.contains("less than its clock")));
        assert_eq!(one.iter().flatten().count(), 1);
    }

    #[test]
    fn what_went_below_0_has_no_number_however_it_is_printed() {
        let found = of(&[
            315.0,
            -3.0,
            4_294_967_290.0,
            1.844_674_407_370_955e19,
            f64::NAN,
        ]);
        assert_eq!(found[0], None);
        assert!(found[1].as_ref().is_some_and(|why| why.contains("below 0")));
        assert!(found[2].as_ref().is_some_and(|why| why.contains("2^32")));
        assert!(found[3].as_ref().is_some_and(|why| why.contains("2^64")));
        assert!(found[4]
            .as_ref()
            .is_some_and(|why| why.contains("no number")));
    }

    #[test]
    fn a_mean_with_a_wrap_in_it_has_no_number() {
        let found = of(&[120.0, 130.0, 33_684.0, 140.0, 300.0]);
        assert_eq!(found.iter().flatten().count(), 1);
        let why = found[2].as_ref().unwrap();
        assert!(why.contains("1 x 2^25/1000 above its neighbours"), "{why}");
        // A suite in which such figures are usual.
        let usual = of(&[30_000.0, 31_000.0, 33_684.0, 28_000.0]);
        assert!(usual.iter().all(Option::is_none), "{usual:?}");
    }

    #[test]
    fn the_clock_is_what_most_rows_say_and_those_that_contradict_have_no_number() {
        let rows = [
            (315.0, 2625.0),
            (289.0, 2416.0),
            (374.0, 3124.0),
            (420.0, 9999.0),
        ];
        let mut source = source(rows.map(|(c, ns)| row(c, Some(ns))).to_vec());
        check(&mut source);
        assert_eq!(source.clock.hz, 120_000_000);
        let Figure::Failed(why) = &source.rows[3].figure else {
            panic!("{:?}", source.rows[3]);
        };
        assert!(
            why.contains("42.0042 MHz, most rows say 120.0000 MHz"),
            "{why}"
        );
        assert!(matches!(source.rows[0].figure, Figure::Summary(_)));
    }

    #[test]
    fn a_clock_that_is_stated_is_held_against_every_row() {
        let mut stated = source(vec![row(315.0, Some(2625.0)), row(289.0, Some(2416.0))]);
        stated.clock.hz = 100_000_000;
        let found = checked(stated);
        let is_so = |why: &String| why.contains("the source states 100.0000 MHz");
        assert_eq!(found.iter().flatten().filter(|why| is_so(why)).count(), 2);
    }

    #[test]
    fn cycles_of_a_clock_that_nothing_tells_of_are_no_time() {
        let mut unknown = source(vec![row(315.0, None)]);
        check(&mut unknown);
        assert_eq!((unknown.clock.unit, unknown.clock.hz), (Unit::Ticks, 0));
        let mut known = source(vec![row(315.0, None)]);
        known.clock = picosecond_clock();
        check(&mut known);
        assert_eq!(known.clock, picosecond_clock());
    }
}
