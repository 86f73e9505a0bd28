// SPDX-License-Identifier: MIT OR Apache-2.0

//! Derives what a run must print from the emulator's trace of every instruction. The addresses show
//! which instructions read the clock, and the instruction numbers give the times. What the clock
//! returned is not used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use kernmark::stream::run::{Entry, Outcome, Run};

use crate::common::succeeds;
use crate::emulated::{cases, catalog, emulator, measure, read, replicate, Image};

/// A clock reading: the instruction's address, and its number in the trace.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: u32,
    number: u64,
}

/// The readings while the threads of each part of a case ran.
type Parts = Vec<Vec<Reading>>;

/// The values of a metric: the cold one, and the others in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Values {
    cold: Option<u64>,
    hot: Vec<u64>,
}

/// A run, and its clock readings.
struct Traced {
    run: Run,
    parts: Parts,
    instructions: u64,
}

/// How the readings of a part correspond to the stamps of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// One to one.
    Each,
    /// One to one, without one reading per sample, always by the same instruction.
    ButOne(u32),
    /// One to one from the second reading on; threads that end after the last sample read too.
    Turns,
    /// One for the first stamp, and for the second one from each of this many threads, of which the
    /// last counts.
    LastOf(usize),
}

/// The addresses of the code that reads the clock.
fn stamps(image: &Image) -> BTreeSet<u32> {
    let section = image.elf.with_extension("stamps");
    succeeds(
        Command::new("arm-none-eabi-objcopy")
            .arg("--dump-section")
            .arg(format!(".stamps={}", section.display()))
            .arg(&image.elf)
            .arg(image.elf.with_extension("copy")),
    );
    fs::read(section)
        .unwrap()
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// The address where the port starts to run the threads of a part.
fn port_run(image: &Image) -> u32 {
    let symbols = succeeds(Command::new("arm-none-eabi-nm").arg(&image.elf));
    let symbol = symbols.lines().find(|line| line.ends_with(" T port_run"));
    u32::from_str_radix(&symbol.unwrap()[..8], 16).unwrap()
}

/// The address in `Trace 0: 0x7f... [flags/address/flags/flags] symbol`.
fn address(line: &[u8]) -> Option<u32> {
    let digits = line.strip_prefix(b"Trace ")?;
    let bracket = digits.iter().position(|&b| b == b'[')?;
    let slash = bracket + digits[bracket..].iter().position(|&b| b == b'/')?;
    digits
        .get(slash + 1..slash + 9)?
        .iter()
        .try_fold(0, |n, &b| Some(n << 4 | char::from(b).to_digit(16)?))
}

/// Runs an order and traces each instruction.
fn follow(image: &Image, order: &str) -> Traced {
    let (stamps, start) = (stamps(image), port_run(image));
    let mut child = emulator(image, order, &["-singlestep", "-d", "exec,nochain"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let stream = thread::spawn(move || {
        let mut stream = Vec::new();
        stdout.read_to_end(&mut stream).map(|_| stream)
    });
    let mut trace = BufReader::with_capacity(1 << 20, child.stderr.take().unwrap());
    let (mut parts, mut number, mut line) = (Parts::new(), 0, Vec::new());
    while trace.read_until(b'\n', &mut line).unwrap() > 0 {
        if let Some(at) = address(&line) {
            number += 1;
            if at == start {
                parts.push(Vec::new());
            } else if stamps.contains(&at) {
                if let Some(part) = parts.last_mut() {
                    part.push(Reading { at, number });
                }
            }
        } else if line.starts_with(b"cpu_io_recompile") || line.starts_with(b"Stopped execution") {
            // The last instruction listed was not executed: it is listed again.
            if let Some(part) = parts.last_mut() {
                if part.last().is_some_and(|reading| reading.number == number) {
                    part.pop();
                }
            }
            number -= 1;
        }
        line.clear();
    }
    assert!(child.wait().unwrap().success(), "{}", image.name);
    Traced {
        run: read(&stream.join().unwrap().unwrap()),
        parts,
        instructions: number,
    }
}

/// The times of the stamps of this many samples, if the readings fit this way.
fn rows(part: &[Reading], samples: usize, stamps: usize, fit: Fit) -> Option<Vec<Vec<u64>>> {
    let count = samples * stamps;
    let times: Vec<u64> = match fit {
        Fit::Each => part.iter().map(|r| r.number).collect(),
        Fit::ButOne(at) => {
            let left = part.iter().filter(|r| r.at != at);
            (part.len() == count + samples).then(|| left.map(|r| r.number).collect())?
        }
        Fit::Turns => part.get(1..=count)?.iter().map(|r| r.number).collect(),
        Fit::LastOf(threads) => part
            .chunks_exact(1 + threads)
            .flat_map(|sample| [sample[0].number, sample[threads].number])
            .collect(),
    };
    (times.len() == count).then(|| times.chunks(stamps).map(<[u64]>::to_vec).collect())
}

/// How many samples are the lead-in of each part: one, or as many as there are threads that take
/// turns or wait.
fn lead(case: &str) -> usize {
    let threads = case.rsplit('.').next().and_then(|word| word.parse().ok());
    let is_shared = [".runnable.", ".waiting.", ".wake_all."]
        .iter()
        .any(|condition| case.contains(condition));
    threads.filter(|_| is_shared).unwrap_or(1)
}

/// Derives the metrics of a case from its parts: the first lead-in, which begins with the cold
/// sample, the pilot, and the samples after a lead-in.
fn worked_out(
    parts: &[Vec<Reading>],
    entries: &[&Entry],
    samples: usize,
    fit: Fit,
) -> Option<Vec<Values>> {
    let stamps = 1 + entries.iter().map(|e| e.stamps.1).max()? as usize;
    let [cold, _, hot] = parts else { return None };
    let lead = lead(&entries[0].case);
    let cold = rows(cold, lead, stamps, fit)?;
    let hot = rows(hot, lead + samples, stamps, fit)?;
    let values = |entry: &&Entry| {
        let (from, to) = (entry.stamps.0 as usize, entry.stamps.1 as usize);
        let mut hot: Vec<u64> = hot[lead..].iter().map(|row| row[to] - row[from]).collect();
        hot.sort_unstable();
        Values {
            cold: Some(cold[0][to] - cold[0][from]),
            hot,
        }
    };
    Some(entries.iter().map(values).collect())
}

/// The fit that explains exactly the printed values.
fn explained(case: &Case, printed: &[Values]) -> Option<Fit> {
    let sites: BTreeSet<u32> = case.parts[0].iter().map(|r| r.at).collect();
    std::iter::once(Fit::Each)
        .chain(sites.into_iter().map(Fit::ButOne))
        .chain([Fit::Turns, Fit::LastOf(lead(case.id))])
        .find(|fit| {
            worked_out(case.parts, &case.entries, case.samples, *fit).as_deref() == Some(printed)
        })
}

/// A measured case.
struct Case<'a> {
    id: &'a str,
    entries: Vec<&'a Entry>,
    parts: &'a [Vec<Reading>],
    samples: usize,
    printed: Vec<Values>,
}

impl Traced {
    /// The measured cases, in catalog order.
    fn cases<'a>(&'a self, catalog: &'a [Entry], samples: usize) -> Vec<Case<'a>> {
        let mut printed = BTreeMap::new();
        for metric in &self.run.metrics {
            let replicate = replicate(metric);
            if replicate.outcome != Outcome::Ok {
                continue;
            }
            let each = replicate.histogram.iter();
            let hot = each.flat_map(|(ticks, n)| std::iter::repeat_n(ticks.0, n as usize));
            let values = Values {
                cold: replicate.cold.map(|ticks| ticks.0),
                hot: hot.collect(),
            };
            printed.insert(metric.id.as_str(), values);
        }
        let mut parts = self.parts.chunks(3);
        let mut measured = Vec::new();
        for id in cases(catalog) {
            let is_measured = |e: &&Entry| e.case == id && printed.contains_key(e.metric.as_str());
            let entries: Vec<_> = catalog.iter().filter(is_measured).collect();
            if !entries.is_empty() {
                let values = entries.iter().map(|e| printed[e.metric.as_str()].clone());
                measured.push(Case {
                    id,
                    parts: parts.next().unwrap_or_default(),
                    samples,
                    printed: values.collect(),
                    entries,
                });
            }
        }
        assert!(
            parts.next().is_none(),
            "there are more parts than cases have"
        );
        measured
    }
}

/// Traces every instruction of these cases; the trace must explain every printed value. Returns how
/// many cases were measured.
pub fn explain(image: &Image, wanted: fn(&str) -> bool) -> usize {
    const SAMPLES: u32 = 5;
    let start = Instant::now();
    let catalog = catalog(image);
    let traced = follow(image, &measure(&cases(&catalog), SAMPLES, wanted));
    let measured = traced.cases(&catalog, SAMPLES as usize);
    assert!(
        measured.len() > 5,
        "{}: {} cases",
        image.name,
        measured.len()
    );
    let (mut fits, mut values) = (BTreeMap::new(), 0);
    for case in &measured {
        let fit = explained(case, &case.printed)
            .unwrap_or_else(|| panic!("{}: {} {:?}", image.name, case.id, case.printed));
        let kind = match fit {
            Fit::ButOne(_) => "all but one",
            Fit::Each => "all",
            Fit::Turns => "turns",
            Fit::LastOf(_) => "the last of each",
        };
        *fits.entry(kind).or_insert(0) += 1;
        // Any value that is off by one is detected.
        for metric in 0..case.printed.len() {
            for value in 0..=SAMPLES as usize {
                for wrong in [1, -1] {
                    let mut printed = case.printed.clone();
                    let changed = match value {
                        0 => printed[metric].cold.as_mut().unwrap(),
                        n => &mut printed[metric].hot[n - 1],
                    };
                    *changed = changed.wrapping_add_signed(wrong);
                    printed[metric].hot.sort_unstable();
                    assert_eq!(explained(case, &printed), None, "{}", case.id);
                }
                values += 1;
            }
        }
    }
    println!(
        "{}: {} cases, {values} values, {} instructions, {:?}, {:.1} s",
        image.name,
        measured.len(),
        traced.instructions,
        fits,
        start.elapsed().as_secs_f64()
    );
    measured.len()
}

/// Excludes cases with many threads, which take long to trace.
pub fn few(case: &str) -> bool {
    let number = case.rsplit('.').find_map(|word| word.parse::<u32>().ok());
    let sized = ["heap.", "message_", "stream."];
    sized.iter().any(|prefix| case.starts_with(prefix)) || number.is_none_or(|threads| threads <= 4)
}
