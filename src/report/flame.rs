// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a flame graph shows of a path, or of what differs between two paths: frames, their colours
//! and the text of each. [`crate::export`] draws it as a file, `report::html` as part of a page.

use crate::base::number::{count, percent, plural};
use crate::base::text::plain;
use crate::stream::paths::Function;
use crate::trace::stacks::{merged, sum, Frame};
use crate::trace::tree::CallTree;

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

/// What a flame graph shows.
#[derive(Clone, Debug)]
pub struct Flame<'a> {
    /// The outermost frames, side by side.
    pub frames: Vec<Frame<'a>>,
    /// Colours with their meaning, safe to show.
    pub legend: Vec<(String, String)>,
    /// The instructions of all frames, before and after.
    pub total: [u64; 2],
    kind: Kind<'a>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    /// One path; the programs that it executes.
    Path(Vec<&'a str>),
    /// Two paths; the greatest difference of a frame's own instructions.
    Difference(u64),
}

impl<'a> Flame<'a> {
    /// The frames of a path.
    #[must_use]
    pub fn of(tree: &CallTree<'a>) -> Self {
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
        let mut legend: Vec<(String, String)> = colours
            .map(|(program, (colour, _))| (hex(*colour), plain(program)))
            .collect();
        if interrupts {
            legend.push((hex(INTERRUPT.0), "interrupt or exception".to_owned()));
        }
        Flame {
            total: sum(&frames, [0; 2]),
            frames,
            legend,
            kind: Kind::Path(programs),
        }
    }

    /// The frames of two paths. The width of a frame's own part is the greater of its instructions
    /// before and after, so that what was removed shows too.
    #[must_use]
    pub fn between(before: &CallTree<'a>, after: &CallTree<'a>) -> Self {
        let frames = merged(&[before, after]);
        let mut greatest = 0;
        for_each(&frames, &mut |frame| {
            greatest = greatest.max(frame.own[0].abs_diff(frame.own[1]));
        });
        let legend = [
            (MORE.1, "the function itself executes more"),
            (LESS.1, "fewer"),
            (NEUTRAL, "as many"),
        ];
        Flame {
            total: sum(&frames, [0; 2]),
            frames,
            legend: legend
                .map(|(colour, text)| (hex(colour), text.to_owned()))
                .into(),
            kind: Kind::Difference(greatest),
        }
    }

    /// The width of all frames, in instructions.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.frames.iter().map(width).sum()
    }

    /// How many frames stand on each other at most.
    #[must_use]
    pub fn depth(&self) -> usize {
        depth(&self.frames)
    }

    /// The colour of what all frames stand on.
    #[must_use]
    pub fn base_colour(&self) -> String {
        hex(NEUTRAL)
    }

    /// The text of what all frames stand on.
    #[must_use]
    pub fn base_tip(&self, metric: &str) -> String {
        let about = match self.kind {
            Kind::Path(_) => plural(self.total[0], "instruction"),
            Kind::Difference(_) => compared(self.total),
        };
        format!("{metric}\n{about}")
    }

    /// The name of a frame, and what follows it: how much its own instructions changed.
    #[must_use]
    pub fn label(&self, frame: &Frame) -> [String; 2] {
        let suffix = match self.kind {
            Kind::Difference(_) if frame.own[0] != frame.own[1] => {
                format!(" {}", signed(frame.own[0], frame.own[1]))
            }
            _ => String::new(),
        };
        [plain(&frame.function.name), suffix]
    }

    /// The colour of a frame.
    #[must_use]
    pub fn colour(&self, frame: &Frame) -> String {
        let colour = match &self.kind {
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
        };
        hex(colour)
    }

    /// The text that pointing at a frame shows.
    #[must_use]
    pub fn tip(&self, frame: &Frame) -> String {
        let Function { name, program, .. } = frame.function;
        let name = format!("{} ({})", plain(name), plain(program));
        let all = frame.instructions();
        match self.kind {
            Kind::Path(_) => format!(
                "{name}\n{}, {}; its own: {}; {}",
                plural(all[0], "instruction"),
                percent(100.0 * all[0] as f64 / self.total[0].max(1) as f64),
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
}

/// The width of a frame, in instructions: its own and those of what it called.
#[must_use]
pub fn width(frame: &Frame) -> u64 {
    let called: u64 = frame.called.iter().map(width).sum();
    called + frame.own[0].max(frame.own[1])
}

fn for_each<'a>(frames: &[Frame<'a>], act: &mut impl FnMut(&Frame<'a>)) {
    for frame in frames {
        act(frame);
        for_each(&frame.called, act);
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
#[must_use]
pub fn compared([before, after]: [u64; 2]) -> String {
    let difference = signed(before, after);
    format!("{} -> {}, {difference}", count(before), count(after))
}
