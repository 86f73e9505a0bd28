// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark list --reference` and `kernmark show reference:...`: published results.

use std::path::Path;

use super::arguments::{Format, RunFormat};
use super::output::{formatted, print, style};
use super::{show, Failure, Outcome};
use crate::files::reference::{self, Dataset, Figure, Reference};
use crate::stream::filter;
use crate::{export, report};

/// The published results that an argument names; `None` if it names a file.
pub(super) fn named(argument: &Path) -> Option<Result<Reference, Failure>> {
    let text = argument
        .to_str()
        .filter(|text| Reference::has_prefix(text))?;
    Some(text.parse().map_err(Failure::Usage))
}

/// Prints the datasets that the filters select.
pub(super) fn list(filters: &[String], format: Format) -> Outcome {
    let mut datasets = reference::datasets().map_err(Failure::Failed)?;
    for filter in filters {
        if !datasets
            .iter()
            .any(|one| filter::matches(filter, &one.name))
        {
            Reference::named(filter).map_err(Failure::Usage)?;
        }
    }
    datasets.retain(|dataset| super::is_selected(&dataset.name, filters));
    let counted: Result<Vec<(Dataset, usize)>, String> = datasets
        .into_iter()
        .map(|dataset| {
            let rows = dataset.reference().figures()?.len();
            Ok((dataset, rows))
        })
        .collect();
    let counted = counted.map_err(Failure::Failed)?;
    let text = match format {
        Format::Table => report::reference::datasets(&counted, &style()),
        Format::Json => export::json::datasets(&counted),
        Format::Csv => export::csv::datasets(&counted),
        Format::Md => export::markdown::datasets(&counted),
    };
    print(text.as_bytes())
}

/// Prints a dataset as it was published.
pub(super) fn show(of: &Reference, arguments: &show::Arguments) -> Outcome {
    if !arguments.metric.is_empty() {
        let why = format!("{of} has no samples, so it has no distribution to show");
        return Err(Failure::Usage(why));
    }
    let dataset = of.dataset().map_err(Failure::Usage)?;
    let mut figures = of.figures().map_err(Failure::Failed)?;
    let selection = arguments.selection.metrics();
    let names: Vec<String> = figures.iter().map(Figure::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    selection.verify(&names).map_err(Failure::Absent)?;
    figures.retain(|figure| selection.selects(&figure.name()));
    let text = match arguments.printed.format() {
        RunFormat::Own(Format::Table) => report::reference::figures(&dataset, &figures, &style()),
        RunFormat::Own(Format::Json) => export::json::figures(&dataset, &figures),
        RunFormat::Own(Format::Csv) => export::csv::figures(&figures),
        RunFormat::Own(Format::Md) => export::markdown::figures(&dataset, &figures),
        RunFormat::Html(_) | RunFormat::Foreign(_) => {
            let mut run = of.run().map_err(Failure::Failed)?;
            run.select(&selection);
            formatted(&run, arguments.printed.format(), &arguments.view())?
        }
    };
    print(text.as_bytes())
}
