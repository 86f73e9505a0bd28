// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads arbitrary bytes as a record stream, and as the bodies of records with correct checksums.
#![no_main]

use kernmark::stream::record::{self, Line, Record};
use kernmark::stream::run::{Outcome, Run};
use kernmark::stream::session::Reader;
use kernmark::judge::summary;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut raw = Reader::new();
    for line in data.split(|b| *b == b'\n') {
        round_trip(line);
        raw.line(line);
    }
    check(&raw.finish());

    let sealed = seal(data);
    let mut reader = Reader::new();
    for line in &sealed {
        round_trip(line.as_bytes());
        reader.line(line.as_bytes());
    }
    check(&reader.finish());

    texts(&String::from_utf8_lossy(data));
});

/// Writes a record that was read, reads it again and expects the same contents.
fn round_trip(line: &[u8]) {
    let Line::Record(read) = record::parse(line) else {
        return;
    };
    let written = if read.kind() == "hist" {
        let (Some(metric), Some(part)) = (read.get("metric"), read.number("part")) else {
            return;
        };
        record::write_hist(read.seq(), metric, part, read.counts())
    } else if read
        .pairs()
        .iter()
        .all(|(_, v)| v.bytes().all(|b| b.is_ascii_graphic()))
    {
        // The input may escape more than needed, so the text written can be shorter, never longer.
        match read.text() {
            Some(text) if text.contains('\u{fffd}') => return,
            text => record::write(read.seq(), read.kind(), read.pairs(), text.as_deref()),
        }
    } else {
        return;
    };
    let Line::Record(back) = record::parse(written[0].as_bytes()) else {
        panic!("the written line is not a record: {}", written[0]);
    };
    assert_eq!(back.seq(), read.seq());
    assert_eq!(back.kind(), read.kind());
    if read.kind() != "hist" {
        assert_eq!((back.pairs(), back.text()), (read.pairs(), read.text()));
    } else {
        assert!(read.counts().starts_with(back.counts()));
    }
}

/// Makes records of lines `kind key=value ... [| text]`, with or without a record number in front.
fn seal(data: &[u8]) -> Vec<String> {
    let mut seq = 0u64;
    let text = String::from_utf8_lossy(data);
    text.lines()
        .map(|line| {
            if line.starts_with("hello") {
                seq = 0;
            }
            let body = if line.starts_with(|c: char| c.is_ascii_digit()) {
                format!("@km1 {line}")
            } else {
                format!("@km1 {seq} {line}")
            };
            seq += 1;
            let checksum = crc32(body.as_bytes());
            format!("{body} *{checksum:08x}")
        })
        .collect()
}

/// CRC-32 of IEEE 802.3, bit by bit. Independent of the code under test.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1))
        })
    })
}

/// Checks invariants that hold for every run.
fn check(run: &Run) {
    for metric in &run.metrics {
        let mut before = None;
        for replicate in &metric.replicates {
            assert!(replicate.session < run.sessions.len());
            assert!(
                before < Some(replicate.session),
                "a metric appears twice in a session"
            );
            before = Some(replicate.session);
            assert!(replicate.batch > 0);
            if replicate.outcome == Outcome::Ok {
                assert!(!replicate.histogram.is_empty());
                let holds = |p: &kernmark::stream::run::Proof| p.low <= p.counted && p.counted <= p.high;
                assert!(replicate.proofs.iter().all(holds));
            } else {
                assert!(replicate.histogram.is_empty() && replicate.cold.is_none());
            }
        }
    }
    for one in &run.paths {
        let Ok(paths) = &one.paths else { continue };
        let metric = run.metrics.iter().find(|metric| metric.id == one.metric);
        let mut replicates = metric.expect("the metric").replicates.iter();
        let replicate = replicates.find(|replicate| replicate.session == one.session);
        assert_eq!(paths.verify(&replicate.expect("a replicate").histogram), Ok(()));
        for mode in &paths.modes {
            assert!(mode.functions.keys().all(|at| *at < run.functions.len()));
            assert!(mode.repetitions() <= mode.instructions());
        }
    }
    for line in summary::summarise(run) {
        assert_eq!(line.status == summary::Status::Ok, line.median.is_some());
        assert_eq!(line.tried, line.replicates + line.lost.len());
        if let (Some(low), Some(high)) = (line.low, line.high) {
            assert!(low <= high);
        }
    }
}

/// Checks that any written text is read back.
fn texts(text: &str) {
    let lines = record::write(1, "info", &[("name", "x")], Some(text));
    let joined: String = lines
        .iter()
        .map(|line| match record::parse(line.as_bytes()) {
            Line::Record(piece) => Record::raw_text(&piece).expect("a text"),
            other => panic!("{other:?}: {line}"),
        })
        .collect();
    assert_eq!(record::decode(&joined), text);
}
