// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark list --coverage`: the benchmarks of another suite and the closest metrics here.

use super::arguments::Format;
use super::output::{print, style};
use super::{Failure, Outcome};
use crate::files::reference::{self, Reference};
use crate::judge::coverage;
use crate::{export, report};

/// Prints the benchmarks that the filters select.
pub(super) fn coverage(of: &Reference, filters: &[String], format: Format) -> Outcome {
    let figures = of.figures().map_err(Failure::Failed)?;
    let counterparts = reference::counterparts().map_err(Failure::Failed)?;
    let all = coverage::benchmarks(of.suite(), &figures, &counterparts);
    let benchmarks = coverage::select(all, filters).map_err(Failure::Usage)?;
    let text = match format {
        Format::Table => report::coverage::table(&benchmarks, &style()),
        Format::Json => export::json::coverage(&of.to_string(), &benchmarks),
        Format::Csv => export::csv::coverage(&benchmarks),
        Format::Md => export::markdown::coverage(&benchmarks),
    };
    print(text.as_bytes())
}
