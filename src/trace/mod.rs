// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces: which instructions each sample of a metric executed, on targets that count instructions.
//!
//! An emulator with our plugin (`agent/trace`) lists the paths between the readings of the clock.
//! This room reads that list, names the functions, and finds the stamps of each metric in it. It
//! never uses what the clock returned, so that the sums prove the printed values.

pub mod calls;
pub mod tree;
