// SPDX-License-Identifier: MIT OR Apache-2.0

//! The target that a command measures: found, checked, opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{run, saving, Failure};
use crate::base::interrupt::Interrupt;
use crate::base::text::plain;
use crate::files::store;
use crate::machine::{self, Machine};
use crate::measure::lock::{self, Turn, Waited};
use crate::measure::progress::Progress;
use crate::stream::run::Fact;
use crate::target::described::{self, Described};
use crate::target::exec::Exec;
use crate::target::file::Saved;
use crate::target::host::Host;
use crate::target::serial::Serial;
use crate::target::spec::{Description, Spec};
use crate::target::Target;

/// Time without a record after which an agent counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a run waits for another one to end.
const WAIT: Duration = Duration::from_secs(120);

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
            Description::Named(name) => name.as_str().into(),
            Description::File(path) => path.file_stem().unwrap_or_default().to_string_lossy(),
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
    pub kind: Kind,
    /// Whether it runs on this machine, so that what else runs here disturbs it and what the
    /// machine is belongs to the result.
    pub is_here: bool,
    /// What is known of the target.
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
            let saved = Saved::new(path, wanted.sessions, silence, interrupt);
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

/// Waits until no other kernmark measures on this machine; `None` when the user stopped it. What
/// it holds keeps others away; it is empty where that is not needed or not possible.
pub(super) fn turn(
    place: &Place,
    wait: Option<Duration>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<Vec<Turn>>, Failure> {
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
    match lock::take(limit, interrupt, &mut waiting).map_err(Failure::Failed)? {
        Waited::Ours(turn) => Ok(Some(vec![turn])),
        Waited::Unguarded(why) => {
            progress.clear();
            eprintln!(
                "kernmark: nothing keeps another kernmark from measuring beside this one: {}",
                plain(&why)
            );
            Ok(Some(Vec::new()))
        }
        Waited::Interrupted => Ok(None),
    }
}

/// Refuses arguments that the target cannot heed, and a file that cannot be made.
pub(super) fn check(target: &Known, arguments: &run::Arguments) -> Result<(), Failure> {
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
    arguments
        .output
        .as_deref()
        .map_or(Ok(()), saving::check_path)
}
