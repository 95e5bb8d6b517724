//! Who asked for what, who approved it, and what came of it. Append-only, no values.
//!
//! The words are the broker's own and scrubbed; text a caller sent is not in here.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::secrets::Scrubber;
use crate::secrets::private_file;
use crate::text::{cut, visible};

/// The file is moved aside at this size; one older file is kept.
const LARGEST: u64 = 4 << 20;
/// Characters of an approval's id, as a caller wrote it.
const APPROVAL: usize = 40;

/// One line. Absent parts are left out.
#[derive(Debug, Default, Serialize)]
pub struct Entry<'a> {
    pub what: &'a str,
    pub result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<&'a str>,
    /// In the broker's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The precise reason of a refusal that the caller gets only in general words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    entry: Entry<'a>,
}

pub struct Audit {
    path: PathBuf,
    file: Mutex<File>,
    scrubber: Scrubber,
    largest: u64,
}

impl Audit {
    pub fn open(folder: &Path, scrubber: Scrubber) -> Result<Self, private_file::FileError> {
        Self::with_limit(folder, scrubber, LARGEST)
    }

    pub(super) fn with_limit(
        folder: &Path,
        scrubber: Scrubber,
        largest: u64,
    ) -> Result<Self, private_file::FileError> {
        let path = folder.join("audit.jsonl");
        private_file::prepare_folder(&path)?;
        let file = appending(&path).map_err(|error| private_file::FileError::Io {
            path: path.clone(),
            error,
        })?;
        Ok(Self {
            path,
            file: Mutex::new(file),
            scrubber,
            largest,
        })
    }

    /// A line that can't be written is told to the log; the call it is about goes on.
    pub fn write(&self, mut entry: Entry<'_>) {
        let clean = |text: String| self.scrubber.clean(&text).as_str().to_owned();
        // A caller's own text: cut after it was scrubbed, or half a value would pass.
        let approval = entry.approval.map(|id| clean(id.to_owned()));
        let approval = approval.map(|id| cut(&visible(&id), APPROVAL));
        entry.says = entry.says.map(clean);
        entry.why = entry.why.map(clean);
        let line = Line {
            time: crate::system::clock::now_rfc3339(),
            entry: Entry {
                approval: approval.as_deref(),
                ..entry
            },
        };
        let written = serde_json::to_vec(&line)
            .map_err(io::Error::other)
            .and_then(|mut bytes| {
                bytes.push(b'\n');
                let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
                if file.metadata()?.len() + bytes.len() as u64 > self.largest {
                    std::fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
                    *file = appending(&self.path)?;
                }
                file.write_all(&bytes)
            });
        if let Err(error) = written {
            tracing::error!(%error, "the audit log was not written");
        }
    }
}

fn appending(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}
