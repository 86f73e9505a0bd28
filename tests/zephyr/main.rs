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
use std::path::{Path, PathBuf};
use std::process::Command;

use checks::{counts_nops_exactly, fact, prints_golden, repeats_under_load};
use common::{here, scratch, succeeds};
use emulated::{read, replicate};
use kernmark::files::reference::{counterparts, Reference};
use kernmark::stream::run::{Outcome, Run};
use lab::{able, image, setting, AN385, RISCV32};
use sabotage::{makes_a_thread, relies, switches, user, waits, Sabotage};
use trace::{explain, few};

const USERSPACE: &str = "-DCONFIG_USERSPACE=y";
/// The settings with which the port measures most.
const EVERYTHING: [&str; 2] = ["-DCONFIG_POLL=y", "-DCONFIG_TICKLESS_KERNEL=n"];

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

/// A board as the port sees it: its settings, and the file for its console.
struct Setup(&'static str, &'static str);

const SETUPS: [Setup; 9] = [
    Setup(
        "ARM CPU_CORTEX_M ARMV7_M_ARMV8_M_MAINLINE BOARD_MPS2 CORTEX_M_SYSTICK KERNMARK_LINE=31 \
         KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS KERNMARK_EMULATOR",
        "semihost.c",
    ),
    Setup(
        "ARM CPU_CORTEX_M ARMV7_M_ARMV8_M_MAINLINE BOARD_MPS2 CORTEX_M_SYSTICK KERNMARK_LINE=31 \
         KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS KERNMARK_EMULATOR USERSPACE POLL OBJ_CORE \
         OBJ_CORE_SEM ASSERT TIMESLICING",
        "semihost.c",
    ),
    Setup(
        "RISCV RISCV_MACHINE_TIMER KERNMARK_LINE=-1 KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS \
         KERNMARK_EMULATOR USE_SWITCH SMP SCHED_CPU_MASK SCHED_IPI_SUPPORTED TICKLESS_KERNEL",
        "semihost.c",
    ),
    Setup(
        "ARM64 ARM_ARCH_TIMER KERNMARK_LINE=-1 SMP SCHED_CPU_MASK SCHED_IPI_SUPPORTED TICKLESS_KERNEL",
        "uart.c",
    ),
    // A board, as under twister.
    Setup(
        "ARM CPU_CORTEX_M KERNMARK_LINE=-1 TICKLESS_KERNEL SYSTEM_TIMER_HAS_DISABLE_SUPPORT USERSPACE",
        "uart.c",
    ),
    Setup("ARM CPU_CORTEX_M KERNMARK_LINE=3 KERNMARK_ORDERS", "uart.c"),
    Setup(
        "RISCV RISCV_MACHINE_TIMER KERNMARK_LINE=3 KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS \
         KERNMARK_EMULATOR USE_SWITCH",
        "semihost.c",
    ),
    Setup(
        "X86 X86_64 HPET_TIMER KERNMARK_LINE=27 KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS \
         KERNMARK_EMULATOR USERSPACE",
        "x86.c",
    ),
    Setup(
        "ARM64 ARM_ARCH_TIMER KERNMARK_LINE=6 KERNMARK_ICOUNT KERNMARK_COUNT KERNMARK_ORDERS \
         KERNMARK_EMULATOR",
        "semihost.c",
    ),
];

/// The C files of these folders of the agent.
fn sources(folders: &[&str]) -> Vec<PathBuf> {
    let files = folders
        .iter()
        .flat_map(|f| fs::read_dir(here("agent").join(f)).unwrap());
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "c"));
    files.sort();
    files
}

/// A folder with a header for each of Zephyr's that the port includes. Each is the stand-in.
fn headers() -> PathBuf {
    let folder = scratch("zephyr-headers");
    let port = fs::read_dir(here("agent/ports/zephyr")).unwrap();
    for file in port
        .map(|file| file.unwrap().path())
        .filter(|file| file.is_file())
    {
        let text = fs::read_to_string(file).unwrap();
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("#include <")?.strip_suffix('>'));
        for name in names.filter(|name| !name.starts_with("std")) {
            let header = folder.join(name);
            fs::create_dir_all(header.parent().unwrap()).unwrap();
            fs::write(header, "#include \"stand-in.h\"\n").unwrap();
        }
    }
    let configuration = "#define PORT_BOARD \"b\"\n#define PORT_COMPILER \"c\"\n\
                         #define PORT_CONFIGURATION \"X=y\"\n";
    fs::write(folder.join("configuration.h"), configuration).unwrap();
    folder
}

#[test]
fn port_compiles_against_stand_ins_of_zephyrs_headers() {
    let headers = headers();
    let benchmarks = sources(&["bench", "bench/rtos"]);
    for Setup(settings, console) in &SETUPS {
        let port = ["port.c", console].map(|file| here("agent/ports/zephyr").join(file));
        let numbers = [
            "KERNMARK_THREADS=17",
            "KERNMARK_OBJECTS=16",
            "KERNMARK_STACK_SIZE=1024",
            "KERNMARK_STAMPS=4096",
            "SYS_CLOCK_TICKS_PER_SEC=10",
            "SYSTEM_WORKQUEUE_PRIORITY=-1",
            "MP_MAX_NUM_CPUS=2",
        ];
        let settings = settings.split_whitespace().chain(numbers);
        succeeds(
            Command::new("cc")
                .args(["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
                .args(["-Wno-unused-parameter", "-Wno-sign-compare"])
                .args(["-DCONFIG_ARCH=\"any\"", "-I"])
                .arg(&headers)
                .args(
                    [
                        "tests/zephyr",
                        "agent/ports/zephyr",
                        "agent",
                        "agent/core",
                        "agent/order",
                    ]
                    .map(|folder| format!("-I{}", here(folder).display())),
                )
                .args(settings.map(|setting| format!("-DCONFIG_{setting}")))
                .args(&port)
                .args(&benchmarks),
        );
    }
}

/// What the probe of a board says about this source in this folder, with this `ZEPHYR_BASE`, if it
/// fails.
fn probe(source: &str, folder: &Path, base: Option<&str>) -> String {
    let mut command = Command::new(here("agent/ports/zephyr/find-zephyr.sh"));
    command
        .args([source, AN385.name])
        .current_dir(folder)
        .env_remove("ZEPHYR_BASE");
    let output = command
        .envs(base.map(|base| ("ZEPHYR_BASE", base)))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn probe_says_what_is_missing() {
    let empty = std::env::temp_dir();
    let nothing = probe("", &empty, None);
    assert!(nothing.contains("ZEPHYR_BASE is not set"), "{nothing}");
    assert!(nothing.contains("west update"), "{nothing}");
    let wrong = probe("", &empty, Some("/nowhere"));
    assert!(
        wrong.contains("no Zephyr in ZEPHYR_BASE=/nowhere"),
        "{wrong}"
    );
    let named = probe("/elsewhere", &empty, Some("/nowhere"));
    assert_eq!(named, "there is no Zephyr in /elsewhere\n");
    let workspace = scratch("zephyr-workspace");
    fs::create_dir_all(workspace.join(".west")).unwrap();
    fs::write(workspace.join(".west/config"), "[zephyr]\nbase = kernel\n").unwrap();
    let found = probe("", &workspace, None);
    assert!(found.contains("west workspace of this folder"), "{found}");
    assert!(found.contains("zephyr-workspace/kernel"), "{found}");
}

#[test]
fn native_sim_says_why_it_cannot_be_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(["run", "--on", "zephyr:native_sim"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("stands still while code runs"), "{said}");
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
        for (board, settings) in [
            (&AN385, &[][..]),
            (&AN385, &[USERSPACE]),
            (&RISCV32, &EVERYTHING),
        ] {
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
    let kernel = explain(&image(&AN385, &EVERYTHING), few);
    let user = explain(&image(&AN385, &[USERSPACE]), some);
    assert!(kernel + user >= 60, "{kernel} and {user} cases");
}

const SABOTAGES: [Sabotage; 7] = [
    Sabotage {
        name: "freertos/frozen",
        settings: &EVERYTHING,
        matters: |_, _| true,
        proofs: &["clock", "order"],
    },
    Sabotage {
        name: "zephyr/unprioritised",
        settings: &EVERYTHING,
        matters: waits,
        proofs: &["priority", "order", "switches"],
    },
    Sabotage {
        name: "zephyr/unprioritised",
        settings: &EVERYTHING,
        matters: |case, _| makes_a_thread(case),
        proofs: &["order", "switches", "priority"],
    },
    // Waiting for a condition variable without a timeout waits for the next tick, which is off.
    Sabotage {
        name: "zephyr/unblocked",
        settings: &EVERYTHING,
        matters: |case, entries| waits(case, entries) && !case.starts_with("condvar"),
        proofs: &[],
    },
    Sabotage {
        name: "zephyr/lost",
        settings: &EVERYTHING,
        matters: relies,
        proofs: &[],
    },
    Sabotage {
        name: "zephyr/lost",
        settings: &[USERSPACE],
        matters: |case, entries| {
            let some = ["semaphore", "thread", "message_queue", "stream"];
            switches(case, entries) && some.iter().any(|prefix| case.starts_with(prefix))
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
