// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where record streams come from: one [`Target`] per way to run an agent.

pub mod build;
pub mod cache;
pub mod described;
pub mod description;
pub mod exec;
pub mod file;
pub mod host;
pub mod process;
pub mod serial;
pub mod sources;
pub mod spec;
pub mod stream;

use std::time::Duration;

/// What an agent is asked to do in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Print the catalog.
    List,
    /// Measure these cases, in this order.
    Run {
        /// `key=value` settings, as doc/protocol.md lists them.
        settings: Vec<(&'static str, String)>,
        /// The ids of the cases.
        cases: Vec<String>,
        /// The ids of all cases, in the catalog's order.
        all: Vec<String>,
    },
    /// Whatever it does by itself.
    Listen,
}

impl Order {
    /// The order as words that name the cases by their ids.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Order::Run { cases, .. } => self.head().chain(cases.iter().cloned()).collect(),
            Order::List | Order::Listen => self.head().collect(),
        }
    }

    /// The order as words that name the cases by their places in the catalog; they are measured in
    /// the catalog's order.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Order::Run { cases, all, .. } if all.iter().any(|case| !cases.contains(case)) => {
                let wanted: Vec<bool> = all.iter().map(|case| cases.contains(case)).collect();
                let cases = format!("cases={}", digits(&wanted));
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

/// One bit for each, the first the highest of the first hexadecimal digit, padded with zeros.
fn digits(bits: &[bool]) -> String {
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
    /// The agent ended by itself, exit status 0.
    Done,
    /// The agent ended by itself with another exit status.
    Status {
        /// The exit status, 1 to 255.
        status: i32,
        /// The last lines of its standard error.
        said: String,
    },
    /// A signal ended the agent.
    Signal {
        /// The signal's number.
        signal: i32,
        /// That its memory was used up, or the last lines of its standard error.
        said: String,
    },
    /// No record came for this long; a process was killed.
    Silent(Duration),
    /// Bytes came, but no record was among them for this long.
    Noise {
        /// How many came.
        bytes: usize,
        /// How long.
        time: Duration,
        /// The baud rate that they were read at, if they came over a line.
        baud: Option<u32>,
    },
    /// The session took longer than it may.
    Limit(Duration),
    /// Its processes used as much processor time as they may.
    Work(Duration),
    /// The agent started so often without coming to its end.
    Restarts(u32),
    /// The agent said `bye`, and its process did not end within this time.
    Lingers(Duration),
    /// The agent's clock counts something else than the target's description says.
    Unit {
        /// What the description says.
        declared: &'static str,
        /// What the agent says.
        said: String,
    },
    /// The machine stopped by itself before its agent was done.
    Unfinished,
    /// It went wrong in this way, and these are the last lines of the machine's console.
    Console(Box<Ending>, String),
    /// The connection broke; why.
    Lost(String),
    /// The agent wrote more than this many bytes and was killed.
    Flood(usize),
    /// The user asked to stop; the agent was killed.
    Interrupted,
}

impl Ending {
    /// Whether it took time, and will again, to find out that the agent does not go on.
    #[must_use]
    pub fn costs_time(&self) -> bool {
        match self {
            Ending::Silent(_)
            | Ending::Noise { .. }
            | Ending::Limit(_)
            | Ending::Work(_)
            | Ending::Restarts(_)
            | Ending::Lingers(_)
            | Ending::Flood(_) => true,
            Ending::Console(ending, _) => ending.costs_time(),
            Ending::Done
            | Ending::Unfinished
            | Ending::Status { .. }
            | Ending::Signal { .. }
            | Ending::Unit { .. }
            | Ending::Lost(_)
            | Ending::Interrupted => false,
        }
    }

    /// What went wrong, in one line; `None` when nothing did.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let with = |what: String, said: &str| {
            if said.is_empty() {
                what
            } else {
                format!("{what}: {said}")
            }
        };
        match self {
            Ending::Done => None,
            Ending::Status { status, said } => {
                Some(with(format!("the agent ended with status {status}"), said))
            }
            Ending::Signal { signal, said } => Some(with(
                format!("signal {signal}{} ended the agent", signal_name(*signal)),
                said,
            )),
            Ending::Silent(time) => Some(format!(
                "no sign of life for {} s; killed",
                time.as_secs_f64()
            )),
            Ending::Noise { bytes, time, baud } => {
                let hint = match baud {
                    Some(baud) => format!(
                        "; check the baud rate: {baud} is what the line was read at, \
                         @BAUD or baud=BAUD sets another"
                    ),
                    None => "; is it an agent of kernmark?".to_owned(),
                };
                Some(format!(
                    "{bytes} bytes came within {} s, and no record among them{hint}",
                    time.as_secs_f64()
                ))
            }
            Ending::Limit(time) => Some(format!(
                "the session took longer than its limit of {} s",
                time.as_secs_f64()
            )),
            Ending::Work(time) => Some(format!(
                "the session used up its limit of {} s of processor time",
                time.as_secs_f64()
            )),
            Ending::Restarts(count) => Some(format!(
                "it restarts in a loop: {count} starts without coming to the end"
            )),
            Ending::Lingers(time) => Some(format!(
                "it did not end within {} s after its last record; killed",
                time.as_secs_f64()
            )),
            Ending::Unit { declared, said } => Some(format!(
                "its clock counts `{said}`, the description of the target says unit = \
                 \"{declared}\"; one of them is wrong"
            )),
            Ending::Unfinished => Some("the machine stopped before its agent was done".to_owned()),
            Ending::Console(ending, said) => ending
                .fault()
                .map(|fault| format!("{fault}; its console says: {said}")),
            Ending::Lost(why) => Some(format!("the connection was lost: {why}")),
            Ending::Flood(bytes) => Some(format!("more than {bytes} bytes of output; killed")),
            Ending::Interrupted => Some("interrupted by the user".to_owned()),
        }
    }
}

/// The name of a signal in brackets, with a space before it; empty for the rarer ones.
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

/// What orders a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// Cases in any order.
    Shuffled,
    /// Cases in the catalog's order.
    Sorted,
    /// None: it prints its catalog and measures everything by itself.
    None,
}

/// A way to run an agent.
pub trait Target {
    /// What orders it takes. One that takes none gets [`Order::List`], which reads until a session
    /// ends, and [`Order::Listen`].
    fn orders(&self) -> Orders;

    /// Runs one session to its end and hands each line to `take` as it comes, with its line end.
    ///
    /// When this returns, the session's processes are gone.
    ///
    /// # Errors
    ///
    /// The agent could not be started; the message says what to do. An agent
    /// that fails later is an [`Ending`].
    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_the_agents_arguments() {
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
    fn cases_are_one_bit_each_and_all_of_them_need_none() {
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
    fn a_fault_says_what_and_quotes_the_agent() {
        assert_eq!(Ending::Done.fault(), None);
        assert_eq!(
            Ending::Signal {
                signal: 11,
                said: "at sem.c".to_owned()
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
