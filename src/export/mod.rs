//! Runs and catalogs in formats that other programs read.

pub mod csv;
pub mod json;
pub mod markdown;

use crate::summary::{Status, Summary};

/// A status, as the formats name it.
#[must_use]
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Incomplete => "incomplete",
    }
}

/// The status of a metric that a run does not have.
const ABSENT: &str = "absent";

/// Ticks in the unit that the formats use: nanoseconds, or instructions.
fn shown(summary: &Summary, ticks: Option<f64>) -> Option<f64> {
    ticks.map(|ticks| summary.nanoseconds(ticks).unwrap_or(ticks))
}
