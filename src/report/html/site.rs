// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first page of a site of runs: the latest run of each target against the one before, all runs
//! by target, and what could not be read.

use maud::{html, Markup};

use super::frame::{table_head, text, warning_box, Column, Page, Section, Tile};
use super::words::moment;
use crate::base::number::{self, count, plural};
use crate::base::text::plain;
use crate::files::digest::Head;
use crate::judge::compare::{Comparison, Verdict};
use crate::report::row::UNAVAILABLE;

/// A run and its page.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What is known of it.
    pub head: Head,
    /// Its page.
    pub page: String,
}

/// The latest run of a target against the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Latest {
    /// The page of the comparison.
    pub page: String,
    /// The number of metrics with each verdict.
    pub verdicts: Vec<(Verdict, usize)>,
    /// The greatest change with a verdict: the metric (untrusted text) and its size in per cent.
    pub greatest: Option<(String, f64)>,
    /// By how much the processor's speed changed, in per cent.
    pub speed: Option<f64>,
}

impl Latest {
    /// What an index says of a comparison.
    #[must_use]
    pub fn of(comparison: &Comparison, page: String) -> Self {
        let changed = comparison
            .metrics
            .iter()
            .filter(|metric| metric.verdict.is_change());
        let sizes = changed.filter_map(|metric| {
            let ratio = metric.decisive()?.ratio?;
            Some((metric.id.clone(), (ratio - 1.0) * 100.0))
        });
        Latest {
            page,
            verdicts: Verdict::ALL
                .into_iter()
                .map(|verdict| (verdict, comparison.count(verdict)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            greatest: sizes.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs())),
            speed: comparison.speed.change().map(|change| change * 100.0),
        }
    }
}

/// The runs of a target on a machine, the newest first.
#[derive(Clone, Debug)]
pub struct Group {
    /// The target (untrusted text).
    pub target: String,
    /// The machine (untrusted text); empty if the runs do not say.
    pub machine: String,
    /// The runs.
    pub runs: Vec<Listed>,
    /// The two newest complete runs compared.
    pub latest: Option<Latest>,
    /// The page of the history.
    pub history: Option<String>,
}

impl Group {
    /// What distinguishes it from the others (untrusted text).
    #[must_use]
    pub fn name(&self) -> String {
        match self.machine.as_str() {
            "" => self.target.clone(),
            machine => format!("{} on {machine}", self.target),
        }
    }
}

/// A site of runs.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The folder of the runs (untrusted text).
    pub folder: String,
    /// The runs.
    pub groups: Vec<Group>,
    /// The page with the latest run of each target side by side.
    pub matrix: Option<String>,
    /// Files that are no runs, and why (untrusted text).
    pub broken: Vec<(String, String)>,
}

/// The first page of a site.
#[must_use]
pub fn page(site: &Site) -> Page {
    let runs: usize = site.groups.iter().map(|group| group.runs.len()).sum();
    let tile = |figure: usize, name: &str| Tile {
        figure: count(figure as u64),
        name: if figure == 1 {
            name.to_owned()
        } else {
            format!("{name}s")
        },
    };
    let mut sections = vec![targets(site), all_runs(site)];
    sections.retain(|_| !site.groups.is_empty());
    sections.extend(broken(site));
    Page {
        title: "Runs of kernmark".to_owned(),
        lead: vec![site.folder.clone()],
        tiles: vec![tile(runs, "run"), tile(site.groups.len(), "target")],
        warnings: if runs == 0 {
            vec!["This folder has no runs.".to_owned()]
        } else {
            Vec::new()
        },
        sections,
        home: None,
    }
}

/// The latest run of each target, and what changed since the one before.
fn targets(site: &Site) -> Section {
    Section {
        id: "targets",
        name: "Targets",
        title: "Targets".to_owned(),
        remark: "the latest run against the one before".to_owned(),
        body: html! {
            @if let Some(matrix) = &site.matrix {
                p { a href=(matrix) { "The latest runs of all targets side by side" } }
            }
            div .cards {
                @for group in &site.groups {
                    div .tile {
                        h3 { (text(&group.target)) }
                        @if !group.machine.is_empty() { span { (text(&group.machine)) } }
                        @if let Some(run) = group.runs.first() {
                            span { a href=(run.page) { (moment(run.head.started)) } ", " (text(run.head.kernel().unwrap_or(UNAVAILABLE))) }
                        }
                        @match &group.latest {
                            Some(latest) => (summary(latest)),
                            None => span { "no earlier complete run to compare with" },
                        }
                        @if let Some(history) = &group.history {
                            span { a href=(history) { "History of " (plural(group.runs.len() as u64, "run")) } }
                        }
                    }
                }
            }
        },
    }
}

fn summary(latest: &Latest) -> Markup {
    let of = |verdict| latest.verdicts.iter().find(|(known, _)| *known == verdict);
    let changes = [Verdict::Regressed, Verdict::Improved].map(|verdict| (verdict, of(verdict)));
    html! {
        b {
            @for (index, (verdict, found)) in changes.iter().enumerate() {
                @if index > 0 { ", " }
                @let number = found.map_or(0, |(_, count)| *count);
                strong class=[(number > 0).then(|| verdict.name())] { (count(number as u64)) " " (verdict.name()) }
            }
        }
        @if let Some((metric, size)) = &latest.greatest {
            span { "most: " span .id { (plain(metric)) } " " (number::change(*size)) }
        }
        @if let Some(speed) = latest.speed {
            span { "processor's speed: one reading of the clock takes " (number::change(speed)) }
        }
        span { a href=(latest.page) { "Compare with the run before" } }
    }
}

const RUNS: [Column; 5] = {
    const fn column(title: &'static str, is_optional: bool) -> Column {
        Column {
            title,
            sorts: true,
            is_optional,
        }
    }
    [
        column("when", false),
        column("kernel", false),
        column("metrics", false),
        column("load", false),
        column("name", true),
    ]
};

/// All runs, by target.
fn all_runs(site: &Site) -> Section {
    Section {
        id: "runs",
        name: "Runs",
        title: "Runs".to_owned(),
        remark: "times in UTC".to_owned(),
        body: html! {
            @for group in &site.groups {
                h3 {
                    (text(&group.target))
                    @if !group.machine.is_empty() { " on " (text(&group.machine)) }
                }
                table .runs {
                    (table_head(&RUNS))
                    tbody { @for run in &group.runs { (row(run)) } }
                }
            }
        },
    }
}

fn row(run: &Listed) -> Markup {
    let head = &run.head;
    let load = head.fact("load").unwrap_or(UNAVAILABLE);
    // Load averages of the last minute and of longer times.
    let load = load.split_whitespace().next().unwrap_or_default();
    let labels = head.labels().map(|(key, value)| format!("{key}={value}"));
    let labels = labels.collect::<Vec<_>>().join(" ");
    html! {
        tr data-id=(plain(&head.name)) {
            td data-v=(head.started) {
                a href=(run.page) { (moment(head.started)) }
                @if !labels.is_empty() { " " small .mut { (text(&labels)) } }
            }
            td { (text(head.kernel().unwrap_or(UNAVAILABLE))) }
            td data-v=(head.metrics) {
                (count(u64::from(head.metrics)))
                @if let Some(why) = head.shortcoming() { " " small .mut { (text(&why)) } }
            }
            td { (text(load)) }
            td .o .id { (text(&head.name)) }
        }
    }
}

/// Files that are no runs.
fn broken(site: &Site) -> Option<Section> {
    (!site.broken.is_empty()).then(|| Section {
        id: "broken",
        name: "Unreadable",
        title: "Unreadable".to_owned(),
        remark: String::new(),
        body: html! {
            @for (file, why) in &site.broken { (warning_box(&format!("{file}: {why}"))) }
        },
    })
}
