// SPDX-License-Identifier: MIT OR Apache-2.0

//! A serial line: raw, 8 data bits, no parity, 1 stop bit.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{flock, open, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{
    ioctl_tiocexcl, ioctl_tiocnxcl, tcflush, tcgetattr, tcsetattr, ControlModes, OptionalActions,
    QueueSelector, Termios,
};

use super::process::{poll_for, GLANCE};
use super::stream::{Bounds, Starts, Until, Watch};
use super::{Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;
use crate::stream::record::{self, Line as Parsed};

/// How often an order is said to a board that does not answer: it may still be starting.
const REPEAT: Duration = Duration::from_secs(1);

/// An open line that no other program reads from.
#[derive(Debug)]
pub struct Line {
    file: File,
    device: PathBuf,
    /// Its settings as they were found.
    before: Termios,
    /// What came after the last session.
    rest: Vec<u8>,
}

impl Line {
    /// Opens a line.
    ///
    /// # Errors
    ///
    /// There is no such line, it may not be opened, or somebody else has it; the message says what
    /// to do.
    pub fn open(device: &Path, baud: u32) -> Result<Line, String> {
        let name = device.display();
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match open(device, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => {
                return Err(format!(
                    "there is no {name}; is the board connected? (`ls /dev/tty*`)"
                ))
            }
            Err(Errno::ACCESS) => {
                return Err(format!(
                    "{name} may not be opened: it takes the group dialout; \
                     sudo usermod -aG dialout $USER, and log in again"
                ))
            }
            Err(Errno::BUSY) => return Err(in_use(device)),
            Err(error) => return Err(format!("cannot open {name}: {error}")),
        };
        match set_up(&file, baud) {
            Err(Errno::WOULDBLOCK) => Err(in_use(device)),
            Err(Errno::NOTTY) => Err(format!("{name} is no serial line")),
            Err(error) => Err(format!("{name} cannot be set to {baud} baud: {error}")),
            Ok(before) => Ok(Line {
                file,
                device: device.to_owned(),
                before,
                rest: Vec::new(),
            }),
        }
    }

    /// Forgets what came until now.
    pub fn forget(&mut self) {
        self.rest.clear();
        // What cannot be forgotten comes in front of the first `hello`, where nothing is taken.
        let _ = tcflush(&self.file, QueueSelector::IFlush);
    }

    /// Reads a session, from its `hello` on; says `order` first, if there is one.
    ///
    /// # Errors
    ///
    /// The line cannot be waited for.
    pub fn session(
        &mut self,
        order: Option<&str>,
        bounds: Bounds,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<Ending, String> {
        let mut begun = false;
        // A line is listened to at any time, also in the middle of a session.
        let mut take = |line: &[u8]| {
            begun |=
                matches!(record::parse(line), Parsed::Record(record) if record.kind() == "hello");
            if begun {
                take(line);
            }
        };
        let mut watch = Watch::new(bounds, std::mem::take(&mut self.rest));
        let ending = self.hear(order, &mut watch, interrupt, &mut take);
        match &ending {
            Ok(Ending::Done) => self.rest = watch.into_rest(),
            _ => watch.flush(&mut take),
        }
        ending.map_err(|error| format!("cannot wait for {}: {error}", self.device.display()))
    }

    fn hear(
        &mut self,
        order: Option<&str>,
        watch: &mut Watch,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Ending> {
        if let Some(ending) = watch.bytes(b"", take) {
            return Ok(ending);
        }
        let lost = |why: &str| Ok(Ending::Lost(format!("{} {why}", self.device.display())));
        let mut said: Option<Instant> = None;
        let mut buffer = [0; 4096];
        loop {
            if let Some(order) = order.filter(|_| watch.is_waiting()) {
                if said.is_none_or(|said| said.elapsed() >= REPEAT) {
                    said = Some(Instant::now());
                    // A line that is full or gone is told by what does not come back.
                    let _ = self.file.write(format!("{order}\n").as_bytes());
                }
            }
            let mut fds = [
                PollFd::new(interrupt, PollFlags::IN),
                PollFd::new(&self.file, PollFlags::IN),
            ];
            poll_for(&mut fds, GLANCE)?;
            let [interrupted, ready] = fds.map(|fd| !fd.revents().is_empty());
            if interrupted {
                return Ok(Ending::Interrupted);
            }
            if ready {
                match self.file.read(&mut buffer) {
                    Ok(0) => return lost("was closed"),
                    Ok(count) => {
                        if let Some(ending) = watch.bytes(&buffer[..count], take) {
                            return Ok(ending);
                        }
                    }
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                        ) => {}
                    Err(_) => return lost("is gone; was the board unplugged?"),
                }
            }
            if let Some(ending) = watch.overdue(Duration::ZERO) {
                return Ok(ending);
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A line that is gone needs neither.
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.before);
        let _ = ioctl_tiocnxcl(&self.file);
    }
}

fn in_use(device: &Path) -> String {
    let name = device.display();
    format!("{name} is in use by another program; end that first (`fuser -v {name}` shows it)")
}

/// Takes the line for this program alone and sets it; returns its settings as they were.
fn set_up(file: &File, baud: u32) -> Result<Termios, Errno> {
    let before = tcgetattr(file)?;
    let mut settings = before.clone();
    // The programs that do not ask the kernel ask for this lock.
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    ioctl_tiocexcl(file)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL | ControlModes::CS8;
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
    settings.set_speed(baud)?;
    tcsetattr(file, OptionalActions::Now, &settings)?;
    Ok(before)
}

/// Listens to a serial line.
#[derive(Debug)]
pub struct Serial<'a> {
    line: Line,
    baud: u32,
    silence: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> Serial<'a> {
    /// Opens the line.
    ///
    /// # Errors
    ///
    /// As [`Line::open`].
    pub fn new(
        device: &Path,
        baud: u32,
        silence: Duration,
        interrupt: &'a Interrupt,
    ) -> Result<Self, String> {
        Ok(Serial {
            line: Line::open(device, baud)?,
            baud,
            silence,
            interrupt,
        })
    }
}

impl Target for Serial<'_> {
    fn orders(&self) -> Orders {
        Orders::None
    }

    fn session(&mut self, order: &Order, take: &mut dyn FnMut(&[u8])) -> Result<Ending, String> {
        let bounds = Bounds {
            silence: self.silence,
            limit: None,
            unit: None,
            baud: Some(self.baud),
            starts: Starts::Once,
            until: match order {
                Order::List => Until::Bye,
                Order::Run { .. } | Order::Listen => Until::Measured(1),
            },
        };
        self.line.session(None, bounds, self.interrupt, take)
    }
}
