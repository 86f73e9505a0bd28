// SPDX-License-Identifier: MIT OR Apache-2.0

//! P values adjusted for multiple testing.

/// Holm's adjusted p values (S. Holm, *Scandinavian Journal of Statistics* 6, 1979), in the order of
/// `p`. Rejecting those at or below a level keeps the probability of any false rejection at most at
/// that level, however the tests depend on each other.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn adjusted_p_values_match_hand_calculation() {
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
        fn adjustment_keeps_order_and_never_lowers(p in prop::collection::vec(0.0..1.0, 1..40)) {
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
