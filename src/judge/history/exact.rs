// SPDX-License-Identifier: MIT OR Apache-2.0

//! Metrics without noise: every difference is a change.

use super::events::Marks;
use super::segments::Segments;
use super::{Cause, Change, MetricHistory, Prepared, Silence};
use crate::judge::compare::Verdict;

/// Judges a metric whose clock counts instructions.
pub(super) fn judge(series: &Prepared, marks: &Marks, segments: &Segments) -> MetricHistory {
    let segment = |position: usize| segments.number(series.runs[position]);
    let positions = 1..series.runs.len();
    let same_target = positions.filter(|&at| segment(at) == segment(at - 1));
    let differs = |at: &usize| series.values[*at].total_cmp(&series.values[at - 1]).is_ne();
    let different = same_target.filter(differs);
    let change = |at: usize| {
        let (before, after) = (series.values[at - 1], series.values[at]);
        Change {
            run: series.runs[at],
            found: series.runs[at],
            cause: marks.at(at).map_or(Cause::Itself, Cause::Event),
            before,
            after,
            ratio: after / before,
            verdict: verdict(after > before),
            is_confirmed: true,
            acknowledged: None,
        }
    };
    let newest = series.runs.len().saturating_sub(1);
    let is_alone = newest == 0 || segment(newest) != segment(newest - 1);
    MetricHistory {
        metric: series.metric.to_owned(),
        changes: different.map(change).collect(),
        floor: 0.0,
        slope: 0.0,
        is_exact: true,
        silence: is_alone.then_some(Silence::TooFewRuns(1)),
    }
}

/// The verdict on a change that counts.
pub(super) fn verdict(is_dearer: bool) -> Verdict {
    if is_dearer {
        Verdict::Regressed
    } else {
        Verdict::Improved
    }
}
