//! Putting questions to the model: which control a sentence means, what a call cost.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::{
    AgentError, Asked, Asking, CallRecord, Choice, Exit, Ids, Limits, Offer, Purpose, Question,
};
use crate::event::{ModelCalled, Status, What};
use crate::page::Observation;
use crate::plan::PlannedStep;
use crate::resolve::{self, Chooser, Pick, Query};
use crate::scenario::{Budget, By};

use super::attempt::AttemptRun;
use super::failure::Fault;
use super::find::{Wanted, named};

/// Parts of a long list a sentence is looked for in.
const PARTS: usize = 4;

impl AttemptRun<'_> {
    pub(super) fn may_ask_model(&self, step: &PlannedStep) -> bool {
        let locked = self.context.mode.locked && self.lock_entry(step).is_some();
        self.context.model.is_some()
            && !self.context.mode.offline
            && !locked
            && !self.broker.is_protected()
    }

    /// Asks which of the offered controls a sentence means; the verb is fixed (R37).
    pub(super) async fn ask_model(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        sentence: &str,
        observation: &Arc<Observation>,
    ) -> Result<Option<Pick>, Fault> {
        let Some(model) = self.context.model.clone() else {
            return Ok(None);
        };
        let words = match &wanted.target.by {
            By::Name {
                name: Some(name), ..
            } => name.clone(),
            _ => sentence.to_owned(),
        };
        let purpose = Purpose {
            verb: Some(wanted.verb),
            words: words.clone(),
            limit: None,
        };
        let mut ids = Ids::default();
        for part in 0..PARTS {
            self.within_budget()?;
            let offer = Offer::new(observation, &purpose, part, &mut ids);
            let question = Question {
                verb: wanted.verb,
                sentence,
                target: &words,
                page: observation,
                offer: &offer,
                history: &[],
            };
            let scrubber = self.broker.scrubber();
            let picture = self.picture_for_model().await;
            let mut asking = Asking::new(&scrubber);
            asking.picture = picture.as_deref();
            let stop = self.context.stop.clone();
            let asked = tokio::select! {
                asked = model.choose(&asking, &question) => asked,
                _ = stop.asked() => return Err(interrupted()),
            };
            self.say_calls(&step.place, &asked);
            match asked.outcome.map_err(unheard)? {
                Choice::Node { node, .. } => {
                    let (role, name) = named(observation, node);
                    let query = Query {
                        target: wanted.target,
                        verb: wanted.verb,
                        scope: wanted.scope,
                        near: false,
                        sentence: true,
                    };
                    let runner_up = resolve::resolve(observation, &query)
                        .err()
                        .and_then(|miss| miss.nearest.into_iter().find(|n| n.id != node));
                    return Ok(Some(Pick {
                        id: node,
                        chooser: Chooser::Model,
                        role,
                        name,
                        scope: Vec::new(),
                        score: Chooser::Model.score(),
                        runner_up,
                        candidates: offer.total,
                    }));
                }
                Choice::None { .. } if offer.has_more() => {}
                Choice::None { .. } => break,
            }
        }
        Ok(None)
    }

    /// The scenario's limits over those of the settings over the usual ones.
    pub(super) fn limits(&self) -> Limits {
        let (own, all) = (&self.planned.scenario.budget, &self.context.budget);
        Limits::from(&Budget {
            actions: own.actions.or(all.actions),
            time: own.time.or(all.time),
            model_calls: own.model_calls.or(all.model_calls),
            tokens: own.tokens.or(all.tokens),
        })
    }

    /// The scenario's budget of calls and tokens covers sentences too.
    fn within_budget(&self) -> Result<(), Fault> {
        let limits = self.limits();
        if self.model_calls >= limits.model_calls {
            return Err(out_of(Exit::ModelCalls));
        }
        if self.tokens >= limits.tokens {
            return Err(out_of(Exit::Tokens));
        }
        Ok(())
    }

    pub(super) fn say_calls<T>(&mut self, place: &str, asked: &Asked<T>) {
        for call in &asked.calls {
            self.model_calls += calls(call);
            self.tokens += call.tokens();
            self.say.say(What::ModelCalled(called(place, call)));
            if let Some(note) = &call.note {
                self.say.note(note.as_str());
            }
        }
    }

    /// A masked picture, where the model takes pictures and no secret is in the document.
    pub(super) async fn picture_for_model(&mut self) -> Option<Vec<u8>> {
        let wanted = self.context.model.as_ref()?.takes_pictures();
        if !wanted || self.broker.is_protected() {
            return None;
        }
        match self.broker.shot().await {
            Ok(crate::broker::Shot::Taken { png, .. }) => super::pictures::jpeg(&png),
            _ => None,
        }
    }
}

/// An answer out of a tape counts like the call it stands for, so that budgets end the same way.
pub(super) fn calls(call: &CallRecord) -> u32 {
    call.sent.max(1)
}

/// A question without a usable answer: an outage is the environment's, a bad answer the step's.
pub(super) fn unheard(error: AgentError) -> Fault {
    if error.is_environment() {
        Fault::new(Status::Environment, "model_unavailable", error.to_string())
    } else {
        Fault::failed("model_answer", error.to_string())
    }
}

pub(super) fn interrupted() -> Fault {
    Fault::new(
        Status::NotFinished,
        "interrupted",
        "the run was interrupted",
    )
}

/// A limit that ends the scenario, by its name.
pub(super) fn out_of(exit: Exit) -> Fault {
    let (status, message) = match exit {
        Exit::Stuck => (Status::Stuck, "four failures in a row: stopped"),
        Exit::Actions => (Status::OutOfBudget, "the budget of actions is used up"),
        Exit::Time => (Status::OutOfBudget, "the budget of time is used up"),
        Exit::ModelCalls => (Status::OutOfBudget, "the budget of model calls is used up"),
        Exit::Tokens => (Status::OutOfBudget, "the budget of tokens is used up"),
    };
    let fault = Fault::new(status, exit.name(), message);
    match exit {
        Exit::Stuck => fault,
        _ => fault.help("raise it under `budget:` if the task is that long"),
    }
}

/// What is left of a limit.
pub(super) fn left(limit: Duration, elapsed: Duration) -> Duration {
    limit.saturating_sub(elapsed)
}

/// A call as an event.
pub(super) fn called(place: &str, call: &crate::agent::CallRecord) -> ModelCalled {
    ModelCalled {
        step: place.to_owned(),
        purpose: call.purpose.to_owned(),
        question: call.question.clone(),
        answer: call.answer.clone(),
        outcome: call.outcome.clone(),
        prompt_bytes: call.prompt_bytes,
        prompt_tokens: call.prompt_tokens,
        completion_tokens: call.completion_tokens,
        candidates_offered: call.candidates_offered,
        candidates_total: call.candidates_total,
    }
}
