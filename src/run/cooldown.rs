//! Three rejections of one credential at one origin start a cool-down, kept across runs, so that a
//! suite with a stale password doesn't lock the account.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

const REJECTIONS: usize = 3;
const COOL_DOWN: Duration = Duration::from_secs(15 * 60);

/// The record of one credential at one origin. Holds times only.
pub struct Cooldown {
    path: Option<PathBuf>,
}

impl Cooldown {
    pub fn new(credential: &str, origin: &str) -> Self {
        let key: String = Sha256::digest(format!("{credential}\n{origin}"))
            .iter()
            .take(12)
            .map(|b| format!("{b:02x}"))
            .collect();
        Self {
            path: state_folder().map(|folder| folder.join("logins").join(key)),
        }
    }

    /// Minutes left, rounded up, while no further try is made.
    pub fn remaining_minutes(&self) -> Option<u64> {
        let times = self.times();
        let last = times
            .iter()
            .rev()
            .nth(REJECTIONS - 1)
            .map(|_| times.last().copied().unwrap_or(0))?;
        let left = (last + COOL_DOWN.as_secs()).checked_sub(now())?;
        (left > 0).then(|| left.div_ceil(60))
    }

    /// One line more: runs that are refused at the same time each add their own.
    pub fn rejected(&self) {
        let Some(path) = &self.path else { return };
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let mut options = std::fs::OpenOptions::new();
        // A record that can't be kept is no reason to fail a sign-in.
        if let Ok(mut record) = options.create(true).append(true).mode(0o600).open(path) {
            let _ = record.write_all(format!("{}\n", now()).as_bytes());
        }
    }

    pub fn forget(&self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Rejections of the last cool-down's length, oldest first.
    fn times(&self) -> Vec<u64> {
        let since = now().saturating_sub(COOL_DOWN.as_secs());
        let text = self
            .path
            .as_ref()
            .and_then(|p| std::fs::read_to_string(p).ok())
            .unwrap_or_default();
        text.lines()
            .filter_map(|l| l.parse().ok())
            .filter(|t| *t >= since)
            .collect()
    }
}

/// Ends a cool-down by hand: `credentials test --reset`.
pub fn forget_rejections(credential: &str, origin: &str) {
    Cooldown::new(credential, origin).forget();
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

/// `XDG_STATE_HOME/rehearsal`, else `~/.local/state/rehearsal`.
fn state_folder() -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute());
    xdg.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")))
        .map(|base| base.join("rehearsal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_at_the_same_time_all_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logins/key");
        let record = || Cooldown {
            path: Some(path.clone()),
        };
        assert_eq!(record().remaining_minutes(), None);
        std::thread::scope(|all| {
            for _ in 0..REJECTIONS {
                all.spawn(|| record().rejected());
            }
        });
        assert_eq!(record().times().len(), REJECTIONS);
        assert!(record().remaining_minutes().is_some());
        record().forget();
        assert_eq!(record().remaining_minutes(), None);
    }
}
