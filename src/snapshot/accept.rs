//! Taking over what is pending, and finding what nobody owns any more.

use std::path::{Path, PathBuf};

use super::{Kind, SnapshotError, pictures};

/// Looks at a file's bytes and may refuse them.
pub type Check<'a> = &'a dyn Fn(&Path, &[u8]) -> Result<(), String>;

/// One pending file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub id: String,
    pub kind: Kind,
}

/// What was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub item: Item,
    pub path: PathBuf,
}

/// Every pending file below `snapshots/`, sorted.
pub fn pending(root: &Path) -> Vec<Item> {
    let mut items = Vec::new();
    for folder in folders(&root.join("snapshots")) {
        let Ok(id) = folder.strip_prefix(root.join("snapshots")) else {
            continue;
        };
        let id = id.to_string_lossy().replace('\\', "/");
        items.extend(
            Kind::ALL
                .into_iter()
                .filter(|k| k.pending_path(root, &id).is_file())
                .map(|kind| Item {
                    id: id.clone(),
                    kind,
                }),
        );
    }
    items.sort();
    items
}

/// Approved or pending files whose scenario is gone.
pub fn orphans(root: &Path, ids: &[&str]) -> Vec<PathBuf> {
    let mut lost = Vec::new();
    for folder in folders(&root.join("snapshots")) {
        let Ok(id) = folder.strip_prefix(root.join("snapshots")) else {
            continue;
        };
        let id = id.to_string_lossy().replace('\\', "/");
        if ids.contains(&id.as_str()) {
            continue;
        }
        for kind in Kind::ALL {
            lost.extend(
                [kind.approved_path(root, &id), kind.pending_path(root, &id)]
                    .into_iter()
                    .filter(|p| p.is_file()),
            );
        }
        let folders = [pictures::approved(root, &id), pictures::pending(root, &id)];
        lost.extend(folders.into_iter().filter(|p| p.is_dir()));
    }
    lost.sort();
    lost
}

/// Removes what [`orphans`] lists; gives what was removed.
pub fn remove_orphans(root: &Path, ids: &[&str]) -> Result<Vec<PathBuf>, SnapshotError> {
    let lost = orphans(root, ids);
    for path in &lost {
        if path.is_dir() {
            pictures::remove(path)?;
        } else {
            std::fs::remove_file(path).map_err(|e| unwritable(path, &e))?;
        }
        // Folders that are empty now go too, up to `snapshots/`; others refuse to be removed.
        let above = path.ancestors().skip(1);
        for folder in above.take_while(|f| *f != root.join("snapshots") && *f != root) {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(lost)
}

fn unwritable(path: &Path, error: &std::io::Error) -> SnapshotError {
    SnapshotError::Unwritable {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// Moves pending files over the approved ones. A name that matches nothing is an error (case 094).
pub fn accept(root: &Path, names: &[String]) -> Result<Vec<Accepted>, SnapshotError> {
    accept_checked(root, names, None, &|_, _| Ok(()))
}

/// As [`accept`], for one kind only where `kind` is given. `check` sees every file, its path and its
/// bytes, before anything is moved, and may refuse (case 086: a known value in any of them).
pub fn accept_checked(
    root: &Path,
    names: &[String],
    kind: Option<Kind>,
    check: Check,
) -> Result<Vec<Accepted>, SnapshotError> {
    let mut all = pending(root);
    all.retain(|item| kind.is_none_or(|k| k == item.kind));
    let all = select(all, names)?;
    for item in &all {
        checked(root, item, check)?;
    }
    let mut accepted = Vec::new();
    for item in all {
        let to = item.kind.approved_path(root, &item.id);
        if item.kind == Kind::Tutorial {
            pictures::accept(root, &item.id)?;
        }
        std::fs::rename(item.kind.pending_path(root, &item.id), &to)
            .map_err(|e| unwritable(&to, &e))?;
        accepted.push(Accepted { item, path: to });
    }
    Ok(accepted)
}

/// The items of these scenarios, all without a name. A name that matches nothing is an error.
pub fn select(mut all: Vec<Item>, names: &[String]) -> Result<Vec<Item>, SnapshotError> {
    for name in names {
        if !all.iter().any(|item| item.id == *name) {
            return Err(nothing(name, &all));
        }
    }
    all.retain(|item| names.is_empty() || names.contains(&item.id));
    Ok(all)
}

fn nothing(name: &str, all: &[Item]) -> SnapshotError {
    let mut ids: Vec<&str> = all.iter().map(|i| i.id.as_str()).collect();
    ids.dedup();
    let near = match crate::text::nearest(name, ids.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if ids.is_empty() => "; nothing is pending at all".to_owned(),
        None => format!("; pending: {}", ids.join(", ")),
    };
    SnapshotError::NothingPending {
        name: name.to_owned(),
        near,
    }
}

fn checked(root: &Path, item: &Item, check: Check) -> Result<(), SnapshotError> {
    let mut paths = vec![item.kind.pending_path(root, &item.id)];
    if item.kind == Kind::Tutorial {
        let text = super::read_if_there(&paths[0])?.unwrap_or_default();
        pictures::check(root, &item.id, &text)?;
        let folder = pictures::pending(root, &item.id);
        for name in pictures::names(&folder) {
            paths.extend([
                folder.join(name.replace(".png", ".json")),
                folder.join(name),
            ]);
        }
    }
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|e| SnapshotError::Unreadable {
            path: path.clone(),
            reason: e.to_string(),
        })?;
        check(&path, &bytes).map_err(|reason| SnapshotError::Refused { path, reason })?;
    }
    Ok(())
}

/// All folders below `base`, however deep.
fn folders(base: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![base.to_owned()];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                waiting.push(entry.path());
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
