// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interleaved measurements: which session belongs to which block.
//!
//! Two runs come in; if they were measured together, the block of each session goes out.

use std::collections::BTreeSet;

use crate::judge::conditions::fact_values;
use crate::judge::quantity::{MEDIANS_LEVEL, TAILS_LEVEL};
use crate::statistics::permutation::least_p;
use crate::stream::run::{Run, Session};
use crate::stream::session::BLOCK;

/// Two sides that were measured interleaved with each other.
pub(crate) struct Pair {
    /// `None` if a stream is damaged, because the blocks of its sessions are then unreliable.
    pub(crate) blocks: Option<Blocks>,
}

/// The block of each session of two sides.
pub(crate) struct Blocks {
    /// The block number of each session, for the base and the new side.
    pub(crate) of: [Vec<usize>; 2],
    /// The number of blocks with sessions of both sides.
    pub(crate) shared: usize,
}

impl Pair {
    /// `None` unless every session belongs to a block, and both sides come from the same
    /// measurements.
    pub(crate) fn of(base: &Run, new: &Run) -> Option<Self> {
        let blocks = |run: &Run| -> Option<Vec<String>> {
            let of = |session: &Session| fact_values(&session.facts, BLOCK).pop_first();
            run.sessions.iter().map(of).collect()
        };
        let (base_blocks, new_blocks) = (blocks(base)?, blocks(new)?);
        // A block is named `MEASUREMENT NUMBER`.
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

/// How many replicates of each side go into each block of an interleaved measurement.
///
/// There are as many blocks as possible, so that drift affects both sides of a block equally. Two
/// conditions limit their number: a block has at least two replicates per side, to estimate the
/// noise within it; and the smallest possible p value is significant for a tail, or at least for a
/// median. The sizes differ by one at most.
///
/// 10 replicates make 5 blocks: the smallest p value is 2 / C(4, 2)^5 = 0.00026.
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
    fn blocks_have_two_replicates_and_can_show_a_change() {
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
