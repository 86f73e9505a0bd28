// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images of the Zephyr port, each built once, from the Zephyr that the environment names.

use std::process::Command;
use std::sync::{Arc, OnceLock};

use crate::common::{here, skipped, succeeds};
use crate::emulated::{
    self, installed, Board, Image, ARM_COMPILER, ARM_EMULATOR, RISCV_COMPILER, RISCV_EMULATOR,
};

pub const AN385: Board = Board {
    name: "mps2/an385",
    compiler: ARM_COMPILER,
    emulator: ARM_EMULATOR,
    machine: "mps2-an385",
    shift: 7,
};
pub const RISCV32: Board = Board {
    name: "qemu_riscv32",
    compiler: RISCV_COMPILER,
    emulator: RISCV_EMULATOR,
    machine: "virt",
    shift: 0,
};

/// Why no image can be built here, in the words of the port's own probe.
fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let output = Command::new(here("agent/ports/zephyr/find-zephyr.sh"))
            .args(["", AN385.name])
            .output()
            .unwrap();
        (!output.status.success())
            .then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
    });
    missing.as_deref()
}

/// Whether a test that needs these boards can run here; reports why if it cannot.
pub fn able(what: &str, boards: &[&Board]) -> bool {
    let test = format!("Zephyr: {what}");
    if let Some(why) = missing() {
        skipped(&test, why);
        return false;
    }
    installed(&test, boards)
}

/// The image built with these settings of `CMake`.
pub fn image(board: &'static Board, settings: &[&str]) -> Arc<Image> {
    emulated::image("zephyr", board, settings, |out| {
        succeeds(
            Command::new(here("agent/ports/zephyr/build.sh"))
                .arg(out)
                .args(["", board.name])
                .args(settings),
        );
        out.join("build/zephyr/zephyr.elf")
    })
}

/// A setting whose value is a file or folder of this repository.
pub fn setting(name: &str, path: &str) -> String {
    format!("-D{name}={}", here(path).display())
}
