// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs in, judgements out: what a metric costs, whether it changed, whether that passes.
//! Pure functions and values.

pub mod budget;
pub mod compare;
pub mod conditions;
pub mod coverage;
pub mod explain;
pub mod figures;
pub mod floors;
pub mod gate;
pub mod matrix;
pub mod noise;
pub mod pairing;
pub mod plan;
pub mod quantity;
pub mod summary;
