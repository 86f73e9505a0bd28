//! Where record streams come from: one [`Target`] per way to run an agent.

pub mod host;

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
    },
}

impl Order {
    /// The order as an agent's arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Order::List => vec!["list".to_owned()],
            Order::Run { settings, cases } => std::iter::once("run".to_owned())
                .chain(settings.iter().map(|(key, value)| format!("{key}={value}")))
                .chain(cases.iter().cloned())
                .collect(),
        }
    }
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
        /// The last lines of its standard error.
        said: String,
    },
    /// The agent wrote nothing for this long and was killed.
    Silent(Duration),
    /// The agent wrote more than this many bytes and was killed.
    Flood(usize),
    /// The user asked to stop; the agent was killed.
    Interrupted,
}

impl Ending {
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

/// A way to run an agent.
pub trait Target {
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
        };
        assert_eq!(
            order.arguments(),
            ["run", "samples=20", "cpu=1", "clock.read"]
        );
        assert_eq!(Order::List.arguments(), ["list"]);
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
