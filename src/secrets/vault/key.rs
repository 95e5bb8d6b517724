//! What opens the vault, and the key it gives.

use std::path::{Path, PathBuf};

use age::secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::error::VaultError;
use crate::secrets::command::{CommandLine, TIME_LIMIT};
use crate::secrets::private_file;
use crate::secrets::value::Secret;

/// Cost of a passphrase: fixed, because age would otherwise measure the machine and the build.
const WORK: u8 = 18;
/// A file may not make us work longer than this.
pub const WORK_LIMIT: u8 = 20;

/// What opens the vault.
pub enum Unlock {
    /// A 0600 file with an age identity.
    IdentityFile(PathBuf),
    /// A command that prints one.
    Command(CommandLine),
    /// For people.
    Passphrase(Secret),
}

impl Unlock {
    /// Fetched anew for each use.
    pub fn key(&self) -> Result<Key, VaultError> {
        let (text, from) = match self {
            Self::Passphrase(secret) => {
                return Ok(Key::Passphrase(SecretString::from(secret.expose())));
            }
            Self::IdentityFile(path) => {
                let bytes = private_file::read(path).map_err(VaultError::Key)?;
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                (Zeroizing::new(text.to_owned()), path.display().to_string())
            }
            Self::Command(line) => {
                let secret = line.secret(TIME_LIMIT).map_err(VaultError::KeyCommand)?;
                (
                    Zeroizing::new(secret.expose().to_owned()),
                    "the command's output".into(),
                )
            }
        };
        text.lines()
            .map(str::trim)
            .find_map(|line| line.parse::<age::x25519::Identity>().ok())
            .map(Key::Identity)
            .ok_or(VaultError::NoIdentity(from))
    }
}

/// The key in the shape age wants it, and the bytes codes are keyed from.
pub enum Key {
    Identity(age::x25519::Identity),
    Passphrase(SecretString),
}

impl Key {
    /// What the writer's code is keyed from.
    pub fn mac_secret(&self) -> Zeroizing<String> {
        match self {
            Self::Identity(identity) => {
                Zeroizing::new(identity.to_string().expose_secret().to_owned())
            }
            Self::Passphrase(passphrase) => Zeroizing::new(passphrase.expose_secret().to_owned()),
        }
    }

    pub fn recipient(&self) -> Box<dyn age::Recipient> {
        match self {
            Self::Identity(identity) => Box::new(identity.to_public()),
            Self::Passphrase(passphrase) => {
                let mut recipient = age::scrypt::Recipient::new(passphrase.clone());
                recipient.set_work_factor(WORK);
                Box::new(recipient)
            }
        }
    }

    pub fn identity(&self) -> Box<dyn age::Identity> {
        match self {
            Self::Identity(identity) => Box::new(identity.clone()),
            Self::Passphrase(passphrase) => {
                let mut identity = age::scrypt::Identity::new(passphrase.clone());
                identity.set_max_work_factor(WORK_LIMIT);
                Box::new(identity)
            }
        }
    }
}

/// A new identity in a file that is not there yet.
pub fn make_identity(path: &Path) -> Result<(), VaultError> {
    let line = age::x25519::Identity::generate().to_string();
    let text = Zeroizing::new(format!("{}\n", line.expose_secret()));
    private_file::create(path, text.as_bytes()).map_err(VaultError::Key)
}
