// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports for people. Each takes values of the other rooms and returns text, without I/O.

pub mod budget;
pub mod catalog;
pub mod check;
pub mod compare;
pub mod coverage;
pub mod distribution;
pub mod doctor;
pub mod explain;
pub mod flame;
pub mod history;
pub mod html;
pub mod insn;
pub mod interference;
pub mod listing;
pub mod matrix;
pub mod noise;
pub mod plan;
pub mod problems;
pub mod provenance;
pub mod reference;
pub mod row;
pub mod runs;
pub mod style;
pub mod table;
pub mod tails;
pub mod tree;
pub mod verdicts;
pub mod warnings;
pub mod why;

/// The object that a metric belongs to: its id up to the first dot, or, for names of other tools,
/// up to the first slash. Empty if the id has neither.
#[must_use]
pub fn object(id: &str) -> &str {
    id.split_once(['.', '/']).map_or("", |(object, _)| object)
}

/// Items grouped by key. Groups are in the order of their first items.
pub(crate) fn grouped<T, K: PartialEq>(items: &[T], key: impl Fn(&T) -> K) -> Vec<(K, Vec<&T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
