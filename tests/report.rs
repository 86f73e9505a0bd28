// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports and exports of hand-made runs: each output is compared with a snapshot, and the rules
//! that all outputs follow are checked.

use std::collections::HashSet;

use insta::assert_snapshot;
use kernmark::export::{csv as to_csv, json, markdown};
use kernmark::files::reference::{self, Reference};
use kernmark::judge::coverage::{self, Benchmark, Nearest};
use kernmark::judge::highlights;
use kernmark::judge::matrix::Column;
use kernmark::judge::ranking::Ranking;
use kernmark::judge::summary::summarise;
use kernmark::report::catalog;
use kernmark::report::coverage::table as coverage_table;
use kernmark::report::matrix;
use kernmark::report::style::{BarStyle, Colour, Style};
use kernmark::report::table::View;
use kernmark::report::{distribution, listing, table};
use kernmark::stream::counted::Counted;
use kernmark::stream::histogram::Histogram;
use kernmark::stream::run::{
    Clock, Damage, Entry, Fact, Metric, Outcome, Proof, Replicate, Run, Session, Unit,
};
use kernmark::stream::session::Reader;
use kernmark::stream::ticks::Ticks;
use serde_json::Value;

const ALIASES: &str = "\
dataset,benchmark,target,metric,note
zephyr,semaphore.take.blocking.k_to_k,linux-vm,semaphore.take.blocking.k_to_k,
zephyr,semaphore.take.blocking.k_to_k,linux,semaphore.take.blocking.u_to_u,kernel threads there
zephyr,Take a semaphore (context switch),linux,semaphore.take.blocking.u_to_u,kernel threads there
zircon,Channel/Write/64,linux,channel.write.64,
composite,protection_crossing.one_way,,,half a crossing
";

fn plain(width: usize) -> Style {
    Style {
        width,
        colour: Colour::Never,
        bars: BarStyle::Blocks,
    }
}

fn fact(name: &str, value: &str) -> Fact {
    Fact {
        name: name.into(),
        value: value.into(),
    }
}

fn tsc() -> Clock {
    Clock {
        name: "tsc".into(),
        unit: Unit::Cycles,
        hz: 2_500_000_000,
    }
}

fn session(clock: Clock) -> Session {
    Session {
        port: "linux-user".into(),
        arch: "x86_64".into(),
        clock,
        realtime: true,
        facts: vec![
            fact("kernel", "Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC"),
            fact("compiler", "cc (Debian 12.2.0-14) 12.2.0"),
            fact("flags", "-O2"),
            fact("cpu", "3"),
        ],
        during: Vec::new(),
        complete: true,
    }
}

fn host() -> Vec<Fact> {
    vec![
        fact("tool", "kernmark 0.1.0"),
        fact("kernel_release", "6.1.0-18-amd64"),
        fact("preemption", "voluntary (debugfs)"),
        fact("cpu_model", "AMD EPYC 7B13"),
        fact("cpu_count", "4"),
        fact("hypervisor", "KVM"),
        fact("load", "0.52 0.61 0.40"),
        fact("seed", "1234"),
    ]
}

/// A distribution of `count` samples in steps of `grain`, with a tail. It depends only on the
/// arguments.
fn samples(seed: u64, centre: u64, grain: u64, count: u64) -> Histogram {
    let mut state = seed.wrapping_mul(2_862_933_555_777_941_757) + 3_037_000_493;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|i| {
            let steps = next(4) + next(4) + next(4);
            let tail = if i % 97 == 96 { next(40) * 40 } else { 0 };
            (Ticks(centre + (steps + tail) * grain), 1)
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Shape {
    centre: u64,
    grain: u64,
    batch: u64,
    switches: u64,
}

fn replicate(session: usize, shape: Shape) -> Replicate {
    let shift = [0, 1, 0, 2, 1][session % 5] * shape.grain;
    let taken = 100;
    Replicate {
        session,
        outcome: Outcome::Ok,
        batch: shape.batch,
        asked: taken,
        cold: Some(Ticks(shape.centre / shape.batch * 2 + 7 * session as u64)),
        histogram: samples(
            shape.centre + session as u64,
            shape.centre + shift,
            shape.grain,
            taken,
        ),
        stat: None,
        cpu_ns: None,
        proofs: vec![
            Proof {
                name: "order".into(),
                counted: 0,
                low: 0,
                high: 0,
                expected: None,
            },
            Proof {
                name: "clock".into(),
                counted: shape.centre * taken,
                low: 1,
                high: u64::MAX,
                expected: None,
            },
            Proof {
                name: "switches".into(),
                counted: shape.switches * taken + session as u64,
                low: shape.switches * taken,
                high: shape.switches * taken + 20,
                expected: Some(shape.switches * taken),
            },
        ],
    }
}

fn metric(id: &str, replicates: usize, shape: Shape) -> Metric {
    Metric {
        id: id.into(),
        case: id.into(),
        replicates: (0..replicates).map(|i| replicate(i, shape)).collect(),
    }
}

fn without(id: &str, replicates: usize, outcome: &Outcome) -> Metric {
    let mut metric = metric(id, replicates, ONE);
    for replicate in &mut metric.replicates {
        replicate.outcome = outcome.clone();
        replicate.histogram = Histogram::new();
        replicate.cold = None;
    }
    metric
}

const ONE: Shape = Shape {
    centre: 3900,
    grain: 25,
    batch: 1,
    switches: 1,
};
const BATCHED: Shape = Shape {
    centre: 31_000,
    grain: 25,
    batch: 512,
    switches: 0,
};

fn entry(metric: &str, about: &str, between: &str) -> Entry {
    Entry {
        metric: metric.into(),
        case: metric.into(),
        stamps: (0, 1),
        about: about.into(),
        between: between.into(),
        ..Entry::default()
    }
}

fn entries() -> Vec<Entry> {
    let block = "Block on a semaphore; a thread of lower priority gives it.";
    let write = "Write a message into a channel that has room for it.";
    vec![
        Entry {
            batch: 65_536,
            via: "tsc".into(),
            ..entry(
                "clock.read",
                "Read the clock that all stamps are taken with.",
                "one reading of the clock",
            )
        },
        Entry {
            batch: 4096,
            via: "sem_post, sem_wait".into(),
            needs: vec!["semaphore".into()],
            ..entry(
                "semaphore.give.immediate.user",
                "Give a semaphore that nobody waits for, and take it.",
                "one give",
            )
        },
        Entry {
            switches: 1,
            via: "sem_post, sem_wait".into(),
            needs: vec!["threads".into(), "priority".into(), "semaphore".into()],
            ..entry(
                "semaphore.take.blocking.u_to_u",
                block,
                "the take that blocks, to the next instruction of the other thread",
            )
        },
        Entry {
            switches: 1,
            case: "semaphore.take.blocking.u_to_u".into(),
            via: "sem_post, sem_wait".into(),
            needs: vec!["threads".into(), "priority".into(), "semaphore".into()],
            ..entry(
                "semaphore.give.wake+ctx.u_to_u",
                block,
                "the give, to the return of the take in the thread it woke",
            )
        },
        Entry {
            bytes: Some(64),
            batch: 64,
            via: "AF_UNIX, SOCK_SEQPACKET".into(),
            ..entry("channel.write.64", write, "one write")
        },
        Entry {
            bytes: Some(65_536),
            batch: 4,
            via: "AF_UNIX, SOCK_SEQPACKET".into(),
            ..entry("channel.write.65536", write, "one write")
        },
        Entry {
            items: Some(8),
            ..entry(
                "uring.nops.8",
                "Submit operations that do nothing, and collect them.",
                "all the operations",
            )
        },
    ]
}

/// Ten replicates with metrics of every status.
fn normal() -> Run {
    let channel = |id, centre| metric(id, 10, Shape { centre, ..ONE });
    let mut partly = metric("mutex.unlock.wake+ctx.u_to_u", 10, ONE);
    for index in [2, 7] {
        partly.replicates[index].outcome = Outcome::Failed("order: counted 1, must be 0".into());
        partly.replicates[index].histogram = Histogram::new();
        partly.replicates[index].proofs[0].counted = 1;
    }
    let priority = Outcome::Skipped(
        "needs real-time priority (the limit is 0): run as root, or allow it to this shell by: sudo prlimit --pid $$ --rtprio=50"
            .into(),
    );
    Run {
        before: Vec::new(),
        host: host(),
        catalog: entries(),
        sessions: vec![session(tsc()); 10],
        metrics: vec![
            metric("clock.read", 10, BATCHED),
            metric(
                "semaphore.give.immediate.user",
                10,
                Shape {
                    centre: 29_000,
                    batch: 4096,
                    ..BATCHED
                },
            ),
            metric("semaphore.take.blocking.u_to_u", 10, ONE),
            metric(
                "semaphore.give.wake+ctx.u_to_u",
                10,
                Shape {
                    centre: 4850,
                    ..ONE
                },
            ),
            partly,
            channel("channel.write.64", 2300),
            channel("channel.write.65536", 24_700),
            metric(
                "uring.nops.8",
                10,
                Shape {
                    centre: 1020,
                    ..ONE
                },
            ),
            metric(
                "process.spawn.exit",
                10,
                Shape {
                    centre: 1_300_000,
                    grain: 9000,
                    ..ONE
                },
            ),
            without("thread.yield.preemptive.ctx.u_to_u", 10, &priority),
            without("thread.yield.cooperative.ctx.u_to_u", 10, &priority),
            without(
                "isr.resume.different.thread.u_to_u",
                10,
                &Outcome::Skipped("the port has no interrupts".into()),
            ),
            without(
                "mmu.fault.anonymous",
                10,
                &Outcome::Failed("faults: counted 3, must be 500".into()),
            ),
            without(
                "futex.wake.cross_cpu",
                10,
                &Outcome::Incomplete("the session was cut off while it was open".into()),
            ),
        ],
        damage: Damage::default(),
        ..Run::default()
    }
}

/// `normal()` with a replicate that was disturbed: 40 ms stolen, 1,400 interrupts of a disk.
fn disturbed() -> Run {
    let mut run = normal();
    for (at, session) in run.sessions.iter_mut().enumerate() {
        let odd = at == 3;
        let counted = |cpu, counts: &[(&str, u64)], busiest: &str| Counted {
            cpu,
            counts: counts.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect(),
            busiest: Some(busiest.to_owned()).filter(|name| !name.is_empty()),
        };
        let (stolen, device) = if odd {
            (40_000, 1400)
        } else {
            (0, 90 + at as u64)
        };
        let machine = [("us", 1_250_000), ("switches", 800 + at as u64)];
        let cpu = [
            ("steal_us", stolen),
            ("device", device),
            ("interrupts", 400 + device),
        ];
        session.during = vec![
            counted(None, &machine, ""),
            counted(Some(1), &cpu, "nvme0q1\u{1b}"),
        ];
    }
    let id = "semaphore.take.blocking.u_to_u";
    let metric = run.metrics.iter_mut().find(|metric| metric.id == id);
    // 31 ms.
    let slow = Ticks(77_500_000);
    metric.unwrap().replicates[3].histogram.add(slow, 1);
    run
}

fn instructions() -> Run {
    let clock = Clock {
        name: "minstret".into(),
        unit: Unit::Instructions,
        hz: 0,
    };
    let session = Session {
        port: "bare".into(),
        arch: "riscv64".into(),
        facts: vec![fact("kernel", "bare metal")],
        realtime: false,
        ..session(clock)
    };
    let steady = |id: &str, centre| {
        let mut metric = metric(
            id,
            10,
            Shape {
                centre,
                grain: 1,
                ..ONE
            },
        );
        for replicate in &mut metric.replicates {
            replicate.histogram = [(Ticks(centre), 500)].into_iter().collect();
        }
        metric
    };
    Run {
        before: Vec::new(),
        host: host(),
        catalog: entries(),
        sessions: vec![session; 10],
        metrics: vec![
            steady("clock.read", 3),
            steady("semaphore.take.blocking.u_to_u", 318),
            steady("channel.write.64", 154),
        ],
        damage: Damage {
            log_lines: 12,
            ..Damage::default()
        },
        ..Run::default()
    }
}

fn one_replicate() -> Run {
    Run {
        sessions: vec![Session {
            realtime: false,
            ..session(tsc())
        }],
        metrics: vec![
            metric("clock.read", 1, BATCHED),
            metric("semaphore.take.blocking.u_to_u", 1, ONE),
        ],
        ..normal()
    }
}

fn all_skipped() -> Run {
    let reason = Outcome::Skipped("needs a second CPU, and this process may use only one".into());
    Run {
        metrics: entries()
            .iter()
            .map(|entry| without(&entry.metric, 3, &reason))
            .collect(),
        sessions: vec![session(tsc()); 3],
        ..normal()
    }
}

fn damaged() -> Run {
    let lost = Outcome::Incomplete("records are missing".into());
    Run {
        metrics: vec![
            metric("clock.read", 10, BATCHED),
            without("semaphore.take.blocking.u_to_u", 10, &lost),
        ],
        damage: Damage {
            damaged: 1204,
            gaps: 3,
            truncated: 1,
            log_lines: 7,
            copies: 2,
        },
        ..normal()
    }
}

const HOSTILE: &str = "\x1b]0;owned\x07\x1b[2J a|b | c <script>alert(1)</script> \"x\", 'y' `z` \u{202e}txt\u{9b}31m \\ & *_~ @you #1 $x$\r\nnext\u{0}";

fn hostile() -> Run {
    let id = "evil.<b>|`\x1b[31m\u{7f}";
    let long = format!("{HOSTILE} {}", "reason after reason ".repeat(60));
    let mut session = session(tsc());
    session.port = HOSTILE.into();
    session.arch = HOSTILE.into();
    session.clock.name = HOSTILE.into();
    session.facts = vec![
        fact("kernel", HOSTILE),
        fact("cpu", HOSTILE),
        fact(HOSTILE, HOSTILE),
    ];
    let mut partly = metric(id, 10, ONE);
    partly.replicates[0].outcome = Outcome::Failed(HOSTILE.into());
    partly.replicates[1].proofs[0].name = HOSTILE.into();
    Run {
        before: Vec::new(),
        host: vec![
            fact("cpu_model", HOSTILE),
            fact("load", HOSTILE),
            fact("seed", HOSTILE),
            fact(HOSTILE, HOSTILE),
        ],
        catalog: vec![Entry {
            via: HOSTILE.into(),
            needs: vec![HOSTILE.into()],
            ..entry(id, HOSTILE, HOSTILE)
        }],
        sessions: vec![session; 10],
        metrics: vec![
            partly,
            without(HOSTILE, 10, &Outcome::Failed(HOSTILE.into())),
            without("a.b", 10, &Outcome::Skipped(long)),
            metric(&format!("evil.{}", "long.".repeat(30)), 10, ONE),
        ],
        damage: Damage::default(),
        ..Run::default()
    }
}

fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("normal", normal()),
        ("instructions", instructions()),
        ("one replicate", one_replicate()),
        ("all skipped", all_skipped()),
        ("damaged", damaged()),
        ("disturbed", disturbed()),
        ("hostile", hostile()),
        ("empty", Run::default()),
    ]
}

#[test]
fn table_shows_a_run() {
    assert_snapshot!("table_normal_132", table::table(&normal(), &plain(132)));
    assert_snapshot!("table_normal_100", table::table(&normal(), &plain(100)));
    assert_snapshot!("table_normal_80", table::table(&normal(), &plain(80)));
    assert_snapshot!("table_normal_60", table::table(&normal(), &plain(60)));
}

#[test]
fn table_shows_unusual_runs() {
    assert_snapshot!(
        "table_instructions",
        table::table(&instructions(), &plain(100))
    );
    assert_snapshot!(
        "table_one_replicate",
        table::table(&one_replicate(), &plain(100))
    );
    assert_snapshot!(
        "table_all_skipped",
        table::table(&all_skipped(), &plain(100))
    );
    assert_snapshot!("table_disturbed", table::table(&disturbed(), &plain(100)));
    let take = "semaphore.take.blocking.u_to_u";
    let detail = distribution::render(&disturbed(), take, &plain(100)).unwrap();
    assert_snapshot!("distribution_disturbed", detail);
    assert_snapshot!("table_damaged", table::table(&damaged(), &plain(100)));
    assert_snapshot!("table_hostile", table::table(&hostile(), &plain(100)));
    assert_snapshot!("table_empty", table::table(&Run::default(), &plain(100)));
}

/// A run that other work, a quota and the hypervisor spoilt. One metric needs the second CPU.
fn spoilt() -> Run {
    let mut run = normal();
    let counted = |cpu, counts: &[(&str, u64)]| Counted {
        cpu,
        counts: counts.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect(),
        busiest: None,
    };
    run.host.retain(|known| known.name != "load");
    run.host.push(fact("load", "16.00 9.00 4.00"));
    run.host.push(fact("governor", "powersave"));
    run.host
        .push(fact("cgroup_quota", "20000 us of every 100000 us"));
    run.before = vec![
        counted(None, &[("us", 1_000_000)]),
        counted(Some(1), &[("busy_us", 1_000_000)]),
        counted(Some(3), &[("busy_us", 20_000)]),
    ];
    for session in &mut run.sessions {
        session.facts.push(fact("other_cpu", "1"));
        let machine = [("us", 1_000_000), ("quota_stops", 8), ("quota_us", 640_000)];
        let cpu = [("steal_us", 30_000), ("throttles", 1)];
        session.during = vec![counted(None, &machine), counted(Some(3), &cpu)];
    }
    for entry in &mut run.catalog {
        if entry.metric.starts_with("channel") {
            entry.needs.push("smp".into());
        }
    }
    run
}

#[test]
fn table_says_what_spoilt_its_numbers() {
    assert_snapshot!("table_spoilt", table::table(&spoilt(), &plain(80)));
    let coloured = Style {
        colour: Colour::Always,
        ..plain(80)
    };
    let text = table::table(&spoilt(), &coloured);
    assert!(
        text.contains("\u{1b}[33mwarning  \u{1b}[0mCPU quota"),
        "{text}"
    );
    assert!(!table::table(&normal(), &plain(80)).contains("warning"));
}

/// A saved stream of a target.
fn golden(name: &str) -> Run {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = Reader::new();
    for line in std::fs::read(path).unwrap().split(|byte| *byte == b'\n') {
        reader.line(line);
    }
    reader.finish()
}

const GOLDEN: [&str; 3] = [
    "freertos-m4.log",
    "zephyr-an385.log",
    "zephyr-an385-userspace.log",
];

#[test]
fn headlines_are_known_and_every_target_has_enough() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut known: HashSet<String> = HashSet::new();
    for name in GOLDEN {
        let run = golden(name);
        known.extend(run.ids().into_iter().map(str::to_owned));
        let summaries = summarise(&run);
        let rows = highlights::headlines(&summaries).unwrap().len();
        assert!((15..=35).contains(&rows), "{name}: {rows}");
    }
    let catalog = std::fs::read_to_string(format!("{root}/doc/catalog.md")).unwrap();
    let sections = catalog.split("\n**");
    let native: Vec<&str> = sections
        .filter(|section| !section.contains("*an idiom*"))
        .flat_map(|section| section.lines().filter_map(|line| line.strip_prefix("| `")))
        .filter_map(|row| row.split('`').next())
        .collect();
    let rows = native
        .iter()
        .filter(|id| highlights::HEADLINES.contains(id));
    let rows = rows.count();
    assert!((15..=35).contains(&rows), "linux: {rows}");
    known.extend(native.into_iter().map(str::to_owned));
    // Only some metrics of the kernel mode of Linux.
    let modes = std::fs::read_to_string(format!("{root}/tests/golden/linux-vm.csv")).unwrap();
    known.extend(
        modes
            .lines()
            .filter_map(|line| Some(line.split_once(',')?.0.to_owned())),
    );
    for id in highlights::HEADLINES {
        assert!(known.contains(id), "no catalog has {id}");
    }
}

#[test]
fn table_of_many_metrics_shows_the_headlines() {
    let run = golden("zephyr-an385-userspace.log");
    for width in [60, 80, 160] {
        let text = table::table(&run, &plain(width));
        assert_snapshot!(format!("table_headlines_{width}"), text);
    }
    let short = table::table(&run, &plain(80));
    assert!(short.lines().count() < 60, "{short}");
    // With --all every metric is in the table, by name and with its reason.
    let all = View {
        ranking: Ranking {
            all: true,
            ..Ranking::default()
        },
        ..View::default()
    };
    let text = table::table_of(&run, &all, &plain(80));
    assert!(!text.contains("worst tails"), "{text}");
    for metric in &run.metrics {
        let (_, name) = metric.id.split_once('.').unwrap();
        assert!(text.contains(name), "{name}");
    }
    let filtered = View {
        filtered: true,
        ..View::default()
    };
    assert_eq!(table::table_of(&run, &filtered, &plain(80)), text);
    assert_eq!(table::left_out(&run, &all), 0);
    assert_eq!(table::left_out(&run, &View::default()), 352);
}

#[test]
fn colours_only_add_escape_sequences() {
    let colour = Style {
        width: 100,
        colour: Colour::Always,
        bars: BarStyle::Blocks,
    };
    for (name, run) in all() {
        let coloured = table::table(&run, &colour);
        let bare = ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"]
            .iter()
            .fold(coloured.clone(), |text, code| text.replace(code, ""));
        assert_eq!(bare, table::table(&run, &plain(100)), "{name}");
    }
    let coloured = table::table(&normal(), &colour);
    assert_snapshot!("table_coloured", coloured.replace('\x1b', "^["));
}

#[test]
fn distribution_shows_one_metric() {
    let run = normal();
    let of = |id| distribution::render(&run, id, &plain(90)).unwrap();
    assert_snapshot!("distribution_one", of("semaphore.take.blocking.u_to_u"));
    assert_snapshot!("distribution_batched", of("clock.read"));
    assert_snapshot!(
        "distribution_lost_replicates",
        of("mutex.unlock.wake+ctx.u_to_u")
    );
    assert_snapshot!("distribution_failed", of("mmu.fault.anonymous"));
    let narrow = distribution::render(&run, "channel.write.64", &plain(60)).unwrap();
    assert_snapshot!("distribution_narrow", narrow);
    let exact = distribution::render(&instructions(), "channel.write.64", &plain(90)).unwrap();
    assert_snapshot!("distribution_instructions", exact);
}

#[test]
fn distribution_shows_every_sample() {
    for metric in &normal().metrics {
        let text = distribution::render(&normal(), &metric.id, &plain(90)).unwrap();
        let bars = text.lines().filter(|line| {
            line.contains([
                '\u{2588}', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}',
                '\u{2589}',
            ])
        });
        let shown: u64 = bars
            .map(|line| {
                line.split_whitespace()
                    .nth(2)
                    .unwrap()
                    .replace(',', "")
                    .parse::<u64>()
                    .unwrap()
            })
            .sum();
        let taken: u64 = metric.replicates.iter().map(|r| r.histogram.total()).sum();
        assert_eq!(shown, taken, "{}", metric.id);
    }
}

/// A run with one metric, whose samples are these values, each once.
fn of_values(batch: u64, values: impl Iterator<Item = u64>) -> Run {
    let mut metric = metric("a.b", 1, Shape { batch, ..ONE });
    metric.replicates[0].histogram = values.map(|value| (Ticks(value), 1)).collect();
    Run {
        metrics: vec![metric],
        ..one_replicate()
    }
}

#[test]
fn columns_are_chosen_by_name() {
    let mut run = of_values(2, 100..140);
    for replicate in &mut run.metrics[0].replicates {
        replicate.cpu_ns = Some(12_345);
    }
    let columns = ["median", "cpu", "cold"].map(|c| c.parse().unwrap());
    let view = table::View {
        columns: columns.to_vec(),
        ..table::View::default()
    };
    let text = table::table_of(&run, &view, &plain(200));
    let title = text
        .lines()
        .find(|line| line.starts_with("time per"))
        .unwrap();
    let words: Vec<&str> = title.split_whitespace().collect();
    assert_eq!(words, ["time", "per", "operation", "median", "CPU", "cold"]);
    // 12,345 ns of 80 operations.
    assert!(text.contains(" 154 "), "{text}");
    assert!(
        text.contains("CPU: CPU time of all threads of the case"),
        "{text}"
    );
    assert!(!table::table(&run, &plain(200)).contains("CPU:"));
    let distribution = distribution::render(&run, "a.b", &plain(100)).unwrap();
    assert!(
        distribution.contains("CPU time    154 ns per operation"),
        "{distribution}"
    );
    assert_eq!(parsed(&run)["metrics"][0]["cpu_time"], 12_345.0 / 80.0);
    let unknown = "p95".parse::<table::Column>().unwrap_err();
    assert!(unknown.contains("p99, p999, worst"), "{unknown}");
}

#[test]
fn instructions_are_shown_with_all_digits() {
    let run = Run {
        sessions: instructions().sessions,
        ..of_values(1, [12_345].into_iter())
    };
    let table = table::table(&run, &plain(100));
    assert!(table.contains(" 12,345 "), "{table}");
    assert!(
        !table.contains("12,35") && !table.contains("12,30"),
        "{table}"
    );
    let distribution = distribution::render(&run, "a.b", &plain(100)).unwrap();
    assert!(
        distribution.contains("median      12,345 instructions"),
        "{distribution}"
    );
}

#[test]
fn wide_interval_does_not_distort_figures() {
    let medians = [
        13_050, 13_111, 13_200, 13_500, 13_740, 13_780, 14_020, 98_770, 109_800, 110_400,
    ];
    let nanoseconds = Clock {
        hz: 1_000_000_000,
        ..tsc()
    };
    let mut metric = metric("a.b", medians.len(), ONE);
    for (replicate, median) in metric.replicates.iter_mut().zip(medians) {
        replicate.histogram = std::iter::once((Ticks(median), 5)).collect();
        replicate.cold = Some(Ticks(7));
    }
    let run = Run {
        sessions: vec![session(nanoseconds); medians.len()],
        metrics: vec![metric],
        ..one_replicate()
    };
    let table = table::table(&run, &plain(100));
    let line = table.lines().find(|line| line.contains("  b ")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    let shown = ["b", "13.8", "us", "13.1..110", "110", "0.00700"];
    assert_eq!(cells, shown, "median, interval, worst, cold");
    let distribution = distribution::render(&run, "a.b", &plain(200)).unwrap();
    let all = "13.1 13.1 13.2 13.5 13.7 13.8 14.0 98.8 110 110";
    assert!(distribution.contains(all), "{distribution}");
    assert!(markdown::run(&run).contains("| 13.8 us | 13.1..110 |"));
}

#[test]
fn distribution_of_extreme_values_is_shown() {
    let spread = |batch| of_values(batch, (0..64).map(|bit| 1 << bit));
    let runs = [
        spread(1),
        spread(4096),
        of_values(1, (0..500).map(|i| u64::MAX - i)),
        of_values(1, (0..500).map(|i| u64::MAX - 4096 * i)),
        of_values(1, (0..40).chain([u64::MAX])),
        of_values(u64::MAX, 0..40),
        of_values(1, 0..1),
    ];
    for run in runs {
        let text = distribution::render(&run, "a.b", &plain(100)).unwrap();
        assert!(text.contains("median"), "{text}");
        assert!(text.lines().count() < 100, "{text}");
        assert!(table::table(&run, &plain(100)).contains("1 measured"));
    }
}

#[test]
fn unknown_metric_is_refused_by_name() {
    let error = distribution::render(&normal(), "semaphore.x\x1b[2J", &plain(90)).unwrap_err();
    assert!(error.contains("`semaphore.x\\u{1b}[2J`"), "{error}");
}

#[test]
fn catalog_lists_all_metrics() {
    assert_snapshot!("catalog_100", listing::render(&entries(), &plain(100)));
    assert_snapshot!("catalog_60", listing::render(&entries(), &plain(60)));
    let counterparts = reference::parse_counterparts(ALIASES).unwrap();
    let elsewhere = catalog::elsewhere(&counterparts, "linux-user");
    assert_snapshot!(
        "catalog_markdown",
        catalog::markdown(&entries(), &elsewhere)
    );
    assert_snapshot!("catalog_json", json::catalog(&entries()));
    assert_snapshot!("catalog_csv", to_csv::catalog(&entries()));
}

/// The coverage of a suite according to the project's data.
fn coverage_of(text: &str) -> Vec<Benchmark> {
    let of: Reference = text.parse().unwrap();
    let counterparts = reference::counterparts().unwrap();
    coverage::benchmarks(of.suite(), &of.figures().unwrap(), &counterparts)
}

#[test]
fn coverage_shows_metrics_and_reasons_for_gaps() {
    let composite = coverage_of("reference:composite");
    assert_snapshot!("coverage_100", coverage_table(&composite, &plain(100)));
    assert_snapshot!("coverage_60", coverage_table(&composite, &plain(60)));
    let of = |filter: &str| {
        let all = coverage_of("reference:zephyr/3.5.0-rc1/userspace");
        coverage::select(all, &[filter.to_owned()]).unwrap()
    };
    let from_kernel = of("*user thread from kernel*");
    assert_snapshot!("coverage_titles", coverage_table(&from_kernel, &plain(100)));
    assert_snapshot!("coverage_json", json::coverage("reference:x", &from_kernel));
    assert_snapshot!("coverage_csv", to_csv::coverage(&from_kernel));
    assert_snapshot!("coverage_markdown", markdown::coverage(&from_kernel));
    assert_eq!(
        coverage_table(&[], &plain(100)),
        "\n0 benchmarks: 0 measured, 0 without a counterpart\n"
    );
}

#[test]
fn coverage_fits_the_terminal() {
    for suite in ["zephyr", "zircon", "composite"] {
        let benchmarks = coverage_of(&format!("reference:{suite}"));
        for width in 60..=140 {
            let text = coverage_table(&benchmarks, &plain(width));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width, "{suite} at {width}: {longest}");
            for benchmark in &benchmarks {
                assert!(text.contains(&benchmark.name), "{}", benchmark.name);
            }
        }
    }
}

#[test]
fn coverage_has_no_control_characters() {
    let evil = "a\u{1b}[31m|`\u{202e}b".to_owned();
    let benchmarks = [
        Benchmark {
            name: evil.clone(),
            measured: vec![Nearest {
                metric: evil.clone(),
                target: evil.clone(),
                note: evil.clone(),
            }],
            reason: String::new(),
        },
        Benchmark {
            name: evil.clone(),
            measured: Vec::new(),
            reason: evil.clone(),
        },
    ];
    for text in [
        coverage_table(&benchmarks, &plain(100)),
        json::coverage(&evil, &benchmarks),
        to_csv::coverage(&benchmarks),
        markdown::coverage(&benchmarks),
    ] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}

#[test]
fn exports_contain_a_run() {
    assert_snapshot!("json_instructions", json::run(&instructions()));
    assert_snapshot!("json_empty", json::run(&Run::default()));
    assert_snapshot!("csv_normal", to_csv::run(&normal()));
    assert_snapshot!("markdown_normal", markdown::run(&normal()));
    assert_snapshot!("markdown_hostile", markdown::run(&hostile()));
    assert_snapshot!("markdown_empty", markdown::run(&Run::default()));
}

#[test]
fn table_fits_the_terminal() {
    for width in 60..=140 {
        for (name, run) in [
            ("normal", normal()),
            ("damaged", damaged()),
            ("instructions", instructions()),
        ] {
            for line in table::table(&run, &plain(width)).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn table_shows_every_id_in_full() {
    for width in [60, 80, 100, 120, 132] {
        for (name, run) in all().into_iter().filter(|(name, _)| *name != "hostile") {
            let table = table::table(&run, &plain(width));
            let words: Vec<&str> = table.split([' ', '\n', ',']).collect();
            for metric in &run.metrics {
                let (_, rest) = metric.id.split_once('.').unwrap();
                let whole = words.contains(&metric.id.as_str()) || words.contains(&rest);
                assert!(whole, "{name} at {width}: {}", metric.id);
            }
        }
    }
}

#[test]
fn reports_have_no_control_characters() {
    let run = hostile();
    let mut texts = vec![
        table::table(&run, &plain(80)),
        listing::render(&run.catalog, &plain(80)),
        json::run(&run),
        json::catalog(&run.catalog),
        to_csv::run(&run),
        to_csv::catalog(&run.catalog),
        markdown::run(&run),
        catalog::markdown(&run.catalog, &catalog::Elsewhere::new()),
    ];
    for metric in &run.metrics {
        texts.push(distribution::render(&run, &metric.id, &plain(80)).unwrap());
    }
    for text in texts {
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert_eq!(text.chars().find(|c| steers(*c)), None, "{text}");
    }
}

#[test]
fn markdown_tables_keep_their_shape() {
    for (name, run) in all() {
        let pages = [
            markdown::run(&run),
            catalog::markdown(
                &run.catalog,
                &catalog::elsewhere(
                    &reference::parse_counterparts(ALIASES).unwrap(),
                    "linux-user",
                ),
            ),
        ];
        for page in pages {
            assert!(!page.contains("<script"), "{name}");
            let mut cells = 0;
            for line in page.lines() {
                let bars = line
                    .replace("\\\\", "")
                    .replace("\\|", "")
                    .matches('|')
                    .count();
                if !line.starts_with('|') {
                    assert!(name != "hostile" || bars == 0, "{name}: {line}");
                    cells = 0;
                } else if cells == 0 {
                    cells = bars;
                } else {
                    assert_eq!(bars, cells, "{name}: {line}");
                }
            }
        }
    }
}

#[test]
fn csv_reads_back() {
    for (name, run) in all() {
        let text = to_csv::run(&run);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), 23);
        let rows: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows.len(), run.metrics.len(), "{name}");
    }
}

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&json::run(run)).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../doc/run.schema.json")).unwrap()
}

#[test]
fn json_follows_its_schema() {
    let schema = schema();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, run) in all() {
        let document = parsed(&run);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn schema_rejects_wrong_documents() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let good = parsed(&normal());
    let broken: [(&str, Value); 8] = [
        ("/schema", 1.into()),
        ("/metrics/0/unit", "ticks".into()),
        ("/metrics/0/median", Value::Null),
        ("/metrics/0/status", "fine".into()),
        ("/metrics/9/median", 0.into()),
        ("/metrics/9/p99", 0.into()),
        ("/target/clock/hz", Value::Null),
        ("/damage/gaps", (-1).into()),
    ];
    for (at, value) in broken {
        let mut document = good.clone();
        *document.pointer_mut(at).unwrap() = value;
        assert!(!validator.is_valid(&document), "{at}");
    }
    let mut document = good;
    document["metrics"][0]
        .as_object_mut()
        .unwrap()
        .remove("net");
    assert!(!validator.is_valid(&document));
}

#[test]
fn schema_describes_every_member() {
    let schema = schema();
    let document = parsed(&normal());
    let described = [
        ("/metrics/0", "/$defs/metric"),
        ("/metrics/0/proofs/0", "/$defs/proof"),
        ("/target", "/$defs/target"),
        ("/target/clock", "/$defs/clock"),
        ("/target/sessions/0", "/$defs/session"),
        ("/damage", "/$defs/damage"),
        ("", ""),
    ];
    for (at, definition) in described {
        assert_described(&schema, definition, document.pointer(at).unwrap());
    }
}

/// Members that a document has only on request.
const OPTIONAL: [&str; 1] = ["budget"];

/// The schema has and requires exactly the members of an object.
fn assert_described(schema: &Value, definition: &str, object: &Value) {
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let properties = schema.pointer(&format!("{definition}/properties")).unwrap();
    let mut known = names(properties);
    known.retain(|name| !OPTIONAL.contains(&name.as_str()));
    assert_eq!(names(object), known, "{definition}");
    let mut required: Vec<String> = schema
        .pointer(&format!("{definition}/required"))
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    required.sort();
    assert_eq!(names(object), required, "{definition}");
}

#[test]
fn json_contains_the_measured_values() {
    let document = parsed(&normal());
    let semaphore = &document["metrics"][2];
    assert_eq!(semaphore["id"], "semaphore.take.blocking.u_to_u");
    // Replicates are shifted by 0 to 2 steps of 25 ticks of 0.4 ns.
    let median = semaphore["median"].as_f64().unwrap();
    assert!((1560.0..=1640.0).contains(&median), "{median}");
    assert_eq!(semaphore["replicate_medians"].as_array().unwrap().len(), 10);
    let partly = &document["metrics"][4];
    assert_eq!(
        (&partly["replicates"], &partly["tried"]),
        (&8.into(), &10.into())
    );
    assert!(partly["replicate_medians"][2].is_null() && partly["replicate_medians"][3].is_number());
    assert_eq!(partly["proofs"][0]["counted"][2], 1);
    assert!(partly["proofs"][1]["high"][0].is_null(), "no bound is null");
    let skipped = &document["metrics"][9];
    assert_eq!(skipped["status"], "skipped");
    for name in ["median", "net", "p99", "cold", "batch"] {
        assert!(skipped[name].is_null(), "{name}");
    }
    let counted = parsed(&instructions());
    assert_eq!(counted["metrics"][1]["unit"], "instructions");
    assert_eq!(counted["metrics"][1]["median"], 318.0);
    assert!(counted["metrics"][2]["bytes_per_second"].is_null());
    assert!(counted["target"]["clock"]["hz"].is_null());
}

fn column(name: &str, run: Run) -> Column {
    Column {
        name: name.into(),
        run,
    }
}

/// The published figures of one configuration of Zephyr, each as a single sample.
fn zephyr(dataset: &str) -> Run {
    let mut run = Run {
        sessions: vec![Session {
            port: "zephyr".into(),
            arch: "arm".into(),
            clock: Clock {
                name: "timing".into(),
                unit: Unit::Cycles,
                hz: 120_000_000,
            },
            realtime: true,
            facts: vec![
                fact("kernel", "Zephyr"),
                fact("compiler", "arm-zephyr-eabi-gcc"),
            ],
            during: Vec::new(),
            complete: true,
        }],
        ..Run::default()
    };
    let mut reader = csv::Reader::from_reader(include_str!("../reference/zephyr.csv").as_bytes());
    for row in reader.records().map(Result::unwrap) {
        if &row[0] == dataset {
            let mut metric = metric(&row[1], 1, ONE);
            let cycles = Ticks(row[4].parse().unwrap());
            metric.replicates[0].histogram = [(cycles, 1)].into_iter().collect();
            run.metrics.push(metric);
        }
    }
    run
}

/// The published figures of four configurations of one kernel on one board.
fn configurations() -> Vec<Column> {
    ["default", "objcore", "canaries", "userspace"]
        .map(|name| column(name, zephyr(&format!("zephyr/latest/{name}"))))
        .into()
}

/// An emulated kernel in four variants, in exact instructions. The values are made up.
fn variants() -> Vec<Column> {
    let names = ["default", "canaries", "objcore", "userspace+overflow-check"];
    let columns = names.into_iter().enumerate().map(|(at, name)| {
        let more = at as u64;
        let exact = |id: &str, value| {
            let mut metric = metric(id, 2, ONE);
            for replicate in &mut metric.replicates {
                replicate.histogram = [(Ticks(value), 1000)].into_iter().collect();
            }
            metric
        };
        let mut metrics = vec![
            exact("clock.read", 0),
            exact("semaphore.give.immediate.kernel", 27 + 4 * more),
            exact("semaphore.take.blocking.k_to_k", 318 + 31 * more),
            exact("mutex.lock.immediate.kernel", 64),
            exact("heap.malloc.immediate", 12_345 + more),
            exact("thread.create.kernel.from.kernel", 4000 - 900 * more),
            without(
                "isr.resume.different.thread.kernel",
                2,
                &Outcome::Skipped("the port has no interrupts".into()),
            ),
        ];
        match name {
            "objcore" => {
                metrics[4] = without(
                    "heap.malloc.immediate",
                    2,
                    &Outcome::Failed("size: counted 3, must be 500".into()),
                );
                metrics[5] = without(
                    "thread.create.kernel.from.kernel",
                    2,
                    &Outcome::Incomplete("the session was cut off while it was open".into()),
                );
            }
            "userspace+overflow-check" => {
                metrics[0] = exact("clock.read", 12);
                metrics.push(exact("semaphore.take.blocking.u_to_u", 977));
            }
            _ => {}
        }
        let flags = ["-O2", "-O2 -fstack-protector-all", "-O2", "-O2"][at];
        let session = Session {
            port: "freertos".into(),
            arch: "armv7e-m".into(),
            clock: Clock {
                name: "tim2".into(),
                unit: Unit::Instructions,
                hz: 0,
            },
            realtime: true,
            facts: vec![
                fact("kernel", "FreeRTOS V11.1.0"),
                fact("compiler", "arm-none-eabi-gcc 12.2.1"),
                fact("flags", flags),
            ],
            during: Vec::new(),
            complete: true,
        };
        let size = |text: u64| format!("text {}, data 12, bss 90112 bytes", text + 640 * more);
        let mut host = host();
        host.extend([
            fact("target", "freertos"),
            fact("board", "m4"),
            fact("variant", name),
            fact("footprint_image", &size(24_512)),
            fact("footprint_kernel", &size(7_640)),
        ]);
        let run = Run {
            before: Vec::new(),
            host,
            catalog: Vec::new(),
            sessions: vec![session; 2],
            metrics,
            damage: Damage {
                damaged: more / 3,
                ..Damage::default()
            },
            ..Run::default()
        };
        column(name, run)
    });
    columns.collect()
}

/// The same Linux three times, the third time slower, and an emulator that counts instructions.
fn machines() -> Vec<Column> {
    let mut slower = normal();
    for metric in &mut slower.metrics {
        for replicate in &mut metric.replicates {
            let (_, rest) = metric.id.split_once('.').unwrap();
            let more = 10 * rest.len() as u64;
            replicate.histogram = replicate
                .histogram
                .iter()
                .map(|(ticks, samples)| (Ticks(ticks.0 + more), samples))
                .collect();
        }
    }
    vec![
        column("linux", normal()),
        column("linux again", normal()),
        column("gvisor", slower),
        column("m4 default", instructions()),
    ]
}

fn hostile_columns() -> Vec<Column> {
    vec![
        column(HOSTILE, hostile()),
        column("fine", normal()),
        column(&format!("{HOSTILE} {HOSTILE}"), hostile()),
    ]
}

fn all_matrices() -> Vec<(&'static str, Vec<Column>)> {
    let every = all().into_iter().map(|(name, run)| column(name, run));
    vec![
        ("configurations", configurations()),
        ("variants", variants()),
        ("machines", machines()),
        ("hostile", hostile_columns()),
        ("every", every.collect()),
        ("one", vec![column("linux", normal())]),
        ("empty runs", vec![column("a", Run::default()); 2]),
        ("none", Vec::new()),
    ]
}

#[test]
fn matrix_shows_runs_side_by_side() {
    let shown = |columns: &[Column], width| matrix::table(columns, &plain(width));
    assert_snapshot!("matrix_zephyr_100", shown(&configurations(), 100));
    assert_snapshot!("matrix_zephyr_60", shown(&configurations(), 60));
    for width in [60, 100, 200] {
        assert_snapshot!(
            format!("matrix_variants_{width}"),
            shown(&variants(), width)
        );
    }
    assert_snapshot!("matrix_machines_100", shown(&machines(), 100));
    assert_snapshot!("matrix_hostile_100", shown(&hostile_columns(), 100));
    assert_snapshot!("matrix_empty", shown(&[column("a", Run::default())], 100));
    let colour = Style {
        width: 100,
        colour: Colour::Always,
        bars: BarStyle::Blocks,
    };
    let coloured = matrix::table(&variants(), &colour);
    assert_snapshot!("matrix_coloured", coloured.replace('\x1b', "^["));
}

#[test]
fn matrix_is_exported() {
    assert_snapshot!("matrix_markdown", markdown::matrix(&variants()));
    assert_snapshot!("matrix_markdown_machines", markdown::matrix(&machines()));
    assert_snapshot!(
        "matrix_markdown_hostile",
        markdown::matrix(&hostile_columns())
    );
    assert_snapshot!("matrix_csv", to_csv::matrix(&variants()));
    assert_snapshot!("matrix_json", json::matrix(&variants()));
}

#[test]
fn matrix_never_compares_time_with_instructions() {
    // The runs have no metric in common.
    let linux = Run {
        metrics: vec![metric("mutex.lock.user", 6, ONE)],
        ..normal()
    };
    let emulated = Run {
        metrics: vec![metric("mutex.lock.kernel", 1, ONE)],
        ..instructions()
    };
    let columns = [column("linux", linux), column("m4", emulated)];
    let sentence = "no difference between linux and m4: instructions are never compared with time";
    let table = matrix::table(&columns, &plain(200));
    assert!(table.contains(sentence), "{table}");
    assert!(markdown::matrix(&columns).contains(sentence));
}

#[test]
fn colours_of_a_matrix_only_add_escape_sequences() {
    let colour = Style {
        width: 100,
        colour: Colour::Always,
        bars: BarStyle::Blocks,
    };
    for (name, columns) in all_matrices() {
        let bare = ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"]
            .iter()
            .fold(matrix::table(&columns, &colour), |text, code| {
                text.replace(code, "")
            });
        assert_eq!(bare, matrix::table(&columns, &plain(100)), "{name}");
    }
}

#[test]
fn matrix_fits_the_terminal() {
    for width in 60..=140 {
        for (name, columns) in [
            ("configurations", configurations()),
            ("variants", variants()),
            ("machines", machines()),
        ] {
            for line in matrix::table(&columns, &plain(width)).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn matrix_in_blocks_repeats_only_the_first_column() {
    let numbers = |width| {
        let table = matrix::table(&configurations(), &plain(width));
        let rows = table
            .lines()
            .filter(|line| line.contains("give.immediate.kernel"));
        let rows: Vec<Vec<String>> = rows
            .map(|row| row.replace(" ns", "ns"))
            .map(|row| row.split_whitespace().skip(1).map(str::to_owned).collect())
            .collect();
        assert!(rows.iter().all(|row| row[0] == "492ns"), "{table}");
        rows.iter()
            .flat_map(|row| row[1..].to_vec())
            .collect::<Vec<_>>()
    };
    let whole = numbers(200);
    assert_eq!(whole[0], "492ns");
    for width in 60..=120 {
        assert_eq!(numbers(width), whole, "{width}");
    }
}

#[test]
fn matrix_has_no_control_characters() {
    for (name, columns) in all_matrices() {
        let texts = [
            matrix::table(&columns, &plain(80)),
            json::matrix(&columns),
            to_csv::matrix(&columns),
            markdown::matrix(&columns),
        ];
        for text in texts {
            let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert_eq!(text.chars().find(|c| steers(*c)), None, "{name}: {text}");
            assert!(!name.starts_with("hostile") || !text.contains('\r'));
        }
        assert!(!markdown::matrix(&columns).contains("<script"), "{name}");
        let page = markdown::matrix(&columns);
        let bars = page
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| {
                line.replace("\\\\", "")
                    .replace("\\|", "")
                    .matches('|')
                    .count()
            });
        for bars in bars {
            assert_eq!(bars, columns.len() + 2, "{name}: {page}");
        }
    }
}

fn parsed_matrix(columns: &[Column]) -> Value {
    serde_json::from_str(&json::matrix(columns)).unwrap()
}

fn matrix_schema() -> Value {
    serde_json::from_str(include_str!("../doc/matrix.schema.json")).unwrap()
}

/// Calls `check` with a function that returns the errors of a document.
fn with_matrix_schema(check: impl FnOnce(&dyn Fn(&Value) -> Vec<String>)) {
    let registry = jsonschema::Registry::new()
        .add("json-schema:///run.schema.json", schema())
        .and_then(jsonschema::RegistryBuilder::prepare)
        .unwrap();
    let validator = jsonschema::options()
        .with_registry(&registry)
        .with_base_uri("json-schema:///matrix.schema.json")
        .build(&matrix_schema())
        .unwrap();
    check(&|document| {
        let errors = validator.iter_errors(document);
        errors
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect()
    });
}

#[test]
fn json_of_a_matrix_follows_its_schema() {
    jsonschema::meta::validate(&matrix_schema()).unwrap();
    with_matrix_schema(|errors| {
        for (name, columns) in all_matrices() {
            let found = errors(&parsed_matrix(&columns));
            assert!(found.is_empty(), "{name}: {found:?}");
        }
        let good = parsed_matrix(&variants());
        let broken: [(&str, Value); 8] = [
            ("/schema", 1.into()),
            ("/columns/0/target/clock/hz", 5.into()),
            ("/columns/0/damage/gaps", (-1).into()),
            ("/columns/1/mean/ratio", 0.into()),
            ("/metrics/0/cells/0/status", "fine".into()),
            ("/metrics/0/cells/0/median", Value::Null),
            ("/metrics/0/cells/0/unit", "ticks".into()),
            ("/metrics/6/cells/0/median", 0.into()),
        ];
        for (at, value) in broken {
            let mut document = good.clone();
            *document.pointer_mut(at).unwrap() = value;
            assert!(!errors(&document).is_empty(), "{at}");
        }
    });
}

#[test]
fn schema_of_a_matrix_describes_every_member() {
    let schema = matrix_schema();
    let document = parsed_matrix(&variants());
    let described = [
        ("", ""),
        ("/columns/1", "/$defs/column"),
        ("/columns/1/mean", "/$defs/mean"),
        ("/metrics/0", "/$defs/metric"),
        ("/metrics/0/cells/0", "/$defs/cell"),
    ];
    for (at, definition) in described {
        assert_described(&schema, definition, document.pointer(at).unwrap());
    }
}

#[test]
fn idiom_is_marked_in_every_report() {
    const ID: &str = "channel.write.64";
    const MEANS: &str =
        "the kernel lacks this object, so the agent builds it from other primitives";
    let mut run = normal();
    let marked = |run: &Run| {
        let entries = &run.catalog;
        let json: Value = serde_json::from_str(&json::run(run)).unwrap();
        let listed: Value = serde_json::from_str(&json::catalog(entries)).unwrap();
        let idiom = |all: &Value| {
            let all = all.as_array().unwrap().iter();
            all.filter(|one| one["idiom"] == true)
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let columns = [("one", run.clone()), ("two", run.clone())].map(|(name, run)| Column {
            name: name.to_owned(),
            run,
        });
        let whole = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let has = |text: String, mark: &str| {
            let text = whole(text);
            (text.contains(mark), text.contains(MEANS))
        };
        (
            (idiom(&json["metrics"]), idiom(&listed["catalog"])),
            to_csv::catalog(entries)
                .lines()
                .filter(|l| l.ends_with(",yes"))
                .count(),
            [
                has(table::table(run, &plain(100)), " write.64 ^ "),
                has(listing::render(entries, &plain(100)), "channel.write.64 ^ "),
                has(
                    distribution::render(run, ID, &plain(100)).unwrap(),
                    " idiom ",
                ),
                has(matrix::table(&columns, &plain(100)), " write.64 ^ "),
                has(markdown::run(run), "| `channel.write.64` ^ |"),
                has(markdown::matrix(&columns), "| `channel.write.64` ^ |"),
            ],
            catalog::markdown(entries, &catalog::Elsewhere::new()).contains("; *an idiom*; "),
        )
    };
    let none = ((vec![], vec![]), 0, [(false, false); 6], false);
    assert_eq!(marked(&run), none);
    let mut entries = run.catalog.iter_mut();
    entries.find(|e| e.metric == ID).unwrap().idiom = true;
    let all = (vec![ID.to_owned()], vec![ID.to_owned()]);
    assert_eq!(marked(&run), (all, 1, [(true, true); 6], true));
}
