// SPDX-License-Identifier: MIT OR Apache-2.0

//! A run: replicates of all cases on one target, within a time budget.
//!
//! Each replicate is a fresh process or boot of the agent, with the cases in another
//! order where the target allows that. What a case may take is set anew for each replicate from what the
//! one before took, so that the whole keeps to its time.

pub mod lock;
pub mod progress;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::measure::progress::Position;
use crate::stream::record::{self, Line};
use crate::stream::run::{Entry, Fact, Metric, Outcome, Run, Unit, CLOCK};
use crate::stream::session::{self, Event, Reader};
use crate::target::{Ending, Order, Orders, Target};

/// How far a run may exceed its time budget before what is left of it is given up.
const GRACE: f64 = 1.2;

/// How often an agent may hang in a run before what is left of the run is given up.
const MOST_HANGS: u32 = 8;

/// What a run is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Replicates, 1 or more.
    pub runs: u32,
    /// Most samples of each case in a replicate, 5 or more.
    pub samples: u32,
    /// What the whole run may take; `None`: no bound.
    pub time: Option<Duration>,
    /// Seed of the order of the cases.
    pub seed: u32,
    /// What the agent is told besides, as doc/protocol.md lists it.
    pub settings: Vec<(&'static str, String)>,
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All replicates were made, or as many as the time allowed.
    Complete,
    /// The agent failed so that going on made no sense.
    GivenUp,
    /// The user stopped it.
    Interrupted,
}

/// What was measured besides what the stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How it ended.
    pub end: End,
    /// Whether something that was asked for is not there.
    pub partial: bool,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
}

/// Bytes of a stream that are held back at most.
const MOST_PENDING: usize = 64 << 10;

/// A record stream on its way to where it is saved, and its reader, which sees every byte of it.
///
/// What came is written out when a case or a session ends.
pub struct Recording<'a> {
    out: &'a mut dyn Write,
    /// What is not written yet.
    pending: Vec<u8>,
    /// Why nothing is written any more.
    trouble: Option<io::Error>,
    /// Whether the last line came without its end.
    unended: bool,
    reader: Reader,
    /// The number that the session's next record has.
    next: u64,
    /// Whether an agent's session is open.
    open: bool,
}

impl<'a> Recording<'a> {
    /// A recording that starts with the facts of the machine and the tool.
    #[must_use]
    pub fn new(facts: &[Fact], out: &'a mut dyn Write) -> Self {
        let mut recording = Recording {
            out,
            pending: Vec::new(),
            trouble: None,
            unended: false,
            reader: Reader::default(),
            next: 0,
            open: false,
        };
        for fact in facts {
            recording.fact(&fact.name, &fact.value);
        }
        recording
    }

    fn fact(&mut self, name: &str, value: &str) {
        for line in record::write(self.next, "host", &[("name", name)], Some(value)) {
            self.line(format!("{line}\n").as_bytes());
        }
    }

    /// Says in which block of an interleaved measurement the sessions lie that follow.
    pub fn block(&mut self, block: &str) {
        self.next = 0;
        self.fact(session::BLOCK, block);
    }

    /// Takes one line of a stream, with its line end if it has one.
    pub fn line(&mut self, line: &[u8]) -> Option<Event> {
        // A line that was cut off must not run into the next.
        self.end_line();
        self.pending.extend_from_slice(line);
        self.unended = !line.ends_with(b"\n");
        if let Line::Record(record) = record::parse(line) {
            self.next = record.seq().saturating_add(1);
        }
        let event = self.reader.line(line);
        match event {
            Some(Event::Hello(_)) => self.open = true,
            Some(Event::Bye) => self.open = false,
            _ => {}
        }
        let ended = matches!(event, Some(Event::End { .. } | Event::Bye));
        if ended || self.pending.len() >= MOST_PENDING {
            self.write();
        }
        event
    }

    /// Writes what is pending, unless that failed before.
    fn write(&mut self) {
        if self.trouble.is_none() {
            self.trouble = self.out.write_all(&self.pending).err();
        }
        self.pending.clear();
    }

    /// The version of the grammar that the stream speaks, where it is another.
    fn refused(&self) -> Option<String> {
        self.reader.unsupported().map(|version| version.to_string())
    }

    /// Ends the open session, if there is one: its agent broke down or was killed, and why.
    fn cut(&mut self, reason: &str) {
        if !self.open {
            return;
        }
        let mut reason = reason.to_owned();
        // Only one record: nothing can go on in a session that is over.
        let line = loop {
            match &record::write(self.next, "cut", &[], Some(&reason))[..] {
                [line] => break format!("{line}\n"),
                _ => reason.truncate(reason.char_indices().nth_back(8).map_or(0, |(at, _)| at)),
            }
        };
        self.line(line.as_bytes());
        self.open = false;
    }

    fn end_line(&mut self) {
        if self.unended {
            self.pending.push(b'\n');
            self.unended = false;
        }
    }

    /// Writes the rest. What the stream says, and whether all of it was written.
    pub fn finish(mut self) -> (Run, io::Result<()>) {
        self.end_line();
        self.write();
        (self.reader.finish(), self.trouble.map_or(Ok(()), Err))
    }
}

/// The catalog session of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Its lines, as they came.
    pub lines: Vec<Vec<u8>>,
    /// What they say.
    pub entries: Vec<Entry>,
    /// The name of the agent's port.
    pub port: String,
}

/// Gets the catalog session of a target.
///
/// # Errors
///
/// The agent cannot be started, breaks down, or prints no catalog. `Ok(None)`
/// means that the user interrupted it.
pub fn catalog(target: &mut dyn Target) -> Result<Option<Catalog>, String> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut reader = Reader::default();
    let ending = target.session(&Order::List, &mut |line| {
        lines.push(line.to_vec());
        reader.line(line);
    })?;
    if ending == Ending::Interrupted {
        return Ok(None);
    }
    if let Some(fault) = ending.fault() {
        return Err(format!("the agent printed no whole catalog: {fault}"));
    }
    let refused = reader.unsupported();
    let entries = reader.finish().catalog;
    if entries.is_empty() {
        return Err(refused.map_or(
            "the agent printed no catalog; is it an agent of kernmark?".to_owned(),
            |refused| refused.to_string(),
        ));
    }
    let port = lines
        .iter()
        .find_map(|line| match record::parse(line) {
            Line::Record(record) if record.kind() == "hello" => record.get("port"),
            _ => None,
        })
        .unwrap_or("unknown")
        .to_owned();
    Ok(Some(Catalog {
        lines,
        entries,
        port,
    }))
}

/// The cases of the metrics that `selected` picks, each once, in the catalog's order; the clock's
/// own case comes first and is always there if the catalog has it.
#[must_use]
pub fn cases(catalog: &[Entry], selected: impl Fn(&Entry) -> bool) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    let clock = catalog.iter().filter(|entry| entry.metric == CLOCK);
    for entry in clock.chain(catalog.iter().filter(|entry| selected(entry))) {
        if !cases.contains(&entry.case) {
            cases.push(entry.case.clone());
        }
    }
    cases
}

/// What is measured in each replicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// These cases of a target that takes orders: where it takes them in any order, the first of
    /// them comes first in each replicate and the others in random order.
    Cases {
        /// The ids of the cases.
        cases: Vec<String>,
        /// The ids of all cases, in the catalog's order.
        all: Vec<String>,
    },
    /// What a target that takes no orders measures by itself.
    Listen,
}

impl Work {
    /// To measure these cases of a catalog.
    #[must_use]
    pub fn cases(catalog: &[Entry], cases: Vec<String>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for entry in catalog {
            if !all.contains(&entry.case) {
                all.push(entry.case.clone());
            }
        }
        Work::Cases { cases, all }
    }
}

/// Makes all replicates of a run, one after the other.
///
/// # Errors
///
/// As [`Measurement::replicate`].
pub fn measure(
    mut measurement: Measurement,
    progress: &mut dyn FnMut(&Position),
) -> Result<Measured, String> {
    loop {
        if let Some(end) = measurement.replicate(progress)? {
            return Ok(measurement.finish(end));
        }
    }
}

/// What shows that a clock that should be exact is not: metrics whose replicates differ.
#[must_use]
pub fn inexact(run: &Run) -> Option<String> {
    const NAMED: usize = 3;
    let counts = |session: usize| run.sessions[session].clock.unit == Unit::Instructions;
    let differs = |metric: &&Metric| {
        let mut numbers = metric
            .replicates
            .iter()
            .filter(|one| one.outcome == Outcome::Ok && counts(one.session))
            .map(|one| (one.batch, one.cold, &one.histogram));
        let first = numbers.next();
        numbers.any(|other| Some(other) != first)
    };
    let ids: Vec<&str> = run
        .metrics
        .iter()
        .filter(differs)
        .map(|m| m.id.as_str())
        .collect();
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if ids.len() == 1 { "differs" } else { "differ" };
    (!ids.is_empty()).then(|| {
        format!(
            "this emulator should be exact and is not: {}{more} {verb} between replicates",
            ids[..ids.len().min(NAMED)].join(", ")
        )
    })
}

/// A run in the making, replicate by replicate.
pub struct Measurement<'a, 'b> {
    target: &'a mut dyn Target,
    plan: Plan,
    recording: &'a mut Recording<'b>,
    work: Work,
    pace: Pace,
    random: fastrand::Rng,
    /// Time that went by in replicates.
    spent: Duration,
    /// Replicates that were made.
    made: u32,
    /// Cases that are done or given up, over all replicates.
    done: usize,
    /// How often time was lost to an agent that hung.
    hangs: u32,
    notices: Vec<String>,
    partial: bool,
}

/// What one session of the agent did with the cases it was given.
struct Attempt {
    ending: Ending,
    /// The case that was open at its end.
    open: Option<String>,
    /// Cases that were begun.
    begun: usize,
}

impl<'a, 'b> Measurement<'a, 'b> {
    /// A run of which nothing is measured yet.
    #[must_use]
    pub fn new(
        target: &'a mut dyn Target,
        plan: Plan,
        work: Work,
        recording: &'a mut Recording<'b>,
    ) -> Self {
        let cases = match &work {
            Work::Cases { cases, .. } => cases.len(),
            Work::Listen => 0,
        };
        Measurement {
            target,
            recording,
            work,
            pace: Pace::new(plan.time, plan.runs, cases),
            random: fastrand::Rng::with_seed(plan.seed.into()),
            plan,
            spent: Duration::ZERO,
            made: 0,
            done: 0,
            hangs: 0,
            notices: Vec::new(),
            partial: false,
        }
    }

    /// Says in which block of an interleaved measurement the next replicate lies.
    pub fn block(&mut self, block: &str) {
        self.recording.block(block);
    }

    /// What was measured besides what the stream says, and how it ended.
    #[must_use]
    pub fn finish(mut self, end: End) -> Measured {
        if self.work == Work::Listen {
            self.notices.extend(self.recording.refused());
        }
        Measured {
            end,
            partial: self.partial,
            notices: self.notices,
        }
    }

    /// Makes the next replicate. `Some` when there is none, or none after it.
    ///
    /// # Errors
    ///
    /// The agent cannot be started, and nothing is measured yet. An agent that starts and fails is
    /// told in the recording and in the result.
    pub fn replicate(
        &mut self,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        if !self.pace.has_time(self.spent) {
            self.notices.push(format!(
                "{} of {} replicates fitted into the time; --time-budget gives more",
                self.made, self.plan.runs
            ));
            return Ok(Some(End::Complete));
        }
        let started = Instant::now();
        let end = match &mut self.work {
            Work::Listen => self.listen(started, progress)?,
            Work::Cases { cases, all } => {
                let (tried, mut order) = (cases.len(), cases.clone());
                match (self.target.orders(), order.get_mut(1..)) {
                    (Orders::Shuffled, Some(others)) => self.random.shuffle(others),
                    _ => order.sort_by_key(|case| all.iter().position(|other| other == case)),
                }
                let budget = self.pace.budget(self.spent, self.plan.runs - self.made);
                let end = self.sessions(order, budget, started, progress)?;
                // The time of a replicate with a breakdown says nothing about the next.
                if matches!(&self.work, Work::Cases { cases, .. } if cases.len() == tried) {
                    self.pace.took(budget, started.elapsed());
                }
                end
            }
        };
        self.spent += started.elapsed();
        self.made += 1;
        Ok(end.or((self.made >= self.plan.runs).then_some(End::Complete)))
    }

    /// Reads what the target measures by itself. `Some` when the run is over.
    fn listen(
        &mut self,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        let (recording, spent, done) = (&mut *self.recording, self.spent, self.done);
        let mut cases = 0;
        let heard = self.target.session(&Order::Listen, &mut |line| {
            if let Some(Event::Begin { case, .. }) = recording.line(line) {
                progress(&Position {
                    case: &case,
                    done: done + cases,
                    total: None,
                    time: spent + started.elapsed(),
                });
                cases += 1;
            }
        });
        self.done += cases;
        let ending = match heard {
            // What was measured until then is worth something.
            Err(why) if self.done > 0 => Ending::Lost(why),
            other => other?,
        };
        let stopped = || "its records stopped in the middle of a session".to_owned();
        let fault = ending.fault().or_else(|| self.recording.open.then(stopped));
        Ok(fault.map(|fault| {
            self.recording.cut(&fault);
            self.partial = true;
            self.notices.push(fault);
            match ending {
                Ending::Interrupted => End::Interrupted,
                _ => End::GivenUp,
            }
        }))
    }

    /// One session, and one more after each breakdown. `Some` when the run is over.
    fn sessions(
        &mut self,
        mut left: Vec<String>,
        budget: Option<Duration>,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        while !left.is_empty() {
            let attempt = match self.attempt(&mut left, budget, started, progress) {
                // What was measured until then is worth something.
                Err(why) if self.done > 0 => {
                    self.notices.push(why);
                    return Ok(Some(End::GivenUp));
                }
                other => other?,
            };
            let Some(fault) = attempt.ending.fault() else {
                if !left.is_empty() {
                    self.partial = true;
                    self.notices.push(format!(
                        "the agent ended without a word on {} cases",
                        left.len()
                    ));
                }
                return Ok(None);
            };
            self.partial = true;
            self.recording.cut(&fault);
            if attempt.ending == Ending::Interrupted {
                return Ok(Some(End::Interrupted));
            }
            self.hangs += u32::from(attempt.ending.costs_time());
            // Hangs in a case are counted; what ends at once could go on for ever.
            let counted = attempt.open.is_some() && attempt.ending.costs_time();
            if let Some(guilty) = attempt.open {
                if let Work::Cases { cases, .. } = &mut self.work {
                    cases.retain(|case| *case != guilty);
                }
                self.notices.push(format!("{guilty}: {fault}"));
            } else {
                self.notices.push(fault);
            }
            if attempt.begun == 0 && !counted {
                return Ok(Some(End::GivenUp));
            }
            if matches!(attempt.ending, Ending::Lost(_)) {
                return Ok(Some(End::GivenUp));
            }
            if self.hangs >= MOST_HANGS {
                self.notices.push(format!(
                    "the agent hung {MOST_HANGS} times; what was left is not measured"
                ));
                return Ok(Some(End::GivenUp));
            }
            if self.pace.is_over(self.spent + started.elapsed()) {
                self.notices
                    .push("no time is left for what the agent's failures held up".to_owned());
                return Ok(Some(End::GivenUp));
            }
        }
        Ok(None)
    }

    /// Runs one session over the cases that are left and takes out those that it began.
    fn attempt(
        &mut self,
        left: &mut Vec<String>,
        budget: Option<Duration>,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Attempt, String> {
        let all = match &self.work {
            Work::Cases { all, .. } => all.clone(),
            Work::Listen => Vec::new(),
        };
        let order = Order::Run {
            settings: self.settings(budget),
            cases: left.clone(),
            all,
        };
        let mut open = None;
        let mut begun = 0;
        let recording = &mut *self.recording;
        let (pace, spent, done) = (&self.pace, self.spent, &mut self.done);
        let ending = self
            .target
            .session(&order, &mut |line| match recording.line(line) {
                Some(Event::Begin { case, .. }) => {
                    // A case that was not asked for is no headway.
                    let before = left.len();
                    left.retain(|other| *other != case);
                    begun += before - left.len();
                    progress(&pace.position(&case, *done, spent + started.elapsed()));
                    open = Some(case);
                }
                Some(Event::End { .. }) => {
                    open = None;
                    *done += 1;
                }
                _ => {}
            })?;
        if open.is_some() {
            *done += 1;
        }
        Ok(Attempt {
            ending,
            open,
            begun,
        })
    }

    fn settings(&self, budget: Option<Duration>) -> Vec<(&'static str, String)> {
        let mut settings = vec![("samples", self.plan.samples.to_string())];
        settings.extend(budget.map(|time| ("budget_us", time.as_micros().max(1).to_string())));
        settings.extend(self.plan.settings.iter().cloned());
        settings
    }
}

/// How much time each case gets.
///
/// A replicate takes a part that the budget does not govern (start, calibration, cases that need
/// longer) and one that grows with it. Scaling the budget by what the last replicate should have
/// taken over what it took closes in on the right one without knowing either part.
struct Pace {
    /// For the whole run; `None`: no bound.
    time: Option<Duration>,
    runs: u32,
    cases: usize,
    /// The last replicate that went well: its budget for a case, and how long it took.
    last: Option<(Duration, Duration)>,
}

impl Pace {
    fn new(time: Option<Duration>, runs: u32, cases: usize) -> Self {
        Pace {
            time,
            runs,
            cases: cases.max(1),
            last: None,
        }
    }

    /// The time for each case of the next replicate, when `left` replicates are to be made.
    fn budget(&self, elapsed: Duration, left: u32) -> Option<Duration> {
        const LEAST: f64 = 100e-6;
        // The first replicate does not know yet what its cases take besides.
        const FIRST: f64 = 0.5;
        const MOST_CHANGE: f64 = 4.0;
        let time = self.time?.as_secs_f64();
        let share = (time - elapsed.as_secs_f64()).max(0.0) / f64::from(left.max(1));
        let budget = match self.last {
            None => FIRST * share / self.cases as f64,
            Some((budget, took)) => {
                let change = share / took.as_secs_f64().max(1e-6);
                budget.as_secs_f64() * change.clamp(1.0 / MOST_CHANGE, MOST_CHANGE)
            }
        };
        Some(Duration::from_secs_f64(
            budget.clamp(LEAST, time.max(LEAST)),
        ))
    }

    /// Notes what a replicate took with its budget.
    fn took(&mut self, budget: Option<Duration>, took: Duration) {
        if let Some(budget) = budget {
            self.last = Some((budget, took));
        }
    }

    /// Whether another replicate fits, going by the last.
    fn has_time(&self, elapsed: Duration) -> bool {
        let next = self.last.map_or(Duration::ZERO, |(_, took)| took);
        !self.is_over(elapsed + next)
    }

    /// Whether the time is over, and what may be exceeded of it.
    fn is_over(&self, elapsed: Duration) -> bool {
        self.time
            .is_some_and(|time| elapsed > Duration::from_secs_f64(time.as_secs_f64() * GRACE))
    }

    /// How far the run is. The time left is what the rate until now makes it.
    fn position<'a>(&self, case: &'a str, done: usize, elapsed: Duration) -> Position<'a> {
        const EARLY: usize = 10;
        let total = self.cases * self.runs as usize;
        let by_plan = self.time.map(|time| time.saturating_sub(elapsed));
        let by_rate = elapsed.mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
        let left = match by_plan {
            Some(plan) if done * EARLY < total => plan,
            _ => by_rate,
        };
        Position {
            case,
            done,
            total: Some(total),
            time: left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a pace over a machine where a replicate takes `fixed` and `factor` times its budgets.
    fn total(time: f64, runs: u32, cases: usize, fixed: f64, factor: f64) -> (f64, u32) {
        let mut pace = Pace::new(Some(Duration::from_secs_f64(time)), runs, cases);
        let mut elapsed = Duration::ZERO;
        for replicate in 0..runs {
            if !pace.has_time(elapsed) {
                return (elapsed.as_secs_f64(), replicate);
            }
            let budget = pace.budget(elapsed, runs - replicate);
            let took = Duration::from_secs_f64(
                fixed + factor * budget.unwrap().as_secs_f64() * cases as f64,
            );
            pace.took(budget, took);
            elapsed += took;
        }
        (elapsed.as_secs_f64(), runs)
    }

    #[test]
    fn a_run_keeps_to_its_time_whatever_the_cases_cost_besides() {
        for (fixed, factor) in [(0.0, 1.0), (1.0, 1.0), (0.3, 2.5), (2.0, 0.4)] {
            let (took, runs) = total(25.0, 10, 120, fixed, factor);
            assert_eq!(runs, 10, "fixed {fixed} factor {factor}");
            assert!(
                (22.0..=27.0).contains(&took),
                "fixed {fixed} factor {factor}: {took}"
            );
        }
    }

    #[test]
    fn a_run_whose_fixed_part_exceeds_its_time_makes_fewer_replicates() {
        let (took, runs) = total(25.0, 10, 120, 6.0, 1.0);
        assert!(runs < 10);
        assert!(took <= 25.0 * GRACE, "{took}");
    }

    #[test]
    fn without_a_bound_there_is_no_budget_and_always_time() {
        let pace = Pace::new(None, 10, 5);
        assert_eq!(pace.budget(Duration::from_secs(1000), 10), None);
        assert!(pace.has_time(Duration::from_secs(100_000)));
    }

    fn entry(metric: &str, case: &str) -> Entry {
        Entry {
            metric: metric.to_owned(),
            case: case.to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn the_clock_comes_first_and_a_case_comes_once() {
        let catalog = [
            entry("mutex.lock", "mutex.lock"),
            entry("mutex.unlock", "mutex.lock"),
            entry(CLOCK, CLOCK),
            entry("fifo.put", "fifo.put"),
        ];
        let with = |start: &'static str| cases(&catalog, |entry| entry.metric.starts_with(start));
        assert_eq!(with(""), [CLOCK, "mutex.lock", "fifo.put"]);
        assert_eq!(with("mutex.unlock"), [CLOCK, "mutex.lock"]);
    }

    /// A target that plays prepared sessions and keeps the orders it got.
    struct Played {
        sessions: Vec<(Vec<&'static str>, Ending)>,
        orders: Vec<Vec<String>>,
        takes: Orders,
    }

    impl Target for Played {
        fn orders(&self) -> Orders {
            self.takes
        }

        fn session(
            &mut self,
            order: &Order,
            take: &mut dyn FnMut(&[u8]),
        ) -> Result<Ending, String> {
            if let Order::Run { cases, .. } = order {
                self.orders.push(cases.clone());
            }
            let (records, ending) = self.sessions.remove(0);
            for (seq, text) in (0..).zip(records) {
                let mut words = text.split(' ');
                let kind = words.next().unwrap();
                let pairs: Vec<_> = words.map(|word| word.split_once('=').unwrap()).collect();
                for line in record::write(seq, kind, &pairs, None) {
                    take(format!("{line}\n").as_bytes());
                }
            }
            Ok(ending)
        }
    }

    fn plan(runs: u32) -> Plan {
        Plan {
            runs,
            samples: 5,
            time: None,
            seed: 1,
            settings: Vec::new(),
        }
    }

    fn play(runs: u32, sessions: Vec<(Vec<&'static str>, Ending)>) -> (Measured, Vec<Vec<String>>) {
        play_on(Orders::Shuffled, runs, sessions)
    }

    fn play_on(
        takes: Orders,
        runs: u32,
        sessions: Vec<(Vec<&'static str>, Ending)>,
    ) -> (Measured, Vec<Vec<String>>) {
        let mut target = Played {
            sessions,
            orders: Vec::new(),
            takes,
        };
        let plan = plan(runs);
        let cases = ["a", "b"].map(str::to_owned);
        let catalog = [entry("b", "b"), entry("a", "a")];
        let (mut sink, work) = (io::sink(), Work::cases(&catalog, cases.to_vec()));
        let mut recording = Recording::new(&[], &mut sink);
        let measurement = Measurement::new(&mut target, plan, work, &mut recording);
        let measured = measure(measurement, &mut |_| {}).unwrap();
        (measured, target.orders)
    }

    const HELLO: &str = "hello port=p arch=a mode=run clock=c unit=cycles hz=1 realtime=no";
    const BEGIN_A: &str = "begin case=a asked=5";
    const BEGIN_B: &str = "begin case=b asked=5";
    const END_A: &str = "end case=a status=skip samples=0";
    const END_B: &str = "end case=b status=skip samples=0";

    fn crash() -> Ending {
        Ending::Signal {
            signal: 11,
            said: String::new(),
        }
    }

    #[test]
    fn after_a_crash_the_cases_left_are_measured_and_the_guilty_one_is_not_tried_again() {
        let (measured, orders) = play(
            2,
            vec![
                (vec![HELLO, BEGIN_A], crash()),
                (vec![HELLO, BEGIN_B, END_B], Ending::Done),
                (vec![HELLO, BEGIN_B, END_B], Ending::Done),
            ],
        );
        assert_eq!(orders, [vec!["a", "b"], vec!["b"], vec!["b"]]);
        assert_eq!(measured.end, End::Complete);
        assert!(measured.partial);
        assert!(measured.notices[0].starts_with("a: signal 11"));
    }

    #[test]
    fn a_target_that_needs_the_catalogs_order_gets_it() {
        let whole = vec![HELLO, BEGIN_B, END_B, BEGIN_A, END_A];
        let (_, orders) = play_on(Orders::Sorted, 1, vec![(whole, Ending::Done)]);
        assert_eq!(orders, [["b", "a"]]);
    }

    #[test]
    fn what_a_target_without_orders_says_is_read_so_many_times() {
        let heard = |times, sessions: Vec<(Vec<&'static str>, Ending)>| {
            let mut target = Played {
                sessions,
                orders: Vec::new(),
                takes: Orders::None,
            };
            let mut sink = io::sink();
            let mut recording = Recording::new(&[], &mut sink);
            let work = Work::Listen;
            let measurement = Measurement::new(&mut target, plan(times), work, &mut recording);
            measure(measurement, &mut |_| {}).unwrap()
        };
        let whole = || (vec![HELLO, BEGIN_A, END_A, "bye records=3"], Ending::Done);
        let measured = heard(2, vec![whole(), whole()]);
        assert_eq!((measured.end, measured.partial), (End::Complete, false));
        let measured = heard(2, vec![(vec![HELLO, BEGIN_A], Ending::Done)]);
        assert_eq!((measured.end, measured.partial), (End::GivenUp, true));
        assert!(
            measured.notices[0].contains("in the middle"),
            "{measured:?}"
        );
    }

    #[test]
    fn an_agent_that_breaks_down_in_a_case_of_its_own_is_given_up() {
        let broken = || (vec![HELLO, "begin case=c asked=5"], Ending::Unfinished);
        let (measured, orders) = play(1, (0..20).map(|_| broken()).collect());
        assert_eq!((measured.end, orders.len()), (End::GivenUp, 1));
    }

    #[test]
    fn an_agent_that_hangs_again_and_again_is_given_up() {
        let hang = || (vec![HELLO, BEGIN_A], Ending::Silent(Duration::ZERO));
        let done = || (vec![HELLO, BEGIN_B, END_B], Ending::Done);
        let (measured, orders) = play(1, vec![hang(), done()]);
        assert_eq!((measured.end, orders.len()), (End::Complete, 2));
        let case = |n: u32| {
            let begin: &'static str =
                Box::leak(format!("begin case=c{n} asked=5").into_boxed_str());
            (vec![HELLO, begin], Ending::Restarts(3))
        };
        let (measured, orders) = play(1, (0..20).map(case).collect());
        assert_eq!(measured.end, End::GivenUp);
        assert_eq!(orders.len() as u32, MOST_HANGS);
    }

    #[test]
    fn replicates_that_differ_where_they_must_not_are_named() {
        let run = |unit: &str, counts: [&[(u64, u64)]; 2]| {
            let mut reader = Reader::new();
            for counts in counts {
                let clock = [("clock", "c"), ("unit", unit), ("realtime", "no")];
                let clock = clock
                    .into_iter()
                    .chain([("hz", if unit == "cycles" { "1" } else { "0" })]);
                let hello: Vec<_> = [("port", "p"), ("arch", "a"), ("mode", "run")]
                    .into_iter()
                    .chain(clock)
                    .collect();
                let samples: u64 = counts.iter().map(|(_, count)| count).sum();
                let samples = samples.to_string();
                let proof = [
                    ("case", "a"),
                    ("name", "order"),
                    ("counted", "0"),
                    ("low", "0"),
                    ("high", "0"),
                ];
                let lines = [
                    record::write(0, "hello", &hello, None),
                    record::write(1, "begin", &[("case", "a"), ("asked", "5")], None),
                    record::write(
                        2,
                        "plan",
                        &[("case", "a"), ("samples", &samples), ("batch", "1")],
                        None,
                    ),
                    record::write_hist(3, "a", 0, counts),
                    record::write(4, "proof", &proof, None),
                    record::write(
                        5,
                        "end",
                        &[("case", "a"), ("status", "ok"), ("samples", &samples)],
                        None,
                    ),
                    record::write(6, "bye", &[("records", "6")], None),
                ];
                for line in lines.concat() {
                    reader.line(line.as_bytes());
                }
            }
            let run = reader.finish();
            assert!(run.metrics[0]
                .replicates
                .iter()
                .all(|one| one.outcome == Outcome::Ok));
            run
        };
        let (one, other): (&[_], &[_]) = (&[(7, 5)], &[(7, 4), (8, 1)]);
        assert_eq!(inexact(&run("instructions", [one, one])), None);
        assert_eq!(inexact(&run("cycles", [one, other])), None);
        assert_eq!(
            inexact(&run("instructions", [one, other])).unwrap(),
            "this emulator should be exact and is not: a differs between replicates"
        );
    }

    #[test]
    fn an_agent_that_never_begins_is_given_up() {
        let (measured, orders) = play(5, vec![(vec![], crash())]);
        assert_eq!(orders.len(), 1);
        assert_eq!(measured.end, End::GivenUp);
    }

    #[test]
    fn a_case_that_is_never_spoken_of_makes_the_run_partial() {
        let (measured, _) = play(1, vec![(vec![HELLO, BEGIN_A, END_A], Ending::Done)]);
        assert_eq!(measured.end, End::Complete);
        assert!(measured.partial);
    }

    #[test]
    fn an_interrupt_ends_the_run_at_once() {
        let (measured, orders) = play(9, vec![(vec![HELLO, BEGIN_A], Ending::Interrupted)]);
        assert_eq!(orders.len(), 1);
        assert_eq!(measured.end, End::Interrupted);
    }
}
