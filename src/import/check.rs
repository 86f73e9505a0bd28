// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rejects figures of other tools that cannot be right.
//!
//! In: a source. Out: the same source; each wrong figure is replaced by the reason.
//!
//! Each check corresponds to an error found in published logs: suites that print zeros and report
//! success, negative differences of time stamps printed as unsigned integers, means that contain counter
//! wraps or such differences, means outside the range of their samples, clocks too slow for the
//! operation, and times that contradict the cycles beside them.
//!
//! The search for wraps applies only to ticks of a counter (`is_counter`). Times computed from such
//! ticks no longer show the power of two.

use super::{is_counter, Figure, Printed, Row, Source};
use crate::statistics::order;
use crate::stream::run::{Clock, Stat, Unit, PICOSECONDS};

/// Sample counts to try for a mean whose source does not state the count.
const USUAL_SAMPLES: [u64; 3] = [1, 1000, 10_000];
/// The most common of them.
const DEFAULT_SAMPLES: u64 = 1000;
/// Widths in bits of counters whose wraps occur in means.
const COUNTER_BITS: [i32; 3] = [24, 25, 32];
/// Most wraps in a mean that is similar to its neighbours after subtracting them.
const MAX_WRAPS: u64 = 3;
/// Most wraps in a mean that consists almost only of wraps.
const MAX_DOMINANT_WRAPS: u64 = 16;
/// Largest deviation of such a mean from its wraps, in either direction, as a fraction of the wraps.
const WRAP_TOLERANCE: f64 = 1e-3;
/// Such a mean is at least this many times greater than the greatest other row.
const OUTLIER_RATIO: f64 = 20.0;
/// Number of rows before and after a row that count as its neighbours.
const NEIGHBOURS: usize = 2;
/// After subtracting wraps, a row is at most this many times greater than its greatest neighbour.
const NEIGHBOUR_RATIO: f64 = 4.0;
/// Distance below a power of two within which a value counts as negative, as a fraction of that power.
const NEGATIVE_RANGE: f64 = 1.0 / 256.0;
/// How far figures of one row may be out of order, as a fraction of the greater one: the rounding error
/// of binary fractions.
const ROUNDING_TOLERANCE: f64 = 1e-6;
/// Plausible frequencies of a counter in hertz. Anything below 1 kHz is the tick of an operating system.
const PLAUSIBLE_HZ: (f64, f64) = (1e3, 1e10);

/// Replaces figures of a source that cannot be right by the reason. Also derives the frequency of the
/// clock if the source does not state it, and refines means from the nanoseconds beside them.
pub fn check(source: &mut Source) {
    let checks = Checks::of(source);
    let mut reasons: Vec<Option<String>> = (0..source.rows.len())
        .map(|at| checks.reason(&source.rows, at))
        .collect();
    if is_counter(&source.clock) {
        reject_dominant_wraps(&source.rows, &mut reasons);
    }
    for (row, reason) in source.rows.iter_mut().zip(reasons) {
        match (reason, checks.frequency.refined_mean(row), &mut row.figure) {
            (Some(reason), _, figure) => *figure = Figure::Failed(reason),
            (None, Some(mean), Figure::Summary(stat)) => stat.mean = Some(mean),
            _ => {}
        }
    }
    if source.clock.unit == Unit::Cycles && source.clock.hz == 0 {
        match checks.frequency.hz {
            Some(hz) => source.clock.hz = hz,
            None => source.clock.unit = Unit::Ticks,
        }
    }
}

/// What each row of a source is checked against.
struct Checks {
    clock: Clock,
    frequency: Frequency,
    values: Vec<Option<f64>>,
    /// All rows contain only zeros.
    is_stopped: bool,
    /// The resolution of the clock in ticks, if it is too coarse.
    coarse_step: Option<f64>,
}

impl Checks {
    fn of(source: &Source) -> Self {
        let frequency = Frequency::of(source);
        let clock = Clock {
            hz: frequency.hz.unwrap_or(0),
            ..source.clock.clone()
        };
        let values: Vec<Option<f64>> = source.rows.iter().map(|row| value(&row.figure)).collect();
        let measured = || source.rows.iter().zip(&values).filter(|(_, v)| v.is_some());
        let is_zero = |row: &Row| frequency.is_zero(row);
        let is_stopped = measured().count() > 1 && measured().all(|(row, _)| is_zero(row));
        Checks {
            coarse_step: coarse_step(&source.rows, &clock),
            clock,
            frequency,
            values,
            is_stopped,
        }
    }

    /// Why a row has no valid number.
    fn reason(&self, rows: &[Row], at: usize) -> Option<String> {
        let row = &rows[at];
        if self.values[at].is_none() {
            return missing_value(&row.figure);
        }
        let printed = row
            .printed
            .unwrap_or_else(|| Printed::from_clock(&self.clock));
        zero(self.frequency.is_zero(row), self.is_stopped)
            .or_else(|| negative(&row.figure, printed))
            .or_else(|| unsigned(&row.figure, printed))
            .or_else(|| out_of_order(&row.figure, printed))
            .or_else(|| self.too_slow(printed))
            .or_else(|| self.wrapped(&row.figure, at))
            .or_else(|| self.frequency.contradiction(row))
    }

    fn too_slow(&self, printed: Printed) -> Option<String> {
        let step = self.coarse_step?;
        Some(format!(
            "the clock is too slow: no row has a value between 0 and {}",
            printed.text(step)
        ))
    }

    /// Finds counter wraps in a mean: without them, the row is similar to its neighbours.
    fn wrapped(&self, figure: &Figure, at: usize) -> Option<String> {
        let Figure::Summary(stat) = figure else {
            return None;
        };
        if !is_counter(&self.clock) {
            return None;
        }
        let from = at.saturating_sub(NEIGHBOURS);
        let to = (at + NEIGHBOURS + 1).min(self.values.len());
        let others = (from..to).filter(|other| *other != at);
        let neighbours: Vec<f64> = others.filter_map(|other| self.values[other]).collect();
        let median = order::median(&neighbours)?;
        let most = neighbours.iter().copied().reduce(f64::max)? * NEIGHBOUR_RATIO;
        let mean = stat.mean?;
        let samples = match stat.samples {
            0 | 1 => DEFAULT_SAMPLES,
            samples => samples,
        };
        let wrap = wraps(MAX_WRAPS, &[samples]).find(|wrap| {
            let rest = mean - wrap.ticks();
            rest > 0.0 && rest <= most && most < wrap.ticks_of_one() && wrap.may_be_in(stat)
        })?;
        Some(format!(
            "{} is {wrap} above its neighbours (about {median:.0}): a counter wrapped in {} of \
             {samples} samples",
            number(mean),
            wrap.times,
        ))
    }
}

/// The median or mean of a row.
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

fn greatest(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Samples(samples) => samples.max().map(|ticks| ticks.0 as f64),
        Figure::Summary(stat) => figures(stat).reduce(f64::max),
        Figure::Skipped(_) | Figure::Failed(_) => None,
    }
}

/// Why a figure has no value.
fn missing_value(figure: &Figure) -> Option<String> {
    match figure {
        Figure::Samples(_) => Some("no samples".to_owned()),
        Figure::Summary(_) => Some("neither mean nor median is given".to_owned()),
        Figure::Skipped(_) | Figure::Failed(_) => None,
    }
}

/// Rejects a row that is 0 throughout. A distribution with some zeros is valid; its clock is coarse.
fn zero(is_zero: bool, is_stopped: bool) -> Option<String> {
    let why = if is_stopped {
        "0, like all other rows: the clock did not run"
    } else {
        "0: below the resolution of the clock, or not measured"
    };
    is_zero.then(|| why.to_owned())
}

fn negative(figure: &Figure, printed: Printed) -> Option<String> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    if figures(stat).any(|figure| !figure.is_finite()) {
        return Some("a figure is not a finite number".to_owned());
    }
    let least = figures(stat).reduce(f64::min)?;
    (least < 0.0).then(|| {
        let least = printed.text(least);
        format!("{least} is negative: more was subtracted than was measured")
    })
}

/// Rejects a negative difference that was printed as an unsigned integer, and values that no counter can
/// hold.
fn unsigned(figure: &Figure, printed: Printed) -> Option<String> {
    let greatest = greatest(figure)?;
    let shown = printed.text(greatest);
    let count = greatest / printed.ticks;
    if printed.is_unsigned {
        for bits in [32, 64] {
            let power = 2f64.powi(bits);
            if count >= power * (1.0 - NEGATIVE_RANGE) && count <= power {
                return Some(format!(
                    "{shown} is just below 2^{bits}: a negative difference, printed as unsigned"
                ));
            }
        }
    }
    (greatest > 2f64.powi(64)).then(|| format!("{shown} exceeds 64 bits"))
}

/// Rejects a mean or median outside the range of its samples.
fn out_of_order(figure: &Figure, printed: Printed) -> Option<String> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    let named = |name: &'static str, figure: Option<f64>| Some((name, figure?));
    let (min, max) = (named("minimum", stat.min), named("maximum", stat.max));
    let (mean, median) = (named("mean", stat.mean), named("median", stat.median));
    let pairs = [
        (min, max),
        (min, mean),
        (mean, max),
        (min, median),
        (median, max),
    ];
    pairs.into_iter().find_map(|(low, high)| {
        let ((low_name, low), (high_name, high)) = (low?, high?);
        (low > high + high.abs() * ROUNDING_TOLERANCE).then(|| {
            let (low, high) = (printed.text(low), printed.text(high));
            format!("the {low_name}, {low}, is greater than the {high_name}, {high}")
        })
    })
}

/// The least value of any row, in ticks, if it is longer than a period of the slowest plausible clock
/// and some rows are 0 throughout.
fn coarse_step(rows: &[Row], clock: &Clock) -> Option<f64> {
    let stats = || {
        rows.iter().filter_map(|row| match &row.figure {
            Figure::Summary(stat) => Some(stat),
            _ => None,
        })
    };
    let ends = || stats().flat_map(|stat| [stat.min, stat.max]).flatten();
    let step = ends().filter(|end| *end > 0.0).reduce(f64::min)?;
    let is_slow = clock.nanoseconds(step)? > 1e9 / PLAUSIBLE_HZ.0;
    let any_zero = stats().any(|stat| stat.max == Some(0.0));
    (is_slow && any_zero).then_some(step)
}

/// Counter wraps within a mean.
struct Wrap {
    /// How often the counter wrapped.
    times: u64,
    /// The width of the counter.
    bits: i32,
    /// The samples of the mean.
    samples: u64,
}

impl std::fmt::Display for Wrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Wrap { times, bits, .. } = self;
        match self.samples {
            1 => write!(f, "{times} x 2^{bits}"),
            samples => write!(f, "{times} x 2^{bits}/{samples}"),
        }
    }
}

impl Wrap {
    /// What one wrap adds to the mean.
    fn ticks_of_one(&self) -> f64 {
        2f64.powi(self.bits) / self.samples as f64
    }

    /// What all wraps add to the mean.
    fn ticks(&self) -> f64 {
        self.ticks_of_one() * self.times as f64
    }

    /// Whether the other figures of a row allow the wraps. The maximum must be at least one wrap, and
    /// the mean must exceed the median, or else the minimum, by the wraps.
    fn may_be_in(&self, stat: &Stat) -> bool {
        let near = 1.0 - WRAP_TOLERANCE;
        let is_long = |max: f64| max >= 2f64.powi(self.bits) * near;
        let ordinary = stat.median.or(stat.min).unwrap_or(0.0);
        let is_far = |mean: f64| mean - ordinary >= self.ticks() * near;
        stat.max.is_none_or(is_long) && stat.mean.is_some_and(is_far)
    }
}

/// From 1 to `most` wraps of each counter, for each sample count.
fn wraps(most: u64, samples: &[u64]) -> impl Iterator<Item = Wrap> + '_ {
    let with = move |times, bits| {
        let wrap = move |samples: &u64| Wrap {
            times,
            bits,
            samples: *samples,
        };
        samples.iter().map(wrap)
    };
    (1..=most).flat_map(move |times| {
        COUNTER_BITS
            .into_iter()
            .flat_map(move |bits| with(times, bits))
    })
}

/// Rejects means that consist almost only of wraps: a counter wrapped, or differences just below 0 were
/// added up as unsigned. They are far greater than all other valid rows.
fn reject_dominant_wraps(rows: &[Row], reasons: &mut [Option<String>]) {
    let found: Vec<Option<Wrap>> = rows.iter().map(|row| dominant_wrap(&row.figure)).collect();
    let others = rows.iter().zip(reasons.iter()).zip(&found);
    let valid = others.filter(|((_, reason), found)| reason.is_none() && found.is_none());
    let values = valid.filter_map(|((row, _), _)| value(&row.figure));
    let Some(greatest) = values.reduce(f64::max) else {
        return;
    };
    for ((row, reason), found) in rows.iter().zip(reasons).zip(&found) {
        let (Figure::Summary(stat), None, Some(wrap)) = (&row.figure, &reason, found) else {
            continue;
        };
        let mean = stat.mean.unwrap_or(0.0);
        if mean > greatest * OUTLIER_RATIO {
            *reason = Some(format!(
                "{} is within {:.2} % of {wrap}, and the greatest other row is {}: a counter wrapped, \
                 or a negative difference was added up as unsigned",
                number(mean),
                (mean / wrap.ticks() - 1.0).abs() * 100.0,
                number(greatest),
            ));
        }
    }
}

/// The wraps of which a mean almost entirely consists.
fn dominant_wrap(figure: &Figure) -> Option<Wrap> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    let stated = [stat.samples];
    let samples = if stat.samples > 1 {
        &stated[..]
    } else {
        &USUAL_SAMPLES
    };
    let mean = stat.mean?;
    let is_near = |wrap: &Wrap| {
        let ticks = wrap.ticks();
        (mean - ticks).abs() <= ticks * WRAP_TOLERANCE && wrap.may_be_in(stat)
    };
    let mut all = wraps(MAX_DOMINANT_WRAPS, samples);
    all.find(is_near)
}

impl Printed {
    /// How a source with this clock prints its figures, unless a row states it.
    fn from_clock(clock: &Clock) -> Self {
        let (unit, ticks) = match (clock.name.as_str(), clock.hz) {
            _ if is_counter(clock) => ("", 1.0),
            (_, PICOSECONDS) => ("ns", 1e3),
            ("nanoseconds", _) => ("ns", 1.0),
            ("microseconds", _) => ("us", 1.0),
            _ => ("", 1.0),
        };
        Printed {
            unit,
            ticks,
            is_unsigned: is_counter(clock),
        }
    }

    /// A figure in the unit that the source prints.
    fn text(self, ticks: f64) -> String {
        let text = format!("{} {}", number(ticks / self.ticks), self.unit);
        text.trim_end().to_owned()
    }
}

/// A number without trailing zeros.
fn number(number: f64) -> String {
    let digits = format!("{number:.6}");
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// The frequency of a source's clock.
struct Frequency {
    /// As the source states it, or as derived from rows with both cycles and nanoseconds.
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

    /// The mean of a row in cycles, computed from its nanoseconds. `None` unless both are integers and
    /// nanoseconds are the finer unit.
    fn refined_mean(&self, row: &Row) -> Option<f64> {
        let (hz, (cycles, nanoseconds)) = (self.hz? as f64, both(row)?);
        let is_whole = cycles.fract() == 0.0 && nanoseconds.fract() == 0.0;
        if !is_whole || hz >= 1e9 || self.contradiction(row).is_some() {
            return None;
        }
        let (low, high) = (nanoseconds * hz / 1e9, (nanoseconds + 1.0) * hz / 1e9);
        // If the nanosecond contains the whole number of cycles, that number is the best estimate.
        let is_cycle = low <= cycles && cycles < high;
        Some(if is_cycle { cycles } else { low })
    }

    /// Whether a row is 0 throughout, including nanoseconds that are finer than a cycle.
    fn is_zero(&self, row: &Row) -> bool {
        let is_zero = |mean| mean == 0.0;
        greatest(&row.figure) == Some(0.0) && self.refined_mean(row).is_none_or(is_zero)
    }

    /// Why the cycles and nanoseconds of a row contradict each other or the clock.
    fn contradiction(&self, row: &Row) -> Option<String> {
        let (cycles, nanoseconds) = both(row)?;
        if nanoseconds < 0.0 {
            return Some(format!("{nanoseconds} ns is negative"));
        }
        let (low, high) = possible_hz(cycles, nanoseconds);
        let of_row = format!("{cycles} cycles in {nanoseconds} ns");
        if !self.is_stated && low > PLAUSIBLE_HZ.1 {
            return Some(format!("{of_row}: no clock is that fast"));
        }
        if !self.is_stated && high < PLAUSIBLE_HZ.0 {
            let hz = cycles / nanoseconds * 1e9;
            return Some(format!(
                "{of_row} means a clock of {hz:.4} Hz, which is too slow for this measurement"
            ));
        }
        let hz = self.hz? as f64;
        if low <= hz && hz <= high {
            return None;
        }
        let by = if self.is_stated {
            "the source states"
        } else {
            "most rows mean"
        };
        Some(format!(
            "{of_row} means a clock of {:.4} MHz, but {by} {:.4} MHz",
            // A value truncated to 0 is less than 1.
            cycles / if nanoseconds == 0.0 { 1.0 } else { nanoseconds } * 1e3,
            hz / 1e6
        ))
    }
}

/// The mean of a row in cycles and in nanoseconds, if it has both.
fn both(row: &Row) -> Option<(f64, f64)> {
    match &row.figure {
        Figure::Summary(stat) => Some((stat.mean?, row.nanoseconds?)),
        _ => None,
    }
}

/// The range of frequencies in hertz that the figures of a row allow. They may be truncated or rounded
/// to integers.
fn possible_hz(cycles: f64, nanoseconds: f64) -> (f64, f64) {
    let low = (cycles - 0.5) / (nanoseconds + 1.0);
    let high = if nanoseconds > 0.5 {
        (cycles + 1.0) / (nanoseconds - 0.5)
    } else {
        f64::INFINITY
    };
    (low * 1e9, high * 1e9)
}

/// The frequencies that a row allows, if it has at least one cycle and one nanosecond.
fn hz_of_row(row: &Row) -> Option<(f64, f64)> {
    let (cycles, nanoseconds) = both(row)?;
    let is_usable = cycles >= 1.0 && nanoseconds >= 1.0 && nanoseconds.is_finite();
    is_usable.then(|| possible_hz(cycles, nanoseconds))
}

/// The frequency that more than half of the rows allow; of several, the one with the fewest digits.
fn derived(rows: &[Row]) -> Option<u64> {
    let ranges: Vec<(f64, f64)> = rows.iter().filter_map(hz_of_row).collect();
    let possible = ranges
        .iter()
        .filter(|(low, high)| *low <= PLAUSIBLE_HZ.1 && *high >= PLAUSIBLE_HZ.0);
    let mut ends: Vec<(f64, i32)> = possible
        .flat_map(|(low, high)| [(*low, 1), (*high, -1)])
        .collect();
    // Ranges include their ends, so a range that starts where another ends overlaps it.
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

/// The integer from `low` to `high` with the fewest digits before its trailing zeros; of several, the one
/// nearest to the middle.
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
    use crate::stream::run::Clock;

    /// A row as Zephyr prints it: a mean in cycles and in nanoseconds.
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
            incomplete: None,
        }
    }

    /// The reason of each rejected row.
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
    fn plausible_figures_are_kept() {
        let kept = of(&[315.0, 289.0, 24.5, 6000.0, 17.0, 1.0]);
        assert!(kept.iter().all(Option::is_none), "{kept:?}");
    }

    #[test]
    fn zeros_are_rejected() {
        let all = of(&[0.0, 0.0, 0.0]);
        assert!(all.iter().flatten().all(|why| why.contains("did not run")));
        assert_eq!(all.iter().flatten().count(), 3);
        let one = of(&[315.0, 0.0, 289.0]);
        assert!(one[1]
            .as_ref()
            .is_some_and(|why| why.contains("below the resolution")));
        assert_eq!(one.iter().flatten().count(), 1);
    }

    #[test]
    fn negative_figures_are_rejected_signed_or_unsigned() {
        let found = of(&[
            315.0,
            -3.0,
            4_294_967_290.0,
            1.844_674_407_370_955e19,
            f64::NAN,
        ]);
        assert_eq!(found[0], None);
        assert!(found[1]
            .as_ref()
            .is_some_and(|why| why.contains("is negative")));
        assert!(found[2].as_ref().is_some_and(|why| why.contains("2^32")));
        assert!(found[3].as_ref().is_some_and(|why| why.contains("2^64")));
        assert!(found[4]
            .as_ref()
            .is_some_and(|why| why.contains("not a finite number")));
    }

    #[test]
    fn mean_with_a_wrap_is_rejected() {
        let found = of(&[120.0, 130.0, 33_684.0, 140.0, 300.0]);
        assert_eq!(found.iter().flatten().count(), 1);
        let why = found[2].as_ref().unwrap();
        assert!(why.contains("1 x 2^25/1000 above its neighbours"), "{why}");
        // Similar figures in all rows are not wraps.
        let usual = of(&[30_000.0, 31_000.0, 33_684.0, 28_000.0]);
        assert!(usual.iter().all(Option::is_none), "{usual:?}");
    }

    #[test]
    fn frequency_is_derived_from_most_rows_and_others_are_rejected() {
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
            why.contains("42.0042 MHz, but most rows mean 120.0000 MHz"),
            "{why}"
        );
        assert!(matches!(source.rows[0].figure, Figure::Summary(_)));
    }

    #[test]
    fn stated_frequency_is_checked_in_every_row() {
        let mut stated = source(vec![row(315.0, Some(2625.0)), row(289.0, Some(2416.0))]);
        stated.clock.hz = 100_000_000;
        let found = checked(stated);
        let contradicts = |why: &&String| why.contains("the source states 100.0000 MHz");
        assert_eq!(found.iter().flatten().filter(contradicts).count(), 2);
    }

    #[test]
    fn cycles_of_an_unknown_clock_are_not_times() {
        let mut unknown = source(vec![row(315.0, None)]);
        check(&mut unknown);
        assert_eq!((unknown.clock.unit, unknown.clock.hz), (Unit::Ticks, 0));
        let mut known = source(vec![row(315.0, None)]);
        known.clock = picosecond_clock();
        check(&mut known);
        assert_eq!(known.clock, picosecond_clock());
    }
}
