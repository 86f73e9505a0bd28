// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the protocol of a record stream: lines in, a [`Run`] out, and [`Event`]s on the way.
//!
//! `doc/protocol.md` defines the rules. A stream may lose records anywhere. A metric still has a number
//! only if all samples that its agent took are there; `case` judges that.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::stream::case::{Case, Ending, Malformed, Plan};
use crate::stream::counted::{Counted, BEFORE, DURING};
use crate::stream::histogram::Histogram;
use crate::stream::paths::{Received, PATHS};
use crate::stream::record::{self, Line, Record};
use crate::stream::run::{
    Clock, Entry, Fact, Metric, Outcome, Replicate, Run, Session, Unit, CLOCK,
};

/// The `host` fact with the block of an interleaved measurement. It applies to the sessions that
/// follow it, not to the whole run.
pub const BLOCK: &str = "block";

/// A step in the stream, for showing progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An agent starts: to print its catalog (`None`), or to measure as the session with this index
    /// into [`Run::sessions`].
    Hello(Option<usize>),
    /// A case begins.
    Begin {
        /// Its id.
        case: String,
        /// Number of samples requested.
        asked: u64,
    },
    /// A case has decided how to measure.
    Plan {
        /// Its id.
        case: String,
        /// Number of samples it will take.
        samples: u64,
        /// Operations in each sample.
        batch: u64,
    },
    /// A case has ended.
    End {
        /// Its id.
        case: String,
        /// The outcome of its first metric without a number, otherwise `Ok`.
        outcome: Outcome,
    },
    /// A session has ended.
    Bye,
    /// The stream uses a version of the grammar that this tool cannot read.
    Unsupported(UnsupportedVersion),
}

/// A version of the grammar that this tool cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedVersion {
    /// The version in the mark of the stream's records.
    pub version: u32,
}

impl fmt::Display for UnsupportedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the stream uses version {0} of the record grammar (@km{0}), but this kernmark reads only \
             version 1; use a kernmark at least as new as the agent",
            self.version
        )
    }
}

impl std::error::Error for UnsupportedVersion {}

/// Reads a stream, one line at a time.
///
/// ```
/// use kernmark::stream::{record, session::Reader};
///
/// let mut reader = Reader::new();
/// for line in record::write(0, "host", &[("name", "kernel_release")], Some("6.1.0")) {
///     assert_eq!(reader.line(line.as_bytes()), None);
/// }
/// let run = reader.finish();
/// assert_eq!(run.host[0].value, "6.1.0");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    run: Run,
    /// Index into the run's catalog by metric.
    entries: HashMap<String, usize>,
    /// Index into the run's metrics by metric.
    metrics: HashMap<String, usize>,
    /// The metrics of each case, from the catalog.
    cases: HashMap<String, Vec<String>>,
    current: Option<OpenSession>,
    /// The block of the sessions that follow.
    block: Option<String>,
    /// The paths of sessions; the last are arriving.
    paths: Vec<Received>,
    /// Why the last truncated session was cut off.
    cut: Option<String>,
    unsupported: Option<UnsupportedVersion>,
}

/// Reads a complete stream.
#[must_use]
pub fn read(stream: &[u8]) -> Run {
    let mut reader = Reader::new();
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.finish()
}

/// The session whose records are being received.
#[derive(Clone, Debug)]
struct OpenSession {
    role: Role,
    /// The expected number of the next record.
    next: u64,
    /// The checksums of the records received, by record number.
    seen: HashMap<u64, u32>,
    /// The case that has begun and not ended.
    open: Option<Case>,
    /// The ids of the cases that have ended.
    done: HashSet<String>,
    /// The text that the next record may continue.
    text: Option<Text>,
    /// Whether the paths of the session before it follow.
    has_paths: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The tool that saved the run.
    Host,
    /// An agent that prints its catalog.
    List,
    /// An agent that measures, as the session with this index into the run's sessions.
    Measure(usize),
}

/// A text that further records may continue.
#[derive(Clone, Debug)]
struct Text {
    kind: String,
    key: (String, String),
    raw: String,
    target: Target,
}

/// The field of the run that a text fills. Numbers are indices.
#[derive(Clone, Debug)]
enum Target {
    /// A fact of the host.
    Host(usize),
    /// A session and its fact.
    Info(usize, usize),
    About(usize),
    Title(usize),
    Between(usize),
    Via(usize),
    /// The outcomes of these replicates, each by metric and replicate.
    Reason(Vec<(usize, usize)>),
    /// Why the open case has no number of this metric.
    Skip(String),
    /// The name of a function, by its id.
    Function(u64),
    /// The source file of a function, by its id.
    Source(u64),
    /// None: the text is ignored.
    Ignored,
}

type Handled = Result<Option<Event>, Malformed>;

impl OpenSession {
    fn new(role: Role, first: &Record) -> Self {
        Self {
            role,
            next: 1,
            seen: HashMap::from([(0, first.checksum())]),
            open: None,
            done: HashSet::new(),
            text: None,
            has_paths: false,
        }
    }

    /// Notes that a record was lost or damaged at this point.
    fn invalidate(&mut self, reason: &str) {
        self.text = None;
        if let Some(case) = &mut self.open {
            case.invalidate(reason);
        }
    }

    /// The open case, which must be the one that the record names. `None` if no case is open.
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

    fn cpu(&mut self, record: &Record) -> Handled {
        if let Some(case) = self.case_of(record)? {
            case.cpu(record)?;
        }
        Ok(None)
    }

    fn proof(&mut self, record: &Record) -> Handled {
        if let Some(case) = self.case_of(record)? {
            case.proof(record)?;
        }
        Ok(None)
    }
}

impl Reader {
    /// A reader at the start of a stream.
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
                let unsupported = UnsupportedVersion { version };
                self.damaged(&unsupported.to_string());
                self.unsupported.get_or_insert(unsupported);
                Some(Event::Unsupported(unsupported))
            }
            Line::Log => {
                if !line.trim_ascii().is_empty() {
                    self.run.damage.log_lines += 1;
                }
                None
            }
        }
    }

    /// Reads one line. Returns whether it held a record, intact or damaged, rather than log text.
    pub fn accepts(&mut self, line: &[u8]) -> bool {
        let log_lines = self.run.damage.log_lines;
        self.line(line);
        self.run.damage.log_lines == log_lines && !line.trim_ascii().is_empty()
    }

    /// The first unsupported version of the grammar that a record of the stream used.
    #[must_use]
    pub fn unsupported(&self) -> Option<UnsupportedVersion> {
        self.unsupported
    }

    /// The host facts received so far.
    #[must_use]
    pub fn host(&self) -> &[Fact] {
        &self.run.host
    }

    /// The measuring sessions received so far.
    #[must_use]
    pub fn sessions(&self) -> &[Session] {
        &self.run.sessions
    }

    /// Ends the stream and returns the run.
    #[must_use]
    pub fn finish(mut self) -> Run {
        self.cut_off("the stream ends inside the case: it hung or was cut off");
        self.add_missing_metrics();
        let entries = self.entries;
        self.run
            .metrics
            .sort_by_key(|m| entries.get(&m.id).copied().unwrap_or(usize::MAX));
        for metric in &mut self.run.metrics {
            metric.replicates.shrink_to_fit();
        }
        for received in self.paths {
            let metrics = &self.run.metrics;
            let measured = |id: &str, session: usize| {
                let metric = metrics.iter().find(|metric| metric.id == id)?;
                let mut all = metric.replicates.iter();
                let of = all.find(|one| one.session == session && one.outcome == Outcome::Ok)?;
                Some((of.batch, &of.histogram))
            };
            let (functions, paths) = received.finish(measured);
            self.run.add_paths(functions, paths);
        }
        self.run.drop_copies();
        self.run
    }

    /// Adds the metrics that were requested but never began, as incomplete in the last session.
    fn add_missing_metrics(&mut self) {
        let Some(session) = self.run.sessions.len().checked_sub(1) else {
            return;
        };
        let cut = self.cut.take();
        let reason = cut.unwrap_or_else(|| "no record of it arrived".to_owned());
        let asked = self.run.asked();
        for entry in &self.run.catalog {
            let is_asked = entry.metric == CLOCK || asked.selects(&entry.metric);
            if self.metrics.contains_key(&entry.metric) || !is_asked {
                continue;
            }
            self.run.metrics.push(Metric {
                id: entry.metric.clone(),
                case: entry.case.clone(),
                replicates: vec![Replicate {
                    session,
                    outcome: Outcome::Incomplete(format!("not started: {reason}")),
                    batch: 1,
                    asked: 0,
                    cold: None,
                    histogram: Histogram::new(),
                    stat: None,
                    cpu_ns: None,
                    proofs: Vec::new(),
                }],
            });
        }
    }

    /// Counts a record that cannot be used. The open case loses its number for this reason.
    fn damaged(&mut self, reason: &str) {
        self.run.damage.damaged += 1;
        if let Some(current) = &mut self.current {
            current.invalidate(reason);
        }
    }

    /// Ends the current session, if there is one, without its `bye`.
    fn cut_off(&mut self, reason: &str) {
        self.cut_off_case(reason);
        if self.current.take().is_some_and(|s| s.role != Role::Host) {
            self.run.damage.truncated += 1;
        }
    }

    fn cut_off_case(&mut self, reason: &str) {
        if let Some(case) = self.current.as_mut().and_then(|s| s.open.take()) {
            self.finish_case(case, &Ending::CutOff(reason.to_owned()));
        }
    }

    fn record(&mut self, record: &Record) -> Option<Event> {
        let starts = record.seq() == 0 && ["hello", "host"].contains(&record.kind());
        if starts && !self.repeats_start(record) {
            return self.start(record);
        }
        if !self.in_sequence(record) || self.continues_text(record) {
            return None;
        }
        self.dispatch(record).unwrap_or_else(|Malformed| {
            let reason = format!(
                "record {} ({}) is malformed or out of place",
                record.seq(),
                record.kind()
            );
            self.damaged(&reason);
            None
        })
    }

    /// Whether this repeats the first record of the current session, before any other record.
    fn repeats_start(&self, record: &Record) -> bool {
        self.current
            .as_ref()
            .is_some_and(|s| s.next == 1 && s.seen.get(&record.seq()) == Some(&record.checksum()))
    }

    fn start(&mut self, record: &Record) -> Option<Event> {
        self.cut_off("another session began inside the case: it hung or was cut off");
        if record.kind() == "host" {
            self.current = Some(OpenSession::new(Role::Host, record));
            self.fact(record).ok()?;
            return None;
        }
        let Some((mode, session)) = hello(record) else {
            self.damaged("");
            return None;
        };
        let index = (mode == "run").then(|| {
            self.run.sessions.push(self.with_block(session));
            self.run.sessions.len() - 1
        });
        let role = index.map_or(Role::List, Role::Measure);
        self.current = Some(OpenSession::new(role, record));
        Some(Event::Hello(index))
    }

    /// Adds the fact with the current block, if there is one.
    fn with_block(&self, mut session: Session) -> Session {
        let block = self.block.iter();
        session
            .facts
            .extend(block.map(|value| Fact::new(BLOCK, value)));
        session
    }

    /// Whether the record comes after all others of the session, possibly after a gap.
    fn in_sequence(&mut self, record: &Record) -> bool {
        let Some(current) = &mut self.current else {
            self.run.damage.damaged += 1;
            return false;
        };
        let seq = record.seq();
        match current.seen.insert(seq, record.checksum()) {
            Some(sum) if sum != record.checksum() => {
                // Two different records with the same number: the start of another session was lost.
                self.run.damage.damaged += 1;
                self.cut_off("another session began inside the case: it hung or was cut off");
                return false;
            }
            Some(_) => {
                self.damaged(&format!("record {seq} arrived twice"));
                return false;
            }
            None if seq < current.next => {
                self.damaged(&format!("record {seq} arrived too late"));
                return false;
            }
            None => {}
        }
        if seq > current.next {
            self.run.damage.gaps += 1;
            let missing = format!("records are missing: {} to {}", current.next, seq - 1);
            current.invalidate(&missing);
        }
        current.next = seq.saturating_add(1);
        true
    }

    /// If the record continues the text of the record before it, appends its text.
    fn continues_text(&mut self, record: &Record) -> bool {
        let Some(current) = &mut self.current else {
            return false;
        };
        let (Some(mut text), Some(piece)) = (current.text.take(), record.raw_text()) else {
            return false;
        };
        let same = |(key, value)| key == text.key.0 && value == text.key.1;
        if text.kind != record.kind() || !record.text_key().is_some_and(same) {
            return false;
        }
        text.raw.push_str(piece);
        let decoded = record::decode(&text.raw);
        match &text.target {
            Target::Host(i) => self.run.host[*i].value = decoded,
            Target::Info(s, i) => self.run.sessions[*s].facts[*i].value = decoded,
            Target::About(i) => self.run.catalog[*i].about = decoded,
            Target::Title(i) => self.run.catalog[*i].title = decoded,
            Target::Between(i) => self.run.catalog[*i].between = decoded,
            Target::Via(i) => self.run.catalog[*i].via = decoded,
            Target::Reason(replicates) => {
                for (metric, replicate) in replicates {
                    let outcome = &mut self.run.metrics[*metric].replicates[*replicate].outcome;
                    if let Outcome::Skipped(reason) | Outcome::Failed(reason) = outcome {
                        reason.clone_from(&decoded);
                    }
                }
            }
            Target::Skip(metric) => {
                if let Some(case) = &mut current.open {
                    case.skip(metric, decoded);
                }
            }
            Target::Function(id) | Target::Source(id) => {
                let is_file = matches!(text.target, Target::Source(_));
                if let Some(paths) = self.paths.last_mut() {
                    paths.rename(*id, is_file, decoded);
                }
            }
            Target::Ignored => {}
        }
        current.text = Some(text);
        true
    }

    /// Starts a text that the next record may continue. Returns it, decoded.
    fn start_text(&mut self, record: &Record, target: Target) -> String {
        let (Some(raw), Some((key, value))) = (record.raw_text(), record.text_key()) else {
            return String::new();
        };
        if let Some(current) = &mut self.current {
            current.text = Some(Text {
                kind: record.kind().to_owned(),
                key: (key.to_owned(), value.to_owned()),
                raw: raw.to_owned(),
                target,
            });
        }
        record::decode(raw)
    }

    /// Handles a record that is in sequence and starts no session.
    fn dispatch(&mut self, record: &Record) -> Handled {
        let Some(current) = &mut self.current else {
            return Err(Malformed);
        };
        match (current.role, record.kind()) {
            (Role::Host, "host") => self.fact(record),
            (Role::Host, "function" | "source" | "path") if current.has_paths => self.paths(record),
            (Role::Host, kind) if kind != "hello" => Ok(None),
            (Role::List | Role::Measure(_), "info" | "bench" | "title" | "between" | "via") => {
                if current.open.is_some() {
                    return Err(Malformed);
                }
                match record.kind() {
                    "info" => self.fact(record),
                    "bench" => self.bench(record),
                    kind => self.describe(record, kind),
                }
            }
            (Role::List | Role::Measure(_), "bye") => self.bye(record),
            (Role::List | Role::Measure(_), "cut") => {
                let reason = record.text().unwrap_or_default();
                self.cut_off(&reason);
                self.cut = Some(reason);
                Ok(None)
            }
            (Role::Measure(_), "begin") => self.begin(record),
            (Role::Measure(_), "plan") => current.plan(record),
            (Role::Measure(_), "cold" | "hist" | "stat") => self.samples(record),
            (Role::Measure(_), "cpu") => current.cpu(record),
            (Role::Measure(_), "skip") => self.skip(record),
            (Role::Measure(_), "proof") => current.proof(record),
            (Role::Measure(_), "end") => self.end(record),
            (_, "hello" | "host") => Err(Malformed),
            _ => Ok(None),
        }
    }

    /// `host` and `info`.
    fn fact(&mut self, record: &Record) -> Handled {
        let name = record.get("name").ok_or(Malformed)?.to_owned();
        if self.current.as_ref().is_some_and(|s| s.role == Role::Host) {
            match name.as_str() {
                BLOCK => {
                    self.block = record.text();
                    self.start_text(record, Target::Ignored);
                    return Ok(None);
                }
                BEFORE | DURING => return self.counted(record, &name),
                PATHS => {
                    let session = self.run.sessions.len().checked_sub(1);
                    self.paths.extend(session.map(Received::new));
                    if let Some(current) = &mut self.current {
                        current.has_paths = session.is_some();
                    }
                    return Ok(None);
                }
                _ => {}
            }
        }
        let target = match self.current.as_ref().map(|s| s.role) {
            Some(Role::Host) => Target::Host(self.run.host.len()),
            Some(Role::Measure(s)) => Target::Info(s, self.run.sessions[s].facts.len()),
            _ => Target::Ignored,
        };
        let facts = match target {
            Target::Host(_) => Some(&mut self.run.host),
            Target::Info(s, _) => Some(&mut self.run.sessions[s].facts),
            _ => None,
        };
        if let Some(facts) = facts {
            let value = record.text().unwrap_or_default();
            facts.push(Fact { name, value });
        }
        self.start_text(record, target);
        Ok(None)
    }

    /// `host` with counts.
    fn counted(&mut self, record: &Record, name: &str) -> Handled {
        let counted = Counted::read(record).ok_or(Malformed)?;
        let known = match self.run.sessions.last_mut() {
            _ if name == BEFORE => &mut self.run.before,
            Some(session) => &mut session.during,
            None => return Ok(None),
        };
        // A second one is of a session whose start was lost.
        if known.iter().all(|other| other.cpu != counted.cpu) {
            known.push(counted);
        }
        Ok(None)
    }

    /// `function`, `source` and `path`.
    fn paths(&mut self, record: &Record) -> Handled {
        let paths = self.paths.last_mut().ok_or(Malformed)?;
        let target = match record.kind() {
            "function" => Target::Function(paths.function(record).ok_or(Malformed)?),
            "source" => Target::Source(paths.source(record).ok_or(Malformed)?),
            _ => {
                paths.path(record).ok_or(Malformed)?;
                return Ok(None);
            }
        };
        self.start_text(record, target);
        Ok(None)
    }

    fn bench(&mut self, record: &Record) -> Handled {
        let mut entry = entry(record).ok_or(Malformed)?;
        if self.entries.contains_key(&entry.metric) {
            self.start_text(record, Target::Ignored);
            return Ok(None);
        }
        let index = self.run.catalog.len();
        entry.about = self.start_text(record, Target::About(index));
        self.entries.insert(entry.metric.clone(), index);
        self.cases
            .entry(entry.case.clone())
            .or_default()
            .push(entry.metric.clone());
        self.run.catalog.push(entry);
        Ok(None)
    }

    /// `title`, `between` and `via`: the first text for a metric stays.
    fn describe(&mut self, record: &Record, kind: &str) -> Handled {
        let metric = record.get("metric").ok_or(Malformed)?;
        let Some(&index) = self.entries.get(metric) else {
            self.start_text(record, Target::Ignored);
            return Ok(None);
        };
        let (field, target): (fn(&mut Entry) -> &mut String, _) = match kind {
            "title" => (|e| &mut e.title, Target::Title(index)),
            "between" => (|e| &mut e.between, Target::Between(index)),
            _ => (|e| &mut e.via, Target::Via(index)),
        };
        if field(&mut self.run.catalog[index]).is_empty() {
            let text = self.start_text(record, target);
            *field(&mut self.run.catalog[index]) = text;
        } else {
            self.start_text(record, Target::Ignored);
        }
        Ok(None)
    }

    fn begin(&mut self, record: &Record) -> Handled {
        let id = record.get("case").ok_or(Malformed)?;
        let asked = record.number("asked").ok_or(Malformed)?;
        self.cut_off_case("the next case began before this one ended");
        let current = self.current.as_mut().ok_or(Malformed)?;
        if current.done.contains(id) {
            return Err(Malformed);
        }
        current.open = Some(Case::new(id, asked));
        Ok(Some(Event::Begin {
            case: id.to_owned(),
            asked,
        }))
    }

    /// The open case and the metric that a record of it names. `None` if no case is open.
    fn metric_of<'a>(
        &mut self,
        record: &Record<'a>,
    ) -> Result<Option<(&mut Case, &'a str)>, Malformed> {
        let Some(case) = self.current.as_mut().and_then(|s| s.open.as_mut()) else {
            return Ok(None);
        };
        let id = record.get("metric").ok_or(Malformed)?;
        match self.entries.get(id) {
            Some(&index) if self.run.catalog[index].case != case.id() => Err(Malformed),
            _ => Ok(Some((case, id))),
        }
    }

    /// `cold`, `hist` and `stat`.
    fn samples(&mut self, record: &Record) -> Handled {
        if let Some((case, id)) = self.metric_of(record)? {
            case.samples(id, record)?;
        }
        Ok(None)
    }

    fn skip(&mut self, record: &Record) -> Handled {
        if let Some((case, id)) = self.metric_of(record)? {
            case.skip(id, record.text().unwrap_or_default());
            self.start_text(record, Target::Skip(id.to_owned()));
        }
        Ok(None)
    }

    fn end(&mut self, record: &Record) -> Handled {
        let id = record.get("case").ok_or(Malformed)?;
        let current = self.current.as_mut().ok_or(Malformed)?;
        if current.open.as_ref().is_some_and(|case| case.id() != id) {
            self.cut_off_case("another case ended before this one");
        }
        let current = self.current.as_mut().ok_or(Malformed)?;
        let (case, ending) = match current.open.take() {
            Some(case) => (case, Ending::End(record)),
            // The case was cut off before, or was repeated and ignored.
            None if current.done.contains(id) => return Ok(None),
            None => {
                let reason = "its begin record is missing".to_owned();
                (Case::new(id, 0), Ending::CutOff(reason))
            }
        };
        let replicates = self.finish_case(case, &ending);
        let outcome = replicates
            .iter()
            .map(|(metric, i)| &self.run.metrics[*metric].replicates[*i].outcome)
            .min_by_key(|outcome| match outcome {
                Outcome::Failed(_) | Outcome::Incomplete(_) => 0,
                Outcome::Ok => 1,
                Outcome::Skipped(_) => 2,
            })
            .cloned()
            .unwrap_or(Outcome::Ok);
        self.start_text(record, Target::Reason(replicates));
        Ok(Some(Event::End {
            case: id.to_owned(),
            outcome,
        }))
    }

    /// Adds a replicate of each metric of a case that has ended. Returns the indices of each metric
    /// and its replicate.
    fn finish_case(&mut self, case: Case, ending: &Ending) -> Vec<(usize, usize)> {
        let Some(current) = &mut self.current else {
            return Vec::new();
        };
        let Role::Measure(session) = current.role else {
            return Vec::new();
        };
        let case_id = case.id().to_owned();
        current.done.insert(case_id.clone());
        let mut ids = self.cases.get(&case_id).cloned().unwrap_or_default();
        // Metrics outside the catalog. Those in it are in `cases` already, and `samples` rejects
        // metrics of other cases.
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
                // Two cases of one session claim to measure this metric.
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
        self.cut_off_case("the session ended before this case");
        let role = self.current.take().map(|s| s.role);
        if records != record.seq() {
            self.run.damage.truncated += 1;
        } else if let Some(Role::Measure(session)) = role {
            self.run.sessions[session].complete = true;
        }
        Ok(Some(Event::Bye))
    }
}

/// The mode and the session that a `hello` record announces.
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
        during: Vec::new(),
        complete: false,
    };
    ["list", "run"].contains(&mode).then_some((mode, session))
}

/// The entry of the catalog that a `bench` record describes, without its texts.
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
    fn complete_stream_is_read() {
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
    fn lost_repeated_or_truncated_record_invalidates_only_its_case() {
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
            let mut truncated = Script {
                seq: 0,
                lines: script.lines.clone(),
            };
            truncated.lines[at].pop();
            let mut twice = Script {
                seq: 0,
                lines: script.lines.clone(),
            };
            twice.lines.insert(at, script.lines[at].clone());
            for (fault, script) in [("lost", lost), ("truncated", truncated), ("twice", twice)] {
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
    fn repeated_case_counts_once() {
        let again = changed(3, &["hist metric=a 1:3"]);
        let run = run_of(&[&CASE_A, &again, &CASE_B]);
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!(*outcome(&run, "b.two"), Outcome::Ok);
        let a = &run.metrics.iter().find(|m| m.id == "a").unwrap().replicates[0];
        assert_eq!(a.histogram.min(), Some(Ticks(4)));
        assert!(run.damage.damaged > 0);
    }

    #[test]
    fn session_without_start_is_not_merged_into_the_previous() {
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
    fn cut_invalidates_the_open_case_with_its_reason() {
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
    fn counts_belong_to_the_session_before_them() {
        let mut script = Script::default();
        script
            .say("host name=during us=1")
            .say("host name=before us=5 faults=6")
            .say("host name=before cpu=0 timer=7");
        for us in ["10", "20"] {
            script.say(HELLO).all(&CASE_A).bye();
            script.seq = 0;
            script
                .say(&format!("host name=during us={us}"))
                .say("host name=during cpu=3 timer=9 busiest=eth0")
                .say("host name=during cpu=3 timer=1");
        }
        let run = script.read();
        assert_eq!(run.damage, Damage::default());
        assert_eq!((run.host.len(), run.before.len()), (0, 2));
        assert_eq!(run.before[0].get("faults"), Some(6));
        let during = |at: usize| &run.sessions[at].during;
        let us: Vec<_> = [0, 1].map(|at| during(at)[0].get("us")).into();
        assert_eq!(us, [Some(10), Some(20)]);
        assert_eq!((during(1).len(), during(1)[1].cpu), (2, Some(3)));
        assert_eq!(during(1)[1].get("timer"), Some(9), "the first one counts");
        assert_eq!(during(1)[1].busiest.as_deref(), Some("eth0"));
        let lost = Script {
            lines: script.lines[..script.lines.len() - 2].to_vec(),
            ..script
        };
        assert_eq!(lost.read().sessions[1].during.len(), 1);
    }

    #[test]
    fn bye_with_wrong_count_truncates_the_session() {
        let mut script = Script::default();
        script.say(HELLO).all(&CASE_A).say("bye records=7");
        let run = script.read();
        assert_eq!(*outcome(&run, "a"), Outcome::Ok);
        assert_eq!((run.damage.truncated, run.sessions[0].complete), (1, false));
    }

    #[test]
    fn log_text_is_counted_and_ignored() {
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
    fn unsupported_version_is_named() {
        let body = "@km2 0 hello port=fake";
        let line = format!("{body} *{:08x}", crc32fast::hash(body.as_bytes()));
        let mut reader = Reader::new();
        let unsupported = UnsupportedVersion { version: 2 };
        let event = Event::Unsupported(unsupported);
        assert_eq!(reader.line(line.as_bytes()), Some(event));
        assert_eq!(reader.unsupported(), Some(unsupported));
        assert!(unsupported.to_string().contains("@km2"));
    }
}
