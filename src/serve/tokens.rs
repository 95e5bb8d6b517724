//! Bearer tokens: shown once, kept as SHA-256, compared in constant time.
//!
//! Read anew for every request, so that a token that is removed is worth nothing from then on.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::secrets::Secret;
use crate::secrets::private_file::{self, FileError};

/// Found by secret scanners wherever a token is pasted.
const OWNER: &str = "rho_";
const APPROVER: &str = "rha_";

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the file of tokens: {0}")]
    File(#[from] FileError),
    #[error(
        "{} holds no tokens that can be read; move it away and add the tokens again", .0.display()
    )]
    Damaged(PathBuf),
    #[error("`{0}` is no name for an owner: small letters, digits and `-`, at most 40")]
    Name(String),
    #[error("there is no token of `{0}`")]
    Unknown(String),
    #[error("this system gives no random numbers: {0}")]
    Random(String),
}

/// The file's content. An owner may have several tokens.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    #[serde(default)]
    owners: Vec<One>,
    #[serde(default)]
    approver: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    owner: String,
    sha256: String,
    made: String,
}

/// The file of tokens.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: PathBuf,
}

/// `$XDG_STATE_HOME/rehearsal/serve`; `None` without any home folder.
pub fn state_folder() -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute());
    xdg.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")))
        .map(|base| base.join("rehearsal").join("serve"))
}

impl Tokens {
    pub fn at(folder: &Path) -> Self {
        Self {
            path: folder.join("tokens.json"),
        }
    }

    /// A new token for an owner. The text is nowhere afterwards but with the caller.
    pub fn add(&self, owner: &str) -> Result<Secret, TokenError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if owner.is_empty() || owner.len() > 40 || !owner.chars().all(fits) {
            return Err(TokenError::Name(crate::text::visible(owner)));
        }
        let token = fresh(OWNER)?;
        let mut kept = self.read()?;
        kept.owners.push(One {
            owner: owner.to_owned(),
            sha256: hash_text(token.expose()),
            made: crate::system::clock::now_rfc3339(),
        });
        self.write(&kept)?;
        Ok(token)
    }

    /// A new token for the approver; the one before is worth nothing any more.
    pub fn set_approver(&self) -> Result<Secret, TokenError> {
        let token = fresh(APPROVER)?;
        let mut kept = self.read()?;
        kept.approver = Some(hash_text(token.expose()));
        self.write(&kept)?;
        Ok(token)
    }

    /// Takes all tokens of an owner away.
    pub fn remove(&self, owner: &str) -> Result<(), TokenError> {
        let mut kept = self.read()?;
        let before = kept.owners.len();
        kept.owners.retain(|one| one.owner != owner);
        if kept.owners.len() == before {
            return Err(TokenError::Unknown(crate::text::visible(owner)));
        }
        self.write(&kept)
    }

    /// Names and dates, never a token.
    pub fn list(&self) -> Result<Vec<(String, String)>, TokenError> {
        let kept = self.read()?;
        Ok(kept.owners.into_iter().map(|o| (o.owner, o.made)).collect())
    }

    pub fn has_approver(&self) -> Result<bool, TokenError> {
        Ok(self.read()?.approver.is_some())
    }

    /// Whose token it is. Every entry is compared, whether one fitted before or not.
    pub fn owner_of(&self, token: &str) -> Option<String> {
        let given = hash_text(token);
        let mut found = None;
        for one in self.read().ok()?.owners {
            if same(&one.sha256, &given) {
                found = Some(one.owner);
            }
        }
        found
    }

    pub fn is_approver(&self, token: &str) -> bool {
        let Ok(Kept {
            approver: Some(kept),
            ..
        }) = self.read()
        else {
            return false;
        };
        same(&kept, &hash_text(token))
    }

    fn read(&self) -> Result<Kept, TokenError> {
        let bytes = match private_file::read(&self.path) {
            Ok(bytes) => bytes,
            Err(FileError::Missing(_)) => return Ok(Kept::default()),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_slice(&bytes).map_err(|_| TokenError::Damaged(self.path.clone()))
    }

    fn write(&self, kept: &Kept) -> Result<(), TokenError> {
        let bytes =
            serde_json::to_vec_pretty(kept).map_err(|_| TokenError::Damaged(self.path.clone()))?;
        Ok(private_file::replace(&self.path, &bytes)?)
    }
}

/// 32 random bytes behind a prefix.
pub(super) fn fresh(prefix: &str) -> Result<Secret, TokenError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| TokenError::Random(e.to_string()))?;
    let text = format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
    Secret::new(text).map_err(|_| TokenError::Random("nothing came".into()))
}

pub(super) fn hash_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Hashes have one length, so the length of a guess tells nothing.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}
