// SPDX-License-Identifier: MIT OR Apache-2.0

//! The pages that are made of measurements of Linux (`tools/linux-pages.py`): they are what their
//! data say, and the data of a small case give what can be worked out by hand.

// Only other test programs need the rest of it.
#[allow(dead_code)]
mod common;

use std::fs;
use std::process::Command;

use common::{here, succeeds};

/// What the script prints.
fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new("python3");
    succeeds(
        command
            .arg(here("tools/linux-pages.py"))
            .args(arguments)
            .current_dir(here(".")),
    )
}

#[test]
fn committed_pages_are_what_their_data_say() {
    for file in fs::read_dir(here("doc")).unwrap() {
        let data = file.unwrap().path();
        let name = data.file_name().unwrap().to_str().unwrap();
        let Some(page) = name
            .strip_prefix("linux-")
            .and_then(|rest| rest.strip_suffix(".json"))
        else {
            continue;
        };
        let path = data.to_str().unwrap();
        let mut made = vec![(printed(&["page", page, path]), "md")];
        if page == "releases" {
            made.push((printed(&["picture", path]), "svg"));
        }
        for (text, kind) in made {
            let file = data.with_extension(kind);
            assert!(
                text == fs::read_to_string(&file).unwrap(),
                "{} is not what its data say: run make linux-pages",
                file.display()
            );
        }
    }
}

/// The data of a page: columns by the end of their spec and the version of their kernel, and the
/// medians of each metric.
fn data(columns: &[(&str, &str)], metrics: &[(&str, &str)]) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|(spec, version)| {
            format!(
                r#"{{"spec": "linux-vm:tcg,agent=user{spec}", "kernel": "Linux {version} #1 SMP Debian {version}-1 (2026-01-01)",
                "kernel_compiler": "gcc-12", "compiler": "gcc-12 -O2", "emulator": "QEMU 7.2 (Debian)",
                "tool": "kernmark 1", "boots": 2, "differing": 0}}"#
            )
        })
        .collect();
    let metrics: Vec<String> = metrics
        .iter()
        .map(|(metric, medians)| format!(r#""{metric}": [{medians}]"#))
        .collect();
    format!(
        r#"{{"columns": [{}], "metrics": {{{}}}}}"#,
        columns.join(","),
        metrics.join(",")
    )
}

/// The page that is made of these data.
fn page(name: &str, data: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.json");
    fs::write(&path, data).unwrap();
    printed(&["page", name, path.to_str().unwrap()])
}

#[track_caller]
fn has(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            page.lines().any(|one| one == *line),
            "no {line:?} in {page}"
        );
    }
}

#[test]
fn releases_are_ordered_and_their_changes_listed() {
    // Columns in no order, and a release between two suites.
    let page = page(
        "releases",
        &data(
            &[
                (",kernel=sid", "7.2.13"),
                (",kernel=bullseye", "5.10.262"),
                (",kernel=trixie", "6.12.117"),
                (",kernel=experimental", "7.3~rc7"),
                (",kernel=6.16", "6.16.12"),
                (",kernel=bookworm", "6.1.192"),
                (",kernel=sid,cmdline=mitigations=off", "7.2.13"),
                (",kernel=bullseye,cmdline=mitigations=off", "5.10.262"),
                (",kernel=trixie,cmdline=mitigations=off", "6.12.117"),
                (",kernel=experimental,cmdline=mitigations=off", "7.3~rc7"),
                (",kernel=bookworm,cmdline=mitigations=off", "6.1.192"),
            ],
            &[
                (
                    "syscall.null",
                    "400, 200, 300, 400, 390, 300, 100, 50, 75, 100, 75",
                ),
                ("a.b.2", "10, 10, 10, 10, 10, 40, 10, 10, 10, 10, 40"),
                ("a.b.4", "10, 10, 10, 10, 10, 30, 10, 10, 10, 10, 30"),
                ("c", "5, 10.25, 5, 5, 5, 10, 5, 5, 5, 5, 5"),
                ("d", "null, 7, 7, null, 7, 7, null, 7, 7, null, 7"),
            ],
        ),
    );
    has(
        &page,
        &[
            "| instructions, median | 5.10.262 | 6.1.192 | 6.12.117 | 7.2.13 | 7.3-rc7 |",
            // Sorted by change; without a number on both sides at the end.
            "| `syscall.null` | 200 | 300 | 300 | 400 | 400 | +100 |",
            "| `c` | 10 | 10 | 5 | 5 | 5 | −51.2 |",
            "| `d` | 7 | 7 | 7 | – | – | – |",
            // 10.25 to 10 is less than half an instruction.
            "3 metrics became dearer, 0 cheaper, and 2 did not change. The geometric mean of all is +77.4 %.",
            "| `a.b.2` and 1 more | 10 | 40 | +300 |",
            "| `c` | 10 | 5 | −50.0 |",
            // 300, 390, 400.
            "| `syscall.null` | 300 | 400 | 6.12 → 6.16 | +30.0 |",
            "| `syscall.null` | 200 → 50 | 300 → 75 | 300 → 75 | 400 → 100 | 400 → 100 |",
        ],
    );
    let at = |text: &str| page.rfind(text).unwrap();
    assert!(at("| `a.b.2` |") < at("| `c` |"), "{page}");
}

#[test]
fn variants_show_what_they_change() {
    let variants = [
        "",
        ",cmdline=mitigations=off",
        ",cmdline=psi=0",
        ",cmdline=audit=0",
        ",cmdline=init_on_alloc=0",
        ",cmdline=preempt=none",
        ",cmdline=preempt=voluntary",
        ",cmdline=preempt=full",
        ",kernel=rt",
        ",kernel=backports",
        ",seccomp=1",
        ",seccomp=300",
    ];
    let columns = variants.map(|spec| (spec, "6.1.192"));
    let page = page(
        "exact",
        &data(
            &columns,
            &[
                (
                    "a.x",
                    "100, 90, 100, 100, 100, 100, 100, 100, 120, 100, 100.4, 200",
                ),
                (
                    "a.y",
                    "100, 80, 100, 100, null, 100, 100, 100, 110, 100, 100, 200",
                ),
                ("b", "7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, null"),
            ],
        ),
    );
    has(
        &page,
        &[
            "- `mitigations=off`: 2 of 3 metrics change, the geometric mean of all by −10.4 %. \
             The largest decrease is `a.y`, −20.0 %. By object: `a` −15.1 % (2 metrics).",
            "- `psi=0`: none of 3 metrics changes.",
            "| `a.x` | 100 | −10 (−10.0 %) | 0 | 0 | 0 |",
            "| `a.y` | 100 | −20 (−20.0 %) | 0 | 0 | – |",
            "1 more metric costs the same in all of these, to half an instruction.",
            "| `a.x` | 100 | 0 | 0 | +100 (+100 %) |",
        ],
    );
}

#[test]
fn releases_say_where_their_changes_are() {
    let columns = ["bullseye", "bookworm", "trixie", "sid", "experimental"];
    let columns: Vec<(String, &str)> = columns
        .iter()
        .flat_map(|kernel| {
            ["", ",cmdline=mitigations=off"].map(|off| format!(",kernel={kernel}{off}"))
        })
        .zip(
            ["5.10.262", "6.1.192", "6.12.117", "7.2.13", "7.3~rc7"]
                .into_iter()
                .flat_map(|v| [v, v]),
        )
        .collect();
    let columns: Vec<(&str, &str)> = columns.iter().map(|(s, v)| (s.as_str(), *v)).collect();
    let without = data(
        &columns,
        &[
            ("a.b", "100, 100, 300, 300, 300, 300, 300, 300, 300, 300"),
            ("syscall.null", "9, 9, 9, 9, 9, 9, 9, 9, 9, 9"),
        ],
    );
    let lines = r#""where": [
        {"base": "5.10.262", "new": "6.1.192", "metric": "a.b", "more": 2, "before": 101, "after": 301,
         "where": "+200: +250 rep_one (repetitions only), -50 __two (gone); -50 without repetitions"}]"#;
    let with = format!("{}, {lines}}}", without.strip_suffix('}').unwrap());
    let page_with = page("releases", &with);
    has(
        &page_with,
        &[
            "| where | 5.10.262 | 6.1.192 | % | functions |",
            r"| `a.b` and 2 more | 101 | 301 | +198 | +200: +250 rep\_one (repetitions only), −50 \_\_two (gone); −50 without repetitions |",
        ],
    );
    assert_eq!(page_with.matches("| where |").count(), 1, "{page_with}");
    // A page without traces does not speak of them.
    assert!(!page("releases", &without).contains("third table"));
    assert!(
        page_with.contains("`a.b` changes by +200, and by −50 without repetitions."),
        "{page_with}"
    );
}
