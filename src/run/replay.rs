//! A plan as the lock keeps it: from what the planner did, and back to steps without a model.

use crate::agent::{Action, Decision, FillValue};
use crate::page::Observation;
use crate::plan::{PlannedStep, StepBy};
use crate::scenario::{Act, By, Scope, Target, Value, Verb, parse_target};
use crate::snapshot::{LockEntry, LockValue, LockedGoal};

use super::attempt::AttemptRun;
use super::failure::Fault;
use super::find::named;
use super::locks::apart;
use super::planning::Planning;

impl AttemptRun<'_> {
    /// Carries out an approved plan without a model. What still held is left in `planning`, so
    /// that a planner can go on from there. Names that were found another way are in the result.
    pub(super) async fn replay(
        &mut self,
        locked: &LockedGoal,
        planning: &mut Planning,
    ) -> Result<LockedGoal, Fault> {
        for entry in &locked.steps {
            let place = planning.next_place();
            let step = self.locked_step(&place, entry)?;
            self.lock.replaying(entry.clone(), &planning.aim.written);
            let stepped = self.step(&step).await;
            let replayed = self.lock.replayed();
            stepped?;
            planning.done.extend(replayed);
        }
        Ok(planning.as_lock())
    }

    /// An action that worked, as the lock keeps it; `None` for what a later run need not do.
    pub(super) fn locked_action(
        &self,
        decision: &Decision,
        observation: &Observation,
        written: &str,
    ) -> Option<LockEntry> {
        let text = |text: &str| self.name_vars(text, written);
        let (node, verb, value) = match &decision.action {
            Action::Click { node } => (Some(*node), Verb::Click, None),
            Action::Check { node, on: true } => (Some(*node), Verb::Check, None),
            Action::Check { node, on: false } => (Some(*node), Verb::Uncheck, None),
            Action::Submit { node } => (Some(*node), Verb::Submit, None),
            Action::Fill { node, value } => {
                let value = match value {
                    FillValue::Variable(name) => LockValue::Variable(name.clone()),
                    FillValue::Credential { name, field } => {
                        LockValue::Credential(format!("{name}.{field}"))
                    }
                    FillValue::GoalText(words) => LockValue::GoalText(text(words)),
                };
                (Some(*node), Verb::Fill, Some(value))
            }
            Action::Select { node, option } => (
                Some(*node),
                Verb::Select,
                Some(LockValue::Option(text(option))),
            ),
            Action::Press { key, node } => {
                (*node, Verb::Press, Some(LockValue::Key(key.name().into())))
            }
            Action::Goto { address } => (None, Verb::Goto, Some(LockValue::Address(text(address)))),
            Action::Login { credential } => (
                None,
                Verb::Login,
                Some(LockValue::Credential(credential.clone())),
            ),
            _ => return None,
        };
        let on = node.map(|n| named(observation, n));
        let (within, nth) = match (node, &on) {
            (Some(node), Some((role, name))) => {
                apart(observation, node, role, name, verb, &Scope::default())
            }
            _ => Default::default(),
        };
        Some(LockEntry {
            step: text(&decision.says),
            flow: None,
            occurrence: 1,
            action: super::locks::verb_word(verb).to_owned(),
            role: on.as_ref().map(|(role, _)| role.clone()),
            name: on.map(|(_, name)| text(&name)),
            within: within.iter().map(|w| text(w)).collect(),
            nth,
            value,
            chosen: "planner".into(),
            score: None,
            margin: None,
        })
    }

    /// A lock entry as a step of the usual kind.
    fn locked_step(&self, place: &str, entry: &LockEntry) -> Result<PlannedStep, Fault> {
        let target = self.locked_target(entry);
        let text = match &entry.value {
            Some(LockValue::Variable(name)) => {
                let vars = &self.planned.scenario.vars;
                vars.get(name).map(|v| v.value.clone()).unwrap_or_default()
            }
            Some(value) => self.replace_vars(value.text()),
            None => String::new(),
        };
        let mut step = PlannedStep::planned(self.planned, place);
        step.by = StepBy::Planner;
        step.step.act = match entry.action.as_str() {
            "click" => Act::Click(target),
            "fill" => Act::Fill {
                target,
                value: match &entry.value {
                    Some(LockValue::Credential(reference)) => credential(reference),
                    _ => Value::Text(text),
                },
            },
            "select" => Act::Select {
                option: text,
                target: Some(target),
            },
            "check" => Act::Check { target, on: true },
            "uncheck" => Act::Check { target, on: false },
            "submit" => Act::Submit(target),
            "press" => Act::Press {
                keys: text,
                target: entry.role.is_some().then_some(target),
            },
            "goto" => Act::Goto(text),
            "login" => Act::Login(text),
            other => {
                return Err(Fault::failed(
                    "bad_lock",
                    format!("the lock holds an action this version doesn't know: {other}"),
                )
                .help("run without `--locked` once and accept the lock that is proposed"));
            }
        };
        step.step.scope = self.locked_scope(entry);
        step.step.written = self.replace_vars(&entry.step);
        Ok(step)
    }

    pub(super) fn locked_target(&self, entry: &LockEntry) -> Target {
        let name = entry.name.as_deref().map(|n| self.replace_vars(n));
        Target {
            by: By::Name {
                role: entry.role.clone(),
                name: name.filter(|n| !n.is_empty()),
                exact: false,
            },
            span: Default::default(),
        }
    }

    /// The places and the number an entry adds to what the author wrote.
    pub(super) fn locked_scope(&self, entry: &LockEntry) -> Scope {
        let places = entry.within.iter().map(|w| self.replace_vars(w));
        Scope {
            within: places.filter_map(|w| parse_target(&w).ok()).collect(),
            nth: entry.nth,
        }
    }
}

fn credential(reference: &str) -> Value {
    let (name, field) = reference.split_once('.').unwrap_or((reference, "password"));
    Value::Credential {
        name: name.to_owned(),
        field: field.to_owned(),
    }
}
