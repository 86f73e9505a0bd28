// SPDX-License-Identifier: MIT OR Apache-2.0

//! Observes the machine: CPU time over an interval, and whether the kernel grants real-time priority.
//!
//! `/proc` in, [`Probes`] out. Settings, which need no observation, are in [`crate::machine`].

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::AGENT_PRIORITY;

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
            total: fields.iter().sum(),
            idle: at(3) + at(4),
            steal: at(7),
        }
    }

    /// The time since an earlier reading. Counters can go back by a tick, which counts as 0.
    fn since(self, before: Self) -> Self {
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

    /// The share of busy time, between 0 and 1. Stolen time is not busy time.
    #[must_use]
    pub fn busy_share(self) -> f64 {
        self.share(self.total.saturating_sub(self.idle + self.steal))
    }

    /// The share of stolen time, between 0 and 1.
    #[must_use]
    pub fn steal_share(self) -> f64 {
        self.share(self.steal)
    }
}

/// The kernel's CPU time counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    all: Times,
    cpus: BTreeMap<u32, Times>,
    processes: BTreeMap<u32, (String, u64)>,
}

impl Snapshot {
    /// Reads the counters below `root` (`/` for this machine). Leaves out the process `own`.
    #[must_use]
    pub fn read(root: &Path, own: u32) -> Self {
        let mut snapshot = Self::default();
        let stat = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
        for line in stat.lines() {
            let Some((name, fields)) = line.split_once(' ') else {
                continue;
            };
            if name == "cpu" {
                snapshot.all = Times::parse(fields);
            } else if let Some(number) = name.strip_prefix("cpu").and_then(|n| n.parse().ok()) {
                snapshot.cpus.insert(number, Times::parse(fields));
            }
        }
        for entry in fs::read_dir(root.join("proc"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
            if let Some(process) = process_time(&String::from_utf8_lossy(&stat)) {
                if id != own {
                    snapshot.processes.insert(id, process);
                }
            }
        }
        snapshot
    }
}

/// The name and the CPU time in ticks from `/proc/PID/stat`. The name may contain blanks and brackets.
fn process_time(stat: &str) -> Option<(String, u64)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // The fields after the name start with field 3. User time is field 14, system time 15.
    let mut fields = tail.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((name.to_owned(), user + system))
}

/// The activity between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// All CPUs, since boot.
    pub since_boot: Times,
    /// All CPUs, in the interval.
    pub all: Times,
    /// Each CPU, in the interval.
    pub cpus: BTreeMap<u32, Times>,
    /// Processes that ran in the interval with the number of CPUs they used (1.0 is one full CPU),
    /// busiest first.
    pub processes: Vec<(String, f64)>,
}

impl Activity {
    /// The difference between two snapshots.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let all = after.all.since(before.all);
        let length = all.total as f64 / after.cpus.len().max(1) as f64;
        let mut processes: Vec<(String, f64)> = after
            .processes
            .iter()
            .filter_map(|(id, (name, ticks))| {
                let (_, earlier) = before.processes.get(id)?;
                let ran = ticks.saturating_sub(*earlier);
                (ran > 0 && length > 0.0).then(|| (name.clone(), ran as f64 / length))
            })
            .collect();
        processes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let cpus = after
            .cpus
            .iter()
            .filter_map(|(&cpu, times)| Some((cpu, times.since(*before.cpus.get(&cpu)?))))
            .collect();
        Self {
            since_boot: after.all,
            all,
            cpus,
            processes,
        }
    }
}

/// The result of asking for a real-time priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Realtime {
    /// The kernel granted it.
    Granted,
    /// The request failed with this message.
    Refused(String),
    /// It was not requested.
    Untried,
}

/// Observations of the machine, as opposed to its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// The activity of the CPUs over a short interval.
    pub activity: Option<Activity>,
    /// Whether the kernel grants real-time priority.
    pub realtime: Realtime,
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            activity: None,
            realtime: Realtime::Untried,
        }
    }
}

impl Probes {
    /// Watches this machine for `interval` (200 ms is enough). Also asks for real-time priority, with
    /// `chrt` in a separate process that ends at once.
    #[must_use]
    pub fn take(interval: Duration) -> Self {
        let root = Path::new("/");
        let own = std::process::id();
        let before = Snapshot::read(root, own);
        thread::sleep(interval);
        let after = Snapshot::read(root, own);
        Self {
            activity: Some(Activity::between(&before, &after)),
            realtime: try_realtime(),
        }
    }
}

fn try_realtime() -> Realtime {
    let tried = Command::new("chrt")
        .args(["-f", &AGENT_PRIORITY.to_string(), "true"])
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Realtime::Granted,
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Realtime::Refused(words.lines().next().unwrap_or("chrt failed").to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Realtime::Untried,
        Err(error) => Realtime::Refused(error.to_string()),
    }
}
