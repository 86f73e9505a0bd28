// SPDX-License-Identifier: MIT OR Apache-2.0

//! The format of callgrind, version 1 (valgrind.org/docs/manual/cl-format.html), for `KCachegrind`
//! and `callgrind_annotate`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use super::{PathFormat, CREATOR};
use crate::base::text::plain;
use crate::trace::calls::{Call, Counts};
use crate::trace::tree::{parts, CallTree, Part};

/// The format.
pub static FORMAT: PathFormat = PathFormat {
    name: "callgrind",
    about: "callgrind's format, for KCachegrind and callgrind_annotate",
    leaves_out: "the order of execution",
    write,
    difference: None,
};

/// The name of what is not known, as callgrind writes it.
const UNKNOWN: &str = "???";

/// An event: its name, what it counts, and its count.
type Event = (&'static str, &'static str, fn(&Counts) -> u64);

/// The events, in the order of the columns. All but the first are left out where they are 0 in all
/// of the path.
const EVENTS: [Event; 9] = [
    ("Instructions", "executed instructions", |counts| {
        counts.instructions
    }),
    ("Repeated", "repetitions of string instructions", |counts| {
        counts.repeated
    }),
    ("Loads", "loads", |counts| counts.loads),
    ("Stores", "stores", |counts| counts.stores),
    ("Devices", "accesses to devices", |counts| counts.devices),
    ("Taken", "taken branches, calls and returns", |counts| {
        counts.taken
    }),
    ("Privileged", "privileged instructions", |counts| {
        counts.privileged
    }),
    ("Serialising", "serialising instructions", |counts| {
        counts.serialising
    }),
    ("Atomic", "atomic instructions", |counts| counts.atomic),
];

/// A place in the sources.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site<'a> {
    file: &'a str,
    /// 0 if it is not known.
    line: u32,
}

/// A function: its costs and its calls, by place in the sources.
#[derive(Default)]
struct Costs<'a> {
    own: BTreeMap<Site<'a>, Counts>,
    calls: BTreeMap<(Site<'a>, usize), (u64, Counts)>,
}

/// All functions that execute, below one with the metric's name that calls the outermost ones.
fn write(tree: &CallTree) -> String {
    let mut functions = BTreeMap::new();
    let mut roots = Costs::default();
    for root in tree.stacks().into_iter().flatten() {
        let inclusive = add(&mut functions, root, tree);
        roots.called(NOWHERE, root, inclusive);
    }
    let total = tree.total();
    let events: Vec<Event> = EVENTS
        .into_iter()
        .enumerate()
        .filter(|(at, (_, _, count))| *at == 0 || count(&total) > 0)
        .map(|(_, event)| event)
        .collect();
    let mut out = Output {
        tree,
        events,
        text: String::new(),
        names: BTreeMap::new(),
    };
    out.header(&total);
    out.root(&roots);
    for (function, costs) in &functions {
        out.function(*function, costs);
    }
    out.text
}

/// Where the function with the metric's name is.
const NOWHERE: Site = Site {
    file: UNKNOWN,
    line: 0,
};

impl<'a> Costs<'a> {
    fn called(&mut self, site: Site<'a>, call: &Call, inclusive: Counts) {
        let (calls, counts) = self.calls.entry((site, call.function)).or_default();
        *calls += 1;
        *counts += inclusive;
    }
}

/// The file that defines a function.
fn file<'a>(tree: &CallTree<'a>, function: usize) -> &'a str {
    tree.functions[function].file.as_deref().unwrap_or(UNKNOWN)
}

/// Adds a call and all that it called on its stack. Returns their costs.
fn add<'a>(
    functions: &mut BTreeMap<usize, Costs<'a>>,
    call: &'a Call,
    tree: &CallTree<'a>,
) -> Counts {
    let unknown = Site {
        file: file(tree, call.function),
        line: 0,
    };
    let site = |place| {
        tree.line(place)
            .map_or(unknown, |(file, line)| Site { file, line })
    };
    let mut inclusive = Counts::default();
    // A call is at the line of the instruction before it.
    let mut here = unknown;
    for part in parts(call) {
        match part {
            Part::Own(Range { start, end }) => {
                for place in start..end {
                    here = site(place);
                    let counts = tree.counts_at(place);
                    inclusive += counts;
                    let costs = functions.entry(call.function).or_default();
                    *costs.own.entry(here).or_default() += counts;
                }
            }
            Part::Call(called) => {
                let counts = add(functions, called, tree);
                inclusive += counts;
                let costs = functions.entry(call.function).or_default();
                costs.called(here, called, counts);
            }
            Part::Away(_) => {}
        }
    }
    inclusive
}

/// What a number in brackets stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name<'a> {
    Program(&'a str),
    File(&'a str),
    /// An index into the functions of the tree; `None` is the metric.
    Function(Option<usize>),
}

struct Output<'a> {
    tree: &'a CallTree<'a>,
    events: Vec<Event>,
    text: String,
    names: BTreeMap<Name<'a>, usize>,
}

impl<'a> Output<'a> {
    fn header(&mut self, total: &Counts) {
        let tree = self.tree;
        let _ = write!(
            self.text,
            "# callgrind format\nversion: 1\ncreator: {CREATOR}\ncmd: {}\n\
             desc: Target: {}\ndesc: Path: {}\npositions: line\n",
            plain(tree.metric),
            plain(tree.target),
            tree.sentence()
        );
        for (name, about, _) in &self.events {
            let _ = writeln!(self.text, "event: {name} : {about}");
        }
        let names: Vec<&str> = self.events.iter().map(|(name, ..)| *name).collect();
        // Readers take this line for the end of the header.
        let _ = writeln!(self.text, "events: {}", names.join(" "));
        let _ = writeln!(self.text, "summary: {}", self.columns(total));
    }

    fn root(&mut self, roots: &Costs<'a>) {
        self.text.push('\n');
        self.position("ob", Name::Program(UNKNOWN));
        self.position("fl", Name::File(UNKNOWN));
        self.position("fn", Name::Function(None));
        self.calls(roots, UNKNOWN);
    }

    fn function(&mut self, function: usize, costs: &Costs<'a>) {
        let file = file(self.tree, function);
        self.text.push('\n');
        let program = &self.tree.functions[function].program;
        self.position("ob", Name::Program(program));
        self.position("fl", Name::File(file));
        self.position("fn", Name::Function(Some(function)));
        self.costs(costs, file);
        let calls = costs.calls.keys().map(|(site, _)| site);
        let sites = costs.own.keys().chain(calls);
        let mut others: Vec<&str> = sites.map(|site| site.file).collect();
        others.retain(|other| *other != file);
        others.sort_unstable();
        others.dedup();
        for other in &others {
            self.position("fi", Name::File(other));
            self.costs(costs, other);
        }
        if !others.is_empty() {
            self.position("fe", Name::File(file));
        }
    }

    /// Writes own costs and calls in a file.
    fn costs(&mut self, costs: &Costs<'a>, file: &str) {
        for (site, counts) in &costs.own {
            if site.file == file {
                let columns = self.columns(counts);
                let _ = writeln!(self.text, "{} {columns}", site.line);
            }
        }
        self.calls(costs, file);
    }

    fn calls(&mut self, costs: &Costs<'a>, file: &str) {
        for ((site, called), (calls, counts)) in &costs.calls {
            if site.file != file {
                continue;
            }
            let program = &self.tree.functions[*called].program;
            self.position("cob", Name::Program(program));
            self.position("cfi", Name::File(self::file(self.tree, *called)));
            self.position("cfn", Name::Function(Some(*called)));
            let columns = self.columns(counts);
            let _ = write!(self.text, "calls={calls} 0\n{} {columns}\n", site.line);
        }
    }

    fn columns(&self, counts: &Counts) -> String {
        let columns = self
            .events
            .iter()
            .map(|(.., count)| count(counts).to_string());
        columns.collect::<Vec<_>>().join(" ")
    }

    /// Writes a name, after its first time only as its number.
    fn position(&mut self, key: &str, name: Name<'a>) {
        let _ = write!(self.text, "{key}=");
        if let Some(number) = self.names.get(&name) {
            let _ = writeln!(self.text, "({number})");
            return;
        }
        let number = self.names.len() + 1;
        self.names.insert(name, number);
        let text = match name {
            Name::Program(text) | Name::File(text) => text,
            Name::Function(None) => self.tree.metric,
            Name::Function(Some(function)) => &self.tree.functions[function].name,
        };
        let text = plain(text);
        let text = if text.trim().is_empty() {
            UNKNOWN
        } else {
            &text
        };
        let _ = writeln!(self.text, "({number}) {text}");
    }
}
