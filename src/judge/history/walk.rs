// SPDX-License-Identifier: MIT OR Apache-2.0

//! The walk through one metric's runs: finds its levels and says why each began.

use super::clock::{Clock, Slope};
use super::events::Marks;
use super::exact::verdict;
use super::lessons::{Lesson, Lessons};
use super::scan::{Scan, Shift, REACH, RUNS_NEEDED};
use super::segments::Segments;
use super::{Cause, Change, MetricHistory, Options, Prepared, Silence, FLOOR_BOUND};
use crate::judge::compare::Verdict;
use crate::statistics::order;

/// What a metric did by itself raises its floor to this multiple of it.
const FLOOR_FACTOR: f64 = 1.1;
/// What it did longer ago than so many runs does not.
const MEMORY: usize = 400;
/// Two levels closer than this, as logarithms, are the same level if so many runs had it.
const SAME_LEVEL: f64 = 0.01;
const RUNS_OF_LEVEL: usize = 4;
/// A change must exceed the margin by so many standard errors of what the clock explains of it.
const ERRORS: f64 = 2.0;
/// The values before a split that show the level before it.
const BEFORE: usize = 60;

/// A level that began near an event where events are many. The next run has to confirm it.
struct Candidate {
    shift: Shift,
    /// The position of the level's first value.
    split: usize,
    cause: Cause,
}

/// A walk through the runs of a metric.
pub(super) struct Walk<'a> {
    series: &'a Prepared<'a>,
    index: usize,
    /// The lessons still to come.
    lessons: &'a [Lesson],
    clock: &'a Clock,
    marks: &'a Marks,
    segments: &'a Segments,
    options: &'a Options,
    margin: f64,
    lesson: Option<&'a Lesson>,
    scan: Scan,
    /// The position of the scan's first value.
    scan_start: usize,
    /// The position of the level's first value.
    level: usize,
    /// The position of the segment's first value.
    segment: usize,
    candidate: Option<Candidate>,
    /// What the metric did by itself: the position, and the size as a logarithm.
    moves: Vec<(usize, f64)>,
    changes: Vec<Change>,
}

impl<'a> Walk<'a> {
    /// A walk through `series`, which has this index in the lessons.
    pub(super) fn new(
        series: &'a Prepared<'a>,
        index: usize,
        lessons: &'a Lessons,
        clock: &'a Clock,
        marks: &'a Marks,
        segments: &'a Segments,
        options: &'a Options,
    ) -> Self {
        Walk {
            series,
            index,
            lessons: &lessons.0,
            clock,
            marks,
            segments,
            options,
            margin: options.margin.ln_1p(),
            lesson: None,
            scan: Scan::default(),
            scan_start: 0,
            level: 0,
            segment: 0,
            candidate: None,
            moves: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Walks from the oldest run to the newest.
    pub(super) fn judge(mut self) -> MetricHistory {
        let mut number = 0;
        for position in 0..self.series.runs.len() {
            let run = self.series.runs[position];
            if self.segments.number(run) != number {
                number = self.segments.number(run);
                self.segment = position;
                self.candidate = None;
                self.begin_level(position, position);
            }
            if self.learn(run) {
                self.begin_level(self.level, position);
            }
            self.scan.push(self.rest(position));
            self.look(position);
        }
        self.conclude()
    }

    /// Takes the newest lesson that holds at this run. Returns whether it is a new one.
    fn learn(&mut self, run: usize) -> bool {
        let known = self.lessons.partition_point(|lesson| lesson.run <= run);
        let (learnt, rest) = self.lessons.split_at(known);
        self.lessons = rest;
        self.lesson = learnt.last().or(self.lesson);
        known > 0
    }

    fn slope(&self) -> Slope {
        let lesson = self.lesson.map(|lesson| lesson.slopes[self.index]);
        lesson.unwrap_or(Slope::NONE)
    }

    fn rest(&self, position: usize) -> f64 {
        self.series.rest(position, self.slope(), self.clock)
    }

    /// Begins the scan anew with the values of the level from `level` until before `end`.
    fn begin_level(&mut self, level: usize, end: usize) {
        self.level = level;
        self.scan_start = level.max(end.saturating_sub(REACH));
        self.scan = Scan::of((self.scan_start..end).map(|at| self.rest(at)));
    }

    /// Looks for a level that the value at `position` shows.
    fn look(&mut self, position: usize) {
        if let Some(candidate) = self.candidate.take() {
            if candidate.shift.has(self.rest(position)) {
                self.tell(&candidate, position);
            }
            return;
        }
        let Some(lesson) = self.lesson else { return };
        let options = self.options;
        let Some(shift) = self.scan.shift(&lesson.scales, options.level, self.margin) else {
            return;
        };
        let split = self.scan_start + shift.split;
        if shift.size.abs() - ERRORS * self.unsure(split, position) < self.margin {
            return;
        }
        let event = self.marks.near(split, |at| {
            let in_scan = at.checked_sub(self.scan_start);
            in_scan.is_some_and(|at| self.scan.could_begin(&shift, at))
        });
        let (split, cause) = match event {
            Some((split, event)) => (split, Cause::Event(event)),
            None => (split, Cause::Itself),
        };
        let mut candidate = Candidate {
            shift,
            split,
            cause,
        };
        if event.is_some() && self.marks.are_many(position) {
            if let Some(known) = self.known_level(split, position) {
                candidate.cause = Cause::Returned(known);
            }
            self.candidate = Some(candidate);
        } else {
            self.tell(&candidate, position);
        }
    }

    /// The standard error of what the clock explains of a change at `split`.
    fn unsure(&self, split: usize, position: usize) -> f64 {
        let clock = |from: usize, end: usize| {
            let runs = &self.series.runs[from..end];
            let readings: Vec<f64> = runs.iter().map(|run| self.clock.at(*run)).collect();
            order::median(&readings).unwrap_or(0.0)
        };
        let before = self.level.max(split.saturating_sub(BEFORE));
        self.slope().error * (clock(split, position + 1) - clock(before, split)).abs()
    }

    /// The newest run of this segment before `split` that had the level which began there, if enough
    /// runs had it.
    fn known_level(&self, split: usize, position: usize) -> Option<usize> {
        let rests: Vec<f64> = (split..=position).map(|at| self.rest(at)).collect();
        let level = order::median(&rests)?;
        let is_same = |at: &usize| (self.rest(*at) - level).abs() < SAME_LEVEL;
        let mut same = (self.segment..split).rev().filter(is_same);
        let newest = same.next()?;
        same.nth(RUNS_OF_LEVEL - 2)?;
        Some(self.series.runs[newest])
    }

    /// Tells of a new level, which `position` shows or confirms, and begins it.
    fn tell(&mut self, candidate: &Candidate, position: usize) {
        let size = candidate.shift.size;
        let is_judged = match candidate.cause {
            Cause::Event(_) => size.abs() > self.floor(position),
            Cause::Itself => {
                self.moves.push((position, size.abs()));
                false
            }
            Cause::Returned(_) => false,
        };
        let verdict = if is_judged {
            verdict(size > 0.0)
        } else {
            Verdict::Inconclusive
        };
        let change = self.change(candidate, position, verdict, true);
        self.changes.push(change);
        self.begin_level(candidate.split, position + 1);
    }

    fn change(
        &self,
        candidate: &Candidate,
        position: usize,
        verdict: Verdict,
        is_confirmed: bool,
    ) -> Change {
        let median = |from: usize, end: usize| {
            let values = &self.series.values[from..end];
            order::median(values).unwrap_or(f64::NAN)
        };
        let split = candidate.split;
        let before = self.level.max(split.saturating_sub(BEFORE)).min(split - 1);
        Change {
            run: self.series.runs[split],
            found: self.series.runs[position],
            cause: candidate.cause,
            before: median(before, split),
            after: median(split, position + 1),
            ratio: candidate.shift.size.exp().min(f64::MAX),
            verdict,
            is_confirmed,
            acknowledged: None,
        }
    }

    /// The smallest change that counts at `position`, as a logarithm.
    fn floor(&self, position: usize) -> f64 {
        let recent = self.moves.iter().filter(|(at, _)| at + MEMORY > position);
        let moved = recent.map(|(_, size)| FLOOR_FACTOR * size);
        let floor = moved.fold(self.margin, f64::max);
        floor.min(FLOOR_BOUND.ln_1p().max(self.margin))
    }

    fn conclude(mut self) -> MetricHistory {
        let newest = self.series.runs.len().saturating_sub(1);
        if let Some(candidate) = self.candidate.take() {
            let change = self.change(&candidate, newest, Verdict::Inconclusive, false);
            self.changes.push(change);
        }
        let more = (self.level + RUNS_NEEDED).saturating_sub(self.series.runs.len());
        let silence = match more {
            0 if self.marks.any_after(self.segment) => None,
            0 => Some(Silence::NoEvent),
            more => Some(Silence::TooFewRuns(more)),
        };
        MetricHistory {
            metric: self.series.metric.to_owned(),
            floor: self.floor(newest).exp_m1(),
            slope: self.slope().value,
            is_exact: false,
            silence,
            changes: self.changes,
        }
    }
}
