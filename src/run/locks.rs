//! The lock of one attempt: what it found approved, what it resolved anew.
//!
//! Saved only when the scenario passed; what could not be kept is reported as healed, never silent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::plan::PlannedStep;
use crate::resolve::Pick;
use crate::scenario::Verb;
use crate::snapshot::{Approved, Lock, LockEntry, LockedGoal};

use super::attempt::AttemptRun;
use super::find::Wanted;
use super::settings::Mode;

type Key = (Option<String>, String, u32);

pub struct LockWork {
    approved: Arc<Approved>,
    mode: Mode,
    new: Lock,
    drifted: BTreeSet<Key>,
}

fn key(step: &PlannedStep) -> Key {
    (
        step.flow.clone(),
        step.step.written.clone(),
        step.occurrence,
    )
}

impl LockWork {
    pub fn new(approved: Arc<Approved>, mode: Mode) -> Self {
        Self {
            approved,
            mode,
            new: Lock::new(),
            drifted: BTreeSet::new(),
        }
    }

    pub fn finished(&mut self) -> Lock {
        std::mem::take(&mut self.new)
    }

    pub fn entry(&self, step: &PlannedStep) -> Option<&LockEntry> {
        if self.mode.fresh {
            return None;
        }
        self.approved.lock.as_ref()?.entry(
            step.flow.as_deref(),
            &step.step.written,
            step.occurrence,
        )
    }

    pub fn goal(&self, digest: &str) -> Option<LockedGoal> {
        if self.mode.fresh {
            return None;
        }
        self.approved.lock.as_ref()?.goal(digest).cloned()
    }

    pub fn add_goal(&mut self, goal: LockedGoal) {
        self.new.goals.push(goal);
    }

    fn add(&mut self, entry: LockEntry) {
        self.new.steps.retain(|e| {
            (&e.flow, &e.step, e.occurrence) != (&entry.flow, &entry.step, entry.occurrence)
        });
        self.new.steps.push(entry);
    }
}

impl AttemptRun<'_> {
    pub(super) fn lock_entry(&self, step: &PlannedStep) -> Option<LockEntry> {
        self.lock.entry(step).cloned()
    }

    /// The approved entry held: it stays as it is.
    pub(super) fn keep_lock(&mut self, step: &PlannedStep) {
        if let Some(entry) = self.lock.entry(step).cloned() {
            self.lock.add(entry);
        }
    }

    /// The approved entry no longer holds.
    pub(super) fn drifted(&mut self, step: &PlannedStep) {
        self.lock.drifted.insert(key(step));
    }

    /// Said with the resolution when a lock had drifted and another way was found.
    pub(super) fn healed(&self, step: &PlannedStep) -> Option<String> {
        let entry = self.lock.entry(step)?;
        self.lock.drifted.contains(&key(step)).then(|| {
            format!(
                "the lock's {} is not there any more",
                crate::resolve::describe(
                    entry.role.as_deref().unwrap_or_default(),
                    entry.name.as_deref().unwrap_or_default()
                )
            )
        })
    }

    /// A near or chosen match is proposed for the lock.
    pub(super) fn propose_lock(&mut self, step: &PlannedStep, wanted: Wanted<'_>, pick: &Pick) {
        let margin = pick.runner_up.as_ref().map(|r| pick.score - r.score);
        self.lock.add(LockEntry {
            step: step.step.written.clone(),
            flow: step.flow.clone(),
            occurrence: step.occurrence,
            action: verb_word(wanted.verb).to_owned(),
            role: Some(pick.role.clone()),
            name: Some(self.name_vars(&pick.name, &step.step.written)),
            within: Vec::new(),
            value: None,
            chosen: pick.chooser.word().to_owned(),
            score: Some(pick.score),
            margin,
        });
    }

    /// A variable replaces its value in a name only if the step as written names it.
    fn name_vars(&self, name: &str, written: &str) -> String {
        let vars: BTreeMap<&String, &String> = self
            .planned
            .scenario
            .vars
            .iter()
            .map(|(k, v)| (k, &v.value))
            .collect();
        let mut named = name.replace("$(", "$$(");
        for (var, value) in vars {
            let mark = format!("$({var})");
            if written.contains(&mark) && !value.is_empty() {
                named = named.replace(value.as_str(), &mark);
            }
        }
        named
    }

    pub(super) fn replace_vars(&self, name: &str) -> String {
        let mut out = name.to_owned();
        for (var, value) in &self.planned.scenario.vars {
            out = out.replace(&format!("$({var})"), &value.value);
        }
        out.replace("$$(", "$(")
    }
}

fn verb_word(verb: Verb) -> &'static str {
    match verb {
        Verb::Fill => "fill",
        Verb::Select => "select",
        Verb::Check => "check",
        Verb::Uncheck => "uncheck",
        Verb::Press => "press",
        Verb::Hover => "hover",
        Verb::Scroll => "scroll",
        Verb::Submit => "submit",
        _ => "click",
    }
}
