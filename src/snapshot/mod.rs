//! What a person approved, and what waits for approval: `snapshots/<scenario>/`.
//!
//! In: files. Out: [`Approved`] and pending siblings (`tutorial.md.new`). Nothing approved is ever
//! rewritten without `accept`.

mod accept;
mod compare;
mod lock;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use accept::{Accepted, Item, accept, orphans, pending};
pub use compare::{Compared, compare, normalise};
pub use lock::{LOCK_FORMAT, Lock, LockEntry, LockValue, LockedGoal};

/// The two files that are approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Tutorial,
    Steps,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Tutorial, Self::Steps];

    pub fn word(self) -> &'static str {
        match self {
            Self::Tutorial => "tutorial",
            Self::Steps => "steps",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Tutorial => "tutorial.md",
            Self::Steps => "steps.yaml",
        }
    }

    pub fn approved_path(self, root: &Path, id: &str) -> PathBuf {
        root.join("snapshots").join(id).join(self.file())
    }

    pub fn pending_path(self, root: &Path, id: &str) -> PathBuf {
        root.join("snapshots")
            .join(id)
            .join(format!("{}.new", self.file()))
    }
}

/// Everything approved for one scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Approved {
    pub tutorial: Option<String>,
    pub lock: Option<Lock>,
}

/// An approved file that can't be used; it is never silently ignored.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("{path}: {reason}")]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "{path}: not a lock this version reads: {reason}. Remove it and run again to have a new one proposed"
    )]
    BadLock { path: PathBuf, reason: String },
    #[error("{path}: could not be written: {reason}")]
    Unwritable { path: PathBuf, reason: String },
    #[error("nothing of `{name}` is pending{near}")]
    NothingPending { name: String, near: String },
}

impl Approved {
    pub fn read(root: &Path, id: &str) -> Result<Self, SnapshotError> {
        let lock = match read_if_there(&Kind::Steps.approved_path(root, id))? {
            None => None,
            Some(text) => Some(Lock::parse(&text).map_err(|reason| SnapshotError::BadLock {
                path: Kind::Steps.approved_path(root, id),
                reason,
            })?),
        };
        Ok(Self {
            tutorial: read_if_there(&Kind::Tutorial.approved_path(root, id))?,
            lock,
        })
    }
}

/// Line ends are one thing on every system (case 092).
fn read_if_there(path: &Path) -> Result<Option<String>, SnapshotError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.replace("\r\n", "\n"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SnapshotError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// Writes a pending file beside the approved one.
pub fn propose(root: &Path, id: &str, kind: Kind, text: &str) -> Result<PathBuf, SnapshotError> {
    let path = kind.pending_path(root, id);
    let unwritable = |reason: String| SnapshotError::Unwritable {
        path: path.clone(),
        reason,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| unwritable(e.to_string()))?;
    }
    crate::store::atomic::write(&path, text.as_bytes()).map_err(|e| unwritable(e.to_string()))?;
    Ok(path)
}

/// Takes a pending file away that is no longer true (the run agrees with what is approved).
pub fn withdraw(root: &Path, id: &str, kind: Kind) {
    let _ = std::fs::remove_file(kind.pending_path(root, id));
}
