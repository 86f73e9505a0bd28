// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `doctor`: checks this machine for what disturbs measurements.

use std::path::Path;
use std::time::Duration;

use super::output::{print, style};
use super::Outcome;
use crate::machine::doctor::{self, Probes};
use crate::machine::Machine;
use crate::report;

/// How long the doctor watches the other work on this machine.
const WATCH: Duration = Duration::from_millis(500);

/// Prints what disturbs measurements here.
pub(super) fn doctor() -> Outcome {
    let findings = doctor::examine(&Machine::read(Path::new("/")), &Probes::take(WATCH));
    print(report::doctor::render(&findings, &style()).as_bytes())
}
