// SPDX-License-Identifier: MIT OR Apache-2.0

//! What several benches need.

use std::process::{Child, Command};

/// Processes that do nothing but use the CPUs; gone when dropped.
pub struct Load(Vec<Child>);

impl Load {
    /// Starts so many of them.
    pub fn start(processes: usize) -> std::io::Result<Self> {
        // Each looks now and then whether the bench is still there, however that ended.
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
