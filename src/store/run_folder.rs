//! The folder of a run: checked, made and locked before anything is started.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use super::atomic::{self, StoreError};
use super::names::safe_name;

/// Why a run has no place to write to. All of these end a run with exit 3 before a browser.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("--out {}: another run (process {pid}) is writing here; wait for it or choose another folder", out.display())]
    Busy { out: PathBuf, pid: String },
    #[error("--out {}: is a file; name a folder", .0.display())]
    IsFile(PathBuf),
    #[error("--out {}: is a symbolic link; name the folder it points to", .0.display())]
    IsLink(PathBuf),
    #[error("--out {}: {} is not a folder", out.display(), entry.display())]
    InTheWay { out: PathBuf, entry: PathBuf },
    #[error("--out: {0}")]
    Store(#[from] StoreError),
    #[error("{0:?} is not a run id (letters, digits and -)")]
    BadRunId(String),
}

/// A run's folder, held for this process as long as the value lives.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    run_id: String,
    /// Its lock ends with the file, also when the process is killed.
    _lock: File,
}

/// `YYYYmmdd-HHMMSS-xxxx`, UTC; the last part is random, so that a clock set back does no harm.
pub fn new_run_id() -> String {
    let mut random = [0; 2];
    // Without randomness two runs of one second collide, and creating the folder says so.
    let _ = getrandom::fill(&mut random);
    let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    format!("{time}-{:04x}", u16::from_ne_bytes(random))
}

impl RunFolder {
    /// Makes `out` if need be, locks it, makes `out/<run_id>` and points `out/latest` to it.
    pub fn create(out: &Path, run_id: &str) -> Result<Self, FolderError> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if run_id.is_empty() || !run_id.bytes().all(fits) {
            return Err(FolderError::BadRunId(run_id.to_owned()));
        }
        check(out)?;
        std::fs::create_dir_all(out).map_err(|e| in_the_way(out, e))?;
        let lock = lock(out)?;
        let path = out.join(run_id);
        std::fs::create_dir(&path).map_err(|e| StoreError::new(&path, e))?;
        probe(&path)?;
        point_latest(out, run_id)?;
        Ok(Self {
            path,
            run_id: run_id.to_owned(),
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The folder of a scenario, made: `shop/checkout` becomes `shop/checkout` below the run.
    pub fn scenario_dir(&self, id: &str) -> Result<PathBuf, StoreError> {
        let mut path = self.path.clone();
        path.extend(id.split('/').filter(|p| !p.is_empty()).map(safe_name));
        if path == self.path {
            path.push(safe_name(id));
        }
        std::fs::create_dir_all(&path).map_err(|e| StoreError::new(&path, e))?;
        Ok(path)
    }
}

fn check(out: &Path) -> Result<(), FolderError> {
    match out.symlink_metadata() {
        Ok(facts) if facts.is_symlink() => Err(FolderError::IsLink(out.to_owned())),
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(FolderError::IsFile(out.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(in_the_way(out, error)),
    }
}

/// Finds the part of the path that is no folder.
fn in_the_way(out: &Path, error: io::Error) -> FolderError {
    if error.kind() == io::ErrorKind::NotADirectory || error.kind() == io::ErrorKind::AlreadyExists
    {
        let entry = out.ancestors().find(|p| p.exists() && !p.is_dir());
        if let Some(entry) = entry {
            return FolderError::InTheWay {
                out: out.to_owned(),
                entry: entry.to_owned(),
            };
        }
    }
    StoreError::new(out, error).into()
}

fn lock(out: &Path) -> Result<File, FolderError> {
    let path = out.join(".lock");
    let failed = |e| FolderError::from(StoreError::new(&path, e));
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = Read::by_ref(&mut file).take(20).read_to_string(&mut pid);
            let digits: String = pid.chars().filter(char::is_ascii_digit).collect();
            return Err(FolderError::Busy {
                out: out.to_owned(),
                pid: if digits.is_empty() {
                    "unknown".into()
                } else {
                    digits
                },
            });
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let note = format!("{}\n", std::process::id());
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(note.as_bytes()))
        .map_err(failed)?;
    Ok(file)
}

/// Writes and removes a file: a folder can be there and still refuse.
fn probe(path: &Path) -> Result<(), StoreError> {
    let file = path.join(".probe");
    atomic::write(&file, b"probe")?;
    std::fs::remove_file(&file).map_err(|e| StoreError::new(&file, e))
}

/// `latest` is replaced by renaming, so there is always one; a real folder of that name stays.
fn point_latest(out: &Path, run_id: &str) -> Result<(), StoreError> {
    let latest = out.join("latest");
    if latest
        .symlink_metadata()
        .is_ok_and(|facts| !facts.is_symlink())
    {
        return Ok(());
    }
    let failed = |e| StoreError::new(&latest, e);
    let temp = atomic::temp_name(&latest).map_err(failed)?;
    symlink(run_id, &temp).map_err(failed)?;
    std::fs::rename(&temp, &latest).map_err(|e| {
        let _ = std::fs::remove_file(&temp);
        failed(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_folder_and_latest_points_to_it() {
        let dir = tempfile::tempdir().expect("folder");
        let out = dir.path().join("not/there/yet");
        let first = RunFolder::create(&out, "20260101-000000-aaaa").expect("create");
        let nested = first.scenario_dir("shop/check out").expect("folder");
        assert_eq!(nested, first.path().join("shop/check-out"));
        let hostile = first.scenario_dir("../../x").expect("folder");
        assert!(hostile.starts_with(first.path()) && hostile != first.path());
        assert!(!hostile.to_string_lossy().contains(".."));
        drop(first);
        let second = RunFolder::create(&out, &new_run_id()).expect("create");
        assert_eq!(
            std::fs::read_link(out.join("latest")).expect("link"),
            Path::new(second.run_id())
        );
        assert_eq!(
            std::fs::read_dir(second.path()).expect("list").count(),
            0,
            "no probe left"
        );
    }

    #[test]
    fn f36_a_second_run_in_the_same_folder_is_told_who_is_there() {
        let dir = tempfile::tempdir().expect("folder");
        let first = RunFolder::create(dir.path(), "a").expect("create");
        let error = RunFolder::create(dir.path(), "b").expect_err("busy");
        let pid = std::process::id().to_string();
        assert!(
            matches!(&error, FolderError::Busy { pid: holder, .. } if *holder == pid),
            "{error}"
        );
        assert!(!dir.path().join("b").exists());
        drop(first);
        RunFolder::create(dir.path(), "b").expect("free again");
    }

    #[test]
    fn f27_a_bad_out_is_found_before_anything_starts() {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join("file");
        std::fs::write(&file, "x").expect("file");
        assert!(matches!(
            RunFolder::create(&file, "a"),
            Err(FolderError::IsFile(_))
        ));
        let below = RunFolder::create(&file.join("below"), "a").expect_err("in the way");
        assert!(
            matches!(&below, FolderError::InTheWay { entry, .. } if *entry == file),
            "{below}"
        );
        let link = dir.path().join("link");
        symlink(dir.path(), &link).expect("link");
        assert!(matches!(
            RunFolder::create(&link, "a"),
            Err(FolderError::IsLink(_))
        ));
        let long = dir.path().join("x".repeat(300));
        assert!(matches!(
            RunFolder::create(&long, "a"),
            Err(FolderError::Store(_))
        ));
        assert!(matches!(
            RunFolder::create(dir.path(), "../a"),
            Err(FolderError::BadRunId(_))
        ));
        assert!(RunFolder::create(Path::new("/proc/nowhere"), "a").is_err());
    }

    #[test]
    fn f35_run_ids_sort_by_time_and_differ() {
        let ids: std::collections::HashSet<String> = (0..8).map(|_| new_run_id()).collect();
        assert!(ids.len() > 1);
        assert!(
            ids.iter()
                .all(|id| id.len() == "YYYYmmdd-HHMMSS-xxxx".len())
        );
    }
}
