// SPDX-License-Identifier: MIT OR Apache-2.0

//! The machine and its doctor, on file trees that represent other machines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::write::GzEncoder;
use flate2::Compression;

use kernmark::machine::cpus::MeasuredCpus;
use kernmark::machine::doctor::{examine, Activity, Finding, Level, Probes, Realtime, Snapshot};
use kernmark::machine::{facts, Machine};
use kernmark::report::doctor::render;
use kernmark::report::style::{BarStyle, Colour, Style};

/// The root directory of a machine, unpacked once from `tests/fixtures/NAME.tree`.
///
/// In a tree, a line `== PATH` begins a file. Files named `*.gz` are compressed.
fn fixture(name: &str) -> PathBuf {
    static UNPACKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("machines")
        .join(name);
    let tree = packed(name);
    let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if tree.exists() && unpacked.insert(name.to_owned()) {
        let _ = fs::remove_dir_all(&root);
        unpack(&fs::read_to_string(tree).unwrap(), &root);
    }
    root
}

fn packed(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(format!("{name}.tree"))
}

fn unpack(tree: &str, root: &Path) {
    let tree = tree.strip_prefix("== ").expect("a tree begins with a path");
    for file in tree.split("\n== ") {
        let (name, text) = file.split_once('\n').unwrap_or((file, ""));
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut gz = GzEncoder::new(Vec::new(), Compression::default());
            gz.write_all(text.as_bytes()).unwrap();
            fs::write(path, gz.finish().unwrap()).unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }
}

fn activity(name: &str) -> Activity {
    let before = Snapshot::read(&fixture(name), 1);
    let after = Snapshot::read(&fixture(&format!("{name}-later")), 1);
    Activity::between(&before, &after)
}

fn diagnose(name: &str) -> Vec<Finding> {
    let probes = Probes {
        activity: packed(&format!("{name}-later"))
            .exists()
            .then(|| activity(name)),
        realtime: Realtime::Untried,
    };
    examine(&Machine::read(&fixture(name)), &probes)
}

/// The worst level among the findings of a topic.
fn level(findings: &[Finding], topic: &str) -> Option<Level> {
    findings
        .iter()
        .filter(|f| f.topic == topic)
        .map(|f| f.level)
        .max()
}

fn facts_of(name: &str) -> BTreeMap<String, String> {
    let all = facts(&Machine::read(&fixture(name)));
    let count = all.len();
    let map: BTreeMap<_, _> = all
        .into_iter()
        .map(|fact| (fact.name, fact.value))
        .collect();
    assert_eq!(map.len(), count, "{name}: a fact appears twice");
    map
}

#[track_caller]
fn assert_facts(name: &str, expected: &[(&str, &str)]) {
    let facts = facts_of(name);
    for (fact, value) in expected {
        assert_eq!(
            facts.get(*fact).map(String::as_str),
            Some(*value),
            "{name}: {fact}"
        );
    }
}

/// A copy of a fixture in which files are written (`Some`) or removed (`None`).
struct Changed(PathBuf);

impl Changed {
    fn new(name: &str, label: &str, files: &[(&str, Option<&str>)]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{label}"));
        let _ = fs::remove_dir_all(&root);
        copy(&fixture(name), &root);
        for (file, text) in files {
            let path = root.join(file);
            match text {
                Some(text) => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(&path, text).unwrap();
                }
                None => fs::remove_file(&path).unwrap(),
            }
        }
        Self(root)
    }

    fn diagnose(&self) -> Vec<Finding> {
        examine(&Machine::read(&self.0), &Probes::default())
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn style(width: usize, colour: Colour) -> Style {
    Style {
        width,
        colour,
        bars: BarStyle::Blocks,
    }
}

#[test]
fn facts_of_a_laptop() {
    assert_facts(
        "laptop",
        &[
            ("kernel_name", "Linux"),
            ("kernel_release", "6.1.0-18-amd64"),
            (
                "kernel_config_options",
                "DEBUG_LIST=y FTRACE=y HZ=250 HZ_250=y NO_HZ_IDLE=y PREEMPT_DYNAMIC=y \
                 PREEMPT_VOLUNTARY=y PSI=y",
            ),
            ("preemption", "voluntary (build)"),
            ("mitigation_meltdown", "Mitigation: PTI"),
            ("mitigation_srbds", "Not affected"),
            (
                "cpu_identity",
                "vendor GenuineIntel family 6 model 142 stepping 10",
            ),
            ("microcode", "0xf4"),
            ("cpus_online", "0-3"),
            ("cpu_count", "4"),
            ("smt", "on"),
            ("governor", "powersave"),
            ("frequency_driver", "intel_pstate"),
            ("frequency_range_khz", "400000-3400000"),
            ("boost", "on"),
            ("clock_source", "hpet"),
            ("throttled", "42"),
            ("load", "1.25 0.80 0.50"),
            ("memory_kib", "16245664"),
            ("rlimit_rtprio", "0"),
            ("rlimit_memlock_bytes", "8388608"),
            ("sched_rt_runtime_us", "950000"),
            ("transparent_hugepages", "always"),
            ("distribution", "Debian GNU/Linux 12 (bookworm)"),
            ("mains_power", "not connected"),
        ],
    );
    let facts = facts_of("laptop");
    for absent in ["hypervisor", "container", "cgroup_quota", "cpus_isolated"] {
        assert!(
            !facts.contains_key(absent),
            "{absent} does not apply to this machine"
        );
    }
}

#[test]
fn facts_of_a_virtual_machine() {
    assert_facts(
        "vm",
        &[
            ("hypervisor", "KVM"),
            ("cgroup_quota", "150000 us of every 100000 us"),
            (
                "kernel_command_line",
                "BOOT_IMAGE=/boot/vmlinuz root=(hidden) console=ttyS0",
            ),
            ("rlimit_rttime_us", "200000"),
            ("distribution", "Ubuntu 22.04.4 LTS"),
        ],
    );
}

#[test]
fn facts_of_an_isolated_machine() {
    assert_facts(
        "isolated",
        &[
            ("preemption", "rt (live)"),
            ("cpus_isolated", "2-3"),
            ("cpus_nohz_full", "2-3"),
            ("boost", "off"),
            ("sched_rt_runtime_us", "-1"),
            ("rlimit_memlock_bytes", "unlimited"),
        ],
    );
}

/// The default CPUs of a machine, or those that the user asked for, and facts about them.
fn measured(name: &str, asked: Option<&str>) -> Result<(MeasuredCpus, Vec<String>), String> {
    let machine = Machine::read(&fixture(name));
    let asked = asked.map(|text| text.parse().unwrap());
    let cpus = MeasuredCpus::choose(&machine, asked)?.unwrap();
    let facts = cpus.facts(&machine);
    let lines = facts.iter().map(|f| format!("{}: {}", f.name, f.value));
    Ok((cpus, lines.collect()))
}

#[track_caller]
fn assert_relation(name: &str, asked: Option<&str>, cpus: (u32, u32), relation: &str) {
    let (chosen, facts) = measured(name, asked).unwrap();
    assert_eq!((chosen.cpu, chosen.other), (cpus.0, Some(cpus.1)), "{name}");
    let last = facts.last().map(String::as_str);
    assert_eq!(last, Some(&*format!("cpu_relation: {relation}")));
}

#[test]
fn cpus_of_a_hybrid_laptop() {
    let near = "two cores that share an L2 cache";
    assert_relation("hybrid", None, (9, 8), near);
    assert_relation("hybrid", Some("5"), (5, 7), near);
    let cores = "two cores that share an L3 cache";
    assert_relation("hybrid", Some("0"), (0, 3), cores);
    let types = format!("{cores}, of types core and atom");
    assert_relation("hybrid", Some("0,4"), (0, 4), &types);
    assert_relation("hybrid", Some("0,1"), (0, 1), "SMT siblings of one core");
    let none = "two cores of one NUMA node that share no cache";
    assert_relation("hybrid", Some("4,9"), (4, 9), none);
    let (_, facts) = measured("hybrid", Some("0,9")).unwrap();
    let expected = [
        "core_type: core",
        "core_threads: 0-1",
        "last_level_cache: L3 of CPU 0-7",
        "numa_node: 0",
        "package: 0",
        "other_core_type: atom",
        "other_core_threads: 9",
        "other_last_level_cache: L2 of CPU 8-9",
        "other_numa_node: 0",
        "other_package: 0",
        "cpu_relation: two cores of one NUMA node that share no cache, of types core and atom",
    ];
    assert_eq!(facts, expected);
    // The kernel lists more CPUs as allowed than there are.
    assert_facts("hybrid", &[("cpus_allowed", "0-9")]);
    let findings = diagnose("hybrid");
    assert_eq!(level(&findings, "core type"), Some(Level::Note));
    assert_eq!(level(&findings, "second CPU"), Some(Level::Good));
}

#[test]
fn cpus_of_a_server_with_two_sockets() {
    let near = "two cores that share an L3 cache";
    assert_relation("server", None, (7, 6), near);
    assert_relation("server", Some("3"), (3, 6), near);
    assert_relation("server", Some("7,0"), (7, 0), "two packages");
    assert_relation("server", Some("7,3"), (7, 3), "SMT siblings of one core");
    let error = measured("server", Some("0,8")).unwrap_err();
    assert!(error.starts_with("CPU 8 is offline"), "{error}");
    let findings = diagnose("server");
    assert_eq!(level(&findings, "second CPU"), Some(Level::Good));
    assert_eq!(level(&findings, "core type"), None);
    // One thread of each socket is left: nothing is near.
    let status = [("proc/self/status", Some("Cpus_allowed_list:\t1,3\n"))];
    let few = Changed::new("server", "few", &status);
    let findings = few.diagnose();
    let far = findings.iter().find(|f| f.topic == "second CPU").unwrap();
    assert!(far.what.ends_with("beside CPU 3: two packages."), "{far:?}");
    assert_eq!((far.level, &far.remedy), (Level::Note, &None));
    // Two siblings, and two cores of the other socket.
    let status = [("proc/self/status", Some("Cpus_allowed_list:\t0-1,3,7\n"))];
    let better = Changed::new("server", "better", &status);
    let findings = better.diagnose();
    let far = findings.iter().find(|f| f.topic == "second CPU").unwrap();
    let remedy = far.remedy.as_deref();
    assert_eq!(remedy, Some("kernmark run --cpu 1,0"), "{far:?}");
}

#[test]
fn unequal_capacities_are_types_of_cores() {
    let capacity = |cpu: u32, text| {
        (
            format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"),
            text,
        )
    };
    let files = [
        capacity(0, "446"),
        capacity(1, "446"),
        capacity(2, "1024"),
        capacity(3, "1024"),
    ];
    let files: Vec<(&str, Option<&str>)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), Some(*text)))
        .collect();
    let kind = |changed: &Changed| Machine::read(&changed.0).cpus[&3].place.core_type.clone();
    let arm = Changed::new("isolated", "capacity", &files);
    assert_eq!(kind(&arm).as_deref(), Some("capacity 1024"));
    let equal = Changed::new("isolated", "equal", &files[2..]);
    assert_eq!(kind(&equal), None);
}

#[test]
fn unreadable_facts_are_absent() {
    let container = facts_of("container");
    let names: Vec<&str> = container.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "container",
            "cpus_allowed",
            "rlimit_memlock_bytes",
            "rlimit_rtprio",
            "rlimit_rttime_us",
            "seccomp",
            "tool",
        ]
    );
    let nothing = facts_of("no such folder");
    assert_eq!(nothing.keys().collect::<Vec<_>>(), ["tool"]);
}

#[test]
fn facts_do_not_identify_the_machine() {
    for name in ["laptop", "vm", "isolated", "container"] {
        for (fact, value) in facts_of(name) {
            for private in [
                "SERIAL-12345",
                "private-host",
                "luks-5555",
                "1111-2222",
                "secret",
            ] {
                assert!(!value.contains(private), "{name}: {fact}={value}");
            }
        }
    }
}

#[test]
fn config_digest_is_that_of_its_text() {
    let facts = facts_of("vm");
    let text = fs::read(fixture("vm").join("boot/config-5.15.0-105-generic")).unwrap();
    let crc32 = crc32fast::hash(&text);
    assert_eq!(
        facts["kernel_config"],
        format!("crc32 {:08x} of {} bytes", crc32, text.len())
    );
    let changed = Changed::new(
        "vm",
        "config",
        &[("boot/config-5.15.0-105-generic", Some("CONFIG_HZ=1000\n"))],
    );
    let other = Machine::read(&changed.0).config.unwrap();
    assert_ne!(crc32, other.crc32);
}

#[test]
fn differing_cpus_are_listed_separately() {
    let changed = Changed::new(
        "laptop",
        "governors",
        &[(
            "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
            Some("performance\n"),
        )],
    );
    let facts = facts(&Machine::read(&changed.0));
    let governor = facts.iter().find(|fact| fact.name == "governor").unwrap();
    assert_eq!(governor.value, "0-2:powersave 3:performance");
}

#[test]
fn live_preemption_overrides_command_line_and_build() {
    let line = ("proc/cmdline", Some("preempt=full quiet -- preempt=none\n"));
    let readable = (
        "sys/kernel/debug/sched/preempt",
        Some("none voluntary full (lazy)\n"),
    );
    let asked = Changed::new("laptop", "asked", &[line]);
    let both = Changed::new("laptop", "live", &[line, readable]);
    let mode = |changed: &Changed| {
        let preemption = Machine::read(&changed.0).preemption.unwrap();
        format!("{} ({})", preemption.mode, preemption.source)
    };
    assert_eq!(mode(&asked), "full (command line)");
    assert_eq!(mode(&both), "lazy (live)");
}

#[test]
fn caches_memory_and_topology_are_facts() {
    let server = facts(&Machine::read(&fixture("server")));
    let value = |name: &str| {
        let fact = server.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.value.as_str())
    };
    assert!(value("topology").is_some_and(|text| text.contains("package")));
    assert!(value("caches").is_some_and(|text| text.contains("L3")));
    let changed = Changed::new(
        "server",
        "sized",
        &[
            (
                "sys/devices/system/cpu/cpu0/cache/index0/size",
                Some("48K\n"),
            ),
            (
                "sys/devices/system/cpu/cpu0/cache/index0/type",
                Some("Data\n"),
            ),
            (
                "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
                Some("12\n"),
            ),
            (
                "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
                Some("64\n"),
            ),
            (
                "sys/devices/system/node/node1/meminfo",
                Some("Node 1 MemTotal:       32900 kB\nNode 1 MemFree: 5 kB\n"),
            ),
        ],
    );
    let sized = facts(&Machine::read(&changed.0));
    let value = |name: &str| sized.iter().find(|fact| fact.name == name).unwrap();
    let caches = &value("caches").value;
    assert!(
        caches.contains("L1d 48 KiB, 12 ways, line 64 B, of "),
        "{caches}"
    );
    assert!(value("memory_of_nodes_kib").value.contains("1:32900"));
}

#[test]
fn activity_is_the_difference_of_two_snapshots() {
    let activity = activity("laptop");
    let busy = |cpu: u32| activity.cpus[&cpu].busy_share();
    assert!(busy(0).abs() < 1e-9 && busy(2).abs() < 1e-9);
    assert!((busy(1) - 0.9).abs() < 1e-9);
    assert!((busy(3) - 0.5).abs() < 1e-9);
    let [(name, share)] = activity.processes.as_slice() else {
        panic!("one process ran: {:?}", activity.processes);
    };
    assert_eq!(name, "web (main) x");
    assert!(
        (share - 1.2).abs() < 1e-9,
        "24 of 20 ticks on four CPUs: {share}"
    );
}

#[test]
fn own_process_is_not_other_work() {
    let before = Snapshot::read(&fixture("laptop"), 77);
    let after = Snapshot::read(&fixture("laptop-later"), 77);
    assert!(Activity::between(&before, &after).processes.is_empty());
}

#[test]
fn laptop_gets_many_warnings() {
    let findings = diagnose("laptop");
    let expected = [
        ("other work", Level::Warning),
        ("real-time priority", Level::Warning),
        ("frequency", Level::Warning),
        ("power", Level::Warning),
        ("heat", Level::Warning),
        ("SMT", Level::Warning),
        ("clock", Level::Blocking),
        ("boost", Level::Note),
        ("idle states", Level::Note),
        ("isolation", Level::Note),
        ("mitigations", Level::Note),
        ("huge pages", Level::Note),
        ("interruptions", Level::Note),
        ("io_uring", Level::Note),
        ("hardware counters", Level::Note),
        ("privilege", Level::Note),
        ("virtualisation", Level::Good),
        ("CPU quota", Level::Good),
        ("kernel debugging", Level::Good),
        ("system call filter", Level::Good),
    ];
    for (topic, expected) in expected {
        assert_eq!(level(&findings, topic), Some(expected), "{topic}");
    }
    assert_eq!(level(&findings, "steal"), None, "no hypervisor, no steal");
    assert_eq!(level(&findings, "container"), None);
}

#[test]
fn virtual_machine_with_steal_quota_and_sanitiser() {
    let findings = diagnose("vm");
    let expected = [
        ("kernel debugging", Level::Blocking),
        ("steal", Level::Warning),
        ("CPU quota", Level::Warning),
        ("real-time priority", Level::Warning),
        ("real-time budget", Level::Warning),
        ("clock", Level::Warning),
        ("virtualisation", Level::Note),
        ("frequency", Level::Note),
        ("interruptions", Level::Note),
        ("SMT", Level::Good),
        ("other work", Level::Good),
        ("locked memory", Level::Good),
    ];
    for (topic, expected) in expected {
        assert_eq!(level(&findings, topic), Some(expected), "{topic}");
    }
    let find = |topic| findings.iter().find(|f| f.topic == topic).unwrap();
    let quota = find("CPU quota");
    let file = "/sys/fs/cgroup/cpu,cpuacct/build/cpu.cfs_quota_us";
    assert!(quota.what.contains("1.50 CPUs"), "{}", quota.what);
    assert!(quota.what.contains("7 times"), "{}", quota.what);
    assert!(quota
        .remedy
        .as_deref()
        .unwrap()
        .starts_with(&format!("echo -1 | sudo tee {file}")));
    let steal = find("steal");
    assert!(
        steal
            .what
            .contains("20.0 % of the CPU time during this check"),
        "{}",
        steal.what
    );
    assert!(find("real-time priority")
        .what
        .contains("build/job/cpu.rt_runtime_us is 0"));
}

#[test]
fn isolated_machine_gets_no_warnings() {
    let findings = diagnose("isolated");
    let worse: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.level > Level::Good && f.topic != "privilege")
        .collect();
    assert!(worse.is_empty(), "{worse:#?}");
    for topic in [
        "isolation",
        "frequency",
        "boost",
        "idle states",
        "clock",
        "SMT",
        "heat",
    ] {
        assert_eq!(level(&findings, topic), Some(Level::Good), "{topic}");
    }
}

#[test]
fn container_that_shows_nothing() {
    let findings = diagnose("container");
    let expected = [
        ("container", Level::Note),
        ("system call filter", Level::Warning),
        ("real-time priority", Level::Warning),
        ("locked memory", Level::Note),
        ("CPUs", Level::Note),
        ("kernel debugging", Level::Note),
        ("privilege", Level::Note),
    ];
    for (topic, expected) in expected {
        assert_eq!(level(&findings, topic), Some(expected), "{topic}");
    }
    for topic in [
        "clock",
        "mitigations",
        "heat",
        "boost",
        "virtualisation",
        "SMT",
    ] {
        assert_eq!(
            level(&findings, topic),
            None,
            "{topic} cannot be judged here"
        );
    }
}

#[test]
fn machine_without_proc_is_blocking() {
    let findings = diagnose("no such folder");
    assert_eq!(level(&findings, "privilege"), Some(Level::Blocking));
}

/// A machine, one of its files, the text written to it, a topic and its new level.
const LEVEL_CHANGES: &[(&str, &str, &str, &str, Level)] = &[
    (
        "laptop",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        "1",
        "boost",
        Level::Good,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/cpufreq/boost",
        "1",
        "boost",
        Level::Note,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor",
        "schedutil",
        "frequency",
        Level::Warning,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
        "1,3",
        "SMT",
        Level::Note,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/cpu3/cpuidle/state2/disable",
        "0",
        "idle states",
        Level::Note,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
        "1",
        "heat",
        Level::Warning,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/isolated",
        "0-1",
        "isolation",
        Level::Note,
    ),
    (
        "isolated",
        "sys/devices/system/cpu/vulnerabilities/meltdown",
        "Mitigation: PTI",
        "mitigations",
        Level::Note,
    ),
    (
        "isolated",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "hpet",
        "clock",
        Level::Warning,
    ),
    (
        "isolated",
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
        "hpet acpi_pm",
        "clock",
        Level::Blocking,
    ),
    (
        "isolated",
        "proc/cpuinfo",
        "flags : tsc constant_tsc",
        "clock",
        Level::Warning,
    ),
    (
        "isolated",
        "proc/cpuinfo",
        "flags : tsc hypervisor",
        "virtualisation",
        Level::Note,
    ),
    (
        "isolated",
        "sys/fs/cgroup/cpu.max",
        "50000 100000",
        "CPU quota",
        Level::Warning,
    ),
    (
        "isolated",
        "proc/sys/kernel/sched_rt_runtime_us",
        "950000",
        "real-time budget",
        Level::Note,
    ),
    (
        "isolated",
        "proc/sys/kernel/io_uring_disabled",
        "2",
        "io_uring",
        Level::Note,
    ),
    (
        "isolated",
        "proc/sys/kernel/perf_event_paranoid",
        "2",
        "hardware counters",
        Level::Note,
    ),
    (
        "isolated",
        "proc/sys/kernel/nmi_watchdog",
        "1",
        "interruptions",
        Level::Note,
    ),
    (
        "isolated",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] never",
        "huge pages",
        Level::Note,
    ),
    (
        "isolated",
        "boot/config-6.6.20-rt25",
        "CONFIG_PROVE_LOCKING=y",
        "kernel debugging",
        Level::Blocking,
    ),
    (
        "isolated",
        "boot/config-6.6.20-rt25",
        "CONFIG_DEBUG_PREEMPT=y",
        "kernel debugging",
        Level::Warning,
    ),
    (
        "isolated",
        "run/.containerenv",
        "",
        "container",
        Level::Note,
    ),
    (
        "container",
        "proc/self/status",
        "Uid: 0 0 0 0\nSeccomp: 0\nCapEff: 0000000000804000",
        "real-time priority",
        Level::Good,
    ),
    (
        "container",
        "proc/self/status",
        "Uid: 0 0 0 0\nSeccomp: 0\nCapEff: 0000000000804000",
        "locked memory",
        Level::Good,
    ),
    (
        "container",
        "proc/self/limits",
        "Max realtime priority 3 3",
        "real-time priority",
        Level::Good,
    ),
];

#[test]
fn findings_depend_on_their_files() {
    for (index, (name, file, text, topic, expected)) in LEVEL_CHANGES.iter().enumerate() {
        let before = level(
            &Changed::new(name, &format!("same{index}"), &[]).diagnose(),
            topic,
        );
        let changed = Changed::new(name, &format!("changed{index}"), &[(file, Some(text))]);
        let after = level(&changed.diagnose(), topic);
        assert_eq!(after, Some(*expected), "{name}: {file} = {text}");
        assert_ne!(before, after, "{name}: {topic} does not depend on {file}");
    }
}

#[test]
fn too_low_priority_limit_is_a_warning() {
    let low = ("proc/self/limits", Some("Max realtime priority 2 2"));
    let changed = Changed::new("container", "low", &[low]);
    assert_eq!(
        level(&changed.diagnose(), "real-time priority"),
        Some(Level::Warning)
    );
}

#[test]
fn mains_power_removes_battery_warning() {
    let connected = Changed::new(
        "laptop",
        "mains",
        &[("sys/class/power_supply/AC/online", Some("1"))],
    );
    assert_eq!(level(&connected.diagnose(), "power"), None);
    assert_eq!(level(&diagnose("laptop"), "power"), Some(Level::Warning));
}

#[test]
fn probe_overrides_permissions() {
    let machine = Machine::read(&fixture("isolated"));
    let ask = |realtime| {
        let probes = Probes {
            activity: None,
            realtime,
        };
        level(&examine(&machine, &probes), "real-time priority")
    };
    assert_eq!(ask(Realtime::Granted), Some(Level::Good));
    assert_eq!(
        ask(Realtime::Refused("Operation not permitted".to_owned())),
        Some(Level::Warning)
    );
}

#[test]
fn worst_findings_come_first_and_warnings_have_remedies() {
    for name in ["laptop", "vm", "isolated", "container"] {
        let findings = diagnose(name);
        assert!(
            findings
                .windows(2)
                .all(|pair| pair[0].level >= pair[1].level),
            "{name}"
        );
        for finding in &findings {
            assert!(finding.what.ends_with('.'), "{finding:?}");
            if finding.level > Level::Good {
                assert!(finding.effect.ends_with('.'), "{finding:?}");
            }
            if finding.level > Level::Note {
                assert!(finding.remedy.is_some(), "{finding:?}");
            }
        }
    }
}

#[test]
fn lines_are_wrapped_except_long_words() {
    for name in ["laptop", "vm", "isolated", "container"] {
        for width in [60, 80, 120] {
            for line in render(&diagnose(name), &style(width, Colour::Never)).lines() {
                let one_word = line.split_whitespace().count() == 1;
                assert!(
                    line.chars().count() <= width || one_word,
                    "{name} at {width}: {line}"
                );
                assert!(!line.ends_with(' '), "{name}: {line:?}");
            }
        }
    }
}

#[test]
fn report_layout_is_as_documented() {
    let findings = [
        Finding {
            topic: "frequency",
            level: Level::Warning,
            what: "The governor is powersave.".to_owned(),
            effect: "Short cases look slower than they are.".to_owned(),
            remedy: Some("echo performance\nor once more".to_owned()),
        },
        Finding {
            topic: "clock",
            level: Level::Good,
            what: "The clock source is tsc.".to_owned(),
            effect: String::new(),
            remedy: None,
        },
    ];
    let expected = "\
warning   frequency: The governor is
          powersave.
          Short cases look slower than
          they are.
          do: echo performance
              or once more
good      clock: The clock source is
          tsc.

1 warning, 1 good
";
    assert_eq!(render(&findings, &style(40, Colour::Never)), expected);
    let coloured = render(&findings, &style(40, Colour::Always));
    assert!(
        coloured.starts_with("\x1b[33mwarning   \x1b[0mfrequency"),
        "{coloured:?}"
    );
    let mut plain = coloured.clone();
    for code in ["\x1b[33m", "\x1b[32m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, expected);
}

#[test]
fn this_machine_can_be_examined() {
    let machine = Machine::read(Path::new("/"));
    let probes = Probes::take(std::time::Duration::from_millis(50));
    let activity = probes.activity.clone().unwrap();
    let findings = examine(&machine, &probes);
    if cfg!(target_os = "linux") {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(machine.kernel_release.as_deref(), Some(release.trim()));
        assert!(machine
            .measured_cpu()
            .is_some_and(|cpu| machine.online.contains(&cpu)));
        assert!(activity.since_boot.total > 0);
        assert!(level(&findings, "privilege").is_some());
    } else {
        eprintln!("SKIPPED: this machine does not run Linux");
    }
}
