//! The values of every credential a suite's files name, as far as they can be loaded here.

use std::path::{Path, PathBuf};

use crate::secrets::{Scanner, Scrubber, Sources, Vault};

use super::settings::Effective;

/// A scrubber that knows them, and how many credentials that are.
pub fn known_secrets(effective: &Effective) -> (Scrubber, usize) {
    let scrubber = Scrubber::new();
    let suite = effective.suite();
    let vault =
        Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)).filter(Vault::exists);
    let mut sources = Sources::new(effective.file.credentials.clone()).vault(vault);
    let mut names: Vec<String> = suite
        .scenarios
        .iter()
        .flat_map(|s| s.credentials.iter().map(|c| c.value.clone()))
        .collect();
    names.extend(effective.file.credentials.keys().cloned());
    names.sort();
    names.dedup();
    let mut known = 0;
    for name in names {
        sources.want(&name, "password");
        // One that can't be loaded can't be searched for; a run or `credentials test` says why.
        if let Ok(credential) = sources.load(&name) {
            credential.register(&scrubber);
            known += 1;
        }
    }
    (scrubber, known)
}

/// Refuses what holds a known value, in body, header or name: nothing is approved with one (case 086).
pub fn clean(scanner: &Scanner, path: &Path, bytes: &[u8]) -> Result<(), String> {
    match scanner.scan_bytes(&path.to_string_lossy(), bytes).first() {
        None => Ok(()),
        Some(hit) => Err(format!(
            "it holds a value of {} (as {})",
            hit.credential, hit.form
        )),
    }
}
