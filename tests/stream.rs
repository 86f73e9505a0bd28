// SPDX-License-Identifier: MIT OR Apache-2.0

//! Damages realistic streams at random and checks that all numbers that remain are exactly right.

use std::collections::BTreeMap;

use kernmark::stream::histogram::Histogram;
use kernmark::stream::record;
use kernmark::stream::run::{Outcome, Proof, Replicate, Run};
use kernmark::stream::session::read;
use kernmark::stream::ticks::Ticks;

const FAULTS: usize = 10_000;
const FAULTS_PER_STREAM: std::ops::RangeInclusive<usize> = 1..=7;
/// Number of streams; each is damaged many times.
const STREAMS: u64 = 40;
const CASES: usize = 9;

/// `SplitMix64` (G. Steele, D. Lea, C. Flood, OOPSLA 2014): the same faults in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which must be above 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn between(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// A range within `len` items, of at most `most` items.
    fn part(&mut self, len: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(len);
        start..(start + 1 + self.below(most)).min(len)
    }
}

/// The agent's output, and the true measurements.
struct Agent {
    random: Random,
    seq: u64,
    lines: Vec<String>,
    truth: Vec<(String, Replicate)>,
}

impl Agent {
    fn say(&mut self, kind: &str, pairs: &[(&str, &str)], text: Option<&str>) {
        let lines = record::write(self.seq, kind, pairs, text);
        self.push(lines);
    }

    fn push(&mut self, lines: Vec<String>) {
        self.seq += lines.len() as u64;
        for line in lines {
            // Other console output, before a line and between lines.
            let line = match self.random.below(40) {
                0 => format!("[   12.{:06}] {line}", self.random.below(1_000_000)),
                1 => format!(
                    "usb 1-1: new device number {}\n{line}",
                    self.random.below(9)
                ),
                2 => format!("{line}\r"),
                _ => line,
            };
            self.lines.push(line);
        }
    }

    fn hello(&mut self, mode: &str) {
        self.seq = 0;
        let pairs = [
            ("port", "linux-user"),
            ("arch", "x86_64"),
            ("mode", mode),
            ("clock", "tsc"),
            ("unit", "cycles"),
            ("hz", "2400000000"),
            ("realtime", "no"),
        ];
        self.say("hello", &pairs, None);
        self.say("info", &[("name", "compiler")], Some("cc 12.2.0"));
        let flags = "-O2 -Wall -Wextra ".repeat(20);
        self.say("info", &[("name", "flags")], Some(&flags));
    }

    fn bye(&mut self) {
        let records = self.seq.to_string();
        self.say("bye", &[("records", &records)], None);
    }

    fn catalog(&mut self) {
        self.hello("list");
        for case in 0..CASES {
            let first = metric_of(case, 0);
            for span in 0..spans_of(case) {
                let metric = metric_of(case, span);
                let (from, to) = (span.to_string(), (span + 1).to_string());
                let key = ("metric", metric.as_str());
                let pairs = [
                    key,
                    ("case", first.as_str()),
                    ("from", &from),
                    ("to", &to),
                    ("switches", "1"),
                ];
                self.say("bench", &pairs, Some("Block and be woken."));
                self.say(
                    "between",
                    &[key],
                    Some("before the call to after the wake-up"),
                );
                self.say("via", &[key], Some("futex(2), 100 % of it"));
            }
        }
        self.bye();
    }

    fn session(&mut self, session: usize) {
        self.hello("run");
        let mut order: Vec<usize> = (0..CASES).collect();
        for i in (1..CASES).rev() {
            order.swap(i, self.random.below(i + 1));
        }
        for case in order {
            self.case(session, case);
        }
        self.bye();
    }

    fn case(&mut self, session: usize, case: usize) {
        let id = metric_of(case, 0);
        let named = ("case", id.as_str());
        self.say("begin", &[named, ("asked", "100")], None);
        if case == CASES - 1 {
            let pairs = [named, ("status", "skip"), ("samples", "0")];
            self.say("end", &pairs, Some("there is one CPU only; allow another"));
            return;
        }
        let samples = self.random.between(40..=100);
        let batch = 1u64 << self.random.below(8);
        let cold: Vec<u64> = (0..spans_of(case))
            .map(|_| self.random.next() % 100_000)
            .collect();
        for (span, ticks) in cold.iter().enumerate() {
            let (metric, ticks) = (metric_of(case, span), ticks.to_string());
            self.say("cold", &[("metric", &metric), ("ticks", &ticks)], None);
        }
        let (count, operations) = (samples.to_string(), batch.to_string());
        let pairs = [named, ("samples", &count), ("batch", &operations)];
        self.say("plan", &pairs, None);
        let histograms = self.histograms(case, samples);
        let proofs = self.proofs(named, samples as u64);
        let pairs = [named, ("status", "ok"), ("samples", &count)];
        self.say("end", &pairs, None);
        for (span, histogram) in histograms.into_iter().enumerate() {
            let replicate = Replicate {
                session,
                outcome: Outcome::Ok,
                batch,
                asked: 100,
                cold: Some(Ticks(cold[span])),
                histogram,
                stat: None,
                cpu_ns: None,
                proofs: proofs.clone(),
            };
            self.truth.push((metric_of(case, span), replicate));
        }
    }

    /// Writes the samples of a case, in parts of random sizes.
    fn histograms(&mut self, case: usize, samples: usize) -> Vec<Histogram> {
        let mut histograms = vec![Histogram::new(); spans_of(case)];
        let (mut left, mut part) = (samples, 0);
        while left > 0 {
            let taken = self.random.between(1..=left);
            for (span, histogram) in histograms.iter_mut().enumerate() {
                let mut counts = BTreeMap::new();
                for _ in 0..taken {
                    *counts.entry(1000 + self.random.next() % 60).or_insert(0) += 1;
                }
                let counts: Vec<(u64, u64)> = counts.into_iter().collect();
                let lines = record::write_hist(self.seq, &metric_of(case, span), part, &counts);
                self.push(lines);
                for (value, count) in counts {
                    histogram.add(Ticks(value), count);
                }
            }
            left -= taken;
            part += 1;
        }
        histograms
    }

    fn proofs(&mut self, case: (&str, &str), samples: u64) -> Vec<Proof> {
        let proofs = [
            ("order", 0, 0, 0),
            ("clock", 1 + (self.random.next() >> 8), 1, u64::MAX),
            ("switches", samples + 3, samples, samples + 12),
        ];
        let proofs = proofs.map(|(name, counted, low, high)| Proof {
            name: name.into(),
            counted,
            low,
            high,
            expected: None,
        });
        for p in &proofs {
            let [counted, low, high] = [p.counted, p.low, p.high].map(|n| n.to_string());
            let pairs = [
                case,
                ("name", &p.name),
                ("counted", &counted),
                ("low", &low),
                ("high", &high),
            ];
            self.say("proof", &pairs, None);
        }
        proofs.to_vec()
    }
}

fn spans_of(case: usize) -> usize {
    1 + case % 3
}

fn metric_of(case: usize, span: usize) -> String {
    let operation = ["take.blocking", "give.wake+ctx", "give.immediate"][span];
    format!("object{case}.{operation}.u_to_u")
}

/// A run as stored in a file, and all its measurements.
fn stream(seed: u64) -> (Vec<u8>, Vec<(String, Replicate)>) {
    let mut agent = Agent {
        random: Random(seed),
        seq: 0,
        lines: Vec::new(),
        truth: Vec::new(),
    };
    for name in ["kernel_release", "mitigations", "governor"] {
        agent.say("host", &[("name", name)], Some("a fact of the machine"));
    }
    agent.catalog();
    for session in 0..2 {
        agent.session(session);
    }
    let mut bytes = agent.lines.join("\n").into_bytes();
    bytes.push(b'\n');
    (bytes, agent.truth)
}

/// The kinds of faults, by number.
const KINDS: [&str; 12] = [
    "bits flipped",
    "bytes dropped",
    "bytes repeated",
    "bytes swapped",
    "noise inserted",
    "zeros written",
    "cut off",
    "lines dropped",
    "a line repeated",
    "two lines swapped",
    "two lines interleaved",
    "two lines joined",
];

fn damage(bytes: &mut Vec<u8>, kind: usize, random: &mut Random) {
    match kind {
        0 => {
            for _ in 0..random.between(1..=4) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        1 => drop(bytes.drain(random.part(bytes.len(), 300))),
        2 => {
            let part = random.part(bytes.len(), 300);
            let again = bytes[part.clone()].to_vec();
            bytes.splice(part.end..part.end, again);
        }
        3 => {
            let part = random.part(bytes.len(), 300);
            let middle = random.below(part.len());
            bytes[part].rotate_left(middle);
        }
        4 => {
            let at = random.below(bytes.len());
            let n = random.between(1..=40);
            let noise: Vec<u8> = (0..n).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, noise);
        }
        5 => {
            let part = random.part(bytes.len(), 64);
            bytes[part].fill(0);
        }
        6 => {
            let cut = random.below(bytes.len() / 4) + 1;
            bytes.truncate(bytes.len() - cut);
        }
        _ => {
            let lines = bytes.split_inclusive(|b| *b == b'\n');
            let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
            damage_lines(&mut lines, kind, random);
            *bytes = lines.concat();
        }
    }
}

fn damage_lines(lines: &mut Vec<Vec<u8>>, kind: usize, random: &mut Random) {
    let at = random.below(lines.len() - 1);
    match kind {
        7 => drop(lines.drain(random.part(lines.len(), 12))),
        8 => {
            let to = (at + random.below(20)).min(lines.len());
            lines.insert(to, lines[at].clone());
        }
        9 => {
            let other = (at + 1 + random.below(5)).min(lines.len() - 1);
            lines.swap(at, other);
        }
        10 => {
            let second = lines.remove(at + 1);
            let mut rest = [&lines[at][..], &second];
            let mut mixed = Vec::new();
            while !rest.iter().all(|bytes| bytes.is_empty()) {
                for bytes in &mut rest {
                    let n = random.between(1..=30).min(bytes.len());
                    mixed.extend_from_slice(&bytes[..n]);
                    *bytes = &bytes[n..];
                }
            }
            lines[at] = mixed;
        }
        _ => drop(lines[at].pop()),
    }
}

/// Counts the numbers in a run. Each must be one that was measured.
fn numbers(run: &Run, truth: &[(String, Replicate)], said: &str) -> usize {
    let mut left: Vec<_> = truth.iter().collect();
    for metric in &run.metrics {
        for replicate in &metric.replicates {
            if replicate.outcome != Outcome::Ok {
                assert!(replicate.histogram.is_empty() && replicate.cold.is_none());
                continue;
            }
            // The session's index may differ, because an earlier session may be lost.
            let at = left.iter().position(|(id, measured)| {
                let session = replicate.session;
                *id == metric.id
                    && *replicate
                        == Replicate {
                            session,
                            ..measured.clone()
                        }
            });
            let at = at
                .unwrap_or_else(|| panic!("{}: a number that was not measured: {said}", metric.id));
            left.swap_remove(at);
        }
    }
    truth.len() - left.len()
}

#[test]
fn undamaged_stream_has_every_measurement() {
    for seed in 0..STREAMS {
        let (bytes, truth) = stream(seed);
        let run = read(&bytes);
        assert_eq!(numbers(&run, &truth, "no fault"), truth.len());
        assert_eq!(run.catalog.len(), (0..CASES).map(spans_of).sum::<usize>());
        let damage = &run.damage;
        assert_eq!((damage.damaged, damage.gaps, damage.truncated), (0, 0, 0));
        assert!(run.sessions.iter().all(|session| session.complete));
        let all = run.metrics.iter().flat_map(|m| &m.replicates);
        let skipped = all.filter(|r| matches!(r.outcome, Outcome::Skipped(_)));
        assert_eq!(skipped.count(), 2 * spans_of(CASES - 1));
    }
}

#[test]
fn ten_thousand_faults_never_produce_a_wrong_number() {
    let mut random = Random(1);
    let streams: Vec<_> = (0..STREAMS).map(stream).collect();
    let (mut faults, mut tries) = (0, 0);
    let (mut measured, mut kept) = (0, 0);
    // Streams with a single fault, and those that lost a number.
    let mut alone = [(0, 0); KINDS.len()];
    while faults < FAULTS {
        let (bytes, truth) = &streams[tries % streams.len()];
        let mut bytes = bytes.clone();
        tries += 1;
        let kinds: Vec<usize> = (0..random.between(FAULTS_PER_STREAM))
            .map(|_| random.below(KINDS.len()))
            .collect();
        for kind in &kinds {
            damage(&mut bytes, *kind, &mut random);
        }
        let names: Vec<_> = kinds.iter().map(|kind| KINDS[*kind]).collect();
        let said = format!("try {tries}: {}", names.join(", "));
        let found = numbers(&read(&bytes), truth, &said);
        faults += kinds.len();
        measured += truth.len();
        kept += found;
        if let [kind] = kinds[..] {
            alone[kind].0 += 1;
            alone[kind].1 += usize::from(found < truth.len());
        }
    }
    let lost = measured - kept;
    println!("{faults} faults in {tries} streams: {measured} numbers, {kept} kept, {lost} lost");
    for ((tried, hit), kind) in alone.iter().zip(KINDS) {
        println!(" {kind}: {hit} of {tried} single faults lost a number");
        assert!(*hit > 0, "faults of this kind have no effect: {kind}");
    }
    // A fault loses the cases it hits, not the stream.
    assert!(lost > 0 && kept > measured / 2, "{kept} of {measured} kept");
}
