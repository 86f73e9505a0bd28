// SPDX-License-Identifier: MIT OR Apache-2.0

//! Watches the bytes of one session as they come: cuts them into lines, and tells when the session
//! is over or has gone wrong. No input or output; whoever reads hands the bytes over.

use std::time::{Duration, Instant};

use crate::stream::record::{self, Line, Record};
use crate::stream::run::Unit;

use super::Ending;

/// Most bytes that one session may write.
const MOST_OUTPUT: usize = 64 << 20;

/// Longest line that is kept whole; more is cut into several.
const LONGEST_LINE: usize = 64 << 10;

/// So many starts without an end are a loop.
const LOOP: u32 = 3;

/// How many times its limit of processor time a session may take in all: a machine that does so
/// little of it will not bring it to its end.
const LAST_RESORT: u32 = 10;

/// How long a source may take to end after the agent said that it is done.
pub const PARTING: Duration = Duration::from_secs(2);

/// When a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When its source ends.
    End,
    /// When its source ends, which it does after `bye`.
    EndAfterBye,
    /// At the first `bye`.
    Bye,
    /// At the `bye` of so many sessions that measured.
    Measured(u32),
}

/// Whether a stream may start again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// It comes from an agent, which starts once.
    Once,
    /// It may have been recorded from many.
    Many,
}

/// What one session may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// This much time.
    Time(Duration),
    /// This much processor time of its processes, so that it does not matter what else the machine
    /// does; [`LAST_RESORT`] times as much time in all.
    Work(Duration),
}

/// What one session may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Time without a record after which it counts as hung.
    pub silence: Duration,
    /// What it may take; `None`: no bound.
    pub limit: Option<Limit>,
    /// What its `hello` must say of its clock; `None`: anything.
    pub unit: Option<Unit>,
    /// The baud rate of the line that it comes over, if it comes over one.
    pub baud: Option<u32>,
    /// How often it may start.
    pub starts: Starts,
    /// When it is over.
    pub until: Until,
}

/// A session that is being watched.
#[derive(Debug)]
pub struct Watch {
    bounds: Bounds,
    /// Bytes that are no whole line yet.
    rest: Vec<u8>,
    started: Instant,
    /// When the last record came.
    heard: Instant,
    bytes: usize,
    records: u64,
    /// Starts since the last end.
    starts: u32,
    /// Whether the session that is open measures.
    measuring: bool,
    /// Sessions that measured and came to their end.
    measured: u32,
    /// When the end was announced, where the source ends after that.
    parting: Option<Instant>,
    /// Whether the session has come to its end.
    over: bool,
}

impl Watch {
    /// Watches from now on; `rest` is what the last watch left over.
    #[must_use]
    pub fn new(bounds: Bounds, rest: Vec<u8>) -> Self {
        let now = Instant::now();
        Watch {
            bounds,
            rest,
            started: now,
            heard: now,
            bytes: 0,
            records: 0,
            starts: 0,
            measuring: false,
            measured: 0,
            parting: None,
            over: false,
        }
    }

    /// Whether no record came yet.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.records == 0
    }

    /// Takes what came and hands on each whole line; `Some` when the session is over.
    pub fn bytes(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> Option<Ending> {
        self.bytes += bytes.len();
        if self.bytes > MOST_OUTPUT {
            return Some(Ending::Flood(MOST_OUTPUT));
        }
        // What is left over from before may be whole lines too.
        let mut buffer = std::mem::take(&mut self.rest);
        buffer.extend_from_slice(bytes);
        let mut rest = &buffer[..];
        let mut ending = None;
        while ending.is_none() {
            let line = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) => end + 1,
                None if rest.len() >= LONGEST_LINE => LONGEST_LINE,
                None => break,
            };
            ending = self.line(&rest[..line.min(LONGEST_LINE)], take);
            rest = &rest[line.min(LONGEST_LINE)..];
        }
        self.rest = rest.to_vec();
        self.over = ending.is_some();
        ending
    }

    /// Hands on what came without a line end: nothing more will. What came after the session's end
    /// is of no session.
    pub fn flush(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.over {
            return;
        }
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.line(&rest, take);
        }
    }

    /// Whether its source may end now.
    #[must_use]
    pub fn may_end(&self) -> bool {
        self.bounds.until != Until::EndAfterBye || self.parting.is_some()
    }

    /// What came after the session's end.
    #[must_use]
    pub fn into_rest(self) -> Vec<u8> {
        self.rest
    }

    /// Whether [`Watch::overdue`] needs to be told the processor time.
    #[must_use]
    pub fn limits_work(&self) -> bool {
        matches!(self.bounds.limit, Some(Limit::Work(_)))
    }

    /// `Some` when the session has to be ended for what it does not do, or for the processor time
    /// `worked` that its processes have used.
    #[must_use]
    pub fn overdue(&self, worked: Duration) -> Option<Ending> {
        if self.parting.is_some_and(|since| since.elapsed() >= PARTING) {
            return Some(Ending::Lingers(PARTING));
        }
        let passed = self.started.elapsed();
        let over = match self.bounds.limit {
            Some(Limit::Work(limit)) if worked >= limit => Some(Ending::Work(limit)),
            Some(Limit::Work(limit)) => Some(limit * LAST_RESORT)
                .filter(|&limit| passed >= limit)
                .map(Ending::Limit),
            Some(Limit::Time(limit)) => (passed >= limit).then_some(Ending::Limit(limit)),
            None => None,
        };
        if over.is_some() {
            return over;
        }
        let silence = self.bounds.silence;
        if self.heard.elapsed() < silence {
            None
        } else if self.records == 0 && self.bytes > 0 {
            Some(Ending::Noise {
                bytes: self.bytes,
                time: silence,
                baud: self.bounds.baud,
            })
        } else {
            Some(Ending::Silent(silence))
        }
    }

    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&[u8])) -> Option<Ending> {
        let record = match record::parse(line) {
            Line::Log => {
                take(line);
                return None;
            }
            Line::Record(record) => Some(record),
            Line::Damaged(_) | Line::Version(_) => None,
        };
        self.heard = Instant::now();
        self.records += 1;
        if let Some(refused) = record.as_ref().and_then(|record| self.refuses(record)) {
            return Some(refused);
        }
        take(line);
        self.record(&record?)
    }

    /// Whether the session says that its clock is another than the target's description says.
    fn refuses(&self, record: &Record) -> Option<Ending> {
        let declared = self.bounds.unit?;
        let name = declared.name();
        let said = record.get("unit").filter(|_| record.kind() == "hello")?;
        (said != name).then(|| Ending::Unit {
            declared: name,
            said: said.to_owned(),
        })
    }

    fn record(&mut self, record: &Record) -> Option<Ending> {
        match record.kind() {
            "hello" => {
                self.measuring = record.get("mode") == Some("run");
                self.starts += 1;
                (self.bounds.starts == Starts::Once && self.starts >= LOOP)
                    .then_some(Ending::Restarts(self.starts))
            }
            "bye" => {
                self.starts = 0;
                self.measured += u32::from(self.measuring);
                let over = match self.bounds.until {
                    Until::End => false,
                    Until::EndAfterBye => {
                        self.parting = Some(Instant::now());
                        false
                    }
                    Until::Bye => true,
                    Until::Measured(count) => self.measured >= count,
                };
                over.then_some(Ending::Done)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(until: Until) -> Bounds {
        Bounds {
            silence: Duration::from_secs(1000),
            limit: None,
            unit: None,
            baud: None,
            starts: Starts::Once,
            until,
        }
    }

    fn hello(mode: &str, unit: &str) -> Vec<u8> {
        let line = &record::write(0, "hello", &[("mode", mode), ("unit", unit)], None)[0];
        format!("{line}\n").into_bytes()
    }

    fn bye() -> Vec<u8> {
        format!("{}\n", record::write(1, "bye", &[], None)[0]).into_bytes()
    }

    /// What the watch says of these bytes, and which lines it hands on.
    fn seen(bounds: Bounds, chunks: &[&[u8]]) -> (Option<Ending>, Vec<Vec<u8>>, Vec<u8>) {
        let mut watch = Watch::new(bounds, Vec::new());
        let mut lines = Vec::new();
        let mut ending = None;
        for chunk in chunks {
            if ending.is_none() {
                ending = watch.bytes(chunk, &mut |line| lines.push(line.to_vec()));
            }
        }
        let ending = ending.or_else(|| watch.overdue(Duration::ZERO));
        (ending, lines, watch.into_rest())
    }

    #[test]
    fn a_session_is_over_where_it_is_said_to_be() {
        let stream = [
            hello("list", "cycles"),
            bye(),
            hello("run", "cycles"),
            bye(),
        ]
        .concat();
        let more = [&stream[..], b"more\nand"].concat();
        let (ending, lines, rest) = seen(bounds(Until::Measured(1)), &[&more]);
        assert_eq!((ending, lines.len()), (Some(Ending::Done), 4));
        assert_eq!(rest, b"more\nand");
        let (ending, lines, _) = seen(bounds(Until::Bye), &[&more]);
        assert_eq!((ending, lines.len()), (Some(Ending::Done), 2));
        let (ending, lines, rest) = seen(bounds(Until::End), &[&more]);
        assert_eq!((ending, lines.len()), (None, 5));
        assert_eq!(rest, b"and");
        assert_eq!(seen(bounds(Until::EndAfterBye), &[&more]).0, None);
    }

    #[test]
    fn what_was_left_over_is_read_first() {
        let stream = [hello("run", "cycles"), bye()].concat();
        let mut watch = Watch::new(bounds(Until::Bye), stream);
        assert_eq!(watch.bytes(b"", &mut |_| {}), Some(Ending::Done));
    }

    #[test]
    fn starts_without_an_end_are_a_loop() {
        let start = hello("run", "cycles");
        let twice = [&start[..], &start].concat();
        assert_eq!(seen(bounds(Until::Bye), &[&twice]).0, None);
        let thrice = [&twice[..], b"boot\n", &start].concat();
        let (ending, lines, _) = seen(bounds(Until::Bye), &[&thrice]);
        assert_eq!((ending, lines.len()), (Some(Ending::Restarts(3)), 4));
        let recorded = Bounds {
            starts: Starts::Many,
            ..bounds(Until::End)
        };
        assert_eq!(seen(recorded, &[&thrice]).0, None);
        let ended = [&twice[..], &bye(), &start].concat();
        assert_eq!(seen(bounds(Until::End), &[&ended]).0, None);
    }

    #[test]
    fn another_unit_than_declared_is_refused_before_anything_is_taken() {
        let declared = Bounds {
            unit: Some(Unit::Instructions),
            ..bounds(Until::Bye)
        };
        let (ending, lines, _) = seen(declared.clone(), &[&hello("run", "cycles")]);
        assert!(matches!(ending, Some(Ending::Unit { .. })), "{ending:?}");
        assert_eq!(lines.len(), 0);
        assert_eq!(seen(declared, &[&hello("run", "instructions")]).0, None);
    }

    #[test]
    fn silence_noise_and_slowness_are_told_apart() {
        let impatient = Bounds {
            silence: Duration::ZERO,
            baud: Some(9600),
            ..bounds(Until::Bye)
        };
        let now = |chunks: &[&[u8]]| seen(impatient.clone(), chunks).0.unwrap();
        assert_eq!(now(&[]), Ending::Silent(Duration::ZERO));
        assert_eq!(
            now(&[&hello("run", "cycles"), b"x"]),
            Ending::Silent(Duration::ZERO)
        );
        let noise = Ending::Noise {
            bytes: 3,
            time: Duration::ZERO,
            baud: Some(9600),
        };
        assert_eq!(now(&[b"\xff\xfe\x00"]), noise);
        let slow = Bounds {
            limit: Some(Limit::Time(Duration::ZERO)),
            ..impatient.clone()
        };
        assert_eq!(seen(slow, &[]).0, Some(Ending::Limit(Duration::ZERO)));
    }

    #[test]
    fn what_counts_instructions_is_limited_by_its_work_first() {
        let watch = |limit| {
            let limited = Bounds {
                limit: Some(Limit::Work(limit)),
                ..bounds(Until::Bye)
            };
            Watch::new(limited, Vec::new())
        };
        let (little, much) = (Duration::from_secs(1), Duration::from_secs(1000));
        assert_eq!(watch(much).overdue(little), None);
        assert_eq!(watch(much).overdue(much), Some(Ending::Work(much)));
        // The time that has passed is more than ten times none.
        let none = Duration::ZERO;
        assert_eq!(watch(none).overdue(none), Some(Ending::Work(none)));
        let mut late = watch(little);
        late.started = Instant::now().checked_sub(10 * little).unwrap();
        assert_eq!(late.overdue(none), Some(Ending::Limit(10 * little)));
        late.started = Instant::now().checked_sub(2 * little).unwrap();
        assert_eq!(late.overdue(none), None);
    }

    #[test]
    fn a_flood_is_stopped() {
        let mut watch = Watch::new(bounds(Until::End), Vec::new());
        let endless = vec![b'x'; 1 << 20];
        let mut taken = 0;
        let ending = (0..100).find_map(|_| watch.bytes(&endless, &mut |line| taken += line.len()));
        assert_eq!(ending, Some(Ending::Flood(MOST_OUTPUT)));
        assert!(taken <= MOST_OUTPUT);
    }

    proptest! {
        #[test]
        fn chunks_become_lines_and_nothing_is_lost(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20)
        ) {
            let mut watch = Watch::new(bounds(Until::End), Vec::new());
            let mut lines: Vec<Vec<u8>> = Vec::new();
            for chunk in &chunks {
                watch.bytes(chunk, &mut |line| lines.push(line.to_vec()));
            }
            watch.flush(&mut |line| lines.push(line.to_vec()));
            prop_assert_eq!(lines.concat(), chunks.concat());
            let inner = lines.iter().rev().skip(1);
            prop_assert!(inner.clone().all(|line| line.ends_with(b"\n")));
        }
    }
}
