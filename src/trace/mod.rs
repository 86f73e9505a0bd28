// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces: which instructions each sample of a metric executed, on targets that count instructions.
//!
//! An emulator with our plugin (`agent/trace`) lists the paths between the readings of the clock
//! ([`list`]). The programs that it ran name their functions and mark the agent's readings
//! ([`image`], [`symbols`]). From both, [`Trace::new`] finds the samples of each metric ([`spans`])
//! and what they executed. What the clock returned is not used: it only proves the result.

pub mod calls;
pub mod counts;
pub mod image;
pub mod instruction;
pub mod list;
pub mod log;
pub mod source;
pub mod spans;
pub mod stacks;
pub mod symbols;
pub mod tree;

use std::collections::{BTreeMap, HashMap};

use self::calls::{switches_stacks, Counts, Site};
use self::instruction::{Instruction, Kinds, Set};
use self::list::{Accesses, List};
use self::spans::{Sampled, Samples};
use self::symbols::Symbols;
use crate::stream::paths::{Count, Function, Mode, Paths, MODES};
use crate::stream::run::{Outcome, Run};

/// A metric of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Its id.
    pub metric: String,
    /// Operations in a sample.
    pub batch: u64,
    /// Its samples, or why they cannot be found.
    pub samples: Result<Samples, String>,
}

/// What an emulator wrote of a session, and what is needed to read it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The list of paths.
    pub list: List,
    /// The functions of everything that ran.
    pub symbols: Symbols,
    /// The processor's instruction set.
    pub set: Set,
    /// Whether accesses to memory were counted.
    pub has_counts: bool,
}

/// What a session executed.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The list that the emulator wrote.
    pub list: List,
    /// The functions of all paths.
    pub functions: Vec<Function>,
    /// The metrics that were followed and have a number.
    pub metrics: Vec<Traced>,
    /// The instructions of all paths, with their functions.
    pub sites: Vec<Site>,
    /// Whether accesses to memory were counted.
    pub has_counts: bool,
    /// The place of each instruction in `sites`, by its number.
    places: Vec<u32>,
    /// The number of each of `sites`.
    numbers: Vec<u32>,
}

impl Trace {
    /// What a session of a run executed. `cases` are the cases that it was asked to measure, in
    /// order.
    #[must_use]
    pub fn new(run: &Run, session: usize, cases: &[String], seen: Seen) -> Self {
        let list = seen.list;
        let mut metrics = Vec::new();
        for case in &list.cases {
            let Some(id) = cases.get(case.number) else {
                continue;
            };
            let entries = || run.catalog.iter().filter(|entry| entry.case == *id);
            let stamps = entries().map(|entry| entry.stamps.1 as usize + 1).max();
            for entry in entries() {
                let metric = run.metrics.iter().find(|metric| metric.id == entry.metric);
                let replicates = metric.iter().flat_map(|metric| &metric.replicates);
                let mut replicates = replicates.filter(|replicate| replicate.session == session);
                let Some(replicate) = replicates.find(|one| one.outcome == Outcome::Ok) else {
                    continue;
                };
                let printed = &replicate.histogram;
                metrics.push(Traced {
                    metric: entry.metric.clone(),
                    batch: replicate.batch.max(1),
                    samples: spans::find(&list, case, entry.stamps, stamps.unwrap_or(0), printed),
                });
            }
        }
        let mut trace = Trace {
            functions: Vec::new(),
            sites: Vec::new(),
            places: Vec::new(),
            numbers: Vec::new(),
            has_counts: seen.has_counts,
            metrics,
            list,
        };
        trace.place_instructions(&seen.symbols, seen.set);
        trace
    }

    /// Finds the function of each instruction.
    fn place_instructions(&mut self, symbols: &Symbols, set: Set) {
        let mut all: Vec<_> = self.list.instructions.iter().collect();
        all.sort_unstable_by_key(|(number, instruction)| (instruction.address, **number));
        let most = all.iter().map(|(number, _)| **number as usize + 1).max();
        self.places = vec![u32::MAX; most.unwrap_or(0)];
        let mut known: HashMap<Function, usize> = HashMap::new();
        for (number, instruction) in all {
            let symbol = symbols.find(instruction.address);
            let function = match symbol {
                Some(symbol) => Function::from(symbol),
                None => Function::unknown(instruction.address),
            };
            let start = symbol.map_or(instruction.address, |symbol| symbol.address);
            let switches = switches_stacks(&function.name);
            let next = self.functions.len();
            let function = *known.entry(function).or_insert_with_key(|function| {
                self.functions.push(function.clone());
                next
            });
            self.places[*number as usize] = self.sites.len() as u32;
            self.numbers.push(*number);
            self.sites.push(Site {
                instruction: Instruction::new(set, instruction.address, &instruction.bytes),
                function,
                start,
                switches,
            });
        }
    }

    /// Operations in a sample of a metric; 1 if it was not followed.
    #[must_use]
    pub fn batch(&self, metric: &str) -> u64 {
        let found = self.metrics.iter().find(|one| one.metric == metric);
        found.map_or(1, |one| one.batch)
    }

    /// The disassembly of one of [`Trace::sites`]; empty unless it was asked for.
    #[must_use]
    pub fn text(&self, site: u32) -> &str {
        let number = self.numbers.get(site as usize);
        let instruction = number.and_then(|number| self.list.instruction(*number));
        instruction.map_or("", |instruction| instruction.text.as_str())
    }

    /// The instructions of a path between two stamps, in the order of execution: indices into
    /// [`Trace::sites`]. `None` if the list had no room for them.
    #[must_use]
    pub fn path(&self, sampled: &Sampled) -> Option<Vec<u32>> {
        let mut path = Vec::with_capacity(sampled.instructions as usize);
        for piece in &sampled.path {
            let numbers = self.list.paths.get(*piece)?.instructions()?;
            for number in numbers {
                let place = self.places.get(number as usize).copied();
                path.push(place.filter(|place| *place != u32::MAX)?);
            }
        }
        Some(path)
    }
    /// The paths of a metric, counted by function.
    ///
    /// # Errors
    ///
    /// The list had no room for some of them.
    pub fn paths(&self, samples: &Samples) -> Result<Paths, String> {
        let mut pieces = samples.sampled.iter().flat_map(|one| &one.path);
        if pieces.any(|piece| self.list.paths[*piece].instructions().is_none()) {
            return Err(
                "the list of the emulator had no room for all of them; fewer samples make it \
                 shorter: --samples"
                    .to_owned(),
            );
        }
        let mut frequent: Vec<_> = samples.sampled.iter().collect();
        frequent.sort_by_key(|one| std::cmp::Reverse(one.samples));
        let mut paths = Paths::default();
        for (place, one) in frequent.into_iter().enumerate() {
            let mode = self.mode(one);
            if place < MODES {
                paths.modes.push(mode);
            } else {
                paths.others.add_all(&mode);
            }
        }
        Ok(paths)
    }

    /// The accesses to memory on a path, by place in [`Trace::sites`]. Empty if they were not counted.
    fn accesses(&self, sampled: &Sampled) -> Vec<Accesses> {
        let pieces = sampled.path.iter();
        let all = pieces.flat_map(|piece| &self.list.paths[*piece].accesses);
        all.filter_map(|accesses| {
            let place = *self.places.get(accesses.instruction as usize)?;
            (place != u32::MAX).then_some(Accesses {
                instruction: place,
                ..*accesses
            })
        })
        .collect()
    }

    /// What each place of a path did; loads and stores only if they were counted.
    #[must_use]
    pub fn each(&self, sampled: &Sampled, path: &[u32]) -> Vec<Counts> {
        counts::each(path, &self.sites, &self.accesses(sampled)).collect()
    }

    /// The lines of data that a path accessed, by address, in order.
    pub fn data_lines<'a>(&'a self, sampled: &'a Sampled) -> impl Iterator<Item = u64> + 'a {
        let pieces = sampled.path.iter();
        let lines = pieces.flat_map(|piece| self.list.paths[*piece].lines());
        lines.filter_map(|line| self.list.lines.get(&line).copied())
    }

    /// Everything that is counted of a path.
    #[must_use]
    pub fn counts(&self, sampled: &Sampled, path: &[u32]) -> BTreeMap<Count, u64> {
        let mut sum = Counts::default();
        for one in self.each(sampled, path) {
            sum += one;
        }
        let code = counts::distinct(counts::code_lines(path, &self.sites));
        let data = counts::distinct(self.data_lines(sampled));
        BTreeMap::from([
            (Count::Loads, sum.loads),
            (Count::Stores, sum.stores),
            (Count::Devices, sum.devices),
            (Count::Taken, sum.taken),
            (Count::Privileged, sum.privileged),
            (Count::Serialising, sum.serialising),
            (Count::Atomic, sum.atomic),
            (Count::CodeLines, code),
            (Count::DataLines, data),
        ])
    }

    /// One path, counted by function.
    #[must_use]
    pub fn mode(&self, sampled: &Sampled) -> Mode {
        let mut mode = Mode {
            samples: sampled.samples,
            idle: sampled.idle,
            ..Mode::default()
        };
        let mut last = None;
        let mut counts = vec![0; self.functions.len()];
        let path = self.path(sampled).unwrap_or_default();
        for place in &path {
            let site = &self.sites[*place as usize];
            counts[site.function] += 1;
            if last == Some(*place) && site.instruction.kinds.has(Kinds::REPEATING) {
                *mode.repeated.entry(site.function).or_default() += 1;
            }
            last = Some(*place);
        }
        let counts = counts.into_iter().enumerate();
        mode.functions
            .extend(counts.filter(|(_, count)| *count > 0));
        if self.has_counts {
            mode.counts = self.counts(sampled, &path);
        }
        mode
    }
}
