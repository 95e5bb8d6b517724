//! The lock of one attempt: what it found approved, what it resolved anew.
//!
//! Saved only when the scenario passed; what could not be kept is reported as healed, never silent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::page::{NodeId, Observation};
use crate::plan::PlannedStep;
use crate::resolve::{self, Chooser, Pick, Query};
use crate::scenario::{By, Scope, Target, Verb, parse_target};
use crate::snapshot::{Approved, Lock, LockEntry, LockedGoal};

use super::attempt::AttemptRun;
use super::find::Wanted;
use super::settings::Mode;

/// Equal controls that are counted to find one by its number.
const MANY: usize = 60;

type Key = (Option<String>, String, u32);

pub struct LockWork {
    approved: Arc<Approved>,
    mode: Mode,
    new: Lock,
    drifted: BTreeSet<Key>,
    /// The entry of an approved plan that is being carried out, and the goal it is of.
    replaying: Option<(LockEntry, String)>,
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
            replaying: None,
        }
    }

    /// The next step carries out this entry of an approved plan.
    pub fn replaying(&mut self, entry: LockEntry, goal: &str) {
        self.replaying = Some((entry, goal.to_owned()));
    }

    /// The entry as it was found: the same, unless its name had drifted.
    pub fn replayed(&mut self) -> Option<LockEntry> {
        self.replaying.take().map(|(entry, _)| entry)
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
        self.lock.drifted.contains(&key(step)).then(|| gone(entry))
    }

    /// How a step's target was finally found goes into the lock where that is not plain from the
    /// step itself. Gives why an approved plan's own name no longer served.
    pub(super) fn settle_lock(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        pick: &Pick,
        observation: &Observation,
    ) -> Option<String> {
        if let Some((entry, goal)) = self.lock.replaying.clone() {
            if pick.chooser != Chooser::Near {
                return None;
            }
            let margin = pick.runner_up.as_ref().map(|r| pick.score - r.score);
            let found = LockEntry {
                role: Some(pick.role.clone()),
                name: Some(self.name_vars(&pick.name, &goal)),
                chosen: pick.chooser.word().to_owned(),
                score: Some(pick.score),
                margin,
                ..entry.clone()
            };
            self.lock.replaying = Some((found, goal));
            return Some(gone(&entry));
        }
        if wanted.sentence.is_some() {
            match pick.chooser {
                Chooser::Near | Chooser::Model => {
                    self.propose_lock(step, wanted, pick, observation)
                }
                Chooser::Locked => self.keep_lock(step),
                _ => {}
            }
        }
        self.healed(step)
    }

    /// A near or chosen match is proposed for the lock.
    fn propose_lock(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        pick: &Pick,
        observation: &Observation,
    ) {
        let margin = pick.runner_up.as_ref().map(|r| pick.score - r.score);
        let written = &step.step.written;
        let (within, nth) = apart(
            observation,
            pick.id,
            &pick.role,
            &pick.name,
            wanted.verb,
            wanted.scope,
        );
        self.lock.add(LockEntry {
            step: written.clone(),
            flow: step.flow.clone(),
            occurrence: step.occurrence,
            action: verb_word(wanted.verb).to_owned(),
            role: Some(pick.role.clone()),
            name: Some(self.name_vars(&pick.name, written)),
            within: within.iter().map(|w| self.name_vars(w, written)).collect(),
            nth,
            value: None,
            chosen: pick.chooser.word().to_owned(),
            score: Some(pick.score),
            margin,
        });
    }

    /// A variable replaces its value in a name only if the step as written names it.
    pub(super) fn name_vars(&self, name: &str, written: &str) -> String {
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

/// What tells a control apart from others of its role and name: the innermost place that does,
/// else its number. Nothing where role and name do already.
pub(super) fn apart(
    observation: &Observation,
    node: NodeId,
    role: &str,
    name: &str,
    verb: Verb,
    scope: &Scope,
) -> (Vec<String>, Option<usize>) {
    let target = Target {
        by: By::Name {
            role: Some(role.to_owned()),
            name: Some(name.to_owned()).filter(|n| !n.is_empty()),
            exact: false,
        },
        span: Default::default(),
    };
    let means_it = |scope: &Scope| {
        let query = Query {
            target: &target,
            verb,
            scope,
            near: false,
            sentence: false,
        };
        resolve::resolve(observation, &query).is_ok_and(|pick| pick.id == node)
    };
    if means_it(scope) {
        return (Vec::new(), None);
    }
    for (id, place) in observation.ancestors(node) {
        let heading = || {
            observation
                .nodes()
                .filter(|(_, n)| n.role == "heading")
                .find(|(h, _)| observation.ancestors(*h).any(|(a, _)| a == id))
                .map(|(_, n)| n.name.clone())
        };
        let called = if place.name.is_empty() {
            heading().unwrap_or_default()
        } else {
            place.name.clone()
        };
        let words = resolve::describe(&place.role, &crate::text::cut(&called, 80));
        let Ok(within) = parse_target(&words) else {
            continue;
        };
        let mut narrowed = scope.clone();
        narrowed.within.push(within);
        if means_it(&narrowed) {
            return (vec![words], None);
        }
    }
    let nth = (1..=MANY).find(|nth| {
        means_it(&Scope {
            nth: Some(*nth),
            ..scope.clone()
        })
    });
    (Vec::new(), nth)
}

fn gone(entry: &LockEntry) -> String {
    format!(
        "the lock's {} is not there any more",
        resolve::describe(
            entry.role.as_deref().unwrap_or_default(),
            entry.name.as_deref().unwrap_or_default()
        )
    )
}

pub(super) fn verb_word(verb: Verb) -> &'static str {
    match verb {
        Verb::Fill => "fill",
        Verb::Select => "select",
        Verb::Check => "check",
        Verb::Uncheck => "uncheck",
        Verb::Press => "press",
        Verb::Hover => "hover",
        Verb::Scroll => "scroll",
        Verb::Submit => "submit",
        Verb::Goto => "goto",
        Verb::Login => "login",
        _ => "click",
    }
}
