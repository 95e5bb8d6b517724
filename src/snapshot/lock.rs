//! The steps lock: how near, model-chosen and planned steps were resolved, to be reviewed in a diff.
//!
//! Holds role, name, scope and chooser, never a selector, never a value that is not a variable or a
//! credential's name. Order is the scenario's, so that equal runs give equal bytes.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// First key of the file; a lock of another format is refused, not guessed at.
pub const LOCK_FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub format: u32,
    #[serde(default)]
    pub steps: Vec<LockEntry>,
    #[serde(default)]
    pub goals: Vec<LockedGoal>,
}

/// One resolved step. Its key is `(flow, step as written, occurrence)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// As written, before `$(…)` is replaced.
    pub step: String,
    #[serde(default)]
    pub flow: Option<String>,
    /// From 1 among equal steps.
    #[serde(default = "one")]
    pub occurrence: u32,
    pub action: String,
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub within: Vec<String>,
    /// From 1, where no place tells equal controls apart.
    #[serde(default)]
    pub nth: Option<usize>,
    #[serde(default)]
    pub value: Option<LockValue>,
    pub chosen: String,
    #[serde(default)]
    pub score: Option<f64>,
    #[serde(default)]
    pub margin: Option<f64>,
}

fn one() -> u32 {
    1
}

/// What was typed or selected, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockValue {
    Variable(String),
    Credential(String),
    /// Stands word for word in the goal.
    GoalText(String),
    /// An option of a list, by its words.
    Option(String),
    Key(String),
    Address(String),
}

impl LockValue {
    /// `goal_text`, …: the key in the file.
    fn kind(&self) -> &'static str {
        match self {
            Self::Variable(_) => "variable",
            Self::Credential(_) => "credential",
            Self::GoalText(_) => "goal_text",
            Self::Option(_) => "option",
            Self::Key(_) => "key",
            Self::Address(_) => "address",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Variable(text)
            | Self::Credential(text)
            | Self::GoalText(text)
            | Self::Option(text)
            | Self::Key(text)
            | Self::Address(text) => text,
        }
    }
}

/// A planned goal (or `plan:` step): the actions that reached it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedGoal {
    /// As written, before `$(…)` is replaced.
    pub goal: String,
    /// Of [`LockedGoal::key`].
    pub digest: String,
    pub steps: Vec<LockEntry>,
}

impl LockedGoal {
    /// SHA-256, hex, over the goal as written and the hosts it may reach; equal goals of one
    /// scenario differ by flow and occurrence.
    pub fn key<'a>(
        goal: &str,
        hosts: impl IntoIterator<Item = &'a str>,
        flow: Option<&str>,
        occurrence: u32,
    ) -> String {
        let mut hash = Sha256::new();
        hash.update(goal.as_bytes());
        for host in hosts {
            hash.update([0]);
            hash.update(host.as_bytes());
        }
        if let Some(flow) = flow {
            hash.update([1]);
            hash.update(flow.as_bytes());
        }
        if occurrence > 1 {
            hash.update([2]);
            hash.update(occurrence.to_le_bytes());
        }
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl Lock {
    pub fn new() -> Self {
        Self {
            format: LOCK_FORMAT,
            steps: Vec::new(),
            goals: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.goals.is_empty()
    }

    pub fn entry(&self, flow: Option<&str>, written: &str, occurrence: u32) -> Option<&LockEntry> {
        self.steps
            .iter()
            .find(|e| e.flow.as_deref() == flow && e.step == written && e.occurrence == occurrence)
    }

    pub fn goal(&self, digest: &str) -> Option<&LockedGoal> {
        self.goals.iter().find(|g| g.digest == digest)
    }

    /// Reads a lock file; the message says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lock: Self = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
        if lock.format == LOCK_FORMAT {
            Ok(lock)
        } else {
            Err(format!("format {} instead of {LOCK_FORMAT}", lock.format))
        }
    }

    /// The file's text: every string quoted, so that no name is ever read as YAML.
    pub fn render(&self, id: &str) -> String {
        let mut out = format!(
            "# How steps of {id} were resolved. Reviewed in the diff; `rehearsal accept` writes this file.\n"
        );
        let _ = writeln!(out, "format: {}", self.format);
        if !self.steps.is_empty() {
            out.push_str("steps:\n");
            self.steps
                .iter()
                .for_each(|entry| entry.render(&mut out, "  "));
        }
        if !self.goals.is_empty() {
            out.push_str("goals:\n");
        }
        for goal in &self.goals {
            let _ = writeln!(
                out,
                "  - goal: {}\n    digest: {}\n    steps:",
                quoted(&goal.goal),
                quoted(&goal.digest)
            );
            goal.steps
                .iter()
                .for_each(|entry| entry.render(&mut out, "      "));
        }
        out
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl LockEntry {
    fn render(&self, out: &mut String, indent: &str) {
        let mut line = |key: &str, value: String, first: bool| {
            let _ = writeln!(
                out,
                "{indent}{} {key}: {value}",
                if first { "-" } else { " " }
            );
        };
        line("step", quoted(&self.step), true);
        if let Some(flow) = &self.flow {
            line("flow", quoted(flow), false);
        }
        if self.occurrence != 1 {
            line("occurrence", self.occurrence.to_string(), false);
        }
        line("action", quoted(&self.action), false);
        if let Some(role) = &self.role {
            line("role", quoted(role), false);
        }
        if let Some(name) = &self.name {
            line("name", quoted(name), false);
        }
        if !self.within.is_empty() {
            line(
                "within",
                format!(
                    "[{}]",
                    self.within
                        .iter()
                        .map(|w| quoted(w))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                false,
            );
        }
        if let Some(nth) = self.nth {
            line("nth", nth.to_string(), false);
        }
        if let Some(value) = &self.value {
            let (kind, text) = (value.kind(), value.text());
            line("value", format!("{{ {kind}: {} }}", quoted(text)), false);
        }
        line("chosen", quoted(&self.chosen), false);
        if let Some(score) = self.score {
            line("score", format!("{score:.2}"), false);
        }
        if let Some(margin) = self.margin {
            line("margin", format!("{margin:.2}"), false);
        }
    }
}

/// JSON's quoting is YAML's double-quoted style.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".into())
}
