// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports as HTML: one file each, without references to others, readable without scripts.

pub mod compare;
mod distribution;
mod forest;
pub mod frame;
mod landscape;
pub mod metric;
pub mod run;
