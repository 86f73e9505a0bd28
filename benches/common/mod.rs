// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shared by several benches: load on the machine.

use std::process::{Child, Command};

/// Busy processes that keep the CPUs loaded. Dropping this value kills them.
pub struct Load(Vec<Child>);

impl Load {
    /// Starts this many of them.
    pub fn start(processes: usize) -> std::io::Result<Self> {
        // Each checks now and then whether the bench is still running, in case that was killed.
        const BUSY: &str = "while kill -0 $PPID; do \
             i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done 2>/dev/null";
        (0..processes)
            .map(|_| Command::new("sh").args(["-c", BUSY]).spawn())
            .collect::<std::io::Result<_>>()
            .map(Self)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
