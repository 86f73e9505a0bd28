//! What was found of the noise of a machine, as text for people.

use std::fmt::Write;
use std::path::Path;

use super::terminal::{dim_head, head, Style, INDENT};
use super::text::{paragraph, plain};
use super::{compare::percent, plural};
use crate::compare::LEAST_MARGIN;
use crate::noise::Noise;
use crate::stats;

/// What was measured, where it is kept, what it says of the gate, and the floors above the least
/// margin, the highest first.
#[must_use]
pub fn table(noise: &Noise, path: &Path, style: &Style) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        let mut lines = String::new();
        paragraph(&mut lines, &head(label), &plain(text), style.width());
        out.push_str(&dim_head(&lines, *style));
    };
    let floors: Vec<f64> = noise.floors.values().copied().collect();
    let mut high: Vec<(&String, f64)> = noise
        .floors
        .iter()
        .map(|(id, floor)| (id, *floor))
        .collect();
    high.retain(|(_, floor)| *floor > LEAST_MARGIN);
    high.sort_by(|a, b| b.1.total_cmp(&a.1));
    let made = plural(noise.runs as u64, "run");
    line("target", &noise.target);
    line(
        "noise",
        &format!("{made} of {}", plural(floors.len() as u64, "metric")),
    );
    line("kept", &path.display().to_string());
    line("gate", &gate(noise));
    if let Some(median) = stats::median(&floors) {
        line(
            "floors",
            &format!(
                "the runs furthest apart differ by {} in the median over metrics; by more than \
                 the least margin of {} in {} of {}",
                percent(median),
                percent(LEAST_MARGIN),
                high.len(),
                floors.len()
            ),
        );
    }
    if !high.is_empty() {
        out.push_str("\nmargins that are wider from now on\n");
    }
    let longest = high.iter().map(|(id, _)| plain(id).chars().count()).max();
    for (id, floor) in high {
        let width = longest.unwrap_or(0).min(style.width().saturating_sub(14));
        let percent = floor * 100.0;
        let _ = writeln!(out, "{INDENT}{:<width$}  {percent:>6.2} %", plain(id));
    }
    out
}

/// How often unchanged runs would have been called changed.
fn gate(noise: &Noise) -> String {
    let share = (noise.most_alarms() * 100.0).ceil();
    format!(
        "{} in {} of unchanged runs; with 95 % confidence at most {share} % of such comparisons \
         raise one",
        plural(noise.alarms as u64, "false alarm"),
        plural(noise.comparisons as u64, "comparison")
    )
}
