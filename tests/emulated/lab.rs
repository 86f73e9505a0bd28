// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images of emulated boards that take their order by semihosting, and what they print.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use kernmark::stream::run::{Entry, Metric, Outcome, Replicate, Run};
pub use kernmark::stream::session::read;

use crate::common::{here, scratch, skipped};

/// A program and its Debian package.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub package: &'static str,
}

pub const ARM_COMPILER: Program = Program {
    name: "arm-none-eabi-gcc",
    package: "gcc-arm-none-eabi",
};
pub const ARM_EMULATOR: Program = Program {
    name: "qemu-system-arm",
    package: "qemu-system-arm",
};
pub const RISCV_COMPILER: Program = Program {
    name: "riscv64-unknown-elf-gcc",
    package: "gcc-riscv64-unknown-elf",
};
pub const RISCV_EMULATOR: Program = Program {
    name: "qemu-system-riscv32",
    package: "qemu-system-misc",
};

/// A board in the emulator.
#[derive(Debug)]
pub struct Board {
    pub name: &'static str,
    pub compiler: Program,
    pub emulator: Program,
    pub machine: &'static str,
    /// An instruction takes 2^shift nanoseconds.
    pub shift: u32,
}

/// An image and its board.
#[derive(Debug)]
pub struct Image {
    pub board: &'static Board,
    /// The settings it was built with, for messages.
    pub name: String,
    pub elf: PathBuf,
}

/// The result of an order in the emulator.
pub struct Session {
    /// The exit status; `None`: the time limit ended it.
    pub status: Option<i32>,
    pub stream: Vec<u8>,
}

impl Session {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stream).into_owned()
    }

    pub fn run(&self) -> Run {
        read(&self.stream)
    }
}

/// An image of a port for a board with these settings. `build` builds it in a folder, once, and
/// returns the file.
pub fn image(
    port: &str,
    board: &'static Board,
    settings: &[&str],
    build: impl FnOnce(&Path) -> PathBuf,
) -> Arc<Image> {
    type Images = HashMap<String, Arc<OnceLock<Arc<Image>>>>;
    static IMAGES: OnceLock<Mutex<Images>> = OnceLock::new();

    let name = std::iter::once(board.name)
        .chain(settings.iter().copied())
        .collect::<Vec<_>>()
        .join(" ");
    let cell = Arc::clone(
        IMAGES
            .get_or_init(Mutex::default)
            .lock()
            .unwrap()
            .entry(name.clone())
            .or_default(),
    );
    Arc::clone(cell.get_or_init(|| {
        Arc::new(Image {
            board,
            elf: build(&folder(port, &name)),
            name,
        })
    }))
}

/// A folder for an image. Replaces characters that a path cannot contain.
pub fn folder(port: &str, name: &str) -> PathBuf {
    let own = here("").display().to_string();
    let plain: String = name
        .replace(&own, "")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    scratch(&format!("{port}-{plain}"))
}

/// Whether these boards' programs are installed; reports which one is not.
pub fn installed(test: &str, boards: &[&Board]) -> bool {
    for Program { name, package } in boards.iter().flat_map(|b| [&b.compiler, &b.emulator]) {
        if Command::new(name).arg("--version").output().is_err() {
            let why = format!("{name} is not installed; on Debian: apt install {package}");
            skipped(test, &why);
            return false;
        }
    }
    true
}

/// The command that runs this image with this order in the emulator.
pub fn emulator(image: &Image, order: &str, more: &[&str]) -> Command {
    let mut semihosting = "enable=on,target=native,chardev=console".to_owned();
    for word in order.split(' ') {
        semihosting += ",arg=";
        semihosting += word;
    }
    // A generous limit: anything it ends stopped printing long before.
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "60", image.board.emulator.name])
        // The image is all that runs: no other firmware.
        .args(["-M", image.board.machine, "-bios", "none"])
        .args(["-nodefaults", "-display", "none", "-monitor", "none"])
        .args(["-chardev", "stdio,id=console"])
        .arg("-icount")
        .arg(format!("shift={},align=off,sleep=off", image.board.shift))
        .args(["-semihosting-config", &semihosting])
        .arg("-kernel")
        .arg(&image.elf)
        .args(more)
        .stdin(Stdio::null());
    command
}

/// Runs an order, however it ends.
pub fn attempt(image: &Image, order: &str) -> Session {
    let output = emulator(image, order, &[]).output().unwrap();
    Session {
        // The status of `timeout` after it had to kill.
        status: output.status.code().filter(|&status| status != 137),
        stream: output.stdout,
    }
}

/// Runs an order that must succeed.
pub fn order(image: &Image, order: &str) -> Session {
    let session = attempt(image, order);
    assert_eq!(
        session.status,
        Some(0),
        "{} {order}: {}",
        image.name,
        session
            .text()
            .lines()
            .last()
            .unwrap_or("nothing was printed")
    );
    session
}

/// The catalog, in order.
pub fn catalog(image: &Image) -> Vec<Entry> {
    let catalog = order(image, "list").run().catalog;
    assert!(catalog.len() > 50, "{} metrics", catalog.len());
    catalog
}

/// The ids of the cases, in catalog order.
pub fn cases(catalog: &[Entry]) -> Vec<&str> {
    let mut cases: Vec<_> = catalog.iter().map(|e| e.case.as_str()).collect();
    cases.dedup();
    cases
}

/// The order to measure the wanted cases.
pub fn measure(cases: &[&str], samples: u32, wanted: impl Fn(&str) -> bool) -> String {
    let digit = |four: &[&str]| {
        let bit = |i: usize| four.get(i).is_some_and(|case| wanted(case));
        (0..4).fold(0, |sum, i| 2 * sum + u32::from(bit(i)))
    };
    let digits: String = cases
        .chunks(4)
        .map(|four| char::from_digit(digit(four), 16).unwrap())
        .collect();
    format!("run samples={samples} cases={digits}")
}

/// A metric's only replicate.
pub fn replicate(metric: &Metric) -> &Replicate {
    let [replicate] = metric.replicates.as_slice() else {
        panic!("{}: {} replicates", metric.id, metric.replicates.len());
    };
    replicate
}

/// Counts the skipped cases by reason. All other cases must be ok.
pub fn skips(image: &Image, run: &Run) -> BTreeMap<String, usize> {
    assert_eq!(
        run.damage,
        kernmark::stream::run::Damage::default(),
        "{}",
        image.name
    );
    assert!(run.sessions.iter().all(|s| s.complete), "{}", image.name);
    let mut skips = BTreeMap::new();
    let mut cases = std::collections::BTreeSet::new();
    for metric in &run.metrics {
        match &replicate(metric).outcome {
            Outcome::Ok => {}
            Outcome::Skipped(why) => {
                if cases.insert(&metric.case) {
                    *skips.entry(why.clone()).or_insert(0) += 1;
                }
            }
            other => panic!("{}: {}: {other:?}", image.name, metric.id),
        }
    }
    skips
}

/// The records of these kinds by case, without sequence numbers and checksums.
pub fn records(session: &Session, kinds: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut case = String::new();
    let mut records: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in session.stream.split(|&b| b == b'\n') {
        let kernmark::stream::record::Line::Record(record) = kernmark::stream::record::parse(line)
        else {
            continue;
        };
        if record.kind() == "begin" {
            record.get("case").unwrap().clone_into(&mut case);
        }
        if kinds.contains(&record.kind()) {
            let said = format!(
                "{} {:?} {:?} {:?}",
                record.kind(),
                record.pairs(),
                record.counts(),
                record.text()
            );
            records.entry(case.clone()).or_default().push(said);
        }
    }
    records
}

/// The median of a metric that was measured successfully.
pub fn median(run: &Run, id: &str) -> f64 {
    let metric = run.metrics.iter().find(|m| m.id == id);
    let replicate = replicate(metric.unwrap_or_else(|| panic!("no {id}")));
    assert_eq!(replicate.outcome, Outcome::Ok, "{id}");
    replicate.histogram.median().unwrap()
}
