// SPDX-License-Identifier: MIT OR Apache-2.0

//! `--on serial:DEVICE`: the record stream of a board, read over a serial line. The line is raw,
//! with 8 data bits, no parity and 1 stop bit.

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

use super::process::{poll_for, POLL_INTERVAL};
use super::stream::{Bounds, Starts, Until, Watch};
use super::{Ending, Order, Orders, Target};
use crate::base::interrupt::Interrupt;
use crate::stream::record::{self, Line};

/// Interval at which an order is repeated until the board answers. It may still be booting.
const ORDER_INTERVAL: Duration = Duration::from_secs(1);

/// An open serial line. No other program can read from it.
#[derive(Debug)]
pub struct SerialLine {
    file: File,
    device: PathBuf,
    /// The settings to restore.
    previous: Termios,
    /// Bytes that came after the last session.
    rest: Vec<u8>,
}

impl SerialLine {
    /// Opens and configures a line.
    ///
    /// # Errors
    ///
    /// The device does not exist, is in use, or may not be opened. The message says what to do.
    pub fn open(device: &Path, baud: u32) -> Result<SerialLine, String> {
        let name = device.display();
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match open(device, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => {
                return Err(format!(
                    "{name} does not exist; is the board connected? (`ls /dev/tty*`)"
                ))
            }
            Err(Errno::ACCESS) => {
                return Err(format!(
                    "no permission to open {name}; join the group dialout (`sudo usermod -aG dialout $USER`) \
                     and log in again"
                ))
            }
            Err(Errno::BUSY) => return Err(in_use(device)),
            Err(error) => return Err(format!("cannot open {name}: {error}")),
        };
        match set_up(&file, baud) {
            Err(Errno::WOULDBLOCK) => Err(in_use(device)),
            Err(Errno::NOTTY) => Err(format!("{name} is not a serial line")),
            Err(error) => Err(format!("cannot set {name} to {baud} baud: {error}")),
            Ok(previous) => Ok(SerialLine {
                file,
                device: device.to_owned(),
                previous,
                rest: Vec::new(),
            }),
        }
    }

    /// Discards all input received so far.
    pub fn discard_input(&mut self) {
        self.rest.clear();
        // If this fails, the input precedes the next `hello`, where it is ignored.
        let _ = tcflush(&self.file, QueueSelector::IFlush);
    }

    /// Reads a session from its `hello` on. Sends `order` first, if there is one.
    ///
    /// # Errors
    ///
    /// Waiting for input on the line failed.
    pub fn session(
        &mut self,
        order: Option<&str>,
        bounds: Bounds,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<Ending, String> {
        let mut begun = false;
        // Reading may start in the middle of a session.
        let mut take = |line: &[u8]| {
            begun |=
                matches!(record::parse(line), Line::Record(record) if record.kind() == "hello");
            if begun {
                take(line);
            }
        };
        let mut watch = Watch::new(bounds, std::mem::take(&mut self.rest));
        let ending = self.read(order, &mut watch, interrupt, &mut take);
        match &ending {
            Ok(Ending::Done) => self.rest = watch.into_rest(),
            _ => watch.flush(&mut take),
        }
        ending.map_err(|error| format!("cannot wait for {}: {error}", self.device.display()))
    }

    fn read(
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
        let mut last_sent: Option<Instant> = None;
        let mut buffer = [0; 4096];
        loop {
            if let Some(order) = order.filter(|_| watch.has_no_record()) {
                if last_sent.is_none_or(|sent| sent.elapsed() >= ORDER_INTERVAL) {
                    last_sent = Some(Instant::now());
                    // If the line is full or gone, no answer comes and the order is repeated.
                    let _ = self.file.write(format!("{order}\n").as_bytes());
                }
            }
            let mut fds = [
                PollFd::new(interrupt, PollFlags::IN),
                PollFd::new(&self.file, PollFlags::IN),
            ];
            poll_for(&mut fds, POLL_INTERVAL)?;
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
                    Err(_) => return lost("disappeared; was the board unplugged?"),
                }
            }
            if let Some(ending) = watch.timeout(Duration::ZERO) {
                return Ok(ending);
            }
        }
    }
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        // Errors do not matter: if the line is gone, there is nothing to restore.
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.previous);
        let _ = ioctl_tiocnxcl(&self.file);
    }
}

fn in_use(device: &Path) -> String {
    let name = device.display();
    format!("{name} is in use by another program; end it first (`fuser -v {name}` shows it)")
}

/// Locks the line for this program and configures it. Returns its previous settings.
fn set_up(file: &File, baud: u32) -> Result<Termios, Errno> {
    let previous = tcgetattr(file)?;
    let mut settings = previous.clone();
    // Some programs respect only this advisory lock, others only TIOCEXCL.
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    ioctl_tiocexcl(file)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL | ControlModes::CS8;
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
    settings.set_speed(baud)?;
    tcsetattr(file, OptionalActions::Now, &settings)?;
    Ok(previous)
}

/// A board that sends its records over a serial line and takes no orders.
#[derive(Debug)]
pub struct Serial<'a> {
    line: SerialLine,
    baud: u32,
    silence: Duration,
    interrupt: &'a Interrupt,
}

impl<'a> Serial<'a> {
    /// Opens the line.
    ///
    /// # Errors
    ///
    /// The same as of [`SerialLine::open`].
    pub fn new(
        device: &Path,
        baud: u32,
        silence: Duration,
        interrupt: &'a Interrupt,
    ) -> Result<Self, String> {
        Ok(Serial {
            line: SerialLine::open(device, baud)?,
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
