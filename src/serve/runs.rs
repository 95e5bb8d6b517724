//! Runs of the suite's scenarios for thin clients (R28). Whoever of its owner asks is told every event
//! of a run from the first on, and it goes on whether anybody listens or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::event::{Event, What};
use crate::run::Listener;
use crate::secrets::Scanner;
use crate::store::RunFolder;
use crate::system::{Signal, Stopper};

use super::audit::Entry;
use super::refusal::Refusal;
use super::service::Service;
use super::session::Answer;

/// Finished runs of one owner that are still told of; older ones are forgotten, with their folders.
const KEPT: usize = 16;

/// One run, as long as it is remembered.
pub struct Run {
    owner: String,
    started: String,
    selected: Vec<String>,
    /// Its journal, reports and pictures.
    folder: PathBuf,
    stopper: Stopper,
    told: watch::Sender<Told>,
    _whole: tempfile::TempDir,
}

/// What was said so far: events as lines of the journal, and the exit code once it is over.
#[derive(Default)]
struct Told {
    lines: Vec<Bytes>,
    exit: Option<i32>,
}

impl Run {
    pub fn new(
        owner: &str,
        selected: Vec<String>,
        folder: &RunFolder,
        whole: tempfile::TempDir,
    ) -> Self {
        Self {
            owner: owner.to_owned(),
            started: crate::system::clock::now_rfc3339(),
            selected,
            folder: folder.path().to_owned(),
            stopper: Stopper::new(),
            told: watch::Sender::new(Told::default()),
            _whole: whole,
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// What ends it, beside its own end.
    pub fn stopper(&self) -> &Stopper {
        &self.stopper
    }

    pub fn exit(&self) -> Option<i32> {
        self.told.borrow().exit
    }

    /// It is over, with this exit code where it told none itself.
    pub fn over(&self, exit: i32) {
        self.told.send_modify(|told| {
            told.exit.get_or_insert(exit);
        });
    }

    pub fn shown(&self, id: &str) -> Value {
        let exit = self.exit();
        json!({
            "run": id,
            "state": if exit.is_some() { "finished" } else { "running" },
            "exit": exit,
            "started": self.started,
            "selected": self.selected,
            "folder": self.folder,
        })
    }
}

/// Every event, for those who follow.
pub struct Telling(Arc<Run>);

impl Telling {
    pub fn new(run: Arc<Run>) -> Self {
        Self(run)
    }
}

impl Listener for Telling {
    fn event(&mut self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else {
            return;
        };
        line.push(b'\n');
        self.0.told.send_modify(|told| {
            told.lines.push(line.into());
            if let What::RunFinished { exit, .. } = event.what {
                told.exit = Some(exit);
            }
        });
    }
}

/// By id; in memory, as everything else a service knows.
#[derive(Default)]
pub struct Runs(Mutex<BTreeMap<String, Arc<Run>>>);

impl Runs {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, id: String, run: Arc<Run>) {
        let mut runs = self.lock();
        let mut finished: Vec<(String, String)> = runs
            .iter()
            .filter(|(_, r)| r.owner == run.owner && r.exit().is_some())
            .map(|(id, r)| (r.started.clone(), id.clone()))
            .collect();
        finished.sort();
        let surplus = (finished.len() + 1).saturating_sub(KEPT);
        for (_, old) in finished.into_iter().take(surplus) {
            runs.remove(&old);
        }
        runs.insert(id, run);
    }

    /// Absent and another owner's are told alike (R29).
    fn of(&self, owner: &str, id: &str) -> Result<Arc<Run>, Refusal> {
        match self.lock().get(id) {
            Some(run) if run.owner == owner => Ok(run.clone()),
            _ => Err(Refusal::NotFound),
        }
    }

    pub(super) fn stop_all(&self, owner: &str) {
        for run in self.lock().values().filter(|r| r.owner == owner) {
            stop(run);
        }
    }
}

/// Asks once; what still runs ends within its grace.
fn stop(run: &Run) {
    if run.exit().is_none() && !run.stopper.watch().is_asked() {
        run.stopper.raise(Signal::Internal);
    }
}

impl Service {
    /// The owner's runs, oldest first.
    pub fn list_runs(&self, owner: &str) -> Value {
        let runs = self.runs.lock();
        let mut own: Vec<(&String, &Arc<Run>)> =
            runs.iter().filter(|(_, r)| r.owner == owner).collect();
        own.sort_by_key(|(_, run)| &run.started);
        let shown: Vec<Value> = own.into_iter().map(|(id, run)| run.shown(id)).collect();
        json!({ "runs": shown })
    }

    /// Stops a run that goes on; forgets one that is over, with its folder.
    pub fn end_run(&self, owner: &str, id: &str) -> Answer {
        let run = self.runs.of(owner, id)?;
        let state = match run.exit() {
            None => {
                stop(&run);
                "stopping"
            }
            Some(_) => {
                self.runs.lock().remove(id);
                "forgotten"
            }
        };
        self.common.audit.write(Entry {
            what: "run deleted",
            result: state,
            owner: Some(owner),
            says: Some(id.to_owned()),
            ..Entry::default()
        });
        Ok(json!({ "run": id, "state": state }))
    }

    /// The events of a run from the first on, as they come, until it is over. Each line is looked
    /// through once more before it leaves; one that holds a value ends the answer.
    pub fn follow(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<
        impl futures_util::Stream<Item = Result<Bytes, std::convert::Infallible>> + use<>,
        Refusal,
    > {
        let run = self.runs.of(owner, id)?;
        let following = Following {
            heard: run.told.subscribe(),
            _run: run,
            next: 0,
            scanner: self.scanner.clone(),
            ended: false,
        };
        Ok(futures_util::stream::unfold(following, |mut f| async {
            let lines = f.lines().await?;
            Some((Ok(lines), f))
        }))
    }
}

/// Somebody who is told a run's events.
struct Following {
    heard: watch::Receiver<Told>,
    /// Its folder and its sender stay as long as somebody listens.
    _run: Arc<Run>,
    next: usize,
    scanner: Scanner,
    ended: bool,
}

impl Following {
    /// The lines that came since, at least one; `None` when the run is over and all of it was told.
    async fn lines(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        loop {
            let (fresh, over) = {
                let told = self.heard.borrow_and_update();
                let fresh = told.lines[self.next..].to_vec();
                (fresh, told.exit.is_some())
            };
            if !fresh.is_empty() {
                self.next += fresh.len();
                return Some(self.looked_through(&fresh));
            }
            if over || self.heard.changed().await.is_err() {
                return None;
            }
        }
    }

    fn looked_through(&mut self, lines: &[Bytes]) -> Bytes {
        let mut clean = Vec::new();
        for line in lines {
            if !self.scanner.scan_bytes("events.jsonl", line).is_empty() {
                tracing::error!("an event held a registered secret and was not sent");
                clean.extend_from_slice(super::reply::LEAK.as_bytes());
                clean.push(b'\n');
                self.ended = true;
                break;
            }
            clean.extend_from_slice(line);
        }
        clean.into()
    }
}
