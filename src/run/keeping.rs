//! `keep:` of flow fixtures: a person (or the broker) signs in once per worker, or once at all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::broker::Kept;
use crate::scenario::Keep;
use crate::secrets::{Secret, Vault};

/// What a worker keeps from one scenario to the next, by flow.
#[derive(Clone, Default)]
pub struct Keeping {
    flows: Arc<Mutex<BTreeMap<String, Arc<Kept>>>>,
}

impl Keeping {
    /// A state from this run, or for `keep: vault` from an earlier one.
    pub fn get(&self, flow: &str, keep: Keep) -> Option<Arc<Kept>> {
        if let Some(kept) = self.lock().get(flow) {
            return Some(kept.clone());
        }
        if keep != Keep::Vault {
            return None;
        }
        let opened = vault()?.get(&record(flow)).ok().flatten()?;
        let kept = Arc::new(Kept::from_secret(opened.fields.get("state")?));
        self.lock().insert(flow.to_owned(), kept.clone());
        Some(kept)
    }

    /// Keeps a state; the message says why one for the vault was not stored.
    pub fn put(&self, flow: &str, keep: Keep, origin: &str, kept: Kept) -> Result<(), String> {
        let secret = (keep == Keep::Vault).then(|| kept.to_secret()).flatten();
        self.lock().insert(flow.to_owned(), Arc::new(kept));
        match secret {
            Some(secret) => store(flow, origin, secret),
            None => Ok(()),
        }
    }

    /// A state that did not serve is not used again.
    pub fn drop_flow(&self, flow: &str, keep: Keep) {
        self.lock().remove(flow);
        if keep == Keep::Vault
            && let Some(vault) = vault()
        {
            // Not there, or not removable: the next sign-in replaces it.
            let _ = vault.remove(&record(flow));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Kept>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn vault() -> Option<Vault> {
    Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)).filter(Vault::exists)
}

/// Name of the vault's record: letters, digits and `-` only.
fn record(flow: &str) -> String {
    let plain: String = flow
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!("session-{plain}")
}

fn store(flow: &str, origin: &str, state: Secret) -> Result<(), String> {
    let vault = vault().ok_or("there is no vault; make one with `rehearsal credentials add`")?;
    let name = record(flow);
    // An older state may be there or not.
    let _ = vault.remove(&name);
    vault
        .add(&name, origin, BTreeMap::from([("state".to_owned(), state)]))
        .map_err(|e| e.to_string())
}
