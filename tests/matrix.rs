// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark matrix` from the command line, with FreeRTOS if its tools are installed.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/freertos.rs"]
mod freertos;
#[path = "common/runs.rs"]
mod runs;
#[path = "common/tool.rs"]
mod tool;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Output;

use common::here;
use freertos::lacks_freertos;
use runs::saved_runs;
use tool::tool_in;

/// A temporary folder for the tool.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        Bed {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = tool_in(self.folder.path(), arguments);
        command.output().unwrap()
    }

    /// The number of saved runs.
    fn saved(&self) -> usize {
        saved_runs(&self.path("data/kernmark/runs")).len()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The medians in the CSV form of a matrix, by metric and column.
fn medians(csv: &str) -> HashMap<(String, String), f64> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let at = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (metric, column, median) = (at("id"), at("column"), at("ticks"));
    reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            let key = (record[metric].to_owned(), record[column].to_owned());
            (key, record[median].parse().unwrap_or(f64::NAN))
        })
        .collect()
}

#[test]
fn freertos_is_built_and_measured_in_instructions() {
    if lacks_freertos("kernmark run --on freertos") {
        return;
    }
    let bed = Bed::new();
    let arguments = ["run", "--on", "freertos", "--quick", "semaphore.take"];
    let output = bed.run(&arguments);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}{output:?}");
    for part in [
        "freertos:m4",
        "FreeRTOS V",
        "QEMU emulator",
        "instr per operation",
        "image    text",
        "kernel: text",
        "take.blocking.k_to_k",
    ] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
    // Instructions are not time, and the host machine does not matter.
    for part in [" ns", "GHz", "governor", "cycles"] {
        assert!(!report.contains(part), "{part} is in\n{report}");
    }
    assert_eq!(bed.saved(), 1);
}

#[test]
fn sources_that_cannot_be_downloaded_are_explained() {
    if lacks_freertos("kernmark run --on freertos without its sources") {
        return;
    }
    let bed = Bed::new();
    let output = tool_in(bed.folder.path(), &["run", "--on", "freertos"])
        .env_remove("FREERTOS_KERNEL_PATH")
        .env("CARGO_HOME", bed.path("empty"))
        .env("CARGO", "no-such-cargo")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.ends_with(
            "the sources of FreeRTOS are not here, and there is no no-such-cargo to download \
             them: install cargo 1.85 or later; or set FREERTOS_KERNEL_PATH to a folder that has \
             them\n"
        ),
        "{said}"
    );
}

#[test]
fn matrix_shows_the_cost_of_variants() {
    if lacks_freertos("kernmark matrix --on freertos") {
        return;
    }
    let bed = Bed::new();
    let arguments = [
        "matrix",
        "--on",
        "freertos:m3",
        "--variant",
        "default",
        "--variant",
        "canaries",
        "--variant",
        "userspace+canaries",
        "--quick",
        "--format",
        "csv",
        "semaphore.take.blocking",
    ];
    let output = bed.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(bed.saved(), 3);
    let medians = medians(&text(&output.stdout));
    let of = |metric: &str, column: &str| medians[&(metric.to_owned(), column.to_owned())];
    let blocking = "semaphore.take.blocking.k_to_k";
    assert!(of(blocking, "canaries") > of(blocking, "default"));
    assert!(of(blocking, "userspace+canaries") > of(blocking, "canaries"));
    // A system call on each side adds to the cost.
    let user = of("semaphore.take.blocking.u_to_u", "userspace+canaries");
    assert!(user > of(blocking, "userspace+canaries"));
}

/// A target whose results are in time: a saved stream.
fn golden() -> String {
    format!("file:{}", here("tests/golden/fake.log").display())
}

#[test]
fn instructions_and_time_are_never_compared() {
    if lacks_freertos("kernmark matrix --on freertos --on ...") {
        return;
    }
    let bed = Bed::new();
    let output = bed.run(&["matrix", "--on", "freertos", "--on", &golden(), "--check"]);
    assert_eq!(output.status.code(), Some(2), "matrix has no --check");
    let output = bed.run(&["matrix", "--on", "freertos", "--on", &golden(), "fifo"]);
    let table = text(&output.stdout);
    let words: Vec<&str> = table.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("instructions are never compared with time"),
        "{table}{output:?}"
    );
    assert!(table.contains(" instr") && table.contains(" us"), "{table}");
    let shown = table.lines().filter(|line| line.contains(" instr"));
    assert!(shown.clone().count() > 1, "{table}");
    for line in shown {
        assert!(!line.contains('%'), "{line}");
    }
}

#[test]
fn results_are_shown_if_a_later_target_fails() {
    let bed = Bed::new();
    let output = bed.run(&["matrix", "--on", &golden(), "--on", "exec:exit 3"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("clock"), "{output:?}");
    let message = text(&output.stderr);
    assert!(message.contains("exec:exit 3"), "{message}");
    assert_eq!(bed.saved(), 0, "a file is not saved again");
}

#[test]
fn invalid_columns_are_rejected_before_measuring() {
    let bed = Bed::new();
    for arguments in [
        &["--on", "freertos"][..],
        &[
            "--on",
            "freertos",
            "--variant",
            "default",
            "--variant",
            "canary",
        ],
        &[
            "--on",
            "freertos:m5",
            "--variant",
            "default",
            "--variant",
            "O3",
        ],
        &[
            "--on",
            "freertos:virt",
            "--variant",
            "default",
            "--variant",
            "userspace",
        ],
        &["--on", &golden(), "--on", "freertos", "--variant", "O3"],
        &["--variant", "default", "--variant", "O3"],
    ] {
        let output = bed.run(&[&["matrix"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
        assert_eq!(bed.saved(), 0, "{arguments:?}");
    }
}
