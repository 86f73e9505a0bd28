// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to look at first in a run of many metrics: its headline metrics, and its worst tails.

use std::collections::HashSet;

use crate::judge::interference::Tail;
use crate::judge::quantity::Quantity;
use crate::judge::summary::{Status, Summary};

/// The metrics that a kernel engineer looks at first, of every target. Where threads have modes,
/// those within a mode; where an operation has sizes, a small one. In the order of the catalogs; an id
/// that a target lacks does no harm. Of about 30 a target should have 15 to 35.
pub const HEADLINES: [&str; 63] = [
    "clock.read",
    "syscall.null",
    "syscall.null.read.user",
    "time.monotonic",
    "thread.yield.cooperative.ctx.k_to_k",
    "thread.yield.cooperative.ctx.u_to_u",
    "yield.processes",
    "thread.create.kernel.from.kernel",
    "thread.create.user.from.user",
    "pthread.create_join",
    "semaphore.give.immediate.kernel",
    "semaphore.give.immediate.user",
    "semaphore.give.wake+ctx.k_to_k",
    "semaphore.give.wake+ctx.u_to_u",
    "mutex.lock.immediate.kernel",
    "mutex.lock.immediate.user",
    "mutex.unlock.wake+ctx.k_to_k",
    "mutex.unlock.wake+ctx.u_to_u",
    "condvar.signal.wake+ctx.k_to_k",
    "condvar.signal.wake+ctx.u_to_u",
    "fifo.put.wake+ctx.k_to_k",
    "message_queue.put.wake+ctx.k_to_k.4",
    "message_queue.put.wake+ctx.u_to_u.4",
    "mailbox.put.wake+ctx.k_to_k.4",
    "message_buffer.send.wake+ctx.k_to_k.4",
    "stream.write.wake+ctx.k_to_k.4",
    "events.set.wake+ctx.k_to_k",
    "events.set.wake+ctx.u_to_u",
    "notification.give.wake+ctx.k_to_k",
    "notification.give.wake+ctx.u_to_u",
    "poll.give.wake+ctx.k_to_k.1",
    "heap.malloc.immediate.kernel.64",
    "heap.malloc.immediate.user.64",
    "slab.alloc.immediate.kernel",
    "spinlock.lock_unlock.irqsave",
    "isr.entry.kernel",
    "isr.raise.wake+ctx.k_to_k",
    "isr.resume.different.thread.k_to_k",
    "isr.resume.different.thread.u_to_u",
    "tick.handle.immediate.kernel",
    "timer.start.immediate.kernel",
    "timer.expire.call.kernel",
    "workqueue.submit.wake+ctx.kernel",
    "ipi.roundtrip.kernel",
    "copy.out.user.64",
    "vmo.read.1024",
    "vmo.write.1024",
    "filesystem.open",
    "mmu.map",
    "mmu.unmap",
    "fault.anonymous",
    "fault.cow",
    "process.fork_exit_wait",
    "process.vfork_exec",
    "signal.catch",
    "futex.wake+ctx.1",
    "roundtrip.pipe.processes",
    "roundtrip.channel.processes",
    "roundtrip.futex.threads.cross_cpu",
    "tcp.roundtrip.loopback",
    "port.wait.one",
    "sleep.overshoot.clock_nanosleep.1000",
    "uring.nop",
];

/// A table with fewer rows needs no choice.
const FEW: usize = 45;
/// With fewer headline metrics the run is of something else, such as another tool.
const LEAST: usize = 15;

/// The headline metrics of a run that has many metrics, in its order. `None` if its table shows all.
///
/// Idioms are none: they say more about the port than about its kernel.
#[must_use]
pub fn headlines(summaries: &[Summary]) -> Option<Vec<&Summary>> {
    let has_value = |one: &&Summary| one.status == Status::Ok;
    let measured: Vec<&Summary> = summaries.iter().filter(has_value).collect();
    if measured.len() < FEW {
        return None;
    }
    let known = HashSet::from(HEADLINES);
    let is_idiom = |one: &Summary| one.entry.as_ref().is_some_and(|entry| entry.idiom);
    let is_headline = |one: &&Summary| known.contains(one.id.as_str()) && !is_idiom(one);
    let chosen: Vec<&Summary> = measured.into_iter().filter(is_headline).collect();
    (chosen.len() >= LEAST).then_some(chosen)
}

/// A metric whose slow samples are far from its median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FarTail<'a> {
    /// The metric.
    pub of: &'a Summary,
    /// The figure that is far.
    pub figure: Tail,
    /// How many times the median it is.
    pub times: f64,
}

/// How many metrics are chosen for each figure.
const CHOSEN: usize = 3;
/// A figure is far if it is at least this many times the median.
const FAR: f64 = 2.0;

/// The metrics whose p99 is farthest from the median, then other metrics whose slowest sample is:
/// three of each, farthest first, as far as they are far at all.
#[must_use]
pub fn worst_tails(summaries: &[Summary]) -> Vec<FarTail<'_>> {
    let mut chosen: Vec<FarTail> = Vec::new();
    for figure in [Tail::P99, Tail::Worst] {
        let is_new = |of: &&Summary| chosen.iter().all(|known| known.of.id != of.id);
        let summaries = summaries.iter().filter(is_new);
        let mut far: Vec<FarTail> = summaries
            .filter_map(|of| FarTail::of(of, figure))
            .filter(|tail| tail.times >= FAR)
            .collect();
        far.sort_by(|a, b| b.times.total_cmp(&a.times));
        far.truncate(CHOSEN);
        chosen.extend(far);
    }
    chosen
}

impl<'a> FarTail<'a> {
    fn of(of: &'a Summary, figure: Tail) -> Option<Self> {
        let median = of.median.filter(|median| *median > 0.0)?;
        let value = match figure {
            Tail::P99 => of.percentile_value(Quantity::P99),
            Tail::Worst => of.max,
        };
        let times = value? / median;
        Some(FarTail { of, figure, times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::summary::summarise;
    use crate::stream::run::{Clock, Entry, Metric, Outcome, Replicate, Run, Session, Unit, CLOCK};
    use crate::stream::ticks::Ticks;

    /// A run of metrics whose samples are 300 of 100 ticks, and four of these.
    fn run(metrics: &[(&str, u64)]) -> Run {
        let session = Session {
            port: "fake".into(),
            arch: "x".into(),
            clock: Clock {
                name: "tsc".into(),
                unit: Unit::Cycles,
                hz: 1_000_000_000,
            },
            realtime: false,
            facts: Vec::new(),
            during: Vec::new(),
            complete: true,
        };
        let metric = |(id, slow): &(&str, u64)| Metric {
            id: (*id).into(),
            case: (*id).into(),
            replicates: vec![Replicate {
                session: 0,
                outcome: Outcome::Ok,
                batch: 1,
                asked: 304,
                cold: None,
                histogram: [(Ticks(100), 300), (Ticks(*slow), 4)].into_iter().collect(),
                stat: None,
                cpu_ns: None,
                proofs: Vec::new(),
            }],
        };
        Run {
            sessions: vec![session],
            metrics: metrics.iter().map(metric).collect(),
            ..Run::default()
        }
    }

    fn ids<'a>(of: impl IntoIterator<Item = &'a Summary>) -> Vec<&'a str> {
        of.into_iter().map(|one| one.id.as_str()).collect()
    }

    #[test]
    fn headlines_are_chosen_from_many_metrics_only() {
        let names: Vec<String> = (0..40).map(|at| format!("other.{at}")).collect();
        let others = names.iter().map(|id| (id.as_str(), 100));
        let heads = HEADLINES.iter().take(20).map(|id| (*id, 100));
        let many: Vec<(&str, u64)> = others.chain(heads).collect();
        let mut mixed = run(&many);
        let summaries = summarise(&mixed);
        let chosen = headlines(&summaries).unwrap();
        assert_eq!(ids(chosen), HEADLINES[..20]);
        // Too few metrics, or too few that are known.
        assert_eq!(headlines(&summaries[20..]), None);
        assert_eq!(headlines(&summaries[..54]), None);
        // Neither idioms nor metrics without a value.
        mixed.catalog = vec![Entry {
            metric: CLOCK.into(),
            case: CLOCK.into(),
            idiom: true,
            ..Entry::default()
        }];
        mixed.metrics[41].replicates[0].outcome = Outcome::Failed("no".into());
        let summaries = summarise(&mixed);
        assert_eq!(ids(headlines(&summaries).unwrap()), HEADLINES[2..20]);
    }

    #[test]
    fn worst_tails_are_those_of_p99_and_then_of_the_slowest_sample() {
        let mut run = run(&[
            ("a", 100),
            ("b", 300),
            ("c", 900),
            ("d", 400),
            ("e", 500),
            ("f", 180),
        ]);
        // Too few samples for a p99.
        run.metrics[3].replicates[0].histogram =
            [(Ticks(100), 50), (Ticks(2000), 1)].into_iter().collect();
        let summaries = summarise(&run);
        let tails = worst_tails(&summaries);
        assert_eq!(ids(tails.iter().map(|tail| tail.of)), ["c", "e", "b", "d"]);
        let figures: Vec<&str> = tails.iter().map(|tail| tail.figure.name()).collect();
        assert_eq!(figures, ["p99", "p99", "p99", "worst"]);
        assert!((tails[0].times - 9.0).abs() < 0.1, "{tails:?}");
        assert!(tails[3].times > 19.0, "{tails:?}");
    }
}
