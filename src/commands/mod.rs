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
mod import;
mod input;
mod list;
mod man;
mod matrix;
mod noise;
mod output;
mod plan;
mod reference;
mod run;
mod saving;
mod show;
mod target;
mod targets;

use clap::{Parser, Subcommand};

use self::arguments::ENVIRONMENT;
use self::exit::EXIT_STATUS;

use crate::base::interrupt::Interrupt;
use crate::stream::filter;
use crate::stream::run::Entry;

/// What does each kernel primitive cost, on this machine, in this kernel, in this configuration?
///
/// Without a command: run.
#[derive(Debug, Parser)]
#[command(name = "kernmark", version, after_help = after_help(), disable_help_subcommand = true)]
pub struct CommandLine {
    /// What to do; nothing is `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine, or what --on names, save the run and show it
    #[command(after_help = after_help())]
    Run(run::Arguments),
    /// List what can be measured
    List(list::Arguments),
    /// Measure several targets or variants and show them side by side
    #[command(after_help = after_help())]
    Matrix(matrix::Arguments),
    /// Show a saved run
    Show(show::Arguments),
    /// Read the results of another tool as a run, and save it where -o says
    #[command(after_help = after_help())]
    Import(import::Arguments),
    /// Say whether two saved runs differ, metric by metric
    #[command(after_help = after_help())]
    Compare(compare::Arguments),
    /// Measure two targets or variants in turns and say whether they differ
    ///
    /// A and B are measured replicate by replicate, in random order within blocks, so that what
    /// changes on the machine meanwhile befalls both. Both runs are saved; `kernmark compare` says
    /// the same of the two files. --runs and --samples are for each side, --time-budget is for both
    /// together; where `run` would make one replicate, this makes two of instructions that are
    /// exact, and ten of what takes no orders. Two agents on one Linux are two commands: 'exec:AGENT run'.
    #[command(after_help = after_help())]
    Ab(ab::Arguments),
    /// Find out how far unchanged runs lie apart here, for compare and ab to allow for
    ///
    /// Measures the same again and again, each time a run of its own that is saved. How far these
    /// lie apart is kept, metric by metric: from then on `compare` and `ab` call no smaller change
    /// of what was measured on this machine in this configuration a change. Also says how often
    /// the gate of `compare` would have raised a false alarm.
    #[command(after_help = after_help())]
    Noise(noise::Arguments),
    /// Say what a metric's cost is made of: its parts, which are metrics too, and the residual
    Explain(explain::Arguments),
    /// Say from a saved run how many replicates find a change of a given size
    Plan(plan::Arguments),
    /// List the targets that `--on` can name, their boards and variants
    Targets(targets::Arguments),
    /// Look for what disturbs measurements on this machine, and say what to do about it
    Doctor,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
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

/// Why a command did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// Something went wrong.
    Failed(String),
}

type Outcome = Result<u8, Failure>;

/// Does what the arguments say and returns the exit status.
///
/// # Errors
///
/// What the user is to be told, when there is no other result.
pub fn dispatch(line: CommandLine) -> Outcome {
    match line.command {
        None => run::run(&run::Arguments::default()),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::List(arguments)) => list::list(&arguments),
        Some(Command::Matrix(arguments)) => matrix::matrix(&arguments),
        Some(Command::Show(arguments)) => show::show(&arguments),
        Some(Command::Import(arguments)) => import::import(&arguments),
        Some(Command::Compare(arguments)) => compare::compare(&arguments),
        Some(Command::Ab(arguments)) => ab::ab(&arguments),
        Some(Command::Noise(arguments)) => noise::noise(&arguments),
        Some(Command::Explain(arguments)) => explain::explain(&arguments),
        Some(Command::Plan(arguments)) => plan::plan(&arguments),
        Some(Command::Targets(arguments)) => targets::targets(&arguments),
        Some(Command::Doctor) => doctor::doctor(),
        Some(Command::Completions(arguments)) => completions::completions(&arguments),
        Some(Command::Man) => man::man(),
    }
}

fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::install().map_err(|error| Failure::Failed(format!("cannot catch signals: {error}")))
}

/// Checks that each filter selects something of the catalog.
fn verify_filters(catalog: &[Entry], filters: &[String]) -> Result<(), Failure> {
    let ids: Vec<&str> = catalog.iter().map(|entry| entry.metric.as_str()).collect();
    filter::verify(filters, &ids).map_err(Failure::Usage)
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
