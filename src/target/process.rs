// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs child processes: agents, whose output is a record stream, and tools, which succeed or fail.
//! Each is the leader of its own process group, so that the whole group can be killed.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitIdOptions};

use super::stream::{Bounds, Watch, EXIT_TIMEOUT};
use super::Ending;
use crate::base::interrupt::Interrupt;
use crate::machine::MemoryGroup;

/// How many of the last bytes of standard error, and of a tool's output, are kept.
const TAIL: usize = 16 << 10;

/// How long to wait for input before checking other conditions.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Watches a process and decides when to kill it.
pub trait Listener {
    /// Takes bytes of its standard output. `Some` if the process should be killed.
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending>;

    /// Whether [`Listener::timeout`] uses the CPU time.
    fn limits_cpu_time(&self) -> bool;

    /// `Some` if the process should be killed because it took too long. `cpu_time` is the CPU time
    /// that its group has used.
    fn timeout(&self, cpu_time: Duration) -> Option<Ending>;
}

/// The listener of an agent: watches the session and passes its lines on.
struct Session<'a> {
    watch: Watch,
    take: &'a mut dyn FnMut(&[u8]),
}

impl Listener for Session<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending> {
        self.watch.bytes(bytes, self.take)
    }

    fn limits_cpu_time(&self) -> bool {
        self.watch.limits_cpu_time()
    }

    fn timeout(&self, cpu_time: Duration) -> Option<Ending> {
        self.watch.timeout(cpu_time)
    }
}

/// Starts a process as the leader of a group, with pipes for its output.
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

/// Reads from an agent until its session is over. Then all processes of its group are gone.
///
/// # Errors
///
/// Reading from it failed.
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
    let end = listen(child, interrupt, &mut session)
        .map_err(|error| format!("cannot read from the agent: {error}"))?;
    session.watch.flush(session.take);
    Ok(match end {
        End::Killed(ending) => ending,
        End::Exited(status, stderr, memory) => match ending(status, &stderr, memory) {
            Ending::Done if !session.watch.may_exit() => Ending::Unfinished,
            ending => ending,
        },
    })
}

/// Starts an agent, sends it `line` as its order on standard input, and reads its session.
///
/// # Errors
///
/// The agent cannot be started, or reading from it failed.
pub fn ordered_session(
    command: &mut Command,
    line: &str,
    bounds: Bounds,
    interrupt: &Interrupt,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Ending, String> {
    let mut child = start(command, Stdio::piped())?;
    // Keep standard input open until the session is over: an emulator may exit at its end. Ignore
    // write errors: if the agent does not read its order, its output shows that.
    let stdin = child.stdin.take();
    if let Some(stdin) = &stdin {
        let mut stdin: &std::process::ChildStdin = stdin;
        let _ = writeln!(stdin, "{line}");
    }
    session(child, bounds, interrupt, take)
}

/// Starts a program that a target's description names.
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

/// The result of running a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolResult {
    /// It succeeded. The last bytes of its standard output.
    Succeeded(Vec<u8>),
    /// It failed. What happened, and the last bytes of its standard error.
    Failed(String, Vec<u8>),
    /// The user interrupted the run, and the tool was killed.
    Interrupted,
}

/// The listener of a tool: keeps the end of its output and limits its time.
struct ToolListener {
    stdout: Vec<u8>,
    started: Instant,
    limit: Duration,
}

impl Listener for ToolListener {
    fn bytes(&mut self, bytes: &[u8]) -> Option<Ending> {
        append_tail(&mut self.stdout, bytes);
        None
    }

    fn limits_cpu_time(&self) -> bool {
        false
    }

    fn timeout(&self, _cpu_time: Duration) -> Option<Ending> {
        (self.started.elapsed() >= self.limit).then_some(Ending::WallTimeLimit(self.limit))
    }
}

/// Runs a tool. Kills it after `limit`.
///
/// # Errors
///
/// It cannot be started, or reading from it failed.
pub fn run_tool(
    command: &mut Command,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<ToolResult, String> {
    let child = start(command, Stdio::null())?;
    let mut listener = ToolListener {
        stdout: Vec::new(),
        started: Instant::now(),
        limit,
    };
    let end = listen(child, interrupt, &mut listener)
        .map_err(|error| format!("cannot wait for a program: {error}"))?;
    Ok(match end {
        End::Killed(Ending::Interrupted) => ToolResult::Interrupted,
        End::Killed(_) => {
            let what = format!("did not exit within {} s", limit.as_secs_f64());
            ToolResult::Failed(what, Vec::new())
        }
        End::Exited(status, ..) if status.success() => ToolResult::Succeeded(listener.stdout),
        End::Exited(status, stderr, _) => ToolResult::Failed(format!("failed ({status})"), stderr),
    })
}

/// How a process ended.
enum End {
    /// It exited by itself. Its status, the last bytes of its standard error, and a message if its
    /// control group ran out of memory.
    Exited(ExitStatus, Vec<u8>, Option<String>),
    /// It was killed for this reason.
    Killed(Ending),
}

/// Reads from a process until it exits or must be killed. Then its whole group is gone.
fn listen(child: Child, interrupt: &Interrupt, listener: &mut dyn Listener) -> io::Result<End> {
    let mut process = Process(child);
    let mut stderr = Vec::new();
    let mut groups = Vec::from_iter(process.memory());
    let result = process.read(interrupt, listener, &mut stderr, &mut groups);
    let status = process.kill()?;
    let memory = groups.iter().find_map(MemoryGroup::exhausted);
    Ok(match result? {
        Some(ending) => End::Killed(ending),
        None => End::Exited(status, stderr, memory),
    })
}

/// A running process, the leader of its group.
struct Process(Child);

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn memory(&self) -> Option<MemoryGroup> {
        MemoryGroup::of(self.0.id())
    }

    /// Reads until the process exits (`None`) or must be killed. A wrapper may have moved it into
    /// another control group by the time of its first output; that group is added to `groups`.
    fn read(
        &mut self,
        interrupt: &Interrupt,
        listener: &mut dyn Listener,
        stderr: &mut Vec<u8>,
        groups: &mut Vec<MemoryGroup>,
    ) -> io::Result<Option<Ending>> {
        let mut output = self.0.stdout.take();
        let mut error = self.0.stderr.take();
        let mut buffer = vec![0; 64 << 10];
        let mut closed = None;
        let mut meter = CpuTimeMeter::new(self.pid());
        loop {
            let ready = wait(interrupt, output.as_ref(), error.as_ref())?;
            if ready.interrupt {
                return Ok(Some(Ending::Interrupted));
            }
            if ready.error {
                let count = read(&mut error, &mut buffer)?;
                append_tail(stderr, &buffer[..count]);
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
            // Its children may keep the pipes open after the process itself has exited.
            if !ready.output && !ready.error && self.has_exited()? {
                return Ok(None);
            }
            if closed.is_some_and(|since: Instant| since.elapsed() >= EXIT_TIMEOUT) {
                return Ok(Some(Ending::Silent(EXIT_TIMEOUT)));
            }
            let cpu_time = if listener.limits_cpu_time() {
                meter.read()
            } else {
                Duration::ZERO
            };
            if let Some(ending) = listener.timeout(cpu_time) {
                return Ok(Some(ending));
            }
        }
    }

    /// Whether the process itself has exited. It stays a zombie, so its process id is not reused.
    fn has_exited(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills what is left of the group. Returns the status of the process itself.
    fn kill(mut self) -> io::Result<ExitStatus> {
        // An error means that there is no such group: all of it has exited already.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.0.wait()
    }
}

/// How often the CPU time of a group is looked up.
const CPU_TIME_INTERVAL: Duration = Duration::from_millis(500);

/// Measures the CPU time of a process group, including processes that have exited and that a member
/// of the group waited for.
struct CpuTimeMeter {
    group: i32,
    /// When the CPU time was last looked up.
    updated: Instant,
    cpu_time: Duration,
}

impl CpuTimeMeter {
    fn new(leader: Pid) -> Self {
        CpuTimeMeter {
            group: leader.as_raw_nonzero().get(),
            updated: Instant::now(),
            cpu_time: Duration::ZERO,
        }
    }

    /// The CPU time, at most [`CPU_TIME_INTERVAL`] old.
    fn read(&mut self) -> Duration {
        if self.updated.elapsed() >= CPU_TIME_INTERVAL {
            self.updated = Instant::now();
            // The sum drops when a process exits that nobody in the group waited for.
            self.cpu_time = self.cpu_time.max(self.look_up());
        }
        self.cpu_time
    }

    fn look_up(&self) -> Duration {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let stats = processes.filter_map(|entry| fs::read(entry.path().join("stat")).ok());
        let ticks: u64 = stats.filter_map(|stat| ticks(&stat, self.group)).sum();
        Duration::from_millis(ticks * 1000 / clock_ticks_per_second().max(1))
    }
}

/// The clock ticks that a process of this group has used, from the text of its `/proc/PID/stat`:
/// its own and those of its children that it waited for. `None` for a process of another group.
fn ticks(stat: &[u8], group: i32) -> Option<u64> {
    // The name, in brackets, may contain any character.
    let name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[name + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    (fields.get(2)?.parse() == Ok(group)).then_some(())?;
    let times = fields.get(11..15)?.iter();
    Some(times.filter_map(|time| time.parse::<u64>().ok()).sum())
}

/// Which sources have input.
struct Ready {
    interrupt: bool,
    output: bool,
    error: bool,
}

/// Waits for input, at most for [`POLL_INTERVAL`].
fn wait(
    interrupt: &Interrupt,
    output: Option<&ChildStdout>,
    error: Option<&ChildStderr>,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(interrupt, PollFlags::IN)];
    fds.extend(output.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(error.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    // With both pipes closed, the process is about to exit: check soon.
    let interval = if fds.len() == 1 {
        POLL_INTERVAL / 50
    } else {
        POLL_INTERVAL
    };
    poll_for(&mut fds, interval)?;
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = |present: bool| present && ready.next().unwrap_or(false);
    Ok(Ready {
        interrupt: next(true),
        output: next(output.is_some()),
        error: next(error.is_some()),
    })
}

/// Polls for at most `time`, which must be less than a second.
///
/// # Errors
///
/// The call failed for another reason than a signal.
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

/// Reads once. Closes the pipe and returns 0 at its end.
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

/// Appends bytes and keeps only the last [`TAIL`] of all.
fn append_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes);
    let excess = tail.len().saturating_sub(TAIL);
    tail.drain(..excess);
}

/// The last three lines that are not empty, joined into one.
#[must_use]
pub fn last_lines(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

fn ending(status: ExitStatus, stderr: &[u8], memory: Option<String>) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Done,
        (Some(status), _) => Ending::Status {
            status,
            stderr: last_lines(stderr),
        },
        (None, signal) => Ending::Signal {
            signal: signal.unwrap_or(0),
            details: memory.unwrap_or_else(|| last_lines(stderr)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_of_standard_error_becomes_one_line() {
        let mut stderr = Vec::new();
        append_tail(&mut stderr, &[b'x'; TAIL]);
        append_tail(&mut stderr, b"\none\ntwo\n\nthree\n");
        assert_eq!(stderr.len(), TAIL);
        assert_eq!(last_lines(&stderr), "one / two / three");
    }

    #[test]
    fn group_time_includes_children_that_were_waited_for() {
        let stat = b"7 (a ) R 9) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 1";
        assert_eq!(ticks(stat, 42), Some(4330));
        assert_eq!(ticks(stat, 7), None);
        assert_eq!(ticks(b"7 (cut) S 1 42", 42), None);
        assert_eq!(ticks(b"", 42), None);
    }

    /// Kills a process after 50 ms of CPU time, whatever the wall time.
    struct CpuTimeLimit;

    impl Listener for CpuTimeLimit {
        fn bytes(&mut self, _bytes: &[u8]) -> Option<Ending> {
            None
        }

        fn limits_cpu_time(&self) -> bool {
            true
        }

        fn timeout(&self, cpu_time: Duration) -> Option<Ending> {
            (cpu_time >= Duration::from_millis(50)).then_some(Ending::CpuTimeLimit(cpu_time))
        }
    }

    #[test]
    fn cpu_time_limit_kills_busy_but_not_sleeping_processes() {
        let interrupt = Interrupt::install().unwrap();
        let run = |script: &str| {
            let child = start(Command::new("sh").args(["-c", script]), Stdio::null()).unwrap();
            listen(child, &interrupt, &mut CpuTimeLimit).unwrap()
        };
        // A child does the work.
        let end = run("(while :; do :; done) & wait");
        assert!(matches!(end, End::Killed(Ending::CpuTimeLimit(_))));
        let end = run("sleep 2");
        assert!(matches!(end, End::Exited(status, _, _) if status.success()));
    }

    #[test]
    fn tool_succeeds_fails_or_times_out() {
        let interrupt = Interrupt::install().unwrap();
        let run = |script: &str, seconds| {
            let mut command = Command::new("sh");
            run_tool(
                command.args(["-c", script]),
                Duration::from_secs_f64(seconds),
                &interrupt,
            )
            .unwrap()
        };
        assert_eq!(
            run("echo hi", 60.0),
            ToolResult::Succeeded(b"hi\n".to_vec())
        );
        let ToolResult::Failed(what, stderr) = run("echo no >&2; exit 3", 60.0) else {
            panic!("it succeeded");
        };
        assert!(what.contains('3') && stderr == b"no\n", "{what}");
        let ToolResult::Failed(what, _) = run("sleep 1000", 0.2) else {
            panic!("it ended");
        };
        assert_eq!(what, "did not exit within 0.2 s");
    }
}
