// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `man`: the man page.

use std::io::{self, Write};

use clap::{Command, CommandFactory};

use super::arguments::ENVIRONMENT;
use super::output::print;
use super::{exit, CommandLine, Failure, Outcome};

/// Prints the man page.
pub(super) fn man() -> Outcome {
    let page = page().map_err(|error| Failure::Failed(error.to_string()))?;
    print(&page)
}

/// The commands below a command and those below them, with their whole names.
fn subcommands(command: &Command) -> Vec<(String, &Command)> {
    let mut all = Vec::new();
    let shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    for sub in command.get_subcommands().filter(shown) {
        let name = sub.get_name();
        all.push((name.to_owned(), sub));
        let below = subcommands(sub).into_iter();
        all.extend(below.map(|(below, command)| (format!("{name} {below}"), command)));
    }
    all
}

/// The man page: a single page, with a section for each command.
fn page() -> io::Result<Vec<u8>> {
    let mut command = CommandLine::command();
    command.build();
    let mut page = Vec::new();
    let whole = clap_mangen::Man::new(command.clone());
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    whole.render_options_section(&mut page)?;
    for (name, sub) in subcommands(&command) {
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
        ("EXIT STATUS", exit::EXIT_STATUS),
        ("ENVIRONMENT", ENVIRONMENT),
    ] {
        writeln!(page, ".SH \"{title}\"\n.nf\n{}\n.fi", body.trim_end())?;
    }
    Ok(page)
}
