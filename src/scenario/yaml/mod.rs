//! YAML 1.2 as an own tree: scalars as written, the place of every key and value.
//!
//! Only what a data file needs is accepted. Anchors, aliases, merge keys, tags, further documents
//! and excess of size or depth are refused while the events come in, before anything is built, so
//! that no file can make the reader work harder than its own length.

mod reader;
mod syntax;

use std::path::Path;
use std::sync::Arc;

use crate::text::{Problem, Source, Span, Spanned, line_col, visible};

pub use reader::read;

pub const LARGEST_FILE: usize = 1 << 20;
pub const DEEPEST: usize = 64;
const NESTED: &str =
    "a scenario needs few levels; take brackets out, or put text that holds them in quotes";
/// Of one file; nobody reads further.
pub const MOST_PROBLEMS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Plain scalars keep their source text; quoted ones have their escapes replaced.
    pub text: String,
    /// Written without quotes, so it may be meant as a number, a boolean or nothing.
    pub plain: bool,
    /// A comment on the same line that may have swallowed a piece of the text (`Order #7`).
    pub swallowed: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Spanned<String>,
    pub value: Node,
}

impl Scalar {
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl Node {
    /// What stands here, in words for a message.
    pub fn found(&self) -> String {
        match &self.kind {
            Kind::Scalar(s) if s.is_null() && s.text.is_empty() => "nothing".into(),
            Kind::Scalar(s) => format!("`{}`", crate::text::cut(&visible(&s.text), 40)),
            Kind::List(items) => format!("a list of {}", items.len()),
            Kind::Map(entries) if entries.is_empty() => "an empty map".into(),
            Kind::Map(entries) => format!("a map with `{}`", visible(&entries[0].key)),
        }
    }
}

/// Reads a file, refusing what isn't text or is too large before it is held in memory.
pub fn load(path: &Path, shown: &Path) -> Result<Arc<Source>, Box<Problem>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Box::new(Problem::error(format!(
            "{} can't be read: {why}",
            shown.display()
        )))
    };
    let facts = std::fs::metadata(path).map_err(|e| match path.read_link() {
        Ok(target) => unreadable(&format!("it is a link to {}: {e}", target.display())),
        Err(_) => unreadable(&e),
    })?;
    // A pipe would be waited for for ever.
    if !facts.is_file() {
        return Err(unreadable(&"it is not a regular file"));
    }
    if facts.len() > LARGEST_FILE as u64 {
        return Err(too_large(shown, facts.len()).into());
    }
    let bytes = std::fs::read(path).map_err(|e| unreadable(&e))?;
    decode(shown, bytes)
}

pub fn decode(shown: &Path, bytes: Vec<u8>) -> Result<Arc<Source>, Box<Problem>> {
    let name = shown.display();
    if bytes.len() > LARGEST_FILE {
        return Err(too_large(shown, bytes.len() as u64).into());
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Problem::error(format!("{name} is written in UTF-16"))
            .help("save it as UTF-8")
            .into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(Source {
            path: shown.to_path_buf(),
            text,
        })),
        Err(e) => {
            let good = e.utf8_error().valid_up_to();
            let bytes = e.into_bytes();
            let before = String::from_utf8_lossy(&bytes[..good]);
            let (line, column) = line_col(&before, good);
            Err(Problem::error(format!(
                "{name}:{line}:{column}: byte 0x{:02X} is not valid UTF-8",
                bytes[good]
            ))
            .help("save the file as UTF-8")
            .into())
        }
    }
}

fn too_large(shown: &Path, size: u64) -> Problem {
    Problem::error(format!(
        "{} is too large: {} KiB, and {} KiB are the limit",
        shown.display(),
        size.div_ceil(1024),
        LARGEST_FILE / 1024
    ))
    .help("split it; one file holds one scenario")
}
