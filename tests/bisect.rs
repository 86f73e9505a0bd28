// SPDX-License-Identifier: MIT OR Apache-2.0

//! `git bisect run kernmark`: the commit that made a kernel slower is found, with FreeRTOS, whose
//! sources get a history of their own.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/freertos.rs"]
mod freertos;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{here, skipped, succeeds};
use freertos::lacks_freertos;
use seen::Seen;
use serde_json::Value;
use tool::tool_in;

/// The metric that the commits change.
const METRIC: &str = "semaphore.give.immediate.kernel";

/// The files of the kernel that an image for the default board is built from.
const FILES: [&str; 10] = [
    "tasks.c",
    "queue.c",
    "list.c",
    "event_groups.c",
    "stream_buffer.c",
    "timers.c",
    "portable/MemMang/heap_4.c",
    "portable/GCC/ARM_CM4F/port.c",
    "portable/GCC/ARM_CM4F/portmacro.h",
    "include",
];

/// A place in `xQueueGenericSend`, which gives a semaphore.
const IN_GIVE: &str = "    traceENTER_xQueueGenericSend(";

/// The call of `xSemaphoreGive`, in a header.
const GIVE: &str = "#define xSemaphoreGive( xSemaphore )    xQueueGenericSend(";

/// The sources of the kernel.
fn sources() -> PathBuf {
    if let Some(path) = env::var_os("FREERTOS_KERNEL_PATH") {
        return path.into();
    }
    let fetch = &mut Command::new(here("targets/sources/fetch"));
    let crate_folder = succeeds(fetch.arg("freertos-next"));
    Path::new(crate_folder.trim()).join("FreeRTOS-Kernel")
}

/// A folder with the tool's files, and a repository with the kernel's sources in `kernel`.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    /// `None` if this cannot be tested here.
    fn new(what: &str) -> Option<Bed> {
        if lacks_freertos(what) {
            return None;
        }
        if Command::new("git").arg("--version").output().is_err() {
            skipped(what, "there is no git");
            return None;
        }
        let bed = Bed {
            folder: tempfile::tempdir().unwrap(),
        };
        let kernel = bed.path("kernel");
        for name in FILES {
            let to = kernel.join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            succeeds(
                Command::new("cp")
                    .arg("-r")
                    .arg(sources().join(name))
                    .arg(to),
            );
        }
        bed.git(&["init", "--quiet"]);
        bed.commit("as released");
        Some(bed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The tool in the kernel's folder.
    fn tool(&self, arguments: &[&str]) -> Command {
        let mut tool = tool_in(self.folder.path(), arguments);
        tool.current_dir(self.path("kernel"));
        tool
    }

    fn run(&self, arguments: &[&str]) -> Seen {
        Seen::from(self.tool(arguments).output().unwrap())
    }

    /// A command of git in the kernel's folder. The tool has the same environment.
    fn git_command(&self, arguments: &[&str]) -> Command {
        let tool = self.tool(&[]);
        let environment = tool.get_envs();
        let mut git = Command::new("git");
        git.args(arguments)
            .current_dir(self.path("kernel"))
            .env_clear()
            .envs(environment.filter_map(|(name, value)| Some((name, value?))));
        for name in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{name}_NAME"), "Test");
            git.env(format!("GIT_{name}_EMAIL"), "test@example.org");
        }
        git
    }

    fn git(&self, arguments: &[&str]) -> String {
        succeeds(&mut self.git_command(arguments)).trim().to_owned()
    }

    /// Commits everything; returns the commit.
    fn commit(&self, subject: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Replaces the first `old` in a file of the kernel.
    fn edit(&self, name: &str, old: &str, new: &str) {
        let path = self.path("kernel").join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{name} has no {old}");
        fs::write(&path, text.replacen(old, new, 1)).unwrap();
    }

    /// Adds instructions that do nothing to the giving of a semaphore.
    fn slow_down(&self, nops: usize) {
        let nops = "nop\\n".repeat(nops);
        let slow = format!("    __asm volatile ( \"{nops}\" );\n{IN_GIVE}");
        self.edit("queue.c", IN_GIVE, &slow);
    }

    /// A budget of this many instructions.
    fn budget(&self, instructions: f64) -> String {
        let path = self.path(&format!("{instructions}.toml"));
        let limit =
            format!("[[limit]]\nmetric = \"{METRIC}\"\nmedian = \"{instructions} instructions\"\n");
        fs::write(&path, limit).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Measures the metric; returns its median in instructions, and the revision of the sources.
    fn measure(&self, on: &str) -> (f64, String) {
        let seen = self.run(&["run", METRIC, "--on", on, "--samples", "5", "--json"]);
        assert_eq!(seen.status, Some(0), "{seen:#?}");
        let run: Value = serde_json::from_str(&seen.out).unwrap();
        let metrics = run["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["id"] == METRIC);
        let median = metric.unwrap()["median"].as_f64().unwrap();
        let revision = run["host"]["source_revision"].as_str().unwrap();
        (median, revision.to_owned())
    }
}

#[test]
fn what_a_checkout_changed_is_built_again() {
    let Some(bed) = Bed::new("kernmark run --on freertos,source=FOLDER") else {
        return;
    };
    let measured = || bed.measure("freertos:m4,source=.");
    let short = || bed.git(&["rev-parse", "--short", "HEAD"]);
    let released = bed.git(&["rev-parse", "HEAD"]);
    let (good, revision) = measured();
    assert_eq!(revision, short());
    bed.slow_down(3);
    assert_eq!(measured(), (good + 3.0, format!("{}-dirty", short())));
    let slow = bed.commit("slower");
    assert_eq!(measured(), (good + 3.0, short()));
    // The agent calls what a header defines.
    bed.git(&["checkout", "--quiet", &released]);
    let slower = GIVE.replace(
        "xQueue",
        "__extension__ ({ __asm volatile ( \"nop\" ); }), xQueue",
    );
    bed.edit("include/semphr.h", GIVE, &slower);
    bed.commit("slower in a header");
    assert_eq!(measured(), (good + 1.0, short()));
    bed.git(&["checkout", "--quiet", &slow]);
    assert_eq!(measured(), (good + 3.0, short()));
    bed.git(&["checkout", "--quiet", &released]);
    assert_eq!(measured(), (good, short()));
    // No object of an earlier build may hide that this does not compile.
    bed.git(&["rm", "--quiet", "include/stack_macros.h"]);
    bed.run(&["run", METRIC, "--on", "freertos:m4,source=."])
        .expect(1, "", "#include \"stack_macros.h\"");
}

#[test]
fn git_bisect_finds_the_slow_commit_and_skips_a_broken_one() {
    let Some(bed) = Bed::new("git bisect run kernmark") else {
        return;
    };
    let good = bed.git(&["rev-parse", "HEAD"]);
    let kernmark = env!("CARGO_BIN_EXE_kernmark");
    let measure = [
        "run",
        METRIC,
        "--on",
        "freertos:m4,source=.",
        "--samples",
        "5",
    ];
    bed.run(&[&measure[..], &["-o", "../good.km"]].concat())
        .expect(0, "", "saved: ../good.km");
    let (cost, _) = bed.measure("freertos:m4,source=.");
    bed.git(&["worktree", "add", "--quiet", "../good", &good]);
    let mut commits = Vec::new();
    for number in 1..12 {
        match number {
            // git starts in the middle, at one of these two.
            5 => bed.edit("list.c", "", "void broken;\n"),
            7 => bed.edit("list.c", "void broken;\n", ""),
            9 => bed.slow_down(3),
            _ => {}
        }
        bed.edit("list.c", "", &format!("/* {number} */\n"));
        commits.push(bed.commit(&format!("change {number}")));
    }
    let [broken, broken_too, slow] = [5, 6, 9].map(|number| &commits[number - 1]);
    let budget = bed.budget(cost);
    let budgeted = [
        &[kernmark],
        &measure[..],
        &["--budget", &budget, "--bisect"],
    ]
    .concat();
    let measure = measure.join(" ");
    let compared = format!("{kernmark} {measure} -o - | {kernmark} compare ../good.km - --bisect");
    let both = "ab --on freertos:m4 source=../good source=. --samples 5 --bisect";
    let both = format!("{kernmark} {both} {METRIC}");
    for command in [
        &budgeted[..],
        &["sh", "-c", &compared],
        &["sh", "-c", &both],
    ] {
        bed.git(&["bisect", "start", "HEAD", &good]);
        let said = bed.git(&[&["bisect", "run"], command].concat());
        let log = bed.git(&["bisect", "log"]);
        let found = bed.git(&["rev-parse", "refs/bisect/bad"]);
        bed.git(&["bisect", "reset"]);
        assert_eq!(found, *slow, "{command:?}: {said}");
        let skips = |commit: &String| log.contains(&format!("# skip: [{commit}]"));
        assert!(skips(broken) || skips(broken_too), "{log}");
    }
}

#[test]
fn exit_status_is_what_git_bisect_expects() {
    let Some(bed) = Bed::new("--bisect") else {
        return;
    };
    let on = ["--on", "freertos:m4,source=.", "--samples", "5"];
    let run = |more: &[&str]| bed.run(&[&["run"], &on[..], more].concat()).status;
    let within = bed.budget(1e6);
    let judged = ["--bisect", "--budget", &within];
    let compare = |base: &str, new: &str| bed.run(&["compare", base, new, "--bisect"]).status;
    let quick = ["--quick", "--bisect", "-o", "once.km", METRIC];

    let good = Some(0);
    assert_eq!(run(&[&judged[..], &[METRIC]].concat()), good);
    assert_eq!(run(&["--bisect", "-o", "a.km", METRIC]), good);
    bed.slow_down(3);
    assert_eq!(run(&["--bisect", "-o", "b.km", METRIC]), good);
    assert_eq!(compare("b.km", "a.km"), good);

    let bad = Some(1);
    assert_eq!(
        run(&["--bisect", "--budget", &bed.budget(1.0), METRIC]),
        bad
    );
    let compared = bed.run(&["compare", "a.km", "b.km"]);
    let head = bed.git(&["rev-parse", "--short", "HEAD"]);
    compared.expect(0, &format!(" is now source {head}-dirty\n"), "");
    assert_eq!(compare("a.km", "b.km"), bad);

    let skipped = Some(125);
    // The budget's metric is not measured; there is no such metric.
    assert_eq!(run(&[&judged[..], &["mutex"]].concat()), skipped);
    assert_eq!(run(&[&judged[..], &["nosuch"]].concat()), skipped);
    assert_eq!(compare("a.km", "nowhere.km"), skipped);
    // One replicate decides nothing.
    let arguments = [&["run"], &on[..2], &quick[..]].concat();
    assert_eq!(bed.run(&arguments).status, good);
    assert_eq!(compare("a.km", "once.km"), skipped);
    // Time is never compared with instructions.
    let golden = here("tests/golden/fake.log");
    assert_eq!(compare("a.km", golden.to_str().unwrap()), skipped);
    bed.edit("list.c", "", "void broken;\n");
    assert_eq!(run(&[&judged[..], &[METRIC]].concat()), skipped);

    let stopped = Some(255);
    assert_eq!(run(&["--bisect", METRIC]), stopped);
    assert_eq!(run(&[&judged[..], &["--nosuch"]].concat()), stopped);
    assert_eq!(run(&["--bisect", "-o", "a.km"]), stopped);
    assert_eq!(run(&["--bisect", "--budget", "nowhere.toml"]), stopped);
    assert_eq!(compare("nowhere.km", "a.km"), stopped);
    let nowhere = ["run", "--on", "freertos,source=nowhere"];
    assert_eq!(bed.run(&[&nowhere[..], &judged].concat()).status, stopped);
}

#[test]
fn why_names_the_slow_function() {
    let Some(bed) = Bed::new("kernmark why --against") else {
        return;
    };
    bed.git(&["worktree", "add", "--quiet", "../good", "HEAD"]);
    bed.slow_down(3);
    bed.commit("slower");
    let against = |folder: &str, more: &[&str]| {
        let base = format!("freertos:m4,source={folder}");
        let target = ["--on", "freertos:m4,source=.", "--against", &base];
        bed.run(&[&["why", METRIC, "--samples", "5"], &target[..], more].concat())
    };
    let seen = against("../good", &[]);
    seen.expect(0, "xQueueGenericSend", "");
    assert!(seen.out.contains("+3"), "{seen:#?}");
    assert_eq!(against("../good", &["--bisect"]).status, Some(1));
    assert_eq!(against(".", &["--bisect"]).status, Some(0));
    assert_eq!(against(".", &["--bisect", "--path", "9"]).status, Some(125));
    assert_eq!(against("nowhere", &["--bisect"]).status, Some(255));
}
