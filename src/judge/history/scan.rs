// SPDX-License-Identifier: MIT OR Apache-2.0

//! The scan of a level: do the last few values differ from those before them?
//!
//! The median of each window of the newest values is compared with the median of the values before
//! it. How far the two differ by chance is known from the same difference at earlier times, which
//! holds whatever the noise: correlated in time, with long tails or with two levels. Because these
//! are few, they are joined with what all metrics show.

use super::clock::DEVIATION;
use crate::statistics::distributions::t_p_value;

/// The sizes of the windows.
pub(super) const WINDOWS: [usize; 4] = [3, 5, 8, 12];
/// The most values before a window that it is compared with.
const BASE: usize = 60;
/// The fewest.
const LEAST_BASE: usize = 15;
/// The runs that a level needs before it is judged.
pub const RUNS_NEEDED: usize = LEAST_BASE + WINDOWS[0];
/// The fewest values before a window for a difference that only shows what chance does.
const LEAST_BASE_OF_CHANCE: usize = 8;
/// The most and the fewest differences that show what chance does.
const CHANCES: usize = 60;
const LEAST_CHANCES: usize = 4;
/// The values before the newest that a scan uses at most.
pub(super) const REACH: usize = BASE + CHANCES * (WINDOWS[3] / 3) + 2 * WINDOWS[3];
/// The share of a window's values that must lie beyond the middle between the two levels.
const BEYOND: f64 = 0.8;
/// Values could belong to either of two levels if they prefer one by at most this share of the
/// levels' distance.
const EITHER: f64 = 0.5;
/// How many of a metric's own differences the pool counts as much as.
const POOL_WEIGHT: f64 = 4.0;
/// The 90th percentile of the absolute value of a standard normal variable.
const NORMAL_P90: f64 = 1.645;
/// A t value below this is never significant.
const HOPELESS: f64 = 3.5;

/// How far a window and the values before it differ by chance, as a standard deviation, for each of
/// [`WINDOWS`].
pub(super) type Scales = [Option<f64>; WINDOWS.len()];

/// A level that begins within a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    /// The position of its first value, counted from the first value of the scan.
    pub(super) split: usize,
    /// By how much it differs from the level before.
    pub(super) size: f64,
    /// The middle between the two levels.
    pub(super) middle: f64,
}

/// The values of one level, oldest first, with what a scan needs of each moment.
#[derive(Default)]
pub(super) struct Scan {
    values: Vec<f64>,
    /// The newest [`BASE`] of them, sorted.
    sorted: Vec<f64>,
    /// For each value, the median of the values before it.
    bases: Vec<f64>,
    /// For each window and value, the difference of the window that ends there.
    differences: [Vec<f64>; WINDOWS.len()],
}

impl Scan {
    /// A scan of these values.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut scan = Scan::default();
        values.for_each(|value| scan.push(value));
        scan
    }

    /// Adds the newest value.
    pub(super) fn push(&mut self, value: f64) {
        self.bases.push(middle(&self.sorted));
        self.values.push(value);
        if let Some(oldest) = self.values.len().checked_sub(BASE + 1) {
            let at = position(&self.sorted, self.values[oldest]);
            self.sorted.remove(at);
        }
        self.sorted.insert(position(&self.sorted, value), value);
        let medians = self.medians_of_windows();
        let windows = WINDOWS.iter().zip(medians).zip(&mut self.differences);
        for ((window, median), differences) in windows {
            let start = self.values.len().checked_sub(*window);
            let base = start.map_or(f64::NAN, |start| self.bases[start]);
            differences.push(median - base);
        }
    }

    /// The median of the newest values for each window; NaN for windows that have too few.
    fn medians_of_windows(&self) -> [f64; WINDOWS.len()] {
        let mut medians = [f64::NAN; WINDOWS.len()];
        let mut sorted = [0.0; WINDOWS[WINDOWS.len() - 1]];
        let mut newest = self.values.iter().rev();
        let mut size = 0;
        for (window, median) in WINDOWS.into_iter().zip(&mut medians) {
            while size < window {
                let Some(&value) = newest.next() else {
                    return medians;
                };
                let mut at = size;
                while at > 0 && sorted[at - 1] > value {
                    sorted[at] = sorted[at - 1];
                    at -= 1;
                }
                sorted[at] = value;
                size += 1;
            }
            *median = middle(&sorted[..size]);
        }
        medians
    }

    /// What chance did before the newest values, for each window.
    pub(super) fn scales(&self) -> Scales {
        let mut scales = [None; WINDOWS.len()];
        for (at, scale) in scales.iter_mut().enumerate() {
            *scale = self.chance(at, self.values.len()).map(|(scale, _)| scale);
        }
        scales
    }

    /// How far windows of this size that end at `end` or before differ by chance, and from how many
    /// differences that is known. A few large ones count as much as many small ones.
    fn chance(&self, window: usize, end: usize) -> Option<(f64, usize)> {
        let size = WINDOWS[window];
        let mut differences = [0.0; CHANCES];
        let ends = (size + LEAST_BASE_OF_CHANCE..=end).rev();
        let mut count = 0;
        for (end, slot) in ends.step_by((size / 3).max(1)).zip(&mut differences) {
            *slot = self.differences[window][end - 1].abs();
            count += 1;
        }
        if count < LEAST_CHANCES {
            return None;
        }
        let differences = &mut differences[..count];
        let high = (count - 1) * 9 / 10;
        let (below, p90, _) = differences.select_nth_unstable_by(high, f64::total_cmp);
        let p90 = *p90;
        let median = if below.is_empty() {
            p90
        } else {
            *below
                .select_nth_unstable_by((count / 2).min(high - 1), f64::total_cmp)
                .1
        };
        Some(((median * DEVIATION).max(p90 / NORMAL_P90), count))
    }

    /// The level that begins with one of the windows: that with the smallest p value, if it is at
    /// most `level`. Only levels that differ by `margin` count.
    pub(super) fn shift(&self, pool: &Scales, level: f64, margin: f64) -> Option<Shift> {
        let tested = (0..WINDOWS.len()).filter_map(|window| {
            let shift = self.window(window, margin)?;
            let p = self.p(window, &shift, pool[window]?)?;
            (p <= level).then_some((p, shift))
        });
        let (_, shift) = tested.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(self.located(shift))
    }

    /// The level that begins with this window, if it differs by `margin` and most values agree.
    fn window(&self, window: usize, margin: f64) -> Option<Shift> {
        let size = *self.differences[window].last()?;
        if size.is_nan() || size.abs() < margin || size == 0.0 {
            return None;
        }
        let split = self.values.len() - WINDOWS[window];
        if split < LEAST_BASE {
            return None;
        }
        let shift = Shift {
            split,
            size,
            middle: self.bases[split] + 0.5 * size,
        };
        let beyond = self.values[split..].iter().filter(|v| shift.has(**v));
        (beyond.count() as f64 >= BEYOND * WINDOWS[window] as f64).then_some(shift)
    }

    /// The p value of a shift: Student's t, with the degrees of freedom that the scale is known by.
    fn p(&self, window: usize, shift: &Shift, pool: f64) -> Option<f64> {
        let (own, count) = self.chance(window, shift.split)?;
        // Differences of windows that overlap are not independent.
        let independent = (shift.split as f64 / WINDOWS[window] as f64).min(count as f64);
        let freedom = independent + POOL_WEIGHT;
        let variance = (independent * own * own + POOL_WEIGHT * pool * pool) / freedom;
        let t = shift.size / variance.sqrt();
        (t.abs() >= HOPELESS).then(|| t_p_value(t, freedom))
    }

    /// The same shift with the split that fits best: which values around it belong to which level?
    fn located(&self, shift: Shift) -> Shift {
        const AROUND: usize = 3;
        let from = shift.split.saturating_sub(AROUND).max(1);
        let until = (shift.split + AROUND).min(self.values.len() - 1);
        let mut cost = 0.0;
        let mut best = (0.0, from);
        for split in from..until {
            cost += shift.preference(self.values[split]);
            if cost < best.0 {
                best = (cost, split + 1);
            }
        }
        Shift {
            split: best.1,
            ..shift
        }
    }

    /// Whether a shift could as well begin at `split`: whether the values between there and where it
    /// fits best could belong to either level.
    pub(super) fn could_begin(&self, shift: &Shift, split: usize) -> bool {
        let between = shift.split.min(split)..shift.split.max(split);
        if split == 0 || split >= self.values.len() {
            return false;
        }
        let preferences = self.values[between].iter().map(|v| shift.preference(*v));
        preferences.sum::<f64>().abs() <= EITHER * shift.size.abs()
    }
}

impl Shift {
    /// Whether a value lies on the side of the new level.
    pub(super) fn has(&self, value: f64) -> bool {
        (value - self.middle) * self.size.signum() > 0.0
    }

    /// How much nearer a value is to the new level than to the old one.
    fn preference(&self, value: f64) -> f64 {
        let [old, new] = [-0.5, 0.5].map(|half| self.middle + half * self.size);
        (value - old).abs() - (value - new).abs()
    }
}

/// The median of sorted values; NaN without values.
fn middle(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
    }
}

/// Where a value stands among sorted ones.
fn position(sorted: &[f64], value: f64) -> usize {
    sorted.partition_point(|other| other.total_cmp(&value).is_lt())
}
