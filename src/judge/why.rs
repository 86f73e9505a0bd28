// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the instructions of a metric went: the difference between two sets of paths by function,
//! and what distinguishes the paths of one metric.
//!
//! Paths of two runs come in; a [`Difference`] goes out, with a sentence. It says which functions
//! changed and by how much, never why.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::base::number::{count, plural, Place};
use crate::base::text::shell_word;
use crate::judge::quantity::Quantity;
use crate::statistics::order;
use crate::stream::histogram::Histogram;
use crate::stream::paths::{Function, Mode, Paths};
use crate::stream::run::{Fact, Run};

/// The paths of a metric in one session, with what is needed to read them.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The functions that the paths index.
    pub functions: &'a [Function],
    /// The paths.
    pub paths: &'a Paths,
    /// The values of the samples that took them.
    pub samples: &'a Histogram,
    /// Operations in each sample.
    pub batch: u64,
}

/// Why a run says nothing about where its instructions went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It was measured without paths.
    Unrecorded,
    /// It has paths, but they cannot be used, for this reason (untrusted text).
    Unusable(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unknown::Unrecorded => "the run has no paths",
            Unknown::Unusable(reason) => reason,
        })
    }
}

impl<'a> Side<'a> {
    /// The paths of a metric.
    ///
    /// # Errors
    ///
    /// The run has none, or they were refused.
    pub fn of(run: &'a Run, metric: &str) -> Result<Self, Unknown> {
        let found = run.paths_of(metric).ok_or(Unknown::Unrecorded)?;
        let paths = found.paths.as_ref();
        Ok(Side {
            functions: &run.functions,
            paths: paths.map_err(|why| Unknown::Unusable(why.clone()))?,
            samples: &found.samples,
            batch: found.batch,
        })
    }

    /// The path of the median sample: the lower one of two.
    #[must_use]
    pub fn median(&self) -> Option<&'a Mode> {
        self.at(self
            .samples
            .order_statistic(self.samples.total().div_ceil(2))?
            .0)
    }

    /// How far the two samples in the middle are apart, of one operation; 0 if there is one.
    fn middle_gap(&self) -> f64 {
        let total = self.samples.total();
        let at = |rank| {
            self.samples
                .order_statistic(rank)
                .map_or(0, |value| value.0)
        };
        let gap = at(total / 2 + 1).saturating_sub(at(total.div_ceil(2)));
        gap as f64 / self.batch.max(1) as f64
    }

    /// The path of the sample at the 99th percentile, if there are enough samples.
    #[must_use]
    pub fn p99(&self) -> Option<&'a Mode> {
        self.at(order::quantile(self.samples, Quantity::P99.share()?)?.0)
    }

    /// The path of the slowest sample.
    #[must_use]
    pub fn worst(&self) -> Option<&'a Mode> {
        self.at(self.samples.max()?.0)
    }

    /// The most frequent path with this value. Where the processor waited, a value is more than the
    /// instructions. `None` if only paths have it that are not kept apart.
    fn at(&self, value: u64) -> Option<&'a Mode> {
        let modes = &self.paths.modes;
        let executed = modes
            .iter()
            .find(|mode| mode.idle == 0 && mode.instructions() == value);
        executed.or_else(|| {
            let waited = |mode: &&Mode| mode.idle > 0 && mode.instructions() <= value;
            modes.iter().filter(waited).max_by_key(|mode| mode.samples)
        })
    }

    /// What distinguishes a path of this metric from its most frequent one.
    #[must_use]
    pub fn from_main(&self, mode: &Mode) -> Option<Shift> {
        Some(Shift::of([self, self], [self.paths.modes.first()?, mode]))
    }

    /// All paths in one line: `981 x 403; 19 x 413: +10 in xTaskIncrementTick`. Figures are of a
    /// whole sample, and differences those to the first path.
    #[must_use]
    pub fn modes(&self) -> Vec<String> {
        let whole = Side { batch: 1, ..*self };
        let modes = self.paths.modes.iter().enumerate().map(|(at, mode)| {
            let waits = match mode.idle {
                0 => String::new(),
                idle => format!(" and {}", plural(idle, "wait")),
            };
            let head = format!(
                "{} x {}{waits}",
                count(mode.samples),
                count(mode.instructions())
            );
            let shift = whole.from_main(mode).filter(|_| at > 0);
            match shift.map(|shift| shift.text(" in ")) {
                Some(text) => format!("{head}: {text}"),
                None => head,
            }
        });
        let others = &self.paths.others;
        let rest = (others.samples > 0).then(|| {
            format!(
                "{} with other paths: {} instructions together",
                plural(others.samples, "sample"),
                count(others.instructions())
            )
        });
        modes.chain(rest).collect()
    }
}

/// The difference between two paths, of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shift {
    /// The instructions of each.
    pub instructions: [f64; 2],
    /// Those of them that only repeat a string instruction.
    pub repeated: [f64; 2],
    /// The parts that differ, the greatest first.
    pub parts: Vec<Part>,
    /// The source files within which functions moved instructions to each other without changing
    /// the sum, as inlining does.
    pub moved: Vec<String>,
    /// Whether functions are gone and others new, and no source file says whether these are the
    /// same: inlined, or renamed.
    pub may_be_moves: bool,
}

/// A function that differs, or the functions of a source file among which instructions moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name of the function or of the source file (untrusted text).
    pub name: String,
    /// The program that has it (untrusted text).
    pub program: String,
    /// The functions of the source file; empty if the part is a single function.
    pub of_file: Vec<String>,
    /// The instructions on each side.
    pub instructions: [f64; 2],
    /// Those of them that only repeat a string instruction.
    pub repeated: [f64; 2],
}

impl Part {
    /// The instructions that were added; negative if they are fewer.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.instructions[1] - self.instructions[0]
    }

    /// Whether nothing but the repetitions of string instructions differs.
    #[must_use]
    pub fn is_repetition(&self) -> bool {
        let once = |at: usize| self.instructions[at] - self.repeated[at];
        is_zero(once(1) - once(0)) && !is_zero(self.difference())
    }

    fn is_new(&self) -> bool {
        self.instructions[0] == 0.0
    }

    fn is_gone(&self) -> bool {
        self.instructions[1] == 0.0
    }

    /// Its name and what is special about it.
    fn label(&self) -> String {
        let name = &self.name;
        if !self.of_file.is_empty() {
            let functions = plural(self.of_file.len() as u64, "function");
            return format!("{name} ({functions}, moved among them)");
        }
        let mut marks = Vec::new();
        marks.extend(self.is_new().then_some("new"));
        marks.extend(self.is_gone().then_some("gone"));
        marks.extend(self.is_repetition().then_some("repetitions only"));
        match &marks[..] {
            [] => name.clone(),
            marks => format!("{name} ({})", marks.join(", ")),
        }
    }
}

/// A function on both sides: its instructions, its repetitions, and its source files.
#[derive(Default)]
struct Both {
    instructions: [u64; 2],
    repeated: [u64; 2],
    files: [Option<String>; 2],
}

impl Shift {
    /// The difference between a path of the first side and one of the second.
    #[must_use]
    pub fn of(sides: [&Side; 2], modes: [&Mode; 2]) -> Self {
        let mut functions: BTreeMap<(String, String), Both> = BTreeMap::new();
        for at in [0, 1] {
            for (index, instructions) in &modes[at].functions {
                let function = &sides[at].functions[*index];
                let both = functions.entry(identity(function)).or_default();
                both.instructions[at] += instructions;
                both.repeated[at] += modes[at].repeated.get(index).unwrap_or(&0);
                both.files[at].clone_from(&function.file);
            }
        }
        let per_operation = |counts: [u64; 2]| {
            [0, 1].map(|at: usize| counts[at] as f64 / sides[at].batch.max(1) as f64)
        };
        let mut parts: Vec<(Option<String>, Part)> = functions
            .into_iter()
            .map(|((program, name), both)| {
                let [base, new] = both.files;
                let part = Part {
                    name,
                    program,
                    of_file: Vec::new(),
                    instructions: per_operation(both.instructions),
                    repeated: per_operation(both.repeated),
                };
                (new.or(base), part)
            })
            .filter(|(_, part)| {
                let [base, new] = part.repeated;
                !is_zero(part.difference()) || !is_zero(new - base)
            })
            .collect();
        let moved = join_moves(&mut parts);
        let has_no_file = |is: fn(&Part) -> bool| {
            let mut parts = parts.iter();
            parts.any(|(file, part)| file.is_none() && is(part))
        };
        let may_be_moves = has_no_file(Part::is_new) && has_no_file(Part::is_gone);
        let mut parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
        parts.sort_by(|a, b| {
            let size = |part: &Part| part.difference().abs();
            size(b).total_cmp(&size(a)).then(a.name.cmp(&b.name))
        });
        Shift {
            instructions: per_operation(modes.map(Mode::instructions)),
            repeated: per_operation(modes.map(Mode::repetitions)),
            parts,
            moved,
            may_be_moves,
        }
    }

    /// The instructions that were added; negative if they are fewer.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.instructions[1] - self.instructions[0]
    }

    /// Whether nothing but the repetitions of string instructions differs.
    #[must_use]
    pub fn is_repetition(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(Part::is_repetition)
    }

    /// Whether both paths execute the same.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.parts.is_empty() && self.moved.is_empty()
    }

    /// One line: the sum, then the greatest parts. `between` follows the sum if there is one part.
    #[must_use]
    pub fn text(&self, between: &str) -> String {
        let sum = signed(self.difference());
        let items = self.items();
        let mut text = match &items[..] {
            [] => sum,
            [one] if one.is_group => format!("{sum} {}", one.label),
            [one] => format!("{sum}{between}{}", one.label),
            all => {
                let shown = if all.len() > MOST_ITEMS + 1 {
                    MOST_ITEMS
                } else {
                    all.len()
                };
                let items = all[..shown].iter();
                let items = items.map(|item| format!("{} {}", signed(item.sum), item.label));
                let items: Vec<String> = items.collect();
                let mut text = format!("{sum}: {}", items.join(", "));
                let rest = &all[shown..];
                if !rest.is_empty() {
                    let functions: usize = rest.iter().map(|item| item.functions).sum();
                    let sum: f64 = rest.iter().map(|item| item.sum).sum();
                    let functions = count(functions as u64);
                    let _ = write!(text, ", {} in {functions} others", signed(sum));
                }
                text
            }
        };
        let repeated = self.repeated[1] - self.repeated[0];
        if items.len() > 1 && self.is_repetition() {
            text += "; repetitions only";
        } else if !is_zero(repeated) && !self.is_repetition() {
            let once = signed(self.difference() - repeated);
            let _ = write!(text, "; {once} without repetitions");
        }
        if !self.moved.is_empty() {
            let _ = write!(text, "; moved within {}", listed(&self.moved));
        }
        text
    }

    /// The parts as items of a sentence, the greatest first. Many functions that grew by about the
    /// same are one item.
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut left: Vec<&Part> = self.parts.iter().collect();
        for (sign, mark) in [(1.0, '+'), (-1.0, '-')] {
            let changed = |part: &&&Part| {
                let is_changed = !part.is_new() && !part.is_gone() && !part.is_repetition();
                is_changed && part.of_file.is_empty() && part.difference() * sign > 0.0
            };
            let sizes = left.iter().filter(changed);
            let sizes: Vec<f64> = sizes.map(|part| part.difference().abs()).collect();
            let Some(alike) = alike(sizes) else { continue };
            let (least, most) = (alike[0], alike[alike.len() - 1]);
            let range = if least < most {
                format!("{mark}{} to {mark}{}", unsigned(least), unsigned(most))
            } else {
                format!("{mark}{}", unsigned(least))
            };
            items.push(Item {
                sum: sign * alike.iter().sum::<f64>(),
                label: format!("in {} functions ({range} each)", alike.len()),
                functions: alike.len(),
                is_group: true,
            });
            left.retain(|part| {
                let is_inside = (least..=most).contains(&part.difference().abs());
                !(changed(&part) && is_inside)
            });
        }
        items.extend(left.into_iter().map(|part| Item {
            sum: part.difference(),
            label: part.label(),
            functions: part.of_file.len().max(1),
            is_group: false,
        }));
        items.sort_by(|a, b| b.sum.abs().total_cmp(&a.sum.abs()));
        items
    }
}

/// A part of a sentence.
struct Item {
    sum: f64,
    label: String,
    functions: usize,
    /// Whether it is of several functions that changed alike.
    is_group: bool,
}

/// The most items of a sentence before the rest is added up.
const MOST_ITEMS: usize = 4;
/// So many functions that changed alike are one item.
const FEWEST_ALIKE: usize = MOST_ITEMS + 2;
/// The greatest of them changed by at most this many times as much as the least.
const ALIKE: f64 = 2.0;

/// The most sizes that are alike, rising, if there are enough.
fn alike(mut sizes: Vec<f64>) -> Option<Vec<f64>> {
    sizes.sort_by(f64::total_cmp);
    let from = |start: usize| {
        let least = sizes[start];
        let inside = sizes[start..].iter();
        &sizes[start..start + inside.take_while(|size| **size <= ALIKE * least).count()]
    };
    let most = (0..sizes.len()).map(from).max_by_key(|found| found.len())?;
    (most.len() >= FEWEST_ALIKE).then(|| most.to_vec())
}

/// Whether nothing differs: figures are quotients of whole numbers, with errors of rounding.
fn is_zero(difference: f64) -> bool {
    difference.abs() < 1e-9
}

/// A difference with its sign: `+8,237`, `-2,096.5`, `0`.
fn signed(value: f64) -> String {
    match value {
        none if is_zero(none) => "0".to_owned(),
        value if value < 0.0 => format!("-{}", unsigned(-value)),
        value => format!("+{}", unsigned(value)),
    }
}

fn unsigned(value: f64) -> String {
    let place = match value {
        whole if whole.fract() == 0.0 => Place::decimals(0),
        10.0.. => Place::decimals(1),
        small => Place::significant(small, 3),
    };
    place.show(value)
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    match names.split_at_checked(3) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} others", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// What a compiler appends to the name of a function when it splits, copies or specialises it.
const SUFFIXES: [&str; 8] = [
    ".constprop.",
    ".isra.",
    ".part.",
    ".cold",
    ".lto_priv.",
    ".llvm.",
    ".localalias",
    ".ipa-ra",
];

/// The program and the name by which a function is found on the other side. All parts that a
/// compiler made of one function are that function; all unknown addresses are one.
fn identity(function: &Function) -> (String, String) {
    let name = function.name.as_str();
    if name.starts_with("0x") {
        return (function.program.clone(), "unknown addresses".to_owned());
    }
    let end = SUFFIXES.iter().filter_map(|suffix| name.find(suffix));
    let end = end.min().filter(|end| *end > 0).unwrap_or(name.len());
    (function.program.clone(), name[..end].to_owned())
}

/// Joins the functions of a source file in which some are gone or new while others changed the
/// opposite way: inlining and renaming do that. Returns the files whose sum is the same.
fn join_moves(parts: &mut Vec<(Option<String>, Part)>) -> Vec<String> {
    let mut files: Vec<String> = parts.iter().filter_map(|(file, _)| file.clone()).collect();
    files.sort();
    files.dedup();
    let mut moved = Vec::new();
    for file in files {
        let of = |(of, _): &(Option<String>, Part)| of.as_deref() == Some(&file);
        let inside: Vec<&Part> = parts.iter().filter(|one| of(one)).map(|(_, p)| p).collect();
        let is_move = |sign: f64| {
            let one_sided = |part: &Part| {
                if sign > 0.0 {
                    part.is_new()
                } else {
                    part.is_gone()
                }
            };
            inside.iter().any(|part| one_sided(part))
                && inside.iter().any(|part| part.difference() * sign < 0.0)
        };
        if !is_move(1.0) && !is_move(-1.0) {
            continue;
        }
        let sum = |of: fn(&Part) -> [f64; 2]| {
            [0, 1].map(|at: usize| inside.iter().map(|part| of(part)[at]).sum::<f64>())
        };
        let part = Part {
            name: file.clone(),
            program: inside[0].program.clone(),
            of_file: inside.iter().map(|part| part.name.clone()).collect(),
            instructions: sum(|part| part.instructions),
            repeated: sum(|part| part.repeated),
        };
        parts.retain(|one| !of(one));
        if is_zero(part.difference()) {
            moved.push(file);
        } else {
            parts.push((Some(file), part));
        }
    }
    moved
}

/// The difference of a metric between two runs, of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Between the paths of the median samples.
    pub median: Shift,
    /// Between those at the 99th percentile. `None` with too few samples, or if they are not kept
    /// apart.
    pub p99: Option<Shift>,
    /// Between those of the slowest samples. `None` if they are not kept apart.
    pub worst: Option<Shift>,
}

impl Difference {
    /// The difference between two runs.
    ///
    /// # Errors
    ///
    /// The path of a median sample is among those that are not kept apart.
    pub fn of(base: &Side, new: &Side) -> Result<Self, Unknown> {
        let both =
            |from: Option<&Mode>, to: Option<&Mode>| Some(Shift::of([base, new], [from?, to?]));
        let median = both(base.median(), new.median());
        let median = median.ok_or_else(|| Unknown::Unusable(NOT_APART.to_owned()))?;
        Ok(Difference {
            median,
            p99: both(base.p99(), new.p99()),
            worst: both(base.worst(), new.worst()),
        })
    }

    /// The difference of a metric whose median changed by `change`.
    ///
    /// # Errors
    ///
    /// A run has no paths of it, or its median is another one than that of the session with paths.
    pub fn between(base: &Run, new: &Run, metric: &str, change: f64) -> Result<Self, Unknown> {
        let (base, new) = (Side::of(base, metric)?, Side::of(new, metric)?);
        let difference = Difference::of(&base, &new)?;
        // The median lies between two samples where these differ.
        let error = (difference.median.difference() - change).abs();
        let [from, to] = difference.median.instructions;
        let gap = f64::midpoint(base.middle_gap(), new.middle_gap());
        if error > 0.5 + gap + 1e-9 * from.max(to) {
            let why = "the session with paths has another median than the run";
            return Err(Unknown::Unusable(why.to_owned()));
        }
        Ok(difference)
    }

    /// One line: what changed in the median, or else in the tail.
    #[must_use]
    pub fn text(&self) -> String {
        if !self.median.is_none() {
            return self.median.text(": ");
        }
        let tails = [("p99", &self.p99), ("worst", &self.worst)];
        let changed = tails.into_iter().find_map(|(name, shift)| {
            let shift = shift.as_ref().filter(|shift| !shift.is_none())?;
            Some(format!("{name} {}", shift.text(": ")))
        });
        changed.unwrap_or_else(|| "the same paths, by other numbers of samples".to_owned())
    }
}

/// Why a median sample has no path.
pub const NOT_APART: &str = "the path of a median sample is not kept apart from rarer ones";

/// Where a metric changed, in one line. `None` if its runs have no paths.
#[must_use]
pub fn line(why: &Result<Difference, Unknown>) -> Option<String> {
    match why {
        Ok(difference) => Some(difference.text()),
        Err(Unknown::Unusable(reason)) => Some(format!("unknown where: {reason}")),
        Err(Unknown::Unrecorded) => None,
    }
}

/// What reports add if a difference has functions that [may be moves](Shift::may_be_moves).
pub const MOVES: &str = "(new), (gone): without the names of source files, a function that was \
    inlined or renamed looks like this";

/// The command that measures the target of a run again and keeps the paths, with other counts than
/// instructions if `counts` says so. `None` if the run does not come from a described target.
#[must_use]
pub fn recording(run: &Run, counts: Counts) -> Option<String> {
    let target = shell_word(Fact::value_in(&run.host, "target")?);
    let counts = match counts {
        Counts::All => " --counts",
        Counts::Instructions => "",
    };
    Some(format!("kernmark run --on {target} --why{counts}"))
}

/// What a run with paths counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Only instructions.
    Instructions,
    /// Everything that is counted.
    All,
}

/// How to find out where `changes` metrics changed, of which the greatest is `metric` (untrusted
/// text). `None` if a run does not come from a described target.
#[must_use]
pub fn in_words(changes: usize, metric: &str, base: &Run, new: &Run) -> Option<String> {
    let target = |run: &Run| Fact::value_in(&run.host, "target").map(shell_word);
    let (base, new) = (target(base)?, target(new)?);
    let what = plural(changes as u64, "change");
    Some(if base == new {
        format!(
            "{what} without paths: `kernmark run --on {new} --why` keeps them, and a comparison of two \
             such runs says where the changes are."
        )
    } else {
        format!(
            "{what} without paths: `kernmark why {metric} --on {new} --against {base}` says where that of \
             {metric} is; `kernmark run --why` keeps the paths of all metrics."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::ticks::Ticks;
    use proptest::prelude::*;

    /// A function by its name, with a file after `@`.
    fn function(text: &str) -> Function {
        let (name, file) = match text.split_once('@') {
            Some((name, file)) => (name, Some(file.to_owned())),
            None => (text, None),
        };
        Function {
            name: name.to_owned(),
            program: "kernel".to_owned(),
            file,
        }
    }

    /// Functions and a path through them.
    fn path(counts: &[(&str, u64)]) -> (Vec<Function>, Mode) {
        let functions = counts.iter().map(|(name, _)| function(name)).collect();
        let mode = Mode {
            samples: 1,
            functions: (0..).zip(counts.iter().map(|(_, n)| *n)).collect(),
            ..Mode::default()
        };
        (functions, mode)
    }

    fn shift(from: &[(&str, u64)], to: &[(&str, u64)], batch: u64) -> Shift {
        shift_of(&path(from), &path(to), batch)
    }

    fn shift_of(from: &(Vec<Function>, Mode), to: &(Vec<Function>, Mode), batch: u64) -> Shift {
        let (paths, samples) = (Paths::default(), Histogram::new());
        let side = |functions| Side {
            functions,
            paths: &paths,
            samples: &samples,
            batch,
        };
        Shift::of([&side(&from.0), &side(&to.0)], [&from.1, &to.1])
    }

    fn text(from: &[(&str, u64)], to: &[(&str, u64)]) -> String {
        shift(from, to, 1).text(": ")
    }

    #[test]
    fn a_sentence_names_the_greatest_parts_first() {
        assert_eq!(
            text(&[("a", 5)], &[("a", 5), ("audit", 61)]),
            "+61: audit (new)"
        );
        assert_eq!(text(&[("a", 5), ("b", 7)], &[("a", 5)]), "-7: b (gone)");
        assert_eq!(
            text(
                &[("a", 5), ("b", 7), ("c", 1)],
                &[("a", 1010), ("b", 4), ("c", 1)]
            ),
            "+1,002: +1,005 a, -3 b"
        );
        assert_eq!(text(&[("a", 5)], &[("a", 5)]), "0");
        assert_eq!(
            text(&[("a", 5), ("b", 3)], &[("a", 3), ("b", 5)]),
            "0: -2 a, +2 b"
        );
    }

    #[test]
    fn long_sentences_add_the_rest_up() {
        let names: Vec<String> = (0..9).map(|at| format!("f{at}")).collect();
        let from: Vec<(&str, u64)> = names.iter().map(|n| (n.as_str(), 1)).collect();
        let to: Vec<(&str, u64)> = (0..)
            .zip(&names)
            .map(|(at, n)| (n.as_str(), 1 + (1 << (2 * at))))
            .collect();
        assert_eq!(
            text(&from, &to),
            "+87,381: +65,536 f8, +16,384 f7, +4,096 f6, +1,024 f5, +341 in 5 others"
        );
    }

    #[test]
    fn functions_that_changed_alike_are_one_part() {
        let names: Vec<String> = (0..11).map(|at| format!("f{at}")).collect();
        let from: Vec<(&str, u64)> = names.iter().map(|n| (n.as_str(), 20)).collect();
        let mut to: Vec<(&str, u64)> = (0..)
            .zip(&names)
            .map(|(at, n)| (n.as_str(), 28 + at % 9))
            .collect();
        assert_eq!(text(&from, &to), "+125 in 11 functions (+8 to +16 each)");
        to[3].1 = 300;
        assert_eq!(
            text(&from, &to),
            "+394: +280 f3, +114 in 10 functions (+8 to +16 each)"
        );
    }

    #[test]
    fn repetitions_are_shown_apart() {
        let counts = |memset, a| path(&[("memset", memset), ("a", a)]);
        let mut from = counts(2100, 9);
        from.1.repeated.insert(0, 2096);
        let only = shift_of(&from, &counts(4, 9), 1);
        assert_eq!(only.text(": "), "-2,096: memset (repetitions only)");
        assert!(only.is_repetition());
        assert_eq!(
            shift_of(&from, &counts(4, 20), 1).text(": "),
            "-2,085: -2,096 memset (repetitions only), +11 a; +11 without repetitions"
        );
        // Plain stores instead of a string instruction are no repetition.
        assert_eq!(
            shift_of(&from, &counts(154, 9), 1).text(": "),
            "-1,946: memset; +150 without repetitions"
        );
    }

    #[test]
    fn moves_between_functions_of_a_file_are_one_part() {
        assert_eq!(
            text(&[("a@t.c", 50), ("b@t.c", 20)], &[("a@t.c", 65)]),
            "-5: t.c (2 functions, moved among them)"
        );
        let renamed = shift(
            &[("old@t.c", 50), ("b@u.c", 9)],
            &[("new@t.c", 50), ("b@u.c", 9)],
            1,
        );
        assert_eq!(renamed.text(": "), "0; moved within t.c");
        assert!(!renamed.may_be_moves && !renamed.is_none());
        let unknown = shift(&[("old", 50)], &[("new", 48)], 1);
        assert_eq!(unknown.text(": "), "-2: -50 old (gone), +48 new (new)");
        assert!(unknown.may_be_moves);
        // Growth alone is no move.
        assert_eq!(
            text(&[("a@t.c", 5)], &[("a@t.c", 6), ("b@t.c", 9)]),
            "+10: +9 b (new), +1 a"
        );
    }

    #[test]
    fn what_a_compiler_splits_is_one_function_and_addresses_are_one() {
        assert_eq!(
            text(
                &[("f", 9), (".L1", 2)],
                &[("f.constprop.0", 6), ("f.cold", 3), (".L1", 3)]
            ),
            "+1: .L1"
        );
        assert_eq!(
            text(&[("0x10", 9), ("0x20", 3)], &[("0x80", 14)]),
            "+2: unknown addresses"
        );
    }

    #[test]
    fn figures_are_of_one_operation() {
        let batched = shift(&[("a", 100)], &[("a", 105)], 10);
        assert_eq!(
            (batched.instructions, batched.text(": ")),
            ([10.0, 10.5], "+0.500: a".into())
        );
    }

    fn modes(all: &[(u64, &[(usize, u64)])]) -> (Paths, Histogram) {
        let modes: Vec<Mode> = all
            .iter()
            .map(|(samples, functions)| Mode {
                samples: *samples,
                functions: functions.iter().copied().collect(),
                ..Mode::default()
            })
            .collect();
        let samples = modes
            .iter()
            .map(|m| (Ticks(m.instructions()), m.samples))
            .collect();
        (
            Paths {
                modes,
                others: Mode::default(),
            },
            samples,
        )
    }

    fn side<'a>(functions: &'a [Function], paths: &'a Paths, samples: &'a Histogram) -> Side<'a> {
        Side {
            functions,
            paths,
            samples,
            batch: 1,
        }
    }

    #[test]
    fn modes_are_explained_by_the_most_frequent_one() {
        let functions: Vec<Function> = ["take", "xTaskIncrementTick"].map(function).into();
        let (mut paths, mut samples) = modes(&[(981, &[(0, 403)]), (19, &[(0, 403), (1, 10)])]);
        assert_eq!(
            side(&functions, &paths, &samples).modes(),
            ["981 x 403", "19 x 413: +10 in xTaskIncrementTick (new)"]
        );
        paths.others = Mode {
            samples: 2,
            functions: [(0, 900)].into(),
            ..Mode::default()
        };
        paths.modes[1].idle = 1;
        samples.add(Ticks(450), 2);
        let all = side(&functions, &paths, &samples);
        assert_eq!(
            all.modes()[1..],
            [
                "19 x 413 and 1 wait: +10 in xTaskIncrementTick (new)",
                "2 samples with other paths: 900 instructions together"
            ]
        );
        assert_eq!(all.median(), Some(&paths.modes[0]));
        // The slowest sample may be the one with the wait, for all that is known.
        assert_eq!(all.worst(), Some(&paths.modes[1]));
    }

    #[test]
    fn tails_are_apart_from_medians() {
        let functions: Vec<Function> = ["take", "tick"].map(function).into();
        let (base, base_samples) = modes(&[(99, &[(0, 403)]), (1, &[(0, 403), (1, 10)])]);
        let (new, new_samples) = modes(&[(99, &[(0, 403)]), (1, &[(0, 403), (1, 25)])]);
        let (base, new) = (
            side(&functions, &base, &base_samples),
            side(&functions, &new, &new_samples),
        );
        let difference = Difference::of(&base, &new).unwrap();
        assert_eq!(difference.text(), "worst +15: tick");
        assert!(difference.median.is_none() && difference.p99.is_none());
        let same = Difference::of(&base, &base).unwrap();
        assert_eq!(same.text(), "the same paths, by other numbers of samples");
    }

    #[test]
    fn commands_name_the_targets() {
        let of = |target: &str| Run {
            host: vec![Fact::new("target", target)],
            ..Run::default()
        };
        let (base, new) = (of("linux-vm:tcg,append=a b"), of("freertos"));
        assert_eq!(
            in_words(2, "a.b", &base, &new).unwrap(),
            "2 changes without paths: `kernmark why a.b --on freertos --against \
             'linux-vm:tcg,append=a b'` says where that of a.b is; `kernmark run --why` keeps the paths \
             of all metrics."
        );
        let same = in_words(1, "a.b", &new, &new).unwrap();
        assert!(
            same.starts_with("1 change without paths: `kernmark run --on freertos --why` keeps")
        );
        assert_eq!(in_words(1, "a.b", &new, &Run::default()), None);
        assert_eq!(
            recording(&base, Counts::All).unwrap(),
            "kernmark run --on 'linux-vm:tcg,append=a b' --why --counts"
        );
    }

    proptest! {
        /// Whatever a sentence shows or joins, the parts add up to the difference.
        #[test]
        fn parts_add_up_to_the_difference(
            from in prop::collection::btree_map("[a-e](\\.part\\.0)?(@[xy])?", 1u64..100, 0..9),
            to in prop::collection::btree_map("[a-e](\\.part\\.0)?(@[xy])?", 1u64..100, 0..9),
        ) {
            let counts = |side: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
                side.iter().map(|(name, n)| (name.clone(), *n)).collect()
            };
            let (from, to) = (counts(&from), counts(&to));
            let refs = |side: &'_ [(String, u64)]| path(&side.iter().map(|(n, c)| (n.as_str(), *c)).collect::<Vec<_>>());
            let shift = shift_of(&refs(&from), &refs(&to), 1);
            let sum: f64 = shift.parts.iter().map(Part::difference).sum();
            prop_assert!(is_zero(sum - shift.difference()));
            let items: f64 = shift.items().iter().map(|item| item.sum).sum();
            prop_assert!(is_zero(items - shift.difference()));
            let text = shift.text(": ");
            prop_assert!(text.starts_with(&signed(shift.difference())), "{}", text);
        }
    }
}
