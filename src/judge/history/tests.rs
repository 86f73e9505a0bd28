// SPDX-License-Identifier: MIT OR Apache-2.0

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;
use crate::stream::run::{Fact, CLOCK};

const RUNS: usize = 100;
/// The run before which the kernel changes.
const EVENT: usize = 50;

/// Facts of runs: the value of a fact from each of these runs on.
fn facts(name: &str, runs: usize, changes: &[usize]) -> Vec<Fact> {
    let value = |run| changes.partition_point(|change| *change <= run).to_string();
    (0..runs).map(|run| Fact::new(name, value(run))).collect()
}

/// Runs with other kernels from the runs `events` on, and on other machines from `machines` on.
fn heads(runs: usize, events: &[usize], machines: &[usize]) -> Vec<Head> {
    let facts =
        facts("kernel_release", runs, events)
            .into_iter()
            .zip(facts("machine_id", runs, machines));
    let heads = facts.enumerate().map(|(run, (kernel, machine))| Head {
        name: format!("run-{run}"),
        hash: format!("{run:04x}"),
        started: 86_400 * run as u64,
        facts: vec![kernel.into(), machine.into()],
        ..Head::default()
    });
    heads.collect()
}

/// Noise of 0.5 %.
fn noise(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    (0.005 * radius * (TAU * random.f64()).cos()).exp()
}

fn series(metric: &str, values: Vec<f64>) -> Series {
    Series {
        metric: metric.to_owned(),
        unit: Unit::Cycles,
        spreads: vec![0.01; values.len()],
        values,
    }
}

/// A noisy metric whose level has these factors from these runs on.
fn metric(seed: u64, runs: usize, factors: &[(usize, f64)]) -> Series {
    let mut random = fastrand::Rng::with_seed(seed);
    let level = |run| {
        let past = factors.iter().filter(|(from, _)| *from <= run);
        past.map(|(_, factor)| factor).product::<f64>()
    };
    let values = (0..runs).map(|run| 250.0 * level(run) * noise(&mut random));
    series(&format!("m{seed}"), values.collect())
}

fn timeline(runs: Vec<Head>, all: Vec<Series>) -> Timeline {
    Timeline {
        clock: vec![20.0; runs.len()],
        runs,
        series: all,
    }
}

fn judged(timeline: &Timeline) -> History {
    judge(timeline, &Options::for_alarms(), &Acknowledged::default())
}

/// The history of one metric with an event at [`EVENT`].
fn one(series: Series) -> MetricHistory {
    let heads = heads(series.values.len(), &[EVENT], &[]);
    judged(&timeline(heads, vec![series])).metrics.remove(0)
}

#[test]
fn a_step_at_an_event_is_found_at_once_and_told_once() {
    let history = one(metric(1, RUNS, &[(EVENT, 1.05)]));
    let [change] = &history.changes[..] else {
        panic!("{:?}", history.changes)
    };
    assert_eq!((change.run, change.found), (EVENT, EVENT + 2));
    assert_eq!(change.cause, Cause::Event(0));
    assert_eq!(change.verdict, Verdict::Regressed);
    assert!(change.is_news() && (change.ratio - 1.05).abs() < 0.01);
    assert!((change.after / change.before - 1.05).abs() < 0.01);
    assert_eq!(history.silence, None);
    let improved = one(metric(1, RUNS, &[(EVENT, 0.95)]));
    assert_eq!(improved.changes[0].verdict, Verdict::Improved);
}

#[test]
fn a_step_without_an_event_gives_no_alarm_and_raises_the_floor() {
    let history = one(metric(1, RUNS, &[(30, 1.05)]));
    let [change] = &history.changes[..] else {
        panic!("{:?}", history.changes)
    };
    assert_eq!((change.run, change.cause), (30, Cause::Itself));
    assert!(!change.is_news());
    assert!((0.04..0.07).contains(&history.floor), "{}", history.floor);
    // A step of the same size at the event is no news now, a larger one is.
    let same = one(metric(1, RUNS, &[(20, 1.05), (EVENT, 0.95)]));
    assert!(
        same.changes.iter().all(|change| !change.is_news()),
        "{same:?}"
    );
    assert_eq!(same.changes[1].cause, Cause::Event(0));
    let larger = one(metric(1, RUNS, &[(20, 1.05), (EVENT, 1.15)]));
    assert!(larger.changes[1].is_news());
}

#[test]
fn the_floor_has_a_bound() {
    let history = one(metric(1, RUNS, &[(20, 2.0), (EVENT, 1.3)]));
    assert!((history.floor - FLOOR_BOUND).abs() < 1e-9);
    assert!(history.changes[1].is_news());
}

#[test]
fn the_clock_explains_what_follows_it() {
    let speed = |run| if (60..120).contains(&run) { 1.052 } else { 1.0 };
    let follower = |seed: u64| {
        let mut series = metric(seed, 200, &[]);
        for (run, value) in series.values.iter_mut().enumerate() {
            *value *= speed(run);
        }
        series
    };
    let mut timeline = timeline(heads(200, &[60, 120], &[]), (0..20).map(follower).collect());
    timeline.clock = (0..200).map(|run| 20.0 * speed(run)).collect();
    let history = judged(&timeline);
    for metric in &history.metrics {
        assert_eq!(metric.changes, [], "{}", metric.metric);
        assert!((metric.slope - 1.0).abs() < 0.15, "{}", metric.slope);
    }
    // Sabotage: without the clock, the same steps at the same events are changes.
    timeline.clock = vec![f64::NAN; 200];
    let changes = judged(&timeline)
        .metrics
        .into_iter()
        .flat_map(|metric| metric.changes);
    assert!(changes.filter(Change::is_news).count() >= 20);
}

#[test]
fn the_clock_does_not_explain_itself() {
    let mut clock = metric(1, RUNS, &[(EVENT, 1.3)]);
    clock.metric = CLOCK.to_owned();
    let values = clock.values.clone();
    let mut timeline = timeline(heads(RUNS, &[EVENT], &[]), vec![clock]);
    timeline.clock = values;
    assert!(judged(&timeline).metrics[0].changes[0].is_news());
}

#[test]
fn another_machine_begins_a_segment() {
    let all = vec![metric(1, RUNS, &[(EVENT, 1.5)])];
    let other = timeline(heads(RUNS, &[EVENT], &[EVENT]), all.clone());
    let history = judged(&other);
    assert_eq!(history.segments, [0, EVENT]);
    assert_eq!(history.metrics[0].changes, []);
    // It takes a while until the new machine is known.
    let short = timeline(
        heads(EVENT + 5, &[EVENT], &[EVENT]),
        vec![metric(1, EVENT + 5, &[])],
    );
    let silence = judged(&short).metrics[0].silence;
    assert_eq!(silence, Some(Silence::TooFewRuns(RUNS_NEEDED - 5)));
    assert_eq!(silence.unwrap().reason(), "not enough runs yet: 13 more");
    // Sabotage: on the same machine it is a change.
    let same = timeline(heads(RUNS, &[EVENT], &[]), all);
    assert_eq!(judged(&same).metrics[0].changes.len(), 1);
}

#[test]
fn a_fact_that_a_run_does_not_report_has_not_changed() {
    let mut heads = heads(4, &[3], &[3]);
    heads[1].facts.clear();
    heads[2].facts.push(Fact::new("load", "9").into());
    heads[2]
        .facts
        .push(Fact::new("governor", "powersave").into());
    let history = judged(&timeline(heads, Vec::new()));
    assert_eq!(history.segments, [0, 3]);
    let change = ("kernel_release".to_owned(), "0".to_owned(), "1".to_owned());
    assert_eq!(
        history.events,
        [Event {
            run: 3,
            changes: vec![change]
        }]
    );
}

#[test]
fn the_hosts_kernel_is_no_event_for_another_kernel() {
    let mut heads = heads(6, &[2, 4], &[]);
    for (run, head) in heads.iter_mut().enumerate() {
        head.facts
            .push(Fact::new("kernel", format!("Zephyr 4.{}", run / 4)).into());
        head.facts
            .push(Fact::new("cpu_model", format!("host {}", run / 3)).into());
    }
    let history = judged(&timeline(heads, Vec::new()));
    assert_eq!(history.segments, [0]);
    let [event] = &history.events[..] else {
        panic!("{:?}", history.events)
    };
    assert_eq!((event.run, event.changes.len()), (4, 1));
}

#[test]
fn twelve_events_without_effect_give_nothing() {
    let events: Vec<usize> = (25..365).step_by(28).collect();
    let all = (0..100).map(|seed| metric(seed, 365, &[])).collect();
    let mut timeline = timeline(heads(365, &events, &[]), all);
    let history = judged(&timeline);
    assert_eq!(history.events.len(), events.len());
    assert!(history
        .metrics
        .iter()
        .all(|metric| metric.changes.is_empty()));
    // Sabotage: the same runs with an effect.
    for value in &mut timeline.series[7].values[events[3]..] {
        *value *= 1.04;
    }
    let news = judged(&timeline)
        .metrics
        .into_iter()
        .flat_map(|metric| metric.changes);
    assert_eq!(news.filter(Change::is_news).count(), 1);
}

#[test]
fn every_difference_of_an_exact_metric_is_a_change() {
    let mut values = vec![1000.0; 12];
    values[5..].fill(1001.0);
    values[9..].fill(999.0);
    values[7] = f64::NAN;
    let mut exact = series("exact", values);
    exact.unit = Unit::Instructions;
    exact.spreads.fill(0.0);
    let of = |exact: &Series| {
        let heads = heads(12, &[5], &[3]);
        judged(&timeline(heads, vec![exact.clone()]))
            .metrics
            .remove(0)
    };
    let history = of(&exact);
    let told: Vec<_> = history
        .changes
        .iter()
        .map(|c| (c.run, c.cause, c.verdict))
        .collect();
    let expected = [
        (5, Cause::Event(0), Verdict::Regressed),
        (9, Cause::Itself, Verdict::Improved),
    ];
    assert_eq!(told, expected);
    assert!(history.is_exact && history.silence.is_none());
    // Instructions that differ between replicates are noisy.
    exact.spreads[2] = 0.01;
    let noisy = of(&exact);
    assert!(!noisy.is_exact && noisy.changes.is_empty());
}

#[test]
fn where_each_run_has_an_event_the_next_run_confirms() {
    let events: Vec<usize> = (1..RUNS).collect();
    let of = |runs: usize| {
        let all = vec![metric(1, runs, &[(EVENT, 1.05)])];
        judged(&timeline(heads(runs, &events, &[]), all))
            .metrics
            .remove(0)
            .changes
    };
    let [pending] = &of(EVENT + 3)[..] else {
        panic!("no candidate")
    };
    assert!(!pending.is_confirmed && !pending.is_news());
    let [confirmed] = &of(EVENT + 4)[..] else {
        panic!("not confirmed")
    };
    assert!(confirmed.is_confirmed && confirmed.is_news());
    assert_eq!((confirmed.run, confirmed.found), (EVENT, EVENT + 3));
    // What the next run does not confirm is not told.
    let brief = [(EVENT, 1.05), (EVENT + 3, 1.0 / 1.05)];
    let all = vec![metric(1, RUNS, &brief)];
    let history = judged(&timeline(heads(RUNS, &events, &[]), all));
    assert_eq!(history.metrics[0].changes, []);
}

#[test]
fn where_each_run_has_an_event_levels_are_remembered() {
    let events: Vec<usize> = (1..200).collect();
    let steps = [(EVENT, 1.05), (100, 1.0 / 1.05), (150, 1.05)];
    let all = vec![metric(1, 200, &steps)];
    let history = judged(&timeline(heads(200, &events, &[]), all));
    let changes = &history.metrics[0].changes;
    assert_eq!(changes.len(), 3);
    assert_eq!(changes[0].verdict, Verdict::Regressed);
    for change in &changes[1..] {
        assert!(matches!(change.cause, Cause::Returned(_)), "{change:?}");
        assert_eq!(change.verdict, Verdict::Inconclusive);
    }
}

#[test]
fn silence_has_a_reason() {
    let none = series("none", vec![0.0; RUNS]);
    let negative = series("negative", vec![-3.0; RUNS]);
    let mut gone = metric(1, RUNS, &[]);
    gone.values[90..].fill(f64::NAN);
    let few = series("few", [vec![f64::NAN; 90], vec![5.0; 10]].concat());
    let all = vec![none, negative, gone, few, metric(2, RUNS, &[])];
    let mut timeline = timeline(heads(RUNS, &[EVENT], &[]), all);
    let silences = |timeline: &Timeline| -> Vec<_> {
        judged(timeline)
            .metrics
            .iter()
            .map(|metric| metric.silence)
            .collect()
    };
    let expected = [
        Some(Silence::NoValues),
        Some(Silence::NoValues),
        Some(Silence::Gone(89)),
        Some(Silence::TooFewRuns(8)),
        None,
    ];
    assert_eq!(silences(&timeline), expected);
    timeline.runs = heads(RUNS, &[], &[]);
    assert_eq!(silences(&timeline)[4], Some(Silence::NoEvent));
}

#[test]
fn a_constant_metric_that_changes_has_changed() {
    let mut values = vec![40.0; RUNS];
    values[EVENT..].fill(41.0);
    let history = one(series("constant", values));
    assert_eq!(history.changes.len(), 1);
    assert!(history.changes[0].is_news());
    assert_eq!(one(series("constant", vec![40.0; RUNS])).changes, []);
}

#[test]
fn a_known_change_is_told_with_its_reason() {
    let all = vec![metric(1, RUNS, &[(EVENT, 1.05)])];
    let timeline = timeline(heads(RUNS, &[EVENT], &[]), all);
    let reason = |text: &str| {
        let known = Acknowledged::parse("known.toml", text).unwrap();
        let history = judge(&timeline, &Options::for_alarms(), &known);
        let change = &history.metrics[0].changes[0];
        assert_eq!(change.is_news(), change.acknowledged.is_none());
        change.acknowledged.clone()
    };
    let by = |metric: &str, place: &str| {
        reason(&format!(
            "[[change]]\nmetric = '{metric}'\n{place}\nreason = 'wanted'\n"
        ))
    };
    let wanted = Some("wanted".to_owned());
    assert_eq!(by("m*", "run = '0032'"), wanted);
    assert_eq!(by("m1", "event = 'kernel_release=1'"), wanted);
    assert_eq!(by("other", "run = '0032'"), None);
    assert_eq!(by("m1", "run = '0012'"), None);
    assert_eq!(by("m1", "event = 'kernel_release=2'"), None);
}

#[test]
fn only_the_chosen_metrics_are_judged_and_in_the_same_way() {
    let all = (0..20)
        .map(|seed| metric(seed, RUNS, &[(EVENT, 1.05)]))
        .collect();
    let timeline = timeline(heads(RUNS, &[EVENT], &[]), all);
    let options = Options {
        only: Some(BTreeSet::from(["m7".to_owned()])),
        ..Options::for_alarms()
    };
    let chosen = judge(&timeline, &options, &Acknowledged::default()).metrics;
    assert_eq!(chosen, [judged(&timeline).metrics[7].clone()]);
}

/// A year of several metrics, some of which change, on two machines, with a clock that makes steps.
fn year(seed: u64) -> Timeline {
    let metrics = (0..6).map(|at| match at {
        0 => metric(seed, 200, &[(60, 1.07), (150, 0.9)]),
        1 => metric(seed + 1, 200, &[(40, 1.05)]),
        at => metric(seed + at, 200, &[]),
    });
    let mut timeline = timeline(heads(200, &[60, 90, 150], &[110]), metrics.collect());
    for (run, clock) in timeline.clock.iter_mut().enumerate() {
        *clock *= if run % 30 < 15 { 1.0 } else { 1.027 };
    }
    timeline
}

#[test]
fn a_run_that_is_added_changes_nothing_that_was_said() {
    let whole = year(3);
    let changes = judged(&whole).metrics;
    assert!(changes[0].changes.len() >= 2);
    for runs in (20..200).step_by(9) {
        let mut part = whole.clone();
        part.runs.truncate(runs);
        part.clock.truncate(runs);
        for series in &mut part.series {
            series.values.truncate(runs);
            series.spreads.truncate(runs);
        }
        for (part, whole) in judged(&part).metrics.iter().zip(&changes) {
            let said = whole.changes.iter().filter(|change| change.found < runs);
            assert!(said.eq(&part.changes), "{runs} {part:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Costs in other units have the same changes.
    #[test]
    fn a_constant_factor_changes_nothing(seed in 0..1000u64, exponent in -30..30i32) {
        let base = year(seed);
        let factor = 2f64.powi(exponent);
        let mut scaled = base.clone();
        for series in &mut scaled.series {
            series.values.iter_mut().for_each(|value| *value *= factor);
        }
        let [base, scaled] = [base, scaled].map(|timeline| judged(&timeline));
        for (base, scaled) in base.metrics.iter().zip(&scaled.metrics) {
            prop_assert_eq!(base.changes.len(), scaled.changes.len());
            for (base, scaled) in base.changes.iter().zip(&scaled.changes) {
                prop_assert_eq!((base.run, base.found, base.cause), (scaled.run, scaled.found, scaled.cause));
                prop_assert!((base.ratio / scaled.ratio - 1.0).abs() < 1e-9);
            }
        }
    }

    /// The order of the metrics does not matter.
    #[test]
    fn the_order_of_metrics_changes_nothing(seed in 0..1000u64) {
        let base = year(seed);
        let mut turned = base.clone();
        turned.series.reverse();
        let mut back = judged(&turned).metrics;
        back.reverse();
        prop_assert_eq!(judged(&base).metrics, back);
    }

    /// Any numbers may stand in a file.
    #[test]
    fn no_number_panics(
        values in prop::collection::vec(any::<f64>(), 40),
        clock in prop::collection::vec(any::<f64>(), 40),
        spreads in prop::collection::vec(any::<f64>(), 40),
        step in prop::num::f64::ANY,
    ) {
        let steps = [vec![1.0; 20], vec![step; 20]].concat();
        let mut all = vec![series("any", values), series("steps", steps)];
        all[0].spreads = spreads;
        let mut counted = all[0].clone();
        counted.unit = Unit::Instructions;
        all.push(counted);
        let mut timeline = timeline(heads(40, &[20, 21, 22, 23, 24], &[35]), all);
        timeline.clock = clock;
        for options in [Options::for_alarms(), Options::for_reports()] {
            for metric in judge(&timeline, &options, &Acknowledged::default()).metrics {
                prop_assert!(metric.floor.is_finite() && metric.slope.is_finite());
                for change in metric.changes {
                    prop_assert!(change.found >= change.run && !change.ratio.is_nan());
                }
            }
        }
    }
}

#[test]
fn older_runs_of_the_same_kernel_and_machine_are_the_history() {
    let runs = heads(4, &[1], &[3]);
    let [other_kernel, older, base, other_machine] = &runs[..] else {
        unreachable!()
    };
    assert!(is_history_of(older, base));
    assert!(!is_history_of(base, older), "newer");
    assert!(!is_history_of(base, base));
    assert!(!is_history_of(other_kernel, base));
    assert!(!is_history_of(base, other_machine));
    let mut loaded = older.clone();
    loaded.facts.push(Fact::new("load", "2").into());
    assert!(is_history_of(&loaded, base), "load is no event");
}
