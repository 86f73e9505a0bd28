// SPDX-License-Identifier: MIT OR Apache-2.0

//! The time that a run may take, divided among its replicates and cases.

use std::time::Duration;

use crate::measure::progress::Position;

/// How far a run may exceed its time budget before what is left of it is given up.
const GRACE: f64 = 1.2;

/// How much time each case gets.
///
/// A replicate takes a part that the budget does not govern (start, calibration, cases that need
/// longer) and one that grows with it. Scaling the budget by what the last replicate should have
/// taken over what it took closes in on the right one without knowing either part.
pub(super) struct Pace {
    /// For the whole run; `None`: no bound.
    time: Option<Duration>,
    runs: u32,
    cases: usize,
    /// The last replicate that went well: its budget for a case, and how long it took.
    last: Option<(Duration, Duration)>,
}

impl Pace {
    pub(super) fn new(time: Option<Duration>, runs: u32, cases: usize) -> Self {
        Pace {
            time,
            runs,
            cases: cases.max(1),
            last: None,
        }
    }

    /// The time for each case of the next replicate, when `left` replicates are to be made.
    pub(super) fn budget(&self, elapsed: Duration, left: u32) -> Option<Duration> {
        const LEAST: f64 = 100e-6;
        // The first replicate does not know yet what its cases take besides.
        const FIRST: f64 = 0.5;
        const MOST_CHANGE: f64 = 4.0;
        let time = self.time?.as_secs_f64();
        let share = (time - elapsed.as_secs_f64()).max(0.0) / f64::from(left.max(1));
        let budget = match self.last {
            None => FIRST * share / self.cases as f64,
            Some((budget, took)) => {
                let change = share / took.as_secs_f64().max(1e-6);
                budget.as_secs_f64() * change.clamp(1.0 / MOST_CHANGE, MOST_CHANGE)
            }
        };
        Some(Duration::from_secs_f64(
            budget.clamp(LEAST, time.max(LEAST)),
        ))
    }

    /// Notes what a replicate took with its budget.
    pub(super) fn took(&mut self, budget: Option<Duration>, took: Duration) {
        if let Some(budget) = budget {
            self.last = Some((budget, took));
        }
    }

    /// Whether another replicate fits, going by the last.
    pub(super) fn has_time(&self, elapsed: Duration) -> bool {
        let next = self.last.map_or(Duration::ZERO, |(_, took)| took);
        !self.is_over(elapsed + next)
    }

    /// Whether the time is over, and what may be exceeded of it.
    pub(super) fn is_over(&self, elapsed: Duration) -> bool {
        self.time
            .is_some_and(|time| elapsed > Duration::from_secs_f64(time.as_secs_f64() * GRACE))
    }

    /// How far the run is. The time left is what the rate until now makes it.
    pub(super) fn position<'a>(
        &self,
        case: &'a str,
        done: usize,
        elapsed: Duration,
    ) -> Position<'a> {
        const EARLY: usize = 10;
        let total = self.cases * self.runs as usize;
        let by_plan = self.time.map(|time| time.saturating_sub(elapsed));
        let by_rate = elapsed.mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
        let left = match by_plan {
            Some(plan) if done * EARLY < total => plan,
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

    /// Runs a pace over a machine where a replicate takes `fixed` and `factor` times its budgets.
    fn total(time: f64, runs: u32, cases: usize, fixed: f64, factor: f64) -> (f64, u32) {
        let mut pace = Pace::new(Some(Duration::from_secs_f64(time)), runs, cases);
        let mut elapsed = Duration::ZERO;
        for replicate in 0..runs {
            if !pace.has_time(elapsed) {
                return (elapsed.as_secs_f64(), replicate);
            }
            let budget = pace.budget(elapsed, runs - replicate);
            let took = Duration::from_secs_f64(
                fixed + factor * budget.unwrap().as_secs_f64() * cases as f64,
            );
            pace.took(budget, took);
            elapsed += took;
        }
        (elapsed.as_secs_f64(), runs)
    }

    #[test]
    fn a_run_keeps_to_its_time_whatever_the_cases_cost_besides() {
        for (fixed, factor) in [(0.0, 1.0), (1.0, 1.0), (0.3, 2.5), (2.0, 0.4)] {
            let (took, runs) = total(25.0, 10, 120, fixed, factor);
            assert_eq!(runs, 10, "fixed {fixed} factor {factor}");
            assert!(
                (22.0..=27.0).contains(&took),
                "fixed {fixed} factor {factor}: {took}"
            );
        }
    }

    #[test]
    fn a_run_whose_fixed_part_exceeds_its_time_makes_fewer_replicates() {
        let (took, runs) = total(25.0, 10, 120, 6.0, 1.0);
        assert!(runs < 10);
        assert!(took <= 25.0 * GRACE, "{took}");
    }

    #[test]
    fn without_a_bound_there_is_no_budget_and_always_time() {
        let pace = Pace::new(None, 10, 5);
        assert_eq!(pace.budget(Duration::from_secs(1000), 10), None);
        assert!(pace.has_time(Duration::from_secs(100_000)));
    }
}
