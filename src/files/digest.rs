// SPDX-License-Identifier: MIT OR Apache-2.0

//! The digest of a saved run: who and what it measured, and one line of figures per metric. A
//! history and a fleet are judged from digests, without reading the records again.

use crate::stream::run::{Fact, Unit};

/// What is known of a saved run besides its figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The file's name in the store, without its suffix.
    pub name: String,
    /// SHA-256 of the uncompressed record stream, in hexadecimal.
    pub hash: String,
    /// When the run started, in seconds since 1970.
    pub started: u64,
    /// Facts about the machine, the kernel, the agent and the tool (untrusted text). A fact that is
    /// too long to keep, such as the kernel's configuration, is replaced by its hash.
    pub facts: Vec<Fact>,
}

/// The figures of one metric in one run, per operation: nanoseconds, or ticks if the clock does not
/// count time.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDigest {
    /// The metric's id.
    pub id: String,
    /// What its clock counts.
    pub unit: Unit,
    /// The median over replicates of p50, p90, p99, p99.9 and the first operation, in this order;
    /// `None` if the run has none.
    pub figures: [Option<f64>; 5],
    /// The largest sample.
    pub worst: Option<f64>,
    /// The standard deviation of the replicates' medians, as a share of their mean; `None` below 2
    /// replicates.
    pub spread: Option<f64>,
    /// The number of replicates with a value.
    pub replicates: u32,
}

/// The digest of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// What is known of the run.
    pub head: Head,
    /// The metrics with a value, in the run's order.
    pub metrics: Vec<MetricDigest>,
}

/// One quantity of many metrics over many runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The runs.
    pub runs: Vec<Head>,
    /// What a reading of the clock cost in each run, in nanoseconds; NaN if the run does not say or
    /// its clock does not count time.
    pub clock: Vec<f64>,
    /// The metrics, in the order of the newest run that has them.
    pub series: Vec<Series>,
}

/// One quantity of one metric over the runs of a [`Timeline`].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric's id.
    pub metric: String,
    /// What its clock counts.
    pub unit: Unit,
    /// The value in each run, per operation, in nanoseconds or ticks; NaN if a run has none.
    pub values: Vec<f64>,
    /// The spread in each run ([`MetricDigest::spread`]); NaN if unknown.
    pub spreads: Vec<f64>,
}
