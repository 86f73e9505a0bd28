// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `explain`: a metric in, its parts and the residual out.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::arguments::{spec, Choice, Printed};
use super::input::{path_or_latest, read_run};
use super::output::{print, style};
use super::{reference as published, Failure, Outcome};
use crate::files::reference::{self, Figure, Reference};
use crate::judge::explain::{self, Composition, CostPart, Explanation, Measured};
use crate::report::explain::Origin;
use crate::stream::filter;
use crate::stream::run::{Fact, Run};
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The metric
    #[arg(value_name = "ID")]
    pub id: String,

    /// A saved run, a file of another tool, `-` for standard input, or a published dataset such as
    /// reference:composite/2007/composite [default: the latest complete run of --on]
    pub file: Option<PathBuf>,

    /// Use the latest run of this target
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", conflicts_with = "file")]
    pub on: Spec,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<ExplainFormat>,
}

impl Choice for ExplainFormat {
    const JSON: Self = ExplainFormat::Json;
}

/// The formats of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Markdown
    Md,
}

/// Prints the parts of a metric's cost and the residual.
pub(super) fn explain(arguments: &Arguments) -> Outcome {
    let compositions = explain::compositions().map_err(Failure::Failed)?;
    let named = arguments.file.as_deref().and_then(published::named);
    let (explanation, origin) = if let Some(reference) = named {
        of_dataset(&arguments.id, &reference?, &compositions)?
    } else {
        let path = path_or_latest(arguments.file.as_deref(), &arguments.on)?;
        let run = read_run(&path)?;
        of_run(
            &arguments.id,
            &run,
            path.display().to_string(),
            &compositions,
        )?
    };
    let text = match arguments.printed.format() {
        ExplainFormat::Table => report::explain::table(&explanation, &origin, &style()),
        ExplainFormat::Json => export::json::explanation(&explanation, &origin),
        ExplainFormat::Md => export::markdown::explanation(&explanation, &origin),
    };
    print(text.as_bytes())
}

fn of_run(
    id: &str,
    run: &Run,
    file: String,
    compositions: &[Composition],
) -> Result<(Explanation, Origin), Failure> {
    let port = run.sessions.first().map_or("", |session| &session.port);
    let target = reference::target(port).unwrap_or(port);
    let measured = run.metrics.iter().map(|metric| metric.id.as_str());
    let listed = run.catalog.iter().map(|entry| entry.metric.as_str());
    let ids: Vec<&str> = measured.chain(listed).collect();
    let pieces = pieces(compositions, target, id, &ids)?;
    let command = command(id, &pieces, Fact::value_in(&run.host, "target"));
    let measured = Measured::of_run(run);
    let explanation = explain::explain(id, pieces, &measured).ok_or_else(|| {
        Failure::Failed(match measured.absent.get(id) {
            Some(reason) => format!("{file} has no value of `{id}`: {reason}"),
            None => format!("{file} does not contain `{id}`; {command} measures it and its parts"),
        })
    })?;
    let between = run.catalog.iter().find(|entry| entry.metric == id);
    let origin = Origin {
        source: file,
        about: between.map_or_else(String::new, |entry| entry.between.clone()),
        command: Some(command),
    };
    Ok((explanation, origin))
}

fn of_dataset(
    id: &str,
    reference: &Reference,
    compositions: &[Composition],
) -> Result<(Explanation, Origin), Failure> {
    let dataset = reference.dataset().map_err(Failure::Usage)?;
    let suite = Reference::named(reference.suite()).and_then(|suite| suite.figures());
    let mut figures: Vec<Figure> = suite.map_err(Failure::Failed)?;
    let own = |figure: &&Figure| figure.dataset == dataset.name;
    let names: Vec<String> = figures.iter().filter(own).map(Figure::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let pieces = pieces(compositions, &dataset.name, id, &names)?;
    let own = figures
        .iter()
        .find(|f| f.dataset == dataset.name && f.name() == id);
    let about = own.map_or_else(String::new, |figure| figure.title.clone());
    figures.retain(|figure| {
        let is_part = |piece: &CostPart| {
            piece.metric == figure.name()
                && *piece.dataset.as_ref().unwrap_or(&dataset.name) == figure.dataset
        };
        figure.name() == id && figure.dataset == dataset.name || pieces.iter().any(is_part)
    });
    let measured = Measured::of_figures(&figures, &dataset.name);
    let explanation = explain::explain(id, pieces, &measured);
    let origin = Origin {
        source: reference.to_string(),
        about,
        command: None,
    };
    let none = || Failure::Failed(format!("{reference} has no result for `{id}`"));
    Ok((explanation.ok_or_else(none)?, origin))
}

/// The parts of a metric. `ids` are all metrics of the run or dataset.
///
/// # Errors
///
/// There is no such metric, or its composition is not known.
fn pieces(
    compositions: &[Composition],
    target: &str,
    id: &str,
    ids: &[&str],
) -> Result<Vec<CostPart>, Failure> {
    if let Some(pieces) = explain::parts(compositions, target, id) {
        return Ok(pieces);
    }
    let known = explain::patterns(compositions, target);
    Err(Failure::Usage(if known.is_empty() {
        format!("no metric of {target} has a known composition")
    } else if ids.contains(&id) {
        format!(
            "the composition of `{id}` is not known; these have one: {}",
            known.join(", ")
        )
    } else {
        format!(
            "there is no metric `{id}`{}",
            filter::suggestion(id, &[ids, &known].concat())
        )
    }))
}

/// The command that measures a metric and its parts.
fn command(id: &str, pieces: &[CostPart], target: Option<&str>) -> String {
    let mut words = vec!["kernmark run".to_owned()];
    if let Some(target) = target.filter(|target| *target != "linux") {
        words.push(format!("--on '{target}'"));
    }
    let parts = pieces.iter().map(|piece| piece.metric.as_str());
    for metric in [crate::stream::run::CLOCK, id].into_iter().chain(parts) {
        if !words.iter().any(|word| word == metric) {
            words.push(metric.to_owned());
        }
    }
    words.join(" ")
}
