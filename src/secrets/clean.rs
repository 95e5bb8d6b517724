//! Text that may leave, as a type.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Text in which every registered value has been replaced by its placeholder.
///
/// Only the scrubber makes one, and the reader of a journal, whose lines were clean when written.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Clean(Arc<str>);

impl Clean {
    pub(super) fn scrubbed(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Text read back from a journal or a snapshot: it was clean when it was written.
    pub fn from_journal(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Clean {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Clean {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl From<Clean> for String {
    fn from(clean: Clean) -> String {
        clean.0.as_ref().to_owned()
    }
}

impl PartialEq<str> for Clean {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Clean {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl serde::Serialize for Clean {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}
