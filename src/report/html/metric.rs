// SPDX-License-Identifier: MIT OR Apache-2.0

//! One metric of a run: its distribution, figures and proofs, and how it is measured.

use maud::{html, Markup};

use super::distribution::{exact, extent, picture, Samples};
use super::frame::{anchor, facts, id, text};
use crate::judge::summary::{Status, Summary};
use crate::judge::why::{Side, Unknown};
use crate::report::distribution::{about, description, figures, modes, proofs, Functions};
use crate::report::problems::status_name;
use crate::stream::run::{Metric, Run};

/// How much of the samples a page has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Bars, each for a range of values.
    #[default]
    Binned,
    /// Every value with its count, too.
    Exact,
}

/// The page of a metric, folded below its id and its value.
pub(super) fn page(
    run: &Run,
    metric: &Metric,
    summary: &Summary,
    value: &str,
    detail: Precision,
) -> Markup {
    let has_value = summary.status == Status::Ok;
    let samples = Samples::of(metric, summary).filter(|_| has_value);
    let proofs = proofs(metric);
    // All proofs of a metric usually held in the same replicates.
    let first = proofs.first().map(|proof| proof.held.as_str());
    let common = first.filter(|held| proofs.iter().all(|proof| proof.held == *held));
    html! {
        details data-id=(crate::base::text::plain(&summary.id)) {
            summary {
                span .v { (text(value)) }
                span .id { (id(&summary.id)) }
            }
            div id=(anchor(&summary.id)) {
                p { (text(&about(summary))) }
                @if !has_value {
                    p .inconclusive {
                        (status_name(summary.status)) ": "
                        (text(summary.reason.as_deref().unwrap_or("no reason given")))
                    }
                }
                @if let Some(samples) = &samples { (picture(samples, summary)) }
                div .two {
                    @if has_value { (facts(&figures(metric, summary))) }
                    (facts(&description(run, summary)))
                }
                @if has_value { (paths(run, &summary.id)) }
                @if !proofs.is_empty() {
                    h3 { "Proofs" @if let Some(held) = common { ": " (held) } }
                    dl {
                        @for proof in &proofs {
                            dt { (text(&proof.line.0)) }
                            dd class=[(!proof.holds).then_some("regressed")] {
                                (text(&proof.line.1))
                                @if common.is_none() { "; " (proof.held) }
                            }
                        }
                    }
                }
                @if let Some(samples) = samples.filter(|_| detail == Precision::Exact) {
                    details {
                        summary { "Exact distribution: " (extent(&samples)) }
                        div {
                            @let exact = exact(metric, summary.tick());
                            p .mut { (exact.key) }
                            p .id { (exact.list) }
                        }
                    }
                }
            }
        }
    }
}

/// What the samples executed.
fn paths(run: &Run, id: &str) -> Markup {
    let side = match Side::of(run, id) {
        Ok(side) => side,
        Err(Unknown::Unrecorded) => return html! {},
        Err(unknown) => return html! { p .inconclusive { (text(&unknown.to_string())) } },
    };
    let functions = side.median().map(|path| Functions::of(&side, path));
    html! {
        h3 { "Executed instructions" }
        @if let Some(functions) = functions {
            p { (text(&functions.executed)) }
            div .scroll {
                table .narrow {
                    thead { tr { th scope="col" { "function" } th scope="col" { "instructions" } th scope="col" { "share" } } }
                    tbody {
                        @for (count, share, name) in &functions.rows {
                            tr { td .id { (text(name)) } td { (count) } td { (share) } }
                        }
                    }
                }
            }
            @if let Some(rest) = &functions.rest { p .mut { (rest) } }
            @if !functions.counts.is_empty() { (facts(&[("counts", &functions.counts)])) }
        }
        (facts(&modes(&side)))
    }
}
