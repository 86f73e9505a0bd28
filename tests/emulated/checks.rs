// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks of an image that hold for every kernel.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kernmark::stream::run::{Outcome, Run};

use crate::common::{here, skipped, succeeds};
use crate::emulated::{attempt, order, read, replicate, Image};

/// Blocks with a known number of nops (`tests/known-truth/nops.c`) differ by exactly that number.
pub fn counts_nops_exactly(image: &Image) {
    let run = order(image, "run samples=1000").run();
    let value = |n: u64| {
        let id = format!("nops.{n}");
        let replicate = replicate(run.metrics.iter().find(|m| m.id == id).unwrap());
        assert_eq!(replicate.outcome, Outcome::Ok, "{}: {id}", image.name);
        let counts: Vec<_> = replicate.histogram.iter().collect();
        let [(ticks, 1000)] = counts[..] else {
            panic!("{}: {id}: {counts:?}", image.name);
        };
        assert_eq!(replicate.cold, Some(ticks), "{}: {id}", image.name);
        ticks.0
    };
    for n in [1, 2, 3, 10, 100, 1000] {
        assert_eq!(value(n), value(0) + n, "{}: {n}", image.name);
    }
}

/// A run beside four busy threads equals one before, byte for byte.
pub fn repeats_under_load(image: &Image) {
    let quiet = order(image, "run samples=100").stream;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let loaded = attempt(image, "run samples=100").stream;
        stop.store(true, Ordering::Relaxed);
        assert!(quiet == loaded, "{}: two runs differ", image.name);
    });
}

/// The emulator that printed the golden files; others may count differently.
const GOLDEN_EMULATOR: &str = "QEMU emulator version 7.2.";

/// A fact of the first session.
pub fn fact<'a>(run: &'a Run, name: &str) -> &'a str {
    let facts = &run.sessions[0].facts;
    &facts.iter().find(|f| f.name == name).unwrap().value
}

/// The catalog and the run of this image are those of a golden file. If something differs that they
/// depend on (one of these facts, or the emulator), says so, and compares two runs instead.
pub fn prints_golden(test: &str, image: &Image, samples: u32, file: &str, facts: &[&str]) {
    let print = || {
        let mut stream = order(image, "list").stream;
        stream.extend(order(image, &format!("run samples={samples}")).stream);
        stream
    };
    let printed = print();
    let file = here(file);
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    let expected = fs::read(&file).unwrap();
    let emulator = succeeds(Command::new(image.board.emulator.name).arg("--version"));
    let emulator = emulator.lines().next().unwrap();
    let (new, pinned) = (read(&printed), read(&expected));
    let other = facts
        .iter()
        .find(|name| fact(&new, name) != fact(&pinned, name));
    if other.is_some() || !emulator.starts_with(GOLDEN_EMULATOR) {
        let differing = other.map_or_else(
            || format!("{GOLDEN_EMULATOR}x; installed is {emulator}"),
            |name| format!("{}; here it is {}", fact(&pinned, name), fact(&new, name)),
        );
        skipped(test, &format!("it was made with {differing}"));
        assert!(print() == printed, "two runs differ");
        return;
    }
    let (printed, expected) = (
        String::from_utf8(printed).unwrap(),
        String::from_utf8(expected).unwrap(),
    );
    let mut differing = printed
        .lines()
        .zip(expected.lines())
        .enumerate()
        .filter(|(_, (p, e))| p != e);
    if let Some((line, (p, e))) = differing.next() {
        panic!(
            "line {} is\n  {p}\ninstead of\n  {e}\nand {} more lines differ. If you intended every \
             change, rewrite the file: see CONTRIBUTING.md",
            line + 1,
            differing.count()
        );
    }
    assert_eq!(printed.len(), expected.len(), "one stream is longer");
}
