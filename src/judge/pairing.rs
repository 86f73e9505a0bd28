// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two sides that were measured interleaved: which sessions lie in which block.

use std::collections::BTreeSet;

use crate::judge::conditions::fact_values;
use crate::judge::quantity::{MEDIANS_LEVEL, TAILS_LEVEL};
use crate::statistics::permutation::least_p;
use crate::stream::run::{Run, Session};
use crate::stream::session::BLOCK;

/// Two sides that were measured interleaved with each other.
pub(crate) struct Pair {
    /// `None` where a damaged stream does not tell reliably which sessions lie in which block.
    pub(crate) blocks: Option<Blocks>,
}

/// The block of each session of two sides.
pub(crate) struct Blocks {
    /// For each session of the base and of the new side the number of its block.
    pub(crate) of: [Vec<usize>; 2],
    /// How many blocks hold sessions of both sides.
    pub(crate) shared: usize,
}

impl Pair {
    /// `None` unless every session was measured in a block of a measurement that measured both
    /// sides.
    pub(crate) fn of(base: &Run, new: &Run) -> Option<Self> {
        let blocks = |run: &Run| -> Option<Vec<String>> {
            let of = |session: &Session| fact_values(&session.facts, BLOCK).pop_first();
            run.sessions.iter().map(of).collect()
        };
        let (base_blocks, new_blocks) = (blocks(base)?, blocks(new)?);
        // What stands before the number of the block names the measurement.
        let measurements = |blocks: &[String]| -> BTreeSet<String> {
            let name = |block: &String| {
                block
                    .rsplit_once(' ')
                    .map_or("", |(name, _)| name)
                    .to_owned()
            };
            blocks.iter().map(name).collect()
        };
        let is_whole = |run: &Run| run.damage.damaged + run.damage.gaps == 0;
        let is_pair =
            !base_blocks.is_empty() && measurements(&base_blocks) == measurements(&new_blocks);
        is_pair.then(|| Pair {
            blocks: (is_whole(base) && is_whole(new))
                .then(|| Blocks::of([&base_blocks, &new_blocks])),
        })
    }
}

impl Blocks {
    fn of(names: [&[String]; 2]) -> Self {
        let [base, new] = names.map(|names| names.iter().collect::<BTreeSet<_>>());
        let all: Vec<&String> = base.union(&new).copied().collect();
        let number = |name: &String| all.binary_search(&name).unwrap_or(all.len());
        Blocks {
            of: names.map(|names| names.iter().map(number).collect()),
            shared: base.intersection(&new).count(),
        }
    }
}

/// How many of so many replicates each block of an interleaved measurement holds: as many blocks
/// as can be, so that what drifts on the machine affects both sides of each, but of two replicates
/// or more, from which the noise within a block is known, and so few that a single change of a
/// tail, or at least of a median, can still be found. The sizes differ by one at most.
///
/// 10 replicates make 5 blocks: 2 of C(4, 2)^5 is 0.00026.
#[must_use]
pub fn block_sizes(replicates: usize) -> Vec<usize> {
    let split = |count: usize| -> Vec<usize> {
        let (size, larger) = (replicates / count, replicates % count);
        (0..count)
            .map(|at| size + usize::from(at < larger))
            .collect()
    };
    let reaches = |level: f64| {
        (1..=replicates / 2).rev().map(split).find(|sizes| {
            let both: Vec<(usize, usize)> = sizes.iter().map(|n| (*n, *n)).collect();
            least_p(&both) <= level
        })
    };
    reaches(TAILS_LEVEL)
        .or_else(|| reaches(MEDIANS_LEVEL))
        .unwrap_or_else(|| split(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_many_but_not_too_small() {
        let sizes: Vec<Vec<usize>> = [0, 1, 3, 4, 5, 6, 7, 10].map(block_sizes).into();
        let expected: [&[usize]; 8] = [
            &[0],
            &[1],
            &[3],
            &[4],
            &[5],
            &[2, 2, 2],
            &[3, 2, 2],
            &[2, 2, 2, 2, 2],
        ];
        assert_eq!(sizes, expected);
        for replicates in 2..100 {
            let sizes = block_sizes(replicates);
            assert_eq!(sizes.iter().sum::<usize>(), replicates);
            assert!(sizes.iter().all(|size| *size >= 2), "{sizes:?}");
        }
    }
}
