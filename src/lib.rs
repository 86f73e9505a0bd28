//! kernmark: what does each kernel primitive cost, and did it change?
//!
//! An agent on the kernel under test prints a stream of records
//! (`doc/protocol.md`); everything else happens here:
//!
//! 1. [`record`] turns one line into a record, a damaged record or log text.
//! 2. [`session`] follows the records and concludes what they are worth: a [`run::Run`].
//! 3. [`histogram`] holds the exact distribution of the samples of one metric.
//! 4. [`stats`] holds the statistics, pure functions with their sources.
//! 5. [`summary`] makes one line per metric of a run: value, interval, tails, status.
//!
//! A bad measurement is a value in the run ([`run::Outcome`]), never an error.

pub mod histogram;
pub mod record;
pub mod run;
pub mod session;
pub mod stats;
pub mod summary;
