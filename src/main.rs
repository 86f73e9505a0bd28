// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `kernmark`: arguments in, exit status out. The library does everything else.

use std::process::ExitCode;

use clap::Parser;
use kernmark::base::screen::write_stderr;
use kernmark::base::text::plain;
use kernmark::commands::exit::{FAILED, USAGE};
use kernmark::commands::{self, CommandLine, Failure};

fn main() -> ExitCode {
    let status = commands::dispatch(CommandLine::parse()).unwrap_or_else(|failure| {
        let (status, message) = match failure {
            Failure::Usage(message) => (USAGE, message),
            Failure::Failed(message) => (FAILED, message),
        };
        write_stderr(&format!("kernmark: {}", plain(&message)));
        status
    });
    ExitCode::from(status)
}
