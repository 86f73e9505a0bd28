// SPDX-License-Identifier: MIT OR Apache-2.0

//! Flame graphs in SVG, without a script: of a path, and of what differs between two paths.
//!
//! A frame is as wide as its instructions and stands on its caller. Siblings are in the order in
//! which they first ran. Pointing at a frame shows its figures.

use std::fmt::Write;

use super::stacks::{merged, sum, Frame};
use super::{xml, PathFormat, CREATOR};
use crate::base::number::{count, percent, plural};
use crate::base::text::plain;
use crate::stream::paths::Function;
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

/// A colour.
type Rgb = [u8; 3];

/// The colours of programs, in the order in which they first ran; further ones begin again.
const PROGRAMS: [(Rgb, Rgb); 4] = [
    ([0xf6, 0xc9, 0x6b], [0xf0, 0x9a, 0x5a]),
    ([0x9f, 0xd3, 0x8c], [0x6f, 0xbf, 0x8f]),
    ([0x96, 0xc6, 0xea], [0x7d, 0xa9, 0xe0]),
    ([0xd9, 0xc8, 0xa6], [0xbf, 0xae, 0x8c]),
];
const INTERRUPT: (Rgb, Rgb) = ([0xd9, 0xae, 0xea], [0xc5, 0x8f, 0xdf]);
const NEUTRAL: Rgb = [0xd5, 0xd9, 0xdf];
const MORE: (Rgb, Rgb) = ([0xf8, 0xd3, 0xcb], [0xee, 0x6a, 0x55]);
const LESS: (Rgb, Rgb) = ([0xcb, 0xde, 0xf5], [0x5b, 0x9c, 0xe6]);

/// What a picture shows.
struct Picture<'a> {
    title: String,
    about: String,
    /// Swatches with their meaning.
    legend: Vec<(Rgb, String)>,
    /// Whether frames show a difference.
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// One path; the programs that it executes.
    Path(Vec<&'a str>),
    /// Two paths; the greatest difference of a frame's own instructions.
    Difference(u64),
}

/// A flame graph of a path.
fn write(tree: &CallTree) -> String {
    let frames = merged(&[tree]);
    let mut programs = Vec::new();
    let mut interrupts = false;
    for_each(&frames, &mut |frame| {
        let program = frame.function.program.as_str();
        if !programs.contains(&program) {
            programs.push(program);
        }
        interrupts |= frame.interrupt;
    });
    let colours = programs.iter().zip(PROGRAMS.iter().cycle());
    let mut legend: Vec<(Rgb, String)> = colours
        .map(|(program, (colour, _))| (*colour, plain(program)))
        .collect();
    if interrupts {
        legend.push((INTERRUPT.0, "interrupt or exception".to_owned()));
    }
    let picture = Picture {
        title: titled(tree),
        about: tree.sentence(),
        legend,
        kind: Kind::Path(programs),
    };
    picture.draw(tree.metric, &frames)
}

/// A flame graph of two paths. The width of a frame's own part is the greater of its instructions
/// before and after, so that what was removed shows too.
fn difference(before: &CallTree, after: &CallTree) -> String {
    let frames = merged(&[before, after]);
    let mut greatest = 0;
    for_each(&frames, &mut |frame| {
        greatest = greatest.max(frame.own[0].abs_diff(frame.own[1]));
    });
    let picture = Picture {
        title: if before.metric == after.metric {
            before.metric.to_owned()
        } else {
            format!("{}, {}", before.metric, after.metric)
        },
        about: format!(
            "{} instructions; from {} to {}",
            compared(sum(&frames, [0; 2])),
            before.target,
            after.target
        ),
        legend: vec![
            (MORE.1, "the function itself executes more".to_owned()),
            (LESS.1, "fewer".to_owned()),
            (NEUTRAL, "as many".to_owned()),
        ],
        kind: Kind::Difference(greatest),
    };
    picture.draw(after.metric, &frames)
}

fn titled(tree: &CallTree) -> String {
    match tree.target {
        "" => tree.metric.to_owned(),
        target => format!("{} on {target}", tree.metric),
    }
}

/// The width of a frame, in instructions.
fn width(frame: &Frame) -> u64 {
    let called: u64 = frame.called.iter().map(width).sum();
    called + frame.own[0].max(frame.own[1])
}

fn for_each<'a>(frames: &[Frame<'a>], act: &mut impl FnMut(&Frame<'a>)) {
    for frame in frames {
        act(frame);
        for_each(&frame.called, act);
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
    fn draw(&self, metric: &str, frames: &[Frame]) -> String {
        let rows = 1 + depth(frames);
        let bottom = TOP + rows as f64 * ROW;
        let height = bottom + self.legend_lines() as f64 * ROW + 15.0;
        let mut out = self.head(height);
        let total = sum(frames, [0; 2]);
        let widths: u64 = frames.iter().map(width).sum();
        let scale = (WIDTH - 2.0 * MARGIN) / widths.max(1) as f64;
        let base = Place {
            x: MARGIN,
            y: bottom - ROW,
            width: WIDTH - 2.0 * MARGIN,
        };
        let about = match self.kind {
            Kind::Path(_) => plural(total[0], "instruction"),
            Kind::Difference(_) => compared(total),
        };
        let tip = format!("{metric}\n{about}");
        write_frame(&mut out, base, NEUTRAL, [metric, ""], &tip);
        self.row(&mut out, base, frames, scale, total);
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
    fn row(&self, out: &mut String, caller: Place, frames: &[Frame], scale: f64, total: [u64; 2]) {
        let mut x = caller.x;
        for frame in frames {
            let place = Place {
                x,
                y: caller.y - ROW,
                width: width(frame) as f64 * scale,
            };
            let name = plain(&frame.function.name);
            let suffix = match self.kind {
                Kind::Difference(_) if frame.own[0] != frame.own[1] => {
                    format!(" {}", signed(frame.own[0], frame.own[1]))
                }
                _ => String::new(),
            };
            let tip = self.tip(frame, total);
            write_frame(out, place, self.colour(frame), [&name, &suffix], &tip);
            self.row(out, place, &frame.called, scale, total);
            x += place.width;
        }
    }

    fn colour(&self, frame: &Frame) -> Rgb {
        match &self.kind {
            Kind::Path(programs) => {
                let program = frame.function.program.as_str();
                let at = programs.iter().position(|known| *known == program);
                let colours = if frame.interrupt {
                    INTERRUPT
                } else {
                    PROGRAMS[at.unwrap_or(0) % PROGRAMS.len()]
                };
                mixed(colours, shade(&frame.function.name))
            }
            Kind::Difference(greatest) => {
                let [before, after] = frame.own;
                let share = before.abs_diff(after) as f64 / (*greatest).max(1) as f64;
                match before.cmp(&after) {
                    std::cmp::Ordering::Less => mixed(MORE, share),
                    std::cmp::Ordering::Equal => NEUTRAL,
                    std::cmp::Ordering::Greater => mixed(LESS, share),
                }
            }
        }
    }

    /// The text that pointing at a frame shows.
    fn tip(&self, frame: &Frame, total: [u64; 2]) -> String {
        let Function { name, program, .. } = frame.function;
        let name = format!("{} ({})", plain(name), plain(program));
        let all = frame.instructions();
        match self.kind {
            Kind::Path(_) => format!(
                "{name}\n{}, {}; its own: {}; {}",
                plural(all[0], "instruction"),
                percent(100.0 * all[0] as f64 / total[0].max(1) as f64),
                count(frame.own[0]),
                plural(frame.calls[0], "call")
            ),
            Kind::Difference(_) => format!(
                "{name}\nwith callees: {}\nits own: {}\ncalls: {}",
                compared(all),
                compared(frame.own),
                compared(frame.calls)
            ),
        }
    }

    /// Writes the legend below `y`, in as many lines as [`Self::legend_lines`] says.
    fn write_legend(&self, out: &mut String, y: f64) {
        for ((x, line), (colour, text)) in self.legend_places().zip(&self.legend) {
            let y = y + 22.0 + line as f64 * ROW;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\
                 <text class=\"weak\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                y - 10.0,
                hex(*colour),
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
        self.legend.iter().map(move |(_, text)| {
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
fn write_frame(out: &mut String, place: Place, colour: Rgb, [name, suffix]: [&str; 2], tip: &str) {
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
        hex(colour)
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

fn depth(frames: &[Frame]) -> usize {
    let above = frames.iter().map(|frame| 1 + depth(&frame.called));
    above.max().unwrap_or(0)
}

/// A number from 0 to 1 for a name, so that neighbours look different and a name always the same.
fn shade(name: &str) -> f64 {
    f64::from(crc32fast::hash(name.as_bytes())) / f64::from(u32::MAX)
}

fn mixed((from, to): (Rgb, Rgb), share: f64) -> Rgb {
    let mix = |at: usize| {
        let (from, to) = (f64::from(from[at]), f64::from(to[at]));
        (from + (to - from) * share).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A difference with its sign: `+132`, `-7`, `0`.
fn signed(before: u64, after: u64) -> String {
    let size = count(before.abs_diff(after));
    match before.cmp(&after) {
        std::cmp::Ordering::Less => format!("+{size}"),
        std::cmp::Ordering::Equal => size,
        std::cmp::Ordering::Greater => format!("-{size}"),
    }
}

/// Two counts and their difference: `403 -> 535, +132`.
fn compared([before, after]: [u64; 2]) -> String {
    let difference = signed(before, after);
    format!("{} -> {}, {difference}", count(before), count(after))
}
