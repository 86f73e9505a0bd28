// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `targets`: lists the targets for `--on`.

use serde::Serialize;

use clap::{Args, ValueEnum};

use super::arguments::{Choice, Printed};
use super::output::print;
use super::{exit, Failure, Outcome};
use crate::base::text::plain;
use crate::target::described::{find, names};
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

/// A board or a variant.
#[derive(Serialize)]
struct Named {
    name: String,
    about: String,
    /// The boards that have it; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    boards: Option<Vec<String>>,
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
    let mut all = Vec::new();
    for name in names() {
        match find(&DescriptionLocation::Named(name)) {
            Ok(found) => all.push(target(found.name, found.description)),
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
    print(text.as_bytes())?;
    Ok(status)
}

fn target(name: String, description: crate::target::description::Description) -> Target {
    let default_board = description.preferred().join(" or ");
    let boards = description.boards.into_iter().map(|(name, board)| Named {
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
        for board in &target.boards {
            let mut defaults = target.default_board.split(" or ");
            let note = match defaults.position(|name| name == board.name) {
                Some(0) => " (default)",
                Some(_) => " (default if the one above cannot be used)",
                None => "",
            };
            rows.push((
                format!("  {name}:{}", board.name),
                format!("{}{note}", board.about),
            ));
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
