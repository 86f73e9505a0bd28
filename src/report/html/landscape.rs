// SPDX-License-Identifier: MIT OR Apache-2.0

//! The landscape: the cost of every metric on one logarithmic axis, a row for each object.

use maud::{html, Markup};

use super::distribution::{axis_label, figure};
use super::frame::{self, anchor, Axis, Scale};
use crate::base::text::plain;
use crate::judge::quantity::Quantity;
use crate::judge::summary::Summary;
use crate::report::{grouped, object};
use crate::statistics::order;

/// The height of a row, in pixels.
const ROW: u32 = 20;

/// A metric in the landscape.
struct Dot<'a> {
    summary: &'a Summary,
    /// The median and the 99th percentile, or the worst sample without one; in nanoseconds or ticks.
    median: f64,
    tail: Option<f64>,
}

impl<'a> Dot<'a> {
    fn of(summary: &'a Summary) -> Option<Self> {
        let shown = |ticks: f64| summary.nanoseconds(ticks).unwrap_or(ticks);
        let median = summary.median.map(shown).filter(|median| *median > 0.0)?;
        let tail = summary.percentile_value(Quantity::P99).or(summary.max);
        Some(Dot {
            summary,
            median,
            tail: tail.map(shown),
        })
    }
}

/// The landscape of metrics that have a value above 0, all in the same unit. `None` if there are
/// none.
pub(super) fn landscape(summaries: &[&Summary], number: usize) -> Option<Markup> {
    let dots: Vec<Dot> = summaries.iter().filter_map(|one| Dot::of(one)).collect();
    let ends = dots
        .iter()
        .flat_map(|dot| [dot.median, dot.tail.unwrap_or(dot.median)]);
    let low = ends.clone().reduce(f64::min)?;
    let high = ends.reduce(f64::max)?;
    let is_time = dots[0].summary.nanoseconds(1.0).is_some();
    let axis = Axis::new(Scale::Log, low / 1.3, high * 1.3);
    let ticks = axis.ticks(&axis.round_values(), |value| axis_label(is_time, value));
    let mut rows = grouped(&dots, |dot| object(&dot.summary.id).to_owned());
    let middle = |row: &(String, Vec<&Dot>)| {
        let medians: Vec<f64> = row.1.iter().map(|dot| dot.median).collect();
        order::median(&medians).unwrap_or(0.0)
    };
    rows.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let grid = format!("grid{number}");
    let scale = html! { div .row { span {} svg width="100%" height="16" { (frame::tick_labels(&ticks, 11)) } } };
    Some(html! {
        div .rows {
            div .row {
                span {}
                svg width="100%" height="16" {
                    defs { g id=(grid) { (frame::grid(&ticks, ROW)) } }
                    (frame::tick_labels(&ticks, 11))
                }
            }
            @for (name, dots) in &rows {
                div .row {
                    span { @if name.is_empty() { "others" } @else { (plain(name)) } }
                    svg width="100%" height=(ROW) {
                        use href={ "#" (grid) } {}
                        @for dot in dots { (draw(dot, axis)) }
                    }
                }
            }
            (scale)
        }
    })
}

fn draw(dot: &Dot, axis: Axis) -> Markup {
    let summary = dot.summary;
    let at = axis.at(dot.median);
    let is_idiom = summary.entry.as_ref().is_some_and(|entry| entry.idiom);
    let of = |name: &str, value: Option<f64>| {
        value.map_or_else(String::new, |value| {
            format!(", {name} {}", figure(summary, value))
        })
    };
    let title = format!(
        "{}: {}{}{}",
        plain(&summary.id),
        figure(summary, summary.median.unwrap_or(0.0)),
        of("p99", summary.percentile_value(Quantity::P99)),
        of("worst", summary.max)
    );
    html! {
        a href={ "#" (anchor(&summary.id)) } {
            title { (title) }
            @if let Some(tail) = dot.tail {
                line .t x1=(at) x2=(axis.at(tail)) y1="10" y2="10" {}
            }
            circle class=(if is_idiom { "i" } else { "d" }) cx=(at) cy="10" r="3.6" {}
        }
    }
}
