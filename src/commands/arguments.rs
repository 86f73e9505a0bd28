// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments that several commands take.

use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::export::{self, Foreign};
use crate::target::spec::Spec;

/// What `--on` takes, for people.
pub const ON: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH";

/// The same, and what these are.
pub const ON_LONG: &str = "What to measure: linux, NAME[:BOARD][,variant=A+B][,OPTION=VALUE], \
    PATH.toml[:BOARD], serial:DEVICE[@BAUD], exec:COMMAND, file:PATH

linux is this machine. NAME is one that `kernmark targets` lists, PATH.toml a file like those: a \
kernel that is built with the agent and runs in an emulator or on a board. A comma in a VALUE is \
written twice. The others only have to \
print records: over a serial line, from a shell command, from a file (- is standard input).";

/// What the environment changes, for people.
pub const ENVIRONMENT: &str = "\
XDG_DATA_HOME   runs are saved in kernmark/runs below it, what `kernmark noise` finds in
                kernmark/noise (default: ~/.local/share)
XDG_CACHE_HOME  what is built for other kernels is kept in kernmark below it, and the agent where
                programs must not run from memory (default: ~/.cache)
XDG_CONFIG_HOME descriptions of targets are looked for in kernmark/targets below it (default:
                ~/.config)
KERNMARK_AGENT  a program to run in place of the built-in agent
KERNMARK_LOCK   the file that keeps two runs apart (default: kernmark.lock in /dev/shm, /run/lock
                or /tmp); a file of its own lets a run measure beside another
COLUMNS         how wide reports are (default: as the terminal, or 100)
NO_COLOR        no colours when set
";

/// How a result is printed.
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

/// How a run is printed.
#[derive(Clone, Copy, Debug)]
pub enum RunFormat {
    /// As every result can be.
    Own(Format),
    /// In a format of other programs.
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
                .chain(foreign.map(RunFormat::Foreign))
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            RunFormat::Own(format) => format.to_possible_value(),
            RunFormat::Foreign(format) => {
                let help = format!("{}; leaves out {}", format.about, format.leaves_out);
                Some(PossibleValue::new(format.name).help(help))
            }
        }
    }
}

/// How much is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct Effort {
    /// Fewer replicates, fewer samples: this Linux is done within 5 s, what --on names makes one
    /// replicate and takes as long as that needs
    #[arg(long)]
    pub quick: bool,

    /// Replicates: processes or boots that each measure everything afresh [default: 10; quick: 7;
    /// check: 3; --on: as its description says, or 1; --on, quick: 1]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Most samples of each case in a replicate [default: 500; quick: 100; check: 20;
    /// --on: as its description says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub samples: Option<u32>,

    /// Seconds that the whole run may take; 0 is no bound [default: 25; quick: 4.2; check: 10;
    /// --on: 0]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,

    /// Seed of the order of cases [default: from the time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

/// Under what conditions is measured, and what of them is recorded.
#[derive(Args, Clone, Debug, Default)]
pub struct Conditions {
    /// CPU to measure on [default: the last one allowed]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,

    /// Never use real-time priority, also where it is permitted
    #[arg(long)]
    pub no_realtime: bool,

    /// Seconds to wait while another kernmark measures on this machine [default: 120]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub wait: Option<Duration>,

    /// Record the host's name in the run
    #[arg(long)]
    pub host_name: bool,
}

/// A percentage, as a share.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("per cent from 0 to 1000 are needed".to_owned()),
    }
}

/// `5` of `5%` and `5 %`.
pub(super) fn without_sign(text: &str) -> &str {
    text.strip_suffix('%').map_or(text, str::trim_end)
}

/// A target.
pub(super) fn spec(text: &str) -> Result<Spec, String> {
    text.parse()
}

/// Seconds, also with a fraction, from 0 to a day.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("seconds from 0 to 86400 are needed".to_owned()),
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
