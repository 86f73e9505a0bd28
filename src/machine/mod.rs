// SPDX-License-Identifier: MIT OR Apache-2.0

//! The machine that a run is made on: `/proc`, `/sys` and `/etc` in, a [`Machine`] out, and from it the
//! facts of a saved run ([`facts()`]) and the findings of the [`doctor`]. [`counters`] has what it counts
//! in an interval.
//!
//! All files are read below a root directory, so tests can supply their own. Anything that a machine
//! does not show is absent and never an error. Host names, user names and serial numbers are not
//! read, and values of kernel parameters that can identify a machine are replaced.

mod command_line;
mod control_group;
pub mod counters;
mod cpu_times;
pub mod cpus;
pub mod doctor;
mod facts;
pub mod identity;
mod interrupts;
mod processes;
pub mod topology;

pub use control_group::MemoryGroup;
pub use facts::facts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use command_line::public_command_line;
use control_group::{read_group, read_quotas};
use topology::{count_packages_and_cores, read_node_memory, read_places, Place};

/// The capability to use real-time scheduling. Its bit number.
const CAP_SYS_NICE: u32 = 23;
/// The capability to lock any amount of memory. Its bit number.
const CAP_IPC_LOCK: u32 = 14;

/// The configuration that a kernel was built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelConfig {
    /// CRC-32 of its text. `gzip -lv /proc/config.gz` shows the same value.
    pub crc32: u32,
    /// Length of its text in bytes.
    pub bytes: usize,
    /// The value of every option that is set. Names are without `CONFIG_`.
    pub options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Whether an option is `y`. The name is without `CONFIG_`.
    #[must_use]
    pub fn enabled(&self, option: &str) -> bool {
        self.options.get(option).is_some_and(|value| value == "y")
    }

    fn parse(text: &str) -> Self {
        let options = text
            .lines()
            .filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self {
            crc32: crc32fast::hash(text.as_bytes()),
            bytes: text.len(),
            options,
        }
    }
}

/// The frequency settings of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frequency {
    /// `performance`, `powersave`, `schedutil` ...
    pub governor: Option<String>,
    /// `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq` ...
    pub driver: Option<String>,
    /// The preference between performance and energy, for drivers that have it.
    pub preference: Option<String>,
    /// Lowest allowed frequency in kHz.
    pub lowest_khz: Option<u64>,
    /// Highest allowed frequency in kHz.
    pub highest_khz: Option<u64>,
}

/// A state that an idle CPU can enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// `POLL`, `C1`, `C6` ...
    pub name: String,
    /// Exit latency in microseconds.
    pub latency_us: u64,
    /// Whether the kernel may use it.
    pub state: Switch,
}

/// Something that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is on.
    On,
    /// It is off.
    Off,
}

/// Settings and counters of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Its frequency settings.
    pub frequency: Frequency,
    /// Where it lies.
    pub place: Place,
    /// Its idle states, shortest exit latency first.
    pub idle: Vec<IdleState>,
    /// How often the core or its package was thermally throttled since boot.
    pub throttled: Option<u64>,
}

/// A resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// At most this, in the unit of the resource.
    AtMost(u64),
}

impl Limit {
    fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            Some(Self::Unlimited)
        } else {
            text.parse().ok().map(Self::AtMost)
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::AtMost(most) => write!(f, "{most}"),
        }
    }
}

/// A limit on the CPU time of this process's control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// CPU time allowed per period, in microseconds.
    pub quota_us: u64,
    /// Length of a period in microseconds, above 0.
    pub period_us: u64,
    /// The file that sets it, as this process sees it.
    pub file: PathBuf,
    /// How often it stopped the group since the group was created.
    pub throttled: Option<u64>,
}

impl Quota {
    /// The limit as a number of CPUs.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

/// The preemption mode of the kernel, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// `none`, `voluntary`, `full`, `lazy` or `rt`.
    pub mode: String,
    /// `live`, `command line` or `build`.
    pub source: &'static str,
}

/// The permissions and limits of this process, from `/proc/self`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Whether the effective user id is 0.
    pub root: Option<bool>,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// Seccomp mode: 0 none, 1 strict, 2 filter.
    pub seccomp: Option<u64>,
    /// Highest real-time priority (soft limit).
    pub rtprio: Option<Limit>,
    /// Longest run at real-time priority without sleeping, in microseconds (soft limit).
    pub rttime: Option<Limit>,
    /// Memory that can be locked, in bytes (soft limit).
    pub memlock: Option<Limit>,
    /// Real-time CPU time of the control group per period, in microseconds, and the file that sets
    /// it. Only if the kernel schedules real-time threads by group.
    pub group_rt_runtime_us: Option<(i64, PathBuf)>,
}

impl Permissions {
    /// Whether a capability is effective.
    fn may(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }

    /// Whether it may use any real-time priority (`CAP_SYS_NICE`).
    #[must_use]
    pub fn may_raise_priority(&self) -> bool {
        self.may(CAP_SYS_NICE)
    }

    /// Whether it may lock any amount of memory (`CAP_IPC_LOCK`).
    #[must_use]
    pub fn may_lock_memory(&self) -> bool {
        self.may(CAP_IPC_LOCK)
    }
}

/// Everything known about a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// `Linux`.
    pub kernel_name: Option<String>,
    /// Such as `6.1.0-18-amd64`.
    pub kernel_release: Option<String>,
    /// Such as `#1 SMP PREEMPT_DYNAMIC ...`.
    pub kernel_version: Option<String>,
    /// Such as `x86_64`.
    pub arch: Option<String>,
    /// Parameters of the kernel, without those of init. Private values are replaced.
    pub command_line: Option<String>,
    /// The kernel's build configuration.
    pub config: Option<KernelConfig>,
    /// The kernel's preemption mode.
    pub preemption: Option<Preemption>,
    /// The kernel's mitigation of each known processor vulnerability.
    pub vulnerabilities: BTreeMap<String, String>,
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// Vendor, family, model, stepping (or implementer, part, variant, revision).
    pub cpu_identity: Option<String>,
    /// Version of the microcode.
    pub microcode: Option<String>,
    /// Features of the first CPU.
    pub cpu_flags: BTreeSet<String>,
    /// CPUs that the machine has.
    pub present: Vec<u32>,
    /// CPUs that are online.
    pub online: Vec<u32>,
    /// The numbers of packages and of cores that are online.
    pub packages_and_cores: Option<(usize, usize)>,
    /// Online CPUs that this process may use.
    pub allowed: Vec<u32>,
    /// CPUs isolated from the scheduler at boot (`isolcpus=`).
    pub isolated: Vec<u32>,
    /// CPUs without a periodic tick while they run a single thread (`nohz_full=`).
    pub tickless: Vec<u32>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported` ...
    pub smt: Option<String>,
    /// The allowed CPUs by number.
    pub cpus: BTreeMap<u32, Cpu>,
    /// Whether CPUs may exceed their nominal frequency, and the file that controls it.
    pub boost: Option<(Switch, PathBuf)>,
    /// The clock source in use.
    pub clock_source: Option<String>,
    /// The available clock sources.
    pub clock_sources: Vec<String>,
    /// The driver of the idle states.
    pub idle_driver: Option<String>,
    /// The name of the hypervisor, or `unknown` if only the processor reports one.
    pub hypervisor: Option<String>,
    /// The manager of the container that this runs in, and how it was recognised.
    pub container: Option<String>,
    /// Vendor and product name of the machine.
    pub product: Option<String>,
    /// Its identity: a keyed hash of its machine-id.
    pub identity: Option<String>,
    /// Mean number of runnable threads over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Memory in KiB.
    pub memory_kib: Option<u64>,
    /// Memory available without swapping, in KiB.
    pub memory_available_kib: Option<u64>,
    /// The memory of each NUMA node in KiB.
    pub node_memory_kib: BTreeMap<u32, u64>,
    /// The strictest limit on CPU time.
    pub quota: Option<Quota>,
    /// The permissions of this process.
    pub permissions: Permissions,
    /// Integer settings under `/proc/sys/kernel`: `sched_rt_runtime_us` ...
    pub sysctl: BTreeMap<String, i64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Name and version of the distribution.
    pub distribution: Option<String>,
    /// Whether mains power is connected. Absent on machines without a battery.
    pub mains: Option<Switch>,
}

/// The integer settings that [`Machine::sysctl`] has.
const SYSCTLS: &[&str] = &[
    "io_uring_disabled",
    "nmi_watchdog",
    "numa_balancing",
    "perf_event_paranoid",
    "sched_autogroup_enabled",
    "sched_rt_period_us",
    "sched_rt_runtime_us",
    "timer_migration",
];

impl Machine {
    /// Reads the machine below `path` (`/` for this machine). Changes nothing.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let root = Root(path);
        let status = KeyValues::read(&root, "proc/self/status");
        let cpuinfo = KeyValues::read(&root, "proc/cpuinfo");
        let memory = KeyValues::read(&root, "proc/meminfo");
        let kernel_release = root.text(KERNEL_RELEASE);
        let raw_command_line = root.text("proc/cmdline");
        let config = read_config(&root, kernel_release.as_deref());
        let cpu_flags: BTreeSet<String> = cpuinfo
            .get("flags")
            .or_else(|| cpuinfo.get("Features"))
            .map(|flags| flags.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default();
        let online = root.cpu_list(ONLINE);
        let allowed = allowed_cpus(&status, &online);
        let mut places = read_places(&root, &allowed, &online);
        let clock_source = root.text(format!("{CLOCK_SOURCE}/current_clocksource"));
        let clock_sources: Vec<String> = root
            .text(format!("{CLOCK_SOURCE}/available_clocksource"))
            .map(|all| all.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default();
        let product = read_product(&root);
        Self {
            kernel_name: root.text("proc/sys/kernel/ostype"),
            kernel_version: root.text("proc/sys/kernel/version"),
            arch: root.text("proc/sys/kernel/arch"),
            preemption: read_preemption(&root, raw_command_line.as_deref(), config.as_ref()),
            command_line: raw_command_line.as_deref().map(public_command_line),
            config,
            vulnerabilities: read_vulnerabilities(&root),
            cpu_model: cpuinfo.get("model name").map(str::to_owned),
            cpu_identity: read_identity(&cpuinfo),
            microcode: cpuinfo
                .get("microcode")
                .map(str::to_owned)
                .or_else(|| root.text("sys/devices/system/cpu/cpu0/microcode/version")),
            cpus: allowed
                .iter()
                .map(|&cpu| (cpu, read_cpu(&root, cpu, places.remove(&cpu))))
                .collect(),
            packages_and_cores: count_packages_and_cores(&root, &online),
            present: root.cpu_list("sys/devices/system/cpu/present"),
            online,
            allowed,
            isolated: root.cpu_list("sys/devices/system/cpu/isolated"),
            tickless: root.cpu_list("sys/devices/system/cpu/nohz_full"),
            smt: root.text("sys/devices/system/cpu/smt/control"),
            boost: read_boost(&root),
            hypervisor: read_hypervisor(&root, &cpu_flags, &clock_sources, product.as_deref()),
            clock_source,
            clock_sources,
            idle_driver: root.text("sys/devices/system/cpu/cpuidle/current_driver"),
            container: read_container(&root),
            product,
            identity: root
                .text("etc/machine-id")
                .and_then(|id| identity::of(&id, identity::APPLICATION)),
            load: read_load(&root),
            memory_kib: memory.get("MemTotal").and_then(leading_number),
            node_memory_kib: read_node_memory(&root),
            memory_available_kib: memory.get("MemAvailable").and_then(leading_number),
            quota: read_quotas(&root)
                .into_iter()
                .min_by(|a, b| a.cpus().total_cmp(&b.cpus())),
            permissions: read_permissions(&root, &status),
            sysctl: SYSCTLS
                .iter()
                .filter_map(|&name| {
                    let value = root.text(format!("proc/sys/kernel/{name}"))?;
                    Some((name.to_owned(), value.parse().ok()?))
                })
                .collect(),
            huge_pages: root
                .text("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|choices| selected(&choices, '[', ']')),
            distribution: read_distribution(&root),
            mains: read_mains(&root),
            cpu_flags,
            kernel_release,
        }
    }

    /// The CPU that is measured by default: the last allowed one.
    #[must_use]
    pub fn measured_cpu(&self) -> Option<u32> {
        self.allowed.last().copied()
    }
}

const KERNEL_RELEASE: &str = "proc/sys/kernel/osrelease";
const ONLINE: &str = "sys/devices/system/cpu/online";
const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// A directory that takes the place of `/`.
struct Root<'a>(&'a Path);

impl Root<'_> {
    /// The location of an absolute path of the machine below the root.
    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        fs::read(self.at(path)).ok()
    }

    /// The trimmed text of a file. `None` if it is unreadable or empty.
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn integer<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.integer(path)
    }

    fn cpu_list(&self, path: &str) -> Vec<u32> {
        self.text(path)
            .map_or_else(Vec::new, |list| parse_cpu_list(&list))
    }

    /// The names in a directory, sorted.
    fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.at(path))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}

/// A file of `key: value` lines. The first line with a key counts.
struct KeyValues(BTreeMap<String, String>);

impl KeyValues {
    fn read(root: &Root, path: &str) -> Self {
        let mut pairs = BTreeMap::new();
        for line in root.text(path).unwrap_or_default().lines() {
            if let Some((key, value)) = line.split_once(':') {
                pairs
                    .entry(key.trim().to_owned())
                    .or_insert_with(|| value.trim().to_owned());
            }
        }
        Self(pairs)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

/// The online CPUs that this process may use, from `/proc/self/status`.
fn allowed_cpus(status: &KeyValues, online: &[u32]) -> Vec<u32> {
    let allowed = status.get("Cpus_allowed_list");
    let mut allowed = allowed.map_or_else(Vec::new, parse_cpu_list);
    allowed.retain(|cpu| online.is_empty() || online.contains(cpu));
    allowed
}

fn leading_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Parses `0-2,5` to numbers. Skips anything else.
fn parse_cpu_list(text: &str) -> Vec<u32> {
    text.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
        })
        .flatten()
        .collect()
}

/// Formats ascending numbers as `0-2,5`.
#[must_use]
pub fn format_cpu_list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    ranges
        .iter()
        .map(|&(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// The selected word in a list of choices: the one in brackets.
fn selected(choices: &str, open: char, close: char) -> Option<String> {
    let (_, rest) = choices.split_once(open)?;
    Some(rest.split_once(close)?.0.to_owned())
}

fn read_config(root: &Root, release: Option<&str>) -> Option<KernelConfig> {
    let text = root
        .bytes("proc/config.gz")
        .and_then(|packed| {
            let mut text = String::new();
            flate2::read::GzDecoder::new(packed.as_slice())
                .read_to_string(&mut text)
                .ok()?;
            Some(text)
        })
        .or_else(|| {
            let release = release?;
            [
                format!("boot/config-{release}"),
                format!("lib/modules/{release}/config"),
            ]
            .iter()
            .find_map(|path| String::from_utf8(root.bytes(path)?).ok())
        })?;
    Some(KernelConfig::parse(&text))
}

fn read_preemption(
    root: &Root,
    command_line: Option<&str>,
    config: Option<&KernelConfig>,
) -> Option<Preemption> {
    let preemption = |mode: &str, source| {
        Some(Preemption {
            mode: mode.to_owned(),
            source,
        })
    };
    if root.number("sys/kernel/realtime") == Some(1) {
        return preemption("rt", "live");
    }
    if let Some(choices) = root.text("sys/kernel/debug/sched/preempt") {
        return preemption(&selected(&choices, '(', ')')?, "live");
    }
    let asked = command_line.and_then(|line| {
        line.split_whitespace()
            .take_while(|&word| word != "--")
            .filter_map(|word| word.strip_prefix("preempt="))
            .last()
    });
    if let Some(mode) = asked {
        return preemption(mode, "command line");
    }
    let config = config?;
    let built = [
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT_NONE", "none"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT", "full"),
    ];
    let (_, mode) = built.iter().find(|(option, _)| config.enabled(option))?;
    preemption(mode, "build")
}

fn read_vulnerabilities(root: &Root) -> BTreeMap<String, String> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    root.names(folder)
        .into_iter()
        .filter_map(|name| {
            let state = root.text(format!("{folder}/{name}"))?;
            Some((name, state))
        })
        .collect()
}

fn read_identity(cpuinfo: &KeyValues) -> Option<String> {
    let keys = [
        ("vendor_id", "vendor"),
        ("cpu family", "family"),
        ("model", "model"),
        ("stepping", "stepping"),
        ("CPU implementer", "implementer"),
        ("CPU part", "part"),
        ("CPU variant", "variant"),
        ("CPU revision", "revision"),
        ("isa", "isa"),
        ("uarch", "uarch"),
    ];
    let parts: Vec<String> = keys
        .iter()
        .filter_map(|(key, word)| Some(format!("{word} {}", cpuinfo.get(key)?)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn read_cpu(root: &Root, number: u32, place: Option<Place>) -> Cpu {
    let cpu = format!("sys/devices/system/cpu/cpu{number}");
    let frequency = Frequency {
        governor: root.text(format!("{cpu}/cpufreq/scaling_governor")),
        driver: root.text(format!("{cpu}/cpufreq/scaling_driver")),
        preference: root.text(format!("{cpu}/cpufreq/energy_performance_preference")),
        lowest_khz: root.number(format!("{cpu}/cpufreq/scaling_min_freq")),
        highest_khz: root.number(format!("{cpu}/cpufreq/scaling_max_freq")),
    };
    Cpu {
        frequency,
        place: place.unwrap_or_default(),
        idle: read_idle_states(root, &format!("{cpu}/cpuidle")),
        throttled: read_throttled(root, number),
    }
}

/// How often a core and its package were thermally throttled since boot.
fn read_throttled(root: &Root, cpu: u32) -> Option<u64> {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
    let counters = ["core_throttle_count", "package_throttle_count"];
    let counts = counters.iter();
    counts
        .filter_map(|counter| root.number(format!("{folder}/{counter}")))
        .reduce(u64::saturating_add)
}

fn read_idle_states(root: &Root, folder: &str) -> Vec<IdleState> {
    let mut states: Vec<IdleState> = root
        .names(folder)
        .iter()
        .filter_map(|state| {
            Some(IdleState {
                name: root.text(format!("{folder}/{state}/name"))?,
                latency_us: root.number(format!("{folder}/{state}/latency"))?,
                state: match root.number(format!("{folder}/{state}/disable")) {
                    Some(0) | None => Switch::On,
                    Some(_) => Switch::Off,
                },
            })
        })
        .collect();
    states.sort_by_key(|state| state.latency_us);
    states
}

fn read_boost(root: &Root) -> Option<(Switch, PathBuf)> {
    let files = [
        (
            "/sys/devices/system/cpu/intel_pstate/no_turbo",
            Switch::On,
            Switch::Off,
        ),
        (
            "/sys/devices/system/cpu/cpufreq/boost",
            Switch::Off,
            Switch::On,
        ),
    ];
    files.iter().find_map(|&(file, zero, other)| {
        let switch = if root.number(file)? == 0 { zero } else { other };
        Some((switch, PathBuf::from(file)))
    })
}

fn read_product(root: &Root) -> Option<String> {
    let words: Vec<String> = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| root.text(format!("sys/class/dmi/id/{name}")))
        .collect();
    if words.is_empty() {
        return root.text("proc/device-root/model");
    }
    Some(words.join(" "))
}

fn read_hypervisor(
    root: &Root,
    flags: &BTreeSet<String>,
    clock_sources: &[String],
    product: Option<&str>,
) -> Option<String> {
    if let Some(kind) = root.text("sys/hypervisor/type") {
        return Some(kind);
    }
    let products = [
        ("QEMU", "QEMU"),
        ("KVM", "KVM"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Microsoft Corporation Virtual Machine", "Hyper-V"),
        ("Amazon EC2", "Amazon EC2"),
        ("Google Compute Engine", "Google Compute Engine"),
    ];
    let clocks = [
        ("kvm-clock", "KVM"),
        ("hyperv_clocksource_tsc_page", "Hyper-V"),
        ("xen", "Xen"),
    ];
    let virtual_processor =
        flags.contains("hypervisor") || root.exists("proc/device-root/hypervisor");
    let by_clock = clocks
        .iter()
        .find(|(clock, _)| clock_sources.iter().any(|source| source == clock));
    let by_product = products
        .iter()
        .find(|(part, _)| product.is_some_and(|product| product.contains(part)));
    if !virtual_processor && by_clock.is_none() {
        // Bare-metal cloud instances have the cloud's product name too.
        return by_product
            .filter(|(_, name)| !name.starts_with("Amazon") && !name.starts_with("Google"))
            .map(|&(_, name)| name.to_owned());
    }
    let name = by_clock.or(by_product).map_or("unknown", |&(_, name)| name);
    Some(name.to_owned())
}

fn read_container(root: &Root) -> Option<String> {
    if let Some(manager) = root.text("run/systemd/container") {
        return Some(manager);
    }
    let files = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    if let Some((file, manager)) = files.iter().find(|(file, _)| root.exists(file)) {
        return Some(format!("{manager}, by {file}"));
    }
    let groups = root.text("proc/1/cgroup").unwrap_or_default();
    ["kubepods", "docker", "containerd", "lxc"]
        .iter()
        .find(|manager| groups.contains(*manager))
        .map(|&manager| manager.to_owned())
}

fn read_load(root: &Root) -> Option<[f64; 3]> {
    let text = root.text("proc/loadavg")?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

fn read_permissions(root: &Root, status: &KeyValues) -> Permissions {
    let limits = root.text("proc/self/limits").unwrap_or_default();
    let limit = |name: &str| {
        let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
        Limit::parse(rest.split_whitespace().next()?)
    };
    Permissions {
        root: status
            .get("Uid")
            .and_then(|ids| ids.split_whitespace().nth(1))
            .map(|effective| effective == "0"),
        capabilities: status
            .get("CapEff")
            .and_then(|bits| u64::from_str_radix(bits, 16).ok())
            .unwrap_or(0),
        seccomp: status.get("Seccomp").and_then(leading_number),
        rtprio: limit("Max realtime priority"),
        rttime: limit("Max realtime timeout"),
        memlock: limit("Max locked memory"),
        group_rt_runtime_us: read_group(root, Some("cpu")).and_then(|group| {
            let file = group.folders().next()?.join("cpu.rt_runtime_us");
            Some((root.text(&file)?.parse().ok()?, file))
        }),
    }
}

fn read_distribution(root: &Root) -> Option<String> {
    let text = root
        .text("etc/os-release")
        .or_else(|| root.text("usr/lib/os-release"))?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// `On` if a mains supply is connected. `Off` if there is a battery and no mains supply is connected.
fn read_mains(root: &Root) -> Option<Switch> {
    let folder = "sys/class/power_supply";
    let mut battery = false;
    for name in root.names(folder) {
        match root.text(format!("{folder}/{name}/type")).as_deref() {
            Some("Mains" | "USB") if root.number(format!("{folder}/{name}/online")) == Some(1) => {
                return Some(Switch::On);
            }
            Some("Battery") => {
                let scope = root.text(format!("{folder}/{name}/scope"));
                battery |= scope.as_deref() != Some("Device");
            }
            _ => {}
        }
    }
    battery.then_some(Switch::Off)
}
