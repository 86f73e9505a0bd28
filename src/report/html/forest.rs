// SPDX-License-Identifier: MIT OR Apache-2.0

//! A forest plot: the change of each metric with its interval, and the margin as a band.

use maud::{html, Markup};

use super::frame::{self, anchor, id, At, Axis, Scale, Tick};
use crate::base::number::change;
use crate::judge::compare::{Compared, Judged};
use crate::judge::quantity::Quantity;

/// The height of a row, in pixels.
const ROW: u32 = 22;
/// Changes beyond this ratio are drawn at the edge.
const MOST: f64 = 32.0;

/// Changes at which an axis may have a label, the most important first, in per cent.
const CHANGES: [f64; 23] = [
    0.0, 100.0, -50.0, 10.0, -10.0, 20.0, -20.0, 50.0, -30.0, 30.0, -40.0, 200.0, -70.0, 5.0, -5.0,
    2.0, -2.0, 1.0, -1.0, 400.0, -80.0, 900.0, -90.0,
];

/// The changes of metrics, a row each. Metrics without a ratio are left out; `None` if there is none
/// with one. `name` is unique in the page.
pub(super) fn forest(metrics: &[&Compared], name: &str) -> Option<Markup> {
    let known: Vec<(&Compared, &Judged, f64)> = metrics
        .iter()
        .filter_map(|metric| {
            let judged = metric.decisive()?;
            Some((
                *metric,
                judged,
                judged
                    .ratio
                    .filter(|ratio| ratio.is_finite() && *ratio > 0.0)?,
            ))
        })
        .collect();
    if known.is_empty() {
        return None;
    }
    let of = |(_, judged, ratio): &(&Compared, &Judged, f64)| {
        let (low, high) = judged.interval.unwrap_or((*ratio, *ratio));
        let margin = 1.0 + judged.margin.unwrap_or(0.0);
        let (low, high) = (low.max(1.0 / MOST), high.min(MOST));
        (
            low.min(*ratio).min(1.0 / margin),
            high.max(*ratio).max(margin),
        )
    };
    let ends = known.iter().map(of);
    let (low, high) = ends.fold((1.0f64, 1.0f64), |(low, high), (one, other)| {
        (low.min(one), high.max(other))
    });
    let (low, high) = (low.max(1.0 / MOST), high.min(MOST));
    // Room for a dot at the edge, and for 1 % on each side of no change.
    let room = (high / low).powf(0.04).max(1.01);
    let axis = Axis::new(Scale::Log, low / room, high * room);
    let ratios: Vec<f64> = CHANGES
        .into_iter()
        .map(|percent| 1.0 + percent / 100.0)
        .filter(|ratio| (low / room..=high * room).contains(ratio))
        .collect();
    let ticks = axis.ticks(&ratios, |ratio| match (ratio - 1.0) * 100.0 {
        percent if percent.abs() < 1e-9 => "0".to_owned(),
        percent => format!("{percent:+.0} %"),
    });
    let grid = format!("grid-{name}");
    Some(html! {
        div .rows.forest {
            (scale(&ticks, Some(&grid)))
            @for (metric, judged, ratio) in &known { (row(metric, judged, *ratio, axis, &grid)) }
            (scale(&ticks, None))
        }
    })
}

/// The labels of the axis; with the definition of its lines, which the rows use.
fn scale(ticks: &[Tick], grid: Option<&str>) -> Markup {
    html! {
        div .row {
            span {}
            svg width="100%" height="16" {
                @if let Some(grid) = grid { defs { g id=(grid) { (frame::grid(ticks, ROW)) } } }
                (frame::tick_labels(ticks, 11))
            }
            span {}
        }
    }
}

fn row(metric: &Compared, judged: &Judged, ratio: f64, axis: Axis, grid: &str) -> Markup {
    let at = axis.at(ratio);
    let text = change((ratio - 1.0) * 100.0);
    let (low, high) = judged.interval.unwrap_or((ratio, ratio));
    let (low, high) = (axis.at(low), axis.at(high));
    let one = axis.at(1.0);
    html! {
        div .row .(metric.verdict.name()) {
            a href={ "#" (anchor(&metric.id)) } {
                span .id { (id(&metric.id)) }
                @if metric.quantity != Quantity::P50 { " " (metric.quantity.name()) }
            }
            svg width="100%" height=(ROW) {
                use href={ "#" (grid) } {}
                @if let Some(margin) = judged.margin {
                    @let (from, to) = (axis.at(1.0 / (1.0 + margin)), axis.at(1.0 + margin));
                    rect .band x=(from) width=(At(to.0 - from.0)) height=(ROW) {}
                }
                line .k x1=(one) x2=(one) y2=(ROW) {}
                line .c x1=(low) x2=(high) y1=(ROW / 2) y2=(ROW / 2) {}
                circle .c cx=(at) cy=(ROW / 2) r="4" {}
            }
            b { (text) }
        }
    }
}
