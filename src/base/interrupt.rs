// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns the signals by which a user stops a program (SIGINT, SIGTERM, SIGHUP) into a file descriptor
//! that can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Becomes readable when one of the signals arrives, and stays readable.
#[derive(Debug)]
pub struct Interrupt {
    pipe: UnixStream,
}

impl Interrupt {
    /// Catches the signals from now on, except those that this process inherited as ignored
    /// (`nohup` sets SIGHUP so).
    ///
    /// # Errors
    ///
    /// The system refuses a socket pair or a signal handler.
    pub fn install() -> io::Result<Self> {
        let (pipe, write) = UnixStream::pair()?;
        let ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) == 0 {
                signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
            }
        }
        Ok(Interrupt { pipe })
    }

    /// Whether one of the signals has arrived.
    #[must_use]
    pub fn raised(&self) -> bool {
        self.raised_within(Duration::ZERO)
    }

    /// Waits until one of the signals arrives, for at most `time`. Whether one has arrived.
    #[must_use]
    pub fn raised_within(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&left)) {
                Err(Errno::INTR) => {}
                ready => return matches!(ready, Ok(ready) if ready > 0),
            }
        }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// The signals that this process ignores: bit n - 1 for signal n. 0 when `/proc` is not readable.
fn ignored_signals() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}
