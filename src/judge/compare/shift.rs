// SPDX-License-Identifier: MIT OR Apache-2.0

//! The confidence interval of a difference, and the p value of Welch's test of it.

use crate::statistics::order;
use crate::statistics::permutation::Shift;

impl Shift {
    /// The interval of the difference with the confidence [`order::CONFIDENCE`], wider by what a
    /// tick hides.
    pub(super) fn interval(&self, hidden: f64) -> (f64, f64) {
        let t = order::t_two_sided(1.0 - order::CONFIDENCE, self.freedom);
        let reach = t.unwrap_or(f64::INFINITY) * self.error + hidden;
        (self.estimate - reach, self.estimate + reach)
    }

    /// The two-sided p value of Welch's test that there is no difference.
    pub(super) fn p(&self) -> f64 {
        if self.estimate == 0.0 {
            return 1.0;
        }
        order::t_probability(self.estimate / self.error, self.freedom)
    }
}
