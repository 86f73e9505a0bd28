// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tables of lmbench's `make see` (`getsummary`), versions 2 and 3. The importer of lmbench passes them
//! here.
//!
//! ```text
//! Context switching - times in microseconds - smaller is better
//! -------------------------------------------------------------------------
//! Host                 OS  2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
//!                          ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw
//! --------- ------------- ------ ------ ------ ------ ------ ------- -------
//! host      Linux 6.14.0- 1.4300 1.5100 1.6200 1.9300 2.6100 2.01000 2.77000
//! ```
//!
//! A row of a table is a result file, so it becomes a source. Each table repeats the host; within a table a
//! host has a row for each of its files. The rule gives the width of each column. Rows get the names
//! that result files use. Figures are truncated to the width of the column; `24.K` is between 24,000 and
//! 25,000. A blank cell was not measured. Basic parameters, arithmetic and bandwidths are not read.

use std::collections::HashMap;

use super::text::{figure, number};
use super::{Row, Source, MICROSECOND, NANOSECOND};
use crate::stream::run::{Fact, Stat};

/// The title of each table of times contains this.
pub(super) const TITLE: &str = "- smaller is better";

/// Printed instead of memory latencies if lmbench could not determine the frequency.
const NO_FREQUENCY: &str = "Bad mhz?";

/// The layout of a table.
struct Layout {
    /// Part of its title.
    title: &'static str,
    /// The names of its columns after host and system; `None` if a column is not read.
    columns: &'static [Option<&'static str>],
    /// The unit of its figures, in picoseconds.
    unit: f64,
}

static TABLES: [Layout; 6] = [
    Layout {
        title: "Processor, Processes",
        columns: &[
            None,
            Some("Simple syscall"),
            Some("null I/O"),
            Some("Simple stat"),
            Some("Simple open/close"),
            Some("Select on 100 tcp fd's"),
            Some("Signal handler installation"),
            Some("Signal handler overhead"),
            Some("Process fork+exit"),
            Some("Process fork+execve"),
            Some("Process fork+/bin/sh -c"),
        ],
        unit: MICROSECOND,
    },
    Layout {
        title: "Context switching",
        columns: &[
            Some("lat_ctx size=0k 2"),
            Some("lat_ctx size=16k 2"),
            Some("lat_ctx size=64k 2"),
            Some("lat_ctx size=16k 8"),
            Some("lat_ctx size=64k 8"),
            Some("lat_ctx size=16k 16"),
            Some("lat_ctx size=64k 16"),
        ],
        unit: MICROSECOND,
    },
    Layout {
        title: "*Local* Communication latencies",
        columns: &[
            // The same column as in the previous table.
            None,
            Some("Pipe latency"),
            Some("AF_UNIX sock stream latency"),
            Some("UDP latency using localhost"),
            Some("RPC/udp latency using localhost"),
            Some("TCP latency using localhost"),
            Some("RPC/tcp latency using localhost"),
            Some("TCP/IP connection cost to localhost"),
        ],
        unit: MICROSECOND,
    },
    Layout {
        title: "*Remote* Communication latencies",
        columns: &[
            Some("UDP latency using another host"),
            Some("RPC/udp latency using another host"),
            Some("TCP latency using another host"),
            Some("RPC/tcp latency using another host"),
            Some("TCP/IP connection cost to another host"),
        ],
        unit: MICROSECOND,
    },
    Layout {
        title: "File & VM system latencies",
        columns: &[
            Some("File system latency 0k create"),
            Some("File system latency 0k delete"),
            Some("File system latency 10k create"),
            Some("File system latency 10k delete"),
            Some("mappings"),
            Some("Protection fault"),
            Some("Pagefaults"),
            Some("Select on 100 fd's"),
        ],
        unit: MICROSECOND,
    },
    Layout {
        title: "Memory latencies",
        columns: &[
            None,
            Some("Memory latency L1 cache"),
            Some("Memory latency L2 cache"),
            Some("Memory latency main memory"),
            Some("Memory latency random"),
            None,
        ],
        unit: NANOSECOND,
    },
];

/// The tables of a log.
#[derive(Default)]
pub(super) struct Summary {
    sources: Vec<Source>,
    /// The source of each row, identified by its host and its number among the host's rows.
    places: HashMap<(String, usize), usize>,
    table: Option<Table>,
}

/// The current table.
struct Table {
    layout: &'static Layout,
    /// Start and end of each column; empty until the rule is read.
    columns: Vec<(usize, usize)>,
    /// The number of rows so far, for each host.
    hosts: HashMap<String, usize>,
}

impl Summary {
    /// Takes a line with its indentation. Returns whether it belongs to a table.
    pub fn line(&mut self, line: &str) -> bool {
        if line.contains(TITLE) {
            let layout = TABLES.iter().find(|layout| line.contains(layout.title));
            self.table = layout.map(|layout| Table {
                layout,
                columns: Vec::new(),
                hosts: HashMap::new(),
            });
            return true;
        }
        let Some(table) = &mut self.table else {
            return false;
        };
        if line.trim().is_empty() {
            self.table = None;
            return false;
        }
        if table.columns.is_empty() {
            table.columns = columns(line);
            return true;
        }
        if line.contains(NO_FREQUENCY) {
            return true;
        }
        let cells = table
            .columns
            .iter()
            .map(|(from, to)| cell(line, *from, *to));
        let cells: Vec<&str> = cells.collect();
        if let [host, system, cells @ ..] = &cells[..] {
            let seen = table.hosts.entry((*host).to_owned()).or_default();
            let key = ((*host).to_owned(), *seen);
            *seen += 1;
            let rows = rows(table.layout, line, cells);
            let sources = &mut self.sources;
            let place = *self.places.entry(key).or_insert_with(|| {
                let mut source = Source::of_times("lmbench", Vec::new());
                source.facts.push(Fact::new("kernel", *system));
                sources.push(source);
                sources.len() - 1
            });
            self.sources[place].rows.extend(rows);
        }
        true
    }

    pub fn finish(self) -> Vec<Source> {
        self.sources
    }
}

/// The columns of a rule `--------- ------------- ------`; empty if the line is not a rule. A column
/// starts right after the previous one, because wide cells extend into the gap.
fn columns(line: &str) -> Vec<(usize, usize)> {
    let is_rule =
        line.contains("--------- -----") && line.trim().bytes().all(|b| b == b'-' || b == b' ');
    if !is_rule {
        return Vec::new();
    }
    let bytes = line.as_bytes();
    let is_end = |at: &usize| bytes[*at] == b'-' && bytes.get(at + 1) != Some(&b'-');
    let mut from = line.len() - line.trim_start().len();
    let ends = (from..bytes.len()).filter(is_end);
    let column = |end| (std::mem::replace(&mut from, end + 1), end + 1);
    ends.map(column).collect()
}

/// The text in a column.
fn cell(line: &str, from: usize, to: usize) -> &str {
    line.get(from..to.min(line.len())).unwrap_or("").trim()
}

fn rows(layout: &Layout, line: &str, cells: &[&str]) -> Vec<Row> {
    let named = layout.columns.iter().zip(cells);
    let named = named.filter_map(|(name, cell)| Some(((*name)?, *cell)));
    let row = |(name, cell): (&str, &str)| {
        let stat = time(cell).map(|time| Stat {
            median: Some(time * layout.unit),
            ..Stat::blank(1)
        });
        Row::new(name, figure(line, stat))
    };
    let measured = named.filter(|(_, cell)| !cell.is_empty());
    measured.map(row).collect()
}

/// Parses a cell.
fn time(cell: &str) -> Result<f64, String> {
    let (digits, factor) = match cell.as_bytes().last() {
        Some(b'K') => (&cell[..cell.len() - 1], 1e3),
        Some(b'M') => (&cell[..cell.len() - 1], 1e6),
        _ => (cell, 1.0),
    };
    // Figures up to 9,999 are printed like `1234.6` and truncated to the width of the column.
    if factor > 1.0 && digits.len() == 3 && !digits.contains('.') {
        return Err(format!("`{cell}` may have lost its last digit"));
    }
    Ok(number(digits)? * factor)
}
