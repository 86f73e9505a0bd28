// SPDX-License-Identifier: MIT OR Apache-2.0

//! A submission to KCIDB, `KernelCI`'s database: JSON of its I/O schema 5.3.

use serde_json::{json, Map, Value};

use super::json::{line, list};
use super::{about, conditions, Carries, Foreign, Item, Unmeasured, STARTED};
use crate::base::text::plain;
use crate::judge::summary::Status;
use crate::stream::run::{Fact, Run, Session};

/// The format.
pub static FORMAT: Foreign = Foreign {
    name: "kcidb",
    about: "a submission to KCIDB, schema 5.3, for kcidb-submit",
    leaves_out:
        "replicates, distributions, tails, cold samples and proofs; its origin, checkout and build are made up",
    unmeasured: Unmeasured::Told,
    carries: Carries::All,
    write: run,
};

/// The origin: the name of the system that submits.
const ORIGIN: &str = "kernmark";

/// One checkout and one build, which stand for the kernel that was measured, and a test for each
/// metric.
///
/// What is not made up: the kernel's own words in `comment`, its architecture, all of the tests
/// but the ids that tie them to the checkout and the build.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let about = about(run, &items);
    let said = |names: &[&str]| {
        let of = |name| about.iter().find(|(label, _)| *label == name);
        let found = names.iter().copied().find_map(of);
        found.map_or("unknown", |(_, text)| text.as_str())
    };
    let kernel = said(&["kernel"]);
    let conditions: Map<String, Value> = conditions(run)
        .into_iter()
        .map(|(name, value)| (name.replace(' ', "_"), value.into()))
        .collect();
    let configuration = ["board", "variant", "configuration"]
        .into_iter()
        .filter_map(|name| Some(format!("; {name} {}", conditions.get(name)?.as_str()?)));
    let checkout = format!("{ORIGIN}:{kernel}");
    let build = format!("{checkout}{}", configuration.collect::<String>());
    // The same run always has the same name, another run another one.
    let sum = crc32fast::hash(super::json::run(run).as_bytes());
    let started = started(run);
    let name = format!("{}/{sum:08x}", started.unwrap_or("undated"));
    let environment = json!({
        "comment": said(&["machine", "emulator", "target"]),
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
    let mut description = json!({
        "id": build,
        "checkout_id": checkout,
        "origin": ORIGIN,
        "comment": kernel,
    });
    if let Some(Session { arch, .. }) = run.sessions.first() {
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let arch = arch.to_lowercase().replace(|c| !known(c), "_");
        description["architecture"] = arch.into();
    }
    let checkout = line(&json!({ "id": checkout, "origin": ORIGIN, "comment": kernel }));
    let version = line(&json!({ "major": 5, "minor": 3 }));
    format!(
        "{{\n\"version\": {version},\n\"checkouts\": [{checkout}],\n\"builds\": [{}],\n\"tests\": {tests}\n}}\n",
        line(&description)
    )
}

/// A metric, without what ties it to the run.
fn test(item: &Item) -> Map<String, Value> {
    let summary = &item.summary;
    let mut test = Map::new();
    let mut tell = |name: &str, value: Value| test.insert(name.to_owned(), value);
    tell("origin", ORIGIN.into());
    tell("path", path(&summary.id).into());
    tell("status", status(summary.status).into());
    let entry = summary.entry.as_ref().filter(|e| !e.about.is_empty());
    if let Some(entry) = entry {
        tell("comment", plain(&entry.about).into());
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
    tell("misc", misc);
    if let Some(value) = item.median() {
        let number = json!({ "value": value, "unit": summary.unit.of_figures() });
        tell("number", number);
    } else {
        let reason: String = plain(&item.reason()).chars().take(MOST).collect();
        tell("log_excerpt", reason.into());
    }
    test
}

/// Most characters of an excerpt.
const MOST: usize = 16_384;

/// KCIDB calls a test whose result is a measurement done, not passed.
fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "DONE",
        Status::Skipped => "SKIP",
        Status::Failed => "FAIL",
        Status::Incomplete => "ERROR",
    }
}

/// The place of a metric in KCIDB's tree of tests. It allows fewer characters than ids have: `+`
/// becomes `-`, which no id of ours has, others become `_`; `misc.metric` has the id itself.
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

/// When the run began, where it says so in the form that KCIDB reads.
fn started(run: &Run) -> Option<&str> {
    Fact::value_in(&run.host, STARTED).filter(|time| humantime::parse_rfc3339(time).is_ok())
}
