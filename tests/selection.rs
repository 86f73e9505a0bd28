// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which metrics commands show, in which order, and how: filters, sorting, the pager.

#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use rustix::termios::{tcgetwinsize, tcsetwinsize, Winsize};
use seen::Seen;

/// A folder with saved runs: `base.km`, the same again in `base2.km`, and `new.km`, where
/// `mutex.lock` costs 50 % more.
struct Bed {
    directory: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed {
            directory: tempfile::tempdir().unwrap(),
        };
        let around = |median: u64, tail: u64| -> Vec<Vec<u64>> {
            let replicate = |add: u64| {
                let samples =
                    (0..60).map(|at| median + add + at % 3 + if at > 57 { tail } else { 0 });
                samples.collect()
            };
            (0..8).map(replicate).collect()
        };
        let run = |lock: u64| {
            let metrics = [
                ("clock.read", around(400, 0)),
                ("mutex.lock", around(lock, 0)),
                ("mutex.unlock", around(900, 4_000)),
                ("semaphore.take", around(5_000, 0)),
            ];
            saved::stream("cycles", &[], &metrics)
        };
        fs::write(bed.path("base.km"), run(1_000)).unwrap();
        fs::write(bed.path("base2.km"), run(1_000)).unwrap();
        fs::write(bed.path("new.km"), run(1_500)).unwrap();
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let words: Vec<&str> = words.split(' ').collect();
        tool::tool_in(self.directory.path(), &words)
    }

    fn run(&self, words: &str) -> Seen {
        Seen::from(self.command(words).output().unwrap())
    }

    /// The ids of the metrics in JSON, in its order.
    fn ids(&self, words: &str) -> Vec<String> {
        let seen = self.run(words);
        let json: serde_json::Value = serde_json::from_str(&seen.out).expect(&seen.err);
        let metrics = json["metrics"].as_array().unwrap().iter();
        let id = |metric: &serde_json::Value| metric["id"].as_str().unwrap().to_owned();
        metrics.map(id).collect()
    }

    /// The metrics in a table, in its order.
    fn rows(&self, words: &str) -> Vec<String> {
        let seen = self.run(words);
        assert_eq!(seen.status, Some(0), "{seen:?}");
        let ids = ["clock.read", "mutex.lock", "mutex.unlock", "semaphore.take"];
        let first = seen
            .out
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let rows = first.filter(|word| ids.contains(word));
        rows.map(str::to_owned).collect()
    }

    /// A pager that marks what it shows.
    fn pager(&self) -> String {
        let pager = self.path("pager");
        fs::write(&pager, "#!/bin/sh\necho \"paged by $LESS\"\ncat\n").unwrap();
        fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).unwrap();
        pager.to_str().unwrap().to_owned()
    }
}

/// What stands on a terminal of this size.
fn on_terminal((columns, rows): (u16, u16), command: &mut Command) -> String {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let mut size: Winsize = tcgetwinsize(&master).unwrap();
    (size.ws_col, size.ws_row) = (columns, rows);
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let line = fs::File::options()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let mut child = command.stdout(line).spawn().unwrap();
    // Closes this process's end of the line, so that reading ends.
    command.stdout(std::process::Stdio::null());
    let mut shown = Vec::new();
    // A line whose other end is closed fails to read.
    let _ = fs::File::from(master).read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

#[test]
fn filters_select_in_every_format() {
    let bed = Bed::new();
    let show = "show base.km mutex --json";
    assert_eq!(bed.ids(show), ["clock.read", "mutex.lock", "mutex.unlock"]);
    assert_eq!(
        bed.ids("show base.km mutex --exclude clock --exclude *.lock --json"),
        ["mutex.unlock"]
    );
    assert_eq!(bed.ids("plan base.km *take --json"), ["semaphore.take"]);
    let csv = bed.run("show base.km sema --format csv").out;
    assert!(
        csv.contains("\nsemaphore.take,") && !csv.contains("mutex"),
        "{csv}"
    );
}

#[test]
fn unknown_filters_are_the_error_of_run() {
    let bed = Bed::new();
    for command in [
        "show base.km",
        "plan base.km",
        "compare base.km new.km",
        "run",
        "ab linux linux",
        "matrix --on linux --on linux",
    ] {
        let why = "nothing is called `mutx` (`kernmark list` shows every id); did you mean mutex";
        bed.run(&format!("{command} mutx")).expect(2, "", why);
        bed.run(&format!("{command} --exclude mutx"))
            .expect(2, "", why);
        bed.run(&format!("{command} mutex --exclude mutex"))
            .expect(2, "", "nothing is left");
        bed.run(&format!("{command} --top 0"))
            .expect(2, "", "--top");
    }
}

#[test]
fn what_is_excluded_is_not_measured() {
    let bed = Bed::new();
    let run = "run syscall.null yield.threads --exclude yield --runs 1 --samples 5";
    let measured = ["clock.read", "syscall.null"];
    assert_eq!(
        bed.ids(&format!("{run} -o out.km --json --no-realtime")),
        measured
    );
    assert_eq!(bed.ids("show out.km --json"), measured);
}

#[test]
fn filter_in_the_place_of_the_file_is_explained() {
    let bed = Bed::new();
    for command in ["show", "plan", "explain mutex"] {
        bed.run(&format!("{command} --on freertos:m4 base.km"))
            .expect(2, "", "latest:freertos:m4");
    }
}

#[test]
fn a_run_is_sorted_and_cut() {
    let bed = Bed::new();
    assert_eq!(
        bed.rows("show base.km --sort cost"),
        ["semaphore.take", "mutex.lock", "mutex.unlock", "clock.read"]
    );
    assert_eq!(
        bed.rows("show base.km --sort tail --top 1"),
        ["mutex.unlock"]
    );
    let seen = bed.run("show base.km --sort id --top 3");
    assert!(seen.out.contains("1 more metric not shown"), "{}", seen.out);
    // Sorting needs no room in the file's order for objects.
    assert!(seen.out.contains("\nmutex.lock "), "{}", seen.out);
}

/// The lines of a comparison that begin with a metric of the bed, each up to its change.
fn changes(seen: &Seen) -> Vec<String> {
    let rows = seen
        .out
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   ") && line.contains(" %"));
    rows.map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[test]
fn compare_opens_with_the_answer() {
    let bed = Bed::new();
    let same = bed.run("compare base.km base2.km --no-floors");
    assert_eq!(
        same.out.lines().next(),
        Some("0 regressed, 0 improved, 0 inconclusive, 4 equivalent")
    );
    assert!(same.out.lines().count() <= 12, "{}", same.out);
    assert!(
        same.out
            .contains("\n4 equivalent (1 up to p50, 3 up to p90"),
        "{}",
        same.out
    );
    let seen = bed.run("compare base.km new.km");
    assert!(seen
        .out
        .starts_with("1 regressed, 0 improved, 0 inconclusive, 3 equivalent\n"));
    assert!(
        seen.out
            .contains("differs  nothing else that the runs record\n"),
        "{}",
        seen.out
    );
    assert!(
        seen.out.contains(" in the geometric mean of 3 medians; "),
        "{}",
        seen.out
    );
    assert_eq!(changes(&seen), ["mutex.lock"]);
    let all = bed.run("compare base.km new.km --all");
    assert_eq!(changes(&all)[0], "mutex.lock");
    assert_eq!(changes(&all).len(), 4, "{}", all.out);
    for part in ["\nagent ", "\nequivalent up to ", "\nclock "] {
        assert!(all.out.contains(part) && !seen.out.contains(part), "{part}");
    }
    let coloured = bed.run("compare base.km new.km --color always").out;
    assert!(coloured.contains("\x1b[31m  mutex.lock "), "{coloured}");
}

#[test]
fn filters_narrow_the_families_of_a_comparison() {
    let bed = Bed::new();
    let family = |words: &str| {
        let json: serde_json::Value = serde_json::from_str(&bed.run(words).out).unwrap();
        let left_out = json["selection"]["left_out"].as_u64().unwrap();
        (
            json["family"].as_u64().unwrap(),
            left_out,
            json["verdicts"]["regressed"].as_u64().unwrap(),
        )
    };
    let compare = "compare base.km new.km --json";
    assert_eq!(family(compare), (3, 0, 1));
    assert_eq!(family(&format!("{compare} mutex")), (2, 2, 1));
    assert_eq!(family(&format!("{compare} --exclude *.lock")), (2, 1, 0));
    // Sorting and cutting only show.
    assert_eq!(family(&format!("{compare} --sort id --top 1")), (3, 0, 1));
    let gate = "compare base.km new.km --fail-on regression";
    bed.run(gate)
        .expect(3, "The gate fails: 1 metric regressed.", "");
    let seen = bed.run(&format!("{gate} semaphore *.unlock"));
    seen.expect(
        0,
        "semaphore *.unlock: 2 of 4 metrics; only these are tested, and a gate",
        "",
    );
    // What is asked for by name has a row, whatever its verdict.
    assert_eq!(
        changes(&seen),
        ["mutex.unlock", "semaphore.take"],
        "{}",
        seen.out
    );
}

#[test]
fn several_metrics_have_their_pages() {
    let bed = Bed::new();
    let seen = bed.run("show base.km --metric mutex.lock --metric mutex.unlock");
    let at = |id: &str| seen.out.find(id).expect(id);
    assert!(at("mutex.lock") < at("mutex.unlock"));
    bed.run("show base.km --metric mutex")
        .expect(2, "", "the run has no metric `mutex`");
    bed.run("show base.km mutex --metric mutex.lock")
        .expect(2, "", "cannot be used with");
}

#[test]
fn long_reports_go_through_a_pager() {
    let bed = Bed::new();
    let pager = bed.pager();
    let shown = |rows: u16, words: &str, set: &[(&str, &str)]| {
        let mut command = bed.command(words);
        command.env("PAGER", &pager).envs(set.iter().copied());
        on_terminal((80, rows), &mut command)
    };
    let in_pager = shown(5, "show base.km", &[]);
    assert!(in_pager.starts_with("paged by FRX\n"), "{in_pager}");
    assert!(
        in_pager.contains("mutex") && in_pager.contains("4 measured"),
        "{in_pager}"
    );
    assert!(shown(5, "show base.km", &[("LESS", "S")]).starts_with("paged by S\n"));
    let long = shown(200, "show base.km", &[]);
    for (rows, words, set) in [
        (200, "show base.km", &[][..]),
        (5, "show base.km --no-pager", &[]),
        (5, "show base.km", &[("KERNMARK_PAGER", "cat")]),
        (5, "show base.km", &[("KERNMARK_PAGER", "")]),
        (
            5,
            "show base.km",
            &[("KERNMARK_PAGER", "/no/such/pager 2>/dev/null")],
        ),
    ] {
        assert_eq!(shown(rows, words, set), long, "{words} {set:?}");
    }
    // Formats for programs, and a pipe, have no pager.
    assert!(!shown(5, "show base.km --json", &[]).contains("paged"));
    let mut piped = bed.command("show base.km");
    let piped = Seen::from(piped.env("PAGER", &pager).output().unwrap());
    assert!(!piped.out.contains("paged"), "{piped:?}");
}
