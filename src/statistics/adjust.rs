// SPDX-License-Identifier: MIT OR Apache-2.0

//! P values adjusted for the number of tests they come from.

/// p values adjusted so that those at or below a level hold, with all of them
/// right but for a probability of that level, however they depend on each other
/// (S. Holm, *Scandinavian Journal of Statistics* 6, 1979). In the order given.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = rising(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut greatest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        greatest = greatest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = greatest;
    }
    adjusted
}

fn rising(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn adjusted_p_values_worked_by_hand() {
        let close = |a: &[f64], b: &[f64]| {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?}");
        };
        let p = [0.01, 0.04, 0.03, 0.005];
        close(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_never_lowers(p in prop::collection::vec(0.0..1.0, 1..40)) {
            let holm = holm(&p);
            for at in 0..p.len() {
                prop_assert!(p[at] <= holm[at] && holm[at] <= 1.0);
                for other in 0..p.len() {
                    prop_assert!(p[at] > p[other] || holm[at] <= holm[other]);
                }
            }
        }
    }
}
