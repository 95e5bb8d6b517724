//! What a person looks through: every pending item with its difference and its pictures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Item, Kind, SnapshotError, accept::pending, compare, pictures, read_if_there};

/// One pending item, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewItem {
    pub id: String,
    pub kind: Kind,
    /// Unified diff from what is approved; all lines are new where nothing is.
    pub diff: String,
    pub pictures: Vec<PictureChange>,
}

/// A picture before and after; equal bytes are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureChange {
    pub name: String,
    pub approved: Option<PathBuf>,
    pub pending: Option<PathBuf>,
}

impl ReviewItem {
    pub fn item(&self) -> Item {
        Item {
            id: self.id.clone(),
            kind: self.kind,
        }
    }
}

/// Everything that waits, sorted.
pub fn items(root: &Path) -> Result<Vec<ReviewItem>, SnapshotError> {
    let mut items = Vec::new();
    for Item { id, kind } in pending(root) {
        let old = read_if_there(&kind.approved_path(root, &id))?.unwrap_or_default();
        let new = read_if_there(&kind.pending_path(root, &id))?.unwrap_or_default();
        let diff = compare::diff(
            &compare::normalise(&old, &[]),
            &compare::normalise(&new, &[]),
        );
        let pictures = if kind == Kind::Tutorial {
            changes(root, &id)
        } else {
            Vec::new()
        };
        items.push(ReviewItem {
            id,
            kind,
            diff,
            pictures,
        });
    }
    Ok(items)
}

fn changes(root: &Path, id: &str) -> Vec<PictureChange> {
    let (approved, waiting) = (pictures::approved(root, id), pictures::pending(root, id));
    if !waiting.is_dir() {
        return Vec::new();
    }
    let names: BTreeSet<String> = pictures::names(&approved)
        .into_iter()
        .chain(pictures::names(&waiting))
        .collect();
    let there = |folder: &Path, name: &str| Some(folder.join(name)).filter(|p| p.is_file());
    names
        .into_iter()
        .map(|name| PictureChange {
            approved: there(&approved, &name),
            pending: there(&waiting, &name),
            name,
        })
        .filter(|change| match (&change.approved, &change.pending) {
            (Some(a), Some(b)) => {
                !matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
            }
            _ => true,
        })
        .collect()
}

/// Takes a pending item away; what is approved stays as it is.
pub fn reject(root: &Path, item: &Item) -> Result<(), SnapshotError> {
    let path = item.kind.pending_path(root, &item.id);
    std::fs::remove_file(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => SnapshotError::NothingPending {
            name: item.id.clone(),
            near: String::new(),
        },
        _ => SnapshotError::Unwritable {
            path: path.clone(),
            reason: e.to_string(),
        },
    })?;
    if item.kind == Kind::Tutorial {
        pictures::clear_pending(root, &item.id)?;
    }
    Ok(())
}
