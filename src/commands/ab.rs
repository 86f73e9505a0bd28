// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `ab`: measures two targets in turns and compares them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::compare::judge;
use super::matrix::with;
use super::run::{acquire_lock, check, plan_target, ready, shown, Known, Made, Ready, Saving};
use super::{budget, interrupt, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::base::text::plain;
use crate::commands::arguments;
use crate::files::store;
use crate::judge::matrix::Column;
use crate::judge::pairing::block_sizes;
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{End, Measured, Measurement, Recording};
use crate::report::compare::Origin;
use crate::stream::run::{Fact, Unit};
use crate::target::spec::Spec;

/// How the sides are called.
const NAMES: [&str; 2] = ["base", "new"];

/// Replicates of each side where neither this Linux nor a description has a number of them.
const RUNS: u32 = 10;

/// A replicate that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    /// 0 is the base, 1 the new side.
    side: usize,
    /// In which block.
    block: usize,
}

/// Measures both sides in turns, saves both runs and shows how they compare.
pub(super) fn ab(arguments: &arguments::Ab) -> Outcome {
    let specs = specs(arguments).map_err(Failure::Usage)?;
    // A budget that cannot be read is told before anything is measured.
    budget::read(arguments.judging.budget.as_deref())?;
    let interrupt = interrupt()?;
    let seed = arguments.effort.seed.unwrap_or_else(|| fastrand::u32(..));
    // A typo in the second is found before anything is built for the first.
    let side = |side: usize| -> Result<(Known, arguments::Run), Failure> {
        let spec = &specs[side];
        let known = plan_target(spec, &interrupt)?;
        let run = arguments::Run {
            filters: arguments.filters.clone(),
            on: spec.clone(),
            effort: effort(&arguments.effort, &known, seed),
            conditions: arguments.conditions.clone(),
            output: arguments.output.as_ref().map(|name| file(name, side)),
            ..arguments::Run::default()
        };
        check(&known, &run)?;
        Ok((known, run))
    };
    let sides = [side(0)?, side(1)?];
    if let Some(why) = apart(&sides[0].0, &sides[1].0) {
        return Err(Failure::Usage(why));
    }
    let Some(made) = measure(sides, seed, &interrupt)? else {
        return Ok(arguments::INTERRUPTED);
    };
    for path in made.iter().flatten().filter_map(|one| one.path.as_ref()) {
        eprintln!("saved: {}", path.display());
    }
    let statuses = made.iter().flatten().map(Made::exit_status);
    let status = statuses.max().unwrap_or(arguments::FAILED);
    let [Some(base), Some(new)] = made else {
        return Ok(status.max(arguments::FAILED));
    };
    let origin = |side: usize, made: &Made| {
        let file = match &made.path {
            Some(path) => path.display().to_string(),
            None => specs[side].to_string(),
        };
        let column = Column {
            name: NAMES[side].to_owned(),
            run: shown(made, &arguments.filters),
        };
        Origin::of(vec![file], column)
    };
    let gate = judge(&[origin(0, &base), origin(1, &new)], &arguments.judging)?;
    Ok(
        if status == arguments::INTERRUPTED || gate == arguments::OK {
            status
        } else {
            gate
        },
    )
}

/// Where the run of a side is saved when the user named both.
fn file(name: &Path, side: usize) -> PathBuf {
    let mut file = name.as_os_str().to_owned();
    file.push(format!("-{}.km", NAMES[side]));
    file.into()
}

/// What A and B are.
fn specs(arguments: &arguments::Ab) -> Result<[Spec; 2], String> {
    let spec = |side: &str| -> Result<Spec, String> {
        let spec = match &arguments.on {
            Some(target) => with(target, side)?,
            None => side.parse()?,
        };
        match spec {
            Spec::File(path) => Err(format!(
                "{} is measured already; kernmark compare takes saved runs",
                path.display()
            )),
            other => Ok(other),
        }
    };
    Ok([spec(&arguments.base)?, spec(&arguments.new)?])
}

/// Why nothing of two targets can be compared, where their descriptions tell: one counts
/// instructions and the other time.
fn apart(base: &Known, new: &Known) -> Option<String> {
    let exact = |target: &Known| match target {
        Known::Linux => Some(false),
        Known::Described(plan) => Some(plan.chosen.unit == Unit::Instructions),
        Known::Serial { .. } | Known::Exec(_) | Known::File(_) => None,
    };
    let counts = |exact| if exact { "instructions" } else { "time" };
    let (of_base, of_new) = (exact(base)?, exact(new)?);
    let (base, new) = (base.target(), new.target());
    (of_base != of_new).then(|| {
        format!(
            "{base} is measured in {} and {new} in {}, which are never compared; \
             `kernmark matrix --on '{base}' --on '{new}'` shows both",
            counts(of_base),
            counts(of_new)
        )
    })
}

/// What is asked of one side.
fn effort(both: &arguments::Effort, target: &Known, seed: u32) -> arguments::Effort {
    let runs = match target {
        Known::Linux => None,
        // Two show that instructions are exact.
        Known::Described(plan) if plan.chosen.unit == Unit::Instructions => {
            Some(plan.chosen.runs.max(2))
        }
        Known::Described(plan) => Some(plan.chosen.runs),
        Known::Serial { .. } | Known::Exec(_) | Known::File(_) => Some(RUNS),
    };
    arguments::Effort {
        runs: both.runs.or(runs),
        time_budget: both.time_budget.map(|time| time / 2),
        seed: Some(seed),
        ..both.clone()
    }
}

/// The replicates of both sides in the order in which they are made: block by block, within a
/// block at random.
fn turns(runs: [u32; 2], seed: u32) -> Vec<Next> {
    let runs = runs.map(|runs| runs as usize);
    let blocks = block_sizes(runs[0].min(runs[1])).len();
    let mut random = fastrand::Rng::with_seed(seed.into());
    let mut turns = Vec::new();
    for block in 0..blocks {
        let size = |side: usize| runs[side] / blocks + usize::from(block < runs[side] % blocks);
        let of = |side: usize| vec![Next { side, block }; size(side)];
        let mut within = [of(0), of(1)].concat();
        random.shuffle(&mut within);
        turns.extend(within);
    }
    turns
}

/// Makes both runs and saves them; `None` for a side of which nothing was measured, and in place
/// of both when the user stopped it before anything was.
fn measure(
    [(base, base_run), (new, new_run)]: [(Known, arguments::Run); 2],
    seed: u32,
    interrupt: &Interrupt,
) -> Result<Option<[Option<Made>; 2]>, Failure> {
    let progress = Progress::new();
    let Some(base) = ready(base, &base_run, interrupt, &progress)? else {
        return Ok(None);
    };
    let Some(new) = ready(new, &new_run, interrupt, &progress)? else {
        return Ok(None);
    };
    let (mut sides, asked) = ([base, new], [base_run, new_run]);
    // One lock serves both sides.
    let here = sides.iter().find(|side| side.place.is_here);
    let place = &here.unwrap_or(&sides[0]).place;
    let Some(_lock) = acquire_lock(place, asked[0].conditions.wait, interrupt, &progress)? else {
        return Ok(None);
    };
    let started = SystemTime::now();
    let filters = &asked[0].filters;
    let runs = sides.each_ref().map(|side| side.plan.runs);
    let turns = turns(runs, seed);
    let saving = |side: usize| {
        let what = format!("{}-{}", sides[side].place.name, NAMES[side]);
        Saving::begin(&asked[side], &store::name(started, &what, seed))
    };
    let mut savings = [saving(0)?, saving(1)?];
    let facts = |side: usize| {
        let mut facts = sides[side].facts(&asked[side], started);
        let pair = format!("as {} with {}", NAMES[side], asked[1 - side].on);
        facts.push(Fact::new("interleaved", pair));
        facts
    };
    let facts = [facts(0), facts(1)];
    let [base_saving, new_saving] = &mut savings;
    let mut base_recording = Recording::new(&facts[0], base_saving.out());
    let mut new_recording = Recording::new(&facts[1], new_saving.out());
    let [base, new] = &mut sides;
    let measurements = [
        base.measurement(filters, &mut base_recording),
        new.measurement(filters, &mut new_recording),
    ];
    let name = store::measurement(started, seed);
    let [base, new] = in_turns(measurements, &turns, &name, &progress);
    drop(progress);
    let (base_made, new_made) = (base_recording.finish(), new_recording.finish());
    let [base_saving, new_saving] = savings;
    let orders = sides.each_ref().map(Ready::orders);
    let made = [
        base_saving.conclude(base_made, base, orders[0]),
        new_saving.conclude(new_made, new, orders[1]),
    ];
    match made {
        [Err(failure), Err(_)] => Err(failure),
        [Ok(None), Ok(None)] => Ok(None),
        sides => Ok(Some(sides.map(|side| {
            side.unwrap_or_else(|failure| {
                let (Failure::Usage(why) | Failure::Failed(why)) = failure;
                eprintln!("kernmark: {}", plain(&why));
                None
            })
        }))),
    }
}

/// Makes the replicates in their turns, until a side has no time left, fails or is interrupted.
fn in_turns(
    mut sides: [Measurement; 2],
    turns: &[Next],
    name: &str,
    progress: &Progress,
) -> [Result<Measured, String>; 2] {
    let mut ends = [Ok(End::Complete), Ok(End::Complete)];
    let mut positions = [(0, None, Duration::ZERO); 2];
    for (at, &Next { side, block }) in turns.iter().enumerate() {
        sides[side].block(&format!("{name} {block}"));
        let end = sides[side].replicate(&mut |position| {
            positions[side] = (position.done, position.total, position.time);
            progress.show(&line(position.case, NAMES[side], &positions));
        });
        let has_more = turns[at + 1..].iter().any(|next| next.side == side);
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

/// How far both sides are, of which one is being measured.
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
        let made = turns([10, 10], 1);
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
        assert_eq!(made, turns([10, 10], 1), "the seed says the order");
        assert_ne!(made, turns([10, 10], 2));
        let uneven = turns([10, 5], 1);
        let count = |side| uneven.iter().filter(|next| next.side == side).count();
        assert_eq!((count(0), count(1)), (10, 5));
    }

    fn named(on: Option<&str>, base: &str, new: &str) -> Result<[String; 2], String> {
        let arguments = arguments::Ab {
            base: base.to_owned(),
            new: new.to_owned(),
            filters: Vec::new(),
            on: on.map(str::to_owned),
            effort: arguments::Effort::default(),
            conditions: arguments::Conditions::default(),
            output: None,
            judging: arguments::Judging::default(),
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
