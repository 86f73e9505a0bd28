// SPDX-License-Identifier: MIT OR Apache-2.0

//! A flame graph as part of a page, as wide as the page: each frame clips its own name, so that names
//! keep their size at any width.

use maud::{html, Markup};

use super::frame::At;
use crate::base::text::plain;
use crate::report::flame::{width, Flame};
use crate::trace::stacks::Frame;

/// The height of a frame in pixels, with the gap to the one above it.
const ROW: usize = 19;
/// A narrower frame, in per cent of the page, has no name.
const LEAST: f64 = 1.2;
/// A narrower frame would not be visible.
const NOTHING: f64 = 0.02;

/// The frames on each other, the outermost ones at the bottom, and what the colours mean.
pub(super) fn flame(flame: &Flame, metric: &str) -> Markup {
    let rows = 1 + flame.depth();
    let base = Place {
        x: 0.0,
        width: 100.0,
        row: rows - 1,
    };
    let scale = 100.0 / flame.width().max(1) as f64;
    html! {
        svg .flame width="100%" height=(rows * ROW) role="img" aria-label={ "Flame graph of " (plain(metric)) } {
            (one(&base, &flame.base_colour(), &plain(metric), &flame.base_tip(&plain(metric))))
            (frames(flame, &flame.frames, &base, scale))
        }
        ul .scale aria-label="Colours" {
            @for (colour, meaning) in &flame.legend {
                li { svg .swatch width="12" height="12" { rect width="12" height="12" rx="2" fill=(colour) {} } " " (meaning) }
            }
        }
    }
}

struct Place {
    /// The left edge and the width, in per cent.
    x: f64,
    width: f64,
    row: usize,
}

/// Frames and all above them, side by side from the left edge of their caller.
fn frames(flame: &Flame, frames: &[Frame], caller: &Place, scale: f64) -> Markup {
    let mut x = caller.x;
    let places: Vec<Place> = frames
        .iter()
        .map(|frame| {
            let place = Place {
                x,
                width: width(frame) as f64 * scale,
                row: caller.row - 1,
            };
            x += place.width;
            place
        })
        .collect();
    html! {
        @for (frame, place) in frames.iter().zip(&places) {
            @if place.width >= NOTHING {
                (one(place, &flame.colour(frame), &flame.label(frame).concat(), &flame.tip(frame)))
                (self::frames(flame, &frame.called, place, scale))
            }
        }
    }
}

fn one(place: &Place, colour: &str, name: &str, tip: &str) -> Markup {
    html! {
        svg x=(At(place.x)) y=(place.row * ROW) width=(At(place.width)) height=(ROW - 1) {
            title { (tip) }
            rect width="100%" height="100%" fill=(colour) {}
            @if place.width >= LEAST { text x="4" y="13" { (name) } }
        }
    }
}
