// SPDX-License-Identifier: MIT OR Apache-2.0

//! What on this machine makes the numbers worse or impossible, and what to do about it.
//!
//! [`examine`] is pure: it judges a [`Machine`](crate::machine::Machine) and what [`Probes`] saw of it
//! over a moment. Nothing here changes the machine.

mod checks;
mod probes;

pub use checks::examine;
pub use probes::{Activity, Probes, Realtime, Snapshot, Times};

/// The highest real-time priority that the agent asks for.
const AGENT_PRIORITY: u64 = 3;
/// How much a finding matters, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth knowing when numbers are read or compared.
    Note,
    /// Numbers are worse than they have to be.
    Warning,
    /// Numbers do not describe what they are taken for.
    Blocking,
}

/// One thing found on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about, one or two words.
    pub topic: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// What it does to the numbers.
    pub effect: String,
    /// The exact command or setting that removes it, where there is one.
    pub remedy: Option<String>,
}
