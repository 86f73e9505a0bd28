// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `why`: a metric of an exact target in, what its samples executed out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use super::arguments::{spec, Effort, ON_LONG};
use super::input::read_run;
use super::output::{print, style};
use super::run::{self, prepare};
use super::target::{check_exact, resolve};
use super::{exit, interrupt, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{self, End, Recording};
use crate::report;
use crate::stream::filter;
use crate::stream::histogram::Histogram;
use crate::stream::paths::Paths;
use crate::stream::run::{Fact, Run, FILTERS};
use crate::target::spec::Spec;
use crate::target::tracer::{TraceOptions, Tracer};
use crate::trace::spans::Samples;
use crate::trace::Trace;

/// The arguments of `why`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The metric
    #[arg(value_name = "METRIC")]
    pub metric: String,

    /// A saved run to repeat: its target, its cases in their order, its samples
    ///
    /// What ran before a metric can change its path. Without FILE the metric is measured alone; with
    /// FILE everything is measured as it was then, and the metric must have the same distribution.
    #[arg(value_name = "FILE", conflicts_with_all = ["on", "samples"])]
    pub file: Option<PathBuf>,

    /// The target, which must count instructions
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "freertos:m4", long_help = ON_LONG)]
    pub on: Spec,

    /// Samples to measure [default: as the target's description says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub samples: Option<u32>,
}

/// What the samples of a metric executed.
pub(super) struct Followed {
    pub run: Run,
    pub trace: Trace,
    pub samples: Samples,
}

/// Shows where the instructions of a metric go.
pub(super) fn why(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    let saved = arguments.file.as_deref().map(Saved::read).transpose()?;
    let wanted = TraceOptions::default();
    let followed = match &saved {
        Some(saved) => follow_again(&arguments.metric, saved, wanted, &interrupt)?,
        None => follow(arguments, wanted, &interrupt)?,
    };
    let Some(followed) = followed else {
        return Ok(exit::INTERRUPTED);
    };
    let paths = followed.trace.paths(&followed.samples);
    let text = report::why::table(
        &arguments.metric,
        &paths,
        &followed.trace.functions,
        &style(),
    );
    print(text.as_bytes())
}

/// Records the paths of all metrics that the last session measured. Returns what has none, and why.
pub(super) fn record(tracer: &Tracer, recording: &mut Recording) -> Vec<String> {
    let run = recording.run();
    let Some(session) = run.sessions.len().checked_sub(1) else {
        return Vec::new();
    };
    let (list, symbols) = match tracer.read() {
        Ok(read) => read,
        Err(why) => return vec![why],
    };
    let trace = Trace::new(&run, session, &tracer.cases(), list, &symbols);
    let mut notices = Vec::new();
    let mut all = Vec::new();
    for one in &trace.metrics {
        match &one.samples {
            Ok(samples) => all.push((one.metric.as_str(), trace.paths(samples))),
            Err(why) => notices.push(format!("{} has no paths: {why}", one.metric)),
        }
    }
    let metrics: Vec<(&str, &Paths)> = all.iter().map(|(id, paths)| (*id, paths)).collect();
    recording.paths(&trace.functions, &metrics);
    notices
}

/// A saved run that is to be repeated.
struct Saved {
    run: Run,
    on: Spec,
    samples: u32,
    filters: Vec<String>,
}

impl Saved {
    fn read(path: &Path) -> Result<Self, Failure> {
        let run = read_run(path)?;
        let fact = |name: &str| {
            Fact::value_in(&run.host, name).ok_or_else(|| {
                Failure::Failed(format!(
                    "{} does not say its {name}, so it cannot be repeated",
                    path.display()
                ))
            })
        };
        let on = spec(fact("target")?).map_err(Failure::Failed)?;
        let samples = fact("samples")?;
        let samples = samples.parse().map_err(|_| {
            Failure::Failed(format!(
                "{}: samples={samples} is no number",
                path.display()
            ))
        })?;
        let filters = Fact::value_in(&run.host, FILTERS).unwrap_or_default();
        let filters = filters.split_whitespace().map(str::to_owned).collect();
        Ok(Saved {
            run,
            on,
            samples,
            filters,
        })
    }
}

/// Measures the metric alone and follows it; `None` if the user stopped that.
fn follow(
    arguments: &Arguments,
    wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let order = run::Arguments {
        on: arguments.on.clone(),
        effort: Effort {
            samples: arguments.samples,
            ..Effort::default()
        },
        ..run::Arguments::default()
    };
    measure_followed(&arguments.metric, order, true, wanted, interrupt)
}

/// Repeats a saved run and follows the metric in it; `None` if the user stopped that.
fn follow_again(
    metric: &str,
    saved: &Saved,
    wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let order = run::Arguments {
        on: saved.on.clone(),
        filters: saved.filters.clone(),
        effort: Effort {
            samples: Some(saved.samples),
            ..Effort::default()
        },
        ..run::Arguments::default()
    };
    let followed = measure_followed(metric, order, false, wanted, interrupt)?;
    let Some(followed) = followed else {
        return Ok(None);
    };
    if distribution(&saved.run, metric) != distribution(&followed.run, metric) {
        return Err(Failure::Failed(format!(
            "{metric} has another distribution than in the saved run, so its paths would not be \
             those of that run; the kernel, the tool or the emulator is another"
        )));
    }
    Ok(Some(followed))
}

fn distribution<'a>(run: &'a Run, metric: &str) -> Option<&'a Histogram> {
    let metric = run.metrics.iter().find(|one| one.id == metric)?;
    Some(&metric.replicates.first()?.histogram)
}

/// Measures once and follows a metric.
fn measure_followed(
    metric: &str,
    mut order: run::Arguments,
    alone: bool,
    mut wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let target = resolve(&order.on, interrupt)?;
    check_exact(&target)?;
    order.effort.runs = Some(1);
    order.trace = Some(TraceOptions::default());
    order.check(&target)?;
    let progress = Progress::new();
    let Some(mut prepared) = prepare(target, &order, interrupt, &progress)? else {
        return Ok(None);
    };
    let entries = prepared.catalog.iter().flat_map(|catalog| &catalog.entries);
    let ids: Vec<&str> = entries.clone().map(|entry| entry.metric.as_str()).collect();
    let Some(entry) = entries.clone().find(|entry| entry.metric == metric) else {
        return Err(Failure::Usage(format!(
            "{} has no metric `{metric}`{}; `kernmark list --on {}` lists them",
            order.on,
            filter::suggestion(metric, &ids),
            order.on
        )));
    };
    let case = entry.case.clone();
    let cases = if alone {
        vec![case.clone()]
    } else {
        prepared.cases(&order.filters)
    };
    wanted.case = Some(case);
    let tracer = prepared.target.tracer.clone();
    let tracer = tracer.ok_or_else(|| Failure::Failed("nothing is followed".to_owned()))?;
    tracer.follow(wanted);
    let facts = prepared.facts(&order, SystemTime::now());
    let mut sink = io::sink();
    let mut recording = Recording::new(&facts, &mut sink);
    let measurement = prepared.measurement_of(cases, &mut recording);
    let mut watch = |position: &Position| progress.show(&progress::line(position));
    let measured = measure::measure(measurement, &mut watch).map_err(Failure::Failed)?;
    let (run, _) = recording.finish();
    drop(progress);
    if measured.end == End::Interrupted {
        return Ok(None);
    }
    let (list, symbols) = tracer.read().map_err(Failure::Failed)?;
    let trace = Trace::new(&run, 0, &tracer.cases(), list, &symbols);
    let samples = match trace.metrics.iter().find(|one| one.metric == metric) {
        Some(found) => found
            .samples
            .clone()
            .map_err(|why| Failure::Failed(format!("{metric}: {why}")))?,
        None => return Err(Failure::Failed(no_number(&run, metric, &measured.notices))),
    };
    Ok(Some(Followed {
        run,
        trace,
        samples,
    }))
}

/// Why a metric was not followed: it has no number.
fn no_number(run: &Run, metric: &str, notices: &[String]) -> String {
    use crate::stream::run::Outcome;
    let found = run.metrics.iter().find(|one| one.id == metric);
    let replicate = found.and_then(|metric| metric.replicates.first());
    let why = match replicate.map(|replicate| &replicate.outcome) {
        Some(Outcome::Skipped(why) | Outcome::Failed(why) | Outcome::Incomplete(why)) => {
            why.clone()
        }
        Some(Outcome::Ok) => "the emulator did not follow it".to_owned(),
        None => notices.join("; "),
    };
    format!("{metric} has no number: {why}")
}
