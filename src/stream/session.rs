// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows a record stream line by line and concludes what it is worth: a [`Run`].
//!
//! The rules are those of `doc/protocol.md`. Whatever a stream has lost, a
//! metric that has a number has exactly the samples that its agent took.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::stream::case::{Case, Ending, Malformed, Plan};
use crate::stream::histogram::Histogram;
use crate::stream::record::{self, Line, Record};
use crate::stream::run::{Clock, Entry, Fact, Metric, Outcome, Replicate, Run, Session, Unit};

/// The `host` fact that is one of the sessions that follow it, not of the run: the block of an
/// interleaved measurement that they belong to.
pub const BLOCK: &str = "block";

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
    /// The block that the next sessions were measured in.
    block: Option<String>,
    /// Why the last session that was cut off was.
    cut: Option<String>,
    refused: Option<Refused>,
}

/// What a whole stream says.
#[must_use]
pub fn read(stream: &[u8]) -> Run {
    let mut reader = Reader::new();
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.finish()
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
    Title(usize),
    Between(usize),
    Via(usize),
    /// The outcomes of these replicates: indices of a metric and its replicate.
    Reason(Vec<(usize, usize)>),
    Nowhere,
}

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
            case.spoil(reason);
        }
    }

    /// The open case, if it is the one that the record names.
    fn case_of(&mut self, record: &Record) -> Result<Option<&mut Case>, Malformed> {
        match &mut self.open {
            None => Ok(None),
            Some(case) if record.get("case") == Some(case.id()) => Ok(Some(case)),
            Some(_) => Err(Malformed),
        }
    }

    fn plan(&mut self, record: &Record) -> Handled {
        let Some(case) = self.case_of(record)? else {
            return Ok(None);
        };
        let Plan { samples, batch } = case.plan(record)?;
        Ok(Some(Event::Plan {
            case: case.id().to_owned(),
            samples,
            batch,
        }))
    }

    fn proof(&mut self, record: &Record) -> Handled {
        if let Some(case) = self.case_of(record)? {
            case.proof(record)?;
        }
        Ok(None)
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

    /// Reads one line; whether it held a record, or what was one. Any other is log text.
    pub fn takes(&mut self, line: &[u8]) -> bool {
        let log_lines = self.run.damage.log_lines;
        self.line(line);
        self.run.damage.log_lines == log_lines && !line.trim_ascii().is_empty()
    }

    /// The other version of the grammar that the stream speaks, in whole or in part.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The facts of the tool that came until now.
    #[must_use]
    pub fn host(&self) -> &[Fact] {
        &self.run.host
    }

    /// Ends the stream.
    #[must_use]
    pub fn finish(mut self) -> Run {
        self.close("the stream ends inside the case: it hung or was cut off");
        self.account();
        let entries = self.entries;
        self.run
            .metrics
            .sort_by_key(|m| entries.get(&m.id).copied().unwrap_or(usize::MAX));
        for metric in &mut self.run.metrics {
            metric.replicates.shrink_to_fit();
        }
        self.run.drop_copies();
        self.run
    }

    /// Gives every metric that was asked for and of which nothing came an outcome that says so, in
    /// the last session.
    fn account(&mut self) {
        let Some(session) = self.run.sessions.len().checked_sub(1) else {
            return;
        };
        let cut = self.cut.take();
        let reason = cut.unwrap_or_else(|| "no record of it arrived".to_owned());
        for entry in &self.run.catalog {
            if self.metrics.contains_key(&entry.metric) || !self.run.asks_for(&entry.metric) {
                continue;
            }
            self.run.metrics.push(Metric {
                id: entry.metric.clone(),
                case: entry.case.clone(),
                replicates: vec![Replicate {
                    session,
                    outcome: Outcome::Incomplete(format!("not begun: {reason}")),
                    batch: 1,
                    asked: 0,
                    cold: None,
                    histogram: Histogram::new(),
                    stat: None,
                    proofs: Vec::new(),
                }],
            });
        }
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
            self.run.sessions.push(self.in_block(session));
            self.run.sessions.len() - 1
        });
        let role = index.map_or(Role::List, Role::Measure);
        self.speaker = Some(Speaker::new(role, record));
        Some(Event::Hello(index))
    }

    /// The session with the fact that says in which block it was measured.
    fn in_block(&self, mut session: Session) -> Session {
        let block = self.block.iter();
        session
            .facts
            .extend(block.map(|value| Fact::new(BLOCK, value)));
        session
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
            Place::Title(i) => self.run.catalog[*i].title = decoded,
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
            (Role::List | Role::Measure(_), "info" | "bench" | "title" | "between" | "via") => {
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
            (Role::List | Role::Measure(_), "cut") => {
                let reason = record.text().unwrap_or_default();
                self.close(&reason);
                self.cut = Some(reason);
                Ok(None)
            }
            (Role::Measure(_), "begin") => self.begin(record),
            (Role::Measure(_), "plan") => speaker.plan(record),
            (Role::Measure(_), "cold" | "hist" | "stat") => self.samples(record),
            (Role::Measure(_), "proof") => speaker.proof(record),
            (Role::Measure(_), "end") => self.end(record),
            (_, "hello" | "host") => Err(Malformed),
            _ => Ok(None),
        }
    }

    /// `host` and `info`.
    fn fact(&mut self, record: &Record) -> Handled {
        let name = record.get("name").ok_or(Malformed)?.to_owned();
        if name == BLOCK && self.speaker.as_ref().is_some_and(|s| s.role == Role::Host) {
            self.block = record.text();
            self.text_begins(record, Place::Nowhere);
            return Ok(None);
        }
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

    /// `title`, `between` and `via`: the first text that comes for a metric stays.
    fn explain(&mut self, record: &Record, kind: &str) -> Handled {
        let metric = record.get("metric").ok_or(Malformed)?;
        let Some(&index) = self.entries.get(metric) else {
            self.text_begins(record, Place::Nowhere);
            return Ok(None);
        };
        let (field, place): (fn(&mut Entry) -> &mut String, _) = match kind {
            "title" => (|e| &mut e.title, Place::Title(index)),
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
        speaker.open = Some(Case::new(id, asked));
        Ok(Some(Event::Begin {
            case: id.to_owned(),
            asked,
        }))
    }

    /// `cold`, `hist` and `stat`.
    fn samples(&mut self, record: &Record) -> Handled {
        let Some(case) = self.speaker.as_mut().and_then(|s| s.open.as_mut()) else {
            return Ok(None);
        };
        let id = record.get("metric").ok_or(Malformed)?;
        if let Some(&index) = self.entries.get(id) {
            if self.run.catalog[index].case != case.id() {
                return Err(Malformed);
            }
        }
        case.samples(id, record)?;
        Ok(None)
    }

    fn end(&mut self, record: &Record) -> Handled {
        let id = record.get("case").ok_or(Malformed)?;
        let speaker = self.speaker.as_mut().ok_or(Malformed)?;
        if speaker.open.as_ref().is_some_and(|case| case.id() != id) {
            self.close_case("its end did not come, that of another case did");
        }
        let speaker = self.speaker.as_mut().ok_or(Malformed)?;
        let (case, ending) = match speaker.open.take() {
            Some(case) => (case, Ending::End(record)),
            // The end of a case that was cut off before, or was not taken.
            None if speaker.done.contains(id) => return Ok(None),
            None => {
                let reason = "its begin did not arrive".to_owned();
                (Case::new(id, 0), Ending::CutOff(reason))
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
    fn conclude(&mut self, case: Case, ending: &Ending) -> Vec<(usize, usize)> {
        let Some(speaker) = &mut self.speaker else {
            return Vec::new();
        };
        let Role::Measure(session) = speaker.role else {
            return Vec::new();
        };
        let case_id = case.id().to_owned();
        speaker.done.insert(case_id.clone());
        let mut ids = self.cases.get(&case_id).cloned().unwrap_or_default();
        // The catalog knows those of this case, and no other case's came.
        let others = case.metrics().filter(|id| !self.entries.contains_key(*id));
        ids.extend(others.map(str::to_owned));
        if ids.is_empty() {
            ids.push(case_id.clone());
        }
        let mut places = Vec::new();
        for (id, replicate) in case.judge(ending, session, ids) {
            let index = *self.metrics.entry(id.clone()).or_insert_with(|| {
                self.run.metrics.push(Metric {
                    id,
                    case: case_id.clone(),
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
            replicates.push(replicate);
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

/// The mode and what a session is, by its `hello`.
fn hello<'a>(record: &Record<'a>) -> Option<(&'a str, Session)> {
    let mode = record.get("mode")?;
    let hz = record.number("hz")?;
    let unit = match (record.get("unit")?, hz) {
        ("cycles", 1..) => Unit::Cycles,
        ("ticks", 0) => Unit::Ticks,
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
        switches_most: record.number("switches_most"),
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
        idiom: record.get("idiom") == Some("yes"),
        ..Entry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::Damage;
    use crate::stream::script::{
        changed, incomplete, outcome, run_of, Script, CASE_A, CASE_B, CATALOG, HELLO,
    };
    use crate::stream::ticks::Ticks;

    #[test]
    fn a_whole_stream_is_read() {
        let mut script = Script::default();
        let long = "x%\u{20ac} ".repeat(100);
        script
            .say("host name=kernel_release | 6.1.0")
            .say(&format!("host name=flags | {long}"))
            .all(&CATALOG)
            .bye()
            .say(HELLO)
            .say("info name=compiler | cc 12")
            .all(&CASE_A)
            .all(&CASE_B)
            .bye();
        let run = script.read();
        assert_eq!(run.damage, Damage::default());
        assert_eq!(run.host.len(), 2);
        assert_eq!(run.host[1].value, long);
        let ids: Vec<_> = run.metrics.iter().map(|m| m.id.as_str()).collect();
        assert_eq!(ids, ["b.one", "b.two", "a"], "in the catalog's order");
        assert_eq!(
            run.catalog[0],
            Entry {
                metric: "b.one".into(),
                title: "B, the first.".into(),
                case: "b.one".into(),
                stamps: (0, 1),
                switches: 1,
                switches_most: Some(2),
                batch: 8,
                bytes: Some(64),
                items: None,
                needs: vec!["smp".into(), "irq".into()],
                idiom: true,
                about: "About b.".into(),
                between: "Between.".into(),
                via: "Via.".into(),
            }
        );
        assert_eq!(run.sessions.len(), 1);
        assert!(run.sessions[0].complete);
        assert_eq!(run.sessions[0].facts[0].value, "cc 12");
        let a = &run.metrics[2].replicates[0];
        assert_eq!(a.outcome, Outcome::Ok);
        assert_eq!((a.batch, a.asked, a.cold), (2, 10, Some(Ticks(99))));
        let counts: Vec<_> = a.histogram.iter().collect();
        assert_eq!(counts, [(Ticks(4), 3), (Ticks(5), 2)]);
        assert_eq!(a.proofs.len(), 1);
    }

    #[test]
    fn events_follow_the_stream() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_A).bye();
        let mut reader = Reader::new();
        let events: Vec<_> = script
            .lines
            .iter()
            .filter_map(|line| reader.line(line.as_bytes()))
            .collect();
        let case = || "a".to_owned();
        assert_eq!(
            events,
            [
                Event::Hello(Some(0)),
                Event::Begin {
                    case: case(),
                    asked: 10
                },
                Event::Plan {
                    case: case(),
                    samples: 5,
                    batch: 2
                },
                Event::End {
                    case: case(),
                    outcome: Outcome::Ok
                },
                Event::Bye,
            ]
        );
    }

    #[test]
    fn unknown_kinds_and_keys_are_ignored() {
        let mut case = changed(2, &["plan case=a samples=5 batch=2 colour=red"]);
        case.insert(3, "novelty case=a x=y | text");
        let run = run_of(&[&case]);
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!(run.damage, Damage::default());
    }

    #[test]
    fn every_lost_repeated_or_torn_record_costs_its_case_and_no_other() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_B).all(&CASE_A).bye();
        let start = 1 + CASE_B.len();
        let end = start + CASE_A.len() - 1;
        for at in start..=end {
            let mut lost = Script {
                seq: 0,
                lines: script.lines.clone(),
            };
            lost.lines.remove(at);
            let mut torn = Script {
                seq: 0,
                lines: script.lines.clone(),
            };
            torn.lines[at].pop();
            let mut twice = Script {
                seq: 0,
                lines: script.lines.clone(),
            };
            twice.lines.insert(at, script.lines[at].clone());
            for (fault, script) in [("lost", lost), ("torn", torn), ("twice", twice)] {
                let run = script.read();
                assert_eq!(*outcome(&run, "b.one"), Outcome::Ok);
                let repeated_end = fault == "twice" && at == end;
                assert_eq!(
                    *outcome(&run, "a") == Outcome::Ok,
                    repeated_end,
                    "{fault} {at}"
                );
                assert!(run.sessions[0].complete);
                let damage = run.damage;
                assert_eq!(damage.gaps, u64::from(fault != "twice"), "{fault} {at}");
                assert_eq!(damage.damaged, u64::from(fault != "lost"), "{fault} {at}");
            }
        }
    }

    #[test]
    fn a_case_twice_in_a_session_counts_once() {
        let again = changed(3, &["hist metric=a 1:3"]);
        let run = run_of(&[&CASE_A, &again, &CASE_B]);
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!(*outcome(&run, "b.two"), Outcome::Ok);
        let a = &run.metrics.iter().find(|m| m.id == "a").unwrap().replicates[0];
        assert_eq!(a.histogram.min(), Some(Ticks(4)));
        assert!(run.damage.damaged > 0);
    }

    #[test]
    fn a_session_whose_start_is_lost_is_not_taken_for_the_one_before() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_A);
        script.seq = 1;
        script.all(&CASE_B).bye();
        let run = script.read();
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!(run.metrics.len(), 1);
        assert_eq!(run.damage.truncated, 1);
    }

    #[test]
    fn a_cut_costs_the_open_case_and_says_why() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_B).all(&CASE_A[..4]);
        script.say("cut | no record for 10 s: killed");
        let run = script.read();
        assert_eq!(*outcome(&run, "b.one"), Outcome::Ok);
        assert_eq!(
            *outcome(&run, "a"),
            incomplete("no record for 10 s: killed")
        );
        assert_eq!(run.damage.truncated, 1);
        assert_eq!(run.damage.damaged, 0);
        assert!(!run.sessions[0].complete);
    }

    #[test]
    fn a_bye_that_counts_otherwise_truncates_the_session() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_A).say("bye records=7");
        let run = script.read();
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!((run.damage.truncated, run.sessions[0].complete), (1, false));
    }

    #[test]
    fn log_text_is_counted_and_of_no_effect() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_A).bye();
        let lines: Vec<_> = script
            .lines
            .iter()
            .map(|l| format!("[ 1.2] {l}\r\n"))
            .collect();
        let mut reader = Reader::new();
        for line in lines {
            reader.line(b"usb 1-1: new device\n");
            reader.line(b"\r\n");
            reader.line(line.as_bytes());
        }
        let run = reader.finish();
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!(
            run.damage,
            Damage {
                log_lines: 9,
                ..Damage::default()
            }
        );
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let body = "@km2 0 hello port=fake";
        let line = format!("{body} *{:08x}", crc32fast::hash(body.as_bytes()));
        let mut reader = Reader::new();
        let refused = Refused { version: 2 };
        assert_eq!(reader.line(line.as_bytes()), Some(Event::Refused(refused)));
        assert_eq!(reader.refused(), Some(refused));
        assert!(refused.to_string().contains("@km2"));
    }
}
