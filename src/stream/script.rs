// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds record streams for the unit tests of this folder.

use crate::stream::record;
use crate::stream::run::{Outcome, Run};
use crate::stream::session::Reader;

pub const HELLO: &str = "hello port=fake arch=x mode=run clock=tsc unit=cycles hz=1000 realtime=no";
pub const LIST: &str = "hello port=fake arch=x mode=list clock=tsc unit=cycles hz=1000 realtime=no";
pub const CATALOG: [&str; 7] = [
    LIST,
    "bench metric=b.one case=b.one from=0 to=1 switches=1 switches_most=2 batch=8 bytes=64 needs=smp,irq idiom=yes | About b.",
    "title metric=b.one | B, the first.",
    "between metric=b.one | Between.",
    "via metric=b.one | Via.",
    "bench metric=b.two case=b.one from=1 to=2 switches=1 | About b.",
    "bench metric=a case=a from=0 to=1 switches=0 | About a.",
];
pub const CASE_A: [&str; 7] = [
    "begin case=a asked=10",
    "cold metric=a ticks=99",
    "plan case=a samples=5 batch=2",
    "hist metric=a 4:1 5:2",
    "hist metric=a 4:2",
    "proof case=a name=order counted=0 low=0 high=0",
    "end case=a status=ok samples=5",
];
pub const CASE_B: [&str; 6] = [
    "begin case=b.one asked=2",
    "plan case=b.one samples=2 batch=1",
    "hist metric=b.one 7:2",
    "hist metric=b.two 8:2",
    "proof case=b.one name=order counted=0 low=0 high=0",
    "end case=b.one status=ok samples=2",
];

/// A stream written record by record. A body is `kind key=value... [| text]`.
#[derive(Clone, Default)]
pub struct Script {
    pub seq: u64,
    pub lines: Vec<String>,
}

impl Script {
    pub fn say(&mut self, body: &str) -> &mut Self {
        let (head, text) = match body.split_once(" | ") {
            Some((head, text)) => (head, Some(text)),
            None => (body, None),
        };
        let mut words = head.split(' ');
        let kind = words.next().unwrap();
        if kind == "hello" {
            self.seq = 0;
        }
        let words: Vec<_> = words.collect();
        let new = if kind == "hist" {
            let counts: Vec<_> = words[1..]
                .iter()
                .map(|w| w.split_once(':').unwrap())
                .map(|(v, n)| (v.parse().unwrap(), n.parse().unwrap()))
                .collect();
            let metric = words[0].split_once('=').unwrap().1;
            record::write_hist(self.seq, metric, 0, &counts)
        } else {
            let pairs: Vec<_> = words.iter().map(|w| w.split_once('=').unwrap()).collect();
            record::write(self.seq, kind, &pairs, text)
        };
        self.seq += new.len() as u64;
        self.lines.extend(new);
        self
    }

    pub fn all(&mut self, bodies: &[&str]) -> &mut Self {
        for body in bodies {
            self.say(body);
        }
        self
    }

    pub fn bye(&mut self) -> &mut Self {
        let records = self.seq;
        self.say(&format!("bye records={records}"))
    }

    pub fn read(&self) -> Run {
        let mut reader = Reader::new();
        for line in &self.lines {
            reader.line(line.as_bytes());
        }
        reader.finish()
    }
}

pub fn run_of(cases: &[&[&str]]) -> Run {
    let mut script = Script::default();
    script.all(&CATALOG).bye().say(HELLO);
    for case in cases {
        script.all(case);
    }
    script.bye().read()
}

pub fn outcome<'a>(run: &'a Run, id: &str) -> &'a Outcome {
    let metric = run.metrics.iter().find(|m| m.id == id).expect(id);
    assert_eq!(metric.replicates.len(), 1, "{id}");
    let replicate = &metric.replicates[0];
    assert_eq!(
        replicate.histogram.is_empty(),
        replicate.outcome != Outcome::Ok
    );
    &replicate.outcome
}

pub fn incomplete(reason: &str) -> Outcome {
    Outcome::Incomplete(reason.to_owned())
}

/// `CASE_A` with one record replaced, or left out when `with` is empty.
pub fn changed<'a>(at: usize, with: &[&'a str]) -> Vec<&'a str> {
    [&CASE_A[..at], with, &CASE_A[at + 1..]].concat()
}
