// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the samples of a metric executed: its paths, counted by function. [`Paths`] in, records out
//! ([`records`]); records in, [`MetricPaths`] out. doc/protocol.md defines the records.

use std::collections::BTreeMap;

use super::counted::word;
use super::histogram::Histogram;
use super::record::{self, Record};

/// A function that a path executes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its name; the address in hexadecimal if no symbol has it.
    pub name: String,
    /// The program that has it: `kernel`, the name of a module, or the name of an image.
    pub program: String,
    /// The source file that defines it, if the program has debug information.
    pub file: Option<String>,
}

/// What is counted beside instructions, where it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Count {
    /// Loads from memory and devices.
    Loads,
    /// Stores to memory and devices.
    Stores,
    /// Loads and stores that reached a device.
    Devices,
    /// Branches, calls and returns that were taken.
    Taken,
    /// Instructions that only privileged code may execute.
    Privileged,
    /// Instructions that wait for earlier ones: barriers, fences, `cpuid`.
    Serialising,
    /// Instructions that read and write memory as one.
    Atomic,
    /// Distinct 64-byte lines of code.
    CodeLines,
    /// Distinct 64-byte lines of data.
    DataLines,
}

impl Count {
    /// All counts, in the order of records and reports.
    pub const ALL: [Count; 9] = [
        Count::Loads,
        Count::Stores,
        Count::Devices,
        Count::Taken,
        Count::Privileged,
        Count::Serialising,
        Count::Atomic,
        Count::CodeLines,
        Count::DataLines,
    ];

    /// What it counts, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Count::Loads => "loads",
            Count::Stores => "stores",
            Count::Devices => "of them to devices",
            Count::Taken => "taken branches, calls and returns",
            Count::Privileged => "privileged instructions",
            Count::Serialising => "serialising instructions",
            Count::Atomic => "atomic instructions",
            Count::CodeLines => "64-byte lines of code",
            Count::DataLines => "64-byte lines of data",
        }
    }

    /// Its name in records, reports and budgets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Count::Loads => "loads",
            Count::Stores => "stores",
            Count::Devices => "devices",
            Count::Taken => "taken",
            Count::Privileged => "privileged",
            Count::Serialising => "serialising",
            Count::Atomic => "atomic",
            Count::CodeLines => "code_lines",
            Count::DataLines => "data_lines",
        }
    }
}

impl Function {
    /// What stands for a function where no symbol has this address.
    #[must_use]
    pub fn unknown(address: u64) -> Self {
        Function {
            name: format!("{address:#x}"),
            program: UNKNOWN.to_owned(),
            file: None,
        }
    }
}

/// The program of addresses that no symbol has.
pub const UNKNOWN: &str = "unknown";

/// Samples that took the same path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// How many samples took it.
    pub samples: u64,
    /// How often the processor waited for an interrupt in one sample. The clock counts that time
    /// too, so a value is then more than the instructions.
    pub idle: u64,
    /// Instructions of one sample by function: an index into the functions of the run.
    pub functions: BTreeMap<usize, u64>,
    /// Those of them that only repeat a string instruction, by function.
    pub repeated: BTreeMap<usize, u64>,
    /// What else was counted in one sample. Absent: it was not counted.
    pub counts: BTreeMap<Count, u64>,
}

impl Mode {
    /// Instructions of one sample.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        sum(self.functions.values())
    }

    /// Instructions of one sample that only repeat a string instruction.
    #[must_use]
    pub fn repetitions(&self) -> u64 {
        sum(self.repeated.values())
    }

    /// Adds all samples of another mode to this sum.
    pub fn add_all(&mut self, mode: &Mode) {
        let all = |count: u64| count.saturating_mul(mode.samples);
        self.samples += mode.samples;
        self.idle += all(mode.idle);
        for (sums, counts) in [
            (&mut self.functions, &mode.functions),
            (&mut self.repeated, &mode.repeated),
        ] {
            for (function, count) in counts {
                add(sums, *function, all(*count));
            }
        }
        for (count, number) in &mode.counts {
            add(&mut self.counts, *count, all(*number));
        }
    }
}

/// The sum, saturating: the numbers may come from a damaged file.
fn sum<'a>(counts: impl Iterator<Item = &'a u64>) -> u64 {
    counts.fold(0, |sum, count| sum.saturating_add(*count))
}

/// The paths of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The most frequent first; at most [`MODES`].
    pub modes: Vec<Mode>,
    /// The sum of the others: its instructions are those of all its samples together.
    pub others: Mode,
}

/// Paths of one metric that a run keeps apart.
pub const MODES: usize = 64;

impl Paths {
    /// Checks the paths against the values that the clock gave: every sample has a path, and the
    /// instructions of a path are the value of its samples. Where the processor waited, the value is
    /// more than the instructions.
    ///
    /// # Errors
    ///
    /// They disagree; the message says how.
    pub fn verify(&self, histogram: &Histogram) -> Result<(), String> {
        let samples = self.all().map(|mode| u128::from(mode.samples)).sum();
        let measured: u128 = histogram.iter().map(|(_, count)| u128::from(count)).sum();
        if measured != samples {
            return Err(format!(
                "the paths are of {samples} samples, but {measured} were measured"
            ));
        }
        let mut left: BTreeMap<u64, u64> =
            histogram.iter().map(|(value, n)| (value.0, n)).collect();
        let mut take = |value: u64, samples: u64| {
            let count = left.get_mut(&value)?;
            *count = count.checked_sub(samples)?;
            Some(())
        };
        for mode in self.modes.iter().filter(|mode| mode.idle == 0) {
            let value = mode.instructions();
            take(value, mode.samples).ok_or_else(|| {
                format!(
                    "{} samples executed {value} instructions, but fewer have that value",
                    mode.samples
                )
            })?;
        }
        // The longest paths with waits must find enough values above them.
        let mut waits: Vec<&Mode> = self.modes.iter().filter(|mode| mode.idle > 0).collect();
        waits.sort_by_key(|mode| std::cmp::Reverse(mode.instructions()));
        let mut needed = 0u128;
        for mode in &waits {
            needed += u128::from(mode.samples);
            let instructions = mode.instructions();
            let above = left.range(instructions..).map(|(_, n)| u128::from(*n));
            if above.sum::<u128>() < needed {
                return Err(format!(
                    "samples with a wait executed {instructions} instructions, but too few values \
                     are as high"
                ));
            }
        }
        let rest: u128 = left
            .iter()
            .map(|(value, n)| u128::from(*value) * u128::from(*n))
            .sum();
        let executed: u128 = waits
            .iter()
            .map(|mode| u128::from(mode.instructions()) * u128::from(mode.samples))
            .sum::<u128>()
            + u128::from(self.others.instructions());
        let is_exact = waits.is_empty() && self.others.idle == 0;
        if is_exact && executed != rest || executed > rest {
            return Err(format!(
                "the other samples executed {executed} instructions, but their values add up to {rest}"
            ));
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().chain([&self.others])
    }
}

/// The paths of a metric in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricPaths {
    /// The metric's id.
    pub metric: String,
    /// Index into the sessions of the run.
    pub session: usize,
    /// Operations in each sample.
    pub batch: u64,
    /// The values of the samples that took the paths.
    pub samples: Histogram,
    /// Its paths, or why they were refused.
    pub paths: Result<Paths, String>,
}

impl MetricPaths {
    /// Replaces the indices of functions by others.
    pub(super) fn renumber(&mut self, new: &[usize]) {
        let Ok(paths) = &mut self.paths else { return };
        for mode in paths.modes.iter_mut().chain([&mut paths.others]) {
            for counts in [&mut mode.functions, &mut mode.repeated] {
                let mut renumbered = BTreeMap::new();
                for (function, count) in &*counts {
                    add(&mut renumbered, new[*function], *count);
                }
                *counts = renumbered;
            }
        }
    }
}

/// Adds to the count of a key.
fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, count: u64) {
    let sum = counts.entry(key).or_default();
    *sum = sum.saturating_add(count);
}

/// The `host` fact after which the paths of a session follow.
pub const PATHS: &str = "paths";

const ID: &str = "id";
const PROGRAM: &str = "program";
const METRIC: &str = "metric";
const MODE: &str = "mode";
const OTHERS: &str = "others";
const SAMPLES: &str = "samples";
const INSTRUCTIONS: &str = "instructions";
const IDLE: &str = "idle";
const FUNCTIONS: &str = "functions";
const REPEATED: &str = "repeated";
const REPEATS: &str = "repeats";

/// The records with the paths of one session, as lines without their ends, numbered from 0. They
/// follow the session that was measured. The metrics' paths index `functions`.
///
/// # Panics
///
/// As [`record::write`]: if the id of a metric leaves no room.
#[must_use]
pub fn records(functions: &[Function], metrics: &[(&str, &Paths)]) -> Vec<String> {
    let mut lines = record::write(0, "host", &[("name", PATHS)], None);
    for (id, function) in functions.iter().enumerate() {
        let id = id.to_string();
        let pairs = [(ID, id.as_str()), (PROGRAM, &word(&function.program))];
        let name = Some(function.name.as_str());
        lines.extend(record::write(lines.len() as u64, "function", &pairs, name));
        if let Some(file) = &function.file {
            let seq = lines.len() as u64;
            lines.extend(record::write(seq, "source", &[(ID, &id)], Some(file)));
        }
    }
    for (metric, paths) in metrics {
        for (at, mode) in paths.modes.iter().enumerate() {
            write_mode(&mut lines, metric, &at.to_string(), mode);
        }
        if paths.others.samples > 0 {
            write_mode(&mut lines, metric, OTHERS, &paths.others);
        }
    }
    lines
}

/// Appends the records of a mode, as many as it needs.
fn write_mode(lines: &mut Vec<String>, metric: &str, name: &str, mode: &Mode) {
    let mut numbers = vec![
        (SAMPLES, mode.samples),
        (INSTRUCTIONS, mode.instructions()),
        (REPEATED, mode.repetitions()),
    ];
    numbers.extend((mode.idle > 0).then_some((IDLE, mode.idle)));
    numbers.extend(mode.counts.iter().map(|(count, n)| (count.name(), *n)));
    let numbers = numbers.into_iter().map(|(key, n)| (key, n.to_string()));
    let lists = [(FUNCTIONS, &mode.functions), (REPEATS, &mode.repeated)];
    let items = lists.into_iter().flat_map(|(key, counts)| {
        let items = counts.iter();
        items.map(move |(id, n)| (key, format!("{id}:{n}")))
    });
    let fixed = [(METRIC, metric), (MODE, name)];
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let mut room = record::room(lines.len() as u64, "path", &fixed);
    for (key, value) in numbers.chain(items) {
        let new = key.len() + "= ".len() + value.len();
        let open = pairs.last_mut().filter(|(last, _)| *last == key);
        match open {
            Some((_, list)) if value.len() < room => {
                room -= value.len() + ",".len();
                list.push(',');
                list.push_str(&value);
            }
            None if new <= room => {
                room -= new;
                pairs.push((key, value));
            }
            _ => {
                write_path(lines, &fixed, &pairs);
                room = record::room(lines.len() as u64, "path", &fixed).saturating_sub(new);
                pairs = vec![(key, value)];
            }
        }
    }
    write_path(lines, &fixed, &pairs);
}

fn write_path(lines: &mut Vec<String>, fixed: &[(&str, &str)], values: &[(&str, String)]) {
    let values = values.iter().map(|(key, value)| (*key, value.as_str()));
    let pairs: Vec<(&str, &str)> = fixed.iter().copied().chain(values).collect();
    lines.extend(record::write(lines.len() as u64, "path", &pairs, None));
}

/// The paths of one session as its records arrive.
#[derive(Clone, Debug)]
pub(super) struct Received {
    session: usize,
    functions: BTreeMap<u64, Function>,
    /// The modes of each metric by name. `None` if one of its records makes no sense.
    metrics: BTreeMap<String, Option<BTreeMap<Name, Partial>>>,
}

/// A mode: its number, or the sum of the others, which sorts last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Mode(u64),
    Others,
}

/// A mode whose records are arriving.
#[derive(Clone, Debug, Default)]
struct Partial {
    pairs: BTreeMap<String, u64>,
    functions: BTreeMap<u64, u64>,
    repeated: BTreeMap<u64, u64>,
}

impl Received {
    pub(super) fn new(session: usize) -> Self {
        Received {
            session,
            functions: BTreeMap::new(),
            metrics: BTreeMap::new(),
        }
    }

    /// Reads a `function` record. Returns its id, or `None` if it makes no sense.
    pub(super) fn function(&mut self, record: &Record) -> Option<u64> {
        let id = record.number(ID)?;
        let function = Function {
            name: record.text()?,
            program: record.get(PROGRAM)?.to_owned(),
            file: None,
        };
        // With two functions of one number, no path that has it can be named.
        let is_new = self.functions.insert(id, function).is_none();
        if !is_new {
            self.functions.remove(&id);
        }
        is_new.then_some(id)
    }

    /// Reads a `source` record. Returns the id of its function, or `None` if it makes no sense.
    pub(super) fn source(&mut self, record: &Record) -> Option<u64> {
        let id = record.number(ID)?;
        self.rename(id, true, record.text()?);
        Some(id)
    }

    /// Sets the name of a function, or its file.
    pub(super) fn rename(&mut self, id: u64, is_file: bool, text: String) {
        match self.functions.get_mut(&id) {
            Some(function) if is_file => function.file = Some(text),
            Some(function) => function.name = text,
            None => {}
        }
    }

    /// Reads a `path` record. `None` if it makes no sense; its metric then has no paths.
    pub(super) fn path(&mut self, record: &Record) -> Option<()> {
        let metric = record.get(METRIC)?;
        let modes = self.metrics.entry(metric.to_owned());
        let modes = modes.or_insert_with(|| Some(BTreeMap::new()));
        let read = modes.as_mut().and_then(|modes| read_path(modes, record));
        if read.is_none() {
            *modes = None;
        }
        read
    }

    /// The functions, and the paths of each metric by their indices. `measured` has the batch and the
    /// samples of a metric in a session.
    pub(super) fn finish<'a>(
        self,
        measured: impl Fn(&str, usize) -> Option<(u64, &'a Histogram)>,
    ) -> (Vec<Function>, Vec<MetricPaths>) {
        let ids: BTreeMap<u64, usize> = self.functions.keys().copied().zip(0..).collect();
        let metrics = self.metrics.into_iter().map(|(metric, modes)| {
            let measured = measured(&metric, self.session);
            let paths = modes
                .ok_or_else(|| "a record of its paths is malformed".to_owned())
                .and_then(|modes| assemble(modes, &ids))
                .and_then(|paths| {
                    let (_, samples) =
                        measured.ok_or("the metric has no number in this session")?;
                    paths.verify(samples).map(|()| paths)
                });
            MetricPaths {
                metric,
                session: self.session,
                batch: measured.map_or(1, |(batch, _)| batch.max(1)),
                samples: measured.map_or_else(Histogram::new, |(_, samples)| samples.clone()),
                paths,
            }
        });
        let metrics = metrics.collect();
        (self.functions.into_values().collect(), metrics)
    }
}

fn read_path(modes: &mut BTreeMap<Name, Partial>, record: &Record) -> Option<()> {
    let name = match record.get(MODE)? {
        OTHERS => Name::Others,
        _ => Name::Mode(record.number(MODE).filter(|at| *at < MODES as u64)?),
    };
    let mode = modes.entry(name).or_default();
    for (key, value) in record.pairs() {
        let counts = match *key {
            METRIC | MODE => continue,
            FUNCTIONS => &mut mode.functions,
            REPEATS => &mut mode.repeated,
            // Keys that this reader does not know may have any value.
            _ => {
                if let Some(number) = record.number(key) {
                    if mode.pairs.insert((*key).to_owned(), number).is_some() {
                        return None;
                    }
                }
                continue;
            }
        };
        for item in value.split(',') {
            let (id, count) = item.split_once(':')?;
            let (id, count) = (
                record::decimal(id.as_bytes())?,
                record::decimal(count.as_bytes())?,
            );
            if count == 0 || counts.insert(id, count).is_some() {
                return None;
            }
        }
    }
    Some(())
}

/// The paths of a metric, if all of their records arrived.
fn assemble(modes: BTreeMap<Name, Partial>, ids: &BTreeMap<u64, usize>) -> Result<Paths, String> {
    let mut paths = Paths::default();
    for (name, partial) in modes {
        let lost = || "records of its paths are missing".to_owned();
        let samples = partial.pairs.get(SAMPLES).filter(|n| **n > 0);
        let number = |count: &Count| Some((*count, *partial.pairs.get(count.name())?));
        let known = |counts: &BTreeMap<u64, u64>| -> Result<BTreeMap<usize, u64>, String> {
            let counts = counts.iter().map(|(id, count)| {
                let at = ids.get(id);
                let at =
                    at.ok_or_else(|| format!("function {id} of its paths is not described"))?;
                Ok((*at, *count))
            });
            counts.collect()
        };
        let mode = Mode {
            samples: *samples.ok_or_else(lost)?,
            idle: partial.pairs.get(IDLE).copied().unwrap_or(0),
            functions: known(&partial.functions)?,
            repeated: known(&partial.repeated)?,
            counts: Count::ALL.iter().filter_map(number).collect(),
        };
        for (key, sum) in [
            (INSTRUCTIONS, mode.instructions()),
            (REPEATED, mode.repetitions()),
        ] {
            if partial.pairs.get(key) != Some(&sum) {
                return Err(lost());
            }
        }
        let is_part = |(at, count): (&usize, &u64)| mode.functions.get(at) >= Some(count);
        if !mode.repeated.iter().all(is_part) {
            return Err("more repetitions than instructions".to_owned());
        }
        match name {
            Name::Mode(_) => paths.modes.push(mode),
            Name::Others => paths.others = mode,
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::Run;
    use crate::stream::script::Script;
    use crate::stream::session::Reader;
    use crate::stream::ticks::Ticks;
    use proptest::prelude::*;

    fn function(name: &str, file: Option<&str>) -> Function {
        Function {
            name: name.into(),
            program: "kernel".into(),
            file: file.map(str::to_owned),
        }
    }

    fn mode(samples: u64, functions: &[(usize, u64)]) -> Mode {
        Mode {
            samples,
            functions: functions.iter().copied().collect(),
            ..Mode::default()
        }
    }

    fn histogram(counts: &[(u64, u64)]) -> Histogram {
        counts.iter().map(|(v, n)| (Ticks(*v), *n)).collect()
    }

    /// A session that measured `a` with these samples.
    fn session(samples: &Histogram) -> Script {
        let mut script = Script::default();
        let total = samples.total();
        let counts = samples.iter().map(|(v, n)| format!(" {}:{n}", v.0));
        let hist = format!("hist metric=a{}", counts.collect::<String>());
        script.all(&[
            "hello port=fake arch=x mode=run clock=c unit=instructions hz=0 realtime=no",
            "bench metric=a case=a from=0 to=1 switches=0 | About a.",
            &format!("begin case=a asked={total}"),
            &format!("plan case=a samples={total} batch=1"),
            &hist,
            "proof case=a name=order counted=0 low=0 high=0",
            &format!("end case=a status=ok samples={total}"),
        ]);
        script.bye();
        script
    }

    fn read(lines: &[String]) -> Run {
        let mut reader = Reader::new();
        for line in lines {
            reader.line(line.as_bytes());
        }
        reader.finish()
    }

    fn of_a(run: &Run) -> Result<&Paths, &str> {
        let paths = run.paths_of("a").ok_or("it has none")?;
        paths.paths.as_ref().map_err(String::as_str)
    }

    fn with(samples: &Histogram, records: &[String]) -> Run {
        read(&[&session(samples).lines[..], records].concat())
    }

    #[test]
    fn records_are_as_in_the_protocol() {
        let functions = [
            function("vListInsert", Some("list.c")),
            function("memset", None),
        ];
        let mut tail = mode(1, &[(0, 3), (1, 300)]);
        tail.repeated.insert(1, 256);
        tail.counts.insert(Count::Loads, 12);
        let paths = Paths {
            modes: vec![mode(9, &[(0, 3)]), tail],
            others: Mode::default(),
        };
        let lines = records(&functions, &[("a", &paths)]);
        let bodies: Vec<&str> = lines.iter().map(|l| &l[5..l.len() - 10]).collect();
        assert_eq!(
            bodies,
            [
                "0 host name=paths",
                "1 function id=0 program=kernel | vListInsert",
                "2 source id=0 | list.c",
                "3 function id=1 program=kernel | memset",
                "4 path metric=a mode=0 samples=9 instructions=3 repeated=0 functions=0:3",
                "5 path metric=a mode=1 samples=1 instructions=303 repeated=256 loads=12 \
                 functions=0:3,1:300 repeats=1:256",
            ]
        );
        let run = with(&histogram(&[(3, 9), (303, 1)]), &lines);
        assert_eq!(run.functions, functions);
        assert_eq!(of_a(&run), Ok(&paths));
        assert_eq!(run.paths_of("b"), None);
        assert_eq!((run.damage.damaged, run.damage.gaps), (0, 0));
    }

    #[test]
    fn paths_that_disagree_with_the_values_are_refused() {
        let refused = |modes: Vec<Mode>, others: Mode, samples: &[(u64, u64)]| {
            let paths = Paths { modes, others };
            paths.verify(&histogram(samples)).unwrap_err()
        };
        let none = Mode::default;
        assert_eq!(
            refused(vec![mode(9, &[(0, 3)])], none(), &[(3, 10)]),
            "the paths are of 9 samples, but 10 were measured"
        );
        assert_eq!(
            refused(vec![mode(9, &[(0, 3)])], none(), &[(3, 8), (4, 1)]),
            "9 samples executed 3 instructions, but fewer have that value"
        );
        let waits = Mode {
            idle: 1,
            ..mode(2, &[(0, 5)])
        };
        assert_eq!(
            refused(vec![waits.clone()], none(), &[(4, 1), (9, 1)]),
            "samples with a wait executed 5 instructions, but too few values are as high"
        );
        assert_eq!(
            refused(
                vec![mode(1, &[(0, 3)])],
                mode(2, &[(0, 11)]),
                &[(3, 1), (5, 2)]
            ),
            "the other samples executed 11 instructions, but their values add up to 10"
        );
        let paths = Paths {
            modes: vec![mode(1, &[(0, 3)]), waits],
            others: mode(2, &[(0, 10)]),
        };
        assert_eq!(
            paths.verify(&histogram(&[(3, 1), (5, 2), (8, 1), (9, 1)])),
            Ok(())
        );
    }

    #[test]
    fn several_sessions_share_their_functions() {
        let paths = Paths {
            modes: vec![mode(2, &[(0, 3), (1, 4)])],
            others: Mode::default(),
        };
        let (one, two) = (function("one", None), function("two", None));
        let samples = histogram(&[(7, 2)]);
        let mut lines = session(&samples).lines;
        lines.extend(records(&[one.clone(), two.clone()], &[("a", &paths)]));
        lines.extend(session(&samples).lines);
        lines.extend(records(&[two.clone(), one.clone()], &[("a", &paths)]));
        let run = read(&lines);
        assert_eq!(run.functions, [one, two]);
        let of = |at: usize| {
            run.paths[at].paths.as_ref().unwrap().modes[0]
                .functions
                .clone()
        };
        assert_eq!((run.paths[0].session, run.paths[1].session), (0, 1));
        assert_eq!(of(0), BTreeMap::from([(0, 3), (1, 4)]));
        assert_eq!(of(1), BTreeMap::from([(1, 3), (0, 4)]));
        let joined = Run::joined(vec![run.clone(), run.clone()]);
        assert_eq!(joined.functions, run.functions);
        let sessions: Vec<usize> = joined.paths.iter().map(|one| one.session).collect();
        assert_eq!(sessions, [0, 1, 2, 3]);
    }

    #[test]
    fn readers_ignore_unknown_keys_and_paths_without_a_session() {
        let seal = |seq, pairs: &[(&str, &str)]| record::write(seq, "path", pairs, None).concat();
        let mut lines = records(&[function("f", None)], &[]);
        lines.push(seal(
            2,
            &[
                ("metric", "a"),
                ("mode", "0"),
                ("samples", "2"),
                ("colour", "red"),
                ("instructions", "7"),
                ("repeated", "0"),
                ("functions", "0:7"),
            ],
        ));
        let run = with(&histogram(&[(7, 2)]), &lines);
        assert!(of_a(&run).is_ok());
        assert!(read(&lines).paths.is_empty());
        assert_eq!(read(&lines).damage.damaged, 0);
    }

    prop_compose! {
        fn any_mode()(
            samples in 1u64..50,
            idle in prop_oneof![4 => Just(0u64), 1 => 1u64..3],
            functions in prop::collection::btree_map(0usize..40, 1u64..5000, 0..40),
            keep in any::<u64>(),
            counts in prop::collection::btree_map(0usize..9, any::<u64>(), 0..9),
        ) -> Mode {
            let repeated = functions.iter().filter(|(at, _)| keep >> **at & 1 == 0);
            Mode {
                samples,
                idle,
                repeated: repeated.map(|(at, n)| (*at, *n)).collect(),
                counts: counts.into_iter().map(|(at, n)| (Count::ALL[at], n)).collect(),
                functions,
            }
        }
    }

    prop_compose! {
        fn any_paths()(
            modes in prop::collection::vec(any_mode(), 0..5),
            others in prop_oneof![Just(Mode::default()), any_mode()],
        ) -> (Paths, Histogram) {
            let mut samples = Histogram::new();
            for mode in &modes {
                samples.add(Ticks(mode.instructions() + 10 * mode.idle), mode.samples);
            }
            let all = others.instructions();
            if let Some(each) = all.checked_div(others.samples) {
                samples.add(Ticks(each), others.samples - 1);
                samples.add(Ticks(all - each * (others.samples - 1)), 1);
            }
            (Paths { modes, others }, samples)
        }
    }

    fn functions() -> Vec<Function> {
        let long = "x".repeat(300);
        let names = (0..40).map(|at| match at {
            7 => format!("{long} %7"),
            _ => format!("f{at}"),
        });
        let files = (0..40).map(|at| (at % 3 == 0).then(|| format!("{long}/{at}.c")));
        names
            .zip(files)
            .map(|(name, file)| function(&name, file.as_deref()))
            .collect()
    }

    proptest! {
        #[test]
        fn written_paths_are_read_back((paths, samples) in any_paths()) {
            prop_assume!(samples.total() > 0);
            prop_assert_eq!(paths.verify(&samples), Ok(()));
            let run = with(&samples, &records(&functions(), &[("a", &paths)]));
            prop_assert_eq!(&run.functions, &functions());
            prop_assert_eq!(of_a(&run), Ok(&paths));
            prop_assert_eq!(run.damage.damaged, 0);
        }

        #[test]
        fn damage_loses_paths_but_changes_none(
            (paths, samples) in any_paths(),
            hits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3, any::<u8>()), 1..4),
        ) {
            prop_assume!(samples.total() > 0);
            let mut lines = records(&functions(), &[("a", &paths)]);
            for (at, how, with) in hits {
                if lines.is_empty() {
                    continue;
                }
                let at = at.index(lines.len());
                match how {
                    0 => {
                        lines.remove(at);
                    }
                    1 => {
                        let byte = with as usize % lines[at].len();
                        lines[at].replace_range(byte..=byte, "?");
                    }
                    _ => {
                        let again = lines[at].clone();
                        lines.push(again);
                    }
                }
            }
            let run = with(&samples, &lines);
            if let Ok(read) = of_a(&run) {
                // Functions that no path has may be lost, and so may the end of a long name.
                let known = functions();
                let of = |name: &str| known.iter().position(|one| one.name == name);
                let place = |at: &usize| {
                    let name = &run.functions[*at].name;
                    of(name).unwrap_or_else(|| if name.starts_with('x') { 7 } else { 40 })
                };
                let placed = |counts: &BTreeMap<usize, u64>| -> BTreeMap<usize, u64> {
                    counts.iter().map(|(at, n)| (place(at), *n)).collect()
                };
                prop_assert_eq!(read.modes.len(), paths.modes.len());
                for (read, written) in read.all().zip(paths.all()) {
                    let is_same = |(count, n): (&Count, &u64)| written.counts.get(count) == Some(n);
                    prop_assert!(read.counts.iter().all(is_same));
                    prop_assert_eq!((read.samples, read.idle), (written.samples, written.idle));
                    prop_assert_eq!(&placed(&read.functions), &written.functions);
                    prop_assert_eq!(&placed(&read.repeated), &written.repeated);
                }
            }
        }

        #[test]
        fn arbitrary_records_do_not_panic(
            bodies in prop::collection::vec(
                ("(metric|mode|samples|instructions|repeated|functions|repeats|idle|loads)", "[0-9:,a]{1,9}"),
                0..40,
            ),
        ) {
            let mut lines = records(&[function("f", None)], &[]);
            for (key, value) in bodies {
                let mut pairs = vec![("metric", "a"), ("mode", "0")];
                pairs.retain(|(known, _)| *known != key);
                pairs.push((&key, &value));
                lines.extend(record::write(lines.len() as u64, "path", &pairs, None));
            }
            let run = with(&histogram(&[(7, 2)]), &lines);
            if let Ok(paths) = of_a(&run) {
                prop_assert_eq!(paths.verify(&histogram(&[(7, 2)])), Ok(()));
            }
        }
    }
}
