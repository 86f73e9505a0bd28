// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time as the agent's clock counts it.

/// A span of time in the agent's own clock, an integer to the last step.
///
/// The unit is the session's [`Clock::unit`](crate::stream::run::Clock::unit): cycles of a counter, or executed
/// instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);
