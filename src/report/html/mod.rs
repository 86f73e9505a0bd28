// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports as HTML: one file each, without references to others, readable without scripts.

pub mod compare;
mod distribution;
mod flame;
mod forest;
pub mod frame;
pub mod history;
mod landscape;
pub mod matrix;
pub mod metric;
pub mod run;
mod series;
pub mod site;
mod tint;
pub mod why;
mod words;
