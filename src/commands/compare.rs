// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `compare`: whether two saved runs differ.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

use super::{budget, print, reference as published, saved, style, Failure, Outcome};
use crate::base::number::plural;
use crate::base::text::plain;
use crate::commands::arguments::{self, CompareFormat, FailOn};
use crate::files::reference::{self, Agreement, Figure, Pair};
use crate::files::store;
use crate::judge::compare::{Comparison, Conditions, Options, Verdict};
use crate::judge::floors::Floors;
use crate::judge::gate::{Gate, Objection, Ruling};
use crate::judge::matrix::Column;
use crate::judge::noise::Noise;
use crate::judge::quantity::{Margins, Quantity};
use crate::report::compare::Origin;
use crate::stream::run::{Damage, Run};
use crate::{export, report};

/// Compares the runs of both sides, shows the verdicts and returns what the gate says.
pub(super) fn compare(arguments: &arguments::Compare) -> Outcome {
    let is_published = |path: &Path| published::named(path).is_some();
    // Figures are paired by their metrics, and a budget judges samples.
    let any_published = is_published(&arguments.base) || is_published(&arguments.new);
    let brief = |side: Side| {
        if any_published {
            side
        } else {
            side.without_samples()
        }
    };
    let mut base = brief(side("base", &arguments.base, &arguments.more_base)?);
    let mut new = side("new", &arguments.new, &arguments.more_new)?;
    if arguments.judging.budget.is_none() {
        new = brief(new);
    }
    let pairs = match (&base.figures, &new.figures) {
        (Some(figures), None) => pair(figures, &mut base.origin, &mut new.origin)?,
        (None, Some(figures)) => pair(figures, &mut new.origin, &mut base.origin)?,
        _ => Vec::new(),
    };
    let sides = [base.origin, new.origin];
    let mut comparison = compared(&sides, &arguments.judging);
    comparison.use_published_names(&pairs);
    match (&base.figures, &new.figures) {
        (Some(from), Some(to)) => {
            comparison.add_improvements();
            let changes = reference::changes().map_err(Failure::Failed)?;
            let agreement = Agreement::of(&changes, from, to);
            comparison.published.extend(agreement.sentence());
        }
        (Some(figures), None) | (None, Some(figures)) => comparison.published.push(format!(
            "{} of {} are measured by the run",
            pairs.len(),
            plural(figures.len() as u64, "published figure"),
        )),
        (None, None) => {}
    }
    show(&comparison, &sides, &arguments.judging)
}

/// Compares two sides, shows the verdicts and returns what the gate says.
pub(super) fn judge(sides: &[Origin; 2], judging: &arguments::Judging) -> Outcome {
    show(&compared(sides, judging), sides, judging)
}

fn compared(sides: &[Origin; 2], judging: &arguments::Judging) -> Comparison {
    let options = Options {
        margins: margins(&judging.margin),
        conditions: if judging.across {
            Conditions::Across
        } else {
            Conditions::Alike
        },
        quantities: quantities(&judging.only).unwrap_or(Quantity::ALL.to_vec()),
    };
    let runs = sides.each_ref().map(|side| &side.column.run);
    let floors = if judging.no_floors {
        Floors::default()
    } else {
        floors(&runs)
    };
    let figures = sides.each_ref().map(Origin::figures);
    Comparison::of_figures(
        runs,
        figures.each_ref().map(AsRef::as_ref),
        &options,
        &floors,
    )
}

/// The margins that were asked for; one for everything goes before those of single quantities.
fn margins(asked: &[arguments::Margin]) -> Margins {
    let for_all = asked.iter().rfind(|margin| margin.quantity.is_none());
    let mut margins = for_all.map_or(Margins::default(), |margin| Margins::all(margin.share));
    for margin in asked {
        if let Some(quantity) = margin.quantity {
            margins.set(quantity, margin.share);
        }
    }
    margins
}

/// The quantities that were asked for, each once, in order; `None` without any.
fn quantities(only: &[Quantity]) -> Option<Vec<Quantity>> {
    let asked = Quantity::ALL.into_iter().filter(|one| only.contains(one));
    let asked: Vec<Quantity> = asked.collect();
    (!asked.is_empty()).then_some(asked)
}

/// The resolution of a gate that is asked for no other, as a share.
const RESOLUTION: f64 = 0.1;

/// What the gate does not let through.
fn gate(judging: &arguments::Judging) -> Gate {
    Gate {
        fail_on: judging.fail_on.iter().map(|on| refused(*on)).collect(),
        quantities: quantities(&judging.only).unwrap_or(vec![Quantity::P50]),
        judges_idioms: judging.idioms,
        resolution: judging.resolution.unwrap_or_else(|| {
            let margin = margins(&judging.margin).of(Quantity::P50);
            RESOLUTION.max(2.0 * margin)
        }),
        speed: judging.accept_speed,
    }
}

/// The exit status of an objection.
fn status(objection: &Objection) -> u8 {
    match objection {
        Objection::Regressed(_) => arguments::REGRESSED,
        Objection::Inconclusive(_) | Objection::Speed(_) => arguments::INCONCLUSIVE,
        Objection::Incomparable(_)
        | Objection::Missing(_)
        | Objection::Nothing
        | Objection::LowResolution { .. } => arguments::INCOMPARABLE,
    }
}

fn show(comparison: &Comparison, sides: &[Origin; 2], judging: &arguments::Judging) -> Outcome {
    let judgement = budget::judge(judging.budget.as_deref(), &sides[1].column.run)?;
    let gate = gate(judging);
    let ruling = gate.rule(comparison);
    let text = match judging.format {
        CompareFormat::Table => {
            let budget = judgement.as_ref();
            let budget = budget.map(|judgement| report::budget::table(judgement, &style()));
            report::compare::table(comparison, sides, &ruling, &style())
                + &budget.unwrap_or_default()
        }
        CompareFormat::Json => match &judgement {
            Some(judgement) => {
                export::json::comparison_within(comparison, sides, &ruling, judgement)
            }
            None => export::json::comparison(comparison, sides, &ruling),
        },
        CompareFormat::Md => {
            let budget = judgement.as_ref().map(export::markdown::budget);
            export::markdown::comparison(comparison, sides, &ruling) + &budget.unwrap_or_default()
        }
        CompareFormat::Junit => {
            export::junit::comparison(comparison, sides, &gate, judgement.as_ref())
        }
    };
    if let Some(path) = &judging.summary {
        let budget = judgement.as_ref().map(export::markdown::budget);
        let budget = budget.unwrap_or_default();
        summarise(path, comparison, sides, &ruling, &budget)?;
    }
    print(text.as_bytes())?;
    if sides.iter().any(|side| is_damaged(&side.column.run.damage)) {
        return Ok(arguments::FAILED);
    }
    let gate = ruling.objections.first().map_or(arguments::OK, status);
    Ok(budget::graver(gate, judgement.as_ref()))
}

/// What `kernmark noise` has kept that fits one of the runs.
fn floors(runs: &[&Run]) -> Floors {
    let mut floors = Floors::default();
    for (path, text) in store::noise_files() {
        let path = path.display().to_string();
        match text.and_then(|text| Noise::parse(&text)) {
            Ok(noise) if runs.iter().any(|run| noise.fits(run)) => floors.add(&noise.floors, path),
            Ok(_) => {}
            Err(why) => eprintln!(
                "kernmark: cannot use the floors in {}: {}",
                plain(&path),
                plain(&why)
            ),
        }
    }
    floors
}

/// One side of the comparison.
struct Side {
    origin: Origin,
    /// What it is made of where that is published figures.
    figures: Option<Vec<Figure>>,
}

impl Side {
    fn without_samples(self) -> Self {
        Side {
            origin: self.origin.without_samples(),
            ..self
        }
    }
}

fn side(name: &str, first: &Path, more: &[PathBuf]) -> Result<Side, Failure> {
    let paths: Vec<&Path> = std::iter::once(first)
        .chain(more.iter().map(PathBuf::as_path))
        .collect();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut figures: Option<Vec<Figure>> = None;
    for path in &paths {
        if let Some(reference) = published::named(path) {
            let reference = reference?;
            if paths.len() > 1 {
                let why = format!("{reference} is the whole of a side; nothing is added to it");
                return Err(Failure::Usage(why));
            }
            runs.push(reference.run().map_err(Failure::Usage)?);
            figures = Some(reference.figures().map_err(Failure::Failed)?);
        } else {
            runs.push(saved(path)?);
        }
        // Counted twice, the same replicates would look like more certainty.
        let file = fs::canonicalize(path).unwrap_or_else(|_| (*path).to_owned());
        if seen.contains(&file) {
            let path = path.display();
            let why = format!("{path} is given twice on the {name} side; name each run once");
            return Err(Failure::Usage(why));
        }
        seen.push(file);
    }
    let files = paths.iter().map(|path| path.display().to_string());
    let column = Column {
        name: name.to_owned(),
        run: Run::joined(runs),
    };
    let origin = Origin::of(files.collect(), column);
    Ok(Side { origin, figures })
}

/// Puts the metrics of a run beside the published figures that measure the nearest thing: both
/// runs have these pairs alone, under one id each.
fn pair(
    figures: &[Figure],
    published: &mut Origin,
    measured: &mut Origin,
) -> Result<Vec<Pair>, Failure> {
    let counterparts = reference::counterparts().map_err(Failure::Failed)?;
    let (there, here) = (&mut published.column.run, &mut measured.column.run);
    let pairs = reference::pairs(figures, there, here, &counterparts);
    *there = reference::paired(mem::take(there), &pairs, |pair| &pair.id);
    *here = reference::paired(mem::take(here), &pairs, |pair| &pair.metric);
    Ok(pairs)
}

fn is_damaged(damage: &Damage) -> bool {
    damage.damaged + damage.gaps + damage.truncated > 0
}

/// The most that GitHub shows of a step's summary, in bytes.
const MOST_SUMMARY: u64 = 1024 * 1024;

/// Appends the comparison, and the budget below it, to a file that stays below [`MOST_SUMMARY`].
fn summarise(
    path: &Path,
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    budget: &str,
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::Failed(format!("cannot append to {}: {error}", path.display()));
    let open = OpenOptions::new().append(true).create(true).open(path);
    let mut file = open.map_err(failed)?;
    let there = file.metadata().map_err(failed)?.len();
    let head = format!("## kernmark: {}\n\n", report::compare::tally(comparison));
    let room = MOST_SUMMARY
        .saturating_sub(there)
        .saturating_sub((head.len() + budget.len() + 1) as u64);
    let Some(page) = export::markdown::brief_comparison(comparison, sides, ruling, room as usize)
    else {
        eprintln!(
            "kernmark: {} has no room for the summary; it may hold 1 MiB",
            path.display()
        );
        return Ok(());
    };
    file.write_all(format!("{head}{page}{budget}\n").as_bytes())
        .map_err(failed)
}

/// The verdict that a gate does not let through.
fn refused(on: FailOn) -> Verdict {
    match on {
        FailOn::Regression => Verdict::Regressed,
        FailOn::Inconclusive => Verdict::Inconclusive,
        FailOn::Incomparable => Verdict::Incomparable,
        FailOn::Missing => Verdict::Missing,
    }
}
