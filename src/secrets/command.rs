//! A command that prints a secret: run when a run begins, so that nothing written holds the value,
//! and at each use, in bounded time. Its output is taken and its complaints are thrown away, because
//! nobody knows what a tool prints when it fails.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::value::Secret;

/// As written in settings: a list of arguments, or one line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a command: a line for the shell, or a list of arguments"
)]
pub enum CommandLine {
    Shell(String),
    Arguments(Vec<String>),
}

/// Long enough for a person to touch a key, short enough not to hang a run.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);
const OUTPUT_LIMIT: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CommandError {
    #[error("names no program")]
    Empty,
    #[error("can't be started ({0}); check that the program is installed and on PATH")]
    Start(std::io::ErrorKind),
    #[error("did not finish within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error("ended with {0}; run it by hand to see what it says, its messages are not shown here")]
    Failed(String),
    #[error("printed nothing")]
    Nothing,
    #[error("printed more than {} KiB, which is no secret", OUTPUT_LIMIT / 1024)]
    TooMuch,
    #[error("printed something that is not UTF-8 text")]
    NotText,
}

impl CommandLine {
    fn command(&self) -> Result<Command, CommandError> {
        match self {
            Self::Shell(line) if line.trim().is_empty() => Err(CommandError::Empty),
            Self::Shell(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                Ok(command)
            }
            Self::Arguments(words) => {
                let (program, rest) = words.split_first().ok_or(CommandError::Empty)?;
                let mut command = Command::new(program);
                command.args(rest);
                Ok(command)
            }
        }
    }

    /// What the command prints, without one line end. Blocks for up to `limit`.
    pub fn secret(&self, limit: Duration) -> Result<Secret, CommandError> {
        let mut child = self
            .command()?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, so that what it started ends with it.
            .process_group(0)
            .spawn()
            .map_err(|e| CommandError::Start(e.kind()))?;
        let group = child.id();
        let (done, outcome) = mpsc::channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Zeroizing::new(Vec::with_capacity(4096));
            let read = stdout.map(|s| s.take(OUTPUT_LIMIT + 1).read_to_end(&mut bytes));
            if bytes.len() as u64 > OUTPUT_LIMIT {
                let _ = child.kill();
            }
            let status = child.wait();
            // Nobody listens any more after a time-out.
            let _ = done.send((read, bytes, status));
        });
        let Ok((read, bytes, status)) = outcome.recv_timeout(limit) else {
            end_group(group);
            return Err(CommandError::TimedOut(limit));
        };
        if bytes.len() as u64 > OUTPUT_LIMIT {
            return Err(CommandError::TooMuch);
        }
        match (read, status) {
            (Some(Err(e)), _) => return Err(CommandError::Failed(e.kind().to_string())),
            (_, Err(e)) => return Err(CommandError::Failed(e.kind().to_string())),
            (_, Ok(status)) if !status.success() => {
                return Err(CommandError::Failed(status.to_string()));
            }
            _ => {}
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| CommandError::NotText)?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        Secret::new(text.to_owned()).map_err(|_| CommandError::Nothing)
    }
}

fn end_group(group: u32) {
    if let Ok(group) = libc::pid_t::try_from(group) {
        // SAFETY: kill takes no pointers. The group is our child's own; the waiting thread has
        // not reaped it yet, or it is gone and the call fails.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Result<String, CommandError> {
        let line = CommandLine::Shell(line.into());
        line.secret(Duration::from_secs(20))
            .map(|s| s.expose().to_owned())
    }

    #[test]
    fn one_line_end_is_trimmed_and_nothing_else() {
        assert_eq!(shell("printf ' a b \\n\\n'").as_deref(), Ok(" a b \n"));
        assert_eq!(shell("printf 'a\\r\\n'").as_deref(), Ok("a"));
        let list = CommandLine::Arguments(vec!["printf".into(), "$HOME".into()]);
        let value = list.secret(TIME_LIMIT).map(|s| s.expose().to_owned());
        assert_eq!(value.as_deref(), Ok("$HOME"));
    }

    #[test]
    fn what_a_failing_command_prints_is_not_in_the_error() {
        let error = shell("echo TILLER-3030; echo TILLER-3030 >&2; exit 3").expect_err("fails");
        assert!(matches!(error, CommandError::Failed(_)));
        assert!(!error.to_string().contains("TILLER"));
        assert_eq!(shell("true"), Err(CommandError::Nothing));
        assert_eq!(shell("printf '\\377'"), Err(CommandError::NotText));
        assert_eq!(shell("yes"), Err(CommandError::TooMuch));
        assert_eq!(shell("  "), Err(CommandError::Empty));
        let missing = CommandLine::Arguments(vec!["no-such-program-here".into()]);
        assert!(matches!(
            missing.secret(TIME_LIMIT),
            Err(CommandError::Start(_))
        ));
    }

    #[test]
    fn a_command_that_never_ends_is_ended_with_its_children() {
        let dir = tempfile::tempdir().expect("folder");
        let pid = dir.path().join("pid");
        let line = format!("sleep 600 & echo $! > '{}'; wait", pid.display());
        let limit = Duration::from_secs(3);
        let outcome = CommandLine::Shell(line).secret(limit);
        assert_eq!(outcome.err(), Some(CommandError::TimedOut(limit)));
        let pid = std::fs::read_to_string(pid).expect("pid");
        let stat = format!("/proc/{}/stat", pid.trim());
        // Gone, or a zombie where nobody reaps.
        let ended = || std::fs::read_to_string(&stat).map_or(true, |s| s.contains(") Z"));
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !ended() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(ended());
    }
}
