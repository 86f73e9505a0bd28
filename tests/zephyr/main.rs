// SPDX-License-Identifier: MIT OR Apache-2.0

//! The Zephyr port. What needs Zephyr's sources runs where `ZEPHYR_BASE` names them, or in a west
//! workspace. Everywhere, the port compiles against stand-ins of the headers that it uses, and
//! streams that it printed are judged.

#[path = "../emulated/checks.rs"]
mod checks;
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../emulated/lab.rs"]
mod emulated;
mod lab;
#[allow(dead_code)]
#[path = "../emulated/sabotage.rs"]
mod sabotage;
#[path = "../emulated/trace.rs"]
mod trace;

use std::collections::BTreeSet;
use std::fs;

use checks::{counts_nops_exactly, fact, prints_golden, repeats_under_load};
use common::here;
use emulated::{read, replicate};
use kernmark::files::reference::{counterparts, Reference};
use kernmark::stream::run::{Outcome, Run};
use lab::{able, image, setting, AN385, RISCV32};
use sabotage::{makes_a_thread, switches, user, waits, Sabotage};
use trace::{explain, few};

const USERSPACE: &str = "-DCONFIG_USERSPACE=y";

/// Streams that the port printed in QEMU: the settings, the samples and the file.
const PRINTED: [(&[&str], u32, &str); 2] = [
    (&[], 100, "tests/golden/zephyr-an385.log"),
    (&[USERSPACE], 5, "tests/golden/zephyr-an385-userspace.log"),
];

/// The facts that a printed stream depends on.
const FACTS: [&str; 2] = ["kernel", "compiler"];

fn printed(file: &str) -> Run {
    read(&fs::read(here(file)).unwrap())
}

#[test]
fn prints_the_golden_streams() {
    if !able("the golden streams", &[&AN385]) {
        return;
    }
    for (settings, samples, file) in PRINTED {
        let image = image(&AN385, settings);
        prints_golden("Zephyr: the golden streams", &image, samples, file, &FACTS);
    }
}

/// The metric that measures what this benchmark of `latency_measure` does.
fn counterpart(benchmark: &str) -> String {
    counterparts()
        .unwrap()
        .into_iter()
        .find(|row| row.target == "zephyr" && row.benchmark == benchmark)
        .map_or_else(|| benchmark.to_owned(), |row| row.metric)
}

/// The published dataset with user threads, and the same without them.
const DATASETS: [(&str, &str, usize); 2] = [
    (
        "tests/golden/zephyr-an385.log",
        "reference:zephyr/latest/default",
        47,
    ),
    (
        "tests/golden/zephyr-an385-userspace.log",
        "reference:zephyr/latest/userspace",
        124,
    ),
];

#[test]
fn every_benchmark_of_latency_measure_is_measured() {
    for (file, dataset, benchmarks) in DATASETS {
        let run = printed(file);
        let measured: BTreeSet<&str> = run
            .metrics
            .iter()
            .filter(|metric| replicate(metric).outcome == Outcome::Ok)
            .map(|metric| metric.id.as_str())
            .collect();
        let figures = dataset.parse::<Reference>().unwrap().figures().unwrap();
        let names: BTreeSet<&str> = figures.iter().map(|f| f.benchmark.as_str()).collect();
        assert_eq!(names.len(), benchmarks, "{dataset}");
        let missing: Vec<_> = names
            .iter()
            .filter(|name| !measured.contains(counterpart(name).as_str()))
            .collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
}

#[test]
fn every_mode_pairing_is_measured_or_skipped_with_a_reason() {
    for (file, _, _) in DATASETS {
        let run = printed(file);
        assert_eq!(
            run.damage,
            kernmark::stream::run::Damage::default(),
            "{file}"
        );
        let (mut reasons, mut ok) = (BTreeSet::new(), 0);
        for metric in &run.metrics {
            match &replicate(metric).outcome {
                Outcome::Ok => ok += 1,
                Outcome::Skipped(reason) => {
                    let modes = ["user", "u_to_", "_to_u"];
                    assert!(
                        !reason.starts_with("privileged only: ")
                            || modes.iter().any(|mode| metric.id.contains(mode)),
                        "{file}: {}: {reason}",
                        metric.id
                    );
                    reasons.insert(reason.as_str());
                }
                other => panic!("{file}: {}: {other:?}", metric.id),
            }
        }
        assert!(ok > 90, "{file}: {ok} metrics");
        assert_eq!(run.catalog.len(), run.metrics.len(), "{file}");
        for name in ["kernel", "compiler", "board", "configuration", "tick"] {
            assert!(!fact(&run, name).is_empty(), "{file}: {name}");
        }
        println!("{file}: {ok} metrics; skipped: {reasons:#?}");
    }
}

#[test]
fn two_runs_are_identical_even_under_load() {
    if able("two runs byte for byte", &[&AN385, &RISCV32]) {
        for (board, settings) in [(&AN385, &[][..]), (&AN385, &[USERSPACE]), (&RISCV32, &[])] {
            repeats_under_load(&image(board, settings));
        }
    }
}

#[test]
fn known_instruction_counts_are_measured_exactly() {
    if able("known numbers of instructions", &[&AN385, &RISCV32]) {
        let nops = setting("KERNMARK_BENCH", "tests/known-truth/nops.c");
        for board in [&AN385, &RISCV32] {
            counts_nops_exactly(&image(board, &[&nops]));
        }
    }
}

#[test]
fn instruction_trace_explains_every_printed_value() {
    if !able("the trace of every instruction", &[&AN385]) {
        return;
    }
    let some = |case: &str| {
        let families = [
            "semaphore.",
            "thread.",
            "events.wait.",
            "condvar.wait.",
            "isr.",
        ];
        families.iter().any(|family| case.starts_with(family)) && few(case)
    };
    let kernel = explain(&image(&AN385, &[]), few);
    let user = explain(&image(&AN385, &[USERSPACE]), some);
    assert!(kernel + user >= 60, "{kernel} and {user} cases");
}

const SABOTAGES: [Sabotage; 7] = [
    Sabotage {
        name: "freertos/frozen",
        settings: &[],
        matters: |_, _| true,
        proofs: &["clock", "order"],
    },
    Sabotage {
        name: "zephyr/unprioritised",
        settings: &[],
        matters: waits,
        proofs: &["priority", "order", "switches"],
    },
    Sabotage {
        name: "zephyr/unprioritised",
        settings: &[],
        matters: |case, _| makes_a_thread(case),
        proofs: &["order", "switches", "priority"],
    },
    // Waiting for a condition variable without a timeout waits for the next tick, which is off.
    Sabotage {
        name: "zephyr/unblocked",
        settings: &[],
        matters: |case, entries| waits(case, entries) && !case.starts_with("condvar"),
        proofs: &[],
    },
    Sabotage {
        name: "zephyr/lost",
        settings: &[],
        matters: switches,
        proofs: &[],
    },
    Sabotage {
        name: "zephyr/lost",
        settings: &[USERSPACE],
        matters: |case, entries| {
            switches(case, entries) && (case.starts_with("semaphore") || case.starts_with("thread"))
        },
        proofs: &[],
    },
    Sabotage {
        name: "zephyr/privileged",
        settings: &[USERSPACE],
        matters: user,
        proofs: &["priority"],
    },
];

#[test]
fn sabotage_is_caught_in_every_affected_case() {
    if !able("sabotage", &[&AN385]) {
        return;
    }
    let mut missed = Vec::new();
    for sabotage in &SABOTAGES {
        let port = setting(
            "KERNMARK_PORT",
            &format!("tests/sabotage/{}", sabotage.name),
        );
        let mut settings = sabotage.settings.to_vec();
        let sound = image(&AN385, &settings);
        settings.push(&port);
        missed.extend(sabotage.missed(&sound, &image(&AN385, &settings)));
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}
