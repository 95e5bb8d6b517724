//! Files that only their owner may read, replaced whole or not at all.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is a symbolic link; name the file itself", .0.display())]
    Link(PathBuf),
    #[error("{} is not a plain file", .0.display())]
    NotAFile(PathBuf),
    #[error("{} can be read by others (mode {mode:04o}); run: chmod 600 {}", path.display(), path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("{} can be changed by others (mode {mode:04o}); run: chmod 700 {}", path.display(), path.display())]
    OpenFolder { path: PathBuf, mode: u32 },
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    #[error("{} is larger than {} MiB", .0.display(), LIMIT >> 20)]
    TooLarge(PathBuf),
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

const LIMIT: u64 = 16 << 20;

fn io_error(path: &Path) -> impl Fn(io::Error) -> FileError {
    move |error| FileError::Io {
        path: path.to_owned(),
        error,
    }
}

/// Reads a file that must be plain, ours, and closed to everybody else.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let file = OpenOptions::new()
        .read(true)
        // Non-blocking, so that a pipe put there can't hang us; it is refused below.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => FileError::Link(path.to_owned()),
            Some(libc::ENOENT) => FileError::Missing(path.to_owned()),
            _ => io_error(path)(error),
        })?;
    // Asked of the open file, not of the path, which may have been swapped in between.
    let facts = file.metadata().map_err(io_error(path))?;
    if !facts.is_file() {
        return Err(FileError::NotAFile(path.to_owned()));
    }
    if facts.uid() != own_user() {
        return Err(FileError::Foreign(path.to_owned()));
    }
    if facts.mode() & 0o077 != 0 {
        return Err(FileError::Open {
            path: path.to_owned(),
            mode: facts.mode() & 0o7777,
        });
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(facts.len().min(LIMIT) as usize + 1));
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error(path))?;
    if bytes.len() as u64 > LIMIT {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

/// Writes a new file; one that is there already stays as it is.
pub fn create(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    prepare_folder(path)?;
    let temp = write_beside(path, bytes)?;
    let linked = std::fs::hard_link(&temp, path);
    let _ = std::fs::remove_file(&temp);
    linked.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => io_error(path)(error),
    })?;
    sync_folder(path)
}

/// Replaces a file whole: after a crash there is the old one or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    prepare_folder(path)?;
    let temp = write_beside(path, bytes)?;
    if let Err(error) = std::fs::rename(&temp, path) {
        let _ = std::fs::remove_file(&temp);
        return Err(io_error(path)(error));
    }
    sync_folder(path)
}

/// Makes the folder (0700) or refuses one in which others could swap our file.
pub fn prepare_folder(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(io_error(folder))?;
    let facts = std::fs::metadata(folder).map_err(io_error(folder))?;
    if facts.mode() & 0o022 != 0 {
        return Err(FileError::OpenFolder {
            path: folder.to_owned(),
            mode: facts.mode() & 0o7777,
        });
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| io_error(path)(io::Error::other(e.to_string())))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.tmp", u64::from_ne_bytes(random)));
    let temp = folder_of(path).join(name);
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&temp)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&temp);
        io_error(path)(error)
    })?;
    Ok(temp)
}

fn sync_folder(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(io_error(folder))
}

fn own_user() -> u32 {
    // SAFETY: takes nothing and can't fail.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn files_are_closed_to_others_and_open_ones_are_refused() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("a/b/key");
        create(&path, b"one").expect("create");
        let mode = |p: &Path| std::fs::metadata(p).expect("there").mode() & 0o777;
        assert_eq!(
            (mode(&path), mode(path.parent().expect("folder"))),
            (0o600, 0o700)
        );
        assert!(matches!(create(&path, b"two"), Err(FileError::Exists(_))));
        assert_eq!(read(&path).expect("read").as_slice(), b"one");
        replace(&path, b"two").expect("replace");
        assert_eq!(read(&path).expect("read").as_slice(), b"two");
        assert_eq!(
            std::fs::read_dir(path.parent().expect("folder"))
                .expect("list")
                .count(),
            1
        );
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("mode");
            assert!(
                matches!(read(&path), Err(FileError::Open { .. })),
                "{mode:o}"
            );
        }
    }

    #[test]
    fn links_folders_pipes_and_open_folders_are_refused() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("key");
        create(&path, b"one").expect("create");
        let link = dir.path().join("link");
        symlink(&path, &link).expect("link");
        assert!(matches!(read(&link), Err(FileError::Link(_))));
        assert!(matches!(read(dir.path()), Err(FileError::NotAFile(_))));
        assert!(matches!(
            read(&dir.path().join("none")),
            Err(FileError::Missing(_))
        ));
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo");
        assert!(made.success());
        assert!(matches!(read(&pipe), Err(FileError::NotAFile(_))));
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("mode");
        assert!(matches!(
            replace(&path, b"two"),
            Err(FileError::OpenFolder { .. })
        ));
    }
}
