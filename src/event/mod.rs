//! The catalogue of events: everything a run says, owned, versioned, serialisable.
//!
//! Only `run` makes events. Every string has passed the scrubber. Reports, tutorials and replays
//! are functions of these alone. `events.jsonl` holds one [`Event`] a line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the journal's format, first field of [`RunStarted`].
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Wall clock, RFC 3339 with milliseconds, UTC. For people; order is by `seq`.
    pub time: String,
    /// Milliseconds since the run began, monotonic.
    pub at_ms: u64,
    /// Scenario id; empty for events of the run itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    /// From 1 (retries and `--repeat` count on); 0 for events of the run itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// Counts from 1 within `(scenario, attempt)`.
    pub seq: u32,
    #[serde(flatten)]
    pub what: What,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    RunStarted(RunStarted),
    /// A line worth showing that belongs to no step (a warning, "model from a script").
    Note {
        text: String,
    },
    ScenarioStarted(ScenarioStarted),
    StepStarted(StepStarted),
    Resolved(Resolved),
    ModelCalled(ModelCalled),
    /// A primitive was carried out (a step may hold several: form, login, planner).
    Acted(Acted),
    Frame(Frame),
    Dialog {
        text: String,
        answer: String,
        expected: bool,
    },
    TabOpened {
        url: String,
        followed: bool,
    },
    Download {
        name: String,
        bytes: u64,
        accepted: bool,
    },
    /// A request the proxy stopped.
    Blocked(Blocked),
    /// A request that changes something and was let through.
    Wrote {
        method: String,
        url: String,
        because: String,
    },
    Extracted {
        name: String,
        rows: Option<usize>,
        note: Option<String>,
    },
    StepFinished(StepFinished),
    Looked(Looked),
    ScenarioFinished(ScenarioFinished),
    /// Verdicts that come after the scenario's own end, inside the scenario.
    Snapshot(SnapshotVerdict),
    Leak {
        file: String,
        credential: String,
        form: String,
    },
    /// How often the scenario passed under `--repeat`; comes after its last attempt.
    Rated(Rated),
    TearDown {
        what: String,
        ok: bool,
        detail: Option<String>,
    },
    RunFinished {
        exit: i32,
        interrupted: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    pub format: u32,
    pub version: String,
    pub run_id: String,
    pub browser: String,
    pub driver: String,
    /// `inspect`, or `tunnel: methods not judged on HTTPS`.
    pub network: String,
    /// Base address and model name, never a key.
    pub model: Option<String>,
    /// `locked`, `offline`, `fresh`, …
    pub mode: Vec<String>,
    pub suite: String,
    /// Plan order: id, name, file, folder of every selected scenario.
    pub selected: Vec<Selected>,
    pub jobs: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selected {
    pub id: String,
    pub name: String,
    /// Path shown to people, relative to the suite.
    pub file: String,
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioStarted {
    pub name: String,
    pub goal: Option<String>,
    pub start: String,
    /// Caption and options of the wished tutorial.
    pub tutorial: bool,
    pub tutorial_title: Option<String>,
    pub tutorial_pictures: Option<u8>,
    pub digest: String,
}

/// Where a step stands: `3`, `3.2` inside a flow, `p4` for the planner's fourth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepStarted {
    pub step: String,
    /// The step as a sentence ("Click button “Sign in”").
    pub says: String,
    /// The sentence or line as the author wrote it, or the planner's reason.
    pub written: String,
    pub verb: String,
    /// Line in the scenario file, from 1.
    pub line: Option<u32>,
    pub note: Option<String>,
    /// `keep` / `drop`
    pub picture: Option<String>,
    pub write: Option<String>,
    /// `author`, `planner`, `fixture`
    pub by: String,
}

/// How a target was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resolved {
    pub step: String,
    /// `exact`, `folded`, `near`, `locked`, `model`, `planner`, `text`, `test id`, `css`
    pub chooser: String,
    pub role: String,
    pub name: String,
    /// `dialog "Welcome"`, outermost first.
    pub scope: Vec<String>,
    pub score: f64,
    pub runner_up: Option<Rival>,
    pub candidates: usize,
    /// Set when the approved lock no longer held and another way was found.
    pub healed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rival {
    pub role: String,
    pub name: String,
    pub score: f64,
    /// What tells it apart: "in navigation “Footer”".
    pub place: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCalled {
    pub step: String,
    pub purpose: String,
    /// Scrubbed question and answer, cut to a limit after scrubbing.
    pub question: String,
    pub answer: String,
    /// `ok`, or the kind of failure.
    pub outcome: String,
    pub prompt_bytes: usize,
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub candidates_offered: usize,
    pub candidates_total: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    pub step: String,
    /// `goto`, `click`, `fill`, `submit`, `wait`
    pub primitive: String,
    /// "Fill textbox “Password” with [HIDDEN]".
    pub says: String,
    pub url: String,
    /// What changed that is attributable to the action; `None`: nothing was seen to change.
    pub effect: Option<String>,
    /// Role and name of the acted control.
    pub role: Option<String>,
    pub name: Option<String>,
    /// `variable repo`, `credential code-host-user.password`, …; never a secret.
    pub value: Option<String>,
    pub reason: Option<String>,
}

/// In a frame's `step`: the end state, which is no step.
pub const END: &str = "end";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Its place, or `end` for the end state.
    pub step: String,
    /// Path below the scenario's run folder; `None` when withheld.
    pub file: Option<String>,
    /// SHA-256 of the stored bytes, hex.
    pub hash: Option<String>,
    pub withheld: Option<String>,
    pub url: String,
    pub width: u32,
    pub height: u32,
    /// The acted control, in image pixels: x, y, width, height.
    pub target: Option<[i32; 4]>,
    /// Where the pointer clicked.
    pub point: Option<[i32; 2]>,
    pub redactions: Vec<Redaction>,
    pub unsettled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// x, y, width, height in image pixels.
    pub rect: [i32; 4],
    /// `password field`, `credential code-host-user.username`, `mask workspace`
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    pub method: Option<String>,
    pub scheme: String,
    pub host: String,
    pub port: u16,
    /// Path without query; absent for a tunnel.
    pub path: Option<String>,
    /// `host not listed`, `undeclared write`, `beacon`, `private address`, `secret in url`, …
    pub reason: String,
    /// The browser's own call (updates, autofill), not the page's.
    pub browser_own: bool,
    /// How often since the last event about the same thing.
    pub times: u32,
}

/// Statuses of the language document.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash, PartialOrd, Ord,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    Failed,
    Stuck,
    OutOfBudget,
    NotCompleted,
    Disagreed,
    /// Usage or scenario error.
    Invalid,
    /// Browser, driver, vault, model, output, tear-down.
    Environment,
    Refused,
    Leak,
    Pending,
    NotFinished,
    /// Not run (a step after a failed one; `optional` and absent).
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFinished {
    pub step: String,
    pub status: Status,
    pub failure: Option<Failure>,
    /// "already signed in", "typed again after the page wiped it", …
    pub notes: Vec<String>,
    pub ms: u64,
}

/// Why something failed, in parts that each sink lays out itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Stable word: `not_found`, `ambiguous`, `covered`, `disabled`, `login_rejected`, …
    pub reason: String,
    pub message: String,
    /// What the page showed instead.
    pub seen: Vec<String>,
    /// Nearest names, or the matches that could not be told apart, in the language's syntax.
    pub nearest: Vec<Rival>,
    pub help: Option<String>,
    /// Source excerpt, rendered without colour.
    pub excerpt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// `first`, `second`
    pub look: String,
    pub findings: Vec<Finding>,
    pub url: String,
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The `expect` line as written.
    pub line: String,
    pub holds: bool,
    /// What was seen, one line.
    pub saw: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioFinished {
    pub status: Status,
    /// Stable word: `completed`, `login_rejected`, `undeclared_write`, `step_failed`, …
    pub reason: String,
    pub message: String,
    pub failed_step: Option<String>,
    /// The scenario's `ends` was met (`completed` unless written): the verdict rests on this alone,
    /// `status` says how it ended.
    pub as_expected: bool,
    /// `credential`, `human`, `already signed in`
    pub signed_in_by: Option<String>,
    pub wrote: bool,
    pub ms: u64,
    /// exact → 5, model → 1, …
    pub choosers: BTreeMap<String, u32>,
    pub model_calls: u32,
    pub tokens: u64,
    /// Time by part: `browser`, `read`, `act`, `picture`, `model`, `wait`.
    pub ms_by_part: BTreeMap<String, u64>,
}

/// A pass rate over repeated attempts, with its 95 % Wilson interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rated {
    pub passed: u32,
    pub of: u32,
    /// Bounds of the interval, 0 to 1.
    pub low: f64,
    pub high: f64,
    /// `--min-rate`, judged on `low`.
    pub minimum: Option<f64>,
    /// The verdict over all attempts.
    pub holds: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotVerdict {
    /// `tutorial`, `steps`
    pub what: String,
    pub verdict: Verdict,
    /// Path of the pending file, relative to the suite.
    pub pending: Option<String>,
    /// Unified diff, already scrubbed.
    pub diff: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Same,
    /// New, written beside for review.
    Proposed,
    /// Differs, or missing where it must not be.
    Pending,
    /// Not compared (`--fresh`, failed run).
    Skipped,
}
