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
pub mod spans;
pub mod symbols;
pub mod tree;

use std::collections::HashMap;

use self::list::List;
use self::spans::Samples;
use self::symbols::Symbols;
use crate::stream::paths::{Function, Mode, Paths, MODES};
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

/// What a session executed.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The list that the emulator wrote.
    pub list: List,
    /// The functions of all paths.
    pub functions: Vec<Function>,
    /// The metrics that were followed and have a number.
    pub metrics: Vec<Traced>,
    /// The function of each instruction, by its number.
    function_of: HashMap<u32, usize>,
}

impl Trace {
    /// What a session of a run executed, by its list. `cases` are the cases that it was asked to
    /// measure, in order.
    #[must_use]
    pub fn new(run: &Run, session: usize, cases: &[String], list: List, symbols: &Symbols) -> Self {
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
            function_of: HashMap::new(),
            metrics,
            list,
        };
        trace.name_functions(symbols);
        trace
    }

    fn name_functions(&mut self, symbols: &Symbols) {
        let mut numbers: Vec<(&u32, u64)> = self
            .list
            .instructions
            .iter()
            .map(|(number, instruction)| (number, instruction.address))
            .collect();
        numbers.sort_unstable_by_key(|(_, address)| *address);
        let mut known: HashMap<Function, usize> = HashMap::new();
        for (number, address) in numbers {
            let function = match symbols.find(address) {
                Some(symbol) => Function::from(symbol),
                None => Function::unknown(address),
            };
            let next = self.functions.len();
            let index = *known.entry(function).or_insert_with_key(|function| {
                self.functions.push(function.clone());
                next
            });
            self.function_of.insert(*number, index);
        }
    }

    /// The function of an instruction: an index into [`Trace::functions`].
    #[must_use]
    pub fn function(&self, instruction: u32) -> Option<usize> {
        self.function_of.get(&instruction).copied()
    }

    /// The numbers of the instructions of a path, which lies between two stamps. `None` if the list
    /// had no room for them.
    #[must_use]
    pub fn instructions(&self, path: &[usize]) -> Option<Vec<u32>> {
        let mut all = Vec::new();
        for piece in path {
            all.extend(self.list.paths.get(*piece)?.instructions()?);
        }
        Some(all)
    }

    /// Whether an instruction is an x86 string instruction with a prefix that repeats it.
    fn repeats(&self, instruction: u32) -> bool {
        let bytes = self.list.instruction(instruction);
        let bytes = bytes.map_or(&[][..], |instruction| &instruction.bytes);
        let prefixes = bytes
            .iter()
            .take_while(|byte| matches!(byte, 0x66 | 0x67 | 0xf2 | 0xf3 | 0x40..=0x4f));
        let at = prefixes.clone().count();
        let has_prefix = bytes[..at].iter().any(|byte| matches!(byte, 0xf2 | 0xf3));
        let is_string = bytes
            .get(at)
            .is_some_and(|byte| matches!(byte, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf));
        has_prefix && is_string
    }

    /// The paths of a metric, counted by function.
    #[must_use]
    pub fn paths(&self, samples: &Samples) -> Paths {
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
        paths
    }

    /// One path, counted by function.
    #[must_use]
    pub fn mode(&self, sampled: &spans::Sampled) -> Mode {
        let mut mode = Mode {
            samples: sampled.samples,
            idle: sampled.idle,
            ..Mode::default()
        };
        let mut counts: HashMap<usize, u64> = HashMap::new();
        for piece in &sampled.path {
            let mut last = None;
            let Some(instructions) = self.list.paths[*piece].instructions() else {
                continue;
            };
            for instruction in instructions {
                let Some(function) = self.function(instruction) else {
                    continue;
                };
                *counts.entry(function).or_default() += 1;
                if last == Some(instruction) && self.repeats(instruction) {
                    *mode.repeated.entry(function).or_default() += 1;
                }
                last = Some(instruction);
            }
        }
        mode.functions.extend(counts);
        mode
    }
}
