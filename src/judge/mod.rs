// SPDX-License-Identifier: MIT OR Apache-2.0

//! Judges runs: what does a metric cost, did it change, does that pass a gate?
//!
//! Runs come in, judgements go out; everything is a pure function or a value. Text that is marked as
//! untrusted comes from streams and files and is unchanged, so reports have to escape it.

pub mod budget;
pub mod compare;
pub mod conditions;
pub mod coverage;
pub mod digest;
pub mod explain;
pub mod figures;
pub mod floors;
pub mod gate;
pub mod highlights;
pub mod history;
pub mod interference;
pub mod matrix;
pub mod noise;
pub mod pairing;
pub mod plan;
pub mod quantity;
pub mod ranking;
pub mod summary;
pub mod warnings;
pub mod why;
