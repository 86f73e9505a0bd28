// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `history`: what changed in the saved runs of a target on a machine, and when.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand, ValueEnum};

use super::arguments::{spec, Choice, Printed};
use super::folder::folder;
use super::output::{page, print, style};
use super::target::resolve;
use super::{exit, interrupt, Failure, Outcome};
use crate::base::text::plain;
use crate::files::digest::{Head, Timeline};
use crate::files::store;
use crate::judge::compare::Verdict;
use crate::judge::history::{
    self, Acknowledged, Acknowledgement, History, Options, Place, Silence,
};
use crate::judge::quantity::Quantity;
use crate::report::history::{Subject, View};
use crate::stream::filter;
use crate::stream::run::LINUX;
use crate::target::spec::Spec;
use crate::{export, report};

/// The arguments of `history`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub action: Option<Action>,

    /// What to show without a subcommand.
    #[command(flatten)]
    pub showing: Showing,
}

/// What to do besides showing a history.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Acknowledge a change, so that it is not told again
    Ack(Ack),
}

/// Which runs a history is made of.
#[derive(Args, Clone, Debug)]
pub struct Which {
    /// The target
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux")]
    pub on: Spec,

    /// The machine, by the name or the identity that its runs have [default: that of the newest run]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,

    /// Only runs with this label; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,

    /// Only runs since this day (2026-11-22) or time (2026-11-22T16:00:00Z)
    #[arg(long, value_name = "DATE", value_parser = since)]
    pub since: Option<u64>,

    /// The quantity to judge: p50, p90, p99, p99.9 or cold
    #[arg(long, value_name = "QUANTITY", default_value = "p50")]
    pub quantity: Quantity,
}

/// The arguments of `history` without a subcommand.
#[derive(Args, Debug)]
pub struct Showing {
    /// Select metrics: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "METRIC")]
    pub filters: Vec<String>,

    /// The runs.
    #[command(flatten)]
    pub which: Which,

    /// List what moved without an event, and every event
    #[arg(long)]
    pub all: bool,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<HistoryFormat>,

    /// Act as a gate: exit with 3 if a metric regressed with an event and nobody acknowledged it,
    /// and with 5 if there are too few runs to judge
    ///
    /// A gate judges more strictly than a report, so that few of its alarms are false. A regression
    /// that a later improvement of the metric follows does not count.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,

    /// The file of acknowledged changes [default: acknowledged.toml beside the saved runs]
    #[arg(long, value_name = "FILE")]
    pub ack: Option<PathBuf>,
}

/// The arguments of `history ack`.
#[derive(Args, Debug)]
pub struct Ack {
    /// The metric or a glob, and the run since which it changed: semaphore.take@3f2a9c1d
    /// [default: its newest change]
    #[arg(value_name = "METRIC[@RUN]")]
    pub change: String,

    /// Why the change is expected
    #[arg(long, value_name = "TEXT")]
    pub reason: String,

    /// The file to append to [default: acknowledged.toml beside the saved runs]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The runs.
    #[command(flatten)]
    pub which: Which,
}

/// The verdicts that make the gate fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A metric regressed
    Regression,
}

/// The formats of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// A report for people
    #[default]
    Table,
    /// JSON: runs, events, values and changes
    Json,
    /// Comma-separated values: a line for each change
    Csv,
    /// A page for a browser, in one file
    Html,
}

impl Choice for HistoryFormat {
    const JSON: Self = HistoryFormat::Json;
}

/// Parses a label.
fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("not KEY=VALUE".to_owned()),
    }
}

/// Parses a day or a time; returns seconds since 1970.
fn since(text: &str) -> Result<u64, String> {
    let time = humantime::parse_rfc3339_weak(text)
        .or_else(|_| humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z")))
        .map_err(|_| "not a date such as 2026-11-22 or 2026-11-22T16:00:00Z".to_owned())?;
    let since: Result<_, _> = SystemTime::duration_since(&time, UNIX_EPOCH);
    Ok(since.map_or(0, |since| since.as_secs()))
}

pub(super) fn history(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        None => show(&arguments.showing),
        Some(Action::Ack(ack)) => acknowledge(ack),
    }
}

/// The runs of a target on a machine, and the values of the selected metrics in them.
struct Past {
    target: String,
    machine: Option<String>,
    timeline: Timeline,
}

impl Past {
    fn of(which: &Which, filters: &[String]) -> Result<Self, Failure> {
        let target = resolve(&which.on, &interrupt()?)?.target();
        let folder = folder()?;
        let is_wanted = |head: &Head| {
            let has = |(key, value): &(String, String)| {
                head.labels().any(|(k, v)| k == key && v == value)
            };
            head.target() == target
                && !head.is_imported()
                && which.since.is_none_or(|since| head.started >= since)
                && which.label.iter().all(has)
        };
        // That of the newest run, unless the user names one.
        let machine: OnceCell<Option<String>> = OnceCell::new();
        let is_of_machine = |head: &Head| {
            let own = head.machine();
            let of_newest = || which.machine.clone().or_else(|| own.map(str::to_owned));
            match (machine.get_or_init(of_newest), own) {
                (Some(machine), Some(own)) => own == machine,
                (None, _) => true,
                (Some(_), None) => which.machine.is_none(),
            }
        };
        let is_run = |head: &Head| is_wanted(head) && is_of_machine(head);
        let selection = filter::Selection {
            filters: filters.to_vec(),
            exclude: Vec::new(),
        };
        let timeline = folder.timeline(which.quantity as usize, &is_run, &|id| {
            selection.selects(id)
        });
        let timeline = timeline.map_err(Failure::Failed)?;
        if timeline.runs.is_empty() {
            let on = match target.as_str() {
                LINUX => String::new(),
                other => format!(" --on '{other}'"),
            };
            return Err(Failure::Failed(format!(
                "no such run of {target} is saved in {}; make one with `kernmark run{on}`",
                folder.path().display()
            )));
        }
        let ids: Vec<&str> = timeline.series.iter().map(|s| s.metric.as_str()).collect();
        filter::verify(filters, &ids).map_err(Failure::Absent)?;
        Ok(Past {
            target,
            machine: machine.into_inner().flatten(),
            timeline,
        })
    }
}

/// The file of acknowledged changes: the one that the user named, or the one beside the runs.
fn file(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let runs = store::directory().map_err(Failure::Failed)?;
    Ok(store::parent(&runs).join("acknowledged.toml"))
}

/// The acknowledged changes. A file that the user named has to exist.
pub(super) fn acknowledged(named: Option<&Path>) -> Result<Acknowledged, Failure> {
    let path = file(named)?;
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            return Ok(Acknowledged::default());
        }
        Err(error) => {
            let why = format!("cannot read {}: {error}", path.display());
            return Err(Failure::Failed(why));
        }
        Ok(text) => text,
    };
    Acknowledged::parse(&path.display().to_string(), &text).map_err(Failure::Failed)
}

fn show(showing: &Showing) -> Outcome {
    let known = acknowledged(showing.ack.as_deref())?;
    let past = Past::of(&showing.which, &showing.filters)?;
    let options = match showing.fail_on {
        Some(FailOn::Regression) => Options::for_alarms(),
        None => Options::for_reports(),
    };
    let judged = history::judge(&past.timeline, &options, &known);
    let subject = Subject {
        target: &past.target,
        machine: past.machine.as_deref(),
        quantity: showing.which.quantity,
        timeline: &past.timeline,
        history: &judged,
    };
    match showing.printed.format() {
        HistoryFormat::Table => {
            let view = View {
                is_named: !showing.filters.is_empty(),
                all: showing.all,
            };
            page(&report::history::table(&subject, view, &style()))?
        }
        HistoryFormat::Json => print(export::history::json(&subject).as_bytes())?,
        HistoryFormat::Csv => print(export::history::csv(&subject).as_bytes())?,
        HistoryFormat::Html => {
            let page = report::html::history::page(&past.timeline, &judged);
            print(page.render().as_bytes())?
        }
    };
    Ok(match showing.fail_on {
        Some(FailOn::Regression) => gate(&judged),
        None => exit::OK,
    })
}

/// The exit status of the gate.
fn gate(judged: &History) -> u8 {
    let is_regressed = judged.metrics.iter().any(|metric| {
        let news = metric.changes.iter().rev();
        let mut since = news.take_while(|change| change.verdict != Verdict::Improved);
        since.any(|change| change.verdict == Verdict::Regressed && change.is_news())
    });
    let is_unjudged = |silence: Option<Silence>| {
        matches!(silence, Some(Silence::TooFewRuns(_) | Silence::NoValues))
    };
    if is_regressed {
        exit::REGRESSED
    } else if judged.metrics.iter().all(|one| is_unjudged(one.silence)) {
        exit::INCOMPARABLE
    } else {
        exit::OK
    }
}

/// Appends a change to the file of acknowledged changes.
fn acknowledge(ack: &Ack) -> Outcome {
    let (metric, run) = match ack.change.rsplit_once('@') {
        Some((metric, run)) => (metric, Some(run)),
        None => (ack.change.as_str(), None),
    };
    let path = file(ack.file.as_deref())?;
    let hash = match run {
        Some(run) => run.to_owned(),
        None => newest_change(&ack.which, metric, &path)?,
    };
    let change = Acknowledgement {
        metric: metric.to_owned(),
        place: Place::Run(hash),
        reason: ack.reason.clone(),
    };
    let name = path.display().to_string();
    let entry = change.text();
    // What would not be read back is not written.
    Acknowledged::parse(&name, &entry)
        .map_err(|why| Failure::Usage(why.trim_start_matches(&format!("{name}:1: ")).to_owned()))?;
    let known = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            let why = format!("cannot read {}: {error}", path.display());
            return Err(Failure::Failed(why));
        }
    };
    let text = match known {
        Some(known) => {
            Acknowledged::parse(&name, &known).map_err(Failure::Failed)?;
            format!("{}\n\n{entry}", known.trim_end())
        }
        None => Acknowledged { all: vec![change] }.text(),
    };
    store::replace(&path, &text).map_err(Failure::Failed)?;
    eprintln!("acknowledged in {}", plain(&name));
    Ok(exit::OK)
}

/// The hash of the run with which the newest change of these metrics began that nobody acknowledged.
fn newest_change(which: &Which, metric: &str, path: &Path) -> Result<String, Failure> {
    const DIGITS: usize = 12;
    let known = if path.exists() {
        acknowledged(Some(path))?
    } else {
        Acknowledged::default()
    };
    let past = Past::of(which, &[metric.to_owned()])?;
    let judged = history::judge(&past.timeline, &Options::for_reports(), &known);
    let changes = judged.metrics.iter().flat_map(|one| &one.changes);
    let news = changes.filter(|change| change.is_news());
    let newest = news.map(|change| change.run).max().ok_or_else(|| {
        Failure::Usage(format!(
            "{metric} has no change that is not acknowledged; name the run: {metric}@RUN"
        ))
    })?;
    let hash = &past.timeline.runs[newest].hash;
    Ok(hash.get(..DIGITS).unwrap_or(hash).to_owned())
}
