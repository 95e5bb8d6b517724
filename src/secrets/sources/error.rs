//! Why a credential can't be had, and what to do about it. No message quotes a value.

use super::SourceKind;
use crate::secrets::command::CommandError;
use crate::secrets::origin::OriginError;
use crate::secrets::totp::TotpError;
use crate::secrets::vault::VaultError;

/// Why a name can't serve, known before any browser starts.
#[derive(Debug, thiserror::Error)]
#[error("credential {name}: {error}")]
pub struct CredentialProblem {
    pub name: String,
    #[source]
    pub error: SourceError,
}

impl CredentialProblem {
    /// Exit code: 3 for a vault that can't be read, 2 for what a person has to write.
    pub fn exit(&self) -> i32 {
        match &self.error {
            SourceError::Vault(_) => 3,
            _ => 2,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("the name may hold a-z, 0-9 and - only")]
    BadName,
    #[error(
        "no source has it: set {variable}, run `rehearsal credentials add {name} --origin …`, or \
         name a command under [credentials.{name}] in rehearsal.toml"
    )]
    NoSource { name: String, variable: String },
    #[error("the environment variable {variable} is set but empty")]
    SetButEmpty { variable: String },
    #[error("the environment variable {variable} is not UTF-8 text")]
    NotText { variable: String },
    #[error("the {from} has no {field}{hint}; no other source is asked")]
    NoField {
        from: SourceKind,
        field: String,
        hint: String,
    },
    #[error(
        "it has no origin: set {variable}, or `origin` under [credentials.{name}] in rehearsal.toml"
    )]
    NoOrigin { name: String, variable: String },
    #[error("its origin {0}")]
    Origin(#[from] OriginError),
    #[error(
        "rehearsal.toml binds it to {settings}, the vault to {vault}; make them the same, or drop \
         the one in rehearsal.toml"
    )]
    OriginsDiffer { settings: String, vault: String },
    #[error("its TOTP seed {0}")]
    Totp(#[from] TotpError),
    #[error("the command for its {field} {error}")]
    Command {
        field: String,
        #[source]
        error: CommandError,
    },
    #[error(transparent)]
    Vault(#[from] VaultError),
}
