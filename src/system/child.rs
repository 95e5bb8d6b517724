//! Our side of the guard: starts it, reads what the program says, and ends it.
//!
//! Dropping a [`Guarded`] closes the pipe, so the guard clears up by itself; [`Guarded::end`]
//! also waits and proves that nothing is left.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::folders::{self, PrivateFolder};
use super::{guard, proc};

/// Names the guard's program when this process is not `rehearsal` itself.
pub const GUARD_EXE: &str = "REHEARSAL_GUARD_EXE";

const GREETING_LIMIT: Duration = Duration::from_secs(10);
const END_LIMIT: Duration = Duration::from_secs(8);
const LINE_BYTES: usize = 4096;
const LINES_KEPT: usize = 256;
const TAIL_BYTES: usize = 4096;

#[derive(Debug, Clone)]
pub struct ChildSpec {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The guard's program; `None`: the environment's `REHEARSAL_GUARD_EXE`, else ourselves.
    pub guard: Option<PathBuf>,
    /// Where the program runs; `None`: in its private folder.
    pub working_folder: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error("the guard process {0} could not be started: {1}")]
    Spawn(PathBuf, std::io::Error),
    #[error(
        "{0} did not answer as rehearsal's guard; set {GUARD_EXE} to the rehearsal program when \
         using this library from another one"
    )]
    NotAGuard(PathBuf),
    #[error("{0}")]
    Program(String),
    #[error("processes were left behind after the end of the browser: {0:?}")]
    ProcessesLeft(Vec<i32>),
    #[error("the guard was killed, so it is not certain that the browser left nothing behind")]
    Unproven,
    #[error("the session's folder {0} could not be removed: {1}")]
    FolderLeft(PathBuf, std::io::Error),
}

/// A program running under a guard.
#[derive(Debug)]
pub struct Guarded {
    pipe: Option<ChildStdin>,
    group: i32,
    folder: PathBuf,
    lines: mpsc::Receiver<String>,
    tail: Arc<Tail>,
    ended: watch::Receiver<Option<i32>>,
}

impl Guarded {
    /// Starts `spec` under a guard that will also remove `folder`.
    pub async fn start(spec: &ChildSpec, folder: PrivateFolder) -> Result<Self, GuardError> {
        let exe = guard_program(spec.guard.as_deref());
        let mut command = Command::new(&exe);
        command
            .arg(guard::COMMAND)
            .arg(folder.path())
            .arg("--")
            .arg(&spec.program)
            .args(&spec.arguments)
            .env_clear()
            .envs(spec.environment.iter().cloned())
            .current_dir(spec.working_folder.as_deref().unwrap_or(folder.path()))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| GuardError::Spawn(exe.clone(), error))?;
        // A process just spawned has a pid until it is waited for.
        let group = child.id().map_or(0, |pid| pid as i32);
        let tail = Arc::new(Tail::default());
        let (sender, lines) = mpsc::channel(LINES_KEPT);
        if let Some(out) = child.stdout.take() {
            tokio::spawn(read_lines(out, sender));
        }
        if let Some(err) = child.stderr.take() {
            tokio::spawn(read_tail(err, tail.clone()));
        }
        let pipe = child.stdin.take();
        let (said, ended) = watch::channel(None);
        tokio::spawn(async move {
            let code = child.wait().await.ok().and_then(|status| status.code());
            if code.is_none() {
                // Somebody killed the guard: its group is ours to end, at once, while its
                // members still keep the number from being used again.
                proc::signal_group(group, libc::SIGKILL);
            }
            let code = code.unwrap_or(guard::EXIT_LEFT_BEHIND);
            said.send_replace(Some(code));
        });
        let mut guarded = Self {
            pipe,
            group,
            folder: folder.hand_over(),
            lines,
            tail,
            ended,
        };
        guarded.hear_greeting(exe).await?;
        Ok(guarded)
    }

    async fn hear_greeting(&mut self, exe: PathBuf) -> Result<(), GuardError> {
        let until = Instant::now() + GREETING_LIMIT;
        match self.next_line(until).await {
            Some(line) if line == guard::GREETING => Ok(()),
            _ => {
                proc::signal_group(self.group, libc::SIGKILL);
                let _ = folders::remove(&self.folder);
                Err(GuardError::NotAGuard(exe))
            }
        }
    }

    /// The program's next line on standard output; `None` when it ended or the time is up.
    pub async fn next_line(&mut self, until: Instant) -> Option<String> {
        timeout_at(until, self.lines.recv()).await.ok().flatten()
    }

    /// The guard's process group, which holds the program and all it started.
    pub fn group(&self) -> i32 {
        self.group
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Turns `Some(exit code)` when guard and program are gone.
    pub fn ended(&self) -> watch::Receiver<Option<i32>> {
        self.ended.clone()
    }

    /// The last of what was said on standard error, for a message about a failed start.
    pub fn error_tail(&self) -> String {
        self.tail.text()
    }

    /// From now on nothing of what the program says is kept: pages may speak through it.
    pub fn stop_listening(&self) {
        self.tail.close();
    }

    /// Ends the group with its grace and waits until nothing is left.
    pub async fn end(mut self) -> Result<(), GuardError> {
        self.pipe = None;
        self.wait_gone().await
    }

    /// Ends the group at once and waits until nothing is left.
    pub async fn kill(mut self) -> Result<(), GuardError> {
        if let Some(pipe) = &mut self.pipe {
            let _ = timeout(Duration::from_secs(1), pipe.write_all(&[guard::KILL_NOW])).await;
        }
        self.pipe = None;
        self.wait_gone().await
    }

    async fn wait_gone(&mut self) -> Result<(), GuardError> {
        let mut ended = self.ended.clone();
        if timeout(END_LIMIT, ended.wait_for(Option::is_some))
            .await
            .is_err()
        {
            proc::signal_group(self.group, libc::SIGKILL);
        }
        let group = self.group;
        let gone = proc::wait_until(Duration::from_secs(2), || {
            if proc::group_alive(group) {
                proc::signal_group(group, libc::SIGKILL);
                return false;
            }
            true
        })
        .await;
        folders::remove(&self.folder)
            .map_err(|error| GuardError::FolderLeft(self.folder.clone(), error))?;
        if !gone {
            let left = proc::group_members(group).iter().map(|p| p.pid).collect();
            return Err(GuardError::ProcessesLeft(left));
        }
        // Only the guard sees what left the group.
        if *self.ended.borrow() == Some(guard::EXIT_LEFT_BEHIND) {
            return Err(GuardError::Unproven);
        }
        Ok(())
    }
}

fn guard_program(given: Option<&Path>) -> PathBuf {
    given
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(GUARD_EXE).map(PathBuf::from))
        // It is started in the session's folder, where a relative path means nothing.
        .map(|path| std::path::absolute(&path).unwrap_or(path))
        .or_else(|| std::env::current_exe().ok().filter(|exe| exe.exists()))
        // Replaced by a newer build while running: the kernel still has the old one.
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Reads for ever, so that the program never blocks on a full pipe; keeps only whole, short
/// lines, and only while somebody has room for them.
async fn read_lines(mut from: impl AsyncRead + Unpin, to: mpsc::Sender<String>) {
    let mut buffer = [0_u8; 8192];
    let mut line: Vec<u8> = Vec::new();
    while let Ok(n) = from.read(&mut buffer).await {
        if n == 0 {
            break;
        }
        for &byte in &buffer[..n] {
            if byte == b'\n' {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                let _ = to.try_send(text);
                line.clear();
            } else if line.len() < LINE_BYTES {
                line.push(byte);
            }
        }
    }
}

async fn read_tail(mut from: impl AsyncRead + Unpin, tail: Arc<Tail>) {
    let mut buffer = [0_u8; 8192];
    while let Ok(n) = from.read(&mut buffer).await {
        if n == 0 {
            break;
        }
        tail.push(&buffer[..n]);
    }
}

/// The last few kilobytes of a stream; `None` once closed.
#[derive(Debug)]
struct Tail(Mutex<Option<Vec<u8>>>);

impl Default for Tail {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl Tail {
    fn push(&self, bytes: &[u8]) {
        if let Ok(mut kept) = self.0.lock()
            && let Some(kept) = kept.as_mut()
        {
            kept.extend_from_slice(bytes);
            let excess = kept.len().saturating_sub(TAIL_BYTES);
            kept.drain(..excess);
        }
    }

    fn text(&self) -> String {
        let kept = self.0.lock().ok().and_then(|kept| kept.clone());
        String::from_utf8_lossy(&kept.unwrap_or_default())
            .trim()
            .to_owned()
    }

    fn close(&self) {
        if let Ok(mut kept) = self.0.lock() {
            *kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_closes() {
        let tail = Tail::default();
        tail.push(&[b'a'; 10_000]);
        tail.push(b"end");
        assert_eq!(tail.text().len(), TAIL_BYTES);
        assert!(tail.text().ends_with("aend"));
        tail.close();
        tail.push(b"more");
        assert_eq!(tail.text(), "");
    }

    #[tokio::test]
    async fn lines_are_bounded_and_the_rest_is_drained() {
        let (sender, mut lines) = mpsc::channel(2);
        let long = "x".repeat(100_000);
        let text = format!("one\n{long}\nthree\nfour\n");
        read_lines(text.as_bytes(), sender).await;
        assert_eq!(lines.recv().await.as_deref(), Some("one"));
        assert_eq!(lines.recv().await.map(|l| l.len()), Some(LINE_BYTES));
        assert_eq!(lines.recv().await, None, "no room for more, and no stall");
    }
}
