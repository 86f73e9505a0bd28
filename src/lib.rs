// SPDX-License-Identifier: MIT OR Apache-2.0

//! kernmark: what does each kernel primitive cost, and did it change?
//!
//! An agent on the kernel under test prints a stream of records
//! (`doc/protocol.md`); everything else happens here:
//!
//! 1. [`record`] turns one line into a record, a damaged record or log text.
//! 2. [`session`] follows the records and concludes what they are worth: a [`run::Run`].
//! 3. [`histogram`] holds the exact distribution of the samples of one metric.
//! 4. [`stats`] and [`permutation`] hold the statistics, pure functions with their sources.
//!    [`quantity`] names what is judged of a metric, [`figures`] takes it from each replicate.
//! 5. [`summary`] makes one line per metric of a run: value, interval, tails, status.
//!    [`matrix`] puts several runs side by side. [`compare`] says whether two differ: within the
//!    blocks of [`pairing`], under the [`conditions`] and beyond the [`floors`] that [`noise`]
//!    found; [`gate`] says whether that passes. [`budget`] says whether a run keeps within absolute
//!    limits, [`plan`] how many replicates find a change.
//! 6. [`machine`] reads what the machine is; [`doctor`] judges what on it makes numbers worse.
//! 7. [`report`] makes text for people, [`export`] what other programs read, [`catalog`] the page of all metrics.
//! 8. [`cli`] takes the arguments apart, [`filter`] picks metrics.
//! 9. [`measure`] makes a run of a [`target`]; [`progress`] and [`interrupt`] are its eyes and ears; [`screen`] knows the terminal,
//!    [`turn`] keeps other runs away.
//! 10. [`store`] keeps runs as files.
//! 11. [`import`] reads the results of other tools.
//! 12. [`reference`] reads the published figures of other suites; [`coverage`] says which of their
//!     benchmarks are measured here.
//! 13. [`explain`] says what the cost of a metric is made of.
//!
//! A bad measurement is a value in the run ([`run::Outcome`]), never an error.

#[macro_use]
pub mod screen;

pub mod budget;
pub mod catalog;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod conditions;
pub mod coverage;
pub mod doctor;
pub mod explain;
pub mod export;
pub mod figures;
pub mod filter;
pub mod floors;
pub mod gate;
pub mod histogram;
pub mod import;
pub mod interrupt;
pub mod machine;
pub mod matrix;
pub mod measure;
pub mod noise;
pub mod pairing;
pub mod permutation;
pub mod plan;
pub mod progress;
pub mod quantity;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod session;
pub mod stats;
pub mod store;
pub mod summary;
pub mod target;
pub mod turn;
