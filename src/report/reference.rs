// SPDX-License-Identifier: MIT OR Apache-2.0

//! Published figures: the list of datasets, and the figures of one dataset as published.

use std::fmt::Write;

use super::row::UNAVAILABLE;
use super::style::{write_labelled, Ink, Style, GAP, INDENT};
use crate::base::number;
use crate::base::number::plural;
use crate::base::text::{paragraph, plain};
use crate::files::reference::{Dataset, Figure, Published};

/// The content of the subject column if the source does not state it.
const NOT_STATED: &str = "not stated";
/// The minimum width of a column of sentences.
const LEAST_SENTENCE: usize = 24;

/// The datasets with their number of rows and what was measured, then the numbered sources.
#[must_use]
pub fn datasets(datasets: &[(Dataset, usize)], style: &Style) -> String {
    const TITLES: [&str; 4] = ["dataset", "rows", "from", "system and configuration"];
    let mut origins: Vec<String> = Vec::new();
    let mut out = String::new();
    let names = datasets.iter().map(|(one, _)| plain(&one.name));
    let name = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let name = name.max(TITLES[0].len());
    let cells = |cells: [&str; 3]| {
        let [dataset, rows, from] = cells;
        format!(
            "{dataset:<name$}{gap}{rows:>rows_width$}{gap}{from:>from_width$}{gap}",
            gap = " ".repeat(GAP),
            rows_width = TITLES[1].len(),
            from_width = TITLES[2].len(),
        )
    };
    let [first, second, third, fourth] = TITLES;
    let beside = cells([first, second, third]);
    let has_room = style.width() >= beside.chars().count() + LEAST_SENTENCE;
    let titles = if has_room { beside + fourth } else { beside };
    let _ = writeln!(out, "{}", style.paint(Ink::Dim, titles.trim_end()));
    for (dataset, rows) in datasets {
        let origin = origin(dataset);
        let known = origins.iter().position(|known| *known == origin);
        let at = known.unwrap_or_else(|| {
            origins.push(origin);
            origins.len() - 1
        });
        let line = cells([
            &plain(&dataset.name),
            &number::count(*rows as u64),
            &(at + 1).to_string(),
        ]);
        let subject = match dataset.subject() {
            subject if subject.is_empty() => NOT_STATED.to_owned(),
            subject => plain(&subject),
        };
        if has_room {
            paragraph(&mut out, &line, &subject, style.width());
        } else {
            let _ = writeln!(out, "{}", line.trim_end());
            paragraph(&mut out, INDENT, &subject, style.width());
        }
    }
    out.push('\n');
    for (at, origin) in origins.iter().enumerate() {
        let first = format!("{:>4}{:GAP$}", at + 1, "");
        paragraph(&mut out, &first, &plain(origin), style.width());
    }
    let rows: usize = datasets.iter().map(|(_, rows)| rows).sum();
    let _ = writeln!(
        out,
        "\n{}, {}",
        plural(datasets.len() as u64, "dataset"),
        plural(rows as u64, "row")
    );
    out
}

/// Where a dataset comes from, what its figures are and which clock they are in.
pub(crate) fn origin(dataset: &Dataset) -> String {
    let lines = provenance(dataset).into_iter();
    let shared = lines.filter(|(label, _)| *label != SYSTEM && *label != CONFIGURATION);
    let parts: Vec<String> = shared
        .map(|(label, text)| match label {
            SOURCE => text,
            label => format!("{}{}: {text}", label[..1].to_uppercase(), &label[1..]),
        })
        .collect();
    parts.join(". ") + "."
}

const SYSTEM: &str = "system";
const CONFIGURATION: &str = "config";
const SOURCE: &str = "source";

/// The provenance of a dataset, by label; texts are not yet safe to show.
pub(crate) fn provenance(dataset: &Dataset) -> Vec<(&'static str, String)> {
    let clock = match dataset.clock_hz {
        Some(hz) => format!("{}; {}", number::frequency(hz), dataset.clock_basis),
        None => dataset.clock_basis.clone(),
    };
    let mut lines = vec![
        (SYSTEM, dataset.system.clone()),
        (CONFIGURATION, dataset.configuration.clone()),
        (SOURCE, dataset.source.clone()),
        ("machine", dataset.machine.clone()),
        ("figures", dataset.statistic.clone()),
        ("clock", clock),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    lines
}

/// A column of published figures: its title and its cells.
type Cell = (&'static str, fn(&Figure) -> Option<String>);

const COLUMNS: [Cell; 6] = [
    ("cycles", |figure| text(figure.cycles.as_ref())),
    ("ns", |figure| text(figure.nanoseconds.as_ref())),
    ("us", |figure| text(figure.microseconds.as_ref())),
    ("CPU ns", |figure| text(figure.cpu_nanoseconds.as_ref())),
    ("iterations", |figure| Some(figure.iterations?.to_string())),
    ("throughput", |figure| figure.throughput.clone()),
];

fn text(figure: Option<&Published>) -> Option<String> {
    figure.map(|figure| figure.text().to_owned())
}

/// The columns in which any figure has a value, each with its title. Cells without a value are `-`.
pub(crate) fn columns(figures: &[Figure]) -> Vec<(&'static str, Vec<String>)> {
    let columns = COLUMNS.iter().map(|(title, cell)| {
        let cells: Vec<Option<String>> = figures.iter().map(cell).collect();
        (*title, cells)
    });
    columns
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .map(|(title, cells)| {
            let shown = |cell: Option<String>| {
                cell.map_or_else(|| UNAVAILABLE.to_owned(), |text| plain(&text))
            };
            (title, cells.into_iter().map(shown).collect())
        })
        .collect()
}

/// A dataset: its provenance, then its figures with the digits of the publication.
#[must_use]
pub fn figures(dataset: &Dataset, figures: &[Figure], style: &Style) -> String {
    let mut out = String::new();
    let mut lines = vec![("dataset", dataset.name.clone())];
    lines.extend(provenance(dataset));
    for (label, text) in lines {
        write_labelled(&mut out, label, &text, *style);
    }
    out.push('\n');
    let mut columns = columns(figures);
    let widths = |columns: &[(&'static str, Vec<String>)]| -> Vec<usize> {
        let width = |(title, cells): &(&str, Vec<String>)| {
            let cells = cells.iter().map(|cell| cell.chars().count());
            cells.max().unwrap_or(0).max(title.len())
        };
        columns.iter().map(width).collect()
    };
    let of_figures = |widths: &[usize]| widths.iter().map(|width| GAP + width).sum::<usize>();
    // The last columns are the least important.
    while columns.len() > 2 && of_figures(&widths(&columns)) + LEAST_SENTENCE > style.width() {
        columns.pop();
    }
    let widths = widths(&columns);
    let room = style.width().saturating_sub(of_figures(&widths));
    let names: Vec<String> = figures.iter().map(|figure| plain(&figure.name())).collect();
    let lengths = names.iter().map(|name| name.chars().count());
    let title = "per operation";
    let name = lengths
        .filter(|length| *length <= room)
        .max()
        .unwrap_or(0)
        .max(title.len());
    let line = |first: &str, cells: &[&str]| {
        let mut line = format!("{first:<name$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        line
    };
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    let _ = writeln!(out, "{}", style.paint(Ink::Bold, &line(title, &titles)));
    for (at, first) in names.iter().enumerate() {
        let cells: Vec<&str> = columns
            .iter()
            .map(|(_, cells)| cells[at].as_str())
            .collect();
        let mut first = first.as_str();
        if first.chars().count() > name {
            let _ = writeln!(out, "{first}");
            first = "";
        }
        let _ = writeln!(out, "{}", line(first, &cells));
    }
    let _ = writeln!(out, "\n{}", plural(figures.len() as u64, "row"));
    out
}
