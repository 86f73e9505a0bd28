// SPDX-License-Identifier: MIT OR Apache-2.0

//! Observes the machine: CPU time over an interval, and whether the kernel grants real-time priority.
//!
//! `/proc` in, [`Probes`] out. Settings, which need no observation, are in [`crate::machine`].

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::AGENT_PRIORITY;
use crate::machine::cpu_times::{CpuTimes, Times};
use crate::machine::processes::{self, Process};
use crate::machine::Root;

/// The kernel's CPU time counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    all: Times,
    cpus: BTreeMap<u32, Times>,
    processes: BTreeMap<u32, Process>,
}

impl Snapshot {
    /// Reads the counters below `root` (`/` for this machine). Leaves out the process `own`.
    #[must_use]
    pub fn read(root: &Path, own: u32) -> Self {
        let root = Root(root);
        let CpuTimes { all, cpus } = CpuTimes::parse(&root.text("proc/stat").unwrap_or_default());
        let mut processes = processes::read(&root);
        processes.remove(&own);
        Self {
            all,
            cpus,
            processes,
        }
    }
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
            .filter_map(|(id, process)| {
                let ran = process.ran_since(before.processes.get(id)?);
                (ran > 0 && length > 0.0).then(|| (process.name.clone(), ran as f64 / length))
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
