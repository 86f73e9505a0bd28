// SPDX-License-Identifier: MIT OR Apache-2.0

//! Watches the bytes of one session: takes them as they come, passes them on as lines, and reports
//! when the session is over or has failed. Does no input or output itself.

use std::time::{Duration, Instant};

use crate::stream::record::{self, Line, Record};
use crate::stream::run::Unit;

use super::Ending;

/// Most bytes that a session may write.
const MOST_OUTPUT: usize = 64 << 20;

/// Longest line. Longer lines are split.
const LONGEST_LINE: usize = 64 << 10;

/// This many starts without a finished session are a restart loop.
const RESTART_LOOP: u32 = 3;

/// A session with a limit of CPU time may take this many times as much wall time. If it gets less
/// of the CPU than that, it will not finish.
const WALL_TIME_FACTOR: u32 = 10;

/// How long a process may take to exit after it has finished its output.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// When a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When its input ends.
    End,
    /// When its input ends, which must be after `bye`.
    EndAfterBye,
    /// At the first `bye`.
    Bye,
    /// At the `bye` of this many sessions that measured.
    Measured(u32),
}

/// How often an agent may start in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Once: the stream comes from one agent. Repeated starts are a restart loop.
    Once,
    /// Any number of times: the stream may be a recording of several agents.
    Many,
}

/// The time that a session may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Wall time.
    WallTime(Duration),
    /// CPU time of its processes, so that other load on the machine does not matter; and
    /// `WALL_TIME_FACTOR` times as much wall time.
    CpuTime(Duration),
}

/// The limits of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Time without a record after which it counts as hung.
    pub silence: Duration,
    /// The time that it may take; `None` if unlimited.
    pub limit: Option<Limit>,
    /// The clock unit that its `hello` must report; `None` for any.
    pub unit: Option<Unit>,
    /// The baud rate, if it comes over a serial line.
    pub baud: Option<u32>,
    /// How often an agent may start.
    pub starts: Starts,
    /// When it is over.
    pub until: Until,
}

/// A session that is being watched.
#[derive(Debug)]
pub struct Watch {
    bounds: Bounds,
    /// Bytes of a line that is not complete yet.
    rest: Vec<u8>,
    started: Instant,
    /// When the last record came.
    last_record: Instant,
    bytes: usize,
    records: u64,
    /// Starts since the last `bye`.
    starts: u32,
    /// Whether the open session measures.
    measuring: bool,
    /// Finished sessions that measured.
    measured: u32,
    /// When `bye` came, if the input must end after it.
    bye: Option<Instant>,
    /// Whether the session is over.
    over: bool,
}

impl Watch {
    /// Starts to watch. `rest` are the bytes left over from the previous session.
    #[must_use]
    pub fn new(bounds: Bounds, rest: Vec<u8>) -> Self {
        let now = Instant::now();
        Watch {
            bounds,
            rest,
            started: now,
            last_record: now,
            bytes: 0,
            records: 0,
            starts: 0,
            measuring: false,
            measured: 0,
            bye: None,
            over: false,
        }
    }

    /// Whether no record has come yet.
    #[must_use]
    pub fn has_no_record(&self) -> bool {
        self.records == 0
    }

    /// Takes bytes and passes each complete line to `take`. `Some` if the session is over.
    pub fn bytes(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> Option<Ending> {
        self.bytes += bytes.len();
        if self.bytes > MOST_OUTPUT {
            return Some(Ending::Flood(MOST_OUTPUT));
        }
        // The bytes left over from before may contain complete lines too.
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

    /// Passes on the last, incomplete line, if the input ended before the session did. Bytes after
    /// the session's end belong to no session.
    pub fn flush(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.over {
            return;
        }
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.line(&rest, take);
        }
    }

    /// Whether the agent's process may exit now.
    #[must_use]
    pub fn may_exit(&self) -> bool {
        self.bounds.until != Until::EndAfterBye || self.bye.is_some()
    }

    /// The bytes that came after the session's end.
    #[must_use]
    pub fn into_rest(self) -> Vec<u8> {
        self.rest
    }

    /// Whether [`Watch::timeout`] uses the CPU time.
    #[must_use]
    pub fn limits_cpu_time(&self) -> bool {
        matches!(self.bounds.limit, Some(Limit::CpuTime(_)))
    }

    /// `Some` if the session must be ended because it takes too long. `cpu_time` is the CPU time
    /// that its processes have used.
    #[must_use]
    pub fn timeout(&self, cpu_time: Duration) -> Option<Ending> {
        if self
            .bye
            .is_some_and(|since| since.elapsed() >= EXIT_TIMEOUT)
        {
            return Some(Ending::Lingers(EXIT_TIMEOUT));
        }
        let elapsed = self.started.elapsed();
        let exceeded = match self.bounds.limit {
            Some(Limit::CpuTime(limit)) if cpu_time >= limit => Some(Ending::CpuTimeLimit(limit)),
            Some(Limit::CpuTime(limit)) => Some(limit * WALL_TIME_FACTOR)
                .filter(|&limit| elapsed >= limit)
                .map(Ending::WallTimeLimit),
            Some(Limit::WallTime(limit)) => {
                (elapsed >= limit).then_some(Ending::WallTimeLimit(limit))
            }
            None => None,
        };
        if exceeded.is_some() {
            return exceeded;
        }
        let silence = self.bounds.silence;
        if self.last_record.elapsed() < silence {
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
        self.last_record = Instant::now();
        self.records += 1;
        if let Some(mismatch) = record
            .as_ref()
            .and_then(|record| self.unit_mismatch(record))
        {
            return Some(mismatch);
        }
        take(line);
        self.record(&record?)
    }

    /// `Some` if the clock's unit differs from the one in the target's description.
    fn unit_mismatch(&self, record: &Record) -> Option<Ending> {
        let declared = self.bounds.unit?;
        let name = declared.name();
        let reported = record.get("unit").filter(|_| record.kind() == "hello")?;
        (reported != name).then(|| Ending::Unit {
            declared: name,
            reported: reported.to_owned(),
        })
    }

    fn record(&mut self, record: &Record) -> Option<Ending> {
        match record.kind() {
            "hello" => {
                self.measuring = record.get("mode") == Some("run");
                self.starts += 1;
                (self.bounds.starts == Starts::Once && self.starts >= RESTART_LOOP)
                    .then_some(Ending::Restarts(self.starts))
            }
            "bye" => {
                self.starts = 0;
                self.measured += u32::from(self.measuring);
                let over = match self.bounds.until {
                    Until::End => false,
                    Until::EndAfterBye => {
                        self.bye = Some(Instant::now());
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

    /// Feeds these bytes to a watch. Returns the ending, the lines, and the bytes left over.
    fn feed(bounds: Bounds, chunks: &[&[u8]]) -> (Option<Ending>, Vec<Vec<u8>>, Vec<u8>) {
        let mut watch = Watch::new(bounds, Vec::new());
        let mut lines = Vec::new();
        let mut ending = None;
        for chunk in chunks {
            if ending.is_none() {
                ending = watch.bytes(chunk, &mut |line| lines.push(line.to_vec()));
            }
        }
        let ending = ending.or_else(|| watch.timeout(Duration::ZERO));
        (ending, lines, watch.into_rest())
    }

    #[test]
    fn session_ends_as_requested() {
        let stream = [
            hello("list", "cycles"),
            bye(),
            hello("run", "cycles"),
            bye(),
        ]
        .concat();
        let more = [&stream[..], b"more\nand"].concat();
        let (ending, lines, rest) = feed(bounds(Until::Measured(1)), &[&more]);
        assert_eq!((ending, lines.len()), (Some(Ending::Done), 4));
        assert_eq!(rest, b"more\nand");
        let (ending, lines, _) = feed(bounds(Until::Bye), &[&more]);
        assert_eq!((ending, lines.len()), (Some(Ending::Done), 2));
        let (ending, lines, rest) = feed(bounds(Until::End), &[&more]);
        assert_eq!((ending, lines.len()), (None, 5));
        assert_eq!(rest, b"and");
        assert_eq!(feed(bounds(Until::EndAfterBye), &[&more]).0, None);
    }

    #[test]
    fn leftover_bytes_are_read_first() {
        let stream = [hello("run", "cycles"), bye()].concat();
        let mut watch = Watch::new(bounds(Until::Bye), stream);
        assert_eq!(watch.bytes(b"", &mut |_| {}), Some(Ending::Done));
    }

    #[test]
    fn starts_without_an_end_are_a_restart_loop() {
        let start = hello("run", "cycles");
        let twice = [&start[..], &start].concat();
        assert_eq!(feed(bounds(Until::Bye), &[&twice]).0, None);
        let thrice = [&twice[..], b"boot\n", &start].concat();
        let (ending, lines, _) = feed(bounds(Until::Bye), &[&thrice]);
        assert_eq!((ending, lines.len()), (Some(Ending::Restarts(3)), 4));
        let recorded = Bounds {
            starts: Starts::Many,
            ..bounds(Until::End)
        };
        assert_eq!(feed(recorded, &[&thrice]).0, None);
        let ended = [&twice[..], &bye(), &start].concat();
        assert_eq!(feed(bounds(Until::End), &[&ended]).0, None);
    }

    #[test]
    fn unexpected_unit_is_rejected_before_any_line_is_passed_on() {
        let declared = Bounds {
            unit: Some(Unit::Instructions),
            ..bounds(Until::Bye)
        };
        let (ending, lines, _) = feed(declared.clone(), &[&hello("run", "cycles")]);
        assert!(matches!(ending, Some(Ending::Unit { .. })), "{ending:?}");
        assert_eq!(lines.len(), 0);
        assert_eq!(feed(declared, &[&hello("run", "instructions")]).0, None);
    }

    #[test]
    fn silence_noise_and_slowness_are_distinguished() {
        let impatient = Bounds {
            silence: Duration::ZERO,
            baud: Some(9600),
            ..bounds(Until::Bye)
        };
        let now = |chunks: &[&[u8]]| feed(impatient.clone(), chunks).0.unwrap();
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
            limit: Some(Limit::WallTime(Duration::ZERO)),
            ..impatient.clone()
        };
        assert_eq!(
            feed(slow, &[]).0,
            Some(Ending::WallTimeLimit(Duration::ZERO))
        );
    }

    #[test]
    fn cpu_time_limit_also_bounds_the_wall_time() {
        let watch = |limit| {
            let limited = Bounds {
                limit: Some(Limit::CpuTime(limit)),
                ..bounds(Until::Bye)
            };
            Watch::new(limited, Vec::new())
        };
        let (little, much) = (Duration::from_secs(1), Duration::from_secs(1000));
        assert_eq!(watch(much).timeout(little), None);
        assert_eq!(watch(much).timeout(much), Some(Ending::CpuTimeLimit(much)));
        // The CPU time limit of 0 is exceeded first, although 0 of wall time is exceeded too.
        let none = Duration::ZERO;
        assert_eq!(watch(none).timeout(none), Some(Ending::CpuTimeLimit(none)));
        let mut late = watch(little);
        late.started = Instant::now().checked_sub(10 * little).unwrap();
        assert_eq!(late.timeout(none), Some(Ending::WallTimeLimit(10 * little)));
        late.started = Instant::now().checked_sub(2 * little).unwrap();
        assert_eq!(late.timeout(none), None);
    }

    #[test]
    fn flood_is_stopped() {
        let mut watch = Watch::new(bounds(Until::End), Vec::new());
        let endless = vec![b'x'; 1 << 20];
        let mut taken = 0;
        let ending = (0..100).find_map(|_| watch.bytes(&endless, &mut |line| taken += line.len()));
        assert_eq!(ending, Some(Ending::Flood(MOST_OUTPUT)));
        assert!(taken <= MOST_OUTPUT);
    }

    proptest! {
        #[test]
        fn chunks_become_lines_without_loss(
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
