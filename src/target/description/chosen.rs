// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a description says for a choice: one board with its variants and the values of its options.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::placeholder::{fill, filled, Places};
use super::{names, Board, ClockUnit, Description, Setting, Way};
use crate::stream::filter;
use crate::stream::run::Unit;
use crate::target::spec::{Choice, BAUD, DEFAULT, FORMS};

/// Time without a record after which a board counts as hung, unless its description says another.
const SILENCE: f64 = 10.0;

/// Seconds that a session may take, unless the description says another number.
const LIMIT: f64 = 60.0;

/// Time that a build may take, unless the description says another.
const BUILD_LIMIT: f64 = 600.0;

/// Samples and replicates of a clock that counts instructions: every sample and every replicate is
/// as the first, so that the second replicate only shows that it is.
const EXACT: (u32, u32) = (1000, 2);

/// Samples and replicates of a clock that counts cycles.
const INEXACT: (u32, u32) = (500, 10);

/// Where the agent's records come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a command's standard output.
    Command(Vec<String>),
    /// From a serial line.
    Serial {
        /// The line.
        device: PathBuf,
        /// Its baud rate.
        baud: u32,
    },
}

/// What is measured: a board of a target with its variants. Words may hold placeholders.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The choice, with its board named.
    pub choice: Choice,
    /// The board's name.
    pub board: String,
    /// What its clock counts.
    pub unit: Unit,
    /// Programs that are needed, and the Debian packages that have them.
    pub needs: BTreeMap<String, String>,
    /// Succeeds where the board can be used; empty: it always can.
    pub probe: Vec<String>,
    /// Whether its processor is this machine's, so that what else runs here disturbs it.
    pub here: bool,
    /// The values of all options, by their names.
    pub options: BTreeMap<String, String>,
    /// What builds the image; empty: nothing is built.
    pub build: Vec<String>,
    /// Time that the build may take.
    pub build_limit: Duration,
    /// The image.
    pub image: Option<String>,
    /// Writes the image to the board, once a run; empty: nothing does.
    pub flash: Vec<String>,
    /// Starts the board anew, before each session; empty: nothing does.
    pub reset: Vec<String>,
    /// Where its records come from.
    pub source: Source,
    /// How it is told what to do.
    pub order: Way,
    /// Samples of each case, unless the user says another number.
    pub samples: u32,
    /// Replicates, unless the user says another number.
    pub runs: u32,
    /// Time without a record after which it counts as hung.
    pub silence: Duration,
    /// Time that a session may take; processor time, where a command counts instructions.
    pub limit: Duration,
}

impl Description {
    /// The choice with its board where an option names that, and the boards that may be meant.
    ///
    /// # Errors
    ///
    /// It names two boards.
    pub fn candidates(&self, choice: &Choice) -> Result<(Choice, Vec<String>), String> {
        let mut choice = choice.clone();
        if let Some(option) = &self.board_option {
            if let Some(board) = choice.options.remove(option) {
                if choice.board.as_ref().is_some_and(|other| *other != board) {
                    return Err(format!("{choice},{option}={board} names two boards"));
                }
                choice.board = Some(board);
            }
        }
        let candidates = match &choice.board {
            Some(board) => vec![board.clone()],
            None => self.preferred().to_vec(),
        };
        Ok((choice, candidates))
    }

    /// The values of all options.
    fn values(&self, choice: &Choice) -> Result<BTreeMap<String, String>, String> {
        for (name, value) in &choice.options {
            let Some(setting) = self.options.get(name) else {
                return Err(self.no_option(name));
            };
            setting.accepts(name, value)?;
        }
        let value = |(name, setting): (&String, &Setting)| {
            let value = choice.options.get(name).unwrap_or(&setting.default);
            (name.clone(), value.clone())
        };
        Ok(self.options.iter().map(value).collect())
    }

    fn no_option(&self, name: &str) -> String {
        let mut known: Vec<&str> = vec!["variant", "serial", "baud"];
        let own = self.board_option.iter().chain(self.options.keys());
        let own: Vec<&str> = own.map(String::as_str).collect();
        known.extend(&own);
        let own: Vec<String> = own.iter().map(|name| format!(", {name}=...")).collect();
        format!(
            "there is no option `{name}`; there are: {FORMS}{}{}",
            own.concat(),
            filter::suggestion(name, &known)
        )
    }

    /// What it says for a choice.
    ///
    /// # Errors
    ///
    /// The board or a variant does not exist, or they do not go together.
    pub fn choose(&self, choice: &Choice) -> Result<Chosen, String> {
        let (choice, candidates) = self.candidates(choice)?;
        let Some((name, board)) = candidates
            .first()
            .and_then(|name| self.boards.get_key_value(name))
        else {
            let name = candidates.first().map_or("", String::as_str);
            return Err(unknown("board", name, self.boards.keys()));
        };
        let options = self.values(&choice)?;
        let of_options = self.options.values().flat_map(|setting| &setting.build);
        let build = self.build.iter().chain(&board.build).chain(of_options);
        let mut build: Vec<String> = build.cloned().collect();
        let common = build.len();
        let mut variants = Vec::new();
        for variant in &choice.variants {
            let Some(found) = self.variants.get(variant) else {
                return Err(unknown("variant", variant, self.variants.keys()));
            };
            if let Some(boards) = found
                .boards
                .as_ref()
                .filter(|boards| !boards.contains(name))
            {
                return Err(format!(
                    "board `{name}` has no variant `{variant}`; these have it: {}",
                    names(boards)
                ));
            }
            for word in &found.build {
                let same = |other: &&String| {
                    other.split_once('=').map(|(key, _)| key)
                        == word.split_once('=').map(|(key, _)| key)
                };
                let before = &build[common..];
                if let Some(other) = before.iter().find(same).filter(|_| word.contains('=')) {
                    return Err(format!(
                        "the variants {} exclude each other: one sets {other}, another {word}",
                        choice.variants.join("+")
                    ));
                }
                build.push(word.clone());
            }
            variants.push(found);
        }
        let (samples, runs) = match board.unit {
            ClockUnit::Instructions => EXACT,
            ClockUnit::Cycles => INEXACT,
        };
        let seconds = |given: Option<f64>, usual| Duration::from_secs_f64(given.unwrap_or(usual));
        Ok(Chosen {
            source: board.source(name, &choice, self.command_words(board, &variants))?,
            choice: Choice {
                board: Some(name.clone()),
                ..choice
            },
            board: name.clone(),
            unit: match board.unit {
                ClockUnit::Instructions => Unit::Instructions,
                ClockUnit::Cycles => Unit::Cycles,
            },
            needs: board.needs.clone(),
            probe: board.probe.clone(),
            here: board.here,
            options,
            build,
            build_limit: seconds(self.build_limit, BUILD_LIMIT),
            image: self.image.clone(),
            flash: board.flash.clone(),
            reset: board.reset.clone(),
            order: board.order,
            samples: board.samples.unwrap_or(samples),
            runs: board
                .runs
                .unwrap_or(if board.order == Way::None { 1 } else { runs }),
            silence: seconds(board.silence, SILENCE),
            limit: seconds(board.limit, LIMIT),
        })
    }
}

impl Board {
    fn source(&self, name: &str, choice: &Choice, words: Vec<String>) -> Result<Source, String> {
        if self.command.is_some() {
            if choice.serial.is_some() || choice.baud.is_some() {
                return Err(format!(
                    "board `{name}` is not reached by a serial line: serial= and baud= say nothing to it"
                ));
            }
            return Ok(Source::Command(words));
        }
        let described = self.serial.as_ref().map(PathBuf::from);
        Ok(Source::Serial {
            device: choice.serial.clone().or(described).unwrap_or_default(),
            baud: choice.baud.or(self.baud).unwrap_or(BAUD),
        })
    }
}

impl Chosen {
    /// Puts what they stand for into the places of all placeholders but those of a session's own.
    #[must_use]
    pub fn filled(mut self, places: &Places) -> Self {
        let (device, baud) = match &self.source {
            Source::Serial { device, baud } => (device.display().to_string(), baud.to_string()),
            Source::Command(_) => (String::new(), String::new()),
        };
        let board = self.board.clone();
        let options = self.options.clone();
        let mut values = vec![
            ("agent", places.agent),
            ("linux_agent", places.linux_agent),
            ("out", places.out),
            ("tool", places.tool),
            ("board", &board),
            ("serial", &device),
            ("baud", &baud),
        ];
        let settings = options
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        values.extend(settings);
        let image = self.image.map(|image| fill(&image, &values));
        if let Some(image) = &image {
            values.push(("image", image));
        }
        let fill_all = |words: &mut Vec<String>| *words = filled(words, &values);
        fill_all(&mut self.probe);
        fill_all(&mut self.build);
        fill_all(&mut self.flash);
        fill_all(&mut self.reset);
        if let Source::Command(words) = &mut self.source {
            fill_all(words);
        }
        self.image = image;
        self
    }

    /// Whether its agent can be told what to measure.
    #[must_use]
    pub fn takes_orders(&self) -> bool {
        self.order != Way::None
    }

    /// The names of its variants, joined.
    #[must_use]
    pub fn variant(&self) -> String {
        if self.choice.variants.is_empty() {
            DEFAULT.to_owned()
        } else {
            self.choice.variants.join("+")
        }
    }
}

/// The message for a name that there is not.
fn unknown<'a>(what: &str, name: &str, all: impl Iterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    let there = if all.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", all.join(", "))
    };
    format!(
        "there is no {what} `{name}`; {there}{}",
        filter::suggestion(name, &all)
    )
}
