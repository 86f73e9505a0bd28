// SPDX-License-Identifier: MIT OR Apache-2.0

//! Trace events in JSON ("Trace Event Format"), which Perfetto (ui.perfetto.dev) and Chrome open.
//!
//! Each stack is a thread, each call a slice. An instruction lasts one microsecond, so that all times
//! are whole numbers: Perfetto truncates fractions.

use serde::Serialize;
use serde_json::{json, Map, Value};

use super::json::{line, list};
use super::{PathFormat, CREATOR};
use crate::stream::paths::Function;
use crate::trace::calls::{Call, Counts, Entry};
use crate::trace::tree::{extent, parts, parts_of_stack, CallTree, Part};

/// The format.
pub static FORMAT: PathFormat = PathFormat {
    name: "perfetto",
    about: "trace events in JSON, for ui.perfetto.dev",
    leaves_out: "the lines of single instructions",
    write,
    difference: None,
};

const PROCESS: u32 = 1;
/// The unit of all times.
const SCALE: &str = "1 us is 1 instruction";

/// A slice: a complete event.
#[derive(Serialize)]
struct Slice<'a> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    ts: usize,
    dur: usize,
    pid: u32,
    tid: usize,
    args: Value,
}

/// An object with the list of events, and what the path is.
fn write(tree: &CallTree) -> String {
    let process = format!("{}: {}", tree.metric, tree.sentence());
    let mut events = vec![
        metadata("process_name", 0, &json!({ "name": process })),
        metadata("process_labels", 0, &json!({ "labels": SCALE })),
    ];
    for (at, stack) in tree.stacks().iter().enumerate() {
        let thread = at + 1;
        let name = format!("stack {thread}");
        events.push(metadata("thread_name", thread, &json!({ "name": name })));
        events.push(metadata(
            "thread_sort_index",
            thread,
            &json!({ "sort_index": thread }),
        ));
        add(&mut events, parts_of_stack(stack), thread, tree);
    }
    let about = json!({
        "creator": CREATOR,
        "metric": tree.metric,
        "target": tree.target,
        "path": tree.sentence(),
        "scale": SCALE,
    });
    format!(
        "{{\n\"traceEvents\":{},\n\"otherData\":{}\n}}\n",
        list(events.into_iter()),
        line(&about)
    )
}

fn metadata(name: &str, thread: usize, args: &Value) -> String {
    line(&json!({ "name": name, "ph": "M", "pid": PROCESS, "tid": thread, "args": args }))
}

/// Adds slices in the order in which they begin; callers come before what they call.
fn add(events: &mut Vec<String>, parts: Vec<Part>, thread: usize, tree: &CallTree) {
    for part in parts {
        let (name, cat, range, args) = match &part {
            Part::Own(_) => continue,
            Part::Call(call) => (
                tree.function(call).name.as_str(),
                category(call.entry),
                extent(call),
                arguments(call, tree),
            ),
            Part::Away(range) => ("another stack runs", "away", range.clone(), json!({})),
        };
        events.push(line(&Slice {
            name,
            cat,
            ph: "X",
            ts: range.start,
            dur: range.len(),
            pid: PROCESS,
            tid: thread,
            args,
        }));
        if let Part::Call(call) = part {
            add(events, self::parts(call), thread, tree);
        }
    }
}

fn category(entry: Entry) -> &'static str {
    match entry {
        Entry::Before => "before",
        Entry::Called => "call",
        Entry::Jumped => "jump",
        Entry::Interrupted => "interrupt",
        Entry::Switched => "switch",
    }
}

/// The figures of a call. Those that are 0 are left out, except for instructions.
fn arguments(call: &Call, tree: &CallTree) -> Value {
    let Function { program, file, .. } = tree.function(call);
    let Counts {
        instructions,
        repeated,
        loads,
        stores,
        devices,
        taken,
        privileged,
        serialising,
        atomic,
    } = tree.own(call);
    let mut args = Map::new();
    args.insert("program".to_owned(), json!(program));
    if let Some(file) = file {
        args.insert("file".to_owned(), json!(file));
    }
    let inclusive = tree.inclusive(call).instructions;
    args.insert("instructions".to_owned(), json!(inclusive));
    args.insert("own".to_owned(), json!(instructions));
    for (name, count) in [
        ("own repeated", repeated),
        ("own loads", loads),
        ("own stores", stores),
        ("own devices", devices),
        ("own taken", taken),
        ("own privileged", privileged),
        ("own serialising", serialising),
        ("own atomic", atomic),
    ] {
        if count > 0 {
            args.insert(name.to_owned(), json!(count));
        }
    }
    Value::Object(args)
}
