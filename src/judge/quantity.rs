// SPDX-License-Identifier: MIT OR Apache-2.0

//! The quantities that are judged for each metric: its median, its percentiles and its cold first
//! operation. Each has its own significance level and margin.

/// The family-wise error rate of medians: at most 4 % of comparisons of unchanged machines raise a
/// false alarm in any median. An adjusted p value at or below it is significant.
pub const MEDIANS_LEVEL: f64 = 0.04;
/// The family-wise error rate of percentiles and first operations. Together, the two families raise
/// a false alarm in at most 5 % of comparisons.
pub const TAILS_LEVEL: f64 = 0.01;

/// A figure of a replicate that gets a verdict of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// The median of the samples; the mean if the source reports no median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The first operation of the process or boot, timed alone.
    Cold,
}

impl Quantity {
    /// All quantities: the percentiles in ascending order, then the first operation.
    pub const ALL: [Quantity; 5] = [
        Quantity::P50,
        Quantity::P90,
        Quantity::P99,
        Quantity::P999,
        Quantity::Cold,
    ];
    /// The percentiles above the median, in ascending order.
    pub const PERCENTILES: [Quantity; 3] = [Quantity::P90, Quantity::P99, Quantity::P999];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantity::P50 => "p50",
            Quantity::P90 => "p90",
            Quantity::P99 => "p99",
            Quantity::P999 => "p99.9",
            Quantity::Cold => "cold",
        }
    }

    /// The name as a key in JSON and TOML, and on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Quantity::P999 => "p999",
            other => other.name(),
        }
    }

    /// The share of samples at or below this percentile, 0 to 1; `None` for the first operation.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        match self {
            Quantity::P50 => Some(0.5),
            Quantity::P90 => Some(0.9),
            Quantity::P99 => Some(0.99),
            Quantity::P999 => Some(0.999),
            Quantity::Cold => None,
        }
    }

    /// Whether it belongs to the family of tails: every quantity except the median.
    #[must_use]
    pub fn is_tail(self) -> bool {
        self != Quantity::P50
    }

    /// The significance level: the error rate of its family.
    #[must_use]
    pub fn level(self) -> f64 {
        if self.is_tail() {
            TAILS_LEVEL
        } else {
            MEDIANS_LEVEL
        }
    }

    /// The default margin, as a share: about three times the variation between replicates of
    /// unchanged runs.
    #[must_use]
    pub fn default_margin(self) -> f64 {
        match self {
            Quantity::P50 => 0.02,
            Quantity::P90 => 0.05,
            Quantity::P99 | Quantity::P999 | Quantity::Cold => 0.25,
        }
    }
}

impl std::str::FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Quantity::ALL.into_iter();
        let mut known = known.filter(|quantity| [quantity.name(), quantity.key()].contains(&text));
        known.next().ok_or_else(|| {
            let names = Quantity::ALL.map(Quantity::name).join(", ");
            format!("`{text}` is not a quantity; choose from {names}")
        })
    }
}

/// The requested margins, as shares. A quantity without one has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margins {
    requested: [Option<f64>; 5],
}

impl Margins {
    /// One margin for all quantities. A tail keeps its default if that is larger, because tails are
    /// noisier.
    #[must_use]
    pub fn all(margin: f64) -> Self {
        let of = |quantity: Quantity| match quantity {
            Quantity::P50 => Some(margin),
            tail => Some(margin.max(tail.default_margin())),
        };
        Margins {
            requested: Quantity::ALL.map(of),
        }
    }

    /// Sets the margin of one quantity.
    pub fn set(&mut self, quantity: Quantity, margin: f64) {
        self.requested[quantity as usize] = Some(margin);
    }

    /// The margin of a quantity that is subject to noise.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> f64 {
        self.requested[quantity as usize].unwrap_or_else(|| quantity.default_margin())
    }

    /// The margin of exact instructions: 0 unless one was requested, because any difference is
    /// real.
    #[must_use]
    pub fn of_exact(&self) -> f64 {
        self.requested[Quantity::P50 as usize].unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_are_read_back() {
        for quantity in Quantity::ALL {
            assert_eq!(quantity.name().parse(), Ok(quantity));
            assert_eq!(quantity.key().parse(), Ok(quantity));
        }
        assert!("p95".parse::<Quantity>().unwrap_err().contains("p99.9"));
    }

    #[test]
    fn one_margin_for_all_never_narrows_tails() {
        let margins = Margins::all(0.03);
        assert_eq!(
            Quantity::ALL.map(|q| Some(margins.of(q))),
            [0.03, 0.05, 0.25, 0.25, 0.25].map(Some)
        );
        let mut margins = Margins::all(0.5);
        margins.set(Quantity::P99, 0.1);
        assert_eq!(
            Quantity::ALL.map(|q| Some(margins.of(q))),
            [0.5, 0.5, 0.1, 0.5, 0.5].map(Some)
        );
        assert_eq!(
            (margins.of_exact(), Margins::default().of_exact()),
            (0.5, 0.0)
        );
    }
}
