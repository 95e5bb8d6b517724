//! Private folders for one session, and the janitor for those a crash left behind.
//!
//! A session's folder holds the browser profile, so it may hold what a person typed: mode 0700,
//! removed at the end by the guard, and by the next start if even the guard was killed
//! (F33, case 110). The janitor goes by recorded pid *and* start time, never by name.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::proc::{self, ProcessId};

const PREFIX: &str = "rehearsal-s-";
const OWNERS: &str = "owners";
/// A folder without readable owners is left alone this long: it may be just being made.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// A 0700 folder of ours, removed on drop unless [`PrivateFolder::hand_over`] gave it away.
#[derive(Debug)]
pub struct PrivateFolder {
    path: Option<PathBuf>,
}

impl PrivateFolder {
    /// Makes a session folder in the system's folder for temporary files and writes us down
    /// as its owner.
    pub fn session() -> io::Result<Self> {
        Self::session_in(&std::env::temp_dir())
    }

    pub fn session_in(base: &Path) -> io::Result<Self> {
        let path = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)?
            .keep();
        let folder = Self { path: Some(path) };
        record_owner(folder.path(), "runner", std::process::id() as i32)?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// A 0700 folder inside.
    pub fn sub(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(path)
    }

    /// From now on somebody else (the guard) removes it.
    pub fn hand_over(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let _ = remove(&path);
        }
    }
}

/// Removes a folder and all in it; one that is gone already is fine. Links are not followed.
pub fn remove(path: &Path) -> io::Result<()> {
    let mut last = Ok(());
    // A dying process may still create a file between listing and removal.
    for _ in 0..5 {
        last = match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Adds `role pid start` to the folder's owners.
pub fn record_owner(folder: &Path, role: &str, pid: i32) -> io::Result<()> {
    let Some(stat) = proc::stat(pid) else {
        return Ok(());
    };
    fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(folder.join(OWNERS))?
        .write_all(format!("{role} {} {}\n", stat.pid, stat.start).as_bytes())
}

fn owners(folder: &Path) -> Vec<(String, ProcessId)> {
    let text = fs::read_to_string(folder.join(OWNERS)).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let role = words.next()?.to_owned();
            let pid = words.next()?.parse().ok()?;
            let start = words.next()?.parse().ok()?;
            Some((role, ProcessId { pid, start }))
        })
        .collect()
}

/// What the janitor did with one folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Swept {
    pub folder: PathBuf,
    pub killed: usize,
    pub removed: bool,
}

/// Ends and removes sessions whose runner is gone. Folders of living runners, of other users
/// and links are left alone.
pub fn remove_stale_sessions() -> Vec<Swept> {
    remove_stale_sessions_in(&std::env::temp_dir())
}

pub fn remove_stale_sessions_in(base: &Path) -> Vec<Swept> {
    let Ok(entries) = fs::read_dir(base) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(PREFIX.as_bytes())
        })
        .map(|entry| entry.path())
        .filter(|path| is_ours(path))
        .filter_map(|path| sweep(&path))
        .collect()
}

fn is_ours(path: &Path) -> bool {
    // SAFETY: geteuid has no arguments and can't fail.
    let me = unsafe { libc::geteuid() };
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == me)
}

fn sweep(folder: &Path) -> Option<Swept> {
    let owners = owners(folder);
    if owners.is_empty() {
        let age = fs::symlink_metadata(folder)
            .and_then(|meta| meta.modified())
            .ok()?
            .elapsed()
            .ok()?;
        if age < FORGOTTEN_AFTER {
            return None;
        }
    }
    if owners
        .iter()
        .any(|(role, id)| role == "runner" && proc::is_running(*id))
    {
        return None;
    }
    let mut killed = 0;
    for (_, id) in owners.iter().filter(|(role, _)| role != "runner") {
        if !proc::is_running(*id) {
            continue;
        }
        let group = proc::stat(id.pid).map(|stat| stat.group);
        for process in proc::descendants(id.pid) {
            killed += usize::from(proc::signal(process.pid, libc::SIGKILL));
        }
        killed += usize::from(proc::signal(id.pid, libc::SIGKILL));
        // The guard leads the group and no one else can own its number while a member lives.
        if let Some(group) = group.filter(|group| owners.iter().any(|(_, o)| o.pid == *group)) {
            proc::signal_group(group, libc::SIGKILL);
        }
    }
    Some(Swept {
        folder: folder.to_owned(),
        killed,
        removed: remove(folder).is_ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_folder_is_private_and_goes_with_its_owner() {
        let base = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::session_in(base.path()).unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let sub = folder.sub("profile").unwrap();
        assert_eq!(fs::metadata(sub).unwrap().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn case_110_the_janitor_removes_only_what_a_dead_runner_left() {
        let base = tempfile::tempdir().unwrap();
        let living = PrivateFolder::session_in(base.path()).unwrap();
        let fresh = base.path().join(format!("{PREFIX}fresh"));
        fs::create_dir(&fresh).unwrap();
        let foreign = base.path().join("someone-else");
        fs::create_dir(&foreign).unwrap();

        // A runner with our pid but another start time is a dead runner whose pid came back.
        let stale = PrivateFolder::session_in(base.path()).unwrap().hand_over();
        let mut leftover = std::process::Command::new("/bin/sleep")
            .arg("600")
            .spawn()
            .unwrap();
        fs::write(
            stale.join(OWNERS),
            format!("runner {} 1\n", std::process::id()),
        )
        .unwrap();
        record_owner(&stale, "guard", leftover.id() as i32).unwrap();

        let swept = remove_stale_sessions_in(base.path());
        assert_eq!(
            swept,
            vec![Swept {
                folder: stale.clone(),
                killed: 1,
                removed: true
            }]
        );
        assert!(!leftover.wait().unwrap().success());
        assert!(living.path().exists() && fresh.exists() && foreign.exists());
    }

    #[test]
    fn a_pid_that_came_back_is_not_killed() {
        let base = tempfile::tempdir().unwrap();
        let stale = PrivateFolder::session_in(base.path()).unwrap().hand_over();
        let mut bystander = std::process::Command::new("/bin/sleep")
            .arg("600")
            .spawn()
            .unwrap();
        fs::write(
            stale.join(OWNERS),
            format!(
                "runner {} 1\nguard {} 1\n",
                std::process::id(),
                bystander.id()
            ),
        )
        .unwrap();
        let swept = remove_stale_sessions_in(base.path());
        assert_eq!(swept[0].killed, 0);
        assert!(bystander.try_wait().unwrap().is_none(), "still running");
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }
}
