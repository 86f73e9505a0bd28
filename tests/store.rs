// SPDX-License-Identifier: MIT OR Apache-2.0

//! The folder of saved runs: names, listing and removing runs, and what killed processes, several
//! writers and garbage do to it.

#[path = "common/runs.rs"]
mod runs;
#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kernmark::files::digest::Timeline;
use kernmark::files::runs::Folder;
use kernmark::judge::digest;
use runs::{records, saved_runs};
use rustix::fs::{mkfifoat, symlinkat, Mode, CWD};
use saved::stream;
use seen::Seen;
use serde_json::Value;
use tool::tool_in;

/// Longer than any step takes on the slowest machine.
const EVER: Duration = Duration::from_secs(60);

/// A folder for the tool and its saved runs.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data/kernmark/runs")).unwrap();
        Bed { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn runs(&self) -> PathBuf {
        self.path("data/kernmark/runs")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        tool_in(self.folder.path(), arguments)
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.command(arguments).output().unwrap())
    }

    /// Saves the run of a day as an older version did. Its metrics cost more every day.
    fn save(&self, day: u64, target: &str) {
        let started = format!("2026-01-{day:02}T12:00:00Z");
        let facts = [
            ("tool", "kernmark 0.1.0"),
            ("started", &started),
            ("target", target),
            ("kernel_release", "6.1.0"),
            ("load", "0.50 0.25 0.10"),
            ("machine", "lab"),
            ("label.commit", "c0ffee"),
        ];
        let samples = |cost: u64| vec![vec![cost + day; 20]; 3];
        let metrics = [
            ("clock.read", samples(20)),
            ("fifo.put.user", samples(1000)),
        ];
        let name = format!("202601{day:02}T120000Z-{target}-{day:08x}.km");
        fs::write(self.runs().join(name), stream("cycles", &facts, &metrics)).unwrap();
    }

    /// All that the folder says about its runs.
    fn said(&self) -> (Vec<String>, String) {
        let said = [
            &["runs"][..],
            &["runs", "--json"],
            &["runs", "--format", "csv"],
        ];
        let said = said.map(|arguments| self.run(arguments).out);
        (said.into(), format!("{:?}", self.timeline()))
    }

    fn timeline(&self) -> Timeline {
        let folder = Folder::new(self.runs(), digest::of);
        folder.timeline(0, &|_| true, &|_| true).unwrap()
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

#[test]
fn runs_are_listed_named_and_removed() {
    let bed = Bed::new();
    bed.run(&["runs"]).expect(0, "no run is saved in", "");
    for day in 1..=3 {
        bed.save(day, "linux");
    }
    bed.save(4, "uml:um");
    let seen = bed.run(&["runs"]);
    seen.expect(0, "2026-01-04 12:00", "");
    seen.expect(0, "machine=lab, commit=c0ffee", "");
    seen.expect(0, "4 runs in ", "");
    let seen = bed.run(&["runs", "--json", "--on", "linux"]);
    let listed: Value = serde_json::from_str(&seen.out).unwrap();
    let schema = serde_json::from_str(include_str!("../doc/runs.schema.json")).unwrap();
    jsonschema::validate(&schema, &listed).unwrap();
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[0]["metrics"], 2);
    assert_eq!(runs[0]["labels"]["commit"], "c0ffee");
    let name = |at: usize| runs[at]["name"].as_str().unwrap();
    // The name means the same run wherever a file is read.
    let path = bed.runs().join(runs[1]["file"].as_str().unwrap());
    let by_path = bed.run(&["show", path.to_str().unwrap(), "--json"]);
    for run in [name(1), "latest:linux~1"] {
        assert_eq!(bed.run(&["show", run, "--json"]).out, by_path.out, "{run}");
    }
    assert_eq!(
        bed.run(&["show", "-", "--json"]).status,
        Some(1),
        "not a name"
    );
    bed.run(&["compare", name(0), "latest:linux", "--base", name(1)])
        .expect(0, "", "");
    bed.run(&[
        "compare",
        name(0),
        "latest:linux",
        "--new",
        "latest:linux~0",
    ])
    .expect(2, "", "is given twice on the new side");
    bed.run(&["plan", "latest:linux"]).expect(0, "", "");
    bed.run(&["explain", "fifo.put.user", name(0)])
        .expect(2, "", "");
    bed.run(&["why", "fifo.put.user", name(0)])
        .expect(1, "", "does not say its samples");
    bed.run(&["show", "abcdefabcdef"]).expect(
        1,
        "",
        "the newest saved runs are 20260104T120000Z-uml",
    );
    bed.run(&["show", "latest:uml~1"])
        .expect(1, "", "there is no run 1 before");
    // A path that exists comes first.
    fs::copy(&path, bed.path("latest")).unwrap();
    assert_eq!(bed.run(&["show", "latest", "--json"]).out, by_path.out);

    bed.run(&["runs", "rm", name(0), "abcdefabcdef"])
        .expect(1, "", "no saved run `abcdefabcdef`");
    assert_eq!(saved_runs(&bed.runs()).len(), 4, "nothing was removed");
    bed.run(&["runs", "rm", name(0), "--dry-run"]).expect(
        0,
        "would remove 20260101T120000Z-linux-",
        "",
    );
    assert_eq!(saved_runs(&bed.runs()).len(), 4);
    bed.run(&["runs", "rm", name(0)])
        .expect(0, "removed 20260101T120000Z-linux-", "");
    let prune = |more: &[&str]| bed.run(&[&["runs", "prune"], more].concat());
    prune(&[]).expect(2, "", "--keep <N>");
    let seen = prune(&["--keep", "1", "--dry-run"]);
    assert_eq!(seen.out, "would remove 20260102T120000Z-linux-00000002\n");
    prune(&["--keep", "1", "--on", "uml"]).expect(0, "no run to remove", "");
    prune(&["--keep", "1"]).expect(0, "removed 20260102T120000Z-linux-", "");
    prune(&["--older-than", "36500d"]).expect(0, "no run to remove", "");
    prune(&["--older-than", "1d"]).expect(0, "removed 20260104T120000Z-uml", "");
    // The digests went with the runs.
    assert_eq!(fs::read_dir(bed.runs()).unwrap().count(), 0);
}

#[test]
fn digests_and_index_may_be_deleted_at_any_time() {
    let bed = Bed::new();
    // More than it takes to write the index.
    for number in 0..70 {
        let facts = [
            ("started", format!("2026-01-01T12:00:{:02}Z", number % 60)),
            ("seed", number.to_string()),
        ];
        let facts = facts
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let samples = vec![vec![1000 + number; 3]; 2];
        let metrics = [("clock.read", samples.clone()), ("fifo.put.user", samples)];
        let text = stream("cycles", &facts, &metrics[..=number as usize % 2]);
        fs::write(bed.runs().join(format!("{number:03}.km")), text).unwrap();
    }
    let before = bed.said();
    let timeline = bed.timeline();
    assert_eq!(timeline.runs.len(), 70);
    assert_eq!(timeline.series.len(), 2);
    assert!(timeline.runs.is_sorted_by_key(|run| run.started));
    assert_eq!(timeline.series[0].values, timeline.clock);
    assert_eq!(
        timeline.series[1]
            .values
            .iter()
            .filter(|v| v.is_nan())
            .count(),
        35
    );
    let index = bed.runs().join("index");
    let whole = fs::read(&index).unwrap();
    assert_eq!(bed.said(), before);

    fs::remove_file(&index).unwrap();
    assert_eq!(bed.said(), before, "without the index");
    assert_eq!(fs::read(&index).unwrap(), whole, "it was made again");
    for length in [0, 10, 30, whole.len() / 2, whole.len() - 1] {
        fs::write(&index, &whole[..length]).unwrap();
        assert_eq!(bed.timeline().runs.len(), 70, "cut off at {length}");
        assert_eq!(
            format!("{:?}", bed.timeline()),
            before.1,
            "cut off at {length}"
        );
        assert_eq!(fs::metadata(&index).unwrap().len(), whole.len() as u64);
    }
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&index, damaged).unwrap();
        assert_eq!(format!("{:?}", bed.timeline()), before.1, "damaged at {at}");
    }
    let digests = || -> Vec<PathBuf> {
        let all = fs::read_dir(bed.runs())
            .unwrap()
            .map(|one| one.unwrap().path());
        let mut all: Vec<PathBuf> = all
            .filter(|path| path.extension() == Some("digest".as_ref()))
            .collect();
        all.sort();
        all
    };
    let texts: Vec<Vec<u8>> = digests()
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert_eq!(texts.len(), 70);
    fs::remove_file(&index).unwrap();
    for (number, path) in digests().iter().enumerate() {
        match number % 5 {
            0 => fs::remove_file(path).unwrap(),
            1 => fs::write(path, &texts[number][..texts[number].len() / 2]).unwrap(),
            2 => fs::write(path, b"\xff\0garbage").unwrap(),
            // That of another run.
            3 => fs::write(path, &texts[(number + 1) % 70]).unwrap(),
            _ => {}
        }
    }
    assert_eq!(bed.said(), before, "without most digests");
    let again: Vec<Vec<u8>> = digests()
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert_eq!(again, texts, "they were made again");
}

#[test]
fn index_grows_and_forgets_what_is_gone() {
    let bed = Bed::new();
    let save = |from: u64, to: u64| {
        for number in from..to {
            let seed = number.to_string();
            let text = stream(
                "cycles",
                &[("seed", &seed)],
                &[("a.b", vec![vec![100 + number; 3]])],
            );
            fs::write(bed.runs().join(format!("{number:04}.km")), text).unwrap();
        }
    };
    let costs = || bed.timeline().series[0].values.clone();
    let numbers = |from: u32, to: u32| (from..to).map(|n| f64::from(100 + n)).collect::<Vec<_>>();
    let index = bed.runs().join("index");
    let length = || fs::metadata(&index).map_or(0, |data| data.len());
    save(0, 63);
    assert_eq!(costs(), numbers(0, 63));
    assert_eq!(length(), 0, "few runs need no index");
    save(63, 64);
    assert_eq!(costs(), numbers(0, 64));
    let first = length();
    assert!(first > 0);
    save(64, 100);
    assert_eq!(costs(), numbers(0, 100));
    assert_eq!(length(), first, "the rest is read from digests");
    save(100, 200);
    assert_eq!(costs(), numbers(0, 200));
    let both = length();
    assert!(both > first);
    bed.run(&["runs", "prune", "--keep", "50"])
        .expect(0, "removed 0149", "");
    assert_eq!(costs(), numbers(150, 200));
    assert!(length() <= both);
    save(200, 230);
    assert_eq!(costs(), numbers(150, 230));
}

#[test]
fn garbage_in_the_folder_does_no_harm() {
    let bed = Bed::new();
    bed.save(1, "linux");
    let before = bed.said();
    let elsewhere = bed.path("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    let runs = bed.runs();
    let digest = fs::read_dir(&runs).unwrap().map(|one| one.unwrap().path());
    let mut digest = digest.filter(|path| path.extension() == Some("digest".as_ref()));
    let digest = digest.next().unwrap();
    fs::remove_file(&digest).unwrap();
    symlinkat(&elsewhere, CWD, &digest).unwrap();
    symlinkat(&elsewhere, CWD, runs.join("index")).unwrap();
    symlinkat("nowhere", CWD, runs.join("dangling.km.gz")).unwrap();
    symlinkat(".", CWD, runs.join("loop.km")).unwrap();
    for pipe in ["pipe.km.gz", "pipe.km", "x.km.gz.digest"] {
        mkfifoat(CWD, runs.join(pipe), Mode::RUSR | Mode::WUSR).unwrap();
    }
    fs::create_dir(runs.join("directory.km.gz")).unwrap();
    for (name, bytes) in [
        ("empty.km", &b""[..]),
        ("words.km", b"words\n"),
        ("torn.km.gz", b"\x1f\x8b\x08\0"),
        (".hidden.km", b"words"),
        ("x.digest", b"words"),
        ("notes.txt", b"words"),
    ] {
        fs::write(runs.join(name), bytes).unwrap();
    }
    assert_eq!(bed.said(), before);
    bed.run(&["show", "latest", "--json"])
        .expect(0, "fifo.put.user", "");
    bed.run(&["runs", "rm", "words"])
        .expect(0, "no run to remove", "");
    bed.run(&["runs", "prune", "--keep", "0"]).expect(
        0,
        "removed 20260101T120000Z-linux-00000001\n",
        "",
    );
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    assert!(runs.join("words.km").exists() && runs.join("pipe.km").exists());
    // A whole folder that is none.
    fs::remove_dir_all(&runs).unwrap();
    fs::write(&runs, "").unwrap();
    bed.run(&["runs"]).expect(1, "", "cannot read ");
}

/// The arguments that measure with an agent that prints this file.
fn measure(file: &str) -> [String; 5] {
    let on = format!("exec:cat {file}");
    ["run", "--on", &on, "--runs", "1"].map(str::to_owned)
}

#[test]
fn processes_that_save_at_once_lose_nothing() {
    let bed = Bed::new();
    for number in 0..4 {
        let samples = vec![vec![100 + number; 10]];
        let text = stream("cycles", &[], &[("a.b", samples)]);
        fs::write(bed.path(&format!("agent{number}")), text).unwrap();
    }
    let start = |number: usize| {
        let mut command = bed.command(&[]);
        command.args(measure(&format!("agent{number}")));
        command.args(["--label", &format!("number={number}"), "--machine", "lab"]);
        // Otherwise they would wait for each other.
        command.env("KERNMARK_LOCK", bed.path(&format!("lock{number}")));
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let seen = bed.run(&["runs", "--json"]);
    let listed: Value = serde_json::from_str(&seen.out).unwrap();
    let mut labels: Vec<&str> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["labels"]["number"].as_str().unwrap())
        .collect();
    labels.sort_unstable();
    assert_eq!(labels, ["0", "1", "2", "3"]);
    for path in saved_runs(&bed.runs()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.ends_with(".km.gz"), "{name}");
        assert!(bed.runs().join(format!("{name}.digest")).exists(), "{name}");
        let text = records(&path);
        assert!(text.contains("name=machine | lab *"), "{text}");
        // The machine's identity, where it has one.
        let identity = fs::read_to_string("/etc/machine-id").is_ok_and(|id| id.trim().len() == 32);
        assert_eq!(text.contains("name=machine_id | "), identity);
        assert!(!text.contains("name=host_name"));
        let hash = kernmark::files::digest::sha256(text.as_bytes());
        assert!(name.contains(&hash[..12]), "{name} {hash}");
    }
    assert_eq!(
        fs::read_dir(bed.runs()).unwrap().count(),
        8,
        "a run and a digest each"
    );
}

#[test]
fn killed_process_leaves_what_it_measured() {
    let bed = Bed::new();
    let text = stream("cycles", &[], &[("a.b", vec![vec![100; 10]])]);
    // Without its last line.
    let first = &text[..=text[..text.find(" bye ").unwrap()].rfind('\n').unwrap()];
    fs::write(bed.path("first"), first).unwrap();
    let script = "exec:cat first; touch begun; exec sleep 1000";
    let mut child = bed.command(&["run", "--on", script]).spawn().unwrap();
    until("the agent never began", || bed.path("begun").exists());
    let part = || saved_runs(&bed.runs()).pop();
    until("nothing was written", || {
        part().is_some_and(|path| fs::metadata(path).unwrap().len() > 0)
    });
    sleep(Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();
    let part = part().unwrap();
    assert!(part.to_str().unwrap().ends_with(".km.part"), "{part:?}");
    let records = fs::read_to_string(&part).unwrap();
    assert!(records.ends_with(first), "plain records: {records}");
    bed.run(&["runs"])
        .expect(0, "no run is saved", "an interrupted run is left");
    bed.run(&["runs", "prune", "--keep", "0"])
        .expect(0, "no run to remove", "");
    bed.run(&["show", part.to_str().unwrap(), "--format", "csv"])
        .expect(1, "a.b,ok", "");
}

#[test]
fn output_is_compressed_if_its_name_says_so() {
    let bed = Bed::new();
    let text = stream("cycles", &[], &[("a.b", vec![vec![100; 10]])]);
    fs::write(bed.path("agent"), &text).unwrap();
    let save = |name: &str| {
        let mut command = bed.command(&[]);
        command.args(measure("agent")).args(["-o", name]);
        Seen::from(command.output().unwrap())
    };
    save("mine.km.gz").expect(0, "", "saved: mine.km.gz");
    assert_eq!(fs::read(bed.path("mine.km.gz")).unwrap()[..2], [0x1f, 0x8b]);
    assert!(records(&bed.path("mine.km.gz")).ends_with(&text));
    save("mine.km").expect(0, "", "saved: mine.km");
    assert!(fs::read_to_string(bed.path("mine.km"))
        .unwrap()
        .ends_with(&text));
    save("mine.km.gz").expect(2, "", "is not overwritten");
    assert!(!bed.path("mine.km.gz.part").exists());
    assert_eq!(fs::read_dir(bed.runs()).unwrap().count(), 0);
    bed.run(&["import", "agent", "-o", "x.km.gz"])
        .expect(1, "", "");
    let seen = bed.run(&["run", "--on", "exec:cat agent", "--label", "no"]);
    seen.expect(2, "", "not KEY=VALUE");
}
