// SPDX-License-Identifier: MIT OR Apache-2.0

//! The record stream of a run, written to its file while it is measured.

use std::io::{self, Write};

use crate::stream::record::{self, Line};
use crate::stream::run::{Fact, Run};
use crate::stream::session::{self, Event, Reader};

/// Bytes of a stream that are held back at most.
const MOST_PENDING: usize = 64 << 10;

/// A record stream on its way to where it is saved, and its reader, which sees every byte of it.
///
/// What came is written out when a case or a session ends.
pub struct Recording<'a> {
    out: &'a mut dyn Write,
    /// What is not written yet.
    pending: Vec<u8>,
    /// Why nothing is written any more.
    trouble: Option<io::Error>,
    /// Whether the last line came without its end.
    unended: bool,
    reader: Reader,
    /// The number that the session's next record has.
    next: u64,
    /// Whether an agent's session is open.
    pub(super) open: bool,
}

impl<'a> Recording<'a> {
    /// A recording that starts with the facts of the machine and the tool.
    #[must_use]
    pub fn new(facts: &[Fact], out: &'a mut dyn Write) -> Self {
        let mut recording = Recording {
            out,
            pending: Vec::new(),
            trouble: None,
            unended: false,
            reader: Reader::default(),
            next: 0,
            open: false,
        };
        for fact in facts {
            recording.fact(&fact.name, &fact.value);
        }
        recording
    }

    fn fact(&mut self, name: &str, value: &str) {
        for line in record::write(self.next, "host", &[("name", name)], Some(value)) {
            self.line(format!("{line}\n").as_bytes());
        }
    }

    /// Says in which block of an interleaved measurement the sessions lie that follow.
    pub fn block(&mut self, block: &str) {
        self.next = 0;
        self.fact(session::BLOCK, block);
    }

    /// Takes one line of a stream, with its line end if it has one.
    pub fn line(&mut self, line: &[u8]) -> Option<Event> {
        // A line that was cut off must not run into the next.
        self.end_line();
        self.pending.extend_from_slice(line);
        self.unended = !line.ends_with(b"\n");
        if let Line::Record(record) = record::parse(line) {
            self.next = record.seq().saturating_add(1);
        }
        let event = self.reader.line(line);
        match event {
            Some(Event::Hello(_)) => self.open = true,
            Some(Event::Bye) => self.open = false,
            _ => {}
        }
        let ended = matches!(event, Some(Event::End { .. } | Event::Bye));
        if ended || self.pending.len() >= MOST_PENDING {
            self.write();
        }
        event
    }

    /// Writes what is pending, unless that failed before.
    fn write(&mut self) {
        if self.trouble.is_none() {
            self.trouble = self.out.write_all(&self.pending).err();
        }
        self.pending.clear();
    }

    /// The version of the grammar that the stream speaks, where it is another.
    pub(super) fn refused(&self) -> Option<String> {
        self.reader.refused().map(|refused| refused.to_string())
    }

    /// Ends the open session, if there is one: its agent broke down or was killed, and why.
    pub(super) fn cut(&mut self, reason: &str) {
        if !self.open {
            return;
        }
        let mut reason = reason.to_owned();
        // Only one record: nothing can go on in a session that is over.
        let line = loop {
            match &record::write(self.next, "cut", &[], Some(&reason))[..] {
                [line] => break format!("{line}\n"),
                _ => reason.truncate(reason.char_indices().nth_back(8).map_or(0, |(at, _)| at)),
            }
        };
        self.line(line.as_bytes());
        self.open = false;
    }

    fn end_line(&mut self) {
        if self.unended {
            self.pending.push(b'\n');
            self.unended = false;
        }
    }

    /// Writes the rest. What the stream says, and whether all of it was written.
    pub fn finish(mut self) -> (Run, io::Result<()>) {
        self.end_line();
        self.write();
        (self.reader.finish(), self.trouble.map_or(Ok(()), Err))
    }
}
