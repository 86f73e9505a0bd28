// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `compare`: two sides of saved runs in, verdicts out.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, ValueEnum};

use super::arguments::{percent, without_sign, Choice, Printed, Selection};
use super::folder::{folder, named};
use super::input::read_run;
use super::output::{page, print, style};
use super::{budget, exit, reference as published, Failure, Outcome};
use crate::base::number::plural;
use crate::base::text::plain;
use crate::files::digest::{Digest, Head};
use crate::files::reference::{self, Agreement, Figure, Pair};
use crate::files::store;
use crate::judge::compare::{CompareKey, Comparison, Conditions, Options, Verdict};
use crate::judge::digest;
use crate::judge::floors::{self, Floors, MetricFloors};
use crate::judge::gate::{Gate, Objection, Ruling};
use crate::judge::history::is_history_of;
use crate::judge::matrix::Column;
use crate::judge::noise::Noise;
use crate::judge::pairing;
use crate::judge::quantity::{Margins, Quantity};
use crate::judge::ranking::Ranking;
use crate::report::compare::Origin;
use crate::stream::filter;
use crate::stream::run::{Damage, Fact, Run, IMPORTED};
use crate::{export, report};

/// The arguments of `compare`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The baseline: a saved run, a file of another tool, `-` for standard input, or a published
    /// dataset such as reference:zircon/2017-08-17
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// The run to compare with the baseline, in any of the same forms
    ///
    /// Published results are compared with the closest metrics of a run, and only with --across.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// What is compared and shown.
    #[command(flatten)]
    pub selection: Selection<CompareKey>,

    /// Another run of the baseline; may be repeated
    #[arg(long = "base", value_name = "FILE")]
    pub more_base: Vec<PathBuf>,

    /// Another run of the new side; may be repeated
    #[arg(long = "new", value_name = "FILE")]
    pub more_new: Vec<PathBuf>,

    /// How the runs are compared.
    #[command(flatten)]
    pub judging: Judging,
}

/// How runs are compared.
#[derive(Args, Debug, Default)]
pub struct Judging {
    /// Ignore changes up to this percentage: 3, or p99=10 for one quantity
    ///
    /// Defaults: 2 % for p50, 5 % for p90, 25 % for p99, p99.9 and cold. A bare number sets the
    /// margin of medians and raises lower margins of tails to it. A higher noise floor, measured
    /// by `kernmark noise` or shown by earlier saved runs, replaces a margin. Exact instruction counts
    /// have no margin unless you give one.
    #[arg(long, value_name = "[QUANTITY=]PERCENT", value_parser = margin, value_delimiter = ',')]
    pub margin: Vec<Margin>,

    /// Judge only these quantities: p50, p90, p99, p99.9, cold
    #[arg(long, value_name = "QUANTITY", value_delimiter = ',')]
    pub only: Vec<Quantity>,

    /// Compare runs even if the machine or the configuration differs
    #[arg(long)]
    pub across: bool,

    /// Ignore the noise floors that `kernmark noise` measured or that earlier saved runs show
    #[arg(long)]
    pub no_floors: bool,

    /// What a gate lets pass.
    #[command(flatten)]
    pub gating: Gating,

    /// Check the new side against the absolute limits in FILE
    ///
    /// FILE is TOML and gives the highest cost of each metric; see doc/ci.md. The exit status is 3
    /// if a metric exceeds its limit and 4 if a limit cannot be judged.
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<CompareFormat>,

    /// Append the comparison to FILE as Markdown: --summary `"$GITHUB_STEP_SUMMARY"`
    ///
    /// FILE stays below 1 MiB, the most that GitHub shows. If there is not enough room, equivalent
    /// metrics are left out first.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
}

/// What a gate lets pass.
#[derive(Args, Debug, Default)]
pub struct Gating {
    /// Act as a gate: fail if any metric has this verdict
    ///
    /// A gate also fails if it could not have seen a change: with exit status 5 if its resolution
    /// is too coarse, with 4 if CPU speed changed. `inconclusive` applies to medians, or to the
    /// quantities that --only names.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "VERDICT")]
    pub fail_on: Vec<FailOn>,

    /// Exit as `git bisect run` expects: 0 if no metric regressed, 1 if one did, 125 if that could
    /// not be judged
    ///
    /// 128 and more for wrong arguments and interrupts, which stop the bisection. All that
    /// --fail-on knows is judged: a metric that is inconclusive, incomparable or missing means 125,
    /// unless another one regressed. See doc/bisect.md.
    #[arg(long, conflicts_with = "fail_on")]
    pub bisect: bool,

    /// Let the gate judge idioms too: objects that a port builds from other primitives
    #[arg(long)]
    pub idioms: bool,

    /// The smallest change, in percent, that half of the metrics must be able to show for the gate
    /// to pass [default: 10, or twice --margin if that is more]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub resolution: Option<f64>,

    /// Let the gate pass although CPU speed changed, by up to this percentage (at most 50)
    ///
    /// Times are still judged in readings of the clock as well, so a change that only follows CPU
    /// speed is never reported as a regression.
    #[arg(long, value_name = "PERCENT", value_parser = speed, num_args = 0..=1, default_missing_value = "10", require_equals = true)]
    pub accept_speed: Option<f64>,
}

/// The verdicts that make a gate fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A metric regressed
    Regression,
    /// A metric is inconclusive: it may or may not have changed
    Inconclusive,
    /// A metric was measured under different conditions
    Incomparable,
    /// A metric of the baseline has no value in the new run
    Missing,
}

impl Choice for CompareFormat {
    const JSON: Self = CompareFormat::Json;
}

/// The formats of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
    /// Markdown
    Md,
    /// A page for a browser, in one file: what changed as a picture, and both distributions of each
    /// metric
    Html,
    /// JUnit XML: a test case for each metric, which fails if --fail-on names its verdict
    Junit,
}

/// A margin that the user asked for: of one quantity, or of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The quantity; `None`: all.
    pub quantity: Option<Quantity>,
    /// The margin as a fraction.
    pub share: f64,
}

/// Parses a margin: `3`, `p99=10`.
fn margin(text: &str) -> Result<Margin, String> {
    let (quantity, number) = match text.split_once('=') {
        Some((quantity, number)) => (Some(quantity.trim().parse()?), number.trim()),
        None => (None, text),
    };
    let share = percent(number)?;
    Ok(Margin { quantity, share })
}

/// Parses how much CPU speed may change, from 0 to 50 %; returns it as a fraction.
fn speed(text: &str) -> Result<f64, String> {
    match without_sign(text).parse::<f64>() {
        Ok(percent) if (0.0..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("not a percentage from 0 to 50".to_owned()),
    }
}

/// Compares the runs of both sides, shows the verdicts and returns the status of the gate.
pub(super) fn compare(arguments: &Arguments) -> Outcome {
    let is_published = |path: &Path| published::named(path).is_some();
    // Pairing with another suite and judging by a budget need the samples.
    let any_published = is_published(&arguments.base) || is_published(&arguments.new);
    let read_base = || {
        let base = side("base", &arguments.base, &arguments.more_base);
        // The base is the same for all commits, so the next one would fail as well.
        base.map_err(|failure| match failure {
            Failure::Failed(why) if arguments.judging.gating.bisect => Failure::Usage(why),
            failure => failure,
        })
    };
    let mut base = read_base()?;
    let mut any_log = base.log()?.is_some();
    let has_pictures = matches!(arguments.judging.printed.format(), CompareFormat::Html);
    if !any_published && !any_log && !has_pictures {
        base = base.without_samples();
    }
    let mut new = side("new", &arguments.new, &arguments.more_new)?;
    if !any_published && !any_log && new.log()?.is_some() && arguments.base != Path::new("-") {
        any_log = true;
        base = read_base()?;
    }
    let needs_samples = arguments.judging.budget.is_some() || has_pictures;
    if !needs_samples && !any_published && !any_log {
        new = new.without_samples();
    }
    let selection = arguments.selection.metrics();
    let pairs = match (&base.figures, &new.figures) {
        (Some(figures), None) => Some(pair(
            figures,
            &mut base.origin,
            &mut new.origin,
            &selection,
        )?),
        (None, Some(figures)) => Some(pair(
            figures,
            &mut new.origin,
            &mut base.origin,
            &selection,
        )?),
        (Some(_), Some(_)) => None,
        (None, None) => match (base.log()?, new.log()?) {
            (Some(figures), None) if new.is_agent() => Some(pair(
                &figures,
                &mut base.origin,
                &mut new.origin,
                &selection,
            )?),
            (None, Some(figures)) if base.is_agent() => Some(pair(
                &figures,
                &mut new.origin,
                &mut base.origin,
                &selection,
            )?),
            _ => None,
        },
    };
    let sides = [base.origin, new.origin];
    let mut comparison = if let Some(pairs) = &pairs {
        // Paired metrics have the names of their benchmarks, so they are already selected.
        let all = filter::Selection::default();
        let mut comparison = compared(&sides, &arguments.judging, &all);
        comparison.use_published_names(&pairs.selected);
        comparison.selection = selection;
        comparison.unselected = pairs.unselected;
        comparison
    } else {
        let ids = sides.each_ref().map(Origin::figures);
        let ids = ids.iter().flat_map(|figures| &figures.metrics);
        let ids: Vec<&str> = ids.map(|metric| metric.id.as_str()).collect();
        selection.verify(&ids).map_err(Failure::Absent)?;
        compared(&sides, &arguments.judging, &selection)
    };
    match (&base.figures, &new.figures) {
        (Some(from), Some(to)) => {
            comparison.add_improvements();
            let changes = reference::changes().map_err(Failure::Failed)?;
            let agreement = Agreement::of(&changes, from, to);
            comparison.published.extend(agreement.sentence());
        }
        (Some(figures), None) | (None, Some(figures)) => {
            let measured = pairs.map_or(0, |pairs| pairs.selected.len() + pairs.unselected);
            let published = plural(figures.len() as u64, "published result");
            let sentence = format!("the run measures {measured} of {published}");
            comparison.published.push(sentence);
        }
        (None, None) => {}
    }
    let ranking = arguments.selection.ranking();
    show(&comparison, &sides, &arguments.judging, &ranking)
}

/// Compares two sides that were measured with these filters, shows the verdicts and returns the status
/// of the gate.
pub(super) fn judge(
    sides: &[Origin; 2],
    judging: &Judging,
    selection: &Selection<CompareKey>,
) -> Outcome {
    // The filters select cases to measure, and a case may have more metrics than they name.
    let measured = filter::Selection {
        filters: Vec::new(),
        ..selection.metrics()
    };
    let mut comparison = compared(sides, judging, &measured);
    comparison.selection = selection.metrics();
    show(&comparison, sides, judging, &selection.ranking())
}

fn compared(sides: &[Origin; 2], judging: &Judging, selection: &filter::Selection) -> Comparison {
    let options = Options {
        margins: margins(&judging.margin),
        conditions: if judging.across {
            Conditions::Across
        } else {
            Conditions::Alike
        },
        quantities: quantities(&judging.only).unwrap_or(Quantity::ALL.to_vec()),
        selection: selection.clone(),
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

/// The margins that the user asked for. A margin of one quantity overrides a bare one.
fn margins(asked: &[Margin]) -> Margins {
    let for_all = asked.iter().rfind(|margin| margin.quantity.is_none());
    let mut margins = for_all.map_or(Margins::default(), |margin| Margins::all(margin.share));
    for margin in asked {
        if let Some(quantity) = margin.quantity {
            margins.set(quantity, margin.share);
        }
    }
    margins
}

/// The quantities that the user asked for, each once and in order; `None` if there are none.
fn quantities(only: &[Quantity]) -> Option<Vec<Quantity>> {
    let asked = Quantity::ALL.into_iter().filter(|one| only.contains(one));
    let asked: Vec<Quantity> = asked.collect();
    (!asked.is_empty()).then_some(asked)
}

/// The default resolution of a gate, as a fraction.
const RESOLUTION: f64 = 0.1;

/// The gate that the arguments describe.
fn gate(judging: &Judging) -> Gate {
    let gating = &judging.gating;
    let fail_on = if gating.bisect {
        FailOn::value_variants()
    } else {
        &gating.fail_on
    };
    Gate {
        fail_on: fail_on.iter().map(|on| refused(*on)).collect(),
        quantities: quantities(&judging.only).unwrap_or(vec![Quantity::P50]),
        judges_idioms: gating.idioms,
        resolution: gating.resolution.unwrap_or_else(|| {
            let margin = margins(&judging.margin).of(Quantity::P50);
            RESOLUTION.max(2.0 * margin)
        }),
        speed: gating.accept_speed,
    }
}

/// The exit status of an objection.
fn status(objection: &Objection) -> u8 {
    match objection {
        Objection::Regressed(_) => exit::REGRESSED,
        Objection::Inconclusive(_) | Objection::Speed(_) => exit::INCONCLUSIVE,
        Objection::Incomparable(_)
        | Objection::Missing(_)
        | Objection::Nothing
        | Objection::LowResolution { .. } => exit::INCOMPARABLE,
    }
}

fn show(
    comparison: &Comparison,
    sides: &[Origin; 2],
    judging: &Judging,
    ranking: &Ranking<CompareKey>,
) -> Outcome {
    let judgement = budget::judge(judging.budget.as_deref(), &sides[1].column.run)?;
    let gate = gate(judging);
    let ruling = gate.rule(comparison);
    let text = match judging.printed.format() {
        CompareFormat::Table => {
            let budget = judgement.as_ref();
            let budget = budget.map(|judgement| report::budget::table(judgement, &style()));
            report::verdicts::table(comparison, sides, &ruling, ranking, &style())
                + &budget.unwrap_or_default()
        }
        CompareFormat::Json => match &judgement {
            Some(judgement) => {
                export::json::comparison_with_budget(comparison, sides, &ruling, judgement)
            }
            None => export::json::comparison(comparison, sides, &ruling),
        },
        CompareFormat::Md => {
            let budget = judgement.as_ref().map(export::markdown::budget);
            export::markdown::comparison(comparison, sides, &ruling) + &budget.unwrap_or_default()
        }
        CompareFormat::Html => {
            if let Some(judgement) = &judgement {
                eprintln!("{}", report::budget::table(judgement, &style()).trim_end());
            }
            report::html::compare::page(comparison, sides, &ruling).render()
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
    match judging.printed.format() {
        CompareFormat::Table => page(&text)?,
        _ => print(text.as_bytes())?,
    };
    if sides.iter().any(|side| is_damaged(&side.column.run.damage)) {
        return Ok(exit::FAILED);
    }
    let gate = ruling.objections.first().map_or(exit::OK, status);
    Ok(budget::combined_status(gate, judgement.as_ref()))
}

/// The noise floors that fit one of the runs, and those that earlier runs show.
pub(super) fn floors(runs: &[&Run; 2]) -> Floors {
    let mut floors = Floors::default();
    if let Some((learnt, source)) = history(runs) {
        floors.add(&learnt, source);
    }
    for (path, text) in store::noise_files() {
        let path = path.display().to_string();
        match text.and_then(|text| Noise::parse(&text)) {
            Ok(noise) if runs.iter().any(|run| noise.fits(run)) => floors.add(&noise.floors, path),
            Ok(_) => {}
            Err(why) => eprintln!(
                "kernmark: cannot use the noise floors in {}: {}",
                plain(&path),
                plain(&why)
            ),
        }
    }
    floors
}

/// The floors that saved runs show, which are older than both sides and share target, machine and
/// kernel with the base, and how many runs these are. `None` if there are too few. Sides that
/// alternated need none, because drift moves neither.
fn history(runs: &[&Run; 2]) -> Option<(BTreeMap<String, MetricFloors>, String)> {
    if pairing::Pair::of(runs[0], runs[1]).is_some() {
        return None;
    }
    let facts = runs.iter().flat_map(|run| &run.host);
    let starts = facts.filter(|fact| fact.name == "started");
    let starts = starts.filter_map(|fact| humantime::parse_rfc3339(&fact.value).ok());
    let started = starts.min()?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let base = Head {
        started,
        ..digest::of(runs[0], Head::default()).head
    };
    let folder = folder().ok()?;
    let mut earlier = folder.runs().ok()?;
    earlier.retain(|run| is_history_of(&run.head, &base));
    let newest = earlier.len().saturating_sub(floors::MOST_RUNS);
    // Whoever removed a run meanwhile does not want it.
    let digests: Vec<Digest> = earlier[newest..]
        .iter()
        .filter_map(|run| folder.digest_of(run).ok())
        .collect();
    let learnt = floors::of_history(&digests);
    let day = |run: &Digest| {
        let time = UNIX_EPOCH + Duration::from_secs(run.head.started);
        humantime::format_rfc3339_seconds(time).to_string()[..10].to_owned()
    };
    let (first, last) = (day(digests.first()?), day(digests.last()?));
    let count = plural(digests.len() as u64, "earlier run");
    (!learnt.is_empty()).then(|| (learnt, format!("{count}, {first} to {last}")))
}

/// One side of the comparison.
struct Side {
    origin: Origin,
    /// The published results that it consists of, if any.
    figures: Option<Vec<Figure>>,
}

impl Side {
    /// The benchmarks of another suite that it consists of, if the user ran that suite.
    fn log(&self) -> Result<Option<Vec<Figure>>, Failure> {
        let counterparts = reference::counterparts().map_err(Failure::Failed)?;
        Ok(reference::own_figures(
            &self.origin.column.run,
            &counterparts,
        ))
    }

    /// Whether an agent measured it.
    fn is_agent(&self) -> bool {
        Fact::value_in(&self.origin.column.run.host, IMPORTED).is_none()
    }

    fn without_samples(self) -> Self {
        Side {
            origin: self.origin.without_samples(),
            ..self
        }
    }
}

fn side(name: &str, first: &Path, more: &[PathBuf]) -> Result<Side, Failure> {
    let asked = std::iter::once(first).chain(more.iter().map(PathBuf::as_path));
    let found = asked.map(|path| match published::named(path) {
        Some(_) => Ok(path.to_owned()),
        None => named(path),
    });
    let paths: Vec<PathBuf> = found.collect::<Result<_, _>>()?;
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut figures: Option<Vec<Figure>> = None;
    for path in &paths {
        if let Some(reference) = published::named(path) {
            let reference = reference?;
            if paths.len() > 1 {
                let why = format!("{reference} must be the only input of its side");
                return Err(Failure::Usage(why));
            }
            runs.push(reference.run().map_err(Failure::Usage)?);
            figures = Some(reference.figures().map_err(Failure::Failed)?);
        } else {
            runs.push(read_run(path)?);
        }
        // The same replicates counted twice would feign more certainty.
        let file = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if seen.contains(&file) {
            let path = path.display();
            let why = format!("{path} is given twice on the {name} side; give each run once");
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

/// Published results and the metrics that measure the same.
struct Pairs {
    selected: Vec<Pair>,
    /// How many were not selected.
    unselected: usize,
}

/// Pairs published results with the closest metrics of a run. Both runs then hold only the selected
/// pairs, under the same ids.
fn pair(
    figures: &[Figure],
    published: &mut Origin,
    measured: &mut Origin,
    selection: &filter::Selection,
) -> Result<Pairs, Failure> {
    let counterparts = reference::counterparts().map_err(Failure::Failed)?;
    let (there, here) = (&mut published.column.run, &mut measured.column.run);
    let mut pairs = reference::pairs(figures, there, here, &counterparts);
    let metrics: Vec<&str> = pairs.iter().map(|pair| pair.metric.as_str()).collect();
    selection.verify(&metrics).map_err(Failure::Absent)?;
    let all = pairs.len();
    pairs.retain(|pair| selection.selects(&pair.metric));
    *there = reference::keep_pairs(mem::take(there), &pairs, |pair| &pair.id);
    *here = reference::keep_pairs(mem::take(here), &pairs, |pair| &pair.metric);
    Ok(Pairs {
        unselected: all - pairs.len(),
        selected: pairs,
    })
}

fn is_damaged(damage: &Damage) -> bool {
    damage.damaged + damage.gaps + damage.truncated > 0
}

/// The longest step summary that GitHub shows, in bytes.
const LONGEST_SUMMARY: u64 = 1024 * 1024;

/// Appends the comparison and the budget to a file, which stays below [`LONGEST_SUMMARY`].
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
    let room = LONGEST_SUMMARY
        .saturating_sub(there)
        .saturating_sub((head.len() + budget.len() + 1) as u64);
    let Some(page) = export::markdown::brief_comparison(comparison, sides, ruling, room as usize)
    else {
        eprintln!(
            "kernmark: {} is full (1 MiB), so the summary is not appended",
            path.display()
        );
        return Ok(());
    };
    file.write_all(format!("{head}{page}{budget}\n").as_bytes())
        .map_err(failed)
}

/// The verdict that makes a gate fail.
fn refused(on: FailOn) -> Verdict {
    match on {
        FailOn::Regression => Verdict::Regressed,
        FailOn::Inconclusive => Verdict::Inconclusive,
        FailOn::Incomparable => Verdict::Incomparable,
        FailOn::Missing => Verdict::Missing,
    }
}
