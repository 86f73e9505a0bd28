// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes a description and the user's choice of board, variants and options; returns what to build
//! and run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::placeholder::{fill, fill_words, has_placeholder, PlaceholderValues};
use super::{
    family, join, Board, ClockUnit, Description, OrderMethod, Setting, Trace, Variant, ANY_BOARD,
};
use crate::stream::filter;
use crate::stream::run::Unit;
use crate::target::spec::{is_board, Choice, BAUD, COMMON_OPTIONS, DEFAULT};

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
    /// Which of them are settings: options of a family.
    pub settings: Vec<String>,
    /// Which of them the user set to a folder.
    pub folders: Vec<String>,
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
    /// How its instructions are followed. `None` if they are not counted.
    pub trace: Option<Trace>,
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

    /// The options that the user sets to a folder.
    #[must_use]
    pub fn folders(&self, choice: &Choice) -> Vec<String> {
        let is_folder = |name: &str| self.option(name).is_some_and(|option| option.folder);
        let set = choice.options.iter();
        let set = set.filter(|(name, value)| is_folder(name) && !value.is_empty());
        set.map(|(name, _)| name.clone()).collect()
    }

    /// The values of all options for a choice.
    fn option_values(&self, choice: &Choice) -> Result<BTreeMap<String, String>, String> {
        let single = self.single_options();
        let mut values: BTreeMap<String, String> = single
            .map(|(name, option)| (name.clone(), option.default.clone()))
            .collect();
        for (name, value) in &choice.options {
            let Some(option) = self.option(name) else {
                return Err(self.unknown_option(name));
            };
            option.check_value(name, value)?;
            let is_setting = !values.contains_key(name);
            if is_setting && (value.is_empty() || value.contains(char::is_whitespace)) {
                return Err(format!("the value of {name}= must be one word"));
            }
            values.insert(name.clone(), value.clone());
        }
        Ok(values)
    }

    fn unknown_option(&self, name: &str) -> String {
        let mut known: Vec<&str> = vec!["variant", "serial", "baud"];
        let own = self.board_option.iter().chain(self.options.keys());
        let own: Vec<&str> = own.map(String::as_str).collect();
        known.extend(&own);
        let own: Vec<String> = own.iter().map(|name| format!(", {name}=...")).collect();
        let suggestion = match filter::suggestion(name, &known) {
            none if none.is_empty() => {
                let setting = self.similar_setting(name);
                setting.map_or(none, |setting| format!("; did you mean {setting}?"))
            }
            some => some,
        };
        format!(
            "there is no option `{name}`; there are: {COMMON_OPTIONS}{}{suggestion}",
            own.concat()
        )
    }

    /// The setting that a name means in lower case, or without the start of its family.
    fn similar_setting(&self, name: &str) -> Option<String> {
        let upper = name.to_uppercase();
        let starts = self.options.keys().filter_map(|name| family(name));
        let mut names = starts.flat_map(|start| [upper.clone(), format!("{start}{upper}")]);
        names.find(|name| self.option(name).is_some())
    }

    /// Applies a choice: merges the words of the target, the board, the options and the variants.
    ///
    /// # Errors
    ///
    /// The board, a variant or an option does not exist, or they cannot be combined.
    pub fn choose(&self, choice: &Choice) -> Result<ChosenTarget, String> {
        let (choice, candidates) = self.candidates(choice)?;
        let name = candidates.first().map_or("", String::as_str);
        let unlisted = || {
            let any = self.boards.get_key_value(ANY_BOARD);
            any.filter(|_| is_board(name))
        };
        let Some((key, board)) = self.boards.get_key_value(name).or_else(unlisted) else {
            return Err(unknown_name("board", name, self.listed_boards()));
        };
        let options = self.option_values(&choice)?;
        let from_options = self.single_options().flat_map(|(_, option)| &option.build);
        let build = self.build.iter().chain(&board.build).chain(from_options);
        let build = build.cloned().collect();
        let set = choice.options.keys().filter_map(|name| {
            let is_single = self.options.contains_key(name);
            let family = self.option(name).filter(|_| !is_single)?;
            Some((name.clone(), Setting::of(family, name)))
        });
        let (names, settings): (Vec<String>, Vec<Setting>) = set.unzip();
        let variants = self.chosen_variants(&choice, name, key)?;
        let more = settings.iter().flat_map(|setting| &setting.build);
        let more = more.chain(variants.iter().flat_map(|variant| &variant.build));
        let build = add_words(build, more, &options).map_err(|[one, other]| {
            format!(
                "the variants and settings of `{choice}` conflict: one sets {one}, another {other}"
            )
        })?;
        let folders = self.folders(&choice);
        let (samples, runs) = match board.unit {
            ClockUnit::Instructions => INSTRUCTIONS_DEFAULT,
            ClockUnit::Cycles => CYCLES_DEFAULT,
        };
        let seconds = |given: Option<f64>, usual| Duration::from_secs_f64(given.unwrap_or(usual));
        Ok(ChosenTarget {
            source: if board.command.is_none() {
                self.serial_line(name, board, &choice)?
            } else if choice.serial.is_some() || choice.baud.is_some() {
                return Err(format!(
                    "board `{name}` has no serial line; leave out serial= and baud="
                ));
            } else {
                RecordSource::Command(self.command_words(board, &settings, &variants))
            },
            choice: Choice {
                board: Some(name.to_owned()),
                ..choice
            },
            board: name.to_owned(),
            unit: match board.unit {
                ClockUnit::Instructions => Unit::Instructions,
                ClockUnit::Cycles => Unit::Cycles,
            },
            needs: board.needs.clone(),
            probe: board.probe.clone(),
            here: board.here,
            options,
            settings: names,
            folders,
            build,
            build_limit: seconds(self.build_limit, BUILD_LIMIT),
            image: self.image.clone(),
            trace: self.trace(board),
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

    /// How the instructions of a board are followed. In QEMU it is enough to know the image.
    fn trace(&self, board: &Board) -> Option<Trace> {
        let program = Path::new(board.command.as_ref()?.first()?).file_name()?;
        let is_qemu = program.to_str()?.starts_with("qemu-system-");
        let is_counted = board.unit == ClockUnit::Instructions;
        let usual = self.image.as_ref().filter(|_| is_counted && is_qemu);
        board.trace.clone().or_else(|| {
            Some(Trace {
                programs: vec![usual?.clone()],
                command: Vec::new(),
            })
        })
    }

    /// The variants of a choice. `key` is the board's key in the description.
    fn chosen_variants(
        &self,
        choice: &Choice,
        board: &str,
        key: &String,
    ) -> Result<Vec<&Variant>, String> {
        let find = |name: &String| {
            let Some(variant) = self.variants.get(name) else {
                return Err(unknown_name("variant", name, self.variants.keys()));
            };
            match &variant.boards {
                Some(boards) if !boards.contains(key) => Err(format!(
                    "board `{board}` has no variant `{name}`; these have it: {}",
                    join(boards)
                )),
                _ => Ok(variant),
            }
        };
        choice.variants.iter().map(find).collect()
    }

    /// The serial line that a board prints its records on.
    fn serial_line(
        &self,
        name: &str,
        board: &Board,
        choice: &Choice,
    ) -> Result<RecordSource, String> {
        let default = board.serial.as_ref().map(PathBuf::from);
        let Some(device) = choice.serial.clone().or(default) else {
            let boards: Vec<&str> = self.listed_boards().map(String::as_str).collect();
            return Err(format!(
                "board `{name}` needs the serial line that it prints its records on: \
                 serial=DEVICE; these boards are known: {}{}",
                boards.join(", "),
                filter::suggestion(name, &boards)
            ));
        };
        Ok(RecordSource::Serial {
            device,
            baud: choice.baud.or(board.baud).unwrap_or(BAUD),
        })
    }
}

/// Adds words of variants and settings to those of the build. Two of them must not set the same
/// `NAME=` to different values; the error is those two.
fn add_words<'a>(
    mut build: Vec<String>,
    more: impl Iterator<Item = &'a String>,
    options: &BTreeMap<String, String>,
) -> Result<Vec<String>, [String; 2]> {
    let values: Vec<(&str, &str)> = options
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let mut set: BTreeMap<String, String> = BTreeMap::new();
    for word in more {
        let filled = fill(word, &values);
        if let Some((key, _)) = filled.split_once('=') {
            match set.get(key) {
                Some(other) if *other != filled => return Err([other.clone(), filled]),
                _ => set.insert(key.to_owned(), filled.clone()),
            };
        }
        build.push(word.clone());
    }
    Ok(build)
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
            ("agent_sources", known.agent_sources),
            ("linux_agent", known.linux_agent),
            ("here", known.here),
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
        if let Some(trace) = &mut self.trace {
            fill_all(&mut trace.programs);
            fill_all(&mut trace.command);
        }
        self.image = image;
        self
    }

    /// Whether any of its words has this placeholder.
    #[must_use]
    pub fn has_placeholder(&self, name: &str) -> bool {
        let command = match &self.source {
            RecordSource::Command(words) => &words[..],
            RecordSource::Serial { .. } => &[],
        };
        let tools = [&self.build, &self.probe, &self.reset, &self.flash];
        let mut all = tools
            .into_iter()
            .map(Vec::as_slice)
            .chain([command, self.image.as_slice()]);
        all.any(|words| has_placeholder(words, name))
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
