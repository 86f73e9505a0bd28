// SPDX-License-Identifier: MIT OR Apache-2.0

//! A submission to KCIDB, `KernelCI`'s database: JSON in its I/O schema 5.3.

use std::fmt::Write;

use serde_json::{json, Map, Value};

use super::json::{line, list};
use super::{conditions, description, Carries, Foreign, Item, Unmeasured, STARTED};
use crate::base::text::plain;
use crate::judge::summary::Status;
use crate::stream::run::{Fact, Run, Session, CONFIGURATION};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "kcidb",
    about: "a submission to KCIDB, schema 5.3, for kcidb-submit",
    leaves_out:
        "replicates, distributions, tails, cold samples and proofs; its origin, checkout and build are made up",
    unmeasured: Unmeasured::Explained,
    carries: Carries::All,
    write: run,
};

/// The origin: the name of the submitting system.
const ORIGIN: &str = "kernmark";

/// One checkout and one build, which represent the measured kernel, and a test for each metric.
///
/// The ids of checkout and build are made up. The kernel's description of itself in `comment`, its
/// architecture and everything else in the tests are real.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let description = description(run, &items);
    let first_of = |names: &[&str]| {
        let named = |name| description.iter().find(|(label, _)| *label == name);
        let found = names.iter().copied().find_map(named);
        found.map_or("unknown", |(_, text)| text.as_str())
    };
    let kernel = first_of(&["kernel"]);
    let mut conditions: Map<String, Value> = conditions(run)
        .into_iter()
        .map(|(name, value)| (name.replace(' ', "_"), value.into()))
        .collect();
    let choice = ["board", "variant"]
        .into_iter()
        .filter_map(|name| Some(format!("; {name} {}", conditions.get(name)?.as_str()?)));
    let checkout = format!("{ORIGIN}:{kernel}");
    let mut build = format!("{checkout}{}", choice.collect::<String>());
    // A configuration may have 20 kB. Its build has it; its sum identifies it.
    let configuration = conditions.remove(CONFIGURATION);
    if let Some(text) = configuration.as_ref().and_then(Value::as_str) {
        let sum = crc32fast::hash(text.as_bytes());
        let _ = write!(build, "; {CONFIGURATION} {sum:08x}");
    }
    // The name identifies the run: the same run always gets the same name.
    let sum = crc32fast::hash(super::json::run(run).as_bytes());
    let started = started(run);
    let name = format!("{}/{sum:08x}", started.unwrap_or("undated"));
    let environment = json!({
        "comment": first_of(&["machine", "emulator", "target"]),
        "misc": conditions,
    });
    let tests = items.iter().map(|item| {
        let mut test = test(item);
        let id = plain(&item.summary.id);
        test.insert("id".to_owned(), format!("{ORIGIN}:{name}/{id}").into());
        test.insert("build_id".to_owned(), build.clone().into());
        test.insert("environment".to_owned(), environment.clone());
        if let Some(started) = started {
            test.insert("start_time".to_owned(), started.into());
        }
        line(&test)
    });
    let tests = list(tests);
    let mut build = json!({
        "id": build,
        "checkout_id": checkout,
        "origin": ORIGIN,
        "comment": kernel,
    });
    if let Some(Session { arch, .. }) = run.sessions.first() {
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let arch = arch.to_lowercase().replace(|c| !known(c), "_");
        build["architecture"] = arch.into();
    }
    if let Some(configuration) = configuration {
        build["misc"] = json!({ CONFIGURATION: configuration });
    }
    let checkout = line(&json!({ "id": checkout, "origin": ORIGIN, "comment": kernel }));
    let version = line(&json!({ "major": 5, "minor": 3 }));
    format!(
        "{{\n\"version\": {version},\n\"checkouts\": [{checkout}],\n\"builds\": [{}],\n\"tests\": {tests}\n}}\n",
        line(&build)
    )
}

/// The test of a metric, without the members that refer to the run.
fn test(item: &Item) -> Map<String, Value> {
    let summary = &item.summary;
    let mut test = Map::new();
    let mut add = |name: &str, value: Value| test.insert(name.to_owned(), value);
    add("origin", ORIGIN.into());
    add("path", path(&summary.id).into());
    add("status", status(summary.status).into());
    let entry = summary.entry.as_ref().filter(|e| !e.about.is_empty());
    if let Some(entry) = entry {
        add("comment", plain(&entry.about).into());
    }
    let mut misc = json!({
        "metric": summary.id,
        "replicates": summary.replicates,
        "tried": summary.tried,
        "samples": summary.samples,
    });
    if let Some((low, high)) = item.interval() {
        misc["low"] = low.into();
        misc["high"] = high.into();
    }
    add("misc", misc);
    if let Some(value) = item.median() {
        let number = json!({ "value": value, "unit": summary.unit.of_figures() });
        add("number", number);
    } else {
        let reason: String = plain(&item.reason()).chars().take(MAX_EXCERPT).collect();
        add("log_excerpt", reason.into());
    }
    test
}

/// Most characters of an excerpt.
const MAX_EXCERPT: usize = 16_384;

/// The status in KCIDB's terms. A test whose result is a measurement is `DONE`, not `PASS`.
fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "DONE",
        Status::Skipped => "SKIP",
        Status::Failed => "FAIL",
        Status::Incomplete => "ERROR",
    }
}

/// The path of a metric in KCIDB's tree of tests. Paths allow fewer characters than ids: `+` becomes `-`,
/// which our ids never contain, and others become `_`. `misc.metric` has the unchanged id.
fn path(id: &str) -> String {
    let parts = id.split('.').map(|part| {
        let part: String = part
            .chars()
            .map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
                '+' => '-',
                _ => '_',
            })
            .collect();
        if part.is_empty() {
            "_".to_owned()
        } else {
            part
        }
    });
    format!("kernmark.{}", parts.collect::<Vec<_>>().join("."))
}

/// The start time of the run, if it has the format that KCIDB requires.
fn started(run: &Run) -> Option<&str> {
    Fact::value_in(&run.host, STARTED).filter(|time| humantime::parse_rfc3339(time).is_ok())
}
