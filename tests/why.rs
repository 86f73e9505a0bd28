// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark why` and `run --why` on FreeRTOS: where the instructions go, and that the sums are the
//! values that the clock gave.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/freertos.rs"]
mod freertos;
// Other test programs need the rest of it.
#[allow(dead_code)]
#[path = "common/machine.rs"]
mod machine;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/strict.rs"]
mod strict;
#[path = "common/tool.rs"]
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{here, scratch, skipped, succeeds};
use freertos::lacks_freertos;
use kernmark::stream::run::{Outcome, Run};
use kernmark::stream::session;
use seen::Seen;
use tool::tool_in;

const TAKE: &str = "semaphore.take.blocking.k_to_k";

/// The compiler and the emulator that the golden files were made with.
const GOLDEN: [(&str, &str); 2] = [
    ("arm-none-eabi-gcc", "12.2.1 20221205"),
    ("qemu-system-arm", "QEMU emulator version 7.2."),
];

/// The folder of the tool's files. All tests share the images that it builds.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| scratch("why"))
}

fn run(arguments: &[&str]) -> Seen {
    Seen::from(tool_in(folder(), arguments).output().unwrap())
}

/// Whether Linux cannot be booted in an emulator here. If so, reports `what` as skipped. The tool
/// then finds the kernel that the tests share.
fn lacks_linux(what: &str) -> bool {
    let agent = &["AGENT=user"];
    if let Err(why) = machine::machine("linux-vm-user", agent) {
        skipped(what, &why);
        return true;
    }
    let kernels = folder().join("cache/kernmark/kernels");
    fs::create_dir_all(kernels.parent().unwrap()).unwrap();
    match symlink(scratch("kernels"), &kernels) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{error}"),
        _ => false,
    }
}

/// Measures with paths; returns the run and what the tool said.
fn measured(name: &str, arguments: &[&str]) -> (Run, Seen) {
    let path = folder().join(name);
    let _ = fs::remove_file(&path);
    let output = ["-o", path.to_str().unwrap()];
    let seen = run(&[&["run", "--why"], arguments, &output].concat());
    let run = session::read(&fs::read(&path).unwrap_or_default());
    (run, seen)
}

/// The functions and their own instructions in a report.
fn functions(report: &str) -> BTreeMap<String, u64> {
    let lines = report
        .lines()
        .skip_while(|line| !line.ends_with("callees  function"));
    let rows = lines
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let number = |text: &str| text.replace(',', "").parse().unwrap();
    rows.take_while(|row| row.len() == 3)
        .map(|row| (row[2].to_owned(), number(row[0])))
        .collect()
}

#[test]
fn paths_prove_every_printed_value() {
    if lacks_freertos("kernmark run --why") {
        return;
    }
    for target in [
        "m4",
        "m4,variant=userspace",
        "m4,variant=timers+queuesets",
        "virt",
    ] {
        let compiler = "riscv64-unknown-elf-gcc";
        if target == "virt" && Command::new(compiler).arg("--version").output().is_err() {
            skipped(
                "kernmark run --why on RISC-V",
                &format!("there is no {compiler}"),
            );
            continue;
        }
        let on = format!("freertos:{target}");
        let arguments = ["--on", &on, "--samples", "20", "--runs", "1", "--counts"];
        let (run, seen) = measured("all.km", &arguments);
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let proved = all_proved(&run, target, 9);
        assert!(proved > 140, "{target}: {proved} metrics");
        let unknown = run.functions.iter().filter(|one| one.program == "unknown");
        assert_eq!(unknown.count(), 0, "{target}");
    }
}

/// Every metric that has a number has paths that prove it, with so many counts. Returns how many.
fn all_proved(run: &Run, target: &str, counts: usize) -> usize {
    let mut proved = 0;
    for metric in &run.metrics {
        let [replicate] = &metric.replicates[..] else {
            panic!("{}: {:?}", metric.id, metric.replicates);
        };
        if replicate.outcome != Outcome::Ok {
            continue;
        }
        let paths = run.paths_of(&metric.id);
        let paths = paths.unwrap_or_else(|| panic!("{target}: {} has no paths", metric.id));
        let paths = paths.paths.as_ref().unwrap();
        assert_eq!(paths.verify(&replicate.histogram), Ok(()), "{}", metric.id);
        assert!(paths.modes.iter().all(|mode| mode.counts.len() == counts));
        proved += 1;
    }
    proved
}

#[test]
fn paths_prove_the_values_of_linux() {
    if lacks_linux("kernmark run --why on Linux") {
        return;
    }
    let user = ["semaphore", "pipe", "mmu", "fault", "syscall", "signal"];
    let kernel = ["semaphore", "isr"];
    for (agent, filters, least) in [("user", &user[..], 40), ("kernel", &kernel[..], 20)] {
        let on = format!("linux-vm:tcg,agent={agent}");
        let arguments = ["--on", &on, "--samples", "5", "--runs", "1"];
        let (run, seen) = measured("linux.km", &[&arguments[..], filters].concat());
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let proved = all_proved(&run, agent, 0);
        assert!(proved >= least, "{agent}: {proved} metrics");
        let unknown = run.functions.iter().filter(|one| one.program == "unknown");
        let unknown: Vec<_> = unknown.map(|one| &one.name).collect();
        assert!(unknown.len() < 8, "{agent}: {unknown:?}");
        let names: BTreeSet<&str> = run.functions.iter().map(|one| one.name.as_str()).collect();
        assert!(names.contains("__schedule"), "{names:?}");
    }
}

#[test]
fn functions_of_a_blocking_take_on_linux_are_golden() {
    if lacks_linux("the golden functions of Linux") {
        return;
    }
    let on = ["--on", "linux-vm:tcg", "--samples", "50", "--runs", "1"];
    let (run, seen) = measured("take.km", &[&on[..], &[TAKE]].concat());
    assert_eq!(seen.status, Some(0), "{seen:#?}");
    let paths = run.paths_of(TAKE).unwrap().paths.as_ref().unwrap();
    let facts = &run.sessions[0].facts;
    let fact = |name: &str| {
        facts
            .iter()
            .find(|fact| fact.name == name)
            .unwrap()
            .value
            .clone()
    };
    let made_with = format!("{}; {}", fact("kernel"), fact("compiler"));
    let mut rows: Vec<(u64, &str)> = paths.modes[0]
        .functions
        .iter()
        .map(|(index, count)| (*count, run.functions[*index].name.as_str()))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let lines: Vec<String> = rows
        .iter()
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let printed = format!("{made_with}\n{}\n", lines.join("\n"));
    let file = here("tests/golden/why/linux");
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap();
    if expected.lines().next() != Some(&made_with) {
        let other = expected.lines().next().unwrap_or_default();
        skipped(
            "the golden functions of Linux",
            &format!("made with {other}; here is {made_with}"),
        );
        return;
    }
    assert_eq!(printed, expected, "see CONTRIBUTING.md to rewrite it");
}

#[test]
fn report_is_golden() {
    if lacks_freertos("the report of kernmark why") {
        return;
    }
    for (program, version) in GOLDEN {
        let said = succeeds(Command::new(program).arg("--version"));
        let first = said.lines().next().unwrap_or_default();
        if !first.contains(version) {
            skipped(
                "the golden reports of kernmark why",
                &format!("they were made with {program} {version}; here is {first}"),
            );
            return;
        }
    }
    let take = ["why", TAKE, "--samples", "5"];
    let canaries = [
        "--on",
        "freertos:m4,variant=canaries",
        "--against",
        "freertos:m4",
    ];
    for (name, more) in [
        ("report", &["--counts", "--cache", "4096,2,64"][..]),
        ("tree", &["--tree"]),
        ("insn", &["--insn"]),
        ("difference", &canaries),
        ("callgrind", &["--format", "callgrind"]),
        ("folded", &["--format", "folded"]),
        (
            "difference.folded",
            &[&canaries[..], &["--format", "folded"]].concat(),
        ),
    ] {
        let seen = run(&[&take, more].concat());
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let file = here("tests/golden/why").join(name);
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            fs::write(&file, &seen.out).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap();
        assert_eq!(
            seen.out, expected,
            "{name}: see CONTRIBUTING.md to rewrite it"
        );
    }
}

#[test]
fn pages_are_strict_html() {
    if lacks_freertos("kernmark why --format html") {
        return;
    }
    let take = ["why", TAKE, "--samples", "5", "--format", "html"];
    let against = [
        "--on",
        "freertos:m4,variant=canaries",
        "--against",
        "freertos:m4",
    ];
    for (more, texts) in [
        (
            &["--counts"][..],
            ["xQueueSemaphoreTake", "entry, until the switch", "loads"],
        ),
        (
            &against,
            ["vTaskSwitchContext", "functions differ", "as many"],
        ),
    ] {
        let seen = run(&[&take, more].concat());
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let page = strict::parsed(&seen.out).text;
        for text in texts {
            assert!(page.contains(text), "{text} is not in {page}");
        }
    }
}

#[test]
fn a_saved_run_is_repeated_or_refused() {
    if lacks_freertos("kernmark why METRIC FILE") {
        return;
    }
    let (_, seen) = measured(
        "saved.km",
        &["--on", "freertos:m4", "--samples", "7", "semaphore"],
    );
    assert_eq!(seen.status, Some(0), "{seen:#?}");
    let file = folder().join("saved.km");
    let file = file.to_str().unwrap();
    let again = run(&["why", TAKE, file]);
    again.expect(0, &format!("measured as in {file}"), "");
    let alone = run(&["why", TAKE, "--samples", "7"]);
    assert_eq!(functions(&again.out), functions(&alone.out));
    assert!(functions(&again.out).len() > 10, "{}", again.out);
    // Another value in the file: what is executed today does not explain it.
    let text = fs::read_to_string(file).unwrap();
    let value: u64 = functions(&again.out).values().sum();
    let other = folder().join("other.km");
    let lines = text
        .lines()
        .filter(|line| !line.contains(" path ") && !line.contains(" function "));
    let lines = lines.map(|line| {
        let is_take = line.contains(&format!(" hist metric={TAKE} "));
        let line = line.replace(&format!(" {value}:7"), &format!(" {}:7", value + 1));
        if is_take {
            sealed(&line)
        } else {
            line
        }
    });
    fs::write(&other, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    run(&["why", TAKE, other.to_str().unwrap()]).expect(1, "", "another distribution");
    run(&["why", TAKE, "/nowhere.km"]).expect(1, "", "/nowhere.km");
}

/// The record with the right checksum.
fn sealed(line: &str) -> String {
    let (body, _) = line.rsplit_once(" *").unwrap();
    format!("{body} *{:08x}", crc32fast::hash(body.as_bytes()))
}

/// A description whose program has other symbols than the image.
fn with_symbols(name: &str, image: &str, change: &[&str]) -> String {
    let program = folder().join(format!("{name}.elf"));
    succeeds(
        Command::new("arm-none-eabi-objcopy")
            .args(change)
            .arg(image)
            .arg(&program),
    );
    let description = folder().join(format!("{name}.toml"));
    fs::write(
        &description,
        format!(
            "about = \"a copy\"\nboard = \"m4\"\nimage = \"{image}\"\n[boards.m4]\nabout = \"m4\"\n\
             unit = \"instructions\"\norder = \"semihosting\"\n\
             command = [\"qemu-system-arm\", \"-M\", \"netduinoplus2\", \"-nodefaults\", \"-display\", \
             \"none\", \"-monitor\", \"none\", \"-chardev\", \"stdio,id=console\", \"-icount\", \
             \"shift=0,align=off,sleep=off\", \"-kernel\", \"{{image}}\"]\n\
             [boards.m4.trace]\nprograms = [\"{}\"]\n",
            program.display()
        ),
    )
    .unwrap();
    description.to_str().unwrap().to_owned()
}

#[test]
fn a_wrong_table_of_symbols_is_noticed_and_sums_hold() {
    if lacks_freertos("kernmark why with wrong symbols") {
        return;
    }
    let right = run(&["why", TAKE, "--samples", "5"]);
    assert_eq!(right.status, Some(0), "{right:#?}");
    assert!(!right.out.contains("symbols"), "{}", right.out);
    let builds = fs::read_dir(folder().join("cache/kernmark/build")).unwrap();
    let image = builds
        .map(|entry| entry.unwrap().path().join("kernmark.elf"))
        .find(|path| path.is_file() && path.to_string_lossy().contains("freertos-m4-default-"))
        .unwrap();
    let image = image.to_str().unwrap();
    let enter = succeeds(Command::new("arm-none-eabi-nm").arg(image));
    let enter = enter
        .lines()
        .find(|line| line.ends_with(" vPortEnterCritical"))
        .unwrap();
    let address = u64::from_str_radix(&enter[..8], 16).unwrap() & !1;
    let sections = succeeds(Command::new("arm-none-eabi-objdump").args(["-h", image]));
    let text = sections
        .lines()
        .find(|line| line.contains(" .text "))
        .unwrap();
    let start = text.split_whitespace().nth(3).unwrap();
    let start = u64::from_str_radix(start, 16).unwrap();
    let before = format!("wrong=.text:{:#x},function,global", address - start - 4);
    let cases = [
        (
            "moved",
            &["--strip-symbol=vPortEnterCritical", "--add-symbol", &before][..],
            "symbols",
        ),
        ("gone", &["--strip-symbol=vPortEnterCritical"], "unknown"),
    ];
    for (name, change, label) in cases {
        let target = with_symbols(name, image, change);
        let seen = run(&["why", TAKE, "--on", &target, "--samples", "5"]);
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let told = |line: &str| line.starts_with(label);
        assert!(seen.out.lines().any(told), "{name}: {}", seen.out);
        let sum = |report: &str| functions(report).values().sum::<u64>();
        assert_eq!(sum(&seen.out), sum(&right.out), "{name}: {}", seen.out);
    }
    let without_marks = with_symbols(
        "unmarked",
        image,
        &[
            "--remove-section=.stamps",
            "--remove-section=.cases",
            "--remove-section=.parts",
            "--remove-section=.rows",
        ],
    );
    let seen = run(&["why", TAKE, "--on", &without_marks]);
    seen.expect(1, "", "none of ");
}

#[test]
fn what_is_not_exact_is_refused_with_the_nearest_that_is() {
    run(&["why", "semaphore.take.blocking.u_to_u", "--on", "linux"]).expect(
        2,
        "",
        "linux-vm:tcg,agent=user",
    );
    run(&["run", "--why", "--on", "linux"]).expect(2, "", "linux-vm:tcg,agent=user");
    run(&["why", TAKE, "--on", "freertos:stm32f4"]).expect(2, "", "freertos:m4");
    if !lacks_freertos("kernmark why of an unknown metric") {
        run(&["why", "semaphore.take.blocking"]).expect(2, "", &format!("did you mean {TAKE}"));
    }
}
