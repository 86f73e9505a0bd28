// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `plan`: how many replicates find a change, from a pilot.

use super::{chosen, picked, print, saved, style, Failure, Outcome};
use crate::commands::arguments::{self, TargetsFormat};
use crate::judge::plan::{Plan, Question};
use crate::stream::filter;
use crate::{export, report};

/// Plans from a saved run and shows what each metric needs.
pub(super) fn plan(arguments: &arguments::Plan) -> Outcome {
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
    let path = chosen(arguments.file.as_deref(), &arguments.on)?;
    let pilot = saved(&path)?;
    let ids: Vec<&str> = pilot.metrics.iter().map(|one| one.id.as_str()).collect();
    filter::verify(&arguments.filters, &ids).map_err(Failure::Usage)?;
    let plan = Plan::of(&pilot, question, |id| picked(id, &arguments.filters));
    let file = path.display().to_string();
    let text = match arguments.format {
        TargetsFormat::Table => report::plan::table(&plan, &file, &pilot, &style()),
        TargetsFormat::Json => export::json::plan(&plan, &file),
    };
    print(text.as_bytes())
}
