// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads the catalog of a target, and selects the cases that a run measures.

use crate::stream::record::{self, Line};
use crate::stream::run::{Entry, CLOCK};
use crate::stream::session::Reader;
use crate::target::{Ending, Order, Target};

/// What an agent can measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// The lines of the catalog session, as received.
    pub lines: Vec<Vec<u8>>,
    /// The metrics, in the agent's order.
    pub entries: Vec<Entry>,
    /// The name of the agent's port.
    pub port: String,
}

/// Asks a target for its catalog. `Ok(None)` if the user interrupted it.
///
/// # Errors
///
/// The agent cannot be started, fails, or prints no catalog.
pub fn read_catalog(target: &mut dyn Target) -> Result<Option<Catalog>, String> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut reader = Reader::default();
    let ending = target.session(&Order::List, &mut |line| {
        lines.push(line.to_vec());
        reader.line(line);
    })?;
    if ending == Ending::Interrupted {
        return Ok(None);
    }
    if let Some(fault) = ending.fault() {
        return Err(format!(
            "the agent did not print its whole catalog: {fault}"
        ));
    }
    let unsupported = reader.unsupported();
    let entries = reader.finish().catalog;
    if entries.is_empty() {
        return Err(unsupported.map_or(
            "the agent printed no catalog; is it a kernmark agent?".to_owned(),
            |version| version.to_string(),
        ));
    }
    let port = lines
        .iter()
        .find_map(|line| match record::parse(line) {
            Line::Record(record) if record.kind() == "hello" => record.get("port"),
            _ => None,
        })
        .unwrap_or("unknown")
        .to_owned();
    Ok(Some(Catalog {
        lines,
        entries,
        port,
    }))
}

/// The cases of the metrics that `selected` accepts: each case once, in the catalog's order. The
/// clock's own case always comes first if the catalog has it, even if it is not selected.
#[must_use]
pub fn cases(catalog: &[Entry], selected: impl Fn(&Entry) -> bool) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    let clock = catalog.iter().filter(|entry| entry.metric == CLOCK);
    for entry in clock.chain(catalog.iter().filter(|entry| selected(entry))) {
        if !cases.contains(&entry.case) {
            cases.push(entry.case.clone());
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(metric: &str, case: &str) -> Entry {
        Entry {
            metric: metric.to_owned(),
            case: case.to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn clock_comes_first_and_no_case_is_repeated() {
        let catalog = [
            entry("mutex.lock", "mutex.lock"),
            entry("mutex.unlock", "mutex.lock"),
            entry(CLOCK, CLOCK),
            entry("fifo.put", "fifo.put"),
        ];
        let with = |start: &'static str| cases(&catalog, |entry| entry.metric.starts_with(start));
        assert_eq!(with(""), [CLOCK, "mutex.lock", "fifo.put"]);
        assert_eq!(with("mutex.unlock"), [CLOCK, "mutex.lock"]);
    }
}
