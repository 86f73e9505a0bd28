// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a path did, counted: by instruction, by function, and the lines of memory that it touched.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::calls::{Counts, Site};
use super::instruction::{Class, Kinds};
use super::list::Accesses;

/// Bytes in a line of memory. A trace has no finer addresses of data.
pub const LINE: u64 = 64;

/// What each place of a path did. The items of the path are indices into `sites`.
///
/// A trace has the accesses to memory by instruction, not by place: they are spread evenly over the
/// places where the instruction is, and their sum is right.
pub fn each<'a>(
    path: &'a [u32],
    sites: &'a [Site],
    accesses: impl IntoIterator<Item = &'a Accesses>,
) -> impl Iterator<Item = Counts> + 'a {
    let mut spread: HashMap<u32, Spread> = HashMap::new();
    for one in accesses {
        let all = &mut spread.entry(one.instruction).or_default().all;
        all.loads += one.loads;
        all.stores += one.stores;
        all.devices += one.devices;
    }
    for number in path {
        if let Some(spread) = spread.get_mut(number) {
            spread.places += 1;
        }
    }
    path.iter().enumerate().map(move |(place, number)| {
        let before = place.checked_sub(1).map(|before| path[before]);
        let after = path.get(place + 1).map(|after| &sites[*after as usize]);
        let site = &sites[*number as usize];
        let is = |kinds| u64::from(site.instruction.kinds.has(kinds));
        let mut counts = spread
            .get_mut(number)
            .map_or_else(Counts::default, Spread::next);
        counts.instructions = 1;
        counts.repeated = is(Kinds::REPEATING) * u64::from(before == Some(*number));
        counts.taken = u64::from(after.is_some_and(|after| takes(site, after)));
        counts.privileged = is(Kinds::PRIVILEGED);
        counts.serialising = is(Kinds::SERIALISING);
        counts.atomic = is(Kinds::ATOMIC);
        counts
    })
}

/// The accesses of an instruction, spread over the places where it is.
#[derive(Default)]
struct Spread {
    all: Counts,
    places: u64,
    seen: u64,
}

impl Spread {
    fn next(&mut self) -> Counts {
        let (seen, places) = (self.seen, self.places);
        self.seen += 1;
        let part = |all: u64| all * (seen + 1) / places - all * seen / places;
        Counts {
            loads: part(self.all.loads),
            stores: part(self.all.stores),
            devices: part(self.all.devices),
            ..Counts::default()
        }
    }
}

/// Whether an instruction led elsewhere than to the next one, and not by an interrupt.
fn takes(site: &Site, after: &Site) -> bool {
    let (instruction, address) = (&site.instruction, after.instruction.address);
    let is_right = match instruction.class {
        Class::Branch => instruction.target.is_none_or(|target| target == address),
        Class::Call | Class::Return | Class::Jump => true,
        _ => false,
    };
    is_right && address != instruction.end()
}

/// What each function of a path did.
#[must_use]
pub fn by_function(
    path: &[u32],
    sites: &[Site],
    each: impl IntoIterator<Item = Counts>,
) -> BTreeMap<usize, Counts> {
    let mut functions: BTreeMap<usize, Counts> = BTreeMap::new();
    for (number, counts) in path.iter().zip(each) {
        *functions
            .entry(sites[*number as usize].function)
            .or_default() += counts;
    }
    functions
}

/// The addresses of the lines of code that a path executed, in order, without repetitions in a row.
/// An instruction across the end of a line is in both.
pub fn code_lines<'a>(path: &'a [u32], sites: &'a [Site]) -> impl Iterator<Item = u64> + 'a {
    let mut last = None;
    let lines = path.iter().flat_map(|number| {
        let instruction = &sites[*number as usize].instruction;
        let last_byte = instruction.end().wrapping_sub(1).max(instruction.address);
        (instruction.address / LINE..=last_byte / LINE).map(|line| line * LINE)
    });
    lines.filter(move |line| last.replace(*line) != Some(*line))
}

/// How many different lines there are.
pub fn distinct(lines: impl IntoIterator<Item = u64>) -> u64 {
    lines.into_iter().collect::<HashSet<_>>().len() as u64
}

/// The shape of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    ways: usize,
    line: u64,
    sets: u64,
}

impl Geometry {
    /// A cache of `size` bytes whose lines have `line` bytes; `ways` of them have the same place.
    ///
    /// # Errors
    ///
    /// There is no such cache, or its lines are shorter than [`LINE`].
    pub fn new(size: u64, ways: u64, line: u64) -> Result<Self, String> {
        if !line.is_power_of_two() || line < LINE {
            return Err(format!(
                "a line of {line} bytes: it has to be a power of two of at least {LINE}"
            ));
        }
        let way = line.saturating_mul(ways);
        let sets = size.checked_div(way).unwrap_or_default();
        if !sets.is_power_of_two() || sets * way != size {
            return Err(format!(
                "{ways} ways of lines of {line} bytes do not fill {size} bytes: their product has \
                 to be the size divided by a power of two"
            ));
        }
        let ways = usize::try_from(ways).map_err(|_| format!("{ways} ways are too many"))?;
        Ok(Geometry { ways, line, sets })
    }
}

/// How often a cache that is empty at first does not have what is asked for. It forgets what was not
/// used for the longest time.
///
/// This is the cache of QEMU's own plugin (`contrib/plugins/cache.c`), with virtual addresses. One
/// is for code and one for data.
pub fn misses(geometry: Geometry, addresses: impl IntoIterator<Item = u64>) -> u64 {
    let mut sets: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut misses = 0;
    for address in addresses {
        let line = address / geometry.line;
        let set = sets.entry(line & (geometry.sets - 1)).or_default();
        if let Some(way) = set.iter().rposition(|known| *known == line) {
            set.remove(way);
        } else {
            misses += 1;
            if set.len() == geometry.ways {
                set.remove(0);
            }
        }
        set.push(line);
    }
    misses
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::instruction::{Instruction, Set};

    fn site(address: u64, bytes: &[u8], function: usize) -> Site {
        Site {
            instruction: Instruction::new(Set::X86_64, address, bytes),
            function,
            ..Site::default()
        }
    }

    fn accesses(instruction: u32, loads: u64, stores: u64, devices: u64) -> Accesses {
        Accesses {
            instruction,
            loads,
            stores,
            devices,
        }
    }

    fn sum(counts: impl IntoIterator<Item = Counts>) -> Counts {
        let mut all = Counts::default();
        counts.into_iter().for_each(|one| all += one);
        all
    }

    #[test]
    fn what_instructions_did() {
        let sites = [
            site(0x10, &[0xf3, 0xaa], 0),             // rep stosb
            site(0x12, &[0x74, 0xfc], 0),             // je 0x10
            site(0x14, &[0xe8, 7, 0, 0, 0], 0),       // call 0x20
            site(0x20, &[0x0f, 0xa2], 1),             // cpuid
            site(0x22, &[0xf0, 0x0f, 0xc1, 0x07], 1), // lock xadd
            site(0x26, &[0xfa], 1),                   // cli
            site(0x27, &[0xc3], 1),                   // ret
        ];
        let path = [0, 0, 0, 1, 0, 1, 2, 3, 4, 5, 6, 2];
        let known = [
            accesses(0, 0, 4, 1),
            accesses(4, 1, 1, 0),
            accesses(4, 1, 0, 0),
        ];
        let each: Vec<Counts> = each(&path, &sites, &known).collect();
        assert_eq!(each.len(), path.len());
        let stores: Vec<u64> = each.iter().map(|one| one.stores).collect();
        assert_eq!(stores, [1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        let all = Counts {
            instructions: 12,
            repeated: 2,
            loads: 2,
            stores: 5,
            devices: 1,
            taken: 3,
            privileged: 1,
            serialising: 1,
            atomic: 1,
        };
        assert_eq!(sum(each.iter().copied()), all);
        let functions = by_function(&path, &sites, each);
        assert_eq!(functions[&0].instructions, 8);
        assert_eq!(functions[&0].taken, 2);
        assert_eq!(functions[&1].taken, 1);
        assert_eq!(sum(functions.into_values()), all);
    }

    #[test]
    fn an_interrupt_is_no_taken_branch() {
        let sites = [
            site(0x12, &[0x74, 0xfc], 0),
            site(0x80, &[0x48, 0xcf], 1),
            site(0x10, &[0x90], 0),
            site(0x14, &[0x90], 0),
        ];
        let taken = |path: &[u32]| sum(each(path, &sites, [])).taken;
        assert_eq!(taken(&[0, 2]), 1);
        assert_eq!(taken(&[0, 3]), 0);
        assert_eq!(taken(&[0, 1, 2]), 0);
    }

    #[test]
    fn lines_of_code() {
        let sites = [
            site(0x3e, &[0x90], 0),
            site(0x3f, &[0x66, 0x90], 0),
            site(0x41, &[0x90], 0),
        ];
        let lines = |path: &[u32]| code_lines(path, &sites).collect::<Vec<_>>();
        assert_eq!(lines(&[0]), [0]);
        assert_eq!(lines(&[0, 1, 2]), [0, 0x40]);
        assert_eq!(lines(&[1, 2, 0, 0, 1]), [0, 0x40, 0, 0x40]);
        assert_eq!(distinct(lines(&[1, 2, 0, 0, 1])), 2);
    }

    #[test]
    fn shapes_of_caches() {
        assert!(Geometry::new(16384, 8, 64).is_ok());
        assert!(Geometry::new(64, 1, 64).is_ok());
        for (size, ways, line) in [(16384, 3, 64), (100, 1, 64), (0, 1, 64), (64, 0, 64)] {
            assert!(
                Geometry::new(size, ways, line).is_err(),
                "{size} {ways} {line}"
            );
        }
        let short = Geometry::new(16384, 8, 32).unwrap_err();
        assert!(short.contains("at least 64"), "{short}");
    }

    #[test]
    fn a_cache_forgets_what_was_not_used() {
        let misses = |size, ways, lines: &[u64]| {
            let geometry = Geometry::new(size, ways, LINE).unwrap();
            super::misses(geometry, lines.iter().map(|line| line * LINE))
        };
        // One set of two ways: 0 is used again, so 1 goes.
        assert_eq!(misses(128, 2, &[0, 1, 0, 2, 0, 1]), 4);
        // Two sets of one way: 0 and 2 have the same place.
        assert_eq!(misses(128, 1, &[0, 1, 2, 0, 1]), 4);
        assert_eq!(misses(256, 4, &[0, 1, 2, 3, 0, 1, 2, 3]), 4);
        assert_eq!(misses(128, 2, &[]), 0);
        // A line of 128 bytes is two of 64.
        let wide = Geometry::new(1024, 2, 128).unwrap();
        assert_eq!(super::misses(wide, [0, 64, 128, 0]), 2);
    }

    proptest! {
        #[test]
        fn a_cache_that_has_room_misses_each_line_once(
            lines in prop::collection::vec(0_u64..64, 0..200),
        ) {
            let addresses = || lines.iter().map(|line| line * LINE);
            let full = Geometry::new(64 * LINE, 64, LINE).unwrap();
            prop_assert_eq!(misses(full, addresses()), distinct(addresses()));
            let direct = Geometry::new(64 * LINE, 1, LINE).unwrap();
            prop_assert_eq!(misses(direct, addresses()), distinct(addresses()));
            // Fewer ways of the same sets never help.
            let mut last = 0;
            for ways in (1..=8).rev() {
                let small = Geometry::new(4 * ways * LINE, ways, LINE).unwrap();
                let found = misses(small, addresses());
                prop_assert!(found >= last);
                last = found;
            }
        }
    }
}
