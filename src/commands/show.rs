// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `show`: a saved run.

use std::path::PathBuf;

use clap::Args;

use super::arguments::{spec, RunFormat};
use super::input::{path_or_latest, read_run};
use super::output::{formatted, print, style};
use super::{budget, exit, reference as published, Failure, Outcome};
use crate::report::terminal;
use crate::stream::filter;
use crate::target::spec::Spec;

/// The arguments of `show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The saved run or file of another tool, `-` for standard input, or a dataset of published
    /// figures, such as reference:zircon/2018-01-02 [default: the newest whole run of --on]
    pub file: Option<PathBuf>,

    /// The target whose latest run is meant
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// Show how the samples of this one metric are distributed
    #[arg(long, value_name = "ID", conflicts_with = "format")]
    pub metric: Option<String>,

    /// Judge the run by the absolute limits in FILE
    ///
    /// A TOML file with the most that a metric may cost: see doc/ci.md. A limit that is exceeded
    /// is exit status 3, one that cannot be judged 4.
    #[arg(long, value_name = "FILE", conflicts_with = "metric")]
    pub budget: Option<PathBuf>,

    /// How to print the result
    ///
    /// The formats of other programs, and what each keeps, are in doc/formats.md.
    #[arg(long, value_enum, default_value_t)]
    pub format: RunFormat,
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
        let text = terminal::distribution(&run, id, &style()).map_err(Failure::Failed)?;
        print(text.as_bytes())?;
        return Ok(exit::of_run(&run));
    }
    let judgement = budget::judge(arguments.budget.as_deref(), &run)?;
    let text = match &judgement {
        Some(judgement) => budget::formatted_with(&run, judgement, arguments.format)?,
        None => formatted(&run, arguments.format)?,
    };
    print(text.as_bytes())?;
    Ok(budget::graver(exit::of_run(&run), judgement.as_ref()))
}
