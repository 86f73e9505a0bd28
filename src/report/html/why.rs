// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page of `kernmark why`: where the instructions of a metric go, as a flame graph, by function,
//! by path and as a tree of calls; or what differs between two targets.

use maud::{html, Markup};

use super::flame::flame;
use super::frame::{facts, table_head, text, At, Column, Page, Section, Tile};
use crate::base::number::{count, percent, plural};
use crate::base::text::plain;
use crate::judge::why::{Difference, Part, Side};
use crate::report::flame::Flame;
use crate::report::tree::{calls, Item, Shown};
use crate::report::why::{
    by_function, counts_by_function, note, other_tails, parts, shown, signed, tails, Why, UNCOUNTED,
};
use crate::trace::calls::Entry;
use crate::trace::tree::CallTree;

/// Where the instructions of a metric go, as a page of HTML.
#[must_use]
pub fn page(why: &Why) -> Page {
    let tree = &why.tree;
    let rows = by_function(tree);
    let total: u64 = rows.iter().map(|(_, [own, _])| own).sum();
    let tile = |figure: u64, name: &str| Tile {
        figure: count(figure),
        name: name.to_owned(),
    };
    let sections = [
        Some(Section {
            id: "flame",
            name: "Flame graph",
            title: "Flame graph".to_owned(),
            remark: "width: instructions; each function stands on its caller".to_owned(),
            body: flame(&Flame::of(tree), tree.metric),
        }),
        Some(Section {
            id: "functions",
            name: "Functions",
            title: "Functions".to_owned(),
            remark: String::new(),
            body: functions(tree, &rows, total, why.mode.repetitions()),
        }),
        stretches(tree, total),
        counted(why),
        Some(modes(&why.side)),
        Some(call_tree(tree)),
    ];
    let facts_of = crate::report::why::facts(why);
    let known: Vec<_> = facts_of
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let how = Section {
        id: "measured",
        name: "Measured",
        title: "What was measured".to_owned(),
        remark: String::new(),
        body: facts(&known.into_iter().cloned().collect::<Vec<_>>()),
    };
    Page {
        title: format!("Why {} costs what it costs", tree.metric),
        lead: vec![tree.target.to_owned(), tree.sentence()],
        tiles: vec![
            tile(total, "instructions"),
            tile(rows.len() as u64, "functions"),
            tile(why.calls.0, "calls"),
            tile(why.side.paths.modes.len() as u64, "different paths"),
        ],
        sections: sections.into_iter().flatten().chain([how]).collect(),
        ..Page::default()
    }
}

const fn column(title: &'static str, is_optional: bool) -> Column {
    Column {
        title,
        sorts: true,
        is_optional,
    }
}

const FUNCTIONS: [Column; 4] = [
    column("function", false),
    column("self", false),
    column("with callees", true),
    column("share", false),
];

/// A bar of a share of 1.
fn bar(share: f64) -> Markup {
    html! {
        svg .bar width="100%" height="10" aria-hidden="true" {
            rect .b width=(At(share * 100.0)) height="10" rx="1" {}
        }
    }
}

fn functions(tree: &CallTree, rows: &[(usize, [u64; 2])], total: u64, repeated: u64) -> Markup {
    let greatest = rows.first().map_or(1, |(_, [own, _])| (*own).max(1));
    html! {
        table .wide {
            (table_head(&FUNCTIONS))
            tbody {
                @for (function, [own, all]) in rows {
                    tr {
                        td .id { (plain(&tree.functions[*function].name)) }
                        td data-v=(own) { (count(*own)) }
                        td .o data-v=(all) { (count(*all)) }
                        td data-v=(own) { (bar(*own as f64 / greatest as f64)) }
                    }
                }
            }
        }
        p .mut {
            (count(total)) " instructions."
            @if repeated > 0 {
                " " (count(repeated)) " of them only repeat a string instruction, which the emulator counts one by one."
            }
        }
    }
}

/// What lies before, in and after each switch of stacks.
fn stretches(tree: &CallTree, total: u64) -> Option<Section> {
    let parts = parts(tree);
    if parts.is_empty() {
        return None;
    }
    Some(Section {
        id: "parts",
        name: "Parts",
        title: "Parts".to_owned(),
        remark: "in the order of execution".to_owned(),
        body: html! {
            table .wide {
                tbody {
                    @for (instructions, what) in &parts {
                        tr {
                            td { (text(what)) }
                            td { (count(*instructions)) }
                            td { (bar(*instructions as f64 / total.max(1) as f64)) }
                        }
                    }
                }
            }
        },
    })
}

const COUNTS: [Column; 9] = [
    column("function", false),
    column("self", false),
    column("loads", false),
    column("stores", false),
    column("device", true),
    column("taken", false),
    column("privileged", true),
    column("serialising", true),
    column("atomic", true),
];

/// What was counted beside instructions.
fn counted(why: &Why) -> Option<Section> {
    if why.counts.is_empty() {
        return None;
    }
    let lines = why
        .counts
        .iter()
        .map(|(name, number)| (name, count(*number)));
    let lines: Vec<(&String, String)> = lines.collect();
    Some(Section {
        id: "counts",
        name: "Counts",
        title: "Counts".to_owned(),
        remark: UNCOUNTED.to_owned(),
        body: html! {
            (facts(&lines))
            table {
                (table_head(&COUNTS))
                tbody {
                    @for (function, counts) in counts_by_function(&why.tree) {
                        tr {
                            td .id { (plain(&why.tree.functions[function].name)) }
                            td data-v=(counts.instructions) { (count(counts.instructions)) }
                            td data-v=(counts.loads) { (count(counts.loads)) }
                            td data-v=(counts.stores) { (count(counts.stores)) }
                            td .o data-v=(counts.devices) { (count(counts.devices)) }
                            td data-v=(counts.taken) { (count(counts.taken)) }
                            td .o data-v=(counts.privileged) { (count(counts.privileged)) }
                            td .o data-v=(counts.serialising) { (count(counts.serialising)) }
                            td .o data-v=(counts.atomic) { (count(counts.atomic)) }
                        }
                    }
                }
            }
        },
    })
}

/// Paths that are shown before the rest is folded.
const PATHS: usize = 12;

/// All paths, by how many samples took them.
fn modes(side: &Side) -> Section {
    let lines = side.modes();
    let samples = side.samples.total().max(1) as f64;
    let shares: Vec<f64> = side
        .paths
        .modes
        .iter()
        .map(|mode| mode.samples as f64 / samples)
        .collect();
    let (first, rest) = lines.split_at(lines.len().min(PATHS));
    let row = |index: usize, line: &str| {
        html! {
            tr {
                td { (text(line)) }
                td { @if let Some(share) = shares.get(index) { (percent(share * 100.0)) } }
                td { @if let Some(share) = shares.get(index) { (bar(*share)) } }
            }
        }
    };
    Section {
        id: "paths",
        name: "Paths",
        title: "Paths".to_owned(),
        remark: "samples \u{d7} instructions, and the difference from the most frequent path"
            .to_owned(),
        body: html! {
            table .wide { tbody { @for (index, line) in first.iter().enumerate() { (row(index, line)) } } }
            @if !rest.is_empty() {
                details {
                    summary { (plural(rest.len() as u64, "more path")) }
                    div { table .wide { tbody { @for (index, line) in rest.iter().enumerate() { (row(PATHS + index, line)) } } } }
                }
            }
            (facts(&tails(side)))
        },
    }
}

/// Calls down to this depth are open.
const OPEN: usize = 2;

/// The calls of the path in the order of execution.
fn call_tree(tree: &CallTree) -> Section {
    let stacks = calls(tree);
    Section {
        id: "calls",
        name: "Calls",
        title: "Calls".to_owned(),
        remark: "in the order of execution; instructions with callees, and own".to_owned(),
        body: html! {
            @for (number, items) in stacks.iter().enumerate() {
                @if stacks.len() > 1 && !items.is_empty() { h3 { "Stack " (number + 1) } }
                div .calls { (level(tree, items, 0, None)) }
            }
        },
    }
}

fn level(tree: &CallTree, items: &[(Item, u64)], depth: usize, program: Option<&str>) -> Markup {
    html! {
        @for (item, times) in items {
            @match item {
                Item::Away(instructions) => {
                    div .mut { "another stack: " (plural(*instructions as u64, "instruction")) }
                }
                Item::Call(call) if call.called.is_empty() => div { (head(tree, call, *times, program)) },
                Item::Call(call) => {
                    details open[depth < OPEN] {
                        summary { (head(tree, call, *times, program)) }
                        div { (level(tree, &call.called, depth + 1, Some(&tree.functions[call.function].program))) }
                    }
                }
            }
        }
    }
}

fn head(tree: &CallTree, call: &Shown, times: u64, program: Option<&str>) -> Markup {
    let function = &tree.functions[call.function];
    let how = match call.entry {
        Entry::Before | Entry::Called => "",
        Entry::Jumped => "jump",
        Entry::Interrupted => "interrupt",
        Entry::Switched => "switched to",
    };
    html! {
        span .id { (plain(&function.name)) }
        @if times > 1 { " \u{d7}" (count(times)) }
        @if !how.is_empty() { " " span .mut { (how) } }
        @if program != Some(&function.program) { " " span .mut { (plain(&function.program)) } }
        span .v {
            (count(call.instructions * times))
            @if !call.called.is_empty() { " " span .mut { (count(call.own * times)) } }
        }
    }
}

const PARTS: [Column; 4] = [
    column("function", false),
    column("change", false),
    column("base", true),
    column("new", true),
];

/// What differs between two targets, as a page of HTML. The trees are those of the paths to draw.
#[must_use]
pub fn difference(
    metric: &str,
    targets: [&str; 2],
    difference: &Difference,
    trees: [&CallTree; 2],
) -> Page {
    let shift = &difference.median;
    let [before, after] = shift.instructions;
    let tile = |figure: String, name: String| Tile { figure, name };
    let tails = other_tails(difference);
    let sections = vec![
        Section {
            id: "flame",
            name: "Flame graph",
            title: "Flame graph".to_owned(),
            remark: "width: the greater number of instructions; colour: how much a function's own \
                     changed"
                .to_owned(),
            body: flame(&Flame::between(trees[0], trees[1]), metric),
        },
        Section {
            id: "functions",
            name: "Functions",
            title: "Functions".to_owned(),
            remark: "of the median samples, per operation".to_owned(),
            body: html! {
                p { (text(&difference.text())) }
                (changed(&shift.parts))
                (facts(&tails))
            },
        },
    ];
    Page {
        title: format!("Why {metric} changed"),
        lead: vec![format!("from {} to {}", targets[0], targets[1])],
        tiles: vec![
            tile(shown(before), format!("instructions, {}", targets[0])),
            tile(shown(after), format!("instructions, {}", targets[1])),
            tile(signed(after - before), "difference".to_owned()),
            tile(
                count(shift.parts.len() as u64),
                "functions differ".to_owned(),
            ),
        ],
        sections,
        ..Page::default()
    }
}

fn changed(parts: &[Part]) -> Markup {
    let greatest = parts
        .iter()
        .map(|part| part.difference().abs())
        .fold(1.0, f64::max);
    html! {
        @if parts.is_empty() { p { "Both median samples execute the same." } }
        @else {
            table .wide {
                (table_head(&PARTS))
                tbody {
                    @for part in parts {
                        @let change = part.difference();
                        tr {
                            td { span .id { (plain(&part.name)) } (note(part)) (diverging(change / greatest)) }
                            td data-v=(change) .regressed[change > 0.0] .improved[change < 0.0] { (signed(change)) }
                            td .o data-v=(part.instructions[0]) { (shown(part.instructions[0])) }
                            td .o data-v=(part.instructions[1]) { (shown(part.instructions[1])) }
                        }
                    }
                }
            }
        }
    }
}

/// A bar from the middle: to the right for more, to the left for less. The share is from -1 to 1.
fn diverging(share: f64) -> Markup {
    let class = if share > 0.0 { "regressed" } else { "improved" };
    html! {
        svg .(class) width="100%" height="7" aria-hidden="true" {
            rect .ink x=(At(50.0 + share.min(0.0) * 50.0)) width=(At(share.abs() * 50.0)) height="6" {}
        }
    }
}
