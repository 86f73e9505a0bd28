// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `noise`: measures the run-to-run variation of this machine.

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
    /// Select metrics: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// Number of runs; a run of this Linux takes 25 s
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1000), default_value = "10")]
    pub rounds: u32,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// The conditions.
    #[command(flatten)]
    pub conditions: Conditions,
}

/// Repeats a run, keeps its run-to-run variation as noise floors, and shows it.
pub(super) fn noise(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    let mut runs = Vec::new();
    let mut status = exit::OK;
    for round in 0..arguments.rounds {
        let run = run::Arguments {
            filters: arguments.filters.clone(),
            on: arguments.on.clone(),
            effort: Effort {
                // With the same seed, all runs would have the same name.
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
        runs.push(selected(&made, &run.metrics()));
    }
    let noise = Noise::of(&runs).ok_or_else(|| {
        let why = "the conditions of these runs differ (kernmark compare shows how), so no noise \
                   floors are kept; measure again while nothing changes";
        Failure::Failed(why.to_owned())
    })?;
    let path = store::update_noise(&noise.name(), |known| noise.merged_with(known).text())
        .map_err(Failure::Failed)?;
    print(report::noise::table(&noise, &path, &style()).as_bytes())?;
    Ok(status)
}
