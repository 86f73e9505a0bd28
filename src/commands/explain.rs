// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `explain`: what a metric's cost is made of.

use super::{chosen, print, reference as published, saved, style, Failure, Outcome};
use crate::commands::arguments::{self, ExplainFormat};
use crate::files::reference::{self, Figure, Reference};
use crate::judge::explain::{self, Composition, CostPart, Explanation, Measured};
use crate::report::explain::Origin;
use crate::stream::filter;
use crate::stream::run::{Fact, Run};
use crate::{export, report};

/// Shows the parts of a metric's cost and the residual.
pub(super) fn explain(arguments: &arguments::Explain) -> Outcome {
    let compositions = explain::compositions().map_err(Failure::Failed)?;
    let named = arguments.file.as_deref().and_then(published::named);
    let (explanation, origin) = if let Some(reference) = named {
        of_dataset(&arguments.id, &reference?, &compositions)?
    } else {
        let path = chosen(arguments.file.as_deref(), &arguments.on)?;
        let run = saved(&path)?;
        of_run(
            &arguments.id,
            &run,
            path.display().to_string(),
            &compositions,
        )?
    };
    let text = match arguments.format {
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
            Some(reason) => format!("{file} has no number of `{id}`: {reason}"),
            None => format!("{file} has not `{id}`; {command} measures it and its parts"),
        })
    })?;
    let between = run.catalog.iter().find(|entry| entry.metric == id);
    let origin = Origin {
        of: file,
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
        of: reference.to_string(),
        about,
        command: None,
    };
    let none = || Failure::Failed(format!("{reference} has no figure of `{id}`"));
    Ok((explanation.ok_or_else(none)?, origin))
}

/// The parts of a metric, or why there are none; `ids` are all that there are.
fn pieces(
    compositions: &[Composition],
    target: &str,
    id: &str,
    ids: &[&str],
) -> Result<Vec<CostPart>, Failure> {
    if let Some(pieces) = explain::parts(compositions, target, id) {
        return Ok(pieces);
    }
    let what = if ids.contains(&id) {
        format!("`{id}` has no composition")
    } else {
        format!(
            "nothing here is called `{id}`{}",
            filter::suggestion(id, ids)
        )
    };
    let known = explain::patterns(compositions, target);
    let known = match known.len() {
        0 => format!("nothing measured by {target} has one"),
        _ => format!("these have one: {}", known.join(", ")),
    };
    Err(Failure::Usage(format!("{what}; {known}")))
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
