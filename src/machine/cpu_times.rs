// SPDX-License-Identifier: MIT OR Apache-2.0

//! CPU times: the text of `/proc/stat` in, the [`Times`] of each CPU out.

use std::collections::BTreeMap;

/// CPU time, in the kernel's ticks (100 per second).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// All time, including idle time.
    pub total: u64,
    /// Idle time, including time spent waiting for I/O.
    pub idle: u64,
    /// Time that the hypervisor gave to others.
    pub steal: u64,
}

impl Times {
    /// Parses a line of `/proc/stat` without its first word.
    fn parse(fields: &str) -> Self {
        // user nice system idle iowait irq softirq steal. User time already includes guest time.
        let fields: Vec<u64> = fields
            .split_whitespace()
            .take(8)
            .map_while(|field| field.parse().ok())
            .collect();
        let at = |index: usize| fields.get(index).copied().unwrap_or(0);
        Self {
            total: fields
                .iter()
                .fold(0, |sum, field| u64::saturating_add(sum, *field)),
            idle: at(3).saturating_add(at(4)),
            steal: at(7),
        }
    }

    /// The time since an earlier reading. Counters can go back by a tick, which counts as 0.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            total: self.total.saturating_sub(before.total),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    /// A part of the total, between 0 and 1.
    fn share(self, part: u64) -> f64 {
        if self.total == 0 {
            0.0
        } else {
            part as f64 / self.total as f64
        }
    }

    /// The busy time. Stolen time is not busy time.
    #[must_use]
    pub fn busy(self) -> u64 {
        let other = self.idle.saturating_add(self.steal);
        self.total.saturating_sub(other)
    }

    /// The share of busy time, between 0 and 1.
    #[must_use]
    pub fn busy_share(self) -> f64 {
        self.share(self.busy())
    }

    /// The share of stolen time, between 0 and 1.
    #[must_use]
    pub fn steal_share(self) -> f64 {
        self.share(self.steal)
    }
}

/// The times of all CPUs together and of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    pub all: Times,
    pub cpus: BTreeMap<u32, Times>,
}

impl CpuTimes {
    /// Parses `/proc/stat`. Skips anything else.
    pub fn parse(stat: &str) -> Self {
        let mut times = Self::default();
        for line in stat.lines() {
            let Some((name, fields)) = line.split_once(' ') else {
                continue;
            };
            if name == "cpu" {
                times.all = Times::parse(fields);
            } else if let Some(number) = name.strip_prefix("cpu").and_then(|n| n.parse().ok()) {
                times.cpus.insert(number, Times::parse(fields));
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stolen_and_idle_time_are_not_busy() {
        let before = CpuTimes::parse("cpu  9 9\ncpu3 1 2 3 40 5 6 7 8 9 10\nctxt 5\n");
        let after = CpuTimes::parse("cpu3 2 4 6 50 6 9 11 13 9 10\ncpux 1\n");
        let times = after.cpus[&3].since(before.cpus[&3]);
        assert_eq!((times.idle, times.steal, times.busy()), (11, 5, 13));
        assert_eq!(after.cpus.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read(one in "(cpu[0-9x]?( [0-9]{0,20}){0,10}\n|.*\n){0,6}", two in any::<String>()) {
            let (one, two) = (CpuTimes::parse(&one), CpuTimes::parse(&two));
            for (cpu, times) in &one.cpus {
                let earlier = two.cpus.get(cpu).copied().unwrap_or_default();
                let since = times.since(earlier);
                prop_assert!(since.busy() <= since.total);
            }
        }
    }
}
