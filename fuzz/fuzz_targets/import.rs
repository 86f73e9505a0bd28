// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads arbitrary bytes as the results of another tool.
//!
//! `KERNMARK_FUZZ_FORMAT` selects one format. Without it, the target detects the format and also tries
//! every format.
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
    let results = results(format, data);
    assert_eq!(
        results,
        self::results(format, data),
        "reading twice gives different results"
    );
    // In a document, a changed line end inside a string could make the JSON invalid.
    if format.document.is_none() && !data.contains(&b'\r') {
        let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
        let windows = lines.join(&b"\r\n"[..]);
        assert_eq!(
            results,
            self::results(format, &windows),
            "line ends change the results"
        );
    }
}

/// The results as text, after checks that hold for any input.
fn results(format: &'static Format, data: &[u8]) -> String {
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
