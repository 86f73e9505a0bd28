// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls of a path as text, and in the formats of other programs: a tree made by hand is compared
//! byte for byte, and arbitrary trees must keep their totals and conform to the grammar.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;

use common::here;
use kernmark::export::{PathFormat, PATHS};
use kernmark::report::style::{BarStyle, Colour, Style};
use kernmark::report::tree::{render, View};
use kernmark::stream::paths::Function;
use kernmark::trace::calls::{Call, Counts, Entry};
use kernmark::trace::tree::{CallTree, Line};
use proptest::prelude::*;
use serde_json::Value;

/// What a function does.
#[derive(Clone, Debug)]
enum Do {
    /// It executes so many instructions.
    Run(usize),
    /// It calls a function.
    Call(&'static str, Entry, Vec<Do>),
    /// Another stack executes so many instructions.
    Away(usize),
}
use Do::{Away, Run};

fn call(name: &'static str, what: Vec<Do>) -> Do {
    Do::Call(name, Entry::Called, what)
}

/// A path: what a tree borrows.
#[derive(Clone, Debug, Default)]
struct Path {
    calls: Vec<Call>,
    functions: Vec<Function>,
    counts: Vec<Counts>,
    lines: Vec<Option<Line>>,
    files: Vec<String>,
    /// Instructions laid out so far.
    place: usize,
}

impl Path {
    /// Lays out a call; `away` receives where other stacks execute.
    fn lay(&mut self, what: &Do, away: &mut Vec<Range<usize>>) -> Call {
        let Do::Call(name, entry, body) = what else {
            panic!("only calls are laid out");
        };
        let mut call = Call {
            function: self.function(name),
            entry: *entry,
            own: Vec::new(),
            calls: Vec::new(),
        };
        for what in body {
            let start = self.place;
            match what {
                Run(count) => {
                    self.place += count;
                    match call.own.last_mut() {
                        Some(last) if last.end == start => last.end = self.place,
                        _ => call.own.push(start..self.place),
                    }
                }
                Away(count) => {
                    self.place += count;
                    away.push(start..self.place);
                }
                Do::Call(..) => call.calls.push(self.lay(what, away)),
            }
        }
        call
    }

    /// The index of a function. What begins with a capital letter is the agent's.
    fn function(&mut self, name: &str) -> usize {
        let program = if name.starts_with(|c: char| c.is_uppercase()) {
            "agent"
        } else {
            "kernel"
        };
        let function = Function {
            name: name.to_owned(),
            program: program.to_owned(),
            file: None,
        };
        let known = self.functions.iter().position(|known| *known == function);
        known.unwrap_or_else(|| {
            self.functions.push(function);
            self.functions.len() - 1
        })
    }

    fn tree(&self) -> CallTree<'_> {
        CallTree {
            metric: "semaphore.take.blocking.k_to_k",
            target: "by hand",
            samples: 981,
            all_samples: 1000,
            batch: 1,
            idle: 0,
            calls: &self.calls,
            functions: &self.functions,
            counts: &self.counts,
            lines: &self.lines,
            files: &self.files,
        }
    }
}

/// A thread takes a semaphore and blocks; another thread runs meanwhile.
fn by_hand(enter: usize, traced: bool) -> Path {
    let mut path = Path::default();
    let mut away = Vec::new();
    let mut take = vec![Run(20)];
    for _ in 0..3 {
        take.extend([call("enter_critical", vec![Run(enter)]), Run(1)]);
    }
    take.push(if traced {
        call("trace_hook", vec![Run(12)])
    } else {
        call(
            "place_on_event_list",
            vec![
                Run(9),
                Do::Call("list_insert", Entry::Jumped, vec![Run(20)]),
            ],
        )
    });
    let pend = vec![
        Run(10),
        call("switch_context", vec![Run(32)]),
        Run(6),
        Away(30),
        Run(5),
    ];
    take.extend([Do::Call("pend_handler", Entry::Interrupted, pend), Run(8)]);
    let taker = Do::Call(
        "Taker",
        Entry::Before,
        vec![Run(4), call("semaphore_take", take), Run(2)],
    );
    let taker = path.lay(&taker, &mut away);
    let end = path.place;
    path.place = away[0].start;
    let resume = Do::Call("resume_all", Entry::Switched, vec![Run(10)]);
    let resume = path.lay(&resume, &mut away);
    let send = call("generic_send", vec![Run(16)]);
    let giver = Do::Call("Giver", Entry::Before, vec![Run(3), send, Run(1)]);
    let giver = path.lay(&giver, &mut away);
    assert_eq!(path.place, away[0].end);
    path.place = end;
    path.calls = vec![taker, resume, giver];
    path
}

/// The same with counts and lines. The end of `semaphore_take` is inlined from a header.
fn with_sources() -> Path {
    let mut path = by_hand(7, false);
    path.files = ["taker.c", "queue.c", "list.h"].map(str::to_owned).to_vec();
    for function in &mut path.functions {
        function.file = match function.name.as_str() {
            "Taker" => Some("taker.c".to_owned()),
            "semaphore_take" => Some("queue.c".to_owned()),
            "list_insert" => Some("list.h".to_owned()),
            _ => None,
        };
    }
    path.lines = vec![None; path.place];
    path.counts = (0..path.place)
        .map(|place| Counts {
            instructions: 1,
            loads: u64::from(place % 3 == 0),
            ..Counts::default()
        })
        .collect();
    let take = &path.calls[0].calls[0];
    for place in take.own.iter().flat_map(Range::clone) {
        path.lines[place] = Some(Line {
            file: 1,
            line: 101 + u32::from(place > 10),
        });
    }
    for place in take.own.last().unwrap().clone() {
        path.lines[place] = Some(Line { file: 2, line: 7 });
    }
    path
}

fn format(name: &str) -> &'static PathFormat {
    PATHS.iter().find(|format| format.name == name).unwrap()
}

fn written(name: &str, tree: &CallTree) -> String {
    (format(name).write)(tree)
}

fn difference(name: &str, before: &CallTree, after: &CallTree) -> String {
    (format(name).difference.unwrap())(before, after)
}

fn plain() -> Style {
    Style {
        width: 80,
        colour: Colour::Never,
        bars: BarStyle::Blocks,
    }
}

#[test]
fn every_format_matches_its_golden_file() {
    let (path, after) = (with_sources(), by_hand(10, true));
    let (tree, after) = (path.tree(), after.tree());
    let after = CallTree {
        target: "by another hand",
        ..after
    };
    let mut files: Vec<(String, String)> = Vec::new();
    for format in PATHS {
        files.push((format.name.to_owned(), (format.write)(&tree)));
        if let Some(difference) = format.difference {
            let name = format!("difference.{}", format.name);
            files.push((name, difference(&tree, &after)));
        }
    }
    for (name, text) in files {
        let text = text.replace(
            concat!("kernmark ", env!("CARGO_PKG_VERSION")),
            "kernmark VERSION",
        );
        let path = here(&format!("tests/golden/paths/{name}"));
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{name}");
    }
}

#[test]
fn stacks_are_told_apart() {
    let path = by_hand(7, false);
    let tree = path.tree();
    let names = |stack: &Vec<&Call>| -> Vec<String> {
        stack
            .iter()
            .map(|call| tree.function(call).name.clone())
            .collect()
    };
    let stacks: Vec<Vec<String>> = tree.stacks().iter().map(names).collect();
    assert_eq!(stacks, [vec!["Taker"], vec!["resume_all", "Giver"]]);
    assert_eq!(
        tree.sentence(),
        "170 instructions, the path of 981 of 1,000 samples"
    );
}

fn shown(path: &Path, view: &View) -> String {
    render(&path.tree(), view, &plain()).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn calls_are_shown_in_the_order_of_execution() {
    assert_eq!(
        shown(&by_hand(7, false), &View::default()),
        "\
instructions  own  function
                   stack 1:
         140    6  Taker [agent]
         134   31    semaphore_take [kernel]
          21   21      enter_critical x3
          29    9      place_on_event_list
          20   20        list_insert [jump]
          53   21      pend_handler [interrupt]
          32   32        switch_context
                         (another stack: 30 instructions)
                   stack 2:
          10   10  resume_all [kernel, switched to]
          20    4  Giver [agent]
          16   16    generic_send [kernel]

xN: N equal calls in a row, summed up
interrupt: by an interrupt, an exception or a system call
jump: by a jump at the end of its caller
"
    );
}

#[test]
fn depth_hides_what_is_deeper() {
    let view = View {
        depth: Some(2),
        ..View::default()
    };
    assert_eq!(
        shown(&by_hand(7, false), &view),
        "\
instructions  own  function
                   stack 1:
         140    6  Taker [agent]
         134   31    semaphore_take [kernel]
                   stack 2:
          10   10  resume_all [kernel, switched to]
          20    4  Giver [agent]
          16   16    generic_send [kernel]
"
    );
}

#[test]
fn filters_choose_functions_and_what_they_call() {
    let view = View {
        only: names(&["place_*", "resume_all", "pend_handler"]),
        without: names(&["switch_context"]),
        ..View::default()
    };
    assert_eq!(
        shown(&by_hand(7, false), &view),
        "\
instructions  own  function
                   stack 1:
          29    9  place_on_event_list [kernel]
          20   20    list_insert [jump]
          53   21  pend_handler [kernel, interrupt]
                     (another stack: 30 instructions)
                   stack 2:
          10   10  resume_all [kernel, switched to]

shown: 92 of 170 instructions, those of place_*, resume_all, pend_handler and of
what they call
left out: 32 of 170 instructions, those of switch_context and of what they call;
the figures of their callers include them
interrupt: by an interrupt, an exception or a system call
jump: by a jump at the end of its caller
"
    );
    let view = View {
        only: names(&["generic_sent"]),
        ..View::default()
    };
    let path = by_hand(7, false);
    assert_eq!(
        render(&path.tree(), &view, &plain()).unwrap_err(),
        "no function on this path is called `generic_sent`; did you mean generic_send?"
    );
}

#[test]
fn the_deepest_recursion_is_written() {
    let mut path = Path::default();
    let mut deepest = vec![Run(1)];
    for _ in 0..1000 {
        deepest = vec![Run(1), call("recurse", deepest), Run(1)];
    }
    let root = path.lay(&Do::Call("Main", Entry::Before, deepest), &mut Vec::new());
    path.calls = vec![root];
    let tree = path.tree();
    let (summary, _) = read_callgrind(&written("callgrind", &tree));
    assert_eq!(summary, 2001);
    assert_eq!(
        nested(&read_perfetto(&written("perfetto", &tree))[&1]),
        2001
    );
    assert_eq!(written("folded", &tree).lines().count(), 1001);
    check_flame(&written("flame", &tree));
    assert!(shown(&path, &View::default()).lines().count() > 1001);
}

/// Figures of a function in a callgrind file.
#[derive(Debug, Default, PartialEq)]
struct Costs {
    own: u64,
    called: u64,
    calls: u64,
    called_for: u64,
}

/// Reads callgrind's format as its manual has it, without mercy. Returns the summary and the costs by
/// function (program, file, name), of the first event.
fn read_callgrind(text: &str) -> (u64, BTreeMap<[String; 3], Costs>) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# callgrind format"));
    let mut header: Vec<(&str, &str)> = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        header.push(line.split_once(": ").unwrap());
    }
    let value = |key: &str| header.iter().find(|(known, _)| *known == key).unwrap().1;
    assert_eq!(value("version"), "1");
    assert_eq!(value("positions"), "line");
    let events = value("events").split(' ').count();
    assert!(value("events").starts_with("Instructions"));
    let costs = |line: &str| -> Vec<u64> {
        let costs: Vec<u64> = line.split(' ').map(|cost| cost.parse().unwrap()).collect();
        assert_eq!(costs.len(), events, "{line}");
        costs
    };
    let summary = costs(value("summary"))[0];
    let mut names: HashMap<(String, usize), String> = HashMap::new();
    let mut name = |kind: &str, text: &str| {
        let (number, name) = text.strip_prefix('(').unwrap().split_once(')').unwrap();
        let key = (kind.to_owned(), number.parse().unwrap());
        if let Some(name) = name.strip_prefix(' ') {
            assert!(!name.trim().is_empty());
            assert_eq!(names.insert(key.clone(), name.to_owned()), None);
        }
        names.get(&key).expect("it has a name").clone()
    };
    let mut functions: BTreeMap<[String; 3], Costs> = BTreeMap::new();
    let (mut here, mut there) = (
        [(); 3].map(|()| String::new()),
        [(); 3].map(|()| String::new()),
    );
    let mut calls = None;
    let mut sums = vec![0; events];
    for line in lines.filter(|line| !line.is_empty()) {
        match line.split_once('=') {
            Some(("ob", text)) => here[0] = name("ob", text),
            Some(("fl", text)) => here[1] = name("fl", text),
            Some(("fi" | "fe", text)) => drop(name("fl", text)),
            Some(("fn", text)) => {
                here[2] = name("fn", text);
                let known = functions.entry(here.clone()).or_default();
                assert_eq!(
                    *known,
                    Costs {
                        called: known.called,
                        calls: known.calls,
                        ..Costs::default()
                    }
                );
            }
            Some(("cob", text)) => there[0] = name("ob", text),
            Some(("cfi", text)) => there[1] = name("fl", text),
            Some(("cfn", text)) => there[2] = name("fn", text),
            Some(("calls", text)) => {
                let (count, line) = text.split_once(' ').unwrap();
                line.parse::<u32>().unwrap();
                calls = Some(count.parse::<u64>().unwrap());
            }
            Some((key, _)) => panic!("{key} is not a key"),
            None => {
                let (line, rest) = line.split_once(' ').unwrap();
                line.parse::<u32>().unwrap();
                let costs = costs(rest);
                if let Some(calls) = calls.take() {
                    let called = functions.entry(there.clone()).or_default();
                    called.called += costs[0];
                    called.calls += calls;
                    functions.get_mut(&here).unwrap().called_for += costs[0];
                } else {
                    functions.get_mut(&here).unwrap().own += costs[0];
                    for (sum, cost) in sums.iter_mut().zip(costs) {
                        *sum += cost;
                    }
                }
            }
        }
    }
    assert_eq!(calls, None);
    assert_eq!(
        value("summary"),
        sums.iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    );
    (summary, functions)
}

/// The own instructions and the number of calls of each function of a tree, by name.
fn by_function(tree: &CallTree) -> BTreeMap<(String, String), (u64, u64)> {
    fn add(call: &Call, tree: &CallTree, sums: &mut BTreeMap<(String, String), (u64, u64)>) {
        let Function { name, program, .. } = tree.function(call);
        let sum = sums.entry((program.clone(), name.clone())).or_default();
        sum.0 += call.own_instructions() as u64;
        sum.1 += 1;
        for called in &call.calls {
            add(called, tree, sums);
        }
    }
    let mut sums = BTreeMap::new();
    for call in tree.calls {
        add(call, tree, &mut sums);
    }
    sums
}

/// A slice of Perfetto's.
#[derive(Debug)]
struct Slice {
    name: String,
    cat: String,
    start: u64,
    end: u64,
    own: u64,
}

/// The slices of each track.
fn read_perfetto(text: &str) -> BTreeMap<u64, Vec<Slice>> {
    let trace: Value = serde_json::from_str(text).unwrap();
    assert_eq!(trace["otherData"]["scale"], "1 us is 1 instruction");
    let mut tracks: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        assert_eq!(event["pid"], 1);
        if event["ph"] == "M" {
            continue;
        }
        assert_eq!(event["ph"], "X");
        let start = event["ts"].as_u64().unwrap();
        let slice = Slice {
            name: event["name"].as_str().unwrap().to_owned(),
            cat: event["cat"].as_str().unwrap().to_owned(),
            start,
            end: start + event["dur"].as_u64().unwrap(),
            own: event["args"]["own"].as_u64().unwrap_or(0),
        };
        tracks
            .entry(event["tid"].as_u64().unwrap())
            .or_default()
            .push(slice);
    }
    tracks
}

/// Checks that slices nest in their order, and that each lasts as long as its own instructions and the
/// slices in it. Returns the sum of own instructions.
fn nested(slices: &[Slice]) -> u64 {
    // The open slices: their ends, and what is left of them.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut total = 0;
    let close = |open: &mut Vec<(u64, u64)>, now: u64| {
        while open.last().is_some_and(|(end, _)| *end <= now) {
            assert_eq!(
                open.pop().unwrap().1,
                0,
                "own instructions do not fill the slice"
            );
        }
    };
    for slice in slices {
        assert!(slice.start < slice.end, "{slice:?}");
        close(&mut open, slice.start);
        if let Some((end, left)) = open.last_mut() {
            assert!(slice.end <= *end, "{slice:?} does not nest");
            *left -= slice.end - slice.start;
        }
        let own = if slice.cat == "away" {
            slice.end - slice.start
        } else {
            slice.own
        };
        open.push((slice.end, slice.end - slice.start - own));
        total += slice.own;
    }
    close(&mut open, u64::MAX);
    total
}

/// An SVG's texts and rectangles fit into their frames, and nothing in it runs.
fn check_flame(text: &str) {
    let document = roxmltree::Document::parse(text).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("width"), Some("1200"));
    let number = |node: roxmltree::Node, name: &str| -> f64 {
        node.attribute(name).unwrap().parse().unwrap()
    };
    for node in root.descendants().filter(roxmltree::Node::is_element) {
        let allowed = ["svg", "title", "desc", "style", "rect", "text", "g"];
        assert!(allowed.contains(&node.tag_name().name()));
        for attribute in node.attributes() {
            let name = attribute.name();
            assert!(!name.starts_with("on") && name != "href", "{name}");
        }
        if node.tag_name().name() == "g" {
            let child = |name| node.children().find(|child| child.has_tag_name(name));
            let tag = "http://www.w3.org/2000/svg";
            assert!(child((tag, "title")).is_some());
            let frame = child((tag, "rect")).unwrap();
            let (x, width) = (number(frame, "x"), number(frame, "width"));
            assert!(x >= 11.99 && x + width <= 1188.01, "{x} {width}");
            assert!(number(frame, "y") > 50.0);
            if let Some(name) = child((tag, "text")) {
                let length = 7.0 * name.text().unwrap().chars().count() as f64;
                assert!(length <= width, "{:?}", name.text());
            }
        }
    }
}

/// Names that could break a format.
const NAMES: [&str; 15] = [
    "a",
    "b",
    "C",
    "\"quoted\" 'name'",
    "<T as Into<U>>::into",
    "a;b",
    "a b 12",
    "(1)",
    "(1) a",
    "&amp;]]><script>",
    "Stra\u{df}e \u{6f22}\u{5b57}",
    "line\nfn=(1)",
    "\u{1b}[31m\u{202e}",
    "",
    "back\\slash\u{ffff}",
];

/// What a function does at most `depth` calls deep.
fn any_body(depth: u32) -> BoxedStrategy<Vec<Do>> {
    let run = (1..9_usize).prop_map(Run);
    let away = (1..9_usize).prop_map(Away);
    let entries = prop_oneof![
        Just(Entry::Called),
        Just(Entry::Called),
        Just(Entry::Jumped),
        Just(Entry::Interrupted)
    ];
    if depth == 0 {
        return prop::collection::vec(run, 1..3).boxed();
    }
    let called = (0..NAMES.len(), entries, any_body(depth - 1))
        .prop_map(|(name, entry, body)| Do::Call(NAMES[name], entry, body));
    prop::collection::vec(prop_oneof![4 => run, 1 => away, 4 => called], 1..6)
        .prop_map(|mut body| {
            // Another stack is only followed between instructions of this one.
            body.insert(0, Run(1));
            body.push(Run(1));
            body
        })
        .boxed()
}

/// A path with at most two stacks. The second one is found at the top of the tree, or below the call
/// that switched to it.
fn any_path() -> impl Strategy<Value = Path> {
    (any_body(3), any_body(2), any::<bool>(), any::<bool>()).prop_map(
        |(first, returned_to, below, counted)| {
            let mut path = Path::default();
            let mut away = Vec::new();
            let mut calls = Vec::new();
            for (name, body) in [("a", first), ("b", returned_to)] {
                calls.push(path.lay(&Do::Call(name, Entry::Before, body), &mut away));
            }
            if !away.is_empty() {
                let second = Call {
                    function: path.function("second;stack"),
                    entry: Entry::Switched,
                    own: away,
                    calls: Vec::new(),
                };
                if below {
                    calls[0].calls.push(second);
                } else {
                    calls.push(second);
                }
            }
            path.calls = calls;
            if counted {
                path.files = vec!["x y.c".to_owned(), "(2) y.h".to_owned()];
                for (at, function) in path.functions.iter_mut().enumerate() {
                    function.file = path.files.get(at % 3).cloned();
                }
                path.lines = (0..path.place)
                    .map(|at| {
                        (at % 5 < 4).then_some(Line {
                            file: at / 7 % 2,
                            line: at as u32 / 3,
                        })
                    })
                    .collect();
                path.counts = (0..path.place as u64)
                    .map(|at| Counts {
                        instructions: 1,
                        loads: at % 2,
                        atomic: at % 3,
                        ..Counts::default()
                    })
                    .collect();
            }
            path
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_path_is_callgrind_text_with_all_its_costs(path in any_path()) {
        let tree = path.tree();
        let (summary, functions) = read_callgrind(&written("callgrind", &tree));
        prop_assert_eq!(summary, path.place as u64);
        let root = functions.values().find(|costs| costs.calls == 0).unwrap();
        prop_assert_eq!((root.own, root.called_for), (0, summary));
        let own: u64 = functions.values().map(|costs| costs.own).sum();
        prop_assert_eq!(own, summary);
        let calls: u64 = functions.values().map(|costs| costs.calls).sum();
        let expected: u64 = by_function(&tree).values().map(|(_, calls)| calls).sum();
        prop_assert_eq!(calls, expected);
    }

    #[test]
    fn any_path_nests_in_perfetto(path in any_path()) {
        let tree = path.tree();
        let tracks = read_perfetto(&written("perfetto", &tree));
        prop_assert_eq!(tracks.len(), tree.stacks().len());
        let total: u64 = tracks.values().map(|slices| nested(slices)).sum();
        prop_assert_eq!(total, path.place as u64);
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for slice in tracks.values().flatten().filter(|slice| slice.cat != "away") {
            let sum = sums.entry(slice.name.clone()).or_default();
            sum.0 += slice.own;
            sum.1 += 1;
        }
        let expected = by_function(&tree).into_iter().map(|((_, name), sum)| (name, sum));
        prop_assert_eq!(sums, expected.collect::<BTreeMap<_, _>>());
    }

    #[test]
    fn any_path_folds_with_all_its_instructions(path in any_path(), other in any_path()) {
        let mut seen = BTreeSet::new();
        let mut sum = 0;
        let text = written("folded", &path.tree());
        for line in text.lines() {
            let (stack, figure) = line.split_once(' ').unwrap();
            prop_assert!(seen.insert(stack.to_owned()), "{} twice", stack);
            sum += figure.parse::<usize>().unwrap();
        }
        prop_assert_eq!(sum, path.place);
        let mut sums = [0, 0];
        for line in difference("folded", &path.tree(), &other.tree()).lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            prop_assert_eq!(fields.len(), 3);
            sums[0] += fields[1].parse::<usize>().unwrap();
            sums[1] += fields[2].parse::<usize>().unwrap();
        }
        prop_assert_eq!(sums, [path.place, other.place]);
    }

    #[test]
    fn any_path_is_a_picture(path in any_path(), other in any_path()) {
        check_flame(&written("flame", &path.tree()));
        check_flame(&difference("flame", &path.tree(), &other.tree()));
    }

    #[test]
    fn any_path_is_shown_with_all_its_instructions(path in any_path(), depth in 1..4_usize) {
        let text = shown(&path, &View::default());
        let own = |line: &str| {
            let mut figures = line.split_whitespace();
            figures.next()?.parse::<usize>().ok()?;
            figures.next()?.parse::<usize>().ok()
        };
        prop_assert_eq!(text.lines().filter_map(own).sum::<usize>(), path.place, "{}", text);
        let view = View { depth: Some(depth), only: names(&["b", "a*"]), without: names(&["?"]) };
        prop_assert!(render(&path.tree(), &view, &plain()).is_ok());
    }
}
