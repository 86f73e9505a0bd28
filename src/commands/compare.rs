//! The command `compare`: whether two saved runs differ.

use std::fs;
use std::path::{Path, PathBuf};

use super::{print, saved, style, Failure, Outcome};
use crate::cli::{self, CompareFormat, FailOn};
use crate::compare::{Comparison, Conditions, Options, Verdict};
use crate::matrix::Column;
use crate::noise::Floors;
use crate::report::compare::Origin;
use crate::report::text::plain;
use crate::run::{Damage, Run};
use crate::{export, report, store};

/// Compares the runs of both sides, shows the verdicts and returns what the gate says.
pub(super) fn compare(arguments: &cli::Compare) -> Outcome {
    let base = side("base", &arguments.base, &arguments.more_base)?;
    let new = side("new", &arguments.new, &arguments.more_new)?;
    judge(&[base, new], &arguments.judging)
}

/// Compares two sides, shows the verdicts and returns what the gate says.
pub(super) fn judge(sides: &[Origin; 2], judging: &cli::Judging) -> Outcome {
    let options = Options {
        margin: judging.margin,
        conditions: if judging.across {
            Conditions::Across
        } else {
            Conditions::Alike
        },
    };
    let [base, new] = sides.each_ref().map(|side| &side.column.run);
    let floors = if judging.no_floors {
        Floors::default()
    } else {
        floors(&[base, new])
    };
    let comparison = Comparison::with_floors(base, new, options, &floors);
    let text = match judging.format {
        CompareFormat::Table => report::compare::table(&comparison, sides, &style()),
        CompareFormat::Json => export::json::comparison(&comparison, sides),
        CompareFormat::Md => export::markdown::comparison(&comparison, sides),
    };
    print(text.as_bytes())?;
    if sides.iter().any(|side| is_damaged(&side.column.run.damage)) {
        return Ok(cli::FAILED);
    }
    Ok(gate(&comparison, &judging.fail_on))
}

/// What `kernmark noise` has kept that fits one of the runs.
fn floors(runs: &[&Run]) -> Floors {
    let mut floors = Floors::default();
    let (kept, faults) = store::kept_noise();
    for fault in faults {
        eprintln!("kernmark: {}", plain(&fault));
    }
    for (path, noise) in kept {
        if runs.iter().any(|run| noise.fits(run)) {
            floors.add(&noise, path.display().to_string());
        }
    }
    floors
}

fn side(name: &str, first: &Path, more: &[PathBuf]) -> Result<Origin, Failure> {
    let paths: Vec<&Path> = std::iter::once(first)
        .chain(more.iter().map(PathBuf::as_path))
        .collect();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    for path in &paths {
        runs.push(saved(path)?);
        // Counted twice, the same replicates would look like more certainty.
        let file = fs::canonicalize(path).unwrap_or_else(|_| (*path).to_owned());
        if seen.contains(&file) {
            let path = path.display();
            let why = format!("{path} is given twice on the {name} side; name each run once");
            return Err(Failure::Usage(why));
        }
        seen.push(file);
    }
    Ok(Origin {
        files: paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        column: Column {
            name: name.to_owned(),
            run: Run::joined(runs),
        },
    })
}

fn is_damaged(damage: &Damage) -> bool {
    damage.damaged + damage.gaps + damage.truncated > 0
}

/// The exit status of the gate; the gravest of several.
fn gate(comparison: &Comparison, fail_on: &[FailOn]) -> u8 {
    let fails = |on: FailOn, verdict: Verdict| {
        fail_on.contains(&on) && comparison.count_at_gate(verdict) > 0
    };
    if fails(FailOn::Regression, Verdict::Regressed) {
        cli::REGRESSED
    } else if fails(FailOn::Inconclusive, Verdict::Inconclusive) {
        cli::INCONCLUSIVE
    } else if fails(FailOn::Incomparable, Verdict::Incomparable)
        || fails(FailOn::Missing, Verdict::Missing)
        // Nothing that was compared is nothing that passed.
        || !fail_on.is_empty() && comparison.is_empty()
    {
        cli::INCOMPARABLE
    } else {
        cli::OK
    }
}
