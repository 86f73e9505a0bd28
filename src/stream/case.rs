// SPDX-License-Identifier: MIT OR Apache-2.0

//! Judges one case of a session: its records in, a [`Replicate`] of each of its metrics out.
//!
//! A metric has a number only if the case ended well, every proof held, no record was lost or
//! damaged, and the counts add up to the planned number of samples.

use std::collections::HashMap;
use std::mem;

use crate::stream::histogram::Histogram;
use crate::stream::record::Record;
use crate::stream::run::{Outcome, Proof, Replicate, Stat};
use crate::stream::ticks::Ticks;

/// A record of a known kind that lacks what its kind requires, or that is out of place.
#[derive(Clone, Debug)]
pub struct Malformed;

/// A case that has begun: the records received so far.
#[derive(Clone, Debug, Default)]
pub struct Case {
    id: String,
    asked: u64,
    plan: Option<Plan>,
    /// CPU time of its threads in nanoseconds.
    cpu_ns: Option<u64>,
    metrics: Vec<Received>,
    /// Index into `metrics` of each metric's id.
    places: HashMap<String, usize>,
    proofs: Vec<Proof>,
    /// Why the case can no longer have a number, whatever follows.
    invalid: Option<String>,
}

/// How a case measures, by its `plan` record.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Samples it will take.
    pub samples: u64,
    /// Operations in each sample, at least 1.
    pub batch: u64,
}

/// What was received for one metric.
#[derive(Clone, Debug, Default)]
struct Received {
    id: String,
    cold: Option<Ticks>,
    counts: Vec<(Ticks, u64)>,
    /// The sum of all counts. The histogram's total would saturate at 64 bits.
    samples: u128,
    /// A summary in place of samples.
    stat: Option<Stat>,
    /// Why it has no number although the others of its case have.
    skipped: Option<String>,
}

/// How a case ended.
pub enum Ending<'a> {
    /// With its `end` record.
    End(&'a Record<'a>),
    /// Without one, for this reason.
    CutOff(String),
}

impl Case {
    /// A case that begins, with the number of samples asked for.
    pub fn new(id: &str, asked: u64) -> Self {
        Case {
            id: id.to_owned(),
            asked,
            ..Case::default()
        }
    }

    /// The id of its first metric, which names it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The metrics that records were received for, in the order of their first records.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.metrics.iter().map(|metric| metric.id.as_str())
    }

    /// Notes that a record of the case was lost or damaged. The first reason stays.
    pub fn invalidate(&mut self, reason: &str) {
        self.invalid.get_or_insert_with(|| reason.to_owned());
    }

    /// Takes a `plan` record.
    pub fn plan(&mut self, record: &Record) -> Result<Plan, Malformed> {
        let samples = record.number("samples").ok_or(Malformed)?;
        let batch = record.number("batch").filter(|n| *n > 0).ok_or(Malformed)?;
        let plan = Plan { samples, batch };
        match self.plan.replace(plan) {
            Some(_) => Err(Malformed),
            None => Ok(plan),
        }
    }

    /// Takes a `cpu` record.
    pub fn cpu(&mut self, record: &Record) -> Result<(), Malformed> {
        let ns = record.number("ns").ok_or(Malformed)?;
        match self.cpu_ns.replace(ns) {
            Some(_) => Err(Malformed),
            None => Ok(()),
        }
    }

    /// Takes a `proof` record.
    pub fn proof(&mut self, record: &Record) -> Result<(), Malformed> {
        let number = |key| record.number(key).ok_or(Malformed);
        self.proofs.push(Proof {
            name: record.get("name").ok_or(Malformed)?.to_owned(),
            counted: number("counted")?,
            low: number("low")?,
            high: number("high")?,
            expected: record.number("expected"),
        });
        Ok(())
    }

    /// Takes a `cold`, `stat` or `hist` record of a metric.
    pub fn samples(&mut self, metric: &str, record: &Record) -> Result<(), Malformed> {
        let is_repeated = match record.kind() {
            "cold" => {
                let ticks = record.number("ticks").ok_or(Malformed)?;
                self.metric(metric).cold.replace(Ticks(ticks)).is_some()
            }
            "stat" => {
                let received = self.metric(metric);
                let known = received.stat.take();
                received.stat = Some(stat(record, known).ok_or(Malformed)?);
                received.samples > 0
            }
            _ => {
                record.number("part").ok_or(Malformed)?;
                let received = self.metric(metric);
                for (ticks, count) in record.counts() {
                    received.counts.push((Ticks(*ticks), *count));
                    received.samples += u128::from(*count);
                }
                received.stat.is_some()
            }
        };
        if is_repeated {
            return Err(Malformed);
        }
        Ok(())
    }

    /// Takes the text of a `skip` record: why this metric has no number. A longer text of the same
    /// record replaces it.
    pub fn skip(&mut self, metric: &str, reason: String) {
        self.metric(metric).skipped = Some(reason);
    }

    fn metric(&mut self, id: &str) -> &mut Received {
        let known = self.places.get(id).copied();
        let at = known.unwrap_or_else(|| {
            self.places.insert(id.to_owned(), self.metrics.len());
            self.metrics.push(Received {
                id: id.to_owned(),
                ..Received::default()
            });
            self.metrics.len() - 1
        });
        &mut self.metrics[at]
    }

    /// Judges the case: a replicate, in this session, of each of these metrics.
    pub fn judge(
        mut self,
        ending: &Ending,
        session: usize,
        metrics: Vec<String>,
    ) -> Vec<(String, Replicate)> {
        let (of_case, samples) = self.outcome(ending);
        let mut replicates = Vec::new();
        for id in metrics {
            let received = mem::take(self.metric(&id));
            let outcome = match &of_case {
                Outcome::Ok => received.outcome(samples),
                other => other.clone(),
            };
            let cpu_ns = self.cpu_ns.filter(|_| outcome == Outcome::Ok);
            let (cold, histogram, stat) = match outcome {
                Outcome::Ok => (
                    received.cold,
                    received.counts.into_iter().collect(),
                    received.stat,
                ),
                _ => (None, Histogram::new(), None),
            };
            let replicate = Replicate {
                session,
                outcome,
                batch: self.plan.map_or(1, |plan| plan.batch),
                asked: self.asked,
                cold,
                histogram,
                stat: stat.map(Box::new),
                cpu_ns,
                proofs: self.proofs.clone(),
            };
            replicates.push((id, replicate));
        }
        replicates
    }

    /// The outcome of the case as a whole, and the samples that each of its metrics must have.
    fn outcome(&self, ending: &Ending) -> (Outcome, u64) {
        let end = match ending {
            Ending::End(record) => record,
            Ending::CutOff(reason) => return (Outcome::Incomplete(reason.clone()), 0),
        };
        if let Some(reason) = &self.invalid {
            return (Outcome::Incomplete(reason.clone()), 0);
        }
        let reason = || end.text().unwrap_or_else(|| "no reason given".to_owned());
        let outcome = match (end.get("status"), end.number("samples"), self.plan) {
            (Some("skip"), _, _) => Outcome::Skipped(reason()),
            (Some("error"), _, _) => Outcome::Failed(reason()),
            (Some("ok"), _, None) => Outcome::Incomplete("its plan record is missing".to_owned()),
            (Some("ok"), Some(samples), Some(plan)) if samples == plan.samples && samples > 0 => {
                return (self.proven(), samples);
            }
            (Some("ok"), Some(samples), Some(plan)) => Outcome::Incomplete(format!(
                "it ended with {samples} samples instead of the planned {}",
                plan.samples
            )),
            _ => Outcome::Incomplete(
                "its end record has no valid status or number of samples".to_owned(),
            ),
        };
        (outcome, 0)
    }

    /// The outcome that the proofs allow.
    fn proven(&self) -> Outcome {
        let failed: Vec<String> = self
            .proofs
            .iter()
            .filter(|p| !(p.low..=p.high).contains(&p.counted))
            .map(describe)
            .collect();
        if !failed.is_empty() {
            Outcome::Failed(failed.join("; "))
        } else if self.proofs.is_empty() {
            Outcome::Incomplete("no proof arrived".to_owned())
        } else {
            Outcome::Ok
        }
    }
}

fn describe(proof: &Proof) -> String {
    let Proof {
        name,
        counted,
        low,
        high,
        ..
    } = proof;
    let must = match (*low, *high) {
        (low, high) if low == high => format!("{low}"),
        (low, u64::MAX) => format!("{low} or more"),
        (low, high) => format!("{low} to {high}"),
    };
    format!("{name}: counted {counted}, must be {must}")
}

impl Received {
    /// Whether what was received adds up to this many samples.
    fn outcome(&self, samples: u64) -> Outcome {
        if let Some(reason) = &self.skipped {
            return Outcome::Skipped(reason.clone());
        }
        let summed_up = self
            .stat
            .as_ref()
            .map_or(0, |stat| u128::from(stat.samples));
        if self.samples + summed_up == u128::from(samples) {
            Outcome::Ok
        } else if self.samples + summed_up == 0 {
            Outcome::Incomplete("no samples arrived".to_owned())
        } else {
            Outcome::Incomplete(format!(
                "its counts add up to {} samples instead of {samples}",
                self.samples + summed_up
            ))
        }
    }
}

/// The figures of a `stat` record, added to those already known of the metric. `None` when it
/// repeats a figure, contradicts the number of samples, or leaves the metric without mean and median.
fn stat(record: &Record, known: Option<Stat>) -> Option<Stat> {
    let samples = record.number("samples").filter(|samples| *samples > 0)?;
    let mut stat = known.unwrap_or(Stat::blank(samples));
    let places = [
        ("mean", &mut stat.mean),
        ("median", &mut stat.median),
        ("min", &mut stat.min),
        ("max", &mut stat.max),
        ("deviation", &mut stat.deviation),
    ];
    for (name, place) in places {
        if let Some(text) = record.get(name) {
            let is_decimal = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let figure: f64 = text.parse().ok().filter(|_| is_decimal)?;
            if !figure.is_finite() || place.replace(figure).is_some() {
                return None;
            }
        }
    }
    (stat.samples == samples && stat.value().is_some()).then_some(stat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::run::Unit;
    use crate::stream::script::{
        changed, incomplete, outcome, run_of, Script, CASE_A, CASE_B, HELLO,
    };

    #[test]
    fn summary_replaces_samples_and_repeats_no_figure() {
        let value = |stats: &[&str]| {
            let mut script = Script::default();
            script.all(&[
                "hello port=p arch=a mode=run clock=c unit=ticks hz=0 realtime=no",
                "begin case=a asked=1000",
                "plan case=a samples=1000 batch=1",
            ]);
            script.all(stats).all(&[
                "proof case=a name=doubts counted=0 low=0 high=0",
                "end case=a status=ok samples=1000",
            ]);
            let run = script.bye().read();
            let one = &run.metrics[0].replicates[0];
            (
                one.figure(crate::judge::quantity::Quantity::P50, Unit::Cycles),
                run.damage.damaged,
                one.outcome == Outcome::Ok,
            )
        };
        let mean = "stat metric=a samples=1000 mean=315.5";
        assert_eq!(value(&[mean]), (Some(315.5), 0, true));
        let others = "stat metric=a samples=1000 median=300 max=9";
        assert_eq!(value(&[mean, others]), (Some(300.0), 0, true));
        for wrong in [
            "stat metric=a samples=1000 mean=3",
            "stat metric=a samples=999 max=3",
            "stat metric=a samples=1000 max=-3",
            "stat metric=a samples=1000 max=inf",
            "hist metric=a 7:1",
        ] {
            let (value, damaged, is_ok) = value(&[mean, wrong]);
            assert_eq!((value, damaged, is_ok), (None, 1, false), "{wrong}");
        }
        assert_eq!(
            value(&["stat metric=a samples=1000 max=3"]),
            (None, 1, false)
        );
        assert_eq!(value(&["stat metric=a samples=7 mean=3"]), (None, 0, false));
    }

    #[test]
    fn cpu_time_belongs_to_the_samples_of_a_case() {
        let cpu_ns = |records: &[&str]| {
            let run = run_of(&[&changed(1, &[&[CASE_A[1]], records].concat())]);
            let of_a = run.metrics.iter().find(|metric| metric.id == "a").unwrap();
            (of_a.replicates[0].cpu_time(), run.damage.damaged)
        };
        let (each, damaged) = cpu_ns(&["cpu case=a ns=7000"]);
        let run = run_of(&[&CASE_A]);
        let of_a = run.metrics.iter().find(|metric| metric.id == "a").unwrap();
        let replicate = &of_a.replicates[0];
        let operations = (replicate.samples() * replicate.batch) as f64;
        assert_eq!((each, damaged), (Some(7000.0 / operations), 0));
        assert_eq!(replicate.cpu_time(), None);
        assert_eq!(cpu_ns(&["cpu case=a ns=7", "cpu case=a ns=7"]), (None, 1));
        assert_eq!(cpu_ns(&["cpu case=b ns=7"]), (None, 1));
        assert_eq!(cpu_ns(&["cpu case=a"]), (None, 1));
    }

    #[test]
    fn proof_is_judged_by_its_range() {
        let proofs = [
            "proof case=a name=switches counted=3 low=1000 high=1012",
            "proof case=a name=unheard_of counted=7 low=7 high=9",
            "proof case=a name=clock counted=0 low=1 high=18446744073709551615",
            "proof case=a name=pinned counted=1 low=0 high=0",
        ];
        let run = run_of(&[&changed(5, &proofs)]);
        assert_eq!(
            *outcome(&run, "a"),
            Outcome::Failed(
                "switches: counted 3, must be 1000 to 1012; clock: counted 0, must be 1 or more; \
                 pinned: counted 1, must be 0"
                    .into()
            )
        );
        let of_a = run.metrics.iter().find(|metric| metric.id == "a").unwrap();
        assert_eq!(of_a.replicates[0].proofs.len(), 4);
    }

    #[test]
    fn unmeasured_case_gives_its_reason_for_each_metric() {
        let reason = "no second CPU; ".repeat(30);
        let skip = format!("end case=b.one status=skip samples=0 | {reason}");
        let run = run_of(&[&["begin case=b.one asked=5", &skip]]);
        assert_eq!(*outcome(&run, "b.one"), Outcome::Skipped(reason.clone()));
        assert_eq!(*outcome(&run, "b.two"), Outcome::Skipped(reason));
        let run = run_of(&[&changed(
            6,
            &["end case=a status=error samples=3 | no memory"],
        )]);
        assert_eq!(*outcome(&run, "a"), Outcome::Failed("no memory".into()));
        let mut script = Script::default();
        script.all(&[
            HELLO,
            "begin case=c asked=5",
            "end case=c status=skip samples=0",
        ]);
        assert_eq!(
            *outcome(&script.read(), "c"),
            Outcome::Skipped("no reason given".into())
        );
    }

    #[test]
    fn skipped_metric_leaves_the_others_of_its_case() {
        let reason = "privileged only: no such system call; ".repeat(30);
        let skip = format!("skip metric=b.two | {reason}");
        let mut case: Vec<&str> = CASE_B.to_vec();
        case.retain(|record| !record.contains("metric=b.two"));
        case.insert(1, &skip);
        let run = run_of(&[&CASE_A, &case]);
        assert_eq!(*outcome(&run, "b.one"), Outcome::Ok);
        assert_eq!(*outcome(&run, "b.two"), Outcome::Skipped(reason));
        assert_eq!(run.damage.damaged, 0);
        // A reason takes no number back that was measured, nor does it save a failed case.
        case.retain(|record| !record.contains("proof"));
        let run = run_of(&[&CASE_A, &case]);
        assert_eq!(
            *outcome(&run, "b.two"),
            Outcome::Incomplete("no proof arrived".into())
        );
    }

    #[test]
    fn inconsistent_case_has_no_number() {
        for (at, with, reason) in [
            (2, &[][..], "its plan record is missing"),
            (
                3,
                &["hist metric=a 4:1 5:1"],
                "its counts add up to 4 samples instead of 5",
            ),
            (
                3,
                &["hist metric=a 4:2 5:2"],
                "its counts add up to 6 samples instead of 5",
            ),
            (
                6,
                &["end case=a status=ok samples=4"],
                "it ended with 4 samples instead of the planned 5",
            ),
            (
                6,
                &["end case=a samples=5"],
                "its end record has no valid status or number of samples",
            ),
            (5, &[], "no proof arrived"),
            (6, &[], "the session ended before this case"),
            (
                6,
                &["begin case=c asked=1"],
                "the next case began before this one ended",
            ),
            (
                2,
                &["plan case=a samples=5 batch=0"],
                "record 3 (plan) is malformed or out of place",
            ),
            (
                5,
                &["proof case=b name=order counted=0 low=0 high=0"],
                "record 6 (proof) is malformed or out of place",
            ),
            (
                3,
                &["hist metric=b.one 4:1 5:2"],
                "record 4 (hist) is malformed or out of place",
            ),
            (
                3,
                &["info name=x | y", CASE_A[3]],
                "record 4 (info) is malformed or out of place",
            ),
        ] {
            let run = run_of(&[&changed(at, with)]);
            assert_eq!(*outcome(&run, "a"), incomplete(reason));
        }
        let run = run_of(&[&[&CASE_B[..3], &CASE_B[4..]].concat()]);
        assert_eq!(*outcome(&run, "b.one"), Outcome::Ok);
        assert_eq!(*outcome(&run, "b.two"), incomplete("no samples arrived"));
    }
}
