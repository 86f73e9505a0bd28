//! The agent in kernel mode: Debian's kernel in an emulator, with threads of the
//! kernel and of a process in every pairing.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use common::{here, make, scratch, skipped, succeeds};
use kernmark::run::{Damage, Metric, Outcome, Run, Unit};
use kernmark::session::Reader;

const PORT: &str = "agent/ports/linux-kernel";

/// Where kernels are kept between tests.
fn cache() -> String {
    format!("CACHE={}", scratch("kernels").display())
}

fn try_make(out: &Path, words: &[&str]) -> Output {
    Command::new("make")
        .args(["-s", "-C"])
        .arg(here(PORT))
        .arg(format!("OUT={}", out.display()))
        .arg(cache())
        .arg("STRICT=-Werror")
        .args(words)
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The built port, or why there is none here.
fn built() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        for program in ["apt-get", "dpkg", "cpio", "qemu-system-x86_64"] {
            if Command::new(program).arg("--version").output().is_err() {
                return Err(format!("there is no {program}"));
            }
        }
        let out = scratch("linux-kernel");
        let output = try_make(&out, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        let absent = ["is there a network?", "run apt-get update"];
        if let Some(why) = said.lines().find(|l| absent.iter().any(|a| l.contains(a))) {
            return Err(why.to_string());
        }
        assert!(output.status.success(), "{said}");
        Ok(out)
    };
    match BUILT.get_or_init(build) {
        Ok(out) => Ok(out),
        Err(why) => Err(why.clone()),
    }
}

/// What a machine that is started with these words prints, and its console.
fn boot(out: &Path, words: &[&str]) -> (String, String) {
    let output = try_make(out, &[&["boot"], words].concat());
    assert!(output.status.success(), "{output:?}");
    let console = fs::read(out.join("console")).unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&console).into_owned(),
    )
}

fn read(stream: &str) -> Run {
    let mut reader = Reader::new();
    for line in stream.lines() {
        reader.line(line.as_bytes());
    }
    reader.finish()
}

fn median(metric: &Metric) -> f64 {
    metric.replicates[0].histogram.median().unwrap()
}

#[test]
fn two_boots_measure_the_same_and_every_proof_holds() {
    let out = match built() {
        Ok(out) => out,
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    let (first, console) = boot(out, &["ORDER=run samples=20"]);
    let (second, _) = boot(out, &["ORDER=run samples=20"]);
    assert!(first == second, "two boots differ; {console}");

    let run = read(&first);
    assert_eq!(run.damage, Damage::default(), "{console}");
    assert_eq!(run.sessions[0].clock.unit, Unit::Instructions);
    let reasons = [
        "a kernel thread is made by kthreadd",
        "the kernel has no recursive mutex",
        "privileged only: ",
    ];
    let mut measured = 0;
    for metric in &run.metrics {
        match &metric.replicates[0].outcome {
            Outcome::Ok => measured += 1,
            Outcome::Skipped(why) if reasons.iter().any(|r| why.starts_with(r)) => {}
            other => panic!("{}: {other:?}", metric.id),
        }
    }
    assert!(measured > 200, "{measured}");

    let value = |id: &str| {
        let metric = run.metrics.iter().find(|m| m.id == id);
        median(metric.unwrap_or_else(|| panic!("no {id}")))
    };
    // Each end in user mode costs more, and both together the most.
    let wake = |pass: &str| value(&format!("semaphore.give.wake+ctx.{pass}"));
    assert!(wake("k_to_k") < wake("k_to_u"));
    assert!(wake("k_to_k") < wake("u_to_k"));
    assert!(wake("u_to_u") > f64::max(wake("k_to_u"), wake("u_to_k")));
    // A wake-up switches the context; a give that nobody waits for does not.
    assert!(wake("k_to_k") > 10.0 * value("semaphore.give.immediate.kernel"));
    assert!(value("clock.read") < 100.0);
}

/// What a port measures whose operations lie, as the folder in `tests/sabotage` says.
fn sabotaged(folder: &str) -> Run {
    let name = folder.replace('/', "-");
    let out = scratch(&format!("linux-kernel-{name}"));
    let port = format!("PORT={}", here("tests/sabotage").join(folder).display());
    make("linux-kernel", &out, &[cache(), port.clone()]);
    let (records, console) = boot(&out, &["ORDER=run samples=20", &port]);
    let run = read(&records);
    assert_eq!(run.damage, Damage::default(), "{console}");
    assert!(run.metrics.len() > 200, "{console}");
    run
}

#[test]
fn sabotage_is_caught_in_every_case_that_it_matters_to() {
    if let Err(why) = built() {
        return skipped("the agent in kernel mode", &why);
    }
    for metric in sabotaged("frozen").metrics {
        let outcome = &metric.replicates[0].outcome;
        assert!(
            *outcome != Outcome::Ok,
            "a clock that stands still: {}",
            metric.id
        );
    }
    let waits = [
        "semaphore.take.blocking.",
        "semaphore.give.wake",
        "semaphore.resched.",
        "mutex.lock.contended.",
        "mutex.unlock.wake",
        "isr.resume.different.",
        "isr.wait.",
        "completion.wait.blocking",
        "completion.complete.wake",
        "workqueue.",
    ];
    for metric in sabotaged("linux-kernel/unblocked").metrics {
        let failed = matches!(metric.replicates[0].outcome, Outcome::Failed(_));
        let matters = waits.iter().any(|w| metric.id.starts_with(w));
        assert_eq!(failed, matters, "nobody blocks: {}", metric.id);
    }
}

#[test]
fn what_the_kernel_refuses_is_said_on_the_console() {
    let out = match built() {
        Ok(out) => out.with_file_name("linux-kernel-refused"),
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    make("linux-kernel", &out, &[cache()]);
    for (word, said) in [
        ("lockdown=integrity", "a kernel under lockdown"),
        ("module.sig_enforce=1", "takes only signed modules"),
    ] {
        let (records, console) = boot(&out, &["ORDER=list", &format!("CMDLINE={word}")]);
        assert_eq!(records, "");
        assert!(console.contains(said), "{word}: {console}");
    }
    let (records, console) = boot(&out, &["ORDER=walk"]);
    assert_eq!(records, "");
    assert!(console.contains("this is no order"), "{console}");
}

#[test]
fn a_killed_run_leaves_no_thread_behind() {
    let out = match built() {
        Ok(out) => out.with_file_name("linux-kernel-killed"),
        Err(why) => return skipped("the agent in kernel mode", &why),
    };
    make("linux-kernel", &out, &[cache()]);
    // A machine whose first process starts agents and kills them.
    let root = scratch("linux-kernel-killed/machine");
    fs::copy(out.join("kernmark-agent"), root.join("agent")).unwrap();
    fs::copy(out.join("kernmark.ko"), root.join("kernmark.ko")).unwrap();
    succeeds(
        Command::new("cc")
            .args(["-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(root.join("init"))
            .arg(here("tests/fixtures/killer.c")),
    );
    succeeds(Command::new("sh").current_dir(&root).args([
        "-c",
        "printf 'init\\nagent\\nkernmark.ko\\n' | cpio --quiet -o -H newc > ../killer",
    ]));
    succeeds(
        Command::new("qemu-system-x86_64")
            .args(["-accel", "tcg", "-M", "q35", "-cpu", "Skylake-Server"])
            .args(["-m", "256", "-smp", "2", "-nodefaults", "-display", "none"])
            .args(["-no-reboot", "-kernel"])
            .arg(out.join("vmlinuz"))
            .arg("-initrd")
            .arg(out.join("killer"))
            .arg("-serial")
            .arg(format!("file:{}", out.join("console").display()))
            .args(["-append", "console=ttyS0 panic=-1 loglevel=5"]),
    );
    let console = String::from_utf8_lossy(&fs::read(out.join("console")).unwrap()).into_owned();
    assert!(console.contains("killer: 8 runs killed"), "{console}");
    assert!(console.contains("killer: 0 threads left"), "{console}");
    assert!(
        console.contains("killer: a whole run ended with 0"),
        "{console}"
    );
    assert!(console.contains("killer: modules: none"), "{console}");
    for trouble in ["WARNING: CPU", "BUG:", "Oops", "Call Trace", "hung task"] {
        assert!(!console.contains(trouble), "{console}");
    }
}
