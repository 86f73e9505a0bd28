// SPDX-License-Identifier: MIT OR Apache-2.0

//! What else the machine did, in words: [`Disturbance`]s and [`Contrast`]s in, sentences out.

use crate::base::number::{count, Place, TimeUnit};
use crate::judge::interference::{Contrast, Disturbance, Measure, Suspect};
use crate::machine::counters::{CAUSES, QUOTA_US, STEAL_US, SWITCHES, THROTTLES};

/// What a count counts, as a phrase after its value.
fn noun(suspect: &Suspect) -> &'static str {
    let known = [
        (STEAL_US, "stolen by the hypervisor"),
        (QUOTA_US, "stopped by the CPU quota"),
        (THROTTLES, "stops because of heat"),
        (SWITCHES, "context switches of others"),
    ];
    let mut all = known.iter().chain(&CAUSES);
    all.find(|(name, _)| *name == suspect.name)
        .map_or(suspect.name, |(_, noun)| noun)
}

/// A count, or a time in a suitable unit.
fn value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Events => count(value.round() as u64),
        Measure::Time => time(value),
    }
}

/// A time in microseconds, in a suitable unit.
pub(super) fn time(us: f64) -> String {
    if us == 0.0 {
        return "0 ms".to_owned();
    }
    let unit = TimeUnit::of(us * 1000.0);
    let value = unit.convert(us * 1000.0);
    let place = Place::significant(value, 3);
    format!("{} {}", place.show(value), unit.name)
}

/// How many times one figure is another.
fn times(ratio: f64) -> String {
    Place::significant(ratio, 3).show(ratio)
}

/// A disturbed replicate in two sentences; not yet safe to show.
#[must_use]
pub fn sentences(of: &Disturbance) -> String {
    let causes = of.causes.iter().map(|cause| {
        let Suspect { measure, .. } = *cause.suspect;
        let busiest = cause
            .busiest
            .as_ref()
            .map(|name| format!(", most of {name}"));
        format!(
            "{} {}{} (others: {})",
            value(measure, cause.count as f64),
            noun(cause.suspect),
            busiest.unwrap_or_default(),
            value(measure, cause.others)
        )
    });
    let causes: Vec<String> = causes.collect();
    let (tail, ratio) = (of.tail.name(), times(of.ratio()));
    let tails = match &of.metrics[..] {
        [(id, _)] => format!("its {tail} of {id} is {ratio} times theirs"),
        metrics => {
            let (id, most) = &metrics[0];
            format!(
                "its {tail} is far from theirs in {} of {} metrics: {ratio} times in the median, {} \
                 times for {id}",
                metrics.len(),
                of.of,
                times(*most)
            )
        }
    };
    format!(
        "Replicate {} was disturbed: {}; {tails}.",
        of.replicate,
        causes.join(", ")
    )
}

/// What else happened more often on one side of a comparison, as a phrase each.
#[must_use]
pub fn contrasts(contrasts: &[Contrast]) -> Vec<String> {
    let text = |one: &Contrast| {
        let per_second = |rate: f64| match one.suspect.measure {
            Measure::Events if rate < 10.0 => times(rate),
            measure => value(measure, rate),
        };
        format!(
            "{} per second: {} in the base, {} in the new run",
            noun(one.suspect),
            per_second(one.base),
            per_second(one.new)
        )
    };
    contrasts.iter().map(text).collect()
}
