//! The scanner: looks for registered values in whatever is about to be stored or was stored.
//!
//! It knows more than the scrubber: forms that are no text, values cut up by markup, and what is
//! inside packed files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

use super::decode::{self, Content};
use super::scrub::Scrubber;
use crate::text::SEAM;

/// Packed things inside packed things are opened this deep.
const DEPTH: usize = 4;
/// Larger files are not read, and that is said.
const LARGEST_FILE: u64 = 512 << 20;

/// A value found where none should be. Holds nothing of the value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeakHit {
    /// As given to the scan, cleaned: a name can hold a value too.
    pub file: String,
    /// `name.field`
    pub credential: String,
    /// `raw`, `base64`, `gzip: reversed`, …
    pub form: String,
    /// Byte offset in the file, or in the unpacked part.
    pub offset: usize,
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct ScanReport {
    pub files: usize,
    /// Files with hits; the path is the real one.
    pub leaking: Vec<(PathBuf, Vec<LeakHit>)>,
    /// What nothing here can look into, and why. Not proven clean.
    pub unread: Vec<(PathBuf, String)>,
}

impl ScanReport {
    pub fn hits(&self) -> impl Iterator<Item = &LeakHit> {
        self.leaking.iter().flat_map(|(_, hits)| hits)
    }
}

/// Searches with everything that is registered at the time of each search.
#[derive(Clone)]
pub struct Scanner {
    scrubber: Scrubber,
    /// Pieces of values, for the harness, whose values are random.
    windows: Option<std::sync::Arc<(AhoCorasick, Vec<String>)>>,
}

impl Scanner {
    pub fn new(scrubber: &Scrubber) -> Self {
        Self {
            scrubber: scrubber.clone(),
            windows: None,
        }
    }

    /// Also finds any piece of eight bytes (six of values under twelve) of what is registered
    /// now. For random canaries: a piece of an ordinary password may be an ordinary word.
    pub fn strict(scrubber: &Scrubber) -> Self {
        let (mut pieces, mut labels) = (Vec::new(), Vec::new());
        scrubber.with_values(|value, label| {
            let size = if value.len() < 12 { 6 } else { 8 };
            for piece in value.as_bytes().windows(size) {
                pieces.push(piece.to_vec());
                labels.push(label.to_owned());
            }
        });
        let automaton = AhoCorasick::new(&pieces).expect("registered values fit an automaton");
        Self {
            scrubber: scrubber.clone(),
            windows: Some(std::sync::Arc::new((automaton, labels))),
        }
    }

    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Hits in the name, the content and what is packed inside, each credential once in each.
    pub fn scan_bytes(&self, name: &str, bytes: &[u8]) -> Vec<LeakHit> {
        self.scan(name, bytes, &mut Vec::new())
    }

    fn scan(&self, name: &str, bytes: &[u8], unread: &mut Vec<String>) -> Vec<LeakHit> {
        let mut search = Search {
            scanner: self,
            hits: Vec::new(),
            seen: HashSet::new(),
            file: self.scrubber.clean(name).into(),
            unread,
        };
        search.plain("file name", name.as_bytes());
        search.layer("", bytes, DEPTH);
        search.hits
    }

    /// Everything below `root`, names of files and folders included. Links are not followed.
    pub fn scan_tree(&self, root: &Path) -> ScanReport {
        let mut report = ScanReport::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    report.unread.push((folder, error.to_string()));
                    continue;
                }
            };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            paths.sort();
            for path in paths {
                self.scan_path(root, path, &mut folders, &mut report);
            }
        }
        report
    }

    /// One file.
    pub fn scan_file(&self, path: &Path) -> ScanReport {
        let mut report = ScanReport::default();
        let root = path.parent().unwrap_or(path);
        self.scan_path(root, path.to_owned(), &mut Vec::new(), &mut report);
        report
    }

    fn scan_path(
        &self,
        root: &Path,
        path: PathBuf,
        folders: &mut Vec<PathBuf>,
        report: &mut ScanReport,
    ) {
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        let bytes = match read_entry(&path) {
            Ok(Entry::Folder) => {
                folders.push(path.clone());
                Vec::new()
            }
            Ok(Entry::File(bytes)) => {
                report.files += 1;
                bytes
            }
            Err(reason) => {
                report.unread.push((path.clone(), reason));
                Vec::new()
            }
        };
        let mut unread = Vec::new();
        let hits = self.scan(&shown, &bytes, &mut unread);
        report
            .unread
            .extend(unread.into_iter().map(|why| (path.clone(), why)));
        if !hits.is_empty() {
            report.leaking.push((path, hits));
        }
    }
}

enum Entry {
    Folder,
    /// A file's bytes, or where a link points.
    File(Vec<u8>),
}

fn read_entry(path: &Path) -> Result<Entry, String> {
    let facts = path.symlink_metadata().map_err(|e| e.to_string())?;
    if facts.is_dir() {
        return Ok(Entry::Folder);
    }
    if facts.is_symlink() {
        let target = std::fs::read_link(path).map_err(|e| e.to_string())?;
        return Ok(Entry::File(target.as_os_str().as_encoded_bytes().to_vec()));
    }
    if !facts.is_file() {
        return Err("not a file".into());
    }
    if facts.len() > LARGEST_FILE {
        return Err(format!("larger than {} MiB", LARGEST_FILE >> 20));
    }
    std::fs::read(path)
        .map(Entry::File)
        .map_err(|e| e.to_string())
}

struct Search<'a> {
    scanner: &'a Scanner,
    hits: Vec<LeakHit>,
    /// Credential and layer: one form of a value is enough to know of.
    seen: HashSet<(String, String)>,
    file: String,
    unread: &'a mut Vec<String>,
}

impl Search<'_> {
    fn layer(&mut self, around: &str, bytes: &[u8], depth: usize) {
        match decode::look(bytes) {
            Content::Plain => {
                self.plain(around, bytes);
                if let Some(strings) = std::str::from_utf8(bytes).ok().and_then(decode::strings) {
                    self.plain(around, strings.as_bytes());
                }
            }
            Content::Unread(what) => self.unread.push(format!("{what} can't be looked into")),
            Content::Parts(_) if depth == 0 => self.unread.push("packed too deep".into()),
            Content::Parts(parts) => {
                for part in parts {
                    let around = match around {
                        "" => part.what.to_owned(),
                        around => format!("{around}, {}", part.what),
                    };
                    self.layer(&around, &part.bytes, depth - 1);
                }
            }
        }
    }

    fn hit(&mut self, around: &str, credential: &str, form: &str, offset: usize) {
        let form = match around {
            "" => form.to_owned(),
            around => format!("{around}: {form}"),
        };
        if self.seen.insert((credential.to_owned(), around.to_owned())) {
            self.hits.push(LeakHit {
                file: self.file.clone(),
                credential: credential.to_owned(),
                form,
                offset,
            });
        }
    }

    fn plain(&mut self, around: &str, bytes: &[u8]) {
        let matcher = self.scanner.scrubber.matcher();
        let text = String::from_utf8_lossy(bytes);
        for found in matcher.find_values(&text) {
            self.hit(
                around,
                matcher.label(found.entry),
                found.form,
                found.range.start,
            );
        }
        for found in matcher.find_hidden(bytes) {
            self.hit(
                around,
                matcher.label(found.entry),
                found.form,
                found.range.start,
            );
        }
        let bare = without_markup(&text);
        if bare != text {
            for found in matcher.find_values(&bare) {
                self.hit(around, matcher.label(found.entry), "between markup", 0);
            }
        }
        for entry in matcher.find_scattered(&bare) {
            self.hit(around, matcher.label(entry), "scattered", 0);
        }
        if let Some(windows) = self.scanner.windows.clone() {
            let (automaton, labels) = &*windows;
            for found in automaton.find_iter(&*text) {
                let label = &labels[found.pattern().as_usize()];
                self.hit(around, label, "a piece", found.start());
            }
        }
    }
}

/// Text with a seam for each tag, and without what puts a server-sent event's pieces on lines of their own.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(line.strip_prefix("data:").unwrap_or(line));
    }
    let mut bare = String::with_capacity(out.len());
    let mut rest = out.as_str();
    while let Some(open) = rest.find('<') {
        bare.push_str(&rest[..open]);
        let tag = &rest[open..];
        let named = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        match tag.find('>').filter(|_| named) {
            Some(close) => {
                bare.push(SEAM);
                rest = &tag[close + 1..];
            }
            None => {
                bare.push('<');
                rest = &tag[1..];
            }
        }
    }
    bare.push_str(rest);
    bare
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
