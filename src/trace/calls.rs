// SPDX-License-Identifier: MIT OR Apache-2.0

//! A path as calls: which function called which, in the order of execution.

use std::collections::HashMap;
use std::ops::Range;

use super::instruction::{Class, Instruction};

/// What a stretch of instructions did. All are counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executed instructions. Each repetition of a string instruction counts, as the emulator does.
    pub instructions: u64,
    /// Those of them that only repeat a string instruction.
    pub repeated: u64,
    /// Loads from memory and devices.
    pub loads: u64,
    /// Stores to memory and devices.
    pub stores: u64,
    /// Loads and stores that reached a device.
    pub devices: u64,
    /// Branches, calls and returns that were taken.
    pub taken: u64,
    /// Instructions that only privileged code may execute.
    pub privileged: u64,
    /// Instructions that wait for earlier ones: barriers, fences, `cpuid`.
    pub serialising: u64,
    /// Instructions that read and write memory as one.
    pub atomic: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.instructions += more.instructions;
        self.repeated += more.repeated;
        self.loads += more.loads;
        self.stores += more.stores;
        self.devices += more.devices;
        self.taken += more.taken;
        self.privileged += more.privileged;
        self.serialising += more.serialising;
        self.atomic += more.atomic;
    }
}

/// How execution came to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It was executing when the path began, or was returned to without having been called in it.
    Before,
    /// By a call.
    Called,
    /// By a jump, as the last action of its caller.
    Jumped,
    /// By an interrupt, an exception or a system call.
    Interrupted,
    /// By a switch to the stack of another thread.
    Switched,
}

/// One execution of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function: an index into the names of the trace.
    pub function: usize,
    /// How execution came to it.
    pub entry: Entry,
    /// The instructions of the function itself, as places in the path: rising, not empty, with
    /// gaps where it called other functions or another thread ran.
    pub own: Vec<Range<usize>>,
    /// What it called, in the order of execution.
    pub calls: Vec<Call>,
}

impl Call {
    /// Instructions of the function itself.
    #[must_use]
    pub fn own_instructions(&self) -> usize {
        self.own.iter().map(ExactSizeIterator::len).sum()
    }

    /// Instructions of the function and of all that it called.
    #[must_use]
    pub fn instructions(&self) -> usize {
        self.own_instructions() + self.calls.iter().map(Call::instructions).sum::<usize>()
    }

    /// The place in the path of its first instruction.
    #[must_use]
    pub fn start(&self) -> usize {
        let own = self.own.first().map(|range| range.start);
        let calls = self.calls.iter().map(Call::start);
        own.into_iter().chain(calls).min().unwrap_or_default()
    }
}

/// An instruction of a trace and its place among the functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The instruction.
    pub instruction: Instruction,
    /// Its function: an index into the names of the trace.
    pub function: usize,
    /// The address of the first instruction of that function.
    pub start: u64,
    /// Whether that function [switches stacks](switches_stacks).
    pub switches: bool,
}

impl Site {
    fn is_start(&self) -> bool {
        self.instruction.address == self.start
    }
}

/// Whether a function of this name always returns on the stack of another thread. Others may: they
/// are found by where they return to.
#[must_use]
pub fn switches_stacks(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "__switch_to_asm",
        "cpu_switch_to",
        "z_arm_pendsv",
        "z_arm64_context_switch",
        "z_riscv_switch",
        "z_x86_switch",
    ];
    NAMES.contains(&name)
}

/// The calls of a path, whose items are indices into `sites`. A stack that execution came back to has
/// one tree, with gaps while others ran. Every place of the path is in one range of one call, and the
/// instruction there belongs to the function of that call.
///
/// No register is known, only which instruction followed which. So these are the rules:
///
/// - A call is left when execution reaches the address after it. Calls within it that did not return
///   are left too (`longjmp`, tail calls).
/// - A jump to another function is [`Entry::Jumped`], also into its middle, and so is running on into
///   it. A jump back into the function that jumped here, as from a cold part, goes on with it.
/// - A call into the middle of its own function is no call. If a return then leads to the start of a
///   function (a retpoline), that function takes the place of this one.
/// - Execution that goes on anywhere else than the instruction can is [`Entry::Interrupted`]. That
///   ends where the instruction is tried again, or goes on.
/// - A supervisor call of M-profile that ends at the start of another function goes on there, for the
///   thread that made it.
/// - A return to somewhere else changes the stack: to one that waits for that address, if there is
///   one, or to one that is not known yet ([`Entry::Switched`]). If this was an exception, which
///   follows from how it ends, it becomes [`Entry::Interrupted`].
/// - An interrupt may also have ended on another stack whose thread waited at the same address. That
///   shows when a function then returns to what did not call it. The calls since then are moved.
/// - A return from a function whose caller is unknown makes its caller [`Entry::Before`].
#[must_use]
pub fn calls(path: &[u32], sites: &[Site]) -> Vec<Call> {
    let Some(&first) = path.first() else {
        return Vec::new();
    };
    let mut follower = Follower {
        sites,
        frames: Vec::new(),
        top: 0,
        log: Vec::new(),
        waiting: Vec::new(),
        resumed: Vec::new(),
        begun: None,
    };
    follower.push(Entry::Before, first, first, None);
    follower.log.push((0, 0));
    for (place, pair) in path.windows(2).enumerate() {
        let (from, to) = (&sites[pair[0] as usize], &sites[pair[1] as usize]);
        let is_next = to.instruction.address == from.instruction.end();
        if is_next && to.function == from.function {
            continue;
        }
        follower.transfer(pair[0], pair[1], place + 1);
        if follower
            .log
            .last()
            .is_none_or(|(top, _)| *top != follower.top)
        {
            follower.log.push((follower.top, place + 1));
        }
    }
    follower.finish(path.len())
}

/// How many calls a path has, and how many of them reached the middle of another function. In a right
/// table of symbols next to none does.
#[must_use]
pub fn missed_starts(path: &[u32], sites: &[Site]) -> (u64, u64) {
    let (mut calls, mut misses) = (0, 0);
    for pair in path.windows(2) {
        let (from, to) = (&sites[pair[0] as usize], &sites[pair[1] as usize]);
        let address = to.instruction.address;
        let is_call = from.instruction.class == Class::Call
            && address != from.instruction.end()
            && from
                .instruction
                .target
                .is_none_or(|target| target == address);
        if is_call {
            calls += 1;
            // A stub of a procedure linkage table needs no symbol.
            let is_stub = to.instruction.class == Class::Jump;
            misses += u64::from(to.function != from.function && !to.is_start() && !is_stub);
        }
    }
    (calls, misses)
}

/// Deepest call. Those below it are shown beside each other.
const DEPTH: usize = 1000;
/// How far down a stack is searched.
const SEARCH: usize = 1000;
/// Stacks that are remembered while others run.
const STACKS: usize = 64;

/// A call on a stack: the number of a [`Frame`].
type Number = u32;

#[derive(Clone, Copy, Debug)]
struct Frame {
    function: usize,
    entry: Entry,
    /// The instruction that led here.
    site: u32,
    /// The call that it belongs to. It is also what execution goes back to.
    below: Option<Number>,
    /// It called an address within itself.
    calls_itself: bool,
    /// Its function always returns on another stack.
    switches: bool,
    /// It began where a supervisor call ended.
    follows: bool,
}

/// The end of an interrupt at an address where several threads may wait.
#[derive(Clone, Copy, Debug)]
struct Resumed {
    /// The frame that waited for it.
    frame: Number,
    address: u64,
    place: usize,
    /// How many frames there were.
    frames: usize,
}

struct Follower<'a> {
    sites: &'a [Site],
    frames: Vec<Frame>,
    top: Number,
    /// The frame that executed from each place on.
    log: Vec<(Number, usize)>,
    /// Stacks that do not run, by the frame that was left last; the oldest first. Execution will
    /// go on in the frame below it.
    waiting: Vec<Number>,
    /// Since the last change of the stack.
    resumed: Vec<Resumed>,
    /// The last stack that began at the start of a function, and the frame that was left then. It
    /// is a new thread, or an exception that came when execution was about to leave that frame.
    begun: Option<(Number, Number)>,
}

impl Follower<'_> {
    fn frame(&self, number: Number) -> &Frame {
        &self.frames[number as usize]
    }

    fn site(&self, number: u32) -> &Site {
        &self.sites[number as usize]
    }

    fn push(&mut self, entry: Entry, site: u32, to: u32, below: Option<Number>) {
        self.top = self.frames.len() as Number;
        self.frames.push(Frame {
            function: self.site(to).function,
            entry,
            site,
            below,
            calls_itself: false,
            switches: self.site(to).switches,
            follows: false,
        });
    }

    /// The frames of a stack from one downwards, as far as they are searched.
    fn stack(&self, top: Option<Number>) -> impl Iterator<Item = Number> + '_ {
        std::iter::successors(top, |number| self.frame(*number).below).take(SEARCH)
    }

    /// Whether execution at an address leaves this frame for the one below.
    fn waits_for(&self, number: Number, address: u64) -> bool {
        let frame = self.frame(number);
        let led = &self.site(frame.site).instruction;
        match frame.entry {
            Entry::Called => address == led.end(),
            Entry::Interrupted => {
                address == led.address || address == led.end() || Some(address) == led.target
            }
            Entry::Before | Entry::Jumped | Entry::Switched => false,
        }
    }

    /// The first frame of a stack that waits for an address.
    fn find(&self, top: Option<Number>, address: u64) -> Option<Number> {
        self.stack(top)
            .find(|number| self.waits_for(*number, address))
    }

    /// The stack that has waited longest for an address: its place among those that wait.
    fn find_waiting(&self, address: u64) -> Option<usize> {
        self.waiting
            .iter()
            .position(|frame| self.waits_for(*frame, address))
    }

    /// Execution went from one instruction to another.
    fn transfer(&mut self, from: u32, to: u32, place: usize) {
        let (led, at) = (self.site(from).instruction, *self.site(to));
        let address = at.instruction.address;
        let is_possible = led.target.is_none_or(|target| target == address);
        match led.class {
            _ if address == led.end() => self.jump(from, to),
            // A string instruction, or one that the emulator tries again.
            _ if address == led.address => {}
            Class::Call if is_possible => {
                if at.function == self.frame(self.top).function && !at.is_start() {
                    self.frames[self.top as usize].calls_itself = true;
                } else {
                    self.push(Entry::Called, from, to, Some(self.top));
                }
            }
            Class::Jump | Class::Branch if is_possible => {
                let is_within = at.function == self.frame(self.top).function;
                let waits = if led.target.is_some() || is_within || at.is_start() {
                    None
                } else {
                    self.find(Some(self.top), address)
                };
                match waits {
                    Some(frame) => self.leave(frame, to, place),
                    None => self.jump(from, to),
                }
            }
            Class::Return | Class::TrapReturn => self.go_back(from, to, place),
            _ => self.push(Entry::Interrupted, from, to, Some(self.top)),
        }
    }

    /// A jump, or running on.
    fn jump(&mut self, from: u32, to: u32) {
        let at = *self.site(to);
        if at.function == self.frame(self.top).function {
            return;
        }
        let mut jumped = self.top;
        if !at.is_start() {
            for _ in 0..SEARCH {
                let frame = self.frame(jumped);
                let (Entry::Jumped, Some(below)) = (frame.entry, frame.below) else {
                    break;
                };
                if self.frame(below).function == at.function {
                    self.top = below;
                    return;
                }
                jumped = below;
            }
        }
        self.push(Entry::Jumped, from, to, Some(self.top));
    }

    /// Execution reached what a frame waits for: it goes on in the frame below.
    fn leave(&mut self, number: Number, to: u32, place: usize) {
        let frame = *self.frame(number);
        let address = self.site(to).instruction.address;
        self.top = frame.below.unwrap_or(number);
        if frame.entry == Entry::Interrupted || frame.switches {
            if self.resumed.len() == STACKS {
                self.resumed.remove(0);
            }
            self.resumed.push(Resumed {
                frame: number,
                address,
                place,
                frames: self.frames.len(),
            });
        }
        // What was interrupted may have been a call that goes on in another function.
        self.transfer(frame.site, to, place);
    }

    /// A return.
    fn go_back(&mut self, from: u32, to: u32, place: usize) {
        let at = *self.site(to);
        let address = at.instruction.address;
        let Some(expected) = self.expected(self.site(from).instruction.class) else {
            return self.go_below(from, to, place);
        };
        if self.switches(expected) {
            self.switch(expected, from, to, place);
        } else if self.waits_for(expected, address) {
            self.leave(expected, to, place);
        } else if self.returns_within(Some(expected), to) {
            // It stays in its function, or jumps.
        } else if self.find_waiting(address).is_some() {
            self.switch(expected, from, to, place);
        } else if let Some(frame) = self.find(Some(expected), address) {
            self.leave(frame, to, place);
        } else if !self.ends_supervisor_call(expected, from, to)
            && !self.move_resumed(expected, from, to, place)
            && !self.was_interrupt(Some(expected), to, place)
        {
            self.switch(expected, from, to, place);
        }
    }

    /// A return to an address within the function that executed it, or the function that jumped
    /// there. If a function called an address within itself, it may return to the start of another
    /// one: that is a jump, and the function is left. Returns whether it was one of them.
    fn returns_within(&mut self, expected: Option<Number>, to: u32) -> bool {
        let at = *self.site(to);
        if at.function == self.frame(self.top).function && !at.is_start() {
            self.frames[self.top as usize].calls_itself = false;
            return true;
        }
        let inner = self
            .stack(Some(self.top))
            .take_while(|number| Some(*number) != expected)
            .chain(expected)
            .find(|number| self.frame(*number).calls_itself);
        let Some(inner) = inner else {
            return false;
        };
        let frame = *self.frame(inner);
        if at.is_start() {
            self.push(frame.entry, frame.site, to, frame.below);
        } else if at.function == frame.function {
            self.frames[inner as usize].calls_itself = false;
            self.top = inner;
        }
        at.is_start() || at.function == frame.function
    }

    /// A supervisor call of M-profile, which has no instruction of its own to return from an
    /// exception, may end in a function that does what was asked for, on the stack of the same
    /// thread. Another exception may follow it, too. Returns whether this is such an end.
    fn ends_supervisor_call(&mut self, expected: Number, from: u32, to: u32) -> bool {
        let frame = *self.frame(expected);
        let is_call = frame.entry == Entry::Interrupted
            && self.site(frame.site).instruction.class == Class::Trap
            && self.site(from).instruction.class == Class::Return;
        let is_start = self.site(to).is_start();
        if is_call && is_start {
            self.push(Entry::Interrupted, frame.site, to, frame.below);
            self.frames[self.top as usize].follows = true;
        } else if is_call && !frame.follows {
            self.push(Entry::Before, from, to, None);
        }
        is_call && (is_start || !frame.follows)
    }

    /// The frame that a return would leave. `None` if it is not known who called.
    fn expected(&self, class: Class) -> Option<Number> {
        let is = |entry: Entry| move |number: &Number| self.frame(*number).entry == entry;
        let interrupted = || self.stack(Some(self.top)).find(is(Entry::Interrupted));
        let called = || self.stack(Some(self.top)).find(is(Entry::Called));
        if class == Class::TrapReturn {
            return interrupted().or_else(called);
        }
        self.stack(Some(self.top))
            .find(|number| is(Entry::Called)(number) || is(Entry::Interrupted)(number))
    }

    /// Whether the frame that is left, or a function that it jumped to, always returns on another
    /// stack.
    fn switches(&self, expected: Number) -> bool {
        self.stack(Some(self.top))
            .take_while(|number| *number != expected)
            .chain([expected])
            .any(|number| self.frame(number).switches)
    }

    /// A return from a function whose caller is not known.
    fn go_below(&mut self, from: u32, to: u32, place: usize) {
        if self.returns_within(None, to) {
            return;
        }
        if self.nest_begun() {
            self.go_back(from, to, place);
        } else if !self.was_interrupt(None, to, place) {
            self.push(Entry::Before, from, to, None);
        }
    }

    /// Takes the stack that runs for an exception on the one that was left when it began.
    fn nest_begun(&mut self) -> bool {
        let Some((root, left)) = self.begun else {
            return false;
        };
        let is_root = self.stack(Some(self.top)).last() == Some(root);
        let Some(place) = self.waiting.iter().position(|frame| *frame == left) else {
            return false;
        };
        if is_root {
            self.begun = None;
            self.waiting.remove(place);
            let Frame { site, below, .. } = *self.frame(left);
            let root = &mut self.frames[root as usize];
            root.entry = Entry::Interrupted;
            root.site = site;
            root.below = below;
        }
        is_root
    }

    /// Leaves a stack for another one.
    fn switch(&mut self, left: Number, from: u32, to: u32, place: usize) {
        let at = *self.site(to);
        let address = at.instruction.address;
        if let Some(frame) = self.find_waiting(address) {
            let frame = self.waiting.remove(frame);
            self.wait(left);
            self.resumed.clear();
            return self.leave(frame, to, place);
        }
        let is_new = at.is_start() && !self.switches(left);
        self.wait(left);
        self.resumed.clear();
        self.push(Entry::Switched, from, to, None);
        if is_new {
            self.begun = Some((self.top, left));
        }
    }

    /// The stack below a frame waits from now on.
    fn wait(&mut self, frame: Number) {
        if self.waiting.len() == STACKS {
            self.waiting.remove(0);
        }
        self.waiting.push(frame);
    }

    /// The frames of a stack that execution seemed to come back to, from the top to one of them.
    /// `None` if it is not that stack's, or was called since.
    fn stack_since(&self, resumed: &Resumed, last: Number) -> Option<Vec<Number>> {
        let mut stack = Vec::new();
        for number in self.stack(self.frame(resumed.frame).below) {
            stack.push(number);
            if number == last {
                return ((last as usize) < resumed.frames).then_some(stack);
            }
        }
        None
    }

    /// The stack that waited for the same address with the same functions, the last of which was
    /// called from before `address`: its place among those that wait.
    fn find_like(&self, resumed: &Resumed, old: &[Number], address: u64) -> Option<usize> {
        let function = |number: &Number| self.frame(*number).function;
        self.waiting.iter().position(|waiting| {
            let below = self.frame(*waiting).below;
            let stack: Vec<Number> = self.stack(below).take(old.len()).collect();
            self.waits_for(*waiting, resumed.address)
                && stack.iter().map(function).eq(old.iter().map(function))
                && stack
                    .last()
                    .is_some_and(|last| self.waits_for(*last, address))
        })
    }

    /// A function returns to what did not call it. If it is older than the end of an interrupt, that
    /// led to another stack: moves there what ran since. Returns whether it did.
    fn move_resumed(&mut self, expected: Number, from: u32, to: u32, place: usize) -> bool {
        let address = self.site(to).instruction.address;
        let eligible = self.resumed.iter().rev().filter_map(|resumed| {
            let old = self.stack_since(resumed, expected)?;
            let other = self.find_like(resumed, &old, address);
            Some((*resumed, old, other))
        });
        // Rather a stack that is known, or the end of a function that always switches.
        let likely = |(resumed, _, other): &(Resumed, Vec<Number>, Option<usize>)| {
            (other.is_none(), !self.frame(resumed.frame).switches)
        };
        let Some((resumed, old, other)) = eligible.min_by_key(likely) else {
            return false;
        };
        let frames = self.frames.len();
        let new: Vec<Number> = if let Some(other) = other {
            let waiting = self.waiting.remove(other);
            let stack = self.stack(self.frame(waiting).below);
            stack.take(old.len()).collect()
        } else {
            for (depth, number) in old.iter().enumerate() {
                self.frames.push(Frame {
                    entry: [Entry::Switched, Entry::Before][depth.min(1)],
                    below: None,
                    ..*self.frame(*number)
                });
            }
            (frames..self.frames.len())
                .map(|number| number as Number)
                .collect()
        };
        let moved: HashMap<Number, Number> = old.into_iter().zip(new.iter().copied()).collect();
        let there = |number: Number| moved.get(&number).copied().unwrap_or(number);
        for frame in &mut self.frames[resumed.frames..frames] {
            frame.below = frame.below.map(there);
        }
        let since = self
            .log
            .partition_point(|(_, place)| *place < resumed.place);
        for (number, _) in &mut self.log[since..] {
            *number = there(*number);
        }
        self.resumed.clear();
        self.begun = None;
        self.wait(resumed.frame);
        match (other, new.last()) {
            (Some(_), Some(last)) => self.leave(*last, to, place),
            _ => self.push(Entry::Before, from, to, None),
        }
        true
    }

    /// What an indirect call or jump seemed to reach may have been an interrupt, after which
    /// execution goes on where the call or jump led to. Returns whether that is so.
    fn was_interrupt(&mut self, expected: Option<Number>, to: u32, place: usize) -> bool {
        let at = *self.site(to);
        let was = |number: &Number| {
            let frame = self.frame(*number);
            let led = self.site(frame.site).instruction;
            let is_right = match (frame.entry, led.class, frame.below) {
                (Entry::Called, Class::Call, _) => at.is_start(),
                (Entry::Jumped, Class::Jump, Some(below)) => {
                    at.function == self.frame(below).function
                }
                _ => false,
            };
            is_right && led.target.is_none()
        };
        let found = self
            .stack(Some(self.top))
            .take_while(|number| Some(*number) != expected)
            .chain(expected)
            .find(was);
        let Some(number) = found else {
            return false;
        };
        let frame = &mut self.frames[number as usize];
        frame.entry = Entry::Interrupted;
        let Frame { site, below, .. } = *frame;
        self.top = below.unwrap_or(number);
        self.transfer(site, to, place);
        true
    }

    /// The calls of a path of this length.
    fn finish(self, length: usize) -> Vec<Call> {
        let parents = self.parents();
        // Each frame after its parent, in the order of execution.
        let mut order: Vec<Number> = Vec::new();
        let mut is_ordered = vec![false; self.frames.len()];
        let mut own: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.frames.len()];
        for (at, (number, start)) in self.log.iter().enumerate() {
            let end = self.log.get(at + 1).map_or(length, |(_, next)| *next);
            match own[*number as usize].last_mut() {
                Some(last) if last.end == *start => last.end = end,
                _ => own[*number as usize].push(*start..end),
            }
            let first = order.len();
            let mut next = Some(*number);
            while let Some(number) = next.filter(|number| !is_ordered[*number as usize]) {
                is_ordered[number as usize] = true;
                order.push(number);
                next = parents[number as usize];
            }
            order[first..].reverse();
        }
        let mut roots: Vec<Call> = Vec::new();
        let mut calls: Vec<Vec<Call>> = vec![Vec::new(); self.frames.len()];
        for number in order.into_iter().rev() {
            let mut inner = std::mem::take(&mut calls[number as usize]);
            inner.reverse();
            let frame = self.frame(number);
            let call = Call {
                function: frame.function,
                entry: frame.entry,
                own: std::mem::take(&mut own[number as usize]),
                calls: inner,
            };
            match parents[number as usize] {
                Some(parent) => calls[parent as usize].push(call),
                None => roots.push(call),
            }
        }
        roots.reverse();
        roots
    }

    /// The call that each frame is shown in: the one below, unless that is too deep.
    fn parents(&self) -> Vec<Option<Number>> {
        let mut parents: Vec<Option<Number>> = vec![None; self.frames.len()];
        let mut depths: Vec<usize> = vec![0; self.frames.len()];
        let mut open: Vec<Number> = Vec::new();
        for number in 0..self.frames.len() as Number {
            let mut next = Some(number);
            while let Some(number) = next.filter(|number| depths[*number as usize] == 0) {
                open.push(number);
                next = self.frame(number).below;
            }
            while let Some(number) = open.pop() {
                let mut parent = self.frame(number).below;
                if let Some(below) = parent.filter(|below| depths[*below as usize] == DEPTH) {
                    parent = parents[below as usize];
                }
                depths[number as usize] = 1 + parent.map_or(0, |parent| depths[parent as usize]);
                parents[number as usize] = parent;
            }
        }
        parents
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An instruction of a path: a letter for its function, its number in it, how it continues and
    /// where to: `a3:call=b0`. Function `s` always returns on another stack.
    fn site(word: &str) -> Site {
        let address = |at: &str| {
            let function = u64::from(at.as_bytes()[0] - b'a');
            0x1000 + 0x100 * function + 4 * at[1..].parse::<u64>().unwrap()
        };
        let (at, continues) = word.split_once(':').unwrap_or((word, ""));
        let (class, target) = continues.split_once('=').unwrap_or((continues, ""));
        let class = match class {
            "" => Class::Plain,
            "call" => Class::Call,
            "ret" => Class::Return,
            "jump" => Class::Jump,
            "branch" => Class::Branch,
            "trap" => Class::Trap,
            "iret" => Class::TrapReturn,
            other => panic!("{other}"),
        };
        Site {
            instruction: Instruction {
                address: address(at),
                size: 4,
                class,
                target: (!target.is_empty()).then(|| address(target)),
                ..Instruction::default()
            },
            function: usize::from(at.as_bytes()[0] - b'a'),
            start: address(at) & !0xff,
            switches: at.starts_with('s'),
        }
    }

    fn follow(path: &str) -> Vec<Call> {
        let sites: Vec<Site> = path.split_whitespace().map(site).collect();
        let path: Vec<u32> = (0..sites.len() as u32).collect();
        let calls = calls(&path, &sites);
        check(&calls, &path, &sites);
        calls
    }

    /// Every place is in one range of one call, and belongs to its function.
    fn check(calls: &[Call], path: &[u32], sites: &[Site]) {
        let mut seen = vec![false; path.len()];
        let mut open: Vec<&Call> = calls.iter().collect();
        while let Some(call) = open.pop() {
            for range in &call.own {
                assert!(!range.is_empty());
                for place in range.clone() {
                    assert!(!std::mem::replace(&mut seen[place], true), "{place} twice");
                    assert_eq!(sites[path[place] as usize].function, call.function);
                }
            }
            assert!(call.own.windows(2).all(|pair| pair[0].end < pair[1].start));
            assert!(call
                .calls
                .windows(2)
                .all(|pair| pair[0].start() < pair[1].start()));
            assert!(call.instructions() > 0);
            open.extend(&call.calls);
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    /// Calls as text: the first letter of the entry, the function, its own instructions, its calls.
    fn text(calls: &[Call]) -> String {
        let one = |call: &Call| {
            let entry = format!("{:?}", call.entry);
            let name = char::from(b'a' + call.function as u8);
            let inner = text(&call.calls);
            let inner = if inner.is_empty() {
                inner
            } else {
                format!("({inner})")
            };
            format!("{}-{name}{}{inner}", &entry[..1], call.own_instructions())
        };
        calls.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn expect(path: &str, calls: &str) {
        assert_eq!(text(&follow(path)), calls, "{path}");
    }

    #[test]
    fn calls_and_returns() {
        expect("a0", "B-a1");
        expect("a0 a1:call=b0 b0 b1:ret a2 a3", "B-a4(C-b2)");
        expect("a0:call b0:ret a1:call b0:ret a2", "B-a3(C-b1 C-b1)");
        expect(
            "a0 a1:call=a0 a0 a1:call=a0 a0:ret a2 a3:ret a2",
            "B-a3(C-a4(C-a1))",
        );
        expect("a0:branch=a4 a4:branch=a9 a5", "B-a3");
        // A condition may keep a call or a return from happening.
        expect("a0:call=b0 a1:ret a2", "B-a3");
    }

    #[test]
    fn what_the_path_began_in() {
        expect("b7:ret a3 a4:ret c5", "B-b1 B-a2 B-c1");
        expect("b7:ret a3:call=b0 b0:ret a4", "B-b1 B-a2(C-b1)");
        let roots = follow("b7:ret a3");
        assert_eq!((roots[0].start(), roots[1].start()), (0, 1));
    }

    #[test]
    fn jumps() {
        // A tail call returns for its caller.
        expect("a0:call=b0 b0:jump=c0 c0:ret a1", "B-a2(C-b1(J-c1))");
        expect(
            "a0:call=b0 b0:jump c0:jump d0:ret a1",
            "B-a2(C-b1(J-c1(J-d1)))",
        );
        // Running on, and jumping into the middle.
        expect("a62 a63 b0 b1:jump=c7 c7", "B-a2(J-b2(J-c1))");
        // A cold part jumps back.
        expect("a0:branch=b0 b0 b1:jump=a1 a1", "B-a2(J-b2)");
        // By a register: within a switch, and as a return.
        expect("a0:call=b0 b0:jump b8 b9:jump a1", "B-a2(C-b3)");
    }

    #[test]
    fn returns_past_callers() {
        expect("a0:call=b0 b0:call=c0 c0:ret a1", "B-a2(C-b1(C-c1))");
        expect("a0:call=b0 b0:call=c0 c0:jump a1", "B-a2(C-b1(C-c1))");
    }

    #[test]
    fn calls_within_a_function() {
        expect("a0:call=a4 a4:ret a1 a2", "B-a4");
        // A retpoline: the thunk t calls within itself, and returns to its target.
        expect(
            "a0:call=t0 t0:call=t3 t3 t4:ret b0 b1:ret a1",
            "B-a2(C-t3 C-b2)",
        );
        expect("a0:jump=t0 t0:call=t3 t3 t4:ret b0", "B-a1(J-t3 J-b1)");
        // A thunk that returns: alone, and for a retpoline.
        expect("a0:call=b0 b0:jump=r0 r0:ret a1", "B-a2(C-b1(J-r1))");
        expect(
            "a0:call=t0 t0:call=t3 t3:jump=r0 r0:ret b0 b1:jump=r0 r0:ret a1",
            "B-a2(C-t2(J-r1) C-b2(J-r1))",
        );
        expect("a0:call=a4 a4:jump=r0 r0:ret a1 a2", "B-a4(J-r1)");
    }

    #[test]
    fn interrupts() {
        let handler = "h0 h1:iret";
        expect(&format!("a0 {handler} a1"), "B-a2(I-h2)");
        expect(&format!("a0 {handler} a0 a1"), "B-a3(I-h2)");
        expect(&format!("a0:trap {handler} a1"), "B-a2(I-h2)");
        expect(&format!("a0 a0 {handler} a0 a1"), "B-a4(I-h2)");
        expect(&format!("a0:branch=a4 {handler} a4"), "B-a2(I-h2)");
        expect(&format!("a0:branch=a4 {handler} a1"), "B-a2(I-h2)");
        // Between a call or a tail call and the first instruction of the function.
        expect(
            &format!("a0:call=b0 {handler} b0:ret a1"),
            "B-a2(I-h2 C-b1)",
        );
        expect(&format!("a0:call {handler} b0:ret a1"), "B-a2(I-h2 C-b1)");
        expect(&format!("a0:jump=b0 {handler} b0"), "B-a1(I-h2 J-b1)");
        expect(&format!("a0:jump {handler} a4"), "B-a2(I-h2)");
        // Between a return and where it leads to.
        expect(
            &format!("a0:call=b0 b0:ret {handler} a1"),
            "B-a2(C-b1 I-h2)",
        );
        // One in another; the handler calls and jumps.
        expect("a0 h0 i0:iret h1 h2:iret a1", "B-a2(I-h3(I-i1))");
        expect(
            "a0 h0:call=b0 b0:ret h1:jump=j0 j0:iret a1",
            "B-a2(I-h2(C-b1 J-j1))",
        );
        // To itself, which some processors need for its side effects.
        expect("a0 a1:jump=b0 b0:iret b5:jump=a2 a2", "B-a3(J-b2)");
    }

    #[test]
    fn exceptions_that_follow_each_other() {
        // The second one comes where the first one returns.
        expect("a0 h0:ret i0 i1:ret a1", "B-a2(I-h1 I-i2)");
        // It switches to an unknown thread.
        expect("a0 h0:ret i0 i1:ret b4 b5", "B-a1(I-h1 I-i2) S-b2");
        // A new thread, which begins at the start of its function.
        expect("a0 h0:ret b0 b1 i0:ret a1", "B-a2(I-h1) S-b2(I-i1)");
    }

    #[test]
    fn system_calls_by_exception_return() {
        // The wrapper w traps; the handler returns into the function i, which returns into the
        // function e, which traps again, and its handler returns to the wrapper's caller.
        expect(
            "a0:call=w0 w0:trap h0:ret i0 i1:ret e0:trap h0:ret a1",
            "B-a2(C-w1(I-h1 I-i2 I-e1(I-h1)))",
        );
        expect("a0:trap h0:ret i0 h0:ret b5", "B-a1(I-h1 I-i1(I-h1)) S-b1");
        expect(
            "i5:ret e0:trap h0:ret w1:ret a1",
            "B-i1 B-e1(I-h1) B-w1 B-a1",
        );
        // The handler asks for the exception i, which follows it and switches.
        expect("a0:trap h0:ret i0:ret b5", "B-a1(I-h1 I-i1) S-b1");
    }

    #[test]
    fn stacks() {
        // A thread blocks; another one runs; the first one goes on where it was.
        expect(
            "a0:call=w0 w0 h0:ret b5 b6 h0:ret w1:ret a1",
            "B-a2(C-w2(I-h1)) S-b2(I-h1)",
        );
        // Three threads.
        expect(
            "a0 h0:ret b5 h0:ret c5 h0:ret a1 h0:ret b6 h0:ret c6",
            "B-a2(I-h1 I-h1) S-b2(I-h1 I-h1) S-c2(I-h1)",
        );
        let roots = follow("a0 h0:ret b5 b6 h0:ret a1");
        assert_eq!(roots[0].own, [0..1, 5..6]);
    }

    #[test]
    fn threads_that_wait_at_the_same_address() {
        // The wait w returns to b, which did not call it: so it was another thread's.
        expect(
            "a0:call=w0 w0 h0:ret w1 w2:ret b5",
            "B-a1(C-w1(I-h1)) S-w2 B-b1",
        );
        // With calls and another interrupt since.
        expect(
            "a0:call=w0 w0 h0:ret w1:call=c0 c0:ret w2:ret b5",
            "B-a1(C-w1(I-h1)) S-w2(C-c1) B-b1",
        );
        // The first thread goes on, and then the other one, whose stack is known.
        expect(
            "a0:call=w0 w0 h0:ret w1:ret b0:call=w0 w0 h0:ret w1:ret a1 a2:call=w0 w0 h0:ret \
             w1:ret b1",
            "B-a3(C-w2(I-h1) C-w1(I-h1)) S-w1 B-b2(C-w2(I-h1))",
        );
        // Of the stacks that wait in w, not the first one goes on. An interrupt does not hide it.
        expect(
            "a0:call=w0 w0:call=s0 s0:ret b0:call=w0 w0:call=s0 s0:ret c0:call=w0 w0:call=s0 s0:ret \
             w1 h0:iret w2:ret b1",
            "B-a1(C-w1(C-s1)) S-b2(C-w3(C-s1 I-h1)) S-c1(C-w1(C-s1))",
        );
        // A function that always switches.
        expect(
            "a0:call=s0 s0:jump=t0 t0:ret a1 a2",
            "B-a1(C-s1(J-t1)) S-a2",
        );
        expect(
            "a0:call=s0 s0:ret a1:call=s0 s0:ret a1",
            "B-a2(C-s1) S-a1(C-s1)",
        );
        expect(
            "a0:call=w0 w0 s0:ret w1 w2:ret b5",
            "B-a1(C-w1(I-s1)) S-w2 B-b1",
        );
        expect("a0:call=s0 s0:ret n0 n1:iret b5", "B-a1(C-s1) S-n2 B-b1");
    }

    #[test]
    fn calls_that_miss_the_starts_of_functions() {
        let count = |path: &str| {
            let sites: Vec<Site> = path.split_whitespace().map(site).collect();
            missed_starts(&(0..sites.len() as u32).collect::<Vec<_>>(), &sites)
        };
        assert_eq!(count("a0:call=b0 b0:ret a1:call b3"), (2, 1));
        assert_eq!(count("a0:call=b3 b3:jump c0"), (1, 0));
        assert_eq!(count("a0:call=a3 a3:call=b0 h0:iret b0"), (1, 0));
    }

    #[test]
    fn deep_recursion() {
        let sites = [site("a0"), site("a1:call=a0")];
        let path = [0, 1].repeat(20_000);
        let calls = calls(&path, &sites);
        check(&calls, &path, &sites);
        let mut depth = 0;
        let mut level = &calls;
        while let Some(call) = level.first() {
            depth += 1;
            level = &call.calls;
        }
        assert_eq!(depth, DEPTH);
    }

    #[test]
    fn empty_path() {
        assert_eq!(calls(&[], &[]), []);
    }

    proptest! {
        #[test]
        fn garbage_is_counted_too(
            code in prop::collection::vec((0_u64..40, 0_usize..8, prop::option::of(0_u64..40)), 1..30),
            steps in prop::collection::vec(any::<u32>(), 1..300),
        ) {
            let sites: Vec<Site> = code
                .iter()
                .map(|(at, class, target)| {
                    let classes =
                        ["", ":call", ":ret", ":jump", ":branch", ":trap", ":iret", ""];
                    let name = |at: u64| format!("{}{}", char::from(b'p' + (at / 8) as u8), at % 8);
                    let class = classes[*class];
                    let target = target.filter(|_| matches!(class, ":call" | ":jump" | ":branch"));
                    let target = target.map(|at| format!("={}", name(at))).unwrap_or_default();
                    site(&format!("{}{class}{target}", name(*at)))
                })
                .collect();
            let path: Vec<u32> = steps.iter().map(|step| step % sites.len() as u32).collect();
            check(&calls(&path, &sites), &path, &sites);
        }
    }
}
