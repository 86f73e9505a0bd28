// SPDX-License-Identifier: MIT OR Apache-2.0

//! The time budget of a run: how much time each case gets in the next replicate, given the time
//! spent so far, and whether another replicate fits.

use std::time::Duration;

use crate::measure::progress::Position;

/// A run may take this many times its time budget. What is left then is not measured.
const MOST_OVERRUN: f64 = 1.2;

/// Divides the time of a run among its replicates and cases.
///
/// One part of a replicate's time does not depend on what its cases are given: start, calibration,
/// cases that need longer. The other part grows with it. We know neither part. So each replicate's
/// time per case is that of the last one, scaled by the time available for the replicate over the
/// time that the last one took. This converges on the right value.
pub(super) struct TimeBudget {
    /// For the whole run; `None` if unlimited.
    total: Option<Duration>,
    replicates: u32,
    /// Cases in each replicate, at least 1.
    cases: usize,
    /// The last replicate without a failure.
    last: Option<Replicate>,
}

/// The time that a replicate was given and took.
struct Replicate {
    per_case: Duration,
    took: Duration,
}

impl TimeBudget {
    pub(super) fn new(total: Option<Duration>, replicates: u32, cases: usize) -> Self {
        TimeBudget {
            total,
            replicates,
            cases: cases.max(1),
            last: None,
        }
    }

    /// The time for each case of the next replicate, if `left` replicates are still to be made.
    /// `None` if unlimited.
    pub(super) fn per_case(&self, elapsed: Duration, left: u32) -> Option<Duration> {
        const LEAST_SECONDS: f64 = 100e-6;
        // Before the first replicate the fixed part is unknown, so leave half of the time for it.
        const FIRST_SHARE: f64 = 0.5;
        const MOST_CHANGE: f64 = 4.0;
        let total = self.total?.as_secs_f64();
        let available = (total - elapsed.as_secs_f64()).max(0.0) / f64::from(left.max(1));
        let seconds = match &self.last {
            None => FIRST_SHARE * available / self.cases as f64,
            Some(Replicate { per_case, took }) => {
                let change = available / took.as_secs_f64().max(1e-6);
                per_case.as_secs_f64() * change.clamp(1.0 / MOST_CHANGE, MOST_CHANGE)
            }
        };
        Some(Duration::from_secs_f64(
            seconds.clamp(LEAST_SECONDS, total.max(LEAST_SECONDS)),
        ))
    }

    /// Learns from a replicate without a failure: its time per case, and the time it took.
    pub(super) fn record(&mut self, per_case: Option<Duration>, took: Duration) {
        if let Some(per_case) = per_case {
            self.last = Some(Replicate { per_case, took });
        }
    }

    /// Whether there is time for another replicate that takes as long as the last.
    pub(super) fn allows_replicate(&self, elapsed: Duration) -> bool {
        let next = self.last.as_ref().map_or(Duration::ZERO, |last| last.took);
        !self.is_exhausted(elapsed + next)
    }

    /// Whether the time is over, including the overrun that is allowed.
    pub(super) fn is_exhausted(&self, elapsed: Duration) -> bool {
        self.total.is_some_and(|total| {
            elapsed > Duration::from_secs_f64(total.as_secs_f64() * MOST_OVERRUN)
        })
    }

    /// The progress of the run. The time left is extrapolated from the cases done so far; early in
    /// the run, it is what is left of the budget.
    pub(super) fn position<'a>(
        &self,
        case: &'a str,
        done: usize,
        elapsed: Duration,
    ) -> Position<'a> {
        // Early means that less than a tenth of the cases are done.
        const EARLY: usize = 10;
        let total = self.cases * self.replicates as usize;
        let by_budget = self.total.map(|time| time.saturating_sub(elapsed));
        let by_rate = elapsed.mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
        let left = match by_budget {
            Some(left) if done * EARLY < total => left,
            _ => by_rate,
        };
        Position {
            case,
            done,
            total: Some(total),
            time: left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a run on a machine where a replicate takes `fixed` seconds, plus `factor` times
    /// the time that its cases are given. Returns the seconds and the replicates of the run.
    fn simulate(time: f64, runs: u32, cases: usize, fixed: f64, factor: f64) -> (f64, u32) {
        let mut budget = TimeBudget::new(Some(Duration::from_secs_f64(time)), runs, cases);
        let mut elapsed = Duration::ZERO;
        for replicate in 0..runs {
            if !budget.allows_replicate(elapsed) {
                return (elapsed.as_secs_f64(), replicate);
            }
            let per_case = budget.per_case(elapsed, runs - replicate);
            let took = Duration::from_secs_f64(
                fixed + factor * per_case.unwrap().as_secs_f64() * cases as f64,
            );
            budget.record(per_case, took);
            elapsed += took;
        }
        (elapsed.as_secs_f64(), runs)
    }

    #[test]
    fn run_keeps_to_its_time_whatever_its_fixed_cost() {
        for (fixed, factor) in [(0.0, 1.0), (1.0, 1.0), (0.3, 2.5), (2.0, 0.4)] {
            let (took, runs) = simulate(25.0, 10, 120, fixed, factor);
            assert_eq!(runs, 10, "fixed {fixed} factor {factor}");
            assert!(
                (22.0..=27.0).contains(&took),
                "fixed {fixed} factor {factor}: {took}"
            );
        }
    }

    #[test]
    fn run_with_a_high_fixed_cost_makes_fewer_replicates() {
        let (took, runs) = simulate(25.0, 10, 120, 6.0, 1.0);
        assert!(runs < 10);
        assert!(took <= 25.0 * MOST_OVERRUN, "{took}");
    }

    #[test]
    fn unlimited_run_has_no_budget_and_always_allows_a_replicate() {
        let budget = TimeBudget::new(None, 10, 5);
        assert_eq!(budget.per_case(Duration::from_secs(1000), 10), None);
        assert!(budget.allows_replicate(Duration::from_secs(100_000)));
    }
}
