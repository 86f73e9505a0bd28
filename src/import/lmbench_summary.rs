// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tables of lmbench's `make see` (`getsummary`), versions 2 and 3.
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
//! A row of a table is a file of results, so it is a source; the host comes again in each table, and
//! again in one table if it has several files. Columns are as wide as their rule, and are read under the
//! names that the files of results have. Figures have as many digits as fit; `24.K` is 24,000 and
//! something. What is left blank was not measured. Basic parameters, arithmetic and bandwidths are not
//! read.

use std::collections::HashMap;

use super::text::{figure, number};
use super::{Row, Source, MICROSECOND, NANOSECOND};
use crate::stream::run::{Fact, Stat};

/// What the title of each table of times holds.
pub(super) const TITLE: &str = "- smaller is better";

/// What a row of the latencies of memory says that has none, because the frequency is not known.
const NO_FREQUENCY: &str = "Bad mhz?";

/// A table that is read.
struct Known {
    /// What its title begins with.
    title: &'static str,
    /// The rows that its columns are, after host and system; none where a column is not read.
    columns: &'static [Option<&'static str>],
    /// Picoseconds in one of its unit.
    unit: f64,
}

static TABLES: [Known; 6] = [
    Known {
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
    Known {
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
    Known {
        title: "*Local* Communication latencies",
        columns: &[
            // The same as in the table before.
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
    Known {
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
    Known {
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
    Known {
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
    /// Which source each row of a host is: the host, and which of its rows it is.
    places: HashMap<(String, usize), usize>,
    table: Option<Table>,
}

/// The table that is being read.
struct Table {
    known: &'static Known,
    /// Where in its lines its columns begin and end, once the rule below its head is read.
    columns: Vec<(usize, usize)>,
    /// How many rows of each host it has had.
    hosts: HashMap<String, usize>,
}

impl Summary {
    /// Takes a line with its indentation; whether it is of a table.
    pub fn line(&mut self, line: &str) -> bool {
        if line.contains(TITLE) {
            let known = TABLES.iter().find(|known| line.contains(known.title));
            self.table = known.map(|known| Table {
                known,
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
            table.columns = rule(line);
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
            let rows = rows(table.known, line, cells);
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

/// The columns of a rule `--------- ------------- ------`, if a line is one: each from behind the one
/// before it, because what is too wide for a column stands in the gap.
fn rule(line: &str) -> Vec<(usize, usize)> {
    let is_one =
        line.contains("--------- -----") && line.trim().bytes().all(|b| b == b'-' || b == b' ');
    if !is_one {
        return Vec::new();
    }
    let bytes = line.as_bytes();
    let is_end = |at: &usize| bytes[*at] == b'-' && bytes.get(at + 1) != Some(&b'-');
    let mut from = line.len() - line.trim_start().len();
    let ends = (from..bytes.len()).filter(is_end);
    let column = |end| (std::mem::replace(&mut from, end + 1), end + 1);
    ends.map(column).collect()
}

/// What stands in a column.
fn cell(line: &str, from: usize, to: usize) -> &str {
    line.get(from..to.min(line.len())).unwrap_or("").trim()
}

fn rows(known: &Known, line: &str, cells: &[&str]) -> Vec<Row> {
    let named = known.columns.iter().zip(cells);
    let named = named.filter_map(|(name, cell)| Some(((*name)?, *cell)));
    let row = |(name, cell): (&str, &str)| {
        let stat = time(cell).map(|time| Stat {
            median: Some(time * known.unit),
            ..Stat::blank(1)
        });
        Row::new(name, figure(line, stat))
    };
    let measured = named.filter(|(_, cell)| !cell.is_empty());
    measured.map(row).collect()
}

/// A figure of a table.
fn time(cell: &str) -> Result<f64, String> {
    let (digits, factor) = match cell.as_bytes().last() {
        Some(b'K') => (&cell[..cell.len() - 1], 1e3),
        Some(b'M') => (&cell[..cell.len() - 1], 1e6),
        _ => (cell, 1.0),
    };
    // `1234.6`, which comes before `K` up to 9,999, is cut to the width of its column.
    if factor > 1.0 && digits.len() == 3 && !digits.contains('.') {
        return Err(format!("`{cell}` may have lost its last digit"));
    }
    Ok(number(digits)? * factor)
}
