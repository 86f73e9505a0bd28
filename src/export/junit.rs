// SPDX-License-Identifier: MIT OR Apache-2.0

//! JUnit XML, as Jenkins, GitLab and the reporters of other services read it.
//!
//! Nobody has specified the format. What is written here is what the schemas of Jenkins' xUnit
//! plugin (`junit-10.xsd`) and of Maven Surefire both allow. GitLab ignores suites, properties and
//! the `message` of a failure, so a failure's text holds all that there is to say.

use std::fmt::Write;

use super::{about, Carries, Foreign, Item, Unmeasured};
use crate::base::text::plain;
use crate::judge::budget::{Finding, Judgement};
use crate::judge::compare::{Basis, Compared, Comparison, Verdict};
use crate::judge::gate::{Gate, Objection};
use crate::judge::quantity::Quantity;
use crate::judge::summary::Status;
use crate::report::budget::{self, tally};
use crate::report::compare::{self, Origin};
use crate::report::object;
use crate::report::problems::damage;
use crate::report::row::UNAVAILABLE;
use crate::stream::run::Run;

/// A comparison: a test case for each metric, which fails with a verdict that the gate does not let
/// through, and one for each limit of a budget. What shows neither a change nor its absence is
/// skipped unless it fails; where the gate could not judge, that is an error of its own. Each
/// document ends with a line end.
#[must_use]
pub fn comparison(
    comparison: &Comparison,
    sides: &[Origin; 2],
    gate: &Gate,
    judgement: Option<&Judgement>,
) -> String {
    let mut suites = vec![compared(comparison, sides, gate)];
    suites.extend(judgement.map(limits));
    document("kernmark compare", &suites)
}

/// The format, of runs.
pub(super) static FORMAT: Foreign = Foreign {
    name: "junit",
    about: "JUnit XML, for what shows the results of tests",
    leaves_out: "replicates, distributions, tails, cold samples and proofs",
    unmeasured: Unmeasured::Told,
    carries: Carries::All,
    write: run,
};

/// A run: a test case for each metric, which passes when it has a number, and fails when a proof
/// failed. What could not be measured to its end, and a damaged stream, are errors.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let whole = damage(run).map(|what| {
        let name = "the record stream is whole".to_owned();
        Case::broken("run.stream", name, "damaged", what)
    });
    let cases = whole.into_iter().chain(items.iter().map(Case::measured));
    let suite = Suite {
        name: "run",
        properties: about(run, &items),
        cases: cases.collect(),
    };
    document("kernmark run", &[suite])
}

struct Suite {
    name: &'static str,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

struct Case {
    /// A package and a class, with a dot between them.
    class: String,
    name: String,
    result: Ended,
    /// Lines.
    figures: Vec<String>,
}

/// How a test case ended, with a word for its kind and a sentence.
enum Ended {
    Passed,
    Skipped(String),
    Failed(&'static str, String),
    /// It could not be tested.
    Broken(&'static str, String),
}

fn compared(comparison: &Comparison, sides: &[Origin; 2], gate: &Gate) -> Suite {
    let mut properties: Vec<(&str, String)> = vec![];
    for (name, side) in ["base", "new"].into_iter().zip(sides) {
        properties.push((name, side.files.join(", ")));
    }
    let refused: Vec<&str> = gate.fail_on.iter().map(|verdict| verdict.name()).collect();
    properties.extend([
        ("compared", compare::method(comparison)),
        ("speed", compare::speed(&comparison.speed)),
        ("finds", compare::resolution(comparison)),
        ("family", comparison.family.to_string()),
        ("tails", comparison.tails.to_string()),
        ("gate", refused.join(", ")),
    ]);
    let reasons = comparison.differences.iter();
    properties.extend(reasons.map(|difference| ("difference", difference.reason())));
    let mut cases: Vec<Case> = sides
        .iter()
        .filter_map(|side| {
            let what = damage(&side.column.run)?;
            let name = format!("the record stream of {} is whole", side.column.name);
            Some(Case::broken("compare.stream", name, "damaged", what))
        })
        .collect();
    let objections = gate.rule(comparison).objections.into_iter();
    cases.extend(objections.filter(Objection::is_blindness).map(|objection| {
        let name = "the gate can judge".to_owned();
        let what = compare::objection_text(&objection);
        Case::broken("compare.gate", name, objection.name(), what)
    }));
    let metrics = comparison.metrics.iter();
    cases.extend(metrics.map(|metric| Case::of(metric, gate)));
    Suite {
        name: "compare",
        properties,
        cases,
    }
}

fn limits(judgement: &Judgement) -> Suite {
    let mut cases: Vec<Case> = judgement
        .checks
        .iter()
        .map(|check| {
            let row = budget::Row::of(check);
            let figures = row.figures();
            Case {
                class: format!("budget.{}", object(&check.id)),
                name: format!("{} {}", check.id, check.figure.name()),
                result: match &check.finding {
                    Finding::Within => Ended::Passed,
                    Finding::Over => Ended::Failed(check.finding.name(), figures.clone()),
                    Finding::Inconclusive(why) => Ended::Failed(check.finding.name(), why.clone()),
                },
                figures: std::iter::once(figures)
                    .chain(check.is_close().then(|| budget::CLOSE.to_owned()))
                    .chain(check.why.clone())
                    .collect(),
            }
        })
        .collect();
    if cases.is_empty() {
        let name = "a limit holds for this target".to_owned();
        cases.push(Case::broken(
            "budget.limits",
            name,
            "empty",
            tally(judgement),
        ));
    }
    Suite {
        name: "budget",
        properties: vec![
            ("budget", judgement.file.clone()),
            ("limits", tally(judgement)),
        ],
        cases,
    }
}

impl Case {
    fn of(metric: &Compared, gate: &Gate) -> Self {
        let row = compare::Row::of(metric);
        let figure = |name: &str, value: &str, rest: String| {
            (value != UNAVAILABLE).then(|| format!("{name} {value}{rest}"))
        };
        let of_unit = || format!(" {}", metric.unit.of_figures());
        let interval = match row.interval.as_str() {
            UNAVAILABLE => String::new(),
            interval => format!(" ({interval})"),
        };
        let adjusted = match metric.basis {
            Basis::Exact => Some("exact".to_owned()),
            _ => figure("adjusted p", &row.p, String::new()),
        };
        let figures: Vec<String> = [
            Some(match metric.quantity {
                Quantity::P50 => row.label.clone(),
                tail => format!("{} {}", tail.name(), row.label),
            }),
            figure("base", &row.base, of_unit()),
            figure("new", &row.new, of_unit()),
            figure("change", &row.change, interval),
            adjusted,
        ]
        .into_iter()
        .flatten()
        .collect();
        let message = figures.join(", ");
        let note = metric.note.clone();
        let result = match metric.verdict {
            _ if gate.refuses(metric) => Ended::Failed(metric.verdict.name(), message.clone()),
            Verdict::Regressed | Verdict::Improved | Verdict::Equivalent => Ended::Passed,
            verdict => {
                let why = note
                    .as_ref()
                    .map(|note| format!("{}: {note}", verdict.name()));
                Ended::Skipped(why.unwrap_or_else(|| message.clone()))
            }
        };
        Case {
            class: format!("compare.{}", object(&metric.id)),
            name: metric.id.clone(),
            result,
            figures: std::iter::once(message).chain(note).collect(),
        }
    }

    fn measured(item: &Item) -> Self {
        let summary = &item.summary;
        let unit = summary.unit.of_figures();
        let reason = || summary.reason.clone().unwrap_or_default();
        let result = match summary.status {
            Status::Ok => Ended::Passed,
            Status::Skipped => Ended::Skipped(reason()),
            Status::Failed => Ended::Failed("failed", reason()),
            Status::Incomplete => Ended::Broken("incomplete", reason()),
        };
        let median = item
            .median()
            .map(|median| format!("median {median} {unit}"));
        let interval = item.interval();
        let interval = interval.map(|(low, high)| format!("interval {low} to {high} {unit}"));
        let (replicates, tried) = (summary.replicates, summary.tried);
        let of = format!("{replicates} of {tried} replicates have a number");
        Case {
            class: format!("run.{}", object(&summary.id)),
            name: summary.id.clone(),
            result,
            figures: median.into_iter().chain(interval).chain([of]).collect(),
        }
    }

    fn broken(class: &str, name: String, kind: &'static str, what: String) -> Self {
        Case {
            class: class.to_owned(),
            name,
            result: Ended::Broken(kind, what),
            figures: Vec::new(),
        }
    }

    fn write(&self, out: &mut String) {
        let (class, name) = (escape(&self.class), escape(&self.name));
        // Comparing takes no time that anybody asks for, but Surefire's schema has it required.
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">"
        );
        let lines: Vec<String> = self.figures.iter().map(|line| escape(line)).collect();
        let figures = lines.join("\n");
        let mut said = |tag: &str, kind: &str, message: &str| {
            let message = escape(message);
            let mut text = figures.clone();
            if !lines.contains(&message) {
                text = format!("{message}\n{text}");
            }
            let text = text.trim_end();
            let _ = writeln!(
                out,
                "      <{tag} type=\"{kind}\" message=\"{message}\">{text}</{tag}>"
            );
        };
        match &self.result {
            Ended::Passed => {}
            Ended::Skipped(why) => {
                let _ = writeln!(out, "      <skipped message=\"{}\"/>", escape(why));
            }
            Ended::Failed(kind, message) => said("failure", kind, message),
            Ended::Broken(kind, message) => said("error", kind, message),
        }
        if !figures.is_empty() {
            let _ = writeln!(out, "      <system-out>{figures}</system-out>");
        }
        out.push_str("    </testcase>\n");
    }
}

impl Suite {
    fn count(&self, is: fn(&Ended) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.result)).count()
    }

    /// `tests`, `failures` and `errors`, as attributes.
    fn counts(suites: &[Suite]) -> String {
        let sum = |of: &dyn Fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
            sum(&|suite| suite.cases.len()),
            sum(&|suite| suite.count(|ended| matches!(ended, Ended::Failed(..)))),
            sum(&|suite| suite.count(|ended| matches!(ended, Ended::Broken(..)))),
        )
    }

    fn write(&self, out: &mut String) {
        let counts = Suite::counts(std::slice::from_ref(self));
        let skipped = self.count(|ended| matches!(ended, Ended::Skipped(_)));
        let name = self.name;
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\" time=\"0\">"
        );
        out.push_str("    <properties>\n");
        for (name, value) in &self.properties {
            let value = escape(value);
            let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
        }
        out.push_str("    </properties>\n");
        for case in &self.cases {
            case.write(out);
        }
        out.push_str("  </testsuite>\n");
    }
}

fn document(name: &str, suites: &[Suite]) -> String {
    let counts = Suite::counts(suites);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"{name}\" {counts} time=\"0\">");
    for suite in suites {
        suite.write(&mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

/// Text that XML holds as it is, in an attribute or between tags. What would steer a terminal is
/// written `\u{1b}`, as in all reports; that leaves two characters that XML 1.0 forbids (section
/// 2.2), which are written so too.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}
