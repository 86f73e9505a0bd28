// SPDX-License-Identifier: MIT OR Apache-2.0

//! A permutation test of many quantities at once: their values in two groups of sessions in, an
//! adjusted p value of each out.
//!
//! Westfall and Young's step-down maxT (P. H. Westfall, S. S. Young, *Resampling-Based Multiple
//! Testing*, 1993; Y. Ge, S. Dudoit, T. P. Speed, *Test* 12, 2003). If nothing changed, every
//! assignment of the labels "base" and "new" to the sessions is equally likely. A relabelling applies
//! to *all* quantities at once, so the test uses their dependence: metrics that one slow session moves
//! together count about as one. The adjusted p value of a quantity is the share of relabellings in
//! which the largest statistic, among this quantity and all with a smaller observed statistic, is at
//! least the observed one. The smallest possible p value is 2 / C(2n, n), regardless of the number of
//! quantities.
//!
//! The statistic is a studentised difference of means. When times are also known in clock readings, it
//! is the smaller of the two differences, and 0 if they have opposite signs.

/// The values of one quantity in every session. All series of a test list the sessions in the same
/// order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The value in each session. NaN if a session has none.
    pub values: Vec<f64>,
    /// The same values in readings of the session's own clock, if known.
    pub readings: Option<Vec<f64>>,
    /// The standard error that the clock's resolution adds to the difference, in the unit of the
    /// values.
    pub floor: f64,
}

/// How the sessions are divided into base and new, and into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Whether each session belongs to the new side.
    is_new: Vec<bool>,
    /// The sessions of each block. Labels are permuted within blocks only.
    blocks: Vec<Vec<usize>>,
}

/// Up to this number, all relabellings are enumerated: up to 7 against 7 sessions.
const MAX_ENUMERATED: f64 = 4_000.0;
/// If there are more, this many are drawn at random, including the observed one. They determine a p
/// value of 1 % to within 0.3 %. For the small p values that many metrics require, the caller relies
/// on Welch's test.
const DRAWN: usize = 1_000;
/// The seed of the random draws, fixed so that the same values always give the same result.
const SEED: u64 = 0x6b65_726e_6d61_726b;
/// Statistics that differ by less than this, absolute or relative, count as equal: the sums were
/// rounded in different orders.
const TIE: f64 = 1e-9;

/// The result of a joint test.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The adjusted p value of each series, in the order given.
    pub p: Vec<f64>,
    /// The largest statistic of each relabelling, in ascending order.
    largest: Vec<f64>,
}

impl Joint {
    /// The statistic that a single change must reach at a significance level between 0 and 1.
    /// Infinite if there are too few sessions to reach it.
    #[must_use]
    pub fn critical(&self, level: f64) -> f64 {
        let beyond = (level * self.largest.len() as f64 * (1.0 + TIE)) as usize;
        match beyond {
            0 => f64::INFINITY,
            beyond => self.largest[self.largest.len() - beyond],
        }
    }
}

/// A difference of means with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Mean of the new side minus mean of the base. With blocks, the weighted mean of the blocks'
    /// differences; a block with m and n sessions has the weight mn / (m + n).
    pub estimate: f64,
    /// Its standard error, combined with the series' floor (square root of the sum of squares).
    pub error: f64,
    /// Degrees of freedom (B. L. Welch, *Biometrika* 34, 1947).
    pub freedom: f64,
    /// The base and the new side.
    sides: [Side; 2],
}

/// The spread of one side, which contributes to the error of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    /// The variance of its values.
    variance: f64,
    /// The number of its values.
    values: f64,
    /// Degrees of freedom of the variance.
    freedom: f64,
}

impl Shift {
    /// The natural logarithm of the new side's variance over the base's. `None` if either is 0.
    #[must_use]
    pub fn log_variance_ratio(&self) -> Option<f64> {
        let [base, new] = self.sides;
        let ratio = (new.variance / base.variance).ln();
        ratio.is_finite().then_some(ratio)
    }

    /// Limits the degrees of freedom to those of two sides whose variances have this ratio.
    ///
    /// Welch's degrees of freedom depend on the observed variances of a few values. If the noisier
    /// side happens to have a small variance, the difference looks significant and the degrees of
    /// freedom look high at the same time. The typical ratio over most quantities avoids this. With
    /// 240 tests and one side four times as noisy, Holm's correction at 1 % errs in 2.1 % of
    /// comparisons (10 against 10 sessions) and 6.7 % (20 against 6) without this limit, and in
    /// 0.8 % and 0.2 % with it.
    pub fn limit_freedom(&mut self, log_variance_ratio: f64) {
        let [base, new] = self.sides;
        let (of_base, of_new) = (1.0 / base.values, log_variance_ratio.exp() / new.values);
        let squares = of_base * of_base / base.freedom + of_new * of_new / new.freedom;
        self.freedom = self.freedom.min((of_base + of_new).powi(2) / squares);
    }
}

impl Design {
    /// A design of sessions, each base or new. `blocks` gives the block number of each session, if
    /// there are blocks.
    #[must_use]
    pub fn new(is_new: Vec<bool>, blocks: Option<&[usize]>) -> Self {
        let mut sessions: Vec<Vec<usize>> = Vec::new();
        for session in 0..is_new.len() {
            let block = blocks.map_or(0, |blocks| blocks[session]);
            if sessions.len() <= block {
                sessions.resize(block + 1, Vec::new());
            }
            sessions[block].push(session);
        }
        sessions.retain(|block| !block.is_empty());
        Design {
            is_new,
            blocks: sessions,
        }
    }

    /// The number of base and of new sessions.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        let new = self.is_new.iter().filter(|new| **new).count();
        (self.is_new.len() - new, new)
    }

    /// The smallest possible adjusted p value. See [`least_p`].
    #[must_use]
    pub fn least_p(&self) -> f64 {
        least_p(&self.block_sizes())
    }

    fn block_sizes(&self) -> Vec<(usize, usize)> {
        let sizes = |block: &Vec<usize>| {
            let new = block.iter().filter(|session| self.is_new[**session]);
            let new = new.count();
            (block.len() - new, new)
        };
        self.blocks.iter().map(sizes).collect()
    }

    /// Values minus the mean of their block, so that only differences within blocks count. Sessions
    /// in a block without sessions of the other side carry no information: they become NaN.
    fn centred(&self, values: &[f64]) -> Vec<f64> {
        let mut centred = vec![f64::NAN; values.len()];
        for block in &self.blocks {
            let known = block.iter().filter(|session| !values[**session].is_nan());
            let known: Vec<usize> = known.copied().collect();
            let new = known.iter().filter(|session| self.is_new[**session]);
            let new = new.count();
            if new == 0 || new == known.len() {
                continue;
            }
            let mean = known.iter().map(|s| values[*s]).sum::<f64>() / known.len() as f64;
            for session in known {
                centred[session] = values[session] - mean;
            }
        }
        centred
    }

    /// The observed difference. `floor` is that of [`Series::floor`].
    /// `None` with fewer than two sessions on a side, or if the blocks leave no degrees of freedom to
    /// estimate the error.
    #[must_use]
    pub fn difference(&self, values: &[f64], floor: f64) -> Option<Shift> {
        let centred = self.centred(values);
        let known = |new: bool| {
            let sessions = centred.iter().zip(&self.is_new);
            let of_side =
                sessions.filter(move |(value, is_new)| **is_new == new && !value.is_nan());
            of_side.map(|(value, _)| *value)
        };
        let sums = |new: bool| Sums {
            count: known(new).count() as f64,
            sum: known(new).sum(),
            squares: known(new).map(|value| value * value).sum(),
        };
        let (base, new) = (sums(false), sums(true));
        let blocks = self.blocks_with(&centred);
        let moments = Moments::of(&base, &new, blocks.len())?;
        // With unequal blocks, the mean of the centred values is only proportional to the estimate.
        let weights: f64 = blocks.iter().map(|(m, n)| m * n / (m + n)).sum();
        let scale = 1.0 / ((1.0 / base.count + 1.0 / new.count) * weights);
        let variance = moments.base + moments.new;
        let squares =
            moments.base.powi(2) / moments.base_freedom + moments.new.powi(2) / moments.new_freedom;
        let freedom = if squares > 0.0 {
            variance.powi(2) / squares
        } else {
            moments.base_freedom + moments.new_freedom
        };
        Some(Shift {
            estimate: scale * moments.difference,
            error: (scale * scale * variance + floor * floor).sqrt(),
            freedom,
            sides: [
                Side {
                    variance: moments.base * base.count,
                    values: base.count,
                    freedom: moments.base_freedom,
                },
                Side {
                    variance: moments.new * new.count,
                    values: new.count,
                    freedom: moments.new_freedom,
                },
            ],
        })
    }

    /// The number of base and new values of each block that has both.
    fn blocks_with(&self, centred: &[f64]) -> Vec<(f64, f64)> {
        let sizes = self.blocks.iter().map(|block| {
            let known = block.iter().filter(|session| !centred[**session].is_nan());
            known.fold((0.0, 0.0), |(base, new), session| {
                if self.is_new[*session] {
                    (base, new + 1.0)
                } else {
                    (base + 1.0, new)
                }
            })
        });
        sizes
            .filter(|(base, new)| *base > 0.0 && *new > 0.0)
            .collect()
    }

    /// Tests all series at once. Every series must have one value (or NaN) per session of the design.
    #[must_use]
    pub fn test(&self, series: &[Series]) -> Joint {
        let labels = self.labels(series);
        let observed: Vec<f64> = series
            .iter()
            .map(|one| self.statistic(one).of(&self.is_new))
            .collect();
        let mut ascending: Vec<usize> = (0..series.len()).collect();
        ascending.sort_by(|a, b| observed[*a].total_cmp(&observed[*b]));
        // From the smallest observed statistic to the largest. Holds the largest statistic so far of
        // each relabelling.
        let mut largest = vec![0.0_f64; labels.count];
        let mut p = vec![1.0_f64; series.len()];
        let mut tables = Vec::new();
        for at in &ascending {
            let statistic = self.statistic(&series[*at]);
            statistic.fill(&mut tables);
            let mut at_least = 0usize;
            for (largest, label) in largest.iter_mut().zip(labels.iter()) {
                *largest = largest.max(statistic.by_tables(&tables, label));
                at_least += usize::from(*largest >= observed[*at] * (1.0 - TIE) - TIE);
            }
            p[*at] = at_least as f64 / labels.count as f64;
        }
        let mut most: f64 = 0.0;
        for at in ascending.iter().rev() {
            most = most.max(p[*at]);
            p[*at] = most;
        }
        largest.sort_by(f64::total_cmp);
        Joint { p, largest }
    }

    fn statistic(&self, series: &Series) -> Statistic {
        let values = self.centred(&series.values);
        let readings = series.readings.as_ref().map(|all| self.centred(all));
        let blocks = self.blocks_with(&values).len();
        Statistic::of_values(&values, readings.as_deref(), series.floor, blocks)
    }

    /// All relabellings or a random sample of them. The observed one comes first.
    fn labels(&self, series: &[Series]) -> Labels {
        let sizes = self.block_sizes();
        let all: f64 = sizes.iter().map(|(m, n)| choose(m + n, *n)).product();
        // Swapping the sides must not change any p value, so the draws must not depend on which
        // side is called new.
        let flipped = self.is_flipped(series);
        let mut labels = Labels::new(self.is_new.len());
        labels.push(|session| self.is_new[session]);
        if all <= MAX_ENUMERATED {
            self.enumerate(flipped, &mut labels);
        } else {
            self.draw(flipped, &mut labels);
        }
        labels
    }

    /// Whether the draws choose sessions for the new side rather than for the base. They choose for
    /// the smaller side, or for the one with the smaller values if sizes are equal, so that swapping
    /// the sides does not change them.
    fn is_flipped(&self, series: &[Series]) -> bool {
        let side = |new: bool| {
            let values = series.iter().flat_map(move |one| {
                let sessions = one.values.iter().zip(&self.is_new);
                let of_side = sessions.filter(move |(_, is_new)| **is_new == new);
                of_side.map(|(value, _)| *value)
            });
            values.filter(|value| !value.is_nan())
        };
        let (base, new) = self.sizes();
        let by_values = || side(false).partial_cmp(side(true));
        base.cmp(&new)
            .then_with(|| by_values().unwrap_or(std::cmp::Ordering::Equal))
            .is_gt()
    }

    /// The sessions of each block and how many of them to choose. Those that the observed labels
    /// choose come first.
    fn ordered(&self, flipped: bool) -> Vec<(Vec<usize>, usize)> {
        let blocks = self.blocks.iter().map(|block| {
            let (mut first, second): (Vec<usize>, Vec<usize>) = block
                .iter()
                .partition(|session| self.is_new[**session] == flipped);
            let chosen = first.len();
            first.extend(second);
            (first, chosen)
        });
        blocks.collect()
    }

    fn enumerate(&self, flipped: bool, labels: &mut Labels) {
        let blocks = self.ordered(flipped);
        let choices: Vec<Vec<Vec<usize>>> = blocks
            .iter()
            .map(|(sessions, chosen)| subsets(sessions, *chosen))
            .collect();
        let mut at = vec![0; choices.len()];
        let mut is_chosen = vec![false; self.is_new.len()];
        loop {
            is_chosen.fill(false);
            for (choices, at) in choices.iter().zip(&at) {
                for session in &choices[*at] {
                    is_chosen[*session] = true;
                }
            }
            // The observed one is already in the list.
            if is_chosen
                .iter()
                .zip(&self.is_new)
                .any(|(chosen, new)| (*chosen == flipped) != *new)
            {
                labels.push(|session| is_chosen[session] == flipped);
            }
            let Some(next) = (0..at.len()).find(|i| at[*i] + 1 < choices[*i].len()) else {
                return;
            };
            at[next] += 1;
            at[..next].fill(0);
        }
    }

    fn draw(&self, flipped: bool, labels: &mut Labels) {
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut blocks = self.ordered(flipped);
        let mut is_chosen = vec![false; self.is_new.len()];
        while labels.count < DRAWN {
            is_chosen.fill(false);
            for (sessions, chosen) in &mut blocks {
                for place in 0..*chosen {
                    let other = random.usize(place..sessions.len());
                    sessions.swap(place, other);
                    is_chosen[sessions[place]] = true;
                }
            }
            labels.push(|session| is_chosen[session] == flipped);
        }
    }
}

/// The smallest p value of a two-sided permutation test, given the number of base and of new
/// sessions of each block: 1 over the number of relabellings, or 2 over it if all blocks are balanced.
#[must_use]
pub fn least_p(blocks: &[(usize, usize)]) -> f64 {
    let all: f64 = blocks.iter().map(|(m, n)| choose(m + n, *n)).product();
    // If all blocks are balanced, swapping the sides gives a relabelling with the same statistic.
    let mirrored = blocks.iter().all(|(m, n)| m == n);
    (if mirrored { 2.0 } else { 1.0 } / all).min(1.0)
}

/// The binomial coefficient: the number of subsets of size `k` of a set of size `n`.
fn choose(n: usize, k: usize) -> f64 {
    (0..k.min(n)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
        * f64::from(u8::from(k <= n))
}

/// All subsets of this size.
fn subsets(of: &[usize], count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        if of.len() - at < count {
            break;
        }
        for mut rest in subsets(&of[at + 1..], count - 1) {
            rest.push(*first);
            all.push(rest);
        }
    }
    all
}

/// Relabellings as bit sets: one bit per session, set if it is labelled new.
struct Labels {
    sessions: usize,
    bytes: usize,
    bits: Vec<u8>,
    count: usize,
}

impl Labels {
    fn new(sessions: usize) -> Self {
        Labels {
            sessions,
            bytes: sessions.div_ceil(8),
            bits: Vec::new(),
            count: 0,
        }
    }

    fn push(&mut self, is_new: impl Fn(usize) -> bool) {
        let start = self.bits.len();
        self.bits.resize(start + self.bytes, 0);
        for session in (0..self.sessions).filter(|session| is_new(*session)) {
            self.bits[start + session / 8] |= 1 << (session % 8);
        }
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bits.chunks_exact(self.bytes.max(1))
    }
}

/// Count, sum and sum of squares of the values of one side.
#[derive(Clone, Copy, Debug)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

/// The difference of two means, and the squared standard error of each.
struct Moments {
    difference: f64,
    base: f64,
    new: f64,
    base_freedom: f64,
    new_freedom: f64,
}

impl Moments {
    /// `None` if a side has too few values for a variance. Each block beyond the first costs one
    /// degree of freedom, shared by both sides in proportion to their size.
    fn of(base: &Sums, new: &Sums, blocks: usize) -> Option<Self> {
        let lost = (blocks as f64 - 1.0).max(0.0) / (base.count + new.count);
        let freedom = |side: &Sums| side.count * (1.0 - lost) - 1.0;
        let (base_freedom, new_freedom) = (freedom(base), freedom(new));
        if base.count < 2.0 || new.count < 2.0 || base_freedom < 0.5 || new_freedom < 0.5 {
            return None;
        }
        let variance = |side: &Sums, freedom: f64| {
            let squares = side.squares - side.sum * side.sum / side.count;
            // Below this it is rounding error of the sums.
            let is_constant = squares <= 1e-12 * side.squares;
            let squares = if is_constant { 0.0 } else { squares };
            squares / freedom / side.count
        };
        Some(Moments {
            difference: new.sum / new.count - base.sum / base.count,
            base: variance(base, base_freedom),
            new: variance(new, new_freedom),
            base_freedom,
            new_freedom,
        })
    }

    fn studentised(&self, floor: f64) -> f64 {
        if self.difference == 0.0 {
            return 0.0;
        }
        self.difference / (self.base + self.new + floor * floor).sqrt()
    }
}

/// What a set of sessions contributes to the sums: values, their squares, readings, their squares.
type Lanes = [f64; 4];

/// For each group of eight sessions, the contribution of each of its 256 subsets.
type Tables = Vec<[Lanes; 256]>;

/// One series, prepared for fast evaluation under any relabelling.
struct Statistic {
    /// The contribution of each session. `None` if it has no value.
    sessions: Vec<Option<Lanes>>,
    total: Lanes,
    count: f64,
    has_readings: bool,
    floor: f64,
    blocks: usize,
}

impl Statistic {
    fn of_values(values: &[f64], readings: Option<&[f64]>, floor: f64, blocks: usize) -> Self {
        let lanes = |at: usize| {
            let (value, reading) = (values[at], readings.map_or(0.0, |readings| readings[at]));
            let is_known = !value.is_nan() && !reading.is_nan();
            is_known.then_some([value, value * value, reading, reading * reading])
        };
        let sessions: Vec<Option<Lanes>> = (0..values.len()).map(lanes).collect();
        let known = || sessions.iter().flatten();
        Statistic {
            total: known().fold([0.0; 4], |sum, lanes| plus(sum, *lanes)),
            count: known().count() as f64,
            sessions,
            has_readings: readings.is_some(),
            floor,
            blocks,
        }
    }

    /// The absolute statistic under one relabelling, computed session by session.
    fn of(&self, is_new: &[bool]) -> f64 {
        let sessions = self.sessions.iter().zip(is_new);
        let new = sessions.filter_map(|(lanes, is_new)| lanes.filter(|_| *is_new));
        let (sum, count) = new.fold(([0.0; 4], 0), |(sum, count), lanes| {
            (plus(sum, lanes), count + 1)
        });
        self.absolute(sum, count)
    }

    /// Fills one table for each group of eight sessions.
    fn fill(&self, tables: &mut Tables) {
        tables.resize(self.sessions.len().div_ceil(8), [[0.0; 4]; 256]);
        for (table, eight) in tables.iter_mut().zip(self.sessions.chunks(8)) {
            for bit in 0..8 {
                let own = eight.get(bit).copied().flatten().unwrap_or([0.0; 4]);
                for low in 0..1 << bit {
                    table[low | 1 << bit] = plus(table[low], own);
                }
            }
        }
    }

    /// The absolute statistic under one relabelling, eight sessions at a time.
    fn by_tables(&self, tables: &Tables, label: &[u8]) -> f64 {
        let mut new = [0.0; 4];
        let mut count = 0;
        for (table, bits) in tables.iter().zip(label) {
            new = plus(new, table[usize::from(*bits)]);
            count += bits.count_ones();
        }
        if self.count < self.sessions.len() as f64 {
            let is_new = |at: usize| label[at / 8] >> (at % 8) & 1 == 1;
            let missing = self.sessions.iter().enumerate();
            let missing = missing.filter(|(at, lanes)| lanes.is_none() && is_new(*at));
            count -= missing.count() as u32;
        }
        self.absolute(new, count)
    }

    /// The absolute statistic if the new side has these sums. Infinite if a side has too few values
    /// for a variance, so that such a relabelling counts against a change.
    fn absolute(&self, new: Lanes, count: u32) -> f64 {
        let count = f64::from(count);
        let moments = |at: usize| {
            let base = Sums {
                count: self.count - count,
                sum: self.total[at] - new[at],
                squares: self.total[at + 1] - new[at + 1],
            };
            let new = Sums {
                count,
                sum: new[at],
                squares: new[at + 1],
            };
            Moments::of(&base, &new, self.blocks)
        };
        let Some(values) = moments(0) else {
            return f64::INFINITY;
        };
        let values = values.studentised(self.floor);
        if !self.has_readings {
            return values.abs();
        }
        let readings = moments(2).map_or(0.0, |moments| moments.studentised(self.floor));
        if values * readings <= 0.0 {
            return 0.0;
        }
        values.abs().min(readings.abs())
    }
}

fn plus(a: Lanes, b: Lanes) -> Lanes {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn design(base: usize, new: usize) -> Design {
        Design::new((0..base + new).map(|at| at >= base).collect(), None)
    }

    fn series(values: &[f64]) -> Series {
        Series {
            values: values.to_vec(),
            readings: None,
            floor: 0.0,
        }
    }

    fn p(design: &Design, all: &[Series]) -> Vec<f64> {
        design.test(all).p
    }

    #[test]
    fn p_values_match_hand_calculation() {
        // Of the 20 relabellings of six sessions, two separate the sides this clearly.
        let apart = series(&[1.0, 2.0, 3.0, 14.0, 15.0, 16.0]);
        assert_eq!(p(&design(3, 3), &[apart]), [0.1]);
        let same = series(&[2.0; 6]);
        assert_eq!(p(&design(3, 3), &[same]), [1.0]);
        let least = [design(3, 3), design(4, 4), design(4, 5)].map(|one| Some(one.least_p()));
        assert_eq!(least, [Some(0.1), Some(2.0 / 70.0), Some(1.0 / 126.0)]);
        assert_eq!(Some(least_p(&[(3, 3), (2, 2)])), Some(2.0 / 120.0));
    }

    #[test]
    fn smallest_p_is_independent_of_family_size() {
        let mut random = fastrand::Rng::with_seed(5);
        let changed = |noise: &mut dyn FnMut() -> f64| -> Series {
            let values = (0..10).map(|at| noise() + if at < 5 { 0.0 } else { 1e3 });
            series(&values.collect::<Vec<f64>>())
        };
        let family: Vec<Series> = (0..300).map(|_| changed(&mut || random.f64())).collect();
        let p = p(&design(5, 5), &family);
        assert!(p.iter().all(|p| (p - 2.0 / 252.0).abs() < 1e-12), "{p:?}");
    }

    #[test]
    fn change_of_one_metric_among_many_is_found() {
        let mut random = fastrand::Rng::with_seed(6);
        let mut family: Vec<Series> = (0..100)
            .map(|_| series(&(0..14).map(|_| random.f64()).collect::<Vec<f64>>()))
            .collect();
        for value in &mut family[40].values[7..] {
            *value += 100.0;
        }
        let p = p(&design(7, 7), &family);
        assert!(p[40] <= 0.001, "{}", p[40]);
        let others = p.iter().enumerate().filter(|(at, _)| *at != 40);
        let least = others.map(|(_, p)| *p).fold(1.0, f64::min);
        assert!(least > 0.01, "{least}");
    }

    #[test]
    fn difference_explained_by_the_clock_is_no_change() {
        let values = [1.0, 1.1, 1.05, 1.02, 2.0, 2.1, 2.05, 2.02];
        let mut one = series(&values);
        assert!(p(&design(4, 4), std::slice::from_ref(&one))[0] < 0.03);
        // The clock readings are unchanged: the processor became slower.
        one.readings = Some(vec![0.1, 0.2, 0.15, 0.12, 0.1, 0.2, 0.15, 0.12]);
        assert_eq!(p(&design(4, 4), std::slice::from_ref(&one)), [1.0]);
        // The readings changed in the opposite direction.
        one.readings = Some(values.iter().map(|value| -value).collect());
        assert_eq!(p(&design(4, 4), &[one]), [1.0]);
    }

    #[test]
    fn missing_sessions_raise_p() {
        let mut values = vec![1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3];
        let whole = p(&design(4, 4), &[series(&values)])[0];
        values[0] = f64::NAN;
        let part = p(&design(4, 4), &[series(&values)])[0];
        assert!(whole <= part && part < 0.12, "{whole} {part}");
        values[1] = f64::NAN;
        let few = p(&design(4, 4), &[series(&values)])[0];
        assert!(part <= few && few < 0.2, "{few}");
        // Of 15 relabellings, five leave one value on the side of two. They count against a change.
        let lost = [1.0, 2.0, f64::NAN, 10.0, 11.0, 12.0];
        assert_eq!(p(&design(2, 4), &[series(&lost)]), [6.0 / 15.0]);
        let shift = design(4, 4).difference(&values, 0.0).unwrap();
        assert!((shift.estimate - 7.9).abs() < 1e-12);
        values[2] = f64::NAN;
        assert_eq!(design(4, 4).difference(&values, 0.0), None);
    }

    #[test]
    fn blocks_remove_common_drift() {
        // The level drifts far more than the change of 1.
        let is_new = [false, true, true, false, false, true, true, false];
        let blocks = [0, 0, 0, 0, 1, 1, 1, 1];
        let values: Vec<f64> = (0..8)
            .map(|at| {
                let level = if at < 4 { 0.0 } else { 100.0 };
                let noise = [0.0, 0.1, 0.05, 0.02][at % 4];
                level + noise + if is_new[at] { 1.0 } else { 0.0 }
            })
            .collect();
        let blocked = Design::new(is_new.to_vec(), Some(&blocks));
        let whole = Design::new(is_new.to_vec(), None);
        assert!((blocked.least_p() - 2.0 / 36.0).abs() < 1e-12);
        let p_blocked = p(&blocked, &[series(&values)])[0];
        let p_whole = p(&whole, &[series(&values)])[0];
        assert!((p_blocked - 2.0 / 36.0).abs() < 1e-12, "{p_blocked}");
        assert!(p_whole > 0.5, "{p_whole}");
        let shift = blocked.difference(&values, 0.0).unwrap();
        assert!(
            (shift.estimate - 1.065).abs() < 1e-9 && shift.error < 0.1,
            "{shift:?}"
        );
    }

    #[test]
    fn blocks_of_two_give_a_paired_t_test() {
        let levels = [3.0, 90.0, 7.0, 55.0, 21.0];
        let differences = [1.0, 1.3, 0.8, 1.1, 0.9];
        let values: Vec<f64> = levels
            .iter()
            .zip(differences)
            .flat_map(|(level, difference)| [*level, level + difference])
            .collect();
        let is_new: Vec<bool> = (0..10).map(|at| at % 2 == 1).collect();
        let blocks: Vec<usize> = (0..10).map(|at| at / 2).collect();
        let shift = Design::new(is_new, Some(&blocks)).difference(&values, 0.0);
        let shift = shift.unwrap();
        let mean = differences.iter().sum::<f64>() / 5.0;
        let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
        assert!((shift.estimate - mean).abs() < 1e-12);
        assert!(
            (shift.error - (squares / 4.0 / 5.0).sqrt()).abs() < 1e-12,
            "{shift:?}"
        );
        assert!((shift.freedom - 4.0).abs() < 1e-9, "{shift:?}");
    }

    #[test]
    fn welch_matches_hand_calculation() {
        let values = [1.0, 2.0, 3.0, 10.0, 14.0, 12.0, 16.0];
        let shift = design(3, 4).difference(&values, 0.0).unwrap();
        // Variances 1/3 and (20/3)/4, two and three degrees of freedom.
        let (base, new) = (1.0 / 3.0, 5.0 / 3.0);
        assert!((shift.estimate - 11.0).abs() < 1e-12);
        assert!((shift.error - f64::sqrt(base + new)).abs() < 1e-12);
        let freedom = (base + new) * (base + new) / (base * base / 2.0 + new * new / 3.0);
        assert!((shift.freedom - freedom).abs() < 1e-9);
    }

    #[test]
    fn freedom_is_limited_by_variance_ratio() {
        let values = [1.0, 2.0, 3.0, 10.0, 14.0, 12.0, 16.0];
        let shift = design(3, 4).difference(&values, 0.0).unwrap();
        let ratio = shift.log_variance_ratio().unwrap();
        assert!((ratio.exp() - 20.0 / 3.0).abs() < 1e-9, "{shift:?}");
        let limited = |ratio: f64| {
            let mut shift = shift;
            shift.limit_freedom(ratio);
            shift.freedom
        };
        // Its own ratio changes nothing. If one side makes all the noise, that side's freedom remains.
        assert!((limited(ratio) - shift.freedom).abs() < 1e-9);
        assert!((limited(50.0) - 3.0).abs() < 1e-9 && (limited(-50.0) - 2.0).abs() < 1e-9);
        let constant = design(3, 4).difference(&[1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0], 0.0);
        assert_eq!(constant.unwrap().log_variance_ratio(), None);
    }

    #[test]
    fn critical_value_is_a_quantile_of_relabellings() {
        let mut random = fastrand::Rng::with_seed(7);
        let family: Vec<Series> = (0..50)
            .map(|_| series(&(0..20).map(|_| random.f64()).collect::<Vec<f64>>()))
            .collect();
        let joint = design(10, 10).test(&family);
        let (four, one) = (joint.critical(0.04), joint.critical(0.01));
        assert!(3.0 < four && four < one && one < 9.0, "{four} {one}");
        assert!(design(3, 3)
            .test(&family_of(6))
            .critical(0.04)
            .is_infinite());
    }

    fn family_of(sessions: usize) -> Vec<Series> {
        vec![series(
            &(0..sessions).map(|at| at as f64).collect::<Vec<f64>>(),
        )]
    }

    /// p values by brute force: every relabelling, each statistic computed from its definition.
    fn brute_force(design: &Design, family: &[Series]) -> Vec<f64> {
        let sessions = design.is_new.len();
        let labels: Vec<Vec<bool>> = (0u32..1 << sessions)
            .map(|set| (0..sessions).map(|at| set >> at & 1 == 1).collect())
            .filter(|is_new: &Vec<bool>| {
                design.blocks.iter().all(|block| {
                    let count = |labels: &[bool]| block.iter().filter(|at| labels[**at]).count();
                    count(is_new) == count(&design.is_new)
                })
            })
            .collect();
        let statistic = |one: &Series, is_new: &[bool]| {
            let relabelled = Design {
                is_new: is_new.to_vec(),
                blocks: design.blocks.clone(),
            };
            let t = |values: &[f64]| {
                relabelled.difference(values, one.floor).map(|shift| {
                    if shift.estimate.abs() < 1e-12 {
                        0.0
                    } else {
                        shift.estimate / shift.error
                    }
                })
            };
            let Some(time) = t(&one.values) else {
                return f64::INFINITY;
            };
            match one.readings.as_ref().map(|readings| t(readings)) {
                None => time.abs(),
                Some(readings) => {
                    let readings = readings.unwrap_or(0.0);
                    if time * readings <= 0.0 {
                        0.0
                    } else {
                        time.abs().min(readings.abs())
                    }
                }
            }
        };
        let observed: Vec<f64> = family
            .iter()
            .map(|one| statistic(one, &design.is_new))
            .collect();
        let mut falling: Vec<usize> = (0..family.len()).collect();
        falling.sort_by(|a, b| observed[*b].total_cmp(&observed[*a]));
        let mut p = vec![0.0; family.len()];
        let mut most: f64 = 0.0;
        for (rank, at) in falling.iter().enumerate() {
            let at_least = labels.iter().filter(|label| {
                let rest = falling[rank..].iter();
                let greatest = rest.map(|other| statistic(&family[*other], label));
                greatest.fold(0.0, f64::max) >= observed[*at] * (1.0 - 1e-7)
            });
            most = most.max(at_least.count() as f64 / labels.len() as f64);
            p[*at] = most;
        }
        p
    }

    fn values(count: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0..1000i32).prop_map(|v| f64::from(v) * 0.37), count)
    }

    proptest! {
        #[test]
        fn matches_brute_force(
            (base, new, family) in (2usize..4, 2usize..5).prop_flat_map(|(base, new)| {
                let one = (values(base + new), proptest::option::of(values(base + new)));
                (Just(base), Just(new), prop::collection::vec(one, 1..5))
            }),
        ) {
            let design = design(base, new);
            let family: Vec<Series> = family
                .into_iter()
                .map(|(values, readings)| Series { values, readings, floor: 0.5 })
                .collect();
            let (found, wanted) = (design.test(&family).p, brute_force(&design, &family));
            for (found, wanted) in found.iter().zip(&wanted) {
                prop_assert!((found - wanted).abs() < 1e-9, "{:?} {:?}", found, wanted);
            }
        }

        #[test]
        fn matches_brute_force_with_blocks(one in values(8), other in values(8)) {
            let is_new = vec![false, true, false, true, true, false, false, true];
            let design = Design::new(is_new, Some(&[0, 0, 0, 0, 1, 1, 1, 1]));
            let family = [series(&one), series(&other)];
            let (found, wanted) = (design.test(&family).p, brute_force(&design, &family));
            for (found, wanted) in found.iter().zip(&wanted) {
                prop_assert!((found - wanted).abs() < 1e-9, "{:?} {:?}", found, wanted);
            }
        }

        #[test]
        fn swapping_sides_keeps_p(
            (base, new) in (2usize..12, 2usize..12),
            all in values(24),
        ) {
            let there = design(base, new);
            let back = design(new, base);
            let turned = [&all[base..base + new], &all[..base]].concat();
            let (one, other) = (series(&all[..base + new]), series(&turned));
            let (shift, negative) = (
                there.difference(&one.values, 0.1).unwrap(),
                back.difference(&other.values, 0.1).unwrap(),
            );
            prop_assert!((shift.estimate + negative.estimate).abs() < 1e-9);
            let (p, mirrored) = (there.test(&[one]).p[0], back.test(&[other]).p[0]);
            prop_assert!((p - mirrored).abs() < 1e-9, "{} {}", p, mirrored);
        }
    }
}
