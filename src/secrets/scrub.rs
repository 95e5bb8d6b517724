//! The scrubber: the one place where text becomes text that may leave.
//!
//! Values are known by `name.field`, never by name alone, and one value has one placeholder
//! whoever registered it first.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub use super::clean::Clean;
use super::forms::{self, Edge, SHORTEST};
use super::matcher::{Digits, Entry, MaskEntry, Matcher};
use super::needles::{loose_needles, scattered_needle};
use super::overlap::Found;
use super::value::Secret;
use crate::text::SEAM;

/// What a log shows for a typed secret, whatever its length.
pub const HIDDEN: &str = "[HIDDEN]";

/// What a value is, which decides how eagerly it is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Password,
    /// Matched as a whole word, unless it is long and has a sign in it: names turn up inside
    /// ordinary text.
    Username,
    /// A one-time code. It stays registered for the whole run so that the last scan sees it.
    Otp,
    /// A model key, a bearer or approver token, a vault identity.
    Key,
    /// A session cookie's value. Register only HttpOnly ones or those of 16 characters and more.
    Cookie,
}

/// What a `mask:` entry looks for in text.
#[derive(Debug, Clone)]
pub enum Pattern {
    Literal(String),
    Matching(regex::Regex),
}

/// A value found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub range: Range<usize>,
    /// `‹name.field›`
    pub placeholder: String,
}

#[derive(Default)]
struct Book {
    entries: Vec<Entry>,
    /// Every registered value with its `name.field`, short ones included.
    values: Vec<(Secret, String)>,
    masks: Vec<MaskEntry>,
    /// Names of the runner's own.
    kept: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    /// Made when it is first needed after something was registered.
    matcher: RwLock<Option<Arc<Matcher>>>,
}

/// Knows every secret of a run. Clones share what is registered.
#[derive(Clone, Default)]
pub struct Scrubber(Arc<Shared>);

impl Scrubber {
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on the value is found in all its forms and stands as `‹credential.field›`.
    /// Registering a value again changes nothing, its first name stays.
    pub fn register(&self, credential: &str, field: &str, value: &Secret, kind: Kind) {
        self.enter(format!("{credential}.{field}"), value, kind);
    }

    /// A secret of the runner's own (model key, token), shown as `‹name›`.
    pub fn register_key(&self, name: &str, value: &Secret) {
        self.enter(name.to_owned(), value, Kind::Key);
    }

    fn enter(&self, label: String, value: &Secret, kind: Kind) {
        let mut book = self.book();
        let text = value.expose();
        if book.values.iter().any(|(known, _)| known.expose() == text) {
            return;
        }
        let placeholder = format!("‹{label}›");
        book.values.push((value.duplicate(), label.clone()));
        #[cfg(feature = "leak-injector")]
        if kind != Kind::Username {
            super::inject::plant::remember(&label, value);
        }
        if text.chars().count() < SHORTEST {
            book.warnings.push(format!(
                "{label} is shorter than {SHORTEST} characters: it is hidden in its own field only, \
                 not wherever a page shows it. Use a longer value."
            ));
            return;
        }
        let digits = Digits::of(text);
        if digits == Digits::Short {
            book.warnings.push(format!(
                "{label} is a number of fewer than 6 digits: pages show a placeholder for it, but \
                 files are not searched for it, because such numbers are everywhere. Use a longer \
                 value."
            ));
        }
        let scattered = match kind {
            Kind::Username | Kind::Otp => None,
            _ => scattered_needle(text),
        };
        book.entries.push(Entry {
            placeholder,
            label,
            forms: forms::forms(text, kind),
            loose: loose_needles(text, kind),
            scattered,
            word: forms::edge(text, kind) == Edge::Word,
            user_name: kind == Kind::Username,
            digits,
        });
        self.forget_matcher();
    }

    /// A name of the runner's own (a scenario's id), by which things are found: a user name that is a
    /// part of it stays. A name that is a value, or holds any other, is kept by nothing.
    pub fn keep(&self, name: &str) {
        let mut book = self.book();
        book.kept.push(name.to_owned());
        self.forget_matcher();
    }

    /// Text that matches stands as `‹name›` from now on.
    pub fn mask(&self, pattern: Pattern, name: &str) {
        let pattern = match pattern {
            Pattern::Literal(text) if text.is_empty() => return,
            Pattern::Literal(text) => match regex::Regex::new(&regex::escape(&text)) {
                Ok(pattern) => pattern,
                // Only a text beyond the size limit gets here; as a value it has no limit.
                Err(_) => return self.mask_as_value(text, name),
            },
            Pattern::Matching(pattern) => pattern,
        };
        let mut book = self.book();
        book.masks.push(MaskEntry {
            placeholder: format!("‹{name}›"),
            pattern,
        });
        self.forget_matcher();
    }

    fn mask_as_value(&self, text: String, name: &str) {
        if let Ok(value) = Secret::new(text) {
            self.register_key(name, &value);
        }
    }

    /// Nothing is registered: every text stays as it is.
    pub fn is_empty(&self) -> bool {
        let book = self.book();
        book.entries.is_empty() && book.values.is_empty() && book.masks.is_empty()
    }

    /// Every value and mask in `text`, sorted and disjoint.
    pub fn find(&self, text: &str) -> Vec<Hit> {
        let matcher = self.matcher();
        matcher
            .find(text)
            .into_iter()
            .map(|found| Hit {
                range: found.range,
                placeholder: matcher.placeholder(found.entry).to_owned(),
            })
            .collect()
    }

    /// `text` with placeholders for values and without seams. Cut for length after this, never
    /// before.
    pub fn clean(&self, text: &str) -> Clean {
        let matcher = self.matcher();
        let found = matcher.find(text);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for found in found {
            out.push_str(&text[at..found.range.start]);
            out.push_str(matcher.placeholder(found.entry));
            at = found.range.end;
        }
        out.push_str(&text[at..]);
        out.retain(|c| c != SEAM);
        Clean::scrubbed(out)
    }

    /// Cleans texts that stand beside each other on a page, so that a value spread over several
    /// of them (one letter per element) is found. The placeholder goes where the value begins.
    pub fn clean_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a str>) -> Vec<Clean> {
        let pieces: Vec<&str> = pieces.into_iter().collect();
        let matcher = self.matcher();
        let joined = pieces.join("\n");
        let found = matcher.find(&joined);
        let mut out = Vec::with_capacity(pieces.len());
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.len();
            let mut text = String::with_capacity(piece.len());
            let mut at = start;
            let first = found.partition_point(|f| f.range.end <= start);
            for found in found[first..].iter().take_while(|f| f.range.start < end) {
                if found.range.start >= start {
                    text.push_str(&joined[at..found.range.start]);
                    text.push_str(matcher.placeholder(found.entry));
                }
                at = found.range.end.min(end);
            }
            text.push_str(&joined[at..end]);
            out.push(Clean::scrubbed(text));
            start = end + 1;
        }
        out
    }

    /// For value places (a field's value, typed text): the placeholder if `text` as a whole is a
    /// registered value, however short.
    pub fn whole_value(&self, text: &str) -> Option<Clean> {
        let book = self.book();
        let known = book.values.iter().find(|(value, _)| value.expose() == text);
        known.map(|(_, label)| Clean::scrubbed(format!("‹{label}›")))
    }

    /// Whether a value stands in `text` in any form.
    pub fn contains(&self, text: &str) -> bool {
        !self.leaks(text.as_bytes()).is_empty()
    }

    /// As [`Scrubber::contains`], for bytes about to leave. Compressed bytes must be unpacked
    /// first; [`super::Scanner`] does.
    pub fn contains_bytes(&self, bytes: &[u8]) -> bool {
        !self.leaks(bytes).is_empty()
    }

    /// Which values stand in `bytes`: `name.field`, each once.
    pub fn leaks(&self, bytes: &[u8]) -> Vec<String> {
        let matcher = self.matcher();
        let mut found = matcher.find_values(&String::from_utf8_lossy(bytes));
        found.extend(matcher.find_hidden(bytes));
        let labels: BTreeSet<&str> = found.iter().map(|f| matcher.label(f.entry)).collect();
        labels.into_iter().map(str::to_owned).collect()
    }

    /// Values that can't be protected page-wide; each is said once.
    pub fn warnings(&self) -> Vec<String> {
        self.book().warnings.clone()
    }

    pub(super) fn matcher(&self) -> Arc<Matcher> {
        let made = self
            .0
            .matcher
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(matcher) = &*made {
            return matcher.clone();
        }
        drop(made);
        // Held while it is made: what is registered meanwhile waits, and is in the next one.
        let book = self.book();
        let mut slot = self.slot();
        slot.get_or_insert_with(|| Arc::new(Self::matcher_of(&book)))
            .clone()
    }

    /// The values themselves, for searches the matcher is not made for.
    pub(super) fn with_values(&self, mut read: impl FnMut(&str, &str)) {
        for (value, label) in &self.book().values {
            read(value.expose(), label);
        }
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self) -> std::sync::RwLockWriteGuard<'_, Option<Arc<Matcher>>> {
        self.0
            .matcher
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_matcher(&self) {
        *self.slot() = None;
    }

    fn matcher_of(book: &Book) -> Matcher {
        let mut matcher = Matcher::new(&book.entries, &book.masks);
        let part_of = |name: &&String| {
            let found = matcher.find_values(name);
            let is_part = |f: &Found| f.range != (0..name.len()) && book.entries[f.entry].user_name;
            !found.is_empty() && found.iter().all(is_part)
        };
        let kept: Vec<String> = book.kept.iter().filter(part_of).cloned().collect();
        if !kept.is_empty() {
            matcher.keep(&kept);
        }
        matcher
    }
}

/// A user name as console and log print it: three characters and asterisks, or asterisks only.
/// Their number says nothing about the length (R5).
pub fn hide_user_name(name: &str) -> String {
    if name.chars().count() < 8 {
        return "****".into();
    }
    let shown: String = name.chars().take(3).collect();
    format!("{shown}****")
}

#[cfg(test)]
#[path = "scrub_tests.rs"]
mod tests;
