// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the samples of a metric executed: its paths, counted by function.

use std::collections::BTreeMap;

/// A function that a path executes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its name; the address in hexadecimal if no symbol has it.
    pub name: String,
    /// The program that has it: `kernel`, the name of a module, or the name of an image.
    pub program: String,
}

/// Samples that took the same path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// How many samples took it.
    pub samples: u64,
    /// How often the processor waited for an interrupt in one sample. The clock counts that time
    /// too, so a value is then more than the instructions.
    pub idle: u64,
    /// Instructions of one sample that only repeat a string instruction.
    pub repeated: u64,
    /// Instructions of one sample by function: an index into the functions of the run.
    pub functions: BTreeMap<usize, u64>,
}

impl Mode {
    /// Instructions of one sample.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.functions.values().sum()
    }
}

/// The paths of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The most frequent first; at most [`MODES`].
    pub modes: Vec<Mode>,
    /// The sum of the others: its instructions are those of all its samples together.
    pub others: Mode,
}

/// Paths of one metric that a run keeps apart.
pub const MODES: usize = 64;
