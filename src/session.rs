//! Follows a record stream line by line and concludes what it is worth: a [`Run`].
//!
//! The rules are those of `doc/protocol.md`. Whatever a stream has lost, a
//! metric that has a number has exactly the samples that its agent took.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::histogram::Histogram;
use crate::record::{self, Line, Record};
use crate::run::{
    Clock, Entry, Fact, Metric, Outcome, Proof, Replicate, Run, Session, Ticks, Unit,
};

/// What has just happened in the stream, for whoever shows progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An agent speaks: with the catalog alone (`None`), or to measure as this
    /// index into [`Run::sessions`].
    Hello(Option<usize>),
    /// A case starts.
    Begin {
        /// Its id.
        case: String,
        /// Samples asked for.
        asked: u64,
    },
    /// A case has decided how it measures.
    Plan {
        /// Its id.
        case: String,
        /// Samples it will take.
        samples: u64,
        /// Operations in each.
        batch: u64,
    },
    /// A case is over.
    End {
        /// Its id.
        case: String,
        /// What it is worth: that of its first metric without a number, if there is one.
        outcome: Outcome,
    },
    /// A session is over.
    Bye,
    /// The stream speaks a version of the grammar that cannot be read here.
    Refused(Refused),
}

/// A version of the grammar that this tool does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The version that the stream's mark names.
    pub version: u32,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the stream speaks version {0} of the record grammar (@km{0}), this tool reads version 1; \
             use a kernmark as new as the agent that wrote it",
            self.version
        )
    }
}

impl std::error::Error for Refused {}

/// Reads a stream, one line at a time.
///
/// ```
/// use kernmark::{record, session::{Event, Reader}};
///
/// let mut reader = Reader::new();
/// for line in record::write(0, "host", &[("name", "kernel_release")], Some("6.1.0")) {
///     assert_eq!(reader.line(line.as_bytes()), None);
/// }
/// let run = reader.finish();
/// assert_eq!(run.host[0].value, "6.1.0");
/// ```
#[derive(Debug, Default)]
pub struct Reader {
    run: Run,
    /// Where a metric stands in the run's catalog, and in its metrics.
    entries: HashMap<String, usize>,
    metrics: HashMap<String, usize>,
    /// The metrics of each case, by the catalog.
    cases: HashMap<String, Vec<String>>,
    speaker: Option<Speaker>,
    refused: Option<Refused>,
}

/// The session that is speaking.
#[derive(Debug)]
struct Speaker {
    role: Role,
    /// The number that the next record must have.
    next: u64,
    /// The check sums of the records that came, by their numbers.
    seen: HashMap<u64, u32>,
    /// The case that is open.
    open: Option<Case>,
    /// The cases that are over.
    done: HashSet<String>,
    /// The text that the next record may go on with.
    text: Option<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The tool that wrote the run.
    Host,
    /// An agent that prints its catalog.
    List,
    /// An agent that measures: its index into the run's sessions.
    Measure(usize),
}

#[derive(Debug, Default)]
struct Case {
    id: String,
    asked: u64,
    plan: Option<Plan>,
    metrics: Vec<Delivered>,
    proofs: Vec<Proof>,
    /// Why it can have no number, whatever is still to come.
    spoiled: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    samples: u64,
    batch: u64,
}

/// What came of one metric of the open case.
#[derive(Debug, Default)]
struct Delivered {
    id: String,
    cold: Option<Ticks>,
    histogram: Histogram,
    /// The sum of all counts: more than the histogram's total can say.
    samples: u128,
}

/// How a case ended.
enum Ending<'a> {
    /// Its `end` came.
    End(&'a Record<'a>),
    /// It did not, for this reason.
    CutOff(String),
}

/// A text whose pieces may still be coming.
#[derive(Debug)]
struct Text {
    kind: String,
    key: (String, String),
    raw: String,
    place: Place,
}

/// Where a text belongs.
#[derive(Debug)]
enum Place {
    Host(usize),
    Info(usize, usize),
    About(usize),
    Between(usize),
    Via(usize),
    /// The outcomes of these replicates: indices of a metric and its replicate.
    Reason(Vec<(usize, usize)>),
    Nowhere,
}

/// A record of a known kind that does not say what its kind must say, or stands
/// where its kind must not.
struct Malformed;

type Handled = Result<Option<Event>, Malformed>;

impl Speaker {
    fn new(role: Role, first: &Record) -> Self {
        Self {
            role,
            next: 1,
            seen: HashMap::from([(0, first.sum())]),
            open: None,
            done: HashSet::new(),
            text: None,
        }
    }

    /// Notes that something was lost or damaged here.
    fn spoil(&mut self, reason: &str) {
        self.text = None;
        if let Some(case) = &mut self.open {
            case.spoiled.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// The open case, if it is the one that the record names.
    fn case_of(&mut self, record: &Record) -> Result<Option<&mut Case>, Malformed> {
        match &mut self.open {
            None => Ok(None),
            Some(case) if record.get("case") == Some(&case.id) => Ok(Some(case)),
            Some(_) => Err(Malformed),
        }
    }
}

impl Case {
    fn metric(&mut self, id: &str) -> &mut Delivered {
        let at = self.metrics.iter().position(|m| m.id == id);
        let at = at.unwrap_or_else(|| {
            self.metrics.push(Delivered {
                id: id.to_owned(),
                ..Delivered::default()
            });
            self.metrics.len() - 1
        });
        &mut self.metrics[at]
    }

    /// What the case as a whole is worth, and the samples that each of its metrics must have.
    fn judge(&self, ending: &Ending) -> (Outcome, u64) {
        let end = match ending {
            Ending::End(record) => record,
            Ending::CutOff(reason) => return (Outcome::Incomplete(reason.clone()), 0),
        };
        if let Some(reason) = &self.spoiled {
            return (Outcome::Incomplete(reason.clone()), 0);
        }
        let reason = || {
            end.text()
                .unwrap_or_else(|| "no reason was given".to_owned())
        };
        let outcome = match (end.get("status"), end.number("samples"), self.plan) {
            (Some("skip"), _, _) => Outcome::Skipped(reason()),
            (Some("error"), _, _) => Outcome::Failed(reason()),
            (Some("ok"), _, None) => Outcome::Incomplete("its plan did not arrive".to_owned()),
            (Some("ok"), Some(samples), Some(plan)) if samples == plan.samples && samples > 0 => {
                return (self.judge_proofs(), samples);
            }
            (Some("ok"), Some(samples), Some(plan)) => Outcome::Incomplete(format!(
                "it ended with {samples} samples, its plan was {}",
                plan.samples
            )),
            _ => Outcome::Incomplete("its end does not say how it ended".to_owned()),
        };
        (outcome, 0)
    }

    fn judge_proofs(&self) -> Outcome {
        let failed: Vec<String> = self
            .proofs
            .iter()
            .filter(|p| !(p.low..=p.high).contains(&p.counted))
            .map(describe)
            .collect();
        if failed.is_empty() {
            Outcome::Ok
        } else {
            Outcome::Failed(failed.join("; "))
        }
    }
}

fn describe(proof: &Proof) -> String {
    let Proof {
        name,
        counted,
        low,
        high,
    } = proof;
    let must = match (*low, *high) {
        (low, high) if low == high => format!("{low}"),
        (low, u64::MAX) => format!("{low} or more"),
        (low, high) => format!("{low} to {high}"),
    };
    format!("{name}: counted {counted}, must be {must}")
}

impl Delivered {
    fn judge(&self, samples: u64) -> Outcome {
        if self.samples == u128::from(samples) {
            Outcome::Ok
        } else if self.samples == 0 {
            Outcome::Incomplete("no samples of it arrived".to_owned())
        } else {
            Outcome::Incomplete(format!(
                "its counts add up to {}, not to {samples} samples",
                self.samples
            ))
        }
    }
}

impl Reader {
    /// A reader of a stream that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one line, with or without its line end.
    pub fn line(&mut self, line: &[u8]) -> Option<Event> {
        match record::parse(line) {
            Line::Record(record) => self.record(&record),
            Line::Damaged(reason) => {
                self.damaged(&format!("a record was damaged: {reason}"));
                None
            }
            Line::Version(version) => {
                let refused = Refused { version };
                self.damaged(&refused.to_string());
                self.refused.get_or_insert(refused);
                Some(Event::Refused(refused))
            }
            Line::Log => {
                if !line.trim_ascii().is_empty() {
                    self.run.damage.log_lines += 1;
                }
                None
            }
        }
    }

    /// Says that the agent died, hung or was killed: what it had begun is
    /// incomplete for this reason, and its session truncated.
    pub fn interrupted(&mut self, reason: &str) {
        self.close(reason);
    }

    /// The other version of the grammar that the stream speaks, in whole or in part.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Ends the stream.
    #[must_use]
    pub fn finish(mut self) -> Run {
        self.close("the stream ends inside the case: it hung or was cut off");
        let entries = self.entries;
        self.run
            .metrics
            .sort_by_key(|m| entries.get(&m.id).copied().unwrap_or(usize::MAX));
        self.run
    }

    /// Counts a record that is not used.
    fn damaged(&mut self, reason: &str) {
        self.run.damage.damaged += 1;
        if let Some(speaker) = &mut self.speaker {
            speaker.spoil(reason);
        }
    }

    /// Ends the session that speaks, if there is one, without its `bye`.
    fn close(&mut self, reason: &str) {
        self.close_case(reason);
        if self.speaker.take().is_some_and(|s| s.role != Role::Host) {
            self.run.damage.truncated += 1;
        }
    }

    fn close_case(&mut self, reason: &str) {
        if let Some(case) = self.speaker.as_mut().and_then(|s| s.open.take()) {
            self.conclude(case, &Ending::CutOff(reason.to_owned()));
        }
    }

    fn record(&mut self, record: &Record) -> Option<Event> {
        let starts = record.seq() == 0 && ["hello", "host"].contains(&record.kind());
        if starts && !self.repeats_start(record) {
            return self.start(record);
        }
        if !self.in_sequence(record) || self.goes_on(record) {
            return None;
        }
        self.dispatch(record).unwrap_or_else(|Malformed| {
            let reason = format!(
                "a record does not belong there or is malformed: number {}, {}",
                record.seq(),
                record.kind()
            );
            self.damaged(&reason);
            None
        })
    }

    /// Whether this is the first record of the session once more, before any other.
    fn repeats_start(&self, record: &Record) -> bool {
        self.speaker
            .as_ref()
            .is_some_and(|s| s.next == 1 && s.seen.get(&record.seq()) == Some(&record.sum()))
    }

    fn start(&mut self, record: &Record) -> Option<Event> {
        self.close("another session began inside the case: it hung or was cut off");
        if record.kind() == "host" {
            self.speaker = Some(Speaker::new(Role::Host, record));
            self.fact(record).ok()?;
            return None;
        }
        let Some((mode, session)) = hello(record) else {
            self.damaged("");
            return None;
        };
        let index = (mode == "run").then(|| {
            self.run.sessions.push(session);
            self.run.sessions.len() - 1
        });
        let role = index.map_or(Role::List, Role::Measure);
        self.speaker = Some(Speaker::new(role, record));
        Some(Event::Hello(index))
    }

    /// Whether the record is the session's next one, with or without a gap before it.
    fn in_sequence(&mut self, record: &Record) -> bool {
        let Some(speaker) = &mut self.speaker else {
            self.run.damage.damaged += 1;
            return false;
        };
        let seq = record.seq();
        match speaker.seen.insert(seq, record.sum()) {
            Some(sum) if sum != record.sum() => {
                // Two records of one number: the start of the second's session was lost.
                self.run.damage.damaged += 1;
                self.close("another session began inside the case: it hung or was cut off");
                return false;
            }
            Some(_) => {
                self.damaged(&format!("record {seq} came twice"));
                return false;
            }
            None if seq < speaker.next => {
                self.damaged(&format!("record {seq} came too late"));
                return false;
            }
            None => {}
        }
        if seq > speaker.next {
            self.run.damage.gaps += 1;
            let missing = format!("records are missing: {} to {}", speaker.next, seq - 1);
            speaker.spoil(&missing);
        }
        speaker.next = seq.saturating_add(1);
        true
    }

    /// Takes the record as a further piece of the text before it, if it is one.
    fn goes_on(&mut self, record: &Record) -> bool {
        let Some(speaker) = &mut self.speaker else {
            return false;
        };
        let (Some(mut text), Some(piece)) = (speaker.text.take(), record.raw_text()) else {
            return false;
        };
        let same = |(key, value)| key == text.key.0 && value == text.key.1;
        if text.kind != record.kind() || !record.text_key().is_some_and(same) {
            return false;
        }
        text.raw.push_str(piece);
        let decoded = record::decode(&text.raw);
        match &text.place {
            Place::Host(i) => self.run.host[*i].value = decoded,
            Place::Info(s, i) => self.run.sessions[*s].facts[*i].value = decoded,
            Place::About(i) => self.run.catalog[*i].about = decoded,
            Place::Between(i) => self.run.catalog[*i].between = decoded,
            Place::Via(i) => self.run.catalog[*i].via = decoded,
            Place::Reason(replicates) => {
                for (metric, replicate) in replicates {
                    let outcome = &mut self.run.metrics[*metric].replicates[*replicate].outcome;
                    if let Outcome::Skipped(reason) | Outcome::Failed(reason) = outcome {
                        reason.clone_from(&decoded);
                    }
                }
            }
            Place::Nowhere => {}
        }
        speaker.text = Some(text);
        true
    }

    /// Notes the text that the next record may go on with; returns it, decoded.
    fn text_begins(&mut self, record: &Record, place: Place) -> String {
        let (Some(raw), Some((key, value))) = (record.raw_text(), record.text_key()) else {
            return String::new();
        };
        if let Some(speaker) = &mut self.speaker {
            speaker.text = Some(Text {
                kind: record.kind().to_owned(),
                key: (key.to_owned(), value.to_owned()),
                raw: raw.to_owned(),
                place,
            });
        }
        record::decode(raw)
    }

    fn dispatch(&mut self, record: &Record) -> Handled {
        let Some(speaker) = &mut self.speaker else {
            return Err(Malformed);
        };
        match (speaker.role, record.kind()) {
            (Role::Host, "host") => self.fact(record),
            (Role::Host, kind) if kind != "hello" => Ok(None),
            (Role::List | Role::Measure(_), "info" | "bench" | "between" | "via") => {
                if speaker.open.is_some() {
                    return Err(Malformed);
                }
                match record.kind() {
                    "info" => self.fact(record),
                    "bench" => self.bench(record),
                    kind => self.explain(record, kind),
                }
            }
            (Role::List | Role::Measure(_), "bye") => self.bye(record),
            (Role::Measure(_), "begin") => self.begin(record),
            (Role::Measure(_), "plan") => plan(speaker, record),
            (Role::Measure(_), "cold" | "hist") => self.samples(record),
            (Role::Measure(_), "proof") => proof(speaker, record),
            (Role::Measure(_), "end") => self.end(record),
            (_, "hello" | "host") => Err(Malformed),
            _ => Ok(None),
        }
    }

    /// `host` and `info`.
    fn fact(&mut self, record: &Record) -> Handled {
        let name = record.get("name").ok_or(Malformed)?.to_owned();
        let place = match self.speaker.as_ref().map(|s| s.role) {
            Some(Role::Host) => Place::Host(self.run.host.len()),
            Some(Role::Measure(s)) => Place::Info(s, self.run.sessions[s].facts.len()),
            _ => Place::Nowhere,
        };
        let facts = match place {
            Place::Host(_) => Some(&mut self.run.host),
            Place::Info(s, _) => Some(&mut self.run.sessions[s].facts),
            _ => None,
        };
        if let Some(facts) = facts {
            let value = record.text().unwrap_or_default();
            facts.push(Fact { name, value });
        }
        self.text_begins(record, place);
        Ok(None)
    }

    fn bench(&mut self, record: &Record) -> Handled {
        let mut entry = entry(record).ok_or(Malformed)?;
        if self.entries.contains_key(&entry.metric) {
            self.text_begins(record, Place::Nowhere);
            return Ok(None);
        }
        let index = self.run.catalog.len();
        entry.about = self.text_begins(record, Place::About(index));
        self.entries.insert(entry.metric.clone(), index);
        self.cases
            .entry(entry.case.clone())
            .or_default()
            .push(entry.metric.clone());
        self.run.catalog.push(entry);
        Ok(None)
    }

    /// `between` and `via`: the first text that comes for a metric stays.
    fn explain(&mut self, record: &Record, kind: &str) -> Handled {
        let metric = record.get("metric").ok_or(Malformed)?;
        let Some(&index) = self.entries.get(metric) else {
            self.text_begins(record, Place::Nowhere);
            return Ok(None);
        };
        let (field, place): (fn(&mut Entry) -> &mut String, _) = match kind {
            "between" => (|e| &mut e.between, Place::Between(index)),
            _ => (|e| &mut e.via, Place::Via(index)),
        };
        if field(&mut self.run.catalog[index]).is_empty() {
            let text = self.text_begins(record, place);
            *field(&mut self.run.catalog[index]) = text;
        } else {
            self.text_begins(record, Place::Nowhere);
        }
        Ok(None)
    }

    fn begin(&mut self, record: &Record) -> Handled {
        let id = record.get("case").ok_or(Malformed)?;
        let asked = record.number("asked").ok_or(Malformed)?;
        self.close_case("another case began before its end came");
        let speaker = self.speaker.as_mut().ok_or(Malformed)?;
        if speaker.done.contains(id) {
            return Err(Malformed);
        }
        speaker.open = Some(Case {
            id: id.to_owned(),
            asked,
            ..Case::default()
        });
        Ok(Some(Event::Begin {
            case: id.to_owned(),
            asked,
        }))
    }

    /// `cold` and `hist`.
    fn samples(&mut self, record: &Record) -> Handled {
        let Some(case) = self.speaker.as_mut().and_then(|s| s.open.as_mut()) else {
            return Ok(None);
        };
        let id = record.get("metric").ok_or(Malformed)?;
        if let Some(&index) = self.entries.get(id) {
            if self.run.catalog[index].case != case.id {
                return Err(Malformed);
            }
        }
        if record.kind() == "cold" {
            let ticks = record.number("ticks").ok_or(Malformed)?;
            let metric = case.metric(id);
            if metric.cold.replace(Ticks(ticks)).is_some() {
                return Err(Malformed);
            }
        } else {
            record.number("part").ok_or(Malformed)?;
            let metric = case.metric(id);
            for (ticks, count) in record.counts() {
                metric.histogram.add(Ticks(*ticks), *count);
                metric.samples += u128::from(*count);
            }
        }
        Ok(None)
    }

    fn end(&mut self, record: &Record) -> Handled {
        let id = record.get("case").ok_or(Malformed)?;
        let speaker = self.speaker.as_mut().ok_or(Malformed)?;
        if speaker.open.as_ref().is_some_and(|case| case.id != id) {
            self.close_case("its end did not come, that of another case did");
        }
        let speaker = self.speaker.as_mut().ok_or(Malformed)?;
        let (case, ending) = match speaker.open.take() {
            Some(case) => (case, Ending::End(record)),
            // The end of a case that was cut off before, or was not taken.
            None if speaker.done.contains(id) => return Ok(None),
            None => {
                let case = Case {
                    id: id.to_owned(),
                    ..Case::default()
                };
                let reason = "its begin did not arrive".to_owned();
                (case, Ending::CutOff(reason))
            }
        };
        let replicates = self.conclude(case, &ending);
        let outcome = replicates
            .iter()
            .map(|(metric, i)| &self.run.metrics[*metric].replicates[*i].outcome)
            .find(|outcome| **outcome != Outcome::Ok)
            .cloned()
            .unwrap_or(Outcome::Ok);
        self.text_begins(record, Place::Reason(replicates));
        Ok(Some(Event::End {
            case: id.to_owned(),
            outcome,
        }))
    }

    /// Turns a case into a replicate of each of its metrics; returns their places.
    fn conclude(&mut self, mut case: Case, ending: &Ending) -> Vec<(usize, usize)> {
        let (outcome, samples) = case.judge(ending);
        let Some(speaker) = &mut self.speaker else {
            return Vec::new();
        };
        let Role::Measure(session) = speaker.role else {
            return Vec::new();
        };
        speaker.done.insert(case.id.clone());
        let mut ids = self.cases.get(&case.id).cloned().unwrap_or_default();
        for metric in &case.metrics {
            if !ids.contains(&metric.id) {
                ids.push(metric.id.clone());
            }
        }
        if ids.is_empty() {
            ids.push(case.id.clone());
        }
        let mut places = Vec::new();
        for id in ids {
            let delivered = std::mem::take(case.metric(&id));
            let outcome = match &outcome {
                Outcome::Ok => delivered.judge(samples),
                other => other.clone(),
            };
            let (cold, histogram) = match outcome {
                Outcome::Ok => (delivered.cold, delivered.histogram),
                _ => (None, Histogram::new()),
            };
            let index = *self.metrics.entry(id.clone()).or_insert_with(|| {
                self.run.metrics.push(Metric {
                    id,
                    case: case.id.clone(),
                    replicates: Vec::new(),
                });
                self.run.metrics.len() - 1
            });
            let replicates = &mut self.run.metrics[index].replicates;
            if replicates.last().is_some_and(|r| r.session == session) {
                // Two cases of one session say that they measure this metric.
                self.run.damage.damaged += 1;
                continue;
            }
            replicates.push(Replicate {
                session,
                outcome,
                batch: case.plan.map_or(1, |plan| plan.batch),
                asked: case.asked,
                cold,
                histogram,
                proofs: case.proofs.clone(),
            });
            places.push((index, replicates.len() - 1));
        }
        places
    }

    fn bye(&mut self, record: &Record) -> Handled {
        let records = record.number("records").ok_or(Malformed)?;
        self.close_case("its end did not come before that of the session");
        let role = self.speaker.take().map(|s| s.role);
        if records != record.seq() {
            self.run.damage.truncated += 1;
        } else if let Some(Role::Measure(session)) = role {
            self.run.sessions[session].complete = true;
        }
        Ok(Some(Event::Bye))
    }
}

fn plan(speaker: &mut Speaker, record: &Record) -> Handled {
    let Some(case) = speaker.case_of(record)? else {
        return Ok(None);
    };
    let samples = record.number("samples").ok_or(Malformed)?;
    let batch = record.number("batch").filter(|n| *n > 0).ok_or(Malformed)?;
    if case.plan.replace(Plan { samples, batch }).is_some() {
        return Err(Malformed);
    }
    Ok(Some(Event::Plan {
        case: case.id.clone(),
        samples,
        batch,
    }))
}

fn proof(speaker: &mut Speaker, record: &Record) -> Handled {
    let Some(case) = speaker.case_of(record)? else {
        return Ok(None);
    };
    let number = |key| record.number(key).ok_or(Malformed);
    case.proofs.push(Proof {
        name: record.get("name").ok_or(Malformed)?.to_owned(),
        counted: number("counted")?,
        low: number("low")?,
        high: number("high")?,
    });
    Ok(None)
}

/// The mode and what a session is, by its `hello`.
fn hello<'a>(record: &Record<'a>) -> Option<(&'a str, Session)> {
    let mode = record.get("mode")?;
    let hz = record.number("hz")?;
    let unit = match (record.get("unit")?, hz) {
        ("cycles", 1..) => Unit::Cycles,
        ("instructions", 0) => Unit::Instructions,
        _ => return None,
    };
    let realtime = match record.get("realtime")? {
        "yes" => true,
        "no" => false,
        _ => return None,
    };
    let session = Session {
        port: record.get("port")?.to_owned(),
        arch: record.get("arch")?.to_owned(),
        clock: Clock {
            name: record.get("clock")?.to_owned(),
            unit,
            hz,
        },
        realtime,
        facts: Vec::new(),
        complete: false,
    };
    ["list", "run"].contains(&mode).then_some((mode, session))
}

/// An entry of the catalog, without its texts.
fn entry(record: &Record) -> Option<Entry> {
    let optional = |key| match record.get(key) {
        None => Some(None),
        Some(_) => record.number(key).map(Some),
    };
    let stamp = |key| u32::try_from(record.number(key)?).ok();
    Some(Entry {
        metric: record.get("metric")?.to_owned(),
        case: record.get("case")?.to_owned(),
        stamps: (stamp("from")?, stamp("to")?),
        switches: record.number("switches")?,
        batch: optional("batch")?.unwrap_or(0),
        bytes: optional("bytes")?,
        items: optional("items")?,
        needs: record
            .get("needs")
            .unwrap_or_default()
            .split(',')
            .filter(|need| !need.is_empty())
            .map(str::to_owned)
            .collect(),
        ..Entry::default()
    })
}
