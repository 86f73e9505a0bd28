// SPDX-License-Identifier: MIT OR Apache-2.0

//! What other projects' CI calls: `ci/compare.sh` with scripted agents, and the files that call it.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/seen.rs"]
mod seen;
#[path = "common/tool.rs"]
mod tool;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::here;
use kernmark::stream::record;
use seen::Seen;
use serde_json::Value;
use tool::tool_in;

/// A whole session that measures one metric in instructions.
fn session(count: u64) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (kind, words) in [
        (
            "hello",
            "port=fake arch=none mode=run clock=c unit=instructions hz=0 realtime=no",
        ),
        ("bench", "metric=a.b case=a.b from=0 to=1 switches=0"),
        ("begin", "case=a.b asked=5"),
        ("plan", "case=a.b samples=5 batch=1"),
        ("hist", ""),
        ("proof", "case=a.b name=order counted=0 low=0 high=0"),
        ("end", "case=a.b status=ok samples=5"),
        ("bye", "records=7"),
    ] {
        let seq = lines.len() as u64;
        if kind == "hist" {
            lines.extend(record::write_hist(seq, "a.b", 0, &[(count, 5)]));
        } else {
            let pairs: Vec<_> = words.split(' ').filter_map(|w| w.split_once('=')).collect();
            lines.extend(record::write(seq, kind, &pairs, None));
        }
    }
    lines.join("\n") + "\n"
}

/// The checkout of a project whose kernel costs 100 instructions in its base and 103 now.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new() -> Job {
        let job = Job {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::write(job.path("base.log"), session(100)).unwrap();
        fs::write(job.path("new.log"), session(103)).unwrap();
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A step of a job on GitHub with these variables.
    fn step(&self, variables: &[(&str, &str)]) -> Seen {
        for file in ["summary", "outputs"] {
            fs::write(self.path(file), "").unwrap();
        }
        // The environment of the tool, away from its user's.
        let tool = tool_in(self.folder.path(), &[]);
        let variables = variables
            .iter()
            .map(|(name, value)| (format!("KERNMARK_{name}"), value));
        let output = Command::new(here("ci/compare.sh"))
            .current_dir(self.folder.path())
            .env_clear()
            .envs(
                tool.get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("KERNMARK_PROGRAM", tool.get_program())
            .env("GITHUB_STEP_SUMMARY", self.path("summary"))
            .env("GITHUB_OUTPUT", self.path("outputs"))
            .envs(variables)
            .output()
            .unwrap();
        Seen::from(output)
    }

    /// The value of an output of the step.
    fn output(&self, name: &str) -> String {
        let outputs = self.text("outputs");
        let value = outputs
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default().to_owned()
    }
}

const BASE: &str = "exec:cat base.log";
const NEW: &str = "exec:cat new.log";

#[test]
fn equal_sides_pass_and_leave_all_results() {
    let job = Job::new();
    let seen = job.step(&[("BASE", BASE), ("NEW", BASE)]);
    seen.expect(0, "1 equivalent", "");
    assert!(job.text("summary").contains("1 equivalent"));
    assert_eq!(job.output("status"), "0");
    assert_eq!(job.output("verdict"), "passed");
    assert_eq!(job.output("results"), "kernmark-results");
    assert_eq!(job.output("base-run"), "kernmark-results/run-base.km");
    assert_eq!(job.output("new-run"), "kernmark-results/run-new.km");
    let report: Value = serde_json::from_str(&job.text("kernmark-results/report.json")).unwrap();
    assert!(report["metrics"].is_array(), "{report}");
    assert!(job.text("kernmark-results/report.md").contains("`a.b`"));
    let junit = job.text("kernmark-results/junit.xml");
    roxmltree::Document::parse(&junit).unwrap();
    for run in ["base-run", "new-run"] {
        assert!(job.path(&job.output(run)).is_file());
    }
}

#[test]
fn a_regression_fails_and_the_summary_names_it() {
    let job = Job::new();
    let seen = job.step(&[("BASE", BASE), ("NEW", NEW)]);
    seen.expect(3, "The gate fails: 1 metric regressed", "");
    let summary = job.text("summary");
    assert!(summary.contains("| `a.b` | regressed |"), "{summary}");
    assert_eq!(job.output("status"), "3");
    assert_eq!(job.output("verdict"), "regressed");
    assert!(job.text("kernmark-results/junit.xml").contains("<failure"));
    let lenient = [("BASE", BASE), ("NEW", NEW), ("OUTPUT", "again")];
    let seen = job.step(&[&lenient[..], &[("FAIL_ON", "none")]].concat());
    seen.expect(0, "1 regressed", "");
    let lenient = [("BASE", BASE), ("NEW", NEW), ("OUTPUT", "wide")];
    let seen = job.step(&[&lenient[..], &[("MARGIN", "5")]].concat());
    seen.expect(0, "1 equivalent", "");
}

#[test]
fn saved_runs_are_a_base_too() {
    let job = Job::new();
    fs::create_dir(job.path("last week")).unwrap();
    for name in ["last week/1.km", "last week/2.km"] {
        fs::write(job.path(name), session(100)).unwrap();
    }
    let baseline = "last week/1.km\nlast week/2.km\n";
    let seen = job.step(&[
        ("BASELINE", baseline),
        ("NEW", NEW),
        ("OUTPUT", "an output"),
        ("EFFORT", "--runs 2"),
    ]);
    seen.expect(3, "1 metric regressed", "");
    assert_eq!(job.output("base-run"), "last week/1.km");
    assert_eq!(job.output("new-run"), "an output/run-new.km");
    assert!(job.text("summary").contains("last week/2.km"));
}

#[test]
fn a_budget_needs_no_base() {
    let job = Job::new();
    let limit = "[[limit]]\nmetric = \"a.b\"\nmedian = \"101 instructions\"\n";
    fs::write(job.path("limits.toml"), limit).unwrap();
    let within = [("NEW", BASE), ("BUDGET", "limits.toml"), ("OUTPUT", "1")];
    job.step(&within).expect(0, "1 within", "");
    let over = [("NEW", NEW), ("BUDGET", "limits.toml"), ("OUTPUT", "2")];
    job.step(&over).expect(3, "over", "");
    assert!(job.text("summary").contains("over"));
    assert_eq!(job.output("base-run"), "");
    let only = [("NEW", NEW), ("FAIL_ON", "none"), ("OUTPUT", "3")];
    job.step(&only).expect(0, "1 measured", "");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_measured() {
    let job = Job::new();
    fs::write(job.path("saved.km"), session(100)).unwrap();
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("BASE", BASE), ("BASELINE", "saved.km")], "not both"),
        (&[("NEW", NEW)], "nothing to judge by"),
        (
            &[("NEW", NEW), ("BASELINE", "\n")],
            "KERNMARK_BASELINE names no file",
        ),
        (
            &[("NEW", NEW), ("BASELINE", "none.km")],
            "there is no baseline none.km",
        ),
        (
            &[("NEW", NEW), ("BUDGET", "none.toml")],
            "there is no budget none.toml",
        ),
        (
            &[("NEW", NEW), ("BUDGET", "saved.km"), ("MARGIN", "5")],
            "need KERNMARK_BASE",
        ),
        (
            &[("BASE", BASE), ("OUTPUT", "a\nstatus=0")],
            "names one folder",
        ),
        (
            &[("BASE", BASE), ("PROGRAM", "no-such-program")],
            "there is no program no-such-program",
        ),
        (
            &[("BASE", BASE), ("NEW", "nowhere")],
            "there is no target `nowhere`",
        ),
        (
            &[("BASE", BASE), ("NEW", NEW), ("EFFORT", "--runs many")],
            "--runs",
        ),
    ];
    for (variables, why) in cases {
        job.step(variables).expect(2, "misused", why);
        assert_eq!(job.output("status"), "2", "{variables:?}");
        assert_eq!(job.output("new-run"), "", "{variables:?}");
    }
    // What the comparison alone reads.
    let seen = job.step(&[("BASE", BASE), ("NEW", BASE), ("JUDGING", "--nonsense")]);
    seen.expect(2, "misused", "--nonsense");
    let seen = job.step(&[("BASE", BASE), ("NEW", BASE)]);
    seen.expect(2, "misused", "kernmark-results/run-new.km exists already");
}

#[test]
fn a_kernel_that_cannot_be_measured_fails() {
    let job = Job::new();
    let seen = job.step(&[("BASE", BASE), ("NEW", "exec:echo panic; false")]);
    seen.expect(1, "failed", "");
    assert!(job.text("summary").contains("could not measure everything"));
    assert_eq!(job.output("verdict"), "failed");
}

#[test]
fn no_value_is_read_by_a_shell() {
    let job = Job::new();
    let evil = "$(touch made) `touch made`; touch made; * a'b\" &";
    for name in [
        "FILTER", "EFFORT", "MARGIN", "FAIL_ON", "BUDGET", "JUDGING", "OUTPUT",
    ] {
        job.step(&[("BASE", BASE), ("NEW", NEW), (name, evil)]);
        assert!(!job.path("made").exists(), "{name}");
    }
    for name in ["BASELINE", "NEW", "PROGRAM"] {
        job.step(&[("FAIL_ON", "none"), (name, evil)]);
        assert!(!job.path("made").exists(), "{name}");
    }
}

/// The scripts of `run:` in a file of GitHub's, as one text each.
fn scripts(yaml: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut scripts = Vec::new();
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let key = line.trim_start().trim_start_matches("- ");
        let Some(rest) = key.strip_prefix("run:") else {
            continue;
        };
        let mut script = rest.to_owned();
        let outer = line.find("run:").unwrap();
        while let Some(next) = lines.next_if(|next| next.trim().is_empty() || indent(next) > outer)
        {
            script += "\n";
            script += next;
        }
        scripts.push(script);
    }
    scripts
}

#[test]
fn workflows_hand_values_over_by_the_environment_and_pin_what_they_use() {
    for file in ["action.yml", ".github/workflows/ci.yml"] {
        let text = fs::read_to_string(here(file)).unwrap();
        let scripts = scripts(&text);
        assert!(!scripts.is_empty(), "{file}");
        for script in scripts {
            assert!(!script.contains("${{"), "{file}: {script}");
        }
        for line in text.lines() {
            let Some((_, uses)) = line.split_once("uses:") else {
                continue;
            };
            let uses = uses.split_whitespace().next().unwrap_or_default();
            let pinned = uses.split_once('@').is_some_and(|(_, commit)| {
                commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())
            });
            assert!(pinned || uses == "./", "{file}: {line}");
        }
    }
}

#[test]
fn the_variables_of_the_script_are_those_of_its_callers() {
    let variables = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
        words
            .filter(|word| word.starts_with("KERNMARK_") && *word != "KERNMARK_")
            .map(str::to_owned)
            .collect()
    };
    let read = |file: &str| variables(&fs::read_to_string(here(file)).unwrap());
    let script = read("ci/compare.sh");
    assert_eq!(read("action.yml"), script);
    let mut gitlab = read("ci/kernmark.gitlab-ci.yml");
    for own in ["KERNMARK_REPOSITORY", "KERNMARK_REF"] {
        assert!(gitlab.remove(own), "{own}");
    }
    assert_eq!(gitlab, script);
}
