// SPDX-License-Identifier: MIT OR Apache-2.0

//! The runs that the tool saved.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use kernmark::files::store;

/// The runs in a folder, also those that are being written; without their digests.
pub fn saved_runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        [".km", ".km.gz", ".km.part"]
            .iter()
            .any(|end| name.ends_with(end))
    });
    paths.sort();
    paths
}

/// The records of a run.
#[allow(dead_code)]
pub fn records(path: &Path) -> String {
    let file = BufReader::new(File::open(path).unwrap());
    let mut text = String::new();
    let mut stream = store::decompressed(file).unwrap();
    stream.read_to_string(&mut text).unwrap();
    text
}
