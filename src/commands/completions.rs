// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `completions`: a completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{output::print, CommandLine, Outcome};

/// The arguments of `completions`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the completion script.
pub(super) fn completions(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    let mut command = CommandLine::command();
    clap_complete::generate(arguments.shell, &mut command, "kernmark", &mut script);
    print(&script)
}
