// SPDX-License-Identifier: MIT OR Apache-2.0

//! JUnit XML for Jenkins, GitLab and other test reporters.
//!
//! In: a run, or a comparison with an optional budget. Out: a document with a test case for each metric and
//! each limit.
//!
//! The format has no specification. The output conforms to the schemas of Jenkins' xUnit plugin
//! (`junit-10.xsd`) and of Maven Surefire. GitLab ignores suites, properties and the `message` of a failure,
//! so the text of a failure contains all information.

use std::fmt::Write;

use super::{description, xml, Carries, Foreign, Item, Unmeasured};
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

/// A comparison: a test case for each metric and for each limit of a budget. A metric fails if the gate
/// rejects its verdict. Otherwise it is skipped if the verdict is neither a change nor equivalence. If the
/// gate cannot judge, the suite has an error case for that. The document ends with a line end.
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

/// The format for runs.
pub(super) static FORMAT: Foreign = Foreign {
    name: "junit",
    about: "JUnit XML, for programs that show test results",
    leaves_out: "replicates, distributions, tails, cold samples and proofs",
    unmeasured: Unmeasured::Explained,
    carries: Carries::All,
    write: run,
};

/// A run: a test case for each metric. It passes if the metric has a number, and fails if the measurement
/// or a proof failed. An incomplete measurement and a damaged stream are errors.
fn run(run: &Run) -> String {
    let items: Vec<Item> = Item::all(run).collect();
    let damaged = damage(run).map(|what| {
        let name = "the record stream is whole".to_owned();
        Case::error("run.stream", name, "damaged", what)
    });
    let cases = damaged.into_iter().chain(items.iter().map(Case::measured));
    let suite = Suite {
        name: "run",
        properties: description(run, &items),
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
    /// Package and class, separated by a dot.
    class: String,
    name: String,
    result: CaseResult,
    /// The figures, as lines of text.
    figures: Vec<String>,
}

/// The result of a test case. Failures and errors have a type and a message.
enum CaseResult {
    Passed,
    Skipped(String),
    Failed(&'static str, String),
    /// The test could not be made.
    Error(&'static str, String),
}

fn compared(comparison: &Comparison, sides: &[Origin; 2], gate: &Gate) -> Suite {
    let mut properties: Vec<(&str, String)> = vec![];
    for (name, side) in ["base", "new"].into_iter().zip(sides) {
        properties.push((name, side.files.join(", ")));
    }
    let rejected: Vec<&str> = gate.fail_on.iter().map(|verdict| verdict.name()).collect();
    properties.extend([
        ("compared", compare::method(comparison)),
        ("speed", compare::speed(&comparison.speed)),
        ("finds", compare::resolution(comparison)),
        ("family", comparison.family.to_string()),
        ("tails", comparison.tails.to_string()),
        ("gate", rejected.join(", ")),
    ]);
    let reasons = comparison.differences.iter();
    properties.extend(reasons.map(|difference| ("difference", difference.reason())));
    let mut cases: Vec<Case> = sides
        .iter()
        .filter_map(|side| {
            let what = damage(&side.column.run)?;
            let name = format!("the record stream of {} is whole", side.column.name);
            Some(Case::error("compare.stream", name, "damaged", what))
        })
        .collect();
    let objections = gate.rule(comparison).objections.into_iter();
    cases.extend(
        objections
            .filter(Objection::could_not_judge)
            .map(|objection| {
                let name = "the gate can judge".to_owned();
                let what = compare::objection_text(&objection);
                Case::error("compare.gate", name, objection.name(), what)
            }),
    );
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
                    Finding::Within => CaseResult::Passed,
                    Finding::Over => CaseResult::Failed(check.finding.name(), figures.clone()),
                    Finding::Inconclusive(why) => {
                        CaseResult::Failed(check.finding.name(), why.clone())
                    }
                },
                figures: std::iter::once(figures)
                    .chain(check.is_borderline().then(|| budget::CLOSE.to_owned()))
                    .chain(check.why.clone())
                    .collect(),
            }
        })
        .collect();
    if cases.is_empty() {
        let name = "a limit holds for this target".to_owned();
        cases.push(Case::error(
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
            _ if gate.refuses(metric) => CaseResult::Failed(metric.verdict.name(), message.clone()),
            Verdict::Regressed | Verdict::Improved | Verdict::Equivalent => CaseResult::Passed,
            verdict => {
                let why = note
                    .as_ref()
                    .map(|note| format!("{}: {note}", verdict.name()));
                CaseResult::Skipped(why.unwrap_or_else(|| message.clone()))
            }
        };
        Case {
            class: format!("compare.{}", object(&metric.id)),
            name: metric.id.clone(),
            result,
            figures: std::iter::once(message)
                .chain(row.why)
                .chain(note)
                .collect(),
        }
    }

    fn measured(item: &Item) -> Self {
        let summary = &item.summary;
        let unit = summary.unit.of_figures();
        let reason = || summary.reason.clone().unwrap_or_default();
        let result = match summary.status {
            Status::Ok => CaseResult::Passed,
            Status::Skipped => CaseResult::Skipped(reason()),
            Status::Failed => CaseResult::Failed("failed", reason()),
            Status::Incomplete => CaseResult::Error("incomplete", reason()),
        };
        let median = item
            .median()
            .map(|median| format!("median {median} {unit}"));
        let interval = item.interval();
        let interval = interval.map(|(low, high)| format!("interval {low} to {high} {unit}"));
        let (replicates, tried) = (summary.replicates, summary.tried);
        let counts = format!("{replicates} of {tried} replicates have a number");
        Case {
            class: format!("run.{}", object(&summary.id)),
            name: summary.id.clone(),
            result,
            figures: median.into_iter().chain(interval).chain([counts]).collect(),
        }
    }

    fn error(class: &str, name: String, kind: &'static str, what: String) -> Self {
        Case {
            class: class.to_owned(),
            name,
            result: CaseResult::Error(kind, what),
            figures: Vec::new(),
        }
    }

    fn write(&self, out: &mut String) {
        let (class, name) = (xml(&self.class), xml(&self.name));
        // Surefire's schema requires a time, but the time of a comparison is of no interest.
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">"
        );
        let lines: Vec<String> = self.figures.iter().map(|line| xml(line)).collect();
        let figures = lines.join("\n");
        let mut element = |tag: &str, kind: &str, message: &str| {
            let message = xml(message);
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
            CaseResult::Passed => {}
            CaseResult::Skipped(why) => {
                let _ = writeln!(out, "      <skipped message=\"{}\"/>", xml(why));
            }
            CaseResult::Failed(kind, message) => element("failure", kind, message),
            CaseResult::Error(kind, message) => element("error", kind, message),
        }
        if !figures.is_empty() {
            let _ = writeln!(out, "      <system-out>{figures}</system-out>");
        }
        out.push_str("    </testcase>\n");
    }
}

impl Suite {
    fn count(&self, is: fn(&CaseResult) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.result)).count()
    }

    /// The attributes `tests`, `failures` and `errors`.
    fn counts(suites: &[Suite]) -> String {
        let sum = |of: &dyn Fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
            sum(&|suite| suite.cases.len()),
            sum(&|suite| suite.count(|result| matches!(result, CaseResult::Failed(..)))),
            sum(&|suite| suite.count(|result| matches!(result, CaseResult::Error(..)))),
        )
    }

    fn write(&self, out: &mut String) {
        let counts = Suite::counts(std::slice::from_ref(self));
        let skipped = self.count(|result| matches!(result, CaseResult::Skipped(_)));
        let name = self.name;
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\" time=\"0\">"
        );
        out.push_str("    <properties>\n");
        for (name, value) in &self.properties {
            let value = xml(value);
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
