//! The type a secret value lives in.

use secrecy::{ExposeSecret, SecretBox};
use zeroize::Zeroize;

/// A secret value: never empty, never printed, zeroed when dropped.
///
/// It has no `Debug`, `Display`, `Serialize` or `Clone`: a copy has to be asked for by name
/// ([`Secret::duplicate`]) and the text by [`Secret::expose`], so both can be searched for.
pub struct Secret(SecretBox<str>);

/// A secret may not be empty: an empty value would be typed as nothing and "found" everywhere.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a secret value is empty")]
pub struct EmptySecret;

impl Secret {
    /// Takes the value over and zeroes the buffer it came in.
    pub fn new(mut value: String) -> Result<Self, EmptySecret> {
        if value.is_empty() {
            return Err(EmptySecret);
        }
        // An exact copy, then zero the original: shrinking in place could leave a copy behind.
        let exact: Box<str> = Box::from(value.as_str());
        value.zeroize();
        Ok(Self(SecretBox::new(exact)))
    }

    /// The value itself. For the broker, at the moment it types it, and for this room.
    /// Never format it, store it or put it into an error.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// A second copy, zeroed on its own.
    pub fn duplicate(&self) -> Self {
        Self(SecretBox::new(Box::from(self.expose())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only while `Secret` lacks the trait: with it, two impls would fit.
    macro_rules! lacks {
        ($trait:path) => {{
            trait Probe<A> {
                fn probe() {}
            }
            struct Has;
            impl<T: ?Sized> Probe<()> for T {}
            impl<T: ?Sized + $trait> Probe<Has> for T {}
            <Secret as Probe<_>>::probe();
        }};
    }

    #[test]
    fn r10_a_secret_cannot_be_printed_serialised_or_cloned_by_accident() {
        lacks!(std::fmt::Debug);
        lacks!(std::fmt::Display);
        lacks!(serde::Serialize);
        lacks!(Clone);
    }

    #[test]
    fn case_072_an_empty_secret_is_refused() {
        assert!(Secret::new(String::new()).is_err());
        assert!(Secret::new("x".into()).is_ok_and(|s| s.expose() == "x"));
    }
}
