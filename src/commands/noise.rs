// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `noise`: how far unchanged runs lie apart on this machine.

use clap::Args;

use super::arguments::{spec, Conditions, Effort, ON, ON_LONG};
use super::output::{print, style};
use super::run::{self, measure_target, selected};
use super::{exit, interrupt, Failure, Outcome};
use crate::files::store;
use crate::judge::noise::Noise;
use crate::measure::End;
use crate::report;
use crate::target::spec::Spec;

/// The arguments of `noise`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// Runs that are made [of Linux each takes 25 s]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1000), default_value = "10")]
    pub rounds: u32,

    /// How much is measured in each run.
    #[command(flatten)]
    pub effort: Effort,

    /// Under what conditions all are measured.
    #[command(flatten)]
    pub conditions: Conditions,
}

/// Makes runs of the same thing, keeps how far they lie apart and shows it.
pub(super) fn noise(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    let mut runs = Vec::new();
    let mut status = exit::OK;
    for round in 0..arguments.rounds {
        let run = run::Arguments {
            filters: arguments.filters.clone(),
            on: arguments.on.clone(),
            effort: Effort {
                // One seed for all would give all runs one name.
                seed: arguments.effort.seed.map(|seed| seed.wrapping_add(round)),
                ..arguments.effort.clone()
            },
            conditions: arguments.conditions.clone(),
            ..run::Arguments::default()
        };
        let Some(made) = measure_target(&run, &interrupt)? else {
            return Ok(exit::INTERRUPTED);
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
        runs.push(selected(&made, &arguments.filters));
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
