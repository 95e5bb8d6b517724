//! Finding a program on PATH, without a shell and without running it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first executable file called `name` on PATH. A `name` with a slash is taken as a path.
pub fn which(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    which_in(name.as_ref(), &path)
}

/// As [`which`], on a given PATH value.
pub fn which_in(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_encoded_bytes().contains(&b'/') {
        let given = PathBuf::from(name);
        return is_executable(&given).then_some(given);
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

/// A regular file with an execute bit; links are followed.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_executable_files_in_absolute_folders() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "#!/bin/sh\n").unwrap();
        let path = std::env::join_paths([Path::new("."), folder.path()]).unwrap();
        assert_eq!(
            which_in(OsStr::new("tool"), &path),
            None,
            "not executable yet"
        );
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(which_in(OsStr::new("tool"), &path), Some(tool.clone()));
        assert_eq!(which_in(tool.as_os_str(), OsStr::new("")), Some(tool));
        assert_eq!(which_in(OsStr::new("absent"), &path), None);
        assert_eq!(which_in(OsStr::new(""), &path), None);
    }
}
