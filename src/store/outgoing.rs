//! The scan on the way out: bytes are looked through before they become a file.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::atomic::{self, StoreError};
use super::frames::{frame_name, short_hash};
use crate::secrets::{LeakHit, Scanner};

/// A file that passed the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum LeakOrIo {
    /// The bytes are not stored anywhere; `note` says what was found.
    #[error("{}: not written, it holds {} (as {}){}; see {}", path.display(), hits[0].credential, hits[0].form, if *older { "; what is there is older" } else { "" }, note.display())]
    Leak {
        path: PathBuf,
        /// An earlier file, clean when it was written, is still there.
        older: bool,
        hits: Vec<LeakHit>,
        note: PathBuf,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes the files of a run, each scanned first.
pub struct Outgoing {
    run: PathBuf,
    quarantine: PathBuf,
}

impl Outgoing {
    /// Notes about refused files go to `<run>/quarantine/`, which only its owner may enter.
    pub fn new(run: &Path) -> Self {
        Self {
            run: run.to_owned(),
            quarantine: run.join("quarantine"),
        }
    }

    /// Writes `bytes` whole, or refuses them and leaves a note without them.
    pub fn write(&self, path: &Path, bytes: &[u8], scanner: &Scanner) -> Result<Written, LeakOrIo> {
        #[cfg(feature = "leak-injector")]
        let bytes = &crate::secrets::inject::plant::into_file(path, bytes);
        self.judge(path, bytes, scanner)?;
        atomic::write(path, bytes)?;
        Ok(Written {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
        })
    }

    fn judge(&self, path: &Path, bytes: &[u8], scanner: &Scanner) -> Result<(), LeakOrIo> {
        let name = path.strip_prefix(&self.run).unwrap_or(path);
        let hits = scanner.scan_bytes(&name.to_string_lossy(), bytes);
        if !hits.is_empty() {
            let note = self.note(path, &hits, scanner)?;
            let older = path.is_file();
            let path = PathBuf::from(scanner.scrubber().clean(&path.to_string_lossy()).as_str());
            return Err(LeakOrIo::Leak {
                path,
                older,
                hits,
                note,
            });
        }
        Ok(())
    }

    /// Stores a picture under a name made of its content; gives the name relative to `folder`.
    pub fn write_frame(
        &self,
        folder: &Path,
        png: &[u8],
        scanner: &Scanner,
    ) -> Result<PathBuf, LeakOrIo> {
        #[cfg(feature = "leak-injector")]
        let png = &crate::secrets::inject::plant::into_picture(png);
        let name = frame_name(png);
        let path = folder.join(&name);
        if !path.is_file() {
            self.judge(&path, png, scanner)?;
            atomic::write_unsynced(&path, png)?;
        }
        Ok(name)
    }

    /// For a file or folder that others made and the last scan found leaking, by content or name: it is
    /// removed, a note stays.
    pub fn withdraw(
        &self,
        path: &Path,
        hits: &[LeakHit],
        scanner: &Scanner,
    ) -> Result<PathBuf, StoreError> {
        let note = self.note(path, hits, scanner)?;
        let removed = match path.is_dir() && !path.is_symlink() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        match removed {
            // It went with the folder it was in.
            Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => Ok(note),
            Err(error) => Err(StoreError::new(path, error)),
            Ok(()) => Ok(note),
        }
    }

    fn note(
        &self,
        path: &Path,
        hits: &[LeakHit],
        scanner: &Scanner,
    ) -> Result<PathBuf, StoreError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.quarantine)
            .map_err(|e| StoreError::new(&self.quarantine, e))?;
        let shown = path.to_string_lossy();
        let mut text = format!("Withheld: {}\n", scanner.scrubber().clean(&shown));
        for hit in hits {
            text.push_str(&format!(
                "{} as {} at byte {}\n",
                hit.credential, hit.form, hit.offset
            ));
        }
        text.push_str("The content is not kept.\n");
        let note = self
            .quarantine
            .join(format!("{}.txt", short_hash(shown.as_bytes())));
        atomic::write_private(&note, text.as_bytes())?;
        Ok(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{Kind, Scrubber, Secret};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn case_083_leaking_bytes_are_never_stored() {
        let dir = tempfile::tempdir().expect("folder");
        let scrubber = Scrubber::new();
        let value = Secret::new("TILLER-3030".into()).expect("value");
        scrubber.register("harbour", "password", &value, Kind::Password);
        let scanner = Scanner::new(&scrubber);
        let out = Outgoing::new(dir.path());
        let good = dir.path().join("report.html");
        out.write(&good, b"<p>fine</p>", &scanner).expect("clean");
        let error = out
            .write(&good, b"<p>0303-RELLIT</p>", &scanner)
            .expect_err("a leak");
        assert!(
            matches!(&error, LeakOrIo::Leak { hits, .. } if hits[0].credential == "harbour.password")
        );
        assert!(!error.to_string().contains("TILLER"));
        assert!(error.to_string().contains("what is there is older"));
        assert_eq!(std::fs::read(&good).expect("old file"), b"<p>fine</p>");
        let quarantine = dir.path().join("quarantine");
        let mode = std::fs::metadata(&quarantine)
            .expect("folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(scanner.scan_tree(dir.path()).hits().count(), 0);
        let folder = dir.path().join("tiller-3030/report.txt");
        assert!(out.write(&folder, b"x", &scanner).is_err(), "folders too");
        let named = dir.path().join("TILLER-3030.txt");
        assert!(
            out.write(&named, b"x", &scanner).is_err(),
            "names are scanned too"
        );
        assert!(!named.exists());
        std::fs::write(&named, "x").expect("written by others");
        let report = scanner.scan_tree(dir.path());
        let (path, hits) = &report.leaking[0];
        assert_eq!(*path, named);
        out.withdraw(path, hits, &scanner).expect("withdraw");
        assert!(!named.exists());
        let named = dir.path().join("a/TILLER-3030/b");
        std::fs::create_dir_all(&named).expect("made by others");
        let report = scanner.scan_tree(dir.path());
        for (path, hits) in &report.leaking {
            out.withdraw(path, hits, &scanner).expect("withdraw");
        }
        assert!(!named.exists());
        assert_eq!(scanner.scan_tree(dir.path()).hits().count(), 0);
    }
}
