// SPDX-License-Identifier: MIT OR Apache-2.0

//! Targets other than this Linux, as users see them: what `--on` accepts, what can go wrong, and
//! what is saved.

#[path = "common/runs.rs"]
mod runs;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use kernmark::stream::record;
use runs::{records, saved_runs};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use rustix::termios::{tcgetattr, LocalModes};
use seen::Seen;
use tool::tool_in;

/// A record: its kind, its pairs and, for `bench`, a text.
fn push(lines: &mut Vec<String>, words: &str) {
    let seq = lines.len() as u64;
    let mut words = words.split(' ');
    let kind = words.next().unwrap();
    let pairs: Vec<(&str, &str)> = words.map(|word| word.split_once('=').unwrap()).collect();
    let text = (kind == "bench").then_some("What it does.");
    lines.extend(record::write(seq, kind, &pairs, text));
}

/// A session: its `hello`, these records, its `bye`.
fn session(mode: &str, unit: &str, records: &[String]) -> String {
    let hz = if unit == "cycles" { "1000000" } else { "0" };
    let mut lines = Vec::new();
    let hello =
        format!("hello port=fake arch=none mode={mode} clock=c unit={unit} hz={hz} realtime=no");
    push(&mut lines, &hello);
    for record in records {
        if let Some(counts) = record.strip_prefix("hist ") {
            let (metric, ticks) = counts.split_once(' ').unwrap();
            let counts = [(ticks.parse().unwrap(), 5)];
            let seq = lines.len() as u64;
            lines.extend(record::write_hist(seq, metric, 0, &counts));
        } else {
            push(&mut lines, record);
        }
    }
    let bye = format!("bye records={}", lines.len());
    push(&mut lines, &bye);
    lines.join("\n") + "\n"
}

/// The exit status for tests/golden/fake.log: some of its cases fail on purpose.
const GOLDEN: i32 = 1;

const CASES: [&str; 3] = ["clock.read", "fifo.put.user", "lifo.put.user"];

fn catalog(unit: &str) -> String {
    let bench = |id| format!("bench metric={id} case={id} from=0 to=1 switches=0");
    session("list", unit, &CASES.map(bench))
}

fn case(id: &str, ticks: u32) -> Vec<String> {
    vec![
        format!("begin case={id} asked=5"),
        format!("plan case={id} samples=5 batch=1"),
        format!("hist {id} {ticks}"),
        format!("proof case={id} name=order counted=0 low=0 high=0"),
        format!("end case={id} status=ok samples=5"),
    ]
}

/// A session that measures all cases.
fn whole(unit: &str, ticks: u32) -> String {
    session("run", unit, &CASES.map(|id| case(id, ticks)).concat())
}

/// A folder, and the tool in an environment that contains nothing else.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed {
            folder: tempfile::tempdir().unwrap(),
        };
        for unit in ["cycles", "instructions"] {
            bed.write(&format!("catalog.{unit}"), &catalog(unit));
            bed.write(&format!("whole.{unit}"), &whole(unit, 100));
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fake.log");
        fs::copy(golden, bed.path("golden")).unwrap();
        // From the start of a session that measures to its third case, and what comes before.
        let golden = bed.read("golden");
        let lines: Vec<&str> = golden.split_inclusive('\n').collect();
        let at = |what: &str| lines.iter().position(|line| line.contains(what)).unwrap();
        let start = at("mode=run");
        let mut ends = (start..lines.len()).filter(|at| lines[*at].contains(" end case="));
        let cut = ends.nth(1).unwrap() + 3;
        bed.write("start", &lines[..cut].concat());
        bed.write("boot", &lines[start..cut].concat());
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A program: a shell script in this folder.
    fn script(&self, name: &str, text: &str) {
        let folder = self.folder.path().display();
        self.write(name, &format!("#!/bin/sh\ncd {folder}\n{text}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A target `t.toml` with a board `a`, whose agent is the script `agent`.
    fn describe(&self, board: &str, more: &str) {
        let folder = self.folder.path().display();
        let board = board.replace("AGENT", &format!("{folder}/agent"));
        let more = more.replace("HERE", &folder.to_string());
        self.write(
            "t.toml",
            &format!(
                "about = \"a test\"\nboard = \"a\"\n{more}\n[boards.a]\nabout = \"a\"\n{board}\n"
            ),
        );
    }

    fn command(&self, arguments: &[&str]) -> Command {
        tool_in(self.folder.path(), arguments)
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.command(arguments).output().unwrap())
    }

    /// A run, as CSV, with a short time-out.
    fn measure(&self, on: &str, more: &[&str]) -> Seen {
        let arguments = ["run", "--format", "csv", "--case-timeout", "1", "--on", on];
        self.run(&[&arguments[..], more].concat())
    }

    /// The only saved run.
    #[track_caller]
    fn saved(&self) -> PathBuf {
        let runs = self.all_saved();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    fn all_saved(&self) -> Vec<PathBuf> {
        saved_runs(&self.path("data/kernmark/runs"))
    }

    /// The facts of the saved run.
    #[track_caller]
    fn facts(&self) -> Vec<String> {
        let text = records(&self.saved());
        let facts = text
            .lines()
            .filter_map(|line| line.split_once(" host name="));
        facts
            .map(|(_, fact)| fact[..fact.len() - 10].to_owned())
            .collect()
    }

    /// Runs a target that breaks down. Its reason must be reported, and its measurements saved and
    /// shown.
    #[track_caller]
    fn expect_breakdown(&self, on: &str, reason: &str) {
        let seen = self.measure(on, &[]);
        seen.expect(1, "", reason);
        let saved = self.saved();
        let shown = self.run(&["show", "--format", "csv", saved.to_str().unwrap()]);
        shown.expect(1, "clock.read,ok", "");
        assert_eq!(shown.out, seen.out);
    }
}

#[test]
fn command_output_is_a_run() {
    let bed = Bed::new();
    let shown = bed.run(&["show", "golden", "--format", "csv"]);
    let seen = bed.measure("exec:cat golden", &[]);
    seen.expect(GOLDEN, "semaphore.take", "saved: ");
    assert_eq!((seen.out, seen.status), (shown.out, shown.status));
    let saved = records(&bed.saved());
    assert!(saved.ends_with(&bed.read("golden")));
    let facts = bed.facts();
    assert!(
        facts.contains(&"target | exec:cat golden".to_owned()),
        "{facts:?}"
    );
    assert!(facts.iter().any(|fact| fact.starts_with("kernel_release")));
    assert!(!facts.iter().any(|fact| fact.starts_with("samples")));
}

#[test]
fn filters_limit_the_report_but_not_the_saved_stream() {
    let bed = Bed::new();
    let seen = bed.measure("exec:cat golden", &["semaphore.take"]);
    seen.expect(GOLDEN, "semaphore.take", "");
    assert!(!seen.out.contains("semaphore.give"), "{}", seen.out);
    let saved = records(&bed.saved());
    assert!(saved.ends_with(&bed.read("golden")));
    let seen = bed.measure("exec:cat golden", &["semafor"]);
    seen.expect(2, "", "nothing is called `semafor`");
    assert_eq!(bed.all_saved().len(), 2);
}

#[test]
fn each_replicate_starts_the_command_again() {
    let bed = Bed::new();
    let seen = bed.measure("exec:cat whole.cycles; echo >> starts", &["--runs", "3"]);
    seen.expect(0, "fifo.put.user,ok", "");
    assert_eq!(bed.read("starts"), "\n\n\n");
}

#[test]
fn failed_command_keeps_its_measurements() {
    for (script, reason) in [
        ("cat start", "stopped in the middle of a session"),
        ("cat start; exec sleep 1000", "no sign of life for 1 s"),
        (
            "cat start; while :; do echo log; sleep 0.1; done",
            "no sign of life for 1 s",
        ),
        (
            "while :; do cat boot; done",
            "restarts in a loop: 3 starts without finishing a session",
        ),
        (
            "cat golden; echo oops >&2; exit 3",
            "the agent exited with status 3: oops",
        ),
    ] {
        Bed::new().expect_breakdown(&format!("exec:{script}"), reason);
    }
}

#[test]
fn noise_is_not_a_measurement() {
    let bed = Bed::new();
    let noise = "exec:while :; do printf 'x\\377y'; sleep 0.01; done";
    let seen = bed.measure(noise, &[]);
    seen.expect(1, "", "bytes came within 1 s, but no record");
    seen.expect(1, "", "nothing was measured");
    bed.measure("exec:true", &[])
        .expect(1, "", "nothing was measured");
    assert!(bed.all_saved().is_empty());
}

#[test]
fn other_protocol_version_is_named() {
    let bed = Bed::new();
    let body = "@km2 0 hello";
    let line = format!("{body} *{:08x}\n", crc32fast::hash(body.as_bytes()));
    bed.write("later", &line);
    bed.measure("exec:cat later", &[]).expect(1, "", "@km2");
}

#[test]
fn file_target_reports_the_same_as_show() {
    let bed = Bed::new();
    bed.write("three", &bed.read("whole.cycles").repeat(3));
    for file in ["golden", "three"] {
        let shown = bed.run(&["show", file, "--format", "csv"]);
        let seen = bed.measure(&format!("file:{file}"), &["--check"]);
        seen.expect(shown.status.unwrap(), "clock.read,ok", "");
        assert_eq!(seen.out, shown.out);
        let mut piped = bed.command(&["run", "--on", "file:-", "--format", "csv", "--check"]);
        piped.stdin(fs::File::open(bed.path(file)).unwrap());
        assert_eq!(Seen::from(piped.output().unwrap()).out, shown.out);
    }
    assert!(bed.all_saved().is_empty());
    let first = bed.run(&["show", "whole.cycles", "--format", "csv"]);
    let seen = bed.measure("file:three", &["--runs", "1"]);
    assert_eq!(seen.out, first.out);
    bed.measure("file:absent", &[])
        .expect(1, "", "cannot read absent");
}

#[test]
fn silent_pipe_times_out() {
    let bed = Bed::new();
    let pipe = bed.path("pipe");
    assert!(Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap()
        .success());
    let mut writer = fs::File::options()
        .read(true)
        .write(true)
        .open(&pipe)
        .unwrap();
    bed.measure("file:pipe", &[])
        .expect(1, "", "no sign of life for 1 s");
    let start = bed.read("golden");
    writer.write_all(&start.as_bytes()[..4000]).unwrap();
    bed.measure("file:pipe", &[])
        .expect(1, "", "no sign of life for 1 s");
}

#[test]
fn target_without_orders_can_be_listed() {
    let bed = Bed::new();
    for on in ["exec:cat golden", "file:golden"] {
        let seen = bed.run(&["list", "--on", on, "--format", "csv", "clock"]);
        seen.expect(0, "clock.read", "");
        assert!(!seen.out.contains("semaphore"), "{}", seen.out);
    }
    let seen = bed.run(&["list", "--on", "exec:cat whole.cycles"]);
    seen.expect(1, "", "printed no catalog");
}

#[test]
fn unsupported_options_are_refused() {
    let bed = Bed::new();
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\"]\norder = \"line\"",
        "",
    );
    for (on, options, why) in [
        (
            "t.toml",
            &["--cpu", "0"][..],
            "--cpu works only for this Linux",
        ),
        (
            "t.toml",
            &["--no-realtime"],
            "--no-realtime works only for this Linux",
        ),
        (
            "exec:cat golden",
            &["--samples", "9"],
            "takes no orders, so --samples has no effect",
        ),
        (
            "file:golden",
            &["--quick"],
            "takes no orders, so --quick has no effect",
        ),
        (
            "nowhere",
            &[],
            "there is no target `nowhere`; there are: linux, freertos",
        ),
        ("freertos:m5", &[], "there is no board `m5`"),
        ("freertos,variant=canarys", &[], "did you mean canaries"),
        ("serial:", &[], "names no device"),
    ] {
        bed.measure(on, options).expect(2, "", why);
    }
}

/// The script of an agent that takes orders as words: it logs them, then obeys.
const OBEY: &str =
    "echo \"$*\" >> orders\ncase \"$*\" in list*) cat catalog.UNIT;; *) cat whole.UNIT;; esac";

fn obey(unit: &str) -> String {
    OBEY.replace("UNIT", unit)
}

#[test]
fn quick_means_one_replicate_on_other_targets() {
    let bed = Bed::new();
    bed.script("agent", &obey("instructions"));
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\nruns = 3",
        "",
    );
    bed.measure("t.toml", &["--quick"])
        .expect(0, "fifo.put.user,ok", "");
    let orders = bed.read("orders");
    let runs: Vec<&str> = orders.lines().filter(|l| l.starts_with("run ")).collect();
    assert_eq!(
        runs,
        ["run samples=100 clock.read fifo.put.user lifo.put.user"]
    );
    let help = bed.run(&["run", "--help"]).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "5 s for this Linux, one replicate of any other target";
    assert!(help.contains(said), "{help}");
}

#[test]
fn described_target_is_built_and_gets_orders_as_arguments() {
    let bed = Bed::new();
    bed.script("agent", &obey("instructions"));
    bed.script(
        "build",
        "echo \"$*\" >> builds; echo image > \"$1/image\"; echo size=12 bytes > \"$1/facts\"",
    );
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\", \"{image}\", \"{board}\"]\norder = \"arguments\"\n\
         [variants.x]\nabout = \"x\"\nbuild = [\"X=1\"]\ncommand = [\"-x\"]",
        "build = [\"HERE/build\", \"{out}\", \"{agent_sources}\", \"{board}\"]\nimage = \"{out}/image\"",
    );
    let script = obey("instructions").replace("\"$*\" in list", "\"$*\" in *list");
    bed.script("agent", &script);
    let seen = bed.measure("t.toml,variant=x", &["fifo"]);
    seen.expect(0, "fifo.put.user,ok", "saved: ");
    let saved = bed.saved();
    let name = saved.file_name().unwrap().to_str().unwrap();
    assert!(name.contains("Z-t-a-x-"), "target, board, variant: {name}");
    let orders = bed.read("orders");
    let orders: Vec<&str> = orders.lines().collect();
    assert_eq!(orders.len(), 3, "{orders:?}");
    assert!(orders[0].ends_with("/image a -x list"), "{orders:?}");
    let order = "/image a -x run samples=1000 clock.read fifo.put.user";
    assert!(
        orders[1].ends_with(order) && orders[2].ends_with(order),
        "{orders:?}"
    );
    let builds = bed.read("builds");
    let words: Vec<&str> = builds.split_whitespace().collect();
    assert_eq!(words[2..], ["a", "X=1"]);
    assert!(Path::new(words[1]).join("core/runner.c").is_file());
    let folder = Path::new(words[0]).file_name().unwrap().to_str().unwrap();
    assert!(folder.starts_with("t-a-x-"), "{folder}");
    let facts = bed.facts();
    for fact in [
        "target | t.toml:a,variant=x",
        "board | a",
        "variant | x",
        "size | 12 bytes",
    ] {
        assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
    }
    let command = facts.iter().find(|fact| fact.starts_with("command | "));
    assert!(command.unwrap().ends_with("/agent image a -x"), "{facts:?}");
    assert!(
        !facts.iter().any(|fact| fact.contains("kernel_release")),
        "{facts:?}"
    );
}

#[test]
fn short_orders_select_cases_by_bits() {
    for (order, script, expected) in [
        (
            "line",
            "read -r order; set -- $order",
            ["list", "run samples=9 cases=a", "run samples=9 cases=a"],
        ),
        (
            "semihosting",
            "shift; order=$(echo \"$1\" | sed 's/^enable=on,target=native,chardev=console,arg=//; s/,arg=/ /g'); set -- $order",
            ["list", "run samples=9 cases=a", "run samples=9 cases=a"],
        ),
    ] {
        let bed = Bed::new();
        bed.script("agent", &format!("{script}\n{}", obey("instructions")));
        bed.describe(
            &format!("unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"{order}\""),
            "",
        );
        let seen = bed.measure("t.toml", &["lifo", "--samples", "9"]);
        seen.expect(0, "lifo.put.user,ok", "");
        let orders = bed.read("orders");
        assert_eq!(orders.lines().collect::<Vec<_>>(), expected, "{order}");
        let seen = bed.measure("t.toml", &["--check"]);
        seen.expect(0, "fifo.put.user,ok", "");
        let last = bed.read("orders");
        assert!(last.ends_with("\nlist\nrun samples=20\n"), "{last}");
    }
}

#[test]
fn described_target_without_orders_is_recorded() {
    let bed = Bed::new();
    bed.script("agent", "cat catalog.cycles whole.cycles");
    bed.describe("unit = \"cycles\"\ncommand = [\"AGENT\"]", "");
    bed.measure("t.toml", &[])
        .expect(0, "fifo.put.user,ok", "saved: ");
    let seen = bed.run(&["list", "--on", "t.toml", "--format", "csv"]);
    seen.expect(0, "lifo.put.user", "");
}

#[test]
fn described_target_failure_is_explained() {
    let endless = "case \"$*\" in list*) cat catalog.cycles;; *) \
                   while :; do head -n 4 whole.cycles; printf '\\n'; sleep 0.2; done;; esac";
    let lingers = "cat catalog.cycles; exec sleep 1000";
    let silent = "case \"$*\" in list*) cat catalog.cycles;; *) \
                  head -n 8 whole.cycles; exec sleep 1000;; esac";
    for (script, bounds, why) in [
        (endless, "", "restarts in a loop"),
        (
            lingers,
            "silence = 1000",
            "did not exit within 2 s after its last record",
        ),
        (
            silent,
            "silence = 1",
            "fifo.put.user: no sign of life for 1 s",
        ),
        (
            silent,
            "limit = 1",
            "fifo.put.user: the session exceeded its limit of 1 s",
        ),
        (
            "cat catalog.instructions",
            "",
            "counts `instructions`, but the target's description",
        ),
        ("cat golden", "", "unit"),
    ] {
        let bed = Bed::new();
        bed.script("agent", script);
        let more = if script == "cat golden" {
            "instructions"
        } else {
            "cycles"
        };
        bed.describe(
            &format!(
                "unit = \"{more}\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\nruns = 1\n{bounds}"
            ),
            "",
        );
        let seen = bed.run(&["run", "--on", "t.toml"]);
        seen.expect(1, "", why);
    }
}

#[test]
fn instruction_counting_target_may_be_slow() {
    let bed = Bed::new();
    bed.script(
        "agent",
        "case \"$*\" in list*) cat catalog.instructions;; \
         *) head -n 8 whole.instructions; sleep 1.5; tail -n +9 whole.instructions;; esac",
    );
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\nlimit = 1\nruns = 1",
        "",
    );
    let seen = bed.run(&["run", "--on", "t.toml", "--format", "csv"]);
    seen.expect(0, "fifo.put.user,ok", "");
}

/// A target whose build writes its settings to `.config` as a kernel's build does: `DEPENDENT` stays
/// off unless `PARENT` is on, and unknown settings are refused.
fn describe_configurable(bed: &Bed) {
    bed.script("agent", &obey("instructions"));
    bed.script(
        "build",
        r#"out=$1; shift
echo "$*" >> builds
parent=n dependent=n text='"x y"'
for word; do
    case $word in
    -DCONFIG_PARENT=*) parent=${word#*=} ;;
    -DCONFIG_DEPENDENT=*) dependent=${word#*=} ;;
    -DCONFIG_TEXT=*) text=${word#*=} ;;
    *) echo "$word: undefined symbol" >&2; exit 1 ;;
    esac
done
{
    echo "CONFIG_PARENT=$parent"
    [ $parent = n ] || echo "CONFIG_DEPENDENT=$dependent"
    echo "CONFIG_TEXT=$text"
    i=0; while [ $i -lt 800 ]; do echo "CONFIG_A_LONG_NAME_$i=y"; i=$((i + 1)); done
} > "$out/.config"
echo "configuration=$(tr '\n' ' ' < "$out/.config")" > "$out/facts""#,
    );
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\n\
         [variants.parent]\nabout = \"x\"\nbuild = [\"-DCONFIG_PARENT=y\"]\n\
         [options.\"CONFIG_*\"]\nabout = \"a setting\"\nbuild = [\"-D{name}={value}\"]",
        "build = [\"HERE/build\", \"{out}\"]",
    );
}

#[test]
fn settings_are_passed_to_the_build_and_checked() {
    let bed = Bed::new();
    describe_configurable(&bed);
    let seen = bed.measure(
        "t.toml,CONFIG_DEPENDENT=y,CONFIG_TEXT=z,variant=parent",
        &[],
    );
    seen.expect(0, "fifo.put.user,ok", "");
    assert_eq!(
        bed.read("builds"),
        "-DCONFIG_DEPENDENT=y -DCONFIG_TEXT=z -DCONFIG_PARENT=y\n"
    );
    let facts = bed.facts();
    let target = "target | t.toml:a,variant=parent,CONFIG_DEPENDENT=y,CONFIG_TEXT=z";
    for fact in [target, "CONFIG_DEPENDENT | y", "CONFIG_TEXT | z"] {
        assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
    }
    for (setting, why) in [
        (
            "CONFIG_DEPENDENT=y",
            "not built as t.toml:a,CONFIG_DEPENDENT=y asks: CONFIG_DEPENDENT=y is not in its configuration; a setting that it depends on may be off",
        ),
        ("CONFIG_TYPO=y", "CONFIG_TYPO=y: undefined symbol"),
    ] {
        let on = format!("t.toml,{setting}");
        bed.measure(&on, &[]).expect(1, "", why);
    }
    // Off is what a setting is that the configuration does not have.
    bed.measure("t.toml,CONFIG_DEPENDENT=n", &[])
        .expect(0, "fifo.put.user,ok", "");
    for (setting, why) in [
        ("CONFIG_TEXT=", "the value of CONFIG_TEXT= must be one word"),
        ("config_text=y", "did you mean CONFIG_TEXT?"),
        (
            "CONFIG_PARENT=n,variant=parent",
            "conflict: one sets -DCONFIG_PARENT=n, another -DCONFIG_PARENT=y",
        ),
    ] {
        bed.measure(&format!("t.toml,{setting}"), &[])
            .expect(2, "", why);
    }
    bed.script("build", "exit 0");
    bed.measure("t.toml,CONFIG_TEXT=q", &[]).expect(
        1,
        "",
        "the build does not report its `configuration`, so whether CONFIG_TEXT took effect is unknown",
    );
}

#[test]
fn settings_are_columns_and_sides_and_their_differences_are_shown() {
    let bed = Bed::new();
    describe_configurable(&bed);
    let columns = ["--variant", "default", "--variant", "CONFIG_TEXT=z"];
    let seen = bed.run(&[&["matrix", "--on", "t.toml"], &columns[..]].concat());
    seen.expect(0, "CONFIG_TEXT=z", "");
    let seen = bed.run(&[
        "ab",
        "--on",
        "t.toml",
        "default",
        "CONFIG_PARENT=y",
        "-o",
        "x",
    ]);
    seen.expect(0, "settings CONFIG_PARENT n -> y\n", "");
    assert_eq!(seen.out.matches("CONFIG_").count(), 2, "{}", seen.out);
    let saved = bed.read("x-base.km");
    assert!(saved.lines().all(|line| line.len() <= 240));
    for format in ["json", "kcidb", "go", "openmetrics", "junit"] {
        let seen = bed.run(&["show", "--format", format, "x-base.km"]);
        assert_eq!(seen.status, Some(0), "{format}: {}", seen.err);
        let configurations = seen.out.matches("CONFIG_A_LONG_NAME_799=y").count();
        assert!(configurations <= 1, "{format}: {configurations}");
    }
    let seen = bed.run(&["show", "x-base.km"]);
    assert!(!seen.out.contains("CONFIG_A_LONG"), "{}", seen.out);
    let seen = bed.run(&["compare", "--format", "json", "x-base.km", "x-new.km"]);
    let all: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let different = all["differences"].as_array().unwrap();
    assert_eq!(different.len(), 1, "{different:?}");
    assert_eq!(different[0]["name"], "CONFIG_PARENT");
}

#[test]
fn unlisted_board_is_flashed_and_read_over_a_serial_line() {
    let bed = Bed::new();
    let (mut board, device) = line();
    let _held = hold(&device);
    bed.script("build", "echo \"$1\" > \"$2/board\"");
    bed.script("flash", "echo \"$1 $(cat \"$2/board\")\" >> flashed");
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\n[boards.\"*\"]\nabout = \"any\"\nunit = \"cycles\"\norder = \"line\"\nruns = 1\nsilence = 20\nflash = [\"HERE/flash\", \"{board}\", \"{out}\"]"
            .replace("HERE", bed.folder.path().to_str().unwrap())
            .as_str(),
        "build = [\"HERE/build\", \"{board}\", \"{out}\"]",
    );
    let talker = thread::spawn(move || {
        for answer in [catalog("cycles"), whole("cycles", 7)] {
            let mut byte = [0];
            while byte != *b"\n" {
                board.read_exact(&mut byte).unwrap();
            }
            board.write_all(answer.as_bytes()).unwrap();
        }
        board
    });
    let on = format!("t.toml:nrf@1.0/cpu,serial={device}");
    let seen = bed.run(&["run", "--format", "csv", "--on", &on]);
    seen.expect(0, "fifo.put.user,ok", "saved: ");
    let _board = talker.join().unwrap();
    assert_eq!(bed.read("flashed"), "nrf@1.0/cpu nrf@1.0/cpu\n");
    let saved = bed.saved();
    let name = saved.file_name().unwrap().to_str().unwrap();
    assert!(name.contains("Z-t-nrf_1_0_cpu-"), "{name}");
    assert!(bed.facts().contains(&"board | nrf@1.0/cpu".to_owned()));
    bed.measure("t.toml:b", &[]).expect(
        2,
        "",
        "board `b` needs the serial line that it prints its records on: serial=DEVICE; these boards are known: a",
    );
    bed.measure(&format!("t.toml:a,serial={device}"), &[])
        .expect(2, "", "board `a` has no serial line");
    let seen = bed.run(&["targets"]);
    assert_eq!(seen.status, Some(0), "{}", seen.err);
}

#[test]
fn here_is_the_folder_of_the_description() {
    let bed = Bed::new();
    for (folder, ticks) in [("base", 100), ("new", 200)] {
        fs::create_dir(bed.path(folder)).unwrap();
        bed.write(&format!("{folder}/ticks"), &whole("instructions", ticks));
        bed.write(
            &format!("{folder}/x.toml"),
            "about = \"x\"\nboard = \"a\"\nbuild = [\"cp\", \"{here}/ticks\", \"{out}/ticks\"]\n\
             image = \"{out}/ticks\"\n[boards.a]\nabout = \"a\"\nunit = \"instructions\"\n\
             command = [\"{here}/../agent\", \"{image}\"]\norder = \"arguments\"\n",
        );
    }
    let script = "case \"$2\" in list) cat catalog.instructions;; *) cat \"$1\";; esac";
    bed.script("agent", script);
    let seen = bed.run(&["ab", "base/x.toml", "new/x.toml"]);
    seen.expect(0, "+100 %", "");
}

#[test]
fn what_a_probe_prints_makes_another_build() {
    let bed = Bed::new();
    bed.script("agent", &obey("instructions"));
    bed.script(
        "build",
        "echo >> \"$1/builds\"; wc -l < \"$1/builds\" >> builds",
    );
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\nruns = 1\n\
         probe = [\"sh\", \"-c\", 'test -n \"$TREE\" && echo $TREE || { echo no tree: set TREE >&2; exit 1; }']",
        "build = [\"HERE/build\", \"{out}\"]",
    );
    for tree in ["one", "two", "one"] {
        let mut command = bed.command(&["run", "--on", "t.toml", "--format", "csv"]);
        let seen = Seen::from(command.env("TREE", tree).output().unwrap());
        seen.expect(0, "clock.read,ok", "");
    }
    assert_eq!(bed.read("builds"), "1\n1\n2\n");
    fs::create_dir_all(bed.path("config/kernmark/targets")).unwrap();
    let user = bed.path("config/kernmark/targets/mine.toml");
    fs::copy(bed.path("t.toml"), user).unwrap();
    let seen = bed.run(&["targets"]);
    seen.expect(0, "cannot be used here: no tree: set TREE\n", "");
    let seen = bed.run(&["targets", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let mut all = all.as_array().unwrap().iter();
    let mine = all.find(|target| target["name"] == "mine").unwrap();
    assert_eq!(mine["boards"][0]["unusable"], "no tree: set TREE");
}

#[test]
fn missing_programs_are_named_with_their_install_command() {
    let bed = Bed::new();
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\"]\n\
         needs = { no-such-b = \"package-b\", no-such-a = \"package-a\", sh = \"dash\", no-such-c = \"\" }",
        "",
    );
    let seen = bed.measure("t.toml", &[]);
    seen.expect(1, "", "no-such-a, no-such-b, no-such-c (not in Debian)");
    let command = "apt-get install --no-install-recommends package-a package-b\n";
    assert!(seen.err.ends_with(command), "{}", seen.err);
}

#[test]
fn failed_build_is_explained() {
    let bed = Bed::new();
    bed.script(
        "build",
        "echo 'x.mk:1: *** there is no kernel here.  Stop.' >&2; exit 2",
    );
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\"]",
        "build = [\"HERE/build\"]",
    );
    let seen = bed.measure("t.toml", &[]);
    seen.expect(1, "", "failed: there is no kernel here\n");
    bed.script("build", "exit 0");
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\"]",
        "build = [\"HERE/build\"]\nimage = \"{out}/image\"",
    );
    bed.measure("t.toml", &[])
        .expect(1, "", "succeeded but did not create it");
    bed.describe("unit = \"cycles\"\ncommand = [\"./no-such\"]", "");
    bed.measure("t.toml", &[])
        .expect(1, "", "cannot start ./no-such");
    bed.describe("unit = \"cycles\"\ncomand = [\"AGENT\"]", "");
    bed.measure("t.toml", &[])
        .expect(2, "", "t.toml:7: unknown field `comand`");
}

#[test]
fn inexact_emulator_is_reported() {
    let bed = Bed::new();
    for n in 1..=3 {
        bed.write(&format!("whole.{n}"), &whole("instructions", 100 + n));
    }
    bed.script(
        "agent",
        "echo >> starts\ncase \"$*\" in list) cat catalog.instructions;; \
         *) cat whole.$(wc -l < starts);; esac",
    );
    bed.describe(
        "unit = \"instructions\"\ncommand = [\"AGENT\"]\norder = \"arguments\"",
        "",
    );
    let seen = bed.measure("t.toml", &[]);
    seen.expect(
        0,
        "",
        "should be exact, but its replicates differ in clock.read, fifo.put.user, lifo.put.user",
    );
}

#[test]
fn targets_are_listed_with_their_boards_and_variants() {
    let bed = Bed::new();
    fs::create_dir_all(bed.path("config/kernmark/targets")).unwrap();
    bed.describe("unit = \"cycles\"\ncommand = [\"AGENT\"]", "");
    fs::copy(
        bed.path("t.toml"),
        bed.path("config/kernmark/targets/mine.toml"),
    )
    .unwrap();
    let seen = bed.run(&["targets"]);
    for name in [
        "linux",
        "freertos:m4",
        "variant=canaries-strong",
        "mine:a",
        "serial:DEVICE",
    ] {
        seen.expect(0, name, "");
    }
    let seen = bed.run(&["targets", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let named = |name: &str| {
        let mut all = all.as_array().unwrap().iter();
        all.find(|target| target["name"] == name).unwrap()
    };
    assert_eq!(named("freertos")["default_board"], "m4");
    assert_eq!(named("linux-vm")["options"][2]["default"], "cloud");
    assert_eq!(named("mine")["boards"][0]["name"], "a");
    bed.script("agent", "cat whole.cycles");
    bed.measure("mine:a", &[]).expect(0, "clock.read,ok", "");
    bed.write("config/kernmark/targets/broken.toml", "about = 1\n");
    bed.run(&["targets"]).expect(1, "mine:a", "broken.toml:1: ");
}

#[test]
fn first_usable_board_is_chosen() {
    let bed = Bed::new();
    bed.script("agent", &obey("cycles"));
    let boards = |probe: &str| {
        let folder = bed.folder.path().display();
        let mut text = "about = \"a test\"\nboard = [\"a\", \"b\"]\n".to_owned();
        for (name, probe) in [("a", probe), ("b", "exit 0")] {
            let lines = [
                format!("[boards.{name}]\nabout = \"x\"\nunit = \"cycles\""),
                format!("probe = [\"sh\", \"-c\", \"{probe}\"]"),
                format!("command = [\"{folder}/agent\"]\norder = \"arguments\"\n"),
            ];
            text += &lines.join("\n");
        }
        bed.write("t.toml", &text);
    };
    boards("echo it sleeps >&2; exit 1");
    bed.measure("t.toml", &["--runs", "1"])
        .expect(0, "clock.read,ok", "");
    assert!(bed.facts().contains(&"board | b".to_owned()));
    bed.measure("t.toml:a", &[])
        .expect(1, "", "board `a` cannot be used here: it sleeps");
    boards("exit 0");
    bed.measure("t.toml", &["--runs", "1", "-o", "second"])
        .expect(0, "clock.read,ok", "");
    assert!(bed.read("second").contains(" name=board | a "));
}

#[test]
fn options_and_orders_can_be_parts_of_words() {
    let bed = Bed::new();
    bed.script(
        "agent",
        "echo \"$1\" >> words\ncase \"$1\" in *list*) cat catalog.cycles;; *) cat whole.cycles;; esac",
    );
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\", \"{more} -- {order}\"]\norder = \"command\"\nruns = 1\n\
         [options.more]\nabout = \"x\"\ndefault = \"none\"",
        "",
    );
    bed.measure("t.toml,more=a=1,,2 b", &["fifo"])
        .expect(0, "fifo.put.user,ok", "");
    assert_eq!(
        bed.read("words"),
        "a=1,2 b -- list\na=1,2 b -- run samples=500 cases=c\n"
    );
    let facts = bed.facts();
    assert!(facts.contains(&"more | a=1,2 b".to_owned()), "{facts:?}");
    assert!(facts.contains(&"target | t.toml:a,more=a=1,,2 b".to_owned()));
}

#[test]
fn folder_has_an_absolute_path_and_its_revision_is_recorded() {
    let bed = Bed::new();
    bed.script("agent", &obey("cycles"));
    bed.describe(
        "unit = \"cycles\"\ncommand = [\"AGENT\"]\norder = \"arguments\"\nruns = 1\n\
         [options.source]\nabout = \"x\"\nfolder = true\nbuild = [\"{source}\"]",
        "build = [\"sh\", \"-c\", \"echo $0 >> built\"]",
    );
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(arguments)
            .current_dir(bed.path("tree"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    fs::create_dir_all(bed.path("tree/kernel")).unwrap();
    fs::create_dir_all(bed.path("tree/ignored")).unwrap();
    bed.write("tree/kernel/a.c", "1");
    bed.write("tree/.gitignore", "ignored\n");
    std::os::unix::fs::symlink("tree/kernel", bed.path("link")).unwrap();
    git(&["init", "--quiet"]);
    let real = bed.folder.path().canonicalize().unwrap();
    let real = real.to_str().unwrap();
    // The revision that a run of this source records.
    let revision = |source: &str, folder: &str| {
        let path = format!("{real}/{folder}");
        bed.measure(&format!("t.toml,source={source}"), &["fifo"])
            .expect(0, "fifo.put.user,ok", "");
        assert!(bed.read("built").ends_with(&format!("{path}\n")));
        let facts = bed.facts();
        for fact in [
            format!("target | t.toml:a,source={path}"),
            format!("source | {path}"),
        ] {
            assert!(facts.contains(&fact), "{facts:?}");
        }
        fs::remove_file(bed.saved()).unwrap();
        let name = "source_revision | ";
        facts
            .iter()
            .find_map(|fact| Some(fact.strip_prefix(name)?.to_owned()))
    };
    assert_eq!(revision("tree/kernel", "tree/kernel"), None);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let commit = git(&["describe", "--always"]);
    assert_eq!(revision("tree/kernel", "tree/kernel"), Some(commit));
    git(&["tag", "--annotate", "v1", "--message", "v1"]);
    assert_eq!(revision("link", "tree/kernel").as_deref(), Some("v1"));
    bed.write("tree/kernel/a.c", "2");
    let changed = revision("./tree/../tree", "tree");
    assert_eq!(changed.as_deref(), Some("v1-dirty"));
    assert_eq!(revision("tree/ignored", "tree/ignored"), None);
    for (source, why) in [
        ("nowhere", "source=nowhere: No such file or directory"),
        ("golden", "source=golden: it is not a folder"),
    ] {
        bed.measure(&format!("t.toml,source={source}"), &[])
            .expect(2, "", why);
    }
}

#[test]
fn console_explains_why_a_machine_stopped() {
    for (end, reason) in [
        ("exit 0", "the machine stopped before its agent finished"),
        ("exec sleep 1000", "no sign of life for 1 s"),
    ] {
        let bed = Bed::new();
        bed.script(
            "agent",
            &format!(
                "case \"$2\" in list) cat catalog.cycles; exit;; esac\n\
                 head -n 8 whole.cycles; printf 'boot\\nkernel panic: no more\\na\\nb\\nc\\n' > $1; {end}"
            ),
        );
        bed.describe(
            "unit = \"cycles\"\ncommand = [\"AGENT\", \"{console}\"]\norder = \"arguments\"\nruns = 1",
            "",
        );
        let seen = bed.measure("t.toml", &[]);
        seen.expect(1, "clock.read,ok", reason);
        seen.expect(
            1,
            "",
            "its console says: kernel panic: no more / ... / a / b / c",
        );
    }
}

/// A serial line: the board's end of it, and the device that the tool opens.
fn line() -> (fs::File, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    (fs::File::from(master), name)
}

/// Keeps a line open between two readers.
fn hold(device: &str) -> fs::File {
    let mut options = fs::File::options();
    options.read(true).write(true).open(device).unwrap()
}

/// Waits until the tool has set up the line, which then no longer echoes.
fn wait_for_reader(board: &fs::File) {
    for _ in 0..2000 {
        let modes = tcgetattr(board).unwrap().local_modes;
        if !modes.contains(LocalModes::ECHO) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody opens the line");
}

#[test]
fn talking_board_is_recorded() {
    let bed = Bed::new();
    let (mut board, device) = line();
    // The tool starts listening in the middle of a session.
    let golden = bed.read("golden");
    let talk = golden[golden.len() - 1000..].to_owned() + &golden;
    let held = hold(&device);
    let talker = thread::spawn(move || {
        wait_for_reader(&board);
        board.write_all(talk.as_bytes()).unwrap();
        board
    });
    let sessions = golden.matches("mode=run").count().to_string();
    let on = format!("serial:{device}@9600");
    let seen = bed.measure(&on, &["--runs", &sessions]);
    seen.expect(GOLDEN, "semaphore.take", "saved: ");
    let board = talker.join().unwrap();
    // The line echoes again: its settings are restored.
    let modes = tcgetattr(&board).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ECHO));
    drop(held);
    let shown = bed.run(&["show", "golden", "--format", "csv"]);
    assert_eq!(seen.out, shown.out);
    let facts = bed.facts();
    assert!(
        facts.contains(&format!("target | serial:{device}@9600")),
        "{facts:?}"
    );
}

#[test]
fn board_takes_orders_over_the_serial_line() {
    let bed = Bed::new();
    let (mut board, device) = line();
    let _held = hold(&device);
    bed.describe(
        "unit = \"cycles\"\nserial = \"/dev/no-such-line\"\norder = \"line\"\nruns = 2\nsilence = 20\nreset = [\"HERE/reset\", \"{baud}\"]"
            .replace("HERE", bed.folder.path().to_str().unwrap())
            .as_str(),
        "",
    );
    bed.script("reset", "echo \"$*\" >> resets");
    let answers = [catalog("cycles"), whole("cycles", 7), whole("cycles", 8)];
    let talker = thread::spawn(move || {
        let mut heard = Vec::new();
        for answer in answers {
            let mut order = Vec::new();
            let mut byte = [0];
            while byte != *b"\n" {
                board.read_exact(&mut byte).unwrap();
                order.push(byte[0]);
            }
            heard.push(String::from_utf8(order).unwrap());
            board.write_all(b"boot\n").unwrap();
            board.write_all(answer.as_bytes()).unwrap();
        }
        (heard, board)
    });
    let on = format!("t.toml,serial={device}");
    let seen = bed.run(&["run", "--format", "csv", "--on", &on, "fifo"]);
    seen.expect(0, "fifo.put.user,ok", "saved: ");
    let (heard, _board) = talker.join().unwrap();
    assert_eq!(
        heard,
        [
            "list\n",
            "run samples=500 cases=c\n",
            "run samples=500 cases=c\n"
        ]
    );
    assert_eq!(bed.read("resets"), "115200\n115200\n115200\n");
    let seen = bed.measure("t.toml", &[]);
    seen.expect(
        1,
        "",
        "/dev/no-such-line does not exist; is the board connected?",
    );
}

#[test]
fn serial_line_failures_are_reported() {
    let bed = Bed::new();
    bed.measure("serial:/dev/null", &[])
        .expect(1, "", "is not a serial line");
    let (mut board, device) = line();
    let held = hold(&device);
    let on = format!("serial:{device}");
    let noise = thread::spawn(move || {
        for _ in 0..15 {
            thread::sleep(Duration::from_millis(100));
            board.write_all(b"\xfe\x81\xff").unwrap();
        }
        board
    });
    let seen = bed.measure(&on, &[]);
    seen.expect(1, "", "check the baud rate: the line was read at 115200");
    let mut board = noise.join().unwrap();
    bed.measure(&on, &[]).expect(1, "", "nothing was measured");
    let start = bed.read("start");
    let leaver = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        board.write_all(start.as_bytes()).unwrap();
        // Allows time to read it: unread data is lost with the line.
        thread::sleep(Duration::from_millis(300));
        drop(board);
    });
    bed.expect_breakdown(&on, "the connection was lost");
    leaver.join().unwrap();
    drop(held);
}
