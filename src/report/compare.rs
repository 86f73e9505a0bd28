//! A comparison: verdict by verdict, each metric with its ratio.

use std::fmt::Write;

use super::matrix::{header, write_header};
use super::number::Place;
use super::row::{place, UNAVAILABLE};
use super::terminal::{
    dim_head, head, painted_lines, title, Ink, Style, GAP, INDENT, LONGEST_NAME,
};
use super::text::{paragraph, plain};
use super::{damage, grouped, plural};
use crate::compare::{Basis, Compared, Comparison, Conditions, Side, Verdict};
use crate::matrix::Column;
use crate::reference::improvement_text;
use crate::run::Unit;

/// One side of a comparison: where it came from, and its run under the name `base` or `new`.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The files, not yet safe to show.
    pub files: Vec<String>,
    /// All replicates of these.
    pub column: Column,
}

/// What stands before a q value that the gate does not go by.
const NOT_AT_GATE: &str = "~";

/// A comparison as text: what was compared, what changed first, then all else, then the tally.
#[must_use]
pub fn table(comparison: &Comparison, sides: &[Origin; 2], style: &Style) -> String {
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
    for sentence in &comparison.published {
        line("checked", sentence);
    }
    let columns = sides.each_ref().map(|side| side.column.clone());
    let names = columns.each_ref().map(|column| plain(&column.name));
    for line in header(&columns) {
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
    out
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
    if comparison.family > 0 {
        let tested = plural(comparison.family as u64, "metric");
        parts.push(format!("a family of {tested} tested"));
        parts.push(format!(
            "{} against {} replicates",
            replicates(comparison, |m| m.base),
            replicates(comparison, |m| m.new)
        ));
        let wider = match comparison
            .metrics
            .iter()
            .filter(|m| is_wide(m, comparison))
            .count()
        {
            0 => String::new(),
            wider => format!(", wider for {}", plural(wider as u64, "metric")),
        };
        parts.push(format!("margin {}{wider}", percent(comparison.margin)));
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

/// Whether the margin of a metric is wider than that of the comparison.
fn is_wide(metric: &Compared, comparison: &Comparison) -> bool {
    metric
        .margin
        .is_some_and(|margin| margin > comparison.margin)
}

/// `10`, or `8 to 10` where metrics differ.
fn replicates(comparison: &Comparison, side: fn(&Compared) -> Option<Side>) -> String {
    let tested = comparison.metrics.iter();
    let tested = tested.filter(|metric| matches!(metric.basis, Basis::Test { .. }));
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
    let mut text = parts.join(", ");
    let at_gate = [Verdict::Regressed, Verdict::Improved]
        .map(|verdict| (verdict, comparison.count_at_gate(verdict)));
    if at_gate
        .iter()
        .any(|(v, count)| *count != comparison.count(*v))
    {
        let [(_, regressed), (_, improved)] = at_gate;
        let _ = write!(
            text,
            "; at the gate {regressed} regressed, {improved} improved"
        );
    }
    text
}

/// What the marks and columns mean, those that there are.
pub(crate) fn legend(comparison: &Comparison) -> Vec<&'static str> {
    let has = |test: fn(&Compared) -> bool| comparison.metrics.iter().any(test);
    let mut parts = Vec::new();
    if has(|m| m.ratio.is_some()) {
        parts.push("ratio: new to base, above 1 costs more");
    }
    if has(|m| m.improvement.is_some()) {
        parts.push(
            "improvement %: 100 x (base / new - 1), as suites publish it; 100 is twice as fast",
        );
    }
    if has(|m| m.interval.is_some() && m.basis != Basis::Exact) {
        parts.push("interval: holds the ratio with 95 % confidence");
    }
    if has(|m| matches!(m.basis, Basis::Test { .. })) {
        parts.push(
            "q: of all metrics with this q or less, at most this share is expected to be chance",
        );
    }
    if has(|m| m.gate != m.verdict) {
        parts.push("~: does not hold at the gate, which allows one false alarm in 20 comparisons");
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
    let wide: Vec<&Compared> = comparison
        .metrics
        .iter()
        .filter(|metric| is_wide(metric, comparison))
        .collect();
    let widened = (!wide.is_empty()).then(|| Remark {
        head: plural(wide.len() as u64, "wider margin"),
        text: format!(
            "so far apart lay unchanged runs: {}",
            comparison.floors.join(", ")
        ),
        ids: wide
            .iter()
            .map(|m| format!("{} {}", m.id, percent(m.margin.unwrap_or_default())))
            .collect(),
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
    if !comparison.differences.is_empty() {
        if comparison.conditions == Conditions::Across {
            let reasons: Vec<String> = comparison
                .differences
                .iter()
                .map(crate::compare::Difference::reason)
                .collect();
            let reasons = reasons.join("; ");
            warnings.push(format!(
                "Compared across conditions that differ: {reasons}."
            ));
        } else if comparison.count(Verdict::Incomparable) > 0 {
            warnings.push("Conditions differ; --across compares all the same.".to_owned());
        }
    }
    if let Some(hopeless) = comparison.hopeless {
        warnings.push(format!(
            "Too few replicates for {}: the least p value they can have is {}, and the gate takes \
             note of a single change from {} down. {} replicates on each side are enough.",
            plural(hopeless.metrics as u64, "metric"),
            significant(hopeless.least_p),
            significant(hopeless.needed),
            hopeless.enough
        ));
    }
    for side in sides {
        if let Some(damage) = damage(&side.column.run) {
            warnings.push(format!("{}: {damage}", side.column.name));
        }
    }
    warnings
}

fn significant(p: f64) -> String {
    Place::significant(p, 2).show(p)
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
    pub(crate) verdict: Verdict,
    pub(crate) base: String,
    pub(crate) new: String,
    pub(crate) ratio: String,
    pub(crate) improvement: String,
    pub(crate) interval: String,
    pub(crate) q: String,
}

impl Row {
    pub(crate) fn of(metric: &Compared) -> Self {
        let unavailable = || UNAVAILABLE.to_owned();
        let median = |side: Option<Side>| {
            side.map_or_else(unavailable, |side| {
                place(metric.unit, side.median, side.interval, 0.0).show(side.median)
            })
        };
        let digits = Place::significant(metric.ratio.unwrap_or(1.0), 4);
        let interval = metric
            .interval
            .filter(|_| metric.basis != Basis::Exact)
            .map(|(low, high)| format!("{}..{}", digits.show(low), digits.show(high)));
        let q = match metric.basis {
            Basis::None | Basis::Summary => unavailable(),
            Basis::Exact => "exact".to_owned(),
            Basis::Test { q, .. } => adjusted(q),
        };
        Row {
            id: both_names(metric),
            verdict: metric.verdict,
            improvement: metric
                .improvement
                .map_or_else(unavailable, improvement_text),
            base: median(metric.base),
            new: median(metric.new),
            ratio: metric.ratio.map_or_else(unavailable, |r| digits.show(r)),
            interval: interval.unwrap_or_else(unavailable),
            q: if metric.gate == metric.verdict {
                q
            } else {
                format!("{NOT_AT_GATE}{q}")
            },
        }
    }
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
const RATIO: (&str, Cell) = ("ratio", |row| &row.ratio);
const IMPROVEMENT: (&str, Cell) = ("improvement %", |row| &row.improvement);
const INTERVAL: (&str, Cell) = ("interval", |row| &row.interval);
const Q: (&str, Cell) = ("q", |row| &row.q);

struct Layout {
    unit: Unit,
    name: usize,
    columns: Vec<(&'static str, Cell, usize)>,
}

impl Layout {
    /// The most columns that fit beside a name.
    fn of(unit: Unit, rows: &[Row], width: usize) -> Self {
        const CHOICES: [&[(&str, Cell)]; 3] = [
            &[BASE, NEW, RATIO, IMPROVEMENT, INTERVAL, Q],
            &[BASE, NEW, RATIO, IMPROVEMENT, Q],
            &[RATIO, IMPROVEMENT, Q],
        ];
        let least = title(unit).len();
        let lengths = rows
            .iter()
            .map(|row| INDENT.len() + plain(&row.id).chars().count());
        let name = lengths
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0)
            .max(least);
        let measured = |choice: &[(&'static str, Cell)]| {
            let known = |cell: &Cell| rows.iter().any(|row| cell(row) != UNAVAILABLE);
            let columns = choice.iter().filter(|(_, cell)| known(cell));
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
        for (verdict, rows) in grouped(rows, |row| row.verdict) {
            let ink = match verdict {
                Verdict::Regressed => Ink::Red,
                _ => Ink::Bold,
            };
            out.push_str(&style.paint(ink, verdict.name()));
            out.push('\n');
            for row in rows {
                self.write_row(out, row, style);
            }
        }
    }

    fn write_row(&self, out: &mut String, row: &Row, style: Style) {
        let name = format!("{INDENT}{}", plain(&row.id));
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
