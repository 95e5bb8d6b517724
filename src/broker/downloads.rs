//! Downloads: which are on their way, whose consent they have, and what was kept (R43, R79).
//!
//! A step consents to files by name, and only to what begins after it did. Its consent lasts until the
//! next step that acts: pages make several files of one click, some of them later.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::policy::Glob;
use crate::store::names::safe_name;

use super::types::Happening;

/// A file on its way.
#[derive(Debug)]
struct Coming {
    name: String,
    /// The step that consented to it.
    consent: Option<u64>,
}

/// A file that came and was consented to.
#[derive(Debug)]
struct Came {
    name: String,
    step: u64,
}

#[derive(Debug, Default)]
pub struct Downloads {
    /// Steps begun so far that may set off a download.
    step: u64,
    consent: Option<Glob>,
    coming: BTreeMap<String, Coming>,
    came: Vec<Came>,
    /// Files of the running step that nobody consented to.
    refused: Vec<String>,
}

impl Downloads {
    /// From here on a file needs this step's consent.
    pub fn begin_step(&mut self, consent: Option<&str>) {
        self.step += 1;
        self.consent = consent.map(Glob::new);
        self.refused.clear();
    }

    /// A file begins, by the name the site gives it.
    pub fn begins(&mut self, id: String, name: String) {
        let agreed = self.consent.as_ref().is_some_and(|g| g.matches(&name));
        let consent = agreed.then_some(self.step);
        self.coming.insert(id, Coming { name, consent });
    }

    /// It ended. What nobody consented to does not stay on the disk.
    pub fn ends(&mut self, id: &str, completed: bool, path: Option<&Path>) -> Happening {
        let Coming { name, consent } = self.coming.remove(id).unwrap_or_else(|| Coming {
            name: path.map(file_name).unwrap_or_default(),
            consent: None,
        });
        let bytes = path
            .and_then(|p| std::fs::metadata(p).ok())
            .map_or(0, |m| m.len());
        let accepted = completed && consent.is_some();
        let mut kept = None;
        match (path, consent) {
            (Some(path), Some(step)) if completed => {
                kept = Some(renamed(path, &file_name(path)));
                self.came.push(Came {
                    name: name.clone(),
                    step,
                });
            }
            (Some(path), None) => drop(std::fs::remove_file(path)),
            _ => {}
        }
        if consent.is_none() {
            self.refused.push(name.clone());
        }
        Happening::Download {
            name,
            path: kept,
            bytes,
            accepted,
        }
    }

    /// Names of the files kept so far, oldest first.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.came.iter().map(|c| c.name.as_str())
    }

    /// Names of the files of the running step that were refused.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(String::as_str)
    }

    /// Whether a file the running step consented to was kept.
    pub fn came_of_step(&self) -> bool {
        self.came.iter().any(|c| c.step == self.step)
    }
}

/// The file under a name that is safe anywhere and nobody's; where it can't be renamed, under its own.
pub(super) fn renamed(path: &Path, name: &str) -> PathBuf {
    let safe = unused(path, &safe_name(name));
    match std::fs::rename(path, &safe) {
        Ok(()) => safe,
        Err(_) => path.to_owned(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// `name` beside `path`, with a number where another file has it already.
fn unused(path: &Path, name: &str) -> PathBuf {
    let free = |candidate: &PathBuf| candidate == path || !candidate.exists();
    let wanted = path.with_file_name(name);
    if free(&wanted) {
        return wanted;
    }
    (2..100)
        .map(|n| path.with_file_name(format!("{n}-{name}")))
        .find(free)
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, "x").unwrap();
        path
    }

    fn came(downloads: &mut Downloads, folder: &Path, name: &str) -> Happening {
        downloads.begins(name.to_owned(), name.to_owned());
        let path = file(folder, name);
        downloads.ends(name, true, Some(&path))
    }

    #[test]
    fn a_file_of_an_earlier_step_is_not_the_next_one_s() {
        let folder = tempfile::tempdir().unwrap();
        let mut downloads = Downloads::default();
        downloads.begin_step(Some("*.csv"));
        came(&mut downloads, folder.path(), "log.csv");
        assert!(downloads.came_of_step());
        // Begun under the first step, ended under the second.
        downloads.begins("late".into(), "late.csv".into());
        downloads.begin_step(Some("*.csv"));
        let path = file(folder.path(), "late.csv");
        downloads.ends("late", true, Some(&path));
        assert!(!downloads.came_of_step());
        assert_eq!(
            downloads.kept().collect::<Vec<_>>(),
            ["log.csv", "late.csv"]
        );
    }

    #[test]
    fn consent_is_to_the_name_the_site_gives() {
        let folder = tempfile::tempdir().unwrap();
        let mut downloads = Downloads::default();
        downloads.begin_step(Some("Q1 report (*).csv"));
        came(&mut downloads, folder.path(), "Q1 report (final).csv");
        assert!(downloads.came_of_step());
        let other = came(&mut downloads, folder.path(), "r\u{e9}sum\u{e9}.csv");
        assert_eq!(
            other,
            Happening::Download {
                name: "r\u{e9}sum\u{e9}.csv".into(),
                path: None,
                bytes: 1,
                accepted: false
            }
        );
        let left: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0], safe_name("Q1 report (final).csv"));
    }

    #[test]
    fn two_files_at_once_are_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut downloads = Downloads::default();
        downloads.begin_step(Some("f*.txt"));
        downloads.begins("1".into(), "f1.txt".into());
        downloads.begins("2".into(), "f2.txt".into());
        for (id, name) in [("2", "f2.txt"), ("1", "f1.txt")] {
            let path = file(folder.path(), name);
            downloads.ends(id, true, Some(&path));
        }
        assert_eq!(downloads.kept().collect::<Vec<_>>(), ["f2.txt", "f1.txt"]);
    }
}
