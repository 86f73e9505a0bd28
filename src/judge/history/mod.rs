// SPDX-License-Identifier: MIT OR Apache-2.0

//! The history of a target on a machine: what changed, when, and with which event.
//!
//! A [`Timeline`] of saved runs comes in; for each metric its changes go out. `doc/method.md`,
//! section "History", describes the method and its rates of false alarms.
//!
//! A judgement of a run uses that run and the runs before it. So a run that is added changes nothing
//! that was said before.

mod acknowledged;
mod clock;
mod events;
mod exact;
mod lessons;
mod parallel;
mod scan;
mod segments;
mod walk;

use std::collections::BTreeSet;

use crate::files::digest::{Head, Series, Timeline};
use crate::judge::compare::Verdict;
use crate::stream::run::Unit;

use clock::Clock;
use events::{events, Marks};
use lessons::Lessons;
use segments::Segments;

pub use acknowledged::{Acknowledged, Acknowledgement, Place};
pub use scan::RUNS_NEEDED;

/// How sure a judgement has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The probability that the test of one window finds a change in one metric that did not change.
    pub level: f64,
    /// The smallest change that counts, as a share.
    pub margin: f64,
    /// The ids of the metrics to judge; `None` judges all. What is learnt from all metrics of the
    /// timeline does not depend on it.
    pub only: Option<BTreeSet<String>>,
}

impl Options {
    /// For alarms: few of them are false.
    #[must_use]
    pub fn for_alarms() -> Self {
        Options {
            level: 1e-5,
            margin: 0.02,
            only: None,
        }
    }

    /// For a report that a person reads: finds more, and more of it is false.
    #[must_use]
    pub fn for_reports() -> Self {
        Options {
            level: 3e-4,
            margin: 0.01,
            only: None,
        }
    }
}

/// The highest floor, as a share: a larger change at an event gets a verdict, whatever the metric
/// did by itself.
pub const FLOOR_BOUND: f64 = 0.25;

/// Something that changed between one run and the next and may change what a primitive costs: the
/// kernel, its configuration, its compiler, its command line, the microcode, or the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The index of the first run after it.
    pub run: usize,
    /// What changed: the name of the fact, its value before and its value since (untrusted text).
    pub changes: Vec<(String, String, String)>,
}

/// What a change of a level begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The event with this index in [`History::events`].
    Event(usize),
    /// No event: the metric moved by itself, which raises its floor.
    Itself,
    /// One of many events, back to a level that the metric had before. The index of the newest run
    /// that had it.
    Returned(usize),
}

/// A level of a metric that differs from the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The index of the first run of the new level.
    pub run: usize,
    /// The index of the run that showed it.
    pub found: usize,
    /// What it begins with.
    pub cause: Cause,
    /// The level before, as it was measured.
    pub before: f64,
    /// The level since, as it was measured until it was found.
    pub after: f64,
    /// The ratio of the two after what the clock explains is taken away.
    pub ratio: f64,
    /// [`Verdict::Regressed`] or [`Verdict::Improved`] if it begins at an event, exceeds the floor
    /// and is confirmed, or if the metric is exact. Otherwise [`Verdict::Inconclusive`].
    pub verdict: Verdict,
    /// False only where events are many and the next run is yet to confirm it.
    pub is_confirmed: bool,
    /// Why somebody expects it (untrusted text).
    pub acknowledged: Option<String>,
}

impl Change {
    /// Whether it is news: it has a verdict, and nobody has acknowledged it.
    #[must_use]
    pub fn is_news(&self) -> bool {
        self.verdict.is_change() && self.acknowledged.is_none()
    }
}

/// Why the newest run of a metric cannot get a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// No run has a value above 0.
    NoValues,
    /// The newest run has no value; the run with this index was the last that had one.
    Gone(usize),
    /// The level is too new: it takes this many more runs.
    TooFewRuns(usize),
    /// Nothing happened on this machine that could have changed it.
    NoEvent,
}

impl Silence {
    /// The reason in words.
    #[must_use]
    pub fn reason(self) -> String {
        match self {
            Silence::NoValues => "no run has a value above 0".to_owned(),
            Silence::Gone(_) => "the newest run has no value".to_owned(),
            Silence::TooFewRuns(more) => format!("not enough runs yet: {more} more"),
            Silence::NoEvent => "no event on this machine yet".to_owned(),
        }
    }
}

/// The history of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricHistory {
    /// The metric's id.
    pub metric: String,
    /// Its changes, oldest first.
    pub changes: Vec<Change>,
    /// The smallest change that gets a verdict, as a share: the margin, or more after what the metric
    /// did by itself; at most [`FLOOR_BOUND`] unless the margin is. 0 for an exact metric.
    pub floor: f64,
    /// How much of a change of the clock the metric follows: 1 is all of it. 0 for an exact metric.
    pub slope: f64,
    /// Whether every difference is a change, because its clock counts instructions.
    pub is_exact: bool,
    /// Why its newest run has no verdict; `None` if it has one, even if that is "no change".
    pub silence: Option<Silence>,
}

/// The history of a target on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The first run of each segment: a change of the machine or of the target begins a new one.
    pub segments: Vec<usize>,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The judged metrics, in the order of the timeline.
    pub metrics: Vec<MetricHistory>,
}

/// Whether a saved run shows how runs like `base` vary: it is older, and neither another machine or
/// target nor an event lies between the two.
#[must_use]
pub fn is_history_of(run: &Head, base: &Head) -> bool {
    run.started < base.started
        && run.hash != base.hash
        && !run.is_imported()
        && Segments::of_machine([run, base]).starts.len() == 1
        && events([run, base]).is_empty()
}

/// Judges a timeline.
#[must_use]
pub fn judge(timeline: &Timeline, options: &Options, acknowledged: &Acknowledged) -> History {
    let events = events(&timeline.runs);
    let of_machine = Segments::of_machine(&timeline.runs);
    let of_target = Segments::of_target(&timeline.runs);
    let clock = Clock::of(&timeline.clock, timeline.runs.len());
    let prepared: Vec<Prepared> = timeline.series.iter().map(Prepared::of).collect();
    let lessons = Lessons::of(&prepared, &clock, &of_machine);
    let is_chosen = |index: &usize| {
        let only = options.only.as_ref();
        only.is_none_or(|only| only.contains(&timeline.series[*index].metric))
    };
    let chosen: Vec<usize> = (0..timeline.series.len()).filter(is_chosen).collect();
    let newest = timeline.runs.len().saturating_sub(1);
    let metrics = parallel::map(&chosen, |&index| {
        let series = &prepared[index];
        let mut history = if series.is_exact {
            let marks = Marks::of(&events, &series.runs);
            exact::judge(series, &marks, &of_target)
        } else {
            let marks = Marks::of(&events, &series.runs);
            walk::Walk::new(
                series,
                index,
                &lessons,
                &clock,
                &marks,
                &of_machine,
                options,
            )
            .judge()
        };
        history.silence = match series.runs.last() {
            None => Some(Silence::NoValues),
            Some(&last) if last < newest => Some(Silence::Gone(last)),
            Some(_) => history.silence,
        };
        for change in &mut history.changes {
            change.acknowledged = acknowledged.reason(&history.metric, change, &events, timeline);
        }
        history
    });
    History {
        segments: of_machine.starts,
        events,
        metrics,
    }
}

/// The values of one metric, without the runs that have none.
struct Prepared<'a> {
    metric: &'a str,
    /// The index of the run of each value.
    runs: Vec<usize>,
    /// The values as measured, above 0.
    values: Vec<f64>,
    /// Their logarithms.
    logs: Vec<f64>,
    is_exact: bool,
}

impl<'a> Prepared<'a> {
    fn of(series: &'a Series) -> Self {
        let measured = series.values.iter().copied().enumerate();
        let measured = measured.filter(|(_, value)| value.is_finite() && *value > 0.0);
        let (runs, values): (Vec<usize>, Vec<f64>) = measured.unzip();
        let logs = values.iter().map(|value| value.ln()).collect();
        let scatters = series.spreads.iter().any(|spread| *spread > 0.0);
        Prepared {
            metric: &series.metric,
            runs,
            values,
            logs,
            is_exact: series.unit == Unit::Instructions && !scatters,
        }
    }
}

#[cfg(test)]
mod tests;
