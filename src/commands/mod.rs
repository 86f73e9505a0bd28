// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command line: one file for each command, with its arguments. A command returns its exit
//! status.

mod ab;
mod arguments;
mod budget;
mod compare;
mod completions;
mod coverage;
mod doctor;
pub mod exit;
mod explain;
mod folder;
mod history;
mod import;
mod input;
mod list;
mod man;
mod matrix;
mod noise;
mod output;
mod plan;
mod reference;
mod report;
mod run;
mod runs;
mod saving;
mod show;
mod target;
mod targets;
mod why;

use clap::{Parser, Subcommand};

use self::arguments::{When, ENVIRONMENT};
use self::exit::EXIT_STATUS;

use crate::base::interrupt::Interrupt;
use crate::stream::filter;
use crate::stream::run::{Entry, Run};

/// What does each kernel primitive cost, on this machine, in this kernel, in this configuration, and
/// did it change?
#[derive(Debug, Parser)]
#[command(
    name = "kernmark",
    version,
    after_help = "Start with `kernmark run`. `kernmark help COMMAND` explains a command.",
    after_long_help = after_help(),
    arg_required_else_help = true
)]
pub struct CommandLine {
    /// When to colour reports and messages
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: When,

    /// Print reports without a pager, however long they are
    #[arg(long, global = true)]
    pub no_pager: bool,

    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine or another target, save the run and show it
    #[command(after_long_help = after_help())]
    Run(run::Arguments),
    /// List the metrics that can be measured
    List(list::Arguments),
    /// Measure several targets or variants and show them side by side
    #[command(after_long_help = after_help())]
    Matrix(matrix::Arguments),
    /// Show a saved run
    Show(show::Arguments),
    /// List saved runs, or remove some
    ///
    /// The first column names a run wherever a command takes a FILE. `latest` is the newest complete
    /// run, `latest~1` the one before it of the same target and machine, `latest:TARGET` the newest
    /// one of a target.
    Runs(runs::Arguments),
    /// Convert the results of another tool to a run
    #[command(after_long_help = after_help())]
    Import(import::Arguments),
    /// Compare two saved runs, metric by metric
    #[command(after_long_help = after_help())]
    Compare(compare::Arguments),
    /// Measure two targets or variants alternately and compare them
    ///
    /// Alternates between A and B, replicate by replicate, in random order within blocks, so that
    /// drift affects both equally. Both runs are saved; `kernmark compare` gives the same verdicts
    /// for the two files. --runs and --samples apply to each side, --time-budget to both together.
    /// Targets that count instructions get two replicates by default, targets that take no orders
    /// get ten. To compare two agents on one Linux, give two commands: 'exec:AGENT run'.
    #[command(after_long_help = after_help())]
    Ab(ab::Arguments),
    /// Measure this machine's noise; compare and ab then ignore smaller changes
    ///
    /// Repeats the same measurement and saves each run. The run-to-run variation of each metric is
    /// kept as its noise floor. `compare` and `ab` use it for runs of the same target on the same
    /// machine in the same configuration. Also reports how often the gate of `compare` would have
    /// raised a false alarm.
    #[command(after_long_help = after_help())]
    Noise(noise::Arguments),
    /// Show what changed in the saved runs of a target, and when
    ///
    /// Judges all saved runs of a target on one machine, oldest first. A level that begins with an
    /// event, such as another kernel or another version of this tool, gets a verdict. What a metric
    /// does by itself raises its floor. See doc/history.md.
    #[command(after_long_help = after_help())]
    History(history::Arguments),
    /// Break the cost of a metric down into its parts and a residual
    Explain(explain::Arguments),
    /// Show where the instructions of a metric go, function by function
    ///
    /// Works on targets that count instructions: FreeRTOS and Zephyr in emulators, linux-vm:tcg.
    /// The emulator lists every instruction between the stamps of each sample; their number is the
    /// printed value, or it is an error.
    #[command(after_long_help = after_help())]
    Why(why::Arguments),
    /// Calculate how many replicates it takes to find a change of a given size
    Plan(plan::Arguments),
    /// Write a site of pages for all saved runs: each run, each target's history, what changed last
    #[command(after_long_help = after_help())]
    Report(report::Arguments),
    /// List the targets for --on, with their boards and variants
    Targets(targets::Arguments),
    /// Check this machine for what disturbs measurements, and say what to do about it
    Doctor,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print what fits as the last of these words, for the completion scripts
    #[command(hide = true)]
    Complete(completions::Words),
    /// Print the man page
    Man,
}

fn after_help() -> String {
    let indented = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    format!(
        "Exit status:\n  {}\n\nEnvironment:\n  {}",
        indented(EXIT_STATUS),
        indented(ENVIRONMENT)
    )
}

/// Why a command has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// They name something, such as a metric, that this kernel lacks. Another revision may have it.
    Absent(String),
    /// Something went wrong.
    Failed(String),
}

impl Failure {
    /// The message.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Failure::Usage(why) | Failure::Absent(why) | Failure::Failed(why) => why,
        }
    }
}

type Outcome = Result<u8, Failure>;

/// Runs a command and returns its exit status.
///
/// # Errors
///
/// The command has no result; the message says why.
pub fn dispatch(line: CommandLine) -> Outcome {
    output::set_colour(line.color);
    output::set_pager(!line.no_pager);
    match line.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Matrix(arguments) => matrix::matrix(&arguments),
        Command::Show(arguments) => show::show(&arguments),
        Command::Runs(arguments) => runs::runs(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Ab(arguments) => ab::ab(&arguments),
        Command::Noise(arguments) => noise::noise(&arguments),
        Command::History(arguments) => history::history(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Targets(arguments) => targets::targets(&arguments),
        Command::Doctor => doctor::doctor(),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Complete(arguments) => completions::complete(&arguments),
        Command::Man => man::man(),
    }
}

fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::install().map_err(|error| Failure::Failed(format!("cannot catch signals: {error}")))
}

/// Checks that each filter selects a metric of the catalog.
fn verify_filters(catalog: &[Entry], filters: &[String]) -> Result<(), Failure> {
    let ids: Vec<&str> = catalog.iter().map(|entry| entry.metric.as_str()).collect();
    filter::verify(filters, &ids).map_err(Failure::Absent)
}

/// Checks that each filter matches a metric of these runs, and that something is selected.
fn verify_selection(selection: &filter::Selection, runs: &[&Run]) -> Result<(), Failure> {
    let ids: Vec<&str> = runs.iter().flat_map(|run| run.ids()).collect();
    selection.verify(&ids).map_err(Failure::Absent)
}

fn is_selected(metric: &str, filters: &[String]) -> bool {
    let selects = |filter: &String| filter::matches(filter, metric);
    filters.is_empty() || filters.iter().any(selects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        CommandLine::command().debug_assert();
    }
}
