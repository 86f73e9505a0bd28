// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kernmark report`: a site for a folder of runs.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/saved.rs"]
mod saved;
#[path = "common/strict.rs"]
mod strict;
#[path = "common/tool.rs"]
mod tool;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use strict::parsed;
use tool::tool_in;

const HOSTILE: &str = "../../up</script><b>\"'";

/// Saves a run of `target` whose metrics take so many ticks.
fn save(runs: &Path, name: &str, target: &str, ticks: u64) {
    let facts = [
        ("tool", "kernmark 0.2.0"),
        ("target", target),
        ("load", "0.27 1.37 1.83"),
    ];
    let values = || vec![vec![ticks; 20]; 3];
    let metrics = [("mutex.lock.user", values()), ("pipe.write.1", values())];
    fs::write(
        runs.join(name),
        saved::stream("instructions", &facts, &metrics),
    )
    .unwrap();
}

/// All files below a folder, by their path in it, with the time of their last change.
fn files(folder: &Path, below: &str, all: &mut BTreeMap<String, SystemTime>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        let data = entry.metadata().unwrap();
        if data.is_dir() {
            files(&entry.path(), &format!("{name}/"), all);
        } else {
            all.insert(name, data.modified().unwrap());
        }
    }
}

#[test]
fn report_writes_a_site_of_all_runs() {
    let bed = tempfile::tempdir().unwrap();
    let runs = bed.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let report = || {
        let arguments = ["report", "runs", "--into", "new/site"];
        let output = tool_in(bed.path(), &arguments).output().unwrap();
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let mut all = BTreeMap::new();
        files(&bed.path().join("new/site"), "", &mut all);
        (output.status.code(), String::from_utf8(said).unwrap(), all)
    };
    save(&runs, "20260101T000000Z-a.km", "freertos:m4", 400);
    save(&runs, "20260102T000000Z-b.km", "freertos:m4", 500);
    save(&runs, "20260103T000000Z-c.km", HOSTILE, 300);
    let (status, said, all) = report();
    assert_eq!(status, Some(0), "{said}");
    // The first page, 3 runs, 2 histories, a comparison, the matrix.
    assert!(
        said.contains("3 runs; 8 pages written, 0 as they were"),
        "{said}"
    );
    let site = bed.path().join("new/site");
    for name in all.keys().filter(|name| *name != "made-by") {
        let page = parsed(&fs::read_to_string(site.join(name)).unwrap());
        for link in page.links.iter().filter(|link| !link.starts_with('#')) {
            let to = site.join(name).parent().unwrap().join(link);
            assert!(to.is_file(), "{name} links to {link}");
        }
    }
    let first = parsed(&fs::read_to_string(site.join("index.html")).unwrap()).text;
    for part in [
        "freertos:m4",
        "2 regressed",
        "+25.0 %",
        "2026-01-02 00:00",
        "0.27",
        HOSTILE,
    ] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    // Nothing changed.
    let (_, said, again) = report();
    assert!(said.contains("0 pages written, 8 as they were"), "{said}");
    assert_eq!(all, again);
    // A new run and a broken one: only the pages that they concern change.
    save(&runs, "20260104T000000Z-d.km", "freertos:m4", 450);
    fs::write(runs.join("20260105T000000Z-e.km"), "no run\n").unwrap();
    let (status, said, later) = report();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("20260105T000000Z-e.km"), "{said}");
    assert!(said.contains("5 pages written"), "{said}");
    let is_kept = |name: &&String| all.get(*name) == later.get(*name);
    assert_eq!(all.keys().filter(is_kept).count(), 6, "{all:?} {later:?}");
    let first = parsed(&fs::read_to_string(site.join("index.html")).unwrap()).text;
    assert!(first.contains("20260105T000000Z-e.km"), "{first}");
}

#[test]
fn report_of_nothing_is_a_page() {
    let bed = tempfile::tempdir().unwrap();
    let output = tool_in(bed.path(), &["report"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(bed.path().join("kernmark-report/index.html")).unwrap();
    assert!(parsed(&page).text.contains("This folder has no runs"));
    let output = tool_in(bed.path(), &["report", "missing"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
