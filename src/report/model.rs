//! A run as people look at it: scenarios in plan order, attempts, steps with all that belongs to
//! them. Every report but the live console is a rendering of a [`RunReport`] and of nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::{self, Class};
use crate::event::{
    Acted, Blocked, Failure, Frame, Looked, ModelCalled, Rated, Resolved, SnapshotVerdict, Status,
};

/// Version of `report.json`.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    pub format: u32,
    /// Absent when the journal's first line was lost.
    pub run: Option<Header>,
    /// False for a journal that stops in the middle.
    pub finished: bool,
    /// `SIGINT`, `SIGTERM`, … when a signal ended the run.
    pub interrupted: Option<String>,
    pub exit: i32,
    pub ms: u64,
    pub counts: Counts,
    /// Lines of the run itself (warnings, "model from a script").
    pub notes: Vec<String>,
    /// Tear-downs and leaks that belong to no scenario.
    pub tear_downs: Vec<TornDown>,
    pub leaks: Vec<FoundLeak>,
    /// Plan order.
    pub scenarios: Vec<ScenarioReport>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    pub version: String,
    pub run_id: String,
    /// RFC 3339, UTC; absent in a report made before the run began.
    pub started: Option<String>,
    pub browser: String,
    pub driver: String,
    pub network: String,
    pub model: Option<String>,
    pub mode: Vec<String>,
    pub suite: String,
    pub jobs: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub scenarios: u32,
    pub passed: u32,
    pub failed: u32,
    pub errors: u32,
    pub refused: u32,
    pub leaks: u32,
    pub pending: u32,
    pub not_finished: u32,
    pub skipped: u32,
    /// Passed, but not at the first attempt; also counted as passed.
    pub flaky: u32,
}

impl Counts {
    pub fn of(&self, class: Class) -> u32 {
        match class {
            Class::Failed => self.failed,
            Class::Error => self.errors,
            Class::Refused => self.refused,
            Class::Leak => self.leaks,
            Class::Pending => self.pending,
            Class::NotFinished => self.not_finished,
            Class::Passed => self.passed,
            Class::Skipped => self.skipped,
        }
    }

    pub(super) fn add(&mut self, class: Class) {
        self.scenarios += 1;
        *match class {
            Class::Failed => &mut self.failed,
            Class::Error => &mut self.errors,
            Class::Refused => &mut self.refused,
            Class::Leak => &mut self.leaks,
            Class::Pending => &mut self.pending,
            Class::NotFinished => &mut self.not_finished,
            Class::Passed => &mut self.passed,
            Class::Skipped => &mut self.skipped,
        } += 1;
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioReport {
    pub id: String,
    pub name: String,
    /// Path relative to the suite.
    pub file: String,
    /// Folder part of the id, empty at the top.
    pub folder: String,
    pub tags: Vec<String>,
    /// The verdict over all attempts, snapshots, leaks and tear-downs.
    pub status: Status,
    pub reason: String,
    pub message: String,
    /// It did not pass by itself, but ended as its `ends` says: counts as passed.
    pub as_expected: bool,
    /// Passed only after a failed attempt.
    pub flaky: bool,
    /// All attempts together.
    pub ms: u64,
    pub attempts: Vec<Attempt>,
    pub rated: Option<Rated>,
    pub snapshots: Vec<SnapshotVerdict>,
    pub leaks: Vec<FoundLeak>,
    pub tear_downs: Vec<TornDown>,
}

impl ScenarioReport {
    pub fn class(&self) -> Class {
        exit::meaning(self.status).class
    }

    pub fn passed(&self) -> bool {
        self.class() == Class::Passed
    }

    /// Some target was found in another way than the approved lock says.
    pub fn healed(&self) -> bool {
        let steps = self.attempts.iter().flat_map(|attempt| &attempt.steps);
        steps
            .flat_map(|step| &step.resolved)
            .any(|how| how.healed.is_some())
    }

    /// The last attempt, which decides unless attempts were repeated for their own sake.
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// RFC 3339, UTC.
    pub started: String,
    /// How it ended by itself; whether that counts as passed says `as_expected`.
    pub status: Status,
    pub reason: String,
    pub message: String,
    /// It ended as its `ends` says (`completed` unless written).
    pub as_expected: bool,
    pub goal: Option<String>,
    pub start: Option<String>,
    pub failed_step: Option<String>,
    pub signed_in_by: Option<String>,
    pub wrote: bool,
    pub ms: u64,
    /// How targets were found, and how often: exact → 5.
    pub choosers: BTreeMap<String, u32>,
    pub model_calls: u32,
    pub tokens: u64,
    pub ms_by_part: BTreeMap<String, u64>,
    pub steps: Vec<StepReport>,
    pub looks: Vec<Looked>,
    /// The page as it was looked at.
    pub end: Option<Frame>,
    pub blocked: Vec<Blocked>,
    pub writes: Vec<Write>,
    pub extracted: Vec<Extracted>,
    pub notes: Vec<String>,
}

impl Attempt {
    /// What the attempt counts as. Its own status says how it ended; whether that was right only
    /// `as_expected` knows: a scenario that must fail and completes has failed.
    pub fn verdict(&self) -> Status {
        match self.status {
            _ if self.as_expected => Status::Passed,
            Status::Passed => Status::Failed,
            other => other,
        }
    }

    pub fn passed(&self) -> bool {
        self.verdict() == Status::Passed
    }

    /// The step that ended the attempt: the one named, else the first that went wrong.
    pub fn failing_step(&self) -> Option<&StepReport> {
        let named = self.failed_step.as_deref();
        self.steps
            .iter()
            .find(|step| named == Some(&step.step))
            .or_else(|| self.steps.iter().rev().find(|step| step.failure.is_some()))
    }

    /// The picture that shows how it ended: the failing step's last, else the end state's, else the
    /// last of all.
    pub fn evidence(&self) -> Option<&Frame> {
        self.failing_step()
            .and_then(|step| step.frames.last())
            .or(self.end.as_ref())
            .or_else(|| self.steps.iter().rev().find_map(|step| step.frames.last()))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// `3`, `3.2` inside a flow, `p4` for the planner's fourth.
    pub step: String,
    pub says: String,
    pub written: String,
    pub verb: String,
    pub line: Option<u32>,
    pub note: Option<String>,
    /// What the step was allowed to change.
    pub write: Option<String>,
    /// `author`, `planner`, `fixture`
    pub by: String,
    /// Since the run began.
    pub at_ms: u64,
    pub ms: u64,
    /// `NotFinished` when the journal stops inside the step.
    pub status: Status,
    pub failure: Option<Failure>,
    pub notes: Vec<String>,
    pub resolved: Vec<Resolved>,
    pub model: Vec<ModelCalled>,
    pub acted: Vec<Acted>,
    pub frames: Vec<Frame>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Write {
    pub step: Option<String>,
    pub method: String,
    pub url: String,
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    pub name: String,
    pub rows: Option<u64>,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TornDown {
    pub what: String,
    pub ok: bool,
    pub detail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLeak {
    pub file: String,
    pub credential: String,
    /// In which form the value stood there.
    pub form: String,
}
