//! Pictures are stored once, under a name made of their content.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::atomic::{self, StoreError};

/// `frames/<first 16 hex digits of SHA-256>.png`, relative to the scenario's folder.
pub fn frame_name(png: &[u8]) -> PathBuf {
    Path::new("frames").join(format!("{}.png", short_hash(png)))
}

/// The first 16 hex digits of SHA-256.
pub fn short_hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// All of SHA-256, in hex.
pub fn full_hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Stores a picture below `folder` before the event that names it; gives its relative name.
pub fn store_frame(folder: &Path, png: &[u8]) -> Result<PathBuf, StoreError> {
    let name = frame_name(png);
    let path = folder.join(&name);
    if !path.is_file() {
        atomic::write(&path, png)?;
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_picture_is_stored_once() {
        let dir = tempfile::tempdir().expect("folder");
        let name = store_frame(dir.path(), b"picture").expect("store");
        assert_eq!(store_frame(dir.path(), b"picture").expect("store"), name);
        assert_ne!(store_frame(dir.path(), b"other").expect("store"), name);
        assert_eq!(
            std::fs::read_dir(dir.path().join("frames"))
                .expect("list")
                .count(),
            2
        );
    }

    #[test]
    fn hashes_are_those_of_sha_256() {
        assert_eq!(short_hash(b"abc"), "ba7816bf8f01cfea");
        assert_eq!(full_hash(b"").len(), 64);
    }
}
