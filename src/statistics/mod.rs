// SPDX-License-Identifier: MIT OR Apache-2.0

//! Statistics: numbers in, numbers out. Pure functions, each with its source.

pub mod order;
pub mod permutation;
