// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `show`: prints a saved run.

use std::path::PathBuf;

use clap::Args;

use super::arguments::{spec, Format, Printed, RunFormat, Selection, Table};
use super::input::{path_or_latest, read_run};
use super::output::{formatted, page, print, style};
use super::{budget, exit, reference as published, verify_selection, Failure, Outcome};
use crate::judge::ranking::RunKey;
use crate::report::distribution;
use crate::report::html::metric::Precision;
use crate::report::table::View;
use crate::stream::filter;
use crate::stream::run::Run;
use crate::target::spec::Spec;

/// The arguments of `show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A saved run, a file of another tool, `-` for standard input, or a published dataset such as
    /// reference:zircon/2018-01-02 [default: the latest complete run of --on]
    pub file: Option<PathBuf>,

    /// Use the latest run of this target [default: linux]
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub on: Option<Spec>,

    /// What is shown.
    #[command(flatten)]
    pub selection: Selection<RunKey>,

    /// Show the distribution of this metric's samples; may be repeated
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["format", "json", "columns", "filters", "exclude", "sort", "top", "all"]
    )]
    pub metric: Vec<String>,

    /// Check the run against the absolute limits in FILE
    ///
    /// FILE is TOML and gives the highest cost of each metric; see doc/ci.md. The exit status is 3
    /// if a metric exceeds its limit and 4 if a limit cannot be judged.
    #[arg(long, value_name = "FILE", conflicts_with = "metric")]
    pub budget: Option<PathBuf>,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<RunFormat>,

    /// With --format html: also give every value with its count
    #[arg(long, conflicts_with_all = ["json", "columns"])]
    pub exact: bool,

    /// The table.
    #[command(flatten)]
    pub table: Table,
}

impl Arguments {
    /// What the table shows.
    pub(super) fn view(&self) -> View {
        View {
            columns: self.table.columns.clone(),
            ranking: self.selection.ranking(),
            filtered: self.selection.metrics() != filter::Selection::default(),
        }
    }
}

pub(super) fn show(arguments: &Arguments) -> Outcome {
    if let Some(dataset) = arguments
        .file
        .as_deref()
        .filter(|_| arguments.on.is_none())
        .and_then(published::named)
    {
        return published::show(&dataset?, arguments);
    }
    let path = path_or_latest(arguments.file.as_deref(), arguments.on.as_ref())?;
    let mut run = read_run(&path)?;
    let status = exit::of_run(&run);
    if !arguments.metric.is_empty() {
        page(&distributions(&run, &arguments.metric)?)?;
        return Ok(status);
    }
    let judgement = budget::judge(arguments.budget.as_deref(), &run)?;
    let selection = arguments.selection.metrics();
    verify_selection(&selection, &[&run])?;
    run.select(&selection);
    let view = arguments.view();
    let format = match (arguments.printed.format(), arguments.exact) {
        (RunFormat::Html(_), true) => RunFormat::Html(Precision::Exact),
        (_, true) => return Err(Failure::Usage("--exact needs --format html".to_owned())),
        (format, false) => format,
    };
    let text = match &judgement {
        Some(judgement) => budget::formatted_with(&run, judgement, format, &view)?,
        None => formatted(&run, format, &view)?,
    };
    match format {
        RunFormat::Own(Format::Table) => page(&text)?,
        _ => print(text.as_bytes())?,
    };
    Ok(budget::combined_status(status, judgement.as_ref()))
}

/// The pages of some metrics.
fn distributions(run: &Run, metrics: &[String]) -> Result<String, Failure> {
    let ids: Vec<&str> = run.metrics.iter().map(|one| one.id.as_str()).collect();
    let page = |id: &String| {
        if !ids.contains(&id.as_str()) {
            return Err(Failure::Usage(format!(
                "the run has no metric `{id}`{}",
                filter::suggestion(id, &ids)
            )));
        }
        distribution::render(run, id, &style()).map_err(Failure::Failed)
    };
    let pages: Result<Vec<String>, Failure> = metrics.iter().map(page).collect();
    Ok(pages?.join("\n"))
}
