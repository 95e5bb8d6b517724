//! What a person looks through: every pending item with its difference and its pictures.

use std::path::{Path, PathBuf};

use super::compare::{compared_form, diff};
use super::{Item, Kind, SnapshotError, pictures, read_if_there};
use crate::scenario::Pattern;

/// One pending item, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewItem {
    pub id: String,
    pub kind: Kind,
    /// Unified diff of the compared forms, empty where they are the same; where nothing is approved
    /// yet, the whole text as new lines.
    pub diff: String,
    pub pictures: Vec<PictureChange>,
}

/// A picture before and after; equal bytes are left out. Its name may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureChange {
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

/// What waits, as it is shown. `volatile` gives a scenario's patterns by its id.
pub fn items(
    root: &Path,
    waiting: Vec<Item>,
    volatile: &dyn Fn(&str) -> Vec<Pattern>,
) -> Result<Vec<ReviewItem>, SnapshotError> {
    let shown = |Item { id, kind }| {
        let new = read_if_there(&kind.pending_path(root, &id))?.unwrap_or_default();
        let diff = match read_if_there(&kind.approved_path(root, &id))? {
            None => diff("", &new),
            Some(old) => {
                let volatile = match kind {
                    Kind::Tutorial => volatile(&id),
                    Kind::Steps => Vec::new(),
                };
                diff(
                    &compared_form(kind, &old, &volatile),
                    &compared_form(kind, &new, &volatile),
                )
            }
        };
        let pictures = match kind {
            Kind::Tutorial => changes(root, &id),
            Kind::Steps => Vec::new(),
        };
        Ok(ReviewItem {
            id,
            kind,
            diff,
            pictures,
        })
    };
    waiting.into_iter().map(shown).collect()
}

/// A picture belongs to the one of its step: names begin with the step's number and go on with its
/// caption, which may have changed.
fn changes(root: &Path, id: &str) -> Vec<PictureChange> {
    let (approved, waiting) = (pictures::approved(root, id), pictures::pending(root, id));
    if !waiting.is_dir() {
        return Vec::new();
    }
    let (mut old, mut new) = (pictures::names(&approved), pictures::names(&waiting));
    let mut pairs: Vec<(Option<String>, Option<String>)> = Vec::new();
    let rules: [fn(&str, &str) -> bool; 2] = [
        |a, b| a == b,
        |a, b| number(a).is_some() && number(a) == number(b),
    ];
    for fits in rules {
        old.retain(|a| match new.iter().position(|b| fits(a, b)) {
            Some(at) => {
                pairs.push((Some(a.clone()), Some(new.remove(at))));
                false
            }
            None => true,
        });
    }
    pairs.extend(old.into_iter().map(|a| (Some(a), None)));
    pairs.extend(new.into_iter().map(|b| (None, Some(b))));
    pairs.sort_by(|a, b| {
        a.0.as_ref()
            .or(a.1.as_ref())
            .cmp(&b.0.as_ref().or(b.1.as_ref()))
    });
    pairs
        .into_iter()
        .map(|(a, b)| PictureChange {
            approved: a.map(|name| approved.join(name)),
            pending: b.map(|name| waiting.join(name)),
        })
        .filter(|change| match (&change.approved, &change.pending) {
            (Some(a), Some(b)) => {
                !matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
            }
            _ => true,
        })
        .collect()
}

/// `01` of `01-sign-in.png`.
fn number(name: &str) -> Option<&str> {
    let (number, _) = name.split_once('-')?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
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
