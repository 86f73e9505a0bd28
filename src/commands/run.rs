// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `run`: measures a target, saves the run and shows it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{ArgGroup, Args};

use super::arguments::{
    seconds, spec, Conditions, Effort, Format, Printed, RunFormat, Table, ON, ON_LONG,
};
use super::folder::named;
use super::input::report_interrupted_runs;
use super::output::{eprint, formatted, page, print, style};
use super::saving::{Destination, MeasuredRun, Saving};
use super::target::{
    self, lock_machine, measured_cpus, open, resolve, Kind, OpenOptions, OpenTarget, ResolvedTarget,
};
use super::{budget, exit, interrupt, verify_selection, Failure, Outcome};
use crate::base::interrupt::Interrupt;
use crate::base::number::plural;
use crate::base::text::{plain, shell_word};
use crate::files::store::{self, HASH_IN_NAME};
use crate::judge::highlights;
use crate::judge::ranking::Ranking;
use crate::judge::summary::summarise;
use crate::judge::warnings::warnings;
use crate::machine::counters::{Detail, Observed};
use crate::machine::cpus::MeasuredCpus;
use crate::measure::progress::{self, Position, Progress};
use crate::measure::{self, Catalog, Measurement, Plan, Recording, Work};
use crate::report;
use crate::report::table::{self, View};
use crate::stream::counted::Counted;
use crate::stream::filter;
use crate::stream::run::{Fact, Run, Unit, EXCLUDE, FILTERS};
use crate::target::spec::Spec;
use crate::target::tracer::TraceOptions;
use crate::target::Orders;

/// The arguments of `run`.
#[allow(clippy::struct_excessive_bools)]
#[derive(Args, Debug, Default)]
#[command(group(ArgGroup::new("judged").args(["budget", "output"]).multiple(true)))]
pub struct Arguments {
    /// Select metrics: the start of an id (`semaphore`, `semaphore.take`) or a glob (`*.u_to_u`)
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// Leave out metrics: the start of an id or a glob; may be repeated
    #[arg(long, value_name = "FILTER")]
    pub exclude: Vec<String>,

    /// What to measure
    #[arg(long, value_name = "SPEC", value_parser = spec, default_value = "linux", help = ON, long_help = ON_LONG)]
    pub on: Spec,

    /// How much is measured.
    #[command(flatten)]
    pub effort: Effort,

    /// Only check that everything can be measured here and that every proof holds
    ///
    /// Measures a few replicates with few samples and does not save them unless -o names a file.
    #[arg(long, conflicts_with = "quick")]
    pub check: bool,

    /// The conditions.
    #[command(flatten)]
    pub conditions: Conditions,

    /// Save the run as FILE, which must not exist, or write it to standard output if FILE is -
    /// [default: a file in the data directory]
    ///
    /// With -, the report goes to standard error. Runs that --on file: reads from a file are saved
    /// again only with this option.
    ///
    /// The run grows in FILE.part until it is complete. If the tool is killed, FILE.part remains,
    /// and `kernmark show` reads it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The limits.
    #[command(flatten)]
    pub limits: Limits,

    /// The format.
    #[command(flatten)]
    pub printed: Printed<RunFormat>,

    /// The table.
    #[command(flatten)]
    pub table: Table,

    /// Show all metrics, not only the headlines and the worst tails of many
    #[arg(long, conflicts_with = "json")]
    pub all: bool,

    /// Seconds of silence after which the agent counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, hide = true)]
    pub case_timeout: Option<Duration>,

    /// Keep in the run what each sample executed, by function
    ///
    /// Works on targets that count instructions. `compare` and `matrix` of such runs say where a
    /// change is; `kernmark why` shows one metric in detail.
    #[arg(long)]
    pub why: bool,

    /// With --why: also count loads, stores, accesses to devices, taken branches, privileged,
    /// serialising and atomic instructions, and the lines of code and data that a sample touches
    #[arg(long, requires = "why")]
    pub counts: bool,

    /// What to follow the instructions of, if not what --why asks for.
    #[arg(skip)]
    pub trace: Option<TraceOptions>,
}

/// What a run is held to.
#[derive(Args, Debug, Default)]
pub struct Limits {
    /// Check the run against the absolute limits in FILE
    ///
    /// FILE is TOML and gives the highest cost of each metric; see doc/ci.md. The exit status is 3
    /// if a metric exceeds its limit and 4 if a limit cannot be judged.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub budget: Option<PathBuf>,

    /// Exit as `git bisect run` expects: 0 within the limits of --budget, 1 above one, 125 if
    /// that could not be judged
    ///
    /// 128 and more for wrong arguments and interrupts, which stop the bisection. Instead of
    /// --budget, -o can save the run for `kernmark compare --bisect`. See doc/bisect.md.
    #[arg(long, requires = "judged")]
    pub bisect: bool,
}

/// Twice the shortest duration of a batched sample on Linux, in nanoseconds.
const EPOCH_NS: u32 = 20_000;

/// Measures a target, saves the run and shows it.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let interrupt = interrupt()?;
    // A faulty budget is reported before anything is measured.
    let budget = budget::read(arguments.limits.budget.as_deref())?;
    let Some(made) = measure_target(arguments, &interrupt)? else {
        return Ok(exit::INTERRUPTED);
    };
    let judgement = budget.map(|budget| budget.judge(&made.run)).transpose();
    let selection = arguments.metrics();
    let shown = selected(&made, &selection);
    let view = View {
        columns: arguments.table.columns.clone(),
        ranking: Ranking {
            all: arguments.all,
            ..Ranking::default()
        },
        filtered: selection != filter::Selection::default(),
    };
    let text = match (&judgement, arguments.printed.format()) {
        (Ok(Some(judgement)), format) => budget::formatted_with(&shown, judgement, format, &view),
        (_, RunFormat::Own(Format::Table)) if arguments.check => {
            Ok(report::check::render(&summarise(&shown), style().width))
        }
        (_, format) => formatted(&shown, format, &view),
    };
    let is_table = matches!(arguments.printed.format(), RunFormat::Own(Format::Table));
    if let Ok(text) = &text {
        match arguments.destination() {
            Destination::StandardOutput => eprint(text),
            _ if is_table => drop(page(text)?),
            _ => drop(print(text.as_bytes())?),
        }
    }
    if let Some(path) = &made.path {
        eprintln!("saved: {}", path.display());
        if is_table && !arguments.check {
            report_next_commands(path, arguments, &made, &view);
        }
    }
    // If saving failed, the user already knows which file is left.
    if !made.is_lost {
        report_interrupted_runs();
    }
    // Reported only now: even if the format cannot hold the run, it has been saved.
    text?;
    verify_selection(&selection, &[&made.run])?;
    let judgement = judgement.map_err(Failure::Absent)?;
    Ok(budget::combined_status(
        made.exit_status(),
        judgement.as_ref(),
    ))
}

/// Says which commands show more of a run that was saved in this file.
fn report_next_commands(path: &Path, arguments: &Arguments, made: &MeasuredRun, view: &View) {
    let run = &made.run;
    let is_in_directory = arguments.destination() == Destination::Directory;
    let name = is_in_directory.then(|| hash_in_name(path)).flatten();
    let file = name.unwrap_or_else(|| plain(&path.display().to_string()));
    let file = shell_word(&file);
    let mut commands = Vec::new();
    let left_out = table::left_out(run, view);
    if left_out > 0 {
        let more = plural(left_out as u64, "more metric");
        commands.push((format!("kernmark show {file} --all"), more));
    }
    if let Some(tail) = highlights::worst_tails(&summarise(run)).first() {
        let id = shell_word(&plain(&tail.of.id));
        let command = format!("kernmark show {file} --metric {id}");
        commands.push((command, "the distribution of a metric".to_owned()));
    }
    let is_latest = is_in_directory && !view.filtered && made.exit_status() == exit::OK;
    if is_latest && named(Path::new("latest~1")).is_ok() {
        let command = "kernmark compare latest~1 latest".to_owned();
        commands.push((command, "what changed since the run before".to_owned()));
    }
    if !warnings(run, None).is_empty() {
        let what = "what to do about the warnings".to_owned();
        commands.push(("kernmark doctor".to_owned(), what));
    }
    let width = commands.iter().map(|(command, _)| command.len()).max();
    let width = width.unwrap_or(0);
    for (at, (command, what)) in commands.iter().enumerate() {
        let label = if at == 0 { "next:" } else { "" };
        eprintln!("{label:<6} {command:<width$}  # {what}");
    }
}

/// The hash in the name of a file in the directory of saved runs, which names the run.
fn hash_in_name(path: &Path) -> Option<String> {
    let (_, end) = path.file_name()?.to_str()?.rsplit_once('-')?;
    let hash = end.split('.').next()?;
    let is_hash = hash.len() == HASH_IN_NAME && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| hash.to_owned())
}

impl Arguments {
    /// The metrics to measure.
    pub(super) fn metrics(&self) -> filter::Selection {
        filter::Selection {
            filters: self.filters.clone(),
            exclude: self.exclude.clone(),
        }
    }

    /// What to follow the instructions of.
    fn wanted_trace(&self) -> Option<TraceOptions> {
        let all = TraceOptions {
            counts: self.counts,
            ..TraceOptions::default()
        };
        self.trace.clone().or(self.why.then_some(all))
    }

    /// Where the run is saved.
    pub(super) fn destination(&self) -> Destination {
        let is_saved_already = matches!(&self.on, Spec::File(path) if path.is_file());
        match &self.output {
            Some(path) => Destination::named(path),
            None if self.check || is_saved_already => Destination::Nowhere,
            None => Destination::Directory,
        }
    }

    /// Checks, before anything is measured, that the target can be measured this way and that the
    /// run can be saved.
    pub(super) fn check(&self, target: &ResolvedTarget) -> Result<(), Failure> {
        target::check(target, &self.on, &self.effort, &self.conditions)?;
        self.destination().check()
    }
}

/// The metrics of a run that are selected. A target that takes no orders measures more, and a case
/// may have more metrics than the filters name: these stay, unless they are excluded.
pub(super) fn selected(made: &MeasuredRun, selection: &filter::Selection) -> Run {
    let mut selected = made.run.clone();
    let filters = match made.orders {
        Orders::None => selection.filters.clone(),
        _ => Vec::new(),
    };
    selected.select(&filter::Selection {
        filters,
        exclude: selection.exclude.clone(),
    });
    selected
}

/// Measures a target and saves the run. Notices go to standard error. Returns `None` if the user
/// stopped the run before anything was measured.
///
/// # Errors
///
/// The arguments make no sense for this target, or nothing can be measured.
pub(super) fn measure_target(
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<Option<MeasuredRun>, Failure> {
    let target = resolve(&arguments.on, interrupt)?;
    arguments.check(&target)?;
    let progress = Progress::new();
    let Some(mut prepared) = prepare(target, arguments, interrupt, &progress)? else {
        return Ok(None);
    };
    let Some(_lock) = lock_machine(
        &prepared.target,
        arguments.conditions.wait,
        interrupt,
        &progress,
    )?
    else {
        return Ok(None);
    };
    let selection = arguments.metrics();
    let detail = arguments.conditions.detail();
    let Some(observed) = prepared.observe(&selection, detail, interrupt) else {
        return Ok(None);
    };
    // Read after the wait, which may have been long.
    let started = SystemTime::now();
    let name = store::name(started, &prepared.target.name);
    let mut saving = Saving::begin(&arguments.destination(), &name, prepared.plan.seed)?;
    let mut facts = prepared.facts(arguments, started);
    facts.extend(observed.processes);
    if prepared.target.meter.is_some() && !arguments.check {
        progress.clear();
        report_warnings(&facts, &observed.counted, prepared.cpus);
    }
    let mut recording = Recording::new(&facts, saving.out());
    recording.before(&observed.counted);
    let measurement = prepared.measurement(&selection, &mut recording);
    let mut watch = |position: &Position| progress.show(&progress::line(position));
    let mut measured = measure::measure(measurement, &mut watch);
    if let (Some(tracer), Ok(measured)) = (&prepared.target.tracer, &mut measured) {
        progress.show("reading what was executed");
        measured
            .notices
            .extend(measure::record_paths(tracer, &mut recording));
    }
    let finished = recording.finish();
    drop(progress);
    saving.conclude(finished, measured, prepared.orders())
}

/// Says before measuring what will spoil the numbers.
fn report_warnings(facts: &[Fact], before: &[Counted], cpus: Option<MeasuredCpus>) {
    let planned = Run {
        host: facts.to_vec(),
        before: before.to_vec(),
        ..Run::default()
    };
    for warning in warnings(&planned, cpus) {
        let sentence = report::warnings::sentence(&warning);
        eprintln!("kernmark: warning: {}", plain(&sentence));
    }
}

/// An open target, and what to measure on it.
pub(super) struct Prepared<'a> {
    pub target: OpenTarget<'a>,
    pub plan: Plan,
    /// `None` if the target takes no orders.
    pub catalog: Option<Catalog>,
    /// The CPUs that are measured, if this tool chooses them.
    cpus: Option<MeasuredCpus>,
    /// Where they lie.
    cpu_facts: Vec<Fact>,
}

/// Opens a target and reads its catalog; `None` if the user stopped that.
pub(super) fn prepare<'a>(
    target: ResolvedTarget,
    arguments: &Arguments,
    interrupt: &'a Interrupt,
    progress: &Progress,
) -> Result<Option<Prepared<'a>>, Failure> {
    let cpus = measured_cpus(&target, &arguments.conditions)?;
    let (cpus, cpu_facts) = cpus.unzip();
    let plan = plan(&target, arguments, cpus);
    let options = OpenOptions {
        silence: arguments.case_timeout,
        sessions: arguments.effort.runs,
        trace: arguments.wanted_trace(),
        progress,
    };
    let Some(mut target) = open(target, &options, interrupt)? else {
        return Ok(None);
    };
    let catalog = if target.target.orders() == Orders::None {
        progress.show("waiting for records");
        None
    } else {
        progress.show("reading the catalog");
        let Some(catalog) =
            measure::read_catalog(target.target.as_mut()).map_err(Failure::Failed)?
        else {
            return Ok(None);
        };
        let ids = catalog.entries.iter().map(|entry| entry.metric.as_str());
        let ids: Vec<&str> = ids.collect();
        arguments.metrics().verify(&ids).map_err(Failure::Absent)?;
        Some(catalog)
    };
    Ok(Some(Prepared {
        target,
        plan,
        catalog,
        cpus,
        cpu_facts: cpu_facts.unwrap_or_default(),
    }))
}

impl Prepared<'_> {
    pub(super) fn orders(&self) -> Orders {
        self.target.target.orders()
    }

    /// The cases with a selected metric.
    pub(super) fn cases(&self, selection: &filter::Selection) -> Vec<String> {
        let entries = self.catalog.iter().map(|catalog| &catalog.entries);
        let cases = |entries| measure::cases(entries, |entry| selection.selects(&entry.metric));
        entries.flat_map(|entries| cases(entries)).collect()
    }

    /// Watches this machine before the run, if the target runs on its CPUs; `None` if the user stopped
    /// that.
    pub(super) fn observe(
        &self,
        selection: &filter::Selection,
        detail: Detail,
        interrupt: &Interrupt,
    ) -> Option<Observed> {
        let Some(meter) = &self.target.meter else {
            return Some(Observed::default());
        };
        let length = self.plan.observation(self.cases(selection).len());
        meter.observe(length, detail, interrupt)
    }

    /// Everything that is known before measuring.
    pub(super) fn facts(&self, arguments: &Arguments, started: SystemTime) -> Vec<Fact> {
        let mut facts = self.target.facts();
        facts.extend(self.cpu_facts.iter().cloned());
        facts.extend(run_facts(arguments, &self.plan, &self.target, started));
        facts
    }

    /// Records the catalog and starts to measure what is selected.
    pub(super) fn measurement<'a, 'b>(
        &'a mut self,
        selection: &filter::Selection,
        recording: &'a mut Recording<'b>,
    ) -> Measurement<'a, 'b> {
        let cases = self.cases(selection);
        self.measurement_of(cases, recording)
    }

    /// Records the catalog and starts to measure these cases.
    pub(super) fn measurement_of<'a, 'b>(
        &'a mut self,
        cases: Vec<String>,
        recording: &'a mut Recording<'b>,
    ) -> Measurement<'a, 'b> {
        let work = match &self.catalog {
            Some(Catalog { lines, entries, .. }) => {
                for line in lines {
                    recording.line(line);
                }
                Work::cases(entries, cases)
            }
            None => Work::Listen,
        };
        let target = self.target.target.as_mut();
        Measurement::new(target, self.plan.clone(), work, recording).with(self.target.meter.clone())
    }
}

fn plan(target: &ResolvedTarget, arguments: &Arguments, cpus: Option<MeasuredCpus>) -> Plan {
    let (runs, samples, seconds) = match (target, arguments.check, arguments.effort.quick) {
        // Three replicates, so that one stray interrupt does not look like a fault of the port.
        (ResolvedTarget::Linux, true, _) => (3, 20, 10.0),
        // One more than an interval needs, because a replicate may be lost.
        (ResolvedTarget::Linux, _, true) => (7, 100, 4.2),
        (ResolvedTarget::Linux, _, _) => (10, 500, 25.0),
        (ResolvedTarget::Described(plan), true, _) => match plan.chosen.unit {
            Unit::Instructions => (1, 20, 0.0),
            Unit::Cycles | Unit::Ticks => (plan.chosen.runs.min(3), 20, 0.0),
        },
        (ResolvedTarget::Described(_), _, true) => (1, 100, 0.0),
        (ResolvedTarget::Described(plan), _, _) => (plan.chosen.runs, plan.chosen.samples, 0.0),
        (
            ResolvedTarget::Serial { .. } | ResolvedTarget::Exec(_) | ResolvedTarget::File(_),
            _,
            _,
        ) => (1, 0, 0.0),
    };
    let time = arguments
        .effort
        .time_budget
        .unwrap_or(Duration::from_secs_f64(seconds));
    Plan {
        runs: match target {
            // A file is read once. `--runs` limits the sessions that are read from it.
            ResolvedTarget::File(_) => 1,
            _ => arguments.effort.runs.unwrap_or(runs),
        },
        samples: arguments.effort.samples.unwrap_or(samples),
        time: (!time.is_zero()).then_some(time),
        seed: arguments.effort.seed.unwrap_or_else(|| fastrand::u32(..)),
        settings: match target {
            ResolvedTarget::Linux => linux_settings(arguments, cpus),
            _ => Vec::new(),
        },
    }
}

/// Further settings of the Linux agent.
fn linux_settings(
    arguments: &Arguments,
    cpus: Option<MeasuredCpus>,
) -> Vec<(&'static str, String)> {
    let mut settings = vec![("epoch_ns", EPOCH_NS.to_string())];
    if let Some(MeasuredCpus { cpu, other }) = cpus {
        let other = other.map_or_else(|| "none".to_owned(), |other| other.to_string());
        settings.extend([("cpu", cpu.to_string()), ("other", other)]);
    }
    let realtime = if arguments.conditions.no_realtime {
        "never"
    } else {
        "auto"
    };
    settings.push(("realtime", realtime.to_owned()));
    settings
}

/// Facts about the run: when it started and how it was measured.
fn run_facts(
    arguments: &Arguments,
    plan: &Plan,
    target: &OpenTarget,
    started: SystemTime,
) -> Vec<Fact> {
    let started = humantime::format_rfc3339_seconds(started).to_string();
    let mut facts = vec![Fact::new("started", started)];
    // Only this Linux measures the cases in an order of our choice.
    if target.kind == Kind::Linux {
        facts.push(Fact::new("seed", plan.seed.to_string()));
    }
    if target.kind != Kind::File {
        facts.push(Fact::new("runs", plan.runs.to_string()));
    }
    if plan.samples > 0 {
        facts.push(Fact::new("samples", plan.samples.to_string()));
    }
    match plan.time {
        Some(time) => facts.push(Fact::new(
            "time_budget",
            format!("{} s", time.as_secs_f64()),
        )),
        None if target.kind == Kind::Linux => {
            facts.push(Fact::new("time_budget", "unbounded"));
        }
        None => {}
    }
    if !arguments.filters.is_empty() || !arguments.exclude.is_empty() {
        let filters = match arguments.filters.as_slice() {
            [] => "*".to_owned(),
            some => some.join(" "),
        };
        facts.push(Fact::new(FILTERS, filters));
    }
    if !arguments.exclude.is_empty() {
        facts.push(Fact::new(EXCLUDE, arguments.exclude.join(" ")));
    }
    if arguments.conditions.host_name {
        let name = rustix::system::uname();
        let name = name.nodename().to_string_lossy().into_owned();
        facts.push(Fact::new("host_name", name));
    }
    facts.extend(arguments.conditions.said());
    facts
}
