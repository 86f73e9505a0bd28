// SPDX-License-Identifier: MIT OR Apache-2.0

//! The option `--budget` of several commands: limits from a file in, judgements of a run out.

use std::fs;
use std::path::Path;

use super::arguments::{Format, RunFormat};
use super::output::{formatted, style};
use super::{exit, Failure};
use crate::judge::budget::{Budget, Judgement};
use crate::report::table::View;
use crate::stream::run::Run;
use crate::{export, report};

/// Reads a budget, if one is given.
pub(super) fn read(path: Option<&Path>) -> Result<Option<Budget>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("cannot read the budget {name}: {error}")))?;
    let budget = Budget::parse(&name, &text).map_err(Failure::Usage)?;
    Ok(Some(budget))
}

/// Judges a run by the budget in a file, if one is given.
pub(super) fn judge(path: Option<&Path>, run: &Run) -> Result<Option<Judgement>, Failure> {
    let judged = read(path)?.map(|budget| budget.judge(run));
    judged.transpose().map_err(Failure::Absent)
}

/// A run with the judgement of its budget. If the format has no place for the judgement, it goes
/// to standard error.
pub(super) fn formatted_with(
    run: &Run,
    judgement: &Judgement,
    format: RunFormat,
    view: &View,
) -> Result<String, Failure> {
    Ok(match format {
        RunFormat::Own(Format::Table) => {
            formatted(run, format, view)? + &report::budget::table(judgement, &style())
        }
        RunFormat::Own(Format::Json) => export::json::run_with_budget(run, judgement),
        RunFormat::Own(Format::Md) => {
            export::markdown::run(run) + &export::markdown::budget(judgement)
        }
        RunFormat::Own(Format::Csv) | RunFormat::Html(_) | RunFormat::Foreign(_) => {
            eprintln!("{}", report::budget::table(judgement, &style()).trim_end());
            formatted(run, format, view)?
        }
    })
}

/// Combines an exit status with that of a budget: 1, 2 and 130 take precedence, otherwise the
/// lowest that is not 0 applies.
pub(super) fn combined_status(status: u8, judgement: Option<&Judgement>) -> u8 {
    let Some(judgement) = judgement else {
        return status;
    };
    let budget = if judgement.count("over") > 0 {
        exit::REGRESSED
    } else if judgement.count("inconclusive") > 0 {
        exit::INCONCLUSIVE
    } else if judgement.checks.is_empty() {
        // A budget that judged nothing has not been kept.
        exit::INCOMPARABLE
    } else {
        exit::OK
    };
    match (status, budget) {
        (exit::OK, budget) => budget,
        (status, exit::OK) => status,
        (exit::REGRESSED..=exit::INCOMPARABLE, budget) => status.min(budget),
        (status, _) => status,
    }
}
