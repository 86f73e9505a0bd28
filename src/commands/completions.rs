// SPDX-License-Identifier: MIT OR Apache-2.0

//! The commands `completions` and `complete`: the words before the cursor in, candidates out.
//!
//! `completions SHELL` prints a shell's script. At each Tab the script calls `kernmark complete`
//! with the words after `kernmark` up to the cursor. The last word is incomplete and may be empty.
//! The answer has one candidate per line: the whole word, a tab, a description. The line [`FILES`]
//! asks the shell for file names. Commands and options come from [`CommandLine`]; the candidates
//! for a value follow from the value's name in the help.

use std::collections::BTreeSet;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Args, Command, CommandFactory, ValueEnum};

use super::folder::folder;
use super::output::print;
use super::target::read_catalog;
use super::{interrupt, CommandLine, Outcome};
use crate::files::reference;
use crate::files::runs::short_names;
use crate::judge::quantity::Quantity;
use crate::stream::run::Entry;
use crate::target::described::{find, names};
use crate::target::description::{family, Description, ANY_BOARD};
use crate::target::spec::{self, Spec};

/// The line that stands for file names: the shell completes these itself.
const FILES: &str = "<files>";

/// The arguments of `completions`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// A shell that has a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// fish
    Fish,
    /// zsh
    Zsh,
}

/// The arguments of `complete`.
#[derive(Args, Debug)]
pub struct Words {
    /// The words after `kernmark`, up to the cursor
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<String>,
}

/// Prints the script for a shell.
pub(super) fn completions(arguments: &Arguments) -> Outcome {
    print(match arguments.shell {
        Shell::Bash => include_bytes!("completions/kernmark.bash"),
        Shell::Fish => include_bytes!("completions/kernmark.fish"),
        Shell::Zsh => include_bytes!("completions/_kernmark"),
    })
}

/// Prints the candidates for the last word.
pub(super) fn complete(arguments: &Words) -> Outcome {
    let words = arguments.words.as_slice();
    let (typed, before) = words
        .split_last()
        .map_or(("", words), |(typed, before)| (typed.as_str(), before));
    let mut lines = String::new();
    for candidate in candidates(before, typed) {
        match &candidate {
            Candidate::Word(word, about) if word.starts_with(typed) => {
                let about = about.lines().next().unwrap_or_default();
                lines.extend([word.as_str(), "\t", about, "\n"]);
            }
            Candidate::Word(..) => {}
            Candidate::Files => lines.extend([FILES, "\n"]),
        }
    }
    print(lines.as_bytes())
}

/// A candidate. [`complete`] drops words that do not start with what was typed.
#[derive(Debug, PartialEq)]
enum Candidate {
    /// A whole word and its description.
    Word(String, String),
    /// The names of files.
    Files,
}

fn word(word: impl Into<String>, about: &str) -> Candidate {
    Candidate::Word(word.into(), about.to_owned())
}

/// A candidate with a text of the help as its description.
fn helped(word: impl Into<String>, help: Option<&StyledStr>) -> Candidate {
    let about = help.map(StyledStr::to_string).unwrap_or_default();
    Candidate::Word(word.into(), about)
}

/// The candidates after these words.
fn candidates(before: &[String], typed: &str) -> Vec<Candidate> {
    let mut root = CommandLine::command();
    root.build();
    let mut cursor = Cursor {
        command: &root,
        positionals: 0,
        open: None,
        options: true,
    };
    for word in before {
        cursor.pass(word);
    }
    let value = |arg, typed: &str| values(arg, cursor.command, before, typed);
    if let Some(arg) = cursor.open {
        return value(arg, typed);
    }
    if cursor.options && typed.starts_with('-') {
        let Some((name, typed)) = typed.split_once('=') else {
            return options(cursor.command);
        };
        let behind = |candidate| match candidate {
            Candidate::Word(word, about) => Candidate::Word(format!("{name}={word}"), about),
            Candidate::Files => Candidate::Files,
        };
        let values = cursor.option(name).map(|arg| value(arg, typed));
        return values.into_iter().flatten().map(behind).collect();
    }
    let mut candidates: Vec<Candidate> = shown(cursor.command).map(about_command).collect();
    candidates.extend(
        cursor
            .positional()
            .into_iter()
            .flat_map(|arg| value(arg, typed)),
    );
    candidates
}

/// A position on the command line.
struct Cursor<'a> {
    command: &'a Command,
    /// How many positional values the command has.
    positionals: usize,
    /// The option whose value comes next.
    open: Option<&'a Arg>,
    /// Whether options may follow: not after `--`.
    options: bool,
}

impl<'a> Cursor<'a> {
    fn pass(&mut self, word: &str) {
        if self.open.take().is_some() {
            return;
        }
        if word == "--" {
            self.options = false;
        } else if self.options && word.starts_with('-') && word != "-" {
            let takes_next = |arg: &&Arg| takes_value(arg) && !arg.is_require_equals_set();
            self.open = self.option(word).filter(takes_next);
        } else if let Some(command) = self.command.find_subcommand(word) {
            self.command = command;
        } else {
            self.positionals += 1;
        }
    }

    /// The option with this name, such as `--on` or `-o`.
    fn option(&self, name: &str) -> Option<&'a Arg> {
        self.command.get_arguments().find(|arg| {
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            [long, short].into_iter().flatten().any(|one| one == name)
        })
    }

    /// The argument of the next positional value. The last argument may take several.
    fn positional(&self) -> Option<&'a Arg> {
        let many = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Append);
        let all = || self.command.get_positionals();
        all()
            .nth(self.positionals)
            .or_else(|| all().last().filter(many))
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

fn about_command(command: &Command) -> Candidate {
    helped(command.get_name(), command.get_about())
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = shown.filter_map(|arg| Some((arg.get_long()?, arg)));
    named
        .map(|(long, arg)| helped(format!("--{long}"), arg.get_help()))
        .collect()
}

/// The candidates for a value of an argument.
fn values(arg: &Arg, command: &Command, before: &[String], typed: &str) -> Vec<Candidate> {
    let candidates = match arg.get_possible_values() {
        possible if possible.is_empty() => {
            let names = arg.get_value_names().unwrap_or_default();
            let kind = names.first().and_then(|name| Kind::of(name));
            kind.map_or(Vec::new(), |kind| kind.candidates(command, before, typed))
        }
        possible => {
            let shown = possible.iter().filter(|one| !one.is_hide_set());
            shown
                .map(|one| helped(one.get_name(), one.get_help()))
                .collect()
        }
    };
    // In a list, only the last item is being typed.
    let start = arg
        .get_value_delimiter()
        .and_then(|delimiter| typed.rfind(delimiter))
        .map_or("", |at| &typed[..=at]);
    let behind = |candidate| match candidate {
        Candidate::Word(word, about) => Candidate::Word(format!("{start}{word}"), about),
        Candidate::Files => Candidate::Files,
    };
    candidates.into_iter().map(behind).collect()
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The start of a metric's id.
    Filter,
    /// The id of a metric.
    Id,
    /// What `--on` takes.
    Target,
    /// A target; with `--on`, a variant of that target.
    Side,
    /// A variant of the target of `--on`.
    Variant,
    /// A file.
    File,
    /// A saved run by its name, a file or published figures.
    Run,
    /// A saved run by its name.
    Saved,
    /// Published figures.
    Reference,
    Quantity,
    /// Numbers and other values without candidates.
    Free,
}

impl Kind {
    /// The kind of a value, by its name in the help.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "FILTER" => Kind::Filter,
            "ID" | "METRIC" | "METRIC[@RUN]" => Kind::Id,
            "SPEC" => Kind::Target,
            "A" | "B" => Kind::Side,
            "VARIANT" => Kind::Variant,
            "DIR" | "FILE" | "KERNEL_MODE" | "NAME" | "SITE" => Kind::File,
            "BASE" | "NEW" => Kind::Run,
            "RUN" => Kind::Saved,
            "reference:NAME" => Kind::Reference,
            "QUANTITY" => Kind::Quantity,
            "A[,B]" | "AGE" | "DATE" | "FUNCTION" | "K" | "KEY=VALUE" | "LIST" | "MACHINE"
            | "N" | "PERCENT" | "R" | "S" | "SHIFT" | "SIZE,WAYS,LINE" | "TEXT" | "WHICH"
            | "[QUANTITY=]PERCENT" => Kind::Free,
            _ => return None,
        })
    }

    fn candidates(self, command: &Command, before: &[String], typed: &str) -> Vec<Candidate> {
        match self {
            Kind::Filter if on(before).iter().any(|on| on != "linux") => operations(),
            Kind::Filter | Kind::Id => ids(),
            Kind::Target => targets(typed),
            Kind::Side | Kind::Variant => match on(before).first() {
                Some(on) => changes(on),
                None if self == Kind::Side => targets(typed),
                None => Vec::new(),
            },
            Kind::File if ["show", "explain", "why", "plan"].contains(&command.get_name()) => {
                Kind::Run.candidates(command, before, typed)
            }
            Kind::File => vec![Candidate::Files],
            Kind::Run => {
                let mut candidates = vec![Candidate::Files];
                // Without the prefix, the datasets would bury the files.
                if typed.starts_with("reference:") {
                    candidates.extend(datasets());
                } else if !typed.is_empty() {
                    candidates.push(word("reference:", "published figures"));
                }
                candidates.extend(saved_runs(typed));
                candidates
            }
            Kind::Saved => saved_runs(typed),
            Kind::Reference => datasets(),
            Kind::Quantity => Quantity::ALL.map(|one| word(one.name(), "")).into(),
            Kind::Free => Vec::new(),
        }
    }
}

/// How many runs are offered.
const OFFERED: usize = 10;

/// The names of saved runs: the newest that fit what was typed.
fn saved_runs(typed: &str) -> Vec<Candidate> {
    let mut candidates = vec![
        word("latest", "the newest complete run"),
        word("latest~1", "the one before it, of the same target"),
    ];
    let runs = folder().ok().and_then(|folder| folder.runs().ok());
    let runs = runs.unwrap_or_default();
    if typed.starts_with("latest:") {
        let targets: BTreeSet<&str> = runs.iter().map(|run| run.head.target()).collect();
        let latest = |target| word(format!("latest:{target}"), "the newest complete run of it");
        candidates.extend(targets.into_iter().map(latest));
    }
    let names = short_names(&runs);
    let fits = runs.iter().zip(names).rev();
    let fits = fits.filter(|(_, name)| name.starts_with(typed));
    candidates.extend(fits.take(OFFERED).map(|(run, name)| {
        let head = &run.head;
        word(
            name,
            &format!("{} {}", head.when().unwrap_or_default(), head.target()),
        )
    }));
    candidates
}

/// The values of `--on`.
fn on(before: &[String]) -> Vec<String> {
    let next = before.windows(2).filter(|pair| pair[0] == "--on");
    let next = next.map(|pair| pair[1].as_str());
    let joined = before.iter().filter_map(|word| word.strip_prefix("--on="));
    next.chain(joined).map(str::to_owned).collect()
}

/// The metrics of this Linux, listed by its agent; none if the agent cannot run.
fn ids() -> Vec<Candidate> {
    let catalog = interrupt().and_then(|interrupt| read_catalog(&Spec::Linux, &interrupt));
    let entries = catalog.ok().flatten().map(|catalog| catalog.entries);
    let candidate = |entry: Entry| word(entry.metric, &entry.about);
    entries.into_iter().flatten().map(candidate).collect()
}

/// Objects with their operations. Other kernels use the same names. Listing their whole ids would
/// need a build of their agent.
fn operations() -> Vec<Candidate> {
    let ids = ids();
    let starts: BTreeSet<String> = ids
        .into_iter()
        .filter_map(|candidate| match candidate {
            Candidate::Word(id, _) => Some(id.split('.').take(2).collect::<Vec<_>>().join(".")),
            Candidate::Files => None,
        })
        .collect();
    starts.into_iter().map(|start| word(start, "")).collect()
}

/// The values of `--on`: targets and their boards, then variants and options of a target.
fn targets(typed: &str) -> Vec<Candidate> {
    let path = typed.contains('/') && !typed.contains([':', ',']);
    let mut candidates = vec![
        word("linux", "this machine"),
        word("serial:", "records from a serial line"),
        word("exec:", "records that a command prints"),
        word("file:", "records in a file"),
    ];
    if path || typed.starts_with("file:") || typed.starts_with("serial:") {
        candidates.push(Candidate::Files);
    }
    let Some((stem, _)) = typed.rsplit_once(',') else {
        for name in names() {
            if let Some(description) = description(&name) {
                candidates.push(word(&name, &description.about));
                let is_listed = |(board, _): &(&String, _)| *board != ANY_BOARD;
                for (board, it) in description.boards.iter().filter(is_listed) {
                    candidates.push(word(format!("{name}:{board}"), &it.about));
                }
            }
        }
        return candidates;
    };
    let Some(description) = description(stem) else {
        return candidates;
    };
    let last = &typed[stem.len() + 1..];
    let behind = |text: &str, about: &str| word(format!("{stem},{text}"), about);
    if let Some(variants) = last.strip_prefix("variant=") {
        let start = variants.rfind('+').map_or("", |at| &variants[..=at]);
        let variants = variants_of(&description, stem);
        candidates.extend(
            variants
                .iter()
                .map(|(name, about)| behind(&format!("variant={start}{name}"), about)),
        );
    } else if let Some((name, _)) = last.split_once('=') {
        let option = description.option(name);
        let values = option.and_then(|option| option.values.clone());
        let values = values.unwrap_or_default();
        candidates.extend(
            values
                .iter()
                .map(|value| behind(&format!("{name}={value}"), "")),
        );
    } else {
        if !description.variants.is_empty() {
            candidates.push(behind("variant=", "one of its variants, or several: A+B"));
        }
        let options = description.options.iter();
        candidates.extend(options.map(|(name, option)| behind(&option_start(name), &option.about)));
        candidates.push(behind("serial=", "the serial line of its board"));
        candidates.push(behind("baud=", "the baud rate of that line"));
    }
    candidates
}

/// Variants and options of a target, as `ab` and `matrix` take them.
fn changes(target: &str) -> Vec<Candidate> {
    let Some(description) = description(target) else {
        return Vec::new();
    };
    let mut candidates = vec![word(spec::DEFAULT, "nothing is changed")];
    for (name, about) in variants_of(&description, target) {
        candidates.push(word(name, &about));
    }
    for (name, option) in &description.options {
        candidates.push(word(option_start(name), &option.about));
        if family(name).is_none() {
            for value in option.values.iter().flatten() {
                candidates.push(word(format!("{name}={value}"), &option.about));
            }
        }
    }
    candidates
}

/// What the user types first to set an option: `kernel=`, or `CONFIG_` of a family.
fn option_start(name: &str) -> String {
    family(name).map_or_else(|| format!("{name}="), str::to_owned)
}

/// The description of a target, if it has one.
fn description(target: &str) -> Option<Description> {
    match target.parse().ok()? {
        Spec::Described(choice) => Some(find(&choice.target).ok()?.description),
        _ => None,
    }
}

/// The variants that the board of a target has.
fn variants_of(description: &Description, target: &str) -> Vec<(String, String)> {
    let board = match target.parse() {
        Ok(Spec::Described(choice)) => choice.board,
        _ => None,
    };
    let has = |boards: &Option<Vec<String>>| match (&board, boards) {
        (Some(board), Some(boards)) => boards.contains(board),
        _ => true,
    };
    let variants = description.variants.iter();
    variants
        .filter(|(_, variant)| has(&variant.boards))
        .map(|(name, variant)| (name.clone(), variant.about.clone()))
        .collect()
}

fn datasets() -> Vec<Candidate> {
    let datasets = reference::datasets().unwrap_or_default();
    let candidate = |one: reference::Dataset| word(one.reference().to_string(), &one.system);
    datasets.into_iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The candidates for the last word of a line, without descriptions.
    fn offered(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (typed, before) = words.split_last().unwrap();
        let candidates = candidates(before, typed)
            .into_iter()
            .map(|candidate| match candidate {
                Candidate::Word(word, _) => word,
                Candidate::Files => FILES.to_owned(),
            });
        candidates
            .filter(|word| word == FILES || word.starts_with(typed.as_str()))
            .collect()
    }

    #[test]
    fn every_value_of_every_command_has_a_kind() {
        let mut root = CommandLine::command();
        root.build();
        for command in shown(&root) {
            for arg in command.get_arguments().filter(|arg| takes_value(arg)) {
                let names = arg.get_value_names().unwrap_or_default();
                let known = names.first().is_some_and(|name| Kind::of(name).is_some());
                assert!(
                    known || !arg.get_possible_values().is_empty(),
                    "{} {}: what is {names:?}? Name it in Kind::of",
                    command.get_name(),
                    arg.get_id()
                );
            }
        }
    }

    #[test]
    fn commands_options_and_their_values_are_offered() {
        assert_eq!(offered("comp"), ["compare", "completions"]);
        assert_eq!(offered("run --qu"), ["--quick"]);
        assert_eq!(offered("list --format j"), ["json"]);
        assert_eq!(offered("list --format=j"), ["--format=json"]);
        assert_eq!(offered("completions z"), ["zsh"]);
        assert_eq!(offered("compare --only p50,p90,c"), ["p50,p90,cold"]);
        assert_eq!(offered("run --seed "), [""; 0]);
        assert_eq!(offered("run --budget "), [FILES]);
        assert_eq!(offered("run -o "), [FILES]);
    }

    #[test]
    fn an_option_with_a_value_of_its_own_takes_no_next_word() {
        assert_eq!(
            offered("show --format=json l"),
            [FILES, "latest", "latest~1"]
        );
        assert_eq!(
            offered("compare --accept-speed l"),
            [FILES, "latest", "latest~1"]
        );
        assert_eq!(offered("show -- --"), [FILES]);
    }

    #[test]
    fn a_target_is_completed_part_by_part() {
        assert!(offered("run --on free").contains(&"freertos:m4".to_owned()));
        assert_eq!(
            offered("show --on freertos:m4,var"),
            ["freertos:m4,variant="]
        );
        assert_eq!(
            offered("run --on freertos:m4,variant=O2+u"),
            ["freertos:m4,variant=O2+userspace"]
        );
        // The processor of this board has no MPU.
        assert_eq!(offered("run --on freertos:virt,variant=u"), [""; 0]);
        assert_eq!(
            offered("run --on linux-vm,kernel=r"),
            ["linux-vm,kernel=rt"]
        );
        assert_eq!(offered("ab --on freertos def"), ["default"]);
        assert_eq!(offered("matrix --on=freertos --variant O3"), ["O3"]);
    }

    #[test]
    fn published_figures_are_offered_where_they_are_read() {
        assert_eq!(offered("compare ref"), [FILES, "reference:"]);
        let zircon = offered("show reference:zircon/2018");
        assert_eq!(zircon, [FILES, "reference:zircon/2018-01-02"]);
        assert_eq!(offered("import ref"), [FILES]);
    }
}
