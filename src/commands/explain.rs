// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `explain`: a metric in, its parts and the residual out.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use super::arguments::{spec, Choice, Printed};
use super::folder::named;
use super::input::{path_or_latest, read_run};
use super::output::{page, print, style};
use super::{reference as published, Failure, Outcome};
use crate::files::reference::{self, Figure, Reference};
use crate::judge::explain::{self, Composition, CostPart, ExplainKey, Explanation, Measured};
use crate::judge::ranking::Ranking;
use crate::report::explain::Origin;
use crate::stream::filter;
use crate::stream::run::{Fact, Run};
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The metric, or several: the start of their ids, or a glob
    #[arg(value_name = "ID")]
    pub id: String,

    /// A saved run, a file of another tool, `-` for standard input, or a published dataset such as
    /// reference:composite/2007/composite [default: the latest complete run of --on]
    pub file: Option<PathBuf>,

    /// A saved run of linux-vm or linux-kernel with the same kernel, which has further parts of a
    /// metric of user mode
    pub kernel_mode: Option<PathBuf>,

    /// Of several metrics, leave out these: the start of an id or a glob; may be repeated
    #[arg(long, value_name = "FILTER")]
    pub exclude: Vec<String>,

    /// Sort several metrics by this key, the greatest first
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<ExplainKey>,

    /// Show only the first N of several metrics
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub top: Option<usize>,

    /// Use the latest run of this target [default: linux]
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub on: Option<Spec>,

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
    let dataset = arguments
        .file
        .as_deref()
        .filter(|_| arguments.on.is_none())
        .and_then(published::named);
    let explained = if let Some(reference) = dataset {
        if arguments.kernel_mode.is_some() {
            return Err(Failure::Usage(
                "published figures have no run in kernel mode".to_owned(),
            ));
        }
        let reference = reference?;
        let dataset = reference.dataset().map_err(Failure::Usage)?;
        let suite = Reference::named(reference.suite()).and_then(|suite| suite.figures());
        let figures: Vec<Figure> = suite.map_err(Failure::Failed)?;
        let own = figures.iter().filter(|one| one.dataset == dataset.name);
        let names: Vec<String> = own.map(Figure::name).collect();
        let known = |id: &str| explain::parts(&compositions, &dataset.name, id).is_some();
        arguments.explained(&names, known, |id| {
            of_dataset(id, &reference, &dataset.name, &figures, &compositions)
        })?
    } else {
        let path = path_or_latest(arguments.file.as_deref(), arguments.on.as_ref())?;
        let source = Source::read(&path)?;
        let beside = match &arguments.kernel_mode {
            Some(path) => Some(kernel_mode(&source, Source::read(&named(path)?)?)?),
            None => None,
        };
        let beside = beside.as_ref();
        let measured = measured(&source, beside)?;
        let values = source.run.metrics.iter().map(|metric| metric.id.clone());
        let values: Vec<String> = values
            .filter(|id| measured.values.contains_key(id))
            .collect();
        let known = |id: &str| {
            let has_parts = |target| explain::parts(&compositions, target, id).is_some();
            let in_both = || source.target() == "linux" && has_parts(explain::BOTH_MODES);
            has_parts(source.target()) || beside.is_some() && in_both()
        };
        arguments.explained(&values, known, |id| {
            of_run(id, &source, beside, &measured, &compositions)
        })?
    };
    let format = arguments.printed.format();
    let text = match &explained {
        Explained::One(explanation, origin) => match format {
            ExplainFormat::Table => report::explain::table(explanation, origin, &style()),
            ExplainFormat::Json => export::json::explanation(explanation, origin),
            ExplainFormat::Md => export::markdown::explanation(explanation, origin),
        },
        Explained::Several(list, source) => match format {
            ExplainFormat::Table => {
                return page(&report::explain::list(
                    list,
                    source,
                    &arguments.ranking(),
                    &style(),
                ));
            }
            ExplainFormat::Json => export::json::explanations(list, source),
            ExplainFormat::Md => export::markdown::explanations(list, source),
        },
    };
    print(text.as_bytes())
}

/// What is shown: the page of one metric, or a list of several and their source.
enum Explained {
    One(Explanation, Origin),
    Several(Vec<Explanation>, String),
}

impl Arguments {
    fn ranking(&self) -> Ranking<ExplainKey> {
        Ranking {
            key: self.sort,
            top: self.top,
            all: false,
        }
    }

    /// Explains the metric, or those of `ids` that it selects and that have a `known` composition.
    fn explained(
        &self,
        ids: &[String],
        known: impl Fn(&str) -> bool,
        explain: impl Fn(&str) -> Result<(Explanation, Origin), Failure>,
    ) -> Result<Explained, Failure> {
        let selection = filter::Selection {
            filters: vec![self.id.clone()],
            exclude: self.exclude.clone(),
        };
        let is_id = ids.contains(&self.id);
        if !self.exclude.is_empty() {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            selection.verify(&ids).map_err(Failure::Absent)?;
        }
        let selected = ids.iter().filter(|id| selection.selects(id) && known(id));
        let selected: Vec<&String> = selected.filter(|_| !is_id).collect();
        match selected.as_slice() {
            [] => explain(&self.id).map(|(one, origin)| Explained::One(one, origin)),
            [id] => explain(id).map(|(one, origin)| Explained::One(one, origin)),
            several => {
                let all: Result<Vec<_>, Failure> = several.iter().map(|id| explain(id)).collect();
                let (all, mut origins): (Vec<Explanation>, Vec<Origin>) = all?.into_iter().unzip();
                let source = origins
                    .pop()
                    .map_or_else(String::new, |origin| origin.source);
                Ok(Explained::Several(all, source))
            }
        }
    }
}

/// The values of a run, and of the one in kernel mode beside it.
fn measured(source: &Source, beside: Option<&Source>) -> Result<Measured, Failure> {
    let mut measured = Measured::of_run(&source.run);
    if let Some(beside) = beside {
        let kernel = Measured::of_run(&beside.run);
        if kernel.unit != measured.unit {
            return Err(Failure::Usage(format!(
                "{} is in {}, {} in {}",
                source.file, measured.unit, beside.file, kernel.unit
            )));
        }
        measured.add(explain::KERNEL_MODE, kernel);
    }
    Ok(measured)
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
    measured: &Measured,
    compositions: &[Composition],
) -> Result<(Explanation, Origin), Failure> {
    let (file, run) = (&source.file, &source.run);
    let target = source.target();
    let ids = run.ids();
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
    let mut files = file.clone();
    if let Some(beside) = beside {
        files = format!("{file} and, in kernel mode, {}", beside.file);
        let on = Fact::value_in(&beside.run.host, "target");
        command = format!("{command}; {}", kernel_command(&pieces, on));
    }
    let explanation = explain::explain(id, pieces, measured).ok_or_else(|| {
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
    dataset: &str,
    figures: &[Figure],
    compositions: &[Composition],
) -> Result<(Explanation, Origin), Failure> {
    let own = |figure: &&Figure| figure.dataset == dataset;
    let names: Vec<String> = figures.iter().filter(own).map(Figure::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let pieces = pieces(compositions, dataset, id, &names)?;
    let own = figures
        .iter()
        .find(|f| f.dataset == dataset && f.name() == id);
    let about = own.map_or_else(String::new, |figure| figure.title.clone());
    let needed = figures.iter().filter(|figure| {
        let is_part = |piece: &CostPart| {
            piece.metric == figure.name()
                && piece.dataset.as_deref().unwrap_or(dataset) == figure.dataset
        };
        figure.name() == id && figure.dataset == dataset || pieces.iter().any(is_part)
    });
    let needed: Vec<Figure> = needed.cloned().collect();
    let measured = Measured::of_figures(&needed, dataset);
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
