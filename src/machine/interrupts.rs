// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interrupts: the text of `/proc/interrupts` or `/proc/softirqs` in, the counts of each CPU by source
//! out.

use std::collections::BTreeMap;

/// What causes an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// A timer of this CPU.
    Timer,
    /// Another CPU: there is a thread to run.
    Reschedule,
    /// Another CPU: call a function.
    Call,
    /// Another CPU: flush addresses from the TLB. The kernel counts it as a call too.
    Tlb,
    /// A device.
    Device,
    /// Anything else.
    Other,
}

impl Cause {
    /// The cause of the interrupts in a line: its label without the colon, and what follows the counts.
    ///
    /// A number is the label of a device, or of a timer on processors whose timers are devices too.
    fn of(label: &str, about: &str) -> Self {
        let is_device = !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
        match (label, about) {
            ("LOC", _) | (_, "Local timer interrupts") => Cause::Timer,
            ("RES", _) | (_, "Rescheduling interrupts") => Cause::Reschedule,
            ("CAL", _) | (_, "Function call interrupts") => Cause::Call,
            ("TLB", _) => Cause::Tlb,
            _ if is_device && about.ends_with("timer") => Cause::Timer,
            _ if is_device => Cause::Device,
            _ => Cause::Other,
        }
    }
}

/// The counts of one source, by CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    cause: Cause,
    /// The driver's name of a device: the last word of its line.
    name: String,
    counts: BTreeMap<u32, u64>,
}

/// The interrupts of all CPUs since boot, by label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interrupts {
    sources: BTreeMap<String, Source>,
}

impl Interrupts {
    /// Parses `/proc/interrupts` or `/proc/softirqs`. Skips lines that do not have a count for each
    /// CPU of the first line.
    pub fn parse(table: &str) -> Self {
        let mut lines = table.lines();
        let head = lines.next().unwrap_or_default();
        let cpus: Option<Vec<u32>> = head
            .split_whitespace()
            .map(|word| word.strip_prefix("CPU")?.parse().ok())
            .collect();
        let cpus = cpus.unwrap_or_default();
        let source = |line: &str| {
            let (label, rest) = line.split_once(':')?;
            let mut words = rest.split_whitespace();
            let mut counts = BTreeMap::new();
            for cpu in &cpus {
                counts.insert(*cpu, words.next()?.parse().ok()?);
            }
            let about: Vec<&str> = words.collect();
            let source = Source {
                cause: Cause::of(label.trim(), &about.join(" ")),
                name: (*about.last().unwrap_or(&"")).to_owned(),
                counts,
            };
            Some((label.trim().to_owned(), source))
        };
        Interrupts {
            sources: lines.filter_map(source).collect(),
        }
    }

    /// What a CPU counted since an earlier reading. `None` if either reading does not have the CPU.
    pub fn since(&self, before: &Interrupts, cpu: u32) -> Option<Taken> {
        let mut taken = Taken::default();
        let mut busiest = 0;
        let mut is_known = false;
        for (label, source) in &self.sources {
            let Some(earlier) = before.sources.get(label) else {
                continue;
            };
            let (Some(now), Some(then)) = (source.counts.get(&cpu), earlier.counts.get(&cpu))
            else {
                continue;
            };
            is_known = true;
            let count = advanced(*then, *now);
            let sum = taken.by_cause.entry(source.cause).or_insert(0);
            *sum = u64::saturating_add(*sum, count);
            if source.cause != Cause::Tlb {
                taken.total = taken.total.saturating_add(count);
            }
            if source.cause == Cause::Device && count > busiest {
                busiest = count;
                taken.busiest = Some(source.name.clone());
            }
        }
        is_known.then_some(taken)
    }
}

/// How far a counter went. The kernel's counters of interrupts have 32 bits and start again at 0.
fn advanced(then: u64, now: u64) -> u64 {
    match now.checked_sub(then) {
        Some(count) => count,
        None if u32::try_from(then).is_ok() => now + (1 << 32) - then,
        None => 0,
    }
}

/// The interrupts that a CPU took in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// All of them.
    pub total: u64,
    /// By cause. Flushes of the TLB are among the calls too.
    pub by_cause: BTreeMap<Cause, u64>,
    /// The device with most of them.
    pub busiest: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X86: &str = "           CPU0       CPU1       
 36:          7        100  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 38:          0         60  IO-APIC  12-edge      i8042
  0:          1          0  IO-APIC   2-edge      timer
NMI:          0          1   Non-maskable interrupts
LOC:    9018558    1000000   Local timer interrupts
RES:          5         40   Rescheduling interrupts
CAL:          6         30   Function call interrupts
TLB:          2         20   TLB shootdowns
ERR:          0
MIS:          0
";

    const ARM: &str = "           CPU0       CPU1
 11:         10         50     GICv3  30 Level     arch_timer
 12:          3          4     GICv3  79 Level     virtio0
IPI0:        1          2       Rescheduling interrupts
IPI1:        3          5       Function call interrupts
IPI2:        0          9       CPU stop interrupts
Err:         0
";

    const ZERO: &str = "           CPU0       CPU1
 36: 0 0 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 38: 0 0 x i8042
  0: 0 0 timer
NMI: 0 0 x
LOC: 0 0 x
RES: 0 0 x
CAL: 0 0 x
TLB: 0 0 x
 11: 0 0 timer
 12: 0 0 virtio0
IPI0: 0 0 x
IPI1: 0 0 x
IPI2: 0 0 x
";

    fn taken(now: &str, cpu: u32) -> Taken {
        let (now, then) = (Interrupts::parse(now), Interrupts::parse(ZERO));
        now.since(&then, cpu).unwrap()
    }

    fn causes(taken: &Taken) -> Vec<(Cause, u64)> {
        let known = taken.by_cause.iter().filter(|(_, count)| **count > 0);
        known.map(|(cause, count)| (*cause, *count)).collect()
    }

    #[test]
    fn interrupts_have_causes() {
        let one = taken(X86, 1);
        assert_eq!(
            causes(&one),
            [
                (Cause::Timer, 1_000_000),
                (Cause::Reschedule, 40),
                (Cause::Call, 30),
                (Cause::Tlb, 20),
                (Cause::Device, 160),
                (Cause::Other, 1),
            ]
        );
        assert_eq!(one.total, 1_000_231, "a flush of the TLB is a call");
        assert_eq!(one.busiest.as_deref(), Some("virtio1-req.0"));
        assert_eq!(causes(&taken(X86, 0))[0], (Cause::Timer, 9_018_559));
        let arm = taken(ARM, 1);
        assert_eq!(
            causes(&arm),
            [
                (Cause::Timer, 50),
                (Cause::Reschedule, 2),
                (Cause::Call, 5),
                (Cause::Device, 4),
                (Cause::Other, 9),
            ]
        );
    }

    #[test]
    fn only_cpus_of_both_readings_count() {
        let one = "CPU0 CPU3\nLOC: 5 6 x\n";
        let two = "CPU3 CPU4\nLOC: 10 7 x\nnew: 1 1 x\n";
        let (one, two) = (Interrupts::parse(one), Interrupts::parse(two));
        assert_eq!(two.since(&one, 3).unwrap().total, 4);
        assert_eq!((two.since(&one, 0), two.since(&one, 4)), (None, None));
        assert_eq!(Interrupts::default().since(&one, 3), None);
    }

    #[test]
    fn counters_of_32_bits_start_again() {
        assert_eq!(advanced(5, 9), 4);
        assert_eq!(advanced(u64::from(u32::MAX), 2), 3);
        assert_eq!(advanced(1 << 40, 2), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read(one in any::<String>(), two in any::<String>(), cpu in 0u32..3) {
            let _ = Interrupts::parse(&one).since(&Interrupts::parse(&two), cpu);
        }

        #[test]
        fn damaged_tables_are_read(
            at in 0..X86.len(),
            cut in 0usize..40,
            with in "[0-9 :\n%A-Z\u{e9}-]{0,24}",
        ) {
            let rest = X86.get(at + cut..).unwrap_or_default();
            let table = format!("{}{with}{rest}", &X86[..at]);
            let (whole, damaged) = (Interrupts::parse(X86), Interrupts::parse(&table));
            for cpu in [0, 1, 2] {
                for taken in [damaged.since(&whole, cpu), whole.since(&damaged, cpu)] {
                    let sum = taken.as_ref().map_or(0, |taken| {
                        let counted = taken.by_cause.iter().filter(|(c, _)| **c != Cause::Tlb);
                        counted.fold(0, |sum, (_, n)| u64::saturating_add(sum, *n))
                    });
                    prop_assert_eq!(sum, taken.map_or(0, |taken| taken.total));
                }
            }
        }

        #[test]
        fn what_is_added_is_counted(
            before in proptest::collection::vec(0..u64::from(u32::MAX), 6),
            more in proptest::collection::vec(0u64..1_000_000, 6),
        ) {
            let table = |counts: &[u64]| {
                let [a, b, c, d, e, f] = counts else { unreachable!() };
                format!("CPU2 CPU7\nLOC: {a} {b} Local timer\n9: {c} {d} x-edge eth0\nPMI: {e} {f} x\n")
            };
            // The kernel's counters have 32 bits.
            let sums = before.iter().zip(&more).map(|(a, b)| (a + b) & 0xffff_ffff);
            let (then, now) = (table(&before), table(&sums.collect::<Vec<u64>>()));
            let (then, now) = (Interrupts::parse(&then), Interrupts::parse(&now));
            let taken = now.since(&then, 7).unwrap();
            prop_assert_eq!(taken.total, more[1] + more[3] + more[5]);
            prop_assert_eq!(taken.by_cause[&Cause::Device], more[3]);
        }
    }
}
