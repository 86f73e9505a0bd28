// SPDX-License-Identifier: MIT OR Apache-2.0

//! A path as calls: which function called which, in the order of execution.

use std::ops::Range;

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
