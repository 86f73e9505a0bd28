// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `kernmark`: arguments in, exit status out. The library does everything else.

use std::env;
use std::panic;
use std::process::ExitCode;

use clap::Parser;
use kernmark::base::screen::write_stderr;
use kernmark::base::text::plain;
use kernmark::commands::{self, exit, CommandLine};

fn main() -> ExitCode {
    // Read here, because arguments that cannot be parsed have to stop a bisection as well.
    let is_bisection = env::args_os().any(|word| word == "--bisect");
    let status = if is_bisection {
        exit::for_bisect
    } else {
        exit::of
    };
    let outcome = match CommandLine::try_parse() {
        // git would take the status of a panic for a bad commit.
        Ok(line) => panic::catch_unwind(|| commands::dispatch(line)).unwrap_or(Ok(exit::PANICKED)),
        Err(answer) => {
            // If it cannot be written, nobody reads it, and the exit status says the rest.
            let _ = answer.print();
            Ok(if answer.use_stderr() {
                exit::USAGE
            } else {
                exit::OK
            })
        }
    };
    if let Err(failure) = &outcome {
        write_stderr(&format!("kernmark: {}", plain(failure.why())));
    }
    ExitCode::from(status(&outcome))
}
