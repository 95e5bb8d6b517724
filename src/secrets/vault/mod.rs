//! The vault: one encrypted file of credentials.
//!
//! The file is in age's format, so other tools can open it with the same key. Encryption alone
//! does not say *who* wrote a file: anyone with the public key could replace it, and an old copy
//! could be put back. So the plaintext carries a code keyed from the identity, which a stranger
//! can't make, and a counter, whose last value is remembered elsewhere.
//!
//! Nothing is cached: each call decrypts, does one thing and forgets.

mod body;
mod error;
mod key;
mod place;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use zeroize::{Zeroize, Zeroizing};

use self::body::{Body, Record, Seen};
pub use self::body::{KIND_WEB, Listed};
pub use self::error::VaultError;
use self::key::Key;
pub use self::key::Unlock;
pub use self::place::Place;
use super::command::CommandLine;
use super::origin;
use super::private_file::{self, FileError};
use super::sources::is_name;
use super::totp::Totp;
use super::value::Secret;

/// The vault by its place and key. Holds no values.
pub struct Vault {
    place: Place,
    unlock: Unlock,
    /// What looked odd when it was last opened.
    odd: Mutex<Option<String>>,
}

/// A credential's values, for one use.
pub struct Opened {
    /// Canonical: `scheme://host[:port]`.
    pub origin: String,
    pub fields: BTreeMap<String, Secret>,
}

impl Vault {
    pub fn new(place: Place, unlock: Unlock) -> Self {
        Self {
            place,
            unlock,
            odd: Mutex::new(None),
        }
    }

    /// The vault of this user, by its environment: `REHEARSAL_VAULT_IDENTITY_COMMAND` prints the
    /// key, else it is in the identity file. `None` without any home folder.
    pub fn of_user(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let place = Place::from_environment(&variable)?;
        let command = variable("REHEARSAL_VAULT_IDENTITY_COMMAND");
        let command = command.and_then(|c| c.into_os_string().into_string().ok());
        let unlock = match command.filter(|c| !c.trim().is_empty()) {
            Some(line) => Unlock::Command(CommandLine::Shell(line)),
            None => Unlock::IdentityFile(place.identity_file.clone()),
        };
        Some(Self::new(place, unlock))
    }

    /// What looked odd when the vault was last opened: an older copy than the one seen before, or
    /// another vault in its place. A warning: the file itself is sound.
    pub fn warning(&self) -> Option<String> {
        self.odd
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the file there wants a passphrase, which only a person can give.
    pub fn wants_passphrase(&self) -> Result<bool, VaultError> {
        let sealed = self.sealed()?;
        let decryptor = age::Decryptor::new(sealed.as_slice()).map_err(|e| self.refused(e))?;
        Ok(decryptor.is_scrypt())
    }

    /// Whether the file is there; says nothing about whether it opens.
    pub fn exists(&self) -> bool {
        self.place.file.symlink_metadata().is_ok()
    }

    /// Makes an empty vault, and an identity file if that is what opens it and none is there.
    pub fn create(&self) -> Result<(), VaultError> {
        if let Unlock::IdentityFile(path) = &self.unlock
            && path.symlink_metadata().is_err()
        {
            key::make_identity(path)?;
        }
        let key = self.unlock.key()?;
        let body = Body::new(random_id());
        let sealed = self.seal(&key, &body)?;
        private_file::create(&self.place.file, &sealed).map_err(VaultError::File)?;
        self.remember(&body);
        Ok(())
    }

    /// Names, origins, fields and dates; never a value.
    pub fn list(&self) -> Result<Vec<Listed>, VaultError> {
        Ok(self.open()?.listed())
    }

    /// The values of a credential, if the vault has it and it is for pages.
    pub fn get(&self, name: &str) -> Result<Option<Opened>, VaultError> {
        if !self.exists() {
            return Ok(None);
        }
        let mut body = self.open()?;
        let Some(mut record) = body.take(name) else {
            return Ok(None);
        };
        Listed::from(&record).for_pages()?;
        let damaged = || VaultError::Damaged(self.place.file.clone());
        let origin = origin::canonical(&record.origin)?;
        let mut fields = BTreeMap::new();
        for (field, value) in std::mem::take(&mut record.fields) {
            fields.insert(field, Secret::new(value).map_err(|_| damaged())?);
        }
        Ok(Some(Opened { origin, fields }))
    }

    /// Whether a credential of this name could be added.
    pub fn may_add(&self, name: &str) -> Result<(), VaultError> {
        if !is_name(name) {
            return Err(VaultError::BadName);
        }
        if self.exists() && self.open()?.has(name) {
            return Err(VaultError::Exists(name.to_owned()));
        }
        Ok(())
    }

    /// Whether the credential has this field.
    pub fn may_rotate(&self, name: &str, field: &str) -> Result<(), VaultError> {
        let listed = self.list()?;
        let one = listed.iter().find(|one| one.name == name);
        let one = one.ok_or_else(|| VaultError::Unknown(name.to_owned()))?;
        if !one.fields.iter().any(|known| known == field) {
            return Err(VaultError::NoField {
                name: name.to_owned(),
                field: field.to_owned(),
            });
        }
        Ok(())
    }

    /// Adds a credential for a web page; makes the vault first if there is none.
    pub fn add(
        &self,
        name: &str,
        origin: &str,
        fields: BTreeMap<String, Secret>,
    ) -> Result<(), VaultError> {
        if !is_name(name) {
            return Err(VaultError::BadName);
        }
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if fields.keys().any(|f| f.is_empty() || !f.bytes().all(fits)) {
            return Err(VaultError::BadField);
        }
        if let Some(seed) = fields.get("totp") {
            Totp::parse(seed)?;
        }
        let origin = origin::canonical(origin)?;
        if !self.exists() {
            self.create()?;
        }
        self.change(|body| {
            if body.has(name) {
                return Err(VaultError::Exists(name.to_owned()));
            }
            body.put(Record::new(name, origin, fields));
            Ok(())
        })
    }

    /// Replaces one field's value.
    pub fn rotate(&self, name: &str, field: &str, value: &Secret) -> Result<(), VaultError> {
        if field == "totp" {
            Totp::parse(value)?;
        }
        self.change(|body| {
            let record = body
                .record(name)
                .ok_or_else(|| VaultError::Unknown(name.to_owned()))?;
            if record.rotate(field, value.expose()) {
                return Ok(());
            }
            Err(VaultError::NoField {
                name: name.to_owned(),
                field: field.to_owned(),
            })
        })
    }

    pub fn remove(&self, name: &str) -> Result<(), VaultError> {
        self.change(|body| match body.take(name) {
            Some(_) => Ok(()),
            None => Err(VaultError::Unknown(name.to_owned())),
        })
    }

    /// Opens the vault, and gives [`Vault::warning`].
    pub fn test(&self) -> Result<Option<String>, VaultError> {
        self.open()?;
        Ok(self.warning())
    }

    /// Decrypt, change, encrypt, under a lock that keeps other writers out.
    fn change(
        &self,
        change: impl FnOnce(&mut Body) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let _lock = self.lock()?;
        let mut body = self.open()?;
        change(&mut body)?;
        // Above what was last seen, so that a restored copy becomes the newest once changed.
        let seen = Seen::read(&self.place.state, &self.place.file);
        body.counter = body.counter.max(seen.map_or(0, |s| s.counter)) + 1;
        let key = self.unlock.key()?;
        let sealed = self.seal(&key, &body)?;
        private_file::replace(&self.place.file, &sealed).map_err(VaultError::File)?;
        self.remember(&body);
        Ok(())
    }

    fn lock(&self) -> Result<File, VaultError> {
        let path = self.place.file.with_extension("lock");
        private_file::prepare_folder(&path).map_err(VaultError::File)?;
        let io = |error| {
            let path = path.clone();
            VaultError::File(FileError::Io { path, error })
        };
        use std::os::unix::fs::OpenOptionsExt;
        let file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(VaultError::Busy),
            Err(std::fs::TryLockError::Error(error)) => Err(io(error)),
        }
    }

    fn open(&self) -> Result<Body, VaultError> {
        let sealed = self.sealed()?;
        let key = self.unlock.key()?;
        let plain = self.unseal(&key, &sealed)?;
        let body = match body::parse(&plain, key.mac_secret()) {
            Ok(body) => body,
            Err(body::Bad::Shape) => return Err(self.damaged()),
            Err(body::Bad::Code) => return Err(VaultError::Forged(self.place.file.clone())),
        };
        let seen = Seen::read(&self.place.state, &self.place.file);
        let odd = seen.and_then(|seen| seen.compare(&body));
        if odd.is_none() {
            self.remember(&body);
        }
        *self.odd.lock().unwrap_or_else(PoisonError::into_inner) = odd;
        Ok(body)
    }

    fn sealed(&self) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        private_file::read(&self.place.file).map_err(|error| match error {
            FileError::Missing(path) => VaultError::Missing(path),
            error => VaultError::File(error),
        })
    }

    fn remember(&self, body: &Body) {
        // Without a state folder roll-backs go unseen, which is no reason to refuse the vault.
        let _ = Seen::of(body).write(&self.place.state, &self.place.file);
    }

    fn seal(&self, key: &Key, body: &Body) -> Result<Vec<u8>, VaultError> {
        let plain = body::render(body, key.mac_secret());
        let failed = |e: &dyn std::fmt::Display| VaultError::Encrypt(e.to_string());
        let recipient = key.recipient();
        let encryptor = age::Encryptor::with_recipients(std::iter::once(&*recipient))
            .map_err(|e| failed(&e))?;
        let mut sealed = Vec::new();
        let mut writer = encryptor.wrap_output(&mut sealed).map_err(|e| failed(&e))?;
        writer.write_all(&plain).map_err(|e| failed(&e))?;
        writer.finish().map_err(|e| failed(&e))?;
        Ok(sealed)
    }

    fn unseal(&self, key: &Key, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let decryptor = age::Decryptor::new(sealed).map_err(|e| self.refused(e))?;
        let identity = key.identity();
        let mut stream = decryptor
            .decrypt(std::iter::once(&*identity))
            .map_err(|e| self.refused(e))?;
        // Room for everything at once: growing would leave copies behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(sealed.len()));
        stream.read_to_end(&mut plain).map_err(|_| self.damaged())?;
        Ok(plain)
    }

    fn damaged(&self) -> VaultError {
        VaultError::Damaged(self.place.file.clone())
    }

    fn refused(&self, error: age::DecryptError) -> VaultError {
        use age::DecryptError::*;
        match error {
            NoMatchingKeys | KeyDecryptionFailed => VaultError::WrongKey(self.place.file.clone()),
            // A wrong passphrase, that is: scrypt has no other way to fail.
            DecryptionFailed => VaultError::WrongKey(self.place.file.clone()),
            ExcessiveWork { .. } => VaultError::TooMuchWork(self.place.file.clone()),
            _ => self.damaged(),
        }
    }
}

fn random_id() -> String {
    let mut bytes = [0u8; 16];
    // Only a name to tell vaults apart; without randomness there would be no encryption either.
    if getrandom::fill(&mut bytes).is_err() {
        bytes.zeroize();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests;
