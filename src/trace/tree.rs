// SPDX-License-Identifier: MIT OR Apache-2.0

//! A path as calls, with all that reports and exports show of it.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use crate::base::number::{count, plural};
use crate::stream::paths::Function;

use super::calls::{Call, Counts, Entry};

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The file: an index into the files of the tree.
    pub file: usize,
    /// The line, counted from 1.
    pub line: u32,
}

/// The calls of one path. Lists of what is not known are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallTree<'a> {
    /// The id of the metric.
    pub metric: &'a str,
    /// What the metric was measured on, for people.
    pub target: &'a str,
    /// Samples that took this path.
    pub samples: u64,
    /// All samples of the metric.
    pub all_samples: u64,
    /// Operations in a sample; 0 counts as 1.
    pub batch: u64,
    /// How often the processor waited for an interrupt in one sample.
    pub idle: u64,
    /// The outermost calls, in the order of execution.
    pub calls: &'a [Call],
    /// The functions that the calls name.
    pub functions: &'a [Function],
    /// What each instruction of the path did.
    pub counts: &'a [Counts],
    /// Where each instruction of the path comes from.
    pub lines: &'a [Option<Line>],
    /// The source files that lines name.
    pub files: &'a [String],
}

/// What a call or a stack did in a stretch of the path.
#[derive(Clone, Debug)]
pub enum Part<'a> {
    /// It executed its own instructions.
    Own(Range<usize>),
    /// It called a function.
    Call(&'a Call),
    /// Another stack executed.
    Away(Range<usize>),
}

/// A stretch of a path with a switch of stacks, or between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The part of the path.
    pub places: Range<usize>,
    /// The function that switches; `None` between two switches.
    pub switch: Option<usize>,
}

impl<'a> CallTree<'a> {
    /// The path as what lies before the first switch of stacks, the switch, and what comes after. A
    /// switch is the call that is left on one stack and gone on with on another, or the interrupt
    /// that ends on another, with all that it calls.
    #[must_use]
    pub fn stretches(&self) -> Vec<Stretch> {
        let stacks = self.stacks();
        let mut own: Vec<Own> = Vec::new();
        for (number, stack) in stacks.iter().enumerate() {
            for root in stack {
                add_own(root, number, None, &mut own);
            }
        }
        own.sort_by_key(|one| one.range.start);
        let end = own.last().map_or(0, |one| one.range.end);
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut from = 0;
        for pair in own.windows(2) {
            let [old, new] = pair else { continue };
            if old.stack == new.stack || new.range.start < from {
                continue;
            }
            let (left, until) = if old.call.function == new.call.function {
                let whole = extent(new.call);
                let stay = own
                    .iter()
                    .skip_while(|one| one.range.start < new.range.start)
                    .take_while(|one| one.stack == new.stack && one.range.start < whole.end);
                (
                    old.call,
                    stay.last().map_or(new.range.end, |one| one.range.end),
                )
            } else {
                (old.interrupt.unwrap_or(old.call), new.range.start)
            };
            let start = extent(left).start.max(from);
            if from < start {
                stretches.push(Stretch {
                    places: from..start,
                    switch: None,
                });
            }
            stretches.push(Stretch {
                places: start..until,
                switch: Some(left.function),
            });
            from = until;
        }
        if from < end {
            stretches.push(Stretch {
                places: from..end,
                switch: None,
            });
        }
        stretches
    }

    /// The outermost calls of each stack. The stack that executed first comes first.
    ///
    /// A switch begins a stack. What was merely returned to belongs to the stack that executed the
    /// instruction before it.
    #[must_use]
    pub fn stacks(&self) -> Vec<Vec<&'a Call>> {
        let mut roots: Vec<&Call> = self.calls.iter().collect();
        for call in self.calls {
            add_switched(call, &mut roots);
        }
        roots.retain(|root| !extent(root).is_empty());
        roots.sort_by_key(|root| extent(root).start);
        let mut stacks: Vec<Vec<&Call>> = Vec::new();
        let mut ends: HashMap<usize, usize> = HashMap::new();
        for root in roots {
            let before = ends.get(&extent(root).start);
            let stack = match (root.entry, before) {
                (Entry::Switched, _) | (_, None) => {
                    stacks.push(Vec::new());
                    stacks.len() - 1
                }
                (_, Some(&stack)) => stack,
            };
            stacks[stack].push(root);
            add_ends(root, stack, &mut ends);
        }
        stacks
    }

    /// How many calls lead to each instruction from the outermost one of its stack.
    #[must_use]
    pub fn depths(&self) -> Vec<usize> {
        fn set(call: &Call, depth: usize, depths: &mut Vec<usize>) {
            for range in &call.own {
                if depths.len() < range.end {
                    depths.resize(range.end, 0);
                }
                depths[range.clone()].fill(depth);
            }
            for called in &call.calls {
                let is_switch = called.entry == Entry::Switched;
                set(called, if is_switch { 0 } else { depth + 1 }, depths);
            }
        }
        let mut depths = Vec::new();
        for call in self.calls {
            set(call, 0, &mut depths);
        }
        depths
    }

    /// The function of a call.
    ///
    /// # Panics
    ///
    /// If the call names none of the functions.
    #[must_use]
    pub fn function(&self, call: &Call) -> &'a Function {
        &self.functions[call.function]
    }

    /// Where an instruction of the path comes from: a file and a line.
    #[must_use]
    pub fn line(&self, place: usize) -> Option<(&'a str, u32)> {
        let line = self.lines.get(place).copied().flatten()?;
        Some((&self.files[line.file], line.line))
    }

    /// What an instruction of the path did.
    #[must_use]
    pub fn counts_at(&self, place: usize) -> Counts {
        let one = Counts {
            instructions: 1,
            ..Counts::default()
        };
        self.counts.get(place).copied().unwrap_or(one)
    }

    /// What the own instructions of a call did.
    #[must_use]
    pub fn own(&self, call: &Call) -> Counts {
        let mut counts = Counts::default();
        for place in call.own.iter().flat_map(Range::clone) {
            counts += self.counts_at(place);
        }
        counts
    }

    /// What a call and all that it called on its stack did.
    #[must_use]
    pub fn inclusive(&self, call: &Call) -> Counts {
        let mut counts = self.own(call);
        for called in on_stack(call) {
            counts += self.inclusive(called);
        }
        counts
    }

    /// What the whole path did.
    #[must_use]
    pub fn total(&self) -> Counts {
        let mut counts = Counts::default();
        for root in self.stacks().iter().flatten() {
            counts += self.inclusive(root);
        }
        counts
    }

    /// Which path it is, for people: `403 instructions, the path of 981 of 1,000 samples`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = format!(
            "{}, the path of {} of {}",
            plural(self.total().instructions, "instruction"),
            count(self.samples),
            plural(self.all_samples, "sample")
        );
        if self.batch > 1 {
            let _ = write!(text, " of {} each", plural(self.batch, "operation"));
        }
        if self.idle > 0 {
            let _ = write!(text, "; the processor waited {}", plural(self.idle, "time"));
        }
        text
    }
}

/// What a call did on its stack, in the order of execution.
#[must_use]
pub fn parts(call: &Call) -> Vec<Part<'_>> {
    in_order(&call.own, on_stack(call))
}

/// What a stack did, in the order of execution.
#[must_use]
pub fn parts_of_stack<'a>(stack: &[&'a Call]) -> Vec<Part<'a>> {
    in_order(&[], stack.iter().copied())
}

fn in_order<'a>(own: &[Range<usize>], calls: impl Iterator<Item = &'a Call>) -> Vec<Part<'a>> {
    let own = own
        .iter()
        .map(|range| (range.clone(), Part::Own(range.clone())));
    let mut known: Vec<_> = own
        .chain(calls.map(|call| (extent(call), Part::Call(call))))
        .filter(|(range, _)| !range.is_empty())
        .collect();
    known.sort_by_key(|(range, _)| range.start);
    let mut parts = Vec::new();
    let mut end = known.first().map_or(0, |(range, _)| range.start);
    for (range, part) in known {
        if end < range.start {
            parts.push(Part::Away(end..range.start));
        }
        end = end.max(range.end);
        parts.push(part);
    }
    parts
}

/// The part of the path from the first to the last instruction of a call and of what it called on
/// its stack.
#[must_use]
pub fn extent(call: &Call) -> Range<usize> {
    let own = call.own.iter().cloned();
    let calls = on_stack(call).map(extent).filter(|range| !range.is_empty());
    own.chain(calls)
        .reduce(|all, next| all.start.min(next.start)..all.end.max(next.end))
        .unwrap_or_default()
}

/// What a call called without switching to another stack.
fn on_stack(call: &Call) -> impl Iterator<Item = &Call> {
    let calls = call.calls.iter();
    calls.filter(|called| called.entry != Entry::Switched)
}

fn add_switched<'a>(call: &'a Call, found: &mut Vec<&'a Call>) {
    for called in &call.calls {
        if called.entry == Entry::Switched {
            found.push(called);
        }
        add_switched(called, found);
    }
}

/// Instructions that follow each other in one call.
struct Own<'a> {
    range: Range<usize>,
    stack: usize,
    call: &'a Call,
    /// The interrupt that this call is, or that jumped to it.
    interrupt: Option<&'a Call>,
}

/// Adds the own instructions of a call and of what it called on its stack.
fn add_own<'a>(call: &'a Call, stack: usize, interrupt: Option<&'a Call>, own: &mut Vec<Own<'a>>) {
    let interrupt = match call.entry {
        Entry::Interrupted => Some(call),
        Entry::Jumped => interrupt,
        Entry::Before | Entry::Called | Entry::Switched => None,
    };
    own.extend(call.own.iter().map(|range| Own {
        range: range.clone(),
        stack,
        call,
        interrupt,
    }));
    for called in on_stack(call) {
        add_own(called, stack, interrupt, own);
    }
}

fn add_ends(call: &Call, stack: usize, ends: &mut HashMap<usize, usize>) {
    ends.extend(call.own.iter().map(|range| (range.end, stack)));
    for called in on_stack(call) {
        add_ends(called, stack, ends);
    }
}
