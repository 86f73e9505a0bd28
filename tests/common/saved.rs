// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handmade saved runs.

use std::collections::BTreeMap;

use kernmark::stream::record;

/// A saved run: facts about the machine, then a session for each replicate. `metrics` holds each
/// metric's samples, by replicate. A metric without samples is skipped because it needs priority.
pub fn stream(unit: &str, facts: &[(&str, &str)], metrics: &[(&str, Vec<Vec<u64>>)]) -> String {
    let mut lines = Vec::new();
    for (name, value) in facts {
        lines.extend(record::write(0, "host", &[("name", name)], Some(value)));
    }
    let sessions = metrics[0].1.len();
    for session in 0..sessions {
        let of = metrics.iter().map(|(id, all)| (*id, &all[session][..]));
        lines.extend(written(&records(unit, &of.collect::<Vec<_>>())));
    }
    lines.join("\n") + "\n"
}

/// Records as words. A text follows a bar; the samples of a `hist` follow its id.
fn records(unit: &str, metrics: &[(&str, &[u64])]) -> Vec<String> {
    let hz = if unit == "cycles" { 1_000_000_000 } else { 0 };
    let mut records = vec![format!(
        "hello port=fake arch=none mode=run clock=c unit={unit} hz={hz} realtime=no"
    )];
    for (id, samples) in metrics {
        let count = samples.len();
        records.push(format!(
            "bench metric={id} case={id} from=0 to=1 switches=0|What it does."
        ));
        records.push(format!("begin case={id} asked={count}"));
        if samples.is_empty() {
            records.push(format!(
                "end case={id} status=skip samples=0|needs priority"
            ));
            continue;
        }
        let samples: Vec<String> = samples.iter().map(u64::to_string).collect();
        records.extend([
            format!("plan case={id} samples={count} batch=1"),
            format!("hist metric={id} samples={}", samples.join(",")),
            format!("proof case={id} name=order counted=0 low=0 high=0"),
            format!("end case={id} status=ok samples={count}"),
        ]);
    }
    let count = written(&records).len();
    records.push(format!("bye records={count}"));
    records
}

fn written(records: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for record in records {
        let seq = lines.len() as u64;
        let (words, text) = match record.split_once('|') {
            Some((words, text)) => (words, Some(text)),
            None => (record.as_str(), None),
        };
        let (kind, pairs) = words.split_once(' ').unwrap();
        let pairs = pairs.split(' ').map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> = pairs.collect();
        if kind == "hist" {
            let mut counts = BTreeMap::new();
            for value in pairs[1].1.split(',') {
                *counts.entry(value.parse().unwrap()).or_insert(0) += 1;
            }
            let counts: Vec<(u64, u64)> = counts.into_iter().collect();
            lines.extend(record::write_hist(seq, pairs[0].1, 0, &counts));
        } else {
            lines.extend(record::write(seq, kind, &pairs, text));
        }
    }
    lines
}
