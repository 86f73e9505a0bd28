// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is judged of a metric: its median, its percentiles and its first operation, each with a
//! level and a margin of its own.

/// The level at which the adjusted p value of a median counts: 4 % of comparisons of unchanged
/// machines may raise an alarm of any median.
pub const MEDIANS_LEVEL: f64 = 0.04;
/// The same of percentiles and first operations: 1 %. Together the families err in at most 5 %.
pub const TAILS_LEVEL: f64 = 0.01;
/// A figure of a replicate that is judged by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// The median of the samples, or the mean where the source tells no more.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The first operation of the process or boot, alone.
    Cold,
}

impl Quantity {
    /// All of them; the percentiles first, in rising order.
    pub const ALL: [Quantity; 5] = [
        Quantity::P50,
        Quantity::P90,
        Quantity::P99,
        Quantity::P999,
        Quantity::Cold,
    ];
    /// The percentiles above the median, in rising order.
    pub const PERCENTILES: [Quantity; 3] = [Quantity::P90, Quantity::P99, Quantity::P999];

    /// Its name in reports.
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

    /// Its name as a key of JSON and TOML, and on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Quantity::P999 => "p999",
            other => other.name(),
        }
    }

    /// The share of samples that lie at or below it, 0 to 1; `None` of the first operation.
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

    /// Whether it is judged in the family of tails: everything but the median.
    #[must_use]
    pub fn is_tail(self) -> bool {
        self != Quantity::P50
    }

    /// The level of the family that it is judged in.
    #[must_use]
    pub fn level(self) -> f64 {
        if self.is_tail() {
            TAILS_LEVEL
        } else {
            MEDIANS_LEVEL
        }
    }

    /// The margin that it is judged with unless another is asked for, as a share: about three
    /// times what it varies by between replicates of unchanged runs.
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

/// The margins that were asked for, as shares; without one a quantity has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margins {
    asked: [Option<f64>; 5],
}

impl Margins {
    /// One margin for everything: that of the median; what is noisier keeps its default where that
    /// is more.
    #[must_use]
    pub fn all(margin: f64) -> Self {
        let of = |quantity: Quantity| match quantity {
            Quantity::P50 => Some(margin),
            tail => Some(margin.max(tail.default_margin())),
        };
        Margins {
            asked: Quantity::ALL.map(of),
        }
    }

    /// Sets the margin of one quantity.
    pub fn set(&mut self, quantity: Quantity, margin: f64) {
        self.asked[quantity as usize] = Some(margin);
    }

    /// The margin of a quantity that has noise.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> f64 {
        self.asked[quantity as usize].unwrap_or_else(|| quantity.default_margin())
    }

    /// The margin of exact instructions, where any difference is real: 0 unless one was asked for.
    #[must_use]
    pub fn of_exact(&self) -> f64 {
        self.asked[Quantity::P50 as usize].unwrap_or(0.0)
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
    fn one_margin_for_all_narrows_the_median_alone() {
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
