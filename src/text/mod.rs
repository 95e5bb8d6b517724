//! Source text and what is said about it: places, problems, folding of names.
//!
//! Nothing here knows a browser, a scenario or a secret.

pub mod fold;
pub mod glob;
mod nearest;
mod place;
pub mod render;
mod terminal;

pub use nearest::nearest;
pub use place::{border, cut, line_col, visible};
pub use terminal::{sequence, without_sequences};

use std::path::PathBuf;
use std::sync::Arc;

/// Stands where texts that stood apart (two elements of a page) were joined in the middle of what
/// reads as one word: for whoever looks for values, what touches it is not one word. The reader of
/// pages writes it, the scrubber takes it out. Nobody sees it.
pub const SEAM: char = '\u{2060}';

/// A file as read, with the path it is shown under (relative to the suite where possible).
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

/// Byte offsets into a [`Source`]'s text, `start <= end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A value with the place it was written at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Warning,
    Error,
}

/// Something wrong with what a person wrote: what, where, and how to mend it.
///
/// Holds spans and plain words; sinks render it (`text::render`) and scrub it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub level: Level,
    pub message: String,
    pub place: Option<(Arc<Source>, Span)>,
    /// Words under the marked excerpt ("this key is not known here").
    pub label: Option<Box<str>>,
    /// Further places, e.g. the first of two duplicate keys.
    pub also: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            message: message.into(),
            place: None,
            label: None,
            also: Vec::new(),
            help: None,
        }
    }
    pub fn warning(message: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::error(message)
        }
    }
    pub fn at(mut self, source: &Arc<Source>, span: Span) -> Self {
        self.place = Some((source.clone(), span));
        self
    }
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into().into_boxed_str());
        self
    }
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.also.push((span, label.into()));
        self
    }
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
