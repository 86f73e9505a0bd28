// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes a description and the user's choice of board, variants and options; returns what to build
//! and run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::placeholder::{fill, fill_words, PlaceholderValues};
use super::{join, Board, ClockUnit, Description, OptionDescription, OrderMethod};
use crate::stream::filter;
use crate::stream::run::Unit;
use crate::target::spec::{Choice, BAUD, COMMON_OPTIONS, DEFAULT};

/// Default of `silence`, in seconds.
const SILENCE: f64 = 10.0;

/// Default of `limit`, in seconds.
const LIMIT: f64 = 60.0;

/// Default of `build_limit`, in seconds.
const BUILD_LIMIT: f64 = 600.0;

/// Default samples and replicates if the clock counts instructions. All replicates are equal then;
/// the second one only verifies that.
const INSTRUCTIONS_DEFAULT: (u32, u32) = (1000, 2);

/// Default samples and replicates if the clock counts cycles.
const CYCLES_DEFAULT: (u32, u32) = (500, 10);

/// Where the agent's records come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// The standard output of a command.
    Command(Vec<String>),
    /// A serial line.
    Serial {
        /// Its device.
        device: PathBuf,
        /// Its baud rate.
        baud: u32,
    },
}

/// What to build and run: a board of a target, with its variants and options. Its words may have
/// placeholders until [`ChosenTarget::fill`] replaces them.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenTarget {
    /// The choice, with the board filled in.
    pub choice: Choice,
    /// The board's name.
    pub board: String,
    /// The unit of its clock.
    pub unit: Unit,
    /// Programs that it needs, and the Debian packages that have them.
    pub needs: BTreeMap<String, String>,
    /// Command that succeeds if the board can be used here; empty if it always can.
    pub probe: Vec<String>,
    /// Whether it runs at the speed of this machine, so that other load here disturbs it.
    pub here: bool,
    /// The values of all options, by name.
    pub options: BTreeMap<String, String>,
    /// Command that builds the image; empty if nothing is built.
    pub build: Vec<String>,
    /// Time limit of the build.
    pub build_limit: Duration,
    /// The image.
    pub image: Option<String>,
    /// Command that writes the image to the board, once per run; may be empty.
    pub flash: Vec<String>,
    /// Command that resets the board before each session; may be empty.
    pub reset: Vec<String>,
    /// Where its records come from.
    pub source: RecordSource,
    /// How it receives orders.
    pub order: OrderMethod,
    /// Default number of samples of each case.
    pub samples: u32,
    /// Default number of replicates.
    pub runs: u32,
    /// Time without a record after which it counts as hung.
    pub silence: Duration,
    /// Time limit of a session. It is CPU time if a command counts instructions, otherwise wall
    /// time.
    pub limit: Duration,
}

impl Description {
    /// The choice, with an option that names the board resolved; and the boards that it may mean,
    /// in order of preference.
    ///
    /// # Errors
    ///
    /// The choice names two different boards.
    pub fn candidates(&self, choice: &Choice) -> Result<(Choice, Vec<String>), String> {
        let mut choice = choice.clone();
        if let Some(option) = &self.board_option {
            if let Some(board) = choice.options.remove(option) {
                if choice.board.as_ref().is_some_and(|other| *other != board) {
                    return Err(format!("`{choice},{option}={board}` names two boards"));
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

    /// The values of all options for a choice.
    fn option_values(&self, choice: &Choice) -> Result<BTreeMap<String, String>, String> {
        for (name, value) in &choice.options {
            let Some(option) = self.options.get(name) else {
                return Err(self.unknown_option(name));
            };
            option.check_value(name, value)?;
        }
        let value = |(name, option): (&String, &OptionDescription)| {
            let value = choice.options.get(name).unwrap_or(&option.default);
            (name.clone(), value.clone())
        };
        Ok(self.options.iter().map(value).collect())
    }

    fn unknown_option(&self, name: &str) -> String {
        let mut known: Vec<&str> = vec!["variant", "serial", "baud"];
        let own = self.board_option.iter().chain(self.options.keys());
        let own: Vec<&str> = own.map(String::as_str).collect();
        known.extend(&own);
        let own: Vec<String> = own.iter().map(|name| format!(", {name}=...")).collect();
        format!(
            "there is no option `{name}`; there are: {COMMON_OPTIONS}{}{}",
            own.concat(),
            filter::suggestion(name, &known)
        )
    }

    /// Applies a choice: merges the words of the target, the board, the options and the variants.
    ///
    /// # Errors
    ///
    /// The board, a variant or an option does not exist, or they cannot be combined.
    pub fn choose(&self, choice: &Choice) -> Result<ChosenTarget, String> {
        let (choice, candidates) = self.candidates(choice)?;
        let Some((name, board)) = candidates
            .first()
            .and_then(|name| self.boards.get_key_value(name))
        else {
            let name = candidates.first().map_or("", String::as_str);
            return Err(unknown_name("board", name, self.boards.keys()));
        };
        let options = self.option_values(&choice)?;
        let from_options = self.options.values().flat_map(|option| &option.build);
        let build = self.build.iter().chain(&board.build).chain(from_options);
        let mut build: Vec<String> = build.cloned().collect();
        let common = build.len();
        let mut variants = Vec::new();
        for variant in &choice.variants {
            let Some(found) = self.variants.get(variant) else {
                return Err(unknown_name("variant", variant, self.variants.keys()));
            };
            if let Some(boards) = found
                .boards
                .as_ref()
                .filter(|boards| !boards.contains(name))
            {
                return Err(format!(
                    "board `{name}` has no variant `{variant}`; these have it: {}",
                    join(boards)
                ));
            }
            for word in &found.build {
                let sets_same_key = |other: &&String| {
                    other.split_once('=').map(|(key, _)| key)
                        == word.split_once('=').map(|(key, _)| key)
                };
                let before = &build[common..];
                if let Some(other) = before
                    .iter()
                    .find(sets_same_key)
                    .filter(|_| word.contains('='))
                {
                    return Err(format!(
                        "the variants {} conflict: one sets {other}, another {word}",
                        choice.variants.join("+")
                    ));
                }
                build.push(word.clone());
            }
            variants.push(found);
        }
        let (samples, runs) = match board.unit {
            ClockUnit::Instructions => INSTRUCTIONS_DEFAULT,
            ClockUnit::Cycles => CYCLES_DEFAULT,
        };
        let seconds = |given: Option<f64>, usual| Duration::from_secs_f64(given.unwrap_or(usual));
        Ok(ChosenTarget {
            source: board.record_source(name, &choice, self.command_words(board, &variants))?,
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
            runs: board.runs.unwrap_or(if board.order == OrderMethod::None {
                1
            } else {
                runs
            }),
            silence: seconds(board.silence, SILENCE),
            limit: seconds(board.limit, LIMIT),
        })
    }
}

impl Board {
    fn record_source(
        &self,
        name: &str,
        choice: &Choice,
        words: Vec<String>,
    ) -> Result<RecordSource, String> {
        if self.command.is_some() {
            if choice.serial.is_some() || choice.baud.is_some() {
                return Err(format!(
                    "board `{name}` has no serial line; leave out serial= and baud="
                ));
            }
            return Ok(RecordSource::Command(words));
        }
        let default = self.serial.as_ref().map(PathBuf::from);
        Ok(RecordSource::Serial {
            device: choice.serial.clone().or(default).unwrap_or_default(),
            baud: choice.baud.or(self.baud).unwrap_or(BAUD),
        })
    }
}

impl ChosenTarget {
    /// Replaces all placeholders except `{order}` and `{console}`, which are set per session.
    #[must_use]
    pub fn fill(mut self, known: &PlaceholderValues) -> Self {
        let (device, baud) = match &self.source {
            RecordSource::Serial { device, baud } => {
                (device.display().to_string(), baud.to_string())
            }
            RecordSource::Command(_) => (String::new(), String::new()),
        };
        let board = self.board.clone();
        let options = self.options.clone();
        let mut values = vec![
            ("agent", known.agent),
            ("linux_agent", known.linux_agent),
            ("out", known.out),
            ("tool", known.tool),
            ("board", &board),
            ("serial", &device),
            ("baud", &baud),
        ];
        let option_values = options
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        values.extend(option_values);
        let image = self.image.map(|image| fill(&image, &values));
        if let Some(image) = &image {
            values.push(("image", image));
        }
        let fill_all = |words: &mut Vec<String>| *words = fill_words(words, &values);
        fill_all(&mut self.probe);
        fill_all(&mut self.build);
        fill_all(&mut self.flash);
        fill_all(&mut self.reset);
        if let RecordSource::Command(words) = &mut self.source {
            fill_all(words);
        }
        self.image = image;
        self
    }

    /// Whether its agent takes orders.
    #[must_use]
    pub fn takes_orders(&self) -> bool {
        self.order != OrderMethod::None
    }

    /// The names of its variants, joined; `default` if it has none.
    #[must_use]
    pub fn variant_name(&self) -> String {
        if self.choice.variants.is_empty() {
            DEFAULT.to_owned()
        } else {
            self.choice.variants.join("+")
        }
    }
}

/// The message for an unknown board or variant.
fn unknown_name<'a>(what: &str, name: &str, all: impl Iterator<Item = &'a String>) -> String {
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
