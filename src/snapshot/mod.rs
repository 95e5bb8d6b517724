//! What a person approved, and what waits for approval: `snapshots/<scenario>/`.
//!
//! In: files. Out: [`Approved`] and pending siblings (`tutorial.md.new`). Nothing approved is ever
//! rewritten without `accept`.

mod accept;
mod compare;
mod lock;
pub mod picture;
mod pictures;
mod records;
mod review;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use accept::{
    Accepted, Check, Item, accept, accept_checked, orphans, pending, remove_orphans, select,
};
pub use compare::{Compared, compare, compared_form, idle};
pub use lock::{LOCK_FORMAT, Lock, LockEntry, LockValue, LockedGoal};
pub use records::{CoveredArea, PictureRecord, RECORD_FORMAT, RecordError, verify_records};
pub use review::{PictureChange, ReviewItem, items, reject};

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

    /// With its verb: one tutorial, several steps.
    pub fn pending_words(self) -> &'static str {
        match self {
            Self::Tutorial => "a pending tutorial waits for review",
            Self::Steps => "pending steps wait for review",
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
    #[error(
        "{path}: the pending tutorial shows this picture, but it is not there; run the scenario again"
    )]
    NoPicture { path: PathBuf },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("{path}: not taken over: {reason}")]
    Refused { path: PathBuf, reason: String },
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

/// Proposes a tutorial with its pictures and records (`pictures/` of the run's tutorial). Pictures
/// come first: a pending text never names pictures of an older proposal.
pub fn propose_tutorial(
    root: &Path,
    id: &str,
    markdown: &str,
    pictures_dir: Option<&Path>,
) -> Result<PathBuf, SnapshotError> {
    match pictures_dir {
        Some(from) => pictures::propose(root, id, from)?,
        None => pictures::clear_pending(root, id)?,
    }
    propose(root, id, Kind::Tutorial, markdown)
}

/// Takes a pending file away that is no longer true (the run agrees with what is approved).
pub fn withdraw(root: &Path, id: &str, kind: Kind) {
    let _ = std::fs::remove_file(kind.pending_path(root, id));
    if kind == Kind::Tutorial {
        let _ = pictures::clear_pending(root, id);
    }
}

/// The pattern a version control system has to ignore, so that nothing pending is committed by
/// mistake (case 093).
pub const IGNORED: &str = "*.new";

/// Puts [`IGNORED`] into the suite's `.gitignore` unless it is there; gives whether it wrote.
pub fn ignore_pending(root: &Path) -> Result<bool, SnapshotError> {
    let path = root.join(".gitignore");
    let text = read_if_there(&path)?.unwrap_or_default();
    if text.lines().any(|line| line.trim() == IGNORED) {
        return Ok(false);
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let text = format!("{text}{gap}# Snapshots that wait for review.\n{IGNORED}\n");
    crate::store::write(&path, text.as_bytes()).map_err(|e| SnapshotError::Unwritable {
        path: path.clone(),
        reason: e.to_string(),
    })?;
    Ok(true)
}
