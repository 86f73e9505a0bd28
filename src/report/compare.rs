// SPDX-License-Identifier: MIT OR Apache-2.0

//! A comparison: verdict by verdict, each metric with its ratio.

use std::borrow::Cow;
use std::fmt::Write;

use super::grouped;
use super::matrix::{shared_header, write_header};
use super::problems::{copies, damage};
use super::provenance::{self, Provenance};
use super::row::{idiom_legend, title, IDIOM, UNAVAILABLE};
use super::style::{dim_head, head, painted_lines, Ink, Style, GAP, INDENT, LONGEST_NAME};
use crate::base::number::plural;
use crate::base::number::{change, count, Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::files::reference::improvement_text;
use crate::judge::compare::{Basis, Compared, Comparison, Conditions, Side, Speed, Verdict};
use crate::judge::conditions::Difference;
use crate::judge::figures::RunFigures;
use crate::judge::gate::{Objection, Ruling};
use crate::judge::matrix::Column;
use crate::judge::quantity::Quantity;
use crate::stream::run::Unit;

/// One side of a comparison: where it came from, and its run under the name `base` or `new`.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The files, not yet safe to show.
    pub files: Vec<String>,
    /// All replicates of these.
    pub column: Column,
    /// What was taken from samples that are gone.
    brief: Option<Brief>,
}

/// What a comparison and its report need of the samples of a run.
#[derive(Clone, Debug, PartialEq)]
struct Brief {
    figures: RunFigures,
    provenance: Provenance,
}

impl Origin {
    /// All replicates of some files.
    #[must_use]
    pub fn of(files: Vec<String>, column: Column) -> Self {
        Origin {
            files,
            column,
            brief: None,
        }
    }

    /// The same without its samples, of which only the figures are kept: runs of thousands of
    /// metrics and many replicates fit into memory one side at a time.
    #[must_use]
    pub fn without_samples(mut self) -> Self {
        let run = &mut self.column.run;
        self.brief = Some(Brief {
            figures: RunFigures::of(run),
            provenance: provenance::parts(run),
        });
        run.metrics = Vec::new();
        self
    }

    /// The figures of its metrics.
    #[must_use]
    pub fn figures(&self) -> Cow<'_, RunFigures> {
        match &self.brief {
            Some(brief) => Cow::Borrowed(&brief.figures),
            None => Cow::Owned(RunFigures::of(&self.column.run)),
        }
    }

    fn provenance(&self) -> Provenance {
        match &self.brief {
            Some(brief) => brief.provenance.clone(),
            None => provenance::parts(&self.column.run),
        }
    }
}

/// A comparison as text: what was compared, what changed first, then all else, then the tally and
/// what the gate objects to.
#[must_use]
pub fn table(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    style: &Style,
) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        let mut lines = String::new();
        paragraph(&mut lines, &head(label), &plain(text), style.width());
        out.push_str(&dim_head(&lines, *style));
    };
    for side in sides {
        line(&side.column.name, &side.files.join(", "));
    }
    line("compared", &method(comparison));
    line("speed", &speed(&comparison.speed));
    line("finds", &resolution(comparison));
    for sentence in &comparison.published {
        line("checked", sentence);
    }
    let names = sides.each_ref().map(|side| plain(&side.column.name));
    let provenances = sides.each_ref().map(Origin::provenance);
    for line in shared_header(&names, &provenances) {
        write_header(&mut out, &line, &names, *style);
    }
    let compared: Vec<&Compared> = in_order(comparison);
    for (unit, rows) in grouped(&compared, |metric| metric.unit) {
        out.push('\n');
        let rows: Vec<Row> = rows.into_iter().map(|metric| Row::of(metric)).collect();
        Layout::of(unit, &rows, style.width()).write(&mut out, &rows, *style);
    }
    let legend = legend(comparison);
    if !legend.is_empty() {
        let mut lines = String::new();
        paragraph(&mut lines, "", &(legend.join("; ") + "."), style.width());
        out.push_str(&painted_lines(*style, Ink::Dim, &lines));
    }
    for group in remarks(comparison) {
        out.push('\n');
        write_remark(&mut out, &group, *style);
    }
    for warning in warnings(comparison, sides) {
        out.push('\n');
        let mut lines = String::new();
        paragraph(&mut lines, "", &plain(&warning), style.width());
        out.push_str(&painted_lines(*style, Ink::Red, &lines));
    }
    out.push('\n');
    paragraph(&mut out, "", &tally(comparison), style.width());
    if ruling.ungated > 0 {
        paragraph(&mut out, "", &ungated_text(ruling), style.width());
    }
    for objection in &ruling.objections {
        let mut lines = String::new();
        let text = format!("The gate fails: {}.", objection_text(objection));
        paragraph(&mut lines, "", &text, style.width());
        out.push_str(&painted_lines(*style, Ink::Red, &lines));
    }
    out
}

/// How many idioms do not count at the gate, in a sentence.
pub(crate) fn ungated_text(ruling: &Ruling) -> String {
    let idioms = plural(ruling.ungated as u64, "idiom");
    format!("{idioms} not gated; --idioms gates them too.")
}

/// Why the gate does not let a comparison through, and what to do about it: a sentence without its
/// full stop.
pub(crate) fn objection_text(objection: &Objection) -> String {
    let metrics = |count: usize| plural(count as u64, "metric");
    match objection {
        Objection::Regressed(count) => format!("{} regressed", metrics(*count)),
        Objection::Inconclusive(count) => {
            format!(
                "{} inconclusive; more replicates would tell",
                metrics(*count)
            )
        }
        Objection::Speed(share) => format!(
            "the processor's speed changed by {}; measure both sides in turns (kernmark ab), or \
             accept such a change (--accept-speed)",
            size(share.abs())
        ),
        Objection::Incomparable(count) => {
            format!("{} measured under other conditions", metrics(*count))
        }
        Objection::Missing(count) => {
            format!(
                "{} of the base without a number in the new run",
                metrics(*count)
            )
        }
        Objection::Nothing => "no metric could be compared, so nothing has passed".to_owned(),
        Objection::Blind {
            resolution,
            asked,
            enough,
        } => {
            let what = match resolution {
                Some(resolution) => format!(
                    "half of the metrics show no change below {}, {} was asked for (--resolution)",
                    size(*resolution),
                    percent(*asked)
                ),
                None => "no change of any size could have been found".to_owned(),
            };
            let advice = match enough {
                Some(enough) => {
                    let enough = count(*enough as u64);
                    format!("{enough} replicates on each side are enough (--runs {enough})")
                }
                None => "more replicates alone would not help".to_owned(),
            };
            format!("{what}; {advice}")
        }
    }
}

/// How fast the processor was on the new side, compared with the base, in a sentence.
pub(crate) fn speed(speed: &Speed) -> String {
    match speed {
        Speed::Unknown(why) => format!("not separated: {why}"),
        Speed::Known {
            ratio,
            interval: (low, high),
            margin,
        } => {
            let what = if speed.change().is_some() {
                format!("changed by more than the margin of {}", percent(*margin))
            } else {
                "about the same".to_owned()
            };
            format!(
                "{what}: reading the clock costs {} ({})",
                signed(*ratio),
                signed_range((*low, *high))
            )
        }
    }
}

/// What could have been found, in a sentence.
pub(crate) fn resolution(comparison: &Comparison) -> String {
    let Some(resolution) = comparison.resolution else {
        return "nothing: no metric was compared".to_owned();
    };
    let least = |share: Option<f64>| match share {
        Some(0.0) => "any change".to_owned(),
        Some(share) => format!("a change of {}", size(share)),
        None => "no change at all".to_owned(),
    };
    let blind = match resolution.blind {
        0 => format!("all of them {}", least(resolution.worst)),
        blind => format!("{} none at all", count(blind as u64)),
    };
    let quantity = match comparison.quantities[0] {
        Quantity::P50 => "medians".to_owned(),
        other => format!("{} of metrics", other.name()),
    };
    format!(
        "with 80 % probability half of the {quantity} show {}, {blind}",
        least(resolution.median)
    )
}

/// The size of a change, a share, in per cent: `3.4 %`.
fn size(share: f64) -> String {
    change(share * 100.0).trim_start_matches('+').to_owned()
}

/// A ratio as a change in per cent: `+3.4 %`.
fn signed(ratio: f64) -> String {
    change((ratio - 1.0) * 100.0)
}

/// The interval of a ratio as changes in per cent: `-0.3..+1.2 %`.
fn signed_range((low, high): (f64, f64)) -> String {
    let (low, high) = (signed(low), signed(high));
    format!("{}..{high}", low.trim_end_matches(" %"))
}

/// What was compared, by verdict.
pub(crate) fn in_order(comparison: &Comparison) -> Vec<&Compared> {
    let mut compared: Vec<&Compared> = comparison
        .metrics
        .iter()
        .filter(|metric| metric.basis != Basis::None)
        .collect();
    compared.sort_by_key(|metric| metric.verdict);
    compared
}

/// How it was compared, in a sentence.
pub(crate) fn method(comparison: &Comparison) -> String {
    let exact = comparison.metrics.iter();
    let exact = exact.filter(|m| m.basis == Basis::Exact).count() as u64;
    let mut parts = Vec::new();
    if comparison.family + comparison.tails > 0 {
        let medians = plural(comparison.family as u64, "median");
        let tails = plural(comparison.tails as u64, "tail");
        parts.push(format!("{medians} and {tails} tested jointly"));
        parts.push(format!(
            "{} against {} replicates",
            replicates(comparison, |m| m.base),
            replicates(comparison, |m| m.new)
        ));
        let wider = match comparison
            .metrics
            .iter()
            .filter(|m| !widened(m, comparison).is_empty())
            .count()
        {
            0 => String::new(),
            wider => format!(", wider for {}", plural(wider as u64, "metric")),
        };
        parts.push(format!("margins {}{wider}", margins(comparison)));
        if let Some(blocks) = comparison.blocks {
            let blocks = plural(blocks as u64, "block");
            parts.push(format!("interleaved in {blocks}"));
        }
    }
    if exact > 0 {
        let exact = plural(exact, "metric");
        parts.push(format!("{exact} exact, any difference is real"));
    }
    let summaries = comparison.metrics.iter();
    let summaries = summaries.filter(|m| m.basis == Basis::Summary).count() as u64;
    if summaries > 0 {
        let summaries = plural(summaries, "metric");
        parts.push(format!("{summaries} by summaries, without a test"));
    }
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    parts.join("; ")
}

/// A share in per cent, with two decimals at most.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

/// The margins of what was judged: `p50 2 %, p90 5 %, p99 25 %`.
fn margins(comparison: &Comparison) -> String {
    let quantities = comparison.quantities.iter();
    let margins = quantities.map(|quantity| {
        let margin = percent(comparison.margins.of(*quantity));
        format!("{} {margin}", quantity.name())
    });
    margins.collect::<Vec<String>>().join(", ")
}

/// The quantities of a metric whose margin is wider than that of the comparison, with it.
fn widened(metric: &Compared, comparison: &Comparison) -> Vec<(Quantity, f64)> {
    let judged = metric.judged.iter().filter_map(|one| {
        let of_comparison = comparison.margins.of(one.quantity);
        // Rounding there and back from a logarithm.
        let margin = one
            .margin
            .filter(|margin| *margin > of_comparison * (1.0 + 1e-9))?;
        Some((one.quantity, margin))
    });
    judged.collect()
}

/// `10`, or `8 to 10` where metrics differ.
fn replicates(comparison: &Comparison, side: fn(&Compared) -> Option<Side>) -> String {
    let tested = comparison.metrics.iter();
    let tested = tested.filter(|metric| metric.basis == Basis::Test);
    let counts: Vec<usize> = tested.filter_map(|m| Some(side(m)?.replicates)).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (Some(count), _) => count.to_string(),
        _ => "0".to_owned(),
    }
}

/// `2 regressed, 0 improved, 3 inconclusive, 120 equivalent`, and what else there is.
pub(crate) fn tally(comparison: &Comparison) -> String {
    let rare = |verdict| verdict > Verdict::Equivalent;
    let parts: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict, comparison.count(verdict)))
        .filter(|(verdict, count)| *count > 0 || !rare(*verdict))
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    parts.join(", ")
}

/// What the marks and columns mean, those that there are.
pub(crate) fn legend(comparison: &Comparison) -> Vec<String> {
    let has = |test: fn(&Compared) -> bool| comparison.metrics.iter().any(test);
    let mut parts: Vec<&str> = Vec::new();
    if has(|m| m.basis == Basis::Test) {
        parts.push("base, new: geometric means over replicates");
    }
    if has(|m| m.decisive().is_some_and(|one| one.ratio.is_some())) {
        parts.push("change: new to base, above 0 costs more");
    }
    if has(|m| m.improvement.is_some()) {
        parts.push(
            "improvement %: 100 x (base / new - 1), as suites publish it; 100 is twice as fast",
        );
    }
    if has(|m| m.basis == Basis::Test) {
        parts.push("interval: holds the change with 95 % confidence");
        parts.push(
            "p: of this or a greater change somewhere by chance, adjusted for all metrics; it \
             counts from 0.04 down for medians, from 0.01 for tails; the larger one of times and \
             of readings of the clock",
        );
    }
    let mut parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
    if has(|m| m.is_idiom) {
        parts.push(idiom_legend());
    }
    parts
}

/// Metrics that share what is to be said of them.
pub(crate) struct Remark {
    /// How many they are and what they have in common: their verdict, or a wider margin.
    pub(crate) head: String,
    /// What is said, not yet safe to show.
    pub(crate) text: String,
    /// Their ids, with the margin where it is wider; not yet safe to show.
    pub(crate) ids: Vec<String>,
}

/// Why metrics were not compared, notes on those that were, and margins that noise has widened.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<Remark> {
    let mut noted: Vec<(Verdict, &str, &str)> = Vec::new();
    for m in &comparison.metrics {
        let elsewhere = m
            .elsewhere
            .as_ref()
            .map(|elsewhere| elsewhere.note.as_str());
        let all = m.note.as_deref().into_iter().chain(elsewhere);
        let told = all.filter(|note| !note.is_empty());
        noted.extend(told.map(|note| (m.verdict, note, m.id.as_str())));
    }
    noted.sort_by_key(|(verdict, ..)| *verdict);
    let wide: Vec<String> = comparison
        .metrics
        .iter()
        .map(|metric| (metric, widened(metric, comparison)))
        .filter(|(_, wide)| !wide.is_empty())
        .map(|(metric, wide)| {
            let wide = wide.iter();
            let texts =
                wide.map(|(quantity, margin)| format!("{} {}", quantity.name(), percent(*margin)));
            format!(
                "{} ({})",
                metric.id,
                texts.collect::<Vec<String>>().join(", ")
            )
        })
        .collect();
    let widened = (!wide.is_empty()).then(|| Remark {
        head: plural(wide.len() as u64, "wider margin"),
        text: format!(
            "unchanged runs vary by this much: {}",
            comparison.floors.join(", ")
        ),
        ids: wide,
    });
    grouped(&noted, |(verdict, note, _)| (*verdict, *note))
        .into_iter()
        .map(|((verdict, note), of)| Remark {
            head: format!("{} {}", of.len(), verdict.name()),
            text: note.to_owned(),
            ids: of.iter().map(|(_, _, id)| (*id).to_owned()).collect(),
        })
        .chain(widened)
        .collect()
}

/// A remark in lines of its own: its head, its text, then its ids.
pub(super) fn write_remark(out: &mut String, remark: &Remark, style: Style) {
    let mut lines = String::new();
    let text = format!("{}: {}", remark.head, plain(&remark.text));
    paragraph(&mut lines, "", &text, style.width());
    out.push_str(&style.paint(Ink::Bold, &remark.head));
    out.push_str(&lines[remark.head.len()..]);
    let ids: Vec<String> = remark.ids.iter().map(|id| plain(id)).collect();
    paragraph(out, INDENT, &ids.join(", "), style.width());
}

/// What a reader of the verdicts must know, not yet safe to show.
pub(crate) fn warnings(comparison: &Comparison, sides: &[Origin; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    let units = sides.each_ref().map(|side| {
        let mut sessions = side.column.run.sessions.iter();
        sessions.next().map(|session| session.clock.unit)
    });
    let never = match units {
        [Some(base), Some(new)] if base.of_figures() != new.of_figures() => Some([base, new]),
        _ => None,
    };
    if let Some([base, new]) = never {
        warnings.push(format!(
            "The base counts {} and the new side {}: these are never compared, with --across either.",
            base.of_figures(),
            new.of_figures()
        ));
    } else if !comparison.differences.is_empty() {
        if comparison.conditions == Conditions::Across {
            let reasons: Vec<String> = comparison
                .differences
                .iter()
                .map(Difference::reason)
                .collect();
            let reasons = reasons.join("; ");
            warnings.push(format!(
                "Compared across conditions that differ: {reasons}."
            ));
        } else if comparison.count(Verdict::Incomparable) > 0 {
            warnings.push("Conditions differ; --across compares all the same.".to_owned());
        }
    }
    let [base, new] = comparison.without_clock;
    if base + new > 0 {
        warnings.push(format!(
            "{} left out of the test ({base} of the base, {new} of the new side): without \
             clock.read the processor's speed is not known there.",
            plural((base + new) as u64, "session")
        ));
    }
    for side in sides {
        let run = &side.column.run;
        let all = damage(run).into_iter().chain(copies(run));
        warnings.extend(all.map(|what| format!("{}: {what}.", side.column.name)));
    }
    warnings
}

/// An adjusted p value.
pub(crate) fn adjusted(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// One metric as the cells of a table.
pub(crate) struct Row {
    /// The metric's id, not yet safe to show.
    pub(crate) id: String,
    /// What follows the id: the mark of an idiom, or nothing.
    pub(crate) mark: &'static str,
    pub(crate) verdict: Verdict,
    /// The verdict, and how far it reaches.
    pub(crate) label: String,
    /// The quantity that it is the verdict of.
    pub(crate) quantity: &'static str,
    pub(crate) base: String,
    pub(crate) new: String,
    pub(crate) change: String,
    pub(crate) improvement: String,
    pub(crate) interval: String,
    pub(crate) p: String,
}

impl Row {
    pub(crate) fn of(metric: &Compared) -> Self {
        let unavailable = || UNAVAILABLE.to_owned();
        let judged = metric.decisive();
        let base = judged.map(|one| one.base).or(metric.base);
        let new = judged.map(|one| one.new).or(metric.new);
        // Both sides in one unit, so that a reader can divide them.
        let time_unit = base.or(new).map(|side| TimeUnit::of(side.value));
        let time_unit = time_unit.filter(|_| metric.unit == Unit::Cycles);
        // One digit more than the change has, so that dividing the two gives the change.
        let figure = |side: Option<Side>| {
            side.map_or_else(unavailable, |side| {
                let is_whole = metric.unit == Unit::Instructions && side.value.fract() == 0.0;
                match time_unit {
                    Some(unit) => {
                        let value = unit.convert(side.value);
                        format!("{} {}", Place::significant(value, 5).show(value), unit.name)
                    }
                    None if is_whole => Place::decimals(0).show(side.value),
                    None => Place::significant(side.value, 5).show(side.value),
                }
            })
        };
        let p = match (metric.basis, judged.and_then(|one| one.p)) {
            (Basis::Exact, _) => "exact".to_owned(),
            (_, Some(p)) => adjusted(p),
            _ => unavailable(),
        };
        let interval = judged.filter(|_| metric.basis != Basis::Exact);
        let interval = interval.and_then(|one| one.interval);
        Row {
            id: both_names(metric),
            mark: if metric.is_idiom { IDIOM } else { "" },
            verdict: metric.verdict,
            label: label(metric),
            quantity: metric.quantity.name(),
            improvement: metric
                .improvement
                .map_or_else(unavailable, improvement_text),
            base: figure(base),
            new: figure(new),
            change: judged
                .and_then(|one| one.ratio)
                .map_or_else(unavailable, signed),
            interval: interval.map_or_else(unavailable, signed_range),
            p,
        }
    }
}

/// A verdict, and how far into the tail it reaches where it says that nothing changed.
fn label(metric: &Compared) -> String {
    let verdict = metric.verdict.name();
    let scope = metric.scope;
    let is_tested = matches!(metric.basis, Basis::Test | Basis::Speed);
    if !is_tested || metric.verdict != Verdict::Equivalent {
        return verdict.to_owned();
    }
    let mut label = match scope.equivalent_to {
        None => format!("{verdict} in {}", metric.quantity.name()),
        Some(to) => format!("{verdict} up to {}", to.name()),
    };
    if let Some(judged_to) = scope.judged_to.filter(|to| *to < Quantity::P999) {
        let _ = write!(label, "; nothing beyond {} was judged", judged_to.name());
    }
    if scope.batch > 1 {
        label.push_str("; batches hide single operations");
    }
    label
}

/// Its id, and what published figures call it where that is another name.
fn both_names(metric: &Compared) -> String {
    let id = &metric.id;
    match &metric.elsewhere {
        Some(elsewhere) if elsewhere.name != *id => format!("{id}, there {}", elsewhere.name),
        _ => id.clone(),
    }
}

type Cell = fn(&Row) -> &str;

const BASE: (&str, Cell) = ("base", |row| &row.base);
const NEW: (&str, Cell) = ("new", |row| &row.new);
const QUANTITY: (&str, Cell) = ("of", |row| row.quantity);
const CHANGE: (&str, Cell) = ("change", |row| &row.change);
const IMPROVEMENT: (&str, Cell) = ("improvement %", |row| &row.improvement);
const INTERVAL: (&str, Cell) = ("interval", |row| &row.interval);
const P: (&str, Cell) = ("p", |row| &row.p);

struct Layout {
    unit: Unit,
    name: usize,
    columns: Vec<(&'static str, Cell, usize)>,
}

impl Layout {
    /// The most columns that fit beside a name.
    fn of(unit: Unit, rows: &[Row], width: usize) -> Self {
        const CHOICES: [&[(&str, Cell)]; 3] = [
            &[QUANTITY, BASE, NEW, CHANGE, IMPROVEMENT, INTERVAL, P],
            &[QUANTITY, BASE, NEW, CHANGE, IMPROVEMENT, P],
            &[QUANTITY, CHANGE, IMPROVEMENT, P],
        ];
        let least = title(unit).len();
        let lengths = rows
            .iter()
            .map(|row| INDENT.len() + plain(&row.id).chars().count() + row.mark.len());
        let name = lengths
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0)
            .max(least);
        let measured = |choice: &[(&'static str, Cell)]| {
            let known = |title: &str, cell: &Cell| {
                // What all rows are of goes without saying where it is the median.
                let nothing = if title == QUANTITY.0 {
                    Quantity::P50.name()
                } else {
                    UNAVAILABLE
                };
                rows.iter().any(|row| cell(row) != nothing)
            };
            let columns = choice.iter().filter(|(title, cell)| known(title, cell));
            let columns = columns.map(|(title, cell)| {
                let cells = rows.iter().map(|row| cell(row).chars().count());
                (*title, *cell, cells.max().unwrap_or(0).max(title.len()))
            });
            columns.collect::<Vec<_>>()
        };
        let total = |columns: &[(&str, Cell, usize)]| -> usize {
            columns.iter().map(|(_, _, width)| GAP + width).sum()
        };
        let mut choices = CHOICES.into_iter().map(measured);
        let fewest = choices.next_back().expect("there are choices");
        let columns = choices
            .find(|columns| least + total(columns) <= width)
            .unwrap_or(fewest);
        // Names that are longer stand above their figures.
        let room = width.saturating_sub(total(&columns)).max(least);
        Layout {
            unit,
            name: name.min(room),
            columns,
        }
    }

    fn write(&self, out: &mut String, rows: &[Row], style: Style) {
        let mut head = format!("{:<1$}", title(self.unit), self.name);
        for (title, _, width) in &self.columns {
            let _ = write!(head, "{:GAP$}{title:>width$}", "");
        }
        out.push_str(&style.paint(Ink::Bold, &head));
        out.push('\n');
        for ((verdict, label), rows) in grouped(rows, |row| (row.verdict, row.label.clone())) {
            let ink = match verdict {
                Verdict::Regressed => Ink::Red,
                _ => Ink::Bold,
            };
            out.push_str(&style.paint(ink, &label));
            out.push('\n');
            for row in rows {
                self.write_row(out, row, style);
            }
        }
    }

    fn write_row(&self, out: &mut String, row: &Row, style: Style) {
        let name = format!("{INDENT}{}{}", plain(&row.id), row.mark);
        let mut line = format!("{name:<0$}", self.name);
        if name.chars().count() > self.name {
            out.push_str(&name);
            out.push('\n');
            line = " ".repeat(self.name);
        }
        for (_, cell, width) in &self.columns {
            let text = cell(row);
            let cell = format!("{:GAP$}{text:>width$}", "");
            line.push_str(&if text == UNAVAILABLE {
                style.paint(Ink::Dim, &cell)
            } else {
                cell
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
