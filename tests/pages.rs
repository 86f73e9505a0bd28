// SPDX-License-Identifier: MIT OR Apache-2.0

//! The pages of `matrix`, `why` and `history`: strict HTML, with nothing that steers a browser.

// Other test programs need the rest of it.
#[allow(dead_code)]
mod common;
#[path = "common/saved.rs"]
mod saved;
#[path = "common/strict.rs"]
mod strict;

use std::fs;

use common::here;
use kernmark::files::digest::{Head, Series, Timeline};
use kernmark::judge::compare::Verdict;
use kernmark::judge::history::{Cause, Change, Event, History, MetricHistory};
use kernmark::judge::matrix::Column;
use kernmark::report::html;
use kernmark::stream::run::{Fact, Run, Unit};
use kernmark::stream::session;
use strict::parsed;

/// A text that would be markup, a script and a change of direction.
const HOSTILE: &str = "</script><script>alert(1)</script>\"'&<b onclick=x>\u{202e}]]>";

fn column(name: &str, run: Run) -> Column {
    Column {
        name: name.to_owned(),
        run,
    }
}

fn golden(name: &str) -> Run {
    session::read(&fs::read(here("tests/golden").join(name)).unwrap())
}

/// A run of two metrics, with these samples in each of its replicates.
fn handmade(unit: &str, facts: &[(&str, &str)], samples: [Vec<Vec<u64>>; 2]) -> Run {
    let [one, two] = samples;
    let metrics = [("mutex.lock.user", one), ("pipe.write.1", two)];
    session::read(saved::stream(unit, facts, &metrics).as_bytes())
}

#[test]
fn matrix_is_a_heat_map() {
    let columns = [
        column("an385", golden("zephyr-an385.log")),
        column("userspace", golden("zephyr-an385-userspace.log")),
        column("freertos", golden("freertos-m4.log")),
    ];
    let page = html::matrix::page(&columns).render();
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let parsed = parsed(&page);
    for part in ["253", "+128 %", "userspace", "-90.2 %", "skipped"] {
        assert!(parsed.text.contains(part), "{part} is not on the page");
    }
    assert!(
        page.contains("<td class=\"w4\" data-v=\"127.9"),
        "{page:.9}"
    );
}

#[test]
fn matrix_hatches_what_overlaps() {
    let runs = |values: [u64; 6]| values.map(|value| vec![value; 5]).to_vec();
    let zeros = || runs([0; 6]);
    let fast = handmade("cycles", &[], [runs([10, 11, 12, 13, 14, 15]), zeros()]);
    let slow = handmade(
        "cycles",
        &[],
        [runs([12, 13, 14, 15, 16, 18]), runs([3; 6])],
    );
    let page = html::matrix::page(&[column("fast", fast), column("slow", slow)]).render();
    let text = parsed(&page).text;
    assert!(
        page.contains("class=\"w1 u\"") && text.contains("hatched"),
        "{text}"
    );
    // A difference from 0 has no ratio.
    assert!(text.contains("+3"), "{text}");
}

#[test]
fn hostile_text_is_shown_as_text() {
    let samples = || [vec![vec![5; 9]; 2], vec![vec![7; 9]; 2]];
    let facts = [
        ("target", HOSTILE),
        ("cpu_model", HOSTILE),
        ("kernel_release", HOSTILE),
    ];
    let columns = [
        column(HOSTILE, handmade("instructions", &facts, samples())),
        column("b", handmade("instructions", &[("target", "b")], samples())),
    ];
    let (timeline, history) = history(20, HOSTILE);
    for page in [
        html::matrix::page(&columns).render(),
        html::history::page(&timeline, &history).render(),
    ] {
        let text = parsed(&page).text;
        assert!(text.contains("</script><script>alert(1)"), "{text}");
        assert!(
            !page.contains('\u{202e}') && text.contains("\\u{202e}"),
            "{text}"
        );
        assert_eq!(page.matches("<script>").count(), 1);
    }
}

/// A history with a regression, an improvement and a move by itself. Everything untrusted is `text`.
fn history(runs: usize, text: &str) -> (Timeline, History) {
    let half = runs / 2;
    let event = |run: usize, name: &str| Event {
        run,
        changes: vec![(name.to_owned(), "6.1".to_owned(), text.to_owned())],
    };
    let change = |run, cause, ratio: f64, verdict| Change {
        run,
        found: run + 1,
        cause,
        before: 1000.0,
        after: 1000.0 * ratio,
        ratio,
        verdict,
        is_confirmed: true,
        acknowledged: None,
    };
    let changes = [
        vec![change(half, Cause::Event(0), 1.25, Verdict::Regressed)],
        vec![change(half, Cause::Event(0), 0.8, Verdict::Improved)],
        vec![change(half + 2, Cause::Itself, 1.1, Verdict::Inconclusive)],
        Vec::new(),
    ];
    let metrics = changes
        .iter()
        .enumerate()
        .map(|(at, changes)| MetricHistory {
            metric: format!("{text}.{at}"),
            changes: changes.clone(),
            floor: 0.03,
            slope: 1.0,
            is_exact: false,
            silence: None,
        });
    let series = changes.iter().enumerate().map(|(at, changes)| {
        let level = |run: usize| {
            changes
                .iter()
                .filter(move |one| one.run <= run)
                .map(|one| one.ratio)
        };
        let value = |run: usize| match run % 11 {
            5 => f64::NAN,
            7 => 5000.0,
            noise => 1000.0 * level(run).product::<f64>() + noise as f64,
        };
        Series {
            metric: format!("{text}.{at}"),
            unit: Unit::Cycles,
            values: (0..runs).map(value).collect(),
            spreads: Vec::new(),
        }
    });
    let run = |at: usize| Head {
        name: format!("{text}{at}"),
        started: 1_780_000_000 + 86_400 * at as u64,
        facts: [("target", text), ("cpu_model", text)]
            .map(|(name, value)| Fact::new(name, value).into())
            .to_vec(),
        ..Head::default()
    };
    let timeline = Timeline {
        runs: (0..runs).map(run).collect(),
        clock: (0..runs)
            .map(|run| if run % 3 == 0 { 31.0 } else { 30.0 })
            .collect(),
        series: series.collect(),
    };
    let history = History {
        segments: vec![0, half - 3],
        events: vec![event(half, "kernel_release"), event(half + 4, "compiler")],
        metrics: metrics.collect(),
    };
    (timeline, history)
}

#[test]
fn history_shows_what_changed_when() {
    for runs in [10, 40, 1000] {
        let (timeline, history) = history(runs, "6.2");
        let page = html::history::page(&timeline, &history).render();
        assert!(page.len() < 1_500_000, "{} bytes", page.len());
        let text = parsed(&page).text;
        let day = if runs == 40 { "2026-06-17" } else { "20" };
        for part in [
            "kernel release 6.1 \u{2192} 6.2",
            "+25.0 %",
            "-20.0 %",
            "another machine",
            "1 change without a verdict",
            day,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!page.contains("NaN"), "{runs} runs");
    }
}

#[test]
fn history_without_runs_is_a_page() {
    let page = html::history::page(&Timeline::default(), &History::default()).render();
    assert!(parsed(&page).text.contains("No change has a verdict"));
}
