// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is wrong with the figures of other tools: a figure that cannot be right has no number.
//!
//! Each check answers to something that published logs hold: suites that print zeros and say
//! "successful", differences of time stamps that went below 0 and were printed as unsigned,
//! means into which wraps of a counter or such differences got, means that lie outside of their own
//! samples, clocks that are too slow for what they time, and times that are not those of the cycles
//! beside them.
//!
//! Wraps are looked for only where a source gives ticks of a counter ([`is_counter`]): a time that
//! was computed from such ticks no longer has their powers of two.

use super::{is_counter, Figure, Printed, Row, Source};
use crate::statistics::order;
use crate::stream::run::{Clock, Stat, Unit, PICOSECONDS};

/// How many samples a mean may be of where its source does not say.
const USUAL_SAMPLES: [u64; 3] = [1, 1000, 10_000];
/// The most usual of them.
const MOST_USUAL_SAMPLES: u64 = 1000;
/// Bits of counters whose wraps get into means.
const COUNTERS: [i32; 3] = [24, 25, 32];
/// Most wraps in a mean that is otherwise like its neighbours.
const MOST_WRAPS: u64 = 3;
/// Most wraps in a mean that is little else than wraps.
const MOST_BARE_WRAPS: u64 = 16;
/// How far such a mean may be from the wraps, on either side, as a share of them.
const NEAR_WRAPS: f64 = 1e-3;
/// How many times the greatest row that is no such mean it must be.
const FAR_FROM_OTHERS: f64 = 20.0;
/// Rows before and after a row that are its neighbours.
const NEIGHBOURS: usize = 2;
/// How many times the greatest of its neighbours a row may be, a wrap taken away.
const LIKE_NEIGHBOURS: f64 = 4.0;
/// How far below a power of two a value is taken for a negative one, as a share of that power.
const NEGATIVE: f64 = 1.0 / 256.0;
/// How far figures of one row may be out of order, as a share of the greater: it is what binary
/// fractions lose.
const OUT_OF_ORDER: f64 = 1e-6;
/// Hertz of the slowest and the fastest counter that may be true. Slower than 1 kHz is what times
/// the ticks of an operating system.
const CLOCKS: (f64, f64) = (1e3, 1e10);

/// Gives up the figures of a source that cannot be right, each with its reason, finds the
/// frequency of its clock where the source does not state it, and makes means as fine as the
/// nanoseconds beside them.
pub fn check(source: &mut Source) {
    let checks = Checks::of(source);
    let mut reasons: Vec<Option<String>> = (0..source.rows.len())
        .map(|at| checks.reason(&source.rows, at))
        .collect();
    if is_counter(&source.clock) {
        bare_wraps(&source.rows, &mut reasons);
    }
    for (row, reason) in source.rows.iter_mut().zip(reasons) {
        match (reason, checks.frequency.finer(row), &mut row.figure) {
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

/// What the rows of a source are held against, each by itself or beside the others.
struct Checks {
    clock: Clock,
    frequency: Frequency,
    values: Vec<Option<f64>>,
    /// No row has anything but zeros.
    is_stopped: bool,
    /// The least time that the clock can tell, in ticks, where that is too long.
    step: Option<f64>,
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
            step: slow_step(&source.rows, &clock),
            clock,
            frequency,
            values,
            is_stopped,
        }
    }

    /// Why a row can have no number.
    fn reason(&self, rows: &[Row], at: usize) -> Option<String> {
        let row = &rows[at];
        if self.values[at].is_none() {
            return nothing(&row.figure);
        }
        let printed = row.printed.unwrap_or_else(|| Printed::by(&self.clock));
        zero(self.frequency.is_zero(row), self.is_stopped)
            .or_else(|| negative(&row.figure, printed))
            .or_else(|| unsigned(&row.figure, printed))
            .or_else(|| out_of_order(&row.figure, printed))
            .or_else(|| self.too_slow(printed))
            .or_else(|| self.wrapped(&row.figure, at))
            .or_else(|| self.frequency.contradicts(row))
    }

    fn too_slow(&self, printed: Printed) -> Option<String> {
        let step = self.step?;
        Some(format!(
            "its clock is too slow: of no row it tells anything between 0 and {}",
            printed.text(step)
        ))
    }

    /// A mean into which wraps of a counter got: taken away, the row is like its neighbours.
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
        let most = neighbours.iter().copied().reduce(f64::max)? * LIKE_NEIGHBOURS;
        let mean = stat.mean?;
        let samples = match stat.samples {
            0 | 1 => MOST_USUAL_SAMPLES,
            samples => samples,
        };
        let wrap = wraps(MOST_WRAPS, &[samples]).find(|wrap| {
            let rest = mean - wrap.ticks();
            rest > 0.0 && rest <= most && most < wrap.one() && wrap.may_be_in(stat)
        })?;
        Some(format!(
            "{} is {wrap} above its neighbours (about {median:.0}): a counter wrapped in {} of \
             {samples} samples",
            number(mean),
            wrap.times,
        ))
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

fn greatest(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Samples(samples) => samples.max().map(|ticks| ticks.0 as f64),
        Figure::Summary(stat) => figures(stat).reduce(f64::max),
        Figure::Skipped(_) | Figure::Failed(_) => None,
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
fn zero(is_zero: bool, is_stopped: bool) -> Option<String> {
    let why = if is_stopped {
        "0, as all others: its clock did not run"
    } else {
        "0: less than its clock can tell, or not measured"
    };
    is_zero.then(|| why.to_owned())
}

fn negative(figure: &Figure, printed: Printed) -> Option<String> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    if figures(stat).any(|figure| !figure.is_finite()) {
        return Some("a figure of it is no number".to_owned());
    }
    let least = figures(stat).reduce(f64::min)?;
    (least < 0.0).then(|| {
        let least = printed.text(least);
        format!("{least} is below 0: more was subtracted than was measured")
    })
}

/// A negative difference that was printed as an unsigned number, or more than can be measured.
fn unsigned(figure: &Figure, printed: Printed) -> Option<String> {
    let greatest = greatest(figure)?;
    let shown = printed.text(greatest);
    let count = greatest / printed.ticks;
    if printed.is_unsigned {
        for bits in [32, 64] {
            let power = 2f64.powi(bits);
            if count >= power * (1.0 - NEGATIVE) && count <= power {
                return Some(format!(
                    "{shown} is just below 2^{bits}: a negative difference, printed as unsigned"
                ));
            }
        }
    }
    (greatest > 2f64.powi(64)).then(|| format!("{shown} is more than 64 bits hold"))
}

/// A mean or a median that lies outside of the samples that it is of.
fn out_of_order(figure: &Figure, printed: Printed) -> Option<String> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    let named = |name: &'static str, figure: Option<f64>| Some((name, figure?));
    let (min, max) = (named("least", stat.min), named("greatest", stat.max));
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
        (low > high + high.abs() * OUT_OF_ORDER).then(|| {
            let (low, high) = (printed.text(low), printed.text(high));
            format!("its {low_name}, {low}, is more than its {high_name}, {high}")
        })
    })
}

/// The least that a clock tells of any row, in ticks, where that is longer than a period of the
/// slowest clock that is fit to time anything, although some rows are 0 throughout.
fn slow_step(rows: &[Row], clock: &Clock) -> Option<f64> {
    let stats = || {
        rows.iter().filter_map(|row| match &row.figure {
            Figure::Summary(stat) => Some(stat),
            _ => None,
        })
    };
    let ends = || stats().flat_map(|stat| [stat.min, stat.max]).flatten();
    let step = ends().filter(|end| *end > 0.0).reduce(f64::min)?;
    let is_slow = clock.nanoseconds(step)? > 1e9 / CLOCKS.0;
    let any_zero = stats().any(|stat| stat.max == Some(0.0));
    (is_slow && any_zero).then_some(step)
}

/// Wraps of a counter as they stand in a mean.
struct Wrap {
    times: u64,
    bits: i32,
    /// What the mean is of.
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
    /// What one of them adds to the mean.
    fn one(&self) -> f64 {
        2f64.powi(self.bits) / self.samples as f64
    }

    /// What all of them add to it.
    fn ticks(&self) -> f64 {
        self.one() * self.times as f64
    }

    /// Whether the other figures of a row leave room for it: one sample must be as long as a wrap,
    /// and the mean further from the median, or from the least, than the wraps take it.
    fn may_be_in(&self, stat: &Stat) -> bool {
        let near = 1.0 - NEAR_WRAPS;
        let is_long = |max: f64| max >= 2f64.powi(self.bits) * near;
        let ordinary = stat.median.or(stat.min).unwrap_or(0.0);
        let is_far = |mean: f64| mean - ordinary >= self.ticks() * near;
        stat.max.is_none_or(is_long) && stat.mean.is_some_and(is_far)
    }
}

/// Up to so many wraps of all counters, in means of so many samples; the fewest wraps first.
fn wraps(most: u64, samples: &[u64]) -> impl Iterator<Item = Wrap> + '_ {
    let with = move |times, bits| {
        let wrap = move |samples: &u64| Wrap {
            times,
            bits,
            samples: *samples,
        };
        samples.iter().map(wrap)
    };
    (1..=most).flat_map(move |times| COUNTERS.into_iter().flat_map(move |bits| with(times, bits)))
}

/// Refuses means that are little else than wraps: differences just below 0, added up as unsigned,
/// or wraps of a counter. They stick out of all other rows that have a number.
fn bare_wraps(rows: &[Row], reasons: &mut [Option<String>]) {
    let found: Vec<Option<Wrap>> = rows.iter().map(|row| bare_wrap(&row.figure)).collect();
    let others = rows.iter().zip(reasons.iter()).zip(&found);
    let sound = others.filter(|((_, reason), found)| reason.is_none() && found.is_none());
    let values = sound.filter_map(|((row, _), _)| value(&row.figure));
    let Some(greatest) = values.reduce(f64::max) else {
        return;
    };
    for ((row, reason), found) in rows.iter().zip(reasons).zip(&found) {
        let (Figure::Summary(stat), None, Some(wrap)) = (&row.figure, &reason, found) else {
            continue;
        };
        let mean = stat.mean.unwrap_or(0.0);
        if mean > greatest * FAR_FROM_OTHERS {
            *reason = Some(format!(
                "{} is {wrap} but for {:.2} %, and the greatest of the other rows is {}: a counter \
                 wrapped, or a negative difference was added up as unsigned",
                number(mean),
                (mean / wrap.ticks() - 1.0).abs() * 100.0,
                number(greatest),
            ));
        }
    }
}

/// The wraps that a mean is near.
fn bare_wrap(figure: &Figure) -> Option<Wrap> {
    let Figure::Summary(stat) = figure else {
        return None;
    };
    let told = [stat.samples];
    let samples = if stat.samples > 1 {
        &told[..]
    } else {
        &USUAL_SAMPLES
    };
    let mean = stat.mean?;
    let is_near = |wrap: &Wrap| {
        let ticks = wrap.ticks();
        (mean - ticks).abs() <= ticks * NEAR_WRAPS && wrap.may_be_in(stat)
    };
    let mut all = wraps(MOST_BARE_WRAPS, samples);
    all.find(is_near)
}

impl Printed {
    /// How a source prints the figures of a row that says nothing of it, by its clock.
    fn by(clock: &Clock) -> Self {
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

    /// A figure as the source prints it.
    fn text(self, ticks: f64) -> String {
        let text = format!("{} {}", number(ticks / self.ticks), self.unit);
        text.trim_end().to_owned()
    }
}

/// A number without the digits that a conversion put behind it.
fn number(number: f64) -> String {
    let digits = format!("{number:.6}");
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
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

    /// The mean of a row in cycles, from its nanoseconds, where these are the finer of two figures
    /// that were both cut or rounded to whole numbers.
    fn finer(&self, row: &Row) -> Option<f64> {
        let (hz, (cycles, nanoseconds)) = (self.hz? as f64, both(row)?);
        let is_whole = cycles.fract() == 0.0 && nanoseconds.fract() == 0.0;
        if !is_whole || hz >= 1e9 || self.contradicts(row).is_some() {
            return None;
        }
        let (low, high) = (nanoseconds * hz / 1e9, (nanoseconds + 1.0) * hz / 1e9);
        // Nanoseconds that begin before a whole cycle and end after it say no more than that.
        let is_cycle = low <= cycles && cycles < high;
        Some(if is_cycle { cycles } else { low })
    }

    /// Whether a row is 0 throughout, its nanoseconds too where they are the finer figure.
    fn is_zero(&self, row: &Row) -> bool {
        greatest(&row.figure) == Some(0.0) && self.finer(row).is_none_or(|mean| mean == 0.0)
    }

    /// Why the nanoseconds of a row are not those of its cycles.
    fn contradicts(&self, row: &Row) -> Option<String> {
        let (cycles, nanoseconds) = both(row)?;
        if nanoseconds < 0.0 {
            return Some(format!("{nanoseconds} ns are below 0"));
        }
        let (low, high) = allowed(cycles, nanoseconds);
        let of_row = format!("{cycles} cycles in {nanoseconds} ns");
        if !self.is_stated && low > CLOCKS.1 {
            return Some(format!("{of_row}: no clock is so fast"));
        }
        if !self.is_stated && high < CLOCKS.0 {
            let hz = cycles / nanoseconds * 1e9;
            return Some(format!(
                "{of_row} make a clock of {hz:.4} Hz: none that is so slow can time this"
            ));
        }
        let hz = self.hz? as f64;
        if low <= hz && hz <= high {
            return None;
        }
        let by = if self.is_stated {
            "the source states"
        } else {
            "most rows say"
        };
        Some(format!(
            "{of_row} make a clock of {:.4} MHz, {by} {:.4} MHz",
            // What was cut to 0 is less than 1.
            cycles / if nanoseconds == 0.0 { 1.0 } else { nanoseconds } * 1e3,
            hz / 1e6
        ))
    }
}

/// The mean of a row, in cycles, and the nanoseconds beside it.
fn both(row: &Row) -> Option<(f64, f64)> {
    match &row.figure {
        Figure::Summary(stat) => Some((stat.mean?, row.nanoseconds?)),
        _ => None,
    }
}

/// The frequencies, in hertz, that the figures of a row allow, whether these were cut or rounded to
/// integers.
fn allowed(cycles: f64, nanoseconds: f64) -> (f64, f64) {
    let low = (cycles - 0.5) / (nanoseconds + 1.0);
    let high = if nanoseconds > 0.5 {
        (cycles + 1.0) / (nanoseconds - 0.5)
    } else {
        f64::INFINITY
    };
    (low * 1e9, high * 1e9)
}

/// The frequencies that a row tells of: it has a whole cycle and a whole nanosecond.
fn told(row: &Row) -> Option<(f64, f64)> {
    let (cycles, nanoseconds) = both(row)?;
    let tells = cycles >= 1.0 && nanoseconds >= 1.0 && nanoseconds.is_finite();
    tells.then(|| allowed(cycles, nanoseconds))
}

/// The frequency that more than half of the rows allow, the one with the fewest digits.
fn derived(rows: &[Row]) -> Option<u64> {
    let ranges: Vec<(f64, f64)> = rows.iter().filter_map(told).collect();
    let possible = ranges
        .iter()
        .filter(|(low, high)| *low <= CLOCKS.1 && *high >= CLOCKS.0);
    let mut ends: Vec<(f64, i32)> = possible
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
    use crate::stream::run::Clock;

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
