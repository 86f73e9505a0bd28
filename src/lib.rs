// SPDX-License-Identifier: MIT OR Apache-2.0

//! kernmark: what does each kernel primitive cost, and did it change?
//!
//! An agent on the kernel under test prints a stream of records (`doc/protocol.md`); everything
//! else happens here. These are the rooms, in the order in which a run passes through them. Each
//! uses only those above it; `tests/rooms.rs` checks that.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`base`] | text, numbers, the terminal, signals: knows nothing of measuring |
//! | [`stream`] | a line becomes a record, records become a [`stream::run::Run`] |
//! | [`trace`] | which instructions each sample executed |
//! | [`machine`] | what the machine is, and what on it disturbs measurements |
//! | [`target`] | where a record stream comes from: this Linux, an emulator, a board, a file |
//! | [`measure`] | makes a run of a target |
//! | [`statistics`] | order statistics, distributions, permutation tests, adjusted p-values |
//! | [`import`] | the results of other tools as runs |
//! | [`files`] | saved runs, and the published figures of other suites |
//! | [`judge`] | what a metric costs, whether it changed, whether a gate passes |
//! | [`report`] | text for people |
//! | [`export`] | text for other programs |
//! | [`commands`] | the command line |
//!
//! A bad measurement is a value in the run ([`stream::run::Outcome`]), never an error.

#[macro_use]
pub mod base;

pub mod commands;
pub mod export;
pub mod files;
pub mod import;
pub mod judge;
pub mod machine;
pub mod measure;
pub mod report;
pub mod statistics;
pub mod stream;
pub mod target;
pub mod trace;
