// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls of paths, merged: one frame for all calls of a function by the same stack of callers.

use super::calls::{Call, Entry};
use super::tree::{parts, CallTree, Part};
use crate::stream::paths::Function;

/// All calls of a function by the same stack of callers, in one or in two paths.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// The function.
    pub function: &'a Function,
    /// Whether the first of the calls was an interrupt or an exception.
    pub interrupt: bool,
    /// The number of calls in each path.
    pub calls: [u64; 2],
    /// The function's own instructions in each path.
    pub own: [u64; 2],
    /// What the calls called, in the order in which it first ran.
    pub called: Vec<Frame<'a>>,
}

impl Frame<'_> {
    /// Instructions of the function and of all that it called, in each path.
    #[must_use]
    pub fn instructions(&self) -> [u64; 2] {
        sum(&self.called, self.own)
    }
}

/// The instructions of frames in each path, added to `own`.
#[must_use]
pub fn sum(frames: &[Frame], own: [u64; 2]) -> [u64; 2] {
    frames.iter().fold(own, |[before, after], frame| {
        let more = frame.instructions();
        [before + more[0], after + more[1]]
    })
}

/// The outermost frames of one path, or of a path before and a path after.
#[must_use]
pub fn merged<'a>(trees: &[&CallTree<'a>]) -> Vec<Frame<'a>> {
    let mut frames = Vec::new();
    for (path, tree) in trees.iter().enumerate() {
        for root in tree.stacks().into_iter().flatten() {
            add(&mut frames, root, tree, path);
        }
    }
    frames
}

fn add<'a>(frames: &mut Vec<Frame<'a>>, call: &'a Call, tree: &CallTree<'a>, path: usize) {
    let function = tree.function(call);
    let known = frames
        .iter()
        .position(|frame| same(frame.function, function));
    let at = known.unwrap_or_else(|| {
        frames.push(Frame {
            function,
            interrupt: call.entry == Entry::Interrupted,
            calls: [0; 2],
            own: [0; 2],
            called: Vec::new(),
        });
        frames.len() - 1
    });
    let frame = &mut frames[at];
    frame.calls[path] += 1;
    frame.own[path] += tree.own(call).instructions;
    for part in parts(call) {
        if let Part::Call(called) = part {
            add(&mut frame.called, called, tree, path);
        }
    }
}

/// Whether two builds mean the same function. One of them may not know its file.
fn same(a: &Function, b: &Function) -> bool {
    let known = a.file.as_ref().zip(b.file.as_ref());
    a.name == b.name && a.program == b.program && known.is_none_or(|(a, b)| a == b)
}
