// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page of a history: what changed when, the series of each metric that changed, and all
//! metrics as sparklines.

use std::cmp::Reverse;

use maud::{html, Markup};

use super::frame::{
    anchor, facts, filter_field, id, table_head, text, Column, Page, Section, Tile,
};
use super::series;
use super::words::{in_words, moment, percent, shown};
use crate::base::number::{self, count, plural};
use crate::base::text::plain;
use crate::files::digest::{Head, Series, Timeline};
use crate::judge::compare::Verdict;
use crate::judge::history::{Cause, Change, History, MetricHistory, Silence};
use crate::report::grouped;
use crate::stream::run::{Unit, LINUX};

/// A change with its metric.
type Changed<'a> = (&'a Series, &'a Change);

/// A history as a page of HTML.
#[must_use]
pub fn page(timeline: &Timeline, history: &History) -> Page {
    // Only some of the metrics may have been judged.
    let mut judged = history.metrics.iter().peekable();
    let all = timeline.series.iter().filter_map(|series| {
        let metric = judged.next_if(|metric| metric.metric == series.metric)?;
        Some((series, metric))
    });
    let all: Vec<(&Series, &MetricHistory)> = all.collect();
    let changes: Vec<Changed> = all
        .iter()
        .flat_map(|(series, metric)| metric.changes.iter().map(|change| (*series, change)))
        .collect();
    let news = |verdict: Verdict| {
        let news = changes.iter().filter(|(_, change)| change.is_news());
        news.filter(|(_, change)| change.verdict == verdict).count()
    };
    let by_itself = changes
        .iter()
        .filter(|(_, change)| !is_told(change))
        .count();
    let tile = |figure: usize, name: &str| Tile {
        figure: count(figure as u64),
        name: name.to_owned(),
    };
    let sections = [
        Some(what_changed(timeline, history, &all, &changes)),
        untold(timeline, &changes),
        plots(timeline, history, &all),
        Some(everything(&all, changes.is_empty())),
        Some(events(timeline, history)),
    ];
    Page {
        title: format!("History of {}", subject(timeline)),
        lead: lead(timeline),
        tiles: vec![
            tile(timeline.runs.len(), "runs"),
            tile(news(Verdict::Regressed), "regressed"),
            tile(news(Verdict::Improved), "improved"),
            tile(by_itself, "moved without a verdict"),
            tile(history.events.len(), "events"),
        ],
        sections: sections.into_iter().flatten().collect(),
        ..Page::default()
    }
}

/// A fact of the newest run.
fn fact<'a>(timeline: &'a Timeline, name: &str) -> Option<&'a str> {
    timeline.runs.last()?.fact(name)
}

fn subject(timeline: &Timeline) -> &str {
    timeline.runs.last().map_or(LINUX, Head::target)
}

fn lead(timeline: &Timeline) -> Vec<String> {
    let mut parts = Vec::new();
    let machine = fact(timeline, "machine").or_else(|| fact(timeline, "cpu_model"));
    parts.extend(machine.map(str::to_owned));
    let kernel = timeline.runs.last().and_then(Head::kernel);
    parts.extend(kernel.map(|kernel| format!("now {kernel}")));
    if let [first, .., last] = &timeline.runs[..] {
        parts.push(format!(
            "{} to {}",
            moment(first.started),
            moment(last.started)
        ));
    }
    parts
}

const CHANGES: [Column; 5] = {
    const fn column(title: &'static str, is_optional: bool) -> Column {
        Column {
            title,
            sorts: true,
            is_optional,
        }
    }
    [
        column("metric", false),
        column("before", true),
        column("since", true),
        column("change", false),
        column("verdict", false),
    ]
};

/// A table of changes, the largest first.
fn table(changes: &[&Changed]) -> Markup {
    let mut sorted = changes.to_vec();
    sorted.sort_by(|(_, a), (_, b)| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    html! {
        table {
            (table_head(&CHANGES))
            tbody {
                @for (series, change) in sorted {
                    tr data-id=(plain(&series.metric)) {
                        td .id { a href={ "#" (place(series)) } { (id(&series.metric)) } }
                        td .o data-v=(change.before) { (shown(series.unit, change.before)) }
                        td .o data-v=(change.after) { (shown(series.unit, change.after)) }
                        td data-v=(change.ratio) .(change.verdict.name()) { (percent(change)) }
                        td .verdict .(change.verdict.name()) { (text(&verdict(change))) }
                    }
                }
            }
        }
    }
}

/// The anchor of a series. A metric has several if its clock counted different things.
fn place(series: &Series) -> String {
    let unit = match series.unit {
        Unit::Cycles => "",
        Unit::Instructions => "~i",
        Unit::Ticks => "~t",
    };
    anchor(&series.metric) + unit
}

/// Whether a change has a verdict, or waits for one.
fn is_told(change: &Change) -> bool {
    change.verdict.is_change() || !change.is_confirmed
}

fn verdict(change: &Change) -> String {
    if let Some(reason) = &change.acknowledged {
        return format!("known: {reason}");
    }
    let words = match change.cause {
        _ if change.verdict.is_change() => change.verdict.name(),
        _ if !change.is_confirmed => "not confirmed yet",
        Cause::Itself => "by itself",
        Cause::Returned(_) => "back to an earlier level",
        Cause::Event(_) => "within its floor",
    };
    words.to_owned()
}

/// The changes with a verdict, the latest first.
fn what_changed(
    timeline: &Timeline,
    history: &History,
    all: &[(&Series, &MetricHistory)],
    changes: &[Changed],
) -> Section {
    let mut told: Vec<Changed> = changes.to_vec();
    told.retain(|(_, change)| is_told(change));
    told.sort_by_key(|(_, change)| Reverse(change.run));
    let event = |run: usize| history.events.iter().find(|event| event.run == run);
    let silent = all.iter().filter_map(|(_, metric)| metric.silence);
    let silent: Vec<String> = silent.map(Silence::reason).collect();
    Section {
        id: "changes",
        name: "Changes",
        title: "What changed when".to_owned(),
        remark: "the largest first; click a heading to sort".to_owned(),
        body: html! {
            @if told.is_empty() { p { "No change has a verdict." } }
            @for (run, changes) in grouped(&told, |(_, change)| change.run) {
                h3 {
                    (moment(timeline.runs[run].started))
                    @if let Some(event) = event(run) { ": " (text(&in_words(event))) }
                }
                (table(&changes))
            }
            @for (reason, metrics) in grouped(&silent, Clone::clone) {
                p .mut { (plural(metrics.len() as u64, "metric")) " without a verdict on the newest run: " (text(&reason)) "." }
            }
        },
    }
}

/// What moved without a verdict, folded.
fn untold(timeline: &Timeline, changes: &[Changed]) -> Option<Section> {
    let mut moved: Vec<Changed> = changes.to_vec();
    moved.retain(|(_, change)| !is_told(change));
    moved.sort_by_key(|(_, change)| Reverse(change.run));
    if moved.is_empty() {
        return None;
    }
    Some(Section {
        id: "moved",
        name: "Moved",
        title: "Moved without a verdict".to_owned(),
        remark: "what begins at no event raises the floor of its metric".to_owned(),
        body: html! {
            details {
                summary { (plural(moved.len() as u64, "change")) " without a verdict" }
                div {
                    @for (run, changes) in grouped(&moved, |(_, change)| change.run) {
                        h3 { (moment(timeline.runs[run].started)) }
                        (table(&changes))
                    }
                }
            }
        },
    })
}

/// The picture of each metric that changed: those with a verdict first, the largest change first.
fn plots(
    timeline: &Timeline,
    history: &History,
    all: &[(&Series, &MetricHistory)],
) -> Option<Section> {
    let size = |(_, metric): &(&Series, &MetricHistory)| {
        let sizes = metric.changes.iter().map(|change| {
            let has_verdict = change.verdict.is_change();
            (has_verdict, change.ratio.ln().abs())
        });
        sizes.fold((false, 0.0f64), |(verdict, size), (other, more)| {
            (verdict | other, size.max(more))
        })
    };
    let mut changed: Vec<_> = all
        .iter()
        .copied()
        .filter(|(_, m)| !m.changes.is_empty())
        .collect();
    changed.sort_by(|a, b| {
        let ((a, small), (b, large)) = (size(a), size(b));
        b.cmp(&a).then(large.total_cmp(&small))
    });
    if changed.is_empty() {
        return None;
    }
    Some(Section {
        id: "series",
        name: "Series",
        title: "Series".to_owned(),
        remark: "dots: median of a run; line: level; band: floor around it; one step per run"
            .to_owned(),
        body: html! {
            @for (series, metric) in changed {
                figure data-id=(plain(&series.metric)) {
                    figcaption id=(place(series)) {
                        span .id { (id(&series.metric)) }
                        " " span .mut { "floor " (number::percent(metric.floor * 100.0)) }
                    }
                    (series::plot(timeline, history, series, metric))
                }
            }
        },
    })
}

const ALL: [Column; 4] = [
    Column {
        title: "metric",
        sorts: true,
        is_optional: false,
    },
    Column {
        title: "runs",
        sorts: false,
        is_optional: false,
    },
    Column {
        title: "latest",
        sorts: true,
        is_optional: false,
    },
    Column {
        title: "floor",
        sorts: true,
        is_optional: true,
    },
];

/// All metrics as sparklines, folded unless there is nothing else to see.
fn everything(all: &[(&Series, &MetricHistory)], is_quiet: bool) -> Section {
    let latest = |series: &Series| {
        series
            .values
            .iter()
            .rfind(|value| value.is_finite())
            .copied()
    };
    Section {
        id: "all",
        name: "All metrics",
        title: "All metrics".to_owned(),
        remark: String::new(),
        body: html! {
            details open[is_quiet] {
                summary { (plural(all.len() as u64, "metric")) }
                div {
                    (filter_field())
                    table {
                        (table_head(&ALL))
                        tbody {
                            @for (series, metric) in all {
                                @let latest = latest(series).unwrap_or(f64::NAN);
                                tr data-id=(plain(&series.metric)) {
                                    td .id { (id(&series.metric)) }
                                    td { (series::sparkline(&series.values)) }
                                    td data-v=(latest) { (shown(series.unit, latest)) }
                                    td .o data-v=(metric.floor) { (number::percent(metric.floor * 100.0)) }
                                }
                            }
                        }
                    }
                }
            }
        },
    }
}

/// All events, the latest first, and where a machine changed.
fn events(timeline: &Timeline, history: &History) -> Section {
    let mut lines: Vec<(usize, String)> = Vec::new();
    lines.extend(
        history
            .events
            .iter()
            .map(|event| (event.run, in_words(event))),
    );
    let segments = history.segments.iter().filter(|run| **run > 0);
    lines.extend(segments.map(|run| (*run, "another machine: a new segment".to_owned())));
    lines.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
    let lines = lines
        .into_iter()
        .map(|(run, words)| (moment(timeline.runs[run].started), words));
    let lines: Vec<(String, String)> = lines.collect();
    Section {
        id: "events",
        name: "Events",
        title: "Events".to_owned(),
        remark: "what may change a cost: kernel, configuration, compiler, machine, tool".to_owned(),
        body: html! {
            @if lines.is_empty() { p { "None: all runs have the same kernel and tool." } }
            (facts(&lines))
        },
    }
}
