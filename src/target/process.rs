// SPDX-License-Identifier: MIT OR Apache-2.0

//! A child process: started as the leader of a group of its own, listened to, and ended with all
//! of its group.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitIdOptions};

use super::stream::{Bounds, Watch, PARTING};
use super::Ending;
use crate::base::interrupt::Interrupt;
use crate::machine::MemoryGroup;

/// Bytes of standard error, and of what a tool prints, that are kept: the end.
const KEPT: usize = 16 << 10;

/// How often something quiet is looked at.
pub const GLANCE: Duration = Duration::from_millis(100);

/// Who listens to a process.
pub trait Listener {
    /// Takes what came on its standard output; `Some` when it is to be ended.
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending>;

    /// Whether [`Listener::overdue`] needs to be told the processor time.
    fn limits_work(&self) -> bool;

    /// `Some` when it is to be ended for what it does not do, or for the processor time `worked`
    /// that its group has used.
    fn overdue(&self, worked: Duration) -> Option<Ending>;
}

/// A session, and who takes its lines.
struct Session<'a> {
    watch: Watch,
    take: &'a mut dyn FnMut(&[u8]),
}

impl Listener for Session<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending> {
        self.watch.bytes(bytes, self.take)
    }

    fn limits_work(&self) -> bool {
        self.watch.limits_work()
    }

    fn overdue(&self, worked: Duration) -> Option<Ending> {
        self.watch.overdue(worked)
    }
}

/// Starts a process as the leader of a group, with pipes for what it says.
///
/// # Errors
///
/// It cannot be started.
pub fn spawn(command: &mut Command, stdin: Stdio) -> io::Result<Child> {
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Listens to an agent until its session is over; then all processes of its group are gone.
///
/// # Errors
///
/// It cannot be listened to.
pub fn session(
    child: Child,
    bounds: Bounds,
    interrupt: &Interrupt,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Ending, String> {
    let mut session = Session {
        watch: Watch::new(bounds, Vec::new()),
        take,
    };
    let ended = listen(child, interrupt, &mut session)
        .map_err(|error| format!("cannot read from the agent: {error}"))?;
    session.watch.flush(session.take);
    Ok(match ended {
        Ended::Stopped(ending) => ending,
        Ended::Alone(status, said, memory) => match ending(status, &said, memory) {
            Ending::Done if !session.watch.may_end() => Ending::Unfinished,
            ending => ending,
        },
    })
}

/// Starts an agent that takes its order on standard input, and listens to it.
///
/// # Errors
///
/// It cannot be started or listened to.
pub fn ordered_session(
    command: &mut Command,
    line: &str,
    bounds: Bounds,
    interrupt: &Interrupt,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Ending, String> {
    let mut child = start(command, Stdio::piped())?;
    // Open until the session is over: an end of the input may end an emulator. One that does not
    // read, or has ended, is told by what it prints.
    let stdin = child.stdin.take();
    if let Some(stdin) = &stdin {
        let mut stdin: &std::process::ChildStdin = stdin;
        let _ = writeln!(stdin, "{line}");
    }
    session(child, bounds, interrupt, take)
}

/// Starts a program that the user's description of a target names.
///
/// # Errors
///
/// It cannot be started; the message names it.
pub fn start(command: &mut Command, stdin: Stdio) -> Result<Child, String> {
    spawn(command, stdin).map_err(|error| {
        let program = command.get_program().to_string_lossy();
        format!("cannot start {program}: {error}")
    })
}

/// How a tool, which is no agent, did its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// It succeeded; the end of what it printed.
    Done(Vec<u8>),
    /// It failed: in what way, and the end of its standard error.
    Failed(String, Vec<u8>),
    /// The user asked to stop; it was killed.
    Interrupted,
}

/// Keeps the end of what a tool prints, and the time.
struct Clerk {
    printed: Vec<u8>,
    started: Instant,
    limit: Duration,
}

impl Listener for Clerk {
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending> {
        keep(&mut self.printed, bytes);
        None
    }

    fn limits_work(&self) -> bool {
        false
    }

    fn overdue(&self, _worked: Duration) -> Option<Ending> {
        (self.started.elapsed() >= self.limit).then_some(Ending::Limit(self.limit))
    }
}

/// Runs a tool to its end, or until `limit`.
///
/// # Errors
///
/// It cannot be started or listened to.
pub fn work(command: &mut Command, limit: Duration, interrupt: &Interrupt) -> Result<Work, String> {
    let child = start(command, Stdio::null())?;
    let mut clerk = Clerk {
        printed: Vec::new(),
        started: Instant::now(),
        limit,
    };
    let ended = listen(child, interrupt, &mut clerk)
        .map_err(|error| format!("cannot wait for a program: {error}"))?;
    Ok(match ended {
        Ended::Stopped(Ending::Interrupted) => Work::Interrupted,
        Ended::Stopped(_) => {
            let how = format!("did not end within {} s", limit.as_secs_f64());
            Work::Failed(how, Vec::new())
        }
        Ended::Alone(status, ..) if status.success() => Work::Done(clerk.printed),
        Ended::Alone(status, said, _) => Work::Failed(format!("failed ({status})"), said),
    })
}

/// How a process came to its end.
enum Ended {
    /// By itself; the end of its standard error; that its control group had no memory left.
    Alone(ExitStatus, Vec<u8>, Option<String>),
    /// It was killed, for this.
    Stopped(Ending),
}

/// Listens until the process has ended or has to be killed; then all of its group is gone.
fn listen(child: Child, interrupt: &Interrupt, listener: &mut dyn Listener) -> io::Result<Ended> {
    let mut process = Process(child);
    let mut said = Vec::new();
    let mut groups = Vec::from_iter(process.memory());
    let heard = process.hear(interrupt, listener, &mut said, &mut groups);
    let status = process.end()?;
    let memory = groups.iter().find_map(MemoryGroup::exhausted);
    Ok(match heard? {
        Some(ending) => Ended::Stopped(ending),
        None => Ended::Alone(status, said, memory),
    })
}

/// A process that runs, leader of a group.
struct Process(Child);

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn memory(&self) -> Option<MemoryGroup> {
        MemoryGroup::of(self.0.id())
    }

    /// Reads until the process has ended (`None`) or has to be killed. What it was started by may
    /// have put it into another control group by the time it speaks: that one joins `groups`.
    fn hear(
        &mut self,
        interrupt: &Interrupt,
        listener: &mut dyn Listener,
        said: &mut Vec<u8>,
        groups: &mut Vec<MemoryGroup>,
    ) -> io::Result<Option<Ending>> {
        let mut output = self.0.stdout.take();
        let mut error = self.0.stderr.take();
        let mut buffer = vec![0; 64 << 10];
        let mut closed = None;
        let mut meter = Meter::new(self.pid());
        loop {
            let ready = wait(interrupt, output.as_ref(), error.as_ref())?;
            if ready.interrupt {
                return Ok(Some(Ending::Interrupted));
            }
            if ready.error {
                let count = read(&mut error, &mut buffer)?;
                keep(said, &buffer[..count]);
            }
            if ready.output {
                if groups.len() < 2 {
                    groups.extend(self.memory());
                }
                let count = read(&mut output, &mut buffer)?;
                if let Some(ending) = listener.bytes(&buffer[..count]) {
                    return Ok(Some(ending));
                }
                if output.is_none() {
                    closed = Some(Instant::now());
                }
            }
            // Its children may hold the pipes open after the process itself has ended.
            if !ready.output && !ready.error && self.has_ended()? {
                return Ok(None);
            }
            if closed.is_some_and(|since: Instant| since.elapsed() >= PARTING) {
                return Ok(Some(Ending::Silent(PARTING)));
            }
            let worked = if listener.limits_work() {
                meter.read()
            } else {
                Duration::ZERO
            };
            if let Some(ending) = listener.overdue(worked) {
                return Ok(Some(ending));
            }
        }
    }

    /// Whether the process itself has ended; it stays a zombie, so that its number is not used again.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends what is left of the group and returns how the process itself ended.
    fn end(mut self) -> io::Result<ExitStatus> {
        // No such group: all of it has ended, which is what is wanted.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.0.wait()
    }
}

/// How often the processor time of a group is looked up.
const METERED: Duration = Duration::from_millis(500);

/// The processor time that the processes of a group have used, those included that have ended and
/// that one of them waited for.
struct Meter {
    group: i32,
    looked: Instant,
    worked: Duration,
}

impl Meter {
    fn new(leader: Pid) -> Self {
        Meter {
            group: leader.as_raw_nonzero().get(),
            looked: Instant::now(),
            worked: Duration::ZERO,
        }
    }

    /// What it was when it was looked up last.
    fn read(&mut self) -> Duration {
        if self.looked.elapsed() >= METERED {
            self.looked = Instant::now();
            // A process that has ended meanwhile takes its time along, unless it was waited for.
            self.worked = self.worked.max(self.look_up());
        }
        self.worked
    }

    fn look_up(&self) -> Duration {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let stats = processes.filter_map(|entry| fs::read(entry.path().join("stat")).ok());
        let ticks: u64 = stats.filter_map(|stat| ticks(&stat, self.group)).sum();
        Duration::from_millis(ticks * 1000 / clock_ticks_per_second().max(1))
    }
}

/// The clock ticks that a process of this group has used, by the text of its `/proc/PID/stat`: its
/// own, and those of its children that have ended. `None` for a process of another group.
fn ticks(stat: &[u8], group: i32) -> Option<u64> {
    // Its name, in brackets, may be anything.
    let name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[name + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    (fields.get(2)?.parse() == Ok(group)).then_some(())?;
    let times = fields.get(11..15)?.iter();
    Some(times.filter_map(|time| time.parse::<u64>().ok()).sum())
}

/// What can be read.
struct Ready {
    interrupt: bool,
    output: bool,
    error: bool,
}

/// Waits until something can be read, at most [`GLANCE`].
fn wait(
    interrupt: &Interrupt,
    output: Option<&ChildStdout>,
    error: Option<&ChildStderr>,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(interrupt, PollFlags::IN)];
    fds.extend(output.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(error.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    // Both pipes closed: what is left is to wait for the end of the process.
    let glance = if fds.len() == 1 { GLANCE / 50 } else { GLANCE };
    poll_for(&mut fds, glance)?;
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = |present: bool| present && ready.next().unwrap_or(false);
    Ok(Ready {
        interrupt: next(true),
        output: next(output.is_some()),
        error: next(error.is_some()),
    })
}

/// Waits until something happens, at most `time`, which is less than a second.
///
/// # Errors
///
/// The system cannot wait for these.
pub fn poll_for(fds: &mut [PollFd], time: Duration) -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads once; at the end of the pipe closes it and returns 0.
fn read<R: Read>(pipe: &mut Option<R>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(source) = pipe else { return Ok(0) };
    let count = match source.read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
        other => other?,
    };
    if count == 0 {
        *pipe = None;
    }
    Ok(count)
}

/// Appends to what is kept, and drops what is too old.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let excess = kept.len().saturating_sub(KEPT);
    kept.drain(..excess);
}

/// The last lines of standard error, in one line.
#[must_use]
pub fn last_lines(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

fn ending(status: ExitStatus, said: &[u8], memory: Option<String>) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Done,
        (Some(status), _) => Ending::Status {
            status,
            said: last_lines(said),
        },
        (None, signal) => Ending::Signal {
            signal: signal.unwrap_or(0),
            said: memory.unwrap_or_else(|| last_lines(said)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_standard_error_is_kept_in_one_line() {
        let mut said = Vec::new();
        keep(&mut said, &[b'x'; KEPT]);
        keep(&mut said, b"\none\ntwo\n\nthree\n");
        assert_eq!(said.len(), KEPT);
        assert_eq!(last_lines(&said), "one / two / three");
    }

    #[test]
    fn the_time_of_a_group_is_that_of_its_processes_and_their_dead() {
        let stat = b"7 (a ) R 9) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 1";
        assert_eq!(ticks(stat, 42), Some(4330));
        assert_eq!(ticks(stat, 7), None);
        assert_eq!(ticks(b"7 (cut) S 1 42", 42), None);
        assert_eq!(ticks(b"", 42), None);
    }

    /// Ends what has worked for a while, however long it took to.
    struct Overseer;

    impl Listener for Overseer {
        fn bytes(&mut self, _bytes: &[u8]) -> Option<Ending> {
            None
        }

        fn limits_work(&self) -> bool {
            true
        }

        fn overdue(&self, worked: Duration) -> Option<Ending> {
            (worked >= Duration::from_millis(50)).then_some(Ending::Work(worked))
        }
    }

    #[test]
    fn what_works_too_much_is_ended_and_what_waits_is_not() {
        let interrupt = Interrupt::install().unwrap();
        let run = |script: &str| {
            let child = start(Command::new("sh").args(["-c", script]), Stdio::null()).unwrap();
            listen(child, &interrupt, &mut Overseer).unwrap()
        };
        // The work is a child's.
        let ended = run("(while :; do :; done) & wait");
        assert!(matches!(ended, Ended::Stopped(Ending::Work(_))));
        let ended = run("sleep 2");
        assert!(matches!(ended, Ended::Alone(status, _, _) if status.success()));
    }

    #[test]
    fn a_tool_succeeds_fails_or_takes_too_long() {
        let interrupt = Interrupt::install().unwrap();
        let run = |script: &str, seconds| {
            let mut command = Command::new("sh");
            work(
                command.args(["-c", script]),
                Duration::from_secs_f64(seconds),
                &interrupt,
            )
            .unwrap()
        };
        assert_eq!(run("echo hi", 60.0), Work::Done(b"hi\n".to_vec()));
        let Work::Failed(how, said) = run("echo no >&2; exit 3", 60.0) else {
            panic!("it succeeded");
        };
        assert!(how.contains('3') && said == b"no\n", "{how}");
        let Work::Failed(how, _) = run("sleep 1000", 0.2) else {
            panic!("it ended");
        };
        assert_eq!(how, "did not end within 0.2 s");
    }
}
