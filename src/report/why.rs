// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report of `kernmark why`: what the samples of a metric executed, by function, by path, and
//! what changed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::style::{write_labelled, Ink, Style};
use crate::base::number::{count, plural};
use crate::base::text::{paragraph, plain};
use crate::judge::why::{Difference, Part, Side};
use crate::stream::paths::{Mode, UNKNOWN};
use crate::trace::calls::{Call, Counts, Entry};
use crate::trace::tree::CallTree;

/// How the samples were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Nothing but the case of the metric.
    Alone,
    /// As in this saved run.
    AsIn(String),
}

/// What is known of a metric.
#[derive(Clone, Debug)]
pub struct Why<'a> {
    /// What lies between its stamps.
    pub between: &'a str,
    /// How it was measured.
    pub measured: &'a Measured,
    /// All paths.
    pub side: Side<'a>,
    /// The path that is shown, as calls.
    pub tree: CallTree<'a>,
    /// The same path, by function.
    pub mode: Mode,
    /// Calls on that path, and how many of them reach the middle of a function.
    pub calls: (u64, u64),
    /// What was counted of that path, by name; empty if nothing was.
    pub counts: Vec<(String, u64)>,
}

/// Functions with fewer instructions than this share of all are one line, if there are many.
const LEAST_SHARE: u64 = 200;
/// As many functions are always shown.
const ALWAYS: usize = 40;
/// Paths that are shown.
const PATHS: usize = 12;

/// The functions of a path, its stretches between switches of stacks, and all paths.
#[must_use]
pub fn table(why: &Why, style: &Style) -> String {
    let mut out = String::new();
    head(&mut out, why, style);
    functions(&mut out, why, style);
    stretches(&mut out, &why.tree, style);
    counts(&mut out, why, style);
    paths(&mut out, &why.side, style);
    out
}

fn title(out: &mut String, text: &str, style: &Style) {
    let _ = writeln!(out, "\n{}", style.paint(Ink::Bold, text));
}

fn head(out: &mut String, why: &Why, style: &Style) {
    let tree = &why.tree;
    out.push_str(&style.paint(Ink::Bold, &plain(tree.metric)));
    let _ = writeln!(out, " on {}", plain(tree.target));
    for (label, text) in facts(why) {
        write_labelled(out, label, &text, *style);
    }
}

/// What is shown, how it was measured and why it can be believed, by label; not yet safe to show.
pub(super) fn facts(why: &Why) -> Vec<(&'static str, String)> {
    let tree = &why.tree;
    let how = match why.measured {
        Measured::Alone => {
            "alone: what ran before a metric can change its path; `kernmark why METRIC \
             FILE` repeats a saved run"
                .to_owned()
        }
        Measured::AsIn(file) => format!("as in {file}, with the same distribution"),
    };
    let known = &why.side.paths;
    let mut all = known.modes.iter().chain([&known.others]);
    let proof = if all.any(|mode| mode.idle > 0) {
        "no sample executed more instructions than the value that the clock gave; the rest is time in \
         which the processor waited"
    } else {
        "in every sample, the sum of the functions is the value that the clock gave"
    };
    let mut facts = vec![
        ("between", why.between.to_owned()),
        ("shown", tree.sentence()),
        ("measured", how),
        ("proof", proof.to_owned()),
    ];
    let (calls, missed) = why.calls;
    if missed > 0 {
        let text = format!(
            "{missed} of {} reach the middle of a function: the table of symbols may be wrong; sums \
             by address hold",
            plural(calls, "call")
        );
        facts.push(("symbols", text));
    }
    let functions = tree.functions;
    let executed = why.mode.functions.iter();
    let unknown = executed.filter(|(index, _)| functions[**index].program == UNKNOWN);
    let unknown: u64 = unknown.map(|(_, instructions)| instructions).sum();
    if unknown > 0 {
        let text = format!(
            "{} at addresses that no symbol has",
            plural(unknown, "instruction")
        );
        facts.push(("unknown", text));
    }
    facts
}

/// Instructions of each function on a path: its own, and with those of what it called.
fn sums(tree: &CallTree) -> BTreeMap<usize, [u64; 2]> {
    fn add(
        tree: &CallTree,
        call: &Call,
        open: &mut Vec<usize>,
        sums: &mut BTreeMap<usize, [u64; 2]>,
    ) {
        let own = tree.own(call).instructions;
        let is_outermost = !open.contains(&call.function);
        let all = if is_outermost {
            tree.inclusive(call).instructions
        } else {
            0
        };
        let sum = sums.entry(call.function).or_default();
        sum[0] += own;
        sum[1] += all;
        open.push(call.function);
        for called in &call.calls {
            // What runs on another stack was not called.
            if called.entry != Entry::Switched {
                add(tree, called, open, sums);
            }
        }
        open.pop();
    }
    let mut sums = BTreeMap::new();
    for root in tree.stacks().into_iter().flatten() {
        add(tree, root, &mut Vec::new(), &mut sums);
    }
    sums
}

/// The functions of a path, each with its own instructions and those with callees, the greatest
/// first.
pub(super) fn by_function(tree: &CallTree) -> Vec<(usize, [u64; 2])> {
    let mut rows: Vec<_> = sums(tree).into_iter().collect();
    let name = |index: usize| &tree.functions[index].name;
    rows.sort_by(|(a, one), (b, other)| other[0].cmp(&one[0]).then_with(|| name(*a).cmp(name(*b))));
    rows
}

fn functions(out: &mut String, why: &Why, style: &Style) {
    let tree = &why.tree;
    let rows = by_function(tree);
    let total: u64 = rows.iter().map(|(_, [own, _])| own).sum();
    let name = |index: usize| &tree.functions[index].name;
    title(out, "functions", style);
    let _ = writeln!(out, "{:>10}  {:>12}  function", "self", "with callees");
    let shown = rows
        .iter()
        .position(|(_, [own, _])| own * LEAST_SHARE < total)
        .map_or(rows.len(), |small| small.max(ALWAYS.min(rows.len())));
    for (function, [own, all]) in &rows[..shown] {
        let _ = writeln!(
            out,
            "{:>10}  {:>12}  {}",
            count(*own),
            count(*all),
            plain(name(*function))
        );
    }
    let rest = &rows[shown..];
    if !rest.is_empty() {
        let own: u64 = rest.iter().map(|(_, [own, _])| own).sum();
        let _ = writeln!(
            out,
            "{:>10}  {:>12}  {} with less than {} each",
            count(own),
            "",
            plural(rest.len() as u64, "function"),
            count(total / LEAST_SHARE + 1)
        );
    }
    let _ = writeln!(out, "{:>10}  {:>12}  sum", count(total), "");
    let repeated = why.mode.repetitions();
    if repeated > 0 {
        let _ = writeln!(
            out,
            "{:>10}  {:>12}  of them only repeat a string instruction, which the emulator counts one \
             by one",
            count(repeated),
            ""
        );
    }
}

fn stretches(out: &mut String, tree: &CallTree, style: &Style) {
    let parts = parts(tree);
    if parts.is_empty() {
        return;
    }
    title(out, "parts", style);
    for (instructions, what) in parts {
        let _ = writeln!(out, "{:>10}  {}", count(instructions), plain(&what));
    }
}

/// The instructions before, in and after each switch of stacks, and what they are; nothing if the
/// path does not switch.
pub(super) fn parts(tree: &CallTree) -> Vec<(u64, String)> {
    let stretches = tree.stretches();
    if stretches.iter().all(|one| one.switch.is_none()) {
        return Vec::new();
    }
    let last = stretches.len() - 1;
    let parts = stretches.iter().enumerate().map(|(place, stretch)| {
        let what = match stretch.switch {
            Some(function) => format!("switch by {}", tree.functions[function].name),
            None if place == 0 => "entry, until the switch".to_owned(),
            None if place == last => "exit, after the switch".to_owned(),
            None => "between two switches".to_owned(),
        };
        (stretch.places.len() as u64, what)
    });
    parts.collect()
}

/// What counts leave out.
pub(super) const UNCOUNTED: &str = "what the emulator does on its own is not among them: the \
    registers that an exception of an M-profile processor saves, and walks of page tables";

/// What was counted beside instructions, and by function.
fn counts(out: &mut String, why: &Why, style: &Style) {
    if why.counts.is_empty() {
        return;
    }
    title(out, "counts", style);
    for (name, number) in &why.counts {
        let _ = writeln!(out, "{:>10}  {name}", count(*number));
    }
    write_labelled(out, "", UNCOUNTED, *style);
    let rows = counts_by_function(&why.tree);
    let _ = writeln!(
        out,
        "\n{:>10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}  function",
        "self", "loads", "stores", "device", "taken", "priv.", "serial.", "atomic"
    );
    for (function, counts) in rows.iter().take(ALWAYS) {
        let _ = writeln!(
            out,
            "{:>10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}  {}",
            count(counts.instructions),
            count(counts.loads),
            count(counts.stores),
            count(counts.devices),
            count(counts.taken),
            count(counts.privileged),
            count(counts.serialising),
            count(counts.atomic),
            plain(&why.tree.functions[*function].name)
        );
    }
}

/// What each function did on a path, the one with the most instructions first.
pub(super) fn counts_by_function(tree: &CallTree) -> Vec<(usize, Counts)> {
    let mut functions: BTreeMap<usize, Counts> = BTreeMap::new();
    for root in tree.calls {
        add_counts(tree, root, &mut functions);
    }
    let mut rows: Vec<_> = functions.into_iter().collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.instructions));
    rows
}

/// Adds what a call and all below it did to the counts of their functions.
fn add_counts(tree: &CallTree, call: &Call, functions: &mut BTreeMap<usize, Counts>) {
    *functions.entry(call.function).or_default() += tree.own(call);
    for called in &call.calls {
        add_counts(tree, called, functions);
    }
}

fn paths(out: &mut String, side: &Side, style: &Style) {
    let lines = side.modes();
    if lines.len() < 2 {
        return;
    }
    title(out, "paths: samples x instructions", style);
    for line in lines.iter().take(PATHS) {
        paragraph(out, "  ", &plain(line), style.width());
    }
    if lines.len() > PATHS {
        let _ = writeln!(out, "  {} more paths", lines.len() - PATHS);
    }
    for (name, text) in tails(side) {
        write_labelled(out, name, &text, *style);
    }
}

/// What the samples at the 99th percentile and the slowest ones execute more than the most frequent
/// path, and in which functions.
pub(super) fn tails(side: &Side) -> Vec<(&'static str, String)> {
    let tails = [("p99", side.p99()), ("worst", side.worst())];
    let texts = tails.into_iter().filter_map(|(name, mode)| {
        let shift = side.from_main(mode?).filter(|shift| !shift.is_none())?;
        let added: f64 = shift.difference();
        let listed = shift.parts.iter().take(6).map(|part| {
            let share = part.difference() / added * 100.0;
            format!("{share:.0} % {}", part.name)
        });
        let listed: Vec<String> = listed.collect();
        Some((name, format!("{}: {}", signed(added), listed.join(", "))))
    });
    texts.collect()
}

/// What changed from one target to another, by function.
#[must_use]
pub fn difference(
    metric: &str,
    [base, new]: [&str; 2],
    difference: &Difference,
    style: &Style,
) -> String {
    let mut out = String::new();
    out.push_str(&style.paint(Ink::Bold, &plain(metric)));
    out.push('\n');
    let shift = &difference.median;
    let [before, after] = shift.instructions;
    write_labelled(
        &mut out,
        "base",
        &format!("{base}: {}", shown(before)),
        *style,
    );
    write_labelled(&mut out, "new", &format!("{new}: {}", shown(after)), *style);
    write_labelled(&mut out, "change", &difference.text(), *style);
    if !shift.parts.is_empty() {
        title(
            &mut out,
            "functions of the median samples, per operation",
            style,
        );
        let _ = writeln!(
            out,
            "{:>12}  {:>10}  {:>10}  function",
            "change", "base", "new"
        );
    }
    for part in &shift.parts {
        let [before, after] = part.instructions;
        let note = note(part);
        let _ = writeln!(
            out,
            "{:>12}  {:>10}  {:>10}  {}{note}",
            signed(part.difference()),
            shown(before),
            shown(after),
            plain(&part.name)
        );
    }
    for (name, text) in other_tails(difference) {
        write_labelled(&mut out, name, &text, *style);
    }
    out
}

/// What changed in the tails, where that is not what changed in the median.
pub(super) fn other_tails(difference: &Difference) -> Vec<(&'static str, String)> {
    let median = difference.median.text(": ");
    let tails = [("p99", &difference.p99), ("worst", &difference.worst)];
    let texts = tails.into_iter().filter_map(|(name, tail)| {
        let tail = tail.as_ref().filter(|shift| !shift.is_none())?;
        Some((name, tail.text(": ")))
    });
    texts.filter(|(_, text)| *text != median).collect()
}

/// What is special about a part of a difference: a text that follows its name.
pub(super) fn note(part: &Part) -> &'static str {
    match part.instructions {
        _ if part.is_repetition() => ", repetitions only",
        [before, _] if before <= 0.0 => ", new",
        [_, after] if after <= 0.0 => ", gone",
        _ => "",
    }
}

pub(super) fn shown(value: f64) -> String {
    if value.fract() == 0.0 {
        count(value as u64)
    } else {
        format!("{value:.1}")
    }
}

pub(super) fn signed(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", shown(value.abs()))
}
