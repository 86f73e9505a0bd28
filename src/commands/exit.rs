// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exit statuses.

use crate::judge::summary::{summarise, Status};
use crate::stream::run::Run;

/// Exit status: everything was measured and every proof held.
pub const OK: u8 = 0;
/// Exit status: a benchmark failed, data is missing, or the run could not be saved.
pub const FAILED: u8 = 1;
/// Exit status: the arguments make no sense.
pub const USAGE: u8 = 2;
/// Exit status of a gate: a metric regressed, or is over its limit.
pub const REGRESSED: u8 = 3;
/// Exit status of a gate: neither a change nor its absence is shown, or a limit cannot be judged.
pub const INCONCLUSIVE: u8 = 4;
/// Exit status of a gate: something could not be compared.
pub const INCOMPARABLE: u8 = 5;
/// Exit status: stopped by SIGINT, SIGTERM or SIGHUP.
pub const INTERRUPTED: u8 = 130;

/// What the exit status says, for people.
pub const EXIT_STATUS: &str = "\
0    everything asked for was measured (or skipped for a reason that is shown)
1    a benchmark failed, data is missing or cannot be read, or the run could not be saved
2    the arguments make no sense
3    compare --fail-on regression: a metric regressed; --budget: one is over its limit
4    compare --fail-on inconclusive: a metric is inconclusive; --budget: a limit cannot be judged
5    compare --fail-on incomparable, missing: a metric is; or a gate had nothing to judge
130  interrupted; what was measured until then is saved and shown
";

/// The exit status that a run deserves by what it says.
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
