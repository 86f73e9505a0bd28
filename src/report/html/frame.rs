// SPDX-License-Identifier: MIT OR Apache-2.0

//! The frame of every page: head, style, script, navigation, tiles, warnings, tables, and the axes
//! of its pictures.
//!
//! To add a page: make a file in this folder with a function that fills a [`Page`] and returns
//! [`Page::render`]. Each [`Section`] gets a heading and a link in the navigation. Rules:
//!
//! - All text of people and streams goes through [`text`] or [`id`], never through `PreEscaped`.
//! - No `style` attribute and no script in the body: the page's policy forbids both. Colours come
//!   from the classes of `style.css`.
//! - A picture is as wide as the page: `svg width="100%"` without a `viewBox`, horizontal positions
//!   in per cent ([`Axis::at`]), vertical ones in pixels. So letters keep their size at any width.
//! - Write `line {}`, not `line;`: an element of SVG needs its end tag.
//! - What a link opens has its id inside the `details`, not on it. Browsers then open the `details`
//!   without a script.

use std::fmt::{self, Write};

use maud::{html, Markup, PreEscaped, DOCTYPE};
use sha2::{Digest, Sha256};

use crate::base::text::plain;

/// A page: one file without references to others, which is readable without scripts.
#[derive(Debug, Default)]
pub struct Page {
    /// The title, not yet safe to show.
    pub title: String,
    /// The line below the title: its parts, not yet safe to show.
    pub lead: Vec<String>,
    /// The figures that matter most.
    pub tiles: Vec<Tile>,
    /// What spoils figures or verdicts, as sentences; not yet safe to show.
    pub warnings: Vec<String>,
    /// The parts of the page.
    pub sections: Vec<Section>,
    /// In a site, where the link to its first page leads.
    pub home: Option<&'static str>,
}

/// A figure with its name.
#[derive(Debug)]
pub struct Tile {
    /// The figure, not yet safe to show.
    pub figure: String,
    /// What it is, not yet safe to show.
    pub name: String,
}

/// A part of a page.
#[derive(Debug)]
pub struct Section {
    /// Its id in the page. Ids that start with `m-` belong to metrics ([`anchor`]).
    pub id: &'static str,
    /// Its name in the navigation.
    pub name: &'static str,
    /// Its heading, not yet safe to show.
    pub title: String,
    /// How to read it, beside the heading; not yet safe to show.
    pub remark: String,
    /// Its contents.
    pub body: Markup,
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Page {
    /// The page as HTML.
    #[must_use]
    pub fn render(&self) -> String {
        let [style, script] = [STYLE, SCRIPT].map(without_licence);
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; \
             form-action 'none'",
            hash(style),
            hash(script)
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width,initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="generator" content="kernmark";
                    title { (text(&self.title)) }
                    style { (PreEscaped(style)) }
                }
                body {
                    nav aria-label="Parts of this page" {
                        div {
                            @if let Some(home) = self.home { a href=(home) { "All runs" } }
                            a href="#top" { "Top" }
                            @for section in &self.sections {
                                a href={ "#" (section.id) } { (section.name) }
                            }
                        }
                    }
                    main id="top" {
                        h1 { (text(&self.title)) }
                        @if !self.lead.is_empty() {
                            p .mut { (text(&self.lead.join(" \u{b7} "))) }
                        }
                        (tiles(&self.tiles))
                        @for warning in &self.warnings { (warning_box(warning)) }
                        @for section in &self.sections { (section.render()) }
                    }
                    script { (PreEscaped(script)) }
                }
            }
        };
        page.into_string() + "\n"
    }
}

impl Section {
    fn render(&self) -> Markup {
        html! {
            section {
                h2 id=(self.id) {
                    (text(&self.title))
                    @if !self.remark.is_empty() { " " small { (text(&self.remark)) } }
                }
                (self.body)
            }
        }
    }
}

/// The file without its first line, which names its licence.
fn without_licence(file: &'static str) -> &'static str {
    file.split_once('\n').map_or(file, |(_, rest)| rest).trim()
}

/// The source expression of an inline text in a content security policy (CSP 3, section 2.3.1).
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize % 64];
            let is_padding = at > chunk.len();
            out.push(if is_padding { '=' } else { char::from(digit) });
        }
    }
    out
}

/// A text of people or of a stream. What could steer a terminal or the direction of writing is
/// written as `\u{202e}`, as in all reports.
#[must_use]
pub fn text(text: &str) -> Markup {
    html! { (plain(text)) }
}

/// The id of a metric, which may be wrapped after each dot.
#[must_use]
pub fn id(id: &str) -> Markup {
    let id = plain(id);
    html! {
        @for (index, part) in id.split_inclusive(['.', '/']).enumerate() {
            @if index > 0 { wbr; }
            (part)
        }
    }
}

/// The anchor of a metric's part of the page. Different ids have different anchors.
#[must_use]
pub fn anchor(id: &str) -> String {
    let mut out = String::from("m-");
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'+' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "~{other:02x}");
            }
        }
    }
    out
}

/// Figures side by side.
#[must_use]
pub fn tiles(tiles: &[Tile]) -> Markup {
    html! {
        @if !tiles.is_empty() {
            div .tiles {
                @for tile in tiles {
                    div .tile { b { (text(&tile.figure)) } " " span { (text(&tile.name)) } }
                }
            }
        }
    }
}

/// A sentence that a reader must not miss.
#[must_use]
pub fn warning_box(sentence: &str) -> Markup {
    html! { div .warn role="note" { (text(sentence)) } }
}

/// Labels with their texts, not yet safe to show. Labels are short.
#[must_use]
pub fn facts<L: AsRef<str>, T: AsRef<str>>(facts: &[(L, T)]) -> Markup {
    html! {
        dl {
            @for (label, value) in facts {
                dt { (text(label.as_ref())) }
                dd { (text(value.as_ref())) }
            }
        }
    }
}

/// The field that filters everything with the attribute `data-id`. It needs the script and is hidden
/// without.
#[must_use]
pub fn filter_field() -> Markup {
    html! {
        div .js {
            input #q type="search" placeholder="filter, such as: mutex lock" aria-label="filter metrics" autocomplete="off";
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Whether the script may sort by it. Its cells are then sorted by their attribute `data-v`, or by
    /// their text.
    pub sorts: bool,
    /// Whether it is left out on a narrow screen.
    pub is_optional: bool,
}

/// The head of a table.
#[must_use]
pub fn table_head(columns: &[Column]) -> Markup {
    html! {
        thead {
            tr {
                @for column in columns {
                    th class=[column.is_optional.then_some("o")] data-sort=[column.sorts.then_some("1")] scope="col" { (column.title) }
                }
            }
        }
    }
}

/// A horizontal position: per cent of the picture's width.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct At(pub f64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let (whole, rest) = (hundredths / 100, hundredths.abs() % 100);
        let sign = if hundredths < 0 && whole == 0 {
            "-"
        } else {
            ""
        };
        match rest {
            0 => write!(f, "{sign}{whole}%"),
            _ if rest % 10 == 0 => write!(f, "{sign}{whole}.{}%", rest / 10),
            _ => write!(f, "{sign}{whole}.{rest:02}%"),
        }
    }
}

impl maud::Render for At {
    fn render_to(&self, buffer: &mut String) {
        let _ = write!(buffer, "{self}");
    }
}

/// How an axis places values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// A horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
}

/// A labelled value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its place.
    pub at: At,
    /// Its label.
    pub label: String,
    /// Whether a narrow screen has no room for the label.
    pub is_optional: bool,
}

/// The widths, in pixels, at which labels must not collide: of a plot on a wide and on a narrow screen.
const WIDE: f64 = 560.0;
const NARROW: f64 = 270.0;
/// The width of a letter of a label and the gap between labels, in pixels.
const LETTER: f64 = 6.6;
const BETWEEN: f64 = 10.0;

impl Axis {
    /// An axis from one value to another. A logarithmic axis starts above 0.
    #[must_use]
    pub fn new(scale: Scale, low: f64, high: f64) -> Self {
        let low = match scale {
            Scale::Linear => low,
            Scale::Log => low.max(f64::MIN_POSITIVE),
        };
        let is_empty = high.partial_cmp(&low) != Some(std::cmp::Ordering::Greater);
        // A single value stands in the middle.
        let (low, high) = match scale {
            _ if !is_empty => (low, high),
            Scale::Linear => (low - 1.0, low + 1.0),
            Scale::Log => (low / 1.1, low * 1.1),
        };
        Axis { low, high, scale }
    }

    fn place(self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    /// The place of a value. Values outside are at the ends.
    #[must_use]
    pub fn at(self, value: f64) -> At {
        let (low, high) = (self.place(self.low), self.place(self.high));
        At(((self.place(value) - low) / (high - low)).clamp(0.0, 1.0) * 100.0)
    }

    /// The value at a place.
    #[must_use]
    pub fn value(self, at: At) -> f64 {
        let (low, high) = (self.place(self.low), self.place(self.high));
        let place = low + (high - low) * at.0 / 100.0;
        match self.scale {
            Scale::Linear => place,
            Scale::Log => place.exp(),
        }
    }

    /// Round values of the axis: powers of ten, with 2 and 5 between them if there is room; or equal
    /// steps, if the axis is linear or covers less than a power of ten.
    #[must_use]
    pub fn round_values(self) -> Vec<f64> {
        let decades = (self.high / self.low.max(f64::MIN_POSITIVE)).log10();
        if self.scale == Scale::Linear || decades < 0.8 {
            return self.steps();
        }
        let exponents = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let of = |digit: f64| exponents.clone().map(move |e| digit * 10f64.powi(e));
        let mut values: Vec<f64> = of(1.0).collect();
        if decades < 3.0 {
            values.extend(of(5.0));
            values.extend(of(2.0));
        }
        values.retain(|value| (self.low..=self.high).contains(value));
        values
    }

    /// About five equal steps of 1, 2 or 5 times a power of ten.
    fn steps(self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|digit| digit * power)
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = (last - first).clamp(0.0, 20.0) as u32;
        (0..=count)
            .map(|at| (first + f64::from(at)) * step)
            .collect()
    }

    /// The labelled values: those whose labels do not collide with the label of an earlier one.
    #[must_use]
    pub fn ticks(self, values: &[f64], label: impl Fn(f64) -> String) -> Vec<Tick> {
        let mut kept: Vec<Tick> = Vec::new();
        for value in values {
            let (at, label) = (self.at(*value), label(*value));
            let collides = |width: f64, other: &Tick| {
                let letters = (other.label.chars().count() + label.chars().count()) as f64;
                let room = letters / 2.0 * LETTER + BETWEEN;
                (other.at.0 - at.0).abs() / 100.0 * width < room
            };
            if kept.iter().any(|other| collides(WIDE, other)) {
                continue;
            }
            let mut always = kept.iter().filter(|other| !other.is_optional);
            let is_optional = always.any(|other| collides(NARROW, other));
            kept.push(Tick {
                at,
                label,
                is_optional,
            });
        }
        kept
    }
}

/// The labels of an axis, to be drawn into an `svg` at this height (the base line of the letters).
/// At the edges of a picture they grow inwards.
#[must_use]
pub fn tick_labels(ticks: &[Tick], y: u32) -> Markup {
    let classes = |tick: &Tick| {
        let edge = match tick.at.0 {
            at if at < 6.0 => "s",
            at if at > 94.0 => "e",
            _ => "",
        };
        let optional = if tick.is_optional { "w" } else { "" };
        let classes = format!("{edge} {optional}");
        Some(classes.trim().to_owned()).filter(|classes| !classes.is_empty())
    };
    html! {
        @for tick in ticks {
            text class=[classes(tick)] x=(tick.at) y=(y) { (plain(&tick.label)) }
        }
    }
}

/// A drawing in a box of 1000 by 100 that fills the picture's width, at this height.
#[must_use]
pub fn stretched(y: u32, height: u32, drawing: &Markup) -> Markup {
    html! {
        svg y=(y) width="100%" height=(height) viewBox="0 0 1000 100" preserveAspectRatio="none" {
            (drawing)
        }
    }
}

/// The vertical lines of an axis, to be drawn into an `svg` that is this high, in pixels.
#[must_use]
pub fn grid(ticks: &[Tick], height: u32) -> Markup {
    html! {
        @for tick in ticks {
            line class=(if tick.is_optional { "g w" } else { "g" }) x1=(tick.at) x2=(tick.at) y2=(height) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (bytes, digits) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), digits);
        }
    }

    #[test]
    fn anchors_are_words_and_differ() {
        assert_eq!(anchor("mutex.lock+ctx.u_to_u"), "m-mutex.lock+ctx.u_to_u");
        assert_eq!(anchor("a b~20<\u{e9}"), "m-a~20b~7e20~3c~c3~a9");
    }

    #[test]
    fn positions_are_short() {
        for (at, text) in [
            (0.0, "0%"),
            (12.345, "12.35%"),
            (50.0, "50%"),
            (99.999, "100%"),
            (7.1, "7.1%"),
            (3.04, "3.04%"),
            (-0.5, "-0.5%"),
        ] {
            assert_eq!(At(at).to_string(), text);
        }
    }

    #[test]
    fn axes_place_round_values() {
        let axis = Axis::new(Scale::Log, 1.0, 1e4);
        assert_eq!(axis.at(100.0), At(50.0));
        assert_eq!(axis.at(0.0), At(0.0));
        assert!((axis.value(At(75.0)) - 1000.0).abs() < 1e-9);
        assert_eq!(axis.round_values().len(), 5);
        assert_eq!(
            Axis::new(Scale::Linear, 0.0, 10.0).round_values(),
            [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        );
        let narrow = Axis::new(Scale::Log, 30.0, 40.0).round_values();
        assert_eq!(narrow, [30.0, 32.0, 34.0, 36.0, 38.0, 40.0]);
        assert_eq!(Axis::new(Scale::Log, 5.0, 5.0).at(5.0).to_string(), "50%");
    }

    #[test]
    fn labels_never_collide() {
        let axis = Axis::new(Scale::Log, 1.0, 1e9);
        let ticks = axis.ticks(&axis.round_values(), |value| format!("{value} ns"));
        for (width, is_shown) in [(WIDE, true), (NARROW, false)] {
            let shown: Vec<&Tick> = ticks
                .iter()
                .filter(|tick| is_shown || !tick.is_optional)
                .collect();
            assert!(shown.len() > 2);
            for pair in shown.windows(2) {
                let letters = (pair[0].label.len() + pair[1].label.len()) as f64 / 2.0;
                let distance = (pair[1].at.0 - pair[0].at.0) / 100.0 * width;
                assert!(distance >= letters * LETTER, "{pair:?}");
            }
        }
    }
}
