// SPDX-License-Identifier: MIT OR Apache-2.0

//! The record stream: one line in, a [`record::Record`] out; all lines in, a [`run::Run`] out.
//!
//! [`record`] has the grammar of a line. [`session`] follows the protocol from line to line, and `case`
//! judges what one case delivered. [`run`] is the result, with [`histogram`], [`ticks`] and [`counted`].
//! [`filter`] selects metrics by id. Pure functions and values: nothing here does input or output.

mod case;
pub mod counted;
pub mod filter;
pub mod histogram;
pub mod paths;
pub mod record;
pub mod run;
pub mod session;
pub mod ticks;

#[cfg(test)]
mod script;
