// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `runs`: lists saved runs and removes them.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::arguments::{spec, Choice, Printed};
use super::folder::{folder, full_target};
use super::input::report_interrupted_runs;
use super::output::{print, style};
use super::target::resolve;
use super::{exit, interrupt, Failure, Outcome};
use crate::base::number::plural;
use crate::base::text::plain;
use crate::files::runs::{Folder, Name, SavedRun};
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `runs`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub action: Option<Action>,

    /// What to list without a subcommand.
    #[command(flatten)]
    pub listing: Listing,
}

/// What to do with saved runs.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// List saved runs, the newest last
    List(Listing),
    /// Remove saved runs
    Rm(Removal),
    /// Remove old runs
    Prune(Pruning),
}

/// The arguments of `runs list`.
#[derive(Args, Debug)]
pub struct Listing {
    /// Only runs of this target
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub on: Option<Spec>,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<RunsFormat>,
}

/// The arguments of `runs rm`.
#[derive(Args, Debug)]
pub struct Removal {
    /// The runs to remove: the start of a hash, as `kernmark runs` lists it, a whole name, or latest
    #[arg(value_name = "RUN", required = true)]
    pub names: Vec<String>,

    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// The arguments of `runs prune`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("which").args(["keep", "older_than"]).required(true)))]
pub struct Pruning {
    /// Keep the newest N runs of each target on each machine
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,

    /// Remove runs that started longer ago than AGE: 90d, 12h, 6months
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub older_than: Option<Duration>,

    /// Only runs of this target
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub on: Option<Spec>,

    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// The formats of a list of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RunsFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Comma-separated values: a line for each metric of each run, for a database
    Csv,
}

impl Choice for RunsFormat {
    const JSON: Self = RunsFormat::Json;
}

pub(super) fn runs(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        None => list(&arguments.listing),
        Some(Action::List(listing)) => list(listing),
        Some(Action::Rm(removal)) => remove_named(removal),
        Some(Action::Prune(pruning)) => prune(pruning),
    }
}

/// The saved runs of a target, or all of them.
fn selected(folder: &Folder, on: Option<&Spec>) -> Result<Vec<SavedRun>, Failure> {
    let target = on.map(|on| Ok(resolve(on, &interrupt()?)?.target()));
    let target = target.transpose()?;
    let mut runs = folder.runs().map_err(Failure::Failed)?;
    runs.retain(|run| {
        target
            .as_deref()
            .is_none_or(|target| run.head.target() == target)
    });
    Ok(runs)
}

fn list(listing: &Listing) -> Outcome {
    let folder = folder()?;
    report_interrupted_runs();
    let runs = selected(&folder, listing.on.as_ref())?;
    match listing.printed.format() {
        RunsFormat::Table => print(report::runs::table(&runs, folder.path(), &style()).as_bytes()),
        RunsFormat::Json => print(export::json::runs(&runs, folder.path()).as_bytes()),
        RunsFormat::Csv => {
            print(export::csv::figures_header().as_bytes())?;
            for run in &runs {
                // Whoever removed the run meanwhile does not want it.
                if let Ok(digest) = folder.digest_of(run) {
                    print(export::csv::figures_of_run(&digest).as_bytes())?;
                }
            }
            Ok(exit::OK)
        }
    }
}

fn remove_named(removal: &Removal) -> Outcome {
    let folder = folder()?;
    let mut files = BTreeSet::new();
    // One wrong name, and nothing is removed.
    for name in &removal.names {
        let name = match Name::parse(name) {
            Name::Latest {
                target: Some(target),
                back,
            } => Name::Latest {
                target: Some(full_target(&target)),
                back,
            },
            name => name,
        };
        let found = folder.find(&name).map_err(Failure::Failed)?;
        files.insert(found.path);
    }
    let is_meant = |run: &SavedRun| {
        let mut all = std::iter::once(&run.file).chain(&run.copies);
        all.any(|file| files.contains(&folder.path().join(file)))
    };
    let mut runs = folder.runs().map_err(Failure::Failed)?;
    runs.retain(is_meant);
    remove(&folder, &runs, removal.dry_run)
}

fn prune(pruning: &Pruning) -> Outcome {
    let folder = folder()?;
    let mut runs = selected(&folder, pruning.on.as_ref())?;
    match (pruning.keep, pruning.older_than) {
        (Some(keep), _) => {
            // The newest come last.
            let mut seen: HashMap<(String, Option<String>), usize> = HashMap::new();
            let mut is_kept = |run: &SavedRun| {
                let machine = run.head.machine().map(str::to_owned);
                let count = seen.entry((run.head.target().to_owned(), machine));
                let count = count.or_default();
                *count += 1;
                *count <= keep
            };
            runs.reverse();
            runs.retain(|run| !is_kept(run));
            runs.reverse();
        }
        (None, Some(age)) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let since = now.unwrap_or_default().saturating_sub(age).as_secs();
            // A run that does not say when it started stays.
            runs.retain(|run| (1..since).contains(&run.head.started));
        }
        (None, None) => runs.clear(),
    }
    remove(&folder, &runs, pruning.dry_run)
}

/// Removes runs, and says which.
fn remove(folder: &Folder, runs: &[SavedRun], is_dry: bool) -> Outcome {
    let mut failures = 0;
    let mut said = String::new();
    for run in runs {
        let name = plain(&run.head.name);
        if is_dry {
            let _ = writeln!(said, "would remove {name}");
            continue;
        }
        match folder.remove(run) {
            Ok(()) => drop(writeln!(said, "removed {name}")),
            Err(why) => {
                failures += 1;
                eprintln!("kernmark: {}", plain(&why));
            }
        }
    }
    if runs.is_empty() {
        said += "no run to remove\n";
    }
    print(said.as_bytes())?;
    if failures > 0 {
        let why = format!("{} could not be removed", plural(failures, "run"));
        return Err(Failure::Failed(why));
    }
    Ok(exit::OK)
}
