// SPDX-License-Identifier: MIT OR Apache-2.0

//! JSON documents.
//!
//! In: runs, comparisons, catalogs, plans, datasets and explanations. Out: a document with one element per
//! line, which ends with a line end. `doc/run.schema.json`, `doc/compare.schema.json`,
//! `doc/matrix.schema.json` and `doc/runs.schema.json` describe the documents. An unavailable value is `null`, never 0.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::{json, Map, Value};

use super::{in_unit, status, ABSENT};
use crate::base::text::steers;
use crate::files::reference::{Dataset, Figure, Published};
use crate::files::runs::{short_names, SavedRun};
use crate::judge::budget::{Finding, Judgement};
use crate::judge::compare::{
    Basis, Compared, Comparison, Conditions, Judged, Side, Speed, Verdict,
};
use crate::judge::conditions::ConditionKind;
use crate::judge::coverage::Benchmark;
use crate::judge::explain::{ClockAccounting, Explanation, ResidualVerdict};
use crate::judge::gate::Ruling;
use crate::judge::interference::{disturbances, Disturbance};
use crate::judge::matrix::{Cell, Column, Matrix};
use crate::judge::plan::{Need, Plan};
use crate::judge::quantity::Quantity;
use crate::judge::summary::{summarise, Summary};
use crate::judge::why::{self, Part, Shift, Unknown};
use crate::report::compare::Origin;
use crate::report::explain;
use crate::stream::counted::Counted;
use crate::stream::paths::{Function, MetricPaths, Mode};
use crate::stream::run::{Clock, Damage, Entry, Fact, Metric, Proof, Replicate, Run};

/// The version of the document format.
const SCHEMA: u32 = 2;

/// A run: the host, the target, all metrics, and damage to the stream.
#[must_use]
pub fn run(run: &Run) -> String {
    document(&run_parts(run))
}

/// A run and the judgement of its budget.
#[must_use]
pub fn run_with_budget(run: &Run, judgement: &Judgement) -> String {
    let mut parts = run_parts(run);
    parts.push(("budget", budget(judgement)));
    document(&parts)
}

fn run_parts(run: &Run) -> Vec<(&'static str, String)> {
    let summaries = summarise(run);
    let known = run.metrics.iter().map(|metric| (&metric.id, metric));
    let known: HashMap<&String, &Metric> = known.collect();
    let metrics = summaries.iter().map(|summary| {
        let metric = known.get(&summary.id).copied();
        line(&MetricOut::of(run, summary, metric))
    });
    vec![
        ("host", line(&facts(&run.host))),
        ("before", line(&counted(&run.before))),
        ("target", line(&target(run))),
        ("metrics", list(metrics)),
        ("functions", functions(&run.functions)),
        (
            "disturbances",
            list(disturbances(run).iter().map(disturbance)),
        ),
        ("damage", line(&damage(&run.damage))),
    ]
}

/// The functions that paths name by their place in this list.
fn functions(functions: &[Function]) -> String {
    let one = |function: &Function| {
        let Function {
            name,
            program,
            file,
        } = function;
        line(&json!({ "name": name, "program": program, "file": file }))
    };
    list(functions.iter().map(one))
}

/// What the samples of a metric executed on a target. Figures are of a whole sample.
#[must_use]
pub fn followed(metric: &str, target: &str, of: &why::Side) -> String {
    let others = Some(&of.paths.others).filter(|others| others.samples > 0);
    document(&[
        ("metric", line(&metric)),
        ("target", line(&target)),
        ("batch", line(&of.batch)),
        ("functions", functions(of.functions)),
        (
            "modes",
            list(of.paths.modes.iter().map(|one| line(&mode(one)))),
        ),
        ("others", line(&others.map(mode))),
    ])
}

/// What changed in a metric from one target to another.
#[must_use]
pub fn difference(metric: &str, [base, new]: [&str; 2], of: &why::Difference) -> String {
    document(&[
        ("metric", line(&metric)),
        ("base", line(&base)),
        ("new", line(&new)),
        ("why", line(&why(&Ok(of.clone())))),
    ])
}

/// The paths of a metric. Figures are of a whole sample.
fn paths(of: &MetricPaths) -> Value {
    let (paths, reason) = match &of.paths {
        Ok(paths) => (Some(paths), None),
        Err(reason) => (None, Some(reason)),
    };
    let modes = paths.map(|paths| paths.modes.iter().map(mode).collect::<Vec<Value>>());
    let others = paths.map(|paths| &paths.others);
    json!({
        "reason": reason,
        "session": of.session,
        "batch": of.batch,
        "modes": modes,
        "others": others.filter(|others| others.samples > 0).map(mode),
    })
}

fn mode(mode: &Mode) -> Value {
    let counts = mode.counts.iter();
    let counts: Map<String, Value> = counts
        .map(|(count, number)| (count.name().to_owned(), Value::from(*number)))
        .collect();
    let functions: Vec<Value> = mode
        .functions
        .iter()
        .map(|(function, instructions)| {
            let repeated = mode.repeated.get(function).unwrap_or(&0);
            json!({ "function": function, "instructions": instructions, "repeated": repeated })
        })
        .collect();
    json!({
        "samples": mode.samples,
        "idle": mode.idle,
        "instructions": mode.instructions(),
        "repeated": mode.repetitions(),
        "counts": counts,
        "functions": functions,
    })
}

/// Where a metric changed.
fn why(why: &Result<why::Difference, Unknown>) -> Value {
    let known = why.as_ref().ok();
    let tail = |of: fn(&why::Difference) -> Option<&Shift>| known.and_then(of).map(shift);
    json!({
        "text": known.map(why::Difference::text),
        "reason": why.as_ref().err().map(ToString::to_string),
        "median": known.map(|known| shift(&known.median)),
        "p99": tail(|known| known.p99.as_ref()),
        "worst": tail(|known| known.worst.as_ref()),
    })
}

fn shift(shift: &Shift) -> Value {
    let pair = |[base, new]: [f64; 2]| json!({ "base": figure(base), "new": figure(new) });
    let part = |part: &Part| {
        json!({
            "name": part.name,
            "program": part.program,
            "functions": part.of_file,
            "instructions": pair(part.instructions),
            "repeated": pair(part.repeated),
        })
    };
    json!({
        "instructions": pair(shift.instructions),
        "repeated": pair(shift.repeated),
        "repetitions_only": shift.is_repetition(),
        "parts": shift.parts.iter().map(part).collect::<Vec<Value>>(),
        "moved": shift.moved,
    })
}

/// A replicate that was disturbed. Times are in microseconds.
fn disturbance(of: &Disturbance) -> String {
    let causes: Vec<Value> = of
        .causes
        .iter()
        .map(|cause| {
            json!({
                "count": cause.suspect.name,
                "value": cause.count,
                "others": cause.others,
                "busiest": cause.busiest,
            })
        })
        .collect();
    let metrics: Vec<Value> = of
        .metrics
        .iter()
        .map(|(id, ratio)| json!({ "id": id, "ratio": ratio }))
        .collect();
    line(&json!({
        "replicate": of.replicate,
        "causes": causes,
        "tail": of.tail.name(),
        "metrics": metrics,
        "of": of.of,
    }))
}

/// The finding for each limit. Values and limits are in nanoseconds or instructions.
fn budget(judgement: &Judgement) -> String {
    let limits = judgement.checks.iter().map(|check| {
        let reason = match &check.finding {
            Finding::Inconclusive(reason) => Some(reason),
            Finding::Within | Finding::Over => None,
        };
        line(&json!({
            "id": check.id,
            "figure": check.figure.name(),
            "unit": check.limit.unit.of_figures(),
            "limit": check.limit.value(),
            "value": check.value,
            "low": check.interval.map(|(low, _)| low),
            "high": check.interval.map(|(_, high)| high),
            "batch": check.batch,
            "finding": check.finding.name(),
            "close": check.is_borderline(),
            "reason": reason,
            "why": check.why,
        }))
    });
    format!(
        "{{\n\"file\": {},\n\"elsewhere\": {},\n\"limits\": {}\n}}",
        line(&judgement.file),
        line(&judgement.other_targets),
        list(limits)
    )
}

/// Several runs side by side, as in `doc/matrix.schema.json`. Integers are written without a fraction.
#[must_use]
pub fn matrix(columns: &[Column]) -> String {
    let matrix = Matrix::of(columns);
    let names = columns.iter().zip(&matrix.means).map(|(column, mean)| {
        line(&ColumnOut {
            name: &column.name,
            mean: mean.map(|mean| json!({ "ratio": mean.ratio, "metrics": mean.metrics })),
            host: facts(&column.run.host),
            target: target(&column.run),
            damage: damage(&column.run.damage),
        })
    });
    let metrics = matrix.rows.iter().map(|row| {
        line(&RowOut {
            id: &row.id,
            cells: row
                .cells
                .iter()
                .map(|cell| CellOut::of(cell.as_ref()))
                .collect(),
        })
    });
    document(&[("columns", list(names)), ("metrics", list(metrics))])
}

#[derive(Serialize)]
struct ColumnOut<'a> {
    name: &'a str,
    mean: Option<Value>,
    host: Value,
    target: Value,
    damage: Value,
}

#[derive(Serialize)]
struct RowOut<'a> {
    id: &'a str,
    cells: Vec<CellOut<'a>>,
}

/// A metric in one column of a matrix.
#[derive(Serialize)]
struct CellOut<'a> {
    status: &'static str,
    reason: Option<&'a str>,
    unit: Option<&'static str>,
    median: Option<Value>,
    low: Option<Value>,
    high: Option<Value>,
    ticks: Option<Value>,
    difference: Option<Value>,
    percent: Option<Value>,
    overlap: Option<bool>,
    why: Option<Value>,
    replicates: Option<usize>,
    tried: Option<usize>,
}

impl<'a> CellOut<'a> {
    fn of(cell: Option<&'a Cell>) -> Self {
        let summary = cell.map(|cell| &cell.summary);
        let median = cell.and_then(Cell::median);
        let interval = cell.and_then(Cell::interval);
        let difference = cell.and_then(|cell| cell.difference);
        CellOut {
            status: summary.map_or(ABSENT, |s| status(s.status)),
            reason: summary.and_then(|s| s.reason.as_deref()),
            unit: summary.map(|s| s.unit.of_figures()),
            median: median.map(figure),
            low: interval.map(|(low, _)| figure(low)),
            high: interval.map(|(_, high)| figure(high)),
            ticks: median.and(summary.and_then(|s| s.median)).map(figure),
            difference: difference.map(|d| figure(d.absolute)),
            percent: difference.and_then(|d| d.percent).map(figure),
            overlap: difference.and_then(|d| d.overlap),
            why: cell.and_then(|cell| cell.why.as_ref()).map(why),
            replicates: summary.map(|s| s.replicates),
            tried: summary.map(|s| s.tried),
        }
    }
}

/// A comparison, as in `doc/compare.schema.json`.
#[must_use]
pub fn comparison(comparison: &Comparison, sides: &[Origin; 2], ruling: &Ruling) -> String {
    document(&comparison_parts(comparison, sides, ruling))
}

/// A comparison and the judgement of the new side's budget.
#[must_use]
pub fn comparison_with_budget(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
    judgement: &Judgement,
) -> String {
    let mut parts = comparison_parts(comparison, sides, ruling);
    parts.push(("budget", budget(judgement)));
    document(&parts)
}

/// The geometric mean of the changes of a comparison.
fn mean_change(comparison: &Comparison) -> String {
    let mean = comparison.mean_change().map(
        |mean| json!({ "ratio": mean.ratio, "readings": mean.readings, "metrics": mean.metrics }),
    );
    line(&mean)
}

/// Which metrics were compared.
fn selection(comparison: &Comparison) -> String {
    line(&json!({
        "filters": comparison.selection.filters,
        "exclude": comparison.selection.exclude,
        "left_out": comparison.unselected,
    }))
}

fn comparison_parts(
    comparison: &Comparison,
    sides: &[Origin; 2],
    ruling: &Ruling,
) -> Vec<(&'static str, String)> {
    let sides = sides.iter().map(|side| {
        line(&json!({
            "name": side.column.name,
            "files": side.files,
            "host": facts(&side.column.run.host),
            "target": target(&side.column.run),
            "damage": damage(&side.column.run.damage),
        }))
    });
    let differences = comparison.differences.iter().map(|difference| {
        line(&json!({
            "of": match difference.kind {
                ConditionKind::Machine | ConditionKind::TwoCpus => "machine",
                ConditionKind::Configuration | ConditionKind::Setting => "configuration",
            },
            "name": difference.name,
            "base": difference.base,
            "new": difference.new,
        }))
    });
    let contrasts = comparison.contrasts.iter().map(|contrast| {
        line(&json!({
            "count": contrast.suspect.name, "base": contrast.base, "new": contrast.new,
        }))
    });
    let counts: Map<String, Value> = Verdict::ALL
        .into_iter()
        .map(|verdict| {
            let count = comparison.count(verdict);
            (verdict.name().to_owned(), Value::from(count))
        })
        .collect();
    let margins: Map<String, Value> = comparison
        .quantities
        .iter()
        .map(|quantity| {
            let margin = comparison.margins.of(*quantity);
            (quantity.key().to_owned(), Value::from(margin))
        })
        .collect();
    let resolution = comparison.resolution.map(|resolution| {
        json!({
            "median": resolution.median,
            "worst": resolution.worst,
            "blind": resolution.blind,
        })
    });
    let speed = match &comparison.speed {
        Speed::Unknown(why) => json!({
            "ratio": null, "low": null, "high": null, "margin": null,
            "changed": null, "reason": why,
        }),
        Speed::Known {
            ratio,
            interval: (low, high),
            margin,
        } => json!({
            "ratio": ratio, "low": low, "high": high, "margin": margin,
            "changed": comparison.speed.change().is_some(), "reason": null,
        }),
    };
    let objections = ruling.objections.iter().map(|objection| {
        line(&json!({
            "kind": objection.name(),
            "text": crate::report::compare::objection_text(objection),
        }))
    });
    let [base_without, new_without] = comparison.without_clock;
    let metrics = comparison
        .metrics
        .iter()
        .map(|metric| line(&ComparedOut::of(metric)));
    vec![
        ("sides", list(sides)),
        ("family", line(&comparison.family)),
        ("tails", line(&comparison.tails)),
        ("margins", line(&margins)),
        ("blocks", line(&comparison.blocks)),
        ("floors", line(&comparison.floors)),
        ("speed", line(&speed)),
        (
            "without_clock",
            line(&json!({ "base": base_without, "new": new_without })),
        ),
        ("resolution", line(&resolution)),
        ("mean", mean_change(comparison)),
        ("selection", selection(comparison)),
        ("gate", list(objections)),
        ("ungated", line(&ruling.ungated)),
        (
            "across",
            line(&(comparison.conditions == Conditions::Across)),
        ),
        ("differences", list(differences)),
        ("contrasts", list(contrasts)),
        ("verdicts", line(&counts)),
        ("published", line(&comparison.published)),
        ("metrics", list(metrics)),
    ]
}

/// A plan: what each metric of a pilot run needs. Ratios are fractions of 1.
#[must_use]
pub fn plan(plan: &Plan, pilot: &str) -> String {
    let metrics = plan.metrics.iter().map(|metric| {
        let (estimate, why) = match &metric.need {
            Need::Exact => (None, None),
            Need::Replicates(estimate) => (Some(estimate), None),
            Need::Unknown(why) => (None, Some(why)),
        };
        line(&json!({
            "id": metric.id,
            "replicates": metric.replicates,
            "samples": metric.samples,
            "exact": metric.need == Need::Exact,
            "reason": why,
            "spread": estimate.map(|e| e.spread),
            "upper": estimate.map(|e| e.upper),
            "sampling": estimate.map(|e| e.sampling),
            "finds": estimate.and_then(|e| e.finds),
            "to_find": metric.to_find().flatten(),
            "to_show_none": estimate.and_then(|e| e.to_show_equivalence),
            "samples_to_find": estimate.and_then(|e| e.samples),
        }))
    });
    document(&[
        ("pilot", line(&pilot)),
        ("change", line(&plan.question.change)),
        ("power", line(&plan.question.power)),
        ("margin", line(&plan.question.margin)),
        ("family", line(&plan.family)),
        ("replicates", line(&plan.replicates)),
        ("metrics", list(metrics)),
    ])
}

/// A metric of a comparison. Figures are of one operation, in its unit.
#[derive(Serialize)]
struct ComparedOut<'a> {
    id: &'a str,
    unit: &'static str,
    verdict: &'static str,
    quantity: &'static str,
    idiom: bool,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    margin: Option<f64>,
    exact: bool,
    p: Option<f64>,
    base: Option<Value>,
    new: Option<Value>,
    judged: Vec<Value>,
    judged_to: Option<&'static str>,
    equivalent_to: Option<&'static str>,
    batch: Option<u64>,
    improvement: Option<f64>,
    elsewhere: Option<Value>,
    note: Option<&'a str>,
    why: Option<Value>,
}

impl<'a> ComparedOut<'a> {
    fn of(metric: &'a Compared) -> Self {
        let decisive = metric.decisive();
        let interval = decisive.and_then(|judged| judged.interval);
        ComparedOut {
            id: &metric.id,
            unit: metric.unit.of_figures(),
            verdict: metric.verdict.name(),
            quantity: metric.quantity.key(),
            idiom: metric.is_idiom,
            ratio: decisive.and_then(|judged| judged.ratio),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            margin: decisive.and_then(|judged| judged.margin),
            exact: metric.basis == Basis::Exact,
            p: decisive.and_then(|judged| judged.p),
            base: decisive.map(|judged| judged.base).or(metric.base).map(side),
            new: decisive.map(|judged| judged.new).or(metric.new).map(side),
            judged: metric.judged.iter().map(quantity).collect(),
            judged_to: metric.scope.judged_to.map(Quantity::key),
            equivalent_to: metric.scope.equivalent_to.map(Quantity::key),
            batch: Some(metric.scope.batch).filter(|batch| *batch > 0),
            improvement: metric.improvement,
            elsewhere: metric.published_name.as_ref().map(|elsewhere| {
                let note = Some(&elsewhere.note).filter(|note| !note.is_empty());
                json!({ "name": elsewhere.name, "note": note })
            }),
            note: metric.note.as_deref(),
            why: metric.why.as_ref().map(why),
        }
    }
}

fn side(side: Side) -> Value {
    json!({
        "value": side.value,
        "median": side.median,
        "low": side.interval.map(|(low, _)| low),
        "high": side.interval.map(|(_, high)| high),
        "replicates": side.replicates,
    })
}

/// A quantity of a metric, with its verdict.
fn quantity(judged: &Judged) -> Value {
    let readings = judged
        .readings
        .map(|(ratio, (low, high))| json!({ "ratio": ratio, "low": low, "high": high }));
    json!({
        "quantity": judged.quantity.key(),
        "verdict": judged.verdict.name(),
        "base": side(judged.base),
        "new": side(judged.new),
        "ratio": judged.ratio,
        "low": judged.interval.map(|(low, _)| low),
        "high": judged.interval.map(|(_, high)| high),
        "readings": readings,
        "margin": judged.margin,
        "p": judged.p,
        "level": judged.p.map(|_| judged.quantity.level()),
        "resolution": judged.resolution,
    })
}

/// A number, without a fraction if it is an integer.
fn figure(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

fn damage(damage: &Damage) -> Value {
    json!({
        "damaged": damage.damaged,
        "gaps": damage.gaps,
        "truncated": damage.truncated,
        "log_lines": damage.log_lines,
        "copies": damage.copies,
    })
}

/// A catalog: the description of each metric.
#[must_use]
pub fn catalog(entries: &[Entry]) -> String {
    let entries = entries.iter().map(|entry| line(&EntryOut::of(entry)));
    document(&[("catalog", list(entries))])
}

/// The coverage of another suite: for each benchmark its counterparts, or the reason why it has none.
#[must_use]
pub fn coverage(reference: &str, benchmarks: &[Benchmark]) -> String {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let lines = benchmarks.iter().map(|benchmark| {
        let measured = benchmark
            .measured
            .iter()
            .map(|of| json!({ "target": of.target, "metric": of.metric, "note": known(&of.note) }));
        line(&json!({
            "benchmark": benchmark.name,
            "measured": measured.collect::<Vec<Value>>(),
            "reason": known(&benchmark.reason),
        }))
    });
    document(&[("reference", line(&reference)), ("benchmarks", list(lines))])
}

/// The datasets of published figures, with the number of rows of each.
#[must_use]
pub fn datasets(datasets: &[(Dataset, usize)]) -> String {
    let lines = datasets.iter().map(|(of, rows)| {
        let mut value = dataset(of);
        value["rows"] = json!(rows);
        line(&value)
    });
    document(&[("datasets", list(lines))])
}

/// Saved runs, as in `doc/runs.schema.json`, the newest last.
#[must_use]
pub fn runs(runs: &[SavedRun], folder: &Path) -> String {
    let names = short_names(runs);
    let lines = runs.iter().zip(names).map(|(run, name)| {
        let head = &run.head;
        let labels = head
            .labels()
            .map(|(key, value)| (key.to_owned(), value.into()));
        line(&json!({
            "name": name,
            "hash": head.hash,
            "file": run.file,
            "size": head.size,
            "started": head.when(),
            "target": head.target(),
            "machine": head.machine(),
            "kernel": head.kernel(),
            "load": head.fact("load"),
            "metrics": head.metrics,
            "replicates": head.sessions,
            "shortcoming": head.shortcoming(),
            "labels": labels.collect::<Map<String, Value>>(),
        }))
    });
    let folder = line(&folder.display().to_string());
    document(&[("folder", folder), ("runs", list(lines))])
}

/// A dataset and its figures. Figures are strings, exactly as published.
#[must_use]
pub fn figures(of: &Dataset, figures: &[Figure]) -> String {
    let text = |figure: &Option<Published>| figure.as_ref().map(|f| f.text().to_owned());
    let lines = figures.iter().map(|figure| {
        line(&json!({
            "benchmark": figure.benchmark,
            "row": figure.row,
            "title": figure.title,
            "cycles": text(&figure.cycles),
            "nanoseconds": text(&figure.nanoseconds),
            "microseconds": text(&figure.microseconds),
            "cpu_nanoseconds": text(&figure.cpu_nanoseconds),
            "iterations": figure.iterations,
            "throughput": figure.throughput,
        }))
    });
    document(&[("dataset", line(&dataset(of))), ("figures", list(lines))])
}

/// The composition of a cost: its parts, their sum and the residual. Values are of one operation, in the
/// unit of the metric.
#[must_use]
pub fn explanation(of: &Explanation, origin: &explain::Origin) -> String {
    document(&explanation_parts(of, &origin.source))
}

/// The parts and residuals of several metrics.
#[must_use]
pub fn explanations(list_of: &[Explanation], source: &str) -> String {
    let each = list_of.iter().map(|one| {
        let parts = explanation_parts(one, source);
        let parts = parts
            .iter()
            .map(|(name, value)| format!("\"{name}\": {value}"));
        format!("{{{}}}", parts.collect::<Vec<String>>().join(", ")).replace('\n', "")
    });
    document(&[("of", line(&source)), ("metrics", list(each))])
}

fn explanation_parts(of: &Explanation, source: &str) -> Vec<(&'static str, String)> {
    let parts = of.parts.iter().map(|share| {
        let contribution = share.contribution();
        line(&json!({
            "count": figure(share.part.count),
            "id": share.part.metric,
            "dataset": share.part.dataset,
            "value": share.value.map(figure),
            "contribution": contribution.map(figure),
            "percent": contribution.and_then(|value| of.percent(value)),
            "reason": share.reason,
            "why": share.part.why,
        }))
    });
    let end = |interval: Option<(f64, f64)>, end: fn((f64, f64)) -> f64| interval.map(end);
    let residual = json!({
        "value": figure(of.residual),
        "low": end(of.residual_interval, |(low, _)| low),
        "high": end(of.residual_interval, |(_, high)| high),
        "percent": of.percent(of.residual),
        "replicates": of.replicates,
        "reading": match of.residual_verdict() {
            ResidualVerdict::Unmeasured => "unmeasured",
            ResidualVerdict::Noise => "noise",
            ResidualVerdict::Rest => "rest",
            ResidualVerdict::Exceeded => "exceeded",
        },
    });
    let clock = match of.clock {
        ClockAccounting::Net => Some("net"),
        ClockAccounting::Gross => Some("gross"),
        ClockAccounting::Published => None,
    };
    vec![
        ("id", line(&of.id)),
        ("of", line(&source)),
        ("unit", line(&of.unit)),
        ("clock", line(&clock)),
        ("measured", line(&figure(of.cost))),
        ("low", line(&end(of.interval, |(low, _)| low))),
        ("high", line(&end(of.interval, |(_, high)| high))),
        ("parts", list(parts)),
        ("sum", line(&figure(of.sum))),
        ("residual", line(&residual)),
    ]
}

fn dataset(dataset: &Dataset) -> Value {
    let known = |text: &String| (!text.is_empty()).then(|| text.clone());
    json!({
        "name": dataset.name,
        "source": dataset.source,
        "system": known(&dataset.system),
        "configuration": known(&dataset.configuration),
        "machine": dataset.machine,
        "statistic": dataset.statistic,
        "clock_hz": dataset.clock_hz,
        "clock_basis": dataset.clock_basis,
    })
}

fn document(parts: &[(&str, String)]) -> String {
    let mut text = format!("{{\n\"schema\": {SCHEMA}");
    for (name, value) in parts {
        let _ = write!(text, ",\n\"{name}\": {value}");
    }
    text.push_str("\n}\n");
    text
}

/// A list with one element per line.
pub(super) fn list(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return "[]".to_owned();
    }
    format!("[\n{}\n]", lines.join(",\n"))
}

/// A value in one line. Control characters occur only in strings and are escaped as `\u001b`.
pub(super) fn line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("keys are strings");
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Facts as an object. If a name occurs twice, the first fact is kept.
fn facts(facts: &[Fact]) -> Value {
    let mut map = Map::new();
    for fact in facts {
        map.entry(fact.name.clone())
            .or_insert_with(|| Value::from(fact.value.clone()));
    }
    Value::Object(map)
}

/// What a machine and its CPUs counted in an interval.
fn counted(counted: &[Counted]) -> Value {
    let one =
        |one: &Counted| json!({ "cpu": one.cpu, "counts": one.counts, "busiest": one.busiest });
    counted.iter().map(one).collect()
}

fn clock(clock: &Clock) -> Value {
    let hz = (clock.hz > 0).then_some(clock.hz);
    json!({ "name": clock.name, "unit": clock.unit.name(), "hz": hz })
}

/// The measured system: that of the first session, then each session's own.
fn target(run: &Run) -> Value {
    let Some(first) = run.sessions.first() else {
        return Value::Null;
    };
    let sessions: Vec<Value> = run
        .sessions
        .iter()
        .map(|session| {
            json!({
                "port": session.port,
                "arch": session.arch,
                "clock": clock(&session.clock),
                "realtime": session.realtime,
                "complete": session.complete,
                "facts": facts(&session.facts),
                "during": counted(&session.during),
            })
        })
        .collect();
    json!({
        "port": first.port,
        "arch": first.arch,
        "clock": clock(&first.clock),
        "realtime": run.sessions.iter().all(|session| session.realtime),
        "sessions": sessions,
    })
}

/// A metric of a run. Figures are of one operation, in its unit.
#[derive(Serialize)]
struct MetricOut<'a> {
    id: &'a str,
    name: Option<&'a str>,
    case: &'a str,
    status: &'static str,
    reason: Option<&'a str>,
    unit: &'static str,
    statistic: &'static str,
    median: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    p90: Option<f64>,
    p90_low: Option<f64>,
    p90_high: Option<f64>,
    p99: Option<f64>,
    p99_low: Option<f64>,
    p99_high: Option<f64>,
    p999: Option<f64>,
    p999_low: Option<f64>,
    p999_high: Option<f64>,
    max: Option<f64>,
    cold: Option<f64>,
    gross: Option<f64>,
    net: Option<f64>,
    clock_cost: Option<f64>,
    replicates: usize,
    tried: usize,
    samples: u64,
    batch: Option<u64>,
    cpu_time: Option<f64>,
    instructions: Option<Value>,
    repeated: Option<Value>,
    paths: Option<Value>,
    switches: Option<u64>,
    expected: Option<u64>,
    bytes: Option<u64>,
    items: Option<u64>,
    bytes_per_second: Option<f64>,
    items_per_second: Option<f64>,
    replicate_medians: Vec<Option<f64>>,
    replicate_cpu_times: Vec<Option<f64>>,
    lost: &'a [String],
    proofs: Vec<ProofOut<'a>>,
    about: Option<&'a str>,
    between: Option<&'a str>,
    via: Option<&'a str>,
    idiom: bool,
}

impl<'a> MetricOut<'a> {
    fn of(run: &Run, summary: &'a Summary, metric: Option<&'a Metric>) -> Self {
        let in_unit = |ticks| in_unit(summary, ticks);
        let replicates = metric.map_or(&[][..], |metric| &metric.replicates);
        let medians = replicates
            .iter()
            .map(|replicate| in_unit(replicate.figure(Quantity::P50, summary.unit)));
        let percentile = |quantity| in_unit(summary.percentile_value(quantity));
        let interval = |quantity| summary.percentile(quantity)?.interval;
        let low = |quantity| in_unit(interval(quantity).map(|(low, _)| low));
        let high = |quantity| in_unit(interval(quantity).map(|(_, high)| high));
        let known = |text: fn(&Entry) -> &str| {
            let entry = summary.entry.as_ref();
            entry.map(text).filter(|text| !text.is_empty())
        };
        MetricOut {
            id: &summary.id,
            name: known(|entry| &entry.title),
            case: &summary.case,
            status: status(summary.status),
            reason: summary.reason.as_deref(),
            unit: summary.unit.of_figures(),
            statistic: summary.statistic.name(),
            median: in_unit(summary.median),
            low: in_unit(summary.low),
            high: in_unit(summary.high),
            p90: percentile(Quantity::P90),
            p90_low: low(Quantity::P90),
            p90_high: high(Quantity::P90),
            p99: percentile(Quantity::P99),
            p99_low: low(Quantity::P99),
            p99_high: high(Quantity::P99),
            p999: percentile(Quantity::P999),
            p999_low: low(Quantity::P999),
            p999_high: high(Quantity::P999),
            max: in_unit(summary.max),
            cold: in_unit(summary.cold),
            gross: in_unit(summary.gross),
            net: in_unit(summary.net),
            clock_cost: in_unit(summary.clock_cost),
            replicates: summary.replicates,
            tried: summary.tried,
            samples: summary.samples,
            batch: summary.median.map(|_| summary.batch),
            cpu_time: summary.cpu_time,
            instructions: summary.instructions.map(figure),
            repeated: summary.repeated.map(figure),
            paths: run.paths_of(&summary.id).map(paths),
            switches: summary.switches,
            expected: summary.expected,
            bytes: summary.bytes,
            items: summary.items,
            bytes_per_second: summary.bytes_per_second,
            items_per_second: summary.items_per_second,
            replicate_medians: medians.collect(),
            replicate_cpu_times: replicates.iter().map(Replicate::cpu_time).collect(),
            lost: &summary.lost,
            proofs: ProofOut::all(replicates.iter().flat_map(|r| &r.proofs)),
            about: known(|entry| &entry.about),
            between: known(|entry| &entry.between),
            via: known(|entry| &entry.via),
            idiom: summary.entry.as_ref().is_some_and(|entry| entry.idiom),
        }
    }
}

/// A proof in all replicates that have it, with one value per replicate.
#[derive(Serialize)]
struct ProofOut<'a> {
    name: &'a str,
    counted: Vec<u64>,
    low: Vec<u64>,
    /// `None` if there is no upper bound.
    high: Vec<Option<u64>>,
}

impl<'a> ProofOut<'a> {
    fn all(proofs: impl Iterator<Item = &'a Proof>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for proof in proofs {
            let at = all.iter().position(|known| known.name == proof.name);
            let at = at.unwrap_or_else(|| {
                all.push(ProofOut {
                    name: &proof.name,
                    counted: Vec::new(),
                    low: Vec::new(),
                    high: Vec::new(),
                });
                all.len() - 1
            });
            all[at].counted.push(proof.counted);
            all[at].low.push(proof.low);
            all[at]
                .high
                .push(Some(proof.high).filter(|high| *high != u64::MAX));
        }
        all
    }
}

#[derive(Serialize)]
struct EntryOut<'a> {
    id: &'a str,
    case: &'a str,
    about: &'a str,
    between: &'a str,
    via: &'a str,
    from: u32,
    to: u32,
    switches: u64,
    switches_most: u64,
    batch: u64,
    bytes: Option<u64>,
    items: Option<u64>,
    needs: &'a [String],
    idiom: bool,
}

impl<'a> EntryOut<'a> {
    fn of(entry: &'a Entry) -> Self {
        EntryOut {
            id: &entry.metric,
            case: &entry.case,
            about: &entry.about,
            between: &entry.between,
            via: &entry.via,
            from: entry.stamps.0,
            to: entry.stamps.1,
            switches: entry.switches,
            switches_most: entry.switches_most.unwrap_or(entry.switches),
            batch: entry.batch.max(1),
            bytes: entry.bytes,
            items: entry.items,
            needs: &entry.needs,
            idiom: entry.idiom,
        }
    }
}
