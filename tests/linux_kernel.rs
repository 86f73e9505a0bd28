// SPDX-License-Identifier: MIT OR Apache-2.0

//! The agent in kernel mode: Debian's kernel in an emulator, with kernel threads and threads of a
//! process in every pairing.

#[path = "common/machine.rs"]
mod agent_machine;
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use agent_machine::{boot, build_static, cache, measured, read};
use common::{here, make, scratch, skipped, succeeds};
use kernmark::stream::run::{Damage, Metric, Outcome, Run};

/// The built port, or why it cannot be built here.
fn built() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match BUILT.get_or_init(|| agent_machine::machine("linux-kernel", &[])) {
        Ok(out) => Ok(out),
        Err(why) => Err(why.clone()),
    }
}

fn median(metric: &Metric) -> f64 {
    metric.replicates[0].histogram.median().unwrap()
}

#[test]
fn two_boots_are_identical_and_all_proofs_hold() {
    let out = match built() {
        Ok(out) => out,
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    let (first, console) = boot(out, &["ORDER=run samples=20"]);
    let (second, _) = boot(out, &["ORDER=run samples=20"]);
    assert!(first == second, "two boots differ; {console}");

    let run = read(&first);
    let reasons = [
        "kthreadd creates kernel threads",
        "the kernel has no recursive mutex",
        "this port has no abort",
        "only AArch64 has this register",
        "privileged only: ",
        "user threads only: ",
    ];
    let measured = measured(&run, &reasons, &console);
    assert!(measured > 200, "{measured}");

    let value = |id: &str| {
        let metric = run.metrics.iter().find(|m| m.id == id);
        median(metric.unwrap_or_else(|| panic!("no {id}")))
    };
    // Each end in user mode adds cost, and both together cost the most.
    let wake = |pass: &str| value(&format!("semaphore.give.wake+ctx.{pass}"));
    assert!(wake("k_to_k") < wake("k_to_u"));
    assert!(wake("k_to_k") < wake("u_to_k"));
    assert!(wake("u_to_u") > f64::max(wake("k_to_u"), wake("u_to_k")));
    // A wake-up switches the context; a give without waiters does not.
    assert!(wake("k_to_k") > 10.0 * value("semaphore.give.immediate.kernel"));
    assert!(value("clock.read") < 100.0);
    // The way in and the way out add up to the whole call, but for one stamp.
    for call in ["lseek", "ioctl", "read", "write"] {
        let part = |part: &str| value(&format!("syscall.{part}.{call}.user"));
        let over = part("enter") + part("exit") - part("null");
        assert!(
            (0.0..=value("clock.read")).contains(&over),
            "{call}: {over}"
        );
    }
}

/// Measures with the sabotaged port in this folder of `tests/sabotage`.
fn sabotaged(folder: &str) -> Run {
    let name = folder.replace('/', "-");
    let out = scratch(&format!("linux-kernel-{name}"));
    let port = format!("PORT={}", here("tests/sabotage").join(folder).display());
    make("linux-vm", &out, &[cache(), port.clone()]);
    let (records, console) = boot(&out, &["ORDER=run samples=20", &port]);
    let run = read(&records);
    assert_eq!(run.damage, Damage::default(), "{console}");
    assert!(run.metrics.len() > 200, "{console}");
    run
}

#[test]
fn sabotage_is_caught_in_every_affected_case() {
    if let Err(why) = built() {
        return skipped("the agent in kernel mode", &why);
    }
    for metric in sabotaged("frozen").metrics {
        let outcome = &metric.replicates[0].outcome;
        assert!(*outcome != Outcome::Ok, "a frozen clock: {}", metric.id);
    }
    let waits = [
        "semaphore.take.blocking.",
        "semaphore.give.wake",
        "semaphore.resched.",
        "mutex.lock.contended.",
        "mutex.unlock.wake",
        "isr.resume.different.",
        "isr.wait.",
        "isr.raise.wake+ctx.k",
        "completion.wait.blocking",
        "completion.complete.wake",
        "workqueue.",
    ];
    for metric in sabotaged("linux-kernel/unblocked").metrics {
        let failed = matches!(metric.replicates[0].outcome, Outcome::Failed(_));
        let matters = waits.iter().any(|w| metric.id.starts_with(w));
        assert_eq!(failed, matters, "no thread blocks: {}", metric.id);
    }
    for metric in sabotaged("linux-kernel/uninterrupted").metrics {
        let failed = matches!(metric.replicates[0].outcome, Outcome::Failed(_));
        let words: Vec<&str> = metric.id.split('.').collect();
        let matters = words[0] == "isr" && ["entry", "exit"].contains(&words[1]);
        let measured = matters && metric.id.ends_with("kernel");
        assert_eq!(failed, measured, "no interrupt comes: {}", metric.id);
    }
}

#[test]
fn kernel_refusal_is_reported_on_the_console() {
    let out = match built() {
        Ok(out) => out.with_file_name("linux-kernel-refused"),
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    make("linux-vm", &out, &[cache()]);
    for (word, said) in [
        ("lockdown=integrity", "a kernel under lockdown"),
        ("module.sig_enforce=1", "accepts only signed modules"),
    ] {
        let (records, console) = boot(&out, &["ORDER=list", &format!("CMDLINE={word}")]);
        assert_eq!(records, "");
        assert!(console.contains(said), "{word}: {console}");
    }
    // The kernel passes words that it does not know to its first process.
    for wrong in ["walk", "samples=abc", "cpu=xyz", "cases=xyz"] {
        let order = match wrong {
            "walk" => "ORDER=walk".to_owned(),
            setting => format!("ORDER=run {setting}"),
        };
        let (records, console) = boot(&out, &[&order, "CMDLINE=nokaslr quux"]);
        assert_eq!(records, "");
        let said = format!("wrong argument: {wrong}\r\n");
        assert!(console.contains(&said), "{console}");
        assert!(
            console.contains("init: the agent ended with status 2"),
            "{console}"
        );
    }
    let agent = out.join("agent/kernmark-agent");
    let output = Command::new(agent)
        .args(["module=/absent", "run"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/absent: No such file"), "{said}");
}

/// Signs that the kernel was damaged.
const TROUBLE: [&str; 5] = ["WARNING: CPU", "BUG:", "Oops", "Call Trace", "hung task"];

/// One processor whose time is its number of instructions, so that this machine's load does not
/// matter.
const EXACT: [&str; 4] = ["-smp", "1", "-icount", "shift=3,sleep=off"];

/// Two processors that run at the same time.
const PARALLEL: [&str; 2] = ["-smp", "2"];

/// Boots a machine with the files of a folder. Returns the output of its debug console, and its
/// console.
fn machine(kernel: &Path, root: &Path, processors: &[&str], words: &str) -> (String, String) {
    let (image, records, console) = (
        root.with_extension("image"),
        root.with_extension("records"),
        root.with_extension("console"),
    );
    succeeds(
        Command::new("sh")
            .current_dir(root)
            .arg("-c")
            .arg("ls | cpio --quiet -o -H newc > \"$0\"")
            .arg(&image),
    );
    succeeds(
        Command::new("qemu-system-x86_64")
            .args(["-accel", "tcg", "-M", "q35", "-cpu", "Skylake-Server"])
            .args(["-m", "256", "-nodefaults", "-display", "none"])
            .args(processors)
            .arg("-no-reboot")
            .arg("-kernel")
            .arg(kernel)
            .arg("-initrd")
            .arg(image)
            .arg("-serial")
            .arg(format!("file:{}", console.display()))
            .arg("-chardev")
            .arg(format!("file,id=records,path={}", records.display()))
            .args(["-device", "isa-debugcon,iobase=0xe9,chardev=records"])
            .arg("-append")
            .arg(format!(
                "console=ttyS0 no_timer_check oops=panic panic=-1 loglevel=5 {words}"
            )),
    );
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    (text(&records), text(&console))
}

#[test]
fn killed_run_leaves_no_thread_behind() {
    let out = match built() {
        Ok(out) => out.with_file_name("linux-kernel-killed"),
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    make("linux-vm", &out, &[cache()]);
    // A machine whose first process starts agents and kills them.
    let root = scratch("linux-kernel-killed/machine");
    fs::copy(out.join("agent/kernmark-agent"), root.join("agent")).unwrap();
    fs::copy(out.join("agent/kernmark.ko"), root.join("kernmark.ko")).unwrap();
    build_static("fixtures/killer.c", &root.join("init"));
    let (_, console) = machine(&out.join("vmlinuz"), &root, &PARALLEL, "");
    assert!(console.contains("killer: 100 runs killed"), "{console}");
    assert!(console.contains("killer: 0 threads left"), "{console}");
    assert!(
        console.contains("killer: a whole run ended with 0"),
        "{console}"
    );
    assert!(console.contains("killer: modules: none"), "{console}");
    for trouble in TROUBLE {
        assert!(!console.contains(trouble), "{console}");
    }
}

/// The word in an order for a case, from its position in the catalog.
fn place(catalog: &[&str], case: &str) -> String {
    let place = catalog.iter().position(|other| *other == case);
    let place = place.unwrap_or_else(|| panic!("no {case}"));
    format!("cases={}{}", "0".repeat(place / 4), 8 >> (place % 4))
}

#[test]
fn failed_allocations_are_reported_by_the_case() {
    /// One of each kind of allocation: its case, the minimum number of failures, and the reason
    /// given.
    const POOR: [(&str, usize, &str); 7] = [
        (
            "heap.malloc.immediate.kernel.65536",
            12,
            "kmalloc failed: no memory",
        ),
        (
            "fifo.put.alloc.immediate.kernel",
            12,
            "kmalloc failed: no memory",
        ),
        (
            "fifo.get.free.blocking.k_to_k",
            12,
            "kmalloc failed: no memory",
        ),
        ("page.alloc.65536", 12, "alloc_pages failed: no memory"),
        ("vmalloc.alloc.4096", 12, "vmalloc failed: no memory"),
        ("kthread.create", 12, "kthread_create failed"),
        (
            "semaphore.take.blocking.k_to_u",
            3,
            "could not create a user thread: ",
        ),
    ];
    let out = match built() {
        Ok(out) => out.with_file_name("linux-kernel-poor"),
        Err(why) => return skipped("allocations that fail in the kernel", &why),
    };
    make("linux-vm", &out, &[cache()]);
    let (list, _) = boot(&out, &["ORDER=list"]);
    let mut catalog: Vec<&str> = list
        .lines()
        .filter(|line| line.split(' ').nth(2) == Some("bench"))
        .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("case=")))
        .collect();
    catalog.dedup();
    let cases: Vec<String> = POOR.iter().map(|poor| place(&catalog, poor.0)).collect();

    let module = scratch("linux-kernel-poor/poor");
    for file in ["poor.c", "Kbuild"] {
        fs::copy(here("tests/fixtures/poor").join(file), module.join(file)).unwrap();
    }
    succeeds(
        Command::new("make")
            .args(["-s", "-C"])
            .arg(scratch("kernels").join("amd64/cloud/build"))
            .arg(format!("M={}", module.display()))
            .args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
            .env_remove("MAKEFLAGS"),
    );
    let root = scratch("linux-kernel-poor/machine");
    fs::copy(out.join("agent/kernmark-agent"), root.join("agent")).unwrap();
    fs::copy(out.join("agent/kernmark.ko"), root.join("kernmark.ko")).unwrap();
    fs::copy(module.join("poor.ko"), root.join("poor.ko")).unwrap();
    build_static("fixtures/poor/init.c", &root.join("init"));
    let words = format!("rcupdate.rcu_expedited=1 -- {}", cases.join(" "));
    let (records, console) = machine(&out.join("vmlinuz"), &root, &EXACT, &words);
    for trouble in TROUBLE.into_iter().chain(["ended with"]) {
        assert!(!console.contains(trouble), "{console}");
    }
    assert!(console.contains("allocations failed"), "{console}");

    let ends: Vec<&str> = records
        .lines()
        .filter(|l| l.contains(" end case="))
        .collect();
    for (case, least, reason) in POOR {
        let of_case = |what: &str| {
            let begin = format!(" end case={case} status=");
            let mut ends = ends.iter().filter(|line| line.contains(&begin));
            ends.by_ref().filter(|line| line.contains(what)).count()
        };
        assert!(of_case(reason) >= least, "{case}: {ends:#?}");
        assert!(
            of_case("could not create a kernel thread: ") >= 3,
            "{case}: {ends:#?}"
        );
        // After the last failed allocation, it succeeds.
        assert_eq!(of_case("status=ok"), 1, "{case}: {ends:#?}");
        // The other failures are those in which the setup finds no room.
        let told = of_case("status=error") + of_case("the heap has no room");
        assert!(told >= least, "{case}: {ends:#?}");
    }
}
