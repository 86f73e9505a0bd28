// SPDX-License-Identifier: MIT OR Apache-2.0

//! Comparisons and budgets as JUnit XML, parsed by an XML library.

#[path = "common/saved.rs"]
mod saved;
#[path = "common/seen.rs"]
mod seen;

use std::fs;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use kernmark::export::junit;
use kernmark::judge::budget::Budget;
use kernmark::judge::compare::{Comparison, Options, Verdict};
use kernmark::judge::gate::Gate;
use kernmark::judge::matrix::Column;
use kernmark::judge::quantity::Quantity;
use kernmark::report::compare::Origin;
use kernmark::stream::run::{Fact, Run};
use kernmark::stream::session;
use proptest::prelude::*;
use roxmltree::{Document, Node};
use saved::stream;
use seen::Seen;

const TEN: [u64; 10] = [1000, 1001, 1003, 998, 999, 1002, 1004, 997, 996, 1005];

fn values(percent: u64) -> Vec<Vec<u64>> {
    let five = |value: &u64| vec![value * percent / 100; 5];
    TEN.iter().map(five).collect()
}

/// A gate that rejects every verdict.
fn gate_for_all_verdicts() -> Gate {
    Gate {
        fail_on: Verdict::ALL.to_vec(),
        quantities: vec![Quantity::P50],
        judges_idioms: true,
        resolution: 0.1,
        speed: None,
    }
}

fn noisy() -> Vec<Vec<u64>> {
    TEN.iter().map(|v| vec![(v - 990) * 100; 5]).collect()
}

fn none() -> Vec<Vec<u64>> {
    vec![Vec::new(); 10]
}

fn base() -> String {
    let metrics = [
        ("semaphore.take", values(100)),
        ("semaphore.give", values(100)),
        ("mutex.lock", noisy()),
        ("fifo.put", values(100)),
    ];
    stream("cycles", &[("cpu_model", "EPYC")], &metrics)
}

fn slow(cpu: &str) -> String {
    let metrics = [
        ("semaphore.take", values(105)),
        ("semaphore.give", values(100)),
        ("mutex.lock", noisy()),
        ("fifo.put", none()),
        ("lifo.put", values(100)),
    ];
    stream("cycles", &[("cpu_model", cpu)], &metrics)
}

/// Runs `compare` in a directory with two saved runs and a budget.
fn compare(cpu: &str, arguments: &str) -> Seen {
    let bed = tempfile::tempdir().unwrap();
    let limits = "[[limit]]\nmetric = \"semaphore.*\"\nwhy = \"A & B\"\nmax = \"1.02 us\"\n\
        [[limit]]\nmetric = \"fifo.put\"\np99 = \"1 s\"\n";
    for (name, text) in [
        ("base", base()),
        ("new", slow(cpu)),
        ("limits.toml", limits.to_owned()),
    ] {
        fs::write(bed.path().join(name), text).unwrap();
    }
    Command::new(env!("CARGO_BIN_EXE_kernmark"))
        .args(format!("compare base new --format junit{arguments}").split(' '))
        .current_dir(bed.path())
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into()
}

fn named<'a>(document: &'a Document, tag: &str) -> Vec<Node<'a, 'a>> {
    let all = document.descendants();
    all.filter(|node| node.has_tag_name(tag)).collect()
}

/// The name and result of each test case; `passed` if it has no other result.
fn results(document: &Document) -> Vec<(String, String)> {
    let result = |case: &Node| {
        let element = case.children().find(|child| {
            let results = ["failure", "error", "skipped"];
            results.contains(&child.tag_name().name())
        });
        let result = element.map_or("passed", |element| element.tag_name().name());
        let name = case.attribute("name").unwrap();
        (name.to_owned(), result.to_owned())
    };
    named(document, "testcase").iter().map(result).collect()
}

/// Asserts that the counts in a document agree with its test cases.
#[track_caller]
fn counts_hold(document: &Document) {
    let root = document.root_element();
    for suite in named(document, "testsuite").into_iter().chain([root]) {
        for (attribute, tag) in [
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ] {
            let held = suite.descendants().filter(|n| n.has_tag_name(tag)).count();
            // Jenkins' schema has no total of `skipped`.
            if suite != root || tag != "skipped" {
                assert_eq!(
                    suite.attribute(attribute),
                    Some(&*held.to_string()),
                    "{tag}"
                );
            }
        }
    }
}

#[test]
fn rejected_verdicts_fail_and_undecided_ones_are_skipped() {
    let all = " --fail-on regression,inconclusive,incomparable,missing";
    for (cpu, gate, status, ends) in [
        (
            "EPYC",
            "",
            0,
            ["passed", "passed", "skipped", "skipped", "skipped"],
        ),
        (
            "EPYC",
            " --fail-on regression",
            3,
            ["failure", "passed", "skipped", "skipped", "skipped"],
        ),
        (
            "EPYC",
            all,
            3,
            ["failure", "passed", "failure", "failure", "skipped"],
        ),
        (
            "Xeon",
            all,
            5,
            ["failure", "failure", "failure", "failure", "skipped"],
        ),
        ("Xeon", "", 0, ["skipped"; 5]),
    ] {
        let seen = compare(cpu, gate);
        seen.expect(status, "<testsuites ", "");
        let document = Document::parse(&seen.out).unwrap();
        counts_hold(&document);
        let mut cases = results(&document);
        if cpu == "Xeon" && !gate.is_empty() {
            let first = cases.remove(0);
            assert_eq!(first, ("the gate can judge".into(), "error".into()));
        }
        let found: Vec<&str> = cases.iter().map(|(_, end)| end.as_str()).collect();
        assert_eq!(found, ends, "{cpu}{gate}");
        let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "semaphore.take",
                "semaphore.give",
                "mutex.lock",
                "fifo.put",
                "lifo.put"
            ]
        );
    }
}

#[test]
fn budget_limits_are_test_cases() {
    let seen = compare("EPYC", " --fail-on regression --budget limits.toml");
    seen.expect(3, "<testsuites ", "");
    let document = Document::parse(&seen.out).unwrap();
    counts_hold(&document);
    let of_budget = results(&document).split_off(5);
    let found: Vec<(&str, &str)> = of_budget.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        found,
        [
            ("semaphore.take max", "failure"),
            ("semaphore.give max", "passed"),
            ("fifo.put p99", "failure"),
        ]
    );
    assert_snapshot!("junit", seen.out);
}

fn side(name: &str, file: &str, run: Run) -> Origin {
    let column = Column {
        name: name.to_owned(),
        run,
    };
    Origin::of(vec![file.to_owned()], column)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_valid_xml(
        id in "[\\x00-\\u{ffff}]{0,12}|[<>&\"'\\]!-]{1,9}|\\u{fffe}\\u{ffff}\\x0b",
        reason in any::<String>(),
        why in "[ -~]{0,20}",
    ) {
        let mut base = session::read(base().as_bytes());
        let mut new = base.clone();
        base.metrics[0].id = id.clone();
        new.metrics[0].id = id.clone();
        new.metrics[1].replicates.iter_mut().for_each(|replicate| {
            replicate.outcome = kernmark::stream::run::Outcome::Failed(reason.clone());
        });
        let fact = |value: &str| Fact { name: "board".into(), value: value.into() };
        base.host.push(fact("a"));
        new.host.push(fact(&reason));
        let comparison = Comparison::of(&base, &new, &Options::default());
        let limit = format!("[[limit]]\nmetric = \"*\"\nmax = \"1 ns\"\nwhy = {why:?}\n");
        let judgement = Budget::parse(&reason, &limit).map(|budget| budget.judge(&new).unwrap());
        let sides = [side("base", &id, base), side("new", &reason, new)];
        let text = junit::comparison(&comparison, &sides, &gate_for_all_verdicts(), judgement.as_ref().ok());
        let document = Document::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        counts_hold(&document);
        // Ordinary ASCII does not change.
        let ordinary = |c: char| c.is_ascii() && !c.is_ascii_control();
        if id.chars().all(ordinary) {
            let cases = results(&document);
            prop_assert!(cases.iter().any(|(name, _)| *name == id), "{:?}", cases);
        }
    }
}
