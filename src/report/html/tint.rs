// SPDX-License-Identifier: MIT OR Apache-2.0

//! The colours of ratios: orange for more, blue for less, in steps of a logarithmic scale. The
//! colours are translucent, so that text is readable on them in light and in dark. People who
//! confuse red with green tell orange from blue.

use maud::{html, Markup};

/// Where a step begins: a ratio, or its reciprocal.
const STEPS: [f64; 6] = [1.0, 1.05, 1.2, 1.5, 2.0, 4.0];

/// The class of a cell whose value is `ratio` times the first; `None` for an equal one.
pub(super) fn class(ratio: f64) -> Option<&'static str> {
    const MORE: [&str; 6] = ["w0", "w1", "w2", "w3", "w4", "w5"];
    const LESS: [&str; 6] = ["b0", "b1", "b2", "b3", "b4", "b5"];
    // Zero is infinitely less than anything.
    let size = ratio.ln().abs();
    if ratio.is_nan() || size == 0.0 {
        return None;
    }
    let step = STEPS.iter().rposition(|step| size >= step.ln())?;
    Some(if ratio > 1.0 { MORE[step] } else { LESS[step] })
}

/// What the colours mean, and whether some of them are hatched.
pub(super) fn legend(is_hatched: bool) -> Markup {
    let less = [
        ("b5", "\u{f7}4 and down"),
        ("b4", "\u{f7}2"),
        ("b3", "\u{2212}33 %"),
        ("b2", "\u{2212}17 %"),
        ("b1", "\u{2212}5 %"),
        ("b0", "less"),
    ];
    let more = [
        ("w0", "more"),
        ("w1", "+5 %"),
        ("w2", "+20 %"),
        ("w3", "+50 %"),
        ("w4", "\u{d7}2"),
        ("w5", "\u{d7}4 and up"),
    ];
    html! {
        ul.scale aria-label="Colours" {
            @for (class, text) in less { li class=(class) { (text) } }
            li { "=" }
            @for (class, text) in more { li class=(class) { (text) } }
            @if is_hatched { li .w2.u { "hatched: intervals overlap" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_symmetrical_on_a_logarithmic_scale() {
        for (ratio, more, less) in [
            (1.001, "w0", "b0"),
            (1.06, "w1", "b1"),
            (1.3, "w2", "b2"),
            (1.6, "w3", "b3"),
            (2.1, "w4", "b4"),
            (1000.0, "w5", "b5"),
            (f64::INFINITY, "w5", "b5"),
        ] {
            assert_eq!(class(ratio), Some(more));
            assert_eq!(class(1.0 / ratio), Some(less));
        }
        assert_eq!(class(1.0), None);
        assert_eq!(class(f64::NAN), None);
    }
}
