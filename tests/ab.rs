// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark ab` and `kernmark noise` from the command line: with scripted agents, with this Linux,
//! and with FreeRTOS if its tools are installed.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/runs.rs"]
mod runs;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::skipped;
use kernmark::machine::Machine;
use kernmark::stream::record;
use runs::{records, saved_runs};
use rustix::process::{kill_process, Pid, Signal};
use seen::Seen;
use serde_json::Value;
use tool::tool_in;

/// Longer than any step takes on the slowest machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// More sessions than any test makes.
const SESSIONS: u64 = 80;

/// The stream of a complete session that measures one metric, in time or in instructions.
fn session(unit: &str, ticks: u64) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut push = |kind: &str, words: &str| {
        let pairs: Vec<_> = words.split(' ').filter_map(|w| w.split_once('=')).collect();
        lines.extend(record::write(lines.len() as u64, kind, &pairs, None));
    };
    let hz = if unit == "cycles" { 1_000_000_000 } else { 0 };
    push(
        "hello",
        &format!("port=fake arch=none mode=run clock=c unit={unit} hz={hz} realtime=no"),
    );
    push("bench", "metric=a.b case=a.b from=0 to=1 switches=0");
    push("begin", "case=a.b asked=5");
    push("plan", "case=a.b samples=5 batch=1");
    lines.extend(record::write_hist(4, "a.b", 0, &[(ticks, 5)]));
    for (seq, kind, words) in [
        (5, "proof", "case=a.b name=order counted=0 low=0 high=0"),
        (6, "end", "case=a.b status=ok samples=5"),
        (7, "bye", "records=7"),
    ] {
        let pairs: Vec<_> = words.split(' ').filter_map(|w| w.split_once('=')).collect();
        lines.extend(record::write(seq, kind, &pairs, None));
    }
    lines.join("\n") + "\n"
}

/// A folder for the tool, with scripted agents that share a count of their sessions.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    /// In session n, `agent NAME` prints a session whose samples are all `ticks(NAME, n)`. NAME is
    /// `base`, `new` or `instructions`.
    fn new(ticks: impl Fn(&str, u64) -> u64) -> Bed {
        let bed = Bed {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["base", "new", "instructions"] {
            let unit = if name == "instructions" {
                name
            } else {
                "cycles"
            };
            for number in 0..SESSIONS {
                let text = session(unit, ticks(name, number));
                fs::write(bed.path(&format!("{name}.{number}")), text).unwrap();
            }
        }
        let count = "n=$(cat count); echo $((n + 1)) > count; echo $1 >> order;";
        let stop = "if [ -e stop.$n ]; then sh stop.$n; fi;";
        fs::write(bed.path("count"), "0\n").unwrap();
        fs::write(bed.path("agent"), format!("{count} {stop} cat $1.$n\n")).unwrap();
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = tool_in(self.folder.path(), arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.command(arguments).output().unwrap())
    }

    /// Runs `ab` with these agents.
    fn ab(&self, base: &str, new: &str, more: &[&str]) -> Seen {
        let side = |name: &str| format!("exec:sh agent {name}");
        let (base, new) = (side(base), side(new));
        self.run(&[&["ab", &base, &new, "--seed", "1"], more].concat())
    }

    /// The saved runs whose names contain `part`.
    fn saved(&self, part: &str) -> Vec<PathBuf> {
        let mut paths = saved_runs(&self.path("data/kernmark/runs"));
        paths.retain(|path| path.to_str().unwrap().contains(part));
        paths
    }

    /// The saved run of a side, which must be the only one.
    fn only(&self, side: &str) -> String {
        let saved = self.saved(&format!("-{side}-"));
        assert_eq!(saved.len(), 1, "{saved:?}");
        saved[0].to_str().unwrap().to_owned()
    }

    /// The saved run of a side that is not this one.
    fn other(&self, side: &str, than: &str) -> String {
        let mut saved = self.saved(&format!("-{side}-"));
        saved.retain(|path| path.to_str() != Some(than));
        assert_eq!(saved.len(), 1, "{saved:?}");
        saved[0].to_str().unwrap().to_owned()
    }

    fn compare(&self, base: &str, new: &str, more: &[&str]) -> Seen {
        self.run(&[&["compare", base, new], more].concat())
    }
}

/// The machine becomes 1 % slower with every session, and `new` costs 5 % more.
fn drifting(name: &str, session: u64) -> u64 {
    let level = 100_000.0 * 1.01f64.powi(session as i32);
    (level * if name == "new" { 1.05 } else { 1.0 }) as u64
}

/// The same level in every session, with less than 0.3 % of noise.
fn steady(_: &str, session: u64) -> u64 {
    100_000 + session * 7919 % 300
}

fn metrics(json: &str) -> Value {
    let mut document: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"));
    document["metrics"].take()
}

/// The lines of a saved run that `keep` accepts.
fn filtered(path: &str, keep: impl Fn(usize, &str) -> bool) -> String {
    let text = records(Path::new(path));
    let lines = text
        .lines()
        .enumerate()
        .filter(|(at, line)| keep(*at, line));
    lines.map(|(_, line)| line.to_owned() + "\n").collect()
}

#[test]
fn drift_does_not_hide_a_change() {
    let bed = Bed::new(drifting);
    let gate = ["--runs", "16", "--fail-on", "regression"];
    let seen = bed.ab("base", "new", &gate);
    seen.expect(3, "16 against 16 replicates", "saved: ");
    seen.expect(3, "interleaved in 8 blocks", "");
    seen.expect(3, "1 regressed, 0 improved", "");
    let order = fs::read_to_string(bed.path("order")).unwrap();
    let sides: Vec<&str> = order.lines().collect();
    let is_even = |block: &[&str]| block.iter().filter(|side| **side == block[0]).count() == 2;
    assert!(sides.chunks(4).all(is_even), "{order}");
    assert!(
        sides.windows(2).any(|pair| pair[0] == pair[1]),
        "the order within a block is random: {order}"
    );
    // Comparing the saved runs gives the same result.
    let (base, new) = (bed.only("base"), bed.only("new"));
    let again = bed.compare(&base, &new, &gate[2..]);
    again.expect(3, "interleaved in 8 blocks", "");
    assert_eq!(again.out, seen.out);
    // Without the blocks, the drift hides the change.
    for side in ["base", "new"] {
        let without = filtered(&bed.only(side), |_, line| !line.contains("name=block"));
        fs::write(bed.path(&format!("{side}.km")), without).unwrap();
    }
    let blind = bed.compare("base.km", "new.km", &["--across"]);
    blind.expect(0, "1 inconclusive", "");
    assert!(!blind.out.contains("interleaved"), "{blind:?}");
}

#[test]
fn lost_session_does_not_shift_the_blocks() {
    let bed = Bed::new(drifting);
    bed.ab("base", "new", &["--runs", "16"])
        .expect(0, "1 regressed", "");
    let (base, new) = (bed.only("base"), bed.only("new"));
    let start = |path: &str| {
        let text = records(Path::new(path));
        text.lines()
            .position(|line| line.contains(" hello "))
            .unwrap()
    };
    // Remove the first session of the base, which has eight records, and the block before it.
    let first = start(&base);
    let less = filtered(&base, |at, _| !(first - 1..first + 8).contains(&at));
    fs::write(bed.path("less.km"), less).unwrap();
    let seen = bed.compare("less.km", &new, &[]);
    seen.expect(0, "15 against 16 replicates", "");
    seen.expect(0, "interleaved in 8 blocks", "");
    seen.expect(0, "1 regressed", "");
    // In a damaged stream, the block of a session is not certain.
    let torn = filtered(&base, |at, _| at != first + 3);
    fs::write(bed.path("torn.km"), torn).unwrap();
    let seen = bed.compare("torn.km", &new, &[]);
    seen.expect(1, "1 inconclusive", "");
    assert!(!seen.out.contains("interleaved"), "{seen:?}");
}

#[test]
fn runs_of_different_measurements_are_not_interleaved() {
    let bed = Bed::new(steady);
    bed.ab("base", "new", &["--runs", "16"])
        .expect(0, "interleaved in 8 blocks", "");
    let base = bed.only("base");
    let new = bed.only("new");
    let seen = bed.ab("base", "new", &["--runs", "16", "--seed", "2"]);
    // `ab` has passed --seed already, and it must not be given twice.
    seen.expect(2, "", "seed");
    let side = "exec:sh agent base";
    bed.run(&["ab", side, side, "--runs", "16", "--seed", "2"])
        .expect(0, "", "");
    let other = bed.other("new", &new);
    let seen = bed.compare(&base, &other, &[]);
    seen.expect(0, "16 against 16 replicates", "");
    assert!(!seen.out.contains("interleaved"), "{seen:?}");
    // With both pairs complete, they are.
    let more = ["--base", &bed.other("base", &base), "--new", &new];
    let seen = bed.compare(&base, &other, &more);
    seen.expect(0, "32 against 32 replicates", "");
    seen.expect(0, "interleaved in 16 blocks", "");
}

#[test]
fn unchanged_target_is_equivalent() {
    let bed = Bed::new(steady);
    let seen = bed.ab(
        "base",
        "base",
        &["--fail-on", "regression,inconclusive", "--format", "json"],
    );
    seen.expect(0, "\"verdict\":\"equivalent\"", "");
    let document: Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(document["blocks"], 5, "{}", seen.out);
    assert_eq!(metrics(&seen.out).as_array().unwrap().len(), 1);
}

#[test]
fn interrupt_saves_both_sides() {
    let bed = Bed::new(steady);
    fs::write(bed.path("stop.9"), "touch stopped; sleep 60\n").unwrap();
    let command = [
        "ab",
        "exec:sh agent base",
        "exec:sh agent new",
        "--seed",
        "1",
    ];
    let child = bed.command(&command).spawn().unwrap();
    let start = Instant::now();
    while !bed.path("stopped").exists() {
        assert!(
            start.elapsed() < TIMEOUT,
            "the agent did not reach the session"
        );
        sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let seen = Seen::from(child.wait_with_output().unwrap());
    seen.expect(130, "against", "saved: ");
    for side in ["base", "new"] {
        bed.run(&["show", &bed.only(side)])
            .expect(0, "5 samples per metric in each", "");
    }
}

#[test]
fn failing_agent_ends_and_saves_both_sides() {
    let bed = Bed::new(steady);
    fs::write(bed.path("stop.9"), "kill -9 $PPID\n").unwrap();
    let seen = bed.ab("base", "new", &[]);
    seen.expect(1, "interleaved in ", "the agent exited with status 137");
    let (base, new) = (bed.only("base"), bed.only("new"));
    bed.compare(&base, &new, &[])
        .expect(0, "interleaved in ", "");
    // If only one side has results, it is saved and there is no comparison.
    let bed = Bed::new(steady);
    let seen = bed.run(&["ab", "exec:sh agent base", "exec:exit 3", "--runs", "2"]);
    seen.expect(1, "", "nothing was measured");
    assert!(bed.saved("-new-").is_empty(), "{seen:?}");
}

#[test]
fn instructions_and_time_are_incomparable() {
    let bed = Bed::new(steady);
    let gate = ["--runs", "2", "--fail-on", "regression"];
    let seen = bed.ab("base", "instructions", &gate);
    seen.expect(5, "instructions are never compared with time", "saved: ");
}

#[test]
fn invalid_arguments_are_rejected_before_measuring() {
    let bed = Bed::new(steady);
    for (arguments, why) in [
        (&["linux"][..], "<B>"),
        (&["linux", "no such thing"], "is not a target"),
        (
            &["linux", "file:a.km"],
            "use kernmark compare for saved runs",
        ),
        (
            &["--on", "linux", "default", "O3"],
            "has no variants other than",
        ),
        (&["linux", "linux", "no.such.metric"], "no.such.metric"),
        (&["linux", "freertos"], "which cannot be compared"),
        (&["exec:true", "exec:true", "--quick"], "takes no orders"),
        (&["linux", "exec:true", "--cpu", "0"], "--cpu"),
        (&["linux", "linux", "-o", "-"], "-o needs a name"),
    ] {
        let seen = bed.run(&[&["ab"], arguments].concat());
        seen.expect(2, "", why);
        assert!(bed.saved("").is_empty(), "{arguments:?}");
    }
}

#[test]
fn output_option_names_both_runs() {
    let bed = Bed::new(steady);
    let so = ["--runs", "2", "-o", "pair"];
    bed.ab("base", "new", &so)
        .expect(0, "", "saved: pair-new.km");
    bed.compare("pair-base.km", "pair-new.km", &[])
        .expect(0, "2 against 2 replicates", "");
    assert!(bed.saved("").is_empty());
    let before = fs::read(bed.path("pair-new.km")).unwrap();
    fs::remove_file(bed.path("pair-base.km")).unwrap();
    // Rejected before anything is measured.
    let count = fs::read(bed.path("count")).unwrap();
    bed.ab("base", "new", &so).expect(2, "", "pair-new.km");
    assert_eq!(fs::read(bed.path("count")).unwrap(), count);
    assert_eq!(fs::read(bed.path("pair-new.km")).unwrap(), before);
    assert!(!bed.path("pair-base.km").exists() && !bed.path("pair-base.km.part").exists());
}

#[test]
fn this_linux_is_compared_with_itself() {
    let bed = Bed::new(steady);
    let few = ["--runs", "2", "--samples", "20", "--time-budget", "4"];
    let machine = Machine::read(Path::new("/"));
    let first = machine.allowed[0].to_string();
    // The second one is a choice of its own, if there is one.
    let both = machine
        .allowed
        .get(1)
        .map(|other| format!("{first},{other}"));
    let so = [
        "--no-realtime",
        "--wait",
        "100",
        "--cpu",
        both.as_ref().unwrap_or(&first),
    ];
    let what = ["ab", "linux", "linux", "clock.read", "syscall"];
    let seen = bed.run(&[&what, &few[..], &so[..]].concat());
    seen.expect(0, "syscall.null", "saved: ");
    seen.expect(0, "2 against 2 replicates", "");
    seen.expect(0, "interleaved in", "");
    let text = records(Path::new(&bed.only("base")));
    assert!(text.contains("name=interleaved | as base with linux *"));
    assert!(
        text.contains("name=time_budget | 2 s *"),
        "half of the budget"
    );
    assert!(text.contains(" realtime=no ") && text.contains(&format!("name=cpu | {first} *")));
    if let Some((_, other)) = both.as_ref().and_then(|both| both.split_once(',')) {
        assert!(text.contains(&format!("name=other_cpu | {other} *")));
    }
    let (base, new) = (bed.only("base"), bed.only("new"));
    let filters = ["clock.read", "syscall"];
    assert_eq!(bed.compare(&base, &new, &filters).out, seen.out);
}

#[test]
fn variants_of_an_exact_target_are_compared_exactly() {
    let path = env::var_os("PATH").unwrap();
    for program in ["arm-none-eabi-gcc", "qemu-system-arm"] {
        if !env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
            skipped(
                "kernmark ab --on freertos",
                &format!("there is no {program}"),
            );
            return;
        }
    }
    let bed = Bed::new(steady);
    let few = ["--quick", "semaphore.take", "--format", "json"];
    let seen = bed.run(&[&["ab", "--on", "freertos:m4", "default", "O3"], &few[..]].concat());
    seen.expect(0, "\"exact\":true", "saved: ");
    seen.expect(0, "\"across\": true", "");
    let all = metrics(&seen.out);
    assert!(!all.as_array().unwrap().is_empty());
    for metric in all.as_array().unwrap() {
        assert_eq!(metric["base"]["replicates"], 2, "{metric}");
        assert_ne!(metric["verdict"], "incomparable", "{metric}");
    }
    let again = bed.compare(&bed.only("base"), &bed.only("new"), &few[2..]);
    assert_eq!(metrics(&again.out), all);
}

/// Every six sessions, which are one run, have another level: 100,000, then 104,000, then 102,000.
fn noisy(_: &str, session: u64) -> u64 {
    [100_000, 104_000, 102_000][session as usize / 6 % 3] + session % 6
}

/// The file with the noise floors.
fn floors(bed: &Bed) -> PathBuf {
    let mut entries = fs::read_dir(bed.path("data/kernmark/noise")).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    path
}

#[test]
fn measured_noise_becomes_the_smallest_margin() {
    let bed = Bed::new(noisy);
    let on = ["--on", "exec:sh agent base", "--runs", "6"];
    let seen = bed.run(&[&["noise", "--rounds", "3"], &on[..]].concat());
    seen.expect(0, "3 runs of 1 metric", "run 3 of 3");
    seen.expect(0, "1 false alarm in 1 comparison of unchanged runs", "");
    seen.expect(0, "  a.b p50    4.00 %\n", "");
    let runs = bed.saved("-exec-");
    assert_eq!(runs.len(), 3, "each round saves a run");
    let path = |at: usize| runs[at].to_str().unwrap();
    // The files of one second are sorted by their hashes, so we do not know which pairs differ.
    let pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let gate = ["--fail-on", "regression", "--all"];
    for (base, new) in pairs {
        let seen = bed.compare(path(base), path(new), &gate);
        seen.expect(0, ", wider for 1 metric", "");
        seen.expect(
            0,
            "1 wider margin: the noise floor is above the margin:",
            "",
        );
        seen.expect(0, "a.b (p50 4 %)", "");
    }
    let json = bed.compare(path(0), path(1), &["--format", "json"]);
    let margin = metrics(&json.out)[0]["margin"].as_f64().unwrap();
    assert!((margin - 0.04).abs() < 1e-3, "{margin}");
    assert!(json
        .out
        .contains(floors(&bed).file_name().unwrap().to_str().unwrap()));
    let page = bed.compare(path(0), path(1), &["--format", "md"]);
    page.expect(0, "**1 wider margin**", "");
    let seen = bed.compare(path(0), path(1), &["--no-floors"]);
    assert!(!seen.out.contains("wider"), "{seen:?}");
    // The floors have no effect if the requested margin is wider, or if they are from another
    // machine or another target.
    bed.compare(path(0), path(1), &["--margin", "9"])
        .expect(0, "margins p50 9 %", "");
    let text = fs::read_to_string(floors(&bed)).unwrap();
    let elsewhere = text.replace(
        "\"port\": [\n      \"fake\"",
        "\"port\": [\n      \"other\"",
    );
    assert_ne!(elsewhere, text);
    for (text, message) in [
        (elsewhere, ""),
        (text.replace("exec:sh agent base", "exec:sh agent new"), ""),
        (text.replace("\"schema\": 2", "\"schema\": 3"), "version 3"),
        ("{".to_owned(), "cannot use the noise floors in"),
    ] {
        fs::write(floors(&bed), &text).unwrap();
        let statuses = pairs.map(|(base, new)| {
            let seen = bed.compare(path(base), path(new), &gate);
            assert!(!seen.out.contains("wider"), "{seen:?}");
            assert!(seen.err.contains(message), "{seen:?}");
            seen.status
        });
        assert!(statuses.contains(&Some(3)), "{text}");
    }
}

#[test]
fn noise_keeps_the_floors_of_other_metrics() {
    let bed = Bed::new(noisy);
    let noise = [
        "noise",
        "--rounds",
        "2",
        "--on",
        "exec:sh agent base",
        "--runs",
        "6",
    ];
    bed.run(&noise).expect(0, "", "");
    let text = fs::read_to_string(floors(&bed)).unwrap();
    fs::write(
        floors(&bed),
        text.replace("\"a.b\":", "\"gone\": { \"p50\": 0.5 },\n    \"a.b\":"),
    )
    .unwrap();
    bed.run(&noise).expect(0, "", "");
    let text = fs::read_to_string(floors(&bed)).unwrap();
    assert!(
        text.contains("\"p50\": 0.5") && text.contains("\"a.b\""),
        "{text}"
    );
}

#[test]
fn interrupted_noise_saves_its_runs_but_no_floors() {
    let bed = Bed::new(noisy);
    fs::write(bed.path("stop.9"), "kill -INT $TOOL; sleep 60\n").unwrap();
    let tool = "TOOL=$$ exec \"$0\" noise --rounds 3 --runs 6 --on 'exec:sh agent base'";
    let mut command = bed.command(&[]);
    let program = command.get_program().to_owned();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", tool])
        .arg(program)
        .current_dir(bed.folder.path());
    shell.env_clear();
    for (name, value) in command.get_envs() {
        shell.envs(value.map(|value| (name, value)));
    }
    command = shell;
    let seen = Seen::from(command.output().unwrap());
    assert_eq!(seen.status, Some(130), "{seen:?}");
    assert_eq!(bed.saved("-exec-").len(), 2, "{seen:?}");
    assert!(!bed.path("data/kernmark/noise").exists());
}
