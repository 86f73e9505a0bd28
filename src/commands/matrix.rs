// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `matrix`: measures several targets and variants and shows them side by side.

use clap::Args;

use super::arguments::{Conditions, Effort, Format, PageFormat, Printed, Selection, ON_LONG};
use super::output::{page, print, style};
use super::run::{self, measure_target, selected};
use super::saving::MeasuredRun;
use super::target::resolve;
use super::{exit, interrupt, Failure, Outcome};
use crate::judge::matrix::{Column, MatrixKey};
use crate::target::spec::{Spec, DEFAULT};
use crate::{export, report};

/// The arguments of `matrix`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What is measured and shown.
    #[command(flatten)]
    pub selection: Selection<MatrixKey>,

    /// What to measure; repeat for one column each [default: linux]
    #[arg(long, value_name = "SPEC", long_help = ON_LONG)]
    pub on: Vec<String>,

    /// A variant of the target (`default`, `canaries+O3`) or an option (`key=value`); repeat for
    /// one column each
    #[arg(long = "variant", value_name = "VARIANT")]
    pub variants: Vec<String>,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// The conditions.
    #[command(flatten)]
    pub conditions: Conditions,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<PageFormat>,
}

/// A column to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    name: String,
    spec: Spec,
}

/// Measures each column, saves its run, and shows them all.
pub(super) fn matrix(arguments: &Arguments) -> Outcome {
    let wanted = columns(&arguments.on, &arguments.variants).map_err(Failure::Usage)?;
    let runs: Vec<run::Arguments> = wanted
        .iter()
        .map(|column| run::Arguments {
            filters: arguments.selection.filters.clone(),
            exclude: arguments.selection.exclude.clone(),
            on: column.spec.clone(),
            effort: arguments.effort.clone(),
            conditions: arguments.conditions.clone(),
            ..run::Arguments::default()
        })
        .collect();
    let interrupt = interrupt()?;
    // Check all columns first: a typo in the last one must not cost the time of the others.
    for run in &runs {
        run.check(&resolve(&run.on, &interrupt)?)?;
    }
    let selection = arguments.selection.metrics();
    let mut columns = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut status = exit::OK;
    let mut failure = None;
    for (run, Wanted { name, spec }) in runs.iter().zip(wanted) {
        let made = match measure_target(run, &interrupt) {
            Ok(Some(made)) => made,
            Ok(None) => {
                status = exit::INTERRUPTED;
                break;
            }
            // Show the columns that were measured.
            Err(Failure::Failed(why)) if !columns.is_empty() => {
                failure = Some(Failure::Failed(format!("{spec}: {why}")));
                break;
            }
            Err(other) => return Err(other),
        };
        report_path(&made);
        ids.extend(made.run.ids().into_iter().map(str::to_owned));
        status = status.max(made.exit_status());
        columns.push(Column {
            name,
            run: selected(&made, &selection),
        });
        if status == exit::INTERRUPTED {
            break;
        }
    }
    if !columns.is_empty() {
        show(&columns, arguments)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    // A target that takes no orders need not have what another one has.
    if status != exit::INTERRUPTED {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        selection.verify(&ids).map_err(Failure::Absent)?;
    }
    Ok(status)
}

fn show(columns: &[Column], arguments: &Arguments) -> Outcome {
    let text = match arguments.printed.format() {
        PageFormat::Own(Format::Table) => {
            let ranking = arguments.selection.ranking();
            return page(&report::matrix::table_of(columns, &ranking, &style()));
        }
        PageFormat::Own(Format::Json) => export::json::matrix(columns),
        PageFormat::Own(Format::Csv) => export::csv::matrix(columns),
        PageFormat::Own(Format::Md) => export::markdown::matrix(columns),
        PageFormat::Html => report::html::matrix::page(columns).render(),
    };
    print(text.as_bytes())
}

fn report_path(made: &MeasuredRun) {
    if let Some(path) = &made.path {
        eprintln!("saved: {}", path.display());
    }
}

/// Every variant of every target. The name of a column is what distinguishes it.
fn columns(on: &[String], variants: &[String]) -> Result<Vec<Wanted>, String> {
    let linux = ["linux".to_owned()];
    let default = [DEFAULT.to_owned()];
    let on = if on.is_empty() { &linux } else { on };
    let several = on.len() > 1;
    let mut wanted = Vec::new();
    for target in on {
        for variant in if variants.is_empty() {
            &default
        } else {
            variants
        } {
            let name = match (several, variants.is_empty()) {
                (_, true) => target.clone(),
                (true, false) => format!("{target} {variant}"),
                (false, false) => variant.clone(),
            };
            let spec = with(target, variant)?;
            wanted.push(Wanted { name, spec });
        }
    }
    if wanted.len() < 2 {
        return Err(
            "a matrix needs at least two columns: give several targets (--on) or variants (--variant)"
                .to_owned(),
        );
    }
    Ok(wanted)
}

/// The target with a variant (`canaries`) or an option (`key=value`).
pub(super) fn with(target: &str, variant: &str) -> Result<Spec, String> {
    let spec: Spec = target.parse()?;
    if variant == DEFAULT {
        return Ok(spec);
    }
    if !matches!(spec, Spec::Described(_)) {
        return Err(format!("{spec} has no variants other than `{DEFAULT}`"));
    }
    let option = if variant.contains('=') {
        variant.to_owned()
    } else {
        format!("variant={variant}")
    };
    format!("{target},{option}").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(on: &[&str], variants: &[&str]) -> Result<Vec<(String, String)>, String> {
        let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let columns = columns(&owned(on), &owned(variants))?;
        Ok(columns
            .into_iter()
            .map(|column| (column.name, column.spec.to_string()))
            .collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|&(name, spec)| (name.to_owned(), spec.to_owned()))
            .collect()
    }

    #[test]
    fn columns_are_named_by_what_distinguishes_them() {
        assert_eq!(
            named(&["freertos"], &["default", "canaries+O3"]).unwrap(),
            pairs(&[
                ("default", "freertos"),
                ("canaries+O3", "freertos,variant=O3+canaries"),
            ])
        );
        assert_eq!(
            named(&["linux", "freertos:m3"], &[]).unwrap(),
            pairs(&[("linux", "linux"), ("freertos:m3", "freertos:m3")])
        );
        assert_eq!(
            named(&["a:x", "b"], &["default", "O3"]).unwrap(),
            pairs(&[
                ("a:x default", "a:x"),
                ("a:x O3", "a:x,variant=O3"),
                ("b default", "b"),
                ("b O3", "b,variant=O3"),
            ])
        );
    }

    #[test]
    fn variants_add_to_those_of_their_target() {
        assert_eq!(
            named(&["a,variant=userspace"], &["default", "O3"]).unwrap(),
            pairs(&[
                ("default", "a,variant=userspace"),
                ("O3", "a,variant=O3+userspace"),
            ])
        );
    }

    #[test]
    fn options_make_columns_too() {
        assert_eq!(
            named(&["a"], &["default", "baud=9600"]).unwrap()[1].1,
            "a,baud=9600"
        );
    }

    #[test]
    fn fewer_than_two_valid_columns_are_rejected() {
        for (on, variants) in [
            (&["freertos"][..], &[][..]),
            (&[], &[]),
            (&[], &["default", "O3"]),
            (&["exec:true"], &["default", "O3"]),
            (&["freertos"], &["default", "no such thing"]),
        ] {
            assert!(named(on, variants).is_err(), "{on:?} {variants:?}");
        }
    }
}
