// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `explain`: a metric in, its parts and the residual out.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::arguments::{spec, Choice, Printed};
use super::folder::named;
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

    /// A saved run of linux-vm or linux-kernel with the same kernel, which has further parts of a
    /// metric of user mode
    pub kernel_mode: Option<PathBuf>,

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
    let dataset = arguments.file.as_deref().and_then(published::named);
    let (explanation, origin) = if let Some(reference) = dataset {
        if arguments.kernel_mode.is_some() {
            return Err(Failure::Usage(
                "published figures have no run in kernel mode".to_owned(),
            ));
        }
        of_dataset(&arguments.id, &reference?, &compositions)?
    } else {
        let path = path_or_latest(arguments.file.as_deref(), &arguments.on)?;
        let source = Source::read(&path)?;
        let beside = match &arguments.kernel_mode {
            Some(path) => Some(kernel_mode(&source, Source::read(&named(path)?)?)?),
            None => None,
        };
        of_run(&arguments.id, &source, beside.as_ref(), &compositions)?
    };
    let text = match arguments.printed.format() {
        ExplainFormat::Table => report::explain::table(&explanation, &origin, &style()),
        ExplainFormat::Json => export::json::explanation(&explanation, &origin),
        ExplainFormat::Md => export::markdown::explanation(&explanation, &origin),
    };
    print(text.as_bytes())
}

/// A saved run, and where it comes from.
struct Source {
    file: String,
    run: Run,
}

impl Source {
    fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Source {
            file: path.display().to_string(),
            run: read_run(path)?,
        })
    }

    /// The name of its target in the compositions.
    fn target(&self) -> &str {
        let port = self.run.sessions.first();
        let port = port.map_or("", |session| &session.port);
        reference::target(port).unwrap_or(port)
    }

    /// The kernel that it measured.
    fn kernel(&self) -> &str {
        let facts = self.run.sessions.first().map(|session| &session.facts[..]);
        Fact::value_in(facts.unwrap_or_default(), "kernel").unwrap_or("unknown")
    }
}

/// Checks that a run can stand beside one in user mode.
///
/// # Errors
///
/// One of them was made in another mode, or they measured two kernels.
fn kernel_mode(user: &Source, kernel: Source) -> Result<Source, Failure> {
    for (source, wanted) in [(user, "linux"), (&kernel, explain::KERNEL_MODE)] {
        if source.target() != wanted {
            return Err(Failure::Usage(format!(
                "{} is a run of {}: of two runs, the first is in user mode (linux) and the second \
                 in kernel mode (linux-vm or linux-kernel)",
                source.file,
                source.target()
            )));
        }
    }
    if user.kernel() != kernel.kernel() {
        return Err(Failure::Usage(format!(
            "the runs measured two kernels: {} has {}, {} has {}",
            user.file,
            user.kernel(),
            kernel.file,
            kernel.kernel()
        )));
    }
    Ok(kernel)
}

fn of_run(
    id: &str,
    source: &Source,
    beside: Option<&Source>,
    compositions: &[Composition],
) -> Result<(Explanation, Origin), Failure> {
    let (file, run) = (&source.file, &source.run);
    let target = source.target();
    let measured = run.metrics.iter().map(|metric| metric.id.as_str());
    let listed = run.catalog.iter().map(|entry| entry.metric.as_str());
    let ids: Vec<&str> = measured.chain(listed).collect();
    let of_both = explain::parts(compositions, explain::BOTH_MODES, id);
    let of_both = of_both.filter(|_| target == "linux");
    let pieces = match (of_both, beside) {
        (Some(pieces), Some(_)) => pieces,
        (Some(_), None) if explain::parts(compositions, target, id).is_none() => {
            return Err(Failure::Usage(format!(
                "the parts of `{id}` are measured in kernel mode: name a run of linux-vm or \
                 linux-kernel with the same kernel after {file}"
            )));
        }
        _ => pieces(compositions, target, id, &ids)?,
    };
    let mut command = command(id, &pieces, Fact::value_in(&run.host, "target"));
    let mut measured = Measured::of_run(run);
    let mut files = file.clone();
    if let Some(beside) = beside {
        let kernel = Measured::of_run(&beside.run);
        if kernel.unit != measured.unit {
            return Err(Failure::Usage(format!(
                "{file} is in {}, {} in {}",
                measured.unit, beside.file, kernel.unit
            )));
        }
        measured.add(explain::KERNEL_MODE, kernel);
        files = format!("{file} and, in kernel mode, {}", beside.file);
        let on = Fact::value_in(&beside.run.host, "target");
        command = format!("{command}; {}", kernel_command(&pieces, on));
    }
    let explanation = explain::explain(id, pieces, &measured).ok_or_else(|| {
        Failure::Failed(match measured.absent.get(id) {
            Some(reason) => format!("{file} has no value of `{id}`: {reason}"),
            None => format!("{file} does not contain `{id}`; {command} measures it and its parts"),
        })
    })?;
    let between = run.catalog.iter().find(|entry| entry.metric == id);
    let origin = Origin {
        source: files,
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

/// The command that measures a metric and its parts in the same run.
fn command(id: &str, pieces: &[CostPart], target: Option<&str>) -> String {
    let own = pieces.iter().filter(|piece| piece.dataset.is_none());
    let own = own.map(|piece| piece.metric.as_str());
    run_command([id].into_iter().chain(own), target)
}

/// The command that measures the parts of a run in kernel mode.
fn kernel_command(pieces: &[CostPart], target: Option<&str>) -> String {
    let others = pieces.iter().filter(|piece| piece.dataset.is_some());
    let others = others.map(|piece| piece.metric.as_str());
    run_command(others, target.or(Some(explain::KERNEL_MODE)))
}

fn run_command<'a>(metrics: impl Iterator<Item = &'a str>, target: Option<&str>) -> String {
    let mut words = vec!["kernmark run".to_owned()];
    if let Some(target) = target.filter(|target| *target != "linux") {
        words.push(format!("--on '{target}'"));
    }
    for metric in [crate::stream::run::CLOCK].into_iter().chain(metrics) {
        if !words.iter().any(|word| word == metric) {
            words.push(metric.to_owned());
        }
    }
    words.join(" ")
}
