// SPDX-License-Identifier: MIT OR Apache-2.0

//! The record stream: one line in, a [`record::Record`] out; all lines in, a [`run::Run`] out.
//! Pure functions and values.

mod case;
pub mod filter;
pub mod histogram;
pub mod record;
pub mod run;
pub mod session;
pub mod ticks;

#[cfg(test)]
mod script;
