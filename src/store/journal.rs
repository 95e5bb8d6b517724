//! The journal: one JSON line per entry, in the order in which they were given.
//!
//! One thread writes. When the disk fails it keeps the lines in memory, so that a run ends with
//! its report either way, and says at the end what is missing on disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::atomic::{self, StoreError};

/// What a line is written to; a file, except in tests.
trait Sink: Send {
    /// Writes a whole line, or leaves the sink as it was.
    fn append(&mut self, line: &[u8]) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let end = self.seek(SeekFrom::End(0))?;
        self.write_all(line).inspect_err(|_| {
            // Half a line would swallow the next one. If even this fails, readers skip it.
            let _ = self.set_len(end);
        })
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

struct Entry {
    line: serde_json::Result<Vec<u8>>,
    durable: bool,
    done: Done,
}

/// Who waits for the writer.
enum Done {
    Task(oneshot::Sender<()>),
    Thread(std::sync::mpsc::SyncSender<()>),
}

impl Done {
    /// The sender may have gone away while it waited.
    fn tell(self) {
        match self {
            Self::Task(task) => drop(task.send(())),
            Self::Thread(thread) => drop(thread.try_send(())),
        }
    }
}

/// How a journal ended.
#[derive(Debug)]
pub struct JournalEnd {
    /// The first fault, if there was one; also an entry that could not be made a line.
    pub trouble: Option<StoreError>,
    /// Lines the disk does not have, oldest first.
    pub unwritten: Vec<String>,
}

/// Writes entries of one type. Shared by reference or in an `Arc`.
pub struct Journal<T> {
    path: PathBuf,
    entries: Option<mpsc::Sender<Entry>>,
    writer: Option<JoinHandle<JournalEnd>>,
    of: PhantomData<fn(T)>,
}

impl<T: Serialize> Journal<T> {
    /// Starts a new journal; the file must not be there yet.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let failed = |e| StoreError::new(path, e);
        std::fs::create_dir_all(atomic::folder_of(path)).map_err(failed)?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(failed)?;
        atomic::sync_folder(atomic::folder_of(path)).map_err(failed)?;
        Self::over(path, Box::new(file))
    }

    fn over(path: &Path, sink: Box<dyn Sink>) -> Result<Self, StoreError> {
        let (entries, incoming) = mpsc::channel();
        let own = path.to_owned();
        let writer = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || write_all(&own, sink, &incoming))
            .map_err(|e| StoreError::new(path, e))?;
        Ok(Self {
            path: path.to_owned(),
            entries: Some(entries),
            writer: Some(writer),
            of: PhantomData,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns once the entry is written (or kept, if the disk fails).
    pub async fn emit(&self, entry: &T) {
        self.send(entry, false).await;
    }

    /// Returns once the entry and all before it are on the disk (or kept, if the disk fails).
    pub async fn emit_durable(&self, entry: &T) {
        self.send(entry, true).await;
    }

    async fn send(&self, entry: &T, durable: bool) {
        let (done, written) = oneshot::channel();
        if self.queue(entry, durable, Done::Task(done)) {
            let _ = written.await;
        }
    }

    fn queue(&self, entry: &T, durable: bool, done: Done) -> bool {
        let line = serde_json::to_vec(entry).map(|mut line| {
            line.push(b'\n');
            line
        });
        self.entries.as_ref().is_some_and(|entries| {
            entries
                .send(Entry {
                    line,
                    durable,
                    done,
                })
                .is_ok()
        })
    }

    /// As [`Journal::emit`], and with `durable` as [`Journal::emit_durable`], for callers that are not
    /// async: the writer is a thread of its own, so the wait is that of one write.
    pub fn emit_now(&self, entry: &T, durable: bool) {
        let (done, written) = std::sync::mpsc::sync_channel(1);
        if self.queue(entry, durable, Done::Thread(done)) {
            let _ = written.recv();
        }
    }

    /// Past every scrubber, behind the first line.
    #[cfg(feature = "leak-injector")]
    pub fn leak_once(&self) {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let forms = crate::secrets::inject::plant::bytes("journal");
            let file = OpenOptions::new().append(true).open(&self.path);
            file.and_then(|mut file| file.write_all(&forms))
                .expect("the journal takes it");
        });
    }

    /// Ends the journal: tries once more to write what was kept, syncs, and says what is missing.
    pub fn close(mut self) -> JournalEnd {
        self.entries = None;
        let ended = self.writer.take().and_then(|writer| writer.join().ok());
        ended.unwrap_or_else(|| JournalEnd {
            trouble: Some(StoreError::new(
                &self.path,
                io::Error::other("the journal's writer died"),
            )),
            unwritten: Vec::new(),
        })
    }
}

/// The kind of a serialisation fault, in a word.
trait ClassifyName {
    fn classify_name(&self) -> &'static str;
}

impl ClassifyName for serde_json::Error {
    fn classify_name(&self) -> &'static str {
        match self.classify() {
            serde_json::error::Category::Io => "io",
            serde_json::error::Category::Syntax => "syntax",
            serde_json::error::Category::Data => "data",
            serde_json::error::Category::Eof => "eof",
        }
    }
}

impl<T> Drop for Journal<T> {
    fn drop(&mut self) {
        self.entries = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write_all(path: &Path, mut sink: Box<dyn Sink>, incoming: &mpsc::Receiver<Entry>) -> JournalEnd {
    let mut trouble: Option<StoreError> = None;
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for Entry {
        line,
        durable,
        done,
    } in incoming
    {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                // The kind only: the entry itself is not for messages.
                let error = io::Error::other(error.classify_name());
                trouble.get_or_insert(StoreError::new(path, error));
                continue;
            }
        };
        // Once lines are kept, later ones wait behind them: order is part of the journal.
        if kept.is_empty() {
            let mut outcome = sink.append(&line);
            match outcome {
                Ok(()) if durable => outcome = sink.sync(),
                Ok(()) => {}
                Err(_) => kept.push(line),
            }
            if let Err(error) = outcome {
                trouble.get_or_insert(StoreError::new(path, error));
            }
        } else {
            kept.push(line);
        }
        done.tell();
    }
    let mut lines = kept.into_iter().peekable();
    while let Some(line) = lines.peek() {
        if sink.append(line).is_err() {
            break;
        }
        lines.next();
    }
    if let Err(error) = sink.sync() {
        trouble.get_or_insert(StoreError::new(path, error));
    }
    let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end().to_owned();
    JournalEnd {
        trouble,
        unwritten: lines.map(text).collect(),
    }
}

/// Why a journal can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}:{line}: not an entry of this version's journal ({kind})", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        kind: String,
    },
}

/// All entries. A last line cut short by a crash is skipped, and the note says so.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, Option<String>), ReadError> {
    let bytes = std::fs::read(path).map_err(|e| StoreError::new(path, e))?;
    let mut entries = Vec::new();
    let mut lines = bytes
        .split_inclusive(|b| *b == b'\n')
        .enumerate()
        .peekable();
    while let Some((number, line)) = lines.next() {
        let whole = line.last() == Some(&b'\n');
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(entry) if whole => entries.push(entry),
            // Cut exactly before its line end: complete all the same.
            Ok(entry) => entries.push(entry),
            Err(_) if lines.peek().is_none() && !whole => {
                let note = format!(
                    "the last line of {} was cut short ({} bytes) and is left out",
                    path.display(),
                    line.len()
                );
                return Ok((entries, Some(note)));
            }
            Err(error) => {
                return Err(ReadError::Line {
                    path: path.to_owned(),
                    line: number + 1,
                    kind: format!("{} at column {}", error.classify_name(), error.column()),
                });
            }
        }
    }
    Ok((entries, None))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
