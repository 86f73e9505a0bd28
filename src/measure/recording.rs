// SPDX-License-Identifier: MIT OR Apache-2.0

//! The recording of a run: takes the lines of its record stream as they come, writes them to the
//! run's file, and reads them into a [`Run`].

use std::io::{self, Write};

use crate::stream::counted::{Counted, BEFORE, DURING};
use crate::stream::paths::{self, Function, Paths};
use crate::stream::record::{self, Line};
use crate::stream::run::{Fact, Run, Session};
use crate::stream::session::{self, Event, Reader};

/// Bytes to buffer at most before they are written.
const MOST_BUFFERED: usize = 64 << 10;

/// A record stream that is being saved, together with a reader that sees every byte of it.
///
/// Buffered lines are written when a case or a session ends.
pub struct Recording<'a> {
    out: &'a mut dyn Write,
    /// Bytes not yet written.
    buffer: Vec<u8>,
    /// The first write error. Nothing is written after it.
    error: Option<io::Error>,
    /// Whether the last line came without a newline.
    line_is_open: bool,
    reader: Reader,
    /// The sequence number of the next record that is added here.
    next_seq: u64,
    /// Whether an agent's session is open.
    pub(super) session_is_open: bool,
}

impl<'a> Recording<'a> {
    /// A recording that starts with these facts about the machine, the tool and the target.
    #[must_use]
    pub fn new(facts: &[Fact], out: &'a mut dyn Write) -> Self {
        let mut recording = Recording {
            out,
            buffer: Vec::new(),
            error: None,
            line_is_open: false,
            reader: Reader::default(),
            next_seq: 0,
            session_is_open: false,
        };
        for fact in facts {
            recording.fact(&fact.name, &fact.value);
        }
        recording
    }

    fn fact(&mut self, name: &str, value: &str) {
        for line in record::write(self.next_seq, "host", &[("name", name)], Some(value)) {
            self.line(format!("{line}\n").as_bytes());
        }
    }

    /// Starts a block of an interleaved measurement. The sessions that follow belong to it.
    pub fn block(&mut self, block: &str) {
        self.next_seq = 0;
        self.fact(session::BLOCK, block);
    }

    /// Records what the machine counted before the run.
    pub fn before(&mut self, counted: &[Counted]) {
        self.counted(counted, BEFORE);
    }

    /// Records what the machine counted while the session ran that has just ended.
    pub(super) fn during(&mut self, counted: &[Counted]) {
        self.next_seq = 0;
        self.counted(counted, DURING);
    }

    /// Records what the session executed that has just ended: the paths of its metrics by id, which
    /// index these functions.
    pub fn paths(&mut self, functions: &[Function], metrics: &[(&str, &Paths)]) {
        for line in paths::records(functions, metrics) {
            self.line(format!("{line}\n").as_bytes());
        }
    }

    fn counted(&mut self, counted: &[Counted], name: &str) {
        for one in counted {
            let line = one.line(self.next_seq, name);
            self.line(format!("{line}\n").as_bytes());
        }
    }

    /// The run so far.
    #[must_use]
    pub fn run(&self) -> Run {
        self.reader.clone().finish()
    }

    /// The measuring sessions so far.
    pub(super) fn sessions(&self) -> &[Session] {
        self.reader.sessions()
    }

    /// Records one line of the stream, with its newline if it has one.
    pub fn line(&mut self, line: &[u8]) -> Option<Event> {
        // A truncated line must not run into the next one.
        self.end_line();
        self.buffer.extend_from_slice(line);
        self.line_is_open = !line.ends_with(b"\n");
        if let Line::Record(record) = record::parse(line) {
            self.next_seq = record.seq().saturating_add(1);
        }
        let event = self.reader.line(line);
        match event {
            Some(Event::Hello(_)) => self.session_is_open = true,
            Some(Event::Bye) => self.session_is_open = false,
            _ => {}
        }
        let ended = matches!(event, Some(Event::End { .. } | Event::Bye));
        if ended || self.buffer.len() >= MOST_BUFFERED {
            self.write();
        }
        event
    }

    /// Writes the buffer, unless an earlier write failed.
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// The message for a stream in a version of the grammar that this tool does not know.
    pub(super) fn unsupported(&self) -> Option<String> {
        self.reader.unsupported().map(|version| version.to_string())
    }

    /// Ends the open session, if there is one, because its agent failed or was killed. `reason`
    /// says why.
    pub(super) fn cut_off(&mut self, reason: &str) {
        if !self.session_is_open {
            return;
        }
        let mut reason = reason.to_owned();
        // The reason is shortened until it fits into one record: a session that is over cannot be
        // continued by another.
        let line = loop {
            match &record::write(self.next_seq, "cut", &[], Some(&reason))[..] {
                [line] => break format!("{line}\n"),
                _ => reason.truncate(reason.char_indices().nth_back(8).map_or(0, |(at, _)| at)),
            }
        };
        self.line(line.as_bytes());
        self.session_is_open = false;
    }

    fn end_line(&mut self) {
        if self.line_is_open {
            self.buffer.push(b'\n');
            self.line_is_open = false;
        }
    }

    /// Writes the rest. Returns the run that was read, and whether the whole stream was written.
    pub fn finish(mut self) -> (Run, io::Result<()>) {
        self.end_line();
        self.write();
        (self.reader.finish(), self.error.map_or(Ok(()), Err))
    }
}
