//! Statistics: pure functions, each with its source.
//!
//! All intervals and quantiles of one group of values are *order statistics*: values that were
//! measured. They assume nothing of the shape of a distribution but that the
//! values are independent and of one distribution (H. A. David, H. N. Nagaraja,
//! *Order Statistics*, 3rd edition, 2003, sections 7.1 and 7.2; G. J. Hahn, W. Q. Meeker,
//! *Statistical Intervals*, 1991, chapter 5).

use crate::histogram::Histogram;
use crate::run::Ticks;

/// The confidence that every interval and bound here has at least.
pub const CONFIDENCE: f64 = 0.95;

/// The middle value; of an even number the mean of the two middle ones. `None`
/// when there is none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let n = sorted.len();
    let high = *sorted.get(n / 2)?;
    let low = sorted[(n - 1) / 2];
    Some(low / 2.0 + high / 2.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The exact probability that the `rank`-th least and the `rank`-th greatest of
/// `n` independent values have the median of their distribution between them:
/// 1 - 2 P(B < `rank`), B binomial of `n` and 1/2. 0 when `rank` is 0 or the
/// two have crossed.
#[must_use]
pub fn coverage(n: usize, rank: usize) -> f64 {
    if rank == 0 || 2 * rank > n {
        return 0.0;
    }
    // Logarithms: 2^-n is no number from n = 1075 on.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for i in 0..rank {
        below += term.exp();
        term += ((n - i) as f64 / (i + 1) as f64).ln();
    }
    (1.0 - 2.0 * below).max(0.0)
}

/// The rank whose [`coverage`] is [`CONFIDENCE`] or more and which lies
/// furthest inside: 1 (least and greatest) for 6 to 8 values, 2 for 9 to 11.
/// `None` below 6 values, where even the whole range covers too seldom.
#[must_use]
pub fn interval_rank(n: usize) -> Option<usize> {
    (1..=n / 2)
        .take_while(|k| coverage(n, *k) >= CONFIDENCE)
        .last()
}

/// An interval that holds the median of the distribution with the probability
/// [`coverage`], [`CONFIDENCE`] or more, whatever the distribution: the sign
/// test turned round (W. R. Thompson, *Annals of Mathematical Statistics* 7,
/// 1936). `None` below 6 values.
///
/// 6 values: least to greatest (96.9 %); 10 values: second to ninth (97.9 %).
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let rank = interval_rank(values.len())?;
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// The fewest samples that hold, with the probability [`CONFIDENCE`] or more, at
/// least one beyond the quantile `p`: least n with 1 - `p`^n >= 0.95 (S. S. Wilks,
/// *Annals of Mathematical Statistics* 12, 1941). 299 for p99. `None` unless 0 < `p` < 1.
#[must_use]
pub fn samples_for_quantile(p: f64) -> Option<u64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let enough = |n: f64| 1.0 - p.powf(n) >= CONFIDENCE;
    let mut n = ((1.0 - CONFIDENCE).ln() / p.ln()).ceil().max(1.0);
    // The quotient may round to the wrong side of an integer.
    if n > 1.0 && enough(n - 1.0) {
        n -= 1.0;
    } else if !enough(n) {
        n += 1.0;
    }
    Some(n as u64)
}

/// The rank of the quantile `p` of `n` samples, the least whose share is `p` or
/// more (definition 1 of R. J. Hyndman, Y. Fan, *The American Statistician* 50,
/// 1996). `None` when [`samples_for_quantile`] refuses it.
fn quantile_rank(n: u64, p: f64) -> Option<u64> {
    if n < samples_for_quantile(p)? {
        return None;
    }
    let exact = p * n as f64;
    let nearest = exact.round();
    // A product such as 0.9 * n may lie a rounding above its integer.
    let rank = if (exact - nearest).abs() < nearest * 4.0 * f64::EPSILON {
        nearest
    } else {
        exact.ceil()
    };
    Some((rank as u64).clamp(1, n))
}

/// The quantile `p` of a distribution, a value that was measured. `None` when
/// there are fewer samples than [`samples_for_quantile`].
#[must_use]
pub fn quantile(histogram: &Histogram, p: f64) -> Option<Ticks> {
    histogram.order_statistic(quantile_rank(histogram.total(), p)?)
}

/// The quantile `p` of values that were each measured `count` times, in any
/// order; as [`quantile`].
#[must_use]
pub fn weighted_quantile(values: &[(f64, u64)], p: f64) -> Option<f64> {
    let total = values
        .iter()
        .fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let rank = quantile_rank(total, p)?;
    let mut values = values.to_vec();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0u64;
    values.into_iter().find_map(|(value, count)| {
        below = below.saturating_add(count);
        (below >= rank).then_some(value)
    })
}

/// Standard deviation (of a sample, n - 1) over mean; 0.01 is one per cent.
/// `None` below two values or when the mean is 0.
#[must_use]
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean != 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean.abs())
}

/// The geometric mean, the one mean of ratios that does not depend on which side
/// is the base (P. J. Fleming, J. J. Wallace, *Communications of the ACM* 29,
/// 1986). `None` without values or when one is not above 0.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|v| *v > 0.0) {
        return None;
    }
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    Some((logs / values.len() as f64).exp())
}

/// The most sums of subsets that an exact permutation test makes: up to 16
/// values on each side, and more where one side has few.
const MOST_SUMS: f64 = 200_000.0;
/// Rearrangements that are drawn where there are too many to count, the observed one included.
const DRAWN: usize = 100_000;
/// The seed of these draws: the same values always give the same answer.
const SEED: u64 = 0x6b65_726e_6d61_726b;
/// Sums that differ by less are equal: their order of adding differs.
const TIE: f64 = 1e-10;
/// How often the range that holds the end of an interval is halved.
const HALVINGS: u32 = 14;

/// How far the mean of one group of values lies above that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Mean of the new values less mean of the base values.
    pub estimate: f64,
    /// All shifts that the test does not reject at 1 - [`CONFIDENCE`]; `None`
    /// when there are so few values that it can reject none.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p value of the hypothesis that there is no shift.
    pub p: f64,
    /// The least p value that this many values can have.
    pub least_p: f64,
}

impl Shift {
    /// The shift of `new` against `base`, by the permutation test of the
    /// difference of means (E. J. G. Pitman, *Supplement to the Journal of the
    /// Royal Statistical Society* 4, 1937): if nothing differs, each way to say
    /// which of the values are the new ones is as likely as the one observed.
    /// p is twice the share of those in which the difference is as great or
    /// greater on the observed side. The interval is the same test turned round:
    /// each shift that it does not reject (D. Tritchler, *Journal of the American
    /// Statistical Association* 79, 1984). So it leaves out 0 exactly when p is 5 %
    /// or less.
    ///
    /// All rearrangements count, without listing them: each exchanges some base
    /// values for as many new ones, and pairs of sorted sums of subsets are
    /// counted in one pass (E. Horowitz, S. Sahni, *Journal of the ACM* 21, 1974). Where
    /// there are too many, 99,999 are drawn from a fixed seed and the observed one
    /// is added (B. Phipson, G. K. Smyth, *Statistical Applications in Genetics and
    /// Molecular Biology* 9, 2010).
    ///
    /// `None` when one side has no value.
    #[must_use]
    pub fn between(base: &[f64], new: &[f64]) -> Option<Shift> {
        if base.is_empty() || new.is_empty() {
            return None;
        }
        let (base, new) = (sorted(base), sorted(new));
        // A draw must not depend on which side is the base.
        let order = base.len().cmp(&new.len());
        let turned = order
            .then_with(|| base.partial_cmp(&new).unwrap_or(std::cmp::Ordering::Equal))
            .is_gt();
        let (x, y) = if turned { (&new, &base) } else { (&base, &new) };
        let size = x.len().min(y.len());
        let sums = |n: usize| (0..=size).map(|k| choose(n, k)).sum::<f64>();
        let mut shift = if sums(x.len()) + sums(y.len()) <= MOST_SUMS {
            exact_shift(x, y)
        } else {
            drawn_shift(x, y)
        };
        if turned {
            shift.interval = shift.interval.map(|(low, high)| (-high, -low));
        }
        shift.estimate = mean(&new) - mean(&base);
        Some(shift)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// How many subsets of `k` there are of `n`.
fn choose(n: usize, k: usize) -> f64 {
    (0..k.min(n)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
        * f64::from(u8::from(k <= n))
}

/// The least two-sided p value of a permutation test of so many values on each side.
#[must_use]
pub fn least_p(base: usize, new: usize) -> f64 {
    let ways = choose(base + new, base.min(new));
    (2.0 / ways).min(1.0)
}

/// The sums of all subsets of sorted values, by size, each list sorted.
fn subset_sums(values: &[f64], most: usize) -> Vec<Vec<f64>> {
    let mut sums = vec![Vec::new(); most + 1];
    sums[0].push(0.0);
    for value in values {
        for size in (1..=most).rev() {
            let (without, with) = (&sums[size], &sums[size - 1]);
            let mut merged = Vec::with_capacity(without.len() + with.len());
            let mut at = 0;
            for sum in with.iter().map(|sum| sum + value) {
                let less = without[at..].iter().take_while(|other| **other < sum);
                let end = at + less.count();
                merged.extend_from_slice(&without[at..end]);
                merged.push(sum);
                at = end;
            }
            merged.extend_from_slice(&without[at..]);
            sums[size] = merged;
        }
    }
    sums
}

/// How many exchanges of subsets of equal size leave the mean of `y`, each of
/// its values less `shift`, as great as it is or make it greater.
fn as_great(x: &[Vec<f64>], y: &[Vec<f64>], shift: f64) -> f64 {
    let mut count = 0;
    for (size, (x, y)) in x.iter().zip(y).enumerate() {
        let slack = size as f64 * shift + TIE;
        let mut below = 0;
        for x in x {
            let limit = x + slack;
            while below < y.len() && y[below] <= limit {
                below += 1;
            }
            count += below;
        }
    }
    count as f64
}

fn exact_shift(x: &[f64], y: &[f64]) -> Shift {
    let size = x.len().min(y.len());
    // Logarithms of times are far from 0 and close together.
    let centre = x[0];
    let centred = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v - centre).collect() };
    let (x, y) = (centred(x), centred(y));
    let (x_sums, y_sums) = (subset_sums(&x, size), subset_sums(&y, size));
    let ways = choose(x.len() + y.len(), size);
    let up = as_great(&x_sums, &y_sums, 0.0);
    let down = as_great(&y_sums, &x_sums, 0.0);
    let least_p = least_p(x.len(), y.len());
    let interval = (least_p <= 1.0 - CONFIDENCE).then(|| {
        let range = |x: &[f64], y: &[f64]| (y[0] - x[x.len() - 1], y[y.len() - 1] - x[0]);
        let low = least_accepted(range(&x, &y), |shift| {
            2.0 * as_great(&x_sums, &y_sums, shift) / ways
        });
        let high = least_accepted(range(&y, &x), |shift| {
            2.0 * as_great(&y_sums, &x_sums, shift) / ways
        });
        (low, -high)
    });
    Shift {
        estimate: 0.0,
        interval,
        p: (2.0 * up.min(down) / ways).min(1.0),
        least_p,
    }
}

/// The least shift in the range whose p value is above 1 - [`CONFIDENCE`], or a
/// 2^-14th of the range less.
fn least_accepted((mut low, mut high): (f64, f64), p: impl Fn(f64) -> f64) -> f64 {
    let accepts = |shift| p(shift) > 1.0 - CONFIDENCE;
    if accepts(low) {
        return low;
    }
    // So that interval and test agree about no shift at all.
    let mut middle = if low < 0.0 && high > 0.0 {
        0.0
    } else {
        f64::midpoint(low, high)
    };
    for _ in 0..HALVINGS {
        if accepts(middle) {
            high = middle;
        } else {
            low = middle;
        }
        middle = f64::midpoint(low, high);
    }
    low
}

fn drawn_shift(x: &[f64], y: &[f64]) -> Shift {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut order: Vec<usize> = (0..x.len() + y.len()).collect();
    let centre = x[0];
    // The observed arrangement is one of them.
    let (mut up, mut down, mut unmoved) = (1, 1, 1);
    let mut shifts = Vec::with_capacity(DRAWN);
    for _ in 1..DRAWN {
        // A new set of base values: those that came from `y` in exchange for those left out.
        for at in 0..x.len() {
            let other = random.usize(at..order.len());
            order.swap(at, other);
        }
        let (mut moved, mut sum) = (0usize, 0.0);
        for &from in &order[..x.len()] {
            if let Some(from) = from.checked_sub(x.len()) {
                moved += 1;
                sum += y[from] - centre;
            }
        }
        for &from in &order[x.len()..] {
            if from < x.len() {
                sum -= x[from] - centre;
            }
        }
        up += usize::from(sum <= TIE);
        down += usize::from(sum >= -TIE);
        if moved == 0 {
            unmoved += 1;
        } else {
            shifts.push(sum / moved as f64);
        }
    }
    let tail = ((1.0 - CONFIDENCE) / 2.0 * DRAWN as f64) as usize;
    // The first shift at which more than a tail of the arrangements are as great.
    let rank = (tail + 1).saturating_sub(unmoved).min(shifts.len());
    let interval = (rank > 0).then(|| {
        let last = shifts.len() - rank;
        let (_, low, _) = shifts.select_nth_unstable_by(rank - 1, f64::total_cmp);
        let low = *low;
        let (_, high, _) = shifts.select_nth_unstable_by(last, f64::total_cmp);
        (low, *high)
    });
    let drawn = DRAWN as f64;
    Shift {
        estimate: 0.0,
        interval,
        p: (2.0 * up.min(down) as f64 / drawn).min(1.0),
        least_p: least_p(x.len(), y.len()).max(2.0 / drawn),
    }
}

/// p values adjusted so that those at or below a level hold, with all of them
/// right but for a probability of that level, however they depend on each other
/// (S. Holm, *Scandinavian Journal of Statistics* 6, 1979). In the order given.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = rising(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut greatest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        greatest = greatest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = greatest;
    }
    adjusted
}

/// q values: of all that have one at or below a level, at most that share is
/// expected to be false alarms (Y. Benjamini, Y. Hochberg, *Journal of the Royal
/// Statistical Society* B 57, 1995; also where tests depend on each other
/// positively: Y. Benjamini, D. Yekutieli, *Annals of Statistics* 29, 2001). In
/// the order given.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = rising(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, at) in order.into_iter().enumerate().rev() {
        least = least.min(p[at] * p.len() as f64 / (rank + 1) as f64);
        adjusted[at] = least;
    }
    adjusted
}

fn rising(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_needs_six_values() {
        let ranks: Vec<_> = (0..=13).map(interval_rank).collect();
        let one = [Some(1); 3];
        let expected = [&[None; 6][..], &one, &[Some(2); 3], &[Some(3); 2]].concat();
        assert_eq!(ranks, expected);
        assert_eq!(median_interval(&[1.0; 5]), None);
        assert_eq!(
            median_interval(&[3.0, 1.0, 6.0, 2.0, 5.0, 4.0]),
            Some((1.0, 6.0))
        );
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median_interval(&ten), Some((2.0, 9.0)));
    }

    #[test]
    fn coverage_is_exact() {
        // 1 - 2 (C(n,0) + ... + C(n,k-1)) / 2^n, in integers.
        assert!((coverage(6, 1) - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
        assert!((coverage(10, 2) - (1.0 - 22.0 / 1024.0)).abs() < 1e-12);
        assert!((coverage(20, 6) - (1.0 - 2.0 * 21700.0 / 1_048_576.0)).abs() < 1e-12);
        assert_eq!((coverage(10, 0), coverage(10, 6)), (0.0, 0.0));
        assert!(coverage(5000, 2400) > 0.99, "no underflow");
    }

    #[test]
    fn tails_need_samples() {
        let needed: Vec<_> = [0.9, 0.99, 0.999, 0.9999]
            .into_iter()
            .map(samples_for_quantile)
            .collect();
        assert_eq!(needed, [Some(29), Some(299), Some(2995), Some(29956)]);
        for p in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(samples_for_quantile(p), None);
        }
        let few: Histogram = (1..=298).map(|v| (Ticks(v), 1)).collect();
        assert_eq!(quantile(&few, 0.99), None);
        let enough: Histogram = (1..=300).map(|v| (Ticks(v), 1)).collect();
        assert_eq!(quantile(&enough, 0.99), Some(Ticks(297)));
        assert_eq!(quantile(&enough, 0.9), Some(Ticks(270)));
    }

    #[test]
    fn means_and_spread() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(coefficient_of_variation(&[1.0]), None);
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
        assert!((coefficient_of_variation(&[9.0, 11.0]).unwrap() - 0.02f64.sqrt()).abs() < 1e-12);
    }

    /// p and interval by listing every rearrangement.
    fn listed(base: &[f64], new: &[f64]) -> (f64, Option<(f64, f64)>) {
        let all = [base, new].concat();
        let (mut up, mut down, mut ways) = (0, 0, 0);
        let mut shifts = Vec::new();
        for set in 0u32..1 << all.len() {
            if set.count_ones() as usize != new.len() {
                continue;
            }
            ways += 1;
            let (mut sum, mut moved) = (0.0, 0);
            for (at, value) in all.iter().enumerate() {
                let is_new = set >> at & 1 == 1;
                if at < base.len() && is_new {
                    sum -= value;
                } else if at >= base.len() && !is_new {
                    sum += value;
                    moved += 1;
                }
            }
            up += u32::from(sum <= 1e-9);
            down += u32::from(sum >= -1e-9);
            if moved > 0 {
                shifts.push(sum / f64::from(moved));
            }
        }
        shifts.sort_by(f64::total_cmp);
        // The observed one counts for any shift.
        let rank = (0..shifts.len()).find(|r| 2.0 * (r + 1) as f64 / f64::from(ways) > 0.05);
        let interval = rank
            .filter(|rank| *rank > 0)
            .map(|rank| (shifts[rank - 1], shifts[shifts.len() - rank]));
        let p = (2.0 * f64::from(up.min(down)) / f64::from(ways)).min(1.0);
        (p, interval)
    }

    fn shift(base: &[f64], new: &[f64]) -> Shift {
        Shift::between(base, new).unwrap()
    }

    #[test]
    fn a_permutation_test_worked_by_hand() {
        // Of the 20 ways to choose three of six values, one has a greatest and one a least sum.
        let apart = shift(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        assert!((apart.p - 0.1).abs() < 1e-12 && (apart.least_p - 0.1).abs() < 1e-12);
        assert_eq!((apart.estimate, apart.interval), (3.0, None));
        // 1+2+4 = 7: 6 and 7 are as small, so 2 of 20.
        assert!((shift(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]).p - 0.2).abs() < 1e-12);
        assert!(shift(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).p >= 1.0);
        assert!(shift(&[1.0], &[9.0]).p >= 1.0);
        // 2 of 70; the interval is then from the closest to the farthest pair.
        let four = shift(&[1.0, 2.0, 3.0, 4.0], &[11.0, 12.0, 13.0, 14.0]);
        assert!((four.p - 2.0 / 70.0).abs() < 1e-12);
        let (low, high) = four.interval.unwrap();
        assert!((low - 7.0).abs() < 1e-2 && (high - 13.0).abs() < 1e-2);
        assert_eq!(Shift::between(&[], &[1.0]), None);
        let same = shift(&[2.0; 5], &[2.0; 5]);
        assert_eq!((same.p, same.interval), (1.0, Some((0.0, 0.0))));
    }

    #[test]
    fn many_values_are_drawn_and_agree_with_what_is_counted() {
        let base: Vec<f64> = (0..16).map(|i| f64::from(i * 7 % 16)).collect();
        let new: Vec<f64> = base.iter().map(|v| v + 3.4).collect();
        let (counted, drawn) = (
            exact_shift(&sorted(&base), &sorted(&new)),
            drawn_shift(&sorted(&base), &sorted(&new)),
        );
        assert!((counted.p - drawn.p).abs() < 0.005, "{counted:?} {drawn:?}");
        let ((a, b), (c, d)) = (counted.interval.unwrap(), drawn.interval.unwrap());
        assert!(
            (a - c).abs() < 0.1 && (b - d).abs() < 0.1,
            "{counted:?} {drawn:?}"
        );
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        let far: Vec<f64> = many.iter().map(|v| v + 1000.0).collect();
        assert!((shift(&many, &far).p - 2.0 / DRAWN as f64).abs() < 1e-12);
        assert!(shift(&many, &many).p >= 1.0);
    }

    #[test]
    fn adjusted_p_values_worked_by_hand() {
        let close = |a: &[f64], b: &[f64]| {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?}");
        };
        let p = [0.01, 0.04, 0.03, 0.005];
        close(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        close(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn the_median_has_as_many_above_as_below(values in prop::collection::vec(-1e9..1e9, 1..50)) {
            let m = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < m).count();
            let above = values.iter().filter(|v| **v > m).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }

        #[test]
        fn the_interval_holds_the_median(values in prop::collection::vec(-1e9..1e9, 6..50)) {
            let (low, high) = median_interval(&values).unwrap();
            let m = median(&values).unwrap();
            prop_assert!(low <= m && m <= high);
        }

        #[test]
        fn weights_are_repetitions(
            pairs in prop::collection::vec((0u64..1000, 1u64..9), 10..200),
            p in 0.05..0.95,
        ) {
            let histogram: Histogram = pairs.iter().map(|(v, n)| (Ticks(*v), *n)).collect();
            let weighted: Vec<_> = pairs.iter().map(|(v, n)| (*v as f64, *n)).collect();
            prop_assert_eq!(
                weighted_quantile(&weighted, p),
                quantile(&histogram, p).map(|t| t.0 as f64)
            );
        }

        #[test]
        fn enough_samples_are_the_fewest(p in 0.01..0.9999) {
            let n = samples_for_quantile(p).unwrap() as f64;
            prop_assert!(1.0 - p.powf(n) >= CONFIDENCE);
            prop_assert!(n < 1.5 || 1.0 - p.powf(n - 1.0) < CONFIDENCE);
        }

        #[test]
        fn a_permutation_test_is_that_of_all_rearrangements(
            base in prop::collection::vec((0..40i32).prop_map(f64::from), 1..7),
            new in prop::collection::vec((0..40i32).prop_map(f64::from), 1..7),
        ) {
            let shift = shift(&base, &new);
            let (p, interval) = listed(&base, &new);
            prop_assert!((shift.p - p).abs() < 1e-9, "{:?} {}", shift, p);
            prop_assert!(shift.p > 0.0 && shift.p <= 1.0 && shift.p > shift.least_p - 1e-12);
            prop_assert_eq!(shift.interval.is_some(), interval.is_some());
            if let (Some((a, b)), Some((c, d))) = (shift.interval, interval) {
                prop_assert!((a - c).abs() < 0.01 && (b - d).abs() < 0.01, "{:?} {:?}", shift, interval);
                // Interval and test agree about no shift, which may be an end of the interval.
                let agrees = if p > 0.05 { a <= 0.0 && b >= 0.0 } else { a >= 0.0 || b <= 0.0 };
                prop_assert!(agrees, "{:?}", shift);
            }
        }

        #[test]
        fn a_shift_the_other_way_is_its_negative(
            base in prop::collection::vec(-5.0..5.0, 1..25),
            new in prop::collection::vec(-5.0..5.0, 1..25),
        ) {
            let there = shift(&base, &new);
            let back = shift(&new, &base);
            prop_assert_eq!((there.p, there.least_p), (back.p, back.least_p));
            prop_assert_eq!(Some(there.estimate), Some(-back.estimate));
            prop_assert_eq!(there.interval, back.interval.map(|(low, high)| (-high, -low)));
        }

        #[test]
        fn adjusting_keeps_the_order_and_never_lowers(p in prop::collection::vec(0.0..1.0, 1..40)) {
            let (holm, q) = (holm(&p), benjamini_hochberg(&p));
            for at in 0..p.len() {
                prop_assert!(p[at] <= q[at] + 1e-12 && q[at] <= holm[at] + 1e-12 && holm[at] <= 1.0);
                for other in 0..p.len() {
                    prop_assert!(p[at] > p[other] || (q[at] <= q[other] && holm[at] <= holm[other]));
                }
            }
        }
    }
}
