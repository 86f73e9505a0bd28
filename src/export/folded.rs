// SPDX-License-Identifier: MIT OR Apache-2.0

//! Folded stacks, as `flamegraph.pl`, `inferno` and speedscope read them, and the differential form
//! that `difffolded.pl` writes.

use std::fmt::Write;

use super::PathFormat;
use crate::base::text::steers;
use crate::trace::stacks::{merged, Frame};
use crate::trace::tree::CallTree;

/// The format.
pub static FORMAT: PathFormat = PathFormat {
    name: "folded",
    about: "folded stacks, for flamegraph.pl, inferno and speedscope",
    leaves_out:
        "programs, sources, the number of calls, their order and all counts but instructions",
    write,
    difference: Some(difference),
};

/// A line for each stack that executed instructions of its innermost function: `a;b;c 12`.
fn write(tree: &CallTree) -> String {
    let mut out = String::new();
    add(&mut out, "", &merged(&[tree]), &|[own, _]| {
        (own > 0).then(|| own.to_string())
    });
    out
}

/// A line for each stack of either path: `a;b;c 12 15`, before and after.
fn difference(before: &CallTree, after: &CallTree) -> String {
    let mut out = String::new();
    let both = merged(&[before, after]);
    add(&mut out, "", &both, &|[before, after]| {
        (before + after > 0).then(|| format!("{before} {after}"))
    });
    out
}

fn add(
    out: &mut String,
    callers: &str,
    frames: &[Frame],
    figures: &impl Fn([u64; 2]) -> Option<String>,
) {
    for frame in frames {
        let stack = format!("{callers}{}", name(&frame.function.name));
        if let Some(figures) = figures(frame.own) {
            let _ = writeln!(out, "{stack} {figures}");
        }
        add(out, &(stack + ";"), &frame.called, figures);
    }
}

/// A name whose separators of stacks and figures, backslashes and control characters are written as
/// `\x3b`, so that names stay different.
fn name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_whitespace() || c == ';' || c == '\\' || steers(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "\\x{byte:02x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}
