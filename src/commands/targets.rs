// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `targets`: lists the targets for `--on`.

use std::collections::BTreeMap;
use std::thread;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::arguments::{Choice, Printed};
use super::output::{page, print};
use super::{exit, interrupt, Failure, Outcome};
use crate::base::text::plain;
use crate::target::described::{find, names, unusable_boards};
use crate::target::description::{Description, ANY_BOARD};
use crate::target::spec::DescriptionLocation;

impl Choice for TargetsFormat {
    const JSON: Self = TargetsFormat::Json;
}

/// The formats of a list of targets and of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TargetsFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON
    Json,
}

/// The arguments of `targets`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The format.
    #[command(flatten)]
    pub printed: Printed<TargetsFormat>,
}

/// A target in the list.
#[derive(Serialize)]
struct Target {
    name: String,
    about: String,
    default_board: String,
    boards: Vec<Named>,
    variants: Vec<Named>,
    options: Vec<Setting>,
}

impl Target {
    fn listed_boards(&self) -> impl Iterator<Item = &Named> {
        self.boards.iter().filter(|board| board.name != ANY_BOARD)
    }
}

/// A board or a variant.
#[derive(Serialize)]
struct Named {
    name: String,
    about: String,
    /// The boards that have it; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    boards: Option<Vec<String>>,
    /// Why it cannot be used on this machine; `None` if nothing speaks against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
}

/// An option.
#[derive(Serialize)]
struct Setting {
    name: String,
    about: String,
    default: String,
    /// The values that it may have; `None`: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

/// Lists the targets. Faulty descriptions are reported on standard error.
pub(super) fn targets(arguments: &Arguments) -> Outcome {
    let mut status = exit::OK;
    let interrupt = interrupt()?;
    let look_up = |name: String| {
        let found = find(&DescriptionLocation::Named(name))?;
        let unusable = unusable_boards(&found, &interrupt)?;
        Ok(target(found.name, found.description, &unusable))
    };
    // A probe may take a while, so all targets are probed at the same time.
    let looked_up: Vec<Result<Target, String>> = thread::scope(|scope| {
        let names = names().into_iter();
        let threads: Vec<_> = names.map(|name| scope.spawn(|| look_up(name))).collect();
        let died = |_| Err("a probe could not be run".to_owned());
        let results = threads.into_iter().map(thread::ScopedJoinHandle::join);
        results.map(|result| result.unwrap_or_else(died)).collect()
    });
    let mut all = Vec::new();
    for result in looked_up {
        match result {
            Ok(target) => all.push(target),
            Err(why) => {
                eprintln!("kernmark: {}", plain(&why));
                status = exit::FAILED;
            }
        }
    }
    let text = match arguments.printed.format() {
        TargetsFormat::Table => table(&all),
        TargetsFormat::Json => {
            let text = serde_json::to_string_pretty(&all);
            text.map_err(|error| Failure::Failed(error.to_string()))? + "\n"
        }
    };
    match arguments.printed.format() {
        TargetsFormat::Table => page(&text)?,
        TargetsFormat::Json => print(text.as_bytes())?,
    };
    Ok(status)
}

fn target(name: String, description: Description, unusable: &BTreeMap<String, String>) -> Target {
    let default_board = description.preferred().join(" or ");
    let boards = description.boards.into_iter().map(|(name, board)| Named {
        unusable: unusable.get(&name).cloned(),
        name,
        about: board.about,
        boards: None,
    });
    let variants = description
        .variants
        .into_iter()
        .map(|(name, variant)| Named {
            name,
            about: variant.about,
            boards: variant.boards,
            unusable: None,
        });
    let options = description
        .options
        .into_iter()
        .map(|(name, setting)| Setting {
            name,
            about: setting.about,
            default: setting.default,
            values: setting.values,
        });
    Target {
        name,
        about: description.about,
        default_board,
        boards: boards.collect(),
        variants: variants.collect(),
        options: options.collect(),
    }
}

fn table(targets: &[Target]) -> String {
    let mut rows = vec![("linux".to_owned(), "this machine".to_owned())];
    for target in targets {
        let name = &target.name;
        rows.push((name.clone(), target.about.clone()));
        let cannot = |why: &String| (String::new(), format!("cannot be used here: {why}"));
        let mut reasons = target.listed_boards().map(|board| board.unusable.as_ref());
        let first = reasons.next().flatten();
        let shared = first.filter(|why| reasons.all(|other| other == Some(why)));
        rows.extend(shared.map(cannot));
        for board in &target.boards {
            let mut defaults = target.default_board.split(" or ");
            let note = match defaults.position(|name| name == board.name) {
                Some(0) => " (default)",
                Some(_) => " (default if the one above cannot be used)",
                None => "",
            };
            let board_name = match board.name.as_str() {
                ANY_BOARD => "BOARD",
                name => name,
            };
            rows.push((
                format!("  {name}:{board_name}"),
                format!("{}{note}", board.about),
            ));
            let own = board.unusable.as_ref().filter(|_| shared.is_none());
            rows.extend(own.map(cannot));
        }
        for variant in &target.variants {
            let only = variant.boards.as_ref();
            let note = only.map_or(String::new(), |boards| {
                format!(" (only {})", boards.join(", "))
            });
            rows.push((
                format!("  variant={}", variant.name),
                format!("{}{note}", variant.about),
            ));
        }
        for option in &target.options {
            let default = match option.default.as_str() {
                "" => String::new(),
                default => format!(" (default {default})"),
            };
            let values = option.values.as_ref();
            let values = values.map_or("...".to_owned(), |values| values.join("|"));
            rows.push((
                format!("  {}={values}", option.name),
                format!("{}{default}", option.about),
            ));
        }
    }
    for (form, about) in [
        (
            "PATH.toml",
            "a target described by a file (see doc/targets.md)",
        ),
        ("serial:DEVICE[@BAUD]", "records from a serial line"),
        ("exec:COMMAND", "records from a shell command"),
        ("file:PATH", "records from a file; - is standard input"),
    ] {
        rows.push((form.to_owned(), about.to_owned()));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |(name, about): &(String, String)| {
        format!("{}  {}\n", plain(&format!("{name:width$}")), plain(about))
    };
    rows.iter().map(line).collect()
}
