// SPDX-License-Identifier: MIT OR Apache-2.0

//! A run: replicates of all cases on one target, within a time budget.
//!
//! Each replicate is a fresh process or boot of the agent, with the cases in another
//! order where the target allows that. What a case may take is set anew for each replicate from what the
//! one before took, so that the whole keeps to its time.

mod catalog;
mod determinism;
pub mod lock;
pub mod progress;
mod recording;
mod time_budget;

use std::time::{Duration, Instant};

pub use catalog::{cases, catalog, Catalog};
pub use determinism::inexact;
pub use recording::Recording;

use crate::measure::progress::Position;
use crate::stream::run::Entry;
use crate::stream::session::Event;
use crate::target::{Ending, Order, Orders, Target};
use time_budget::Pace;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::record;
    use std::io;

    fn entry(metric: &str, case: &str) -> Entry {
        Entry {
            metric: metric.to_owned(),
            case: case.to_owned(),
            ..Entry::default()
        }
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
