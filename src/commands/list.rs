// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `list`: the metrics of a target, the benchmarks of another suite, or published
//! datasets.

use clap::Args;

use super::arguments::{spec, Format, Printed, ON, ON_LONG};
use super::output::{page, print, style};
use super::target::read_catalog;
use super::{
    coverage, exit, interrupt, is_selected, reference as published, verify_filters, Failure,
    Outcome,
};
use crate::export;
use crate::files::reference::{counterparts, Reference};
use crate::report::{catalog, listing};
use crate::stream::run::Entry;
use crate::target::spec::Spec;

/// The arguments of `list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Select metrics: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// List the benchmarks of another suite, such as reference:zephyr: the closest metric and
    /// target here, or why there is none
    ///
    /// NAME is zephyr, zircon, composite, or one of their datasets, such as
    /// zephyr/latest/userspace. FILTER selects names of benchmarks and of metrics.
    #[arg(long, value_name = "reference:NAME", value_parser = reference, conflicts_with = "on")]
    pub coverage: Option<Reference>,

    /// List the datasets of published results: name, rows, kernel, machine and clock
    ///
    /// FILTER selects names of datasets. Other commands take a dataset as reference:NAME.
    #[arg(long, conflicts_with_all = ["on", "coverage"])]
    pub reference: bool,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<Format>,
}

pub(super) fn list(arguments: &Arguments) -> Outcome {
    if let Some(reference) = &arguments.coverage {
        return coverage::coverage(reference, &arguments.filters, arguments.printed.format());
    }
    if arguments.reference {
        return published::list(&arguments.filters, arguments.printed.format());
    }
    let interrupt = interrupt()?;
    let Some(catalog) = read_catalog(&arguments.on, &interrupt)? else {
        return Ok(exit::INTERRUPTED);
    };
    verify_filters(&catalog.entries, &arguments.filters)?;
    let entries: Vec<Entry> = catalog
        .entries
        .into_iter()
        .filter(|entry| is_selected(&entry.metric, &arguments.filters))
        .collect();
    let text = match arguments.printed.format() {
        Format::Table => listing::render(&entries, &style()),
        Format::Json => export::json::catalog(&entries),
        Format::Csv => export::csv::catalog(&entries),
        Format::Md => {
            let counterparts = counterparts().map_err(Failure::Failed)?;
            catalog::markdown(&entries, &catalog::elsewhere(&counterparts, &catalog.port))
        }
    };
    match arguments.printed.format() {
        Format::Table => page(&text),
        _ => print(text.as_bytes()),
    }
}

/// Parses the name of published results.
fn reference(text: &str) -> Result<Reference, String> {
    text.parse()
}
