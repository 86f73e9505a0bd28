// SPDX-License-Identifier: MIT OR Apache-2.0

//! The output of `kernmark plan` for pilot runs.

#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;

use std::fs;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use saved::stream;
use seen::Seen;

const TEN: [u64; 10] = [1000, 1001, 1003, 998, 999, 1002, 1004, 997, 996, 1005];

/// Ten replicates; `times` multiplies the distances between the values of `TEN`.
fn spread(times: u64) -> Vec<Vec<u64>> {
    let value = |v: &u64| 1000 + (v - 990) * times;
    TEN.iter().map(|v| vec![value(v); 5]).collect()
}

/// Runs the tool in a folder with pilots.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        let facts = [
            ("cpu_model", "EPYC"),
            ("runs", "10"),
            ("time_budget", "25 s"),
        ];
        let long = "roundtrip.pipe.a_name_that_is_so_long_that_it_needs_a_line_of_its_own";
        // Samples that are far apart make the median of a replicate uncertain.
        let wide = |at: u64| (0..20).map(|i| 1000 + at * 3 + i * 10).collect();
        let metrics = [
            ("semaphore.take", spread(1)),
            ("mutex.lock", spread(10)),
            (long, spread(40)),
            ("fifo.put", (0..10).map(wide).collect()),
            ("lifo.put", vec![Vec::new(); 10]),
        ];
        let exact = [
            ("fifo.put", vec![vec![100; 5]; 2]),
            ("fifo.get", vec![vec![90; 5]; 2]),
        ];
        for (name, text) in [
            ("pilot", stream("cycles", &facts, &metrics)),
            ("exact", stream("instructions", &[], &exact)),
            (
                "few",
                stream("cycles", &[], &[("a.b", spread(3)[..3].to_vec())]),
            ),
        ] {
            fs::write(bed.0.path().join(name), text).unwrap();
        }
        bed
    }

    fn run(&self, columns: &str, arguments: &str) -> Seen {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .arg("plan")
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .env_clear()
            .env("COLUMNS", columns)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }
}

#[test]
fn plan_tables() {
    let bed = Bed::new();
    for (name, columns, arguments) in [
        ("pilot", "100", "pilot"),
        ("pilot_60", "60", "pilot"),
        ("exact", "100", "exact"),
        ("few", "100", "few --change 10% --power 80"),
    ] {
        let seen = bed.run(columns, arguments);
        seen.expect(0, "pilot ", "");
        let columns = columns.parse().unwrap();
        for line in seen.out.lines() {
            let is_id = !line.trim().contains(' ');
            assert!(line.chars().count() <= columns || is_id, "{line}");
        }
        assert_snapshot!(name, seen.out);
    }
}

#[test]
fn json_agrees_with_the_table() {
    let seen = Bed::new().run("100", "pilot --format json");
    seen.expect(0, "", "");
    let plan: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(
        (&plan["family"], &plan["replicates"]),
        (&4.into(), &10.into())
    );
    let metrics = plan["metrics"].as_array().unwrap();
    let find = |at: usize| metrics[at]["to_find"].as_u64().unwrap();
    assert!(find(0) < find(1) && find(1) < find(2), "{}", seen.out);
    assert_eq!(metrics[4]["to_find"], serde_json::Value::Null);
    assert_eq!(metrics[4]["reason"], "skipped: needs priority");
}

#[test]
fn fewer_metrics_and_larger_changes_need_fewer_replicates() {
    let bed = Bed::new();
    let find = |arguments: &str| {
        let seen = bed.run("100", &format!("pilot --format json {arguments}"));
        let plan: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        let metrics = plan["metrics"].as_array().unwrap();
        let lock = metrics.iter().find(|m| m["id"] == "mutex.lock").unwrap();
        lock["to_find"].as_u64().unwrap()
    };
    let all = find("--change 5");
    assert!(find("mutex --change 5") <= all);
    assert!(find("--change 20") < all);
    assert!(find("--power 50") < all);
    assert!(find("--change 5 --margin 4") > all);
}

#[test]
fn invalid_arguments_are_rejected() {
    let bed = Bed::new();
    for (arguments, why) in [
        ("pilot --change 2", "is within the margin of 2 %"),
        ("pilot --change 5 --margin 5", "is within the margin of 5 %"),
        ("pilot --power 100", "not a percentage from 50 to 99"),
        ("pilot semapore", "did you mean semaphore"),
    ] {
        bed.run("100", arguments).expect(2, "", why);
    }
    bed.run("100", "none").expect(1, "", "cannot read none");
}
