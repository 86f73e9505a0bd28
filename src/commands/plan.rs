// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `plan`: a pilot run in, the number of replicates that find a change out.

use std::path::PathBuf;

use clap::Args;

use super::arguments::{percent, spec, without_sign, Printed, Selection};
use super::input::{path_or_latest, read_run};
use super::output::{page, print, style};
use super::targets::TargetsFormat;
use super::{verify_selection, Failure, Outcome};
use crate::judge::plan::{Plan, PlanKey, Question};
use crate::measure::progress::Progress;
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `plan`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The pilot: a saved run, or `-` for standard input [default: the latest complete run of --on]
    pub file: Option<PathBuf>,

    /// Use the latest run of this target [default: linux]
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub on: Option<Spec>,

    /// What is planned for, as one family.
    #[command(flatten)]
    pub selection: Selection<PlanKey>,

    /// The change to find, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5")]
    pub change: f64,

    /// The percentage of comparisons that must find it, from 50 to 99
    #[arg(long, value_name = "PERCENT", value_parser = power, default_value = "90")]
    pub power: f64,

    /// The margin of medians that `compare` will use, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2")]
    pub margin: f64,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<TargetsFormat>,
}

/// Parses the power of a test, from 50 to 99 %; returns it as a fraction.
fn power(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (50.0..=99.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("not a percentage from 50 to 99".to_owned()),
    }
}

/// Prints how many replicates each metric needs.
pub(super) fn plan(arguments: &Arguments) -> Outcome {
    let question = Question {
        change: arguments.change,
        power: arguments.power,
        margin: arguments.margin,
    };
    if question.change <= question.margin {
        return Err(Failure::Usage(format!(
            "`compare` ignores a change of {} %, which is within the margin of {} %; ask for a \
             larger --change or a smaller --margin",
            report::plan::percent(question.change),
            report::plan::percent(question.margin)
        )));
    }
    let path = path_or_latest(arguments.file.as_deref(), arguments.on.as_ref())?;
    let pilot = read_run(&path)?;
    let selection = arguments.selection.metrics();
    verify_selection(&selection, &[&pilot])?;
    let progress = Progress::new();
    progress.show("calculating the power for each number of replicates");
    let plan = Plan::of(&pilot, question, |id| selection.selects(id));
    drop(progress);
    let file = path.display().to_string();
    let text = match arguments.printed.format() {
        TargetsFormat::Table => {
            let ranking = arguments.selection.ranking();
            let text = report::plan::table(&plan, &file, &pilot, &ranking, &style());
            return page(&text);
        }
        TargetsFormat::Json => export::json::plan(&plan, &file),
    };
    print(text.as_bytes())
}
