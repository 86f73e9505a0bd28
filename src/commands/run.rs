// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `run`: makes a run of a target, saves it and shows it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{budget, formatted, interrupt, picked, print, select, style, tell_left_over, worth};
use super::{Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::base::text::plain;
use crate::commands::arguments::{self, Format, RunFormat};
use crate::files::store::{self, PartialRun};
use crate::judge::summary::summarise;
use crate::machine::{self, Machine};
use crate::measure::lock::{self, Acquisition, Lock};
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{self, Catalog, End, Measured, Measurement, Plan, Recording, Work};
use crate::report;
use crate::stream::filter;
use crate::stream::run::{Fact, Run, Unit, FILTERS};
use crate::target::described::{self, Described};
use crate::target::exec::Exec;
use crate::target::file::StreamFile;
use crate::target::host::Host;
use crate::target::serial::Serial;
use crate::target::spec::{DescriptionLocation, Spec};
use crate::target::{Orders, Target};

/// Time without a record after which an agent counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a run waits for another one to end.
const WAIT: Duration = Duration::from_secs(120);

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
            End::Interrupted => arguments::INTERRUPTED,
            End::Complete if self.kept && !self.measured.partial => worth(&self.run),
            End::Complete | End::Aborted => arguments::FAILED,
        }
    }
}

/// Measures what the arguments say, saves the run and shows it.
pub(super) fn run(arguments: &arguments::Run) -> Outcome {
    let interrupt = interrupt()?;
    // What is wrong with it is said before anything is measured.
    let budget = budget::read(arguments.budget.as_deref())?;
    let Some(made) = measure_target(&arguments.on, arguments, &interrupt)? else {
        return Ok(arguments::INTERRUPTED);
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
    arguments: &arguments::Run,
    interrupt: &Interrupt,
) -> Result<Option<Made>, Failure> {
    let target = plan_target(spec, interrupt)?;
    check(&target, arguments)?;
    let progress = Progress::new();
    let Some(mut ready) = ready(target, arguments, interrupt, &progress)? else {
        return Ok(None);
    };
    let Some(_lock) = acquire_lock(
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
    arguments: &arguments::Run,
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
        let Some(catalog) =
            measure::read_catalog(place.target.as_mut()).map_err(Failure::Failed)?
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
    pub(super) fn facts(&self, arguments: &arguments::Run, started: SystemTime) -> Vec<Fact> {
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

/// Where a run goes while it is measured.
pub(super) struct Saving {
    /// `None` when it is not to be saved or cannot be.
    part: Option<PartialRun>,
    nowhere: io::Sink,
    /// Whether it was to be saved and cannot be.
    is_lost: bool,
}

impl Saving {
    /// Begins to save a run as the arguments say, under this name where they give none.
    pub(super) fn begin(arguments: &arguments::Run, name: &str) -> Result<Self, Failure> {
        let part = part(arguments, name)?;
        Ok(Saving {
            is_lost: part.is_none() && is_saved(arguments),
            part,
            nowhere: io::sink(),
        })
    }

    pub(super) fn out(&mut self) -> &mut dyn Write {
        match &mut self.part {
            Some(part) => part,
            None => &mut self.nowhere,
        }
    }

    /// Saves what was measured and tells what the user should know; `None` when the user stopped
    /// it before anything was measured.
    pub(super) fn conclude(
        self,
        (run, written): (Run, io::Result<()>),
        measured: Result<Measured, String>,
        orders: Orders,
    ) -> Result<Option<Made>, Failure> {
        if run.sessions.is_empty() {
            if let Some(part) = self.part {
                part.discard();
            }
            let measured = measured.map_err(Failure::Failed)?;
            tell(&measured.notices);
            return match measured.end {
                End::Interrupted => Ok(None),
                _ => Err(Failure::Failed("nothing was measured".to_owned())),
            };
        }
        let mut measured = measured.map_err(Failure::Failed)?;
        measured.notices.extend(measure::check_determinism(&run));
        tell(&measured.notices);
        // Saved before anything is shown: whatever happens to the output, the result is not lost.
        let saved = self.part.map(|part| part.finish(written)).transpose();
        let (path, kept) = match saved {
            Ok(path) => (path, !self.is_lost),
            Err(why) => {
                eprintln!("kernmark: the run is not saved: {why}");
                (None, false)
            }
        };
        Ok(Some(Made {
            run,
            measured,
            path,
            kept,
            orders,
        }))
    }
}

/// Says what the user should know.
fn tell(notices: &[String]) {
    for notice in notices {
        eprintln!("kernmark: {}", plain(notice));
    }
}

/// A target that is known to exist, before anything is built or opened for it.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Linux,
    Described(Box<described::Plan>),
    Serial { device: PathBuf, baud: u32 },
    Exec(String),
    File(PathBuf),
}

impl Known {
    /// How its runs name it: its spec, with the board that is meant.
    pub(super) fn target(&self) -> String {
        match self {
            Known::Linux => store::LINUX.to_owned(),
            Known::Described(plan) => plan.chosen.choice.to_string(),
            Known::Serial { device, baud } => Spec::Serial {
                device: device.clone(),
                baud: *baud,
            }
            .to_string(),
            Known::Exec(command) => Spec::Exec(command.clone()).to_string(),
            Known::File(path) => Spec::File(path.clone()).to_string(),
        }
    }

    /// Its part of a file's name: `linux`, `freertos-m4-O3+canaries`, `serial`.
    fn name(&self) -> String {
        let plan = match self {
            Known::Linux => return store::LINUX.to_owned(),
            Known::Serial { .. } => return "serial".to_owned(),
            Known::Exec(_) => return "exec".to_owned(),
            Known::File(_) => return "file".to_owned(),
            Known::Described(plan) => plan,
        };
        let choice = &plan.chosen.choice;
        let target = match &choice.target {
            DescriptionLocation::Named(name) => name.as_str().into(),
            DescriptionLocation::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy()
            }
        };
        let variants = choice.variants.join("+");
        let parts = [&*target, &plan.chosen.board, &variants];
        let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        told.join("-")
    }
}

/// Looks up what a spec means.
pub(super) fn plan_target(spec: &Spec, interrupt: &Interrupt) -> Result<Known, Failure> {
    Ok(match spec {
        Spec::Linux => Known::Linux,
        Spec::Described(choice) => {
            let plan = described::plan(choice, interrupt).map_err(Failure::Usage)?;
            Known::Described(Box::new(plan))
        }
        Spec::Serial { device, baud } => Known::Serial {
            device: device.clone(),
            baud: *baud,
        },
        Spec::Exec(command) => Known::Exec(command.clone()),
        Spec::File(path) => Known::File(path.clone()),
    })
}

/// How a target is to be listened to.
pub(super) struct Wanted<'a> {
    /// Time without a record after which it counts as hung, where the user says one.
    pub silence: Option<Duration>,
    /// Sessions that are wanted of a file; `None`: all.
    pub sessions: Option<u32>,
    /// Where to show what takes time.
    pub progress: &'a Progress,
}

/// A target that is ready to be measured.
pub(super) struct Place<'a> {
    pub target: Box<dyn Target + 'a>,
    /// A name for the saved run.
    pub name: String,
    kind: Kind,
    /// Whether it runs on this machine, so that what else runs here disturbs it and what the
    /// machine is belongs to the result.
    pub is_here: bool,
    /// What is known of the target.
    facts: Vec<Fact>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linux,
    Described,
    Serial,
    Exec,
    File,
}

/// Builds and opens what a target needs; `None` when the user stopped it.
pub(super) fn prepare<'a>(
    target: Known,
    wanted: &Wanted,
    interrupt: &'a Interrupt,
) -> Result<Option<Place<'a>>, Failure> {
    let silence = wanted.silence.unwrap_or(PATIENCE);
    let named = vec![Fact::new("target", target.target())];
    let is_here = match &target {
        Known::Linux | Known::Exec(_) => true,
        Known::Described(plan) => plan.chosen.here,
        Known::Serial { .. } | Known::File(_) => false,
    };
    let name = target.name();
    let (target, kind, facts): (Box<dyn Target + 'a>, _, _) = match target {
        Known::Linux => {
            let host = Host::new(silence, interrupt).map_err(Failure::Failed)?;
            (Box::new(host), Kind::Linux, Vec::new())
        }
        Known::Described(plan) => {
            let what = format!("building {}", plan.chosen.choice);
            wanted.progress.show(&what);
            let prepared = Described::prepare(*plan, interrupt).map_err(Failure::Failed)?;
            let Some(mut target) = prepared else {
                return Ok(None);
            };
            if let Some(silence) = wanted.silence {
                target.set_silence(silence);
            }
            let facts = target.facts().to_vec();
            (Box::new(target), Kind::Described, facts)
        }
        Known::Serial { device, baud } => {
            let serial = Serial::new(&device, baud, silence, interrupt).map_err(Failure::Failed)?;
            (Box::new(serial), Kind::Serial, named)
        }
        Known::Exec(command) => {
            let exec = Exec::new(command, silence, interrupt);
            (Box::new(exec), Kind::Exec, named)
        }
        Known::File(path) => {
            let saved = StreamFile::new(path, wanted.sessions, silence, interrupt);
            (Box::new(saved), Kind::File, named)
        }
    };
    Ok(Some(Place {
        target,
        name,
        kind,
        is_here,
        facts,
    }))
}

impl Place<'_> {
    /// What is known of the tool, of the machine where it matters, and of the target.
    fn facts(&self) -> Vec<Fact> {
        let mut facts = if self.is_here {
            machine::facts(&Machine::read(Path::new("/")))
        } else {
            let version = concat!("kernmark ", env!("CARGO_PKG_VERSION"));
            vec![Fact::new("tool", version)]
        };
        facts.extend(self.facts.iter().cloned());
        facts
    }
}

/// Waits until no other kernmark measures on this machine; `None` when the user stopped it. What
/// it holds keeps others away; it is empty where that is not needed or not possible.
pub(super) fn acquire_lock(
    place: &Place,
    wait: Option<Duration>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<Vec<Lock>>, Failure> {
    if !place.is_here {
        return Ok(Some(Vec::new()));
    }
    let limit = wait.unwrap_or(WAIT);
    let mut waiting = || {
        progress.clear();
        eprintln!(
            "kernmark: another kernmark is measuring; waiting, {} s at most",
            limit.as_secs_f64()
        );
    };
    match lock::acquire(limit, interrupt, &mut waiting).map_err(Failure::Failed)? {
        Acquisition::Acquired(lock) => Ok(Some(vec![lock])),
        Acquisition::Unavailable(why) => {
            progress.clear();
            eprintln!(
                "kernmark: nothing keeps another kernmark from measuring beside this one: {}",
                plain(&why)
            );
            Ok(Some(Vec::new()))
        }
        Acquisition::Interrupted => Ok(None),
    }
}

/// Whether the run is to be saved: where the user says so, and where it is not there already.
fn is_saved(arguments: &arguments::Run) -> bool {
    let is_there = matches!(&arguments.on, Spec::File(path) if path.is_file());
    arguments.output.is_some() || !arguments.check && !is_there
}

/// Where the run goes while it is measured; `None` when it is not to be saved or cannot be, which
/// the user is told. A file that the user named has to be there.
fn part(arguments: &arguments::Run, name: &str) -> Result<Option<PartialRun>, Failure> {
    match &arguments.output {
        Some(path) => PartialRun::create(path).map(Some).map_err(Failure::Failed),
        None if is_saved(arguments) => match PartialRun::create_in_directory(name) {
            Ok(part) => Ok(Some(part)),
            Err(why) => {
                eprintln!("kernmark: the run is not saved: {}", plain(&why));
                Ok(None)
            }
        },
        None => Ok(None),
    }
}

/// Refuses, before anything is measured, a path that the run could not be saved as.
fn writable(path: &Path) -> Result<(), Failure> {
    let directory = store::parent(path);
    let part = store::partial_path(path);
    if path.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(path)))
    } else if part.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(&part)))
    } else if directory.is_dir() {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "{} is no directory; make it, or choose another name for the run",
            directory.display()
        )))
    }
}

/// Refuses arguments that the target cannot heed, and a file that cannot be made.
pub(super) fn check(target: &Known, arguments: &arguments::Run) -> Result<(), Failure> {
    let mut ignored: Vec<(bool, &str)> = Vec::new();
    let (here, hears) = match target {
        Known::Linux => (true, true),
        Known::Described(plan) => (false, plan.chosen.takes_orders()),
        Known::Serial { .. } | Known::Exec(_) | Known::File(_) => (false, false),
    };
    if !here {
        ignored.push((arguments.conditions.cpu.is_some(), "--cpu"));
        ignored.push((arguments.conditions.no_realtime, "--no-realtime"));
    }
    if !hears {
        ignored.push((arguments.effort.samples.is_some(), "--samples"));
        ignored.push((arguments.effort.quick, "--quick"));
        ignored.push((arguments.effort.time_budget.is_some(), "--time-budget"));
    }
    if let Some((_, option)) = ignored.iter().find(|(given, _)| *given) {
        return Err(Failure::Usage(if hears {
            format!(
                "{option} is for this Linux only; leave it out with --on {}",
                arguments.on
            )
        } else {
            format!(
                "{} takes no orders, so {option} does nothing; leave it out",
                arguments.on
            )
        }));
    }
    if let Some(cpu) = arguments.conditions.cpu {
        let machine = Machine::read(Path::new("/"));
        if !machine.allowed.contains(&cpu) {
            return Err(Failure::Usage(format!(
                "CPU {cpu} is not one that this process may use: {}",
                machine::format_cpu_list(&machine.allowed)
            )));
        }
    }
    arguments.output.as_deref().map_or(Ok(()), writable)
}

pub(super) fn plan(target: &Known, arguments: &arguments::Run) -> Plan {
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
fn linux_settings(arguments: &arguments::Run) -> Vec<(&'static str, String)> {
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
fn own_facts(
    arguments: &arguments::Run,
    plan: &Plan,
    place: &Place,
    started: SystemTime,
) -> Vec<Fact> {
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
