// SPDX-License-Identifier: MIT OR Apache-2.0

//! A comparison in words: what was compared, how, what it says, and what may have caused it. The
//! reports of a comparison, for the terminal and in other formats, are made of these.

use std::borrow::Cow;
use std::fmt::Write;

use super::matrix::shared_header;
use super::problems::{copies, damage};
use super::provenance::{self, Provenance};
use super::row::{idiom_legend, IDIOM, UNAVAILABLE};
use super::style::{Ink, Style, INDENT};
use super::{grouped, interference};
use crate::base::number::plural;
use crate::base::number::{change, count, Place, TimeUnit};
use crate::base::text::{paragraph, plain};
use crate::files::reference::improvement_text;
use crate::judge::compare::{
    Basis, Compared, Comparison, Conditions, Judged, Side, Speed, Verdict,
};
use crate::judge::conditions::{reasons, ConditionKind, Difference};
use crate::judge::figures::RunFigures;
use crate::judge::gate::{Objection, Ruling};
use crate::judge::matrix::Column;
use crate::judge::quantity::Quantity;
use crate::judge::why::{self, Unknown};
use crate::stream::filter::Selection;
use crate::stream::run::{Run, Unit};

/// One side of a comparison: its files and its run, which has the name `base` or `new`.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The files, not yet safe to show.
    pub files: Vec<String>,
    /// All replicates of the files.
    pub column: Column,
    /// What replaces the samples, if they were dropped.
    condensed: Option<Condensed>,
}

/// What a comparison and its report need to know about the samples of a run.
#[derive(Clone, Debug, PartialEq)]
struct Condensed {
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
            condensed: None,
        }
    }

    /// Drops the samples and keeps the figures, so that only one side at a time is in memory. Runs
    /// can have thousands of metrics and many replicates.
    #[must_use]
    pub fn without_samples(mut self) -> Self {
        let run = &mut self.column.run;
        self.condensed = Some(Condensed {
            figures: RunFigures::of(run),
            provenance: provenance::parts(run),
        });
        run.metrics = Vec::new();
        self
    }

    /// The figures of all metrics.
    #[must_use]
    pub fn figures(&self) -> Cow<'_, RunFigures> {
        match &self.condensed {
            Some(condensed) => Cow::Borrowed(&condensed.figures),
            None => Cow::Owned(RunFigures::of(&self.column.run)),
        }
    }

    pub(crate) fn provenance(&self) -> Provenance {
        match &self.condensed {
            Some(condensed) => condensed.provenance.clone(),
            None => provenance::parts(&self.column.run),
        }
    }
}

/// The label of the settings that differ.
pub(crate) const SETTINGS: &str = "settings";

/// The settings of the kernel's configuration that differ: `CONFIG_X n -> y`; not yet safe to show.
pub(crate) fn settings(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    let is_setting = |one: &&Difference| one.kind == ConditionKind::Setting;
    let differences = comparison.differences.iter().filter(is_setting);
    differences.map(
        |Difference {
             name, base, new, ..
         }| format!("{name} {base} -> {new}"),
    )
}

/// What is selected, as a phrase; `None` if that is everything.
pub(crate) fn selected(comparison: &Comparison) -> Option<String> {
    if comparison.unselected == 0 {
        return None;
    }
    let all = comparison.metrics.len() + comparison.unselected;
    let Selection { filters, exclude } = &comparison.selection;
    let without = match exclude.len() {
        0 => String::new(),
        _ => format!(" without {}", exclude.join(" ")),
    };
    Some(format!(
        "{}{without}: {} of {}; only these are tested, and a gate judges only these",
        if filters.is_empty() {
            "all".to_owned()
        } else {
            filters.join(" ")
        },
        comparison.metrics.len(),
        plural(all as u64, "metric")
    ))
}

/// The geometric mean of the changes of all medians, as a phrase; `None` if none has a ratio.
pub(crate) fn mean_change(comparison: &Comparison) -> Option<String> {
    let mean = comparison.mean_change()?;
    let readings = mean.readings.map_or_else(String::new, |ratio| {
        format!("; {} in readings of the clock", signed(ratio))
    });
    let medians = plural(mean.metrics as u64, "median");
    Some(format!(
        "{} in the geometric mean of {medians}{readings}",
        signed(mean.ratio)
    ))
}

/// What differs between the sides and may have caused changes, as phrases: the processor's speed, the
/// load, what else the machine did, the kernel, and every other condition except settings. Not yet
/// safe to show.
pub(crate) fn causes(comparison: &Comparison, sides: &[Origin; 2]) -> Vec<String> {
    let mut causes = Vec::new();
    if comparison.speed.change().is_some() {
        causes.push(format!("CPU speed {}", speed(&comparison.speed)));
    }
    let runs = sides.each_ref().map(|side| &side.column.run);
    if let [Some(base), Some(new)] = runs.map(load) {
        if is_another_load(base, new) {
            causes.push(format!(
                "load: {base:.2} before the base, {new:.2} before the new run"
            ));
        }
    }
    causes.extend(interference::contrasts(&comparison.contrasts));
    let provenances = sides.each_ref().map(Origin::provenance);
    for line in shared_header(&["base".to_owned(), "new".to_owned()], &provenances) {
        let own = |side: usize| {
            let own = line.own.iter().find(|(_, sides)| sides.contains(&side));
            own.map(|(text, _)| text)
        };
        if KERNEL_LINES.contains(&line.label) {
            causes.extend(
                own(0)
                    .zip(own(1))
                    .map(|(base, new)| format!("{}: {base} is now {new}", line.label)),
            );
        }
    }
    let others = comparison.differences.iter().filter(|one| {
        one.kind != ConditionKind::Setting && !KERNEL_LINES.contains(&one.name.as_str())
    });
    causes
        .extend(others.map(|one| format!("{}: {}", one.name, changed_words(&one.base, &one.new))));
    causes
}

/// What changed between two texts, without the words that both have: `-Os is now -O2`.
fn changed_words(base: &str, new: &str) -> String {
    let own = |of: &str, other: &str| {
        let other: Vec<&str> = other.split_whitespace().collect();
        let own = of.split_whitespace().filter(|word| !other.contains(word));
        own.collect::<Vec<&str>>().join(" ")
    };
    match (own(base, new).as_str(), own(new, base).as_str()) {
        // Only their order or number differs.
        ("", "") => format!("{base} is now {new}"),
        (gone, "") => format!("{gone} is gone"),
        ("", added) => format!("{added} is new"),
        (gone, added) => format!("{gone} is now {added}"),
    }
}

/// The lines of the provenance that say which kernel was measured.
const KERNEL_LINES: [&str; 2] = ["target", "kernel"];

/// The load of the machine before a run: the average over a minute, the greatest of its files.
fn load(run: &Run) -> Option<f64> {
    let loads = run.host.iter().filter(|fact| fact.name == "load");
    let minute = loads.filter_map(|fact| fact.value.split(' ').next()?.parse().ok());
    minute.max_by(f64::total_cmp)
}

/// Whether two loads differ by so much that the figures may.
fn is_another_load(base: f64, new: f64) -> bool {
    // Half a process more or less is usual.
    let ratio = (base + 0.5) / (new + 0.5);
    !(0.5..=2.0).contains(&ratio)
}

/// A sentence that says how many idioms the gate ignores.
pub(crate) fn ungated_text(ruling: &Ruling) -> String {
    let idioms = plural(ruling.ungated as u64, "idiom");
    format!("{idioms} not gated; --idioms gates them too.")
}

/// Why the gate fails and what to do about it: a sentence without a full stop.
pub(crate) fn objection_text(objection: &Objection) -> String {
    let metrics = |count: usize| plural(count as u64, "metric");
    match objection {
        Objection::Regressed(count) => format!("{} regressed", metrics(*count)),
        Objection::Inconclusive(count) => {
            format!("{} inconclusive; use more replicates", metrics(*count))
        }
        Objection::Speed(share) => format!(
            "CPU speed changed by {}; alternate between both sides (kernmark ab), or accept the \
             change (--accept-speed)",
            size(share.abs())
        ),
        Objection::Incomparable(count) => {
            format!("{} measured under different conditions", metrics(*count))
        }
        Objection::Missing(count) => {
            format!(
                "the new run has no value for {} of the base",
                metrics(*count)
            )
        }
        Objection::Nothing => "no metric could be compared, so there is nothing to pass".to_owned(),
        Objection::LowResolution {
            resolution,
            asked,
            needed,
        } => {
            let what = match resolution {
                Some(resolution) => format!(
                    "half of the metrics cannot show a change below {}, but --resolution asks for {}",
                    size(*resolution),
                    percent(*asked)
                ),
                None => "no change of any size would have been detected".to_owned(),
            };
            let advice = match needed {
                Some(needed) => {
                    let needed = count(*needed as u64);
                    format!("{needed} replicates on each side are enough (--runs {needed})")
                }
                None => "more replicates alone will not help".to_owned(),
            };
            format!("{what}; {advice}")
        }
    }
}

/// The CPU speed of the new side compared with the base, as a phrase.
pub(crate) fn speed(speed: &Speed) -> String {
    match speed {
        Speed::Unknown(why) => format!("unknown: {why}"),
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

/// The smallest changes that the comparison detects, as a phrase.
pub(crate) fn resolution(comparison: &Comparison) -> String {
    let Some(resolution) = comparison.resolution else {
        return "nothing: no metric was compared".to_owned();
    };
    let least = |share: Option<f64>| match share {
        Some(0.0) => "any change".to_owned(),
        Some(share) => format!("changes of {}", size(share)),
        None => "no change of any size".to_owned(),
    };
    let blind = match resolution.blind {
        0 => format!("{} in all of them", least(resolution.worst)),
        blind => format!("no change of any size in {} of them", count(blind as u64)),
    };
    let quantity = match comparison.quantities[0] {
        Quantity::P50 => "medians".to_owned(),
        other => format!("{} of metrics", other.name()),
    };
    format!(
        "with 80 % power: {} in half of the {quantity}, {blind}",
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

/// The metrics that were compared, sorted by verdict.
pub(crate) fn in_order(comparison: &Comparison) -> Vec<&Compared> {
    let mut compared: Vec<&Compared> = comparison
        .metrics
        .iter()
        .filter(|metric| metric.basis != Basis::None)
        .collect();
    compared.sort_by_key(|metric| metric.verdict);
    compared
}

/// The method of the comparison, as a phrase.
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
        parts.push(format!("{exact} exact: any difference is real"));
    }
    let summaries = comparison.metrics.iter();
    let summaries = summaries.filter(|m| m.basis == Basis::Summary).count() as u64;
    if summaries > 0 {
        let summaries = plural(summaries, "metric");
        parts.push(format!(
            "{summaries} compared by their summaries, without a test"
        ));
    }
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    parts.join("; ")
}

/// A share in per cent, with at most two decimals.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

/// The margins of the judged quantities: `p50 2 %, p90 5 %, p99 25 %`.
fn margins(comparison: &Comparison) -> String {
    let quantities = comparison.quantities.iter();
    let margins = quantities.map(|quantity| {
        let margin = percent(comparison.margins.of(*quantity));
        format!("{} {margin}", quantity.name())
    });
    margins.collect::<Vec<String>>().join(", ")
}

/// The quantities of a metric with a wider margin than the comparison's, each with its margin.
fn widened(metric: &Compared, comparison: &Comparison) -> Vec<(Quantity, f64)> {
    let judged = metric.judged.iter().filter_map(|one| {
        let of_comparison = comparison.margins.of(one.quantity);
        // Allow for rounding by the conversion from a logarithm.
        let margin = one
            .margin
            .filter(|margin| *margin > of_comparison * (1.0 + 1e-9))?;
        Some((one.quantity, margin))
    });
    judged.collect()
}

/// The number of replicates of a side: `10`, or `8 to 10` if metrics differ.
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

/// `2 regressed, 0 improved, 3 inconclusive, 120 equivalent`, and other verdicts if any metric has
/// one.
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

/// The legend of the columns and marks that the report has.
pub(crate) fn legend(comparison: &Comparison) -> Vec<String> {
    let has = |test: fn(&Compared) -> bool| comparison.metrics.iter().any(test);
    let mut parts: Vec<&str> = Vec::new();
    if has(|m| m.basis == Basis::Test) {
        parts.push("base, new: geometric means over replicates");
    }
    if has(|m| m.decisive().is_some_and(|one| one.ratio.is_some())) {
        parts.push("change: new relative to base, positive is more expensive");
    }
    if has(|m| m.improvement.is_some()) {
        parts.push(
            "improvement %: 100 x (base / new - 1), as suites publish it; 100 is twice as fast",
        );
    }
    if has(|m| m.basis == Basis::Test) {
        parts.push("interval: 95 % confidence interval of the change");
        parts.push(
            "p: p-value adjusted for all metrics (the larger of the p-values of times and of clock \
             readings); significant up to 0.04 for medians and up to 0.01 for tails",
        );
    }
    if has(|m| matches!(&m.why, Some(Ok(why)) if why.median.may_be_moves)) {
        parts.push(why::MOVES);
    }
    let mut parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
    if has(|m| m.is_idiom) {
        parts.push(idiom_legend());
    }
    parts
}

/// A remark on one or more metrics.
pub(crate) struct Remark {
    /// The verdict that they share, if they share one.
    pub(crate) verdict: Option<Verdict>,
    /// The number of metrics and what they share: their verdict, or a wider margin.
    pub(crate) head: String,
    /// The remark, not yet safe to show.
    pub(crate) text: String,
    /// The ids of the metrics, with details if any; not yet safe to show.
    pub(crate) ids: Vec<String>,
}

/// Why metrics were not compared, notes on compared metrics, and margins that noise widened.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<Remark> {
    let mut noted: Vec<(Verdict, &str, &str)> = Vec::new();
    for m in &comparison.metrics {
        let elsewhere = m
            .published_name
            .as_ref()
            .map(|elsewhere| elsewhere.note.as_str());
        let all = m.note.as_deref().into_iter().chain(elsewhere);
        let written = all.filter(|note| !note.is_empty());
        noted.extend(written.map(|note| (m.verdict, note, m.id.as_str())));
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
        verdict: None,
        head: plural(wide.len() as u64, "wider margin"),
        text: format!(
            "the noise floor is above the margin: {}",
            comparison.floors.join(", ")
        ),
        ids: wide,
    });
    grouped(&noted, |(verdict, note, _)| (*verdict, *note))
        .into_iter()
        .map(|((verdict, note), of)| Remark {
            verdict: Some(verdict),
            head: format!("{} {}", of.len(), verdict.name()),
            text: note.to_owned(),
            ids: of.iter().map(|(_, _, id)| (*id).to_owned()).collect(),
        })
        .chain(widened)
        .collect()
}

/// Writes a remark on lines of its own: its head, its text, then the ids.
pub(super) fn write_remark(out: &mut String, remark: &Remark, style: Style) {
    let mut lines = String::new();
    let text = format!("{}: {}", remark.head, plain(&remark.text));
    paragraph(&mut lines, "", &text, style.width());
    out.push_str(&style.paint(Ink::Bold, &remark.head));
    out.push_str(&lines[remark.head.len()..]);
    let ids: Vec<String> = remark.ids.iter().map(|id| plain(id)).collect();
    paragraph(out, INDENT, &ids.join(", "), style.width());
}

/// How to find out where changes are of which a run has no paths, as sentences; not yet safe to
/// show. `None` if there are none, or if no command finds out.
pub(crate) fn without_paths(comparison: &Comparison, sides: &[Origin; 2]) -> Option<String> {
    let is_unknown = |m: &&Compared| matches!(m.why, Some(Err(Unknown::Unrecorded)));
    let unknown: Vec<&Compared> = comparison.metrics.iter().filter(is_unknown).collect();
    let size = |metric: &&&Compared| {
        let ratio = metric.decisive().and_then(|one| one.ratio);
        ratio.unwrap_or(f64::INFINITY).ln().abs()
    };
    let greatest = unknown.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let [base, new] = sides.each_ref().map(|side| &side.column.run);
    why::in_words(unknown.len(), &greatest.id, base, new)
}

/// What else the machine did more often on one side, as a sentence.
pub(crate) fn contrast(comparison: &Comparison) -> Option<String> {
    let texts = interference::contrasts(&comparison.contrasts);
    (!texts.is_empty()).then(|| format!("What else the machine did differs: {}.", texts.join("; ")))
}

/// A warning that the conditions differ, with how they do unless the report says so elsewhere. Not yet
/// safe to show.
pub(crate) fn condition_warning(
    comparison: &Comparison,
    sides: &[Origin; 2],
    with_reasons: bool,
) -> Option<String> {
    let units = sides.each_ref().map(|side| {
        let mut sessions = side.column.run.sessions.iter();
        sessions.next().map(|session| session.clock.unit)
    });
    let never = match units {
        [Some(base), Some(new)] if base.of_figures() != new.of_figures() => Some([base, new]),
        _ => None,
    };
    if let Some([base, new]) = never {
        return Some(format!(
            "The base is in {} and the new run in {}. These are never compared, not even with \
             --across.",
            base.of_figures(),
            new.of_figures()
        ));
    }
    if comparison.differences.is_empty() {
        return None;
    }
    if comparison.conditions == Conditions::Across {
        let reasons = reasons(comparison.differences.iter());
        return Some(if with_reasons {
            format!("Compared although conditions differ: {reasons}.")
        } else {
            "Compared although conditions differ.".to_owned()
        });
    }
    let is_refused = comparison.count(Verdict::Incomparable) > 0;
    is_refused.then(|| "Conditions differ. Use --across to compare anyway.".to_owned())
}

/// Further warnings that affect the verdicts, as sentences; not yet safe to show.
pub(crate) fn warnings(comparison: &Comparison, sides: &[Origin; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    let [base, new] = comparison.without_clock;
    if base + new > 0 {
        warnings.push(format!(
            "{} left out of the test ({base} of the base, {new} of the new run): without \
             clock.read, the CPU speed is unknown.",
            plural((base + new) as u64, "session")
        ));
    }
    for side in sides {
        let run = &side.column.run;
        let all = damage(run).into_iter().chain(copies(run));
        warnings.extend(all.map(|text| format!("{}: {text}.", side.column.name)));
    }
    warnings
}

/// An adjusted p-value as text.
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
    /// The mark after the id: that of an idiom, or nothing.
    pub(crate) mark: &'static str,
    pub(crate) verdict: Verdict,
    /// The verdict and its scope.
    pub(crate) label: String,
    /// The quantity that decided the verdict.
    pub(crate) quantity: &'static str,
    /// The other quantities that changed too.
    pub(crate) also: Option<String>,
    pub(crate) base: String,
    pub(crate) new: String,
    pub(crate) change: String,
    pub(crate) improvement: String,
    pub(crate) interval: String,
    pub(crate) p: String,
    /// Where it changed, not yet safe to show.
    pub(crate) why: Option<String>,
}

impl Row {
    pub(crate) fn of(metric: &Compared) -> Self {
        Row::of_quantity(metric, metric.decisive())
    }

    /// Like [`Row::of`], with the figures of this quantity instead of the one that decided.
    pub(crate) fn of_quantity(metric: &Compared, judged: Option<&Judged>) -> Self {
        let unavailable = || UNAVAILABLE.to_owned();
        let base = judged.map(|one| one.base).or(metric.base);
        let new = judged.map(|one| one.new).or(metric.new);
        // Both sides are in one unit, so that a reader can divide them.
        let time_unit = base.or(new).map(|side| TimeUnit::of(side.value));
        let time_unit = time_unit.filter(|_| metric.unit == Unit::Cycles);
        // One digit more than the change has, so that dividing the sides gives the change.
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
            also: also(metric),
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
            why: metric.why.as_ref().and_then(why::line),
        }
    }
}

/// The quantities that changed beside the one that decided the verdict.
fn also(metric: &Compared) -> Option<String> {
    let others = metric
        .judged
        .iter()
        .filter(|one| one.quantity != metric.quantity);
    let changed = others.filter(|one| one.verdict.is_change());
    let texts =
        changed.filter_map(|one| Some(format!("{} {}", one.quantity.name(), signed(one.ratio?))));
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| format!("also {}", texts.join(", ")))
}

/// The verdict. "Equivalent" also says how far into the tail it applies.
fn label(metric: &Compared) -> String {
    let verdict = metric.verdict.name();
    let scope = metric.scope;
    let is_tested = matches!(metric.basis, Basis::Test | Basis::Speed);
    if !is_tested || metric.verdict != Verdict::Equivalent {
        return verdict.to_owned();
    }
    let mut label = format!("{verdict} {}", reach(metric));
    if let Some(judged_to) = scope.judged_to.filter(|to| *to < Quantity::P999) {
        let _ = write!(label, "; nothing beyond {} was judged", judged_to.name());
    }
    if scope.batch > 1 {
        label.push_str("; batches hide single operations");
    }
    label
}

/// How far into the tail an equivalence reaches: `up to p99`.
pub(super) fn reach(metric: &Compared) -> String {
    match metric.scope.equivalent_to {
        None => format!("in {}", metric.quantity.name()),
        Some(to) => format!("up to {}", to.name()),
    }
}

/// The id, and the name in the published figures if that differs.
fn both_names(metric: &Compared) -> String {
    let id = &metric.id;
    match &metric.published_name {
        Some(elsewhere) if elsewhere.name != *id => {
            format!("{id} (published as {})", elsewhere.name)
        }
        _ => id.clone(),
    }
}
