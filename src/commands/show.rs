// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `show`: prints a saved run.

use std::path::PathBuf;

use clap::Args;

use super::arguments::{spec, Printed, RunFormat, Table};
use super::input::{path_or_latest, read_run};
use super::output::{formatted, print, style};
use super::{budget, exit, reference as published, Failure, Outcome};
use crate::report::distribution;
use crate::stream::filter;
use crate::target::spec::Spec;

/// The arguments of `show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A saved run, a file of another tool, `-` for standard input, or a published dataset such as
    /// reference:zircon/2018-01-02 [default: the latest complete run of --on]
    pub file: Option<PathBuf>,

    /// Use the latest run of this target
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// Show the distribution of this metric's samples
    #[arg(long, value_name = "ID", conflicts_with_all = ["format", "json", "columns"])]
    pub metric: Option<String>,

    /// Check the run against the absolute limits in FILE
    ///
    /// FILE is TOML and gives the highest cost of each metric; see doc/ci.md. The exit status is 3
    /// if a metric exceeds its limit and 4 if a limit cannot be judged.
    #[arg(long, value_name = "FILE", conflicts_with = "metric")]
    pub budget: Option<PathBuf>,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<RunFormat>,

    /// The table.
    #[command(flatten)]
    pub table: Table,
}

pub(super) fn show(arguments: &Arguments) -> Outcome {
    if let Some(dataset) = arguments.file.as_deref().and_then(published::named) {
        return published::show(&dataset?, arguments);
    }
    let path = path_or_latest(arguments.file.as_deref(), &arguments.on)?;
    let run = read_run(&path)?;
    if let Some(id) = &arguments.metric {
        let ids: Vec<&str> = run.metrics.iter().map(|one| one.id.as_str()).collect();
        if !ids.contains(&id.as_str()) {
            return Err(Failure::Usage(format!(
                "the run has no metric `{id}`{}",
                filter::suggestion(id, &ids)
            )));
        }
        let text = distribution::render(&run, id, &style()).map_err(Failure::Failed)?;
        print(text.as_bytes())?;
        return Ok(exit::of_run(&run));
    }
    let judgement = budget::judge(arguments.budget.as_deref(), &run)?;
    let text = match &judgement {
        Some(judgement) => budget::formatted_with(
            &run,
            judgement,
            arguments.printed.format(),
            &arguments.table.columns,
        )?,
        None => formatted(&run, arguments.printed.format(), &arguments.table.columns)?,
    };
    print(text.as_bytes())?;
    Ok(budget::combined_status(
        exit::of_run(&run),
        judgement.as_ref(),
    ))
}
