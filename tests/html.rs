// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports as HTML: parsed strictly, compared with golden files, and opened in Chromium at two widths,
//! light and dark, without scripts.

#[allow(dead_code)]
mod common;
#[path = "common/strict.rs"]
#[allow(dead_code)]
mod strict;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{here, scratch, skipped};
use kernmark::judge::compare::{Comparison, Options};
use kernmark::judge::gate::Ruling;
use kernmark::judge::matrix::Column;
use kernmark::report::compare::Origin;
use kernmark::report::html::metric::Precision;
use kernmark::report::html::{compare, run};
use kernmark::stream::run::{
    Clock, Entry, Fact, Metric, Outcome, Proof, Replicate, Run, Session, Unit,
};
use kernmark::stream::session;
use kernmark::stream::ticks::Ticks;
use strict::{parsed, without};

const CASES: [&str; 6] = [
    "semaphore.take.blocking",
    "mutex.lock.immediate.recursive",
    "channel.write",
    "roundtrip.condvar.processes.cross_cpu",
    "process.fork_exit_wait.resident",
    "clock.read",
];

/// A run with this many metrics in ten replicates; its times are `slower` times as long. Each metric
/// has a body, a second level and a tail over four powers of ten.
fn made(metrics: usize, samples: usize, slower: f64) -> Run {
    let mut random = fastrand::Rng::with_seed(16);
    let session = Session {
        port: "linux-user".into(),
        arch: "x86_64".into(),
        clock: Clock {
            name: "tsc".into(),
            unit: Unit::Cycles,
            hz: 2_300_000_000,
        },
        realtime: true,
        facts: vec![Fact::new("kernel", "Linux 6.1.0 #1 SMP")],
        during: Vec::new(),
        complete: true,
    };
    let proof = |name: &str| Proof {
        name: name.into(),
        counted: 0,
        low: 0,
        high: 0,
        expected: None,
    };
    let names = [
        "order", "clock", "results", "switches", "pinned", "priority",
    ];
    let proofs: Vec<Proof> = names.into_iter().map(proof).collect();
    let mut run = Run {
        host: vec![
            Fact::new("kernel_release", "6.1.0"),
            Fact::new("cpu_model", "a processor"),
        ],
        sessions: vec![session; 10],
        ..Run::default()
    };
    for number in 0..metrics {
        let id = format!("{}.u_to_u.{number}", CASES[number % CASES.len()]);
        let centre = 10f64.powf(1.5 + 3.5 * random.f64()) * slower;
        let mut sample = || {
            let level = if random.f64() < 0.2 { 1.1 } else { 1.0 };
            let tail = if random.f64() < 0.01 {
                10f64.powf(4.0 * random.f64())
            } else {
                1.0
            };
            let noise = (random.f64() + random.f64() + random.f64() - 1.5) * 0.06;
            Ticks((centre * level * tail * (1.0 + noise)) as u64)
        };
        let replicates = (0..10).map(|session| Replicate {
            session,
            outcome: Outcome::Ok,
            batch: if number % 3 == 0 { 64 } else { 1 },
            asked: samples as u64,
            cold: Some(Ticks(centre as u64 * 3)),
            histogram: (0..samples).map(|_| (sample(), 1)).collect(),
            stat: None,
            cpu_ns: Some(1_000_000),
            proofs: proofs.clone(),
        });
        run.catalog.push(Entry {
            metric: id.clone(),
            case: id.clone(),
            idiom: number % 7 == 0,
            about:
                "Block on an empty queue; a thread of lower priority allocates an item and puts it."
                    .into(),
            between: "from the blocking get to the next instruction of the other thread".into(),
            via: "linked list under pthread_mutex, items counted with sem_post, sem_wait".into(),
            ..Entry::default()
        });
        run.metrics.push(Metric {
            case: id.clone(),
            replicates: replicates.collect(),
            id,
        });
    }
    run
}

const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"onload=\"alert(1)",
    "a]]>b--><!--c",
    "'><img src=x>",
    "&lt;b&gt; &amp; &",
    "bell\u{7} escape\u{1b}[31m delete\u{7f}",
    "right\u{202e}to\u{2066}left\u{200f}",
    "a/very.long_id_without_any_place_to_break_it_that_is_much_wider_than_a_telephone_is_wide_and_more",
];

/// A run whose every text is hostile.
fn hostile() -> Run {
    let mut run = made(HOSTILE.len() + 1, 40, 1.0);
    for (at, text) in HOSTILE.into_iter().enumerate() {
        let entry = &mut run.catalog[at];
        for field in [&mut entry.about, &mut entry.between, &mut entry.via] {
            text.clone_into(field);
        }
        text.clone_into(&mut entry.metric);
        text.clone_into(&mut run.metrics[at].id);
        for replicate in &mut run.metrics[at].replicates {
            text.clone_into(&mut replicate.proofs[0].name);
            if at == 3 {
                replicate.outcome = Outcome::Failed(text.into());
                replicate.histogram = Vec::new().into_iter().collect();
            }
        }
        run.host.push(Fact::new(text, text));
        run.sessions[0].facts.push(Fact::new("kernel", text));
        run.sessions[0].port = text.into();
    }
    run.host[1].value = HOSTILE[0].into();
    run
}

fn compared(base: &Run, new: &Run) -> String {
    let comparison = Comparison::of(base, new, &Options::default());
    let side = |name: &str, run: &Run| {
        let column = Column {
            name: name.into(),
            run: run.clone(),
        };
        Origin::of(vec![HOSTILE[0].into()], column)
    };
    let sides = [side("base", base), side("new", new)];
    compare::page(&comparison, &sides, &Ruling::default()).render()
}

/// A saved run of `tests/golden/export`.
fn saved(name: &str) -> Run {
    let stream = fs::read(here(&format!("tests/golden/export/{name}.run"))).unwrap();
    session::read(&stream)
}

/// Parses a page and asserts that it is correct and refers to nothing but itself.
#[track_caller]
fn assert_strict(html: &str) {
    for link in parsed(html).links {
        assert!(link.starts_with('#'), "{link}");
    }
}

#[test]
fn pages_are_strict_html() {
    let few = made(8, 40, 1.0);
    assert_strict(&run::page(&few, Precision::Binned).render());
    assert_strict(&run::page(&saved("time"), Precision::Exact).render());
    assert_strict(&run::page(&saved("instructions"), Precision::Exact).render());
    assert_strict(&run::page(&Run::default(), Precision::Binned).render());
    assert_strict(&compared(&few, &made(8, 40, 1.3)));
    assert_strict(&compared(&saved("instructions"), &few));
    assert_strict(&compared(&Run::default(), &Run::default()));
}

#[test]
fn hostile_texts_are_escaped() {
    let run = hostile();
    for page in [
        run::page(&run, Precision::Exact).render(),
        compared(&run, &run),
    ] {
        assert_strict(&page);
        let steers = |c: char| c != '\n' && kernmark::base::text::steers(c);
        assert!(!page.contains(steers));
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert!(page.contains("\\u{202e}"));
    }
}

#[test]
fn page_matches_its_golden_file() {
    let base = saved("time");
    for (name, text) in [
        ("run", run::page(&base, Precision::Exact).render()),
        ("compare", compared(&base, &base)),
    ] {
        // The style and the script have files of their own, and the policy a test.
        let text = without(&text, "script");
        let (_, body) = text.split_once("<body>").unwrap();
        let path = here(&format!("tests/golden/html/{name}.html"));
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            fs::write(&path, body).unwrap();
        }
        assert_eq!(body, fs::read_to_string(&path).unwrap(), "{name}");
    }
}

#[test]
fn a_whole_run_is_small() {
    let run = made(311, 375, 1.0);
    let sizes = [Precision::Binned, Precision::Exact]
        .map(|precision| run::page(&run, precision).render().len());
    assert!(sizes[0] <= 1_500_000, "{sizes:?}");
    assert!(sizes[1] <= 2_500_000, "{sizes:?}");
}

#[test]
fn exact_distributions_have_every_sample() {
    let mut run = made(1, 0, 1.0);
    for (at, replicate) in run.metrics[0].replicates.iter_mut().enumerate() {
        // Replicates with different batches share a scale.
        replicate.batch = 2 + 2 * (at as u64 % 2);
        let scale = replicate.batch / 2;
        let counts = [(100, 3), (110, 1), (150, 12)];
        let counts = counts.into_iter();
        replicate.histogram = counts.map(|(value, n)| (Ticks(value * scale), n)).collect();
    }
    let page = run::page(&run, Precision::Exact).render();
    assert!(
        page.contains("The first value is 50 cycles, a step is 5."),
        "{page}"
    );
    assert!(page.contains(">(30)j4(120)<"));
}

/// The browser, if this machine has one.
fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let has = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    names.into_iter().find(has)
}

/// The page after its scripts ran, and what the browser logged.
fn browse(browser: &str, page: &Path, arguments: &[&str]) -> (String, String) {
    // Two browsers cannot share a profile.
    let profile = page.with_extension("profile");
    let Output { stdout, stderr, .. } = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    [stdout, stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .into()
}

/// Measures pages in frames of two widths: what is wider than its frame, labels that collide, and the
/// colour of the background.
const MEASURE: &str = r#"<script>
onload = () => {
  const seen = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const d = frame.contentDocument, found = [];
    for (const open of [false, true]) {
      d.querySelectorAll("details").forEach(e => e.open = open);
      const wide = d.documentElement.scrollWidth;
      if (wide > d.documentElement.clientWidth) found.push("scrolls to " + wide);
      for (const svg of d.querySelectorAll("svg")) {
        const all = [...svg.children].filter(e => e.tagName == "text" && e.getClientRects().length)
          .map(e => [e.getBoundingClientRect(), e.textContent]);
        for (const [a, t] of all) {
          if (a.left < 0 || a.right > d.documentElement.clientWidth) found.push("cut off: " + t);
          for (const [b, u] of all)
            if (a !== b && a.left <= b.left && a.right > b.left && a.top < b.bottom && b.top < a.bottom)
              found.push(t + " collides with " + u);
        }
      }
    }
    seen.push(frame.width + " " + getComputedStyle(d.body).backgroundColor + " " + found.join("; "));
  }
  document.title = "[" + seen.join("][") + "]";
};
</script>"#;

#[test]
fn pages_fit_any_width_light_and_dark_without_scripts() {
    let Some(browser) = chromium() else {
        return skipped("HTML in a browser", "chromium is not installed");
    };
    let base = made(24, 60, 1.0);
    let pages = [
        run::page(&base, Precision::Exact).render(),
        run::page(&hostile(), Precision::Exact).render(),
        compared(&base, &made(24, 60, 1.3)),
        compared(&hostile(), &hostile()),
    ];
    let mut frames = String::from("<!doctype html><meta charset=\"utf-8\"><title>-</title>");
    for page in &pages {
        let source = without(page, "script")
            .replace('&', "&amp;")
            .replace('"', "&quot;");
        for width in [1280, 400] {
            frames += "<iframe height=\"800\" ";
            frames += [
                format!("width=\"{width}\""),
                format!("srcdoc=\"{source}\"></iframe>"),
            ]
            .join(" ")
            .as_str();
        }
    }
    let path = scratch("html").join("measure.html");
    fs::write(&path, frames + MEASURE).unwrap();
    for (scheme, colour) in [(1, "rgb(255, 255, 255)"), (0, "rgb(17, 21, 26)")] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let (dom, log) = browse(browser, &path, &[&scheme]);
        let title = dom
            .split("<title>")
            .nth(1)
            .and_then(|rest| rest.split("</title>").next());
        let expected = format!("[1280 {colour} ][400 {colour} ]").repeat(pages.len());
        assert_eq!(title, Some(expected.as_str()), "{log}");
    }
}

#[test]
fn the_policy_admits_our_script_only() {
    let Some(browser) = chromium() else {
        return skipped("HTML in a browser", "chromium is not installed");
    };
    let page = run::page(&made(3, 40, 1.0), Precision::Binned).render();
    let path = scratch("html").join("policy.html");
    fs::write(&path, &page).unwrap();
    let (dom, log) = browse(browser, &path, &[]);
    assert!(dom.contains("<html lang=\"en\" class=\"on\">"), "{log}");
    assert!(!log.contains("CONSOLE"), "{log}");
    fs::write(&path, page.replace("<script>", "<script>;")).unwrap();
    let (dom, log) = browse(browser, &path, &[]);
    assert!(!dom.contains("class=\"on\""), "{dom}");
    assert!(log.contains("Content Security Policy"), "{log}");
}
