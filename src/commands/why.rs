// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `why`: a metric of an exact target in, what its samples executed out.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::SystemTime;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::arguments::{html, spec, Effort, ON_LONG};
use super::folder::named;
use super::input::read_run;
use super::output::{print, style};
use super::run::{self, prepare};
use super::target::{check_exact, resolve};
use super::{exit, interrupt, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::export::{self, PathFormat};
use crate::judge::quantity::Quantity;
use crate::judge::why::{Difference, Side};
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{self, End, Recording};
use crate::report;
use crate::report::insn::Step;
use crate::report::tree::View;
use crate::report::why::{Measured, Why};
use crate::statistics::order::quantile_rank;
use crate::stream::filter;
use crate::stream::histogram::Histogram;
use crate::stream::paths::Paths;
use crate::stream::run::{Fact, Run};
use crate::target::spec::Spec;
use crate::target::tracer::{TraceOptions, Tracer};
use crate::trace::calls::{calls, missed_starts, Call, Counts};
use crate::trace::counts::{code_lines, misses, Geometry};
use crate::trace::spans::{Sampled, Samples};
use crate::trace::tree::{CallTree, Line};
use crate::trace::Trace;

/// The arguments of `why`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The metric
    #[arg(value_name = "METRIC")]
    pub metric: String,

    /// A saved run to repeat: its target, its cases in their order, its samples
    ///
    /// What ran before a metric can change its path. Without FILE the metric is measured alone; with
    /// FILE everything is measured as it was then, and the metric must have the same distribution.
    #[arg(value_name = "FILE", conflicts_with_all = ["on", "samples", "against"])]
    pub file: Option<PathBuf>,

    /// The target, which must count instructions
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "freertos:m4", long_help = ON_LONG)]
    pub on: Spec,

    /// The other target.
    #[command(flatten)]
    pub base: Base,

    /// Samples to measure [default: as the target's description says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub samples: Option<u32>,

    /// Which path to show: median, p99, worst, cold (the very first sample), or a number: 1 is the
    /// most frequent path
    #[arg(long, value_name = "WHICH", default_value = "median")]
    pub path: Which,

    /// Also count loads, stores, accesses to devices, taken branches, privileged, serialising and
    /// atomic instructions, and the 64-byte lines of code and data that a sample touches
    #[arg(long, conflicts_with = "against")]
    pub counts: bool,

    /// With --counts: also the misses of a cold cache for code and one for data of SIZE bytes with
    /// WAYS ways and lines of LINE bytes, such as 32768,8,64
    #[arg(long, value_name = "SIZE,WAYS,LINE", value_parser = geometry, requires = "counts")]
    pub cache: Option<Geometry>,

    /// Show the calls in the order of execution
    #[arg(long, conflicts_with_all = ["against", "format"])]
    pub tree: bool,

    /// Show every instruction
    #[arg(long, conflicts_with_all = ["tree", "against", "format"])]
    pub insn: bool,

    /// With --tree: how deep calls are shown
    #[arg(long, value_name = "N", requires = "tree", value_parser = depth)]
    pub depth: Option<usize>,

    /// With --tree: only this function and what it calls; a name or a glob
    #[arg(short = 'F', long = "only", value_name = "FUNCTION", requires = "tree")]
    pub only: Vec<String>,

    /// With --tree: not this function, nor what it calls
    #[arg(
        short = 'N',
        long = "without",
        value_name = "FUNCTION",
        requires = "tree"
    )]
    pub without: Vec<String>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub format: WhyFormat,
}

/// What a target is compared with.
#[derive(Args, Debug)]
pub struct Base {
    /// What to compare the target with: shows what was added, removed and grew since SPEC
    #[arg(long, value_name = "SPEC", value_parser = spec)]
    pub against: Option<Spec>,

    /// Exit as `git bisect run` expects: 0 if the path is no longer than that of --against, 1 if
    /// it is, 125 if that could not be judged
    ///
    /// 128 and more for wrong arguments and interrupts, which stop the bisection. See
    /// doc/bisect.md.
    #[arg(long, requires = "against")]
    pub bisect: bool,
}

/// Parses a depth of calls, from 1.
fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| *depth > 0);
    depth.ok_or_else(|| "not a number from 1".to_owned())
}

/// Parses the shape of a cache: its size, its ways and the length of a line.
fn geometry(text: &str) -> Result<Geometry, String> {
    let numbers: Option<Vec<u64>> = text.split(',').map(|number| number.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[size, ways, line]) => Geometry::new(size, ways, line),
        _ => Err("not three numbers: the size, the ways and the length of a line".to_owned()),
    }
}

/// Which path of a metric to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// That of the median sample.
    Median,
    /// That of the sample at the 99th percentile.
    P99,
    /// That of the slowest sample.
    Worst,
    /// That of the very first sample.
    Cold,
    /// By how many samples took it, from 1.
    Number(usize),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "median" => Which::Median,
            "p99" => Which::P99,
            "worst" => Which::Worst,
            "cold" => Which::Cold,
            number => match number.parse() {
                Ok(number) if number > 0 => Which::Number(number),
                _ => return Err("not median, p99, worst, cold or a number from 1".to_owned()),
            },
        })
    }
}

/// The formats of a metric's paths.
#[derive(Clone, Copy, Debug, Default)]
pub enum WhyFormat {
    /// Text for people.
    #[default]
    Text,
    /// All paths as JSON.
    Json,
    /// A page for a browser.
    Html,
    /// The format of another program.
    Foreign(&'static PathFormat),
}

impl ValueEnum for WhyFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<WhyFormat>> = LazyLock::new(|| {
            let foreign = export::PATHS.into_iter().map(WhyFormat::Foreign);
            let own = [WhyFormat::Text, WhyFormat::Json, WhyFormat::Html];
            own.into_iter().chain(foreign).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            WhyFormat::Text => PossibleValue::new("table").help("Text for people"),
            WhyFormat::Json => PossibleValue::new("json").help("JSON: all paths, by function"),
            WhyFormat::Html => html(),
            WhyFormat::Foreign(format) => {
                let help = format!("{}; leaves out {}", format.about, format.leaves_out);
                PossibleValue::new(format.name).help(help)
            }
        })
    }
}

/// What the samples of a metric executed.
struct Followed {
    target: String,
    run: Run,
    trace: Trace,
    samples: Samples,
    paths: Paths,
    measured: Measured,
    tracer: Rc<Tracer>,
}

/// A path of a metric, ready to be shown.
struct Chosen {
    sampled: Sampled,
    path: Vec<u32>,
    calls: Vec<Call>,
    /// What each place of the path did; empty if it was not counted.
    each: Vec<Counts>,
    /// Where each place of the path comes from.
    lines: Vec<Option<Line>>,
    /// The source files that lines name.
    files: Vec<String>,
}

/// Shows where the instructions of a metric go.
pub(super) fn why(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    let metric = &arguments.metric;
    let saved = arguments.file.as_deref().map(Saved::read).transpose()?;
    let wanted = TraceOptions {
        text: arguments.insn,
        counts: arguments.counts,
        ..TraceOptions::default()
    };
    let followed = match &saved {
        Some(saved) => follow_again(metric, saved, wanted.clone(), &interrupt)?,
        None => follow(arguments, &arguments.on, wanted.clone(), &interrupt)?,
    };
    let Some(followed) = followed else {
        return Ok(exit::INTERRUPTED);
    };
    let base = match &arguments.base.against {
        Some(base) => match follow(arguments, base, wanted, &interrupt)? {
            Some(base) => Some(base),
            None => return Ok(exit::INTERRUPTED),
        },
        None => None,
    };
    let text = match &base {
        Some(base) => compared(arguments, base, &followed)?,
        None => shown(arguments, &followed)?,
    };
    print(text.as_bytes())?;
    match &base {
        Some(base) if arguments.base.bisect => {
            let [before, after] = [base, &followed].map(|side| side.choose(arguments.path));
            let is_longer = after?.sampled.instructions > before?.sampled.instructions;
            Ok(if is_longer { exit::REGRESSED } else { exit::OK })
        }
        _ => Ok(exit::OK),
    }
}

/// The text of one target.
fn shown(arguments: &Arguments, followed: &Followed) -> Result<String, Failure> {
    if let WhyFormat::Json = arguments.format {
        let side = followed.side(&arguments.metric)?;
        let json = export::json::followed(&arguments.metric, &followed.target, &side);
        return Ok(json);
    }
    let chosen = followed.choose(arguments.path)?;
    let tree = followed.tree(&arguments.metric, &chosen);
    if let WhyFormat::Foreign(format) = arguments.format {
        return Ok((format.write)(&tree));
    }
    if arguments.tree {
        let view = View {
            depth: arguments.depth,
            only: arguments.only.clone(),
            without: arguments.without.clone(),
        };
        return report::tree::render(&tree, &view, &style()).map_err(Failure::Usage);
    }
    if arguments.insn {
        return followed.listing(&tree, &chosen);
    }
    let side = followed.side(&arguments.metric)?;
    let entries = &followed.run.catalog;
    let entry = entries
        .iter()
        .find(|entry| entry.metric == arguments.metric);
    let why = Why {
        between: entry.map_or("", |entry| entry.between.as_str()),
        measured: &followed.measured,
        side,
        tree,
        mode: followed.trace.mode(&chosen.sampled),
        calls: missed_starts(&chosen.path, &followed.trace.sites),
        counts: followed.counts(&chosen, arguments.cache),
    };
    Ok(match arguments.format {
        WhyFormat::Html => report::html::why::page(&why).render(),
        _ => report::why::table(&why, &style()),
    })
}

/// The text of what differs between two targets.
fn compared(arguments: &Arguments, base: &Followed, new: &Followed) -> Result<String, Failure> {
    let metric = &arguments.metric;
    let differ = || {
        let chosen = [base.choose(arguments.path)?, new.choose(arguments.path)?];
        Ok::<_, Failure>(chosen)
    };
    if let WhyFormat::Foreign(format) = arguments.format {
        let write = format.difference.ok_or_else(|| {
            Failure::Usage(format!("--format {} has no differences", format.name))
        })?;
        let [before, after] = differ()?;
        return Ok(write(
            &base.tree(metric, &before),
            &new.tree(metric, &after),
        ));
    }
    let difference = Difference::of(&base.side(metric)?, &new.side(metric)?)
        .map_err(|why| Failure::Failed(why.to_string()))?;
    let targets = [base.target.as_str(), new.target.as_str()];
    if let WhyFormat::Json = arguments.format {
        return Ok(export::json::difference(metric, targets, &difference));
    }
    if let WhyFormat::Html = arguments.format {
        let [before, after] = differ()?;
        let trees = [&base.tree(metric, &before), &new.tree(metric, &after)];
        return Ok(report::html::why::difference(metric, targets, &difference, trees).render());
    }
    Ok(report::why::difference(
        metric,
        targets,
        &difference,
        &style(),
    ))
}

impl Followed {
    fn side(&self, metric: &str) -> Result<Side<'_>, Failure> {
        let replicate = self.run.metrics.iter().find(|one| one.id == metric);
        let replicate = replicate.and_then(|metric| metric.replicates.first());
        let replicate =
            replicate.ok_or_else(|| Failure::Failed(format!("{metric} has no number")))?;
        Ok(Side {
            functions: &self.trace.functions,
            paths: &self.paths,
            samples: &replicate.histogram,
            batch: replicate.batch,
        })
    }

    /// The path that the user asked for.
    fn choose(&self, which: Which) -> Result<Chosen, Failure> {
        let mut sampled: Vec<&Sampled> = self.samples.sampled.iter().collect();
        let total: u64 = sampled.iter().map(|one| one.samples).sum();
        let at = |mut rank: u64, sampled: &[&Sampled]| {
            let found = sampled.iter().find(|one| {
                let is_here = rank < one.samples;
                rank = rank.saturating_sub(one.samples);
                is_here
            });
            found.map(|one| (*one).clone())
        };
        let chosen = match which {
            Which::Cold => self.samples.cold.clone(),
            Which::Number(number) => {
                sampled.sort_by_key(|one| std::cmp::Reverse(one.samples));
                sampled.get(number - 1).map(|one| (*one).clone())
            }
            Which::Median | Which::P99 | Which::Worst => {
                sampled.sort_by_key(|one| one.instructions);
                let rank = match which {
                    Which::Median => total.saturating_sub(1) / 2,
                    Which::P99 => {
                        let rank = Quantity::P99.share().and_then(|p| quantile_rank(total, p));
                        let too_few = || {
                            format!("{total} samples are too few for a p99; --samples takes more")
                        };
                        rank.ok_or_else(|| Failure::Absent(too_few()))? - 1
                    }
                    _ => total.saturating_sub(1),
                };
                at(rank, &sampled)
            }
        };
        let sampled = chosen.ok_or_else(|| {
            Failure::Absent(format!(
                "there is no such path; there are {}",
                sampled.len()
            ))
        })?;
        let path = self.trace.path(&sampled).ok_or_else(|| {
            Failure::Failed("the list of the emulator had no room for this path".to_owned())
        })?;
        let each = if self.trace.has_counts {
            self.trace.each(&sampled, &path)
        } else {
            Vec::new()
        };
        let (lines, files) = self.lines(&path)?;
        Ok(Chosen {
            each,
            lines,
            files,
            calls: calls(&path, &self.trace.sites),
            sampled,
            path,
        })
    }

    /// What was counted of a path, by name.
    fn counts(&self, chosen: &Chosen, cache: Option<Geometry>) -> Vec<(String, u64)> {
        if !self.trace.has_counts {
            return Vec::new();
        }
        let counts = self.trace.counts(&chosen.sampled, &chosen.path);
        let counts = counts.into_iter();
        let mut counts: Vec<(String, u64)> = counts
            .map(|(count, number)| (count.about().to_owned(), number))
            .collect();
        if let Some(cache) = cache {
            let code = code_lines(&chosen.path, &self.trace.sites);
            let data = self.trace.data_lines(&chosen.sampled);
            counts.extend([
                (
                    "misses of a cold cache for code".to_owned(),
                    misses(cache, code),
                ),
                (
                    "misses of a cold cache for data".to_owned(),
                    misses(cache, data),
                ),
            ]);
        }
        counts
    }

    /// Where the instructions of a path come from, and the files.
    fn lines(&self, path: &[u32]) -> Result<(Vec<Option<Line>>, Vec<String>), Failure> {
        let address = |site: &u32| self.trace.sites[*site as usize].instruction.address;
        let addresses: BTreeSet<u64> = path.iter().map(address).collect();
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let places = self.tracer.places(&addresses).map_err(Failure::Failed)?;
        let files: BTreeSet<&str> = places.values().map(|place| &*place.file).collect();
        let files: Vec<String> = files.into_iter().map(str::to_owned).collect();
        let line = |site: &u32| {
            let place = places.get(&address(site))?;
            let file = files.binary_search_by(|file| file.as_str().cmp(&place.file));
            Some(Line {
                file: file.ok()?,
                line: place.line,
            })
        };
        let lines = path.iter().map(line).collect();
        Ok((lines, files))
    }

    /// Every instruction of a path.
    fn listing(&self, tree: &CallTree, chosen: &Chosen) -> Result<String, Failure> {
        let depths = tree.depths();
        let address = |site: u32| self.trace.sites[site as usize].instruction.address;
        let addresses: Vec<u64> = chosen.path.iter().map(|site| address(*site)).collect();
        let places = self.tracer.places(&addresses).map_err(Failure::Failed)?;
        let steps = chosen.path.iter().enumerate().map(|(at, number)| {
            let site = &self.trace.sites[*number as usize];
            let function = &self.trace.functions[site.function];
            Step {
                address: site.instruction.address,
                function: Some((
                    function.name.as_str(),
                    site.instruction.address - site.start,
                )),
                text: self.trace.text(*number),
                place: places.get(&site.instruction.address).cloned(),
                depth: depths.get(at).copied().unwrap_or_default(),
            }
        });
        let steps: Vec<Step> = steps.collect();
        Ok(report::insn::listing(&steps))
    }

    fn tree<'a>(&'a self, metric: &'a str, chosen: &'a Chosen) -> CallTree<'a> {
        CallTree {
            metric,
            target: &self.target,
            samples: chosen.sampled.samples,
            all_samples: self.samples.sampled.iter().map(|one| one.samples).sum(),
            batch: self.trace.batch(metric),
            idle: chosen.sampled.idle,
            calls: &chosen.calls,
            functions: &self.trace.functions,
            counts: &chosen.each,
            lines: &chosen.lines,
            files: &chosen.files,
        }
    }
}

/// A saved run that is to be repeated.
struct Saved {
    file: String,
    run: Run,
    on: Spec,
    samples: u32,
    asked: filter::Selection,
}

impl Saved {
    fn read(path: &Path) -> Result<Self, Failure> {
        let path = &named(path)?;
        let run = read_run(path)?;
        let fact = |name: &str| {
            Fact::value_in(&run.host, name).ok_or_else(|| {
                Failure::Failed(format!(
                    "{} does not say its {name}, so it cannot be repeated",
                    path.display()
                ))
            })
        };
        let on = spec(fact("target")?).map_err(Failure::Failed)?;
        let samples = fact("samples")?;
        let samples = samples.parse().map_err(|_| {
            Failure::Failed(format!(
                "{}: samples={samples} is no number",
                path.display()
            ))
        })?;
        let asked = run.asked();
        Ok(Saved {
            file: path.display().to_string(),
            run,
            on,
            samples,
            asked,
        })
    }
}

/// Measures the metric alone and follows it; `None` if the user stopped that.
fn follow(
    arguments: &Arguments,
    on: &Spec,
    wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let order = run::Arguments {
        on: on.clone(),
        effort: Effort {
            samples: arguments.samples,
            ..Effort::default()
        },
        ..run::Arguments::default()
    };
    measure_followed(&arguments.metric, order, Measured::Alone, wanted, interrupt)
}

/// Repeats a saved run and follows the metric in it; `None` if the user stopped that.
fn follow_again(
    metric: &str,
    saved: &Saved,
    wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let order = run::Arguments {
        on: saved.on.clone(),
        filters: saved.asked.filters.clone(),
        exclude: saved.asked.exclude.clone(),
        effort: Effort {
            samples: Some(saved.samples),
            ..Effort::default()
        },
        ..run::Arguments::default()
    };
    let measured = Measured::AsIn(saved.file.clone());
    let followed = measure_followed(metric, order, measured, wanted, interrupt)?;
    let Some(followed) = followed else {
        return Ok(None);
    };
    if distribution(&saved.run, metric) != distribution(&followed.run, metric) {
        return Err(Failure::Failed(format!(
            "{metric} has another distribution than in the saved run, so its paths would not be \
             those of that run; the kernel, the tool or the emulator is another"
        )));
    }
    Ok(Some(followed))
}

fn distribution<'a>(run: &'a Run, metric: &str) -> Option<&'a Histogram> {
    let metric = run.metrics.iter().find(|one| one.id == metric)?;
    Some(&metric.replicates.first()?.histogram)
}

/// Measures once and follows a metric.
fn measure_followed(
    metric: &str,
    mut order: run::Arguments,
    how: Measured,
    mut wanted: TraceOptions,
    interrupt: &Interrupt,
) -> Result<Option<Followed>, Failure> {
    let target = resolve(&order.on, interrupt)?;
    check_exact(&target)?;
    order.effort.runs = Some(1);
    order.trace = Some(TraceOptions::default());
    order.check(&target)?;
    let progress = Progress::new();
    let Some(mut prepared) = prepare(target, &order, interrupt, &progress)? else {
        return Ok(None);
    };
    let entries = prepared.catalog.iter().flat_map(|catalog| &catalog.entries);
    let ids: Vec<&str> = entries.clone().map(|entry| entry.metric.as_str()).collect();
    let Some(entry) = entries.clone().find(|entry| entry.metric == metric) else {
        return Err(Failure::Absent(format!(
            "{} has no metric `{metric}`{}; `kernmark list --on {}` lists them",
            order.on,
            filter::suggestion(metric, &ids),
            order.on
        )));
    };
    let case = entry.case.clone();
    let cases = match how {
        Measured::Alone => vec![case.clone()],
        Measured::AsIn(_) => prepared.cases(&order.metrics()),
    };
    wanted.case = Some(case);
    let tracer = prepared.target.tracer.clone();
    let tracer = tracer.ok_or_else(|| Failure::Failed("nothing is followed".to_owned()))?;
    if let Some(why) = tracer.why_log() {
        progress.clear();
        eprintln!("kernmark: the emulator's log lists the instructions, which takes longer: {why}");
    }
    tracer.follow(wanted);
    let facts = prepared.facts(&order, SystemTime::now());
    let mut sink = io::sink();
    let mut recording = Recording::new(&facts, &mut sink);
    let measurement = prepared.measurement_of(cases, &mut recording);
    let mut watch = |position: &Position| progress.show(&progress::line(position));
    let measured = measure::measure(measurement, &mut watch).map_err(Failure::Failed)?;
    let (run, _) = recording.finish();
    drop(progress);
    if measured.end == End::Interrupted {
        return Ok(None);
    }
    let seen = tracer.read().map_err(Failure::Failed)?;
    let trace = Trace::new(&run, 0, &tracer.cases(), seen);
    let samples = match trace.metrics.iter().find(|one| one.metric == metric) {
        Some(found) => found
            .samples
            .clone()
            .map_err(|why| Failure::Failed(format!("{metric}: {why}")))?,
        None => return Err(Failure::Failed(no_number(&run, metric, &measured.notices))),
    };
    Ok(Some(Followed {
        target: order.on.to_string(),
        paths: trace.paths(&samples).map_err(Failure::Failed)?,
        run,
        trace,
        samples,
        measured: how,
        tracer,
    }))
}

/// Why a metric was not followed: it has no number.
fn no_number(run: &Run, metric: &str, notices: &[String]) -> String {
    use crate::stream::run::Outcome;
    let found = run.metrics.iter().find(|one| one.id == metric);
    let replicate = found.and_then(|metric| metric.replicates.first());
    let why = match replicate.map(|replicate| &replicate.outcome) {
        Some(Outcome::Skipped(why) | Outcome::Failed(why) | Outcome::Incomplete(why)) => {
            why.clone()
        }
        Some(Outcome::Ok) => "the emulator did not follow it".to_owned(),
        None => notices.join("; "),
    };
    format!("{metric} has no number: {why}")
}
