//! Where the vault lies.

use std::path::PathBuf;

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
