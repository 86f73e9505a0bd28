// SPDX-License-Identifier: MIT OR Apache-2.0

//! Imports arbitrary bytes as results of another tool.
//!
//! `KERNMARK_FUZZ_FORMAT` selects one format. Without it, the input is read with detection of its format and
//! in each format.
#![no_main]

use std::sync::LazyLock;

use kernmark::import::{self, Figure, Format, FORMATS};
use libfuzzer_sys::fuzz_target;

static CHOSEN: LazyLock<Option<String>> =
    LazyLock::new(|| std::env::var("KERNMARK_FUZZ_FORMAT").ok());

fuzz_target!(|data: &[u8]| {
    if CHOSEN.is_none() {
        let _ = import::read(&mut &*data, None).map_err(|problem| problem.to_string());
    }
    for format in FORMATS {
        if CHOSEN.as_ref().is_none_or(|name| name == format.name) {
            read(format, data);
        }
    }
});

fn read(format: &'static Format, data: &[u8]) {
    let first = result(format, data);
    assert_eq!(first, result(format, data), "the same input gives another result");
    // A document may have a line end within a string, where CR LF is invalid JSON.
    if format.document.is_none() && !data.contains(&b'\r') {
        let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
        let windows = lines.join(&b"\r\n"[..]);
        assert_eq!(first, result(format, &windows), "other line ends give another result");
    }
}

/// The result of reading, after checking its properties.
fn result(format: &'static Format, data: &[u8]) -> String {
    let sources = match import::read(&mut &*data, Some(format)) {
        Ok(imported) => imported.sources,
        Err(problem) => return problem.to_string(),
    };
    let rows = sources.iter().flat_map(|source| &source.rows);
    assert!(rows.clone().count() <= data.len());
    for row in rows {
        match &row.figure {
            Figure::Samples(samples) => assert!(!samples.is_empty()),
            Figure::Summary(stat) => assert!(stat.mean.is_some() || stat.median.is_some()),
            Figure::Skipped(_) | Figure::Failed(_) => {}
        }
    }
    format!("{sources:?}")
}
