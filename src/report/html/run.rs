// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page of a run: the landscape of its costs, all metrics, each metric, and its facts.

use std::collections::{BTreeMap, HashMap};

use maud::{html, Markup};

use super::distribution::{figure, sparkline, Samples};
use super::frame::{
    anchor, facts, filter_field, id, table_head, text, Column, Page, Section, Tile,
};
use super::landscape::landscape;
use super::metric::{self, Precision};
use crate::base::number::{count, plural};
use crate::base::text::plain;
use crate::judge::interference::disturbances;
use crate::judge::quantity::Quantity;
use crate::judge::summary::{summarise, Status, Summary};
use crate::report::distribution::counts;
use crate::report::interference::sentences;
use crate::report::problems::{copies, damage, problems, status_name, Problem};
use crate::report::row::{self, IDIOM, OF_A_BATCH};
use crate::report::{grouped, object, provenance};
use crate::stream::run::{Fact, Metric, Run, Unit};

/// A run as a page.
#[must_use]
pub fn page(run: &Run, detail: Precision) -> Page {
    let summaries = summarise(run);
    let by_id: HashMap<&str, &Metric> = run
        .metrics
        .iter()
        .map(|metric| (metric.id.as_str(), metric))
        .collect();
    let metrics: Vec<(&Summary, &Metric)> = summaries
        .iter()
        .filter_map(|summary| Some((summary, *by_id.get(summary.id.as_str())?)))
        .collect();
    let mut sections = Vec::new();
    let measured: Vec<&Summary> = summaries
        .iter()
        .filter(|one| one.status == Status::Ok)
        .collect();
    let landscapes: Vec<(Unit, Markup)> = grouped(&measured, |one| one.unit)
        .into_iter()
        .enumerate()
        .filter_map(|(number, (unit, all))| {
            let all: Vec<&Summary> = all.into_iter().copied().collect();
            Some((unit, landscape(&all, number)?))
        })
        .collect();
    if !landscapes.is_empty() {
        let title = match landscapes[0].0 {
            Unit::Cycles => "The cost of everything",
            Unit::Ticks => "The cost of everything, in cycles",
            Unit::Instructions => "The cost of everything, in instructions",
        };
        sections.push(Section {
            id: "cost",
            name: "Cost",
            title: title.to_owned(),
            remark: "a dot is a metric's median, its line reaches to p99; each opens its metric"
                .to_owned(),
            body: html! {
                @for (at, (unit, picture)) in landscapes.iter().enumerate() {
                    @if at > 0 { h3 { (row::title(*unit)) } }
                    (picture)
                }
            },
        });
    }
    if !measured.is_empty() {
        sections.push(Section {
            id: "all",
            name: "All metrics",
            title: "All metrics".to_owned(),
            remark: String::new(),
            body: html! { (filter_field()) (table(&metrics)) },
        });
    }
    let problems = problems(&summaries);
    if !problems.is_empty() {
        sections.push(Section {
            id: "problems",
            name: "Without a number",
            title: "Without a number".to_owned(),
            remark: "skipped, failed or lost, with the reason".to_owned(),
            body: html! { @for problem in &problems { (without_number(problem)) } },
        });
    }
    if !metrics.is_empty() {
        sections.push(Section {
            id: "each",
            name: "Each metric",
            title: "Each metric".to_owned(),
            remark: "heights of bars are square roots, so that rare samples show; the shade is the interval \
                     of the median".to_owned(),
            body: html! {
                @for (summary, metric) in &metrics {
                    (metric::page(run, metric, summary, &value(summary), detail))
                }
            },
        });
    }
    sections.push(Section {
        id: "facts",
        name: "Facts",
        title: "Facts".to_owned(),
        remark: "machine, kernel, build and method".to_owned(),
        body: all_facts(run, &summaries),
    });
    Page {
        title: title(run),
        lead: lead(run),
        tiles: tiles(run, &summaries),
        warnings: warnings(run),
        sections,
        ..Page::default()
    }
}

/// What was measured, where.
pub(super) fn title(run: &Run) -> String {
    let parts = provenance::parts(run);
    let first = |label: &str| {
        let line = parts.iter().find(|(known, _)| *known == label);
        line.and_then(|(_, parts)| parts.first().cloned())
    };
    if let Some(file) = first("imported") {
        return format!("What {file} measured");
    }
    // The version of a build is among the facts.
    let kernel = first("kernel").and_then(|kernel| Some(kernel.split(" #").next()?.to_owned()));
    let kernel = kernel.unwrap_or_else(|| "this kernel".to_owned());
    let place = first("machine").map(|machine| format!(" on {machine}"));
    let place = place.or_else(|| first("emulator").map(|emulator| format!(" in {emulator}")));
    format!("What {kernel} costs{}", place.unwrap_or_default())
}

/// The system, the time and the tool.
pub(super) fn lead(run: &Run) -> Vec<String> {
    let known = |name: &str| Fact::value_in(&run.host, name).map(str::to_owned);
    let hypervisor = || known("hypervisor").map(|name| format!("virtual ({name})"));
    let of_machine = run.measures_host_kernel().then(hypervisor).flatten();
    let parts = [known("target"), of_machine, known("started"), known("tool")];
    parts.into_iter().flatten().collect()
}

fn tiles(run: &Run, summaries: &[Summary]) -> Vec<Tile> {
    let tile = |figure: String, name: String| Tile { figure, name };
    let measured = summaries
        .iter()
        .filter(|one| one.status == Status::Ok)
        .count();
    let mut tiles = vec![tile(
        format!(
            "{} of {}",
            count(measured as u64),
            count(summaries.len() as u64)
        ),
        "metrics have a number".to_owned(),
    )];
    // The metrics of a case share its proofs.
    let mut cases: BTreeMap<&str, bool> = BTreeMap::new();
    for metric in &run.metrics {
        let proofs = metric.replicates.iter().flat_map(|one| &one.proofs);
        for proof in proofs {
            let holds = (proof.low..=proof.high).contains(&proof.counted);
            *cases.entry(&metric.case).or_insert(true) &= holds;
        }
    }
    let held = cases.values().filter(|holds| **holds).count() as u64;
    let all = cases.len() as u64;
    if all > 0 {
        tiles.push(if held == all {
            tile(
                "all hold".to_owned(),
                format!("proofs of {}", plural(all, "case")),
            )
        } else {
            tile(
                format!("{} of {}", count(held), count(all)),
                "cases whose proofs held in every replicate; the others lost some".to_owned(),
            )
        });
    }
    let most = run
        .metrics
        .iter()
        .map(|metric| metric.replicates.len())
        .max();
    tiles.push(tile(
        count(most.unwrap_or(0) as u64),
        "replicates, each a new process or boot".to_owned(),
    ));
    let samples = summaries.iter().map(|one| one.samples).sum();
    tiles.push(tile(count(samples), "samples, none dropped".to_owned()));
    tiles
}

/// What spoils figures of the run.
fn warnings(run: &Run) -> Vec<String> {
    let disturbed = disturbances(run);
    let disturbed = disturbed.iter().map(sentences);
    let damaged = damage(run).into_iter().chain(copies(run));
    disturbed.chain(damaged).collect()
}

/// The value of a metric, or why it has none.
fn value(summary: &Summary) -> String {
    let median = summary.median.filter(|_| summary.status == Status::Ok);
    median.map_or_else(
        || status_name(summary.status).to_owned(),
        |median| match summary.nanoseconds(1.0) {
            Some(_) => figure(summary, median),
            None => format!("{} {}", figure(summary, median), summary.tick()),
        },
    )
}

const COLUMNS: [Column; 7] = {
    const fn column(title: &'static str, is_optional: bool) -> Column {
        Column {
            title,
            sorts: true,
            is_optional,
        }
    }
    [
        column("metric", false),
        column("median", false),
        column("\u{b1}", true),
        column("p99", false),
        column("worst", true),
        column("cold", true),
        Column {
            title: "distribution",
            sorts: false,
            is_optional: false,
        },
    ]
};

/// All metrics with a value, a row each.
fn table(metrics: &[(&Summary, &Metric)]) -> Markup {
    let measured = metrics
        .iter()
        .filter(|(summary, _)| summary.status == Status::Ok);
    let measured: Vec<&(&Summary, &Metric)> = measured.collect();
    let groups = grouped(&measured, |(summary, _)| {
        (summary.unit, object(&summary.id))
    });
    let has_batches = measured.iter().any(|(summary, _)| summary.batch > 1);
    let has_idioms = measured.iter().any(|(summary, _)| is_idiom(summary));
    let mut units: Vec<Unit> = Vec::new();
    for (summary, _) in &measured {
        if !units.contains(&summary.unit) {
            units.push(summary.unit);
        }
    }
    html! {
        table {
            (table_head(&COLUMNS))
            tbody {
                @for ((unit, object), metrics) in &groups {
                    tr .grp {
                        td colspan="7" {
                            @if object.is_empty() { "others" } @else { (plain(object)) }
                            @if units.len() > 1 { ", " (row::title(*unit)) }
                        }
                    }
                    @for (summary, metric) in metrics { (table_row(summary, metric)) }
                }
            }
        }
        p .mut {
            @if let [unit] = units[..] { (row::title(unit)) "; " }
            "\u{b1}: half the width of the median's 95 % interval over replicates"
            @if has_batches { "; " (OF_A_BATCH) ": of means of a batch of operations" }
            @if has_idioms { "; " (row::idiom_legend()) }
        }
    }
}

fn is_idiom(summary: &Summary) -> bool {
    summary.entry.as_ref().is_some_and(|entry| entry.idiom)
}

fn table_row(summary: &Summary, metric: &Metric) -> Markup {
    let spread = row::Row::of(summary).map_or_else(String::new, |row| row.spread);
    let percent = spread
        .trim_start_matches('<')
        .trim_end_matches('%')
        .to_owned();
    let cell = |value: Option<f64>, is_optional: bool, is_tail: bool| {
        let shown = |ticks: f64| summary.nanoseconds(ticks).unwrap_or(ticks);
        let is_batch = is_tail && summary.batch > 1;
        html! {
            td class=[is_optional.then_some("o")] data-v=(value.map_or(-1.0, |value| rounded(shown(value)))) {
                @match value {
                    Some(value) => {
                        (figure(summary, value))
                        @if is_batch { (OF_A_BATCH) }
                    }
                    None => (row::UNAVAILABLE)
                }
            }
        }
    };
    html! {
        tr data-id=(plain(&summary.id)) {
            td {
                a .id href={ "#" (anchor(&summary.id)) } { (id(&summary.id)) }
                @if is_idiom(summary) { (IDIOM) }
            }
            (cell(summary.median, false, false))
            td .o data-v=(percent.parse::<f64>().unwrap_or(-1.0)) { (spread) }
            (cell(summary.percentile_value(Quantity::P99), false, true))
            (cell(summary.max, true, true))
            (cell(summary.cold, true, false))
            td { @if let Some(samples) = Samples::of(metric, summary) { (sparkline(&samples, summary)) } }
        }
    }
}

/// A value to sort by, with four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn without_number(problem: &Problem) -> Markup {
    html! {
        p {
            b {
                @if problem.status == Status::Ok { "replicates lost" }
                @else { (problem.metrics.len()) " " (status_name(problem.status)) }
            }
            ": " (text(&problem.reason))
        }
        p .mut {
            @for (at, (metric, lost, tried)) in problem.metrics.iter().enumerate() {
                @if at > 0 { ", " }
                a .id href={ "#" (anchor(metric)) } { (id(metric)) }
                @if problem.status == Status::Ok { " (" (lost) " of " (tried) ")" }
            }
        }
    }
}

/// Where the run came from, then every fact of the host and of the agent.
fn all_facts(run: &Run, summaries: &[Summary]) -> Markup {
    let named = |facts: &[Fact]| -> Vec<(String, String)> {
        let facts = facts.iter().filter(|fact| !fact.value.is_empty());
        let mut all: Vec<(String, String)> = facts
            .map(|fact| (fact.name.clone(), fact.value.clone()))
            .collect();
        all.sort();
        all.dedup();
        all
    };
    let of_sessions: Vec<Fact> = run
        .sessions
        .iter()
        .flat_map(|one| one.facts.clone())
        .collect();
    let (host, agent) = (named(&run.host), named(&of_sessions));
    let longest = run
        .metrics
        .iter()
        .max_by_key(|metric| metric.replicates.len());
    let counts = longest.map_or_else(Vec::new, |metric| counts(run, metric));
    html! {
        (facts(&provenance::lines(run, summaries)))
        @if !counts.is_empty() { h3 { "Counted in each replicate" } (facts(&counts)) }
        div .long {
            @if !host.is_empty() { h3 { "Recorded by the host" } (facts(&host)) }
        @if !agent.is_empty() { h3 { "Recorded by the agent" } (facts(&agent)) }
        }
    }
}
