//! Taking over what is pending, and finding what nobody owns any more.

use std::path::{Path, PathBuf};

use super::{Kind, SnapshotError};

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
    }
    lost.sort();
    lost
}

/// Moves pending files over the approved ones. A name that matches nothing is an error (case 094).
pub fn accept(root: &Path, names: &[String]) -> Result<Vec<Accepted>, SnapshotError> {
    let all = pending(root);
    for name in names {
        if !all.iter().any(|item| item.id == *name) {
            let ids: Vec<&str> = all.iter().map(|i| i.id.as_str()).collect();
            let near = match crate::text::nearest(name, ids.iter().copied()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None if ids.is_empty() => "; nothing is pending at all".to_owned(),
                None => format!("; pending: {}", ids.join(", ")),
            };
            return Err(SnapshotError::NothingPending {
                name: name.clone(),
                near,
            });
        }
    }
    let mut accepted = Vec::new();
    for item in all
        .into_iter()
        .filter(|i| names.is_empty() || names.contains(&i.id))
    {
        let (from, to) = (
            item.kind.pending_path(root, &item.id),
            item.kind.approved_path(root, &item.id),
        );
        std::fs::rename(&from, &to).map_err(|e| SnapshotError::Unwritable {
            path: to.clone(),
            reason: e.to_string(),
        })?;
        accepted.push(Accepted { item, path: to });
    }
    Ok(accepted)
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
