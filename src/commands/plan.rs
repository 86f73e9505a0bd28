// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `plan`: how many replicates find a change, from a pilot.

use std::path::PathBuf;

use clap::Args;

use super::arguments::{percent, spec, without_sign};
use super::input::{path_or_latest, read_run};
use super::output::{print, style};
use super::targets::TargetsFormat;
use super::{is_selected, Failure, Outcome};
use crate::judge::plan::{Plan, Question};
use crate::stream::filter;
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `plan`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The saved run that is the pilot, `-` for standard input [default: the newest whole run of
    /// --on]
    pub file: Option<PathBuf>,

    /// The target whose latest run is meant
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// Only these metrics, which are then the family: the start of an id or a glob; may be given
    /// several times
    #[arg(long = "only", value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The change that is to be found, in per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5")]
    pub change: f64,

    /// How often it is to be found, in per cent of comparisons: 50 to 99
    #[arg(long, value_name = "PERCENT", value_parser = power, default_value = "90")]
    pub power: f64,

    /// The margin of medians that `compare` will use, in per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2")]
    pub margin: f64,

    /// How to print the plan
    #[arg(long, value_enum, default_value_t)]
    pub format: TargetsFormat,
}

/// The power of a test, as a share.
fn power(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (50.0..=99.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("per cent from 50 to 99 are needed".to_owned()),
    }
}

/// Plans from a saved run and shows what each metric needs.
pub(super) fn plan(arguments: &Arguments) -> Outcome {
    let question = Question {
        change: arguments.change,
        power: arguments.power,
        margin: arguments.margin,
    };
    if question.change <= question.margin {
        return Err(Failure::Usage(format!(
            "a change of {} % lies within the margin of {} %, where `compare` calls none; ask for \
             a greater one",
            report::plan::percent(question.change),
            report::plan::percent(question.margin)
        )));
    }
    let path = path_or_latest(arguments.file.as_deref(), &arguments.on)?;
    let pilot = read_run(&path)?;
    let ids: Vec<&str> = pilot.metrics.iter().map(|one| one.id.as_str()).collect();
    filter::verify(&arguments.filters, &ids).map_err(Failure::Usage)?;
    let plan = Plan::of(&pilot, question, |id| is_selected(id, &arguments.filters));
    let file = path.display().to_string();
    let text = match arguments.format {
        TargetsFormat::Table => report::plan::table(&plan, &file, &pilot, &style()),
        TargetsFormat::Json => export::json::plan(&plan, &file),
    };
    print(text.as_bytes())
}
