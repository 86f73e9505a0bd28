// SPDX-License-Identifier: MIT OR Apache-2.0

//! The commands: what each [`arguments::Command`] does. Their exit status is returned, never taken.

mod ab;
pub mod arguments;
mod budget;
mod compare;
mod coverage;
mod explain;
mod import;
mod matrix;
mod noise;
mod plan;
mod reference;
pub mod run;
mod targets;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::CommandFactory;

use self::arguments::{Arguments, Command, Format, RunFormat};
use crate::base::interrupt::Interrupt;
use crate::base::screen;
use crate::base::text::plain;
use crate::export;
use crate::files::store;
use crate::import::records;
use crate::judge::matrix::Column;
use crate::judge::summary::{summarise, Status};
use crate::machine::doctor::{self, Probes};
use crate::machine::Machine;
use crate::measure;
use crate::measure::progress::Progress;
use crate::report::catalog;
use crate::report::terminal::{Colour, Style};
use crate::report::{self, terminal};
use crate::stream::filter;
use crate::stream::run::{Entry, Run};
use crate::stream::session::Reader;
use crate::target::spec::Spec;

/// How long the doctor watches what else runs.
const WATCH: Duration = Duration::from_millis(500);

/// Columns of a report that neither a terminal nor the user limits.
const WIDTH: usize = 100;

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
        None => run::run(&arguments::Run::default()),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::List(arguments)) => list(&arguments),
        Some(Command::Matrix(arguments)) => matrix::matrix(&arguments),
        Some(Command::Show(arguments)) => show(&arguments),
        Some(Command::Import(arguments)) => import::import(&arguments),
        Some(Command::Compare(arguments)) => compare::compare(&arguments),
        Some(Command::Ab(arguments)) => ab::ab(&arguments),
        Some(Command::Noise(arguments)) => noise::noise(&arguments),
        Some(Command::Explain(arguments)) => explain::explain(&arguments),
        Some(Command::Plan(arguments)) => plan::plan(&arguments),
        Some(Command::Targets(arguments)) => targets::targets(&arguments),
        Some(Command::Doctor) => examine(),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "kernmark", &mut script);
            print(&script)
        }
        Some(Command::Man) => print(&man().map_err(|error| Failure::Failed(error.to_string()))?),
    }
}

/// The file that the user names, or the latest run of a target.
fn chosen(file: Option<&Path>, on: &Spec) -> Result<PathBuf, Failure> {
    if let Some(path) = file {
        return Ok(path.to_owned());
    }
    tell_left_over();
    let target = run::plan_target(on, &interrupt()?)?.target();
    let latest = store::latest(&target).map_err(Failure::Failed)?;
    if let Some(notice) = latest.notice {
        eprintln!("kernmark: {}", plain(&notice));
    }
    Ok(latest.path)
}

/// Tells of runs that were cut off.
fn tell_left_over() {
    let parts = store::interrupted_runs();
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

/// The exit status that a run deserves by what it says.
fn worth(run: &Run) -> u8 {
    let damage = &run.damage;
    let lost = damage.damaged + damage.gaps + damage.truncated > 0;
    let failed = |status| matches!(status, Status::Failed | Status::Incomplete);
    if lost || summarise(run).iter().any(|one| failed(one.status)) {
        arguments::FAILED
    } else {
        arguments::OK
    }
}

fn list(arguments: &arguments::List) -> Outcome {
    if let Some(reference) = &arguments.coverage {
        return coverage::coverage(reference, &arguments.filters, arguments.format);
    }
    if arguments.reference {
        return reference::list(&arguments.filters, arguments.format);
    }
    let interrupt = interrupt()?;
    let progress = Progress::new();
    let wanted = run::Wanted {
        silence: None,
        sessions: None,
        progress: &progress,
    };
    let plan = run::plan_target(&arguments.on, &interrupt)?;
    let Some(mut place) = run::prepare(plan, &wanted, &interrupt)? else {
        return Ok(arguments::INTERRUPTED);
    };
    let Some(catalog) = measure::read_catalog(place.target.as_mut()).map_err(Failure::Failed)?
    else {
        return Ok(arguments::INTERRUPTED);
    };
    drop(progress);
    select(&catalog.entries, &arguments.filters)?;
    let entries: Vec<Entry> = catalog
        .entries
        .into_iter()
        .filter(|entry| picked(&entry.metric, &arguments.filters))
        .collect();
    let text = match arguments.format {
        Format::Table => terminal::catalog(&entries, &style()),
        Format::Json => export::json::catalog(&entries),
        Format::Csv => export::csv::catalog(&entries),
        Format::Md => {
            let counterparts = crate::files::reference::counterparts().map_err(Failure::Failed)?;
            catalog::markdown(&entries, &catalog::elsewhere(&counterparts, &catalog.port))
        }
    };
    print(text.as_bytes())
}

fn show(arguments: &arguments::Show) -> Outcome {
    if let Some(dataset) = arguments.file.as_deref().and_then(reference::named) {
        return reference::show(&dataset?, arguments);
    }
    let path = chosen(arguments.file.as_deref(), &arguments.on)?;
    let run = saved(&path)?;
    if let Some(id) = &arguments.metric {
        let ids: Vec<&str> = run.metrics.iter().map(|one| one.id.as_str()).collect();
        if !ids.contains(&id.as_str()) {
            return Err(Failure::Usage(format!(
                "the run has no metric `{id}`{}",
                filter::suggestion(id, &ids)
            )));
        }
        let text = terminal::distribution(&run, id, &style()).map_err(Failure::Failed)?;
        print(text.as_bytes())?;
        return Ok(worth(&run));
    }
    let judgement = budget::judge(arguments.budget.as_deref(), &run)?;
    let text = match &judgement {
        Some(judgement) => budget::formatted_with(&run, judgement, arguments.format)?,
        None => formatted(&run, arguments.format)?,
    };
    print(text.as_bytes())?;
    Ok(budget::graver(worth(&run), judgement.as_ref()))
}

/// A saved run, or the results of another tool as one.
fn saved(path: &Path) -> Result<Run, Failure> {
    let failed = |why: String| Failure::Failed(format!("{}: {why}", path.display()));
    let mut reader = Reader::new();
    // It may be a pipe: both are looked for at once.
    let other = import::imported(path, None, &mut |line| reader.takes(line))?;
    let refused = reader.refused();
    let run = reader.finish();
    if !run.sessions.is_empty() {
        return Ok(run);
    }
    if let Some(refused) = refused {
        return Err(failed(refused.to_string()));
    }
    if !run.host.is_empty() || run.damage.damaged > 0 {
        return Err(failed("its run holds no measurement".to_owned()));
    }
    let imported = other.map_err(|problem| import::failure(path, None, &problem))?;
    Ok(records::run(imported, &import::facts(path)))
}

fn examine() -> Outcome {
    let findings = doctor::examine(&Machine::read(Path::new("/")), &Probes::take(WATCH));
    print(report::doctor::render(&findings, &style()).as_bytes())
}

fn formatted_matrix(columns: &[Column], format: Format) -> String {
    match format {
        Format::Table => report::matrix::table(columns, &style()),
        Format::Json => export::json::matrix(columns),
        Format::Csv => export::csv::matrix(columns),
        Format::Md => export::markdown::matrix(columns),
    }
}

/// A run as it is to be printed; what a format of other programs loses goes to standard error.
fn formatted(run: &Run, format: RunFormat) -> Result<String, Failure> {
    Ok(match format {
        RunFormat::Own(Format::Table) => terminal::table(run, &style()),
        RunFormat::Own(Format::Json) => export::json::run(run),
        RunFormat::Own(Format::Csv) => export::csv::run(run),
        RunFormat::Own(Format::Md) => export::markdown::run(run),
        RunFormat::Foreign(format) => {
            for line in format.losses(run).map_err(Failure::Failed)? {
                eprintln!("kernmark: {line}");
            }
            (format.write)(run)
        }
    })
}

/// Checks that each filter selects something of the catalog.
fn select(catalog: &[Entry], filters: &[String]) -> Result<(), Failure> {
    let ids: Vec<&str> = catalog.iter().map(|entry| entry.metric.as_str()).collect();
    filter::verify(filters, &ids).map_err(Failure::Usage)
}

fn picked(metric: &str, filters: &[String]) -> bool {
    let selects = |filter: &String| filter::matches(filter, metric);
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
        _ => Ok(arguments::OK),
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
        ("EXIT STATUS", arguments::EXIT_STATUS),
        ("ENVIRONMENT", arguments::ENVIRONMENT),
    ] {
        writeln!(page, ".SH \"{title}\"\n.nf\n{}\n.fi", body.trim_end())?;
    }
    Ok(page)
}
