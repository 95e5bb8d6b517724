//! Whole files: a temporary one, synced, renamed into place, the folder synced.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What went wrong with a file, told apart where a caller acts on it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: no space left on the disk; free some and run again", .0.display())]
    DiskFull(PathBuf),
    #[error("{}: the disk reports an error (input/output error); check it", .0.display())]
    DiskError(PathBuf),
    #[error("{}: not allowed ({error}); choose another folder with --out", path.display())]
    Denied { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl StoreError {
    pub fn new(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(path),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { path, error }
            }
            _ if error.raw_os_error() == Some(libc::EIO) => Self::DiskError(path),
            _ => Self::Io { path, error },
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::DiskFull(path) | Self::DiskError(path) => path,
            Self::Denied { path, .. } | Self::Io { path, .. } => path,
        }
    }
}

/// Replaces `path` by `bytes`; folders on the way are made. After a crash there is the old file
/// or the new one.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_mode(path, bytes, 0o644, true)
}

/// As [`write`], but left to the system to bring to the disk: for the many pictures of a run, whose
/// events are not synced one by one either. A reader never sees half of it.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_mode(path, bytes, 0o644, false)
}

/// As [`write`], readable by the owner only.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_mode(path, bytes, 0o600, true)
}

fn write_mode(path: &Path, bytes: &[u8], mode: u32, sync: bool) -> Result<(), StoreError> {
    let failed = |error| StoreError::new(path, error);
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let temp = temp_name(path).map_err(failed)?;
    let done = write_new(&temp, bytes, mode, sync).and_then(|()| std::fs::rename(&temp, path));
    if let Err(error) = done {
        let _ = std::fs::remove_file(&temp);
        return Err(failed(error));
    }
    if sync {
        sync_folder(folder).map_err(failed)?;
    }
    Ok(())
}

fn write_new(temp: &Path, bytes: &[u8], mode: u32, sync: bool) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW)
        .open(temp)?;
    file.write_all(bytes)?;
    if sync { file.sync_all() } else { Ok(()) }
}

/// A name beside `path` that nobody else uses, short whatever the length of `path`'s own.
pub fn temp_name(path: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
    let name = format!(".{:016x}.tmp", u64::from_ne_bytes(random));
    Ok(folder_of(path).join(name))
}

pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("a/b.txt");
        write(&path, b"one").expect("write");
        write_private(&path, b"two").expect("write");
        assert_eq!(std::fs::read(&path).expect("read"), b"two");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            std::fs::read_dir(dir.path().join("a"))
                .expect("list")
                .count(),
            1
        );
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_says_where_and_why() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("taken");
        std::fs::create_dir(&path).expect("folder");
        let error = write(&path, b"x").expect_err("a folder is in the way");
        assert!(error.to_string().contains("taken"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1);
        std::fs::write(dir.path().join("file"), "x").expect("file");
        assert!(write(&dir.path().join("file/below"), b"x").is_err());
    }

    #[test]
    fn f28_f29_disk_faults_are_told_apart() {
        let kind = |code| StoreError::new(Path::new("p"), io::Error::from_raw_os_error(code));
        assert!(matches!(kind(libc::ENOSPC), StoreError::DiskFull(_)));
        assert!(matches!(kind(libc::EDQUOT), StoreError::DiskFull(_)));
        assert!(matches!(kind(libc::EIO), StoreError::DiskError(_)));
        assert!(matches!(kind(libc::EROFS), StoreError::Denied { .. }));
        assert!(matches!(kind(libc::ENAMETOOLONG), StoreError::Io { .. }));
    }
}
