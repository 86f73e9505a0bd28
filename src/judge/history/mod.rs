// SPDX-License-Identifier: MIT OR Apache-2.0

//! The history of a target on a machine: what changed, when, and with which event.
//!
//! A [`Timeline`](crate::files::digest::Timeline) of saved runs comes in; for each metric its
//! changes go out. `doc/method.md`, section "History", describes the method and its rates of false
//! alarms.

use crate::judge::compare::Verdict;

/// Something that changed between one run and the next and may change what a primitive costs: the
/// kernel, its configuration, its compiler, its command line, the microcode, or the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The index of the first run after it.
    pub run: usize,
    /// What changed: the name of the fact, its value before and its value since (untrusted text).
    pub changes: Vec<(String, String, String)>,
}

/// Why a level that changed counts or does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It begins at the event with this index: it gets a verdict.
    Event(usize),
    /// It begins at no event: the metric moved by itself, which widens its floor.
    Itself,
}

/// A level of a metric that differs from the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The index of the first run of the new level.
    pub run: usize,
    /// What it begins with.
    pub cause: Cause,
    /// The level before, as it was measured.
    pub before: f64,
    /// The level since.
    pub after: f64,
    /// The ratio of the two after what the clock explains is taken away.
    pub ratio: f64,
    /// [`Verdict::Regressed`] or [`Verdict::Improved`] for an event, otherwise
    /// [`Verdict::Inconclusive`].
    pub verdict: Verdict,
    /// Where each run has its own event: whether the next run confirmed the change.
    pub is_confirmed: bool,
}

/// The history of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricHistory {
    /// The metric's id.
    pub metric: String,
    /// Its changes, oldest first.
    pub changes: Vec<Change>,
    /// The smallest change that gets a verdict, as a share, after what the metric did by itself.
    pub floor: f64,
    /// How much of a change of the clock the metric follows: 1 is all of it.
    pub slope: f64,
}

/// The history of a target on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The first run of each segment: a change of the machine begins a new one.
    pub segments: Vec<usize>,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The metrics, in the order of the timeline.
    pub metrics: Vec<MetricHistory>,
}
