// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of a run: what spoils its numbers, a row for each metric that has a value, then the
//! metrics without one. Of a run with many metrics it shows the headlines and the worst tails.

use std::fmt::Write;
use std::str::FromStr;

use super::interference::sentences;
use super::problems::{copies, damage, problems, tally, write_problem, write_skipped, Problem};
use super::row::{idiom_legend, title, Row, OF_A_BATCH, SECOND_CPU, UNAVAILABLE};
use super::style::{
    label, painted_lines, write_labelled, write_object, write_warning, Ink, Style, GAP, INDENT,
    LONGEST_NAME,
};
use super::{grouped, object, provenance, tails, warnings};
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::judge::highlights;
use crate::judge::interference::disturbances;
use crate::judge::ranking::{Ranking, RunKey};
use crate::judge::summary::{summarise, Status, Summary};
use crate::judge::warnings::{second_cpu_was_busy, warnings as warnings_about};
use crate::stream::run::{Fact, Run, Statistic, Unit, FILTERS};

/// A run as a table: what was measured, what spoils the numbers, a row for each metric with a value,
/// the metrics without a value and why, and the tally. Of many metrics, those to look at first.
#[must_use]
pub fn table(run: &Run, style: &Style) -> String {
    table_of(run, &View::default(), style)
}

/// What of a run its table shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The columns, instead of those that fit the width.
    pub columns: Vec<Column>,
    /// The order of the rows, and how many there are.
    pub ranking: Ranking<RunKey>,
    /// Whether the user chose metrics. Then all that are left are shown.
    pub filtered: bool,
}

impl View {
    /// The headline metrics, if the view shows only these of a run.
    fn headlines<'a>(&self, run: &Run, summaries: &'a [Summary]) -> Option<Vec<&'a Summary>> {
        let Ranking { key, top, all } = self.ranking;
        let is_chosen = self.filtered || all || key.is_some() || top.is_some();
        if is_chosen || Fact::value_in(&run.host, FILTERS).is_some() {
            return None;
        }
        highlights::headlines(summaries)
    }
}

/// How many metrics with a value the table of a run leaves out.
#[must_use]
pub fn left_out(run: &Run, view: &View) -> usize {
    let summaries = summarise(run);
    let measured = summaries.iter().filter(|one| one.status == Status::Ok);
    let headlines = view.headlines(run, &summaries);
    headlines.map_or(0, |headlines| measured.count() - headlines.len())
}

/// Like [`table`], of what the view shows.
#[must_use]
pub fn table_of(run: &Run, view: &View, style: &Style) -> String {
    let summaries = summarise(run);
    let measured = || summaries.iter().filter(|one| one.status == Status::Ok);
    let headlines = view.headlines(run, &summaries);
    let is_choice = headlines.is_some();
    let (shown, left_out) = match headlines {
        Some(headlines) => (headlines, 0),
        None => view.ranking.of(measured()),
    };
    let rows: Vec<Row> = shown.into_iter().filter_map(Row::of).collect();
    let warnings = warnings_about(run, None);
    let names = Names {
        by_object: view.ranking.key.is_none() && !is_choice,
        mark_second_cpu: second_cpu_was_busy(&warnings),
    };
    let mut out = String::new();
    write_header(&mut out, run, &summaries, *style);
    for warning in &warnings {
        write_warning(&mut out, &warnings::sentence(warning), *style);
    }
    for ((unit, statistic), rows) in grouped(&rows, |row| (row.unit, row.statistic)) {
        out.push('\n');
        let layout = Layout::of(unit, statistic, &rows, &view.columns, names, style.width());
        layout.write(&mut out, &rows, *style);
    }
    if left_out > 0 {
        out.push('\n');
        out.push_str(&left_out_text(left_out));
    }
    if is_choice {
        tails::write(&mut out, &highlights::worst_tails(&summaries), *style);
    }
    for disturbance in disturbances(run) {
        out.push('\n');
        paragraph(
            &mut out,
            "",
            &plain(&sentences(&disturbance)),
            style.width(),
        );
    }
    let (counted, listed): (Vec<Problem>, Vec<Problem>) = problems(&summaries)
        .into_iter()
        .partition(|problem| is_choice && problem.status == Status::Skipped);
    if !counted.is_empty() {
        out.push('\n');
        write_skipped(&mut out, &counted, *style);
    }
    for problem in listed {
        out.push('\n');
        write_problem(&mut out, &problem, "", *style);
    }
    for sentence in damage(run).into_iter().chain(copies(run)) {
        out.push('\n');
        let mut text = String::new();
        paragraph(&mut text, "", &sentence, style.width());
        out.push_str(&painted_lines(*style, Ink::Red, &text));
    }
    out.push('\n');
    let mut last = tally(&summaries);
    if is_choice {
        let all = measured().count();
        let _ = write!(last, "; {} of {all} shown, --all shows all", rows.len());
    }
    paragraph(&mut out, "", &last, style.width());
    out
}

/// A line that says how many metrics `--top` leaves out.
pub(super) fn left_out_text(count: usize) -> String {
    format!(
        "{} not shown; a greater --top shows more.\n",
        plural(count as u64, "more metric")
    )
}

fn write_header(out: &mut String, run: &Run, summaries: &[Summary], style: Style) {
    for (label, text) in provenance::lines(run, summaries) {
        write_labelled(out, label, &text, style);
    }
}

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The median, or the statistic in its place.
    Value,
    /// The interval of the median.
    Interval,
    /// Half its width, in per cent.
    Spread,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The greatest sample.
    Worst,
    /// The first operation.
    Cold,
    /// The median minus the cost of reading the clock, in ticks.
    Net,
    /// Bytes or items per second.
    Rate,
    /// CPU time.
    Cpu,
    /// Instructions of the median sample.
    Instructions,
    /// Those of them that only repeat a string instruction.
    Repeated,
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Column::NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, column)| *column).ok_or_else(|| {
            let names: Vec<&str> = Column::NAMES.iter().map(|(name, _)| *name).collect();
            format!("there is no such column; there are: {}", names.join(", "))
        })
    }
}

impl Column {
    /// All columns, by the name that selects them.
    const NAMES: [(&'static str, Column); 12] = [
        ("median", Column::Value),
        ("interval", Column::Interval),
        ("spread", Column::Spread),
        ("p99", Column::P99),
        ("p999", Column::P999),
        ("worst", Column::Worst),
        ("cold", Column::Cold),
        ("net", Column::Net),
        ("rate", Column::Rate),
        ("cpu", Column::Cpu),
        ("instructions", Column::Instructions),
        ("repeated", Column::Repeated),
    ];

    fn title(self, unit: Unit, statistic: Statistic) -> &'static str {
        match (self, unit) {
            (Column::Value, _) => statistic.name(),
            (Column::Interval, _) => "interval",
            (Column::Spread, _) => "+-",
            (Column::P99, _) => "p99",
            (Column::P999, _) => "p99.9",
            (Column::Worst, _) => "worst",
            (Column::Cold, _) => "cold",
            (Column::Net, Unit::Cycles) => "cycles",
            (Column::Net, Unit::Ticks | Unit::Instructions) => "net",
            (Column::Rate, _) => "rate",
            (Column::Cpu, _) => "CPU",
            (Column::Instructions, _) => "instructions",
            (Column::Repeated, _) => "repeated",
        }
    }

    fn cell(self, row: &Row) -> &str {
        match self {
            Column::Value => &row.median,
            Column::Interval => &row.interval,
            Column::Spread => &row.spread,
            Column::P99 => &row.p99,
            Column::P999 => &row.p999,
            Column::Worst => &row.worst,
            Column::Cold => &row.cold,
            Column::Net => &row.net,
            Column::Rate => &row.rate,
            Column::Cpu => &row.cpu,
            Column::Instructions => &row.instructions,
            Column::Repeated => &row.repeated,
        }
    }

    /// Whether a value in this column may end in a mark. Other values then end in a space.
    fn is_marked(self) -> bool {
        matches!(self, Column::P99 | Column::P999 | Column::Worst)
    }

    fn text(self, row: &Row, marks: Marks) -> String {
        let text = self.cell(row);
        if marks == Marks::Some && self.is_marked() && !text.ends_with(OF_A_BATCH) {
            return format!("{text} ");
        }
        text.to_owned()
    }
}

/// Whether any figure is the mean of a batch and so has a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    None,
    Some,
}

/// How rows are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Names {
    /// Whether rows stand below the name of their object. Otherwise they have their whole ids.
    by_object: bool,
    /// Whether metrics that need a second CPU have a mark, because it was busy.
    mark_second_cpu: bool,
}

impl Names {
    /// The name of a row, with its marks.
    fn of(self, row: &Row) -> String {
        let mut text = label(&row.id, row.idiom, self.by_object);
        if self.marks(row) {
            text.push_str(SECOND_CPU);
        }
        text
    }

    /// Whether a row has the mark of the second CPU.
    fn marks(self, row: &Row) -> bool {
        self.mark_second_cpu && row.needs_two_cpus
    }
}

/// The columns of a table and their widths, in characters.
struct Layout {
    unit: Unit,
    statistic: Statistic,
    name: usize,
    columns: Vec<(Column, usize)>,
    marks: Marks,
    idioms: bool,
    names: Names,
    /// Whether any row has the mark of the second CPU.
    second_cpu: bool,
    /// Columns with values that the width has no room for.
    left_out: Vec<Column>,
}

impl Layout {
    /// The widest choice of columns that fits. Narrower choices first show the interval as a
    /// percentage, then leave out the least important columns. If the user chose `columns`, these.
    fn of(
        unit: Unit,
        statistic: Statistic,
        rows: &[&Row],
        columns: &[Column],
        names: Names,
        width: usize,
    ) -> Self {
        use Column::{Cold, Interval, Net, Rate, Spread, Value, Worst, P99, P999};
        const CHOICES: [&[Column]; 6] = [
            &[Value, Interval, P99, P999, Worst, Cold, Net, Rate],
            &[Value, Spread, P99, P999, Worst, Cold, Net, Rate],
            &[Value, Spread, P99, P999, Worst, Cold, Net],
            &[Value, Spread, P99, P999, Worst, Net],
            &[Value, Spread, P99, Net],
            &[Value, Spread, P99],
        ];
        let marked = |row: &&Row| {
            Column::P99.cell(row).ends_with(OF_A_BATCH)
                || Column::Worst.cell(row).ends_with(OF_A_BATCH)
        };
        let marks = if rows.iter().any(marked) {
            Marks::Some
        } else {
            Marks::None
        };
        let name = rows
            .iter()
            .map(|row| names.of(row).chars().count())
            .filter(|length| *length <= LONGEST_NAME)
            .max()
            .unwrap_or(0)
            .max(title(unit).len());
        let choices = if columns.is_empty() {
            &CHOICES[..]
        } else {
            &[columns]
        };
        let mut layouts = choices.iter().map(|choice| Layout {
            unit,
            statistic,
            name,
            columns: with_widths(unit, statistic, rows, choice, marks),
            marks,
            idioms: rows.iter().any(|row| row.idiom),
            names,
            second_cpu: rows.iter().any(|row| names.marks(row)),
            left_out: Vec::new(),
        });
        let last = layouts.next_back();
        let mut layout = layouts
            .find(|layout| layout.total() <= width)
            .or(last)
            .expect("there are choices");
        let widest = with_widths(unit, statistic, rows, choices[0], marks);
        let left_out = widest.iter().map(|(column, _)| *column);
        layout.left_out = left_out
            .filter(|column| *column != Interval && !layout.has(*column))
            .collect();
        let excess = layout.total().saturating_sub(width);
        layout.name = layout.name.saturating_sub(excess).max(title(unit).len());
        layout
    }

    fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|(known, _)| *known == column)
    }

    fn total(&self) -> usize {
        self.name
            + self
                .columns
                .iter()
                .map(|(_, width)| GAP + width)
                .sum::<usize>()
    }

    fn write(&self, out: &mut String, rows: &[&Row], style: Style) {
        let mut head = format!("{:<1$}", title(self.unit), self.name);
        for (column, width) in &self.columns {
            let mut title = column.title(self.unit, self.statistic).to_owned();
            if self.marks == Marks::Some && column.is_marked() {
                title.push(' ');
            }
            let _ = write!(head, "{:GAP$}{title:>width$}", "");
        }
        out.push_str(&style.paint(Ink::Bold, head.trim_end()));
        out.push('\n');
        let heading = |row: &&Row| self.names.by_object.then(|| object(&row.id).to_owned());
        for (object, rows) in grouped(rows, heading) {
            write_object(out, &object.unwrap_or_default(), style);
            for row in rows {
                self.write_row(out, row, style);
            }
        }
        out.push_str(&painted_lines(style, Ink::Dim, &self.legend(style)));
    }

    fn write_row(&self, out: &mut String, row: &Row, style: Style) {
        paragraph(out, INDENT, &plain(&row.title), style.width());
        let name = self.names.of(row);
        let mut line = format!("{name:<0$}", self.name);
        if name.chars().count() > self.name {
            out.push_str(&name);
            out.push('\n');
            line = " ".repeat(self.name);
        }
        for (column, width) in &self.columns {
            let text = column.text(row, self.marks);
            let cell = format!("{:GAP$}{text:>width$}", "");
            line.push_str(&if text.trim_end() == UNAVAILABLE {
                style.paint(Ink::Dim, &cell)
            } else {
                cell
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn legend(&self, style: Style) -> String {
        let has = |column| self.has(column);
        let mut parts = Vec::new();
        if self.statistic == Statistic::Mean {
            parts.push("mean: the source gives no other figure");
        }
        if has(Column::Interval) {
            parts.push("interval: confidence interval of the median, 95 % or more");
        }
        if has(Column::Spread) {
            parts.push("+-: half the width of the median's confidence interval, 95 % or more");
        }
        if self.unit != Unit::Instructions && !has(Column::Interval) && !has(Column::Spread) {
            parts.push("no interval: an interval needs 6 replicates");
        }
        if has(Column::Cold) {
            parts.push("cold: the first operation of a replicate");
        }
        if has(Column::Net) {
            parts.push(match self.unit {
                Unit::Cycles => {
                    "cycles: the median in clock ticks, minus the cost of reading the clock"
                }
                Unit::Ticks | Unit::Instructions => {
                    "net: the median minus the cost of reading the clock"
                }
            });
        }
        if has(Column::Cpu) {
            parts.push(
                "CPU: CPU time of all threads of the case per operation, with the loop around it",
            );
        }
        if has(Column::Instructions) {
            parts.push("instructions: those of the median sample, without waits");
        }
        if has(Column::Repeated) {
            parts.push("repeated: instructions that only repeat a string instruction");
        }
        if self.marks == Marks::Some {
            parts.push("*: the mean of one batch, because a sample is a batch of operations");
        }
        let idiom = idiom_legend();
        if self.idioms {
            parts.push(&idiom);
        }
        if self.second_cpu {
            parts.push("!: needs the second CPU, which was busy");
        }
        let titles = self
            .left_out
            .iter()
            .map(|column| column.title(self.unit, self.statistic));
        let titles: Vec<&str> = titles.collect();
        let left_out = format!("no room for: {} (--columns chooses)", titles.join(", "));
        if !titles.is_empty() {
            parts.push(&left_out);
        }
        let mut legend = String::new();
        paragraph(&mut legend, "", &(parts.join("; ") + "."), style.width());
        legend
    }
}

/// The columns that have a value in any row, with their widths.
fn with_widths(
    unit: Unit,
    statistic: Statistic,
    rows: &[&Row],
    choice: &[Column],
    marks: Marks,
) -> Vec<(Column, usize)> {
    choice
        .iter()
        .filter(|column| {
            matches!(column, Column::Value)
                || rows.iter().any(|row| column.cell(row) != UNAVAILABLE)
        })
        .map(|column| {
            let mark = usize::from(marks == Marks::Some && column.is_marked());
            let cells = rows
                .iter()
                .map(|row| column.text(row, marks).chars().count());
            let width = cells
                .max()
                .unwrap_or(0)
                .max(column.title(unit, statistic).len() + mark);
            (*column, width)
        })
        .collect()
}
