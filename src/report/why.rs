// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark why`: what the samples of a metric executed, by function.

use std::fmt::Write;

use super::style::Style;
use crate::base::text::plain;
use crate::stream::paths::{Function, Paths};

/// The functions of the most frequent path, and all paths.
#[must_use]
pub fn table(metric: &str, paths: &Paths, functions: &[Function], _style: &Style) -> String {
    let mut out = String::new();
    let samples: u64 = paths.modes.iter().map(|mode| mode.samples).sum();
    let Some(main) = paths.modes.first() else {
        return out;
    };
    let _ = writeln!(
        out,
        "{}: {} instructions in {} of {} samples\n",
        plain(metric),
        main.instructions(),
        main.samples,
        samples + paths.others.samples
    );
    let mut counted: Vec<_> = main.functions.iter().collect();
    counted
        .sort_by_key(|(function, count)| (std::cmp::Reverse(**count), &functions[**function].name));
    for (function, count) in counted {
        let _ = writeln!(out, "{count:>8}  {}", plain(&functions[*function].name));
    }
    for mode in &paths.modes {
        let _ = writeln!(out, "{} x {}", mode.samples, mode.instructions());
    }
    out
}
