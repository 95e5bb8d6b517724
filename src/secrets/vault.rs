//! The vault: one encrypted file of credentials.
//!
//! The file is in age's format, so other tools can open it with the same key. Encryption alone
//! does not say *who* wrote a file: anyone with the public key could replace it, and an old copy
//! could be put back. So the plaintext carries a code keyed from the identity, which a stranger
//! can't make, and a counter, whose last value is remembered elsewhere.
//!
//! Nothing is cached: each call decrypts, does one thing and forgets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use age::secrecy::{ExposeSecret, SecretString};
use zeroize::{Zeroize, Zeroizing};

use super::command::{CommandError, CommandLine, TIME_LIMIT};
use super::origin::{self, OriginError};
use super::private_file::{self, FileError};
use super::sources::is_name;
use super::value::Secret;
use super::vault_body::{self, Body, Record};

pub use super::vault_body::{KIND_WEB, Listed};

/// Cost of a passphrase: fixed, because age would otherwise measure the machine and the build.
const WORK: u8 = 18;
/// A file may not make us work longer than this.
const WORK_LIMIT: u8 = 20;

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
    #[error("another program is changing the vault just now")]
    Busy,
    #[error("encrypting failed: {0}")]
    Encrypt(String),
}

/// What opens the vault.
pub enum Unlock {
    /// A 0600 file with an age identity.
    IdentityFile(PathBuf),
    /// A command that prints one.
    Command(CommandLine),
    /// For people.
    Passphrase(Secret),
}

/// Where the vault and what belongs to it lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub identity_file: PathBuf,
    /// Remembers counters; on another path than the vault, so that both are not put back at once.
    pub state: PathBuf,
}

impl Place {
    /// By environment: `REHEARSAL_VAULT`, `REHEARSAL_VAULT_IDENTITY_FILE`, else the XDG folders.
    /// `None` without any home folder.
    pub fn from_environment(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let set = |name| variable(name).filter(|p| !p.as_os_str().is_empty());
        let home = set("HOME");
        let base = |name, below: &str| {
            let xdg = set(name).filter(|p| p.is_absolute());
            Some(
                xdg.or_else(|| Some(home.as_ref()?.join(below)))?
                    .join("rehearsal"),
            )
        };
        let or = |given: Option<PathBuf>, folder: Option<PathBuf>, name: &str| {
            given.or_else(|| Some(folder?.join(name)))
        };
        Some(Self {
            file: or(
                set("REHEARSAL_VAULT"),
                base("XDG_DATA_HOME", ".local/share"),
                "vault.age",
            )?,
            identity_file: or(
                set("REHEARSAL_VAULT_IDENTITY_FILE"),
                base("XDG_CONFIG_HOME", ".config"),
                "vault-identity.txt",
            )?,
            state: base("XDG_STATE_HOME", ".local/state")?,
        })
    }
}

/// The vault by its place and key. Holds no values.
pub struct Vault {
    place: Place,
    unlock: Unlock,
}

/// A credential's values, for one use.
pub struct Opened {
    /// Canonical: `scheme://host[:port]`.
    pub origin: String,
    pub fields: BTreeMap<String, Secret>,
}

/// The key in the shape age wants it, and the bytes codes are keyed from.
enum Key {
    Identity(age::x25519::Identity),
    Passphrase(SecretString),
}

impl Vault {
    pub fn new(place: Place, unlock: Unlock) -> Self {
        Self { place, unlock }
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
            let identity = age::x25519::Identity::generate();
            let line = identity.to_string();
            let text = Zeroizing::new(format!("{}\n", line.expose_secret()));
            private_file::create(path, text.as_bytes()).map_err(VaultError::Key)?;
        }
        let key = self.key()?;
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
        if record.kind != KIND_WEB {
            return Err(VaultError::NotForPages {
                name: name.to_owned(),
                kind: record.kind.clone(),
            });
        }
        let damaged = || VaultError::Damaged(self.place.file.clone());
        let origin = origin::canonical(&record.origin)?;
        let mut fields = BTreeMap::new();
        for (field, value) in std::mem::take(&mut record.fields) {
            fields.insert(field, Secret::new(value).map_err(|_| damaged())?);
        }
        Ok(Some(Opened { origin, fields }))
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

    /// Opens the vault and says what looks odd about it: an older copy than the one last seen, or
    /// another vault in its place.
    pub fn test(&self) -> Result<Option<String>, VaultError> {
        let (body, odd) = self.open_and_compare()?;
        drop(body);
        Ok(odd)
    }

    /// Decrypt, change, encrypt, under a lock that keeps other writers out.
    fn change(
        &self,
        change: impl FnOnce(&mut Body) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let _lock = self.lock()?;
        let (mut body, _) = self.open_and_compare()?;
        change(&mut body)?;
        // Above what was last seen, so that a restored copy becomes the newest once changed.
        let seen = vault_body::Seen::read(&self.place.state, &self.place.file);
        body.counter = body.counter.max(seen.map_or(0, |s| s.counter)) + 1;
        let key = self.key()?;
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
        Ok(self.open_and_compare()?.0)
    }

    fn open_and_compare(&self) -> Result<(Body, Option<String>), VaultError> {
        let sealed = private_file::read(&self.place.file).map_err(|error| match error {
            FileError::Missing(path) => VaultError::Missing(path),
            error => VaultError::File(error),
        })?;
        let key = self.key()?;
        let plain = self.unseal(&key, &sealed)?;
        let body = match vault_body::parse(&plain, key.mac_secret()) {
            Ok(body) => body,
            Err(vault_body::Bad::Shape) => return Err(self.damaged()),
            Err(vault_body::Bad::Code) => return Err(VaultError::Forged(self.place.file.clone())),
        };
        let seen = vault_body::Seen::read(&self.place.state, &self.place.file);
        let odd = seen.and_then(|seen| seen.compare(&body));
        if odd.is_none() {
            self.remember(&body);
        }
        Ok((body, odd))
    }

    fn remember(&self, body: &Body) {
        // Without a state folder roll-backs go unseen, which is no reason to refuse the vault.
        let _ = vault_body::Seen::of(body).write(&self.place.state, &self.place.file);
    }

    fn key(&self) -> Result<Key, VaultError> {
        let (text, from) = match &self.unlock {
            Unlock::Passphrase(secret) => {
                return Ok(Key::Passphrase(SecretString::from(secret.expose())));
            }
            Unlock::IdentityFile(path) => {
                let bytes = private_file::read(path).map_err(VaultError::Key)?;
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                (Zeroizing::new(text.to_owned()), path.display().to_string())
            }
            Unlock::Command(line) => {
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

    fn seal(&self, key: &Key, body: &Body) -> Result<Vec<u8>, VaultError> {
        let plain = vault_body::render(body, key.mac_secret());
        let failed = |e: &dyn std::fmt::Display| VaultError::Encrypt(e.to_string());
        let recipient: Box<dyn age::Recipient> = match key {
            Key::Identity(identity) => Box::new(identity.to_public()),
            Key::Passphrase(passphrase) => {
                let mut recipient = age::scrypt::Recipient::new(passphrase.clone());
                recipient.set_work_factor(WORK);
                Box::new(recipient)
            }
        };
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
        let stream = match key {
            Key::Identity(identity) => {
                decryptor.decrypt(std::iter::once(identity as &dyn age::Identity))
            }
            Key::Passphrase(passphrase) => {
                let mut identity = age::scrypt::Identity::new(passphrase.clone());
                identity.set_max_work_factor(WORK_LIMIT);
                decryptor.decrypt(std::iter::once(&identity as &dyn age::Identity))
            }
        };
        let mut stream = stream.map_err(|e| self.refused(e))?;
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

impl Key {
    fn mac_secret(&self) -> Zeroizing<String> {
        match self {
            Self::Identity(identity) => {
                Zeroizing::new(identity.to_string().expose_secret().to_owned())
            }
            Self::Passphrase(passphrase) => Zeroizing::new(passphrase.expose_secret().to_owned()),
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

/// For messages: the vault's path.
impl AsRef<Path> for Vault {
    fn as_ref(&self) -> &Path {
        &self.place.file
    }
}

#[cfg(test)]
#[path = "vault_tests.rs"]
mod tests;
