//! What is inside the vault: records, a counter, a code; and the memory of the counter outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::error::VaultError;
use crate::secrets::private_file;
use crate::secrets::value::Secret;

/// The one kind of binding there is so far.
pub const KIND_WEB: &str = "web";

/// A credential without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub origin: String,
    pub kind: String,
    pub fields: Vec<String>,
    pub created: String,
    pub rotated: Option<String>,
}

impl Listed {
    /// Only credentials of kind `web` may be filled into a page (R24).
    pub fn for_pages(&self) -> Result<(), VaultError> {
        if self.kind == KIND_WEB {
            return Ok(());
        }
        Err(VaultError::NotForPages {
            name: self.name.clone(),
            kind: self.kind.clone(),
        })
    }
}

impl From<&Record> for Listed {
    fn from(record: &Record) -> Self {
        Self {
            name: record.name.clone(),
            origin: record.origin.clone(),
            kind: record.kind.clone(),
            fields: record.fields.keys().cloned().collect(),
            created: record.created.clone(),
            rotated: record.rotated.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub origin: String,
    pub kind: String,
    pub fields: BTreeMap<String, String>,
    /// RFC 3339, UTC.
    pub created: String,
    pub rotated: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct Body {
    pub id: String,
    pub counter: u64,
    records: Vec<Record>,
}

impl Drop for Record {
    fn drop(&mut self) {
        self.fields.values_mut().for_each(Zeroize::zeroize);
    }
}

fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

impl Record {
    pub fn new(name: &str, origin: String, fields: BTreeMap<String, Secret>) -> Self {
        let value = |(field, secret): (String, Secret)| (field, secret.expose().to_owned());
        Self {
            name: name.to_owned(),
            origin,
            kind: KIND_WEB.into(),
            fields: fields.into_iter().map(value).collect(),
            created: now(),
            rotated: None,
        }
    }

    /// Whether the field is there to be replaced.
    pub fn rotate(&mut self, field: &str, value: &str) -> bool {
        let Some(old) = self.fields.get_mut(field) else {
            return false;
        };
        old.zeroize();
        *old = value.to_owned();
        self.rotated = Some(now());
        true
    }
}

impl Body {
    pub fn new(id: String) -> Self {
        Self {
            id,
            counter: 1,
            records: Vec::new(),
        }
    }

    pub fn listed(&self) -> Vec<Listed> {
        self.records.iter().map(Listed::from).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.records.iter().any(|r| r.name == name)
    }

    pub fn record(&mut self, name: &str) -> Option<&mut Record> {
        self.records.iter_mut().find(|r| r.name == name)
    }

    pub fn take(&mut self, name: &str) -> Option<Record> {
        let at = self.records.iter().position(|r| r.name == name)?;
        Some(self.records.remove(at))
    }

    pub fn put(&mut self, record: Record) {
        self.records.push(record);
        self.records.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

pub enum Bad {
    Shape,
    Code,
}

const CODE_LENGTH: usize = 32;

fn code(secret: &str) -> Hmac<Sha256> {
    // A key of its own, so that the identity is used for nothing but encryption.
    let key = derive(secret);
    Hmac::<Sha256>::new_from_slice(&*key).expect("HMAC takes keys of any length")
}

fn derive(secret: &str) -> Zeroizing<[u8; 32]> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(b"rehearsal vault writer 1");
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// The plaintext: a code of 32 bytes, then the body as JSON.
pub fn render(body: &Body, secret: Zeroizing<String>) -> Zeroizing<Vec<u8>> {
    let json = Zeroizing::new(serde_json::to_vec(body).expect("strings and numbers serialise"));
    let mut mac = code(&secret);
    mac.update(&json);
    let mut plain = Zeroizing::new(Vec::with_capacity(CODE_LENGTH + json.len()));
    plain.extend_from_slice(&mac.finalize().into_bytes());
    plain.extend_from_slice(&json);
    plain
}

pub fn parse(plain: &[u8], secret: Zeroizing<String>) -> Result<Body, Bad> {
    let (given, json) = plain.split_at_checked(CODE_LENGTH).ok_or(Bad::Shape)?;
    let mut mac = code(&secret);
    mac.update(json);
    mac.verify_slice(given).map_err(|_| Bad::Code)?;
    // The error would quote what it could not read.
    serde_json::from_slice(json).map_err(|_| Bad::Shape)
}

/// The last state of the vault this machine has seen.
#[derive(Serialize, Deserialize)]
pub struct Seen {
    id: String,
    pub counter: u64,
}

impl Seen {
    pub fn of(body: &Body) -> Self {
        Self {
            id: body.id.clone(),
            counter: body.counter,
        }
    }

    fn path(state: &Path, vault: &Path) -> PathBuf {
        let whole = std::path::absolute(vault).unwrap_or_else(|_| vault.to_owned());
        let hash = Sha256::digest(whole.as_os_str().as_encoded_bytes());
        let name: String = hash[..8].iter().map(|b| format!("{b:02x}")).collect();
        state.join(format!("vault-{name}.json"))
    }

    pub fn read(state: &Path, vault: &Path) -> Option<Self> {
        let bytes = private_file::read(&Self::path(state, vault)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn write(&self, state: &Path, vault: &Path) -> Result<(), private_file::FileError> {
        let path = Self::path(state, vault);
        let bytes = serde_json::to_vec(self).expect("strings and numbers serialise");
        if private_file::read(&path).is_ok_and(|old| *old == bytes) {
            return Ok(());
        }
        private_file::replace(&path, &bytes)
    }

    /// What is odd about `body` after this.
    pub fn compare(&self, body: &Body) -> Option<String> {
        if self.id != body.id {
            return Some(
                "the vault is another one than last time; if you did not replace it, do not use it"
                    .into(),
            );
        }
        (body.counter < self.counter).then(|| {
            format!(
                "the vault is an older copy than the one last seen here (change {} after change {}); \
                 if you did not put it back, rotate what was changed since",
                body.counter, self.counter
            )
        })
    }
}
