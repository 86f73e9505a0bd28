// SPDX-License-Identifier: MIT OR Apache-2.0

//! `compare`: verdicts on hand-made and simulated runs, the report, and the exit status on saved
//! streams.

#[path = "common/saved.rs"]
mod saved;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use kernmark::export::{json, markdown};
use kernmark::judge::compare::{Basis, Compared, Comparison, Conditions, Options, Verdict};
use kernmark::judge::floors::Floors;
use kernmark::judge::gate::Ruling;
use kernmark::judge::matrix::Column;
use kernmark::judge::noise::Noise;
use kernmark::judge::pairing::block_sizes;
use kernmark::judge::quantity::{Margins, Quantity, MEDIANS_LEVEL};
use kernmark::judge::ranking::Ranking;
use kernmark::report::compare::Origin;
use kernmark::report::style::{BarStyle, Colour, Style};
use kernmark::report::verdicts::table;
use kernmark::stream::run::{Clock, Entry, Fact, Metric, Outcome, Replicate, Run, Session, Unit};
use kernmark::stream::ticks::Ticks;
use proptest::prelude::*;

const HZ: u64 = 2_000_000_000;

fn fact(name: &str, value: &str) -> Fact {
    Fact {
        name: name.into(),
        value: value.into(),
    }
}

fn replicate(session: usize, samples: &[u64]) -> Replicate {
    Replicate {
        session,
        outcome: Outcome::Ok,
        batch: 1,
        asked: samples.len() as u64,
        cold: None,
        stat: None,
        cpu_ns: None,
        histogram: samples.iter().map(|t| (Ticks(*t), 1)).collect(),
        proofs: Vec::new(),
    }
}

/// A run: an id and the samples of each replicate, per metric.
fn run_in(unit: Unit, metrics: Vec<(String, Vec<Vec<u64>>)>) -> Run {
    let most = metrics.iter().map(|(_, all)| all.len()).max().unwrap_or(0);
    let session = Session {
        port: "fake".into(),
        arch: "none".into(),
        clock: Clock {
            name: "c".into(),
            unit,
            hz: if unit == Unit::Cycles { HZ } else { 0 },
        },
        realtime: true,
        facts: vec![fact("flags", "-O2")],
        during: Vec::new(),
        complete: true,
    };
    let metrics = metrics.into_iter().map(|(id, all)| Metric {
        case: id.clone(),
        id,
        replicates: all
            .iter()
            .enumerate()
            .map(|(i, s)| replicate(i, s))
            .collect(),
    });
    Run {
        host: vec![
            fact("cpu_model", "AMD EPYC"),
            fact("governor", "performance"),
        ],
        sessions: vec![session; most],
        metrics: metrics.collect(),
        ..Run::default()
    }
}

/// A run in cycles with one sample per replicate.
fn run(metrics: &[(&str, &[u64])]) -> Run {
    run_in(Unit::Cycles, single(metrics))
}

/// A run in instructions with two equal replicates of these samples.
fn exact(metrics: &[(&str, &[u64])]) -> Run {
    let metrics = metrics
        .iter()
        .map(|(id, samples)| ((*id).to_owned(), vec![samples.to_vec(); 2]));
    run_in(Unit::Instructions, metrics.collect())
}

fn single(metrics: &[(&str, &[u64])]) -> Vec<(String, Vec<Vec<u64>>)> {
    let metrics = metrics.iter().map(|(id, values)| {
        let samples = values.iter().map(|v| vec![*v]).collect();
        ((*id).to_owned(), samples)
    });
    metrics.collect()
}

fn compared(base: &Run, new: &Run) -> Comparison {
    Comparison::of(base, new, &Options::default())
}

fn across() -> Options {
    Options {
        conditions: Conditions::Across,
        ..Options::default()
    }
}

fn of<'a>(comparison: &'a Comparison, id: &str) -> &'a Compared {
    comparison.metrics.iter().find(|m| m.id == id).unwrap()
}

/// The adjusted p value of a metric that was tested.
fn p(metric: &Compared) -> f64 {
    assert_eq!(metric.basis, Basis::Test, "{metric:?}");
    metric.decisive().unwrap().p.unwrap()
}

/// Options with this margin for medians.
fn margin(margin: f64) -> Options {
    Options {
        margins: Margins::all(margin),
        ..Options::default()
    }
}

fn verdict(base: &Run, new: &Run) -> Verdict {
    compared(base, new).metrics[0].verdict
}

const TEN: [u64; 10] = [1000, 1001, 1003, 998, 999, 1002, 1004, 997, 996, 1005];

fn scaled(values: &[u64], percent: u64) -> Vec<u64> {
    values.iter().map(|v| v * (100 + percent) / 100).collect()
}

#[test]
fn verdicts_of_simple_cases() {
    let base = run(&[("a.b", &TEN)]);
    let with = |values: &[u64]| run(&[("a.b", values)]);
    assert_eq!(verdict(&base, &with(&scaled(&TEN, 5))), Verdict::Regressed);
    assert_eq!(verdict(&with(&scaled(&TEN, 5)), &base), Verdict::Improved);
    assert_eq!(verdict(&base, &base), Verdict::Equivalent);
    // A significant change below the margin is equivalence.
    assert_eq!(verdict(&base, &with(&scaled(&TEN, 1))), Verdict::Equivalent);
    let spread: Vec<u64> = TEN.iter().map(|v| (v - 990) * 100).collect();
    assert_eq!(
        verdict(&with(&spread), &with(&scaled(&spread, 5))),
        Verdict::Inconclusive
    );
    // The smallest p value of three replicates is 0.1.
    let few = compared(&with(&TEN[..3]), &with(&scaled(&TEN[..3], 50)));
    assert_eq!(few.metrics[0].verdict, Verdict::Inconclusive);
    assert!((p(&few.metrics[0]) - 0.1).abs() < 1e-12);
    let resolution = few.resolution.unwrap();
    assert_eq!((resolution.median, resolution.blind), (None, 1));
    assert_eq!(few.replicates_to_find(0.1), Some(4));
    let resolution = compared(&base, &base).resolution.unwrap();
    assert!(resolution.median.unwrap() < 0.03, "{resolution:?}");
}

#[test]
fn ratios_compare_times_at_different_frequencies() {
    let base = run(&[("a.b", &TEN)]);
    let mut new = run(&[("a.b", &scaled(&TEN, 5))]);
    for session in &mut new.sessions {
        session.clock.hz = HZ * 2;
    }
    let comparison = compared(&base, &new);
    let metric = &comparison.metrics[0];
    let ratio = metric.decisive().unwrap().ratio.unwrap();
    assert!((ratio - 1.05 / 2.0).abs() < 0.001, "{metric:?}");
    assert_eq!(metric.verdict, Verdict::Improved);
    let base = metric.base.unwrap().median;
    assert!((base - 500.25).abs() < 1e-9, "{base}");
}

#[test]
fn changes_that_follow_cpu_speed_are_inconclusive() {
    let side = |clock: u64, cost: u64| {
        run(&[
            ("clock.read", &scaled(&TEN, clock)),
            ("a.b", &scaled(&TEN, cost)),
        ])
    };
    let base = side(0, 0);
    let verdict = |new: &Run| of(&compared(&base, new), "a.b").verdict;
    assert_eq!(verdict(&side(5, 5)), Verdict::Inconclusive);
    let same = compared(&base, &side(5, 5));
    let note = of(&same, "a.b").note.as_deref().unwrap();
    assert!(note.contains("reading the clock took +5.0 %"), "{note}");
    // The same holds if the cost does not follow the speed.
    assert_eq!(verdict(&side(5, 0)), Verdict::Inconclusive);
    assert_eq!(verdict(&side(0, 5)), Verdict::Regressed);
    assert_eq!(verdict(&side(5, 10)), Verdict::Regressed);
    assert!((same.speed.change().unwrap() - 0.05).abs() < 1e-3);
    assert_eq!(compared(&base, &side(1, 5)).speed.change(), None);
    // The same holds across configurations of one machine. Between machines, speed counts.
    let across = |new: &Run| of(&Comparison::of(&base, new, &across()), "a.b").verdict;
    assert_eq!(across(&side(5, 5)), Verdict::Inconclusive);
    let mut machine = side(5, 5);
    machine.host[0].value = "Intel".into();
    assert_eq!(across(&machine), Verdict::Regressed);
}

#[test]
fn requested_margin_is_used() {
    let (base, new) = (run(&[("a.b", &TEN)]), run(&[("a.b", &scaled(&TEN, 5))]));
    let with = |options: &Options, new: &Run| {
        let comparison = Comparison::of(&base, new, options);
        let used = comparison.margins.of(Quantity::P50);
        (used, comparison.metrics[0].verdict)
    };
    assert_eq!(with(&margin(0.1), &new), (0.1, Verdict::Equivalent));
    assert_eq!(with(&Options::default(), &new), (0.02, Verdict::Regressed));
    // With a smaller margin, 1 % is a change.
    let little = run(&[("a.b", &scaled(&TEN, 1))]);
    assert_eq!(with(&margin(0.002), &little), (0.002, Verdict::Regressed));
}

#[test]
fn exact_instructions_need_no_test() {
    use Verdict::{Equivalent, Improved, Inconclusive, Regressed};
    let base = exact(&[
        ("a.more", &[100]),
        ("a.same", &[7]),
        ("a.zero", &[0]),
        ("a.rare", &[5, 5, 9]),
    ]);
    let new = exact(&[
        ("a.more", &[101]),
        ("a.same", &[7]),
        ("a.zero", &[0]),
        ("a.rare", &[5, 5, 10]),
    ]);
    let comparison = compared(&base, &new);
    let verdicts = ["a.more", "a.same", "a.zero", "a.rare"].map(|id| of(&comparison, id).verdict);
    assert_eq!(verdicts, [Regressed, Equivalent, Equivalent, Regressed]);
    let resolution = comparison.resolution.unwrap();
    assert_eq!((comparison.family, resolution.worst), (0, Some(0.0)));
    assert!(of(&comparison, "a.rare")
        .note
        .as_ref()
        .unwrap()
        .contains("mean"));
    let back = compared(&new, &base);
    assert_eq!(of(&back, "a.more").verdict, Improved);
    let tolerant = margin(0.01);
    let comparison = Comparison::of(&base, &new, &tolerant);
    assert_eq!(of(&comparison, "a.more").verdict, Equivalent);
    // No margin is wide enough for a change from 0.
    let zero = Comparison::of(&exact(&[("a", &[0])]), &exact(&[("a", &[1])]), &tolerant);
    assert_eq!(zero.metrics[0].verdict, Regressed);
    // One replicate proves nothing, and neither do two that differ.
    let one = |value: u64| run_in(Unit::Instructions, single(&[("a", &[value])]));
    let comparison = compared(&one(5), &one(9));
    assert_eq!(comparison.metrics[0].verdict, Inconclusive);
    let note = comparison.metrics[0].note.as_ref().unwrap();
    assert!(note.contains("two replicates"), "{note}");
    let differ = run_in(Unit::Instructions, single(&[("a", &[5, 6])]));
    assert_eq!(verdict(&differ, &exact(&[("a", &[9])])), Inconclusive);
}

#[test]
fn zeros_are_compared_without_ratio() {
    let zeros = run(&[("a", &[0; 10])]);
    assert_eq!(verdict(&zeros, &zeros), Verdict::Equivalent);
    let comparison = compared(&zeros, &run(&[("a", &[5; 10])]));
    assert_eq!(comparison.metrics[0].verdict, Verdict::Regressed);
    assert_eq!(comparison.metrics[0].decisive().unwrap().ratio, None);
    let mixed = run(&[("a", &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0])]);
    assert_eq!(verdict(&zeros, &mixed), Verdict::Inconclusive);
}

#[test]
fn different_conditions_are_incomparable_with_the_reason() {
    let base = run(&[("a.b", &TEN)]);
    let mut machine = base.clone();
    machine.host[0].value = "Intel".into();
    let mut flags = base.clone();
    for session in &mut flags.sessions {
        session.facts[0].value = "-O3".into();
    }
    let mut plain = base.clone();
    for session in &mut plain.sessions {
        session.realtime = false;
    }
    for (new, why) in [
        (
            &machine,
            "different machine: cpu_model `AMD EPYC` is now `Intel`",
        ),
        (&flags, "different configuration: flags `-O2` is now `-O3`"),
        (
            &plain,
            "different configuration: real-time priority `yes` is now `no`",
        ),
    ] {
        let comparison = compared(&base, new);
        assert_eq!(comparison.metrics[0].verdict, Verdict::Incomparable);
        assert_eq!(comparison.metrics[0].note.as_deref(), Some(why));
        assert!(comparison.is_empty());
        let comparison = Comparison::of(&base, new, &across());
        assert_eq!(comparison.metrics[0].verdict, Verdict::Equivalent);
        assert_eq!(comparison.differences.len(), 1);
    }
    // The relation of two CPUs matters only to metrics that need both.
    let related = |relation: &str| {
        let mut run = run(&[("a.b", &TEN), ("a.cross_cpu", &TEN)]);
        run.host.push(fact("cpu_relation", relation));
        run.catalog.push(Entry {
            metric: "a.cross_cpu".into(),
            needs: vec!["threads".into(), "smp".into()],
            ..Entry::default()
        });
        run
    };
    let comparison = compared(
        &related("two packages"),
        &related("SMT siblings of one core"),
    );
    assert_eq!(of(&comparison, "a.b").verdict, Verdict::Equivalent);
    let crossing = of(&comparison, "a.cross_cpu");
    assert_eq!(crossing.verdict, Verdict::Incomparable);
    assert_eq!(
        crossing.note.as_deref(),
        Some("different machine: cpu_relation `two packages` is now `SMT siblings of one core`")
    );
    // Each setting of the configuration is a difference of its own.
    let configured = |settings: &str| {
        let mut run = base.clone();
        run.host.push(fact("configuration", settings));
        run
    };
    let (old, new) = (
        configured("A=1 B=\"x y\" C=n D=y"),
        configured("A=2 B=\"x y\" D=y E=3"),
    );
    let note = |old: &Run, new: &Run| compared(old, new).metrics[0].note.clone().unwrap();
    assert_eq!(
        note(&old, &new),
        "different configuration: A `1` is now `2`; different configuration: E `n` is now `3`"
    );
    let many = configured("A=2 B=1 C=1 D=1 E=1");
    assert_eq!(
        note(&old, &many),
        "different configuration: A, B, C and 2 other settings"
    );
    assert_eq!(
        verdict(&old, &configured("D=y A=1 B=\"x y\"")),
        Verdict::Equivalent
    );
    // A fact that is not reported does not differ.
    let mut silent = base.clone();
    silent.host.clear();
    assert_eq!(verdict(&base, &silent), Verdict::Equivalent);
    // A virtual machine reports its hypervisor; without a report there is none.
    let mut guest = base.clone();
    guest.host.push(fact("hypervisor", "KVM"));
    assert_eq!(verdict(&base, &guest), Verdict::Incomparable);
    // For counted instructions, the emulating machine does not matter.
    let base = exact(&[("a", &[5])]);
    let mut machine = base.clone();
    machine.host[0].value = "Intel".into();
    assert_eq!(verdict(&base, &machine), Verdict::Equivalent);
    // For a board, the machine of the tool does not matter.
    let mut board = run(&[("a.b", &TEN)]);
    for session in &mut board.sessions {
        session.facts.push(fact("kernel", "another"));
    }
    let mut moved = board.clone();
    moved.host[0].value = "Intel".into();
    assert_eq!(verdict(&board, &moved), Verdict::Equivalent);
}

#[test]
fn instructions_are_never_compared_with_time() {
    let (base, new) = (exact(&[("a", &[5])]), run(&[("a", &TEN)]));
    for options in [Options::default(), across()] {
        let comparison = Comparison::of(&base, &new, &options);
        assert_eq!(comparison.metrics[0].verdict, Verdict::Incomparable);
        let note = comparison.metrics[0].note.as_deref();
        assert_eq!(note, Some("instructions are never compared with time"));
    }
}

fn without(mut run: Run, id: &str, outcome: &Outcome) -> Run {
    let metric = run.metrics.iter_mut().find(|m| m.id == id).unwrap();
    for replicate in &mut metric.replicates {
        replicate.outcome = outcome.clone();
        replicate.histogram = [].into_iter().collect();
    }
    run
}

/// The run as one side of the interleaved measurement `name`, with `size` sessions per block.
fn in_blocks(mut run: Run, name: &str, size: usize) -> Run {
    for (at, session) in run.sessions.iter_mut().enumerate() {
        let block = format!("{name} {}", at / size);
        session.facts.push(fact("block", &block));
    }
    run
}

#[test]
fn interleaved_runs_are_compared_within_blocks_and_across_conditions() {
    // The level drifts from replicate to replicate, equally on both sides.
    let levels: Vec<u64> = (0..10).map(|at| 1000 + 400 * (at / 2) + at % 2).collect();
    let (base, new) = (
        run(&[("a.b", &levels)]),
        run(&[("a.b", &scaled(&levels, 5))]),
    );
    assert_eq!(verdict(&base, &new), Verdict::Inconclusive);
    let pair = [
        in_blocks(base.clone(), "m", 2),
        in_blocks(new.clone(), "m", 2),
    ];
    let comparison = compared(&pair[0], &pair[1]);
    assert_eq!(comparison.blocks, Some(5));
    assert_eq!(comparison.metrics[0].verdict, Verdict::Regressed);
    assert!(p(&comparison.metrics[0]) < 0.002);
    // Interleaved variants are meant to differ.
    let mut variant = pair[1].clone();
    for session in &mut variant.sessions {
        session.facts[0].value = "-O3".into();
    }
    let comparison = compared(&pair[0], &variant);
    assert_eq!(comparison.metrics[0].verdict, Verdict::Regressed);
    assert_eq!(comparison.conditions, Conditions::Across);
    assert_eq!(comparison.differences.len(), 1);
    // Sides of different measurements, and sides with an extra run, are not a pair.
    for other in [
        in_blocks(new.clone(), "n", 2),
        new.clone(),
        Run::joined(vec![pair[1].clone(), new.clone()]),
    ] {
        assert_eq!(compared(&pair[0], &other).blocks, None);
    }
    // Without a block that has both sides, there is no test.
    let mut base = pair[0].clone();
    base.metrics[0].replicates.truncate(4);
    let mut new = pair[1].clone();
    new.metrics[0].replicates.drain(..4);
    let metric = &compared(&base, &new).metrics[0];
    assert_eq!(metric.verdict, Verdict::Inconclusive);
    assert!(
        metric.judged.is_empty() && metric.note.is_some(),
        "{metric:?}"
    );
}

#[test]
fn noise_floors_come_from_unchanged_runs_and_widen_margins() {
    let at = |percent| run(&[("a.b", &scaled(&TEN, percent)), ("a.zero", &[0; 10])]);
    let noise = Noise::of(&[at(0), at(3), at(1), at(2)]).unwrap();
    assert_eq!((noise.runs, noise.comparisons), (4, 2));
    // From 0 to 3 % is an alarm; from 1 to 2 % is not.
    assert_eq!(noise.alarms, 1);
    let floors: Vec<&String> = noise.floors.keys().collect();
    assert_eq!(floors, ["a.b"], "zeros have no ratio");
    assert!((noise.floors["a.b"]["p50"] - 0.03).abs() < 1e-3);
    assert_eq!(Noise::parse(&noise.text()), Ok(noise.clone()));
    assert!(noise.fits(&at(7)));
    // A different machine, configuration and target.
    let mut machine = at(0);
    machine.host[0].value = "Intel".into();
    let mut flags = at(0);
    flags.sessions[0].facts[0].value = "-O3".into();
    let mut target = at(0);
    target.host.push(fact("target", "freertos"));
    for other in [machine, flags, target] {
        assert!(!noise.fits(&other));
        assert_eq!(Noise::of(&[at(0), other.clone()]), None);
        let both = Noise::of(&[at(0), other, at(1)]).unwrap();
        assert_eq!(both.runs, 2, "the runs that match the last");
    }
    assert!(Noise::parse(&noise.text().replace("\"schema\": 2", "\"schema\": 9")).is_err());
    assert_eq!(Noise::of(&[]), None);
    // A floor widens the margin of its own metric only, and never narrows it.
    let mut known = Floors::default();
    known.add(&noise.floors, "here".to_owned());
    let both = |percent| {
        run(&[
            ("a.b", &scaled(&TEN, percent)),
            ("a.c", &scaled(&TEN, percent)),
        ])
    };
    let options = Options::default();
    let with = |percent| Comparison::with_floors(&both(0), &both(percent), &options, &known);
    let comparison = with(3);
    let verdicts = ["a.b", "a.c"].map(|id| of(&comparison, id).verdict);
    assert_ne!(verdicts[0], Verdict::Regressed);
    assert_eq!(verdicts[1], Verdict::Regressed);
    let of_other = of(&comparison, "a.c").decisive().unwrap().margin.unwrap();
    assert!((of_other - 0.02).abs() < 1e-12);
    assert_eq!(of(&with(9), "a.b").verdict, Verdict::Regressed);
}

#[test]
fn metrics_of_one_side_are_missing_or_added() {
    let both = run(&[("a", &TEN), ("b", &TEN), ("c", &TEN)]);
    let failed = Outcome::Failed("order: counted 1, must be 0".into());
    let new = without(run(&[("a", &TEN), ("b", &TEN)]), "b", &failed);
    let comparison = compared(&both, &new);
    assert_eq!(of(&comparison, "b").verdict, Verdict::Missing);
    let note = of(&comparison, "b").note.as_deref();
    assert_eq!(note, Some("failed: order: counted 1, must be 0"));
    assert_eq!(of(&comparison, "c").note.as_deref(), Some("not in new"));
    assert_eq!(comparison.family, 1);
    let comparison = compared(&new, &both);
    assert_eq!(comparison.count(Verdict::Added), 2);
    assert_eq!(of(&comparison, "c").note.as_deref(), Some("not in base"));
    // A metric without a value on both sides is not listed.
    let empty = without(run(&[("b", &TEN)]), "b", &failed);
    assert!(compared(&empty, &empty).metrics.is_empty());
}

#[test]
fn joined_runs_are_replicates_of_one_side() {
    let half = |values: &[u64]| run(&[("a.b", values)]);
    let joined = Run::joined(vec![half(&TEN[..5]), half(&TEN[5..])]);
    assert_eq!(
        (joined.sessions.len(), joined.metrics[0].replicates.len()),
        (10, 10)
    );
    assert_eq!(joined.metrics[0].replicates[9].session, 9);
    let whole = compared(&half(&TEN), &half(&scaled(&TEN, 5)));
    let parts = compared(&joined, &half(&scaled(&TEN, 5)));
    assert_eq!(whole.metrics, parts.metrics);
}

fn any_run() -> impl Strategy<Value = Run> {
    let value = prop_oneof![4 => 900u64..1200, 1 => 0u64..3];
    let values = prop::collection::vec(prop::collection::vec(value, 1..4), 1..8);
    let unit = prop_oneof![Just(Unit::Cycles), Just(Unit::Instructions)];
    let metrics = prop::collection::btree_map("[a-c]", values, 1..4);
    (unit, metrics).prop_map(|(unit, metrics)| run_in(unit, metrics.into_iter().collect()))
}

fn opposite(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Regressed => Verdict::Improved,
        Verdict::Improved => Verdict::Regressed,
        Verdict::Missing => Verdict::Added,
        Verdict::Added => Verdict::Missing,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn swapping_sides_reverses_every_verdict(a in any_run(), b in any_run()) {
        let (there, back) = (compared(&a, &b), compared(&b, &a));
        prop_assert_eq!(there.metrics.len(), back.metrics.len());
        for metric in &there.metrics {
            let other = of(&back, &metric.id);
            prop_assert_eq!(metric.basis, other.basis);
            for (one, other) in metric.judged.iter().zip(&other.judged) {
                prop_assert_eq!(one.verdict, opposite(other.verdict));
                match (one.ratio, other.ratio) {
                    (Some(there), Some(back)) => prop_assert!((there * back - 1.0).abs() < 1e-9),
                    (there, back) => prop_assert_eq!(there, back),
                }
                prop_assert!(one.p.is_none_or(|p| (0.0..=1.0).contains(&p)));
                let (there, back) = (one.p.unwrap_or(0.0), other.p.unwrap_or(0.0));
                prop_assert!((there - back).abs() < 1e-9, "{} {}", there, back);
            }
        }
    }

    #[test]
    fn replicate_order_does_not_matter(a in any_run(), b in any_run()) {
        let mut reversed = b.clone();
        for metric in &mut reversed.metrics {
            metric.replicates.reverse();
        }
        prop_assert_eq!(compared(&a, &b).metrics, compared(&a, &reversed).metrics);
    }

    #[test]
    fn identical_runs_have_no_change(run in any_run()) {
        let comparison = compared(&run, &run);
        for verdict in [Verdict::Regressed, Verdict::Improved, Verdict::Missing, Verdict::Incomparable] {
            prop_assert_eq!(comparison.count(verdict), 0);
        }
    }
}

/// Makes runs with three kinds of noise: of a session (shared by its metrics), of a replicate, and
/// of a sample (with a tail). The same seed gives the same runs.
struct Machine(fastrand::Rng);

impl Machine {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0
    }

    fn run(&mut self, replicates: usize, metrics: &[f64]) -> Run {
        let sessions: Vec<f64> = (0..replicates).map(|_| 0.005 * self.normal()).collect();
        let metrics = metrics.iter().enumerate().map(|(at, factor)| {
            let all = sessions.iter().map(|session| {
                let level = 20_000.0 * factor * (session + 0.01 * self.normal()).exp();
                let sample = |this: &mut Machine| {
                    let tail = if this.0.u32(..20) == 0 { 3.0 } else { 1.0 };
                    (level * tail * (1.0 + 0.01 * this.normal().abs())) as u64
                };
                (0..15).map(|_| sample(self)).collect()
            });
            (format!("o.m{at}"), all.collect::<Vec<Vec<u64>>>())
        });
        let metrics = metrics.collect();
        run_in(Unit::Cycles, metrics)
    }
}

/// Whether the change of the median is significant, whatever its size.
fn is_significant(metric: &Compared) -> bool {
    let median = metric.judgement_of(Quantity::P50);
    median.is_some_and(|one| one.p.is_some_and(|p| p <= MEDIANS_LEVEL))
}

#[test]
fn unchanged_machines_rarely_raise_false_alarms() {
    let mut machine = Machine(fastrand::Rng::with_seed(1));
    let (mut significant, mut alarms) = (0, 0);
    for _ in 0..2000 {
        let (base, new) = (machine.run(7, &[1.0; 8]), machine.run(7, &[1.0; 8]));
        let comparison = compared(&base, &new);
        significant += u32::from(comparison.metrics.iter().any(is_significant));
        let changed = [Verdict::Regressed, Verdict::Improved].map(|v| comparison.count(v));
        alarms += u32::from(changed != [0, 0]);
    }
    println!("2,000 comparisons: {significant} significant, {alarms} alarms");
    // At a level of 4 %, some comparisons must be significant.
    assert!((15..=100).contains(&significant), "{significant} of 2000");
    assert!(alarms <= significant);
}

#[test]
fn changes_of_five_per_cent_are_found() {
    let mut machine = Machine(fastrand::Rng::with_seed(2));
    let mut found = 0;
    let changed = [[1.05; 10], [1.0; 10], [1.0; 10]].concat();
    for _ in 0..50 {
        let comparison = compared(&machine.run(10, &[1.0; 30]), &machine.run(10, &changed));
        let is_found = |m: &Compared| m.verdict == Verdict::Regressed;
        found += u32::from(comparison.metrics[..10].iter().all(is_found));
    }
    println!("50 comparisons: all ten changes found in {found}");
    assert!(found >= 45, "{found} of 50");
}

impl Machine {
    /// Two interleaved sides on a machine that slows down by a tenth; the new side costs `factor`
    /// times as much.
    fn interleaved(&mut self, replicates: usize, metrics: usize, factor: f64) -> [Run; 2] {
        let mut order = Vec::new();
        for (block, size) in block_sizes(replicates).into_iter().enumerate() {
            let mut within = [vec![(0, block); size], vec![(1, block); size]].concat();
            self.0.shuffle(&mut within);
            order.extend(within);
        }
        let mut values = [0, 1].map(|_| vec![Vec::new(); metrics]);
        let mut blocks = [Vec::new(), Vec::new()];
        for (turn, (side, block)) in order.iter().enumerate() {
            let session = 0.1 * turn as f64 / order.len() as f64 + 0.005 * self.normal();
            let level = 20_000.0 * session.exp() * if *side == 1 { factor } else { 1.0 };
            for metric in &mut values[*side] {
                metric.push(vec![(level * (0.01 * self.normal()).exp()) as u64]);
            }
            blocks[*side].push(*block);
        }
        let mut at = 0;
        values.map(|values| {
            let metrics = values.into_iter().enumerate();
            let metrics = metrics.map(|(at, all)| (format!("o.m{at}"), all));
            let mut run = run_in(Unit::Cycles, metrics.collect());
            for (session, block) in run.sessions.iter_mut().zip(&blocks[at]) {
                session.facts.push(fact("block", &format!("m {block}")));
            }
            at += 1;
            run
        })
    }
}

#[test]
fn interleaving_finds_changes_despite_drift() {
    let mut machine = Machine(fastrand::Rng::with_seed(3));
    let mut significant = 0;
    for _ in 0..1000 {
        let [base, new] = machine.interleaved(10, 8, 1.0);
        let comparison = compared(&base, &new);
        assert_eq!(comparison.blocks, Some(5));
        significant += u32::from(comparison.metrics.iter().any(is_significant));
    }
    let mut found = [0, 0];
    for _ in 0..100 {
        let [base, new] = machine.interleaved(10, 8, 1.04);
        let blind = [&base, &new].map(|run| {
            let mut run = run.clone();
            run.sessions
                .iter_mut()
                .for_each(|session| session.facts.truncate(1));
            run
        });
        for (count, pair) in found
            .iter_mut()
            .zip([[&base, &new], [&blind[0], &blind[1]]])
        {
            *count += compared(pair[0], pair[1]).count(Verdict::Regressed);
        }
    }
    println!("1,000 interleaved comparisons, unchanged: {significant} significant");
    let [within, without] = found;
    println!("800 changes of 4 %: {within} found within blocks, {without} without");
    assert!(significant <= 70, "{significant} of 1000");
    assert!(within > 2 * without, "{within} {without}");
}

#[test]
fn two_more_runs_rarely_differ_by_more_than_the_range_of_ten() {
    let mut machine = Machine(fastrand::Rng::with_seed(4));
    let (trials, mut exceeded) = (20_000, 0);
    for _ in 0..trials {
        let ten: Vec<f64> = (0..10).map(|_| machine.normal()).collect();
        let range = ten.iter().fold(f64::MIN, |a, b| a.max(*b))
            - ten.iter().fold(f64::MAX, |a, b| a.min(*b));
        exceeded += u32::from((machine.normal() - machine.normal()).abs() > range);
    }
    let share = 100.0 * f64::from(exceeded) / f64::from(trials);
    println!("two more runs with normal noise exceed the range of ten in {share:.1} %");
    assert!((2.0..6.0).contains(&share), "{share}");
}

fn sides(base: Run, new: Run) -> [Origin; 2] {
    [("base", base, "old.km"), ("new", new, "new.km")].map(|(name, run, file)| {
        let column = Column {
            name: name.to_owned(),
            run,
        };
        Origin::of(vec![file.to_owned()], column)
    })
}

/// Runs with every verdict.
fn everything() -> [Origin; 2] {
    let spread: Vec<u64> = TEN.iter().map(|v| (v - 990) * 100).collect();
    let base = run(&[
        ("semaphore.take.blocking.u_to_u", &TEN),
        ("semaphore.give.immediate.user", &TEN),
        ("mutex.lock.contended.u", &scaled(&TEN, 20)),
        (
            "roundtrip.pipe.processes.cross_cpu.a_name_that_is_very_long",
            &spread,
        ),
        ("clock.read", &[0; 10]),
        ("thread.create", &TEN),
        ("gone.by.now", &TEN),
    ]);
    let failed = Outcome::Failed("order: counted 1, must be 0".into());
    let new = run(&[
        ("semaphore.take.blocking.u_to_u", &scaled(&TEN, 5)),
        ("semaphore.give.immediate.user", &TEN),
        ("mutex.lock.contended.u", &TEN),
        (
            "roundtrip.pipe.processes.cross_cpu.a_name_that_is_very_long",
            &scaled(&spread, 8),
        ),
        ("clock.read", &[0; 10]),
        ("thread.create", &TEN),
        ("only.now", &TEN),
    ]);
    sides(base, without(new, "thread.create", &failed))
}

fn few() -> [Origin; 2] {
    let ids: Vec<String> = (0..40).map(|at| format!("o.m{at}")).collect();
    let with = |values: &[u64]| {
        let metrics: Vec<(&str, &[u64])> = ids.iter().map(|id| (id.as_str(), values)).collect();
        run(&metrics)
    };
    let mut new = with(&TEN[..5]);
    new.metrics[0].replicates = (0..5).map(|i| replicate(i, &[1100])).collect();
    let mut other = sides(with(&TEN[..5]), new);
    other[1].column.run.damage.damaged = 2;
    other
}

fn emulated() -> [Origin; 2] {
    let base = exact(&[
        ("fifo.put", &[100]),
        ("lifo.put", &[5, 5, 9]),
        ("isr.resume", &[44]),
    ]);
    let new = exact(&[
        ("fifo.put", &[104]),
        ("lifo.put", &[5, 5, 10]),
        ("isr.resume", &[44]),
    ]);
    sides(base, new)
}

const HOSTILE: &str = "x\x1b[31m\u{202e}|<script>\n`*";

fn hostile() -> [Origin; 2] {
    let mut base = run(&[(HOSTILE, &TEN), ("gone", &TEN)]);
    let new = run(&[(HOSTILE, &scaled(&TEN, 9))]);
    base.host[0].value = HOSTILE.into();
    let mut both = sides(base, new);
    both[0].files.push(HOSTILE.to_owned());
    both
}

type Case = (&'static str, [Origin; 2], Options);

/// Two kernels whose configurations differ in four settings of many.
fn configured() -> [Origin; 2] {
    let mut both = emulated();
    let many: Vec<String> = (0..100).map(|n| format!("CONFIG_SAME_{n}=y")).collect();
    let many = many.join(" ");
    let different = [
        "CONFIG_ASSERT=n CONFIG_HZ=100 CONFIG_NAME=\"a b\" CONFIG_TIMESLICING=n",
        "CONFIG_ASSERT=y CONFIG_ASSERT_LEVEL=2 CONFIG_HZ=1000 CONFIG_NAME=\"a c\"",
    ];
    for (side, settings) in both.iter_mut().zip(different) {
        let text = format!("{settings} {many}");
        side.column.run.host.push(fact("configuration", &text));
    }
    both
}

fn all() -> Vec<Case> {
    let none = || sides(Run::default(), Run::default());
    vec![
        ("everything", everything(), Options::default()),
        ("few", few(), Options::default()),
        ("emulated", emulated(), Options::default()),
        ("configured", configured(), across()),
        ("hostile", hostile(), Options::default()),
        ("hostile across", hostile(), across()),
        ("empty", none(), Options::default()),
    ]
}

fn shown((_, sides, options): &Case, width: usize, colour: Colour) -> String {
    let comparison = Comparison::of(&sides[0].column.run, &sides[1].column.run, options);
    table(
        &comparison,
        sides,
        &Ruling::default(),
        &Ranking::default(),
        &Style {
            width,
            colour,
            bars: BarStyle::Blocks,
        },
    )
}

#[test]
fn comparison_tables() {
    for case in all() {
        let name = case.0.replace(' ', "_");
        assert_snapshot!(format!("table_{name}"), shown(&case, 100, Colour::Never));
    }
    let case = &all()[0];
    assert_snapshot!("table_everything_60", shown(case, 60, Colour::Never));
    let coloured = shown(case, 100, Colour::Always).replace('\x1b', "^[");
    assert_snapshot!("table_coloured", coloured);
}

#[test]
fn comparison_exports() {
    for (name, sides, options) in all() {
        let comparison = Comparison::of(&sides[0].column.run, &sides[1].column.run, &options);
        let name = name.replace(' ', "_");
        assert_snapshot!(
            format!("markdown_{name}"),
            markdown::comparison(&comparison, &sides, &Ruling::default())
        );
        if name == "everything" || name == "emulated" {
            assert_snapshot!(
                format!("json_{name}"),
                json::comparison(&comparison, &sides, &Ruling::default())
            );
        }
    }
}

/// An interleaved measurement on a machine with known noise floors.
fn interleaved() -> ([Origin; 2], Comparison) {
    let [mut base, mut new] = everything();
    for (side, name) in [(&mut base, "base"), (&mut new, "new")] {
        side.column.run = in_blocks(side.column.run.clone(), "20260102T030405Z-00000001", 2);
        let interleaved = format!("as {name} with linux");
        side.column.run.host.push(fact("interleaved", &interleaved));
    }
    let mut noise = Noise::of(&[base.column.run.clone(), base.column.run.clone()]).unwrap();
    let ids = [
        "semaphore.take.blocking.u_to_u",
        "mutex.lock.contended.u",
        "no.such",
    ];
    noise.floors = [0.0701, 0.034, 1.0]
        .into_iter()
        .zip(ids)
        .map(|(f, id)| (id.to_owned(), [("p50".to_owned(), f)].into()))
        .collect();
    let mut floors = Floors::default();
    floors.add(&noise.floors, "noise/linux-01234567.json".to_owned());
    let runs = [&base.column.run, &new.column.run];
    let comparison = Comparison::with_floors(runs[0], runs[1], &Options::default(), &floors);
    ([base, new], comparison)
}

#[test]
fn blocks_and_noise_floors_are_shown() {
    let (sides, comparison) = interleaved();
    let style = |width| Style {
        width,
        colour: Colour::Never,
        bars: BarStyle::Blocks,
    };
    assert_snapshot!(
        "table_turns",
        table(
            &comparison,
            &sides,
            &Ruling::default(),
            &Ranking::default(),
            &style(100)
        )
    );
    assert_snapshot!(
        "markdown_turns",
        markdown::comparison(&comparison, &sides, &Ruling::default())
    );
    for width in 60..=140 {
        for line in table(
            &comparison,
            &sides,
            &Ruling::default(),
            &Ranking::default(),
            &style(width),
        )
        .lines()
        {
            let fits = line.chars().count() <= width || !line.trim().contains(' ');
            assert!(fits, "at {width}: {line}");
        }
    }
}

#[test]
fn comparisons_fit_the_terminal_and_contain_no_control_characters() {
    for case in all() {
        let (name, sides, options) = &case;
        let comparison = Comparison::of(&sides[0].column.run, &sides[1].column.run, options);
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        for text in [
            shown(&case, 80, Colour::Never),
            json::comparison(&comparison, sides, &Ruling::default()),
            markdown::comparison(&comparison, sides, &Ruling::default()),
        ] {
            assert_eq!(text.chars().find(|c| steers(*c)), None, "{name}: {text}");
        }
        let page = markdown::comparison(&comparison, sides, &Ruling::default());
        assert!(!page.contains("<script"), "{page}");
        let bare = ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"]
            .iter()
            .fold(shown(&case, 80, Colour::Always), |t, code| {
                t.replace(code, "")
            });
        assert_eq!(bare, shown(&case, 80, Colour::Never), "{name}");
        if name.starts_with("hostile") {
            continue;
        }
        for width in 60..=140 {
            for line in shown(&case, width, Colour::Never).lines() {
                let is_long_id = !line.trim().contains(' ');
                let fits = line.chars().count() <= width || is_long_id;
                assert!(fits, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn comparison_json_matches_its_schema() {
    let parsed = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let schema = parsed(include_str!("../doc/compare.schema.json"));
    jsonschema::meta::validate(&schema).unwrap();
    let registry = jsonschema::Registry::new()
        .add(
            "json-schema:///run.schema.json",
            parsed(include_str!("../doc/run.schema.json")),
        )
        .and_then(jsonschema::RegistryBuilder::prepare)
        .unwrap();
    let validator = jsonschema::options()
        .with_registry(&registry)
        .with_base_uri("json-schema:///compare.schema.json")
        .build(&schema)
        .unwrap();
    let mut compared: Vec<(&str, [Origin; 2], Comparison)> = Vec::new();
    for (name, sides, options) in all() {
        let runs = sides.each_ref().map(|side| &side.column.run);
        let comparison = Comparison::of(runs[0], runs[1], &options);
        compared.push((name, sides, comparison));
    }
    let (sides, comparison) = interleaved();
    compared.push(("turns", sides, comparison));
    for (name, sides, comparison) in compared {
        let document = parsed(&json::comparison(&comparison, &sides, &Ruling::default()));
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        if name == "everything" {
            for (at, value) in [
                ("/schema", 1.into()),
                ("/family", (-1).into()),
                ("/metrics/0/verdict", "fine".into()),
                ("/metrics/0/ratio", 0.into()),
                ("/metrics/0/p", 2.into()),
                ("/speed", 5.into()),
                ("/resolution/median", (-1).into()),
                ("/blocks", (-1).into()),
                ("/metrics/0/margin", (-1).into()),
                ("/metrics/0/judged/0/quantity", "p95".into()),
                ("/metrics/0/base/median", serde_json::Value::Null),
            ] {
                let mut broken = document.clone();
                *broken.pointer_mut(at).unwrap() = value;
                assert!(!validator.is_valid(&broken), "{at}");
            }
        }
    }
}

/// A saved run with this CPU: one session per value.
fn stream(unit: &str, cpu: &str, metrics: &[(&str, &[u64])]) -> String {
    let five = |values: &[u64]| values.iter().map(|value| vec![*value; 5]).collect();
    let metrics: Vec<_> = metrics
        .iter()
        .map(|(id, values)| (*id, five(values)))
        .collect();
    saved::stream(unit, &[("cpu_model", cpu)], &metrics)
}

/// Runs the tool in a folder with saved runs.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        let five_more = scaled(&TEN, 5);
        let spread: Vec<u64> = TEN.iter().map(|v| (v - 990) * 100).collect();
        let cycles = |cpu, values: &[u64]| stream("cycles", cpu, &[("a.b", values), ("a.c", &TEN)]);
        for (name, text) in [
            ("base", cycles("EPYC", &TEN)),
            ("same", cycles("EPYC", &TEN)),
            ("slow", cycles("EPYC", &five_more)),
            ("noisy", cycles("EPYC", &spread)),
            ("moved", cycles("Xeon", &TEN)),
            ("less", stream("cycles", "EPYC", &[("a.b", &TEN)])),
            ("first", cycles("EPYC", &TEN[..5])),
            (
                "exact",
                stream("instructions", "EPYC", &[("a.b", &[100, 100])]),
            ),
            (
                "more",
                stream("instructions", "Xeon", &[("a.b", &[101, 101])]),
            ),
            ("log", "no record at all\n".to_owned()),
        ] {
            fs::write(bed.path(name), text).unwrap();
        }
        let base = fs::read_to_string(bed.path("base")).unwrap();
        let half = &base[..base.len() * 2 / 3];
        fs::write(bed.path("cut"), half).unwrap();
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kernmark"))
            .arg("compare")
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn expect(&self, arguments: &str, status: i32, part: &str) {
        let output = self.run(arguments);
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}: {text}");
        assert!(text.contains(part), "{arguments}: no `{part}` in\n{text}");
    }
}

#[test]
fn without_a_gate_readable_runs_exit_with_0() {
    let bed = Bed::new();
    for (new, part) in [
        (
            "same",
            "0 regressed, 0 improved, 0 inconclusive, 2 equivalent",
        ),
        (
            "slow",
            "1 regressed, 0 improved, 0 inconclusive, 1 equivalent",
        ),
        ("noisy", "1 inconclusive"),
        ("moved", "2 incomparable"),
        ("less", "1 missing"),
        ("exact", "never compared with time"),
        (
            "first",
            "2 medians and 0 tails tested jointly; 10 against 5 replicates",
        ),
    ] {
        bed.expect(&format!("base {new}"), 0, part);
    }
    bed.expect("less base", 0, "1 added");
    bed.expect("exact more", 0, "1 regressed");
    bed.expect(
        "moved slow --across",
        0,
        "Compared although conditions differ",
    );
    bed.expect("base slow --margin 10", 0, "margins p50 10 %");
    bed.expect("base slow --format json", 0, "\"verdict\":\"regressed\"");
    bed.expect("base slow --format md", 0, "| `a.b` | regressed | p50 |");
}

#[test]
fn gate_fails_on_the_requested_verdicts() {
    let bed = Bed::new();
    let all = "--fail-on regression,inconclusive,incomparable,missing";
    for (new, status) in [
        ("same", 0),
        ("slow", 3),
        ("noisy", 4),
        ("moved", 5),
        ("less", 5),
    ] {
        bed.expect(&format!("base {new} {all}"), status, "equivalent");
    }
    bed.expect("slow base --fail-on regression", 0, "1 improved");
    bed.expect("base noisy --fail-on regression", 0, "");
    bed.expect("base less --fail-on regression --fail-on missing", 5, "");
    bed.expect("base less --fail-on regression,incomparable", 0, "");
    bed.expect("base slow --fail-on regression --margin 10", 0, "");
    bed.expect("exact more --fail-on regression", 3, "");
    // A gate that compared nothing fails.
    bed.expect("base moved --fail-on regression", 5, "2 incomparable");
}

#[test]
fn unreadable_runs_never_pass() {
    let bed = Bed::new();
    for gate in ["", " --fail-on regression", " --fail-on missing"] {
        bed.expect(&format!("base none{gate}"), 1, "cannot read none");
        bed.expect(
            &format!("log base{gate}"),
            1,
            "not a kernmark run, and no known format",
        );
        bed.expect(
            &format!("base base --new log{gate}"),
            1,
            "not a kernmark run, and no known format",
        );
        bed.expect(&format!("base cut{gate}"), 1, "cut off");
    }
    bed.expect("base", 2, "NEW");
    bed.expect("base new --fail-on anything", 2, "anything");
    bed.expect("base new --margin 1001", 2, "not a percentage");
}

#[test]
fn summary_is_appended_and_stays_below_github_limit() {
    const MIB: usize = 1024 * 1024;
    let bed = Bed::new();
    let summary = bed.path("summary.md");
    let written = |there: usize| {
        fs::write(&summary, "x".repeat(there)).unwrap();
        bed.expect("base slow --summary summary.md", 0, "1 regressed");
        let text = fs::read_to_string(&summary).unwrap();
        assert!(text.len() <= MIB && text.starts_with(&"x".repeat(there)));
        text[there..].to_owned()
    };
    let whole = written(0);
    for part in [
        "## kernmark: 1 regressed",
        "| `a.b` | regressed | p50 |",
        "| `a.c` | equivalent up to p50",
    ] {
        assert!(whole.contains(part), "{whole}");
    }
    // The summary says what it leaves out. Changes are left out last.
    let less = written(MIB - whole.len() + 1);
    assert!(
        less.contains("left out for lack of space: 1 equivalent\n"),
        "{less}"
    );
    assert!(
        less.contains("| `a.b` | regressed | p50 |") && !less.contains("a.c"),
        "{less}"
    );
    let head = written(MIB - less.len() + 1);
    assert!(
        head.contains("left out for lack of space: 1 regressed, 1 equivalent\n"),
        "{head}"
    );
    assert!(!head.contains("a.b"), "{head}");
    fs::write(&summary, "x".repeat(MIB)).unwrap();
    bed.expect(
        "base slow --summary summary.md",
        0,
        "so the summary is not appended",
    );
    assert_eq!(fs::read(&summary).unwrap().len(), MIB);
    bed.expect(
        "base slow --summary none/summary.md",
        1,
        "cannot append to none/summary.md",
    );
}

#[test]
fn several_runs_form_a_side() {
    let bed = Bed::new();
    // Sessions that are equal to the last sample are copies, not replicates.
    bed.expect("first base --base same", 0, "10 against 10 replicates");
    bed.expect("first base --base same", 0, "5 sessions are copies");
    bed.expect("base first --base slow", 0, "20 against 5");
    bed.expect("base slow --new first", 0, "10 against 15 replicates");
    bed.expect(
        "base slow --base ./base",
        2,
        "is given twice on the base side",
    );
}
