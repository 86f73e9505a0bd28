// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments that several commands take.

use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, RangedU64ValueParser};
use clap::{Args, ValueEnum};

use crate::export::{self, Foreign};
use crate::judge::ranking::Ranking;
use crate::machine::counters::Detail;
use crate::machine::cpus::AskedCpus;
use crate::report::html::metric::Precision;
use crate::report::table::Column;
use crate::stream::filter;
use crate::stream::run::{Fact, LABEL, MACHINE};
use crate::target::spec::Spec;

/// The forms of `--on`.
pub const ON: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH";

/// The forms of `--on`, explained.
pub const ON_LONG: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH

linux is this machine. NAME is a target that `kernmark targets` lists: a kernel that is built with \
the agent and runs in an emulator or on a board. PATH.toml describes such a target. Write a comma \
in a VALUE twice. The other forms read records from a serial line, from a shell command, or from a \
file (- is standard input).";

/// The environment variables, for the help and the man page.
pub const ENVIRONMENT: &str = "\
XDG_DATA_HOME    runs, their digests and an index are saved in kernmark/runs below it, noise
                 floors in kernmark/noise
                 (default: ~/.local/share)
XDG_CACHE_HOME   images of other kernels are built in kernmark below it, and the agent is kept there
                 if it cannot run from memory (default: ~/.cache)
XDG_CONFIG_HOME  kernmark/targets below it may hold descriptions of targets (default: ~/.config)
KERNMARK_AGENT   a program to run instead of the built-in agent
KERNMARK_LOCK    the file that keeps two runs from measuring at the same time; runs with different
                 files do not wait for each other (default: kernmark.lock in /dev/shm, /run/lock
                 or /tmp)
COLUMNS          the width of reports (default: the terminal's, or 100)
KERNMARK_PAGER   shows reports that are longer than the terminal; else PAGER does (default: less;
                 empty or cat: no pager)
NO_COLOR         no colours when set, unless --color says otherwise
";

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The format of a result.
#[derive(Args, Clone, Debug, Default)]
pub struct Printed<F: Choice> {
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: F,

    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl<F: Choice> Printed<F> {
    /// The format that the user chose.
    pub fn format(&self) -> F {
        if self.json {
            F::JSON
        } else {
            self.format
        }
    }
}

/// What the table of a run shows.
#[derive(Args, Clone, Debug, Default)]
pub struct Table {
    /// The columns of the table, separated by commas: median, interval, spread, p99, p999, worst,
    /// cold, net, rate, cpu [default: as many as fit, without cpu]
    ///
    /// Other formats have all figures. cpu is the CPU time of all threads of the case per operation.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "json"
    )]
    pub columns: Vec<Column>,
}

/// Which metrics a report has, in which order, and how many of them. `K` are the keys that it can be
/// sorted by.
#[derive(Args, Clone, Debug)]
pub struct Selection<K: ValueEnum + Copy + Send + Sync + 'static> {
    /// Select metrics: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// Leave out metrics: the start of an id or a glob; may be repeated
    #[arg(long, value_name = "FILTER")]
    pub exclude: Vec<String>,

    /// Sort by this key, the greatest first
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<K>,

    /// Show only the first N metrics of a table
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub top: Option<usize>,

    /// Show everything that a table leaves out otherwise
    #[arg(long)]
    pub all: bool,
}

impl<K: ValueEnum + Copy + Send + Sync + 'static> Default for Selection<K> {
    fn default() -> Self {
        Selection {
            filters: Vec::new(),
            exclude: Vec::new(),
            sort: None,
            top: None,
            all: false,
        }
    }
}

impl<K: ValueEnum + Copy + Send + Sync + 'static> Selection<K> {
    /// The metrics that are selected.
    pub fn metrics(&self) -> filter::Selection {
        filter::Selection {
            filters: self.filters.clone(),
            exclude: self.exclude.clone(),
        }
    }

    /// Their order, and how many of them a table shows.
    pub fn ranking(&self) -> Ranking<K> {
        Ranking {
            key: self.sort,
            top: self.top,
            all: self.all,
        }
    }
}

/// A set of formats, with JSON among them.
pub trait Choice: ValueEnum + Copy + Default + Send + Sync + 'static {
    /// JSON.
    const JSON: Self;
}

impl Choice for Format {
    const JSON: Self = Format::Json;
}

impl Choice for RunFormat {
    const JSON: Self = RunFormat::Own(Format::Json);
}

/// The formats of most results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Comma-separated values
    Csv,
    /// Markdown
    Md,
}

/// The formats of results that a browser can show too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    /// A format of most results.
    Own(Format),
    /// A page for a browser.
    Html,
}

impl Default for PageFormat {
    fn default() -> Self {
        PageFormat::Own(Format::default())
    }
}

impl Choice for PageFormat {
    const JSON: Self = PageFormat::Own(Format::Json);
}

impl ValueEnum for PageFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<PageFormat>> = LazyLock::new(|| {
            let own = Format::value_variants().iter().copied();
            own.map(PageFormat::Own).chain([PageFormat::Html]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            PageFormat::Own(format) => format.to_possible_value(),
            PageFormat::Html => Some(html()),
        }
    }
}

/// The formats of a run.
#[derive(Clone, Copy, Debug)]
pub enum RunFormat {
    /// A format of most results.
    Own(Format),
    /// A page for a browser.
    Html(Precision),
    /// The format of another program.
    Foreign(&'static Foreign),
}

impl Default for RunFormat {
    fn default() -> Self {
        RunFormat::Own(Format::default())
    }
}

impl ValueEnum for RunFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<RunFormat>> = LazyLock::new(|| {
            let own = Format::value_variants().iter().copied();
            let foreign = export::FOREIGN.into_iter();
            own.map(RunFormat::Own)
                .chain([RunFormat::Html(Precision::Binned)])
                .chain(foreign.map(RunFormat::Foreign))
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            RunFormat::Own(format) => format.to_possible_value(),
            RunFormat::Html(_) => Some(html()),
            RunFormat::Foreign(format) => {
                let help = format!("{}; leaves out {}", format.about, format.leaves_out);
                Some(PossibleValue::new(format.name).help(help))
            }
        }
    }
}

/// The format of reports for a browser.
pub(super) fn html() -> PossibleValue {
    PossibleValue::new("html").help("A page for a browser, in one file")
}

/// How much is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct Effort {
    /// Measure fewer replicates with fewer samples: 5 s for this Linux, one replicate of any other
    /// target
    #[arg(long)]
    pub quick: bool,

    /// Replicates: processes or boots, each of which measures everything afresh [default: 10 for
    /// this Linux, as its description says or 1 for other targets; with --quick 7 and 1; with
    /// --check 3 at most]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Samples of each case in a replicate, at most [default: 500 for this Linux, as its
    /// description says for other targets; with --quick 100; with --check 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub samples: Option<u32>,

    /// Limit the whole run to S seconds; 0 is no limit [default: 25 for this Linux, with --quick
    /// 4.2, with --check 10; no limit for other targets]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,

    /// Seed for the order of the cases [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

/// The conditions under which to measure.
#[derive(Args, Clone, Debug, Default)]
pub struct Conditions {
    /// CPU to measure on, and the second CPU for cases that need two [default: the last one that
    /// this process may use, and the nearest core of the same type]
    ///
    /// The nearest core shares a cache with the measured one, and is no hardware thread of the same
    /// core. The run records how the two are related, and `kernmark doctor` says it beforehand.
    #[arg(long, value_name = "A[,B]")]
    pub cpu: Option<AskedCpus>,

    /// Do not use real-time priority, even if it is permitted
    #[arg(long)]
    pub no_realtime: bool,

    /// Wait up to S seconds while another kernmark measures on this machine [default: 120]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub wait: Option<Duration>,

    /// Record the host name in the run
    #[arg(long)]
    pub host_name: bool,

    /// Record this name of the machine that is measured
    ///
    /// Runs with the same name are of one machine. Without a name, a hash of /etc/machine-id tells
    /// machines apart that run kernmark themselves.
    #[arg(long, value_name = "MACHINE", value_parser = NonEmptyStringValueParser::new())]
    pub machine: Option<String>,

    /// Record a label, such as commit=1a2b3c; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<Label>,

    /// Record which processes use this machine's CPUs and memory before the run, by name
    #[arg(long)]
    pub processes: bool,
}

/// A label that the user gives a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Letters, digits, `.`, `_` and `-`.
    pub key: String,
    /// Any text.
    pub value: String,
}

/// Parses a label: `commit=1a2b3c`.
fn label(text: &str) -> Result<Label, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match text.split_once('=') {
        Some((key, value))
            if (1..=64).contains(&key.len()) && key.chars().all(is_plain) && !value.is_empty() =>
        {
            Ok(Label {
                key: key.to_owned(),
                value: value.to_owned(),
            })
        }
        _ => Err("not KEY=VALUE; KEY has letters, digits, `.`, `_` and `-`".to_owned()),
    }
}

impl Conditions {
    /// What the user says about the machine and the run.
    pub(super) fn said(&self) -> Vec<Fact> {
        let machine = self
            .machine
            .iter()
            .map(|name| Fact::new(MACHINE, name.as_str()));
        let labels = self
            .labels
            .iter()
            .map(|Label { key, value }| Fact::new(&format!("{LABEL}{key}"), value.as_str()));
        machine.chain(labels).collect()
    }

    /// How much is recorded of this machine before the run.
    pub(super) fn detail(&self) -> Detail {
        if self.processes {
            Detail::Processes
        } else {
            Detail::Counts
        }
    }
}

/// Parses a percentage from 0 to 1000; returns it as a fraction.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("not a percentage from 0 to 1000".to_owned()),
    }
}

/// Removes the sign of `5%` and `5 %`.
pub(super) fn without_sign(text: &str) -> &str {
    text.strip_suffix('%').map_or(text, str::trim_end)
}

/// Parses a target.
pub(super) fn spec(text: &str) -> Result<Spec, String> {
    text.parse()
}

/// Parses seconds, from 0 to a day; fractions are allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("not a number of seconds from 0 to 86400".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("4.2"), Ok(Duration::from_millis(4200)));
        for text in ["-1", "nan", "inf", "86401", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
