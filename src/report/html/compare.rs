// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page of a comparison: what changed, the forest plot, and each metric on both sides.

use std::collections::HashMap;

use maud::{html, Markup};

use super::distribution::{overlay, Samples};
use super::forest::forest;
use super::frame::{
    anchor, facts, filter_field, id, table_head, text, Column, Page, Section, Tile,
};
use crate::base::number::{change, count, plural};
use crate::base::text::plain;
use crate::judge::compare::{Basis, Compared, Comparison, Judged, Verdict};
use crate::judge::gate::Ruling;
use crate::judge::summary::{summarise, Summary};
use crate::judge::why;
use crate::report::compare::{
    adjusted, in_order, legend, method, objection_text, percent, remarks, resolution, settings,
    speed, ungated_text, warnings, without_paths, Origin, Row,
};
use crate::stream::run::{Metric, Run};

/// The number of metrics without a change that are drawn for each verdict.
const LARGEST: usize = 24;

/// A comparison as a page.
#[must_use]
pub fn page(comparison: &Comparison, sides: &[Origin; 2], ruling: &Ruling) -> Page {
    let mut metrics = in_order(comparison);
    metrics.sort_by(|a, b| {
        let by_size = size(b).total_cmp(&size(a));
        a.verdict.cmp(&b.verdict).then(by_size)
    });
    let is_change = |metric: &&&Compared| metric.verdict.is_change();
    let changed: Vec<&Compared> = metrics.iter().filter(is_change).copied().collect();
    let rest: Vec<&Compared> = metrics
        .iter()
        .filter(|one| !is_change(one))
        .copied()
        .collect();
    let mut sections = vec![Section {
        id: "changes",
        name: "Changes",
        title: "Changes".to_owned(),
        remark: "the change of each metric with its interval; the band is the margin".to_owned(),
        body: changes(comparison, &changed),
    }];
    if !rest.is_empty() {
        sections.push(Section {
            id: "rest",
            name: "The rest",
            title: "The rest".to_owned(),
            remark: "metrics that did not change, or of which we cannot tell".to_owned(),
            body: html! {
                @for verdict in Verdict::ALL {
                    @let of: Vec<&Compared> = rest.iter().filter(|one| one.verdict == verdict).copied().collect();
                    @if !of.is_empty() {
                        details {
                            summary .(verdict.name()) { b { (count(of.len() as u64)) } " " (verdict.name()) }
                            div {
                                @if let Some(picture) = forest(&of[..of.len().min(LARGEST)], verdict.name()) {
                                    @if of.len() > LARGEST { p .mut { "the largest differences:" } }
                                    (picture)
                                }
                                div .scroll { (table(&of)) }
                            }
                        }
                    }
                }
            },
        });
    }
    if !metrics.is_empty() {
        let runs = Samplings::of(sides);
        sections.push(Section {
            id: "each",
            name: "Each metric",
            title: "Each metric".to_owned(),
            remark: "both distributions, and each quantity that was judged".to_owned(),
            body: html! {
                (filter_field())
                @for metric in &metrics { (metric_page(metric, &runs)) }
            },
        });
    }
    let remarks = remarks(comparison);
    if !remarks.is_empty() {
        sections.push(Section {
            id: "remarks",
            name: "Remarks",
            title: "Remarks".to_owned(),
            remark: String::new(),
            body: html! {
                @for remark in &remarks {
                    details {
                        summary { b { (text(&remark.head)) } ": " (text(&remark.text)) }
                        div { p .id .mut { (text(&remark.ids.join(", "))) } }
                    }
                }
            },
        });
    }
    sections.push(Section {
        id: "facts",
        name: "Facts",
        title: "Facts".to_owned(),
        remark: "both runs, and how they were compared".to_owned(),
        body: both(comparison, sides, ruling),
    });
    Page {
        title: title(comparison, changed.len(), metrics.len()),
        lead: sides
            .iter()
            .map(|side| format!("{}: {}", side.column.name, side.files.join(", ")))
            .collect(),
        tiles: tiles(comparison),
        warnings: cautions(comparison, sides, ruling),
        sections,
        ..Page::default()
    }
}

/// The size of a change; without a ratio the greatest.
fn size(metric: &Compared) -> f64 {
    let ratio = metric.decisive().and_then(|one| one.ratio);
    ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs())
}

fn title(comparison: &Comparison, changed: usize, compared: usize) -> String {
    let metrics = plural(compared as u64, "metric");
    match changed {
        _ if comparison.is_empty() => "No metric could be compared".to_owned(),
        0 => format!("No change is certain in {metrics}"),
        changed => format!("{} of {metrics} changed", count(changed as u64)),
    }
}

fn tiles(comparison: &Comparison) -> Vec<Tile> {
    let rare = |verdict| verdict > Verdict::Equivalent;
    let mark = |verdict| match verdict {
        Verdict::Regressed => " \u{25b2}",
        Verdict::Improved => " \u{25bc}",
        _ => "",
    };
    Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict, comparison.count(verdict)))
        .filter(|(verdict, of)| *of > 0 || !rare(*verdict))
        .map(|(verdict, of)| Tile {
            figure: format!("{}{}", count(of as u64), mark(verdict)),
            name: verdict.name().to_owned(),
        })
        .collect()
}

/// Causes of changes, what spoils the verdicts, and why a gate fails.
fn cautions(comparison: &Comparison, sides: &[Origin; 2], ruling: &Ruling) -> Vec<String> {
    let is_other_speed = comparison.speed.change().is_some();
    let speed = is_other_speed.then(|| format!("CPU speed {}.", speed(&comparison.speed)));
    let objections = ruling.objections.iter();
    let objections = objections.map(|one| format!("The gate fails: {}.", objection_text(one)));
    speed
        .into_iter()
        .chain(warnings(comparison, sides))
        .chain(objections)
        .collect()
}

fn changes(comparison: &Comparison, changed: &[&Compared]) -> Markup {
    html! {
        p { "We can detect, " (text(&resolution(comparison))) "." }
        @if changed.is_empty() {
            p { "No metric regressed or improved." }
        } @else {
            @if let Some(picture) = forest(changed, "changed") { (picture) }
            div .scroll { (table(changed)) }
            @let legend = legend(comparison);
            @if !legend.is_empty() { p .mut { (text(&legend.join("; "))) "." } }
        }
    }
}

const COLUMNS: [Column; 7] = {
    const fn column(title: &'static str, is_optional: bool) -> Column {
        Column {
            title,
            sorts: false,
            is_optional,
        }
    }
    [
        column("metric", false),
        column("of", true),
        column("base", false),
        column("new", false),
        column("change", false),
        column("interval", true),
        column("p", true),
    ]
};

fn table(metrics: &[&Compared]) -> Markup {
    html! {
        table {
            (table_head(&COLUMNS))
            tbody {
                @for metric in metrics {
                    @let row = Row::of(metric);
                    tr data-id=(plain(&metric.id)) {
                        td {
                            a .id href={ "#" (anchor(&metric.id)) } { (id(&row.id)) } (row.mark)
                            @if let Some(why) = &row.why { br; small .mut { (text(why)) } }
                        }
                        td .o { (row.quantity) }
                        td { (row.base) }
                        td { (row.new) }
                        td .v .(metric.verdict.name()) { (row.change) }
                        td .o { (row.interval) }
                        td .o { (row.p) }
                    }
                }
            }
        }
    }
}

/// The metrics of both sides with their summaries, by id.
struct Samplings<'a> {
    sides: [HashMap<&'a str, (&'a Metric, Summary)>; 2],
}

impl<'a> Samplings<'a> {
    fn of(sides: &'a [Origin; 2]) -> Self {
        let of = |run: &'a Run| {
            let metrics: HashMap<&str, &Metric> = run
                .metrics
                .iter()
                .map(|metric| (metric.id.as_str(), metric))
                .collect();
            let summaries = summarise(run).into_iter();
            summaries
                .filter_map(|summary| {
                    let (id, metric) = metrics.get_key_value(summary.id.as_str())?;
                    Some((*id, (*metric, summary)))
                })
                .collect()
        };
        Samplings {
            sides: sides.each_ref().map(|side| of(&side.column.run)),
        }
    }

    /// The samples of both sides, if both have some.
    fn both(&self, id: &str) -> Option<[Samples; 2]> {
        let of = |side: usize| {
            let (metric, summary) = self.sides[side].get(id)?;
            Samples::of(metric, summary)
        };
        Some([of(0)?, of(1)?])
    }
}

/// The page of a metric, folded below its id, its verdict and its change.
fn metric_page(metric: &Compared, samplings: &Samplings) -> Markup {
    let row = Row::of(metric);
    let samples = samplings.both(&metric.id);
    html! {
        details data-id=(plain(&metric.id)) {
            summary {
                span .v .(metric.verdict.name()) {
                    @if metric.verdict.is_change() { (row.change) } @else { (metric.verdict.name()) }
                }
                span .id { (id(&row.id)) }
            }
            div id=(anchor(&metric.id)) {
                p { b .(metric.verdict.name()) { (text(&row.label)) } @if let Some(note) = &metric.note { ": " (text(note)) } }
                @if let Some(why) = metric.why.as_ref().and_then(why::line) { p { (text(&why)) } }
                @if let Some([base, new]) = &samples {
                    p .mut { "area: samples of the base; line: samples of the new run" }
                    div .(metric.verdict.name()) { (overlay(base, new)) }
                }
                @if !metric.judged.is_empty() { div .scroll { (quantities(metric)) } }
            }
        }
    }
}

const QUANTITIES: [&str; 8] = [
    "", "base", "new", "change", "interval", "margin", "p", "verdict",
];

/// Every quantity of a metric that was judged.
fn quantities(metric: &Compared) -> Markup {
    let range = |one: &Judged| {
        let interval = one.interval.filter(|_| metric.basis != Basis::Exact);
        interval
            .map(|(low, high)| format!("{}..{}", signed(low).trim_end_matches(" %"), signed(high)))
    };
    html! {
        table {
            thead { tr { @for title in QUANTITIES { th scope="col" { (title) } } } }
            tbody {
                @for one in &metric.judged {
                    @let row = Row::of_quantity(metric, Some(one));
                    tr {
                        td { (one.quantity.name()) }
                        td { (row.base) }
                        td { (row.new) }
                        td { (one.ratio.map_or_else(String::new, signed)) }
                        td { (range(one).unwrap_or_default()) }
                        td { (one.margin.map_or_else(String::new, percent)) }
                        td { (one.p.map_or_else(String::new, adjusted)) }
                        td .(one.verdict.name()) { (one.verdict.name()) }
                    }
                }
            }
        }
    }
}

/// A ratio as a change in per cent.
fn signed(ratio: f64) -> String {
    change((ratio - 1.0) * 100.0)
}

/// How the runs were compared, and what each of them is.
fn both(comparison: &Comparison, sides: &[Origin; 2], ruling: &Ruling) -> Markup {
    let mut lines = vec![
        ("compared", method(comparison)),
        ("CPU speed", speed(&comparison.speed)),
        ("detects", resolution(comparison)),
    ];
    lines.extend(
        comparison
            .published
            .iter()
            .map(|one| ("checked", one.clone())),
    );
    lines.extend(settings(comparison).map(|one| ("settings", one)));
    if ruling.ungated > 0 {
        lines.push(("gate", ungated_text(ruling)));
    }
    lines.extend(without_paths(comparison, sides).map(|one| ("where", one)));
    html! {
        (facts(&lines))
        @for side in sides {
            h3 { (text(&side.column.name)) ": " (text(&side.files.join(", "))) }
            @let provenance = side.provenance();
            @let lines: Vec<(&str, String)> = provenance.into_iter().map(|(label, parts)| (label, parts.join("; "))).collect();
            (facts(&lines))
        }
    }
}
