// SPDX-License-Identifier: MIT OR Apache-2.0

//! The list that an emulator writes: which paths the samples of each case took. `agent/trace/trace.c`
//! defines its text.

use std::collections::HashMap;
use std::io::BufRead;

/// An executed instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its virtual address.
    pub address: u64,
    /// Its bytes, at most 16. Empty if no program has them.
    pub bytes: Vec<u8>,
    /// The emulator's disassembly; empty unless it was asked for.
    pub text: String,
}

/// Numbers that follow each other: `first`, `first + 1`, ... `first + more`, all of it `times`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    first: u32,
    more: u32,
    times: u32,
}

impl Numbers {
    fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.times).flat_map(move |_| self.first..=self.first + self.more)
    }

    fn len(self) -> u64 {
        (u64::from(self.more) + 1) * u64::from(self.times)
    }
}

/// How often an instruction of a path accessed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accesses {
    /// The instruction's number.
    pub instruction: u32,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// How many of both were to devices.
    pub devices: u64,
}

/// What was executed between two readings of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The number of instructions.
    pub length: u64,
    /// How often the processor waited for an interrupt.
    pub idle: u64,
    /// Its instructions by number. Empty though `length` is not 0: the list had no room for them.
    runs: Vec<Numbers>,
    /// Its accesses to memory, if they were counted.
    pub accesses: Vec<Accesses>,
    lines: Vec<Numbers>,
}

impl Path {
    /// The numbers of its instructions, in the order of execution. `None` if the list had no room
    /// for them.
    #[must_use]
    pub fn instructions(&self) -> Option<impl Iterator<Item = u32> + '_> {
        let is_known = self.length == 0 || !self.runs.is_empty();
        is_known.then(|| self.runs.iter().flat_map(|run| run.iter()))
    }

    /// The numbers of the 64-byte lines of data that it accessed, in order, without repetitions in
    /// a row.
    pub fn lines(&self) -> impl Iterator<Item = u32> + '_ {
        self.lines.iter().flat_map(|run| run.iter())
    }
}

/// A reading of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The number of the instruction that read it.
    pub site: u32,
    /// The path that led to it from the reading before, an index into [`List::paths`]. `None` for
    /// the first reading of a row.
    pub path: Option<usize>,
}

/// Equal samples that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How many samples.
    pub samples: u64,
    /// The readings of the clock in each.
    pub readings: Vec<Reading>,
}

/// A case that was followed: the rows of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Its place among the cases of the session, from 0.
    pub number: usize,
    /// Its parts in order, those of the pilot first.
    pub parts: Vec<Vec<Row>>,
}

/// A complete list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Where the text of the module is, if there is one.
    pub base: Option<u64>,
    /// The cases that were followed, in order.
    pub cases: Vec<Case>,
    /// All paths. A path that several rows have is there once.
    pub paths: Vec<Path>,
    /// The instructions of the paths, by number.
    pub instructions: HashMap<u32, Instruction>,
    /// The addresses of the lines of data, by number.
    pub lines: HashMap<u32, u64>,
    /// What the machine told the emulator: the text of its kernel's `/proc/kallsyms`. Empty if its
    /// kernel has none.
    pub said: String,
    /// How many instructions were executed in all.
    pub executed: u64,
}

impl List {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// It cannot be read, a line is malformed, or its end is missing. The message names the line.
    pub fn read(mut from: impl BufRead) -> Result<Self, String> {
        let mut list = List::default();
        let mut is_complete = false;
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let length = from
                .read_line(&mut line)
                .map_err(|error| format!("line {number}: {error}"))?;
            if length == 0 {
                break;
            }
            let (kind, rest) = line
                .trim_end()
                .split_once(' ')
                .unwrap_or((line.trim_end(), ""));
            is_complete |= kind == "end";
            list.take(kind, rest)
                .ok_or_else(|| format!("line {number} is malformed: {:.60}", line.trim_end()))?;
        }
        if is_complete {
            Ok(list)
        } else {
            Err("its end is missing: the emulator was stopped".to_owned())
        }
    }

    fn take(&mut self, kind: &str, rest: &str) -> Option<()> {
        let mut words = rest.split(' ');
        match kind {
            "base" => self.base = Some(address(rest)?),
            "case" => self.cases.push(Case {
                number: rest.parse().ok()?,
                parts: Vec::new(),
            }),
            "part" => self.cases.last_mut()?.parts.push(Vec::new()),
            "path" => {
                let is_next = words.next()?.parse() == Ok(self.paths.len());
                let mut path = Path {
                    length: words.next()?.parse().ok()?,
                    idle: words.next()?.parse().ok()?,
                    ..Path::default()
                };
                if !rest.ends_with(" -") {
                    path.runs = runs(words)?;
                    let length: u64 = path.runs.iter().map(|run| run.len()).sum();
                    (length == path.length).then_some(())?;
                }
                self.paths.push(path);
                is_next.then_some(())?;
            }
            "data" => {
                let path: usize = words.next()?.parse().ok()?;
                let accesses: Option<Vec<Accesses>> = words.map(accesses).collect();
                self.paths.get_mut(path)?.accesses = accesses?;
            }
            "lines" => {
                let path: usize = words.next()?.parse().ok()?;
                self.paths.get_mut(path)?.lines = runs(words)?;
            }
            "row" => {
                let samples = words.next()?.parse().ok()?;
                let known = self.paths.len();
                let readings = readings(words, known)?;
                let row = Row { samples, readings };
                self.cases.last_mut()?.parts.last_mut()?.push(row);
            }
            "line" => {
                self.lines
                    .insert(words.next()?.parse().ok()?, address(words.next()?)?);
            }
            "insn" => {
                let mut words = rest.splitn(4, ' ');
                let number = words.next()?.parse().ok()?;
                let instruction = Instruction {
                    address: address(words.next()?)?,
                    bytes: bytes(words.next().unwrap_or_default())?,
                    text: words.next().unwrap_or_default().to_owned(),
                };
                self.instructions.insert(number, instruction);
            }
            "said" => {
                self.said.push_str(rest);
                self.said.push('\n');
            }
            "lost" => {}
            "end" => self.executed = rest.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// An instruction by its number.
    #[must_use]
    pub fn instruction(&self, number: u32) -> Option<&Instruction> {
        self.instructions.get(&number)
    }
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

fn bytes(word: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(word.get(at..at + 2)?, 16).ok();
    (word.len() % 2 == 0 && word.len() <= 32)
        .then(|| (0..word.len()).step_by(2).map(byte).collect())?
}

fn accesses(word: &str) -> Option<Accesses> {
    let mut numbers = word.split(':').map(|number| number.parse().ok());
    let accesses = Accesses {
        instruction: u32::try_from(numbers.next()??).ok()?,
        loads: numbers.next()??,
        stores: numbers.next()??,
        devices: numbers.next()??,
    };
    numbers.next().is_none().then_some(accesses)
}

/// Most readings of the clock in one row.
const READINGS: usize = 1 << 16;

/// The readings of a row after `known` paths have been listed.
fn readings<'a>(words: impl Iterator<Item = &'a str>, known: usize) -> Option<Vec<Reading>> {
    let mut readings: Vec<Reading> = Vec::new();
    for word in words {
        if let Some(more) = word.strip_prefix('*') {
            let more: usize = more.parse().ok()?;
            let all = readings.len().checked_add(more)?;
            readings.resize(Some(all).filter(|all| *all <= READINGS)?, *readings.last()?);
        } else {
            readings.push(reading(word, known)?);
        }
    }
    Some(readings)
}

/// A reading after `known` paths have been listed.
fn reading(word: &str, known: usize) -> Option<Reading> {
    let (site, path) = word.split_once(':')?;
    let path = match path {
        "-" => None,
        path => Some(path.parse().ok().filter(|path| *path < known)?),
    };
    Some(Reading {
        site: site.parse().ok()?,
        path,
    })
}

fn runs<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<Numbers>> {
    let mut runs: Vec<Numbers> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        if let Some(more) = word.strip_prefix('*') {
            let last = runs.last_mut()?;
            last.times = last.times.checked_add(more.parse().ok()?)?;
            continue;
        }
        let (first, more) = word.split_once('+').unwrap_or((word, "0"));
        let (first, more): (u32, u32) = (first.parse().ok()?, more.parse().ok()?);
        first.checked_add(more)?;
        runs.push(Numbers {
            first,
            more,
            times: 1,
        });
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "base 0xffffffffc0000000\ncase 2\npart\npath 0 5 0 7+4\n\
                        data 0 7:1:0:1 8:0:2:0\nlines 0 0+1 5\nrow 1 6:- 11:0\n\
                        part\npath 1 7 1 7+1 9 *4\nrow 3 6:- 11:0 11:1 *2\npath 2 9 0 -\nrow 1 6:-\n\
                        line 0 0x1000\ninsn 7 0x20 3268 ldr r2, [r6, #0]\ninsn 8 0x22 aa\nend 12\n";

    #[test]
    fn list_is_read() {
        let list = List::read(LIST.as_bytes()).unwrap();
        assert_eq!(
            (list.base, list.executed),
            (Some(0xffff_ffff_c000_0000), 12)
        );
        let [case] = &list.cases[..] else {
            panic!("{:?}", list.cases)
        };
        assert_eq!((case.number, case.parts.len()), (2, 2));
        assert_eq!(case.parts[1][0].samples, 3);
        assert_eq!(
            case.parts[1][0].readings[2],
            Reading {
                site: 11,
                path: Some(1)
            }
        );
        let numbers = |path: usize| {
            list.paths[path]
                .instructions()
                .map(Iterator::collect::<Vec<_>>)
        };
        assert_eq!(numbers(0).unwrap(), [7, 8, 9, 10, 11]);
        assert_eq!(numbers(1).unwrap(), [7, 8, 9, 9, 9, 9, 9]);
        assert_eq!((numbers(2), list.paths[2].length), (None, 9));
        assert_eq!(list.paths[0].lines().collect::<Vec<_>>(), [0, 1, 5]);
        assert_eq!(list.paths[0].accesses[1].stores, 2);
        assert_eq!(list.instruction(7).unwrap().text, "ldr r2, [r6, #0]");
        assert_eq!(list.instruction(8).unwrap().bytes, [0xaa]);
    }

    #[test]
    fn faults_name_the_line() {
        let fault = |text: &str| List::read(text.as_bytes()).unwrap_err();
        assert_eq!(
            fault("case 0\npart\n"),
            "its end is missing: the emulator was stopped"
        );
        assert_eq!(fault("part\nend 1\n"), "line 1 is malformed: part");
        assert_eq!(
            fault("path 0 3 0 1+1\nend 1\n"),
            "line 1 is malformed: path 0 3 0 1+1"
        );
        assert_eq!(
            fault("case 0\npart\nrow 1 3:- 4:0\nend 1\n"),
            "line 3 is malformed: row 1 3:- 4:0"
        );
        assert!(fault("path 1 0 0\nend 1\n").starts_with("line 1"));
    }

    proptest! {
        #[test]
        fn a_damaged_list_does_no_harm(at in 0..LIST.len(), byte: u8, end in 0..LIST.len()) {
            let mut bytes = LIST.as_bytes().to_owned();
            bytes[at] = byte;
            let _ = List::read(&bytes[..]);
            let _ = List::read(&bytes[..end]);
        }

        #[test]
        fn arbitrary_text_is_accepted(text in "(case|part|path|row|insn|line|data|lines|end|base)?[ 0-9:+*x-]{0,30}\n?") {
            let _ = List::read(text.as_bytes());
        }
    }
}
