// SPDX-License-Identifier: MIT OR Apache-2.0

//! Durations in ticks of the agent's clock.

/// A duration in ticks of the agent's clock. It stays an integer until it is shown.
///
/// [`Clock::unit`](crate::stream::run::Clock::unit) of the session says what a tick is: a cycle of a
/// counter or an executed instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);
