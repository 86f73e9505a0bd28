// SPDX-License-Identifier: MIT OR Apache-2.0

//! What spoils the numbers of a run, in words: [`Warning`]s in, a sentence each out.

use super::interference::time;
use crate::base::number::{self, plural};
use crate::judge::warnings::{Warning, When};

/// A warning as one line: what was found, and what it does to the numbers. Not yet safe to show.
#[must_use]
pub fn sentence(of: &Warning) -> String {
    match of {
        Warning::Busy {
            load,
            measured,
            second,
        } => {
            let load = load.map(|(load, cpus)| {
                format!("load {load:.2} on {}", plural(cpus, "CPU"))
            });
            let measured = measured.map(|(cpu, share)| {
                format!(
                    "CPU {cpu}, which is measured, was {} busy before the run",
                    percent(share)
                )
            });
            let second = second.map(|(cpu, share, when)| {
                let when = match when {
                    When::Before => "before",
                    When::During => "during",
                };
                format!("CPU {cpu}, the second, was {} busy {when} the run", percent(share))
            });
            let only_second = load.is_none() && measured.is_none();
            let parts: Vec<String> = [load, measured, second].into_iter().flatten().collect();
            let effect = if only_second {
                "what needs two CPUs is slower, and caches are shared"
            } else {
                "tails are longer, and medians can move"
            };
            format!("other work: {}: {effect}", parts.join("; "))
        }
        Warning::Quota { cpus, stops } => {
            let quota = format!("CPU quota of {cpus:.2} CPUs");
            match stops {
                Some((count, us)) => format!(
                    "{quota}: it stopped the run {}, {} in all, and lengthened the \
                     samples it hit",
                    times(*count),
                    time(*us as f64)
                ),
                None => format!(
                    "{quota}: when it is used up, all threads stop until the next \
                     period, and a sample gets that much longer"
                ),
            }
        }
        Warning::Steal(share, when) => {
            let when = match when {
                When::Before => "before the run",
                When::During => "while it ran",
            };
            format!(
                "steal: the hypervisor gave {} of the CPU time to others {when}: medians stay valid, \
                 tails do not",
                percent(*share)
            )
        }
        Warning::Governor(name) => format!(
            "frequency governor {name}: a CPU that has just woken up is slower, so short cases look \
             slower than they are"
        ),
        Warning::Throttled(count) => format!(
            "heat: the CPU was slowed down {} during the run, so its numbers drift",
            times(*count)
        ),
    }
}

fn percent(share: f64) -> String {
    number::percent(share * 100.0)
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => plural(count, "time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_say_what_was_found_and_what_it_does() {
        let busy = |load, measured, second| {
            sentence(&Warning::Busy {
                load,
                measured,
                second,
            })
        };
        let second = Some((0, 0.996, When::Before));
        assert_eq!(
            busy(Some((16.0, 2)), Some((1, 0.97)), second),
            "other work: load 16.00 on 2 CPUs; CPU 1, which is measured, was 97.0 % busy before the \
             run; CPU 0, the second, was 99.6 % busy before the run: tails are longer, and medians \
             can move"
        );
        assert_eq!(
            busy(None, None, Some((0, 0.88, When::During))),
            "other work: CPU 0, the second, was 88.0 % busy during the run: what needs two CPUs is \
             slower, and caches are shared"
        );
        let stops = |stops| sentence(&Warning::Quota { cpus: 0.2, stops });
        assert_eq!(
            stops(Some((70, 900_000))),
            "CPU quota of 0.20 CPUs: it stopped the run 70 times, 900 ms in all, and lengthened \
             the samples it hit"
        );
        assert_eq!(
            stops(None),
            "CPU quota of 0.20 CPUs: when it is used up, all threads stop until the next period, \
             and a sample gets that much longer"
        );
        assert_eq!(
            sentence(&Warning::Steal(0.031, When::During)),
            "steal: the hypervisor gave 3.10 % of the CPU time to others while it ran: medians stay \
             valid, tails do not"
        );
        assert_eq!(
            sentence(&Warning::Throttled(1)),
            "heat: the CPU was slowed down once during the run, so its numbers drift"
        );
        assert!(sentence(&Warning::Governor("powersave".into())).contains("governor powersave:"));
    }
}
