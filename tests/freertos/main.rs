// SPDX-License-Identifier: MIT OR Apache-2.0

//! The `FreeRTOS` port: it counts exactly and reproducibly, its variants have effects, and it
//! detects sabotage of the kernel beneath it.

#[path = "../common/mod.rs"]
mod common;
#[path = "../emulated/lab.rs"]
mod emulated;
mod lab;
#[path = "../emulated/trace.rs"]
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use common::{here, skipped, succeeds};
use emulated::{
    attempt, cases, catalog, emulator, measure, median, order, read, records, replicate, skips,
    Board, Image, Session,
};
use kernmark::stream::run::{Entry, Outcome, Run, Unit};
use lab::{able, build, folder, image, setting, AN385, AN386, M3, M4, VIRT};
use trace::{explained, follow, Fit};

/// Traces every instruction of these cases; the trace must explain every printed value.
fn trace(image: &Image, wanted: fn(&str) -> bool) {
    const SAMPLES: u32 = 5;
    let start = Instant::now();
    let catalog = catalog(image);
    let traced = follow(image, &measure(&cases(&catalog), SAMPLES, wanted));
    let measured = traced.cases(&catalog, SAMPLES as usize);
    assert!(
        measured.len() > 5,
        "{}: {} cases",
        image.name,
        measured.len()
    );
    let (mut fits, mut values) = (BTreeMap::new(), 0);
    for case in &measured {
        let fit = explained(case, &case.printed)
            .unwrap_or_else(|| panic!("{}: {} {:?}", image.name, case.id, case.printed));
        let kind = match fit {
            Fit::ButOne(_) => "all but one",
            Fit::Each => "all",
            Fit::Turns => "turns",
        };
        *fits.entry(kind).or_insert(0) += 1;
        // Any value that is off by one is detected.
        for metric in 0..case.printed.len() {
            for value in 0..=SAMPLES as usize {
                for wrong in [1, -1] {
                    let mut printed = case.printed.clone();
                    let changed = match value {
                        0 => printed[metric].cold.as_mut().unwrap(),
                        n => &mut printed[metric].hot[n - 1],
                    };
                    *changed = changed.wrapping_add_signed(wrong);
                    printed[metric].hot.sort_unstable();
                    assert_eq!(explained(case, &printed), None, "{}", case.id);
                }
                values += 1;
            }
        }
    }
    println!(
        "{}: {} cases, {values} values, {} instructions, {:?}, {:.1} s",
        image.name,
        measured.len(),
        traced.instructions,
        fits,
        start.elapsed().as_secs_f64()
    );
}

/// Excludes cases with many threads, which take long to trace.
fn few(case: &str) -> bool {
    let number = case.rsplit('.').find_map(|word| word.parse::<u32>().ok());
    case.starts_with("heap.") || number.is_none_or(|threads| threads <= 4)
}

#[test]
fn instruction_trace_explains_every_printed_value() {
    if able("the trace of every instruction", &[&M4]) {
        trace(&image(&M4, &[]), few);
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
                "isr.resume",
                "events.wait.blocking.u",
                "fifo.get.blocking",
            ])
            .any(|prefix| case.starts_with(prefix))
        };
        trace(&image(&M4, &["MPU=1"]), blocking);
    }
}

#[test]
fn instruction_trace_explains_a_coarser_clock() {
    if able("the trace of every instruction, with another clock", &[&M4]) {
        trace(&image(&AN386, &[]), |case| {
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
        let run = order(&image(board, &[&nops]), "run samples=1000").run();
        let value = |n: u64| {
            let id = format!("nops.{n}");
            let replicate = replicate(run.metrics.iter().find(|m| m.id == id).unwrap());
            assert_eq!(replicate.outcome, Outcome::Ok, "{}: {id}", board.name);
            let counts: Vec<_> = replicate.histogram.iter().collect();
            let [(ticks, 1000)] = counts[..] else {
                panic!("{}: {id}: {counts:?}", board.name);
            };
            assert_eq!(replicate.cold, Some(ticks), "{}: {id}", board.name);
            ticks.0
        };
        for n in [1, 2, 3, 10, 100, 1000] {
            assert_eq!(value(n), value(0) + n, "{}: {n}", board.name);
        }
    }
}

/// The catalog and the run of the M4's image.
fn golden() -> Vec<u8> {
    let image = image(&M4, &[]);
    let mut stream = order(&image, "list").stream;
    stream.extend(order(&image, "run samples=1000").stream);
    stream
}

/// The emulator that printed the golden file; others may count differently.
const GOLDEN_EMULATOR: &str = "QEMU emulator version 7.2.";

fn compiler(run: &Run) -> &str {
    let facts = &run.sessions[0].facts;
    &facts.iter().find(|f| f.name == "compiler").unwrap().value
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
    if !able("the golden stream", &[&M4]) {
        return;
    }
    let printed = golden();
    let file = here("tests/golden/freertos-m4.log");
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    let expected = fs::read(&file).unwrap();
    let emulator = succeeds(Command::new(M4.emulator.name).arg("--version"));
    let emulator = emulator.lines().next().unwrap();
    let (here, pinned) = (read(&printed), read(&expected));
    if compiler(&here) != compiler(&pinned) || !emulator.starts_with(GOLDEN_EMULATOR) {
        skipped(
            "FreeRTOS: the golden stream",
            &format!(
                "it was made with {} and {GOLDEN_EMULATOR}x; installed are {} and {emulator}",
                compiler(&pinned),
                compiler(&here)
            ),
        );
        assert!(golden() == printed, "two runs differ");
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
            "line {} is\n  {p}\ninstead of\n  {e}\nand {} more lines differ. If you intended every change, \
             rewrite the file: see CONTRIBUTING.md",
            line + 1,
            differing.count()
        );
    }
    assert_eq!(printed.len(), expected.len(), "one stream is longer");
}

#[test]
fn two_runs_are_identical_even_under_load() {
    if !able("two runs byte for byte", &[&M4, &VIRT]) {
        return;
    }
    for (board, settings) in [(&M4, &[][..]), (&M4, &["MPU=1"]), (&VIRT, &[])] {
        let image = image(board, settings);
        let quiet = order(&image, "run samples=100").stream;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let loaded = attempt(&image, "run samples=100").stream;
            stop.store(true, Ordering::Relaxed);
            assert!(quiet == loaded, "{}: two runs differ", image.name);
        });
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
    const SKIPS: [&str; 8] = [
        "privileged only: a user task cannot create tasks",
        "privileged only: a user task cannot delete itself",
        "privileged only: a user task cannot use the kernel's heap",
        "the heap has no room for the blocks of one sample",
        "this benchmark needs more threads than this port can run",
        "this configuration has no time slicing; use the variant timeslicing",
        "this port has no condvar",
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

const VARIANTS: [Variant; 11] = [
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
    let out = folder("changing settings");
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

/// A kernel that misbehaves.
struct Sabotage {
    name: &'static str,
    settings: &'static [&'static str],
    /// The affected cases.
    matters: fn(&str, &[&Entry]) -> bool,
    /// One of these proofs must fail if the case ends; empty: any.
    proofs: &'static [&'static str],
}

/// Whether a thread of the case waits for another one that exists all the time.
fn switches(_: &str, entries: &[&Entry]) -> bool {
    entries.iter().any(|e| e.switches > 0)
}

/// Whether the case creates a thread itself.
fn makes_a_thread(case: &str) -> bool {
    ["thread.create", "thread.exit", "thread.abort"]
        .iter()
        .any(|made| case.starts_with(made))
}

/// Whether a thread of the case waits in a call that can block.
fn waits(case: &str, entries: &[&Entry]) -> bool {
    switches(case, entries) && !case.starts_with("thread.")
}

/// Whether a thread of the case runs in user mode.
fn user(case: &str, _: &[&Entry]) -> bool {
    case.split('.')
        .any(|word| word == "user" || word.starts_with("u_to_") || word.ends_with("_to_u"))
}

const SABOTAGES: [Sabotage; 7] = [
    Sabotage {
        name: "frozen",
        settings: &[],
        matters: |_, _| true,
        proofs: &["clock", "order"],
    },
    Sabotage {
        name: "unprioritised",
        settings: &[],
        matters: waits,
        proofs: &["priority"],
    },
    // The port does not check the priority of a thread that a benchmark creates. The other proofs
    // show that it is equal to its creator's.
    Sabotage {
        name: "unprioritised",
        settings: &[],
        matters: |case, _| makes_a_thread(case),
        proofs: &["order", "switches", "priority"],
    },
    Sabotage {
        name: "unblocked",
        settings: &[],
        matters: waits,
        proofs: &[],
    },
    Sabotage {
        name: "lost",
        settings: &[],
        matters: switches,
        proofs: &[],
    },
    Sabotage {
        name: "lost",
        settings: &["MPU=1"],
        matters: |case, entries| {
            switches(case, entries) && (case.starts_with("semaphore") || case.starts_with("thread"))
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

/// How the sabotage shows in this case; `None`: not at all.
fn caught(sabotage: &Sabotage, session: &Session, entries: &[&Entry]) -> Option<String> {
    let run = session.run();
    let mut ways = BTreeSet::new();
    for entry in entries {
        let Some(metric) = run
            .metrics
            .iter()
            .find(|m| m.id == entry.metric || m.id == entry.case)
        else {
            ways.insert("nothing printed".to_owned());
            continue;
        };
        let replicate = replicate(metric);
        match &replicate.outcome {
            Outcome::Ok | Outcome::Skipped(_) => return None,
            Outcome::Incomplete(_) if session.status == Some(0) => return None,
            Outcome::Incomplete(_) => {
                ways.insert(session.status.map_or("no end", |_| "died").to_owned());
            }
            Outcome::Failed(why) => {
                let failed: Vec<_> = replicate
                    .proofs
                    .iter()
                    .filter(|p| !(p.low..=p.high).contains(&p.counted))
                    .map(|p| p.name.as_str())
                    .collect();
                let named = |name: &&str| sabotage.proofs.contains(name);
                ways.insert(match failed.iter().find(|name| named(name)) {
                    Some(name) => (*name).to_owned(),
                    None if failed.is_empty() => why.clone(),
                    None if sabotage.proofs.is_empty() => failed.join("+"),
                    None => return None,
                });
            }
        }
    }
    Some(ways.into_iter().collect::<Vec<_>>().join(", "))
}

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
        let image = image(&M4, &settings);
        let catalog = catalog(&itself);
        let all = cases(&catalog);
        let entries =
            |case: &str| -> Vec<&Entry> { catalog.iter().filter(|e| e.case == case).collect() };
        // The control: cases that are ok without sabotage.
        let sound = order(&itself, "run samples=20").run();
        let ok = |case: &str| {
            let metric = sound.metrics.iter().find(|m| m.case == case).unwrap();
            replicate(metric).outcome == Outcome::Ok
        };
        let left = Mutex::new(
            all.iter()
                .copied()
                .filter(|case| ok(case) && (sabotage.matters)(case, &entries(case)))
                .collect::<Vec<_>>(),
        );
        assert!(
            !left.lock().unwrap().is_empty(),
            "{} affects no case",
            sabotage.name
        );
        let ways = Mutex::new(BTreeMap::<String, Vec<&str>>::new());
        let found = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(case) = { left.lock().unwrap().pop() } {
                        let session = attempt(&image, &measure(&all, 20, |c| c == case));
                        match caught(sabotage, &session, &entries(case)) {
                            Some(way) => ways.lock().unwrap().entry(way).or_default().push(case),
                            None => found
                                .lock()
                                .unwrap()
                                .push(format!("{}: {case}", image.name)),
                        }
                    }
                });
            }
        });
        for (way, cases) in ways.into_inner().unwrap() {
            println!(
                "{} {:?}: {} by {way}",
                sabotage.name,
                sabotage.settings,
                cases.len()
            );
        }
        missed.extend(found.into_inner().unwrap());
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}
