// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark noise`: the noise of a machine in, text out.

use std::fmt::Write;
use std::path::Path;

use super::compare::percent;
use super::style::{write_labelled, Style, INDENT};
use crate::base::number::plural;
use crate::base::text::plain;
use crate::judge::noise::Noise;
use crate::judge::quantity::Quantity;
use crate::statistics::order;

/// What was measured, where it is saved, the rate of false alarms at the gate, and the noise floors
/// above the default margins, the highest first.
#[must_use]
pub fn table(noise: &Noise, path: &Path, style: &Style) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        write_labelled(&mut out, label, text, *style);
    };
    let floors: Vec<(&String, Quantity, f64)> = noise
        .floors
        .iter()
        .flat_map(|(id, of_metric)| {
            Quantity::ALL
                .into_iter()
                .filter_map(move |one| Some((id, one, *of_metric.get(one.key())?)))
        })
        .collect();
    let mut high = floors.clone();
    high.retain(|(_, quantity, floor)| *floor > quantity.default_margin());
    high.sort_by(|a, b| b.2.total_cmp(&a.2));
    let runs = plural(noise.runs as u64, "run");
    line("target", &noise.target);
    line(
        "noise",
        &format!("{runs} of {}", plural(noise.floors.len() as u64, "metric")),
    );
    line("saved", &path.display().to_string());
    line("gate", &gate(noise));
    let summaries = Quantity::ALL.into_iter().filter_map(|quantity| {
        let of = floors.iter().filter(|(_, one, _)| *one == quantity);
        let floors: Vec<f64> = of.map(|(_, _, floor)| *floor).collect();
        let margin = quantity.default_margin();
        let wide = floors.iter().filter(|floor| **floor > margin).count();
        Some(format!(
            "{} {} ({wide} of {} above the margin of {})",
            quantity.name(),
            percent(order::median(&floors)?),
            floors.len(),
            percent(margin),
        ))
    });
    let summaries: Vec<String> = summaries.collect();
    if !summaries.is_empty() {
        line(
            "floors",
            &format!("median over metrics: {}", summaries.join(", ")),
        );
    }
    if !high.is_empty() {
        out.push_str("\nwider margins from now on\n");
    }
    let shown = |id: &str, quantity: Quantity| format!("{} {}", plain(id), quantity.name());
    let longest = high
        .iter()
        .map(|(id, quantity, _)| shown(id, *quantity).chars().count())
        .max();
    for (id, quantity, floor) in high {
        let width = longest.unwrap_or(0).min(style.width().saturating_sub(14));
        let percent = floor * 100.0;
        let _ = writeln!(
            out,
            "{INDENT}{:<width$}  {percent:>6.2} %",
            shown(id, quantity)
        );
    }
    out
}

/// How often the gate would report a change between unchanged runs.
fn gate(noise: &Noise) -> String {
    let share = (noise.max_alarm_rate() * 100.0).ceil();
    format!(
        "{} in {} of unchanged runs; with 95 % confidence at most {share} % of such comparisons \
         raise one",
        plural(noise.alarms as u64, "false alarm"),
        plural(noise.comparisons as u64, "comparison")
    )
}
