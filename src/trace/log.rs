// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes the list of a trace from the emulator's own log of executed instructions, for emulators
//! that were built without plugins. It is slower, and knows neither accesses to memory nor
//! disassembly.
//!
//! The log names the address of each instruction before it executes. Some it names twice, because
//! the emulator stopped before the instruction and started again; a line between the two says so.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::mem;

use object::{Architecture, Object, ObjectSection, SectionKind};

/// Readings of the clock in one row; a row with more is cut at its start.
const ROW_MAX: usize = 4096;

/// The code of a program with fixed addresses.
#[derive(Clone, Debug)]
pub struct Code {
    architecture: Architecture,
    /// Address and bytes of each section of code.
    sections: Vec<(u64, Vec<u8>)>,
}

impl Code {
    /// Reads the bytes of an ELF file.
    ///
    /// # Errors
    ///
    /// They are no ELF file, or the length of the processor's instructions is not known here.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let in_context = |error: object::Error| format!("{name}: {error}");
        let file = object::File::parse(bytes).map_err(in_context)?;
        let architecture = file.architecture();
        if !matches!(
            architecture,
            Architecture::Arm
                | Architecture::Aarch64
                | Architecture::Riscv32
                | Architecture::Riscv64
        ) {
            return Err(format!(
                "{name}: a log of single instructions is not enough for {architecture:?}"
            ));
        }
        let mut sections = Vec::new();
        for section in file.sections() {
            if section.kind() == SectionKind::Text {
                let data = section.data().map_err(in_context)?;
                sections.push((section.address(), data.to_vec()));
            }
        }
        Ok(Code {
            architecture,
            sections,
        })
    }

    /// A program without code, for tests.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Code {
            architecture: Architecture::Arm,
            sections: Vec::new(),
        }
    }

    /// The instruction at an address; empty if the program has none there.
    fn instruction(&self, address: u64) -> &[u8] {
        let bytes = self.sections.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|bytes| !bytes.is_empty())
        });
        let bytes = bytes.unwrap_or_default();
        let is_long = match (self.architecture, bytes) {
            (Architecture::Arm, [_, high, ..]) => high >> 3 >= 0b11101,
            (Architecture::Riscv32 | Architecture::Riscv64, [low, ..]) => low & 3 == 3,
            _ => true,
        };
        let size = if is_long { 4 } else { 2 };
        &bytes[..size.min(bytes.len())]
    }

    /// Whether an instruction waits for an interrupt.
    fn waits(&self, bytes: &[u8]) -> bool {
        let wait: &[u8] = match self.architecture {
            Architecture::Arm => &[0x30, 0xbf],
            Architecture::Aarch64 => &[0x7f, 0x20, 0x03, 0xd5],
            _ => &[0x73, 0x00, 0x50, 0x10],
        };
        bytes == wait
    }
}

/// What an instruction means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Stamp,
    Case,
    Part,
    Row,
}

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The instruction at this address comes next.
    Next(u64),
    /// The last one named has not been executed.
    Rewound,
    Other,
}

/// Reads a line such as `Trace 0: 0x7f... [flags/address/flags/flags] symbol`.
fn line(text: &[u8]) -> Line {
    if text.starts_with(b"cpu_io_recompile") || text.starts_with(b"Stopped execution") {
        return Line::Rewound;
    }
    let address = || {
        let text = text.strip_prefix(b"Trace ")?;
        let bracket = memchr::memchr(b'[', text)?;
        let mut words = text[bracket..].split(|&byte| byte == b'/');
        let digits = words.nth(1).filter(|digits| digits.len() <= 16)?;
        digits.iter().try_fold(0, |sum, &byte| {
            Some(sum << 4 | u64::from(char::from(byte).to_digit(16)?))
        })
    };
    address().map_or(Line::Other, Line::Next)
}

/// Writes the list that the plugin would write (`agent/trace/trace.c`) from a log. `marks` are what
/// the plugin would get; of the cases only this one is followed, or all.
///
/// # Errors
///
/// The log cannot be read, or the list cannot be written.
pub fn convert(
    mut log: impl BufRead,
    marks: &str,
    code: &Code,
    case: Option<usize>,
    into: impl Write,
) -> Result<(), String> {
    let mut list = Writer::new(marks, code, case, into);
    let mut text = Vec::new();
    // What was named last is executed when something else is named.
    let mut named = None;
    loop {
        text.clear();
        let read = log.read_until(b'\n', &mut text);
        if read.map_err(|error| format!("cannot read the emulator's log: {error}"))? == 0 {
            break;
        }
        let executed = match line(&text) {
            Line::Next(address) => named.replace(address),
            Line::Rewound => {
                named = None;
                None
            }
            Line::Other => None,
        };
        executed.map_or(Ok(()), |address| list.execute(address))?;
    }
    named.map_or(Ok(()), |address| list.execute(address))?;
    list.end()
}

/// An instruction that was executed; its number is its index.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    address: u64,
    kind: Kind,
    waits: bool,
    is_used: bool,
}

/// Readings of the clock: the instruction that read it, and the path that led to it.
type Row = Vec<(u32, u32)>;

struct Writer<'a, W> {
    into: W,
    code: &'a Code,
    marks: HashMap<u64, Kind>,
    case: Option<usize>,
    instructions: Vec<Instruction>,
    numbers: HashMap<u64, u32>,
    paths: HashMap<(Vec<u32>, u64), u32>,
    /// Instructions executed in the cases that are followed.
    executed: u64,
    /// Cases that have begun.
    begun: usize,
    is_followed: bool,
    has_part: bool,
    /// The path since the last reading of the clock, and how often it waited.
    path: Option<(Vec<u32>, u64)>,
    row: Row,
    last: Row,
    repeated: u64,
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(marks: &str, code: &'a Code, case: Option<usize>, into: W) -> Self {
        let mark = |line: &str| {
            let mut words = line.split(' ');
            let kind = match words.next()? {
                "stamp" => Kind::Stamp,
                "case" => Kind::Case,
                "part" => Kind::Part,
                "row" => Kind::Row,
                _ => return None,
            };
            Some((u64::from_str_radix(words.next()?, 16).ok()?, kind))
        };
        Writer {
            into,
            code,
            marks: marks.lines().filter_map(mark).collect(),
            case,
            instructions: Vec::new(),
            numbers: HashMap::new(),
            paths: HashMap::new(),
            executed: 0,
            begun: 0,
            is_followed: false,
            has_part: false,
            path: None,
            row: Row::new(),
            last: Row::new(),
            repeated: 0,
        }
    }

    /// The number of the instruction at an address.
    fn number(&mut self, address: u64) -> u32 {
        let next = self.instructions.len() as u32;
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.instructions.push(Instruction {
                address,
                kind: self.marks.get(&address).copied().unwrap_or(Kind::Plain),
                waits: self.code.waits(self.code.instruction(address)),
                is_used: false,
            });
        }
        number
    }

    fn execute(&mut self, address: u64) -> Result<(), String> {
        let number = self.number(address);
        let instruction = self.instructions[number as usize];
        self.executed += u64::from(self.is_followed);
        if let Some((path, waits)) = &mut self.path {
            path.push(number);
            *waits += u64::from(instruction.waits);
        }
        match instruction.kind {
            Kind::Plain => Ok(()),
            Kind::Stamp => self.read_clock(number),
            Kind::Case => self.begin_case(),
            Kind::Part => self.begin_part(),
            Kind::Row => self.finish_row(),
        }
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        let written = self.into.write_all(text.as_bytes());
        written.map_err(|error| format!("cannot write the trace: {error}"))
    }

    fn read_clock(&mut self, site: u32) -> Result<(), String> {
        if !self.is_followed || !self.has_part {
            return Ok(());
        }
        let path = match self.path.take() {
            Some((path, waits)) => self.path_number(path, waits)?,
            None => 0,
        };
        if self.row.len() == ROW_MAX {
            self.row.remove(0);
        }
        self.row.push((site, path));
        self.instructions[site as usize].is_used = true;
        self.path = Some((Vec::new(), 0));
        Ok(())
    }

    /// Writes the path if it is new. Returns its number.
    fn path_number(&mut self, path: Vec<u32>, waits: u64) -> Result<u32, String> {
        let next = self.paths.len() as u32;
        let key = (path, waits);
        if let Some(number) = self.paths.get(&key) {
            return Ok(*number);
        }
        for number in &key.0 {
            self.instructions[*number as usize].is_used = true;
        }
        let text = format!("path {next} {} {waits}{}\n", key.0.len(), runs(&key.0));
        self.put(&text)?;
        self.paths.insert(key, next);
        Ok(next)
    }

    fn begin_case(&mut self) -> Result<(), String> {
        self.end_part()?;
        let number = self.begun;
        self.begun += 1;
        self.has_part = false;
        self.is_followed = self.case.is_none_or(|wanted| wanted == number);
        if self.is_followed {
            self.put(&format!("case {number}\n"))?;
        }
        Ok(())
    }

    fn begin_part(&mut self) -> Result<(), String> {
        self.end_part()?;
        self.has_part = true;
        if self.is_followed {
            self.put("part\n")?;
        }
        Ok(())
    }

    fn end_part(&mut self) -> Result<(), String> {
        self.put_rows()?;
        self.path = None;
        self.row.clear();
        Ok(())
    }

    fn finish_row(&mut self) -> Result<(), String> {
        if !self.is_followed {
            return Ok(());
        }
        self.path = None;
        if self.row.is_empty() {
            return Ok(());
        }
        if self.repeated == 0 || self.row != self.last {
            self.put_rows()?;
            mem::swap(&mut self.row, &mut self.last);
        }
        self.repeated += 1;
        self.row.clear();
        Ok(())
    }

    fn put_rows(&mut self) -> Result<(), String> {
        let repeated = mem::take(&mut self.repeated);
        if repeated == 0 {
            return Ok(());
        }
        let reading = |(at, (site, path)): (usize, &(u32, u32))| match at {
            0 => format!(" {site}:-"),
            _ => format!(" {site}:{path}"),
        };
        let readings: String = self.last.iter().enumerate().map(reading).collect();
        self.put(&format!("row {repeated}{readings}\n"))
    }

    fn end(mut self) -> Result<(), String> {
        self.end_part()?;
        for (number, instruction) in mem::take(&mut self.instructions).iter().enumerate() {
            if instruction.is_used {
                let mut text = format!("insn {number} {:#x} ", instruction.address);
                for byte in self.code.instruction(instruction.address) {
                    let _ = write!(text, "{byte:02x}");
                }
                text.push('\n');
                self.put(&text)?;
            }
        }
        self.put(&format!("end {}\n", self.executed))?;
        let flushed = self.into.flush();
        flushed.map_err(|error| format!("cannot write the trace: {error}"))
    }
}

/// Consecutive numbers as runs, and repetitions of a run once.
fn runs(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for run in numbers.chunk_by(|a, b| *b == a.wrapping_add(1)) {
        let (first, more) = (run[0], run.len() as u32 - 1);
        match runs.last_mut() {
            Some(last) if (last.0, last.1) == (first, more) => last.2 += 1,
            _ => runs.push((first, more, 0)),
        }
    }
    let mut text = String::new();
    for (first, more, again) in runs {
        let _ = write!(text, " {first}");
        if more > 0 {
            let _ = write!(text, "+{more}");
        }
        if again > 0 {
            let _ = write!(text, " *{again}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::list::List;

    const MARKS: &str = "stamp 10 3768\nstamp 20 3768\ncase 0 00bf\npart 2 00bf\nrow 30 00bf\n";

    fn code() -> Code {
        let mut bytes = [0x00, 0xbf].repeat(0x40);
        // A long instruction, and one that waits.
        bytes[0x16..0x1a].copy_from_slice(&[0xef, 0xf3, 0x05, 0x80]);
        bytes[0x1c..0x1e].copy_from_slice(&[0x30, 0xbf]);
        Code {
            architecture: Architecture::Arm,
            sections: vec![(0, bytes)],
        }
    }

    /// The list of a log of these addresses; `!` says that the one before was not executed.
    fn list(addresses: &str, case: Option<usize>) -> String {
        let line = |word: &str| match word {
            "!" => "cpu_io_recompile: rewound execution of TB to 0000000a\n".to_owned(),
            word => format!("Trace 0: 0x7f4a [00000110/{word:0>8}/00000100/ff010201] f\n"),
        };
        let log: String = addresses.split(' ').map(line).collect();
        let mut text = Vec::new();
        convert(log.as_bytes(), MARKS, &code(), case, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_of_all_versions_are_read() {
        let new = b"Trace 0: 0x7f5c [00000000/0000000008002498/00000110/ff018001] main\n";
        assert_eq!(line(new), Line::Next(0x0800_2498));
        let old = b"Trace 0: 0x7f5c40000100 [00000000/08002498/00000110/ff000201] main\n";
        assert_eq!(line(old), Line::Next(0x0800_2498));
        let stopped = b"Stopped execution of TB chain before 0x7f5c [08002498] main\n";
        assert_eq!(line(stopped), Line::Rewound);
        assert_eq!(line(b"Trace 0: 0x7f5c\n"), Line::Other);
        assert_eq!(line(b"Trace 0: 0x7f5c [0/xy/0]\n"), Line::Other);
        assert_eq!(line(b"another line\n"), Line::Other);
    }

    #[test]
    fn log_becomes_the_list_of_the_plugin() {
        // Two equal samples, then one with a loop and a wait.
        let equal = "10 12 20 30";
        let text = list(
            &format!("0 2 {equal} 4 {equal} 10 16 16 16 1a 1c 20 30"),
            None,
        );
        assert_eq!(
            text,
            "case 0\npart\npath 0 2 0 3+1\npath 1 6 1 7 *1 7+2 4\n\
             row 2 2:- 4:0\nrow 1 2:- 4:1\n\
             insn 2 0x10 00bf\ninsn 3 0x12 00bf\ninsn 4 0x20 00bf\n\
             insn 7 0x16 eff30580\ninsn 8 0x1a 00bf\ninsn 9 0x1c 30bf\nend 18\n"
        );
        let read = List::read(text.as_bytes()).unwrap();
        assert_eq!((read.executed, read.paths.len()), (18, 2));
    }

    #[test]
    fn instruction_that_was_named_twice_is_executed_once() {
        assert_eq!(
            list("0 2 10 12 20 ! 20 30", None),
            list("0 2 10 12 20 30", None)
        );
        assert_eq!(
            list("0 2 10 ! 10 12 20 30 4 !", None),
            list("0 2 10 12 20 30", None)
        );
    }

    #[test]
    fn other_cases_are_left_out() {
        let sample = "0 2 10 12 20 30";
        let text = list(&format!("{sample} {sample} {sample}"), Some(1));
        assert!(
            text.starts_with("case 1\npart\npath 0 2 0 3+1\nrow 1 2:- 4:0\ninsn"),
            "{text}"
        );
        assert!(text.ends_with("\nend 6\n"), "{text}");
    }

    #[test]
    fn instruction_outside_of_the_program_has_no_bytes() {
        let text = list("0 2 10 fffe0000 20 30", None);
        assert!(text.contains("\ninsn 3 0xfffe0000 \n"), "{text}");
        assert!(List::read(text.as_bytes()).is_ok());
    }
}
