// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes a run: takes a target and a plan, measures all replicates within a time budget, and
//! records the stream that the target prints.
//!
//! Each replicate is a fresh process or boot of the agent. Its cases come in random order if the
//! target allows that.

mod catalog;
mod determinism;
pub mod lock;
mod paths;
pub mod progress;
mod recording;
mod time_budget;

use std::time::{Duration, Instant};

pub use catalog::{cases, read_catalog, Catalog};
pub use determinism::check_determinism;
pub use paths::record_paths;
pub use recording::Recording;

use crate::machine::counters::{Meter, Reading};
use crate::measure::progress::Position;
use crate::stream::counted::Counted;
use crate::stream::run::{Entry, Fact, Session};
use crate::stream::session::Event;
use crate::target::{Ending, Order, Orders, Target};
use time_budget::TimeBudget;

/// After this many hangs of the agent, the rest of the run is not measured.
const MOST_HANGS: u32 = 8;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Replicates, at least 1.
    pub runs: u32,
    /// Samples of each case in a replicate, at most; at least 5.
    pub samples: u32,
    /// Time budget of the whole run; `None` if unlimited.
    pub time: Option<Duration>,
    /// Seed for the order of the cases.
    pub seed: u32,
    /// Further settings for the agent, as listed in doc/protocol.md.
    pub settings: Vec<(&'static str, String)>,
}

impl Plan {
    /// How long to watch the machine before a run of this many cases: a microsecond for each sample,
    /// at least 10 ms, at most a second and 4 % of the time budget.
    #[must_use]
    pub fn observation(&self, cases: usize) -> Duration {
        const LEAST: Duration = Duration::from_millis(10);
        const MOST: Duration = Duration::from_secs(1);
        const SHARE: u32 = 25;
        let samples = u64::from(self.runs) * u64::from(self.samples);
        let length = Duration::from_micros(samples.saturating_mul(cases as u64));
        let most = self.time.map_or(MOST, |time| MOST.min(time / SHARE));
        length.min(most).max(LEAST)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All replicates were made, or as many as fit into the time budget.
    Complete,
    /// The agent failed in a way that made it pointless to continue.
    Aborted,
    /// The user interrupted it.
    Interrupted,
}

/// The result of a run, apart from its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How it ended.
    pub end: End,
    /// Whether something that was asked for is missing.
    pub partial: bool,
    /// Messages for the user, one line each.
    pub notices: Vec<String>,
}

/// What each replicate measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// These cases, on a target that takes orders. If it takes cases in any order, the first case
    /// stays first in each replicate and the others are shuffled.
    Cases {
        /// The ids of the cases.
        cases: Vec<String>,
        /// The ids of all cases, in the catalog's order.
        all: Vec<String>,
    },
    /// Whatever a target that takes no orders measures.
    Listen,
}

impl Work {
    /// Measures these cases of a catalog.
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

/// Makes all replicates of a run, one after another.
///
/// # Errors
///
/// The same as of [`Measurement::replicate`].
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

/// A run that is being measured, replicate by replicate.
pub struct Measurement<'a, 'b> {
    target: &'a mut dyn Target,
    plan: Plan,
    recording: &'a mut Recording<'b>,
    work: Work,
    meter: Option<Meter>,
    budget: TimeBudget,
    random: fastrand::Rng,
    /// Time spent in replicates so far.
    spent: Duration,
    /// Replicates made so far.
    replicates_done: u32,
    /// Cases done or abandoned so far, in all replicates.
    cases_done: usize,
    /// How often the agent has hung.
    hangs: u32,
    notices: Vec<String>,
    partial: bool,
}

/// How one session of the agent went.
struct Attempt {
    ending: Ending,
    /// The case that was open when it ended.
    open: Option<String>,
    /// How many of the requested cases it began.
    begun: usize,
    /// What the machine counted meanwhile.
    during: Vec<Counted>,
}

/// The counters of the machine when a session of the agent starts.
struct Start {
    reading: Reading,
    /// The number of sessions before it.
    sessions: usize,
}

impl<'a, 'b> Measurement<'a, 'b> {
    /// A run that has not started yet.
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
            meter: None,
            budget: TimeBudget::new(plan.time, plan.runs, cases),
            random: fastrand::Rng::with_seed(plan.seed.into()),
            plan,
            spent: Duration::ZERO,
            replicates_done: 0,
            cases_done: 0,
            hangs: 0,
            notices: Vec::new(),
            partial: false,
        }
    }

    /// Counts with `meter` what else the machine does during each session.
    #[must_use]
    pub fn with(mut self, meter: Option<Meter>) -> Self {
        self.meter = meter;
        self
    }

    /// Reads the machine's counters before a session.
    fn start(&self) -> Option<Start> {
        let sessions = self.recording.sessions();
        let measured = match (sessions.last(), &self.meter) {
            (Some(last), Some(meter)) => measured_cpus(last, meter),
            _ => self.asked_cpus(),
        };
        Some(Start {
            reading: self.meter.as_ref()?.read(&measured),
            sessions: sessions.len(),
        })
    }

    /// The CPUs that the agent is told to measure on, or the one that it chooses.
    fn asked_cpus(&self) -> Vec<u32> {
        let settings = self.plan.settings.iter();
        let asked = settings.filter(|(key, _)| ["cpu", "other"].contains(key));
        let asked: Vec<u32> = asked.filter_map(|(_, cpu)| cpu.parse().ok()).collect();
        if asked.is_empty() {
            let chosen = self.meter.as_ref().and_then(Meter::measured_cpu);
            return chosen.into_iter().collect();
        }
        asked
    }

    /// What the machine and the measured CPUs counted since a session started. Nothing unless exactly
    /// one session began.
    fn counted_since(&self, start: Option<Start>) -> Vec<Counted> {
        let (Some(start), Some(meter)) = (start, &self.meter) else {
            return Vec::new();
        };
        let [session] = &self.recording.sessions()[start.sessions..] else {
            return Vec::new();
        };
        let cpus = measured_cpus(session, meter);
        meter.read(&cpus).since(&start.reading, &cpus)
    }

    /// Starts a block of an interleaved measurement. The next replicates belong to it.
    pub fn block(&mut self, block: &str) {
        self.recording.block(block);
    }

    /// Ends the run.
    #[must_use]
    pub fn finish(mut self, end: End) -> Measured {
        if self.work == Work::Listen {
            self.notices.extend(self.recording.unsupported());
        }
        Measured {
            end,
            partial: self.partial,
            notices: self.notices,
        }
    }

    /// Makes the next replicate. Returns how the run ended if this was the last replicate, or if
    /// there is no time for another.
    ///
    /// # Errors
    ///
    /// The agent cannot be started, and nothing has been measured yet. If the agent starts and then
    /// fails, the recording and the result say so.
    pub fn replicate(
        &mut self,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        if !self.budget.allows_replicate(self.spent) {
            self.notices.push(format!(
                "only {} of {} replicates fit into the time budget; --time-budget raises it",
                self.replicates_done, self.plan.runs
            ));
            return Ok(Some(End::Complete));
        }
        let started = Instant::now();
        let end = match &mut self.work {
            Work::Listen => self.listen(started, progress)?,
            Work::Cases { cases, all } => {
                let (count, mut order) = (cases.len(), cases.clone());
                match (self.target.orders(), order.get_mut(1..)) {
                    (Orders::Shuffled, Some(others)) => self.random.shuffle(others),
                    _ => order.sort_by_key(|case| all.iter().position(|other| other == case)),
                }
                let left = self.plan.runs - self.replicates_done;
                let per_case = self.budget.per_case(self.spent, left);
                let end = self.run_cases(order, per_case, started, progress)?;
                // A replicate in which the agent failed does not predict the time of the next.
                if matches!(&self.work, Work::Cases { cases, .. } if cases.len() == count) {
                    self.budget.record(per_case, started.elapsed());
                }
                end
            }
        };
        self.spent += started.elapsed();
        self.replicates_done += 1;
        Ok(end.or((self.replicates_done >= self.plan.runs).then_some(End::Complete)))
    }

    /// Reads what the target measures by itself. Returns how the run ended if it is over.
    fn listen(
        &mut self,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        let start = self.start();
        let (recording, spent, done) = (&mut *self.recording, self.spent, self.cases_done);
        let mut cases = 0;
        let result = self.target.session(&Order::Listen, &mut |line| {
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
        self.cases_done += cases;
        let during = self.counted_since(start);
        let ending = match result {
            // Keep what was measured before the error.
            Err(why) if self.cases_done > 0 => Ending::Lost(why),
            other => other?,
        };
        let stopped = || "the records stopped in the middle of a session".to_owned();
        let fault = ending
            .fault()
            .or_else(|| self.recording.session_is_open.then(stopped));
        if let Some(fault) = &fault {
            self.recording.cut_off(fault);
        }
        self.recording.during(&during);
        Ok(fault.map(|fault| {
            self.partial = true;
            self.notices.push(fault);
            match ending {
                Ending::Interrupted => End::Interrupted,
                _ => End::Aborted,
            }
        }))
    }

    /// Measures the cases in one session, and in a further one after each failure of the agent.
    /// Returns how the run ended if it is over.
    fn run_cases(
        &mut self,
        mut left: Vec<String>,
        per_case: Option<Duration>,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Option<End>, String> {
        while !left.is_empty() {
            let attempt = match self.attempt(&mut left, per_case, started, progress) {
                // Keep what was measured before the error.
                Err(why) if self.cases_done > 0 => {
                    self.notices.push(why);
                    return Ok(Some(End::Aborted));
                }
                other => other?,
            };
            let fault = attempt.ending.fault();
            if let Some(fault) = &fault {
                self.recording.cut_off(fault);
            }
            self.recording.during(&attempt.during);
            let Some(fault) = fault else {
                if !left.is_empty() {
                    self.partial = true;
                    self.notices.push(format!(
                        "the agent ended without reporting on {} of its cases",
                        left.len()
                    ));
                }
                return Ok(None);
            };
            self.partial = true;
            if attempt.ending == Ending::Interrupted {
                return Ok(Some(End::Interrupted));
            }
            self.hangs += u32::from(attempt.ending.is_hang());
            // The number of hangs in cases is limited. Without any progress, other failures could
            // repeat for ever.
            let is_limited = attempt.open.is_some() && attempt.ending.is_hang();
            if let Some(failed) = attempt.open {
                if let Work::Cases { cases, .. } = &mut self.work {
                    cases.retain(|case| *case != failed);
                }
                self.notices.push(format!("{failed}: {fault}"));
            } else {
                self.notices.push(fault);
            }
            if attempt.begun == 0 && !is_limited {
                return Ok(Some(End::Aborted));
            }
            if matches!(attempt.ending, Ending::Lost(_)) {
                return Ok(Some(End::Aborted));
            }
            if self.hangs >= MOST_HANGS {
                self.notices.push(format!(
                    "the agent hung {MOST_HANGS} times; the remaining cases were not measured"
                ));
                return Ok(Some(End::Aborted));
            }
            if self.budget.is_exhausted(self.spent + started.elapsed()) {
                self.notices.push(
                    "the agent's failures used up the time; the remaining cases were not measured"
                        .to_owned(),
                );
                return Ok(Some(End::Aborted));
            }
        }
        Ok(None)
    }

    /// Runs one session with the cases in `left`, and removes from `left` those that it began.
    fn attempt(
        &mut self,
        left: &mut Vec<String>,
        per_case: Option<Duration>,
        started: Instant,
        progress: &mut dyn FnMut(&Position),
    ) -> Result<Attempt, String> {
        let all = match &self.work {
            Work::Cases { all, .. } => all.clone(),
            Work::Listen => Vec::new(),
        };
        let order = Order::Run {
            settings: self.settings(per_case),
            cases: left.clone(),
            all,
        };
        let mut open = None;
        let mut begun = 0;
        let start = self.start();
        let recording = &mut *self.recording;
        let (budget, spent, done) = (&self.budget, self.spent, &mut self.cases_done);
        let ending = self
            .target
            .session(&order, &mut |line| match recording.line(line) {
                Some(Event::Begin { case, .. }) => {
                    // A case that was not requested is no progress.
                    let before = left.len();
                    left.retain(|other| *other != case);
                    begun += before - left.len();
                    progress(&budget.position(&case, *done, spent + started.elapsed()));
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
            during: self.counted_since(start),
        })
    }

    fn settings(&self, per_case: Option<Duration>) -> Vec<(&'static str, String)> {
        let mut settings = vec![("samples", self.plan.samples.to_string())];
        settings.extend(per_case.map(|time| ("budget_us", time.as_micros().max(1).to_string())));
        settings.extend(self.plan.settings.iter().cloned());
        settings
    }
}

/// The CPUs of this machine that a session measured. A kernel that runs in a process does not know
/// them; such a session runs on the CPU that is measured by default.
fn measured_cpus(session: &Session, meter: &Meter) -> Vec<u32> {
    let is_this_kernel = Fact::value_in(&session.facts, "kernel")
        .is_some_and(|kernel| meter.kernel_release().is_some_and(|r| kernel.contains(r)));
    if !is_this_kernel {
        return meter.measured_cpu().into_iter().collect();
    }
    let cpus = ["cpu", "other_cpu"].into_iter();
    cpus.filter_map(|name| Fact::value_in(&session.facts, name)?.parse().ok())
        .collect()
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

    /// A target that plays prepared sessions and keeps the orders it received.
    struct ScriptedTarget {
        sessions: Vec<(Vec<&'static str>, Ending)>,
        received: Vec<Vec<String>>,
        orders: Orders,
    }

    impl Target for ScriptedTarget {
        fn orders(&self) -> Orders {
            self.orders
        }

        fn session(
            &mut self,
            order: &Order,
            take: &mut dyn FnMut(&[u8]),
        ) -> Result<Ending, String> {
            if let Order::Run { cases, .. } = order {
                self.received.push(cases.clone());
            }
            let (records, ending) = self.sessions.remove(0);
            for (seq, body) in (0..).zip(records) {
                let (head, text) = match body.split_once(" | ") {
                    Some((head, text)) => (head, Some(text)),
                    None => (body, None),
                };
                let mut words = head.split(' ');
                let kind = words.next().unwrap();
                let pairs: Vec<_> = words.map(|word| word.split_once('=').unwrap()).collect();
                for line in record::write(seq, kind, &pairs, text) {
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
        orders: Orders,
        runs: u32,
        sessions: Vec<(Vec<&'static str>, Ending)>,
    ) -> (Measured, Vec<Vec<String>>) {
        let mut target = ScriptedTarget {
            sessions,
            received: Vec::new(),
            orders,
        };
        let plan = plan(runs);
        let cases = ["a", "b"].map(str::to_owned);
        let catalog = [entry("b", "b"), entry("a", "a")];
        let (mut sink, work) = (io::sink(), Work::cases(&catalog, cases.to_vec()));
        let mut recording = Recording::new(&[], &mut sink);
        let measurement = Measurement::new(&mut target, plan, work, &mut recording);
        let measured = measure(measurement, &mut |_| {}).unwrap();
        (measured, target.received)
    }

    const HELLO: &str = "hello port=p arch=a mode=run clock=c unit=cycles hz=1 realtime=no";
    const BEGIN_A: &str = "begin case=a asked=5";
    const BEGIN_B: &str = "begin case=b asked=5";
    const END_A: &str = "end case=a status=skip samples=0";
    const END_B: &str = "end case=b status=skip samples=0";

    fn crash() -> Ending {
        Ending::Signal {
            signal: 11,
            details: String::new(),
        }
    }

    #[test]
    fn crash_skips_the_failed_case_and_measures_the_rest() {
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
    fn sorted_target_gets_cases_in_catalog_order() {
        let session = vec![HELLO, BEGIN_B, END_B, BEGIN_A, END_A];
        let (_, orders) = play_on(Orders::Sorted, 1, vec![(session, Ending::Done)]);
        assert_eq!(orders, [["b", "a"]]);
    }

    #[test]
    fn target_without_orders_is_read_once_per_replicate() {
        let listen = |runs, sessions: Vec<(Vec<&'static str>, Ending)>| {
            let mut target = ScriptedTarget {
                sessions,
                received: Vec::new(),
                orders: Orders::None,
            };
            let mut sink = io::sink();
            let mut recording = Recording::new(&[], &mut sink);
            let work = Work::Listen;
            let measurement = Measurement::new(&mut target, plan(runs), work, &mut recording);
            measure(measurement, &mut |_| {}).unwrap()
        };
        let session = || (vec![HELLO, BEGIN_A, END_A, "bye records=3"], Ending::Done);
        let measured = listen(2, vec![session(), session()]);
        assert_eq!((measured.end, measured.partial), (End::Complete, false));
        let measured = listen(2, vec![(vec![HELLO, BEGIN_A], Ending::Done)]);
        assert_eq!((measured.end, measured.partial), (End::Aborted, true));
        assert!(
            measured.notices[0].contains("in the middle"),
            "{measured:?}"
        );
    }

    #[test]
    fn machine_is_watched_for_as_long_as_suits_the_run() {
        let length = |runs, samples, cases, seconds: Option<u64>| {
            let plan = Plan {
                samples,
                time: seconds.map(Duration::from_secs),
                ..plan(runs)
            };
            plan.observation(cases).as_millis()
        };
        assert_eq!(length(10, 500, 300, Some(25)), 1000);
        assert_eq!(length(7, 100, 250, Some(5)), 175);
        assert_eq!(length(10, 500, 300, Some(2)), 80);
        assert_eq!(length(10, 500, 2, None), 10);
        assert_eq!(length(1000, 1_000_000, usize::MAX, None), 1000);
    }

    /// A meter of a machine that does nothing and has this kernel.
    fn meter(folder: &std::path::Path) -> Meter {
        let file = |path: &str, text: &str| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("proc/self/status", "Cpus_allowed_list:\t0-3\n");
        file("proc/sys/kernel/osrelease", "6.1.0\n");
        file(
            "proc/stat",
            "cpu1 1 2 3 4 5 6 7 8\ncpu3 1 2 3 4 5 6 7 8\nctxt 9\n",
        );
        file(
            "proc/interrupts",
            "CPU1 CPU3\n 9: 4 4 virtio0\nLOC: 1 2 x\n",
        );
        Meter::new(folder)
    }

    #[test]
    fn each_session_has_its_own_counts() {
        let folder = tempfile::tempdir().unwrap();
        let cpu = "info name=cpu | 1";
        let (here, inside) = (
            "info name=kernel | Linux 6.1.0 #1",
            "info name=kernel | Linux 5.0 #1",
        );
        let whole = vec![
            HELLO,
            here,
            cpu,
            BEGIN_A,
            END_A,
            BEGIN_B,
            END_B,
            "bye records=7",
        ];
        let sessions = vec![
            (whole, Ending::Done),
            // It crashes, and another one measures the rest, with a kernel in a process.
            (vec![HELLO, here, cpu, BEGIN_A], crash()),
            (
                vec![HELLO, inside, cpu, BEGIN_B, END_B, "bye records=5"],
                Ending::Done,
            ),
            // It crashes before it speaks.
            (vec![], crash()),
        ];
        let mut target = ScriptedTarget {
            sessions,
            received: Vec::new(),
            orders: Orders::Shuffled,
        };
        let mut bytes = Vec::new();
        let mut recording = Recording::new(&[], &mut bytes);
        let meter = meter(folder.path());
        recording.before(&meter.read(&[]).since(&meter.read(&[]), &[1, 3]));
        let work = Work::cases(
            &[entry("a", "a"), entry("b", "b")],
            vec!["a".into(), "b".into()],
        );
        let measurement = Measurement::new(&mut target, plan(5), work, &mut recording);
        let measured = measure(measurement.with(Some(meter)), &mut |_| {}).unwrap();
        assert!(measured.partial);
        let (run, _) = recording.finish();
        assert_eq!(run.damage.damaged, 0, "{}", String::from_utf8_lossy(&bytes));
        let cpus = |counted: &[Counted]| counted.iter().map(|one| one.cpu).collect::<Vec<_>>();
        assert_eq!(cpus(&run.before), [None, Some(1), Some(3)]);
        let during: Vec<_> = run.sessions.iter().map(|one| cpus(&one.during)).collect();
        assert_eq!(during, [[None, Some(1)], [None, Some(1)], [None, Some(3)]]);
        let counted = &run.sessions[0].during;
        assert!(counted[0].get("us").is_some());
        assert_eq!(counted[1].get("timer"), Some(0));
        assert_eq!(run, crate::stream::session::read(&bytes));
    }

    #[test]
    fn failure_in_an_unrequested_case_aborts_the_run() {
        let broken = || (vec![HELLO, "begin case=c asked=5"], Ending::Unfinished);
        let (measured, orders) = play(1, (0..20).map(|_| broken()).collect());
        assert_eq!((measured.end, orders.len()), (End::Aborted, 1));
    }

    #[test]
    fn repeated_hangs_abort_the_run() {
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
        assert_eq!(measured.end, End::Aborted);
        assert_eq!(orders.len() as u32, MOST_HANGS);
    }

    #[test]
    fn failure_before_any_case_aborts_the_run() {
        let (measured, orders) = play(5, vec![(vec![], crash())]);
        assert_eq!(orders.len(), 1);
        assert_eq!(measured.end, End::Aborted);
    }

    #[test]
    fn unreported_case_makes_the_run_partial() {
        let (measured, _) = play(1, vec![(vec![HELLO, BEGIN_A, END_A], Ending::Done)]);
        assert_eq!(measured.end, End::Complete);
        assert!(measured.partial);
    }

    #[test]
    fn interrupt_ends_the_run_at_once() {
        let (measured, orders) = play(9, vec![(vec![HELLO, BEGIN_A], Ending::Interrupted)]);
        assert_eq!(orders.len(), 1);
        assert_eq!(measured.end, End::Interrupted);
    }
}
