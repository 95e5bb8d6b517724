//! What a run is told from outside: modes, limits, and the parts all scenarios share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::agent::Model;
use crate::driver::LaunchSettings;
use crate::network::{Authority, Trust, UpstreamProxy};
use crate::secrets::{LeakHit, Scanner, Scrubber, Secret, Sources};
use crate::store::LeakOrIo;
use crate::system::Stop;

use crate::scenario::{Budget, Mask, NetworkMode, Pattern};

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
    /// What is not approved is pending, not just proposed: with `--locked` and with `--offline`,
    /// which can't make anything new either.
    pub fn is_strict(self) -> bool {
        (self.locked || self.offline) && !self.fresh
    }

    pub fn words(self) -> Vec<String> {
        [
            (self.locked, "locked"),
            (self.offline, "offline"),
            (self.fresh, "fresh"),
        ]
        .into_iter()
        .filter(|(on, _)| *on)
        .map(|(_, word)| word.to_owned())
        .collect()
    }
}

/// Shared by every scenario of a run; holds no secret value itself.
pub struct RunContext {
    pub run_id: String,
    pub browser_words: String,
    pub driver_words: String,
    /// Registered with every scrubber: it is a secret like any other (T26).
    pub model_key: Option<Secret>,
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
    pub trust: Trust,
    pub upstream: Option<UpstreamProxy>,
    pub bind: std::net::IpAddr,
    pub viewport: (u32, u32),
    pub locale: Option<String>,
    pub time_zone: Option<String>,
    /// Masks of the settings, beside those of each scenario.
    pub masks: Vec<Mask>,
    pub volatile: Vec<Pattern>,
    /// Limits of scenarios that say none.
    pub budget: Budget,
    pub network: NetworkMode,
    pub jobs: usize,
    pub retries: u32,
    pub repeat: u32,
    /// `--min-rate`, judged on the interval's lower bound.
    pub min_rate: Option<f64>,
    /// Said once at the start of the run.
    pub notes: Vec<String>,
}

/// Writes artefacts, scanned on their way out.
pub struct Outgoing {
    store: crate::store::Outgoing,
    scanner: Scanner,
    /// Files that were held back for a value in them, until they are told.
    held_back: Mutex<Vec<(PathBuf, LeakHit)>>,
}

impl Outgoing {
    pub fn new(run_folder: &Path, scrubber: &Scrubber) -> Self {
        Self {
            store: crate::store::Outgoing::new(run_folder),
            scanner: Scanner::new(scrubber),
            held_back: Mutex::default(),
        }
    }

    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), LeakOrIo> {
        let written = self.store.write(path, bytes, &self.scanner);
        written
            .map(drop)
            .inspect_err(|error| self.hold_back(path, error))
    }

    /// A writer's complaint may end as a note beside a step; a value that nearly left is more than that.
    fn hold_back(&self, path: &Path, error: &LeakOrIo) {
        if let LeakOrIo::Leak { hits, .. } = error {
            let hits = hits.iter().map(|hit| (path.to_owned(), hit.clone()));
            self.held_back().extend(hits);
        }
    }

    /// What was held back below a folder and not told yet.
    pub fn take_held_back(&self, folder: &Path) -> Vec<LeakHit> {
        let mut all = self.held_back();
        let (own, others) = std::mem::take(&mut *all)
            .into_iter()
            .partition(|(path, _)| path.starts_with(folder));
        *all = others;
        own.into_iter().map(|(_, hit)| hit).collect()
    }

    fn held_back(&self) -> MutexGuard<'_, Vec<(PathBuf, LeakHit)>> {
        self.held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a picture below `folder` under a name made of its content.
    pub fn write_frame(&self, folder: &Path, png: &[u8]) -> Result<PathBuf, LeakOrIo> {
        let written = self.store.write_frame(folder, png, &self.scanner);
        written.inspect_err(|error| self.hold_back(folder, error))
    }

    pub fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    pub fn store(&self) -> &crate::store::Outgoing {
        &self.store
    }
}
