// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads arbitrary bytes as the digest of a run and as an index of digests.
//!
//! Checksums keep random bytes out of the readers, so the target also seals the input with the correct
//! ones.
#![no_main]

use kernmark::files::digest::Digest;
use kernmark::files::index::{self, Index, Source, FIRST_LINE};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        digest(text);
        let text = format!("kernmark digest 1\n{text}\n");
        digest(&format!("{text}end {:08x}\n", crc32fast::hash(text.as_bytes())));
    }
    packed(data.to_vec());
    if let Some((counts, heads)) = data.split_first_chunk::<2>() {
        let [runs, metrics] = counts.map(u32::from);
        let mut chunk = Vec::new();
        for number in [heads.len() as u32, runs, metrics, crc32fast::hash(heads)] {
            chunk.extend(number.to_le_bytes());
        }
        chunk.extend(crc32fast::hash(&chunk).to_le_bytes());
        // Space for as many numbers as the counts promise.
        let numbers = vec![0; 6 * metrics as usize * (8 * runs as usize + 4)];
        packed([FIRST_LINE, &chunk, heads, &numbers].concat());
    }
});

/// A digest that is read is written and read as the same again, and so is an index of it.
fn digest(text: &str) {
    let Ok(digest) = Digest::parse(text, "name") else {
        return;
    };
    assert_eq!(Digest::parse(&digest.text(), "name").as_ref(), Ok(&digest));
    let chunk = index::chunk(&[("name.km", &digest)]);
    let index = Index::read(Source::Memory([FIRST_LINE, &chunk].concat()));
    assert_eq!(index.whole, index.length);
    assert_eq!(index.chunks[0].rows[0].head, digest.head);
}

fn packed(bytes: Vec<u8>) {
    let length = bytes.len() as u64;
    let index = Index::read(Source::Memory(bytes));
    assert!(index.whole <= length);
    for chunk in &index.chunks {
        for metric in 0..chunk.metrics.len() {
            if let Some(numbers) = index.numbers(chunk, metric, index::SPREAD) {
                assert_eq!(numbers.len(), chunk.rows.len());
            }
        }
    }
}
