// SPDX-License-Identifier: MIT OR Apache-2.0

//! `HdrHistogram`'s interval log, version 1.3, with histograms in encoding V2.

use std::fmt::Write;
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::Histogram;

use super::{
    description, escaped, in_unit, Carries, Foreign, Item, Unmeasured, ID_PUNCTUATION, STARTED,
};
use crate::base::text::plain;
use crate::judge::summary::Summary;
use crate::stream::run::{Fact, Replicate, Run};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "hdr",
    about: "interval log of HdrHistogram, for its tools",
    leaves_out: "what exceeds 3 significant digits, cold samples and proofs",
    unmeasured: Unmeasured::Explained,
    carries: Carries::All,
    write: run,
};

/// Significant decimal digits of each value.
const DIGITS: u8 = 3;

/// Histogram units in a nanosecond or an instruction. Histograms have integers, and some operations take
/// less than a nanosecond.
const PER_UNIT: f64 = 1000.0;

/// A histogram for each replicate of each metric, with the cost of an operation in each sample. Its tag is
/// the metric's id; its start is the number of the replicate.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let mut out = String::from("#[Histogram log format version 1.3]\n");
    let started =
        Fact::value_in(&run.host, STARTED).and_then(|time| humantime::parse_rfc3339(time).ok());
    if let Some(since) = started.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()) {
        let seconds = since.as_secs_f64();
        let _ = writeln!(out, "#[StartTime: {seconds:.3} (seconds since epoch)]");
    }
    for (label, text) in description(run, &items) {
        let _ = writeln!(out, "# {label}: {text}");
    }
    out.push_str(
        "# Values are thousandths of a nanosecond, or of an instruction where `kernmark show` says so.\n\
         # StartTimestamp is the number of the replicate and Interval_Length 1; neither is a time.\n",
    );
    for item in items.iter().filter(|item| item.median().is_none()) {
        let id = plain(&item.summary.id);
        let _ = writeln!(out, "# {id} {}", plain(&item.reason()));
    }
    out.push_str("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
    let mut lines = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .begin_log_with(&mut lines, &mut serializer)
        .expect("writing to memory succeeds");
    for item in items.iter().filter(|item| item.median().is_some()) {
        let tag = escaped(&item.summary.id, ID_PUNCTUATION, "%");
        for replicate in &item.values.replicates {
            let start = Duration::from_secs(replicate.session as u64);
            writer
                .write_histogram(
                    &histogram(&item.summary, replicate),
                    start,
                    Duration::from_secs(1),
                    Tag::new(&tag),
                )
                .expect("writing to memory succeeds");
        }
    }
    out + &String::from_utf8(lines).expect("only text was written")
}

fn histogram(summary: &Summary, replicate: &Replicate) -> Histogram<u64> {
    let mut histogram = Histogram::new(DIGITS).expect("the number of digits is allowed");
    let batch = replicate.batch.max(1) as f64;
    // The encoding uses signed 64-bit counts, and their sum must not overflow.
    let most = i64::MAX as u64 / replicate.histogram.distinct().max(1) as u64;
    for (ticks, count) in replicate.histogram.iter() {
        let value = in_unit(summary, Some(ticks.0 as f64 / batch)).unwrap_or_default();
        histogram
            .record_n((value * PER_UNIT).round() as i64 as u64, count.min(most))
            .expect("the histogram resizes itself");
    }
    histogram
}
