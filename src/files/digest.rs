// SPDX-License-Identifier: MIT OR Apache-2.0

//! The digest of a saved run: who and what it measured, and one line of figures per metric. A
//! history and a fleet are judged from digests, without reading the records again.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use crate::stream::run::{
    Fact, Unit, EXCLUDE, FILTERS, IMPORTED, LABEL, LINUX, MACHINE, MACHINE_ID, TARGET,
};

/// The last second of the year 9999, after which time stamps have another form.
const LATEST: u64 = 253_402_300_799;

/// The longest value of a fact that a digest keeps, in bytes.
pub const LONGEST_FACT: usize = 512;
/// The longest text that is read from a digest or an index, in bytes. A record is shorter.
pub(super) const LONGEST_TEXT: usize = 1024;

/// What is known of a saved run besides its figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The file's name in the store, without its suffix.
    pub name: String,
    /// SHA-256 of the uncompressed record stream, in hexadecimal.
    pub hash: String,
    /// The size of the file in bytes.
    pub size: u64,
    /// When the run started, in seconds since 1970.
    pub started: u64,
    /// The number of sessions: processes or boots.
    pub sessions: u32,
    /// The number of metrics with a value.
    pub metrics: u32,
    /// Whether its last session ended.
    pub is_complete: bool,
    /// Facts about the machine, the kernel, the agent and the tool (untrusted text). Those of the
    /// last session follow those of the host. A value of more than [`LONGEST_FACT`] bytes, such as
    /// the options of a kernel, is replaced by its hash. Runs from one index share them.
    pub facts: Vec<Arc<Fact>>,
}

impl Head {
    /// The value of a fact.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|fact| fact.name == name)?;
        Some(fact.value.as_str()).filter(|value| !value.is_empty())
    }

    /// What was measured, as `--on` names it.
    #[must_use]
    pub fn target(&self) -> &str {
        self.fact(TARGET).unwrap_or(LINUX)
    }

    /// The machine that was measured: the name that the user gave it, or else the hash of its
    /// machine-id. `None` if the run does not say.
    #[must_use]
    pub fn machine(&self) -> Option<&str> {
        self.fact(MACHINE).or_else(|| self.fact(MACHINE_ID))
    }

    /// Whether two runs may be of one machine: they name the same one, or one of them names none.
    #[must_use]
    pub fn may_share_machine(&self, other: &Head) -> bool {
        match (self.machine(), other.machine()) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// The kernel that was measured.
    #[must_use]
    pub fn kernel(&self) -> Option<&str> {
        self.fact("kernel").or_else(|| self.fact("kernel_release"))
    }

    /// When it started, as RFC 3339 writes it; `None` if that is unknown.
    #[must_use]
    pub fn when(&self) -> Option<String> {
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(self.started))?;
        let is_known = (1..=LATEST).contains(&self.started);
        is_known.then(|| humantime::format_rfc3339_seconds(time).to_string())
    }

    /// The labels that the user gave the run: keys and values.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let key = |fact: &Arc<Fact>| fact.name.strip_prefix(LABEL).map(str::len);
        self.facts.iter().filter_map(move |fact| {
            let length = key(fact)?;
            let at = fact.name.len() - length;
            Some((&fact.name[at..], fact.value.as_str()))
        })
    }

    /// Whether it holds results of another tool.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.fact(IMPORTED).is_some()
    }

    /// Why the run did not measure everything; `None` if it did. Results of other tools are not
    /// measured here.
    #[must_use]
    pub fn shortcoming(&self) -> Option<String> {
        if let Some(file) = self.fact(IMPORTED) {
            return Some(format!("was imported from {file}"));
        }
        if let Some(filters) = self.fact(FILTERS) {
            return Some(match self.fact(EXCLUDE) {
                Some(exclude) => format!("measured only {filters} without {exclude}"),
                None => format!("measured only {filters}"),
            });
        }
        (!self.is_complete).then(|| "was cut off".to_owned())
    }
}

/// The figures of one metric in one run, per operation: nanoseconds, or ticks if the clock does not
/// count time.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDigest {
    /// The metric's id.
    pub id: String,
    /// What its clock counts.
    pub unit: Unit,
    /// The median over replicates of p50, p90, p99, p99.9 and the first operation, in this order;
    /// `None` if the run has none.
    pub figures: [Option<f64>; 5],
    /// The largest sample.
    pub worst: Option<f64>,
    /// The standard deviation of the replicates' medians, as a share of their mean; `None` below 2
    /// replicates.
    pub spread: Option<f64>,
    /// The number of replicates with a value.
    pub replicates: u32,
}

/// The digest of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// What is known of the run.
    pub head: Head,
    /// The metrics with a value, in the order of the run's catalog.
    pub metrics: Vec<MetricDigest>,
}

/// One quantity of many metrics over many runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The runs.
    pub runs: Vec<Head>,
    /// What a reading of the clock cost in each run, in nanoseconds; NaN if the run does not say or
    /// its clock does not count time.
    pub clock: Vec<f64>,
    /// The metrics, in the order of the newest run. Those that it lacks follow, sorted by id.
    pub series: Vec<Series>,
}

/// One quantity of one metric over the runs of a [`Timeline`].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric's id.
    pub metric: String,
    /// What its clock counts.
    pub unit: Unit,
    /// The value in each run, per operation, in nanoseconds or ticks; NaN if a run has none.
    pub values: Vec<f64>,
    /// The spread in each run ([`MetricDigest::spread`]); NaN if unknown.
    pub spreads: Vec<f64>,
}

/// The first line of a digest's text. The number is the version of the format.
const FIRST_LINE: &str = "kernmark digest 1";

/// A figure as a digest keeps it: counted instructions exactly, times [`rounded`]. `None` if it is
/// no number.
#[must_use]
pub fn kept(value: f64, unit: Unit) -> Option<f64> {
    match unit {
        Unit::Instructions => Some(value).filter(|value| value.is_finite()),
        Unit::Cycles | Unit::Ticks => rounded(value),
    }
}

/// A number with 6 significant digits, which is finer than any clock. `None` if it is none.
#[must_use]
pub fn rounded(value: f64) -> Option<f64> {
    let rounded = format!("{value:.5e}").parse().ok();
    rounded.filter(|value: &f64| value.is_finite())
}

/// The SHA-256 of some bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl Digest {
    /// The text of the digest: a line for each fact and each metric (`m`: its id, its unit, the
    /// number of replicates, the five figures, the largest sample and the spread), and a checksum at
    /// the end.
    #[must_use]
    pub fn text(&self) -> String {
        let Head {
            name: _,
            hash,
            size,
            started,
            sessions,
            metrics: _,
            is_complete,
            facts,
        } = &self.head;
        let complete = if *is_complete {
            "complete"
        } else {
            "incomplete"
        };
        let mut text = format!("{FIRST_LINE}\nrun {hash} {size} {started} {sessions} {complete}\n");
        for fact in facts {
            let _ = writeln!(text, "fact {} {}", word(&fact.name), line(&fact.value));
        }
        for metric in &self.metrics {
            let unit = metric.unit.name();
            let _ = write!(text, "m {} {unit} {}", word(&metric.id), metric.replicates);
            for figure in metric.figures.iter().chain([&metric.worst, &metric.spread]) {
                match figure {
                    Some(figure) => drop(write!(text, " {figure}")),
                    None => text.push_str(" -"),
                }
            }
            text.push('\n');
        }
        let sum = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "end {sum:08x}");
        text
    }

    /// Reads the text of a digest of the run with this name.
    ///
    /// # Errors
    ///
    /// The text is damaged or has another version.
    pub fn parse(text: &str, name: &str) -> Result<Self, String> {
        let (body, end) = text
            .strip_suffix('\n')
            .and_then(|text| Some(text.split_at(text.rfind('\n')? + 1)))
            .ok_or("it has no end")?;
        let sum = format!("end {:08x}", crc32fast::hash(body.as_bytes()));
        if end != sum {
            return Err("its checksum is wrong".to_owned());
        }
        let mut lines = body.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err("it has another version".to_owned());
        }
        let head = lines.next().and_then(|line| read_head(line, name));
        let mut digest = Digest {
            head: head.ok_or("its head is damaged")?,
            metrics: Vec::new(),
        };
        for line in lines {
            let read = match line.strip_prefix("fact ") {
                Some(fact) => read_fact(fact).map(|fact| digest.head.facts.push(fact.into())),
                None => read_metric(line).map(|metric| digest.metrics.push(metric)),
            };
            read.ok_or_else(|| format!("the line `{line}` is damaged"))?;
        }
        digest.head.metrics = digest.metrics.len() as u32;
        Ok(digest)
    }
}

fn read_head(line: &str, name: &str) -> Option<Head> {
    let mut words = line.strip_prefix("run ")?.split(' ');
    let head = Head {
        name: name.to_owned(),
        hash: words.next().filter(|hash| is_hash(hash))?.to_owned(),
        size: words.next()?.parse().ok()?,
        started: words.next()?.parse().ok()?,
        sessions: words.next()?.parse().ok()?,
        metrics: 0,
        is_complete: match words.next()? {
            "complete" => true,
            "incomplete" => false,
            _ => return None,
        },
        facts: Vec::new(),
    };
    words.next().is_none().then_some(head)
}

/// Whether a text is a SHA-256 in hexadecimal.
pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(is_digit)
}

/// Whether a byte is a lower-case hexadecimal digit.
pub(super) fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn read_fact(line: &str) -> Option<Fact> {
    let (name, value) = line.split_once(' ')?;
    Some(Fact::new(&decoded(name)?, decoded(value)?))
}

fn read_metric(line: &str) -> Option<MetricDigest> {
    let mut words = line.strip_prefix("m ")?.split(' ');
    let id = decoded(words.next()?)?;
    let unit = words.next()?;
    let all = [Unit::Cycles, Unit::Ticks, Unit::Instructions];
    let unit = all.into_iter().find(|one| one.name() == unit)?;
    let replicates = words.next()?.parse().ok()?;
    let mut figures = [None; 7];
    for figure in &mut figures {
        *figure = match words.next()? {
            "-" => None,
            number => Some(
                number
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())?,
            ),
        };
    }
    let [p50, p90, p99, p999, cold, worst, spread] = figures;
    let metric = MetricDigest {
        id,
        unit,
        figures: [p50, p90, p99, p999, cold],
        worst,
        spread,
        replicates,
    };
    words.next().is_none().then_some(metric)
}

/// A text as one word: control characters, blanks and `%` become `%20` and the like.
fn word(text: &str) -> String {
    encoded(text, char::is_whitespace)
}

/// A text as the rest of a line, with its blanks.
fn line(text: &str) -> String {
    encoded(text, |c| c != ' ' && c.is_whitespace())
}

fn encoded(text: &str, is_special: fn(char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '%' || c.is_control() || is_special(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02x}");
            }
        } else {
            encoded.push(c);
        }
    }
    encoded
}

/// `None` if the text was not made by [`encoded`], or is too long.
fn decoded(text: &str) -> Option<String> {
    // Three characters may stand for a byte.
    if text.len() > 3 * LONGEST_TEXT {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = after
                .get(..2)
                .filter(|digits| digits.iter().all(|b| is_digit(*b)))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (text.len() <= LONGEST_TEXT).then_some(text)
}
