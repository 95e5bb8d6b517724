//! Pictures of tutorials: `snapshots/<id>/pictures/`, and `pictures.new/` while they wait.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{SnapshotError, verify_records};

pub fn approved(root: &Path, id: &str) -> PathBuf {
    root.join("snapshots").join(id).join("pictures")
}

pub fn pending(root: &Path, id: &str) -> PathBuf {
    root.join("snapshots").join(id).join("pictures.new")
}

/// File names of the pictures in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".png"))
        .collect();
    names.sort();
    names
}

/// Copies pictures and records beside the approved ones; what waited before is replaced whole.
pub fn propose(root: &Path, id: &str, from: &Path) -> Result<(), SnapshotError> {
    verify_records(from)?;
    clear_pending(root, id)?;
    let to = pending(root, id);
    for name in names(from) {
        for file in [name.replace(".png", ".json"), name] {
            let bytes = std::fs::read(from.join(&file)).map_err(|e| SnapshotError::Unreadable {
                path: from.join(&file),
                reason: e.to_string(),
            })?;
            crate::store::write(&to.join(&file), &bytes)
                .map_err(|e| unwritable(&to.join(&file), &e))?;
        }
    }
    Ok(())
}

/// Whether the pending pictures may be taken over: every record fits, and the text names no picture
/// that is not there. Without a pending folder the approved pictures stay.
pub fn check(root: &Path, id: &str, markdown: &str) -> Result<(), SnapshotError> {
    let folder = pending(root, id);
    if !folder.exists() {
        return Ok(());
    }
    verify_records(&folder)?;
    let there = names(&folder);
    let shown = markdown
        .split("](pictures/")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    for name in shown {
        if !there.iter().any(|n| n == name) {
            return Err(SnapshotError::NoPicture {
                path: folder.join(name),
            });
        }
    }
    Ok(())
}

/// Pending pictures become the approved ones. The old ones go last, so that a crash loses nothing.
pub fn accept(root: &Path, id: &str) -> Result<(), SnapshotError> {
    let (new, now) = (pending(root, id), approved(root, id));
    if !new.is_dir() {
        return Ok(());
    }
    let old = now.with_file_name("pictures.old.new");
    remove(&old)?;
    if now.exists() {
        std::fs::rename(&now, &old).map_err(|e| unwritable(&now, &e))?;
    }
    std::fs::rename(&new, &now).map_err(|e| unwritable(&now, &e))?;
    remove(&old)
}

pub fn clear_pending(root: &Path, id: &str) -> Result<(), SnapshotError> {
    remove(&pending(root, id))
}

pub fn remove(folder: &Path) -> Result<(), SnapshotError> {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(unwritable(folder, &e)),
    }
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> SnapshotError {
    SnapshotError::Unwritable {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
