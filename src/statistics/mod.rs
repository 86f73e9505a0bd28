// SPDX-License-Identifier: MIT OR Apache-2.0

//! Statistics: numbers in, numbers out. Pure functions, each with its source.

pub mod adjust;
pub mod distributions;
pub mod means;
pub mod order;
pub mod permutation;
