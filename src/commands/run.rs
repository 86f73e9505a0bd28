// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `run`: makes a run of a target, saves it and shows it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::arguments::{seconds, spec, Conditions, Effort, Format, RunFormat, ON, ON_LONG};
use super::input::tell_left_over;
use super::output::{formatted, print, style};
use super::saving::Saving;
use super::target::{check, plan_target, prepare, turn, Kind, Known, Place, Wanted};
use super::{budget, exit, interrupt, picked, select, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::files::store;
use crate::judge::summary::summarise;
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{self, Catalog, End, Measured, Measurement, Plan, Recording, Work};
use crate::report;
use crate::stream::filter;
use crate::stream::run::{Fact, Run, Unit, FILTERS};
use crate::target::spec::Spec;
use crate::target::Orders;

/// The arguments of `run`.
#[derive(Args, Debug, Default)]
pub struct Arguments {
    /// Only these: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// Only check that everything can be measured here and that every proof holds
    ///
    /// Few replicates with few samples; their numbers are not saved unless -o says where.
    #[arg(long, conflicts_with = "quick")]
    pub check: bool,

    /// Under what conditions it is measured.
    #[command(flatten)]
    pub conditions: Conditions,

    /// Save the run in FILE, which must not exist [default: a file below the data directory]
    ///
    /// Without it, what --on file: reads from a file is not saved again.
    ///
    /// Until the run is over it grows in FILE.part; that is what a tool that is killed leaves, and
    /// `kernmark show` reads it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Judge the run by the absolute limits in FILE
    ///
    /// A TOML file with the most that a metric may cost: see doc/ci.md. A limit that is exceeded
    /// is exit status 3, one that cannot be judged 4.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub budget: Option<PathBuf>,

    /// How to print the result
    ///
    /// The formats of other programs, and what each keeps, are in doc/formats.md.
    #[arg(long, value_enum, default_value_t)]
    pub format: RunFormat,

    /// Seconds without output after which the agent counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, hide = true)]
    pub case_timeout: Option<Duration>,
}

/// Least time that a batched sample lasts on Linux, twice over, in nanoseconds.
const EPOCH_NS: u32 = 20_000;

/// A run that was made.
#[derive(Debug)]
pub struct Made {
    /// All of it, as it is saved.
    pub run: Run,
    /// How measuring went; its notices have been shown.
    pub measured: Measured,
    /// Where it was saved.
    pub path: Option<PathBuf>,
    /// Whether it was saved, or was not to be.
    pub kept: bool,
    /// What orders the target takes.
    pub orders: Orders,
}

impl Made {
    /// The exit status that it deserves.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self.measured.end {
            End::Interrupted => exit::INTERRUPTED,
            End::Complete if self.kept && !self.measured.partial => exit::of_run(&self.run),
            End::Complete | End::GivenUp => exit::FAILED,
        }
    }
}

/// Measures what the arguments say, saves the run and shows it.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    // What is wrong with it is said before anything is measured.
    let budget = budget::read(arguments.budget.as_deref())?;
    let Some(made) = measure_target(&arguments.on, arguments, &interrupt)? else {
        return Ok(exit::INTERRUPTED);
    };
    let judgement = budget.map(|budget| budget.judge(&made.run)).transpose();
    let shown = shown(&made, &arguments.filters);
    let text = match (&judgement, arguments.format) {
        (Ok(Some(judgement)), format) => budget::formatted_with(&shown, judgement, format),
        (_, RunFormat::Own(Format::Table)) if arguments.check => {
            Ok(report::check::render(&summarise(&shown), style().width))
        }
        (_, format) => formatted(&shown, format),
    };
    if let Ok(text) = &text {
        print(text.as_bytes())?;
    }
    if let Some(path) = &made.path {
        eprintln!("saved: {}", path.display());
    }
    // A run that was not saved has named what it left.
    if made.kept {
        tell_left_over();
    }
    // Only now, because a run that a format cannot hold is saved all the same.
    text?;
    let metrics = made.run.metrics.iter().map(|metric| &metric.id);
    let entries = made.run.catalog.iter().map(|entry| &entry.metric);
    let ids: Vec<&str> = metrics.chain(entries).map(String::as_str).collect();
    filter::verify(&arguments.filters, &ids).map_err(Failure::Usage)?;
    let judgement = judgement.map_err(Failure::Usage)?;
    Ok(budget::graver(made.exit_status(), judgement.as_ref()))
}

/// The part of a run that the filters select: a target without orders measures more.
pub(super) fn shown(made: &Made, filters: &[String]) -> Run {
    let mut shown = made.run.clone();
    if made.orders == Orders::None {
        let selected = |id: &str| id == crate::stream::run::CLOCK || picked(id, filters);
        shown.metrics.retain(|metric| selected(&metric.id));
        shown.catalog.retain(|entry| selected(&entry.metric));
    }
    shown
}

/// Makes a run of a target and saves it as the arguments say; what the user should know of it goes
/// to standard error. `None` when the user stopped it before anything was measured.
///
/// # Errors
///
/// The arguments make no sense for this target, or nothing can be measured.
pub fn measure_target(
    spec: &Spec,
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<Option<Made>, Failure> {
    let target = plan_target(spec, interrupt)?;
    check(&target, arguments)?;
    let progress = Progress::new();
    let Some(mut ready) = ready(target, arguments, interrupt, &progress)? else {
        return Ok(None);
    };
    let Some(_turn) = turn(
        &ready.place,
        arguments.conditions.wait,
        interrupt,
        &progress,
    )?
    else {
        return Ok(None);
    };
    // Read only here: what was true before the wait need not be true any more.
    let started = SystemTime::now();
    let name = store::name(started, &ready.place.name, ready.plan.seed);
    let mut saving = Saving::begin(arguments, &name)?;
    let mut recording = Recording::new(&ready.facts(arguments, started), saving.out());
    let measurement = ready.measurement(&arguments.filters, &mut recording);
    let mut watch = |position: &Position| progress.show(&progress::line(position));
    let measured = measure::measure(measurement, &mut watch);
    let finished = recording.finish();
    drop(progress);
    saving.conclude(finished, measured, ready.orders())
}

/// A target that is ready, and what is to be measured of it.
pub(super) struct Ready<'a> {
    pub place: Place<'a>,
    pub plan: Plan,
    /// `None` where the target takes no orders.
    pub catalog: Option<Catalog>,
}

/// Prepares what the arguments say and gets its catalog; `None` when the user stopped it.
pub(super) fn ready<'a>(
    target: Known,
    arguments: &Arguments,
    interrupt: &'a Interrupt,
    progress: &Progress,
) -> Result<Option<Ready<'a>>, Failure> {
    let plan = plan(&target, arguments);
    let wanted = Wanted {
        silence: arguments.case_timeout,
        sessions: arguments.effort.runs,
        progress,
    };
    let Some(mut place) = prepare(target, &wanted, interrupt)? else {
        return Ok(None);
    };
    let catalog = if place.target.orders() == Orders::None {
        progress.show("listening");
        None
    } else {
        progress.show("reading the catalog");
        let Some(catalog) = measure::catalog(place.target.as_mut()).map_err(Failure::Failed)?
        else {
            return Ok(None);
        };
        select(&catalog.entries, &arguments.filters)?;
        Some(catalog)
    };
    Ok(Some(Ready {
        place,
        plan,
        catalog,
    }))
}

impl Ready<'_> {
    pub(super) fn orders(&self) -> Orders {
        self.place.target.orders()
    }

    /// All that is known before it is measured.
    pub(super) fn facts(&self, arguments: &Arguments, started: SystemTime) -> Vec<Fact> {
        let mut facts = self.place.facts();
        facts.extend(own_facts(arguments, &self.plan, &self.place, started));
        facts
    }

    /// Records the catalog and begins to measure what the filters select.
    pub(super) fn measurement<'a, 'b>(
        &'a mut self,
        filters: &[String],
        recording: &'a mut Recording<'b>,
    ) -> Measurement<'a, 'b> {
        let work = match &self.catalog {
            Some(Catalog { lines, entries, .. }) => {
                for line in lines {
                    recording.line(line);
                }
                let cases = measure::cases(entries, |entry| picked(&entry.metric, filters));
                Work::cases(entries, cases)
            }
            None => Work::Listen,
        };
        let target = self.place.target.as_mut();
        Measurement::new(target, self.plan.clone(), work, recording)
    }
}

pub(super) fn plan(target: &Known, arguments: &Arguments) -> Plan {
    let (runs, samples, seconds) = match (target, arguments.check, arguments.effort.quick) {
        // Three, so that what one stray interrupt spoils is not taken for a fault of the port.
        (Known::Linux, true, _) => (3, 20, 10.0),
        // One more than an interval needs, so that a replicate that is lost does not cost it.
        (Known::Linux, _, true) => (7, 100, 4.2),
        (Known::Linux, _, _) => (10, 500, 25.0),
        (Known::Described(plan), true, _) => match plan.chosen.unit {
            Unit::Instructions => (1, 20, 0.0),
            Unit::Cycles | Unit::Ticks => (plan.chosen.runs.min(3), 20, 0.0),
        },
        (Known::Described(_), _, true) => (1, 100, 0.0),
        (Known::Described(plan), _, _) => (plan.chosen.runs, plan.chosen.samples, 0.0),
        (Known::Serial { .. } | Known::Exec(_) | Known::File(_), _, _) => (1, 0, 0.0),
    };
    let time = arguments
        .effort
        .time_budget
        .unwrap_or(Duration::from_secs_f64(seconds));
    Plan {
        runs: match target {
            // A file is read once, with as many sessions as are wanted of it.
            Known::File(_) => 1,
            _ => arguments.effort.runs.unwrap_or(runs),
        },
        samples: arguments.effort.samples.unwrap_or(samples),
        time: (!time.is_zero()).then_some(time),
        seed: arguments.effort.seed.unwrap_or_else(|| fastrand::u32(..)),
        settings: match target {
            Known::Linux => linux_settings(arguments),
            _ => Vec::new(),
        },
    }
}

/// What the Linux agent is told besides.
fn linux_settings(arguments: &Arguments) -> Vec<(&'static str, String)> {
    let mut settings = vec![("epoch_ns", EPOCH_NS.to_string())];
    settings.extend(arguments.conditions.cpu.map(|cpu| ("cpu", cpu.to_string())));
    let realtime = if arguments.conditions.no_realtime {
        "never"
    } else {
        "auto"
    };
    settings.push(("realtime", realtime.to_owned()));
    settings
}

/// What the tool adds to what is known of the target: when, and how it was asked to measure.
fn own_facts(arguments: &Arguments, plan: &Plan, place: &Place, started: SystemTime) -> Vec<Fact> {
    let started = humantime::format_rfc3339_seconds(started).to_string();
    let mut facts = vec![Fact::new("started", started)];
    // Elsewhere the order of the cases is not chosen.
    if place.kind == Kind::Linux {
        facts.push(Fact::new("seed", plan.seed.to_string()));
    }
    if place.kind != Kind::File {
        facts.push(Fact::new("runs", plan.runs.to_string()));
    }
    if plan.samples > 0 {
        facts.push(Fact::new("samples", plan.samples.to_string()));
    }
    match plan.time {
        Some(time) => facts.push(Fact::new(
            "time_budget",
            format!("{} s", time.as_secs_f64()),
        )),
        None if place.kind == Kind::Linux => {
            facts.push(Fact::new("time_budget", "unbounded"));
        }
        None => {}
    }
    if !arguments.filters.is_empty() {
        facts.push(Fact::new(FILTERS, arguments.filters.join(" ")));
    }
    if arguments.conditions.host_name {
        let name = rustix::system::uname();
        let name = name.nodename().to_string_lossy().into_owned();
        facts.push(Fact::new("host_name", name));
    }
    facts
}
