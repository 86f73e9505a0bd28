// SPDX-License-Identifier: MIT OR Apache-2.0

//! The difference between two sides: its confidence interval, and the p value of Welch's test.

use crate::statistics::permutation::Shift;
use crate::statistics::{distributions, order};

impl Shift {
    /// The confidence interval of the difference ([`order::CONFIDENCE`]), widened by the tick error.
    pub(super) fn interval(&self, tick_error: f64) -> (f64, f64) {
        let t = distributions::t_critical(1.0 - order::CONFIDENCE, self.freedom);
        let reach = t.unwrap_or(f64::INFINITY) * self.error + tick_error;
        (self.estimate - reach, self.estimate + reach)
    }

    /// The two-sided p value of Welch's test; the null hypothesis is no difference.
    pub(super) fn p(&self) -> f64 {
        if self.estimate == 0.0 {
            return 1.0;
        }
        distributions::t_p_value(self.estimate / self.error, self.freedom)
    }
}
