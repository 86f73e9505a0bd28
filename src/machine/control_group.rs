// SPDX-License-Identifier: MIT OR Apache-2.0

//! The control groups of a process: its CPU quota, and whether its group ran out of memory.
//!
//! `/proc` and the mounted control groups in, [`Quota`] and [`MemoryGroup`] out.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Quota, Root};
use crate::base::number::count;

/// The mount point of a control group hierarchy, and the group of a process in it.
pub struct Group {
    mount: PathBuf,
    path: PathBuf,
}

impl Group {
    /// The folders of the group and its parents up to the mount point, innermost first.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let inside = self.path.strip_prefix("/").unwrap_or(&self.path);
        inside.ancestors().map(|folder| self.mount.join(folder))
    }
}

/// The group of this process: in the version 1 hierarchy with `controller`, or in version 2 for
/// `None`.
pub fn read_group(root: &Root, controller: Option<&str>) -> Option<Group> {
    group_of(root, "self", controller)
}

/// The group of any process. See [`read_group`].
fn group_of(root: &Root, process: &str, controller: Option<&str>) -> Option<Group> {
    let mounts = root.text("proc/self/mounts")?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        let wanted = match controller {
            None => kind == "cgroup2",
            Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        wanted.then(|| PathBuf::from(folder))
    })?;
    let groups = root.text(format!("proc/{process}/cgroup"))?;
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let wanted = match controller {
            None => controllers.is_empty(),
            Some(name) => controllers.split(',').any(|held| held == name),
        };
        wanted.then(|| PathBuf::from(path))
    })?;
    Some(Group { mount, path })
}

/// The control group that limits the memory of a process, and the number of its processes that the
/// kernel had killed for lack of memory when it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    folder: PathBuf,
    /// The name of the file with the kill count.
    counter: &'static str,
    /// Limit in bytes, if there is one.
    limit: Option<u64>,
    /// The kill count when the group was looked up.
    killed: u64,
}

/// Version 1 reports "no limit" as the largest integer minus a page. Limits from here on are none.
const UNLIMITED: u64 = 1 << 62;

impl MemoryGroup {
    /// The current group of a process. `None` if the kernel does not show it.
    #[must_use]
    pub fn of(process: u32) -> Option<Self> {
        let root = Root(Path::new("/"));
        let process = process.to_string();
        let (group, counter, limit) = match group_of(&root, &process, Some("memory")) {
            Some(group) => (group, "memory.oom_control", "memory.limit_in_bytes"),
            None => (
                group_of(&root, &process, None)?,
                "memory.events",
                "memory.max",
            ),
        };
        let folder = group.folders().next()?;
        Some(MemoryGroup {
            killed: oom_kills(&folder.join(counter))?,
            limit: root
                .number(folder.join(limit))
                .filter(|limit| *limit < UNLIMITED),
            folder,
            counter,
        })
    }

    /// A message with the group and its limit if the kernel has killed one of its processes for lack
    /// of memory since the group was looked up. Otherwise `None`.
    #[must_use]
    pub fn exhausted(&self) -> Option<String> {
        let killed = oom_kills(&self.folder.join(self.counter))?;
        let limit = self
            .limit
            .map(|limit| format!(", limit {} bytes", count(limit)));
        (killed > self.killed).then(|| {
            format!(
                "its control group ran out of memory ({}{})",
                self.folder.display(),
                limit.unwrap_or_default()
            )
        })
    }
}

/// The number of processes that the kernel has killed for lack of memory, from a control group's file.
fn oom_kills(counter: &Path) -> Option<u64> {
    let text = fs::read_to_string(counter).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line?.trim().parse().ok()
}

/// All limits on the CPU time of this process: those of its group and of the group's parents.
pub fn read_quotas(root: &Root) -> Vec<Quota> {
    let mut quotas = Vec::new();
    if let Some(group) = read_group(root, None) {
        quotas.extend(group.folders().filter_map(|folder| {
            let file = folder.join("cpu.max");
            let text = root.text(&file)?;
            let (quota, period) = text.split_once(' ')?;
            quota_of(
                root,
                &folder,
                file,
                (quota.parse().ok()?, period.parse().ok()?),
            )
        }));
    }
    if let Some(group) = read_group(root, Some("cpu")) {
        quotas.extend(group.folders().filter_map(|folder| {
            let file = folder.join("cpu.cfs_quota_us");
            let quota = root.number(&file)?;
            let period = root.number(folder.join("cpu.cfs_period_us"))?;
            quota_of(root, &folder, file, (quota, period))
        }));
    }
    quotas
}

/// How often a group's quota stopped it since it was created, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stops {
    pub count: u64,
    pub us: u64,
}

impl Stops {
    /// Reads the counters of the group in `folder`.
    pub fn read(root: &Root, folder: &Path) -> Option<Self> {
        let text = root.text(folder.join("cpu.stat"))?;
        let number = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(' ')?.trim().parse().ok()
        };
        // Version 1 counts nanoseconds, version 2 microseconds.
        let us = number("throttled_usec").or_else(|| Some(number("throttled_time")? / 1000));
        Some(Stops {
            count: number("nr_throttled")?,
            us: us?,
        })
    }
}

fn quota_of(
    root: &Root,
    folder: &Path,
    file: PathBuf,
    (quota_us, period_us): (u64, u64),
) -> Option<Quota> {
    let throttled = Stops::read(root, folder).map(|stops| stops.count);
    (period_us > 0).then_some(Quota {
        quota_us,
        period_us,
        file,
        throttled,
    })
}
