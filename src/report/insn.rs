// SPDX-License-Identifier: MIT OR Apache-2.0

//! A path, instruction by instruction.

use std::fmt::Write;

use crate::base::text::plain;
use crate::trace::source::Place;

/// The longest loop, in instructions, whose repetitions are folded.
const LOOP_MAX: usize = 64;

/// Repetitions of a loop of several instructions that are worth folding.
const WORTH_FOLDING: usize = 3;

/// What separates two columns.
const GAP: &str = "  ";

/// Most characters of a column that are padded for; longer ones push the next column.
const WIDEST: usize = 48;

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its address.
    pub address: u64,
    /// Its function, and its distance from the function's start. `None` if no symbol has it.
    pub function: Option<(&'a str, u64)>,
    /// Its disassembly.
    pub text: &'a str,
    /// Where it comes from, if that is known.
    pub place: Option<Place>,
    /// How many calls lead to its function from where the path began.
    pub depth: usize,
}

/// The instructions of a path in the order of execution: its place in the path, its address, its
/// function and distance from the function's start, indented by calls, the instruction, and its line
/// in the sources where that changes. Repetitions are folded.
#[must_use]
pub fn listing(steps: &[Step]) -> String {
    let places: Vec<String> = steps.iter().map(position).collect();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).min(WIDEST);
    let deepest = widest(&mut places.iter().map(|text| text.chars().count()));
    let longest = widest(&mut steps.iter().map(|step| step.text.chars().count()));
    let order = steps.len().to_string().len();
    let digits = steps.iter().map(|step| format!("{:x}", step.address).len());
    let digits = digits.max().unwrap_or(0).max(8);
    let mut out = String::new();
    let mut shown: Option<&Place> = None;
    let mut at = 0;
    while at < steps.len() {
        let (length, times) = repetition(&steps[at..]);
        for (order_in_loop, step) in steps[at..at + length].iter().enumerate() {
            let here = at + order_in_loop;
            let mut text = plain(step.text);
            if length == 1 && times > 1 {
                let _ = write!(text, " x{times}");
            }
            let is_new = shown.map(|place| (&place.file, place.line))
                != step.place.as_ref().map(|place| (&place.file, place.line));
            shown = step.place.as_ref();
            let source = step.place.as_ref().filter(|_| is_new);
            let source = source.map(|place| plain(&place.to_string()));
            let line = format!(
                "{here:>order$}{GAP}{:>digits$x}{GAP}{:<deepest$}{GAP}{text:<longest$}{GAP}{}",
                step.address,
                places[here],
                source.unwrap_or_default()
            );
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if length > 1 && times > 1 {
            let _ = writeln!(out, "{:>order$}{GAP}these {length} x{times}", "");
        }
        at += length * times;
    }
    out
}

/// Function and distance, indented.
fn position(step: &Step) -> String {
    let name = match step.function {
        Some((name, offset)) => format!("{}+{offset:#x}", plain(name)),
        None => "?".to_owned(),
    };
    format!("{}{name}", "  ".repeat(step.depth))
}

/// The loop that begins here: its length, and how often it is executed in a row. One instruction,
/// once, if there is none.
fn repetition(steps: &[Step]) -> (usize, usize) {
    for length in 1..=LOOP_MAX.min(steps.len() / 2) {
        let is_same = |next: &&[Step]| {
            let pairs = next.iter().zip(steps);
            next.len() == length
                && pairs
                    .clone()
                    .all(|(a, b)| (a.address, a.depth) == (b.address, b.depth))
        };
        let times = steps.chunks(length).take_while(is_same).count();
        if times >= if length == 1 { 2 } else { WORTH_FOLDING } {
            return (length, times);
        }
    }
    (1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step<'a>(
        address: u64,
        function: Option<(&'a str, u64)>,
        text: &'a str,
        line: u32,
        depth: usize,
    ) -> Step<'a> {
        let place = (line > 0).then(|| Place {
            file: "queue.c".into(),
            line,
            function: "".into(),
        });
        Step {
            address,
            function,
            text,
            place,
            depth,
        }
    }

    #[test]
    fn calls_are_indented_and_lines_shown_where_they_change() {
        let steps = [
            step(0x0800_24a0, Some(("take", 0)), "push {r4, lr}", 10, 0),
            step(0x0800_24a2, Some(("take", 2)), "bl #0x8003000", 11, 0),
            step(0x0800_3000, Some(("enter", 0)), "cpsid i", 5, 1),
            step(0x0800_3002, Some(("enter", 2)), "bx lr", 5, 1),
            step(0x0800_24a6, Some(("take", 6)), "pop {r4, pc}", 0, 0),
            step(0x2000_0000, None, "nop", 0, 0),
        ];
        assert_eq!(
            listing(&steps),
            "\
0   80024a0  take+0x0     push {r4, lr}  queue.c:10
1   80024a2  take+0x2     bl #0x8003000  queue.c:11
2   8003000    enter+0x0  cpsid i        queue.c:5
3   8003002    enter+0x2  bx lr
4   80024a6  take+0x6     pop {r4, pc}
5  20000000  ?            nop
"
        );
    }

    #[test]
    fn repetitions_are_folded() {
        let once = step(0x10, Some(("f", 0)), "mov", 1, 0);
        let string = step(0x12, Some(("f", 2)), "rep stosb", 2, 0);
        let body = [
            step(0x14, Some(("f", 4)), "subs", 3, 0),
            step(0x16, Some(("f", 6)), "bne", 3, 0),
        ];
        let mut steps = vec![once.clone()];
        steps.extend(std::iter::repeat_n(string, 256));
        for _ in 0..4 {
            steps.extend(body.clone());
        }
        steps.push(once);
        assert_eq!(
            listing(&steps),
            "  0        10  f+0x0  mov        queue.c:1
  1        12  f+0x2  rep stosb x256  queue.c:2
257        14  f+0x4  subs       queue.c:3
258        16  f+0x6  bne
     these 2 x4
265        10  f+0x0  mov        queue.c:1
"
        );
    }

    #[test]
    fn path_without_instructions_is_empty() {
        assert_eq!(listing(&[]), "");
    }
}
