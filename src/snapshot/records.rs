//! Redaction records beside pictures: what a picture was made of and what was covered on it.
//!
//! A picture is published only with a record that names its very bytes.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `pictures/01-sign-in.json`, beside `01-sign-in.png`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PictureRecord {
    pub format: u32,
    /// SHA-256 of the frame it was made from, hex.
    pub source: String,
    /// SHA-256 of the picture's bytes, hex.
    pub picture: String,
    pub width: u32,
    pub height: u32,
    pub covered: Vec<CoveredArea>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoveredArea {
    /// x, y, width, height in pixels of the picture.
    pub rect: [i32; 4],
    pub reason: String,
}

pub const RECORD_FORMAT: u32 = 1;

/// A picture and its record don't belong together.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{picture}: no record of what was covered lies beside it; run the scenario again")]
    NoRecord { picture: PathBuf },
    #[error("{record}: its picture is missing; run the scenario again")]
    NoPicture { record: PathBuf },
    #[error("{record}: not a record this version reads: {reason}; run the scenario again")]
    BadRecord { record: PathBuf, reason: String },
    #[error("{picture}: changed since its record was written; run the scenario again")]
    Changed { picture: PathBuf },
    #[error("{path}: neither a picture nor a record; remove it")]
    Stranger { path: PathBuf },
    #[error("{path}: {reason}")]
    Unreadable { path: PathBuf, reason: String },
}

/// Checks a folder of pictures; gives how many there are. No folder holds no pictures.
pub fn verify_records(folder: &Path) -> Result<usize, RecordError> {
    let unreadable = |path: &Path, e: std::io::Error| RecordError::Unreadable {
        path: path.to_owned(),
        reason: e.to_string(),
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(unreadable(folder, e)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| unreadable(folder, e))?.path());
    }
    paths.sort();
    let mut pictures = 0;
    for path in paths {
        // A link could name any file of the machine.
        let plain = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
        match path.extension().and_then(|e| e.to_str()) {
            Some("png") if plain => {
                verify(&path)?;
                pictures += 1;
            }
            Some("json") if plain => {
                if !path.with_extension("png").is_file() {
                    return Err(RecordError::NoPicture { record: path });
                }
            }
            _ => return Err(RecordError::Stranger { path }),
        }
    }
    Ok(pictures)
}

fn verify(picture: &Path) -> Result<(), RecordError> {
    let record = picture.with_extension("json");
    let text = match std::fs::read(&record) {
        Ok(text) => text,
        Err(_) => {
            return Err(RecordError::NoRecord {
                picture: picture.to_owned(),
            });
        }
    };
    let read: PictureRecord =
        serde_json::from_slice(&text).map_err(|e| RecordError::BadRecord {
            record: record.clone(),
            reason: e.to_string(),
        })?;
    if read.format != RECORD_FORMAT {
        let reason = format!("format {} instead of {RECORD_FORMAT}", read.format);
        return Err(RecordError::BadRecord { record, reason });
    }
    let bytes = std::fs::read(picture).map_err(|e| RecordError::Unreadable {
        path: picture.to_owned(),
        reason: e.to_string(),
    })?;
    if crate::store::frames::full_hash(&bytes) == read.picture {
        Ok(())
    } else {
        Err(RecordError::Changed {
            picture: picture.to_owned(),
        })
    }
}
