// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which benchmarks of another suite kernmark measures, on which target, and why not the others.
//!
//! The figures of a suite and the table of counterparts come in; a list of benchmarks goes out.

use crate::base::number::plural;
use crate::files::reference::{Counterpart, Figure};
use crate::stream::filter;

/// A benchmark of another suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// The name in that suite.
    pub name: String,
    /// The closest metrics, at most one per target.
    pub measured: Vec<Nearest>,
    /// Why there is no metric; empty if there is one.
    pub reason: String,
}

/// The metric of a target that is closest to a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The metric's id.
    pub metric: String,
    /// The target that measures it.
    pub target: String,
    /// How it differs from the benchmark; empty if it does not.
    pub note: String,
}

/// The benchmarks of a suite, each once, in the order of the figures.
#[must_use]
pub fn benchmarks(suite: &str, figures: &[Figure], counterparts: &[Counterpart]) -> Vec<Benchmark> {
    let mut benchmarks: Vec<Benchmark> = Vec::new();
    for figure in figures {
        if benchmarks.iter().any(|one| one.name == figure.benchmark) {
            continue;
        }
        let mut benchmark = Benchmark {
            name: figure.benchmark.clone(),
            measured: Vec::new(),
            reason: String::new(),
        };
        let own = |c: &&Counterpart| c.suite == suite && c.benchmark == figure.benchmark;
        for counterpart in counterparts.iter().filter(own) {
            if counterpart.metric.is_empty() {
                benchmark.reason.clone_from(&counterpart.note);
            } else {
                benchmark.measured.push(Nearest {
                    metric: counterpart.metric.clone(),
                    target: counterpart.target.clone(),
                    note: counterpart.note.clone(),
                });
            }
        }
        benchmarks.push(benchmark);
    }
    benchmarks
}

/// Selects benchmarks by their own name or by that of a metric. No filter selects all.
///
/// # Errors
///
/// A filter matches nothing. The message suggests similar names.
pub fn select(benchmarks: Vec<Benchmark>, filters: &[String]) -> Result<Vec<Benchmark>, String> {
    let names = |one: &Benchmark| -> Vec<String> {
        let metrics = one.measured.iter().map(|nearest| nearest.metric.clone());
        metrics.chain([one.name.clone()]).collect()
    };
    let all: Vec<String> = benchmarks.iter().flat_map(names).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    filter::verify(filters, &all)?;
    let is_selected = |one: &Benchmark| {
        let names = names(one);
        filters.is_empty()
            || filters
                .iter()
                .any(|filter| names.iter().any(|name| filter::matches(filter, name)))
    };
    Ok(benchmarks.into_iter().filter(is_selected).collect())
}

/// A summary: how many benchmarks there are, how many each target measures, and how many have no
/// counterpart.
#[must_use]
pub fn tally(benchmarks: &[Benchmark]) -> String {
    let mut targets: Vec<(&str, usize)> = Vec::new();
    for nearest in benchmarks.iter().flat_map(|one| &one.measured) {
        match targets.iter_mut().find(|(name, _)| *name == nearest.target) {
            Some((_, count)) => *count += 1,
            None => targets.push((&nearest.target, 1)),
        }
    }
    let measured = benchmarks.iter().filter(|one| !one.measured.is_empty());
    let measured = measured.count();
    let by: Vec<String> = targets
        .iter()
        .map(|(target, count)| format!("{count} by {target}"))
        .collect();
    let by = match by.len() {
        0 => String::new(),
        _ => format!(" ({})", by.join(", ")),
    };
    format!(
        "{}: {measured} measured{by}, {} without a counterpart",
        plural(benchmarks.len() as u64, "benchmark"),
        benchmarks.len() - measured
    )
}

/// The notes and reasons of the benchmarks, each once, in order.
#[must_use]
pub fn notes(benchmarks: &[Benchmark]) -> Vec<&str> {
    let mut notes: Vec<&str> = Vec::new();
    for one in benchmarks {
        let all = one.measured.iter().map(|nearest| nearest.note.as_str());
        for note in all.chain([one.reason.as_str()]) {
            if !note.is_empty() && !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::reference::parse_counterparts;

    fn benchmarks() -> Vec<Benchmark> {
        let figures: Vec<Figure> = ["s.k", "s.k", "s.u", "only.there"]
            .map(|benchmark| Figure {
                dataset: "zephyr/x".to_owned(),
                benchmark: benchmark.to_owned(),
                ..Figure::default()
            })
            .into();
        let counterparts = parse_counterparts(
            "dataset,benchmark,target,metric,note\n\
             zephyr,s.k,linux-vm,s.k,\n\
             zephyr,s.k,linux,s.u,users\n\
             zephyr,s.u,linux,s.u,\n\
             zephyr,only.there,,,no such thing\n\
             zircon,s.u,linux,wrong,\n",
        )
        .unwrap();
        super::benchmarks("zephyr", &figures, &counterparts)
    }

    #[test]
    fn each_benchmark_is_listed_once_with_all_its_counterparts() {
        let all = benchmarks();
        let metrics: Vec<usize> = all.iter().map(|one| one.measured.len()).collect();
        assert_eq!(metrics, [2, 1, 0]);
        assert_eq!(all[2].reason, "no such thing");
        assert_eq!(notes(&all), ["users", "no such thing"]);
        assert_eq!(
            tally(&all),
            "3 benchmarks: 2 measured (1 by linux-vm, 2 by linux), 1 without a counterpart"
        );
        assert_eq!(
            tally(&all[2..]),
            "1 benchmark: 0 measured, 1 without a counterpart"
        );
    }

    #[test]
    fn filters_match_both_names() {
        let selected = |filter: &str| {
            let all = select(benchmarks(), &[filter.to_owned()]).unwrap();
            all.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(selected("s.u"), ["s.k", "s.u"]);
        assert_eq!(selected("only"), ["only.there"]);
        assert!(select(benchmarks(), &["nothing".to_owned()]).is_err());
        assert_eq!(select(benchmarks(), &[]).unwrap().len(), 3);
    }
}
