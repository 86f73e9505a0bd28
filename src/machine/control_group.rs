// SPDX-License-Identifier: MIT OR Apache-2.0

//! The control groups of a process: the bound on its CPU time, and whether its memory ran out.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Quota, Tree};
use crate::base::number::count;

/// Where a controller of control groups is mounted, and this process's group in it.
pub struct Group {
    mount: PathBuf,
    path: PathBuf,
}

impl Group {
    /// The group and its parents up to the mount, innermost first.
    pub fn lineage(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let inside = self.path.strip_prefix("/").unwrap_or(&self.path);
        inside.ancestors().map(|folder| self.mount.join(folder))
    }
}

/// The group of this process, of version 1 that holds `controller`, or of version 2 for `None`.
pub fn read_group(tree: &Tree, controller: Option<&str>) -> Option<Group> {
    group_of(tree, "self", controller)
}

/// The group of a process, as [`read_group`].
fn group_of(tree: &Tree, process: &str, controller: Option<&str>) -> Option<Group> {
    let mounts = tree.text("proc/self/mounts")?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        let wanted = match controller {
            None => kind == "cgroup2",
            Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        wanted.then(|| PathBuf::from(folder))
    })?;
    let groups = tree.text(format!("proc/{process}/cgroup"))?;
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

/// The control group of a process that bounds its memory, and how often the kernel had killed a
/// process of it for want of memory when it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    folder: PathBuf,
    /// Its file that counts such processes, and its limit in bytes where it has one.
    counter: &'static str,
    limit: Option<u64>,
    killed: u64,
}

/// Version 1 writes no limit as the most that fits into a register, less a page.
const UNBOUNDED: u64 = 1 << 62;

impl MemoryGroup {
    /// The group that a process is in now; `None` where the kernel does not tell.
    #[must_use]
    pub fn of(process: u32) -> Option<Self> {
        let tree = Tree(Path::new("/"));
        let process = process.to_string();
        let (group, counter, limit) = match group_of(&tree, &process, Some("memory")) {
            Some(group) => (group, "memory.oom_control", "memory.limit_in_bytes"),
            None => (
                group_of(&tree, &process, None)?,
                "memory.events",
                "memory.max",
            ),
        };
        let folder = group.lineage().next()?;
        Some(MemoryGroup {
            killed: kills(&folder.join(counter))?,
            limit: tree
                .number(folder.join(limit))
                .filter(|limit| *limit < UNBOUNDED),
            folder,
            counter,
        })
    }

    /// That its memory was used up since then, where it was: the group and its limit.
    #[must_use]
    pub fn exhausted(&self) -> Option<String> {
        let killed = kills(&self.folder.join(self.counter))?;
        let limit = self
            .limit
            .map(|limit| format!(", limit {} bytes", count(limit)));
        (killed > self.killed).then(|| {
            format!(
                "its control group had no memory left ({}{})",
                self.folder.display(),
                limit.unwrap_or_default()
            )
        })
    }
}

/// How many processes the kernel has killed for want of memory, by the file of a control group.
fn kills(counter: &Path) -> Option<u64> {
    let text = fs::read_to_string(counter).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line?.trim().parse().ok()
}

pub fn read_quota(tree: &Tree) -> Option<Quota> {
    let mut quotas = Vec::new();
    if let Some(group) = read_group(tree, None) {
        quotas.extend(group.lineage().filter_map(|folder| {
            let file = folder.join("cpu.max");
            let text = tree.text(&file)?;
            let (quota, period) = text.split_once(' ')?;
            quota_of(
                tree,
                &folder,
                file,
                (quota.parse().ok()?, period.parse().ok()?),
            )
        }));
    }
    if let Some(group) = read_group(tree, Some("cpu")) {
        quotas.extend(group.lineage().filter_map(|folder| {
            let file = folder.join("cpu.cfs_quota_us");
            let quota = tree.number(&file)?;
            let period = tree.number(folder.join("cpu.cfs_period_us"))?;
            quota_of(tree, &folder, file, (quota, period))
        }));
    }
    quotas
        .into_iter()
        .min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
}

fn quota_of(
    tree: &Tree,
    folder: &Path,
    file: PathBuf,
    (quota_us, period_us): (u64, u64),
) -> Option<Quota> {
    let throttled = tree.text(folder.join("cpu.stat")).and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("nr_throttled "))?
            .parse()
            .ok()
    });
    (period_us > 0).then_some(Quota {
        quota_us,
        period_us,
        file,
        throttled,
    })
}
