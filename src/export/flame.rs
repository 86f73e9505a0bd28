// SPDX-License-Identifier: MIT OR Apache-2.0

//! Flame graphs in SVG, without a script: of a path, and of what differs between two paths.
//!
//! A frame is as wide as its instructions and stands on its caller. Siblings are in the order in
//! which they first ran. Pointing at a frame shows its figures.

use std::fmt::Write;

use super::{xml, PathFormat, CREATOR};
use crate::base::text::plain;
use crate::report::flame::{compared, width, Flame};
use crate::trace::stacks::Frame;
use crate::trace::tree::CallTree;

/// The format.
pub static FORMAT: PathFormat = PathFormat {
    name: "flame",
    about: "a flame graph in SVG, for browsers",
    leaves_out: "sources, the order of repeated calls and all counts but instructions",
    write,
    difference: Some(difference),
};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
/// The height of the title and the line below it.
const TOP: f64 = 62.0;
/// From the left edge of a colour in the legend to its meaning.
const SWATCH: f64 = 17.0;
const ROW: f64 = 19.0;
const FONT: f64 = 12.0;
/// The size of the title.
const LARGE: f64 = 16.0;
/// The width of a character in the widest of the usual fonts of fixed width.
const ADVANCE: f64 = 0.61 * FONT;
/// The space between the edge of a frame and its text.
const PADDING: f64 = 4.0;
/// The shortest text that is worth showing, in characters.
const SHORTEST: usize = 3;

/// What a picture shows.
struct Picture<'a> {
    title: String,
    about: String,
    flame: Flame<'a>,
}

/// A flame graph of a path.
fn write(tree: &CallTree) -> String {
    let picture = Picture {
        title: titled(tree),
        about: tree.sentence(),
        flame: Flame::of(tree),
    };
    picture.draw(tree.metric)
}

/// A flame graph of two paths.
fn difference(before: &CallTree, after: &CallTree) -> String {
    let flame = Flame::between(before, after);
    let picture = Picture {
        title: if before.metric == after.metric {
            before.metric.to_owned()
        } else {
            format!("{}, {}", before.metric, after.metric)
        },
        about: format!(
            "{} instructions; from {} to {}",
            compared(flame.total),
            before.target,
            after.target
        ),
        flame,
    };
    picture.draw(after.metric)
}

fn titled(tree: &CallTree) -> String {
    match tree.target {
        "" => tree.metric.to_owned(),
        target => format!("{} on {target}", tree.metric),
    }
}

/// Where a frame is drawn.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
}

impl Picture<'_> {
    fn draw(&self, metric: &str) -> String {
        let rows = 1 + self.flame.depth();
        let bottom = TOP + rows as f64 * ROW;
        let height = bottom + self.legend_lines() as f64 * ROW + 15.0;
        let mut out = self.head(height);
        let scale = (WIDTH - 2.0 * MARGIN) / self.flame.width().max(1) as f64;
        let base = Place {
            x: MARGIN,
            y: bottom - ROW,
            width: WIDTH - 2.0 * MARGIN,
        };
        let colour = self.flame.base_colour();
        let tip = self.flame.base_tip(metric);
        write_frame(&mut out, base, &colour, [metric, ""], &tip);
        self.row(&mut out, base, &self.flame.frames, scale);
        self.write_legend(&mut out, bottom);
        out.push_str("</svg>\n");
        out
    }

    fn head(&self, height: f64) -> String {
        let (title, about) = (xml(&self.title), xml(&self.about));
        let line = |text: &str, font: f64| {
            let room = (WIDTH - 2.0 * MARGIN) / (ADVANCE / FONT * font);
            xml(&fitted(&plain(text), room as usize).unwrap_or_default())
        };
        let (first, second) = (line(&self.title, LARGE), line(&self.about, FONT));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kernmark-flame\" role=\"img\" \
             viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-size=\"{FONT}\" font-family=\"ui-monospace, 'SFMono-Regular', Menlo, 'DejaVu \
             Sans Mono', Consolas, monospace\">\n\
             <title>{title}: {about}</title>\n\
             <desc>{CREATOR}</desc>\n\
             <style>\n\
             .kernmark-flame .back {{ fill: #ffffff }}\n\
             .kernmark-flame .strong {{ fill: #16181d }}\n\
             .kernmark-flame .weak {{ fill: #596069 }}\n\
             .kernmark-flame .name {{ fill: #16181d; pointer-events: none }}\n\
             .kernmark-flame g:hover rect {{ stroke: #16181d }}\n\
             @media (prefers-color-scheme: dark) {{\n\
             .kernmark-flame .back {{ fill: #16181d }}\n\
             .kernmark-flame .strong {{ fill: #ffffff }}\n\
             .kernmark-flame .weak {{ fill: #a3a9b4 }}\n\
             .kernmark-flame g:hover rect {{ stroke: #ffffff }}\n\
             }}\n\
             </style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>\n\
             <text class=\"strong\" x=\"{MARGIN}\" y=\"26\" font-size=\"{LARGE}\" \
             font-weight=\"bold\">{first}</text>\n\
             <text class=\"weak\" x=\"{MARGIN}\" y=\"46\">{second}</text>\n"
        )
    }

    /// Draws frames and all above them, side by side from the left edge of their caller.
    fn row(&self, out: &mut String, caller: Place, frames: &[Frame], scale: f64) {
        let mut x = caller.x;
        for frame in frames {
            let place = Place {
                x,
                y: caller.y - ROW,
                width: width(frame) as f64 * scale,
            };
            let [name, suffix] = self.flame.label(frame);
            let (colour, tip) = (self.flame.colour(frame), self.flame.tip(frame));
            write_frame(out, place, &colour, [&name, &suffix], &tip);
            self.row(out, place, &frame.called, scale);
            x += place.width;
        }
    }

    /// Writes the legend below `y`, in as many lines as [`Self::legend_lines`] says.
    fn write_legend(&self, out: &mut String, y: f64) {
        for ((x, line), (colour, text)) in self.legend_places().zip(&self.flame.legend) {
            let y = y + 22.0 + line as f64 * ROW;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\
                 <text class=\"weak\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                y - 10.0,
                colour,
                x + SWATCH,
                xml(text)
            );
        }
    }

    fn legend_lines(&self) -> usize {
        self.legend_places().last().map_or(0, |(_, line)| line + 1)
    }

    /// Where the entries of the legend stand: from left to right, then on the next line.
    fn legend_places(&self) -> impl Iterator<Item = (f64, usize)> + '_ {
        let (mut next, mut line) = (MARGIN, 0);
        self.flame.legend.iter().map(move |(_, text)| {
            let width = SWATCH + columns(text) as f64 * ADVANCE;
            if next > MARGIN && next + width > WIDTH - MARGIN {
                next = MARGIN;
                line += 1;
            }
            let x = next;
            next += width + 24.0;
            (x, line)
        })
    }
}

/// Draws a frame. Of its label, the name is shortened and the suffix is not.
fn write_frame(out: &mut String, place: Place, colour: &str, [name, suffix]: [&str; 2], tip: &str) {
    let Place { x, y, width } = place;
    let tip: Vec<String> = tip.lines().map(xml).collect();
    let _ = write!(
        out,
        "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.1}\" \
         rx=\"2\" fill=\"{}\"/>",
        tip.join("\n"),
        // A gap between neighbours, unless they are too narrow for one.
        if width > 3.0 { width - 0.6 } else { width },
        ROW - 1.0,
        colour
    );
    let room = ((width - 2.0 * PADDING) / ADVANCE).floor() as usize;
    let text = match fitted(name, room.saturating_sub(columns(suffix))) {
        Some(name) => name + suffix,
        None if columns(suffix.trim()) <= room => suffix.trim().to_owned(),
        None => String::new(),
    };
    if !text.is_empty() {
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{:.2}\" y=\"{:.1}\">{}</text>",
            x + PADDING,
            y + 13.0,
            xml(&text)
        );
    }
    out.push_str("</g>\n");
}

/// The text, shortened to `room` columns; `None` if too little would remain.
fn fitted(text: &str, room: usize) -> Option<String> {
    if columns(text) <= room {
        return (!text.trim().is_empty()).then(|| text.to_owned());
    }
    let mut short = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += column(c);
        if used > room {
            break;
        }
        short.push(c);
    }
    (short.chars().count() >= SHORTEST).then(|| short + "\u{2026}")
}

fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

/// The columns of a character: 2 for those of East Asian scripts and symbols, which are wide.
fn column(c: char) -> usize {
    if c < '\u{1100}' {
        1
    } else {
        2
    }
}
