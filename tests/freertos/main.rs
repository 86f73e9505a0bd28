// SPDX-License-Identifier: MIT OR Apache-2.0

//! The `FreeRTOS` port: it counts exactly and reproducibly, its variants have effects, and it
//! detects sabotage of the kernel beneath it.

#[path = "../emulated/checks.rs"]
mod checks;
#[path = "../common/mod.rs"]
mod common;
#[path = "../emulated/lab.rs"]
mod emulated;
mod lab;
#[path = "../emulated/lists.rs"]
mod lists;
#[path = "../emulated/sabotage.rs"]
mod sabotage;
#[path = "../emulated/trace.rs"]
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use checks::{counts_nops_exactly, prints_golden, repeats_under_load};
use common::succeeds;
use emulated::{
    attempt, cases, catalog, emulator, folder, measure, median, order, records, replicate, skips,
    Board,
};
use kernmark::stream::run::{Outcome, Run, Unit};
use kernmark::trace::source::Sources;
use lab::{able, build, image, setting, AN385, AN386, M3, M4, VIRT};
use lists::{by_log, by_plugin, takes_plugin};
use sabotage::{makes_a_thread, relies, switches, user, waits, Sabotage};
use trace::{explain, few};

/// The variants that measure more objects.
const EVERYTHING: [&str; 2] = ["TIMERS=1", "QUEUE_SETS=1"];

#[test]
fn instruction_trace_explains_every_printed_value() {
    if able("the trace of every instruction", &[&M4]) {
        explain(&image(&M4, &[]), few);
        explain(&image(&M4, &EVERYTHING), |case| {
            ["poll", "timer", "workqueue"]
                .iter()
                .any(|prefix| case.starts_with(prefix))
        });
    }
}

#[test]
fn instruction_trace_explains_user_threads() {
    if able("the trace of every instruction, with user threads", &[&M4]) {
        let blocking = |case: &str| {
            [
                "semaphore.take.blocking",
                "semaphore.give.immediate",
                "mutex.lock.contended.u",
            ]
            .iter()
            .chain(&[
                "thread.create.user",
                "isr.",
                "events.wait.blocking.u",
                "fifo.get.blocking",
                "message_queue.put.blocking.u",
                "notification.take.blocking",
                "stream.read.blocking.k",
                "tick.sleep",
            ])
            .any(|prefix| case.starts_with(prefix))
        };
        explain(&image(&M4, &["MPU=1"]), blocking);
    }
}

#[test]
fn instruction_trace_explains_a_coarser_clock() {
    if able("the trace of every instruction, with another clock", &[&M4]) {
        explain(&image(&AN386, &[]), |case| {
            [
                "semaphore",
                "isr",
                "thread.create",
                "thread.yield.cooperative",
            ]
            .iter()
            .any(|prefix| case.starts_with(prefix))
                && few(case)
        });
    }
}

#[test]
fn known_instruction_counts_are_measured_exactly() {
    if !able("known numbers of instructions", &[&M4, &VIRT]) {
        return;
    }
    let nops = setting("BENCH", "tests/known-truth/nops.c");
    for board in [&M4, &M3, &AN386, &AN385, &VIRT] {
        counts_nops_exactly(&image(board, &[&nops]));
    }
}

/// The plugin and the emulator's log list the same instructions in the same order.
#[test]
fn plugin_and_log_agree() {
    if !able("two lists of every instruction", &[&M4, &VIRT]) {
        return;
    }
    let wanted = [
        "semaphore.take.blocking.k_to_k",
        "message_queue.put.blocking.k_to_k.64",
        "thread.yield.cooperative.ctx.k_to_k",
    ];
    for board in [&M4, &AN386, &VIRT] {
        let image = image(board, &[]);
        if !takes_plugin("FreeRTOS: two lists of every instruction", &image) {
            return;
        }
        let catalog = catalog(&image);
        let order = measure(&cases(&catalog), 20, |case| wanted.contains(&case));
        let (plugin, log) = (by_plugin(&image, &order), by_log(&image, &order));
        let rows = plugin.rows();
        assert_eq!(rows.len(), wanted.len(), "{}", board.name);
        assert!(rows == log.rows(), "{}: the lists differ", board.name);
        let instructions = log.list.executed;
        assert!(instructions > 20_000, "{}: {instructions}", board.name);
    }
}

/// Each instruction of a block of known length is in the function that has the block, and none is
/// elsewhere.
#[test]
fn nops_are_found_in_their_function() {
    if !able("known numbers of instructions in functions", &[&M4, &VIRT]) {
        return;
    }
    let calls = setting("BENCH", "tests/known-truth/calls.c");
    for board in [&M4, &M3, &AN386, &AN385, &VIRT] {
        let image = image(board, &[&calls]);
        if !takes_plugin("FreeRTOS: known numbers of instructions", &image) {
            return;
        }
        let trace = by_plugin(&image, "run samples=1000").trace(&image);
        assert_eq!(trace.metrics.len(), 5, "{}", board.name);
        let mut callers = BTreeSet::new();
        for (metric, nops) in trace.metrics.iter().zip([0, 1, 10, 100, 1000]) {
            assert_eq!(metric.metric, format!("nops.{nops}"));
            let paths = trace.paths(metric.samples.as_ref().unwrap()).unwrap();
            let [mode] = &paths.modes[..] else {
                panic!("{}: nops.{nops}: {:?}", board.name, paths.modes);
            };
            assert_eq!((mode.samples, paths.others.samples), (1000, 0));
            let functions: BTreeMap<&str, u64> = mode
                .functions
                .iter()
                .map(|(function, count)| (trace.functions[*function].name.as_str(), *count))
                .collect();
            let (block, caller) = (format!("nops_{nops}"), format!("call_{nops}"));
            // The block, and the instruction that returns from it.
            assert_eq!(functions[block.as_str()], nops + 1, "{}", board.name);
            callers.insert(functions[caller.as_str()]);
            assert_eq!(functions.len(), 2, "{}: {functions:?}", board.name);
        }
        // What calls a block is the same for all.
        assert_eq!(callers.len(), 1, "{}: {callers:?}", board.name);
    }
}

/// The compiler's own tool finds the same lines.
#[test]
fn instructions_have_the_lines_that_the_compiler_says() {
    if !able("source lines", &[&M4, &VIRT]) {
        return;
    }
    for board in [&M4, &VIRT] {
        let image = image(board, &[]);
        let bytes = fs::read(&image.elf).unwrap();
        let program = kernmark::trace::image::Image::read("elf", &bytes).unwrap();
        let sized = program.symbols.iter().filter(|symbol| symbol.size > 0);
        let addresses: Vec<u64> = sized
            .flat_map(|symbol| (symbol.address..symbol.address + symbol.size).step_by(4))
            .take(5000)
            .collect();
        assert_eq!(addresses.len(), 5000);
        let start = Instant::now();
        let sources = Sources::read("elf", &bytes).unwrap().unwrap();
        let ours: Vec<String> = addresses
            .iter()
            .map(|address| sources.place(*address))
            .map(|place| place.map_or("??:0".to_owned(), |place| place.to_string()))
            .collect();
        let taken = start.elapsed();
        println!("{}: {:.3} s", board.name, taken.as_secs_f64());
        // Without optimisation; a release build takes a tenth.
        assert!(taken < Duration::from_secs(3), "{taken:?}");

        let tool = board.compiler.name.replace("gcc", "addr2line");
        let hex: Vec<String> = addresses.iter().map(|at| format!("{at:x}")).collect();
        let theirs = succeeds(Command::new(tool).arg("-e").arg(&image.elf).args(&hex));
        let mut same = 0;
        for ((ours, theirs), at) in ours.iter().zip(theirs.lines()).zip(&hex) {
            let theirs = theirs.split(" (disc").next().unwrap();
            let theirs = theirs.trim_start_matches("./").trim_start_matches("../");
            let theirs = theirs.replace(":?", ":0");
            if theirs.ends_with(ours.as_str()) || ours.ends_with(&theirs) {
                same += 1;
            } else {
                println!("{}: {at}: {ours}, {theirs}", board.name);
            }
        }
        assert!(same >= 4990, "{}: {same} of 5000", board.name);
    }
}

#[test]
fn counterparts_of_other_suites_are_measured() {
    if !able("the counterparts", &[&M4]) {
        return;
    }
    let measured: BTreeSet<String> = [&["MPU=1"][..], &["TIME_SLICING=1", "MPU=1"]]
        .iter()
        .flat_map(|settings| order(&image(&M4, settings), "run samples=5").run().metrics)
        .filter(|metric| metric.replicates.iter().all(|r| r.outcome == Outcome::Ok))
        .map(|metric| metric.id)
        .collect();
    let rows = kernmark::files::reference::counterparts().unwrap();
    let rows = rows.iter().filter(|row| row.target == "freertos");
    let missing: Vec<_> = rows
        .clone()
        .filter(|row| !measured.contains(&row.metric))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    // Every benchmark whose name is measured here has a counterpart.
    let known: BTreeSet<&str> = rows.map(|row| row.benchmark.as_str()).collect();
    assert!(known.contains("thread.create.user.from.kernel"));
    let figures: kernmark::files::reference::Reference = "reference:zephyr".parse().unwrap();
    for figure in figures.figures().unwrap() {
        let name = figure.benchmark.as_str();
        assert!(!measured.contains(name) || known.contains(name), "{name}");
    }
}

#[test]
fn prints_the_golden_stream() {
    if able("the golden stream", &[&M4]) {
        prints_golden(
            "FreeRTOS: the golden stream",
            &image(&M4, &[]),
            1000,
            "tests/golden/freertos-m4.log",
            &["compiler"],
        );
    }
}

#[test]
fn two_runs_are_identical_even_under_load() {
    if !able("two runs byte for byte", &[&M4, &VIRT]) {
        return;
    }
    for (board, settings) in [(&M4, &[][..]), (&M4, &["MPU=1"]), (&VIRT, &[])] {
        repeats_under_load(&image(board, settings));
    }
}

/// The emulator's console does not wait for its reader, so output could get lost.
#[test]
fn slow_reader_loses_nothing() {
    if !able("a slow reader", &[&M4]) {
        return;
    }
    let image = image(&M4, &["MPU=1"]);
    let whole = order(&image, "list").stream;
    assert!(whole.len() > 1 << 16, "all of it fits into a pipe");
    let mut child = emulator(&image, "list", &[])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe is full long before this ends.
    thread::sleep(Duration::from_secs(1));
    let mut slow = Vec::new();
    let mut output = child.stdout.take().unwrap();
    output.read_to_end(&mut slow).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(slow == whole, "a slow reader got different output");
}

/// The blocks with known numbers of instructions prove RISC-V's counts.
#[test]
fn risc_v_measures_the_same_cases_as_arm() {
    if !able("RISC-V", &[&M4, &VIRT]) {
        return;
    }
    let [arm, risc] = [&M4, &VIRT].map(|board: &'static Board| {
        let image = image(board, &[]);
        let session = order(&image, "run samples=1000");
        let run = session.run();
        let skipped = skips(&image, &run);
        assert_eq!(run.sessions[0].clock.unit, Unit::Instructions);
        let cases: Vec<String> = records(&session, &NUMBERS).into_keys().collect();
        (skipped, cases)
    });
    assert_eq!(arm, risc);
}

const NUMBERS: [&str; 4] = ["hist", "cold", "proof", "end"];

#[test]
fn boards_with_the_same_processor_count_the_same() {
    if !able("boards with the same processor", &[&M4]) {
        return;
    }
    for (one, other) in [(&M4, &AN386), (&M3, &AN385)] {
        let [one, other] = [one, other].map(|board: &'static Board| {
            let image = image(board, &[]);
            let session = order(&image, "run samples=1000");
            let run = session.run();
            skips(&image, &run);
            assert_eq!(run.sessions[0].clock.unit, Unit::Instructions);
            records(&session, &NUMBERS)
        });
        // The other board's counter rounds ticks, which the proof `clock` adds up.
        let plain = |all: BTreeMap<String, Vec<String>>| -> Vec<_> {
            all.into_iter()
                .map(|(case, mut said)| {
                    said.retain(|s| !s.contains("\"clock\""));
                    (case, said)
                })
                .collect()
        };
        let (one, other) = (plain(one), plain(other));
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other);
        }
    }
}

#[test]
fn case_measured_alone_equals_the_whole_suite() {
    if !able("cases alone", &[&M4]) {
        return;
    }
    for settings in [&[][..], &["MPU=1"]] {
        let image = image(&M4, settings);
        let catalog = catalog(&image);
        let all = cases(&catalog);
        let suite = records(&order(&image, "run samples=50"), &NUMBERS);
        // The first, middle and last case of each family.
        let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for case in &all {
            let family = case.split('.').next().unwrap();
            families.entry(family).or_default().push(case);
        }
        let some = families.values().flat_map(|family| {
            BTreeSet::from([0, family.len() / 2, family.len() - 1])
                .into_iter()
                .map(|i| family[i])
        });
        for case in some {
            let alone = order(&image, &measure(&all, 50, |c| c == case));
            let alone = records(&alone, &NUMBERS);
            assert_eq!(alone.keys().collect::<Vec<_>>(), [case]);
            assert_eq!(alone[case], suite[case], "{}: {case}", image.name);
        }
    }
}

#[test]
fn user_threads_cannot_touch_the_kernel() {
    if !able("user threads that access the kernel", &[&M4]) {
        return;
    }
    let trespass = setting("BENCH", "tests/sabotage/freertos/trespass.c");
    for board in [&M4, &M3] {
        let session = attempt(&image(board, &["MPU=1", &trespass]), "run samples=20");
        assert_eq!(session.status, Some(1), "{}", board.name);
        let said = session.text();
        assert!(
            said.lines().last().unwrap().starts_with("fault: "),
            "{}: {said}",
            board.name
        );
        let outcomes: Vec<_> = session
            .run()
            .metrics
            .iter()
            .map(|m| (m.id.clone(), replicate(m).outcome.clone()))
            .collect();
        // A kernel thread may do it.
        assert_eq!(outcomes[0], ("kernel.touch.kernel".to_owned(), Outcome::Ok));
        assert!(
            matches!(&outcomes[1], (id, Outcome::Incomplete(_)) if id == "kernel.touch.user"),
            "{outcomes:?}"
        );
    }
}

#[test]
fn every_mode_pairing_is_measured_or_skipped_with_a_reason() {
    const SKIPS: [&str; 17] = [
        "privileged only: a user task cannot create tasks",
        "privileged only: a user task cannot delete itself",
        "privileged only: a user task cannot lock interrupts",
        "privileged only: a user task cannot request the tick",
        "privileged only: a user task cannot use the kernel's heap",
        "the heap has no room for the blocks of one sample",
        "this benchmark needs more threads than this port can run",
        "this configuration has no queue sets; use the variant queuesets",
        "this configuration has no time slicing; use the variant timeslicing",
        "this configuration has no timer task; use the variant timers",
        "this port has no condvar",
        "this port has no condvar,condvar_timeout",
        "this port has no ipi",
        "this port has no mailbox",
        "this port has no private_heap",
        "this port has no slab",
        "this port has no stack",
    ];
    if !able("pairings of kernel and user threads", &[&M4]) {
        return;
    }
    for board in [&M4, &M3] {
        let image = image(board, &["MPU=1"]);
        let run = order(&image, "run samples=100").run();
        let reasons = skips(&image, &run);
        assert_eq!(
            reasons.keys().collect::<Vec<_>>(),
            SKIPS.iter().collect::<Vec<_>>()
        );

        let catalog = catalog(&image);
        let ids: BTreeSet<&str> = catalog.iter().map(|e| e.metric.as_str()).collect();
        let mut compared = 0;
        for id in &ids {
            let words: Vec<_> = id.split('.').collect();
            let Some(at) = words.iter().position(|w| *w == "k_to_k") else {
                continue;
            };
            let with = |pass| {
                let mut words = words.clone();
                words[at] = pass;
                let id = words.join(".");
                // If one role has all threads, they have the same mode.
                let one_role =
                    id.starts_with("thread.yield.runnable") && ["u_to_k", "k_to_u"].contains(&pass);
                assert!(ids.contains(id.as_str()) != one_role, "{id}");
                let metric = run.metrics.iter().find(|m| m.id == id)?;
                replicate(metric).histogram.median()
            };
            let [kernel, from_user, to_user, both] =
                ["k_to_k", "u_to_k", "k_to_u", "u_to_u"].map(with);
            // A user thread pays more for a kernel call. Interrupts are not called, and threads of
            // both modes yield with the same instruction.
            let called = !["isr.", "thread."].iter().any(|o| id.starts_with(o));
            for dearer in [from_user, to_user, both] {
                if let (Some(kernel), Some(dearer)) = (kernel, dearer) {
                    assert!(
                        dearer > kernel || !called && dearer >= kernel,
                        "{}: {id}: {dearer} and {kernel}",
                        board.name
                    );
                    compared += 1;
                }
            }
        }
        assert!(compared > 40, "compared only {compared} pairings");
    }
}

/// A variant: its settings, and the words that its flags or configuration must contain.
struct Variant(&'static [&'static str], &'static [&'static str]);

const VARIANTS: [Variant; 13] = [
    Variant(&["CANARIES=all"], &["-fstack-protector-all"]),
    Variant(&["CANARIES=strong"], &["-fstack-protector-strong"]),
    Variant(
        &["OBJCORE=1"],
        &[
            "configUSE_TRACE_FACILITY=1",
            "configGENERATE_RUN_TIME_STATS=1",
        ],
    ),
    Variant(&["TIME_SLICING=1"], &["configUSE_TIME_SLICING=1"]),
    Variant(&["OVERFLOW_CHECK=1"], &["configCHECK_FOR_STACK_OVERFLOW=2"]),
    Variant(&["ASSERTS=1"], &["configASSERT_DEFINED=1"]),
    Variant(&["TIMERS=1"], &["configUSE_TIMERS=1"]),
    Variant(&["QUEUE_SETS=1"], &["configUSE_QUEUE_SETS=1"]),
    Variant(&["OPT=-Os"], &["-Os"]),
    Variant(&["OPT=-O3"], &["-O3"]),
    Variant(&["MPU=1"], &["configENABLE_MPU=1"]),
    Variant(
        &["MPU=1", "CANARIES=all", "OBJCORE=1", "ASSERTS=1"],
        &[
            "configENABLE_MPU=1",
            "-fstack-protector-all",
            "configUSE_TRACE_FACILITY=1",
            "configASSERT_DEFINED=1",
        ],
    ),
    Variant(
        &[
            "TIME_SLICING=1",
            "OVERFLOW_CHECK=1",
            "CANARIES=strong",
            "OPT=-Os",
        ],
        &[
            "configUSE_TIME_SLICING=1",
            "configCHECK_FOR_STACK_OVERFLOW=2",
            "-fstack-protector-strong",
            "-Os",
        ],
    ),
];

/// The words of the flags and the configuration that an image reports.
fn made_of(run: &Run) -> BTreeSet<&str> {
    run.sessions[0]
        .facts
        .iter()
        .filter(|f| ["flags", "configuration"].contains(&f.name.as_str()))
        .flat_map(|f| f.value.split(' '))
        .collect()
}

#[test]
fn variants_work_and_report_their_settings() {
    if !able("variants", &[&M4]) {
        return;
    }
    let default = order(&image(&M4, &[]), "run samples=20").run();
    let take = |run: &Run| median(run, "semaphore.take.blocking.k_to_k");
    let sliced = "thread.yield.preemptive.ctx.k_to_k";
    for Variant(settings, says) in &VARIANTS {
        let start = Instant::now();
        let image = image(&M4, settings);
        let built = start.elapsed();
        let run = order(&image, "run samples=20").run();
        skips(&image, &run);
        println!(
            "{}: built in {:.2} s; semaphore.take.blocking {} instructions",
            image.name,
            built.as_secs_f64(),
            take(&run)
        );
        for word in *says {
            assert!(made_of(&run).contains(word), "{}: {word}", image.name);
            assert!(
                !made_of(&default).contains(word),
                "in the default too: {word}"
            );
        }
        if ["CANARIES=all", "OBJCORE=1", "OVERFLOW_CHECK=1"]
            .iter()
            .any(|costly| settings == &[*costly])
        {
            assert!(take(&run) > take(&default), "{} costs nothing", image.name);
        }
        if settings.contains(&"TIME_SLICING=1") {
            assert!(median(&run, sliced) > 0.0);
        }
    }
    let outcome = &replicate(default.metrics.iter().find(|m| m.id == sliced).unwrap()).outcome;
    assert!(matches!(outcome, Outcome::Skipped(_)), "{outcome:?}");
}

/// The modification time of each file in the folder.
fn written(folder: &Path) -> BTreeMap<std::path::PathBuf, SystemTime> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(written(&path));
        } else {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path, time);
        }
    }
    files
}

#[test]
fn images_are_rebuilt_only_when_settings_change() {
    if !able("rebuilding images", &[&M4]) {
        return;
    }
    let out = folder("freertos", "changing settings");
    let elf = || fs::read(out.join("kernmark.elf")).unwrap();
    build(&M3, &[], &out);
    let (first, times) = (elf(), written(&out));
    build(&M3, &[], &out);
    assert_eq!(written(&out), times, "a second make wrote something");
    let mut seen = vec![first.clone()];
    for settings in [&["OPT=-Os"][..], &["OBJCORE=1"], &["CANARIES=all", "MPU=1"]] {
        build(&M3, settings, &out);
        assert!(!seen.contains(&elf()), "{settings:?} changed nothing");
        seen.push(elf());
    }
    build(&M3, &[], &out);
    assert!(elf() == first, "the same settings made a different image");
}

/// The bytes of an image that are loaded.
fn loaded(board: &Board, elf: &Path) -> Vec<u8> {
    let bytes = elf.with_extension("bin");
    let objcopy = board.compiler.name.replace("gcc", "objcopy");
    succeeds(
        Command::new(objcopy)
            .args(["-O", "binary"])
            .args([elf, bytes.as_path()]),
    );
    fs::read(bytes).unwrap()
}

#[test]
fn debug_information_changes_no_loaded_byte() {
    if !able("debug information", &[&M4, &VIRT]) {
        return;
    }
    let contains =
        |bytes: &[u8], part: &str| memchr::memmem::find(bytes, part.as_bytes()).is_some();
    for (board, settings) in [(&M4, &[][..]), (&M4, &["MPU=1"]), (&VIRT, &[])] {
        let with = image(board, settings);
        let without = image(board, &[settings, &["DEBUG="]].concat());
        let [with_debug, plain] = [&with, &without].map(|image| fs::read(&image.elf).unwrap());
        let source = "bench/semaphore.c";
        assert!(contains(&with_debug, source), "{}", with.name);
        assert!(!contains(&plain, source), "{}", without.name);
        let [debugged, plain] = [&with, &without].map(|image| loaded(board, &image.elf));
        assert!(debugged.len() > 30_000, "{}", debugged.len());
        assert!(debugged == plain, "{}", with.name);
        // Nothing says where it was built.
        for path in [env!("CARGO_MANIFEST_DIR"), "/freertos-next-"] {
            assert!(!contains(&with_debug, path), "{}: {path}", with.name);
        }
    }
}

const SABOTAGES: [Sabotage; 8] = [
    Sabotage {
        name: "frozen",
        settings: &EVERYTHING,
        matters: |_, _| true,
        proofs: &["clock", "order"],
    },
    Sabotage {
        name: "unprioritised",
        settings: &EVERYTHING,
        matters: waits,
        proofs: &["priority"],
    },
    // The port does not check the priority of a thread that a benchmark creates. The other proofs
    // show that it is equal to its creator's.
    Sabotage {
        name: "unprioritised",
        settings: &EVERYTHING,
        matters: |case, _| makes_a_thread(case),
        proofs: &["order", "switches", "priority"],
    },
    Sabotage {
        name: "unblocked",
        settings: &EVERYTHING,
        matters: waits,
        proofs: &[],
    },
    Sabotage {
        name: "lost",
        settings: &EVERYTHING,
        matters: relies,
        proofs: &[],
    },
    Sabotage {
        name: "unlocked",
        settings: &[],
        matters: |case, _| case.starts_with("isr.entry.unlock"),
        proofs: &["order"],
    },
    Sabotage {
        name: "lost",
        settings: &["MPU=1"],
        matters: |case, entries| {
            let some = ["semaphore", "thread", "notification", "stream"];
            switches(case, entries) && some.iter().any(|prefix| case.starts_with(prefix))
        },
        proofs: &[],
    },
    Sabotage {
        name: "privileged",
        settings: &["MPU=1"],
        matters: user,
        proofs: &["priority"],
    },
];

#[test]
fn sabotage_is_caught_in_every_affected_case() {
    if !able("sabotage", &[&M4]) {
        return;
    }
    let mut missed = Vec::new();
    for sabotage in &SABOTAGES {
        let port = setting(
            "PORT",
            &format!("tests/sabotage/freertos/{}", sabotage.name),
        );
        let settings: Vec<_> = sabotage
            .settings
            .iter()
            .copied()
            .chain([port.as_str()])
            .collect();
        let itself = image(&M4, sabotage.settings);
        missed.extend(sabotage.missed(&itself, &image(&M4, &settings)));
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}
