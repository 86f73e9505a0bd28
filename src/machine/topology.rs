// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where CPUs lie in a machine: their cores, caches, memory nodes and packages, and how two of them
//! are related.
//!
//! `/sys` in, the [`Place`] of each CPU and the [`Relation`] of two places out. In a virtual machine
//! these are what its hypervisor reveals.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{format_cpu_list, Root};
use crate::base::number::plural;

/// A cache of a CPU, and the CPUs that share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// 1 is the nearest to the CPU.
    pub level: u32,
    /// All CPUs that use it.
    pub cpus: Vec<u32>,
    /// What it holds.
    pub holds: Contents,
    /// Its size in KiB, if the machine shows it, as the two others.
    pub kib: Option<u64>,
    /// Bytes in a line.
    pub line: Option<u64>,
    /// Lines in a set.
    pub ways: Option<u64>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// Data and instructions.
    #[default]
    Both,
    /// Data.
    Data,
    /// Instructions.
    Instructions,
}

impl Cache {
    /// Its size and structure: `L1d 32 KiB, 8 ways, line 64 B, of 2 CPUs`.
    #[must_use]
    pub fn description(&self) -> String {
        let holds = match self.holds {
            Contents::Both => "",
            Contents::Data => "d",
            Contents::Instructions => "i",
        };
        let size = self
            .kib
            .map_or_else(String::new, |kib| format!(" {kib} KiB"));
        let ways = self.ways.map(|ways| format!(", {ways} ways"));
        let line = self.line.map(|line| format!(", line {line} B"));
        format!(
            "L{}{holds}{size}{}{}, of {}",
            self.level,
            ways.unwrap_or_default(),
            line.unwrap_or_default(),
            plural(self.cpus.len() as u64, "CPU")
        )
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{} of CPU {}", self.level, format_cpu_list(&self.cpus))
    }
}

/// Where a CPU lies. What the machine does not show is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The type of its core, on machines with several: `core` and `atom` on Intel's hybrid
    /// processors, `capacity 446` (of 1024) elsewhere.
    pub core_type: Option<String>,
    /// All hardware threads of its core, including itself.
    pub siblings: Vec<u32>,
    /// Its caches, nearest first.
    pub caches: Vec<Cache>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// Its package (socket).
    pub package: Option<u32>,
}

impl Place {
    /// The cache that is nearest to memory.
    #[must_use]
    pub fn last_level_cache(&self) -> Option<&Cache> {
        self.data_caches().last()
    }

    /// The caches that hold data, nearest first.
    fn data_caches(&self) -> impl DoubleEndedIterator<Item = &Cache> {
        let holds_data = |cache: &&Cache| cache.holds != Contents::Instructions;
        self.caches.iter().filter(holds_data)
    }
}

/// How two CPUs are related, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Hardware threads of one core.
    Siblings,
    /// Cores whose nearest common cache has this level.
    Cache(u32),
    /// Cores of one NUMA node that share no cache.
    Node,
    /// Cores of one package, but of two NUMA nodes.
    Package,
    /// Cores of two packages.
    Packages,
    /// Cores of two NUMA nodes; their packages are unknown.
    Nodes,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Siblings => f.write_str("SMT siblings of one core"),
            Self::Cache(level) => write!(f, "two cores that share an L{level} cache"),
            Self::Node => f.write_str("two cores of one NUMA node that share no cache"),
            Self::Package => f.write_str("two NUMA nodes of one package"),
            Self::Packages => f.write_str("two packages"),
            Self::Nodes => f.write_str("two NUMA nodes"),
        }
    }
}

impl Relation {
    /// How `other`, the CPU with this number, is related to another CPU. `None` if the machine does
    /// not show it.
    #[must_use]
    pub fn of(cpu: &Place, number: u32, other: &Place) -> Option<Self> {
        if cpu.siblings.contains(&number) {
            return Some(Self::Siblings);
        }
        let shared = cpu.data_caches().find(|cache| cache.cpus.contains(&number));
        if let Some(cache) = shared {
            return Some(Self::Cache(cache.level));
        }
        let same = |one: Option<u32>, other: Option<u32>| Some(one? == other?);
        let nodes = same(cpu.node, other.node);
        match (same(cpu.package, other.package), nodes) {
            (Some(false), _) => Some(Self::Packages),
            (Some(true), Some(false)) => Some(Self::Package),
            (None, Some(false)) => Some(Self::Nodes),
            (None, None) => None,
            // A kernel without NUMA shows no nodes. Without its caches, nobody knows what a core of
            // the same node shares.
            (_, Some(true)) | (Some(true), None) => (!cpu.caches.is_empty()).then_some(Self::Node),
        }
    }
}

/// The places of `cpus`, by number. `online` are all CPUs of the machine.
pub(super) fn read_places(root: &Root, cpus: &[u32], online: &[u32]) -> BTreeMap<u32, Place> {
    let types = read_core_types(root, online);
    let nodes = read_nodes(root);
    let place = |&number: &u32| {
        let topology = format!("{CPUS}/cpu{number}/topology");
        let place = Place {
            core_type: types.get(&number).cloned(),
            siblings: root.cpu_list(&format!("{topology}/thread_siblings_list")),
            caches: read_caches(root, number),
            node: nodes.get(&number).copied(),
            package: root.integer(format!("{topology}/physical_package_id")),
        };
        (number, place)
    };
    cpus.iter().map(place).collect()
}

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// The type of each core that has one, if there are several types. A hybrid processor has a counter
/// of events per type, `/sys/devices/cpu_atom` for example. Otherwise cores differ in capacity.
fn read_core_types(root: &Root, online: &[u32]) -> BTreeMap<u32, String> {
    let mut types: BTreeMap<u32, String> = BTreeMap::new();
    let names = root.names("sys/devices").into_iter();
    let counters = names.filter_map(|name| Some(name.strip_prefix("cpu_")?.to_owned()));
    for name in counters {
        for cpu in root.cpu_list(&format!("sys/devices/cpu_{name}/cpus")) {
            types.insert(cpu, name.clone());
        }
    }
    if types.is_empty() {
        let capacity = |&cpu: &u32| {
            let capacity = root.number(format!("{CPUS}/cpu{cpu}/cpu_capacity"))?;
            Some((cpu, format!("capacity {capacity}")))
        };
        types = online.iter().filter_map(capacity).collect();
    }
    let first = types.values().next().cloned();
    if types.values().all(|one| Some(one) == first.as_ref()) {
        types.clear();
    }
    types
}

/// The caches of a CPU, nearest first.
fn read_caches(root: &Root, cpu: u32) -> Vec<Cache> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let cache = |index: String| {
        let file = |name: &str| format!("{folder}/{index}/{name}");
        let cpus = root.cpu_list(&file("shared_cpu_list"));
        let size = root.text(file("size"));
        (!cpus.is_empty()).then_some(Cache {
            level: root.integer(file("level"))?,
            cpus,
            holds: match root.text(file("type")).as_deref() {
                Some("Instruction") => Contents::Instructions,
                Some("Data") => Contents::Data,
                _ => Contents::Both,
            },
            kib: size.and_then(|size| size.strip_suffix('K')?.parse().ok()),
            line: root.number(file("coherency_line_size")),
            // 0 if any line may hold any address.
            ways: root
                .number(file("ways_of_associativity"))
                .filter(|ways| *ways > 0),
        })
    };
    let indices = root.names(&folder).into_iter();
    let mut caches: Vec<Cache> = indices
        .filter(|name| name.starts_with("index"))
        .filter_map(cache)
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// The numbers of packages and of cores of these CPUs. `None` if the machine does not show them.
pub(super) fn count_packages_and_cores(root: &Root, cpus: &[u32]) -> Option<(usize, usize)> {
    let mut packages = BTreeSet::new();
    let mut cores = BTreeSet::new();
    for cpu in cpus {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        packages.insert(root.integer::<u32>(format!("{topology}/physical_package_id"))?);
        let first = *root
            .cpu_list(&format!("{topology}/thread_siblings_list"))
            .first()?;
        cores.insert(first);
    }
    (!packages.is_empty()).then_some((packages.len(), cores.len()))
}

/// The memory of each NUMA node, in KiB.
pub(super) fn read_node_memory(root: &Root) -> BTreeMap<u32, u64> {
    let nodes = root.names(NODES).into_iter();
    let memory = nodes.filter_map(|name| {
        let node = name.strip_prefix("node")?.parse().ok()?;
        let text = root.text(format!("{NODES}/{name}/meminfo"))?;
        let (_, total) = text.split_once("MemTotal:")?;
        Some((node, total.split_whitespace().next()?.parse().ok()?))
    });
    memory.collect()
}

/// The NUMA node of each CPU.
fn read_nodes(root: &Root) -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    for name in root.names(NODES) {
        let number = name.strip_prefix("node").and_then(|n| n.parse().ok());
        let Some(node) = number else { continue };
        for cpu in root.cpu_list(&format!("{NODES}/{name}/cpulist")) {
            nodes.insert(cpu, node);
        }
    }
    nodes
}
