//! Secrets: where their values come from, what shapes they can take, and how they are kept out of
//! everything that leaves the program.
//!
//! The room has three doors. [`Sources`] turns a credential's *name* into a [`Credential`];
//! [`Scrubber`] turns any text into [`Clean`] text; [`Scanner`] looks through bytes that are about
//! to be stored. A value lives in [`Secret`], which can be neither printed nor serialised, so that
//! a leak has to be written on purpose.

mod clean;
pub mod command;
pub mod decode;
mod encodings;
mod escapes;
pub mod fold;
pub mod forms;
pub mod inject;
mod matcher;
mod needles;
pub mod origin;
mod overlap;
pub mod private_file;
pub mod scan;
pub mod scrub;
mod seams;
pub mod sources;
pub mod suspicious;
pub mod totp;
pub mod value;
pub mod vault;

pub use matcher::BEGINNING;
pub use scan::{LeakHit, ScanReport, Scanner};
pub use scrub::{Clean, HIDDEN, Hit, Kind, Pattern, Scrubber, hide_user_name};
pub use sources::{Credential, CredentialProblem, CredentialSettings, SourceError, Sources};
pub use suspicious::{Suspicion, suspicious, suspicious_tree};
pub use totp::Totp;
pub use value::{EmptySecret, Secret};
pub use vault::{Place, Unlock, Vault, VaultError};
