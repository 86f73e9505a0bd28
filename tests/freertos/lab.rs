// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images of the `FreeRTOS` port, each built once.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use crate::common::{here, make, scratch, skipped};
use crate::emulated::{
    self, installed, Board, Image, ARM_COMPILER, ARM_EMULATOR, RISCV_COMPILER, RISCV_EMULATOR,
};

pub const M4: Board = Board {
    name: "m4",
    compiler: ARM_COMPILER,
    emulator: ARM_EMULATOR,
    machine: "netduinoplus2",
    shift: 0,
};
pub const M3: Board = Board {
    name: "m3",
    compiler: ARM_COMPILER,
    emulator: ARM_EMULATOR,
    machine: "netduino2",
    shift: 0,
};
pub const AN386: Board = Board {
    name: "an386",
    compiler: ARM_COMPILER,
    emulator: ARM_EMULATOR,
    machine: "mps2-an386",
    shift: 7,
};
pub const AN385: Board = Board {
    name: "an385",
    compiler: ARM_COMPILER,
    emulator: ARM_EMULATOR,
    machine: "mps2-an385",
    shift: 7,
};
pub const VIRT: Board = Board {
    name: "virt",
    compiler: RISCV_COMPILER,
    emulator: RISCV_EMULATOR,
    machine: "virt",
    shift: 0,
};

/// Why the kernel's sources are missing, in make's words.
fn no_sources() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let output = Command::new("make")
            .args(["-s", "-n", "-C"])
            .arg(here("agent/ports/freertos"))
            .arg(format!("OUT={}", scratch("freertos-asked").display()))
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let advice = said
            .lines()
            .find_map(|line| Some(&line[line.find("the sources of FreeRTOS")?..]));
        advice.map(|advice| advice.replace(".  Stop.", ""))
    });
    missing.as_deref()
}

/// Whether a test that needs these boards can run here; reports why if it cannot.
pub fn able(what: &str, boards: &[&Board]) -> bool {
    let test = format!("FreeRTOS: {what}");
    if !installed(&test, boards) {
        return false;
    }
    if let Some(why) = no_sources() {
        skipped(&test, why);
        return false;
    }
    true
}

/// The image built with these Makefile settings.
pub fn image(board: &'static Board, settings: &[&str]) -> Arc<Image> {
    emulated::image("freertos", board, settings, |out| {
        build(board, settings, out);
        out.join("kernmark.elf")
    })
}

pub fn build(board: &Board, settings: &[&str], out: &Path) {
    let mut settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
    settings.push(format!("BOARD={}", board.name));
    make("freertos", out, &settings);
}

/// A setting whose value is a file or folder of this repository.
pub fn setting(name: &str, path: &str) -> String {
    format!("{name}={}", here(path).display())
}
