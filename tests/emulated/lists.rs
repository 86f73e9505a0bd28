// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lists of executed instructions: by the plugin (`agent/trace`), and from the emulator's log.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use kernmark::stream::run::Run;
use kernmark::target::plugin::{log_into, Step};
use kernmark::trace::image;
use kernmark::trace::list::List;
use kernmark::trace::log::{convert, Code};
use kernmark::trace::symbols::Symbols;
use kernmark::trace::{Seen, Trace};

use crate::common::{here, scratch, skipped, succeeds};
use crate::emulated::{emulator, order, read, Image};

/// A session whose instructions were listed.
pub struct Listed {
    pub run: Run,
    pub list: List,
}

/// The plugin, built once.
fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let out = scratch("trace-plugin");
        succeeds(
            Command::new("make")
                .args(["-s", "STRICT=-Werror", "-C"])
                .arg(here("agent/trace"))
                .arg(format!("OUT={}", out.display()))
                .env_remove("MAKEFLAGS"),
        );
        out.join("trace.so")
    })
}

/// Whether this emulator takes the plugin; reports why if it does not.
pub fn takes_plugin(test: &str, image: &Image) -> bool {
    let output = Command::new(image.board.emulator.name)
        .args(["-M", "none", "-display", "none", "-plugin"])
        .arg(format!("{},check=on", plugin().display()))
        .output()
        .unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        skipped(test, &format!("the emulator takes no plugin: {why}"));
    }
    output.status.success()
}

fn program(image: &Image) -> (Vec<u8>, image::Image) {
    let bytes = fs::read(&image.elf).unwrap();
    let program = image::Image::read("kernmark.elf", &bytes).unwrap();
    (bytes, program)
}

/// Runs an order with the plugin.
pub fn by_plugin(image: &Image, order: &str) -> Listed {
    let folder = tempfile::tempdir().unwrap();
    let [marks, list] = ["marks", "list"].map(|name| folder.path().join(name));
    fs::write(&marks, program(image).1.marks()).unwrap();
    let setting = format!(
        "{},marks={},into={}",
        plugin().display(),
        marks.display(),
        list.display()
    );
    let output = emulator(image, order, &["-plugin", &setting])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", image.name);
    let list = BufReader::new(File::open(list).unwrap());
    Listed {
        run: read(&output.stdout),
        list: List::read(list).unwrap(),
    }
}

/// Runs an order with the emulator's log.
pub fn by_log(image: &Image, order: &str) -> Listed {
    let help = succeeds(Command::new(image.board.emulator.name).arg("--help"));
    let step = if help.contains("one-insn-per-tb") {
        Step::OneInstruction
    } else {
        Step::Singlestep
    };
    let mut words = Vec::new();
    log_into(Path::new("/dev/stderr"), step, &mut words);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = emulator(image, order, &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let stream = thread::spawn(move || {
        let mut stream = Vec::new();
        stdout.read_to_end(&mut stream).map(|_| stream)
    });
    let (bytes, program) = program(image);
    let code = Code::read("kernmark.elf", &bytes).unwrap();
    let log = BufReader::with_capacity(1 << 20, child.stderr.take().unwrap());
    let mut list = Vec::new();
    convert(log, &program.marks(), &code, None, &mut list).unwrap();
    assert!(child.wait().unwrap().success(), "{}", image.name);
    Listed {
        run: read(&stream.join().unwrap().unwrap()),
        list: List::read(&list[..]).unwrap(),
    }
}

/// Equal samples in a row: how many, and the addresses of the readings with those of the path that
/// led to each.
type Rows = Vec<(u64, Vec<(u64, Vec<u64>)>)>;

impl Listed {
    /// The rows of each part of each case, without numbers of instructions and paths.
    pub fn rows(&self) -> Vec<Vec<Rows>> {
        let address = |number: u32| self.list.instruction(number).unwrap().address;
        let rows = |part: &Vec<kernmark::trace::list::Row>| {
            let mut rows = Rows::new();
            for row in part {
                let readings = row.readings.iter().map(|reading| {
                    let path = reading.path.map(|path| &self.list.paths[path]);
                    let path = path
                        .into_iter()
                        .flat_map(|path| path.instructions().unwrap());
                    (address(reading.site), path.map(address).collect())
                });
                let readings = readings.collect();
                match rows.last_mut() {
                    Some(last) if last.1 == readings => last.0 += row.samples,
                    _ => rows.push((row.samples, readings)),
                }
            }
            rows
        };
        let cases = self.list.cases.iter();
        cases
            .map(|case| case.parts.iter().map(rows).collect())
            .collect()
    }

    /// The trace of all cases.
    pub fn trace(mut self, image: &Image) -> Trace {
        self.run.catalog = order(image, "list").run().catalog;
        let cases: Vec<String> = self.run.catalog.iter().map(|e| e.case.clone()).collect();
        let program = program(image).1;
        let seen = Seen {
            list: self.list,
            set: program.set,
            symbols: Symbols::new(program.symbols),
            has_counts: false,
        };
        Trace::new(&self.run, 0, &cases, seen)
    }
}
