// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `ab`: measures two targets alternately and compares them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;

use super::arguments::{Conditions, Effort, Selection, ON_LONG};
use super::compare::{judge, Judging};
use super::matrix::with;
use super::run::{self, prepare, selected, Prepared};
use super::saving::{MeasuredRun, Saving};
use super::target::{lock_machine, resolve, ResolvedTarget};
use super::{budget, exit, interrupt, verify_selection, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::base::text::plain;
use crate::files::store;
use crate::judge::compare::CompareKey;
use crate::judge::matrix::Column;
use crate::judge::pairing::block_sizes;
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{End, Measured, Measurement, Recording};
use crate::report::compare::Origin;
use crate::stream::filter;
use crate::stream::run::{Fact, Unit};
use crate::target::spec::Spec;

/// The arguments of `ab`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The baseline: a target, in the forms of --on elsewhere (linux, freertos:m4, exec:COMMAND).
    /// With --on, a variant (default, canaries+O3) or an option (key=value) of that target
    #[arg(value_name = "A")]
    pub base: String,

    /// What to compare with the baseline, in the same forms. Give A again to see the noise of this
    /// machine
    #[arg(value_name = "B")]
    pub new: String,

    /// What is measured and shown.
    #[command(flatten)]
    pub selection: Selection<CompareKey>,

    /// The target that A and B are variants of
    #[arg(long, value_name = "SPEC", long_help = ON_LONG)]
    pub on: Option<String>,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// The conditions.
    #[command(flatten)]
    pub conditions: Conditions,

    /// Save the runs as NAME-base.km and NAME-new.km, which must not exist [default: files in the
    /// data directory]
    #[arg(short, long, value_name = "NAME")]
    pub output: Option<PathBuf>,

    /// How the runs are compared.
    #[command(flatten)]
    pub judging: Judging,
}

/// The names of the sides.
const NAMES: [&str; 2] = ["base", "new"];

/// Replicates of each side if the target has no default of its own.
const RUNS: u32 = 10;

/// A replicate to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    /// 0 is the base, 1 the new side.
    side: usize,
    /// The number of its block.
    block: usize,
}

/// Measures both sides alternately, saves both runs and compares them.
pub(super) fn ab(arguments: &Arguments) -> Outcome {
    let specs = specs(arguments).map_err(Failure::Usage)?;
    if arguments.output.as_deref() == Some(Path::new("-")) {
        let why = "ab saves two runs, so -o needs a name and not standard output";
        return Err(Failure::Usage(why.to_owned()));
    }
    // A faulty budget is reported before anything is measured.
    budget::read(arguments.judging.budget.as_deref())?;
    let interrupt = interrupt()?;
    let seed = arguments.effort.seed.unwrap_or_else(|| fastrand::u32(..));
    // Check both sides before anything is built for the first.
    let side = |side: usize| -> Result<(ResolvedTarget, run::Arguments), Failure> {
        let spec = &specs[side];
        let target = resolve(spec, &interrupt)?;
        let run = run::Arguments {
            filters: arguments.selection.filters.clone(),
            exclude: arguments.selection.exclude.clone(),
            on: spec.clone(),
            effort: effort(&arguments.effort, &target, seed),
            conditions: arguments.conditions.clone(),
            output: arguments.output.as_ref().map(|name| file(name, side)),
            ..run::Arguments::default()
        };
        run.check(&target)?;
        Ok((target, run))
    };
    let sides = [side(0)?, side(1)?];
    if let Some(why) = incomparable(&sides[0].0, &sides[1].0) {
        return Err(Failure::Usage(why));
    }
    let Some(made) = measure(sides, seed, &interrupt)? else {
        return Ok(exit::INTERRUPTED);
    };
    for path in made.iter().flatten().filter_map(|one| one.path.as_ref()) {
        eprintln!("saved: {}", path.display());
    }
    let statuses = made.iter().flatten().map(MeasuredRun::exit_status);
    let status = statuses.max().unwrap_or(exit::FAILED);
    let [Some(base), Some(new)] = made else {
        return Ok(status.max(exit::FAILED));
    };
    let selection = arguments.selection.metrics();
    verify_selection(&selection, &[&base.run, &new.run])?;
    // The comparison leaves out what is excluded, but needs the clock.
    let measured = filter::Selection {
        exclude: Vec::new(),
        ..selection
    };
    let origin = |side: usize, made: &MeasuredRun| {
        let file = match &made.path {
            Some(path) => path.display().to_string(),
            None => specs[side].to_string(),
        };
        let column = Column {
            name: NAMES[side].to_owned(),
            run: selected(made, &measured),
        };
        Origin::of(vec![file], column)
    };
    let sides = [origin(0, &base), origin(1, &new)];
    let gate = judge(&sides, &arguments.judging, &arguments.selection)?;
    Ok(if status == exit::INTERRUPTED || gate == exit::OK {
        status
    } else {
        gate
    })
}

/// The file of a side, from the name that the user gave for both.
fn file(name: &Path, side: usize) -> PathBuf {
    let mut file = name.as_os_str().to_owned();
    file.push(format!("-{}.km", NAMES[side]));
    file.into()
}

/// The targets that A and B name.
fn specs(arguments: &Arguments) -> Result<[Spec; 2], String> {
    let spec = |side: &str| -> Result<Spec, String> {
        let spec = match &arguments.on {
            Some(target) => with(target, side)?,
            None => side.parse()?,
        };
        match spec {
            Spec::File(path) => Err(format!(
                "{} is already measured; use kernmark compare for saved runs",
                path.display()
            )),
            other => Ok(other),
        }
    };
    Ok([spec(&arguments.base)?, spec(&arguments.new)?])
}

/// Why two targets cannot be compared, as far as their descriptions say: one is measured in
/// instructions and the other in time.
fn incomparable(base: &ResolvedTarget, new: &ResolvedTarget) -> Option<String> {
    let exact = |target: &ResolvedTarget| match target {
        ResolvedTarget::Linux => Some(false),
        ResolvedTarget::Described(plan) => Some(plan.chosen.unit == Unit::Instructions),
        ResolvedTarget::Serial { .. } | ResolvedTarget::Exec(_) | ResolvedTarget::File(_) => None,
    };
    let counts = |exact| if exact { "instructions" } else { "time" };
    let (of_base, of_new) = (exact(base)?, exact(new)?);
    let (base, new) = (base.target(), new.target());
    (of_base != of_new).then(|| {
        format!(
            "{base} is measured in {} and {new} in {}, which cannot be compared; \
             `kernmark matrix --on '{base}' --on '{new}'` shows both",
            counts(of_base),
            counts(of_new)
        )
    })
}

/// How much is measured of one side.
fn effort(both: &Effort, target: &ResolvedTarget, seed: u32) -> Effort {
    let runs = match target {
        ResolvedTarget::Linux => None,
        // Two replicates are enough to show that the counts are exact.
        ResolvedTarget::Described(plan) if plan.chosen.unit == Unit::Instructions => {
            Some(plan.chosen.runs.max(2))
        }
        ResolvedTarget::Described(plan) => Some(plan.chosen.runs),
        ResolvedTarget::Serial { .. } | ResolvedTarget::Exec(_) | ResolvedTarget::File(_) => {
            Some(RUNS)
        }
    };
    Effort {
        runs: both.runs.or(runs),
        time_budget: both.time_budget.map(|time| time / 2),
        seed: Some(seed),
        ..both.clone()
    }
}

/// The replicates of both sides in the order of measurement: block by block, in random order
/// within a block.
fn schedule(runs: [u32; 2], seed: u32) -> Vec<Next> {
    let runs = runs.map(|runs| runs as usize);
    let blocks = block_sizes(runs[0].min(runs[1])).len();
    let mut random = fastrand::Rng::with_seed(seed.into());
    let mut schedule = Vec::new();
    for block in 0..blocks {
        let size = |side: usize| runs[side] / blocks + usize::from(block < runs[side] % blocks);
        let of = |side: usize| vec![Next { side, block }; size(side)];
        let mut within = [of(0), of(1)].concat();
        random.shuffle(&mut within);
        schedule.extend(within);
    }
    schedule
}

/// Measures and saves both runs. A side is `None` if nothing of it was measured; the result is
/// `None` if the user stopped before anything was measured.
fn measure(
    [(base, base_run), (new, new_run)]: [(ResolvedTarget, run::Arguments); 2],
    seed: u32,
    interrupt: &Interrupt,
) -> Result<Option<[Option<MeasuredRun>; 2]>, Failure> {
    let progress = Progress::new();
    let Some(base) = prepare(base, &base_run, interrupt, &progress)? else {
        return Ok(None);
    };
    let Some(new) = prepare(new, &new_run, interrupt, &progress)? else {
        return Ok(None);
    };
    let (mut sides, asked) = ([base, new], [base_run, new_run]);
    // One lock serves both.
    let here = sides.iter().find(|side| side.target.is_here);
    let target = &here.unwrap_or(&sides[0]).target;
    let Some(_lock) = lock_machine(target, asked[0].conditions.wait, interrupt, &progress)? else {
        return Ok(None);
    };
    let counted = sides.iter().find(|side| side.target.meter.is_some());
    let selection = asked[0].metrics();
    let detail = asked[0].conditions.detail();
    let observed = counted.unwrap_or(&sides[0]);
    let Some(observed) = observed.observe(&selection, detail, interrupt) else {
        return Ok(None);
    };
    let started = SystemTime::now();
    let runs = sides.each_ref().map(|side| side.plan.runs);
    let schedule = schedule(runs, seed);
    let saving = |side: usize| {
        let what = format!("{}-{}", sides[side].target.name, NAMES[side]);
        let name = store::name(started, &what);
        Saving::begin(&asked[side].destination(), &name, seed)
    };
    let mut savings = [saving(0)?, saving(1)?];
    let facts = |side: usize| {
        let mut facts = sides[side].facts(&asked[side], started);
        let pair = format!("as {} with {}", NAMES[side], asked[1 - side].on);
        facts.push(Fact::new("interleaved", pair));
        if sides[side].target.meter.is_some() {
            facts.extend(observed.processes.iter().cloned());
        }
        facts
    };
    let facts = [facts(0), facts(1)];
    let before = |side: &Prepared| match side.target.meter {
        Some(_) => observed.counted.clone(),
        None => Vec::new(),
    };
    let before = sides.each_ref().map(before);
    let [base_saving, new_saving] = &mut savings;
    let mut base_recording = Recording::new(&facts[0], base_saving.out());
    let mut new_recording = Recording::new(&facts[1], new_saving.out());
    base_recording.before(&before[0]);
    new_recording.before(&before[1]);
    let [base, new] = &mut sides;
    let measurements = [
        base.measurement(&selection, &mut base_recording),
        new.measurement(&selection, &mut new_recording),
    ];
    let name = store::measurement(started, seed);
    let [base, new] = measure_alternately(measurements, &schedule, &name, &progress);
    drop(progress);
    let (base_made, new_made) = (base_recording.finish(), new_recording.finish());
    let [base_saving, new_saving] = savings;
    let orders = sides.each_ref().map(Prepared::orders);
    let made = [
        base_saving.conclude(base_made, base, orders[0]),
        new_saving.conclude(new_made, new, orders[1]),
    ];
    match made {
        [Err(failure), Err(_)] => Err(failure),
        [Ok(None), Ok(None)] => Ok(None),
        sides => Ok(Some(sides.map(|side| {
            side.unwrap_or_else(|failure| {
                eprintln!("kernmark: {}", plain(failure.why()));
                None
            })
        }))),
    }
}

/// Measures the replicates in the order of the schedule, until a side runs out of time, fails or is
/// interrupted.
fn measure_alternately(
    mut sides: [Measurement; 2],
    schedule: &[Next],
    name: &str,
    progress: &Progress,
) -> [Result<Measured, String>; 2] {
    let mut ends = [Ok(End::Complete), Ok(End::Complete)];
    let mut positions = [(0, None, Duration::ZERO); 2];
    for (at, &Next { side, block }) in schedule.iter().enumerate() {
        sides[side].block(&format!("{name} {block}"));
        let end = sides[side].replicate(&mut |position| {
            positions[side] = (position.done, position.total, position.time);
            progress.show(&line(position.case, NAMES[side], &positions));
        });
        let has_more = schedule[at + 1..].iter().any(|next| next.side == side);
        match end {
            Ok(None) => {}
            Ok(Some(End::Complete)) if !has_more => {}
            Ok(Some(End::Interrupted)) => {
                ends = [Ok(End::Interrupted), Ok(End::Interrupted)];
                break;
            }
            other => {
                ends[side] = other.map(|end| end.unwrap_or(End::Complete));
                break;
            }
        }
    }
    let [base, new] = sides;
    let [base_end, new_end] = ends;
    [
        base_end.map(|end| base.finish(end)),
        new_end.map(|end| new.finish(end)),
    ]
}

/// The progress of both sides, and which one is being measured.
fn line(case: &str, side: &str, positions: &[(usize, Option<usize>, Duration); 2]) -> String {
    let [(base_done, base_total, base_time), (new_done, new_total, new_time)] = positions;
    let both = Position {
        case,
        done: base_done + new_done,
        total: base_total.zip(*new_total).map(|(base, new)| base + new),
        time: *base_time + *new_time,
    };
    format!("{} · {side}", progress::line(&both))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_holds_its_share_of_both_sides() {
        let made = schedule([10, 10], 1);
        assert_eq!(made.len(), 20);
        let sizes = |side: usize| -> Vec<usize> {
            let of = |block| {
                made.iter()
                    .filter(move |next| **next == Next { side, block })
            };
            (0..5).map(|block| of(block).count()).collect()
        };
        assert_eq!((sizes(0), sizes(1)), (vec![2; 5], vec![2; 5]));
        assert!(made.is_sorted_by_key(|next| next.block));
        assert_eq!(made, schedule([10, 10], 1), "the seed says the order");
        assert_ne!(made, schedule([10, 10], 2));
        let uneven = schedule([10, 5], 1);
        let count = |side| uneven.iter().filter(|next| next.side == side).count();
        assert_eq!((count(0), count(1)), (10, 5));
    }

    fn named(on: Option<&str>, base: &str, new: &str) -> Result<[String; 2], String> {
        let arguments = Arguments {
            base: base.to_owned(),
            new: new.to_owned(),
            selection: Selection::default(),
            on: on.map(str::to_owned),
            effort: Effort::default(),
            conditions: Conditions::default(),
            output: None,
            judging: Judging::default(),
        };
        Ok(specs(&arguments)?.map(|spec| spec.to_string()))
    }

    #[test]
    fn sides_are_targets_or_variants_of_one() {
        let pair = |base: &str, new: &str| Ok([base.to_owned(), new.to_owned()]);
        assert_eq!(named(None, "linux", "linux"), pair("linux", "linux"));
        assert_eq!(
            named(Some("freertos"), "default", "O3"),
            pair("freertos", "freertos,variant=O3")
        );
        assert_eq!(named(Some("a:b"), "x=1", "x=2"), pair("a:b,x=1", "a:b,x=2"));
        for (on, side) in [
            (None, "file:a.km"),
            (None, "no such thing"),
            (Some("linux"), "O3"),
        ] {
            assert!(named(on, "linux", side).is_err(), "{on:?} {side}");
        }
    }
}
