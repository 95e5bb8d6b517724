//! The guard: a small process between us and the driver, so that nothing outlives us.
//!
//! It is this same program under a hidden command, `__guard FOLDER… -- PROGRAM ARGUMENT…`. It
//! leads a process group of its own (a Ctrl-C in the terminal does not reach it), starts the
//! program in that group, and holds the read end of a pipe (its standard input) whose write end
//! only the runner has. When the pipe ends, for whatever reason, the runner is gone or wants an
//! end: the group gets SIGTERM, then SIGKILL, everything is reaped and the folders are removed.
//!
//! Why not a parent-death signal: it reaches the driver alone, and a killed driver leaves its
//! browser running (F1, measured). Why a subreaper: a process that leaves the group stays below
//! us all the same, and in a container nobody else would reap it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{folders, proc};

/// The hidden command's name, the first argument.
pub const COMMAND: &str = "__guard";
/// First line on standard output: whoever started us knows that it is a guard.
pub const GREETING: &str = "rehearsal guard 1";
/// Prefix of the line said when the program can't be started.
pub const CANNOT_START: &str = "rehearsal guard cannot start: ";
/// This byte on the pipe means: no grace.
pub const KILL_NOW: u8 = b'K';

const GRACE: Duration = Duration::from_millis(1500);
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Exit code when the program could not be started.
pub const EXIT_CANNOT_START: i32 = 127;
/// Exit code when folders or processes were left behind.
pub const EXIT_LEFT_BEHIND: i32 = 125;

/// Runs the guard if `arguments` (without the program's own name) ask for it. Call it first
/// thing in `main`, before threads exist; the answer is the exit code.
pub fn run_if_asked(arguments: impl IntoIterator<Item = OsString>) -> Option<i32> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != COMMAND {
        return None;
    }
    let mut folders = Vec::new();
    for argument in arguments.by_ref() {
        if argument == "--" {
            break;
        }
        folders.push(PathBuf::from(argument));
    }
    let Some(program) = arguments.next() else {
        eprintln!("this command is internal: it watches over a browser driver");
        return Some(2);
    };
    Some(guard(&folders, program, arguments.collect()))
}

fn guard(folders: &[PathBuf], program: OsString, arguments: Vec<OsString>) -> i32 {
    let watched = match prepare() {
        Ok(fd) => fd,
        Err(error) => {
            eprintln!("{CANNOT_START}{error}");
            return EXIT_CANNOT_START;
        }
    };
    let me = std::process::id() as i32;
    let spoke = say(GREETING);
    let started = spoke.and_then(|()| start(&program, &arguments));
    let code = match started {
        Ok(child) => {
            if let Some(folder) = folders.first() {
                let _ = folders::record_owner(folder, "guard", me);
                let _ = folders::record_owner(folder, "driver", child.id() as i32);
            }
            watch(child, watched, me)
        }
        Err(error) => {
            let _ = say(&format!("{CANNOT_START}{error}"));
            EXIT_CANNOT_START
        }
    };
    let mut left = proc::descendants(me).len();
    for folder in folders {
        left += usize::from(folder.is_absolute() && folders::remove(folder).is_err());
    }
    if left > 0 { EXIT_LEFT_BEHIND } else { code }
}

/// Own group, subreaper, and the four signals turned into something readable.
fn prepare() -> io::Result<OwnedFd> {
    // SAFETY: plain integers; the signal set is initialised by sigemptyset before use, and the
    // descriptor signalfd returns is owned by nobody else.
    unsafe {
        if libc::getpgrp() != libc::getpid() && libc::setpgid(0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

fn start(program: &OsString, arguments: &[OsString]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    // SAFETY: between fork and exec only async-signal-safe calls are made (sigemptyset,
    // sigprocmask); blocked signals are inherited over exec and the browser needs its SIGCHLD.
    unsafe {
        command.pre_exec(|| {
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            if libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command.spawn().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("{}: {error}", program.to_string_lossy()),
        )
    })
}

enum Woken {
    PipeEnded,
    KillNow,
    Signal(i32),
    TimeUp,
}

/// Waits for the end of the pipe, a signal or the program's own end, then clears up.
fn watch(child: Child, signals: OwnedFd, me: i32) -> i32 {
    let mut ears = Ears {
        signals: File::from(signals),
        pipe: Some(io::stdin()),
    };
    let main = child.id() as i32;
    let mut status: Option<ExitStatus> = None;
    let mut grace = GRACE;
    loop {
        match ears.next(None) {
            Woken::Signal(libc::SIGCHLD) => {
                reap(main, &mut status);
                if status.is_some() {
                    break;
                }
            }
            Woken::PipeEnded | Woken::Signal(_) => break,
            Woken::KillNow => {
                grace = Duration::ZERO;
                break;
            }
            Woken::TimeUp => {}
        }
    }
    end_group(&mut ears, me, main, grace, &mut status);
    match status {
        Some(status) => status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        None => EXIT_LEFT_BEHIND,
    }
}

/// SIGTERM, grace, SIGKILL; returns when no child is left (as subreaper we inherit every
/// orphan) or the limit is over.
fn end_group(
    ears: &mut Ears,
    me: i32,
    main: i32,
    grace: Duration,
    status: &mut Option<ExitStatus>,
) {
    let begun = Instant::now();
    let mut signal = libc::SIGTERM;
    if grace > Duration::ZERO {
        send(me, signal);
    }
    while reap(main, status) {
        let elapsed = begun.elapsed();
        if elapsed >= grace {
            // Again on every round: a process may have been born between listing and signal.
            signal = libc::SIGKILL;
            send(me, signal);
        }
        if elapsed >= grace + KILL_LIMIT {
            return;
        }
        let wait = if signal == libc::SIGKILL {
            Duration::from_millis(20)
        } else {
            (grace - elapsed).min(Duration::from_millis(200))
        };
        if let Woken::KillNow = ears.next(Some(wait)) {
            send(me, libc::SIGKILL);
        }
    }
}

/// To everything in our group or below us, except ourselves.
fn send(me: i32, signal: i32) {
    let mut targets: Vec<i32> = proc::descendants(me).iter().map(|p| p.pid).collect();
    targets.extend(proc::group_members(me).iter().map(|p| p.pid));
    targets.sort_unstable();
    targets.dedup();
    for pid in targets.into_iter().filter(|pid| *pid != me) {
        proc::signal(pid, signal);
    }
}

/// Collects every ended child; `false` when there is no child left at all.
fn reap(main: i32, status: &mut Option<ExitStatus>) -> bool {
    loop {
        let mut raw = 0;
        // SAFETY: `raw` is a valid int for the length of the call.
        let pid = unsafe { libc::waitpid(-1, &mut raw, libc::WNOHANG) };
        match pid {
            0 => return true,
            -1 => return io::Error::last_os_error().raw_os_error() != Some(libc::ECHILD),
            pid if pid == main => *status = Some(ExitStatus::from_raw(raw)),
            _ => {}
        }
    }
}

/// What the guard listens to.
struct Ears {
    signals: File,
    /// `None` once it has ended.
    pipe: Option<io::Stdin>,
}

impl Ears {
    fn next(&mut self, limit: Option<Duration>) -> Woken {
        let watch = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut fds = vec![watch(self.signals.as_raw_fd())];
        fds.extend(self.pipe.as_ref().map(|pipe| watch(pipe.as_raw_fd())));
        let limit = limit.map_or(-1, |l| i32::try_from(l.as_millis()).unwrap_or(i32::MAX));
        // SAFETY: `fds` is a live array of the length given.
        let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, limit) };
        if ready <= 0 {
            return Woken::TimeUp;
        }
        if fds[0].revents != 0
            && let Some(signal) = self.read_signal()
        {
            return Woken::Signal(signal);
        }
        if fds.get(1).is_some_and(|fd| fd.revents != 0) {
            return self.read_pipe();
        }
        Woken::TimeUp
    }

    fn read_signal(&mut self) -> Option<i32> {
        let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
        self.signals.read_exact(&mut record).ok()?;
        // The signal's number is the record's first field, an unsigned 32-bit number.
        let number = record.first_chunk::<4>()?;
        i32::try_from(u32::from_ne_bytes(*number)).ok()
    }

    fn read_pipe(&mut self) -> Woken {
        let mut bytes = [0_u8; 64];
        match self.pipe.as_mut().map(|pipe| pipe.read(&mut bytes)) {
            Some(Ok(n)) if n > 0 && bytes[..n].contains(&KILL_NOW) => Woken::KillNow,
            Some(Ok(n)) if n > 0 => Woken::TimeUp,
            _ => {
                self.pipe = None;
                Woken::PipeEnded
            }
        }
    }
}
