// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `noise`: how far unchanged runs lie apart on this machine.

use super::run::{measure_target, shown};
use super::{interrupt, print, style, Failure, Outcome};
use crate::commands::arguments;
use crate::files::store;
use crate::judge::noise::Noise;
use crate::measure::End;
use crate::report;

/// Makes runs of the same thing, keeps how far they lie apart and shows it.
pub(super) fn noise(arguments: &arguments::Noise) -> Outcome {
    let interrupt = interrupt()?;
    let mut runs = Vec::new();
    let mut status = arguments::OK;
    for round in 0..arguments.rounds {
        let run = arguments::Run {
            filters: arguments.filters.clone(),
            on: arguments.on.clone(),
            effort: arguments::Effort {
                // One seed for all would give all runs one name.
                seed: arguments.effort.seed.map(|seed| seed.wrapping_add(round)),
                ..arguments.effort.clone()
            },
            conditions: arguments.conditions.clone(),
            ..arguments::Run::default()
        };
        let Some(made) = measure_target(&arguments.on, &run, &interrupt)? else {
            return Ok(arguments::INTERRUPTED);
        };
        let saved = made.path.as_ref().map(|path| path.display().to_string());
        eprintln!(
            "run {} of {}: {}",
            round + 1,
            arguments.rounds,
            saved.unwrap_or_else(|| "not saved".to_owned())
        );
        if made.measured.end != End::Complete {
            return Ok(made.exit_status());
        }
        status = status.max(made.exit_status());
        runs.push(shown(&made, &arguments.filters));
    }
    let noise = Noise::of(&runs).ok_or_else(|| {
        let why = "the conditions of these runs differ (kernmark compare names them), so nothing \
                   is kept; measure again while nothing changes";
        Failure::Failed(why.to_owned())
    })?;
    let path = store::update_noise(&noise.name(), |known| noise.merged_with(known).text())
        .map_err(Failure::Failed)?;
    print(report::noise::table(&noise, &path, &style()).as_bytes())?;
    Ok(status)
}
