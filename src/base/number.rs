// SPDX-License-Identifier: MIT OR Apache-2.0

//! Formats numbers for people: a value in, text out.
//!
//! Rounding never changes a figure by more than 1 %. A figure has at least three significant digits,
//! or all its digits if it is an integer with fewer. Its interval, not its digits, shows how certain it
//! is.

/// The fewest significant digits of any figure.
const MIN_DIGITS: i32 = 3;
/// The most significant digits, when the measurement supports them.
const MAX_DIGITS: i32 = 4;
/// A value whose first digit is below this power of ten is a floating-point rounding error.
const ROUNDING_ERROR: i32 = -6;

/// The decimal place of the last digit shown, as a power of ten: 2 for hundreds, -1 for tenths.
/// [`show`](Self::show) shows more digits when a value needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(i32);

impl Place {
    /// The place up to which the interval supports the digits of a value: the first digit of half the
    /// interval's width, and at most four significant digits. Without an interval: three significant
    /// digits.
    ///
    /// `grain` is the resolution of the measurement, in the unit of the value.
    #[must_use]
    pub fn of(value: f64, interval: Option<(f64, f64)>, grain: f64) -> Self {
        let Some(first) = magnitude(value) else {
            return Place(magnitude(grain).unwrap_or(0));
        };
        Place(match interval {
            None => first - MIN_DIGITS + 1,
            Some((low, high)) => magnitude(((high - low) / 2.0).max(grain))
                .unwrap_or(i32::MIN)
                .max(first - MAX_DIGITS + 1),
        })
    }

    /// The place for a single value that is shown next to one with this place.
    #[must_use]
    pub fn beside(self, value: f64) -> Self {
        let coarse = magnitude(value).map_or(self.0, |first| first - MAX_DIGITS + 1);
        Place(self.0.max(coarse))
    }

    /// The place that gives a value this many significant digits (three or more).
    #[must_use]
    pub fn significant(value: f64, digits: i32) -> Self {
        Place(magnitude(value).map_or(0, |first| first - digits + 1))
    }

    /// This many digits after the decimal point.
    #[must_use]
    pub fn decimals(digits: i32) -> Self {
        Place(-digits)
    }

    /// The value rounded to this place, or to a finer place if rounding would change it by more than
    /// 1 %. Commas separate thousands. `-` for infinity and NaN.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_owned();
        }
        let place = self.0.min(coarsest(value));
        let text = if place > 0 {
            let rounded = (value / 10f64.powi(place)).round();
            if rounded == 0.0 {
                "0".to_owned()
            } else {
                format!("{rounded:.0}{}", "0".repeat(place.unsigned_abs() as usize))
            }
        } else {
            format!("{value:.*}", place.unsigned_abs() as usize)
        };
        let digits = text.strip_prefix('-').unwrap_or(&text);
        if digits.bytes().all(|b| b == b'0' || b == b'.') {
            return digits.to_owned();
        }
        let separated = with_commas(digits);
        match text.strip_prefix('-') {
            Some(_) => format!("-{separated}"),
            None => separated,
        }
    }
}

/// The power of ten of the first digit. `None` for 0, infinity and NaN.
fn magnitude(value: f64) -> Option<i32> {
    (value.is_finite() && value != 0.0).then(|| value.abs().log10().floor() as i32)
}

/// The coarsest place at which a value may be rounded. Integers need no digits after the point.
fn coarsest(value: f64) -> i32 {
    match magnitude(value).filter(|first| *first >= ROUNDING_ERROR) {
        None => i32::MAX,
        Some(first) if value.fract() == 0.0 => (first - MIN_DIGITS + 1).max(0),
        Some(first) => first - MIN_DIGITS + 1,
    }
}

fn with_commas(digits: &str) -> String {
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::with_capacity(digits.len() + whole.len() / 3);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

/// A unit of time that a value is shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// `ns`, `us`, `ms` or `s`.
    pub name: &'static str,
    nanoseconds: f64,
}

impl TimeUnit {
    /// The largest unit in which a time in nanoseconds is 1 or more; nanoseconds below that.
    #[must_use]
    pub fn of(nanoseconds: f64) -> Self {
        let unit = |(name, nanoseconds)| TimeUnit { name, nanoseconds };
        [("s", 1e9), ("ms", 1e6), ("us", 1e3)]
            .into_iter()
            .map(unit)
            .find(|unit| nanoseconds.abs() >= unit.nanoseconds)
            .unwrap_or(unit(("ns", 1.0)))
    }

    /// A time in this unit, from nanoseconds.
    #[must_use]
    pub fn convert(self, nanoseconds: f64) -> f64 {
        nanoseconds / self.nanoseconds
    }
}

/// A count, with commas between thousands: `12,345`.
#[must_use]
pub fn count(value: u64) -> String {
    with_commas(&value.to_string())
}

/// A count with its noun: `1 sample`, `2 samples`.
#[must_use]
pub fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", self::count(count))
}

/// A quantity per second with a decimal prefix: `5.21 GB/s`, `12.3 M/s`. `unit` is `B`, or empty for
/// items.
#[must_use]
pub fn rate(per_second: f64, unit: &str) -> String {
    let (scale, prefix) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(scale, _)| per_second.abs() >= *scale)
        .unwrap_or((1.0, ""));
    let value = per_second / scale;
    let text = Place::significant(value, MIN_DIGITS).show(value);
    format!("{text} {prefix}{unit}/s")
}

/// A percentage with three significant digits: `12.3 %`.
#[must_use]
pub fn percent(percent: f64) -> String {
    format!(
        "{} %",
        Place::significant(percent, MIN_DIGITS).show(percent)
    )
}

/// A signed difference in per cent with three significant digits: `+12.3 %`, `-3.44 %`. Exactly 0 is
/// `=`, a difference below 0.01 % is `+<0.01 %` or `-<0.01 %`.
#[must_use]
pub fn change(percent: f64) -> String {
    const LARGE: f64 = 1e6;
    if !percent.is_finite() {
        return "-".to_owned();
    }
    if percent == 0.0 {
        return "=".to_owned();
    }
    let sign = if percent < 0.0 { '-' } else { '+' };
    let size = percent.abs();
    if size < 0.01 {
        return format!("{sign}<0.01 %");
    }
    if size >= LARGE {
        return format!("{sign}{size:.2e} %");
    }
    let place = Place::significant(size, MIN_DIGITS).min(Place::decimals(0));
    format!("{sign}{} %", place.show(size))
}

/// A frequency with up to three decimals: `2.596 GHz`.
#[must_use]
pub fn frequency(hz: u64) -> String {
    let (scale, prefix) = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(scale, _)| hz as f64 >= *scale)
        .unwrap_or((1.0, ""));
    let value = hz as f64 / scale;
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {prefix}Hz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_the_unit_that_suits_them() {
        for (nanoseconds, name, value) in [
            (0.0, "ns", 0.0),
            (0.3, "ns", 0.3),
            (999.9, "ns", 999.9),
            (1000.0, "us", 1.0),
            (-2500.0, "us", -2.5),
            (13_800_000.0, "ms", 13.8),
            (2e9, "s", 2.0),
            (7.2e12, "s", 7200.0),
        ] {
            let unit = TimeUnit::of(nanoseconds);
            assert_eq!(unit.name, name);
            assert_eq!(Some(unit.convert(nanoseconds)), Some(value));
        }
    }

    fn shown(value: f64, half: f64) -> String {
        Place::of(value, Some((value - half, value + half)), 0.0).show(value)
    }

    /// The value that a reader takes from a figure.
    fn read(text: &str) -> f64 {
        let digits: String = text.chars().filter(|c| !"+% ,".contains(*c)).collect();
        digits.parse().unwrap_or_else(|_| panic!("{text}"))
    }

    #[test]
    fn rounding_changes_no_figure_by_more_than_one_per_cent() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..100_000 {
            let mut figure = || 10f64.powf(random.f64() * 12.0 - 3.0);
            let (value, other, low, high, grain) =
                (figure(), figure(), figure(), figure(), figure());
            let place = Place::of(value, Some((low.min(high), low.max(high))), grain);
            let bare = Place::of(value, None, grain);
            for (of, text) in [
                (value, place.show(value)),
                (other, place.show(other)),
                (-other, place.show(-other)),
                (other, bare.show(other)),
                (other, change(other.max(0.01))),
            ] {
                let of = if text.ends_with('%') {
                    of.max(0.01)
                } else {
                    of
                };
                let off = (read(&text) - of).abs() / of.abs();
                assert!(off <= 0.01, "{of} is shown as {text}, beside {value}");
            }
        }
    }

    #[test]
    fn wide_interval_keeps_needed_digits() {
        let place = Place::of(13_760.0, Some((13_050.0, 109_800.0)), 0.4);
        let shown = [13_760.0, 13_050.0, 109_800.0, 12.34].map(|value| place.show(value));
        assert_eq!(shown, ["13,800", "13,100", "110,000", "12.3"]);
    }

    #[test]
    fn interval_decides_on_fourth_digit() {
        let cases = [
            (1183.42, 60.0, "1,180"),
            (1183.42, 600.0, "1,180"),
            (1183.42, 3.5, "1,183"),
            (1183.42, 0.01, "1,183"),
            (24.013, 0.02, "24.01"),
            (24.013, 0.2, "24.0"),
            (24.013, 2.0, "24.0"),
            (0.2713, 5.0, "0.271"),
            (1_056_321.0, 0.0, "1,056,000"),
            (9.9996, 0.001, "10.000"),
        ];
        for (value, half, text) in cases {
            assert_eq!(shown(value, half), text, "{value} +- {half}");
        }
    }

    #[test]
    fn three_digits_without_interval() {
        assert_eq!(Place::of(1183.4, None, 1.0).show(1183.4), "1,180");
        assert_eq!(Place::of(0.5012, None, 1.0).show(0.5012), "0.501");
    }

    #[test]
    fn fourth_digit_is_not_finer_than_the_clock() {
        let same = Some((1183.4, 1183.4));
        assert_eq!(Place::of(1183.4, same, 10.0).show(1183.4), "1,180");
        assert_eq!(Place::of(1183.4, same, 0.4).show(1183.4), "1,183");
        assert_eq!(
            Place::of(318.0, Some((318.0, 318.0)), 1.0).show(318.0),
            "318"
        );
        assert_eq!(
            Place::of(33.4, Some((33.4, 33.4)), 200.0).show(33.4),
            "33.4"
        );
    }

    #[test]
    fn zero_has_no_sign_and_nan_no_digits() {
        assert_eq!(Place(-2).show(-1e-7), "0.00");
        assert_eq!(Place(1).show(-0.0), "0");
        assert_eq!(Place(1).show(-2.0), "-2");
        assert_eq!(Place(0).show(f64::NAN), "-");
        assert_eq!(Place(0).show(-1234.0), "-1,234");
        assert_eq!(Place::of(0.0, Some((0.0, 0.0)), 0.0).show(0.0), "0");
    }

    #[test]
    fn changes_have_a_sign_and_three_digits() {
        let cases = [
            (0.0, "="),
            (12.34, "+12.3 %"),
            (-3.44, "-3.44 %"),
            (0.056, "+0.0560 %"),
            (-0.001, "-<0.01 %"),
            (123.4, "+123 %"),
            (2345.6, "+2,346 %"),
            (-100.0, "-100 %"),
            (1.263e9, "+1.26e9 %"),
            (f64::INFINITY, "-"),
        ];
        for (percent, text) in cases {
            assert_eq!(change(percent), text);
        }
    }

    #[test]
    fn rates_and_frequencies_have_prefixes() {
        assert_eq!(rate(5.2149e9, "B"), "5.21 GB/s");
        assert_eq!(rate(12.34e6, ""), "12.3 M/s");
        assert_eq!(rate(999.0, "B"), "999 B/s");
        assert_eq!(frequency(2_596_128_038), "2.596 GHz");
        assert_eq!(frequency(120_000_000), "120 MHz");
        assert_eq!(frequency(32_768), "32.768 kHz");
        assert_eq!(
            count(18_446_744_073_709_551_615),
            "18,446,744,073,709,551,615"
        );
    }
}
