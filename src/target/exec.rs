// SPDX-License-Identifier: MIT OR Apache-2.0

//! `--on exec:COMMAND`: a shell command that prints the record stream on its standard output.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::stream::{Bounds, Starts, Until};
use super::{process, Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;

/// Runs a shell command, once per session.
#[derive(Debug)]
pub struct Exec<'a> {
    command: String,
    silence: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> Exec<'a> {
    /// The command is killed if no record comes for `silence`.
    #[must_use]
    pub fn new(command: String, silence: Duration, interrupt: &'a Interrupt) -> Self {
        Exec {
            command,
            silence,
            interrupt,
        }
    }
}

impl Target for Exec<'_> {
    fn orders(&self) -> Orders {
        Orders::None
    }

    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command);
        let child = process::start(&mut command, Stdio::null())?;
        let bounds = Bounds {
            silence: self.silence,
            limit: None,
            unit: None,
            baud: None,
            starts: Starts::Once,
            until: match order {
                Order::List => Until::Bye,
                Order::Run { .. } | Order::Listen => Until::End,
            },
        };
        process::session(child, bounds, self.interrupt, take)
    }
}
