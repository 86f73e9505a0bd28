// SPDX-License-Identifier: MIT OR Apache-2.0

//! Paths in saved runs: what compare, matrix, show and budgets say about where instructions went.

#[path = "common/saved.rs"]
mod saved;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use kernmark::export::{json, markdown};
use kernmark::judge::matrix::Column;
use kernmark::report::matrix;
use kernmark::report::style::{BarStyle, Colour, Style};
use kernmark::stream::paths::{self, Count, Function, Mode, Paths};
use kernmark::stream::session;
use serde_json::Value;

/// Samples that take a path: how many, and the instructions by function. `memset*` are repetitions
/// of a string instruction in `memset`; `a@tasks.c` is defined in that file.
type Taken<'a> = (u64, &'a [(&'a str, u64)]);

/// The paths of a metric by functions that are added as needed.
fn paths_of(functions: &mut Vec<Function>, taken: &[Taken], counts: &[(Count, u64)]) -> Paths {
    let mut modes = Vec::new();
    for (samples, path) in taken {
        let mut mode = Mode {
            samples: *samples,
            counts: counts.iter().copied().collect(),
            ..Mode::default()
        };
        for (name, instructions) in *path {
            let once = name.trim_end_matches('*');
            let (bare, file) = match once.split_once('@') {
                Some((bare, file)) => (bare, Some(file.to_owned())),
                None => (once, None),
            };
            let known = functions.iter().position(|one| one.name == bare);
            let at = known.unwrap_or_else(|| {
                functions.push(Function {
                    name: bare.to_owned(),
                    program: "kernel".to_owned(),
                    file,
                });
                functions.len() - 1
            });
            *mode.functions.entry(at).or_insert(0) += instructions;
            if once != *name {
                *mode.repeated.entry(at).or_insert(0) += instructions;
            }
        }
        modes.push(mode);
    }
    Paths {
        modes,
        others: Mode::default(),
    }
}

/// The samples that take these paths.
fn samples(taken: &[Taken]) -> Vec<u64> {
    let each = taken.iter().map(|(samples, path)| {
        let value = path.iter().map(|(_, instructions)| instructions).sum();
        std::iter::repeat_n(value, *samples as usize)
    });
    each.flatten().collect()
}

/// A saved run of two replicates, without paths.
fn bare(target: &str, metrics: &[(&str, &[Taken])]) -> String {
    let metrics: Vec<_> = metrics
        .iter()
        .map(|(id, taken)| (*id, vec![samples(taken); 2]))
        .collect();
    saved::stream("instructions", &[("target", target)], &metrics)
}

/// A saved run of two replicates with the paths of the second.
fn counted(target: &str, metrics: &[(&str, &[Taken])], counts: &[(Count, u64)]) -> String {
    let mut functions = Vec::new();
    let all: Vec<(&str, Paths)> = metrics
        .iter()
        .map(|(id, taken)| (*id, paths_of(&mut functions, taken, counts)))
        .collect();
    let all: Vec<(&str, &Paths)> = all.iter().map(|(id, paths)| (*id, paths)).collect();
    bare(target, metrics) + &paths::records(&functions, &all).join("\n") + "\n"
}

const GREW: [[(&str, u64); 11]; 2] = [
    [
        ("xQueueSemaphoreTake", 60),
        ("vTaskPlaceOnEventList", 20),
        ("prvAddCurrentTaskToDelayedList", 50),
        ("vListInsert", 30),
        ("uxListRemove", 25),
        ("vTaskSwitchContext", 40),
        ("xTaskResumeAll", 41),
        ("prvUnlockQueue", 35),
        ("vPortEnterCritical", 12),
        ("vPortExitCritical", 13),
        ("xTaskCheckForTimeOut", 24),
    ],
    [
        ("xQueueSemaphoreTake", 76),
        ("vTaskPlaceOnEventList", 32),
        ("prvAddCurrentTaskToDelayedList", 62),
        ("vListInsert", 42),
        ("uxListRemove", 37),
        ("vTaskSwitchContext", 52),
        ("xTaskResumeAll", 53),
        ("prvUnlockQueue", 47),
        ("vPortEnterCritical", 20),
        ("vPortExitCritical", 25),
        ("xTaskCheckForTimeOut", 36),
    ],
];

const COUNTS: [(Count, u64); 3] = [
    (Count::Loads, 120),
    (Count::Atomic, 2),
    (Count::CodeLines, 31),
];

/// The metrics of both sides.
fn metrics(new: bool) -> Vec<(&'static str, &'static [Taken<'static>])> {
    let choose = |sides: [&'static [Taken<'static>]; 2]| sides[usize::from(new)];
    vec![
        ("clock.read", &[(20, &[("port_clock", 6)])]),
        (
            "semaphore.take",
            choose([&[(20, &GREW[0])], &[(20, &GREW[1])]]),
        ),
        (
            "system.call",
            choose([
                &[(20, &[("entry", 50)])],
                &[(20, &[("entry", 50), ("audit_syscall_exit", 61)])],
            ]),
        ),
        (
            "page.unmap",
            choose([
                &[(20, &[("memset", 4), ("memset*", 2096), ("unmap", 900)])],
                &[(20, &[("memset", 4), ("unmap", 900)])],
            ]),
        ),
        (
            "page.map",
            choose([
                &[(20, &[("do_mmap@mmap.c", 300), ("find@mmap.c", 100)])],
                &[(20, &[("do_mmap@mmap.c", 390), ("copy", 3)])],
            ]),
        ),
        (
            "queue.receive",
            choose([
                &[(20, &[("xQueueReceive", 90), ("prvCopy", 9)])],
                &[(20, &[("xQueueReceive", 80), ("copyData", 9)])],
            ]),
        ),
        (
            "timer.start",
            choose([
                &[(20, &[("send", 70)])],
                &[
                    (18, &[("send", 70)]),
                    (2, &[("send", 70), ("xTaskIncrementTick", 10)]),
                ],
            ]),
        ),
        ("mutex.lock", &[(20, &[("lock", 55)])]),
    ]
}

/// A temporary folder with saved runs.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        for (name, text) in [
            ("base", counted("freertos:m4", &metrics(false), &COUNTS)),
            (
                "new",
                counted("freertos:m4,variant=canaries", &metrics(true), &[]),
            ),
            ("bare", bare("freertos:m4,variant=canaries", &metrics(true))),
        ] {
            bed.write(name, &text);
        }
        bed
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_DATA_HOME", self.0.path())
            .env("COLUMNS", "100")
            .env_remove("CLICOLOR_FORCE")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.run(arguments).stdout).unwrap()
    }
}

/// Whether a document follows a schema in doc/.
fn follows(schema: &str, document: &str) -> Value {
    let read = |name: &str| -> Value {
        let path = format!("{}/doc/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let registry = jsonschema::Registry::new()
        .add("json-schema:///run.schema.json", read("run"))
        .and_then(jsonschema::RegistryBuilder::prepare)
        .unwrap();
    let validator = jsonschema::options()
        .with_registry(&registry)
        .with_base_uri(format!("json-schema:///{schema}.schema.json"))
        .build(&read(schema))
        .unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    document
}

#[test]
fn compare_says_where_each_change_is() {
    let bed = Bed::new();
    let compared = bed.run(&["compare", "base", "new", "--across"]);
    assert_eq!(compared.status.code(), Some(0));
    assert_snapshot!(String::from_utf8(compared.stdout).unwrap());
    let document = follows(
        "compare",
        &bed.text(&["compare", "base", "new", "--across", "--json"]),
    );
    let why: BTreeMap<&str, &Value> = document["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| (metric["id"].as_str().unwrap(), &metric["why"]))
        .collect();
    assert_eq!(why["mutex.lock"], &Value::Null);
    assert_eq!(why["page.unmap"]["median"]["repetitions_only"], true);
    assert_eq!(
        why["semaphore.take"]["median"]["parts"]
            .as_array()
            .unwrap()
            .len(),
        11
    );
    for format in ["md", "junit"] {
        let text = bed.text(&["compare", "base", "new", "--across", "--format", format]);
        assert!(text.contains("+61: "), "{text}");
    }
}

#[test]
fn compare_names_the_command_that_finds_out() {
    let bed = Bed::new();
    let text = bed.text(&["compare", "base", "bare", "--across"]);
    let sentence = "6 changes without paths: `kernmark why page.unmap --on \
        freertos:m4,variant=canaries --against freertos:m4` says where that of page.unmap is;";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains(sentence), "{text}");
    // With paths everywhere, and without changes, there is nothing to find out.
    for new in ["new", "base"] {
        bed.write(
            "again",
            &fs::read_to_string(bed.0.path().join(new)).unwrap(),
        );
        let text = bed.text(&["compare", "base", "again", "--across"]);
        assert!(!text.contains("--against"), "{text}");
    }
    follows(
        "compare",
        &bed.text(&["compare", "base", "bare", "--across", "--json"]),
    );
}

#[test]
fn matrix_says_where_columns_differ() {
    let column = |name: &str, text: &str| Column {
        name: name.to_owned(),
        run: session::read(text.as_bytes()),
    };
    let columns = [
        column("default", &counted("freertos:m4", &metrics(false), &[])),
        column(
            "canaries",
            &counted("freertos:m4,variant=canaries", &metrics(true), &[]),
        ),
        column("bare", &bare("freertos:m4,variant=O3", &metrics(true))),
    ];
    let style = Style {
        width: 100,
        bars: BarStyle::Ascii,
        colour: Colour::Never,
    };
    assert_snapshot!(matrix::table(&columns, &style));
    assert!(markdown::matrix(&columns).contains("  - canaries +61: "));
    let document = follows("matrix", &json::matrix(&columns));
    let why = |metric: usize, column: usize| &document["metrics"][metric]["cells"][column]["why"];
    assert_eq!(why(2, 0), &Value::Null);
    assert_eq!(why(2, 1)["text"], "+61: audit_syscall_exit (new)");
    assert_eq!(why(2, 2)["reason"], "the run has no paths");
}

#[test]
fn show_lists_modes_and_functions() {
    let bed = Bed::new();
    assert_snapshot!(
        "metric",
        bed.text(&["show", "base", "--metric", "page.unmap"])
    );
    assert_snapshot!(
        "modes",
        bed.text(&["show", "new", "--metric", "timer.start"])
    );
    let table = bed.text(&["show", "base", "--columns", "median,instructions,repeated"]);
    let row = table.lines().find(|line| line.contains("unmap")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..], ["3,000", "3,000", "2,096"], "{table}");
    let document = follows("run", &bed.text(&["show", "base", "--json"]));
    let unmap = &document["metrics"][3];
    assert_eq!(
        (&unmap["instructions"], &unmap["repeated"]),
        (&3000.into(), &2096.into())
    );
    let mode = &unmap["paths"]["modes"][0];
    assert_eq!(
        (&mode["samples"], &mode["counts"]["loads"]),
        (&20.into(), &120.into())
    );
    let function = &mode["functions"][0];
    let name = &document["functions"][function["function"].as_u64().unwrap() as usize]["name"];
    assert_eq!(
        (name, &function["repeated"]),
        (&"memset".into(), &2096.into())
    );
    let document = follows("run", &bed.text(&["show", "bare", "--json"]));
    assert_eq!(document["metrics"][3]["paths"], Value::Null);
}

#[test]
fn refused_paths_are_reported_and_not_used() {
    let bed = Bed::new();
    let text = fs::read_to_string(bed.0.path().join("new")).unwrap();
    let lost = |line: &&str| !line.contains("path metric=system.call");
    let broken: Vec<&str> = text.lines().filter(lost).collect();
    bed.write("lost", &broken.join("\n"));
    // A run whose values are others than those of the paths.
    let paths: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("name=paths"))
        .collect();
    bed.write(
        "other",
        &(bare("freertos:m4", &metrics(false)) + &paths.join("\n")),
    );
    let metric = bed.text(&["show", "other", "--metric", "system.call"]);
    let why = "20 samples executed 111 instructions, but fewer have that value";
    assert!(metric.contains(why), "{metric}");
    let document = follows("run", &bed.text(&["show", "other", "--json"]));
    assert_eq!(document["metrics"][2]["paths"]["reason"], why);
    assert_eq!(document["metrics"][2]["repeated"], Value::Null);
    let compared = bed.text(&["compare", "new", "other", "--across"]);
    assert!(
        compared.contains(&format!("unknown where: {why}")),
        "{compared}"
    );
    // What is lost is only that metric's.
    let compared = bed.text(&["compare", "base", "lost", "--across"]);
    assert!(compared.contains("(+8 to +16 each)"), "{compared}");
    assert!(!compared.contains("audit_syscall_exit"), "{compared}");
}

#[test]
fn budgets_limit_counts() {
    let bed = Bed::new();
    let limits = "[[limit]]\nmetric = \"page.unmap\"\nloads = 119\natomic = 2\nrepeated = 2096\n\
        stores = 5\n[[limit]]\nmetric = \"mutex.lock\"\nrepeated = 0\n";
    bed.write("limits.toml", limits);
    let over = bed.run(&["show", "base", "--budget", "limits.toml"]);
    assert_eq!(over.status.code(), Some(3));
    let text = String::from_utf8(over.stdout).unwrap();
    let from = text.find("budget limits.toml").unwrap();
    assert_snapshot!("budget", &text[from..]);
    let bare = bed.run(&["show", "bare", "--budget", "limits.toml"]);
    assert_eq!(bare.status.code(), Some(4));
    let text = String::from_utf8(bare.stdout).unwrap();
    let from = text.find("budget limits.toml").unwrap();
    assert_snapshot!("budget_without_paths", &text[from..]);
    let document = follows(
        "run",
        &bed.text(&["show", "base", "--budget", "limits.toml", "--json"]),
    );
    let loads = &document["budget"]["limits"][1];
    assert_eq!(
        (&loads["figure"], &loads["unit"]),
        (&"loads".into(), &"count".into())
    );
    for (limit, why) in [
        ("loads = -1", "limits.toml:3: loads: -1 is not a count"),
        (
            "loads = \"5 instructions\"",
            "limits.toml:3: invalid type: string",
        ),
    ] {
        bed.write(
            "limits.toml",
            &format!("[[limit]]\nmetric = \"mutex.lock\"\n{limit}\n"),
        );
        let refused = bed.run(&["show", "base", "--budget", "limits.toml"]);
        assert_eq!(refused.status.code(), Some(2));
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains(why), "{text}");
    }
}
