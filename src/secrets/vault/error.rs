//! What can go wrong with the vault. No message quotes what is inside it.

use std::path::PathBuf;

use super::key::WORK_LIMIT;
use crate::secrets::command::CommandError;
use crate::secrets::origin::OriginError;
use crate::secrets::private_file::FileError;
use crate::secrets::totp::TotpError;

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("the vault is not there yet ({}); `rehearsal credentials add` makes it", .0.display())]
    Missing(PathBuf),
    #[error("the vault can't be used: {0}")]
    File(#[source] FileError),
    #[error("the vault's key can't be used: {0}")]
    Key(#[source] FileError),
    #[error("the command for the vault's key {0}")]
    KeyCommand(#[source] CommandError),
    #[error("{0} holds no age identity (a line AGE-SECRET-KEY-1…)")]
    NoIdentity(String),
    #[error("the vault {} is damaged; put back a copy", .0.display())]
    Damaged(PathBuf),
    #[error("the vault {} does not open with this key or passphrase", .0.display())]
    WrongKey(PathBuf),
    #[error("the vault {} was not written by the holder of this key; put back a copy", .0.display())]
    Forged(PathBuf),
    #[error("the vault {} asks for too much work to open (work factor above {WORK_LIMIT})", .0.display())]
    TooMuchWork(PathBuf),
    #[error("the vault has no credential {0}")]
    Unknown(String),
    #[error(
        "the vault has a credential {0} already; use `rehearsal credentials rotate {0}`, or remove it first"
    )]
    Exists(String),
    #[error("credential {name} has no field {field}")]
    NoField { name: String, field: String },
    #[error("a credential's name may hold a-z, 0-9 and - only")]
    BadName,
    #[error("a field's name may hold a-z, 0-9 and _ only")]
    BadField,
    #[error("credential {name} is bound to kind {kind} and can't be filled into a page")]
    NotForPages { name: String, kind: String },
    #[error("the origin {0}")]
    Origin(#[from] OriginError),
    #[error("the TOTP seed {0}")]
    Totp(#[from] TotpError),
    #[error("another program is changing the vault just now")]
    Busy,
    #[error("encrypting failed: {0}")]
    Encrypt(String),
}

impl VaultError {
    /// What was asked can't be, whatever state the vault is in.
    pub fn is_of_what_was_asked(&self) -> bool {
        matches!(
            self,
            Self::Unknown(_)
                | Self::Exists(_)
                | Self::NoField { .. }
                | Self::BadName
                | Self::BadField
                | Self::Origin(_)
                | Self::Totp(_)
        )
    }
}
