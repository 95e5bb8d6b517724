//! What a run is told from outside: modes, limits, and the parts all scenarios share.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::Model;
use crate::driver::LaunchSettings;
use crate::network::Authority;
use crate::secrets::{Scanner, Scrubber, Sources};
use crate::system::Stop;

use super::human::Human;

/// How locks and snapshots are treated, and whether a model may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// A missing lock or snapshot is pending too; locked steps never ask a model.
    pub locked: bool,
    /// Never a model.
    pub offline: bool,
    /// Neither compared nor proposed.
    pub fresh: bool,
}

impl Mode {
    pub fn words(self) -> Vec<String> {
        [(self.locked, "locked"), (self.offline, "offline"), (self.fresh, "fresh")]
            .into_iter()
            .filter_map(|(on, word)| on.then(|| word.to_owned()))
            .collect()
    }
}

/// Shared by every scenario of a run; holds no secret value itself.
pub struct RunContext {
    pub run_id: String,
    pub suite_root: PathBuf,
    pub mode: Mode,
    pub human: Human,
    pub stop: Stop,
    pub model: Option<Arc<Model>>,
    pub sources: Arc<Sources>,
    /// Knows every secret registered so far in this run; grows as credentials are loaded.
    pub scrubber: Scrubber,
    pub outgoing: Outgoing,
    pub launch: LaunchSettings,
    /// Address of a WebDriver server that runs already.
    pub webdriver: Option<String>,
    pub authority: Arc<Authority>,
    pub upstream: Option<url::Url>,
    pub extra_roots: Option<PathBuf>,
    pub viewport: (u32, u32),
    pub jobs: usize,
    pub retries: u32,
    pub repeat: u32,
    pub suggest: bool,
}

/// Writes artefacts, scanned on their way out.
#[derive(Clone)]
pub struct Outgoing {
    scrubber: Scrubber,
}

impl Outgoing {
    pub fn new(scrubber: Scrubber) -> Self {
        Self { scrubber }
    }

    pub fn write(&self, path: &std::path::Path, bytes: &[u8]) -> Result<(), crate::store::OutgoingError> {
        crate::store::outgoing::write(path, bytes, &Scanner::new(&self.scrubber)).map(drop)
    }
}
