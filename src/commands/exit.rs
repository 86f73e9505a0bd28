// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exit statuses.

use super::{Failure, Outcome};
use crate::judge::summary::{summarise, Status};
use crate::stream::run::Run;

/// Everything was measured and every proof held.
pub const OK: u8 = 0;
/// A benchmark failed, data is missing, or the run could not be saved.
pub const FAILED: u8 = 1;
/// The arguments are wrong.
pub const USAGE: u8 = 2;
/// A gate: a metric regressed or exceeds its limit.
pub const REGRESSED: u8 = 3;
/// A gate: a metric is inconclusive, CPU speed changed, or a limit cannot be judged.
pub const INCONCLUSIVE: u8 = 4;
/// A gate: something could not be compared, or the gate could not have seen a change.
pub const INCOMPARABLE: u8 = 5;
/// Stopped by SIGINT, SIGTERM or SIGHUP.
pub const INTERRUPTED: u8 = 130;

/// The tool has a bug: Rust's status of a panic.
pub const PANICKED: u8 = 101;
/// `--bisect`: the commit could not be judged, so `git bisect run` skips it.
const SKIP: u8 = 125;
/// `--bisect`: whoever started this has to look, so `git bisect run` stops.
const STOP: u8 = 255;

/// What each exit status means, for the help and the man page.
pub const EXIT_STATUS: &str = "\
0    everything was measured, or skipped for a reason that is shown
1    a benchmark failed, data is missing or unreadable, or the run could not be saved
2    the arguments are wrong
3    --fail-on regression: a metric regressed; --budget: a metric exceeds its limit
4    --fail-on inconclusive: a metric is inconclusive; a gate: CPU speed changed;
     --budget: a limit cannot be judged
5    --fail-on incomparable or missing: a metric is; a gate had nothing to judge or could not
     have seen a change
130  interrupted; what was measured until then is saved and shown
1 and 2 take precedence; otherwise the lowest applies.

With --bisect, for `git bisect run`:
0    good: no metric regressed or exceeds its limit
1    bad: a metric regressed or exceeds its limit
125  skipped: it could not be built, run or judged
130  interrupted; this and 255 stop the bisection
255  the arguments are wrong
";

/// The exit status of a command.
#[must_use]
pub fn of(outcome: &Outcome) -> u8 {
    match outcome {
        Ok(status) => *status,
        Err(Failure::Usage(_) | Failure::Absent(_)) => USAGE,
        Err(Failure::Failed(_)) => FAILED,
    }
}

/// The exit status of a command with `--bisect`, as `git bisect run` reads it.
#[must_use]
pub fn for_bisect(outcome: &Outcome) -> u8 {
    match outcome {
        Ok(OK) => 0,
        Ok(REGRESSED) => 1,
        Ok(INTERRUPTED) => INTERRUPTED,
        Ok(USAGE | PANICKED) | Err(Failure::Usage(_)) => STOP,
        Ok(_) | Err(Failure::Absent(_) | Failure::Failed(_)) => SKIP,
    }
}

/// The exit status for a run: data that is missing and benchmarks that failed make it
/// [`FAILED`].
pub(super) fn of_run(run: &Run) -> u8 {
    let damage = &run.damage;
    let lost = damage.damaged + damage.gaps + damage.truncated > 0;
    let failed = |status| matches!(status, Status::Failed | Status::Incomplete);
    if lost || summarise(run).iter().any(|one| failed(one.status)) {
        FAILED
    } else {
        OK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_goes_on_only_with_what_was_judged() {
        let why = String::new;
        for (outcome, ordinary, bisection) in [
            (Ok(OK), 0, 0),
            (Ok(FAILED), 1, 125),
            (Ok(USAGE), 2, 255),
            (Ok(REGRESSED), 3, 1),
            (Ok(INCONCLUSIVE), 4, 125),
            (Ok(INCOMPARABLE), 5, 125),
            (Ok(PANICKED), 101, 255),
            (Ok(INTERRUPTED), 130, 130),
            (Err(Failure::Usage(why())), 2, 255),
            (Err(Failure::Absent(why())), 2, 125),
            (Err(Failure::Failed(why())), 1, 125),
        ] {
            assert_eq!(of(&outcome), ordinary, "{outcome:?}");
            assert_eq!(for_bisect(&outcome), bisection, "{outcome:?}");
        }
    }
}
