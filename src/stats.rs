//! Statistics: pure functions, each with its source.
//!
//! All intervals and quantiles of one group of values are *order statistics*: values that were
//! measured. They assume nothing of the shape of a distribution but that the
//! values are independent and of one distribution (H. A. David, H. N. Nagaraja,
//! *Order Statistics*, 3rd edition, 2003, sections 7.1 and 7.2; G. J. Hahn, W. Q. Meeker,
//! *Statistical Intervals*, 1991, chapter 5).

use std::cmp::Ordering;

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

/// The greatest probability with which so few events in so many trials are not too rare: the
/// upper end of the one-sided interval of C. J. Clopper, E. S. Pearson, *Biometrika* 26, 1934, with
/// the confidence [`CONFIDENCE`]. 1 when there is no trial or each was an event.
///
/// 0 of 10: 26 %.
#[must_use]
pub fn most_probable_share(events: usize, trials: usize) -> f64 {
    if events >= trials {
        return 1.0;
    }
    let at_most = |share: f64| -> f64 {
        let failures = |k: usize| (1.0 - share).powf((trials - k) as f64);
        (0..=events)
            .map(|k| choose(trials, k) * share.powf(k as f64) * failures(k))
            .sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = f64::midpoint(low, high);
        if at_most(middle) > 1.0 - CONFIDENCE {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The most sums that an exact permutation test goes through for one shift: up to 13 values on each
/// side, and more where one side has few or where blocks leave few arrangements.
const MOST_SUMS: f64 = 20_000.0;
/// Arrangements that are drawn where there are too many to count, the observed one included.
const DRAWN: usize = 10_000;
/// Drawn in all where fewer than [`FEW`] of the first differ as much as the observed one.
const DRAWN_AT_MOST: usize = 100_000;
/// Below so many the share of arrangements is too uncertain for a test of many metrics.
const FEW: usize = 50;
/// The seed of these draws: the same values always give the same answer.
const SEED: u64 = 0x6b65_726e_6d61_726b;
/// Sums that differ by less are equal: their order of adding differs.
const TIE: f64 = 1e-10;
/// How often the range that holds the end of an interval is halved.
const HALVINGS: u32 = 14;

/// How far the mean of one group of values lies above that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Mean of the new values less mean of the base values; of several blocks the mean of these
    /// differences, each with the weight mn / (m + n) of a block of m and n values.
    pub estimate: f64,
    /// All shifts that the test does not reject at 1 - [`CONFIDENCE`]; `None`
    /// when there are so few values that it can reject none.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p value of the hypothesis that there is no shift.
    pub p: f64,
    /// The least p value that this many values can have.
    pub least_p: f64,
}

/// Values of the base and of the new side that chance alone has assigned to their sides.
pub type Block = (Vec<f64>, Vec<f64>);

impl Shift {
    /// The shift of `new` against `base`: one block of [`Shift::between_blocks`].
    ///
    /// `None` when one side has no value.
    #[must_use]
    pub fn between(base: &[f64], new: &[f64]) -> Option<Shift> {
        Self::between_blocks(&[(base.to_vec(), new.to_vec())], &mut Draws::default())
    }

    /// The shift of the new values against those of the base, by the permutation test of the
    /// difference of means (E. J. G. Pitman, *Supplement to the Journal of the
    /// Royal Statistical Society* 4, 1937), within blocks: if nothing differs, each way to say
    /// which of the values of a block are its new ones is as likely as the one observed, so what
    /// all values of a block share moves nothing (E. S. Edgington, P. Onghena, *Randomization
    /// Tests*, 4th edition, 2007, chapter 6).
    /// p is twice the share of those arrangements in which the new values add up to as much or
    /// more on the observed side; that sum orders them as the estimate does. The interval is the
    /// same test turned round: each shift that it does not reject (D. Tritchler, *Journal of the
    /// American Statistical Association* 79, 1984). So it leaves out 0 exactly when p is 5 % or
    /// less.
    ///
    /// All arrangements count, without listing them: each exchanges some base
    /// values for as many new ones, and pairs of sorted sums of two halves (base and new values
    /// of one block, or half of the blocks) are
    /// counted in one pass (E. Horowitz, S. Sahni, *Journal of the ACM* 21, 1974). Where
    /// there are too many, 9,999 are drawn from a fixed seed and the observed one
    /// is added (B. Phipson, G. K. Smyth, *Statistical Applications in Genetics and
    /// Molecular Biology* 9, 2010). Where fewer than 50 of these lie on the observed side, so that
    /// p is below 1 %, 90,000 more are drawn (after J. Besag, P. Clifford, *Biometrika* 78, 1991):
    /// a p value below 1 % is then one of 100,000 arrangements, any other one of 10,000, and both
    /// are as seldom small as a p value must be.
    ///
    /// A block that has no value on one side says nothing. `None` when all are such. `draws` keeps
    /// what was drawn for the next call with as many values.
    #[must_use]
    pub fn between_blocks(blocks: &[Block], draws: &mut Draws) -> Option<Shift> {
        Self::of_blocks(blocks, draws, 1.0 - CONFIDENCE)
    }

    /// As [`Shift::between`], with an interval of another level: of all shifts that the test does
    /// not reject at `level`, above 0 and below 1.
    #[must_use]
    pub fn at_level(base: &[f64], new: &[f64], level: f64) -> Option<Shift> {
        Self::of_blocks(
            &[(base.to_vec(), new.to_vec())],
            &mut Draws::default(),
            level,
        )
    }

    fn of_blocks(blocks: &[Block], draws: &mut Draws, level: f64) -> Option<Shift> {
        let both = blocks
            .iter()
            .filter(|(x, y)| !x.is_empty() && !y.is_empty());
        let blocks: Vec<Block> = both.map(|(x, y)| (sorted(x), sorted(y))).collect();
        if blocks.is_empty() {
            return None;
        }
        let other: Vec<Block> = blocks.iter().cloned().map(|(x, y)| (y, x)).collect();
        // A draw must not depend on which side is the base.
        let turned = sizes(&blocks)
            .cmp(&sizes(&other))
            .then_with(|| blocks.partial_cmp(&other).unwrap_or(Ordering::Equal))
            .is_gt();
        let oriented = if turned { &other } else { &blocks };
        let mut shift = match Halves::of(oriented) {
            Some(halves) => halves.shift(oriented, level),
            None => draws.of(sizes(oriented)).shift(oriented, level),
        };
        if turned {
            shift.interval = shift.interval.map(|(low, high)| (-high, -low));
        }
        shift.estimate = difference(&blocks);
        Some(shift)
    }
}

/// How many values each side of each block has.
fn sizes(blocks: &[Block]) -> Vec<(usize, usize)> {
    blocks.iter().map(|(x, y)| (x.len(), y.len())).collect()
}

/// The mean over blocks of new less base: the estimate of least variance where all values scatter
/// alike around the level of their block.
fn difference(blocks: &[Block]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (base, new) in blocks {
        let (m, n) = (base.len() as f64, new.len() as f64);
        let weight = m * n / (m + n);
        sum += weight * (mean(new) - mean(base));
        weights += weight;
    }
    sum / weights
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// How many subsets of `k` there are of `n`.
fn choose(n: usize, k: usize) -> f64 {
    (0..k.min(n)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
        * f64::from(u8::from(k <= n))
}

/// In how many ways the values of such a block can be assigned to their sides.
fn ways((base, new): (usize, usize)) -> f64 {
    choose(base + new, base.min(new))
}

/// The least two-sided p value of a permutation test of blocks with so many values on each side.
#[must_use]
pub fn least_p(sizes: &[(usize, usize)]) -> f64 {
    let all: f64 = sizes.iter().copied().map(ways).product();
    let least = if divided(sizes).is_some() {
        2.0 / all
    } else {
        (2.0 / all).max(2.0 / DRAWN_AT_MOST as f64)
    };
    least.min(1.0)
}

/// The blocks of the left and of the right half by which all arrangements are counted; one block
/// is its own two halves. `None` where there are more arrangements than can be counted in good
/// time.
fn divided(sizes: &[(usize, usize)]) -> Option<[Vec<usize>; 2]> {
    if let [(x, y)] = *sizes {
        // The values that come and those that go: as many of each.
        let most = x.min(y);
        let sums = |n: usize| (0..=most).map(|k| choose(n, k)).sum::<f64>();
        return (sums(x) + sums(y) <= MOST_SUMS).then(|| [vec![0], vec![0]]);
    }
    // Of each half: its blocks, their arrangements, and how many lists these make.
    let mut halves = [(Vec::new(), 1.0, 1_usize), (Vec::new(), 1.0, 1)];
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|a, b| ways(sizes[*b]).total_cmp(&ways(sizes[*a])));
    for block in order {
        let smaller = usize::from(halves[1].1 < halves[0].1);
        let (of, all, lists) = &mut halves[smaller];
        of.push(block);
        *all *= ways(sizes[block]);
        *lists += sizes[block].0.min(sizes[block].1);
    }
    let [(left, l_all, l_lists), (right, r_all, r_lists)] = halves;
    (l_all * r_lists as f64 + r_all * l_lists as f64 <= MOST_SUMS).then_some([left, right])
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

/// All arrangements of blocks, as pairs of an entry of the left and one of the right half.
///
/// An arrangement exchanges some values of the base for as many new ones. What the new side gains
/// by that is the entry on the left less the entry on the right; lists are by the number of values
/// that are exchanged, and sorted.
struct Halves {
    left: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
    /// Which lists go together, and how many values their entries exchange.
    pairs: Vec<(usize, usize, usize)>,
}

impl Halves {
    /// `None` where there are more arrangements than can be counted in good time.
    fn of(blocks: &[Block]) -> Option<Self> {
        let halves = divided(&sizes(blocks))?;
        if let [(x, y)] = blocks {
            // The values that come and those that go: as many of each.
            let most = x.len().min(y.len());
            // Logarithms of times are far from 0 and close together.
            let centred =
                |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v - x[0]).collect() };
            return Some(Halves {
                left: subset_sums(&centred(x), most),
                right: subset_sums(&centred(y), most),
                pairs: (0..=most).map(|k| (k, k, k)).collect(),
            });
        }
        let of = |half: &[usize]| -> Vec<&Block> { half.iter().map(|at| &blocks[*at]).collect() };
        let negative = |lists: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let turn = |list: Vec<f64>| list.into_iter().rev().map(|gain| -gain).collect();
            lists.into_iter().map(turn).collect()
        };
        let (left, right) = (gains(&of(&halves[0])), negative(gains(&of(&halves[1]))));
        let pairs = (0..left.len()).flat_map(|i| (0..right.len()).map(move |j| (i, j, i + j)));
        Some(Halves {
            pairs: pairs.collect(),
            left,
            right,
        })
    }

    /// How many arrangements leave the sum of the new values, each less `shift`, as great as it is
    /// or make it greater.
    fn as_great(&self, shift: f64) -> f64 {
        let sums = |&(i, j, moved): &(usize, usize, usize)| (&self.left[i], &self.right[j], moved);
        at_least(self.pairs.iter().map(sums), shift)
    }

    /// The same for the base values, each less `shift`, where the new ones are left alone.
    fn as_small(&self, shift: f64) -> f64 {
        let sums = |&(i, j, moved): &(usize, usize, usize)| (&self.right[j], &self.left[i], moved);
        at_least(self.pairs.iter().map(sums), shift)
    }

    fn shift(&self, blocks: &[Block], level: f64) -> Shift {
        let sizes = sizes(blocks);
        let all: f64 = sizes.iter().copied().map(ways).product();
        let least_p = least_p(&sizes);
        let (up, down) = (self.as_great(0.0), self.as_small(0.0));
        let p = |as_much: f64| (2.0 * as_much / all).min(1.0);
        let interval = (least_p <= level).then(|| {
            let (low, high) = range(blocks);
            let lower = least_accepted((low, high), level, |shift| p(self.as_great(shift)));
            let upper = least_accepted((-high, -low), level, |shift| p(self.as_small(shift)));
            (lower, -upper)
        });
        Shift {
            estimate: 0.0,
            interval,
            p: p(up.min(down)),
            least_p,
        }
    }
}

/// What the new side gains by each arrangement of some blocks, by how many values are exchanged,
/// sorted.
fn gains(blocks: &[&Block]) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0]];
    for (x, y) in blocks {
        let most = x.len().min(y.len());
        let centred = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v - x[0]).collect() };
        let (comes, goes) = (
            subset_sums(&centred(x), most),
            subset_sums(&centred(y), most),
        );
        let mut more = vec![Vec::new(); all.len() + most];
        for (before, sums) in all.iter().enumerate() {
            for moved in 0..=most {
                let list: &mut Vec<f64> = &mut more[before + moved];
                for sum in sums {
                    for come in &comes[moved] {
                        list.extend(goes[moved].iter().map(|go| sum + come - go));
                    }
                }
            }
        }
        all = more;
    }
    for list in &mut all {
        list.sort_by(f64::total_cmp);
    }
    all
}

/// How many pairs have `more` plus `shift` for each exchanged value no less than `less`.
fn at_least<'a>(
    lists: impl Iterator<Item = (&'a Vec<f64>, &'a Vec<f64>, usize)>,
    shift: f64,
) -> f64 {
    let mut count = 0;
    for (more, less, moved) in lists {
        let slack = moved as f64 * shift + TIE;
        let mut below = 0;
        for more in more {
            let limit = more + slack;
            while below < less.len() && less[below] <= limit {
                below += 1;
            }
            count += below;
        }
    }
    count as f64
}

/// The least and the greatest difference of a new and a base value of one block.
fn range(blocks: &[Block]) -> (f64, f64) {
    let all = (f64::INFINITY, f64::NEG_INFINITY);
    blocks.iter().fold(all, |(low, high), (x, y)| {
        let (least, most) = (y[0] - x[x.len() - 1], y[y.len() - 1] - x[0]);
        (low.min(least), high.max(most))
    })
}

/// The least shift in the range whose p value is above `level`, or a
/// 2^-14th of the range less.
fn least_accepted((mut low, mut high): (f64, f64), level: f64, p: impl Fn(f64) -> f64) -> f64 {
    let accepts = |shift| p(shift) > level;
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

/// Arrangements that were drawn, kept for all tests of as many values: all metrics of two runs
/// share them.
#[derive(Debug, Default)]
pub struct Draws(Vec<Drawn>);

impl Draws {
    fn of(&mut self, sizes: Vec<(usize, usize)>) -> &mut Drawn {
        let at = self.0.iter().position(|drawn| drawn.sizes == sizes);
        let at = at.unwrap_or_else(|| {
            self.0.push(Drawn::new(sizes));
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

/// Arrangements of blocks of these sizes, the observed one first.
#[derive(Debug)]
struct Drawn {
    sizes: Vec<(usize, usize)>,
    random: fastrand::Rng,
    /// Bytes of an arrangement.
    width: usize,
    /// Of each arrangement a bit for each value, base before new in each block: whether it is a
    /// new one.
    bits: Vec<u8>,
    /// How many base values each exchanges for new ones.
    moved: Vec<usize>,
}

impl Drawn {
    fn new(sizes: Vec<(usize, usize)>) -> Self {
        let values: usize = sizes.iter().map(|(x, y)| x + y).sum();
        let width = values.div_ceil(8);
        let mut observed = vec![0; width];
        let mut start = 0;
        for (x, y) in &sizes {
            (start + x..start + x + y).for_each(|at| observed[at / 8] |= 1 << (at % 8));
            start += x + y;
        }
        Drawn {
            sizes,
            random: fastrand::Rng::with_seed(SEED),
            width,
            bits: observed,
            moved: vec![0],
        }
    }

    /// Draws until there are so many arrangements.
    fn extend(&mut self, count: usize) {
        // Of each block: the place of its first new value, and its values in some order.
        let mut start = 0;
        let mut orders = Vec::new();
        for (x, y) in &self.sizes {
            orders.push((start + x, (start..start + x + y).collect::<Vec<_>>()));
            start += x + y;
        }
        while self.moved.len() < count {
            let start = self.bits.len();
            self.bits.resize(start + self.width, 0);
            let mut moved = 0;
            for ((first_new, order), (_, y)) in orders.iter_mut().zip(&self.sizes) {
                for at in 0..*y {
                    let other = self.random.usize(at..order.len());
                    order.swap(at, other);
                    let value = order[at];
                    self.bits[start + value / 8] |= 1 << (value % 8);
                    moved += usize::from(value < *first_new);
                }
            }
            self.moved.push(moved);
        }
    }

    /// What the new side gains by each of the first arrangements: of no base values 0, exactly.
    fn gains<'a>(&'a self, values: &'a [f64], count: usize) -> impl Iterator<Item = f64> + 'a {
        // The sum of each subset of eight values that follow each other.
        let tables: Vec<[f64; 256]> = values
            .chunks(8)
            .map(|eight| {
                let mut table = [0.0; 256];
                for (at, value) in eight.iter().enumerate() {
                    for low in 0..1 << at {
                        table[low + (1 << at)] = table[low] + value;
                    }
                }
                table
            })
            .collect();
        let sum = move |arrangement: &[u8]| -> f64 {
            let bytes = tables.iter().zip(arrangement);
            bytes.map(|(table, byte)| table[usize::from(*byte)]).sum()
        };
        let mut sums = self.bits.chunks_exact(self.width).take(count).map(sum);
        let observed = sums.next().unwrap_or(0.0);
        std::iter::once(0.0).chain(sums.map(move |sum| sum - observed))
    }

    fn shift(&mut self, blocks: &[Block], level: f64) -> Shift {
        let centre = |x: &Vec<f64>| x[0];
        let values: Vec<f64> = blocks
            .iter()
            .flat_map(|(x, y)| x.iter().chain(y).map(move |value| value - centre(x)))
            .collect();
        self.extend(DRAWN);
        let as_much = |gains: &mut dyn Iterator<Item = f64>| {
            let (mut up, mut down) = (0, 0);
            for gain in gains {
                up += usize::from(gain >= -TIE);
                down += usize::from(gain <= TIE);
            }
            up.min(down)
        };
        let gains: Vec<f64> = self.gains(&values, DRAWN).collect();
        let mut p = 2.0 * as_much(&mut gains.iter().copied()) as f64 / DRAWN as f64;
        if p < 2.0 * FEW as f64 / DRAWN as f64 {
            self.extend(DRAWN_AT_MOST);
            let as_much = as_much(&mut self.gains(&values, DRAWN_AT_MOST));
            p = 2.0 * as_much as f64 / DRAWN_AT_MOST as f64;
        }
        // The shift at which an arrangement is as great as the observed one.
        let moved = gains
            .iter()
            .zip(&self.moved)
            .filter(|(_, moved)| **moved > 0);
        let mut shifts: Vec<f64> = moved.map(|(gain, moved)| -gain / *moved as f64).collect();
        let unmoved = DRAWN - shifts.len();
        let tail = (level / 2.0 * DRAWN as f64) as usize;
        // The first shift at which more than a tail of the arrangements are as great.
        let rank = (tail + 1).saturating_sub(unmoved).min(shifts.len());
        let interval = (rank > 0).then(|| {
            let last = shifts.len() - rank;
            let (_, low, _) = shifts.select_nth_unstable_by(rank - 1, f64::total_cmp);
            let low = *low;
            let (_, high, _) = shifts.select_nth_unstable_by(last, f64::total_cmp);
            (low, *high)
        });
        Shift {
            estimate: 0.0,
            interval,
            p: p.min(1.0),
            least_p: least_p(&self.sizes),
        }
    }
}

/// The quantile `p` of the distribution chi square with so many degrees of freedom, from the series
/// of the incomplete gamma function (M. Abramowitz, I. A. Stegun, *Handbook of Mathematical
/// Functions*, 1964, 6.5.29), to nine digits. `None` unless 0 < `p` < 1 and `freedom` > 0.
#[must_use]
pub fn chi_square_quantile(p: f64, freedom: usize) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) || freedom == 0 {
        return None;
    }
    let a = freedom as f64 / 2.0;
    // The gamma function of a + 1, from that of 1 or 1/2 upwards.
    let (first, mut log_gamma) = match freedom % 2 {
        0 => (1.0, 0.0),
        _ => (0.5, std::f64::consts::PI.sqrt().ln()),
    };
    for step in 0..=(a - first).round() as usize {
        log_gamma += (first + step as f64).ln();
    }
    let below = |value: f64| {
        let x = value / 2.0;
        let (mut term, mut sum) = (1.0, 1.0);
        let mut n = 1.0;
        while term > sum * 1e-16 {
            term *= x / (a + n);
            sum += term;
            n += 1.0;
        }
        (a * x.ln() - x - log_gamma).exp() * sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    while below(high) < p {
        high *= 2.0;
    }
    while high - low > 1e-10 * high {
        let middle = f64::midpoint(low, high);
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}

/// How far from 0 a value of Student's t lies with the probability `level`, both sides together: its
/// expansion around the normal distribution (E. A. Cornish, R. A. Fisher, *Revue de l'Institut
/// International de Statistique* 5, 1938), good to 0.01 from 20 degrees of freedom on and down to a
/// level of 1e-5. `None` unless 0 < `level` < 1 and `freedom` > 0.
#[must_use]
pub fn t_two_sided(level: f64, freedom: usize) -> Option<f64> {
    let z = chi_square_quantile(1.0 - level, 1)?.sqrt();
    let v = (freedom > 0).then_some(freedom as f64)?;
    let square = z * z;
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    Some(z * (1.0 + (first + (second + third / v) / v) / v))
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
    fn what_was_seen_bounds_its_probability() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(most_probable_share(0, 10), 1.0 - 0.05f64.powf(0.1));
        close(most_probable_share(9, 10), 0.95f64.powf(0.1));
        assert_eq!(
            (most_probable_share(0, 0), most_probable_share(5, 5)),
            (1.0, 1.0)
        );
        // Three over n, where nothing was seen of many.
        assert!((most_probable_share(0, 1000) - 0.003).abs() < 1e-5);
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

    /// Of each arrangement of the blocks: how many values it exchanges and what the new side gains.
    fn arrangements(blocks: &[Block]) -> Vec<(u32, f64)> {
        let Some(((base, new), others)) = blocks.split_first() else {
            return vec![(0, 0.0)];
        };
        let all = [&base[..], new].concat();
        let others = arrangements(others);
        let mut found = Vec::new();
        for set in 0u32..1 << all.len() {
            if set.count_ones() as usize != new.len() {
                continue;
            }
            let (mut gain, mut moved) = (0.0, 0);
            for (at, value) in all.iter().enumerate() {
                let is_new = set >> at & 1 == 1;
                if at < base.len() && is_new {
                    gain += value;
                    moved += 1;
                } else if at >= base.len() && !is_new {
                    gain -= value;
                }
            }
            found.extend(others.iter().map(|(k, sum)| (k + moved, sum + gain)));
        }
        found
    }

    /// p and interval by listing every arrangement.
    fn listed(blocks: &[Block]) -> (f64, Option<(f64, f64)>) {
        let all = arrangements(blocks);
        let ways = all.len() as f64;
        let share = |test: fn(f64) -> bool| all.iter().filter(|(_, d)| test(*d)).count() as f64;
        let as_much = share(|d| d >= -1e-9).min(share(|d| d <= 1e-9));
        let moving = all.iter().filter(|(moved, _)| *moved > 0);
        let mut shifts: Vec<f64> = moving.map(|(k, d)| -d / f64::from(*k)).collect();
        shifts.sort_by(f64::total_cmp);
        // The observed one counts for any shift.
        let rank = (0..shifts.len()).find(|r| 2.0 * (r + 1) as f64 / ways > 0.05);
        let interval = rank
            .filter(|rank| *rank > 0)
            .map(|rank| (shifts[rank - 1], shifts[shifts.len() - rank]));
        ((2.0 * as_much / ways).min(1.0), interval)
    }

    fn blocked(blocks: &[Block]) -> Shift {
        Shift::between_blocks(blocks, &mut Draws::default()).unwrap()
    }

    fn is_as_listed(shift: Shift, blocks: &[Block]) -> Result<(), TestCaseError> {
        let (p, interval) = listed(blocks);
        prop_assert!((shift.p - p).abs() < 1e-9, "{:?} {}", shift, p);
        prop_assert!(shift.p > 0.0 && shift.p <= 1.0 && shift.p > shift.least_p - 1e-12);
        prop_assert_eq!(shift.interval.is_some(), interval.is_some());
        if let (Some((a, b)), Some((c, d))) = (shift.interval, interval) {
            prop_assert!(
                (a - c).abs() < 0.01 && (b - d).abs() < 0.01,
                "{:?} {:?}",
                shift,
                interval
            );
            // Interval and test agree about no shift, which may be an end of the interval.
            let agrees = if p > 0.05 {
                a <= 0.0 && b >= 0.0
            } else {
                a >= 0.0 || b <= 0.0
            };
            prop_assert!(agrees, "{:?}", shift);
        }
        Ok(())
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
    fn within_blocks_worked_by_hand() {
        // Each pair has its own level; in all five the new one is 1 more: 1 of 32 either way.
        let pairs: Vec<Block> = [3.0, 90.0, 7.0, 55.0, 21.0]
            .map(|level: f64| (vec![level], vec![level + 1.0]))
            .into();
        let shift = blocked(&pairs);
        assert!((shift.p - 2.0 / 32.0).abs() < 1e-12 && (shift.least_p - shift.p).abs() < 1e-12);
        assert_eq!((shift.estimate, shift.interval), (1.0, None));
        // A sixth makes it 1 of 64, and the interval holds the one shift that all have.
        let six = [&pairs[..], &[(vec![0.0], vec![1.0])]].concat();
        let shift = blocked(&six);
        assert!((shift.p - 2.0 / 64.0).abs() < 1e-12);
        let (low, high) = shift.interval.unwrap();
        assert!(
            (low - 1.0).abs() < 1e-2 && (high - 1.0).abs() < 1e-2,
            "{shift:?}"
        );
        // What lacks a side says nothing.
        let more = [&six[..], &[(vec![], vec![1e6]), (vec![-1e6], vec![])]].concat();
        assert_eq!(blocked(&more), shift);
        let none = Shift::between_blocks(&more[6..], &mut Draws::default());
        assert_eq!(
            (none, Shift::between_blocks(&[], &mut Draws::default())),
            (None, None)
        );
        // Weights 1/2 and 1: (1 * 4/2 + 2 * 1) over 3/2.
        let uneven = [(vec![0.0], vec![4.0]), (vec![0.0, 0.0], vec![1.0, 1.0])];
        assert!((blocked(&uneven).estimate - 2.0).abs() < 1e-12);
    }

    fn drawn_and_counted(blocks: &[Block]) -> (Shift, Shift) {
        let blocks: Vec<Block> = blocks.iter().map(|(x, y)| (sorted(x), sorted(y))).collect();
        let counted = Halves::of(&blocks)
            .unwrap()
            .shift(&blocks, 1.0 - CONFIDENCE);
        (
            Drawn::new(sizes(&blocks)).shift(&blocks, 1.0 - CONFIDENCE),
            counted,
        )
    }

    #[test]
    fn many_values_are_drawn_and_agree_with_what_is_counted() {
        let base: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12)).collect();
        for step in [0.7, 3.4, 7.1] {
            let new: Vec<f64> = base.iter().map(|v| v + step).collect();
            let whole = vec![(base.clone(), new.clone())];
            let parts = base.chunks(3).zip(new.chunks(3));
            let parts = parts.map(|(x, y)| (x.to_vec(), y.to_vec())).collect();
            for blocks in [whole, parts] {
                let (drawn, counted) = drawn_and_counted(&blocks);
                // Three and a half standard deviations of the share that p is twice of, and the
                // observed arrangement.
                let all = if drawn.p < 0.01 { DRAWN_AT_MOST } else { DRAWN } as f64;
                let most = 3.5 * (2.0 * counted.p / all).sqrt() + 2.0 / all;
                assert!((counted.p - drawn.p).abs() < most, "{counted:?} {drawn:?}");
                let ((a, b), (c, d)) = (counted.interval.unwrap(), drawn.interval.unwrap());
                // The values have steps, so an end jumps.
                let close = (a - c).abs() < 0.25 && (b - d).abs() < 0.25;
                assert!(close, "{counted:?} {drawn:?}");
            }
        }
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        let far: Vec<f64> = many.iter().map(|v| v + 1000.0).collect();
        assert!((shift(&many, &far).p - 2.0 / DRAWN_AT_MOST as f64).abs() < 1e-12);
        assert!(shift(&many, &many).p > 0.95);
    }

    #[test]
    fn a_drawn_p_value_is_as_seldom_small_as_it_must_be() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut draws = Draws::default();
        let mut small = [0; 3];
        for _ in 0..2000 {
            let mut values = || -> Vec<f64> { (0..17).map(|_| random.f64()).collect() };
            let shift = Shift::between_blocks(&[(values(), values())], &mut draws).unwrap();
            for (count, level) in small.iter_mut().zip([0.2, 0.05, 0.005]) {
                *count += usize::from(shift.p <= level);
            }
        }
        // Expected: 400, 100 and 10, within three and a half standard deviations.
        assert!((337..=463).contains(&small[0]), "{small:?}");
        assert!((66..=134).contains(&small[1]), "{small:?}");
        assert!((1..=21).contains(&small[2]), "{small:?}");
    }

    #[test]
    fn what_is_drawn_does_not_depend_on_what_was_tested_before() {
        let values =
            |step: f64| -> Vec<f64> { (0..20).map(|v| f64::from(v * 7 % 20) + step).collect() };
        let mut draws = Draws::default();
        let far = Shift::between_blocks(&[(values(0.0), values(30.0))], &mut draws);
        let near = Shift::between_blocks(&[(values(0.0), values(1.0))], &mut draws);
        assert_eq!(far, Shift::between(&values(0.0), &values(30.0)));
        assert_eq!(near, Shift::between(&values(0.0), &values(1.0)));
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, freedom, value) in [
            (0.95, 1, 3.841_459),
            (0.2, 1, 0.064_185),
            (0.2, 9, 5.380_053),
            (0.05, 10, 3.940_299),
            (0.5, 200, 199.334_2),
        ] {
            let found = chi_square_quantile(p, freedom).unwrap();
            assert!((found / value - 1.0).abs() < 1e-5, "{p} {freedom}: {found}");
        }
        for (level, freedom, value) in [
            (0.05, 24, 2.063_899),
            (0.001, 24, 3.745_399),
            (0.001, 60, 3.460_200),
            (0.05, 1_000_000, 1.959_966),
        ] {
            let found = t_two_sided(level, freedom).unwrap();
            assert!((found - value).abs() < 0.01, "{level} {freedom}: {found}");
        }
        assert_eq!(
            (chi_square_quantile(1.0, 3), t_two_sided(0.1, 0)),
            (None, None)
        );
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

    fn block(most: usize) -> impl Strategy<Value = Block> {
        let value = || (0..40i32).prop_map(f64::from);
        let side = || prop::collection::vec(value(), 1..most);
        (side(), side())
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
            is_as_listed(shift(&base, &new), &[(base, new)])?;
        }

        #[test]
        fn within_blocks_it_is_that_of_all_arrangements(
            blocks in prop::collection::vec(block(4), 1..4),
        ) {
            is_as_listed(blocked(&blocks), &blocks)?;
        }

        #[test]
        fn what_a_block_shares_changes_nothing(
            blocks in prop::collection::vec((block(4), -64..64i32), 1..6),
        ) {
            let moved: Vec<Block> = blocks
                .iter()
                .map(|((x, y), by)| {
                    let by = |v: &f64| v + f64::from(*by);
                    (x.iter().map(by).collect(), y.iter().map(by).collect())
                })
                .collect();
            let blocks: Vec<Block> = blocks.into_iter().map(|(block, _)| block).collect();
            let (before, after) = (blocked(&blocks), blocked(&moved));
            prop_assert_eq!(Some(before.p), Some(after.p));
            prop_assert!((before.estimate - after.estimate).abs() < 1e-9);
        }

        #[test]
        fn the_other_way_within_blocks_is_its_negative(
            blocks in prop::collection::vec(block(9), 1..5),
        ) {
            let other: Vec<Block> = blocks.iter().cloned().map(|(x, y)| (y, x)).collect();
            let (there, back) = (blocked(&blocks), blocked(&other));
            prop_assert_eq!((there.p, there.least_p), (back.p, back.least_p));
            prop_assert_eq!(Some(there.estimate), Some(-back.estimate));
            prop_assert_eq!(there.interval, back.interval.map(|(low, high)| (-high, -low)));
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
