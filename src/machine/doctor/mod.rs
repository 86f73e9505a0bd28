// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds what disturbs measurements on this machine: a [`Machine`](crate::machine::Machine) and
//! [`Probes`] in, [`Finding`]s with remedies out.
//!
//! [`Probes::take`] watches the machine for a moment. [`examine`] judges and is pure. Neither changes the
//! machine.

mod checks;
mod probes;

pub use super::cpu_times::Times;
pub use checks::examine;
pub use probes::{Activity, Probes, Realtime, Snapshot};

/// The highest real-time priority that the agent asks for.
const AGENT_PRIORITY: u64 = 3;
/// The severity of a finding, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing to improve.
    Good,
    /// Consider it when you read or compare numbers.
    Note,
    /// Numbers are worse than they could be.
    Warning,
    /// Numbers do not measure what they claim to measure.
    Blocking,
}

/// A finding of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its subject, in a few words.
    pub topic: &'static str,
    /// Its severity.
    pub level: Level,
    /// What was found, in sentences.
    pub what: String,
    /// How it affects the numbers. Empty if nothing is to be improved.
    pub effect: String,
    /// The exact command or setting that fixes it, if there is one.
    pub remedy: Option<String>,
}
