// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tool from the outside: arguments, exit status, output, saved files and leftover processes.

#[path = "common/runs.rs"]
mod runs;
#[path = "common/seen.rs"]
mod seen;

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kernmark::stream::record;
use runs::{records, saved_runs};
use rustix::process::{kill_process, Pid, Signal};
use seen::Seen;

/// A timeout that even the slowest machine does not reach.
const EVER: Duration = Duration::from_secs(60);

const HELLO: &str =
    "hello port=fake arch=none mode=run clock=c unit=cycles hz=1000000000 realtime=no";

const CATALOG: [&str; 3] = [
    "hello port=fake arch=none mode=list clock=c unit=cycles hz=1000000000 realtime=no",
    "bench metric=clock.read case=clock.read from=0 to=1 switches=0 | Read the clock.",
    "bench metric=fifo.put.user case=fifo.put.user from=0 to=1 switches=0 | Put an item into a \
     queue that has room for it and that nobody waits for, and give the processor to nobody.",
];

/// The results of another tool.
const FOREIGN: &str = include_str!("captures/import/hyperfine-plain.json");

/// The records of a case that passes.
fn case(id: &str) -> Vec<String> {
    vec![
        format!("begin case={id} asked=5"),
        format!("plan case={id} samples=5 batch=1"),
        format!("hist metric={id} part=0 100:3 110:2"),
        format!("proof case={id} name=order counted=0 low=0 high=0"),
        format!("end case={id} status=ok samples=5"),
    ]
}

fn fifo() -> Vec<String> {
    case("fifo.put.user")
}

/// A stream of records with sequence numbers from 0.
fn stream(records: &[String]) -> String {
    let mut text = String::new();
    for (seq, record) in (0..).zip(records) {
        let (head, tail) = match record.split_once(" | ") {
            Some((head, tail)) => (head, Some(tail)),
            None => (record.as_str(), None),
        };
        let mut words = head.split(' ');
        let kind = words.next().unwrap();
        let words: Vec<&str> = words.collect();
        let lines = if kind == "hist" {
            let counts: Vec<(u64, u64)> = words[2..]
                .iter()
                .map(|word| word.split_once(':').unwrap())
                .map(|(ticks, count)| (ticks.parse().unwrap(), count.parse().unwrap()))
                .collect();
            record::write_hist(seq, words[0].strip_prefix("metric=").unwrap(), 0, &counts)
        } else {
            let pairs: Vec<_> = words.iter().map(|w| w.split_once('=').unwrap()).collect();
            record::write(seq, kind, &pairs, tail)
        };
        assert_eq!(lines.len(), 1, "{record}");
        text.push_str(&lines[0]);
        text.push('\n');
    }
    text
}

/// A session of these cases, from `hello` to `bye`.
fn session(cases: &[Vec<String>]) -> String {
    let mut records = vec![HELLO.to_owned()];
    records.extend(cases.concat());
    records.push(format!("bye records={}", records.len()));
    stream(&records)
}

/// A session that stops after `fifo.put.user` began.
fn unfinished() -> String {
    let mut records = vec![HELLO.to_owned()];
    records.extend(case("clock.read"));
    records.push(fifo()[0].clone());
    stream(&records)
}

/// A directory with a scripted agent, and an environment in which the tool uses nothing else.
struct Bed {
    directory: tempfile::TempDir,
}

impl Bed {
    /// `script` is what the agent does to measure `fifo.put.user`. It can use the files `whole` (a
    /// session of all cases), `unfinished`, and those in `files`.
    fn new(script: &str, files: &[(&str, &str)]) -> Bed {
        let bed = Bed {
            directory: tempfile::tempdir().unwrap(),
        };
        let mut catalog: Vec<String> = CATALOG.map(str::to_owned).to_vec();
        catalog.push(format!("bye records={}", catalog.len()));
        bed.write("catalog", &stream(&catalog));
        bed.write("whole", &session(&[case("clock.read"), fifo()]));
        bed.write("clock", &session(&[case("clock.read")]));
        bed.write("unfinished", &unfinished());
        for (name, text) in files {
            bed.write(name, text);
        }
        let agent = format!(
            "#!/bin/sh\ncd {}\necho \"$*\" >> orders\ncase \"$*\" in\n\
             list) cat catalog ;;\n*fifo.put.user*) {script} ;;\n*) cat clock ;;\nesac\n",
            bed.path("").display()
        );
        bed.write("agent", &agent);
        fs::set_permissions(bed.path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernmark"));
        command.args(arguments);
        self.furnish(&mut command);
        command
    }

    fn furnish(&self, command: &mut Command) {
        command
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("KERNMARK_AGENT", self.path("agent"))
            // Do not wait for other runs on this machine, which include those of other tests.
            .env("KERNMARK_LOCK", self.path("lock"))
            .env("KERNMARK_TEST", self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        let seen = self.run_beside(arguments);
        self.wait_for_processes();
        seen
    }

    /// Like `run`, while something else runs in this bed.
    fn run_beside(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.command(arguments).output().unwrap())
    }

    /// Measures with few replicates and a short timeout; the output is JSON.
    fn measure(&self, more: &[&str]) -> Seen {
        let mut arguments = vec!["run", "--format", "json", "--runs", "2"];
        arguments.extend(["--case-timeout", "0.5"]);
        arguments.extend(more);
        self.run(&arguments)
    }

    /// The saved runs.
    fn saved(&self) -> Vec<PathBuf> {
        saved_runs(&self.path("home/.local/share/kernmark/runs"))
    }

    /// The processes with this bed's environment.
    fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("KERNMARK_TEST={}\0", self.directory.path().display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&mark) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let number = entry.file_name().to_string_lossy().parse().ok();
                if let Some(pid) = number.and_then(Pid::from_raw) {
                    found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
                }
            }
        }
        found
    }

    fn wait_for_processes(&self) {
        until("processes are left", || self.processes().is_empty());
    }
}

/// Waits until `holds` returns true; fails with `what` if it never does.
fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < EVER, "{what}");
        sleep(Duration::from_millis(10));
    }
}

/// Expects that the saved run shows the same as the run itself.
#[track_caller]
fn expect_shown_again(bed: &Bed, seen: &Seen) {
    let saved = bed.saved();
    assert_eq!(saved.len(), 1, "{saved:?}");
    let shown = bed.run(&["show", "--format", "json"]);
    assert_eq!(shown.out, seen.out);
    let shown = bed.run(&["show", saved[0].to_str().unwrap(), "--format", "json"]);
    assert_eq!(shown.out, seen.out);
}

#[test]
fn run_is_measured_saved_and_shown_again() {
    let bed = Bed::new("cat whole", &[]);
    let seen = bed.measure(&["--seed", "7"]);
    seen.expect(0, "fifo.put.user", "saved: ");
    assert!(!seen.err.contains('\x1b'), "{}", seen.err);
    expect_shown_again(&bed, &seen);
    let orders = fs::read_to_string(bed.path("orders")).unwrap();
    let runs: Vec<&str> = orders.lines().filter(|l| l.starts_with("run ")).collect();
    assert_eq!(runs.len(), 2, "{orders}");
    assert!(runs[0].contains(" samples=500 ") && runs[0].contains(" epoch_ns=20000 "));
    assert!(runs[0].ends_with(" clock.read fifo.put.user"), "{orders}");
    let saved = records(&bed.saved()[0]);
    assert!(saved.starts_with("@km1 0 host name=tool | kernmark "));
    assert!(saved.contains("host name=seed | 7 *"));
    assert!(!saved.contains("name=host_name"));
    let (_, last) = saved
        .rsplit_once(&fs::read_to_string(bed.path("whole")).unwrap())
        .unwrap();
    assert!(last.starts_with("@km1 0 host name=during "), "{last}");
    for line in last.lines() {
        assert!(line.contains(" host name=during "), "{line}");
    }
    assert_eq!(
        saved.matches(" name=before ").count(),
        1 + cpus(&saved),
        "{saved}"
    );
    assert!(!saved.contains("name=process_"), "no names unasked");
}

/// The number of CPUs that were online when a run was saved.
fn cpus(saved: &str) -> usize {
    let (_, count) = saved.split_once("host name=cpu_count | ").unwrap();
    count.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn processes_are_named_only_on_request() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&["--processes"])
        .expect(0, "clock.read", "saved: ");
    let saved = records(&bed.saved()[0]);
    assert!(saved.contains(" host name=process_1 | "), "{saved}");
    let seen = bed.run(&["run", "--on", "file:x.km", "--processes"]);
    seen.expect(2, "", "this machine's CPUs");
}

#[test]
fn partial_run_does_not_replace_the_latest_full_run() {
    let bed = Bed::new("cat whole", &[]);
    let whole = bed.measure(&[]);
    let saved = bed.saved();
    // File names contain the time in seconds.
    sleep(Duration::from_millis(1100));
    bed.measure(&["clock"]).expect(0, "clock.read", "saved: ");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let name = name(&saved[0]);
    assert!(name.contains("Z-linux-"), "the target's name: {name}");
    let shown = bed.run(&["show", "--format", "json"]);
    shown.expect(0, &whole.out, "is newer, but measured only clock");
    bed.run(&["plan"]).expect(0, &name, "is newer");
    bed.run(&["explain", "fifo.put.user"])
        .expect(2, "", "is newer");
    for command in [&["show"][..], &["plan"], &["explain", "fifo.put.user"]] {
        bed.run(&[command, &["--on", "freertos:m4"]].concat())
            .expect(1, "", "make one with `kernmark run --on 'freertos:m4'`");
    }
}

#[test]
fn no_command_shows_help_and_measures_nothing() {
    let bed = Bed::new("cat whole", &[]);
    bed.run(&[]).expect(2, "", "Usage: kernmark");
    bed.run(&["help"]).expect(0, "Usage: kernmark", "");
    bed.run(&["help", "run"])
        .expect(0, "Usage: kernmark run", "");
    assert!(bed.saved().is_empty() && !bed.path("orders").exists());
}

#[test]
fn run_is_written_to_standard_output() {
    let bed = Bed::new("cat whole", &[]);
    let seen = bed.run(&["run", "--runs", "1", "-o", "-"]);
    assert_eq!(seen.status, Some(0));
    // Standard output has only the run; the report is on standard error.
    assert!(seen.err.contains("2 measured"), "{seen:?}");
    assert!(seen.out.starts_with("@km1 0 host name=tool"), "{seen:?}");
    assert!(!seen.out.contains("measured"), "{seen:?}");
    assert!(bed.saved().is_empty());
    bed.write("piped.km", &seen.out);
    let piped = bed.path("piped.km");
    bed.run(&["show", piped.to_str().unwrap()])
        .expect(0, "2 measured", "");
    bed.write("bench.txt", "BenchmarkA 100 5.0 ns/op\n");
    let foreign = bed.path("bench.txt");
    let imported = bed.run(&["import", foreign.to_str().unwrap(), "-o", "-"]);
    imported.expect(0, "@km1", "1 measured");
}

#[test]
fn json_option_is_short_for_the_format() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&[]).expect(0, "put", "");
    let long = bed.run(&["show", "--format", "json"]);
    assert!(long.out.starts_with('{'), "{long:?}");
    bed.run(&["show", "--json"]).expect(0, &long.out, "");
    bed.run(&["show", "--json", "--format", "csv"])
        .expect(2, "", "cannot be used with");
}

#[test]
fn bars_are_ascii_unless_the_locale_is_utf8() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&[]).expect(0, "put", "");
    let distribution = |variable: &str, locale: &str| {
        let mut command = bed.command(&["show", "--metric", "fifo.put.user"]);
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            command.env_remove(name);
        }
        let seen = Seen::from(command.env(variable, locale).output().unwrap());
        assert_eq!(seen.status, Some(0), "{seen:?}");
        seen.out
    };
    for (variable, locale) in [
        ("LANG", "C"),
        ("LC_ALL", "POSIX"),
        ("LANG", "de_DE.ISO-8859-1"),
    ] {
        let out = distribution(variable, locale);
        assert!(out.is_ascii() && out.contains('#'), "{out}");
    }
    for (variable, locale) in [("LANG", "C.UTF-8"), ("LC_CTYPE", "en_US.utf8")] {
        let out = distribution(variable, locale);
        assert!(out.contains('\u{2588}') && !out.contains('#'), "{out}");
    }
}

#[test]
fn colour_follows_the_option() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&[]).expect(0, "put", "");
    let coloured = |arguments: &[&str]| {
        let seen = bed.run(&[&["show"], arguments].concat());
        assert_eq!(seen.status, Some(0), "{seen:?}");
        seen.out.contains('\x1b')
    };
    // Standard output is a pipe here.
    assert!(!coloured(&[]));
    assert!(!coloured(&["--color", "auto"]));
    assert!(!coloured(&["--color=never"]));
    assert!(coloured(&["--color=always"]));
    bed.run(&["show", "--color", "perhaps"])
        .expect(2, "", "perhaps");
}

#[test]
fn saved_run_is_read_from_standard_input() {
    let bed = Bed::new("cat whole", &[]);
    let seen = bed.measure(&[]);
    let file = fs::File::open(&bed.saved()[0]).unwrap();
    let mut command = bed.command(&["show", "-", "--format", "json"]);
    let shown = Seen::from(command.stdin(file).output().unwrap());
    shown.expect(0, "", "");
    assert_eq!(shown.out, seen.out);
}

#[test]
fn host_name_is_recorded_only_on_request() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&["--host-name"]).expect(0, "", "");
    let saved = records(&bed.saved()[0]);
    assert!(saved.contains("host name=host_name | "));
}

#[test]
fn failed_proof_is_status_1() {
    let mut records = fifo();
    records[3] = "proof case=fifo.put.user name=order counted=2 low=0 high=0".to_owned();
    let bad = session(&[case("clock.read"), records]);
    let bed = Bed::new("cat bad", &[("bad", &bad)]);
    let seen = bed.measure(&[]);
    seen.expect(1, "order: counted 2, must be 0", "");
    expect_shown_again(&bed, &seen);
    bed.run(&["show"]).expect(1, "", "");
}

#[test]
fn skipped_case_is_status_0() {
    let skip = vec![
        "begin case=fifo.put.user asked=5".to_owned(),
        "end case=fifo.put.user status=skip samples=0 | no queue here".to_owned(),
    ];
    let text = session(&[case("clock.read"), skip]);
    let bed = Bed::new("cat skip", &[("skip", &text)]);
    bed.measure(&[]).expect(0, "no queue here", "");
    let checked = bed.run(&["run", "--check"]);
    checked.expect(0, "skipped: no queue here\n  fifo.put.user\n", "");
    checked.expect(
        0,
        "2 metrics: 1 ok, 1 skipped, 0 failed, 0 incomplete\n",
        "",
    );
    assert_eq!(bed.saved().len(), 1, "a check must not be saved");
}

/// Runs an agent that fails in `fifo.put.user`. The other cases are measured, this one is not
/// repeated, and the run and the saved run show the reason.
#[track_caller]
fn expect_breakdown(script: &str, reason: &str) {
    let bed = Bed::new(script, &[]);
    let seen = bed.measure(&[]);
    seen.expect(1, reason, &format!("fifo.put.user: {reason}"));
    expect_shown_again(&bed, &seen);
    let orders = fs::read_to_string(bed.path("orders")).unwrap();
    let tries: Vec<bool> = orders
        .lines()
        .filter(|line| line.starts_with("run "))
        .map(|line| line.contains("fifo.put.user"))
        .collect();
    assert_eq!(tries, [true, false], "{orders}");
}

#[test]
fn crash_costs_only_its_case() {
    expect_breakdown(
        "cat unfinished; echo at queue.c >&2; kill -SEGV $$",
        "signal 11 (SIGSEGV) ended the agent: at queue.c",
    );
}

#[test]
fn killed_agent_costs_only_its_case() {
    expect_breakdown(
        "cat unfinished; kill -9 $$",
        "signal 9 (SIGKILL) ended the agent",
    );
}

/// Each metric of a CSV table, with its status and its reason.
fn statuses(csv: &str) -> Vec<(String, String, String)> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows = reader.records().map(Result::unwrap);
    rows.map(|row| (row[0].to_owned(), row[1].to_owned(), row[2].to_owned()))
        .collect()
}

#[test]
fn metrics_that_the_agent_did_not_reach_are_named_with_the_reason() {
    let killed = "signal 9 (SIGKILL) ended the agent";
    for (script, reason) in [
        ("cat clock; kill -9 $$", "no record of it arrived"),
        ("head -n 6 clock; kill -9 $$", killed),
        ("cat clock", "no record of it arrived"),
    ] {
        let bed = Bed::new(script, &[]);
        let seen = bed.run(&["run", "--runs", "1", "--format", "csv"]);
        let of = |id: &str, status: &str, reason: &str| {
            (id.to_owned(), status.to_owned(), reason.to_owned())
        };
        let expected = [
            of("clock.read", "ok", ""),
            of(
                "fifo.put.user",
                "incomplete",
                &format!("not started: {reason}"),
            ),
        ];
        assert_eq!(statuses(&seen.out), expected, "{script}: {seen:#?}");
        assert_eq!(seen.status, Some(1));
        assert_eq!(bed.run(&["show", "--format", "csv"]).out, seen.out);
        let part = bed.run(&["run", "--runs", "1", "--format", "csv", "clock"]);
        assert_eq!(
            statuses(&part.out),
            expected[..1],
            "metrics outside the filter"
        );
    }
}

/// A control group with a limit of 32 MB; `None` if this process cannot create one.
fn small_group() -> Option<tempfile::TempDir> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let first = groups.lines().any(|line| line.contains(":memory:"));
    let (root, limits) = if first {
        let limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
        ("/sys/fs/cgroup/memory", limits)
    } else {
        ("/sys/fs/cgroup", ["memory.max", "memory.swap.max"])
    };
    let group = tempfile::tempdir_in(root).ok()?;
    fs::write(group.path().join(limits[0]), "33554432").ok()?;
    // Fails if the group has no swap of its own; then there is nothing to limit.
    let _ = fs::write(group.path().join(limits[1]), "33554432");
    Some(group)
}

#[test]
fn agent_killed_for_memory_is_reported() {
    let Some(group) = small_group() else {
        eprintln!("SKIPPED: no control group of memory can be made here; it needs root");
        return;
    };
    // An endless line, built by the agent's own process.
    let fill = "cat unfinished; exec tail /dev/zero";
    let script = format!("echo $$ > {}/cgroup.procs; {fill}", group.path().display());
    let bed = Bed::new(&script, &[]);
    let seen = bed.run(&["run", "--runs", "1", "--format", "csv"]);
    let folder = group.path().to_owned();
    until("the group is not empty", || fs::remove_dir(&folder).is_ok());
    let reason = format!(
        "signal 9 (SIGKILL) ended the agent: its control group ran out of memory \
         ({}, limit 33,554,432 bytes)",
        folder.display()
    );
    assert_eq!(statuses(&seen.out)[1].2, reason, "{seen:#?}");
}

#[test]
fn exit_status_costs_its_case_and_shows_the_last_output() {
    expect_breakdown(
        "cat unfinished; echo no memory >&2; exit 3",
        "the agent exited with status 3: no memory",
    );
}

#[test]
fn hanging_agent_is_killed_with_all_its_processes() {
    expect_breakdown(
        "cat unfinished; sleep 1000 & sleep 1000",
        "no sign of life for 0.5 s; killed",
    );
}

#[test]
fn children_that_keep_the_pipe_open_do_not_block_the_run() {
    let bed = Bed::new("cat whole; sleep 1000 &", &[]);
    bed.run(&["run", "--runs", "2"]).expect(0, "put", "");
}

#[test]
fn record_that_is_cut_off_yields_no_value() {
    let bed = Bed::new("head -c -20 unfinished; printf '@km1 7 pla'", &[]);
    let seen = bed.measure(&[]);
    seen.expect(1, "clock.read", "");
    expect_shown_again(&bed, &seen);
}

#[test]
fn other_output_between_records_is_ignored() {
    let noise =
        "printf 'boot\\n\\377\\000 @ km\\n'; sed 's/^/[0.1] /' whole; printf 'end, no newline'";
    let bed = Bed::new(noise, &[]);
    let seen = bed.measure(&[]);
    seen.expect(0, "fifo.put.user", "");
    expect_shown_again(&bed, &seen);
}

#[test]
fn columns_sets_the_width_without_a_terminal() {
    let bed = Bed::new("cat whole", &[]);
    let widest = |columns: &str| {
        let mut command = bed.command(&["list"]);
        let seen = Seen::from(command.env("COLUMNS", columns).output().unwrap());
        seen.expect(0, "fifo.put.user", "");
        seen.out.lines().map(|line| line.chars().count()).max()
    };
    assert!(widest("60") < widest("120"));
    assert_eq!(widest("words"), widest("100"));
}

#[test]
fn program_that_is_no_agent_is_named() {
    let bed = Bed::new("true", &[]);
    bed.write("catalog", "hello\n");
    bed.run(&["run"]).expect(1, "", "is it a kernmark agent?");
    fs::remove_file(bed.path("agent")).unwrap();
    bed.run(&["list"])
        .expect(1, "", "it is named by KERNMARK_AGENT");
}

#[test]
fn agent_that_exits_at_once_is_given_up() {
    let bed = Bed::new("echo no such CPU >&2; exit 2", &[]);
    bed.measure(&[]).expect(1, "", "no such CPU");
    assert_eq!(bed.saved().len(), 0);
}

#[test]
fn wrong_arguments_are_status_2_and_nothing_is_measured() {
    let bed = Bed::new("cat whole", &[]);
    let typo =
        "nothing is called `fifo.putt` (`kernmark list` shows every id); did you mean fifo.put";
    bed.run(&["run", "fifo.putt"]).expect(2, "", typo);
    bed.run(&["list", "*.nothing"]).expect(2, "", "`*.nothing`");
    bed.run(&["run", "--samples", "1"])
        .expect(2, "", "1 is not in 5..");
    bed.run(&["run", "--time-budget", "-1"]).expect(2, "", "");
    bed.run(&["run", "--cpu", "99999"])
        .expect(2, "", "there is no CPU 99999");
    bed.run(&["run", "--cpu", "0,0"])
        .expect(2, "", "the second CPU must differ");
    bed.run(&["run", "--cpu", "0,1,2"])
        .expect(2, "", "write A or A,B");
    bed.run(&["rum"]).expect(2, "", "run");
    bed.write("there.km", "mine");
    let path = bed.path("there.km");
    let to = |path: &Path| bed.run(&["run", "-o", path.to_str().unwrap()]);
    to(&path).expect(2, "", "not overwritten");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    to(&bed.path("nowhere/run.km")).expect(2, "", "is not a directory");
    let orders = fs::read_to_string(bed.path("orders")).unwrap();
    assert!(orders.lines().all(|line| line == "list"), "{orders}");
}

#[test]
fn filter_selects_cases_and_keeps_the_clock() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&["fifo"]).expect(0, "fifo.put.user", "");
    bed.run(&["list", "f*.user"]).expect(0, "fifo.put.user", "");
    let list = bed.run(&["list", "clock"]);
    assert!(!list.out.contains("fifo"), "{list:?}");
    bed.measure(&["clock"]).expect(0, "clock.read", "");
    let orders = fs::read_to_string(bed.path("orders")).unwrap();
    assert!(orders.lines().last().unwrap().ends_with("auto clock.read"));
}

#[test]
fn run_is_saved_to_the_given_path() {
    let bed = Bed::new("cat whole", &[]);
    let path = bed.path("mine.km");
    bed.measure(&["-o", path.to_str().unwrap()])
        .expect(0, "fifo.put.user", "mine.km");
    assert_eq!(bed.saved().len(), 0);
    bed.run(&["show", path.to_str().unwrap(), "--metric", "fifo.put.user"])
        .expect(0, "fifo.put.user", "");
    bed.run(&["show", path.to_str().unwrap(), "--metric", "fifo.put"])
        .expect(2, "", "did you mean fifo.put.user?");
}

#[test]
fn run_that_cannot_be_saved_is_shown_and_is_status_1() {
    let bed = Bed::new("cat whole", &[]);
    let mut command = bed.command(&["run", "--runs", "1"]);
    // Not even root can create a directory there.
    command.env("XDG_DATA_HOME", "/proc/self");
    let seen = Seen::from(command.output().unwrap());
    seen.expect(
        1,
        "put",
        "the run is not saved: cannot create /proc/self/kernmark",
    );
}

/// Kills the tool after the clock's case is done and `fifo.put.user` began.
fn cut_off(arguments: &[&str]) -> Bed {
    let bed = Bed::new("cat unfinished; touch begun; sleep 1000", &[]);
    let mut child = bed.command(arguments).spawn().unwrap();
    until("the agent never began", || bed.path("begun").exists());
    let parts = || -> Vec<PathBuf> {
        let mut paths = bed.saved();
        paths.push(bed.path("mine.km.part"));
        paths.retain(|path| fs::metadata(path).is_ok_and(|data| data.len() > 0));
        paths
    };
    until("nothing was written", || !parts().is_empty());
    // A measurement in progress is no leftover.
    assert!(!bed.run_beside(&["show"]).err.contains("cut off"));
    child.kill().unwrap();
    child.wait().unwrap();
    // Unlike the real agent, a scripted one does not exit with the tool.
    for (pid, _) in bed.processes() {
        let _ = kill_process(pid, Signal::KILL);
    }
    bed.wait_for_processes();
    assert_eq!(parts().len(), 1);
    bed
}

#[test]
fn killed_tool_leaves_its_partial_run() {
    let bed = cut_off(&["run"]);
    let saved = bed.saved();
    assert!(
        saved[0].to_str().unwrap().ends_with(".km.part"),
        "{saved:?}"
    );
    let part = saved[0].to_str().unwrap();
    let cut = format!("an interrupted run is left: kernmark show {part}");
    bed.run(&["show"]).expect(1, "", &cut);
    let shown = bed.run(&["show", part, "--format", "csv"]);
    shown.expect(1, "clock.read,ok", "");
    let whole = part.strip_suffix(".part").unwrap();
    bed.run(&["show", whole])
        .expect(1, "", &format!("kernmark show {part}"));
    bed.run(&["run", "--runs", "1", "clock"])
        .expect(0, "", &cut);
    fs::remove_file(part).unwrap();
    assert!(!bed.run(&["show"]).err.contains("cut off"));
}

#[test]
fn killed_tool_leaves_its_partial_run_at_the_given_path() {
    let bed = cut_off(&["run", "-o", "mine.km"]);
    let part = bed.path("mine.km.part");
    let part = part.to_str().unwrap();
    bed.run(&["show", part, "--format", "csv"])
        .expect(1, "clock.read,ok", "");
    bed.run(&["run", "-o", "mine.km"])
        .expect(2, "", "mine.km.part exists");
}

#[test]
fn full_disk_prevents_only_saving() {
    let bed = Bed::new("cat whole", &[]);
    let mut command = Command::new("sh");
    // In blocks of 512 bytes. The signal would kill the tool before it prints anything.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" run --runs 2 --format csv";
    command.args(["-c", script, env!("CARGO_BIN_EXE_kernmark")]);
    bed.furnish(&mut command);
    let seen = Seen::from(command.output().unwrap());
    seen.expect(1, "fifo.put.user,ok", "the run is not saved: cannot write");
}

#[test]
fn show_explains_what_is_wrong_with_a_file() {
    let bed = Bed::new("cat whole", &[]);
    bed.run(&["show"])
        .expect(1, "", "no run of linux is saved in");
    bed.write("text", "words\n");
    bed.run(&["show", bed.path("text").to_str().unwrap()])
        .expect(1, "", "not a kernmark run, and no known format");
    let hello = "@km2 0 hello";
    let sum = crc32fast::hash(hello.as_bytes());
    bed.write("later", &format!("{hello} *{sum:08x}\n"));
    bed.run(&["show", bed.path("later").to_str().unwrap()])
        .expect(1, "", "version 2");
    bed.run(&["show", "/nowhere"]).expect(1, "", "/nowhere");
}

#[test]
fn closed_pipe_is_no_error() {
    let bed = Bed::new("cat whole", &[]);
    bed.measure(&[]).expect(0, "", "");
    for arguments in [&["show"][..], &["list"], &["man"], &["completions", "bash"]] {
        let (read, write) = UnixStream::pair().unwrap();
        drop(read);
        let mut command = bed.command(arguments);
        let seen = Seen::from(command.stdout(OwnedFd::from(write)).output().unwrap());
        seen.expect(0, "", "");
        assert_eq!(seen.err, "");
    }
}

#[test]
fn failed_write_to_standard_output_is_status_1() {
    let bed = Bed::new("cat whole", &[]);
    let full = fs::File::create("/dev/full").unwrap();
    let mut command = bed.command(&["run", "--runs", "1"]);
    let seen = Seen::from(command.stdout(full).output().unwrap());
    seen.expect(1, "", "cannot write to standard output");
    assert_eq!(bed.saved().len(), 1, "the run must still be saved");
}

#[test]
fn failed_write_to_standard_error_changes_nothing() {
    let bed = Bed::new("cat whole", &[("foreign", FOREIGN)]);
    let saved = bed.path("mine.km");
    let saved = saved.to_str().unwrap();
    bed.run(&["run", "-o", saved]).expect(0, "", "");
    for (arguments, status) in [
        (&["run", "--runs", "1"][..], 0),
        (&["show", saved, "--format", "zephyr"], 0),
        (&["show", "/nowhere"], 1),
        (&["show", "agent"], 1),
        (&["show", "--no-such-option"], 2),
        (&["compare", saved, saved], 0),
        (&["compare", saved, "/nowhere"], 1),
        (&["import", "foreign"], 0),
        (&["import", "agent"], 1),
        (&["explain", "no.such.metric", saved], 2),
    ] {
        let full = fs::File::create("/dev/full").unwrap();
        let seen = Seen::from(bed.command(arguments).stderr(full).output().unwrap());
        assert_eq!(seen.status, Some(status), "{arguments:?}: {seen:#?}");
        let (read, write) = UnixStream::pair().unwrap();
        drop(read);
        let mut command = bed.command(arguments);
        let seen = Seen::from(command.stderr(OwnedFd::from(write)).output().unwrap());
        assert_eq!(seen.status, Some(status), "{arguments:?}: {seen:#?}");
    }
}

#[test]
fn interrupt_keeps_finished_replicates_and_leaves_no_process() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let bed = Bed::new("cat unfinished; sleep 1000 & touch begun; sleep 1000", &[]);
        let child = bed.command(&["run", "--format", "json"]).spawn().unwrap();
        until("the agent never began", || bed.path("begun").exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let seen = Seen::from(child.wait_with_output().unwrap());
        bed.wait_for_processes();
        seen.expect(130, "interrupted by the user", "saved: ");
        expect_shown_again(&bed, &seen);
    }
}

#[test]
fn ignored_signal_stays_ignored() {
    let bed = Bed::new(
        "touch begun; while test ! -e go; do sleep 0.05; done; cat whole",
        &[],
    );
    // A shell that ignores the signal replaces itself with the tool.
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" run --runs 1";
    command.args(["-c", script, env!("CARGO_BIN_EXE_kernmark")]);
    bed.furnish(&mut command);
    let child = command.spawn().unwrap();
    until("the agent never began", || bed.path("begun").exists());
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    bed.write("go", "");
    Seen::from(child.wait_with_output().unwrap()).expect(0, "put", "saved: ");
}

#[test]
fn second_run_waits_for_the_first() {
    let bed = Bed::new(
        "touch begun; while test ! -e go; do sleep 0.05; done; cat whole",
        &[],
    );
    let one = |more: &[&str]| {
        let mut arguments = vec!["run", "--runs", "1", "--case-timeout", "60"];
        arguments.extend(more);
        bed.command(&arguments)
    };
    let first = one(&[]).spawn().unwrap();
    until("the agent never began", || bed.path("begun").exists());
    bed.run_beside(&["list"]).expect(0, "fifo.put.user", "");
    let waited = Seen::from(one(&["--wait", "0.2"]).output().unwrap());
    waited.expect(
        1,
        "",
        "another kernmark is measuring; waiting for up to 0.2 s\n",
    );
    waited.expect(
        1,
        "",
        "another kernmark is measuring, even after a wait of 0.2 s",
    );
    let mut beside = one(&["clock"]);
    beside.env("KERNMARK_LOCK", bed.path("another"));
    Seen::from(beside.output().unwrap()).expect(0, "read", "saved: ");

    let says_it_waits = |child: &mut Child| {
        let mut said = [0; 30];
        child
            .stderr
            .as_mut()
            .unwrap()
            .read_exact(&mut said)
            .unwrap();
        assert_eq!(&said, b"kernmark: another kernmark is ");
    };
    let mut impatient = one(&[]).spawn().unwrap();
    says_it_waits(&mut impatient);
    kill_process(Pid::from_child(&impatient), Signal::INT).unwrap();
    Seen::from(impatient.wait_with_output().unwrap()).expect(130, "", "waiting");
    let mut second = one(&[]).spawn().unwrap();
    says_it_waits(&mut second);
    assert_eq!(
        bed.saved().len(),
        2,
        "the first, which is measured, and the one beside it"
    );
    bed.write("go", "");
    Seen::from(first.wait_with_output().unwrap()).expect(0, "put", "saved: ");
    Seen::from(second.wait_with_output().unwrap()).expect(0, "put", "saved: ");
    bed.wait_for_processes();
}

#[test]
fn run_without_a_lock_file_is_still_made() {
    let bed = Bed::new("cat whole", &[]);
    let mut command = bed.command(&["run", "--runs", "1"]);
    command.env("KERNMARK_LOCK", "/proc/self/nowhere/lock");
    let seen = Seen::from(command.output().unwrap());
    seen.expect(0, "put", "cannot keep another kernmark from measuring");
}

/// The tool with its built-in agent.
fn real(bed: &Bed, arguments: &[&str]) -> Command {
    let mut command = bed.command(arguments);
    command.env_remove("KERNMARK_AGENT");
    command
}

fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn built_in_agent_dies_with_the_tool() {
    let bed = Bed::new("true", &[]);
    let mut child = start(&mut real(&bed, &["run", "--time-budget", "600"]));
    let runs = |bed: &Bed| {
        let processes = bed.processes();
        processes.iter().any(|(_, line)| line.contains("parent="))
    };
    until("the agent never ran", || runs(&bed));
    child.kill().unwrap();
    child.wait().unwrap();
    bed.wait_for_processes();
}

#[test]
fn built_in_agent_passes_its_check() {
    let bed = Bed::new("true", &[]);
    let seen = Seen::from(real(&bed, &["run", "--check"]).output().unwrap());
    bed.wait_for_processes();
    seen.expect(0, " 0 failed, 0 incomplete\n", "");
}

#[test]
fn coverage_needs_no_target() {
    let list = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .arg("list")
            .args(arguments)
            .env("KERNMARK_AGENT", "/nowhere")
            .output()
            .unwrap()
    };
    let all = list(&["--coverage", "reference:zephyr"]);
    assert!(all.status.success());
    let text = String::from_utf8(all.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let tally = "172 benchmarks: 172 measured \
                 (144 by linux-vm, 134 by freertos, 172 by zephyr, 110 by linux), \
                 0 without a counterpart";
    assert!(words.join(" ").ends_with(tally), "{text}");
    for format in ["json", "csv", "md"] {
        let one = list(&["--coverage", "reference:zircon", "--format", format, "vmo"]);
        let text = String::from_utf8(one.stdout).unwrap();
        assert!(
            text.contains("Vmo/Create") && !text.contains("Port"),
            "{text}"
        );
    }
    for wrong in [
        &["--coverage", "zephyr"][..],
        &["--coverage", "reference:zephyr", "--on", "linux"],
        &["--coverage", "reference:zephyr", "nothing"],
    ] {
        assert_eq!(list(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
