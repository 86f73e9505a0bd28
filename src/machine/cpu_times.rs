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
