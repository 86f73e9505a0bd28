// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls of a path in the order of execution, each with its instructions.

use std::fmt::Write;

use wildmatch::WildMatch;

use super::style::{painted_lines, Ink, Style, GAP, INDENT};
use crate::base::number::{count, plural};
use crate::base::text::{paragraph, plain};
use crate::stream::filter::suggestion;
use crate::stream::paths::Function;
use crate::trace::calls::{Call, Entry};
use crate::trace::tree::{self, parts_of_stack, CallTree, Part};

/// Which calls are shown. Names are those of functions, or globs with `*` and `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// How deep calls are shown; 1 shows the outermost ones only.
    pub depth: Option<usize>,
    /// Only these functions and what they call, if it is not empty.
    pub only: Vec<String>,
    /// Not these functions, nor what they call.
    pub without: Vec<String>,
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A call.
    Call(Shown),
    /// Another stack executed so many instructions.
    Away(usize),
}

/// A call as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub function: usize,
    pub entry: Entry,
    /// Instructions with those of everything it called, shown or not.
    pub instructions: u64,
    pub own: u64,
    /// What it called; equal neighbours are one, with their number.
    pub called: Vec<(Item, u64)>,
}

/// The calls of a path as text: a line for each call, or for several equal ones in a row.
///
/// # Errors
///
/// A name of the view selects no function of the path.
pub fn render(tree: &CallTree, view: &View, style: &Style) -> Result<String, String> {
    let executed = executed(tree);
    let known: Vec<&str> = executed
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    for name in view.only.iter().chain(&view.without) {
        let glob = WildMatch::new(name);
        if !known.iter().any(|known| glob.matches(known)) {
            return Err(format!(
                "no function on this path is called `{}`{}",
                plain(name),
                plain(&suggestion(name, &known))
            ));
        }
    }
    let mut build = Build {
        tree,
        view,
        left_out: 0,
    };
    let stacks = tree.stacks();
    let shown: Vec<Vec<(Item, u64)>> = stacks
        .iter()
        .map(|stack| build.items(parts_of_stack(stack), 0, view.only.is_empty()))
        .collect();
    let mut out = Output {
        tree,
        style: *style,
        text: String::new(),
        width: count(tree.total().instructions).len(),
        has_programs: executed
            .windows(2)
            .any(|pair| pair[0].program != pair[1].program),
        marks: Marks::default(),
    };
    out.heading();
    for (at, items) in shown.iter().enumerate() {
        if stacks.len() > 1 && !items.is_empty() {
            out.stack(at + 1);
        }
        out.items(items, 0, None);
    }
    let seen = shown.iter().flatten().map(|(item, times)| match item {
        Item::Call(shown) => shown.instructions * times,
        Item::Away(_) => 0,
    });
    out.notes(view, seen.sum(), build.left_out);
    Ok(out.text)
}

/// All calls of each stack, in the order of execution; equal neighbours are one, with their number.
pub(super) fn calls(tree: &CallTree) -> Vec<Vec<(Item, u64)>> {
    let view = View::default();
    let mut build = Build {
        tree,
        view: &view,
        left_out: 0,
    };
    let stacks = tree.stacks();
    let items = stacks
        .iter()
        .map(|stack| build.items(parts_of_stack(stack), 0, true));
    items.collect()
}

/// The functions that the path executes.
fn executed<'a>(tree: &CallTree<'a>) -> Vec<&'a Function> {
    fn add<'a>(parts: Vec<Part>, tree: &CallTree<'a>, functions: &mut Vec<&'a Function>) {
        for part in parts {
            if let Part::Call(call) = part {
                functions.push(tree.function(call));
                add(tree::parts(call), tree, functions);
            }
        }
    }
    let mut functions = Vec::new();
    for stack in tree.stacks() {
        add(parts_of_stack(&stack), tree, &mut functions);
    }
    functions.sort_unstable();
    functions.dedup();
    functions
}

/// Chooses what is shown.
struct Build<'a> {
    tree: &'a CallTree<'a>,
    view: &'a View,
    /// Instructions of calls that the view leaves out by name.
    left_out: u64,
}

impl Build<'_> {
    /// What is shown of these parts. `selected`: whether a caller is among the functions asked for.
    fn items(&mut self, parts: Vec<Part>, depth: usize, selected: bool) -> Vec<(Item, u64)> {
        let mut items = Vec::new();
        for part in parts {
            match part {
                Part::Away(range) if selected => items.push((Item::Away(range.len()), 1)),
                Part::Own(_) | Part::Away(_) => {}
                Part::Call(call) => {
                    for (item, times) in self.call(call, depth, selected) {
                        match items.last_mut() {
                            Some((last, so_far)) if *last == item => *so_far += times,
                            _ => items.push((item, times)),
                        }
                    }
                }
            }
        }
        items
    }

    /// What is shown of a call: nothing, itself, or what it called.
    fn call(&mut self, call: &Call, depth: usize, selected: bool) -> Vec<(Item, u64)> {
        let name = &self.tree.function(call).name;
        let named = |names: &[String]| names.iter().any(|n| WildMatch::new(n).matches(name));
        let selected_here = selected || named(&self.view.only);
        if named(&self.view.without) {
            if selected_here {
                self.left_out += self.tree.inclusive(call).instructions;
            }
            return Vec::new();
        }
        if !selected_here {
            return self.items(tree::parts(call), depth, false);
        }
        let called = self.items(tree::parts(call), depth + 1, true);
        if self.view.depth.is_some_and(|most| depth >= most) {
            return Vec::new();
        }
        let shown = Shown {
            function: call.function,
            entry: call.entry,
            instructions: self.tree.inclusive(call).instructions,
            own: self.tree.own(call).instructions,
            called,
        };
        vec![(Item::Call(shown), 1)]
    }
}

/// The headings of the figures.
const COLUMN: &str = "instructions";
const OWN: &str = "own";

/// Which marks occur.
#[derive(Default)]
struct Marks {
    interrupt: bool,
    jump: bool,
    times: bool,
}

struct Output<'a> {
    tree: &'a CallTree<'a>,
    style: Style,
    text: String,
    /// The width of the greatest figure.
    width: usize,
    /// Whether several programs execute.
    has_programs: bool,
    marks: Marks,
}

impl Output<'_> {
    fn heading(&mut self) {
        let line = self.figures(COLUMN, OWN) + "function";
        self.line(&self.style.paint(Ink::Bold, &line));
    }

    fn stack(&mut self, number: usize) {
        let line = self.figures("", "") + &format!("stack {number}:");
        self.line(&self.style.paint(Ink::Dim, &line));
    }

    /// Writes items. `program` is that of their caller.
    fn items(&mut self, items: &[(Item, u64)], depth: usize, program: Option<&str>) {
        let indent = INDENT.repeat(depth);
        for (item, times) in items {
            let shown = match item {
                Item::Call(shown) => shown,
                Item::Away(instructions) => {
                    let line = format!(
                        "{}{indent}(another stack: {})",
                        self.figures("", ""),
                        plural(*instructions as u64, "instruction")
                    );
                    self.line(&self.style.paint(Ink::Dim, &line));
                    continue;
                }
            };
            let function = &self.tree.functions[shown.function];
            let instructions = count(shown.instructions * times);
            let own = count(shown.own * times);
            let mut line = self.figures(&instructions, &own) + &indent + &plain(&function.name);
            if *times > 1 {
                let _ = write!(line, " x{times}");
                self.marks.times = true;
            }
            let mut marks = Vec::new();
            if self.has_programs && program != Some(&function.program) {
                marks.push(plain(&function.program));
            }
            match shown.entry {
                Entry::Before | Entry::Called => {}
                Entry::Jumped => {
                    self.marks.jump = true;
                    marks.push("jump".to_owned());
                }
                Entry::Interrupted => {
                    self.marks.interrupt = true;
                    marks.push("interrupt".to_owned());
                }
                Entry::Switched => marks.push("switched to".to_owned()),
            }
            if !marks.is_empty() {
                let marks = format!("[{}]", marks.join(", "));
                line = line + " " + &self.style.paint(Ink::Dim, &marks);
            }
            self.line(&line);
            self.items(&shown.called, depth + 1, Some(&function.program));
        }
    }

    /// The columns of figures and the gap after them.
    fn figures(&self, instructions: &str, own: &str) -> String {
        let first = self.width.max(COLUMN.len());
        let second = self.width.max(OWN.len());
        format!("{instructions:>first$}{:GAP$}{own:>second$}{:GAP$}", "", "")
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// What the marks mean, and what is not shown.
    fn notes(&mut self, view: &View, seen: u64, left_out: u64) {
        let mut notes = Vec::new();
        let all = count(self.tree.total().instructions);
        if !view.only.is_empty() {
            notes.push(format!(
                "shown: {} of {all} instructions, those of {} and of what they call",
                count(seen),
                names(&view.only)
            ));
        }
        if !view.without.is_empty() {
            notes.push(format!(
                "left out: {} of {all} instructions, those of {} and of what they call; the \
                 figures of their callers include them",
                count(left_out),
                names(&view.without)
            ));
        }
        if self.marks.times {
            notes.push("xN: N equal calls in a row, summed up".to_owned());
        }
        if self.marks.interrupt {
            notes.push("interrupt: by an interrupt, an exception or a system call".to_owned());
        }
        if self.marks.jump {
            notes.push("jump: by a jump at the end of its caller".to_owned());
        }
        let mut lines = String::new();
        for note in &notes {
            paragraph(&mut lines, "", note, self.style.width());
        }
        if !lines.is_empty() {
            let lines = painted_lines(self.style, Ink::Dim, &lines);
            self.text.push('\n');
            self.text.push_str(&lines);
        }
    }
}

fn names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    names.join(", ")
}
