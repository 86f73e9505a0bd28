// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where record streams come from. A [`Target`] takes an [`Order`] and hands on the lines that its
//! agent prints, until the session has an [`Ending`]. There is one file per kind of target.

pub mod build;
pub mod cache;
pub mod described;
pub mod description;
pub mod exec;
mod execution_log;
pub mod file;
pub mod folder;
pub mod host;
pub mod plugin;
pub mod process;
pub mod serial;
pub mod sources;
pub mod spec;
pub mod stream;
pub mod tracer;

use std::time::Duration;

/// What an agent should do in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Print its catalog.
    List,
    /// Measure these cases, in this order.
    Run {
        /// `key=value` settings, as listed in doc/protocol.md.
        settings: Vec<(&'static str, String)>,
        /// The ids of the cases.
        cases: Vec<String>,
        /// The ids of all cases, in the catalog's order.
        all: Vec<String>,
    },
    /// Whatever it does without orders.
    Listen,
}

impl Order {
    /// The order as words, with the ids of the cases.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Order::Run { cases, .. } => self.head().chain(cases.iter().cloned()).collect(),
            Order::List | Order::Listen => self.head().collect(),
        }
    }

    /// The order as words, with the cases as a bit mask over the catalog (doc/protocol.md). The
    /// agent measures them in the catalog's order.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Order::Run { cases, all, .. } if all.iter().any(|case| !cases.contains(case)) => {
                let wanted: Vec<bool> = all.iter().map(|case| cases.contains(case)).collect();
                let cases = format!("cases={}", hexadecimal(&wanted));
                self.head().chain([cases]).collect()
            }
            _ => self.head().collect(),
        }
    }

    fn head(&self) -> impl Iterator<Item = String> + '_ {
        let (verb, settings) = match self {
            Order::List => (Some("list"), &[][..]),
            Order::Run { settings, .. } => (Some("run"), &settings[..]),
            Order::Listen => (None, &[][..]),
        };
        let settings = settings.iter().map(|(key, value)| format!("{key}={value}"));
        verb.map(str::to_owned).into_iter().chain(settings)
    }
}

/// The bits as hexadecimal digits, padded with zeros. The first bit is the highest of the first
/// digit.
fn hexadecimal(bits: &[bool]) -> String {
    let digit = |four: &[bool]| {
        let value = (0..4).fold(0, |value, at| {
            value << 1 | u32::from(four.get(at).copied().unwrap_or(false))
        });
        char::from_digit(value, 16).unwrap_or('0')
    };
    bits.chunks(4).map(digit).collect()
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The agent exited with status 0.
    Done,
    /// The agent exited with another status.
    Status {
        /// The exit status, 1 to 255.
        status: i32,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// A signal ended the agent.
    Signal {
        /// The signal's number.
        signal: i32,
        /// That it ran out of memory, or the last lines of its standard error.
        details: String,
    },
    /// No record came for this long. If the agent was a process, it was killed.
    Silent(Duration),
    /// Bytes came, but no record among them.
    Noise {
        /// The number of bytes.
        bytes: usize,
        /// The time without a record.
        time: Duration,
        /// The baud rate, if they came over a serial line.
        baud: Option<u32>,
    },
    /// The session exceeded this limit of wall time.
    WallTimeLimit(Duration),
    /// The session's processes exceeded this limit of CPU time.
    CpuTimeLimit(Duration),
    /// The agent started this many times without finishing a session.
    Restarts(u32),
    /// The agent said `bye`, but its process did not exit within this time.
    Lingers(Duration),
    /// The agent's clock does not have the unit that the target's description says.
    Unit {
        /// The unit in the description.
        declared: &'static str,
        /// The unit that the agent reports.
        reported: String,
    },
    /// The emulator or program exited before the agent finished its session.
    Unfinished,
    /// It failed in this way, and these are the last lines on the machine's console.
    Console(Box<Ending>, String),
    /// The connection broke, for this reason.
    Lost(String),
    /// The agent wrote more than this many bytes, and was killed.
    Flood(usize),
    /// The user interrupted the run, and the agent was killed.
    Interrupted,
}

impl Ending {
    /// Whether it took a timeout to detect this failure. If so, it costs as much time when it
    /// happens again.
    #[must_use]
    pub fn is_hang(&self) -> bool {
        match self {
            Ending::Silent(_)
            | Ending::Noise { .. }
            | Ending::WallTimeLimit(_)
            | Ending::CpuTimeLimit(_)
            | Ending::Restarts(_)
            | Ending::Lingers(_)
            | Ending::Flood(_) => true,
            Ending::Console(ending, _) => ending.is_hang(),
            Ending::Done
            | Ending::Unfinished
            | Ending::Status { .. }
            | Ending::Signal { .. }
            | Ending::Unit { .. }
            | Ending::Lost(_)
            | Ending::Interrupted => false,
        }
    }

    /// What went wrong, in one line; `None` if nothing did.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let with = |what: String, details: &str| {
            if details.is_empty() {
                what
            } else {
                format!("{what}: {details}")
            }
        };
        match self {
            Ending::Done => None,
            Ending::Status { status, stderr } => Some(with(
                format!("the agent exited with status {status}"),
                stderr,
            )),
            Ending::Signal { signal, details } => Some(with(
                format!("signal {signal}{} ended the agent", signal_name(*signal)),
                details,
            )),
            Ending::Silent(time) => Some(format!(
                "no sign of life for {} s; killed",
                time.as_secs_f64()
            )),
            Ending::Noise { bytes, time, baud } => {
                let hint = match baud {
                    Some(baud) => format!(
                        "; check the baud rate: the line was read at {baud}; set another with \
                         @BAUD or baud=BAUD"
                    ),
                    None => "; is it a kernmark agent?".to_owned(),
                };
                Some(format!(
                    "{bytes} bytes came within {} s, but no record{hint}",
                    time.as_secs_f64()
                ))
            }
            Ending::WallTimeLimit(time) => Some(format!(
                "the session exceeded its limit of {} s",
                time.as_secs_f64()
            )),
            Ending::CpuTimeLimit(time) => Some(format!(
                "the session exceeded its limit of {} s of CPU time",
                time.as_secs_f64()
            )),
            Ending::Restarts(count) => Some(format!(
                "it restarts in a loop: {count} starts without finishing a session"
            )),
            Ending::Lingers(time) => Some(format!(
                "it did not exit within {} s after its last record; killed",
                time.as_secs_f64()
            )),
            Ending::Unit { declared, reported } => Some(format!(
                "its clock counts `{reported}`, but the target's description says unit = \
                 \"{declared}\"; one of them is wrong"
            )),
            Ending::Unfinished => Some("the machine stopped before its agent finished".to_owned()),
            Ending::Console(ending, lines) => ending
                .fault()
                .map(|fault| format!("{fault}; its console says: {lines}")),
            Ending::Lost(why) => Some(format!("the connection was lost: {why}")),
            Ending::Flood(bytes) => Some(format!("it wrote more than {bytes} bytes; killed")),
            Ending::Interrupted => Some("interrupted by the user".to_owned()),
        }
    }
}

/// The name of a signal, as ` (SIGSEGV)`; empty for the rarer signals.
fn signal_name(signal: i32) -> &'static str {
    use signal_hook::consts as signals;
    match signal {
        signals::SIGABRT => " (SIGABRT)",
        signals::SIGBUS => " (SIGBUS)",
        signals::SIGFPE => " (SIGFPE)",
        signals::SIGILL => " (SIGILL)",
        signals::SIGKILL => " (SIGKILL)",
        signals::SIGSEGV => " (SIGSEGV)",
        signals::SIGSYS => " (SIGSYS)",
        signals::SIGTERM => " (SIGTERM)",
        signals::SIGXCPU => " (SIGXCPU)",
        _ => "",
    }
}

/// Which orders a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// To measure any cases, in any order.
    Shuffled,
    /// To measure any cases, in the catalog's order.
    Sorted,
    /// None. It prints its catalog and measures everything without being asked.
    None,
}

/// A way to run an agent.
pub trait Target {
    /// Which orders it takes. A target that takes none gets only [`Order::List`], which reads until
    /// a session ends, and [`Order::Listen`].
    fn orders(&self) -> Orders;

    /// Runs one session to its end. Passes each line, with its newline, to `take` as it comes.
    ///
    /// When this returns, all processes of the session are gone.
    ///
    /// # Errors
    ///
    /// The agent could not be started; the message says what to do. An agent that fails later is
    /// not an error but an [`Ending`].
    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_becomes_arguments() {
        let order = Order::Run {
            settings: vec![("samples", "20".to_owned()), ("cpu", "1".to_owned())],
            cases: vec!["clock.read".to_owned()],
            all: ["clock.read", "a"].map(str::to_owned).to_vec(),
        };
        assert_eq!(
            order.arguments(),
            ["run", "samples=20", "cpu=1", "clock.read"]
        );
        assert_eq!(order.words(), ["run", "samples=20", "cpu=1", "cases=8"]);
        assert_eq!(Order::List.arguments(), ["list"]);
        assert_eq!(Order::List.words(), ["list"]);
        assert!(Order::Listen.words().is_empty());
    }

    #[test]
    fn cases_become_a_bit_mask_unless_all_are_wanted() {
        let all: Vec<String> = (0..9).map(|n| format!("case.{n}")).collect();
        let words = |cases: &[usize]| {
            let order = Order::Run {
                settings: Vec::new(),
                cases: cases.iter().map(|&n| all[n].clone()).collect(),
                all: all.clone(),
            };
            order.words()
        };
        assert_eq!(words(&[0]), ["run", "cases=800"]);
        assert_eq!(words(&[8, 1]), ["run", "cases=408"]);
        assert_eq!(words(&[4, 5, 6, 7]), ["run", "cases=0f0"]);
        assert_eq!(words(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), ["run"]);
    }

    #[test]
    fn fault_quotes_the_agent() {
        assert_eq!(Ending::Done.fault(), None);
        assert_eq!(
            Ending::Signal {
                signal: 11,
                details: "at sem.c".to_owned()
            }
            .fault()
            .unwrap(),
            "signal 11 (SIGSEGV) ended the agent: at sem.c"
        );
        assert_eq!(
            Ending::Silent(Duration::from_millis(500)).fault().unwrap(),
            "no sign of life for 0.5 s; killed"
        );
    }
}
