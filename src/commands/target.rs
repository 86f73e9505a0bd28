// SPDX-License-Identifier: MIT OR Apache-2.0

//! The target that a command measures: a spec in, a target that is ready to be measured out.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::arguments::{Conditions, Effort};
use super::Failure;
use crate::base::interrupt::Interrupt;
use crate::base::text::plain;
use crate::machine::counters::Meter;
use crate::machine::cpus::MeasuredCpus;
use crate::machine::{self, Machine};
use crate::measure::lock::{self, Acquisition, Lock};
use crate::measure::progress::Progress;
use crate::measure::{self, Catalog};
use crate::stream::run::{Fact, LINUX};
use crate::target::described::{self, Described};
use crate::target::exec::Exec;
use crate::target::file::StreamFile;
use crate::target::host::Host;
use crate::target::serial::Serial;
use crate::target::spec::{self, DescriptionLocation, Spec};
use crate::target::tracer::{TraceOptions, Tracer};
use crate::target::Target;

/// How long an agent may stay silent before it counts as hung.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a run waits for another one to end.
const LOCK_WAIT: Duration = Duration::from_secs(120);

/// A target that exists. Nothing has been built or opened for it yet.
#[derive(Clone, Debug)]
pub(super) enum ResolvedTarget {
    Linux,
    Described(Box<described::Plan>),
    Serial { device: PathBuf, baud: u32 },
    Exec(String),
    File(PathBuf),
}

impl ResolvedTarget {
    /// Its spec, with the board that was chosen. Saved runs name their target this way.
    pub(super) fn target(&self) -> String {
        match self {
            ResolvedTarget::Linux => LINUX.to_owned(),
            ResolvedTarget::Described(plan) => plan.chosen.choice.to_string(),
            ResolvedTarget::Serial { device, baud } => Spec::Serial {
                device: device.clone(),
                baud: *baud,
            }
            .to_string(),
            ResolvedTarget::Exec(command) => Spec::Exec(command.clone()).to_string(),
            ResolvedTarget::File(path) => Spec::File(path.clone()).to_string(),
        }
    }

    /// Whether it is a kernel that runs on this machine's CPUs, so that what else this machine does
    /// is counted.
    fn is_counted(&self) -> bool {
        match self {
            ResolvedTarget::Linux => true,
            ResolvedTarget::Described(plan) => plan.chosen.here,
            ResolvedTarget::Exec(_) | ResolvedTarget::Serial { .. } | ResolvedTarget::File(_) => {
                false
            }
        }
    }

    /// Its name within the name of a file: `linux`, `freertos-m4-O3+canaries`, `serial`.
    fn file_name(&self) -> String {
        let plan = match self {
            ResolvedTarget::Linux => return LINUX.to_owned(),
            ResolvedTarget::Serial { .. } => return "serial".to_owned(),
            ResolvedTarget::Exec(_) => return "exec".to_owned(),
            ResolvedTarget::File(_) => return "file".to_owned(),
            ResolvedTarget::Described(plan) => plan,
        };
        let choice = &plan.chosen.choice;
        let target = match &choice.target {
            DescriptionLocation::Named(name) => name.as_str().into(),
            DescriptionLocation::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy()
            }
        };
        let variants = choice.variants.join("+");
        let board = spec::board_file_name(&plan.chosen.board);
        let parts = [&*target, &board, &variants];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("-")
    }
}

/// Finds the target that a spec names.
pub(super) fn resolve(spec: &Spec, interrupt: &Interrupt) -> Result<ResolvedTarget, Failure> {
    Ok(match spec {
        Spec::Linux => ResolvedTarget::Linux,
        Spec::Described(choice) => {
            let plan = described::plan(choice, interrupt).map_err(Failure::Usage)?;
            ResolvedTarget::Described(Box::new(plan))
        }
        Spec::Serial { device, baud } => ResolvedTarget::Serial {
            device: device.clone(),
            baud: *baud,
        },
        Spec::Exec(command) => ResolvedTarget::Exec(command.clone()),
        Spec::File(path) => ResolvedTarget::File(path.clone()),
    })
}

/// How a target is opened.
pub(super) struct OpenOptions<'a> {
    /// How long it may stay silent before it counts as hung; `None`: the default.
    pub silence: Option<Duration>,
    /// How many sessions to read from a file; `None`: all.
    pub sessions: Option<u32>,
    /// What to follow the instructions of; `None`: nothing.
    pub trace: Option<TraceOptions>,
    /// Shows what takes time.
    pub progress: &'a Progress,
}

/// A target that is ready to be measured.
pub(super) struct OpenTarget<'a> {
    pub target: Box<dyn Target + 'a>,
    /// Its name within the name of the saved run.
    pub name: String,
    pub kind: Kind,
    /// Whether it runs on this machine. Then other work here disturbs it, and the facts of this
    /// machine belong to the result.
    pub is_here: bool,
    /// Counts what else this machine does during a session, if the target is a kernel on its CPUs.
    pub meter: Option<Meter>,
    /// Follows its instructions, if that was asked for.
    pub tracer: Option<Rc<Tracer>>,
    /// Facts about the target.
    facts: Vec<Fact>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Linux,
    Described,
    Serial,
    Exec,
    File,
}

/// Builds what a target needs and opens it; `None` if the user stopped that.
pub(super) fn open<'a>(
    target: ResolvedTarget,
    options: &OpenOptions,
    interrupt: &'a Interrupt,
) -> Result<Option<OpenTarget<'a>>, Failure> {
    let silence = options.silence.unwrap_or(SILENCE);
    let named = vec![Fact::new("target", target.target())];
    let is_here = match &target {
        ResolvedTarget::Linux | ResolvedTarget::Exec(_) => true,
        ResolvedTarget::Described(plan) => plan.chosen.here,
        ResolvedTarget::Serial { .. } | ResolvedTarget::File(_) => false,
    };
    let meter = target.is_counted().then(|| Meter::new(Path::new("/")));
    let name = target.file_name();
    let mut tracer = None;
    if options.trace.is_some() {
        check_exact(&target)?;
    }
    let (target, kind, facts): (Box<dyn Target + 'a>, _, _) = match target {
        ResolvedTarget::Linux => {
            let host = Host::new(silence, interrupt).map_err(Failure::Failed)?;
            (Box::new(host), Kind::Linux, Vec::new())
        }
        ResolvedTarget::Described(plan) => {
            let what = format!("building {}", plan.chosen.choice);
            options.progress.show(&what);
            let prepared = Described::prepare(*plan, interrupt).map_err(Failure::Failed)?;
            let Some(mut target) = prepared else {
                return Ok(None);
            };
            if let Some(silence) = options.silence {
                target.set_silence(silence);
            }
            if let Some(wanted) = &options.trace {
                options.progress.show("building the plugin for QEMU");
                tracer = Some(target.trace(wanted.clone()).map_err(Failure::Failed)?);
            }
            let facts = target.facts().to_vec();
            (Box::new(target), Kind::Described, facts)
        }
        ResolvedTarget::Serial { device, baud } => {
            let serial = Serial::new(&device, baud, silence, interrupt).map_err(Failure::Failed)?;
            (Box::new(serial), Kind::Serial, named)
        }
        ResolvedTarget::Exec(command) => {
            let exec = Exec::new(command, silence, interrupt);
            (Box::new(exec), Kind::Exec, named)
        }
        ResolvedTarget::File(path) => {
            let saved = StreamFile::new(path, options.sessions, silence, interrupt);
            (Box::new(saved), Kind::File, named)
        }
    };
    Ok(Some(OpenTarget {
        target,
        name,
        kind,
        is_here,
        meter,
        tracer,
        facts,
    }))
}

/// Refuses a target that does not count instructions, and names one that does and answers the
/// nearest question.
pub(super) fn check_exact(target: &ResolvedTarget) -> Result<(), Failure> {
    let nearest = match target {
        ResolvedTarget::Linux => {
            "linux-vm:tcg,agent=user has the same metrics in an emulated machine"
        }
        ResolvedTarget::Described(plan) if plan.chosen.trace.is_some() => return Ok(()),
        ResolvedTarget::Described(plan) => match &plan.chosen.choice.target {
            DescriptionLocation::Named(name) if name == "linux-vm" => {
                "linux-vm:tcg has the same metrics in an emulated machine"
            }
            DescriptionLocation::Named(name) if name == "linux-kernel" => {
                "linux-vm:tcg has the same metrics in an emulated machine"
            }
            DescriptionLocation::Named(name) if name == "freertos" => {
                "freertos:m4 has the same metrics in an emulator"
            }
            DescriptionLocation::Named(name) if name == "zephyr" => {
                "zephyr:an385 has the same metrics in an emulator"
            }
            _ => "`kernmark targets` lists those that do (unit = \"instructions\")",
        },
        ResolvedTarget::Serial { .. } | ResolvedTarget::Exec(_) | ResolvedTarget::File(_) => {
            "`kernmark targets` lists those that do"
        }
    };
    Err(Failure::Usage(format!(
        "{} does not count instructions, so nobody can tell where they go; {nearest}",
        target.target()
    )))
}

/// Opens a target and reads its catalog; `None` if the user stopped that.
pub(super) fn read_catalog(spec: &Spec, interrupt: &Interrupt) -> Result<Option<Catalog>, Failure> {
    let progress = Progress::new();
    let options = OpenOptions {
        silence: None,
        sessions: None,
        trace: None,
        progress: &progress,
    };
    let Some(mut target) = open(resolve(spec, interrupt)?, &options, interrupt)? else {
        return Ok(None);
    };
    measure::read_catalog(target.target.as_mut()).map_err(Failure::Failed)
}

impl OpenTarget<'_> {
    /// Facts about the tool, about this machine if the target runs on it, and about the target.
    pub(super) fn facts(&self) -> Vec<Fact> {
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

/// Waits until no other kernmark measures on this machine; `None` if the user stopped that. The
/// lock that is returned keeps others away. There is none if the target runs elsewhere, or if no
/// file can be locked here.
pub(super) fn lock_machine(
    target: &OpenTarget,
    wait: Option<Duration>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<Vec<Lock>>, Failure> {
    if !target.is_here {
        return Ok(Some(Vec::new()));
    }
    let limit = wait.unwrap_or(LOCK_WAIT);
    let mut waiting = || {
        progress.clear();
        eprintln!(
            "kernmark: another kernmark is measuring; waiting for up to {} s",
            limit.as_secs_f64()
        );
    };
    match lock::acquire(limit, interrupt, &mut waiting).map_err(Failure::Failed)? {
        Acquisition::Acquired(lock) => Ok(Some(vec![lock])),
        Acquisition::Unavailable(why) => {
            progress.clear();
            eprintln!(
                "kernmark: cannot keep another kernmark from measuring at the same time: {}",
                plain(&why)
            );
            Ok(Some(Vec::new()))
        }
        Acquisition::Interrupted => Ok(None),
    }
}

/// Rejects options that have no effect on the target, and a CPU that cannot be used.
pub(super) fn check(
    target: &ResolvedTarget,
    spec: &Spec,
    effort: &Effort,
    conditions: &Conditions,
) -> Result<(), Failure> {
    let mut without_effect: Vec<(bool, &str)> = Vec::new();
    let (is_here, takes_orders) = match target {
        ResolvedTarget::Linux => (true, true),
        ResolvedTarget::Described(plan) => (false, plan.chosen.takes_orders()),
        ResolvedTarget::Serial { .. } | ResolvedTarget::Exec(_) | ResolvedTarget::File(_) => {
            (false, false)
        }
    };
    if !is_here {
        without_effect.push((conditions.cpu.is_some(), "--cpu"));
        without_effect.push((conditions.no_realtime, "--no-realtime"));
    }
    if !takes_orders {
        without_effect.push((effort.samples.is_some(), "--samples"));
        without_effect.push((effort.quick, "--quick"));
        without_effect.push((effort.time_budget.is_some(), "--time-budget"));
    }
    if conditions.processes && !target.is_counted() {
        return Err(Failure::Usage(format!(
            "--processes works only for targets that run on this machine's CPUs; leave it out with \
             --on {spec}"
        )));
    }
    if let Some((_, option)) = without_effect.iter().find(|(given, _)| *given) {
        return Err(Failure::Usage(if takes_orders {
            format!("{option} works only for this Linux; leave it out with --on {spec}")
        } else {
            format!("{spec} takes no orders, so {option} has no effect; leave it out")
        }));
    }
    if is_here {
        measured_cpus(target, conditions)?;
    }
    Ok(())
}

/// The CPUs that are measured, and facts about where they lie; `None` if the target or its agent
/// chooses.
///
/// # Errors
///
/// A CPU that the user asked for cannot be used.
pub(super) fn measured_cpus(
    target: &ResolvedTarget,
    conditions: &Conditions,
) -> Result<Option<(MeasuredCpus, Vec<Fact>)>, Failure> {
    if !matches!(target, ResolvedTarget::Linux) {
        return Ok(None);
    }
    let machine = Machine::read(Path::new("/"));
    let chosen = MeasuredCpus::choose(&machine, conditions.cpu).map_err(Failure::Usage)?;
    Ok(chosen.map(|cpus| (cpus, cpus.facts(&machine))))
}
