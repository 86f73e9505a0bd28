// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether FreeRTOS can be built and run here.

use std::env;

use crate::common::skipped;

/// Whether it cannot. If so, reports `what` as skipped.
pub fn lacks_freertos(what: &str) -> bool {
    let path = env::var_os("PATH").unwrap();
    let is_installed =
        |program: &str| env::split_paths(&path).any(|dir| dir.join(program).is_file());
    for program in ["arm-none-eabi-gcc", "qemu-system-arm"] {
        if !is_installed(program) {
            skipped(what, &format!("there is no {program}"));
            return true;
        }
    }
    false
}
