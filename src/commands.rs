//! The commands: what each [`cli::Command`] does. Their exit status is returned, never taken.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use clap::CommandFactory;

use crate::cli::{self, Arguments, Command, Format};
use crate::doctor::{self, Probes};
use crate::filter;
use crate::interrupt::Interrupt;
use crate::machine::{self, Machine};
use crate::measure::{self, End, Measured, Plan, Realtime, Recording};
use crate::progress::{self, Position, Progress};
use crate::report::terminal::{Colour, Style};
use crate::report::text::plain;
use crate::report::{self, terminal};
use crate::run::{Entry, Fact, Run};
use crate::session::Reader;
use crate::store::Part;
use crate::summary::{summarise, Status};
use crate::target::host::Host;
use crate::target::Target;
use crate::turn::{self, Waited};
use crate::{catalog, export, screen, store};

/// Time without output after which an agent counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a run waits for another one to end.
const WAIT: Duration = Duration::from_secs(120);

/// How long the doctor watches what else runs.
const WATCH: Duration = Duration::from_millis(500);

/// Columns of a report that neither a terminal nor the user limits.
const WIDTH: usize = 100;

/// What other suites call our metrics.
const ALIASES: &str = include_str!("../reference/aliases.csv");

/// Why a command did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// Something went wrong.
    Failed(String),
}

type Outcome = Result<u8, Failure>;

/// Does what the arguments say and returns the exit status.
///
/// # Errors
///
/// What the user is to be told, when there is no other result.
pub fn dispatch(arguments: Arguments) -> Outcome {
    match arguments.command {
        None => run(&cli::Run::default()),
        Some(Command::Run(arguments)) => run(&arguments),
        Some(Command::List(arguments)) => list(&arguments),
        Some(Command::Show(arguments)) => show(&arguments),
        Some(Command::Doctor) => examine(),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "kernmark", &mut script);
            print(&script)
        }
        Some(Command::Man) => print(&man().map_err(|error| Failure::Failed(error.to_string()))?),
    }
}

fn run(arguments: &cli::Run) -> Outcome {
    let plan = plan(arguments);
    if let Some(path) = &arguments.output {
        writable(path)?;
    }
    if let Some(cpu) = plan.cpu {
        let machine = Machine::read(Path::new("/"));
        if !machine.allowed.contains(&cpu) {
            return Err(Failure::Usage(format!(
                "CPU {cpu} is not one that this process may use: {}",
                machine::format_cpu_list(&machine.allowed)
            )));
        }
    }
    let progress = Progress::new();
    progress.show("reading the catalog");
    let interrupt = interrupt()?;
    let patience = arguments.case_timeout.unwrap_or(PATIENCE);
    let mut host = Host::new(patience, &interrupt).map_err(Failure::Failed)?;
    let Some(catalog) = measure::catalog(&mut host).map_err(Failure::Failed)? else {
        return Ok(cli::INTERRUPTED);
    };
    select(&catalog.entries, &arguments.filters)?;
    let cases = measure::cases(&catalog.entries, |entry| picked(entry, &arguments.filters));

    let _turn = match turn(arguments, &interrupt, &progress)? {
        Waited::Ours(turn) => Some(turn),
        Waited::Unguarded(why) => {
            progress.clear();
            eprintln!(
                "kernmark: nothing keeps another kernmark from measuring beside this one: {}",
                plain(&why)
            );
            None
        }
        Waited::Interrupted => return Ok(cli::INTERRUPTED),
    };
    // Read only here: what was true before the wait need not be true any more.
    let machine = Machine::read(Path::new("/"));
    let started = SystemTime::now();
    let mut facts = machine::facts(&machine);
    facts.extend(own_facts(arguments, &plan, started));
    let name = store::name(started, &catalog.port, plan.seed);
    let mut part = part(arguments, &name)?;
    let mut nowhere = io::sink();
    let out: &mut dyn Write = match &mut part {
        Some(part) => part,
        None => &mut nowhere,
    };
    let mut recording = Recording::new(&facts, out);
    for line in &catalog.lines {
        recording.line(line);
    }
    let target: &mut dyn Target = &mut host;
    let mut watch = |position: &Position| progress.show(&progress::line(position));
    let measured = measure::measure(target, &plan, &cases, &mut recording, &mut watch)
        .map_err(Failure::Failed)?;
    drop(progress);
    let (run, written) = recording.finish();

    for notice in &measured.notices {
        eprintln!("kernmark: {}", plain(notice));
    }
    if run.sessions.is_empty() {
        if let Some(part) = part {
            part.discard();
        }
        return match measured.end {
            End::Interrupted => Ok(cli::INTERRUPTED),
            _ => Err(Failure::Failed("nothing was measured".to_owned())),
        };
    }
    // Saved first: whatever happens to the output, the result is not lost.
    let unsaved = part.is_none() && wanted(arguments);
    let saved = part.map(|part| part.finish(written)).transpose();
    let text = if arguments.check && arguments.format == Format::Table {
        report::check::render(&summarise(&run), style().width)
    } else {
        formatted(&run, arguments.format)
    };
    print(text.as_bytes())?;
    let saved = match saved {
        Ok(None) => !unsaved,
        Ok(Some(path)) => {
            eprintln!("saved: {}", path.display());
            true
        }
        Err(why) => {
            eprintln!("kernmark: the run is not saved: {why}");
            false
        }
    };
    // The message above names what this run left.
    if saved {
        tell_left_over();
    }
    Ok(exit_status(&run, &measured, saved))
}

/// Waits until no other kernmark measures on this machine.
fn turn(
    arguments: &cli::Run,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Waited, Failure> {
    let limit = arguments.wait.unwrap_or(WAIT);
    let mut waiting = || {
        progress.clear();
        eprintln!(
            "kernmark: another kernmark is measuring; waiting, {} s at most",
            limit.as_secs_f64()
        );
    };
    turn::take(limit, interrupt, &mut waiting).map_err(Failure::Failed)
}

fn exit_status(run: &Run, measured: &Measured, saved: bool) -> u8 {
    match measured.end {
        End::Interrupted => cli::INTERRUPTED,
        End::Complete if saved && !measured.partial => worth(run),
        End::Complete | End::GivenUp => cli::FAILED,
    }
}

/// The exit status that a run deserves by what it says.
fn worth(run: &Run) -> u8 {
    let damage = &run.damage;
    let lost = damage.damaged + damage.gaps + damage.truncated > 0;
    let failed = |status| matches!(status, Status::Failed | Status::Incomplete);
    if lost || summarise(run).iter().any(|one| failed(one.status)) {
        cli::FAILED
    } else {
        cli::OK
    }
}

/// Whether the run is to be saved.
fn wanted(arguments: &cli::Run) -> bool {
    arguments.output.is_some() || !arguments.check
}

/// Where the run goes while it is measured; `None` when it is not to be saved or cannot be, which
/// the user is told. A file that the user named has to be there.
fn part(arguments: &cli::Run, name: &str) -> Result<Option<Part>, Failure> {
    match &arguments.output {
        Some(path) => Part::create(path).map(Some).map_err(Failure::Failed),
        None if wanted(arguments) => match Part::create_in_directory(name) {
            Ok(part) => Ok(Some(part)),
            Err(why) => {
                eprintln!("kernmark: the run is not saved: {}", plain(&why));
                Ok(None)
            }
        },
        None => Ok(None),
    }
}

/// Tells of runs that were cut off.
fn tell_left_over() {
    let parts = store::left_over();
    if let Some((last, others)) = parts.split_last() {
        let more = match others.len() {
            0 => String::new(),
            count => format!(" ({count} more beside it)"),
        };
        eprintln!(
            "a run that was cut off: kernmark show {}{more}; remove the file when it is not needed",
            plain(&last.display().to_string())
        );
    }
}

/// Refuses, before anything is measured, a path that the run could not be saved as.
fn writable(path: &Path) -> Result<(), Failure> {
    let directory = store::parent(path);
    let part = store::part_of(path);
    if path.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(path)))
    } else if part.symlink_metadata().is_ok() {
        Err(Failure::Usage(store::exists(&part)))
    } else if directory.is_dir() {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "{} is no directory; make it, or choose another name for the run",
            directory.display()
        )))
    }
}

fn plan(arguments: &cli::Run) -> Plan {
    let (runs, samples, time) = match (arguments.check, arguments.quick) {
        // Three, so that what one stray interrupt spoils is not taken for a fault of the port.
        (true, _) => (3, 20, 10.0),
        // One more than an interval needs, so that a replicate that is lost does not cost it.
        (_, true) => (7, 100, 4.2),
        _ => (10, 500, 25.0),
    };
    let time = arguments
        .time_budget
        .unwrap_or(Duration::from_secs_f64(time));
    Plan {
        runs: arguments.runs.unwrap_or(runs),
        samples: arguments.samples.unwrap_or(samples),
        time: (!time.is_zero()).then_some(time),
        seed: arguments.seed.unwrap_or_else(|| fastrand::u32(..)),
        cpu: arguments.cpu,
        realtime: if arguments.no_realtime {
            Realtime::Never
        } else {
            Realtime::Auto
        },
    }
}

/// What the tool adds to the facts of the machine: when, and how it was asked to measure.
fn own_facts(arguments: &cli::Run, plan: &Plan, started: SystemTime) -> Vec<Fact> {
    let time = plan.time.map_or("unbounded".to_owned(), |time| {
        format!("{} s", time.as_secs_f64())
    });
    let mut facts = vec![
        (
            "started",
            humantime::format_rfc3339_seconds(started).to_string(),
        ),
        ("seed", plan.seed.to_string()),
        ("runs", plan.runs.to_string()),
        ("samples", plan.samples.to_string()),
        ("time_budget", time),
    ];
    if !arguments.filters.is_empty() {
        facts.push(("filters", arguments.filters.join(" ")));
    }
    if arguments.host_name {
        let name = rustix::system::uname();
        facts.push(("host_name", name.nodename().to_string_lossy().into_owned()));
    }
    facts
        .into_iter()
        .map(|(name, value)| Fact {
            name: name.to_owned(),
            value,
        })
        .collect()
}

fn list(arguments: &cli::List) -> Outcome {
    let interrupt = interrupt()?;
    let mut host = Host::new(PATIENCE, &interrupt).map_err(Failure::Failed)?;
    let Some(catalog) = measure::catalog(&mut host).map_err(Failure::Failed)? else {
        return Ok(cli::INTERRUPTED);
    };
    select(&catalog.entries, &arguments.filters)?;
    let entries: Vec<Entry> = catalog
        .entries
        .into_iter()
        .filter(|entry| picked(entry, &arguments.filters))
        .collect();
    let text = match arguments.format {
        Format::Table => terminal::catalog(&entries, &style()),
        Format::Json => export::json::catalog(&entries),
        Format::Csv => export::csv::catalog(&entries),
        Format::Md => {
            let counterparts = catalog::counterparts(ALIASES).map_err(Failure::Failed)?;
            catalog::markdown(&entries, &counterparts)
        }
    };
    print(text.as_bytes())
}

fn show(arguments: &cli::Show) -> Outcome {
    let path = if let Some(path) = &arguments.file {
        path.clone()
    } else {
        tell_left_over();
        store::latest().map_err(Failure::Failed)?
    };
    let stream = store::load(&path).map_err(Failure::Failed)?;
    let mut reader = Reader::new();
    for line in stream.split_inclusive(|&byte| byte == b'\n') {
        reader.line(line);
    }
    let refused = reader.refused();
    let run = reader.finish();
    if run.sessions.is_empty() {
        let why = refused.map_or(
            "it holds no measurement; is it a run that kernmark saved?".to_owned(),
            |why| why.to_string(),
        );
        return Err(Failure::Failed(format!("{}: {why}", path.display())));
    }
    let text = match &arguments.metric {
        Some(id) => {
            let ids: Vec<&str> = run.metrics.iter().map(|one| one.id.as_str()).collect();
            if !ids.contains(&id.as_str()) {
                return Err(Failure::Usage(format!(
                    "the run has no metric `{id}`{}",
                    filter::suggestion(id, &ids)
                )));
            }
            terminal::distribution(&run, id, &style()).map_err(Failure::Failed)?
        }
        None => formatted(&run, arguments.format),
    };
    print(text.as_bytes())?;
    Ok(worth(&run))
}

fn examine() -> Outcome {
    let findings = doctor::examine(&Machine::read(Path::new("/")), &Probes::take(WATCH));
    print(report::doctor::render(&findings, &style()).as_bytes())
}

fn formatted(run: &Run, format: Format) -> String {
    match format {
        Format::Table => terminal::table(run, &style()),
        Format::Json => export::json::run(run),
        Format::Csv => export::csv::run(run),
        Format::Md => export::markdown::run(run),
    }
}

/// Checks that each filter selects something of the catalog.
fn select(catalog: &[Entry], filters: &[String]) -> Result<(), Failure> {
    let ids: Vec<&str> = catalog.iter().map(|entry| entry.metric.as_str()).collect();
    filter::verify(filters, &ids).map_err(Failure::Usage)
}

fn picked(entry: &Entry, filters: &[String]) -> bool {
    let selects = |filter: &String| filter::matches(filter, &entry.metric);
    filters.is_empty() || filters.iter().any(selects)
}

fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::install().map_err(|error| Failure::Failed(format!("cannot catch signals: {error}")))
}

/// How reports look on standard output.
fn style() -> Style {
    let stdout = io::stdout();
    let uncoloured = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = if screen::knows_escapes(&stdout) && !uncoloured {
        Colour::Always
    } else {
        Colour::Never
    };
    Style {
        width: screen::columns(&stdout).unwrap_or(WIDTH),
        colour,
    }
}

/// Prints; a reader that went away has seen what it wanted.
fn print(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Failed(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(cli::OK),
    }
}

/// The man page: one page, with a section for each command.
fn man() -> io::Result<Vec<u8>> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let whole = clap_mangen::Man::new(command.clone());
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    whole.render_options_section(&mut page)?;
    for sub in command.get_subcommands() {
        let name = sub.get_name();
        let man = clap_mangen::Man::new(sub.clone().bin_name(format!("kernmark {name}")));
        let mut section = Vec::new();
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        writeln!(page, ".SH \"KERNMARK {}\"", name.to_uppercase())?;
        for line in String::from_utf8_lossy(&section).lines() {
            match line.strip_prefix(".SH") {
                None => writeln!(page, "{line}")?,
                Some(_) => writeln!(page, ".PP")?,
            }
        }
    }
    for (title, body) in [
        ("EXIT STATUS", cli::EXIT_STATUS),
        ("ENVIRONMENT", cli::ENVIRONMENT),
    ] {
        writeln!(page, ".SH \"{title}\"\n.nf\n{}\n.fi", body.trim_end())?;
    }
    Ok(page)
}
